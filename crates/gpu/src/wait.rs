//! Waits on a value.

use crate::queue::Queue;
use wavefence_base::topology::Client;
use wavefence_base::{GpuAddress, GpuRange};
use wavefence_pm4::function;

/// What a wait looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Polled {
    /// Memory, as that client reads it.
    Memory(GpuAddress, Client),
    /// A register of the queue, by dword index.
    Register(u32),
}

/// A wait: `(value & mask) FUNC reference`, unsigned (`hardware/pm4.md` 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ValueWait {
    /// Where the value is.
    pub(crate) polled: Polled,
    /// FUNCTION code, 0 to 6.
    pub(crate) function: u8,
    /// The reference; not masked.
    pub(crate) reference: u64,
    /// Mask of the value.
    pub(crate) mask: u64,
    /// 4 or 8.
    pub(crate) bytes: u8,
    /// Polls left before the engine gives up; `None` is for ever.
    pub(crate) polls: Option<u32>,
}

impl ValueWait {
    /// True if `value` ends the wait.
    pub(crate) fn holds(&self, value: u64) -> bool {
        function::compare(self.function, value, self.mask, self.reference) == Some(true)
    }

    /// The memory that is polled.
    pub(crate) fn range(&self) -> Option<GpuRange> {
        match self.polled {
            Polled::Memory(at, _) => Some(GpuRange::new(at, u64::from(self.bytes))),
            Polled::Register(_) => None,
        }
    }

    /// The comparison as a symbol.
    pub(crate) fn symbol(&self) -> &'static str {
        function::symbol(self.function).unwrap_or("?")
    }

    /// The register's value, if it is a register that is polled.
    pub(crate) fn register_value(&self, queue: &Queue) -> Option<u64> {
        match self.polled {
            Polled::Register(index) => Some(u64::from(queue.regs.get(index))),
            Polled::Memory(..) => None,
        }
    }
}
