//! The parts of a report, as plain data.

use serde::{Serialize, Serializer};
use wavefence_base::{Finding, Place};
use wavefence_check::rules::of_fault;
use wavefence_d3d::{CallError, CallFault, CallLine};

/// What ran.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Stats {
    /// Submissions.
    pub submits: u64,
    /// Dispatches that started.
    pub dispatches: u64,
    /// Thread groups.
    pub groups: u64,
    /// Waits met.
    pub waits: u64,
    /// Values written for waits.
    pub values: u64,
    /// Copies and fills.
    pub transfers: u64,
    /// GPU cycles of a model run; a fast run has no time.
    pub cycles: Option<u64>,
    /// The same by the profile's clock, rounded down.
    pub nanoseconds: Option<u64>,
}

impl Stats {
    /// Puts down the time of a model run, by a clock of so many MHz.
    pub fn set_cycles(&mut self, cycles: u64, clock_mhz: u32) {
        let nanoseconds = u128::from(cycles) * 1000 / u128::from(clock_mhz.max(1));
        self.cycles = Some(cycles);
        self.nanoseconds = Some(u64::try_from(nanoseconds).unwrap_or(u64::MAX));
    }
}

/// A call that breaks an API rule.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CallErrorItem {
    /// Stable rule number.
    pub number: u32,
    /// Rule name.
    pub rule: String,
    /// Where the rule comes from.
    pub source: String,
    /// The command list.
    pub list: String,
    /// The call with its list and number.
    pub call: String,
    /// The argument.
    pub argument: String,
    /// Its value.
    pub value: String,
    /// What is wrong and the way out.
    pub message: String,
    /// `file:line:column` of the call or argument in the scenario.
    pub at: String,
    /// True if the scenario expects it.
    pub expected: bool,
}

impl CallErrorItem {
    /// From the API's error and its place in the scenario.
    pub fn new(error: &CallError, at: String) -> Self {
        Self {
            number: error.rule.number,
            rule: error.rule.name.into(),
            source: error.rule.source.into(),
            list: error.list.clone(),
            call: error.place(),
            argument: error.argument.clone(),
            value: error.value.clone(),
            message: error.message.clone(),
            at,
            expected: false,
        }
    }
}

/// What a compiler said about a shader that it compiled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WarningItem {
    /// The shader.
    pub shader: String,
    /// `file:line:column`, empty if the compiler named none.
    pub at: String,
    /// The compiler's words.
    pub message: String,
}

/// One finding.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FindingItem {
    /// Stable rule number.
    pub number: u32,
    /// Rule name.
    pub rule: String,
    /// Where the rule comes from.
    pub source: String,
    /// `proven`, `possible` or `advice`.
    pub verdict: String,
    /// The call.
    pub call: String,
    /// Prose.
    pub message: String,
    /// Stable keys and values.
    #[serde(serialize_with = "object")]
    pub properties: Vec<(String, String)>,
    /// How often.
    pub count: u64,
    /// True if the scenario expects it.
    pub expected: bool,
    /// True if the baseline knows it.
    pub known: bool,
}

/// Pairs as an object, in their order.
fn object<S: Serializer>(pairs: &[(String, String)], s: S) -> Result<S::Ok, S::Error> {
    s.collect_map(pairs.iter().map(|(key, value)| (key, value)))
}

impl From<&Finding> for FindingItem {
    fn from(f: &Finding) -> Self {
        let properties = f.properties.iter().map(|(k, v)| ((*k).to_string(), v.clone()));
        Self {
            number: f.rule.number,
            rule: f.rule.name.into(),
            source: f.rule.source.into(),
            verdict: f.verdict.to_string(),
            call: f.call.clone(),
            message: f.message.clone(),
            properties: properties.collect(),
            count: f.count,
            expected: false,
            known: false,
        }
    }
}

/// One fault: proven by this run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FaultItem {
    /// The kind, in kebab case.
    pub kind: String,
    /// Number of the hazard rule that it breaks, if one says more about it.
    pub number: Option<u32>,
    /// Name of that rule.
    pub rule: Option<String>,
    /// The queue.
    pub queue: Option<String>,
    /// The call.
    pub call: Option<String>,
    /// The shader.
    pub shader: Option<String>,
    /// `file:line` of the shader.
    pub line: Option<String>,
    /// The dispatch.
    pub dispatch: Option<u32>,
    /// The thread group.
    pub group: Option<[u32; 3]>,
    /// The wave in the group.
    pub wave: Option<u32>,
    /// The lane in the wave.
    pub lane: Option<u32>,
    /// The address.
    pub address: Option<String>,
    /// Bytes accessed.
    pub bytes: u64,
    /// How often.
    pub count: u64,
    /// Prose.
    pub message: String,
    /// True if the scenario expects it.
    pub expected: bool,
    /// True if the baseline knows it.
    pub known: bool,
}

impl From<&CallFault> for FaultItem {
    fn from(f: &CallFault) -> Self {
        let fault = &f.fault;
        let Place { queue: _, packet: _, dispatch, kernel: _, line, group, wave, lane } =
            &fault.place;
        let rule = of_fault(fault.kind);
        Self {
            kind: fault.kind.name().into(),
            number: rule.map(|r| r.number),
            rule: rule.map(|r| r.name.to_owned()),
            queue: f.queue.clone(),
            call: f.call.as_ref().map(ToString::to_string),
            shader: f.shader.clone(),
            line: line.clone(),
            dispatch: dispatch.map(|d| d.0),
            group: *group,
            wave: *wave,
            lane: *lane,
            address: fault.address.map(|a| a.to_string()),
            bytes: fault.bytes,
            count: fault.count,
            message: fault.detail.clone(),
            expected: false,
            known: false,
        }
    }
}

/// A line that a shader printed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PrintedItem {
    /// The shader.
    pub shader: Option<String>,
    /// The call.
    pub call: Option<String>,
    /// `file:line` of the shader.
    pub line: Option<String>,
    /// The dispatch.
    pub dispatch: Option<u32>,
    /// The thread group.
    pub group: Option<[u32; 3]>,
    /// The wave in the group.
    pub wave: Option<u32>,
    /// The lane in the wave.
    pub lane: Option<u32>,
    /// The line.
    pub text: String,
}

impl From<&CallLine> for PrintedItem {
    fn from(line: &CallLine) -> Self {
        let place = &line.printed.place;
        Self {
            shader: line.shader.clone(),
            call: line.call.as_ref().map(ToString::to_string),
            line: place.line.clone(),
            dispatch: place.dispatch.map(|d| d.0),
            group: place.group,
            wave: place.wave,
            lane: place.lane,
            text: line.printed.text.clone(),
        }
    }
}

/// One comparison.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Check {
    /// Its name.
    pub name: String,
    /// What was compared and how.
    pub rule: String,
    /// True if it holds.
    pub passed: bool,
    /// Where and by how much it fails; empty if it holds.
    pub detail: Vec<String>,
}

/// A file that was written.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Output {
    /// The image.
    pub name: String,
    /// Its path.
    pub path: String,
    /// Pixels in a row.
    pub width: u32,
    /// Rows.
    pub height: u32,
}
