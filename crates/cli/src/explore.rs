//! `wavefence explore`.

use crate::args::{ExploreArgs, ReportArg, ReportFormat};
use crate::failure::Failure;
use crate::run::{self, Filters};
use crate::ui;
use std::cell::Cell;
use std::time::Instant;
use wavefence_report::{Outcome, Report};
use wavefence_scenario::explore::hunt::{HuntOptions, Summary};
use wavefence_scenario::explore::part::{self, Part};
use wavefence_scenario::explore::scene::Field;
use wavefence_scenario::explore::search::Shard;
use wavefence_scenario::{Scenario, load, run as runner};

/// Orders that are run unless somebody says otherwise.
const SCHEDULES: u64 = 2_000;

/// Evictions in a run, likewise.
const EVICTIONS: u32 = 1;

/// Bytes that a part of a search may have.
const MOST_PART: u64 = 256 << 20;

/// Searches; the exit code of what was found.
pub fn run(args: &ExploreArgs) -> Result<u8, Failure> {
    let (source, scenario) = run::read(&args.file)?;
    let mut options = run::options(&args.build);
    options.no_check = args.no_check || scenario.explore.check == Some(false);
    // A path that cannot be written is told before the work, not after it.
    let mut files = Vec::new();
    for report in &args.reports {
        files.push(match &report.path {
            Some(path) => Some(run::create(path)?),
            None => None,
        });
    }
    let suppressions = Filters::read(&args.suppress)?;
    let baseline = Filters::read(args.baseline.as_slice())?;
    // What fits nothing in one order may fit in another: nothing is said of it.
    let filter = |report: &mut Report| {
        suppressions.all(|list| {
            report.suppress(list);
        });
        baseline.all(|list| {
            report.know(list);
        });
    };
    let profile = runner::profile(&scenario, &options).to_string();
    let checked = if options.no_check { "check=no" } else { "check=yes" };
    let hunt = hunt(args, &scenario);
    let jobs = match args.jobs {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        jobs => jobs,
    };
    let field = Field::new(&source, &scenario, options, &filter)?;
    if let Some(report) = field.refused()? {
        return finish(args, files, &report);
    }
    let options = part::options_text(&hunt, checked);
    let summary = if args.merge.is_empty() {
        search(&field, &hunt, jobs)?
    } else {
        merge(args, &field, &profile, &options)?
    };
    if args.shard.is_some() {
        let part = Part::new(field.sum(), profile, options, hunt.shard, summary);
        return write_part(args, &part);
    }
    let report = field.report(&hunt, jobs, &summary)?;
    finish(args, files, &report)
}

fn hunt(args: &ExploreArgs, scenario: &Scenario) -> HuntOptions {
    let file = &scenario.explore;
    HuntOptions {
        strategy: args.strategy,
        seed: args.seed,
        schedules: args.schedules.or(file.schedules).unwrap_or(SCHEDULES),
        depth: args.depth,
        preemptions: args.preemptions,
        evictions: args.evictions.or(file.evictions).unwrap_or(EVICTIONS),
        steps: args.max_steps,
        shard: args.shard.unwrap_or(Shard::ALL),
        keep_going: args.keep_going,
    }
}

/// Searches, with a bar and the rate on a terminal.
fn search(field: &Field<'_>, hunt: &HuntOptions, jobs: usize) -> Result<Summary, Failure> {
    let bar = ui::bar(usize::try_from(hunt.schedules).unwrap_or(usize::MAX));
    let (start, told) = (Instant::now(), Cell::new(0));
    let tell = |runs: u64| {
        bar.inc(runs.saturating_sub(told.replace(runs)));
        let seconds = start.elapsed().as_secs_f64();
        if seconds > 0.5 {
            bar.set_message(format!("{:.0} schedules/s", runs as f64 / seconds));
        }
    };
    let summary = field.search(hunt, jobs, &tell);
    bar.finish_and_clear();
    Ok(summary?)
}

fn merge(
    args: &ExploreArgs,
    field: &Field<'_>,
    profile: &str,
    options: &str,
) -> Result<Summary, Failure> {
    let mut parts = Vec::new();
    for path in &args.merge {
        let bad = |e: String| Failure::Input(format!("{}: {e}", path.display()));
        let bytes = load::read_bytes(path, MOST_PART).map_err(bad)?;
        let part: Part = serde_json::from_slice(&bytes)
            .map_err(|e| bad(format!("it is no part that --shard wrote: {e}")))?;
        if part.options != options || part.profile != profile {
            let made = format!("{} profile={}", part.options, part.profile);
            let here = format!("{options} profile={profile}");
            return Err(bad(part::MergeError::Options { made, here }.to_string()));
        }
        parts.push(part);
    }
    part::merge(&parts, field.sum(), args.keep_going).map_err(|(place, e)| {
        let path = args.merge.get(place).map_or(String::new(), |p| p.display().to_string());
        Failure::Input(format!("{path}: {e}"))
    })
}

/// Writes a part. Its exit code says only that it was made: the whole has a verdict.
fn write_part(args: &ExploreArgs, part: &Part) -> Result<u8, Failure> {
    // Plain data with text keys: nothing in it can fail to serialise.
    let text = serde_json::to_string(part).map_err(|e| Failure::Input(e.to_string()))? + "\n";
    match &args.output {
        Some(path) => run::write(run::create(path)?, path, &text)?,
        None => ui::out(&text),
    }
    Ok(0)
}

fn finish(
    args: &ExploreArgs,
    files: Vec<Option<std::fs::File>>,
    report: &Report,
) -> Result<u8, Failure> {
    let plain = [ReportArg { format: ReportFormat::Text, path: None }];
    let (reports, files) =
        if args.reports.is_empty() { (&plain[..], vec![None]) } else { (&args.reports[..], files) };
    run::show(reports, files, report, args.max_errors)?;
    Ok(match report.outcome() {
        Outcome::Findings => args.error_exitcode,
        outcome @ (Outcome::Clean
        | Outcome::BadInput
        | Outcome::Limit
        | Outcome::Hang
        | Outcome::WrongResult) => outcome.exit_code(),
    })
}
