//! What HLSL features lower to, and what is refused how.
#![allow(clippy::unwrap_used)]

mod common;

use common::options;
use wavefence_shader::ir::{Inst, Kernel, Stmt};
use wavefence_shader::lower::LowerOptions;
use wavefence_shader::{Language, ShaderError, ShaderErrorKind, Source, load_kernel};

fn with(text: &str, lower: &LowerOptions) -> Result<Kernel, ShaderError> {
    load_kernel(&Source::text(Language::Hlsl, "a.hlsl", text), &options(), lower)
}

fn kernel(text: &str) -> Kernel {
    with(text, &LowerOptions::default()).unwrap()
}

fn refusal(text: &str) -> String {
    let e = with(text, &LowerOptions::default()).unwrap_err();
    assert_eq!(e.kind, ShaderErrorKind::Unsupported, "{e}");
    e.to_string()
}

fn resources(kernel: &Kernel) -> String {
    let text = kernel.to_string();
    let lines = text.lines().skip(1).take_while(|l| !l.starts_with("  "));
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn registers_spaces_and_kinds() {
    let k = kernel(
        "cbuffer C : register(b3, space1) { uint c; }
         StructuredBuffer<float3> S : register(t2);
         ByteAddressBuffer B : register(t3, space2);
         Texture2D<float4> T[4] : register(t4);
         Texture2D<float4> Many[] : register(t0, space7);
         Buffer<int2> I : register(t9);
         SamplerState P : register(s1);
         globallycoherent RWStructuredBuffer<uint4> O : register(u5);
         RWTexture2DArray<float> A : register(u6);
         RWByteAddressBuffer R : register(u7);
         [numthreads(8, 8, 1)] void main(uint3 id : SV_DispatchThreadID) {
           float4 t = T[id.x & 3].SampleLevel(P, S[id.y].xy, 0);
           t += Many[NonUniformResourceIndex(id.x)].Load(int3(id.xy, 0));
           A[id] = t.x;
           R.Store(id.x * 4, B.Load(c) + I[id.y].x);
           O[id.x].yw = id.xy;
         }",
    );
    insta::assert_snapshot!(resources(&k), @"
    b3, space1 C: cbuffer readonly
    t2 S: structured(12) readonly
    t4[4] T: image(D2 Float) readonly
    t9 I: typed(Sint R32G32_SINT) readonly
    t3, space2 B: byteaddress readonly
    t0, space7[1024] Many: image(D2 Float) readonly
    u5 O: structured(16) coherent
    u6 A: image(D2 array Float R32_FLOAT)
    u7 R: byteaddress
    s1 P: sampler readonly
    ");
    insta::assert_snapshot!(k, @"
    kernel main [8, 8, 1] wave64
    b3, space1 C: cbuffer readonly
    t2 S: structured(12) readonly
    t4[4] T: image(D2 Float) readonly
    t9 I: typed(Sint R32G32_SINT) readonly
    t3, space2 B: byteaddress readonly
    t0, space7[1024] Many: image(D2 Float) readonly
    u5 O: structured(16) coherent
    u6 A: image(D2 array Float R32_FLOAT)
    u7 R: byteaddress
    s1 P: sampler readonly
      %0 = global_id.x
      %1 = global_id.y
      %2 = global_id.z
      %4 = and %0, 3
      %5, %6, %7 = load S @ %1 * 12
      %9, %10, %11, %12 = image.sample T[%4] with P (%5, %6) lod 0
      %13, %14, %15, %16 = image.load Many[%0] (%0, %1)
      %17 = fadd %9, %13
      image.store A (%0, %1, %2) <- %17
      %18 = load C @ 0
      %20 = shrl %18, 2
      %21 = load B @ %20 * 4
      %22, %23, %24, %25 = image.load I (%1)
      %26 = iadd %21, %22
      store R @ %0 * 4 <- %26
      %27, %28, %29, %30 = load O @ %0 * 16 coherent
      store O @ %0 * 16 coherent <- %27, %0, %29, %1
    ");
}

#[test]
fn ordered_append_and_global_data_share() {
    let text = "RWStructuredBuffer<uint> O : register(u0);
        RWByteAddressBuffer Ordered : register(u0, space5746);
        RWByteAddressBuffer Gds : register(u1, space5746);
        [numthreads(64, 1, 1)] void main(uint i : SV_GroupIndex) {
          uint at, old;
          Ordered.InterlockedAdd(4 * (i & 3), 2, at);
          Gds.InterlockedMax(16, at, old);
          Gds.Store(i * 4, Gds.Load(8) + old);
          O[at] = i;
        }";
    let k = kernel(text);
    assert!(k.uses.ordered_append && k.uses.gds);
    assert_eq!(k.slots(), 1);
    insta::assert_snapshot!(k, @"
    kernel main [64, 1, 1] wave64
    u0 O: structured(4)
    u0, space5746[0] Ordered: extension(OrderedAppend)
    u1, space5746[0] Gds: extension(Gds)
      %0 = thread_index
      %2 = and %0, 3
      %4 = ordered.add %2, 2
      %6 = gds.umax 16, %4
      %7 = shl %0, 2
      %9 = gds.load 8
      %10 = iadd %9, %6
      gds.store %7, %10
      store O @ %4 * 4 <- %0
    ");
    let plain = text.replace("Ordered.InterlockedAdd(4 * (i & 3), 2, at)", "at = Ordered.Load(0)");
    insta::assert_snapshot!(refusal(&plain), @"a.hlsl:6: unsupported: an ordered-append counter takes nothing but an add (OpLoad at word 329)");
}

#[test]
fn matrices_lie_as_their_layout_says() {
    let k = kernel(
        "struct M { row_major float2x3 r; column_major float2x3 c; };
         cbuffer C : register(b0) { float2x3 c; row_major float3x2 r; };
         StructuredBuffer<M> S : register(t0);
         RWStructuredBuffer<float3> O : register(u0);
         [numthreads(1, 1, 1)] void main(uint3 id : SV_DispatchThreadID) {
           O[0] = c[1] + mul(r, float2(1, 2));
           O[1] = S[id.x].r[1] + S[id.x].c[id.y & 1];
         }",
    );
    insta::assert_snapshot!(k, @"
    kernel main [1, 1, 1] wave64
    b0 C: cbuffer readonly
    t0 S: structured(48) readonly
    u0 O: structured(12)
      %0 = global_id.x
      %1 = global_id.y
      %2 = load C @ 4
      %3 = load C @ 20
      %4 = load C @ 36
      %5, %6 = load C @ 48
      %7, %8 = load C @ 64
      %9, %10 = load C @ 80
      %12 = fmul 0x3f800000, %5
      %14 = fmul 0x40000000, %6
      %15 = fadd %12, %14
      %16 = fmul 0x3f800000, %7
      %17 = fmul 0x40000000, %8
      %18 = fadd %16, %17
      %19 = fmul 0x3f800000, %9
      %20 = fmul 0x40000000, %10
      %21 = fadd %19, %20
      %22 = fadd %2, %15
      %23 = fadd %3, %18
      %24 = fadd %4, %21
      store O @ 0 <- %22, %23, %24
      %25, %26, %27 = load S @ %0 * 48 + 12
      %29 = and %1, 1
      %31 = imul %0, 12
      %32 = iadd %31, %29
      %33 = load S @ %32 * 4 + 24
      %34 = load S @ %32 * 4 + 32
      %35 = load S @ %32 * 4 + 40
      %36 = fadd %25, %33
      %37 = fadd %26, %34
      %38 = fadd %27, %35
      store O @ 12 <- %36, %37, %38
    ");
}

#[test]
fn specialization_constants_are_folded() {
    let text = "[[vk::constant_id(7)]] const uint N = 3;
        [[vk::constant_id(8)]] const bool Wide = false;
        RWStructuredBuffer<uint> O : register(u0);
        [numthreads(4, 1, 1)] void main(uint i : SV_GroupIndex) {
          O[i] = Wide ? i * (N + 1) : N << 1;
        }";
    let store = |k: &Kernel| k.to_string().lines().skip(2).collect::<Vec<_>>().join("\n");
    insta::assert_snapshot!(store(&kernel(text)), @"
    %0 = thread_index
    store O @ %0 * 4 <- 6
    ");
    let mut lower = LowerOptions::default();
    lower.spec_constants.insert(7, 15);
    lower.spec_constants.insert(8, 1);
    insta::assert_snapshot!(store(&with(text, &lower).unwrap()), @"
    %0 = thread_index
    %2 = shl %0, 4
    store O @ %0 * 4 <- %2
    ");
}

#[test]
fn wave_operations() {
    let k = kernel(
        "RWStructuredBuffer<uint4> O : register(u0);
         [numthreads(64, 1, 1)] void main(uint i : SV_GroupIndex) {
           bool odd = i & 1;
           uint4 v = WaveMatch(i / 3);
           v.x += WavePrefixCountBits(odd) + WaveActiveCountBits(odd);
           v.y += WaveReadLaneFirst(odd) + WaveReadLaneAt(i, 5);
           v.z += WaveActiveBitXor(i) + WavePrefixProduct(i);
           v.w += WaveActiveAllEqual(odd) + QuadReadAcrossDiagonal(i);
           O[i] = v;
         }",
    );
    assert!(k.uses.cross_lane);
    insta::assert_snapshot!(k, @"
    kernel main [64, 1, 1] wave64
    u0 O: structured(16)
      %0 = thread_index
      %1 = lane
      %3:bool = ult %1, 32
      %5 = shl 1, %1
      %7 = iadd %5, 0xffffffff
      %8 = select %3, %7, 0xffffffff
      %10 = select %3, 0, %7
      %11 = and %0, 1
      %12:bool = ine %11, 0
      %14 = udiv %0, 3
      %15, %16, %17, %18 = wave.match %14
      %19, %20, %21, %22 = wave.ballot %12
      %23 = and %19, %8
      %24 = and %20, %10
      %25 = bitcount %23
      %26 = bitcount %24
      %27 = iadd %25, %26
      %28, %29, %30, %31 = wave.ballot %12
      %32 = bitcount %28
      %33 = bitcount %29
      %34 = iadd %32, %33
      %35 = iadd %27, %34
      %36 = iadd %15, %35
      %37 = select %12, 1, 0
      %38 = wave.broadcastfirst %37
      %39:bool = ine %38, 0
      %40 = select %39, 1, 0
      %42 = wave.readlane %0, 5
      %43 = iadd %40, %42
      %44 = iadd %16, %43
      %45 = wave.reduce.xor %0
      %46 = wave.exclusive.imul %0
      %47 = iadd %45, %46
      %48 = iadd %17, %47
      %49:bool = wave.allequal %37
      %50 = select %49, 1, 0
      %51 = wave.quadswapdiag %0
      %52 = iadd %50, %51
      %53 = iadd %18, %52
      store O @ %0 * 16 <- %36, %44, %48, %53
    ");
}

#[test]
fn what_is_not_there_yet_is_refused_by_name_and_place() {
    let text = refusal(
        "RaytracingAccelerationStructure A : register(t0);\n\
         RWStructuredBuffer<uint> O : register(u0);\n\
         [numthreads(1, 1, 1)] void main() {\n\
         RayDesc r; r.Origin = 0; r.TMin = 0; r.Direction = 1; r.TMax = 1;\n\
         RayQuery<RAY_FLAG_NONE> q; q.TraceRayInline(A, 0, 255, r); O[0] = q.Proceed();\n}",
    );
    insta::assert_snapshot!(text, @"unsupported: this type (OpTypeAccelerationStructureKHR at word 225)");
}

#[test]
fn short_branches_become_selects_and_long_ones_stay() {
    let k = kernel(
        "RWStructuredBuffer<float> O : register(u0);
         [numthreads(8, 1, 1)] void main(uint i : SV_GroupIndex) {
           float x = O[i];
           [branch] if (x > 1) x = x * 2 + 1; else x = -x;
           [branch] if (i > 3) x = sin(x) * exp(x);
           O[i] = x;
         }",
    );
    let mut branches = 0;
    k.walk(&mut |stmt| branches += u32::from(matches!(stmt, Stmt::If { .. })));
    assert_eq!(branches, 1, "{k}");
}

#[test]
fn a_vector_is_one_access() {
    let k = kernel(
        "struct S { float3 a; uint b; float4 c; };
         RWStructuredBuffer<S> O : register(u0);
         [numthreads(8, 1, 1)] void main(uint i : SV_GroupIndex) { O[i] = O[i + 8]; }",
    );
    let mut sizes = Vec::new();
    k.walk(&mut |stmt| match stmt {
        Stmt::Inst(Inst::Load { dst, .. }, _) => sizes.push(dst.len()),
        Stmt::Inst(Inst::Store { src, .. }, _) => sizes.push(src.len()),
        _ => {}
    });
    assert_eq!(sizes, [4, 4, 4, 4], "{k}");
}
