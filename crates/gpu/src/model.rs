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
use crate::desc::QueueKind;
use crate::dispatch::Dispatch;
use crate::queue::{Block, Queue, Seat};
use crate::steps::{Agent, Candidate};
use crate::work::Work;
use std::collections::BTreeMap;
use std::sync::Arc;
use wavefence_base::{Event, SubmitId};

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

    /// The ME, MEC or SDMA engine of a queue takes a step.
    fn execute(&mut self, core: &mut Core, at: usize) {
        let queue = &mut self.queues[at];
        cp::step_main(core, queue);
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
                cp::pfp::step(core, queue);
                took(core, &mut queue.pfp);
            }
            Agent::Execute(at) => self.execute(core, at),
            Agent::Copy(at) => {
                dma::step(core, &mut self.queues[at]);
            }
            Agent::EndOfPipe(at) => {
                let queue = &mut self.queues[at];
                event::end_of_pipe(core, queue);
                queue.ends.took(core);
            }
            Agent::Late(at) => {
                event::finish_late(core, &mut self.queues[at]);
            }
            Agent::Close(at) => return event::close(core, &mut self.queues[at]),
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
        let Self { core, engines, work, next, done } = self;
        let ended = match candidate.agent {
            Agent::Land { queue, seq } => {
                next.engines_stale = true;
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
                let step = work.step_wave(core, ready);
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
        if let Some(dispatch) = ended {
            engines.ended(core, &[dispatch]);
            (next.engines_stale, next.launches_stale) = (true, true);
        }
    }
}

/// Runs until nothing moves or the run must end. Gives the submissions done.
pub(crate) fn run(core: &mut Core, engines: &mut Engines, work: &mut Work) -> Vec<SubmitId> {
    let next = Next {
        engines: None,
        launches: None,
        engines_stale: true,
        launches_stale: true,
        polls: false,
    };
    let mut run = Run { core, engines, work, next, done: Vec::new() };
    while run.core.ending.is_none() {
        let Some(candidate) = run.first() else { break };
        run.core.begin_step(candidate.ready);
        if run.core.ending.is_some() {
            break;
        }
        run.take(candidate);
        if run.core.shared.exhausted() && run.work.is_active() {
            run.core.out_of_instructions(run.work.first_standing());
        }
    }
    run.core.tell_accesses();
    run.done
}
