//! Records of accesses, built only when somebody asked for them.

use super::Hierarchy;
use super::lanes::{self, Scatter};
use crate::cache::{ByteMask, MAX_LINE, runs, span};
use crate::port::Lanes;
use wavefence_base::{
    AccessKind, Agent, CacheClass, Client, GpuAddress, LaneMask, MemoryAccess, Piece,
};

/// Dwords of the longest line.
pub(super) const MAX_DWORDS: usize = MAX_LINE / 4;

/// An access without its pieces.
#[derive(Clone, Copy, Debug)]
pub(super) struct Head {
    pub seq: u64,
    pub agent: Agent,
    pub client: Client,
    pub kind: AccessKind,
    pub coherent: bool,
    pub volatile: bool,
    pub loc: u32,
}

/// Records since they were last taken; the vectors keep their room.
#[derive(Clone, Debug, Default)]
pub(super) struct Recorder {
    pub on: bool,
    heads: Vec<(Head, usize)>,
    pieces: Vec<Piece>,
    /// Of the access that is being made, in any order.
    spans: Vec<Piece>,
    scatter: Scatter,
}

impl Recorder {
    pub fn clear(&mut self) {
        self.heads.clear();
        self.pieces.clear();
        self.spans.clear();
    }

    pub fn is_empty(&self) -> bool {
        self.heads.is_empty()
    }

    /// Holds what `saved` holds, but for whether records are built.
    pub fn restore(&mut self, saved: &Self) {
        let Self { on: _, heads, pieces, spans, scatter: _ } = saved;
        self.heads.clone_from(heads);
        self.pieces.clone_from(pieces);
        self.spans.clone_from(spans);
    }

    /// Bytes that the present access touched.
    pub fn touch(&mut self, at: u64, len: u64, lane: u8, hit: Option<CacheClass>, as_of: u64) {
        let mut done = 0;
        while done < len {
            let n = (len - done).min(u64::from(u32::MAX));
            self.spans.push(Piece { at: GpuAddress(at + done), len: n as u32, lane, hit, as_of });
            done += n;
        }
    }

    /// Bytes of group-shared memory that the lanes of `mask` touched, `bytes` each.
    pub fn touch_lanes(&mut self, offsets: &Lanes, mask: LaneMask, bytes: u32) {
        let (spans, scatter, pieces) = (&mut self.spans, &mut self.scatter, &mut self.pieces);
        lanes::collect(offsets, mask, bytes, spans, scatter, pieces);
    }

    /// Ends the present access. Nothing is kept of one that touched nothing,
    /// unless it is a fence.
    pub fn finish(&mut self, head: Head) {
        let from = self.heads.last().map_or(0, |h| h.1);
        let nothing = self.spans.is_empty() && self.pieces.len() == from;
        if !self.on || nothing && head.kind != AccessKind::Fence {
            return;
        }
        if self.spans.len() < 2 {
            self.pieces.append(&mut self.spans);
            self.heads.push((head, self.pieces.len()));
            return;
        }
        if !self.spans.is_sorted_by_key(|p| (p.at, p.lane)) {
            self.spans.sort_by_key(|p| (p.at, p.lane));
        }
        let mut last: Option<Piece> = None;
        for mut next in self.spans.drain(..) {
            let Some(open) = &mut last else {
                last = Some(next);
                continue;
            };
            let end = open.at.0 + u64::from(open.len);
            let next_end = next.at.0 + u64::from(next.len);
            let same = open.hit == next.hit && open.as_of == next.as_of;
            if next.at.0 <= end && same || next_end <= end {
                let len = end.max(next_end) - open.at.0;
                if let Ok(len) = u32::try_from(len) {
                    open.len = len;
                    open.lane = open.lane.min(next.lane);
                    continue;
                }
            }
            if next.at.0 < end {
                next.len = (next_end - end) as u32;
                next.at = GpuAddress(end);
            }
            self.pieces.push(*open);
            last = Some(next);
        }
        self.pieces.extend(last);
        self.heads.push((head, self.pieces.len()));
    }

    pub fn drain(&mut self, mut each: impl FnMut(&MemoryAccess<'_>)) {
        let mut from = 0;
        for (head, to) in self.heads.drain(..) {
            each(&MemoryAccess {
                seq: head.seq,
                agent: head.agent,
                client: head.client,
                kind: head.kind,
                coherent: head.coherent,
                volatile: head.volatile,
                loc: head.loc,
                pieces: &self.pieces[from..to],
            });
            from = to;
        }
        self.pieces.clear();
    }
}

/// What the caches on the way held before the present line was read.
#[derive(Debug, Default)]
pub(super) struct Had {
    levels: [(u64, ByteMask, Option<CacheClass>); 4],
    len: usize,
}

impl Had {
    pub fn clear(&mut self) {
        self.len = 0;
    }

    /// The bytes at `base` that the next cache on the way held.
    pub fn push(&mut self, base: u64, valid: ByteMask, class: CacheClass) {
        if let Some(level) = self.levels.get_mut(self.len) {
            *level = (base, valid, Some(class));
            self.len += 1;
        }
    }

    /// The nearest cache that held the byte at `address`.
    fn of(&self, address: u64) -> Option<CacheClass> {
        let held = |l: &&(u64, ByteMask, Option<CacheClass>)| {
            address.checked_sub(l.0).is_some_and(|at| at < 128 && l.1 >> at & 1 == 1)
        };
        self.levels[..self.len].iter().find(held).and_then(|l| l.2)
    }

    /// The same, if it is the same for all bytes of a run.
    fn of_all(&self, address: u64, len: u32) -> Option<Option<CacheClass>> {
        for &(base, valid, class) in &self.levels[..self.len] {
            let at = address.checked_sub(base).filter(|&at| at < 128)?;
            let wanted = span(at as u32, len);
            match valid & wanted {
                0 => {}
                all if all == wanted => return Some(class),
                _ => return None,
            }
        }
        Some(None)
    }
}

/// Notes the bytes `need` of the line at `base`; `stamps` are those of its dwords.
fn note(
    record: &mut Recorder,
    had: &Had,
    base: u64,
    need: ByteMask,
    stamps: &[u64],
    lane: impl Fn(u64, u64) -> u8,
) {
    for (at, len) in runs(need) {
        let start = base + at as u64;
        let ages = &stamps[at / 4..(at + len).div_ceil(4)];
        if let Some(hit) = had.of_all(start, len as u32)
            && ages.iter().all(|&a| a == ages[0])
        {
            let lane = lane(start, start + len as u64);
            record.touch(start, len as u64, lane, hit, ages[0]);
            continue;
        }
        let mut from = at;
        while from < at + len {
            let origin = (had.of(base + from as u64), stamps[from / 4]);
            let mut to = from + 1;
            while to < at + len
                && (to % 4 != 0 || origin == (had.of(base + to as u64), stamps[to / 4]))
            {
                to += 1;
            }
            let (start, n) = (base + from as u64, (to - from) as u64);
            record.touch(start, n, lane(start, start + n), origin.0, origin.1);
            from = to;
        }
    }
}

impl Hierarchy {
    /// Notes the bytes `need` of the line at `base` that were just read from
    /// `cache`. `lane` gives the lowest lane that touched one of a run of bytes.
    pub(super) fn note_read(
        &mut self,
        cache: usize,
        slot: usize,
        base: u64,
        need: ByteMask,
        lane: impl Fn(u64, u64) -> u8,
    ) {
        let line = &self.caches[cache];
        let mut lowered = [0; MAX_DWORDS];
        let mut stamps = line.stamps(slot);
        if self.classes[cache] == CacheClass::L2 && !self.stores.none() {
            lowered[..stamps.len()].copy_from_slice(stamps);
            let lowered = &mut lowered[..stamps.len()];
            self.stores.lower(base, lowered, line.line(slot).dirty);
            stamps = lowered;
        }
        note(&mut self.record, &self.had, base, need, stamps, lane);
    }

    /// As [`Self::note_read`], of bytes of memory.
    pub(super) fn note_bytes(&mut self, base: u64, need: ByteMask, lane: impl Fn(u64, u64) -> u8) {
        let stamps = self.stamps_of_memory(base);
        note(&mut self.record, &self.had, base, need, &stamps, lane);
    }

    /// How old the dwords of a present line are, stores that L2 does not have
    /// yet taken into account.
    pub(super) fn stamps_of(&self, cache: usize, slot: usize, base: u64) -> [u64; MAX_DWORDS] {
        let mut stamps = [0; MAX_DWORDS];
        let kept = self.caches[cache].stamps(slot);
        stamps[..kept.len()].copy_from_slice(kept);
        if self.classes[cache] == CacheClass::L2 {
            let stored = self.caches[cache].line(slot).dirty;
            self.stores.lower(base, &mut stamps[..kept.len()], stored);
        }
        stamps
    }

    /// How old the dwords are that memory gives now for the bytes at `base`.
    fn stamps_of_memory(&mut self, base: u64) -> [u64; MAX_DWORDS] {
        let mut stamps = [self.seq; MAX_DWORDS];
        self.stores.lower(base, &mut stamps, 0);
        for l2 in self.of_class(CacheClass::L2) {
            let cache = &mut self.caches[l2];
            if !cache.may_be_dirty() {
                continue;
            }
            let (shift, mut done) = (cache.shift(), 0);
            while done < MAX_DWORDS {
                let address = base + 4 * done as u64;
                let within = (address & ((1 << shift) - 1)) as usize / 4;
                let n = (cache.line_bytes() / 4 - within).min(MAX_DWORDS - done);
                let slot = cache.peek(address >> shift);
                if let Some(slot) = slot.filter(|&s| cache.line(s).dirty != 0) {
                    let (dirty, line) = (cache.line(slot).dirty, cache.stamps(slot));
                    for (i, now) in (within..).zip(&mut stamps[done..done + n]) {
                        if dirty & span(4 * i as u32, 4) != 0 {
                            let stamp = line.get(i).copied().unwrap_or(0);
                            *now = (*now).min(stamp.saturating_sub(1));
                        }
                    }
                }
                done += n;
            }
        }
        stamps
    }
}
