//! `wavefence offload` over small tests of our own, in the suite's form:
//! `tests/offload`. The shipped program runs them; each row below says what becomes
//! of one, and why.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/offload")
}

fn offload(folder: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_wavefence"))
        .current_dir(folder)
        .arg("offload")
        .args(args)
        .output()
        .expect("the program starts")
}

fn lines(output: &Output) -> Vec<String> {
    String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect()
}

fn last(output: &Output) -> String {
    lines(output).pop().unwrap_or_default()
}

/// What a line that begins with `word path: ` says then.
fn said(output: &Output, word: &str, path: &str) -> String {
    let head = format!("{word} {path}: ");
    let found = lines(output).into_iter().find_map(|l| l.strip_prefix(&head).map(str::to_owned));
    found.unwrap_or_else(|| {
        let all = String::from_utf8_lossy(&output.stdout).into_owned();
        panic!("no line {head}\n{all}\n{}", String::from_utf8_lossy(&output.stderr))
    })
}

#[test]
fn each_verdict_and_its_reason() {
    let output = offload(&folder(), &["lit", "--jobs", "2"]);
    for (word, path, part) in [
        ("FAIL", "lit/check-fails.test", "RUN line 1: FileCheck: line 2: CHECK: b: not found"),
        ("FAIL", "lit/unknown-command.test", "`frobnicate` is not known here"),
        ("SKIP", "lit/graphics.test", "graphics: DXC target vs_6_0"),
        ("SKIP", "lit/ray-tracing.test", "ray tracing: DXC target lib_6_5"),
        ("SKIP", "lit/requires-graphics.test", "graphics: REQUIRES: MeshShader (line 1)"),
        ("SKIP", "lit/requires-feature.test", "waves of 128 lanes"),
        ("SKIP", "lit/unsupported.test", "for this target: UNSUPPORTED: Clang || Vulkan"),
        ("SKIP", "lit/other-tool.test", "needs another tool"),
        ("SKIP", "lit/no-run.test", "no RUN line"),
        ("SKIP", "lit/local/left-out.test", "lit.local.cfg: unsupported where !DirectX"),
    ] {
        let said = said(&output, word, path);
        assert!(said.contains(part), "{path}: {said}");
    }
    assert_eq!(last(&output), "2 passed, 2 failed, 8 skipped");
    // Bad input comes before a wrong result.
    assert_eq!(output.status.code(), Some(2));
    let texts = lines(&output).join("\n");
    assert!(texts.contains("skipped, graphics: 2\n"), "{texts}");
    // The order is that of the paths.
    let paths: Vec<_> = lines(&output)
        .iter()
        .filter_map(|l| l.split_once(' ').filter(|(w, _)| matches!(*w, "FAIL" | "SKIP")))
        .map(|(_, rest)| rest.to_owned())
        .collect();
    assert!(paths.is_sorted(), "{paths:?}");
}

#[test]
fn shaders_run_and_are_judged() {
    let output = offload(&folder(), &["dxc"]);
    let wrong = said(&output, "FAIL", "dxc/wrong.test");
    assert!(wrong.contains("RUN line 27: TooFar"), "{wrong}");
    let expected = said(&output, "SKIP", "dxc/expected-failure.test");
    assert!(expected.starts_with("expected failure: XFAIL: DXC && Vulkan (line 16)"), "{expected}");
    let passes = said(&output, "PASS", "dxc/unexpected-pass.test");
    assert!(passes.contains("passes in spite of XFAIL"), "{passes}");
    let refused = said(&output, "SKIP", "dxc/refused-by-dxc.test");
    assert!(refused.starts_with("DXC refuses it: ") && refused.contains("no_such_function"));
    assert_eq!(last(&output), "4 passed, 1 failed, 2 skipped");
    assert_eq!(output.status.code(), Some(4));
}

/// `path`, verdict and hash of each test in a JSON report.
fn hashes(args: &[&str]) -> Vec<(String, String)> {
    let folder_of_report = tempfile::tempdir().expect("a temporary folder");
    let path = folder_of_report.path().join("r.json");
    let report = format!("--report=json={}", path.display());
    let mut all = vec!["dxc", report.as_str()];
    all.extend(args);
    offload(&folder(), &all);
    let text = std::fs::read_to_string(&path).expect("the report is written");
    let json: serde_json::Value = serde_json::from_str(&text).expect("the report is JSON");
    let tests = json["tests"].as_array().expect("a list of tests");
    assert_eq!(tests.len(), 7);
    let text = |v: &serde_json::Value| v.to_string();
    tests.iter().map(|t| (text(&t["path"]), text(&t["verdict"]) + &text(&t["bytes"]))).collect()
}

#[test]
fn model_and_fast_run_give_the_same_bytes() {
    let model = hashes(&[]);
    assert!(model.iter().filter(|(_, hash)| hash.len() > 20).count() >= 5, "{model:?}");
    assert_eq!(model, hashes(&["--fast"]));
    assert_eq!(model, hashes(&["--wave", "32", "--fast"]));
}

#[test]
fn a_test_that_does_not_end_is_ended() {
    let output = offload(&folder(), &["limits", "--time-limit", "2"]);
    let said = said(&output, "FAIL", "limits/endless.test");
    assert!(said.contains("more than 2 s"), "{said}");
    assert_eq!(last(&output), "0 passed, 1 failed, 0 skipped");
    assert_eq!(output.status.code(), Some(5));
}

#[test]
fn tests_are_chosen() {
    let listed =
        offload(&folder(), &["lit", "lit/graphics.test", "--filter", "graphics", "--list"]);
    assert_eq!(lines(&listed), ["lit/graphics.test", "lit/requires-graphics.test"]);
    let one = offload(&folder(), &["lit/check-holds.test"]);
    assert_eq!(
        (last(&one).as_str(), one.status.code()),
        ("1 passed, 0 failed, 0 skipped", Some(0))
    );
    for args in [&["nowhere"][..], &["lit", "--filter", "("], &["lit", "--wave", "16"], &[]] {
        assert_eq!(offload(&folder(), args).status.code(), Some(2), "{args:?}");
    }
}
