//! Device profiles: which console, and every number that describes it.
//!
//! Numbers come from `hardware/caches.md` section 5 and `hardware/pm4.md`
//! section 8; each keeps its mark. What no source settles is a switch with a
//! default marked assumed.

use crate::occupancy::Occupancy;
use crate::order::OrderSwitches;
use crate::switches::CacheSwitches;
use crate::timing::Timing;
use std::fmt;

/// Where a number or rule comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Confidence {
    /// A named source states it.
    Confirmed,
    /// It follows from confirmed facts.
    Derived,
    /// Plausible for the family; no source found.
    Assumed,
}

impl fmt::Display for Confidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Confirmed => "confirmed",
            Self::Derived => "derived",
            Self::Assumed => "assumed",
        })
    }
}

/// A value with its mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Marked<T> {
    /// The value.
    pub value: T,
    /// How sure it is.
    pub confidence: Confidence,
}

/// Graphics IP generation: which packets, fields and cache rules apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Generation {
    /// Sea Islands rules (Xbox One, One S).
    Gfx7,
    /// Volcanic Islands rules (Xbox One X).
    Gfx8,
    /// RDNA2 rules (Series S and X).
    Gfx10_3,
}

impl Generation {
    /// Every generation.
    pub const ALL: [Self; 3] = [Self::Gfx7, Self::Gfx8, Self::Gfx10_3];

    /// Width of a GPU virtual address in bits.
    pub const fn address_bits(self) -> u32 {
        match self {
            Self::Gfx7 | Self::Gfx8 => 40,
            Self::Gfx10_3 => 48,
        }
    }
}

impl fmt::Display for Generation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Gfx7 => "gfx7",
            Self::Gfx8 => "gfx8",
            Self::Gfx10_3 => "gfx10.3",
        })
    }
}

/// Which API rules apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Family {
    /// Xbox One, One S, One X.
    XboxOne,
    /// Series S and X.
    Series,
}

/// The built-in profiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ProfileName {
    /// Xbox One (2013).
    XboxOne,
    /// Xbox One S.
    XboxOneS,
    /// Xbox One X.
    XboxOneX,
    /// Xbox Series S.
    SeriesS,
    /// Xbox Series X.
    SeriesX,
}

impl ProfileName {
    /// Every profile, oldest first.
    pub const ALL: [Self; 5] =
        [Self::XboxOne, Self::XboxOneS, Self::XboxOneX, Self::SeriesS, Self::SeriesX];

    /// The name a person writes.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::XboxOne => "xbox-one",
            Self::XboxOneS => "xbox-one-s",
            Self::XboxOneX => "xbox-one-x",
            Self::SeriesS => "series-s",
            Self::SeriesX => "series-x",
        }
    }

    /// The profile of that name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|p| p.as_str() == name)
    }
}

impl fmt::Display for ProfileName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

pub(crate) const fn confirmed<T>(value: T) -> Marked<T> {
    Marked { value, confidence: Confidence::Confirmed }
}
pub(crate) const fn derived<T>(value: T) -> Marked<T> {
    Marked { value, confidence: Confidence::Derived }
}
pub(crate) const fn assumed<T>(value: T) -> Marked<T> {
    Marked { value, confidence: Confidence::Assumed }
}

/// One console, as the model knows it. Sizes in bytes, clocks in MHz, bandwidth
/// in MB/s (10^6).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    /// Which console, or which one a loaded file started from.
    pub name: ProfileName,
    /// Packet and cache generation.
    pub generation: Marked<Generation>,
    /// API family.
    pub family: Family,
    /// Compute units that titles use.
    pub compute_units: Marked<u32>,
    /// Shader engines.
    pub shader_engines: Marked<u32>,
    /// GPU clock, MHz.
    pub clock_mhz: Marked<u32>,
    /// L2 size.
    pub l2_bytes: Marked<u64>,
    /// Vector L1 (L0 on Series) per compute unit.
    pub l1_bytes: Marked<u64>,
    /// GL1 per shader array; 0 where there is none.
    pub gl1_bytes: Marked<u64>,
    /// Scalar data cache per group of compute units.
    pub k_bytes: Marked<u64>,
    /// Instruction cache per group of compute units.
    pub i_bytes: Marked<u64>,
    /// DRAM bandwidth, MB/s.
    pub dram_mb_per_s: Marked<u32>,
    /// ESRAM; 0 where there is none.
    pub esram_bytes: Marked<u64>,
    /// Queues of each compute pipe.
    pub compute_queues: Marked<&'static [u32]>,
    /// DMA (move) engines.
    pub dma_engines: Marked<u32>,
    /// Ticks per second of both timestamp counters.
    pub timestamp_hz: Marked<u64>,
    /// Group-shared memory that one thread group may use.
    pub lds_bytes: Marked<u32>,
    /// Global data share.
    pub gds_bytes: Marked<u32>,
    /// Waves resident on one compute unit.
    pub waves_per_cu: Marked<u32>,
    /// Alignment that `Write64BitValueBottomOfPipeX` asks of its destination on
    /// graphics and compute lists. DMA lists always ask for 32.
    pub write64_alignment: Marked<u32>,
    /// Rules of the caches that no source settles.
    pub caches: CacheSwitches,
    /// Rules of order and of boundaries that no source settles.
    pub order: OrderSwitches,
    /// How many end-of-pipe events a call of the API that writes a value sends:
    /// one event of GFX7 or GFX8 can write its value before its own cache actions
    /// are complete, so drivers send two (`hardware/pm4.md` 4.2). 1 sends one.
    pub end_of_pipe_events: Marked<u32>,
    /// What a compute unit has room for. Waves are bounded by
    /// [`Self::waves_per_cu`], too.
    pub occupancy: Occupancy,
    /// What things take in virtual time.
    pub timing: Timing,
}

impl Profile {
    /// A built-in profile.
    pub const fn get(name: ProfileName) -> Self {
        match name {
            ProfileName::XboxOne => XBOX_ONE,
            ProfileName::XboxOneS => XBOX_ONE_S,
            ProfileName::XboxOneX => XBOX_ONE_X,
            ProfileName::SeriesS => SERIES_S,
            ProfileName::SeriesX => SERIES_X,
        }
    }

    /// True if waves of 32 lanes exist here.
    pub const fn has_wave32(&self) -> bool {
        matches!(self.generation.value, Generation::Gfx10_3)
    }

    /// Every number with its unit and mark, for printing.
    pub fn rows(&self) -> Vec<(&'static str, String, Confidence)> {
        fn row<T: fmt::Display>(
            name: &'static str,
            m: Marked<T>,
            unit: &str,
        ) -> (&'static str, String, Confidence) {
            (name, format!("{}{unit}", m.value), m.confidence)
        }
        let kib = |m: Marked<u64>| Marked { value: m.value >> 10, confidence: m.confidence };
        let queues = self.compute_queues.value.iter().map(u32::to_string).collect::<Vec<_>>();
        let mut rows = vec![
            row("generation", self.generation, ""),
            row("compute units", self.compute_units, ""),
            row("shader engines", self.shader_engines, ""),
            row("GPU clock", self.clock_mhz, " MHz"),
            row("L2", kib(self.l2_bytes), " KiB"),
            row("vector L1/L0 per CU", kib(self.l1_bytes), " KiB"),
            row("GL1 per shader array", kib(self.gl1_bytes), " KiB"),
            row("scalar data cache", kib(self.k_bytes), " KiB"),
            row("instruction cache", kib(self.i_bytes), " KiB"),
            row("DRAM bandwidth", self.dram_mb_per_s, " MB/s"),
            row("ESRAM", kib(self.esram_bytes), " KiB"),
            (
                "queues per compute pipe",
                format!("{{{}}}", queues.join(",")),
                self.compute_queues.confidence,
            ),
            row("DMA engines", self.dma_engines, ""),
            row("timestamp frequency", self.timestamp_hz, " Hz"),
            row("group-shared memory per group", self.lds_bytes, " B"),
            row("global data share", self.gds_bytes, " B"),
            row("waves per CU", self.waves_per_cu, ""),
            row("alignment of 64-bit writes", self.write64_alignment, " B"),
            row("end-of-pipe events per value", self.end_of_pipe_events, ""),
        ];
        rows.extend(self.caches.rows());
        rows.extend(self.order.rows());
        rows.extend(self.occupancy.rows(self.has_wave32()));
        rows.extend(self.timing.rows(self.has_wave32()));
        rows
    }
}

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

const XBOX_ONE: Profile = Profile {
    name: ProfileName::XboxOne,
    generation: assumed(Generation::Gfx7),
    family: Family::XboxOne,
    compute_units: assumed(12),
    shader_engines: derived(2),
    clock_mhz: confirmed(853),
    l2_bytes: confirmed(512 * KIB),
    l1_bytes: assumed(16 * KIB),
    gl1_bytes: derived(0),
    k_bytes: assumed(16 * KIB),
    i_bytes: assumed(32 * KIB),
    dram_mb_per_s: confirmed(68_200),
    esram_bytes: confirmed(32 * MIB),
    compute_queues: assumed(&[6, 3]),
    dma_engines: assumed(4),
    timestamp_hz: confirmed(100_000_000),
    lds_bytes: confirmed(65_536),
    gds_bytes: assumed(65_536),
    waves_per_cu: confirmed(40),
    write64_alignment: confirmed(32),
    caches: CacheSwitches::before_gfx10(Generation::Gfx7),
    order: OrderSwitches::BEFORE_GFX10,
    end_of_pipe_events: assumed(2),
    occupancy: Occupancy::GFX7,
    timing: Timing::before_gfx10(derived(2), confirmed(853), confirmed(68_200), 4),
};

const XBOX_ONE_S: Profile = Profile {
    name: ProfileName::XboxOneS,
    compute_units: confirmed(12),
    clock_mhz: confirmed(914),
    l2_bytes: assumed(512 * KIB),
    dram_mb_per_s: assumed(68_000),
    timestamp_hz: assumed(100_000_000),
    timing: Timing::before_gfx10(derived(2), confirmed(914), assumed(68_000), 4),
    ..XBOX_ONE
};

const XBOX_ONE_X: Profile = Profile {
    name: ProfileName::XboxOneX,
    generation: confirmed(Generation::Gfx8),
    compute_units: confirmed(40),
    shader_engines: confirmed(4),
    clock_mhz: confirmed(1172),
    l2_bytes: confirmed(2 * MIB),
    k_bytes: confirmed(16 * KIB),
    i_bytes: confirmed(32 * KIB),
    dram_mb_per_s: confirmed(326_000),
    esram_bytes: confirmed(0),
    timestamp_hz: assumed(100_000_000),
    waves_per_cu: assumed(32),
    caches: CacheSwitches::before_gfx10(Generation::Gfx8),
    occupancy: Occupancy::GFX8,
    timing: Timing::before_gfx10(confirmed(4), confirmed(1172), confirmed(326_000), 8),
    ..XBOX_ONE
};

const SERIES_S: Profile = Profile {
    name: ProfileName::SeriesS,
    generation: confirmed(Generation::Gfx10_3),
    family: Family::Series,
    compute_units: confirmed(20),
    shader_engines: derived(1),
    clock_mhz: confirmed(1565),
    l2_bytes: confirmed(2 * MIB),
    l1_bytes: assumed(16 * KIB),
    gl1_bytes: confirmed(128 * KIB),
    k_bytes: confirmed(16 * KIB),
    i_bytes: confirmed(32 * KIB),
    dram_mb_per_s: confirmed(224_000),
    esram_bytes: confirmed(0),
    compute_queues: assumed(&[6, 3, 4, 4]),
    dma_engines: assumed(4),
    timestamp_hz: assumed(100_000_000),
    lds_bytes: confirmed(65_536),
    gds_bytes: confirmed(65_536),
    waves_per_cu: confirmed(32),
    write64_alignment: assumed(8),
    caches: CacheSwitches::GFX10,
    order: OrderSwitches::GFX10,
    end_of_pipe_events: derived(1),
    occupancy: Occupancy::GFX10,
    timing: Timing::gfx10(1, confirmed(1565), confirmed(224_000), 8),
};

const SERIES_X: Profile = Profile {
    name: ProfileName::SeriesX,
    compute_units: confirmed(52),
    shader_engines: derived(2),
    clock_mhz: confirmed(1825),
    l2_bytes: confirmed(5 * MIB),
    dram_mb_per_s: confirmed(560_000),
    timing: Timing::gfx10(2, confirmed(1825), confirmed(560_000), 20),
    ..SERIES_S
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_parse_back() {
        for name in ProfileName::ALL {
            assert_eq!(ProfileName::parse(name.as_str()), Some(name));
            assert_eq!(Profile::get(name).name, name);
        }
        assert_eq!(ProfileName::parse("series-z"), None);
    }

    #[test]
    fn families_follow_generations() {
        for name in ProfileName::ALL {
            let p = Profile::get(name);
            assert_eq!(p.family == Family::Series, p.has_wave32(), "{name}");
        }
    }
}
