//! HLSL to SPIR-V by way of the DXC child.

use super::facts::{self, MARKER_FILE, WAVE32_MACRO};
use super::{CompileOptions, Compiled, Diagnostic, Severity, Source, SourceFile};
use crate::dxc::args::{self, UserArgs};
use crate::dxc::attributes;
use crate::dxc::helper::{self, Failure};
use crate::dxc::protocol::{Included, Op, Request, Response, Status};
use crate::dxc::{diagnostics, find_helper, find_library};
use crate::lower::BindingRule;
use crate::{ShaderError, ShaderErrorKind, prelude};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// What DXC says of `[WaveSize]` with SPIR-V; we read the attribute ourselves.
const WAVE_SIZE_WARNING: &str = "Wave size is not supported by Vulkan SPIR-V";

/// Methods that use a buffer's hidden counter.
const COUNTS: [&str; 4] = ["IncrementCounter", "DecrementCounter", "Append", "Consume"];

/// How errors begin in which DXC's SPIR-V writer speaks of its own output; the
/// source is not to blame.
const OWN_FAILURES: [&str; 4] = [
    "generated SPIR-V is invalid",
    "failed to optimize SPIR-V",
    "failed to legalize SPIR-V",
    "failed to trim capabilities",
];

/// One source on its way through DXC.
struct Job<'a> {
    source: &'a Source,
    text: &'a str,
    helper: PathBuf,
    request: Request,
    deadline: Instant,
    options: &'a CompileOptions,
}

/// Compiles HLSL `text`.
pub(super) fn compile(
    source: &Source,
    text: &str,
    options: &CompileOptions,
) -> Result<Compiled, ShaderError> {
    let bad = |what| ShaderError::new(ShaderErrorKind::Options, what);
    let user = args::sort(&options.args).map_err(bad)?;
    let entry = user.entry.clone().or_else(|| options.entry.clone());
    let entry = entry.unwrap_or_else(|| "main".into());
    let target = user.target.clone().unwrap_or_else(|| options.target.clone());
    check_names(&entry, &target)?;
    let mut job = Job::new(source, text, options, &user, &entry, &target)?;

    let (text, mut vk_bindings) = attributes::without_bindings(text);
    let common = job.request.args.clone();
    job.request.args.extend(["-T".into(), target.clone()]);
    // Some change predefined macros (`-HV`, `-enable-16bit-types`).
    let quiet = |arg: &&String| !arg.starts_with("-fspv-debug");
    job.request.args.extend(user.rest.iter().filter(quiet).cloned());
    let pre = job.run(Op::Preprocess, facts::marked(&format!("{}{text}", job.first_line())))?;
    let preprocessed = String::from_utf8_lossy(&pre.output);
    let found = facts::read(&preprocessed, &entry, prelude::is_ours);
    let wave = found.wave_rule()?;
    found.check_registers()?;
    let prelude = prelude::text_for(&found.names)?.unwrap_or_default();

    job.request.args = common;
    job.request.args.extend(args::compile_only(&user));
    if COUNTS.iter().any(|method| preprocessed.contains(method)) {
        job.request.args.push(args::KEEP_BINDINGS.into());
    }
    let user_rest = user.rest;
    job.request.args.extend(user_rest.iter().cloned());
    let whole = format!("{prelude}{}{text}", job.first_line());
    let mut warnings = Vec::new();
    let done = match job.run(Op::Compile, whole.clone()) {
        // With debug lines on, DXC leaves "in file included from" out.
        Err(error) if error.kind == ShaderErrorKind::Source && error.files().len() > 1 => {
            job.request.args.retain(|arg| !arg.starts_with("-fspv-debug"));
            return Err(job.run(Op::Compile, whole).err().unwrap_or(error));
        }
        // Most of DXC's own failures are its optimiser's.
        Err(error) if error.kind == ShaderErrorKind::Tool && !args::optimises(&user_rest) => {
            job.request.args.retain(|arg| arg != args::OPTIMISE);
            job.request.args.push("-O0".into());
            let done = job.run(Op::Compile, whole).map_err(|_| error.clone())?;
            warnings.push(Diagnostic {
                severity: Severity::Warning,
                ..Diagnostic::error(None, format!("compiled without optimisation: {}", error.what))
            });
            done
        }
        other => other?,
    };
    let words = super::words_of(&source.name, &done.output).map_err(|e| {
        ShaderError::new(ShaderErrorKind::Tool, format!("DXC wrote damaged SPIR-V: {e}"))
    })?;
    warnings.extend(diagnostics::parse(&done.messages, &done.included, &[]));
    warnings.retain(|w| !w.message.starts_with(WAVE_SIZE_WARNING));
    for file in &done.included {
        vk_bindings.extend(attributes::without_bindings(&file.text).1);
    }
    Ok(Compiled {
        words,
        entry: Some(entry),
        wave,
        bindings: Some(BindingRule::Direct3D),
        vk_bindings,
        warnings,
        files: job.files(&done.included),
    })
}

fn check_names(entry: &str, target: &str) -> Result<(), ShaderError> {
    let bad = |what| Err(ShaderError::new(ShaderErrorKind::Options, what));
    if entry.is_empty() || !entry.chars().all(|c| c == '_' || c.is_ascii_alphanumeric()) {
        return bad(format!("the entry point {entry:?} is no HLSL name"));
    }
    let digits = target.strip_prefix("cs_6_").unwrap_or_default();
    if !digits.is_empty() && digits.chars().all(|c| c.is_ascii_digit()) {
        return Ok(());
    }
    let stage = target.split('_').next().unwrap_or_default();
    if ["vs", "ps", "gs", "hs", "ds", "ms", "as", "lib"].contains(&stage) {
        return Err(ShaderError::unsupported(format!(
            "the target `{target}`: only compute shaders are supported by this version"
        )));
    }
    bad(format!("the target `{target}` is none of cs_6_0 to cs_6_8"))
}

/// `#line` before the user's text, so that lines are right whatever precedes it.
fn line_directive(name: &str) -> String {
    let escaped = name.replace('\\', "\\\\").replace('"', "\\\"").replace(['\n', '\r'], " ");
    format!("#line 1 \"{escaped}\"\n")
}

fn utf8(path: &Path) -> Result<String, ShaderError> {
    let what = || format!("the path {} is not UTF-8, which DXC needs", path.display());
    path.to_str()
        .map(str::to_owned)
        .ok_or_else(|| ShaderError::new(ShaderErrorKind::Options, what()))
}

impl<'a> Job<'a> {
    fn new(
        source: &'a Source,
        text: &'a str,
        options: &'a CompileOptions,
        user: &UserArgs,
        entry: &str,
        target: &str,
    ) -> Result<Self, ShaderError> {
        let missing = |what| ShaderError::new(ShaderErrorKind::MissingTool, what);
        let library = find_library(options.dxc.as_deref()).map_err(missing)?;
        let helper = find_helper(options.helper.as_deref()).map_err(missing)?;
        let mut include_dirs = Vec::new();
        for dir in options.include_dirs.iter().chain(&user.include_dirs) {
            let whole = std::path::absolute(dir).unwrap_or_else(|_| dir.clone());
            include_dirs.push(utf8(&whole)?);
        }
        let dir = match &source.dir {
            Some(dir) => utf8(&std::path::absolute(dir).unwrap_or_else(|_| dir.clone()))?,
            None => String::new(),
        };
        let mut defines = options.defines.clone();
        defines.extend(user.defines.iter().cloned());
        if options.wave32 {
            defines.push((WAVE32_MACRO.into(), Some("1".into())));
        }
        for (name, value) in &defines {
            if name.is_empty() || name.contains(['\0', '=']) {
                let what = format!("{name:?} is no macro name");
                return Err(ShaderError::new(ShaderErrorKind::Options, what));
            }
            if value.as_ref().is_some_and(|v| v.contains('\0')) {
                let what = format!("the value of the macro `{name}` contains a NUL");
                return Err(ShaderError::new(ShaderErrorKind::Options, what));
            }
        }
        let mut roots = include_dirs.clone();
        roots.extend((!dir.is_empty()).then(|| dir.clone()));
        let file = source.name.rsplit(['/', '\\']).next().filter(|n| !n.is_empty());
        let request = Request {
            op: Op::Preprocess,
            library: utf8(&library)?,
            name: file.unwrap_or("source.hlsl").replace('\0', ""),
            text: String::new(),
            entry: entry.into(),
            target: target.into(),
            args: args::common(user, &defines, &include_dirs),
            dir,
            roots,
        };
        let deadline = Instant::now() + options.time_limit;
        Ok(Self { source, text, helper, request, deadline, options })
    }

    fn first_line(&self) -> String {
        line_directive(&self.source.name)
    }

    fn files(&self, included: &[Included]) -> Vec<SourceFile> {
        let name = self.source.name.clone();
        let main = SourceFile { name, debug_name: None, text: self.text.to_owned() };
        let rest = included.iter().map(|f| SourceFile {
            name: f.path.clone(),
            debug_name: Some(f.asked.clone()),
            text: f.text.clone(),
        });
        std::iter::once(main).chain(rest).collect()
    }

    fn run(&mut self, op: Op, text: String) -> Result<Response, ShaderError> {
        self.request.op = op;
        self.request.text = text;
        let left = self.deadline.saturating_duration_since(Instant::now());
        let response = helper::run(&self.helper, &self.request, left).map_err(|failure| {
            let failure = match failure {
                // The whole time, not what was left of it.
                Failure::TimedOut { .. } => Failure::TimedOut { limit: self.options.time_limit },
                Failure::NotStarted { .. }
                | Failure::NotAHelper { .. }
                | Failure::Died { .. }
                | Failure::Garbage { .. } => failure,
            };
            let kind = match failure {
                Failure::NotStarted { .. } | Failure::NotAHelper { .. } => {
                    ShaderErrorKind::MissingTool
                }
                Failure::Died { .. } | Failure::TimedOut { .. } | Failure::Garbage { .. } => {
                    ShaderErrorKind::Tool
                }
            };
            ShaderError::new(kind, format!("{}: {failure}", self.source.name))
        })?;
        match response.status {
            Status::Done => Ok(response),
            Status::Rejected => Err(self.rejected(&response)),
            Status::NoLibrary => Err(ShaderError::new(
                ShaderErrorKind::MissingTool,
                format!(
                    "{}: HLSL needs Microsoft's DXC, and {} could not be loaded ({}); `make` \
                     fetches it into .tools/dxc/, or name one by --dxc or {}",
                    self.source.name,
                    self.request.library,
                    response.messages,
                    crate::dxc::LIBRARY_VARIABLE
                ),
            )),
            Status::Failed => Err(ShaderError::new(
                ShaderErrorKind::Tool,
                format!("{}: {}", self.source.name, response.messages),
            )),
        }
    }

    fn rejected(&self, response: &Response) -> ShaderError {
        let mut all = diagnostics::parse(&response.messages, &response.included, &response.refused);
        for one in &mut all {
            if one.at.as_ref().is_some_and(|at| at.file == MARKER_FILE) {
                *one = Diagnostic::error(
                    None,
                    format!("the value of {WAVE32_MACRO} is no integer ({})", one.message),
                );
            }
        }
        if !all.iter().any(|d| d.severity == Severity::Error) {
            let text = match response.messages.as_str() {
                "" => "DXC refused the source without a word",
                text => text,
            };
            all.push(Diagnostic::error(None, text));
        }
        let own = all.iter().any(|d| {
            d.severity == Severity::Error && OWN_FAILURES.iter().any(|f| d.message.starts_with(f))
        });
        let mut error = ShaderError::from_diagnostics(&self.source.name, all);
        if own {
            error.kind = ShaderErrorKind::Tool;
            error.what = format!("DXC failed on its own SPIR-V: {}", error.what);
        }
        error.with_files(self.files(&response.included))
    }
}
