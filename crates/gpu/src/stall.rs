//! Why nothing can move: every blocked wait with its values, its writers past
//! and to come, and what it comes down to.

use crate::core::{Core, standing_text};
use crate::group::{Group, Standing};
use crate::queue::{Block, Queue, Seat};
use crate::scan;
use crate::wait::{Polled, ValueWait};
use std::collections::{BTreeMap, BTreeSet};
use wavefence_base::access::Engine;
use wavefence_base::stall::{PastWrite, PendingWrite};
use wavefence_base::topology::Client;
use wavefence_base::{
    BlockedWait, Budget, DispatchId, EngineState, GpuAddress, GpuRange, LoopValue, MemoryWindow,
    QueueId, QueueState, Stall, StallVerdict, StuckLoop, StuckWave, StuckWork, WorkVerdict, Writer,
};
use wavefence_memory::Allocation;
use wavefence_memory::port::Path;
use wavefence_pm4::{RegSpace, Ring, function, reg};
use wavefence_shader::ir::{Kernel, Label, Loc};

/// Bytes shown on each side of a polled address.
const AROUND: u64 = 64;

/// Windows of memory kept.
const WINDOWS: usize = 32;

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
    let waits: Vec<BlockedWait> = found
        .into_iter()
        .map(|(mut described, wait)| {
            described.verdict = memory_gone(core, &wait)
                .or_else(|| value_in_l2(core, &described, &wait))
                .unwrap_or_else(|| verdict(&described, &wait, &edges, &held));
            described
        })
        .collect();
    let memory = windows(core, &waits, &stuck);
    let queues = queues.iter().map(|q| state(core, q)).collect();
    Stall { waits, work: stuck, queues, memory }
}

/// The verdict on a wait whose memory is not there, or not what it was.
fn memory_gone(core: &Core, wait: &ValueWait) -> Option<StallVerdict> {
    let Polled::Memory(at, _) = wait.polled else { return None };
    let space = &core.shared.space;
    let now = space.describe(at).map(|(name, _)| name);
    let met = core.history.met(at).map(str::to_owned);
    match (met, now) {
        // What counts is what lay there when the wait began.
        (Some(was), Some(now)) => (was != now).then_some(StallVerdict::MemoryReused { was, now }),
        (None, Some(_)) => None,
        (Some(was), None) => Some(StallVerdict::MemoryFreed(was)),
        (None, None) => {
            let all = space.allocations();
            let there = |a: &&Allocation| a.range.contains(at, u64::from(wait.bytes));
            let was = all.iter().rfind(there)?;
            Some(StallVerdict::MemoryFreed(was.desc.name.clone()))
        }
    }
}

/// Memory around what is polled and read.
fn windows(core: &mut Core, waits: &[BlockedWait], work: &[StuckWork]) -> Vec<MemoryWindow> {
    let polled = waits.iter().map(|w| w.address);
    let read = work.iter().filter_map(|w| w.looping.as_ref()).flat_map(|l| &l.values);
    let mut starts: Vec<u64> = Vec::new();
    for at in polled.chain(read.map(|v| v.address)) {
        let start = (at.0 & !(AROUND - 1)).saturating_sub(AROUND);
        if !starts.contains(&start) && starts.len() < WINDOWS {
            starts.push(start);
        }
    }
    let mut windows = Vec::new();
    for start in starts {
        // As far as memory goes there, in lines of 16 bytes.
        let mut bytes = Vec::new();
        let mut first = None;
        for at in (start..start + 3 * AROUND).step_by(16) {
            let mut line = [0; 16];
            match core.bus.peek(Client::Host, GpuAddress(at), &mut line) {
                Ok(()) => {
                    first.get_or_insert(at);
                    bytes.extend(line);
                }
                Err(_) if first.is_some() => break,
                Err(_) => {}
            }
        }
        windows.extend(first.map(|at| MemoryWindow { at: GpuAddress(at), bytes }));
    }
    windows
}

fn state(core: &Core, queue: &Queue) -> QueueState {
    let engine = |seat: &Seat| EngineState {
        engine: seat.engine.name(),
        packet: seat.blocked.as_ref().map(|(located, _)| located.at),
        waits_for: match seat.blocked.as_ref().map(|(_, block)| block) {
            None => "",
            Some(Block::Value(_)) => "a value",
            Some(Block::Again) => "the comparand of an atomic",
            Some(Block::Shaders(_)) => "earlier shaders",
            Some(Block::MicroEngine) => "the ME",
            Some(Block::CpDma) => "copies",
            Some(Block::EndOfPipe) => "end-of-pipe events",
        },
    };
    let pfp = (queue.ring == Ring::Graphics).then(|| engine(&queue.pfp));
    let registers = (RegSpace::Sh.base()..=RegSpace::Sh.last()).filter_map(|index| {
        let name = reg::name(core.generation, index)?;
        let value = queue.regs.get(index);
        (value != 0).then_some((name, value))
    });
    QueueState {
        queue: queue.id,
        halted: queue.halted,
        engines: pfp.into_iter().chain([engine(&queue.me)]).collect(),
        queued: queue.fifo.len(),
        end_of_pipe: queue.end_of_pipe.len(),
        reading: queue.fetch.frames.iter().map(|f| (f.at, f.left)).collect(),
        registers: registers.collect(),
        dispatches: queue.shaders.started,
    }
}

pub(crate) fn blocked_wait(seat: &Seat) -> Option<(ValueWait, GpuAddress)> {
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

/// Groups that do not end: those that stand at the same place for the same reason
/// are one entry with a count.
pub(crate) struct StuckGroups<'a> {
    core: &'a mut Core,
    budget: Option<Budget>,
    /// Groups of each dispatch that have ended.
    ended: BTreeMap<DispatchId, u64>,
    list: Vec<StuckWork>,
}

impl<'a> StuckGroups<'a> {
    pub(crate) fn new(
        core: &'a mut Core,
        budget: Option<Budget>,
        ended: BTreeMap<DispatchId, u64>,
    ) -> Self {
        Self { core, budget, ended, list: Vec::new() }
    }

    /// Adds a group that has not ended. `endless` if the run proved that all run for
    /// ever.
    pub(crate) fn add(&mut self, group: &Group, endless: bool) {
        let Some((wave, standing)) = group.standing() else { return };
        let d = &group.dispatch;
        let at = standing_text(d, standing);
        let proof = group.proof(wave).filter(|_| endless);
        let verdict = match (proof, self.budget) {
            (Some(proof), _) => WorkVerdict::Endless { period: proof.period },
            (None, Some(budget)) => WorkVerdict::OverBudget(budget),
            (None, None) => WorkVerdict::Stuck,
        };
        let same = |w: &&mut StuckWork| {
            let kinds = [w.verdict, verdict].map(|v| std::mem::discriminant(&v));
            w.dispatch == d.id && w.at == at && kinds[0] == kinds[1]
        };
        if let Some(first) = self.list.iter_mut().find(same) {
            first.count += 1;
            return;
        }
        let waves = group.all_standing().map(|(wave, standing)| StuckWave {
            wave,
            at: standing_text(d, standing),
            exec: group.state(wave).and_then(|(w, _)| w.exec()).map(|mask| mask.0),
        });
        self.list.push(StuckWork {
            queue: d.queue,
            packet: d.packet,
            dispatch: d.id,
            kernel: d.kernel,
            group: group.id,
            wave,
            waves: waves.collect(),
            entry: d.program.kernel().entry.clone(),
            verdict,
            looping: looping(self.core, group, wave, standing),
            count: 1,
            ended: self.ended.get(&d.id).copied().unwrap_or(0),
            total: d.total,
            arguments: d.arguments.map(|at| {
                let read = |i: u64| self.core.bus.peek_value(Client::Host, at.offset(4 * i), 4);
                (at, [0, 1, 2].map(read).map(|v| v.unwrap_or(0) as u32))
            }),
            at,
        });
    }

    /// The groups.
    pub(crate) fn into_list(self) -> Vec<StuckWork> {
        self.list
    }
}

/// What keeps a wave in its loop.
fn looping(core: &mut Core, group: &Group, wave: u32, standing: Standing) -> Option<StuckLoop> {
    let Standing::Loop { .. } = standing else { return None };
    let (state, lds) = group.state(wave)?;
    let d = &group.dispatch;
    let unit = d.unit(group.cu, wave);
    let client = |path| match path {
        Path::Vector => Client::ShaderVector,
        Path::Scalar => Client::ShaderScalar,
    };
    let label = outermost(d.program.kernel(), &group.back_edges(wave))?;
    let found = state.why_looping(label, lds, &mut |path, at, out| {
        core.bus.peek_at_unit(client(path), unit, at, out)
    })?;
    let kernel = d.program.kernel();
    let line = |loc| kernel.line(Loc(loc));
    let values = found.values.into_iter().map(|load| {
        let memory = core.bus.peek_value(Client::Host, load.address, load.bytes);
        LoopValue {
            resource: load.resource,
            line: line(load.loc),
            address: load.address,
            bytes: load.bytes,
            value: load.value,
            memory: memory.filter(|&m| m != load.value),
            allocation: core.bus.describe(load.address),
            last: core.history.of(load.address).last().cloned(),
        }
    });
    Some(StuckLoop {
        values: values.collect(),
        line: line(found.loc),
        exits: found.exits.into_iter().map(|(words, loc)| (words, line(loc))).collect(),
        lane: found.lane,
    })
}

/// Of the loops whose back edges a wave took lately, the outermost: those inside it
/// end.
fn outermost(kernel: &Kernel, taken: &[Label]) -> Option<Label> {
    let loops = kernel.loops();
    let lately = loops.iter().filter(|l| taken.contains(&l.label));
    lately.min_by_key(|l| l.depth).map(|l| l.label)
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
