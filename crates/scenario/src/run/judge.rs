//! Judges a run: buffers, values in memory, expected findings, faults and hangs.

use super::resources::{World, place};
use super::steps::bytes_of;
use super::view::contents;
use super::{Context, RunError};
use crate::compare::Comparison;
use crate::format::buffer::DataFormat;
use crate::format::expect::{CompareRule, FindingMatch, ResultDecl};
use crate::format::submit::{HostData, ValueCheck};
use wavefence_base::{GpuAddress, Verdict};
use wavefence_d3d::Device;
use wavefence_report::{Check, FindingItem, Report};

/// Differences of one comparison that are kept; the rest is counted.
const MAX_DIFFERENCES: usize = 20;

/// Judges everything after a run.
pub(super) fn judge(
    cx: &Context<'_>,
    device: &Device,
    world: &World,
    report: &mut Report,
) -> Result<(), RunError> {
    let expect = &cx.scenario.expect;
    // A run that stopped at a fault or hung by mistake did not get to its results;
    // one that was to hang did get to all it could.
    let stopped = cx.options.stop_on_fault && !report.faults.is_empty();
    if !stopped && (report.hang.is_none() || expect.hang.is_some()) {
        for decl in cx.scenario.results.iter().chain(&expect.results) {
            report.checks.push(compare(cx, device, world, decl)?);
        }
        for value in &expect.values {
            report.checks.push(check_value(cx, device, world, value, (Reading::Peek, "value"))?);
        }
    }
    hang(cx, report);
    findings(cx, report);
    faults(cx, report);
    expect_errors(cx, report);
    Ok(())
}

/// True if the scenario expects, or expects not, what only a report's words can tell.
pub(super) fn expects_words(cx: &Context<'_>) -> bool {
    let e = &cx.scenario.expect;
    e.hang.is_some()
        || [&e.findings, &e.no_findings, &e.faults, &e.errors].iter().any(|list| !list.is_empty())
}

/// True if a run that found nothing wrong has the results that it should have.
pub(super) fn results_hold(
    cx: &Context<'_>,
    device: &Device,
    world: &World,
) -> Result<bool, RunError> {
    let expect = &cx.scenario.expect;
    for decl in cx.scenario.results.iter().chain(&expect.results) {
        if !compare(cx, device, world, decl)?.passed {
            return Ok(false);
        }
    }
    for value in &expect.values {
        if !check_value(cx, device, world, value, (Reading::Peek, "value"))?.passed {
            return Ok(false);
        }
    }
    Ok(true)
}

fn compare(
    cx: &Context<'_>,
    device: &Device,
    world: &World,
    decl: &ResultDecl,
) -> Result<Check, RunError> {
    let read = |name: &crate::reader::At<String>| match world.items.get(&name.value) {
        Some(item) => contents(device, item).map_err(|e| cx.api(name.at, e)),
        None => Ok(Vec::new()),
    };
    let (actual, expected) = (read(&decl.actual)?, read(&decl.expected)?);
    let buffer = cx.scenario.buffers.iter().find(|b| b.name.value == decl.actual.value);
    let format = buffer.map_or(DataFormat::Hex8, |b| b.format);
    let rule = match decl.rule {
        CompareRule::Exact => "exact".to_string(),
        CompareRule::Ulp(n) => format!("within {n} ULP"),
        CompareRule::Epsilon(e) => format!("within {e}"),
    };
    let mut check = Check {
        name: decl.name.value.clone(),
        rule: format!("{} equals {}, {rule}", decl.actual.value, decl.expected.value),
        passed: false,
        detail: Vec::new(),
    };
    if !matches!(decl.rule, CompareRule::Exact) && !format.is_float() {
        check.detail.push(format!("{} are no floats: only an exact rule fits", format.name()));
        return Ok(check);
    }
    if actual.len() != expected.len() {
        check.detail.push(format!(
            "{} has {} bytes, {} has {}",
            decl.actual.value,
            actual.len(),
            decl.expected.value,
            expected.len()
        ));
        return Ok(check);
    }
    let comparison =
        Comparison { rule: decl.rule, denorm: decl.denorm, zero_tolerance: decl.zero_tolerance };
    let size = format.bytes();
    let pairs = actual.chunks(size).zip(expected.chunks(size)).enumerate();
    let mut wrong = 0usize;
    for (i, (a, e)) in pairs.filter(|(_, (a, e))| !comparison.holds(format, a, e)) {
        wrong += 1;
        if wrong <= MAX_DIFFERENCES {
            check.detail.push(format!("[{i}]: {}, expected {}", format.show(a), format.show(e)));
        }
    }
    if wrong > MAX_DIFFERENCES {
        check.detail.push(format!("{wrong} of {} numbers differ", actual.len().div_ceil(size)));
    }
    check.passed = wrong == 0;
    Ok(check)
}

/// How the judge looks at memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Reading {
    /// As a step of the run, an access of the host that others may be in no order with.
    Access,
    /// After the run; it is no access.
    Peek,
}

/// A value in memory, now.
pub(super) fn check_value(
    cx: &Context<'_>,
    device: &Device,
    world: &World,
    decl: &ValueCheck,
    (how, what): (Reading, &str),
) -> Result<Check, RunError> {
    let address = GpuAddress(world.number(cx, &decl.address)?);
    let expected = bytes_of(cx, world, &decl.value)?;
    let bytes = expected.len() as u64;
    let actual = match how {
        Reading::Access => device.read(address, bytes),
        Reading::Peek => device.peek(address, bytes),
    };
    let actual = actual.map_err(|e| cx.api(decl.address.at, e))?;
    let name = place(world, address).unwrap_or_else(|| address.to_string());
    let show = |bytes: &[u8]| match decl.value {
        HostData::Value32(_) => DataFormat::UInt32.show(bytes),
        HostData::Value64(_) => DataFormat::UInt64.show(bytes),
        HostData::Bytes(_) => {
            let hex: Vec<String> = bytes.iter().take(32).map(|b| format!("{b:02x}")).collect();
            hex.join(" ")
        }
    };
    let passed = actual == expected;
    let detail = match (passed, actual.iter().zip(&expected).position(|(a, e)| a != e)) {
        (false, Some(i)) if expected.len() > 8 => {
            let from = i.saturating_sub(i % 4);
            vec![format!(
                "at byte {from}: {}, expected {}",
                show(&actual[from..]),
                show(&expected[from..])
            )]
        }
        (false, _) => vec![format!("is {}, expected {}", show(&actual), show(&expected))],
        (true, _) => Vec::new(),
    };
    let rule = if expected.len() > 8 {
        format!("{} bytes as expected", expected.len())
    } else {
        format!("is {}", show(&expected))
    };
    Ok(Check { name: format!("{what} {name}"), rule, passed, detail })
}

fn hang(cx: &Context<'_>, report: &mut Report) {
    let Some(wanted) = &cx.scenario.expect.hang else { return };
    let wanted = &wanted.value;
    let mut rule = "the run hangs".to_string();
    if let Some(queue) = &wanted.queue {
        rule.push_str(&format!(", queue {}", queue.value));
    }
    if let Some(verdict) = &wanted.verdict {
        rule.push_str(&format!(", {}", verdict.value));
    }
    rule.extend(wanted.list.as_ref().map(|l| format!(", list \"{l}\"")));
    rule.extend(wanted.call.as_ref().map(|c| format!(", {c}")));
    let mut check = Check { name: "Hang".into(), rule, passed: false, detail: Vec::new() };
    match &mut report.hang {
        None => check.detail.push("it ran to its end".into()),
        Some(hang) => {
            let names = |texts: &[&str; 2]| {
                let list = wanted.list.as_ref().map(|l| format!("list \"{l}\""));
                let one = |text: &&str| {
                    list.as_ref().is_none_or(|l| text.contains(l))
                        && wanted.call.as_ref().is_none_or(|c| has_word(text, c))
                };
                texts.iter().any(one)
            };
            check.passed = hang.causes().any(|(queue, verdict, texts)| {
                wanted.queue.as_ref().is_none_or(|q| q.value == queue)
                    && wanted.verdict.as_ref().is_none_or(|v| v.value == verdict)
                    && names(&texts)
            });
            hang.expected = check.passed;
            if !check.passed {
                let found = hang.causes().map(|(queue, verdict, texts)| {
                    format!("queue {queue}: {verdict}, {}; to change: {}", texts[0], texts[1])
                });
                check.detail = found.collect();
            }
        }
    }
    report.checks.push(check);
}

/// True if a text names a call.
fn has_word(text: &str, call: &str) -> bool {
    text.split(|ch: char| !ch.is_ascii_alphanumeric()).any(|word| word == call)
}

/// A finding, error or fault as the matcher sees it.
struct Seen<'a> {
    number: u32,
    rule: &'a str,
    verdict: Option<&'a str>,
    call: &'a str,
}

impl FindingMatch {
    fn fits(&self, seen: &Seen<'_>) -> bool {
        let verdict = self.verdict.map(|v: Verdict| v.to_string());
        let rule = self.rule.as_ref().map(|r| r.value.as_str());
        rule.is_none_or(|r| r == seen.rule || r == seen.number.to_string())
            && verdict.is_none_or(|v| seen.verdict == Some(v.as_str()))
            && self.list.as_ref().is_none_or(|l| seen.call.contains(&format!("list \"{l}\"")))
            && self.call.as_ref().is_none_or(|c| has_word(seen.call, c))
    }

    fn words(&self) -> String {
        let mut parts = Vec::new();
        parts.extend(self.verdict.map(|v| v.to_string()));
        parts.push(self.rule.as_ref().map_or("any rule".into(), |r| r.value.clone()));
        parts.extend(self.list.as_ref().map(|l| format!("in list \"{l}\"")));
        parts.extend(self.call.as_ref().map(|c| format!("at {c}")));
        parts.join(" ")
    }
}

/// Marks what is expected and says what is missing.
fn match_all<T>(
    wanted: &[FindingMatch],
    found: &mut [T],
    what: &str,
    seen: impl Fn(&T) -> Seen<'_>,
    mark: impl Fn(&mut T),
) -> Vec<Check> {
    let mut checks = Vec::new();
    for entry in wanted {
        let mut passed = false;
        for item in found.iter_mut() {
            if entry.fits(&seen(item)) {
                passed = true;
                mark(item);
            }
        }
        let detail = if passed { Vec::new() } else { vec![format!("no such {what} came up")] };
        checks.push(Check {
            name: format!("expected {what}"),
            rule: entry.words(),
            passed,
            detail,
        });
    }
    checks
}

fn finding(f: &FindingItem) -> Seen<'_> {
    Seen { number: f.number, rule: &f.rule, verdict: Some(&f.verdict), call: &f.call }
}

fn findings(cx: &Context<'_>, report: &mut Report) {
    let expect = &cx.scenario.expect;
    let checks = match_all(&expect.findings, &mut report.findings, "finding", finding, |f| {
        f.expected = true
    });
    report.checks.extend(checks);
    for entry in &expect.no_findings {
        let mut detail = Vec::new();
        for f in &report.findings {
            if entry.fits(&finding(f)) {
                detail.push(format!("{} {} {}: {}", f.verdict, f.number, f.rule, f.call));
            }
        }
        let rule = entry.words();
        let passed = detail.is_empty();
        report.checks.push(Check { name: "no finding".into(), rule, passed, detail });
    }
}

fn faults(cx: &Context<'_>, report: &mut Report) {
    let checks = match_all(
        &cx.scenario.expect.faults,
        &mut report.faults,
        "fault",
        |f| Seen {
            number: 0,
            rule: &f.kind,
            verdict: Some("proven"),
            call: f.call.as_deref().unwrap_or(""),
        },
        |f| f.expected = true,
    );
    report.checks.extend(checks);
}

/// Marks the calls that were expected to break rules.
pub(super) fn expect_errors(cx: &Context<'_>, report: &mut Report) {
    let checks = match_all(
        &cx.scenario.expect.errors,
        &mut report.errors,
        "error",
        |e| Seen { number: e.number, rule: &e.rule, verdict: None, call: &e.call },
        |e| e.expected = true,
    );
    report.checks.extend(checks);
}
