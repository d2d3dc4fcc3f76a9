//! SPIR-V words to [`Kernel`].

use crate::ShaderError;
use crate::ir::{Kernel, WaveRule};
use std::collections::BTreeMap;

/// How SPIR-V's set and binding become a register.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum BindingRule {
    /// As our DXC command line shifts them: `b` at 0, `t` at 1024, `u` at 2048,
    /// `s` at 3072; the set is the space. Space 5746 is our prelude's.
    #[default]
    DxcShifts,
    /// Register is binding, space is set; the class follows from the type.
    Plain,
}

/// What a module leaves open.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LowerOptions {
    /// Entry point by name; `None` takes the module's only compute entry point.
    pub entry: Option<String>,
    /// Bits of specialization constants by their `SpecId`.
    pub spec_constants: BTreeMap<u32, u64>,
    /// How bindings are read.
    pub bindings: BindingRule,
    /// Elements given to an unbounded array of resources.
    pub unbounded_count: u32,
    /// Wave sizes the kernel may run with: SPIR-V cannot say.
    pub wave: WaveRule,
    /// Register and space of the constant buffer that push constants become;
    /// `None` refuses them.
    pub push_constants: Option<(u32, u32)>,
}

impl Default for LowerOptions {
    fn default() -> Self {
        Self {
            entry: None,
            spec_constants: BTreeMap::new(),
            bindings: BindingRule::DxcShifts,
            unbounded_count: 64,
            wave: WaveRule::Wave64,
            push_constants: None,
        }
    }
}

/// Lowers one entry point of a SPIR-V module.
///
/// # Errors
/// A [`ShaderError`] that names the instruction, its word offset and the source
/// line if known: the module is damaged, uses something not supported, or is
/// larger than this crate's limits.
pub fn kernel(words: &[u32], options: &LowerOptions) -> Result<Kernel, ShaderError> {
    let _ = (words, options);
    Err(ShaderError::unsupported("SPIR-V is not lowered by this version"))
}
