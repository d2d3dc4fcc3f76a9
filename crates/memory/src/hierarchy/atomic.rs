//! Atomics of a wave, in L2.
//!
//! Lanes act in order. Where they lie in a row, or all at one address, that is one
//! look at each line instead of one at each lane.

use super::Hierarchy;
use super::port::WavePort;
use super::walk::How;
use super::wide::{extent, sequence};
use crate::access::AccessErrorKind;
use crate::cache::{NOBODY, span};
use crate::coherent::{MissOp, Wrong};
use crate::port::{Access, Lanes};
use wavefence_base::{CacheClass, GpuAddress, LaneMask, PassingStore};

/// The bytes that lanes of a wave change, all in memory that caches keep.
#[derive(Clone, Copy)]
struct Row {
    start: u64,
    /// The first lane. The others follow it, each with bytes of its own.
    first: usize,
    count: usize,
    /// Lanes that have the same bytes.
    sharers: usize,
    volatile: bool,
}

impl WavePort<'_> {
    /// Atomics of `bytes` bytes. `change` gets a lane and the old value; `keep` the
    /// lane and what was there.
    pub(super) fn atomic_lanes(
        &mut self,
        a: &Access,
        bytes: u32,
        offsets: &Lanes,
        mask: LaneMask,
        change: impl Fn(usize, u64) -> u64,
        mut keep: impl FnMut(usize, u64),
    ) {
        let seq = self.h.next_seq();
        self.h.trace_store_queue(self.wave.unit, false);
        self.h.land_unit(self.wave.unit);
        let mut wrong = Wrong::default();
        self.h.writing = self.wave.dispatch.0;
        let rest = self.atomic_together(a, bytes, offsets, mask, &change, &mut keep);
        self.atomic_apart(a, bytes, offsets, rest, &change, &mut keep, &mut wrong);
        self.h.writing = NOBODY;
        self.finish(a, MissOp::Atomic, bytes, seq, &wrong);
    }

    /// Drops the lines above L2 at `[at, at + len)`: the caches there do not keep what
    /// an atomic changes. The unit's own line goes, GL1's does what its rule for stores
    /// says.
    fn drop_changed(&mut self, a: &Access, at: u64, len: u64) {
        let mut drops = self.h.unit(self.wave.unit).vector;
        drops.len = drops.len.saturating_sub(1);
        if !a.coherent && self.h.rules.switches.passing_store.value == PassingStore::Leave {
            drops.len = drops.len.min(1);
        }
        self.h.drop_past(drops.caches(), at, len);
    }

    /// Lanes in a row, or all at one address. Gives the lanes that are still to do.
    fn atomic_together(
        &mut self,
        a: &Access,
        bytes: u32,
        offsets: &Lanes,
        mask: LaneMask,
        change: &impl Fn(usize, u64) -> u64,
        keep: &mut impl FnMut(usize, u64),
    ) -> LaneMask {
        let Some(lowest) = mask.lowest() else { return mask };
        let (low, high) = extent(offsets, mask);
        let start = a.base.0.wrapping_add(u64::from(low));
        if (a.base.0 | u64::from(low)) & u64::from(bytes - 1) != 0 {
            return mask;
        }
        let row = sequence(offsets, mask, bytes, (low, high));
        let Some(first) = row.or((low == high).then_some(lowest as usize)) else { return mask };
        let count = if row.is_some() { mask.count() as usize } else { 1 };
        let len = count as u64 * u64::from(bytes);
        let (Some(l2), Some(kind)) = (self.h.l2, self.kind(start, start.wrapping_add(len), true))
        else {
            return mask;
        };
        if kind.uncached {
            return mask;
        }
        self.h.trace_bytes(start, len, true);
        self.drop_changed(a, start, len);
        let volatile = self.volatile(a, kind);
        let sharers = if row.is_some() { 1 } else { mask.count() as usize };
        let row_of = Row { start, first, count, sharers, volatile };
        let one = |lane, old| {
            if row.is_some() {
                keep(lane, old);
                return change(lane, old);
            }
            mask.iter().map(|l| l as usize).fold(old, |was, lane| {
                keep(lane, was);
                change(lane, was)
            })
        };
        if bytes == 4 {
            self.h.change_row::<4>(l2, &row_of, one);
        } else {
            self.h.change_row::<8>(l2, &row_of, one);
        }
        LaneMask::EMPTY
    }

    /// Lanes anywhere, one by one.
    #[allow(clippy::too_many_arguments, reason = "one lane array per operand")]
    fn atomic_apart(
        &mut self,
        a: &Access,
        bytes: u32,
        offsets: &Lanes,
        mask: LaneMask,
        change: &impl Fn(usize, u64) -> u64,
        keep: &mut impl FnMut(usize, u64),
        wrong: &mut Wrong,
    ) {
        let size = u64::from(bytes);
        let low = size - 1;
        let base = a.base.0 & !low;
        let slip = (a.base.0 & low) as u32;
        let shift = self.h.vector_shift;
        let mut dropped = None;
        for lane in mask.iter() {
            let i = lane as usize;
            let word = u64::from(offsets[i].saturating_add(slip)) & !low;
            let at = base.wrapping_add(word);
            let Some(kind) = self.kind(at, at.wrapping_add(size), true) else {
                keep(i, 0);
                let first = self.h.backing.find(at).map(|s| s.gpu_write);
                let kind = match first {
                    Some(false) => AccessErrorKind::ReadOnly,
                    Some(true) | None => AccessErrorKind::Unmapped,
                };
                wrong.add(kind, lane, GpuAddress(at));
                continue;
            };
            self.h.trace_bytes(at, size, true);
            if dropped != Some(at >> shift) {
                self.drop_changed(a, at, size);
                dropped = Some(at >> shift);
            }
            let volatile = self.volatile(a, kind);
            let old = if kind.uncached {
                self.h.uncached(at, size);
                self.h.change_memory(at, bytes, lane as u8, |old| change(i, old))
            } else {
                self.h.change_l2(at, bytes, lane as u8, volatile, |old| change(i, old))
            };
            keep(i, old);
        }
    }
}

impl Hierarchy {
    /// The slot of a line of L2 whose bytes `need` are about to be changed; what it
    /// held is what a record will say of it.
    fn line_to_change(&mut self, l2: usize, number: u64, need: u128, volatile: bool) -> usize {
        self.had.clear();
        let cache = &self.caches[l2];
        let slot = match self.changed {
            // The line of the change before, while nothing came between.
            Some((last, slot)) if last == number && cache.line(slot).valid & need == need => {
                if self.record.on {
                    let (base, valid) = (number << cache.shift(), cache.line(slot).valid);
                    self.had.push(base, valid, CacheClass::L2);
                }
                slot
            }
            _ => {
                let route = super::Route { at: [l2 as u16, 0, 0, 0], len: 1 };
                self.ensure(&route, 0, number, need, How { volatile, behind: None })
            }
        };
        self.changed = Some((number, slot));
        slot
    }

    /// Reads, changes and writes what lanes have in a row, `SIZE` bytes each, line by
    /// line. `change` gets a lane and the old value.
    fn change_row<const SIZE: usize>(
        &mut self,
        l2: usize,
        row: &Row,
        mut change: impl FnMut(usize, u64) -> u64,
    ) {
        self.trace_l2();
        let (shift, len, size) = (self.caches[l2].shift(), self.caches[l2].line_bytes(), SIZE);
        let mut done = 0;
        while done < row.count {
            let here = row.start + (done * size) as u64;
            let within = here as usize & (len - 1);
            let n = ((len - within) / size).min(row.count - done);
            let need = span(within as u32, (n * size) as u32);
            let slot = self.line_to_change(l2, here >> shift, need, row.volatile);
            self.found_in(l2);
            self.came_up(l2, n * size * row.sharers);
            if self.record.on {
                let lane =
                    |from: u64, _| (row.first as u64 + (from - row.start) / size as u64) as u8;
                self.note_read(l2, slot, here >> shift << shift, need, lane);
            }
            let line = self.caches[l2].bytes_mut(slot);
            let (words, _) = line[within..within + n * size].as_chunks_mut::<SIZE>();
            for (lane, bytes) in (row.first + done..).zip(words) {
                let mut word = [0; 8];
                word[..SIZE].copy_from_slice(bytes);
                let new = change(lane, u64::from_le_bytes(word)).to_le_bytes();
                bytes.copy_from_slice(&new[..SIZE]);
            }
            self.changed_line(l2, slot, need);
            done += n;
        }
    }

    /// Notes that a shader has just written bytes of a line of L2.
    fn changed_line(&mut self, l2: usize, slot: usize, mask: u128) {
        let cache = &mut self.caches[l2];
        cache.stamp(slot, mask, self.seq);
        cache.soil(slot, mask);
        cache.sign(slot, self.writing);
    }

    /// Reads, changes and writes 4 or 8 bytes, aligned to their size, in L2 (or
    /// in memory if there is no L2). Gives the old value; the record's span is
    /// noted if records are built.
    pub(super) fn change_l2(
        &mut self,
        address: u64,
        bytes: u32,
        lane: u8,
        volatile: bool,
        change: impl FnOnce(u64) -> u64,
    ) -> u64 {
        let Some(l2) = self.l2 else {
            return self.change_memory(address, bytes, lane, change);
        };
        self.trace_l2();
        let (shift, n) = (self.caches[l2].shift(), bytes as usize);
        let within = address as usize & (self.caches[l2].line_bytes() - 1);
        let need = span(within as u32, bytes);
        let slot = self.line_to_change(l2, address >> shift, need, volatile);
        self.found_in(l2);
        self.came_up(l2, n);
        if self.record.on {
            self.note_read(l2, slot, address >> shift << shift, need, |_, _| lane);
        }
        let place = &mut self.caches[l2].bytes_mut(slot)[within..within + n];
        let mut word = [0; 8];
        word[..n].copy_from_slice(place);
        let old = u64::from_le_bytes(word);
        place.copy_from_slice(&change(old).to_le_bytes()[..n]);
        self.changed_line(l2, slot, need);
        old
    }
}
