//! The global data share: a small memory that all waves and the command
//! processors reach. Ordered append counter `n` is its dword `n`.

use std::sync::atomic::{AtomicU32, Ordering};
use wavefence_shader::ir::AtomicOp;

/// The dwords of the data share, shared by all threads of a device.
#[derive(Debug)]
pub(crate) struct Gds {
    words: Vec<AtomicU32>,
}

impl Gds {
    /// A zeroed data share of `bytes`.
    pub(crate) fn new(bytes: u32) -> Self {
        Self { words: (0..bytes / 4).map(|_| AtomicU32::new(0)).collect() }
    }

    fn word(&self, offset: u32) -> Option<&AtomicU32> {
        if !offset.is_multiple_of(4) {
            return None;
        }
        self.words.get(offset as usize / 4)
    }

    /// The dword at byte `offset`; `None` out of range or not 4-byte aligned.
    pub(crate) fn read(&self, offset: u32) -> Option<u32> {
        self.word(offset).map(|w| w.load(Ordering::SeqCst))
    }

    /// Writes the dword at byte `offset`; false out of range.
    pub(crate) fn write(&self, offset: u32, value: u32) -> bool {
        self.word(offset).map(|w| w.store(value, Ordering::SeqCst)).is_some()
    }

    /// Read-modify-write; gives the old value, 0 out of range.
    pub(crate) fn atomic(&self, op: AtomicOp, offset: u32, value: u32, compare: u32) -> u32 {
        let Some(word) = self.word(offset) else { return 0 };
        word.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |old| {
            Some(apply(op, old, value, compare))
        })
        .unwrap_or(0)
    }
}

/// What `op` leaves behind.
fn apply(op: AtomicOp, old: u32, value: u32, compare: u32) -> u32 {
    match op {
        AtomicOp::Add => old.wrapping_add(value),
        AtomicOp::Sub => old.wrapping_sub(value),
        AtomicOp::And => old & value,
        AtomicOp::Or => old | value,
        AtomicOp::Xor => old ^ value,
        AtomicOp::UMin => old.min(value),
        AtomicOp::UMax => old.max(value),
        AtomicOp::SMin => (old as i32).min(value as i32) as u32,
        AtomicOp::SMax => (old as i32).max(value as i32) as u32,
        AtomicOp::Exchange | AtomicOp::Store => value,
        AtomicOp::CompareExchange => {
            if old == compare {
                value
            } else {
                old
            }
        }
        AtomicOp::Load => old,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn out_of_range_reads_zero_and_writes_nothing() {
        let gds = Gds::new(16);
        assert!(gds.write(12, 7));
        assert_eq!(gds.atomic(AtomicOp::Add, 12, 1, 0), 7);
        assert_eq!(gds.read(12), Some(8));
        assert!(!gds.write(16, 1));
        assert!(!gds.write(2, 1));
        assert_eq!(gds.atomic(AtomicOp::Add, 16, 1, 0), 0);
        assert_eq!(gds.read(16), None);
    }

    #[test]
    fn signed_and_unsigned_differ() {
        assert_eq!(apply(AtomicOp::SMin, u32::MAX, 1, 0), u32::MAX);
        assert_eq!(apply(AtomicOp::UMin, u32::MAX, 1, 0), 1);
        assert_eq!(apply(AtomicOp::CompareExchange, 5, 9, 5), 9);
        assert_eq!(apply(AtomicOp::CompareExchange, 5, 9, 6), 5);
    }
}
