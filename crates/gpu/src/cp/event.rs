//! Events, and what they write at the end of the pipe.
//!
//! An end-of-pipe event stops no engine. It stands in a line per queue and
//! takes effect when the waves of every dispatch started before it have ended
//! (`hardware/caches.md` 3). Their stores may still be on the way, unless it asks
//! for an L2 action or for confirmation; and its value may overtake its own action.

use super::sync::How;
use super::{Exec, Flow, Trouble, field, sync, unsupported};
use crate::core::Core;
use crate::fetch::Located;
use crate::flush::{Actions, acts_on_l2, writes_back};
use crate::mem::Access;
use crate::queue::{Block, Closing, EndOfPipe, Flush, Late, Payload, Queue};
use wavefence_base::access::{Agent, Engine};
use wavefence_base::event::Level;
use wavefence_base::stall::PastWrite;
use wavefence_base::topology::Client;
use wavefence_base::{CacheAction, Event, GpuAddress, Resource, SubmitId, Writer};
use wavefence_pm4::{Field, Ring, data_sel, events, int_sel, sel};

/// EVENT_WRITE.
pub(super) fn event_write(core: &mut Core, queue: &mut Queue, p: &Located) -> Exec {
    let event = field(&p.packet, Field::EventType) as u8;
    if p.packet.try_get(Field::Addr).is_some() {
        return Err(unsupported(queue, p, &format!("event {event:#x}: queries")));
    }
    match event {
        events::CS_PARTIAL_FLUSH => Ok(Flow::Block(Block::Shaders(queue.shaders.started))),
        events::VS_PARTIAL_FLUSH | events::PS_PARTIAL_FLUSH => {
            if queue.ring == Ring::Compute {
                return Err(Trouble::command(
                    "VS and PS partial flushes do not exist on a compute queue",
                ));
            }
            // There are no draws, so there is nothing to wait for.
            Ok(Flow::Done)
        }
        events::CACHE_FLUSH
        | events::CACHE_FLUSH_AND_INV_EVENT
        | events::DB_CACHE_FLUSH_AND_INV
        | events::FLUSH_AND_INV_DB_META
        | events::FLUSH_AND_INV_CB_META
        | events::FLUSH_AND_INV_CB_PIXEL_DATA => {
            let mut actions = Actions::default();
            actions.event(event);
            sync::act(core, queue.id, p.at, &actions.over(None), How::default());
            Ok(Flow::Done)
        }
        // These order parts of the draw pipeline among themselves.
        events::CONTEXT_DONE
        | events::VGT_STREAMOUT_SYNC
        | events::SO_VGTSTREAMOUT_FLUSH
        | events::VGT_FLUSH
        | events::BREAK_BATCH => Ok(Flow::Done),
        other => Err(unsupported(queue, p, &format!("event {other:#x}"))),
    }
}

/// EVENT_WRITE_EOP and RELEASE_MEM.
pub(super) fn release(core: &Core, queue: &mut Queue, p: &Located) -> Exec {
    let get = |f| field(&p.packet, f);
    let flag = |f| p.packet.flag(f);
    let event = get(Field::EventType) as u8;
    check_index(event, get(Field::EventIndex) as u8)?;
    if flag(Field::Execute) || flag(Field::PqExeStatus) {
        return Err(unsupported(queue, p, "EXECUTE"));
    }
    let mut actions = Actions::default();
    actions.event(event);
    actions.gcr_release(get(Field::Gcr) as u32);
    actions.end_of_pipe(
        core.generation,
        flag(Field::Tcl1Action),
        flag(Field::Tcl1VolAction),
        flag(Field::TcAction),
        flag(Field::TcVolAction),
        flag(Field::TcWbAction),
    );
    let payload = payload(queue, p)?;
    let interrupt = match get(Field::IntSel) as u8 {
        int_sel::NONE | int_sel::WRITE_AFTER_CONFIRM => false,
        int_sel::INTERRUPT_ONLY if payload != Payload::None => {
            return Err(Trouble::command("INT_SEL 1 interrupts only: DATA_SEL must be 0"));
        }
        int_sel::INTERRUPT_ONLY | int_sel::INTERRUPT_AFTER_WRITE | int_sel::UNCONDITIONAL => true,
        other => return Err(unsupported(queue, p, &format!("INT_SEL {other}"))),
    };
    let confirmed = [int_sel::WRITE_AFTER_CONFIRM, int_sel::INTERRUPT_AFTER_WRITE];
    let confirm = confirmed.contains(&(get(Field::IntSel) as u8));
    push(
        queue,
        p,
        actions.over(None),
        payload,
        Ends { interrupt, confirm, wait_dma: flag(Field::WaitDma) },
    );
    Ok(Flow::Done)
}

fn check_index(event: u8, index: u8) -> Result<(), Trouble> {
    let end = [events::index::END_OF_PIPE, events::index::END_OF_SHADER];
    if !end.contains(&index) || events::index_of(event) != index {
        return Err(Trouble::command(format!(
            "event {event:#x} with index {index} is no end-of-pipe or end-of-shader event"
        )));
    }
    Ok(())
}

fn payload(queue: &Queue, p: &Located) -> Result<Payload, Trouble> {
    let get = |f| field(&p.packet, f);
    Ok(match get(Field::DataSel) as u8 {
        data_sel::NONE => Payload::None,
        data_sel::DATA_32 => Payload::Value { value: get(Field::Data) & 0xFFFF_FFFF, bytes: 4 },
        data_sel::DATA_64 => Payload::Value { value: get(Field::Data), bytes: 8 },
        data_sel::GPU_CLOCK => Payload::GpuClock,
        data_sel::SYSTEM_CLOCK => Payload::SystemClock,
        data_sel::GDS => gds(p),
        data_sel::ATOMIC_ADD_32 if queue.ring == Ring::Compute => {
            Payload::Add(get(Field::Data) as u32)
        }
        other => return Err(unsupported(queue, p, &format!("DATA_SEL {other}"))),
    })
}

/// GDS to memory: offset and number of dwords.
fn gds(p: &Located) -> Payload {
    Payload::Gds {
        offset: field(&p.packet, Field::GdsOffset) as u32,
        dwords: field(&p.packet, Field::GdsSize) as u32,
    }
}

/// EVENT_WRITE_EOS.
pub(super) fn end_of_shader(queue: &mut Queue, p: &Located) -> Exec {
    let get = |f| field(&p.packet, f);
    check_index(get(Field::EventType) as u8, get(Field::EventIndex) as u8)?;
    let payload = match get(Field::Command) as u8 {
        sel::eos_command::DATA => Payload::Value { value: get(Field::Data), bytes: 4 },
        sel::eos_command::GDS => gds(p),
        other => return Err(unsupported(queue, p, &format!("command {other}"))),
    };
    push(queue, p, Flush::default(), payload, Ends::default());
    Ok(Flow::Done)
}

/// What an event does beside its actions and its value.
#[derive(Clone, Copy, Debug, Default)]
struct Ends {
    interrupt: bool,
    confirm: bool,
    wait_dma: bool,
}

fn push(queue: &mut Queue, p: &Located, flush: Flush, payload: Payload, ends: Ends) {
    let client = match field(&p.packet, Field::DstSel) as u8 {
        sel::event_dst::L2 => Client::EndOfPipeL2,
        _ => Client::EndOfPipe,
    };
    queue.end_of_pipe.push_back(EndOfPipe {
        after: queue.shaders.started,
        packet: p.at,
        flush,
        address: GpuAddress(field(&p.packet, Field::Addr)),
        client,
        payload,
        interrupt: ends.interrupt,
        confirm: ends.confirm,
        wait_dma: ends.wait_dma,
    });
}

/// Lets end-of-pipe events and submissions finish whose work has ended, where
/// there is no time (fast run). Gives the submissions; sets `moved` if anything
/// finished.
pub(crate) fn retire(core: &mut Core, queue: &mut Queue, moved: &mut bool) -> Vec<SubmitId> {
    while queue.end_of_pipe_ready() {
        end_of_pipe(core, queue);
        *moved = true;
    }
    *moved |= finish_late(core, queue).is_some();
    let mut done = Vec::new();
    while queue.closing_ready() {
        done.extend(close(core, queue));
        *moved = true;
    }
    done
}

/// The oldest end-of-pipe event takes effect.
pub(crate) fn end_of_pipe(core: &mut Core, queue: &mut Queue) {
    if let Some(event) = queue.end_of_pipe.pop_front() {
        land(core, queue, &event);
    }
}

/// The end of the oldest submission: its stores are accepted, its actions
/// complete.
pub(crate) fn close(core: &mut Core, queue: &mut Queue) -> Option<SubmitId> {
    let Closing { submit, after, packet, .. } = queue.closing.pop_front()?;
    finish_late(core, queue);
    core.accept(queue.id, after);
    sync::submit_end(core, queue, submit, packet);
    let queue = queue.id;
    core.emit(|| Event::SubmitDone { submit, queue });
    Some(submit)
}

/// Completes the cache actions that the last event's value overtook. Gives the
/// level that they reach for work up to a dispatch's number.
pub(crate) fn finish_late(core: &mut Core, queue: &mut Queue) -> Option<(u64, Level)> {
    let late = queue.late.take()?;
    let how = How { bottom: true, ..How::default() };
    sync::act(core, queue.id, late.packet, &late.flush, how);
    Some((late.after, late.level))
}

/// What an event with L2 actions reaches once they are complete.
fn complete(event: &EndOfPipe) -> Level {
    if event.confirm { Level::Confirmed } else { Level::WrittenBack }
}

/// True if the event's value may overtake the event's own action: always before
/// GFX10; on GFX10 a write-back that nothing confirms (`hardware/caches.md` 3.2).
fn overtaken(core: &Core, event: &EndOfPipe, action: CacheAction) -> bool {
    let bare = action == CacheAction::WritebackL2 && !event.confirm;
    acts_on_l2(action) && (core.profile.order.early_end_of_pipe.value || bare)
}

/// Cycles from the end of an event's work to its effect.
pub(crate) fn time(core: &mut Core, event: &EndOfPipe) -> u64 {
    let first = |&&a: &&CacheAction| !overtaken(core, event, a);
    let actions = event.flush.actions.iter().filter(first).copied().collect();
    core.end_of_pipe_time(&Flush { actions, range: event.flush.range })
}

/// The moment an end-of-pipe event takes effect: its actions, then its value, then
/// what the value has overtaken, later.
fn land(core: &mut Core, queue: &mut Queue, event: &EndOfPipe) {
    let before = finish_late(core, queue);
    let asks_l2 = event.flush.actions.iter().any(|&a| acts_on_l2(a));
    let mut level = Level::ShadersDone;
    if asks_l2 || event.confirm {
        core.accept(queue.id, event.after);
        level = Level::Accepted;
    }
    if let Some((after, reached)) = before
        && after == event.after
    {
        // What memory has not confirmed yet, an event that confirms waits for.
        let confirmed = if event.confirm { Level::Confirmed } else { reached };
        level = level.max(reached).max(confirmed);
    }
    let (late, now): (Vec<_>, Vec<_>) =
        event.flush.actions.iter().partition(|&&a| overtaken(core, event, a));
    let range = event.flush.range;
    if asks_l2 && late.is_empty() {
        level = level.max(complete(event));
    }
    let how = How { bottom: true, ..How::default() };
    sync::act(core, queue.id, event.packet, &Flush { actions: now, range }, how);
    write_value(core, queue, event);
    let overtook = late.iter().any(|&a| writes_back(a));
    if !late.is_empty() {
        queue.late = Some(Late {
            due: core.late(),
            packet: event.packet,
            flush: Flush { actions: late, range },
            after: event.after,
            level: complete(event),
        });
    }
    let (queue, packet) = (queue.id, event.packet);
    core.emit(|| Event::EndOfPipe { queue, packet, level, overtook });
    if event.interrupt {
        core.emit(|| Event::Interrupt { queue, packet });
    }
}

fn write_value(core: &mut Core, queue: &Queue, event: &EndOfPipe) {
    let (engine, packet) = (Engine::EndOfPipe, event.packet);
    let access = Access {
        what: "end-of-pipe write",
        queue: Some(queue.id),
        packet: Some(packet),
        agent: Agent::Engine { queue: queue.id, engine, packet },
        client: event.client,
    };
    let by = Writer::Queue(queue.id);
    let at = event.address;
    match event.payload {
        Payload::None => {}
        Payload::Value { value, bytes } => {
            core.write(&access, by, at, value, bytes);
        }
        Payload::GpuClock => {
            let now = core.read_gpu_clock();
            core.write(&access, by, at, now, 8);
        }
        Payload::SystemClock => {
            let now = core.read_system_clock();
            core.write(&access, by, at, now, 8);
        }
        Payload::Gds { offset, dwords } => {
            core.touch(Resource::DataShare, false);
            for i in 0..dwords {
                let from = offset.wrapping_add(i).wrapping_mul(4);
                let Some(word) = core.shared.gds.read(from) else {
                    let detail = format!("GDS dword {offset} + {i} is outside the data share");
                    let kind = wavefence_base::FaultKind::BadCommand;
                    core.packet_fault(kind, queue.id, event.packet, detail);
                    break;
                };
                core.write(&access, by, at.offset(u64::from(i) * 4), u64::from(word), 4);
            }
        }
        Payload::Add(value) => add(core, &access, by, at, value),
    }
}

fn add(core: &mut Core, access: &Access<'_>, by: Writer, address: GpuAddress, value: u32) {
    let sum = |old: u64| u64::from((old as u32).wrapping_add(value));
    match core.bus.update(access, address, 4, sum) {
        Ok(old) => {
            let (value, packet) = (sum(old), access.packet);
            core.history.record(address, PastWrite { by, packet, value, landed: true });
            core.emit(|| Event::ValueWritten { by, packet, address, value, bytes: 4 });
        }
        Err(e) => core.refused(access, &e),
    }
}
