//! Group-shared memory with AVX2.
//!
//! # Safety
//! Pointers into the slice of words are used only for offsets at or below
//! `last`, the highest offset whose word lies in the slice: one comparison of the
//! whole vector, or of the first lane with room for seven more words. The exec
//! row is the first row of the file. One component is one walk over the chunks;
//! component `c` sees the slice from word `c` on.

use super::super::file::{Chunk, File, Loc};
use super::{Offsets, last, load_lanes, store_lanes};
use std::arch::x86_64::*;
use wavefence_memory::port::Lanes;

/// Offsets as vectors. `SHIFT` says that the scale is a power of two.
#[derive(Clone, Copy)]
struct Walk {
    index: *const Chunk,
    step: usize,
    shift: __m128i,
    scale: __m256i,
    offset: __m256i,
}

impl Walk {
    #[inline]
    #[target_feature(enable = "avx2")]
    fn new(file: &File, at: Offsets, chunks: *const Chunk) -> Self {
        // The exec row stands in for an index that is multiplied by 0.
        let loc = at.index.unwrap_or_default();
        let scale = if at.index.is_none() { 0 } else { at.scale };
        let varies = at.index.is_some() && !loc.uniform;
        assert!(!file.chunks(loc).is_empty(), "the register lies in the file");
        Self {
            index: chunks.wrapping_add(loc.at as usize),
            step: usize::from(varies),
            shift: _mm_cvtsi32_si128(scale.trailing_zeros() as i32),
            scale: _mm256_set1_epi32(scale as i32),
            offset: _mm256_set1_epi32(at.offset as i32),
        }
    }

    /// Offsets of chunk `i`.
    ///
    /// # Safety
    /// `i` is below the file's chunks per row.
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn chunk<const SHIFT: bool>(&self, i: usize) -> __m256i {
        // SAFETY: the register has a chunk for every `i`, or `step` is 0.
        let index = unsafe { _mm256_load_si256(self.index.add(i * self.step).cast()) };
        let scaled = if SHIFT {
            _mm256_sll_epi32(index, self.shift)
        } else {
            _mm256_mullo_epi32(index, self.scale)
        };
        _mm256_and_si256(_mm256_add_epi32(scaled, self.offset), _mm256_set1_epi32(!3))
    }
}

/// Whether a scale can be a shift.
fn shifts(at: Offsets) -> bool {
    at.index.is_some() && at.scale.is_power_of_two()
}

/// Differences to the first lane.
#[inline]
#[target_feature(enable = "avx2")]
fn deltas(offsets: __m256i) -> __m256i {
    _mm256_sub_epi32(offsets, _mm256_broadcastd_epi32(_mm256_castsi256_si128(offsets)))
}

#[inline]
#[target_feature(enable = "avx2")]
fn consecutive(deltas: __m256i) -> bool {
    let steps = _mm256_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28);
    let off = _mm256_xor_si256(deltas, steps);
    _mm256_testz_si256(off, off) == 1
}

#[inline]
#[target_feature(enable = "avx2")]
fn first(offsets: __m256i) -> u32 {
    _mm_cvtsi128_si32(_mm256_castsi256_si128(offsets)) as u32
}

#[inline]
#[target_feature(enable = "avx2")]
fn array(v: __m256i) -> [u32; 8] {
    let mut chunk = Chunk::default();
    // SAFETY: a chunk is 32 aligned bytes.
    unsafe { _mm256_store_si256(std::ptr::from_mut(&mut chunk).cast(), v) };
    chunk.0
}

/// True if all eight are at most `last`.
#[inline]
#[target_feature(enable = "avx2")]
fn all_fit(offsets: __m256i, last: u32) -> bool {
    let last = _mm256_set1_epi32(last as i32);
    _mm256_movemask_epi8(_mm256_cmpeq_epi32(_mm256_max_epu32(offsets, last), last)) == -1
}

impl File {
    /// # Safety
    /// The CPU has AVX2.
    #[target_feature(enable = "avx2")]
    pub(super) unsafe fn offsets_avx2(&self, at: Offsets, out: &mut Lanes) -> u32 {
        let exec = self.chunks(Loc::default());
        // The exec row is where the chunks begin.
        let walk = Walk::new(self, at, self.base());
        let mut highest = _mm256_setzero_si256();
        for (i, exec) in exec.iter().enumerate() {
            // SAFETY: `exec` has a chunk for each of the row; `out` has eight
            // words for each.
            unsafe {
                let offsets = walk.chunk::<false>(i);
                _mm256_storeu_si256(out.as_mut_ptr().add(8 * i).cast(), offsets);
                let exec = _mm256_load_si256(std::ptr::from_ref(exec).cast());
                highest = _mm256_max_epu32(highest, _mm256_and_si256(offsets, exec));
            }
        }
        array(highest).into_iter().max().unwrap_or(0)
    }

    /// # Safety
    /// The CPU has AVX2.
    #[target_feature(enable = "avx2")]
    pub(super) unsafe fn load_words_avx2(
        &mut self,
        words: &[u32],
        bytes: u32,
        at: Offsets,
        exec: u64,
        dst: &[Loc],
    ) {
        let n = self.per_row();
        for (c, &loc) in dst.iter().enumerate() {
            let to = self.chunks_mut(loc);
            let Some(last) = last(words, bytes, c) else {
                to.fill(Chunk::default());
                continue;
            };
            assert!(!loc.uniform, "a result for every lane");
            let chunks = self.pointer().cast::<Chunk>();
            let walk = Walk::new(self, at, chunks);
            let to = chunks.wrapping_add(loc.at as usize);
            // SAFETY: the file was just asked for both registers, each of `n`
            // chunks (or one, for a uniform index).
            unsafe {
                if shifts(at) {
                    load_run::<true>(&walk, &words[c..], last, exec, to, n);
                } else {
                    load_run::<false>(&walk, &words[c..], last, exec, to, n);
                }
            }
        }
    }

    /// # Safety
    /// The CPU has AVX2.
    #[target_feature(enable = "avx2")]
    pub(super) unsafe fn store_words_avx2(
        &mut self,
        words: &mut [u32],
        bytes: u32,
        at: Offsets,
        exec: u64,
        src: &[Loc],
    ) {
        let walk = Walk::new(self, at, self.base());
        let masks = self.chunks(Loc::default());
        for (i, mask) in masks.iter().enumerate() {
            let active = (exec >> (8 * i)) as u32 & 0xFF;
            if active == 0 {
                continue;
            }
            // SAFETY: `i` is below the chunks per row.
            let offsets = unsafe { walk.chunk::<false>(i) };
            for (c, &loc) in src.iter().enumerate() {
                let Some(last) = last(words, bytes, c) else { continue };
                let data = &self.chunks(loc)[if loc.uniform { 0 } else { i }];
                store_chunk(&mut words[c..], offsets, last, (active, mask), data);
            }
        }
    }
}

/// One component of every chunk.
///
/// # Safety
/// `to` and the walk's index have `n` chunks (a uniform index one); `last` is an
/// offset in `words`.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn load_run<const SHIFT: bool>(
    walk: &Walk,
    words: &[u32],
    last: u32,
    exec: u64,
    to: *mut Chunk,
    n: usize,
) {
    let walk = *walk;
    let base = words.as_ptr();
    for i in 0..n {
        // SAFETY: `i` is below the chunks of the index; of consecutive words the
        // eighth is at most at `last`; chunks are 32 aligned bytes.
        unsafe {
            let offsets = walk.chunk::<SHIFT>(i);
            let deltas = deltas(offsets);
            let first = first(offsets);
            let value = if consecutive(deltas) && u64::from(first) + 28 <= u64::from(last) {
                _mm256_loadu_si256(base.byte_add(first as usize).cast())
            } else if _mm256_testz_si256(deltas, deltas) == 1 && first <= last {
                _mm256_set1_epi32(*base.byte_add(first as usize) as i32)
            } else {
                let active = (exec >> (8 * i)) as u32 & 0xFF;
                mixed_load(words, offsets, last, active)
            };
            _mm256_store_si256(to.add(i).cast(), value);
        }
    }
}

/// Kept apart, so that the lanes are taken out of the vector only here.
#[inline(never)]
#[target_feature(enable = "avx2")]
fn mixed_load(words: &[u32], offsets: __m256i, last: u32, active: u32) -> __m256i {
    if all_fit(offsets, last) {
        let at = array(_mm256_srli_epi32::<2>(offsets));
        // SAFETY: every offset is at most `last`.
        let w = |l: usize| unsafe { *words.get_unchecked(at[l] as usize) as i32 };
        _mm256_setr_epi32(w(0), w(1), w(2), w(3), w(4), w(5), w(6), w(7))
    } else {
        let value = Chunk(load_lanes(words, &array(offsets), Some(last), active, 0));
        // SAFETY: a chunk is 32 aligned bytes.
        unsafe { _mm256_load_si256(std::ptr::from_ref(&value).cast()) }
    }
}

#[inline]
#[target_feature(enable = "avx2")]
fn store_chunk(
    words: &mut [u32],
    offsets: __m256i,
    last: u32,
    (active, mask): (u32, &Chunk),
    data: &Chunk,
) {
    let first = first(offsets);
    if !consecutive(deltas(offsets)) || u64::from(first) + 28 > u64::from(last) {
        return mixed_store(words, offsets, last, active, data);
    }
    // SAFETY: the eighth word's offset is at most `last`; chunks are 32 aligned
    // bytes. Nobody else holds the words, so those of inactive lanes may be read
    // and written back.
    unsafe {
        let to: *mut __m256i = words.as_mut_ptr().byte_add(first as usize).cast();
        let new = _mm256_load_si256(std::ptr::from_ref(data).cast());
        let mask = _mm256_load_si256(std::ptr::from_ref(mask).cast());
        let old = _mm256_andnot_si256(mask, _mm256_loadu_si256(to));
        // By bits: see `x86::keep`.
        _mm256_storeu_si256(to, _mm256_or_si256(_mm256_and_si256(mask, new), old));
    }
}

/// As [`mixed_load`].
#[inline(never)]
#[target_feature(enable = "avx2")]
fn mixed_store(words: &mut [u32], offsets: __m256i, last: u32, active: u32, data: &Chunk) {
    let at = array(offsets);
    if active == 0xFF && all_fit(offsets, last) {
        for (at, value) in at.iter().zip(data.0) {
            // SAFETY: every offset is at most `last`.
            unsafe { *words.get_unchecked_mut(*at as usize / 4) = value };
        }
    } else {
        store_lanes(words, &at, Some(last), active, 0, &data.0);
    }
}
