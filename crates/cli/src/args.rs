//! Command line and environment.

use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;
use wavefence_base::{Generation, ProfileName};
use wavefence_pm4::Ring;
use wavefence_scenario::explore::hunt::Strategy;
use wavefence_scenario::explore::search::Shard;

/// Runs Direct3D-for-Xbox command lists on a software GPU and tells what is wrong
/// with them.
#[derive(Debug, Parser)]
#[command(name = "wavefence", version, max_term_width = 100, after_help = EXIT_CODES)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

const EXIT_CODES: &str = "\
Exit codes: 0 clean, 1 findings, 2 bad input or usage, 3 hang, 4 wrong result, \
5 a host limit or something unsupported, 70 a bug of wavefence.
Every option can be given as an environment variable.";

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run a scenario and judge it
    #[command(after_help = EXIT_CODES)]
    Run(RunArgs),
    /// Look for an order of events in which a scenario goes wrong
    #[command(after_help = EXIT_CODES)]
    Explore(ExploreArgs),
    /// Print the packets of a scenario's command lists, or of a raw dump
    Disasm(DisasmArgs),
    /// Run tests of LLVM's offload-test-suite
    #[command(after_help = EXIT_CODES)]
    Offload(OffloadArgs),
    /// Say what a rule or a verdict on a hang means, with an example
    Explain(ExplainArgs),
    /// Print what a dump of a hang explains
    #[command(name = "explain-hang")]
    ExplainHang(ExplainHangArgs),
    /// List the device profiles; every number with its confidence
    Profiles,
    /// Measure the model as a title would measure the console
    #[command(after_help = EXIT_CODES)]
    Bench(BenchArgs),
}

/// Options that decide how a scenario is built.
#[derive(Debug, Args)]
pub struct BuildArgs {
    /// Device profile, instead of the scenario's
    #[arg(long, value_name = "NAME", env = "WAVEFENCE_PROFILE", value_parser = profile)]
    pub profile: Option<ProfileName>,
    /// Read (or, for an image that is only written, write) the image NAME at PATH
    #[arg(long = "image", value_name = "NAME=PATH", env = "WAVEFENCE_IMAGE", value_parser = image)]
    pub images: Vec<(String, PathBuf)>,
    /// Microsoft's HLSL compiler: libdxcompiler.so or its folder
    #[arg(long, value_name = "PATH", env = "WAVEFENCE_DXC")]
    pub dxc: Option<PathBuf>,
}

/// `wavefence run`.
#[derive(Debug, Args)]
pub struct RunArgs {
    /// The scenario (YAML)
    pub file: PathBuf,
    #[command(flatten)]
    #[allow(missing_docs, reason = "a doc comment would become the help text")]
    pub build: BuildArgs,
    /// Run on host threads for results and throughput, not for findings
    #[arg(long, env = "WAVEFENCE_FAST")]
    pub fast: bool,
    /// Host threads of a fast run; 0 is one per processor
    #[arg(
        long,
        value_name = "N",
        default_value_t = 0,
        env = "WAVEFENCE_THREADS",
        requires = "fast"
    )]
    pub threads: usize,
    /// Write every event of a model run to PATH, one JSON object a line
    #[arg(long, value_name = "PATH", env = "WAVEFENCE_TRACE", conflicts_with = "fast")]
    pub trace: Option<PathBuf>,
    /// Write a report as text or json, to PATH or else to stdout [default: text]
    #[arg(long = "report", value_name = "FORMAT[=PATH]", env = "WAVEFENCE_REPORT", value_parser = report)]
    pub reports: Vec<ReportArg>,
    /// Print at most N findings, N faults and N errors in full
    #[arg(long, value_name = "N", default_value_t = 50, env = "WAVEFENCE_MAX_ERRORS")]
    pub max_errors: usize,
    /// Repeat the run that STRING, which `wavefence explore` printed, stands for
    #[arg(long, value_name = "STRING", env = "WAVEFENCE_REPLAY", conflicts_with = "fast")]
    pub replay: Option<String>,
    /// End the run at the first fault
    #[arg(long, env = "WAVEFENCE_STOP_ON_FAULT")]
    pub stop_on_fault: bool,
    /// If the run hangs, write all that is known of it to PATH as JSON (see explain-hang)
    #[arg(long, value_name = "PATH", env = "WAVEFENCE_DUMP_HANG")]
    pub dump_hang: Option<PathBuf>,
    /// Shaders that still run after N GPU cycles are a hang (a model run)
    #[arg(
        long,
        value_name = "N",
        env = "WAVEFENCE_MAX_CYCLES",
        conflicts_with = "fast",
        value_parser = clap::value_parser!(u64).range(1..)
    )]
    pub max_cycles: Option<u64>,
    /// Shaders that still run after N wave instructions are a hang [default: 2^34]
    #[arg(
        long,
        value_name = "N",
        env = "WAVEFENCE_MAX_INSTRUCTIONS",
        value_parser = clap::value_parser!(u64).range(1..)
    )]
    pub max_instructions: Option<u64>,
    /// Do not look for hazards (stale reads, missing flushes, races)
    #[arg(long, env = "WAVEFENCE_NO_CHECK", conflicts_with = "fast")]
    pub no_check: bool,
    /// Take out the findings and faults that the lines of FILE fit (by rule, resource, place)
    #[arg(long, value_name = "FILE", env = "WAVEFENCE_SUPPRESS")]
    pub suppress: Vec<PathBuf>,
    /// Findings and faults that FILE knows are shown, but do not count
    #[arg(long, value_name = "FILE", env = "WAVEFENCE_BASELINE")]
    pub baseline: Option<PathBuf>,
    /// Write a baseline that knows what this run found
    #[arg(long, value_name = "FILE", env = "WAVEFENCE_WRITE_BASELINE")]
    pub write_baseline: Option<PathBuf>,
    /// Exit code for findings, instead of 1
    #[arg(long, value_name = "N", default_value_t = 1, env = "WAVEFENCE_ERROR_EXITCODE")]
    pub error_exitcode: u8,
}

/// What `wavefence bench` measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Bench {
    /// Waves per clock by wave size, waves per group, order and shape of the group
    LaunchRate,
}

/// `wavefence bench`.
#[derive(Debug, Args)]
pub struct BenchArgs {
    /// What to measure
    pub bench: Bench,
    /// Device profile, instead of all
    #[arg(long, value_name = "NAME", env = "WAVEFENCE_PROFILE", value_parser = profile)]
    pub profile: Option<ProfileName>,
}

/// `wavefence explore`.
#[derive(Debug, Args)]
pub struct ExploreArgs {
    /// The scenario (YAML)
    pub file: PathBuf,
    #[command(flatten)]
    #[allow(missing_docs, reason = "a doc comment would become the help text")]
    pub build: BuildArgs,
    /// How orders are chosen: auto (departures from the plain order, then every order
    /// if they are few, else random and pct by turns), random, pct or exhaustive
    #[arg(long, value_name = "NAME", default_value = "auto", env = "WAVEFENCE_STRATEGY", value_parser = strategy)]
    pub strategy: Strategy,
    /// Seed of random choices
    #[arg(long, value_name = "N", default_value_t = 0, env = "WAVEFENCE_SEED")]
    pub seed: u64,
    /// Orders that are run at most [default: the scenario's, else 2000]
    #[arg(long, value_name = "N", env = "WAVEFENCE_SCHEDULES", value_parser = clap::value_parser!(u64).range(1..))]
    pub schedules: Option<u64>,
    /// Events that pct puts into one order: it changes priorities at N - 1 points
    #[arg(long, value_name = "N", default_value_t = 3, env = "WAVEFENCE_DEPTH", value_parser = clap::value_parser!(u32).range(1..=64))]
    pub depth: u32,
    /// With exhaustive: only orders in which something is held back at most N times
    #[arg(long, value_name = "N", env = "WAVEFENCE_PREEMPTIONS")]
    pub preemptions: Option<u32>,
    /// Times that a cache may lose its lines in a run [default: the scenario's, else 1]
    #[arg(long, value_name = "N", env = "WAVEFENCE_EVICTIONS")]
    pub evictions: Option<u32>,
    /// Steps after which a run is cut
    #[arg(long, value_name = "N", default_value_t = 100_000, env = "WAVEFENCE_MAX_STEPS", value_parser = clap::value_parser!(u64).range(1..))]
    pub max_steps: u64,
    /// Go on after the first that goes wrong, and list what is different
    #[arg(long, env = "WAVEFENCE_KEEP_GOING")]
    pub keep_going: bool,
    /// Threads; the answer does not depend on them. 0 is one per processor
    #[arg(long, value_name = "N", default_value_t = 1, env = "WAVEFENCE_JOBS")]
    pub jobs: usize,
    /// Make part K of N, and write what came of it to stdout (or --output) for --merge
    #[arg(long, value_name = "K/N", env = "WAVEFENCE_SHARD", value_parser = shard, conflicts_with = "merge")]
    pub shard: Option<Shard>,
    /// Where --shard writes
    #[arg(long, value_name = "FILE", env = "WAVEFENCE_OUTPUT", requires = "shard")]
    pub output: Option<PathBuf>,
    /// Put the parts that --shard wrote together instead of searching
    #[arg(long, value_name = "FILE", env = "WAVEFENCE_MERGE", num_args = 1..)]
    pub merge: Vec<PathBuf>,
    /// Judge by results, hangs and faults alone, not by the hazard rules
    #[arg(long, env = "WAVEFENCE_NO_CHECK")]
    pub no_check: bool,
    /// Write a report as text or json, to PATH or else to stdout [default: text]
    #[arg(long = "report", value_name = "FORMAT[=PATH]", env = "WAVEFENCE_REPORT", value_parser = report)]
    pub reports: Vec<ReportArg>,
    /// Print at most N findings, N faults and N errors in full
    #[arg(long, value_name = "N", default_value_t = 50, env = "WAVEFENCE_MAX_ERRORS")]
    pub max_errors: usize,
    /// Take out the findings and faults that the lines of FILE fit (by rule, resource, place)
    #[arg(long, value_name = "FILE", env = "WAVEFENCE_SUPPRESS")]
    pub suppress: Vec<PathBuf>,
    /// Findings and faults that FILE knows are shown, but do not count
    #[arg(long, value_name = "FILE", env = "WAVEFENCE_BASELINE")]
    pub baseline: Option<PathBuf>,
    /// Exit code for findings, instead of 1
    #[arg(long, value_name = "N", default_value_t = 1, env = "WAVEFENCE_ERROR_EXITCODE")]
    pub error_exitcode: u8,
}

/// `wavefence explain-hang`.
#[derive(Debug, Args)]
pub struct ExplainHangArgs {
    /// What `run --dump-hang` wrote
    pub dump: PathBuf,
}

/// `wavefence explain`.
#[derive(Debug, Args)]
pub struct ExplainArgs {
    /// Number or name of a rule, the name of a kind of fault, or a verdict on a hang; without
    /// it all are listed
    pub rule: Option<String>,
}

/// `wavefence offload`.
#[derive(Debug, Args)]
pub struct OffloadArgs {
    /// Test files, and folders of them (.test, .yaml)
    #[arg(required = true, value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// Device profile
    #[arg(long, value_name = "NAME", env = "WAVEFENCE_PROFILE", value_parser = profile)]
    pub profile: Option<ProfileName>,
    /// Microsoft's HLSL compiler: libdxcompiler.so or its folder
    #[arg(long, value_name = "PATH", env = "WAVEFENCE_DXC")]
    pub dxc: Option<PathBuf>,
    /// Run on host threads instead of on the model
    #[arg(long, env = "WAVEFENCE_FAST")]
    pub fast: bool,
    /// Lanes of shaders without [WaveSize]: 32 or 64
    #[arg(long, value_name = "N", default_value_t = 64, env = "WAVEFENCE_WAVE", value_parser = wave)]
    pub wave: u32,
    /// Tests at a time; 0 is one per processor
    #[arg(long, value_name = "N", default_value_t = 0, env = "WAVEFENCE_JOBS")]
    pub jobs: usize,
    /// Seconds that a test may take; one that takes longer fails
    #[arg(
        long,
        value_name = "SECONDS",
        default_value_t = 10,
        env = "WAVEFENCE_TIME_LIMIT",
        value_parser = clap::value_parser!(u64).range(1..=86400)
    )]
    pub time_limit: u64,
    /// Only tests whose path matches REGEX
    #[arg(long, value_name = "REGEX", env = "WAVEFENCE_FILTER")]
    pub filter: Option<String>,
    /// Print the tests' paths and run nothing
    #[arg(long, env = "WAVEFENCE_LIST")]
    pub list: bool,
    /// Write a report as text or json, to PATH or else to stdout [default: text]
    #[arg(long = "report", value_name = "FORMAT[=PATH]", env = "WAVEFENCE_REPORT", value_parser = report)]
    pub reports: Vec<ReportArg>,
}

/// `wavefence disasm`.
#[derive(Debug, Args)]
pub struct DisasmArgs {
    /// A scenario (.yaml, .yml), or a dump: little-endian dwords or hex text
    pub file: PathBuf,
    #[command(flatten)]
    #[allow(missing_docs, reason = "a doc comment would become the help text")]
    pub build: BuildArgs,
    /// Packet generation of a dump
    #[arg(long, value_name = "NAME", default_value = "gfx10.3", env = "WAVEFENCE_GENERATION", value_parser = generation)]
    pub generation: Generation,
    /// Ring that a dump is for
    #[arg(long, value_name = "NAME", default_value = "graphics", env = "WAVEFENCE_RING", value_parser = ring)]
    pub ring: Ring,
}

/// The form of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ReportFormat {
    /// For people.
    Text,
    /// For programs.
    Json,
}

/// One `--report`.
#[derive(Clone, Debug)]
pub struct ReportArg {
    /// The form.
    pub format: ReportFormat,
    /// The file; stdout if `None`.
    pub path: Option<PathBuf>,
}

fn one_of<T>(
    text: &str,
    all: impl IntoIterator<Item = T>,
    name: impl Fn(&T) -> String,
) -> Result<T, String> {
    let mut names = Vec::new();
    for item in all {
        let this = name(&item);
        if this == text {
            return Ok(item);
        }
        names.push(this);
    }
    let words: Vec<&str> = names.iter().map(String::as_str).collect();
    let near = wavefence_scenario::reader::nearest(text, &words);
    let near = near.map_or(String::new(), |n| format!("; did you mean {n}?"));
    Err(format!("there are {}{near}", names.join(", ")))
}

fn profile(text: &str) -> Result<ProfileName, String> {
    one_of(text, ProfileName::ALL, |p| p.to_string())
}

fn wave(text: &str) -> Result<u32, String> {
    one_of(text, [32, 64], u32::to_string)
}

fn strategy(text: &str) -> Result<Strategy, String> {
    one_of(text, Strategy::ALL, |s| s.name().to_owned())
}

fn shard(text: &str) -> Result<Shard, String> {
    let numbers = text.split_once('/').and_then(|(k, n)| Some((k.parse().ok()?, n.parse().ok()?)));
    match numbers {
        Some((k, n)) if (1..=n).contains(&k) => Ok(Shard { index: k - 1, of: n }),
        Some(_) | None => Err("write K/N with K from 1 to N".into()),
    }
}

fn generation(text: &str) -> Result<Generation, String> {
    one_of(text, Generation::ALL, |g| g.to_string())
}

fn ring(text: &str) -> Result<Ring, String> {
    one_of(text, Ring::ALL, |r| r.to_string())
}

fn image(text: &str) -> Result<(String, PathBuf), String> {
    match text.split_once('=') {
        Some((name, path)) if !name.is_empty() && !path.is_empty() => {
            Ok((name.into(), path.into()))
        }
        _ => Err("write NAME=PATH".into()),
    }
}

fn report(text: &str) -> Result<ReportArg, String> {
    let (format, path) = match text.split_once('=') {
        Some((_, "")) => return Err("the path is empty".into()),
        Some((format, path)) => (format, Some(path.into())),
        None => (text, None),
    };
    match ReportFormat::from_str(format, false) {
        Ok(format) => Ok(ReportArg { format, path }),
        Err(_) => Err("write text or json, with =PATH for a file".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_option_has_its_variable() {
        for command in Cli::command().get_subcommands() {
            for arg in command.get_arguments().filter(|a| a.get_long().is_some()) {
                let long = arg.get_long().unwrap_or_default();
                if matches!(long, "help" | "version") {
                    continue;
                }
                let wanted = format!("WAVEFENCE_{}", long.replace('-', "_").to_uppercase());
                let env = arg.get_env().and_then(|e| e.to_str());
                assert_eq!(env, Some(wanted.as_str()), "{}", command.get_name());
            }
        }
    }

    #[test]
    fn words_are_checked() {
        assert!(report("json=a=b").is_ok_and(|r| r.path == Some("a=b".into())));
        assert!(report("sarif").is_err());
        assert!(image("Photo").is_err());
        assert_eq!(shard("2/3"), Ok(Shard { index: 1, of: 3 }));
        assert!(shard("0/3").is_err() && shard("4/3").is_err() && shard("1").is_err());
        assert!(strategy("pct").is_ok() && strategy("dfs").is_err());
        assert_eq!(
            profile("serie-x"),
            Err("there are xbox-one, xbox-one-s, xbox-one-x, series-s, series-x; did you mean series-x?".into())
        );
    }
}
