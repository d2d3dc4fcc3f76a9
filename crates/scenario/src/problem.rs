//! What is wrong with an input, and where in its text.
//!
//! A [`Problem`] is text for a person plus a place; a [`Problems`] is all of
//! them for one file, with the text, and renders itself through `miette`.

use miette::{Diagnostic, LabeledSpan, NamedSource, SourceCode, SourceSpan};
use std::fmt;
use std::sync::Arc;

/// A range of bytes in the text of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// Offset of the first byte.
    pub start: usize,
    /// Length in bytes; 0 marks a point.
    pub len: usize,
}

impl Span {
    /// The range of `len` bytes from `start`.
    pub const fn new(start: usize, len: usize) -> Self {
        Self { start, len }
    }

    /// `len` bytes at `offset` inside this range (for parts of a scalar).
    pub const fn part(self, offset: usize, len: usize) -> Self {
        Self { start: self.start + offset, len }
    }
}

/// Which kind of failure a problem is; it decides the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ProblemKind {
    /// The input is wrong (exit code 2).
    Input,
    /// The input is right, but this version or host cannot do it (exit code 5).
    Unsupported,
}

/// One thing wrong, with its place and, where there is one, the way out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Wrong input or something unsupported.
    pub kind: ProblemKind,
    /// One sentence.
    pub message: String,
    /// Where, if the place is in the text.
    pub at: Option<Span>,
    /// A few words at the place.
    pub label: Option<String>,
    /// The way out.
    pub help: Option<String>,
}

impl Problem {
    /// Wrong input at a place.
    pub fn at(at: Span, message: impl Into<String>) -> Self {
        Self {
            kind: ProblemKind::Input,
            message: message.into(),
            at: Some(at),
            label: None,
            help: None,
        }
    }

    /// Wrong input as a whole.
    pub fn whole(message: impl Into<String>) -> Self {
        Self {
            kind: ProblemKind::Input,
            message: message.into(),
            at: None,
            label: None,
            help: None,
        }
    }

    /// The same problem as something unsupported.
    pub fn unsupported(mut self) -> Self {
        self.kind = ProblemKind::Unsupported;
        self
    }

    /// Adds the way out.
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Adds words at the place.
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = Some(label.into());
        self
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// A named text that problems point into.
#[derive(Clone, Debug)]
pub struct Source {
    /// The name a person knows: a path as it was given.
    pub name: String,
    /// The text.
    pub text: Arc<str>,
}

impl Source {
    /// A source of that name and text.
    pub fn new(name: impl Into<String>, text: impl Into<Arc<str>>) -> Self {
        Self { name: name.into(), text: text.into() }
    }

    /// Line and column (both from 1, the column in characters) of a byte.
    pub fn line_column(&self, at: usize) -> (usize, usize) {
        let mut at = at.min(self.text.len());
        while !self.text.is_char_boundary(at) {
            at -= 1;
        }
        let before = &self.text[..at];
        let line = before.matches('\n').count() + 1;
        let start = before.rfind('\n').map_or(0, |i| i + 1);
        (line, before[start..].chars().count() + 1)
    }

    /// The range of one line (from 1), from `column` (from 1) to its end. A place
    /// outside the text gives a point at the end.
    pub fn line_span(&self, line: usize, column: usize) -> Span {
        let mut start = 0;
        for _ in 1..line {
            match self.text[start..].find('\n') {
                Some(i) => start += i + 1,
                None => return Span::new(self.text.len(), 0),
            }
        }
        let text = self.text[start..].lines().next().unwrap_or("");
        let skip: usize = text.chars().take(column.saturating_sub(1)).map(char::len_utf8).sum();
        Span::new(start + skip, text.len() - skip)
    }
}

/// Everything wrong with one file.
#[derive(Clone, Debug)]
pub struct Problems {
    /// The file.
    pub source: Source,
    /// In the order of the text where they were found in that order; never empty
    /// when returned as an error.
    pub list: Vec<Problem>,
}

impl Problems {
    /// A single problem.
    pub fn one(source: &Source, problem: Problem) -> Self {
        Self { source: source.clone(), list: vec![problem] }
    }

    /// True if any problem is wrong input rather than something unsupported.
    pub fn is_bad_input(&self) -> bool {
        self.list.iter().any(|p| p.kind == ProblemKind::Input)
    }

    /// One diagnostic for each problem, for a `miette` handler.
    pub fn diagnostics(&self) -> impl Iterator<Item = ProblemReport> + '_ {
        self.list.iter().map(|problem| ProblemReport {
            problem: problem.clone(),
            source: NamedSource::new(&self.source.name, self.source.text.clone()),
        })
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, problem) in self.list.iter().enumerate() {
            if i > 0 {
                writeln!(f)?;
            }
            write!(f, "{}", self.source.name)?;
            if let Some(at) = problem.at {
                let (line, column) = self.source.line_column(at.start);
                write!(f, ":{line}:{column}")?;
            }
            write!(f, ": {}", problem.message)?;
            if let Some(label) = &problem.label {
                write!(f, ": {label}")?;
            }
            if let Some(help) = &problem.help {
                write!(f, " ({help})")?;
            }
        }
        Ok(())
    }
}

impl std::error::Error for Problems {}

/// A problem with its text, as `miette` wants it.
#[derive(Debug)]
pub struct ProblemReport {
    problem: Problem,
    source: NamedSource<Arc<str>>,
}

impl fmt::Display for ProblemReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Without a place there is no snippet to carry the file's name.
        if self.problem.at.is_none() {
            write!(f, "{}: ", self.source.name())?;
        }
        f.write_str(&self.problem.message)
    }
}

impl std::error::Error for ProblemReport {}

impl Diagnostic for ProblemReport {
    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.problem.help.as_ref().map(|h| Box::new(h) as Box<dyn fmt::Display>)
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.problem.at.map(|_| &self.source as &dyn SourceCode)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let at = self.problem.at?;
        let label = self.problem.label.clone().unwrap_or_else(|| "here".into());
        let span = SourceSpan::new(at.start.into(), at.len);
        Some(Box::new(std::iter::once(LabeledSpan::new_with_span(Some(label), span))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_survive_odd_texts() {
        let s = Source::new("f", "a\n\u{e9}b\n");
        assert_eq!(s.line_column(0), (1, 1));
        assert_eq!(s.line_column(4), (2, 2));
        assert_eq!(s.line_column(999), (3, 1));
        // Inside the two bytes of a character: its start.
        assert_eq!(s.line_column(3), (2, 1));
        assert_eq!(s.line_span(2, 2), Span::new(4, 1));
        assert_eq!(s.line_span(9, 1), Span::new(6, 0));
    }
}
