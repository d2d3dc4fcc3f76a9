//! One cache: sets of lines that hold bytes, with true LRU.
//!
//! What a line costs is paid when it is first touched: the tables of a cache are
//! made by its first fill, lines are kept in a pool that grows as sets fill up,
//! and dropping everything is one step of a counter in the tags.

mod checkpoint;

pub use checkpoint::SavedCache;

use wavefence_base::CacheShape;

/// Most bytes of a line.
pub const MAX_LINE: usize = 128;

/// A set of bytes of one line; bit 0 is its first.
pub type ByteMask = u128;

/// The bytes `at..at + len` of a line.
#[inline]
pub const fn span(at: u32, len: u32) -> ByteMask {
    if len >= 128 { ByteMask::MAX } else { ((1 << len) - 1) << at }
}

/// What is known of a line beside its bytes.
#[derive(Clone, Copy, Debug)]
pub struct Line {
    /// Address of its first byte over the line size.
    pub number: u64,
    /// Bytes that are there.
    pub valid: ByteMask,
    /// Bytes that the level below does not have.
    pub dirty: ByteMask,
    /// When it was filled.
    pub seq: u64,
    /// Filled by a volatile access.
    pub volatile: bool,
    /// Which shader wrote to it last; [`NOBODY`] if none did.
    pub writer: u32,
    /// Where its tag lies; [`NOWHERE`] if the slot is free.
    way: u32,
}

/// No shader: see [`Line::writer`].
pub const NOBODY: u32 = u32::MAX;

const NOWHERE: u32 = u32::MAX;
/// Bits of a tag that hold the line's number: addresses have 48 bits and lines
/// 64 bytes.
const NUMBER_BITS: u32 = 42;
const GENERATIONS: u64 = 1 << (64 - NUMBER_BITS);

/// One cache. A *slot* names a line that is present, until it is dropped.
#[derive(Debug)]
pub struct Cache {
    shift: u32,
    sets: u64,
    ways: usize,
    /// In the high bits of every tag that is in use; others are free.
    generation: u64,
    tags: Vec<u64>,
    /// When a way was last used.
    used: Vec<u64>,
    slots: Vec<u32>,
    /// Where a line's tag was last found, by the line's low bits.
    hints: Vec<u32>,
    tick: u64,
    lines: Vec<Line>,
    data: Vec<u8>,
    /// Per dword of every line how old it is; empty unless kept.
    stamps: Vec<u64>,
    stamped: bool,
    free: Vec<u32>,
    live: u64,
    /// Slots that became dirty; some may have been dropped since.
    dirty: Vec<u32>,
    any_volatile: bool,
}

impl Cache {
    /// An empty cache of that shape.
    pub fn new(shape: &CacheShape) -> Self {
        let (line, ways) = (shape.line.value, shape.ways.value.max(1));
        let line = line.next_power_of_two().clamp(4, MAX_LINE as u32);
        let sets = (shape.bytes.value / u64::from(line) / u64::from(ways)).max(1);
        Self {
            shift: line.trailing_zeros(),
            sets,
            ways: ways as usize,
            generation: 1,
            tags: Vec::new(),
            used: Vec::new(),
            slots: Vec::new(),
            hints: Vec::new(),
            tick: 0,
            lines: Vec::new(),
            data: Vec::new(),
            stamps: Vec::new(),
            stamped: false,
            free: Vec::new(),
            live: 0,
            dirty: Vec::new(),
            any_volatile: false,
        }
    }

    /// Bytes of a line, as a power of two.
    #[inline]
    pub fn shift(&self) -> u32 {
        self.shift
    }

    /// Bytes of a line.
    #[inline]
    pub fn line_bytes(&self) -> usize {
        1 << self.shift
    }

    /// Lines present.
    pub fn live(&self) -> u64 {
        self.live
    }

    /// Keeps stamps from now on. Lines that are there get that of their fill.
    pub fn keep_stamps(&mut self, on: bool) {
        self.stamped = on;
        self.stamps.clear();
        if on {
            let dwords = self.line_bytes() / 4;
            for line in &self.lines {
                self.stamps.extend(std::iter::repeat_n(line.seq, dwords));
            }
        }
    }

    #[inline]
    fn tag(&self, number: u64) -> u64 {
        self.generation << NUMBER_BITS | number
    }

    #[inline]
    fn first_way(&self, number: u64) -> usize {
        let set =
            if self.sets.is_power_of_two() { number & (self.sets - 1) } else { number % self.sets };
        set as usize * self.ways
    }

    #[inline]
    fn way_of(&mut self, number: u64) -> Option<usize> {
        if self.live == 0 {
            return None;
        }
        let tag = self.tag(number);
        let hint = number as usize & (self.hints.len() - 1);
        let way = self.hints[hint] as usize;
        if self.tags[way] == tag {
            return Some(way);
        }
        let first = self.first_way(number);
        let found = self.tags[first..first + self.ways].iter().position(|&t| t == tag)?;
        self.hints[hint] = (first + found) as u32;
        Some(first + found)
    }

    /// The line, if it is present; counts as a use.
    #[inline]
    pub fn find(&mut self, number: u64) -> Option<usize> {
        let way = self.way_of(number)?;
        self.tick += 1;
        self.used[way] = self.tick;
        Some(self.slots[way] as usize)
    }

    /// The line, if it is present; not a use.
    #[inline]
    pub fn peek(&mut self, number: u64) -> Option<usize> {
        self.way_of(number).map(|way| self.slots[way] as usize)
    }

    /// Where a line that is not present would go: a free way, or the one that was
    /// used least recently.
    fn choose(&self, number: u64) -> usize {
        let first = self.first_way(number);
        let tags = &self.tags[first..first + self.ways];
        if let Some(free) = tags.iter().position(|&t| t >> NUMBER_BITS != self.generation) {
            return first + free;
        }
        let used = &self.used[first..first + self.ways];
        let (mut oldest, mut when) = (0, u64::MAX);
        for (way, &used) in used.iter().enumerate() {
            if used < when {
                (oldest, when) = (way, used);
            }
        }
        first + oldest
    }

    /// The line that [`Self::place`] would drop for `number`.
    pub fn victim(&self, number: u64) -> Option<usize> {
        if self.tags.is_empty() {
            return None;
        }
        let way = self.choose(number);
        (self.tags[way] >> NUMBER_BITS == self.generation).then(|| self.slots[way] as usize)
    }

    /// Makes room for a line that is not present, dropping [`Self::victim`]. No
    /// byte of it is there yet.
    pub fn place(&mut self, number: u64, seq: u64) -> usize {
        if self.tags.is_empty() {
            let ways = self.sets as usize * self.ways;
            self.tags = vec![0; ways];
            self.used = vec![0; ways];
            self.slots = vec![0; ways];
            self.hints = vec![0; (2 * ways).next_power_of_two()];
        }
        let way = self.choose(number);
        let line = Line {
            number,
            valid: 0,
            dirty: 0,
            seq,
            volatile: false,
            writer: NOBODY,
            way: way as u32,
        };
        let slot = if self.tags[way] >> NUMBER_BITS == self.generation {
            let slot = self.slots[way] as usize;
            self.lines[slot] = line;
            slot
        } else {
            self.live += 1;
            self.new_slot(line)
        };
        self.tags[way] = self.tag(number);
        self.slots[way] = slot as u32;
        let hint = number as usize & (self.hints.len() - 1);
        self.hints[hint] = way as u32;
        self.tick += 1;
        self.used[way] = self.tick;
        slot
    }

    /// Room for one more line.
    fn new_slot(&mut self, line: Line) -> usize {
        if let Some(slot) = self.free.pop() {
            self.lines[slot as usize] = line;
            return slot as usize;
        }
        let slot = self.lines.len();
        self.lines.push(line);
        let bytes = (slot + 1) << self.shift;
        if self.data.len() < bytes {
            self.data.resize(bytes, 0);
        }
        if self.stamped && self.stamps.len() < bytes / 4 {
            self.stamps.resize(bytes / 4, 0);
        }
        slot
    }

    /// True if some line may be dirty.
    #[inline]
    pub fn may_be_dirty(&self) -> bool {
        !self.dirty.is_empty()
    }

    /// The line in a slot.
    #[inline]
    pub fn line(&self, slot: usize) -> &Line {
        &self.lines[slot]
    }

    /// The bytes of a line; those not valid mean nothing.
    #[inline]
    pub fn bytes(&self, slot: usize) -> &[u8] {
        &self.data[slot << self.shift..(slot + 1) << self.shift]
    }

    /// The stamps of a line's dwords; empty unless kept.
    #[inline]
    pub fn stamps(&self, slot: usize) -> &[u64] {
        let (from, to) = (slot << self.shift >> 2, (slot + 1) << self.shift >> 2);
        if self.stamped { &self.stamps[from..to] } else { &[] }
    }

    /// As [`Self::stamps`], to change.
    #[inline]
    pub fn stamps_mut(&mut self, slot: usize) -> &mut [u64] {
        let (from, to) = (slot << self.shift >> 2, (slot + 1) << self.shift >> 2);
        if self.stamped { &mut self.stamps[from..to] } else { &mut [] }
    }

    /// Marks a line as filled by a volatile access.
    pub fn mark_volatile(&mut self, slot: usize) {
        self.lines[slot].volatile = true;
        self.any_volatile = true;
    }

    /// Takes a line that lacks all its bytes from what `fetch` puts there; it says
    /// which exist. Stamps are the caller's.
    #[inline]
    pub fn take_whole(&mut self, slot: usize, fetch: impl FnOnce(&mut [u8]) -> ByteMask) {
        let to = &mut self.data[slot << self.shift..(slot + 1) << self.shift];
        self.lines[slot].valid = fetch(to);
    }

    /// The bytes of a line, to change those that are valid.
    #[inline]
    pub fn bytes_mut(&mut self, slot: usize) -> &mut [u8] {
        &mut self.data[slot << self.shift..(slot + 1) << self.shift]
    }

    /// Takes the bytes of `mask` from `from`, which is a line's bytes or fewer
    /// (bit 0 is its first). `stamps` are theirs, if kept.
    pub fn set(&mut self, slot: usize, mask: ByteMask, from: &[u8], stamps: &[u64]) {
        let to = &mut self.data[slot << self.shift..(slot + 1) << self.shift];
        copy_masked(to, mask, from);
        self.lines[slot].valid |= mask;
        if self.stamped {
            let first = slot << self.shift >> 2;
            for (i, &stamp) in stamps.iter().enumerate() {
                if mask >> (4 * i) & 0xF != 0 {
                    self.stamps[first + i] = stamp;
                }
            }
        }
    }

    /// Stamps the dwords that `mask` touches.
    pub fn stamp(&mut self, slot: usize, mask: ByteMask, stamp: u64) {
        if self.stamped {
            let first = slot << self.shift >> 2;
            for (at, len) in runs(mask) {
                self.stamps[first + at / 4..first + (at + len).div_ceil(4)].fill(stamp);
            }
        }
    }

    /// Marks bytes as unknown to the level below.
    pub fn soil(&mut self, slot: usize, mask: ByteMask) {
        let line = &mut self.lines[slot];
        if line.dirty == 0 {
            self.dirty.push(slot as u32);
        }
        line.dirty |= mask;
        if self.dirty.len() > 64 && self.dirty.len() > 2 * self.lines.len() {
            let lines = &self.lines;
            self.dirty.sort_unstable();
            self.dirty.dedup();
            self.dirty.retain(|&s| lines[s as usize].dirty != 0);
        }
    }

    /// Says which shader wrote to a line, or that something else did.
    pub fn sign(&mut self, slot: usize, writer: u32) {
        self.lines[slot].writer = writer;
    }

    /// Marks bytes of a line as known to the level below.
    pub fn clean_part(&mut self, slot: usize, mask: ByteMask) {
        self.lines[slot].dirty &= !mask;
    }

    /// Marks a line as known to the level below.
    pub fn clean(&mut self, slot: usize) {
        self.lines[slot].dirty = 0;
    }

    /// Number of dirty lines.
    pub fn dirty_lines(&self) -> u64 {
        let dirty = |&&s: &&u32| {
            self.lines.get(s as usize).is_some_and(|l| l.dirty != 0 && l.way != NOWHERE)
        };
        let mut all: Vec<u32> = self.dirty.iter().filter(dirty).copied().collect();
        all.sort_unstable();
        all.dedup();
        all.len() as u64
    }

    /// Keeps only the dirty bytes of a line.
    pub fn keep_dirty(&mut self, slot: usize) {
        let line = &mut self.lines[slot];
        line.valid = line.dirty;
    }

    /// Every dirty line, in an order that depends on past accesses alone. The
    /// caller cleans or drops them all.
    pub fn take_dirty(&mut self) -> Vec<u32> {
        let mut all = std::mem::take(&mut self.dirty);
        all.sort_unstable();
        all.dedup();
        all.retain(|&s| {
            self.lines.get(s as usize).is_some_and(|l| l.dirty != 0 && l.way != NOWHERE)
        });
        all
    }

    /// Every line.
    pub fn slots(&self) -> impl Iterator<Item = usize> {
        let there = |(i, l): (usize, &Line)| (l.way != NOWHERE).then_some(i);
        self.lines.iter().enumerate().filter_map(there)
    }

    /// Lines that share a byte with `[start, end)`.
    pub fn slots_in(&mut self, start: u64, end: u64) -> Vec<usize> {
        let (first, last) = (start >> self.shift, end.saturating_sub(1) >> self.shift);
        if end <= start {
            return Vec::new();
        }
        if last - first < self.live {
            return (first..=last).filter_map(|n| self.peek(n)).collect();
        }
        let inside = |&s: &usize| (first..=last).contains(&self.lines[s].number);
        self.slots().filter(inside).collect()
    }

    /// True if some line may be marked volatile.
    pub fn any_volatile(&self) -> bool {
        self.any_volatile
    }

    /// Drops one line, dirty or not.
    pub fn drop_slot(&mut self, slot: usize) {
        let line = &mut self.lines[slot];
        self.tags[line.way as usize] = 0;
        *line = Line { way: NOWHERE, valid: 0, dirty: 0, ..*line };
        self.free.push(slot as u32);
        self.live -= 1;
    }

    /// Drops every line, dirty or not. Gives their number.
    pub fn drop_all(&mut self) -> u64 {
        let dropped = std::mem::take(&mut self.live);
        if self.lines.is_empty() {
            return dropped;
        }
        self.generation += 1;
        if self.generation == GENERATIONS {
            self.generation = 1;
            self.tags.fill(0);
        }
        self.lines.clear();
        self.free.clear();
        self.dirty.clear();
        self.any_volatile = false;
        dropped
    }
}

/// Copies the bytes of `mask`.
#[inline]
pub fn copy_masked(to: &mut [u8], mask: ByteMask, from: &[u8]) {
    if mask == span(0, to.len() as u32) && from.len() >= to.len() {
        to.copy_from_slice(&from[..to.len()]);
        return;
    }
    for (at, len) in runs(mask) {
        to[at..at + len].copy_from_slice(&from[at..at + len]);
    }
}

/// The runs of set bits: where each begins and its length.
#[inline]
pub fn runs(mask: ByteMask) -> impl Iterator<Item = (usize, usize)> {
    let mut rest = mask;
    std::iter::from_fn(move || {
        if rest == 0 {
            return None;
        }
        let at = rest.trailing_zeros();
        let len = (!(rest >> at)).trailing_zeros();
        rest &= !span(at, len);
        Some((at as usize, len as usize))
    })
}

#[cfg(test)]
mod tests;
