//! 16-bit floats.

use super::convert::{double_to_half, float_to_half, half_to_double, half_to_float};
use crate::ops::{compare, float, trans};

/// The one NaN.
pub const NAN: u16 = 0x7E00;

const SIGN: u16 = 0x8000;

/// The bits as a 32-bit float.
#[inline(always)]
fn wide(a: u16) -> u32 {
    half_to_float(a)
}

macro_rules! through_float {
    ($($(#[$doc:meta])* $name:ident($($x:ident),*) = $f:path;)*) => { $(
        $(#[$doc])*
        #[inline(always)]
        pub fn $name($($x: u16),*) -> u16 { float_to_half($f($(wide($x)),*)) }
    )* };
}

through_float! {
    /// -1, 0 or 1 with the operand's sign (zeros keep theirs); NaN gives 0.
    fsign(a) = float::fsign;
    /// Toward minus infinity.
    ffloor(a) = float::ffloor;
    /// Toward plus infinity.
    fceil(a) = float::fceil;
    /// Toward zero.
    ftrunc(a) = float::ftrunc;
    /// To nearest, ties to even.
    froundeven(a) = float::froundeven;
    /// Square root.
    fsqrt(a) = float::fsqrt;
    /// `1 / sqrt(x)`.
    frsqrt(a) = float::frsqrt;
    /// `e^x`.
    fexp(a) = trans::fexp;
    /// `2^x`.
    fexp2(a) = trans::fexp2;
    /// Natural logarithm.
    flog(a) = trans::flog;
    /// Base-2 logarithm.
    flog2(a) = trans::flog2;
    /// Sine.
    fsin(a) = trans::fsin;
    /// Cosine.
    fcos(a) = trans::fcos;
    /// Tangent.
    ftan(a) = trans::ftan;
    /// Arc sine.
    fasin(a) = trans::fasin;
    /// Arc cosine.
    facos(a) = trans::facos;
    /// Arc tangent.
    fatan(a) = trans::fatan;
    /// Hyperbolic sine.
    fsinh(a) = trans::fsinh;
    /// Hyperbolic cosine.
    fcosh(a) = trans::fcosh;
    /// Hyperbolic tangent.
    ftanh(a) = trans::ftanh;
    /// Inverse hyperbolic sine.
    fasinh(a) = trans::fasinh;
    /// Inverse hyperbolic cosine.
    facosh(a) = trans::facosh;
    /// Inverse hyperbolic tangent.
    fatanh(a) = trans::fatanh;
    /// Sum.
    fadd(a, b) = float::fadd;
    /// Difference.
    fsub(a, b) = float::fsub;
    /// Product.
    fmul(a, b) = float::fmul;
    /// Quotient.
    fdiv(a, b) = float::fdiv;
    /// Exact remainder with the sign of the dividend.
    frem(a, b) = float::frem;
    /// `x - y * floor(x / y)`, in 32 bits.
    fmod(a, b) = float::fmod;
    /// Minimum; a NaN operand gives the other one. Of two zeros, `b`.
    fmin(a, b) = float::fmin;
    /// Maximum; a NaN operand gives the other one. Of two zeros, `b`.
    fmax(a, b) = float::fmax;
    /// `x^y`.
    fpow(a, b) = trans::fpow;
    /// Angle of the point (`b`, `a`).
    fatan2(a, b) = trans::fatan2;
}

macro_rules! compare {
    ($($name:ident)*) => { $(
        /// The comparison of that name.
        #[inline(always)]
        pub fn $name(a: u16, b: u16) -> bool { compare::$name(wide(a), wide(b)) != 0 }
    )* };
}

compare! { foeq fone folt fole fogt foge fueq fune fult fule fugt fuge }

/// Sign flipped: a bit operation.
#[inline(always)]
pub fn fneg(a: u16) -> u16 {
    a ^ SIGN
}

/// Sign cleared: a bit operation.
#[inline(always)]
pub fn fabs(a: u16) -> u16 {
    a & !SIGN
}

/// Is a NaN.
#[inline(always)]
pub fn fisnan(a: u16) -> bool {
    a & 0x7FFF > 0x7C00
}

/// Is an infinity.
#[inline(always)]
pub fn fisinf(a: u16) -> bool {
    a & 0x7FFF == 0x7C00
}

/// `x - floor(x)`, below 1.
#[inline(always)]
pub fn ffract(a: u16) -> u16 {
    // Below 1 as a float, but perhaps not as a half.
    let f = float_to_half(float::ffract(wide(a)));
    if f == 0x3C00 { 0x3BFF } else { f }
}

/// `a * 2^b`, rounded once: exact in 64 bits.
#[inline(always)]
pub fn fldexp(a: u16, b: u32) -> u16 {
    let e = (b as i32).clamp(-300, 300);
    let scale = f64::from_bits(((1023 + e) as u64) << 52);
    double_to_half((f64::from_bits(half_to_double(a)) * scale).to_bits())
}

/// `a * b + c`, rounded once: the product is exact in 64 bits, and their sum is
/// rounded to odd, which the rounding to 11 bits cannot tell from the exact sum.
#[inline(always)]
pub fn ffma(a: u16, b: u16, c: u16) -> u16 {
    let [a, b, c] = [a, b, c].map(|x| f64::from_bits(half_to_double(x)));
    let p = a * b;
    let sum = p + c;
    // What the sum lost, exactly.
    let back = sum - p;
    let lost = (p - (sum - back)) + (c - back);
    let bits = sum.to_bits();
    let away = (lost > 0.0) == (sum > 0.0);
    let odd = if away { bits.wrapping_add(1) } else { bits.wrapping_sub(1) };
    let inexact = sum.is_finite() && lost != 0.0 && bits & 1 == 0;
    double_to_half(if inexact { odd } else { bits })
}
