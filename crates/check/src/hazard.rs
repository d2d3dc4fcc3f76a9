//! What the checker found, as data: both accesses, the cache, the synchronisation
//! that was there, and the mend in neutral words.

use crate::text;
use wavefence_base::{
    AccessKind, CacheAction, CacheClass, Client, DispatchId, Engine, Finding, FlushCost,
    Generation, GpuAddress, GpuRange, KernelId, Level, Place, QueueId, Rule, Verdict,
};

/// One of the two sides of a hazard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Side {
    /// Which way to memory.
    pub client: Client,
    /// What it did.
    pub kind: AccessKind,
    /// The queue; `None` for the host.
    pub queue: Option<QueueId>,
    /// The engine, where no shader is meant.
    pub engine: Option<Engine>,
    /// The packet: of the dispatch, where a shader is meant.
    pub packet: Option<GpuAddress>,
    /// The dispatch.
    pub dispatch: Option<DispatchId>,
    /// The kernel.
    pub kernel: Option<KernelId>,
    /// Source line index of the kernel, 0 if not known.
    pub loc: u32,
    /// The thread group.
    pub group: Option<[u32; 3]>,
    /// The wave in its group.
    pub wave: Option<u32>,
    /// The lowest lane that touched the bytes.
    pub lane: Option<u8>,
}

impl Side {
    /// True if a shader did it.
    pub fn is_shader(&self) -> bool {
        self.dispatch.is_some()
    }

    /// As a place of the run; the line has to be looked up by whoever knows the
    /// kernel.
    pub fn place(&self) -> Place {
        Place {
            queue: self.queue,
            packet: self.packet,
            dispatch: self.dispatch,
            kernel: self.kernel,
            line: None,
            group: self.group,
            wave: self.wave,
            lane: self.lane.map(u32::from),
        }
    }
}

/// The cache that held, or may have held, old bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    /// Which.
    pub class: CacheClass,
    /// The access that may have filled the line.
    pub since: Side,
}

/// Why synchronisation that is there did not help.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Miss {
    /// A flush between the two acted on other caches.
    WrongCache {
        /// The flush's packet.
        packet: GpuAddress,
        /// What it did.
        actions: Vec<CacheAction>,
    },
    /// The right cache, but before the write was there.
    TooEarly {
        /// The flush's packet.
        packet: GpuAddress,
        /// The action.
        action: CacheAction,
    },
    /// The right cache and the write was there, but nothing puts the flush before
    /// the reader.
    NotBeforeReader {
        /// The flush's packet.
        packet: GpuAddress,
        /// The action.
        action: CacheAction,
    },
    /// The right cache at the right moment, over other bytes.
    Range {
        /// The flush's packet.
        packet: GpuAddress,
        /// The action.
        action: CacheAction,
        /// What it covered.
        range: GpuRange,
    },
    /// The ME waited; the prefetch parser did not.
    OnlyMicroEngine,
    /// A wait or signal that gives less than was needed.
    Level {
        /// The wait's or signal's packet, if it is known.
        packet: Option<GpuAddress>,
        /// What it gave.
        given: Level,
        /// What was needed.
        needed: Level,
    },
}

/// What would mend it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Invalidate these caches, the nearest to the reader first.
    Invalidate(Vec<CacheClass>),
    /// Write L2 back.
    WriteBackL2,
    /// Wait until the queue's shaders have ended and L2 has their stores.
    WaitShaders,
    /// Wait for the command processor's DMA.
    WaitDma,
    /// Let the prefetch parser wait for the ME.
    SyncPfp,
    /// Let the signal wait for write confirm.
    Confirm,
    /// Let the signal wait until L2 has accepted the stores: a wait for shaders
    /// before it, or a flush on it.
    Accept,
    /// Signal on one queue and wait on the other. `None` is the host.
    SignalAndWait {
        /// Where the earlier access is.
        from: Option<QueueId>,
        /// Where the later access is.
        to: Option<QueueId>,
    },
    /// Widen the flush's range to hold these bytes.
    Widen(GpuRange),
    /// Put a group barrier between.
    GroupBarrier,
    /// Make both accesses atomic or coherent, or split the dispatch.
    Atomic,
    /// Read past the caches that other units do not share (coherent), or
    /// invalidate them in the shader.
    Coherent,
    /// Write the memory first.
    Initialise,
    /// Leave an element out.
    Remove(Element),
    /// Put one element in the place of another.
    Replace(Element, Element),
}

/// Where a mend belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    /// Before that packet.
    Before(GpuAddress),
    /// In that packet.
    In(GpuAddress),
    /// In the shader that the packet launches.
    Shader(GpuAddress),
    /// In the host's code.
    Host,
}

/// A mend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mend {
    /// What to do.
    pub action: Action,
    /// Where.
    pub at: At,
}

/// One thing that a flush or wait asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Element {
    /// A cache action.
    Cache(CacheAction),
    /// A wait for shaders, or for the whole pipe.
    Shaders,
    /// A wait for the command processor's DMA.
    Dma,
    /// The prefetch parser's wait for the ME.
    Pfp,
}

/// One thing found.
#[derive(Clone, Debug, PartialEq)]
pub struct Hazard {
    /// Which rule.
    pub rule: &'static Rule,
    /// How sure.
    pub verdict: Verdict,
    /// The earlier side: the write that was not seen, or the access that the
    /// later one had to wait for. `None` for advice.
    pub producer: Option<Side>,
    /// The later side.
    pub consumer: Option<Side>,
    /// The bytes of the first occurrence.
    pub range: Option<GpuRange>,
    /// From the first to the last byte of all occurrences.
    pub span: Option<GpuRange>,
    /// The cache that held old bytes.
    pub held: Option<Held>,
    /// The synchronisation that is there and why it missed.
    pub misses: Vec<Miss>,
    /// The smallest mend; all of its parts are needed.
    pub mends: Vec<Mend>,
    /// For advice: the packet and the element concerned.
    pub element: Option<(QueueId, GpuAddress, Element)>,
    /// How often: accesses, or executions of the packet.
    pub count: u64,
    /// For advice on cache actions: what all those of the packet had to do in this run.
    pub cost: Option<FlushCost>,
    /// What "possible" rests on, in a sentence; empty where nothing is assumed.
    pub assumes: &'static str,
}

impl Hazard {
    /// Prose in neutral words: what happened, what is there, the way out.
    pub fn message(&self, generation: Generation) -> String {
        text::message(self, generation)
    }

    /// Stable key and value pairs, in a fixed order.
    pub fn properties(&self, generation: Generation) -> Vec<(&'static str, String)> {
        text::properties(self, generation)
    }

    /// The packet that a reader of the report looks at first.
    pub fn packet(&self) -> Option<GpuAddress> {
        match self.element {
            Some((_, packet, _)) => Some(packet),
            None => self
                .consumer
                .and_then(|s| s.packet)
                .or_else(|| self.producer.and_then(|s| s.packet)),
        }
    }

    /// As a finding without names: `call` is the packet, to be replaced by whoever
    /// knows the call.
    pub fn finding(&self, generation: Generation) -> Finding {
        let place = match self.element {
            Some((queue, packet, _)) => {
                Place { queue: Some(queue), packet: Some(packet), ..Place::default() }
            }
            None => self.consumer.or(self.producer).map(|s| s.place()).unwrap_or_default(),
        };
        Finding {
            rule: self.rule,
            verdict: self.verdict,
            place,
            call: self.packet().map_or_else(String::new, |p| format!("packet at {p}")),
            message: self.message(generation),
            properties: self.properties(generation),
            count: self.count,
        }
    }
}
