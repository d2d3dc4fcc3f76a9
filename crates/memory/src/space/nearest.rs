//! What lies at or next to an address that hit nothing.

use super::Allocation;
use std::fmt;
use wavefence_base::GpuAddress;

/// Where the address is, seen from the allocation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// So many bytes before its first byte.
    Before(u64),
    /// So many bytes from its first byte.
    Inside(u64),
    /// So many bytes past its end (0 is the first byte after it).
    After(u64),
}

/// The allocation at or next to an address.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Nearest {
    /// The allocation, with its history.
    pub allocation: Allocation,
    /// Where the address is.
    pub side: Side,
}

impl fmt::Display for Nearest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let a = &self.allocation;
        match self.side {
            Side::Before(n) => write!(f, "{n} bytes before the start of")?,
            Side::Inside(n) => write!(f, "{n:#x} bytes into")?,
            Side::After(n) => write!(f, "{n} bytes past the end of")?,
        }
        write!(f, " {:?} {:?}", a.desc.name, a.range)?;
        match a.freed {
            Some(freed) => write!(f, ", made at step {}, freed at step {freed}", a.made),
            None => Ok(()),
        }
    }
}

/// The best of `all` (in order of their making): a living one that holds the
/// address, else a freed one that held it, else the living one closest, else the
/// freed one closest. Of equals the one made last.
pub(super) fn find<'a>(
    all: impl Iterator<Item = &'a Allocation>,
    address: GpuAddress,
) -> Option<Nearest> {
    let side = |a: &Allocation| {
        let (start, end) = (a.range.start.0, a.range.end());
        if address.0 < start {
            Side::Before(start - address.0)
        } else if address.0 < end {
            Side::Inside(address.0 - start)
        } else {
            Side::After(address.0 - end)
        }
    };
    let rank = |a: &Allocation| {
        let freed = a.freed.is_some();
        match side(a) {
            Side::Inside(_) => (0, freed, 0),
            Side::Before(n) => (1 + u8::from(freed), false, n),
            Side::After(n) => (1 + u8::from(freed), false, n + 1),
        }
    };
    let mut best: Option<&Allocation> = None;
    for a in all {
        if best.is_none_or(|b| rank(a) <= rank(b)) {
            best = Some(a);
        }
    }
    best.map(|a| Nearest { allocation: a.clone(), side: side(a) })
}
