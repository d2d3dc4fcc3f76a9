//! Why a command could not do its work, and the exit code for it.

use crate::ui;
use wavefence_base::{Limit, LimitKind};
use wavefence_scenario::Problems;
use wavefence_scenario::run::RunError;

/// Bad input or usage.
pub const BAD_INPUT: u8 = 2;
/// A host limit or something unsupported.
pub const LIMIT: u8 = 5;

/// A command that did not get to a verdict.
#[derive(Debug)]
pub enum Failure {
    /// The scenario, a shader or an image is wrong, or asks for what is not
    /// supported; one entry a file.
    Problems(Vec<Problems>),
    /// A file cannot be used, or arguments do not fit: in words.
    Input(String),
    /// This host or version cannot do it.
    Limit(Limit),
}

impl Failure {
    /// Tells the user.
    pub fn print(&self) {
        match self {
            Self::Problems(files) => files.iter().for_each(ui::problems),
            Self::Input(text) => ui::problem(&format!("wavefence: {text}")),
            Self::Limit(limit) => {
                let kind = match limit.kind {
                    LimitKind::Memory => "out of memory",
                    LimitKind::Budget => "budget exceeded",
                    LimitKind::Unsupported => "not supported",
                    LimitKind::MissingTool => "missing tool",
                    // The list is open to other crates.
                    _ => "limit",
                };
                ui::problem(&format!("wavefence: {kind}: {limit}"));
            }
        }
    }

    /// The exit code.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Problems(files) if files.iter().any(Problems::is_bad_input) => BAD_INPUT,
            Self::Problems(_) | Self::Limit(_) => LIMIT,
            Self::Input(_) => BAD_INPUT,
        }
    }
}

impl From<Problems> for Failure {
    fn from(problems: Problems) -> Self {
        Self::Problems(vec![problems])
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        match error {
            RunError::Problems(files) => Self::Problems(files),
            RunError::Limit(limit) => Self::Limit(limit),
        }
    }
}

impl From<Limit> for Failure {
    fn from(limit: Limit) -> Self {
        Self::Limit(limit)
    }
}
