//! Why a shader was refused.

use crate::source::{Diagnostic, Severity, SourceFile};
use std::fmt;

/// The kind of refusal.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum ShaderErrorKind {
    /// The source text does not compile; `what` holds the compiler's words.
    Source,
    /// The module breaks a rule of SPIR-V, or its words are damaged.
    Invalid,
    /// The module is well formed but uses something this version does not have.
    Unsupported,
    /// A limit of this crate (sizes, depths), named in `what`.
    Limit,
    /// A tool that must be there is not (the HLSL compiler).
    MissingTool,
    /// A tool crashed, hung or answered nonsense.
    Tool,
    /// The options do not fit the module (no such entry point, say).
    Options,
    /// The IR we made breaks our own rules: a bug of this crate.
    Internal,
}

impl ShaderErrorKind {
    /// One word for messages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Source => "source error",
            Self::Invalid => "invalid SPIR-V",
            Self::Unsupported => "unsupported",
            Self::Limit => "limit",
            Self::MissingTool => "missing tool",
            Self::Tool => "tool failed",
            Self::Options => "bad option",
            Self::Internal => "internal error",
        }
    }
}

/// A refusal with its place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ShaderError {
    /// The kind.
    pub kind: ShaderErrorKind,
    /// One sentence: what, and the way out if there is one.
    pub what: String,
    /// The SPIR-V instruction concerned, as `OpName`.
    pub instruction: Option<String>,
    /// Its offset in the module, in words.
    pub word: Option<usize>,
    /// Source line as `file:line`, if the module kept it.
    pub line: Option<String>,
    /// Boxed: errors travel through every result of this crate.
    details: Option<Box<Details>>,
}

#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Details {
    diagnostics: Vec<Diagnostic>,
    files: Vec<SourceFile>,
}

impl ShaderError {
    /// An error without a place.
    pub fn new(kind: ShaderErrorKind, what: impl Into<String>) -> Self {
        Self { kind, what: what.into(), instruction: None, word: None, line: None, details: None }
    }

    /// Something this version does not have.
    pub fn unsupported(what: impl Into<String>) -> Self {
        Self::new(ShaderErrorKind::Unsupported, what)
    }

    /// A broken rule of SPIR-V.
    pub fn invalid(what: impl Into<String>) -> Self {
        Self::new(ShaderErrorKind::Invalid, what)
    }

    /// A limit of this crate.
    pub fn limit(what: impl Into<String>) -> Self {
        Self::new(ShaderErrorKind::Limit, what)
    }

    /// A source named `name` that does not compile: the first error, and all that
    /// was said.
    pub fn from_diagnostics(name: &str, all: Vec<Diagnostic>) -> Self {
        let first = all.iter().find(|d| d.severity == Severity::Error).or(all.first());
        let (what, line) = match first {
            Some(d) => (d.message.clone(), d.at.as_ref().map(ToString::to_string)),
            None => ("it does not compile".to_owned(), None),
        };
        let line = line.or_else(|| Some(name.to_owned()));
        let details = Some(Box::new(Details { diagnostics: all, files: Vec::new() }));
        Self { line, details, ..Self::new(ShaderErrorKind::Source, what) }
    }

    /// Adds the texts that the error's places point into.
    #[must_use]
    pub fn with_files(mut self, files: Vec<SourceFile>) -> Self {
        let details = self.details.get_or_insert_default();
        if details.files.is_empty() {
            details.files = files;
        }
        self
    }

    /// Everything the compiler of a source said, warnings included; empty for
    /// errors found later.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        self.details.as_ref().map_or(&[], |d| &d.diagnostics)
    }

    /// The texts that lines and diagnostics point into, as far as known.
    pub fn files(&self) -> &[SourceFile] {
        self.details.as_ref().map_or(&[], |d| &d.files)
    }

    /// Names the instruction and its word offset, unless a place is known already.
    #[must_use]
    pub fn at(mut self, instruction: &str, word: usize) -> Self {
        if self.word.is_none() {
            self.instruction = Some(instruction.to_owned());
            self.word = Some(word);
        }
        self
    }

    /// Names the source line, unless one is known already.
    #[must_use]
    pub fn on_line(mut self, line: Option<String>) -> Self {
        if self.line.is_none() {
            self.line = line;
        }
        self
    }
}

impl fmt::Display for ShaderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = &self.line {
            write!(f, "{line}: ")?;
        }
        write!(f, "{}: {}", self.kind.name(), self.what)?;
        match (&self.instruction, self.word) {
            (Some(op), Some(word)) => write!(f, " ({op} at word {word})"),
            (None, Some(word)) => write!(f, " (at word {word})"),
            (_, None) => Ok(()),
        }
    }
}

impl std::error::Error for ShaderError {}
