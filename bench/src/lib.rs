//! Eight kernels that other engines were measured on, with their inputs and
//! checks.
//!
//! `bench/kernels/*.hlsl` are kept as they were when the peers were measured.
//! Every case states a reference that does not come from Wavefence.

pub mod cases;
mod run;
pub mod schedules;
mod small;

pub use cases::{Case, NAMES, case};
pub use run::{Engine, Measured, Setup, helper_path, measure, spirv};
pub use small::SMALL;
