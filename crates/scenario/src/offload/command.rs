//! Runs the commands of `RUN` lines.

mod compile;
mod offloader;

use super::features::FEATURES;
use super::lit::{self, Script};
use super::shell;
use super::split;
use super::{Failed, Options, Outcome, Skipped, Verdict};
use crate::filecheck;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use wavefence_shader::source::Compiled;

/// A file in memory.
#[derive(Clone)]
enum File {
    Text(String),
    Object(Arc<Compiled>),
}

/// What a command came to.
#[derive(Default)]
struct Done {
    code: i32,
    out: String,
    err: String,
}

impl Done {
    fn out(out: String) -> Self {
        Self { out, ..Self::default() }
    }

    fn failed(err: impl Into<String>) -> Self {
        Self { code: 1, err: err.into(), ..Self::default() }
    }
}

/// Where `%t` and `%s` point: names in memory, no paths of the host.
const TEMPORARY: &str = "/t";
const TEST: &str = "/test";

/// The state of one test.
pub(super) struct Machine<'a> {
    name: String,
    text: &'a str,
    options: &'a Options,
    deadline: Option<(Instant, Duration)>,
    files: BTreeMap<String, File>,
    /// Why the first command of this `RUN` line failed that had more to say than
    /// its exit code.
    cause: Option<(Verdict, String)>,
    hash: Option<u64>,
    findings: usize,
}

impl<'a> Machine<'a> {
    pub(super) fn new(
        path: &Path,
        text: &'a str,
        options: &'a Options,
        deadline: Option<(Instant, Duration)>,
    ) -> Self {
        let mut files = BTreeMap::new();
        files.insert(TEST.to_string(), File::Text(text.to_string()));
        Self {
            name: path.display().to_string(),
            text,
            options,
            deadline,
            files,
            cause: None,
            hash: None,
            findings: 0,
        }
    }

    /// Runs every `RUN` line up to the first that fails.
    pub(super) fn run(&mut self, script: &Script) -> Outcome {
        let mut verdict = (Verdict::Passed, String::new());
        for run in &script.runs {
            self.cause = None;
            let failed = match self.line(&run.text) {
                Ok(failed) => failed,
                Err(what) => Some((Verdict::Failed(Failed::BadInput), what)),
            };
            if let Some((class, why)) = failed {
                verdict = (class, format!("RUN line {}: {why}", run.number));
                break;
            }
        }
        Outcome {
            verdict: verdict.0,
            reason: verdict.1,
            bytes: self.hash.map(|h| format!("{h:016x}")),
            findings: self.findings,
        }
    }

    /// One `RUN` line: why it failed, if it did.
    ///
    /// # Errors
    /// What is not understood in it.
    fn line(&mut self, text: &str) -> Result<Option<(Verdict, String)>, String> {
        let text = lit::conditionals(text, &FEATURES)?;
        let known = [
            ("dxc_target", "dxc".to_string()),
            ("dxc_target_lib", "dxc".to_string()),
            ("offloader", "offloader".to_string()),
            ("goldenimage_dir", "/golden".to_string()),
            ("s", TEST.to_string()),
            ("S", "/".to_string()),
            ("p", "/".to_string()),
            ("t", TEMPORARY.to_string()),
            ("T", "/".to_string()),
            ("basename_t", "t".to_string()),
        ];
        let text = lit::substitute(&text, &known)?;
        for pipe in shell::parse(&text)? {
            let mut input = String::new();
            let mut failed = None;
            for command in &pipe {
                if let Some(name) = &command.input {
                    input = self.text_of(name)?.to_owned();
                }
                let mut done = self.command(&command.words, &input)?;
                if command.merge {
                    done.out.insert_str(0, &std::mem::take(&mut done.err));
                }
                if let Some(name) = &command.errors {
                    self.files.insert(name.clone(), File::Text(done.err.clone()));
                }
                if done.code != 0 && failed.is_none() {
                    let told = done.err.lines().next().unwrap_or("it says nothing more");
                    let plain = format!("`{}` fails: {told}", command.words[0]);
                    failed = Some((Verdict::Failed(Failed::WrongResult), plain));
                }
                input = match &command.output {
                    None => done.out,
                    Some((name, append)) => {
                        let before = match self.files.get(name) {
                            Some(File::Text(text)) if *append => text.clone(),
                            _ => String::new(),
                        };
                        self.files.insert(name.clone(), File::Text(before + &done.out));
                        String::new()
                    }
                };
            }
            if let Some(plain) = failed {
                return Ok(Some(self.cause.take().unwrap_or(plain)));
            }
            // What `not` or a condition made good is no cause.
            self.cause = None;
        }
        Ok(None)
    }

    fn text_of(&self, name: &str) -> Result<&str, String> {
        match self.files.get(name) {
            Some(File::Text(text)) => Ok(text),
            Some(File::Object(_)) => Err(format!("{name} is no text")),
            None => Err(format!("there is no file {name}")),
        }
    }

    /// Keeps the first cause of a failure.
    fn because(&mut self, verdict: Verdict, why: impl Into<String>) {
        self.cause.get_or_insert_with(|| (verdict, why.into()));
    }

    /// Time left of the test's; `None` if it has no limit.
    fn time_left(&self) -> Option<Duration> {
        self.deadline.map(|(start, limit)| limit.saturating_sub(start.elapsed()))
    }

    fn command(&mut self, words: &[String], input: &str) -> Result<Done, String> {
        let args = &words[1..];
        match words[0].as_str() {
            "split-file" => self.split_file(args),
            "dxc" => self.dxc(args),
            "offloader" => self.offloader(args),
            "FileCheck" => self.file_check(args, input),
            "not" => {
                let (name, rest) = args.split_first().ok_or("`not` has no command")?;
                if name.starts_with('-') {
                    return Err(format!("`not {name}` is not known here"));
                }
                let inner: Vec<String> = std::iter::once(name).chain(rest).cloned().collect();
                let mut done = self.command(&inner, input)?;
                done.code = i32::from(done.code == 0);
                if done.code != 0 && done.err.is_empty() {
                    done.err = format!("`{name}` succeeds, and is to fail");
                }
                Ok(done)
            }
            "echo" => Ok(Done::out(args.join(" ") + "\n")),
            "cat" => {
                let mut out = String::new();
                if args.is_empty() {
                    out.push_str(input);
                }
                for name in args {
                    out.push_str(self.text_of(name)?);
                }
                Ok(Done::out(out))
            }
            // Folders need no making in memory.
            "mkdir" | "true" => Ok(Done::default()),
            "false" => Ok(Done::failed("")),
            "rm" => {
                for name in args.iter().filter(|a| !a.starts_with('-')) {
                    let inside = format!("{name}/");
                    self.files.retain(|file, _| file != name && !file.starts_with(&inside));
                }
                Ok(Done::default())
            }
            tool @ ("imgdiff" | "obj2yaml" | "api-query") => {
                let why = match tool {
                    "imgdiff" => "`imgdiff` compares with images that the suite does not carry",
                    "obj2yaml" => "`obj2yaml` reads DXIL containers; there is SPIR-V here",
                    _ => "`api-query` asks for a graphics driver",
                };
                self.because(Verdict::Skipped(Skipped::OtherTool), why);
                Ok(Done::failed(why))
            }
            other => Err(format!("the command `{other}` is not known here")),
        }
    }

    fn split_file(&mut self, args: &[String]) -> Result<Done, String> {
        let mut names = args.iter().filter(|a| !a.starts_with('-'));
        let leading = args.iter().any(|a| a.trim_start_matches('-') == "leading-lines");
        let (Some(input), Some(folder), None) = (names.next(), names.next(), names.next()) else {
            return Err("`split-file` takes a file and a folder".into());
        };
        let text = if input == TEST { self.text } else { self.text_of(input)? };
        for part in split::split(text, leading)? {
            self.files.insert(format!("{folder}/{}", part.name), File::Text(part.text));
        }
        Ok(Done::default())
    }

    fn file_check(&mut self, args: &[String], input: &str) -> Result<Done, String> {
        let (options, file, from) = filecheck::Options::from_args(args)?;
        let input = match &from {
            Some(name) => self.text_of(name)?,
            None => input,
        };
        match filecheck::check(self.text_of(&file)?, input, &options) {
            Ok(()) => Ok(Done::default()),
            Err(failure) => {
                let why = format!("FileCheck: {failure}");
                self.because(Verdict::Failed(Failed::WrongResult), why.clone());
                Ok(Done::failed(why))
            }
        }
    }
}
