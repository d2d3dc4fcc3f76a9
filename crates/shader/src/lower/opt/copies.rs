//! Reads a var directly where its copy is read before the var is set again.

use super::super::pool::Pool;
use crate::ir::{Block, Inst, Reg, RegKind, Stmt, UnOp};
use std::collections::HashMap;

/// A copy of a var and how far it reaches.
struct Copy {
    var: Reg,
    at: usize,
    /// Loops around it, outermost first.
    loops: Vec<usize>,
    /// Last position at which it may be read.
    last: usize,
}

#[derive(Default)]
struct Survey {
    position: usize,
    loops: Vec<usize>,
    ends: HashMap<usize, usize>,
    copies: HashMap<Reg, Copy>,
    /// Reads inside loops that the copy is outside of, to be stretched.
    stretched: Vec<(Reg, usize)>,
    sets: HashMap<Reg, Vec<usize>>,
}

pub(super) fn run(pool: &Pool, body: Block) -> Block {
    let mut survey = Survey::default();
    survey.block(pool, &body);
    for (reg, at) in std::mem::take(&mut survey.stretched) {
        let end = survey.ends.get(&at).copied().unwrap_or(usize::MAX);
        if let Some(copy) = survey.copies.get_mut(&reg) {
            copy.last = copy.last.max(end);
        }
    }
    let direct: HashMap<Reg, Reg> = survey
        .copies
        .iter()
        .filter(|(_, copy)| {
            // Positions are in order.
            let Some(sets) = survey.sets.get(&copy.var) else { return true };
            let next = sets.partition_point(|&s| s <= copy.at);
            sets.get(next).is_none_or(|&s| s >= copy.last)
        })
        .map(|(&reg, copy)| (reg, copy.var))
        .collect();
    rewrite(body, &direct)
}

impl Survey {
    fn read(&mut self, reg: Reg) {
        let Some(copy) = self.copies.get_mut(&reg) else { return };
        copy.last = copy.last.max(self.position);
        let inner = self.loops.iter().find(|l| !copy.loops.contains(l));
        if let Some(&inner) = inner {
            self.stretched.push((reg, inner));
        }
    }

    fn block(&mut self, pool: &Pool, block: &Block) {
        for stmt in block {
            self.position += 1;
            match stmt {
                Stmt::Inst(inst, _) => {
                    inst.registers(&mut |r| self.read(r), &mut |_| {});
                    match *inst {
                        Inst::Unary { op: UnOp::Copy, dst, a } if pool.kind(a) == RegKind::Var => {
                            let (at, loops) = (self.position, self.loops.clone());
                            self.copies.insert(dst, Copy { var: a, at, loops, last: at });
                        }
                        Inst::Set { var, .. } => {
                            self.sets.entry(var).or_default().push(self.position);
                        }
                        _ => {}
                    }
                }
                Stmt::If { cond, then, els, .. } => {
                    self.read(*cond);
                    self.block(pool, then);
                    self.block(pool, els);
                }
                Stmt::Loop { body, continuing, .. } => {
                    let start = self.position;
                    self.loops.push(start);
                    self.block(pool, body);
                    self.block(pool, continuing);
                    self.loops.pop();
                    self.position += 1;
                    self.ends.insert(start, self.position);
                }
                Stmt::Scope { body, .. } => self.block(pool, body),
                Stmt::Switch { selector, cases, .. } => {
                    self.read(*selector);
                    cases.iter().for_each(|c| self.block(pool, &c.body));
                }
                Stmt::Break(_) | Stmt::Continue(_) | Stmt::Return => {}
            }
        }
    }
}

fn rewrite(block: Block, direct: &HashMap<Reg, Reg>) -> Block {
    let now = |r: Reg| direct.get(&r).copied().unwrap_or(r);
    let mut out = Vec::with_capacity(block.len());
    for stmt in block {
        out.push(match stmt {
            Stmt::Inst(mut inst, loc) => {
                if let Inst::Unary { op: UnOp::Copy, dst, .. } = inst
                    && direct.contains_key(&dst)
                {
                    continue;
                }
                inst.registers_mut(&mut |r| *r = now(*r), &mut |_| {});
                if let Inst::Set { var, value } = inst
                    && var == value
                {
                    continue;
                }
                Stmt::Inst(inst, loc)
            }
            Stmt::If { cond, then, els, loc } => Stmt::If {
                cond: now(cond),
                then: rewrite(then, direct),
                els: rewrite(els, direct),
                loc,
            },
            Stmt::Loop { label, body, continuing, loc } => Stmt::Loop {
                label,
                body: rewrite(body, direct),
                continuing: rewrite(continuing, direct),
                loc,
            },
            Stmt::Scope { label, body } => Stmt::Scope { label, body: rewrite(body, direct) },
            Stmt::Switch { label, selector, mut cases, loc } => {
                for case in &mut cases {
                    case.body = rewrite(std::mem::take(&mut case.body), direct);
                }
                Stmt::Switch { label, selector: now(selector), cases, loc }
            }
            Stmt::Break(_) | Stmt::Continue(_) | Stmt::Return => stmt,
        });
    }
    out
}
