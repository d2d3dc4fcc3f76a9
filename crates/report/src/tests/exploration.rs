//! The report on a search over orders.

use super::*;

pub fn searched(found: bool, expected: bool) -> Report {
    let item = |schedule| FoundItem {
        schedule,
        kind: "hang".into(),
        what: "queue Q: Wait (overtaken)".into(),
        replay: format!("wf1_{schedule}"),
    };
    let found: Vec<FoundItem> = if found { vec![item(7), item(9)] } else { Vec::new() };
    let exploration = Exploration {
        strategy: "auto".into(),
        seed: 3,
        schedules: 12,
        repeats: 4,
        cut: 1,
        cut_replay: Some("wf1_cut".into()),
        results: 2,
        steps: 40,
        proved: found.is_empty(),
        bounds: vec!["evictions <= 1".into()],
        replay: (!found.is_empty()).then(|| "wf1_small".into()),
        departures: if found.is_empty() { Vec::new() } else { vec!["at step 3: A waits".into()] },
        found,
        expected,
    };
    Report { scenario: "s.yaml".into(), exploration: Some(exploration), ..Report::default() }
}

fn say(report: &Report) -> String {
    text::print(report, 50)
}

#[test]
fn what_was_found_is_told_with_what_repeats_it() {
    let said = say(&searched(true, false));
    for part in [
        "explored: 12 schedules (auto, seed 3; 40 steps in the plain order), 4 more only repeated \
         others, 1 were cut short; 2 different results\n",
        "found:    hang in schedule 7: queue Q: Wait (overtaken)\n",
        "found:    hang in schedule 9: ",
        "differs:  from the plain order in this:\n  1. at step 3: A waits\n",
        "replay:   wavefence run s.yaml --replay wf1_small\n",
        "replay:   schedule 9: --replay wf1_9\n",
        "replay:   the first that was cut short: --replay wf1_cut\n",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert!(!said.contains("proved"), "{said}");
}

#[test]
fn a_proof_comes_with_its_bounds() {
    let said = say(&searched(false, false));
    let proof = "proved:   12 schedules, all orders (evictions <= 1): none goes wrong\n";
    assert!(said.contains(proof) && !said.contains("found:"), "{said}");
    let mut open = searched(false, false);
    open.exploration.as_mut().expect("a search").proved = false;
    let said = say(&open);
    assert!(said.contains("found:    nothing; not all orders were tried"), "{said}");
    assert!(!said.contains("proved"), "{said}");
}

#[test]
fn what_the_scenario_says_is_to_be_found_is_clean() {
    let mut report = searched(true, true);
    report.hang = Some(hang(false));
    assert_eq!(report.outcome(), Outcome::Clean);
    assert!(say(&report).contains("schedule 7, as expected"));
    report.exploration.as_mut().expect("a search").expected = false;
    assert_eq!(report.outcome(), Outcome::Hang);
}
