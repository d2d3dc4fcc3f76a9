//! Going back to an earlier moment of the caches.

use super::record::{Had, Recorder};
use super::stores::Stores;
use super::{Hierarchy, LostBytes, Traffic};
use crate::cache::SavedCache;
use crate::coherent::MissRecord;

/// What changes when accesses are made. What does not, the wiring, is left out by
/// name in [`Hierarchy::checkpoint`], so that nothing new is forgotten.
pub(super) struct Mark {
    caches: Vec<SavedCache>,
    stores: Stores,
    record: Recorder,
    misses: Vec<MissRecord>,
    lost: Vec<LostBytes>,
    traffic: Traffic,
    seq: u64,
}

impl Hierarchy {
    /// Marks this moment as the one that [`Self::restore`] goes back to; an earlier
    /// mark is forgotten. The address space has its own checkpoint: see
    /// [`AddressSpace::checkpoint`](crate::AddressSpace::checkpoint).
    pub fn checkpoint(&mut self) {
        let Self {
            topology: _,
            rules: _,
            classes: _,
            depths: _,
            first: _,
            units: _,
            l2: _,
            vector_shift: _,
            mark: _,
            // Of the step that is being taken; there is none.
            trace: _,
            // Scratch of the request that is being made; there is none.
            changed: _,
            had: _,
            deepest: _,
            groups: _,
            writing: _,
            caches,
            backing,
            stores,
            record,
            misses,
            traffic,
            seq,
        } = self;
        self.mark = Some(Box::new(Mark {
            caches: caches.iter().map(crate::cache::Cache::save).collect(),
            stores: stores.clone(),
            record: record.clone(),
            misses: misses.clone(),
            lost: backing.lost.clone(),
            traffic: *traffic,
            seq: *seq,
        }));
    }

    /// Goes back to the checkpoint, as often as asked: lines, stores on their way,
    /// records and misses not yet taken, and the sequence. Recording stays as it is.
    /// Costs what was touched and what there was then. False, and nothing done, if
    /// there is no checkpoint.
    pub fn restore(&mut self) -> bool {
        let Some(mark) = &self.mark else { return false };
        let Mark { caches, stores, record, misses, lost, traffic, seq } = &**mark;
        for (cache, saved) in self.caches.iter_mut().zip(caches) {
            cache.restore(saved);
        }
        self.stores.restore(stores);
        self.record.restore(record);
        self.misses.clone_from(misses);
        self.backing.lost.clone_from(lost);
        self.backing.refresh();
        self.traffic = *traffic;
        self.seq = *seq;
        self.changed = None;
        self.had = Had::default();
        true
    }
}
