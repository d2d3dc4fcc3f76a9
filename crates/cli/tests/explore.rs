//! `wavefence explore` and `run --replay`, by the shipped program: the planted bugs of
//! `scenarios/explore/` are found, their mended twins proved, and what is found
//! repeats.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn wavefence(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_wavefence"))
        .current_dir(root())
        .args(args)
        .output()
        .expect("the program starts")
}

fn text(output: &Output) -> String {
    format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

/// The JSON report of a search.
fn explore(file: &str, args: &[&str]) -> (i32, Value) {
    let mut all = vec!["explore", file, "--report", "json"];
    all.extend(args);
    let output = wavefence(&all);
    let value = serde_json::from_slice(&output.stdout);
    let value = value.unwrap_or_else(|e| panic!("{file}: {e}: {}", text(&output)));
    (output.status.code().unwrap_or(-1), value)
}

fn files() -> Vec<String> {
    let folder = root().join("scenarios/explore");
    let entries = std::fs::read_dir(folder).expect("the folder is part of the repository");
    let mut files: Vec<String> = entries
        .map(|e| e.expect("an entry").file_name().to_string_lossy().into_owned())
        .map(|name| format!("scenarios/explore/{name}"))
        .collect();
    files.sort();
    files
}

/// A scenario with what it expects of a search taken out.
fn plain(file: &str, folder: &Path) -> String {
    let text = std::fs::read_to_string(root().join(file)).expect("a readable scenario");
    let shaders = root().join("scenarios/shaders").canonicalize().expect("it is there");
    let text = text.replace("../shaders", &shaders.display().to_string());
    let kept: Vec<&str> = text.lines().filter(|l| !l.starts_with("Explore:")).collect();
    let path = folder.join("plain.yaml");
    std::fs::write(&path, kept.join("\n") + "\n").expect("a file is written");
    path.display().to_string()
}

#[test]
fn planted_bugs_are_found_and_their_mended_twins_proved() {
    let (mut found, mut proved) = (0, 0);
    let mut wrong = Vec::new();
    for file in files() {
        let (code, report) = explore(&file, &[]);
        let e = &report["exploration"];
        if code != 0 {
            let checks = &report["checks"];
            wrong.push(format!("{file}: exit code {code}: {e:#} {checks:#}"));
        }
        if file.ends_with("-mended.yaml") {
            proved += u32::from(e["proved"] == true);
        } else {
            found += u32::from(e["expected"] == true);
            let number = e["found"][0]["schedule"].as_u64();
            if number.is_none_or(|n| n >= 2000) {
                wrong.push(format!("{file}: found in schedule {number:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(found >= 10 && proved >= 5, "{found} found, {proved} proved");
}

#[test]
fn what_is_found_repeats_to_the_byte() {
    let folder = tempfile::tempdir().expect("a folder");
    for file in files().iter().filter(|f| !f.ends_with("-mended.yaml")) {
        let (_, report) = explore(file, &[]);
        let e = &report["exploration"];
        let replay = e["replay"].as_str().unwrap_or_else(|| panic!("{file}: no replay string"));
        let run = |n: u32| {
            let trace = folder.path().join(format!("trace-{n}")).display().to_string();
            let args = ["run", file, "--no-check", "--report", "json", "--replay", replay];
            let output = wavefence(&[&args[..], &["--trace", &trace]].concat());
            (output, std::fs::read(trace).expect("a trace"))
        };
        let (first, second) = (run(1), run(2));
        assert_eq!(first.0.stdout, second.0.stdout, "{file}");
        assert!(!first.1.is_empty() && first.1 == second.1, "{file}");
        let again: Value = serde_json::from_slice(&first.0.stdout).expect("JSON");
        let same = |what: &str| assert_eq!(again[what], report[what], "{file}: {what}");
        same("hang");
        same("stats");
        same("findings");
        let code = if e["found"][0]["kind"] == "hang" { 3 } else { 4 };
        assert_eq!(first.0.status.code(), Some(code), "{file}: {}", text(&first.0));
    }
}

#[test]
fn without_a_word_in_the_file_the_exit_code_tells() {
    let folder = tempfile::tempdir().expect("a folder");
    for (file, code) in [("missed-equal", 3), ("two-producers", 4), ("dma-overtakes-mended", 0)] {
        let path = plain(&format!("scenarios/explore/{file}.yaml"), folder.path());
        let output = wavefence(&["explore", &path, "--no-check"]);
        let said = text(&output);
        assert_eq!(output.status.code(), Some(code), "{said}");
        assert_eq!(code != 0, said.contains("--replay wf1_"), "{said}");
        assert_eq!(code == 0, said.contains("proved:"), "{said}");
        assert_eq!(code != 0, said.contains("differs:  from the plain order in this:"), "{said}");
    }
    // With the hazard rules the plain order is enough.
    let path = plain("scenarios/explore/two-producers.yaml", folder.path());
    let output = wavefence(&["explore", &path]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    assert!(text(&output).contains("differs:  not at all"), "{}", text(&output));
}

#[test]
fn neither_threads_nor_parts_change_the_verdict() {
    let folder = tempfile::tempdir().expect("a folder");
    let part = |n: usize| folder.path().join(format!("part-{n}.json")).display().to_string();
    for file in ["aba", "two-producers", "two-producers-mended"] {
        let file = format!("scenarios/explore/{file}.yaml");
        for strategy in ["auto", "random", "pct", "exhaustive"] {
            let options = ["--strategy", strategy, "--schedules", "600", "--seed", "5"];
            let args = [&["explore", &file][..], &options].concat();
            let one = wavefence(&args);
            let many = wavefence(&[&args[..], &["--jobs", "3"]].concat());
            assert_eq!(text(&one), text(&many), "{strategy}");
            let (first, second) = (part(1), part(2));
            for (shard, path) in [("1/2", &first), ("2/2", &second)] {
                let made = [&args[..], &["--shard", shard, "--output", path]].concat();
                assert_eq!(wavefence(&made).status.code(), Some(0));
            }
            let merge = [&args[..], &["--merge", &second, &first]].concat();
            let merged = wavefence(&merge);
            assert_eq!(merged.status.code(), one.status.code(), "{strategy}: {}", text(&merged));
        }
    }
}

#[test]
fn what_does_not_belong_together_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let part = folder.path().join("part.json").display().to_string();
    let file = "scenarios/explore/two-producers.yaml";
    let refused = |args: &[&str], why: &str| {
        let output = wavefence(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {}", text(&output));
        assert!(text(&output).contains(why), "{args:?}: {}", text(&output));
    };
    let few = ["explore", file, "--schedules", "20"];
    wavefence(&[&few[..], &["--shard", "1/2", "--output", &part]].concat());
    refused(&[&few[..], &["--merge", &part]].concat(), "part 2 of 2 is missing");
    refused(&[&few[..], &["--merge", &part, &part]].concat(), "part 1 of 2 is there already");
    refused(&["explore", file, "--merge", &part], "other options");
    let other = "scenarios/explore/aba.yaml";
    refused(&["explore", other, "--schedules", "20", "--merge", &part], "another scenario");
    refused(&["explore", file, "--merge", file], "no part");
    refused(&["explore", file, "--shard", "3/2"], "K/N");

    let (_, report) = explore(file, &[]);
    let replay = report["exploration"]["replay"].as_str().expect("a replay string");
    refused(&["run", other, "--replay", replay], "another scenario");
    refused(&["run", file, "--replay", &replay[..replay.len() - 1]], "damaged");
    refused(&["run", file, "--replay", "wf9_x_y"], "another version");
    refused(&["run", file, "--replay", replay, "--profile", "series-s"], "series-x");
}

#[test]
fn a_run_that_the_bound_on_steps_cut_repeats() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = plain("scenarios/explore/aba-mended.yaml", folder.path());
    let (code, report) = explore(&path, &["--no-check", "--max-steps", "12"]);
    let e = &report["exploration"];
    assert_eq!((code, e["proved"].as_bool()), (5, Some(false)), "{e:#}");
    let replay = e["cut_replay"].as_str().expect("a replay string");
    let run = || wavefence(&["run", &path, "--no-check", "--replay", replay]);
    let (first, second) = (run(), run());
    assert_eq!(first.stdout, second.stdout);
    assert_eq!(first.status.code(), Some(5), "{}", text(&first));
    assert!(text(&first).contains("cut after 12 steps"), "{}", text(&first));
}
