//! From cache to cache.

use super::record::MAX_DWORDS;
use super::{Hierarchy, Route};
use crate::cache::{ByteMask, MAX_LINE, span};
use wavefence_base::{CacheClass, PassingStore};

/// How an access walks.
#[derive(Clone, Copy, Debug)]
pub(super) struct How {
    /// Marks the lines it fills.
    pub volatile: bool,
    /// The unit whose stores go before whatever misses the nearest cache.
    pub behind: Option<u32>,
}

impl Hierarchy {
    /// Room for a line; what has to go is written back.
    pub(super) fn place(&mut self, cache: usize, number: u64) -> usize {
        self.trace_eviction(cache, number);
        if self.caches[cache].may_be_dirty()
            && let Some(victim) = self.caches[cache].victim(number)
            && self.caches[cache].line(victim).dirty != 0
        {
            self.write_back(cache, victim);
        }
        self.caches[cache].place(number, self.seq)
    }

    /// Writes a line's dirty bytes to memory; it stays, clean. Gives how many
    /// bytes arrived.
    pub(super) fn write_back(&mut self, cache: usize, slot: usize) -> u64 {
        if self.trace.on {
            let line = self.caches[cache].line(slot).number << self.caches[cache].shift();
            self.trace_bytes(line, self.caches[cache].line_bytes() as u64, true);
        }
        let cache = &mut self.caches[cache];
        let line = *cache.line(slot);
        self.traffic.memory_bytes += cache.line_bytes() as u64;
        let base = line.number << cache.shift();
        let written = self.backing.write_back(base, cache.bytes(slot), line.dirty);
        cache.clean(slot);
        written
    }

    /// Makes the bytes `need` of a line present in the cache at `level` of
    /// `route`, as far as they exist; gives the line's slot.
    pub(super) fn ensure(
        &mut self,
        route: &Route,
        level: usize,
        number: u64,
        need: ByteMask,
        how: How,
    ) -> usize {
        let c = usize::from(route.at[level]);
        let cache = &mut self.caches[c];
        let found = cache.find(number);
        let valid = found.map_or(0, |slot| cache.line(slot).valid);
        if self.record.on {
            self.had.push(number << cache.shift(), valid, self.classes[c]);
        }
        if let Some(slot) = found
            && valid & need == need
        {
            self.found_in(c);
            return slot;
        }
        if level == 0
            && let Some(unit) = how.behind
        {
            self.land_unit(unit);
        }
        let slot = match found {
            Some(slot) => slot,
            None => self.place(c, number),
        };
        if !self.complete_whole(route, level, slot, number, how) {
            self.complete(route, level, slot, number, how);
        }
        slot
    }

    /// Takes a line that lacks everything from one line below, or from memory.
    /// False, and nothing done, if that is not how it is.
    #[inline]
    fn complete_whole(
        &mut self,
        route: &Route,
        level: usize,
        slot: usize,
        number: u64,
        how: How,
    ) -> bool {
        let c = usize::from(route.at[level]);
        if self.caches[c].line(slot).valid != 0 {
            return false;
        }
        let (shift, len) = (self.caches[c].shift(), self.caches[c].line_bytes());
        if level + 1 == route.len {
            self.read_memory(len);
            let backing = &mut self.backing;
            self.caches[c].take_whole(slot, |to| backing.fetch(number << shift, to));
            self.caches[c].stamps_mut(slot).fill(self.seq);
        } else {
            let below = usize::from(route.at[level + 1]);
            let skip = self.caches[below].shift();
            if skip < shift {
                return false;
            }
            let at = number << shift;
            let within = at as usize & ((1 << skip) - 1);
            let need = span(within as u32, len as u32);
            let from = self.ensure(route, level + 1, at >> skip, need, how);
            self.came_up(below, len);
            if self.record.on {
                let stamps = self.stamps_of(below, from, at >> skip << skip);
                let stamps = &stamps[within / 4..(within + len) / 4];
                self.caches[c].stamps_mut(slot).copy_from_slice(stamps);
            }
            let Ok([to, below]) = self.caches.get_disjoint_mut([c, below]) else { return false };
            let valid = below.line(from).valid >> within & span(0, len as u32);
            to.take_whole(slot, |to| {
                to.copy_from_slice(&below.bytes(from)[within..within + len]);
                valid
            });
        }
        if how.volatile {
            self.caches[c].mark_volatile(slot);
        }
        true
    }

    /// Takes the bytes that a line lacks from the level below.
    fn complete(&mut self, route: &Route, level: usize, slot: usize, number: u64, how: How) {
        let c = usize::from(route.at[level]);
        let (shift, len) = (self.caches[c].shift(), self.caches[c].line_bytes());
        let base = number << shift;
        let missing = !self.caches[c].line(slot).valid & span(0, len as u32);
        let mut bytes = [0; MAX_LINE];
        let mut stamps = [self.seq; MAX_DWORDS];
        let mut got = 0;
        if level + 1 < route.len {
            let below = usize::from(route.at[level + 1]);
            let step = len.min(self.caches[below].line_bytes());
            for part in (0..len).step_by(step) {
                let want = missing >> part & span(0, step as u32);
                if want == 0 {
                    continue;
                }
                let at = base + part as u64;
                let shift = self.caches[below].shift();
                let within = at as usize & ((1 << shift) - 1);
                let from = self.ensure(route, level + 1, at >> shift, want << within, how);
                self.came_up(below, step);
                let there = &self.caches[below].bytes(from)[within..within + step];
                bytes[part..part + step].copy_from_slice(there);
                got |= (want & self.caches[below].line(from).valid >> within) << part;
                if self.record.on {
                    let line = (at >> shift) << shift;
                    let below = self.stamps_of(below, from, line);
                    let dwords = within / 4..(within + step) / 4;
                    stamps[part / 4..(part + step) / 4].copy_from_slice(&below[dwords]);
                }
            }
        } else {
            self.read_memory(len);
            got = self.backing.fetch(base, &mut bytes[..len]) & missing;
        }
        let cache = &mut self.caches[c];
        cache.set(slot, got, &bytes[..len], &stamps[..len / 4]);
        if how.volatile {
            cache.mark_volatile(slot);
        }
    }

    /// What a cache other than L2 does when written bytes pass it.
    pub(super) fn pass(
        &mut self,
        cache: usize,
        rule: PassingStore,
        base: u64,
        mask: ByteMask,
        data: &[u8],
        stamp: u64,
    ) {
        if rule == PassingStore::Leave || self.caches[cache].live() == 0 {
            return;
        }
        let cache = &mut self.caches[cache];
        let step = data.len().min(cache.line_bytes());
        for part in (0..data.len()).step_by(step) {
            let want = mask >> part & span(0, step as u32);
            let at = base + part as u64;
            let within = at as usize & (cache.line_bytes() - 1);
            if want == 0 {
                continue;
            }
            let Some(slot) = cache.find(at >> cache.shift()) else { continue };
            match rule {
                PassingStore::Leave => {}
                PassingStore::Drop => cache.drop_slot(slot),
                PassingStore::Update => {
                    let mut bytes = [0; MAX_LINE];
                    bytes[within..within + step].copy_from_slice(&data[part..part + step]);
                    let mask = want << within;
                    cache.set(slot, mask, &bytes, &[]);
                    cache.stamp(slot, mask, stamp);
                }
            }
        }
    }

    /// Writes bytes into L2, making lines without reading them; to memory if
    /// there is no L2.
    pub(super) fn write_l2(
        &mut self,
        base: u64,
        mask: ByteMask,
        data: &[u8],
        stamp: u64,
        volatile: bool,
    ) {
        let Some(l2) = self.l2 else {
            self.traffic.memory_bytes += data.len() as u64;
            self.backing.write_back(base, data, mask);
            return;
        };
        self.trace_l2();
        self.traffic.l2_bytes += data.len() as u64;
        let (shift, len) = (self.caches[l2].shift(), self.caches[l2].line_bytes());
        let mut done = 0;
        while done < data.len() {
            let at = base + done as u64;
            let within = at as usize & (len - 1);
            let step = (len - within).min(data.len() - done);
            let want = (mask >> done & span(0, step as u32)) << within;
            if want != 0 {
                let number = at >> shift;
                let slot = match self.caches[l2].find(number) {
                    Some(slot) => slot,
                    None => self.place(l2, number),
                };
                let cache = &mut self.caches[l2];
                if within == 0 && step == len {
                    cache.set(slot, want, &data[done..done + step], &[]);
                } else {
                    let mut bytes = [0; MAX_LINE];
                    bytes[within..within + step].copy_from_slice(&data[done..done + step]);
                    cache.set(slot, want, &bytes[..len], &[]);
                }
                cache.stamp(slot, want, stamp);
                cache.soil(slot, want);
                cache.sign(slot, self.writing);
                if volatile {
                    cache.mark_volatile(slot);
                }
            }
            done += step;
        }
    }

    /// As [`Self::change_l2`], in memory.
    pub(super) fn change_memory(
        &mut self,
        address: u64,
        bytes: u32,
        lane: u8,
        change: impl FnOnce(u64) -> u64,
    ) -> u64 {
        if self.record.on {
            self.note_memory(address, u64::from(bytes), lane);
        }
        let n = bytes as usize;
        self.read_memory(n);
        let mut word = [0; 8];
        self.backing.fetch(address, &mut word[..n]);
        let old = u64::from_le_bytes(word);
        let new = change(old).to_le_bytes();
        self.backing.write_back(address, &new[..n], span(0, bytes));
        old
    }

    /// Notes bytes that memory gave.
    pub(super) fn note_memory(&mut self, address: u64, len: u64, lane: u8) {
        self.had.clear();
        let line = MAX_LINE as u64;
        let mut at = address;
        while at < address + len {
            let base = at & !(line - 1);
            let n = (base + line).min(address + len) - at;
            self.note_bytes(base, span((at - base) as u32, n as u32), |_, _| lane);
            at += n;
        }
    }

    /// Before an access to uncached memory: the lines of L2 there go, written
    /// back, if the switch says so.
    pub(super) fn uncached(&mut self, address: u64, len: u64) {
        self.changed = None;
        if self.rules.switches.uncached_drops.value {
            for l2 in self.of_class(CacheClass::L2) {
                for slot in self.caches[l2].slots_in(address, address + len) {
                    self.write_back(l2, slot);
                    self.caches[l2].drop_slot(slot);
                }
            }
        }
    }

    /// Drops the lines of a unit's caches that an access goes past.
    #[inline]
    pub(super) fn drop_past(&mut self, caches: &[u16], address: u64, len: u64) {
        for &cache in caches {
            let cache = &mut self.caches[usize::from(cache)];
            if cache.live() > 0 {
                let shift = cache.shift();
                for number in address >> shift..=(address + len - 1) >> shift {
                    if let Some(slot) = cache.peek(number) {
                        cache.drop_slot(slot);
                    }
                }
            }
        }
    }
}
