//! Who can take a step of a model run, and when it is ready.
//!
//! Every agent is busy for as long as its last step took. It can go on when what it
//! waits for is there; from then on it is ready, at a cycle that does not move until
//! it is taken. Whether a blocked engine can go on is looked up without an event or
//! an access, so nothing polls in vain.

use crate::core::Core;
use crate::cp::{self, event};
use crate::desc::QueueKind;
use crate::model::Engines;
use crate::queue::{Block, Queue, Seat};
use crate::work::Ready;
use wavefence_base::{QueueId, Step};
use wavefence_pm4::Ring;

/// When an agent takes its next step.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct When {
    /// It is busy until then.
    pub(crate) free: u64,
    /// It can go on, from then.
    ready: Option<u64>,
}

impl When {
    /// Busy until `free`.
    pub(crate) fn from(free: u64) -> Self {
        Self { free, ready: None }
    }

    /// True if it is settled when it takes its next step.
    pub(crate) fn is_ready(&self) -> bool {
        self.ready.is_some()
    }

    /// It has taken a step.
    pub(crate) fn took(&mut self, core: &Core) {
        *self = Self::from(core.now() + core.cost());
    }

    /// It has just been looked up whether it can go on, and not before which cycle.
    /// Gives when it does.
    pub(crate) fn see(&mut self, core: &Core, from: Option<u64>) -> Option<u64> {
        match from {
            Some(from) => {
                let ready = from.max(self.free).max(core.now());
                Some(*self.ready.get_or_insert(ready))
            }
            None => {
                self.ready = None;
                None
            }
        }
    }
}

/// Who takes a step. Queues are named by index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Agent {
    /// Stores of a dispatch arrive.
    Land { queue: QueueId, seq: u64 },
    /// A PFP.
    Prefetch(usize),
    /// An ME, MEC or SDMA engine.
    Execute(usize),
    /// The CP's own DMA engine of a queue.
    Copy(usize),
    /// The launcher of the dispatch at that place in [`crate::work::Work::active`].
    Launch(usize),
    /// A wave, or the end of its group.
    Wave(Ready),
    /// The end of the pipe of a queue.
    EndOfPipe(usize),
    /// Overtaken cache actions of a queue.
    Late(usize),
    /// The end of a submission of a queue.
    Close(usize),
}

impl Agent {
    /// Who goes first of those that are ready in the same cycle: what arrives, the
    /// engines, the launchers, the waves, the ends of pipes.
    fn rank(&self) -> u8 {
        match self {
            Self::Land { .. } => 0,
            Self::Prefetch(_) => 1,
            Self::Execute(_) => 2,
            Self::Copy(_) => 3,
            Self::Launch(_) => 4,
            Self::Wave(_) => 5,
            Self::EndOfPipe(_) => 6,
            Self::Late(_) => 7,
            Self::Close(_) => 8,
        }
    }
}

/// A step that can be taken.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Candidate {
    /// The cycle in which its agent is ready.
    pub(crate) ready: u64,
    pub(crate) agent: Agent,
    /// Its place among those of its rank: queues as they were opened, those of a
    /// compute pipe behind the others and in turn; dispatches as they started;
    /// groups as they started, then by wave.
    pub(crate) order: u64,
}

impl Candidate {
    /// What the plain run sorts by.
    pub(crate) fn key(&self) -> (u64, u8, u64) {
        (self.ready, self.agent.rank(), self.order)
    }

    /// The one that the plain run takes first.
    pub(crate) fn first(a: Option<Self>, b: Option<Self>) -> Option<Self> {
        match (a, b) {
            (Some(a), Some(b)) => Some(if b.key() < a.key() { b } else { a }),
            (a, b) => a.or(b),
        }
    }
}

/// The first cycle from now on in which an engine looks at a value that it has
/// blocked on: every so many cycles from `first`.
fn next_poll(core: &Core, first: u64) -> u64 {
    let late = core.now().saturating_sub(first);
    first + late.next_multiple_of(core.timing.poll.max(1))
}

/// Whether a blocked engine would go on, and not before which cycle.
fn goes_on(core: &mut Core, queue: &Queue, seat: &Seat) -> Option<u64> {
    let (located, block) = seat.blocked.as_ref()?;
    if !cp::block_is_over(core, queue, located, block) {
        return None;
    }
    Some(match block {
        Block::Value(_) | Block::Again => next_poll(core, seat.when.free),
        // The ME is still busy with the last packet that it took.
        Block::MicroEngine => queue.me.when.free,
        Block::Shaders(_) | Block::CpDma | Block::EndOfPipe => 0,
    })
}

/// True if only memory can say whether the engine goes on.
fn polls_memory(seat: &Seat) -> bool {
    matches!(&seat.blocked, Some((_, Block::Value(_) | Block::Again)))
}

fn prefetch(core: &mut Core, queue: &mut Queue) -> Option<u64> {
    let from = if queue.pfp.blocked.is_some() {
        goes_on(core, queue, &queue.pfp)
    } else {
        let can = !cp::pfp::full(core, queue) && !queue.halted && queue.fetch.has_next();
        can.then_some(0)
    };
    queue.pfp.when.see(core, from)
}

fn execute(core: &mut Core, queue: &mut Queue) -> Option<u64> {
    let from = if queue.me.blocked.is_some() {
        goes_on(core, queue, &queue.me)
    } else if queue.shaders.full() {
        None
    } else if queue.ring == Ring::Graphics {
        // What the ME was sent it does, if the queue was halted meanwhile or not.
        queue.fifo.front().map(|sent| sent.arrives)
    } else {
        (!queue.halted && queue.fetch.has_next()).then_some(0)
    };
    queue.me.when.see(core, from)
}

fn end_of_pipe(core: &mut Core, queue: &mut Queue) -> Option<u64> {
    let from = match queue.end_of_pipe.front() {
        Some(_) if !queue.end_of_pipe_ready() => None,
        Some(_) if queue.ends.is_ready() => Some(0),
        Some(event) => Some(core.now() + event::time(core, event)),
        None => None,
    };
    queue.ends.see(core, from)
}

fn copy(core: &Core, queue: &mut Queue) -> Option<u64> {
    let waits = queue.waits_for_dma();
    let next = queue.cp_dma.front_mut()?;
    if waits {
        next.due = next.due.min(next.soonest.max(core.now()));
    }
    Some(next.due)
}

fn close(core: &Core, queue: &mut Queue) -> Option<u64> {
    let ready = queue.closing_ready();
    // What the boundary does comes after the list's own values, as they do. A DMA
    // engine's does nothing.
    let due = if queue.ring == Ring::Sdma { core.now() } else { core.late() };
    let next = queue.closing.front_mut().filter(|_| ready)?;
    Some(*next.due.get_or_insert(due))
}

/// Stores of dispatches that have ended come behind those of groups.
const ENDED: u64 = 1 << 32;

impl Engines {
    /// The name of a step; `None` for those of shaders.
    pub(crate) fn name(&self, agent: Agent) -> Option<Step> {
        let id = |at: usize| self.queues[at].id;
        Some(match agent {
            Agent::Land { queue, seq } => Step::Land { queue, seq },
            Agent::Prefetch(at) => Step::Prefetch(id(at)),
            Agent::Execute(at) => Step::Execute(id(at)),
            Agent::Copy(at) => Step::Copy(id(at)),
            Agent::EndOfPipe(at) => Step::EndOfPipe(id(at)),
            Agent::Late(at) => Step::Late(id(at)),
            Agent::Close(at) => Step::Close(id(at)),
            Agent::Launch(_) | Agent::Wave(_) => return None,
        })
    }

    /// Tells every step that engines, ends of pipes and arrivals can take. True if one
    /// of them may depend on what lies in memory.
    pub(crate) fn look(&mut self, core: &mut Core, mut tell: impl FnMut(Candidate)) -> bool {
        let mut polls = false;
        for (order, landing) in core.flight.landings().enumerate() {
            let agent = Agent::Land { queue: landing.queue, seq: landing.seq };
            tell(Candidate { ready: landing.due, agent, order: ENDED | order as u64 });
        }
        for (at, queue) in self.queues.iter_mut().enumerate() {
            let order = at as u64;
            let mut tell = |ready: Option<u64>, agent| {
                if let Some(ready) = ready {
                    tell(Candidate { ready, agent, order });
                }
            };
            polls |= polls_memory(&queue.pfp) || polls_memory(&queue.me);
            if queue.ring == Ring::Graphics {
                tell(prefetch(core, queue), Agent::Prefetch(at));
            }
            if !matches!(queue.kind, QueueKind::Compute { .. }) {
                tell(execute(core, queue), Agent::Execute(at));
            }
            tell(copy(core, queue), Agent::Copy(at));
            tell(end_of_pipe(core, queue), Agent::EndOfPipe(at));
            tell(queue.late.as_ref().map(|late| late.due), Agent::Late(at));
            tell(close(core, queue), Agent::Close(at));
        }
        for (index, pipe) in (1u64..).zip(self.pipes.values()) {
            for offset in 0..pipe.members.len() {
                let at = pipe.members[(pipe.turn + offset) % pipe.members.len()];
                if let Some(ready) = execute(core, &mut self.queues[at]) {
                    // The queues of a pipe share its MEC.
                    let (ready, order) = (ready.max(pipe.free), index << 32 | offset as u64);
                    tell(Candidate { ready, agent: Agent::Execute(at), order });
                }
            }
        }
        polls
    }
}
