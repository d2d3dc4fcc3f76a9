//! How a run ended, in the API's words.

use std::fmt;
use wavefence_base::{Fault, Finding, GpuAddress, Limit, Printed, StallVerdict, Writer};

/// A call of a list that a packet came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallRef {
    /// Name of the list; for calls on a queue the queue's name.
    pub list: String,
    /// Number of the call in the list; `None` for calls on a queue.
    pub index: Option<u32>,
    /// The call, as Direct3D spells it.
    pub call: String,
    /// Open events around the call, outermost first.
    pub markers: Vec<String>,
    /// The whole: `list "Blur" #3 Wait32BitValueX(0x10000, EQUAL, 1)`.
    pub text: String,
}

impl fmt::Display for CallRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)?;
        if !self.markers.is_empty() {
            write!(f, " in \"{}\"", self.markers.join("\" / \""))?;
        }
        Ok(())
    }
}

/// A line that a shader printed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallLine {
    /// The line, and the lane that printed it.
    pub printed: Printed,
    /// Name of the shader.
    pub shader: Option<String>,
    /// The call.
    pub call: Option<CallRef>,
}

/// A fault with the call that did it.
#[derive(Clone, Debug, PartialEq)]
pub struct CallFault {
    /// The fault.
    pub fault: Fault,
    /// The queue's name.
    pub queue: Option<String>,
    /// The call.
    pub call: Option<CallRef>,
    /// Name of the shader, for faults of shaders.
    pub shader: Option<String>,
}

impl fmt::Display for CallFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(queue) = &self.queue {
            write!(f, "queue \"{queue}\", ")?;
        }
        if let Some(call) = &self.call {
            write!(f, "{call}: ")?;
        }
        if let Some(shader) = &self.shader {
            write!(f, "shader \"{shader}\": ")?;
        }
        f.write_str(&self.fault.detail)?;
        if self.fault.count > 1 {
            write!(f, " ({} times)", self.fault.count)?;
        }
        Ok(())
    }
}

/// A write that a wait looked for.
#[derive(Clone, Debug, PartialEq)]
pub struct HangWrite {
    /// Who: a call, the host, or a shader's dispatch.
    pub by: String,
    /// The value, if it is known.
    pub value: Option<u64>,
    /// False if it was dropped (memory that is not there or not writable).
    pub landed: bool,
}

/// A blocked wait, in words.
#[derive(Clone, Debug, PartialEq)]
pub struct HangWait {
    /// The queue's name.
    pub queue: String,
    /// The engine that waits: `me`, `mec`, `pfp` or `sdma`.
    pub engine: &'static str,
    /// The call.
    pub call: CallRef,
    /// The polled address.
    pub address: GpuAddress,
    /// `allocation+offset`, if the address lies in one.
    pub place: Option<String>,
    /// The comparison, as a symbol.
    pub function: &'static str,
    /// The value waited for.
    pub wanted: u64,
    /// The value in memory.
    pub present: u64,
    /// Writes so far, oldest first.
    pub past: Vec<HangWrite>,
    /// Writes that have not run.
    pub pending: Vec<HangWrite>,
    /// What it comes down to.
    pub verdict: StallVerdict,
    /// The verdict and the way out, in words.
    pub explanation: String,
}

/// Nothing can move: every blocked wait.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Hang {
    /// The waits.
    pub waits: Vec<HangWait>,
}

/// Most writes that the text lists one by one.
const LISTED: usize = 4;

impl fmt::Display for Hang {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "nothing can move: {} blocked", count(self.waits.len(), "wait"))?;
        for wait in &self.waits {
            let place = wait.place.as_ref().map_or(String::new(), |p| format!(" ({p})"));
            write!(
                f,
                "\n  queue \"{}\" ({}): {}\n    waits until {}{place} {} {}; it is {}",
                wait.queue,
                wait.engine,
                wait.call,
                wait.address,
                wait.function,
                wait.wanted,
                wait.present
            )?;
            writes(f, "written so far", &wait.past)?;
            writes(f, "not yet run", &wait.pending)?;
            write!(f, "\n    {}", wait.explanation)?;
        }
        Ok(())
    }
}

fn count(n: usize, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}

fn writes(f: &mut fmt::Formatter<'_>, title: &str, list: &[HangWrite]) -> fmt::Result {
    if list.is_empty() {
        return Ok(());
    }
    let skipped = list.len().saturating_sub(LISTED);
    write!(f, "\n    {title}:")?;
    if skipped > 0 {
        write!(f, " {} earlier, then", count(skipped, "write"))?;
    }
    for (i, write) in list[skipped..].iter().enumerate() {
        let value = write.value.map_or("a timestamp".to_owned(), |v| v.to_string());
        let lost = if write.landed { "" } else { " (dropped)" };
        let comma = if i == 0 { "" } else { "," };
        write!(f, "{comma} {value} by {}{lost}", write.by)?;
    }
    Ok(())
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Ending {
    /// All work is done.
    Idle,
    /// Nothing can move. The host may still write or submit, and run again.
    Hang(Hang),
    /// A budget ended, or something is not supported.
    Limit(Limit),
    /// Stopped at a fault, as asked.
    Stopped(Box<CallFault>),
    /// The schedule has given the host its turn; run again to go on.
    HostTurn,
    /// The schedule has seen enough.
    Enough,
}

/// What a run, and everything before it on this device, has to say.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// How the run ended.
    pub ending: Ending,
    /// Faults since the device was made, one per place.
    pub faults: Vec<CallFault>,
    /// Lines that shaders printed since the device was made.
    pub printed: Vec<CallLine>,
    /// Lines beyond those that are kept.
    pub lines_lost: u64,
    /// Advice of the lists executed and findings of the run.
    pub findings: Vec<Finding>,
}

impl Report {
    /// True if all work is done and nothing went wrong.
    pub fn is_clean(&self) -> bool {
        self.ending == Ending::Idle && self.faults.is_empty()
    }

    /// The hang, if the run ended in one.
    pub fn hang(&self) -> Option<&Hang> {
        match &self.ending {
            Ending::Hang(hang) => Some(hang),
            Ending::Idle
            | Ending::Limit(_)
            | Ending::Stopped(_)
            | Ending::HostTurn
            | Ending::Enough => None,
        }
    }
}

/// What a verdict means and the way out of it.
pub(crate) fn explain(
    verdict: &StallVerdict,
    queues: &dyn Fn(wavefence_base::QueueId) -> String,
) -> String {
    match verdict {
        StallVerdict::Cycle(ring) => {
            let mut names: Vec<String> =
                ring.iter().map(|q| format!("\"{}\"", queues(*q))).collect();
            if let Some(first) = names.first().cloned() {
                names.push(first);
            }
            format!(
                "deadlock: queues wait for each other: {}; break the ring by signalling before \
                 waiting on one of them",
                names.join(" -> ")
            )
        }
        StallVerdict::NeverWritten => {
            "never written: nothing has written there and nothing still to run does; submit the \
             producer, or check the address"
                .into()
        }
        StallVerdict::Overtaken => {
            "overtaken: the value was there and has been passed; wait with GREATER_EQUAL on a \
             counter that only grows"
                .into()
        }
        StallVerdict::WriteLost => {
            "write lost: the write that would have ended it went to memory that is read-only for \
             the GPU or not there; write to memory that the GPU may write"
                .into()
        }
        StallVerdict::NeverSatisfied => {
            "never satisfied: the address was written, but never with such a value; check the \
             value and the comparison"
                .into()
        }
        StallVerdict::ValueInL2(by) => format!(
            "value in L2: {} stored it, but it lies dirty in L2 and the command processor polls \
             memory; write L2 back after the store, or write the value at the bottom of the pipe",
            writer(*by, queues)
        ),
        StallVerdict::BehindItself => {
            "blocks itself: the only write that would end it stands behind the wait on the same \
             queue; write from another queue or earlier"
                .into()
        }
        other => format!("{other:?}"),
    }
}

/// Who wrote, without the call.
pub(crate) fn writer(by: Writer, queues: &dyn Fn(wavefence_base::QueueId) -> String) -> String {
    match by {
        Writer::Host => "the host".into(),
        Writer::Queue(q) | Writer::Dma(q) => format!("queue \"{}\"", queues(q)),
        Writer::Shader(q, d) => format!("a shader of {d} on queue \"{}\"", queues(q)),
        other => format!("{other:?}"),
    }
}
