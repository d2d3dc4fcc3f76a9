//! DMA_DATA: the command processor's own DMA engine. Copies run beside the
//! packets that follow; neither end-of-pipe events nor the end of a command
//! buffer wait for them (`hardware/pm4.md` 1.4), CP_SYNC does.

use super::{Exec, Flow, field, unsupported};
use crate::core::Core;
use crate::fetch::Located;
use crate::mem::Access;
use crate::queue::{Block, CpDma, DmaEnd, Queue};
use wavefence_base::access::{Agent, Engine};
use wavefence_base::stall::PastWrite;
use wavefence_base::topology::Client;
use wavefence_base::{Event, FaultKind, GpuAddress, GpuRange, Resource, Writer};
use wavefence_memory::AccessError;
use wavefence_pm4::{Field, sel};

/// Takes a copy up.
pub(super) fn dma_data(core: &Core, queue: &mut Queue, p: &Located) -> Exec {
    let flag = |f| p.packet.flag(f);
    let get = |f| field(&p.packet, f);
    for (bad, what) in [
        (flag(Field::SrcIndirect) || flag(Field::DstIndirect), "an address in memory"),
        (flag(Field::SrcIsRegister) || flag(Field::DstIsRegister), "DMA with registers"),
        (get(Field::SrcSwap) != 0 || get(Field::DstSwap) != 0, "byte swapping"),
    ] {
        if bad {
            return Err(unsupported(queue, p, what));
        }
    }
    let source = match get(Field::SrcSel) as u8 {
        sel::dma_src::GDS => DmaEnd::Gds(get(Field::SrcOffset) as u32),
        sel::dma_src::DATA => DmaEnd::Data(get(Field::Data) as u32),
        select => DmaEnd::Memory {
            at: GpuAddress(get(Field::Src)),
            step: !flag(Field::SrcNoIncrement),
            client: client(select == sel::dma_src::L2),
        },
    };
    let destination = match get(Field::DstSel) as u8 {
        sel::dma_dst::GDS => DmaEnd::Gds(get(Field::DstOffset) as u32),
        sel::dma_dst::NOWHERE => DmaEnd::Nowhere,
        select => DmaEnd::Memory {
            at: GpuAddress(get(Field::Dst)),
            step: !flag(Field::DstNoIncrement),
            client: client(select == sel::dma_dst::L2),
        },
    };
    let bytes = get(Field::ByteCount);
    if bytes > 0 {
        let before = queue.cp_dma.back().map_or(0, |last| last.soonest);
        let soonest = before.max(core.now()) + core.timing.copied(bytes);
        let due = core.late().max(soonest);
        queue.cp_dma.push_back(CpDma { soonest, due, packet: p.at, source, destination, bytes });
    }
    // Copies run one after the other, so RAW_WAIT is always kept.
    if flag(Field::CpSync) {
        return Ok(Flow::Block(Block::CpDma));
    }
    Ok(Flow::Done)
}

/// The way to memory that a side's select names.
fn client(level2: bool) -> Client {
    if level2 { Client::CpDmaL2 } else { Client::CpDmaMemory }
}

/// Makes the oldest copy of the queue; true if there was one.
pub(crate) fn step(core: &mut Core, queue: &mut Queue) -> bool {
    let Some(dma) = queue.cp_dma.pop_front() else { return false };
    if matches!(dma.source, DmaEnd::Gds(_)) || matches!(dma.destination, DmaEnd::Gds(_)) {
        core.touch(Resource::DataShare, true);
    }
    let access = Access {
        what: "DMA_DATA",
        queue: Some(queue.id),
        packet: Some(dma.packet),
        agent: Agent::Engine { queue: queue.id, engine: Engine::CpDma, packet: dma.packet },
        client: Client::CpDmaMemory,
    };
    match transfer(core, &access, &dma) {
        Ok(()) => tell(core, queue, dma.packet, &dma),
        Err(Failed::Access(e)) => core.refused(&access, &e),
        Err(Failed::Gds(what)) => {
            let detail = format!("DMA_DATA at {}: {what}", dma.packet);
            core.packet_fault(FaultKind::BadCommand, queue.id, dma.packet, detail);
        }
    }
    true
}

enum Failed {
    Access(Box<AccessError>),
    Gds(String),
}

impl From<AccessError> for Failed {
    fn from(e: AccessError) -> Self {
        Self::Access(Box::new(e))
    }
}

fn transfer(core: &mut Core, access: &Access<'_>, dma: &CpDma) -> Result<(), Failed> {
    let bytes = dma.bytes;
    match (dma.source, dma.destination) {
        (
            DmaEnd::Memory { at, step: true, client: reader },
            DmaEnd::Memory { at: to, step: true, client: writer },
        ) => Ok(core.bus.copy((&access.by(reader), at), (&access.by(writer), to), bytes)?),
        (DmaEnd::Data(value), DmaEnd::Memory { at, step: true, client }) => {
            Ok(core.bus.fill(&access.by(client), at, bytes, value)?)
        }
        (source, destination) => {
            let data = gather(core, access, source, bytes)?;
            scatter(core, access, destination, &data)
        }
    }
}

fn outside(offset: u32) -> Failed {
    Failed::Gds(format!("offset {offset:#x} is outside the data share or not 4-byte aligned"))
}

fn gather(
    core: &mut Core,
    access: &Access<'_>,
    source: DmaEnd,
    bytes: u64,
) -> Result<Vec<u8>, Failed> {
    let mut data = vec![0; bytes as usize];
    let repeat = |data: &mut Vec<u8>, word: u32| {
        for (i, byte) in data.iter_mut().enumerate() {
            *byte = word.to_le_bytes()[i % 4];
        }
    };
    match source {
        DmaEnd::Memory { at, step: true, client } => {
            core.bus.read(&access.by(client), at, &mut data)?;
        }
        DmaEnd::Memory { at, step: false, client } => {
            let word = core.bus.read_value(&access.by(client), at, 4)?;
            repeat(&mut data, word as u32);
        }
        DmaEnd::Data(word) => repeat(&mut data, word),
        DmaEnd::Gds(offset) => {
            for (i, chunk) in data.chunks_mut(4).enumerate() {
                let at = offset.wrapping_add(i as u32 * 4);
                let word = core.shared.gds.read(at).ok_or_else(|| outside(at))?;
                chunk.copy_from_slice(&word.to_le_bytes()[..chunk.len()]);
            }
        }
        DmaEnd::Nowhere => {}
    }
    Ok(data)
}

fn scatter(
    core: &mut Core,
    access: &Access<'_>,
    destination: DmaEnd,
    data: &[u8],
) -> Result<(), Failed> {
    match destination {
        DmaEnd::Memory { at, step: true, client } => {
            core.bus.write(&access.by(client), at, data)?;
        }
        DmaEnd::Memory { at, step: false, client } => {
            // Dword after dword to one address: the last one stays.
            let last = data.len().saturating_sub(1) / 4 * 4;
            core.bus.write(&access.by(client), at, &data[last..])?;
        }
        DmaEnd::Gds(offset) => {
            for (i, chunk) in data.chunks(4).enumerate() {
                let at = offset.wrapping_add(i as u32 * 4);
                let mut word = [0; 4];
                word[..chunk.len()].copy_from_slice(chunk);
                if !core.shared.gds.write(at, u32::from_le_bytes(word)) {
                    return Err(outside(at));
                }
            }
        }
        DmaEnd::Nowhere | DmaEnd::Data(_) => {}
    }
    Ok(())
}

fn tell(core: &mut Core, queue: &Queue, packet: GpuAddress, dma: &CpDma) {
    let range = |end| match end {
        DmaEnd::Memory { at, step: true, .. } => Some(GpuRange::new(at, dma.bytes)),
        DmaEnd::Memory { at, step: false, .. } => Some(GpuRange::new(at, dma.bytes.min(4))),
        DmaEnd::Gds(_) | DmaEnd::Data(_) | DmaEnd::Nowhere => None,
    };
    let Some(destination) = range(dma.destination) else { return };
    let source = range(dma.source);
    let client = match dma.destination {
        DmaEnd::Memory { client, .. } => client,
        DmaEnd::Gds(_) | DmaEnd::Data(_) | DmaEnd::Nowhere => Client::CpDmaMemory,
    };
    remember(core, queue, packet, client, destination);
    let queue = queue.id;
    core.emit(|| Event::Transfer { queue, packet, source, destination });
}

/// Remembers a transfer that is small enough to be a value, or that a wait sees.
pub(crate) fn remember(
    core: &mut Core,
    queue: &Queue,
    packet: GpuAddress,
    client: Client,
    destination: GpuRange,
) {
    if destination.len != 4 && destination.len != 8 {
        core.history.look(&mut core.bus, Some(destination), Writer::Dma(queue.id), Some(packet));
        return;
    }
    let bytes = destination.len as u8;
    let now = core.bus.untraced(|bus| bus.peek_value(client, destination.start, bytes));
    if let Some(value) = now {
        let by = Writer::Dma(queue.id);
        let past = PastWrite { by, packet: Some(packet), value, landed: true };
        core.history.record(destination.start, past);
    }
}
