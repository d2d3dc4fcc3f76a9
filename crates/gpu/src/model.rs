//! The model run: one thread, turns in one order.
//!
//! A turn is: one step of every engine, one copy of every CP DMA engine, up to
//! [`LAUNCHES`] new groups, one slice of every resident wave, then the ends of
//! pipes. Queues stand in the order they were opened; the queues of a compute
//! pipe share one engine and take turns at it.

use crate::core::{Core, Shared};
use crate::cp::{self, dma, event, launch};
use crate::cu::ComputeUnits;
use crate::desc::QueueKind;
use crate::dispatch::Dispatch;
use crate::group::{Group, Progress, Worker, take_ordered_ids};
use crate::queue::Queue;
use std::collections::BTreeMap;
use std::sync::Arc;
use wavefence_base::{CacheClass, DispatchId, Event, Profile, SubmitId, Topology};
use wavefence_memory::hierarchy::Land;

/// Groups that start in one turn: one per shader array at most. Assumed.
const LAUNCHES: usize = 4;

/// Groups of a dispatch that end last and whose stores are still on their way when
/// they have. Those of others arrive when the group ends, so that groups which wait
/// for each other get on. Assumed.
const LAST: u64 = 4;

/// Instructions a wave may take in one turn.
const SLICE: u64 = 1024;

/// A dispatch whose groups have not all ended.
pub(crate) struct Active {
    pub(crate) dispatch: Arc<Dispatch>,
    /// Groups started.
    pub(crate) next: u64,
    /// Groups ended.
    pub(crate) ended: u64,
    /// By instruction cache: the dispatch with the kernel that was fetched through
    /// it; `None` if that was none that can run.
    fetched: BTreeMap<u32, Option<Arc<Dispatch>>>,
}

/// The shader work of a model run.
pub(crate) struct ModelWork {
    pub(crate) active: Vec<Active>,
    pub(crate) resident: Vec<Group>,
    /// Units with stores of groups that ended in the last turn.
    sending: Vec<(u32, DispatchId)>,
    units: ComputeUnits,
    topology: Topology,
    worker: Worker,
}

/// What a turn at launching gave.
enum Launched {
    /// A group runs.
    Group,
    /// Groups ended without running; the last of a dispatch, if it was that.
    Skipped(Option<Arc<Dispatch>>),
    /// There is no room or nothing to launch.
    Nothing,
}

impl ModelWork {
    pub(crate) fn new(profile: &Profile, shared: Arc<Shared>) -> Self {
        Self {
            active: Vec::new(),
            resident: Vec::new(),
            sending: Vec::new(),
            units: ComputeUnits::new(profile),
            topology: Topology::of(profile),
            worker: Worker::new(shared),
        }
    }

    /// One turn of the shaders. Gives what ended; true if anything moved.
    pub(crate) fn turn(&mut self, core: &mut Core) -> (bool, Vec<Arc<Dispatch>>) {
        for dispatch in core.started.drain(..) {
            self.active.push(Active { dispatch, next: 0, ended: 0, fetched: BTreeMap::new() });
        }
        for (unit, dispatch) in std::mem::take(&mut self.sending) {
            if self.active.iter().any(|a| a.dispatch.id == dispatch) {
                core.bus.land(Land::Unit(unit));
            }
        }
        let mut moved = false;
        let mut ended = Vec::new();
        for _ in 0..LAUNCHES {
            if core.ending.is_some() {
                break;
            }
            match self.launch_one(core) {
                Launched::Group => {}
                Launched::Skipped(dispatch) => ended.extend(dispatch),
                Launched::Nothing => break,
            }
            moved = true;
        }
        let mut index = 0;
        while index < self.resident.len() {
            let Some(caches) = core.bus.caches() else { break };
            let group = &mut self.resident[index];
            let progress = group.run(&mut self.worker, caches, SLICE, 1);
            if progress != Progress::Ended {
                // Only what a wave stores last is still on its way when it ends.
                for wave in 0..group.waves().min(2) {
                    caches.land(Land::Unit(group.dispatch.unit(group.cu, wave)));
                }
            }
            self.worker.settle();
            core.tell_accesses();
            match progress {
                Progress::Ran => moved = true,
                Progress::Stuck => {}
                Progress::Ended => {
                    moved = true;
                    let group = self.resident.remove(index);
                    ended.extend(self.end_group(core, group));
                    continue;
                }
            }
            index += 1;
        }
        core.wave_faults(std::mem::take(&mut self.worker.faults));
        (moved, ended)
    }

    /// Starts the next group of the first dispatch that has room. Dispatches of
    /// one queue start their groups one dispatch after the other.
    fn launch_one(&mut self, core: &mut Core) -> Launched {
        let mut seen = Vec::new();
        for (at, active) in self.active.iter_mut().enumerate() {
            let dispatch = active.dispatch.clone();
            if active.next == dispatch.total || seen.contains(&dispatch.queue) {
                continue;
            }
            seen.push(dispatch.queue);
            let Some(cu) = self.units.take(&dispatch) else { continue };
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
                self.units.give(cu, &dispatch);
                return Launched::Skipped(self.count_ended(at));
            };
            let group = Group::start(&mut self.worker, caches, &fetched, launch, ordered, cu);
            let (dispatch, id, waves) = (dispatch.id, group.id, group.waves());
            core.emit(|| Event::GroupBegin { dispatch, group: id, waves });
            self.resident.push(group);
            return Launched::Group;
        }
        Launched::Nothing
    }

    fn end_group(&mut self, core: &mut Core, group: Group) -> Option<Arc<Dispatch>> {
        let dispatch = group.dispatch.clone();
        core.emit(|| Event::GroupEnd { dispatch: dispatch.id, group: group.id });
        let at = self.active.iter().position(|a| a.dispatch.id == dispatch.id)?;
        self.units.give(group.cu, &self.active[at].dispatch);
        let last = self.active[at].ended + LAST >= dispatch.total;
        for wave in 0..group.waves().min(2) {
            let unit = dispatch.unit(group.cu, wave);
            if last {
                self.sending.push((unit, dispatch.id));
            } else {
                core.bus.land(Land::Unit(unit));
            }
        }
        group.recycle(&mut self.worker);
        self.count_ended(at)
    }

    /// One more group of an active dispatch ended; gives it if that was the last.
    fn count_ended(&mut self, at: usize) -> Option<Arc<Dispatch>> {
        self.active[at].ended += 1;
        if self.active[at].ended < self.active[at].dispatch.total {
            return None;
        }
        Some(self.active.remove(at).dispatch)
    }
}

/// The queues, in the order they were opened, and the compute pipes.
#[derive(Default)]
pub(crate) struct Engines {
    pub(crate) queues: Vec<Queue>,
    pipes: BTreeMap<u32, Pipe>,
}

/// A compute pipe: its queues share one MEC.
#[derive(Default)]
struct Pipe {
    /// Indices of queues.
    members: Vec<usize>,
    /// The member whose turn it is.
    turn: usize,
}

impl Engines {
    /// Adds a queue.
    pub(crate) fn add(&mut self, queue: Queue) {
        if let QueueKind::Compute { pipe, .. } = queue.kind {
            self.pipes.entry(pipe).or_default().members.push(self.queues.len());
        }
        self.queues.push(queue);
    }

    /// One step of every engine. True if anything moved.
    pub(crate) fn step(&mut self, core: &mut Core) -> bool {
        let mut moved = false;
        for queue in &mut self.queues {
            match queue.kind {
                QueueKind::Compute { .. } => {}
                QueueKind::Graphics | QueueKind::Dma { .. } => moved |= cp::step(core, queue),
            }
        }
        for pipe in self.pipes.values_mut() {
            moved |= step_pipe(core, &mut self.queues, pipe);
        }
        for queue in &mut self.queues {
            moved |= dma::step(core, queue);
        }
        moved
    }

    /// Takes note of dispatches that ended.
    pub(crate) fn ended(&mut self, core: &mut Core, dispatches: &[Arc<Dispatch>]) {
        for dispatch in dispatches {
            core.waves_ended(dispatch);
            core.emit(|| Event::DispatchEnd { dispatch: dispatch.id });
            self.queues[dispatch.queue.index()].shaders.end(dispatch.seq);
        }
    }

    /// The first turn in which something arrives that is on its way.
    fn first_due(&self, core: &Core) -> Option<u64> {
        let queues = self.queues.iter().filter_map(Queue::first_due);
        queues.chain(core.flight.first_due()).min()
    }

    /// Lets end-of-pipe events and submissions finish.
    pub(crate) fn retire(&mut self, core: &mut Core) -> (bool, Vec<SubmitId>) {
        let mut moved = false;
        let mut done = Vec::new();
        for queue in &mut self.queues {
            done.extend(event::retire(core, queue, &mut moved));
        }
        (moved, done)
    }
}

/// One step of a MEC: the first of its queues, after the one served last, that
/// can move.
fn step_pipe(core: &mut Core, queues: &mut [Queue], pipe: &mut Pipe) -> bool {
    let count = pipe.members.len();
    for offset in 0..count {
        let at = (pipe.turn + offset) % count;
        if cp::step(core, &mut queues[pipe.members[at]]) {
            pipe.turn = (at + 1) % count;
            return true;
        }
    }
    false
}

/// Runs until nothing moves or the run must end. Gives the submissions done.
pub(crate) fn run(core: &mut Core, engines: &mut Engines, work: &mut ModelWork) -> Vec<SubmitId> {
    let mut done = Vec::new();
    while core.ending.is_none() {
        core.flight.next_turn();
        core.accept_due();
        let mut moved = engines.step(core);
        let (worked, ended) = work.turn(core);
        moved |= worked;
        engines.ended(core, &ended);
        let (retired, submits) = engines.retire(core);
        moved |= retired;
        done.extend(submits);
        if core.shared.exhausted() && !work.active.is_empty() {
            let looping = work.resident.iter().find(|g| g.standing().is_some());
            core.out_of_instructions(looping);
        }
        if !moved {
            // Nothing happens until something on its way arrives.
            let Some(due) = engines.first_due(core) else { break };
            core.flight.jump(due.saturating_sub(1));
        }
    }
    core.tell_accesses();
    done
}
