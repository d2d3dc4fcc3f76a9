//! WGSL to SPIR-V.
