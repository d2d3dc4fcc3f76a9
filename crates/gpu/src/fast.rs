//! The fast run: thread groups on host threads.
//!
//! The calling thread steps the engines and, when they cannot go on, runs groups
//! itself; small dispatches never leave it. Large ones wake workers, which take
//! chunks of groups. A wait is looked at again after every task and every time
//! a worker hands one back. A group whose budget ends in a loop is put aside and
//! others run, so a group that spins on memory holds nobody up.

use crate::core::{Core, Shared};
use crate::cu::capacity;
use crate::dispatch::Dispatch;
use crate::group::{Group, Progress, WaveFault, Worker, take_ordered_ids};
use crate::mem::WavePort;
use crate::model::Engines;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use wavefence_base::{DispatchId, Profile, SubmitId};

/// Instructions a wave may take before its group is put aside.
const SLICE: u64 = 1 << 12;

/// Times a group may go from barrier to barrier before it is put aside.
const ROUNDS: u32 = 64;

/// A group is started beside enough that are put aside once in so many tasks.
const FRESH_EVERY: u32 = 16;

/// Groups that make it worth waking other threads.
const WAKE_AT: u64 = 4;

/// Groups of one task of a worker, and of the calling thread, which has engines
/// to look after.
const CHUNK: u64 = 64;
const OWN_CHUNK: u64 = 16;

/// Steps of the engines before a task is run in between.
const ENGINE_ROUNDS: u32 = 64;

/// How long the calling thread sleeps at most before it polls again.
const PARK: Duration = Duration::from_millis(1);

/// A dispatch whose groups have not all ended.
struct Active {
    dispatch: Arc<Dispatch>,
    next: u64,
    ended: u64,
    /// Groups in some thread's hands.
    out: u64,
    /// Groups put aside.
    parked: VecDeque<Group>,
    /// Groups that may be started and not ended.
    capacity: u64,
    /// Tasks since a group was started beside parked ones.
    since_fresh: u32,
}

#[derive(Default)]
struct State {
    active: Vec<Active>,
    ended: Vec<Arc<Dispatch>>,
    faults: Vec<WaveFault>,
    /// Tasks in workers' hands.
    running: usize,
    /// Whose turn it is.
    turn: usize,
    closing: bool,
    /// A worker panicked; the scope of the run passes it on.
    panicked: bool,
}

/// Shader work shared by the threads of a fast run.
pub(crate) struct Pool {
    state: Mutex<State>,
    /// Something to do.
    wake: Condvar,
    /// A worker handed something back.
    back: Condvar,
    threads: usize,
    profile: Profile,
    /// Workers between runs; the first one is the calling thread's.
    idle: Mutex<Vec<Hand>>,
}

/// What one thread runs groups with.
struct Hand {
    worker: Worker,
    port: WavePort,
}

/// Work for one thread.
enum Task {
    Fresh { dispatch: Arc<Dispatch>, first: u64, count: u64, ordered: u64 },
    Parked(Group),
}

impl Task {
    fn dispatch(&self) -> &Arc<Dispatch> {
        match self {
            Self::Fresh { dispatch, .. } => dispatch,
            Self::Parked(group) => &group.dispatch,
        }
    }

    fn groups(&self) -> u64 {
        match self {
            Self::Fresh { count, .. } => *count,
            Self::Parked(_) => 1,
        }
    }
}

impl Pool {
    pub(crate) fn new(threads: usize, profile: Profile) -> Self {
        Self {
            state: Mutex::default(),
            wake: Condvar::new(),
            back: Condvar::new(),
            threads: threads.max(1),
            profile,
            idle: Mutex::default(),
        }
    }

    /// Whose turn it is, if there is no work.
    pub(crate) fn checkpoint(&self) -> Option<usize> {
        let state = self.lock();
        (state.active.is_empty() && state.ended.is_empty()).then_some(state.turn)
    }

    /// Drops all work; `kernels` are left. Nothing runs meanwhile.
    pub(crate) fn restore(&mut self, to: usize, kernels: usize) {
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        let State { active, ended, faults, running, turn, closing: _, panicked: _ } = state;
        active.clear();
        ended.clear();
        faults.clear();
        (*running, *turn) = (0, to);
        for hand in self.idle.get_mut().unwrap_or_else(PoisonError::into_inner) {
            hand.worker.reset(kernels);
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn worker(&self, shared: &Arc<Shared>) -> Hand {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.pop().unwrap_or_else(|| Hand {
            worker: Worker::new(shared.clone()),
            port: WavePort::new(&shared.space),
        })
    }

    fn give_worker(&self, worker: Hand) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(worker);
    }

    /// Takes dispatches up; true if they are worth other threads.
    fn start(&self, dispatches: Vec<Arc<Dispatch>>) -> bool {
        let mut state = self.lock();
        let mut large = false;
        for dispatch in dispatches {
            large |= dispatch.total >= WAKE_AT;
            state.active.push(Active {
                capacity: capacity(&self.profile, &dispatch).max(1),
                dispatch,
                next: 0,
                ended: 0,
                out: 0,
                parked: VecDeque::new(),
                since_fresh: 0,
            });
        }
        large
    }

    /// Something to run, of at most `most` groups.
    fn take(&self, state: &mut State, most: u64) -> Option<Task> {
        // Every dispatch has its turn: one may spin until another writes.
        state.turn = state.turn.wrapping_add(1);
        let count = state.active.len();
        for offset in 0..count {
            let at = state.turn.wrapping_add(offset) % count;
            let queue = state.active[at].dispatch.queue;
            let starting = |a: &Active| a.dispatch.queue == queue && a.next < a.dispatch.total;
            let older = state.active[..at].iter().any(starting);
            let active = &mut state.active[at];
            if let Some(task) = active.take(self.threads, most, older) {
                active.out += task.groups();
                return Some(task);
            }
        }
        None
    }

    /// Runs a task and hands its groups back.
    fn run_task(&self, hand: &mut Hand, task: Task) {
        let Hand { worker, port } = hand;
        let dispatch = task.dispatch().clone();
        let groups = task.groups();
        let mut ended = 0;
        let mut parked = Vec::new();
        let mut go = |worker: &mut Worker, port: &mut WavePort, mut group: Group| match group
            .run(worker, port, SLICE, ROUNDS)
        {
            Progress::Ended => {
                ended += 1;
                group.recycle(worker);
            }
            Progress::Ran | Progress::Stuck => parked.push(group),
        };
        match task {
            Task::Parked(group) => go(worker, port, group),
            Task::Fresh { dispatch, first, count, ordered } => {
                for launch in first..first + count {
                    let group = Group::start(worker, port, &dispatch, launch, ordered, 0);
                    go(worker, port, group);
                }
            }
        }
        worker.settle();
        let mut state = self.lock();
        state.faults.append(&mut worker.faults);
        let Some(at) = state.active.iter().position(|a| a.dispatch.id == dispatch.id) else {
            return;
        };
        let active = &mut state.active[at];
        active.out -= groups;
        active.ended += ended;
        if !parked.is_empty() {
            self.wake.notify_one();
        }
        active.parked.extend(parked);
        if active.ended == dispatch.total {
            state.active.remove(at);
            state.ended.push(dispatch);
        }
    }

    /// A worker thread.
    fn serve(&self, shared: &Arc<Shared>) {
        let mut worker = self.worker(shared);
        let mut state = self.lock();
        while !state.closing {
            let Some(task) = self.take(&mut state, CHUNK) else {
                state = self.wake.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            state.running += 1;
            drop(state);
            let running = Running(self);
            self.run_task(&mut worker, task);
            drop(running);
            state = self.lock();
        }
        drop(state);
        self.give_worker(worker);
    }

    /// Groups of each active dispatch that have ended.
    pub(crate) fn ended(&self) -> BTreeMap<DispatchId, u64> {
        self.lock().active.iter().map(|a| (a.dispatch.id, a.ended)).collect()
    }

    /// The groups that cannot go on, for a report.
    pub(crate) fn for_each_parked(&self, mut see: impl FnMut(&Group)) {
        for active in &self.lock().active {
            active.parked.iter().for_each(&mut see);
        }
    }
}

/// A task in a worker's hands. Given back even if the worker panics (our own
/// bug), so that the calling thread does not wait for it for ever.
struct Running<'a>(&'a Pool);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.running -= 1;
        state.panicked |= std::thread::panicking();
        self.0.back.notify_one();
    }
}

/// Sends the workers home at the end of a run, a panic included.
struct Closing<'a>(&'a Pool);

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        self.0.lock().closing = true;
        self.0.wake.notify_all();
    }
}

impl Active {
    fn take(&mut self, threads: usize, most: u64, older: bool) -> Option<Task> {
        // Few groups in flight keep host caches warm; some more each time, as one
        // may wait for what another does.
        self.since_fresh += 1;
        let enough = self.parked.len() >= threads * 2 && self.since_fresh < FRESH_EVERY;
        if enough {
            self.take_parked().or_else(|| self.take_fresh(threads, most, older))
        } else {
            self.since_fresh = 0;
            self.take_fresh(threads, most, older).or_else(|| self.take_parked())
        }
    }

    fn take_parked(&mut self) -> Option<Task> {
        let at = self.parked.iter().position(Group::may_run)?;
        self.parked.remove(at).map(Task::Parked)
    }

    fn take_fresh(&mut self, threads: usize, most: u64, older: bool) -> Option<Task> {
        let left = self.dispatch.total - self.next;
        let room = self.capacity.saturating_sub(self.out + self.parked.len() as u64);
        if older || left == 0 || room == 0 {
            return None;
        }
        // Ordered ids are handed out group by group, in launch order.
        let most = if self.dispatch.ordered.is_some() { 1 } else { most };
        let share = (self.dispatch.total / (threads as u64 * 8)).max(1);
        let count = share.min(most).min(left).min(room);
        let first = self.next;
        let ordered = take_ordered_ids(&self.dispatch, first);
        self.next += count;
        Some(Task::Fresh { dispatch: self.dispatch.clone(), first, count, ordered })
    }
}

/// Runs until nothing moves or the run must end. Gives the submissions done.
pub(crate) fn run(core: &mut Core, engines: &mut Engines, pool: &Pool) -> Vec<SubmitId> {
    let shared = core.shared.clone();
    let mut worker = pool.worker(&shared);
    pool.lock().closing = false;
    let done = std::thread::scope(|scope| {
        // Threads are started when the first large dispatch asks for them.
        let mut started = 1;
        let mut help = || {
            while started < pool.threads {
                started += 1;
                scope.spawn(|| pool.serve(&shared));
            }
            pool.wake.notify_all();
        };
        let _closing = Closing(pool);
        control(core, engines, pool, &mut worker, &mut help)
    });
    pool.give_worker(worker);
    // Tasks that were running while the run ended.
    let mut done = done;
    done.extend(absorb(core, engines, pool).1);
    done
}

/// The calling thread's loop.
fn control(
    core: &mut Core,
    engines: &mut Engines,
    pool: &Pool,
    worker: &mut Hand,
    help: &mut dyn FnMut(),
) -> Vec<SubmitId> {
    let mut done = Vec::new();
    if pool.lock().active.iter().any(|a| a.dispatch.total >= WAKE_AT) {
        help();
    }
    while core.ending.is_none() {
        let mut moved = false;
        for _ in 0..ENGINE_ROUNDS {
            let mut round = engines.step(core);
            if !core.started.is_empty() && pool.start(std::mem::take(&mut core.started)) {
                help();
            }
            let (absorbed, submits) = absorb(core, engines, pool);
            done.extend(submits);
            round |= absorbed;
            moved |= round;
            if !round || core.ending.is_some() {
                break;
            }
        }
        let mut state = pool.lock();
        if state.panicked {
            break;
        }
        if core.shared.exhausted() && !state.active.is_empty() {
            core.out_of_instructions();
            break;
        }
        if let Some(task) = pool.take(&mut state, OWN_CHUNK) {
            drop(state);
            pool.run_task(worker, task);
        } else if !moved {
            if state.running == 0 && state.ended.is_empty() {
                break;
            }
            if state.ended.is_empty() {
                // Woken by a worker, or after a while to look at waits again.
                drop(pool.back.wait_timeout(state, PARK));
            }
        }
    }
    done
}

/// Takes up what ended, then the ends of pipes.
fn absorb(core: &mut Core, engines: &mut Engines, pool: &Pool) -> (bool, Vec<SubmitId>) {
    let (ended, faults) = {
        let mut state = pool.lock();
        (std::mem::take(&mut state.ended), std::mem::take(&mut state.faults))
    };
    core.wave_faults(faults);
    engines.ended(core, &ended);
    let (retired, submits) = engines.retire(core);
    (retired || !ended.is_empty(), submits)
}
