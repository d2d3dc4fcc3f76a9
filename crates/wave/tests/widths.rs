//! Values of 8, 16 and 64 bits through everything but lane ops: vars under the
//! exec mask, uniform and varying, switches, memory, atomics, addresses, movement
//! and reductions between lanes, 64-bit texels.

mod support;

use std::sync::Arc;
use support::eval::{self, bytes, constant, element, pack, temp, unpack};
use support::*;
use wavefence_base::WaveSize;
use wavefence_shader::ir::*;
use wavefence_wave::interp::Interpreter;

const NARROW_AND_WIDE: [Ty; 3] = [Ty::B8, Ty::B16, Ty::B64];
const SIZES: [WaveSize; 2] = [WaveSize::W32, WaveSize::W64];

fn engines() -> [Interpreter; 2] {
    [Interpreter::new(), Interpreter::portable()]
}

fn mask(ty: Ty) -> u64 {
    u64::MAX >> (64 - 8 * bytes(ty))
}

/// Different in every byte, and in both words.
fn noise(i: u64) -> u64 {
    (i + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ (i << 60)
}

fn values(ty: Ty, n: u64) -> Vec<u64> {
    (0..n).map(|i| noise(i) & mask(ty)).collect()
}

/// Runs one group of 64 threads in every way; all must agree.
fn outputs(kernel: &Arc<Kernel>, buffers: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let mut first: Option<Vec<Vec<u8>>> = None;
    for size in SIZES {
        for engine in engines() {
            let got = eval::run(&engine, kernel, size, 1, buffers);
            let first = first.get_or_insert_with(|| got.clone());
            assert!(*first == got, "{size:?} on {engine:?} differs");
        }
    }
    first.unwrap()
}

fn bin(b: &mut Builder, block: &mut Block, op: BinOp, x: Reg, y: Reg) -> Reg {
    let ty = if op >= BinOp::IEq { Ty::Bool } else { b.kernel.reg(x).ty };
    let dst = temp(b, ty);
    block.push(inst(Inst::Binary { op, dst, a: x, b: y }));
    dst
}

fn var(b: &mut Builder, ty: Ty) -> Reg {
    b.kernel.regs.push(RegDecl { ty, kind: RegKind::Var });
    Reg(b.kernel.regs.len() as u32 - 1)
}

/// A loop that lanes leave at different times, around a switch: sums and
/// products in vars, of which one starts as 0.
fn looping(ty: Ty, uniform: bool) -> Arc<Kernel> {
    let mut b = Builder::new([64, 1, 1]);
    let (input, out) = (b.buffer("in"), b.buffer("out"));
    let mut body = Vec::new();
    let i = b.builtin(&mut body, Builtin::ThreadIndex);
    let from = if uniform { b.constant(5) } else { i };
    let x = eval::load(&mut b, &mut body, input, from, ty);
    let (one, three) = (constant(&mut b, ty, 1), constant(&mut b, ty, 3));
    let [big, bigger] = [mask(ty) - 1, mask(ty) >> 1].map(|v| constant(&mut b, ty, v));
    let (sum, turn) = (var(&mut b, ty), var(&mut b, ty));
    let label = b.label();
    let mut inner = Vec::new();
    let limit = bin(&mut b, &mut inner, BinOp::And, x, three);
    let done = bin(&mut b, &mut inner, BinOp::UGt, turn, limit);
    inner.push(Stmt::If {
        cond: done,
        then: vec![Stmt::Break(label)],
        els: vec![],
        loc: Loc::NONE,
    });
    let product = bin(&mut b, &mut inner, BinOp::IMul, sum, bigger);
    let next = bin(&mut b, &mut inner, BinOp::IAdd, product, x);
    let odd = bin(&mut b, &mut inner, BinOp::And, next, one);
    let is_odd = bin(&mut b, &mut inner, BinOp::IEq, odd, one);
    let either = temp(&mut b, ty);
    inner.push(inst(Inst::Ternary { op: TerOp::Select, dst: either, a: is_odd, b: next, c: x }));
    b.set(&mut inner, sum, either);
    let shifted = bin(&mut b, &mut inner, BinOp::IAdd, turn, big);
    let label2 = b.label();
    let mut cases = Vec::new();
    for (k, add) in [(0, big), (2, bigger)] {
        let mut case = Vec::new();
        let more = bin(&mut b, &mut case, BinOp::IAdd, sum, add);
        b.set(&mut case, sum, more);
        if k == 0 {
            case.push(Stmt::Break(label2));
        }
        // `turn + big` at that turn: in 64 bits the high word tells, too.
        let value = (k + mask(ty) - 1) & mask(ty);
        let value = if k == 0 { value } else { value & mask(ty) };
        cases.push(Case { values: vec![value], default: false, body: case });
    }
    inner.push(Stmt::Switch { label: label2, selector: shifted, cases, loc: Loc::NONE });
    let mut continuing = Vec::new();
    let step = bin(&mut b, &mut continuing, BinOp::IAdd, turn, one);
    b.set(&mut continuing, turn, step);
    body.push(Stmt::Loop { label, body: inner, continuing, loc: Loc::NONE });
    eval::store(&mut b, &mut body, out, i, sum);
    b.done(body)
}

fn looped(ty: Ty, x: u64) -> u64 {
    let m = mask(ty);
    let (big, bigger) = (m - 1, m >> 1);
    let mut sum = 0u64;
    for turn in 0..=x & 3 {
        let next = sum.wrapping_mul(bigger).wrapping_add(x) & m;
        sum = if next & 1 == 1 { next } else { x };
        match turn {
            0 => sum = sum.wrapping_add(big) & m,
            2 => sum = sum.wrapping_add(bigger) & m,
            _ => {}
        }
    }
    sum
}

#[test]
fn vars_keep_what_lanes_that_left_hold() {
    for ty in NARROW_AND_WIDE {
        let input = values(ty, 64);
        for uniform in [false, true] {
            let kernel = looping(ty, uniform);
            let got = outputs(&kernel, &[pack(ty, &input), vec![0; 64 * bytes(ty)]]);
            let want: Vec<u64> =
                (0..64).map(|i| looped(ty, input[if uniform { 5 } else { i }])).collect();
            assert_eq!(unpack(ty, &got[1]), want, "{ty:?}, uniform: {uniform}");
        }
    }
}

#[test]
fn a_switch_looks_at_all_64_bits() {
    for uniform in [false, true] {
        let mut b = Builder::new([64, 1, 1]);
        let (input, out) = (b.buffer("in"), b.buffer("out"));
        let mut body = Vec::new();
        let i = b.builtin(&mut body, Builtin::ThreadIndex);
        let from = if uniform { b.constant(2) } else { i };
        let x = eval::load(&mut b, &mut body, input, from, Ty::B64);
        let result = b.var();
        let label = b.label();
        let case = |b: &mut Builder, value: u64, default, number| {
            let number = b.constant(number);
            let mut body = Vec::new();
            b.set(&mut body, result, number);
            body.push(Stmt::Break(label));
            Case { values: vec![value], default, body }
        };
        let cases = vec![
            case(&mut b, 7, false, 1),
            case(&mut b, 1 << 32 | 7, false, 2),
            case(&mut b, 9 << 32, true, 3),
        ];
        body.push(Stmt::Switch { label, selector: x, cases, loc: Loc::NONE });
        eval::store(&mut b, &mut body, out, i, result);
        let kernel = b.done(body);
        let kinds = [7u64, 9 << 32, 1 << 32 | 7, 2 << 32 | 7];
        let input: Vec<u64> = (0..64).map(|i| kinds[i % 4]).collect();
        let got = outputs(&kernel, &[pack(Ty::B64, &input), vec![0; 256]]);
        let number = [1, 3, 2, 3];
        let want: Vec<u64> = (0..64).map(|i| number[if uniform { 2 } else { i % 4 }]).collect();
        assert_eq!(unpack(Ty::B32, &got[1]), want);
    }
}

/// `n` components at byte `offset + i * scale` go from one memory to another and
/// back to a buffer.
fn moved(ty: Ty, n: usize, space: Space, at: Addr, in_bytes: u32) -> Arc<Kernel> {
    let mut b = Builder::new([64, 1, 1]);
    b.kernel.lds_bytes = in_bytes;
    b.kernel.scratch_bytes = in_bytes;
    let (input, out) = (b.buffer("in"), b.buffer("out"));
    let mut body = Vec::new();
    let i = b.builtin(&mut body, Builtin::ThreadIndex);
    let at = Addr { index: at.index.map(|_| i), ..at };
    let order = Order::default();
    let buffer = Space::Buffer(input);
    let load = |b: &mut Builder, body: &mut Block, space, addr| {
        let dst: Vec<Reg> = (0..n).map(|_| temp(b, ty)).collect();
        body.push(inst(Inst::Load { dst: dst.clone(), space, addr, order }));
        dst
    };
    let whole = Addr { scale: (bytes(ty) * n) as u32, ..element(i, ty) };
    let mut src = load(&mut b, &mut body, buffer, whole);
    if !matches!(space, Space::Buffer(_)) {
        body.push(inst(Inst::Store { src, space, addr: at, order }));
        src = load(&mut b, &mut body, space, at);
    }
    body.push(inst(Inst::Store { src, space: Space::Buffer(out), addr: whole, order }));
    b.done(body)
}

#[test]
fn memory_of_every_kind_keeps_every_width() {
    for ty in NARROW_AND_WIDE {
        for n in 1..=4 {
            let size = bytes(ty) * n;
            let input: Vec<u8> = (0..64 * size).map(|i| (i * 7 + 3) as u8).collect();
            let at = Addr { index: Some(Reg(0)), scale: size as u32, offset: 0 };
            for space in [
                Space::Buffer(ResourceRef { resource: ResourceId(0), index: None }),
                Space::Lds,
                Space::Scratch,
            ] {
                let kernel = moved(ty, n, space, at, 64 * size as u32);
                let got = outputs(&kernel, &[input.clone(), vec![0xAA; 64 * size]]);
                assert_eq!(got[1], input, "{ty:?} x {n} through {space:?}");
            }
        }
    }
}

#[test]
fn a_component_beyond_the_end_is_not_there() {
    for ty in NARROW_AND_WIDE {
        let size = bytes(ty);
        // Room for 20 components; threads hold 2 each, 1 apart: 18 and 19 see less.
        for space in [Space::Lds, Space::Scratch] {
            let at = Addr { index: Some(Reg(0)), scale: size as u32, offset: 0 };
            let kernel = moved(ty, 2, space, at, 20 * size as u32);
            let input = values(ty, 128);
            for engine in engines() {
                let buffers = [pack(ty, &input), vec![0xAA; 128 * size]];
                let got = eval::run(&engine, &kernel, WaveSize::W64, 1, &buffers);
                let got = unpack(ty, &got[1]);
                for (t, pair) in got.chunks(2).enumerate() {
                    let there = |c: usize| t + c < 20;
                    // In shared memory the next thread wrote over the second one.
                    let second = if space == Space::Lds && t + 1 < 20 {
                        input[2 * (t + 1)]
                    } else {
                        input[2 * t + 1]
                    };
                    // Stores go component by component or lane by lane: the last
                    // word on a shared place is the higher lane's.
                    let want = [
                        if there(0) { input[2 * t] } else { 0 },
                        if there(1) { second } else { 0 },
                    ];
                    assert_eq!(pair, want, "{ty:?}, thread {t} in {space:?}");
                }
            }
        }
        // Buffers: the store to `out` is cut by its own size.
        let all = Space::Buffer(ResourceRef { resource: ResourceId(0), index: None });
        let at = Addr { index: Some(Reg(0)), scale: size as u32, offset: 0 };
        let kernel = moved(ty, 2, all, at, 0);
        let input = values(ty, 50);
        let short = 77 * size + size / 2;
        let got = outputs(&kernel, &[pack(ty, &input), vec![0x55; short]]);
        let mut want = pack(ty, &input);
        want.resize(77 * size, 0);
        want.resize(short, 0x55);
        assert_eq!(got[1], want, "{ty:?}");
    }
}

const ATOMICS: [AtomicOp; 11] = [
    AtomicOp::Add,
    AtomicOp::Sub,
    AtomicOp::And,
    AtomicOp::Or,
    AtomicOp::Xor,
    AtomicOp::UMin,
    AtomicOp::UMax,
    AtomicOp::SMin,
    AtomicOp::SMax,
    AtomicOp::Exchange,
    AtomicOp::CompareExchange,
];

fn change(op: AtomicOp, old: u64, value: u64, compare: u64) -> u64 {
    let (s, v) = (old as i64, value as i64);
    match op {
        AtomicOp::Add => old.wrapping_add(value),
        AtomicOp::Sub => old.wrapping_sub(value),
        AtomicOp::And => old & value,
        AtomicOp::Or => old | value,
        AtomicOp::Xor => old ^ value,
        AtomicOp::UMin => old.min(value),
        AtomicOp::UMax => old.max(value),
        AtomicOp::SMin => s.min(v) as u64,
        AtomicOp::SMax => s.max(v) as u64,
        AtomicOp::Exchange => value,
        AtomicOp::CompareExchange if old == compare => value,
        AtomicOp::CompareExchange | AtomicOp::Load | AtomicOp::Store => old,
    }
}

#[test]
fn atomics_on_64_bits_are_in_lane_order() {
    for op in ATOMICS {
        for shared in [false, true] {
            let mut b = Builder::new([64, 1, 1]);
            b.kernel.lds_bytes = 64;
            let (input, cell, out) = (b.buffer("in"), b.buffer("cell"), b.buffer("out"));
            let mut body = Vec::new();
            let i = b.builtin(&mut body, Builtin::ThreadIndex);
            let value = eval::load(&mut b, &mut body, input, i, Ty::B64);
            let compare = constant(&mut b, Ty::B64, noise(0));
            let dst = temp(&mut b, Ty::B64);
            let space = if shared { Space::Lds } else { Space::Buffer(cell) };
            body.push(inst(Inst::Atomic {
                op,
                dst: Some(dst),
                space,
                addr: Addr { index: None, scale: 0, offset: 8 },
                value: Some(value),
                compare: (op == AtomicOp::CompareExchange).then_some(compare),
                order: Order::default(),
            }));
            eval::store(&mut b, &mut body, out, i, dst);
            let kernel = b.done(body);
            let input = values(Ty::B64, 64);
            let start = if shared { 0 } else { noise(0) };
            let buffers = [pack(Ty::B64, &input), pack(Ty::B64, &[1, start, 2]), vec![0; 64 * 8]];
            // One wave, so that shared memory starts as 0 once.
            for engine in engines() {
                let got = eval::run(&engine, &kernel, WaveSize::W64, 1, &buffers);
                let mut now = start;
                let mut want = Vec::new();
                for &v in &input {
                    want.push(now);
                    now = change(op, now, v, noise(0));
                }
                assert_eq!(unpack(Ty::B64, &got[2]), want, "{op:?}, shared: {shared}");
                if !shared {
                    assert_eq!(unpack(Ty::B64, &got[1]), [1, now, 2], "{op:?}");
                }
            }
        }
    }
}

#[test]
fn accesses_by_address_reach_memory() {
    let mut b = Builder::new([64, 1, 1]);
    let (addresses, target) = (b.buffer("addresses"), b.buffer("target"));
    let mut body = Vec::new();
    let i = b.builtin(&mut body, Builtin::ThreadIndex);
    let base = eval::load(&mut b, &mut body, addresses, i, Ty::B64);
    let order = Order::default();
    let at = |offset: i32| Addr { index: None, scale: 0, offset: offset as u32 };
    let space = Space::Global(base);
    let (x, y) = (temp(&mut b, Ty::B16), temp(&mut b, Ty::B64));
    body.push(inst(Inst::Load { dst: vec![x], space, addr: at(-6), order }));
    let wide = temp(&mut b, Ty::B64);
    body.push(inst(Inst::Unary { op: UnOp::UConvert, dst: wide, a: x }));
    body.push(inst(Inst::Atomic {
        op: AtomicOp::Add,
        dst: Some(y),
        space,
        addr: at(0),
        value: Some(wide),
        compare: None,
        order,
    }));
    let low = temp(&mut b, Ty::B32);
    body.push(inst(Inst::Unary { op: UnOp::UConvert, dst: low, a: y }));
    body.push(inst(Inst::Store { src: vec![low], space, addr: at(-4), order }));
    let kernel = b.done(body);
    let _ = target;
    // The first allocation of a run lies at the same address every time; the
    // second follows it. Both are found by what the run itself is given.
    for size in SIZES {
        for engine in engines() {
            let target: Vec<u64> = values(Ty::B64, 128);
            let got = eval::run_with(&engine, &kernel, size, 1, |places| {
                let base = places[1].0;
                let list: Vec<u64> = (0..64).map(|i| base + 16 * i + 8).collect();
                vec![pack(Ty::B64, &list), pack(Ty::B64, &target)]
            });
            let got = unpack(Ty::B64, &got[1]);
            for t in 0..64 {
                let (head, cell) = (target[2 * t], target[2 * t + 1]);
                let x = head >> 16 & 0xFFFF;
                let stored = (head & 0xFFFF_FFFF) | (cell & 0xFFFF_FFFF) << 32;
                assert_eq!(got[2 * t], stored, "thread {t}");
                assert_eq!(got[2 * t + 1], cell.wrapping_add(x), "thread {t}");
            }
        }
    }
}

/// What lane `l` gets from a reduction over `members` (in order).
fn reduced(op: ReduceOp, ty: Ty, scan: Scan, l: usize, members: &[usize], a: &[u64]) -> u64 {
    let monoid = wavefence_wave::ops::sized::reduce::monoid(op, ty).unwrap();
    let upto: Vec<u64> = members
        .iter()
        .filter(|&&m| match scan {
            Scan::Reduce => true,
            Scan::Inclusive => m <= l,
            Scan::Exclusive => m < l,
        })
        .map(|&m| a[m])
        .collect();
    let Some((first, rest)) = upto.split_first() else { return monoid.1 };
    rest.iter().fold(*first, |t, &v| (monoid.0)(t, v))
}

#[test]
fn reductions_and_scans_of_every_width() {
    for ty in NARROW_AND_WIDE {
        for &op in ReduceOp::ALL {
            if op >= ReduceOp::FAdd && ty == Ty::B8 {
                continue;
            }
            for (scan, cluster) in [
                (Scan::Reduce, 0),
                (Scan::Inclusive, 0),
                (Scan::Exclusive, 0),
                (Scan::Reduce, 8),
                (Scan::Exclusive, 16),
            ] {
                let mut b = Builder::new([64, 1, 1]);
                let (input, out) = (b.buffer("in"), b.buffer("out"));
                let mut body = Vec::new();
                let i = b.builtin(&mut body, Builtin::ThreadIndex);
                let a = eval::load(&mut b, &mut body, input, i, ty);
                let (two, zero) = (b.constant(2), b.constant(0));
                let third = b.bin(&mut body, BinOp::UMod, i, two);
                let cond = b.bin(&mut body, BinOp::IEq, third, zero);
                let dst = temp(&mut b, ty);
                let mut then = vec![inst(Inst::Reduce { op, scan, dst, a, cluster })];
                eval::store(&mut b, &mut then, out, i, dst);
                body.push(Stmt::If { cond, then, els: vec![], loc: Loc::NONE });
                let kernel = b.done(body);
                let input: Vec<u64> = if op >= ReduceOp::FAdd {
                    // Whole numbers and halves, some negative.
                    (0..64).map(|i| float(ty, f64::from(i % 7) / 2.0 - 1.0)).collect()
                } else {
                    values(ty, 64)
                };
                for size in SIZES {
                    for engine in engines() {
                        let buffers = [pack(ty, &input), vec![0; 64 * bytes(ty)]];
                        let got = eval::run(&engine, &kernel, size, 1, &buffers);
                        let got = unpack(ty, &got[1]);
                        let lanes = size.lanes() as usize;
                        let width = if cluster == 0 { lanes } else { cluster as usize };
                        for l in (0..64).step_by(2) {
                            let first = l / width * width;
                            let members: Vec<usize> = (first..first + width).step_by(2).collect();
                            let want = reduced(op, ty, scan, l, &members, &input);
                            assert_eq!(got[l], want, "{op:?} {scan:?} {cluster} of {ty:?}, {l}");
                        }
                    }
                }
            }
        }
    }
}

/// A float of a width; exact for small halves of whole numbers.
fn float(ty: Ty, x: f64) -> u64 {
    use wavefence_wave::ops::sized::convert::double_to_half;
    match ty {
        Ty::B16 => double_to_half(x.to_bits()).into(),
        Ty::B64 => x.to_bits(),
        Ty::Bool | Ty::B8 | Ty::B32 => unreachable!("not among the floats here"),
    }
}

#[test]
fn values_of_every_type_move_between_lanes() {
    for ty in [Ty::Bool, Ty::B8, Ty::B16, Ty::B64] {
        for (op, b_operand) in [
            (WaveOp::BroadcastFirst, None),
            (WaveOp::ReadLane, Some(0)),
            (WaveOp::ReadLane, None),
            (WaveOp::ShuffleXor, None),
            (WaveOp::QuadSwapDiagonal, None),
            (WaveOp::QuadRead, Some(2)),
        ] {
            let mut b = Builder::new([64, 1, 1]);
            let (input, out) = (b.buffer("in"), b.buffer("out"));
            let mut body = Vec::new();
            let i = b.builtin(&mut body, Builtin::ThreadIndex);
            let a = eval::load(&mut b, &mut body, input, i, ty);
            let three = b.constant(3);
            let by = b.bin(&mut body, BinOp::And, i, three);
            let fixed = b_operand.map(|k| b.constant(k));
            let takes = !matches!(op, WaveOp::BroadcastFirst | WaveOp::QuadSwapDiagonal);
            let dst = temp(&mut b, ty);
            let second = takes.then(|| fixed.unwrap_or(by));
            body.push(inst(Inst::Wave { op, dst, a: Some(a), b: second }));
            eval::store(&mut b, &mut body, out, i, dst);
            let kernel = b.done(body);
            let of = if ty == Ty::Bool { Ty::B32 } else { ty };
            let input: Vec<u64> = (0..64)
                .map(|i| if ty == Ty::Bool { noise(i) >> 7 & 1 } else { noise(i) & mask(ty) })
                .collect();
            for size in SIZES {
                for engine in engines() {
                    let buffers = [pack(of, &input), vec![0; 64 * bytes(of)]];
                    let got = eval::run(&engine, &kernel, size, 1, &buffers);
                    let got = unpack(of, &got[1]);
                    for (l, &value) in got.iter().enumerate().take(64) {
                        let wave = l / size.lanes() as usize * size.lanes() as usize;
                        let k = b_operand.map_or(l & 3, |k| k as usize);
                        let from = match op {
                            WaveOp::BroadcastFirst => wave,
                            WaveOp::ReadLane => wave + k,
                            WaveOp::ShuffleXor => l ^ k,
                            WaveOp::QuadSwapDiagonal => l ^ 3,
                            _ => (l & !3) + k,
                        };
                        assert_eq!(value, input[from], "{op:?} of {ty:?}, {l}");
                    }
                }
            }
        }
    }
}

#[test]
fn lanes_compare_all_of_a_value() {
    let mut b = Builder::new([64, 1, 1]);
    let (input, out) = (b.buffer("in"), b.buffer("out"));
    let mut body = Vec::new();
    let i = b.builtin(&mut body, Builtin::ThreadIndex);
    let a = eval::load(&mut b, &mut body, input, i, Ty::B64);
    let dst: [Reg; 4] = std::array::from_fn(|_| b.temp());
    body.push(inst(Inst::Match { dst, a: vec![a] }));
    let equal = b.flag();
    body.push(inst(Inst::Wave { op: WaveOp::AllEqual, dst: equal, a: Some(a), b: None }));
    let low = temp(&mut b, Ty::B32);
    body.push(inst(Inst::Unary { op: UnOp::UConvert, dst: low, a }));
    let alike = b.flag();
    body.push(inst(Inst::Wave { op: WaveOp::AllEqual, dst: alike, a: Some(low), b: None }));
    let [one, two, zero] = [1, 2, 0].map(|v| b.constant(v));
    let x = b.ter(&mut body, TerOp::Select, equal, one, zero);
    let y = b.ter(&mut body, TerOp::Select, alike, two, zero);
    let votes = b.bin(&mut body, BinOp::Or, x, y);
    let order = Order::default();
    let addr = Addr { index: Some(i), scale: 8, offset: 0 };
    let src = vec![dst[0], votes];
    body.push(inst(Inst::Store { src, space: Space::Buffer(out), addr, order }));
    let kernel = b.done(body);
    // Low words all alike, high words in two kinds.
    let input: Vec<u64> = (0..64).map(|i| (i & 1) << 32 | 5).collect();
    let got = outputs(&kernel, &[pack(Ty::B64, &input), vec![0; 64 * 8]]);
    let want: Vec<u64> =
        (0..64).map(|i| 2 << 32 | if i & 1 == 1 { 0xAAAA_AAAA } else { 0x5555_5555 }).collect();
    assert_eq!(unpack(Ty::B64, &got[1]), want);
}

#[test]
fn floats_of_every_width_compare_as_floats() {
    for ty in [Ty::B16, Ty::B64] {
        for (values, want) in [([0.0, -0.0], 1), ([f64::NAN, f64::NAN], 0), ([1.5, 1.5], 1)] {
            let mut b = Builder::new([64, 1, 1]);
            let (input, out) = (b.buffer("in"), b.buffer("out"));
            let mut body = Vec::new();
            let i = b.builtin(&mut body, Builtin::ThreadIndex);
            let a = eval::load(&mut b, &mut body, input, i, ty);
            let dst = b.flag();
            body.push(inst(Inst::Wave { op: WaveOp::AllEqualF, dst, a: Some(a), b: None }));
            eval::store(&mut b, &mut body, out, i, dst);
            let kernel = b.done(body);
            let input: Vec<u64> = (0..64).map(|i| float(ty, values[i % 2])).collect();
            let got = outputs(&kernel, &[pack(ty, &input), vec![0; 256]]);
            assert_eq!(unpack(Ty::B32, &got[1]), [want; 64], "{values:?} of {ty:?}");
        }
    }
}
