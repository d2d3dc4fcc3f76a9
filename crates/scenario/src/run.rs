//! The runner: builds a device from a scenario, records, submits, waits, judges.
//!
//! Host steps happen in the order of the file. Before the host writes or reads,
//! the device has run as far as it could; a host wait that cannot end is a hang.

mod context;
mod image;
mod judge;
mod prepared;
mod progress;
mod record;
mod resources;
mod shaders;
mod steps;
mod view;

pub use prepared::{Brief, Prepared};

use crate::explore::Handle;
use crate::explore::words::Labels;
use crate::format::Scenario;
use crate::problem::{Problem, Problems, Source};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use wavefence_base::{Limit, LimitKind, ProfileName};
use wavefence_d3d::{Device, Limits};
use wavefence_report::Report;
use wavefence_shader::source::{Compiled, Loaded};

/// How to run.
#[derive(Default)]
pub struct RunOptions {
    /// The profile, instead of the scenario's.
    pub profile: Option<ProfileName>,
    /// Files of images by name, instead of the scenario's.
    pub images: Vec<(String, PathBuf)>,
    /// Where Microsoft's DXC is.
    pub dxc: Option<PathBuf>,
    /// The program that serves as DXC's process.
    pub helper: Option<PathBuf>,
    /// Host threads of a fast run; a model run if `None`.
    pub fast: Option<usize>,
    /// End at the first fault.
    pub stop_on_fault: bool,
    /// Shaders that were compiled before the run, one for each
    /// [`ShaderText::Given`](crate::format::shader::ShaderText).
    pub shaders: Vec<Arc<Compiled>>,
    /// Plain pipelines run shaders that leave it open with 32 lanes instead of 64.
    pub wave32: bool,
    /// What the device may use up; its defaults if `None`.
    pub limits: Option<Limits>,
    /// Do not judge a model run by the hazard rules.
    pub no_check: bool,
    /// Who chooses the order of a model run; time alone if `None`.
    pub schedule: Option<Handle>,
    /// Who else listens, to name the steps of the run.
    pub labels: Option<Labels>,
    /// Every shader, compiled before, in the order of the file; none: they are compiled
    /// now.
    pub loaded: Vec<Loaded>,
    /// Where every event goes, one JSON line each.
    pub trace: Option<Box<dyn Write + Send + Sync>>,
}

impl RunOptions {
    /// The same options for another run; it writes no trace.
    #[must_use]
    pub fn again(&self) -> Self {
        Self {
            profile: self.profile,
            images: self.images.clone(),
            dxc: self.dxc.clone(),
            helper: self.helper.clone(),
            fast: self.fast,
            stop_on_fault: self.stop_on_fault,
            shaders: self.shaders.clone(),
            wave32: self.wave32,
            limits: self.limits,
            no_check: self.no_check,
            schedule: self.schedule.clone(),
            labels: self.labels.clone(),
            loaded: self.loaded.clone(),
            trace: None,
        }
    }
}

/// Why a scenario did not get to a verdict.
#[derive(Debug)]
pub enum RunError {
    /// The scenario, a shader or an image is wrong or asks for what is not
    /// supported; one entry a file.
    Problems(Vec<Problems>),
    /// This host or version cannot do it.
    Limit(Limit),
}

impl From<Limit> for RunError {
    fn from(limit: Limit) -> Self {
        Self::Limit(limit)
    }
}

impl From<Problems> for RunError {
    fn from(problems: Problems) -> Self {
        Self::Problems(vec![problems])
    }
}

/// The profile of a scenario under these options: `series-x` if nobody says.
pub fn profile(scenario: &Scenario, options: &RunOptions) -> ProfileName {
    options.profile.or(scenario.profile).unwrap_or(ProfileName::SeriesX)
}

/// Everything a run needs to see.
struct Context<'a> {
    scenario: &'a Scenario,
    source: &'a Source,
    /// Folder of the scenario: files in it are relative to this.
    folder: PathBuf,
    options: &'a RunOptions,
}

impl Context<'_> {
    fn error(&self, problem: Problem) -> RunError {
        Problems::one(self.source, problem).into()
    }

    /// An API error of a step at a place.
    fn api(&self, at: crate::problem::Span, error: wavefence_d3d::Error) -> RunError {
        match error {
            wavefence_d3d::Error::Limit(limit) => self.limit(at, &limit),
            error @ (wavefence_d3d::Error::Call(_)
            | wavefence_d3d::Error::Calls(_)
            | wavefence_d3d::Error::Allocation(_)
            | wavefence_d3d::Error::Free(_)
            | wavefence_d3d::Error::Access(_)) => self.error(Problem::at(at, error.to_string())),
        }
    }

    fn limit(&self, at: crate::problem::Span, limit: &Limit) -> RunError {
        match limit.kind {
            LimitKind::Unsupported => self.error(Problem::at(at, limit.what.clone()).unsupported()),
            // Memory, budgets and tools are no matter of a place in the file.
            _ => RunError::Limit(limit.clone()),
        }
    }
}

fn folder_of(name: &str) -> PathBuf {
    Path::new(name).parent().map(Path::to_path_buf).unwrap_or_default()
}

/// Runs a scenario and judges it.
///
/// # Errors
/// What kept it from running; see [`RunError`].
pub fn run(source: &Source, scenario: &Scenario, options: RunOptions) -> Result<Report, RunError> {
    run_to_contents(source, scenario, options).map(|(report, _)| report)
}

/// What a buffer of the scenario holds after a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contents {
    /// Its name.
    pub name: String,
    /// Its bytes without padding, those of an array's elements one after the other.
    pub bytes: Vec<u8>,
    /// Its counter, or those of an array's elements; empty if it has none.
    pub counters: Vec<u32>,
}

/// As [`run`], and what each buffer holds then; nothing if the run was cut short.
///
/// # Errors
/// As [`run`].
pub fn run_to_contents(
    source: &Source,
    scenario: &Scenario,
    mut options: RunOptions,
) -> Result<(Report, Vec<Contents>), RunError> {
    let trace = options.trace.take().map(|t| t as Box<dyn Write + Send>);
    let mut prepared = Prepared::new(source, scenario, &options, trace)?;
    prepared.go()?;
    let mut report = prepared.report()?;
    let buffers = if prepared.has_results() { prepared.contents()? } else { Vec::new() };
    prepared.write_outputs(&mut report)?;
    Ok((report, buffers))
}

/// Compiles a scenario's shaders, for runs that are given them; none if they are given
/// already.
///
/// # Errors
/// As [`run`].
pub fn compile(
    source: &Source,
    scenario: &Scenario,
    options: &RunOptions,
) -> Result<Vec<Loaded>, RunError> {
    shaders::compile(&Context { scenario, source, folder: folder_of(&source.name), options })
}

/// A recorded list as packets, for a disassembly.
#[derive(Clone, Debug)]
pub struct Packets {
    /// Its name.
    pub name: String,
    /// Its ring.
    pub ring: wavefence_pm4::Ring,
    /// Its dwords.
    pub words: Vec<u32>,
    /// Command buffers that packets of the list may run, in the order of those.
    pub branches: Vec<Vec<u32>>,
    /// Each call's text by the dword its packets start at.
    pub calls: BTreeMap<usize, Vec<String>>,
}

/// Records a scenario's lists without running them; calls that break API rules
/// are in the second part.
///
/// # Errors
/// As [`run`].
pub fn record(
    source: &Source,
    scenario: &Scenario,
    options: &RunOptions,
) -> Result<(Vec<Packets>, Report), RunError> {
    let cx = Context { scenario, source, folder: folder_of(&source.name), options };
    let mut device = Device::builder().profile(profile(scenario, options)).build()?;
    let mut world = resources::World::build(&cx, &mut device)?;
    world.pipelines = shaders::load(&cx, &mut device)?;
    world.bind(&cx, &mut device)?;
    let lists = record::lists(&cx, &mut device, &world)?;
    let mut report = Report::default();
    record::tell(&cx, &lists, &mut report);
    Ok((lists.iter().map(record::Recorded::packets).collect(), report))
}
