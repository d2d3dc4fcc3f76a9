//! The model run: one thread, steps in virtual time.
//!
//! Time is GPU cycles. Every agent has a cycle at which it is ready to go on
//! ([`crate::steps`]); the run takes the step that is ready first, makes it now, and
//! keeps its agent busy for what it costs ([`crate::timing`]). Of steps that are
//! ready in the same cycle arrivals come first, then engines, launchers, waves and
//! ends of pipes, each in the order they were opened or started. Queues of a compute
//! pipe share one engine and take turns at it.
//!
//! An engine that waits for a value looks at it every few cycles from when it
//! blocked; looks that would find nothing are left out.

use crate::core::Core;
use crate::cp::{self, dma, event};
use crate::desc::{Outcome, QueueKind};
use crate::dispatch::Dispatch;
use crate::mem::Bus;
use crate::queue::{Block, Queue, Seat};
use crate::stall;
use crate::steps::{Agent, Candidate, When};
use crate::work::Work;
use std::collections::BTreeMap;
use std::sync::Arc;
use wavefence_base::topology::Client;
use wavefence_base::{CacheClass, Event, GpuAddress, GpuRange, HostTurn, Resource, Step, SubmitId};

/// The queues, in the order they were opened, and the compute pipes.
#[derive(Clone, Default)]
pub(crate) struct Engines {
    pub(crate) queues: Vec<Queue>,
    pub(crate) pipes: BTreeMap<u32, Pipe>,
}

/// A compute pipe: its queues share one MEC.
#[derive(Clone, Default)]
pub(crate) struct Pipe {
    /// Indices of queues.
    pub(crate) members: Vec<usize>,
    /// The member whose turn it is.
    pub(crate) turn: usize,
    /// The cycle in which the MEC is free.
    pub(crate) free: u64,
}

impl Engines {
    /// Adds a queue.
    pub(crate) fn add(&mut self, queue: Queue) {
        if let QueueKind::Compute { pipe, .. } = queue.kind {
            self.pipes.entry(pipe).or_default().members.push(self.queues.len());
        }
        self.queues.push(queue);
    }

    /// One step of every engine, where there is no time (fast run). True if anything
    /// moved.
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

    /// Lets end-of-pipe events and submissions finish (fast run).
    pub(crate) fn retire(&mut self, core: &mut Core) -> (bool, Vec<SubmitId>) {
        let mut moved = false;
        let mut done = Vec::new();
        for queue in &mut self.queues {
            done.extend(event::retire(core, queue, &mut moved));
        }
        (moved, done)
    }

    /// The values in memory that engines wait for.
    fn polled(&self) -> Vec<GpuRange> {
        let seats = self.queues.iter().flat_map(|q| [&q.pfp, &q.me]);
        seats.filter_map(stall::blocked_wait).filter_map(|(wait, _)| wait.range()).collect()
    }

    /// The ME, MEC or SDMA engine of a queue takes a step.
    fn execute(&mut self, core: &mut Core, at: usize) {
        let queue = &mut self.queues[at];
        core.touch_queue(queue.id, false);
        cp::step_main(core, queue);
        core.charge_traffic();
        took(core, &mut queue.me);
        let QueueKind::Compute { pipe, .. } = queue.kind else { return };
        if let Some(pipe) = self.pipes.get_mut(&pipe) {
            pipe.free = core.now() + core.cost();
            let place = pipe.members.iter().position(|&m| m == at).unwrap_or(0);
            pipe.turn = (place + 1) % pipe.members.len();
        }
    }

    /// Takes a step of an engine or of what it has under way. Gives a submission
    /// that this ends.
    fn take(&mut self, core: &mut Core, agent: Agent) -> Option<SubmitId> {
        match agent {
            Agent::Prefetch(at) => {
                let queue = &mut self.queues[at];
                core.touch_queue(queue.id, false);
                cp::pfp::step(core, queue);
                core.charge_traffic();
                took(core, &mut queue.pfp);
            }
            Agent::Execute(at) => self.execute(core, at),
            Agent::Copy(at) => {
                core.touch_queue(self.queues[at].id, false);
                dma::step(core, &mut self.queues[at]);
            }
            Agent::EndOfPipe(at) => {
                let queue = &mut self.queues[at];
                core.touch_queue(queue.id, false);
                event::end_of_pipe(core, queue);
                // Its time has passed before it: see `Core::end_of_pipe_time`.
                queue.ends = When::from(core.now() + 1);
            }
            Agent::Late(at) => {
                core.touch_queue(self.queues[at].id, true);
                event::finish_late(core, &mut self.queues[at]);
            }
            Agent::Close(at) => {
                core.touch_queue(self.queues[at].id, true);
                core.touch(Resource::Host, true);
                return event::close(core, &mut self.queues[at]);
            }
            Agent::Land { .. } | Agent::Launch(_) | Agent::Wave(_) => {}
        }
        None
    }
}

/// An engine has taken a step; where it blocks on a value it looks again a while
/// later.
fn took(core: &mut Core, seat: &mut Seat) {
    if let Some((_, Block::Value(_) | Block::Again)) = seat.blocked {
        core.charge(core.timing.poll.saturating_sub(core.cost()));
    }
    seat.when.took(core);
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

/// The steps looked up last, and which of them may not be true any more.
struct Next {
    engines: Option<Candidate>,
    launches: Option<Candidate>,
    engines_stale: bool,
    launches_stale: bool,
    /// What engines can do depends on memory, which every wave may change.
    polls: bool,
}

/// A run that is going on.
struct Run<'a> {
    core: &'a mut Core,
    engines: &'a mut Engines,
    work: &'a mut Work,
    next: Next,
    done: Vec<SubmitId>,
    /// The waves that are left run for ever.
    over: bool,
}

impl Run<'_> {
    /// The step that is ready first; `None` if nothing can move.
    fn first(&mut self) -> Option<Candidate> {
        let next = &mut self.next;
        if next.engines_stale {
            let mut first = self.work.first_landing();
            next.polls = self.engines.look(self.core, |c| first = Candidate::first(first, Some(c)));
            next.engines = first;
            next.engines_stale = false;
        }
        if next.launches_stale {
            let mut first = None;
            self.work.look(self.core, |c| first = Candidate::first(first, Some(c)));
            next.launches = first;
            next.launches_stale = false;
        }
        let shared = Candidate::first(next.engines, next.launches);
        Candidate::first(shared, self.work.first_wave())
    }

    /// Takes a step.
    fn take(&mut self, candidate: Candidate) {
        let Self { core, engines, work, next, done, over } = self;
        let ended = match candidate.agent {
            Agent::Land { queue, seq } => {
                next.engines_stale = true;
                core.touch_queue(queue, false);
                core.touch(Resource::Dispatch { queue, seq }, true);
                if !work.land(core, queue, seq) {
                    core.accept_one(queue, seq);
                }
                None
            }
            Agent::Launch(at) => {
                next.launches_stale = true;
                work.launch(core, at)
            }
            Agent::Wave(ready) => {
                next.engines_stale |= next.polls;
                // A schedule has its own end of what leads nowhere.
                let alone =
                    core.schedule.is_none() && next.engines.is_none() && next.launches.is_none();
                let step = work.step_wave(core, ready);
                if !alone || step.group_ended {
                    work.disturbed();
                } else if work.alone(step.used, || engines.polled()) {
                    *over = true;
                }
                next.launches_stale |= step.group_ended;
                next.engines_stale |= step.sends;
                step.ended
            }
            agent @ (Agent::Prefetch(_)
            | Agent::Execute(_)
            | Agent::Copy(_)
            | Agent::EndOfPipe(_)
            | Agent::Late(_)
            | Agent::Close(_)) => {
                done.extend(engines.take(core, agent));
                next.engines_stale = true;
                next.launches_stale |= work.take_up(core);
                None
            }
        };
        // What moved and nobody waits for makes others wait.
        core.charge_traffic();
        if let Some(dispatch) = ended {
            engines.ended(core, &[dispatch]);
            (next.engines_stale, next.launches_stale) = (true, true);
        }
    }
}

/// What somebody may choose.
#[derive(Clone, Copy, Debug)]
enum Choice {
    /// A step of the device.
    Step(Candidate),
    /// A cache loses its lines.
    Evict(CacheClass, u32),
    /// The host goes on.
    Host,
}

/// What can be chosen, twice: for the one who chooses and for us. Re-used.
#[derive(Default)]
struct Options {
    choices: Vec<Choice>,
    candidates: Vec<Candidate>,
    steps: Vec<Step>,
}

/// The host behind all steps of the device, before evictions.
fn offer_host(options: &mut Options) {
    let evicts = |s: &Step| matches!(s, Step::Evict(..));
    let at = options.steps.iter().position(evicts).unwrap_or(options.steps.len());
    options.choices.insert(at, Choice::Host);
    options.steps.insert(at, Step::Host);
}

impl Run<'_> {
    /// Lists everything that can happen next, what the plain run would do first; nothing
    /// or the host alone if the device cannot move by itself.
    fn list(&mut self, options: &mut Options) {
        let Options { choices, candidates, steps } = options;
        choices.clear();
        steps.clear();
        candidates.clear();
        self.work.all_landings(|c| candidates.push(c));
        self.engines.look(self.core, |c| candidates.push(c));
        self.work.look(self.core, |c| candidates.push(c));
        self.work.all_waves(|c| candidates.push(c));
        if candidates.is_empty() {
            self.list_host(options);
            return;
        }
        candidates.sort_by_key(Candidate::key);
        for &candidate in &*candidates {
            let named = match candidate.agent {
                Agent::Launch(at) => Some(self.work.name_launch(at)),
                Agent::Wave(ready) => self.work.name_wave(ready),
                other => self.engines.name(other),
            };
            if let Some(step) = named {
                choices.push(Choice::Step(candidate));
                steps.push(step);
            }
        }
        if self.core.schedule.as_mut().is_some_and(|s| s.evictions() > 0)
            && let Some(caches) = self.core.bus.caches()
        {
            for (class, instance) in caches.occupied() {
                choices.push(Choice::Evict(class, instance));
                steps.push(Step::Evict(class, instance));
            }
        }
        self.list_host(options);
    }

    /// Adds the host, if it can go on.
    fn list_host(&mut self, options: &mut Options) {
        match self.core.host_turn {
            HostTurn::Never => {}
            HostTurn::First => {
                options.choices.insert(0, Choice::Host);
                options.steps.insert(0, Step::Host);
            }
            HostTurn::Last => offer_host(options),
            HostTurn::Reached(at, value) => {
                // The host looks at memory.
                let look = |bus: &mut Bus| bus.peek_value(Client::Host, at, 8);
                if self.core.bus.untraced(look).is_some_and(|now| now >= value) {
                    offer_host(options);
                }
            }
        }
    }

    /// Takes what was chosen. False if the run ends here.
    fn take_choice(&mut self, choice: Choice, step: Step) -> bool {
        match choice {
            Choice::Host => {
                self.core.begin_trace();
                self.core.touch(Resource::Host, false);
                if let HostTurn::Reached(at, _) = self.core.host_turn {
                    let line = at.0 / Resource::LINE * Resource::LINE;
                    self.core.touch(Resource::Line(GpuAddress(line)), false);
                }
                self.core.leaving = Some(Outcome::HostTurn);
                return false;
            }
            Choice::Evict(class, instance) => {
                self.core.begin_step(0);
                self.core.begin_trace();
                self.core.bus.evict(class, instance);
            }
            Choice::Step(candidate) => {
                self.core.begin_step(candidate.ready);
                if self.core.ending.is_some() {
                    return false;
                }
                self.core.begin_trace();
                self.take(candidate);
            }
        }
        self.core.end_trace(step);
        if self.core.schedule.as_mut().is_some_and(|s| s.enough()) {
            self.core.leaving = Some(Outcome::Enough);
            return false;
        }
        true
    }

    /// Runs as the schedule chooses.
    fn by_schedule(&mut self) {
        let mut options = Options::default();
        while self.core.ending.is_none() {
            self.list(&mut options);
            let Some(schedule) = self.core.schedule.as_mut().filter(|_| !options.steps.is_empty())
            else {
                break;
            };
            let chosen = schedule.choose(&options.steps);
            let at = if chosen < options.steps.len() { chosen } else { 0 };
            if !self.take_choice(options.choices[at], options.steps[at]) {
                break;
            }
            self.check_budget();
        }
    }

    /// Runs as time goes.
    fn by_time(&mut self) {
        while self.core.ending.is_none() && !self.over {
            let Some(candidate) = self.first() else { break };
            self.core.begin_step(candidate.ready);
            if self.core.ending.is_some() {
                break;
            }
            self.take(candidate);
            self.check_budget();
        }
    }

    fn check_budget(&mut self) {
        if self.core.shared.exhausted() && self.work.is_active() {
            self.core.out_of_instructions();
        }
    }
}

/// Runs until nothing moves or the run must end. Gives the submissions done.
pub(crate) fn run(core: &mut Core, engines: &mut Engines, work: &mut Work) -> Vec<SubmitId> {
    // The host's turn, if it had one, is over.
    core.end_trace(Step::Host);
    let next = Next {
        engines: None,
        launches: None,
        engines_stale: true,
        launches_stale: true,
        polls: false,
    };
    // What the host has moved meanwhile takes no time of the GPU's.
    core.bus.take_traffic();
    work.disturbed();
    let mut run = Run { core, engines, work, next, done: Vec::new(), over: false };
    if run.core.schedule.is_some() {
        run.by_schedule();
    } else {
        run.by_time();
    }
    run.core.tell_accesses();
    run.done
}
