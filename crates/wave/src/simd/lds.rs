//! Group-shared memory and byte offsets: a wave's addresses, and its loads and
//! stores on a slice of words.
//!
//! Eight lanes at a time are looked at as they come: consecutive words are one
//! vector access, one word for all a broadcast, anything else goes lane by lane.
//! Reads beyond the end give 0, writes there are dropped; the low two bits of an
//! offset do not count. The AVX2 forms are in `lds/avx2.rs`.
//!
//! # Safety
//! `unsafe` stands here only where those are called, after [`super::Isa`] said
//! that the CPU has AVX2.

#[cfg(target_arch = "x86_64")]
mod avx2;

use super::file::{Chunk, File, Loc};
use wavefence_memory::port::Lanes;

/// Byte offsets: `index * scale + offset`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Offsets {
    /// A register, or none.
    index: Option<Loc>,
    scale: u32,
    offset: u32,
}

impl Offsets {
    /// Of an index register (or none), its multiplier and what is added.
    pub fn new(index: Option<Loc>, scale: u32, offset: u32) -> Self {
        Self { index, scale, offset }
    }

    /// From one index.
    #[inline(always)]
    fn of(&self, index: u32) -> u32 {
        index.wrapping_mul(self.scale).wrapping_add(self.offset) & !3
    }

    /// The one offset, if all lanes have the same for sure.
    #[inline]
    pub fn uniform(&self, file: &File) -> Option<u32> {
        match self.index {
            None => Some(self.of(0)),
            Some(loc) if loc.uniform => Some(self.of(file.words(loc)[0])),
            Some(_) => None,
        }
    }

    /// Of every lane, with the bits of `low` cleared.
    pub fn of_lanes(&self, file: &File, low: u32, out: &mut Lanes) {
        let n = file.per_row() * 8;
        out.fill(0);
        if let Some(loc) = self.index {
            file.read(loc, out);
        }
        for offset in &mut out[..n] {
            *offset = offset.wrapping_mul(self.scale).wrapping_add(self.offset) & !low;
        }
    }

    /// What is added to every index.
    pub fn constant(&self) -> u32 {
        self.offset
    }

    /// Of chunk `i`.
    #[inline(always)]
    fn chunk(&self, file: &File, i: usize) -> [u32; 8] {
        let Some(loc) = self.index else { return [self.of(0); 8] };
        let Chunk(index) = file.chunks(loc)[if loc.uniform { 0 } else { i }];
        index.map(|x| self.of(x))
    }
}

/// Highest offset at which component `c` still lies in `bytes`, none if nowhere.
#[inline(always)]
fn last(words: &[u32], bytes: u32, c: usize) -> Option<u32> {
    let bytes = (words.len() as u64 * 4).min(u64::from(bytes));
    bytes.checked_sub(4 * c as u64 + 4).map(|l| l as u32)
}

impl File {
    /// Byte offsets of every lane into `out`; gives the highest of the lanes in
    /// `exec` (whose row must be set).
    pub fn offsets(&self, at: Offsets, exec: u64, out: &mut Lanes) -> u32 {
        if let Some(offset) = at.uniform(self) {
            out.fill(offset);
            return offset;
        }
        #[cfg(target_arch = "x86_64")]
        if self.isa().avx2() {
            // SAFETY: the CPU has AVX2.
            return unsafe { self.offsets_avx2(at, out) };
        }
        let mut highest = 0;
        for i in 0..self.per_row() {
            let offsets = at.chunk(self, i);
            out[8 * i..8 * i + 8].copy_from_slice(&offsets);
            for (l, &o) in offsets.iter().enumerate() {
                if exec >> (8 * i + l) & 1 == 1 {
                    highest = o.max(highest);
                }
            }
        }
        highest
    }

    /// Loads `dst.len()` components per lane of `exec` (whose row must be set).
    pub fn load_words(&mut self, words: &[u32], bytes: u32, at: Offsets, exec: u64, dst: &[Loc]) {
        if dst[0].uniform {
            let offset = at.uniform(self).unwrap_or(0);
            for (c, &loc) in dst.iter().enumerate() {
                let fits = last(words, bytes, c).is_some_and(|l| offset <= l);
                self.fill(loc, if fits { words[offset as usize / 4 + c] } else { 0 });
            }
            return;
        }
        #[cfg(target_arch = "x86_64")]
        if self.isa().avx2() {
            // SAFETY: the CPU has AVX2.
            return unsafe { self.load_words_avx2(words, bytes, at, exec, dst) };
        }
        for i in 0..self.per_row() {
            let active = (exec >> (8 * i)) as u32 & 0xFF;
            let offsets = at.chunk(self, i);
            for (c, &loc) in dst.iter().enumerate() {
                let last = last(words, bytes, c);
                self.chunks_mut(loc)[i] = Chunk(load_lanes(words, &offsets, last, active, c));
            }
        }
    }

    /// Stores `src.len()` components per lane of `exec` (whose row must be set).
    pub fn store_words(
        &mut self,
        words: &mut [u32],
        bytes: u32,
        at: Offsets,
        exec: u64,
        src: &[Loc],
    ) {
        #[cfg(target_arch = "x86_64")]
        if self.isa().avx2() {
            // SAFETY: the CPU has AVX2.
            return unsafe { self.store_words_avx2(words, bytes, at, exec, src) };
        }
        for i in 0..self.per_row() {
            let active = (exec >> (8 * i)) as u32 & 0xFF;
            let offsets = at.chunk(self, i);
            for (c, &loc) in src.iter().enumerate() {
                let Chunk(data) = self.chunks(loc)[if loc.uniform { 0 } else { i }];
                store_lanes(words, &offsets, last(words, bytes, c), active, c, &data);
            }
        }
    }
}

/// Lane by lane.
#[inline(always)]
fn load_lanes(
    words: &[u32],
    offsets: &[u32; 8],
    last: Option<u32>,
    active: u32,
    c: usize,
) -> [u32; 8] {
    let mut value = [0; 8];
    let Some(last) = last else { return value };
    for l in 0..8 {
        if active >> l & 1 == 1 && offsets[l] <= last {
            value[l] = words[offsets[l] as usize / 4 + c];
        }
    }
    value
}

/// Lane by lane, upwards.
#[inline(always)]
fn store_lanes(
    words: &mut [u32],
    offsets: &[u32; 8],
    last: Option<u32>,
    active: u32,
    c: usize,
    data: &[u32; 8],
) {
    let Some(last) = last else { return };
    let mut rest = active;
    while rest != 0 {
        let l = rest.trailing_zeros() as usize;
        if offsets[l] <= last {
            words[offsets[l] as usize / 4 + c] = data[l];
        }
        rest &= rest - 1;
    }
}
