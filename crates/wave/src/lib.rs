//! What one wave does: registers as lane arrays, the exec mask, lane semantics
//! by op family, the vectorised interpreter, and [`exec::Executor`].
//!
//! Rules this crate keeps:
//! - One semantics: every op is one plain function over lane arrays; the AVX2
//!   path and the portable path give the same bits.
//! - Transcendentals are our own polynomials, never libm or a hardware
//!   approximation, so results are the same on every machine.
//! - 8 and 16 bits lie zero-extended in a word per lane, 64 bits in two rows of
//!   words; what is 32 bits wide keeps its own, quicker forms.
//! - A wave counts what it issues by family ([`exec::Issued`]); what that takes is for
//!   the device to say.
//! - A wave can stop at a barrier, at an ordered operation or when its budget
//!   ends, and be run on later from there.
//!
//! It knows nothing about packets, queues, dispatch order or Direct3D.

pub mod descriptor;
pub mod exec;
pub mod image;
pub mod interp;
pub mod ops;
pub mod sampler;
pub mod texel;

mod program;
mod simd;
