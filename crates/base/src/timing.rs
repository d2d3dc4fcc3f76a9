//! What things take in virtual time: one table per profile.
//!
//! Times are cycles of the GPU's clock, as integers. No source gives a console's
//! pipelines, so most numbers are assumed: round, of the size that public
//! measurements of related hardware show. What is derived follows from
//! `hardware/caches.md` sections 4 and 5 or from the page on
//! `D3D12XBOX_DISPATCH_FLAGS`; what is confirmed stands there.
//!
//! The rules that use the numbers:
//! - An engine is busy for its cycles per packet and for what the packet does.
//! - Every shader engine has a launcher, which takes [`LaunchTiming`] per wave;
//!   together they serve one group after the other, of whatever queue.
//! - A wave's instructions occupy its SIMD by [`IssueTiming`]; waves of one SIMD
//!   take turns. A wave waits for each of its loads and atomics
//!   ([`MemoryTiming`]), others run meanwhile; it does not wait for its stores.
//! - L2 and memory pass their bytes one after the other; who asks for some is not
//!   done before they have passed.

use crate::profile::{Confidence, Marked, assumed, confirmed, derived};
use std::fmt::Display;

/// Families of wave instructions that differ in how long they occupy a SIMD.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum OpFamily {
    /// 32 bits or less per lane, at full rate.
    Vector,
    /// Transcendental functions and divisions: each a few quarter-rate
    /// instructions, counted as one.
    Quarter,
    /// Floats of 64 bits.
    Double,
    /// One value for the whole wave, or control flow.
    Scalar,
    /// Group-shared memory and the global data share.
    Shared,
    /// Memory through the vector cache.
    Memory,
}

impl OpFamily {
    /// Every family, in the order of [`IssueTiming::cycles`].
    pub const ALL: [Self; 6] =
        [Self::Vector, Self::Quarter, Self::Double, Self::Scalar, Self::Shared, Self::Memory];

    /// Its place in [`Self::ALL`].
    pub const fn index(self) -> usize {
        self as usize
    }
}

/// How far down a read of a wave had to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Depth {
    /// The cache next to the wave held it: vector L1/L0 or the scalar cache.
    Near,
    /// GL1 did.
    Gl1,
    /// L2 did, or it was done there (atomics).
    L2,
    /// Memory.
    Memory,
}

impl Depth {
    /// Every depth, the nearest first.
    pub const ALL: [Self; 4] = [Self::Near, Self::Gl1, Self::L2, Self::Memory];

    /// Its place in [`Self::ALL`].
    pub const fn index(self) -> usize {
        self as usize
    }
}

/// Engines and what passes between them. Cycles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EngineTiming {
    /// The PFP for a packet: it gets ahead of the ME.
    pub pfp_packet: Marked<u32>,
    /// The ME for a packet, beside what it does.
    pub me_packet: Marked<u32>,
    /// A MEC for a packet, likewise.
    pub mec_packet: Marked<u32>,
    /// An SDMA engine for a packet, likewise.
    pub sdma_packet: Marked<u32>,
    /// From the PFP to the ME.
    pub hand_over: Marked<u32>,
    /// Between two looks of an engine at the value that it waits for (SDMA counts
    /// its retries in 16 clocks, `hardware/pm4.md` 5).
    pub poll: Marked<u32>,
    /// From a dispatch packet to its first group.
    pub dispatch: Marked<u32>,
    /// From the end of the work to the event at the end of the pipe.
    pub end_of_pipe: Marked<u32>,
    /// Until L2 takes the stores of the groups that end last, once they have ended.
    pub group_stores: Marked<u32>,
    /// Until stores of a dispatch, overtaken cache actions and copies of the CP's own
    /// DMA have landed, if nothing waits for them: at least this, up to twice, by the
    /// seed. Long, so that what waits too weakly sees the old bytes.
    pub landing: Marked<u32>,
}

/// Launchers. Cycles of one shader engine's launcher.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaunchTiming {
    /// Launchers: one a shader engine. Waves per clock at most.
    pub launchers: Marked<u32>,
    /// For a wave at the full rate: launched out of order on a compute queue, of the
    /// generation's smaller size, alone in its group, the group of one dimension.
    pub full_rate: Marked<u32>,
    /// For any other wave.
    pub half_rate: Marked<u32>,
    /// More, per wave and dimension of the group beyond the first: thread ids are one
    /// register each.
    pub dimension: Marked<u32>,
    /// More, per group of several waves: a barrier and shared memory.
    pub group: Marked<u32>,
    /// From a wave's launch to its first instruction.
    pub wave_start: Marked<u32>,
}

/// What a group asks of the launchers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupLaunch {
    /// Launched out of order, on a queue that can.
    pub out_of_order: bool,
    /// Waves of the size that the generation launches at the full rate.
    pub small_waves: bool,
    /// Waves in the group.
    pub waves: u32,
    /// Threads of the group in each dimension.
    pub size: [u32; 3],
}

impl LaunchTiming {
    /// How sure the rate of such groups is, on all launchers together: where the rate
    /// of one is derived, it is from that.
    pub fn confidence(&self, g: &GroupLaunch) -> Confidence {
        if !g.at_full_rate() {
            return Confidence::Assumed;
        }
        match self.full_rate.confidence {
            Confidence::Assumed => Confidence::Assumed,
            Confidence::Confirmed | Confidence::Derived => self.launchers.confidence,
        }
    }

    /// Cycles of a launcher that a group takes.
    pub fn group_cycles(&self, g: &GroupLaunch) -> u64 {
        let extra = g.more_dimensions();
        let alone = g.waves == 1;
        let wave = if g.at_full_rate() { self.full_rate.value } else { self.half_rate.value };
        let wave = u64::from(wave) + extra * u64::from(self.dimension.value);
        let group = if alone { 0 } else { u64::from(self.group.value) };
        u64::from(g.waves) * wave + group
    }
}

impl GroupLaunch {
    /// Dimensions beyond the first in which the group has threads.
    fn more_dimensions(&self) -> u64 {
        match self.size {
            [_, 1, 1] => 0,
            [_, _, 1] => 1,
            _ => 2,
        }
    }

    /// True if every condition of the full rate is met.
    fn at_full_rate(&self) -> bool {
        self.out_of_order && self.small_waves && self.waves == 1 && self.more_dimensions() == 0
    }
}

/// Cycles for which an instruction of a wave occupies its SIMD, by family
/// ([`OpFamily::ALL`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IssueTiming {
    /// Waves of 32 lanes; not used where there are none.
    pub wave32: [Marked<u32>; 6],
    /// Waves of 64 lanes.
    pub wave64: [Marked<u32>; 6],
}

/// Caches and memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryTiming {
    /// Cycles from a wave's read to its data, by how far down it went
    /// ([`Depth::ALL`]). An atomic takes that of L2 or memory.
    pub latency: [Marked<u32>; 4],
    /// The same of group-shared memory.
    pub shared_latency: Marked<u32>,
    /// Bytes per clock that L2 passes to and from the units.
    pub l2_bytes: Marked<u32>,
    /// Bytes per clock of memory: bandwidth by clock, to the nearest.
    pub memory_bytes: Marked<u32>,
    /// Cycles of a packet's cache actions, beside what they have to do.
    pub flush: Marked<u32>,
    /// Lines per clock that an action drops. Those that it writes back take memory's
    /// bytes per clock.
    pub dropped_lines: Marked<u32>,
    /// Bytes per clock of the DMA engines together: they share one way.
    pub dma_bytes: Marked<u32>,
    /// Bytes per clock of the CP's own DMA.
    pub cp_dma_bytes: Marked<u32>,
}

/// The table of one profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// Engines.
    pub engines: EngineTiming,
    /// Launchers.
    pub launch: LaunchTiming,
    /// Instructions.
    pub issue: IssueTiming,
    /// Caches and memory.
    pub memory: MemoryTiming,
}

const ENGINES: EngineTiming = EngineTiming {
    pfp_packet: assumed(4),
    me_packet: assumed(16),
    mec_packet: assumed(16),
    sdma_packet: assumed(16),
    hand_over: assumed(32),
    poll: assumed(16),
    dispatch: assumed(16),
    end_of_pipe: assumed(16),
    group_stores: assumed(64),
    landing: assumed(1024),
};

const fn launch(launchers: Marked<u32>, rate: Confidence) -> LaunchTiming {
    LaunchTiming {
        launchers,
        full_rate: Marked { value: 1, confidence: rate },
        half_rate: assumed(2),
        dimension: assumed(1),
        group: assumed(1),
        wave_start: assumed(16),
    }
}

/// 4 SIMDs of 16 lanes: a wave of 64 takes 4 cycles (`hardware/caches.md` 4); the
/// scalar unit serves each SIMD every fourth cycle.
const BEFORE_GFX10_ISSUE: [Marked<u32>; 6] =
    [derived(4), assumed(16), assumed(64), assumed(4), assumed(4), assumed(4)];

const BEFORE_GFX10_MEMORY: MemoryTiming = MemoryTiming {
    latency: [assumed(120), assumed(120), assumed(200), assumed(400)],
    shared_latency: assumed(64),
    l2_bytes: assumed(256),
    memory_bytes: assumed(80),
    flush: assumed(16),
    dropped_lines: assumed(4),
    dma_bytes: assumed(30),
    cp_dma_bytes: assumed(32),
};

/// 2 SIMDs of 32 lanes: a wave of 32 takes one cycle, one of 64 two.
const GFX10_ISSUE: IssueTiming = IssueTiming {
    wave32: [derived(1), assumed(4), assumed(16), assumed(1), assumed(1), assumed(1)],
    wave64: [derived(2), assumed(8), assumed(32), assumed(1), assumed(2), assumed(2)],
};

/// Bytes per clock, to the nearest, of a bandwidth and a clock.
const fn per_clock(mb_per_s: Marked<u32>, clock_mhz: Marked<u32>) -> Marked<u32> {
    derived((mb_per_s.value + clock_mhz.value / 2) / clock_mhz.value)
}

impl Timing {
    /// Of the Xbox One family. One wave per clock and shader engine is the baseline
    /// of `hardware/caches.md` 4; that the conditions of Series' full rate, but for
    /// the wave size, apply here is assumed. The move engines share 25.6 GB/s
    /// (section 5, assumed); One X has 8 L2 channels as its desktop relative
    /// (assumed).
    pub(crate) const fn before_gfx10(
        shader_engines: Marked<u32>,
        clock_mhz: Marked<u32>,
        dram_mb_per_s: Marked<u32>,
        l2_channels: u32,
    ) -> Self {
        Self {
            engines: ENGINES,
            launch: launch(shader_engines, Confidence::Assumed),
            issue: IssueTiming { wave32: BEFORE_GFX10_ISSUE, wave64: BEFORE_GFX10_ISSUE },
            memory: MemoryTiming {
                l2_bytes: assumed(64 * l2_channels),
                memory_bytes: per_clock(dram_mb_per_s, clock_mhz),
                ..BEFORE_GFX10_MEMORY
            },
        }
    }

    /// Of Series: the full rate is confirmed for all launchers together
    /// (`D3D12XBOX_DISPATCH_FLAGS`), one each is derived from it.
    pub(crate) const fn gfx10(
        waves_per_clock: u32,
        clock_mhz: Marked<u32>,
        dram_mb_per_s: Marked<u32>,
        l2_channels: u32,
    ) -> Self {
        Self {
            engines: ENGINES,
            launch: launch(confirmed(waves_per_clock), Confidence::Derived),
            issue: GFX10_ISSUE,
            memory: MemoryTiming {
                latency: [assumed(100), assumed(150), assumed(250), assumed(500)],
                shared_latency: assumed(40),
                l2_bytes: assumed(64 * l2_channels),
                memory_bytes: per_clock(dram_mb_per_s, clock_mhz),
                dma_bytes: assumed(64),
                cp_dma_bytes: assumed(64),
                ..BEFORE_GFX10_MEMORY
            },
        }
    }

    /// Every number with its unit and mark, for printing. What does not exist where
    /// there are no waves of 32 lanes, GL1 too, has none.
    pub(crate) fn rows(&self, has_wave32: bool) -> Vec<(&'static str, String, Confidence)> {
        let gfx10 = |(name, value, mark)| match has_wave32 {
            true => (name, value, mark),
            false => (name, "none".to_string(), Confidence::Confirmed),
        };
        let cycles = |name, m| row(name, m, " cycles");
        let bytes = |name, m| row(name, m, " B/clock");
        let (e, l, m) = (&self.engines, &self.launch, &self.memory);
        let mut rows = vec![
            cycles("PFP per packet", e.pfp_packet),
            cycles("ME per packet", e.me_packet),
            cycles("MEC per packet", e.mec_packet),
            cycles("SDMA per packet", e.sdma_packet),
            cycles("from PFP to ME", e.hand_over),
            cycles("between looks at values", e.poll),
            cycles("dispatch to first group", e.dispatch),
            cycles("end of work to end of pipe", e.end_of_pipe),
            cycles("last groups' stores to L2", e.group_stores),
            cycles("landing, if not waited for", e.landing),
            row("wave launches at most", l.launchers, "/clock"),
            cycles("launcher, wave at full rate", l.full_rate),
            cycles("launcher, any other wave", l.half_rate),
            cycles("launcher, wave's 2nd/3rd dim.", l.dimension),
            cycles("launcher, group of several", l.group),
            cycles("wave's launch to its start", l.wave_start),
        ];
        const NAMES: [&str; 6] = [
            "issue, vector (wave64)",
            "issue, transcendental (wave64)",
            "issue, 64-bit float (wave64)",
            "issue, scalar (wave64)",
            "issue, group-shared (wave64)",
            "issue, memory (wave64)",
        ];
        const NAMES32: [&str; 6] = [
            "issue, vector (wave32)",
            "issue, transcendental (wave32)",
            "issue, 64-bit float (wave32)",
            "issue, scalar (wave32)",
            "issue, group-shared (wave32)",
            "issue, memory (wave32)",
        ];
        rows.extend(NAMES.into_iter().zip(self.issue.wave64).map(|(n, m)| cycles(n, m)));
        rows.extend(NAMES32.into_iter().zip(self.issue.wave32).map(|(n, m)| gfx10(cycles(n, m))));
        let [near, gl1, l2, memory] = m.latency;
        rows.extend([
            cycles("read, L1/L0 or K$", near),
            gfx10(cycles("read, GL1", gl1)),
            cycles("read, L2", l2),
            cycles("read, memory", memory),
        ]);
        rows.extend([
            cycles("read, group-shared", m.shared_latency),
            bytes("L2", m.l2_bytes),
            bytes("memory", m.memory_bytes),
            cycles("cache actions per packet", m.flush),
            row("lines dropped", m.dropped_lines, "/clock"),
            bytes("DMA engines together", m.dma_bytes),
            bytes("CP DMA", m.cp_dma_bytes),
        ]);
        rows
    }
}

pub(crate) fn row<T: Display>(
    name: &'static str,
    m: Marked<T>,
    unit: &str,
) -> (&'static str, String, Confidence) {
    (name, format!("{}{unit}", m.value), m.confidence)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Profile, ProfileName};

    const FULL: GroupLaunch =
        GroupLaunch { out_of_order: true, small_waves: true, waves: 1, size: [32, 1, 1] };

    #[test]
    fn the_full_rate_needs_every_condition() {
        for name in ProfileName::ALL {
            let launch = Profile::get(name).timing.launch;
            assert_eq!(launch.group_cycles(&FULL), 1, "{name}");
            let per_wave = |g: GroupLaunch| launch.group_cycles(&g) as f64 / f64::from(g.waves);
            for worse in [
                GroupLaunch { out_of_order: false, ..FULL },
                GroupLaunch { small_waves: false, ..FULL },
                GroupLaunch { waves: 2, ..FULL },
                GroupLaunch { waves: 4, ..FULL },
                GroupLaunch { size: [16, 2, 1], ..FULL },
                GroupLaunch { size: [8, 2, 2], ..FULL },
                GroupLaunch { size: [16, 1, 2], ..FULL },
            ] {
                assert!(per_wave(worse) >= 2.0, "{name} {worse:?}");
            }
            let half = GroupLaunch { out_of_order: false, ..FULL };
            assert_eq!(launch.group_cycles(&half), 2, "{name}");
            // More dimensions and more waves each take more.
            let (two, three) =
                (GroupLaunch { size: [16, 2, 1], ..half }, GroupLaunch { size: [8, 2, 2], ..half });
            assert_eq!([two, three].map(|g| launch.group_cycles(&g)), [3, 4]);
            assert_eq!(launch.group_cycles(&GroupLaunch { waves: 4, ..half }), 9);
        }
    }

    #[test]
    fn confirmed_rates_are_the_pages() {
        let of = |name| Profile::get(name).timing.launch.launchers;
        assert_eq!(of(ProfileName::SeriesX), confirmed(2));
        assert_eq!(of(ProfileName::SeriesS), confirmed(1));
        assert_eq!(of(ProfileName::XboxOneX).value, 4);
    }

    #[test]
    fn derived_numbers_follow_the_profiles() {
        for name in ProfileName::ALL {
            let p = Profile::get(name);
            let exact = f64::from(p.dram_mb_per_s.value) / f64::from(p.clock_mhz.value);
            assert_eq!(f64::from(p.timing.memory.memory_bytes.value), exact.round(), "{name}");
            assert_eq!(p.timing.launch.launchers.value, p.shader_engines.value, "{name}");
            let o = p.occupancy;
            assert_eq!(p.waves_per_cu.value, o.simds.value * o.waves_per_simd.value, "{name}");
        }
        assert_eq!(Profile::get(ProfileName::SeriesX).timing.memory.memory_bytes, derived(307));
    }

    #[test]
    fn lists_are_in_the_order_of_their_indices() {
        for (at, family) in OpFamily::ALL.into_iter().enumerate() {
            assert_eq!(family.index(), at);
        }
        for (at, depth) in Depth::ALL.into_iter().enumerate() {
            assert_eq!(depth.index(), at);
        }
    }
}
