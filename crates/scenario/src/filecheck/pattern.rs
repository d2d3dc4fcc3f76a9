//! A directive's pattern, and its match in a text.

use super::Options;
use regex::{Regex, RegexBuilder};
use std::collections::BTreeMap;

/// A piece of a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    /// Itself.
    Text(String),
    /// A regular expression.
    Regex(String),
    /// Takes what the regular expression matches as the value of a variable.
    Define { name: String, regex: String, number: Option<Base> },
    /// The value of a string variable.
    Use(String),
    /// A number: a variable or none, plus a constant.
    Number { variable: Option<String>, plus: i128, base: Option<Base> },
}

/// How a number is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Base {
    Unsigned,
    Signed,
    Lower,
    Upper,
}

impl Base {
    const fn regex(self) -> &'static str {
        match self {
            Self::Unsigned => "[0-9]+",
            Self::Signed => "-?[0-9]+",
            Self::Lower => "[0-9a-f]+",
            Self::Upper => "[0-9A-F]+",
        }
    }

    fn read(self, text: &str) -> Option<i128> {
        match self {
            Self::Unsigned | Self::Signed => text.parse().ok(),
            Self::Lower | Self::Upper => i128::from_str_radix(text, 16).ok(),
        }
    }

    fn write(self, value: i128) -> String {
        match self {
            Self::Unsigned | Self::Signed => value.to_string(),
            Self::Lower => format!("{value:x}"),
            Self::Upper => format!("{value:X}"),
        }
    }
}

/// Variables so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Variables {
    text: BTreeMap<String, String>,
    numbers: BTreeMap<String, (i128, Base)>,
}

impl Variables {
    pub(super) fn new(defines: &[(String, String)]) -> Self {
        let mut all = Self::default();
        for (name, value) in defines {
            match name.strip_prefix('#') {
                Some(name) => {
                    if let Ok(value) = value.parse() {
                        all.numbers.insert(name.into(), (value, Base::Unsigned));
                    }
                }
                None => drop(all.text.insert(name.clone(), value.clone())),
            }
        }
        all
    }

    /// Forgets those whose name has no `$`.
    pub(super) fn forget_local(&mut self) {
        self.text.retain(|name, _| name.starts_with('$'));
        self.numbers.retain(|name, _| name.starts_with('$'));
    }
}

/// A directive's pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pattern(Vec<Piece>);

impl Pattern {
    /// Text that matches itself.
    pub(super) fn literal(text: &str) -> Self {
        Self(vec![Piece::Text(text.into())])
    }

    /// Reads a pattern; `line` is what `@LINE` stands for.
    pub(super) fn parse(text: &str, line: usize) -> Result<Self, String> {
        let mut pieces = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            if let Some(inner) = rest.strip_prefix("{{") {
                let end = inner.find("}}").ok_or("`{{` has no `}}`")?;
                // A brace that belongs to the expression, as in `{{a{2}}}`.
                let end = end + inner[end + 2..].chars().take_while(|&c| c == '}').count();
                regex_of(&inner[..end])?;
                pieces.push(Piece::Regex(inner[..end].into()));
                rest = &inner[end + 2..];
            } else if let Some(inner) = rest.strip_prefix("[[").filter(|r| is_variable(r)) {
                let end = closing(inner).ok_or("`[[` has no `]]`")?;
                pieces.push(variable(&inner[..end], line)?);
                rest = &inner[end + 2..];
            } else {
                let next = |open: &str| {
                    let from = rest.chars().next().map_or(0, char::len_utf8);
                    rest[from..].find(open).map(|at| at + from)
                };
                let end = [next("{{"), next("[[")].into_iter().flatten().min();
                let end = end.unwrap_or(rest.len());
                pieces.push(Piece::Text(rest[..end].into()));
                rest = &rest[end..];
            }
        }
        let defined = |n: &String| {
            pieces.iter().any(|p| matches!(p, Piece::Define { name, .. } if name == n))
        };
        for piece in &pieces {
            if let Piece::Use(name) | Piece::Number { variable: Some(name), .. } = piece
                && defined(name)
            {
                return Err(format!("`{name}` is used in the pattern that defines it"));
            }
        }
        Ok(Self(pieces))
    }

    /// The regular expression under these variables, and the names its groups
    /// define.
    pub(super) fn compile(&self, vars: &Variables, o: &Options) -> Result<Compiled, String> {
        let mut source = String::new();
        let mut groups = Vec::new();
        if o.match_full_lines {
            source.push_str(if o.strict_whitespace { "^" } else { "^ *" });
        }
        for piece in &self.0 {
            match piece {
                Piece::Text(text) => source.push_str(&escape(text, o)),
                Piece::Regex(regex) => source.push_str(&format!("(?:{regex})")),
                Piece::Define { name, regex, number } => {
                    source.push_str(&format!("(?P<g{}>{regex})", groups.len()));
                    groups.push((name.clone(), *number));
                }
                Piece::Use(name) => {
                    let value = vars.text.get(name);
                    let value = value.ok_or_else(|| format!("`{name}` is not defined"))?;
                    source.push_str(&regex::escape(value));
                }
                Piece::Number { variable, plus, base } => {
                    let (value, own) = match variable {
                        Some(name) => *vars
                            .numbers
                            .get(name)
                            .ok_or_else(|| format!("`#{name}` is not defined"))?,
                        None => (0, Base::Unsigned),
                    };
                    let value = value.checked_add(*plus).ok_or("a number is too large")?;
                    source.push_str(&regex::escape(&base.unwrap_or(own).write(value)));
                }
            }
        }
        if o.match_full_lines {
            source.push_str(if o.strict_whitespace { "$" } else { " *$" });
        }
        let regex = RegexBuilder::new(&source)
            .multi_line(true)
            .case_insensitive(o.ignore_case)
            .build()
            .map_err(|e| format!("the regular expression is wrong: {e}"))?;
        Ok(Compiled { regex, groups })
    }

    /// The pattern as plain text, to look for lines that are like it.
    pub(super) fn plain(&self) -> String {
        let text = |p: &Piece| match p {
            Piece::Text(text) => text.clone(),
            Piece::Regex(_) | Piece::Define { .. } | Piece::Use(_) | Piece::Number { .. } => {
                String::new()
            }
        };
        self.0.iter().map(text).collect()
    }
}

/// Blanks of plain text as the input has them.
fn escape(text: &str, o: &Options) -> String {
    if o.strict_whitespace {
        return regex::escape(text);
    }
    regex::escape(&super::matching::squeeze(text))
}

fn regex_of(text: &str) -> Result<Regex, String> {
    Regex::new(text).map_err(|_| format!("`{text}` is no regular expression"))
}

/// True if what follows `[[` is a variable and not plain text.
fn is_variable(inner: &str) -> bool {
    inner.starts_with(|c: char| c.is_ascii_alphabetic() || "_$#@".contains(c))
}

/// The place of the `]]` that ends a variable: brackets inside may nest.
fn closing(text: &str) -> Option<usize> {
    let (mut depth, mut escaped) = (0usize, false);
    for (i, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            ']' if depth == 0 && text[i..].starts_with("]]") => return Some(i),
            ']' => depth = depth.saturating_sub(1),
            '[' => depth += 1,
            _ => {}
        }
    }
    None
}

fn is_name(text: &str) -> bool {
    let rest = text.strip_prefix('$').unwrap_or(text);
    rest.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && rest.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

fn variable(text: &str, line: usize) -> Result<Piece, String> {
    if let Some(number) = text.strip_prefix('#') {
        return numeric(number.trim(), line);
    }
    if let Some(rest) = text.strip_prefix("@LINE") {
        let plus = offset(rest).ok_or_else(|| format!("`[[{text}]]` is no line"))?;
        return Ok(Piece::Number { variable: None, plus: line as i128 + plus, base: None });
    }
    let (name, regex) = text.split_once(':').map_or((text, None), |(n, r)| (n, Some(r)));
    if !is_name(name) {
        return Err(format!("`{name}` is no name of a variable"));
    }
    match regex {
        None => Ok(Piece::Use(name.into())),
        Some(regex) => {
            regex_of(regex)?;
            Ok(Piece::Define { name: name.into(), regex: regex.into(), number: None })
        }
    }
}

/// `%x, NAME:`, `NAME + 1`, `@LINE`, `==`-less constants.
fn numeric(text: &str, line: usize) -> Result<Piece, String> {
    let bad = || format!("`[[#{text}]]` is not understood");
    let (base, rest) = match text.strip_prefix('%') {
        None => (None, text),
        Some(format) => {
            let letter = format.chars().next().ok_or_else(bad)?;
            let base = match letter {
                'u' => Base::Unsigned,
                'd' => Base::Signed,
                'x' => Base::Lower,
                'X' => Base::Upper,
                _ => return Err(bad()),
            };
            (Some(base), format[1..].trim_start().trim_start_matches(',').trim_start())
        }
    };
    if let Some(name) = rest.strip_suffix(':') {
        let name = name.trim();
        if !is_name(name) {
            return Err(bad());
        }
        let base = base.unwrap_or(Base::Unsigned);
        let (name, regex) = (name.to_owned(), base.regex().to_owned());
        return Ok(Piece::Define { name, regex, number: Some(base) });
    }
    if rest.is_empty() {
        return Ok(Piece::Regex(base.unwrap_or(Base::Unsigned).regex().into()));
    }
    let end = rest.find(['+', '-', ' ']).unwrap_or(rest.len());
    let (head, tail) = rest.split_at(end);
    let plus = offset(tail).ok_or_else(bad)?;
    if head == "@LINE" {
        return Ok(Piece::Number { variable: None, plus: line as i128 + plus, base });
    }
    if let Ok(value) = head.parse::<i128>() {
        let plus = value.checked_add(plus).ok_or_else(bad)?;
        return Ok(Piece::Number { variable: None, plus, base });
    }
    if !is_name(head) {
        return Err(bad());
    }
    Ok(Piece::Number { variable: Some(head.into()), plus, base })
}

/// `+ 3`, `-3` or nothing.
fn offset(text: &str) -> Option<i128> {
    let text: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    match text.strip_prefix('+').unwrap_or(&text) {
        "" if text.is_empty() => Some(0),
        digits => digits.parse().ok(),
    }
}

/// A pattern ready to match.
pub(super) struct Compiled {
    regex: Regex,
    groups: Vec<(String, Option<Base>)>,
}

impl Compiled {
    /// The first match at or behind `from`: its range.
    pub(super) fn find(&self, text: &str, from: usize) -> Option<(usize, usize)> {
        self.regex.find_at(text, from).map(|m| (m.start(), m.end()))
    }

    /// Sets the variables that the match at `from` defines.
    pub(super) fn define(&self, text: &str, from: usize, vars: &mut Variables) {
        if self.groups.is_empty() {
            return;
        }
        let Some(found) = self.regex.captures_at(text, from) else { return };
        for (i, (name, number)) in self.groups.iter().enumerate() {
            let value = found.name(&format!("g{i}")).map_or("", |m| m.as_str());
            match number {
                None => drop(vars.text.insert(name.clone(), value.to_owned())),
                Some(base) => {
                    if let Some(value) = base.read(value) {
                        vars.numbers.insert(name.clone(), (value, *base));
                    }
                }
            }
        }
    }
}
