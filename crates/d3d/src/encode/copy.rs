//! Copies and fills: DMA_DATA through L2 on the command processors, the engine's
//! own packets on DMA lists.

use super::Encoder;
use wavefence_base::{Generation, GpuAddress};
use wavefence_pm4::{Field, Kind, Ring, sel};

/// The repeated pattern of a fill, low word first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fill<'a> {
    /// One dword.
    Word(u32),
    /// Several dwords.
    Words(&'a [u32]),
}

/// Rows of bytes, for images.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RowCopy {
    pub(crate) source: GpuAddress,
    pub(crate) source_pitch: u64,
    pub(crate) destination: GpuAddress,
    pub(crate) destination_pitch: u64,
    /// Bytes of one row.
    pub(crate) bytes: u64,
    pub(crate) rows: u64,
}

impl Encoder {
    /// Most bytes that one copy packet of this ring moves; a multiple of 64.
    fn copy_limit(&self) -> u64 {
        match (self.ring, self.generation) {
            // 22 bits of bytes.
            (Ring::Sdma, Generation::Gfx7 | Generation::Gfx8) => (1 << 22) - 64,
            (Ring::Sdma, Generation::Gfx10_3) => 0x3FFF_FF00,
            // 21 bits, and 26 from GFX9 on.
            (Ring::Graphics | Ring::Compute, Generation::Gfx7 | Generation::Gfx8) => (1 << 21) - 64,
            (Ring::Graphics | Ring::Compute, Generation::Gfx10_3) => (1 << 26) - 64,
        }
    }

    /// Most bytes that one fill packet covers; a multiple of 64.
    fn fill_limit(&self) -> u64 {
        match self.ring {
            Ring::Sdma => (1 << 22) - 64,
            Ring::Graphics | Ring::Compute => self.copy_limit(),
        }
    }

    /// Copies `bytes`, and on a command processor waits for it: the API's copies
    /// are done when the next packet runs.
    pub(crate) fn copy(&mut self, destination: GpuAddress, source: GpuAddress, bytes: u64) {
        let limit = self.copy_limit();
        let mut done = 0;
        while done < bytes {
            let count = (bytes - done).min(limit);
            self.copy_piece(
                destination.offset(done),
                source.offset(done),
                count,
                done + count == bytes,
            );
            done += count;
        }
    }

    /// Copies rows.
    pub(crate) fn copy_rows(&mut self, rows: &RowCopy) {
        let whole = rows.source_pitch == rows.bytes && rows.destination_pitch == rows.bytes;
        if whole {
            return self.copy(rows.destination, rows.source, rows.bytes * rows.rows);
        }
        for row in 0..rows.rows {
            self.copy(
                rows.destination.offset(row * rows.destination_pitch),
                rows.source.offset(row * rows.source_pitch),
                rows.bytes,
            );
        }
    }

    fn copy_piece(&mut self, to: GpuAddress, from: GpuAddress, bytes: u64, last: bool) {
        match self.ring {
            Ring::Sdma => self.packet(
                Kind::SdmaCopyLinear,
                &[(Field::ByteCount, bytes), (Field::Src, from.0), (Field::Dst, to.0)],
            ),
            Ring::Graphics | Ring::Compute => self.packet(
                Kind::DmaData,
                &[
                    (Field::SrcSel, u64::from(sel::dma_src::L2)),
                    (Field::DstSel, u64::from(sel::dma_dst::L2)),
                    (Field::CpSync, u64::from(last)),
                    (Field::Src, from.0),
                    (Field::Dst, to.0),
                    (Field::ByteCount, bytes),
                ],
            ),
        };
    }

    /// Fills `bytes`, a multiple of the pattern. A pattern wider than a dword is
    /// written once and then copied, twice as much each time: no engine fills with
    /// more than a dword.
    pub(crate) fn fill(&mut self, destination: GpuAddress, bytes: u64, fill: Fill<'_>) {
        match fill {
            Fill::Word(value) => {
                let limit = self.fill_limit();
                let mut done = 0;
                while done < bytes {
                    let count = (bytes - done).min(limit);
                    let last = done + count == bytes;
                    self.fill_piece(destination.offset(done), value, count, last);
                    done += count;
                }
            }
            Fill::Words(words) => {
                self.write_words(destination, words);
                let mut done = words.len() as u64 * 4;
                while done < bytes {
                    let count = done.min(bytes - done);
                    self.copy(destination.offset(done), destination, count);
                    done += count;
                }
            }
        }
    }

    fn fill_piece(&mut self, to: GpuAddress, value: u32, bytes: u64, last: bool) {
        match self.ring {
            Ring::Sdma => self.packet(
                Kind::SdmaConstantFill,
                &[
                    (Field::FillSize, u64::from(sel::fill_size::DWORD)),
                    (Field::Dst, to.0),
                    (Field::Data, u64::from(value)),
                    (Field::ByteCount, bytes),
                ],
            ),
            Ring::Graphics | Ring::Compute => self.packet(
                Kind::DmaData,
                &[
                    (Field::SrcSel, u64::from(sel::dma_src::DATA)),
                    (Field::DstSel, u64::from(sel::dma_dst::L2)),
                    (Field::CpSync, u64::from(last)),
                    (Field::Data, u64::from(value)),
                    (Field::Dst, to.0),
                    (Field::ByteCount, bytes),
                ],
            ),
        };
    }

    /// A few words, through L2 like the copies.
    fn write_words(&mut self, to: GpuAddress, words: &[u32]) {
        match self.ring {
            Ring::Sdma => {
                self.packet_with_body(Kind::SdmaWriteLinear, &[(Field::Dst, to.0)], words)
            }
            Ring::Graphics | Ring::Compute => self.packet_with_body(
                Kind::WriteData,
                &[
                    (Field::DstSel, u64::from(sel::write_dst::L2)),
                    (Field::WrConfirm, 1),
                    (Field::Addr, to.0),
                ],
                words,
            ),
        };
    }
}
