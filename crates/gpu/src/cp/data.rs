//! Packets that move single values: WRITE_DATA, COPY_DATA, ATOMIC_MEM.

use super::{Exec, Flow, Trouble, access, field, unsupported};
use crate::core::Core;
use crate::fetch::Located;
use crate::mem::Access;
use crate::queue::{Block, Queue};
use wavefence_base::access::Engine;
use wavefence_base::stall::PastWrite;
use wavefence_base::topology::Client;
use wavefence_base::{Event, GpuAddress, GpuRange, Resource, Writer};
use wavefence_pm4::{Field, Ring, atomic, sel};

/// The engine field of packets that an engine other than PFP and ME may run.
fn check_engine(p: &Located) -> Result<(), Trouble> {
    match field(&p.packet, Field::Engine) as u8 {
        sel::engine::ME | sel::engine::PFP => Ok(()),
        other => Err(Trouble::command(format!("engine {other} does not run this packet"))),
    }
}

/// Who a queue's packets write as.
fn writer(queue: &Queue) -> Writer {
    match queue.ring {
        Ring::Sdma => Writer::Dma(queue.id),
        Ring::Graphics | Ring::Compute => Writer::Queue(queue.id),
    }
}

/// WRITE_DATA: the body goes to memory, registers or the data share.
pub(super) fn write_data(core: &mut Core, queue: &mut Queue, p: &Located, engine: Engine) -> Exec {
    check_engine(p)?;
    let body = p.packet.body();
    let one = p.packet.flag(Field::OneAddress);
    match field(&p.packet, Field::DstSel) as u8 {
        sel::write_dst::REGISTER => {
            let first = field(&p.packet, Field::Reg) as u32;
            for (i, &value) in body.iter().enumerate() {
                let step = if one { 0 } else { i as u32 };
                queue.regs.set(first.wrapping_add(step), value);
            }
        }
        sel::write_dst::GDS => {
            let first = field(&p.packet, Field::GdsOffset) as u32;
            core.touch(Resource::DataShare, true);
            for (i, &value) in body.iter().enumerate() {
                let at = first.wrapping_add(if one { 0 } else { i as u32 * 4 });
                if !core.shared.gds.write(at, value) {
                    return Err(Trouble::command(format!(
                        "offset {at:#x} is outside the data share or not 4-byte aligned"
                    )));
                }
            }
        }
        select @ (sel::write_dst::MEMORY | sel::write_dst::MEMORY_GRBM | sel::write_dst::L2) => {
            let client = client(select == sel::write_dst::L2);
            let access = access(queue, p, engine, client);
            write_words(core, queue, &access, GpuAddress(field(&p.packet, Field::Addr)), body, one);
        }
        other => return Err(unsupported(queue, p, &format!("destination {other}"))),
    }
    Ok(Flow::Done)
}

/// The way to memory that a packet's select names.
fn client(level2: bool) -> Client {
    if level2 { Client::CpDataL2 } else { Client::CpDataMemory }
}

/// Writes dwords to memory. One or two aligned dwords are a value that a wait
/// may see whole.
pub(crate) fn write_words(
    core: &mut Core,
    queue: &Queue,
    access: &Access<'_>,
    at: GpuAddress,
    body: &[u32],
    one: bool,
) {
    let packet = access.packet;
    let by = writer(queue);
    match *body {
        [lo, hi] if !one && at.is_aligned(8) => {
            core.write(access, by, at, u64::from(hi) << 32 | u64::from(lo), 8);
        }
        [..] if body.len() <= 2 || one => {
            for (i, &value) in body.iter().enumerate() {
                let step = if one { 0 } else { i as u64 * 4 };
                core.write(access, by, at.offset(step), u64::from(value), 4);
            }
        }
        [..] => {
            let bytes: Vec<u8> = body.iter().flat_map(|w| w.to_le_bytes()).collect();
            let result = core.bus.write(access, at, &bytes);
            let landed = result.is_ok();
            for (i, &value) in body.iter().enumerate() {
                let past = PastWrite { by, packet, value: u64::from(value), landed };
                core.history.record(at.offset(i as u64 * 4), past);
            }
            match result {
                Ok(()) => {
                    let destination = GpuRange::new(at, bytes.len() as u64);
                    let queue = queue.id;
                    let packet = packet.unwrap_or_default();
                    core.emit(|| Event::Transfer { queue, packet, source: None, destination });
                }
                Err(e) => core.refused(access, &e),
            }
        }
    }
}

/// COPY_DATA: 32 or 64 bits from one kind of place to another.
pub(super) fn copy_data(core: &mut Core, queue: &mut Queue, p: &Located, engine: Engine) -> Exec {
    check_engine(p)?;
    let wide = field(&p.packet, Field::CountSel) == u64::from(sel::copy_count::QWORD);
    let bytes = if wide { 8 } else { 4 };
    let value = copy_source(core, queue, p, engine, bytes)?;
    let (lo, hi) = (value as u32, (value >> 32) as u32);
    match field(&p.packet, Field::DstSel) as u8 {
        sel::copy_dst::REGISTER => {
            let reg = field(&p.packet, Field::DstReg) as u32;
            queue.regs.set(reg, lo);
            if wide {
                queue.regs.set(reg.wrapping_add(1), hi);
            }
        }
        select @ (sel::copy_dst::MEMORY | sel::copy_dst::MEMORY_GRBM | sel::copy_dst::L2) => {
            let at = GpuAddress(field(&p.packet, Field::Dst));
            if !at.is_aligned(u64::from(bytes)) {
                return Err(Trouble::command(format!(
                    "destination {at} is not aligned to {bytes} bytes"
                )));
            }
            let access = access(queue, p, engine, client(select == sel::copy_dst::L2));
            core.write(&access, Writer::Queue(queue.id), at, value, bytes);
        }
        sel::copy_dst::GDS => {
            let at = field(&p.packet, Field::DstOffset) as u32;
            core.touch(Resource::DataShare, true);
            let whole = core.shared.gds.write(at, lo)
                && (!wide || core.shared.gds.write(at.wrapping_add(4), hi));
            if !whole {
                return Err(Trouble::command(format!(
                    "offset {at:#x} is outside the data share or not 4-byte aligned"
                )));
            }
        }
        other => return Err(unsupported(queue, p, &format!("destination {other}"))),
    }
    Ok(Flow::Done)
}

/// SRC_SEL of the system clock, which GFX10 adds.
const SYSTEM_CLOCK: u8 = 10;

fn copy_source(
    core: &mut Core,
    queue: &mut Queue,
    p: &Located,
    engine: Engine,
    bytes: u8,
) -> Result<u64, Trouble> {
    let join = |lo: u32, hi: u32| u64::from(hi) << 32 | u64::from(lo);
    let value = match field(&p.packet, Field::SrcSel) as u8 {
        sel::copy_src::REGISTER => {
            let reg = field(&p.packet, Field::SrcReg) as u32;
            join(queue.regs.get(reg), queue.regs.get(reg.wrapping_add(1)))
        }
        select @ (sel::copy_src::MEMORY | sel::copy_src::L2) => {
            let at = GpuAddress(field(&p.packet, Field::Src));
            if !at.is_aligned(u64::from(bytes)) {
                return Err(Trouble::command(format!(
                    "source {at} is not aligned to {bytes} bytes"
                )));
            }
            let access = access(queue, p, engine, client(select == sel::copy_src::L2));
            core.read(&access, at, bytes)
        }
        sel::copy_src::GDS => {
            let at = field(&p.packet, Field::SrcOffset) as u32;
            core.touch(Resource::DataShare, false);
            let lo = core.shared.gds.read(at);
            let hi = core.shared.gds.read(at.wrapping_add(4));
            match (lo, hi, bytes) {
                (Some(lo), _, 4) => u64::from(lo),
                (Some(lo), Some(hi), _) => join(lo, hi),
                _ => {
                    return Err(Trouble::command(format!(
                        "offset {at:#x} is outside the data share or not 4-byte aligned"
                    )));
                }
            }
        }
        sel::copy_src::IMMEDIATE => field(&p.packet, Field::Data),
        sel::copy_src::ATOMIC_RETURN => queue.atomic_return,
        sel::copy_src::GPU_CLOCK => core.read_gpu_clock(),
        SYSTEM_CLOCK => core.read_system_clock(),
        other => return Err(unsupported(queue, p, &format!("source {other}"))),
    };
    Ok(if bytes == 8 { value } else { value & 0xFFFF_FFFF })
}

/// ATOMIC_MEM.
pub(super) fn atomic_mem(core: &mut Core, queue: &mut Queue, p: &Located, engine: Engine) -> Exec {
    check_engine(p)?;
    let command = field(&p.packet, Field::Command) as u8;
    let loops = match command {
        sel::atomic_command::LOOP => true,
        sel::atomic_command::SINGLE_PASS
        | sel::atomic_command::WAIT_CONFIRM
        | sel::atomic_command::SEND_AND_CONTINUE => false,
        other => return Err(Trouble::command(format!("command {other} is reserved"))),
    };
    let access = access(queue, p, engine, Client::CpDataL2);
    run_atomic(core, queue, p, &access, loops)
}

/// An atomic of ATOMIC_MEM or of SDMA. With `loops` it is run again until its
/// comparison succeeds.
pub(crate) fn run_atomic(
    core: &mut Core,
    queue: &mut Queue,
    p: &Located,
    access: &Access<'_>,
    loops: bool,
) -> Exec {
    let code = field(&p.packet, Field::AtomicOp) as u8;
    let at = GpuAddress(field(&p.packet, Field::Addr));
    let wide = code & atomic::WIDE != 0;
    let bytes = if wide { 8 } else { 4 };
    let op = code & !(atomic::WIDE | atomic::NO_RETURN);
    let (data, compare) = (field(&p.packet, Field::Data), field(&p.packet, Field::Compare));
    if apply(op, wide, 0, data, compare).is_none() {
        return Err(Trouble::command(format!("atomic operation {code:#x} is not known")));
    }
    let update = |old| apply(op, wide, old, data, compare).unwrap_or(old);
    let by = writer(queue);
    let old = match core.bus.update(access, at, bytes, update) {
        Ok(old) => old,
        Err(e) => {
            core.refused(access, &e);
            return Ok(Flow::Done);
        }
    };
    let width = if wide { u64::MAX } else { 0xFFFF_FFFF };
    if loops && op == atomic::CMPSWAP_RTN_32 && old != compare & width {
        return Ok(Flow::Block(Block::Again));
    }
    if code & atomic::NO_RETURN == 0 {
        queue.atomic_return = old;
    }
    let (value, packet) = (update(old), Some(p.at));
    core.history.record(at, PastWrite { by, packet, value, landed: true });
    core.emit(|| Event::ValueWritten { by, packet, address: at, value, bytes });
    Ok(Flow::Done)
}

/// Whether a looping atomic that is run again would find its comparand.
pub(crate) fn atomic_succeeds(core: &mut Core, queue: &Queue, p: &Located) -> bool {
    let client = match queue.ring {
        Ring::Sdma => Client::Sdma,
        Ring::Graphics | Ring::Compute => Client::CpDataL2,
    };
    let wide = field(&p.packet, Field::AtomicOp) as u8 & atomic::WIDE != 0;
    let (bytes, width) = if wide { (8, u64::MAX) } else { (4, 0xFFFF_FFFF) };
    let at = GpuAddress(field(&p.packet, Field::Addr));
    // Where nothing can be read it fails, and that ends it.
    core.bus
        .peek_value(client, at, bytes)
        .is_none_or(|old| old == field(&p.packet, Field::Compare) & width)
}

/// What a TC_OP leaves behind (`hardware/pm4.md` 1.4); `None` if there is no
/// such operation. `op` is the 32-bit returning code.
fn apply(op: u8, wide: bool, old: u64, data: u64, compare: u64) -> Option<u64> {
    let width = if wide { u64::MAX } else { 0xFFFF_FFFF };
    let signed = |v: u64| if wide { v as i64 } else { i64::from(v as u32 as i32) };
    let (data, compare) = (data & width, compare & width);
    let new = match op {
        atomic::SWAP_RTN_32 => data,
        atomic::CMPSWAP_RTN_32 => {
            if old == compare {
                data
            } else {
                old
            }
        }
        atomic::ADD_RTN_32 => old.wrapping_add(data),
        atomic::SUB_RTN_32 => old.wrapping_sub(data),
        atomic::SMIN_RTN_32 => signed(old).min(signed(data)) as u64,
        atomic::UMIN_RTN_32 => old.min(data),
        atomic::SMAX_RTN_32 => signed(old).max(signed(data)) as u64,
        atomic::UMAX_RTN_32 => old.max(data),
        atomic::AND_RTN_32 => old & data,
        atomic::OR_RTN_32 => old | data,
        atomic::XOR_RTN_32 => old ^ data,
        // Wrap at the operand, as the hardware's INC and DEC do.
        atomic::INC_RTN_32 => {
            if old >= data {
                0
            } else {
                old + 1
            }
        }
        atomic::DEC_RTN_32 => {
            if old == 0 || old > data {
                data
            } else {
                old - 1
            }
        }
        _ => return None,
    };
    Some(new & width)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn atomics_respect_their_width() {
        let go = |op, wide, old, data| apply(op, wide, old, data, 0);
        assert_eq!(go(atomic::ADD_RTN_32, false, 0xFFFF_FFFF, 1), Some(0));
        assert_eq!(go(atomic::ADD_RTN_32, true, 0xFFFF_FFFF, 1), Some(0x1_0000_0000));
        assert_eq!(go(atomic::SMIN_RTN_32, false, 1, 0xFFFF_FFFF), Some(0xFFFF_FFFF));
        assert_eq!(go(atomic::SMIN_RTN_32, true, 1, 0xFFFF_FFFF), Some(1));
        assert_eq!(go(atomic::INC_RTN_32, false, 4, 4), Some(0));
        assert_eq!(go(atomic::DEC_RTN_32, false, 0, 4), Some(4));
        assert_eq!(go(0x01, false, 0, 0), None);
    }
}
