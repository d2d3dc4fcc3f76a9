//! Listens to the device: counts for the report, the trace, and how far each
//! queue got.

use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};
use wavefence_base::{Event, GpuAddress, Observer, QueueId};
use wavefence_d3d::{Call, CallRef, CommandList, Device};
use wavefence_report::{Stats, Tree, TreeState, trace};

/// What the device told so far.
#[derive(Default)]
struct State {
    stats: Stats,
    /// The GPU cycle of what is told.
    cycle: u64,
    trace: Option<Box<dyn Write + Send>>,
    trace_error: Option<std::io::Error>,
    /// Submissions in order: the queue, whether it is done, and the last packet
    /// that its executing engine took up.
    submits: Vec<(QueueId, bool, Option<GpuAddress>)>,
}

/// Keeps what the device tells; the observer holds the other end.
#[derive(Clone, Default)]
pub(super) struct Tracker {
    state: Arc<Mutex<State>>,
}

impl Tracker {
    pub(super) fn new(trace: Option<Box<dyn Write + Send>>) -> Self {
        let tracker = Self::default();
        tracker.with(|s| s.trace = trace);
        tracker
    }

    fn with<T>(&self, f: impl FnOnce(&mut State) -> T) -> T {
        // A panic while it was held is told elsewhere; the counts are still good.
        f(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// What the device is given.
    pub(super) fn observer(&self) -> Box<dyn Observer> {
        Box::new(self.clone())
    }

    /// Forgets what the device told; the trace goes on.
    pub(super) fn forget(&self) {
        self.with(|s| {
            s.stats = Stats::default();
            s.submits.clear();
        });
    }

    pub(super) fn stats(&self) -> Stats {
        self.with(|s| s.stats)
    }

    /// Ends the trace; what went wrong with it.
    pub(super) fn finish(&self) -> Option<std::io::Error> {
        self.with(|s| {
            if let Some(mut trace) = s.trace.take()
                && let Err(error) = trace.flush()
            {
                s.trace_error.get_or_insert(error);
            }
            s.trace_error.take()
        })
    }

    /// How far each queue got. `submitted` holds what was given to the device, in
    /// order. `busy` are calls whose work does not end, though their packets were taken
    /// up.
    pub(super) fn trees(
        &self,
        device: &Device,
        submitted: &[Submitted<'_>],
        busy: &[CallRef],
    ) -> Vec<Tree> {
        self.with(|s| {
            let mut queues: Vec<(QueueId, Tree)> = Vec::new();
            // The device numbers submissions of each queue in order; lists without
            // packets make none.
            let mut taken = vec![false; s.submits.len()];
            for item in submitted {
                let queue = item.queue;
                let next = (0..taken.len()).find(|&i| !taken[i] && s.submits[i].0 == queue);
                let progress = match next.filter(|_| !item.is_empty()) {
                    Some(i) => {
                        taken[i] = true;
                        Some((s.submits[i].1, s.submits[i].2))
                    }
                    None => None,
                };
                let tree = item.tree(device, progress, busy);
                match queues.iter_mut().find(|(q, _)| *q == queue) {
                    Some((_, root)) => root.children.push(tree),
                    None => {
                        let label = format!("queue {}", device.queue_name(queue));
                        let state = TreeState::NotStarted;
                        queues.push((queue, Tree { label, state, children: vec![tree] }));
                    }
                }
            }
            queues
                .into_iter()
                .map(|(_, mut root)| {
                    root.state = joined(&root.children);
                    root
                })
                .collect()
        })
    }
}

/// The state of a whole by its parts.
fn joined(parts: &[Tree]) -> TreeState {
    if parts.iter().all(|p| p.state == TreeState::Finished) {
        TreeState::Finished
    } else if parts.iter().all(|p| p.state == TreeState::NotStarted) {
        TreeState::NotStarted
    } else {
        TreeState::InProgress
    }
}

/// One thing given to a queue.
pub(super) struct Submitted<'a> {
    pub queue: QueueId,
    pub what: Work<'a>,
}

/// What was given.
pub(super) enum Work<'a> {
    List(&'a CommandList),
    /// A call on the queue itself, in words.
    Queue(String),
}

impl Submitted<'_> {
    fn is_empty(&self) -> bool {
        match &self.what {
            Work::List(list) => list.words().is_empty(),
            Work::Queue(_) => false,
        }
    }

    /// `progress`: done, and the last packet taken up; `None` if the device never
    /// heard of it.
    fn tree(
        &self,
        device: &Device,
        progress: Option<(bool, Option<GpuAddress>)>,
        busy: &[CallRef],
    ) -> Tree {
        let whole = match progress {
            Some((true, _)) => TreeState::Finished,
            Some((false, Some(_))) => TreeState::InProgress,
            Some((false, None)) => TreeState::NotStarted,
            None if self.is_empty() => TreeState::Finished,
            None => TreeState::NotStarted,
        };
        let list = match &self.what {
            Work::Queue(text) => {
                return Tree { label: text.clone(), state: whole, children: Vec::new() };
            }
            Work::List(list) => list,
        };
        let current = match progress {
            Some((false, Some(packet))) => device.call_at(packet).and_then(|c| c.index),
            Some(_) | None => None,
        };
        let state = |call: &Call| match (whole, current) {
            (TreeState::Finished | TreeState::NotStarted, _) => whole,
            (TreeState::InProgress, _)
                if busy.iter().any(|b| b.list == list.name() && b.index == Some(call.index)) =>
            {
                TreeState::InProgress
            }
            (TreeState::InProgress, Some(now)) if call.index < now => TreeState::Finished,
            (TreeState::InProgress, Some(now)) if call.index > now => TreeState::NotStarted,
            (TreeState::InProgress, _) => TreeState::InProgress,
        };
        let mut calls = list.calls().iter().filter(|c| c.name != "Close");
        let children = nest(&mut calls, &state, 0);
        Tree { label: format!("list \"{}\"", list.name()), state: whole, children }
    }
}

/// Events deeper than this are shown flat.
const MAX_DEPTH: usize = 32;

/// Calls up to the end of the event they are in, events as branches.
fn nest<'a>(
    calls: &mut impl Iterator<Item = &'a Call>,
    state: &dyn Fn(&Call) -> TreeState,
    depth: usize,
) -> Vec<Tree> {
    let mut out = Vec::new();
    while let Some(call) = calls.next() {
        match call.name {
            "BeginEvent" | "PIXBeginEvent" if depth < MAX_DEPTH => {
                let mut children: Vec<Tree> = Vec::new();
                children.extend(nest_dyn(calls, state, depth + 1));
                let state = if children.is_empty() { state(call) } else { joined(&children) };
                out.push(Tree { label: format!("\"{}\"", call.arguments), state, children });
            }
            "EndEvent" | "PIXEndEvent" if depth > 0 => return out,
            _ => {
                let arguments = &call.arguments;
                let label = if arguments.is_empty() {
                    format!("#{} {}", call.index, call.name)
                } else {
                    format!("#{} {}({arguments})", call.index, call.name)
                };
                out.push(Tree { label, state: state(call), children: Vec::new() });
            }
        }
    }
    out
}

/// Breaks the recursion of types.
fn nest_dyn<'a>(
    mut calls: &mut dyn Iterator<Item = &'a Call>,
    state: &dyn Fn(&Call) -> TreeState,
    depth: usize,
) -> Vec<Tree> {
    nest(&mut calls, state, depth)
}

impl Observer for Tracker {
    fn now(&mut self, cycle: u64) {
        self.with(|s| s.cycle = cycle);
    }

    fn event(&mut self, event: &Event) {
        self.with(|s| {
            s.count(event);
            if let Some(trace) = &mut s.trace
                && let Err(error) = writeln!(trace, "{}", trace::line(event, s.cycle))
            {
                s.trace = None;
                s.trace_error = Some(error);
            }
        });
    }
}

impl State {
    fn count(&mut self, event: &Event) {
        match event {
            Event::Submit { queue, .. } => {
                self.stats.submits += 1;
                self.submits.push((*queue, false, None));
            }
            Event::SubmitDone { queue, .. } => {
                let open = self.submits.iter_mut().find(|s| s.0 == *queue && !s.1);
                if let Some(submit) = open {
                    submit.1 = true;
                }
            }
            // The prefetch parser runs ahead; the engine behind it tells.
            Event::Packet { engine: "pfp", .. } => {}
            Event::Packet { queue, packet, .. } => {
                let open = self.submits.iter_mut().find(|s| s.0 == *queue && !s.1);
                if let Some(submit) = open {
                    submit.2 = Some(*packet);
                }
            }
            Event::DispatchBegin { groups, .. } => {
                self.stats.dispatches += 1;
                self.stats.groups += groups.iter().map(|&g| u64::from(g)).product::<u64>();
            }
            Event::WaitDone { .. } => self.stats.waits += 1,
            Event::ValueWritten { .. } => self.stats.values += 1,
            Event::Transfer { .. } => self.stats.transfers += 1,
            // Counted nowhere.
            _ => {}
        }
    }
}
