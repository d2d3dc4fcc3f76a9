//! SPIR-V text to words.

use crate::ShaderError;

/// Assembles SPIR-V `text`; messages call it `name`.
///
/// # Errors
/// Not supported yet.
pub fn assemble(name: &str, _text: &str) -> Result<Vec<u32>, ShaderError> {
    Err(ShaderError::unsupported(format!("{name}: SPIR-V text is not supported by this version")))
}
