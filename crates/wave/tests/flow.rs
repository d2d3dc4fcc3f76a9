//! Control flow: lanes part and meet again, on both wave sizes and both
//! instruction sets.

mod support;

use support::*;
use wavefence_base::WaveSize;
use wavefence_shader::ir::*;
use wavefence_wave::interp::Interpreter;

/// Runs on every engine and size; all must agree with `want`.
fn check(kernel: Block, mut b: Builder, threads: u32, want: impl Fn(u32) -> u32) {
    let out = ResourceRef { resource: ResourceId(0), index: None };
    b.kernel.group_size = [threads, 1, 1];
    let _ = out;
    let kernel = b.done(kernel);
    for size in [WaveSize::W32, WaveSize::W64] {
        for engine in [Interpreter::new(), Interpreter::portable()] {
            let got = run(&engine, &kernel, size, [1, 1, 1], &[vec![0xDEAD; threads as usize]]);
            for i in 0..threads {
                assert_eq!(got[0][i as usize], want(i), "thread {i}, {size:?}, {engine:?}");
            }
        }
    }
}

/// A builder with an output buffer, and the thread index.
fn begin() -> (Builder, Block, ResourceRef, Reg) {
    let mut b = Builder::new([1, 1, 1]);
    let out = b.buffer("out");
    let mut body = Vec::new();
    let i = b.builtin(&mut body, Builtin::ThreadIndex);
    (b, body, out, i)
}

#[test]
fn if_and_else_meet_again() {
    let (mut b, mut body, out, i) = begin();
    let (one, three) = (b.constant(1), b.constant(3));
    let v = b.var();
    let odd = b.bin(&mut body, BinOp::And, i, one);
    let cond = b.bin(&mut body, BinOp::IEq, odd, one);
    let (mut then, mut els) = (Vec::new(), Vec::new());
    let t = b.bin(&mut then, BinOp::IMul, i, three);
    b.set(&mut then, v, t);
    let e = b.bin(&mut els, BinOp::IAdd, i, three);
    b.set(&mut els, v, e);
    body.push(Stmt::If { cond, then, els, loc: Loc::NONE });
    let r = b.bin(&mut body, BinOp::IAdd, v, one);
    b.store(&mut body, Space::Buffer(out), i, r);
    check(body, b, 100, |i| if i & 1 == 1 { i * 3 + 1 } else { i + 4 });
}

#[test]
fn a_loop_leaves_lanes_at_different_times() {
    // v = sum of k for k in 0..i, skipping multiples of three, stopping at 40.
    let (mut b, mut body, out, i) = begin();
    let (one, three, zero, stop) = (b.constant(1), b.constant(3), b.constant(0), b.constant(40));
    let (k, v) = (b.var(), b.var());
    let label = b.label();
    b.set(&mut body, k, zero);
    b.set(&mut body, v, zero);
    let mut inner = Vec::new();
    let more = b.bin(&mut inner, BinOp::ULt, k, i);
    inner.push(Stmt::If {
        cond: more,
        then: vec![],
        els: vec![Stmt::Break(label)],
        loc: Loc::NONE,
    });
    let m = b.bin(&mut inner, BinOp::UMod, k, three);
    let skip = b.bin(&mut inner, BinOp::IEq, m, zero);
    inner.push(Stmt::If {
        cond: skip,
        then: vec![Stmt::Continue(label)],
        els: vec![],
        loc: Loc::NONE,
    });
    let sum = b.bin(&mut inner, BinOp::IAdd, v, k);
    b.set(&mut inner, v, sum);
    let mut continuing = Vec::new();
    let next = b.bin(&mut continuing, BinOp::IAdd, k, one);
    b.set(&mut continuing, k, next);
    let past = b.bin(&mut continuing, BinOp::UGe, k, stop);
    continuing.push(Stmt::If {
        cond: past,
        then: vec![Stmt::Break(label)],
        els: vec![],
        loc: Loc::NONE,
    });
    body.push(Stmt::Loop { label, body: inner, continuing, loc: Loc::NONE });
    b.store(&mut body, Space::Buffer(out), i, v);
    check(body, b, 100, |i| (0..i.min(40)).filter(|k| k % 3 != 0).sum());
}

#[test]
fn returned_lanes_stay_away() {
    let (mut b, mut body, out, i) = begin();
    let (ten, one) = (b.constant(10), b.constant(1));
    let low = b.bin(&mut body, BinOp::ULt, i, ten);
    body.push(Stmt::If { cond: low, then: vec![Stmt::Return], els: vec![], loc: Loc::NONE });
    let v = b.bin(&mut body, BinOp::IAdd, i, one);
    b.store(&mut body, Space::Buffer(out), i, v);
    check(body, b, 70, |i| if i < 10 { 0xDEAD } else { i + 1 });
}

#[test]
fn a_break_leaves_two_constructs() {
    // Scope { Loop { If (k == i) break scope; If (k == 5) break loop; k++ } v = 7 }
    let (mut b, mut body, out, i) = begin();
    let (one, five, seven, zero) = (b.constant(1), b.constant(5), b.constant(7), b.constant(0));
    let (k, v) = (b.var(), b.var());
    let (scope, label) = (b.label(), b.label());
    b.set(&mut body, k, zero);
    b.set(&mut body, v, i);
    let mut inner = Vec::new();
    let same = b.bin(&mut inner, BinOp::IEq, k, i);
    let mut then = Vec::new();
    let t = b.bin(&mut then, BinOp::IAdd, k, seven);
    b.set(&mut then, v, t);
    then.push(Stmt::Break(scope));
    inner.push(Stmt::If { cond: same, then, els: vec![], loc: Loc::NONE });
    let last = b.bin(&mut inner, BinOp::IEq, k, five);
    inner.push(Stmt::If {
        cond: last,
        then: vec![Stmt::Break(label)],
        els: vec![],
        loc: Loc::NONE,
    });
    let mut continuing = Vec::new();
    let next = b.bin(&mut continuing, BinOp::IAdd, k, one);
    b.set(&mut continuing, k, next);
    let mut in_scope = vec![Stmt::Loop { label, body: inner, continuing, loc: Loc::NONE }];
    b.set(&mut in_scope, v, seven);
    body.push(Stmt::Scope { label: scope, body: in_scope });
    b.store(&mut body, Space::Buffer(out), i, v);
    check(body, b, 64, |i| if i <= 5 { i + 7 } else { 7 });
}

/// `switch (sel) { case 1: v+=1; case 2: v+=10; break; default: v+=100; case 4: v+=1000 }`
fn switch_kernel(b: &mut Builder, body: &mut Block, sel: Reg) -> Reg {
    let v = b.var();
    let zero = b.constant(0);
    b.set(body, v, zero);
    let label = b.label();
    let mut cases = Vec::new();
    for (values, default, add, leave) in [
        (vec![1u64], false, 1, false),
        (vec![2], false, 10, true),
        (vec![], true, 100, false),
        (vec![4], false, 1000, false),
    ] {
        let mut block = Vec::new();
        let c = b.constant(add);
        let sum = b.bin(&mut block, BinOp::IAdd, v, c);
        b.set(&mut block, v, sum);
        if leave {
            block.push(Stmt::Break(label));
        }
        cases.push(Case { values, default, body: block });
    }
    body.push(Stmt::Switch { label, selector: sel, cases, loc: Loc::NONE });
    v
}

fn switch_wants(sel: u32) -> u32 {
    match sel {
        1 => 11,
        2 => 10,
        4 => 1000,
        _ => 1100,
    }
}

#[test]
fn a_switch_falls_through() {
    let (mut b, mut body, out, i) = begin();
    let seven = b.constant(7);
    let sel = b.bin(&mut body, BinOp::UMod, i, seven);
    let v = switch_kernel(&mut b, &mut body, sel);
    b.store(&mut body, Space::Buffer(out), i, v);
    check(body, b, 100, |i| switch_wants(i % 7));
}

#[test]
fn a_uniform_switch_falls_through() {
    for value in 0..6 {
        let (mut b, mut body, out, i) = begin();
        let sel = b.constant(value);
        let v = switch_kernel(&mut b, &mut body, sel);
        b.store(&mut body, Space::Buffer(out), i, v);
        check(body, b, 40, |_| switch_wants(value));
    }
}

#[test]
fn a_uniform_loop_with_barriers_resumes() {
    // for k in 0..5: lds[i] = v; sync; v = lds[(i + 1) % 128] + k; sync
    let (mut b, mut body, out, i) = begin();
    b.kernel.lds_bytes = 512;
    let [zero, one, five, last] = [0, 1, 5, 127].map(|c| b.constant(c));
    let (k, v) = (b.var(), b.var());
    let label = b.label();
    b.set(&mut body, k, zero);
    b.set(&mut body, v, i);
    let mut inner = Vec::new();
    let more = b.bin(&mut inner, BinOp::ULt, k, five);
    inner.push(Stmt::If {
        cond: more,
        then: vec![],
        els: vec![Stmt::Break(label)],
        loc: Loc::NONE,
    });
    b.store(&mut inner, Space::Lds, i, v);
    inner.push(inst(SYNC));
    let n = b.bin(&mut inner, BinOp::IAdd, i, one);
    let n = b.bin(&mut inner, BinOp::And, n, last);
    let got = b.load(&mut inner, Space::Lds, n);
    let sum = b.bin(&mut inner, BinOp::IAdd, got, k);
    b.set(&mut inner, v, sum);
    inner.push(inst(SYNC));
    let mut continuing = Vec::new();
    let next = b.bin(&mut continuing, BinOp::IAdd, k, one);
    b.set(&mut continuing, k, next);
    body.push(Stmt::Loop { label, body: inner, continuing, loc: Loc::NONE });
    b.store(&mut body, Space::Buffer(out), i, v);
    check(body, b, 128, |i| (i + 5) % 128 + 10);
}
