//! Going back to an earlier moment of the space.

use super::{AddressSpace, Inner};
use crate::store::Store;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use wavefence_base::AllocationId;

/// What the table was, beside what only grows.
pub(super) struct Mark {
    /// Allocations made until then.
    records: usize,
    next: u64,
    step: u64,
    used: u64,
    esram: u64,
    /// Of those, the ones freed since, each with its bytes.
    freed: Vec<(AllocationId, Arc<Store>)>,
}

/// Stores kept for use again, and the bytes of the largest of them: clearing what was
/// touched of a small one is cheaper than a new one, of which the host clears all.
const MAX_SPARE: usize = 64;
const MAX_SPARE_BYTES: u64 = 1 << 20;

impl Inner {
    /// True if a store of that size, made now, is kept once it is gone.
    pub(super) fn serves_again(&self, bytes: u64) -> bool {
        self.mark.is_some() && bytes <= MAX_SPARE_BYTES
    }

    /// An earlier store of that size, marked while it is all 0 so that what is written
    /// can be cleared.
    pub(super) fn take_spare(&mut self, bytes: u64) -> Option<Arc<Store>> {
        let at = self.spare.iter().position(|s| s.len() == bytes)?;
        Some(self.spare.swap_remove(at))
    }

    /// An allocation has been freed: what a mark needs to bring it back.
    pub(super) fn note_freed(&mut self, id: AllocationId, store: Option<Arc<Store>>) {
        if let (Some(mark), Some(store)) = (&mut self.mark, store)
            && id.index() < mark.records
        {
            mark.freed.push((id, store));
        }
    }

    fn to_mark(&self) -> Mark {
        let Self { records, heaps: _, next, step, used, esram, mark: _, spare: _ } = self;
        Mark {
            records: records.len(),
            next: *next,
            step: *step,
            used: *used,
            esram: *esram,
            freed: Vec::new(),
        }
    }

    /// Brings the table back; true if it was another one.
    fn take_back(&mut self, mark: &mut Mark) -> bool {
        let Mark { records, next, step, used, esram, freed } = mark;
        let changed = self.step != *step;
        for record in self.records.drain(*records..) {
            let start = record.allocation.range.start.0;
            if self.heaps.get(&start) == Some(&record.allocation.id) {
                self.heaps.remove(&start);
            }
            let Some(store) = record.store.filter(|_| record.root == record.allocation.id) else {
                continue;
            };
            if self.spare.len() < MAX_SPARE && store.len() <= MAX_SPARE_BYTES {
                // It was marked when it was made.
                store.restore();
                self.spare.push(store);
            }
        }
        for (id, store) in freed.drain(..) {
            let record = &mut self.records[id.index()];
            record.allocation.freed = None;
            record.store = Some(store);
            if record.root == id {
                self.heaps.insert(record.allocation.range.start.0, id);
            }
        }
        (self.next, self.step, self.used, self.esram) = (*next, *step, *used, *esram);
        changed
    }
}

impl AddressSpace {
    /// Marks this moment, with every byte in every allocation, as the one that
    /// [`Self::restore`] goes back to; an earlier mark is forgotten. From now on a
    /// page of 4 KiB is copied before its first write. No other thread may access
    /// the space meanwhile.
    pub fn checkpoint(&self) {
        let mut inner = self.inner();
        inner.mark = Some(inner.to_mark());
        inner.spare.clear();
        for id in inner.heaps.values() {
            if let Some(store) = &inner.records[id.index()].store {
                store.checkpoint();
            }
        }
    }

    /// Goes back to the checkpoint, as often as asked: allocations made since are
    /// gone, and their ids and addresses are given out again; those freed since
    /// live; every byte is what it was. Costs what was touched. False, and nothing
    /// done, if there is no checkpoint. No other thread may access the space
    /// meanwhile.
    pub fn restore(&self) -> bool {
        let mut inner = self.inner();
        let Some(mut mark) = inner.mark.take() else { return false };
        if inner.take_back(&mut mark) {
            self.epoch.fetch_add(1, Ordering::Release);
        }
        inner.mark = Some(mark);
        for id in inner.heaps.values() {
            if let Some(store) = &inner.records[id.index()].store {
                store.restore();
            }
        }
        true
    }
}
