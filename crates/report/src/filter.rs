//! Suppressions and baselines: which findings and faults a run is not to be judged
//! by.
//!
//! One format for both. A line holds `key=value` pairs, of which every one must fit;
//! values with spaces stand in double quotes, with `\"` and `\\` inside; `*` in a
//! value fits any text; `#` starts a comment line:
//!
//! ```text
//! # The first frame reads the history buffer before it is written.
//! rule=uninitialised-read resource=History
//! rule=10 call="list \"Frame\" #*"
//! ```
//!
//! Keys: `rule` (number or name; the kind of a fault without a rule), `verdict`,
//! `call`, `shader`, and every key of the finding's own block, such as `resource`,
//! `cache`, `producer`, `consumer-line` or `element`. A baseline is such a file
//! that [`write_baseline`] made.

use crate::Report;
use crate::item::{FaultItem, FindingItem};
use std::fmt::{self, Write};

/// One line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suppression {
    /// Its line in the file, from 1.
    pub line: usize,
    pairs: Vec<(String, String)>,
}

/// A line that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilterError {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub message: String,
}

impl fmt::Display for FilterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.message)
    }
}

impl std::error::Error for FilterError {}

/// Keys that findings, their blocks and faults have.
pub const KEYS: &[&str] = &[
    "rule",
    "verdict",
    "call",
    "shader",
    "line",
    "list",
    "argument",
    "value",
    "resource",
    "address",
    "cache",
    "held-since",
    "queue",
    "element",
    "missed",
    "mend",
    "assumes",
    "producer",
    "producer-queue",
    "producer-path",
    "producer-shader",
    "producer-line",
    "consumer",
    "consumer-queue",
    "consumer-path",
    "consumer-shader",
    "consumer-line",
];

/// Keys that a baseline's lines are made of: where a finding is, not which lane of
/// which wave met it.
const BASELINE: &[&str] =
    &["rule", "call", "resource", "cache", "producer", "consumer-line", "element", "argument"];

/// Reads a file of suppressions.
///
/// # Errors
/// The first line that is none.
pub fn parse(text: &str) -> Result<Vec<Suppression>, FilterError> {
    let mut out = Vec::new();
    for (i, line) in text.lines().enumerate() {
        let words = line.trim();
        if words.is_empty() || words.starts_with('#') {
            continue;
        }
        let error = |message: String| FilterError { line: i + 1, message };
        let pairs = pairs(words).map_err(error)?;
        for (key, _) in &pairs {
            if !KEYS.contains(&key.as_str()) {
                let known = KEYS.join(", ");
                return Err(error(format!("there is no key `{key}`; there are {known}")));
            }
        }
        out.push(Suppression { line: i + 1, pairs });
    }
    Ok(out)
}

fn pairs(text: &str) -> Result<Vec<(String, String)>, String> {
    let mut pairs = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let Some((key, after)) = rest.split_once('=') else {
            return Err(format!("`{rest}` is no key=value"));
        };
        let (value, after) = value(after)?;
        pairs.push((key.trim().to_owned(), value));
        rest = after.trim_start();
    }
    Ok(pairs)
}

/// One value and what stands after it.
fn value(text: &str) -> Result<(String, &str), String> {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find(char::is_whitespace).unwrap_or(text.len());
        return Ok((text[..end].to_owned(), &text[end..]));
    };
    let mut out = String::new();
    let mut chars = quoted.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Ok((out, &quoted[at + 1..])),
            '\\' => match chars.next() {
                Some((_, c @ ('"' | '\\'))) => out.push(c),
                Some((_, c)) => {
                    return Err(format!("`\\{c}` is no escape; there are \\\" and \\\\"));
                }
                None => break,
            },
            c => out.push(c),
        }
    }
    Err("a quoted value does not end".into())
}

/// What a suppression looks at.
trait Judged {
    /// The values of a key; a rule has two names.
    fn values(&self, key: &str) -> Vec<String>;
}

impl Judged for FindingItem {
    fn values(&self, key: &str) -> Vec<String> {
        match key {
            "rule" => vec![self.rule.clone(), self.number.to_string()],
            "verdict" => vec![self.verdict.clone()],
            "call" => vec![self.call.clone()],
            _ => {
                let own = self
                    .properties
                    .iter()
                    .filter(|(k, _)| k == key || (key == "shader" && k.ends_with("-shader")));
                own.map(|(_, v)| v.clone()).collect()
            }
        }
    }
}

impl Judged for FaultItem {
    fn values(&self, key: &str) -> Vec<String> {
        let one = |v: &Option<String>| v.iter().cloned().collect();
        match key {
            "rule" => {
                let number = self.number.map(|n| n.to_string());
                [Some(self.kind.clone()), self.rule.clone(), number].into_iter().flatten().collect()
            }
            "verdict" => vec!["proven".into()],
            "call" => one(&self.call),
            "queue" => one(&self.queue),
            "shader" => one(&self.shader),
            "line" => one(&self.line),
            "address" => one(&self.address),
            _ => Vec::new(),
        }
    }
}

impl Suppression {
    fn fits(&self, item: &impl Judged) -> bool {
        self.pairs.iter().all(|(key, pattern)| item.values(key).iter().any(|v| like(pattern, v)))
    }
}

/// True if `text` is `pattern` with any text for each `*`.
fn like(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else { return rest.is_empty() };
    for part in middle {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

impl Report {
    /// Takes out what a suppression fits and counts it; the lines that fitted
    /// nothing.
    pub fn suppress<'a>(&mut self, list: &'a [Suppression]) -> Vec<&'a Suppression> {
        let unused = self.unused(list);
        let before = self.findings.len() + self.faults.len();
        self.findings.retain(|f| !list.iter().any(|s| s.fits(f)));
        self.faults.retain(|f| !list.iter().any(|s| s.fits(f)));
        self.suppressed += (before - self.findings.len() - self.faults.len()) as u64;
        unused
    }

    /// Marks what a baseline knows: shown, but not counted. The lines that fitted
    /// nothing: what is known no longer happens.
    pub fn know<'a>(&mut self, list: &'a [Suppression]) -> Vec<&'a Suppression> {
        let unused = self.unused(list);
        for f in &mut self.findings {
            f.known |= list.iter().any(|s| s.fits(f));
        }
        for f in &mut self.faults {
            f.known |= list.iter().any(|s| s.fits(f));
        }
        unused
    }

    fn unused<'a>(&self, list: &'a [Suppression]) -> Vec<&'a Suppression> {
        let used = |s: &Suppression| {
            self.findings.iter().any(|f| s.fits(f)) || self.faults.iter().any(|f| s.fits(f))
        };
        list.iter().filter(|s| !used(s)).collect()
    }
}

/// A file that knows every finding and fault of a report that counts.
pub fn write_baseline(report: &Report) -> String {
    let mut out = format!("# Findings of {} that are known.\n", report.scenario);
    let mut lines: Vec<String> = Vec::new();
    let counted = report.findings.iter().filter(|f| !f.expected && f.verdict != "advice");
    lines.extend(counted.map(line));
    lines.extend(report.faults.iter().filter(|f| !f.expected).map(line));
    lines.sort();
    lines.dedup();
    for line in lines {
        let _ = writeln!(out, "{line}");
    }
    out
}

fn line(item: &impl Judged) -> String {
    let mut pairs = Vec::new();
    for key in BASELINE {
        if let Some(value) = item.values(key).first() {
            let plain = |c: char| c.is_ascii_alphanumeric() || "._-:#/,".contains(c);
            if !value.is_empty() && value.chars().all(plain) {
                pairs.push(format!("{key}={value}"));
            } else if !value.contains('*') {
                // A star would fit more than this one.
                let text = value.replace('\\', "\\\\").replace('"', "\\\"");
                pairs.push(format!("{key}=\"{text}\""));
            }
        }
    }
    pairs.join(" ")
}
