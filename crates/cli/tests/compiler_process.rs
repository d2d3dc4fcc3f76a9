//! A compiler that is missing, crashes or is no compiler: what the user is told.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

const SCENARIO: &str = "
Buffers: [{Name: Out, Format: UInt32, Stride: 4, FillSize: 256}]
Shaders: [{Name: Fill, File: fill.hlsl}]
DescriptorSets:
  - Name: Set
    Resources: [{Name: Out, Kind: RWStructuredBuffer, DirectXBinding: {Register: 0}}]
Queues: [{Name: Q, Type: Compute}]
CommandLists: [{Name: L, Type: Compute, Calls: []}]
Submit: [{Queue: Q, List: L}]
";

const SHADER: &str = "RWStructuredBuffer<uint> o : register(u0);\n\
    [numthreads(64, 1, 1)] void main(uint3 id : SV_DispatchThreadID) { o[id.x] = 1; }\n";

/// Runs the scenario in `folder` with `variables` set.
fn run(folder: &Path, shader: &str, variables: &[(&str, &str)]) -> Output {
    fs::write(folder.join("s.yaml"), SCENARIO).unwrap();
    fs::write(folder.join("fill.hlsl"), shader).unwrap();
    Command::new(env!("CARGO_BIN_EXE_wavefence"))
        // Where DXC is, as seen from the repository.
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."))
        .arg("run")
        .arg(folder.join("s.yaml"))
        .envs(variables.iter().copied())
        .output()
        .unwrap()
}

fn told(output: &Output, code: i32, parts: &[&str]) {
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{text}");
    for part in parts {
        assert!(text.contains(part), "`{part}` is missing in: {text}");
    }
}

#[test]
fn the_compiler_runs_in_this_program() {
    let tmp = tempfile::tempdir().unwrap();
    told(&run(tmp.path(), SHADER, &[]), 0, &[]);
}

#[test]
fn a_missing_compiler_says_how_to_get_one() {
    let tmp = tempfile::tempdir().unwrap();
    let output = run(tmp.path(), SHADER, &[("WAVEFENCE_DXC", "/none/libdxcompiler.so")]);
    told(&output, 5, &["missing tool", "/none/libdxcompiler.so"]);
    let fake = tmp.path().join("fake.so");
    fs::write(&fake, "no library").unwrap();
    let output = run(tmp.path(), SHADER, &[("WAVEFENCE_DXC", fake.to_str().unwrap())]);
    told(&output, 5, &["HLSL needs Microsoft's DXC", "`make` fetches it"]);
}

#[test]
fn a_compiler_that_crashes_is_named() {
    let tmp = tempfile::tempdir().unwrap();
    let helper = tmp.path().join("helper.sh");
    // Says hello as the child does, then dies as a crashing DXC does.
    let script = "#!/bin/sh\nprintf '\\017\\000\\000\\000wavefence-dxc 1'\nkill -SEGV $$\n";
    fs::write(&helper, script).unwrap();
    fs::set_permissions(&helper, fs::Permissions::from_mode(0o755)).unwrap();
    let output = run(tmp.path(), SHADER, &[("WAVEFENCE_HELPER", helper.to_str().unwrap())]);
    told(&output, 5, &["DXC crashed (signal 11 SIGSEGV)"]);
    let output = run(tmp.path(), SHADER, &[("WAVEFENCE_HELPER", "/none/helper")]);
    told(&output, 5, &["missing tool", "WAVEFENCE_HELPER names /none/helper"]);
}

#[test]
fn sources_that_do_not_compile_are_pointed_into() {
    let tmp = tempfile::tempdir().unwrap();
    let wrong = SHADER.replace("= 1;", "= nope;");
    told(&run(tmp.path(), &wrong, &[]), 2, &["undeclared identifier 'nope'", "fill.hlsl:2:"]);
    let ring = "#include \"fill.hlsl\"\n";
    told(&run(tmp.path(), ring, &[]), 2, &["includes itself", "fill.hlsl -> "]);
}
