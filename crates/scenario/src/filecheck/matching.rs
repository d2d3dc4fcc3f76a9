//! Runs directives over a text.

use super::parse::{Directive, Kind};
use super::pattern::{Compiled, Pattern, Variables};
use super::{Failure, Options};

/// Runs of blanks as one; line ends without a carriage return.
pub(super) fn squeeze(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut blank = false;
    for c in text.chars() {
        let is = c == ' ' || c == '\t';
        match c {
            '\r' => {}
            _ if is && blank => {}
            _ if is => out.push(' '),
            _ => out.push(c),
        }
        blank = is || (blank && c == '\r');
    }
    out
}

/// A matched range of the input.
type Range = (usize, usize);

struct Run<'a> {
    text: String,
    o: &'a Options,
    vars: Variables,
    implicit: Vec<Directive>,
}

/// Runs all directives.
pub(super) fn run(all: &[Directive], input: &str, o: &Options) -> Result<(), Failure> {
    let text = if o.strict_whitespace { input.replace("\r\n", "\n") } else { squeeze(input) };
    let mut implicit = Vec::new();
    for text in &o.implicit_not {
        let item = Directive {
            kind: Kind::Not,
            pattern: Pattern::literal(text),
            name: "--implicit-check-not".into(),
            text: text.clone(),
            line: 0,
        };
        implicit.push(item);
    }
    let mut run = Run { text, o, vars: Variables::new(&o.defines), implicit };
    let mut start = 0;
    let mut from = 0;
    while start < all.len() {
        // The directives up to the next label live before its match.
        let label = all[start..].iter().position(|d| d.kind == Kind::Label).map(|i| start + i);
        let found = match label {
            Some(i) => Some((i, run.label(&all[i], from)?)),
            None => None,
        };
        let end = found.map_or(run.text.len(), |(_, (at, _))| at);
        run.section(&all[start..label.unwrap_or(all.len())], (from, end))?;
        let Some((i, (_, behind))) = found else { break };
        if o.enable_var_scope {
            run.vars.forget_local();
        }
        (start, from) = (i + 1, behind);
        if start == all.len() {
            run.nots(&[], (behind, run.text.len()))?;
        }
    }
    Ok(())
}

impl Run<'_> {
    fn line(&self, at: usize) -> usize {
        self.text[..at].matches('\n').count() + 1
    }

    fn compile(&self, d: &Directive) -> Result<Compiled, Failure> {
        d.pattern.compile(&self.vars, self.o).map_err(|what| d.failure(what, None))
    }

    /// The first match inside a range; sets its variables.
    fn find(&mut self, d: &Directive, (from, end): Range) -> Result<Option<Range>, Failure> {
        let compiled = self.compile(d)?;
        let found = compiled.find(&self.text[..end], from);
        if let Some((at, _)) = found {
            compiled.define(&self.text[..end], at, &mut self.vars);
        }
        Ok(found)
    }

    fn missing(&self, d: &Directive, (from, end): Range) -> Failure {
        let mut failure = d.failure("not found in the input", Some(self.line(from)));
        failure.what = "not found; the search begins at".into();
        failure.nearest = self.nearest(&d.pattern.plain(), (from, end));
        failure
    }

    /// The line that shares most with the pattern.
    fn nearest(&self, wanted: &str, (from, end): Range) -> Option<(usize, Box<str>)> {
        const MAX_LINES: usize = 4096;
        let wanted: Vec<char> = squeeze(wanted).trim().chars().take(200).collect();
        let mut best: Option<(usize, usize, &str)> = None;
        let first = self.line(from);
        for (i, line) in self.text[from..end].lines().enumerate().take(MAX_LINES) {
            let score = shared(&wanted, line.trim());
            if score * 2 > wanted.len() && best.is_none_or(|b| score > b.0) {
                best = Some((score, first + i, line.trim()));
            }
        }
        best.map(|(_, line, text)| (line, text.chars().take(160).collect()))
    }

    fn label(&mut self, d: &Directive, from: usize) -> Result<Range, Failure> {
        let whole = (from, self.text.len());
        self.find(d, whole)?.ok_or_else(|| self.missing(d, whole))
    }

    /// Directives without a label between them, in a range of the input.
    fn section(&mut self, all: &[Directive], (from, end): Range) -> Result<(), Failure> {
        let mut last = from;
        let mut i = 0;
        while i < all.len() {
            // NOTs and DAGs before the next one that has a place of its own.
            let group = all[i..].iter().take_while(|d| matches!(d.kind, Kind::Not | Kind::Dag));
            let n = group.count();
            let (behind, nots) = self.dags(&all[i..i + n], (last, end))?;
            i += n;
            let Some(d) = all.get(i) else {
                self.nots(&nots, (behind, end))?;
                return Ok(());
            };
            i += 1;
            let found = self.one(d, behind, end)?;
            self.nots(&nots, (behind, found.0))?;
            last = found.1;
        }
        self.nots(&[], (last, end))
    }

    /// A directive that is neither NOT nor DAG.
    fn one(&mut self, d: &Directive, from: usize, end: usize) -> Result<Range, Failure> {
        if d.kind == Kind::Empty {
            return self.empty_line(d, from, end);
        }
        let count = if let Kind::Count(n) = d.kind { n } else { 1 };
        let (mut at, mut first) = (from, None);
        for i in 0..count {
            let Some(found) = self.find(d, (at, end))? else {
                let mut failure = self.missing(d, (at, end));
                if count > 1 {
                    failure.what = format!("found {i} times of {count}; the search begins at");
                }
                return Err(failure);
            };
            first.get_or_insert(found.0);
            at = found.1;
            // What matches nothing matches any number of times.
            if found.0 == found.1 {
                break;
            }
        }
        let start = first.unwrap_or(from);
        let lines = self.text[from..start].matches('\n').count();
        let here = Some(self.line(start));
        match d.kind {
            Kind::Next if lines == 0 => {
                Err(d.failure("found on the same line as the match before it", here))
            }
            Kind::Next if lines > 1 => {
                Err(d.failure("found, but not on the line after the match before it", here))
            }
            Kind::Same if lines > 0 => {
                Err(d.failure("found, but not on the line of the match before it", here))
            }
            Kind::Plain
            | Kind::Next
            | Kind::Same
            | Kind::Not
            | Kind::Dag
            | Kind::Label
            | Kind::Empty
            | Kind::Count(_) => Ok((start, at)),
        }
    }

    fn empty_line(&self, d: &Directive, from: usize, end: usize) -> Result<Range, Failure> {
        let here = Some(self.line(from) + 1);
        let Some(next) = self.text[from..end].find('\n').map(|i| from + i + 1) else {
            return Err(d.failure("there is no next line", here));
        };
        if self.text[next..end].starts_with('\n') || next == end {
            return Ok((next, next));
        }
        Err(d.failure("the next line is not empty", here))
    }

    /// DAG groups with NOTs between them: where they end, and the NOTs behind the
    /// last group.
    fn dags<'d>(
        &mut self,
        all: &'d [Directive],
        (from, end): Range,
    ) -> Result<(usize, Vec<&'d Directive>), Failure> {
        let mut start = from;
        let mut nots: Vec<&Directive> = Vec::new();
        let mut taken: Vec<Range> = Vec::new();
        for (i, d) in all.iter().enumerate() {
            if d.kind == Kind::Not {
                if i > 0 && all[i - 1].kind == Kind::Dag {
                    start = taken.iter().map(|r| r.1).max().unwrap_or(start);
                    taken.clear();
                }
                nots.push(d);
                continue;
            }
            let mut at = start;
            let found = loop {
                let Some(found) = self.find(d, (at, end))? else {
                    return Err(self.missing(d, (start, end)));
                };
                match taken.iter().find(|t| found.0 < t.1 && t.0 < found.1) {
                    Some(other) => at = other.1,
                    None => break found,
                }
            };
            taken.push(found);
            // NOTs before this group hold up to its first match.
            let last_of_group = all.get(i + 1).is_none_or(|next| next.kind != Kind::Dag);
            if last_of_group && !nots.is_empty() {
                let first = taken.iter().map(|r| r.0).min().unwrap_or(start);
                self.nots(&std::mem::take(&mut nots), (start, first))?;
            }
        }
        Ok((taken.iter().map(|r| r.1).max().unwrap_or(start), nots))
    }

    /// Patterns that may not match in a range.
    fn nots(&mut self, nots: &[&Directive], range: Range) -> Result<(), Failure> {
        let implicit = std::mem::take(&mut self.implicit);
        let result = nots.iter().copied().chain(&implicit).try_for_each(|d| {
            match self.compile(d)?.find(&self.text[..range.1.max(range.0)], range.0) {
                Some((at, _)) => Err(d.failure("found where it may not be", Some(self.line(at)))),
                None => Ok(()),
            }
        });
        self.implicit = implicit;
        result
    }
}

/// Characters of `wanted` that come in `line` in the same order.
fn shared(wanted: &[char], line: &str) -> usize {
    let mut row = vec![0usize; wanted.len() + 1];
    for c in line.chars().take(400) {
        let mut before = 0;
        for (i, &w) in wanted.iter().enumerate() {
            let up = row[i + 1];
            row[i + 1] = if c == w { before + 1 } else { up.max(row[i]) };
            before = up;
        }
    }
    row[wanted.len()]
}
