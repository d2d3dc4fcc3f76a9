//! Packets that decide which packets run: command buffers, predication, skips.

use super::{Exec, Flow, Trouble, access, field, sync, unsupported};
use crate::core::Core;
use crate::fetch::Located;
use crate::queue::{Block, Queue};
use crate::wait::{Polled, ValueWait};
use wavefence_base::GpuAddress;
use wavefence_base::access::Engine;
use wavefence_base::topology::Client;
use wavefence_pm4::{Field, function, sel};

/// INDIRECT_BUFFER: runs another command buffer, or goes on there.
pub(super) fn indirect_buffer(core: &mut Core, queue: &mut Queue, p: &Located) -> Exec {
    let at = GpuAddress(field(&p.packet, Field::Addr));
    let size = field(&p.packet, Field::IbSize);
    queue.fetch.call(at, size, p.packet.flag(Field::Chain)).map_err(Trouble::command)?;
    sync::list_start(core, queue, p.at);
    Ok(Flow::Done)
}

/// COND_INDIRECT_BUFFER: one of two command buffers by a 64-bit comparison.
pub(super) fn cond_indirect_buffer(
    core: &mut Core,
    queue: &mut Queue,
    p: &Located,
    engine: Engine,
) -> Exec {
    let get = |f| field(&p.packet, f);
    let otherwise = match get(Field::Mode) as u8 {
        sel::cond_mode::IF => false,
        sel::cond_mode::IF_ELSE => true,
        mode => return Err(Trouble::command(format!("mode {mode} is reserved"))),
    };
    let value =
        core.read(&access(queue, p, engine, Client::Predicate), GpuAddress(get(Field::Addr)), 8);
    let code = get(Field::Function) as u8;
    let holds = function::compare(code, value, get(Field::Mask), get(Field::Reference))
        .ok_or_else(|| Trouble::command(format!("comparison {code} is reserved")))?;
    let (at, size) = match (holds, otherwise) {
        (true, _) => (get(Field::ThenAddr), get(Field::IbSize)),
        (false, true) => (get(Field::ElseAddr), get(Field::ElseSize)),
        (false, false) => return Ok(Flow::Done),
    };
    queue.fetch.call(GpuAddress(at), size, false).map_err(Trouble::command)?;
    sync::list_start(core, queue, p.at);
    Ok(Flow::Done)
}

/// COND_EXEC: skips dwords if the dword in memory is 0.
pub(super) fn cond_exec(core: &mut Core, queue: &mut Queue, p: &Located, engine: Engine) -> Exec {
    let at = GpuAddress(field(&p.packet, Field::Addr));
    if core.read(&access(queue, p, engine, Client::Predicate), at, 4) == 0 {
        let count = field(&p.packet, Field::ExecCount);
        queue.fetch.skip(count).map_err(Trouble::command)?;
    }
    Ok(Flow::Done)
}

/// Predicates in memory: CLEAR, and the two boolean forms. A set hint or
/// CONTINUE belong to query results, which come with draws.
pub(super) fn set_predication(
    core: &mut Core,
    queue: &mut Queue,
    p: &Located,
    engine: Engine,
) -> Exec {
    let at = GpuAddress(field(&p.packet, Field::Addr));
    let bytes = match field(&p.packet, Field::PredicateOp) {
        0 => {
            queue.prefetch.skipping = false;
            return Ok(Flow::Done);
        }
        3 => 8,
        4 => 4,
        _ => return Err(unsupported(queue, p, "predication by queries")),
    };
    if p.packet.flag(Field::Continue) {
        return Err(unsupported(queue, p, "continued predication"));
    }
    let value = core.read(&access(queue, p, engine, Client::Predicate), at, bytes);
    let visible = p.packet.flag(Field::PredicateVisible);
    queue.prefetch.skipping = (value != 0) != visible;
    Ok(Flow::Done)
}

/// REWIND: waits until the packet's own VALID bit is set in memory. Nothing
/// behind it has been fetched, so there is nothing to discard.
pub(super) fn rewind(p: &Located) -> Exec {
    const VALID: u64 = 1 << 31;
    Ok(Flow::Block(Block::Value(ValueWait {
        polled: Polled::Memory(p.dword(1), Client::CommandFetch),
        function: function::EQUAL,
        reference: VALID,
        mask: VALID,
        bytes: 4,
        polls: None,
    })))
}
