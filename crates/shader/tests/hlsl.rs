//! HLSL through the real DXC.
#![allow(clippy::unwrap_used)]

mod common;

use common::options;
use rspirv::dr::Operand;
use rspirv::spirv::{Decoration, Op};
use std::path::Path;
use std::time::Duration;
use wavefence_base::WaveSize;
use wavefence_shader::ir::WaveRule;
use wavefence_shader::lower::LowerOptions;
use wavefence_shader::{
    CompileOptions, Compiled, Language, ShaderError, ShaderErrorKind, Source, compile, load_kernel,
};

fn hlsl(text: &str) -> Result<Compiled, ShaderError> {
    compile(&Source::text(Language::Hlsl, "dir/a.hlsl", text), &options())
}

fn in_dir(dir: &Path, main: &str) -> Source {
    std::fs::write(dir.join("main.hlsl"), main).unwrap();
    Source::read(&dir.join("main.hlsl"), None).unwrap()
}

const BODY: &str = "RWByteAddressBuffer o : register(u1, space2);\n\
    [numthreads(8, 4, 1)] void main(uint3 id : SV_DispatchThreadID) { o.Store(4 * id.x, WaveGetLaneCount()); }\n";

#[test]
fn a_kernel_compiles_and_keeps_its_name_and_lines() {
    let done = hlsl(BODY).unwrap();
    assert_eq!(done.entry.as_deref(), Some("main"));
    assert_eq!(done.wave, WaveRule::Wave64);
    assert_eq!(done.warnings, []);
    let module = rspirv::dr::load_words(&done.words).unwrap();
    let names: Vec<_> = module
        .debug_string_source
        .iter()
        .filter(|i| i.class.opcode == Op::String)
        .map(|i| i.operands[0].unwrap_literal_string())
        .collect();
    assert!(names.contains(&"dir/a.hlsl"), "{names:?}");
    let lines: Vec<u32> = module
        .functions
        .iter()
        .flat_map(|f| f.all_inst_iter())
        .filter(|i| i.class.opcode == Op::Line)
        .map(|i| i.operands[1].unwrap_literal_bit32())
        .collect();
    assert!(!lines.is_empty() && lines.iter().all(|l| *l == 2), "{lines:?}");
    let binding = decoration(&module, "o", Decoration::Binding);
    assert_eq!((binding, decoration(&module, "o", Decoration::DescriptorSet)), ((2 << 16) + 1, 2));
}

fn decoration(module: &rspirv::dr::Module, name: &str, wanted: Decoration) -> u32 {
    let id = module
        .debug_names
        .iter()
        .find(|i| i.operands.get(1) == Some(&Operand::LiteralString(name.into())))
        .map(|i| i.operands[0].unwrap_id_ref())
        .unwrap();
    module
        .annotations
        .iter()
        .find(|i| {
            i.operands[0] == Operand::IdRef(id)
                && i.operands.get(1) == Some(&Operand::Decoration(wanted))
        })
        .map(|i| i.operands[2].unwrap_literal_bit32())
        .unwrap()
}

#[test]
fn resources_without_registers_stay_below_the_shifts() {
    let done = hlsl(
        "ByteAddressBuffer i; RWByteAddressBuffer o; cbuffer C { uint c; }\n\
         [numthreads(1, 1, 1)] void main() { o.Store(0, i.Load(c)); }",
    )
    .unwrap();
    let module = rspirv::dr::load_words(&done.words).unwrap();
    let binding = |name| decoration(&module, name, Decoration::Binding);
    assert_eq!((binding("i"), binding("o"), binding("C")), (0, 1, 2));
}

#[test]
fn errors_have_file_line_and_column() {
    let error = hlsl("// one\n[numthreads(1, 1, 1)]\nvoid main() { int x = y; }\n").unwrap_err();
    assert_eq!(error.kind, ShaderErrorKind::Source);
    insta::assert_snapshot!(error, @"dir/a.hlsl:3:23: source error: use of undeclared identifier 'y'");
    let at = error.diagnostics()[0].at.as_ref().unwrap();
    assert_eq!((at.line, at.column), (3, 23));
    assert_eq!(error.files()[0].name, "dir/a.hlsl");
}

#[test]
fn lines_are_right_behind_a_prelude() {
    let error = hlsl(
        "[numthreads(1, 1, 1)]\nvoid main() {\n  uint2 t = __XB_MemTime();\n  int x = y;\n}\n",
    )
    .unwrap_err();
    insta::assert_snapshot!(error, @"dir/a.hlsl:4:11: source error: use of undeclared identifier 'y'");
}

#[test]
fn wave_rules_come_from_macro_source_include_and_attribute() {
    let wave = |text: &str| hlsl(&format!("{text}\n{BODY}")).unwrap().wave;
    let named = "__XBOX_ENABLE_WAVE32";
    assert_eq!(wave(&format!("#define {named} 1")), WaveRule::Wave32);
    assert_eq!(wave(&format!("#define ON 0x2\n#define {named} (ON)")), WaveRule::Wave32);
    for off in ["#define {} 0", "// #define {} 1", "#define {}", "#if 0\n#define {} 1\n#endif"] {
        assert_eq!(wave(&off.replace("{}", named)), WaveRule::Wave64, "{off}");
    }
    assert_eq!(wave(&format!("#define {named} 1\n#undef {named}")), WaveRule::Wave64);
    let other = "#define N 32\n[WaveSize(N)] [numthreads(1, 1, 1)] void other() {}";
    assert_eq!(wave(other), WaveRule::Wave64, "that is not the entry point");
    let fixed = BODY.replace("[numthreads", "[WaveSize(32)]\n[numthreads");
    let done = hlsl(&fixed).unwrap();
    assert_eq!(done.wave, WaveRule::Fixed(WaveSize::W32));
    assert_eq!(done.warnings, [], "DXC's own word on WaveSize is not for the user");
    let by_line = |value: Option<&str>| {
        let defines = vec![(named.into(), value.map(str::to_owned))];
        let source = Source::text(Language::Hlsl, "a.hlsl", BODY);
        compile(&source, &CompileOptions { defines, ..options() }).unwrap().wave
    };
    assert_eq!(by_line(None), WaveRule::Wave32);
    assert_eq!(by_line(Some("1")), WaveRule::Wave32);
    assert_eq!(by_line(Some("0")), WaveRule::Wave64);
    let source = Source::text(
        Language::Hlsl,
        "a.hlsl",
        format!(
            "#if __HLSL_ENABLE_16_BIT && __SHADER_TARGET_MINOR == 2\n#define {named} 1\n#endif\n{BODY}"
        ),
    );
    let args = ["-enable-16bit-types", "-T", "cs_6_2"].map(str::to_owned).to_vec();
    let done = compile(&source, &CompileOptions { args, ..options() }).unwrap();
    assert_eq!(done.wave, WaveRule::Wave32, "predefined macros are those of the compile");
    let error = hlsl(&format!("#define {named} 1.5\n{BODY}")).unwrap_err();
    assert!(error.what.contains("is no integer"), "{error}");
}

#[test]
fn includes_come_from_the_folder_and_the_include_folders_only() {
    let tmp = tempfile::tempdir().unwrap();
    let (dir, other) = (tmp.path().join("src"), tmp.path().join("lib"));
    std::fs::create_dir_all(dir.join("inc")).unwrap();
    std::fs::create_dir_all(&other).unwrap();
    std::fs::write(dir.join("inc/b.hlsli"), "#define __XBOX_ENABLE_WAVE32 1\n").unwrap();
    std::fs::write(dir.join("inc/a.hlsli"), "#include \"b.hlsli\"\nuint f() { return G; }\n")
        .unwrap();
    std::fs::write(other.join("g.hlsli"), "static const uint G = 3;\n").unwrap();
    let main = format!("#include \"g.hlsli\"\n#include \"inc/a.hlsli\"\n{BODY}");
    let source = in_dir(&dir, &main);
    let with = CompileOptions { include_dirs: vec![other.clone()], ..options() };
    let done = compile(&source, &with).unwrap();
    assert_eq!(done.wave, WaveRule::Wave32);
    let names: Vec<_> = done.files.iter().map(|f| f.name.rsplit('/').next().unwrap()).collect();
    assert_eq!(names, ["main.hlsl", "g.hlsli", "a.hlsli", "b.hlsli"]);

    let error = compile(&source, &options()).unwrap_err();
    assert!(error.what.contains("'g.hlsli' file not found"), "{error}");
    let outside = in_dir(&dir, "#include \"../lib/g.hlsli\"\n");
    let error = compile(&outside, &options()).unwrap_err();
    assert!(error.what.contains("lies outside the folder of the source"), "{error}");

    std::fs::write(dir.join("inc/bad.hlsli"), "uint f() { return nope; }\n").unwrap();
    let error = compile(&in_dir(&dir, "#include \"inc/bad.hlsli\"\n"), &options()).unwrap_err();
    let at = error.diagnostics()[0].at.as_ref().unwrap();
    assert!(at.file.ends_with("src/inc/bad.hlsli") && at.line == 1, "{at}");
    assert_eq!(error.diagnostics()[0].included_from.len(), 1, "{:#?}", error.diagnostics());
}

#[test]
fn a_file_that_includes_itself_is_named() {
    let tmp = tempfile::tempdir().unwrap();
    std::fs::write(tmp.path().join("a.hlsli"), "#include \"b.hlsli\"\n").unwrap();
    std::fs::write(tmp.path().join("b.hlsli"), "\n#include \"a.hlsli\"\n").unwrap();
    let error = compile(&in_dir(tmp.path(), "#include \"a.hlsli\"\n"), &options()).unwrap_err();
    assert!(error.what.contains("includes itself"), "{error}");
    assert!(error.what.contains("a.hlsli -> "), "{error}");
    let error = compile(&in_dir(tmp.path(), "#include \"main.hlsl\"\n"), &options()).unwrap_err();
    assert!(error.what.contains("includes itself"), "{error}");
}

#[test]
fn dxc_arguments_are_honoured_or_refused() {
    let source = Source::text(
        Language::Hlsl,
        "a.hlsl",
        "[numthreads(1, 1, 1)] void other() { half h = 1; uint16_t x = X; }",
    );
    let with = |args: &[&str]| {
        let args = args.iter().map(|a| (*a).to_owned()).collect();
        compile(&source, &CompileOptions { args, ..options() })
    };
    let all =
        ["-T", "cs_6_2", "-E", "other", "-enable-16bit-types", "-DX=4", "-Gis", "-HV", "2021"];
    assert_eq!(with(&all).unwrap().entry.as_deref(), Some("other"));
    let error = with(&["-Eother", "-DX=1"]).unwrap_err();
    assert_eq!(error.kind, ShaderErrorKind::Source, "{error}");
    let error = with(&["-fvk-u-shift", "0", "0"]).unwrap_err();
    assert_eq!(error.kind, ShaderErrorKind::Options, "{error}");
    let error = with(&["-T", "ps_6_0"]).unwrap_err();
    assert_eq!(error.kind, ShaderErrorKind::Unsupported, "{error}");
    let error = with(&["-no-such-option"]).unwrap_err();
    assert!(error.to_string().contains("no-such-option"), "{error}");
}

#[test]
fn constant_and_structured_buffers_have_direct3ds_layout() {
    let done = hlsl(
        "struct S { float a; float4 b; float3 arr[3]; float2x3 m; row_major float2x3 r; float t; };\n\
         cbuffer C { float x; float3 y; float z[3]; row_major float2x3 r; float t; S s; }\n\
         StructuredBuffer<S> i; RWStructuredBuffer<float3> o;\n\
         [numthreads(1, 1, 1)] void main() { o[0] = y + z[0] + t + s.t + i[0].t + i[0].arr[1]; }",
    )
    .unwrap();
    let module = rspirv::dr::load_words(&done.words).unwrap();
    let offsets = |name: &str| -> Vec<u32> {
        let id = module.debug_names.iter().find(|i| {
            i.class.opcode == Op::Name && i.operands[1] == Operand::LiteralString(name.into())
        });
        let id = id.unwrap().operands[0].clone();
        let member = |i: &&rspirv::dr::Instruction| {
            i.class.opcode == Op::MemberDecorate
                && i.operands[0] == id
                && i.operands[2] == Operand::Decoration(Decoration::Offset)
        };
        module
            .annotations
            .iter()
            .filter(member)
            .map(|i| i.operands[3].unwrap_literal_bit32())
            .collect()
    };
    // Rows of 16 bytes; a scalar may follow in the last row of an array or matrix.
    assert_eq!(offsets("type.C"), [0, 4, 16, 64, 92, 96]);
    let strides: Vec<u32> = module
        .annotations
        .iter()
        .filter(|i| i.operands.get(1) == Some(&Operand::Decoration(Decoration::ArrayStride)))
        .map(|i| i.operands[2].unwrap_literal_bit32())
        .collect();
    // The structure is packed: 4 + 16 + 36 + 24 + 24 + 4 bytes.
    assert!(strides.contains(&108) && strides.contains(&12), "{strides:?}");
}

#[test]
fn a_time_limit_ends_dxc() {
    let source = Source::text(Language::Hlsl, "a.hlsl", BODY);
    let options = CompileOptions { time_limit: Duration::ZERO, ..options() };
    let error = compile(&source, &options).unwrap_err();
    assert!(matches!(error.kind, ShaderErrorKind::Tool | ShaderErrorKind::MissingTool), "{error}");
}

#[test]
fn a_library_that_is_no_dxc_is_named() {
    let tmp = tempfile::tempdir().unwrap();
    let fake = tmp.path().join("libdxcompiler.so");
    std::fs::write(&fake, "no library").unwrap();
    let source = Source::text(Language::Hlsl, "a.hlsl", BODY);
    let error = compile(&source, &CompileOptions { dxc: Some(fake), ..options() }).unwrap_err();
    assert_eq!(error.kind, ShaderErrorKind::MissingTool);
    assert!(error.what.contains("WAVEFENCE_DXC"), "{error}");
}

#[test]
fn odd_texts_never_bring_the_caller_down() {
    let deep = format!("int x = {}1{};\n", "(".repeat(100_000), ")".repeat(100_000));
    let long = format!("// {}\n", "é".repeat(1 << 20));
    for text in
        [deep.as_str(), &long, "#if 1\n", "/* open", "\\", "#define X \\", "[", "#include", "\u{1}"]
    {
        let answer = hlsl(text);
        assert!(answer.is_err(), "{:?}", &text[..text.len().min(20)]);
        assert!(hlsl(BODY).is_ok(), "the next compile works");
    }
}

#[test]
fn a_comment_brings_no_prelude_in() {
    let text = format!("// XbGdsLoad\n{BODY}#define USE XbGdsLoad(0)\n");
    let module = rspirv::dr::load_words(&hlsl(&text).unwrap().words).unwrap();
    let reserved = Operand::LiteralString("__wavefence_gds".into());
    assert!(!module.debug_names.iter().any(|i| i.operands.contains(&reserved)));
}

/// Every function of the prelude, called in a kernel of its own.
#[test]
fn every_prelude_function_compiles() {
    for name in wavefence_shader::prelude::names() {
        let (args, result) = call(name);
        let text = format!(
            "RWByteAddressBuffer o : register(u0);\n[numthreads(64, 1, 1)]\n\
             void main(uint3 id : SV_DispatchThreadID) {{\n\
             uint u = o.Load(4 * id.x); int i = u; float f = asfloat(u); uint2 p = o.Load2(4);\n\
             {} o.Store(0, {result}); }}\n",
            args
        );
        let source = Source::text(Language::Hlsl, "a.hlsl", text.as_str());
        let lower = LowerOptions::default();
        match load_kernel(&source, &options(), &lower) {
            Ok(_) => {}
            // 64-bit types are a matter of lowering.
            Err(error) => {
                let wide =
                    error.kind == ShaderErrorKind::Unsupported && error.what.contains("64-bit");
                assert!(wide, "{name}: {error}\n{text}");
            }
        }
    }
}

/// A statement that calls `name` into `r`, and `r` as a uint.
fn call(name: &str) -> (String, &'static str) {
    let args = match name {
        "__XB_MemTime" | "__XB_GetLaneID" => "",
        "__XB_DebugBreak" => return (format!("{name}();"), "0"),
        "__XB_Ballot64" => "u > 3",
        "GlobalOrderedCountIncrement" | "XbGdsLoad" | "__XB_GDS_Read_U32" | "__XB_MakeUniform" => {
            "u"
        }
        "__XB_GDS_Write_U32" | "XbGdsStore" => {
            return (format!("{name}(u, 4);"), "0");
        }
        "XbGdsAtomicCompareExchange" | "__XB_BFI" | "__XB_UBFE" | "__XB_IBFE" => "u, 1, 2",
        "__XB_ReadLane" | "__XB_BFM" => "u, 3u",
        "__XB_LaneSwizzle" => "u, 0x801f",
        "__XB_WriteLane" => "u, 3, 5u",
        "__XB_PackF32ToU8" => "f, 1u, u",
        "__XB_MBCNT64" => "p",
        "__XB_V_CNDMASK_B32" => "p, p",
        _ if name.starts_with("XbGdsAtomic") => "u, 1",
        _ if name.contains("U8") || name.contains("Byte") => "u",
        _ if name.starts_with("__XB_Cube") => "f, f, f",
        _ if name.contains("Pack") && name.contains("F32") => "f, f",
        _ if name.contains("PackI") => "i, i",
        _ if name.contains("PackU") => "u, u",
        _ if name.contains("F32ToI32") => "f",
        _ if name.contains("DTo") => "(double)f",
        _ if name.contains("64ToD") => "p",
        _ if name.contains("Shr") || name.contains("Shl") => "p, u",
        _ if name.contains("Neg") || (name.starts_with("__XB_S_") && name.ends_with("U64")) => "p",
        _ if name.ends_with("64") => "p, p",
        _ if name.starts_with("__XB_S_") || name.ends_with("OR") || name.ends_with("AND") => "u",
        _ if name.contains("Wave") && name.ends_with("F32") => "f",
        _ if name.contains("Wave") => "u",
        _ if name.contains("3_F32") => "f, f, f",
        _ if name.contains("3_") || name.contains("Mad") => "u, 1, 2",
        _ if name.contains("Mul") => "u, 7",
        "__XB_I4ToF32" => "i",
        _ => "f",
    };
    let wide = ["__XB_MemTime", "__XB_Ballot64", "__XB_MBCNT64"];
    let pair = name == wide[0]
        || name == wide[1]
        || name.contains("DTo")
        || (name.ends_with("64") && name != wide[2] && !name.contains("_S_"));
    let (ty, result) = if pair { ("uint2", "r.x") } else { ("float", "asuint(r)") };
    (format!("{ty} r = {name}({args});"), result)
}

#[test]
fn dxc_modules_survive_disassembly_and_assembly() {
    use rspirv::binary::{Assemble, Disassemble};
    let texts = [
        BODY,
        "struct S { float3 a; float b; float3x2 m; };\n\
         cbuffer C { float x; float3 y; float z[3]; int n; }\n\
         StructuredBuffer<S> i; RWStructuredBuffer<S> o; Texture2D<float4> t; SamplerState s;\n\
         groupshared float g[64];\n\
         [numthreads(64, 1, 1)] void main(uint3 id : SV_DispatchThreadID, uint l : SV_GroupIndex) {\n\
           S v = i[id.x]; g[l] = v.b * 1.25e-7; GroupMemoryBarrierWithGroupSync();\n\
           [loop] for (int k = 0; k < n; k++) { if (k == 3) continue; v.a += g[(l + k) & 63] + t.SampleLevel(s, v.a.xy, 0).xyz; }\n\
           switch (n) { case 1: v.b = sin(x); break; case 7: v.b = z[n & 1]; default: v.b += WaveActiveSum(v.b); }\n\
           uint old; InterlockedMax(g_u, 3u, old); v.m[0].x = old; o[id.x] = v; }",
    ];
    for text in texts {
        let text = text
            .replace("g_u", "h")
            .replace("groupshared float", "groupshared uint h; groupshared float");
        let mut module = rspirv::dr::load_words(&hlsl(&text).unwrap().words).unwrap();
        // Its text has characters that disassembler escapes in its own way.
        module.debug_string_source.retain(|i| i.class.opcode == Op::String);
        let source = Source::text(Language::SpirvText, "again", module.disassemble());
        let again = compile(&source, &options()).unwrap_or_else(|e| panic!("{e}")).words;
        assert_eq!(again[5..], module.assemble()[5..]);
    }
}

#[test]
fn registers_win_over_vulkan_bindings() {
    let done = hlsl(
        "[[vk::binding(5, 3)]] RWByteAddressBuffer o : register(u1);\n\
         [[vk::binding(6)]] ByteAddressBuffer i;\n\
         [numthreads(1, 1, 1)] void main() { o.Store(0, i.Load(0)); }",
    )
    .unwrap();
    let module = rspirv::dr::load_words(&done.words).unwrap();
    assert_eq!(decoration(&module, "o", Decoration::Binding), (2 << 16) + 1);
    assert_eq!(decoration(&module, "o", Decoration::DescriptorSet), 0);
    assert_eq!(decoration(&module, "i", Decoration::Binding), 0);
}
