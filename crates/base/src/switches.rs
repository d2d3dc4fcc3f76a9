//! Rules of the caches that no source settles, or that sources settle apart:
//! each a switch with its mark.

use crate::profile::{Confidence, Generation, Marked};
use std::fmt;

/// What a cache does with a line that it holds when a store to it passes on its
/// way to L2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PassingStore {
    /// The line stays as it was.
    Leave,
    /// The line is dropped.
    Drop,
    /// The line takes the written bytes.
    Update,
}

impl fmt::Display for PassingStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Leave => "leave",
            Self::Drop => "drop",
            Self::Update => "update",
        })
    }
}

/// The switches of one profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheSwitches {
    /// A store that finds its line in the vector L1/L0 of its own unit.
    /// [`PassingStore::Leave`] would hide a wave's own stores from it.
    /// A store that finds no line makes none (`hardware/caches.md` S8).
    pub store_hit: Marked<PassingStore>,
    /// A store that finds its line in GL1. With [`PassingStore::Leave`] a wave
    /// may not see its own stores, which is why it is not the default.
    pub passing_store: Marked<PassingStore>,
    /// Lines that an L2 write-back has written stay, clean. Never counted on.
    pub writeback_keeps: Marked<bool>,
    /// An L2 invalidate without write-back leaves dirty bytes alone; if not, they
    /// are lost.
    pub invalidate_keeps_dirty: Marked<bool>,
    /// An access to uncached memory writes back and drops a line that L2 holds
    /// from before; if not, the line stays and goes stale.
    pub uncached_drops: Marked<bool>,
    /// The command processor reads predicates and conditions through L2. Of GFX8
    /// two sources say so and one says the opposite (`hardware/caches.md` 2).
    pub predicates_in_l2: Marked<bool>,
    /// Stores of one compute unit that can be on their way to L2, in lines; when
    /// there are more the oldest arrives.
    pub stores_in_flight: Marked<u32>,
}

const fn confirmed<T>(value: T) -> Marked<T> {
    Marked { value, confidence: Confidence::Confirmed }
}
const fn derived<T>(value: T) -> Marked<T> {
    Marked { value, confidence: Confidence::Derived }
}
const fn assumed<T>(value: T) -> Marked<T> {
    Marked { value, confidence: Confidence::Assumed }
}

impl CacheSwitches {
    /// Of the consoles before Series. GFX8 has an L2 write-back
    /// without invalidate, on GFX7 asking for it does both (`hardware/caches.md`
    /// 1.3).
    pub(crate) const fn before_gfx10(generation: Generation) -> Self {
        Self {
            writeback_keeps: match generation {
                Generation::Gfx7 => confirmed(false),
                Generation::Gfx8 | Generation::Gfx10_3 => assumed(true),
            },
            predicates_in_l2: match generation {
                Generation::Gfx7 => derived(false),
                Generation::Gfx8 | Generation::Gfx10_3 => assumed(true),
            },
            ..Self::GFX10
        }
    }

    /// Of Series.
    pub(crate) const GFX10: Self = Self {
        store_hit: assumed(PassingStore::Update),
        passing_store: assumed(PassingStore::Drop),
        writeback_keeps: assumed(true),
        invalidate_keeps_dirty: confirmed(true),
        uncached_drops: assumed(true),
        predicates_in_l2: confirmed(true),
        stores_in_flight: assumed(64),
    };

    /// Every switch with its mark, for printing.
    pub(crate) fn rows(&self) -> Vec<(&'static str, String, Confidence)> {
        fn row<T: fmt::Display>(
            name: &'static str,
            m: Marked<T>,
        ) -> (&'static str, String, Confidence) {
            (name, m.value.to_string(), m.confidence)
        }
        let word = |m: Marked<bool>, on: &str, off: &str| Marked {
            value: String::from(if m.value { on } else { off }),
            confidence: m.confidence,
        };
        vec![
            row("L1/L0 line hit by stores", self.store_hit),
            row("GL1 line passed by stores", self.passing_store),
            row("lines after L2 write-back", word(self.writeback_keeps, "stay", "go")),
            row(
                "dirty lines in bare L2 invalidate",
                word(self.invalidate_keeps_dirty, "stay", "lost"),
            ),
            row("L2 line under uncached access", word(self.uncached_drops, "goes", "stays")),
            row("predicates of the CP", word(self.predicates_in_l2, "from L2", "from memory")),
            row("stores in flight per CU, lines", self.stores_in_flight),
        ]
    }
}
