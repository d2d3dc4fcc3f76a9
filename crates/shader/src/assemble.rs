//! SPIR-V text to words.
