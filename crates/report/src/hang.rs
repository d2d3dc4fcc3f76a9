//! Why nothing can move: every blocked wait and every thread group that does not end
//! explained, and how far each list got.

use serde::{Deserialize, Serialize};
use wavefence_base::{StallVerdict, WorkVerdict};
use wavefence_d3d::{HangQueue, HangValue, HangWait, HangWork, HangWrite};

/// How far a part of a list got.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tree {
    /// What it is: a call, or a marker's text in quotes.
    pub label: String,
    /// How far it got.
    pub state: TreeState,
    /// What stands inside.
    pub children: Vec<Tree>,
}

/// One wait that cannot go on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
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
    /// Of a cycle: the waits of the ring, each with the write behind the next.
    pub ring: Vec<String>,
    /// `cycle`, `never-written`, …
    pub verdict: String,
    /// The call to change.
    pub culprit: String,
    /// The verdict in a sentence.
    pub explanation: String,
}

/// A value in memory that keeps a loop going.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoopValue {
    /// `Bound at 0x10000 (Counts+0x0)`: the shader's name, the address, its place.
    pub what: String,
    /// `file:line` of the load, or empty.
    pub line: String,
    /// Its bytes.
    pub bytes: u8,
    /// What the wave reads.
    pub value: u64,
    /// What lies in memory, if that is something else.
    pub memory: Option<u64>,
    /// Who wrote it last.
    pub by: String,
}

/// A wave of a thread group that does not end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wave {
    /// Its number in the group.
    pub wave: u32,
    /// What it stands at.
    pub at: String,
    /// Lanes that run, lane 0 in bit 0.
    pub exec: Option<u64>,
}

/// A thread group that does not end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Work {
    /// The queue.
    pub queue: String,
    /// The dispatch, with the events around it.
    pub call: String,
    /// The shader.
    pub shader: String,
    /// The group.
    pub group: [u32; 3],
    /// Groups of the dispatch that stand there too, this one included.
    pub count: u64,
    /// The wave and the lane that were looked at.
    pub wave: u32,
    /// See there.
    pub lane: u32,
    /// What the wave stands at.
    pub at: String,
    /// `file:line` of the loop, or empty.
    pub line: String,
    /// When the loop ends: one line for each way out.
    pub exits: Vec<String>,
    /// The values that this depends on.
    pub values: Vec<LoopValue>,
    /// The waves that have not ended.
    pub waves: Vec<Wave>,
    /// `stuck`, `still-running`, `endless`.
    pub verdict: String,
    /// The call to change.
    pub culprit: String,
    /// The verdict in a sentence.
    pub explanation: String,
}

/// An engine of a queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Engine {
    /// `pfp`, `me`, `mec`, `sdma`.
    pub engine: String,
    /// The call it stands at; empty if it has nothing to do.
    pub at: String,
    /// What it waits for there.
    pub waits_for: String,
}

/// A queue as the hardware has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// The queue.
    pub queue: String,
    /// A bad packet has halted it.
    pub halted: bool,
    /// Its engines.
    pub engines: Vec<Engine>,
    /// Packets that the PFP has sent and the ME has not taken up.
    pub queued: u64,
    /// End-of-pipe events that have not happened.
    pub end_of_pipe: u64,
    /// Dispatches started.
    pub dispatches: u64,
    /// Command buffers being read, the outermost first: next address, dwords left.
    pub reading: Vec<(String, u64)>,
    /// Shader registers that are not 0.
    pub registers: Vec<(String, String)>,
}

/// Bytes of memory, as hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bytes {
    /// The first one's address.
    pub at: String,
    /// Two digits a byte.
    pub hex: String,
}

/// What a dump holds beside the explanation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct State {
    /// Every queue.
    pub queues: Vec<Machine>,
    /// Memory around what waits poll and loops read.
    pub memory: Vec<Bytes>,
}

/// A hang.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hang {
    /// The blocked waits, by queue.
    pub waits: Vec<Wait>,
    /// The thread groups that do not end.
    pub work: Vec<Work>,
    /// Each queue with its submissions.
    pub queues: Vec<Tree>,
    /// True if the scenario expects it.
    pub expected: bool,
    /// For the dump alone.
    #[serde(skip)]
    pub state: State,
}

/// Writes to one address beyond this are not listed, only counted.
const MAX_WRITES: usize = 16;

impl Hang {
    /// From the API's words for it and the progress of each queue.
    pub fn new(hang: &wavefence_d3d::Hang, queues: Vec<Tree>) -> Self {
        let hex = |bytes: &[u8]| bytes.iter().map(|b| format!("{b:02x}")).collect();
        let memory = hang.memory.iter();
        let memory = memory.map(|m| Bytes { at: m.at.to_string(), hex: hex(&m.bytes) }).collect();
        Self {
            waits: hang.waits.iter().map(wait).collect(),
            work: hang.work.iter().map(work).collect(),
            queues,
            expected: false,
            state: State { queues: hang.queues.iter().map(machine).collect(), memory },
        }
    }

    /// What holds it up, each as queue, verdict, and every text that names a call of
    /// it: the wait or dispatch, and the culprit.
    pub fn causes(&self) -> impl Iterator<Item = (&str, &str, [&str; 2])> {
        let waits = self
            .waits
            .iter()
            .map(|w| (w.queue.as_str(), w.verdict.as_str(), [w.call.as_str(), w.culprit.as_str()]));
        let work = self
            .work
            .iter()
            .map(|w| (w.queue.as_str(), w.verdict.as_str(), [w.call.as_str(), w.culprit.as_str()]));
        waits.chain(work)
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
        ring: w.ring.clone(),
        verdict: verdict_name(&w.verdict).into(),
        culprit: w.culprit.clone(),
        explanation: w.explanation.clone(),
    }
}

fn value(v: &HangValue) -> LoopValue {
    let place = v.place.as_ref().map_or(String::new(), |p| format!(" ({p})"));
    let resource = if v.resource.is_empty() { "memory" } else { &v.resource };
    LoopValue {
        what: format!("{resource} at {}{place}", v.address),
        line: v.line.clone().unwrap_or_default(),
        bytes: v.bytes,
        value: v.value,
        memory: v.memory,
        by: v.by.clone(),
    }
}

fn work(w: &HangWork) -> Work {
    let exits = w.exits.iter().map(|exit| match &exit.line {
        Some(line) => format!("{} ({line})", exit.condition),
        None => exit.condition.clone(),
    });
    Work {
        queue: w.queue.clone(),
        call: w.call.to_string(),
        shader: w.shader.clone(),
        group: w.group,
        count: w.count,
        wave: w.wave,
        lane: w.lane,
        at: w.at.clone(),
        line: w.line.clone().unwrap_or_default(),
        exits: exits.collect(),
        values: w.values.iter().map(value).collect(),
        waves: w
            .waves
            .iter()
            .map(|wave| Wave { wave: wave.wave, at: wave.at.clone(), exec: wave.exec })
            .collect(),
        verdict: match w.verdict {
            WorkVerdict::Stuck => "stuck",
            WorkVerdict::OverBudget(_) => "still-running",
            WorkVerdict::Endless { .. } => "endless",
        }
        .into(),
        culprit: w.culprit.clone(),
        explanation: w.explanation.clone(),
    }
}

fn machine(q: &HangQueue) -> Machine {
    let state = &q.state;
    Machine {
        queue: q.name.clone(),
        halted: state.halted,
        engines: q
            .engines
            .iter()
            .map(|e| Engine {
                engine: e.engine.into(),
                at: e.at.clone(),
                waits_for: e.waits_for.into(),
            })
            .collect(),
        queued: state.queued as u64,
        end_of_pipe: state.end_of_pipe as u64,
        dispatches: state.dispatches,
        reading: state.reading.iter().map(|(at, left)| (at.to_string(), *left)).collect(),
        registers: state
            .registers
            .iter()
            .map(|(name, value)| ((*name).to_owned(), format!("{value:#x}")))
            .collect(),
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

/// The verdict on a wait in kebab case, as scenarios expect it: one of
/// [`crate::verdicts::ALL`].
pub fn verdict_name(verdict: &StallVerdict) -> &'static str {
    match verdict {
        StallVerdict::Cycle(_) => "cycle",
        StallVerdict::NeverWritten => "never-written",
        StallVerdict::Overtaken => "overtaken",
        StallVerdict::WriteLost => "write-lost",
        StallVerdict::NeverSatisfied => "never-satisfied",
        StallVerdict::BehindItself => "behind-itself",
        StallVerdict::ValueInL2(_) => "value-in-l2",
        StallVerdict::WriterBlocked(_) => "writer-blocked",
        StallVerdict::NotSubmitted(_) => "not-submitted",
        StallVerdict::MemoryFreed(_) => "memory-freed",
        StallVerdict::MemoryReused { .. } => "memory-reused",
        // The list is open to other crates.
        _ => "blocked",
    }
}
