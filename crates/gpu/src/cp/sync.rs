//! Waits on values, and acquires.

use super::{Exec, Flow, Trouble, field, unsupported};
use crate::core::Core;
use crate::fetch::Located;
use crate::flush::{Actions, coher_range};
use crate::queue::{Block, Flush, Queue};
use crate::wait::{Polled, ValueWait};
use wavefence_base::access::Engine;
use wavefence_base::topology::Client;
use wavefence_base::{Event, FlushCost, Generation, GpuAddress};
use wavefence_pm4::{Field, Ring, function, sel};

/// WAIT_REG_MEM and WAIT_REG_MEM64 (`hardware/pm4.md` 5).
pub(super) fn wait_reg_mem(queue: &mut Queue, p: &Located, bytes: u8) -> Exec {
    let get = |f| field(&p.packet, f);
    let code = get(Field::Function) as u8;
    if function::symbol(code).is_none() {
        return Err(Trouble::command(format!("comparison {code} is reserved")));
    }
    match get(Field::Operation) as u8 {
        sel::wait_operation::WAIT | sel::wait_operation::WAIT_PREEMPTABLE => {}
        other => return Err(unsupported(queue, p, &format!("wait operation {other}"))),
    }
    if get(Field::Engine) as u8 == sel::engine::CE {
        return Err(Trouble::command("the constant engine does not wait"));
    }
    let polled = match get(Field::MemSpace) as u8 {
        sel::mem_space::REGISTER => Polled::Register(get(Field::Reg) as u32),
        sel::mem_space::MEMORY => Polled::Memory(GpuAddress(get(Field::Addr)), Client::Poll),
        // GFX7 and GFX8 can be told to poll L2.
        sel::mem_space::L2 => Polled::Memory(GpuAddress(get(Field::Addr)), Client::CpDataL2),
        other => return Err(Trouble::command(format!("memory space {other} is reserved"))),
    };
    let wait = ValueWait {
        polled,
        function: code,
        reference: get(Field::Reference),
        mask: get(Field::Mask),
        bytes,
        polls: None,
    };
    Ok(Flow::Block(Block::Value(wait)))
}

/// SURFACE_SYNC and ACQUIRE_MEM: cache actions over a range. They wait for
/// rendering only, and there is none.
pub(super) fn acquire(core: &mut Core, queue: &mut Queue, p: &Located, engine: Engine) -> Exec {
    let get = |f| field(&p.packet, f);
    let mut actions = Actions::default();
    actions.coher(get(Field::Coher) as u32);
    actions.gcr(get(Field::Gcr) as u32);
    let range = coher_range(get(Field::CoherBase), get(Field::CoherSize));
    let on_pfp = engine == Engine::Pfp;
    tell(core, queue, p.at, &actions.over(range), on_pfp, false);
    // GFX10 runs it in the ME while the PFP waits; before, the PFP runs it.
    if on_pfp && core.generation == Generation::Gfx10_3 {
        return Ok(Flow::Block(Block::MicroEngine));
    }
    Ok(Flow::Done)
}

/// Tells observers of cache actions.
pub(crate) fn tell(
    core: &mut Core,
    queue: &Queue,
    packet: GpuAddress,
    flush: &Flush,
    on_pfp: bool,
    bottom: bool,
) {
    if flush.actions.is_empty() {
        return;
    }
    // Colour and depth blocks do not exist for compute and DMA queues.
    debug_assert!(queue.ring == Ring::Graphics || !on_pfp);
    let queue = queue.id;
    let seq = core.next_seq();
    core.emit(|| Event::Flush {
        queue,
        packet,
        actions: flush.actions.clone(),
        range: flush.range,
        on_pfp,
        bottom,
        seq,
        cost: FlushCost::default(),
        boundary: None,
    });
}
