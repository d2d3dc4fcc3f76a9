//! One walk in program order that knows what registers hold: folds, finds
//! values computed before, forwards vars, folds addresses.

use super::super::builder::instruction;
use super::super::pool::{Pool, Pure, Simple};
use super::{jumps_to, leaves, sets};
use crate::ir::{
    Addr, BinOp, Block, Inst, Label, Reg, RegKind, ResourceRef, Space, Stmt, Ty, UnOp,
};
use std::collections::{BTreeSet, HashMap};

/// A computation that gives the same result wherever it stands.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Key {
    /// With the type of the result: a conversion has several.
    Pure(Pure, Ty),
    /// Constant buffers do not change while a kernel runs.
    Load(ResourceRef, Addr, Vec<Ty>),
    Size(ResourceRef),
}

struct Values<'p> {
    pool: &'p mut Pool,
    alias: Vec<Reg>,
    table: HashMap<Key, Vec<Reg>>,
    table_log: Vec<Key>,
    known: HashMap<Reg, Reg>,
    known_log: Vec<(Reg, Option<Reg>)>,
    constant_buffers: &'p [bool],
}

/// A place in both logs.
#[derive(Clone, Copy)]
struct Mark(usize, usize);

pub(super) fn run(pool: &mut Pool, body: Block, constant_buffers: &[bool]) -> Block {
    let alias = (0..pool.decls.len() as u32).map(Reg).collect();
    let mut values = Values {
        pool,
        alias,
        table: HashMap::new(),
        table_log: Vec::new(),
        known: HashMap::new(),
        known_log: Vec::new(),
        constant_buffers,
    };
    values.block(body)
}

impl Values<'_> {
    fn mark(&self) -> Mark {
        Mark(self.table_log.len(), self.known_log.len())
    }

    fn rollback(&mut self, mark: Mark) {
        for key in self.table_log.drain(mark.0..) {
            self.table.remove(&key);
        }
        while self.known_log.len() > mark.1 {
            match self.known_log.pop() {
                Some((var, Some(old))) => _ = self.known.insert(var, old),
                Some((var, None)) => _ = self.known.remove(&var),
                None => {}
            }
        }
    }

    fn know(&mut self, var: Reg, value: Option<Reg>) {
        let old = match value {
            Some(value) => self.known.insert(var, value),
            None => self.known.remove(&var),
        };
        if old != value {
            self.known_log.push((var, old));
        }
    }

    fn forget(&mut self, vars: &BTreeSet<Reg>) {
        vars.iter().for_each(|&v| self.know(v, None));
    }

    /// What a register stands for now. Registers made meanwhile are themselves.
    fn now(&self, reg: Reg) -> Reg {
        let reg = self.alias.get(reg.index()).copied().unwrap_or(reg);
        self.known.get(&reg).copied().unwrap_or(reg)
    }

    fn set_alias(&mut self, reg: Reg, to: Reg) {
        while self.alias.len() <= reg.index() {
            self.alias.push(Reg(self.alias.len() as u32));
        }
        self.alias[reg.index()] = to;
    }

    fn block(&mut self, block: Block) -> Block {
        let mut out = Vec::with_capacity(block.len());
        for stmt in block {
            self.stmt(stmt, &mut out);
            if leaves(&out) {
                break;
            }
        }
        out
    }

    fn stmt(&mut self, stmt: Stmt, out: &mut Block) {
        match stmt {
            Stmt::Inst(inst, loc) => {
                if let Some(inst) = self.inst(inst) {
                    out.push(Stmt::Inst(inst, loc));
                }
            }
            Stmt::If { cond, then, els, loc } => {
                let cond = self.now(cond);
                match (self.pool.value(cond), self.pool.def(cond)) {
                    (Some(known), _) => {
                        let taken = self.block(if known != 0 { then } else { els });
                        out.extend(taken);
                    }
                    (None, Some(Pure::Un(UnOp::Not, x))) => {
                        self.branch(self.now(x), els, then, loc, out);
                    }
                    (None, _) => self.branch(cond, then, els, loc, out),
                }
            }
            Stmt::Loop { label, mut body, continuing, loc } => {
                strip(&mut body, label, true);
                let mut written = BTreeSet::new();
                sets(&body, &mut written);
                sets(&continuing, &mut written);
                self.forget(&written);
                let mark = self.mark();
                let joins = jumps_to(&body, label, true);
                let body = self.block(body);
                if joins || leaves(&body) {
                    self.rollback(mark);
                }
                let continuing = self.block(continuing);
                self.rollback(mark);
                out.push(Stmt::Loop { label, body, continuing, loc });
            }
            Stmt::Scope { label, mut body } => {
                strip(&mut body, label, false);
                if !jumps_to(&body, label, false) {
                    let body = self.block(body);
                    out.extend(body);
                    return;
                }
                let mut written = BTreeSet::new();
                sets(&body, &mut written);
                let mark = self.mark();
                let body = self.block(body);
                self.rollback(mark);
                self.forget(&written);
                out.push(Stmt::Scope { label, body });
            }
            Stmt::Switch { label, selector, mut cases, loc } => {
                let selector = self.now(selector);
                let mut written = BTreeSet::new();
                cases.iter().for_each(|c| sets(&c.body, &mut written));
                self.forget(&written);
                for case in &mut cases {
                    let mark = self.mark();
                    case.body = self.block(std::mem::take(&mut case.body));
                    self.rollback(mark);
                }
                out.push(Stmt::Switch { label, selector, cases, loc });
            }
            Stmt::Break(_) | Stmt::Continue(_) | Stmt::Return => out.push(stmt),
        }
    }

    fn branch(&mut self, cond: Reg, then: Block, els: Block, loc: crate::ir::Loc, out: &mut Block) {
        let mut written = BTreeSet::new();
        let mark = self.mark();
        // What the side that goes on knows still holds after both, so it comes last.
        let (then, els) = if leaves(&els) && !leaves(&then) {
            let els = self.block(els);
            self.rollback(mark);
            (self.block(then), els)
        } else {
            let then = self.block(then);
            self.rollback(mark);
            let els = self.block(els);
            if !leaves(&then) {
                sets(&then, &mut written);
                sets(&els, &mut written);
                self.rollback(mark);
                self.forget(&written);
            }
            (then, els)
        };
        if !(then.is_empty() && els.is_empty()) {
            out.push(Stmt::If { cond, then, els, loc });
        }
    }

    /// Rewrites an instruction; `None` if it is not needed.
    fn inst(&mut self, mut inst: Inst) -> Option<Inst> {
        // A copy is about the var itself.
        if let Inst::Unary { op: UnOp::Copy, dst, a } = inst {
            let value = self.now(a);
            if self.pool.kind(value) != RegKind::Var {
                self.set_alias(dst, value);
                return None;
            }
            self.know(value, Some(dst));
            return Some(Inst::Unary { op: UnOp::Copy, dst, a: value });
        }
        inst.registers_mut(&mut |r| *r = self.now(*r), &mut |_| {});
        match inst {
            Inst::Unary { op, dst, a } => self.pure(Pure::Un(op, a), dst),
            Inst::Binary { op, dst, a, b } => self.pure(Pure::Bin(op, a, b), dst),
            Inst::Ternary { op, dst, a, b, c } => self.pure(Pure::Ter(op, a, b, c), dst),
            Inst::Set { var, value } => {
                if self.known.get(&var) == Some(&value) || var == value {
                    return None;
                }
                let steady = self.pool.kind(value) != RegKind::Var;
                self.know(var, steady.then_some(value));
                Some(inst)
            }
            Inst::Load { dst, mut space, mut addr, order } => {
                self.fold(&mut space, &mut addr);
                if let Space::Buffer(at) = space
                    && !order.volatile
                    && self.constant_buffers.get(at.resource.index()) == Some(&true)
                    && self.seen(Key::Load(at, addr, self.types(&dst)), &dst)
                {
                    return None;
                }
                Some(Inst::Load { dst, space, addr, order })
            }
            Inst::Store { src, mut space, mut addr, order } => {
                self.fold(&mut space, &mut addr);
                Some(Inst::Store { src, space, addr, order })
            }
            Inst::Atomic { op, dst, mut space, mut addr, value, compare, order } => {
                self.fold(&mut space, &mut addr);
                Some(Inst::Atomic { op, dst, space, addr, value, compare, order })
            }
            Inst::BufferSize { dst, buffer } => {
                if self.seen(Key::Size(buffer), &[dst]) {
                    return None;
                }
                Some(Inst::BufferSize { dst, buffer })
            }
            Inst::Builtin { .. }
            | Inst::Reduce { .. }
            | Inst::ReducePartition { .. }
            | Inst::Wave { .. }
            | Inst::Ballot { .. }
            | Inst::Match { .. }
            | Inst::Image { .. }
            | Inst::Barrier(_)
            | Inst::OrderedAdd { .. }
            | Inst::Gds { .. }
            | Inst::Clock { .. }
            | Inst::DebugBreak
            | Inst::DebugPrint { .. } => Some(inst),
        }
    }

    fn types(&self, regs: &[Reg]) -> Vec<Ty> {
        regs.iter().map(|&r| self.pool.ty(r)).collect()
    }

    /// True if the results exist already; else notes where they are.
    fn seen(&mut self, key: Key, dst: &[Reg]) -> bool {
        if let Some(old) = self.table.get(&key) {
            let old = old.clone();
            for (&dst, &old) in dst.iter().zip(&old) {
                self.set_alias(dst, old);
            }
            return true;
        }
        self.table.insert(key.clone(), dst.to_vec());
        self.table_log.push(key);
        false
    }

    fn pure(&mut self, pure: Pure, dst: Reg) -> Option<Inst> {
        let to = self.pool.ty(dst);
        let pure = match self.pool.simplify(pure, to) {
            Simple::Reg(reg) => {
                self.set_alias(dst, reg);
                return None;
            }
            Simple::Op(pure) => pure,
        };
        if self.seen(Key::Pure(pure, to), &[dst]) {
            return None;
        }
        self.pool.set_def(dst, pure);
        Some(instruction(pure, dst))
    }

    /// Moves constant parts of an index into scale and offset, those of a GPU
    /// address into the offset.
    fn fold(&mut self, space: &mut Space, addr: &mut Addr) {
        if let Space::Global(base) = space {
            if let Some(Pure::Bin(BinOp::IAdd, x, y)) = self.pool.def(*base)
                && let Some(constant) = self.pool.value(y)
                && let Some(sum) = (constant as i64).checked_add(i64::from(addr.offset as i32))
                && let Ok(offset) = i32::try_from(sum)
            {
                *base = x;
                addr.offset = offset as u32;
            }
            return;
        }
        for _ in 0..16 {
            let Some(index) = addr.index else { return };
            if let Some(value) = self.pool.value(index) {
                let bytes = (value as u32).wrapping_mul(addr.scale);
                *addr = Addr { index: None, scale: 0, offset: addr.offset.wrapping_add(bytes) };
                return;
            }
            let Some(Pure::Bin(op, x, y)) = self.pool.def(index) else { return };
            let Some(c) = self.pool.value(y) else { return };
            let c = c as u32;
            match op {
                BinOp::IAdd => {
                    addr.offset = addr.offset.wrapping_add(c.wrapping_mul(addr.scale));
                }
                BinOp::Shl => addr.scale = addr.scale.wrapping_shl(c & 31),
                BinOp::IMul => addr.scale = addr.scale.wrapping_mul(c),
                BinOp::And => {
                    // High bits that the scale shifts out anyway.
                    let counted = u32::MAX.checked_shr(addr.scale.trailing_zeros()).unwrap_or(0);
                    if c & counted != counted {
                        return;
                    }
                }
                BinOp::ShrL => {
                    // (x >> n) * scale is x * (scale >> n) if nothing is lost.
                    let n = c & 31;
                    if addr.scale.trailing_zeros() < n || self.pool.low_zeros(x, 6) < n {
                        return;
                    }
                    addr.scale >>= n;
                }
                _ => return,
            }
            addr.index = Some(x);
            if addr.scale == 0 {
                *addr = Addr { index: None, scale: 0, offset: addr.offset };
            }
        }
    }
}

/// Removes jumps that lead where the block's end leads anyway.
fn strip(block: &mut Block, label: Label, continues: bool) {
    let jump = if continues { Stmt::Continue(label) } else { Stmt::Break(label) };
    if block.last() == Some(&jump) {
        block.pop();
    }
    if let Some(Stmt::If { then, els, .. }) = block.last_mut() {
        strip(then, label, continues);
        strip(els, label, continues);
    }
}
