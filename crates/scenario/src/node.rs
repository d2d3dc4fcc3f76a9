//! YAML text to a tree in which every node knows its place.
//!
//! Limits, so that no input can take the machine down: [`MAX_BYTES`] of text,
//! [`MAX_NODES`] nodes after aliases are followed, [`MAX_DEPTH`] levels.

use crate::problem::{Problem, Span};
use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_saphyr::{Location, NonFiniteFloatPolicy, Spanned};
use std::fmt;

/// Longest text that is read, in bytes.
pub const MAX_BYTES: usize = 32 << 20;
/// Most nodes in one file, aliases counted as often as they are used.
pub const MAX_NODES: usize = 4_000_000;
/// Deepest nesting.
pub const MAX_DEPTH: usize = 48;

/// One node of a YAML document.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Where it stands.
    pub at: Span,
    /// What it is.
    pub value: Value,
}

/// The value of a node. A scalar keeps its spelling, so that readers decide what
/// it means.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Nothing, `~` or `null`.
    Null,
    /// A scalar's text: `0x10` stays `0x10`.
    Scalar(String),
    /// A list.
    List(Vec<Node>),
    /// Keys in the order of the file; no key twice.
    Map(Vec<(Key, Node)>),
}

/// A key of a mapping.
#[derive(Clone, Debug, PartialEq)]
pub struct Key {
    /// Where it stands.
    pub at: Span,
    /// Its text.
    pub name: String,
}

impl Node {
    /// What the node is, for messages.
    pub fn kind(&self) -> &'static str {
        match self.value {
            Value::Null => "nothing",
            Value::Scalar(_) => "a scalar",
            Value::List(_) => "a list",
            Value::Map(_) => "a mapping",
        }
    }
}

/// Parses one YAML document.
pub fn parse(text: &str) -> Result<Node, Problem> {
    if text.len() > MAX_BYTES {
        return Err(Problem::whole(format!(
            "the file has {} bytes; a scenario may have {MAX_BYTES}",
            text.len()
        )));
    }
    if let Some(at) = text.find('\0') {
        return Err(Problem::at(Span::new(at, 1), "the file holds a NUL byte; it is no text"));
    }
    if text.trim().is_empty() {
        return Err(Problem::whole("the file is empty")
            .help("a scenario needs at least Shaders, or CommandLists, Queues and Submit"));
    }
    let options = serde_saphyr::options! {
        with_snippet: false,
        non_finite_float_policy: NonFiniteFloatPolicy::AsString,
        budget: serde_saphyr::budget! {
            max_nodes: MAX_NODES,
            max_events: 3 * MAX_NODES,
            max_depth: MAX_DEPTH,
            max_total_scalar_bytes: MAX_BYTES,
        },
    };
    match serde_saphyr::from_str_with_options::<Spanned<Raw>>(text, options) {
        Ok(raw) => Ok(lift(text, raw)),
        Err(error) => {
            let message = yaml_message(&error);
            Err(match error.location().and_then(|l| span_of(text, l)) {
                Some(at) => Problem::at(at, message),
                None => Problem::whole(message),
            })
        }
    }
}

/// The parser's own words, without the place (which the snippet shows) and
/// without hints that name its Rust interface.
fn yaml_message(error: &serde_saphyr::Error) -> String {
    let text = error.to_string();
    let text = text.split(" at line ").next().unwrap_or_default();
    if text.starts_with("duplicate mapping key") {
        return text.split(", set ").next().unwrap_or_default().to_string();
    }
    if text.starts_with("multiple YAML documents") {
        return "the file holds more than one YAML document".to_string();
    }
    format!("this is not valid YAML: {text}")
}

fn span_of(text: &str, location: Location) -> Option<Span> {
    if location.line() == 0 {
        return None;
    }
    let span = location.span();
    match (span.byte_offset(), span.byte_len()) {
        (Some(start), Some(len)) => {
            let start = (start as usize).min(text.len());
            Some(Span::new(start, (len as usize).min(text.len() - start)))
        }
        // Scanner errors know characters only.
        _ => {
            let at = text.char_indices().nth(span.offset() as usize);
            Some(at.map_or(Span::new(text.len(), 0), |(i, c)| Span::new(i, c.len_utf8())))
        }
    }
}

fn lift(text: &str, raw: Spanned<Raw>) -> Node {
    // An alias is shown where it is used, its spelling read where it is defined.
    let at = span_of(text, raw.referenced).unwrap_or_default();
    let spelling = || {
        let at = span_of(text, raw.defined).unwrap_or_default();
        text.get(at.start..at.start + at.len).unwrap_or_default().to_string()
    };
    let value = match raw.value {
        Raw::Null => Value::Null,
        Raw::Plain(parsed) => {
            let text = spelling();
            Value::Scalar(if text.is_empty() { parsed } else { text })
        }
        Raw::Text(s) => Value::Scalar(s),
        Raw::List(items) => Value::List(items.into_iter().map(|i| lift(text, i)).collect()),
        Raw::Map(entries) => Value::Map(
            entries
                .into_iter()
                .map(|(k, v)| {
                    let at = span_of(text, k.referenced).unwrap_or_default();
                    (Key { at, name: k.value }, lift(text, v))
                })
                .collect(),
        ),
    };
    Node { at, value }
}

/// What the YAML library hands over.
enum Raw {
    Null,
    /// A plain scalar that YAML reads as a number or truth value.
    Plain(String),
    Text(String),
    List(Vec<Spanned<Raw>>),
    Map(Vec<(Spanned<String>, Spanned<Raw>)>),
}

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(RawVisitor)
    }
}

struct RawVisitor;

impl<'de> Visitor<'de> for RawVisitor {
    type Value = Raw;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any YAML value")
    }

    fn visit_bool<E: Error>(self, v: bool) -> Result<Raw, E> {
        Ok(Raw::Plain(v.to_string()))
    }

    fn visit_i64<E: Error>(self, v: i64) -> Result<Raw, E> {
        Ok(Raw::Plain(v.to_string()))
    }

    fn visit_u64<E: Error>(self, v: u64) -> Result<Raw, E> {
        Ok(Raw::Plain(v.to_string()))
    }

    fn visit_i128<E: Error>(self, v: i128) -> Result<Raw, E> {
        Ok(Raw::Plain(v.to_string()))
    }

    fn visit_u128<E: Error>(self, v: u128) -> Result<Raw, E> {
        Ok(Raw::Plain(v.to_string()))
    }

    fn visit_f64<E: Error>(self, v: f64) -> Result<Raw, E> {
        Ok(Raw::Plain(v.to_string()))
    }

    fn visit_str<E: Error>(self, v: &str) -> Result<Raw, E> {
        Ok(Raw::Text(v.to_string()))
    }

    fn visit_string<E: Error>(self, v: String) -> Result<Raw, E> {
        Ok(Raw::Text(v))
    }

    fn visit_unit<E: Error>(self) -> Result<Raw, E> {
        Ok(Raw::Null)
    }

    fn visit_none<E: Error>(self) -> Result<Raw, E> {
        Ok(Raw::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Raw, D::Error> {
        Raw::deserialize(deserializer)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Raw, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = access.next_element()? {
            items.push(item);
        }
        Ok(Raw::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Raw, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = access.next_entry()? {
            entries.push(entry);
        }
        Ok(Raw::Map(entries))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scalars(text: &str) -> Vec<String> {
        match parse(text).unwrap().value {
            Value::List(items) => items
                .into_iter()
                .map(|n| match n.value {
                    Value::Scalar(s) => s,
                    other => panic!("{other:?}"),
                })
                .collect(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn scalars_keep_their_spelling() {
        assert_eq!(
            scalars("[0x10, 1.5, -0.0, nan, .inf, 'q', 010, 18446744073709551615, true]"),
            ["0x10", "1.5", "-0.0", "nan", ".inf", "q", "010", "18446744073709551615", "true"]
        );
        assert_eq!(scalars("[&a 0x10, *a]"), ["0x10", "0x10"]);
    }

    #[test]
    fn block_scalars_start_at_their_text() {
        let text = "Source: |\n  one\n    two\n";
        let Value::Map(entries) = parse(text).unwrap().value else { panic!() };
        assert_eq!(entries[0].1.value, Value::Scalar("one\n  two\n".into()));
        assert_eq!(entries[0].1.at.start, 12);
    }

    #[test]
    fn hostile_texts_are_refused_with_a_place() {
        let bomb = (1..24).fold("a0: &a0 [x, x]\n".to_string(), |mut s, i| {
            s += &format!("a{i}: &a{i} [*a{0}, *a{0}]\n", i - 1);
            s
        });
        for text in ["", " \n", "a: 1\na: 2\n", "a: [1\nb: 2\n", "a: \0", "---\na\n---\nb\n", &bomb]
        {
            assert!(parse(text).is_err(), "{text:?}");
        }
        let deep = "[".repeat(100_000);
        assert!(parse(&deep).is_err());
        let twice = parse("a: 1\na: 2\n").unwrap_err();
        assert_eq!(twice.message, "duplicate mapping key: a");
        assert_eq!(twice.at, Some(Span::new(5, 1)));
    }
}
