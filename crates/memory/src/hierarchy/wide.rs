//! Lanes of one request put together by line.

use super::walk::How;
use super::{Hierarchy, Route};
use crate::cache::{ByteMask, MAX_LINE, span};
use crate::port::Lanes;
use wavefence_base::LaneMask;

/// Most words of one lane that are handled at once.
pub(super) const PART: usize = 8;

/// Lines that 64 lanes can touch with at most [`PART`] words each.
const MOST: usize = 128;

/// Lanes that touch the same line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Group {
    pub number: u64,
    pub lanes: LaneMask,
    pub mask: ByteMask,
}

/// The lines of a request, in the order in which lanes come to them.
#[derive(Debug)]
pub(super) struct Groups {
    pub list: Vec<Group>,
    /// Of stores: what goes into each line.
    pub data: Vec<[u8; MAX_LINE]>,
    /// Open addressing by line number; index into `list` plus 1.
    table: [u8; 2 * MOST],
}

impl Default for Groups {
    fn default() -> Self {
        Self { list: Vec::new(), data: Vec::new(), table: [0; 2 * MOST] }
    }
}

impl Groups {
    pub fn clear(&mut self) {
        self.list.clear();
        self.table.fill(0);
    }

    /// The group of a line.
    #[inline]
    pub fn of(&mut self, number: u64) -> usize {
        if let Some(last) = self.list.last()
            && last.number == number
        {
            return self.list.len() - 1;
        }
        let mut at = number as usize % self.table.len();
        loop {
            match usize::from(self.table[at]) {
                0 => break,
                known if self.list[known - 1].number == number => return known - 1,
                _ => at = (at + 1) % self.table.len(),
            }
        }
        self.list.push(Group { number, lanes: LaneMask::EMPTY, mask: 0 });
        self.table[at] = self.list.len() as u8;
        if self.data.len() < self.list.len() {
            self.data.push([0; MAX_LINE]);
        }
        self.list.len() - 1
    }
}

/// The lowest and the highest offset of the lanes in `mask`, which is not empty.
#[inline]
pub(super) fn extent(offsets: &Lanes, mask: LaneMask) -> (u32, u32) {
    let (mut low, mut high) = (u32::MAX, 0);
    if mask.0 == u64::MAX {
        for &o in offsets {
            low = low.min(o);
            high = high.max(o);
        }
    } else {
        for lane in mask.iter() {
            low = low.min(offsets[lane as usize]);
            high = high.max(offsets[lane as usize]);
        }
    }
    (low, high)
}

/// The first lane, if the lanes of `mask` are neighbours whose bytes, `bytes`
/// each, follow each other without a gap.
#[inline]
pub(super) fn sequence(
    offsets: &Lanes,
    mask: LaneMask,
    bytes: u32,
    (low, high): (u32, u32),
) -> Option<usize> {
    let first = mask.lowest()?;
    let n = mask.count();
    let dense = mask.0 >> first == LaneMask::first(n).0;
    if !dense || u64::from(high - low) != u64::from(n - 1) * u64::from(bytes) {
        return None;
    }
    let first = first as usize;
    let lanes = &offsets[first..first + n as usize];
    let mut wrong = false;
    for (i, &o) in lanes.iter().enumerate() {
        wrong |= o != low.wrapping_add(i as u32 * bytes);
    }
    (!wrong).then_some(first)
}

/// A little-endian value of up to four bytes.
#[inline]
pub(super) fn word(bytes: &[u8]) -> u32 {
    match *bytes {
        [a, b, c, d] => u32::from_le_bytes([a, b, c, d]),
        [a, b] => u32::from(u16::from_le_bytes([a, b])),
        _ => bytes.iter().rev().fold(0, |v, &b| v << 8 | u32::from(b)),
    }
}

/// Where the accesses of a request go.
#[derive(Clone, Copy, Debug)]
pub(super) struct Way {
    /// The caches it reads through; empty: memory.
    pub route: Route,
    /// Caches that it goes past and whose lines it drops.
    pub past: Route,
    pub how: How,
    /// The unit whose stores land before it.
    pub after: Option<u32>,
}

/// What lanes ask for: `step` bytes per component from `base` plus the offset of
/// each lane in `mask`.
#[derive(Clone, Copy)]
pub(super) struct Ask<'a> {
    pub base: u64,
    pub offsets: &'a Lanes,
    pub mask: LaneMask,
    pub step: usize,
    /// Lowest and highest offset.
    pub extent: (u32, u32),
}

impl Ask<'_> {
    pub(super) fn at(&self, lane: usize) -> u64 {
        self.base.wrapping_add(u64::from(self.offsets[lane]))
    }

    /// The lowest of `lanes`, `bytes` long each, that touches `[start, end)`.
    pub fn lowest(&self, lanes: LaneMask, bytes: u64, start: u64, end: u64) -> u8 {
        let touches = |&lane: &u32| {
            let at = self.at(lane as usize);
            at < end && start < at + bytes
        };
        lanes.iter().find(touches).unwrap_or(0) as u8
    }
}

impl Hierarchy {
    /// Reads consecutive bytes that exist, line by line.
    pub(super) fn read_span(
        &mut self,
        way: &Way,
        at: u64,
        out: &mut [u8],
        lane: impl Fn(u64, u64) -> u8,
    ) {
        self.drop_past(way.past.caches(), at, out.len() as u64);
        let Some(&nearest) = way.route.caches().first() else {
            self.read_memory(out.len());
            self.backing.fetch(at, out);
            if self.record.on {
                self.note_memory(at, out.len() as u64, lane(at, at + out.len() as u64));
            }
            return;
        };
        let c = usize::from(nearest);
        let (shift, len) = (self.caches[c].shift(), self.caches[c].line_bytes());
        let mut done = 0;
        while done < out.len() {
            let here = at + done as u64;
            let within = here as usize & (len - 1);
            let n = (len - within).min(out.len() - done);
            let need = span(within as u32, n as u32);
            self.had.clear();
            let slot = self.ensure(&way.route, 0, here >> shift, need, way.how);
            if self.record.on {
                self.note_read(c, slot, here >> shift << shift, need, &lane);
            }
            let bytes = &self.caches[c].bytes(slot)[within..within + n];
            out[done..done + n].copy_from_slice(bytes);
            done += n;
        }
    }

    /// Reads for lanes whose bytes all exist. Other lanes of `out` are left.
    pub(super) fn gather(&mut self, way: &Way, ask: &Ask<'_>, out: &mut [Lanes]) {
        if let Some(unit) = way.after {
            self.land_unit(unit);
        }
        let bytes = ask.step * out.len();
        let Some(first) = ask.mask.lowest() else { return };
        if ask.extent.0 == ask.extent.1 {
            let mut value = [0; 4 * PART];
            self.read_span(way, ask.at(first as usize), &mut value[..bytes], |_, _| first as u8);
            for (out, part) in out.iter_mut().zip(value.chunks_exact(ask.step)) {
                let value = word(part);
                for lane in ask.mask.iter() {
                    out[lane as usize] = value;
                }
            }
            return;
        }
        if let Some(first) = sequence(ask.offsets, ask.mask, bytes as u32, ask.extent) {
            match out {
                [out] if ask.step == 4 => return self.gather_words(way, ask, first, out),
                _ if bytes <= 16 => {
                    return self.gather_sequence::<{ 64 * 16 }>(way, ask, first, out);
                }
                _ => {
                    return self.gather_sequence::<{ 64 * 4 * PART }>(way, ask, first, out);
                }
            }
        }
        self.gather_apart(way, ask, out);
    }

    /// As [`Self::gather`], one word each of lanes from `first` on, in a row.
    fn gather_words(&mut self, way: &Way, ask: &Ask<'_>, first: usize, out: &mut Lanes) {
        let n = ask.mask.count() as usize;
        let start = ask.at(first);
        let lane = |from: u64, _| (first as u64 + (from - start) / 4) as u8;
        let mut stage = [0; 64 * 4];
        self.read_span(way, start, &mut stage[..4 * n], lane);
        for (to, v) in out[first..first + n].iter_mut().zip(stage.as_chunks().0) {
            *to = u32::from_le_bytes(*v);
        }
    }

    /// As [`Self::gather_words`], of any size; `ROOM` is that of all lanes.
    fn gather_sequence<const ROOM: usize>(
        &mut self,
        way: &Way,
        ask: &Ask<'_>,
        first: usize,
        out: &mut [Lanes],
    ) {
        let bytes = ask.step * out.len();
        let n = ask.mask.count() as usize;
        let mut stage = [0; ROOM];
        let start = ask.at(first);
        let lane = |from: u64, _| (first as u64 + (from - start) / bytes as u64) as u8;
        self.read_span(way, start, &mut stage[..n * bytes], lane);
        for (c, out) in out.iter_mut().enumerate() {
            let lanes = out[first..first + n].iter_mut().zip(stage.chunks_exact(bytes));
            let (from, to) = (c * ask.step, (c + 1) * ask.step);
            if ask.step == 4 {
                lanes.for_each(|(to, v)| {
                    *to = u32::from_le_bytes([v[from], v[from + 1], v[from + 2], v[from + 3]]);
                });
            } else {
                lanes.for_each(|(o, v)| *o = word(&v[from..to]));
            }
        }
    }

    /// As [`Self::gather`], lanes in any order.
    fn gather_apart(&mut self, way: &Way, ask: &Ask<'_>, out: &mut [Lanes]) {
        let bytes = ask.step * out.len();
        let mut alone = ask.mask;
        if let Some(&nearest) = way.route.caches().first() {
            let c = usize::from(nearest);
            let (shift, len) = (self.caches[c].shift(), self.caches[c].line_bytes());
            alone = self.group(ask, shift, bytes);
            for i in 0..self.groups.list.len() {
                let group = self.groups.list[i];
                let base = group.number << shift;
                self.drop_past(way.past.caches(), base, len as u64);
                self.had.clear();
                let slot = self.ensure(&way.route, 0, group.number, group.mask, way.how);
                if self.record.on {
                    let lane = |s, e| ask.lowest(group.lanes, bytes as u64, s, e);
                    self.note_read(c, slot, base, group.mask, lane);
                }
                scatter(self.caches[c].bytes(slot), ask, group.lanes, out);
            }
        }
        for lane in alone.iter() {
            let mut value = [0; 4 * PART];
            self.read_span(way, ask.at(lane as usize), &mut value[..bytes], |_, _| lane as u8);
            for (out, part) in out.iter_mut().zip(value.chunks_exact(ask.step)) {
                out[lane as usize] = word(part);
            }
        }
    }

    /// Puts lanes together by line. Gives those that touch two.
    fn group(&mut self, ask: &Ask<'_>, shift: u32, bytes: usize) -> LaneMask {
        let len = 1usize << shift;
        let mut apart = 0;
        let groups = &mut *self.groups;
        groups.clear();
        for lane in ask.mask.iter() {
            let at = ask.at(lane as usize);
            let within = at as usize & (len - 1);
            if within + bytes > len {
                apart |= 1 << lane;
                continue;
            }
            let i = groups.of(at >> shift);
            let group = &mut groups.list[i];
            group.lanes.0 |= 1 << lane;
            group.mask |= span(within as u32, bytes as u32);
        }
        LaneMask(apart)
    }

    /// Collects what lanes write, lowest lane first, and calls `each` for every
    /// line: its first byte, the bytes written, the line's data and the lanes.
    pub(super) fn collect(
        &mut self,
        ask: &Ask<'_>,
        data: &[Lanes],
        shift: u32,
        mut each: impl FnMut(&mut Self, &Group, u64, &[u8; MAX_LINE]),
    ) {
        let bytes = ask.step * data.len();
        let len = 1usize << shift;
        if let [words] = data
            && ask.step == 4
            && let Some(first) = sequence(ask.offsets, ask.mask, 4, ask.extent)
        {
            let words = &words[first..first + ask.mask.count() as usize];
            return self.collect_words(ask.at(first), first, words, shift, each);
        }
        self.groups.clear();
        for lane in ask.mask.iter() {
            let mut value = [0; 4 * PART];
            for (to, from) in value.chunks_exact_mut(ask.step).zip(data) {
                to.copy_from_slice(&from[lane as usize].to_le_bytes()[..ask.step]);
            }
            let at = ask.at(lane as usize);
            let mut done = 0;
            while done < bytes {
                let here = at.wrapping_add(done as u64);
                let within = here as usize & (len - 1);
                let n = (len - within).min(bytes - done);
                let i = self.groups.of(here >> shift);
                let group = &mut self.groups.list[i];
                group.lanes.0 |= 1 << lane;
                group.mask |= span(within as u32, n as u32);
                let to = &mut self.groups.data[i][within..within + n];
                to.copy_from_slice(&value[done..done + n]);
                done += n;
            }
        }
        for i in 0..self.groups.list.len() {
            let (group, data) = (self.groups.list[i], self.groups.data[i]);
            each(self, &group, group.number << shift, &data);
        }
    }

    /// As [`Self::collect`], of words that follow each other from `start` on, of
    /// lanes from `first` on.
    fn collect_words(
        &mut self,
        start: u64,
        first: usize,
        words: &[u32],
        shift: u32,
        mut each: impl FnMut(&mut Self, &Group, u64, &[u8; MAX_LINE]),
    ) {
        let mut stage = [0; 64 * 4];
        for (to, v) in stage.as_chunks_mut().0.iter_mut().zip(words) {
            *to = v.to_le_bytes();
        }
        let len = 1usize << shift;
        let total = 4 * words.len();
        let mut done = 0;
        while done < total {
            let here = start + done as u64;
            let within = here as usize & (len - 1);
            let n = (len - within).min(total - done);
            let mut data = [0; MAX_LINE];
            data[within..within + n].copy_from_slice(&stage[done..done + n]);
            let (low, high) = (first + done / 4, first + (done + n).div_ceil(4));
            let lanes = LaneMask::first(high as u32) & !LaneMask::first(low as u32);
            let number = here >> shift;
            let group = Group { number, lanes, mask: span(within as u32, n as u32) };
            each(self, &group, number << shift, &data);
            done += n;
        }
    }
}

/// Hands a line's bytes to the lanes that lie in it.
fn scatter(line: &[u8], ask: &Ask<'_>, lanes: LaneMask, out: &mut [Lanes]) {
    let low = line.len() - 1;
    for (c, out) in out.iter_mut().enumerate() {
        let skip = c * ask.step;
        if ask.step == 4 {
            for lane in lanes.iter() {
                let within = (ask.at(lane as usize) as usize & low) + skip;
                let v = &line[within..within + 4];
                out[lane as usize] = u32::from_le_bytes([v[0], v[1], v[2], v[3]]);
            }
        } else {
            for lane in lanes.iter() {
                let within = (ask.at(lane as usize) as usize & low) + skip;
                out[lane as usize] = word(&line[within..within + ask.step]);
            }
        }
    }
}
