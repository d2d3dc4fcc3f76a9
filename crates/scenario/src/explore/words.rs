//! How a run differs from the plain order, in words.

use super::driver::{Handle, Point, Trace};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use wavefence_base::schedule::Step;
use wavefence_base::{Event, GpuAddress, Observer, QueueId};

/// What the packets of each step were.
#[derive(Debug, Default)]
struct Heard {
    /// By step: the packet that was taken up.
    packets: BTreeMap<u64, GpuAddress>,
    /// By queue: the packets of its dispatches, in order.
    dispatches: BTreeMap<QueueId, Vec<GpuAddress>>,
}

/// Listens to one run, so that its steps can be named.
#[derive(Clone, Debug)]
pub struct Labels {
    handle: Handle,
    heard: Arc<Mutex<Heard>>,
}

impl Labels {
    /// Listens to the run under a schedule.
    pub fn new(handle: Handle) -> Self {
        Self { handle, heard: Arc::default() }
    }

    /// What the device is given.
    pub fn observer(&self) -> Box<dyn Observer> {
        Box::new(self.clone())
    }

    fn with<T>(&self, f: impl FnOnce(&mut Heard) -> T) -> T {
        // A panic while it was held is told elsewhere.
        f(&mut self.heard.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Observer for Labels {
    fn event(&mut self, event: &Event) {
        match event {
            Event::Packet { packet, .. } | Event::SentOn { packet, .. } => {
                let step = self.handle.steps().saturating_sub(1);
                self.with(|h| {
                    h.packets.entry(step).or_insert(*packet);
                });
            }
            Event::DispatchBegin { queue, packet, .. } => {
                self.with(|h| h.dispatches.entry(*queue).or_default().push(*packet));
            }
            // Others name no step.
            _ => {}
        }
    }
}

/// Names of queues and calls.
pub trait Names {
    /// A queue's name.
    fn queue(&self, queue: QueueId) -> String;
    /// The call that a packet came from.
    fn call(&self, packet: GpuAddress) -> Option<String>;
}

/// Points that a stretch may have.
struct Stretch {
    from: usize,
    /// The step that the plain order would take.
    held: Step,
    /// What was taken instead, each once.
    taken: Vec<Step>,
    points: usize,
}

/// The departures of a run, one sentence each. Its trace has every offer.
pub fn departures(trace: &Trace, labels: &Labels, names: &dyn Names) -> Vec<String> {
    let mut stretches: Vec<Stretch> = Vec::new();
    let mut out = Vec::new();
    for (at, point) in trace.points.iter().enumerate() {
        let Some((_, taken)) = point.taken.filter(|t| t.0 != 0) else { continue };
        let plain = point.steps.first().map(|(_, s)| *s);
        if let Step::Evict(class, number) = taken {
            let before = plain.map_or(String::new(), |s| {
                format!(" before {}", name(&trace.points, at, s, labels, names))
            });
            out.push((
                at,
                format!("at step {at}: cache {class:?} {number} loses its lines{before}"),
            ));
            continue;
        }
        let Some(held) = plain else { continue };
        match stretches.last_mut().filter(|s| s.held == held) {
            Some(last) => {
                last.points += 1;
                if !last.taken.contains(&taken) {
                    last.taken.push(taken);
                }
            }
            None => stretches.push(Stretch { from: at, held, taken: vec![taken], points: 1 }),
        }
    }
    for s in stretches {
        let named = |step: &Step| name(&trace.points, s.from, *step, labels, names);
        let mut first: Vec<String> = Vec::new();
        for text in s.taken.iter().map(named) {
            if !first.contains(&text) {
                first.push(text);
            }
        }
        let more = first.len().saturating_sub(3);
        first.truncate(3);
        let mut text =
            format!("at step {}: {} waits for {}", s.from, named(&s.held), first.join(", "));
        if more > 0 {
            text.push_str(&format!(" and {more} more"));
        }
        if s.points > 1 {
            text.push_str(&format!(" ({} steps)", s.points));
        }
        out.push((s.from, text));
    }
    out.sort_by_key(|(at, _)| *at);
    out.into_iter().map(|(_, text)| text).collect()
}

/// A step by the call it belongs to: for an engine that of the packet it takes up
/// next.
fn name(points: &[Point], at: usize, step: Step, labels: &Labels, names: &dyn Names) -> String {
    let next = || {
        let later = points.iter().enumerate().skip(at);
        let mut own = later.filter(|(_, p)| p.taken.is_some_and(|(_, s)| s == step));
        own.find_map(|(n, _)| labels.with(|h| h.packets.get(&(n as u64)).copied()))
    };
    let call = |packet: Option<GpuAddress>| packet.and_then(|p| names.call(p));
    let dispatch = |queue: QueueId, seq: u64| {
        let number = usize::try_from(seq).ok()?.checked_sub(1)?;
        call(labels.with(|h| h.dispatches.get(&queue)?.get(number).copied()))
    };
    let of = |queue: QueueId, call: Option<String>| {
        let queue = names.queue(queue);
        match call {
            Some(call) => format!("{call} (queue {queue})"),
            None => format!("queue {queue}"),
        }
    };
    match step {
        Step::Prefetch(q) => format!("the PFP at {}", of(q, call(next()))),
        Step::Execute(q) => of(q, call(next())),
        Step::Copy(q) => format!("a copy of {}", of(q, None)),
        Step::Launch { queue, seq } => {
            format!("the next group of {}", of(queue, dispatch(queue, seq)))
        }
        Step::Wave { queue, seq, group, wave } => {
            format!("wave {wave} of group {group} of {}", of(queue, dispatch(queue, seq)))
        }
        Step::Land { queue, seq } => {
            format!("the arrival of the stores of {}", of(queue, dispatch(queue, seq)))
        }
        Step::Late(q) => format!("a late cache action of {}", of(q, None)),
        Step::EndOfPipe(q) => format!("an end-of-pipe event of {}", of(q, None)),
        Step::Close(q) => format!("the end of a submission to {}", of(q, None)),
        Step::Evict(class, number) => format!("cache {class:?} {number}"),
        Step::Host => "the host's next step".to_owned(),
    }
}
