//! What a step of a run shares with others: its [`Footprint`], kept while a trace is
//! on.
//!
//! Lines are named wherever their bytes lie, in memory, in a cache or on the way. An
//! access uses the caches on its way; what drops or writes back lines of a cache
//! without naming them changes it. Stores that stay on their way when the step ends,
//! or that were on their way before it and arrive, change the vector cache of their
//! unit: whoever else goes by it may push them on.
//!
//! A line that goes to make room for another may be any: then everything is touched.

use super::wide::Ask;
use super::{Hierarchy, Route};
use wavefence_base::{CacheClass, Footprint, GpuAddress, Resource};

/// What the step that is being traced has touched.
#[derive(Debug, Default)]
pub(super) struct Trace {
    pub on: bool,
    /// The last access before the step.
    from: u64,
    touched: Footprint,
    group_shared: Option<bool>,
}

impl Hierarchy {
    /// A step begins whose footprint is wanted.
    pub fn begin_trace(&mut self) {
        self.trace.on = true;
        self.trace.from = self.seq;
        self.trace.group_shared = None;
        self.trace.touched.clear();
    }

    /// The step is over: adds what it has touched to `footprint`. Gives whether it has
    /// accessed its group's shared memory, and if so whether it has written to it.
    pub fn end_trace(&mut self, footprint: &mut Footprint) -> Option<bool> {
        for unit in self.stores.units_since(self.trace.from) {
            self.trace_store_queue(unit, true);
        }
        self.trace.on = false;
        for touch in self.trace.touched.touches() {
            footprint.add(touch.what, touch.changed);
        }
        self.trace.group_shared
    }

    /// Goes on with the trace, or leaves out what follows: looks for reports only.
    /// Gives what it was.
    pub fn set_traced(&mut self, on: bool) -> bool {
        std::mem::replace(&mut self.trace.on, on)
    }

    /// Bytes were read, or written.
    #[inline]
    pub(super) fn trace_bytes(&mut self, at: u64, len: u64, changed: bool) {
        if self.trace.on {
            self.add_bytes(at, len, changed);
        }
    }

    #[cold]
    fn add_bytes(&mut self, at: u64, len: u64, changed: bool) {
        let first = at / Resource::LINE;
        let last = at.saturating_add(len.saturating_sub(1)) / Resource::LINE;
        for line in first..=last {
            let line = Resource::Line(GpuAddress(line * Resource::LINE));
            self.trace.touched.add(line, changed);
        }
    }

    /// Lanes access `bytes` each.
    #[inline]
    pub(super) fn trace_lanes(&mut self, ask: &Ask<'_>, bytes: u64, changed: bool) {
        if self.trace.on {
            for lane in ask.mask.iter() {
                self.add_bytes(ask.at(lane as usize), bytes, changed);
            }
        }
    }

    /// An access goes through caches.
    #[inline]
    pub(super) fn trace_route(&mut self, route: &Route) {
        if self.trace.on {
            for &cache in route.caches() {
                self.add_cache(usize::from(cache), false);
            }
        }
    }

    /// Lines of a cache go, whichever they are.
    #[inline]
    pub(super) fn trace_change(&mut self, cache: usize) {
        if self.trace.on {
            self.add_cache(cache, true);
        }
    }

    /// An access is made in L2.
    #[inline]
    pub(super) fn trace_l2(&mut self) {
        if self.trace.on
            && let Some(l2) = self.l2
        {
            self.add_cache(l2, false);
        }
    }

    #[cold]
    fn add_cache(&mut self, cache: usize, changed: bool) {
        let (class, instance) = self.name_of(cache);
        self.trace.touched.add(Resource::Cache(class, instance), changed);
    }

    /// The class of a cache, and which of its class it is.
    pub(super) fn name_of(&self, cache: usize) -> (CacheClass, u32) {
        let class = self.classes[cache];
        (class, (cache - self.of_class(class).start) as u32)
    }

    /// Somebody goes behind the stores of a unit, or changes what is on its way.
    #[inline]
    pub(super) fn trace_store_queue(&mut self, unit: u32, changed: bool) {
        if self.trace.on
            && let Some(cache) = self.instance(CacheClass::Vector, unit)
        {
            self.add_cache(usize::from(cache), changed);
        }
    }

    /// A store arrives.
    #[inline]
    pub(super) fn trace_landing(&mut self, unit: u32, base: u64, seq: u64) {
        if self.trace.on {
            self.add_bytes(base, 1 << self.vector_shift, true);
            if seq <= self.trace.from {
                self.trace_store_queue(unit, true);
            }
        }
    }

    /// A line of a cache makes room for another.
    #[inline]
    pub(super) fn trace_eviction(&mut self, cache: usize, number: u64) {
        if self.trace.on && self.caches[cache].victim(number).is_some() {
            self.trace.touched.add(Resource::Everything, true);
        }
    }

    /// The group's shared memory is accessed.
    pub(super) fn trace_group_shared(&mut self, written: bool) {
        if self.trace.on {
            *self.trace.group_shared.get_or_insert(false) |= written;
        }
    }
}
