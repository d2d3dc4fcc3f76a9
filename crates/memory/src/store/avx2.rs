//! The AVX2 path of wave-wide accesses of 1 to 4 words per lane.
//!
//! Sound as the parent file argues: the functions marked `target_feature` are
//! entered only after the caller found AVX2, every lane is bounds-checked before
//! a pointer is formed, and guest bytes are touched by assembly moves only.
//!
//! No hardware gathers and no masked moves: both are slow on the machines that
//! matter here. Lanes are looked at in chunks of eight.
#![allow(clippy::needless_range_loop, reason = "lanes index several arrays")]

use super::Window;
use crate::port::Lanes;
use std::arch::asm;
use std::arch::x86_64::*;
use wavefence_base::LaneMask;

/// Reads 1 to 4 words per lane. `None`, and nothing done, if some lane lies
/// outside the window: the caller's portable path sorts that out. The caller
/// has found AVX2.
pub(super) fn load(
    window: Window<'_>,
    offsets: &Lanes,
    mask: LaneMask,
    out: &mut [Lanes],
) -> Option<LaneMask> {
    // SAFETY: the caller has found AVX2.
    let done = unsafe {
        match out {
            [a] => load_1(window, offsets, mask, a),
            [a, b] => load_2(window, offsets, mask, [a, b]),
            [a, b, c] => load_4(window, offsets, mask, [a, b, c, &mut [0; 64]]),
            [a, b, c, d] => load_4(window, offsets, mask, [a, b, c, d]),
            _ => false,
        }
    };
    done.then_some(LaneMask::EMPTY)
}

/// Writes 1, 2 or 4 words per lane; otherwise as [`load`].
pub(super) fn store(
    window: Window<'_>,
    offsets: &Lanes,
    mask: LaneMask,
    data: &[Lanes],
) -> Option<LaneMask> {
    // SAFETY: the caller has found AVX2.
    let done = unsafe {
        match data {
            [a] => store_1(window, offsets, mask, a),
            [a, b] => store_2(window, offsets, mask, [a, b]),
            [a, b, c, d] => store_4(window, offsets, mask, [a, b, c, d]),
            _ => false,
        }
    };
    done.then_some(LaneMask::EMPTY)
}

#[inline]
#[target_feature(enable = "avx2")]
fn get(from: &Lanes, chunk: usize) -> __m256i {
    debug_assert!(chunk < 8);
    // SAFETY: eight entries from `8 * chunk` are in the array.
    unsafe { _mm256_loadu_si256(from.as_ptr().add(8 * chunk).cast()) }
}

#[inline]
#[target_feature(enable = "avx2")]
fn put(to: &mut Lanes, chunk: usize, value: __m256i) {
    debug_assert!(chunk < 8);
    // SAFETY: as in `get`.
    unsafe { _mm256_storeu_si256(to.as_mut_ptr().add(8 * chunk).cast(), value) }
}

/// All ones in the lanes whose bit of `bits` is set.
#[inline]
#[target_feature(enable = "avx2")]
fn expand(bits: u32) -> __m256i {
    let bit = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
    _mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32(bits as i32), bit), bit)
}

#[inline]
#[target_feature(enable = "avx2")]
fn all_ones(v: __m256i) -> bool {
    _mm256_movemask_epi8(v) == -1
}

/// 0, step, ... 7 * step.
#[inline]
#[target_feature(enable = "avx2")]
fn ramp(step: i32) -> __m256i {
    _mm256_mullo_epi32(_mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7), _mm256_set1_epi32(step))
}

fn bits(mask: LaneMask, chunk: usize) -> u32 {
    (mask.0 >> (8 * chunk)) as u32 & 0xFF
}

/// True if `bytes` from every lane of `mask` lie in the window.
#[inline]
#[target_feature(enable = "avx2")]
fn in_bounds(window: Window<'_>, offsets: &Lanes, mask: LaneMask, bytes: u64) -> bool {
    let mut top = _mm256_setzero_si256();
    if mask.0 == u64::MAX {
        for chunk in 0..8 {
            top = _mm256_max_epu32(top, get(offsets, chunk));
        }
    } else {
        for chunk in 0..8 {
            let live = expand(bits(mask, chunk));
            top = _mm256_max_epu32(top, _mm256_and_si256(get(offsets, chunk), live));
        }
    }
    let half = _mm_max_epu32(_mm256_castsi256_si128(top), _mm256_extracti128_si256::<1>(top));
    let half = _mm_max_epu32(half, _mm_shuffle_epi32::<0b01_00_11_10>(half));
    let half = _mm_max_epu32(half, _mm_shuffle_epi32::<0b10_11_00_01>(half));
    let max = u64::from(_mm_cvtsi128_si32(half) as u32);
    mask.is_empty() || window.has(max, bytes)
}

/// The chunks of a mask that is the first 32 or all 64 lanes.
fn whole_chunks(mask: LaneMask) -> Option<usize> {
    match mask.0 {
        u64::MAX => Some(8),
        0xFFFF_FFFF => Some(4),
        _ => None,
    }
}

/// The first lane's offset, if the first `chunks` chunks hold offsets one word
/// apart and all their words lie in the window.
#[inline]
#[target_feature(enable = "avx2")]
fn consecutive(window: Window<'_>, offsets: &Lanes, chunks: usize) -> Option<u64> {
    let mut want = _mm256_add_epi32(_mm256_set1_epi32(offsets[0] as i32), ramp(4));
    let mut same = _mm256_set1_epi32(-1);
    for chunk in 0..chunks {
        same = _mm256_and_si256(same, _mm256_cmpeq_epi32(get(offsets, chunk), want));
        want = _mm256_add_epi32(want, _mm256_set1_epi32(32));
    }
    let first = u64::from(offsets[0]);
    let bytes = 32 * chunks as u64;
    // Offsets that wrap around 2^32 are not consecutive addresses.
    (all_ones(same) && first + bytes <= 1 << 32 && window.has(first, bytes)).then_some(first)
}

/// # Safety
/// 32 bytes at `p` belong to a store.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn read_32(p: *const u8) -> __m256i {
    let v;
    // SAFETY: the caller's; the move only reads.
    unsafe {
        asm!("vmovdqu {v}, ymmword ptr [{p}]", v = lateout(ymm_reg) v, p = in(reg) p,
            options(nostack, preserves_flags, readonly));
    }
    v
}

/// # Safety
/// 32 bytes at `p` belong to a store.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn write_32(p: *mut u8, v: __m256i) {
    // SAFETY: the caller's.
    unsafe {
        asm!("vmovdqu ymmword ptr [{p}], {v}", v = in(ymm_reg) v, p = in(reg) p,
            options(nostack, preserves_flags));
    }
}

/// 16 bytes from `p` below 16 bytes from `q`.
///
/// # Safety
/// 16 bytes at `p` and at `q` belong to a store.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn read_16_16(p: *const u8, q: *const u8) -> __m256i {
    let v;
    // SAFETY: the caller's; the moves only read.
    unsafe {
        asm!("vmovdqu {v:x}, xmmword ptr [{p}]", "vinserti128 {v}, {v}, xmmword ptr [{q}], 1",
            v = out(ymm_reg) v, p = in(reg) p, q = in(reg) q,
            options(nostack, preserves_flags, readonly));
    }
    v
}

/// # Safety
/// 16 bytes at `p` belong to a store.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn write_16(p: *mut u8, v: __m128i) {
    // SAFETY: the caller's.
    unsafe {
        asm!("vmovdqu xmmword ptr [{p}], {v}", v = in(xmm_reg) v, p = in(reg) p,
            options(nostack, preserves_flags));
    }
}

/// 8 bytes from `p` below 8 bytes from `q`.
///
/// # Safety
/// 8 bytes at `p` and at `q` belong to a store.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn read_8_8(p: *const u8, q: *const u8) -> __m128i {
    let v;
    // SAFETY: the caller's; the moves only read.
    unsafe {
        asm!("vmovq {v}, qword ptr [{p}]", "vpinsrq {v}, {v}, qword ptr [{q}], 1",
            v = out(xmm_reg) v, p = in(reg) p, q = in(reg) q,
            options(nostack, preserves_flags, readonly));
    }
    v
}

/// # Safety
/// 4 bytes at `p` belong to a store.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn read_4(p: *const u8) -> u32 {
    let v;
    // SAFETY: the caller's; the move only reads.
    unsafe {
        asm!("mov {v:e}, dword ptr [{p}]", v = lateout(reg) v, p = in(reg) p,
            options(nostack, preserves_flags, readonly));
    }
    v
}

/// # Safety
/// 4 bytes at `p` belong to a store.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn write_4(p: *mut u8, v: u32) {
    // SAFETY: the caller's.
    unsafe {
        asm!("mov dword ptr [{p}], {v:e}", v = in(reg) v, p = in(reg) p,
            options(nostack, preserves_flags));
    }
}

/// # Safety
/// 8 bytes at `p` belong to a store.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn write_8(p: *mut u8, v: u64) {
    // SAFETY: the caller's.
    unsafe {
        asm!("mov qword ptr [{p}], {v}", v = in(reg) v, p = in(reg) p,
            options(nostack, preserves_flags));
    }
}

/// How eight lanes lie to each other.
enum Shape {
    /// All live lanes at the same offset.
    Same(u64),
    /// Lane i at this plus i times the step, also for lanes that do not live,
    /// whose bytes are in the window too.
    Steps(u64),
    /// Neither.
    Scattered,
}

#[inline]
#[target_feature(enable = "avx2")]
fn classify(window: Window<'_>, offsets: __m256i, o: &[u32], live: u32, step: u32) -> Shape {
    let dead = _mm256_xor_si256(expand(live), _mm256_set1_epi32(-1));
    let lowest = live.trailing_zeros();
    let first = o[lowest as usize];
    let same = _mm256_cmpeq_epi32(offsets, _mm256_set1_epi32(first as i32));
    if all_ones(_mm256_or_si256(same, dead)) {
        return Shape::Same(u64::from(first));
    }
    let Some(start) = first.checked_sub(lowest * step) else { return Shape::Scattered };
    let want = _mm256_add_epi32(_mm256_set1_epi32(start as i32), ramp(step as i32));
    let steps = _mm256_cmpeq_epi32(offsets, want);
    let (start, bytes) = (u64::from(start), 8 * u64::from(step));
    if all_ones(_mm256_or_si256(steps, dead))
        && start + bytes <= 1 << 32
        && window.has(start, bytes)
    {
        return Shape::Steps(start);
    }
    Shape::Scattered
}

#[target_feature(enable = "avx2")]
fn load_1(window: Window<'_>, offsets: &Lanes, mask: LaneMask, out: &mut Lanes) -> bool {
    let base = window.ptr.as_ptr();
    if let Some(chunks) = whole_chunks(mask)
        && let Some(first) = consecutive(window, offsets, chunks)
    {
        for chunk in 0..chunks {
            // SAFETY: `consecutive` has checked all of it.
            put(out, chunk, unsafe { read_32(base.add(first as usize + 32 * chunk)) });
        }
        for chunk in chunks..8 {
            put(out, chunk, _mm256_setzero_si256());
        }
        return true;
    }
    if !in_bounds(window, offsets, mask, 4) {
        return false;
    }
    for chunk in 0..8 {
        let live = bits(mask, chunk);
        if live == 0 {
            put(out, chunk, _mm256_setzero_si256());
            continue;
        }
        let o = &offsets[8 * chunk..8 * chunk + 8];
        let value = match classify(window, get(offsets, chunk), o, live, 4) {
            // SAFETY: a live lane, checked by `in_bounds`.
            Shape::Same(at) => unsafe { _mm256_set1_epi32(read_4(base.add(at as usize)) as i32) },
            // SAFETY: `classify` has checked the 32 bytes.
            Shape::Steps(at) => unsafe { read_32(base.add(at as usize)) },
            Shape::Scattered => {
                let to = &mut out[8 * chunk..8 * chunk + 8];
                for lane in 0..8 {
                    // SAFETY: live lanes were checked by `in_bounds`.
                    to[lane] = if live >> lane & 1 == 1 {
                        unsafe { read_4(base.add(o[lane] as usize)) }
                    } else {
                        0
                    };
                }
                continue;
            }
        };
        put(out, chunk, _mm256_and_si256(value, expand(live)));
    }
    true
}

/// The offsets of a chunk, with those of lanes that do not live replaced by one
/// that does.
fn safe_offsets(offsets: &Lanes, chunk: usize, live: u32) -> [usize; 8] {
    let o = &offsets[8 * chunk..8 * chunk + 8];
    let spare = o[live.trailing_zeros() as usize & 7];
    std::array::from_fn(|i| if live >> i & 1 == 1 { o[i] as usize } else { spare as usize })
}

#[target_feature(enable = "avx2")]
fn load_2(window: Window<'_>, offsets: &Lanes, mask: LaneMask, out: [&mut Lanes; 2]) -> bool {
    if !in_bounds(window, offsets, mask, 8) {
        return false;
    }
    let base = window.ptr.as_ptr();
    let [x, y] = out;
    for chunk in 0..8 {
        let live = bits(mask, chunk);
        if live == 0 {
            put(x, chunk, _mm256_setzero_si256());
            put(y, chunk, _mm256_setzero_si256());
            continue;
        }
        let o = &offsets[8 * chunk..8 * chunk + 8];
        // Lanes 0 1 | 2 3 and 4 5 | 6 7, x and y in turn.
        let (low, high) = match classify(window, get(offsets, chunk), o, live, 8) {
            // SAFETY: `classify` has checked the 64 bytes.
            Shape::Steps(at) => unsafe {
                let p = base.add(at as usize);
                (read_32(p), read_32(p.add(32)))
            },
            Shape::Same(_) | Shape::Scattered => {
                let o = safe_offsets(offsets, chunk, live);
                // SAFETY: each is a live lane's, checked by `in_bounds`.
                let pair = |i: usize| unsafe { read_8_8(base.add(o[i]), base.add(o[i + 1])) };
                (_mm256_set_m128i(pair(2), pair(0)), _mm256_set_m128i(pair(6), pair(4)))
            }
        };
        let (low, high) = (_mm256_castsi256_ps(low), _mm256_castsi256_ps(high));
        let xs = _mm256_castps_si256(_mm256_shuffle_ps::<0b10_00_10_00>(low, high));
        let ys = _mm256_castps_si256(_mm256_shuffle_ps::<0b11_01_11_01>(low, high));
        let keep = expand(live);
        put(x, chunk, _mm256_and_si256(_mm256_permute4x64_epi64::<0b11_01_10_00>(xs), keep));
        put(y, chunk, _mm256_and_si256(_mm256_permute4x64_epi64::<0b11_01_10_00>(ys), keep));
    }
    true
}

/// Rows of a 4 x 4 block in each half to columns, and back.
#[inline]
#[target_feature(enable = "avx2")]
fn transpose(r: [__m256i; 4]) -> [__m256i; 4] {
    let a = _mm256_unpacklo_epi32(r[0], r[1]);
    let b = _mm256_unpackhi_epi32(r[0], r[1]);
    let c = _mm256_unpacklo_epi32(r[2], r[3]);
    let d = _mm256_unpackhi_epi32(r[2], r[3]);
    [
        _mm256_unpacklo_epi64(a, c),
        _mm256_unpackhi_epi64(a, c),
        _mm256_unpacklo_epi64(b, d),
        _mm256_unpackhi_epi64(b, d),
    ]
}

/// Four words per lane. For three the fourth is read and thrown away, so it must
/// be there; at the very end of a window the portable path reads the three.
#[target_feature(enable = "avx2")]
fn load_4(window: Window<'_>, offsets: &Lanes, mask: LaneMask, mut out: [&mut Lanes; 4]) -> bool {
    if !in_bounds(window, offsets, mask, 16) {
        return false;
    }
    let base = window.ptr.as_ptr();
    for chunk in 0..8 {
        let live = bits(mask, chunk);
        if live == 0 {
            for to in &mut out {
                put(to, chunk, _mm256_setzero_si256());
            }
            continue;
        }
        let o = safe_offsets(offsets, chunk, live);
        // SAFETY: each is a live lane's, checked by `in_bounds`.
        let row = |i: usize| unsafe { read_16_16(base.add(o[i]), base.add(o[i + 4])) };
        let columns = transpose([row(0), row(1), row(2), row(3)]);
        let keep = expand(live);
        for c in 0..4 {
            put(out[c], chunk, _mm256_and_si256(columns[c], keep));
        }
    }
    true
}

#[target_feature(enable = "avx2")]
fn store_1(window: Window<'_>, offsets: &Lanes, mask: LaneMask, data: &Lanes) -> bool {
    let base = window.ptr.as_ptr();
    if let Some(chunks) = whole_chunks(mask)
        && let Some(first) = consecutive(window, offsets, chunks)
    {
        for chunk in 0..chunks {
            // SAFETY: `consecutive` has checked all of it.
            unsafe { write_32(base.add(first as usize + 32 * chunk), get(data, chunk)) };
        }
        return true;
    }
    if !in_bounds(window, offsets, mask, 4) {
        return false;
    }
    for chunk in 0..8 {
        let live = bits(mask, chunk);
        if live == 0 {
            continue;
        }
        let o = &offsets[8 * chunk..8 * chunk + 8];
        if live == 0xFF
            && let Shape::Steps(at) = classify(window, get(offsets, chunk), o, live, 4)
        {
            // SAFETY: `classify` has checked the 32 bytes.
            unsafe { write_32(base.add(at as usize), get(data, chunk)) };
            continue;
        }
        for i in 0..8 {
            if live >> i & 1 == 1 {
                // SAFETY: a live lane, checked by `in_bounds`.
                unsafe { write_4(base.add(o[i] as usize), data[8 * chunk + i]) };
            }
        }
    }
    true
}

#[target_feature(enable = "avx2")]
fn store_2(window: Window<'_>, offsets: &Lanes, mask: LaneMask, data: [&Lanes; 2]) -> bool {
    if !in_bounds(window, offsets, mask, 8) {
        return false;
    }
    let base = window.ptr.as_ptr();
    for chunk in 0..8 {
        let live = bits(mask, chunk);
        if live == 0 {
            continue;
        }
        let o = &offsets[8 * chunk..8 * chunk + 8];
        let (x, y) = (get(data[0], chunk), get(data[1], chunk));
        // Lanes 0 1 | 4 5 and 2 3 | 6 7, x and y in turn.
        let (low, high) = (_mm256_unpacklo_epi32(x, y), _mm256_unpackhi_epi32(x, y));
        if live == 0xFF
            && let Shape::Steps(at) = classify(window, get(offsets, chunk), o, live, 8)
        {
            // SAFETY: `classify` has checked the 64 bytes.
            unsafe {
                let p = base.add(at as usize);
                write_32(p, _mm256_permute2x128_si256::<0x20>(low, high));
                write_32(p.add(32), _mm256_permute2x128_si256::<0x31>(low, high));
            }
            continue;
        }
        for i in 0..8 {
            if live >> i & 1 == 1 {
                let lane = 8 * chunk + i;
                let value = u64::from(data[1][lane]) << 32 | u64::from(data[0][lane]);
                // SAFETY: a live lane, checked by `in_bounds`.
                unsafe { write_8(base.add(o[i] as usize), value) };
            }
        }
    }
    true
}

#[target_feature(enable = "avx2")]
fn store_4(window: Window<'_>, offsets: &Lanes, mask: LaneMask, data: [&Lanes; 4]) -> bool {
    if !in_bounds(window, offsets, mask, 16) {
        return false;
    }
    let base = window.ptr.as_ptr();
    for chunk in 0..8 {
        let live = bits(mask, chunk);
        if live == 0 {
            continue;
        }
        let rows = transpose(data.map(|d| get(d, chunk)));
        for i in 0..8 {
            if live >> i & 1 == 0 {
                continue;
            }
            let row = rows[i & 3];
            let value = if i < 4 {
                _mm256_castsi256_si128(row)
            } else {
                _mm256_extracti128_si256::<1>(row)
            };
            // SAFETY: a live lane, checked by `in_bounds`.
            unsafe { write_16(base.add(offsets[8 * chunk + i] as usize), value) };
        }
    }
    true
}
