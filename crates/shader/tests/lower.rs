//! SPIR-V that DXC made, lowered: the IR of the benchmark kernels word for word,
//! and damaged modules refused.
//!
//! `fixtures/*.spv` is what DXC 1.8 makes of the benchmark kernels and of
//! `fixtures/features.hlsl` with the command line of this crate.
#![allow(clippy::unwrap_used)]

use wavefence_shader::ShaderErrorKind;
use wavefence_shader::ir::Kernel;
use wavefence_shader::lower::{self, LowerOptions};

const FIXTURES: [(&str, &[u8]); 9] = [
    ("saxpy", include_bytes!("fixtures/saxpy.spv")),
    ("mandel", include_bytes!("fixtures/mandel.spv")),
    ("scan", include_bytes!("fixtures/scan.spv")),
    ("bitonic", include_bytes!("fixtures/bitonic.spv")),
    ("hist", include_bytes!("fixtures/hist.spv")),
    ("nbody", include_bytes!("fixtures/nbody.spv")),
    ("matmul", include_bytes!("fixtures/matmul.spv")),
    ("blur", include_bytes!("fixtures/blur.spv")),
    ("features", include_bytes!("fixtures/features.spv")),
];

fn words(bytes: &[u8]) -> Vec<u32> {
    bytes.chunks_exact(4).map(|c| u32::from_le_bytes(c.try_into().unwrap())).collect()
}

fn lowered(name: &str) -> Kernel {
    let (_, bytes) = FIXTURES.iter().find(|f| f.0 == name).unwrap();
    lower::kernel(&words(bytes), &LowerOptions::default()).unwrap()
}

#[test]
fn kernels_lower_to_this() {
    for (name, _) in FIXTURES {
        insta::assert_snapshot!(name, lowered(name));
    }
}

#[test]
fn lines_are_kept() {
    let kernel = lowered("saxpy");
    let mut lines = Vec::new();
    kernel.walk(&mut |stmt| {
        if let wavefence_shader::ir::Stmt::Inst(_, loc) = stmt {
            lines.extend(kernel.line(*loc));
        }
    });
    assert!(!lines.is_empty());
    assert!(lines.iter().all(|l| l.ends_with("saxpy.hlsl:4")), "{lines:?}");
}

/// A small generator: the same damage on every machine.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }
}

/// Damages a module in one to three places.
fn damage(words: &[u32], random: &mut Random) -> Vec<u32> {
    let mut out = words.to_vec();
    for _ in 0..=random.below(3) {
        let at = random.below(out.len());
        match random.below(8) {
            0 => out[at] ^= 1 << random.below(32),
            1 => out[at] = random.next() as u32,
            2 => out[at] = random.below(80) as u32,
            3 => out[at] = out[random.below(out.len())],
            4 => out.truncate(at.max(5)),
            5 => _ = out.remove(at),
            6 => out.insert(at, random.below(64) as u32),
            // One instruction over another of the same length, or its opcode.
            _ => out[at] = (out[at] & 0xFFFF_0000) | (random.below(400) as u32),
        }
    }
    out
}

#[test]
fn damaged_modules_are_refused_not_fatal() {
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    let modules: Vec<Vec<u32>> = FIXTURES.iter().map(|f| words(f.1)).collect();
    let options = LowerOptions::default();
    let mut taken = 0;
    let mut refused = 0;
    for i in 0..100_000 {
        // Small modules are damaged more often.
        let module =
            &modules[if i % 16 == 0 { random.below(modules.len()) } else { random.below(5) }];
        let words = damage(module, &mut random);
        match lower::kernel(&words, &options) {
            Ok(_) => taken += 1,
            Err(e) => {
                assert_ne!(e.kind, ShaderErrorKind::Internal, "{e} (number {i})");
                refused += 1;
            }
        }
    }
    // Most damage shows; some hits names or line numbers.
    assert!(taken > 1_000 && refused > 10_000, "{taken} taken, {refused} refused");
}

#[test]
fn words_that_are_no_module_say_why() {
    let options = LowerOptions::default();
    let refuse = |words: &[u32]| lower::kernel(words, &options).unwrap_err().to_string();
    let module = words(FIXTURES[0].1);
    let mut endless = module.clone();
    endless[5] = 0xFFFF_0011;
    let mut unknown = module.clone();
    unknown[5] = 0x0002_FFFF;
    let mut bound = module.clone();
    bound[3] = u32::MAX;
    let texts = [
        refuse(&[]),
        refuse(&[0x0723_0203, 0]),
        refuse(&[1, 2, 3, 4, 5]),
        refuse(&[0x0302_2307, 0, 0, 1, 0]),
        refuse(&module[..5]),
        refuse(&endless),
        refuse(&unknown),
        refuse(&bound),
    ];
    insta::assert_snapshot!(texts.join("\n"), @"
    invalid SPIR-V: 0 words are no module: a header has 5
    invalid SPIR-V: 2 words are no module: a header has 5
    invalid SPIR-V: 0x00000001 is no SPIR-V magic number
    invalid SPIR-V: the module is in the other byte order
    bad option: the module has no compute entry point
    invalid SPIR-V: OpCapability runs past the end of the module (at word 5)
    invalid SPIR-V: unknown opcode 65535 (at word 5)
    limit: id bound 4294967295 is above 4194304
    ");
}

#[test]
fn entry_points_are_picked_by_name() {
    let module = words(FIXTURES[0].1);
    let options = LowerOptions { entry: Some("other".into()), ..LowerOptions::default() };
    let e = lower::kernel(&module, &options).unwrap_err();
    assert_eq!(e.kind, ShaderErrorKind::Options);
    insta::assert_snapshot!(e, @"bad option: no compute entry point other; there is: main");
}
