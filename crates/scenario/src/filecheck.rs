//! Checks a text against patterns, as LLVM's FileCheck does.
//!
//! The rules are those of FileCheck's public manual: directives are found by
//! prefix in any text; plain text matches itself (runs of blanks match any
//! blanks), `{{…}}` is a regular expression, `[[NAME:…]]` defines and `[[NAME]]`
//! uses a string variable, `[[#…]]` numbers. Directives: plain, `-NEXT`, `-SAME`,
//! `-NOT`, `-DAG`, `-LABEL`, `-EMPTY`, `-COUNT-n`, and `{LITERAL}`.
//!
//! A variable that is used in the pattern that defines it is refused: the
//! regular expressions here are linear in time and know no back references.

mod matching;
mod parse;
mod pattern;

use std::fmt;

/// How to check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Prefixes of directives, without the colon.
    pub prefixes: Vec<String>,
    /// Prefixes of comments: directives behind them on a line do not count.
    pub comment_prefixes: Vec<String>,
    /// Blanks match exactly.
    pub strict_whitespace: bool,
    /// A pattern matches a whole line.
    pub match_full_lines: bool,
    /// Letters match in any case.
    pub ignore_case: bool,
    /// Variables without `$` end at a label.
    pub enable_var_scope: bool,
    /// An empty input is no error by itself.
    pub allow_empty: bool,
    /// `-NOT` patterns that hold everywhere else.
    pub implicit_not: Vec<String>,
    /// Variables that are there from the start.
    pub defines: Vec<(String, String)>,
}

impl Default for Options {
    /// FileCheck without arguments.
    fn default() -> Self {
        Self {
            prefixes: vec!["CHECK".into()],
            comment_prefixes: vec!["COM".into(), "RUN".into()],
            strict_whitespace: false,
            match_full_lines: false,
            ignore_case: false,
            enable_var_scope: false,
            allow_empty: false,
            implicit_not: Vec::new(),
            defines: Vec::new(),
        }
    }
}

impl Options {
    /// Reads a command line's arguments: the options, and the name of the check
    /// file. `--input-file` comes last in the result.
    ///
    /// # Errors
    /// A sentence about the argument that is not understood.
    pub fn from_args(args: &[String]) -> Result<(Self, String, Option<String>), String> {
        let mut options = Self::default();
        let (mut prefixes, mut file, mut input) = (Vec::new(), None, None);
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            if let Some(define) = arg.strip_prefix("-D") {
                let (name, value) =
                    define.split_once('=').ok_or_else(|| format!("`{arg}` has no value"))?;
                options.defines.push((name.into(), value.into()));
                continue;
            }
            let Some(option) = arg.strip_prefix("--").or_else(|| arg.strip_prefix('-')) else {
                if file.replace(arg.clone()).is_some() {
                    return Err(format!("a second check file: `{arg}`"));
                }
                continue;
            };
            let (name, joined) =
                option.split_once('=').map_or((option, None), |(n, v)| (n, Some(v.to_owned())));
            let mut value = || {
                joined
                    .clone()
                    .or_else(|| args.next().cloned())
                    .ok_or_else(|| format!("`{arg}` needs a value"))
            };
            let list = |text: String| text.split(',').map(str::to_owned).collect::<Vec<_>>();
            match name {
                "check-prefix" | "check-prefixes" => prefixes.extend(list(value()?)),
                "comment-prefixes" => options.comment_prefixes = list(value()?),
                "input-file" => input = Some(value()?),
                "implicit-check-not" => options.implicit_not.push(value()?),
                "strict-whitespace" => options.strict_whitespace = true,
                "match-full-lines" => options.match_full_lines = true,
                "ignore-case" => options.ignore_case = true,
                "enable-var-scope" => options.enable_var_scope = true,
                "allow-empty" => options.allow_empty = true,
                // They change what FileCheck prints, not what it accepts.
                "v" | "vv" | "color" => {}
                "dump-input" | "dump-input-context" | "dump-input-filter" => drop(value()?),
                _ => return Err(format!("the FileCheck option `{arg}` is not known here")),
            }
        }
        if !prefixes.is_empty() {
            options.prefixes = prefixes;
        }
        if options.prefixes.iter().chain(&options.comment_prefixes).any(String::is_empty) {
            return Err("a prefix is empty".into());
        }
        let file = file.ok_or("no check file is named")?;
        Ok((options, file, input))
    }
}

/// What did not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Line of the directive in the check file, from 1; 0 if no one is at fault.
    pub line: usize,
    /// The directive as it is written, `CHECK-NEXT`.
    pub directive: String,
    /// Its pattern.
    pub pattern: String,
    /// What is wrong.
    pub what: String,
    /// The input line it is about, from 1: where the search began, or what was
    /// found in the wrong place.
    pub input_line: Option<usize>,
    /// The input line that is most like the pattern: its number and text.
    pub nearest: Option<(usize, Box<str>)>,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line > 0 {
            write!(f, "line {}: {}: {}: ", self.line, self.directive, self.pattern)?;
        }
        f.write_str(&self.what)?;
        if let Some(line) = self.input_line {
            write!(f, " (input line {line})")?;
        }
        if let Some((line, text)) = &self.nearest {
            write!(f, "; nearest is line {line}: {text}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Failure {}

/// Checks `input` against the directives in `checks`.
///
/// # Errors
/// The first directive that does not hold, or that is no directive.
pub fn check(checks: &str, input: &str, options: &Options) -> Result<(), Failure> {
    let whole = |what: &str| Failure {
        line: 0,
        directive: String::new(),
        pattern: String::new(),
        what: what.into(),
        input_line: None,
        nearest: None,
    };
    let directives = parse::directives(checks, options)?;
    if directives.is_empty() {
        let names = options.prefixes.join(", ");
        return Err(whole(&format!("the check file has no directive with the prefix {names}")));
    }
    if input.is_empty() && !options.allow_empty {
        return Err(whole("the input is empty"));
    }
    matching::run(&directives, input, options)
}

#[cfg(test)]
mod tests;
