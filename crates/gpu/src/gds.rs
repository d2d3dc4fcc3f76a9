//! The global data share: a small memory that all waves and the command
//! processors reach. Ordered append counter `n` is its dword `n`.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use wavefence_shader::ir::AtomicOp;

/// The dwords of the data share, shared by all threads of a device.
#[derive(Debug)]
pub(crate) struct Gds {
    words: Vec<AtomicU32>,
    /// A bit for each 64th of it that was written since the last checkpoint.
    written: AtomicU64,
}

impl Gds {
    /// A zeroed data share of `bytes`.
    pub(crate) fn new(bytes: u32) -> Self {
        let words = (0..bytes / 4).map(|_| AtomicU32::new(0)).collect();
        Self { words, written: AtomicU64::new(0) }
    }

    fn word(&self, offset: u32) -> Option<&AtomicU32> {
        if !offset.is_multiple_of(4) {
            return None;
        }
        self.words.get(offset as usize / 4)
    }

    /// As [`Self::word`], to be written.
    fn writable(&self, offset: u32) -> Option<&AtomicU32> {
        let word = self.word(offset)?;
        let part = offset as usize / 4 / self.part();
        self.written.fetch_or(1 << part, Ordering::Relaxed);
        Some(word)
    }

    /// Dwords of a 64th.
    fn part(&self) -> usize {
        self.words.len().div_ceil(64).max(1)
    }

    /// The dwords now, for [`Self::restore`]. Nobody may write meanwhile.
    pub(crate) fn checkpoint(&self) -> Vec<u32> {
        self.written.store(0, Ordering::Relaxed);
        self.words.iter().map(|w| w.load(Ordering::Relaxed)).collect()
    }

    /// Puts back what was written since the checkpoint. Nobody may write meanwhile.
    pub(crate) fn restore(&self, saved: &[u32]) {
        let written = self.written.swap(0, Ordering::Relaxed);
        let parts = self.words.chunks(self.part()).zip(saved.chunks(self.part()));
        for (at, (words, saved)) in parts.enumerate() {
            if written >> at & 1 == 1 {
                for (word, &value) in words.iter().zip(saved) {
                    word.store(value, Ordering::Relaxed);
                }
            }
        }
    }

    /// The dword at byte `offset`; `None` out of range or not 4-byte aligned.
    pub(crate) fn read(&self, offset: u32) -> Option<u32> {
        self.word(offset).map(|w| w.load(Ordering::SeqCst))
    }

    /// Writes the dword at byte `offset`; false out of range.
    pub(crate) fn write(&self, offset: u32, value: u32) -> bool {
        self.writable(offset).map(|w| w.store(value, Ordering::SeqCst)).is_some()
    }

    /// Read-modify-write; gives the old value, 0 out of range.
    pub(crate) fn atomic(&self, op: AtomicOp, offset: u32, value: u32, compare: u32) -> u32 {
        let Some(word) = self.writable(offset) else { return 0 };
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
    fn what_was_written_goes_back() {
        for bytes in [0, 4, 1024, 65_540] {
            let gds = Gds::new(bytes);
            let all = |gds: &Gds| (0..bytes / 4).map(|i| gds.read(4 * i)).collect::<Vec<_>>();
            for i in (0..bytes / 4).step_by(7) {
                gds.write(4 * i, i + 1);
            }
            let (saved, then) = (gds.checkpoint(), all(&gds));
            for step in [3, 1000] {
                for i in (0..bytes / 4).step_by(step) {
                    gds.atomic(AtomicOp::Xor, 4 * i, 0xFFFF, 0);
                }
                gds.restore(&saved);
                assert_eq!(all(&gds), then);
            }
        }
    }

    #[test]
    fn signed_and_unsigned_differ() {
        assert_eq!(apply(AtomicOp::SMin, u32::MAX, 1, 0), u32::MAX);
        assert_eq!(apply(AtomicOp::UMin, u32::MAX, 1, 0), 1);
        assert_eq!(apply(AtomicOp::CompareExchange, 5, 9, 5), 9);
        assert_eq!(apply(AtomicOp::CompareExchange, 5, 9, 6), 5);
    }
}
