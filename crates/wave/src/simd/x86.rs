//! AVX2: the drivers that walk chunks, and intrinsics by the names of the ops.
//!
//! # Safety
//! Every function here is inlined into a driver compiled for AVX2 and FMA; a
//! driver's address reaches a table only after the CPU was asked.

use super::file::Chunk;
use super::lanes::{Bin, Ter, Un};
use super::table::LaneOp;
use std::arch::x86_64::*;

/// Eight lanes.
pub type V = __m256i;

/// Predicates of [`fcmp`]: O is false with a NaN, U true.
pub const EQ_OQ: i32 = _CMP_EQ_OQ;
/// Different.
pub const NEQ_OQ: i32 = _CMP_NEQ_OQ;
/// Less.
pub const LT_OQ: i32 = _CMP_LT_OQ;
/// Less or equal.
pub const LE_OQ: i32 = _CMP_LE_OQ;
/// Greater.
pub const GT_OQ: i32 = _CMP_GT_OQ;
/// Greater or equal.
pub const GE_OQ: i32 = _CMP_GE_OQ;
/// Equal or NaN.
pub const EQ_UQ: i32 = _CMP_EQ_UQ;
/// Different or NaN.
pub const NEQ_UQ: i32 = _CMP_NEQ_UQ;
/// Less or NaN.
pub const NGE_UQ: i32 = _CMP_NGE_UQ;
/// Less, equal or NaN.
pub const NGT_UQ: i32 = _CMP_NGT_UQ;
/// Greater or NaN.
pub const NLE_UQ: i32 = _CMP_NLE_UQ;
/// Greater, equal or NaN.
pub const NLT_UQ: i32 = _CMP_NLT_UQ;

/// A vector as an array.
#[inline(always)]
pub fn to_array(v: V) -> [u32; 8] {
    // SAFETY: same size, any bits are valid.
    unsafe { std::mem::transmute(v) }
}

/// An array as a vector.
#[inline(always)]
pub fn from_array(a: [u32; 8]) -> V {
    // SAFETY: same size, any bits are valid.
    unsafe { std::mem::transmute(a) }
}

macro_rules! intrinsics {
    ($($name:ident($($x:ident),*) = $e:expr;)*) => { $(
        /// See the op of that name.
        ///
        /// # Safety
        /// Only inlined into functions compiled for AVX2 and FMA.
        #[inline(always)]
        pub unsafe fn $name($($x: V),*) -> V {
            // SAFETY: the caller is compiled for AVX2 and FMA.
            unsafe { $e }
        }
    )* };
}

macro_rules! ps {
    ($e:expr) => {
        _mm256_castps_si256($e)
    };
}

macro_rules! f {
    ($e:expr) => {
        _mm256_castsi256_ps($e)
    };
}

intrinsics! {
    zero() = _mm256_setzero_si256();
    not(a) = _mm256_xor_si256(a, _mm256_set1_epi32(-1));
    iadd(a, b) = _mm256_add_epi32(a, b);
    isub(a, b) = _mm256_sub_epi32(a, b);
    imul(a, b) = _mm256_mullo_epi32(a, b);
    and(a, b) = _mm256_and_si256(a, b);
    or(a, b) = _mm256_or_si256(a, b);
    xor(a, b) = _mm256_xor_si256(a, b);
    shl(a, b) = _mm256_sllv_epi32(a, _mm256_and_si256(b, _mm256_set1_epi32(31)));
    shrl(a, b) = _mm256_srlv_epi32(a, _mm256_and_si256(b, _mm256_set1_epi32(31)));
    shra(a, b) = _mm256_srav_epi32(a, _mm256_and_si256(b, _mm256_set1_epi32(31)));
    umin(a, b) = _mm256_min_epu32(a, b);
    umax(a, b) = _mm256_max_epu32(a, b);
    smin(a, b) = _mm256_min_epi32(a, b);
    smax(a, b) = _mm256_max_epi32(a, b);
    ieq(a, b) = _mm256_cmpeq_epi32(a, b);
    sgt(a, b) = _mm256_cmpgt_epi32(a, b);
    uge(a, b) = _mm256_cmpeq_epi32(_mm256_max_epu32(a, b), a);
    blend(old, new, mask) = ps!(_mm256_blendv_ps(f!(old), f!(new), f!(mask)));
    // By bits, not by `blend`: a compiler makes a masked store of a blend with
    // what was there, and those are very slow on some CPUs.
    keep(old, new, mask) = _mm256_or_si256(
        _mm256_and_si256(mask, new),
        _mm256_andnot_si256(mask, old)
    );
    canon(a) = {
        let nan = _mm256_cmp_ps::<_CMP_UNORD_Q>(f!(a), f!(a));
        ps!(_mm256_blendv_ps(f!(a), _mm256_set1_ps(f32::from_bits(crate::ops::NAN)), nan))
    };
    fadd(a, b) = ps!(_mm256_add_ps(f!(a), f!(b)));
    fsub(a, b) = ps!(_mm256_sub_ps(f!(a), f!(b)));
    fmul(a, b) = ps!(_mm256_mul_ps(f!(a), f!(b)));
    fdiv(a, b) = ps!(_mm256_div_ps(f!(a), f!(b)));
    ffma(a, b, c) = ps!(_mm256_fmadd_ps(f!(a), f!(b), f!(c)));
    ffmasub(a, b, c) = ps!(_mm256_fmsub_ps(f!(a), f!(b), f!(c)));
    fnegfma(a, b, c) = ps!(_mm256_fnmadd_ps(f!(a), f!(b), f!(c)));
    // The instructions give the second operand if either is a NaN.
    fmin(a, b) = {
        let nan = _mm256_cmp_ps::<_CMP_UNORD_Q>(f!(b), f!(b));
        ps!(_mm256_blendv_ps(_mm256_min_ps(f!(a), f!(b)), f!(a), nan))
    };
    fmax(a, b) = {
        let nan = _mm256_cmp_ps::<_CMP_UNORD_Q>(f!(b), f!(b));
        ps!(_mm256_blendv_ps(_mm256_max_ps(f!(a), f!(b)), f!(a), nan))
    };
    sqrt(a) = ps!(_mm256_sqrt_ps(f!(a)));
    rsqrt(a) = ps!(_mm256_div_ps(_mm256_set1_ps(1.0), _mm256_sqrt_ps(f!(a))));
    floor(a) = ps!(_mm256_floor_ps(f!(a)));
    ceil(a) = ps!(_mm256_ceil_ps(f!(a)));
    trunc(a) = ps!(_mm256_round_ps::<{ _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC }>(f!(a)));
    round_even(a) =
        ps!(_mm256_round_ps::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(f!(a)));
    fract(a) = {
        let r = _mm256_sub_ps(f!(a), _mm256_floor_ps(f!(a)));
        // A NaN in the second operand comes through.
        canon(ps!(_mm256_min_ps(_mm256_set1_ps(f32::from_bits(0x3F7F_FFFF)), r)))
    };
    stof(a) = ps!(_mm256_cvtepi32_ps(a));
    ftos(a) = {
        // The instruction gives 0x80000000 for what does not fit.
        let over = ps!(_mm256_cmp_ps::<_CMP_GE_OQ>(f!(a), _mm256_set1_ps(2_147_483_648.0)));
        let number = ps!(_mm256_cmp_ps::<_CMP_ORD_Q>(f!(a), f!(a)));
        and(xor(_mm256_cvttps_epi32(f!(a)), over), number)
    };
    ftou(a) = {
        // NaN and negatives become 0; the upper half of the range is moved down.
        let x = _mm256_max_ps(f!(a), _mm256_setzero_ps());
        let half = _mm256_set1_ps(2_147_483_648.0);
        let upper = _mm256_cmp_ps::<_CMP_GE_OQ>(x, half);
        let low = _mm256_sub_ps(x, _mm256_and_ps(upper, half));
        let top = _mm256_and_si256(ps!(upper), _mm256_set1_epi32(i32::MIN));
        let over = _mm256_cmp_ps::<_CMP_GE_OQ>(x, _mm256_set1_ps(4_294_967_296.0));
        or(xor(_mm256_cvttps_epi32(low), top), ps!(over))
    };
}

/// The same word eight times.
///
/// # Safety
/// As the rest of this file.
#[inline(always)]
pub unsafe fn splat(word: u32) -> V {
    // SAFETY: the caller is compiled for AVX2.
    unsafe { _mm256_set1_epi32(word as i32) }
}

/// Float comparison by predicate; all ones where it holds.
///
/// # Safety
/// As the rest of this file.
#[inline(always)]
pub unsafe fn fcmp<const P: i32>(a: V, b: V) -> V {
    // SAFETY: the caller is compiled for AVX2.
    unsafe { ps!(_mm256_cmp_ps::<P>(f!(a), f!(b))) }
}

/// Loads chunk `i` of an operand whose chunks lie `step` bytes apart.
#[inline(always)]
unsafe fn load(base: *const u8, i: usize, step: u32) -> V {
    // SAFETY: the range was checked when the op was pushed.
    unsafe { _mm256_load_si256(base.add(i * step as usize).cast()) }
}

/// Stores chunk `i` of a result.
#[inline(always)]
unsafe fn store(base: *mut u8, i: usize, v: V) {
    // SAFETY: as `load`.
    unsafe { _mm256_store_si256(base.add(i * size_of::<Chunk>()).cast(), v) }
}

/// Walks `n` chunks; with `masked`, lanes outside the exec row keep what they
/// held.
#[inline(always)]
unsafe fn walk(n: usize, masked: bool, dst: *mut u8, regs: *mut u8, value: impl Fn(usize) -> V) {
    for i in 0..n {
        let new = value(i);
        // SAFETY: the result's and the exec row's ranges were checked.
        unsafe {
            let new = if masked { keep(load(dst, i, 32), new, load(regs, i, 32)) } else { new };
            store(dst, i, new);
        }
    }
}

/// All ones in the lanes whose bit is set.
///
/// # Safety
/// The CPU has AVX2.
#[target_feature(enable = "avx2")]
pub unsafe fn spread(byte: u8, chunk: &mut Chunk) {
    let bits = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
    let both = _mm256_and_si256(_mm256_set1_epi32(i32::from(byte)), bits);
    // SAFETY: a chunk is 32 bytes.
    unsafe { store(std::ptr::from_mut(chunk).cast(), 0, _mm256_cmpeq_epi32(both, bits)) }
}

/// The top bit of every lane.
///
/// # Safety
/// The CPU has AVX2.
#[target_feature(enable = "avx2")]
pub unsafe fn signs(chunks: &[Chunk]) -> u64 {
    let mut mask = 0;
    for (i, chunk) in chunks.iter().enumerate() {
        // SAFETY: a chunk is 32 bytes.
        let v = unsafe { load(std::ptr::from_ref(chunk).cast(), 0, 0) };
        let bits = _mm256_movemask_ps(_mm256_castsi256_ps(v)) as u32;
        mask |= u64::from(bits) << (8 * i);
    }
    mask
}

macro_rules! drivers {
    ($unrolled:ident, $any:ident, $family:ident, $($i:literal $x:ident),*) => {
        /// `N` chunks; with `M`, under the exec mask.
        ///
        /// # Safety
        /// The CPU has AVX2 and FMA; `op` was checked against the file at `regs`.
        #[target_feature(enable = "avx2,fma,bmi1,bmi2,popcnt,lzcnt")]
        pub unsafe fn $unrolled<O: $family, const N: usize, const M: bool>(
            op: &LaneOp,
            regs: *mut u8,
            exec: u64,
        ) {
            // SAFETY: as above.
            unsafe {
                let dst = regs.add(op.dst as usize);
                $(let $x = (regs.add(op.src[$i] as usize).cast_const(), op.step[$i]);)*
                let value = |i: usize| O::v($(load($x.0, i, $x.1)),*);
                if M && exec != u64::MAX >> (64 - 8 * N) {
                    walk(N, true, dst, regs, value);
                } else {
                    walk(N, false, dst, regs, value);
                }
            }
        }

        /// As many chunks as the op says, skipping those without active lanes.
        ///
        /// # Safety
        /// As above.
        #[target_feature(enable = "avx2,fma,bmi1,bmi2,popcnt,lzcnt")]
        pub unsafe fn $any<O: $family>(op: &LaneOp, regs: *mut u8, exec: u64) {
            // SAFETY: as above.
            unsafe {
                let dst = regs.add(op.dst as usize);
                $(let $x = (regs.add(op.src[$i] as usize).cast_const(), op.step[$i]);)*
                for i in 0..usize::from(op.chunks) {
                    if op.chunks > 1 && exec >> (8 * i) & 0xFF == 0 {
                        continue;
                    }
                    let new = O::v($(load($x.0, i, $x.1)),*);
                    let new = if op.masked {
                        keep(load(dst, i, 32), new, load(regs, i, 32))
                    } else {
                        new
                    };
                    store(dst, i, new);
                }
            }
        }
    };
}

/// A comparison of `N` chunks, packed.
///
/// # Safety
/// As the other drivers.
#[target_feature(enable = "avx2,fma,bmi1,bmi2,popcnt,lzcnt")]
pub unsafe fn test<O: Bin, const N: usize>(op: &LaneOp, regs: *mut u8, _exec: u64) {
    // SAFETY: as the other drivers.
    unsafe {
        let a = regs.add(op.src[0] as usize).cast_const();
        let b = regs.add(op.src[1] as usize).cast_const();
        let mut mask = 0;
        for i in 0..N {
            let v = O::v(load(a, i, op.step[0]), load(b, i, op.step[1]));
            mask |= u64::from(_mm256_movemask_ps(f!(v)) as u32) << (8 * i);
        }
        *regs.add(op.dst as usize).cast() = [mask as u32, (mask >> 32) as u32];
    }
}

drivers!(un, un_any, Un, 0 a);
drivers!(bin, bin_any, Bin, 0 a, 1 b);
drivers!(ter, ter_any, Ter, 0 a, 1 b, 2 c);
