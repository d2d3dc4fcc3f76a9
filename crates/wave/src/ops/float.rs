//! Float arithmetic that IEEE 754 defines exactly. 32 bits, to nearest even.

use super::{NAN, canon, fl};

/// Sign flipped. A bit operation: a NaN keeps its payload.
#[inline(always)]
pub fn fneg(a: u32) -> u32 {
    a ^ 0x8000_0000
}

/// Sign cleared. A bit operation.
#[inline(always)]
pub fn fabs(a: u32) -> u32 {
    a & 0x7FFF_FFFF
}

/// -1, 0 or 1 with the operand's sign (zeros keep theirs); NaN gives 0.
#[inline(always)]
pub fn fsign(a: u32) -> u32 {
    let x = fl(a);
    if x > 0.0 {
        1f32.to_bits()
    } else if x < 0.0 {
        (-1f32).to_bits()
    } else if x == 0.0 {
        a
    } else {
        0
    }
}

/// 2^23: floats from here on are integers.
const WHOLE: f32 = 8_388_608.0;

/// To nearest, ties to even. Written without library calls, so that the same
/// source serves CPUs with and without a rounding instruction.
#[inline(always)]
pub fn froundeven(a: u32) -> u32 {
    let sign = a & 0x8000_0000;
    let x = fl(a & 0x7FFF_FFFF);
    let r = (x + WHOLE) - WHOLE;
    canon(fl(if x < WHOLE { r.to_bits() } else { x.to_bits() } | sign))
}

/// Toward zero.
#[inline(always)]
pub fn ftrunc(a: u32) -> u32 {
    let sign = a & 0x8000_0000;
    let x = fl(a & 0x7FFF_FFFF);
    let r = (x + WHOLE) - WHOLE;
    let t = if r > x { r - 1.0 } else { r };
    canon(fl(if x < WHOLE { t.to_bits() } else { x.to_bits() } | sign))
}

/// Toward minus infinity.
#[inline(always)]
pub fn ffloor(a: u32) -> u32 {
    let t = fl(ftrunc(a));
    let down = t > fl(a);
    if down { (t - 1.0).to_bits() } else { t.to_bits() }
}

/// Toward plus infinity.
#[inline(always)]
pub fn fceil(a: u32) -> u32 {
    fneg(ffloor(fneg(a))) & sign_of_nan(a)
}

/// All ones, less the sign bit if `a` is a NaN: clears what `fneg` put on it.
#[inline(always)]
fn sign_of_nan(a: u32) -> u32 {
    if fl(a).is_nan() { 0x7FFF_FFFF } else { u32::MAX }
}

/// `x - floor(x)`, below 1.
#[inline(always)]
pub fn ffract(a: u32) -> u32 {
    let f = fl(a) - fl(ffloor(a));
    // A tiny negative number would round up to 1.
    let last = fl(0x3F7F_FFFF);
    canon(if f > last { last } else { f })
}

/// Square root.
#[inline(always)]
pub fn fsqrt(a: u32) -> u32 {
    canon(fl(a).sqrt())
}

/// `1 / sqrt(x)`, each step rounded: within 1.5 ulp.
#[inline(always)]
pub fn frsqrt(a: u32) -> u32 {
    canon(1.0 / fl(a).sqrt())
}

/// Sum.
#[inline(always)]
pub fn fadd(a: u32, b: u32) -> u32 {
    canon(fl(a) + fl(b))
}

/// Difference.
#[inline(always)]
pub fn fsub(a: u32, b: u32) -> u32 {
    canon(fl(a) - fl(b))
}

/// Product.
#[inline(always)]
pub fn fmul(a: u32, b: u32) -> u32 {
    canon(fl(a) * fl(b))
}

/// Quotient.
#[inline(always)]
pub fn fdiv(a: u32, b: u32) -> u32 {
    canon(fl(a) / fl(b))
}

/// Exact remainder with the sign of the dividend (C's `fmod`).
#[inline(always)]
pub fn frem(a: u32, b: u32) -> u32 {
    let (x, y) = (fl(a & 0x7FFF_FFFF), fl(b & 0x7FFF_FFFF));
    if !x.is_finite() || y.is_nan() || y == 0.0 {
        return NAN;
    }
    if x < y {
        return a;
    }
    remainder(x.to_bits(), y.to_bits()) | (a & 0x8000_0000)
}

/// Remainder of two positive finite floats by their significands.
fn remainder(x: u32, y: u32) -> u32 {
    let split = |bits: u32| {
        let e = bits >> 23;
        let m = bits & 0x7F_FFFF;
        if e == 0 { (1, u64::from(m)) } else { (e, u64::from(m | 0x80_0000)) }
    };
    let ((ex, mut m), (ey, my)) = (split(x), split(y));
    let mut left = ex - ey;
    // 40 bits at a time: m < my < 2^24 keeps the product below 2^64.
    m %= my;
    while left > 0 {
        let step = left.min(40);
        m = (m << step) % my;
        left -= step;
    }
    if m == 0 {
        return 0;
    }
    // m * 2^(ey - 150), back to a float; exact.
    let shift = (m.leading_zeros() - 40).min(ey - 1);
    let (e, m) = (ey - shift, (m as u32) << shift);
    if m & 0x80_0000 == 0 { m } else { e << 23 | (m & 0x7F_FFFF) }
}

/// `x - y * floor(x / y)`, each step rounded.
#[inline(always)]
pub fn fmod(a: u32, b: u32) -> u32 {
    let q = fl(ffloor(fdiv(a, b)));
    canon(fl(a) - fl(b) * q)
}

/// Minimum; a NaN operand gives the other one. Of two zeros, `b`.
#[inline(always)]
pub fn fmin(a: u32, b: u32) -> u32 {
    let (x, y) = (fl(a), fl(b));
    canon(if x < y || y.is_nan() { x } else { y })
}

/// Maximum; a NaN operand gives the other one. Of two zeros, `b`.
#[inline(always)]
pub fn fmax(a: u32, b: u32) -> u32 {
    let (x, y) = (fl(a), fl(b));
    canon(if x > y || y.is_nan() { x } else { y })
}

/// `a * b + c`, rounded once.
#[inline(always)]
pub fn ffma(a: u32, b: u32, c: u32) -> u32 {
    canon(fl(a).mul_add(fl(b), fl(c)))
}

/// `a * b - c`, rounded once.
#[inline(always)]
pub fn ffmasub(a: u32, b: u32, c: u32) -> u32 {
    canon(fl(a).mul_add(fl(b), -fl(c)))
}

/// `c - a * b`, rounded once.
#[inline(always)]
pub fn fnegfma(a: u32, b: u32, c: u32) -> u32 {
    canon((-fl(a)).mul_add(fl(b), fl(c)))
}

/// `a * b + c`, the product rounded first.
#[inline(always)]
pub fn fmuladd(a: u32, b: u32, c: u32) -> u32 {
    canon(fl(a) * fl(b) + fl(c))
}

/// `a * b - c`, the product rounded first.
#[inline(always)]
pub fn fmulsub(a: u32, b: u32, c: u32) -> u32 {
    canon(fl(a) * fl(b) - fl(c))
}

/// `c - a * b`, the product rounded first.
#[inline(always)]
pub fn fnmuladd(a: u32, b: u32, c: u32) -> u32 {
    canon(fl(c) - fl(a) * fl(b))
}

/// `a * 2^b`, rounded once.
#[inline(always)]
pub fn fldexp(a: u32, b: u32) -> u32 {
    // Exact in 64 bits: exponents stay within -149 - 300 and 128 + 300.
    let e = (b as i32).clamp(-300, 300);
    let scale = f64::from_bits(((1023 + e) as u64) << 52);
    canon((f64::from(fl(a)) * scale) as f32)
}
