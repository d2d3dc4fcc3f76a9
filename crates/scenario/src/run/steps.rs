//! The steps of `Submit:` in order.

use super::judge::{Reading, check_value};
use super::progress::{Submitted, Tracker, Work};
use super::record::Recorded;
use super::resources::World;
use super::{Context, RunError};
use crate::format::submit::{HostData, Step, ValueCheck};
use crate::problem::{Problem, Span};
use crate::reader::At;
use wavefence_base::{GpuAddress, HostTurn, Limit, QueueId};
use wavefence_d3d::enums::D3D12XBOX_FLUSH;
use wavefence_d3d::{CallRef, Device, HangWait, Queue, QueueKind, Went};
use wavefence_report::{Check, FaultItem, FindingItem, Hang, PrintedItem, Report};

struct Stepper<'a> {
    cx: &'a Context<'a>,
    device: &'a mut Device,
    world: &'a World,
    lists: &'a [Recorded],
    /// A schedule chooses when the host takes its steps.
    scheduled: bool,
    taken: Taken,
}

/// Something that was given to a queue.
struct Given {
    queue: QueueId,
    what: GivenWhat,
}

enum GivenWhat {
    /// The list of that number.
    List(usize),
    /// A call on the queue itself, in words.
    Queue(String),
}

/// What the steps of a run came to.
#[derive(Default)]
pub(super) struct Taken {
    given: Vec<Given>,
    /// What the host has read on the way.
    pub checks: Vec<Check>,
    /// What ended it early.
    pub limit: Option<Limit>,
    /// Nothing could move at the end.
    blocked: bool,
    /// A wait of the host that nothing submitted can end.
    host_wait: Option<HangWait>,
}

/// Takes every step, then lets the device run to its end.
pub(super) fn run(
    cx: &Context<'_>,
    device: &mut Device,
    world: &World,
    lists: &[Recorded],
    scheduled: bool,
) -> Result<Taken, RunError> {
    let mut s = Stepper { cx, device, world, lists, scheduled, taken: Taken::default() };
    let went = s.all()?;
    let mut taken = s.taken;
    taken.blocked = went == Went::Blocked;
    if let Went::Limit(limit) = went {
        taken.limit = Some(limit);
    }
    Ok(taken)
}

impl Taken {
    /// True if it did not come to its end because something waits for ever.
    pub(super) fn hung(&self) -> bool {
        self.blocked || self.host_wait.is_some()
    }

    /// Puts what the device found and what the host has read into the report.
    pub(super) fn tell(
        &self,
        device: &Device,
        lists: &[Recorded],
        tracker: &Tracker,
        report: &mut Report,
    ) {
        let last = device.report_now();
        report.checks.extend(self.checks.iter().cloned());
        report.limit = self.limit.as_ref().map(|l| l.what.clone());
        report.faults.extend(last.faults.iter().map(FaultItem::from));
        report.printed.extend(last.printed.iter().map(PrintedItem::from));
        report.lines_lost += last.lines_lost;
        // Advice about calls was told when they were recorded.
        let new = last.findings.iter().map(FindingItem::from);
        let old = report.findings.clone();
        report.findings.extend(new.filter(|f| !old.contains(f)));
        let submitted = |given: &Given| Submitted {
            queue: given.queue,
            what: match &given.what {
                GivenWhat::List(at) => Work::List(&lists[*at].list),
                GivenWhat::Queue(text) => Work::Queue(text.clone()),
            },
        };
        let trees = || {
            let given: Vec<Submitted<'_>> = self.given.iter().map(submitted).collect();
            let work = last.hang().map_or(&[][..], |h| &h.work);
            let busy: Vec<CallRef> = work.iter().map(|w| w.call.clone()).collect();
            tracker.trees(device, &given, &busy)
        };
        if let Some(hang) = last.hang() {
            report.hang = Some(Hang::new(hang, trees()));
        }
        if let Some(wait) = &self.host_wait {
            // The host's comes on top of what holds the device up, if anything does.
            let mut hang = last.hang().cloned().unwrap_or_default();
            hang.waits.insert(0, wait.clone());
            report.hang = Some(Hang::new(&hang, trees()));
        }
    }
}

impl Stepper<'_> {
    fn all(&mut self) -> Result<Went, RunError> {
        let cx = self.cx;
        if cx.scenario.lists.is_empty() {
            self.plain()?;
        }
        for step in &cx.scenario.submit {
            match self.step(step)? {
                Went::Idle | Went::HostTurn => {}
                // The host waits for what cannot come, or it is over.
                went @ (Went::Blocked | Went::Limit(_) | Went::Stopped | Went::Enough) => {
                    return Ok(went);
                }
            }
        }
        Ok(self.device.run_only())
    }

    /// A pipeline of the suite: its list on a compute queue.
    fn plain(&mut self) -> Result<(), RunError> {
        let at = Span::default();
        let kind = QueueKind::Compute { pipe: 0, queue: 0 };
        let queue = self.device.open_queue(kind, "compute").map_err(|e| self.cx.api(at, e))?;
        for number in 0..self.lists.len() {
            self.execute(&queue, number, at)?;
        }
        Ok(())
    }

    fn execute(&mut self, queue: &Queue, number: usize, at: Span) -> Result<(), RunError> {
        self.device
            .execute_command_lists(queue, &[&self.lists[number].list])
            .map_err(|e| self.cx.api(at, e))?;
        self.give(queue, GivenWhat::List(number));
        Ok(())
    }

    fn give(&mut self, queue: &Queue, what: GivenWhat) {
        self.taken.given.push(Given { queue: queue.id(), what });
    }

    /// Runs before the host acts, or until a schedule gives it its turn: that nothing
    /// can move is no end.
    fn go_on(&mut self, turn: HostTurn) -> Went {
        self.device.set_host_turn(turn);
        let went = self.device.run_only();
        self.device.set_host_turn(HostTurn::Never);
        match went {
            Went::Blocked | Went::HostTurn => Went::Idle,
            went @ (Went::Idle | Went::Limit(_) | Went::Stopped | Went::Enough) => went,
        }
    }

    /// Before the host submits: that takes no time, but a schedule may have it wait.
    fn before_submit(&mut self) -> Went {
        if self.scheduled { self.go_on(HostTurn::First) } else { Went::Idle }
    }

    fn queue(&self, name: &At<String>) -> Result<Queue, RunError> {
        let missing = || self.cx.error(Problem::at(name.at, "there is no such queue"));
        self.world.queues.get(&name.value).cloned().ok_or_else(missing)
    }

    fn step(&mut self, step: &At<Step>) -> Result<Went, RunError> {
        let (cx, world) = (self.cx, self.world);
        let api = |e| cx.api(step.at, e);
        use Step::{Execute, QueueWait, Signal};
        if matches!(step.value, Execute { .. } | Signal { .. } | QueueWait { .. }) {
            let went = self.before_submit();
            if went != Went::Idle {
                return Ok(went);
            }
        }
        match &step.value {
            Step::Execute { queue, lists } => {
                let queue = self.queue(queue)?;
                for name in lists {
                    let found = self.lists.iter().position(|l| l.list.name() == name.value);
                    let Some(number) = found else {
                        let problem = Problem::at(name.at, "there is no such command list");
                        return Err(cx.error(problem));
                    };
                    self.execute(&queue, number, name.at)?;
                }
            }
            Step::Signal { queue, fence, value, flush } => {
                let queue = self.queue(queue)?;
                let value = world.number(cx, value)?;
                let Some(object) = world.fences.get(&fence.value) else { return Ok(Went::Idle) };
                let text = format!("Signal(\"{}\", {value})", fence.value);
                match flush {
                    None => self.device.signal(&queue, object, value).map_err(api)?,
                    Some(flags) => {
                        let bits = D3D12XBOX_FLUSH::parse(&flags.value)
                            .map_err(|e| cx.error(Problem::at(flags.at, e.to_string())))?;
                        self.device.signal_x(&queue, object, value, bits).map_err(api)?;
                    }
                }
                self.give(&queue, GivenWhat::Queue(text));
            }
            Step::QueueWait { queue, fence, value } => {
                let queue = self.queue(queue)?;
                let value = world.number(cx, value)?;
                let Some(object) = world.fences.get(&fence.value) else { return Ok(Went::Idle) };
                self.device.wait(&queue, object, value).map_err(api)?;
                let text = format!("Wait(\"{}\", {value})", fence.value);
                self.give(&queue, GivenWhat::Queue(text));
            }
            Step::HostWrite { address, data } => {
                let went = self.go_on(HostTurn::Last);
                if went != Went::Idle {
                    return Ok(went);
                }
                let to = GpuAddress(world.number(cx, address)?);
                let bytes = bytes_of(cx, world, data)?;
                self.device.write(to, &bytes).map_err(|e| cx.api(address.at, e))?;
            }
            Step::HostWait { fence: None } => return Ok(self.device.run_only()),
            Step::HostWait { fence: Some((fence, value)) } => {
                return self.wait_for(fence, world.number(cx, value)?, step.at);
            }
            Step::HostRead(check) => {
                let went = self.go_on(HostTurn::Last);
                if went != Went::Idle {
                    return Ok(went);
                }
                let how = (Reading::Access, "read");
                self.taken.checks.push(check_value(cx, self.device, world, check, how)?);
            }
            Step::HostSpin(check) => return self.spin(check),
            Step::Free { memory } => {
                let went = self.go_on(HostTurn::Last);
                if went != Went::Idle {
                    return Ok(went);
                }
                let unknown = || Problem::at(memory.at, "no entry of Memory has that name");
                let found = world.memory.get(&memory.value);
                let allocation = found.ok_or_else(|| cx.error(unknown()))?;
                self.device.free(allocation).map_err(api)?;
            }
            Step::HangClaim { reason } => return Ok(self.device.report_gpu_hang_x(reason)),
        }
        Ok(Went::Idle)
    }

    /// The host looks at memory until it holds a value.
    fn spin(&mut self, check: &ValueCheck) -> Result<Went, RunError> {
        let (cx, world) = (self.cx, self.world);
        let went = self.device.run_only();
        let address = GpuAddress(world.number(cx, &check.address)?);
        let wanted = bytes_of(cx, world, &check.value)?;
        let api = |e| cx.api(check.address.at, e);
        let bytes = wanted.len() as u64;
        let present = self.device.peek(address, bytes).map_err(api)?;
        Ok(match went {
            Went::Limit(_) | Went::Stopped | Went::Enough => went,
            Went::Idle | Went::Blocked | Went::HostTurn if present == wanted => Went::Idle,
            Went::Idle | Went::Blocked | Went::HostTurn if bytes > 8 => {
                let message = "the host looks at 4 or 8 bytes: give Value32 or Value64";
                return Err(cx.error(Problem::at(check.at, message)));
            }
            Went::Idle | Went::Blocked | Went::HostTurn => {
                let mut raw = [0; 8];
                raw[..wanted.len()].copy_from_slice(&wanted);
                let wait = (address, bytes as u8, "==", u64::from_le_bytes(raw));
                self.taken.host_wait = Some(self.device.host_wait("a loop of the host", wait));
                Went::Blocked
            }
        })
    }

    fn wait_for(&mut self, fence: &At<String>, value: u64, at: Span) -> Result<Went, RunError> {
        let Some(object) = self.world.fences.get(&fence.value) else { return Ok(Went::Idle) };
        // The wait goes on once the value is there, whatever else is under way.
        self.device.set_host_turn(HostTurn::Reached(object.address(), value));
        let went = self.device.run_only();
        self.device.set_host_turn(HostTurn::Never);
        let reached = self.device.fence_value(object).map_err(|e| self.cx.api(at, e))? >= value;
        Ok(match went {
            Went::Idle | Went::Blocked | Went::HostTurn if reached => Went::Idle,
            Went::Limit(_) | Went::Stopped | Went::Blocked | Went::Enough => went,
            Went::Idle | Went::HostTurn => {
                let call = format!("SetEventOnCompletion(\"{}\", {value})", fence.value);
                let wait = (object.address(), 8, ">=", value);
                self.taken.host_wait = Some(self.device.host_wait(&call, wait));
                Went::Blocked
            }
        })
    }
}

/// The bytes that the host writes or expects.
pub(super) fn bytes_of(
    cx: &Context<'_>,
    world: &World,
    data: &HostData,
) -> Result<Vec<u8>, RunError> {
    Ok(match data {
        HostData::Value32(expr) => world.number::<u32>(cx, expr)?.to_le_bytes().to_vec(),
        HostData::Value64(expr) => world.number::<u64>(cx, expr)?.to_le_bytes().to_vec(),
        HostData::Bytes(bytes) => bytes.clone(),
    })
}
