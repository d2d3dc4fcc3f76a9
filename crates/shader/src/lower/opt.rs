//! Removes what the naive emission leaves behind: values computed twice, vars
//! written and read in a straight line, branches cheaper as selects, dead code.
//!
//! A var that an `OpPhi` made is read directly: it keeps its value as long as
//! anybody may read it. A var that an `OpVariable` made is read through copies
//! only, which [`values`] forwards and [`copies`] removes where it can.

mod copies;
mod dead;
mod escape;
mod finish;
mod flatten;
mod hoist;
mod values;

use super::pool::Pool;
use crate::ir::{Block, Label, Reg, RegDecl, Resource, ResourceKind, Stmt};
use std::collections::BTreeSet;

/// What emission made.
pub(super) struct Raw {
    pub pool: Pool,
    pub body: Block,
    pub resources: Vec<Resource>,
}

/// The parts of a kernel.
pub(super) struct Done {
    pub regs: Vec<RegDecl>,
    pub constants: Vec<(Reg, u64)>,
    pub body: Block,
    pub resources: Vec<Resource>,
}

/// All passes.
pub(super) fn run(raw: Raw) -> Done {
    let Raw { mut pool, mut body, resources } = raw;
    let constant: Vec<bool> =
        resources.iter().map(|r| r.kind == ResourceKind::ConstantBuffer).collect();
    for _ in 0..2 {
        body = values::run(&mut pool, body, &constant);
        body = dead::run(&pool, body);
        body = flatten::run(&mut pool, body);
    }
    body = hoist::run(&pool, body);
    body = values::run(&mut pool, body, &constant);
    body = copies::run(&pool, body);
    body = dead::run(&pool, body);
    body = escape::run(&mut pool, body);
    finish::run(&pool, body, resources)
}

/// True if no lane goes on after the block.
fn leaves(block: &Block) -> bool {
    match block.last() {
        Some(Stmt::Break(_) | Stmt::Continue(_) | Stmt::Return) => true,
        Some(Stmt::If { then, els, .. }) => leaves(then) && leaves(els),
        Some(Stmt::Inst(..) | Stmt::Loop { .. } | Stmt::Scope { .. } | Stmt::Switch { .. })
        | None => false,
    }
}

/// Calls `visit` on every statement of a block, outer before inner.
fn walk<'b>(block: &'b Block, visit: &mut dyn FnMut(&'b Stmt)) {
    for stmt in block {
        visit(stmt);
        match stmt {
            Stmt::Inst(..) | Stmt::Break(_) | Stmt::Continue(_) | Stmt::Return => {}
            Stmt::If { then: a, els: b, .. } | Stmt::Loop { body: a, continuing: b, .. } => {
                walk(a, visit);
                walk(b, visit);
            }
            Stmt::Scope { body, .. } => walk(body, visit),
            Stmt::Switch { cases, .. } => cases.iter().for_each(|c| walk(&c.body, visit)),
        }
    }
}

/// Vars that the block sets.
fn sets(block: &Block, into: &mut BTreeSet<Reg>) {
    walk(block, &mut |stmt| {
        if let Stmt::Inst(crate::ir::Inst::Set { var, .. }, _) = stmt {
            into.insert(*var);
        }
    });
}

/// True if the block breaks to (or continues at) `label`.
fn jumps_to(block: &Block, label: Label, continues: bool) -> bool {
    let mut found = false;
    walk(block, &mut |stmt| match stmt {
        Stmt::Break(l) => found |= *l == label && !continues,
        Stmt::Continue(l) => found |= *l == label && continues,
        Stmt::Inst(..)
        | Stmt::If { .. }
        | Stmt::Loop { .. }
        | Stmt::Scope { .. }
        | Stmt::Switch { .. }
        | Stmt::Return => {}
    });
    found
}
