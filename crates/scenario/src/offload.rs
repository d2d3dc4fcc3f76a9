//! Runs the files of LLVM's offload-test-suite as they are.
//!
//! A test file holds its parts (`#--- name`), `RUN` lines in lit's language, and
//! conditions. [`run`] does what lit, DXC, the suite's `offloader` and FileCheck do,
//! in this process and without touching the disk: files that `RUN` lines write live
//! in memory. The device is a Vulkan target with DXC whose features are
//! [`features::FEATURES`].
//!
//! A test passes if every `RUN` line does. It is skipped, with the reason, where the
//! suite says so, where it uses graphics or ray tracing, where DXC refuses or breaks
//! it, and where the suite expects it to fail and it does.

mod command;
pub mod condition;
mod discover;
pub mod dump;
pub mod features;
pub mod lit;
pub mod shell;
pub mod split;

pub use discover::{find, local_reason};

use crate::load::read_bytes;
use features::FEATURES;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use wavefence_base::ProfileName;

/// Longest test file that is read, in bytes.
const MAX_FILE: u64 = 8 << 20;

/// How to run tests.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The profile; `series-x` if `None`.
    pub profile: Option<ProfileName>,
    /// Host threads of a fast run; a model run if `None`.
    pub fast: Option<usize>,
    /// Shaders that leave it open run with 32 lanes instead of 64.
    pub wave32: bool,
    /// Where Microsoft's DXC is.
    pub dxc: Option<PathBuf>,
    /// The program that serves as DXC's process.
    pub helper: Option<PathBuf>,
    /// How long a test may take.
    pub time_limit: Option<Duration>,
}

/// How a test failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Failed {
    /// A result or a check does not hold.
    WrongResult,
    /// It needs what this version does not have.
    Unsupported,
    /// Its files are wrong, or say what is not understood.
    BadInput,
    /// The device could not go on.
    Hang,
    /// It took too long, or more than this host has.
    Limit,
    /// A bug of ours.
    Bug,
}

impl Failed {
    /// The exit code (design 7).
    pub const fn exit_code(self) -> u8 {
        match self {
            Self::WrongResult => 4,
            Self::Unsupported | Self::Limit => 5,
            Self::BadInput => 2,
            Self::Hang => 3,
            Self::Bug => 70,
        }
    }
}

/// Why a test was skipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Skipped {
    /// It is about vertex, pixel, mesh or other graphics shaders.
    Graphics,
    /// It is about ray tracing.
    RayTracing,
    /// `UNSUPPORTED` holds.
    NotForThisTarget,
    /// A `REQUIRES` does not hold.
    MissingFeature,
    /// DXC does not compile it.
    CompilerRefuses,
    /// DXC crashed or took too long.
    CompilerCrashes,
    /// DXC wrote SPIR-V that breaks SPIR-V's rules.
    InvalidSpirv,
    /// It failed, as the suite says it does.
    ExpectedFailure,
    /// It uses a tool that works on other things than compute results.
    OtherTool,
    /// There is no `RUN` line.
    NoTest,
}

impl Skipped {
    /// The reason as a group of tests, for a summary.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Graphics => "graphics",
            Self::RayTracing => "ray tracing",
            Self::NotForThisTarget => "the suite leaves it out for this target",
            Self::MissingFeature => "needs a feature that the device does not have",
            Self::CompilerRefuses => "DXC refuses it",
            Self::CompilerCrashes => "DXC crashes",
            Self::InvalidSpirv => "DXC writes invalid SPIR-V",
            Self::ExpectedFailure => "expected failure",
            Self::OtherTool => "needs another tool",
            Self::NoTest => "no test",
        }
    }
}

/// What became of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Every `RUN` line holds.
    Passed,
    /// One does not.
    Failed(Failed),
    /// It was not judged.
    Skipped(Skipped),
}

/// The outcome of one test.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    /// What became of it.
    pub verdict: Verdict,
    /// Why it failed or was skipped, or what there is to say although it passed.
    pub reason: String,
    /// A hash of every buffer after every run, if anything ran: two engines that
    /// agree give the same.
    pub bytes: Option<String>,
    /// Findings and faults that the device reported.
    pub findings: usize,
}

impl Outcome {
    /// Without having run anything.
    pub fn new(verdict: Verdict, reason: impl Into<String>) -> Self {
        Self { verdict, reason: reason.into(), bytes: None, findings: 0 }
    }

    /// It was not judged.
    pub fn skipped(why: Skipped, reason: impl Into<String>) -> Self {
        Self::new(Verdict::Skipped(why), reason)
    }

    /// It failed.
    pub fn failed(how: Failed, reason: impl Into<String>) -> Self {
        Self::new(Verdict::Failed(how), reason)
    }
}

/// The words of the last panic, with its place.
static LAST_PANIC: Mutex<Option<String>> = Mutex::new(None);

/// From here on panics are kept for [`run`]'s outcome instead of printed.
pub fn keep_panics() {
    std::panic::set_hook(Box::new(|info| {
        let text = info.to_string().replace('\n', " ");
        *LAST_PANIC.lock().unwrap_or_else(PoisonError::into_inner) = Some(text);
    }));
}

/// Runs one test. A panic on the way is caught and told as our bug.
pub fn run(path: &Path, options: &Options) -> Outcome {
    let work = std::panic::AssertUnwindSafe(|| test(path, options));
    match std::panic::catch_unwind(work) {
        Ok(outcome) => outcome,
        Err(_) => {
            let kept = LAST_PANIC.lock().unwrap_or_else(PoisonError::into_inner).take();
            let what = kept.unwrap_or_else(|| "a panic".into());
            Outcome::failed(Failed::Bug, format!("a bug of wavefence: {what}"))
        }
    }
}

fn test(path: &Path, options: &Options) -> Outcome {
    let bad = |what: String| Outcome::failed(Failed::BadInput, what);
    let text = match read_bytes(path, MAX_FILE) {
        Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(why) => return bad(why),
    };
    let script = match lit::parse(&text) {
        Ok(script) => script,
        Err(why) => return bad(why),
    };
    if let Some(skipped) = discover::skipped(path, &text, &script) {
        return skipped.unwrap_or_else(bad);
    }
    let expected = match script.expected_failure(&FEATURES) {
        Ok(line) => line.map(|l| format!("XFAIL: {} (line {})", l.text, l.number)),
        Err(why) => return bad(why),
    };
    let deadline = options.time_limit.map(|limit| (Instant::now(), limit));
    let mut machine = command::Machine::new(path, &text, options, deadline);
    let mut outcome = machine.run(&script);
    match (outcome.verdict, expected) {
        (
            Verdict::Failed(Failed::WrongResult | Failed::Unsupported | Failed::BadInput),
            Some(x),
        ) => {
            outcome.verdict = Verdict::Skipped(Skipped::ExpectedFailure);
            outcome.reason = format!("{x}: {}", outcome.reason);
        }
        (Verdict::Passed, Some(x)) => outcome.reason = format!("passes in spite of {x}"),
        (Verdict::Passed | Verdict::Failed(_) | Verdict::Skipped(_), _) => {}
    }
    outcome
}

#[cfg(test)]
mod tests;
