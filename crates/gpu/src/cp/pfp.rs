//! The prefetch parser of the graphics queue: fetches and decodes, runs what is
//! its own (`hardware/pm4.md` 6), and hands the rest to the ME.

use super::{Launch, Polling, Trouble, access, exec, field, poll_again, settle};
use crate::core::Core;
use crate::fetch::{Fetched, Located};
use crate::queue::{Item, Queue};
use wavefence_base::Event;
use wavefence_base::access::Engine;
use wavefence_base::topology::Client;
use wavefence_pm4::{Field, Kind, Packet, marker::Marker, sel};

/// One step. True if anything moved.
pub(crate) fn step(core: &mut Core, queue: &mut Queue) -> bool {
    if let Some((located, block)) = queue.pfp.blocked.take() {
        match poll_again(core, queue, &located, block, Engine::Pfp) {
            Polling::Over => return true,
            Polling::Waiting(block, moved) => {
                queue.pfp.blocked = Some((located, block));
                return moved;
            }
            Polling::Again => {
                let result = exec::execute(core, queue, &located, Engine::Pfp);
                queue.pfp.blocked = settle(core, queue, located, result, Engine::Pfp);
                return queue.pfp.blocked.is_none();
            }
        }
    }
    if full(core, queue) || queue.halted || core.ending.is_some() {
        return false;
    }
    core.charge(core.timing.prefetch);
    match queue.fetch.next(core, queue.id, queue.ring) {
        Fetched::Packet(located) => take(core, queue, located),
        Fetched::SubmitEnd(submit, packet) => {
            queue.send(core, Item::SubmitEnd(submit, packet));
        }
        Fetched::Empty => return false,
        Fetched::Bad => queue.halted = true,
    }
    true
}

/// True if it is as far ahead of the ME as it may be.
pub(crate) fn full(core: &Core, queue: &Queue) -> bool {
    match core.lead {
        0 => !queue.micro_engine_idle(),
        lead => queue.fifo.len() >= lead,
    }
}

fn take(core: &mut Core, queue: &mut Queue, located: Box<Located>) {
    if located.packet.predicate() && queue.prefetch.skipping {
        return;
    }
    match share(&located.packet) {
        Share::Drop => {}
        Share::MicroEngine => {
            let (id, packet) = (queue.id, located.at);
            core.emit(|| Event::SentOn { queue: id, packet });
            queue.send(core, Item::Packet(located));
        }
        Share::Prefetch => {
            if !keeps_apart(located.packet.kind()) {
                core.touch_queue(queue.id, true);
            }
            core.take_packet(queue.id, Engine::Pfp, located.at, located.packet.name());
            let result = exec::execute(core, queue, &located, Engine::Pfp);
            queue.pfp.blocked = settle(core, queue, located, result, Engine::Pfp);
        }
        Share::Arguments => {
            core.take_packet(queue.id, Engine::Pfp, located.at, located.packet.name());
            match read_arguments(core, queue, &located) {
                Ok(launch) => queue.send(core, Item::Launch(launch)),
                Err(trouble) => {
                    queue.pfp.blocked = settle(core, queue, located, Err(trouble), Engine::Pfp);
                }
            }
        }
    }
}

/// Reads the arguments of an indirect dispatch from the SET_BASE base.
fn read_arguments(core: &mut Core, queue: &Queue, located: &Located) -> Result<Launch, Trouble> {
    let offset = field(&located.packet, Field::DataOffset);
    let at = queue.prefetch.indirect_base.offset(offset);
    let access = access(queue, located, Engine::Pfp, Client::IndirectArguments);
    let dims = std::array::from_fn(|i| core.read(&access, at.offset(i as u64 * 4), 4) as u32);
    let initiator = field(&located.packet, Field::Initiator) as u32;
    Ok(Launch { packet: located.at, initiator, dims, arguments: Some(at) })
}

/// True for packets of the PFP that the ME has no part in: the order of the two does
/// not matter.
fn keeps_apart(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::SetBase
            | Kind::SetPredication
            | Kind::CondExec
            | Kind::IndirectBuffer
            | Kind::CondIndirectBuffer
            | Kind::Rewind
    )
}

/// Who runs a packet.
enum Share {
    /// Nobody: filler.
    Drop,
    /// The PFP.
    Prefetch,
    /// The PFP reads the arguments, the ME launches.
    Arguments,
    /// The ME.
    MicroEngine,
}

/// Packets that only the PFP has (`hardware/pm4.md` 6).
const PREFETCH: &[Kind] = &[
    Kind::SetBase,
    Kind::SetPredication,
    Kind::CondExec,
    Kind::IndirectBuffer,
    Kind::CondIndirectBuffer,
    Kind::IndirectBufferConst,
    Kind::PfpSyncMe,
    Kind::Rewind,
    Kind::IndexBase,
    Kind::IndexBufferSize,
    Kind::IndexType,
    Kind::NumInstances,
];

/// Packets that name their engine, and the value that names the PFP.
const BY_FIELD: &[(Kind, u8)] = &[
    (Kind::WriteData, sel::engine::PFP),
    (Kind::CopyData, sel::engine::PFP),
    (Kind::AtomicMem, sel::engine::PFP),
    (Kind::WaitRegMem, sel::engine::PFP),
    (Kind::WaitRegMem64, sel::engine::PFP),
    (Kind::DmaData, sel::dma_engine::PFP),
    (Kind::AcquireMem, sel::acquire_engine::PFP),
    (Kind::SurfaceSync, sel::acquire_engine::PFP),
];

fn share(packet: &Packet) -> Share {
    let kind = packet.kind();
    let bare = kind == Kind::Nop && Marker::decode(packet).is_none();
    let engine = field(packet, Field::Engine);
    let named = |&(k, pfp): &(Kind, u8)| k == kind && engine == u64::from(pfp);
    if kind == Kind::Filler || bare {
        Share::Drop
    } else if kind == Kind::DispatchIndirect {
        Share::Arguments
    } else if PREFETCH.contains(&kind) || BY_FIELD.iter().any(named) {
        Share::Prefetch
    } else {
        Share::MicroEngine
    }
}
