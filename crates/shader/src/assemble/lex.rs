//! Tokens of SPIR-V text.

use super::Problem;
use std::borrow::Cow;

/// What a token is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind<'a> {
    /// `%name`, without the sign.
    Id(&'a str),
    /// `=`
    Equals,
    /// A string, escapes resolved.
    Text(Cow<'a, str>),
    /// Anything else: opcode, enumerant, number, immediate.
    Word(&'a str),
}

/// A token and where it starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Token<'a> {
    pub kind: Kind<'a>,
    pub line: u32,
    pub column: u32,
}

/// True for the first word of an instruction: `Op` and an upper-case letter.
pub(super) fn is_opcode(word: &str) -> bool {
    word.strip_prefix("Op").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_uppercase()))
}

/// The version word that a `; Version: M.N` comment asks for.
pub(super) fn version(text: &str) -> u32 {
    let named =
        text.lines().take_while(|l| l.starts_with(';') || l.trim().is_empty()).find_map(|l| {
            let (major, minor) = l
                .trim_start_matches(';')
                .trim()
                .strip_prefix("Version:")?
                .trim()
                .split_once('.')?;
            Some((major.parse::<u8>().ok()?, minor.parse::<u8>().ok()?))
        });
    let (major, minor) =
        named.filter(|(major, minor)| *major == 1 && *minor <= 6).unwrap_or((1, 6));
    u32::from(major) << 16 | u32::from(minor) << 8
}

/// Splits `text`.
pub(super) fn tokens(text: &str) -> Result<Vec<Token<'_>>, Problem> {
    let mut out = Vec::new();
    let mut rest = text;
    let (mut line, mut column) = (1u32, 1u32);
    while let Some(first) = rest.chars().next() {
        let here = |kind| Token { kind, line, column };
        let len = match first {
            ';' => rest.find('\n').unwrap_or(rest.len()),
            '"' => {
                let len = string_len(rest);
                let token = here(Kind::Text(unescape(&rest[1..len - usize::from(len > 1)])));
                if len < 2 || !rest[..len].ends_with('"') {
                    return Err(Problem::at(&token, "the string has no end"));
                }
                out.push(token);
                len
            }
            '=' => {
                out.push(here(Kind::Equals));
                1
            }
            c if c.is_whitespace() => c.len_utf8(),
            _ => {
                let end = |c: char| c.is_whitespace() || matches!(c, ';' | '"' | '=');
                let len = rest.find(end).unwrap_or(rest.len());
                let word = &rest[..len];
                let token = here(match word.strip_prefix('%') {
                    Some(name) => Kind::Id(name),
                    None => Kind::Word(word),
                });
                if token.kind == Kind::Id("") {
                    return Err(Problem::at(&token, "`%` without a name"));
                }
                out.push(token);
                len
            }
        };
        for c in rest[..len].chars() {
            if c == '\n' {
                line = line.saturating_add(1);
                column = 1;
            } else {
                column = column.saturating_add(1);
            }
        }
        rest = &rest[len..];
    }
    Ok(out)
}

/// Length of the string that `rest` starts with, both quotes included; without
/// an end, all of `rest`, which then does not end in a lone quote.
fn string_len(rest: &str) -> usize {
    let mut escaped = false;
    for (i, c) in rest.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return i + 1,
            _ => {}
        }
    }
    1
}

/// A backslash makes the next character stand for itself.
fn unescape(text: &str) -> Cow<'_, str> {
    if !text.contains('\\') {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut escaped = false;
    for c in text.chars() {
        if c == '\\' && !escaped {
            escaped = true;
        } else {
            escaped = false;
            out.push(c);
        }
    }
    Cow::Owned(out)
}
