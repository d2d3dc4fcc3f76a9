//! Resources, and what else a source says to its surroundings, through the real
//! DXC.
#![allow(clippy::unwrap_used)]

mod common;

use common::options;
use wavefence_shader::ir::Kernel;
use wavefence_shader::lower::LowerOptions;
use wavefence_shader::{Language, ShaderError, Source, load_kernel};

fn load(text: &str) -> Result<Kernel, ShaderError> {
    let source = Source::text(Language::Hlsl, "a.hlsl", text);
    load_kernel(&source, &options(), &LowerOptions::default())
}

fn kernel(text: &str) -> Kernel {
    load(text).unwrap()
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
