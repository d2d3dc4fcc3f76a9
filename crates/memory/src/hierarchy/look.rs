//! Looks at what the caches hold that are no accesses.

use super::{Hierarchy, Requester};
use crate::access::AccessError;
use crate::cache::{ByteMask, NOBODY, span};
use wavefence_base::{CacheClass, Client, DispatchId, GpuAddress};

impl Hierarchy {
    /// Shows every line of every cache: the cache, the line's address, which bytes are
    /// there, which of them the level below does not have, and the bytes.
    pub fn each_line(
        &self,
        mut each: impl FnMut((CacheClass, u32), GpuAddress, ByteMask, ByteMask, &[u8]),
    ) {
        for (c, cache) in self.caches.iter().enumerate() {
            for slot in cache.slots() {
                let line = cache.line(slot);
                let at = GpuAddress(line.number << cache.shift());
                each(self.name_of(c), at, line.valid, line.dirty, cache.bytes(slot));
            }
        }
    }

    /// Whether accesses are recorded.
    pub fn is_recording(&self) -> bool {
        self.record.on
    }

    /// Writes dirty bytes of `[at, at + len)` in L2 on to memory, where they stay
    /// known to L2 as clean: what a write to uncached memory comes down to.
    pub fn write_through(&mut self, at: GpuAddress, len: u64) {
        let end = at.0 + len;
        self.trace_bytes(at.0, len, true);
        self.trace_l2();
        for l2 in self.of_class(CacheClass::L2) {
            let cache = &mut self.caches[l2];
            for slot in cache.slots_in(at.0, end) {
                let line = *cache.line(slot);
                let base = line.number << cache.shift();
                let from = at.0.max(base) - base;
                let to = end.min(base + cache.line_bytes() as u64) - base;
                let mask = line.dirty & span(from as u32, (to - from) as u32);
                self.backing.write_back(base, cache.bytes(slot), mask);
                cache.clean_part(slot, mask);
            }
        }
    }

    /// Which dispatch's shader wrote the byte at `at` that lies dirty in L2; `None`
    /// if it does not, or something else wrote to the line last.
    pub fn dirty_writer(&mut self, at: GpuAddress) -> Option<DispatchId> {
        for l2 in self.of_class(CacheClass::L2) {
            let cache = &mut self.caches[l2];
            let within = at.0 as usize & (cache.line_bytes() - 1);
            let Some(slot) = cache.peek(at.0 >> cache.shift()) else { continue };
            let line = cache.line(slot);
            if line.dirty & span(within as u32, 1) != 0 && line.writer != NOBODY {
                return Some(DispatchId(line.writer));
            }
        }
        None
    }

    /// What a client finds that goes the way of its path, but lets no cache keep
    /// what it reads and takes nothing from a line that is clean: the dirty bytes
    /// of L2 if its path has L2, else memory. Changes nothing and is no access.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn peek_uncached(
        &mut self,
        who: Requester,
        at: GpuAddress,
        out: &mut [u8],
    ) -> Result<(), AccessError> {
        self.peek(Requester { client: Client::Host, ..who }, at, out)?;
        if !self.topology.writes_to_l2(who.client) {
            return Ok(());
        }
        self.trace_l2();
        for l2 in self.of_class(CacheClass::L2) {
            let cache = &mut self.caches[l2];
            for (i, byte) in out.iter_mut().enumerate() {
                let address = at.0 + i as u64;
                let within = address as usize & (cache.line_bytes() - 1);
                if let Some(slot) = cache.peek(address >> cache.shift())
                    && cache.line(slot).dirty & span(within as u32, 1) != 0
                {
                    *byte = cache.bytes(slot)[within];
                }
            }
        }
        Ok(())
    }
}
