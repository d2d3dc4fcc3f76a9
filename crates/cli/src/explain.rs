//! `wavefence explain`.

use crate::args::ExplainArgs;
use crate::failure::Failure;
use crate::ui;
use std::fmt::Write;
use wavefence_base::Rule;
use wavefence_scenario::reader::nearest;

/// Says what a rule means, or lists the rules.
pub fn run(args: &ExplainArgs) -> Result<u8, Failure> {
    let Some(key) = &args.rule else {
        ui::out(&list());
        return Ok(0);
    };
    let text = match (wavefence_check::rules::find(key), wavefence_d3d::rules::find_info(key)) {
        (Some(info), _) => whole(info.rule, info.explanation, info.example),
        (None, Some(info)) => {
            let example = format!("wrong: {}\nright: {}", info.wrong, info.right);
            whole(info.rule, "A call is judged by it when it is recorded.", &example)
        }
        (None, None) => return Err(Failure::Input(unknown(key))),
    };
    ui::out(&text);
    Ok(0)
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
    out
}

fn whole(rule: &Rule, explanation: &str, example: &str) -> String {
    let mut out =
        format!("{} {}\n{}\n\n{explanation}\n\nexample:\n", rule.number, rule.name, rule.summary);
    for line in example.lines() {
        let _ = writeln!(out, "  {line}");
    }
    let _ = writeln!(out, "\nsource: {}", rule.source);
    out
}

fn unknown(key: &str) -> String {
    let names: Vec<&str> = rules().map(|r| r.name).collect();
    let near = nearest(key, &names).map_or(String::new(), |n| format!("; did you mean {n}?"));
    format!("there is no rule `{key}`{near} (wavefence explain lists them)")
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
    }

    #[test]
    fn a_wrong_name_is_told_the_nearest() {
        assert_eq!(
            unknown("stale-scalar-cash"),
            "there is no rule `stale-scalar-cash`; did you mean stale-scalar-cache? (wavefence \
             explain lists them)"
        );
    }
}
