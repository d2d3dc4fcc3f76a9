//! `wavefence offload`: tests of LLVM's offload-test-suite.
//!
//! Tests run in processes of their own (this program with a hidden word), several
//! at a time: one that does not end is ended, and one that takes its process down
//! takes no other test with it.

mod report;
mod worker;

pub use worker::{WORKER_WORD, main as worker_main};

use crate::args::{OffloadArgs, ReportFormat};
use crate::failure::Failure;
use crate::ui;
use regex::Regex;
use report::Summary;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use wavefence_scenario::offload::{self, Failed, Outcome};
use worker::{Settings, Worker};

/// Host threads that each test of a fast run has.
const FAST_THREADS: usize = 2;

/// Runs the tests; the exit code of the worst outcome.
pub fn run(args: &OffloadArgs) -> Result<u8, Failure> {
    let filter = match &args.filter {
        Some(text) => {
            let bad = |e| Failure::Input(format!("the filter is no regular expression: {e}"));
            Some(Regex::new(text).map_err(bad)?)
        }
        None => None,
    };
    let mut tests = offload::find(&args.paths).map_err(Failure::Input)?;
    if let Some(filter) = &filter {
        tests.retain(|path| filter.is_match(&path.to_string_lossy()));
    }
    if args.list {
        ui::out(&tests.iter().map(|p| format!("{}\n", p.display())).collect::<String>());
        return Ok(0);
    }
    // A path that cannot be written is told before the work, not after it.
    let mut files = Vec::new();
    for report in &args.reports {
        files.push(match &report.path {
            Some(path) => Some(crate::run::create(path)?),
            None => None,
        });
    }
    let settings = Settings {
        profile: args.profile,
        fast: args.fast.then_some(FAST_THREADS),
        wave32: args.wave == 32,
        dxc: args.dxc.clone(),
        seconds: args.time_limit,
    };
    let outcomes = all(&tests, &settings, jobs(args.jobs, tests.len()));
    let summary = Summary::new(&settings, &tests, &outcomes);
    let mut json_on_stdout = false;
    for (report, file) in args.reports.iter().zip(files) {
        let text = match report.format {
            ReportFormat::Text => summary.text(),
            ReportFormat::Json => summary.json(),
        };
        match (file, &report.path) {
            (Some(file), Some(path)) => crate::run::write(file, path, &text)?,
            _ if report.format == ReportFormat::Json => {
                json_on_stdout = true;
                ui::out(&text);
            }
            _ => {}
        }
    }
    if !json_on_stdout {
        ui::out(&summary.text());
    }
    Ok(summary.exit_code())
}

/// Processes at a time.
fn jobs(wanted: usize, tests: usize) -> usize {
    let cores = || std::thread::available_parallelism().map_or(1, usize::from);
    let jobs = if wanted == 0 { cores() } else { wanted };
    jobs.min(tests).max(1)
}

/// The outcome of each test, in their order.
fn all(tests: &[PathBuf], settings: &Settings, jobs: usize) -> Vec<Outcome> {
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<Option<Outcome>>> = Mutex::new(vec![None; tests.len()]);
    let bar = ui::bar(tests.len());
    std::thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(|| {
                let mut worker = Worker::new(settings.clone());
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(path) = tests.get(index) else { break };
                    let limit = Duration::from_secs(settings.seconds);
                    let outcome = worker.run(path, limit);
                    done.lock().unwrap_or_else(PoisonError::into_inner)[index] = Some(outcome);
                    bar.inc(1);
                }
            });
        }
    });
    bar.finish_and_clear();
    let lost = || Outcome::failed(Failed::Bug, "the test was lost");
    let done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.into_iter().map(|outcome| outcome.unwrap_or_else(lost)).collect()
}
