//! Why nothing can move: every blocked wait with its values, its writers past
//! and to come, and what it comes down to.

use crate::core::{Core, standing_text};
use crate::group::Group;
use crate::queue::{Block, Queue, Seat};
use crate::scan;
use crate::wait::{Polled, ValueWait};
use std::collections::{BTreeMap, BTreeSet};
use wavefence_base::access::Engine;
use wavefence_base::stall::{PastWrite, PendingWrite};
use wavefence_base::topology::Client;
use wavefence_base::{
    BlockedWait, GpuAddress, GpuRange, QueueId, Stall, StallVerdict, StuckWork, Writer,
};
use wavefence_pm4::function;

/// Explains every blocked wait. `stuck` are the groups that cannot go on.
pub(crate) fn explain(core: &mut Core, queues: &[Queue], stuck: Vec<StuckWork>) -> Stall {
    let mut found = Vec::new();
    for queue in queues {
        for seat in [&queue.pfp, &queue.me] {
            if let Some((wait, packet)) = blocked_wait(seat) {
                found.push((describe(core, queue, seat.engine, packet, &wait), wait));
            }
        }
    }
    add_pending(core, queues, &mut found);
    let edges = edges(&found);
    let held: BTreeSet<QueueId> = found
        .iter()
        .map(|(w, _)| w.queue)
        .chain(stuck.iter().map(|s| s.queue))
        .chain(queues.iter().filter(|q| q.halted).map(|q| q.id))
        .collect();
    let waits = found
        .into_iter()
        .map(|(mut described, wait)| {
            described.verdict = value_in_l2(core, &described, &wait)
                .unwrap_or_else(|| verdict(&described, &wait, &edges, &held));
            described
        })
        .collect();
    Stall { waits, work: stuck }
}

fn blocked_wait(seat: &Seat) -> Option<(ValueWait, GpuAddress)> {
    match &seat.blocked {
        Some((located, Block::Value(wait))) => Some((*wait, located.at)),
        Some((located, Block::Again)) => {
            // A looping atomic: it waits for its comparand.
            let get = |f| crate::cp::field(&located.packet, f);
            let wide = get(wavefence_pm4::Field::AtomicOp) as u8 & wavefence_pm4::atomic::WIDE != 0;
            let (mask, bytes) = if wide { (u64::MAX, 8) } else { (0xFFFF_FFFF, 4) };
            let wait = ValueWait {
                polled: Polled::Memory(
                    GpuAddress(get(wavefence_pm4::Field::Addr)),
                    Client::CpDataL2,
                ),
                function: function::EQUAL,
                reference: get(wavefence_pm4::Field::Compare) & mask,
                mask,
                bytes,
                polls: None,
            };
            Some((wait, located.at))
        }
        Some((_, Block::Shaders(_) | Block::MicroEngine | Block::CpDma | Block::EndOfPipe))
        | None => None,
    }
}

fn describe(
    core: &mut Core,
    queue: &Queue,
    engine: Engine,
    packet: GpuAddress,
    wait: &ValueWait,
) -> BlockedWait {
    let mut described = BlockedWait {
        queue: queue.id,
        engine: engine.name(),
        packet,
        address: GpuAddress(0),
        allocation: None,
        function: wait.symbol(),
        wanted: wait.reference,
        mask: wait.mask,
        present: 0,
        bytes: wait.bytes,
        past: Vec::new(),
        pending: Vec::new(),
        verdict: StallVerdict::NeverWritten,
    };
    match wait.polled {
        Polled::Register(index) => {
            described.address = GpuAddress(u64::from(index) * 4);
            described.allocation = Some((format!("register {index:#x}"), 0));
            described.present = u64::from(queue.regs.get(index));
        }
        Polled::Memory(address, client) => {
            described.address = address;
            described.allocation = core.bus.describe(address);
            described.present = core.bus.poll(client, address, wait.bytes).unwrap_or(0);
            described.past = core.history.of(address).to_vec();
        }
    }
    described
}

/// The verdict on a wait whose value lies in L2, where its engine does not look.
fn value_in_l2(core: &mut Core, described: &BlockedWait, wait: &ValueWait) -> Option<StallVerdict> {
    let Polled::Memory(at, _) = wait.polled else { return None };
    let there = core.bus.peek_value(Client::CpDataL2, at, wait.bytes)?;
    if wait.holds(described.present) || !wait.holds(there) {
        return None;
    }
    let dispatch = core.bus.dirty_writer(at)?;
    let queue = core.dispatch_queues.get(dispatch.index()).copied()?;
    Some(StallVerdict::ValueInL2(Writer::Shader(queue, dispatch)))
}

/// Adds what is still to come, in one pass over each queue.
fn add_pending(core: &mut Core, queues: &[Queue], found: &mut [(BlockedWait, ValueWait)]) {
    // A register is no memory: an empty range overlaps nothing.
    let range = |(described, wait): &(BlockedWait, ValueWait)| match wait.polled {
        Polled::Memory(at, _) => GpuRange::new(at, u64::from(described.bytes)),
        Polled::Register(_) => GpuRange::new(GpuAddress(0), 0),
    };
    let wanted: Vec<GpuRange> = found.iter().map(range).collect();
    for queue in queues {
        let pending = scan::pending(core, queue, &wanted);
        for ((described, _), mut pending) in found.iter_mut().zip(pending) {
            // The waiting packet itself writes nothing before it goes on.
            pending.retain(|p| (p.queue, p.packet) != (described.queue, described.packet));
            described.pending.extend(pending);
        }
    }
}

/// True if a write that has not run might end the wait.
fn may_satisfy(write: &PendingWrite, wait: &ValueWait) -> bool {
    write.value.is_none_or(|v| wait.holds(v))
}

/// Which queues each queue's waits look to.
fn edges(found: &[(BlockedWait, ValueWait)]) -> BTreeMap<QueueId, BTreeSet<QueueId>> {
    let mut edges: BTreeMap<QueueId, BTreeSet<QueueId>> = BTreeMap::new();
    for (described, wait) in found {
        for write in described.pending.iter().filter(|w| may_satisfy(w, wait)) {
            edges.entry(described.queue).or_default().insert(write.queue);
        }
    }
    edges
}

fn verdict(
    described: &BlockedWait,
    wait: &ValueWait,
    edges: &BTreeMap<QueueId, BTreeSet<QueueId>>,
    held: &BTreeSet<QueueId>,
) -> StallVerdict {
    let hopeful: BTreeSet<QueueId> =
        described.pending.iter().filter(|w| may_satisfy(w, wait)).map(|w| w.queue).collect();
    let elsewhere = hopeful.iter().copied().find(|&q| q != described.queue);
    if elsewhere.is_some()
        && let Some(ring) = cycle(described.queue, edges)
    {
        return StallVerdict::Cycle(ring);
    }
    if let Some(queue) = elsewhere {
        // The writer has not run, so its queue is held by something.
        let queue = hopeful
            .iter()
            .copied()
            .find(|q| *q != described.queue && held.contains(q))
            .unwrap_or(queue);
        return StallVerdict::WriterBlocked(queue);
    }
    if !hopeful.is_empty() {
        return StallVerdict::BehindItself;
    }
    past_verdict(&described.past, !described.pending.is_empty(), wait)
}

/// The verdict where nothing to come can help.
fn past_verdict(past: &[PastWrite], pending: bool, wait: &ValueWait) -> StallVerdict {
    if past.iter().any(|w| !w.landed && wait.holds(w.value)) {
        return StallVerdict::WriteLost;
    }
    let landed = || past.iter().filter(|w| w.landed).map(|w| w.value);
    if landed().any(|v| wait.holds(v)) || passed(landed(), wait) {
        return StallVerdict::Overtaken;
    }
    if past.is_empty() && !pending {
        return StallVerdict::NeverWritten;
    }
    StallVerdict::NeverSatisfied
}

/// True if a counter jumped over the value that an equality waits for.
fn passed(values: impl Iterator<Item = u64>, wait: &ValueWait) -> bool {
    if wait.function != function::EQUAL {
        return false;
    }
    let mut below = false;
    for value in values {
        let masked = value & wait.mask;
        if below && masked > wait.reference {
            return true;
        }
        below |= masked < wait.reference;
    }
    false
}

/// The shortest ring of queues through `from`, in order.
fn cycle(from: QueueId, edges: &BTreeMap<QueueId, BTreeSet<QueueId>>) -> Option<Vec<QueueId>> {
    let next = |q: QueueId| edges.get(&q).into_iter().flatten().copied();
    let mut paths: Vec<Vec<QueueId>> =
        next(from).filter(|&q| q != from).map(|q| vec![from, q]).collect();
    let mut seen: BTreeSet<QueueId> = paths.iter().map(|p| p[1]).collect();
    while !paths.is_empty() {
        let mut longer = Vec::new();
        for path in paths {
            let Some(&last) = path.last() else { continue };
            for queue in next(last) {
                if queue == from {
                    return Some(path);
                }
                if seen.insert(queue) {
                    let mut path = path.clone();
                    path.push(queue);
                    longer.push(path);
                }
            }
        }
        paths = longer;
    }
    None
}

/// The report of a group that cannot go on.
pub(crate) fn stuck_work(group: &Group) -> Option<StuckWork> {
    let (wave, standing) = group.standing()?;
    let d = &group.dispatch;
    Some(StuckWork {
        queue: d.queue,
        packet: d.packet,
        dispatch: d.id,
        group: group.id,
        wave,
        at: standing_text(d, standing),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wait(function: u8, reference: u64) -> ValueWait {
        let polled = Polled::Memory(GpuAddress(0), Client::Poll);
        ValueWait { polled, function, reference, mask: 0xFF, bytes: 4, polls: None }
    }

    fn past(values: &[(u64, bool)]) -> Vec<PastWrite> {
        let write = |&(value, landed)| PastWrite { by: Writer::Host, packet: None, value, landed };
        values.iter().map(write).collect()
    }

    #[test]
    fn verdicts_by_past_writes() {
        let equal = wait(function::EQUAL, 3);
        let of = |values: &[_]| past_verdict(&past(values), false, &equal);
        assert_eq!(of(&[]), StallVerdict::NeverWritten);
        assert_eq!(of(&[(1, true)]), StallVerdict::NeverSatisfied);
        assert_eq!(of(&[(3, false)]), StallVerdict::WriteLost);
        assert_eq!(of(&[(3, true), (4, true)]), StallVerdict::Overtaken);
        assert_eq!(of(&[(2, true), (4, true)]), StallVerdict::Overtaken);
        assert_eq!(of(&[(4, true), (2, true)]), StallVerdict::NeverSatisfied);
        assert_eq!(past_verdict(&[], true, &equal), StallVerdict::NeverSatisfied);
    }

    #[test]
    fn rings_are_found_and_lines_are_not() {
        let q = QueueId;
        let edges = |list: &[(u32, u32)]| {
            let mut map: BTreeMap<QueueId, BTreeSet<QueueId>> = BTreeMap::new();
            for &(a, b) in list {
                map.entry(q(a)).or_default().insert(q(b));
            }
            map
        };
        assert_eq!(cycle(q(0), &edges(&[(0, 1), (1, 0)])), Some(vec![q(0), q(1)]));
        assert_eq!(cycle(q(0), &edges(&[(0, 1), (1, 2), (2, 0)])), Some(vec![q(0), q(1), q(2)]));
        assert_eq!(cycle(q(0), &edges(&[(0, 1), (1, 2), (2, 1)])), None);
        assert_eq!(cycle(q(0), &edges(&[(0, 0)])), None);
    }
}
