//! One hardware queue: its commands, its registers, the engines that serve it
//! and what they have not finished.

use crate::core::Core;
use crate::cp::Launch;
use crate::desc::QueueKind;
use crate::fetch::{Fetcher, Located};
use crate::regs::Regs;
use crate::ring::RingBuffer;
use crate::steps::When;
use crate::wait::ValueWait;
use std::collections::{BTreeSet, VecDeque};
use wavefence_base::access::Engine;
use wavefence_base::event::Level;
use wavefence_base::topology::Client;
use wavefence_base::{CacheAction, GpuAddress, GpuRange, QueueId, SubmitId};
use wavefence_pm4::Ring;

/// Something for an engine to do.
#[derive(Clone, Debug)]
pub(crate) enum Item {
    /// A packet.
    Packet(Box<Located>),
    /// A dispatch whose arguments the PFP has read.
    Launch(Launch),
    /// An acquire that the PFP waits for.
    Acquire(Box<Located>),
    /// The end of a submission, and the ring's packet that started it.
    SubmitEnd(SubmitId, GpuAddress),
}

/// Something for the ME on its way from the PFP.
#[derive(Clone, Debug)]
pub(crate) struct Sent {
    /// The cycle in which it is there.
    pub(crate) arrives: u64,
    pub(crate) item: Item,
}

/// What an engine waits for before it goes on behind its packet.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Block {
    /// A value.
    Value(ValueWait),
    /// Every dispatch of the queue up to that number.
    Shaders(u64),
    /// Everything sent to the ME so far (PFP only).
    MicroEngine,
    /// Every copy of the CP's own DMA engine.
    CpDma,
    /// Every end-of-pipe write so far.
    EndOfPipe,
    /// Nothing: the packet is run again (an atomic that loops).
    Again,
}

/// One engine's work for the queue.
#[derive(Clone, Debug)]
pub(crate) struct Seat {
    pub(crate) engine: Engine,
    /// The packet that blocks, and on what.
    pub(crate) blocked: Option<(Box<Located>, Block)>,
    /// When it takes its next step.
    pub(crate) when: When,
}

impl Seat {
    fn new(engine: Engine) -> Self {
        Self { engine, blocked: None, when: When::default() }
    }
}

/// Cache actions a packet asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Flush {
    /// Sorted.
    pub(crate) actions: Vec<CacheAction>,
    /// `None` is everything.
    pub(crate) range: Option<GpuRange>,
}

/// What an end-of-pipe event writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Payload {
    /// Nothing.
    None,
    /// A value of 4 or 8 bytes.
    Value { value: u64, bytes: u8 },
    /// The GPU's counter at that moment.
    GpuClock,
    /// The system's counter at that moment.
    SystemClock,
    /// Dwords of the data share.
    Gds { offset: u32, dwords: u32 },
    /// A 32-bit atomic addition.
    Add(u32),
}

/// An end-of-pipe or end-of-shader event on its way.
#[derive(Clone, Debug)]
pub(crate) struct EndOfPipe {
    /// Dispatches up to this number must have ended.
    pub(crate) after: u64,
    pub(crate) packet: GpuAddress,
    pub(crate) flush: Flush,
    pub(crate) address: GpuAddress,
    /// How the value goes to memory.
    pub(crate) client: Client,
    pub(crate) payload: Payload,
    pub(crate) interrupt: bool,
    /// The value waits until memory has confirmed what the event asked for.
    pub(crate) confirm: bool,
    /// Also waits for the CP's own DMA engine.
    pub(crate) wait_dma: bool,
}

/// Cache actions of an event whose value has been written before them.
#[derive(Clone, Debug)]
pub(crate) struct Late {
    /// The cycle in which they are complete.
    pub(crate) due: u64,
    pub(crate) packet: GpuAddress,
    pub(crate) flush: Flush,
    /// Dispatches up to this number are behind them,
    pub(crate) after: u64,
    /// to this level.
    pub(crate) level: Level,
}

/// A copy or fill of the CP's own DMA engine.
#[derive(Clone, Debug)]
pub(crate) struct CpDma {
    /// The cycle in which its bytes can have been moved,
    pub(crate) soonest: u64,
    /// and the one in which they are, if nobody waits for it before.
    pub(crate) due: u64,
    pub(crate) packet: GpuAddress,
    pub(crate) source: DmaEnd,
    pub(crate) destination: DmaEnd,
    pub(crate) bytes: u64,
}

/// One end of a [`CpDma`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DmaEnd {
    /// Memory; `step` false reads or writes one dword over and over.
    Memory { at: GpuAddress, step: bool, client: Client },
    /// The data share.
    Gds(u32),
    /// A constant (source only).
    Data(u32),
    /// A prefetch (destination only).
    Nowhere,
}

/// Dispatches of one queue that may be in flight; its engine waits for room
/// beyond. No source gives the number; assumed.
const MAX_IN_FLIGHT: usize = 64;

/// The dispatches of a queue that have not ended.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shaders {
    /// Dispatches started so far; the number of the last one.
    pub(crate) started: u64,
    running: BTreeSet<u64>,
}

impl Shaders {
    /// Numbers the next dispatch.
    pub(crate) fn start(&mut self) -> u64 {
        self.started += 1;
        self.running.insert(self.started);
        self.started
    }

    /// True if no further dispatch of the queue fits into the machine.
    pub(crate) fn full(&self) -> bool {
        self.running.len() >= MAX_IN_FLIGHT
    }

    /// A dispatch ended.
    pub(crate) fn end(&mut self, seq: u64) {
        self.running.remove(&seq);
    }

    /// True if every dispatch up to `seq` ended.
    pub(crate) fn done(&self, seq: u64) -> bool {
        self.running.first().is_none_or(|&first| first > seq)
    }
}

/// A submission that was fetched whole and is not yet done.
#[derive(Clone, Debug)]
pub(crate) struct Closing {
    pub(crate) submit: SubmitId,
    pub(crate) after: u64,
    /// The ring's packet that started it.
    pub(crate) packet: GpuAddress,
    /// The cycle in which its own event at the end of the pipe is done; known once
    /// the work is.
    pub(crate) due: Option<u64>,
}

/// State that SET_BASE and SET_PREDICATION leave in the PFP.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Prefetch {
    /// Base of indirect arguments.
    pub(crate) indirect_base: GpuAddress,
    /// True while packets with the predicate bit are skipped.
    pub(crate) skipping: bool,
}

/// One queue.
#[derive(Clone)]
pub(crate) struct Queue {
    pub(crate) id: QueueId,
    pub(crate) kind: QueueKind,
    pub(crate) ring: Ring,
    pub(crate) fetch: Fetcher,
    pub(crate) regs: Regs,
    pub(crate) prefetch: Prefetch,
    /// The PFP; only the graphics queue has one.
    pub(crate) pfp: Seat,
    /// The ME, MEC or SDMA engine.
    pub(crate) me: Seat,
    /// From the PFP to the ME.
    pub(crate) fifo: VecDeque<Sent>,
    pub(crate) end_of_pipe: VecDeque<EndOfPipe>,
    /// When the oldest of them takes effect.
    pub(crate) ends: When,
    pub(crate) late: Option<Late>,
    pub(crate) cp_dma: VecDeque<CpDma>,
    pub(crate) shaders: Shaders,
    pub(crate) closing: VecDeque<Closing>,
    /// Value that the last ATOMIC_MEM returned.
    pub(crate) atomic_return: u64,
    /// The SDMA engine's own counter, relative to the GPU's.
    pub(crate) local_counter: u64,
    /// Met a bad packet; runs no more.
    pub(crate) halted: bool,
}

impl Queue {
    pub(crate) fn new(id: QueueId, kind: QueueKind, ring_buffer: RingBuffer) -> Self {
        let (ring, engine) = match kind {
            QueueKind::Graphics => (Ring::Graphics, Engine::Me),
            QueueKind::Compute { .. } => (Ring::Compute, Engine::Mec),
            QueueKind::Dma { .. } => (Ring::Sdma, Engine::Sdma),
        };
        Self {
            id,
            kind,
            ring,
            fetch: Fetcher::new(ring_buffer),
            regs: Regs::default(),
            prefetch: Prefetch::default(),
            pfp: Seat::new(Engine::Pfp),
            me: Seat::new(engine),
            fifo: VecDeque::new(),
            end_of_pipe: VecDeque::new(),
            ends: When::default(),
            late: None,
            cp_dma: VecDeque::new(),
            shaders: Shaders::default(),
            closing: VecDeque::new(),
            atomic_return: 0,
            local_counter: 0,
            halted: false,
        }
    }

    /// True if the ME has nothing in hand and nothing waiting.
    pub(crate) fn micro_engine_idle(&self) -> bool {
        self.me.blocked.is_none() && self.fifo.is_empty()
    }

    /// True if something waits for the CP's own DMA.
    pub(crate) fn waits_for_dma(&self) -> bool {
        let waits = |s: &Seat| matches!(s.blocked, Some((_, Block::CpDma)));
        let event = self.end_of_pipe.front();
        waits(&self.me)
            || waits(&self.pfp)
            || event.is_some_and(|e| e.wait_dma && self.shaders.done(e.after))
    }

    /// Hands something from the PFP to the ME.
    pub(crate) fn send(&mut self, core: &Core, item: Item) {
        self.fifo.push_back(Sent { arrives: core.now() + core.timing.hand_over, item });
    }

    /// True if nothing stands between the oldest end-of-pipe event and its effect.
    pub(crate) fn end_of_pipe_ready(&self) -> bool {
        self.end_of_pipe
            .front()
            .is_some_and(|e| self.shaders.done(e.after) && (!e.wait_dma || self.cp_dma.is_empty()))
    }

    /// True if the work of the oldest submission that was fetched whole is done.
    pub(crate) fn closing_ready(&self) -> bool {
        self.closing.front().is_some_and(|c| self.shaders.done(c.after))
            && self.end_of_pipe.is_empty()
            && self.cp_dma.is_empty()
    }

    /// True if an engine stands at a packet. Where nothing moves, that is a
    /// hang; all else that is unfinished then follows from one.
    pub(crate) fn held(&self) -> bool {
        self.pfp.blocked.is_some() || self.me.blocked.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shaders_end_in_any_order() {
        let mut s = Shaders::default();
        assert!(s.done(0));
        let (a, b) = (s.start(), s.start());
        s.end(b);
        assert!(!s.done(b));
        s.end(a);
        assert!(s.done(b));
    }
}
