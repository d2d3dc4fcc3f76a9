//! Children that are not what they should be: small shell scripts.

use super::*;
use crate::dxc::protocol::{Op, Status};
use std::os::unix::fs::PermissionsExt;

const LONG: Duration = Duration::from_secs(60);

fn request(text: &str) -> Request {
    Request {
        op: Op::Compile,
        library: "none".into(),
        name: "a.hlsl".into(),
        text: text.into(),
        entry: "main".into(),
        target: "cs_6_6".into(),
        args: Vec::new(),
        dir: String::new(),
        roots: Vec::new(),
    }
}

/// A script that says hello and then runs `body`.
fn script(dir: &Path, hello: bool, body: &str) -> PathBuf {
    let octal = |bytes: &[u8]| bytes.iter().map(|b| format!("\\{b:03o}")).collect::<String>();
    let mut text = String::from("#!/bin/sh\n");
    if hello {
        let mut frame = Vec::new();
        write_frame(&mut frame, HELLO).unwrap();
        text += &format!("printf '{}'\n", octal(&frame));
    }
    let mut frame = Vec::new();
    let done = Response::failure(Status::Done, "fine".into());
    write_frame(&mut frame, &done.encode()).unwrap();
    text += &body.replace("ANSWER", &format!("printf '{}'", octal(&frame)));
    let path = dir.join("helper.sh");
    std::fs::write(&path, text).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path
}

#[test]
fn a_crash_is_named_and_the_next_job_gets_a_new_child() {
    let tmp = tempfile::tempdir().unwrap();
    // The first child dies over its second job, as does each after it.
    let helper = script(
        tmp.path(),
        true,
        "head -c 8 >/dev/null\nANSWER\necho bad luck >&2\nkill -SEGV $$\n",
    );
    let answer = run(&helper, &request("a"), LONG).unwrap();
    assert_eq!(answer.messages, "fine");
    // Whether that child is dead already when the next job comes is open: then
    // a new one answers, else the job meets the crash.
    match run(&helper, &request("b"), LONG) {
        Ok(answer) => assert_eq!(answer.messages, "fine"),
        Err(failure) => assert_eq!(failure, died("bad luck")),
    }
    let always = script(tmp.path(), true, "echo bad luck >&2\nkill -SEGV $$\n");
    let always_renamed = tmp.path().join("always.sh");
    std::fs::rename(always, &always_renamed).unwrap();
    for _ in 0..2 {
        assert_eq!(run(&always_renamed, &request("c"), LONG).unwrap_err(), died("bad luck"));
    }
}

fn died(words: &str) -> Failure {
    Failure::Died { how: "signal 11 SIGSEGV".into(), last_words: words.into() }
}

#[test]
fn a_child_that_never_answers_is_ended() {
    let tmp = tempfile::tempdir().unwrap();
    let helper = script(tmp.path(), true, "exec sleep 1000\n");
    let limit = Duration::from_millis(200);
    // More than a pipe holds, so that the write blocks too.
    let big = "x".repeat(1 << 20);
    assert_eq!(run(&helper, &request(&big), limit).unwrap_err(), Failure::TimedOut { limit });
}

#[test]
fn other_programs_are_told_apart() {
    let tmp = tempfile::tempdir().unwrap();
    let shown = |helper: &Path| {
        let text = run(helper, &request(""), LONG).unwrap_err().to_string();
        text.replace(&helper.display().to_string(), "HELPER")
    };
    let usage = script(tmp.path(), false, "echo 'unknown word' >&2; exit 2\n");
    insta::assert_snapshot!(shown(&usage), @"HELPER is not a wavefence program that runs DXC: it ended at once (exit code 2): unknown word; see WAVEFENCE_HELPER");
    let chatty = script(tmp.path(), false, "echo Usage: something; exit 0\n");
    insta::assert_snapshot!(shown(&chatty), @r#"HELPER is not a wavefence program that runs DXC: not a frame; its first bytes are "Usag"; see WAVEFENCE_HELPER"#);
    let garbage =
        script(tmp.path(), true, "head -c 8 >/dev/null; echo compiled fine; exec sleep 1000\n");
    insta::assert_snapshot!(shown(&garbage), @r#"the DXC child answered nonsense: not a frame; its first bytes are "comp""#);
    let missing = tmp.path().join("missing");
    insta::assert_snapshot!(shown(&missing), @"cannot start HELPER to run DXC in: No such file or directory (os error 2)");
}
