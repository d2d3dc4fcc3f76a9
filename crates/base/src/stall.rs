//! Why nothing can move any more.

use crate::{DispatchId, GpuAddress, KernelId, QueueId, Writer};

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
    /// A command list that would write it was recorded and never submitted, which the
    /// API layer knows; the list's name.
    NotSubmitted(String),
    /// The polled memory was freed while the wait was pending, or before: nothing
    /// lives there any more. Name of the allocation that was there last.
    MemoryFreed(String),
    /// The polled memory was freed, and something else lives there now.
    MemoryReused {
        /// What the wait meant.
        was: String,
        /// What lies there now.
        now: String,
    },
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

/// Why a thread group does not end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkVerdict {
    /// Its waves wait for each other or for an ordered turn that never comes.
    Stuck,
    /// A budget of the run ended while it was running.
    OverBudget(Budget),
    /// It runs for ever: the state of each of its waves came back, and of all that
    /// it reads nothing can change any more.
    Endless {
        /// Turns of the loop after which the state of the wave repeats; 0 if they were
        /// not counted.
        period: u64,
    },
}

/// What a run may use up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Budget {
    /// Wave instructions.
    Instructions(u64),
    /// GPU cycles.
    Cycles(u64),
}

/// A value in memory that decides whether a loop goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoopValue {
    /// The resource, by its name in the shader.
    pub resource: String,
    /// `file:line` of the load, if the module kept lines.
    pub line: Option<String>,
    /// Where it lies.
    pub address: GpuAddress,
    /// 1, 2, 4 or 8.
    pub bytes: u8,
    /// What the wave reads there, through its caches.
    pub value: u64,
    /// What lies in memory, if that is something else.
    pub memory: Option<u64>,
    /// Name of the allocation and byte offset in it, if it lies in one.
    pub allocation: Option<(String, u64)>,
    /// The last write of a packet or of the host that is remembered.
    pub last: Option<PastWrite>,
}

/// The loop that a wave does not leave.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StuckLoop {
    /// `file:line` of the loop, if the module kept lines.
    pub line: Option<String>,
    /// When it is left, one entry for each way out, with the line of that way.
    pub exits: Vec<(String, Option<String>)>,
    /// The lane that was looked at: the lowest that is still in the loop.
    pub lane: u32,
    /// The values in memory that the ways out depend on.
    pub values: Vec<LoopValue>,
}

/// A wave of a group that does not end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StuckWave {
    /// Its number in the group.
    pub wave: u32,
    /// What it stands at, with the source line if the module kept one.
    pub at: String,
    /// Lanes that run, if the engine can tell.
    pub exec: Option<u64>,
}

/// A thread group that does not end.
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
    /// Every wave of it that has not ended.
    pub waves: Vec<StuckWave>,
    /// The kernel.
    pub kernel: KernelId,
    /// Name of its entry point.
    pub entry: String,
    /// Why it does not end.
    pub verdict: WorkVerdict,
    /// The loop that `wave` is in, if it is in one.
    pub looping: Option<StuckLoop>,
    /// Groups of the dispatch that stand there for the same reason, this one
    /// included.
    pub count: u64,
    /// Groups of the dispatch that have ended,
    pub ended: u64,
    /// and that it has.
    pub total: u64,
    /// Of an indirect dispatch: where its counts lie, and what lies there now.
    pub arguments: Option<(GpuAddress, [u32; 3])>,
}

/// What an engine of a queue does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EngineState {
    /// The engine: `pfp`, `me`, `mec`, `sdma`.
    pub engine: &'static str,
    /// The packet it stands at.
    pub packet: Option<GpuAddress>,
    /// What it waits for there; empty if it has nothing to do.
    pub waits_for: &'static str,
}

/// A queue at the moment when nothing could move.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueState {
    /// The queue.
    pub queue: QueueId,
    /// A bad packet has halted it.
    pub halted: bool,
    /// Its engines.
    pub engines: Vec<EngineState>,
    /// Packets that the PFP has sent and the ME has not taken up.
    pub queued: usize,
    /// End-of-pipe events that have not happened.
    pub end_of_pipe: usize,
    /// Command buffers that are being read, the outermost first: the next address
    /// and how many dwords are left.
    pub reading: Vec<(GpuAddress, u64)>,
    /// Shader registers that are not 0, by name.
    pub registers: Vec<(&'static str, u32)>,
    /// Dispatches started.
    pub dispatches: u64,
}

/// Bytes of memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryWindow {
    /// The first one.
    pub at: GpuAddress,
    /// The bytes.
    pub bytes: Vec<u8>,
}

/// Everything that holds the device up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stall {
    /// The waits, by queue.
    pub waits: Vec<BlockedWait>,
    /// Thread groups that hold their queue up.
    pub work: Vec<StuckWork>,
    /// Every queue.
    pub queues: Vec<QueueState>,
    /// Memory around what waits poll and loops read.
    pub memory: Vec<MemoryWindow>,
}
