//! Random structured kernels: the interpreter against a plain walk of the tree,
//! one lane after the other. Finds what flattening, masks, uniform registers,
//! fusing and register places get wrong.

mod support;

use support::*;
use wavefence_base::WaveSize;
use wavefence_shader::ir::*;
use wavefence_wave::interp::Interpreter;
use wavefence_wave::ops::{compare, float, int};

const THREADS: u32 = 96;
const VARS: usize = 6;

/// A small generator of numbers.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u32) -> u32 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as u32) % sides
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.roll(from.len() as u32) as usize]
    }
}

/// A construct that can be left.
#[derive(Clone, Copy)]
struct Target {
    label: Label,
    continues: bool,
}

struct Maker {
    dice: Dice,
    b: Builder,
    vars: Vec<Reg>,
    input: ResourceRef,
    left: u32,
}

impl Maker {
    /// An operand: a known temp, a var or a constant.
    fn operand(&mut self, temps: &[Reg]) -> Reg {
        match self.dice.roll(5) {
            0 => {
                let value =
                    self.dice.pick(&[0, 1, 2, 3, 5, 31, 0x3F80_0000, 0x4048_0000, u32::MAX]);
                self.b.constant(value)
            }
            1 | 2 => self.dice.pick(temps),
            _ => self.dice.pick(&self.vars),
        }
    }

    fn value(&mut self, block: &mut Block, temps: &[Reg]) -> Reg {
        use BinOp as B;
        let (x, y, z) = (self.operand(temps), self.operand(temps), self.operand(temps));
        match self.dice.roll(10) {
            0 => self.b.un(block, UnOp::FNeg, x),
            1 => self.b.ter(block, TerOp::FFma, x, y, z),
            2 => {
                let c = self.condition(block, temps);
                self.b.ter(block, TerOp::Select, c, x, y)
            }
            3 => {
                // Within the input.
                let last = self.b.constant(127);
                let at = self.b.bin(block, B::And, x, last);
                self.b.load(block, Space::Buffer(self.input), at)
            }
            4 => {
                let p = self.b.bin(block, B::FMul, x, y);
                let op = self.dice.pick(&[B::FAdd, B::FSub]);
                if self.dice.roll(2) == 0 {
                    self.b.bin(block, op, p, z)
                } else {
                    self.b.bin(block, op, z, p)
                }
            }
            _ => {
                let op = self.dice.pick(&[
                    B::IAdd,
                    B::IAdd,
                    B::ISub,
                    B::IMul,
                    B::Xor,
                    B::And,
                    B::Or,
                    B::Shl,
                    B::UMin,
                    B::FAdd,
                    B::FMul,
                ]);
                self.b.bin(block, op, x, y)
            }
        }
    }

    fn condition(&mut self, block: &mut Block, temps: &[Reg]) -> Reg {
        let (x, y) = (self.operand(temps), self.operand(temps));
        let op = self.dice.pick(&[BinOp::ULt, BinOp::IEq, BinOp::SGt, BinOp::FOLt, BinOp::INe]);
        let a = self.b.bin(block, op, x, y);
        let dst = self.b.flag();
        match self.dice.roll(6) {
            0 => block.push(inst(Inst::Unary { op: UnOp::Not, dst, a })),
            1 => {
                let b = self.condition(block, temps);
                let op = self.dice.pick(&[BinOp::And, BinOp::Or, BinOp::Xor]);
                block.push(inst(Inst::Binary { op, dst, a, b }));
            }
            _ => return a,
        }
        dst
    }

    /// A way out, if there is one.
    fn leave(&mut self, targets: &[Target]) -> Stmt {
        if targets.is_empty() || self.dice.roll(12) == 0 {
            return Stmt::Return;
        }
        let target = self.dice.pick(targets);
        if target.continues && self.dice.roll(2) == 0 {
            Stmt::Continue(target.label)
        } else {
            Stmt::Break(target.label)
        }
    }

    fn block(&mut self, temps: &[Reg], targets: &[Target], depth: u32) -> Block {
        let mut block = Vec::new();
        let mut temps = temps.to_vec();
        for _ in 0..1 + self.dice.roll(5) {
            if self.left == 0 {
                break;
            }
            self.left -= 1;
            self.statement(&mut block, &mut temps, targets, depth);
        }
        block
    }

    fn statement(
        &mut self,
        block: &mut Block,
        temps: &mut Vec<Reg>,
        targets: &[Target],
        depth: u32,
    ) {
        let kind = if depth == 0 { self.dice.roll(4) } else { self.dice.roll(10) };
        match kind {
            0 => {
                let t = self.value(block, temps);
                temps.push(t);
            }
            1..=3 => {
                let t = self.value(block, temps);
                let var = self.dice.pick(&self.vars);
                self.b.set(block, var, t);
            }
            4..=6 => {
                let cond = self.condition(block, temps);
                let mut then = self.block(temps, targets, depth - 1);
                let mut els = if self.dice.roll(2) == 0 {
                    vec![]
                } else {
                    self.block(temps, targets, depth - 1)
                };
                if self.dice.roll(4) == 0 {
                    let way = self.leave(targets);
                    if self.dice.roll(2) == 0 { then.push(way) } else { els.push(way) }
                }
                block.push(Stmt::If { cond, then, els, loc: Loc::NONE });
            }
            7 => {
                let label = self.b.label();
                let inner = [targets, &[Target { label, continues: false }]].concat();
                let body = self.block(temps, &inner, depth - 1);
                block.push(Stmt::Scope { label, body });
            }
            8 => self.repeat(block, temps, targets, depth),
            _ => self.switch(block, temps, targets, depth),
        }
    }

    /// A loop of a few turns: as many for all lanes, or not.
    fn repeat(&mut self, block: &mut Block, temps: &[Reg], targets: &[Target], depth: u32) {
        let label = self.b.label();
        let [zero, one, three] = [0, 1, 3].map(|c| self.b.constant(c));
        let counter = self.b.var();
        let mut turns = self.b.constant(3);
        if self.dice.roll(2) == 0 {
            let x = self.operand(temps);
            turns = self.b.bin(block, BinOp::And, x, three);
        }
        self.b.set(block, counter, zero);
        let mut body = Vec::new();
        let more = self.b.bin(&mut body, BinOp::ULt, counter, turns);
        let els = vec![Stmt::Break(label)];
        body.push(Stmt::If { cond: more, then: vec![], els, loc: Loc::NONE });
        let inner = [targets, &[Target { label, continues: true }]].concat();
        body.extend(self.block(temps, &inner, depth - 1));
        let mut continuing = Vec::new();
        let next = self.b.bin(&mut continuing, BinOp::IAdd, counter, one);
        self.b.set(&mut continuing, counter, next);
        block.push(Stmt::Loop { label, body, continuing, loc: Loc::NONE });
    }

    fn switch(&mut self, block: &mut Block, temps: &[Reg], targets: &[Target], depth: u32) {
        let label = self.b.label();
        let three = self.b.constant(3);
        let x = self.operand(temps);
        let selector = self.b.bin(block, BinOp::And, x, three);
        let inner = [targets, &[Target { label, continues: false }]].concat();
        let default = self.dice.roll(4) as u64;
        let cases = (0..3u64)
            .map(|v| {
                let mut body = self.block(temps, &inner, depth - 1);
                if self.dice.roll(2) == 0 {
                    body.push(Stmt::Break(label));
                }
                Case { values: vec![v], default: v == default, body }
            })
            .collect();
        block.push(Stmt::Switch { label, selector, cases, loc: Loc::NONE });
    }
}

/// Takes away what stands after a jump.
fn prune(block: &mut Block) {
    let jump = |s: &Stmt| matches!(s, Stmt::Break(_) | Stmt::Continue(_) | Stmt::Return);
    if let Some(at) = block.iter().position(jump) {
        block.truncate(at + 1);
    }
    for stmt in block {
        match stmt {
            Stmt::If { then, els, .. } => {
                prune(then);
                prune(els);
            }
            Stmt::Loop { body, continuing, .. } => {
                prune(body);
                prune(continuing);
            }
            Stmt::Scope { body, .. } => prune(body),
            Stmt::Switch { cases, .. } => cases.iter_mut().for_each(|c| prune(&mut c.body)),
            Stmt::Inst(..) | Stmt::Break(_) | Stmt::Continue(_) | Stmt::Return => {}
        }
    }
}

/// How a lane goes on.
#[derive(Clone, Copy, PartialEq)]
enum Way {
    On,
    Break(Label),
    Continue(Label),
    Return,
}

/// One lane's walk of the tree.
struct Lane<'k> {
    kernel: &'k Kernel,
    regs: Vec<u32>,
    input: &'k [u32],
    thread: u32,
    stored: Vec<(u32, u32)>,
}

impl Lane<'_> {
    fn get(&self, r: Reg) -> u32 {
        self.regs[r.index()]
    }

    fn block(&mut self, block: &Block) -> Way {
        for stmt in block {
            let way = self.stmt(stmt);
            if way != Way::On {
                return way;
            }
        }
        Way::On
    }

    fn stmt(&mut self, stmt: &Stmt) -> Way {
        match stmt {
            Stmt::Inst(inst, _) => {
                self.inst(inst);
                Way::On
            }
            Stmt::If { cond, then, els, .. } => {
                if self.get(*cond) != 0 {
                    self.block(then)
                } else {
                    self.block(els)
                }
            }
            Stmt::Loop { label, body, continuing, .. } => loop {
                match self.block(body) {
                    Way::On => {}
                    Way::Continue(l) if l == *label => {}
                    Way::Break(l) if l == *label => return Way::On,
                    way => return way,
                }
                match self.block(continuing) {
                    Way::On => {}
                    Way::Break(l) if l == *label => return Way::On,
                    way => return way,
                }
            },
            Stmt::Scope { label, body } => match self.block(body) {
                Way::Break(l) if l == *label => Way::On,
                way => way,
            },
            Stmt::Switch { label, selector, cases, .. } => {
                let value = u64::from(self.get(*selector));
                let hit = cases.iter().position(|c| c.values.contains(&value));
                let Some(first) = hit.or(cases.iter().position(|c| c.default)) else {
                    return Way::On;
                };
                for case in &cases[first..] {
                    match self.block(&case.body) {
                        Way::On => {}
                        Way::Break(l) if l == *label => return Way::On,
                        way => return way,
                    }
                }
                Way::On
            }
            Stmt::Break(label) => Way::Break(*label),
            Stmt::Continue(label) => Way::Continue(*label),
            Stmt::Return => Way::Return,
        }
    }

    fn inst(&mut self, inst: &Inst) {
        let (dst, value) = match inst {
            Inst::Unary { op: UnOp::Not, dst, a } => (*dst, !self.get(*a)),
            Inst::Unary { op: UnOp::FNeg, dst, a } => (*dst, float::fneg(self.get(*a))),
            Inst::Binary { op, dst, a, b } => (*dst, binary(*op, self.get(*a), self.get(*b))),
            Inst::Ternary { op: TerOp::FFma, dst, a, b, c } => {
                (*dst, float::ffma(self.get(*a), self.get(*b), self.get(*c)))
            }
            Inst::Ternary { op: TerOp::Select, dst, a, b, c } => {
                (*dst, int::select(self.get(*a), self.get(*b), self.get(*c)))
            }
            Inst::Set { var, value } => (*var, self.get(*value)),
            Inst::Builtin { dst, which: Builtin::ThreadIndex } => (*dst, self.thread),
            Inst::Builtin { dst, which: Builtin::GroupIdX } => (*dst, 0),
            Inst::Load { dst, addr, .. } => {
                let index = addr.index.map_or(0, |r| self.get(r));
                (dst[0], self.input[index as usize])
            }
            Inst::Store { src, addr, .. } => {
                let index = addr.index.map_or(0, |r| self.get(r));
                self.stored.push((index, self.get(src[0])));
                return;
            }
            other => panic!("not made here: {other:?}"),
        };
        self.regs[dst.index()] = value;
    }
}

fn binary(op: BinOp, a: u32, b: u32) -> u32 {
    match op {
        BinOp::IAdd => int::iadd(a, b),
        BinOp::ISub => int::isub(a, b),
        BinOp::IMul => int::imul(a, b),
        BinOp::Xor => a ^ b,
        BinOp::And => a & b,
        BinOp::Or => a | b,
        BinOp::Shl => int::shl(a, b),
        BinOp::UMin => a.min(b),
        BinOp::FAdd => float::fadd(a, b),
        BinOp::FSub => float::fsub(a, b),
        BinOp::FMul => float::fmul(a, b),
        BinOp::ULt => compare::ult(a, b),
        BinOp::IEq => compare::ieq(a, b),
        BinOp::INe => compare::ine(a, b),
        BinOp::SGt => compare::sgt(a, b),
        BinOp::FOLt => compare::folt(a, b),
        other => panic!("not made here: {other:?}"),
    }
}

/// A kernel that stores its vars at the end: var `k` of thread `i` at
/// `k * THREADS + i`.
fn make(seed: u64) -> Kernel {
    let mut b = Builder::new([THREADS, 1, 1]);
    let (input, out) = (b.buffer("in"), b.buffer("out"));
    let vars: Vec<Reg> = (0..VARS).map(|_| b.var()).collect();
    let mut body = Vec::new();
    let i = b.builtin(&mut body, Builtin::ThreadIndex);
    let group = b.builtin(&mut body, Builtin::GroupIdX);
    let mut maker = Maker { dice: Dice(seed), b, vars: vars.clone(), input, left: 60 };
    // Some vars are the same for all lanes at first, some are not.
    maker.b.set(&mut body, vars[0], i);
    maker.b.set(&mut body, vars[1], group);
    let load = maker.b.load(&mut body, Space::Buffer(input), i);
    maker.b.set(&mut body, vars[2], load);
    for _ in 0..4 {
        body.extend(maker.block(&[i, group, load], &[], 4));
    }
    let mut b = maker.b;
    for (k, &var) in vars.iter().enumerate() {
        let base = b.constant(k as u32 * THREADS);
        let at = b.bin(&mut body, BinOp::IAdd, i, base);
        b.store(&mut body, Space::Buffer(out), at, var);
    }
    prune(&mut body);
    let kernel = b.done(body);
    std::sync::Arc::unwrap_or_clone(kernel)
}

#[test]
fn random_kernels_do_what_their_lanes_do() {
    let mut dice = Dice(99);
    let input: Vec<u32> = (0..128)
        .map(|k| if k % 2 == 0 { dice.roll(8) } else { 0x3F80_0000 + (dice.roll(1 << 22) << 1) })
        .collect();
    for seed in 0..600u64 {
        let kernel = std::sync::Arc::new(make(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15)));
        let mut want = vec![0xDEAD; VARS * THREADS as usize];
        for thread in 0..THREADS {
            let mut regs = vec![0; kernel.regs.len()];
            for &(reg, value) in &kernel.constants {
                regs[reg.index()] = value as u32;
            }
            let mut lane = Lane { kernel: &kernel, regs, input: &input, thread, stored: vec![] };
            let body = &lane.kernel.body;
            lane.block(body);
            for (at, value) in lane.stored {
                want[at as usize] = value;
            }
        }
        let blank = vec![0xDEAD; want.len()];
        for size in [WaveSize::W32, WaveSize::W64] {
            for engine in [Interpreter::new(), Interpreter::portable()] {
                let got = run(&engine, &kernel, size, [1, 1, 1], &[input.clone(), blank.clone()]);
                let bad = (0..want.len()).find(|&k| got[1][k] != want[k]);
                if let Some(k) = bad {
                    let (var, thread) = (k / THREADS as usize, k % THREADS as usize);
                    let (got, want) = (got[1][k], want[k]);
                    panic!(
                        "seed {seed}, {size:?}, {engine:?}: var {var} of thread {thread} is {got:#x}, not {want:#x}\n{kernel}"
                    );
                }
            }
        }
    }
}
