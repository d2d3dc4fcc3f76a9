//! What a run comes down to, and its exit code (design 7).

use crate::Report;
use serde::Serialize;

/// The outcome of a run, best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// Nothing proven or possible was found, every check holds.
    Clean,
    /// Findings or faults.
    Findings,
    /// Calls that break API rules: nothing ran.
    BadInput,
    /// A host limit, or something unsupported, ended the run early.
    Limit,
    /// The run could not go on.
    Hang,
    /// A result or expectation does not hold.
    WrongResult,
}

impl Outcome {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Clean => "clean",
            Self::Findings => "findings",
            Self::BadInput => "bad-input",
            Self::Limit => "limit",
            Self::Hang => "hang",
            Self::WrongResult => "wrong-result",
        }
    }

    /// The program's exit code.
    pub const fn exit_code(self) -> u8 {
        match self {
            Self::Clean => 0,
            Self::Findings => 1,
            Self::BadInput => 2,
            Self::Limit => 5,
            Self::Hang => 3,
            Self::WrongResult => 4,
        }
    }
}

/// The first that holds of bad input, limit, hang, wrong result, findings. What was
/// expected or is known does not count; advice never does.
pub(crate) fn of(report: &Report) -> Outcome {
    if report.errors.iter().any(|e| !e.expected) {
        Outcome::BadInput
    } else if report.limit.is_some() {
        Outcome::Limit
    } else if report.exploration.as_ref().is_some_and(|e| e.expected) {
        Outcome::Clean
    } else if report.hang.as_ref().is_some_and(|h| !h.expected) {
        Outcome::Hang
    } else if report.checks.iter().any(|c| !c.passed) {
        Outcome::WrongResult
    } else if report.faults.iter().any(|f| !f.expected && !f.known)
        || report.findings.iter().any(|f| !f.expected && !f.known && f.verdict != "advice")
    {
        Outcome::Findings
    } else {
        Outcome::Clean
    }
}
