//! Past writes of values, so that a hang can be explained.
//!
//! Remembered are writes of up to 8 bytes by packets and by the host; a wait may
//! look at any of them. Stores of shaders carry no record.

use std::collections::BTreeMap;
use wavefence_base::GpuAddress;
use wavefence_base::stall::PastWrite;

/// Writes remembered per address; older ones are dropped.
const KEPT: usize = 1024;

/// Writes by address, oldest first.
#[derive(Debug, Default)]
pub(crate) struct History {
    by_address: BTreeMap<GpuAddress, Vec<PastWrite>>,
}

impl History {
    /// Remembers a write of a value to `address`.
    pub(crate) fn record(&mut self, address: GpuAddress, write: PastWrite) {
        let list = self.by_address.entry(address).or_default();
        if list.len() == KEPT {
            list.drain(..KEPT / 2);
        }
        list.push(write);
    }

    /// Every remembered write to `address`.
    pub(crate) fn of(&self, address: GpuAddress) -> &[PastWrite] {
        self.by_address.get(&address).map_or(&[], Vec::as_slice)
    }
}
