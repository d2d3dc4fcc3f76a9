//! Between widths and between number formats. Names say from and to; float to
//! integer goes toward zero and saturates, NaN gives 0; all else rounds to
//! nearest even, once.

use super::{double, half};
use crate::ops::convert;

/// Half to 32-bit float; exact.
#[inline(always)]
pub fn half_to_float(a: u16) -> u32 {
    convert::half_to_float(a.into())
}

/// 32-bit float to half.
#[inline(always)]
pub fn float_to_half(a: u32) -> u16 {
    convert::float_to_half(a) as u16
}

/// Half to 64-bit float; exact.
#[inline(always)]
pub fn half_to_double(a: u16) -> u64 {
    float_to_double(half_to_float(a))
}

/// 32-bit float to 64-bit float; exact.
#[inline(always)]
pub fn float_to_double(a: u32) -> u64 {
    double::canon(f64::from(f32::from_bits(a)))
}

/// 64-bit float to 32-bit float.
#[inline(always)]
pub fn double_to_float(a: u64) -> u32 {
    crate::ops::canon(f64::from_bits(a) as f32)
}

/// 64-bit float to half.
#[inline(always)]
pub fn double_to_half(a: u64) -> u16 {
    let sign = (a >> 48) as u16 & 0x8000;
    let x = a & !(1 << 63);
    let magnitude = f64::from_bits(x);
    if magnitude.is_nan() {
        return half::NAN;
    }
    let half = if magnitude >= 65520.0 {
        0x7C00
    } else if magnitude < 6.103_515_625e-5 {
        // Below 2^-14: one unit is 2^-24, and so is that of 2^28.
        let base = 268_435_456.0f64;
        ((magnitude + base).to_bits() - base.to_bits()) as u16
    } else {
        let odd = x >> 42 & 1;
        ((x - (1008 << 52) + (1 << 41) - 1 + odd) >> 42) as u16
    };
    half | sign
}

/// Half to half: every NaN becomes one.
#[inline(always)]
pub fn half_to_half(a: u16) -> u16 {
    if half::fisnan(a) { half::NAN } else { a }
}

/// 64-bit float to itself: every NaN becomes one.
#[inline(always)]
pub fn double_to_double(a: u64) -> u64 {
    double::canon(f64::from_bits(a))
}

macro_rules! resize {
    ($($from:ident $signed:ident $zero:ident $extend:ident: $to:ident;)*) => { $(
        /// Truncated or zero-extended.
        #[inline(always)]
        pub fn $zero(a: $from) -> $to { a as $to }
        /// Truncated or sign-extended.
        #[inline(always)]
        pub fn $extend(a: $from) -> $to { a as $signed as $to }
    )* };
}

resize! {
    u8 i8 u8_to_16 s8_to_16: u16;
    u8 i8 u8_to_32 s8_to_32: u32;
    u8 i8 u8_to_64 s8_to_64: u64;
    u16 i16 u16_to_8 s16_to_8: u8;
    u16 i16 u16_to_32 s16_to_32: u32;
    u16 i16 u16_to_64 s16_to_64: u64;
    u32 i32 u32_to_8 s32_to_8: u8;
    u32 i32 u32_to_16 s32_to_16: u16;
    u32 i32 u32_to_64 s32_to_64: u64;
    u64 i64 u64_to_8 s64_to_8: u8;
    u64 i64 u64_to_16 s64_to_16: u16;
    u64 i64 u64_to_32 s64_to_32: u32;
    u64 i64 u64_to_64 s64_to_64: u64;
}

/// Float to integer: through 64-bit floats, which hold every half and float.
macro_rules! to_int {
    ($($from:ident $bits:ident: $u:ident $s:ident $to_u:ident $to_s:ident;)*) => { $(
        /// To unsigned.
        #[inline(always)]
        pub fn $to_u(a: $bits) -> $u { f64::from_bits($from(a)) as $u }
        /// To signed.
        #[inline(always)]
        pub fn $to_s(a: $bits) -> $u { f64::from_bits($from(a)) as $s as $u }
    )* };
}

to_int! {
    half_to_double u16: u8 i8 half_to_u8 half_to_s8;
    half_to_double u16: u16 i16 half_to_u16 half_to_s16;
    half_to_double u16: u32 i32 half_to_u32 half_to_s32;
    half_to_double u16: u64 i64 half_to_u64 half_to_s64;
    float_to_double u32: u8 i8 float_to_u8 float_to_s8;
    float_to_double u32: u16 i16 float_to_u16 float_to_s16;
    float_to_double u32: u64 i64 float_to_u64 float_to_s64;
    double_to_double u64: u8 i8 double_to_u8 double_to_s8;
    double_to_double u64: u16 i16 double_to_u16 double_to_s16;
    double_to_double u64: u32 i32 double_to_u32 double_to_s32;
    double_to_double u64: u64 i64 double_to_u64 double_to_s64;
}

/// Integer to float. To halves through 64-bit floats: what those cannot hold
/// exactly is far above the largest half.
macro_rules! from_int {
    ($($u:ident $s:ident: $u_to_half:ident $s_to_half:ident $u_to_float:ident $s_to_float:ident
        $u_to_double:ident $s_to_double:ident;)*) => { $(
        /// Unsigned to half.
        #[inline(always)]
        pub fn $u_to_half(a: $u) -> u16 { double_to_half((a as f64).to_bits()) }
        /// Signed to half.
        #[inline(always)]
        pub fn $s_to_half(a: $u) -> u16 { double_to_half((a as $s as f64).to_bits()) }
        /// Unsigned to 32-bit float.
        #[inline(always)]
        pub fn $u_to_float(a: $u) -> u32 { (a as f32).to_bits() }
        /// Signed to 32-bit float.
        #[inline(always)]
        pub fn $s_to_float(a: $u) -> u32 { (a as $s as f32).to_bits() }
        /// Unsigned to 64-bit float.
        #[inline(always)]
        pub fn $u_to_double(a: $u) -> u64 { (a as f64).to_bits() }
        /// Signed to 64-bit float.
        #[inline(always)]
        pub fn $s_to_double(a: $u) -> u64 { (a as $s as f64).to_bits() }
    )* };
}

from_int! {
    u8 i8: u8_to_half s8_to_half u8_to_float s8_to_float u8_to_double s8_to_double;
    u16 i16: u16_to_half s16_to_half u16_to_float s16_to_float u16_to_double s16_to_double;
    u32 i32: u32_to_half s32_to_half u32_to_float s32_to_float u32_to_double s32_to_double;
    u64 i64: u64_to_half s64_to_half u64_to_float s64_to_float u64_to_double s64_to_double;
}
