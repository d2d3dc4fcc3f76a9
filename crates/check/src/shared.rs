//! Races in group-shared memory. Each group has memory of its own, and barriers are
//! all that orders its waves.

use crate::shadow::Record;
use std::collections::BTreeMap;
use wavefence_base::{AccessKind, DispatchId, GpuRange, Piece};

/// Number of a record of the group, from 1; 0 is none.
type Number = u32;

/// What touched a dword since the last write; two readers of different waves stand
/// for all.
#[derive(Clone, Copy, Debug, Default)]
struct Cell {
    write: Number,
    reads: [Number; 2],
}

#[derive(Clone, Debug, Default)]
struct Group {
    records: Vec<Record>,
    cells: Vec<Cell>,
}

/// The groups that run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shared {
    groups: BTreeMap<(DispatchId, u32), Group>,
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
        let ended = |g: &Group| g.records.first().is_some_and(|r| r.who == group);
        self.groups.retain(|(d, _), g| *d != dispatch || !ended(g));
    }

    /// One access; gives the first race of each piece.
    pub(crate) fn access(
        &mut self,
        dispatch: DispatchId,
        record: &Record,
        pieces: &[Piece],
    ) -> Vec<Race> {
        let group = self.groups.entry((dispatch, record.launch)).or_default();
        group.records.push(*record);
        let now = group.records.len() as Number;
        let mut races = Vec::new();
        for piece in pieces {
            let (first, end) = (piece.at.0 / 4, (piece.at.0 + u64::from(piece.len)).div_ceil(4));
            let mut found = None;
            for dword in first..end {
                let index = dword as usize;
                if group.cells.len() <= index {
                    group.cells.resize(index + 1, Cell::default());
                }
                let earlier = group.touch(index, now, record);
                found = found.or(earlier);
            }
            if let Some(earlier) = found {
                let range = GpuRange::new(piece.at, u64::from(piece.len));
                races.push(Race { earlier, range, lane: piece.lane });
            }
        }
        races
    }
}

impl Group {
    fn record(&self, number: Number) -> Option<&Record> {
        self.records.get((number as usize).checked_sub(1)?)
    }

    /// An access to a dword; gives one that it races with.
    fn touch(&mut self, index: usize, now: Number, record: &Record) -> Option<Record> {
        let cell = self.cells[index];
        let mut against = vec![cell.write];
        if record.kind != AccessKind::Read {
            against.extend(cell.reads);
        }
        let race = against.into_iter().filter_map(|n| self.record(n)).find(|earlier| {
            let atomics = earlier.kind == AccessKind::Atomic && record.kind == AccessKind::Atomic;
            earlier.wave != record.wave && earlier.barriers == record.barriers && !atomics
        });
        let race = race.copied();
        let other = self.record(cell.reads[0]).is_some_and(|r| r.wave != record.wave);
        let cell = &mut self.cells[index];
        if record.kind == AccessKind::Read {
            if other {
                cell.reads[1] = cell.reads[0];
            }
            cell.reads[0] = now;
        } else {
            *cell = Cell { write: now, reads: [0; 2] };
        }
        race
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
    }

    #[test]
    fn an_ended_group_is_forgotten() {
        let piece = Piece { at: GpuAddress(0), len: 4, lane: 0, hit: None, as_of: 0 };
        let mut shared = Shared::default();
        shared.access(DispatchId(3), &record(0, 0, AccessKind::Write), &[piece]);
        shared.end(DispatchId(3), [9, 9, 9]);
        assert_eq!(shared.groups.len(), 1);
        shared.end(DispatchId(3), GROUP);
        assert!(shared.groups.is_empty());
    }
}
