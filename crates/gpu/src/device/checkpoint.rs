//! Going back to an earlier moment of a device.
//!
//! Waves cannot be copied, so a checkpoint is taken where there are none; all else,
//! queues that wait too, is kept. Whatever holds state names all its fields where it
//! is kept, so that a new one is not forgotten.

use super::{Device, Work};
use crate::core;
use crate::desc::Outcome;
use crate::model::Engines;
use wavefence_base::Limit;

/// A device at one moment.
pub(super) struct Mark {
    core: core::Mark,
    engines: Engines,
    work: WorkMark,
    submits: Vec<bool>,
    over: Option<Outcome>,
}

/// What shader work leaves behind when there is none.
enum WorkMark {
    Model(crate::work::Mark),
    /// Whose turn it is.
    Fast(usize),
}

impl Device {
    /// Marks this moment as the one that [`Device::restore`] goes back to; an earlier
    /// mark is forgotten.
    ///
    /// # Errors
    /// While a dispatch has not ended.
    pub fn checkpoint(&mut self) -> Result<(), Limit> {
        let Self { core, engines, work, space: _, submits, over, mark } = self;
        let busy = "no checkpoint can be taken while a dispatch has not ended";
        let work = match work {
            Work::Model(work) => work.checkpoint().map(WorkMark::Model),
            Work::Fast(pool) => pool.checkpoint().map(WorkMark::Fast),
        };
        let Some(work) = work.filter(|_| core.started.is_empty()) else {
            return Err(Limit::unsupported(busy));
        };
        *mark = Some(Box::new(Mark {
            core: core.checkpoint(),
            engines: engines.clone(),
            work,
            submits: submits.clone(),
            over: over.clone(),
        }));
        Ok(())
    }

    /// Goes back to the checkpoint, as often as asked and whatever was running:
    /// memory, caches, queues, counters, faults and the time. Allocations, kernels
    /// and queues made since are gone. Observers stay, and hear nothing of it. Costs
    /// what was touched. False, and nothing done, if there is no checkpoint.
    pub fn restore(&mut self) -> bool {
        let Some(mark) = &self.mark else { return false };
        let Mark { core, engines, work, submits, over } = &**mark;
        self.core.restore(core);
        self.engines.clone_from(engines);
        let kernels = self.core.kernels.len();
        match (&mut self.work, work) {
            (Work::Model(work), WorkMark::Model(mark)) => work.restore(mark, kernels),
            (Work::Fast(pool), WorkMark::Fast(turn)) => pool.restore(*turn, kernels),
            (Work::Model(_), WorkMark::Fast(_)) | (Work::Fast(_), WorkMark::Model(_)) => {
                unreachable!("a device keeps its mode")
            }
        }
        self.submits.clone_from(submits);
        self.over.clone_from(over);
        true
    }
}
