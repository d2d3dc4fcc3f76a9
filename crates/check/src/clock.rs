//! What an agent knows of others: positions in each queue's streams of work.

use std::sync::Arc;
use wavefence_base::QueueId;

/// The kinds of work of a queue that are in order among themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Stream {
    /// Dispatches, by the order in which the ME started them.
    Dispatch,
    /// What the ME, MEC or SDMA engine does itself, by place in the program.
    Engine,
    /// What the prefetch parser does itself, by place in the program.
    Pfp,
    /// Copies of the command processor's DMA.
    Dma,
    /// End-of-pipe events.
    EndOfPipe,
    /// Ends of submissions.
    Boundary,
    /// Host steps; the queue does not count.
    Host,
}

/// A piece of work: what made an access, as far as order goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Epoch {
    pub(crate) queue: u16,
    pub(crate) stream: Stream,
    /// From 1.
    pub(crate) number: u32,
}

impl Epoch {
    pub(crate) fn new(queue: QueueId, stream: Stream, number: u32) -> Self {
        Self { queue: queue.0 as u16, stream, number }
    }

    pub(crate) const fn host(number: u32) -> Self {
        Self { queue: 0, stream: Stream::Host, number }
    }

    /// The queue; `None` for the host.
    pub(crate) fn queue(self) -> Option<QueueId> {
        (self.stream != Stream::Host).then_some(QueueId(u32::from(self.queue)))
    }
}

/// What is known of one queue: everything up to and including these numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Known {
    /// Dispatches whose waves have ended.
    pub(crate) ended: u32,
    /// Dispatches whose stores L2 has accepted.
    pub(crate) accepted: u32,
    pub(crate) engine: u32,
    pub(crate) pfp: u32,
    pub(crate) dma: u32,
    /// End-of-pipe events whose value was written.
    pub(crate) eop: u32,
    /// End-of-pipe events whose cache actions are complete.
    pub(crate) eop_done: u32,
    /// End-of-pipe events that waited for write confirm.
    pub(crate) eop_confirmed: u32,
    pub(crate) boundary: u32,
}

impl Known {
    fn join(&mut self, other: &Self) {
        self.ended = self.ended.max(other.ended);
        self.accepted = self.accepted.max(other.accepted);
        self.engine = self.engine.max(other.engine);
        self.pfp = self.pfp.max(other.pfp);
        self.dma = self.dma.max(other.dma);
        self.eop = self.eop.max(other.eop);
        self.eop_done = self.eop_done.max(other.eop_done);
        self.eop_confirmed = self.eop_confirmed.max(other.eop_confirmed);
        self.boundary = self.boundary.max(other.boundary);
    }
}

/// What an agent knows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Knowledge {
    /// Host steps.
    pub(crate) host: u32,
    queues: Vec<Known>,
}

/// Knowledge as it was at some moment.
pub(crate) type Snapshot = Arc<Knowledge>;

impl Knowledge {
    /// Of one queue.
    pub(crate) fn of(&self, queue: u16) -> Known {
        self.queues.get(usize::from(queue)).copied().unwrap_or_default()
    }

    /// Of one queue, to add to.
    pub(crate) fn of_mut(&mut self, queue: u16) -> &mut Known {
        let index = usize::from(queue);
        if self.queues.len() <= index {
            self.queues.resize(index + 1, Known::default());
        }
        &mut self.queues[index]
    }

    /// Takes over what another knows.
    pub(crate) fn join(&mut self, other: &Self) {
        self.host = self.host.max(other.host);
        if self.queues.len() < other.queues.len() {
            self.queues.resize(other.queues.len(), Known::default());
        }
        for (mine, theirs) in self.queues.iter_mut().zip(&other.queues) {
            mine.join(theirs);
        }
    }

    /// Takes note of work that is done.
    pub(crate) fn learn(&mut self, epoch: Epoch) {
        let known = self.of_mut(epoch.queue);
        let at = match epoch.stream {
            // One wave's store does not say that the others have ended.
            Stream::Dispatch => return,
            Stream::Engine => &mut known.engine,
            Stream::Pfp => &mut known.pfp,
            Stream::Dma => &mut known.dma,
            Stream::EndOfPipe => &mut known.eop,
            Stream::Boundary => &mut known.boundary,
            Stream::Host => &mut self.host,
        };
        *at = epoch.number.max(*at);
    }

    /// True if that work has ended: what it read may be overwritten.
    pub(crate) fn ended(&self, epoch: Epoch) -> bool {
        match epoch.stream {
            Stream::Dispatch => epoch.number <= self.of(epoch.queue).ended,
            Stream::Engine
            | Stream::Pfp
            | Stream::Dma
            | Stream::EndOfPipe
            | Stream::Boundary
            | Stream::Host => self.landed(epoch),
        }
    }

    /// True if that work's writes are where its path ends: L2 or memory.
    pub(crate) fn landed(&self, epoch: Epoch) -> bool {
        let known = self.of(epoch.queue);
        epoch.number
            <= match epoch.stream {
                Stream::Dispatch => known.accepted,
                Stream::Engine => known.engine,
                Stream::Pfp => known.pfp,
                Stream::Dma => known.dma,
                Stream::EndOfPipe => known.eop,
                Stream::Boundary => known.boundary,
                Stream::Host => self.host,
            }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knowledge_grows_by_joining() {
        let mut a = Knowledge::default();
        a.of_mut(1).ended = 3;
        let mut b = Knowledge { host: 2, ..Knowledge::default() };
        b.of_mut(1).accepted = 2;
        b.join(&a);
        let w = |number| Epoch::new(QueueId(1), Stream::Dispatch, number);
        assert!(b.ended(w(3)) && !b.landed(w(3)) && b.landed(w(2)));
        assert!(b.landed(Epoch::host(2)) && !b.landed(Epoch::host(3)));
        assert!(!b.ended(Epoch::new(QueueId(7), Stream::Dma, 1)));
    }
}
