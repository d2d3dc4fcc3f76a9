//! Microsoft's HLSL compiler (DXC), in a child process.
//!
//! DXC is a shared library found at run time and can crash on valid input, so
//! it never runs in the caller's process. The child is the `wavefence` binary
//! with the hidden word [`HELPER_WORD`]; it calls [`child_main`]. Parent and
//! child talk in length-prefixed frames over the child's stdin and stdout
//! ([`protocol`]). One child serves many compiles ([`helper`]); one that dies or
//! runs over its time is reported for the compile at hand and replaced for the
//! next.
//!
//! No `unsafe` here: `hassle-rs` holds all of it, in the child.

pub(crate) mod args;
pub(crate) mod attributes;
mod child;
pub(crate) mod diagnostics;
mod find;
pub(crate) mod helper;
mod include;
pub(crate) mod protocol;

pub use child::child_main;
pub use find::{HELPER_VARIABLE, LIBRARY_VARIABLE, find_helper, find_library};

/// The hidden first argument that makes the `wavefence` binary a DXC child.
pub const HELPER_WORD: &str = "__dxc";
