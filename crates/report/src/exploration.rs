//! What a search over orders came to. The rest of the report is about one of them:
//! the one that was found, made small, or else the plain order.

use serde::Serialize;
use std::fmt::Write;

/// A search.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Exploration {
    /// How orders were chosen.
    pub strategy: String,
    /// Seed of random choices.
    pub seed: u64,
    /// Orders that were run.
    pub schedules: u64,
    /// Runs that were cut because they only repeat others.
    pub repeats: u64,
    /// Runs that the bound on steps, or a limit of the device, cut.
    pub cut: u64,
    /// What repeats the first run that the bound on steps cut.
    pub cut_replay: Option<String>,
    /// Different results among them, hangs included.
    pub results: u64,
    /// Steps of the plain order.
    pub steps: u64,
    /// True if every order within the bounds was tried and none is wrong.
    pub proved: bool,
    /// The bounds, in words: `evictions <= 1`.
    pub bounds: Vec<String>,
    /// What is wrong, the first found in front.
    pub found: Vec<FoundItem>,
    /// What repeats the run that the report is about.
    pub replay: Option<String>,
    /// How that run differs from the plain order, in words.
    pub departures: Vec<String>,
    /// True if the scenario says that this is to be found.
    pub expected: bool,
}

/// Something that is wrong in some order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FoundItem {
    /// Number of the schedule; 0 is the plain order.
    pub schedule: u64,
    /// `hang`, `wrong result`, `fault` or `finding`.
    pub kind: String,
    /// What and where.
    pub what: String,
    /// What repeats the first run that shows it.
    pub replay: String,
}

/// Departures from the plain order that are printed.
const MOST_DEPARTURES: usize = 12;

/// Prints it.
pub(crate) fn print(out: &mut String, e: &Exploration, scenario: &str, most: usize) {
    let n = e.schedules;
    let _ = write!(out, "explored: {n} schedule{}", if n == 1 { "" } else { "s" });
    let _ = write!(out, " ({}, seed {}; {} steps in the plain order)", e.strategy, e.seed, e.steps);
    if e.repeats > 0 {
        let _ = write!(out, ", {} more only repeated others", e.repeats);
    }
    if e.cut > 0 {
        let _ = write!(out, ", {} were cut short", e.cut);
    }
    let _ =
        writeln!(out, "; {} different result{}", e.results, if e.results == 1 { "" } else { "s" });
    let bounds =
        if e.bounds.is_empty() { String::new() } else { format!(" ({})", e.bounds.join(", ")) };
    if e.proved {
        let _ = writeln!(out, "proved:   {n} schedules, all orders{bounds}: none goes wrong");
    } else if e.found.is_empty() {
        let _ = writeln!(out, "found:    nothing; not all orders were tried{bounds}");
    }
    for item in e.found.iter().take(most) {
        let FoundItem { schedule, kind, what, replay: _ } = item;
        let expected = if e.expected { ", as expected" } else { "" };
        let _ = writeln!(out, "found:    {kind} in schedule {schedule}{expected}: {what}");
    }
    if e.found.len() > most {
        let _ = writeln!(out, "found:    and {} more", e.found.len() - most);
    }
    if e.found.first().is_some_and(|f| f.schedule == 0) {
        let _ = writeln!(out, "differs:  not at all; it is the plain order");
    } else if !e.departures.is_empty() {
        let _ = writeln!(out, "differs:  from the plain order in this:");
        for (n, text) in e.departures.iter().take(MOST_DEPARTURES).enumerate() {
            let _ = writeln!(out, "  {}. {text}", n + 1);
        }
        if e.departures.len() > MOST_DEPARTURES {
            let _ = writeln!(out, "  and {} more", e.departures.len() - MOST_DEPARTURES);
        }
    }
    if let Some(replay) = &e.replay {
        let _ = writeln!(out, "replay:   wavefence run {scenario} --replay {replay}");
    }
    if let Some(replay) = &e.cut_replay {
        let _ = writeln!(out, "replay:   the first that was cut short: --replay {replay}");
    }
    for item in e.found.iter().skip(1).take(most.saturating_sub(1)) {
        let _ = writeln!(out, "replay:   schedule {}: --replay {}", item.schedule, item.replay);
    }
    out.push('\n');
}
