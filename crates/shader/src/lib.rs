//! HLSL, WGSL, GLSL and SPIR-V in; one validated wave IR ([`ir::Kernel`]) out.
//!
//! Rules this crate keeps:
//! - A module is validated once, here; engines trust the [`ir::Kernel`].
//! - What is not supported is refused by name and place ([`ShaderError`]).
//! - Semantics that engines could decide differently (contraction, rounding,
//!   undefined values) are decided here, once.
//!
//! It knows nothing about packets, queues, caches or Direct3D calls.

pub mod assemble;
pub mod dxc;
pub mod error;
pub mod glslang;
pub mod ir;
pub mod lower;
pub mod prelude;
pub mod source;
pub mod wgsl;

pub use error::{ShaderError, ShaderErrorKind};
pub use source::{
    Code, CompileOptions, Compiled, Language, Loaded, Source, compile, load, load_kernel,
};
