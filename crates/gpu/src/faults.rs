//! Faults of a device, one per place with a count.

use std::collections::BTreeMap;
use wavefence_base::{Fault, FaultKind};

/// What makes two faults the same one.
type Key = (FaultKind, Option<u32>, Option<u64>, Option<u32>, Option<String>);

/// The list. Order is that of first occurrence.
#[derive(Clone, Debug, Default)]
pub(crate) struct Faults {
    list: Vec<Fault>,
    index: BTreeMap<Key, usize>,
}

impl Faults {
    /// Adds a fault; true if its place is new.
    pub(crate) fn add(&mut self, fault: Fault) -> bool {
        let place = &fault.place;
        let key = (
            fault.kind,
            place.queue.map(|q| q.0),
            place.packet.map(|p| p.0),
            place.kernel.map(|k| k.0),
            place.line.clone(),
        );
        if let Some(&at) = self.index.get(&key) {
            self.list[at].count += fault.count;
            return false;
        }
        self.index.insert(key, self.list.len());
        self.list.push(fault);
        true
    }

    /// The faults so far.
    pub(crate) fn list(&self) -> &[Fault] {
        &self.list
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wavefence_base::{GpuAddress, Place};

    #[test]
    fn same_place_counts_up() {
        let fault = |packet| Fault {
            kind: FaultKind::ReadUnmapped,
            place: Place { packet: Some(GpuAddress(packet)), ..Place::default() },
            address: None,
            bytes: 4,
            count: 1,
            detail: String::new(),
        };
        let mut faults = Faults::default();
        assert!(faults.add(fault(8)));
        assert!(!faults.add(fault(8)));
        assert!(faults.add(fault(16)));
        assert_eq!(faults.list().iter().map(|f| f.count).collect::<Vec<_>>(), [2, 1]);
    }
}
