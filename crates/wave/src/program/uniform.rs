//! Which registers are uniform (one value in all active lanes), and which
//! constructs part lanes.
//!
//! Everything starts as uniform and no construct as parting; what contradicts
//! that is marked until nothing changes.
//!
//! Lanes that returned read nothing more, so a `Return` that only some lanes
//! meet makes nothing diverge. Lanes that left a loop or scope do read on, so
//! everything set in one that lanes leave at different times is varying.

use std::collections::BTreeSet;
use wavefence_base::WaveSize;
use wavefence_shader::ir::{
    Addr, Block, Builtin, Inst, Kernel, Label, Reg, RegKind, Scan, Space, Stmt, WaveOp,
};

/// What the analysis found.
pub struct Facts {
    /// By register: one value in all active lanes.
    pub uniform: Vec<bool>,
    /// Loops, scopes and switches that some lanes leave (or continue) while
    /// others wait inside; they need mask slots.
    pub parting: BTreeSet<Label>,
    /// By register: a `Bool` kept as one bit per lane, since only branches and
    /// logic on such registers read it.
    pub packed: Vec<bool>,
    /// Loops whose `continuing` some lanes wait for.
    pub waiting: BTreeSet<Label>,
}

impl Facts {
    /// True if `reg` is uniform.
    pub fn is_uniform(&self, reg: Reg) -> bool {
        self.uniform[reg.index()]
    }

    /// True if `reg` is kept in one chunk.
    pub fn is_small(&self, reg: Reg) -> bool {
        self.is_uniform(reg) || self.packed[reg.index()]
    }
}

/// Analyses a kernel.
pub fn analyse(kernel: &Kernel, size: WaveSize) -> Facts {
    let facts = Facts {
        uniform: vec![true; kernel.regs.len()],
        parting: BTreeSet::new(),
        packed: vec![false; kernel.regs.len()],
        waiting: BTreeSet::new(),
    };
    let mut walk = Walk { kernel, size, facts, frames: Vec::new(), changed: true };
    while walk.changed {
        walk.changed = false;
        walk.block(&kernel.body, false);
    }
    walk.facts
}

/// An enclosing construct: its label, and whether lanes may wait in it.
struct Frame {
    label: Option<Label>,
    parts: bool,
}

struct Walk<'k> {
    kernel: &'k Kernel,
    size: WaveSize,
    facts: Facts,
    frames: Vec<Frame>,
    changed: bool,
}

impl Walk<'_> {
    fn block(&mut self, block: &Block, diverged: bool) {
        for stmt in block {
            self.stmt(stmt, diverged);
        }
    }

    fn stmt(&mut self, stmt: &Stmt, diverged: bool) {
        match stmt {
            Stmt::Inst(inst, _) => self.inst(inst, diverged),
            Stmt::If { cond, then, els, .. } => {
                let parts = !self.facts.is_uniform(*cond);
                self.frames.push(Frame { label: None, parts });
                self.block(then, diverged || parts);
                self.block(els, diverged || parts);
                self.frames.pop();
            }
            Stmt::Loop { label, body, continuing, .. } => {
                let parts = self.enter(*label);
                self.block(body, diverged || parts);
                self.block(continuing, diverged || parts);
                self.frames.pop();
            }
            Stmt::Scope { label, body } => {
                let parts = self.enter(*label);
                self.block(body, diverged || parts);
                self.frames.pop();
            }
            Stmt::Switch { label, selector, cases, .. } => {
                if !self.facts.is_uniform(*selector) {
                    self.part(*label);
                }
                let parts = self.enter(*label);
                for case in cases {
                    self.block(&case.body, diverged || parts);
                }
                self.frames.pop();
            }
            Stmt::Break(label) | Stmt::Continue(label) => {
                let inner = self.frames.iter().rev().take_while(|f| f.label != Some(*label));
                if inner.into_iter().any(|f| f.parts) {
                    self.part(*label);
                    if matches!(stmt, Stmt::Continue(_)) {
                        self.facts.waiting.insert(*label);
                    }
                }
            }
            Stmt::Return => {}
        }
    }

    fn enter(&mut self, label: Label) -> bool {
        let parts = self.facts.parting.contains(&label);
        self.frames.push(Frame { label: Some(label), parts });
        parts
    }

    fn part(&mut self, label: Label) {
        self.changed |= self.facts.parting.insert(label);
    }

    fn vary(&mut self, reg: Reg) {
        let flag = &mut self.facts.uniform[reg.index()];
        self.changed |= *flag;
        *flag = false;
    }

    fn inst(&mut self, inst: &Inst, diverged: bool) {
        let uniform = match inst {
            Inst::Set { value, .. } => !diverged && self.facts.is_uniform(*value),
            Inst::Unary { .. } | Inst::Binary { .. } | Inst::Ternary { .. } => {
                self.operands_uniform(inst)
            }
            Inst::Builtin { which, .. } => builtin_uniform(*which, self.kernel, self.size),
            Inst::Reduce { scan, cluster, .. } => {
                *scan == Scan::Reduce && (*cluster == 0 || *cluster >= self.size.lanes())
            }
            Inst::Wave { op, b, .. } => match op {
                WaveOp::All
                | WaveOp::Any
                | WaveOp::AllEqual
                | WaveOp::AllEqualF
                | WaveOp::BroadcastFirst => true,
                WaveOp::ReadLane => b.is_some_and(|b| self.facts.is_uniform(b)),
                WaveOp::Elect
                | WaveOp::ShuffleXor
                | WaveOp::ShuffleUp
                | WaveOp::ShuffleDown
                | WaveOp::QuadRead
                | WaveOp::QuadSwapX
                | WaveOp::QuadSwapY
                | WaveOp::QuadSwapDiagonal
                | WaveOp::QuadAll
                | WaveOp::QuadAny => false,
            },
            Inst::Ballot { .. } | Inst::Clock { .. } => true,
            Inst::Load { space, addr, .. } => self.load_uniform(*space, *addr),
            Inst::BufferSize { buffer, .. } => {
                buffer.index.is_none_or(|i| self.facts.is_uniform(i))
            }
            Inst::ReducePartition { .. }
            | Inst::Match { .. }
            | Inst::Store { .. }
            | Inst::Atomic { .. }
            | Inst::Image { .. }
            | Inst::Barrier(_)
            | Inst::OrderedAdd { .. }
            | Inst::Gds { .. }
            | Inst::DebugBreak
            | Inst::DebugPrint { .. } => false,
        };
        if !uniform {
            let mut written = Vec::new();
            inst.registers(&mut |_| {}, &mut |r| written.push(r));
            written.into_iter().for_each(|r| self.vary(r));
        }
    }

    fn operands_uniform(&self, inst: &Inst) -> bool {
        let mut all = true;
        inst.registers(&mut |r| all &= self.facts.is_uniform(r), &mut |_| {});
        all
    }

    fn load_uniform(&self, space: Space, addr: Addr) -> bool {
        let index = addr.index.is_none_or(|i| self.facts.is_uniform(i));
        match space {
            Space::Buffer(b) => index && b.index.is_none_or(|i| self.facts.is_uniform(i)),
            Space::Lds => index,
            Space::Scratch => false,
            Space::Global(base) => self.facts.is_uniform(base),
        }
    }
}

/// Whether a launch value is the same in all lanes of a wave.
fn builtin_uniform(which: Builtin, kernel: &Kernel, size: WaveSize) -> bool {
    let [x, y, z] = kernel.group_size;
    // A partial group is numbered by the threads it has, so sizes say nothing
    // about which lanes share a row; only a dimension of one is safe.
    let _ = size;
    match which {
        Builtin::GroupIdX
        | Builtin::GroupIdY
        | Builtin::GroupIdZ
        | Builtin::GroupCountX
        | Builtin::GroupCountY
        | Builtin::GroupCountZ
        | Builtin::LaneCount
        | Builtin::WaveIndex
        | Builtin::WaveCount => true,
        Builtin::ThreadIdX | Builtin::GlobalIdX => x == 1,
        Builtin::ThreadIdY | Builtin::GlobalIdY => y == 1,
        Builtin::ThreadIdZ | Builtin::GlobalIdZ => z == 1,
        Builtin::ThreadIndex => x * y * z == 1,
        Builtin::Lane => false,
    }
}

/// True for registers that the uniform class can hold from the start.
pub fn is_const(kernel: &Kernel, reg: Reg) -> bool {
    kernel.reg(reg).kind == RegKind::Const
}
