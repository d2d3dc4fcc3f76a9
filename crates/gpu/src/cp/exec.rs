//! Which packet does what on the PFP, ME and MEC.

use super::{Exec, Flow, Trouble, buffer, data, dma, event, field, launch, sync, unsupported};
use crate::core::Core;
use crate::fetch::Located;
use crate::queue::{Block, Queue};
use wavefence_base::Event;
use wavefence_base::access::Engine;
use wavefence_pm4::marker::{Marker, MarkerKind};
use wavefence_pm4::{Field, Kind, RegSpace, sel};

/// Executes one packet of a graphics or compute queue.
pub(crate) fn execute(core: &mut Core, queue: &mut Queue, p: &Located, engine: Engine) -> Exec {
    match p.packet.kind() {
        Kind::Filler => Ok(Flow::Done),
        Kind::Nop => marker(core, queue, p),
        Kind::DispatchDirect => launch::direct(core, queue, p),
        Kind::DispatchIndirect => launch::indirect(core, queue, p, engine),
        Kind::SetBase => set_base(queue, p),
        Kind::SetShReg => set_registers(queue, p, RegSpace::Sh),
        Kind::SetShRegIndex => set_sh_index(queue, p),
        Kind::SetContextReg => set_registers(queue, p, RegSpace::Context),
        Kind::SetUconfigReg | Kind::SetUconfigRegIndex => {
            set_registers(queue, p, RegSpace::Uconfig)
        }
        Kind::SetConfigReg => Err(Trouble::command(
            "configuration registers are privileged from GFX7 on; nothing was written",
        )),
        Kind::Type0 => set_registers(queue, p, RegSpace::Absolute),
        Kind::ClearState => {
            queue.regs.clear_context();
            Ok(Flow::Done)
        }
        // Loading and shadowing belong to the driver's preamble: no state here
        // is lost between submissions.
        Kind::ContextControl => Ok(Flow::Done),
        Kind::SetPredication => buffer::set_predication(core, queue, p, engine),
        Kind::CondExec => buffer::cond_exec(core, queue, p, engine),
        Kind::IndirectBuffer => buffer::indirect_buffer(core, queue, p),
        Kind::CondIndirectBuffer => buffer::cond_indirect_buffer(core, queue, p, engine),
        Kind::Rewind => buffer::rewind(p),
        Kind::PfpSyncMe => Ok(Flow::Block(Block::MicroEngine)),
        Kind::WaitForWriteConfirm => Ok(Flow::Block(Block::EndOfPipe)),
        Kind::WriteData => data::write_data(core, queue, p, engine),
        Kind::CopyData => data::copy_data(core, queue, p, engine),
        Kind::AtomicMem => data::atomic_mem(core, queue, p, engine),
        Kind::DmaData => dma::dma_data(core, queue, p),
        Kind::WaitRegMem => sync::wait_reg_mem(queue, p, 4),
        Kind::WaitRegMem64 => sync::wait_reg_mem(queue, p, 8),
        Kind::SurfaceSync | Kind::AcquireMem => sync::acquire(core, queue, p, engine),
        Kind::EventWrite => event::event_write(core, queue, p),
        Kind::EventWriteEop | Kind::ReleaseMem => event::release(core, queue, p),
        Kind::EventWriteEos => event::end_of_shader(queue, p),
        Kind::IndirectBufferConst => Err(unsupported(queue, p, "the constant engine")),
        Kind::DrawIndirect
        | Kind::DrawIndexIndirect
        | Kind::DrawIndex2
        | Kind::DrawIndirectMulti
        | Kind::DrawIndexAuto
        | Kind::DrawIndexOffset2
        | Kind::DrawIndexIndirectMulti
        | Kind::DrawIndirectCountMulti
        | Kind::DrawIndexIndirectCountMulti => Err(unsupported(queue, p, "drawing")),
        Kind::IndexBase | Kind::IndexBufferSize | Kind::IndexType | Kind::NumInstances => {
            Err(unsupported(queue, p, "state of draws"))
        }
        // The decoder gives none of these on a PM4 ring.
        Kind::CpDma
        | Kind::SdmaNop
        | Kind::SdmaCopyLinear
        | Kind::SdmaCopyBroadcast
        | Kind::SdmaWriteLinear
        | Kind::SdmaIndirect
        | Kind::SdmaFence
        | Kind::SdmaFence64
        | Kind::SdmaTrap
        | Kind::SdmaSemaphore
        | Kind::SdmaPollRegMem
        | Kind::SdmaPollMem64
        | Kind::SdmaCondExe
        | Kind::SdmaAtomic
        | Kind::SdmaConstantFill
        | Kind::SdmaTimestampSet
        | Kind::SdmaTimestampGet
        | Kind::SdmaTimestamp
        | Kind::SdmaSrbmWrite
        | Kind::SdmaGcrReq
        | Kind::SdmaCopyTiled
        | Kind::SdmaCopyTiledBroadcast
        | Kind::SdmaCopyStructure
        | Kind::SdmaCopyLinearWindow
        | Kind::SdmaCopyTiledWindow
        | Kind::SdmaCopyTiledToTiled
        | Kind::SdmaWriteTiled
        | Kind::SdmaPtePde
        | Kind::SdmaPreExe
        | Kind::SdmaGpuvmInv
        | Kind::SdmaDummyTrap => Err(Trouble::command("this ring does not read it")),
    }
}

/// A NOP: tells its marker, if it carries one.
pub(crate) fn marker(core: &mut Core, queue: &Queue, p: &Located) -> Exec {
    if let Some(marker) = Marker::decode(&p.packet) {
        let (queue, packet) = (queue.id, p.at);
        let depth = match marker.kind {
            MarkerKind::Begin => 1,
            MarkerKind::End => -1,
            MarkerKind::Set => 0,
        };
        core.emit(|| Event::Marker {
            queue,
            packet,
            depth,
            text: marker.text,
            color: marker.color,
        });
    }
    Ok(Flow::Done)
}

fn set_base(queue: &mut Queue, p: &Located) -> Exec {
    let index = field(&p.packet, Field::BaseIndex);
    if index != u64::from(sel::base_index::INDIRECT) {
        return Err(unsupported(queue, p, &format!("base index {index}")));
    }
    queue.prefetch.indirect_base = wavefence_base::GpuAddress(field(&p.packet, Field::Addr));
    Ok(Flow::Done)
}

/// SET_*_REG and type-0 writes: the body goes to registers in a row.
fn set_registers(queue: &mut Queue, p: &Located, space: RegSpace) -> Exec {
    let first = space.base() + field(&p.packet, Field::RegOffset) as u32;
    let body = p.packet.body();
    let last = first as usize + body.len() - 1;
    if last > space.last() as usize {
        return Err(Trouble::command(format!(
            "registers {first:#x} to {last:#x}: the space ends at {:#x}; nothing was written",
            space.last()
        )));
    }
    for (i, &value) in body.iter().enumerate() {
        queue.regs.set(first + i as u32, value);
    }
    Ok(Flow::Done)
}

fn set_sh_index(queue: &mut Queue, p: &Located) -> Exec {
    match field(&p.packet, Field::RegIndex) {
        // 3 takes the value and the kernel's CU mask: every CU is ours here.
        0 | 3 => set_registers(queue, p, RegSpace::Sh),
        other => Err(Trouble::command(format!("register index {other} means nothing here"))),
    }
}
