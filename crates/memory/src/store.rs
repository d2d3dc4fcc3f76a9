//! The bytes behind a heap, and the only memory a guest can reach.
//!
//! # Why the `unsafe` code of this file and its children is sound
//!
//! - **Lifetime.** A [`Store`] owns one block from the global allocator, freed
//!   in `Drop` with the layout it was made with. A [`Window`] borrows the store,
//!   so no pointer outlives it.
//! - **Bounds.** `Window { ptr, len }` is made by [`Store::window`] and
//!   [`Window::tail`] alone, which check against the store; every access checks
//!   its offset and length against `len` before it forms a pointer. The block is
//!   zeroed when it is made, so every byte is initialised.
//! - **Races.** Several host threads (and the guest's own races) read and write
//!   the same bytes at once. No reference to the bytes is ever made: they are
//!   reached through relaxed atomics of 1, 4 or 8 bytes, aligned to their size,
//!   or through inline assembly moves, which the language treats as opaque.
//!   What the language's model does not define is a *guest* race between
//!   accesses of different sizes; there we rely on relaxed atomics being plain
//!   moves on every target this builds for, so the guest sees some mixture of
//!   the bytes, as it would on hardware, and nothing else of ours is touched.
//!   Copies of pages (`journal`) are made and put back the same way.
//! - **Tearing.** An access of 4 or 8 bytes that is aligned to its size is one
//!   move, or lies within one aligned 8-byte part of a vector move, which x86-64
//!   machines with AVX2 do not split.
//! - **Values.** The bytes are plain integers; any bit pattern is valid.
#![allow(unsafe_code, reason = "see above")]

#[cfg(target_arch = "x86_64")]
mod avx2;
mod journal;
mod wave;

use crate::port::Atomic;
use std::alloc::Layout;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};

/// The operations of [`Atomic`] on one width; gives the old value.
macro_rules! read_modify_write {
    ($word:expr, $op:expr, $value:expr, $compare:expr, $unsigned:ty, $signed:ty) => {{
        let (word, value) = ($word, $value);
        let (set, get) = (Ordering::AcqRel, Ordering::Acquire);
        let smin = |x: $unsigned| Some((x as $signed).min(value as $signed) as $unsigned);
        let smax = |x: $unsigned| Some((x as $signed).max(value as $signed) as $unsigned);
        match $op {
            Atomic::Add => word.fetch_add(value, set),
            Atomic::Sub => word.fetch_sub(value, set),
            Atomic::And => word.fetch_and(value, set),
            Atomic::Or => word.fetch_or(value, set),
            Atomic::Xor => word.fetch_xor(value, set),
            Atomic::UMin => word.fetch_min(value, set),
            Atomic::UMax => word.fetch_max(value, set),
            Atomic::SMin => word.fetch_update(set, get, smin).unwrap_or(0),
            Atomic::SMax => word.fetch_update(set, get, smax).unwrap_or(0),
            Atomic::Exchange => word.swap(value, set),
            Atomic::CompareExchange => {
                word.compare_exchange($compare, value, set, get).unwrap_or_else(|x| x)
            }
        }
    }};
}

#[cfg(target_endian = "big")]
compile_error!("guest memory is little-endian and is read in place");

/// Alignment of a store's first byte. GPU addresses of heaps are multiples of
/// more than this, so an aligned GPU address is an aligned host address.
const ALIGN: usize = 64;

/// Zeroed host memory that threads share.
pub(crate) struct Store {
    /// What the allocator gave.
    block: NonNull<u8>,
    layout: Layout,
    /// `block` rounded up to [`ALIGN`].
    ptr: NonNull<u8>,
    len: u64,
    journal: journal::Journal,
}

// SAFETY: the block is owned, and its bytes are reached only as the file's
// argument says, which any thread may do at any time.
unsafe impl Send for Store {}
// SAFETY: as above.
unsafe impl Sync for Store {}

impl Store {
    /// `len` zeroed bytes; pages that are never touched cost nothing. `None` if
    /// the host has not enough.
    pub fn new(len: u64) -> Option<Self> {
        // An alignment above the allocator's own would have it clear the block
        // by hand and so touch every page; so ask for more and round up.
        let size = usize::try_from(len).ok()?.checked_add(2 * ALIGN)?;
        let layout = Layout::from_size_align(size, 16).ok()?;
        // SAFETY: the size is not 0.
        let block = NonNull::new(unsafe { std::alloc::alloc_zeroed(layout) })?;
        let skip = block.as_ptr().align_offset(ALIGN);
        debug_assert!(skip < ALIGN);
        // SAFETY: `skip` is below ALIGN, and the block has 2 * ALIGN spare bytes.
        let ptr = unsafe { block.add(skip) };
        Some(Self { block, layout, ptr, len, journal: journal::Journal::default() })
    }

    /// Its length in bytes.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Bytes `at..at + len`, or `None` if they are not all there.
    pub fn window(&self, at: u64, len: u64) -> Option<Window<'_>> {
        if at.checked_add(len)? > self.len {
            return None;
        }
        // SAFETY: `at` is not beyond the store.
        Some(Window { ptr: unsafe { self.ptr.add(at as usize) }, len, store: self })
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        // SAFETY: made by `alloc_zeroed` with this layout; no window outlives us.
        unsafe { std::alloc::dealloc(self.block.as_ptr(), self.layout) }
    }
}

/// A run of bytes of a [`Store`]. Offsets are from its first byte.
#[derive(Clone, Copy)]
pub(crate) struct Window<'a> {
    ptr: NonNull<u8>,
    len: u64,
    store: &'a Store,
}

impl<'a> Window<'a> {
    /// The window from `at` on; empty if that is beyond its end.
    pub fn tail(self, at: u64) -> Self {
        let at = at.min(self.len);
        // SAFETY: `at` is not beyond the window.
        Self { ptr: unsafe { self.ptr.add(at as usize) }, len: self.len - at, ..self }
    }

    /// True if `len` bytes from `at` are there.
    pub fn has(self, at: u64, len: u64) -> bool {
        at.checked_add(len).is_some_and(|end| end <= self.len)
    }

    fn at(self, at: u64, len: u64) -> Option<*mut u8> {
        // SAFETY: the bytes are there.
        self.has(at, len).then(|| unsafe { self.ptr.as_ptr().add(at as usize) })
    }

    /// The atomic of type `T` at `at`, if it is there and aligned.
    fn atomic<T>(self, at: u64) -> Option<&'a T> {
        let p = self.at(at, size_of::<T>() as u64)?.cast::<T>();
        // SAFETY: in bounds, aligned, initialised, lives as long as the store,
        // and only ever reached atomically or by assembly. `T` is AtomicU8/32/64.
        p.is_aligned().then(|| unsafe { &*p })
    }

    /// As [`Self::atomic`], to be written.
    #[inline]
    fn writable<T>(self, at: u64) -> Option<&'a T> {
        let a = self.atomic(at)?;
        self.note(at, size_of::<T>() as u64);
        Some(a)
    }

    /// One byte.
    pub fn load_u8(self, at: u64) -> Option<u8> {
        Some(self.atomic::<AtomicU8>(at)?.load(Ordering::Relaxed))
    }

    /// Writes one byte; false if it is not there.
    pub fn store_u8(self, at: u64, value: u8) -> bool {
        self.writable::<AtomicU8>(at).map(|a| a.store(value, Ordering::Relaxed)).is_some()
    }

    /// 4 bytes, in one piece if aligned.
    #[inline]
    pub fn load_u32(self, at: u64, order: Ordering) -> Option<u32> {
        if let Some(a) = self.atomic::<AtomicU32>(at) {
            return Some(a.load(order));
        }
        let mut bytes = [0; 4];
        self.read(at, &mut bytes).then(|| u32::from_le_bytes(bytes))
    }

    /// Writes 4 bytes, in one piece if aligned; false if they are not there.
    #[inline]
    pub fn store_u32(self, at: u64, value: u32, order: Ordering) -> bool {
        match self.writable::<AtomicU32>(at) {
            Some(a) => {
                a.store(value, order);
                true
            }
            None => self.write(at, &value.to_le_bytes()),
        }
    }

    /// 8 bytes, in one piece if aligned.
    pub fn load_u64(self, at: u64, order: Ordering) -> Option<u64> {
        if let Some(a) = self.atomic::<AtomicU64>(at) {
            return Some(a.load(order));
        }
        let mut bytes = [0; 8];
        self.read(at, &mut bytes).then(|| u64::from_le_bytes(bytes))
    }

    /// Writes 8 bytes, in one piece if aligned; false if they are not there.
    pub fn store_u64(self, at: u64, value: u64, order: Ordering) -> bool {
        match self.writable::<AtomicU64>(at) {
            Some(a) => {
                a.store(value, order);
                true
            }
            None => self.write(at, &value.to_le_bytes()),
        }
    }

    /// Reads bytes; false, and nothing read, if they are not all there.
    pub fn read(self, at: u64, out: &mut [u8]) -> bool {
        if !self.has(at, out.len() as u64) {
            return false;
        }
        let mut done = 0;
        while done < out.len() {
            let from = at + done as u64;
            let rest = &mut out[done..];
            done += match self.atomic::<AtomicU64>(from) {
                Some(a) if rest.len() >= 8 => {
                    rest[..8].copy_from_slice(&a.load(Ordering::Relaxed).to_le_bytes());
                    8
                }
                _ => match self.atomic::<AtomicU32>(from) {
                    Some(a) if rest.len() >= 4 => {
                        rest[..4].copy_from_slice(&a.load(Ordering::Relaxed).to_le_bytes());
                        4
                    }
                    _ => {
                        rest[0] = self.load_u8(from).unwrap_or(0);
                        1
                    }
                },
            };
        }
        true
    }

    /// Writes bytes; false, and nothing written, if they are not all there.
    pub fn write(self, at: u64, data: &[u8]) -> bool {
        if !self.has(at, data.len() as u64) {
            return false;
        }
        self.note(at, data.len() as u64);
        self.put(at, data);
        true
    }

    /// Writes bytes that are there and of which the journal knows.
    fn put(self, at: u64, data: &[u8]) {
        let mut done = 0;
        while done < data.len() {
            let to = at + done as u64;
            let rest = &data[done..];
            done += match (self.atomic::<AtomicU64>(to), rest.first_chunk::<8>()) {
                (Some(a), Some(v)) => {
                    a.store(u64::from_le_bytes(*v), Ordering::Relaxed);
                    8
                }
                _ => match (self.atomic::<AtomicU32>(to), rest.first_chunk::<4>()) {
                    (Some(a), Some(v)) => {
                        a.store(u32::from_le_bytes(*v), Ordering::Relaxed);
                        4
                    }
                    _ => {
                        if let Some(a) = self.atomic::<AtomicU8>(to) {
                            a.store(rest[0], Ordering::Relaxed);
                        }
                        1
                    }
                },
            };
        }
    }

    /// Writes `value` over and over, its lowest byte first at `at`; false, and
    /// nothing written, if the bytes are not all there.
    pub fn fill(self, at: u64, len: u64, value: u32) -> bool {
        if !self.has(at, len) {
            return false;
        }
        self.note(at, len);
        let mut done = 0;
        while done < len {
            let turned = value.rotate_right(8 * (done % 4) as u32);
            let wide = u64::from(turned) << 32 | u64::from(turned);
            done += match self.atomic::<AtomicU64>(at + done) {
                Some(a) if len - done >= 8 => {
                    a.store(wide, Ordering::Relaxed);
                    8
                }
                _ => {
                    self.store_u8(at + done, turned as u8);
                    1
                }
            };
        }
        true
    }

    /// Read-modify-write of the aligned word that holds `at`; gives the old
    /// value, `None` if it is not there.
    pub fn atomic_u32(self, op: Atomic, at: u64, value: u32, compare: u32) -> Option<u32> {
        Some(read_modify_write!(self.writable::<AtomicU32>(at)?, op, value, compare, u32, i32))
    }

    /// As [`Self::atomic_u32`], 64 bits.
    pub fn atomic_u64(self, op: Atomic, at: u64, value: u64, compare: u64) -> Option<u64> {
        Some(read_modify_write!(self.writable::<AtomicU64>(at)?, op, value, compare, u64, i64))
    }
}

/// Copies `len` bytes as if through a buffer, so overlap is no matter; false,
/// and nothing copied, if either side is not all there.
pub(crate) fn copy(from: Window<'_>, to: Window<'_>, len: u64) -> bool {
    if !from.has(0, len) || !to.has(0, len) {
        return false;
    }
    to.note(0, len);
    let (src, dst) = (from.ptr.as_ptr() as usize, to.ptr.as_ptr() as usize);
    let backward = dst > src && dst - src < len as usize;
    if (src ^ dst).is_multiple_of(8) {
        let head = ((8 - src % 8) % 8).min(len as usize) as u64;
        let words = (len - head) / 8;
        let tail = head + 8 * words;
        if backward {
            copy_bytes(from, to, tail, len, true);
            for i in (0..words).rev() {
                copy_word(from, to, head + 8 * i);
            }
            copy_bytes(from, to, 0, head, true);
        } else {
            copy_bytes(from, to, 0, head, false);
            for i in 0..words {
                copy_word(from, to, head + 8 * i);
            }
            copy_bytes(from, to, tail, len, false);
        }
    } else {
        copy_pieces(from, to, len, backward);
    }
    true
}

#[inline]
fn copy_word(from: Window<'_>, to: Window<'_>, at: u64) {
    if let (Some(a), Some(b)) = (from.atomic::<AtomicU64>(at), to.atomic::<AtomicU64>(at)) {
        b.store(a.load(Ordering::Relaxed), Ordering::Relaxed);
    }
}

fn copy_bytes(from: Window<'_>, to: Window<'_>, start: u64, end: u64, backward: bool) {
    let one = |i: u64| {
        if let Some(v) = from.load_u8(i) {
            to.store_u8(i, v);
        }
    };
    if backward { (start..end).rev().for_each(one) } else { (start..end).for_each(one) }
}

/// Copies between places that are not aligned alike, a piece at a time.
fn copy_pieces(from: Window<'_>, to: Window<'_>, len: u64, backward: bool) {
    const PIECE: u64 = 4096;
    let mut buffer = [0; PIECE as usize];
    let pieces = len.div_ceil(PIECE);
    for i in 0..pieces {
        let at = PIECE * if backward { pieces - 1 - i } else { i };
        let part = &mut buffer[..PIECE.min(len - at) as usize];
        from.read(at, part);
        to.write(at, part);
    }
}

#[cfg(test)]
mod tests;
