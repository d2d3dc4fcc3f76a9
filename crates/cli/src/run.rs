//! `wavefence run`.

use crate::args::{BuildArgs, ReportArg, ReportFormat, RunArgs};
use crate::failure::Failure;
use crate::ui;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use wavefence_report::dump::Dump;
use wavefence_report::filter::{self, Suppression};
use wavefence_report::{Outcome, Report, text};
use wavefence_scenario::explore::driver::{Driver, Keep};
use wavefence_scenario::explore::scene::told_of_cut;
use wavefence_scenario::explore::{Handle, Replay, ReplayError};
use wavefence_scenario::run::RunOptions;
use wavefence_scenario::{Scenario, Source, format, load, run as runner};

/// Runs a scenario; the exit code of its outcome.
pub fn run(args: &RunArgs) -> Result<u8, Failure> {
    let (source, scenario) = read(&args.file)?;
    let mut options = options(&args.build);
    options.stop_on_fault = args.stop_on_fault;
    options.no_check = args.no_check;
    options.fast = args.fast.then(|| match args.threads {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        threads => threads,
    });
    let replay = match &args.replay {
        Some(text) => Some(replay(text, &source, &mut options)?),
        None => None,
    };
    if args.max_cycles.is_some() || args.max_instructions.is_some() {
        let mut limits = options.limits.unwrap_or_default();
        limits.max_cycles = args.max_cycles.unwrap_or(limits.max_cycles);
        limits.max_instructions = args.max_instructions.unwrap_or(limits.max_instructions);
        options.limits = Some(limits);
    }
    if let Some(path) = &args.trace {
        options.trace = Some(Box::new(BufWriter::new(create(path)?)));
    }
    // A path that cannot be written is told before the work, not after it.
    let mut files = Vec::new();
    for report in &args.reports {
        files.push(match &report.path {
            Some(path) => Some(create(path)?),
            None => None,
        });
    }
    let suppressions = Filters::read(&args.suppress)?;
    let baseline = Filters::read(args.baseline.as_slice())?;
    let mut report = runner::run(&source, &scenario, options)?;
    if let Some(handle) = &replay {
        told_of_cut(&handle.finish(), &mut report);
    }
    suppressions.each(|list| report.suppress(list), "fits nothing in this run");
    baseline.each(|list| report.know(list), "is known, but did not happen in this run");
    if let Some(path) = &args.write_baseline {
        let text = filter::write_baseline(&report);
        let bad =
            |e: std::io::Error| Failure::Input(format!("cannot write {}: {e}", path.display()));
        create(path)?.write_all(text.as_bytes()).map_err(bad)?;
        let known =
            filter::parse(&text).map_err(|e| Failure::Input(format!("{}: {e}", path.display())))?;
        report.know(&known);
    }
    if let Some(path) = &args.dump_hang
        && let Some(dump) = Dump::of(&report)
    {
        write(create(path)?, path, &(dump.json() + "\n"))?;
    }
    let plain = [ReportArg { format: ReportFormat::Text, path: None }];
    let (reports, files) =
        if args.reports.is_empty() { (&plain[..], vec![None]) } else { (&args.reports[..], files) };
    show(reports, files, &report, args.max_errors)?;
    Ok(match report.outcome() {
        Outcome::Findings => args.error_exitcode,
        outcome @ (Outcome::Clean
        | Outcome::BadInput
        | Outcome::Limit
        | Outcome::Hang
        | Outcome::WrongResult) => outcome.exit_code(),
    })
}

/// Has the run go as a replay string says.
fn replay(text: &str, source: &Source, options: &mut RunOptions) -> Result<Handle, Failure> {
    let bad = |e: ReplayError| Failure::Input(format!("--replay: {e}"));
    let replay = Replay::parse(text).map_err(bad)?;
    replay.check(&source.text).map_err(bad)?;
    if options.profile.is_some_and(|p| p != replay.profile) {
        let message = format!("--replay: it was made on {}, not on the --profile", replay.profile);
        return Err(Failure::Input(message));
    }
    options.profile = Some(replay.profile);
    let handle = Handle::new(Driver::replay(&replay, Keep::Choices));
    options.schedule = Some(handle.clone());
    Ok(handle)
}

/// Files of suppressions, with what they hold.
pub struct Filters(Vec<(PathBuf, Vec<Suppression>)>);

impl Filters {
    /// Reads them.
    pub fn read(paths: &[PathBuf]) -> Result<Self, Failure> {
        let one = |path: &PathBuf| {
            let bad = |e: String| Failure::Input(format!("{}: {e}", path.display()));
            let text = std::fs::read_to_string(path).map_err(|e| bad(e.to_string()))?;
            Ok((path.clone(), filter::parse(&text).map_err(|e| bad(e.to_string()))?))
        };
        paths.iter().map(one).collect::<Result<_, _>>().map(Self)
    }

    /// Uses each file.
    pub fn all<'a>(&'a self, mut use_it: impl FnMut(&'a [Suppression])) {
        self.0.iter().for_each(|(_, list)| use_it(list));
    }

    /// Uses each file and tells which of its lines were of no use.
    fn each<'a>(
        &'a self,
        mut use_it: impl FnMut(&'a [Suppression]) -> Vec<&'a Suppression>,
        what: &str,
    ) {
        for (path, list) in &self.0 {
            for unused in use_it(list) {
                ui::problem(&format!("{}:{}: {what}", path.display(), unused.line));
            }
        }
    }
}

/// Reads and checks a scenario.
pub fn read(path: &Path) -> Result<(Source, Scenario), Failure> {
    let source = load::read_scenario(path)?;
    let scenario = format::parse(&source)?;
    Ok((source, scenario))
}

/// What building and running have in common.
pub fn options(build: &BuildArgs) -> RunOptions {
    RunOptions {
        profile: build.profile,
        images: build.images.clone(),
        dxc: build.dxc.clone(),
        helper: helper(),
        ..RunOptions::default()
    }
}

/// The program that serves as DXC's process: this one, unless another is named.
pub fn helper() -> Option<std::path::PathBuf> {
    match std::env::var_os(wavefence_shader::dxc::HELPER_VARIABLE) {
        Some(_) => None,
        None => std::env::current_exe().ok(),
    }
}

/// Writes a report's file.
pub fn write(mut file: File, path: &Path, text: &str) -> Result<(), Failure> {
    file.write_all(text.as_bytes())
        .map_err(|e| Failure::Input(format!("cannot write {}: {e}", path.display())))
}

/// Makes a file that will be written, and its folders.
pub fn create(path: &Path) -> Result<File, Failure> {
    let bad = |e: std::io::Error| Failure::Input(format!("cannot write {}: {e}", path.display()));
    if let Some(folder) = path.parent()
        && !folder.as_os_str().is_empty()
    {
        std::fs::create_dir_all(folder).map_err(bad)?;
    }
    File::create(path).map_err(bad)
}

/// Writes reports, and one line to stdout if none goes there.
pub fn show(
    reports: &[ReportArg],
    files: Vec<Option<File>>,
    report: &Report,
    max_errors: usize,
) -> Result<(), Failure> {
    let render = |format| match format {
        ReportFormat::Text => text::print(report, max_errors),
        ReportFormat::Json => report.json() + "\n",
    };
    let mut to_stdout = false;
    for (arg, file) in reports.iter().zip(files) {
        let text = render(arg.format);
        match (file, &arg.path) {
            (Some(file), Some(path)) => write(file, path, &text)?,
            _ => {
                to_stdout = true;
                ui::out(&text);
            }
        }
    }
    if !to_stdout {
        ui::out(&format!("{}: {}\n", report.scenario, text::summary(report)));
    }
    Ok(())
}
