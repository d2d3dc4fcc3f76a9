//! A slow, plain evaluator of kernels for tests: one wave, any number of lanes
//! up to 64, buffers of words. It does what the IR allows an engine to do at its
//! worst: lanes outside the exec mask get garbage in temps.

use std::collections::HashMap;
use wavefence_shader::ir::*;

pub struct Wave<'k> {
    kernel: &'k Kernel,
    lanes: usize,
    regs: Vec<Vec<u32>>,
    /// Words of each resource, by name.
    pub buffers: HashMap<String, Vec<u32>>,
    lds: Vec<u32>,
    scratch: Vec<Vec<u32>>,
    garbage: u32,
    /// Lanes that broke to a label or continue at one.
    broke: HashMap<Label, u64>,
    continued: HashMap<Label, u64>,
    fuel: u64,
}

impl<'k> Wave<'k> {
    pub fn new(kernel: &'k Kernel, lanes: usize) -> Self {
        let mut regs = vec![vec![0; lanes]; kernel.regs.len()];
        for &(reg, value) in &kernel.constants {
            regs[reg.index()].fill(value as u32);
        }
        Self {
            kernel,
            lanes,
            regs,
            buffers: HashMap::new(),
            lds: vec![0; kernel.lds_bytes.div_ceil(4) as usize],
            scratch: vec![vec![0; kernel.scratch_bytes.div_ceil(4) as usize]; lanes],
            garbage: 0xDEAD_0001,
            broke: HashMap::new(),
            continued: HashMap::new(),
            fuel: 2_000_000,
        }
    }

    pub fn run(&mut self) {
        let all = if self.lanes == 64 { u64::MAX } else { (1 << self.lanes) - 1 };
        self.block(&self.kernel.body, all);
    }

    fn active(&self, mask: u64) -> Vec<usize> {
        (0..self.lanes).filter(|&l| mask >> l & 1 == 1).collect()
    }

    fn truth(&self, reg: Reg, mask: u64) -> u64 {
        let lanes = self.active(mask);
        lanes.into_iter().filter(|&l| self.regs[reg.index()][l] != 0).fold(0, |m, l| m | 1 << l)
    }

    /// Runs a block; gives the lanes that reach its end.
    fn block(&mut self, block: &Block, mut mask: u64) -> u64 {
        for stmt in block {
            if mask == 0 {
                return 0;
            }
            self.fuel = self.fuel.checked_sub(1).expect("the kernel ends");
            mask = self.stmt(stmt, mask);
        }
        mask
    }

    fn stmt(&mut self, stmt: &Stmt, mask: u64) -> u64 {
        match stmt {
            Stmt::Inst(inst, _) => {
                self.inst(inst, mask);
                mask
            }
            Stmt::If { cond, then, els, .. } => {
                let yes = self.truth(*cond, mask);
                let a = if yes != 0 { self.block(then, yes) } else { 0 };
                let no = mask & !yes;
                a | if no != 0 { self.block(els, no) } else { 0 }
            }
            Stmt::Loop { label, body, continuing, .. } => {
                let mut inside = mask;
                while inside != 0 {
                    inside = self.block(body, inside);
                    inside |= self.continued.remove(label).unwrap_or(0);
                    inside = self.block(continuing, inside);
                }
                self.broke.remove(label).unwrap_or(0)
            }
            Stmt::Scope { label, body } => {
                let end = self.block(body, mask);
                end | self.broke.remove(label).unwrap_or(0)
            }
            Stmt::Switch { label, selector, cases, .. } => {
                let value = |l: usize| u64::from(self.regs[selector.index()][l]);
                let mut entries = vec![0u64; cases.len()];
                let mut missed = 0;
                for l in self.active(mask) {
                    let hit = cases.iter().position(|c| c.values.contains(&value(l)));
                    match hit.or_else(|| cases.iter().position(|c| c.default)) {
                        Some(i) => entries[i] |= 1 << l,
                        None => missed |= 1 << l,
                    }
                }
                let mut inside = 0;
                for (case, entry) in cases.iter().zip(entries) {
                    inside = self.block(&case.body, inside | entry);
                }
                inside | missed | self.broke.remove(label).unwrap_or(0)
            }
            Stmt::Break(label) => {
                *self.broke.entry(*label).or_default() |= mask;
                0
            }
            Stmt::Continue(label) => {
                *self.continued.entry(*label).or_default() |= mask;
                0
            }
            Stmt::Return => 0,
        }
    }

    fn write(&mut self, dst: Reg, mask: u64, value: impl Fn(&Self, usize) -> u32) {
        for l in 0..self.lanes {
            let v = if mask >> l & 1 == 1 {
                value(self, l)
            } else {
                self.garbage = self.garbage.wrapping_mul(0x9E37_79B1).wrapping_add(1);
                if self.kernel.reg(dst).ty == Ty::Bool { self.garbage >> 31 } else { self.garbage }
            };
            self.regs[dst.index()][l] = v;
        }
    }

    fn at(&self, addr: Addr, l: usize) -> usize {
        let index = addr.index.map_or(0, |r| self.regs[r.index()][l]);
        (index.wrapping_mul(addr.scale).wrapping_add(addr.offset) / 4) as usize
    }

    fn memory(&mut self, space: Space, l: usize) -> &mut Vec<u32> {
        match space {
            Space::Buffer(r) => {
                let name = self.kernel.resources[r.resource.index()].name.clone();
                self.buffers.entry(name).or_default()
            }
            Space::Lds => &mut self.lds,
            Space::Scratch => &mut self.scratch[l],
            Space::Global(_) => unreachable!("no test here takes addresses"),
        }
    }

    fn inst(&mut self, inst: &Inst, mask: u64) {
        let g = |w: &Self, r: Reg, l: usize| w.regs[r.index()][l];
        match inst {
            Inst::Unary { op, dst, a } => {
                let truth = self.kernel.reg(*dst).ty == Ty::Bool;
                self.write(*dst, mask, |w, l| unary(*op, g(w, *a, l), truth));
            }
            Inst::Binary { op, dst, a, b } => {
                self.write(*dst, mask, |w, l| binary(*op, g(w, *a, l), g(w, *b, l)));
            }
            Inst::Ternary { op: TerOp::Select, dst, a, b, c } => self
                .write(*dst, mask, |w, l| if g(w, *a, l) != 0 { g(w, *b, l) } else { g(w, *c, l) }),
            Inst::Set { var, value } => {
                for l in self.active(mask) {
                    self.regs[var.index()][l] = self.regs[value.index()][l];
                }
            }
            Inst::Builtin { dst, which } => self.write(*dst, mask, |w, l| match which {
                Builtin::ThreadIndex | Builtin::ThreadIdX | Builtin::GlobalIdX => l as u32,
                Builtin::Lane => l as u32,
                Builtin::LaneCount => w.lanes as u32,
                _ => 0,
            }),
            Inst::Load { dst, space, addr, .. } => {
                for (c, &dst) in dst.iter().enumerate() {
                    let mut values = vec![0; self.lanes];
                    for l in self.active(mask) {
                        let at = self.at(*addr, l) + c;
                        values[l] = self.memory(*space, l).get(at).copied().unwrap_or(0);
                    }
                    self.write(dst, mask, |_, l| values[l]);
                }
            }
            Inst::Store { src, space, addr, .. } => {
                for (c, &src) in src.iter().enumerate() {
                    for l in self.active(mask) {
                        let (at, value) = (self.at(*addr, l) + c, self.regs[src.index()][l]);
                        if let Some(word) = self.memory(*space, l).get_mut(at) {
                            *word = value;
                        }
                    }
                }
            }
            other => panic!("the test evaluator has no {other:?}"),
        }
    }
}

fn unary(op: UnOp, a: u32, truth: bool) -> u32 {
    match op {
        UnOp::Copy => a,
        UnOp::Not if truth => 1 - a,
        UnOp::Not => !a,
        UnOp::INeg => a.wrapping_neg(),
        other => panic!("the test evaluator has no {other:?}"),
    }
}

fn binary(op: BinOp, a: u32, b: u32) -> u32 {
    let (x, y) = (a as i32, b as i32);
    match op {
        BinOp::IAdd => a.wrapping_add(b),
        BinOp::ISub => a.wrapping_sub(b),
        BinOp::IMul => a.wrapping_mul(b),
        BinOp::UDiv => a.checked_div(b).unwrap_or(u32::MAX),
        BinOp::UMod => a.checked_rem(b).unwrap_or(u32::MAX),
        BinOp::And => a & b,
        BinOp::Or => a | b,
        BinOp::Xor => a ^ b,
        BinOp::Shl => a << (b & 31),
        BinOp::ShrL => a >> (b & 31),
        BinOp::UMin => a.min(b),
        BinOp::UMax => a.max(b),
        BinOp::IEq => u32::from(a == b),
        BinOp::INe => u32::from(a != b),
        BinOp::ULt => u32::from(a < b),
        BinOp::ULe => u32::from(a <= b),
        BinOp::UGt => u32::from(a > b),
        BinOp::UGe => u32::from(a >= b),
        BinOp::SLt => u32::from(x < y),
        BinOp::SLe => u32::from(x <= y),
        BinOp::SGt => u32::from(x > y),
        BinOp::SGe => u32::from(x >= y),
        other => panic!("the test evaluator has no {other:?}"),
    }
}
