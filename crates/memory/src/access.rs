//! Access by address, for the host, command processors and DMA.

use crate::port::Atomic;
use crate::space::{AddressSpace, Nearest, Side, Snapshot};
use crate::store;
use std::fmt;
use std::sync::atomic::Ordering;
use wavefence_base::GpuAddress;

/// What was wrong with an access.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum AccessErrorKind {
    /// No allocation was ever there, or another one ends before it.
    Unmapped,
    /// The allocation that was there is gone.
    Freed,
    /// The GPU may only read there.
    ReadOnly,
    /// An atomic at an address that is no multiple of its size.
    Misaligned,
}

/// An access that was refused. Nothing was read or written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AccessError {
    /// What was wrong.
    pub kind: AccessErrorKind,
    /// True for writes and atomics.
    pub write: bool,
    /// First byte of the access.
    pub address: GpuAddress,
    /// Its length in bytes.
    pub len: u64,
    /// The first byte that was wrong.
    pub at: GpuAddress,
    /// What lies there or next to it.
    pub nearest: Option<Box<Nearest>>,
}

impl fmt::Display for AccessError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = if self.write { "write" } else { "read" };
        write!(f, "{what} of {} bytes at {} ", self.len, self.address)?;
        if self.at != self.address {
            write!(f, "(from {} on) ", self.at)?;
        }
        f.write_str(match self.kind {
            AccessErrorKind::Unmapped => "lies in no allocation",
            AccessErrorKind::Freed => "lies in freed memory",
            AccessErrorKind::ReadOnly => "goes to memory the GPU may only read",
            AccessErrorKind::Misaligned => "is not aligned to its size",
        })?;
        match &self.nearest {
            Some(n) => write!(f, ": {n}"),
            None => f.write_str(": nothing was ever allocated"),
        }
    }
}

impl std::error::Error for AccessError {}

/// Who accesses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Agent {
    Host,
    Gpu,
}

/// Access by address on behalf of one agent. An access happens whole or not at
/// all; aligned accesses of 4 and 8 bytes are one piece, reads acquire and writes
/// release.
#[derive(Clone, Copy, Debug)]
pub struct Bus<'a> {
    space: &'a AddressSpace,
    agent: Agent,
}

impl AddressSpace {
    /// Access as the host: everything living may be written.
    pub fn host(&self) -> Bus<'_> {
        Bus { space: self, agent: Agent::Host }
    }

    /// Access as an engine of the GPU: read-only memory is not written.
    pub fn gpu(&self) -> Bus<'_> {
        Bus { space: self, agent: Agent::Gpu }
    }
}

impl Bus<'_> {
    /// Reads `out.len()` bytes.
    ///
    /// # Errors
    /// If they do not all live; `out` is unchanged.
    pub fn read(self, address: GpuAddress, out: &mut [u8]) -> Result<(), AccessError> {
        let table = self.space.snapshot();
        self.check(&table, address, out.len() as u64, false)?;
        table.pieces(address, out.len() as u64, |at, n, segment| {
            segment.is_some_and(|s| {
                s.window(address.0 + at).read(0, &mut out[at as usize..(at + n) as usize])
            })
        });
        Ok(())
    }

    /// Writes `data`.
    ///
    /// # Errors
    /// If the bytes do not all live or may not be written; none was.
    pub fn write(self, address: GpuAddress, data: &[u8]) -> Result<(), AccessError> {
        let table = self.space.snapshot();
        self.check(&table, address, data.len() as u64, true)?;
        table.pieces(address, data.len() as u64, |at, n, segment| {
            segment.is_some_and(|s| {
                s.window(address.0 + at).write(0, &data[at as usize..(at + n) as usize])
            })
        });
        Ok(())
    }

    /// Reads 4 bytes.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn read_u32(self, address: GpuAddress) -> Result<u32, AccessError> {
        let table = self.space.snapshot();
        if let Some(s) = table.find(address)
            && let Some(v) = s.window(address.0).load_u32(0, Ordering::Acquire)
        {
            return Ok(v);
        }
        let mut bytes = [0; 4];
        self.read(address, &mut bytes)?;
        Ok(u32::from_le_bytes(bytes))
    }

    /// Reads 8 bytes.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn read_u64(self, address: GpuAddress) -> Result<u64, AccessError> {
        let table = self.space.snapshot();
        if let Some(s) = table.find(address)
            && let Some(v) = s.window(address.0).load_u64(0, Ordering::Acquire)
        {
            return Ok(v);
        }
        let mut bytes = [0; 8];
        self.read(address, &mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }

    /// Writes 4 bytes.
    ///
    /// # Errors
    /// As [`Self::write`].
    pub fn write_u32(self, address: GpuAddress, value: u32) -> Result<(), AccessError> {
        let table = self.space.snapshot();
        self.check(&table, address, 4, true)?;
        if let Some(s) = table.find(address)
            && s.window(address.0).store_u32(0, value, Ordering::Release)
        {
            return Ok(());
        }
        self.write(address, &value.to_le_bytes())
    }

    /// Writes 8 bytes.
    ///
    /// # Errors
    /// As [`Self::write`].
    pub fn write_u64(self, address: GpuAddress, value: u64) -> Result<(), AccessError> {
        let table = self.space.snapshot();
        self.check(&table, address, 8, true)?;
        if let Some(s) = table.find(address)
            && s.window(address.0).store_u64(0, value, Ordering::Release)
        {
            return Ok(());
        }
        self.write(address, &value.to_le_bytes())
    }

    /// Read-modify-write of 4 bytes; gives the old value.
    ///
    /// # Errors
    /// As [`Self::write`], or if the address is no multiple of 4.
    pub fn atomic_u32(
        self,
        op: Atomic,
        address: GpuAddress,
        value: u32,
        compare: u32,
    ) -> Result<u32, AccessError> {
        let table = self.space.snapshot();
        self.check(&table, address, 4, true)?;
        table
            .find(address)
            .and_then(|s| s.window(address.0).atomic_u32(op, 0, value, compare))
            .ok_or_else(|| self.error(AccessErrorKind::Misaligned, true, address, 4, address))
    }

    /// Read-modify-write of 8 bytes; gives the old value.
    ///
    /// # Errors
    /// As [`Self::write`], or if the address is no multiple of 8.
    pub fn atomic_u64(
        self,
        op: Atomic,
        address: GpuAddress,
        value: u64,
        compare: u64,
    ) -> Result<u64, AccessError> {
        let table = self.space.snapshot();
        self.check(&table, address, 8, true)?;
        table
            .find(address)
            .and_then(|s| s.window(address.0).atomic_u64(op, 0, value, compare))
            .ok_or_else(|| self.error(AccessErrorKind::Misaligned, true, address, 8, address))
    }

    /// Copies `len` bytes, as if through a buffer where the two overlap.
    ///
    /// # Errors
    /// As [`Self::read`] for the source and [`Self::write`] for the destination.
    pub fn copy(self, from: GpuAddress, to: GpuAddress, len: u64) -> Result<(), AccessError> {
        let table = self.space.snapshot();
        self.check(&table, from, len, false)?;
        self.check(&table, to, len, true)?;
        let mut pieces = Vec::new();
        table.pieces(from, len, |at, n, source| {
            let Some(source) = source else { return false };
            table.pieces(to.offset(at), n, |inner, n, destination| {
                let Some(destination) = destination else { return false };
                pieces.push((at + inner, n, source, destination));
                true
            });
            true
        });
        if to > from {
            pieces.reverse();
        }
        for (at, n, source, destination) in pieces {
            let source = source.window(from.0 + at);
            store::copy(source, destination.window(to.0 + at), n);
        }
        Ok(())
    }

    /// Writes `value` over and over for `len` bytes, its lowest byte at
    /// `address`.
    ///
    /// # Errors
    /// As [`Self::write`].
    pub fn fill(self, address: GpuAddress, len: u64, value: u32) -> Result<(), AccessError> {
        let table = self.space.snapshot();
        self.check(&table, address, len, true)?;
        table.pieces(address, len, |at, n, segment| {
            let turned = value.rotate_right(8 * (at % 4) as u32);
            segment.is_some_and(|s| s.window(address.0 + at).fill(0, n, turned))
        });
        Ok(())
    }

    /// Refuses an access that does not wholly live or that may not be made.
    pub(crate) fn verify(
        self,
        address: GpuAddress,
        len: u64,
        write: bool,
    ) -> Result<(), AccessError> {
        self.check(&self.space.snapshot(), address, len, write)
    }

    /// Refuses what does not wholly live or may not be written.
    fn check(
        self,
        table: &Snapshot,
        address: GpuAddress,
        len: u64,
        write: bool,
    ) -> Result<(), AccessError> {
        let mut wrong = None;
        if address.0.checked_add(len).is_none() {
            wrong = Some((AccessErrorKind::Unmapped, 0));
        }
        table.pieces(address, len, |at, _, segment| {
            wrong = wrong.or(match segment {
                None => Some((AccessErrorKind::Unmapped, at)),
                Some(s) if write && self.agent == Agent::Gpu && !s.gpu_write => {
                    Some((AccessErrorKind::ReadOnly, at))
                }
                Some(_) => None,
            });
            wrong.is_none()
        });
        match wrong {
            None => Ok(()),
            Some((kind, at)) => Err(self.error(kind, write, address, len, address.offset(at))),
        }
    }

    pub(crate) fn error(
        self,
        kind: AccessErrorKind,
        write: bool,
        address: GpuAddress,
        len: u64,
        at: GpuAddress,
    ) -> AccessError {
        let nearest = self.space.nearest(at);
        let freed = nearest
            .as_ref()
            .is_some_and(|n| matches!(n.side, Side::Inside(_)) && n.allocation.freed.is_some());
        let kind =
            if kind == AccessErrorKind::Unmapped && freed { AccessErrorKind::Freed } else { kind };
        AccessError { kind, write, address, len, at, nearest: nearest.map(Box::new) }
    }
}

#[cfg(test)]
mod tests;
