//! What is on its way: stores of waves that have ended and L2 has not taken, cache
//! actions that come after their event's value, copies of the CP's own DMA.
//!
//! Each arrives some cycles later, the number by the seed alone, so that what waits
//! for it too weakly sees the old bytes. Whatever waits for it rightly makes it
//! arrive at once. A fast run has no time and nothing is on its way.

use std::collections::VecDeque;
use wavefence_base::{DispatchId, GpuAddress, QueueId};

/// A dispatch that ended while stores of it were on their way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Landing {
    /// The cycle in which they arrive.
    pub(crate) due: u64,
    pub(crate) queue: QueueId,
    /// Its number among the dispatches of its queue.
    pub(crate) seq: u64,
    pub(crate) dispatch: DispatchId,
    pub(crate) packet: GpuAddress,
}

/// Ended dispatches with stores on their way, in the order they ended.
#[derive(Clone, Debug)]
pub(crate) struct Flight {
    /// Cycles from leaving to arriving.
    pub(crate) delay: u64,
    landings: VecDeque<Landing>,
}

impl Flight {
    /// Nothing on its way. `model` is false in a fast run. What leaves takes at least
    /// `least` cycles and less than twice that, so that another queue can wait for a
    /// value, set its registers and read meanwhile.
    pub(crate) fn new(model: bool, least: u32, seed: u64) -> Self {
        let least = u64::from(least);
        let mix = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 33;
        let delay = if model { least + mix % least.max(1) } else { 0 };
        Self { delay, landings: VecDeque::new() }
    }

    /// Stores of an ended dispatch are on their way.
    pub(crate) fn leave(&mut self, landing: Landing) {
        self.landings.push_back(landing);
    }

    /// Takes those of a queue's dispatches up to a number.
    pub(crate) fn take_of(&mut self, queue: QueueId, upto: u64) -> Vec<Landing> {
        self.take(|l| l.queue == queue && l.seq <= upto)
    }

    /// Takes those of one dispatch.
    pub(crate) fn take_one(&mut self, queue: QueueId, seq: u64) -> Vec<Landing> {
        self.take(|l| l.queue == queue && l.seq == seq)
    }

    fn take(&mut self, which: impl Fn(&Landing) -> bool) -> Vec<Landing> {
        if self.landings.is_empty() {
            return Vec::new();
        }
        let (taken, kept) = self.landings.drain(..).partition(which);
        self.landings = kept;
        Vec::from_iter::<VecDeque<Landing>>(taken)
    }

    /// What is on its way.
    pub(crate) fn landings(&self) -> impl Iterator<Item = &Landing> {
        self.landings.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stores_are_taken_by_dispatch_or_up_to_one() {
        let mut f = Flight::new(true, 1024, 7);
        assert!((1024..2048).contains(&f.delay));
        let mut leave = |queue, seq, id| {
            let (dispatch, packet) = (DispatchId(id), GpuAddress(0));
            f.leave(Landing { due: 0, queue, seq, dispatch, packet });
        };
        let (a, b) = (QueueId(0), QueueId(1));
        leave(a, 1, 0);
        leave(b, 1, 1);
        leave(a, 2, 2);
        leave(a, 3, 3);
        let ids = |taken: Vec<Landing>| taken.iter().map(|l| l.dispatch.0).collect::<Vec<_>>();
        assert_eq!(ids(f.take_of(a, 1)), [0]);
        assert_eq!(ids(f.take_one(a, 3)), [3]);
        assert_eq!(f.landings().map(|l| l.dispatch.0).collect::<Vec<_>>(), [1, 2]);
        assert_eq!(ids(f.take_of(b, 9)), [1]);
    }

    #[test]
    fn nothing_is_late_in_a_fast_run() {
        assert_eq!(Flight::new(false, 1024, 7).delay, 0);
    }
}
