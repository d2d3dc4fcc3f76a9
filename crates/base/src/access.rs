//! Memory accesses, as a device tells them to observers that ask for them.
//!
//! One record per wave-wide request, packet or host step. Records of a model run
//! come in the order in which the accesses were made; [`MemoryAccess::seq`]
//! counts them together with cache actions, so that a line's fill can be put in
//! order with both.

use crate::topology::{CacheClass, Client};
use crate::{DispatchId, GpuAddress, QueueId, SubmitId};

/// On whose behalf memory is accessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Agent {
    /// A wave of a dispatch.
    Wave {
        /// The queue.
        queue: QueueId,
        /// The dispatch.
        dispatch: DispatchId,
        /// Number of the group in the dispatch, in launch order.
        launch: u64,
        /// The group's id.
        group: [u32; 3],
        /// The wave in its group.
        wave: u32,
        /// The compute unit it runs on.
        unit: u32,
        /// How many group barriers the wave has passed.
        barriers: u32,
    },
    /// The launch of a dispatch's first group on a group of compute units: it
    /// fetches the code object through their instruction cache.
    Launch {
        /// The queue.
        queue: QueueId,
        /// The dispatch.
        dispatch: DispatchId,
        /// The compute unit the group runs on.
        unit: u32,
    },
    /// An engine of a queue that executes a packet.
    Engine {
        /// The queue.
        queue: QueueId,
        /// `pfp`, `me`, `mec`, `sdma`, `cp-dma` or `eop`: which of the queue's
        /// parts acts, and so what orders it.
        engine: Engine,
        /// The packet.
        packet: GpuAddress,
    },
    /// What happens at a submission's boundaries.
    Boundary {
        /// The queue.
        queue: QueueId,
        /// The submission.
        submit: SubmitId,
    },
    /// The host.
    Host,
}

/// The part of a queue that acts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Engine {
    /// Prefetch parser of the graphics queue.
    Pfp,
    /// Micro engine of the graphics queue.
    Me,
    /// Micro engine of a compute pipe.
    Mec,
    /// A DMA engine.
    Sdma,
    /// The command processor's own DMA, which nothing but its sync bit orders.
    CpDma,
    /// The end of the pipe: not in order with the ME.
    EndOfPipe,
}

impl Engine {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pfp => "pfp",
            Self::Me => "me",
            Self::Mec => "mec",
            Self::Sdma => "sdma",
            Self::CpDma => "cp-dma",
            Self::EndOfPipe => "eop",
        }
    }
}

/// What an access does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AccessKind {
    /// Reads.
    Read,
    /// Writes.
    Write,
    /// Reads, changes and writes as one.
    Atomic,
    /// A wave's device-memory barrier: its stores are accepted by L2, and its
    /// compute unit's own caches drop what they hold. No pieces.
    Fence,
}

/// Consecutive bytes that an access touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// First byte.
    pub at: GpuAddress,
    /// Number of bytes, not 0.
    pub len: u32,
    /// Lowest lane that touched it (0 where there are no lanes).
    pub lane: u8,
    /// Of reads: the cache that had the bytes already, `None` if memory or a
    /// fresh fill gave them. A piece never spans lines of different origin.
    pub hit: Option<CacheClass>,
    /// Of reads and atomics: how old the bytes are. Every write to them with a
    /// `seq` up to this is in what the read gave (or was written over); one with
    /// a later `seq` is not, if it came before the read. A copy inherits it from
    /// the copy it was filled from: from memory it is the `seq` of the fill, and
    /// a store sets it, in each cache that keeps the store, to its own. Kept by
    /// dwords.
    pub as_of: u64,
}

/// A wave-wide request, a packet's transfer or a host step.
#[derive(Clone, Copy, Debug)]
pub struct MemoryAccess<'a> {
    /// Place in the run, rising; shared with cache actions.
    pub seq: u64,
    /// Who.
    pub agent: Agent,
    /// Which path.
    pub client: Client,
    /// What.
    pub kind: AccessKind,
    /// Bypasses the caches that other compute units do not share (GLC, DLC).
    pub coherent: bool,
    /// Marked volatile.
    pub volatile: bool,
    /// Source line index of the kernel, 0 if none.
    pub loc: u32,
    /// What was touched, by address; pieces do not overlap.
    pub pieces: &'a [Piece],
}
