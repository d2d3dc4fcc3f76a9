//! Reads the node tree into typed values and collects every problem on the way.
//!
//! Methods give `None` after noting a problem, so that one run over a file finds
//! all of them. The keys a mapping may have are the keys that its reader asked
//! for; what is left over is unknown.

use crate::expr::Expr;
use crate::node::{Key, Node, Value};
use crate::number;
use crate::problem::{Problem, Span};
use std::cell::RefCell;

/// A value with its place.
#[derive(Clone, Debug, PartialEq)]
pub struct At<T> {
    /// Where it stands.
    pub at: Span,
    /// The value.
    pub value: T,
}

impl<T> At<T> {
    /// A value at a place.
    pub const fn new(at: Span, value: T) -> Self {
        Self { at, value }
    }
}

/// Problems found so far.
#[derive(Debug, Default)]
pub struct Reader {
    problems: RefCell<Vec<Problem>>,
}

/// More problems than this are not listed.
const MAX_PROBLEMS: usize = 50;

impl Reader {
    /// Notes a problem.
    pub fn note(&self, problem: Problem) {
        let mut problems = self.problems.borrow_mut();
        if problems.len() < MAX_PROBLEMS {
            problems.push(problem);
        }
    }

    /// Every problem noted.
    pub fn into_problems(self) -> Vec<Problem> {
        self.problems.into_inner()
    }

    /// Keeps the value, or notes the problem.
    pub fn ok<T>(&self, result: Result<T, Problem>) -> Option<T> {
        result.map_err(|problem| self.note(problem)).ok()
    }

    fn wrong(&self, node: &Node, wanted: &str) {
        let found = match &node.value {
            Value::Scalar(text) => {
                format!("found `{}`", text.chars().take(40).collect::<String>())
            }
            Value::Null | Value::List(_) | Value::Map(_) => format!("found {}", node.kind()),
        };
        self.note(Problem::at(node.at, format!("{wanted} is needed here")).label(found));
    }

    /// The node as a mapping; `what` names it in messages (`a buffer`).
    pub fn map<'a>(&'a self, node: &'a Node, what: &'static str) -> Option<MapReader<'a>> {
        match &node.value {
            Value::Map(entries) => Some(MapReader {
                reader: self,
                at: node.at,
                what,
                taken: vec![false; entries.len()],
                entries,
                known: Vec::new(),
            }),
            Value::Null | Value::Scalar(_) | Value::List(_) => {
                self.wrong(node, &format!("a mapping that describes {what}"));
                None
            }
        }
    }

    /// The node as a list.
    pub fn list<'a>(&self, node: &'a Node, what: &str) -> Option<&'a [Node]> {
        match &node.value {
            Value::List(items) => Some(items),
            Value::Null | Value::Scalar(_) | Value::Map(_) => {
                self.wrong(node, what);
                None
            }
        }
    }

    /// Each item of a list through `read`.
    pub fn each<T>(
        &self,
        node: &Node,
        what: &str,
        mut read: impl FnMut(&Node) -> Option<T>,
    ) -> Option<Vec<T>> {
        let items = self.list(node, what)?;
        // Read all of them even if one fails: every problem is wanted.
        let read: Vec<Option<T>> = items.iter().map(&mut read).collect();
        read.into_iter().collect()
    }

    /// The node as text.
    pub fn text(&self, node: &Node) -> Option<At<String>> {
        match &node.value {
            Value::Scalar(text) => Some(At::new(node.at, text.clone())),
            Value::Null | Value::List(_) | Value::Map(_) => {
                self.wrong(node, "text");
                None
            }
        }
    }

    /// The node as an integer that `T` holds.
    pub fn int<T: TryFrom<i128>>(&self, node: &Node) -> Option<T> {
        let value = match &node.value {
            Value::Scalar(text) => number::int(text),
            Value::Null | Value::List(_) | Value::Map(_) => None,
        };
        let Some(value) = value else {
            self.wrong(node, "an integer");
            return None;
        };
        match T::try_from(value) {
            Ok(value) => Some(value),
            Err(_) => {
                let kind = std::any::type_name::<T>();
                self.note(Problem::at(node.at, format!("{value} does not fit {kind}")));
                None
            }
        }
    }

    /// The node as a float.
    pub fn float(&self, node: &Node) -> Option<f64> {
        let value = match &node.value {
            Value::Scalar(text) => number::float64(text),
            Value::Null | Value::List(_) | Value::Map(_) => None,
        };
        if value.is_none() {
            self.wrong(node, "a number");
        }
        value
    }

    /// The node as `true` or `false`.
    pub fn bool(&self, node: &Node) -> Option<bool> {
        match &node.value {
            Value::Scalar(text) if text == "true" || text == "1" => Some(true),
            Value::Scalar(text) if text == "false" || text == "0" => Some(false),
            Value::Null | Value::Scalar(_) | Value::List(_) | Value::Map(_) => {
                self.wrong(node, "true or false");
                None
            }
        }
    }

    /// The node as an expression.
    pub fn expr(&self, node: &Node) -> Option<Expr> {
        match &node.value {
            Value::Scalar(text) => self.ok(Expr::parse(text, node.at)),
            Value::Null | Value::List(_) | Value::Map(_) => {
                self.wrong(node, "a number, name or expression");
                None
            }
        }
    }

    /// The node as one word of a list of words.
    pub fn word<T: Copy>(&self, node: &Node, words: &[(&'static str, T)]) -> Option<At<T>> {
        let text = self.text(node)?;
        if let Some(&(_, value)) = words.iter().find(|(name, _)| *name == text.value) {
            return Some(At::new(text.at, value));
        }
        let names: Vec<&str> = words.iter().map(|w| w.0).collect();
        self.note(unknown(text.at, "value", &text.value, &names));
        None
    }
}

/// An unknown word with the nearest known one.
pub fn unknown(at: Span, what: &str, found: &str, known: &[&str]) -> Problem {
    let short: String = found.chars().take(60).collect();
    let problem = Problem::at(at, format!("unknown {what} `{short}`"));
    match nearest(found, known) {
        Some(near) => problem.label(format!("did you mean `{near}`?")),
        None => problem,
    }
    .help(format!("known here: {}", known.join(", ")))
}

/// The known word that is nearest to `found`, if one is near enough.
pub fn nearest<'a>(found: &str, known: &[&'a str]) -> Option<&'a str> {
    if found.len() > 64 {
        return None;
    }
    let lower = found.to_lowercase();
    known
        .iter()
        .map(|k| (distance(&lower, &k.to_lowercase()), *k))
        .min()
        .filter(|(d, k)| *d <= 1 + k.len().min(found.len()) / 3)
        .map(|(_, k)| k)
}

/// Edits between two words; a swap of neighbours counts as one.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows = vec![vec![0; b.len() + 1]; a.len() + 1];
    for i in 0..=a.len() {
        for j in 0..=b.len() {
            if i == 0 || j == 0 {
                rows[i][j] = i + j;
                continue;
            }
            let mut best = (rows[i - 1][j] + 1).min(rows[i][j - 1] + 1);
            best = best.min(rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]));
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            rows[i][j] = best;
        }
    }
    rows[a.len()][b.len()]
}

/// A mapping that is being read.
pub struct MapReader<'a> {
    reader: &'a Reader,
    /// Where the mapping starts.
    pub at: Span,
    what: &'static str,
    entries: &'a [(Key, Node)],
    taken: Vec<bool>,
    known: Vec<&'static str>,
}

impl<'a> MapReader<'a> {
    /// The reader that collects problems.
    pub fn reader(&self) -> &'a Reader {
        self.reader
    }

    /// The node under `key`, which from now on is a known key here.
    pub fn take(&mut self, key: &'static str) -> Option<&'a Node> {
        self.take_entry(key).map(|(_, node)| node)
    }

    /// As [`Self::take`], with the place of the key.
    pub fn take_entry(&mut self, key: &'static str) -> Option<(Span, &'a Node)> {
        self.known.push(key);
        let entries = self.entries;
        let index = entries.iter().position(|(k, _)| k.name == key)?;
        self.taken[index] = true;
        Some((entries[index].0.at, &entries[index].1))
    }

    /// The node under `key`; notes that it is missing.
    pub fn need(&mut self, key: &'static str) -> Option<&'a Node> {
        let node = self.take(key);
        // A misspelt key is reported once, by `finish`, as unknown.
        let misspelt = || {
            let other = |i: usize| !self.taken[i];
            let names = self.entries.iter().enumerate().filter(|(i, _)| other(*i));
            names.into_iter().any(|(_, (k, _))| nearest(&k.name, &[key]).is_some())
        };
        if node.is_none() && !misspelt() {
            let message = format!("{} needs `{key}`", self.what);
            self.reader.note(Problem::at(Span::new(self.at.start, 1), message));
        }
        node
    }

    /// Reads an optional key. The outer `None` means that it was there and wrong.
    pub fn opt<T>(
        &mut self,
        key: &'static str,
        read: impl FnOnce(&'a Reader, &'a Node) -> Option<T>,
    ) -> Option<Option<T>> {
        match self.take(key) {
            None => Some(None),
            Some(node) => read(self.reader, node).map(Some),
        }
    }

    /// Reads a key that must be there.
    pub fn req<T>(
        &mut self,
        key: &'static str,
        read: impl FnOnce(&'a Reader, &'a Node) -> Option<T>,
    ) -> Option<T> {
        let node = self.need(key)?;
        read(self.reader, node)
    }

    /// A key of the format that this version does not do: noted as unsupported if
    /// it is there.
    pub fn refuse(&mut self, key: &'static str, why: &str) {
        if let Some((at, _)) = self.take_entry(key) {
            self.reader
                .note(Problem::at(at, format!("`{key}` is not supported: {why}")).unsupported());
        }
    }

    /// Ends the mapping: keys that were never asked for are unknown.
    pub fn finish(self) -> Option<()> {
        let mut good = Some(());
        for ((key, _), taken) in self.entries.iter().zip(&self.taken) {
            if !taken {
                let what = format!("key in {}:", self.what);
                self.reader.note(unknown(key.at, &what, &key.name, &self.known));
                good = None;
            }
        }
        good
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_words() {
        let known = ["DescriptorSets", "Buffers", "Data"];
        assert_eq!(nearest("Bufers", &known), Some("Buffers"));
        assert_eq!(nearest("Dtaa", &known), Some("Data"));
        assert_eq!(nearest("buffers", &known), Some("Buffers"));
        assert_eq!(nearest("Zebra", &known), None);
        assert_eq!(nearest(&"B".repeat(100_000), &known), None);
    }
}
