//! A lookup table that needs no lock: living allocations cut into segments that
//! do not overlap, each with the allocation that names it.

use super::{AllocationDesc, Placement, Record};
use crate::store::{Store, Window};
use std::collections::BTreeSet;
use std::sync::Arc;
use wavefence_base::{AllocationId, GpuAddress};

/// A run of addresses with one owner and one set of attributes.
pub(crate) struct Segment {
    /// First address.
    pub start: u64,
    /// Address after the last byte.
    pub end: u64,
    /// Of the allocations that cover it, the one made last.
    pub allocation: AllocationId,
    /// The GPU may write.
    pub gpu_write: bool,
    /// GPU caches do not keep it: it, or a heap it lies in, is uncached.
    pub uncached: bool,
    /// Accesses count as volatile, for the same reason.
    pub volatile: bool,
    store: Arc<Store>,
    at: u64,
}

impl Segment {
    /// Its bytes from `address` on; empty if that is outside.
    pub fn window(&self, address: u64) -> Window<'_> {
        // Segments are made from ranges inside their stores.
        match self.store.window(self.at, self.end - self.start) {
            Some(w) => w.tail(address.wrapping_sub(self.start)),
            None => unreachable!("a segment lies inside its store"),
        }
    }

    /// True if the byte at `address` is in it.
    pub fn holds(&self, address: u64) -> bool {
        self.start <= address && address < self.end
    }
}

/// True if an allocation or a heap that it lies in is so.
fn any_above(records: &[Record], r: &Record, is: fn(&AllocationDesc) -> bool) -> bool {
    let mut r = r;
    loop {
        if is(&r.allocation.desc) {
            return true;
        }
        match r.allocation.desc.placement {
            Placement::In { heap, .. } => r = &records[heap.index()],
            Placement::At(_) | Placement::Anywhere => return false,
        }
    }
}

/// The table of one moment.
#[derive(Default)]
pub struct Snapshot {
    /// The space's change count when this was made.
    pub(crate) epoch: u64,
    /// By address.
    pub(crate) segments: Vec<Segment>,
}

impl Snapshot {
    pub(super) fn build(epoch: u64, records: &[Record]) -> Self {
        // Every edge with the allocation that begins or ends there; ends first,
        // so that neighbours do not mix.
        let mut edges = Vec::new();
        for (i, r) in records.iter().enumerate().filter(|(_, r)| r.lives()) {
            edges.push((r.allocation.range.start.0, true, i));
            edges.push((r.allocation.range.end(), false, i));
        }
        edges.sort_unstable();
        let mut segments: Vec<Segment> = Vec::new();
        let mut open = BTreeSet::new();
        let mut from = 0;
        for (address, begins, index) in edges {
            if address > from
                && let Some(&top) = open.last()
            {
                let r: &Record = &records[top];
                if let Some(store) = &r.store {
                    segments.push(Segment {
                        start: from,
                        end: address,
                        allocation: r.allocation.id,
                        gpu_write: r.gpu_write,
                        uncached: any_above(records, r, |d| d.uncached),
                        volatile: any_above(records, r, |d| d.volatile),
                        store: Arc::clone(store),
                        at: r.at + (from - r.allocation.range.start.0),
                    });
                }
            }
            from = address;
            if begins {
                open.insert(index);
            } else {
                open.remove(&index);
            }
        }
        Self { epoch, segments }
    }

    /// Index of the segment that holds `address`.
    pub(crate) fn index(&self, address: GpuAddress) -> Option<usize> {
        let after = self.segments.partition_point(|s| s.start <= address.0);
        let index = after.checked_sub(1)?;
        self.segments[index].holds(address.0).then_some(index)
    }

    /// The segment that holds `address`.
    pub(crate) fn find(&self, address: GpuAddress) -> Option<&Segment> {
        self.index(address).map(|i| &self.segments[i])
    }

    /// Calls `each` for the pieces of `[address, +len)`, in order, until it says
    /// no: the offset of the piece, its length, and its segment, or `None` where
    /// nothing lives (then the length goes up to the next segment).
    pub(crate) fn pieces<'a>(
        &'a self,
        address: GpuAddress,
        len: u64,
        mut each: impl FnMut(u64, u64, Option<&'a Segment>) -> bool,
    ) {
        let mut done = 0;
        while done < len {
            let here = address.offset(done);
            let after = self.segments.partition_point(|s| s.start <= here.0);
            let segment = after.checked_sub(1).map(|i| &self.segments[i]);
            let segment = segment.filter(|s| s.holds(here.0));
            let end = match segment {
                Some(s) => s.end,
                // An access that wraps around the top goes on at address 0.
                None => self.segments.get(after).map_or(u64::MAX, |s| s.start),
            };
            let n = (end - here.0).clamp(1, len - done);
            if !each(done, n, segment) {
                return;
            }
            done += n;
        }
    }
}
