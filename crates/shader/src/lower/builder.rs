//! Emission: the block being written, fresh registers, launch values.

use super::R;
use super::flush::Flush;
use super::fold;
use super::pool::{Pool, Pure, Simple};
use crate::ShaderError;
use crate::ir::{BinOp, Block, Builtin, Inst, Label, Loc, Reg, RegKind, Stmt, TerOp, Ty, UnOp};
use std::collections::{HashMap, HashSet};

/// The most instructions a kernel may have, all calls inlined.
const MAX_INSTS: usize = 1_000_000;
/// How deep control flow may nest, all calls inlined.
const MAX_NESTING: usize = 200;

/// Writes blocks.
#[derive(Default)]
pub(super) struct Builder {
    pub pool: Pool,
    /// Runs before everything else: launch values and initial values.
    pub prologue: Block,
    /// Blocks being written, innermost last.
    open: Vec<Block>,
    builtins: HashMap<Builtin, Reg>,
    /// Floats whose subnormals are 0.
    pub flush: Flush,
    /// Floats that are surely not subnormal.
    pub clean: HashSet<Reg>,
    pub loc: Loc,
    labels: u32,
    count: usize,
}

impl Builder {
    /// Opens a block inside the current one.
    pub fn begin(&mut self) -> R<()> {
        if self.open.len() >= MAX_NESTING {
            return Err(ShaderError::limit(format!(
                "control flow nests deeper than {MAX_NESTING} levels, calls inlined"
            )));
        }
        self.open.push(Vec::new());
        Ok(())
    }

    /// Closes the innermost block.
    pub fn end(&mut self) -> Block {
        self.open.pop().unwrap_or_default()
    }

    /// Adds a statement to the innermost block.
    pub fn push(&mut self, stmt: Stmt) {
        self.count += 1;
        if let Some(block) = self.open.last_mut() {
            block.push(stmt);
        }
    }

    /// Adds a closed block's statements.
    pub fn splice(&mut self, block: Block) {
        if let Some(open) = self.open.last_mut() {
            open.extend(block);
        }
    }

    /// Adds an instruction.
    pub fn inst(&mut self, inst: Inst) {
        let loc = self.loc;
        self.push(Stmt::Inst(inst, loc));
    }

    /// Refuses kernels beyond all measure.
    pub fn check_size(&self) -> R<()> {
        if self.count > MAX_INSTS {
            return Err(ShaderError::limit(format!(
                "more than {MAX_INSTS} instructions, calls inlined"
            )));
        }
        Ok(())
    }

    /// Counts work that emits nothing (calls of empty functions, say).
    pub fn step(&mut self) -> R<()> {
        self.count += 1;
        self.check_size()
    }

    /// A fresh label.
    pub fn label(&mut self) -> Label {
        self.labels += 1;
        Label(self.labels - 1)
    }

    pub fn temp(&mut self, ty: Ty) -> Reg {
        self.pool.fresh(ty, RegKind::Temp)
    }

    pub fn temps(&mut self, ty: Ty, n: usize) -> Vec<Reg> {
        (0..n).map(|_| self.temp(ty)).collect()
    }

    pub fn var(&mut self, ty: Ty) -> Reg {
        self.pool.fresh(ty, RegKind::Var)
    }

    pub fn word(&mut self, value: u32) -> Reg {
        self.pool.word(value)
    }

    pub fn float(&mut self, value: f32) -> Reg {
        self.pool.word(value.to_bits())
    }

    /// The float constant of type `ty` nearest to `value`.
    pub fn float_of(&mut self, ty: Ty, value: f64) -> Reg {
        self.pool.constant(ty, fold::float_bits(ty, value))
    }

    pub fn truth(&mut self, value: bool) -> Reg {
        self.pool.constant(Ty::Bool, u64::from(value))
    }

    /// A launch value, read once at the start of the kernel.
    pub fn builtin(&mut self, which: Builtin) -> Reg {
        if let Some(&reg) = self.builtins.get(&which) {
            return reg;
        }
        let dst = self.temp(Ty::B32);
        self.prologue.push(Stmt::Inst(Inst::Builtin { dst, which }, Loc::NONE));
        self.builtins.insert(which, dst);
        dst
    }

    fn pure(&mut self, pure: Pure, to: Ty) -> Reg {
        let (pure, flush) = self.without_subnormals(pure);
        let value = self.computed(pure, to);
        if flush { self.flushed(value) } else { value }
    }

    fn computed(&mut self, pure: Pure, to: Ty) -> Reg {
        let pure = match self.pool.simplify(pure, to) {
            Simple::Reg(reg) => return reg,
            Simple::Op(pure) => pure,
        };
        let dst = self.temp(to);
        self.pool.set_def(dst, pure);
        self.inst(instruction(pure, dst));
        dst
    }

    /// `op a`, same type as `a` unless the op says otherwise.
    pub fn un(&mut self, op: UnOp, a: Reg) -> Reg {
        let to = self.pool.result(Pure::Un(op, a));
        self.pure(Pure::Un(op, a), to)
    }

    /// `op a` to another type.
    pub fn convert(&mut self, op: UnOp, a: Reg, to: Ty) -> Reg {
        self.pure(Pure::Un(op, a), to)
    }

    pub fn bin(&mut self, op: BinOp, a: Reg, b: Reg) -> Reg {
        let to = self.pool.result(Pure::Bin(op, a, b));
        self.pure(Pure::Bin(op, a, b), to)
    }

    pub fn ter(&mut self, op: TerOp, a: Reg, b: Reg, c: Reg) -> Reg {
        let to = self.pool.result(Pure::Ter(op, a, b, c));
        self.pure(Pure::Ter(op, a, b, c), to)
    }

    pub fn select(&mut self, cond: Reg, a: Reg, b: Reg) -> Reg {
        self.ter(TerOp::Select, cond, a, b)
    }

    pub fn set(&mut self, var: Reg, value: Reg) {
        self.inst(Inst::Set { var, value });
    }

    /// The present value of a var, safe from later writes.
    pub fn snapshot(&mut self, var: Reg) -> Reg {
        if self.pool.kind(var) != RegKind::Var {
            return var;
        }
        let dst = self.temp(self.pool.ty(var));
        self.inst(Inst::Unary { op: UnOp::Copy, dst, a: var });
        dst
    }

    /// An integer at another width, zero-extended or cut off.
    pub fn resize(&mut self, a: Reg, ty: Ty) -> Reg {
        if self.pool.ty(a) == ty { a } else { self.convert(UnOp::UConvert, a, ty) }
    }

    /// One value of type `ty` whose bits are those of `parts`, the first lowest.
    pub fn join(&mut self, parts: &[Reg], ty: Ty) -> Reg {
        let mut whole = None;
        let mut at = 0;
        for &part in parts {
            let width = fold::bits(self.pool.ty(part));
            let wide = self.resize(part, ty);
            let count = self.pool.constant(ty, at);
            let moved = self.bin(BinOp::Shl, wide, count);
            whole = Some(match whole {
                None => moved,
                Some(whole) => self.bin(BinOp::Or, whole, moved),
            });
            at += u64::from(width);
        }
        whole.unwrap_or_else(|| self.pool.constant(ty, 0))
    }

    /// The bits of `whole` as values of type `ty`, the lowest first.
    pub fn split(&mut self, whole: Reg, ty: Ty) -> Vec<Reg> {
        let from = self.pool.ty(whole);
        let width = fold::bits(ty).max(1);
        let mut parts = Vec::new();
        for i in 0..fold::bits(from) / width {
            let count = self.pool.constant(from, u64::from(i * width));
            let moved = self.bin(BinOp::ShrL, whole, count);
            parts.push(self.resize(moved, ty));
        }
        parts
    }

    /// Truth value to 1 or 0.
    pub fn word_of(&mut self, a: Reg) -> Reg {
        let (one, zero) = (self.word(1), self.word(0));
        self.select(a, one, zero)
    }

    /// Not 0.
    pub fn nonzero(&mut self, a: Reg) -> Reg {
        let zero = self.word(0);
        self.bin(BinOp::INe, a, zero)
    }
}

/// The instruction with its result.
pub(super) const fn instruction(pure: Pure, dst: Reg) -> Inst {
    match pure {
        Pure::Un(op, a) => Inst::Unary { op, dst, a },
        Pure::Bin(op, a, b) => Inst::Binary { op, dst, a, b },
        Pure::Ter(op, a, b, c) => Inst::Ternary { op, dst, a, b, c },
    }
}
