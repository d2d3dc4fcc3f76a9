//! Memory under the caches.

use crate::access::AccessErrorKind;
use crate::cache::{ByteMask, runs, span};
use crate::space::{AddressSpace, Segment, Snapshot};
use std::sync::Arc;
use wavefence_base::{GpuAddress, GpuRange};

/// Dirty bytes that had nowhere to go when their line was written back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LostBytes {
    /// Which bytes.
    pub range: GpuRange,
    /// Why: the allocation was freed, or is read-only by now.
    pub kind: AccessErrorKind,
}

/// The bytes behind the last cache, and the table that says who lies where.
pub(super) struct Backing {
    pub space: Arc<AddressSpace>,
    table: Arc<Snapshot>,
    recent: [usize; RECENT],
    pub lost: Vec<LostBytes>,
}

const RECENT: usize = 4;

impl Backing {
    pub fn new(space: Arc<AddressSpace>) -> Self {
        let table = space.snapshot();
        Self { space, table, recent: [0; RECENT], lost: Vec::new() }
    }

    /// Takes up allocations and frees made since.
    #[inline]
    pub fn refresh(&mut self) {
        if self.table.epoch != self.space.epoch() {
            self.table = self.space.snapshot();
            self.recent = [0; RECENT];
        }
    }

    /// The segment that holds `address`.
    #[inline]
    pub fn find(&mut self, address: u64) -> Option<&Segment> {
        for index in self.recent {
            if self.table.segments.get(index).is_some_and(|s| s.holds(address)) {
                return self.table.segments.get(index);
            }
        }
        let index = self.table.index(GpuAddress(address))?;
        self.recent.rotate_right(1);
        self.recent[0] = index;
        self.table.segments.get(index)
    }

    /// Reads a line's bytes; says which exist. Others are left as they are.
    pub fn fetch(&mut self, address: u64, out: &mut [u8]) -> ByteMask {
        let len = out.len() as u64;
        if let Some(s) = self.find(address)
            && s.window(address).read(0, out)
        {
            return span(0, len as u32);
        }
        let mut there = 0;
        self.table.pieces(GpuAddress(address), len, |at, n, segment| {
            if let Some(s) = segment
                && s.window(address + at).read(0, &mut out[at as usize..(at + n) as usize])
            {
                there |= span(at as u32, n as u32);
            }
            true
        });
        there
    }

    /// Writes the bytes of `mask`; gives how many were written. What has nowhere
    /// to go is dropped and kept in `lost`.
    pub fn write_back(&mut self, address: u64, data: &[u8], mask: ByteMask) -> u64 {
        let mut written = 0;
        for (at, len) in runs(mask) {
            let start = address + at as u64;
            let bytes = &data[at..at + len];
            if let Some(s) = self.find(start)
                && s.gpu_write
                && s.window(start).write(0, bytes)
            {
                written += len as u64;
                continue;
            }
            let (table, lost) = (&self.table, &mut self.lost);
            table.pieces(GpuAddress(start), len as u64, |at, n, segment| {
                let kind = match segment {
                    None => AccessErrorKind::Freed,
                    Some(s) if !s.gpu_write => AccessErrorKind::ReadOnly,
                    Some(s) => {
                        s.window(start + at).write(0, &bytes[at as usize..(at + n) as usize]);
                        written += n;
                        return true;
                    }
                };
                lost.push(LostBytes { range: GpuRange::new(GpuAddress(start + at), n), kind });
                true
            });
        }
        written
    }
}
