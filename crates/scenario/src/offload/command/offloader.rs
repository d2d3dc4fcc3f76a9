//! `%offloader`: runs a pipeline and prints it with what the run left.

use super::{Done, File, Machine};
use crate::format::{self, Scenario};
use crate::offload::{Failed, Verdict, dump, split};
use crate::problem::{ProblemKind, Source};
use crate::run::{self, Contents, RunError, RunOptions};
use std::sync::Arc;
use wavefence_report::Report;
use wavefence_shader::source::Compiled;

/// What every message of the suite's runner begins with.
const ERROR: &str = "gpu-exec: error: ";

#[derive(Default)]
struct Args {
    pipeline: String,
    objects: Vec<String>,
    output: Option<String>,
    quiet: bool,
}

fn args(words: &[String]) -> Result<Args, String> {
    let mut all = Args::default();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let Some(option) = word.strip_prefix("--").or_else(|| word.strip_prefix('-')) else {
            if all.pipeline.is_empty() {
                all.pipeline.clone_from(word);
            } else {
                all.objects.push(word.clone());
            }
            continue;
        };
        match option {
            // Rules are always checked here.
            "validation-layer" | "debug-layer" => {}
            "quiet" => all.quiet = true,
            "o" => all.output = words.next().cloned(),
            _ => return Err(format!("the offloader option `{word}` is not known here")),
        }
    }
    if all.pipeline.is_empty() {
        return Err("the offloader has no pipeline".into());
    }
    Ok(all)
}

impl Machine<'_> {
    pub(super) fn offloader(&mut self, words: &[String]) -> Result<Done, String> {
        let args = args(words)?;
        let text = split::mend(self.text_of(&args.pipeline)?);
        let part = args.pipeline.strip_prefix("/t/").unwrap_or(&args.pipeline);
        let source = Source::new(format!("{}:{part}", self.name), text);
        let scenario = match format::parse_pipeline(&source) {
            Ok(scenario) => scenario,
            Err(problems) => return Ok(self.problems(&[problems])),
        };
        if let Some(why) = counter_without_binding(&scenario) {
            self.because(Verdict::Failed(Failed::BadInput), why.clone());
            return Ok(Done::failed(format!("{ERROR}{why}\n")));
        }
        let mut shaders: Vec<Arc<Compiled>> = Vec::new();
        for name in &args.objects {
            match self.files.get(name) {
                Some(File::Object(object)) => shaders.push(object.clone()),
                Some(File::Text(_)) => return Err(format!("{name} is no compiled shader")),
                None => return Ok(Done::failed(format!("{ERROR}there is no file {name}\n"))),
            }
        }
        if shaders.len() != scenario.shaders.len() {
            let why = format!(
                "Pipeline description expects {} shader(s) {} provided",
                scenario.shaders.len(),
                shaders.len()
            );
            self.because(Verdict::Failed(Failed::BadInput), why.clone());
            return Ok(Done::failed(format!("{ERROR}{why}\n")));
        }
        let options = RunOptions {
            profile: self.options.profile,
            fast: self.options.fast,
            wave32: self.options.wave32,
            shaders,
            ..RunOptions::default()
        };
        match run::run_to_contents(&source, &scenario, options) {
            Ok((report, contents)) => self.judged(&args, &scenario, &report, &contents),
            Err(RunError::Problems(files)) => Ok(self.problems(&files)),
            Err(RunError::Limit(limit)) => {
                self.because(Verdict::Failed(Failed::Limit), limit.to_string());
                Ok(Done::failed(format!("{ERROR}{limit}\n")))
            }
        }
    }

    /// The pipeline or its shader is wrong, or asks for too much.
    fn problems(&mut self, files: &[crate::Problems]) -> Done {
        let mut err = String::new();
        let mut first = None;
        let mut bad = false;
        for (file, problem) in files.iter().flat_map(|f| f.list.iter().map(move |p| (f, p))) {
            err.push_str(&format!("{ERROR}{}\n", problem.message));
            bad |= problem.kind == ProblemKind::Input;
            first.get_or_insert_with(|| {
                let place = problem.at.map(|at| file.source.line_column(at.start).0);
                let name = file.source.name.rsplit('/').next().unwrap_or_default();
                let place = place.map_or(String::new(), |line| format!("{name}:{line}: "));
                format!("{place}{}", problem.message.lines().next().unwrap_or_default())
            });
        }
        let class = if bad { Failed::BadInput } else { Failed::Unsupported };
        self.because(Verdict::Failed(class), first.unwrap_or_default());
        Done::failed(err)
    }

    /// What a run came to.
    fn judged(
        &mut self,
        args: &Args,
        scenario: &Scenario,
        report: &Report,
        contents: &[Contents],
    ) -> Result<Done, String> {
        self.findings += report.faults.len();
        self.findings += report.findings.iter().filter(|f| f.verdict != "advice").count();
        self.take_hash(contents);
        let stopped = if let Some(limit) = &report.limit {
            Some((Failed::Limit, limit.clone()))
        } else if let Some(error) = report.errors.first() {
            let why = format!("{} {}: {}", error.call, error.argument, error.message);
            Some((Failed::BadInput, why))
        } else {
            report.hang.as_ref().map(|hang| {
                let wait = hang.waits.first().map_or("the device cannot go on", |w| &w.explanation);
                (Failed::Hang, wait.to_string())
            })
        };
        if let Some((class, why)) = stopped {
            self.because(Verdict::Failed(class), why.clone());
            return Ok(Done::failed(format!("{ERROR}{why}\n")));
        }
        let wrong = dump::failures(scenario, contents);
        if let Some(check) = report.checks.iter().find(|c| !c.passed) {
            let detail = check.detail.first().map_or("", String::as_str);
            let why = format!("{}: {}: {detail}", check.name, check.rule);
            self.because(Verdict::Failed(Failed::WrongResult), why);
        }
        if !wrong.is_empty() {
            return Ok(Done::failed(wrong));
        }
        let out = if args.quiet { String::new() } else { dump::pipeline(scenario, contents) };
        if let Some(name) = &args.output {
            self.files.insert(name.clone(), File::Text(out));
            return Ok(Done::default());
        }
        Ok(Done::out(out))
    }

    /// Adds what the buffers hold to the test's hash (64-bit FNV-1a).
    fn take_hash(&mut self, contents: &[Contents]) {
        let mut hash = self.hash.unwrap_or(0xCBF2_9CE4_8422_2325);
        let mut add = |bytes: &[u8]| {
            for &byte in bytes {
                hash = (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01B3);
            }
        };
        for held in contents {
            add(held.name.as_bytes());
            add(&(held.bytes.len() as u64).to_le_bytes());
            add(&held.bytes);
            held.counters.iter().for_each(|c| add(&c.to_le_bytes()));
        }
        self.hash = Some(hash);
    }
}

/// The suite's rule for Vulkan: a buffer with a counter has a binding for it.
fn counter_without_binding(scenario: &Scenario) -> Option<String> {
    let decl = scenario
        .sets
        .iter()
        .flat_map(|s| &s.resources)
        .find(|r| r.counter && r.vulkan.is_some() && r.counter_binding.is_none())?;
    let name = &decl.name.value;
    Some(format!("No CounterBinding provided for resource '{name}' with a counter"))
}
