//! Any words, lowered to the wave IR under both binding rules.
#![no_main]

use libfuzzer_sys::fuzz_target;
use wavefence_shader::lower::{self, BindingRule, LowerOptions};
use wavefence_shader::source::{CompileOptions, Source, load_kernel};

fuzz_target!(|data: &[u8]| {
    let words: Vec<u32> = data
        .chunks_exact(4)
        .map(|c| u32::from_le_bytes([c[0], c[1], c[2], c[3]]))
        .collect();
    for bindings in [BindingRule::DxcShifts, BindingRule::Direct3D, BindingRule::Plain] {
        let options = LowerOptions { bindings, ..LowerOptions::default() };
        let _ = lower::kernel(&words, &options);
    }
    let source = Source::spirv("fuzz.spv", data);
    let _ = load_kernel(&source, &CompileOptions::default(), &LowerOptions::default());
});
