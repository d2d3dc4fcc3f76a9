//! Comparisons; results are `Bool` lanes.

use super::{fl, truth};

macro_rules! compare {
    ($($(#[$doc:meta])* $name:ident($a:ident, $b:ident) = $e:expr;)*) => { $(
        $(#[$doc])*
        #[inline(always)]
        pub fn $name($a: u32, $b: u32) -> u32 { truth($e) }
    )* };
}

compare! {
    /// Same bits.
    ieq(a, b) = a == b;
    /// Different bits.
    ine(a, b) = a != b;
    /// Unsigned less.
    ult(a, b) = a < b;
    /// Unsigned less or equal.
    ule(a, b) = a <= b;
    /// Unsigned greater.
    ugt(a, b) = a > b;
    /// Unsigned greater or equal.
    uge(a, b) = a >= b;
    /// Signed less.
    slt(a, b) = (a as i32) < b as i32;
    /// Signed less or equal.
    sle(a, b) = a as i32 <= b as i32;
    /// Signed greater.
    sgt(a, b) = a as i32 > b as i32;
    /// Signed greater or equal.
    sge(a, b) = a as i32 >= b as i32;
    /// Equal, neither NaN.
    foeq(a, b) = fl(a) == fl(b);
    /// Different, neither NaN.
    fone(a, b) = fl(a) < fl(b) || fl(a) > fl(b);
    /// Less, neither NaN.
    folt(a, b) = fl(a) < fl(b);
    /// Less or equal, neither NaN.
    fole(a, b) = fl(a) <= fl(b);
    /// Greater, neither NaN.
    fogt(a, b) = fl(a) > fl(b);
    /// Greater or equal, neither NaN.
    foge(a, b) = fl(a) >= fl(b);
    /// Equal or a NaN.
    fueq(a, b) = !(fl(a) < fl(b) || fl(a) > fl(b));
    /// Different or a NaN.
    fune(a, b) = fl(a) != fl(b);
    /// Less or a NaN.
    fult(a, b) = either_nan(a, b) || fl(a) < fl(b);
    /// Less, equal or a NaN.
    fule(a, b) = either_nan(a, b) || fl(a) <= fl(b);
    /// Greater or a NaN.
    fugt(a, b) = either_nan(a, b) || fl(a) > fl(b);
    /// Greater, equal or a NaN.
    fuge(a, b) = either_nan(a, b) || fl(a) >= fl(b);
}

/// True if one of them is a NaN.
#[inline(always)]
fn either_nan(a: u32, b: u32) -> bool {
    fl(a).is_nan() || fl(b).is_nan()
}

/// Is a NaN.
#[inline(always)]
pub fn fisnan(a: u32) -> u32 {
    truth(a & 0x7FFF_FFFF > 0x7F80_0000)
}

/// Is an infinity.
#[inline(always)]
pub fn fisinf(a: u32) -> u32 {
    truth(a & 0x7FFF_FFFF == 0x7F80_0000)
}
