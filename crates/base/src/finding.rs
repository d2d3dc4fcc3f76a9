//! Findings: what a checker has to say, and how sure it is.

use crate::Place;
use std::fmt;

/// How sure a finding is. The three are never mixed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Verdict {
    /// It happened in this run.
    Proven,
    /// The rules allow it in another order or cache state.
    Possible,
    /// Redundant, over-wide, reserved or costly. Never changes the exit code.
    Advice,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Proven => "proven",
            Self::Possible => "possible",
            Self::Advice => "advice",
        })
    }
}

/// One rule, an entry of a rule list: hazard rules are numbered from 1 and live
/// in the checker, API rules from 1000 and live with the API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Stable number.
    pub number: u32,
    /// Short mnemonic in kebab case, stable.
    pub name: &'static str,
    /// One sentence: what the rule asks.
    pub summary: &'static str,
    /// Where it comes from: the vendor's page or a section of our notes.
    pub source: &'static str,
}

/// One thing found.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// Which rule.
    pub rule: &'static Rule,
    /// How sure.
    pub verdict: Verdict,
    /// Where in the run, if it came from running.
    pub place: Place,
    /// The call, in the API's spelling (`list "Blur" #3 DispatchX`).
    pub call: String,
    /// Prose: value, rule, and the way out.
    pub message: String,
    /// Stable key and value pairs, in a fixed order, kept apart from the prose.
    pub properties: Vec<(&'static str, String)>,
    /// How often the same root cause was seen.
    pub count: u64,
}
