//! Group-shared memory: loads and stores of a wave on a slice of words.
//!
//! Eight lanes at a time are looked at as they come: consecutive words are one
//! vector access, one word for all a broadcast, anything else goes lane by lane.
//! Reads beyond the end give 0, writes there are dropped; the low two bits of an
//! offset do not count.
//!
//! Unchecked reads happen only after all eight offsets were compared with the
//! size, which was first cut down to the slice.

use super::file::{Chunk, File, Loc};

/// Byte offsets: `index * scale + offset`.
#[derive(Clone, Copy, Debug)]
pub struct Offsets {
    /// A register, or none.
    pub index: Option<Loc>,
    /// Multiplier.
    pub scale: u32,
    /// Added.
    pub offset: u32,
}

impl Offsets {
    /// From one index.
    #[inline(always)]
    pub fn of(&self, index: u32) -> u32 {
        index.wrapping_mul(self.scale).wrapping_add(self.offset) & !3
    }

    /// Of chunk `i`.
    #[inline(always)]
    pub fn chunk(&self, file: &File, i: usize) -> [u32; 8] {
        let Some(loc) = self.index else { return [self.of(0); 8] };
        let chunks = file.chunks(loc);
        let Chunk(index) = chunks[if loc.uniform { 0 } else { i }];
        index.map(|x| self.of(x))
    }
}

/// Highest offset at which component `c` still lies in `bytes`, none if nowhere.
fn last(words: &[u32], bytes: u32, c: usize) -> Option<u32> {
    let bytes = (words.len() as u64 * 4).min(u64::from(bytes));
    bytes.checked_sub(4 * c as u64 + 4).map(|l| l as u32)
}

/// Bits of the lanes whose offset is at most `last`.
#[inline(always)]
fn fits(offsets: &[u32; 8], last: u32) -> u32 {
    let mut fits = 0;
    for (l, &o) in offsets.iter().enumerate() {
        fits |= u32::from(o <= last) << l;
    }
    fits
}

/// True if the offsets are those of consecutive words.
#[inline(always)]
fn consecutive(offsets: &[u32; 8]) -> bool {
    let mut all = true;
    for (l, &o) in offsets.iter().enumerate() {
        all &= o == offsets[0].wrapping_add(4 * l as u32);
    }
    all
}

/// True if they are all the same.
#[inline(always)]
fn same(offsets: &[u32; 8]) -> bool {
    offsets.iter().all(|&o| o == offsets[0])
}

impl File {
    /// Loads `dst.len()` components per lane of `exec`.
    pub fn load_words(&mut self, words: &[u32], bytes: u32, at: Offsets, exec: u64, dst: &[Loc]) {
        #[cfg(target_arch = "x86_64")]
        if self.isa().avx2() {
            // SAFETY: the CPU has AVX2.
            return unsafe { self.load_words_avx2(words, bytes, at, exec, dst) };
        }
        self.load_words_with(words, bytes, at, exec, dst);
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma,bmi1,bmi2,popcnt,lzcnt")]
    unsafe fn load_words_avx2(
        &mut self,
        words: &[u32],
        bytes: u32,
        at: Offsets,
        exec: u64,
        dst: &[Loc],
    ) {
        self.load_words_with(words, bytes, at, exec, dst);
    }

    #[inline(always)]
    fn load_words_with(&mut self, words: &[u32], bytes: u32, at: Offsets, exec: u64, dst: &[Loc]) {
        if dst[0].uniform {
            let offset = at.of(at.index.map_or(0, |loc| self.words(loc)[0]));
            for (c, &loc) in dst.iter().enumerate() {
                let fits = last(words, bytes, c).is_some_and(|l| offset <= l);
                self.fill(loc, if fits { words[offset as usize / 4 + c] } else { 0 });
            }
            return;
        }
        for i in 0..self.per_row() {
            let active = (exec >> (8 * i)) as u32 & 0xFF;
            if active == 0 {
                continue;
            }
            let offsets = at.chunk(self, i);
            for (c, &loc) in dst.iter().enumerate() {
                let value = match last(words, bytes, c) {
                    Some(last) => load_chunk(words, &offsets, last, active, c),
                    None => [0; 8],
                };
                self.chunks_mut(loc)[i] = Chunk(value);
            }
        }
    }

    /// Stores `src.len()` components per lane of `exec`.
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
        self.store_words_with(words, bytes, at, exec, src);
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma,bmi1,bmi2,popcnt,lzcnt")]
    unsafe fn store_words_avx2(
        &mut self,
        words: &mut [u32],
        bytes: u32,
        at: Offsets,
        exec: u64,
        src: &[Loc],
    ) {
        self.store_words_with(words, bytes, at, exec, src);
    }

    #[inline(always)]
    fn store_words_with(
        &mut self,
        words: &mut [u32],
        bytes: u32,
        at: Offsets,
        exec: u64,
        src: &[Loc],
    ) {
        for i in 0..self.per_row() {
            let active = (exec >> (8 * i)) as u32 & 0xFF;
            if active == 0 {
                continue;
            }
            let offsets = at.chunk(self, i);
            for (c, &loc) in src.iter().enumerate() {
                let Some(last) = last(words, bytes, c) else { continue };
                let Chunk(data) = self.chunks(loc)[if loc.uniform { 0 } else { i }];
                store_chunk(words, &offsets, last, active, c, &data);
            }
        }
    }
}

#[inline(always)]
fn load_chunk(words: &[u32], offsets: &[u32; 8], last: u32, active: u32, c: usize) -> [u32; 8] {
    let fits = fits(offsets, last);
    let mut value = [0; 8];
    if fits == 0xFF {
        let first = offsets[0] as usize / 4 + c;
        if consecutive(offsets) {
            if let Some(run) = words.get(first..first + 8) {
                value.copy_from_slice(run);
            }
        } else if same(offsets) {
            value = [words[first]; 8];
        } else {
            for l in 0..8 {
                // SAFETY: every offset is at most `last`, at which component
                // `c` still lies in `words`.
                value[l] = unsafe { *words.get_unchecked(offsets[l] as usize / 4 + c) };
            }
        }
        return value;
    }
    let mut rest = fits & active;
    while rest != 0 {
        let l = rest.trailing_zeros() as usize;
        value[l] = words[offsets[l] as usize / 4 + c];
        rest &= rest - 1;
    }
    value
}

#[inline(always)]
fn store_chunk(
    words: &mut [u32],
    offsets: &[u32; 8],
    last: u32,
    active: u32,
    c: usize,
    data: &[u32; 8],
) {
    let go = fits(offsets, last) & active;
    if go == 0xFF && consecutive(offsets) {
        let first = offsets[0] as usize / 4 + c;
        if let Some(run) = words.get_mut(first..first + 8) {
            run.copy_from_slice(data);
        }
        return;
    }
    let mut rest = go;
    while rest != 0 {
        let l = rest.trailing_zeros() as usize;
        words[offsets[l] as usize / 4 + c] = data[l];
        rest &= rest - 1;
    }
}
