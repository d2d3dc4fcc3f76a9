//! Transcendentals: our own series in 64-bit floats, rounded once to 32.
//!
//! Never a library's and never a hardware approximation, so every machine gives
//! the same bits. Results are within 1 ulp of the exact value (held by the
//! tests), for every finite operand.

use super::{NAN, canon, fl, series};

macro_rules! unary {
    ($($(#[$doc:meta])* $name:ident($x:ident: $t:ty) = $e:expr;)*) => { $(
        $(#[$doc])*
        #[inline(always)]
        pub fn $name(a: u32) -> u32 {
            let $x = <$t>::from(fl(a));
            $e
        }
    )* };
}

/// Rounds to 32 bits.
#[inline(always)]
fn round(x: f64) -> u32 {
    canon(x as f32)
}

/// A logarithm `l` of `x`, with the edges put right.
#[inline(always)]
fn log_edges(x: f64, l: f64) -> u32 {
    let l = if x == 0.0 { f64::NEG_INFINITY } else { l };
    let l = if x == f64::INFINITY { f64::INFINITY } else { l };
    round(if x >= 0.0 { l } else { f64::NAN })
}

unary! {
    /// `e^x`.
    fexp(x: f64) = round(series::exp(x));
    /// `2^x`.
    fexp2(x: f64) = round(series::exp2(x));
    /// Natural logarithm; of zero minus infinity, of negatives NaN.
    flog(x: f64) = log_edges(x, series::ln(x));
    /// Base-2 logarithm, likewise.
    flog2(x: f64) = log_edges(x, series::log2(x));
    /// Arc sine; NaN outside [-1, 1].
    fasin(x: f64) = {
        let r = series::atan2(x, ((1.0 - x) * (1.0 + x)).sqrt());
        round(if x.abs() <= 1.0 { r } else { f64::NAN })
    };
    /// Arc cosine; NaN outside [-1, 1].
    facos(x: f64) = {
        let r = series::atan2(((1.0 - x) * (1.0 + x)).sqrt(), x);
        round(if x.abs() <= 1.0 { r } else { f64::NAN })
    };
    /// Arc tangent.
    fatan(x: f64) = round(if x.is_nan() { x } else { series::atan2(x, 1.0) });
    /// Hyperbolic sine.
    fsinh(x: f64) = round(series::sinh(x.clamp(-200.0, 200.0)));
    /// Hyperbolic cosine.
    fcosh(x: f64) = round(series::cosh(x.clamp(-200.0, 200.0)));
    /// Hyperbolic tangent.
    ftanh(x: f64) = {
        let x = x.clamp(-30.0, 30.0);
        round(series::sinh(x) / series::cosh(x))
    };
    /// Inverse hyperbolic sine.
    fasinh(x: f64) = {
        let (t, z) = (x.abs(), x * x);
        let small = t * (1.0 - z * (1.0 / 6.0 - z * (3.0 / 40.0)));
        let large = series::ln(t + (z + 1.0).sqrt());
        let r = if t < 0.001 { small } else { large };
        let r = if t == f64::INFINITY { t } else { r };
        round(if x.is_nan() { x } else { r.copysign(x) })
    };
    /// Inverse hyperbolic cosine; NaN below 1.
    facosh(x: f64) = {
        let t = x - 1.0;
        let r = series::ln(x + (t * (x + 1.0)).sqrt());
        // Next to 1 the sum would lose the low bits.
        let near = (t + t).sqrt() * (1.0 - t * (1.0 / 12.0 - t * (3.0 / 160.0)));
        let r = if t < 0.001 { near } else { r };
        let r = if x == f64::INFINITY { x } else { r };
        round(if x >= 1.0 { r } else { f64::NAN })
    };
    /// Inverse hyperbolic tangent; NaN outside [-1, 1].
    fatanh(x: f64) = {
        let (t, z) = (x.abs(), x * x);
        let small = t * (1.0 + z * (1.0 / 3.0 + z * (1.0 / 5.0)));
        let large = 0.5 * series::ln((1.0 + t) / (1.0 - t));
        let r = if t < 0.001 { small } else { large };
        let r = if t == 1.0 { f64::INFINITY } else { r };
        round(if t <= 1.0 { r.copysign(x) } else { f64::NAN })
    };
}

/// True if `a` needs [`far`] reduction: beyond [`series::NEAR`], or not finite.
#[inline(always)]
pub fn is_far(a: u32) -> bool {
    a & 0x7FFF_FFFF > series::NEAR.to_bits()
}

/// A finite float beyond [`series::NEAR`], reduced exactly; others NaN.
fn far(a: u32) -> Option<(f64, f64)> {
    (a & 0x7FFF_FFFF < 0x7F80_0000).then(|| series::sin_cos_far(fl(a)))
}

/// Sine where [`is_far`] is false.
#[inline(always)]
pub fn fsin_near(a: u32) -> u32 {
    let s = series::sin_cos(f64::from(fl(a))).0 as f32;
    // The series' x * 1 keeps the sign of zero but for the reduction's sum.
    if fl(a) == 0.0 { a } else { canon(s) }
}

/// Cosine where [`is_far`] is false.
#[inline(always)]
pub fn fcos_near(a: u32) -> u32 {
    round(series::sin_cos(f64::from(fl(a))).1)
}

/// Tangent where [`is_far`] is false.
#[inline(always)]
pub fn ftan_near(a: u32) -> u32 {
    let (s, c) = series::sin_cos(f64::from(fl(a)));
    if fl(a) == 0.0 { a } else { round(s / c) }
}

/// Sine; NaN of infinities.
pub fn fsin(a: u32) -> u32 {
    if is_far(a) { far(a).map_or(NAN, |(s, _)| round(s)) } else { fsin_near(a) }
}

/// Cosine; NaN of infinities.
pub fn fcos(a: u32) -> u32 {
    if is_far(a) { far(a).map_or(NAN, |(_, c)| round(c)) } else { fcos_near(a) }
}

/// Tangent; NaN of infinities.
pub fn ftan(a: u32) -> u32 {
    if is_far(a) { far(a).map_or(NAN, |(s, c)| round(s / c)) } else { ftan_near(a) }
}

/// `x^y` as `2^(y * log2 x)`: `y` zero gives 1, negative `x` NaN.
#[inline(always)]
pub fn fpow(a: u32, b: u32) -> u32 {
    let (x, y) = (f64::from(fl(a)), f64::from(fl(b)));
    let l = series::log2(x);
    let l = if x == 0.0 { f64::NEG_INFINITY } else { l };
    let l = if x == f64::INFINITY { f64::INFINITY } else { l };
    let l = if x >= 0.0 { l } else { f64::NAN };
    let l = if y == 0.0 { 0.0 } else { y * l };
    round(series::exp2(l))
}

/// Angle of the point (`b`, `a`), with IEEE 754's signs of zero.
#[inline(always)]
pub fn fatan2(a: u32, b: u32) -> u32 {
    let (y, x) = (f64::from(fl(a)), f64::from(fl(b)));
    let r = series::atan2(y, x);
    round(if y.is_nan() || x.is_nan() { f64::NAN } else { r })
}
