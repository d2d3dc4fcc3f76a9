//! The shader work of a model run: dispatches, their groups on compute units, and
//! when each wave goes on.

use crate::core::{Core, Shared};
use crate::cp::{self, launch};
use crate::cu::{ComputeUnits, Seats};
use crate::dispatch::Dispatch;
use crate::endless::Quiet;
use crate::group::{Group, Next, Worker, take_ordered_ids};
use crate::steps::{Agent, Candidate, When};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use wavefence_base::{
    CacheClass, DispatchId, Event, GpuAddress, GpuRange, Profile, QueueId, Resource, Step, Topology,
};
use wavefence_memory::hierarchy::Land;

/// Groups of a dispatch that end last and whose stores are still on their way when
/// they have. Those of others arrive when the group ends, so that groups which wait
/// for each other get on. Assumed.
const LAST: u64 = 4;

/// Instructions a wave may take in one step.
const SLICE: u64 = 1024;

/// A dispatch whose groups have not all ended.
pub(crate) struct Active {
    pub(crate) dispatch: Arc<Dispatch>,
    /// Groups started.
    next: u64,
    /// Groups ended.
    ended: u64,
    /// By instruction cache: the dispatch with the kernel that was fetched through
    /// it; `None` if that was none that can run.
    fetched: BTreeMap<u32, Option<Arc<Dispatch>>>,
    /// When its next group starts.
    when: When,
    /// Waves before their ordered turn, by id.
    before_turn: BTreeMap<u64, Vec<Ready>>,
}

/// A wave that can go on: in that cycle, ties by the order of groups, then waves.
/// Of a group whose waves have all ended it is the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Ready {
    /// The cycle.
    at: u64,
    /// Number of the group among all that were started.
    started: u64,
    /// The wave.
    wave: u32,
    /// The group's place.
    slot: u32,
}

impl Ready {
    fn candidate(self) -> Candidate {
        // A group has 32 waves at most.
        let order = self.started << 8 | u64::from(self.wave);
        Candidate { ready: self.at, agent: Agent::Wave(self), order }
    }
}

/// Stores of a group that has ended, on their way.
struct Sending {
    due: u64,
    dispatch: DispatchId,
    queue: QueueId,
    seq: u64,
    /// The units they left from.
    units: [u32; 2],
}

/// A group that is resident.
struct Resident {
    started: u64,
    group: Group,
    seats: Seats,
}

/// The shader work of a model run.
pub(crate) struct Work {
    pub(crate) active: Vec<Active>,
    groups: Vec<Option<Resident>>,
    /// Empty places of `groups`.
    vacant: Vec<u32>,
    /// Groups started so far.
    started: u64,
    waves: BTreeSet<Ready>,
    sending: VecDeque<Sending>,
    units: ComputeUnits,
    topology: Topology,
    worker: Worker,
    /// How long waves have run alone.
    quiet: Quiet,
    /// Every wave that has not ended runs for ever or waits for one that does.
    endless: bool,
}

/// Shader work where there is none, at one moment.
pub(crate) struct Mark {
    started: u64,
    units: ComputeUnits,
}

/// What a wave's step left behind.
#[derive(Default)]
pub(crate) struct WaveStep {
    /// Instructions it took.
    pub(crate) used: u64,
    /// Its group ended.
    pub(crate) group_ended: bool,
    /// Stores of it are on their way.
    pub(crate) sends: bool,
    /// Its dispatch ended.
    pub(crate) ended: Option<Arc<Dispatch>>,
}

impl Work {
    pub(crate) fn new(profile: &Profile, shared: Arc<Shared>) -> Self {
        Self {
            active: Vec::new(),
            groups: Vec::new(),
            vacant: Vec::new(),
            started: 0,
            waves: BTreeSet::new(),
            sending: VecDeque::new(),
            units: ComputeUnits::new(profile),
            topology: Topology::of(profile),
            worker: Worker::new(shared),
            quiet: Quiet::default(),
            endless: false,
        }
    }

    /// What is left where there is no work; `None` if there is some.
    pub(crate) fn checkpoint(&mut self) -> Option<Mark> {
        let Self {
            active,
            groups,
            vacant,
            started,
            waves: _,
            sending,
            units,
            topology: _,
            worker: _,
            // Of groups that run alone.
            quiet: _,
            endless: _,
        } = self;
        if !active.is_empty() || !sending.is_empty() {
            return None;
        }
        // Where groups lie has no meaning but that it must be the same each time.
        groups.clear();
        vacant.clear();
        Some(Mark { started: *started, units: units.clone() })
    }

    /// Drops all work and goes back to `mark`; `kernels` are left.
    pub(crate) fn restore(&mut self, mark: &Mark, kernels: usize) {
        let Mark { started, units } = mark;
        for resident in self.groups.drain(..).flatten() {
            resident.group.recycle(&mut self.worker);
        }
        self.active.clear();
        self.vacant.clear();
        self.waves.clear();
        self.sending.clear();
        self.started = *started;
        self.units.clone_from(units);
        self.worker.reset(kernels);
        self.disturbed();
    }

    /// True if a dispatch has not ended.
    pub(crate) fn is_active(&self) -> bool {
        !self.active.is_empty()
    }

    /// The resident groups, in the order they were started.
    pub(crate) fn resident(&self) -> Vec<&Group> {
        let mut all: Vec<&Resident> = self.groups.iter().flatten().collect();
        all.sort_by_key(|r| r.started);
        all.into_iter().map(|r| &r.group).collect()
    }

    /// Groups of each active dispatch that have ended.
    pub(crate) fn ended(&self) -> BTreeMap<DispatchId, u64> {
        self.active.iter().map(|a| (a.dispatch.id, a.ended)).collect()
    }

    /// Takes up the dispatches that engines have started; true if there were any.
    pub(crate) fn take_up(&mut self, core: &mut Core) -> bool {
        let free = core.now() + core.timing.dispatch;
        let before = self.active.len();
        self.active.extend(core.started.drain(..).map(|dispatch| Active {
            dispatch,
            next: 0,
            ended: 0,
            fetched: BTreeMap::new(),
            when: When::from(free),
            before_turn: BTreeMap::new(),
        }));
        self.active.len() > before
    }

    /// Tells the launches that can be made. Dispatches of one queue start their groups
    /// one dispatch after the other.
    pub(crate) fn look(&mut self, core: &Core, mut tell: impl FnMut(Candidate)) {
        let mut seen = Vec::new();
        for (at, active) in self.active.iter_mut().enumerate() {
            let queue = active.dispatch.queue;
            if active.next == active.dispatch.total || seen.contains(&queue) {
                continue;
            }
            seen.push(queue);
            let fits = self.units.fits(&active.dispatch);
            if let Some(ready) = active.when.see(core, fits.then_some(0)) {
                // Others may have launched since it was first ready.
                let ready = ready.max(core.pipes.launchers.free());
                tell(Candidate { ready, agent: Agent::Launch(at), order: at as u64 });
            }
        }
    }

    /// The wave that goes on first.
    pub(crate) fn first_wave(&self) -> Option<Candidate> {
        self.waves.first().map(|ready| ready.candidate())
    }

    /// Tells of every wave that can go on.
    pub(crate) fn all_waves(&self, mut tell: impl FnMut(Candidate)) {
        self.waves.iter().for_each(|&ready| tell(ready.candidate()));
    }

    /// Tells of the stores of groups that can arrive: of each dispatch the oldest.
    pub(crate) fn all_landings(&self, mut tell: impl FnMut(Candidate)) {
        let mut seen = Vec::new();
        for (order, sending) in (0..).zip(&self.sending) {
            if !seen.contains(&sending.dispatch) {
                seen.push(sending.dispatch);
                let agent = Agent::Land { queue: sending.queue, seq: sending.seq };
                tell(Candidate { ready: sending.due, agent, order });
            }
        }
    }

    /// The name of a launch.
    pub(crate) fn name_launch(&self, at: usize) -> Step {
        let dispatch = &self.active[at].dispatch;
        Step::Launch { queue: dispatch.queue, seq: dispatch.seq }
    }

    /// The name of a wave's step.
    pub(crate) fn name_wave(&self, ready: Ready) -> Option<Step> {
        let group = &self.groups.get(ready.slot as usize)?.as_ref()?.group;
        let (dispatch, group, wave) = (&group.dispatch, group.launch, ready.wave);
        Some(Step::Wave { queue: dispatch.queue, seq: dispatch.seq, group, wave })
    }

    /// The stores of a group that arrive first.
    pub(crate) fn first_landing(&self) -> Option<Candidate> {
        let mut first = None;
        self.all_landings(|c| first = Candidate::first(first, Some(c)));
        first
    }

    /// The oldest stores of a dispatch that has not ended arrive; false if there are
    /// none.
    pub(crate) fn land(&mut self, core: &mut Core, queue: QueueId, seq: u64) -> bool {
        let at = self.sending.iter().position(|s| (s.queue, s.seq) == (queue, seq));
        let Some(sending) = at.and_then(|at| self.sending.remove(at)) else { return false };
        for unit in sending.units {
            core.bus.land(Land::Unit(unit));
        }
        true
    }

    /// Starts the next group of an active dispatch. Gives the dispatch if it ended by
    /// that, as its kernel cannot run.
    pub(crate) fn launch(&mut self, core: &mut Core, at: usize) -> Option<Arc<Dispatch>> {
        core.touch(Resource::Units, true);
        let active = &mut self.active[at];
        active.when = When::from(core.now());
        let dispatch = active.dispatch.clone();
        let seats = self.units.take(&dispatch)?;
        let cu = seats.cu;
        let cache = self.topology.instance(CacheClass::Instruction, cu as u32);
        let fetched = active.fetched.entry(cache).or_insert_with(|| {
            match launch::fetch_code(core, &dispatch, cu as u32) {
                Ok(fetched) => Some(fetched),
                Err(trouble) => {
                    cp::report(core, dispatch.queue, dispatch.packet, trouble);
                    None
                }
            }
        });
        let ordered = take_ordered_ids(&dispatch, active.next);
        let launch = active.next;
        active.next += 1;
        let (Some(fetched), Some(caches)) = (fetched.clone(), core.bus.caches()) else {
            self.units.give(&seats, &dispatch);
            return self.count_ended(core, at);
        };
        caches.take_traffic();
        let group = Group::start(&mut self.worker, caches, &fetched, launch, ordered, cu);
        let (dispatch, id, waves) = (dispatch.id, group.id, group.waves());
        core.emit(|| Event::GroupBegin { dispatch, group: id, waves });
        core.wave_faults(std::mem::take(&mut self.worker.faults));
        self.add(core, group, seats);
        None
    }

    /// Makes a group resident; each wave goes on when it has been launched, after the
    /// one before, and has its descriptors.
    fn add(&mut self, core: &mut Core, group: Group, seats: Seats) {
        let waves = group.waves();
        let traffic = core.bus.take_traffic();
        let descriptors = core.timing.waits(&traffic) / u64::from(waves.max(1));
        let moved = core.pipes.moved(core.now(), &traffic);
        let cycles = core.timing.group(&group.dispatch.group_launch(waves));
        let now = core.now();
        let launchers = &mut core.pipes.launchers;
        let started = self.started;
        self.started += 1;
        let slot = self.vacant.pop().unwrap_or(self.groups.len() as u32);
        let mut passed = 0;
        for wave in 0..waves {
            let upto = cycles * u64::from(wave + 1) / u64::from(waves);
            let launched = launchers.pass(now, upto - passed);
            passed = upto;
            let at = launched.max(moved) + core.timing.wave_start + descriptors;
            self.waves.insert(Ready { at, started, wave, slot });
        }
        let resident = Some(Resident { started, group, seats });
        match self.groups.get_mut(slot as usize) {
            Some(place) => *place = resident,
            None => self.groups.push(resident),
        }
    }

    /// A wave runs on, or its group ends.
    pub(crate) fn step_wave(&mut self, core: &mut Core, ready: Ready) -> WaveStep {
        self.waves.remove(&ready);
        let slot = ready.slot as usize;
        let Some(resident) = self.groups.get_mut(slot).and_then(Option::as_mut) else {
            return WaveStep::default();
        };
        if resident.group.is_over() {
            return self.end_group(core, slot);
        }
        let paused = core.schedule.is_some();
        let Some(caches) = core.bus.caches() else { return WaveStep::default() };
        let group = &mut resident.group;
        let epoch = group.ordered_epoch();
        let slice = self.quiet.slice(SLICE);
        let issued = if self.quiet.watches() {
            group.step_watched(&mut self.worker, caches, ready.wave, slice)
        } else {
            group.step_wave(&mut self.worker, caches, ready.wave, slice, paused)
        };
        if !group.is_over() {
            // Only what a wave stores last is still on its way when it ends.
            caches.land(Land::Unit(group.dispatch.unit(group.cu, ready.wave)));
        }
        let used = self.worker.spent();
        self.worker.settle();
        if std::mem::take(&mut self.worker.data_share) {
            core.touch(Resource::DataShare, true);
        }
        if std::mem::take(&mut self.worker.clock) {
            core.touch(Resource::Everything, true);
        }
        core.tell_accesses();
        let traffic = core.bus.take_traffic();
        let cost = core.timing.slice(group.dispatch.wave_size(), &issued, &traffic);
        let issued = self.units.issue(&resident.seats, ready.wave, core.now(), cost.issue);
        let moved = core.pipes.moved(core.now(), &traffic);
        core.charge_until(moved.max(issued + cost.wait));
        let group = &resident.group;
        let free = core.now() + core.cost();
        let turn_moved = group.ordered_epoch() != epoch;
        self.go_on(ready, free);
        if turn_moved {
            self.wake_turn(core, slot);
        }
        core.wave_faults(std::mem::take(&mut self.worker.faults));
        WaveStep { used, ..WaveStep::default() }
    }

    /// A run begins, or something else than a wave can move: what a wave reads may
    /// change.
    pub(crate) fn disturbed(&mut self) {
        if self.quiet.watches() {
            self.unwatch();
        }
        self.endless = false;
        self.quiet = Quiet::default();
    }

    /// A wave has taken a step of `used` instructions while nothing else could move;
    /// `polled` are the values that engines wait for. True if nothing ever will.
    pub(crate) fn alone(&mut self, used: u64, polled: impl FnOnce() -> Vec<GpuRange>) -> bool {
        let watched = self.quiet.watches();
        let ended = self.quiet.step(used, self.waves.len() as u64);
        // Proofs come in bursts: all are looked at when the last wave has one.
        if watched && self.all_proved() && self.apart(&polled()) {
            self.endless = true;
        } else if ended {
            self.unwatch();
        }
        self.endless
    }

    /// True if the run ended because every wave runs for ever.
    pub(crate) fn is_endless(&self) -> bool {
        self.endless
    }

    fn unwatch(&mut self) {
        self.groups.iter_mut().flatten().for_each(|r| r.group.unwatch());
    }

    fn all_proved(&self) -> bool {
        self.groups.iter().flatten().all(|r| r.group.proofs().is_some())
    }

    /// True if no wave stores where another reads or an engine polls.
    fn apart(&self, polled: &[GpuRange]) -> bool {
        let groups = self.groups.iter().flatten();
        let watches: Vec<_> = groups.filter_map(|r| r.group.proofs()).flatten().collect();
        let mut writer: BTreeMap<u64, usize> = BTreeMap::new();
        for (i, watch) in watches.iter().enumerate() {
            for &dword in &watch.log.writes {
                let polls = |r: &GpuRange| r.overlaps(GpuRange::new(GpuAddress(dword * 4), 4));
                // Of several writers none is the one.
                let other = writer.insert(dword, i).is_some_and(|j| j != i);
                if other {
                    writer.insert(dword, usize::MAX);
                }
                if polled.iter().any(polls) {
                    return false;
                }
            }
        }
        let free = |i: usize, dword: &u64| writer.get(dword).is_none_or(|&w| w == i);
        watches.iter().enumerate().all(|(i, w)| w.log.reads.iter().all(|d| free(i, d)))
    }

    /// Puts down when the wave that ran, and those that waited for it, go on.
    fn go_on(&mut self, ready: Ready, free: u64) {
        let Self { groups, waves, worker, active, .. } = self;
        let Some(resident) = &mut groups[ready.slot as usize] else { return };
        let group = &mut resident.group;
        match group.after_step(worker, ready.wave, free) {
            Next::Run => {
                waves.insert(Ready { at: free, ..ready });
            }
            Next::Turn(id) => {
                let of = |a: &&mut Active| a.dispatch.id == group.dispatch.id;
                if let Some(active) = active.iter_mut().find(of) {
                    let waves = active.before_turn.entry(id).or_default();
                    waves.push(Ready { at: free, ..ready });
                }
            }
            Next::Wait => {}
            Next::Release(at) => {
                waves.extend(group.not_ended().map(|wave| Ready { at, wave, ..ready }));
            }
            Next::End(at) => {
                waves.insert(Ready { at, ..ready });
            }
        }
    }

    /// An ordered turn of the dispatch of the group in `slot` has moved: whose it is
    /// now looks again.
    fn wake_turn(&mut self, core: &Core, slot: usize) {
        let Some(resident) = &self.groups[slot] else { return };
        let dispatch = &resident.group.dispatch;
        let Some(turn) = dispatch.ordered.as_ref().map(|o| o.next_turn()) else { return };
        let of = |a: &&mut Active| a.dispatch.id == dispatch.id;
        let Some(active) = self.active.iter_mut().find(of) else { return };
        let Some(waves) = active.before_turn.remove(&turn) else { return };
        let at = |ready: &Ready| ready.at.max(core.now() + 1);
        self.waves.extend(waves.into_iter().map(|r| Ready { at: at(&r), ..r }));
    }

    fn end_group(&mut self, core: &mut Core, slot: usize) -> WaveStep {
        let Some(Resident { group, seats, .. }) = self.groups[slot].take() else {
            return WaveStep::default();
        };
        self.vacant.push(slot as u32);
        let mut step = WaveStep { group_ended: true, ..WaveStep::default() };
        let dispatch = group.dispatch.clone();
        core.emit(|| Event::GroupEnd { dispatch: dispatch.id, group: group.id });
        let Some(at) = self.active.iter().position(|a| a.dispatch.id == dispatch.id) else {
            return step;
        };
        self.units.give(&seats, &self.active[at].dispatch);
        core.touch(Resource::Units, true);
        let last = self.active[at].ended + LAST >= dispatch.total;
        let units = [0, group.waves().min(2) - 1].map(|wave| dispatch.unit(group.cu, wave));
        // Where somebody chooses, the time of every arrival is open.
        if last || core.schedule.is_some() {
            let due = core.now() + if last { core.timing.store } else { 0 };
            let Dispatch { id, queue, seq, .. } = *dispatch;
            self.sending.push_back(Sending { due, dispatch: id, queue, seq, units });
            step.sends = true;
        } else {
            for unit in units {
                core.bus.land(Land::Unit(unit));
            }
        }
        group.recycle(&mut self.worker);
        step.ended = self.count_ended(core, at);
        step
    }

    /// One more group of an active dispatch ended; gives it if that was the last.
    fn count_ended(&mut self, core: &mut Core, at: usize) -> Option<Arc<Dispatch>> {
        self.active[at].ended += 1;
        if self.active[at].ended < self.active[at].dispatch.total {
            return None;
        }
        let dispatch = self.active.remove(at).dispatch;
        core.touch_queue(dispatch.queue, false);
        // The dispatch's own landing takes what is still on its way.
        core.touch(Resource::Dispatch { queue: dispatch.queue, seq: dispatch.seq }, true);
        for sending in self.sending.iter().filter(|s| s.dispatch == dispatch.id) {
            for unit in sending.units {
                let vector = self.topology.instance(CacheClass::Vector, unit);
                core.touch(Resource::Cache(CacheClass::Vector, vector), false);
            }
        }
        self.sending.retain(|s| s.dispatch != dispatch.id);
        Some(dispatch)
    }
}
