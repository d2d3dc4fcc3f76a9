//! The report as text.

use crate::exploration;
use crate::hang::{Hang, Tree, TreeState, Wait, Work};
use crate::{FindingItem, Outcome, Report};
use std::fmt::Write;

/// Width at which prose is broken.
const WIDTH: usize = 96;

/// Prints the report; at most `max_findings` findings, faults and errors each in
/// full, the rest counted.
pub fn print(report: &Report, max_findings: usize) -> String {
    let mut out = String::new();
    head(&mut out, report);
    if let Some(exploration) = &report.exploration {
        exploration::print(&mut out, exploration, &report.scenario, max_findings);
    }
    errors(&mut out, report, max_findings);
    warnings(&mut out, report, max_findings);
    findings(&mut out, report, max_findings);
    faults(&mut out, report, max_findings);
    printed(&mut out, report);
    if let Some(hang) = &report.hang {
        print_hang(&mut out, hang);
    }
    checks(&mut out, report, max_findings);
    for output in &report.outputs {
        line(
            &mut out,
            &format!(
                "wrote {} ({} x {}): {}",
                output.name, output.width, output.height, output.path
            ),
        );
    }
    if let Some(limit) = &report.limit {
        wrapped(&mut out, &format!("ended early: {limit}"), "");
    }
    line(&mut out, &format!("result: {}", summary(report)));
    out
}

/// `1 wait`, `2 waits`.
fn count(n: u64, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}

fn line(out: &mut String, text: &str) {
    out.push_str(text);
    out.push('\n');
}

fn head(out: &mut String, r: &Report) {
    let s = &r.stats;
    line(out, &format!("scenario: {}", r.scenario));
    line(out, &format!("profile:  {} ({}), {} run", r.profile, r.generation, r.mode));
    line(
        out,
        &format!(
            "ran:      {}, {}, {}, {}, {}, {}",
            count(s.submits, "submit"),
            if s.dispatches == 1 {
                "1 dispatch".into()
            } else {
                format!("{} dispatches", s.dispatches)
            },
            count(s.groups, "thread group"),
            count(s.transfers, "transfer"),
            count(s.values, "value write"),
            count(s.waits, "wait")
        ),
    );
    if let (Some(cycles), Some(ns)) = (s.cycles, s.nanoseconds) {
        // Times follow from assumed numbers: see `wavefence profiles`.
        let us = format!("{}.{:03}", ns / 1000, ns % 1000);
        line(out, &format!("time:     {cycles} GPU cycles, {us} microseconds (assumed)"));
    }
    out.push('\n');
}

/// One line that says what came of it.
pub fn summary(r: &Report) -> String {
    let outcome = r.outcome();
    let failed = r.checks.iter().filter(|c| !c.passed).count();
    let found = |verdict: &str| {
        let counts = |f: &&FindingItem| f.verdict == verdict && !f.expected && !f.known;
        r.findings.iter().filter(counts).count()
    };
    let advice = found("advice");
    let detail = match outcome {
        Outcome::Clean if r.exploration.as_ref().is_some_and(|e| e.expected) => {
            "found what the scenario says".to_string()
        }
        Outcome::Clean if r.checks.len() == 1 => "1 check holds".to_string(),
        Outcome::Clean => format!("{} checks hold", r.checks.len()),
        Outcome::BadInput => {
            let n = r.errors.iter().filter(|e| !e.expected).count();
            format!("{} against API rules; nothing ran", count(n as u64, "call"))
        }
        Outcome::Limit => "ended early".to_string(),
        Outcome::Hang => {
            let waits = r.hang.as_ref().map_or(0, |h| h.waits.len());
            let work = r.hang.as_ref().map_or(0, |h| h.work.len());
            match (waits, work) {
                (waits, 0) => format!("{} can never end", count(waits as u64, "wait")),
                (0, work) => format!("{} without an end", count(work as u64, "dispatch part")),
                (waits, work) => format!(
                    "{} can never end, {} without an end",
                    count(waits as u64, "wait"),
                    count(work as u64, "dispatch part")
                ),
            }
        }
        Outcome::WrongResult => format!("{failed} of {} checks fail", r.checks.len()),
        Outcome::Findings => {
            let faults = r.faults.iter().filter(|f| !f.expected && !f.known).count();
            let (proven, possible) = (found("proven"), found("possible"));
            format!(
                "{proven} proven and {possible} possible findings, {}",
                count(faults as u64, "fault")
            )
        }
    };
    let also = |n: usize, what: &str| match n {
        0 => String::new(),
        n => format!(", {n} {what}"),
    };
    let known =
        r.findings.iter().filter(|f| f.known).count() + r.faults.iter().filter(|f| f.known).count();
    let more =
        [also(advice, "advice"), also(known, "known"), also(r.suppressed as usize, "suppressed")];
    format!("{} ({detail}{})", outcome.name(), more.concat())
}

fn heading(out: &mut String, title: &str) {
    line(out, title);
    line(out, &"-".repeat(title.len()));
}

fn wrapped(out: &mut String, text: &str, indent: &str) {
    for paragraph in text.lines() {
        let mut row = String::new();
        for word in paragraph.split_whitespace() {
            if !row.is_empty() && indent.len() + row.len() + 1 + word.len() > WIDTH {
                let _ = writeln!(out, "{indent}{row}");
                row.clear();
            }
            if !row.is_empty() {
                row.push(' ');
            }
            row.push_str(word);
        }
        let _ = writeln!(out, "{indent}{row}");
    }
}

/// A value of a key=value line: quoted if it holds anything but plain characters.
fn value(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-+:#/,<>=|".contains(c);
    if !text.is_empty() && text.chars().all(plain) { text.to_string() } else { format!("{text:?}") }
}

fn pairs<'a>(out: &mut String, pairs: impl IntoIterator<Item = (&'a str, String)>) {
    for (key, text) in pairs {
        let _ = writeln!(out, "    {key}={}", value(&text));
    }
}

fn expected(mark: bool) -> &'static str {
    if mark { " (expected)" } else { "" }
}

fn marks(expected: bool, known: bool) -> &'static str {
    match (expected, known) {
        (true, _) => " (expected)",
        (false, true) => " (known)",
        (false, false) => "",
    }
}

fn more(out: &mut String, total: usize, shown: usize, what: &str) {
    if total > shown {
        line(out, &format!("... and {} more {what}", total - shown));
    }
    out.push('\n');
}

fn errors(out: &mut String, r: &Report, max: usize) {
    if r.errors.is_empty() {
        return;
    }
    heading(out, "Calls that break API rules");
    for e in r.errors.iter().take(max) {
        let _ = writeln!(out, "{} {}: {}{}", e.number, e.rule, e.call, expected(e.expected));
        let argument = match (e.argument.is_empty(), e.value.is_empty()) {
            (true, _) => String::new(),
            (false, true) => format!("{} ", e.argument),
            (false, false) => format!("{} = {} ", e.argument, e.value),
        };
        wrapped(out, &format!("{argument}{}", e.message), "  ");
        pairs(
            out,
            [
                ("rule", e.number.to_string()),
                ("name", e.rule.clone()),
                ("at", e.at.clone()),
                ("call", e.call.clone()),
                ("argument", e.argument.clone()),
                ("value", e.value.clone()),
                ("source", e.source.clone()),
            ],
        );
    }
    more(out, r.errors.len(), max, "errors");
}

fn warnings(out: &mut String, r: &Report, max: usize) {
    if r.warnings.is_empty() {
        return;
    }
    heading(out, "Compiler warnings");
    for w in r.warnings.iter().take(max) {
        let at = if w.at.is_empty() { String::new() } else { format!("{}: ", w.at) };
        wrapped(out, &format!("shader {}: {at}{}", w.shader, w.message), "");
    }
    more(out, r.warnings.len(), max, "warnings");
}

fn findings(out: &mut String, r: &Report, max: usize) {
    if r.findings.is_empty() {
        return;
    }
    heading(out, "Findings");
    for f in r.findings.iter().take(max) {
        let _ = writeln!(
            out,
            "{}: {} {}: {}{}",
            f.verdict,
            f.number,
            f.rule,
            f.call,
            marks(f.expected, f.known)
        );
        wrapped(out, &f.message, "  ");
        let fixed = [
            ("rule", f.number.to_string()),
            ("name", f.rule.clone()),
            ("verdict", f.verdict.clone()),
            ("count", f.count.to_string()),
            ("source", f.source.clone()),
        ];
        pairs(
            out,
            fixed.into_iter().chain(f.properties.iter().map(|(k, v)| (k.as_str(), v.clone()))),
        );
    }
    more(out, r.findings.len(), max, "findings");
}

fn faults(out: &mut String, r: &Report, max: usize) {
    if r.faults.is_empty() {
        return;
    }
    heading(out, "Faults");
    for f in r.faults.iter().take(max) {
        let place = f.call.clone().or_else(|| f.queue.clone()).unwrap_or_default();
        let _ = writeln!(out, "proven: {}: {place}{}", f.kind, marks(f.expected, f.known));
        wrapped(out, &f.message, "  ");
        let show = |v: Option<u32>| v.map(|n| n.to_string());
        let known = [
            ("kind", Some(f.kind.clone())),
            ("rule", show(f.number)),
            ("name", f.rule.clone()),
            ("queue", f.queue.clone()),
            ("call", f.call.clone()),
            ("shader", f.shader.clone()),
            ("line", f.line.clone()),
            ("dispatch", show(f.dispatch)),
            ("group", f.group.map(|g| format!("{},{},{}", g[0], g[1], g[2]))),
            ("wave", show(f.wave)),
            ("lane", show(f.lane)),
            ("address", f.address.clone()),
            ("bytes", Some(f.bytes.to_string())),
            ("count", Some(f.count.to_string())),
        ];
        pairs(out, known.into_iter().filter_map(|(k, v)| v.map(|v| (k, v))));
    }
    more(out, r.faults.len(), max, "faults");
}

/// Every line that is kept: a reader asked for them.
fn printed(out: &mut String, r: &Report) {
    if r.printed.is_empty() {
        return;
    }
    heading(out, "Printed by shaders");
    for p in &r.printed {
        let [x, y, z] = p.group.unwrap_or_default();
        let shader = p.shader.as_deref().unwrap_or("a shader");
        let at = p.line.as_ref().map_or(String::new(), |l| format!(" {l}"));
        let (wave, lane) = (p.wave.unwrap_or(0), p.lane.unwrap_or(0));
        line(out, &format!("{shader}{at} group {x},{y},{z} wave {wave} lane {lane}: {}", p.text));
    }
    if r.lines_lost > 0 {
        line(out, &format!("and {} more lines, which were not kept", r.lines_lost));
    }
    line(out, "");
}

/// The part of a report that explains a hang, alone.
pub fn hang(hang: &Hang) -> String {
    let mut out = String::new();
    print_hang(&mut out, hang);
    out
}

fn print_hang(out: &mut String, hang: &Hang) {
    heading(out, &format!("Hang{}", expected(hang.expected)));
    hang.waits.iter().for_each(|w| print_wait(out, w));
    hang.work.iter().for_each(|w| print_work(out, w));
    out.push('\n');
    line(out, "how far it got: [X] finished  [>] in progress  [ ] not started");
    for queue in &hang.queues {
        tree(out, queue, 0);
    }
    out.push('\n');
}

fn print_wait(out: &mut String, w: &Wait) {
    let _ = writeln!(out, "queue {} ({}): {}", w.queue, w.engine, w.call);
    let _ = writeln!(out, "  waits for {}, but finds {}", w.condition, w.present);
    for past in &w.past {
        let _ = writeln!(out, "  was written: {past}");
    }
    for pending in &w.pending {
        let _ = writeln!(out, "  yet to come: {pending}");
    }
    for step in &w.ring {
        let _ = writeln!(out, "  | {step}");
    }
    wrapped(out, &w.explanation, "  ");
    pairs(
        out,
        [
            ("queue", w.queue.clone()),
            ("engine", w.engine.clone()),
            ("address", w.address.clone()),
            ("condition", w.condition.clone()),
            ("present", w.present.to_string()),
            ("verdict", w.verdict.clone()),
            ("culprit", w.culprit.clone()),
        ],
    );
}

/// Waves listed one by one.
const WAVES: usize = 8;

fn print_work(out: &mut String, w: &Work) {
    let _ = writeln!(out, "queue {}: {}", w.queue, w.call);
    let [x, y, z] = w.group;
    let others = match w.count {
        0 | 1 => String::new(),
        n => format!("; {} more groups stand there too", n - 1),
    };
    let _ = writeln!(
        out,
        "  does not end: shader \"{}\", group {x},{y},{z}, wave {}, lane {}: {}{others}",
        w.shader, w.wave, w.lane, w.at
    );
    for exit in &w.exits {
        let _ = writeln!(out, "  leaves the loop where: {exit}");
    }
    for v in &w.values {
        let line = if v.line.is_empty() { String::new() } else { format!(", read at {}", v.line) };
        let memory = v.memory.map_or(String::new(), |m| format!(" (memory holds {m})"));
        let _ = writeln!(out, "  depends on: {} = {}{memory}{line}", v.what, v.value);
        let _ = writeln!(out, "    last written by: {}", v.by);
    }
    for wave in w.waves.iter().take(WAVES) {
        let exec = wave.exec.map_or(String::new(), |e| format!(", exec {e:#x}"));
        let _ = writeln!(out, "  wave {}: {}{exec}", wave.wave, wave.at);
    }
    if w.waves.len() > WAVES {
        let _ = writeln!(out, "  ... and {} more waves", w.waves.len() - WAVES);
    }
    wrapped(out, &w.explanation, "  ");
    pairs(
        out,
        [
            ("queue", w.queue.clone()),
            ("shader", w.shader.clone()),
            ("line", w.line.clone()),
            ("group", format!("{x},{y},{z}")),
            ("count", w.count.to_string()),
            ("verdict", w.verdict.clone()),
            ("culprit", w.culprit.clone()),
        ],
    );
}

/// Calls shown on each side of the one in progress; the others are counted.
const AROUND: usize = 6;

fn tree(out: &mut String, node: &Tree, depth: usize) {
    let _ = writeln!(out, "{}{} {}", "  ".repeat(depth), node.state.mark(), node.label);
    // A finished branch says nothing more.
    if node.state == TreeState::Finished {
        return;
    }
    let children = &node.children;
    let current = children.iter().position(|c| c.state == TreeState::InProgress).unwrap_or(0);
    let first = current.saturating_sub(AROUND);
    let last = (current + 1 + AROUND).min(children.len());
    let folded = |out: &mut String, part: &[Tree]| {
        if let Some(child) = part.first() {
            let (indent, mark) = ("  ".repeat(depth + 1), child.state.mark());
            let _ = writeln!(out, "{indent}{mark} ... {} more", part.len());
        }
    };
    folded(out, &children[..first]);
    for child in &children[first..last] {
        tree(out, child, depth + 1);
    }
    folded(out, &children[last..]);
}

fn checks(out: &mut String, r: &Report, max: usize) {
    if r.checks.is_empty() {
        return;
    }
    heading(out, "Checks");
    for c in &r.checks {
        let word = if c.passed { "pass" } else { "FAIL" };
        let _ = writeln!(out, "{word}  {}: {}", c.name, c.rule);
        for detail in c.detail.iter().take(max) {
            wrapped(out, detail, "      ");
        }
        if c.detail.len() > max {
            let _ = writeln!(out, "      ... and {} more", c.detail.len() - max);
        }
    }
    out.push('\n');
}
