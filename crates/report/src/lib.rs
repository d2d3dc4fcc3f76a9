//! Turns findings, faults, hangs and events into text and JSON.
//!
//! Rules this crate keeps:
//! - A [`Report`] is plain data; whoever ran something fills it, [`text`] and
//!   [`json`] only print it. The same report gives the same bytes.
//! - Prose and the stable `key=value` block of a finding are apart.
//! - Proven, possible and advice are never mixed; what was expected is marked.
//! - The exit code of a run is decided here, once ([`Report::outcome`]).
//!
//! It knows nothing about files, terminals or how a run is made.

pub mod dump;
pub mod exploration;
pub mod filter;
pub mod hang;
pub mod item;
pub mod outcome;
pub mod text;
pub mod trace;
pub mod verdicts;

pub use exploration::{Exploration, FoundItem};
pub use hang::{Hang, Tree, TreeState, Wait, verdict_name};
pub use item::{
    CallErrorItem, Check, FaultItem, FindingItem, Output, PrintedItem, Stats, WarningItem,
};
pub use outcome::Outcome;

use serde::Serialize;

/// Name and version of the JSON report's form; `report.schema.json` beside the
/// crate's manifest describes it.
pub const SCHEMA: &str = "wavefence-report/1";

/// What came of one run.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Report {
    /// The scenario, as its path was given.
    pub scenario: String,
    /// The profile's name.
    pub profile: String,
    /// The packet generation.
    pub generation: String,
    /// `model` or `fast`.
    pub mode: String,
    /// What ran.
    pub stats: Stats,
    /// Calls that break API rules; if there are any, nothing ran.
    pub errors: Vec<CallErrorItem>,
    /// What compilers said about shaders.
    pub warnings: Vec<WarningItem>,
    /// Findings of every verdict.
    pub findings: Vec<FindingItem>,
    /// What the guest did wrong while running.
    pub faults: Vec<FaultItem>,
    /// Findings and faults that were taken out by suppressions.
    pub suppressed: u64,
    /// Lines that shaders printed.
    pub printed: Vec<PrintedItem>,
    /// Printed lines beyond those that are kept.
    pub lines_lost: u64,
    /// The hang, if the run ended in one.
    pub hang: Option<Hang>,
    /// What ended the run early, in words: a limit of this host or version.
    pub limit: Option<String>,
    /// Comparisons: buffers, values, expectations.
    pub checks: Vec<Check>,
    /// Files written.
    pub outputs: Vec<Output>,
    /// The search over orders that this run came out of, if it was one.
    pub exploration: Option<Exploration>,
}

impl Report {
    /// What it comes down to.
    pub fn outcome(&self) -> Outcome {
        outcome::of(self)
    }

    /// The report as JSON, with the outcome and the exit code beside the rest.
    pub fn json(&self) -> String {
        #[derive(Serialize)]
        struct Whole<'a> {
            schema: &'static str,
            outcome: &'static str,
            exit_code: u8,
            #[serde(flatten)]
            report: &'a Report,
        }
        let outcome = self.outcome();
        let schema = SCHEMA;
        let whole =
            Whole { schema, outcome: outcome.name(), exit_code: outcome.exit_code(), report: self };
        // Plain data with text keys: nothing in it can fail to serialise.
        serde_json::to_string_pretty(&whole).unwrap_or_else(|e| format!("{{\"error\":\"{e}\"}}"))
    }
}

#[cfg(test)]
mod tests;
