//! What each op does to one lane: plain functions from bits to bits.
//!
//! These are the semantics. The portable path maps them over chunks of eight
//! lanes; the AVX2 path is compiled from the same functions, or from intrinsics
//! that give the same bits (`tests/lanes.rs` holds them together).
//!
//! A float result that is a NaN is always [`NAN`]: sign, payload and operand
//! order do not show. Denormals are kept. `Bool` lanes are 0 or all ones.

pub mod bits;
pub mod compare;
pub mod convert;
pub mod cross;
pub mod float;
pub mod int;
pub mod sized;
pub mod trans;

mod series;

/// The one NaN that float ops give.
pub const NAN: u32 = 0x7FC0_0000;

/// `x` as bits, with [`NAN`] for every NaN.
#[inline(always)]
pub(crate) fn canon(x: f32) -> u32 {
    if x.is_nan() { NAN } else { x.to_bits() }
}

/// A `Bool` lane.
#[inline(always)]
pub(crate) fn truth(b: bool) -> u32 {
    if b { u32::MAX } else { 0 }
}

/// Bits as a float.
#[inline(always)]
pub(crate) fn fl(a: u32) -> f32 {
    f32::from_bits(a)
}
