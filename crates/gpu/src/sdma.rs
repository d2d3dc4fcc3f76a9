//! Packets of a DMA engine (`hardware/pm4.md` 1.5). Commands of one engine run
//! one after the other.

use crate::core::Core;
use crate::cp::{self, Exec, Flow, Trouble, access, data, dma, exec, field, unsupported};
use crate::fetch::Located;
use crate::flush::Actions;
use crate::mem::Access;
use crate::queue::{Block, Queue};
use crate::wait::{Polled, ValueWait};
use wavefence_base::access::Engine;
use wavefence_base::topology::Client;
use wavefence_base::{Event, Generation, GpuAddress, GpuRange, Writer};
use wavefence_memory::AccessError;
use wavefence_pm4::{Field, Kind, function, sel};

/// Retry count that polls for ever.
const FOR_EVER: u64 = 0xFFF;

/// GFX7 and GFX8 write timestamps of 0 below this alignment.
const TIMESTAMP_ALIGNMENT: u64 = 32;

/// Executes one packet of a DMA queue.
pub(crate) fn execute(core: &mut Core, queue: &mut Queue, p: &Located) -> Exec {
    let get = |f| field(&p.packet, f);
    let at = |f| GpuAddress(field(&p.packet, f));
    match p.packet.kind() {
        Kind::SdmaNop => exec::marker(core, queue, p),
        Kind::SdmaCopyLinear => copy(core, queue, p, &[at(Field::Dst)]),
        Kind::SdmaCopyBroadcast => copy(core, queue, p, &[at(Field::Dst), at(Field::SecondDst)]),
        Kind::SdmaWriteLinear => {
            no_swap(queue, p, &[Field::SwapMode])?;
            write(core, queue, p, at(Field::Dst));
            Ok(Flow::Done)
        }
        Kind::SdmaConstantFill => fill(core, queue, p),
        Kind::SdmaIndirect => {
            queue
                .fetch
                .call(at(Field::Addr), get(Field::IbSize), false)
                .map_err(Trouble::command)?;
            Ok(Flow::Done)
        }
        Kind::SdmaFence => value(core, queue, p, get(Field::Data), 4),
        Kind::SdmaFence64 => value(core, queue, p, get(Field::Data), 8),
        Kind::SdmaTrap | Kind::SdmaDummyTrap => {
            if p.packet.kind() == Kind::SdmaTrap {
                let (queue, packet) = (queue.id, p.at);
                core.emit(|| Event::Interrupt { queue, packet });
            }
            Ok(Flow::Done)
        }
        Kind::SdmaPollRegMem => poll(queue, p, 4),
        Kind::SdmaPollMem64 => poll(queue, p, 8),
        Kind::SdmaCondExe => cond_exe(core, queue, p),
        Kind::SdmaAtomic => {
            data::run_atomic(core, queue, p, &dma_access(queue, p), p.packet.flag(Field::Loop))
        }
        Kind::SdmaTimestampSet => {
            queue.local_counter = get(Field::Data).wrapping_sub(core.read_gpu_clock());
            Ok(Flow::Done)
        }
        Kind::SdmaTimestampGet => {
            let now = core.read_gpu_clock().wrapping_add(queue.local_counter);
            timestamp(core, queue, p, now)
        }
        Kind::SdmaTimestamp => {
            let now = core.read_gpu_clock();
            timestamp(core, queue, p, now)
        }
        Kind::SdmaGcrReq => {
            let mut actions = Actions::default();
            actions.gcr(get(Field::Gcr) as u32);
            let len = get(Field::Limit).saturating_sub(get(Field::Addr));
            let range = (len > 0).then(|| GpuRange::new(at(Field::Addr), len));
            let how = cp::sync::How::default();
            cp::sync::act(core, queue.id, p.at, &actions.over(range), how);
            Ok(Flow::Done)
        }
        Kind::SdmaCopyTiled
        | Kind::SdmaCopyTiledBroadcast
        | Kind::SdmaCopyStructure
        | Kind::SdmaCopyLinearWindow
        | Kind::SdmaCopyTiledWindow
        | Kind::SdmaCopyTiledToTiled
        | Kind::SdmaWriteTiled
        | Kind::SdmaPtePde
        | Kind::SdmaPreExe
        | Kind::SdmaGpuvmInv => Err(unsupported(queue, p, "this operation")),
        Kind::SdmaSemaphore => Err(unsupported(queue, p, "semaphores")),
        Kind::SdmaSrbmWrite => Err(Trouble::command("registers of the bus are privileged")),
        // The decoder gives none of these on a DMA queue.
        Kind::Nop
        | Kind::SetBase
        | Kind::ClearState
        | Kind::IndexBufferSize
        | Kind::DispatchDirect
        | Kind::DispatchIndirect
        | Kind::AtomicMem
        | Kind::SetPredication
        | Kind::CondExec
        | Kind::DrawIndirect
        | Kind::DrawIndexIndirect
        | Kind::IndexBase
        | Kind::DrawIndex2
        | Kind::ContextControl
        | Kind::IndexType
        | Kind::DrawIndirectMulti
        | Kind::DrawIndexAuto
        | Kind::NumInstances
        | Kind::IndirectBufferConst
        | Kind::DrawIndexOffset2
        | Kind::WriteData
        | Kind::DrawIndexIndirectMulti
        | Kind::WaitRegMem
        | Kind::IndirectBuffer
        | Kind::CondIndirectBuffer
        | Kind::CopyData
        | Kind::CpDma
        | Kind::PfpSyncMe
        | Kind::SurfaceSync
        | Kind::EventWrite
        | Kind::EventWriteEop
        | Kind::EventWriteEos
        | Kind::ReleaseMem
        | Kind::DmaData
        | Kind::AcquireMem
        | Kind::Rewind
        | Kind::SetConfigReg
        | Kind::SetContextReg
        | Kind::SetShReg
        | Kind::SetUconfigReg
        | Kind::SetUconfigRegIndex
        | Kind::WaitRegMem64
        | Kind::SetShRegIndex
        | Kind::DrawIndirectCountMulti
        | Kind::DrawIndexIndirectCountMulti
        | Kind::Type0
        | Kind::WaitForWriteConfirm
        | Kind::Filler => Err(Trouble::command("this ring does not read it")),
    }
}

/// The access record of a packet.
fn dma_access(queue: &Queue, p: &Located) -> Access<'static> {
    access(queue, p, Engine::Sdma, Client::Sdma)
}

/// Byte swaps are refused.
fn no_swap(queue: &Queue, p: &Located, fields: &[Field]) -> Result<(), Trouble> {
    if fields.iter().any(|&f| field(&p.packet, f) != 0) {
        return Err(unsupported(queue, p, "byte swapping"));
    }
    Ok(())
}

fn copy(core: &mut Core, queue: &Queue, p: &Located, destinations: &[GpuAddress]) -> Exec {
    no_swap(queue, p, &[Field::SrcSwap, Field::DstSwap, Field::SecondSwap])?;
    if p.packet.flag(Field::Encrypt) || p.packet.flag(Field::Tmz) {
        return Err(unsupported(queue, p, "copying encrypted memory"));
    }
    let source = GpuAddress(field(&p.packet, Field::Src));
    let bytes = field(&p.packet, Field::ByteCount);
    core.charge_dma(bytes);
    for &to in destinations {
        // As if through a buffer, so a backwards copy gives the same bytes.
        let access = dma_access(queue, p);
        let result = core.bus.copy((&access, source), (&access, to), bytes);
        moved(core, queue, p, result, Some(GpuRange::new(source, bytes)), to, bytes);
    }
    Ok(Flow::Done)
}

fn fill(core: &mut Core, queue: &Queue, p: &Located) -> Exec {
    no_swap(queue, p, &[Field::SwapMode])?;
    let data = field(&p.packet, Field::Data) as u32;
    let count = field(&p.packet, Field::ByteCount);
    let to = GpuAddress(field(&p.packet, Field::Dst));
    let (bytes, pattern) = match field(&p.packet, Field::FillSize) as u8 {
        sel::fill_size::BYTE => (count, (data & 0xFF) * 0x0101_0101),
        // The low two bits of the count are ignored; GFX10 stores it less one.
        sel::fill_size::DWORD if core.generation == Generation::Gfx10_3 => {
            (count.saturating_sub(1) / 4 * 4 + 4, data)
        }
        sel::fill_size::DWORD => (count / 4 * 4, data),
        other => return Err(Trouble::command(format!("fill size {other} is reserved"))),
    };
    core.charge_dma(bytes);
    let result = core.bus.fill(&dma_access(queue, p), to, bytes, pattern);
    moved(core, queue, p, result, None, to, bytes);
    Ok(Flow::Done)
}

/// Tells of a transfer, or of its failure.
fn moved(
    core: &mut Core,
    queue: &Queue,
    p: &Located,
    result: Result<(), AccessError>,
    source: Option<GpuRange>,
    to: GpuAddress,
    bytes: u64,
) {
    let destination = GpuRange::new(to, bytes);
    match result {
        Ok(()) => {
            dma::remember(core, queue, p.at, Client::Sdma, destination);
            let (queue, packet) = (queue.id, p.at);
            core.emit(|| Event::Transfer { queue, packet, source, destination });
        }
        Err(e) => core.refused(&dma_access(queue, p), &e),
    }
}

fn write(core: &mut Core, queue: &Queue, p: &Located, to: GpuAddress) {
    data::write_words(core, queue, &dma_access(queue, p), to, p.packet.body(), false);
}

/// A fence or timestamp.
fn value(core: &mut Core, queue: &Queue, p: &Located, value: u64, bytes: u8) -> Exec {
    let at = GpuAddress(field(&p.packet, Field::Addr));
    core.write(&dma_access(queue, p), Writer::Dma(queue.id), at, value, bytes);
    Ok(Flow::Done)
}

fn timestamp(core: &mut Core, queue: &Queue, p: &Located, now: u64) -> Exec {
    let at = GpuAddress(field(&p.packet, Field::Addr));
    let aligned = match core.generation {
        Generation::Gfx7 | Generation::Gfx8 => at.is_aligned(TIMESTAMP_ALIGNMENT),
        Generation::Gfx10_3 => true,
    };
    value(core, queue, p, if aligned { now } else { 0 }, 8)
}

fn poll(queue: &Queue, p: &Located, bytes: u8) -> Exec {
    let get = |f| field(&p.packet, f);
    if p.packet.kind() == Kind::SdmaPollRegMem {
        if !p.packet.flag(Field::MemPoll) {
            return Err(unsupported(queue, p, "polling a register"));
        }
        if get(Field::Operation) != 0 {
            return Err(unsupported(queue, p, "an operation beside polling"));
        }
    }
    let code = get(Field::Function) as u8;
    if function::symbol(code).is_none() {
        return Err(Trouble::command(format!("comparison {code} is reserved")));
    }
    let polls = match get(Field::RetryCount) {
        FOR_EVER => None,
        n => Some(n as u32),
    };
    Ok(Flow::Block(Block::Value(ValueWait {
        polled: Polled::Memory(GpuAddress(get(Field::Addr)), Client::Sdma),
        function: code,
        reference: get(Field::Reference),
        mask: get(Field::Mask),
        bytes,
        polls,
    })))
}

/// Skips dwords unless the dword in memory equals the reference; GFX7's packet
/// has none and skips if the dword is 0.
fn cond_exe(core: &mut Core, queue: &mut Queue, p: &Located) -> Exec {
    let at = GpuAddress(field(&p.packet, Field::Addr));
    let value = core.read(&dma_access(queue, p), at, 4);
    let run = match p.packet.try_get(Field::Reference) {
        Some(reference) => value == reference,
        None => value != 0,
    };
    if !run {
        queue.fetch.skip(field(&p.packet, Field::ExecCount)).map_err(Trouble::command)?;
    }
    Ok(Flow::Done)
}
