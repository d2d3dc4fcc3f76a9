//! The tree to a list of nodes.
//!
//! A construct that parts lanes keeps masks in slots, numbered by depth, so the
//! slots inside a construct are those above its own. A lane that breaks is taken
//! out of every slot inside the construct it leaves; one that returns, out of
//! all. What no lane can wait in needs no slot: its jumps are plain jumps.

use super::uniform::Facts;
use super::{Step, Target};
use crate::simd::LaneKind;
use wavefence_shader::ir::{Block, Case, Inst, Kernel, Label, Loc, Reg, Stmt, UnOp};

/// One lane op before it has places.
#[derive(Clone, PartialEq, Debug)]
pub struct Lane {
    /// What it does.
    pub kind: LaneKind,
    /// Its result.
    pub dst: Reg,
    /// Its operands.
    pub src: Vec<Reg>,
    /// NaN results may be any NaN: nobody looks at their bits.
    pub raw: bool,
    /// Source line index.
    pub loc: Loc,
}

/// A node of the list.
#[derive(Clone, PartialEq, Debug)]
pub enum Node {
    /// A lane op.
    Lane(Lane),
    /// An instruction of another kind.
    Inst(Inst, Loc),
    /// Control.
    Step(Step),
    /// Jumps to the target come here.
    Here(Target),
    /// A loop begins: what lies up to its `LoopEnd` may run again.
    LoopBegin(Label),
    /// It ends.
    LoopEnd(Label),
}

/// The nodes of a kernel.
pub struct List {
    /// In order; the last is [`Step::End`].
    pub nodes: Vec<Node>,
    /// Number of mask slots.
    pub slots: u32,
}

/// Makes the list.
pub fn flatten(kernel: &Kernel, facts: &Facts) -> List {
    let mut f = Flatten {
        facts,
        nodes: Vec::new(),
        targets: 1,
        depth: 0,
        slots: 0,
        frames: Vec::new(),
        empty: Target(0),
    };
    f.block(&kernel.body);
    f.nodes.push(Node::Here(Target(0)));
    f.nodes.push(Node::Step(Step::End));
    List { nodes: f.nodes, slots: f.slots }
}

/// An enclosing construct that can be left.
struct Frame {
    label: Label,
    /// The slot of lanes that wait at its end, if it parts lanes.
    slot: Option<u32>,
    /// Where it ends.
    exit: Target,
    /// Loops: where the body ends, and the slot of lanes that wait there.
    continuing: Option<(Target, Option<u32>)>,
}

struct Flatten<'k> {
    facts: &'k Facts,
    nodes: Vec<Node>,
    targets: u32,
    depth: u32,
    slots: u32,
    frames: Vec<Frame>,
    /// Where to go when no lane is left here.
    empty: Target,
}

impl Flatten<'_> {
    fn target(&mut self) -> Target {
        self.targets += 1;
        Target(self.targets - 1)
    }

    fn slot(&mut self) -> u32 {
        self.depth += 1;
        self.slots = self.slots.max(self.depth);
        self.depth - 1
    }

    fn step(&mut self, step: Step) {
        self.nodes.push(Node::Step(step));
    }

    fn here(&mut self, target: Target) {
        self.nodes.push(Node::Here(target));
    }

    /// Runs `body` with `empty` as the place to go without lanes.
    fn within(&mut self, empty: Target, body: impl FnOnce(&mut Self)) {
        let outer = std::mem::replace(&mut self.empty, empty);
        body(self);
        self.empty = outer;
    }

    fn block(&mut self, block: &Block) {
        for stmt in block {
            self.stmt(stmt);
        }
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match stmt {
            Stmt::Inst(inst, loc) => self.inst(inst, *loc),
            Stmt::If { cond, then, els, .. } => self.branch(*cond, then, els),
            Stmt::Loop { label, body, continuing, loc } => {
                self.repeat(*label, body, continuing, *loc);
            }
            Stmt::Scope { label, body } => self.scope(*label, body),
            Stmt::Switch { label, selector, cases, .. } => {
                if self.facts.parting.contains(label) {
                    self.switch(*label, *selector, cases);
                } else {
                    self.switch_uniform(*label, *selector, cases);
                }
            }
            Stmt::Break(_) | Stmt::Continue(_) | Stmt::Return => self.leave(stmt, None),
        }
    }

    fn inst(&mut self, inst: &Inst, loc: Loc) {
        let lane = |kind, dst: &Reg, src: &[&Reg]| {
            let src = src.iter().map(|r| **r).collect();
            Node::Lane(Lane { kind, dst: *dst, src, raw: false, loc })
        };
        self.nodes.push(match inst {
            Inst::Unary { op, dst, a } => lane(LaneKind::Un(*op), dst, &[a]),
            Inst::Binary { op, dst, a, b } => lane(LaneKind::Bin(*op), dst, &[a, b]),
            Inst::Ternary { op, dst, a, b, c } => lane(LaneKind::Ter(*op), dst, &[a, b, c]),
            Inst::Set { var, value } => lane(LaneKind::Un(UnOp::Copy), var, &[value]),
            Inst::Builtin { .. }
            | Inst::Reduce { .. }
            | Inst::ReducePartition { .. }
            | Inst::Wave { .. }
            | Inst::Ballot { .. }
            | Inst::Match { .. }
            | Inst::Load { .. }
            | Inst::Store { .. }
            | Inst::Atomic { .. }
            | Inst::BufferSize { .. }
            | Inst::Image { .. }
            | Inst::Barrier(_)
            | Inst::OrderedAdd { .. }
            | Inst::Gds { .. }
            | Inst::Clock { .. }
            | Inst::DebugBreak
            | Inst::DebugPrint { .. } => Node::Inst(inst.clone(), loc),
        });
    }

    fn branch(&mut self, cond: Reg, then: &Block, els: &Block) {
        // One side only leaves: the other side's lanes go on, no matter where
        // they would have met.
        if let Some(only) = leaves(then) {
            self.leave(only, Some((cond, true)));
            self.block(els);
        } else if let Some(only) = leaves(els) {
            self.leave(only, Some((cond, false)));
            self.block(then);
        } else if self.facts.is_uniform(cond) {
            let (other, end) = (self.target(), self.target());
            self.step(Step::JumpIf { cond, when: false, target: other });
            self.block(then);
            if !els.is_empty() {
                self.step(Step::Jump { target: end });
            }
            self.here(other);
            self.block(els);
            self.here(end);
        } else {
            self.branch_parting(cond, then, els);
        }
    }

    fn branch_parting(&mut self, cond: Reg, then: &Block, els: &Block) {
        let depth = self.depth;
        let slot = self.slot();
        let end = self.target();
        let has_else = !els.is_empty();
        if has_else {
            let waiting = self.slot();
            let other = self.target();
            self.step(Step::If { cond, slot, has_else, empty: other });
            self.within(other, |f| f.block(then));
            self.here(other);
            self.step(Step::Restore { slot: waiting, empty: end });
            self.within(end, |f| f.block(els));
        } else {
            self.step(Step::If { cond, slot, has_else, empty: end });
            self.within(end, |f| f.block(then));
        }
        self.here(end);
        self.step(Step::Restore { slot, empty: self.empty });
        self.depth = depth;
    }

    fn repeat(&mut self, label: Label, body: &Block, continuing: &Block, loc: Loc) {
        let depth = self.depth;
        let parts = self.facts.parting.contains(&label);
        let (head, next, exit) = (self.target(), self.target(), self.target());
        let slot = parts.then(|| self.slot());
        let waiting = self.facts.waiting.contains(&label).then(|| self.slot());
        if let Some(slot) = slot {
            self.step(Step::Save { slot });
        }
        self.nodes.push(Node::LoopBegin(label));
        self.here(head);
        if let Some(slot) = waiting {
            self.step(Step::Save { slot });
        }
        self.frames.push(Frame { label, slot, exit, continuing: Some((next, waiting)) });
        let outer = self.empty;
        let after_body = match (parts, waiting) {
            (_, Some(_)) => next,
            (true, None) => exit,
            (false, None) => outer,
        };
        self.within(after_body, |f| f.block(body));
        self.here(next);
        if let Some(slot) = waiting {
            self.step(Step::Restore { slot, empty: exit });
        }
        self.within(if parts { exit } else { outer }, |f| f.block(continuing));
        self.frames.pop();
        self.step(Step::Back { head, loc: loc.0, label });
        self.nodes.push(Node::LoopEnd(label));
        self.here(exit);
        if let Some(slot) = slot {
            self.step(Step::Restore { slot, empty: outer });
        }
        self.depth = depth;
    }

    fn scope(&mut self, label: Label, body: &Block) {
        let depth = self.depth;
        let exit = self.target();
        let slot = self.facts.parting.contains(&label).then(|| self.slot());
        if let Some(slot) = slot {
            self.step(Step::Save { slot });
        }
        self.frames.push(Frame { label, slot, exit, continuing: None });
        let empty = if slot.is_some() { exit } else { self.empty };
        self.within(empty, |f| f.block(body));
        self.frames.pop();
        self.here(exit);
        if let Some(slot) = slot {
            self.step(Step::Restore { slot, empty: self.empty });
        }
        self.depth = depth;
    }

    fn switch(&mut self, label: Label, selector: Reg, cases: &[Case]) {
        let depth = self.depth;
        let exit = self.target();
        let slot = self.slot();
        let slots: Vec<u32> = cases.iter().map(|_| self.slot()).collect();
        let values = cases.iter().zip(&slots);
        let table = values.flat_map(|(c, &s)| c.values.iter().map(move |&v| (v, s)));
        let table = table.collect();
        let default = cases.iter().position(|c| c.default).map(|i| slots[i]);
        self.step(Step::Switch { selector, slot, cases: table, default });
        self.frames.push(Frame { label, slot: Some(slot), exit, continuing: None });
        for (case, &own) in cases.iter().zip(&slots) {
            let next = self.target();
            self.step(Step::Case { slot: own, empty: next });
            self.within(next, |f| f.block(&case.body));
            self.here(next);
        }
        self.frames.pop();
        self.here(exit);
        self.step(Step::Restore { slot, empty: self.empty });
        self.depth = depth;
    }

    fn switch_uniform(&mut self, label: Label, selector: Reg, cases: &[Case]) {
        let exit = self.target();
        let entries: Vec<Target> = cases.iter().map(|_| self.target()).collect();
        let values = cases.iter().zip(&entries);
        let table = values.flat_map(|(c, &t)| c.values.iter().map(move |&v| (v, t)));
        let table = table.collect();
        let other = cases.iter().position(|c| c.default).map_or(exit, |i| entries[i]);
        self.step(Step::Select { selector, cases: table, other });
        self.frames.push(Frame { label, slot: None, exit, continuing: None });
        for (case, &entry) in cases.iter().zip(&entries) {
            self.here(entry);
            self.block(&case.body);
        }
        self.frames.pop();
        self.here(exit);
    }

    /// A `Break`, `Continue` or `Return`, of the lanes where `cond` says so.
    fn leave(&mut self, stmt: &Stmt, cond: Option<(Reg, bool)>) {
        let (end, empty) = (self.depth, self.empty);
        let find = |label: &Label| self.frames.iter().rev().find(|f| f.label == *label);
        // Without a slot above the construct's own, and lanes all alike, it is
        // a jump.
        let (first, jump) = match stmt {
            Stmt::Break(label) => match find(label) {
                Some(Frame { slot: Some(slot), .. }) => (slot + 1, None),
                Some(frame) => (end, Some(frame.exit)),
                None => return,
            },
            Stmt::Continue(label) => match find(label).and_then(|f| f.continuing) {
                Some((_, Some(waiting))) => (waiting + 1, None),
                Some((next, None)) => (end, Some(next)),
                None => return,
            },
            Stmt::Return => (0, None),
            Stmt::Inst(..)
            | Stmt::If { .. }
            | Stmt::Loop { .. }
            | Stmt::Scope { .. }
            | Stmt::Switch { .. } => return,
        };
        let returns = matches!(stmt, Stmt::Return);
        let step = match (jump, cond) {
            (None, _) => Step::Leave { cond, first, end, returns, empty },
            (Some(target), None) => Step::Jump { target },
            (Some(target), Some((cond, when))) => Step::JumpIf { cond, when, target },
        };
        self.step(step);
    }
}

/// The only statement of a block, if it takes all lanes away.
fn leaves(block: &Block) -> Option<&Stmt> {
    let [only] = block.as_slice() else { return None };
    matches!(only, Stmt::Break(_) | Stmt::Continue(_) | Stmt::Return).then_some(only)
}
