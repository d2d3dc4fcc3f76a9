//! Cache actions that ran, in order per stream, and which of them lie between a
//! write and its reader.

use crate::clock::{Epoch, Knowledge, Snapshot, Stream};
use wavefence_base::{CacheAction, CacheClass, GpuAddress, GpuRange};

/// What an action does to one kind of cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Effect {
    Invalidate(CacheClass),
    WriteBackL2,
}

const EFFECTS: usize = 6;

impl Effect {
    const fn index(self) -> usize {
        match self {
            Self::Invalidate(CacheClass::Vector) => 0,
            Self::Invalidate(CacheClass::Scalar) => 1,
            Self::Invalidate(CacheClass::Instruction) => 2,
            Self::Invalidate(CacheClass::Gl1) => 3,
            Self::Invalidate(CacheClass::L2) => 4,
            Self::WriteBackL2 => 5,
        }
    }
}

/// What an action does, as far as every line is concerned. Actions on volatile
/// lines, on metadata and on colour and depth blocks protect nothing here.
pub(crate) fn effects(action: CacheAction) -> &'static [Effect] {
    use CacheClass::{Gl1, Instruction, L2, Scalar, Vector};
    use Effect::{Invalidate, WriteBackL2};
    match action {
        CacheAction::InvalidateL1 => &[Invalidate(Vector), Invalidate(Gl1)],
        CacheAction::InvalidateGl1 => &[Invalidate(Gl1)],
        CacheAction::InvalidateL2 => &[WriteBackL2, Invalidate(L2)],
        CacheAction::InvalidateL2Clean => &[Invalidate(L2)],
        CacheAction::WritebackL2 => &[WriteBackL2],
        CacheAction::InvalidateK => &[Invalidate(Scalar)],
        CacheAction::InvalidateI => &[Invalidate(Instruction)],
        CacheAction::InvalidateL1Volatile
        | CacheAction::InvalidateL2Volatile
        | CacheAction::InvalidateKVolatile
        | CacheAction::InvalidateMetadata
        | CacheAction::FlushColorData
        | CacheAction::FlushColorMeta
        | CacheAction::FlushDepthData
        | CacheAction::FlushDepthMeta => &[],
    }
}

/// Bytes to which hardware rounds a range out.
const GRANULE: u64 = 256;

/// One action of one flush.
#[derive(Clone, Debug)]
pub(crate) struct Ran {
    pub(crate) action: CacheAction,
    pub(crate) packet: GpuAddress,
    /// Who ran it, in which place of its stream.
    pub(crate) by: Epoch,
    /// Rounded out; `None` is everything.
    pub(crate) range: Option<GpuRange>,
    /// What its agent knew.
    pub(crate) know: Snapshot,
    /// Place among the accesses of the run.
    pub(crate) seq: u64,
    /// Which element of which packet it is.
    pub(crate) element: u32,
    /// Of an end-of-pipe event: it came after the event's value.
    pub(crate) late: bool,
}

impl Ran {
    /// True if whoever knows `know` knows that this is complete.
    pub(crate) fn before(&self, know: &Knowledge) -> bool {
        match self.by.stream {
            Stream::EndOfPipe if self.late => self.by.number <= know.of(self.by.queue).eop_done,
            Stream::EndOfPipe
            | Stream::Dispatch
            | Stream::Engine
            | Stream::Pfp
            | Stream::Dma
            | Stream::Boundary
            | Stream::Host => know.landed(self.by),
        }
    }

    /// True if memory has confirmed it, for a reader that goes to memory.
    pub(crate) fn confirmed(&self, know: &Knowledge) -> bool {
        match self.by.stream {
            Stream::EndOfPipe => self.by.number <= know.of(self.by.queue).eop_confirmed,
            Stream::Dispatch
            | Stream::Engine
            | Stream::Pfp
            | Stream::Dma
            | Stream::Boundary
            | Stream::Host => true,
        }
    }

    pub(crate) fn covers(&self, at: GpuAddress) -> bool {
        self.range.is_none_or(|r| r.contains(at, 1))
    }
}

/// Rounds a range out as hardware does.
pub(crate) fn round_out(range: GpuRange) -> GpuRange {
    let start = range.start.0 / GRANULE * GRANULE;
    let end = range.end().checked_next_multiple_of(GRANULE).unwrap_or(u64::MAX);
    GpuRange::new(GpuAddress(start), end - start)
}

/// A stream's actions of one effect, oldest first.
#[derive(Clone, Debug)]
struct Line {
    queue: u16,
    stream: Stream,
    list: Vec<u32>,
}

/// All actions of the run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Flushes {
    ran: Vec<Ran>,
    lines: [Vec<Line>; EFFECTS],
    ranged: bool,
}

impl Flushes {
    /// Adds an action.
    pub(crate) fn push(&mut self, ran: Ran) {
        let index = self.ran.len() as u32;
        let key = (ran.by.queue, ran.by.stream);
        for effect in effects(ran.action) {
            let lines = &mut self.lines[effect.index()];
            match lines.iter_mut().find(|l| (l.queue, l.stream) == key) {
                Some(line) => line.list.push(index),
                None => lines.push(Line { queue: key.0, stream: key.1, list: vec![index] }),
            }
        }
        self.ranged |= ran.range.is_some();
        self.ran.push(ran);
    }

    pub(crate) fn get(&self, index: u32) -> &Ran {
        &self.ran[index as usize]
    }

    /// True if any flush so far had a range.
    pub(crate) fn ranged(&self) -> bool {
        self.ranged
    }

    /// That action of that event.
    pub(crate) fn by_epoch(&self, by: Epoch, action: CacheAction) -> Option<&Ran> {
        let effect = effects(action).first()?;
        let lines = &self.lines[effect.index()];
        let line = lines.iter().find(|l| (l.queue, l.stream) == (by.queue, by.stream))?;
        let at = line.list.partition_point(|&i| self.get(i).by.number < by.number);
        let ran = self.get(*line.list.get(at)?);
        (ran.by == by && ran.action == action).then_some(ran)
    }

    /// The earliest action with that effect on the byte at `at` that is before the
    /// reader and whose agent knew what `after` asks; `after` must stay true as
    /// knowledge grows.
    pub(crate) fn between(
        &self,
        effect: Effect,
        at: GpuAddress,
        after: impl Fn(&Ran) -> bool,
        reader: &Knowledge,
    ) -> Option<u32> {
        let mut best: Option<u32> = None;
        for line in &self.lines[effect.index()] {
            let known = line.list.partition_point(|&i| self.get(i).before(reader));
            let first = line.list[..known].partition_point(|&i| !after(self.get(i)));
            let found = line.list[first..known].iter().find(|&&i| self.get(i).covers(at));
            if let Some(&i) = found
                && best.is_none_or(|b| self.get(i).seq < self.get(b).seq)
            {
                best = Some(i);
            }
        }
        best
    }

    /// The last action with that effect, before the reader and later than `seq`,
    /// that satisfies `test`.
    pub(crate) fn last(
        &self,
        effect: Effect,
        seq: u64,
        test: impl Fn(&Ran) -> bool,
    ) -> Option<&Ran> {
        let mut best: Option<&Ran> = None;
        for line in &self.lines[effect.index()] {
            let found = line.list.iter().rev().map(|&i| self.get(i)).take_while(|r| r.seq > seq);
            for ran in found {
                if test(ran) {
                    if best.is_none_or(|b| ran.seq > b.seq) {
                        best = Some(ran);
                    }
                    break;
                }
            }
        }
        best
    }

    /// The last flush packet before the reader and later than `seq`, with all its
    /// actions.
    pub(crate) fn last_packet(
        &self,
        seq: u64,
        reader: &Knowledge,
    ) -> Option<(GpuAddress, Vec<CacheAction>)> {
        let last = self.ran.iter().rev().take_while(|r| r.seq > seq).find(|r| r.before(reader))?;
        let of_it = |r: &&Ran| r.packet == last.packet && r.by == last.by;
        let mut actions: Vec<CacheAction> = self
            .ran
            .iter()
            .rev()
            .take_while(|r| r.seq > seq)
            .filter(of_it)
            .map(|r| r.action)
            .collect();
        actions.sort_unstable();
        actions.dedup();
        Some((last.packet, actions))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use wavefence_base::QueueId;

    fn ran(number: u32, accepted: u32, seq: u64) -> Ran {
        let mut know = Knowledge::default();
        know.of_mut(0).accepted = accepted;
        Ran {
            action: CacheAction::InvalidateL1,
            packet: GpuAddress(seq),
            by: Epoch::new(QueueId(0), Stream::Engine, number),
            range: None,
            know: Arc::new(know),
            seq,
            element: 0,
            late: false,
        }
    }

    #[test]
    fn the_earliest_between_a_write_and_its_reader() {
        let mut flushes = Flushes::default();
        for (number, accepted) in [(1, 0), (2, 1), (3, 2), (4, 3)] {
            flushes.push(ran(number, accepted, u64::from(number) * 10));
        }
        let mut reader = Knowledge::default();
        reader.of_mut(0).engine = 3;
        let find = |w: u32| {
            let w = Epoch::new(QueueId(0), Stream::Dispatch, w);
            flushes.between(
                Effect::Invalidate(CacheClass::Vector),
                GpuAddress(0),
                |r| r.know.landed(w),
                &reader,
            )
        };
        assert_eq!((find(1), find(2), find(3)), (Some(1), Some(2), None));
    }

    #[test]
    fn ranges_are_rounded_out() {
        let r = round_out(GpuRange::new(GpuAddress(0x110), 0x10));
        assert_eq!(r, GpuRange::new(GpuAddress(0x100), 0x100));
        assert_eq!(round_out(GpuRange::new(GpuAddress(0), u64::MAX)).end(), u64::MAX);
    }
}
