//! 64-bit floats. All but `frsqrt` and `fmod` (which round each step) round once.

const SIGN: u64 = 1 << 63;

/// The one NaN.
pub const NAN: u64 = 0x7FF8_0000_0000_0000;

#[inline(always)]
fn fl(a: u64) -> f64 {
    f64::from_bits(a)
}

/// As bits, with [`NAN`] for every NaN.
#[inline(always)]
pub fn canon(x: f64) -> u64 {
    if x.is_nan() { NAN } else { x.to_bits() }
}

macro_rules! ops {
    ($($(#[$doc:meta])* $name:ident($($x:ident),*) -> $r:ty = $e:expr;)*) => { $(
        $(#[$doc])*
        #[inline(always)]
        pub fn $name($($x: u64),*) -> $r { $e }
    )* };
}

ops! {
    /// Sign flipped: a bit operation.
    fneg(a) -> u64 = a ^ SIGN;
    /// Sign cleared: a bit operation.
    fabs(a) -> u64 = a & !SIGN;
    /// -1, 0 or 1 with the operand's sign (zeros keep theirs); NaN gives 0.
    fsign(a) -> u64 = {
        let x = fl(a);
        if x.is_nan() { 0 } else if x == 0.0 { a } else { x.signum().to_bits() }
    };
    /// Toward minus infinity.
    ffloor(a) -> u64 = canon(fl(a).floor());
    /// Toward plus infinity.
    fceil(a) -> u64 = canon(fl(a).ceil());
    /// Toward zero.
    ftrunc(a) -> u64 = canon(fl(a).trunc());
    /// To nearest, ties to even.
    froundeven(a) -> u64 = canon(fl(a).round_ties_even());
    /// `x - floor(x)`, below 1.
    ffract(a) -> u64 = {
        let f = fl(a) - fl(a).floor();
        canon(if f >= 1.0 { 1.0 - f64::EPSILON / 2.0 } else { f })
    };
    /// Square root.
    fsqrt(a) -> u64 = canon(fl(a).sqrt());
    /// `1 / sqrt(x)`, each step rounded: within 1.5 ulp.
    frsqrt(a) -> u64 = canon(1.0 / fl(a).sqrt());
    /// Is a NaN.
    fisnan(a) -> bool = fl(a).is_nan();
    /// Is an infinity.
    fisinf(a) -> bool = fl(a).is_infinite();
    /// Sum.
    fadd(a, b) -> u64 = canon(fl(a) + fl(b));
    /// Difference.
    fsub(a, b) -> u64 = canon(fl(a) - fl(b));
    /// Product.
    fmul(a, b) -> u64 = canon(fl(a) * fl(b));
    /// Quotient.
    fdiv(a, b) -> u64 = canon(fl(a) / fl(b));
    /// Exact remainder with the sign of the dividend.
    frem(a, b) -> u64 = canon(fl(a) % fl(b));
    /// `x - y * floor(x / y)`, each step rounded.
    fmod(a, b) -> u64 = canon(fl(a) - fl(b) * (fl(a) / fl(b)).floor());
    /// Minimum; a NaN operand gives the other one. Of two zeros, `b`.
    fmin(a, b) -> u64 = canon(if fl(a) < fl(b) || fl(b).is_nan() { fl(a) } else { fl(b) });
    /// Maximum; a NaN operand gives the other one. Of two zeros, `b`.
    fmax(a, b) -> u64 = canon(if fl(a) > fl(b) || fl(b).is_nan() { fl(a) } else { fl(b) });
    /// `a * b + c`, rounded once.
    ffma(a, b, c) -> u64 = canon(fl(a).mul_add(fl(b), fl(c)));
    /// Equal, neither NaN.
    foeq(a, b) -> bool = fl(a) == fl(b);
    /// Different, neither NaN.
    fone(a, b) -> bool = fl(a) < fl(b) || fl(a) > fl(b);
    /// Less, neither NaN.
    folt(a, b) -> bool = fl(a) < fl(b);
    /// Less or equal, neither NaN.
    fole(a, b) -> bool = fl(a) <= fl(b);
    /// Greater, neither NaN.
    fogt(a, b) -> bool = fl(a) > fl(b);
    /// Greater or equal, neither NaN.
    foge(a, b) -> bool = fl(a) >= fl(b);
    /// Equal or a NaN.
    fueq(a, b) -> bool = !fone(a, b);
    /// Different or a NaN.
    fune(a, b) -> bool = fl(a) != fl(b);
    /// Less or a NaN.
    fult(a, b) -> bool = !foge(a, b);
    /// Less, equal or a NaN.
    fule(a, b) -> bool = !fogt(a, b);
    /// Greater or a NaN.
    fugt(a, b) -> bool = !fole(a, b);
    /// Greater, equal or a NaN.
    fuge(a, b) -> bool = !folt(a, b);
}

/// `a * 2^b`, rounded once: only the last of the products can be inexact.
#[inline(always)]
pub fn fldexp(a: u64, b: u32) -> u64 {
    let power = |e: i32| fl(((1023 + e) as u64) << 52);
    let (mut x, mut e) = (fl(a), (b as i32).clamp(-2200, 2200));
    for _ in 0..2 {
        if e > 1023 {
            x *= power(1023);
            e -= 1023;
        } else if e < -1022 {
            // 53 bits above the smallest normal, so that nothing is lost yet.
            x *= power(-969);
            e += 969;
        }
    }
    canon(x * power(e.clamp(-1022, 1023)))
}
