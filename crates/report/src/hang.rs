//! Why nothing can move: every blocked wait explained, and how far each list got.

use serde::Serialize;
use wavefence_base::StallVerdict;
use wavefence_d3d::{HangWait, HangWrite};

/// How far a part of a list got.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum TreeState {
    /// Every call was executed and its work is done.
    Finished,
    /// Begun and not finished.
    InProgress,
    /// Not begun.
    NotStarted,
}

impl TreeState {
    /// The mark that hang reports of this trade use.
    pub const fn mark(self) -> &'static str {
        match self {
            Self::Finished => "[X]",
            Self::InProgress => "[>]",
            Self::NotStarted => "[ ]",
        }
    }
}

/// A submission, marker or call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Tree {
    /// What it is: a call, or a marker's text in quotes.
    pub label: String,
    /// How far it got.
    pub state: TreeState,
    /// What stands inside.
    pub children: Vec<Tree>,
}

/// One wait that cannot go on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Wait {
    /// The queue.
    pub queue: String,
    /// The engine: `pfp`, `me`, `mec`, `sdma`.
    pub engine: String,
    /// The call, with the events around it.
    pub call: String,
    /// The polled address with its name.
    pub address: String,
    /// `*(Sync+0) == 1`.
    pub condition: String,
    /// The value in memory.
    pub present: u64,
    /// Writes so far, oldest first.
    pub past: Vec<String>,
    /// Writes that have not run.
    pub pending: Vec<String>,
    /// `cycle`, `never-written`, …
    pub verdict: &'static str,
    /// The verdict in a sentence.
    pub explanation: String,
}

/// A hang.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Hang {
    /// The blocked waits, by queue.
    pub waits: Vec<Wait>,
    /// Each queue with its submissions.
    pub queues: Vec<Tree>,
    /// True if the scenario expects it.
    pub expected: bool,
}

/// Writes to one address beyond this are not listed, only counted.
const MAX_WRITES: usize = 16;

impl Hang {
    /// From the API's words for it and the progress of each queue.
    pub fn new(hang: &wavefence_d3d::Hang, queues: Vec<Tree>) -> Self {
        Self { waits: hang.waits.iter().map(wait).collect(), queues, expected: false }
    }
}

fn wait(w: &HangWait) -> Wait {
    let name = w.place.clone().unwrap_or_else(|| w.address.to_string());
    Wait {
        queue: w.queue.clone(),
        engine: w.engine.into(),
        call: w.call.to_string(),
        address: match &w.place {
            Some(place) => format!("{} ({place})", w.address),
            None => w.address.to_string(),
        },
        condition: format!("*({name}) {} {}", w.function, w.wanted),
        present: w.present,
        past: writes(&w.past),
        pending: writes(&w.pending),
        verdict: verdict_name(&w.verdict),
        explanation: w.explanation.clone(),
    }
}

fn writes(list: &[HangWrite]) -> Vec<String> {
    let more = list.len().saturating_sub(MAX_WRITES);
    let mut out: Vec<String> = list[more..]
        .iter()
        .map(|write| {
            let value = write.value.map_or("a timestamp".to_owned(), |v| v.to_string());
            let lost = if write.landed { "" } else { ": dropped" };
            format!("{value} by {}{lost}", write.by)
        })
        .collect();
    if more > 0 {
        out.insert(0, format!("({more} earlier ones)"));
    }
    out
}

/// The verdict in kebab case, as scenarios expect it.
pub fn verdict_name(verdict: &StallVerdict) -> &'static str {
    match verdict {
        StallVerdict::Cycle(_) => "cycle",
        StallVerdict::NeverWritten => "never-written",
        StallVerdict::Overtaken => "overtaken",
        StallVerdict::WriteLost => "write-lost",
        StallVerdict::NeverSatisfied => "never-satisfied",
        StallVerdict::BehindItself => "behind-itself",
        StallVerdict::ValueInL2(_) => "value-in-l2",
        // The list is open to other crates.
        _ => "blocked",
    }
}
