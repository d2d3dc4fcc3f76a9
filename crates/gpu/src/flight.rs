//! What is on its way: stores of waves that have ended and L2 has not taken, cache
//! actions that come after their event's value, copies of the CP's own DMA.
//!
//! Each arrives some turns of the schedule later, the number by the seed alone, so
//! that what waits for it too weakly sees the old bytes. Whatever waits for it
//! rightly makes it arrive at once. Where nothing else moves, time jumps to the
//! next arrival. A fast run has no turns and nothing is on its way.

use std::collections::VecDeque;
use wavefence_base::{DispatchId, GpuAddress, QueueId};

/// Turns between an event and its late effect: at least this many, and up to twice.
/// No source gives a number; long enough that another queue can wait for a value,
/// set its registers and read meanwhile. Assumed.
const DELAY: u64 = 64;

/// A dispatch that ended while stores of it were on their way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Landing {
    due: u64,
    pub(crate) queue: QueueId,
    /// Its number among the dispatches of its queue.
    pub(crate) seq: u64,
    pub(crate) dispatch: DispatchId,
    pub(crate) packet: GpuAddress,
}

/// The turn, and ended dispatches with stores on their way, in the order they
/// ended.
#[derive(Debug)]
pub(crate) struct Flight {
    turn: u64,
    delay: u64,
    landings: VecDeque<Landing>,
}

impl Flight {
    /// Nothing on its way. `model` is false in a fast run.
    pub(crate) fn new(model: bool, seed: u64) -> Self {
        let mix = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 33;
        let delay = if model { DELAY + mix % DELAY } else { 0 };
        Self { turn: 0, delay, landings: VecDeque::new() }
    }

    /// The next turn begins.
    pub(crate) fn next_turn(&mut self) {
        self.turn += 1;
    }

    /// Nothing happens before `turn`.
    pub(crate) fn jump(&mut self, turn: u64) {
        self.turn = self.turn.max(turn);
    }

    /// When what leaves now arrives.
    pub(crate) fn due(&self) -> u64 {
        self.turn + self.delay
    }

    /// True if its time has come.
    pub(crate) fn arrived(&self, due: u64) -> bool {
        due <= self.turn
    }

    /// Stores of an ended dispatch are on their way.
    pub(crate) fn leave(
        &mut self,
        queue: QueueId,
        seq: u64,
        dispatch: DispatchId,
        packet: GpuAddress,
    ) {
        self.landings.push_back(Landing { due: self.due(), queue, seq, dispatch, packet });
    }

    /// Takes those of a queue's dispatches up to a number.
    pub(crate) fn take_of(&mut self, queue: QueueId, upto: u64) -> Vec<Landing> {
        self.take(|l| l.queue == queue && l.seq <= upto)
    }

    /// Takes those whose time has come.
    pub(crate) fn take_due(&mut self) -> Vec<Landing> {
        let turn = self.turn;
        self.take(|l| l.due <= turn)
    }

    fn take(&mut self, which: impl Fn(&Landing) -> bool) -> Vec<Landing> {
        if self.landings.is_empty() {
            return Vec::new();
        }
        let (taken, kept) = self.landings.drain(..).partition(which);
        self.landings = kept;
        Vec::from_iter::<VecDeque<Landing>>(taken)
    }

    /// The first arrival to come.
    pub(crate) fn first_due(&self) -> Option<u64> {
        self.landings.iter().map(|l| l.due).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stores_arrive_by_time_or_when_waited_for() {
        let mut f = Flight::new(true, 7);
        let (a, b) = (QueueId(0), QueueId(1));
        f.leave(a, 1, DispatchId(0), GpuAddress(0));
        f.leave(b, 1, DispatchId(1), GpuAddress(0));
        f.leave(a, 2, DispatchId(2), GpuAddress(0));
        assert_eq!(f.take_due().len(), 0);
        let ids = |taken: Vec<Landing>| taken.iter().map(|l| l.dispatch.0).collect::<Vec<_>>();
        assert_eq!(ids(f.take_of(a, 1)), [0]);
        let due = f.first_due().expect("two are left");
        f.jump(due);
        assert_eq!(ids(f.take_due()), [1, 2]);
        assert_eq!(f.first_due(), None);
    }

    #[test]
    fn nothing_is_late_in_a_fast_run() {
        let f = Flight::new(false, 7);
        assert!(f.arrived(f.due()));
    }
}
