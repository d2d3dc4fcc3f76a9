//! A device played by hand: the events and access records that a run would give.

#![allow(dead_code, reason = "each test file uses its part")]

use wavefence_base::{
    AccessKind, Agent, CacheAction, CacheClass, Client, DispatchId, Engine, Event, FlushCost,
    GpuAddress, GpuRange, KernelId, Level, MemoryAccess, Observer, Piece, Profile, ProfileName,
    QueueId, SubmitId, Topology, WaveSize, Writer,
};
use wavefence_check::{Checker, Hazard, text};

/// The graphics queue of every script; it has a prefetch parser.
pub const GFX: QueueId = QueueId(0);
/// Two compute queues and a DMA queue.
pub const CS1: QueueId = QueueId(1);
pub const CS2: QueueId = QueueId(2);
pub const DMA: QueueId = QueueId(3);

/// Addresses that tests use: some data and two values.
pub const X: u64 = 0x10_0000;
pub const Y: u64 = 0x20_0000;
pub const V: u64 = 0x30_0000;
pub const V2: u64 = 0x30_0100;

/// Clones share the checker.
#[derive(Clone)]
pub struct Script {
    pub checker: Checker,
    profile: ProfileName,
    seq: u64,
    packet: [u64; 4],
    region: u64,
    submits: u32,
    dispatches: u32,
    open: [Option<SubmitId>; 4],
    /// What the next reads say of how old their bytes are.
    pub as_of: Option<u64>,
}

/// A wave of a dispatch.
#[derive(Clone, Copy)]
pub struct W {
    pub d: DispatchId,
    pub q: QueueId,
    pub group: u32,
    pub wave: u32,
    pub barriers: u32,
    pub packet: GpuAddress,
}

impl W {
    pub fn group(self, group: u32) -> Self {
        Self { group, ..self }
    }
    pub fn wave(self, wave: u32) -> Self {
        Self { wave, ..self }
    }
    pub fn barrier(self, barriers: u32) -> Self {
        Self { barriers, ..self }
    }
}

impl Script {
    pub fn new(profile: ProfileName) -> Self {
        Self {
            checker: Checker::new(Topology::of(&Profile::get(profile))),
            profile,
            seq: 0,
            packet: [0x1000, 0x2000, 0x3000, 0x4000],
            region: 0,
            submits: 0,
            dispatches: 0,
            open: [None; 4],
            as_of: None,
        }
    }

    pub fn event(&mut self, event: Event) {
        self.checker.event(&event);
    }

    fn next(&mut self, queue: QueueId) -> GpuAddress {
        let packet = &mut self.packet[queue.index()];
        *packet += 0x10;
        GpuAddress(*packet)
    }

    /// A submission whose packets are those that follow on the queue.
    pub fn submit(&mut self, queue: QueueId) {
        if let Some(submit) = self.open[queue.index()].take() {
            self.event(Event::SubmitDone { submit, queue });
        }
        let submit = SubmitId(self.submits);
        self.submits += 1;
        self.region += 0x1_0000;
        self.packet[queue.index()] = self.region;
        let buffer = GpuRange::new(GpuAddress(self.region), 0x1_0000);
        self.open[queue.index()] = Some(submit);
        self.event(Event::Submit { submit, queue, buffer });
    }

    /// The submission is done, with the boundary's write-back and confirmation.
    pub fn done(&mut self, queue: QueueId) {
        let Some(submit) = self.open[queue.index()].take() else { return };
        self.boundary(queue, submit, true, vec![CacheAction::WritebackL2]);
        self.event(Event::SubmitDone { submit, queue });
    }

    /// The boundary at the start of the open submission.
    pub fn start(&mut self, queue: QueueId) {
        let Some(submit) = self.open[queue.index()] else { return };
        use CacheAction as A;
        let all = vec![A::InvalidateL1, A::InvalidateL2, A::InvalidateK, A::InvalidateI];
        self.boundary(queue, submit, false, all);
    }

    fn boundary(&mut self, queue: QueueId, submit: SubmitId, end: bool, actions: Vec<CacheAction>) {
        self.seq += 1;
        self.event(Event::Flush {
            queue,
            packet: GpuAddress(0),
            actions,
            range: None,
            on_pfp: false,
            bottom: end,
            seq: self.seq,
            cost: FlushCost::default(),
            boundary: Some(submit),
        });
    }

    fn engine(queue: QueueId) -> Engine {
        match queue {
            GFX => Engine::Me,
            DMA => Engine::Sdma,
            _ => Engine::Mec,
        }
    }

    pub fn take(&mut self, queue: QueueId, engine: Engine, packet: GpuAddress, name: &'static str) {
        self.event(Event::Packet { queue, engine: engine.name(), packet, name });
    }

    /// A packet that both parsers take up; gives its address.
    pub fn packet(&mut self, queue: QueueId, name: &'static str) -> GpuAddress {
        let packet = self.next(queue);
        if queue == GFX {
            self.event(Event::SentOn { queue, packet });
        }
        self.take(queue, Self::engine(queue), packet, name);
        packet
    }

    /// A packet that the prefetch parser has and the ME has not.
    pub fn ahead(&mut self, name: &'static str) -> GpuAddress {
        let packet = self.next(GFX);
        self.take(GFX, Engine::Pfp, packet, name);
        packet
    }

    pub fn dispatch(&mut self, queue: QueueId) -> W {
        let packet = self.packet(queue, "DISPATCH_DIRECT");
        self.begin(queue, packet)
    }

    pub fn begin(&mut self, queue: QueueId, packet: GpuAddress) -> W {
        let d = DispatchId(self.dispatches);
        self.dispatches += 1;
        self.event(Event::DispatchBegin {
            dispatch: d,
            queue,
            packet,
            kernel: KernelId(d.0),
            start: [0; 3],
            groups: [4, 1, 1],
            wave_size: WaveSize::W64,
            initiator: 1,
        });
        W { d, q: queue, group: 0, wave: 0, barriers: 0, packet }
    }

    pub fn end(&mut self, w: W) {
        self.event(Event::DispatchEnd { dispatch: w.d });
    }

    /// An access of any kind.
    pub fn access(
        &mut self,
        agent: Agent,
        client: Client,
        kind: AccessKind,
        coherent: bool,
        at: u64,
        len: u32,
    ) -> u64 {
        self.seq += 1;
        let hit = self.as_of.map(|_| CacheClass::Vector);
        let as_of = self.as_of.take().unwrap_or(self.seq);
        let piece = Piece { at: GpuAddress(at), len, lane: 0, hit, as_of };
        let pieces = if len == 0 { vec![] } else { vec![piece] };
        self.checker.access(&MemoryAccess {
            seq: self.seq,
            agent,
            client,
            kind,
            coherent,
            volatile: false,
            loc: 0,
            pieces: &pieces,
        });
        self.seq
    }

    fn wave(w: W) -> Agent {
        Agent::Wave {
            queue: w.q,
            dispatch: w.d,
            launch: u64::from(w.group),
            group: [w.group, 0, 0],
            wave: w.wave,
            unit: w.group,
            barriers: w.barriers,
        }
    }

    pub fn read(&mut self, w: W, at: u64, len: u32) -> u64 {
        self.access(Self::wave(w), Client::ShaderVector, AccessKind::Read, false, at, len)
    }

    pub fn write(&mut self, w: W, at: u64, len: u32) -> u64 {
        self.access(Self::wave(w), Client::ShaderVector, AccessKind::Write, false, at, len)
    }

    pub fn constants(&mut self, w: W, at: u64, len: u32) -> u64 {
        self.access(Self::wave(w), Client::ShaderScalar, AccessKind::Read, false, at, len)
    }

    pub fn code(&mut self, w: W, at: u64, len: u32) -> u64 {
        let agent = Agent::Launch { queue: w.q, dispatch: w.d, unit: 0 };
        self.access(agent, Client::Instruction, AccessKind::Read, false, at, len)
    }

    pub fn atomic(&mut self, w: W, at: u64) -> u64 {
        self.access(Self::wave(w), Client::ShaderAtomic, AccessKind::Atomic, false, at, 4)
    }

    pub fn coherent_read(&mut self, w: W, at: u64, len: u32) -> u64 {
        self.access(Self::wave(w), Client::ShaderVector, AccessKind::Read, true, at, len)
    }

    pub fn coherent_write(&mut self, w: W, at: u64, len: u32) -> u64 {
        self.access(Self::wave(w), Client::ShaderVector, AccessKind::Write, true, at, len)
    }

    /// An access to the group's own memory.
    pub fn shared(&mut self, w: W, kind: AccessKind, at: u64) -> u64 {
        self.access(Self::wave(w), Client::GroupShared, kind, false, at, 4)
    }

    pub fn fence(&mut self, w: W) -> u64 {
        self.access(Self::wave(w), Client::ShaderVector, AccessKind::Fence, true, 0, 0)
    }

    pub fn host_write(&mut self, at: u64, len: u32) -> u64 {
        self.access(Agent::Host, Client::Host, AccessKind::Write, false, at, len)
    }

    pub fn host_read(&mut self, at: u64, len: u32) -> u64 {
        self.access(Agent::Host, Client::Host, AccessKind::Read, false, at, len)
    }

    /// An engine's own access in a packet of its own.
    pub fn engine_access(
        &mut self,
        queue: QueueId,
        client: Client,
        kind: AccessKind,
        at: u64,
        len: u32,
    ) -> GpuAddress {
        let packet = self.packet(queue, "WRITE_DATA");
        let agent = Agent::Engine { queue, engine: Self::engine(queue), packet };
        self.access(agent, client, kind, false, at, len);
        packet
    }

    /// The prefetch parser reads indirect arguments; the dispatch follows with
    /// [`Self::launch`].
    pub fn arguments(&mut self, at: u64) -> GpuAddress {
        let packet = self.ahead("DISPATCH_INDIRECT");
        let agent = Agent::Engine { queue: GFX, engine: Engine::Pfp, packet };
        self.access(agent, Client::IndirectArguments, AccessKind::Read, false, at, 12);
        packet
    }

    pub fn launch(&mut self, packet: GpuAddress) -> W {
        self.take(GFX, Engine::Me, packet, "DISPATCH_INDIRECT");
        self.begin(GFX, packet)
    }

    /// CS_PARTIAL_FLUSH.
    pub fn wait_shaders(&mut self, queue: QueueId) -> GpuAddress {
        let packet = self.packet(queue, "EVENT_WRITE");
        let engine = Self::engine(queue);
        self.event(Event::Reached { queue, packet, engine, level: Level::Accepted });
        packet
    }

    /// PFP_SYNC_ME.
    pub fn sync_pfp(&mut self) -> GpuAddress {
        let packet = self.ahead("PFP_SYNC_ME");
        let (engine, level) = (Engine::Pfp, Level::MicroEngine);
        self.event(Event::Reached { queue: GFX, packet, engine, level });
        packet
    }

    /// A cache flush in the ME.
    pub fn flush(&mut self, queue: QueueId, actions: &[CacheAction]) -> GpuAddress {
        self.flush_range(queue, actions, None)
    }

    pub fn flush_range(
        &mut self,
        queue: QueueId,
        actions: &[CacheAction],
        range: Option<GpuRange>,
    ) -> GpuAddress {
        let packet = self.packet(queue, "ACQUIRE_MEM");
        self.flushed(queue, packet, actions, range, false);
        packet
    }

    fn flushed(
        &mut self,
        queue: QueueId,
        packet: GpuAddress,
        actions: &[CacheAction],
        range: Option<GpuRange>,
        bottom: bool,
    ) {
        self.seq += 1;
        self.event(Event::Flush {
            queue,
            packet,
            actions: actions.to_vec(),
            range,
            on_pfp: false,
            bottom,
            seq: self.seq,
            cost: FlushCost::default(),
            boundary: None,
        });
    }

    /// An end-of-pipe event that takes effect at once.
    pub fn signal(&mut self, queue: QueueId, at: u64, level: Level, actions: &[CacheAction]) {
        let packet = self.packet(queue, "RELEASE_MEM");
        self.land(queue, packet, at, level, actions);
    }

    pub fn land(
        &mut self,
        queue: QueueId,
        packet: GpuAddress,
        at: u64,
        level: Level,
        actions: &[CacheAction],
    ) {
        // A value that comes before its event's cache actions says so by its level.
        let late = matches!(level, Level::ShadersDone | Level::Accepted);
        if !actions.is_empty() && !late {
            self.flushed(queue, packet, actions, None, true);
        }
        let agent = Agent::Engine { queue, engine: Engine::EndOfPipe, packet };
        self.access(agent, Client::EndOfPipe, AccessKind::Write, false, at, 4);
        self.value(Writer::Queue(queue), Some(packet), at);
        let overtook = !actions.is_empty() && late;
        self.event(Event::EndOfPipe { queue, packet, level, overtook });
        if !actions.is_empty() && late {
            self.flushed(queue, packet, actions, None, true);
        }
    }

    pub fn value(&mut self, by: Writer, packet: Option<GpuAddress>, at: u64) {
        let address = GpuAddress(at);
        self.event(Event::ValueWritten { by, packet, address, value: 1, bytes: 4 });
    }

    /// A wait that the value at `at` ends.
    pub fn wait(&mut self, queue: QueueId, at: u64) {
        let packet = self.packet(queue, "WAIT_REG_MEM");
        let (address, client) = (GpuAddress(at), Client::Poll);
        self.event(Event::WaitDone { queue, packet, address, value: 1, client });
    }

    /// A copy of an SDMA engine.
    pub fn sdma_copy(&mut self, from: u64, to: u64, len: u32) {
        let packet = self.packet(DMA, "COPY_LINEAR");
        let agent = Agent::Engine { queue: DMA, engine: Engine::Sdma, packet };
        self.access(agent, Client::Sdma, AccessKind::Read, false, from, len);
        self.access(agent, Client::Sdma, AccessKind::Write, false, to, len);
    }

    /// An SDMA fence.
    pub fn sdma_fence(&mut self, at: u64) {
        let packet = self.packet(DMA, "FENCE");
        let agent = Agent::Engine { queue: DMA, engine: Engine::Sdma, packet };
        self.access(agent, Client::Sdma, AccessKind::Write, false, at, 4);
        self.value(Writer::Dma(DMA), Some(packet), at);
    }

    /// A copy of the command processor's DMA; `sync` waits for it.
    pub fn cp_dma(&mut self, queue: QueueId, client: Client, from: u64, to: u64, len: u32) {
        let packet = self.packet(queue, "DMA_DATA");
        let agent = Agent::Engine { queue, engine: Engine::CpDma, packet };
        self.access(agent, client, AccessKind::Read, false, from, len);
        self.access(agent, client, AccessKind::Write, false, to, len);
    }

    pub fn wait_dma(&mut self, queue: QueueId) -> GpuAddress {
        let packet = self.packet(queue, "DMA_DATA");
        let engine = Self::engine(queue);
        self.event(Event::Reached { queue, packet, engine, level: Level::CpDma });
        packet
    }

    pub fn hazards(&self) -> Vec<Hazard> {
        self.checker.hazards()
    }

    /// Hazards as `verdict rule: mend`, advice left out.
    pub fn errors(&self) -> Vec<String> {
        self.lines(false)
    }

    /// Advice in the same form.
    pub fn advice(&self) -> Vec<String> {
        self.lines(true)
    }

    fn lines(&self, advice: bool) -> Vec<String> {
        let generation = self.checker.generation();
        let is_advice = |h: &Hazard| h.verdict == wavefence_base::Verdict::Advice;
        self.hazards()
            .iter()
            .filter(|h| is_advice(h) == advice)
            .map(|h| {
                let mends: Vec<String> =
                    h.mends.iter().map(|m| text::mend_name(&m.action, generation)).collect();
                format!("{} {}: {}", h.verdict, h.rule.name, mends.join("; "))
            })
            .collect()
    }

    pub fn profile(&self) -> ProfileName {
        self.profile
    }
}

/// A vector-cache invalidate of every generation.
pub const L1I: &[CacheAction] = &[CacheAction::InvalidateL1];
pub const L2I: &[CacheAction] = &[CacheAction::InvalidateL2];
pub const L2WB: &[CacheAction] = &[CacheAction::WritebackL2];
pub const II: &[CacheAction] = &[CacheAction::InvalidateI];

/// K$ invalidate, with GL1 where there is one.
pub fn ki(profile: ProfileName) -> &'static [CacheAction] {
    match profile {
        ProfileName::SeriesS | ProfileName::SeriesX => {
            &[CacheAction::InvalidateGl1, CacheAction::InvalidateK]
        }
        ProfileName::XboxOne | ProfileName::XboxOneS | ProfileName::XboxOneX => {
            &[CacheAction::InvalidateK]
        }
    }
}
