//! What is wrong with a call: errors and advice, judged when it is recorded.

use std::fmt;
use wavefence_base::{Finding, Limit, Place, Rule, Verdict};
use wavefence_memory::{AccessError, AllocationError, FreeError};

/// One call that breaks a rule. The call was not recorded.
#[derive(Clone, Debug, PartialEq)]
pub struct CallError {
    /// The rule.
    pub rule: &'static Rule,
    /// Name of the command list, empty for calls on a device or queue.
    pub list: String,
    /// Number of the call in its list, from 0.
    pub index: u32,
    /// The call, as Direct3D spells it.
    pub call: &'static str,
    /// The argument, as its page spells it; empty if it is the call as a whole.
    pub argument: String,
    /// The argument's value, empty if it has none.
    pub value: String,
    /// What is wrong and the way out.
    pub message: String,
}

impl CallError {
    /// The call with its list and number: `list "Blur" #3 DispatchX`.
    pub fn place(&self) -> String {
        place(&self.list, self.index, self.call)
    }
}

/// `list "Blur" #3 DispatchX`, or the bare call outside a list.
pub(crate) fn place(list: &str, index: u32, call: &str) -> String {
    if list.is_empty() { call.to_owned() } else { format!("list \"{list}\" #{index} {call}") }
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.place())?;
        match (self.argument.is_empty(), self.value.is_empty()) {
            (true, _) => {}
            (false, true) => write!(f, "{}: ", self.argument)?,
            (false, false) => write!(f, "{} = {}: ", self.argument, self.value)?,
        }
        write!(f, "{} [{} {}]", self.message, self.rule.name, self.rule.number)
    }
}

impl std::error::Error for CallError {}

/// Every error of one list, in the order of its calls.
#[derive(Clone, Debug, PartialEq)]
pub struct CallErrors(pub Vec<CallError>);

impl fmt::Display for CallErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, error) in self.0.iter().enumerate() {
            if i > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{error}")?;
        }
        Ok(())
    }
}

impl std::error::Error for CallErrors {}

/// Why a call on a device or queue failed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Error {
    /// The call breaks an API rule.
    #[error(transparent)]
    Call(Box<CallError>),
    /// A list has calls that break API rules.
    #[error(transparent)]
    Calls(#[from] CallErrors),
    /// An allocation was refused.
    #[error(transparent)]
    Allocation(Box<AllocationError>),
    /// A free was refused.
    #[error(transparent)]
    Free(#[from] FreeError),
    /// An access of the host hit memory that is not there.
    #[error(transparent)]
    Access(Box<AccessError>),
    /// This host or this version cannot do it.
    #[error(transparent)]
    Limit(#[from] Limit),
}

impl From<CallError> for Error {
    fn from(error: CallError) -> Self {
        Self::Call(Box::new(error))
    }
}

impl From<AllocationError> for Error {
    fn from(error: AllocationError) -> Self {
        Self::Allocation(Box::new(error))
    }
}

impl From<AccessError> for Error {
    fn from(error: AccessError) -> Self {
        Self::Access(Box::new(error))
    }
}

/// Advice about a call of a list.
pub(crate) fn advice(
    rule: &'static Rule,
    (list, index, call): (&str, u32, &'static str),
    (argument, value): (&str, String),
    message: String,
) -> Finding {
    Finding {
        rule,
        verdict: Verdict::Advice,
        place: Place::default(),
        call: place(list, index, call),
        message,
        properties: vec![
            ("list", list.to_owned()),
            ("index", index.to_string()),
            ("call", call.to_owned()),
            ("argument", argument.to_owned()),
            ("value", value),
        ],
        count: 1,
    }
}
