//! The command processors: how PFP, ME, MEC and SDMA engines take turns at a
//! queue's packets. What a packet does stands in the sibling modules.

pub(crate) mod buffer;
pub(crate) mod data;
pub(crate) mod dma;
pub(crate) mod event;
pub(crate) mod exec;
pub(crate) mod launch;
pub(crate) mod pfp;
pub(crate) mod sync;

pub(crate) use launch::Launch;

use crate::core::Core;
use crate::fetch::{Fetched, Located};
use crate::mem::Access;
use crate::queue::{Block, Closing, Item, Queue};
use crate::wait::{Polled, ValueWait};
use wavefence_base::access::{Agent, Engine};
use wavefence_base::event::Level;
use wavefence_base::topology::Client;
use wavefence_base::{Event, FaultKind, GpuAddress, Limit, QueueId};
use wavefence_pm4::{Field, Packet, Ring};

/// How a packet ended.
pub(crate) enum Flow {
    /// Done; the engine goes on.
    Done,
    /// The engine stands at the packet until the block is over.
    Block(Block),
}

/// Why a packet was not executed.
pub(crate) enum Trouble {
    /// The guest's doing: reported, the packet has no effect, the queue goes on.
    Fault(FaultKind, String),
    /// This version's doing: the run ends.
    Limit(Limit),
}

/// What executing a packet gives.
pub(crate) type Exec = Result<Flow, Trouble>;

impl Trouble {
    /// A well-formed packet that asks for something that cannot be.
    pub(crate) fn command(what: impl Into<String>) -> Self {
        Self::Fault(FaultKind::BadCommand, what.into())
    }
}

/// A field's value; 0 where the packet leaves it out.
pub(crate) fn field(packet: &Packet, field: Field) -> u64 {
    packet.try_get(field).unwrap_or(0)
}

/// The access record of a packet that `engine` executes.
pub(crate) fn access(
    queue: &Queue,
    located: &Located,
    engine: Engine,
    client: Client,
) -> Access<'static> {
    Access {
        what: located.packet.name(),
        queue: Some(queue.id),
        packet: Some(located.at),
        agent: Agent::Engine { queue: queue.id, engine, packet: located.at },
        client,
    }
}

/// Refuses a packet this version does not have, with its place.
pub(crate) fn unsupported(queue: &Queue, located: &Located, what: &str) -> Trouble {
    Trouble::Limit(Limit::unsupported(format!(
        "{} at {} on {} ({}): {what} is not supported in this version",
        located.packet.name(),
        located.at,
        queue.id,
        queue.kind
    )))
}

/// One step of the queue's engine or, on the graphics queue, of both, where there
/// is no time (fast run). True if anything moved.
pub(crate) fn step(core: &mut Core, queue: &mut Queue) -> bool {
    let mut moved = false;
    if queue.ring == Ring::Graphics {
        // The PFP is faster than the ME: it gets as far ahead as it may.
        for _ in 0..core.lead.max(1) {
            if !pfp::step(core, queue) {
                break;
            }
            moved = true;
        }
    }
    moved | step_main(core, queue)
}

/// One step of the ME, MEC or SDMA engine. True if anything moved.
pub(crate) fn step_main(core: &mut Core, queue: &mut Queue) -> bool {
    let engine = queue.me.engine;
    if let Some((located, block)) = queue.me.blocked.take() {
        match poll_again(core, queue, &located, block, engine) {
            Polling::Over => return true,
            Polling::Waiting(block, moved) => {
                queue.me.blocked = Some((located, block));
                return moved;
            }
            Polling::Again => {
                let result = run(core, queue, &located, engine);
                queue.me.blocked = settle(core, queue, located, result, engine);
                // Trying again moves nothing by itself.
                return queue.me.blocked.is_none();
            }
        }
    }
    // A halted queue fetches no more, but its ME still does what it was sent.
    let halted = queue.halted && queue.ring != Ring::Graphics;
    if core.ending.is_some() || halted || queue.shaders.full() {
        return false;
    }
    let Some(item) = next_item(core, queue) else { return false };
    match item {
        Item::Packet(located) => {
            core.take_packet(queue.id, engine, located.at, located.packet.name());
            let result = run(core, queue, &located, engine);
            queue.me.blocked = settle(core, queue, located, result, engine);
        }
        Item::Launch(launch) => {
            core.take_packet(queue.id, engine, launch.packet, "DISPATCH_INDIRECT");
            match launch::launch(core, queue, &launch) {
                Ok(()) => {}
                Err(trouble) => report(core, queue.id, launch.packet, trouble),
            }
        }
        Item::Acquire(located) => sync::acquire_now(core, queue, &located, true),
        Item::SubmitEnd(submit, packet) => {
            let after = queue.shaders.started;
            queue.closing.push_back(Closing { submit, after, packet, due: None });
        }
    }
    true
}

/// What the engine does next: from the PFP, or from the queue itself.
fn next_item(core: &mut Core, queue: &mut Queue) -> Option<Item> {
    if queue.ring == Ring::Graphics {
        return queue.fifo.pop_front().map(|sent| sent.item);
    }
    match queue.fetch.next(core, queue.id, queue.ring) {
        Fetched::Packet(located) => Some(Item::Packet(located)),
        Fetched::SubmitEnd(submit, packet) => Some(Item::SubmitEnd(submit, packet)),
        Fetched::Empty => None,
        Fetched::Bad => {
            queue.halted = true;
            None
        }
    }
}

fn run(core: &mut Core, queue: &mut Queue, located: &Located, engine: Engine) -> Exec {
    match queue.ring {
        Ring::Graphics | Ring::Compute => exec::execute(core, queue, located, engine),
        Ring::Sdma => crate::sdma::execute(core, queue, located),
    }
}

/// Reports trouble, and gives what the engine now stands at.
pub(crate) fn settle(
    core: &mut Core,
    queue: &mut Queue,
    located: Box<Located>,
    result: Exec,
    engine: Engine,
) -> Option<(Box<Located>, Block)> {
    match result {
        Ok(Flow::Done) => None,
        Ok(Flow::Block(block)) => match first_poll(core, queue, &located, block, engine) {
            Polling::Over => None,
            Polling::Again => Some((located, Block::Again)),
            Polling::Waiting(block, _) => {
                if let Block::Value(wait) = block
                    && let Polled::Memory(address, client) = wait.polled
                {
                    let present = core.bus.poll(client, address, wait.bytes).unwrap_or(0);
                    let name = core.bus.describe(address).map(|(name, _)| name);
                    core.history.watch(address, (client, wait.bytes), present, name);
                    let (queue, packet) = (queue.id, located.at);
                    core.emit(|| Event::WaitBlocked { queue, packet, address });
                }
                Some((located, block))
            }
        },
        Err(trouble) => {
            let at = located.at;
            let trouble = match trouble {
                Trouble::Fault(kind, what) => {
                    let name = located.packet.name();
                    Trouble::Fault(kind, format!("{name} at {at} ({}): {what}", engine.name()))
                }
                Trouble::Limit(limit) => Trouble::Limit(limit),
            };
            report(core, queue.id, at, trouble);
            None
        }
    }
}

/// Turns trouble into a fault or the end of the run.
pub(crate) fn report(core: &mut Core, queue: QueueId, packet: GpuAddress, trouble: Trouble) {
    match trouble {
        Trouble::Fault(kind, detail) => core.packet_fault(kind, queue, packet, detail),
        Trouble::Limit(limit) => core.limit(limit),
    }
}

/// What looking at a block gave.
pub(crate) enum Polling {
    /// The engine may go on.
    Over,
    /// Not yet; true if the block itself changed (a counted poll).
    Waiting(Block, bool),
    /// The packet is to be run again.
    Again,
}

/// Looks at a block for the first time: a value read where nothing is becomes a
/// fault, once.
fn first_poll(
    core: &mut Core,
    queue: &mut Queue,
    located: &Located,
    block: Block,
    engine: Engine,
) -> Polling {
    if let Block::Value(wait) = &block
        && let Polled::Memory(address, client) = wait.polled
        && let Err(e) = core.bus.poll(client, address, wait.bytes)
    {
        core.refused(&access(queue, located, engine, client), &e);
    }
    poll(core, queue, located, block, engine)
}

/// Looks at a block that an engine has stood at.
pub(crate) fn poll_again(
    core: &mut Core,
    queue: &mut Queue,
    located: &Located,
    block: Block,
    engine: Engine,
) -> Polling {
    let watched = match &block {
        Block::Value(ValueWait { polled: Polled::Memory(address, _), .. }) => Some(*address),
        Block::Value(_)
        | Block::Shaders(_)
        | Block::MicroEngine
        | Block::CpDma
        | Block::EndOfPipe
        | Block::Again => None,
    };
    let polling = poll(core, queue, located, block, engine);
    if let (Polling::Over, Some(address)) = (&polling, watched) {
        core.history.unwatch(address);
    }
    polling
}

/// Looks whether a block is over.
fn poll(
    core: &mut Core,
    queue: &mut Queue,
    located: &Located,
    block: Block,
    engine: Engine,
) -> Polling {
    let (over, level) = match &block {
        Block::Value(wait) => return poll_value(core, queue, located, *wait),
        Block::Shaders(upto) => (queue.shaders.done(*upto), Level::Accepted),
        Block::MicroEngine => (queue.micro_engine_idle(), Level::MicroEngine),
        Block::CpDma => (queue.cp_dma.is_empty(), Level::CpDma),
        Block::EndOfPipe => {
            (queue.end_of_pipe.is_empty() && queue.late.is_none(), Level::Confirmed)
        }
        Block::Again => return Polling::Again,
    };
    // What others have under way says whether it goes on.
    core.touch_queue(queue.id, true);
    if !over {
        return Polling::Waiting(block, false);
    }
    if let Block::Shaders(upto) = block {
        core.accept(queue.id, upto);
    }
    let (queue, packet) = (queue.id, located.at);
    core.emit(|| Event::Reached { queue, packet, engine, level });
    Polling::Over
}

/// Whether an engine that looked at its block now would go on, or at least count a
/// try. Changes nothing and is no access.
pub(crate) fn block_is_over(
    core: &mut Core,
    queue: &Queue,
    located: &Located,
    block: &Block,
) -> bool {
    match block {
        Block::Value(ValueWait { polls: Some(_), .. }) => true,
        Block::Value(wait) => {
            let value = match wait.polled {
                Polled::Register(_) => wait.register_value(queue),
                Polled::Memory(address, client) => core.bus.poll(client, address, wait.bytes).ok(),
            };
            wait.holds(value.unwrap_or(0))
        }
        Block::Shaders(upto) => queue.shaders.done(*upto),
        Block::MicroEngine => queue.micro_engine_idle(),
        Block::CpDma => queue.cp_dma.is_empty(),
        Block::EndOfPipe => queue.end_of_pipe.is_empty() && queue.late.is_none(),
        Block::Again => data::atomic_succeeds(core, queue, located),
    }
}

fn poll_value(
    core: &mut Core,
    queue: &mut Queue,
    located: &Located,
    mut wait: ValueWait,
) -> Polling {
    let value = match wait.polled {
        Polled::Register(_) => wait.register_value(queue).unwrap_or(0),
        Polled::Memory(address, client) => core.bus.poll(client, address, wait.bytes).unwrap_or(0),
    };
    if wait.holds(value) {
        if let Polled::Memory(address, client) = wait.polled {
            let (queue, packet) = (queue.id, located.at);
            core.emit(|| Event::WaitDone { queue, packet, address, value, client });
        }
        return Polling::Over;
    }
    let Some(polls) = wait.polls else { return Polling::Waiting(Block::Value(wait), false) };
    if polls == 0 {
        let detail = format!(
            "{} at {} gave up: {value:#x} is not {} {:#x} after its last retry",
            located.packet.name(),
            located.at,
            wait.symbol(),
            wait.reference
        );
        core.packet_fault(FaultKind::BadCommand, queue.id, located.at, detail);
        return Polling::Over;
    }
    wait.polls = Some(polls - 1);
    Polling::Waiting(Block::Value(wait), true)
}
