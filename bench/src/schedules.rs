//! How many schedules of one scenario a core makes in a second.
//!
//! Measured is what a search over orders pays for each: going back to the start, the
//! steps of the scenario with every hazard rule, and the verdict in short. The
//! scenario, `bench/schedules.yaml`, is two queues with ten commands each, dispatches
//! of one wave and what keeps them in order. At each of its
//! points one of the steps that can be taken is, at random by the schedule's number,
//! as `wavefence explore` does it. Parsing, compiling and recording are done once and
//! not measured. One thread; give it a core of its own.

use std::time::{Duration, Instant};
use wavefence_scenario::explore::Handle;
use wavefence_scenario::explore::driver::{Driver, Keep, Walk};
use wavefence_scenario::run::{Prepared, RunError, RunOptions};
use wavefence_scenario::{Problems, Source, format};

const SCENARIO: &str = include_str!("../schedules.yaml");

/// What was measured.
#[derive(Clone, Copy, Debug)]
pub struct Rate {
    /// Schedules run.
    pub schedules: u64,
    /// Steps that they took, with those of the one before.
    pub steps: u64,
    /// How long they took.
    pub time: Duration,
}

impl Rate {
    /// Schedules in a second.
    pub fn per_second(&self) -> f64 {
        self.schedules as f64 / self.time.as_secs_f64()
    }
}

fn words(problems: &Problems) -> String {
    problems.list.iter().map(|p| p.message.clone()).collect::<Vec<_>>().join("; ")
}

fn text(error: &RunError) -> String {
    match error {
        RunError::Problems(problems) => problems.iter().map(words).collect::<Vec<_>>().join("; "),
        RunError::Limit(limit) => limit.what.clone(),
    }
}

/// Makes `count` schedules.
///
/// # Errors
/// If one of them is not clean, which they all are.
pub fn schedules(count: u64) -> Result<Rate, String> {
    let source = Source::new("schedules.yaml", SCENARIO);
    let scenario = format::parse(&source).map_err(|p| words(&p))?;
    let options = RunOptions::default();
    let error = |e: RunError| text(&e);
    let mut prepared = Prepared::new(&source, &scenario, &options, None).map_err(error)?;
    prepared.keep_start().map_err(error)?;
    let mut steps = 0;
    let mut run = |number: u64| -> Result<(), String> {
        let driver = Driver::new(Walk::new(number, 0, 0), Keep::Choices, u64::MAX, 0);
        let handle = Handle::new(driver);
        prepared.set_schedule(Some(handle.clone()));
        prepared.go().map_err(error)?;
        steps += handle.steps();
        let brief = prepared.brief().map_err(error)?;
        if brief.is_clean() {
            return Ok(());
        }
        let report = prepared.report().map_err(error)?;
        Err(format!("schedule {number}: {brief:?}\n{}", report.json()))
    };
    // The first one also prepares the programs of the kernels.
    run(0)?;
    let start = Instant::now();
    for number in 1..=count {
        run(number)?;
    }
    let time = start.elapsed();
    Ok(Rate { schedules: count, steps, time })
}
