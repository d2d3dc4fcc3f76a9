//! Lanes of a wave.

use std::fmt;

/// How many lanes a wave has.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum WaveSize {
    /// 32 lanes (GFX10 and later).
    W32,
    /// 64 lanes.
    W64,
}

impl WaveSize {
    /// Number of lanes.
    #[inline]
    pub const fn lanes(self) -> u32 {
        match self {
            Self::W32 => 32,
            Self::W64 => 64,
        }
    }

    /// The mask with every lane of such a wave set.
    #[inline]
    pub const fn full_mask(self) -> LaneMask {
        match self {
            Self::W32 => LaneMask(0xFFFF_FFFF),
            Self::W64 => LaneMask(u64::MAX),
        }
    }
}

/// One bit per lane; lane 0 is bit 0. A wave of 32 lanes keeps the high half 0.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct LaneMask(pub u64);

impl LaneMask {
    /// No lane.
    pub const EMPTY: Self = Self(0);

    /// The first `n` lanes (`n` up to 64).
    #[inline]
    pub const fn first(n: u32) -> Self {
        if n >= 64 { Self(u64::MAX) } else { Self((1 << n) - 1) }
    }

    /// True if no lane is set.
    #[inline]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Number of lanes set.
    #[inline]
    pub const fn count(self) -> u32 {
        self.0.count_ones()
    }

    /// True if lane `lane` is set.
    #[inline]
    pub const fn contains(self, lane: u32) -> bool {
        lane < 64 && self.0 >> lane & 1 == 1
    }

    /// The lowest lane that is set.
    #[inline]
    pub const fn lowest(self) -> Option<u32> {
        if self.0 == 0 { None } else { Some(self.0.trailing_zeros()) }
    }

    /// The lanes that are set, lowest first.
    #[inline]
    pub fn iter(self) -> impl Iterator<Item = u32> {
        let mut rest = self.0;
        std::iter::from_fn(move || {
            if rest == 0 {
                return None;
            }
            let lane = rest.trailing_zeros();
            rest &= rest - 1;
            Some(lane)
        })
    }
}

impl std::ops::BitAnd for LaneMask {
    type Output = Self;
    #[inline]
    fn bitand(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

impl std::ops::BitOr for LaneMask {
    type Output = Self;
    #[inline]
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl std::ops::Not for LaneMask {
    type Output = Self;
    #[inline]
    fn not(self) -> Self {
        Self(!self.0)
    }
}

impl fmt::Debug for LaneMask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#018x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_come_lowest_first() {
        let mask = LaneMask(1 << 63 | 0b101);
        assert_eq!(mask.iter().collect::<Vec<_>>(), [0, 2, 63]);
        assert_eq!(mask.lowest(), Some(0));
        assert_eq!(LaneMask::EMPTY.lowest(), None);
    }

    #[test]
    fn first_covers_both_ends() {
        assert_eq!(LaneMask::first(0), LaneMask::EMPTY);
        assert_eq!(LaneMask::first(32), WaveSize::W32.full_mask());
        assert_eq!(LaneMask::first(64), WaveSize::W64.full_mask());
        assert!(!LaneMask::first(64).contains(64));
    }
}
