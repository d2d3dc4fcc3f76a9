//! Compiles the shaders of a scenario; their errors point into the scenario or
//! into the shader's own file.

use super::{Context, RunError};
use crate::format::shader::{Language, ShaderDecl, ShaderText};
use crate::problem::{Problem, Problems, Source, Span};
use std::sync::Arc;
use wavefence_base::{Limit, LimitKind};
use wavefence_d3d::{Device, Pipeline};
use wavefence_report::WarningItem;
use wavefence_shader::ir::Kernel;
use wavefence_shader::lower::LowerOptions;
use wavefence_shader::source::{self as shader, CompileOptions, Diagnostic, Loaded, Position};
use wavefence_shader::{ShaderError, ShaderErrorKind};

/// Loads every shader, in the order of the file. Problems of all of them are
/// reported together.
pub(super) fn load(cx: &Context<'_>, device: &mut Device) -> Result<Vec<Pipeline>, RunError> {
    let mut pipelines = Vec::new();
    let mut problems = Vec::new();
    for (index, decl) in cx.scenario.shaders.iter().enumerate() {
        match one(cx, device, decl, index) {
            Ok(pipeline) => pipelines.push(pipeline),
            Err(RunError::Problems(more)) => problems.extend(more),
            Err(limit @ RunError::Limit(_)) => return Err(limit),
        }
    }
    if problems.is_empty() { Ok(pipelines) } else { Err(RunError::Problems(problems)) }
}

/// Every shader with a text, compiled; none if one is given compiled.
pub(super) fn compile(cx: &Context<'_>) -> Result<Vec<Loaded>, RunError> {
    let given = |d: &ShaderDecl| matches!(d.text, ShaderText::Given);
    if cx.scenario.shaders.iter().any(given) {
        return Ok(Vec::new());
    }
    cx.scenario.shaders.iter().map(|decl| compiled(cx, decl, &options(decl))).collect()
}

/// What compilers said about shaders that they compiled.
pub(super) fn warnings(pipelines: &[Pipeline]) -> Vec<WarningItem> {
    let mut out = Vec::new();
    for pipeline in pipelines {
        for said in pipeline.warnings() {
            let mut message = said.message.clone();
            for note in &said.notes {
                message.push_str(&format!("; {}", note.message));
            }
            out.push(WarningItem {
                shader: pipeline.name().to_owned(),
                at: said.at.as_ref().map_or_else(String::new, Position::to_string),
                message,
            });
        }
    }
    out
}

fn one(
    cx: &Context<'_>,
    device: &mut Device,
    decl: &ShaderDecl,
    index: usize,
) -> Result<Pipeline, RunError> {
    let lower = options(decl);
    let name = &decl.name.value;
    match &decl.text {
        ShaderText::Given => {
            let kernel = given(cx, decl, index, &lower)?;
            device.create_pipeline(name, Arc::new(kernel))
        }
        ShaderText::Inline(_) | ShaderText::File(_) => {
            let loaded = match cx.options.loaded.get(index) {
                Some(loaded) => loaded.clone(),
                None => compiled(cx, decl, &lower)?,
            };
            device.create_pipeline_from_loaded(name, loaded)
        }
    }
    .map_err(|e| cx.api(decl.name.at, e))
}

fn options(decl: &ShaderDecl) -> LowerOptions {
    let spec_constants = decl.spec_constants.iter().map(|c| (c.id, c.bits)).collect();
    LowerOptions { entry: Some(decl.entry.clone()), spec_constants, ..LowerOptions::default() }
}

/// A shader that was compiled before the run.
fn given(
    cx: &Context<'_>,
    decl: &ShaderDecl,
    index: usize,
    lower: &LowerOptions,
) -> Result<Kernel, RunError> {
    let Some(compiled) = cx.options.shaders.get(index) else {
        return Err(cx.error(Problem::at(decl.at, "no compiled shader is given for it")));
    };
    shader::lower_compiled(compiled, shader::Language::Hlsl, lower).map_err(|e| told(cx, decl, &e))
}

fn compiled(cx: &Context<'_>, decl: &ShaderDecl, lower: &LowerOptions) -> Result<Loaded, RunError> {
    let source = source(cx, decl)?;
    let mut options = CompileOptions {
        entry: Some(decl.entry.clone()),
        args: decl.args.clone(),
        dxc: cx.options.dxc.clone(),
        helper: cx.options.helper.clone(),
        wave32: cx.options.wave32,
        ..CompileOptions::default()
    };
    for (name, value) in &decl.defines {
        options.defines.push((name.clone(), Some(value.clone()).filter(|v| !v.is_empty())));
    }
    if let Some(target) = &decl.target {
        options.target.clone_from(target);
    }
    let mut loaded = shader::load(&source, &options, lower).map_err(|e| told(cx, decl, &e))?;
    lines_of_scenario(cx, decl, &mut loaded.kernel);
    Ok(loaded)
}

/// The name that an inline shader's diagnostics carry.
fn inline_name(cx: &Context<'_>, decl: &ShaderDecl) -> String {
    format!("{}:{}", cx.source.name, decl.name.value)
}

fn source(cx: &Context<'_>, decl: &ShaderDecl) -> Result<shader::Source, RunError> {
    let language = match decl.language {
        Language::Hlsl => shader::Language::Hlsl,
        Language::Wgsl => shader::Language::Wgsl,
        Language::Glsl => shader::Language::Glsl,
        Language::SpirV => shader::Language::SpirvText,
    };
    match &decl.text {
        ShaderText::Inline(text) => {
            let mut source =
                shader::Source::text(language, inline_name(cx, decl), text.value.clone());
            let here = || std::path::PathBuf::from(".");
            let folder = Some(cx.folder.clone()).filter(|f| !f.as_os_str().is_empty());
            source.dir = Some(folder.unwrap_or_else(here));
            Ok(source)
        }
        ShaderText::Given => Err(cx.error(Problem::at(decl.at, "a given shader has no text"))),
        ShaderText::File(path) => {
            let file = cx.folder.join(&path.value);
            let binary = decl.language == Language::SpirV
                && file.extension().is_some_and(|e| e.eq_ignore_ascii_case("spv"));
            let language = if binary { shader::Language::SpirvBinary } else { language };
            shader::Source::read(&file, Some(language))
                .map_err(|e| cx.error(Problem::at(path.at, e.what)))
        }
    }
}

/// Makes the lines of an inline shader lines of the scenario, for faults.
fn lines_of_scenario(cx: &Context<'_>, decl: &ShaderDecl, kernel: &mut Kernel) {
    let ShaderText::Inline(text) = &decl.text else { return };
    let name = inline_name(cx, decl);
    let Some(index) = kernel.files.iter().position(|f| *f == name) else { return };
    let first = Position { file: String::new(), line: 1, column: 1 };
    if inline_span(cx.source, text.at, &text.value, &first).is_none() {
        return;
    }
    let (line, _) = cx.source.line_column(text.at.start);
    kernel.files[index].clone_from(&cx.source.name);
    for loc in kernel.locs.iter_mut().filter(|l| l.file as usize == index && l.line > 0) {
        loc.line += line as u32 - 1;
    }
}

/// The shader crate's error with its place.
fn told(cx: &Context<'_>, decl: &ShaderDecl, error: &ShaderError) -> RunError {
    let unsupported = match error.kind {
        ShaderErrorKind::MissingTool => {
            let what = format!("shader `{}`: {}", decl.name.value, error.what);
            return RunError::Limit(Limit { kind: LimitKind::MissingTool, what });
        }
        ShaderErrorKind::Unsupported | ShaderErrorKind::Limit | ShaderErrorKind::Tool => true,
        ShaderErrorKind::Source | ShaderErrorKind::Invalid | ShaderErrorKind::Options => false,
        // Ours: it is told as what cannot be done.
        _ => true,
    };
    let kind = |problem: Problem| if unsupported { problem.unsupported() } else { problem };
    let mut all: Vec<Problems> = Vec::new();
    for diagnostic in error.diagnostics() {
        let (source, problem) = place(cx, decl, error, diagnostic);
        let problem = kind(problem);
        match all.iter_mut().find(|p| p.source.name == source.name) {
            Some(problems) => problems.list.push(problem),
            None => all.push(Problems::one(&source, problem)),
        }
    }
    if !all.is_empty() {
        return RunError::Problems(all);
    }
    // No diagnostics: one sentence, perhaps with a line.
    let what = format!("shader `{}`: {}", decl.name.value, plain(error));
    let position = error.line.as_deref().and_then(|line| {
        let (file, line) = line.rsplit_once(':')?;
        Some(Position { file: file.into(), line: line.parse().ok()?, column: 0 })
    });
    let diagnostic = Diagnostic::error(position, what);
    let (source, problem) = place(cx, decl, error, &diagnostic);
    Problems::one(&source, kind(problem)).into()
}

/// The sentence without the line, which the snippet shows.
fn plain(error: &ShaderError) -> String {
    let mut text = format!("{}: {}", error.kind.name(), error.what);
    if let (Some(op), Some(word)) = (&error.instruction, error.word) {
        text.push_str(&format!(" ({op} at word {word})"));
    }
    text
}

/// The text that a diagnostic points into, and the problem there.
fn place(
    cx: &Context<'_>,
    decl: &ShaderDecl,
    error: &ShaderError,
    diagnostic: &Diagnostic,
) -> (Source, Problem) {
    let mut message = diagnostic.message.clone();
    for from in &diagnostic.included_from {
        message.push_str(&format!("\nincluded from {from}"));
    }
    for note in &diagnostic.notes {
        message.push_str(&format!("\n{note}"));
    }
    let whole = |message: String| (cx.source.clone(), Problem::at(decl.name.at, message));
    let Some(at) = &diagnostic.at else { return whole(message) };
    if let ShaderText::Inline(text) = &decl.text
        && at.file == inline_name(cx, decl)
    {
        return match inline_span(cx.source, text.at, &text.value, at) {
            Some(span) => (cx.source.clone(), Problem::at(span, message)),
            None => whole(format!("{at}: {message}")),
        };
    }
    match error.files().iter().find(|f| f.name == at.file) {
        Some(file) => {
            let source = Source::new(file.name.clone(), file.text.as_str());
            let span = source.line_span(at.line as usize, at.column as usize);
            (source, Problem::at(span, message))
        }
        None => whole(format!("{at}: {message}")),
    }
}

/// Line and column of an inline text as a place in the scenario. Only a literal
/// block keeps its lines; the lines found must read the same.
fn inline_span(source: &Source, at: Span, text: &str, position: &Position) -> Option<Span> {
    let wanted = text.lines().nth((position.line as usize).checked_sub(1)?)?;
    let (first, _) = source.line_column(at.start);
    let line = source.line_span(first + position.line as usize - 1, 1);
    let found = source.text.get(line.start..line.start + line.len)?;
    let indent = found.len() - found.trim_start().len();
    let inner = wanted.len() - wanted.trim_start().len();
    if found.trim() != wanted.trim() || indent < inner {
        return None;
    }
    let column = (position.column as usize).saturating_sub(1).min(wanted.len());
    let start = line.start + indent - inner + column;
    let end = line.start + line.len;
    Some(Span::new(start.min(end), end.saturating_sub(start)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_a_block_are_lines_of_the_scenario() {
        let text = "Shaders:\n  - Source: |\n      one\n        two x\n";
        let source = Source::new("s", text);
        let at = Span::new(text.find("one").unwrap(), 4);
        let inline = "one\n  two x\n";
        let position = |line, column| Position { file: String::new(), line, column };
        let span = inline_span(&source, at, inline, &position(2, 7)).unwrap();
        assert_eq!(&text[span.start..span.start + span.len], "x");
        assert_eq!(inline_span(&source, at, inline, &position(3, 1)), None);
        // A folded text has other lines.
        assert_eq!(inline_span(&source, at, "one two\nx", &position(1, 1)), None);
    }
}
