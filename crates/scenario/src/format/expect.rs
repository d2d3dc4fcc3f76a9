//! `Results:` as in the offload test suite, and `Expect:`.

use super::submit::{ValueCheck, value_check};
use crate::node::{Node, Value};
use crate::problem::{Problem, Span};
use crate::reader::{At, Reader};
use wavefence_base::Verdict;
use wavefence_report::verdicts;

/// How two buffers are compared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CompareRule {
    /// Byte for byte.
    Exact,
    /// Floats at most so many representable numbers apart.
    Ulp(u32),
    /// Floats less than so far apart.
    Epsilon(f64),
}

/// What becomes of subnormal numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DenormMode {
    /// A subnormal may have become a zero of its sign.
    Any,
    /// As the rule says.
    Ftz,
    /// As the rule says.
    Preserve,
}

/// One entry of `Results:`.
#[derive(Clone, Debug, PartialEq)]
pub struct ResultDecl {
    /// Its name.
    pub name: At<String>,
    /// How to compare.
    pub rule: CompareRule,
    /// About subnormals.
    pub denorm: DenormMode,
    /// Numbers this near to zero are compared by difference.
    pub zero_tolerance: f64,
    /// The buffer that the run wrote.
    pub actual: At<String>,
    /// The buffer with the right numbers.
    pub expected: At<String>,
}

/// Reads one entry of `Results:`.
pub fn result(r: &Reader, node: &Node) -> Option<ResultDecl> {
    const RULES: [(&str, u8); 3] =
        [("BufferExact", 0), ("BufferFloatULP", 1), ("BufferFloatEpsilon", 2)];
    const MODES: [(&str, DenormMode); 3] =
        [("Any", DenormMode::Any), ("FTZ", DenormMode::Ftz), ("Preserve", DenormMode::Preserve)];
    let mut m = r.map(node, "a result")?;
    let name = m.req("Result", |r, n| r.text(n));
    let rule = m.req("Rule", |r, n| r.word(n, &RULES));
    let actual = m.req("Actual", |r, n| r.text(n));
    let expected = m.req("Expected", |r, n| r.text(n));
    let ulp = m.opt("ULPT", |r, n| r.int::<u32>(n));
    let epsilon = m.opt("Epsilon", |r, n| r.float(n));
    let denorm = m.opt("DenormMode", |r, n| r.word(n, &MODES));
    let zero = m.opt("ZeroTolerance", |r, n| r.float(n));
    m.finish()?;
    let at = Span::new(node.at.start, 1);
    let rule = match (rule?.value, ulp?, epsilon?) {
        (0, None, None) => CompareRule::Exact,
        (1, Some(ulp), None) => CompareRule::Ulp(ulp),
        (2, None, Some(epsilon)) => CompareRule::Epsilon(epsilon),
        (0, ..) => {
            r.note(Problem::at(at, "BufferExact takes no tolerance"));
            return None;
        }
        (1, ..) => {
            r.note(Problem::at(at, "BufferFloatULP needs ULPT and no other tolerance"));
            return None;
        }
        _ => {
            r.note(Problem::at(at, "BufferFloatEpsilon needs Epsilon and no other tolerance"));
            return None;
        }
    };
    Some(ResultDecl {
        name: name?,
        rule,
        denorm: denorm?.map_or(DenormMode::Any, |d| d.value),
        zero_tolerance: zero?.unwrap_or(0.0),
        actual: actual?,
        expected: expected?,
    })
}

/// A finding, fault or error that is to be there, or not to be there.
#[derive(Clone, Debug, PartialEq)]
pub struct FindingMatch {
    /// Where the entry stands.
    pub at: Span,
    /// Rule number or name; anything if `None`.
    pub rule: Option<At<String>>,
    /// Verdict; any if `None`.
    pub verdict: Option<Verdict>,
    /// Name of the command list; any if `None`.
    pub list: Option<String>,
    /// Name of the call; any if `None`.
    pub call: Option<String>,
}

/// The hang that is to happen.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HangMatch {
    /// The queue that is stuck; any if `None`.
    pub queue: Option<At<String>>,
    /// The verdict word; any if `None`.
    pub verdict: Option<At<String>>,
    /// Name of the command list of the call that waits, does not end, or is to blame;
    /// any if `None`.
    pub list: Option<String>,
    /// Name of that call; any if `None`.
    pub call: Option<String>,
}

/// `Expect:`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Expect {
    /// Buffer rules, as under `Results:`.
    pub results: Vec<ResultDecl>,
    /// Values in memory at the end.
    pub values: Vec<ValueCheck>,
    /// Findings that are to be there.
    pub findings: Vec<FindingMatch>,
    /// Findings that are not to be there.
    pub no_findings: Vec<FindingMatch>,
    /// Rules that a call breaks when it is recorded, so that nothing runs.
    pub errors: Vec<FindingMatch>,
    /// Faults that are to happen, by kind under `Rule`.
    pub faults: Vec<FindingMatch>,
    /// The hang that is to happen.
    pub hang: Option<At<HangMatch>>,
}

/// Reads `Expect:`.
pub fn expect(r: &Reader, node: &Node) -> Option<Expect> {
    let mut m = r.map(node, "Expect")?;
    let results = m.opt("Results", |r, n| r.each(n, "a list of results", |n| result(r, n)));
    let values = m.opt("Values", |r, n| {
        r.each(n, "a list of values", |n| value_check(r, n, "an expected value"))
    });
    let findings = m.opt("Findings", finding_list);
    let no_findings = m.opt("NoFindings", |r, n| match &n.value {
        // `NoFindings: true` is "none at all".
        Value::Scalar(text) if text == "true" => {
            Some(vec![FindingMatch { at: n.at, rule: None, verdict: None, list: None, call: None }])
        }
        Value::Null | Value::Scalar(_) | Value::List(_) | Value::Map(_) => finding_list(r, n),
    });
    let errors = m.opt("Errors", finding_list);
    let faults = m.opt("Faults", finding_list);
    let hang = m.opt("Hang", hang);
    m.finish()?;
    Some(Expect {
        results: results?.unwrap_or_default(),
        values: values?.unwrap_or_default(),
        findings: findings?.unwrap_or_default(),
        no_findings: no_findings?.unwrap_or_default(),
        errors: errors?.unwrap_or_default(),
        faults: faults?.unwrap_or_default(),
        hang: hang?,
    })
}

fn finding_list(r: &Reader, node: &Node) -> Option<Vec<FindingMatch>> {
    const VERDICTS: [(&str, Verdict); 3] =
        [("Proven", Verdict::Proven), ("Possible", Verdict::Possible), ("Advice", Verdict::Advice)];
    r.each(node, "a list of {Rule, Verdict, List, Call}", |n| {
        let mut m = r.map(n, "a finding")?;
        let rule = m.opt("Rule", |r, n| r.text(n));
        let verdict = m.opt("Verdict", |r, n| r.word(n, &VERDICTS));
        let list = m.opt("List", |r, n| r.text(n));
        let call = m.opt("Call", |r, n| r.text(n));
        m.finish()?;
        Some(FindingMatch {
            at: n.at,
            rule: rule?,
            verdict: verdict?.map(|v| v.value),
            list: list?.map(|t| t.value),
            call: call?.map(|t| t.value),
        })
    })
}

fn hang(r: &Reader, node: &Node) -> Option<At<HangMatch>> {
    if let Value::Scalar(text) = &node.value
        && text == "true"
    {
        return Some(At::new(node.at, HangMatch::default()));
    }
    let mut m = r.map(node, "a hang")?;
    let queue = m.opt("Queue", |r, n| r.text(n));
    let verdict = m.opt("Verdict", |r, n| {
        let words: Vec<_> = verdicts::ALL.iter().map(|v| (v.name, v.name)).collect();
        r.word(n, &words).map(|w| At::new(w.at, w.value.to_string()))
    });
    let list = m.opt("List", |r, n| r.text(n));
    let call = m.opt("Call", |r, n| r.text(n));
    m.finish()?;
    let (list, call) = (list?.map(|t| t.value), call?.map(|t| t.value));
    Some(At::new(node.at, HangMatch { queue: queue?, verdict: verdict?, list, call }))
}
