//! The steps of `Submit:` in order.

use super::judge::check_value;
use super::progress::{Submitted, Tracker, Work};
use super::record::Recorded;
use super::resources::World;
use super::{Context, RunError};
use crate::format::submit::{HostData, Step};
use crate::problem::{Problem, Span};
use crate::reader::At;
use wavefence_base::{GpuAddress, Limit};
use wavefence_d3d::enums::D3D12XBOX_FLUSH;
use wavefence_d3d::{Device, Ending, Fence, Queue, QueueKind};
use wavefence_report::{FaultItem, FindingItem, Hang, PrintedItem, Report, Wait};

/// What a run of the device came to.
enum Went {
    /// All work is done.
    Idle,
    /// Nothing can move; the host may help.
    Blocked,
    /// It is over: a limit or a fault to stop at.
    Over(Option<Limit>),
}

struct Stepper<'a> {
    cx: &'a Context<'a>,
    device: &'a mut Device,
    world: &'a World,
    lists: &'a [Recorded],
    tracker: &'a Tracker,
    report: &'a mut Report,
    submitted: Vec<Submitted<'a>>,
    last: Option<wavefence_d3d::Report>,
    /// A wait of the host that nothing submitted can end.
    host_wait: Option<Wait>,
}

/// Takes every step, then lets the device run to its end. Gives the limit that
/// ended it early, if one did.
pub(super) fn run(
    cx: &Context<'_>,
    device: &mut Device,
    world: &World,
    lists: &[Recorded],
    tracker: &Tracker,
    report: &mut Report,
) -> Result<Option<Limit>, RunError> {
    let submitted = Vec::new();
    let mut s = Stepper {
        cx,
        device,
        world,
        lists,
        tracker,
        report,
        submitted,
        last: None,
        host_wait: None,
    };
    let limit = s.all()?;
    s.tell();
    Ok(limit)
}

impl<'a> Stepper<'a> {
    fn all(&mut self) -> Result<Option<Limit>, RunError> {
        let cx = self.cx;
        if cx.scenario.lists.is_empty() {
            self.plain()?;
        }
        for step in &cx.scenario.submit {
            match self.step(step)? {
                Went::Idle => {}
                // The host waits for what cannot come.
                Went::Blocked => return Ok(None),
                Went::Over(limit) => return Ok(limit),
            }
        }
        match self.go() {
            Went::Idle | Went::Blocked => Ok(None),
            Went::Over(limit) => Ok(limit),
        }
    }

    /// A pipeline of the suite: its list on a compute queue.
    fn plain(&mut self) -> Result<(), RunError> {
        let at = Span::default();
        let kind = QueueKind::Compute { pipe: 0, queue: 0 };
        let queue = self.device.open_queue(kind, "compute").map_err(|e| self.cx.api(at, e))?;
        let lists = self.lists;
        for recorded in lists {
            self.execute(&queue, recorded, at)?;
        }
        Ok(())
    }

    fn execute(&mut self, queue: &Queue, recorded: &'a Recorded, at: Span) -> Result<(), RunError> {
        self.device
            .execute_command_lists(queue, &[&recorded.list])
            .map_err(|e| self.cx.api(at, e))?;
        let what = Work::List(&recorded.list);
        self.submitted.push(Submitted { queue: queue.id(), what });
        Ok(())
    }

    fn go(&mut self) -> Went {
        let report = self.device.run();
        let went = match &report.ending {
            Ending::Idle => Went::Idle,
            Ending::Hang(_) => Went::Blocked,
            Ending::Limit(limit) => Went::Over(Some(limit.clone())),
            Ending::Stopped(_) => Went::Over(None),
        };
        self.last = Some(report);
        went
    }

    /// As [`Self::go`], before the host acts: that nothing can move is no end.
    fn go_on(&mut self) -> Went {
        match self.go() {
            Went::Blocked => Went::Idle,
            went @ (Went::Idle | Went::Over(_)) => went,
        }
    }

    fn queue(&self, name: &At<String>) -> Result<Queue, RunError> {
        let missing = || self.cx.error(Problem::at(name.at, "there is no such queue"));
        self.world.queues.get(&name.value).cloned().ok_or_else(missing)
    }

    fn step(&mut self, step: &At<Step>) -> Result<Went, RunError> {
        let (cx, world) = (self.cx, self.world);
        let api = |e| cx.api(step.at, e);
        match &step.value {
            Step::Execute { queue, lists } => {
                let queue = self.queue(queue)?;
                let all = self.lists;
                for name in lists {
                    let found = all.iter().find(|l| l.list.name() == name.value);
                    let Some(recorded) = found else {
                        let problem = Problem::at(name.at, "there is no such command list");
                        return Err(cx.error(problem));
                    };
                    self.execute(&queue, recorded, name.at)?;
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
                let what = Work::Queue(text);
                self.submitted.push(Submitted { queue: queue.id(), what });
            }
            Step::QueueWait { queue, fence, value } => {
                let queue = self.queue(queue)?;
                let value = world.number(cx, value)?;
                let Some(object) = world.fences.get(&fence.value) else { return Ok(Went::Idle) };
                self.device.wait(&queue, object, value).map_err(api)?;
                let what = Work::Queue(format!("Wait(\"{}\", {value})", fence.value));
                self.submitted.push(Submitted { queue: queue.id(), what });
            }
            Step::HostWrite { address, data } => {
                if let over @ Went::Over(_) = self.go_on() {
                    return Ok(over);
                }
                let to = GpuAddress(world.number(cx, address)?);
                let bytes = bytes_of(cx, world, data)?;
                self.device.write(to, &bytes).map_err(|e| cx.api(address.at, e))?;
            }
            Step::HostWait { fence: None } => return Ok(self.go()),
            Step::HostWait { fence: Some((fence, value)) } => {
                return self.wait_for(fence, world.number(cx, value)?, step.at);
            }
            Step::HostRead(check) => {
                if let over @ Went::Over(_) = self.go_on() {
                    return Ok(over);
                }
                let check = check_value(cx, self.device, world, check, "read")?;
                self.report.checks.push(check);
            }
        }
        Ok(Went::Idle)
    }

    fn wait_for(&mut self, fence: &At<String>, value: u64, at: Span) -> Result<Went, RunError> {
        let Some(object) = self.world.fences.get(&fence.value) else { return Ok(Went::Idle) };
        let (reached, report) =
            self.device.wait_on_host(object, value).map_err(|e| self.cx.api(at, e))?;
        let went = match &report.ending {
            Ending::Limit(limit) => Went::Over(Some(limit.clone())),
            Ending::Stopped(_) => Went::Over(None),
            Ending::Idle | Ending::Hang(_) if reached => Went::Idle,
            Ending::Hang(_) => Went::Blocked,
            Ending::Idle => {
                self.host_wait = Some(host_wait(&fence.value, object, value, self.device));
                Went::Blocked
            }
        };
        self.last = Some(report);
        Ok(went)
    }

    /// Puts what the device said into the report.
    fn tell(&mut self) {
        let Some(last) = self.last.take() else { return };
        self.report.faults.extend(last.faults.iter().map(FaultItem::from));
        self.report.printed.extend(last.printed.iter().map(PrintedItem::from));
        self.report.lines_lost += last.lines_lost;
        // Advice about calls was told when they were recorded.
        let new = last.findings.iter().map(FindingItem::from);
        let old = self.report.findings.clone();
        self.report.findings.extend(new.filter(|f| !old.contains(f)));
        if let Some(hang) = last.hang() {
            let trees = self.tracker.trees(self.device, &self.submitted);
            self.report.hang = Some(Hang::new(hang, trees));
        }
        if let Some(wait) = self.host_wait.take() {
            let queues = self.tracker.trees(self.device, &self.submitted);
            self.report.hang = Some(Hang { waits: vec![wait], queues, expected: false });
        }
    }
}

/// All work is done and the fence is below what the host waits for.
fn host_wait(name: &str, fence: &Fence, value: u64, device: &Device) -> Wait {
    Wait {
        queue: "host".into(),
        engine: "host".into(),
        call: format!("SetEventOnCompletion(\"{name}\", {value})"),
        address: fence.address().to_string(),
        condition: format!("\"{name}\" >= {value}"),
        present: device.fence_value(fence).unwrap_or(0),
        past: Vec::new(),
        pending: Vec::new(),
        verdict: "never-written",
        explanation: "all work is done and nothing submitted signals this value; add a Signal \
                      before the wait, or correct the value"
            .into(),
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
