//! Modules of all widths from SPIR-V to values: what lowering makes of an
//! instruction, run.
#![allow(clippy::unwrap_used)]

mod support;

use std::sync::Arc;
use support::{BASE, run};
use wavefence_base::WaveSize;
use wavefence_shader::assemble::assemble;
use wavefence_shader::ir::Kernel;
use wavefence_shader::lower::{self, BindingRule, LowerOptions};
use wavefence_wave::interp::Interpreter;

/// Lanes of the kernels.
const N: usize = 8;

/// A kernel whose thread `%i` reads `%a` and `%b` (words `2 * i` and `2 * i + 1` of
/// the first buffer) and stores `%x` and `%y` into those of the second.
fn kernel(modes: &str, globals: &str, body: &str) -> Arc<Kernel> {
    let text = format!(
        "OpCapability Shader
         OpCapability Int8
         OpCapability Int16
         OpCapability Int64
         OpCapability Float16
         OpCapability Float64
         OpCapability PhysicalStorageBufferAddresses
         %glsl = OpExtInstImport \"GLSL.std.450\"
         OpMemoryModel PhysicalStorageBuffer64 GLSL450
         OpEntryPoint GLCompute %main \"main\" %In %Out %index %id
         {modes}
         OpDecorate %index BuiltIn LocalInvocationIndex
         OpDecorate %id BuiltIn LocalInvocationId
         OpDecorate %words ArrayStride 4
         OpMemberDecorate %block 0 Offset 0
         OpDecorate %block Block
         OpDecorate %In DescriptorSet 0
         OpDecorate %In Binding 0
         OpDecorate %Out DescriptorSet 0
         OpDecorate %Out Binding 1
         %void = OpTypeVoid
         %fn = OpTypeFunction %void
         %bool = OpTypeBool
         %uint = OpTypeInt 32 0
         %int = OpTypeInt 32 1
         %byte = OpTypeInt 8 0
         %short = OpTypeInt 16 1
         %ulong = OpTypeInt 64 0
         %half = OpTypeFloat 16
         %float = OpTypeFloat 32
         %double = OpTypeFloat 64
         %v2u = OpTypeVector %uint 2
         %v3u = OpTypeVector %uint 3
         %v2h = OpTypeVector %half 2
         %c0 = OpConstant %uint 0
         %c1 = OpConstant %uint 1
         %c2 = OpConstant %uint 2
         %words = OpTypeRuntimeArray %uint
         %block = OpTypeStruct %words
         %pblock = OpTypePointer StorageBuffer %block
         %pword = OpTypePointer StorageBuffer %uint
         %pin = OpTypePointer Input %uint
         %pin3 = OpTypePointer Input %v3u
         {globals}
         %In = OpVariable %pblock StorageBuffer
         %Out = OpVariable %pblock StorageBuffer
         %index = OpVariable %pin Input
         %id = OpVariable %pin3 Input
         %main = OpFunction %void None %fn
         %entry = OpLabel
         %i = OpLoad %uint %index
         %even = OpIMul %uint %i %c2
         %odd = OpIAdd %uint %even %c1
         %pa = OpAccessChain %pword %In %c0 %even
         %pb = OpAccessChain %pword %In %c0 %odd
         %a = OpLoad %uint %pa
         %b = OpLoad %uint %pb
         %ab = OpCompositeConstruct %v2u %a %b
         {body}
         %px = OpAccessChain %pword %Out %c0 %even
         %py = OpAccessChain %pword %Out %c0 %odd
         OpStore %px %x
         OpStore %py %y
         OpReturn
         OpFunctionEnd"
    );
    let words = assemble("a.spvasm", &text).unwrap();
    let options = LowerOptions { bindings: BindingRule::Plain, ..LowerOptions::default() };
    Arc::new(lower::kernel(&words, &options).unwrap())
}

/// The pairs that a kernel makes of pairs.
fn pairs(globals: &str, body: &str, input: &[[u32; 2]]) -> Vec<[u32; 2]> {
    let kernel = kernel("OpExecutionMode %main LocalSize 8 1 1", globals, body);
    launch(&kernel, input)
}

fn launch(kernel: &Arc<Kernel>, input: &[[u32; 2]]) -> Vec<[u32; 2]> {
    let mut words = input.concat();
    words.resize(2 * N.max(kernel.threads() as usize), 0);
    let buffers = [words.clone(), vec![0; words.len()]];
    let mut results = Vec::new();
    for engine in [Interpreter::new(), Interpreter::portable()] {
        for size in [WaveSize::W32, WaveSize::W64] {
            let out = run(&engine, kernel, size, [1, 1, 1], &buffers);
            let out: Vec<[u32; 2]> = out[1].chunks(2).map(|p| [p[0], p[1]]).collect();
            results.push(out);
        }
    }
    assert!(results.windows(2).all(|r| r[0] == r[1]), "{results:?}\n{kernel}");
    let mut first = results.swap_remove(0);
    first.truncate(input.len());
    first
}

fn halves(v: f64) -> [u32; 2] {
    [v.to_bits() as u32, (v.to_bits() >> 32) as u32]
}

fn number([low, high]: [u32; 2]) -> f64 {
    f64::from_bits(u64::from(high) << 32 | u64::from(low))
}

const DOUBLES: [f64; 8] = [0.0, -0.0, 1.5, -48.0, 5e-324, -2.5e-310, f64::INFINITY, 1e300];

#[test]
fn bits_keep_their_places_from_width_to_width() {
    let input = [[0x1122_3344, 0xAABB_CCDD], [1, 0], [0, 0x8000_0000]];
    // To 64 bits, doubled, and back through the four halves and eight bytes.
    let got = pairs(
        "%v4s = OpTypeVector %short 4
         %v4b = OpTypeVector %byte 4",
        "%wide = OpBitcast %ulong %ab
         %twice = OpIAdd %ulong %wide %wide
         %parts = OpBitcast %v4s %twice
         %again = OpBitcast %v2u %parts
         %first = OpCompositeExtract %uint %again 0
         %bytes = OpBitcast %v4b %first
         %x = OpBitcast %uint %bytes
         %y = OpCompositeExtract %uint %again 1",
        &input,
    );
    for (got, [low, high]) in got.iter().zip(input) {
        let want = (u64::from(high) << 32 | u64::from(low)).wrapping_mul(2);
        assert_eq!(*got, [want as u32, (want >> 32) as u32]);
    }
}

#[test]
fn doubles_are_packed_and_unpacked() {
    let input = DOUBLES.map(halves);
    let got = pairs(
        "%two = OpConstant %double 2.0",
        "%d = OpExtInst %double %glsl PackDouble2x32 %ab
         %twice = OpFMul %double %d %two
         %words2 = OpExtInst %v2u %glsl UnpackDouble2x32 %twice
         %x = OpCompositeExtract %uint %words2 0
         %y = OpCompositeExtract %uint %words2 1",
        &input,
    );
    for (got, v) in got.iter().zip(DOUBLES) {
        assert_eq!(number(*got).to_bits(), (v * 2.0).to_bits(), "{v}");
    }
}

#[test]
fn significands_and_exponents_of_doubles() {
    let got = pairs(
        "%both = OpTypeStruct %double %int",
        "%d = OpBitcast %double %ab
         %s = OpExtInst %both %glsl FrexpStruct %d
         %m = OpCompositeExtract %double %s 0
         %e = OpCompositeExtract %int %s 1
         %m2 = OpBitcast %v2u %m
         %x = OpCompositeExtract %uint %m2 1
         %y = OpBitcast %uint %e",
        &DOUBLES.map(halves),
    );
    let want = [
        (0.0, 0),
        (-0.0, 0),
        (0.75, 1),
        (-0.75, 6),
        (0.5, -1073),
        (-0.719_077_3, -1028),
        (f64::INFINITY, 0),
        (0.746_610_9, 997),
    ];
    for ((got, (m, e)), v) in got.iter().zip(want).zip(DOUBLES) {
        assert_eq!(got[1] as i32, e, "{v}");
        let high = f64::from_bits(u64::from(got[0]) << 32);
        assert!(high == m || (high - m).abs() < 1e-6, "{v}: {high} for {m}");
    }
}

#[test]
fn halves_split_into_whole_and_fraction() {
    // 2.75, -3.5, inf, subnormal 2^-24: whole parts 2, -3, inf, 0.
    let input = [[0x4180, 0], [0xC300, 0], [0x7C00, 0], [0x0001, 0]];
    let got = pairs(
        "%both = OpTypeStruct %half %half",
        "%pair = OpBitcast %v2h %a
         %h = OpCompositeExtract %half %pair 0
         %s = OpExtInst %both %glsl ModfStruct %h
         %f = OpCompositeExtract %half %s 0
         %w = OpCompositeExtract %half %s 1
         %fs = OpBitcast %short %f
         %ws = OpBitcast %short %w
         %x = OpUConvert %uint %fs
         %y = OpUConvert %uint %ws",
        &input,
    );
    assert_eq!(got, [[0x3A00, 0x4000], [0xB800, 0xC200], [0x0000, 0x7C00], [0x0001, 0x0000]]);
}

#[test]
fn counts_and_fields_of_64_bits() {
    let input = [[40, 8], [0, 64], [63, 1], [4, 0]];
    let got = pairs(
        "%base = OpConstant %ulong 0x0123456789ABCDEF
         %ones = OpConstant %ulong 0xFFFFFFFFFFFFFFFF",
        "%mixed = OpBitFieldInsert %ulong %base %ones %a %b
         %count = OpBitCount %uint %mixed
         %field = OpBitFieldUExtract %ulong %base %a %b
         %x = OpUConvert %uint %field
         %y = OpIAdd %uint %count %c0",
        &input,
    );
    let base = 0x0123_4567_89AB_CDEFu64;
    for (got, [at, n]) in got.iter().zip(input) {
        let mask = u64::MAX.checked_shr(64 - n).unwrap_or(0) << at;
        assert_eq!(*got, [((base & mask) >> at) as u32, (base | mask).count_ones()], "{at} {n}");
    }
}

#[test]
fn dot_products_of_bytes_saturate() {
    let input =
        [[0x7F7F_7F7F, 0x7F7F_7F7F], [0x8080_8080, 0x7F7F_7F7F], [0x0102_0304, 0x0403_02FF]];
    let got = pairs(
        "%most = OpConstant %int 0x7FFFFFF0",
        "%sum = OpSDot %int %a %b PackedVectorFormat4x8Bit
         %full = OpSDotAccSat %int %a %b %most PackedVectorFormat4x8Bit
         %x = OpBitcast %uint %sum
         %y = OpBitcast %uint %full",
        &input,
    );
    for (got, [a, b]) in got.iter().zip(input) {
        let bytes = |v: u32| v.to_le_bytes().map(|b| i64::from(b as i8));
        let sum: i64 = bytes(a).iter().zip(bytes(b)).map(|(x, y)| x * y).sum();
        let full = (sum + 0x7FFF_FFF0).clamp(i64::from(i32::MIN), i64::from(i32::MAX));
        assert_eq!(*got, [sum as u32, full as u32]);
    }
}

#[test]
fn subnormals_are_zeros_where_asked() {
    let modes = "OpExecutionMode %main LocalSize 8 1 1
         OpExecutionMode %main DenormFlushToZero 32";
    let body = "%f = OpBitcast %float %a
         %g = OpBitcast %float %b
         %sum = OpFAdd %float %f %g
         %product = OpFMul %float %f %g
         %x = OpBitcast %uint %sum
         %y = OpBitcast %uint %product";
    let bits = |v: f32| v.to_bits();
    let (tiny, least) = (bits(1e-40), bits(f32::MIN_POSITIVE));
    let input = [[tiny, tiny], [least, bits(0.5)], [bits(-1e-40), 0x8000_0000]];
    let flushed = launch(&kernel(modes, "", body), &input);
    assert_eq!(flushed, [[0, 0], [bits(0.5), 0], [0x8000_0000, 0]]);
    let kept = pairs("", body, &input);
    assert_eq!(kept, [[2 * tiny, 0], [bits(0.5), least / 2], [bits(-1e-40), 0]]);
}

#[test]
fn quads_are_squares_of_threads() {
    // 4 by 4 threads: lane numbers of the square that each thread is in.
    let kernel = kernel(
        "OpExecutionMode %main LocalSize 4 4 1
         OpExecutionMode %main DerivativeGroupQuadsKHR",
        "",
        "%place3 = OpLoad %v3u %id
         %column = OpCompositeExtract %uint %place3 0
         %row = OpCompositeExtract %uint %place3 1
         %c = OpConvertUToF %float %column
         %r = OpConvertUToF %float %row
         %ten = OpFMul %float %r %r
         %sum = OpFAdd %float %c %ten
         %dx = OpDPdx %float %sum
         %dy = OpDPdyFine %float %sum
         %x = OpConvertFToU %uint %dx
         %y = OpConvertFToU %uint %dy",
    );
    let got = launch(&kernel, &[[0, 0]; 16]);
    // Along x the sum grows by 1; along y by 1 in rows 0 and 1, by 5 in 2 and 3.
    let want: Vec<[u32; 2]> = (0..16).map(|i| if i < 8 { [1, 1] } else { [1, 5] }).collect();
    assert_eq!(got, want);
}

#[test]
fn memory_is_reached_by_address() {
    // The first buffer lies at BASE: word `a` of it, through its address.
    let globals = format!(
        "%pu = OpTypePointer PhysicalStorageBuffer %uint
         %base = OpConstant %ulong {BASE}
         %four = OpConstant %ulong 4"
    );
    let got = pairs(
        &globals,
        "%wide = OpUConvert %ulong %a
         %offset = OpIMul %ulong %wide %four
         %address = OpIAdd %ulong %base %offset
         %p = OpConvertUToPtr %pu %address
         %x = OpLoad %uint %p Aligned 4
         %y = OpAtomicIAdd %uint %p %c1 %c0 %c0",
        &[[1, 77], [3, 88], [0, 99]],
    );
    assert_eq!(got, [[77, 77], [88, 88], [1, 1]]);
}
