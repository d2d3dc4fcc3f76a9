//! What a device tells observers while it runs.
//!
//! Observers are defined here, at the bottom, and written above `gpu`. A device
//! with no observer builds no event. Events of a model run come in one order
//! that depends on the input alone.
//!
//! What an observer may rely on in a model run:
//! - Events and accesses come one after the other in the order in which things
//!   happened. [`MemoryAccess::seq`] and the `seq` of [`Event::Flush`] rise
//!   together; an access is told before any event that comes after it.
//! - An engine's events ([`Event::Packet`], and what follows until its next
//!   packet) are in the order of its packets. [`Event::DispatchBegin`] comes in the
//!   order of the ME or MEC that launches. Dispatches of a queue may overlap: one
//!   starts with what its queue knew then ([`Event::Reached`], [`Event::WaitDone`]
//!   and flushes of that queue before it) and nothing else.
//! - A wave's accesses come between [`Event::DispatchBegin`] and
//!   [`Event::DispatchEnd`] of its dispatch, each when the wave makes it: a store is
//!   told when it leaves the compute unit. L2 takes it later, at the latest before
//!   [`Event::Reached`] or [`Event::EndOfPipe`] says [`Level::Accepted`] or more
//!   for its dispatch. A read made in between does not have it, which its
//!   [`crate::access::Piece::as_of`] shows.
//! - A barrier, [`crate::access::AccessKind::Fence`] and the end of a wave order
//!   what that wave does; nothing else orders waves.
//! - [`Event::Reached`] comes when the named engine goes on behind its packet:
//!   [`Level::Accepted`] covers every dispatch that the queue started before the
//!   packet was met, [`Level::CpDma`] every copy, [`Level::MicroEngine`] everything
//!   the ME was sent. It says nothing of cache actions.
//! - [`Event::EndOfPipe`] comes right after its value was written
//!   ([`Event::ValueWritten`]), and its level is what was complete for every
//!   dispatch started before its packet was met when that happened. Its flush is
//!   told before it if the value waited for it, else later, by the same packet.
//!   Copies of the CP's own DMA are never covered unless the packet waits for them.
//! - [`Event::WaitDone`] comes when the wait sees the value. Who wrote it is the
//!   last [`Event::ValueWritten`], transfer, host write or store to the address that
//!   is visible to its client.
//! - The host's accesses are one record per step, with [`Event::HostWrite`] after
//!   a write. Between a host step and a submission nothing of the device moves.
//! - [`Event::Submit`] comes before everything the submission does, then
//!   [`Event::SubmitBegin`] when its first packet is fetched;
//!   [`Event::SubmitDone`] after everything, with its stores accepted.

use crate::access::{Engine, MemoryAccess};
use crate::topology::Client;
use crate::{
    DispatchId, Fault, GpuAddress, GpuRange, KernelId, Place, QueueId, SubmitId, WaveSize,
};

/// Who wrote a value to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Writer {
    /// The host, between submits or by a host step.
    Host,
    /// An end-of-pipe, top-of-pipe or bottom-of-shader write of a queue.
    Queue(QueueId),
    /// A DMA copy, fill or fence of a queue.
    Dma(QueueId),
    /// A store or atomic of a shader.
    Shader(QueueId, DispatchId),
}

/// A cache action that a flush asked for, in neutral words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CacheAction {
    /// Vector L1 (GFX7/8) or L0 and GL1 (GFX10) invalidate.
    InvalidateL1,
    /// GL1 alone (GFX10): what an invalidate of K$ or I$ needs beside it.
    InvalidateGl1,
    /// Lines marked volatile in the vector L1.
    InvalidateL1Volatile,
    /// L2 write-back and invalidate.
    InvalidateL2,
    /// L2 invalidate without a write-back (GFX10): clean lines go, dirty bytes
    /// stay where they are, or are lost (a switch).
    InvalidateL2Clean,
    /// Lines marked volatile in L2.
    InvalidateL2Volatile,
    /// L2 write-back.
    WritebackL2,
    /// Scalar data cache invalidate.
    InvalidateK,
    /// Lines marked volatile in the scalar data cache.
    InvalidateKVolatile,
    /// Instruction cache invalidate.
    InvalidateI,
    /// L2 metadata cache invalidate.
    InvalidateMetadata,
    /// Colour block data written back and invalidated.
    FlushColorData,
    /// Colour block metadata written back and invalidated.
    FlushColorMeta,
    /// Depth block data written back and invalidated.
    FlushDepthData,
    /// Depth block metadata written back and invalidated.
    FlushDepthMeta,
}

/// What cache actions had to do, in lines, summed over the caches of every level.
/// 0 where the run has no caches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct FlushCost {
    /// Lines that were there and were dropped.
    pub dropped: u64,
    /// Lines whose dirty bytes went to memory.
    pub written: u64,
}

/// How far earlier work of a queue has come (`hardware/caches.md` 3.1, with T2
/// split in two, as the vendor's page asks). Each level holds all before it but
/// [`Self::CpDma`] and [`Self::MicroEngine`], which stand apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Level {
    /// Waves have ended; their stores may be on the way.
    ShadersDone,
    /// L2 has accepted their stores.
    Accepted,
    /// Cache actions of the event itself are complete: L2 written back where
    /// asked.
    WrittenBack,
    /// Memory has confirmed it.
    Confirmed,
    /// The command processor's own copies are done.
    CpDma,
    /// The ME has executed what the PFP sent it (PFP_SYNC_ME).
    MicroEngine,
}

/// Something a device did. `packet` fields are addresses of packet headers.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Event {
    /// A command buffer was handed to a queue.
    Submit {
        /// The submission.
        submit: SubmitId,
        /// The queue.
        queue: QueueId,
        /// The command buffer.
        buffer: GpuRange,
    },
    /// The engine that fetches packets comes to a submission: the host's writes
    /// before its [`Event::Submit`] are behind it.
    SubmitBegin {
        /// The submission.
        submit: SubmitId,
        /// The queue.
        queue: QueueId,
    },
    /// Every packet of a submission was executed and its work is done.
    SubmitDone {
        /// The submission.
        submit: SubmitId,
        /// The queue.
        queue: QueueId,
    },
    /// An engine (PFP, ME, MEC or SDMA) took up a packet.
    Packet {
        /// The queue.
        queue: QueueId,
        /// `pfp`, `me`, `mec` or `sdma`.
        engine: &'static str,
        /// Where the packet lies.
        packet: GpuAddress,
        /// The packet's name.
        name: &'static str,
    },
    /// The prefetch parser sent a packet on to the micro engine, which takes it up
    /// later: what tells how far the one is ahead of the other.
    SentOn {
        /// The queue.
        queue: QueueId,
        /// The packet.
        packet: GpuAddress,
    },
    /// A dispatch started.
    DispatchBegin {
        /// The dispatch.
        dispatch: DispatchId,
        /// The queue.
        queue: QueueId,
        /// The packet that launched it.
        packet: GpuAddress,
        /// The kernel.
        kernel: KernelId,
        /// First group.
        start: [u32; 3],
        /// Number of groups in each dimension.
        groups: [u32; 3],
        /// Wave size.
        wave_size: WaveSize,
        /// COMPUTE_DISPATCH_INITIATOR as it was: flags that change no result,
        /// such as those that bypass caches, are told here.
        initiator: u32,
    },
    /// Every wave of a dispatch ended.
    DispatchEnd {
        /// The dispatch.
        dispatch: DispatchId,
    },
    /// A thread group was launched.
    GroupBegin {
        /// The dispatch.
        dispatch: DispatchId,
        /// Its group id.
        group: [u32; 3],
        /// Waves in it.
        waves: u32,
    },
    /// Every wave of a group ended.
    GroupEnd {
        /// The dispatch.
        dispatch: DispatchId,
        /// Its group id.
        group: [u32; 3],
    },
    /// A value that a wait may look at landed in memory.
    ValueWritten {
        /// Who wrote it.
        by: Writer,
        /// The packet, for writes by packets.
        packet: Option<GpuAddress>,
        /// Where it was written.
        address: GpuAddress,
        /// The value.
        value: u64,
        /// 4 or 8.
        bytes: u8,
    },
    /// A write to read-only or unmapped memory was dropped.
    ValueLost {
        /// Who wrote it.
        by: Writer,
        /// The packet, for writes by packets.
        packet: Option<GpuAddress>,
        /// Where it should have gone.
        address: GpuAddress,
        /// The value.
        value: u64,
    },
    /// A wait was met and its condition does not hold.
    WaitBlocked {
        /// The queue.
        queue: QueueId,
        /// The wait packet.
        packet: GpuAddress,
        /// The polled address.
        address: GpuAddress,
    },
    /// A wait's condition holds.
    WaitDone {
        /// The queue.
        queue: QueueId,
        /// The wait packet.
        packet: GpuAddress,
        /// The polled address.
        address: GpuAddress,
        /// The value that satisfied it.
        value: u64,
        /// How the wait looks at it: [`crate::Topology::path`] says whether the
        /// value was in L2 or in memory.
        client: Client,
    },
    /// Cache actions took effect: what a packet or a boundary asked for.
    Flush {
        /// The queue.
        queue: QueueId,
        /// The packet.
        packet: GpuAddress,
        /// What was asked, sorted.
        actions: Vec<CacheAction>,
        /// Over which range; `None` is everything.
        range: Option<GpuRange>,
        /// True if the packet names the prefetch parser: it ran the actions, or the
        /// ME did while it waited ([`Event::Reached`] follows then).
        on_pfp: bool,
        /// True for the end-of-pipe half, false for an acquire.
        bottom: bool,
        /// Place among the memory accesses of the run.
        seq: u64,
        /// What it had to do.
        cost: FlushCost,
        /// The submission whose boundary asked for it, `None` if the packet did.
        boundary: Option<SubmitId>,
    },
    /// An engine knows that work has ended, or waits no longer for it: what a
    /// partial flush, an idle or a DMA sync gives.
    Reached {
        /// The queue.
        queue: QueueId,
        /// The packet.
        packet: GpuAddress,
        /// Which engine goes on.
        engine: Engine,
        /// What was waited for.
        level: Level,
    },
    /// An end-of-pipe or end-of-shader event took effect.
    EndOfPipe {
        /// The queue.
        queue: QueueId,
        /// The packet.
        packet: GpuAddress,
        /// What was complete when its value was written.
        level: Level,
        /// It asked for an L2 write-back that its value has overtaken.
        overtook: bool,
    },
    /// An engine copied or filled memory.
    Transfer {
        /// The queue.
        queue: QueueId,
        /// The packet.
        packet: GpuAddress,
        /// Source, `None` for a fill.
        source: Option<GpuRange>,
        /// Destination.
        destination: GpuRange,
    },
    /// A marker was met.
    Marker {
        /// The queue.
        queue: QueueId,
        /// The packet.
        packet: GpuAddress,
        /// +1 begin, -1 end, 0 a point.
        depth: i8,
        /// The text.
        text: String,
        /// 0xAARRGGBB.
        color: u32,
    },
    /// An engine interrupted the host.
    Interrupt {
        /// The queue.
        queue: QueueId,
        /// The packet.
        packet: GpuAddress,
    },
    /// A shader printed a line.
    Printed(Box<Printed>),
    /// The host wrote memory.
    HostWrite {
        /// Where.
        range: GpuRange,
    },
    /// The guest did something wrong; the run goes on.
    Fault(Box<Fault>),
}

/// A line that a lane of a shader printed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Printed {
    /// Which lane, and where in the source.
    pub place: Place,
    /// The line.
    pub text: String,
}

/// Listens to a device. Called on the thread that runs the model.
pub trait Observer: Send {
    /// One event, in order.
    fn event(&mut self, event: &Event);

    /// The GPU cycle of the events that come next (model run). Cycles may stay the
    /// same from event to event, and never go back but to a checkpoint.
    fn now(&mut self, cycle: u64) {
        let _ = cycle;
    }

    /// True if [`Self::access`] wants to be called. Asked once; where nobody
    /// listens no record is built.
    fn wants_accesses(&self) -> bool {
        false
    }

    /// One memory access of a model run, in order with the events.
    fn access(&mut self, access: &MemoryAccess<'_>) {
        let _ = access;
    }
}

/// An observer that keeps every event, for tests and traces.
#[derive(Clone, Debug, Default)]
pub struct EventLog {
    /// The events in order.
    pub events: Vec<Event>,
}

impl Observer for EventLog {
    fn event(&mut self, event: &Event) {
        self.events.push(event.clone());
    }
}
