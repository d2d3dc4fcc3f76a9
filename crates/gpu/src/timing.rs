//! What a step costs in GPU cycles: the profile's table
//! ([`wavefence_base::timing`]) as plain numbers, and what passes one after the
//! other.

use wavefence_base::access::Engine;
use wavefence_base::{Depth, FlushCost, GroupLaunch, OpFamily, Profile, WaveSize};
use wavefence_memory::hierarchy::Traffic;
use wavefence_wave::exec::Issued;

/// The costs of one profile's model run, in cycles of its clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Timing {
    table: wavefence_base::Timing,
    /// Bytes of a line of L2.
    pub(crate) l2_line: u64,
    /// The PFP for a packet.
    pub(crate) prefetch: u64,
    /// From the PFP to the ME.
    pub(crate) hand_over: u64,
    /// Between two looks of an engine at the value that it waits for.
    pub(crate) poll: u64,
    /// From a dispatch packet to its first group.
    pub(crate) dispatch: u64,
    /// From a wave's launch to its first instruction.
    pub(crate) wave_start: u64,
    /// Stores of a group among the last of its dispatch, until L2 takes them.
    pub(crate) store: u64,
    /// From the end of the work to the event at the end of the pipe.
    pub(crate) end_of_pipe: u64,
}

/// What a wave's slice takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SliceCost {
    /// Its SIMD is busy.
    pub(crate) issue: u64,
    /// The wave waits, others of its SIMD may run.
    pub(crate) wait: u64,
}

impl Timing {
    /// Those of a profile; lines of its L2 have `l2_line` bytes.
    pub(crate) fn of(profile: &Profile, l2_line: u64) -> Self {
        let table = profile.timing;
        let e = table.engines;
        Self {
            table,
            l2_line,
            prefetch: e.pfp_packet.value.into(),
            hand_over: e.hand_over.value.into(),
            poll: e.poll.value.into(),
            dispatch: e.dispatch.value.into(),
            wave_start: table.launch.wave_start.value.into(),
            store: e.group_stores.value.into(),
            end_of_pipe: e.end_of_pipe.value.into(),
        }
    }

    /// An engine for a packet, beside what it does. The PFP's is
    /// [`Self::prefetch`], whoever executes the packet.
    pub(crate) fn packet(&self, engine: Engine) -> u64 {
        let e = &self.table.engines;
        u64::from(match engine {
            Engine::Pfp => 0,
            Engine::Mec => e.mec_packet.value,
            Engine::Sdma => e.sdma_packet.value,
            Engine::Me | Engine::CpDma | Engine::EndOfPipe => e.me_packet.value,
        })
    }

    /// A slice of a wave that issued and moved so much.
    pub(crate) fn slice(&self, size: WaveSize, issued: &Issued, traffic: &Traffic) -> SliceCost {
        let cycles = match size {
            WaveSize::W32 => &self.table.issue.wave32,
            WaveSize::W64 => &self.table.issue.wave64,
        };
        let count = |family| u64::from(issued.count(family));
        let one = |family: OpFamily| count(family) * u64::from(cycles[family.index()].value);
        let shared = u64::from(self.table.memory.shared_latency.value);
        SliceCost {
            issue: OpFamily::ALL.into_iter().map(one).sum(),
            wait: self.waits(traffic) + count(OpFamily::Shared) * shared,
        }
    }

    /// For how long a wave waits for its reads.
    pub(crate) fn waits(&self, traffic: &Traffic) -> u64 {
        let latency = &self.table.memory.latency;
        let one = |depth: Depth| {
            u64::from(traffic.waits[depth.index()]) * u64::from(latency[depth.index()].value)
        };
        Depth::ALL.into_iter().map(one).sum()
    }

    /// Cache actions that had so much to do, beside the bytes that memory took.
    pub(crate) fn flushed(&self, cost: FlushCost) -> u64 {
        let m = &self.table.memory;
        u64::from(m.flush.value) + cost.dropped / u64::from(m.dropped_lines.value.max(1))
    }

    /// A copy or fill of the CP's own DMA.
    pub(crate) fn copied(&self, bytes: u64) -> u64 {
        bytes.div_ceil(u64::from(self.table.memory.cp_dma_bytes.value.max(1)))
    }

    /// Cycles of a launcher that a group takes.
    pub(crate) fn group(&self, group: &GroupLaunch) -> u64 {
        self.table.launch.group_cycles(group)
    }
}

/// Something that passes what comes one after the other, so much a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pipe {
    per_cycle: u64,
    /// When it is free, in what it passes: cycles times [`Self::per_cycle`].
    free: u64,
}

impl Pipe {
    pub(crate) fn new(per_cycle: u32) -> Self {
        Self { per_cycle: u64::from(per_cycle.max(1)), free: 0 }
    }

    /// `amount` passes, not before `from`. Gives the cycle in which it has.
    pub(crate) fn pass(&mut self, from: u64, amount: u64) -> u64 {
        if amount == 0 {
            return from;
        }
        self.free = self.free.max(from.saturating_mul(self.per_cycle)).saturating_add(amount);
        self.free.div_ceil(self.per_cycle)
    }

    /// The cycle in which it is free, at least in part.
    pub(crate) fn free(&self) -> u64 {
        self.free / self.per_cycle
    }
}

/// What all agents share and use one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pipes {
    /// L2 to and from the units, bytes.
    pub(crate) l2: Pipe,
    /// Memory, bytes.
    pub(crate) memory: Pipe,
    /// The DMA engines' way, bytes.
    pub(crate) dma: Pipe,
    /// The launchers of all shader engines, cycles of one.
    pub(crate) launchers: Pipe,
}

impl Pipes {
    /// Free ones.
    pub(crate) fn of(profile: &Profile) -> Self {
        let (m, launch) = (&profile.timing.memory, &profile.timing.launch);
        Self {
            l2: Pipe::new(m.l2_bytes.value),
            memory: Pipe::new(m.memory_bytes.value),
            dma: Pipe::new(m.dma_bytes.value),
            launchers: Pipe::new(launch.launchers.value),
        }
    }

    /// The cycle in which bytes that move now have moved.
    pub(crate) fn moved(&mut self, now: u64, traffic: &Traffic) -> u64 {
        let l2 = self.l2.pass(now, traffic.l2_bytes);
        l2.max(self.memory.pass(now, traffic.memory_bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wavefence_base::ProfileName;

    #[test]
    fn what_passes_waits_for_what_came_before() {
        let mut pipe = Pipe::new(64);
        assert_eq!(pipe.pass(10, 0), 10, "nothing takes no time");
        assert_eq!(pipe.pass(10, 100), 12);
        // 28 of the second cycle are left.
        assert_eq!((pipe.pass(11, 28), pipe.pass(5, 1)), (12, 13));
        assert_eq!(pipe.free(), 12);
        assert_eq!(pipe.pass(100, 64), 101);
        // Two launchers: two waves a cycle.
        let mut two = Pipe::new(2);
        let ready: Vec<u64> = (0..4)
            .map(|_| {
                two.pass(7, 1);
                two.free()
            })
            .collect();
        assert_eq!(ready, [7, 8, 8, 9]);
    }

    #[test]
    fn a_slice_is_its_instructions_and_what_it_waits_for() {
        let mut issued = Issued::of(OpFamily::Vector, 3);
        issued.add(&Issued::one(OpFamily::Quarter));
        issued.add(&Issued::of(OpFamily::Shared, 2));
        let traffic = Traffic { waits: [1, 0, 0, 2], l2_bytes: 0, memory_bytes: 256 };
        let cost = |name, size| Timing::of(&Profile::get(name), 64).slice(size, &issued, &traffic);
        let gcn = cost(ProfileName::XboxOne, WaveSize::W64);
        assert_eq!(gcn.issue, 3 * 4 + 16 + 2 * 4);
        assert_eq!(gcn.wait, 120 + 2 * 400 + 2 * 64);
        let (w32, w64) =
            (cost(ProfileName::SeriesX, WaveSize::W32), cost(ProfileName::SeriesX, WaveSize::W64));
        assert_eq!([w32.issue, w64.issue], [3 + 4 + 2, 6 + 8 + 4]);
        assert_eq!([w32.wait, w64.wait], [100 + 2 * 500 + 2 * 40; 2]);
    }
}
