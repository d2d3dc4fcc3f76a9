//! Ops on widths other than 32 bits: plain functions over `u8`, `u16` and `u64`
//! bits, with the rules of their 32-bit namesakes. The one NaN of a width is the
//! quiet one without sign and payload, as for 32 bits.
//!
//! Halves are computed in 32-bit or 64-bit floats and rounded once: a sum,
//! product, quotient or root of halves rounded to 24 bits first rounds to the
//! same 11 bits, since 24 is at least twice 11 and 2 more.

pub mod convert;
pub mod double;
pub mod half;
pub mod ints;
pub mod reduce;
