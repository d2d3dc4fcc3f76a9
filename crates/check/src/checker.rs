//! The checker: an observer that judges.

use crate::clock::{Epoch, Snapshot, Stream};
use crate::flushes::{Effect, Ran, effects, round_out};
use crate::hazard::{Element, Hazard, Side};
use crate::judge::{Access, Judge, synchronises};
use crate::shadow::{LAUNCH, Record, Shadow};
use crate::shared::Shared;
use crate::timeline::{Dispatch, Timeline};
use crate::walk::walk;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use wavefence_base::{
    AccessKind, Agent, CacheAction, CacheClass, Client, DispatchId, Engine, Event, Generation,
    GpuAddress, GpuRange, Level, MemoryAccess, Observer, QueueId, SubmitId, Topology, Verdict,
};

/// Watches a device. Clones share one state: one is given to the device as an
/// observer, the other asks for what was found.
#[derive(Clone, Debug)]
pub struct Checker {
    state: Arc<Mutex<State>>,
}

#[derive(Debug)]
struct State {
    judge: Judge,
    shadow: Shadow,
    shared: Shared,
    /// Memory that was allocated and holds nothing yet; written parts are known by
    /// their shadow.
    fresh: Vec<GpuRange>,
    /// Queues that have no colour and depth blocks, as far as they are known.
    compute: Vec<QueueId>,
    /// Place of the last access or cache action.
    seq: u64,
    /// What to go back to.
    mark: Option<Box<Mark>>,
}

/// A state at one moment, but for the shadow, which keeps that itself.
#[derive(Debug)]
struct Mark {
    judge: Judge,
    shared: Shared,
    fresh: Vec<GpuRange>,
    compute: Vec<QueueId>,
    seq: u64,
}

impl Checker {
    /// A checker for a device of that topology. It has to watch from the device's
    /// first event on.
    pub fn new(topology: Topology) -> Self {
        let state = State {
            judge: Judge::new(topology),
            shadow: Shadow::default(),
            shared: Shared::default(),
            fresh: Vec::new(),
            compute: Vec::new(),
            seq: 0,
            mark: None,
        };
        Self { state: Arc::new(Mutex::new(state)) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Which generation's words its hazards are to be told in.
    pub fn generation(&self) -> Generation {
        self.state().judge.topology.generation
    }

    /// Memory was allocated at `range`. `filled` says that its bytes are defined
    /// (zeroed, say); otherwise reads of bytes that nothing wrote are told.
    pub fn allocated(&self, range: GpuRange, filled: bool) {
        let mut state = self.state();
        state.shadow.forget(range.start.0, range.end());
        if !filled {
            state.fresh.push(range);
        }
    }

    /// The host gave the memory at `range` back.
    pub fn freed(&self, range: GpuRange) {
        self.state().freed(range);
    }

    /// Marks this moment as the one that [`Self::restore`] goes back to; an earlier
    /// mark is forgotten.
    pub fn checkpoint(&self) {
        self.state().checkpoint();
    }

    /// Goes back to the checkpoint, as often as asked: memory told before it is known,
    /// everything heard since is forgotten. Costs what was touched. False, and nothing
    /// done, if there is no checkpoint.
    pub fn restore(&self) -> bool {
        self.state().restore()
    }

    /// True if no hazard was found so far, proven or possible; advice does not count.
    pub fn is_clean(&self) -> bool {
        self.state().judge.found.list().iter().all(|h| h.verdict == Verdict::Advice)
    }

    /// Who wrote the byte at an address last: [`Side::packet`] and
    /// [`Side::dispatch`] are none for the host. `None` if nothing has since it was
    /// allocated.
    pub fn last_writer(&self, at: GpuAddress) -> Option<Side> {
        let state = self.state();
        let record = state.shadow.writer(at)?;
        Some(state.judge.side(record, None))
    }

    /// What the run so far has to say: hazards in the order of their first
    /// occurrence, then advice by queue and packet. Advice on redundant elements
    /// takes this moment as the end of the run. May be asked again later.
    pub fn hazards(&self) -> Vec<Hazard> {
        self.hazards_by_call(&|packet| packet.0)
    }

    /// As [`Self::hazards`]; `call` gives the packets of one call the same number, so
    /// that an element which a call needs two packets for is judged as one.
    pub fn hazards_by_call(&self, call: &dyn Fn(GpuAddress) -> u64) -> Vec<Hazard> {
        let mut state = self.state();
        let Judge { elements, flushes, .. } = &mut state.judge;
        elements.settle(flushes);
        let mut list = state.judge.found.list().to_vec();
        list.extend(state.judge.elements.advice(state.judge.topology.generation, call));
        list
    }
}

/// Bytes of a value that waits look at.
const VALUE: u64 = 8;

impl State {
    fn checkpoint(&mut self) {
        let Self { judge, shadow, shared, fresh, compute, seq, mark } = self;
        shadow.checkpoint();
        *mark = Some(Box::new(Mark {
            judge: judge.clone(),
            shared: shared.clone(),
            fresh: fresh.clone(),
            compute: compute.clone(),
            seq: *seq,
        }));
    }

    fn restore(&mut self) -> bool {
        let Self { judge, shadow, shared, fresh, compute, seq, mark } = self;
        let Some(mark) = mark else { return false };
        shadow.restore();
        judge.clone_from(&mark.judge);
        shared.clone_from(&mark.shared);
        fresh.clone_from(&mark.fresh);
        compute.clone_from(&mark.compute);
        *seq = mark.seq;
        true
    }

    fn freed(&mut self, range: GpuRange) {
        self.fresh.retain(|f| !(range.contains(f.start, f.len)));
        let know = self.judge.timeline.host_know();
        let host = self.host_record(AccessKind::Write);
        self.judge.now += 1;
        for (at, touched) in self.shadow.touched(range) {
            let record = self.shadow.records[touched as usize];
            if !know.ended(record.epoch) {
                self.judge.blame_freed(&record, &host, GpuRange::new(at, 4));
            }
        }
    }

    fn host_record(&self, kind: AccessKind) -> Record {
        Record {
            epoch: Epoch::host(0),
            seq: self.seq,
            who: [0; 3],
            launch: LAUNCH,
            wave: 0,
            barriers: 0,
            loc: 0,
            client: Client::Host,
            kind,
            coherent: false,
            lane: 0,
        }
    }

    fn has_effect(&self, queue: QueueId, action: CacheAction) -> bool {
        let gfx10 = self.judge.topology.generation == Generation::Gfx10_3;
        match action {
            CacheAction::InvalidateL1Volatile
            | CacheAction::InvalidateL2Volatile
            | CacheAction::InvalidateKVolatile
            | CacheAction::InvalidateMetadata
            | CacheAction::InvalidateGl1
            | CacheAction::InvalidateL2Clean => gfx10,
            CacheAction::InvalidateL1
            | CacheAction::InvalidateL2
            | CacheAction::WritebackL2
            | CacheAction::InvalidateK
            | CacheAction::InvalidateI => true,
            CacheAction::FlushColorData
            | CacheAction::FlushColorMeta
            | CacheAction::FlushDepthData
            | CacheAction::FlushDepthMeta => !self.compute.contains(&queue),
        }
    }

    fn flush(&mut self, flush: &Flush<'_>) {
        let (queue, packet) = (flush.queue, flush.packet);
        self.seq = self.seq.max(flush.seq);
        let waits = self.judge.topology.generation == Generation::Gfx10_3;
        let timeline = &mut self.judge.timeline;
        let on_l2 = flush.actions.iter().any(|&a| {
            let l2 = [Effect::WriteBackL2, Effect::Invalidate(CacheClass::L2)];
            effects(a).iter().any(|e| l2.contains(e))
        });
        let at_boundary = |(by, know)| (by, know, false);
        let (by, know, late) = match flush.boundary {
            Some(submit) if flush.bottom => at_boundary(timeline.end(queue, submit)),
            Some(submit) => at_boundary(timeline.start(queue, submit)),
            None => timeline.flush(queue, packet, flush.on_pfp, flush.bottom, on_l2, waits),
        };
        for &action in flush.actions {
            let kind = Element::Cache(action);
            let element = self.judge.elements.run(queue, packet, kind, flush.boundary.is_some());
            if !self.has_effect(queue, action) {
                self.judge.elements.no_effect(element);
            }
            self.judge.flushes.push(Ran {
                action,
                packet,
                by,
                range: flush.range.map(round_out),
                know: know.clone(),
                seq: flush.seq,
                element,
                late,
            });
        }
    }

    fn wait_done(&mut self, queue: QueueId, packet: GpuAddress, address: GpuAddress) {
        // A value told as one, or whatever wrote the polled bytes after it.
        let told = self.judge.timeline.value(address);
        let writer = self
            .shadow
            .writer(address)
            .filter(|w| told.as_ref().is_none_or(|(_, seq)| w.seq > *seq));
        let known = match writer {
            Some(writer) => {
                let timeline = &self.judge.timeline;
                let mut know = match (timeline.dispatch_of(writer.epoch), writer.epoch.stream) {
                    (Some((_, dispatch)), _) => (*dispatch.know).clone(),
                    (None, Stream::Host) => timeline.host_knew(writer.epoch.number),
                    (None, _) => Default::default(),
                };
                know.learn(writer.epoch);
                Some(Arc::new(know))
            }
            None => told.map(|(know, _)| know),
        };
        if let Some(know) = known {
            self.judge.timeline.wait_done(queue, packet, &know);
        }
    }

    fn reached(&mut self, queue: QueueId, packet: GpuAddress, engine: Engine, level: Level) {
        let gave = self.judge.timeline.reached(queue, engine, level);
        let element = match level {
            Level::ShadersDone | Level::Accepted | Level::WrittenBack | Level::Confirmed => {
                Element::Shaders
            }
            Level::CpDma => Element::Dma,
            Level::MicroEngine => Element::Pfp,
        };
        self.judge.elements.wait(queue, packet, element, gave);
    }

    /// Who makes an access: its epoch and knowledge, the dispatch, and the fields of
    /// its record that depend on the agent.
    fn agent(
        &mut self,
        access: &MemoryAccess<'_>,
    ) -> Option<(Record, Snapshot, Option<DispatchId>)> {
        let mut record = self.record(access);
        let timeline = &mut self.judge.timeline;
        match access.agent {
            Agent::Wave { .. } => {
                let (dispatch, known) = of_wave(&mut record, access, timeline)?;
                Some((record, known.know.clone(), Some(dispatch)))
            }
            Agent::Launch { dispatch, .. } => {
                let known = timeline.dispatch(dispatch)?;
                record.epoch = known.epoch;
                Some((record, known.know.clone(), Some(dispatch)))
            }
            Agent::Engine { queue, engine, packet } => {
                let (epoch, know) = timeline.engine(queue, engine, packet);
                record.epoch = epoch;
                record.who = [packet.lo(), packet.hi(), 0];
                Some((record, know, None))
            }
            Agent::Boundary { queue, .. } => {
                let (epoch, know) = timeline.me_know(queue);
                record.epoch = epoch;
                Some((record, know, None))
            }
            Agent::Host => {
                let (epoch, know) = match access.kind {
                    AccessKind::Write | AccessKind::Atomic => timeline.host_step(),
                    AccessKind::Read | AccessKind::Fence => {
                        let know = timeline.host_know();
                        (Epoch::host(know.host), know)
                    }
                };
                record.epoch = epoch;
                Some((record, know, None))
            }
        }
    }

    fn access(&mut self, access: &MemoryAccess<'_>) {
        self.seq = self.seq.max(access.seq);
        // Polling is what waits are for; a wait's order comes when it is done.
        if access.client == Client::Poll {
            return;
        }
        if access.client == Client::GroupShared {
            return self.shared(access);
        }
        if let (Client::CommandFetch, Agent::Engine { queue, engine, packet }) =
            (access.client, access.agent)
        {
            self.judge.timeline.fetches(queue, engine, packet);
        }
        let Some(first) = access.pieces.first() else {
            return self.fence(access);
        };
        let bytes: u64 = access.pieces.iter().map(|p| u64::from(p.len)).sum();
        let value = bytes <= VALUE && self.judge.timeline.is_value(first.at);
        if access.agent == Agent::Host && access.kind == AccessKind::Read && value {
            self.judge.timeline.host_reads_value(first.at);
        }
        let Some((record, know, dispatch)) = self.agent(access) else { return };
        self.judge.now += 1;
        if dispatch.is_some() && synchronises(&record) {
            self.synchronise(&record, dispatch, access);
        }
        let path = self.path(&record);
        let number = self.shadow.push(record);
        let signal = value && dispatch.is_none();
        let judged = Access { record, know, dispatch, path, number, signal };
        walk(&mut self.shadow, &mut self.judge, &judged, &self.fresh, access.pieces);
    }

    /// An access to group-shared memory.
    fn shared(&mut self, access: &MemoryAccess<'_>) {
        let mut record = self.record(access);
        let Some(known) = of_wave(&mut record, access, &self.judge.timeline) else { return };
        let dispatch = known.0;
        self.judge.now += 1;
        for race in self.shared.access(dispatch, &record, access.pieces) {
            self.judge.blame_shared(&race, &record);
        }
    }

    /// The record of an access, but for who makes it.
    fn record(&self, access: &MemoryAccess<'_>) -> Record {
        Record {
            seq: access.seq,
            loc: access.loc,
            client: access.client,
            coherent: access.coherent,
            lane: access.pieces.first().map_or(0, |p| p.lane),
            ..self.host_record(access.kind)
        }
    }

    /// A coherent access passes the caches that other units do not share.
    fn path(&self, record: &Record) -> &'static [CacheClass] {
        let path = self.judge.topology.path(record.client);
        if record.coherent && path.first() == Some(&CacheClass::Vector) {
            return &path[path.len() - 1..];
        }
        path
    }

    /// A device-memory barrier of a wave.
    fn fence(&mut self, access: &MemoryAccess<'_>) {
        if let Agent::Wave { dispatch, launch, .. } = access.agent
            && let Some(group) = self.judge.group(dispatch, launch as u32)
        {
            group.fence = access.seq;
        }
    }

    /// An atomic or coherent access of a wave: what it passes on and takes up.
    fn synchronise(
        &mut self,
        record: &Record,
        dispatch: Option<DispatchId>,
        access: &MemoryAccess<'_>,
    ) {
        let Some(dispatch) = dispatch else { return };
        let mut acquired = 0;
        if record.kind != AccessKind::Write {
            for piece in access.pieces {
                let end = piece.at.0.saturating_add(u64::from(piece.len));
                self.shadow.writers(piece.at.0, end, |w| {
                    if w.epoch == record.epoch && synchronises(w) {
                        acquired = acquired.max(w.seq);
                    }
                });
            }
        }
        if let Some(group) = self.judge.group(dispatch, record.launch) {
            group.acquired = group.acquired.max(acquired);
            if record.kind != AccessKind::Read {
                group.released = group.fence;
            }
        }
    }
}

/// Fills in the record of a wave's access; gives its dispatch.
fn of_wave<'a>(
    record: &mut Record,
    access: &MemoryAccess<'_>,
    timeline: &'a Timeline,
) -> Option<(DispatchId, &'a Dispatch)> {
    let Agent::Wave { dispatch, launch, group, wave, barriers, .. } = access.agent else {
        return None;
    };
    let known = timeline.dispatch(dispatch)?;
    record.epoch = known.epoch;
    record.launch = launch as u32;
    record.who = group;
    record.wave = wave as u16;
    record.barriers = barriers as u16;
    Some((dispatch, known))
}

/// A flush, as its event says it.
struct Flush<'a> {
    queue: QueueId,
    packet: GpuAddress,
    actions: &'a [CacheAction],
    range: Option<GpuRange>,
    on_pfp: bool,
    bottom: bool,
    seq: u64,
    boundary: Option<SubmitId>,
}

impl Observer for Checker {
    fn event(&mut self, event: &Event) {
        let mut guard = self.state();
        let state = &mut *guard;
        let seq = state.seq;
        match event {
            Event::Submit { submit, queue, buffer } => {
                state.judge.timeline.submit(*submit, *queue, *buffer);
            }
            Event::SubmitBegin { submit, queue } => {
                state.judge.timeline.start(*queue, *submit);
            }
            Event::SubmitDone { submit, queue } => {
                state.judge.timeline.submit_done(*submit, *queue);
            }
            Event::Packet { queue, engine, packet, name } => {
                if *engine == Engine::Mec.name() && !state.compute.contains(queue) {
                    state.compute.push(*queue);
                }
                if *engine == Engine::Pfp.name() {
                    state.judge.timeline.prefetched(*queue, *packet);
                } else {
                    state.judge.timeline.packet(*queue, *packet, name);
                }
            }
            Event::SentOn { queue, packet } => {
                state.judge.timeline.prefetched(*queue, *packet);
            }
            Event::DispatchBegin { dispatch, queue, packet, kernel, .. } => {
                let timeline = &mut state.judge.timeline;
                timeline.dispatch_begin(*dispatch, *queue, *packet, *kernel, seq);
            }
            Event::DispatchEnd { dispatch } => {
                state.judge.timeline.dispatch_end(*dispatch);
                state.judge.forget(*dispatch);
            }
            Event::ValueWritten { by, packet, address, .. } => {
                state.judge.timeline.value_written(*by, *packet, *address, seq);
            }
            Event::WaitDone { queue, packet, address, .. } => {
                state.wait_done(*queue, *packet, *address);
            }
            Event::Flush { queue, packet, actions, range, on_pfp, bottom, seq, boundary, cost } => {
                state.judge.elements.cost(*queue, *packet, *cost);
                state.flush(&Flush {
                    queue: *queue,
                    packet: *packet,
                    actions,
                    range: *range,
                    on_pfp: *on_pfp,
                    bottom: *bottom,
                    seq: *seq,
                    boundary: *boundary,
                });
            }
            Event::Reached { queue, packet, engine, level } => {
                state.reached(*queue, *packet, *engine, *level);
            }
            Event::EndOfPipe { queue, packet, level, overtook } => {
                state.judge.timeline.end_of_pipe(*queue, *packet, (*level, *overtook), seq);
            }
            Event::GroupEnd { dispatch, group } => state.shared.end(*dispatch, *group),
            // Accesses say what these moved; the rest is not about memory.
            Event::Transfer { .. }
            | Event::Printed(_)
            | Event::HostWrite { .. }
            | Event::GroupBegin { .. }
            | Event::ValueLost { .. }
            | Event::WaitBlocked { .. }
            | Event::Marker { .. }
            | Event::Interrupt { .. }
            | Event::Fault(_) => {}
            _ => {}
        }
    }

    fn wants_accesses(&self) -> bool {
        true
    }

    fn access(&mut self, access: &MemoryAccess<'_>) {
        self.state().access(access);
    }
}
