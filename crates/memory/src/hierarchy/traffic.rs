//! What accesses were served by and how many bytes that moved: what their time is
//! reckoned from. Nothing here changes what an access does.

use super::Hierarchy;
use wavefence_base::{CacheClass, Depth};

/// Of the accesses since it was last taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Traffic {
    /// Requests of waves that wait for an answer (loads, scalar reads, atomics), by
    /// how far down the deepest of their lines was found ([`Depth::ALL`]).
    pub waits: [u32; Depth::ALL.len()],
    /// Bytes that L2 gave to caches above it or took from them, whole lines.
    pub l2_bytes: u64,
    /// Bytes that memory gave or took, whole lines where a cache lies above it.
    pub memory_bytes: u64,
}

/// How far down the caches of a class lie.
pub(super) const fn depth(class: CacheClass) -> Depth {
    match class {
        CacheClass::Vector | CacheClass::Scalar | CacheClass::Instruction => Depth::Near,
        CacheClass::Gl1 => Depth::Gl1,
        CacheClass::L2 => Depth::L2,
    }
}

impl Hierarchy {
    /// What moved since the last call.
    pub fn take_traffic(&mut self) -> Traffic {
        std::mem::take(&mut self.traffic)
    }

    /// Lines of L2 that are dirty.
    pub fn dirty_lines(&self) -> u64 {
        self.of_class(CacheClass::L2).map(|c| self.caches[c].dirty_lines()).sum()
    }

    /// Counts bytes that memory gave to someone who looked and made no access.
    pub fn note_fetched(&mut self, bytes: u64) {
        self.traffic.memory_bytes += bytes;
    }

    /// Counts as [`Self::note_fetched`] does what `look` accesses, whatever that is.
    pub fn as_fetched<R>(&mut self, bytes: u64, look: impl FnOnce(&mut Self) -> R) -> R {
        let before = self.traffic;
        let result = look(self);
        self.traffic = before;
        self.note_fetched(bytes);
        result
    }

    /// A line was found in a cache.
    #[inline]
    pub(super) fn found_in(&mut self, cache: usize) {
        self.deepest = self.deepest.max(self.depths[cache]);
    }

    /// Bytes came up from a cache.
    #[inline]
    pub(super) fn came_up(&mut self, cache: usize, bytes: usize) {
        if Some(cache) == self.l2 {
            self.traffic.l2_bytes += bytes as u64;
        }
    }

    /// Memory gave bytes, or it took them for someone who waits.
    #[inline]
    pub(super) fn read_memory(&mut self, bytes: usize) {
        self.deepest = Depth::Memory;
        self.traffic.memory_bytes += bytes as u64;
    }

    /// The wave waits for the access that was made.
    #[inline]
    pub(super) fn waited(&mut self) {
        self.traffic.waits[self.deepest.index()] += 1;
    }
}
