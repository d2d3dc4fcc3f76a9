//! The scenario file: format, runner and judge.
//!
//! Rules this crate keeps:
//! - Every mistake in a file is reported with line and column and, for a name or
//!   key, the nearest known one; all mistakes of a file in one go.
//! - Nothing in a file is ignored: an unknown key is an error, a known key that
//!   this version cannot honour is refused as unsupported.
//! - No text takes the machine down: length, nodes, depth, calls and buffer sizes
//!   are bounded.
//! - "It ran" is never "it passed": a run passes if its `Results` and `Expect`
//!   say so.
//!
//! It knows nothing about packets; it calls `d3d` as a title would. It prints
//! nothing.

pub mod compare;
pub mod explore;
pub mod expr;
pub mod filecheck;
pub mod format;
pub mod load;
pub mod node;
pub mod number;
pub mod offload;
pub mod problem;
pub mod reader;
pub mod run;

pub use format::Scenario;
pub use problem::{Problem, ProblemKind, Problems, Source, Span};
