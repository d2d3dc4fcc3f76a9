//! Numbers of 8, 16 and 64 bits.
#![allow(clippy::unwrap_used)]

mod common;

use common::options;
use wavefence_shader::ir::Kernel;
use wavefence_shader::lower::LowerOptions;
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
      %24:64 = and %22, 63
      %25:64 = shl %6, %24
      %27:64 = imul %25, 0x0000000123456789
      store O @ %0 * 32 + 256 <- %11, %17, %18, %19
      store O @ %0 * 32 + 264 <- %21, %6, %27
    ");
}
