//! Races in group-shared memory. Each group has memory of its own, and barriers are
//! all that orders its waves.
//!
//! Waves of a group pass a barrier together, so what was touched before the last one
//! is in order with all that comes: accesses have numbers, and one comparison with the
//! first number since the barrier says so. Neighbouring dwords mostly have the same
//! history, whose answer is worked out once for each access.

use crate::hash::Quick;
use crate::shadow::Record;
use std::collections::HashMap;
use wavefence_base::{AccessKind, DispatchId, GpuRange, Piece};

/// Number of an access of the group, from 1; 0 is none.
type Number = u32;

/// Mark of [`Cell::write`]: an atomic.
const ATOMIC: Number = 1 << 31;

/// What touched a dword since the last write; two readers of different waves stand
/// for all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Cell {
    write: Number,
    reads: [Number; 2],
}

/// What a later access asks of one.
#[derive(Clone, Copy, Debug)]
struct Touch {
    seq: u64,
    loc: u32,
    wave: u16,
    barriers: u16,
    kind: AccessKind,
    coherent: bool,
    lane: u8,
}

#[derive(Clone, Debug, Default)]
struct Group {
    touches: Vec<Touch>,
    /// The first number since the last barrier.
    since: Number,
    cells: Vec<Cell>,
}

/// Who a group is: its dispatch and its id.
type Name = (DispatchId, [u32; 3]);

/// The groups that run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shared {
    groups: HashMap<Name, Group, Quick>,
    /// The group that made the last access; it is not in the map.
    present: Option<(Name, Group)>,
    /// Rooms of groups that ended.
    spare: Vec<Group>,
}

/// A race: the earlier access, and the bytes.
pub(crate) struct Race {
    pub(crate) earlier: Record,
    pub(crate) range: GpuRange,
    pub(crate) lane: u8,
}

impl Shared {
    /// A group ended.
    pub(crate) fn end(&mut self, dispatch: DispatchId, group: [u32; 3]) {
        let name = (dispatch, group);
        let ended = match self.present.take_if(|p| p.0 == name) {
            Some((_, ended)) => Some(ended),
            None => self.groups.remove(&name),
        };
        if let Some(mut ended) = ended {
            ended.touches.clear();
            ended.cells.clear();
            self.spare.push(ended);
        }
    }

    /// The group, made if it is new.
    fn group(&mut self, name: Name) -> &mut Group {
        if self.present.as_ref().is_none_or(|p| p.0 != name) {
            let next = self.groups.remove(&name).or_else(|| self.spare.pop()).unwrap_or_default();
            if let Some((former, group)) = self.present.replace((name, next)) {
                self.groups.insert(former, group);
            }
        }
        &mut self.present.get_or_insert_with(|| (name, Group::default())).1
    }

    /// One access; gives the first race of each piece.
    pub(crate) fn access(
        &mut self,
        dispatch: DispatchId,
        record: &Record,
        pieces: &[Piece],
    ) -> Vec<Race> {
        let group = self.group((dispatch, record.who));
        let now = group.begin(record);
        let mut races = Vec::new();
        // The last answer without a race: a history, and what becomes of it.
        let mut known = None;
        for piece in pieces {
            let (first, end) = (piece.at.0 / 4, (piece.at.0 + u64::from(piece.len)).div_ceil(4));
            let (first, end) = (first as usize, end as usize);
            if group.cells.len() < end {
                group.cells.resize(end, Cell::default());
            }
            let mut found = None;
            for index in first..end {
                let old = group.cells[index];
                let new = match known {
                    Some((like, new)) if like == old => new,
                    _ => {
                        let (race, new) = group.touch(old, now, record);
                        match race {
                            Some(_) => found = found.or(race),
                            None => known = Some((old, new)),
                        }
                        new
                    }
                };
                group.cells[index] = new;
            }
            if let Some(earlier) = found {
                let range = GpuRange::new(piece.at, u64::from(piece.len));
                races.push(Race { earlier: earlier.of(record), range, lane: piece.lane });
            }
        }
        races
    }
}

impl Touch {
    /// Its record; `like` is one of the same group.
    fn of(&self, like: &Record) -> Record {
        Record {
            seq: self.seq,
            loc: self.loc,
            wave: self.wave,
            barriers: self.barriers,
            kind: self.kind,
            coherent: self.coherent,
            lane: self.lane,
            ..*like
        }
    }
}

impl Group {
    /// Takes an access in; gives its number.
    fn begin(&mut self, record: &Record) -> Number {
        let now = self.touches.len() as Number + 1;
        if self.touches.last().is_none_or(|t| t.barriers != record.barriers) {
            self.since = now;
        }
        self.touches.push(Touch {
            seq: record.seq,
            loc: record.loc,
            wave: record.wave,
            barriers: record.barriers,
            kind: record.kind,
            coherent: record.coherent,
            lane: record.lane,
        });
        now
    }

    /// The access of that number, if no barrier came between.
    #[inline]
    fn recent(&self, number: Number) -> Option<&Touch> {
        let number = number & !ATOMIC;
        if number == 0 || number < self.since {
            return None;
        }
        self.touches.get(number as usize - 1)
    }

    /// What an access makes of a dword's history, and the first that it races with.
    #[inline]
    fn touch(&self, old: Cell, now: Number, record: &Record) -> (Option<Touch>, Cell) {
        let race = |number| self.recent(number).filter(|t| t.wave != record.wave).copied();
        match record.kind {
            AccessKind::Read => {
                let other = self.recent(old.reads[0]).is_some_and(|t| t.wave != record.wave);
                let second = if other { old.reads[0] } else { old.reads[1] };
                (race(old.write), Cell { write: old.write, reads: [now, second] })
            }
            AccessKind::Write | AccessKind::Atomic | AccessKind::Fence => {
                let atomic = record.kind == AccessKind::Atomic;
                let both = atomic && old.write & ATOMIC != 0;
                let first = if both { None } else { race(old.write) };
                let found = first.or_else(|| race(old.reads[0])).or_else(|| race(old.reads[1]));
                let mark = if atomic { ATOMIC } else { 0 };
                (found, Cell { write: now | mark, reads: [0; 2] })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::{Epoch, Stream};
    use wavefence_base::{Client, GpuAddress, QueueId};

    const GROUP: [u32; 3] = [1, 0, 0];

    fn record(wave: u16, barriers: u16, kind: AccessKind) -> Record {
        Record {
            epoch: Epoch::new(QueueId(0), Stream::Dispatch, 1),
            seq: 0,
            who: GROUP,
            launch: 0,
            wave,
            barriers,
            loc: 0,
            client: Client::GroupShared,
            kind,
            coherent: false,
            lane: 0,
        }
    }

    fn races(list: &[(u16, u16, AccessKind)]) -> usize {
        let piece = Piece { at: GpuAddress(8), len: 8, lane: 0, hit: None, as_of: 0 };
        let mut shared = Shared::default();
        let one = |&(wave, barriers, kind): &(u16, u16, AccessKind)| {
            shared.access(DispatchId(0), &record(wave, barriers, kind), &[piece]).len()
        };
        list.iter().map(one).sum()
    }

    #[test]
    fn barriers_order_waves_and_nothing_else_does() {
        use AccessKind::{Atomic, Read, Write};
        assert_eq!(races(&[(0, 0, Write), (1, 0, Read)]), 1);
        assert_eq!(races(&[(0, 0, Write), (1, 1, Read)]), 0);
        assert_eq!(races(&[(0, 0, Write), (0, 0, Read)]), 0);
        assert_eq!(races(&[(0, 0, Read), (1, 0, Read), (2, 0, Read)]), 0);
        // A write races with the reader of another wave, whichever read last.
        assert_eq!(races(&[(0, 0, Read), (1, 0, Read), (0, 0, Write)]), 1);
        assert_eq!(races(&[(1, 0, Read), (0, 0, Read), (0, 0, Write)]), 1);
        assert_eq!(races(&[(0, 0, Atomic), (1, 0, Atomic)]), 0);
        assert_eq!(races(&[(0, 0, Atomic), (1, 0, Write)]), 1);
        assert_eq!(races(&[(0, 0, Atomic), (1, 0, Read)]), 1);
        // What came before a barrier hides nothing that comes after it.
        assert_eq!(races(&[(0, 0, Read), (0, 1, Read), (1, 1, Read), (0, 1, Write)]), 1);
        assert_eq!(races(&[(0, 0, Read), (1, 0, Read), (1, 1, Read), (1, 1, Write)]), 0);
    }

    #[test]
    fn an_ended_group_is_forgotten() {
        let piece = Piece { at: GpuAddress(0), len: 4, lane: 0, hit: None, as_of: 0 };
        let mut shared = Shared::default();
        shared.access(DispatchId(3), &record(0, 0, AccessKind::Write), &[piece]);
        shared.end(DispatchId(3), [9, 9, 9]);
        assert!(shared.present.is_some());
        shared.end(DispatchId(3), GROUP);
        assert!(shared.groups.is_empty() && shared.present.is_none());
    }
}
