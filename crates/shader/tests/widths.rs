//! Numbers of 8, 16 and 64 bits.
#![allow(clippy::unwrap_used)]

mod common;

use common::options;
use wavefence_shader::assemble::assemble;
use wavefence_shader::ir::Kernel;
use wavefence_shader::lower::{self, BindingRule, LowerOptions};
use wavefence_shader::{CompileOptions, Language, Source, load_kernel};

fn kernel(text: &str) -> Kernel {
    let native = CompileOptions { args: vec!["-enable-16bit-types".into()], ..options() };
    load_kernel(&Source::text(Language::Hlsl, "a.hlsl", text), &native, &LowerOptions::default())
        .unwrap()
}

#[test]
fn every_width_has_its_accesses_and_arithmetic() {
    let k = kernel(
        "struct S { half h; uint16_t3 u; double d; int64_t2 q; };
         RWStructuredBuffer<S> O : register(u0);
         [numthreads(8, 1, 1)] void main(uint i : SV_GroupIndex) {
           S s = O[i];
           s.h = s.h * (half)s.d + (half)s.q.x;
           s.u = (uint16_t3)(s.u >> 3) + (uint16_t)i;
           s.d = s.d / s.h;
           s.q.y = (s.q.x << i) * 0x123456789LL;
           O[i + 8] = s;
         }",
    );
    insta::assert_snapshot!(k, @"
    kernel main [8, 1, 1] wave64
    u0 O: structured(32)
      %0 = thread_index
      %1:16, %2:16, %3:16, %4:16 = load O @ %0 * 32
      %5:64, %6:64, %7:64 = load O @ %0 * 32 + 8
      %8:16 = fconvert %5
      %9:16 = sconvert %6
      %10:16 = stof %9
      %11:16 = ffma %1, %8, %10
      %13:16 = shrl %2, 3
      %14:16 = shrl %3, 3
      %15:16 = shrl %4, 3
      %16:16 = uconvert %0
      %17:16 = iadd %13, %16
      %18:16 = iadd %14, %16
      %19:16 = iadd %15, %16
      %20:64 = fconvert %11
      %21:64 = fdiv %5, %20
      %22:64 = uconvert %0
      %23:64 = shl %6, %22
      %25:64 = imul %23, 0x0000000123456789
      store O @ %0 * 32 + 256 <- %11, %17, %18, %19
      store O @ %0 * 32 + 264 <- %21, %6, %25
    ");
}

#[test]
fn a_gpu_address_is_where_an_access_goes() {
    let k = kernel(
        "RWStructuredBuffer<uint64_t> A : register(u0);
         [numthreads(8, 1, 1)] void main(uint i : SV_GroupIndex) {
           uint64_t p = A[i];
           uint n = vk::RawBufferLoad(p - 4);
           double d = vk::RawBufferLoad<double>(p + 16, 8);
           half3 h = vk::RawBufferLoad<half3>(p + i * 8, 2);
           vk::RawBufferStore<double>(p + 256, d + n, 8);
           vk::RawBufferStore<half3>(p + 0x200000000, h * 2, 2);
         }",
    );
    insta::assert_snapshot!(k, @"
    kernel main [8, 1, 1] wave64
    u0 A: structured(8)
      %0 = thread_index
      %1:64 = load A @ %0 * 8
      %2 = load global[%1] @ -4
      %3:64 = load global[%1] @ 16
      %5 = shl %0, 3
      %6:64 = uconvert %5
      %7:64 = iadd %1, %6
      %8:16, %9:16, %10:16 = load global[%7] @ 0
      %11:64 = uconvert %2
      %12:64 = utof %11
      %13:64 = fadd %3, %12
      store global[%1] @ 256 <- %13
      %15:64 = iadd %1, 0x0000000200000000
      %17:16 = fmul %8, 16384
      %18:16 = fmul %9, 16384
      %19:16 = fmul %10, 16384
      store global[%15] @ 0 <- %17, %18, %19
    ");
}

/// The text of a module whose `main` has this body; `%i` is the thread's index.
fn lower_text(modes: &str, globals: &str, body: &str) -> Kernel {
    let text = format!(
        "OpCapability Shader
         OpCapability Int64
         OpCapability PhysicalStorageBufferAddresses
         OpMemoryModel PhysicalStorageBuffer64 GLSL450
         OpEntryPoint GLCompute %main \"main\" %Out %id %index
         {modes}
         OpName %Out \"Out\"
         OpDecorate %id BuiltIn GlobalInvocationId
         OpDecorate %index BuiltIn LocalInvocationIndex
         OpDecorate %words ArrayStride 4
         OpMemberDecorate %block 0 Offset 0
         OpDecorate %block Block
         OpDecorate %Out DescriptorSet 0
         OpDecorate %Out Binding 0
         OpDecorate %pnode ArrayStride 64
         OpMemberDecorate %node 0 Offset 0
         OpMemberDecorate %node 1 Offset 8
         %void = OpTypeVoid
         %fn = OpTypeFunction %void
         %bool = OpTypeBool
         %uint = OpTypeInt 32 0
         %ulong = OpTypeInt 64 0
         %float = OpTypeFloat 32
         %v3 = OpTypeVector %uint 3
         %c0 = OpConstant %uint 0
         %c1 = OpConstant %uint 1
         %zero = OpConstant %ulong 0
         %words = OpTypeRuntimeArray %uint
         %block = OpTypeStruct %words
         %pblock = OpTypePointer StorageBuffer %block
         %pword = OpTypePointer StorageBuffer %uint
         OpTypeForwardPointer %pnode PhysicalStorageBuffer
         %node = OpTypeStruct %uint %pnode
         %pnode = OpTypePointer PhysicalStorageBuffer %node
         %pnext = OpTypePointer PhysicalStorageBuffer %pnode
         %pin3 = OpTypePointer Input %v3
         %pin = OpTypePointer Input %uint
         {globals}
         %Out = OpVariable %pblock StorageBuffer
         %id = OpVariable %pin3 Input
         %index = OpVariable %pin Input
         %main = OpFunction %void None %fn
         %entry = OpLabel
         %i = OpLoad %uint %index
         %place = OpAccessChain %pword %Out %c0 %i
         {body}
         OpReturn
         OpFunctionEnd"
    );
    let words = assemble("a.spvasm", &text).unwrap();
    let options = LowerOptions { bindings: BindingRule::Plain, ..LowerOptions::default() };
    lower::kernel(&words, &options).unwrap()
}

#[test]
fn a_list_is_followed_through_addresses() {
    let k = lower_text(
        "OpExecutionMode %main LocalSize 8 1 1",
        "",
        "%wide = OpUConvert %ulong %i
         %list = OpConvertUToPtr %pnode %wide
         %first = OpPtrAccessChain %pnode %list %i
         OpBranch %head
         %head = OpLabel
         %here = OpPhi %pnode %first %entry %next %body
         %number = OpConvertPtrToU %ulong %here
         %more = OpINotEqual %bool %number %zero
         OpLoopMerge %out %body None
         OpBranchConditional %more %body %out
         %body = OpLabel
         %at = OpAccessChain %pnext %here %c1
         %next = OpLoad %pnode %at Aligned 8
         OpBranch %head
         %out = OpLabel
         %low = OpUConvert %uint %number
         OpStore %place %low",
    );
    insta::assert_snapshot!(k, @"
    kernel main [8, 1, 1] wave64
    u0 Out: structured(4)
      %0 = thread_index
      %1:64 = uconvert %0
      %2:64 = sconvert %0
      %4:64 = shl %2, 6
      %5:64 = iadd %1, %4
      $6:64 := %5
      loop @1 {
        %8:bool = ine $6, 0
        if not %8 {
          break @1
        }
      } continuing {
        %9:64 = load global[$6] @ 8
        $6:64 := %9
      }
      %10 = uconvert $6
      store Out @ %0 * 4 <- %10
    ");
}

#[test]
fn lanes_of_a_quad_are_a_square_of_threads_where_the_module_says_so() {
    let k = lower_text(
        "OpExecutionMode %main LocalSize 6 4 2
         OpExecutionMode %main DerivativeGroupQuadsKHR",
        "",
        "%float_i = OpConvertUToF %float %i
         %x = OpDPdx %float %float_i
         %bits = OpConvertFToU %uint %x
         OpStore %place %bits",
    );
    insta::assert_snapshot!(k, @"
    kernel main [6, 4, 2] wave64
    u0 Out: structured(4)
      %0 = thread_index
      %1 = thread_id.z
      %3 = umod %0, 24
      %5 = shrl %3, 2
      %7 = umod %5, 3
      %8 = udiv %5, 3
      %10 = shl %7, 1
      %11 = shl %8, 1
      %12 = and %0, 1
      %13 = shrl %0, 1
      %14 = and %13, 1
      %15 = iadd %10, %12
      %16 = iadd %11, %14
      %18 = imul %16, 6
      %19 = imul %1, 24
      %20 = iadd %18, %19
      %21 = iadd %20, %15
      %22 = utof %21
      %23 = wave.quadread %22, 1
      %25 = wave.quadread %22, 0
      %26 = fsub %23, %25
      %27 = ftou %26
      store Out @ %21 * 4 <- %27
    ");
}

#[test]
fn derivatives_that_dxc_does_not_make_are_refused() {
    for call in ["ddx(f)", "ddy_fine(f) * 2", "fwidth(f)"] {
        let text = format!(
            "RWStructuredBuffer<float> O : register(u0);
             [numthreads(8, 4, 1)] void main(uint i : SV_GroupIndex) {{
               float f = O[i]; O[i] = {call}; }}"
        );
        let source = Source::text(Language::Hlsl, "a.hlsl", text);
        let e = load_kernel(&source, &options(), &LowerOptions::default()).unwrap_err();
        assert!(e.to_string().contains("ddx, ddy or fwidth"), "{call}: {e}");
    }
}

#[test]
fn subnormals_are_flushed_where_the_module_asks_for_it() {
    let k = lower_text(
        "OpExecutionMode %main LocalSize 8 1 1
         OpExecutionMode %main DenormFlushToZero 32",
        "%pair = OpConstant %float 1e-40",
        "%bits = OpLoad %uint %place
         %x = OpBitcast %float %bits
         %sum = OpFAdd %float %x %pair
         %back = OpBitcast %uint %sum
         OpStore %place %back",
    );
    insta::assert_snapshot!(k, @"
    kernel main [8, 1, 1] wave64
    u0 Out: structured(4)
      %0 = thread_index
      %1 = load Out @ %0 * 4
      %3 = and %1, 0x7f800000
      %5:bool = ieq %3, 0
      %7 = and %1, 0x80000000
      %8 = select %5, %7, %1
      %9 = fadd %8, 0
      %10 = and %9, 0x7f800000
      %11:bool = ieq %10, 0
      %12 = and %9, 0x80000000
      %13 = select %11, %12, %9
      store Out @ %0 * 4 <- %13
    ");
}
