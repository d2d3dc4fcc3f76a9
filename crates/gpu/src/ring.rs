//! A queue's ring: a buffer in GPU memory that the host appends to by moving
//! the write pointer, and the queue reads up to there.

use crate::fetch::Frame;
use wavefence_base::{Generation, GpuAddress, GpuRange, Limit, SubmitId};
use wavefence_pm4::{Field, Kind, Packet, Ring};

/// Bytes of a ring.
pub(crate) const RING_BYTES: u64 = 256 << 10;

/// SDMA fetches command buffers so that the packet that starts one must end on a
/// boundary of so many dwords (`hardware/pm4.md` 1.5).
const SDMA_BOUNDARY: u64 = 8;

/// Read and write pointers count dwords since the device was made.
#[derive(Clone, Debug)]
pub(crate) struct RingBuffer {
    range: GpuRange,
    read: u64,
    write: u64,
    /// Where in the ring each submission ends, and the packet that runs its buffer,
    /// oldest first.
    submits: std::collections::VecDeque<(u64, SubmitId, GpuAddress)>,
}

impl RingBuffer {
    pub(crate) fn new(range: GpuRange) -> Self {
        Self { range, read: 0, write: 0, submits: Default::default() }
    }

    fn dwords(&self) -> u64 {
        self.range.len / 4
    }

    fn address(&self, pointer: u64) -> GpuAddress {
        self.range.start.offset(pointer % self.dwords() * 4)
    }

    /// The next packet's address and the dwords up to the write pointer or the
    /// end of the buffer; `None` if the ring is empty.
    pub(crate) fn head(&self) -> Option<(GpuAddress, u64)> {
        let filled = self.write - self.read;
        let to_end = self.dwords() - self.read % self.dwords();
        (filled > 0).then(|| (self.address(self.read), filled.min(to_end)))
    }

    /// True if a packet was not read, or the end of a submission not taken.
    pub(crate) fn has_next(&self) -> bool {
        self.write > self.read || self.submits.front().is_some_and(|s| s.0 <= self.read)
    }

    /// What was not read, oldest first: one piece, or two where it wraps.
    pub(crate) fn unread(&self) -> Vec<Frame> {
        let Some((at, first)) = self.head() else { return Vec::new() };
        let mut frames = vec![Frame { at, left: first }];
        let rest = self.write - self.read - first;
        if rest > 0 {
            frames.push(Frame { at: self.range.start, left: rest });
        }
        frames
    }

    /// Moves the read pointer.
    pub(crate) fn advance(&mut self, dwords: u64) {
        self.read += dwords;
    }

    /// The oldest submission, if the read pointer has passed its packet.
    pub(crate) fn finished_submit(&mut self) -> Option<(SubmitId, GpuAddress)> {
        let &(end, submit, packet) = self.submits.front()?;
        if end > self.read {
            return None;
        }
        self.submits.pop_front();
        Some((submit, packet))
    }

    /// The submission whose packet lies at `at`, if it is the next one.
    pub(crate) fn starting_submit(&self, at: GpuAddress) -> Option<SubmitId> {
        self.submits.front().filter(|s| s.2 == at).map(|s| s.1)
    }

    /// Where and what to write so that `buffer` runs next: pieces of the ring
    /// with their words. Takes effect by [`RingBuffer::commit`].
    pub(crate) fn append(
        &self,
        buffer: GpuRange,
        generation: Generation,
        ring: Ring,
    ) -> Result<Vec<(GpuAddress, Vec<u32>)>, Limit> {
        let packet = indirect_buffer(buffer, generation, ring)?;
        let need = packet.len() as u64;
        let size = self.dwords();
        let mut pieces = Vec::new();
        let mut at = self.write;
        // No packet wraps round the end of the ring.
        if at % size + need + SDMA_BOUNDARY > size {
            let pad = size - at % size;
            pieces.push((self.address(at), padding(pad, generation, ring)));
            at += pad;
        }
        if ring == Ring::Sdma {
            let pad = (SDMA_BOUNDARY - (at + need) % SDMA_BOUNDARY) % SDMA_BOUNDARY;
            if pad > 0 {
                pieces.push((self.address(at), padding(pad, generation, ring)));
                at += pad;
            }
        }
        if at + need - self.read > size {
            return Err(Limit::memory("the ring is full: run the device before submitting more"));
        }
        pieces.push((self.address(at), packet));
        Ok(pieces)
    }

    /// Moves the write pointer behind `pieces` and notes the submission.
    pub(crate) fn commit(&mut self, pieces: &[(GpuAddress, Vec<u32>)], submit: SubmitId) {
        self.write += pieces.iter().map(|(_, words)| words.len() as u64).sum::<u64>();
        let packet = pieces.last().map_or(GpuAddress(0), |(at, _)| *at);
        self.submits.push_back((self.write, submit, packet));
    }
}

/// Words of padding that engines skip.
fn padding(dwords: u64, generation: Generation, ring: Ring) -> Vec<u32> {
    let one = match ring {
        Ring::Graphics | Ring::Compute => Packet::build(Kind::Filler, generation, ring),
        Ring::Sdma => Packet::build(Kind::SdmaNop, generation, ring),
    };
    one.encode().repeat(dwords as usize)
}

/// The packet that runs a command buffer.
fn indirect_buffer(
    buffer: GpuRange,
    generation: Generation,
    ring: Ring,
) -> Result<Vec<u32>, Limit> {
    let bad = |what: &dyn std::fmt::Display| {
        Limit::unsupported(format!("command buffer {buffer:?} cannot be submitted: {what}"))
    };
    if !buffer.len.is_multiple_of(4) {
        return Err(bad(&"its length is no multiple of 4 bytes"));
    }
    let kind = match ring {
        Ring::Graphics | Ring::Compute => Kind::IndirectBuffer,
        Ring::Sdma => Kind::SdmaIndirect,
    };
    let mut builder = Packet::build(kind, generation, ring)
        .try_set(Field::Addr, buffer.start.0)
        .and_then(|b| b.try_set(Field::IbSize, buffer.len / 4))
        .map_err(|e| bad(&e))?;
    // Drivers set VALID for compute rings.
    if ring == Ring::Compute && builder.has(Field::Valid) {
        builder = builder.try_set(Field::Valid, 1).map_err(|e| bad(&e))?;
    }
    builder.try_finish().map(Packet::into_words).map_err(|e| bad(&e))
}
