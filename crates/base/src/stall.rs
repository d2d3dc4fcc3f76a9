//! Why nothing can move any more.

use crate::{DispatchId, GpuAddress, QueueId, Writer};

/// What a blocked wait comes down to.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StallVerdict {
    /// Queues wait for each other; the queues of the ring, in order.
    Cycle(Vec<QueueId>),
    /// Nothing ever wrote the address and nothing still to run does.
    NeverWritten,
    /// The value was there and has been overwritten, or the counter passed it.
    Overtaken,
    /// A write that would have satisfied it went to read-only or unmapped memory.
    WriteLost,
    /// The address was written, but never with a satisfying value.
    NeverSatisfied,
    /// The only writer stands behind the wait on the same queue.
    BehindItself,
    /// The value lies in L2 only, where that shader's store left it, and the
    /// engine polls memory.
    ValueInL2(Writer),
    /// The writer stands on that queue, which itself cannot go on, but not
    /// because of this wait.
    WriterBlocked(QueueId),
}

/// A packet that has not run and writes the awaited address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingWrite {
    /// The queue it stands on.
    pub queue: QueueId,
    /// The packet.
    pub packet: GpuAddress,
    /// The value it would write, if the packet says it (a timestamp does not).
    pub value: Option<u64>,
}

/// A write that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PastWrite {
    /// Who wrote.
    pub by: Writer,
    /// The packet, if a packet wrote it.
    pub packet: Option<GpuAddress>,
    /// The value.
    pub value: u64,
    /// False if it was dropped (read-only or unmapped memory).
    pub landed: bool,
}

/// One wait that cannot go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockedWait {
    /// The queue.
    pub queue: QueueId,
    /// The engine: `pfp`, `me`, `mec`, `sdma`.
    pub engine: &'static str,
    /// The wait packet.
    pub packet: GpuAddress,
    /// The polled address.
    pub address: GpuAddress,
    /// Name of the allocation and byte offset in it, if it lies in one.
    pub allocation: Option<(String, u64)>,
    /// The comparison, as a symbol: `<`, `<=`, `==`, `!=`, `>=`, `>`.
    pub function: &'static str,
    /// The reference value.
    pub wanted: u64,
    /// The mask.
    pub mask: u64,
    /// The value in memory.
    pub present: u64,
    /// 4 or 8.
    pub bytes: u8,
    /// Every write to the address so far, oldest first.
    pub past: Vec<PastWrite>,
    /// Packets not yet run that write there.
    pub pending: Vec<PendingWrite>,
    /// What it comes down to.
    pub verdict: StallVerdict,
}

/// A thread group that cannot go on: its waves wait for each other or for an
/// ordered turn that never comes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StuckWork {
    /// The queue.
    pub queue: QueueId,
    /// The packet that launched the dispatch.
    pub packet: GpuAddress,
    /// The dispatch.
    pub dispatch: DispatchId,
    /// The group.
    pub group: [u32; 3],
    /// The first wave that has not ended.
    pub wave: u32,
    /// What it stands at, with the source line if the module kept one.
    pub at: String,
}

/// Every blocked wait at the moment when nothing could move.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stall {
    /// The waits, by queue.
    pub waits: Vec<BlockedWait>,
    /// Thread groups that hold their queue up.
    pub work: Vec<StuckWork>,
}
