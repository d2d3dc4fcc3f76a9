//! WGSL to SPIR-V.

use crate::ShaderError;

/// Compiles WGSL `text`; messages call it `name`.
///
/// # Errors
/// Not supported yet.
pub fn compile(name: &str, _text: &str, _entry: Option<&str>) -> Result<Vec<u32>, ShaderError> {
    Err(ShaderError::unsupported(format!("{name}: WGSL is not supported by this version")))
}
