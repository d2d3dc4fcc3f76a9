//! WGSL and GLSL to SPIR-V, by naga.
//!
//! Checks that naga can write into the code: none for buffers and images, whose
//! accesses out of range the engines treat as Direct3D does; an index into an
//! array, vector or matrix elsewhere is clamped, as WGSL allows; group-shared
//! memory starts as zero, as WGSL asks. Group and binding go through as set and
//! binding.

use crate::source::{Diagnostic, Position, Severity, SourceFile};
use crate::{ShaderError, ShaderErrorKind};
use naga::back::pipeline_constants::process_overrides;
use naga::back::spv;
use naga::front::glsl;
use naga::proc::{BoundsCheckPolicies, BoundsCheckPolicy};
use naga::valid::{Capabilities, ValidationFlags, Validator};
use naga::{ShaderStage, SourceLocation};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// naga recurses with the nesting of the source.
const STACK_BYTES: usize = 64 << 20;

/// Compiles the compute entry point `entry` of WGSL `text`, or the only one;
/// messages call the text `name`.
///
/// # Errors
/// [`ShaderErrorKind::Source`] with places, [`ShaderErrorKind::Options`] if there
/// is no such entry point, [`ShaderErrorKind::Unsupported`] for stages other than
/// compute and what naga cannot write as SPIR-V.
pub fn compile(name: &str, text: &str, entry: Option<&str>) -> Result<Vec<u32>, ShaderError> {
    guarded(name, &|| translate(name, text, entry))
}

/// Compiles the compute shader that GLSL `text` is, with `defines`.
///
/// # Errors
/// As [`compile`]; specialization constants are refused, since naga would put
/// their defaults in.
pub fn compile_glsl(
    name: &str,
    text: &str,
    defines: &[(String, Option<String>)],
) -> Result<Vec<u32>, ShaderError> {
    guarded(name, &|| translate_glsl(name, text, defines))
}

/// Runs `work` on a thread with a large stack, and takes a panic as naga's fault.
fn guarded(
    name: &str,
    work: &(dyn Fn() -> Result<Vec<u32>, ShaderError> + Sync),
) -> Result<Vec<u32>, ShaderError> {
    let tool = |what: &str| ShaderError::new(ShaderErrorKind::Tool, format!("{name}: {what}"));
    let work = || {
        catch_unwind(AssertUnwindSafe(work))
            .unwrap_or_else(|_| Err(tool("naga failed on this source, which is naga's fault")))
    };
    std::thread::scope(|scope| {
        std::thread::Builder::new()
            .stack_size(STACK_BYTES)
            .spawn_scoped(scope, work)
            .map_err(|e| tool(&format!("no thread to run naga in: {e}")))?
            .join()
            .unwrap_or_else(|_| Err(tool("naga failed on this source, which is naga's fault")))
    })
}

fn translate(name: &str, text: &str, entry: Option<&str>) -> Result<Vec<u32>, ShaderError> {
    let place = |at: SourceLocation| position(name, text, at);
    let module = naga::front::wgsl::parse_str(text).map_err(|e| {
        let mut error = Diagnostic::error(e.location(text).map(place), e.message());
        for (span, label) in e.labels().filter(|(_, label)| !label.is_empty()) {
            error.notes.push(note(Some(place(span.location(text))), label));
        }
        error.notes.extend(e.notes().map(|text| note(None, text)));
        rejected(name, text, error)
    })?;
    let entry = entry_point(name, &module, entry)?;
    write(name, text, &module, entry, spv::SourceLanguage::WGSL)
}

fn translate_glsl(
    name: &str,
    text: &str,
    defines: &[(String, Option<String>)],
) -> Result<Vec<u32>, ShaderError> {
    let place = |at: SourceLocation| position(name, text, at);
    let defines = defines.iter().map(|(key, v)| (key.clone(), v.clone().unwrap_or_default()));
    let options = glsl::Options { stage: ShaderStage::Compute, defines: defines.collect() };
    let module = glsl::Frontend::default().parse(&options, text).map_err(|e| {
        let all = e.errors.iter();
        let all = all.map(|e| Diagnostic::error(e.location(text).map(place), e.kind.to_string()));
        let file = SourceFile { name: name.into(), debug_name: None, text: text.into() };
        ShaderError::from_diagnostics(name, all.collect()).with_files(vec![file])
    })?;
    if !module.overrides.is_empty() {
        let what = format!("{name}: specialization constants, which naga puts defaults in for");
        return Err(ShaderError::unsupported(what));
    }
    write(name, text, &module, "main".to_owned(), spv::SourceLanguage::GLSL)
}

/// Validates `module`, made of `text`, and writes its entry point.
fn write(
    name: &str,
    text: &str,
    module: &naga::Module,
    entry: String,
    language: spv::SourceLanguage,
) -> Result<Vec<u32>, ShaderError> {
    let place = |at: SourceLocation| position(name, text, at);
    let mut validator = Validator::new(ValidationFlags::all(), Capabilities::all());
    let info = validator.validate(module).map_err(|e| {
        let mut error = Diagnostic::error(e.location(text).map(place), chain(e.as_inner()));
        for (span, label) in e.spans().filter(|(_, label)| !label.is_empty()) {
            error.notes.push(note(Some(place(span.location(text))), label));
        }
        rejected(name, text, error)
    })?;
    let stage = ShaderStage::Compute;
    let bad = |what: String| ShaderError::unsupported(format!("{name}: {what}"));
    let (module, info) =
        process_overrides(module, &info, Some((stage, &entry)), &Default::default())
            .map_err(|e| bad(chain(&e)))?;
    let options = spv::Options {
        lang_version: (1, 6),
        flags: spv::WriterFlags::DEBUG,
        fake_missing_bindings: true,
        bounds_check_policies: BoundsCheckPolicies {
            index: BoundsCheckPolicy::Restrict,
            buffer: BoundsCheckPolicy::Unchecked,
            image_load: BoundsCheckPolicy::Unchecked,
            binding_array: BoundsCheckPolicy::Unchecked,
        },
        zero_initialize_workgroup_memory: spv::ZeroInitializeWorkgroupMemoryMode::Polyfill,
        force_loop_bounding: false,
        debug_info: Some(spv::DebugInfo { source_code: text, file_name: name, language }),
        ..spv::Options::default()
    };
    let pipeline = spv::PipelineOptions { shader_stage: stage, entry_point: entry };
    spv::write_vec(&module, &info, &options, Some(&pipeline)).map_err(|e| bad(chain(&e)))
}

fn entry_point(
    name: &str,
    module: &naga::Module,
    wanted: Option<&str>,
) -> Result<String, ShaderError> {
    let bad = |what| Err(ShaderError::new(ShaderErrorKind::Options, format!("{name}: {what}")));
    let compute = |e: &&naga::EntryPoint| e.stage == ShaderStage::Compute;
    let names: Vec<&str> =
        module.entry_points.iter().filter(compute).map(|e| e.name.as_str()).collect();
    match (wanted, &names[..]) {
        (Some(wanted), names) if names.contains(&wanted) => Ok(wanted.to_owned()),
        (None, [only]) => Ok((*only).to_owned()),
        (Some(wanted), []) => bad(format!("no compute entry point `{wanted}`, nor any other")),
        (Some(wanted), _) => {
            bad(format!("no compute entry point `{wanted}`; there are: {}", names.join(", ")))
        }
        (None, []) => bad("no compute entry point (@compute)".to_owned()),
        (None, _) => bad(format!("several compute entry points, name one: {}", names.join(", "))),
    }
}

fn position(name: &str, text: &str, at: SourceLocation) -> Position {
    let bytes = text.as_bytes();
    let end = (at.offset as usize).min(bytes.len());
    let start = bytes[..end].iter().rposition(|b| *b == b'\n').map_or(0, |i| i + 1);
    let column = String::from_utf8_lossy(&bytes[start..end]).chars().count();
    Position { file: name.to_owned(), line: at.line_number, column: column as u32 + 1 }
}

fn note(at: Option<Position>, text: &str) -> Diagnostic {
    Diagnostic { severity: Severity::Note, ..Diagnostic::error(at, text) }
}

fn rejected(name: &str, text: &str, error: Diagnostic) -> ShaderError {
    let file = SourceFile { name: name.into(), debug_name: None, text: text.into() };
    ShaderError::from_diagnostics(name, vec![error]).with_files(vec![file])
}

/// An error and its causes in one line.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text += &format!(": {cause}");
        source = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use rspirv::spirv::Op;

    const KERNEL: &str = "@group(1) @binding(3) var<storage, read_write> o: array<u32>;\n\
        override K: u32 = 3u;\n\
        var<workgroup> s: array<u32, 64>;\n\
        @compute @workgroup_size(64)\n\
        fn main(@builtin(local_invocation_index) i: u32) {\n\
            s[i] = i * K;\n\
            workgroupBarrier();\n\
            o[i] = s[63u - i] + subgroupAdd(i);\n\
        }\n";

    #[test]
    fn a_kernel_compiles_with_its_lines() {
        let words = compile("a.wgsl", KERNEL, None).unwrap();
        let module = rspirv::dr::load_words(&words).unwrap();
        assert_eq!(module.entry_points.len(), 1);
        let lines: Vec<u32> = module
            .functions
            .iter()
            .flat_map(|f| f.all_inst_iter())
            .filter(|i| i.class.opcode == Op::Line)
            .map(|i| i.operands[1].unwrap_literal_bit32())
            .collect();
        assert!(lines.contains(&6) && lines.contains(&8), "{lines:?}");
        assert_eq!(compile("a.wgsl", KERNEL, Some("main")).unwrap(), words);
    }

    #[test]
    fn errors_have_places() {
        let shown = |text: &str, entry| compile("a.wgsl", text, entry).unwrap_err().to_string();
        insta::assert_snapshot!(shown("\n/* é */ fn f() { let x = y; }", None), @"a.wgsl:2:26: source error: no definition in scope for identifier: `y`");
        let wrong = KERNEL.replace("i * K", "1.5");
        insta::assert_snapshot!(shown(&wrong, None), @"a.wgsl:6:1: source error: automatic conversions cannot convert elements of `{AbstractFloat}` to `u32`");
        insta::assert_snapshot!(shown(KERNEL, Some("other")), @"bad option: a.wgsl: no compute entry point `other`; there are: main");
        insta::assert_snapshot!(shown("fn f() {}", None), @"bad option: a.wgsl: no compute entry point (@compute)");
        let unbound =
            "var<storage> o: array<u32>; @compute @workgroup_size(1) fn main() { let x = o[0]; }";
        insta::assert_snapshot!(shown(unbound, None), @"a.wgsl:1:1: source error: Global variable [0] 'o' is invalid: Binding decoration is missing or not applicable");
    }

    #[test]
    fn deep_nesting_is_an_error_not_a_crash() {
        let deep = format!("const x = {}1{};", "(".repeat(200_000), ")".repeat(200_000));
        assert!(compile("a.wgsl", &deep, None).is_err());
    }
}
