//! Integer arithmetic and logic, 32 bits.

macro_rules! binary {
    ($($(#[$doc:meta])* $name:ident($a:ident, $b:ident) = $e:expr;)*) => { $(
        $(#[$doc])*
        #[inline(always)]
        pub fn $name($a: u32, $b: u32) -> u32 { $e }
    )* };
}

binary! {
    /// Sum, wrapping.
    iadd(a, b) = a.wrapping_add(b);
    /// Difference, wrapping.
    isub(a, b) = a.wrapping_sub(b);
    /// Low half of the product.
    imul(a, b) = a.wrapping_mul(b);
    /// High half of the unsigned product.
    umulhi(a, b) = ((u64::from(a) * u64::from(b)) >> 32) as u32;
    /// High half of the signed product.
    smulhi(a, b) = ((i64::from(a as i32) * i64::from(b as i32)) >> 32) as u32;
    /// Unsigned quotient; by zero all ones.
    udiv(a, b) = if b == 0 { u32::MAX } else { quotient(a, b) };
    /// Signed quotient toward zero; by zero all ones.
    sdiv(a, b) = if b == 0 { u32::MAX } else { signed_quotient(a, b) };
    /// Unsigned remainder; by zero all ones.
    umod(a, b) = {
        let r = a.wrapping_sub(quotient(a, b).wrapping_mul(b));
        if b == 0 { u32::MAX } else { r }
    };
    /// Remainder with the sign of the dividend; by zero all ones.
    srem(a, b) = {
        let r = a.wrapping_sub(signed_quotient(a, b).wrapping_mul(b));
        if b == 0 { u32::MAX } else { r }
    };
    /// Remainder with the sign of the divisor; by zero all ones.
    smod(a, b) = {
        let r = a.wrapping_sub(signed_quotient(a, b).wrapping_mul(b));
        let fix = r != 0 && ((r ^ b) as i32) < 0;
        let r = if fix { r.wrapping_add(b) } else { r };
        if b == 0 { u32::MAX } else { r }
    };
    /// 1 if the sum carries.
    ucarry(a, b) = u32::from(a.wrapping_add(b) < a);
    /// 1 if the difference borrows.
    uborrow(a, b) = u32::from(a < b);
    /// Bitwise and.
    and(a, b) = a & b;
    /// Bitwise or.
    or(a, b) = a | b;
    /// Bitwise exclusive or.
    xor(a, b) = a ^ b;
    /// Left shift; the count's low five bits.
    shl(a, b) = a << (b & 31);
    /// Right shift, zeros in.
    shrl(a, b) = a >> (b & 31);
    /// Right shift, sign in.
    shra(a, b) = ((a as i32) >> (b & 31)) as u32;
    /// Unsigned minimum.
    umin(a, b) = if a < b { a } else { b };
    /// Unsigned maximum.
    umax(a, b) = if a > b { a } else { b };
    /// Signed minimum.
    smin(a, b) = if (a as i32) < b as i32 { a } else { b };
    /// Signed maximum.
    smax(a, b) = if (a as i32) > b as i32 { a } else { b };
}

/// 2^52 as a float and as bits: a 32-bit integer added to the bits is added to
/// the number.
const BIAS: f64 = 4_503_599_627_370_496.0;

/// `a / b` rounded down, by 64-bit floats so that it spreads over lanes; anything
/// if `b` is 0. The float quotient is off by less than 2^-21 / b, and a quotient
/// that is not whole is at least 1 / b away from the next whole number.
#[inline(always)]
fn quotient(a: u32, b: u32) -> u32 {
    let wide = |x: u32| f64::from_bits(BIAS.to_bits() | u64::from(x)) - BIAS;
    let q = wide(a) / wide(b);
    let near = q + BIAS;
    let n = near.to_bits() as u32;
    if near - BIAS > q { n.wrapping_sub(1) } else { n }
}

/// Rounded toward zero; the overflowing quotient wraps.
#[inline(always)]
fn signed_quotient(a: u32, b: u32) -> u32 {
    let q = quotient(iabs(a), iabs(b));
    if ((a ^ b) as i32) < 0 { q.wrapping_neg() } else { q }
}

/// Complement.
#[inline(always)]
pub fn not(a: u32) -> u32 {
    !a
}

/// Negation, wrapping.
#[inline(always)]
pub fn ineg(a: u32) -> u32 {
    a.wrapping_neg()
}

/// Absolute value, wrapping.
#[inline(always)]
pub fn iabs(a: u32) -> u32 {
    (a as i32).wrapping_abs() as u32
}

/// -1, 0 or 1.
#[inline(always)]
pub fn isign(a: u32) -> u32 {
    (a as i32).signum() as u32
}

/// The same bits.
#[inline(always)]
pub fn copy(a: u32) -> u32 {
    a
}

/// `b` where the `Bool` `a` holds, else `c`.
#[inline(always)]
pub fn select(a: u32, b: u32, c: u32) -> u32 {
    (a & b) | (!a & c)
}
