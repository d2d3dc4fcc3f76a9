//! Random programs with every kind of structured control flow, through both
//! front ends, against the languages' own rules.
#![allow(clippy::unwrap_used)]

mod common;
#[path = "support/eval.rs"]
mod eval;
#[path = "support/program.rs"]
mod program;

use program::{Program, Random, VARS};
use wavefence_shader::ir::Kernel;
use wavefence_shader::lower::LowerOptions;
use wavefence_shader::{CompileOptions, Language, Source, load_kernel};

const LANES: usize = 16;

fn holds(program: &Program, kernel: &Kernel, text: &str) {
    let mut wave = eval::Wave::new(kernel, LANES);
    wave.buffers.insert("Out".into(), vec![0xFFFF; LANES * VARS]);
    wave.run();
    let got = &wave.buffers["Out"];
    for lane in 0..LANES {
        let want = program.run(lane as u32);
        let have = &got[lane * VARS..(lane + 1) * VARS];
        assert_eq!(have, want, "lane {lane} of\n{text}\n{kernel}");
    }
}

fn check(seed: u64, hlsl: bool, options: &CompileOptions) {
    let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
    let program = Program::random(&mut random, hlsl);
    let text = program.print(hlsl);
    let language = if hlsl { Language::Hlsl } else { Language::Wgsl };
    let kernel =
        load_kernel(&Source::text(language, "p", text.clone()), options, &LowerOptions::default());
    let kernel = kernel.unwrap_or_else(|e| panic!("seed {seed}: {e}\n{text}"));
    holds(&program, &kernel, &text);
}

#[test]
fn random_wgsl_programs() {
    let options = CompileOptions::default();
    for seed in 0..300 {
        check(seed, false, &options);
    }
}

#[test]
fn random_hlsl_programs() {
    let options = common::options();
    for seed in 0..100 {
        check(seed, true, &options);
    }
}
