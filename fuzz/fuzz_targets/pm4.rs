//! Any words, read as packets of any generation and ring, then printed; and any
//! bytes read as a dump.
#![no_main]

use libfuzzer_sys::fuzz_target;
use wavefence_base::Generation;
use wavefence_pm4::{Ring, decode_stream, parse_dump, print};

fuzz_target!(|data: &[u8]| {
    let _ = parse_dump(data);
    let words: Vec<u32> = data
        .chunks_exact(4)
        .map(|c| u32::from_le_bytes([c[0], c[1], c[2], c[3]]))
        .collect();
    for generation in Generation::ALL {
        for ring in [Ring::Graphics, Ring::Compute, Ring::Sdma] {
            for (_, packet) in decode_stream(&words, generation, ring).flatten() {
                let _ = print(&packet);
            }
        }
    }
});
