//! Ops with an operand or a result that is not 32 bits wide: one driver for all,
//! over the plain functions of `ops::sized`.
//!
//! 8 and 16 bits lie in a word, zero-extended. 64 bits lie in two rows, the low
//! words first; a uniform one in two chunks.
//!
//! # Safety
//! As `table.rs`: ranges, those of high words included, are checked when an op is
//! pushed; every operand's chunk is read before the result's is written. A
//! function item has no size, so any place is one to read it from; it is only
//! taken from a caller that has one. Drivers for AVX2 are chosen by [`Isa`].

use super::table::{Isa, LaneFn, LaneOp};

/// A type of lanes.
pub trait Lane: Copy {
    /// Two words.
    const WIDE: bool;
    /// From its words.
    fn of(low: u32, high: u32) -> Self;
    /// Its words.
    fn words(self) -> (u32, u32);
}

macro_rules! lanes {
    ($($t:ty: $wide:literal, |$low:ident, $high:ident| $of:expr, |$x:ident| $words:expr;)*) => { $(
        impl Lane for $t {
            const WIDE: bool = $wide;
            #[inline(always)]
            fn of($low: u32, $high: u32) -> Self { $of }
            #[inline(always)]
            fn words(self) -> (u32, u32) {
                let $x = self;
                $words
            }
        }
    )* };
}

lanes! {
    bool: false, |low, _high| low != 0, |x| (0u32.wrapping_sub(u32::from(x)), 0);
    u8: false, |low, _high| low as u8, |x| (x.into(), 0);
    u16: false, |low, _high| low as u16, |x| (x.into(), 0);
    u32: false, |low, _high| low, |x| (x, 0);
    u64: true, |low, high| u64::from(high) << 32 | u64::from(low), |x| (x as u32, (x >> 32) as u32);
}

/// The function item `F`.
///
/// # Safety
/// The caller was given one.
#[inline(always)]
unsafe fn item<F: Copy>() -> F {
    const { assert!(size_of::<F>() == 0, "a function item") };
    // SAFETY: it has no size, and there is one.
    unsafe { std::ptr::NonNull::<F>::dangling().as_ptr().read() }
}

/// Chunk `i` of operand `k`.
///
/// # Safety
/// The op was checked against the file at `regs`.
#[inline(always)]
unsafe fn operand<T: Lane>(op: &LaneOp, regs: *const u8, k: usize, i: usize) -> [T; 8] {
    let step = op.step[k] as usize;
    let gap = if step == 0 { 32 } else { 32 * usize::from(op.chunks) };
    // SAFETY: the ranges were checked when the op was pushed.
    let (low, high) = unsafe {
        let at = regs.add(op.src[k] as usize + i * step);
        let high = if T::WIDE { *at.add(gap).cast::<[u32; 8]>() } else { [0; 8] };
        (*at.cast::<[u32; 8]>(), high)
    };
    std::array::from_fn(|l| T::of(low[l], high[l]))
}

/// Writes the chunks that `value` gives.
///
/// # Safety
/// As [`operand`].
#[inline(always)]
unsafe fn walk<R: Lane>(op: &LaneOp, regs: *mut u8, exec: u64, value: impl Fn(usize) -> [R; 8]) {
    for i in 0..usize::from(op.chunks) {
        if op.chunks > 1 && exec >> (8 * i) & 0xFF == 0 {
            continue;
        }
        let new = value(i).map(R::words);
        // SAFETY: the ranges were checked when the op was pushed.
        unsafe {
            let dst = regs.add(op.dst as usize + i * 32).cast::<[u32; 8]>();
            put(op, regs, i, dst, new.map(|w| w.0));
            if R::WIDE {
                let high = dst.byte_add(32 * usize::from(op.chunks));
                put(op, regs, i, high, new.map(|w| w.1));
            }
        }
    }
}

/// Writes one chunk, in the lanes that run.
///
/// # Safety
/// `dst` is a chunk of the file at `regs`.
#[inline(always)]
unsafe fn put(op: &LaneOp, regs: *mut u8, i: usize, dst: *mut [u32; 8], mut new: [u32; 8]) {
    // SAFETY: as above; the exec row is the first.
    unsafe {
        if op.masked {
            let (old, mask) = (*dst, *regs.add(i * 32).cast::<[u32; 8]>());
            for l in 0..8 {
                new[l] = (new[l] & mask[l]) | (old[l] & !mask[l]);
            }
        }
        *dst = new;
    }
}

macro_rules! drivers {
    ($family:ident, $portable:ident, $avx2:ident, $($T:ident $x:ident $k:literal),*) => {
        #[inline(always)]
        unsafe fn $portable<$($T: Lane,)* R: Lane, F: Fn($($T),*) -> R + Copy>(
            op: &LaneOp,
            regs: *mut u8,
            exec: u64,
        ) {
            // SAFETY: the op was checked, and `F` given.
            unsafe {
                let f = item::<F>();
                walk(op, regs, exec, |i| {
                    $(let $x = operand::<$T>(op, regs, $k, i);)*
                    std::array::from_fn(|l| f($($x[l]),*))
                });
            }
        }

        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx2,fma,bmi1,bmi2,popcnt,lzcnt")]
        unsafe fn $avx2<$($T: Lane,)* R: Lane, F: Fn($($T),*) -> R + Copy>(
            op: &LaneOp,
            regs: *mut u8,
            exec: u64,
        ) {
            // SAFETY: as above.
            unsafe { $portable::<$($T,)* R, F>(op, regs, exec) }
        }

        /// The driver of a plain function, and which operands and result are wide.
        pub(super) fn $family<$($T: Lane,)* R: Lane, F: Fn($($T),*) -> R + Copy>(
            isa: Isa,
            _function: F,
        ) -> Sized {
            let mut wide = [false; 3];
            $(wide[$k] = $T::WIDE;)*
            let f: LaneFn = match isa {
                #[cfg(target_arch = "x86_64")]
                isa if isa.avx2() => $avx2::<$($T,)* R, F>,
                _ => $portable::<$($T,)* R, F>,
            };
            Sized { f, operands: [$($k),*].len(), dst: R::WIDE, src: wide }
        }
    };
}

/// A driver and the shape of its op.
pub(super) struct Sized {
    pub f: LaneFn,
    pub operands: usize,
    /// The result is wide.
    pub dst: bool,
    /// Which operands are.
    pub src: [bool; 3],
}

drivers!(un, un_portable, un_avx2, A a 0);
drivers!(bin, bin_portable, bin_avx2, A a 0, B b 1);
drivers!(ter, ter_portable, ter_avx2, A a 0, B b 1, C c 2);
