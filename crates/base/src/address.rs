//! GPU virtual addresses and ranges.

use std::fmt;

/// A byte address in the GPU's flat address space: 40 bits on the Xbox One
/// family, 48 on Series (`hardware/pm4.md` 1.4 and 2.2).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct GpuAddress(pub u64);

impl GpuAddress {
    /// The address `bytes` further on; wraps, as the hardware's adders do.
    pub const fn offset(self, bytes: u64) -> Self {
        Self(self.0.wrapping_add(bytes))
    }

    /// True if the address is a multiple of `bytes` (a power of two).
    pub const fn is_aligned(self, bytes: u64) -> bool {
        self.0 & (bytes - 1) == 0
    }

    /// Low 32 bits, as packets carry them.
    pub const fn lo(self) -> u32 {
        self.0 as u32
    }

    /// High bits, as packets carry them.
    pub const fn hi(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// Joins the two halves that a packet carries.
    pub const fn from_parts(lo: u32, hi: u32) -> Self {
        Self((hi as u64) << 32 | lo as u64)
    }
}

impl fmt::Debug for GpuAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

impl fmt::Display for GpuAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// A half-open range of GPU addresses.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct GpuRange {
    /// First byte.
    pub start: GpuAddress,
    /// Length in bytes.
    pub len: u64,
}

impl GpuRange {
    /// The range of `len` bytes from `start`.
    pub const fn new(start: GpuAddress, len: u64) -> Self {
        Self { start, len }
    }

    /// The address after the last byte (saturating).
    pub const fn end(self) -> u64 {
        self.start.0.saturating_add(self.len)
    }

    /// True if `len` bytes from `address` all lie in this range.
    pub const fn contains(self, address: GpuAddress, len: u64) -> bool {
        address.0 >= self.start.0
            && match address.0.checked_add(len) {
                Some(end) => end <= self.end(),
                None => false,
            }
    }

    /// True if the two ranges share a byte.
    pub const fn overlaps(self, other: Self) -> bool {
        self.start.0 < other.end() && other.start.0 < self.end()
    }
}

impl fmt::Debug for GpuRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}, +{:#x})", self.start, self.len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_at_the_edges() {
        let r = GpuRange::new(GpuAddress(0x100), 0x10);
        assert!(r.contains(GpuAddress(0x10C), 4));
        assert!(!r.contains(GpuAddress(0x10D), 4));
        assert!(!r.contains(GpuAddress(u64::MAX), 2));
        assert!(!r.overlaps(GpuRange::new(GpuAddress(0x110), 4)));
        assert!(r.overlaps(GpuRange::new(GpuAddress(0x10F), 4)));
    }

    #[test]
    fn halves_join_again() {
        let a = GpuAddress(0x12_3456_789A);
        assert_eq!(GpuAddress::from_parts(a.lo(), a.hi()), a);
    }
}
