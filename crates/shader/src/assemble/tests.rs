//! Texts and their words; the round trip through a disassembler; damaged texts.

use super::*;
use rspirv::binary::Disassemble;
use rspirv::dr::{Module, load_words};

const KERNEL: &str = r#"
; Version: 1.5
               OpCapability Shader
               OpCapability Int64
          %glsl = OpExtInstImport "GLSL.std.450"
               OpMemoryModel Logical GLSL450
               OpEntryPoint GLCompute %main "main" %id
               OpExecutionMode %main LocalSize 8 4
                               1   ; an instruction may go on here
               OpName %main "a \"name\" \\ here"
               OpDecorate %arr ArrayStride 4
               OpDecorate %buf Block
               OpMemberDecorate %buf 0 Offset 0
               OpDecorate %out DescriptorSet 2
               OpDecorate %out Binding 7
               OpDecorate %id BuiltIn GlobalInvocationId
       %void = OpTypeVoid
         %fn = OpTypeFunction %void
       %uint = OpTypeInt 32 0
        %int = OpTypeInt 32 1
       %long = OpTypeInt 64 1
      %float = OpTypeFloat 32
     %double = OpTypeFloat 64
         %v3 = OpTypeVector %uint 3
        %pin = OpTypePointer Input %v3
        %arr = OpTypeRuntimeArray %float
        %buf = OpTypeStruct %arr
       %pbuf = OpTypePointer StorageBuffer %buf
         %pf = OpTypePointer StorageBuffer %float
         %id = OpVariable %pin Input
        %out = OpVariable %pbuf StorageBuffer
         %c0 = OpConstant %int 0
         %cm = OpConstant %int -5
         %cl = OpConstant %long -1
         %cf = OpConstant %float 0x1.8p+1
         %cd = OpConstant %double 0.1
         %sp = OpSpecConstant %uint 3
         %so = OpSpecConstantOp %uint IAdd %sp %sp
       %main = OpFunction %void None|Inline %fn
      %entry = OpLabel
          %v = OpLoad %v3 %id
          %x = OpCompositeExtract %uint %v 0
               OpSelectionMerge %done DontFlatten
               OpSwitch %x %done 1 %one 4294967295 %one
        %one = OpLabel
          %r = OpExtInst %float %glsl Sqrt %cf
          %p = OpAccessChain %pf %out %c0 %x
               OpStore %p %r Aligned|Volatile 4
               OpBranch %done
       %done = OpLabel
               OpReturn
               OpFunctionEnd
"#;

fn error(text: &str) -> String {
    assemble("a.spvasm", text).unwrap_err().to_string()
}

fn again(module: &Module, version: &str) -> Vec<u32> {
    let text = format!("; Version: {version}\n{}", module.disassemble());
    assemble("again", &text).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

#[test]
fn a_module_assembles_and_comes_back() {
    let words = assemble("a.spvasm", KERNEL).unwrap();
    assert_eq!(words[1], 0x0001_0500);
    let module = load_words(&words).unwrap();
    assert_eq!(module.debug_names[0].operands[1].unwrap_literal_string(), "a \"name\" \\ here");
    let shown = module.disassemble();
    for constant in ["  -5\n", "  -1\n", "  3\n", "  0.1\n", "  IAdd "] {
        assert!(shown.contains(constant), "{constant}{shown}");
    }
    // Without the name, whose escapes that disassembler writes another way.
    let plain = assemble("a.spvasm", &KERNEL.replace(r#"\"name\" \\"#, "name")).unwrap();
    let mut other = again(&load_words(&plain).unwrap(), "1.5");
    other[2] = plain[2];
    assert_eq!(other, plain);
}

#[test]
fn the_switch_literal_has_the_selectors_width() {
    let text =
        KERNEL.replace("OpSwitch %x %done 1 %one 4294967295 %one", "OpSwitch %cl %done -2 %one");
    let words = assemble("a", &text).unwrap();
    let switch = words.iter().position(|w| *w == 6 << 16 | 251).unwrap();
    assert_eq!(words[switch + 3..switch + 5], [0xffff_fffe, u32::MAX]);
}

#[test]
fn immediates_stand_for_words() {
    let text = "OpCapability !1\nOpMemoryModel Logical !0x1\n%1 = OpTypeInt !32 0\n";
    let words = assemble("a", text).unwrap();
    assert_eq!(words[5..], [0x0002_0011, 1, 0x0003_000e, 0, 1, 0x0004_0015, 1, 32, 0]);
}

#[test]
fn old_names_are_understood() {
    let text = "OpCapability GroupNonUniformPartitionedNV\nOpCapability StorageBuffer16BitAccess\n\
                OpDecorateStringGOOGLE %1 UserSemantic \"x\"\n%1 = OpTypeBool\n";
    let words = assemble("a", text).unwrap();
    assert_eq!((words[6], words[8]), (5297, 4433));
}

#[test]
fn errors_name_their_place() {
    insta::assert_snapshot!(error("OpCapability Shader\n  OpLaod %1"), @"a.spvasm:2:3: source error: unknown opcode `OpLaod`; did you mean `OpLoad`?");
    insta::assert_snapshot!(error("OpCapability Shadre"), @"a.spvasm:1:14: source error: `Shadre` is no Capability");
    insta::assert_snapshot!(error("OpCapability"), @"a.spvasm:1:1: source error: OpCapability ends too early: Capability is missing");
    insta::assert_snapshot!(error("OpCapability Shader Shader"), @"a.spvasm:1:21: source error: OpCapability takes no more operands");
    insta::assert_snapshot!(error("OpTypeVoid"), @"a.spvasm:1:1: source error: OpTypeVoid gives a result: write `%name = OpTypeVoid …`");
    insta::assert_snapshot!(error("%1 = OpReturn"), @"a.spvasm:1:1: source error: OpReturn gives no result");
    insta::assert_snapshot!(error("%1 = OpTypeVoid %1 = OpTypeBool"), @"a.spvasm:1:17: source error: `%1` is defined twice");
    insta::assert_snapshot!(error("OpName %x \"x\""), @"a.spvasm:1:8: source error: `%x` is never defined");
    insta::assert_snapshot!(error("OpName %x \"x"), @"a.spvasm:1:11: source error: the string has no end");
    insta::assert_snapshot!(error("%a-b = OpTypeVoid"), @"a.spvasm:1:1: source error: `%a-b` is no id: letters, digits and `_` only");
    insta::assert_snapshot!(error("%5000000 = OpTypeVoid"), @"a.spvasm:1:1: source error: `%5000000`: ids go from 1 to 4194303");
    insta::assert_snapshot!(error("%1 = OpTypeVoid %2 = OpConstant %1 3"), @"a.spvasm:1:36: source error: the type of `3` is no integer or float type known so far");
    insta::assert_snapshot!(error("%1 = OpTypeInt 32 0 %2 = OpConstant %1 -3"), @"a.spvasm:1:40: source error: `-3` does not fit in 32 bits (unsigned)");
    insta::assert_snapshot!(error("%1 = OpExtInstImport \"GLSL.std.450\" %2 = OpTypeFloat 32 %3 = OpExtInst %2 %1 Sqr %2"), @"a.spvasm:1:78: source error: `Sqr` is not in GLSL.std.450; did you mean `Sqrt`?");
    insta::assert_snapshot!(error("hello world"), @"a.spvasm:1:1: source error: an instruction (`Op…`) is expected here, not `hello`");
    insta::assert_snapshot!(error("\"é\" ="), @"a.spvasm:1:1: source error: an instruction (`Op…`) is expected here");
}

/// Texts damaged at random: an answer, whatever it is, and never a panic.
#[test]
fn damaged_texts_are_answered() {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut random = move |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below as u64) as usize
    };
    let seeds: Vec<Vec<char>> = {
        let words: Vec<&str> = KERNEL.lines().collect();
        words.chunks(6).map(|lines| lines.join("\n").chars().collect()).collect()
    };
    let inserts: Vec<char> = "%=\"\\!|;0-x9.pO é\u{0}\n".chars().collect();
    let (mut good, mut bad) = (0u32, 0u32);
    for _ in 0..100_000 {
        let mut text = seeds[random(seeds.len())].clone();
        for _ in 0..=random(4) {
            let at = random(text.len().max(1)).min(text.len());
            match random(4) {
                0 if at < text.len() => {
                    text.remove(at);
                }
                1 => text.truncate(at),
                2 => text.extend_from_within(at..),
                _ => text.insert(at, inserts[random(inserts.len())]),
            }
        }
        let text: String = text.into_iter().collect();
        match assemble("fuzz", &text) {
            Ok(words) => good += u32::from(words.len() >= 5),
            Err(_) => bad += 1,
        }
    }
    assert!(good > 100 && bad > 10_000, "{good} good, {bad} bad");
}
