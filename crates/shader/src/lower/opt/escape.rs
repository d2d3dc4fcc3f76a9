//! Values that leave their loop travel in vars: lanes leave in different
//! iterations, and a temp keeps only the last one's.

use super::super::pool::Pool;
use crate::ir::{Block, Inst, Reg, RegKind, Stmt};
use std::collections::HashMap;

pub(super) fn run(pool: &mut Pool, mut body: Block) -> Block {
    let mut find =
        Find { pool, loops: Vec::new(), next: 0, home: HashMap::new(), vars: HashMap::new() };
    find.block(&mut body);
    let vars = find.vars;
    if vars.is_empty() {
        return body;
    }
    insert(body, &vars)
}

struct Find<'p> {
    pool: &'p mut Pool,
    loops: Vec<u32>,
    next: u32,
    /// Innermost loop in which a temp is written; temps outside of all loops
    /// are not here.
    home: HashMap<Reg, u32>,
    /// The var of a temp that leaves its loop.
    vars: HashMap<Reg, Reg>,
}

impl Find<'_> {
    fn read(&mut self, reg: &mut Reg) {
        let Some(home) = self.home.get(reg) else { return };
        if self.loops.contains(home) {
            return;
        }
        let pool = &mut *self.pool;
        let ty = pool.ty(*reg);
        *reg = *self.vars.entry(*reg).or_insert_with(|| pool.fresh(ty, RegKind::Var));
    }

    fn block(&mut self, block: &mut Block) {
        for stmt in block {
            match stmt {
                Stmt::Inst(inst, _) => {
                    let mut written = Vec::new();
                    inst.registers_mut(&mut |r| self.read(r), &mut |r| written.push(*r));
                    if let Some(&home) = self.loops.last() {
                        for r in written {
                            if self.pool.kind(r) == RegKind::Temp {
                                self.home.insert(r, home);
                            }
                        }
                    }
                }
                Stmt::If { cond, then, els, .. } => {
                    self.read(cond);
                    self.block(then);
                    self.block(els);
                }
                Stmt::Loop { body, continuing, .. } => {
                    self.next += 1;
                    self.loops.push(self.next);
                    self.block(body);
                    self.block(continuing);
                    self.loops.pop();
                }
                Stmt::Scope { body, .. } => self.block(body),
                Stmt::Switch { selector, cases, .. } => {
                    self.read(selector);
                    cases.iter_mut().for_each(|c| self.block(&mut c.body));
                }
                Stmt::Break(_) | Stmt::Continue(_) | Stmt::Return => {}
            }
        }
    }
}

/// Sets each var right after its temp is written.
fn insert(block: Block, vars: &HashMap<Reg, Reg>) -> Block {
    let mut out = Vec::with_capacity(block.len());
    for stmt in block {
        match stmt {
            Stmt::Inst(inst, loc) => {
                let mut sets = Vec::new();
                inst.registers(&mut |_| {}, &mut |r| {
                    if let Some(&var) = vars.get(&r) {
                        sets.push(Inst::Set { var, value: r });
                    }
                });
                out.push(Stmt::Inst(inst, loc));
                out.extend(sets.into_iter().map(|s| Stmt::Inst(s, loc)));
            }
            Stmt::If { cond, then, els, loc } => {
                let (then, els) = (insert(then, vars), insert(els, vars));
                out.push(Stmt::If { cond, then, els, loc });
            }
            Stmt::Loop { label, body, continuing, loc } => {
                let (body, continuing) = (insert(body, vars), insert(continuing, vars));
                out.push(Stmt::Loop { label, body, continuing, loc });
            }
            Stmt::Scope { label, body } => {
                out.push(Stmt::Scope { label, body: insert(body, vars) });
            }
            Stmt::Switch { label, selector, mut cases, loc } => {
                for case in &mut cases {
                    case.body = insert(std::mem::take(&mut case.body), vars);
                }
                out.push(Stmt::Switch { label, selector, cases, loc });
            }
            Stmt::Break(_) | Stmt::Continue(_) | Stmt::Return => out.push(stmt),
        }
    }
    out
}
