//! One thread group on a compute unit: its waves, its shared memory, barriers
//! and ordered turns. Runs on whichever host thread holds it.

use crate::core::Shared;
use crate::dispatch::{Dispatch, Ordered};
use crate::endless::{Proof, Spy, Watch};
use crate::mem::{WaveId, WaveMemory};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use wavefence_base::{FaultKind, LaneMask, Limit, OpFamily, WaveSize};
use wavefence_memory::port::Port;
use wavefence_memory::{AccessErrorKind, MissOp, MissRecord};
use wavefence_shader::ir::{AtomicOp, Label};
use wavefence_wave::exec::{Env, Issued, Launch, Services, Stop, Wave};

/// Something a wave did wrong; becomes a fault where the device is at hand.
pub(crate) struct WaveFault {
    /// The dispatch it belongs to.
    pub(crate) dispatch: Arc<Dispatch>,
    /// Group.
    pub(crate) group: [u32; 3],
    /// Wave in the group.
    pub(crate) wave: u32,
    /// What.
    pub(crate) what: WaveTrouble,
}

/// What a wave did wrong.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum WaveTrouble {
    /// An access that hit nothing or read-only memory.
    Miss(MissRecord),
    /// A barrier that not all came to.
    Barrier {
        /// Source line index.
        loc: u32,
        /// True if lanes of one wave parted, false if other waves had ended.
        lanes: bool,
    },
    /// Something that the executor does not have; the wave ended there.
    Refused(Limit),
    /// A breakpoint that lanes came by.
    Break {
        /// Which.
        lanes: LaneMask,
        /// Source line index.
        loc: u32,
    },
    /// A line that a lane printed.
    Printed {
        /// Which.
        lane: u32,
        /// Source line index.
        loc: u32,
        /// The line.
        text: String,
    },
}

/// What one host thread needs to run groups; re-used from group to group.
pub(crate) struct Worker {
    pub(crate) shared: Arc<Shared>,
    waves: BTreeMap<(u32, bool, u32), Vec<Box<dyn Wave>>>,
    lds: Vec<Vec<u32>>,
    slots: Vec<Vec<Slot>>,
    /// Instructions and waves' slices since they were last settled.
    spent: u64,
    ticks: u64,
    /// The waves that ran accessed the data share or an ordered turn, or read a
    /// clock, since these were last looked at.
    pub(crate) data_share: bool,
    pub(crate) clock: bool,
    /// What the wave that ran last has issued.
    issued: Issued,
    /// Faults of the groups run since they were last taken.
    pub(crate) faults: Vec<WaveFault>,
}

impl Worker {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self {
            shared,
            waves: BTreeMap::new(),
            lds: Vec::new(),
            slots: Vec::new(),
            spent: 0,
            ticks: 0,
            data_share: false,
            clock: false,
            issued: Issued::default(),
            faults: Vec::new(),
        }
    }

    /// Instructions since they were last settled.
    pub(crate) fn spent(&self) -> u64 {
        self.spent
    }

    /// Adds what was run to the counters that all threads share; not done wave
    /// by wave, as threads would fight for them.
    pub(crate) fn settle(&mut self) {
        self.shared.spend(std::mem::take(&mut self.spent));
        self.shared.clock.advance(std::mem::take(&mut self.ticks));
    }

    /// Forgets what the groups run so far have left, and the waves of kernels from
    /// `kernels` on. What it keeps is room.
    pub(crate) fn reset(&mut self, kernels: usize) {
        let Self {
            shared: _,
            waves,
            lds: _,
            slots: _,
            spent,
            ticks,
            issued: _,
            faults,
            data_share,
            clock,
        } = self;
        waves.retain(|&(kernel, ..), _| (kernel as usize) < kernels);
        (*spent, *ticks) = (0, 0);
        (*data_share, *clock) = (false, false);
        faults.clear();
    }

    /// Waves to use again, apart by their place in the group: what depends on it
    /// stays as it is.
    fn pool(&mut self, dispatch: &Dispatch, index: u32) -> &mut Vec<Box<dyn Wave>> {
        let wide = dispatch.wave_size() == WaveSize::W64;
        self.waves.entry((dispatch.kernel.0, wide, index)).or_default()
    }
}

/// Where a wave stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    Ready,
    Barrier { loc: u32 },
    Ordered { epoch: u64 },
    Ended,
}

struct Slot {
    /// Its state; given back when it has ended, so that few are in use.
    wave: Option<Box<dyn Wave>>,
    at: At,
    ordered_id: Option<u64>,
    operations: u32,
    passed: bool,
    /// Source line index of the loop in which its budget last ended.
    looping: u32,
    /// Group barriers it has passed.
    barriers: u32,
    /// The cycle in which its last step ends (model run).
    free: u64,
    /// While it is watched: whether it runs for ever.
    watch: Option<Box<Watch>>,
    /// Times that its budget ended, and the loops at whose back edges it did, with the
    /// number of the last time.
    stops: u64,
    edges: Vec<(Label, u64)>,
}

impl Slot {
    /// Its budget ended in the loop at that source line index, at that back edge.
    fn stopped_in(&mut self, loc: u32, edge: Option<Label>) {
        self.at = At::Ready;
        self.looping = loc;
        self.stops += 1;
        let Some(label) = edge else { return };
        match self.edges.iter_mut().find(|e| e.0 == label) {
            Some(edge) => edge.1 = self.stops,
            None => self.edges.push((label, self.stops)),
        }
    }
}

/// What a group did with its slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// Every wave ended.
    Ended,
    /// Some wave ran.
    Ran,
    /// No wave could run.
    Stuck,
}

/// Who goes on after a step of a wave (model run).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// The wave itself.
    Run,
    /// The wave, when it is that id's ordered turn.
    Turn(u64),
    /// Nobody: it waits for others of its group.
    Wait,
    /// Every wave that has not ended, from that cycle on: a barrier is passed.
    Release(u64),
    /// The group ends in that cycle.
    End(u64),
}

/// A resident group.
pub(crate) struct Group {
    pub(crate) dispatch: Arc<Dispatch>,
    /// The group's id.
    pub(crate) id: [u32; 3],
    /// Its number in launch order.
    pub(crate) launch: u64,
    /// Compute unit it sits on (model run).
    pub(crate) cu: usize,
    slots: Vec<Slot>,
    lds: Vec<u32>,
    /// Waves that have not passed the group's ordered turn on.
    turn_holders: u32,
}

impl Group {
    /// Starts the `launch`-th group of a dispatch; `ordered` is the first
    /// ordered id of its waves.
    pub(crate) fn start(
        worker: &mut Worker,
        memory: &mut dyn WaveMemory,
        dispatch: &Arc<Dispatch>,
        launch: u64,
        ordered: u64,
        cu: usize,
    ) -> Self {
        memory.refresh();
        let linear = dispatch.order.linear(launch, dispatch.total);
        let (id, threads) = dispatch.grid.group(linear);
        let count = dispatch.waves(threads);
        let words = dispatch.lds_bytes().div_ceil(4) as usize;
        let mut lds = worker.lds.pop().unwrap_or_default();
        lds.clear();
        lds.resize(words, 0);
        let mut slots = worker.slots.pop().unwrap_or_default();
        for index in 0..count {
            let pooled = worker.pool(dispatch, index).pop();
            let mut wave = pooled.unwrap_or_else(|| dispatch.program.new_wave());
            let ordered_id = dispatch
                .ordered
                .as_ref()
                .map(|o| if o.per_group { ordered } else { ordered + u64::from(index) });
            let unit = dispatch.unit(cu, index);
            let who = WaveId { dispatch, launch, group: id, wave: index, unit, barriers: 0 };
            let start = Launch { group: id, threads, wave: index, ordered_id };
            memory.with_port(&who, &mut |port| wave.start(&dispatch.exec, &start, port));
            slots.push(Slot {
                wave: Some(wave),
                at: At::Ready,
                ordered_id,
                operations: 0,
                passed: false,
                looping: 0,
                barriers: 0,
                free: 0,
                watch: None,
                stops: 0,
                edges: Vec::new(),
            });
            worker.collect_misses(memory, dispatch, id, index);
        }
        Self { dispatch: dispatch.clone(), id, launch, cu, slots, lds, turn_holders: count }
    }

    /// Number of waves.
    pub(crate) fn waves(&self) -> u32 {
        self.slots.len() as u32
    }

    /// Lets every wave that can run take up to `budget` instructions, up to
    /// `rounds` times while barriers and ordered turns alone stop them.
    pub(crate) fn run(
        &mut self,
        worker: &mut Worker,
        memory: &mut dyn WaveMemory,
        budget: u64,
        rounds: u32,
    ) -> Progress {
        let mut ran = false;
        for _ in 0..rounds {
            let (mut moved, mut cut) = (false, false);
            for index in 0..self.slots.len() {
                if self.can_run(index) {
                    moved |= self.run_wave(worker, memory, index, (budget, false));
                    cut |= self.slots[index].at == At::Ready;
                }
            }
            moved |= self.release_barrier(worker);
            ran |= moved;
            if self.slots.iter().all(|s| s.at == At::Ended) {
                return Progress::Ended;
            }
            // A budget that ended is the schedule's sign to look at others.
            let left = worker.shared.instructions();
            if !moved || cut || left <= worker.spent {
                break;
            }
        }
        if ran { Progress::Ran } else { Progress::Stuck }
    }

    /// Lets one wave take up to `budget` instructions (model run), and with `pause`
    /// make one access that others can see; gives what it issued.
    pub(crate) fn step_wave(
        &mut self,
        worker: &mut Worker,
        memory: &mut dyn WaveMemory,
        wave: u32,
        budget: u64,
        pause: bool,
    ) -> Issued {
        self.run_wave(worker, memory, wave as usize, (budget, pause));
        worker.issued
    }

    /// Whom the step of a wave that ended in cycle `free` lets go on.
    pub(crate) fn after_step(&mut self, worker: &mut Worker, wave: u32, free: u64) -> Next {
        let slot = &mut self.slots[wave as usize];
        slot.free = free;
        match slot.at {
            At::Ready => Next::Run,
            At::Ordered { .. } => Next::Turn(slot.ordered_id.unwrap_or(0)),
            At::Barrier { .. } | At::Ended => {
                let last = self.slots.iter().map(|s| s.free).max().unwrap_or(free);
                if self.is_over() {
                    Next::End(last)
                } else if self.release_barrier(worker) {
                    Next::Release(last)
                } else {
                    Next::Wait
                }
            }
        }
    }

    /// As [`Self::step_wave`], and watches whether the wave runs for ever. A proof ends
    /// the watching.
    pub(crate) fn step_watched(
        &mut self,
        worker: &mut Worker,
        memory: &mut dyn WaveMemory,
        wave: u32,
        budget: u64,
    ) -> Issued {
        let slot = &mut self.slots[wave as usize];
        let mut watch = slot.watch.take().unwrap_or_default();
        let proved = watch.proof().is_some();
        if !proved {
            slot.watch = Some(watch);
            watch = Box::default();
        }
        let before = worker.spent;
        let issued = self.step_wave(worker, memory, wave, budget, false);
        let used = worker.spent - before;
        let slot = &mut self.slots[wave as usize];
        if proved {
            slot.watch = Some(watch);
        } else if let Some(watch) = &mut slot.watch {
            match slot.wave.as_ref().and_then(|w| w.digest()) {
                Some(state) => watch.step(state ^ shared_digest(&self.lds), used, slot.barriers),
                None => slot.watch = None,
            }
        }
        issued
    }

    /// Ends the watching of its waves.
    pub(crate) fn unwatch(&mut self) {
        self.slots.iter_mut().for_each(|s| s.watch = None);
    }

    /// The proofs of its waves that have not ended; `None` if one is not proved and
    /// may still get on.
    pub(crate) fn proofs(&self) -> Option<Vec<&Watch>> {
        let mut proofs = Vec::new();
        let mut waiting = false;
        for slot in self.slots.iter().filter(|s| s.at != At::Ended) {
            match slot.watch.as_deref().filter(|w| w.proof().is_some()) {
                Some(watch) => proofs.push(watch),
                None if slot.at == At::Ready => return None,
                None => waiting = true,
            }
        }
        // Who waits at a barrier goes on if others come there.
        let meets = proofs.iter().any(|w| w.proof().is_some_and(|p| p.barriers));
        let writes = proofs.len() > 1 && proofs.iter().any(|w| w.log.shared);
        (!(writes || waiting && meets)).then_some(proofs)
    }

    /// The proof of a wave.
    pub(crate) fn proof(&self, wave: u32) -> Option<Proof> {
        self.slots[wave as usize].watch.as_ref().and_then(|w| w.proof())
    }

    /// The loops whose back edges a wave took lately.
    pub(crate) fn back_edges(&self, wave: u32) -> Vec<Label> {
        let slot = &self.slots[wave as usize];
        slot.edges.iter().filter(|e| e.1 * 2 >= slot.stops).map(|e| e.0).collect()
    }

    /// The state of a wave that has not ended, and the group's shared memory.
    pub(crate) fn state(&self, wave: u32) -> Option<(&dyn Wave, &[u32])> {
        Some((self.slots[wave as usize].wave.as_deref()?, &self.lds))
    }

    /// True if every wave has ended.
    pub(crate) fn is_over(&self) -> bool {
        self.slots.iter().all(|s| s.at == At::Ended)
    }

    /// The waves that have not ended.
    pub(crate) fn not_ended(&self) -> impl Iterator<Item = u32> {
        (0..).zip(&self.slots).filter(|(_, s)| s.at != At::Ended).map(|(i, _)| i)
    }

    /// Changes whenever an ordered turn of its dispatch may have moved.
    pub(crate) fn ordered_epoch(&self) -> u64 {
        self.dispatch.ordered.as_deref().map_or(0, Ordered::epoch)
    }

    fn can_run(&self, index: usize) -> bool {
        match self.slots[index].at {
            At::Ready => true,
            At::Barrier { .. } | At::Ended => false,
            // The first look at a moved turn; equal epochs mean no change.
            At::Ordered { epoch } => {
                self.dispatch.ordered.as_ref().is_some_and(|o| o.epoch() != epoch)
            }
        }
    }

    /// Runs one wave until it stops; true if it got further.
    fn run_wave(
        &mut self,
        worker: &mut Worker,
        memory: &mut dyn WaveMemory,
        index: usize,
        (budget, pause): (u64, bool),
    ) -> bool {
        let dispatch = self.dispatch.clone();
        let slot = &mut self.slots[index];
        let given = budget.min(worker.shared.instructions().saturating_sub(worker.spent));
        let mut left = given;
        // Read before running: a turn that moves meanwhile is seen as moved.
        let epoch = dispatch.ordered.as_deref().map_or(0, Ordered::epoch);
        let mut services = WaveServices::new(&worker.shared, dispatch.ordered.as_deref());
        let who = WaveId {
            dispatch: &dispatch,
            launch: self.launch,
            group: self.id,
            wave: index as u32,
            unit: dispatch.unit(self.cu, index as u32),
            barriers: slot.barriers,
        };
        let (Some(wave), lds) = (&mut slot.wave, &mut self.lds) else { return false };
        // The port runs it once.
        let mut stop = Stop::End;
        let watch = &mut slot.watch;
        memory.with_port(&who, &mut |port| {
            let (services, budget) = (&mut services, &mut left);
            let mut run = |port: &mut dyn Port| {
                stop = wave.run(&mut Env { port, lds, services, budget, pause });
            };
            match watch {
                None => run(port),
                Some(watch) => run(&mut Spy { port, log: &mut watch.log }),
            }
        });
        services.taint(watch.as_deref_mut());
        let operations = services.operations;
        worker.data_share |= services.data_share;
        worker.clock |= services.clock;
        for what in services.breaks.into_iter().chain(services.printed) {
            let (dispatch, wave) = (dispatch.clone(), index as u32);
            worker.faults.push(WaveFault { dispatch, group: self.id, wave, what });
        }
        slot.operations += operations;
        let used = given.saturating_sub(left);
        worker.issued = wave
            .take_issued()
            .unwrap_or_else(|| Issued::of(OpFamily::Vector, used.min(u32::MAX.into()) as u32));
        worker.spent += used;
        worker.ticks += 1;
        worker.collect_misses(memory, &dispatch, self.id, index as u32);
        let moved = used > 0 || operations > 0;
        match stop {
            Stop::End => {
                slot.at = At::Ended;
                if let Some(limit) = wave.refused() {
                    let what = WaveTrouble::Refused(limit.clone());
                    let (dispatch, wave) = (dispatch.clone(), index as u32);
                    worker.faults.push(WaveFault { dispatch, group: self.id, wave, what });
                }
                worker.pool(&dispatch, index as u32).extend(slot.wave.take());
            }
            Stop::Barrier { divergent, loc } => {
                slot.at = At::Barrier { loc };
                if divergent {
                    self.barrier_fault(worker, index, loc, true);
                }
            }
            Stop::Ordered => slot.at = At::Ordered { epoch },
            Stop::Access => slot.at = At::Ready,
            Stop::Budget { loc } => {
                let edge = wave.back_edge();
                slot.stopped_in(loc, edge);
            }
        }
        self.pass_turn(worker, index);
        moved || stop != Stop::Ordered
    }

    /// Passes the ordered turn on if the wave has no more use for it.
    fn pass_turn(&mut self, worker: &mut Worker, index: usize) {
        let Some(ordered) = &self.dispatch.ordered else { return };
        let slot = &mut self.slots[index];
        let Some(id) = slot.ordered_id else { return };
        let all_done = ordered.operations.is_some_and(|n| slot.operations >= n);
        if slot.passed || !(all_done || slot.at == At::Ended) {
            return;
        }
        slot.passed = true;
        worker.data_share = true;
        self.turn_holders -= 1;
        if !ordered.per_group || self.turn_holders == 0 {
            ordered.pass(id);
        }
    }

    /// Lets waves go on if every wave that has not ended is at a barrier.
    fn release_barrier(&mut self, worker: &mut Worker) -> bool {
        let waiting = |s: &Slot| matches!(s.at, At::Barrier { .. });
        let any = self.slots.iter().any(waiting);
        if !any || !self.slots.iter().all(|s| waiting(s) || s.at == At::Ended) {
            return false;
        }
        if self.slots.iter().any(|s| s.at == At::Ended)
            && let Some(index) = self.slots.iter().position(waiting)
            && let At::Barrier { loc } = self.slots[index].at
        {
            self.barrier_fault(worker, index, loc, false);
        }
        for slot in self.slots.iter_mut().filter(|s| waiting(s)) {
            slot.at = At::Ready;
            slot.barriers += 1;
        }
        true
    }

    fn barrier_fault(&self, worker: &mut Worker, index: usize, loc: u32, lanes: bool) {
        worker.faults.push(WaveFault {
            dispatch: self.dispatch.clone(),
            group: self.id,
            wave: index as u32,
            what: WaveTrouble::Barrier { loc, lanes },
        });
    }

    /// The first wave that has not ended, and what it stands at; one that runs before
    /// those that wait for others.
    pub(crate) fn standing(&self) -> Option<(u32, Standing)> {
        let waits = |at: &Standing| !matches!(at, Standing::Loop { .. });
        self.all_standing().min_by_key(|(_, at)| waits(at))
    }

    /// The waves that have not ended, and what each stands at.
    pub(crate) fn all_standing(&self) -> impl Iterator<Item = (u32, Standing)> {
        self.slots.iter().enumerate().filter_map(|(i, slot)| {
            let at = match slot.at {
                At::Ready => Standing::Loop { loc: slot.looping },
                At::Barrier { loc } => Standing::Barrier { loc },
                At::Ordered { .. } => Standing::Ordered { id: slot.ordered_id.unwrap_or(0) },
                At::Ended => return None,
            };
            Some((i as u32, at))
        })
    }

    /// True if a turn has moved since a wave of this group last looked.
    pub(crate) fn may_run(&self) -> bool {
        (0..self.slots.len()).any(|i| self.can_run(i))
    }

    /// Gives its waves and memory back for the next group.
    pub(crate) fn recycle(mut self, worker: &mut Worker) {
        for (index, slot) in self.slots.drain(..).enumerate() {
            worker.pool(&self.dispatch, index as u32).extend(slot.wave);
        }
        worker.slots.push(std::mem::take(&mut self.slots));
        worker.lds.push(std::mem::take(&mut self.lds));
    }
}

/// A digest of group-shared memory.
fn shared_digest(words: &[u32]) -> u128 {
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013B;
    words.iter().fold(0, |d, &w| (d ^ u128::from(w)).wrapping_mul(PRIME))
}

/// Where a wave stands that cannot go on, or has not ended when a budget does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// Running, last seen in the loop at that source line.
    Loop {
        /// Source line index, 0 if none.
        loc: u32,
    },
    /// At a group barrier.
    Barrier {
        /// Source line index.
        loc: u32,
    },
    /// Before its ordered turn.
    Ordered {
        /// Its id.
        id: u64,
    },
}

impl Worker {
    fn collect_misses(
        &mut self,
        memory: &mut dyn WaveMemory,
        dispatch: &Arc<Dispatch>,
        group: [u32; 3],
        wave: u32,
    ) {
        for miss in memory.take_misses() {
            let what = WaveTrouble::Miss(miss);
            self.faults.push(WaveFault { dispatch: dispatch.clone(), group, wave, what });
        }
    }
}

impl WaveTrouble {
    /// The kind of fault it is.
    pub(crate) fn kind(&self) -> FaultKind {
        match self {
            Self::Miss(m) if m.kind == AccessErrorKind::ReadOnly => FaultKind::WriteReadOnly,
            Self::Miss(m) => match m.op {
                MissOp::Load | MissOp::Scalar => FaultKind::ReadUnmapped,
                MissOp::Store | MissOp::Atomic => FaultKind::WriteUnmapped,
            },
            Self::Barrier { .. } => FaultKind::BarrierDivergence,
            Self::Break { .. } => FaultKind::DebugBreak,
            // Told as a limit and as lines, which have no kind of fault.
            Self::Refused(_) | Self::Printed { .. } => FaultKind::BadCommand,
        }
    }
}

/// What the device lends a wave while it runs.
struct WaveServices<'a> {
    shared: &'a Shared,
    ordered: Option<&'a Ordered>,
    operations: u32,
    /// It accessed the data share or an ordered turn, or read a clock.
    data_share: bool,
    clock: bool,
    /// Breakpoints that it came by.
    breaks: Vec<WaveTrouble>,
    /// Lines that it printed.
    printed: Vec<WaveTrouble>,
}

impl<'a> WaveServices<'a> {
    fn new(shared: &'a Shared, ordered: Option<&'a Ordered>) -> Self {
        Self {
            shared,
            ordered,
            operations: 0,
            data_share: false,
            clock: false,
            breaks: Vec::new(),
            printed: Vec::new(),
        }
    }

    /// Tells who watches the wave if it looked at what others change without memory.
    fn taint(&self, watch: Option<&mut Watch>) {
        if let Some(watch) = watch.filter(|_| self.data_share || self.clock) {
            watch.log.taint();
        }
    }
}

impl Services for WaveServices<'_> {
    fn ordered_add(&mut self, id: u64, counter: u32, sum: u32) -> Option<u32> {
        self.data_share = true;
        // A kernel with ordered operations is not started without ids.
        let ordered = self.ordered?;
        let gds = &self.shared.gds;
        let old = ordered.in_turn(id, || {
            let offset = counter.checked_mul(4)?;
            gds.read(offset).map(|_| gds.atomic(AtomicOp::Add, offset, sum, 0))
        })?;
        self.operations += 1;
        // A counter outside the data share reads as 0, as the share itself does.
        Some(old.unwrap_or(0))
    }

    fn gds(&mut self, op: AtomicOp, offset: u32, value: u32, compare: u32) -> u32 {
        self.data_share = true;
        self.shared.gds.atomic(op, offset, value, compare)
    }

    fn clock(&mut self) -> u64 {
        self.clock = true;
        self.shared.clock.gpu()
    }

    fn debug_break(&mut self, lanes: LaneMask, loc: u32) {
        // Of a loop's turns the first says it all.
        let what = WaveTrouble::Break { lanes, loc };
        if !self.breaks.contains(&what) {
            self.breaks.push(what);
        }
    }

    fn debug_print(&mut self, lane: u32, loc: u32, text: String) {
        if self.shared.may_print() {
            self.printed.push(WaveTrouble::Printed { lane, loc, text });
        }
    }
}

/// Ordered ids for the next group of `dispatch`; call in launch order.
pub(crate) fn take_ordered_ids(dispatch: &Dispatch, launch: u64) -> u64 {
    match &dispatch.ordered {
        None => 0,
        Some(o) if o.per_group => launch,
        Some(o) => {
            let linear = dispatch.order.linear(launch, dispatch.total);
            let waves = dispatch.waves(dispatch.grid.group(linear).1);
            o.next_id.fetch_add(u64::from(waves), Ordering::SeqCst)
        }
    }
}
