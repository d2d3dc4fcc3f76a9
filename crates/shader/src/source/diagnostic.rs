//! What a shader compiler says about a source.

use std::fmt;

/// A place in a source file. Line and column count from 1; a column of 0 is
/// unknown. The column counts bytes for HLSL (as DXC does), characters for
/// WGSL and SPIR-V text.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Position {
    /// Name of the file: the name given for the main source, the path for an
    /// included one.
    pub file: String,
    /// Line.
    pub line: u32,
    /// Column.
    pub column: u32,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.column {
            0 => write!(f, "{}:{}", self.file, self.line),
            column => write!(f, "{}:{}:{column}", self.file, self.line),
        }
    }
}

/// How bad a [`Diagnostic`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Severity {
    /// Says more about the diagnostic before it.
    Note,
    /// The source compiles all the same.
    Warning,
    /// The source does not compile.
    Error,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        })
    }
}

/// One message about a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// Where, if it has a place.
    pub at: Option<Position>,
    /// One or more sentences.
    pub message: String,
    /// Where the file of `at` was included, innermost first.
    pub included_from: Vec<Position>,
    /// More about it, in order.
    pub notes: Vec<Diagnostic>,
}

impl Diagnostic {
    /// An error.
    pub fn error(at: Option<Position>, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Error,
            at,
            message: message.into(),
            included_from: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// A warning.
    pub fn warning(at: Option<Position>, message: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(at, message) }
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(at) = &self.at {
            write!(f, "{at}: ")?;
        }
        write!(f, "{}: {}", self.severity, self.message)?;
        for from in &self.included_from {
            write!(f, "\n  included from {from}")?;
        }
        for note in &self.notes {
            write!(f, "\n{note}")?;
        }
        Ok(())
    }
}

/// A file that took part in a compile, for showing its lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceFile {
    /// Its name in diagnostics: as given for the main source, the path of an
    /// included one.
    pub name: String,
    /// Its name in the module's debug lines, where that differs.
    pub debug_name: Option<String>,
    /// Its text.
    pub text: String,
}
