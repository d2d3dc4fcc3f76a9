//! The model run: one thread, turns in one order.
//!
//! A turn is: one step of every engine, one copy of every CP DMA engine, up to
//! [`LAUNCHES`] new groups, one slice of every resident wave, then the ends of
//! pipes. Queues stand in the order they were opened; the queues of a compute
//! pipe share one engine and take turns at it.

use crate::core::{Core, Shared};
use crate::cp::{self, dma, event};
use crate::cu::ComputeUnits;
use crate::desc::QueueKind;
use crate::dispatch::Dispatch;
use crate::group::{Group, Progress, Worker, take_ordered_ids};
use crate::mem::WavePort;
use crate::queue::Queue;
use std::collections::BTreeMap;
use std::sync::Arc;
use wavefence_base::{Event, Profile, SubmitId, Writer};

/// Groups that start in one turn: one per shader array at most. Assumed.
const LAUNCHES: usize = 4;

/// Instructions a wave may take in one turn.
const SLICE: u64 = 1024;

/// A dispatch whose groups have not all ended.
pub(crate) struct Active {
    pub(crate) dispatch: Arc<Dispatch>,
    /// Groups started.
    pub(crate) next: u64,
    /// Groups ended.
    pub(crate) ended: u64,
}

/// The shader work of a model run.
pub(crate) struct ModelWork {
    pub(crate) active: Vec<Active>,
    pub(crate) resident: Vec<Group>,
    units: ComputeUnits,
    worker: Worker,
    port: WavePort,
}

impl ModelWork {
    pub(crate) fn new(profile: &Profile, shared: Arc<Shared>) -> Self {
        Self {
            active: Vec::new(),
            resident: Vec::new(),
            units: ComputeUnits::new(profile),
            port: WavePort::new(&shared.space),
            worker: Worker::new(shared),
        }
    }

    /// One turn of the shaders. Gives what ended; true if anything moved.
    pub(crate) fn turn(&mut self, core: &mut Core) -> (bool, Vec<Arc<Dispatch>>) {
        for dispatch in core.started.drain(..) {
            self.active.push(Active { dispatch, next: 0, ended: 0 });
        }
        let mut moved = false;
        for _ in 0..LAUNCHES {
            if core.ending.is_some() || !self.launch_one(core) {
                break;
            }
            moved = true;
        }
        let mut ended = Vec::new();
        let mut index = 0;
        while index < self.resident.len() {
            let progress = self.resident[index].run(&mut self.worker, &mut self.port, SLICE, 1);
            self.worker.settle();
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
    fn launch_one(&mut self, core: &mut Core) -> bool {
        let mut seen = Vec::new();
        for active in &mut self.active {
            let dispatch = &active.dispatch;
            if active.next == dispatch.total || seen.contains(&dispatch.queue) {
                continue;
            }
            seen.push(dispatch.queue);
            let Some(cu) = self.units.take(dispatch) else { continue };
            let ordered = take_ordered_ids(dispatch, active.next);
            let (worker, port) = (&mut self.worker, &mut self.port);
            let group = Group::start(worker, port, dispatch, active.next, ordered, cu);
            active.next += 1;
            let (dispatch, id, waves) = (dispatch.id, group.id, group.waves());
            core.emit(|| Event::GroupBegin { dispatch, group: id, waves });
            self.resident.push(group);
            return true;
        }
        false
    }

    fn end_group(&mut self, core: &mut Core, group: Group) -> Option<Arc<Dispatch>> {
        let dispatch = group.dispatch.clone();
        core.emit(|| Event::GroupEnd { dispatch: dispatch.id, group: group.id });
        self.units.give(group.cu, &dispatch);
        group.recycle(&mut self.worker);
        let at = self.active.iter().position(|a| a.dispatch.id == dispatch.id)?;
        self.active[at].ended += 1;
        if self.active[at].ended < dispatch.total {
            return None;
        }
        self.active.remove(at);
        Some(dispatch)
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
            let by = Writer::Shader(dispatch.queue, dispatch.id);
            core.history.look(&core.bus, None, by, Some(dispatch.packet));
            core.emit(|| Event::DispatchEnd { dispatch: dispatch.id });
            self.queues[dispatch.queue.index()].shaders.end(dispatch.seq);
        }
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
            break;
        }
    }
    done
}
