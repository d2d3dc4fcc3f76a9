//! Suppressions and baselines.

use super::*;
use crate::filter::{parse, write_baseline};

#[test]
fn a_suppression_fits_by_rule_resource_and_place() {
    let fits = |line: &str| {
        let mut report = Report { findings: vec![finding("proven", false)], ..Report::default() };
        let list = parse(line).unwrap_or_else(|e| panic!("{e}"));
        let unused = report.suppress(&list).len();
        assert_eq!(report.suppressed + unused as u64, 1, "{line}");
        report.findings.is_empty()
    };
    assert!(fits("rule=7"));
    assert!(fits("rule=stale-read"));
    assert!(fits("rule=7 cache=\"K$ of CU 3\""));
    assert!(fits("cache=\"K$*\" call=\"list \\\"L\\\" #*\""));
    assert!(fits("verdict=proven call=*Dispatch"));
    assert!(fits("call=*#3*"));
    assert!(!fits("rule=8"));
    assert!(!fits("rule=7 cache=K$"));
    assert!(!fits("rule=7 resource=*"));
    assert!(!fits("call=*#4*"));
    assert!(!fits("call=Dispatch"));
}

#[test]
fn faults_are_suppressed_by_kind_and_by_rule() {
    for line in ["rule=read-unmapped", "rule=18", "rule=unmapped-access shader=Blur"] {
        let mut report = whole();
        assert_eq!(report.suppress(&parse(line).unwrap_or_default()).len(), 0, "{line}");
        assert!(report.faults.is_empty() && report.suppressed == 2);
    }
}

#[test]
fn comments_and_empty_lines_say_nothing_and_mistakes_are_named() {
    assert_eq!(parse("\n  # rule=7\n\n").map(|l| l.len()), Ok(0));
    let error = |text: &str| parse(text).map(|_| ()).unwrap_err().to_string();
    assert_eq!(error("rule=7\nrule"), "line 2: `rule` is no key=value");
    assert_eq!(error("call=\"list"), "line 1: a quoted value does not end");
    assert_eq!(error("call=\"a\\n\""), "line 1: `\\n` is no escape; there are \\\" and \\\\");
    assert!(error("colour=red").starts_with("line 1: there is no key `colour`; there are rule, "));
}

#[test]
fn a_baseline_knows_what_it_was_made_from_and_nothing_else() {
    let mut report = whole();
    report.hang = None;
    report.checks.clear();
    assert_eq!(report.outcome(), Outcome::Findings);
    let baseline = write_baseline(&report);
    insta::assert_snapshot!(baseline, @r#"
    # Findings of s.yaml that are known.
    rule=read-unmapped call="list \"L\" #3 Dispatch"
    rule=stale-read call="list \"L\" #3 Dispatch" cache="K$ of CU 3"
    "#);
    let list = parse(&baseline).unwrap_or_else(|e| panic!("{e}"));
    assert!(report.know(&list).is_empty());
    assert!(report.findings[0].known && report.faults[0].known);
    assert_eq!(report.outcome(), Outcome::Clean);
    assert!(text::print(&report, 9).contains("list \"L\" #3 Dispatch (known)"));
    // The same at another call is new; what is known of the first is gone.
    report.findings[0].call = "list \"L\" #4 Dispatch".into();
    report.findings[0].known = false;
    assert_eq!(report.know(&list).len(), 1);
    assert_eq!(report.outcome(), Outcome::Findings);
}

#[test]
fn advice_is_not_written_to_a_baseline() {
    let report = Report { findings: vec![finding("advice", false)], ..Report::default() };
    assert_eq!(parse(&write_baseline(&report)).map(|l| l.len()), Ok(0));
}
