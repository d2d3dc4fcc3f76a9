//! Values written at the top, at the end of shaders and at the bottom of the pipe,
//! and waits for them.

use super::flush::Target;
use super::{Caches, Encoder};
use wavefence_base::{Generation, GpuAddress};
use wavefence_pm4::{Field, Kind, Ring, data_sel, events, sel};

/// What a bottom-of-pipe write writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stamp {
    /// 32 bits.
    Value32(u32),
    /// 64 bits.
    Value64(u64),
    /// The GPU clock.
    GpuClock,
    /// The system clock; not on DMA lists.
    SystemClock,
}

/// A wait on memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WaitArgs {
    pub(crate) address: GpuAddress,
    /// FUNCTION code.
    pub(crate) function: u32,
    pub(crate) reference: u64,
    /// Bits that are compared; the low 32 where 32 are read.
    pub(crate) mask: u64,
    /// True for 64 bits.
    pub(crate) wide: bool,
}

/// Clocks between polls; 16-clock units on DMA engines.
const POLL_INTERVAL: u64 = 10;
/// SDMA: poll for ever.
const RETRY_FOR_EVER: u64 = 0xFFF;

impl Encoder {
    /// A write at the bottom of the pipe, after the cache actions. `confirm` holds
    /// it until earlier writes have landed.
    pub(crate) fn bottom_write(
        &mut self,
        address: GpuAddress,
        stamp: Stamp,
        caches: Caches,
        confirm: bool,
    ) {
        if self.ring == Ring::Sdma {
            return self.dma_write(address, stamp);
        }
        let (data, value) = match stamp {
            Stamp::Value32(value) => (data_sel::DATA_32, u64::from(value)),
            Stamp::Value64(value) => (data_sel::DATA_64, value),
            Stamp::GpuClock => (data_sel::GPU_CLOCK, 0),
            Stamp::SystemClock => (data_sel::SYSTEM_CLOCK, 0),
        };
        let event = events::BOTTOM_OF_PIPE_TS;
        self.end_of_pipe(event, caches, data, confirm, Target::At(address), value);
    }

    /// A DMA engine's own fence or time stamp: lands when earlier commands of the
    /// engine are done.
    fn dma_write(&mut self, address: GpuAddress, stamp: Stamp) {
        let addr = (Field::Addr, address.0);
        match stamp {
            Stamp::Value32(v) => self.packet(Kind::SdmaFence, &[addr, (Field::Data, u64::from(v))]),
            Stamp::Value64(v) => self.packet(Kind::SdmaFence64, &[addr, (Field::Data, v)]),
            // The checks keep the system clock off DMA lists.
            Stamp::GpuClock | Stamp::SystemClock => self.packet(Kind::SdmaTimestamp, &[addr]),
        };
    }

    /// A write at the top of the pipe: as soon as the first engine of the queue
    /// meets it (the PFP on graphics, `hardware/pm4.md` section 6).
    pub(crate) fn top_write(&mut self, address: GpuAddress, words: &[u32]) {
        match self.ring {
            Ring::Sdma => {
                self.packet_with_body(Kind::SdmaWriteLinear, &[(Field::Dst, address.0)], words)
            }
            Ring::Graphics | Ring::Compute => {
                let engine = match self.ring {
                    Ring::Graphics => sel::engine::PFP,
                    Ring::Compute | Ring::Sdma => sel::engine::ME,
                };
                self.packet_with_body(
                    Kind::WriteData,
                    &[
                        (Field::Engine, u64::from(engine)),
                        (Field::DstSel, u64::from(self.cp_write_dst())),
                        (Field::WrConfirm, 1),
                        (Field::Addr, address.0),
                    ],
                    words,
                )
            }
        };
    }

    /// A 32-bit write when the compute shaders before it are done (CS_DONE).
    pub(crate) fn shader_write(&mut self, address: GpuAddress, value: u32) {
        let event = [
            (Field::EventType, u64::from(events::CS_DONE)),
            (Field::EventIndex, u64::from(events::index::END_OF_SHADER)),
        ];
        let data = (Field::Data, u64::from(value));
        match (self.generation, self.ring) {
            (_, Ring::Sdma) => self.dma_write(address, Stamp::Value32(value)),
            (Generation::Gfx7 | Generation::Gfx8, Ring::Graphics) => {
                self.packet(
                    Kind::EventWriteEos,
                    &[
                        event[0],
                        event[1],
                        (Field::Addr, address.0),
                        (Field::Command, u64::from(sel::eos_command::DATA)),
                        data,
                    ],
                );
            }
            (Generation::Gfx7 | Generation::Gfx8, Ring::Compute)
            | (Generation::Gfx10_3, Ring::Graphics | Ring::Compute) => {
                let dst = if self.gfx10() { sel::event_dst::L2 } else { sel::event_dst::MEMORY };
                self.packet(
                    Kind::ReleaseMem,
                    &[
                        event[0],
                        event[1],
                        (Field::DstSel, u64::from(dst)),
                        (Field::DataSel, u64::from(data_sel::DATA_32)),
                        (Field::Addr, address.0),
                        data,
                    ],
                );
            }
        }
    }

    /// Copies `dwords` of the global data share to memory when the compute shaders
    /// before it are done.
    pub(crate) fn read_gds(&mut self, address: GpuAddress, offset: u32, dwords: u32) {
        let event = [
            (Field::EventType, u64::from(events::CS_DONE)),
            (Field::EventIndex, u64::from(events::index::END_OF_SHADER)),
        ];
        let common = [
            (Field::Addr, address.0),
            (Field::GdsOffset, u64::from(offset)),
            (Field::GdsSize, u64::from(dwords)),
        ];
        let eos = match self.generation {
            Generation::Gfx7 | Generation::Gfx8 => self.ring == Ring::Graphics,
            Generation::Gfx10_3 => false,
        };
        let mut fields = event.to_vec();
        fields.extend(common);
        if eos {
            fields.push((Field::Command, u64::from(sel::eos_command::GDS)));
            self.packet(Kind::EventWriteEos, &fields);
        } else {
            let dst = if self.gfx10() { sel::event_dst::L2 } else { sel::event_dst::MEMORY };
            fields.push((Field::DstSel, u64::from(dst)));
            fields.push((Field::DataSel, u64::from(data_sel::GDS)));
            self.packet(Kind::ReleaseMem, &fields);
        }
    }

    /// Writes words to the global data share from byte `offset`, after the compute
    /// shaders before it.
    pub(crate) fn write_gds(&mut self, offset: u32, words: &[u32]) {
        self.event(events::CS_PARTIAL_FLUSH, events::index::PARTIAL_FLUSH);
        self.packet_with_body(
            Kind::WriteData,
            &[
                (Field::DstSel, u64::from(sel::write_dst::GDS)),
                (Field::WrConfirm, 1),
                (Field::GdsOffset, u64::from(offset)),
            ],
            words,
        );
    }

    /// A wait of the ME (MEC, DMA engine) on memory. The PFP runs on.
    pub(crate) fn wait(&mut self, wait: &WaitArgs) {
        let mask = if wait.wide { wait.mask } else { wait.mask & u64::from(u32::MAX) };
        let mut fields = vec![
            (Field::Function, u64::from(wait.function)),
            (Field::Addr, wait.address.0),
            (Field::Reference, wait.reference),
            (Field::Mask, mask),
            (Field::PollInterval, POLL_INTERVAL),
        ];
        let kind = match (self.ring, wait.wide) {
            (Ring::Sdma, wide) => {
                fields.push((Field::RetryCount, RETRY_FOR_EVER));
                if wide {
                    Kind::SdmaPollMem64
                } else {
                    fields.push((Field::MemPoll, 1));
                    Kind::SdmaPollRegMem
                }
            }
            (Ring::Graphics | Ring::Compute, wide) => {
                fields.push((Field::MemSpace, u64::from(sel::mem_space::MEMORY)));
                if wide { Kind::WaitRegMem64 } else { Kind::WaitRegMem }
            }
        };
        self.packet(kind, &fields);
    }
}
