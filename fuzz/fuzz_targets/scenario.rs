//! Any text, read as a scenario; problems are rendered too.
#![no_main]

use libfuzzer_sys::fuzz_target;
use wavefence_scenario::{Source, format};

fuzz_target!(|data: &[u8]| {
    if let Ok(text) = std::str::from_utf8(data) {
        let source = Source::new("fuzz.yaml", text);
        if let Err(problems) = format::parse(&source) {
            for report in problems.diagnostics() {
                let _ = format!("{report:?}");
            }
        }
    }
});
