//! Images through the real DXC, and what only other compilers write.
#![allow(clippy::unwrap_used)]

mod common;

use common::options;
use wavefence_shader::ir::Kernel;
use wavefence_shader::lower::{BindingRule, LowerOptions};
use wavefence_shader::{Language, Source, load_kernel};

fn kernel(text: &str) -> Kernel {
    let source = Source::text(Language::Hlsl, "a.hlsl", text);
    load_kernel(&source, &options(), &LowerOptions::default()).unwrap()
}

/// Declarations, and a kernel whose float4 `a` is stored.
fn with(body: &str) -> Kernel {
    kernel(&format!(
        "Texture1DArray<float2> T1 : register(t0); Texture2D<float4> T2 : register(t1);
         Texture3D<float4> T3 : register(t2); TextureCubeArray<float4> Tc : register(t3);
         Texture2D<float> Td : register(t4); Buffer<unorm float4> B : register(t5);
         RWTexture2D<uint2> R2 : register(u1); RWTexture2DArray<int> R2a : register(u2);
         SamplerState S : register(s0); SamplerComparisonState C : register(s1);
         RWStructuredBuffer<float4> O : register(u0);
         [numthreads(1, 1, 1)] void main(uint3 i : SV_DispatchThreadID) {{
           float4 a = 0; uint w, h, e, l, st; float2 uv = O[1].xy; float3 d = O[1].xyz;
           {body}
           O[0] = a;
         }}"
    ))
}

/// The image instructions of a kernel.
fn images(kernel: &Kernel) -> String {
    let text = kernel.to_string();
    let lines: Vec<&str> = text.lines().filter(|l| l.contains("image.")).map(str::trim).collect();
    lines.join("\n")
}

#[test]
fn loads_and_stores() {
    let k = with(
        "a += T1.Load(int3(i.xy, 1)).xyxy; a += T2.Load(int3(i.xy, 1), int2(1, -2));
         a += T2.mips[2][i.xy]; a += T3[i]; a += B[i.x]; R2[i.xy].y = 3; R2a[i] += 1;",
    );
    insta::assert_snapshot!(images(&k), @"
    %4, %5, %6, %7 = image.load T1 (%0, %1) lod 1
    %9, %10, %11, %12 = image.load T2 (%0, %1) lod 1 offset 1, 0xfffffffe
    %18, %19, %20, %21 = image.load T2 (%0, %1) lod 2
    %26, %27, %28, %29 = image.load T3 (%0, %1, %2)
    %34, %35, %36, %37 = image.load B (%0)
    %42, %43, %44, %45 = image.load R2 (%0, %1)
    image.store R2 (%0, %1) <- %42, 3
    %47, %48, %49, %50 = image.load R2a (%0, %1, %2)
    image.store R2a (%0, %1, %2) <- %51
    ");
}

#[test]
fn samples() {
    let k = with(
        "a += T2.Sample(S, uv, int2(1, -1), 1.5); a += T2.SampleBias(S, uv, 0.5);
         a += Tc.SampleLevel(S, float4(d, 1), 2); a += T3.SampleGrad(S, d, d, d * 2);
         a += T2.SampleGrad(S, uv, uv, uv, int2(1, 1), 0.5);
         a += Td.SampleCmp(C, uv, 0.5, int2(1, 1)); a += Td.SampleCmpLevelZero(C, uv, 0.25);",
    );
    insta::assert_snapshot!(images(&k), @"
    %11, %12, %13, %14 = image.sample T2 with S (%0, %1) implicit min_lod 0x3fc00000 offset 1, 0xffffffff
    %16, %17, %18, %19 = image.sample T2 with S (%0, %1) implicit bias 0x3f000000
    %26, %27, %28, %29 = image.sample Tc with S (%4, %5, %6, 0x3f800000) lod 0x40000000
    %37, %38, %39, %40 = image.sample T3 with S (%4, %5, %6) ddx %4, %5, %6 ddy %34, %35, %36
    %45, %46, %47, %48 = image.sample T2 with S (%0, %1) ddx %0, %1 ddy %0, %1 min_lod 0x3f000000 offset 1, 1
    %53 = image.sample Td with C (%0, %1) implicit compare 0x3f000000 offset 1, 1
    %60 = image.sample Td with C (%0, %1) lod 0 compare 0x3e800000
    ");
}

#[test]
fn gathers() {
    let k = with(
        "a += T2.GatherGreen(S, uv, int2(1, 2)); a += Td.GatherCmp(C, uv, 0.5);
         a += T2.GatherBlue(S, uv, int2(0, 0), int2(1, 1), int2(2, 2), int2(3, 3));",
    );
    insta::assert_snapshot!(images(&k), @"
    %6, %7, %8, %9 = image.gather1 T2 with S (%0, %1) offset 1, 2
    %11, %12, %13, %14 = image.gather0 Td with C (%0, %1) compare 0x3f000000
    %20, %21, %22, %23 = image.gather2 T2 with S (%0, %1) offset 0, 0
    %24, %25, %26, %27 = image.gather2 T2 with S (%0, %1) offset 1, 1
    %28, %29, %30, %31 = image.gather2 T2 with S (%0, %1) offset 2, 2
    %33, %34, %35, %36 = image.gather2 T2 with S (%0, %1) offset 3, 3
    ");
}

#[test]
fn queries() {
    let k = with(
        "T2.GetDimensions(1, w, h, l); a += w * h * l; T1.GetDimensions(w, e); a += e;
         Tc.GetDimensions(w, h, e); a += e; R2.GetDimensions(w, h); a += h;
         B.GetDimensions(w); a += w; a += T2.CalculateLevelOfDetail(S, uv);
         a += T2.CalculateLevelOfDetailUnclamped(S, uv);",
    );
    insta::assert_snapshot!(images(&k), @"
    %5, %6 = image.size T2 level 1
    %7 = image.levels T2
    %12, %13 = image.size T1 level 0
    %16, %17, %18 = image.size Tc level 0
    %21, %22 = image.size R2
    %25 = image.size B
    %28, %29 = image.querylod T2 with S (%0, %1)
    %31, %32 = image.querylod T2 with S (%0, %1)
    ");
}

#[test]
fn atomics_and_64_bits() {
    let k = kernel(
        "RWTexture2D<uint> R : register(u1); RWBuffer<int64_t> W : register(u2);
         Buffer<uint64_t2> V : register(t0); RWStructuredBuffer<uint64_t> O : register(u0);
         [numthreads(1, 1, 1)] void main(uint3 i : SV_DispatchThreadID) {
           uint a; InterlockedAdd(R[i.xy], 3, a); InterlockedCompareExchange(R[i.xy], 1, 2, a);
           int64_t b; InterlockedMax(W[i.x], 7, b); W[1] = W[2] + a;
           O[0] = V[i.x].y + b;
         }",
    );
    insta::assert_snapshot!(k, @"
    kernel main [1, 1, 1] wave64
    t0 V: typed(Uint) readonly
    u0 O: structured(8)
    u1 R: image(D2 Uint R32_UINT)
    u2 W: typed(Sint R64_SINT)
      %0 = global_id.x
      %1 = global_id.y
      image.atomic.add R (%0, %1) <- 3
      %5 = image.atomic.cmpexchange R (%0, %1) <- 2, 1
      %7:64 = image.atomic.smax W (%0) <- 7
      %8:64, %9:64, %10:64, %11:64 = image.load W (2)
      %12:64 = uconvert %5
      %13:64 = iadd %8, %12
      image.store W (1) <- %13
      %14:64, %15:64, %16:64, %17:64 = image.load V (%0)
      %18:64 = iadd %15, %7
      store O @ 0 <- %18
    ");
}

#[test]
fn all_memory_is_mapped() {
    let k = with(
        "a += T2.Load(int3(i.xy, 0), int2(0, 0), st); if (CheckAccessFullyMapped(st)) a += 1;
         a += B.Load(i.x, st); if (!CheckAccessFullyMapped(st)) a += 2;",
    );
    insta::assert_snapshot!(k, @"
    kernel main [1, 1, 1] wave64
    t1 T2: image(D2 Float) readonly
    t5 B: typed(Float R32G32B32A32_FLOAT) readonly
    u0 O: structured(16)
      %0 = global_id.x
      %1 = global_id.y
      %3, %4, %5, %6 = image.load T2 (%0, %1) offset 0, 0
      %8 = fadd %3, 0x3f800000
      %9 = fadd %4, 0x3f800000
      %10 = fadd %5, 0x3f800000
      %11 = fadd %6, 0x3f800000
      %12, %13, %14, %15 = image.load B (%0)
      %16 = fadd %8, %12
      %17 = fadd %9, %13
      %18 = fadd %10, %14
      %19 = fadd %11, %15
      store O @ 0 <- %16, %17, %18, %19
    ");
}

#[test]
fn a_combined_variable_is_an_image_and_a_sampler() {
    let text = "OpCapability Shader\nOpMemoryModel Logical GLSL450\n\
        OpEntryPoint GLCompute %main \"main\" %t %o\nOpExecutionMode %main LocalSize 1 1 1\n\
        OpName %t \"t\"\nOpName %o \"o\"\n\
        OpDecorate %t Binding 3\nOpDecorate %t DescriptorSet 1\n\
        OpDecorate %o Binding 0\nOpDecorate %o DescriptorSet 0\n\
        OpDecorate %words ArrayStride 16\nOpDecorate %block Block\n\
        OpMemberDecorate %block 0 Offset 0\n\
        %void = OpTypeVoid\n%fn = OpTypeFunction %void\n%uint = OpTypeInt 32 0\n\
        %float = OpTypeFloat 32\n%v2 = OpTypeVector %float 2\n%v4 = OpTypeVector %float 4\n\
        %zero = OpConstant %uint 0\n%two = OpConstant %uint 2\n%half = OpConstant %float 0.5\n\
        %at = OpConstantComposite %v2 %half %half\n\
        %image = OpTypeImage %float 2D 0 0 0 1 Unknown\n%both = OpTypeSampledImage %image\n\
        %many = OpTypeArray %both %two\n\
        %pmany = OpTypePointer UniformConstant %many\n%pboth = OpTypePointer UniformConstant %both\n\
        %words = OpTypeRuntimeArray %v4\n%block = OpTypeStruct %words\n\
        %pblock = OpTypePointer StorageBuffer %block\n%pv4 = OpTypePointer StorageBuffer %v4\n\
        %t = OpVariable %pmany UniformConstant\n%o = OpVariable %pblock StorageBuffer\n\
        %main = OpFunction %void None %fn\n%entry = OpLabel\n\
        %which = OpAccessChain %pboth %t %zero\n%s = OpLoad %both %which\n\
        %v = OpImageSampleExplicitLod %v4 %s %at Lod %half\n\
        %to = OpAccessChain %pv4 %o %zero %zero\nOpStore %to %v\n\
        OpReturn\nOpFunctionEnd\n";
    let source = Source::text(Language::SpirvText, "a.spvasm", text);
    let lower = LowerOptions { bindings: BindingRule::Plain, ..LowerOptions::default() };
    let k = load_kernel(&source, &options(), &lower).unwrap();
    insta::assert_snapshot!(k, @"
    kernel main [1, 1, 1] wave64
    t3, space1[2] t: image(D2 Float) readonly
    u0 o: structured(16)
    s3, space1[2] t: sampler readonly
      %2, %3, %4, %5 = image.sample t[0] with t[0] (0x3f000000, 0x3f000000) lod 0x3f000000
      store o @ 0 <- %2, %3, %4, %5
    ");
}
