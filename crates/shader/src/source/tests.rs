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
    insta::assert_snapshot!(read_error(dir, "a.txt", b"x"), @"source error: DIR/a.txt: the extension names no shader language (.hlsl, .wgsl, .comp, .glsl, .spvasm, .spv)");
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

const GLSL: &str = "#version 450
layout(local_size_x = 64) in;
layout(set = 1, binding = 2) buffer O { uint o[]; };
layout(push_constant) uniform P { uint k; } p;
void main() { o[gl_GlobalInvocationID.x] = gl_LocalInvocationIndex * FACTOR + p.k; }
";

fn glsl(text: &str, glslang: Option<&str>) -> Result<Kernel, ShaderError> {
    let options = CompileOptions {
        defines: vec![("FACTOR".into(), Some("3".into()))],
        glslang: glslang.map(Into::into),
        ..CompileOptions::default()
    };
    let source = Source::text(Language::Glsl, "dir/a.comp", text);
    load_kernel(&source, &options, &LowerOptions::default())
}

#[test]
fn glsl_goes_through_naga() {
    insta::assert_snapshot!(glsl(GLSL, Some("/nowhere")).unwrap(), @"
    kernel main [64, 1, 1] wave64
    b0, space5747 p: cbuffer readonly
    u2, space1 O: structured(4)
      %0 = global_id.x
      %1 = thread_index
      %3 = imul %1, 3
      %4 = load p @ 0
      %5 = iadd %3, %4
      store O @ %0 * 4 <- %5
    ");
}

#[test]
fn what_naga_does_not_take_goes_to_glslang() {
    let text = GLSL.replace("FACTOR", "N").replacen(
        "layout(set",
        "layout(constant_id = 3) const uint N = 4;\nlayout(set",
        1,
    );
    insta::assert_snapshot!(glsl(&text, Some("/nowhere")).unwrap_err(), @"missing tool: naga does not take this GLSL (dir/a.comp: specialization constants, which naga puts defaults in for), and /nowhere is not there; it was to be glslang (WAVEFENCE_GLSLANG)");
    let (good, bad) = (glsl(&text, None), glsl(&text.replace("p.k", "q.k"), None));
    if glslang::find(None).is_err() {
        // Without it both say how to get it.
        for answer in [good, bad] {
            assert_eq!(answer.unwrap_err().kind, ShaderErrorKind::MissingTool);
        }
        return;
    }
    insta::assert_snapshot!(good.unwrap(), @"
    kernel main [64, 1, 1] wave64
    b0, space5747 p: cbuffer readonly
    u2, space1 O: structured(4)
      %0 = global_id.x
      %1 = thread_index
      %3 = shl %1, 2
      %4 = load p @ 0
      %5 = iadd %3, %4
      store O @ %0 * 4 <- %5
    ");
    insta::assert_snapshot!(bad.unwrap_err(), @"dir/a.comp:6: source error: 'q' : undeclared identifier");
}

#[test]
fn a_missing_dxc_or_helper_is_named() {
    let source = Source::text(Language::Hlsl, "a.hlsl", "[numthreads(1,1,1)] void main() {}");
    let options = CompileOptions { dxc: Some("/none/lib.so".into()), ..CompileOptions::default() };
    let error = compile(&source, &options).unwrap_err();
    assert_eq!(error.kind, ShaderErrorKind::MissingTool);
    assert!(error.what.contains("/none/lib.so"), "{error}");
}
