//! Which rings and which generations have a packet or a field.

use std::fmt;
use wavefence_base::Generation;

/// Which processor reads a command stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Ring {
    /// The graphics ring: PFP and ME.
    Graphics,
    /// A compute ring: one MEC, no PFP.
    Compute,
    /// A DMA engine.
    Sdma,
}

impl Ring {
    /// Every ring kind.
    pub const ALL: [Self; 3] = [Self::Graphics, Self::Compute, Self::Sdma];
}

impl fmt::Display for Ring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Graphics => "graphics",
            Self::Compute => "compute",
            Self::Sdma => "sdma",
        })
    }
}

/// A set of [`Ring`]s.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Rings(u8);

impl Rings {
    /// The graphics ring alone.
    pub const GRAPHICS: Self = Self(1);
    /// Compute rings alone.
    pub const COMPUTE: Self = Self(2);
    /// DMA engines alone.
    pub const SDMA: Self = Self(4);
    /// Both rings that read PM4.
    pub const PM4: Self = Self(3);
    /// Every ring.
    pub const ALL: Self = Self(7);

    /// True if `ring` is in the set.
    pub const fn has(self, ring: Ring) -> bool {
        self.0 & 1 << ring as u8 != 0
    }

    /// The rings in both sets.
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// True if no ring is in the set.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The rings of the set in order.
    pub fn iter(self) -> impl Iterator<Item = Ring> {
        Ring::ALL.into_iter().filter(move |&r| self.has(r))
    }
}

/// A set of [`Generation`]s.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Generations(u8);

impl Generations {
    /// No generation of ours (a packet that sources list for older parts only).
    pub const NONE: Self = Self(0);
    /// GFX7 alone.
    pub const GFX7: Self = Self(1);
    /// GFX8 alone.
    pub const GFX8: Self = Self(2);
    /// GFX10.3 alone.
    pub const GFX10: Self = Self(4);
    /// GFX7 and GFX8.
    pub const GFX7_8: Self = Self(3);
    /// GFX8 and GFX10.3.
    pub const GFX8_10: Self = Self(6);
    /// Every generation.
    pub const ALL: Self = Self(7);

    /// True if `generation` is in the set.
    pub const fn has(self, generation: Generation) -> bool {
        self.0 & 1 << generation as u8 != 0
    }

    /// The generations in both sets.
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// True if no generation is in the set.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The generations of the set, oldest first.
    pub fn iter(self) -> impl Iterator<Item = Generation> {
        Generation::ALL.into_iter().filter(move |&g| self.has(g))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_hold_what_their_names_say() {
        assert_eq!(Rings::PM4.iter().collect::<Vec<_>>(), [Ring::Graphics, Ring::Compute]);
        assert_eq!(Rings::ALL.iter().collect::<Vec<_>>(), Ring::ALL);
        assert_eq!(Rings::SDMA.iter().collect::<Vec<_>>(), [Ring::Sdma]);
        assert_eq!(Generations::ALL.iter().collect::<Vec<_>>(), Generation::ALL);
        assert_eq!(Generations::GFX10.iter().collect::<Vec<_>>(), [Generation::Gfx10_3]);
        assert_eq!(
            Generations::GFX7_8.iter().collect::<Vec<_>>(),
            [Generation::Gfx7, Generation::Gfx8]
        );
        assert!(Generations::NONE.is_empty());
    }
}
