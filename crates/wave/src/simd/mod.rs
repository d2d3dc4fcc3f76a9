//! The register file and the lane ops over it: the only `unsafe` of the crate.
//!
//! Why it is sound:
//! - [`Code`] holds ops that were checked when they were pushed: every operand
//!   range lies within `Code::need` chunks. [`Code::run`] compares `need` with
//!   the file's length once; after that the ops use raw pointers into the file.
//! - Ops run one after the other on one thread that holds `&mut File`, so raw
//!   reads and writes of chunks do not race. Operands may overlap the result:
//!   each function loads a chunk of every operand before it stores that chunk.
//! - Functions compiled for AVX2 are put in a table only if the CPU was seen to
//!   have AVX2, FMA and BMI ([`Isa::detect`]); `Isa::Avx2` cannot be made elsewhere.
//! - Casts between chunks and words rely on `Chunk` being `repr(C)` around
//!   `[u32; 8]`, with no padding.
#![allow(unsafe_code, reason = "raw register access and CPU intrinsics, argued above")]

mod choose;
pub mod file;
mod lanes;
mod lds;
mod sized;
mod table;
#[cfg(target_arch = "x86_64")]
mod x86;

pub use choose::{as_words, bits};
pub use file::{File, Loc};
pub use lds::Offsets;
pub use table::{Code, Isa, LaneKind};
