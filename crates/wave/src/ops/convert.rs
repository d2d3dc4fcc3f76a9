//! Conversions between number formats.

use super::{NAN, canon, fl};

/// Float to signed, toward zero, saturating; NaN gives 0.
#[inline(always)]
pub fn ftos(a: u32) -> u32 {
    fl(a) as i32 as u32
}

/// Float to unsigned, toward zero, saturating; NaN gives 0.
#[inline(always)]
pub fn ftou(a: u32) -> u32 {
    fl(a) as u32
}

/// Signed to float, to nearest even.
#[inline(always)]
pub fn stof(a: u32) -> u32 {
    (a as i32 as f32).to_bits()
}

/// Unsigned to float, to nearest even.
#[inline(always)]
pub fn utof(a: u32) -> u32 {
    (a as f32).to_bits()
}

/// Half to float.
#[inline(always)]
pub fn half_to_float(h: u32) -> u32 {
    let sign = (h & 0x8000) << 16;
    let (e, m) = (h >> 10 & 31, h & 0x3FF);
    let bits = if e == 31 {
        if m == 0 { 0x7F80_0000 } else { return NAN }
    } else if e == 0 {
        // A denormal half: m * 2^-24, exact as a float.
        (m as f32 * fl(0x3380_0000)).to_bits()
    } else {
        (e + 112) << 23 | m << 13
    };
    bits | sign
}

/// Float to half, to nearest even.
#[inline(always)]
pub fn float_to_half(a: u32) -> u32 {
    let sign = a >> 16 & 0x8000;
    let x = a & 0x7FFF_FFFF;
    let half = if x > 0x7F80_0000 {
        return 0x7E00;
    } else if x >= 0x477F_F000 {
        // From 65520 on.
        0x7C00
    } else if x < 0x3880_0000 {
        // Below 2^-14: one unit is 2^-24, so adding 0.5 (whose unit is 2^-24)
        // rounds as the half would.
        (fl(x) + 0.5).to_bits() - 0x3F00_0000
    } else {
        let odd = x >> 13 & 1;
        (x - 0x3800_0000 + 0xFFF + odd) >> 13
    };
    half | sign
}

/// To half precision and back; results below 2^-14 become zero.
#[inline(always)]
pub fn fquantize16(a: u32) -> u32 {
    let h = float_to_half(a);
    half_to_float(if h & 0x7C00 == 0 { h & 0x8000 } else { h })
}

/// The half in the low 16 bits.
#[inline(always)]
pub fn unpackhalflo(a: u32) -> u32 {
    half_to_float(a & 0xFFFF)
}

/// The half in the high 16 bits.
#[inline(always)]
pub fn unpackhalfhi(a: u32) -> u32 {
    half_to_float(a >> 16)
}

/// Two floats to two halves, `a` low.
#[inline(always)]
pub fn packhalf(a: u32, b: u32) -> u32 {
    float_to_half(a) | float_to_half(b) << 16
}

/// A float to a float of the same width: every NaN becomes one.
#[inline(always)]
pub fn fconvert(a: u32) -> u32 {
    canon(fl(a))
}
