//! Cache actions of packets, and what a wave's barrier does.

use super::Hierarchy;
use wavefence_base::{CacheAction, CacheClass, GpuRange};

/// Ranges of cache actions are rounded out to this many bytes (design 4.3).
const RANGE_UNIT: u64 = 256;

/// What a cache action did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ActionCost {
    /// Its place among the accesses.
    pub seq: u64,
    /// Lines that are no longer there.
    pub lines_dropped: u64,
    /// Lines written back.
    pub lines_written: u64,
    /// Bytes written back that arrived in memory.
    pub bytes_written: u64,
}

impl ActionCost {
    /// The cost of both; the place of the later.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            seq: self.seq.max(other.seq),
            lines_dropped: self.lines_dropped + other.lines_dropped,
            lines_written: self.lines_written + other.lines_written,
            bytes_written: self.bytes_written + other.bytes_written,
        }
    }
}

impl Hierarchy {
    /// Runs one cache action on the whole device. `range` is rounded out to 256
    /// bytes; `None` is everything. Actions on L2 take the whole L2 whatever the
    /// range (`hardware/caches.md` 1.5). Actions on colour, depth and metadata
    /// caches do nothing: what they act on is not modelled yet.
    pub fn act(&mut self, action: CacheAction, range: Option<GpuRange>) -> ActionCost {
        use CacheClass as C;
        self.backing.refresh();
        let range = range.map(|r| {
            let start = r.start.0 / RANGE_UNIT * RANGE_UNIT;
            (start, r.end().checked_next_multiple_of(RANGE_UNIT).unwrap_or(u64::MAX))
        });
        let mut cost = match action {
            CacheAction::InvalidateL1 => self.drop_lines(&[C::Vector, C::Gl1], range),
            CacheAction::InvalidateGl1 => self.drop_lines(&[C::Gl1], range),
            CacheAction::InvalidateK => self.drop_lines(&[C::Scalar], range),
            CacheAction::InvalidateI => self.drop_lines(&[C::Instruction], range),
            CacheAction::InvalidateL1Volatile => self.drop_volatile(&[C::Vector, C::Gl1]),
            CacheAction::InvalidateKVolatile => self.drop_volatile(&[C::Scalar]),
            CacheAction::InvalidateL2Volatile => self.drop_volatile(&[C::L2]),
            CacheAction::InvalidateL2 => {
                let written = self.write_back_all();
                written.plus(self.drop_lines(&[C::L2], None))
            }
            CacheAction::InvalidateL2Clean => self.drop_clean(),
            CacheAction::WritebackL2 => {
                let written = self.write_back_all();
                if self.rules.switches.writeback_keeps.value {
                    written
                } else {
                    written.plus(self.drop_lines(&[C::L2], None))
                }
            }
            CacheAction::InvalidateMetadata
            | CacheAction::FlushColorData
            | CacheAction::FlushColorMeta
            | CacheAction::FlushDepthData
            | CacheAction::FlushDepthMeta => ActionCost::default(),
        };
        cost.seq = self.next_seq();
        cost
    }

    /// The caches that hold lines.
    pub fn occupied(&self) -> impl Iterator<Item = (CacheClass, u32)> {
        let there = |&cache: &usize| self.caches[cache].live() > 0;
        (0..self.caches.len()).filter(there).map(|cache| self.name_of(cache))
    }

    /// One cache loses its lines, as if others had needed the room; dirty bytes are
    /// written back.
    pub fn evict(&mut self, class: CacheClass, instance: u32) -> ActionCost {
        self.backing.refresh();
        let mut cost = ActionCost { seq: self.next_seq(), ..ActionCost::default() };
        let Some(cache) = self.of_class(class).nth(instance as usize) else { return cost };
        self.trace_change(cache);
        for slot in self.caches[cache].take_dirty() {
            cost.lines_written += 1;
            cost.bytes_written += self.write_back(cache, slot as usize);
        }
        cost.lines_dropped = self.caches[cache].drop_all();
        cost
    }

    /// What a device-memory barrier of a wave on `unit` does, its stores having
    /// landed.
    pub(super) fn drop_own(&mut self, unit: u32) {
        for &class in self.rules.fence_drops {
            if let Some(cache) = self.instance(class, unit) {
                self.trace_change(usize::from(cache));
                self.caches[usize::from(cache)].drop_all();
            }
        }
    }

    /// Drops lines without looking whether they are dirty.
    fn drop_lines(&mut self, classes: &[CacheClass], range: Option<(u64, u64)>) -> ActionCost {
        let mut lines_dropped = 0;
        for &class in classes {
            for cache in self.of_class(class) {
                self.trace_change(cache);
                let cache = &mut self.caches[cache];
                match range {
                    None => lines_dropped += cache.drop_all(),
                    Some((start, end)) => {
                        for slot in cache.slots_in(start, end) {
                            cache.drop_slot(slot);
                            lines_dropped += 1;
                        }
                    }
                }
            }
        }
        ActionCost { lines_dropped, ..ActionCost::default() }
    }

    /// Drops lines that volatile accesses filled, dirty bytes written back.
    fn drop_volatile(&mut self, classes: &[CacheClass]) -> ActionCost {
        let mut cost = ActionCost::default();
        for &class in classes {
            for c in self.of_class(class) {
                self.trace_change(c);
                if !self.caches[c].any_volatile() {
                    continue;
                }
                let marked: Vec<usize> =
                    self.caches[c].slots().filter(|&s| self.caches[c].line(s).volatile).collect();
                for slot in marked {
                    if self.caches[c].line(slot).dirty != 0 {
                        cost.lines_written += 1;
                        cost.bytes_written += self.write_back(c, slot);
                    }
                    self.caches[c].drop_slot(slot);
                    cost.lines_dropped += 1;
                }
            }
        }
        cost
    }

    /// Writes every dirty line of L2 back; all stay, clean.
    fn write_back_all(&mut self) -> ActionCost {
        let mut cost = ActionCost::default();
        for l2 in self.of_class(CacheClass::L2) {
            self.trace_change(l2);
            for slot in self.caches[l2].take_dirty() {
                cost.lines_written += 1;
                cost.bytes_written += self.write_back(l2, slot as usize);
            }
        }
        cost
    }

    /// L2 invalidate without a write-back.
    fn drop_clean(&mut self) -> ActionCost {
        if !self.rules.switches.invalidate_keeps_dirty.value {
            return self.drop_lines(&[CacheClass::L2], None);
        }
        let mut lines_dropped = 0;
        for l2 in self.of_class(CacheClass::L2) {
            self.trace_change(l2);
            let cache = &mut self.caches[l2];
            let all: Vec<usize> = cache.slots().collect();
            for slot in all {
                if cache.line(slot).dirty == 0 {
                    cache.drop_slot(slot);
                    lines_dropped += 1;
                } else {
                    cache.keep_dirty(slot);
                }
            }
        }
        ActionCost { lines_dropped, ..ActionCost::default() }
    }
}
