//! The series behind the transcendentals, in 64-bit floats.
//!
//! Every function here is accurate to some 2^-40 of its result, far below half
//! a unit of the 32-bit float it is rounded to. They use only operations that
//! IEEE 754 defines exactly, and no branch on the value, so compilers can
//! spread them over lanes and every machine gives the same bits. Coefficients
//! are those of the Taylor series.

/// Adding this rounds a small number to an integer, which then stands in the low
/// bits of the sum.
const MAGIC: f64 = 6_755_399_441_055_744.0;

/// Bits of the square root of one half.
const SQRT_HALF: u64 = 0x3FE6_A09E_667F_3BCD;

/// `2^x`, for results that are normal 64-bit floats; others saturate.
#[inline(always)]
pub fn exp2(x: f64) -> f64 {
    let x = x.clamp(-1000.0, 1000.0);
    let t = x + MAGIC;
    let z = (x - (t - MAGIC)) * std::f64::consts::LN_2;
    let mut p = 1.0 / 3_628_800.0;
    p = p * z + 1.0 / 362_880.0;
    p = p * z + 1.0 / 40_320.0;
    p = p * z + 1.0 / 5_040.0;
    p = p * z + 1.0 / 720.0;
    p = p * z + 1.0 / 120.0;
    p = p * z + 1.0 / 24.0;
    p = p * z + 1.0 / 6.0;
    p = p * z + 0.5;
    p = p * z + 1.0;
    p = p * z + 1.0;
    p * f64::from_bits(t.to_bits().wrapping_add(1023) << 52)
}

/// `e^x`, likewise.
#[inline(always)]
pub fn exp(x: f64) -> f64 {
    exp2(x * std::f64::consts::LOG2_E)
}

/// Exponent `e` and `ln(m)` with `x = m * 2^e`, `m` in [sqrt 1/2, sqrt 2); `x`
/// positive, normal and finite.
#[inline(always)]
fn split_log(x: f64) -> (f64, f64) {
    let bits = x.to_bits();
    let biased = bits.wrapping_add(0x400 << 52).wrapping_sub(SQRT_HALF) >> 52;
    let e = f64::from_bits(MAGIC.to_bits().wrapping_add(biased)) - (MAGIC + 1024.0);
    let m = f64::from_bits(bits.wrapping_sub(biased.wrapping_sub(1024) << 52));
    let s = (m - 1.0) / (m + 1.0);
    let z = s * s;
    let mut p = 1.0 / 17.0;
    p = p * z + 1.0 / 15.0;
    p = p * z + 1.0 / 13.0;
    p = p * z + 1.0 / 11.0;
    p = p * z + 1.0 / 9.0;
    p = p * z + 1.0 / 7.0;
    p = p * z + 1.0 / 5.0;
    p = p * z + 1.0 / 3.0;
    p = p * z + 1.0;
    (e, 2.0 * s * p)
}

/// Base-2 logarithm of a positive, normal, finite number.
#[inline(always)]
pub fn log2(x: f64) -> f64 {
    let (e, l) = split_log(x);
    e + l * std::f64::consts::LOG2_E
}

/// Natural logarithm, likewise.
#[inline(always)]
pub fn ln(x: f64) -> f64 {
    let (e, l) = split_log(x);
    e * std::f64::consts::LN_2 + l
}

/// Sine and cosine of `r`, `|r|` up to pi / 4.
#[inline(always)]
fn sin_cos_near(r: f64) -> (f64, f64) {
    let z = r * r;
    let mut s = 1.0 / 6_227_020_800.0;
    s = s * z - 1.0 / 39_916_800.0;
    s = s * z + 1.0 / 362_880.0;
    s = s * z - 1.0 / 5_040.0;
    s = s * z + 1.0 / 120.0;
    s = s * z - 1.0 / 6.0;
    s = s * z + 1.0;
    let mut c = -1.0 / 87_178_291_200.0;
    c = c * z + 1.0 / 479_001_600.0;
    c = c * z - 1.0 / 3_628_800.0;
    c = c * z + 1.0 / 40_320.0;
    c = c * z - 1.0 / 720.0;
    c = c * z + 1.0 / 24.0;
    c = c * z - 0.5;
    c = c * z + 1.0;
    (r * s, c)
}

/// Largest argument that [`sin_cos`] takes.
pub const NEAR: f32 = 1_000_000.0;

/// High part of pi / 2: 33 bits, so that multiples up to 2^20 are exact.
const HALF_PI_HIGH: f64 = 1.570_796_326_734_125_6;
/// What is missing to pi / 2.
const HALF_PI_LOW: f64 = 6.077_100_506_506_192e-11;

/// Turns sine and cosine of the rest by `quadrant` right angles.
#[inline(always)]
fn turn(quadrant: u64, (s, c): (f64, f64)) -> (f64, f64) {
    let odd = quadrant & 1 != 0;
    let (a, b) = if odd { (c, s) } else { (s, c) };
    // The cosine's sign is that of the next quadrant's sine.
    let flip = |v: f64, q: u64| f64::from_bits(v.to_bits() ^ ((q >> 1 & 1) << 63));
    (flip(a, quadrant), flip(b, quadrant.wrapping_add(1)))
}

/// Sine and cosine of `x`, `|x|` up to [`NEAR`].
#[inline(always)]
pub fn sin_cos(x: f64) -> (f64, f64) {
    let t = x * std::f64::consts::FRAC_2_PI + MAGIC;
    let k = t - MAGIC;
    let r = (x - k * HALF_PI_HIGH) - k * HALF_PI_LOW;
    turn(t.to_bits(), sin_cos_near(r))
}

/// 2 / pi as a binary fraction after 32 zero bits.
const TWO_OVER_PI: [u32; 9] = [
    0,
    0xA2F9_836E,
    0x4E44_1529,
    0xFC27_57D1,
    0xF534_DDC0,
    0xDB62_9599,
    0x3C43_9041,
    0xFE51_63AB,
    0xDEBB_C561,
];

/// Sine and cosine of a finite float beyond [`NEAR`]: the product with 2 / pi is
/// taken modulo 4 in whole numbers.
pub fn sin_cos_far(x: f32) -> (f64, f64) {
    let bits = x.to_bits();
    let e = (bits >> 23 & 0xFF) as i32 - 150;
    let m = u128::from(bits & 0x7F_FFFF | 0x80_0000);
    // The 96 bits of 2 / pi from weight 2 (after the scale by 2^e) on.
    let first = (e - 2 + 32) as usize;
    let (word, shift) = (first / 32, first % 32);
    let mut window = 0u128;
    for i in 0..4 {
        let next = TWO_OVER_PI.get(word + i).copied().unwrap_or(0);
        window = window << 32 | u128::from(next);
    }
    let window = window << shift >> 32;
    let product = (m * window) & ((1 << 96) - 1);
    let quadrant = (product >> 94) as u64;
    let rest = product & ((1 << 94) - 1);
    let (quadrant, rest) = if rest >> 93 == 1 {
        (quadrant + 1, -(((1u128 << 94) - rest) as f64))
    } else {
        (quadrant, rest as f64)
    };
    let unit = f64::from_bits((1023 - 94) << 52);
    let (s, c) = turn(quadrant, sin_cos_near(rest * unit * std::f64::consts::FRAC_PI_2));
    (if x < 0.0 { -s } else { s }, c)
}

/// Arc tangent of `t`, `t` in [0, 1].
#[inline(always)]
fn atan_unit(t: f64) -> f64 {
    let upper = t > 0.414_213_562_373_095_03;
    let u = if upper { (t - 1.0) / (t + 1.0) } else { t };
    let z = u * u;
    let mut p = 1.0 / 29.0;
    p = p * -z + 1.0 / 27.0;
    p = p * -z + 1.0 / 25.0;
    p = p * -z + 1.0 / 23.0;
    p = p * -z + 1.0 / 21.0;
    p = p * -z + 1.0 / 19.0;
    p = p * -z + 1.0 / 17.0;
    p = p * -z + 1.0 / 15.0;
    p = p * -z + 1.0 / 13.0;
    p = p * -z + 1.0 / 11.0;
    p = p * -z + 1.0 / 9.0;
    p = p * -z + 1.0 / 7.0;
    p = p * -z + 1.0 / 5.0;
    p = p * -z + 1.0 / 3.0;
    p = p * -z + 1.0;
    u * p + if upper { std::f64::consts::FRAC_PI_4 } else { 0.0 }
}

/// Angle of the point (`x`, `y`), with IEEE 754's signs of zero; no NaN.
#[inline(always)]
pub fn atan2(y: f64, x: f64) -> f64 {
    let (ay, ax) = (y.abs(), x.abs());
    let steep = ay > ax;
    let (low, high) = if steep { (ax, ay) } else { (ay, ax) };
    // 0 / 0 is the axis itself, infinity over infinity the diagonal.
    let t = if low == high { if low == 0.0 { 0.0 } else { 1.0 } } else { low / high };
    let a = atan_unit(t);
    let a = if steep { std::f64::consts::FRAC_PI_2 - a } else { a };
    let a = if x.is_sign_negative() { std::f64::consts::PI - a } else { a };
    a.copysign(y)
}

/// Hyperbolic sine, `|x|` up to 700.
#[inline(always)]
pub fn sinh(x: f64) -> f64 {
    let z = x * x;
    let small = x
        * (1.0 + z * (1.0 / 6.0 + z * (1.0 / 120.0 + z * (1.0 / 5_040.0 + z * (1.0 / 362_880.0)))));
    let e = exp(x);
    let large = (e - 1.0 / e) * 0.5;
    if z < 0.25 { small } else { large }
}

/// Hyperbolic cosine, `|x|` up to 700.
#[inline(always)]
pub fn cosh(x: f64) -> f64 {
    let e = exp(x);
    (e + 1.0 / e) * 0.5
}
