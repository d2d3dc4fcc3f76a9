//! The dump of a hang: what a run writes, and `explain-hang` reads.
//!
//! A dump holds the explanation as the report has it, word for word, and beside it
//! what nobody reads by default: engines, registers, memory around polled values.
//! `hang.schema.json` beside the crate's manifest describes its form.

use crate::hang::{Hang, State};
use crate::{Report, text};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Name and version of the form.
pub const SCHEMA: &str = "wavefence-hang/1";

/// Most bytes of a dump that is read: larger ones are none of ours.
pub const MOST_BYTES: u64 = 256 << 20;

/// A dump.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dump {
    schema: String,
    /// The scenario, as its path was given.
    pub scenario: String,
    /// The profile's name.
    pub profile: String,
    /// The packet generation.
    pub generation: String,
    /// `model` or `fast`.
    pub mode: String,
    /// The explanation.
    pub hang: Hang,
    /// Engines, registers, memory.
    pub state: State,
}

/// Why a file is no dump that can be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DumpError {
    /// No JSON, or cut short.
    Damaged {
        /// Line, from 1.
        line: usize,
        /// Column, from 1.
        column: usize,
        /// What is wrong there.
        message: String,
    },
    /// JSON of another kind: what its `schema` says, if it has one.
    Foreign(Option<String>),
    /// A dump in name, but not in form.
    Form {
        /// Line, from 1.
        line: usize,
        /// Column, from 1.
        column: usize,
        /// What is wrong there.
        message: String,
    },
}

impl fmt::Display for DumpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Damaged { line, column, message } => {
                write!(f, "{line}:{column}: the dump is damaged: {message}")
            }
            Self::Foreign(Some(schema)) => {
                write!(f, "1:1: its schema is \"{schema}\"; a dump's is \"{SCHEMA}\"")
            }
            Self::Foreign(None) => {
                write!(f, "1:1: it is no dump of a hang: it has no \"schema\": \"{SCHEMA}\"")
            }
            Self::Form { line, column, message } => {
                write!(f, "{line}:{column}: not in the form of {SCHEMA}: {message}")
            }
        }
    }
}

impl std::error::Error for DumpError {}

impl Dump {
    /// The dump of a report's hang; `None` if there is none.
    pub fn of(report: &Report) -> Option<Self> {
        let hang = report.hang.clone()?;
        Some(Self {
            schema: SCHEMA.into(),
            scenario: report.scenario.clone(),
            profile: report.profile.clone(),
            generation: report.generation.clone(),
            mode: report.mode.clone(),
            state: hang.state.clone(),
            hang: Hang { state: State::default(), ..hang },
        })
    }

    /// As JSON.
    pub fn json(&self) -> String {
        // Plain data with text keys: nothing in it can fail to serialise.
        serde_json::to_string_pretty(self).unwrap_or_else(|e| format!("{{\"error\":\"{e}\"}}"))
    }

    /// Reads a dump.
    ///
    /// # Errors
    /// What is wrong with it, and where.
    pub fn parse(text: &str) -> Result<Self, DumpError> {
        let any: serde_json::Value = serde_json::from_str(text).map_err(|e| {
            DumpError::Damaged { line: e.line(), column: e.column(), message: words(&e) }
        })?;
        let schema = any.get("schema").and_then(|s| s.as_str());
        if schema != Some(SCHEMA) {
            return Err(DumpError::Foreign(schema.map(str::to_owned)));
        }
        serde_json::from_str(text).map_err(|e| DumpError::Form {
            line: e.line(),
            column: e.column(),
            message: words(&e),
        })
    }

    /// The explanation, as the run printed it.
    pub fn text(&self) -> String {
        format!(
            "scenario: {}\nprofile:  {} ({}), {} run\n\n{}",
            self.scenario,
            self.profile,
            self.generation,
            self.mode,
            text::hang(&self.hang)
        )
    }
}

/// The message without the place, which stands in front of it.
fn words(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.rfind(" at line ").map_or(text.clone(), |at| text[..at].to_owned())
}
