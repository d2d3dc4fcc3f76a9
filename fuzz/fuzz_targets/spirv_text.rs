//! Any text, assembled as SPIR-V.
#![no_main]

use libfuzzer_sys::fuzz_target;
use wavefence_shader::assemble::assemble;

fuzz_target!(|data: &[u8]| {
    if let Ok(text) = std::str::from_utf8(data) {
        let _ = assemble("fuzz.spvasm", text);
    }
});
