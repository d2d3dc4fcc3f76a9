//! Steps that a model run may take next, and who chooses where the hardware leaves
//! the order open.
//!
//! A run is a row of steps. Each is taken by one agent: an engine that goes on by a
//! packet, a wave that runs up to its next access to memory, an arrival (stores that
//! L2 takes, a late cache action, a copy), a cache that loses its lines, the host. At
//! each point the device lists every step that can be taken, the one that the clock
//! would take first in front, and a [`Schedule`] picks one. A plain run is the one
//! that always takes the first.
//!
//! The same choices from the same start offer the same steps, so a row of indices
//! repeats a run. Steps name their agent by what does not depend on the order of
//! other agents: a dispatch by its number on its queue, not by its number on the
//! device.
//!
//! After a step the device tells its [`Footprint`]. Two steps of different agents
//! whose footprints do not [conflict](Footprint::conflicts) give the same state in
//! either order; that is what a search prunes by. A footprint may name too much,
//! never too little.

use crate::topology::CacheClass;
use crate::{GpuAddress, QueueId};

/// A step that can be taken. `seq` counts the dispatches of a queue from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Step {
    /// The prefetch parser of a queue takes up a packet or goes on with one.
    Prefetch(QueueId),
    /// The ME, MEC or SDMA engine of a queue does.
    Execute(QueueId),
    /// The oldest copy of the CP's own DMA engine of a queue is made.
    Copy(QueueId),
    /// A dispatch's next group starts.
    Launch {
        /// The queue.
        queue: QueueId,
        /// The dispatch.
        seq: u64,
    },
    /// A wave runs on.
    Wave {
        /// The queue.
        queue: QueueId,
        /// The dispatch.
        seq: u64,
        /// Number of its group in launch order.
        group: u64,
        /// Its number in the group.
        wave: u32,
    },
    /// L2 takes the stores of a dispatch that has ended, or of a group of one.
    Land {
        /// The queue.
        queue: QueueId,
        /// The dispatch.
        seq: u64,
    },
    /// Cache actions that their event's value has overtaken are done.
    Late(QueueId),
    /// The oldest end-of-pipe event of a queue takes effect.
    EndOfPipe(QueueId),
    /// The oldest submission of a queue that can is closed.
    Close(QueueId),
    /// One cache loses its lines; those with dirty bytes are written back. Offered
    /// behind all others, of caches that hold lines, and only where something else
    /// can be taken: a run ends when no other step is left.
    Evict(CacheClass, u32),
    /// The host takes its next step, where [`HostTurn`] says that it can.
    Host,
}

/// Whether the host can take its next step while a run goes on. Whoever drives the
/// device says so before it runs; a run ends with that word where [`Step::Host`] is
/// taken, and goes on with the next call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HostTurn {
    /// It cannot, or it waits until nothing moves.
    #[default]
    Never,
    /// It can, and the plain run has it do so first: it submits.
    First,
    /// It can, and the plain run has it do so when nothing else can move: it writes or
    /// reads memory.
    Last,
    /// As [`HostTurn::Last`], but only while the 64-bit value at the address is at
    /// least this: it waits for a fence.
    Reached(GpuAddress, u64),
}

/// Something that steps share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Resource {
    /// The line of memory at that address, wherever its bytes lie: aligned to
    /// [`Resource::LINE`].
    Line(GpuAddress),
    /// One cache as a whole. An access through it uses it, an invalidate or a
    /// write-back changes it.
    Cache(CacheClass, u32),
    /// What the engines of a queue hand to each other.
    Queue(QueueId),
    /// Room on compute units, and where the next group is placed.
    Units,
    /// The global data share and ordered turns.
    DataShare,
    /// What the groups of a dispatch have left on its way.
    Dispatch {
        /// The queue.
        queue: QueueId,
        /// The dispatch.
        seq: u64,
    },
    /// The shared memory of a group.
    GroupShared {
        /// The queue.
        queue: QueueId,
        /// The dispatch.
        seq: u64,
        /// Number of the group in launch order.
        group: u64,
    },
    /// What the host has seen or set.
    Host,
    /// All of the above: where the device cannot tell.
    Everything,
}

impl Resource {
    /// Bytes of a [`Resource::Line`]: the longest line of any cache.
    pub const LINE: u64 = 128;
}

/// What a step did with a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Touch {
    /// The resource.
    pub what: Resource,
    /// True if it changed it.
    pub changed: bool,
}

/// Everything a step shares with others.
///
/// That a step makes another possible, or impossible, need not be told here: who
/// searches sees it from the options before and after. So a packet that the PFP hands
/// on and the ME takes later is no [`Resource::Queue`] of both, and a wait touches only
/// the line that it reads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Footprint {
    touches: Vec<Touch>,
}

impl Footprint {
    /// Nothing touched yet; keeps its memory.
    pub fn clear(&mut self) {
        self.touches.clear();
    }

    /// Adds a resource; a change takes the place of a use.
    pub fn add(&mut self, what: Resource, changed: bool) {
        match self.touches.binary_search_by(|t| t.what.cmp(&what)) {
            Ok(at) => self.touches[at].changed |= changed,
            Err(at) => self.touches.insert(at, Touch { what, changed }),
        }
    }

    /// The resources, sorted, each once.
    pub fn touches(&self) -> &[Touch] {
        &self.touches
    }

    /// True if the order of the two may matter: they share a resource that one of
    /// them changed.
    pub fn conflicts(&self, other: &Self) -> bool {
        let everything =
            |f: &Self| f.touches.last().is_some_and(|t| t.what == Resource::Everything);
        if everything(self) || everything(other) {
            return true;
        }
        let (mut a, mut b) = (self.touches.iter().peekable(), other.touches.iter().peekable());
        while let (Some(x), Some(y)) = (a.peek(), b.peek()) {
            match x.what.cmp(&y.what) {
                std::cmp::Ordering::Less => drop(a.next()),
                std::cmp::Ordering::Greater => drop(b.next()),
                std::cmp::Ordering::Equal if x.changed || y.changed => return true,
                std::cmp::Ordering::Equal => {
                    a.next();
                    b.next();
                }
            }
        }
        false
    }
}

/// Chooses what happens next in a model run. Called on the thread that runs it.
pub trait Schedule: Send {
    /// Which of `options` is taken, by index; never empty, no step twice, the
    /// plain run's first. An index outside is taken for 0.
    fn choose(&mut self, options: &[Step]) -> usize;

    /// How many more [`Step::Evict`] it wants to be offered; asked at each point.
    fn evictions(&mut self) -> u32 {
        0
    }

    /// Whether [`Self::done`] wants to be called; asked once.
    fn wants_footprints(&self) -> bool {
        false
    }

    /// What the step that was chosen last has touched.
    fn done(&mut self, footprint: &Footprint) {
        let _ = footprint;
    }

    /// True if the run is to end here: what follows is of no interest. Asked after
    /// each step.
    fn enough(&mut self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn footprint(touches: &[(Resource, bool)]) -> Footprint {
        let mut all = Footprint::default();
        for &(what, changed) in touches {
            all.add(what, changed);
        }
        all
    }

    #[test]
    fn uses_commute_and_changes_do_not() {
        let line = |at| Resource::Line(GpuAddress(at));
        let read = footprint(&[(line(0x100), false), (Resource::Units, true)]);
        let other = footprint(&[(line(0x80), true), (line(0x100), false)]);
        let write = footprint(&[(line(0x100), true)]);
        assert!(!read.conflicts(&other) && !other.conflicts(&read));
        assert!(read.conflicts(&write) && write.conflicts(&read));
        assert!(!read.conflicts(&Footprint::default()));
        assert!(write.conflicts(&write));
    }

    #[test]
    fn everything_conflicts_and_changes_add_up() {
        let all = footprint(&[(Resource::Everything, true)]);
        assert!(all.conflicts(&Footprint::default()));
        let twice = footprint(&[(Resource::Units, false), (Resource::Units, true)]);
        assert_eq!(twice.touches(), [Touch { what: Resource::Units, changed: true }]);
    }
}
