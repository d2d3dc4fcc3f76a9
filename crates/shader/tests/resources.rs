//! Resources, and what else a source says to its surroundings, through the real
//! DXC.
#![allow(clippy::unwrap_used)]

mod common;

use common::options;
use wavefence_shader::ir::{Kernel, Resource};
use wavefence_shader::lower::LowerOptions;
use wavefence_shader::{Language, Loaded, ShaderError, ShaderErrorKind, Source, load_kernel};

fn load(text: &str) -> Result<Loaded, ShaderError> {
    let source = Source::text(Language::Hlsl, "a.hlsl", text);
    wavefence_shader::load(&source, &options(), &LowerOptions::default())
}

fn kernel(text: &str) -> Kernel {
    load(text).unwrap().kernel
}

fn refusal(text: &str) -> String {
    load(text).unwrap_err().to_string()
}

#[test]
fn counters_stand_at_the_register_of_their_buffer() {
    let k = kernel(
        "AppendStructuredBuffer<uint> A : register(u3, space1);
         ConsumeStructuredBuffer<uint2> C : register(u4);
         RWStructuredBuffer<float> R;
         cbuffer B { uint b; };
         [numthreads(1, 1, 1)] void main() {
           A.Append(C.Consume().y);
           R[R.IncrementCounter()] = R.DecrementCounter() + b;
         }",
    );
    insta::assert_snapshot!(k, @"
    kernel main [1, 1, 1] wave64
    b0 B: cbuffer readonly
    u0 R.counter: counter
    u0 R: structured(4)
    u4 C.counter: counter
    u4 C: structured(8)
    u3, space1 A.counter: counter
    u3, space1 A: structured(4)
      %1 = atomic.add A.counter @ 0, 1
      %2 = atomic.sub C.counter @ 0, 1
      %3 = load C @ %2 * 8 + 4294967292
      store A @ %1 * 4 <- %3
      %4 = atomic.sub R.counter @ 0, 1
      %6 = iadd %4, 0xffffffff
      %7 = load B @ 0
      %8 = iadd %6, %7
      %9 = utof %8
      %10 = atomic.add R.counter @ 0, 1
      store R @ %10 * 4 <- %9
    ");
}

#[test]
fn a_counter_has_its_register_where_nothing_else_of_the_buffer_is_used() {
    let k = kernel(
        "RWStructuredBuffer<uint> A : register(u3, space1); RWBuffer<uint> O : register(u0);
         [numthreads(1, 1, 1)] void main() { O[0] = A.IncrementCounter(); }",
    );
    let all: Vec<_> = k.resources.iter().map(|r| (&*r.name, r.register, r.space)).collect();
    assert_eq!(all, [("O", 0, 0), ("A.counter", 3, 1)]);
}

#[test]
fn resources_without_registers_are_numbered_as_direct3d_does() {
    let k = kernel(
        "RWBuffer<int> A : register(u1);
         RWBuffer<int> B[2];
         RWBuffer<int> Unused : register(u4);
         AppendStructuredBuffer<int> D;
         RWBuffer<int> AlsoUnused;
         Texture2D<float> T; SamplerState S; ByteAddressBuffer R; Buffer<int> I;
         StructuredBuffer<int> V : register(t1);
         cbuffer C { int c; }
         int global;
         RWByteAddressBuffer E;
         [numthreads(4, 2, 1)] void main(uint i : SV_GroupIndex) {
           D.Append(2 * A[i] + B[i & 1][i] + c + global + V[i] + R.Load(0) + I[0]);
           E.Store(0, T.SampleLevel(S, float2(0, 0), 0));
         }",
    );
    let shown = |r: &Resource| format!("{}{} {}", r.class.letter(), r.register, r.name);
    let all: Vec<String> = k.resources.iter().map(shown).collect();
    insta::assert_snapshot!(all.join(", "), @"b0 $Globals, b1 C, t0 T, t1 V, t2 R, t3 I, u0 D.counter, u0 D, u1 A, u2 B, u4 E, s0 S");
}

#[test]
fn arrays_of_arrays_of_resources_are_one_array() {
    let k = kernel(
        "Texture2D<float> T[3][2] : register(t1);
         RWBuffer<uint> O[2][4] : register(u0);
         SamplerState S[2] : register(s0);
         struct P { uint x; };
         ConstantBuffer<P> C[2] : register(b1);
         RWBuffer<uint> Open[][4] : register(u0, space1);
         [numthreads(4, 1, 1)] void main(uint3 i : SV_DispatchThreadID) {
           uint n = NonUniformResourceIndex(i.x);
           float t = T[i.y][n & 1].SampleLevel(S[n & 1], float2(0, 0), 0);
           O[1][n][0] = t + C[n & 1].x;
           Open[2][1][i.x] = T[2][1].Load(int3(0, 0, 0));
         }",
    );
    insta::assert_snapshot!(k, @"
    kernel main [4, 1, 1] wave64
    b1[2] C: cbuffer readonly
    t1[6] T: image(D2 Float) readonly
    u0[8] O: typed(Uint R32_UINT)
    u0, space1[4096] Open: typed(Uint R32_UINT)
    s0[2] S: sampler readonly
      %0 = global_id.x
      %1 = global_id.y
      %3 = and %0, 1
      %4 = shl %1, 1
      %5 = iadd %4, %3
      %7, %8, %9, %10 = image.sample T[%5] with S[%3] (0, 0) lod 0
      %11 = load C[%3] @ 0
      %12 = utof %11
      %13 = fadd %7, %12
      %14 = ftou %13
      %16 = iadd %0, 4
      image.store O[%16] (0) <- %14
      %18, %19, %20, %21 = image.load T[5] (0, 0)
      %22 = ftou %18
      image.store Open[9] (%0) <- %22
    ");
}

#[test]
fn push_constants_are_a_constant_buffer_in_a_space_of_their_own() {
    let k = kernel(
        "struct P { float2 a; uint b[2]; };
         [[vk::push_constant]] P p;
         RWStructuredBuffer<uint> O : register(u0);
         [numthreads(1, 1, 1)] void main() { O[0] = p.b[1] + p.a.y; }",
    );
    insta::assert_snapshot!(k, @"
    kernel main [1, 1, 1] wave64
    b0, space5747 p: cbuffer readonly
    u0 O: structured(4)
      %0 = load p @ 12
      %1 = utof %0
      %2 = load p @ 4
      %3 = fadd %1, %2
      %4 = ftou %3
      store O @ 0 <- %4
    ");
}

#[test]
fn printed_lines_and_breakpoints() {
    let text = "RWStructuredBuffer<uint3> O : register(u0);
         [numthreads(1, 1, 1)] void main(uint3 i : SV_DispatchThreadID) {
           printf(\"at %u: %v3u %f\\n\", i.x, O[i.x], 0.5f);
           if (O[i.x].y == 3) { __XB_DebugBreak(); }
           printf(\"done %d\", i.x > 2);
         }";
    let k = kernel(text);
    assert!(k.uses.debug);
    insta::assert_snapshot!(k, @r#"
    kernel main [1, 1, 1] wave64
    u0 O: structured(12)
      %0 = global_id.x
      %1, %2, %3 = load O @ %0 * 12
      debug.print "at %u: %v3u %f\n", %0, %1, %2, %3, 0x3f000000
      %5 = load O @ %0 * 12 + 4
      %7:bool = ieq %5, 3
      if %7 {
        debug.break
      }
      %9:bool = ugt %0, 2
      %12 = select %9, 1, 0
      debug.print "done %d", %12
    "#);
    insta::assert_snapshot!(refusal(&text.replace("%f", "%s")), @"a.hlsl:3: source error: `%s` is no conversion of a printed line (OpExtInst at word 336)");
    insta::assert_snapshot!(refusal(&text.replace("%f", "")), @r#"a.hlsl:3: source error: the format "at %u: %v3u \n" takes 4 values, not 5 (OpExtInst at word 336)"#);
}

#[test]
fn a_resource_that_control_flow_picks_is_an_index() {
    let k = kernel(
        "RWByteAddressBuffer O[4] : register(u0);
         Texture2D<float> T[3] : register(t0);
         [numthreads(2, 1, 1)] void main(uint3 i : SV_DispatchThreadID) {
           RWByteAddressBuffer b;
           Texture2D<float> t;
           [branch] if (i.x == 0) { b = O[NonUniformResourceIndex(i.y)]; t = T[2]; }
           else { b = O[3]; t = T[NonUniformResourceIndex(i.z)]; }
           b.Store(4 * i.x, t.Load(int3(0, 0, 0)));
         }",
    );
    insta::assert_snapshot!(k, @"
    kernel main [2, 1, 1] wave64
    t0[3] T: image(D2 Float) readonly
    u0[4] O: byteaddress
      %0 = global_id.x
      %1 = global_id.y
      %2 = global_id.z
      %4:bool = ieq %0, 0
      %6 = select %4, 2, %2
      %8 = select %4, %1, 3
      %9, %10, %11, %12 = image.load T[%6] (0, 0)
      store O[%8] @ %0 * 4 <- %9
    ");
}

#[test]
fn truth_values_that_dxc_takes_for_words_are_read_as_both() {
    let k = kernel(
        "StructuredBuffer<float4> I : register(t0);
         RWStructuredBuffer<bool4> O : register(u0);
         [numthreads(1, 1, 1)] void main() { O[0] = isnan(I[0]); O[1].yz = isinf(I[1].xw); }",
    );
    insta::assert_snapshot!(k, @"
    kernel main [1, 1, 1] wave64
    t0 I: structured(16) readonly
    u0 O: structured(16)
      %0, %1, %2, %3 = load I @ 0
      %4:bool = fisnan %0
      %5:bool = fisnan %1
      %6:bool = fisnan %2
      %7:bool = fisnan %3
      %10 = select %4, 1, 0
      %11 = select %5, 1, 0
      %12 = select %6, 1, 0
      %13 = select %7, 1, 0
      store O @ 0 <- %10, %11, %12, %13
      %14, %15, %16, %17 = load I @ 16
      %18:bool = fisinf %14
      %19:bool = fisinf %17
      %20, %21, %22, %23 = load O @ 16
      %24:bool = ine %20, 0
      %25:bool = ine %23, 0
      %26 = select %24, 1, 0
      %27 = select %18, 1, 0
      %28 = select %19, 1, 0
      %29 = select %25, 1, 0
      store O @ 16 <- %26, %27, %28, %29
    ");
}

#[test]
fn warnings_are_handed_on_with_their_place() {
    let loaded = load(
        "RWStructuredBuffer<uint> O : register(u0);
         [numthreads(1, 1, 1)] void main(uint3 i : SV_DispatchThreadID) {
           O[0] = i;
         }",
    )
    .unwrap();
    let shown: Vec<String> = loaded.warnings.iter().map(ToString::to_string).collect();
    insta::assert_snapshot!(shown.join("\n"), @"a.hlsl:3:17: warning: implicit truncation of vector type [-Wconversion]");
}

#[test]
fn what_breaks_the_optimiser_is_compiled_without_it() {
    // DXC folds this into a constant with a word too many.
    let text = "RWStructuredBuffer<half4> O : register(u0);
         [numthreads(1, 1, 1)] void main() {
           O[0] = lerp(half4(1, 2, -3, 4), half4(8, -7, 6, 5), half4(0.25, 0.5, 0.75, 0));
         }";
    let source = Source::text(Language::Hlsl, "a.hlsl", text);
    let mut options = options();
    options.args = vec!["-enable-16bit-types".into()];
    let done = wavefence_shader::compile(&source, &options).unwrap();
    let shown: Vec<String> = done.warnings.iter().map(ToString::to_string).collect();
    insta::assert_snapshot!(shown.join("\n"), @"warning: compiled without optimisation: DXC failed on its own SPIR-V: failed to trim capabilities: Invalid instruction OpConstant starting at word 306: expected no more operands after 4 words, but stated word count is 5.");
    options.args.push("-O3".into());
    let error = wavefence_shader::compile(&source, &options).unwrap_err();
    assert_eq!(error.kind, ShaderErrorKind::Tool, "{error}");
}

#[test]
fn vulkan_bindings_stay_known_by_name() {
    let k = kernel(
        "[[vk::binding(7, 2)]] RWStructuredBuffer<uint> O;
         [[vk::binding(1)]] cbuffer C : register(b3) { uint c; };
         [numthreads(1, 1, 1)] void main() { O[0] = c; }",
    );
    let all: Vec<_> = k.resources.iter().map(|r| (&*r.name, r.register, r.vk_binding)).collect();
    assert_eq!(all, [("C", 3, Some((1, 0))), ("O", 0, Some((7, 2)))]);
}

#[test]
fn vulkan_bindings_made_by_macros_do_not_win_either() {
    let text = "#define AT(b, s) [[vk::binding(b, s)]]
AT(7, 2) RWStructuredBuffer<uint> O : register(u1);
AT(9, 0) cbuffer C : register(b3, space1) { uint c; };
[numthreads(1, 1, 1)] void main() { O[0] = c; }
";
    let k = kernel(text);
    let all: Vec<_> = k.resources.iter().map(|r| (&*r.name, r.register, r.space)).collect();
    assert_eq!(all, [("C", 3, 1), ("O", 1, 0)]);
}

#[test]
fn specialization_constants_take_values_by_their_number() {
    let text = "[[vk::constant_id(3)]] const uint n = 5;
         [[vk::constant_id(4)]] const float f = 0.5;
         RWStructuredBuffer<float> O : register(u0);
         [numthreads(1, 1, 1)] void main() { O[n * 2] = f; }";
    let source = Source::text(Language::Hlsl, "a.hlsl", text);
    let mut lower = LowerOptions::default();
    lower.spec_constants.insert(3, 7);
    let k = load_kernel(&source, &options(), &lower).unwrap();
    assert!(k.to_string().contains("store O @ 56 <- 0x3f000000"), "{k}");
    lower.spec_constants.insert(9, 7);
    let error = load_kernel(&source, &options(), &lower).unwrap_err();
    insta::assert_snapshot!(error, @"bad option: the module has no specialization constant 9; it has: 3, 4");
}

#[test]
fn abs_of_unsigned_numbers_is_the_number() {
    let k = kernel(
        "RWStructuredBuffer<uint> O : register(u0); RWStructuredBuffer<int> I : register(u1);
         [numthreads(1, 1, 1)] void main() { O[0] = abs(O[1]); I[0] = abs(I[1]); }",
    );
    let text = k.to_string();
    assert_eq!(text.matches("iabs").count(), 1, "{text}");
}
