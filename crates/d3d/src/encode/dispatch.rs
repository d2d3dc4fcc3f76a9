//! Compute state and dispatches.

use super::{Encoder, Own};
use wavefence_base::{Generation, GpuAddress};
use wavefence_pm4::{Field, Kind, Ring, function, reg, sel};

/// What a dispatch packet says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DispatchArgs {
    /// The counts are in the packet.
    Direct([u32; 3]),
    /// The counts are three dwords in memory.
    Indirect(GpuAddress),
}

impl Encoder {
    /// Writes consecutive shader registers, `first` by its whole dword index.
    pub(crate) fn set_sh(&mut self, first: u32, values: &[u32]) -> u32 {
        let offset = u64::from(reg::sh_offset(first));
        self.packet_with_body(Kind::SetShReg, &[(Field::RegOffset, offset)], values)
    }

    /// The program: its address without the low 8 bits.
    pub(crate) fn program(&mut self, code: GpuAddress) {
        self.set_sh(reg::COMPUTE_PGM_LO, &[(code.0 >> 8) as u32, (code.0 >> 40) as u32]);
    }

    /// Threads of a group: full in the low half, of the last group in the high.
    pub(crate) fn threads(&mut self, full: [u32; 3], last: [u32; 3]) {
        let words: [u32; 3] = std::array::from_fn(|i| full[i] | last[i] << 16);
        self.set_sh(reg::COMPUTE_NUM_THREAD_X, &words);
    }

    /// First group in each dimension.
    pub(crate) fn start(&mut self, start: [u32; 3]) {
        self.set_sh(reg::COMPUTE_START_X, &start);
    }

    /// The descriptor table, user data 0 and 1.
    pub(crate) fn descriptor_table(&mut self, table: Option<Own>) {
        let at = self.set_sh(reg::COMPUTE_USER_DATA_0, &[0, 0]);
        if let Some(table) = table {
            self.patch(at + 2, table);
        }
    }

    /// Root constants, user data from 2 on.
    pub(crate) fn root_constants(&mut self, words: &[u32]) {
        if !words.is_empty() {
            self.set_sh(reg::COMPUTE_USER_DATA_2, words);
        }
    }

    /// Launches.
    pub(crate) fn dispatch(&mut self, args: DispatchArgs, initiator: u32) {
        let initiator = (Field::Initiator, u64::from(initiator));
        match (args, self.ring) {
            (DispatchArgs::Direct([x, y, z]), _) => {
                self.launch(
                    Kind::DispatchDirect,
                    &[
                        (Field::DimX, u64::from(x)),
                        (Field::DimY, u64::from(y)),
                        (Field::DimZ, u64::from(z)),
                        initiator,
                    ],
                );
            }
            (DispatchArgs::Indirect(address), Ring::Graphics) => {
                self.packet(
                    Kind::SetBase,
                    &[
                        (Field::BaseIndex, u64::from(sel::base_index::INDIRECT)),
                        // The base is 8-byte aligned, the arguments only 4.
                        (Field::Addr, address.0 & !7),
                    ],
                );
                let offset = (Field::DataOffset, address.0 & 7);
                self.launch(Kind::DispatchIndirect, &[offset, initiator]);
            }
            (DispatchArgs::Indirect(address), Ring::Compute | Ring::Sdma) => {
                self.indirect_on_mec(address, initiator);
            }
        }
    }

    /// On GFX7 a MEC reads indirect arguments right only at a multiple of 32, so
    /// others are copied to such a place first, as drivers do.
    fn indirect_on_mec(&mut self, address: GpuAddress, initiator: (Field, u64)) {
        let aligned = match self.generation {
            Generation::Gfx7 => address.is_aligned(32),
            Generation::Gfx8 | Generation::Gfx10_3 => true,
        };
        if aligned {
            self.launch(Kind::DispatchIndirect, &[(Field::Addr, address.0), initiator]);
            return;
        }
        let scratch = self.scratch_offset(12, 32);
        for i in 0..3 {
            let at = self.packet(
                Kind::CopyData,
                &[
                    (Field::SrcSel, u64::from(sel::copy_src::MEMORY)),
                    (Field::DstSel, u64::from(sel::copy_dst::MEMORY)),
                    (Field::CountSel, u64::from(sel::copy_count::DWORD)),
                    (Field::WrConfirm, 1),
                    (Field::Src, address.offset(u64::from(i) * 4).0),
                ],
            );
            self.patch(at + 4, Own::Scratch(scratch + i * 4));
        }
        let at = self.launch(Kind::DispatchIndirect, &[initiator]);
        self.patch(at + 1, Own::Scratch(scratch));
    }

    /// A DISPATCH packet; drivers set the header's compute bit on them.
    fn launch(&mut self, kind: Kind, fields: &[(Field, u64)]) -> u32 {
        self.build(kind, fields, &[], true)
    }

    /// Up to `max` indirect dispatches, as many as the dword at `count` says: each in
    /// a command buffer of its own that runs if the count is above its number.
    pub(crate) fn counted_dispatches(
        &mut self,
        first: GpuAddress,
        stride: u64,
        max: u32,
        count: GpuAddress,
        initiator: u32,
    ) {
        // The comparison reads 64 bits, so the count is widened first, by the engine
        // that compares.
        let wide = self.scratch_offset(8, 8);
        let engine = match self.ring {
            Ring::Graphics => sel::engine::PFP,
            Ring::Compute | Ring::Sdma => sel::engine::ME,
        };
        let at = self.packet(
            Kind::CopyData,
            &[
                (Field::SrcSel, u64::from(sel::copy_src::MEMORY)),
                (Field::DstSel, u64::from(sel::copy_dst::MEMORY)),
                (Field::CountSel, u64::from(sel::copy_count::DWORD)),
                (Field::WrConfirm, 1),
                (Field::Engine, u64::from(engine)),
                (Field::Src, count.0),
            ],
        );
        self.patch(at + 4, Own::Scratch(wide));
        for i in 0..max {
            let args = DispatchArgs::Indirect(first.offset(u64::from(i) * stride));
            let (branch, dwords) = self.branch(|e| e.dispatch(args, initiator));
            let at = self.build_sized(
                Kind::CondIndirectBuffer,
                14,
                &[
                    (Field::Mode, u64::from(sel::cond_mode::IF)),
                    (Field::Function, u64::from(function::GREATER)),
                    (Field::Mask, u64::MAX),
                    (Field::Reference, u64::from(i)),
                    (Field::IbSize, u64::from(dwords)),
                ],
            );
            self.patch(at + 2, Own::Scratch(wide));
            self.patch(at + 8, branch);
        }
    }
}
