//! SPIR-V written by hand: what no compiler writes, but anybody may send.
#![allow(clippy::unwrap_used)]

#[path = "support/eval.rs"]
mod eval;

use std::fmt::Write as _;
use wavefence_shader::assemble::assemble;
use wavefence_shader::ir::Kernel;
use wavefence_shader::lower::{self, BindingRule, LowerOptions};
use wavefence_shader::{ShaderError, ShaderErrorKind};

const HEAD: &str = "
OpCapability Shader
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main \"main\" %Out %lane
OpExecutionMode %main LocalSize 16 1 1
OpName %Out \"Out\"
OpDecorate %lane BuiltIn LocalInvocationIndex
OpDecorate %words ArrayStride 4
OpMemberDecorate %block 0 Offset 0
OpDecorate %block Block
OpDecorate %Out DescriptorSet 0
OpDecorate %Out Binding 0
%void = OpTypeVoid
%fn = OpTypeFunction %void
%bool = OpTypeBool
%uint = OpTypeInt 32 0
%c0 = OpConstant %uint 0
%c1 = OpConstant %uint 1
%c2 = OpConstant %uint 2
%c3 = OpConstant %uint 3
%c7 = OpConstant %uint 7
%words = OpTypeRuntimeArray %uint
%block = OpTypeStruct %words
%pblock = OpTypePointer StorageBuffer %block
%pword = OpTypePointer StorageBuffer %uint
%pin = OpTypePointer Input %uint
%Out = OpVariable %pblock StorageBuffer
%lane = OpVariable %pin Input
";

/// A module with `globals` after the common part and `body` as its main function.
fn module(globals: &str, body: &str) -> Result<Kernel, ShaderError> {
    let text = format!(
        "{HEAD}{globals}%main = OpFunction %void None %fn\n%entry = OpLabel\n{body}\nOpFunctionEnd\n"
    );
    lower(&text)
}

fn lower(text: &str) -> Result<Kernel, ShaderError> {
    let words = assemble("a.spvasm", text).unwrap();
    let options = LowerOptions { bindings: BindingRule::Plain, ..LowerOptions::default() };
    lower::kernel(&words, &options)
}

fn run(kernel: &Kernel) -> Vec<u32> {
    let mut wave = eval::Wave::new(kernel, 16);
    wave.buffers.insert("Out".into(), vec![0; 16]);
    wave.run();
    wave.buffers.remove("Out").unwrap()
}

fn refused(globals: &str, body: &str) -> String {
    let e = module(globals, body).unwrap_err();
    assert_ne!(e.kind, ShaderErrorKind::Internal, "{e}");
    e.to_string()
}

#[test]
fn phis_of_a_loop_swap_at_once() {
    let kernel = module(
        "",
        "%n = OpLoad %uint %lane
         OpBranch %head
         %head = OpLabel
         %a = OpPhi %uint %c1 %entry %b %next
         %b = OpPhi %uint %c2 %entry %a %next
         %i = OpPhi %uint %c0 %entry %j %next
         %more = OpULessThan %bool %i %n
         OpLoopMerge %done %next None
         OpBranchConditional %more %next %done
         %next = OpLabel
         %j = OpIAdd %uint %i %c1
         OpBranch %head
         %done = OpLabel
         %seven = OpIMul %uint %a %c7
         %sum = OpIAdd %uint %seven %b
         %p = OpAccessChain %pword %Out %c0 %n
         OpStore %p %sum
         OpReturn",
    )
    .unwrap();
    let want: Vec<u32> = (0..16).map(|n| if n % 2 == 0 { 9 } else { 15 }).collect();
    assert_eq!(run(&kernel), want);
}

#[test]
fn a_value_of_the_last_round_leaves_its_loop() {
    // The back edge is conditional; %k is read after the loop.
    let kernel = module(
        "",
        "%n = OpLoad %uint %lane
         OpBranch %head
         %head = OpLabel
         %i = OpPhi %uint %c0 %entry %j %head
         %k = OpIMul %uint %i %c3
         %j = OpIAdd %uint %i %c1
         %more = OpULessThan %bool %j %n
         OpLoopMerge %done %head None
         OpBranchConditional %more %head %done
         %done = OpLabel
         %p = OpAccessChain %pword %Out %c0 %n
         OpStore %p %k
         OpReturn",
    )
    .unwrap();
    let want: Vec<u32> = (0..16u32).map(|n| n.saturating_sub(1) * 3).collect();
    assert_eq!(run(&kernel), want);
}

#[test]
fn cases_fall_into_the_next_wherever_they_are_named() {
    // Case 2 falls into the default, which stands before it in no list at all;
    // case 1 goes straight to the merge block.
    let kernel = module(
        "",
        "%n = OpLoad %uint %lane
         OpSelectionMerge %done None
         OpSwitch %n %other 1 %done 2 %two 3 %three
         %three = OpLabel
         OpBranch %done
         %two = OpLabel
         %x = OpIAdd %uint %n %c7
         OpBranch %other
         %other = OpLabel
         %y = OpPhi %uint %c7 %entry %x %two
         %z = OpIMul %uint %y %c2
         OpBranch %done
         %done = OpLabel
         %r = OpPhi %uint %c1 %entry %c3 %three %z %other
         %p = OpAccessChain %pword %Out %c0 %n
         OpStore %p %r
         OpReturn",
    )
    .unwrap();
    let mut want = vec![14; 16];
    (want[1], want[2], want[3]) = (1, 18, 3);
    assert_eq!(run(&kernel), want);
}

#[test]
fn a_case_may_break_out_of_the_loop_around_it() {
    let kernel = module(
        "",
        "%n = OpLoad %uint %lane
         OpBranch %head
         %head = OpLabel
         %i = OpPhi %uint %c0 %entry %j %next
         OpLoopMerge %done %next None
         OpBranch %body
         %body = OpLabel
         %k = OpBitwiseAnd %uint %i %c3
         OpSelectionMerge %after None
         OpSwitch %k %next 1 %after 3 %done
         %after = OpLabel
         %stop = OpIEqual %bool %n %c1
         OpBranchConditional %stop %done %next
         %next = OpLabel
         %j = OpIAdd %uint %i %c1
         OpBranch %head
         %done = OpLabel
         %r = OpPhi %uint %i %body %c7 %after
         %p = OpAccessChain %pword %Out %c0 %n
         OpStore %p %r
         OpReturn",
    )
    .unwrap();
    let mut want = vec![3; 16];
    want[1] = 7;
    assert_eq!(run(&kernel), want);
}

#[test]
fn sizes_and_depths_have_limits() {
    let mut deep = String::from("%t0 = OpTypeArray %uint %c2\n");
    for i in 1..64 {
        let _ = writeln!(deep, "%t{i} = OpTypeArray %t{} %c2", i - 1);
    }
    let huge = "%big = OpConstant %uint 4000000000\n%array = OpTypeArray %uint %big\n\
                %pf = OpTypePointer Function %array\n";
    let shared = "%big = OpConstant %uint 100000\n%array = OpTypeArray %uint %big\n\
                  %pw = OpTypePointer Workgroup %array\n%s = OpVariable %pw Workgroup\n\
                  %pe = OpTypePointer Workgroup %uint\n";
    let null = "%big = OpConstant %uint 4000000000\n%array = OpTypeArray %uint %big\n\
                %zeros = OpConstantNull %array\n";
    let mut nested = String::new();
    for i in 0..300 {
        let _ = writeln!(
            nested,
            "OpSelectionMerge %m{i} None\nOpBranchConditional %yes %t{i} %m{i}\n%t{i} = OpLabel"
        );
    }
    for i in (0..300).rev() {
        let _ = writeln!(nested, "OpBranch %m{i}\n%m{i} = OpLabel");
    }
    let nested = format!("%n = OpLoad %uint %lane\n%yes = OpIEqual %bool %n %c1\n{nested}OpReturn");
    let texts = [
        refused(&deep, "OpReturn"),
        refused(huge, "%v = OpVariable %pf Function\nOpReturn"),
        refused(shared, "%p = OpAccessChain %pe %s %c1\nOpStore %p %c1\nOpReturn"),
        refused(null, "OpReturn"),
        refused("", &nested),
    ];
    insta::assert_snapshot!(texts.join("\n"), @"
    limit: types nest deeper than 32 (OpTypeArray at word 231)
    limit: an object of more than 4 GiB (OpVariable at word 126)
    limit: more than 65536 bytes of group-shared memory (OpAccessChain at word 134)
    limit: a constant of 4000000000 scalars (OpConstantNull at word 115)
    limit: control flow nests deeper than 200 levels, calls inlined (OpBranchConditional at word 1908)
    ");
}

#[test]
fn calls_that_double_without_end_are_cut_short() {
    let mut text = HEAD.to_string();
    text += "%main = OpFunction %void None %fn\n%entry = OpLabel\n\
             %x = OpFunctionCall %void %f40\nOpReturn\nOpFunctionEnd\n";
    for i in (1..=40).rev() {
        let below = i - 1;
        let _ = writeln!(
            text,
            "%f{i} = OpFunction %void None %fn\n%l{i} = OpLabel\n\
             %a{i} = OpFunctionCall %void %f{below}\n%b{i} = OpFunctionCall %void %f{below}\n\
             OpReturn\nOpFunctionEnd"
        );
    }
    text += "%f0 = OpFunction %void None %fn\n%l0 = OpLabel\nOpReturn\nOpFunctionEnd\n";
    let e = lower(&text).unwrap_err();
    assert_eq!(e.kind, ShaderErrorKind::Limit, "{e}");
}

#[test]
fn modules_against_the_rules_are_refused() {
    let recursion = format!(
        "{HEAD}%main = OpFunction %void None %fn\n%entry = OpLabel\n\
         %x = OpFunctionCall %void %main\nOpReturn\nOpFunctionEnd\n"
    );
    let cyclic = "%s = OpTypeStruct %s\n";
    let late = "%a = OpTypeArray %later %c2\n%later = OpTypeInt 32 1\n";
    let twice = "%n = OpLoad %uint %lane\n%yes = OpIEqual %bool %n %c1\n\
                 OpBranchConditional %yes %a %b\n%a = OpLabel\nOpBranch %c\n%b = OpLabel\n\
                 OpBranch %c\n%c = OpLabel\nOpReturn";
    let texts = [
        lower(&recursion).unwrap_err().to_string(),
        refused(cyclic, "OpReturn"),
        refused(late, "OpReturn"),
        refused("", twice),
        refused("", "OpBranch %c1\n%b = OpLabel\nOpReturn"),
        refused("", "%x = OpIAdd %uint %y %c1\n%y = OpIAdd %uint %c1 %c1\nOpReturn"),
        refused("", "%x = OpIAdd %bool %c1 %c1\nOpReturn"),
        refused("", "%p = OpAccessChain %pword %Out %c1 %c1\nOpStore %p %c1\nOpReturn"),
        refused("", "OpStore %lane %c1\nOpReturn"),
        refused("", "OpKill"),
    ];
    insta::assert_snapshot!(texts.join("\n"), @"
    unsupported: recursion: %1 calls itself (OpFunctionCall at word 114)
    invalid SPIR-V: %18 is no type (OpTypeStruct at word 107)
    invalid SPIR-V: %19 is no type (OpTypeArray at word 107)
    invalid SPIR-V: block %23 is reached twice outside of its structure (OpBranchConditional at word 123)
    invalid SPIR-V: a branch to %11, which is no block (OpBranch at word 114)
    invalid SPIR-V: %20 is used before it has a value (OpIAdd at word 114)
    invalid SPIR-V: the result has another type (OpIAdd at word 114)
    invalid SPIR-V: a member that is not there (OpAccessChain at word 114)
    invalid SPIR-V: a store to an input (OpStore at word 114)
    unsupported: this end of a block in a compute shader (OpKill at word 114)
    ");
}

#[test]
fn a_value_that_not_every_path_computes_is_the_modules_fault() {
    let text = refused(
        "",
        "%n = OpLoad %uint %lane
         %odd = OpULessThan %bool %n %c3
         OpSelectionMerge %done None
         OpBranchConditional %odd %yes %done
         %yes = OpLabel
         %from = OpAccessChain %pword %Out %c0 %c3
         %v = OpAtomicIAdd %uint %from %c1 %c0 %c7
         OpBranch %done
         %done = OpLabel
         %p = OpAccessChain %pword %Out %c0 %n
         OpStore %p %v
         OpReturn",
    );
    insta::assert_snapshot!(text, @"invalid SPIR-V: a value is used where not every path has computed it (OpStore at word 155)");
}

#[test]
fn pointers_go_round_a_loop_and_are_selected() {
    // Writes 7 to the lane's own element and to those before it, from the last; then
    // 1 or 2 to element 0 or 1, as the lane's number is below 3.
    let kernel = module(
        "",
        "%n = OpLoad %uint %lane
         %first = OpAccessChain %pword %Out %c0 %n
         OpBranch %head
         %head = OpLabel
         %i = OpPhi %uint %n %entry %j %next
         %p = OpPhi %pword %first %entry %q %next
         OpLoopMerge %done %next None
         OpBranch %body
         %body = OpLabel
         OpStore %p %c7
         %more = OpUGreaterThan %bool %i %c2
         OpBranchConditional %more %next %done
         %next = OpLabel
         %j = OpISub %uint %i %c1
         %q = OpAccessChain %pword %Out %c0 %j
         OpBranch %head
         %done = OpLabel
         %low = OpULessThan %bool %n %c3
         %a = OpAccessChain %pword %Out %c0 %c0
         %b = OpAccessChain %pword %Out %c0 %c1
         %s = OpSelect %pword %low %a %b
         %t = OpSelect %uint %low %c1 %c2
         OpStore %s %t
         OpReturn",
    )
    .unwrap();
    let mut want = vec![7; 16];
    want[..2].copy_from_slice(&[1, 2]);
    assert_eq!(run(&kernel), want);
}
