//! What a step costs in GPU cycles.
//!
//! Only where steps differ in cost, or must, is there a number here. None of them
//! is from a source: each is assumed, of the size that public measurements of
//! related hardware show.

use wavefence_base::{FlushCost, Profile, WaveSize};

/// The costs of one profile's model run, in cycles of its clock. All assumed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Timing {
    /// The PFP for a packet. It is faster than the ME: it gets as far ahead as it
    /// may.
    pub(crate) prefetch: u64,
    /// The ME, a MEC or an SDMA engine for a packet, beside what it does.
    pub(crate) packet: u64,
    /// From the PFP to the ME: as long as the PFP takes to get ahead.
    pub(crate) hand_over: u64,
    /// Between two looks of an engine at the value that it waits for.
    pub(crate) poll: u64,
    /// From a dispatch packet to its first group.
    pub(crate) dispatch: u64,
    /// Between the starts of two groups of a dispatch.
    pub(crate) launch: u64,
    /// A wave's start.
    pub(crate) wave_start: u64,
    /// Stores of a group among the last of its dispatch, until L2 takes them.
    pub(crate) store: u64,
    /// From the end of the work to the event at the end of the pipe.
    pub(crate) end_of_pipe: u64,
    /// Cache actions, beside what they have to do.
    pub(crate) flush: u64,
    /// Lines that L2 writes back in a cycle.
    pub(crate) written_per_cycle: u64,
    /// Bytes that a DMA engine moves in a cycle.
    pub(crate) dma_bytes_per_cycle: u64,
    /// A wave instruction, by lanes in use per cycle.
    pub(crate) lanes_per_cycle: u64,
}

impl Timing {
    /// Those of a profile.
    pub(crate) fn of(profile: &Profile) -> Self {
        let _ = profile;
        Self {
            prefetch: 4,
            packet: 16,
            hand_over: 32,
            poll: 16,
            dispatch: 16,
            launch: 4,
            wave_start: 16,
            store: 64,
            end_of_pipe: 16,
            flush: 16,
            written_per_cycle: 1,
            dma_bytes_per_cycle: 64,
            lanes_per_cycle: 16,
        }
    }

    /// A wave for so many instructions.
    pub(crate) fn slice(&self, size: WaveSize, instructions: u64) -> u64 {
        instructions * (u64::from(size.lanes()) / self.lanes_per_cycle).max(1)
    }

    /// Cache actions that had so much to do.
    pub(crate) fn flushed(&self, cost: FlushCost) -> u64 {
        self.flush + cost.written / self.written_per_cycle
    }

    /// A copy or fill.
    pub(crate) fn copied(&self, bytes: u64) -> u64 {
        bytes.div_ceil(self.dma_bytes_per_cycle)
    }
}
