//! Liveness of vars, as one lane sees the tree: which are read before they are
//! set at the start of the kernel and at the head of each loop.

use std::collections::BTreeMap;
use wavefence_shader::ir::{Block, Inst, Kernel, Label, Reg, RegKind, Stmt};

/// A set of registers.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Bits(Vec<u64>);

impl Bits {
    /// Adds a register.
    fn set(&mut self, reg: Reg) {
        let word = reg.index() / 64;
        if word >= self.0.len() {
            self.0.resize(word + 1, 0);
        }
        self.0[word] |= 1 << (reg.index() % 64);
    }

    fn clear(&mut self, reg: Reg) {
        if let Some(word) = self.0.get_mut(reg.index() / 64) {
            *word &= !(1 << (reg.index() % 64));
        }
    }

    /// True if it holds `reg`.
    pub fn contains(&self, reg: Reg) -> bool {
        self.0.get(reg.index() / 64).is_some_and(|w| w >> (reg.index() % 64) & 1 == 1)
    }

    /// Adds all of `other`; true if that changed anything.
    fn add(&mut self, other: &Self) -> bool {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        let mut changed = false;
        for (a, b) in self.0.iter_mut().zip(&other.0) {
            changed |= *b & !*a != 0;
            *a |= b;
        }
        changed
    }
}

/// Vars that are live at the start and at loop heads.
pub struct Heads {
    /// At the start: these must be 0.
    pub entry: Bits,
    /// By loop.
    pub loops: BTreeMap<Label, Bits>,
}

/// Finds them.
pub fn at_heads(kernel: &Kernel) -> Heads {
    let mut live = Live { kernel, frames: Vec::new(), loops: BTreeMap::new() };
    let entry = live.block(&kernel.body, Bits::default());
    Heads { entry, loops: live.loops }
}

struct Frame {
    label: Label,
    at_break: Bits,
    at_continue: Bits,
}

struct Live<'k> {
    kernel: &'k Kernel,
    frames: Vec<Frame>,
    loops: BTreeMap<Label, Bits>,
}

impl Live<'_> {
    fn is_var(&self, reg: Reg) -> bool {
        self.kernel.reg(reg).kind == RegKind::Var
    }

    /// What is live before `block`, given what is live after it.
    fn block(&mut self, block: &Block, after: Bits) -> Bits {
        block.iter().rev().fold(after, |live, stmt| self.stmt(stmt, live))
    }

    fn read(&self, reg: Reg, live: &mut Bits) {
        if self.is_var(reg) {
            live.set(reg);
        }
    }

    fn stmt(&mut self, stmt: &Stmt, mut after: Bits) -> Bits {
        match stmt {
            Stmt::Inst(inst, _) => {
                if let Inst::Set { var, .. } = inst {
                    after.clear(*var);
                }
                inst.registers(&mut |r| self.read(r, &mut after), &mut |_| {});
                after
            }
            Stmt::If { cond, then, els, .. } => {
                let mut live = self.block(then, after.clone());
                live.add(&self.block(els, after));
                self.read(*cond, &mut live);
                live
            }
            Stmt::Loop { label, body, continuing, .. } => {
                self.repeat(*label, body, continuing, after)
            }
            Stmt::Scope { label, body } => {
                self.frames.push(Frame {
                    label: *label,
                    at_break: after.clone(),
                    at_continue: Bits::default(),
                });
                let live = self.block(body, after);
                self.frames.pop();
                live
            }
            Stmt::Switch { label, selector, cases, .. } => {
                self.frames.push(Frame {
                    label: *label,
                    at_break: after.clone(),
                    at_continue: Bits::default(),
                });
                let mut live = after.clone();
                let mut next = after;
                for case in cases.iter().rev() {
                    next = self.block(&case.body, next);
                    live.add(&next);
                }
                self.frames.pop();
                self.read(*selector, &mut live);
                live
            }
            Stmt::Break(label) => self.frame(*label).map_or(after, |f| f.at_break.clone()),
            Stmt::Continue(label) => self.frame(*label).map_or(after, |f| f.at_continue.clone()),
            Stmt::Return => Bits::default(),
        }
    }

    fn frame(&self, label: Label) -> Option<&Frame> {
        self.frames.iter().rev().find(|f| f.label == label)
    }

    fn repeat(&mut self, label: Label, body: &Block, continuing: &Block, after: Bits) -> Bits {
        // Starting from what an earlier pass found keeps nested loops cheap.
        let mut head = self.loops.get(&label).cloned().unwrap_or_default();
        loop {
            let at_continue = Bits::default();
            self.frames.push(Frame { label, at_break: after.clone(), at_continue });
            let next = self.block(continuing, head.clone());
            if let Some(frame) = self.frames.last_mut() {
                frame.at_continue.clone_from(&next);
            }
            let live = self.block(body, next);
            self.frames.pop();
            if !head.add(&live) {
                break;
            }
        }
        self.loops.insert(label, head.clone());
        head
    }
}
