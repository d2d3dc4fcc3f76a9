//! The register file of one wave.
//!
//! # Safety
//! Chunks are seen as words: a chunk is `repr(C)` around eight words, without
//! padding. AVX2 code is called only if [`Isa`] says that the CPU has it.

use super::Isa;

/// Eight lanes.
#[repr(C, align(32))]
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Chunk(pub [u32; 8]);

/// Where a register lies: a chunk index. A uniform register is one chunk that
/// holds its value eight times; another takes a chunk for every eight lanes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Loc {
    /// Index of its first chunk.
    pub at: u32,
    /// One chunk stands for all.
    pub uniform: bool,
}

impl Loc {
    /// The place of the high words of the 64-bit register here, for rows of
    /// `per_row` chunks.
    pub fn high(self, per_row: u32) -> Self {
        Self { at: self.at + if self.uniform { 1 } else { per_row }, ..self }
    }
}

/// Registers of one wave of 32 or 64 lanes. The first row is the exec mask, all
/// ones in active lanes.
#[derive(Clone, Debug)]
pub struct File {
    chunks: Vec<Chunk>,
    per_row: usize,
    row_of: u64,
    isa: Isa,
}

impl File {
    /// A file of `chunks` zero chunks for rows of `per_row` (4 or 8), exec row
    /// included.
    pub fn new(isa: Isa, chunks: u32, per_row: u32) -> Self {
        let chunks = vec![Chunk::default(); chunks.max(per_row) as usize];
        Self { chunks, per_row: per_row as usize, row_of: 0, isa }
    }

    /// The instructions in use.
    pub(super) fn isa(&self) -> Isa {
        self.isa
    }

    /// Every chunk.
    pub fn all(&self) -> &[Chunk] {
        &self.chunks
    }

    /// Number of chunks.
    pub fn size(&self) -> usize {
        self.chunks.len()
    }

    /// Chunks in a row.
    pub fn per_row(&self) -> usize {
        self.per_row
    }

    /// Where the chunks lie, to read.
    pub(super) fn base(&self) -> *const Chunk {
        self.chunks.as_ptr()
    }

    /// Where the chunks lie.
    pub(super) fn pointer(&mut self) -> *mut u8 {
        self.chunks.as_mut_ptr().cast()
    }

    /// Makes the exec row show `exec`.
    pub fn set_exec(&mut self, exec: u64) {
        if self.row_of == exec {
            return;
        }
        self.row_of = exec;
        #[cfg(target_arch = "x86_64")]
        if self.isa.avx2() {
            for (i, chunk) in self.chunks[..self.per_row].iter_mut().enumerate() {
                // SAFETY: the CPU has AVX2.
                unsafe { super::x86::spread((exec >> (8 * i)) as u8, chunk) };
            }
            return;
        }
        for (i, chunk) in self.chunks[..self.per_row].iter_mut().enumerate() {
            let byte = (exec >> (8 * i)) as u32;
            for (lane, word) in chunk.0.iter_mut().enumerate() {
                *word = 0u32.wrapping_sub(byte >> lane & 1);
            }
        }
    }

    /// The chunks of the register at `loc`.
    pub fn chunks(&self, loc: Loc) -> &[Chunk] {
        let n = if loc.uniform { 1 } else { self.per_row };
        &self.chunks[loc.at as usize..loc.at as usize + n]
    }

    /// The chunks of the register at `loc`.
    pub fn chunks_mut(&mut self, loc: Loc) -> &mut [Chunk] {
        let n = if loc.uniform { 1 } else { self.per_row };
        &mut self.chunks[loc.at as usize..loc.at as usize + n]
    }

    /// Its words: one per lane, or eight times the value.
    pub fn words(&self, loc: Loc) -> &[u32] {
        words(self.chunks(loc))
    }

    /// Its words.
    pub fn words_mut(&mut self, loc: Loc) -> &mut [u32] {
        words_mut(self.chunks_mut(loc))
    }

    /// The value in one lane.
    pub fn lane(&self, loc: Loc, lane: u32) -> u32 {
        self.words(loc)[if loc.uniform { 0 } else { lane as usize }]
    }

    /// The place of the high words of the 64-bit register at `loc`.
    pub fn high(&self, loc: Loc) -> Loc {
        loc.high(self.per_row as u32)
    }

    /// Copies one value per lane to `out`, as many as a row has.
    pub fn read(&self, loc: Loc, out: &mut [u32]) {
        let n = self.per_row * 8;
        if loc.uniform {
            out[..n].fill(self.words(loc)[0]);
        } else {
            out[..n].copy_from_slice(self.words(loc));
        }
    }

    /// Which lanes of a `Bool` register hold. One chunk is packed: lane 0 is the
    /// lowest bit of the first word; a uniform register looks the same.
    #[inline]
    pub fn truth(&self, loc: Loc) -> u64 {
        if loc.uniform {
            let words = self.words(loc);
            return u64::from(words[1]) << 32 | u64::from(words[0]);
        }
        #[cfg(target_arch = "x86_64")]
        if self.isa.avx2() {
            // SAFETY: the CPU has AVX2.
            return unsafe { super::x86::signs(self.chunks(loc)) };
        }
        let byte = |c: &Chunk| c.0.iter().enumerate().fold(0, |m, (i, &w)| m | (w >> 31) << i);
        self.chunks(loc).iter().enumerate().fold(0, |m, (i, c)| m | u64::from(byte(c)) << (8 * i))
    }

    /// Sets every lane.
    pub fn fill(&mut self, loc: Loc, value: u32) {
        self.words_mut(loc).fill(value);
    }

    /// Sets all lanes of a varying register.
    #[inline]
    pub fn set(&mut self, loc: Loc, values: &[u32; 64]) {
        let words = self.words_mut(loc);
        words.copy_from_slice(&values[..words.len()]);
    }

    /// Sets the lanes in `mask` from `values`; all lanes of a uniform register
    /// from the lowest lane in `mask`.
    pub fn write(&mut self, loc: Loc, mask: u64, values: &[u32]) {
        if loc.uniform {
            let lane = mask.trailing_zeros() as usize;
            let value = values.get(lane).copied().unwrap_or(0);
            self.fill(loc, value);
            return;
        }
        let n = self.per_row * 8;
        let words = self.words_mut(loc);
        if mask == u64::MAX >> (64 - n) {
            words.copy_from_slice(&values[..n]);
            return;
        }
        let mut rest = mask;
        while rest != 0 {
            let lane = rest.trailing_zeros() as usize;
            words[lane] = values[lane];
            rest &= rest - 1;
        }
    }
}

/// Chunks as words.
pub fn words(chunks: &[Chunk]) -> &[u32] {
    // SAFETY: a chunk is `repr(C)` around eight words, without padding.
    unsafe { std::slice::from_raw_parts(chunks.as_ptr().cast(), chunks.len() * 8) }
}

/// Chunks as words.
pub fn words_mut(chunks: &mut [Chunk]) -> &mut [u32] {
    // SAFETY: as in `words`; the borrow is exclusive.
    unsafe { std::slice::from_raw_parts_mut(chunks.as_mut_ptr().cast(), chunks.len() * 8) }
}
