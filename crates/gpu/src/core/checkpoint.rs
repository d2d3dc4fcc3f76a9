//! Going back to an earlier moment of what all parts share.
//!
//! What is kept is named field by field, so that a new field is not forgotten.

use super::{Core, Shared};
use crate::clock::Clock;
use crate::desc::Outcome;
use crate::faults::Faults;
use crate::flight::Flight;
use crate::history::History;
use crate::timing::Pipes;
use std::sync::atomic::Ordering;
use wavefence_base::Budget;

/// A [`Core`] at one moment; memory and caches keep theirs. What only grows is kept
/// by its length.
pub(crate) struct Mark {
    gds: Vec<u32>,
    clock: u64,
    instructions: u64,
    printed_count: u64,
    actions: u64,
    kernels: usize,
    history: History,
    faults: Faults,
    printed: usize,
    ending: Option<Outcome>,
    over_budget: Option<Budget>,
    dispatch_queues: usize,
    flight: Flight,
    pipes: Pipes,
    now: u64,
    cost: u64,
    packets: u64,
}

impl Core {
    /// The core as it is now; none of the dispatches that engines have started may
    /// wait to be taken up.
    pub(crate) fn checkpoint(&mut self) -> Mark {
        let Self {
            // What a device is made of does not change.
            profile: _,
            generation: _,
            seed: _,
            lead: _,
            model: _,
            timing: _,
            limits: _,
            stop_on_fault: _,
            // Who listens goes on listening, and who chooses goes on choosing.
            observers: _,
            schedule: _,
            footprint: _,
            host_turn: _,
            // Of a step or run that is going on; there is none.
            tracing: _,
            leaving: _,
            // Empty: see above.
            started: _,
            shared,
            bus,
            kernels,
            history,
            faults,
            printed,
            ending,
            over_budget,
            dispatch_queues,
            flight,
            pipes,
            now,
            cost,
            packets,
        } = self;
        let Shared { space, gds, clock, instructions, printed: printed_count } = &**shared;
        let Clock { now: time, rate: _ } = clock;
        space.checkpoint();
        Mark {
            gds: gds.checkpoint(),
            clock: time.load(Ordering::Relaxed),
            instructions: instructions.load(Ordering::Relaxed),
            printed_count: printed_count.load(Ordering::Relaxed),
            actions: bus.checkpoint(),
            kernels: kernels.len(),
            history: history.clone(),
            faults: faults.clone(),
            printed: printed.len(),
            ending: ending.clone(),
            over_budget: *over_budget,
            dispatch_queues: dispatch_queues.len(),
            flight: flight.clone(),
            pipes: *pipes,
            now: *now,
            cost: *cost,
            packets: *packets,
        }
    }

    /// Goes back to `mark`, the last one taken.
    pub(crate) fn restore(&mut self, mark: &Mark) {
        let Mark {
            gds,
            clock,
            instructions,
            printed_count,
            actions,
            kernels,
            history,
            faults,
            printed,
            ending,
            over_budget,
            dispatch_queues,
            flight,
            pipes,
            now,
            cost,
            packets,
        } = mark;
        self.shared.space.restore();
        self.shared.gds.restore(gds);
        self.shared.clock.now.store(*clock, Ordering::Relaxed);
        self.shared.instructions.store(*instructions, Ordering::Relaxed);
        self.shared.printed.store(*printed_count, Ordering::Relaxed);
        self.bus.restore(*actions);
        self.kernels.truncate(*kernels);
        self.history.clone_from(history);
        self.faults.clone_from(faults);
        self.printed.truncate(*printed);
        self.ending.clone_from(ending);
        self.over_budget = *over_budget;
        self.dispatch_queues.truncate(*dispatch_queues);
        self.flight.clone_from(flight);
        self.started.clear();
        (self.tracing, self.leaving) = (false, None);
        self.pipes = *pipes;
        (self.now, self.cost, self.packets) = (*now, *cost, *packets);
    }
}
