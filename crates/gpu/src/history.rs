//! Past writes of values, so that a hang can be explained.
//!
//! Remembered are writes of up to 8 bytes by packets and by the host, and every
//! change of an address while a wait looks at it. A store of a shader is seen
//! when a dispatch ends, and put down to that dispatch.

use crate::mem::Bus;
use std::collections::BTreeMap;
use wavefence_base::stall::PastWrite;
use wavefence_base::topology::Client;
use wavefence_base::{GpuAddress, GpuRange, Writer};

/// Writes remembered per address; older ones are dropped.
const KEPT: usize = 1024;

/// An address that blocked waits look at.
#[derive(Clone, Debug)]
struct Watch {
    /// As which client the wait looks.
    client: Client,
    bytes: u8,
    /// The value last known.
    seen: u64,
    /// Name of the allocation when the wait began.
    name: Option<String>,
    /// Waits.
    count: usize,
}

/// Writes by address, oldest first.
#[derive(Clone, Debug, Default)]
pub(crate) struct History {
    by_address: BTreeMap<GpuAddress, Vec<PastWrite>>,
    watched: BTreeMap<GpuAddress, Watch>,
}

impl History {
    /// Remembers a write of a value to `address`.
    pub(crate) fn record(&mut self, address: GpuAddress, write: PastWrite) {
        if let Some(watch) = self.watched.get_mut(&address)
            && write.landed
        {
            watch.seen = write.value;
        }
        let list = self.by_address.entry(address).or_default();
        if list.len() == KEPT {
            list.drain(..KEPT / 2);
        }
        list.push(write);
    }

    /// What was written to `address` is no matter of a wait.
    pub(crate) fn forget(&mut self, address: GpuAddress) {
        self.by_address.remove(&address);
    }

    /// Every remembered write to `address`.
    pub(crate) fn of(&self, address: GpuAddress) -> &[PastWrite] {
        self.by_address.get(&address).map_or(&[], Vec::as_slice)
    }

    /// A wait blocks at `address`, where its client sees `seen`.
    /// `name` is the allocation's.
    pub(crate) fn watch(
        &mut self,
        address: GpuAddress,
        (client, bytes): (Client, u8),
        seen: u64,
        name: Option<String>,
    ) {
        let fresh = Watch { client, bytes, seen, name, count: 0 };
        let watch = self.watched.entry(address).or_insert(fresh);
        watch.bytes = watch.bytes.max(bytes);
        watch.count += 1;
    }

    /// Name of the allocation at `address` when a wait that still looks there began.
    pub(crate) fn met(&self, address: GpuAddress) -> Option<&str> {
        self.watched.get(&address)?.name.as_deref()
    }

    /// A wait at `address` is over.
    pub(crate) fn unwatch(&mut self, address: GpuAddress) {
        if let Some(watch) = self.watched.get_mut(&address) {
            watch.count -= 1;
            if watch.count == 0 {
                self.watched.remove(&address);
            }
        }
    }

    /// Remembers what changed at watched addresses, within `range` if given.
    pub(crate) fn look(
        &mut self,
        bus: &mut Bus,
        range: Option<GpuRange>,
        by: Writer,
        packet: Option<GpuAddress>,
    ) {
        let mut changed = Vec::new();
        for (&address, watch) in &self.watched {
            let near =
                range.is_none_or(|r| r.overlaps(GpuRange::new(address, u64::from(watch.bytes))));
            if !near {
                continue;
            }
            let now = bus.untraced(|bus| bus.poll(watch.client, address, watch.bytes));
            if let Ok(value) = now
                && value != watch.seen
            {
                changed.push((address, value));
            }
        }
        for (address, value) in changed {
            self.record(address, PastWrite { by, packet, value, landed: true });
        }
    }
}
