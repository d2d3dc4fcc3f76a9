//! Dumps of hangs: `run --dump-hang` writes them, `explain-hang` reads them and says
//! what the run said.

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

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Runs a scenario that hangs; its report and its dump.
fn dump(folder: &Path, scenario: &str, more: &[&str]) -> (String, PathBuf) {
    let path = folder.join("hang.json");
    let shown = path.display().to_string();
    let mut args = vec!["run", scenario, "--dump-hang", &shown];
    args.extend(more);
    let run = wavefence(&args);
    assert!(path.is_file(), "{}{}", text(&run.stdout), text(&run.stderr));
    (text(&run.stdout), path)
}

#[test]
fn a_dump_is_explained_as_the_run_explained_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let cases: [(&str, &[&str]); 3] = [
        ("scenarios/hang-cycle.yaml", &[]),
        ("scenarios/hangs/02-fence-deadlock.yaml", &[]),
        ("scenarios/hang-write-lost.yaml", &["--fast"]),
    ];
    for (scenario, more) in cases {
        let (report, path) = dump(folder.path(), scenario, more);
        let told = wavefence(&["explain-hang", &path.display().to_string()]);
        assert_eq!(told.status.code(), Some(0), "{}", text(&told.stderr));
        let told = text(&told.stdout);
        let part = &told[told.find("Hang").expect("a heading")..];
        assert!(report.contains(part), "{told}\n---\n{report}");
        assert!(told.starts_with(&format!("scenario: {scenario}\n")));
        let json = std::fs::read_to_string(&path).expect("a dump");
        for key in ["\"registers\"", "\"engines\"", "\"memory\"", "\"hex\""] {
            assert!(json.contains(key), "{key} in {json}");
        }
        std::fs::remove_file(&path).expect("a file of this test");
    }
}

#[test]
fn a_run_that_ends_writes_no_dump() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("hang.json");
    let shown = path.display().to_string();
    let run = wavefence(&["run", "scenarios/no-cycle.yaml", "--dump-hang", &shown]);
    assert_eq!(run.status.code(), Some(0), "{}", text(&run.stdout));
    assert!(!path.exists());
}

#[test]
fn damaged_and_foreign_files_are_refused_with_their_place() {
    let folder = tempfile::tempdir().expect("a folder");
    let (_, path) = dump(folder.path(), "scenarios/hang-cycle.yaml", &[]);
    let whole = std::fs::read_to_string(&path).expect("a dump");
    let lines = whole.lines().count();
    let cut = whole[..whole.len() / 2].to_owned();
    let cut_line = cut.lines().count();
    let cases = [
        (cut, format!(":{cut_line}:"), "the dump is damaged"),
        ("{\"schema\": \"wavefence-report/1\"}".to_owned(), ":1:1:".to_owned(), "its schema is"),
        ("[1, 2]".to_owned(), ":1:1:".to_owned(), "no dump of a hang"),
        (String::new(), ":1:0:".to_owned(), "the dump is damaged"),
        (
            whole.replacen("\"waits\"", "\"wait\"", 1),
            ":".to_owned(),
            "not in the form of wavefence-hang/1: unknown field `wait`",
        ),
    ];
    for (content, place, words) in cases {
        std::fs::write(&path, content).expect("a file of this test");
        let told = wavefence(&["explain-hang", &path.display().to_string()]);
        assert_eq!(told.status.code(), Some(2), "{words}");
        let message = text(&told.stderr);
        let head = format!("{}{place}", path.display());
        assert!(message.contains(&head) && message.contains(words), "{head} {words}: {message}");
    }
    assert!(lines > 50);
    let gone = wavefence(&["explain-hang", "nowhere/hang.json"]);
    assert_eq!(gone.status.code(), Some(2));
    assert!(text(&gone.stderr).contains("nowhere/hang.json"));
    let binary = folder.path().join("binary");
    std::fs::write(&binary, [0x7B, 0xFF, 0xFE]).expect("a file of this test");
    let told = wavefence(&["explain-hang", &binary.display().to_string()]);
    assert!(text(&told.stderr).contains("byte 1: the dump is damaged"), "{}", text(&told.stderr));
}
