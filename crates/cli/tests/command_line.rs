//! The command line as a user meets it: bad files, options, exit codes, outputs.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

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

fn code(output: &Output) -> i32 {
    output.status.code().unwrap_or(-1)
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// A file in a folder of its own.
fn file(folder: &TempDir, name: &str, bytes: &[u8]) -> String {
    let path = folder.path().join(name);
    fs::write(&path, bytes).expect("a writable folder");
    path.display().to_string()
}

fn folder() -> TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

/// A scenario that needs no compiler and ends clean.
const CLEAN: &str = "
Memory: [{Name: Sync, Size: 64}]
Queues: [{Name: Q, Type: Compute}]
CommandLists: [{Name: L, Type: Compute, Calls: [{Write32BitValueBottomOfPipeX: [Sync, 1]}]}]
Submit: [{Queue: Q, List: L}]
Expect: {Values: [{Address: Sync, Value32: 1}]}
";

#[test]
fn files_that_are_no_scenario_are_refused_with_a_reason() {
    let dir = folder();
    let cases: [(String, &str); 7] = [
        (dir.path().display().to_string(), "it is a folder"),
        (dir.path().join("nothing.yaml").display().to_string(), "there is no such file"),
        (file(&dir, "empty.yaml", b""), "the file is empty"),
        (file(&dir, "nul.yaml", b"Profile: series-x\nA: \0\n"), "NUL byte"),
        (file(&dir, "binary.yaml", &[0xFF, 0xFE, 0x80]), "is not UTF-8"),
        (file(&dir, "deep.yaml", "[".repeat(100_000).as_bytes()), "not valid YAML"),
        (file(&dir, "text.yaml", b"just words"), "a mapping that describes a scenario"),
    ];
    for (path, reason) in &cases {
        let output = wavefence(&["run", path]);
        assert_eq!(code(&output), 2, "{path}: {}", stderr(&output));
        let flat = stderr(&output).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(flat.contains(reason), "{path}: {flat}");
    }
}

#[test]
fn a_huge_file_is_refused_without_being_read() {
    let dir = folder();
    let path = dir.path().join("huge.yaml");
    // Sparse: it takes no room on the disk.
    fs::File::create(&path).and_then(|f| f.set_len(1 << 30)).expect("a sparse file");
    let path = path.display().to_string();
    for command in ["run", "disasm"] {
        let output = wavefence(&[command, &path]);
        assert_eq!(code(&output), 2);
        assert!(stderr(&output).contains("1073741824 bytes"), "{}", stderr(&output));
    }
    let clean = file(
        &dir,
        "image.yaml",
        format!("{CLEAN}Images: [{{Name: I, File: huge.png}}]").as_bytes(),
    );
    fs::File::create(dir.path().join("huge.png")).and_then(|f| f.set_len(1 << 30)).expect("a file");
    let output = wavefence(&["run", &clean]);
    assert_eq!(code(&output), 2, "{}", stderr(&output));
    assert!(stderr(&output).contains("huge.png"), "{}", stderr(&output));
}

#[test]
fn an_alias_bomb_ends_quickly() {
    let mut text = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x]\n");
    for i in 1..20 {
        let before = vec![format!("*a{}", i - 1); 9].join(", ");
        text.push_str(&format!("a{i}: &a{i} [{before}]\n"));
    }
    let dir = folder();
    let output = wavefence(&["run", &file(&dir, "bomb.yaml", text.as_bytes())]);
    assert_eq!(code(&output), 2, "{}", stderr(&output));
}

#[test]
fn no_colour_without_a_terminal() {
    let dir = folder();
    let output = wavefence(&["run", &file(&dir, "bad.yaml", b"Bufers: []\n")]);
    assert_eq!(code(&output), 2);
    assert!(!output.stderr.contains(&0x1B), "{}", stderr(&output));
}

#[test]
fn wrong_usage_is_code_2_and_help_is_0() {
    let dir = folder();
    let clean = file(&dir, "clean.yaml", CLEAN.as_bytes());
    for args in [
        &["frobnicate"][..],
        &["run"],
        &["run", &clean, "--profile", "xbox-two"],
        &["run", &clean, "--report", "sarif"],
        &["run", &clean, "--image", "NoPath"],
        &["run", &clean, "--image", "Nobody=x.png"],
        &["run", &clean, "--threads", "2"],
        &["run", &clean, "--trace", &format!("{clean}/x")],
        &["disasm", &clean, "--ring", "video"],
    ] {
        let output = wavefence(args);
        assert_eq!(code(&output), 2, "{args:?}: {}", stderr(&output));
        assert!(!output.stderr.is_empty(), "{args:?}");
    }
    for args in [&["--help"][..], &["run", "--help"], &["--version"], &["profiles"]] {
        assert_eq!(code(&wavefence(args)), 0, "{args:?}");
    }
}

#[test]
fn a_missing_compiler_is_told_with_the_way_out() {
    let output = wavefence(&["run", "scenarios/add.yaml", "--dxc", "/nowhere/libdxcompiler.so"]);
    assert_eq!(code(&output), 5, "{}", stderr(&output));
    assert!(stderr(&output).contains("/nowhere/libdxcompiler.so"), "{}", stderr(&output));
    // Without HLSL nobody asks for it.
    let dir = folder();
    let clean = file(&dir, "clean.yaml", CLEAN.as_bytes());
    assert_eq!(code(&wavefence(&["run", &clean, "--dxc", "/nowhere/libdxcompiler.so"])), 0);
}

#[test]
fn options_come_from_the_environment_too() {
    let dir = folder();
    let clean = file(&dir, "clean.yaml", CLEAN.as_bytes());
    let output = Command::new(env!("CARGO_BIN_EXE_wavefence"))
        .args(["run", &clean])
        .env("WAVEFENCE_PROFILE", "xbox-one")
        .output()
        .expect("the program starts");
    assert!(stdout(&output).contains("xbox-one (gfx7)"), "{}", stdout(&output));
    let output = Command::new(env!("CARGO_BIN_EXE_wavefence"))
        .args(["run", "scenarios/write-read-only.yaml"])
        .current_dir(root())
        .env("WAVEFENCE_ERROR_EXITCODE", "42")
        .output()
        .expect("the program starts");
    assert_eq!(code(&output), 42, "{}", stderr(&output));
    // It replaces the code of findings alone.
    let hang = wavefence(&["run", "scenarios/hang-cycle.yaml", "--error-exitcode", "42"]);
    assert_eq!(code(&hang), 3);
}

#[test]
fn what_is_suppressed_or_known_does_not_count() {
    const FAULTY: &str = "scenarios/write-read-only.yaml";
    let dir = folder();
    let rules = file(&dir, "rules.txt", b"# dropped on purpose\nrule=read-only-write call=*#0*\n");
    let output = wavefence(&["run", FAULTY, "--suppress", &rules]);
    assert_eq!(code(&output), 0, "{}", stdout(&output));
    assert!(stdout(&output).contains("1 suppressed"), "{}", stdout(&output));
    let other = file(&dir, "other.txt", b"rule=read-only-write call=*#1*\n");
    let output = wavefence(&["run", FAULTY, "--suppress", &other]);
    assert_eq!(code(&output), 1, "{}", stdout(&output));
    assert!(stderr(&output).contains("other.txt:1: fits nothing in this run"));
    let wrong = file(&dir, "wrong.txt", b"\nrules=1\n");
    let output = wavefence(&["run", FAULTY, "--suppress", &wrong]);
    assert_eq!(code(&output), 2, "{}", stdout(&output));
    assert!(stderr(&output).contains("wrong.txt: line 2: there is no key `rules`"));

    let baseline = dir.path().join("base.txt").display().to_string();
    let missing = wavefence(&["run", FAULTY, "--baseline", &baseline]);
    assert_eq!(code(&missing), 2, "{}", stderr(&missing));
    let written = wavefence(&["run", FAULTY, "--write-baseline", &baseline]);
    assert_eq!(code(&written), 0, "{}", stdout(&written));
    let output = wavefence(&["run", FAULTY, "--baseline", &baseline]);
    assert_eq!(code(&output), 0, "{}", stdout(&output));
    assert!(stdout(&output).contains("(known)"), "{}", stdout(&output));
    let clean = file(&dir, "clean.yaml", CLEAN.as_bytes());
    let output = wavefence(&["run", &clean, "--baseline", &baseline]);
    assert!(stderr(&output).contains("is known, but did not happen"), "{}", stderr(&output));
}

#[test]
fn rules_are_explained_by_number_and_by_name() {
    let hazard = wavefence(&["explain", "2"]);
    assert_eq!(code(&hazard), 0);
    assert_eq!(stdout(&hazard), stdout(&wavefence(&["explain", "stale-scalar-cache"])));
    assert!(stdout(&hazard).contains("mend: also invalidate K$"), "{}", stdout(&hazard));
    let call = stdout(&wavefence(&["explain", "write32-alignment"]));
    assert!(call.contains("right: Write32BitValueBottomOfPipeX: [Sync + 4, 1]"), "{call}");
    let all = stdout(&wavefence(&["explain"]));
    assert!(all.contains("   1 stale-vector-cache") && all.contains("1090 fence-device"), "{all}");
    let none = wavefence(&["explain", "stale-vektor-cache"]);
    assert_eq!(code(&none), 2);
    assert!(stderr(&none).contains("did you mean stale-vector-cache?"), "{}", stderr(&none));
}

#[test]
fn reports_and_traces_go_where_they_are_sent() {
    let dir = folder();
    let clean = file(&dir, "clean.yaml", CLEAN.as_bytes());
    let path = |name: &str| dir.path().join(name).display().to_string();
    let (text, json, trace) = (path("new/r.txt"), path("r.json"), path("t.jsonl"));
    let output = wavefence(&[
        "run",
        &clean,
        "--report",
        &format!("text={text}"),
        "--report",
        &format!("json={json}"),
        "--trace",
        &trace,
    ]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert_eq!(stdout(&output).lines().count(), 1, "{}", stdout(&output));
    assert!(fs::read_to_string(text).expect("a report").contains("result: clean"));
    let json = fs::read_to_string(json).expect("a report");
    assert!(json.contains("\"exit_code\": 0") && json.contains("\"outcome\": \"clean\""));
    let trace = fs::read_to_string(trace).expect("a trace");
    assert!(trace.lines().all(|l| l.starts_with("{\"event\":\"") && l.ends_with('}')));
    assert!(trace.contains("\"event\":\"value-written\""), "{trace}");
}

#[test]
fn a_model_run_tells_its_time_the_same_every_time() {
    let dir = folder();
    let clean = file(&dir, "clean.yaml", CLEAN.as_bytes());
    let trace = dir.path().join("t.jsonl").display().to_string();
    let run = |more: &[&str]| {
        let mut args = vec!["run", &clean, "--profile", "series-x", "--report", "json"];
        args.extend(more);
        let output = wavefence(&args);
        assert_eq!(code(&output), 0, "{}", stderr(&output));
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("a report");
        let number = |key: &str| report["stats"][key].as_u64();
        (number("cycles"), number("nanoseconds"))
    };
    let (cycles, nanoseconds) = run(&[]);
    let cycles = cycles.expect("a model run has time");
    assert!(cycles > 0);
    assert_eq!(nanoseconds, Some(cycles * 1000 / 1825));
    // The checker and the trace change nothing, nor does the number of processors.
    for more in [&[][..], &["--no-check"], &["--trace", &trace]] {
        assert_eq!(run(more), (Some(cycles), nanoseconds), "{more:?}");
    }
    assert_eq!(run(&["--fast"]), (None, None));
    let events = fs::read_to_string(&trace).expect("a trace");
    let at = |line: &str| {
        let event: serde_json::Value = serde_json::from_str(line).expect("JSON");
        event["cycle"].as_u64().expect("a cycle")
    };
    let times: Vec<u64> = events.lines().map(at).collect();
    assert!(times.is_sorted(), "{events}");
    assert_eq!(times.last(), Some(&cycles), "{events}");
    let text = stdout(&wavefence(&["run", &clean, "--profile", "series-x"]));
    let time = format!("time:     {cycles} GPU cycles, ");
    assert!(text.contains(&time) && text.contains("microseconds (assumed)"), "{text}");
    let fast = stdout(&wavefence(&["run", &clean, "--profile", "series-x", "--fast"]));
    assert!(!fast.contains("GPU cycles"), "{fast}");
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_wavefence"))
        .arg("profiles")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("it ends");
    assert!(output.stderr.is_empty(), "{}", stderr(&output));
}

#[test]
fn disasm_prints_lists_and_dumps() {
    let dir = folder();
    let clean = file(&dir, "clean.yaml", CLEAN.as_bytes());
    let output = wavefence(&["disasm", &clean, "--profile", "series-x"]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let text = stdout(&output);
    assert!(text.contains("list \"L\" (compute, gfx10.3)"), "{text}");
    assert!(text.contains("; #0 Write32BitValueBottomOfPipeX"), "{text}");
    assert!(text.contains("RELEASE_MEM"), "{text}");
    assert!(text.contains("0 until it is executed"), "{text}");

    // One NOP of two dwords, as text and as bytes.
    let hex = file(&dir, "nop.txt", b"# a NOP\nc0001000 00000000\n");
    let mut bytes = Vec::new();
    for word in [0xC000_1000u32, 0] {
        bytes.write_all(&word.to_le_bytes()).expect("memory");
    }
    let binary = file(&dir, "nop.bin", &bytes);
    let (a, b) = (wavefence(&["disasm", &hex]), wavefence(&["disasm", &binary]));
    assert_eq!(code(&a), 0, "{}", stderr(&a));
    assert!(stdout(&a).contains("NOP"), "{}", stdout(&a));
    assert_eq!(a.stdout, b.stdout);

    for bad in [&b"zzzz"[..], b"", &bytes[..7], b"ffffffff"] {
        let output = wavefence(&["disasm", &file(&dir, "bad", bad)]);
        assert_eq!(code(&output), 2, "{bad:?}: {}", stdout(&output));
        assert!(!output.stderr.is_empty());
    }
}

#[test]
fn images_of_any_size_go_in_and_out() {
    let dir = folder();
    let scenario = "
Images:
  - {Name: In, File: missing.png}
  - {Name: Out, Width: In.Width, Height: In.Height, Output: unused.png}
Queues: [{Name: D, Type: DMA}]
CommandLists: [{Name: L, Type: DMA, Calls: [{CopyResource: [Out, In]}]}]
Submit: [{Queue: D, List: L}]
";
    let path = file(&dir, "copy.yaml", scenario.as_bytes());
    let photo = root().join("demo/photo.png").display().to_string();
    let out = dir.path().join("deep/out.png").display().to_string();
    let output = wavefence(&[
        "run",
        &path,
        "--image",
        &format!("In={photo}"),
        "--image",
        &format!("Out={out}"),
    ]);
    assert_eq!(code(&output), 0, "{}{}", stdout(&output), stderr(&output));
    assert!(stdout(&output).contains("600 x 400"), "{}", stdout(&output));
    assert!(!root().join("unused.png").exists());
    // The copy goes in again.
    let again = dir.path().join("again.png").display().to_string();
    let output = wavefence(&[
        "run",
        &path,
        "--image",
        &format!("In={out}"),
        "--image",
        &format!("Out={again}"),
    ]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert_eq!(fs::read(out).expect("written"), fs::read(again).expect("written"));

    let text = file(&dir, "no.png", b"this is no PNG");
    for bad in ["missing.png", &text, "/"] {
        let output = wavefence(&["run", &path, "--image", &format!("In={bad}")]);
        assert_eq!(code(&output), 2, "{bad}: {}", stderr(&output));
    }
}
