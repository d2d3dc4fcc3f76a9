//! Moves what does not change in a loop before it.
//!
//! Only arithmetic moves: it has no effects, and a temp may be written for more
//! lanes than read it.

use super::super::pool::Pool;
use super::sets;
use crate::ir::{Block, Inst, Reg, RegKind, Stmt, UnOp};
use std::collections::{BTreeSet, HashSet};

pub(super) fn run(pool: &Pool, body: Block) -> Block {
    let mut hoist = Hoist { pool, loops: Vec::new() };
    hoist.block(body)
}

/// A loop being walked.
struct Frame {
    /// Vars set in it.
    vars: BTreeSet<Reg>,
    /// Temps written in it that stay.
    inside: HashSet<Reg>,
    /// What moved before it.
    moved: Block,
}

struct Hoist<'p> {
    pool: &'p Pool,
    loops: Vec<Frame>,
}

impl Hoist<'_> {
    fn block(&mut self, block: Block) -> Block {
        let mut out = Vec::with_capacity(block.len());
        for stmt in block {
            match stmt {
                Stmt::Inst(inst, loc) => match self.target(&inst) {
                    Some(outermost) => {
                        // For the loop around that one it is inside.
                        if let Some(i) = outermost.checked_sub(1) {
                            let outer = &mut self.loops[i].inside;
                            inst.registers(&mut |_| {}, &mut |r| _ = outer.insert(r));
                        }
                        if let Some(frame) = self.loops.get_mut(outermost) {
                            frame.moved.push(Stmt::Inst(inst, loc));
                        }
                    }
                    None => {
                        if let Some(frame) = self.loops.last_mut() {
                            inst.registers(&mut |_| {}, &mut |r| _ = frame.inside.insert(r));
                        }
                        out.push(Stmt::Inst(inst, loc));
                    }
                },
                Stmt::If { cond, then, els, loc } => {
                    let (then, els) = (self.block(then), self.block(els));
                    out.push(Stmt::If { cond, then, els, loc });
                }
                Stmt::Loop { label, body, continuing, loc } => {
                    let mut vars = BTreeSet::new();
                    sets(&body, &mut vars);
                    sets(&continuing, &mut vars);
                    self.loops.push(Frame { vars, inside: HashSet::new(), moved: Vec::new() });
                    let body = self.block(body);
                    let continuing = self.block(continuing);
                    if let Some(frame) = self.loops.pop() {
                        // What stayed in the inner loop stays in the outer.
                        if let Some(outer) = self.loops.last_mut() {
                            outer.inside.extend(frame.inside);
                        }
                        out.extend(frame.moved);
                    }
                    out.push(Stmt::Loop { label, body, continuing, loc });
                }
                Stmt::Scope { label, body } => {
                    let body = self.block(body);
                    out.push(Stmt::Scope { label, body });
                }
                Stmt::Switch { label, selector, mut cases, loc } => {
                    for case in &mut cases {
                        case.body = self.block(std::mem::take(&mut case.body));
                    }
                    out.push(Stmt::Switch { label, selector, cases, loc });
                }
                Stmt::Break(_) | Stmt::Continue(_) | Stmt::Return => out.push(stmt),
            }
        }
        out
    }

    /// The outermost loop that the instruction can move before.
    fn target(&self, inst: &Inst) -> Option<usize> {
        let moves = match inst {
            // A copy is there because its var changes.
            Inst::Unary { op, .. } => *op != UnOp::Copy,
            Inst::Binary { .. } | Inst::Ternary { .. } => true,
            Inst::Set { .. }
            | Inst::Builtin { .. }
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
            | Inst::DebugPrint { .. } => false,
        };
        if !moves {
            return None;
        }
        let mut found = None;
        for (i, frame) in self.loops.iter().enumerate().rev() {
            let mut steady = true;
            inst.registers(
                &mut |r| {
                    steady &= match self.pool.kind(r) {
                        RegKind::Const => true,
                        RegKind::Var => !frame.vars.contains(&r),
                        RegKind::Temp => !frame.inside.contains(&r),
                    };
                },
                &mut |_| {},
            );
            if !steady {
                break;
            }
            found = Some(i);
        }
        found
    }
}
