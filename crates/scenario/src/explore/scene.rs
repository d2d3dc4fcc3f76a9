//! A scenario as the subject of a search.

use super::driver::{Driver, Keep, Trace};
use super::hunt::{Crew, Found, Hunt, HuntOptions, Summary};
use super::replay::{Replay, sum};
use super::shrink::shrink;
use super::words::{Labels, departures};
use super::{Bad, BadKind, Handle, RunResult, Subject, hash};
use crate::format::Scenario;
use crate::format::explore::Finds;
use crate::problem::Source;
use crate::run::{Contents, Prepared, RunError, RunOptions, compile, profile};
use std::sync::{Mutex, PoisonError};
use wavefence_report::{Check, Exploration, FoundItem, Report};

/// Takes out of a report what its user wants to hear nothing of.
pub type Filter<'a> = &'a (dyn Fn(&mut Report) + Sync);

/// What a search needs to know of its scenario.
pub struct Field<'a> {
    source: &'a Source,
    scenario: &'a Scenario,
    options: RunOptions,
    filter: Filter<'a>,
    /// What kept a run from being made, where the first could be.
    error: Mutex<Option<RunError>>,
}

impl<'a> Field<'a> {
    /// A scenario with its shaders compiled.
    ///
    /// # Errors
    /// If one does not compile.
    pub fn new(
        source: &'a Source,
        scenario: &'a Scenario,
        mut options: RunOptions,
        filter: Filter<'a>,
    ) -> Result<Self, RunError> {
        options.loaded = compile(source, scenario, &options)?;
        Ok(Self { source, scenario, options, filter, error: Mutex::new(None) })
    }

    /// Sum of the scenario's text.
    pub fn sum(&self) -> u32 {
        sum(self.source.text.as_bytes())
    }

    /// The replay string of a run.
    fn replay(&self, hunt: &HuntOptions, choices: &[(u64, u32)]) -> Replay {
        Replay {
            profile: profile(self.scenario, &self.options),
            // The device's; the search's own seed is in the choices.
            seed: 0,
            scenario: self.sum(),
            most: hunt.steps,
            choices: choices.to_vec(),
        }
    }

    fn scene(&self) -> Result<Scene<'_>, RunError> {
        let mut prepared = Prepared::new(self.source, self.scenario, &self.options, None)?;
        prepared.keep_start()?;
        Ok(Scene { field: self, prepared })
    }

    fn crew(&self, jobs: usize) -> Result<Crew<'_>, RunError> {
        let mut subjects: Vec<Box<dyn Subject + Send + '_>> = Vec::new();
        for _ in 0..jobs.max(1) {
            subjects.push(Box::new(self.scene()?));
        }
        Ok(Crew::new(subjects))
    }

    fn failed(&self) -> Result<(), RunError> {
        let mut error = self.error.lock().unwrap_or_else(PoisonError::into_inner);
        error.take().map_or(Ok(()), Err)
    }

    /// Calls that break API rules: then nothing can run, and this is the report.
    ///
    /// # Errors
    /// What keeps the scenario from running.
    pub fn refused(&self) -> Result<Option<Report>, RunError> {
        let report = self.scene()?.prepared.report()?;
        Ok((!report.errors.is_empty()).then_some(report))
    }

    /// Searches. `tell` hears the number of runs now and then.
    ///
    /// # Errors
    /// What keeps the scenario from running.
    pub fn search(
        &self,
        hunt: &HuntOptions,
        jobs: usize,
        tell: &dyn Fn(u64),
    ) -> Result<Summary, RunError> {
        let mut crew = self.crew(jobs)?;
        let summary = Hunt::run(hunt, &mut crew, tell);
        drop(crew);
        self.failed()?;
        Ok(summary)
    }

    /// The report on a search: what was found first is made small and run again, with
    /// words; else the plain order is.
    ///
    /// # Errors
    /// What keeps the scenario from running.
    pub fn report(
        &self,
        hunt: &HuntOptions,
        jobs: usize,
        summary: &Summary,
    ) -> Result<Report, RunError> {
        let first = summary.found.first();
        let choices = match first {
            Some(Found { choices, bad, .. }) => {
                let mut crew = self.crew(jobs)?;
                let small = shrink(&mut crew, choices, &bad[0], hunt.steps, hunt.evictions);
                drop(crew);
                self.failed()?;
                small
            }
            None => Vec::new(),
        };
        let replay = self.replay(hunt, &choices);
        let (mut report, words) = self.repeat(&replay)?;
        let exploration = self.exploration(hunt, summary, &replay, words);
        self.judge(summary, &exploration, &mut report);
        report.exploration = Some(exploration);
        Ok(report)
    }

    /// Runs what a replay string stands for: its report, and how it differs from the
    /// plain order.
    fn repeat(&self, replay: &Replay) -> Result<(Report, Vec<String>), RunError> {
        let handle = Handle::new(Driver::replay(replay, Keep::Offers));
        let labels = Labels::new(handle.clone());
        let options = RunOptions { labels: Some(labels.clone()), ..self.options.again() };
        let mut prepared = Prepared::new(self.source, self.scenario, &options, None)?;
        prepared.set_schedule(Some(handle.clone()));
        prepared.go()?;
        let trace = handle.finish();
        let mut report = prepared.report()?;
        (self.filter)(&mut report);
        told_of_cut(&trace, &mut report);
        report.checks.retain(|c| c.passed || !only_expected(c));
        let words = departures(&trace, &labels, &prepared);
        Ok((report, words))
    }

    fn exploration(
        &self,
        hunt: &HuntOptions,
        summary: &Summary,
        replay: &Replay,
        departures: Vec<String>,
    ) -> Exploration {
        let mut bounds = Vec::new();
        if let Some(most) = hunt.preemptions {
            bounds.push(format!("held back <= {most}"));
        }
        bounds.push(format!("evictions <= {}", hunt.evictions));
        let item = |f: &Found| FoundItem {
            schedule: f.schedule,
            kind: f.bad[0].kind.name().into(),
            what: f.bad[0].key.clone(),
            replay: self.replay(hunt, &f.choices).to_string(),
        };
        let found: Vec<FoundItem> = summary.found.iter().map(item).collect();
        let finds = self.scenario.explore.finds.as_ref().map(|f| &f.value);
        let expected = finds.is_some_and(|f| {
            !summary.found.is_empty() && summary.found.iter().all(|found| is_found(f, found))
        });
        Exploration {
            strategy: hunt.strategy.name().into(),
            seed: hunt.seed,
            schedules: summary.schedules,
            repeats: summary.repeats,
            cut: summary.cut + summary.limited,
            cut_replay: summary
                .first_cut
                .as_ref()
                .map(|(_, choices)| self.replay(hunt, choices).to_string()),
            results: summary.outcomes.len() as u64,
            steps: summary.plain_steps,
            proved: summary.complete && summary.found.is_empty(),
            bounds,
            replay: (!found.is_empty()).then(|| replay.to_string()),
            found,
            departures,
            expected,
        }
    }

    /// Checks what the scenario says that a search must come to.
    fn judge(&self, summary: &Summary, exploration: &Exploration, report: &mut Report) {
        let wanted = &self.scenario.explore;
        let mut add = |name: &str, rule: String, passed: bool, why: &str| {
            let detail = if passed { Vec::new() } else { vec![why.to_owned()] };
            report.checks.push(Check { name: name.into(), rule, passed, detail });
        };
        if let Some(finds) = &wanted.finds {
            let Finds { kind, what } = &finds.value;
            let more = what.as_ref().map_or(String::new(), |w| format!(": {w}"));
            let rule = format!("{}{more}", kind.name());
            let why = match summary.found.first() {
                Some(f) => format!("found was {}: {}", f.bad[0].kind.name(), f.bad[0].key),
                None => "nothing was found".to_owned(),
            };
            add("Explore finds", rule, exploration.expected, &why);
        }
        if wanted.proves.as_ref().is_some_and(|p| p.value) {
            let why = "not every order was tried, or one goes wrong";
            add("Explore proves", "no order goes wrong".into(), exploration.proved, why);
        }
    }
}

/// True if a schedule that was found goes wrong as the scenario says.
fn is_found(finds: &Finds, found: &Found) -> bool {
    let fits = |bad: &Bad| {
        bad.kind == finds.kind && finds.what.as_ref().is_none_or(|w| bad.key.contains(w.as_str()))
    };
    found.bad.iter().any(fits)
}

/// A run that the bound on steps cut has no results.
pub fn told_of_cut(trace: &Trace, report: &mut Report) {
    if trace.cut {
        let what = format!("the run was cut after {} steps, as its schedule says", trace.steps);
        report.limit.get_or_insert(what);
    }
}

/// A scenario that is run again and again.
struct Scene<'a> {
    field: &'a Field<'a>,
    prepared: Prepared<'a>,
}

impl Scene<'_> {
    fn one(&mut self, schedule: &Handle) -> Result<RunResult, RunError> {
        self.prepared.set_schedule(Some(schedule.clone()));
        self.prepared.go()?;
        let mut report = self.prepared.report()?;
        (self.field.filter)(&mut report);
        let contents =
            if self.prepared.has_results() { self.prepared.contents()? } else { Vec::new() };
        Ok(judge(&report, &contents))
    }
}

impl Subject for Scene<'_> {
    fn run(&mut self, schedule: &Handle) -> RunResult {
        match self.one(schedule) {
            Ok(result) if schedule.ended_early() => {
                // What a run that was cut left is no result.
                RunResult { limit: result.limit, ..RunResult::default() }
            }
            Ok(result) => result,
            Err(error) => {
                let limit = Some("the scenario cannot be run".to_owned());
                let mut first = self.field.error.lock().unwrap_or_else(PoisonError::into_inner);
                first.get_or_insert(error);
                RunResult { limit, ..RunResult::default() }
            }
        }
    }
}

/// What a report comes down to. What the scenario expects is not wrong, and need not
/// come up in every order.
fn judge(report: &Report, contents: &[Contents]) -> RunResult {
    let mut bad = Vec::new();
    let mut add = |kind, key| bad.push(Bad { kind, key });
    if let Some(hang) = report.hang.as_ref().filter(|h| !h.expected) {
        for wait in &hang.waits {
            add(BadKind::Hang, format!("queue {}: {} ({})", wait.queue, wait.call, wait.verdict));
        }
        if hang.waits.is_empty() {
            add(BadKind::Hang, "work that never ends".into());
        }
    }
    for check in report.checks.iter().filter(|c| !c.passed && !only_expected(c)) {
        add(BadKind::WrongResult, format!("{}: {}", check.name, check.rule));
    }
    for fault in report.faults.iter().filter(|f| !f.expected && !f.known) {
        let call = fault.call.as_deref().unwrap_or("no call");
        let line = fault.line.as_deref().map_or(String::new(), |l| format!(" at {l}"));
        add(BadKind::Fault, format!("{}: {call}{line}", fault.kind));
    }
    let counts =
        |f: &&wavefence_report::FindingItem| !f.expected && !f.known && f.verdict != "advice";
    for finding in report.findings.iter().filter(counts) {
        add(BadKind::Finding, format!("{}: {}", finding.rule, finding.call));
    }
    bad.sort();
    bad.dedup();
    let mut text = format!("{bad:?}{:?}", report.hang.as_ref().map(|h| &h.waits)).into_bytes();
    for buffer in contents {
        text.extend(&buffer.bytes);
        text.extend(buffer.counters.iter().flat_map(|c| c.to_le_bytes()));
    }
    let limit = report.limit.clone();
    RunResult { bad, limit, stuck: report.hang.is_some(), digest: hash(&text) }
}

/// True for checks that only say that something expected has come up.
fn only_expected(check: &Check) -> bool {
    check.name == "Hang" || check.name.starts_with("expected ")
}
