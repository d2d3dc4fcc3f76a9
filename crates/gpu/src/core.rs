//! What every part of a device shares: memory, counters, observers, faults, the
//! budget, and the kernels.

mod checkpoint;

pub(crate) use checkpoint::Mark;

use crate::clock::Clock;
use crate::code::Kernels;
use crate::desc::{DeviceDesc, Limits, Outcome};
use crate::dispatch::Dispatch;
use crate::faults::Faults;
use crate::flight::{Flight, Landing};
use crate::gds::Gds;
use crate::group::{Standing, WaveFault, WaveTrouble};
use crate::history::History;
use crate::mem::{Access, Bus, effect, fault_kind};
use crate::queue::Flush;
use crate::timing::{Pipes, Timing};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use wavefence_base::access::{Engine, MemoryAccess};
use wavefence_base::stall::PastWrite;
use wavefence_base::{
    Budget, DispatchId, Event, Fault, FaultKind, Footprint, Generation, GpuAddress, HostTurn,
    Limit, Observer, Place, Printed, Profile, QueueId, Resource, Schedule, Stall, Step, Writer,
};
use wavefence_memory::hierarchy::Land;
use wavefence_memory::{AccessError, AddressSpace};
use wavefence_shader::ir::Loc;

/// The part that host threads share.
pub(crate) struct Shared {
    pub(crate) space: Arc<AddressSpace>,
    pub(crate) gds: Gds,
    pub(crate) clock: Clock,
    instructions: AtomicU64,
    /// Lines that shaders printed.
    printed: AtomicU64,
}

/// Lines of shaders that a device keeps.
pub(crate) const MAX_PRINTED: u64 = 10_000;

impl Shared {
    /// Wave instructions that may still be run.
    pub(crate) fn instructions(&self) -> u64 {
        self.instructions.load(Ordering::Relaxed)
    }

    /// Counts `used` instructions.
    pub(crate) fn spend(&self, used: u64) {
        let left = |n: u64| Some(n.saturating_sub(used));
        // The closure always gives a value, so this cannot fail.
        let _ = self.instructions.fetch_update(Ordering::Relaxed, Ordering::Relaxed, left);
    }

    /// Counts a line that a shader prints; false if it is one too many to keep.
    pub(crate) fn may_print(&self) -> bool {
        self.printed.fetch_add(1, Ordering::Relaxed) < MAX_PRINTED
    }

    /// Lines that were printed and not kept.
    pub(crate) fn lines_lost(&self) -> u64 {
        self.printed.load(Ordering::Relaxed).saturating_sub(MAX_PRINTED)
    }

    /// True if no instruction may be run any more.
    pub(crate) fn exhausted(&self) -> bool {
        self.instructions() == 0
    }
}

/// Who listens, and to accesses too.
#[derive(Default)]
struct Observers {
    list: Vec<(Box<dyn Observer>, bool)>,
}

impl Observers {
    fn access(&mut self, access: &MemoryAccess<'_>) {
        for (observer, _) in self.list.iter_mut().filter(|(_, wants)| *wants) {
            observer.access(access);
        }
    }
}

/// What the engines work with.
pub(crate) struct Core {
    pub(crate) profile: Profile,
    pub(crate) generation: Generation,
    pub(crate) shared: Arc<Shared>,
    pub(crate) bus: Bus,
    pub(crate) kernels: Kernels,
    pub(crate) history: History,
    pub(crate) faults: Faults,
    /// Lines that shaders printed, as they came.
    pub(crate) printed: Vec<Printed>,
    pub(crate) seed: u64,
    /// Packets the PFP may be ahead of the ME; 0 in a fast run.
    pub(crate) lead: usize,
    /// True where groups may start out of order and group events are given.
    pub(crate) model: bool,
    /// Set when the run must end.
    pub(crate) ending: Option<Outcome>,
    /// The budget that ended it; the device puts down what was going on.
    pub(crate) over_budget: Option<Budget>,
    /// The queue of each dispatch so far, by its number.
    pub(crate) dispatch_queues: Vec<QueueId>,
    /// What is on its way to memory.
    pub(crate) flight: Flight,
    /// What steps cost.
    pub(crate) timing: Timing,
    /// What agents use one after the other (model run).
    pub(crate) pipes: Pipes,
    /// The cycle of the step that is being taken; 0 in a fast run.
    now: u64,
    /// What the step has cost so far, in cycles.
    cost: u64,
    /// Who chooses what happens next, if somebody does.
    pub(crate) schedule: Option<Box<dyn Schedule>>,
    /// What the step shares with others, beside memory; `None` if nobody asked.
    footprint: Option<Footprint>,
    /// A step is being traced.
    tracing: bool,
    /// Whether the owner of the device could go on.
    pub(crate) host_turn: HostTurn,
    /// Why this run ends though the device could go on.
    pub(crate) leaving: Option<Outcome>,
    /// Dispatches that the schedule has not taken up yet.
    pub(crate) started: Vec<Arc<Dispatch>>,
    limits: Limits,
    packets: u64,
    stop_on_fault: bool,
    observers: Mutex<Observers>,
}

/// Packets that the PFP may hold decoded for the ME in a model run.
const PFP_LEAD: usize = 8;

impl Core {
    pub(crate) fn new(desc: DeviceDesc, space: Arc<AddressSpace>) -> Self {
        let model = desc.mode == crate::desc::RunMode::Model;
        let bus = if model {
            Bus::cached(space.clone(), &desc.profile)
        } else {
            Bus::coherent(space.clone())
        };
        let shared = Arc::new(Shared {
            space,
            gds: Gds::new(desc.profile.gds_bytes.value),
            clock: if model { Clock::cycles_of(&desc.profile) } else { Clock::steps() },
            instructions: AtomicU64::new(desc.limits.max_instructions),
            printed: AtomicU64::new(0),
        });
        let flight = Flight::new(model, desc.profile.timing.engines.landing.value, desc.seed);
        Self {
            generation: desc.profile.generation.value,
            timing: Timing::of(&desc.profile, bus.l2_line()),
            pipes: Pipes::of(&desc.profile),
            now: 0,
            cost: 0,
            schedule: None,
            footprint: None,
            tracing: false,
            host_turn: HostTurn::Never,
            leaving: None,
            profile: desc.profile,
            bus,
            shared,
            kernels: Kernels::new(desc.executor),
            history: History::default(),
            faults: Faults::default(),
            printed: Vec::new(),
            seed: desc.seed,
            lead: if model { PFP_LEAD } else { 0 },
            model,
            ending: None,
            over_budget: None,
            dispatch_queues: Vec::new(),
            flight,
            started: Vec::new(),
            limits: desc.limits,
            packets: 0,
            stop_on_fault: desc.stop_on_fault,
            observers: Mutex::default(),
        }
    }

    /// The cycle of the step that is being taken.
    pub(crate) fn now(&self) -> u64 {
        self.now
    }

    /// A step begins, not before `ready`.
    pub(crate) fn begin_step(&mut self, ready: u64) {
        self.now = self.now.max(ready);
        self.cost = 0;
        self.shared.clock.set(self.now);
        if self.now > self.limits.max_cycles {
            self.over_budget(Budget::Cycles(self.limits.max_cycles));
        }
    }

    /// The step takes so many cycles more.
    pub(crate) fn charge(&mut self, cycles: u64) {
        self.cost += cycles;
    }

    /// The step is not over before a cycle.
    pub(crate) fn charge_until(&mut self, cycle: u64) {
        self.cost = self.cost.max(cycle.saturating_sub(self.now));
    }

    /// Bytes that the step has moved pass L2 and memory; it waits for them.
    pub(crate) fn charge_traffic(&mut self) {
        let traffic = self.bus.take_traffic();
        let moved = self.pipes.moved(self.now, &traffic);
        self.charge_until(moved);
    }

    /// An SDMA engine moves bytes, when the others have.
    pub(crate) fn charge_dma(&mut self, bytes: u64) {
        let moved = self.pipes.dma.pass(self.now + self.cost, bytes);
        self.charge_until(moved);
    }

    /// Cycles from the end of the work to the end of the pipe: an event's cache
    /// actions come before its value. What they will have to do is told by what the
    /// caches hold when the work has ended.
    pub(crate) fn end_of_pipe_time(&mut self, flush: &Flush) -> u64 {
        let actions = &flush.actions;
        if actions.is_empty() {
            return self.timing.end_of_pipe;
        }
        let cost = self.bus.foresee(actions);
        let written = self.now + self.timing.end_of_pipe + self.timing.flushed(cost);
        let bytes = cost.written * self.timing.l2_line;
        let mut memory = self.pipes.memory;
        memory.pass(written, bytes) - self.now
    }

    /// What the step has cost: no step is for nothing.
    pub(crate) fn cost(&self) -> u64 {
        self.cost.max(1)
    }

    /// Attaches who chooses what happens next, or nobody; gives who did before.
    pub(crate) fn set_schedule(
        &mut self,
        schedule: Option<Box<dyn Schedule>>,
    ) -> Option<Box<dyn Schedule>> {
        let wanted = schedule.as_ref().is_some_and(|s| s.wants_footprints());
        self.footprint = wanted.then(Footprint::default);
        self.tracing = false;
        std::mem::replace(&mut self.schedule, schedule)
    }

    /// A step begins: its footprint is kept if somebody wants it.
    pub(crate) fn begin_trace(&mut self) {
        if let Some(footprint) = &mut self.footprint {
            footprint.clear();
            self.bus.begin_trace();
            self.tracing = true;
        }
    }

    /// The step, if one was traced, is over: tells its footprint.
    pub(crate) fn end_trace(&mut self, step: Step) {
        if !std::mem::take(&mut self.tracing) {
            return;
        }
        let (Some(footprint), Some(schedule)) = (&mut self.footprint, &mut self.schedule) else {
            return;
        };
        let group_shared = self.bus.end_trace(footprint);
        if let (Some(written), Step::Wave { queue, seq, group, .. }) = (group_shared, step) {
            footprint.add(Resource::GroupShared { queue, seq, group }, written);
        }
        schedule.done(footprint);
    }

    /// The step shares that with others.
    pub(crate) fn touch(&mut self, what: Resource, changed: bool) {
        if let Some(footprint) = &mut self.footprint {
            footprint.add(what, changed);
        }
    }

    /// The step shares what the engines of a queue hand to each other.
    pub(crate) fn touch_queue(&mut self, queue: QueueId, changed: bool) {
        self.touch(Resource::Queue(queue), changed);
    }

    /// The GPU's counter, for a step that makes use of it: it depends on all that
    /// happened before.
    pub(crate) fn read_gpu_clock(&mut self) -> u64 {
        self.touch(Resource::Everything, true);
        self.shared.clock.gpu()
    }

    /// The system's counter, likewise.
    pub(crate) fn read_system_clock(&mut self) -> u64 {
        self.touch(Resource::Everything, true);
        self.shared.clock.system()
    }

    /// When what leaves now arrives.
    pub(crate) fn late(&self) -> u64 {
        self.now + self.flight.delay
    }

    pub(crate) fn observe(&mut self, observer: Box<dyn Observer>) {
        let observers = self.observers.get_mut().unwrap_or_else(PoisonError::into_inner);
        if observer.wants_accesses() {
            self.bus.set_recording(true);
        }
        let wants = observer.wants_accesses();
        observers.list.push((observer, wants));
    }

    /// Tells the observers; builds the event only if there are any.
    pub(crate) fn emit(&mut self, event: impl FnOnce() -> Event) {
        let observers = self.observers.get_mut().unwrap_or_else(PoisonError::into_inner);
        if observers.list.is_empty() {
            return;
        }
        self.bus.drain(|access| observers.access(access));
        let event = event();
        for (observer, _) in &mut observers.list {
            observer.now(self.now);
            observer.event(&event);
        }
    }

    /// Hands the accesses made so far to the observers.
    pub(crate) fn tell_accesses(&mut self) {
        let observers = self.observers.get_mut().unwrap_or_else(PoisonError::into_inner);
        self.bus.drain(|access| observers.access(access));
    }

    /// Reads memory as the host.
    pub(crate) fn host_read(&self, at: GpuAddress, out: &mut [u8]) -> Result<(), AccessError> {
        self.bus.host_read(at, out, |access| {
            self.observers.lock().unwrap_or_else(PoisonError::into_inner).access(access);
        })
    }

    /// Adds a fault; the first one at a place is told to observers.
    pub(crate) fn fault(&mut self, fault: Fault) {
        if !self.faults.add(fault.clone()) {
            return;
        }
        if self.stop_on_fault && self.ending.is_none() {
            self.ending = Some(Outcome::Stopped(Box::new(fault.clone())));
        }
        self.emit(|| Event::Fault(Box::new(fault)));
    }

    /// Adds a fault of a packet.
    pub(crate) fn packet_fault(
        &mut self,
        kind: FaultKind,
        queue: QueueId,
        packet: GpuAddress,
        detail: String,
    ) {
        let place = Place { queue: Some(queue), packet: Some(packet), ..Place::default() };
        self.fault(Fault { kind, place, address: None, bytes: 0, count: 1, detail });
    }

    /// Ends the run with a limit.
    pub(crate) fn limit(&mut self, limit: Limit) {
        if self.ending.is_none() {
            self.ending = Some(Outcome::Limit(limit));
        }
    }

    /// Counts a packet that an engine takes up, and tells observers.
    pub(crate) fn take_packet(
        &mut self,
        queue: QueueId,
        engine: Engine,
        packet: GpuAddress,
        name: &'static str,
    ) {
        self.packets += 1;
        self.shared.clock.advance(1);
        self.charge(self.timing.packet(engine));
        if self.packets >= self.limits.max_packets {
            self.limit(Limit::budget(format!(
                "{} packets were run: the budget ended at {name} at {packet} on {queue}",
                self.packets
            )));
        }
        let engine = engine.name();
        self.emit(|| Event::Packet { queue, engine, packet, name });
    }

    /// Reads for a packet; a miss reads 0 and is a fault.
    pub(crate) fn read(&mut self, access: &Access<'_>, address: GpuAddress, bytes: u8) -> u64 {
        match self.bus.read_value(access, address, bytes) {
            Ok(value) => value,
            Err(e) => {
                self.refused(access, &e);
                0
            }
        }
    }

    /// Writes a value of 4 or 8 bytes for a packet. It is remembered, told, and
    /// a fault if it is dropped; true if it landed.
    pub(crate) fn write(
        &mut self,
        access: &Access<'_>,
        by: Writer,
        address: GpuAddress,
        value: u64,
        bytes: u8,
    ) -> bool {
        let packet = access.packet;
        let result = self.bus.write_value(access, address, value, bytes);
        let landed = result.is_ok();
        self.history.record(address, PastWrite { by, packet, value, landed });
        match result {
            Ok(()) => {
                self.emit(|| Event::ValueWritten { by, packet, address, value, bytes });
            }
            Err(e) => {
                self.emit(|| Event::ValueLost { by, packet, address, value });
                self.refused(access, &e);
            }
        }
        landed
    }

    /// A packet's access was refused: a fault with the place.
    pub(crate) fn refused(&mut self, access: &Access<'_>, error: &AccessError) {
        self.fault(Fault {
            kind: fault_kind(error),
            place: Place { queue: access.queue, packet: access.packet, ..Place::default() },
            address: Some(error.at),
            bytes: error.len,
            count: 1,
            detail: format!("{}: {error}; {}", access.what, effect(error)),
        });
    }

    /// Turns what a wave did wrong into faults, and keeps what it printed.
    pub(crate) fn wave_faults(&mut self, faults: Vec<WaveFault>) {
        for mut fault in faults {
            if let WaveTrouble::Refused(limit) = fault.what {
                self.limit(limit);
                continue;
            }
            if let WaveTrouble::Printed { lane, loc, text } = &mut fault.what {
                let (lane, loc, text) = (*lane, *loc, std::mem::take(text));
                let place = wave_place(&fault, loc, Some(lane));
                let printed = Printed { place, text };
                self.emit(|| Event::Printed(Box::new(printed.clone())));
                self.printed.push(printed);
                continue;
            }
            let fault = self.wave_fault(&fault);
            self.fault(fault);
        }
    }

    fn wave_fault(&self, fault: &WaveFault) -> Fault {
        let dispatch = &fault.dispatch;
        let kernel = dispatch.program.kernel();
        let (loc, lane, address, bytes, count) = match &fault.what {
            WaveTrouble::Miss(m) => {
                (m.loc, m.lanes.lowest(), Some(m.address), u64::from(m.bytes), m.count)
            }
            WaveTrouble::Barrier { loc, .. } => (*loc, None, None, 0, 1),
            WaveTrouble::Break { lanes, loc } => (*loc, lanes.lowest(), None, 0, 1),
            WaveTrouble::Refused(_) | WaveTrouble::Printed { .. } => (0, None, None, 0, 1),
        };
        let place = wave_place(fault, loc, lane);
        let at = place.line.as_ref().map_or(String::new(), |l| format!(" at {l}"));
        let detail = match &fault.what {
            WaveTrouble::Miss(m) => {
                let error = m.error(&self.shared.space);
                format!(
                    "lane {} of wave {} of group {:?} of `{}`{at}: {error}; {}",
                    m.lanes.lowest().unwrap_or(0),
                    fault.wave,
                    fault.group,
                    kernel.entry,
                    effect(&error)
                )
            }
            WaveTrouble::Barrier { lanes: true, .. } => format!(
                "wave {} of group {:?} of `{}` met the barrier{at} with some of its lanes \
                 elsewhere; every thread of a group must reach a group barrier",
                fault.wave, fault.group, kernel.entry
            ),
            WaveTrouble::Barrier { lanes: false, .. } => format!(
                "waves of group {:?} of `{}` wait at the barrier{at} while others have ended; \
                 every thread of a group must reach a group barrier",
                fault.group, kernel.entry
            ),
            WaveTrouble::Break { lanes, .. } => format!(
                "lane {} ({} of the wave) of wave {} of group {:?} of `{}` came by the \
                 breakpoint{at}",
                lanes.lowest().unwrap_or(0),
                match lanes.count() {
                    1 => "1 lane".to_owned(),
                    n => format!("{n} lanes"),
                },
                fault.wave,
                fault.group,
                kernel.entry
            ),
            WaveTrouble::Refused(limit) => limit.what.clone(),
            WaveTrouble::Printed { text, .. } => text.clone(),
        };
        Fault { kind: fault.what.kind(), place, address, bytes, count, detail }
    }

    /// A budget ended while shaders were running: that is told as a hang, not as a
    /// limit.
    pub(crate) fn over_budget(&mut self, budget: Budget) {
        if self.ending.is_none() {
            self.over_budget = Some(budget);
            self.ending = Some(Outcome::Blocked(Stall::default()));
        }
    }

    /// The instruction budget ended.
    pub(crate) fn out_of_instructions(&mut self) {
        self.over_budget(Budget::Instructions(self.limits.max_instructions));
    }

    /// A dispatch's waves have ended; their stores may still be on the way.
    pub(crate) fn waves_ended(&mut self, dispatch: &Dispatch) {
        if self.bus.in_flight(dispatch.id) {
            self.flight.leave(Landing {
                due: self.late(),
                queue: dispatch.queue,
                seq: dispatch.seq,
                dispatch: dispatch.id,
                packet: dispatch.packet,
            });
        }
        self.look_for_stores(dispatch.queue, dispatch.id, dispatch.packet);
    }

    /// L2 takes the stores of a queue's dispatches up to a number.
    pub(crate) fn accept(&mut self, queue: QueueId, upto: u64) {
        let landings = self.flight.take_of(queue, upto);
        self.land(&landings);
    }

    /// L2 takes the stores of one dispatch that has ended.
    pub(crate) fn accept_one(&mut self, queue: QueueId, seq: u64) {
        let landings = self.flight.take_one(queue, seq);
        self.land(&landings);
    }

    fn land(&mut self, landings: &[Landing]) {
        for l in landings {
            self.bus.land(Land::Dispatch(l.dispatch));
            self.look_for_stores(l.queue, l.dispatch, l.packet);
        }
    }

    /// Remembers what a dispatch's stores changed at addresses that waits look at.
    fn look_for_stores(&mut self, queue: QueueId, dispatch: DispatchId, packet: GpuAddress) {
        let by = Writer::Shader(queue, dispatch);
        self.history.look(&mut self.bus, None, by, Some(packet));
    }

    /// The next dispatch's number.
    pub(crate) fn new_dispatch(&mut self, queue: QueueId) -> DispatchId {
        let id = DispatchId(self.dispatch_queues.len() as u32);
        self.dispatch_queues.push(queue);
        id
    }
}

/// Where a lane of a wave is.
fn wave_place(fault: &WaveFault, loc: u32, lane: Option<u32>) -> Place {
    let dispatch = &fault.dispatch;
    Place {
        queue: Some(dispatch.queue),
        packet: Some(dispatch.packet),
        dispatch: Some(dispatch.id),
        kernel: Some(dispatch.kernel),
        line: dispatch.program.kernel().line(Loc(loc)),
        group: Some(fault.group),
        wave: Some(fault.wave),
        lane,
    }
}

/// Where a wave stands, in words.
pub(crate) fn standing_text(dispatch: &Dispatch, standing: Standing) -> String {
    let kernel = dispatch.program.kernel();
    let name = &kernel.entry;
    let at = |loc| kernel.line(Loc(loc)).map_or(String::new(), |l| format!(" at {l}"));
    match standing {
        Standing::Loop { loc: 0 } => format!("running `{name}`"),
        Standing::Loop { loc } => format!("in a loop of `{name}`{}", at(loc)),
        Standing::Barrier { loc } => format!("at a barrier of `{name}`{}", at(loc)),
        Standing::Ordered { id } => {
            format!("waiting in `{name}` for its ordered turn, id {id}")
        }
    }
}
