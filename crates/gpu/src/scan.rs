//! Packets that have not run and what they would write, for explaining a hang.

use crate::core::Core;
use crate::cp::field;
use crate::fetch::{Frame, Located, read_packet};
use crate::queue::{DmaEnd, Item, Payload, Queue};
use std::collections::BTreeSet;
use wavefence_base::stall::PendingWrite;
use wavefence_base::{Generation, GpuAddress, GpuRange};
use wavefence_pm4::{Field, Kind, Packet, Ring, data_sel, decode, sel};

/// Packets looked at per queue; a command buffer that chains to itself has no
/// end.
const MOST: usize = 1 << 20;

/// Writes kept per queue and wait: the first ones decide, and a report of a
/// counter with thousands to come helps nobody.
const KEPT: usize = 64;

/// What a write that has not run would leave.
#[derive(Clone, Debug, PartialEq)]
enum Value {
    /// Bytes from the beginning of the range.
    Bytes(Vec<u8>),
    /// One dword over and over.
    Pattern(u32),
    /// Only known when it runs.
    Unknown,
}

impl Value {
    /// The value of `bytes` bytes at `offset`, if it is known.
    fn at(&self, offset: u64, bytes: u8) -> Option<u64> {
        let mut out = [0; 8];
        for (i, byte) in out.iter_mut().take(usize::from(bytes)).enumerate() {
            let at = offset as usize + i;
            *byte = match self {
                Self::Bytes(data) => *data.get(at)?,
                Self::Pattern(word) => word.to_le_bytes()[at % 4],
                Self::Unknown => return None,
            };
        }
        Some(u64::from_le_bytes(out))
    }
}

/// A value that a packet of a command buffer writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodeWrite {
    /// Dword of the packet in the buffer.
    pub word: u32,
    /// What it writes to.
    pub range: GpuRange,
    /// The value of the first 8 bytes (or fewer), if the packet says it.
    pub value: Option<u64>,
}

/// What the packets of a command buffer that was not placed yet write to memory; up to
/// the first word that is no packet.
pub fn writes_of(words: &[u32], generation: Generation, ring: Ring) -> Vec<CodeWrite> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < words.len() {
        let Ok(packet) = decode(words, at, generation, ring) else { break };
        for write in writes(&packet) {
            let bytes = write.range.len.min(8) as u8;
            let value = write.value.at(0, bytes);
            found.push(CodeWrite { word: at as u32, range: write.range, value });
        }
        at += packet.len_dwords();
    }
    found
}

struct Write {
    range: GpuRange,
    value: Value,
}

/// For each wanted range the writes to it that `queue` has not done yet, in its
/// order, up to [`KEPT`].
pub(crate) fn pending(
    core: &mut Core,
    queue: &Queue,
    wanted: &[GpuRange],
) -> Vec<Vec<PendingWrite>> {
    let mut scan = Scan { queue, wanted, found: vec![Vec::new(); wanted.len()] };
    for event in &queue.end_of_pipe {
        let value = match event.payload {
            Payload::None => continue,
            Payload::Value { value, bytes } => known(value, u64::from(bytes)),
            Payload::GpuClock | Payload::SystemClock => (8, Value::Unknown),
            Payload::Gds { dwords, .. } => (u64::from(dwords) * 4, Value::Unknown),
            Payload::Add(_) => (4, Value::Unknown),
        };
        scan.see(event.packet, write(event.address, value));
    }
    for dma in &queue.cp_dma {
        if let DmaEnd::Memory { at, .. } = dma.destination {
            scan.see(dma.packet, write(at, (dma.bytes, Value::Unknown)));
        }
    }
    for seat in [&queue.me, &queue.pfp] {
        if let Some((located, _)) = &seat.blocked {
            scan.packet(located);
        }
    }
    for sent in &queue.fifo {
        match &sent.item {
            Item::Packet(located) => scan.packet(located),
            Item::Launch(_) | Item::Acquire(_) | Item::SubmitEnd(..) => {}
        }
    }
    if !queue.halted {
        scan.ahead(core);
    }
    scan.found
}

struct Scan<'a> {
    queue: &'a Queue,
    wanted: &'a [GpuRange],
    found: Vec<Vec<PendingWrite>>,
}

impl Scan<'_> {
    fn see(&mut self, packet: GpuAddress, write: Write) {
        for (wanted, found) in self.wanted.iter().zip(&mut self.found) {
            if !write.range.overlaps(*wanted) || found.len() == KEPT {
                continue;
            }
            let inside = write.range.contains(wanted.start, wanted.len);
            let offset = wanted.start.0.wrapping_sub(write.range.start.0);
            let value = inside.then(|| write.value.at(offset, wanted.len as u8)).flatten();
            found.push(PendingWrite { queue: self.queue.id, packet, value });
        }
    }

    fn packet(&mut self, located: &Located) {
        for write in writes(&located.packet) {
            self.see(located.at, write);
        }
    }

    /// What was not fetched: the open command buffers, then the ring.
    fn ahead(&mut self, core: &mut Core) {
        let mut left = MOST;
        let mut visited = BTreeSet::new();
        let mut frames: Vec<Frame> = Vec::new();
        frames.extend(self.queue.fetch.ring.unread().into_iter().rev());
        frames.extend(&self.queue.fetch.frames);
        while let Some(mut frame) = frames.pop() {
            while frame.left > 0 && left > 0 {
                left -= 1;
                // A word that is no packet ends this buffer here as it will there.
                let Ok(packet) = read_packet(core, frame, self.queue.ring) else { break };
                let located = Located { packet, at: frame.at };
                let dwords = located.packet.len_dwords() as u64;
                frame.at = frame.at.offset(dwords * 4);
                frame.left = frame.left.saturating_sub(dwords);
                self.packet(&located);
                let called: Vec<_> = buffers(&located.packet)
                    .into_iter()
                    .filter(|f| visited.insert((located.at, f.at)))
                    .collect();
                if called.is_empty() {
                    continue;
                }
                if !located.packet.flag(Field::Chain) {
                    frames.push(frame);
                }
                frames.extend(called.into_iter().rev());
                frame.left = 0;
            }
        }
    }
}

fn known(value: u64, bytes: u64) -> (u64, Value) {
    (bytes, Value::Bytes(value.to_le_bytes()[..bytes as usize].to_vec()))
}

fn write(at: GpuAddress, (len, value): (u64, Value)) -> Write {
    Write { range: GpuRange::new(at, len), value }
}

fn words(body: &[u32]) -> (u64, Value) {
    (body.len() as u64 * 4, Value::Bytes(body.iter().flat_map(|w| w.to_le_bytes()).collect()))
}

/// Command buffers that a packet runs.
fn buffers(p: &Packet) -> Vec<Frame> {
    let frame = |at, size| Frame { at: GpuAddress(field(p, at)), left: field(p, size) };
    if matches!(p.kind(), Kind::IndirectBuffer | Kind::SdmaIndirect) {
        vec![frame(Field::Addr, Field::IbSize)]
    } else if p.kind() == Kind::CondIndirectBuffer {
        vec![frame(Field::ThenAddr, Field::IbSize), frame(Field::ElseAddr, Field::ElseSize)]
    } else {
        Vec::new()
    }
}

/// What a packet writes to memory.
fn writes(p: &Packet) -> Vec<Write> {
    let rule = WRITERS.iter().find(|(kind, _)| *kind == p.kind());
    rule.map_or(Vec::new(), |(_, of)| of(p))
}

/// Finds what one kind of packet writes.
type Writes = fn(&Packet) -> Vec<Write>;

/// The packets that write memory.
const WRITERS: &[(Kind, Writes)] = &[
    (Kind::EventWriteEop, release),
    (Kind::ReleaseMem, release),
    (Kind::EventWriteEos, end_of_shader),
    (Kind::WriteData, write_data),
    (Kind::CopyData, copy_data),
    (Kind::DmaData, dma_data),
    (Kind::AtomicMem, eight_unknown),
    (Kind::SdmaAtomic, eight_unknown),
    (Kind::SdmaTimestamp, eight_unknown),
    (Kind::SdmaTimestampGet, eight_unknown),
    (Kind::SdmaFence, |p| vec![write(at(p, Field::Addr), known(field(p, Field::Data), 4))]),
    (Kind::SdmaFence64, |p| vec![write(at(p, Field::Addr), known(field(p, Field::Data), 8))]),
    (Kind::SdmaWriteLinear, |p| vec![write(at(p, Field::Dst), words(p.body()))]),
    (Kind::SdmaCopyLinear, |p| vec![copied(p, Field::Dst)]),
    (Kind::SdmaCopyBroadcast, |p| vec![copied(p, Field::Dst), copied(p, Field::SecondDst)]),
    (Kind::SdmaConstantFill, fill),
];

fn at(p: &Packet, f: Field) -> GpuAddress {
    GpuAddress(field(p, f))
}

fn eight_unknown(p: &Packet) -> Vec<Write> {
    vec![write(at(p, Field::Addr), (8, Value::Unknown))]
}

fn copied(p: &Packet, to: Field) -> Write {
    write(at(p, to), (field(p, Field::ByteCount), Value::Unknown))
}

fn release(p: &Packet) -> Vec<Write> {
    let value = match field(p, Field::DataSel) as u8 {
        data_sel::NONE => return Vec::new(),
        data_sel::DATA_32 => known(field(p, Field::Data), 4),
        data_sel::DATA_64 => known(field(p, Field::Data), 8),
        data_sel::GDS => (field(p, Field::GdsSize) * 4, Value::Unknown),
        data_sel::ATOMIC_ADD_32 => (4, Value::Unknown),
        _ => (8, Value::Unknown),
    };
    vec![write(at(p, Field::Addr), value)]
}

fn end_of_shader(p: &Packet) -> Vec<Write> {
    let value = match field(p, Field::Command) as u8 {
        sel::eos_command::DATA => known(field(p, Field::Data), 4),
        _ => (field(p, Field::GdsSize) * 4, Value::Unknown),
    };
    vec![write(at(p, Field::Addr), value)]
}

fn write_data(p: &Packet) -> Vec<Write> {
    match p.try_get(Field::Addr) {
        Some(at) => vec![write(GpuAddress(at), words(p.body()))],
        None => Vec::new(),
    }
}

fn copy_data(p: &Packet) -> Vec<Write> {
    let Some(at) = p.try_get(Field::Dst) else { return Vec::new() };
    let bytes = if field(p, Field::CountSel) == 1 { 8 } else { 4 };
    let value = match p.try_get(Field::Data) {
        Some(data) => known(data, bytes),
        None => (bytes, Value::Unknown),
    };
    vec![write(GpuAddress(at), value)]
}

fn dma_data(p: &Packet) -> Vec<Write> {
    let nowhere = field(p, Field::DstSel) == u64::from(sel::dma_dst::NOWHERE);
    let Some(at) = p.try_get(Field::Dst).filter(|_| !nowhere) else { return Vec::new() };
    let value = match p.try_get(Field::Data) {
        Some(data) => Value::Pattern(data as u32),
        None => Value::Unknown,
    };
    vec![write(GpuAddress(at), (field(p, Field::ByteCount), value))]
}

fn fill(p: &Packet) -> Vec<Write> {
    let data = field(p, Field::Data) as u32;
    let pattern = match field(p, Field::FillSize) as u8 {
        sel::fill_size::BYTE => (data & 0xFF) * 0x0101_0101,
        _ => data,
    };
    vec![write(at(p, Field::Dst), (field(p, Field::ByteCount), Value::Pattern(pattern)))]
}
