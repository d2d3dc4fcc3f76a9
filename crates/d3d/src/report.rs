//! How a run ended, in the API's words.

use crate::hang::Hang;
use std::fmt;
use wavefence_base::{Fault, Finding, Limit, Printed};

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
