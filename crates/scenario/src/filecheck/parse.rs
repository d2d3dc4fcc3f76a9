//! Finds directives in a check file.

use super::pattern::Pattern;
use super::{Failure, Options};

/// What a directive asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Somewhere behind the last match.
    Plain,
    /// On the next line.
    Next,
    /// On the same line.
    Same,
    /// Not before the next match.
    Not,
    /// In any order with its neighbours.
    Dag,
    /// A boundary that no other match crosses.
    Label,
    /// The next line is empty.
    Empty,
    /// So many matches one after the other.
    Count(u32),
}

/// One directive.
#[derive(Clone, Debug)]
pub(super) struct Directive {
    pub kind: Kind,
    pub pattern: Pattern,
    /// As written, `CHECK-NEXT`.
    pub name: String,
    /// The pattern as written.
    pub text: String,
    /// Line in the check file, from 1.
    pub line: usize,
}

impl Directive {
    pub(super) fn failure(&self, what: impl Into<String>, input_line: Option<usize>) -> Failure {
        Failure {
            line: self.line,
            directive: self.name.clone(),
            pattern: self.text.clone(),
            what: what.into(),
            input_line,
            nearest: None,
        }
    }
}

/// Every directive of a check file.
pub(super) fn directives(checks: &str, options: &Options) -> Result<Vec<Directive>, Failure> {
    let mut found: Vec<Directive> = Vec::new();
    for (index, line) in checks.lines().enumerate() {
        let Some(item) = directive(line, index + 1, options)? else { continue };
        let needs_match = matches!(item.kind, Kind::Next | Kind::Same | Kind::Empty);
        if needs_match && !found.iter().any(|d| d.kind != Kind::Not) {
            let what = format!("{} has no directive before it to go on from", item.name);
            return Err(item.failure(what, None));
        }
        found.push(item);
    }
    Ok(found)
}

/// The directive of one line.
fn directive(line: &str, number: usize, o: &Options) -> Result<Option<Directive>, Failure> {
    let comment = o.comment_prefixes.iter().filter_map(|p| prefix_at(line, p).map(|(at, _)| at));
    let comment = comment.min().unwrap_or(line.len());
    let mut first: Option<(usize, &str, Kind, bool, usize)> = None;
    for prefix in &o.prefixes {
        let mut from = 0;
        while let Some((at, end)) = prefix_at(&line[from..], prefix) {
            if let Some((kind, literal, len)) = suffix(&line[from + end..]) {
                if first.is_none_or(|f| from + at < f.0) {
                    first = Some((from + at, prefix, kind, literal, from + end + len));
                }
                break;
            }
            from += end;
        }
    }
    let Some((at, _, kind, literal, end)) = first.filter(|f| f.0 < comment) else {
        return Ok(None);
    };
    let strict = o.strict_whitespace && o.match_full_lines;
    let text = if strict { &line[end..] } else { line[end..].trim() };
    let name = line[at..end - 1].to_owned();
    let fail = |what: String| Failure {
        line: number,
        directive: name.clone(),
        pattern: text.to_owned(),
        what,
        input_line: None,
        nearest: None,
    };
    if kind == Kind::Empty && !text.is_empty() {
        return Err(fail("an EMPTY directive has no pattern".into()));
    }
    if kind != Kind::Empty && text.is_empty() {
        return Err(fail("the directive has no pattern".into()));
    }
    if kind == Kind::Count(0) {
        return Err(fail("the count of a COUNT directive is at least 1".into()));
    }
    let pattern = if literal {
        Pattern::literal(text)
    } else {
        Pattern::parse(text, number).map_err(fail)?
    };
    Ok(Some(Directive { kind, pattern, name: name.clone(), text: text.into(), line: number }))
}

/// Where `prefix` stands as a word of its own: its start and end.
fn prefix_at(line: &str, prefix: &str) -> Option<(usize, usize)> {
    let part = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let mut from = 0;
    while let Some(found) = line[from..].find(prefix) {
        let at = from + found;
        let end = at + prefix.len();
        let alone = !line[..at].chars().next_back().is_some_and(part);
        if alone && line[end..].starts_with([':', '-', '{']) {
            return Some((at, end));
        }
        from = end.max(at + 1);
        if !line.is_char_boundary(from) {
            return None;
        }
    }
    None
}

/// What follows a prefix up to and with the colon: the kind, whether it is
/// literal, and its length.
fn suffix(rest: &str) -> Option<(Kind, bool, usize)> {
    const WORDS: [(&str, Kind); 7] = [
        ("-NEXT", Kind::Next),
        ("-SAME", Kind::Same),
        ("-NOT", Kind::Not),
        ("-DAG", Kind::Dag),
        ("-LABEL", Kind::Label),
        ("-EMPTY", Kind::Empty),
        ("", Kind::Plain),
    ];
    let finish = |kind, used: usize| {
        let rest = &rest[used..];
        if rest.starts_with(':') {
            return Some((kind, false, used + 1));
        }
        rest.starts_with("{LITERAL}:").then_some((kind, true, used + "{LITERAL}:".len()))
    };
    if let Some(count) = rest.strip_prefix("-COUNT-") {
        let digits = count.len() - count.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let n = count[..digits].parse().ok()?;
        return finish(Kind::Count(n), "-COUNT-".len() + digits);
    }
    WORDS
        .iter()
        .filter(|(word, _)| rest.starts_with(word))
        .find_map(|&(word, kind)| finish(kind, word.len()))
}
