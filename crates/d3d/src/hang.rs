//! Why nothing can move, in the API's words: which call waits for what, who would
//! write it, which loop does not end and who wrote the value that keeps it going.

mod explain;

use crate::device::{Device, Went};
use crate::list::{Call, CommandList};
use crate::report::CallRef;
use crate::rules;
use explain::{explain, explain_work};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use wavefence_base::stall::{PastWrite, PendingWrite};
use wavefence_base::{
    AccessKind, BlockedWait, Finding, GpuAddress, GpuRange, LoopValue, MemoryWindow, Place,
    QueueId, QueueState, Stall, StallVerdict, StuckWork, Verdict, WorkVerdict, Writer,
};
use wavefence_gpu::CodeWrite;
use wavefence_pm4::function;

/// A write that a wait looked for.
#[derive(Clone, Debug, PartialEq)]
pub struct HangWrite {
    /// Who: a call, the host, or a shader's dispatch.
    pub by: String,
    /// The value, if it is known.
    pub value: Option<u64>,
    /// False if it was dropped (memory that is not there or not writable).
    pub landed: bool,
}

/// A blocked wait, in words.
#[derive(Clone, Debug, PartialEq)]
pub struct HangWait {
    /// The queue's name.
    pub queue: String,
    /// The engine that waits: `me`, `mec`, `pfp` or `sdma`.
    pub engine: &'static str,
    /// The call.
    pub call: CallRef,
    /// The polled address.
    pub address: GpuAddress,
    /// `allocation+offset`, if the address lies in one.
    pub place: Option<String>,
    /// The comparison, as a symbol.
    pub function: &'static str,
    /// The value waited for.
    pub wanted: u64,
    /// The value in memory.
    pub present: u64,
    /// Writes so far, oldest first.
    pub past: Vec<HangWrite>,
    /// Writes that have not run.
    pub pending: Vec<HangWrite>,
    /// What it comes down to.
    pub verdict: StallVerdict,
    /// The call to change, where it is another than the wait.
    pub culprit: String,
    /// Of a cycle: every wait of the ring with the write that stands behind the next.
    pub ring: Vec<String>,
    /// The verdict and the way out, in words.
    pub explanation: String,
}

/// One way out of a loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HangExit {
    /// What must hold, with the values of now.
    pub condition: String,
    /// `file:line`, if known.
    pub line: Option<String>,
}

/// A value in memory that keeps a loop going.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HangValue {
    /// The resource, by its name in the shader.
    pub resource: String,
    /// Where it lies.
    pub address: GpuAddress,
    /// `allocation+offset`, if it lies in one.
    pub place: Option<String>,
    /// `file:line` of the load.
    pub line: Option<String>,
    /// Its bytes.
    pub bytes: u8,
    /// What the wave reads.
    pub value: u64,
    /// What lies in memory, if that is something else.
    pub memory: Option<u64>,
    /// Who wrote it last.
    pub by: String,
}

/// A wave of a group that does not end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HangWave {
    /// Its number in the group.
    pub wave: u32,
    /// What it stands at.
    pub at: String,
    /// Lanes that run.
    pub exec: Option<u64>,
}

/// A thread group that does not end, in words.
#[derive(Clone, Debug, PartialEq)]
pub struct HangWork {
    /// The queue's name.
    pub queue: String,
    /// The dispatch.
    pub call: CallRef,
    /// The shader.
    pub shader: String,
    /// The group.
    pub group: [u32; 3],
    /// Groups of the dispatch that stand there too, this one included.
    pub count: u64,
    /// The wave that was looked at.
    pub wave: u32,
    /// The lane that was looked at.
    pub lane: u32,
    /// What the wave stands at.
    pub at: String,
    /// `file:line` of the loop.
    pub line: Option<String>,
    /// The ways out of the loop.
    pub exits: Vec<HangExit>,
    /// The values that the ways out depend on.
    pub values: Vec<HangValue>,
    /// The waves that have not ended.
    pub waves: Vec<HangWave>,
    /// Why it does not end.
    pub verdict: WorkVerdict,
    /// The call to change, where it is another than the dispatch.
    pub culprit: String,
    /// The verdict and the way out, in words.
    pub explanation: String,
}

/// An engine of a queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HangEngine {
    /// `pfp`, `me`, `mec` or `sdma`.
    pub engine: &'static str,
    /// The call it stands at, in words; empty if it has nothing to do.
    pub at: String,
    /// What it waits for there.
    pub waits_for: &'static str,
}

/// A queue where nothing can move.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HangQueue {
    /// Its name.
    pub name: String,
    /// Its engines.
    pub engines: Vec<HangEngine>,
    /// The rest, as the hardware has it.
    pub state: QueueState,
}

/// Nothing can move, or work does not end.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Hang {
    /// The waits.
    pub waits: Vec<HangWait>,
    /// The thread groups.
    pub work: Vec<HangWork>,
    /// Every queue.
    pub queues: Vec<HangQueue>,
    /// Memory around what waits poll and loops read.
    pub memory: Vec<MemoryWindow>,
}

/// Most writes that the text lists one by one.
const LISTED: usize = 4;

impl fmt::Display for Hang {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "nothing can move: {} blocked", count(self.waits.len(), "wait"))?;
        for wait in &self.waits {
            let place = wait.place.as_ref().map_or(String::new(), |p| format!(" ({p})"));
            write!(
                f,
                "\n  queue \"{}\" ({}): {}\n    waits until {}{place} {} {}; it is {}",
                wait.queue,
                wait.engine,
                wait.call,
                wait.address,
                wait.function,
                wait.wanted,
                wait.present
            )?;
            writes(f, "written so far", &wait.past)?;
            writes(f, "not yet run", &wait.pending)?;
            write!(f, "\n    {}", wait.explanation)?;
        }
        for work in &self.work {
            write!(
                f,
                "\n  queue \"{}\": {}\n    {}: {}",
                work.queue, work.call, work.at, work.explanation
            )?;
        }
        Ok(())
    }
}

fn count(n: usize, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}

fn writes(f: &mut fmt::Formatter<'_>, title: &str, list: &[HangWrite]) -> fmt::Result {
    if list.is_empty() {
        return Ok(());
    }
    let skipped = list.len().saturating_sub(LISTED);
    write!(f, "\n    {title}:")?;
    if skipped > 0 {
        write!(f, " {} earlier, then", count(skipped, "write"))?;
    }
    for (i, write) in list[skipped..].iter().enumerate() {
        let value = write.value.map_or("a timestamp".to_owned(), |v| v.to_string());
        let lost = if write.landed { "" } else { " (dropped)" };
        let comma = if i == 0 { "" } else { "," };
        write!(f, "{comma} {value} by {}{lost}", write.by)?;
    }
    Ok(())
}

/// Values that a closed list writes, kept as long as somebody has the list.
#[derive(Debug)]
pub(crate) struct RecordedList {
    id: u64,
    name: Arc<str>,
    writes: Vec<(CodeWrite, String)>,
}

/// Writes remembered per list: the first ones decide.
const KEPT: usize = 1024;

/// The closed lists of a device.
#[derive(Clone, Debug, Default)]
pub(crate) struct RecordedLists {
    lists: Arc<Mutex<Vec<Weak<RecordedList>>>>,
}

impl RecordedLists {
    /// Takes note of a list.
    pub(crate) fn add(&self, list: &CommandList) -> Arc<RecordedList> {
        let generation = list.generation();
        let writes = wavefence_gpu::writes_of(list.words(), generation, list.kind().ring());
        let spell = |write: &CodeWrite| {
            let call: Option<&Call> = CommandList::call_at(list.calls(), write.word);
            call.map_or(String::new(), |call| CommandList::spell(list.name(), call))
        };
        let writes = writes.into_iter().take(KEPT).map(|w| (w, spell(&w))).collect();
        let entry = Arc::new(RecordedList { id: list.id, name: list.name.clone(), writes });
        let mut lists = self.lists.lock().unwrap_or_else(PoisonError::into_inner);
        lists.retain(|l| l.strong_count() > 0);
        lists.push(Arc::downgrade(&entry));
        entry
    }

    /// The lists that are still held.
    fn held(&self) -> Vec<Arc<RecordedList>> {
        let lists = self.lists.lock().unwrap_or_else(PoisonError::into_inner);
        lists.iter().filter_map(Weak::upgrade).collect()
    }
}

/// A list that would end a wait, and its call.
struct Producer {
    list: Arc<str>,
    call: String,
    value: Option<u64>,
}

impl Device {
    /// A stall in words.
    pub fn hang(&self, stall: &Stall) -> Hang {
        let mut waits: Vec<HangWait> = stall.waits.iter().map(|w| self.hang_wait(w)).collect();
        for (at, wait) in stall.waits.iter().enumerate() {
            if let StallVerdict::Cycle(ring) = &wait.verdict {
                waits[at].ring = self.ring(ring, wait, &stall.waits);
            }
        }
        Hang {
            waits,
            work: stall.work.iter().map(|w| self.hang_work(w)).collect(),
            queues: stall.queues.iter().map(|q| self.hang_queue(q)).collect(),
            memory: stall.memory.clone(),
        }
    }

    /// The title says that the GPU hangs: `ReportGpuHangX`. Everything runs as far as
    /// it can; if that is to its end the claim is unfounded, which is a finding.
    pub fn report_gpu_hang_x(&mut self, reason: &str) -> Went {
        let went = self.run_only();
        if went == Went::Idle {
            let done = self.queues.iter().map(|q| format!("\"{}\"", q.name()));
            let done: Vec<String> = done.collect();
            let call = format!("ReportGpuHangX(\"{reason}\")");
            self.advice.push(Finding {
                rule: &rules::HANG_CLAIM,
                verdict: Verdict::Proven,
                place: Place::default(),
                message: format!(
                    "is unfounded: no queue is blocked and all work is done (queues {}); what \
                     the title took for a hang was slow work, or its own time-out",
                    done.join(", ")
                ),
                properties: vec![("call", call.clone()), ("reason", reason.to_owned())],
                call,
                count: 1,
            });
        }
        went
    }

    /// A wait of the host that nothing submitted can end, explained: `call` in words,
    /// and address, bytes (4 or 8), comparison (as a symbol) and value.
    pub fn host_wait(
        &self,
        call: &str,
        (address, bytes, function, wanted): (GpuAddress, u8, &'static str, u64),
    ) -> HangWait {
        let past = self.hardware.past_writes(address).to_vec();
        let present = self.peek(address, u64::from(bytes)).unwrap_or_default();
        let mut raw = [0; 8];
        raw[..present.len().min(8)].copy_from_slice(&present[..present.len().min(8)]);
        let wait = BlockedWait {
            queue: QueueId(u32::MAX),
            engine: "host",
            packet: GpuAddress(0),
            address,
            allocation: self.hardware.describe(address),
            function,
            wanted,
            mask: if bytes == 4 { 0xFFFF_FFFF } else { u64::MAX },
            present: u64::from_le_bytes(raw),
            bytes,
            verdict: match past.iter().any(|w| w.landed) {
                true => StallVerdict::NeverSatisfied,
                false => StallVerdict::NeverWritten,
            },
            past,
            pending: Vec::new(),
        };
        let host = CallRef {
            list: String::new(),
            index: None,
            call: call.to_owned(),
            markers: Vec::new(),
            text: call.to_owned(),
        };
        let told = self.hang_wait(&wait);
        let culprit = match &told.verdict {
            StallVerdict::NotSubmitted(_) => told.culprit,
            _ => call.to_owned(),
        };
        HangWait { queue: "host".into(), call: host, culprit, ..told }
    }

    fn hang_wait(&self, wait: &BlockedWait) -> HangWait {
        let names = |q| self.queue_name(q);
        let producer = match wait.verdict {
            StallVerdict::NeverWritten | StallVerdict::NeverSatisfied => self.producer(wait),
            _ => None,
        };
        let verdict = match &producer {
            Some(producer) => StallVerdict::NotSubmitted(producer.list.to_string()),
            None => wait.verdict.clone(),
        };
        let mut explanation = explain(&verdict, &names);
        let skipped = skipped(wait);
        if let Some(skipped) = &skipped {
            explanation = format!("{explanation}; {skipped}");
        }
        let mut pending: Vec<HangWrite> = wait.pending.iter().map(|w| self.pending(w)).collect();
        if let Some(Producer { list, call, value }) = &producer {
            let by = format!("{call} (list \"{list}\" was never submitted)");
            pending.push(HangWrite { by, value: *value, landed: true });
        }
        HangWait {
            queue: names(wait.queue),
            engine: wait.engine,
            call: self.call_or_packet(wait.packet),
            address: wait.address,
            place: wait.allocation.as_ref().map(|(name, offset)| format!("{name}+{offset:#x}")),
            function: wait.function,
            wanted: wait.wanted,
            present: wait.present,
            past: wait.past.iter().map(|w| self.past(w)).collect(),
            pending,
            culprit: self.culprit(wait, &verdict, producer.as_ref()),
            ring: Vec::new(),
            explanation,
            verdict,
        }
    }

    /// The call to change.
    fn culprit(
        &self,
        wait: &BlockedWait,
        verdict: &StallVerdict,
        producer: Option<&Producer>,
    ) -> String {
        let holds = |value: Option<u64>| value.is_none_or(|v| satisfies(wait, v));
        let writer = |w: &PastWrite| w.packet.map(|p| self.call_or_packet(p).to_string());
        let found = match verdict {
            StallVerdict::NotSubmitted(_) => producer.map(|p| p.call.clone()),
            StallVerdict::WriteLost => {
                wait.past.iter().find(|w| !w.landed && holds(Some(w.value))).and_then(writer)
            }
            // Who went past the value.
            StallVerdict::Overtaken => wait.past.iter().rfind(|w| w.landed).and_then(writer),
            StallVerdict::BehindItself | StallVerdict::Cycle(_) => wait
                .pending
                .iter()
                .find(|w| holds(w.value))
                .map(|w| self.call_or_packet(w.packet).to_string()),
            StallVerdict::WriterBlocked(queue) => {
                let held = wait.pending.iter().find(|w| w.queue == *queue && holds(w.value));
                held.map(|w| self.call_or_packet(w.packet).to_string())
            }
            StallVerdict::ValueInL2(Writer::Shader(..)) => {
                let by = self.checker.as_ref().and_then(|c| c.last_writer(wait.address));
                by.and_then(|side| side.packet).map(|p| self.call_or_packet(p).to_string())
            }
            _ => None,
        };
        found.unwrap_or_else(|| self.call_or_packet(wait.packet).to_string())
    }

    /// A closed list that was never submitted and would end the wait.
    fn producer(&self, wait: &BlockedWait) -> Option<Producer> {
        let range = GpuRange::new(wait.address, u64::from(wait.bytes));
        let submitted = |id: u64| self.was_executed(id);
        for list in self.recorded.held().iter().filter(|l| !submitted(l.id)) {
            for (write, call) in &list.writes {
                let whole = write.range == range;
                let value = write.value.filter(|_| whole);
                if write.range.overlaps(range) && value.is_none_or(|v| satisfies(wait, v)) {
                    let (list, call) = (list.name.clone(), call.clone());
                    return Some(Producer { list, call, value });
                }
            }
        }
        None
    }

    /// The waits of a ring, each with the write that would end it and what that stands
    /// behind.
    fn ring(&self, ring: &[QueueId], first: &BlockedWait, waits: &[BlockedWait]) -> Vec<String> {
        let mut lines = Vec::new();
        for (i, &queue) in ring.iter().enumerate() {
            let next = ring[(i + 1) % ring.len()];
            let of = |w: &&BlockedWait| w.queue == queue;
            let wait = if i == 0 { Some(first) } else { waits.iter().find(of) };
            let Some(wait) = wait else { continue };
            let call = self.call_or_packet(wait.packet);
            let place = wait
                .allocation
                .as_ref()
                .map_or(wait.address.to_string(), |(name, offset)| format!("{name}+{offset:#x}"));
            lines.push(format!(
                "\"{}\" waits at {call} until {place} {} {} (it is {})",
                self.queue_name(queue),
                wait.function,
                wait.wanted,
                wait.present
            ));
            let write = wait
                .pending
                .iter()
                .find(|w| w.queue == next && w.value.is_none_or(|v| satisfies(wait, v)));
            if let Some(write) = write {
                let value = write.value.map_or("a value".to_owned(), |v| v.to_string());
                lines.push(format!(
                    "  <- \"{}\" writes {value} there at {}, behind its own wait",
                    self.queue_name(next),
                    self.call_or_packet(write.packet)
                ));
            }
        }
        lines
    }

    fn hang_work(&self, work: &StuckWork) -> HangWork {
        let looping = work.looping.as_ref();
        let mut values: Vec<HangValue> = looping
            .map_or(&[][..], |l| &l.values)
            .iter()
            .map(|v| self.value(v, work.packet))
            .collect();
        let arguments = self.arguments(work);
        values.extend(arguments.iter().map(|v| self.value(v, work.packet)));
        let shader = self.shader_name(work.kernel).unwrap_or(&work.entry).to_owned();
        let exits = looping.map_or(&[][..], |l| &l.exits).iter();
        let exits: Vec<HangExit> = exits
            .map(|(condition, line)| HangExit { condition: condition.clone(), line: line.clone() })
            .collect();
        let call = self.call_or_packet(work.packet);
        let decides = looping.and_then(|l| l.values.first()).or(arguments.first());
        let writer = decides.and_then(|v| self.writer_call(v));
        HangWork {
            queue: self.queue_name(work.queue),
            explanation: explain_work(work, &shader, &exits, &values),
            culprit: writer.unwrap_or_else(|| call.to_string()),
            call,
            shader,
            group: work.group,
            count: work.count,
            wave: work.wave,
            lane: looping.map_or(0, |l| l.lane),
            at: work.at.clone(),
            line: looping.and_then(|l| l.line.clone()),
            exits,
            values,
            waves: work
                .waves
                .iter()
                .map(|w| HangWave { wave: w.wave, at: w.at.clone(), exec: w.exec })
                .collect(),
            verdict: work.verdict,
        }
    }

    /// The counts of an indirect dispatch that are not 1.
    fn arguments(&self, work: &StuckWork) -> Vec<LoopValue> {
        let Some((at, counts)) = work.arguments else { return Vec::new() };
        let value = |(i, count): (u64, u32)| {
            let address = at.offset(4 * i);
            LoopValue {
                resource: format!("group count {}", ["X", "Y", "Z"][i as usize]),
                line: None,
                address,
                bytes: 4,
                value: u64::from(count),
                memory: None,
                allocation: self.hardware.describe(address),
                last: self.hardware.past_writes(address).last().cloned(),
            }
        };
        (0..).zip(counts).filter(|&(_, count)| count != 1).map(value).collect()
    }

    /// `own` is the dispatch whose loop reads it.
    fn value(&self, value: &LoopValue, own: GpuAddress) -> HangValue {
        HangValue {
            resource: value.resource.clone(),
            address: value.address,
            place: value.allocation.as_ref().map(|(name, offset)| format!("{name}+{offset:#x}")),
            line: value.line.clone(),
            bytes: value.bytes,
            value: value.value,
            memory: value.memory,
            by: self.last_writer(value, own),
        }
    }

    /// Who wrote a value last, in words.
    fn last_writer(&self, value: &LoopValue, own: GpuAddress) -> String {
        match &self.checker {
            Some(checker) => match checker.last_writer(value.address) {
                Some(side) if side.packet == Some(own) && side.kind == AccessKind::Atomic => {
                    "the loop's own atomic, which keeps it as it is or counts it up".to_owned()
                }
                Some(side) => match side.packet {
                    Some(_) => self.side_text(&side),
                    None => "the host, before or between submits".to_owned(),
                },
                None => "nobody since it was allocated".to_owned(),
            },
            None => match &value.last {
                Some(write) => self.past(write).by,
                None => "a write that was not kept (checks are off)".to_owned(),
            },
        }
    }

    /// The call that wrote a value last, if a call did.
    fn writer_call(&self, value: &LoopValue) -> Option<String> {
        let packet = match &self.checker {
            Some(checker) => checker.last_writer(value.address)?.packet,
            None => value.last.as_ref()?.packet,
        };
        packet.map(|p| self.call_or_packet(p).to_string())
    }

    fn hang_queue(&self, state: &QueueState) -> HangQueue {
        let engines = state.engines.iter().map(|e| HangEngine {
            engine: e.engine,
            at: e.packet.map_or(String::new(), |p| self.call_or_packet(p).to_string()),
            waits_for: e.waits_for,
        });
        let engines = engines.collect();
        HangQueue { name: self.queue_name(state.queue), engines, state: state.clone() }
    }

    pub(crate) fn call_or_packet(&self, packet: GpuAddress) -> CallRef {
        self.call_at(packet).unwrap_or_else(|| CallRef {
            list: String::new(),
            index: None,
            call: String::new(),
            markers: Vec::new(),
            text: format!("packet at {packet}"),
        })
    }

    fn past(&self, write: &PastWrite) -> HangWrite {
        let by = match write.packet {
            Some(packet) => self.call_or_packet(packet).text,
            None => explain::writer(write.by, &|q| self.queue_name(q)),
        };
        HangWrite { by, value: Some(write.value), landed: write.landed }
    }

    fn pending(&self, write: &PendingWrite) -> HangWrite {
        let by = self.call_or_packet(write.packet).text;
        HangWrite { by, value: write.value, landed: true }
    }
}

/// True if a value would end the wait.
fn satisfies(wait: &BlockedWait, value: u64) -> bool {
    let code = (0..=6).find(|&c| function::symbol(c) == Some(wait.function));
    code.and_then(|c| function::compare(c, value, wait.mask, wait.wanted)) == Some(true)
}

/// The first value that a counter which rose step by step left out.
fn skipped(wait: &BlockedWait) -> Option<String> {
    let landed: Vec<u64> = wait.past.iter().filter(|w| w.landed).map(|w| w.value).collect();
    let &last = landed.last()?;
    let steps = landed.windows(2).all(|p| p[1] == p[0].wrapping_add(1));
    let next = last.checked_add(1)?;
    let comes = |v: u64| wait.pending.iter().any(|w| w.value == Some(v));
    // One value in a row says nothing of steps.
    if !steps || landed.len() < 2 || next > wait.wanted || comes(next) {
        return None;
    }
    Some(format!(
        "the counter rose by one as far as {last}; {next} is the first value that nobody writes"
    ))
}
