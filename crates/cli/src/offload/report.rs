//! What a run over the suite came to, for people and for programs.

use super::worker::Settings;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::PathBuf;
use wavefence_base::ProfileName;
use wavefence_scenario::offload::{Outcome, Verdict};

/// All outcomes, in the order of the tests.
#[derive(Serialize)]
pub struct Summary {
    /// `model` or `fast`.
    mode: &'static str,
    /// Lanes of shaders that leave it open.
    wave: u32,
    profile: &'static str,
    passed: usize,
    failed: usize,
    skipped: usize,
    tests: Vec<Test>,
}

#[derive(Serialize)]
struct Test {
    path: String,
    #[serde(flatten)]
    outcome: Outcome,
}

impl Summary {
    pub fn new(settings: &Settings, tests: &[PathBuf], outcomes: &[Outcome]) -> Self {
        let count = |f: fn(&Verdict) -> bool| outcomes.iter().filter(|o| f(&o.verdict)).count();
        Self {
            mode: if settings.fast.is_some() { "fast" } else { "model" },
            wave: if settings.wave32 { 32 } else { 64 },
            profile: settings.profile.unwrap_or(ProfileName::SeriesX).as_str(),
            passed: count(|v| matches!(v, Verdict::Passed)),
            failed: count(|v| matches!(v, Verdict::Failed(_))),
            skipped: count(|v| matches!(v, Verdict::Skipped(_))),
            tests: tests
                .iter()
                .zip(outcomes)
                .map(|(path, outcome)| Test {
                    path: path.display().to_string(),
                    outcome: outcome.clone(),
                })
                .collect(),
        }
    }

    pub fn json(&self) -> String {
        // Plain data with text keys: nothing in it can fail to serialise.
        let json = serde_json::to_string_pretty(self);
        json.unwrap_or_else(|e| format!("{{\"error\":\"{e}\"}}")) + "\n"
    }

    /// A line for each test that has something to say, the groups, and the totals.
    pub fn text(&self) -> String {
        let mut out = String::new();
        let mut groups: BTreeMap<&str, usize> = BTreeMap::new();
        for Test { path, outcome } in &self.tests {
            let word = match outcome.verdict {
                Verdict::Passed if outcome.reason.is_empty() => continue,
                Verdict::Passed => "PASS",
                Verdict::Failed(_) => "FAIL",
                Verdict::Skipped(why) => {
                    *groups.entry(why.words()).or_default() += 1;
                    "SKIP"
                }
            };
            out.push_str(&format!("{word} {path}: {}\n", said(outcome)));
        }
        for (words, count) in groups {
            out.push_str(&format!("skipped, {words}: {count}\n"));
        }
        let Self { passed, failed, skipped, .. } = self;
        out.push_str(&format!("{passed} passed, {failed} failed, {skipped} skipped\n"));
        out
    }

    /// The first of 70, 2, 5, 3, 4 that a test failed with.
    pub fn exit_code(&self) -> u8 {
        let codes: Vec<u8> = self
            .tests
            .iter()
            .filter_map(|t| match t.outcome.verdict {
                Verdict::Failed(how) => Some(how.exit_code()),
                Verdict::Passed | Verdict::Skipped(_) => None,
            })
            .collect();
        [70, 2, 5, 3, 4].into_iter().find(|code| codes.contains(code)).unwrap_or(0)
    }
}

/// The reason with its group in front, unless it says it itself.
fn said(outcome: &Outcome) -> String {
    match outcome.verdict {
        Verdict::Skipped(why) => format!("{}: {}", why.words(), outcome.reason),
        Verdict::Passed | Verdict::Failed(_) => outcome.reason.clone(),
    }
}
