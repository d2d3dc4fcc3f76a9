//! Group-shared memory with AVX2.
//!
//! Pointers into the slice of words are used only for offsets at or below
//! `last`, the highest offset whose word (of the component in question) lies in
//! the slice: one comparison of the whole vector, or of the first lane and the
//! eighth of consecutive words. The exec row is the first row of the file.

use super::super::file::{Chunk, File, Loc};
use super::{Offsets, last, load_lanes, store_lanes};
use std::arch::x86_64::*;
use wavefence_memory::port::Lanes;

/// How eight offsets lie.
enum Shape {
    /// Consecutive words from this offset.
    Consecutive(u32),
    /// This one for all.
    Same(u32),
    /// Any.
    Mixed,
}

#[inline]
#[target_feature(enable = "avx2")]
fn shape(offsets: __m256i) -> Shape {
    let first = _mm256_castsi256_si128(offsets);
    let base = _mm256_broadcastd_epi32(first);
    let delta = _mm256_sub_epi32(offsets, base);
    let steps = _mm256_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28);
    let first = _mm_cvtsi128_si32(first) as u32;
    if _mm256_movemask_epi8(_mm256_cmpeq_epi32(delta, steps)) == -1 {
        Shape::Consecutive(first)
    } else if _mm256_testz_si256(delta, delta) == 1 {
        Shape::Same(first)
    } else {
        Shape::Mixed
    }
}

/// Offsets as vectors.
struct Walk {
    index: *const __m256i,
    step: usize,
    scale: __m256i,
    shift: Option<__m128i>,
    offset: __m256i,
}

impl Walk {
    #[inline]
    #[target_feature(enable = "avx2")]
    fn new(file: &File, at: Offsets) -> Self {
        let (index, step) = match at.index {
            Some(loc) => (file.chunks(loc).as_ptr(), usize::from(!loc.uniform)),
            // The exec row stands in for an index that is multiplied by 0.
            None => (file.chunks(Loc::default()).as_ptr(), 0),
        };
        let scale = if at.index.is_none() { 0 } else { at.scale };
        let shift = scale.is_power_of_two().then(|| scale.trailing_zeros());
        Self {
            index: index.cast(),
            step,
            scale: _mm256_set1_epi32(scale as i32),
            shift: shift.map(|s| _mm_cvtsi32_si128(s as i32)),
            offset: _mm256_set1_epi32(at.offset as i32),
        }
    }

    /// Offsets of chunk `i`.
    ///
    /// # Safety
    /// `i` is below the file's chunks per row.
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn chunk(&self, i: usize) -> __m256i {
        // SAFETY: the register has a chunk for every `i`, or `step` is 0.
        let index = unsafe { _mm256_load_si256(self.index.add(i * self.step)) };
        let scaled = match self.shift {
            Some(shift) => _mm256_sll_epi32(index, shift),
            None => _mm256_mullo_epi32(index, self.scale),
        };
        _mm256_and_si256(_mm256_add_epi32(scaled, self.offset), _mm256_set1_epi32(!3))
    }
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
        let walk = Walk::new(self, at);
        let exec = self.chunks(Loc::default());
        let mut highest = _mm256_setzero_si256();
        for (i, exec) in exec.iter().enumerate() {
            // SAFETY: `exec` has a chunk for each of the row; `out` has eight
            // words for each.
            unsafe {
                let offsets = walk.chunk(i);
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
        let walk = Walk::new(self, at);
        for i in 0..self.per_row() {
            let active = (exec >> (8 * i)) as u32 & 0xFF;
            if active == 0 {
                continue;
            }
            // SAFETY: `i` is below the chunks per row.
            let offsets = unsafe { walk.chunk(i) };
            let shape = shape(offsets);
            for (c, &loc) in dst.iter().enumerate() {
                let last = last(words, bytes, c);
                let value = load_chunk(words, offsets, &shape, last, active, c);
                let to: *mut Chunk = &mut self.chunks_mut(loc)[i];
                // SAFETY: a chunk is 32 aligned bytes.
                unsafe { _mm256_store_si256(to.cast(), value) };
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
        let walk = Walk::new(self, at);
        for i in 0..self.per_row() {
            let active = (exec >> (8 * i)) as u32 & 0xFF;
            if active == 0 {
                continue;
            }
            // SAFETY: `i` is below the chunks per row.
            let offsets = unsafe { walk.chunk(i) };
            let shape = shape(offsets);
            let mask = self.chunks(Loc::default())[i];
            for (c, &loc) in src.iter().enumerate() {
                let data = self.chunks(loc)[if loc.uniform { 0 } else { i }];
                let last = last(words, bytes, c);
                store_chunk(words, offsets, &shape, last, (active, &mask), c, &data);
            }
        }
    }
}

#[inline]
#[target_feature(enable = "avx2")]
fn load_chunk(
    words: &[u32],
    offsets: __m256i,
    shape: &Shape,
    last: Option<u32>,
    active: u32,
    c: usize,
) -> __m256i {
    let Some(last) = last else { return _mm256_setzero_si256() };
    match *shape {
        Shape::Consecutive(first) if u64::from(first) + 28 <= u64::from(last) => {
            // SAFETY: the eighth word's offset is at most `last`.
            unsafe { _mm256_loadu_si256(words.as_ptr().add(first as usize / 4 + c).cast()) }
        }
        // All lanes share one offset, so all fit or none.
        Shape::Same(first) if first <= last => {
            _mm256_set1_epi32(words[first as usize / 4 + c] as i32)
        }
        Shape::Same(_) => _mm256_setzero_si256(),
        Shape::Consecutive(_) | Shape::Mixed => mixed_load(words, offsets, last, active, c),
    }
}

/// Kept apart, so that the lanes are taken out of the vector only here.
#[inline(never)]
#[target_feature(enable = "avx2")]
fn mixed_load(words: &[u32], offsets: __m256i, last: u32, active: u32, c: usize) -> __m256i {
    if all_fit(offsets, last) {
        let at = array(_mm256_srli_epi32::<2>(offsets));
        // SAFETY: every offset is at most `last`.
        let w = |l: usize| unsafe { *words.get_unchecked(at[l] as usize + c) as i32 };
        _mm256_setr_epi32(w(0), w(1), w(2), w(3), w(4), w(5), w(6), w(7))
    } else {
        let value = Chunk(load_lanes(words, &array(offsets), Some(last), active, c));
        // SAFETY: a chunk is 32 aligned bytes.
        unsafe { _mm256_load_si256(std::ptr::from_ref(&value).cast()) }
    }
}

#[inline]
#[target_feature(enable = "avx2")]
fn store_chunk(
    words: &mut [u32],
    offsets: __m256i,
    shape: &Shape,
    last: Option<u32>,
    (active, mask): (u32, &Chunk),
    c: usize,
    data: &Chunk,
) {
    match (shape, last) {
        (Shape::Consecutive(first), Some(last)) if u64::from(*first) + 28 <= u64::from(last) => {
            // SAFETY: the eighth word's offset is at most `last`; chunks are 32
            // aligned bytes. Nobody else holds the words, so those of inactive
            // lanes may be read and written back.
            unsafe {
                let to: *mut __m256i = words.as_mut_ptr().add(*first as usize / 4 + c).cast();
                let new = _mm256_load_si256(std::ptr::from_ref(data).cast());
                let new = if active == 0xFF {
                    new
                } else {
                    let mask = _mm256_load_si256(std::ptr::from_ref(mask).cast());
                    _mm256_blendv_epi8(_mm256_loadu_si256(to), new, mask)
                };
                _mm256_storeu_si256(to, new);
            }
        }
        (Shape::Consecutive(_) | Shape::Same(_) | Shape::Mixed, _) => {
            mixed_store(words, offsets, last, active, c, data);
        }
    }
}

/// As [`mixed_load`].
#[inline(never)]
#[target_feature(enable = "avx2")]
fn mixed_store(
    words: &mut [u32],
    offsets: __m256i,
    last: Option<u32>,
    active: u32,
    c: usize,
    data: &Chunk,
) {
    let Some(last) = last else { return };
    let at = array(offsets);
    if active == 0xFF && all_fit(offsets, last) {
        for (at, value) in at.iter().zip(data.0) {
            // SAFETY: every offset is at most `last`.
            unsafe { *words.get_unchecked_mut(*at as usize / 4 + c) = value };
        }
    } else {
        store_lanes(words, &at, Some(last), active, c, &data.0);
    }
}
