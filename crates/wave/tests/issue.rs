//! What waves issue, by family.
#![allow(missing_docs, reason = "a test")]

mod support;

use std::sync::Arc;
use support::*;
use wavefence_base::{GpuAddress, OpFamily, WaveSize};
use wavefence_shader::ir::*;
use wavefence_wave::descriptor::{Buffer, Descriptor};
use wavefence_wave::exec::{Dispatch, Env, Executor, Launch, Stop};
use wavefence_wave::interp::Interpreter;

/// Runs one wave to its end, in pieces of `budget`. Gives what it issued, by family.
fn issued(kernel: &Arc<Kernel>, size: WaveSize, threads: u32, budget: u64) -> [u32; 6] {
    let mut memory = Memory(vec![0; 4096]);
    let buffer = Buffer { address: GpuAddress(BASE), bytes: 4096, stride: 0 };
    memory.0.extend(Descriptor::Buffer(buffer).to_bytes());
    let table = GpuAddress(BASE + 4096);
    let dispatch = Dispatch { groups: [1; 3], table, user_data: [0; 14] };
    let launch = Launch { group: [0; 3], threads: [threads, 1, 1], wave: 0, ordered_id: None };
    let program = Interpreter::new().prepare(kernel, size).unwrap();
    let mut wave = program.new_wave();
    wave.start(&dispatch, &launch, &mut memory);
    let mut lds = vec![0; 64];
    let mut sum = [0; 6];
    loop {
        let (port, services, budget) = (&mut memory, &mut Device::default(), &mut budget.clone());
        let stop = wave.run(&mut Env { port, lds: &mut lds, services, budget, pause: false });
        let more = wave.take_issued().unwrap();
        for family in OpFamily::ALL {
            sum[family.index()] += more.count(family);
        }
        if stop == Stop::End {
            return sum;
        }
    }
}

#[test]
fn instructions_count_by_family() {
    let mut b = Builder::new([64, 1, 1]);
    let out = b.buffer("out");
    let mut body = Vec::new();
    let i = b.builtin(&mut body, Builtin::ThreadIndex);
    let v = b.load(&mut body, Space::Buffer(out), i);
    let v = b.bin(&mut body, BinOp::IAdd, v, i);
    let v = b.un(&mut body, UnOp::FSqrt, v);
    let v = b.bin(&mut body, BinOp::UDiv, v, i);
    let dst = b.temp();
    body.push(inst(Inst::Reduce {
        op: ReduceOp::IAdd,
        scan: Scan::Inclusive,
        dst,
        a: v,
        cluster: 0,
    }));
    b.store(&mut body, Space::Buffer(out), i, dst);
    let kernel = b.done(body);
    // The addition and the scan, the root and the division, the end, load and store.
    assert_eq!(issued(&kernel, WaveSize::W64, 64, 100), [1 + 6, 2, 0, 1, 0, 2]);
    assert_eq!(issued(&kernel, WaveSize::W32, 32, 100), [1 + 5, 2, 0, 1, 0, 2]);
    // Fewer lanes, no less to issue.
    assert_eq!(issued(&kernel, WaveSize::W32, 3, 100), [1 + 5, 2, 0, 1, 0, 2]);
}

#[test]
fn a_loop_counts_each_round_however_it_is_cut() {
    let mut b = Builder::new([64, 1, 1]);
    let out = b.buffer("out");
    let mut body = Vec::new();
    let i = b.builtin(&mut body, Builtin::ThreadIndex);
    let (one, ten) = (b.constant(1), b.constant(10));
    let k = b.var();
    b.set(&mut body, k, i);
    let label = b.label();
    let mut inner = Vec::new();
    let next = b.bin(&mut inner, BinOp::IAdd, k, one);
    b.set(&mut inner, k, next);
    let past = b.bin(&mut inner, BinOp::UGe, next, ten);
    let then = vec![Stmt::Break(label)];
    inner.push(Stmt::If { cond: past, then, els: vec![], loc: Loc::NONE });
    body.push(Stmt::Loop { label, body: inner, continuing: vec![], loc: Loc::NONE });
    b.store(&mut body, Space::Buffer(out), i, k);
    let kernel = b.done(body);
    let whole = issued(&kernel, WaveSize::W64, 1, 10_000);
    assert_eq!(issued(&kernel, WaveSize::W64, 1, 3), whole);
    // Lane 0 needs ten rounds, lane 9 one; the wave takes those of its slowest.
    assert_eq!(issued(&kernel, WaveSize::W64, 64, 10_000), whole);
    let [vector, .., memory] = whole;
    assert_eq!((vector % 10, memory), (1, 1), "ten rounds alike and a copy: {whole:?}");
}

#[test]
fn registers_held_are_those_alive_together() {
    // The sum of `n` values that are all loaded first.
    let kernel = |n: u32| {
        let mut b = Builder::new([64, 1, 1]);
        let out = b.buffer("out");
        let mut body = Vec::new();
        let i = b.builtin(&mut body, Builtin::ThreadIndex);
        let values: Vec<Reg> = (0..n).map(|_| b.load(&mut body, Space::Buffer(out), i)).collect();
        let first = values[0];
        let sum = values[1..].iter().fold(first, |sum, &v| b.bin(&mut body, BinOp::IAdd, sum, v));
        b.store(&mut body, Space::Buffer(out), i, sum);
        b.done(body)
    };
    let held = |n| {
        let program = Interpreter::new().prepare(&kernel(n), WaveSize::W64).unwrap();
        program.vector_registers()
    };
    // The thread's index beside them.
    assert_eq!([1, 2, 10, 60].map(held), [2, 3, 11, 61]);
}
