//! A scenario that is ready to run, once or many times.

use super::progress::Tracker;
use super::record::{self, Recorded};
use super::resources::World;
use super::steps::{self, Taken};
use super::{Contents, Context, RunError, RunOptions, folder_of, image, judge, profile};
use super::{shaders, view};
use crate::explore::Handle;
use crate::explore::words::Names;
use crate::format::Scenario;
use crate::problem::Source;
use std::io::Write;
use wavefence_base::{GpuAddress, QueueId, Schedule};
use wavefence_d3d::{Device, RunMode};
use wavefence_report::Report;

/// A scenario with its device: memory filled, shaders compiled, lists recorded.
///
/// [`Prepared::go`] runs it from there; called again, it goes back there first, which
/// costs what the run before has touched. What a run came to is told in short by
/// [`Prepared::brief`] and in full by [`Prepared::report`].
pub struct Prepared<'a> {
    cx: Context<'a>,
    device: Device,
    world: World,
    lists: Vec<Recorded>,
    tracker: Tracker,
    /// What is known before the run.
    start: Report,
    /// The device has a checkpoint at the start.
    marked: bool,
    /// Who chooses the order of the next run.
    schedule: Option<Handle>,
    /// What the last run came to.
    taken: Option<Taken>,
}

/// What a run came to, in short.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Brief {
    /// A limit of this host or version ended it.
    pub limit: bool,
    /// Something waits for ever.
    pub hang: bool,
    /// A fault, or a proven or possible hazard, was found.
    pub found: bool,
    /// A result, a value read on the way or another expectation does not hold; looked
    /// at only if nothing else is wrong.
    pub wrong: bool,
}

impl Brief {
    /// True if nothing is wrong. What a scenario expects to find is wrong here: the
    /// report says what was expected.
    pub fn is_clean(&self) -> bool {
        let Self { limit, hang, found, wrong } = *self;
        !(limit || hang || found || wrong)
    }
}

impl<'a> Prepared<'a> {
    /// Builds the device and records the lists. `trace` is where every event goes.
    ///
    /// # Errors
    /// What keeps the scenario from running; see [`RunError`].
    pub fn new(
        source: &'a Source,
        scenario: &'a Scenario,
        options: &'a RunOptions,
        trace: Option<Box<dyn Write + Send>>,
    ) -> Result<Self, RunError> {
        let tracker = Tracker::new(trace);
        let cx = Context { scenario, source, folder: folder_of(&source.name), options };
        let mut builder = Device::builder()
            .profile(profile(scenario, options))
            .stop_on_fault(options.stop_on_fault)
            .check(!options.no_check && options.fast.is_none())
            .observer(tracker.observer());
        if let Some(labels) = &options.labels {
            builder = builder.observer(labels.observer());
        }
        if let Some(limits) = options.limits {
            builder = builder.limits(limits);
        }
        if let Some(threads) = options.fast {
            builder = builder.mode(RunMode::Fast { threads });
        }
        let mut device = builder.build()?;
        let mut start = Report {
            scenario: source.name.clone(),
            profile: device.profile().name.to_string(),
            generation: device.profile().generation.value.to_string(),
            mode: if options.fast.is_some() { "fast" } else { "model" }.into(),
            ..Report::default()
        };
        let mut world = World::build(&cx, &mut device)?;
        world.pipelines = shaders::load(&cx, &mut device)?;
        start.warnings = shaders::warnings(&world.pipelines);
        world.bind(&cx, &mut device)?;
        let lists = record::lists(&cx, &mut device, &world)?;
        record::tell(&cx, &lists, &mut start);
        let schedule = options.schedule.clone();
        Ok(Self { cx, device, world, lists, tracker, start, marked: false, schedule, taken: None })
    }

    /// True if calls break API rules, so that nothing can run.
    fn is_wrong(&self) -> bool {
        self.lists.iter().any(|l| !l.errors.is_empty())
    }

    /// Takes the steps of the scenario from the start. Does nothing if calls break API
    /// rules: the report tells those.
    ///
    /// # Errors
    /// As [`run`](super::run).
    pub fn go(&mut self) -> Result<(), RunError> {
        if self.is_wrong() {
            return Ok(());
        }
        if self.taken.take().is_some() {
            self.go_back()?;
        }
        let scheduled = self.schedule.is_some();
        let schedule = self.schedule.clone().map(|s| Box::new(s) as Box<dyn Schedule>);
        self.device.set_schedule(schedule);
        let taken = steps::run(&self.cx, &mut self.device, &self.world, &self.lists, scheduled);
        // The last step is told to nobody else.
        self.device.set_schedule(None);
        let taken = taken?;
        self.taken = Some(taken);
        Ok(())
    }

    /// Has `schedule` choose the order of the runs from now on.
    pub fn set_schedule(&mut self, schedule: Option<Handle>) {
        self.schedule = schedule;
    }

    /// Says that it will run more than once; call it before the first run.
    ///
    /// # Errors
    /// If the device cannot go back.
    pub fn keep_start(&mut self) -> Result<(), RunError> {
        if !self.marked && self.taken.is_none() {
            let at = crate::problem::Span::default();
            self.device.checkpoint().map_err(|e| self.cx.api(at, e))?;
            self.marked = true;
        }
        Ok(())
    }

    fn go_back(&mut self) -> Result<(), RunError> {
        if !self.device.restore() {
            let what = "a scenario that runs again must keep its start";
            return Err(wavefence_base::Limit::unsupported(what).into());
        }
        self.tracker.forget();
        Ok(())
    }

    /// What the last run came to, in short; finding nothing wrong is quick.
    ///
    /// # Errors
    /// As [`run`](super::run).
    pub fn brief(&self) -> Result<Brief, RunError> {
        let Some(taken) = &self.taken else {
            return Ok(Brief { limit: false, hang: false, found: self.is_wrong(), wrong: false });
        };
        let mut brief = Brief {
            limit: taken.limit.is_some(),
            hang: taken.hung(),
            found: !self.device.is_clean(),
            wrong: taken.checks.iter().any(|c| !c.passed),
        };
        if brief.is_clean() {
            brief.wrong = if judge::expects_words(&self.cx) {
                self.report()?.checks.iter().any(|c| !c.passed)
            } else {
                !judge::results_hold(&self.cx, &self.device, &self.world)?
            };
        }
        Ok(brief)
    }

    /// Everything about the last run, judged.
    ///
    /// # Errors
    /// As [`run`](super::run).
    pub fn report(&self) -> Result<Report, RunError> {
        let mut report = self.start.clone();
        let Some(taken) = &self.taken else {
            judge::expect_errors(&self.cx, &mut report);
            return Ok(report);
        };
        taken.tell(&self.device, &self.lists, &self.tracker, &mut report);
        if self.has_results() {
            judge::judge(&self.cx, &self.device, &self.world, &mut report)?;
        }
        report.stats = self.tracker.stats();
        if self.start.mode == "model" {
            report.stats.set_cycles(self.device.cycles(), self.device.profile().clock_mhz.value);
        }
        Ok(report)
    }

    /// False if the run was cut short: what it left in memory is no result.
    pub fn has_results(&self) -> bool {
        self.taken.as_ref().is_some_and(|t| t.limit.is_none())
    }

    /// What every buffer holds now, in the order of the file.
    ///
    /// # Errors
    /// If a buffer is gone.
    pub fn contents(&self) -> Result<Vec<Contents>, RunError> {
        let mut all = Vec::new();
        for decl in &self.cx.scenario.buffers {
            let name = &decl.name.value;
            let api = |e| self.cx.api(decl.name.at, e);
            let bytes = match self.world.items.get(name) {
                Some(item) => view::contents(&self.device, item).map_err(api)?,
                None => Vec::new(),
            };
            let mut counters = Vec::new();
            for buffer in self.world.counters.get(name).into_iter().flatten() {
                let bytes = self.device.peek(buffer.address(), 4).map_err(api)?;
                counters.push(bytes.iter().rev().fold(0, |n, b| n << 8 | u32::from(*b)));
            }
            all.push(Contents { name: name.clone(), bytes, counters });
        }
        Ok(all)
    }

    /// Writes the images that the scenario asks for, and ends the trace.
    ///
    /// # Errors
    /// If an image cannot be read or written.
    pub fn write_outputs(&self, report: &mut Report) -> Result<(), RunError> {
        if self.has_results() {
            image::write_outputs(&self.cx, &self.device, &self.world, report)?;
        }
        if let Some(error) = self.tracker.finish() {
            report.limit.get_or_insert(format!("the trace cannot be written: {error}"));
        }
        Ok(())
    }
}

impl Names for Prepared<'_> {
    fn queue(&self, queue: QueueId) -> String {
        format!("\"{}\"", self.device.queue_name(queue))
    }

    fn call(&self, packet: GpuAddress) -> Option<String> {
        self.device.call_at(packet).map(|call| call.to_string())
    }
}
