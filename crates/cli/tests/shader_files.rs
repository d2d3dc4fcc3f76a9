//! Shader files and compilers that are not what they should be: a clear error,
//! the right exit code, and never a hang.

use std::path::Path;
use std::process::{Command, Output};
use tempfile::TempDir;

fn scenario(shader: &str) -> String {
    format!(
        "Shaders: [{{Name: S, File: {shader}}}]\n\
         Buffers: [{{Name: Out, Format: UInt32, FillSize: 4}}]\n\
         DescriptorSets: [{{Resources: [{{Name: Out, Kind: RWByteAddressBuffer, \
         DirectXBinding: {{Register: 0}}}}]}}]\n\
         DispatchParameters: {{DispatchGroupCount: [1, 1, 1]}}\n"
    )
}

const GOOD: &str = "RWByteAddressBuffer Out : register(u0);\n\
                    [numthreads(1, 1, 1)] void main() { Out.Store(0, 1); }\n";

/// Runs a scenario whose shader is the file `name` with these bytes.
fn run(name: &str, bytes: &[u8], args: &[&str]) -> (Output, TempDir) {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join(name), bytes).expect("the shader");
    (run_in(folder.path(), name, args), folder)
}

fn run_in(folder: &Path, shader: &str, args: &[&str]) -> Output {
    let file = folder.join("s.yaml");
    std::fs::write(&file, scenario(shader)).expect("the scenario");
    Command::new(env!("CARGO_BIN_EXE_wavefence"))
        .args(["run", &file.display().to_string()])
        .args(args)
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
        .output()
        .expect("the program runs")
}

fn assert_ends(output: &Output, code: i32, says: &str) {
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{text}");
    assert!(text.contains(says), "{text}");
}

#[test]
fn a_good_shader_is_taken() {
    let (output, _folder) = run("s.hlsl", GOOD.as_bytes(), &[]);
    assert_ends(&output, 0, "");
}

#[test]
fn an_include_that_includes_itself_is_told_with_its_chain() {
    let text = format!("#include \"s.hlsl\"\n{GOOD}");
    let (output, _folder) = run("s.hlsl", text.as_bytes(), &[]);
    assert_ends(&output, 2, "includes itself");
}

#[test]
fn a_truncated_module_is_refused() {
    let (output, _folder) = run("s.spv", &[0x03, 0x02, 0x23, 0x07, 0, 0, 1, 0, 0, 0], &[]);
    assert_ends(&output, 2, "truncated");
    let words = [0x0723_0203u32, 0x0001_0600, 0, 10, 0, 0x0005_0011];
    let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
    let (output, _folder) = run("s.spv", &bytes, &[]);
    assert_ends(&output, 2, "SPIR-V");
}

#[test]
fn empty_and_binary_files_are_no_source() {
    let (output, _folder) = run("s.hlsl", b"", &[]);
    assert_ends(&output, 2, "empty");
    let (output, _folder) = run("s.hlsl", b"void main() {}\0", &[]);
    assert_ends(&output, 2, "NUL");
}

#[test]
fn a_folder_is_no_shader() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::create_dir(folder.path().join("s.hlsl")).expect("a folder");
    assert_ends(&run_in(folder.path(), "s.hlsl", &[]), 2, "folder");
}

#[test]
fn a_huge_shader_is_refused_without_being_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = std::fs::File::create(folder.path().join("s.hlsl")).expect("the shader");
    file.set_len(1 << 30).expect("a sparse file");
    assert_ends(&run_in(folder.path(), "s.hlsl", &[]), 2, "too large");
}

#[test]
fn a_compiler_that_is_missing_or_no_library_is_a_limit() {
    let (output, folder) = run("s.hlsl", GOOD.as_bytes(), &["--dxc", "/nonexistent/dxc.so"]);
    assert_ends(&output, 5, "not there");
    let text = folder.path().join("s.yaml").display().to_string();
    let (output, _folder) = run("s.hlsl", GOOD.as_bytes(), &["--dxc", &text]);
    assert_ends(&output, 5, "could not be loaded");
}

#[test]
fn a_compiler_that_crashes_is_told_as_that() {
    let folder = tempfile::tempdir().expect("a folder");
    let source = folder.path().join("crash.c");
    let library = folder.path().join("crash.so");
    let code = "#include <stdlib.h>\n\
                __attribute__((constructor)) static void crash(void) { abort(); }\n";
    std::fs::write(&source, code).expect("the source");
    let built = Command::new("cc")
        .args(["-shared", "-fPIC", "-o"])
        .args([&library, &source])
        .status()
        .expect("a C compiler is there, as for building");
    assert!(built.success());
    let library = library.display().to_string();
    let (output, _folder) = run("s.hlsl", GOOD.as_bytes(), &["--dxc", &library]);
    assert_ends(&output, 5, "signal");
}
