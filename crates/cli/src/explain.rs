//! `wavefence explain`: rules and kinds of faults, by the names that reports use.

use crate::args::ExplainArgs;
use crate::failure::Failure;
use crate::ui;
use std::fmt::Write;
use wavefence_base::{FaultKind, Rule};
use wavefence_check::faults::FaultInfo;
use wavefence_report::verdicts::{self, Verdict};
use wavefence_scenario::reader::nearest;

/// Says what a rule means, or lists the rules.
pub fn run(args: &ExplainArgs) -> Result<u8, Failure> {
    let Some(key) = &args.rule else {
        ui::out(&list());
        return Ok(0);
    };
    match text(key) {
        Some(text) => ui::out(&text),
        None => return Err(Failure::Input(unknown(key))),
    }
    Ok(0)
}

/// What is said of the rule or the kind of fault with that number or name.
fn text(key: &str) -> Option<String> {
    if let Some(info) = wavefence_check::rules::find(key) {
        return Some(whole(info.rule, info.explanation, info.example));
    }
    if let Some(info) = wavefence_d3d::rules::find_info(key) {
        let example = format!("wrong: {}\nright: {}", info.wrong, info.right);
        return Some(whole(info.rule, "A call is judged by it when it is recorded.", &example));
    }
    let fault = wavefence_check::faults::find(key).map(|info| fault(&info));
    fault.or_else(|| verdicts::find(key).map(of_verdict))
}

fn fault(info: &FaultInfo) -> String {
    let rule = info.rule().map_or(String::new(), |r| format!(", rule {} {}", r.number, r.name));
    let mut out = format!(
        "{} (a fault{rule})\n{}\n\n{}\n\nexample:\n",
        info.kind.name(),
        info.summary,
        info.explanation
    );
    lines(&mut out, info.example);
    out
}

fn rules() -> impl Iterator<Item = &'static Rule> {
    let hazards = wavefence_check::rules::ALL.iter().copied();
    hazards.chain(wavefence_d3d::rules::ALL.iter().copied())
}

fn list() -> String {
    let mut out = String::new();
    for rule in rules() {
        let _ = writeln!(out, "{:>4} {}\n     {}", rule.number, rule.name, rule.summary);
    }
    out.push_str("\nfaults, which happened and need no judging:\n");
    for info in FaultKind::ALL.iter().copied().map(wavefence_check::faults::info) {
        let _ = writeln!(out, "     {}\n     {}", info.kind.name(), info.summary);
    }
    out.push_str("\nverdicts on hangs:\n");
    for verdict in verdicts::ALL {
        let _ = writeln!(out, "     {}\n     {}", verdict.name, verdict.summary);
    }
    out
}

fn lines(out: &mut String, text: &str) {
    for line in text.lines() {
        let _ = writeln!(out, "  {line}");
    }
}

fn of_verdict(verdict: &Verdict) -> String {
    format!(
        "{} (a verdict on a hang)\n{}\n\n{}\n\nexample:\n  wrong: {}\n  right: {}\n",
        verdict.name, verdict.summary, verdict.explanation, verdict.wrong, verdict.right
    )
}

fn whole(rule: &Rule, explanation: &str, example: &str) -> String {
    let mut out =
        format!("{} {}\n{}\n\n{explanation}\n\nexample:\n", rule.number, rule.name, rule.summary);
    lines(&mut out, example);
    let _ = writeln!(out, "\nsource: {}", rule.source);
    out
}

fn unknown(key: &str) -> String {
    let faults = FaultKind::ALL.iter().map(|k| k.name());
    let verdicts = verdicts::ALL.iter().map(|v| v.name);
    let names: Vec<&str> = rules().map(|r| r.name).chain(faults).chain(verdicts).collect();
    let near = nearest(key, &names).map_or(String::new(), |n| format!("; did you mean {n}?"));
    format!("there is no rule or fault `{key}`{near} (wavefence explain lists them)")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_can_be_explained_by_number_and_by_name() {
        for rule in rules() {
            for key in [rule.number.to_string(), rule.name.to_owned()] {
                let args = ExplainArgs { rule: Some(key.clone()) };
                assert!(matches!(run(&args), Ok(0)), "{key}");
            }
        }
        for verdict in verdicts::ALL {
            let args = ExplainArgs { rule: Some(verdict.name.to_owned()) };
            assert!(matches!(run(&args), Ok(0)), "{}", verdict.name);
        }
    }

    #[test]
    fn every_kind_of_fault_can_be_explained_and_is_listed() {
        for kind in FaultKind::ALL {
            let text = text(kind.name()).unwrap_or_else(|| panic!("{}", kind.name()));
            assert!(text.contains("mend: "), "{text}");
            assert!(list().contains(&format!("     {}\n", kind.name())));
        }
        let text = text("write-read-only").expect("a fault of that name");
        assert!(text.starts_with("write-read-only (a fault, rule 19 read-only-write)\n"), "{text}");
        assert!(
            text.contains("  mend: place the value in memory that the GPU may write\n"),
            "{text}"
        );
    }

    #[test]
    fn a_wrong_name_is_told_the_nearest() {
        assert_eq!(
            unknown("stale-scalar-cash"),
            "there is no rule or fault `stale-scalar-cash`; did you mean stale-scalar-cache? \
             (wavefence explain lists them)"
        );
    }
}
