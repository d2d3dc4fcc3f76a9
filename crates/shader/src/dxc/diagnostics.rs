//! DXC's messages, which are clang's text form, as [`Diagnostic`]s.

use super::protocol::{Included, Refused};
use crate::source::{Diagnostic, Position, Severity};

/// Reads DXC's message text. Names of included files become their paths; why
/// an include was refused is added to DXC's "file not found".
pub(crate) fn parse(text: &str, included: &[Included], refused: &[Refused]) -> Vec<Diagnostic> {
    let mut all: Vec<Diagnostic> = Vec::new();
    let mut chain = Vec::new();
    for line in text.lines() {
        if let Some(at) = include_line(line) {
            chain.push(at);
            continue;
        }
        let Some(mut one) = message_line(line) else { continue };
        one.included_from = std::mem::take(&mut chain);
        one.included_from.reverse();
        explain(&mut one, refused);
        name_cycle(&mut one);
        match all.last_mut() {
            Some(last) if one.severity == Severity::Note => last.notes.push(one),
            _ => all.push(one),
        }
    }
    for one in &mut all {
        rename(one, included);
    }
    all
}

/// `In file included from NAME:LINE:`, the outermost of several first.
fn include_line(line: &str) -> Option<Position> {
    let rest = line.strip_prefix("In file included from ")?.strip_suffix(':')?;
    let (file, line) = rest.rsplit_once(':')?;
    Some(Position { file: file.into(), line: line.parse().ok()?, column: 0 })
}

/// `NAME:LINE:COLUMN: error: TEXT`, or without the place. Quoted source lines
/// and carets are none of these.
fn message_line(line: &str) -> Option<Diagnostic> {
    const KINDS: [(&str, Severity); 4] = [
        ("fatal error: ", Severity::Error),
        ("error: ", Severity::Error),
        ("warning: ", Severity::Warning),
        ("note: ", Severity::Note),
    ];
    let mut best: Option<(usize, Option<Position>, Severity, &str)> = None;
    for (word, severity) in KINDS {
        if let Some(message) = line.strip_prefix(word) {
            return Some(made(severity, None, message));
        }
        for (start, _) in line.match_indices(word) {
            let Some(place) = line[..start].strip_suffix(": ").and_then(position) else { continue };
            if best.as_ref().is_none_or(|b| start < b.0) {
                best = Some((start, Some(place), severity, &line[start + word.len()..]));
            }
        }
    }
    best.map(|(_, at, severity, message)| made(severity, at, message))
}

fn made(severity: Severity, at: Option<Position>, message: &str) -> Diagnostic {
    Diagnostic { severity, ..Diagnostic::error(at, message.trim_end()) }
}

fn position(text: &str) -> Option<Position> {
    let (rest, column) = text.rsplit_once(':')?;
    let (file, line) = rest.rsplit_once(':')?;
    Some(Position { file: file.into(), line: line.parse().ok()?, column: column.parse().ok()? })
}

fn explain(one: &mut Diagnostic, refused: &[Refused]) {
    let Some(name) =
        one.message.strip_suffix("' file not found").and_then(|m| m.strip_prefix('\''))
    else {
        return;
    };
    let tail = name.trim_start_matches("./");
    if let Some(why) = refused.iter().find(|r| r.asked.ends_with(tail)) {
        one.message = format!("'{name}' cannot be included: {}", why.reason);
    }
}

/// A file that includes itself, directly or by way of others: says so, and
/// keeps one turn of the ring instead of DXC's 200 levels.
fn name_cycle(one: &mut Diagnostic) {
    if !one.message.contains("nested too deeply") {
        return;
    }
    let Some(at) = &one.at else { return };
    let Some(turn) = one.included_from.iter().position(|p| p.file == at.file) else { return };
    one.included_from.truncate(turn + 1);
    let mut ring: Vec<&str> = one.included_from.iter().rev().map(|p| p.file.as_str()).collect();
    ring.push(&at.file);
    one.message = format!("`{}` includes itself: {}", at.file, ring.join(" -> "));
}

fn rename(one: &mut Diagnostic, included: &[Included]) {
    let path = |name: &str| included.iter().find(|f| f.asked == name).map(|f| f.path.clone());
    for at in one.at.iter_mut().chain(&mut one.included_from) {
        if let Some(path) = path(&at.file) {
            at.file = path;
        }
    }
    for note in &mut one.notes {
        rename(note, included);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_with_places_notes_and_includes() {
        let text = "In file included from main.hlsl:3:\n\
                    ./inc/a.hlsli:7:12: error: unknown type name 'flot'\n    flot x = 1; // error: no\n           ^\n\
                    ./inc/a.hlsli:2:1: note: did you mean 'float'?\n\
                    main.hlsl:9:5: warning: conversion from 'a' to 'b': error: odd [-Wconversion]\n\
                    fatal error: generated SPIR-V is invalid: x\n";
        let files = [Included {
            asked: "./inc/a.hlsli".into(),
            path: "/p/a.hlsli".into(),
            text: "".into(),
        }];
        let all = parse(text, &files, &[]);
        let shown: Vec<String> = all.iter().map(ToString::to_string).collect();
        insta::assert_snapshot!(shown.join("\n--\n"), @r"
        /p/a.hlsli:7:12: error: unknown type name 'flot'
          included from main.hlsl:3
        /p/a.hlsli:2:1: note: did you mean 'float'?
        --
        main.hlsl:9:5: warning: conversion from 'a' to 'b': error: odd [-Wconversion]
        --
        error: generated SPIR-V is invalid: x
        ");
    }

    #[test]
    fn refused_includes_say_why() {
        let text = "m.hlsl:1:10: fatal error: '../x.hlsli' file not found\n";
        let why = [Refused { asked: "./../x.hlsli".into(), reason: "outside".into() }];
        let all = parse(text, &[], &why);
        assert_eq!(all[0].message, "'../x.hlsli' cannot be included: outside");
    }

    #[test]
    fn a_ring_of_includes_is_named_once() {
        let mut text = String::from("In file included from m.hlsl:2:\n");
        for _ in 0..99 {
            text += "In file included from ./a.hlsl:1:\nIn file included from ./b.hlsl:4:\n";
        }
        text += "./a.hlsl:1:10: error: #include nested too deeply\n#include \"b.hlsl\"\n";
        let all = parse(&text, &[], &[]);
        assert_eq!(all[0].message, "`./a.hlsl` includes itself: ./a.hlsl -> ./b.hlsl -> ./a.hlsl");
        assert_eq!(all[0].included_from.len(), 2);
    }
}
