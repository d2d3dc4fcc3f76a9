//! Runs every file of `scenarios/` with the shipped program, in model and fast
//! run, and compares what its head says:
//!
//! ```yaml
//! # exit: 3              the exit code
//! # stdout: some text    a part of the report; once for each line
//! # stderr: some text    a part of the messages
//! # args: --profile xbox-one
//! # modes: model         without the fast run
//! ```
//!
//! A model run is made twice: report and event log must be the same bytes.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn files() -> Vec<PathBuf> {
    let mut folders = vec![root().join("scenarios")];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        let entries = std::fs::read_dir(folder).expect("the folder is part of the repository");
        for entry in entries {
            let path = entry.expect("a readable folder").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "yaml") {
                files.push(path);
            }
        }
    }
    files.sort();
    assert!(files.len() > 30, "only {} scenarios were found", files.len());
    files
}

/// What the head of a file asks for.
#[derive(Default)]
struct Head {
    exit: Option<i32>,
    stdout: Vec<String>,
    stderr: Vec<String>,
    args: Vec<String>,
    model_only: bool,
}

fn head(path: &Path) -> Head {
    let text = std::fs::read_to_string(path).expect("a readable scenario");
    let mut head = Head::default();
    for line in text.lines().map_while(|l| l.strip_prefix('#')) {
        let Some((key, value)) = line.trim().split_once(": ") else { continue };
        let value = value.trim();
        match key {
            "exit" => head.exit = value.parse().ok(),
            "stdout" => head.stdout.push(value.into()),
            "stderr" => head.stderr.push(value.into()),
            "args" => head.args.extend(value.split_whitespace().map(String::from)),
            "modes" => head.model_only = value == "model",
            _ => {}
        }
    }
    head
}

fn wavefence(path: &Path, args: &[String]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_wavefence"))
        .current_dir(root())
        .arg("run")
        .arg(path.strip_prefix(root()).unwrap_or(path))
        .args(args)
        .output()
        .expect("the program starts")
}

/// What does not hold, in words.
fn check(path: &Path, head: &Head, output: &Output, mode: &str) -> Vec<String> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let stdout = String::from_utf8_lossy(&output.stdout);
    let stderr = String::from_utf8_lossy(&output.stderr);
    let mut wrong = Vec::new();
    if output.status.code() != head.exit {
        wrong.push(format!("exit code {:?}, expected {:?}", output.status.code(), head.exit));
    }
    for (text, parts, stream) in
        [(&stdout, &head.stdout, "stdout"), (&stderr, &head.stderr, "stderr")]
    {
        // Long lines are broken for the reader; the words stay.
        let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
        for part in parts {
            let words = part.split_whitespace().collect::<Vec<_>>().join(" ");
            if !flat.contains(&words) {
                wrong.push(format!("{stream} does not say `{part}`"));
            }
        }
    }
    if wrong.is_empty() {
        return wrong;
    }
    wrong.push(format!("--- stdout\n{stdout}--- stderr\n{stderr}"));
    wrong.into_iter().map(|w| format!("{name} ({mode}): {w}")).collect()
}

#[test]
fn model_runs_do_what_the_files_say_and_are_deterministic() {
    let folder = tempfile::tempdir().expect("a folder for traces");
    let mut wrong = Vec::new();
    for path in files() {
        let head = head(&path);
        let run = |n: u32| {
            let trace = folder.path().join(format!("trace-{n}"));
            let mut args = head.args.clone();
            args.extend(["--trace".into(), trace.display().to_string()]);
            let output = wavefence(&path, &args);
            (output, std::fs::read(&trace).unwrap_or_default())
        };
        let (first, first_trace) = run(1);
        wrong.extend(check(&path, &head, &first, "model"));
        let (second, second_trace) = run(2);
        if first.stdout != second.stdout || first_trace != second_trace {
            wrong.push(format!("{}: two runs differ", path.display()));
        }
        if first.status.code() == Some(0) && first_trace.is_empty() && head.exit == Some(0) {
            // Only a file whose errors are expected runs nothing.
            let text = std::fs::read_to_string(&path).unwrap_or_default();
            if !text.contains("Errors:") {
                wrong.push(format!("{}: no event was traced", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn reports_for_programs_are_the_same_bytes_every_time() {
    // Files that report something, and the demo.
    let rich = files().into_iter().filter(|path| {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        text.contains("Findings:") && !text.contains("NoFindings: true")
    });
    let mut rich: Vec<PathBuf> = rich.collect();
    assert!(rich.len() > 20, "only {} files report something", rich.len());
    // Every third one, so that each folder has its share.
    rich = rich.into_iter().step_by(3).collect();
    rich.push(root().join("demo/demo.yaml"));
    let folder = tempfile::tempdir().expect("a folder for the demo's picture");
    let picture = format!("Result={}", folder.path().join("result.png").display());
    for path in rich {
        let mut args = head(&path).args;
        args.extend(["--report".into(), "json".into()]);
        if path.ends_with("demo.yaml") {
            args.extend(["--image".into(), picture.clone()]);
        }
        let [first, second, third] = [0; 3].map(|_| wavefence(&path, &args).stdout);
        let begins = String::from_utf8_lossy(&first[..first.len().min(200)]).into_owned();
        assert!(first.first() == Some(&b'{'), "{}: {begins}", path.display());
        assert!(first == second && second == third, "{}: reports differ", path.display());
    }
}

#[test]
fn fast_runs_do_what_the_files_say() {
    let mut wrong = Vec::new();
    for path in files() {
        let head = head(&path);
        if head.model_only {
            continue;
        }
        for threads in ["1", "3"] {
            let mut args = head.args.clone();
            args.extend(["--fast", "--threads", threads].map(String::from));
            let output = wavefence(&path, &args);
            wrong.extend(check(&path, &head, &output, &format!("fast, {threads} threads")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
