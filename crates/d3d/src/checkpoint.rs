//! Going back to an earlier moment of a device.

use crate::device::{Device, Pool};
use crate::error::Error;
use crate::names::Placed;
use crate::resource::DeviceTag;
use std::collections::BTreeMap;
use std::sync::Arc;
use wavefence_base::GpuAddress;

/// The device's own books at one moment; memory, hardware and checker keep theirs.
/// What only grows is kept by its length.
pub(crate) struct Mark {
    queues: usize,
    pipelines: usize,
    placed: BTreeMap<u64, Arc<Placed>>,
    by_list: BTreeMap<(u64, u32), GpuAddress>,
    next_list: u64,
    pool: Option<Pool>,
    advice: usize,
    names: usize,
}

impl Device {
    /// Marks this moment as the one that [`Device::restore`] goes back to; an earlier
    /// mark is forgotten. Lists that are recorded, and those open, stay good.
    ///
    /// # Errors
    /// If submitted work is unfinished: run it first.
    pub fn checkpoint(&mut self) -> Result<(), Error> {
        self.hardware.checkpoint()?;
        let Self {
            profile: _,
            dxc: _,
            // Lists stay good.
            recorded: _,
            mark: _,
            // Both were told just now, or are below.
            hardware: _,
            checker,
            tag,
            lives,
            queues,
            pipelines,
            placed,
            by_list,
            next_list,
            pool,
            advice,
            names,
            last: _,
        } = self;
        if let Some(checker) = checker {
            checker.checkpoint();
        }
        lives.push(tag.life);
        tag.life += 1;
        self.mark = Some(Mark {
            queues: queues.len(),
            pipelines: pipelines.len(),
            placed: placed.clone(),
            by_list: by_list.clone(),
            next_list: *next_list,
            pool: *pool,
            advice: advice.len(),
            names: names.len(),
        });
        Ok(())
    }

    /// Goes back to the checkpoint, as often as asked, and whatever the device was
    /// doing: memory, caches, fences, queues, reports and the checker are as they
    /// were, and the next run is the same as the first after the checkpoint was. It
    /// costs what was touched since. Objects made since are gone: a call that is
    /// given one says so. False, and nothing done, if there is no checkpoint.
    pub fn restore(&mut self) -> bool {
        let Some(mark) = &self.mark else { return false };
        if !self.hardware.restore() {
            return false;
        }
        if let Some(checker) = &self.checker {
            checker.restore();
        }
        let Mark { queues, pipelines, placed, by_list, next_list, pool, advice, names } = mark;
        self.queues.truncate(*queues);
        while self.pipelines.len() > *pipelines {
            self.pipelines.pop_last();
        }
        self.placed.clone_from(placed);
        self.by_list.clone_from(by_list);
        self.next_list = *next_list;
        self.pool = *pool;
        self.advice.truncate(*advice);
        self.names.truncate(*names);
        self.last = None;
        self.tag.life += 1;
        true
    }

    /// True if what was made under `tag` is there.
    pub(crate) fn lives(&self, tag: DeviceTag) -> bool {
        tag.life == self.tag.life || self.lives.contains(&tag.life)
    }
}
