//! Sources that need no compiler: files, languages, damaged words.

use super::*;

#[test]
fn languages_by_extension() {
    let by = |name: &str| Language::from_path(Path::new(name));
    assert_eq!(by("a/b.HLSL"), Some(Language::Hlsl));
    assert_eq!(by("b.spv"), Some(Language::SpirvBinary));
    assert_eq!(by("b.spvasm"), Some(Language::SpirvText));
    assert_eq!(by("b.txt"), None);
    assert_eq!(by("b"), None);
}

fn read_error(dir: &Path, name: &str, bytes: &[u8]) -> String {
    let path = dir.join(name);
    std::fs::write(&path, bytes).unwrap();
    let error = Source::read(&path, None).unwrap_err();
    error.to_string().replace(&dir.display().to_string(), "DIR")
}

#[test]
fn files_that_are_no_source_say_why() {
    let tmp = tempfile::tempdir().unwrap();
    let dir = tmp.path();
    insta::assert_snapshot!(read_error(dir, "empty.hlsl", b""), @"source error: DIR/empty.hlsl: the file is empty");
    insta::assert_snapshot!(read_error(dir, "nul.hlsl", b"void\n\0"), @"source error: DIR/nul.hlsl: NUL byte at offset 5 (line 2): this is not a text file");
    insta::assert_snapshot!(read_error(dir, "a.txt", b"x"), @"source error: DIR/a.txt: the extension names no shader language (.hlsl, .wgsl, .spvasm, .spv)");
    let sub = dir.join("sub.hlsl");
    std::fs::create_dir(&sub).unwrap();
    let error = Source::read(&sub, None).unwrap_err();
    assert!(error.what.ends_with("it is a folder, not a shader source"), "{error}");
    let big = dir.join("big.hlsl");
    std::fs::File::create(&big).unwrap().set_len(1 << 30).unwrap();
    let error = Source::read(&big, None).unwrap_err();
    assert!(error.what.contains("1024 MiB is too large"), "{error}");
}

fn words_error(bytes: &[u8]) -> String {
    let source = Source::spirv("m.spv", bytes);
    compile(&source, &CompileOptions::default()).unwrap_err().to_string()
}

#[test]
fn damaged_spirv_says_how() {
    let header: Vec<u8> =
        [0x0723_0203u32, 0x0001_0500, 0, 8, 0].iter().flat_map(|w| w.to_le_bytes()).collect();
    insta::assert_snapshot!(words_error(&header[..7]), @"invalid SPIR-V: m.spv: 7 bytes are too few for a SPIR-V module (truncated?)");
    insta::assert_snapshot!(words_error(&[b'x'; 24]), @"invalid SPIR-V: m.spv: not SPIR-V: the first word is 0x78787878");
    let with = |words: &[u32]| {
        let mut bytes = header.clone();
        bytes.extend(words.iter().flat_map(|w| w.to_le_bytes()));
        bytes
    };
    insta::assert_snapshot!(words_error(&with(&[0x0002_0011])), @"invalid SPIR-V: m.spv: truncated: the instruction at word 5 has 2 words, but 1 are left");
    insta::assert_snapshot!(words_error(&with(&[0])), @"invalid SPIR-V: m.spv: the instruction at word 5 has a length of 0");
    insta::assert_snapshot!(words_error(&with(&[0])[..23]), @"invalid SPIR-V: m.spv: 23 bytes are no whole number of words (truncated?)");
}

#[test]
fn both_byte_orders_are_read() {
    let words = [0x0723_0203u32, 0x0001_0500, 0, 8, 0, 0x0002_0011, 1];
    let little: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
    let big: Vec<u8> = words.iter().flat_map(|w| w.to_be_bytes()).collect();
    for bytes in [little, big] {
        let done = compile(&Source::spirv("m", bytes), &CompileOptions::default()).unwrap();
        assert_eq!(done.words, words);
        assert_eq!(done.wave, WaveRule::Wave64);
    }
}

#[test]
fn glsl_is_refused_by_name() {
    let source = Source::text(Language::Glsl, "a.comp", "void main() {}");
    let error = compile(&source, &CompileOptions::default()).unwrap_err();
    assert_eq!(error.kind, ShaderErrorKind::Unsupported);
    assert!(error.what.starts_with("a.comp: GLSL"), "{error}");
}

#[test]
fn a_missing_dxc_or_helper_is_named() {
    let source = Source::text(Language::Hlsl, "a.hlsl", "[numthreads(1,1,1)] void main() {}");
    let options = CompileOptions { dxc: Some("/none/lib.so".into()), ..CompileOptions::default() };
    let error = compile(&source, &options).unwrap_err();
    assert_eq!(error.kind, ShaderErrorKind::MissingTool);
    assert!(error.what.contains("/none/lib.so"), "{error}");
}
