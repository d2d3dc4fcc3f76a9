//! What waves do together and with the device: cross-lane operations, barriers,
//! ordered append, the data share, buffers and their edges.

mod support;

use std::sync::Arc;
use support::*;
use wavefence_base::{GpuAddress, LaneMask, WaveSize};
use wavefence_shader::ir::*;
use wavefence_wave::descriptor::{Buffer, Descriptor};
use wavefence_wave::exec::{Dispatch, Env, Executor, Launch, Stop};
use wavefence_wave::interp::Interpreter;

const SIZES: [WaveSize; 2] = [WaveSize::W32, WaveSize::W64];

fn engines() -> [Interpreter; 2] {
    [Interpreter::new(), Interpreter::portable()]
}

/// `out[i] = make(in[i])` for the threads with `i % 3 != 1` (two of three lanes
/// run), one group of 128; 0xDEAD elsewhere.
fn sparse(
    make: impl Fn(&mut Builder, &mut Block, Reg) -> Vec<Reg>,
    input: &[u32],
    size: WaveSize,
    engine: &Interpreter,
) -> Vec<Vec<u32>> {
    let mut b = Builder::new([128, 1, 1]);
    let source = b.buffer("in");
    let mut body = Vec::new();
    let i = b.builtin(&mut body, Builtin::ThreadIndex);
    let (three, one) = (b.constant(3), b.constant(1));
    let m = b.bin(&mut body, BinOp::UMod, i, three);
    let runs = b.bin(&mut body, BinOp::INe, m, one);
    let mut then = Vec::new();
    let v = b.load(&mut then, Space::Buffer(source), i);
    let results = make(&mut b, &mut then, v);
    let mut buffers = vec![input.to_vec()];
    for r in results {
        let out = b.buffer("out");
        buffers.push(vec![0xDEAD; 128]);
        let mut value = r;
        if b.kernel.reg(r).ty == Ty::Bool {
            let (yes, no) = (b.constant(1), b.constant(0));
            value = b.ter(&mut then, TerOp::Select, r, yes, no);
        }
        b.store(&mut then, Space::Buffer(out), i, value);
    }
    body.push(Stmt::If { cond: runs, then, els: vec![], loc: Loc::NONE });
    let kernel = b.done(body);
    let mut got = run(engine, &kernel, size, [1, 1, 1], &buffers);
    got.remove(0);
    got
}

/// Active lanes of the wave that thread `i` is in, as thread numbers.
fn others(i: u32, size: WaveSize) -> Vec<u32> {
    let n = size.lanes();
    (i / n * n..(i / n + 1) * n).filter(|t| t % 3 != 1).collect()
}

fn input() -> Vec<u32> {
    (0..128u32).map(|i| i.wrapping_mul(0x9E37_79B9) >> 7).collect()
}

/// What a thread should get: the thread, the active ones of its wave, the input.
type Want<'a> = &'a dyn Fn(u32, &[u32], &[u32]) -> u32;

/// Holds the results of `make` to `want`, which gets the thread, the active
/// threads of its wave and the input.
fn hold(
    what: &str,
    make: impl Fn(&mut Builder, &mut Block, Reg) -> Vec<Reg>,
    want: impl Fn(u32, &[u32], &[u32]) -> Vec<u32>,
) {
    let input = input();
    for size in SIZES {
        for engine in engines() {
            let got = sparse(&make, &input, size, &engine);
            for i in (0..128).filter(|i| i % 3 != 1) {
                let got: Vec<u32> = got.iter().map(|g| g[i as usize]).collect();
                let want = want(i, &others(i, size), &input);
                assert_eq!(got, want, "{what}, thread {i}, {size:?}, {engine:?}");
            }
            assert!(got.iter().all(|g| g[1] == 0xDEAD && g[4] == 0xDEAD), "{what}: others wrote");
        }
    }
}

fn reduce(
    op: ReduceOp,
    scan: Scan,
    cluster: u32,
) -> impl Fn(&mut Builder, &mut Block, Reg) -> Vec<Reg> {
    move |b, block, a| {
        let dst = b.temp();
        block.push(inst(Inst::Reduce { op, scan, dst, a, cluster }));
        vec![dst]
    }
}

#[test]
fn integer_reductions_and_scans() {
    let fold = |op: ReduceOp, values: &[u32]| -> u32 {
        let it = values.iter().copied();
        match op {
            ReduceOp::IAdd => it.fold(0, u32::wrapping_add),
            ReduceOp::IMul => it.fold(1, u32::wrapping_mul),
            ReduceOp::And => it.fold(u32::MAX, |a, b| a & b),
            ReduceOp::Or => it.fold(0, |a, b| a | b),
            ReduceOp::Xor => it.fold(0, |a, b| a ^ b),
            ReduceOp::UMin => it.fold(u32::MAX, u32::min),
            ReduceOp::UMax => it.fold(0, u32::max),
            ReduceOp::SMin => it.fold(i32::MAX as u32, |a, b| (a as i32).min(b as i32) as u32),
            ReduceOp::SMax => it.fold(i32::MIN as u32, |a, b| (a as i32).max(b as i32) as u32),
            ReduceOp::FAdd | ReduceOp::FMul | ReduceOp::FMin | ReduceOp::FMax => unreachable!(),
        }
    };
    for &op in &ReduceOp::ALL[..9] {
        for &scan in Scan::ALL {
            for cluster in [0, 4, 16, 32] {
                hold(
                    &format!("{op:?} {scan:?} {cluster}"),
                    reduce(op, scan, cluster),
                    |i, all, v| {
                        let near = |t: &&u32| cluster == 0 || **t / cluster == i / cluster;
                        let part = |t: &&u32| match scan {
                            Scan::Reduce => true,
                            Scan::Inclusive => **t <= i,
                            Scan::Exclusive => **t < i,
                        };
                        let of = all.iter().filter(near).filter(part).map(|t| v[*t as usize]);
                        vec![fold(op, &of.collect::<Vec<_>>())]
                    },
                );
            }
        }
    }
}

#[test]
fn float_reductions_go_upwards() {
    let float = |v: u32| (v as f32) * 0.37 + 0.1;
    let make = |op, scan| {
        move |b: &mut Builder, block: &mut Block, a: Reg| {
            let (scale, add) = (b.float(0.37), b.float(0.1));
            let x = b.un(block, UnOp::UToF, a);
            let x = b.bin(block, BinOp::FMul, x, scale);
            let x = b.bin(block, BinOp::FAdd, x, add);
            reduce(op, scan, 0)(b, block, x)
        }
    };
    hold("sum", make(ReduceOp::FAdd, Scan::Reduce), |_, all, v| {
        let mut values = all.iter().map(|t| float(v[*t as usize]));
        let first = values.next().unwrap();
        vec![values.fold(first, |a, b| a + b).to_bits()]
    });
    hold("max", make(ReduceOp::FMax, Scan::Inclusive), |i, all, v| {
        let below = all.iter().filter(|t| **t <= i).map(|t| float(v[*t as usize]));
        vec![below.fold(f32::MIN, f32::max).to_bits()]
    });
}

fn wave(op: WaveOp, b_value: Option<u32>) -> impl Fn(&mut Builder, &mut Block, Reg) -> Vec<Reg> {
    move |b, block, v| {
        let limit = b.constant(1 << 24);
        let big = b.bin(block, BinOp::UGt, v, limit);
        let vote = matches!(op, WaveOp::All | WaveOp::Any | WaveOp::QuadAll | WaveOp::QuadAny);
        let flag = vote || matches!(op, WaveOp::Elect | WaveOp::AllEqual | WaveOp::AllEqualF);
        let dst = if flag { b.flag() } else { b.temp() };
        let a = (op != WaveOp::Elect).then_some(if vote { big } else { v });
        let second = b_value.map(|k| b.constant(k));
        block.push(inst(Inst::Wave { op, dst, a, b: second }));
        vec![dst]
    }
}

#[test]
fn votes_and_movement() {
    let big = |v: &[u32], t: u32| v[t as usize] > 1 << 24;
    let read = |all: &[u32], v: &[u32], t: i64| {
        let here = u32::try_from(t).ok().filter(|t| all.contains(t));
        here.map_or(0, |t| v[t as usize])
    };
    let quad = |i: u32, all: &[u32]| -> Vec<u32> {
        all.iter().copied().filter(|t| t / 4 == i / 4).collect()
    };
    for size in SIZES {
        let start = move |i: u32| i64::from(i / size.lanes() * size.lanes());
        let check = |what: &str, op, k, want: Want<'_>| {
            for engine in engines() {
                let got = sparse(wave(op, k), &input(), size, &engine);
                for i in (0..128).filter(|i| i % 3 != 1) {
                    let want = want(i, &others(i, size), &input());
                    assert_eq!(got[0][i as usize], want, "{what}, thread {i}, {size:?}");
                }
            }
        };
        check("elect", WaveOp::Elect, None, &|i, all, _| (all[0] == i).into());
        check("all", WaveOp::All, None, &|_, all, v| all.iter().all(|t| big(v, *t)).into());
        check("any", WaveOp::Any, None, &|_, all, v| all.iter().any(|t| big(v, *t)).into());
        check("equal", WaveOp::AllEqual, None, &|_, _, _| 0);
        check("first", WaveOp::BroadcastFirst, None, &|_, all, v| v[all[0] as usize]);
        for k in [0, 3, 4, 31, 40, 63, 64, u32::MAX] {
            check("read", WaveOp::ReadLane, Some(k), &|i, all, v| {
                read(all, v, start(i) + i64::from(k))
            });
        }
        for k in [1u32, 2, 3, 16] {
            check("xor", WaveOp::ShuffleXor, Some(k), &|i, all, v| read(all, v, i64::from(i ^ k)));
            check("up", WaveOp::ShuffleUp, Some(k), &|i, all, v| {
                read(all, v, i64::from(i) - i64::from(k))
            });
            check("down", WaveOp::ShuffleDown, Some(k), &|i, all, v| {
                read(all, v, i64::from(i + k))
            });
        }
        for k in 0..4u32 {
            check("quad", WaveOp::QuadRead, Some(k), &|i, all, v| {
                read(all, v, i64::from(i / 4 * 4 + k))
            });
        }
        check("x", WaveOp::QuadSwapX, None, &|i, all, v| read(all, v, i64::from(i ^ 1)));
        check("y", WaveOp::QuadSwapY, None, &|i, all, v| read(all, v, i64::from(i ^ 2)));
        check("d", WaveOp::QuadSwapDiagonal, None, &|i, all, v| read(all, v, i64::from(i ^ 3)));
        check("qall", WaveOp::QuadAll, None, &|i, all, v| {
            quad(i, all).iter().all(|t| big(v, *t)).into()
        });
        check("qany", WaveOp::QuadAny, None, &|i, all, v| {
            quad(i, all).iter().any(|t| big(v, *t)).into()
        });
    }
}

#[test]
fn ballots_matches_and_partitions() {
    let mask = |i: u32, size: WaveSize, of: &dyn Fn(u32) -> bool| -> u64 {
        others(i, size).into_iter().filter(|t| of(*t)).fold(0, |m, t| m | 1 << (t % size.lanes()))
    };
    let input = input();
    for size in SIZES {
        for engine in engines() {
            let got = sparse(
                |b, block, v| {
                    let (limit, seven) = (b.constant(1 << 24), b.constant(7));
                    let big = b.bin(block, BinOp::UGt, v, limit);
                    let ballot = [b.temp(), b.temp(), b.temp(), b.temp()];
                    block.push(inst(Inst::Ballot { dst: ballot, a: big }));
                    let key = b.bin(block, BinOp::UMod, v, seven);
                    let same = [b.temp(), b.temp(), b.temp(), b.temp()];
                    block.push(inst(Inst::Match { dst: same, a: vec![key] }));
                    let dst = b.temp();
                    let (op, scan) = (ReduceOp::IAdd, Scan::Exclusive);
                    block.push(inst(Inst::ReducePartition { op, scan, dst, a: v, mask: same }));
                    [ballot.to_vec(), same.to_vec(), vec![dst]].concat()
                },
                &input,
                size,
                &engine,
            );
            for i in (0..128).filter(|i| i % 3 != 1) {
                let at = i as usize;
                let key = |t: u32| input[t as usize] % 7;
                let ballot = mask(i, size, &|t| input[t as usize] > 1 << 24);
                let same = mask(i, size, &|t| key(t) == key(i));
                let word = |m: u64, k: usize| if k < 2 { (m >> (32 * k)) as u32 } else { 0 };
                for k in 0..4 {
                    assert_eq!(got[k][at], word(ballot, k), "ballot word {k}, thread {i}");
                    assert_eq!(got[4 + k][at], word(same, k), "match word {k}, thread {i}");
                }
                let below = others(i, size).into_iter().filter(|t| *t < i && key(*t) == key(i));
                let sum = below.fold(0u32, |s, t| s.wrapping_add(input[t as usize]));
                assert_eq!(got[8][at], sum, "sum in the partition, thread {i}");
            }
        }
    }
}

#[test]
fn ordered_append_goes_by_wave_and_lane() {
    // Two of three lanes add their index + 1 to counter 2.
    for size in SIZES {
        for engine in engines() {
            let mut device = Device::default();
            let mut b = Builder::new([128, 1, 1]);
            let out = b.buffer("out");
            let mut body = Vec::new();
            let i = b.builtin(&mut body, Builtin::ThreadIndex);
            let [three, one, two] = [3, 1, 2].map(|c| b.constant(c));
            let m = b.bin(&mut body, BinOp::UMod, i, three);
            let runs = b.bin(&mut body, BinOp::INe, m, one);
            let mut then = Vec::new();
            let value = b.bin(&mut then, BinOp::IAdd, i, one);
            let dst = b.temp();
            then.push(inst(Inst::OrderedAdd { dst, counter: two, value }));
            b.store(&mut then, Space::Buffer(out), i, dst);
            body.push(Stmt::If { cond: runs, then, els: vec![], loc: Loc::NONE });
            let kernel = b.done(body);
            let buffers = [vec![0xDEAD; 128]];
            let got = run_on(&engine, &kernel, size, [1, 1, 1], &buffers, &mut device);
            let mut sum = 0;
            for i in 0..128u32 {
                if i % 3 == 1 {
                    assert_eq!(got[0][i as usize], 0xDEAD);
                } else {
                    assert_eq!(got[0][i as usize], sum, "thread {i}");
                    sum += i + 1;
                }
            }
            assert_eq!(device.counters[2], sum);
        }
    }
}

#[test]
fn a_wave_waits_for_its_ordered_turn() {
    let mut b = Builder::new([32, 1, 1]);
    let out = b.buffer("out");
    let mut body = Vec::new();
    let i = b.builtin(&mut body, Builtin::ThreadIndex);
    let (zero, one) = (b.constant(0), b.constant(1));
    let dst = b.temp();
    body.push(inst(Inst::OrderedAdd { dst, counter: zero, value: one }));
    b.store(&mut body, Space::Buffer(out), i, dst);
    let kernel = b.done(body);
    let program = Interpreter::new().prepare(&kernel, WaveSize::W32).unwrap();
    let mut wave = program.new_wave();
    let (mut memory, dispatch) = one_buffer(128);
    let launch = Launch { group: [0; 3], threads: [32, 1, 1], wave: 0, ordered_id: Some(1) };
    wave.start(&dispatch, &launch, &mut memory);
    let mut device = Device::default();
    let mut step = |device: &mut Device| {
        let mut budget = 100;
        let (port, lds) = (&mut memory, &mut [][..]);
        wave.run(&mut Env { port, lds, services: device, budget: &mut budget, pause: false })
    };
    assert_eq!(step(&mut device), Stop::Ordered);
    assert_eq!(step(&mut device), Stop::Ordered);
    device.turn = 1;
    assert_eq!(step(&mut device), Stop::End);
    assert_eq!(device.counters[0], 32);
}

/// Memory with one buffer of `bytes` and its table.
fn one_buffer(bytes: usize) -> (Memory, Dispatch) {
    let mut memory = Memory(vec![0; bytes]);
    let address = GpuAddress(BASE);
    let buffer = Descriptor::Buffer(Buffer { address, bytes: bytes as u64, stride: 0 });
    memory.0.extend(buffer.to_bytes());
    let table = GpuAddress(BASE + bytes as u64);
    (memory, Dispatch { groups: [1; 3], table, user_data: [7; 14] })
}

#[test]
fn a_barrier_that_some_lanes_miss_is_divergent() {
    for (cut, divergent) in [(32u32, false), (10, true)] {
        let mut b = Builder::new([32, 1, 1]);
        let mut body = Vec::new();
        let i = b.builtin(&mut body, Builtin::ThreadIndex);
        let cut = b.constant(cut);
        let low = b.bin(&mut body, BinOp::ULt, i, cut);
        let loc = Loc::NONE;
        body.push(Stmt::If { cond: low, then: vec![inst(SYNC)], els: vec![], loc });
        let kernel = b.done(body);
        let mut wave = Interpreter::new().prepare(&kernel, WaveSize::W32).unwrap().new_wave();
        let (mut memory, dispatch) = one_buffer(4);
        let launch = Launch { group: [0; 3], threads: [32, 1, 1], wave: 0, ordered_id: None };
        wave.start(&dispatch, &launch, &mut memory);
        let mut run = || {
            let (port, services, budget) = (&mut memory, &mut Device::default(), &mut 100);
            wave.run(&mut Env { port, lds: &mut [], services, budget, pause: false })
        };
        assert_eq!(run(), Stop::Barrier { divergent, loc: 0 });
        assert_eq!(run(), Stop::End);
    }
}

#[test]
fn lanes_that_returned_are_not_missed_at_a_barrier() {
    let mut b = Builder::new([32, 1, 1]);
    let mut body = Vec::new();
    let i = b.builtin(&mut body, Builtin::ThreadIndex);
    let ten = b.constant(10);
    let low = b.bin(&mut body, BinOp::ULt, i, ten);
    body.push(Stmt::If { cond: low, then: vec![Stmt::Return], els: vec![], loc: Loc::NONE });
    body.push(inst(SYNC));
    let kernel = b.done(body);
    let mut wave = Interpreter::new().prepare(&kernel, WaveSize::W32).unwrap().new_wave();
    let (mut memory, dispatch) = one_buffer(4);
    let launch = Launch { group: [0; 3], threads: [32, 1, 1], wave: 0, ordered_id: None };
    wave.start(&dispatch, &launch, &mut memory);
    let (port, services, budget) = (&mut memory, &mut Device::default(), &mut 100);
    let stop = wave.run(&mut Env { port, lds: &mut [], services, budget, pause: false });
    assert_eq!(stop, Stop::Barrier { divergent: false, loc: 0 });
}

#[test]
fn a_wave_that_pauses_makes_one_seen_access_at_a_time() {
    let mut b = Builder::new([32, 1, 1]);
    let out = b.buffer("out");
    b.kernel.lds_bytes = 128;
    let mut body = Vec::new();
    let i = b.builtin(&mut body, Builtin::ThreadIndex);
    let (low, high) = (b.constant(32), b.constant(64));
    b.store(&mut body, Space::Lds, i, low);
    b.store(&mut body, Space::Buffer(out), i, high);
    b.store(&mut body, Space::Lds, i, high);
    let back = b.load(&mut body, Space::Buffer(out), i);
    let sum = b.bin(&mut body, BinOp::IAdd, back, low);
    b.store(&mut body, Space::Buffer(out), i, sum);
    let kernel = b.done(body);
    let run = |pause: bool| {
        let mut wave = Interpreter::new().prepare(&kernel, WaveSize::W32).unwrap().new_wave();
        let (mut memory, dispatch) = one_buffer(128);
        let launch = Launch { group: [0; 3], threads: [32, 1, 1], wave: 0, ordered_id: None };
        wave.start(&dispatch, &launch, &mut memory);
        let (mut lds, mut seen, mut used) = (vec![0; 32], Vec::new(), 0);
        loop {
            let (port, services, budget) = (&mut memory, &mut Device::default(), &mut 1000);
            let lds = &mut lds[..];
            let stop = wave.run(&mut Env { port, lds, services, budget, pause });
            used += 1000 - *budget;
            seen.push((stop, memory.0[4 * 31], lds[31]));
            if stop == Stop::End {
                return (seen, used);
            }
        }
    };
    let (whole, used) = run(false);
    assert_eq!(whole, [(Stop::End, 96, 64)]);
    let (paused, same) = run(true);
    // The store, what the group alone sees behind it, and no further; then the load.
    let steps = [(Stop::Access, 64, 64), (Stop::Access, 64, 64), (Stop::End, 96, 64)];
    assert_eq!((&paused[..], same), (&steps[..], used));
}

#[test]
fn an_endless_loop_stops_when_its_budget_ends() {
    let mut b = Builder::new([32, 1, 1]);
    let label = b.label();
    let body = vec![Stmt::Loop { label, body: vec![], continuing: vec![], loc: Loc::NONE }];
    let kernel = b.done(body);
    let mut wave = Interpreter::new().prepare(&kernel, WaveSize::W32).unwrap().new_wave();
    let (mut memory, dispatch) = one_buffer(4);
    let launch = Launch { group: [0; 3], threads: [32, 1, 1], wave: 0, ordered_id: None };
    wave.start(&dispatch, &launch, &mut memory);
    for _ in 0..3 {
        let (port, services, budget) = (&mut memory, &mut Device::default(), &mut 1000);
        let stop = wave.run(&mut Env { port, lds: &mut [], services, budget, pause: false });
        assert_eq!(stop, Stop::Budget { loc: 0 });
        assert_eq!(*budget, 0);
    }
}

#[test]
fn the_edges_of_buffers_and_shared_memory() {
    // out[i] = in[i * 2 .. + 2] for a buffer of 50 words: reads beyond give 0,
    // one component at a time; stores beyond are dropped.
    for shared in [false, true] {
        for size in SIZES {
            for engine in engines() {
                let mut b = Builder::new([64, 1, 1]);
                let (source, low, high) = (b.buffer("in"), b.buffer("low"), b.buffer("high"));
                b.kernel.lds_bytes = 4 * 50;
                let mut body = Vec::new();
                let i = b.builtin(&mut body, Builtin::ThreadIndex);
                if shared {
                    let v = b.load(&mut body, Space::Buffer(source), i);
                    b.store(&mut body, Space::Lds, i, v);
                    body.push(inst(SYNC));
                }
                let space = if shared { Space::Lds } else { Space::Buffer(source) };
                let dst = vec![b.temp(), b.temp()];
                let addr = Addr { index: Some(i), scale: 8, offset: 4 };
                let order = Order::default();
                body.push(inst(Inst::Load { dst: dst.clone(), space, addr, order }));
                b.store(&mut body, Space::Buffer(low), i, dst[0]);
                b.store(&mut body, Space::Buffer(high), i, dst[1]);
                let kernel = b.done(body);
                let data: Vec<u32> = (0..50).map(|i| i + 1000).collect();
                let buffers = [data.clone(), vec![9; 40], vec![9; 64]];
                let got = run(&engine, &kernel, size, [1, 1, 1], &buffers);
                let want = |w: usize| data.get(w).copied().unwrap_or(0);
                assert_eq!(got[1].len(), 40);
                for (i, &got) in got[2].iter().enumerate() {
                    assert_eq!(got, want(2 * i + 2), "{i}, {shared}, {size:?}, {engine:?}");
                }
                for (i, &got) in got[1].iter().enumerate() {
                    assert_eq!(got, want(2 * i + 1), "{i}, {shared}, {size:?}, {engine:?}");
                }
            }
        }
    }
}

#[test]
fn atomics_on_shared_memory_and_buffers() {
    for shared in [false, true] {
        for size in SIZES {
            for engine in engines() {
                let mut b = Builder::new([64, 1, 1]);
                let (sums, old) = (b.buffer("sums"), b.buffer("old"));
                b.kernel.lds_bytes = 16;
                let mut body = Vec::new();
                let i = b.builtin(&mut body, Builtin::ThreadIndex);
                let [three, four] = [3, 4].map(|c| b.constant(c));
                let which = b.bin(&mut body, BinOp::And, i, three);
                let space = if shared { Space::Lds } else { Space::Buffer(sums) };
                let dst = b.temp();
                body.push(inst(Inst::Atomic {
                    op: AtomicOp::Add,
                    dst: Some(dst),
                    space,
                    addr: word(which),
                    value: Some(i),
                    compare: None,
                    order: Order::default(),
                }));
                b.store(&mut body, Space::Buffer(old), i, dst);
                if shared {
                    body.push(inst(SYNC));
                    let low = b.bin(&mut body, BinOp::ULt, i, four);
                    let mut then = Vec::new();
                    let v = b.load(&mut then, Space::Lds, i);
                    b.store(&mut then, Space::Buffer(sums), i, v);
                    body.push(Stmt::If { cond: low, then, els: vec![], loc: Loc::NONE });
                }
                let kernel = b.done(body);
                let got = run(&engine, &kernel, size, [1, 1, 1], &[vec![0; 4], vec![0; 64]]);
                let mut sums = [0; 4];
                for i in 0..64u32 {
                    assert_eq!(got[1][i as usize], sums[i as usize % 4], "{i}, {shared}, {size:?}");
                    sums[i as usize % 4] += i;
                }
                assert_eq!(got[0], sums, "{shared}, {size:?}, {engine:?}");
            }
        }
    }
}

#[test]
fn private_memory_is_each_lanes_own() {
    // scratch[i % 5] = i; out = scratch[(i + 1) % 5] + scratch[i % 5]
    for size in SIZES {
        for engine in engines() {
            let mut b = Builder::new([64, 1, 1]);
            let out = b.buffer("out");
            b.kernel.scratch_bytes = 20;
            let mut body = Vec::new();
            let i = b.builtin(&mut body, Builtin::ThreadIndex);
            let (five, one) = (b.constant(5), b.constant(1));
            let at = b.bin(&mut body, BinOp::UMod, i, five);
            b.store(&mut body, Space::Scratch, at, i);
            let n = b.bin(&mut body, BinOp::IAdd, i, one);
            let n = b.bin(&mut body, BinOp::UMod, n, five);
            let x = b.load(&mut body, Space::Scratch, n);
            let y = b.load(&mut body, Space::Scratch, at);
            let sum = b.bin(&mut body, BinOp::IAdd, x, y);
            b.store(&mut body, Space::Buffer(out), i, sum);
            let kernel = b.done(body);
            let got = run(&engine, &kernel, size, [2, 1, 1], &[vec![0; 64]]);
            assert!((0..64).all(|i| got[0][i as usize] == i), "{size:?}, {engine:?}");
        }
    }
}

#[test]
fn constants_come_by_memory_or_by_user_data() {
    let mut b = Builder::new([32, 1, 1]);
    let out = b.buffer("out");
    let constants = b.buffer("constants");
    let resource = &mut b.kernel.resources[1];
    resource.class = ResourceClass::Cbv;
    resource.kind = ResourceKind::ConstantBuffer;
    resource.read_only = true;
    let mut body = Vec::new();
    let i = b.builtin(&mut body, Builtin::ThreadIndex);
    let dst = vec![b.temp(), b.temp()];
    let addr = Addr { index: None, scale: 0, offset: 4 };
    let (space, order) = (Space::Buffer(constants), Order::default());
    body.push(inst(Inst::Load { dst: dst.clone(), space, addr, order }));
    // Each lane its own word, too; beyond the end 0.
    let own = b.load(&mut body, space, i);
    let sum = b.bin(&mut body, BinOp::IAdd, dst[0], dst[1]);
    let sum = b.bin(&mut body, BinOp::IAdd, sum, own);
    b.store(&mut body, Space::Buffer(out), i, sum);
    let kernel = b.done(body);
    for engine in engines() {
        let got = run(&engine, &kernel, WaveSize::W32, [1, 1, 1], &[vec![0; 32], vec![1, 20, 300]]);
        let own = |i: usize| [1, 20, 300].get(i).copied().unwrap_or(0);
        assert!((0..32).all(|i| got[0][i] == 320 + own(i)), "{:?}", got[0]);
        let got = by_user_data(&engine, &kernel);
        let own = |i: usize| [2, 3, 4].get(i).copied().unwrap_or(0);
        assert!((0..32).all(|i| got[i] == 7 + own(i)), "{got:?}");
    }
}

/// Runs one wave with the second resource bound to words 2..5 of user data that
/// counts up.
fn by_user_data(engine: &Interpreter, kernel: &Arc<Kernel>) -> Vec<u32> {
    let (mut memory, mut dispatch) = one_buffer(128);
    memory.0.extend(Descriptor::UserData { first: 2, count: 3 }.to_bytes());
    dispatch.user_data = std::array::from_fn(|i| i as u32);
    let mut wave = engine.prepare(kernel, WaveSize::W32).unwrap().new_wave();
    let launch = Launch { group: [0; 3], threads: [32, 1, 1], wave: 0, ordered_id: None };
    wave.start(&dispatch, &launch, &mut memory);
    let (port, services, budget) = (&mut memory, &mut Device::default(), &mut 100);
    assert_eq!(
        wave.run(&mut Env { port, lds: &mut [], services, budget, pause: false }),
        Stop::End
    );
    memory.0[..128].chunks(4).map(|b| u32::from_le_bytes(b.try_into().unwrap())).collect()
}

#[test]
fn a_partial_group_has_fewer_lanes() {
    // A group of 8 x 8 with 5 x 3 threads: out[y * 8 + x] = flattened id.
    let mut b = Builder::new([8, 8, 1]);
    let out = b.buffer("out");
    let mut body = Vec::new();
    let i = b.builtin(&mut body, Builtin::ThreadIndex);
    let x = b.builtin(&mut body, Builtin::ThreadIdX);
    let y = b.builtin(&mut body, Builtin::ThreadIdY);
    let eight = b.constant(8);
    let row = b.bin(&mut body, BinOp::IMul, y, eight);
    let at = b.bin(&mut body, BinOp::IAdd, row, x);
    b.store(&mut body, Space::Buffer(out), at, i);
    let kernel = b.done(body);
    let mut wave = Interpreter::new().prepare(&kernel, WaveSize::W32).unwrap().new_wave();
    let (mut memory, dispatch) = one_buffer(256);
    memory.0[..256].fill(0xFF);
    let launch = Launch { group: [0; 3], threads: [5, 3, 1], wave: 0, ordered_id: None };
    wave.start(&dispatch, &launch, &mut memory);
    let (port, services, budget) = (&mut memory, &mut Device::default(), &mut 100);
    assert_eq!(
        wave.run(&mut Env { port, lds: &mut [], services, budget, pause: false }),
        Stop::End
    );
    for at in 0..64u32 {
        let b = &memory.0[4 * at as usize..4 * at as usize + 4];
        let got = u32::from_le_bytes(b.try_into().unwrap());
        let exists = at % 8 < 5 && at / 8 < 3;
        assert_eq!(got, if exists { at } else { u32::MAX }, "{at}");
    }
    let launch = Launch { wave: 1, ..launch };
    wave.start(&dispatch, &launch, &mut memory);
    let (port, services, budget) = (&mut memory, &mut Device::default(), &mut 100);
    assert_eq!(
        wave.run(&mut Env { port, lds: &mut [], services, budget, pause: false }),
        Stop::End
    );
}

#[test]
fn the_data_share_and_the_clock() {
    let mut b = Builder::new([64, 1, 1]);
    let (out, times) = (b.buffer("out"), b.buffer("times"));
    let mut body = Vec::new();
    let i = b.builtin(&mut body, Builtin::ThreadIndex);
    let (eight, one) = (b.constant(8), b.constant(1));
    let dst = b.temp();
    let (op, value) = (AtomicOp::Add, Some(one));
    body.push(inst(Inst::Gds { op, dst: Some(dst), offset: eight, value, compare: None }));
    b.store(&mut body, Space::Buffer(out), i, dst);
    let clock = [b.temp(), b.temp()];
    body.push(inst(Inst::Clock { dst: clock }));
    b.store(&mut body, Space::Buffer(times), i, clock[0]);
    let kernel = b.done(body);
    let got =
        run(&Interpreter::new(), &kernel, WaveSize::W64, [1, 1, 1], &[vec![0; 64], vec![0; 64]]);
    assert!((0..64).all(|i| got[0][i as usize] == i));
    assert!(got[1].iter().all(|t| *t == 1));
}

#[test]
fn breakpoints_and_printed_lines_reach_the_device() {
    let mut b = Builder::new([64, 1, 1]);
    let mut body = Vec::new();
    let i = b.builtin(&mut body, Builtin::ThreadIndex);
    let two = b.constant(2);
    let few = b.bin(&mut body, BinOp::ULt, i, two);
    let wide = eval::temp(&mut b, Ty::B64);
    let high = eval::constant(&mut b, Ty::B64, 1 << 40);
    let mut then = vec![inst(Inst::Unary { op: UnOp::UConvert, dst: wide, a: i })];
    let sum = eval::temp(&mut b, Ty::B64);
    then.push(inst(Inst::Binary { op: BinOp::IAdd, dst: sum, a: wide, b: high }));
    b.kernel.formats.push(PrintFormat::parse("thread %u, %x").unwrap());
    b.kernel.locs.push(SourceLoc { file: 0, line: 3, column: 1 });
    b.kernel.files.push("a.hlsl".into());
    then.push(Stmt::Inst(Inst::DebugBreak, Loc(1)));
    then.push(Stmt::Inst(Inst::DebugPrint { format: 0, args: vec![i, sum] }, Loc(1)));
    body.push(Stmt::If { cond: few, then, els: vec![], loc: Loc::NONE });
    let kernel = b.done(body);
    for size in [WaveSize::W32, WaveSize::W64] {
        let mut device = Device::default();
        run_on(&Interpreter::new(), &kernel, size, [1, 1, 1], &[], &mut device);
        assert_eq!(device.breaks, [(LaneMask(0b11), 1)]);
        let line = |lane, text: &str| (lane, 1, text.to_owned());
        let want = [line(0, "thread 0, 10000000000"), line(1, "thread 1, 10000000001")];
        assert_eq!(device.printed, want);
    }
}

#[test]
fn what_no_shader_language_has_is_refused_by_name() {
    let mut b = Builder::new([32, 1, 1]);
    let mut body = Vec::new();
    let x = eval::constant(&mut b, Ty::B64, 5);
    let dst = eval::temp(&mut b, Ty::B64);
    body.push(inst(Inst::Unary { op: UnOp::FSin, dst, a: x }));
    let out = b.buffer("out");
    body.push(inst(Inst::Store {
        src: vec![dst],
        space: Space::Buffer(out),
        addr: Addr { index: None, scale: 0, offset: 0 },
        order: Order::default(),
    }));
    let kernel = b.done(body);
    let limit = Interpreter::new().prepare(&kernel, WaveSize::W64).err().unwrap();
    assert!(limit.what.contains("fsin on 64 bits"), "{}", limit.what);

    let mut b = Builder::new([32, 1, 1]);
    let out = b.buffer("out");
    let value = eval::constant(&mut b, Ty::B16, 5);
    let kernel = b.done(vec![inst(Inst::Atomic {
        op: AtomicOp::Add,
        dst: None,
        space: Space::Buffer(out),
        addr: Addr { index: None, scale: 0, offset: 0 },
        value: Some(value),
        compare: None,
        order: Order::default(),
    })]);
    let limit = Interpreter::new().prepare(&kernel, WaveSize::W64).err().unwrap();
    assert!(limit.what.contains("add on 16 bits"), "{}", limit.what);
}

#[test]
fn an_image_operation_on_a_buffer_is_refused() {
    let mut b = Builder::new([32, 1, 1]);
    let (image, out) = (b.buffer("picture"), b.buffer("out"));
    b.kernel.resources[0].kind = ResourceKind::Image {
        dim: ImageDim::D2,
        arrayed: false,
        sampled: SampledType::Float,
        format: None,
    };
    let mut body = Vec::new();
    let i = b.builtin(&mut body, Builtin::ThreadIndex);
    let dst = vec![b.temp(), b.temp(), b.temp(), b.temp()];
    body.push(inst(Inst::Image {
        op: ImageOp::Load { lod: Lod::Zero },
        dst: dst.clone(),
        image,
        sampler: None,
        coords: vec![i, i],
        offset: vec![],
        data: vec![],
        order: Order::default(),
    }));
    b.store(&mut body, Space::Buffer(out), i, dst[0]);
    let kernel = b.done(body);
    let mut wave = Interpreter::new().prepare(&kernel, WaveSize::W32).unwrap().new_wave();
    let (mut memory, dispatch) = one_buffer(4);
    memory.0.extend_from_within(4..);
    let launch = Launch { group: [0; 3], threads: [32, 1, 1], wave: 0, ordered_id: None };
    wave.start(&dispatch, &launch, &mut memory);
    assert!(wave.refused().is_none());
    let (port, services, budget) = (&mut memory, &mut Device::default(), &mut 100);
    assert_eq!(
        wave.run(&mut Env { port, lds: &mut [], services, budget, pause: false }),
        Stop::End
    );
    let limit = wave.refused().expect("a limit");
    assert!(limit.what.contains("picture"), "{}", limit.what);
    wave.start(&dispatch, &launch, &mut memory);
    assert!(wave.refused().is_none());
}

#[test]
fn votes_and_the_election_as_plain_functions() {
    use wavefence_base::LaneMask;
    use wavefence_wave::ops::cross;
    let holds: Vec<u32> = (0..64).map(|i| if i >= 8 { u32::MAX } else { 0 }).collect();
    let ask = |op, active: u64| {
        let mut out = vec![7; 64];
        cross::wave(op, LaneMask(active), &holds, &[], &mut out);
        out
    };
    assert_eq!(ask(WaveOp::All, 0xFF00)[8], u32::MAX);
    assert_eq!(ask(WaveOp::All, 0xFF80)[8], 0);
    assert_eq!(ask(WaveOp::Any, 0x0180)[8], u32::MAX);
    assert_eq!(ask(WaveOp::Any, 0x00FF)[0], 0);
    let elected = ask(WaveOp::Elect, 0b1010_0000);
    assert_eq!((elected[4], elected[5], elected[7]), (7, u32::MAX, 0));
}
