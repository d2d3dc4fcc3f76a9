//! What the suite's own runner prints: the pipeline as YAML with its buffers as the
//! run left them, and how a result that does not hold is told.
//!
//! The form is that of LLVM's YAML writer: keys padded to 16 columns, flow lists
//! broken behind column 70, keys with their default left out.

use crate::compare::Comparison;
use crate::format::Scenario;
use crate::format::binding::{AddressMode, CompareFunction, Filter, ResourceDecl, SamplerDecl};
use crate::format::buffer::{BufferDecl, DataFormat};
use crate::format::expect::{CompareRule, DenormMode, ResultDecl};
use crate::run::Contents;

/// A flow list goes on in a new line behind this column.
const WRAP: usize = 70;

/// Lines with a common indentation.
#[derive(Default)]
struct Writer {
    out: String,
}

impl Writer {
    /// `key: value` at `indent`; a `-` in front of the first of a list's entry.
    fn pair(&mut self, indent: usize, dash: bool, key: &str, value: &str) {
        self.key(indent, dash, key);
        self.out.push_str(&" ".repeat(16usize.saturating_sub(key.len()).max(1)));
        self.out.push_str(value);
        self.out.push('\n');
    }

    fn key(&mut self, indent: usize, dash: bool, key: &str) {
        let lead = if dash { indent - 2 } else { indent };
        self.out.push_str(&" ".repeat(lead));
        self.out.push_str(if dash { "- " } else { "" });
        self.out.push_str(key);
        self.out.push(':');
    }

    fn open(&mut self, indent: usize, dash: bool, key: &str) {
        self.key(indent, dash, key);
        self.out.push('\n');
    }

    /// A flow list that starts at the current column.
    fn list(&mut self, items: impl Iterator<Item = String>) {
        let start = self.out.len() - self.out.rfind('\n').map_or(0, |i| i + 1);
        let mut column = start + 2;
        self.out.push_str("[ ");
        for (i, item) in items.enumerate() {
            if i > 0 {
                self.out.push_str(", ");
                column += 2;
            }
            if column > WRAP {
                self.out.push('\n');
                self.out.push_str(&" ".repeat(start + 2));
                column = start + 2;
            }
            self.out.push_str(&item);
            column += item.len();
        }
        self.out.push_str(" ]\n");
    }

    fn list_of(&mut self, indent: usize, key: &str, items: impl Iterator<Item = String>) {
        self.key(indent, false, key);
        self.out.push_str(&" ".repeat(16usize.saturating_sub(key.len()).max(1)));
        self.list(items);
    }
}

/// The pipeline after a run.
pub fn pipeline(scenario: &Scenario, contents: &[Contents]) -> String {
    let mut w = Writer { out: "---\n".into() };
    w.open(0, false, "Shaders");
    for shader in &scenario.shaders {
        w.pair(4, true, "Stage", "Compute");
        w.pair(4, false, "Entry", &shader.entry);
    }
    if scenario.buffers.is_empty() {
        w.pair(0, false, "Buffers", "[]");
    } else {
        w.open(0, false, "Buffers");
    }
    for (decl, held) in scenario.buffers.iter().zip(contents) {
        buffer(&mut w, 4, true, decl, held);
    }
    if !scenario.samplers.is_empty() {
        w.open(0, false, "Samplers");
        for decl in &scenario.samplers {
            sampler(&mut w, decl);
        }
    }
    if !scenario.results.is_empty() {
        w.open(0, false, "Results");
        for decl in &scenario.results {
            result(&mut w, decl);
        }
    }
    if scenario.sets.is_empty() {
        w.pair(0, false, "DescriptorSets", "[]");
    } else {
        w.open(0, false, "DescriptorSets");
    }
    for set in &scenario.sets {
        if set.resources.is_empty() {
            w.pair(4, true, "Resources", "[]");
            continue;
        }
        w.open(4, true, "Resources");
        for decl in &set.resources {
            resource(&mut w, decl);
        }
    }
    w.out.push_str("...\n");
    w.out
}

fn buffer(w: &mut Writer, indent: usize, dash: bool, decl: &BufferDecl, held: &Contents) {
    w.pair(indent, dash, "Name", &decl.name.value);
    w.pair(indent, false, "Format", decl.format.name());
    if decl.channels != 1 {
        w.pair(indent, false, "Channels", &decl.channels.to_string());
    }
    if decl.stride != 0 {
        w.pair(indent, false, "Stride", &decl.stride.to_string());
    }
    if decl.count != 1 {
        w.pair(indent, false, "ArraySize", &decl.count.to_string());
    }
    match held.counters.as_slice() {
        [] => {}
        [one] if decl.count == 1 => w.pair(indent, false, "Counter", &one.to_string()),
        all => w.list_of(indent, "Counters", all.iter().map(u32::to_string)),
    }
    let numbers = |bytes: &[u8]| -> Vec<String> {
        bytes.chunks_exact(decl.format.bytes()).map(|n| scalar(decl.format, n)).collect()
    };
    if decl.count == 1 {
        w.list_of(indent, "Data", numbers(&held.bytes).into_iter());
    } else {
        w.open(indent, false, "Data");
        for element in held.bytes.chunks(decl.resource_bytes().max(1)) {
            w.out.push_str(&" ".repeat(indent + 2));
            w.out.push_str("- ");
            w.list(numbers(element).into_iter());
        }
    }
    let shape = decl.image.as_ref();
    w.open(indent, false, "OutputProps");
    for (key, value) in [
        ("Height", shape.map_or(0, |s| s.height)),
        ("Width", shape.map_or(0, |s| s.width)),
        ("Depth", shape.map_or(0, |s| s.depth)),
    ] {
        w.pair(indent + 2, false, key, &value.to_string());
    }
    if let Some(shape) = shape.filter(|s| s.levels != 1) {
        w.pair(indent + 2, false, "MipLevels", &shape.levels.to_string());
    }
}

fn sampler(w: &mut Writer, decl: &SamplerDecl) {
    let filter = |f| match f {
        Filter::Nearest => "Nearest",
        Filter::Linear => "Linear",
    };
    w.pair(4, true, "Name", &decl.name.value);
    let kind = if decl.comparison.is_some() { "SamplerComparison" } else { "Sampler" };
    w.pair(4, false, "Kind", kind);
    w.pair(4, false, "MinFilter", filter(decl.min));
    w.pair(4, false, "MagFilter", filter(decl.mag));
    let address = match decl.address {
        AddressMode::Clamp => "Clamp",
        AddressMode::Repeat => "Repeat",
        AddressMode::Mirror => "Mirror",
        AddressMode::Border => "Border",
        AddressMode::MirrorOnce => "MirrorOnce",
    };
    w.pair(4, false, "Address", address);
    w.pair(4, false, "MinLOD", &general(f64::from(decl.min_lod)));
    w.pair(4, false, "MaxLOD", &general(f64::from(decl.max_lod)));
    w.pair(4, false, "MipLODBias", &general(f64::from(decl.lod_bias)));
    let test = match decl.comparison {
        None | Some(CompareFunction::Never) => "Never",
        Some(CompareFunction::Less) => "Less",
        Some(CompareFunction::Equal) => "Equal",
        Some(CompareFunction::LessEqual) => "LessEqual",
        Some(CompareFunction::Greater) => "Greater",
        Some(CompareFunction::NotEqual) => "NotEqual",
        Some(CompareFunction::GreaterEqual) => "GreaterEqual",
        Some(CompareFunction::Always) => "Always",
    };
    w.pair(4, false, "ComparisonOp", test);
}

fn denorm(mode: DenormMode) -> &'static str {
    match mode {
        DenormMode::Any => "Any",
        DenormMode::Ftz => "FTZ",
        DenormMode::Preserve => "Preserve",
    }
}

fn result(w: &mut Writer, decl: &ResultDecl) {
    w.pair(4, true, "Result", &decl.name.value);
    w.pair(4, false, "Rule", rule_name(decl.rule));
    w.pair(4, false, "Actual", &decl.actual.value);
    w.pair(4, false, "Expected", &decl.expected.value);
    match decl.rule {
        CompareRule::Exact => {}
        CompareRule::Ulp(n) => {
            w.pair(4, false, "ULPT", &n.to_string());
            w.pair(4, false, "DenormMode", denorm(decl.denorm));
        }
        CompareRule::Epsilon(e) => {
            w.pair(4, false, "Epsilon", &general(e));
            w.pair(4, false, "DenormMode", denorm(decl.denorm));
        }
    }
}

fn resource(w: &mut Writer, decl: &ResourceDecl) {
    w.pair(8, true, "Name", &decl.name.value);
    w.pair(8, false, "Kind", decl.kind.name());
    if decl.counter {
        w.pair(8, false, "HasCounter", "true");
    }
    if let Some((register, space)) = decl.register {
        w.open(8, false, "DirectXBinding");
        w.pair(10, false, "Register", &register.to_string());
        w.pair(10, false, "Space", &space.to_string());
    }
    if let Some(binding) = decl.vulkan {
        w.open(8, false, "VulkanBinding");
        w.pair(10, false, "Binding", &binding.to_string());
        if let Some(counter) = decl.counter_binding {
            w.pair(10, false, "CounterBinding", &counter.to_string());
        }
    }
}

const fn rule_name(rule: CompareRule) -> &'static str {
    match rule {
        CompareRule::Exact => "BufferExact",
        CompareRule::Ulp(_) => "BufferFloatULP",
        CompareRule::Epsilon(_) => "BufferFloatEpsilon",
    }
}

fn word(bytes: &[u8]) -> u64 {
    let mut word = [0; 8];
    let n = bytes.len().min(8);
    word[..n].copy_from_slice(&bytes[..n]);
    u64::from_le_bytes(word)
}

/// One number as the suite prints it.
fn scalar(format: DataFormat, bytes: &[u8]) -> String {
    use DataFormat as F;
    let bits = word(bytes);
    match format {
        F::Hex8 | F::Hex16 | F::Hex32 | F::Hex64 | F::Float16 => format!("0x{bits:X}"),
        F::UInt16 | F::UInt32 | F::UInt64 | F::Bool => bits.to_string(),
        F::Int16 => (bits as i16).to_string(),
        F::Int32 => (bits as i32).to_string(),
        F::Int64 => (bits as i64).to_string(),
        F::Float32 | F::Depth32 => general(f64::from(f32::from_bits(bits as u32))),
        F::Float64 => general(f64::from_bits(bits)),
    }
}

/// A number as C's `%g` prints it: six digits, the shorter of both forms.
pub fn general(value: f64) -> String {
    const DIGITS: i32 = 6;
    if value.is_nan() {
        return if value.is_sign_negative() { "-nan" } else { "nan" }.into();
    }
    if value.is_infinite() {
        return if value < 0.0 { "-inf" } else { "inf" }.into();
    }
    let scientific = format!("{value:.*e}", DIGITS as usize - 1);
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let trim = |text: &str| match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text.to_owned(),
    };
    if (-4..DIGITS).contains(&exponent) {
        return trim(&format!("{value:.*}", (DIGITS - 1 - exponent) as usize));
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{}e{sign}{:02}", trim(mantissa), exponent.abs())
}

/// What is told of the results that do not hold; empty if all do.
pub fn failures(scenario: &Scenario, contents: &[Contents]) -> String {
    let mut out = String::new();
    let find = |name: &str| {
        let mut all = scenario.buffers.iter().zip(contents);
        all.find(|(decl, _)| decl.name.value == name)
    };
    for decl in &scenario.results {
        let (Some(actual), Some(expected)) = (find(&decl.actual.value), find(&decl.expected.value))
        else {
            continue;
        };
        if holds(decl, actual, expected) {
            continue;
        }
        out.push_str(&format!("Test failed: {}\n", decl.name.value));
        out.push_str(&format!("Comparison Rule: {}\n", rule_name(decl.rule)));
        match decl.rule {
            CompareRule::Exact => {}
            CompareRule::Ulp(n) => out.push_str(&format!("ULP: {n}\n")),
            CompareRule::Epsilon(e) => out.push_str(&format!("Epsilon: {}\n", general(e))),
        }
        let mut w = Writer { out };
        for (head, (decl, held)) in [("Expected", expected), ("Got", actual)] {
            w.out.push_str(&format!("{head}:\n---\n"));
            buffer(&mut w, 0, false, decl, held);
            w.out.push_str("...\n");
        }
        out = w.out;
        for (head, (decl, held)) in [("Expected", expected), ("Actual", actual)] {
            out.push_str(&format!("Full Hex representation of {head} Buffer Values:\n"));
            out.push_str(&hex(decl, &held.bytes));
        }
    }
    out
}

type Held<'a> = (&'a BufferDecl, &'a Contents);

/// True if two buffers are as alike as the result asks for.
fn holds(decl: &ResultDecl, actual: Held<'_>, expected: Held<'_>) -> bool {
    let ((shape, actual), (other, expected)) = (actual, expected);
    if shape.count != other.count || actual.bytes.len() != expected.bytes.len() {
        return false;
    }
    let rule =
        Comparison { rule: decl.rule, denorm: decl.denorm, zero_tolerance: decl.zero_tolerance };
    let size = shape.format.bytes();
    let pairs = actual.bytes.chunks(size).zip(expected.bytes.chunks(size));
    pairs.into_iter().all(|(a, e)| rule.holds(shape.format, a, e))
}

fn hex(decl: &BufferDecl, bytes: &[u8]) -> String {
    let size = decl.format.bytes();
    let list = |bytes: &[u8]| {
        let all: Vec<String> =
            bytes.chunks_exact(size).map(|n| format!("{:#x}", word(n))).collect();
        format!("[ {} ]\n", all.join(", "))
    };
    if decl.count == 1 {
        return list(bytes);
    }
    let elements = bytes.chunks(decl.resource_bytes().max(1));
    elements.map(|element| format!(" - {}", list(element))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::parse_pipeline;
    use crate::problem::Source;

    #[test]
    fn numbers_as_c_prints_them() {
        for (value, text) in [
            (0.0, "0"),
            (-0.0, "-0"),
            (1.0, "1"),
            (0.1, "0.1"),
            (20.25, "20.25"),
            (123456.0, "123456"),
            (1234567.0, "1.23457e+06"),
            (1.12e-38, "1.12e-38"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (999999.5, "1e+06"),
            (f64::NEG_INFINITY, "-inf"),
            (f64::NAN, "nan"),
            (13.1f32.into(), "13.1"),
        ] {
            assert_eq!(general(value), text);
        }
    }

    #[test]
    fn a_dump_has_the_suites_form() {
        let text = "Shaders: [{Stage: Compute, Entry: main}]\nBuffers:\n  - {Name: Out, Format: Int32, Stride: 4, FillSize: 8}\n  - {Name: Two, Format: Hex16, ArraySize: 2, Data: [[0x3E00], [1]]}\nResults: [{Result: R, Rule: BufferExact, Actual: Out, Expected: Out}]\nDescriptorSets:\n  - Resources:\n    - {Name: Out, Kind: RWStructuredBuffer, DirectXBinding: {Register: 0, Space: 0}}\n";
        let scenario = parse_pipeline(&Source::new("p", text)).unwrap();
        let held = |name: &str, bytes: &[u8]| Contents {
            name: name.into(),
            bytes: bytes.to_vec(),
            counters: Vec::new(),
        };
        let contents =
            [held("Out", &[255, 255, 255, 255, 7, 0, 0, 0]), held("Two", &[0, 0x3E, 1, 0])];
        insta::assert_snapshot!(pipeline(&scenario, &contents), @r"
        ---
        Shaders:
          - Stage:           Compute
            Entry:           main
        Buffers:
          - Name:            Out
            Format:          Int32
            Stride:          4
            Data:            [ -1, 7 ]
            OutputProps:
              Height:          0
              Width:           0
              Depth:           0
          - Name:            Two
            Format:          Hex16
            ArraySize:       2
            Data:
              - [ 0x3E00 ]
              - [ 0x1 ]
            OutputProps:
              Height:          0
              Width:           0
              Depth:           0
        Results:
          - Result:          R
            Rule:            BufferExact
            Actual:          Out
            Expected:        Out
        DescriptorSets:
          - Resources:
              - Name:            Out
                Kind:            RWStructuredBuffer
                DirectXBinding:
                  Register:        0
                  Space:           0
        ...
        ");
        assert_eq!(failures(&scenario, &contents), "");
    }

    #[test]
    fn long_lists_are_broken() {
        let mut w = Writer::default();
        w.list_of(0, "Data", (0..30).map(|i| i.to_string()));
        let lines: Vec<&str> = w.out.lines().map(str::trim_end).collect();
        insta::assert_snapshot!(lines.join("\n"), @r"
        Data:            [ 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15,
                           16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28,
                           29 ]
        ");
    }
}
