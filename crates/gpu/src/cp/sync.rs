//! Waits on values, and acquires.

use super::{Exec, Flow, Trouble, field, unsupported};
use crate::core::Core;
use crate::fetch::Located;
use crate::flush::{Actions, coher_range};
use crate::queue::{Block, Flush, Item, Queue};
use crate::wait::{Polled, ValueWait};
use wavefence_base::access::Engine;
use wavefence_base::topology::Client;
use wavefence_base::{CacheAction, Event, Fault, FaultKind, GpuAddress, Place, QueueId, SubmitId};
use wavefence_memory::{AccessErrorKind, LostBytes};
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
    // GFX10 runs it in the ME while the PFP waits; before, the PFP runs it.
    if engine == Engine::Pfp && core.profile.order.pfp_flush_waits.value {
        queue.send(core, Item::Acquire(Box::new(p.clone())));
        return Ok(Flow::Block(Block::MicroEngine));
    }
    acquire_now(core, queue, p, engine == Engine::Pfp);
    Ok(Flow::Done)
}

/// Its actions. `for_pfp` if the PFP runs it or waits for it.
pub(super) fn acquire_now(core: &mut Core, queue: &Queue, p: &Located, for_pfp: bool) {
    let get = |f| field(&p.packet, f);
    let mut actions = Actions::default();
    actions.coher(get(Field::Coher) as u32, core.generation);
    actions.gcr(get(Field::Gcr) as u32);
    let range = coher_range(get(Field::CoherBase), get(Field::CoherSize));
    act(core, queue.id, p.at, &actions.over(range), How { on_pfp: for_pfp, ..How::default() });
}

/// Who runs cache actions, and when.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct How {
    /// The PFP runs them or waits for them.
    pub(crate) on_pfp: bool,
    /// At the end of the pipe.
    pub(crate) bottom: bool,
    /// For the boundary of a submission.
    pub(crate) boundary: Option<SubmitId>,
}

/// Runs cache actions and tells observers.
pub(crate) fn act(core: &mut Core, queue: QueueId, packet: GpuAddress, flush: &Flush, how: How) {
    if flush.actions.is_empty() {
        return;
    }
    let (seq, cost) = core.bus.act(&flush.actions, flush.range);
    core.charge(core.timing.flushed(cost));
    let How { on_pfp, bottom, boundary } = how;
    core.emit(|| Event::Flush {
        queue,
        packet,
        actions: flush.actions.clone(),
        range: flush.range,
        on_pfp,
        bottom,
        seq,
        cost,
        boundary,
    });
    for lost in core.bus.take_lost() {
        lost_bytes(core, queue, packet, lost);
    }
}

/// Tells of dirty bytes that a line of L2, written back now or earlier, could not
/// leave in memory.
fn lost_bytes(core: &mut Core, queue: QueueId, packet: GpuAddress, lost: LostBytes) {
    let (kind, what) = match lost.kind {
        AccessErrorKind::ReadOnly => (FaultKind::WriteReadOnly, "the GPU may only read"),
        AccessErrorKind::Unmapped | AccessErrorKind::Freed | AccessErrorKind::Misaligned => {
            (FaultKind::WriteUnmapped, "was freed meanwhile")
        }
    };
    let place = Place { queue: Some(queue), packet: Some(packet), ..Place::default() };
    let detail = format!(
        "a line of L2 was written back to {:?}, memory that {what}; its bytes were dropped",
        lost.range
    );
    core.fault(Fault {
        kind,
        place,
        address: Some(lost.range.start),
        bytes: lost.range.len,
        count: 1,
        detail,
    });
}

/// What a submission does before its first packet: the host wrote before it.
pub(crate) fn submit_start(
    core: &mut Core,
    (queue, ring): (QueueId, Ring),
    submit: SubmitId,
    packet: GpuAddress,
) {
    use CacheAction as A;
    core.emit(|| Event::SubmitBegin { submit, queue });
    if ring == Ring::Sdma || !core.profile.order.submit_start.value {
        return;
    }
    let actions = vec![A::InvalidateL1, A::InvalidateL2, A::InvalidateK, A::InvalidateI];
    let how = How { boundary: Some(submit), ..How::default() };
    act(core, queue, packet, &Flush { actions, range: None }, how);
}

/// What a submission does after its last: the host reads behind it.
pub(crate) fn submit_end(core: &mut Core, queue: &Queue, submit: SubmitId, packet: GpuAddress) {
    if queue.ring == Ring::Sdma || !core.profile.order.submit_end.value {
        return;
    }
    let actions = vec![CacheAction::WritebackL2];
    let how = How { bottom: true, boundary: Some(submit), on_pfp: false };
    act(core, queue.id, packet, &Flush { actions, range: None }, how);
}

/// What the start of a command buffer does by itself.
pub(super) fn list_start(core: &mut Core, queue: &Queue, packet: GpuAddress) {
    use CacheAction as A;
    if core.profile.order.list_start.value {
        let actions = vec![A::InvalidateL1, A::InvalidateK, A::InvalidateI];
        act(core, queue.id, packet, &Flush { actions, range: None }, How::default());
    }
}
