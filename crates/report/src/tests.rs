mod exploration;
mod filter;
mod schema;

use super::*;

fn finding(verdict: &str, expected: bool) -> FindingItem {
    FindingItem {
        number: 7,
        rule: "stale-read".into(),
        source: "notes".into(),
        verdict: verdict.into(),
        call: "list \"L\" #3 Dispatch".into(),
        message: "what and the way out".into(),
        properties: vec![("cache".into(), "K$ of CU 3".into())],
        count: 2,
        expected,
        known: false,
    }
}

fn check(passed: bool) -> Check {
    let detail = if passed { Vec::new() } else { vec!["[0]: 1, expected 2".into()] };
    Check { name: "Out".into(), rule: "exact".into(), passed, detail }
}

fn hang(expected: bool) -> Hang {
    let call = |n: u32, state| Tree { label: format!("#{n} Call"), state, children: Vec::new() };
    let mut calls: Vec<Tree> = (0..30).map(|n| call(n, TreeState::Finished)).collect();
    calls.push(call(30, TreeState::InProgress));
    calls.extend((31..60).map(|n| call(n, TreeState::NotStarted)));
    let list =
        |children| Tree { label: "list \"L\"".into(), state: TreeState::InProgress, children };
    Hang {
        waits: vec![Wait {
            queue: "Q".into(),
            engine: "me".into(),
            call: "list \"L\" #30 Wait32BitValueX".into(),
            address: "0x10 (Sync+0x0)".into(),
            condition: "*(Sync+0x0) == 1".into(),
            present: 0,
            past: vec!["2 by the host".into()],
            pending: Vec::new(),
            ring: Vec::new(),
            verdict: "never-satisfied".into(),
            culprit: "list \"L\" #30 Wait32BitValueX".into(),
            explanation: "it was written, but never so".into(),
        }],
        queues: vec![Tree {
            label: "queue Q".into(),
            state: TreeState::InProgress,
            children: vec![
                Tree {
                    label: "list \"Done\"".into(),
                    state: TreeState::Finished,
                    children: vec![call(0, TreeState::Finished)],
                },
                list(calls),
            ],
        }],
        expected,
        ..Hang::default()
    }
}

fn error(expected: bool) -> CallErrorItem {
    CallErrorItem {
        number: 1010,
        rule: "write32-alignment".into(),
        source: "seed 002".into(),
        list: "L".into(),
        call: "list \"L\" #0 Write".into(),
        argument: "Destination".into(),
        value: "0x2".into(),
        message: "must be aligned".into(),
        at: "s.yaml:3:4".into(),
        expected,
    }
}

/// Everything that can be in a report, each part switched by one bit: the exit
/// code is that of the first part in the order of the design.
#[test]
fn the_exit_code_is_the_first_that_holds() {
    for bits in 0..64u32 {
        let has = |bit: u32| bits >> bit & 1 == 1;
        // What is expected, and advice, never counts.
        let mut r = Report {
            findings: vec![finding("advice", false), finding("proven", true)],
            checks: vec![check(true)],
            ..Report::default()
        };
        if has(0) {
            r.findings.push(finding("possible", false));
        }
        if has(1) {
            r.checks.push(check(false));
        }
        r.hang = Some(hang(!has(2)));
        if has(3) {
            r.limit = Some("budget".into());
        }
        r.errors.push(error(!has(4)));
        if has(5) {
            r.findings.push(finding("proven", false));
        }
        let wanted = match bits {
            _ if has(4) => 2,
            _ if has(3) => 5,
            _ if has(2) => 3,
            _ if has(1) => 4,
            _ if has(0) || has(5) => 1,
            _ => 0,
        };
        assert_eq!(r.outcome().exit_code(), wanted, "{bits:#b}");
    }
}

fn whole() -> Report {
    Report {
        scenario: "s.yaml".into(),
        profile: "series-x".into(),
        generation: "gfx10.3".into(),
        mode: "model".into(),
        stats: Stats {
            submits: 2,
            dispatches: 3,
            groups: 12,
            waits: 1,
            values: 1,
            transfers: 0,
            cycles: Some(3650),
            nanoseconds: Some(2000),
        },
        errors: vec![error(true)],
        findings: vec![finding("proven", false)],
        faults: vec![FaultItem {
            kind: "read-unmapped".into(),
            number: Some(18),
            rule: Some("unmapped-access".into()),
            queue: Some("Q".into()),
            call: Some("list \"L\" #3 Dispatch".into()),
            shader: Some("Blur".into()),
            line: Some("blur.hlsl:7".into()),
            dispatch: Some(1),
            group: Some([1, 2, 3]),
            wave: Some(0),
            lane: Some(31),
            address: Some("0x5000".into()),
            bytes: 4,
            count: 9,
            message: "read of 4 bytes at 0x5000 outside every allocation".into(),
            expected: false,
            known: false,
        }],
        warnings: vec![WarningItem {
            shader: "Blur".into(),
            at: "blur.hlsl:3:5".into(),
            message: "implicit truncation of vector type".into(),
        }],
        suppressed: 1,
        printed: vec![PrintedItem {
            shader: Some("Blur".into()),
            call: None,
            line: Some("blur.hlsl:9".into()),
            dispatch: Some(1),
            group: Some([1, 0, 0]),
            wave: Some(2),
            lane: Some(5),
            text: "x = 3".into(),
        }],
        lines_lost: 2,
        hang: Some(hang(false)),
        limit: None,
        checks: vec![check(true), check(false)],
        outputs: vec![Output { name: "Result".into(), path: "r.png".into(), width: 4, height: 2 }],
        exploration: None,
    }
}

#[test]
fn the_text_of_a_report() {
    // Golden text, beside this file.
    assert_eq!(text::print(&whole(), 10), include_str!("tests/report.txt"));
}

#[test]
fn long_lists_are_cut_and_counted() {
    let mut r = Report { findings: vec![finding("advice", false); 5], ..Report::default() };
    r.checks.push(Check { detail: vec!["x".into(); 5], ..check(false) });
    let text = text::print(&r, 2);
    assert!(text.contains("... and 3 more findings"), "{text}");
    assert!(text.contains("... and 3 more\n"), "{text}");
}

#[test]
fn json_carries_the_outcome() {
    let value: serde_json::Value = serde_json::from_str(&whole().json()).expect("valid JSON");
    assert_eq!(value["outcome"], "hang");
    assert_eq!(value["exit_code"], 3);
    assert_eq!(value["faults"][0]["lane"], 31);
    assert_eq!(value["hang"]["queues"][0]["children"][1]["state"], "in-progress");
}
