//! Drops what nobody reads.

use super::super::pool::Pool;
use super::walk;
use crate::ir::{Block, Inst, Reg, Stmt};

/// How often removal may leave new dead conditions behind and start again.
const ROUNDS: usize = 8;

pub(super) fn run(pool: &Pool, mut body: Block) -> Block {
    for _ in 0..ROUNDS {
        let live = live(pool, &body);
        let mut emptied = false;
        body = sweep(body, &live, &mut emptied);
        if !emptied {
            break;
        }
    }
    body
}

/// Which registers are read on the way to an effect.
fn live(pool: &Pool, body: &Block) -> Vec<bool> {
    let n = pool.decls.len();
    let mut feeds: Vec<Vec<Reg>> = vec![Vec::new(); n];
    let mut work = Vec::new();
    walk(body, &mut |stmt| match stmt {
        Stmt::Inst(inst, _) => {
            let mut operands = Vec::new();
            let mut results = Vec::new();
            inst.registers(&mut |r| operands.push(r), &mut |r| results.push(r));
            if inst.is_pure() || matches!(inst, Inst::Set { .. }) {
                for r in results {
                    feeds[r.index()].extend_from_slice(&operands);
                }
            } else {
                work.extend(operands);
            }
        }
        Stmt::If { cond: r, .. } | Stmt::Switch { selector: r, .. } => work.push(*r),
        Stmt::Loop { .. }
        | Stmt::Scope { .. }
        | Stmt::Break(_)
        | Stmt::Continue(_)
        | Stmt::Return => {}
    });
    let mut live = vec![false; n];
    while let Some(r) = work.pop() {
        if !std::mem::replace(&mut live[r.index()], true) {
            work.append(&mut feeds[r.index()]);
        }
    }
    live
}

fn sweep(block: Block, live: &[bool], emptied: &mut bool) -> Block {
    let mut out = Vec::with_capacity(block.len());
    for stmt in block {
        match stmt {
            Stmt::Inst(mut inst, loc) => {
                let mut used = false;
                inst.registers(&mut |_| {}, &mut |r| used |= live[r.index()]);
                if !used && (inst.is_pure() || matches!(inst, Inst::Set { .. })) {
                    continue;
                }
                if !used {
                    match &mut inst {
                        Inst::Atomic { op, dst, .. } | Inst::Gds { op, dst, .. }
                            if *op != crate::ir::AtomicOp::Load =>
                        {
                            *dst = None;
                        }
                        Inst::Image { op: crate::ir::ImageOp::Atomic(op), dst, .. }
                            if *op != crate::ir::AtomicOp::Load =>
                        {
                            dst.clear();
                        }
                        _ => {}
                    }
                }
                out.push(Stmt::Inst(inst, loc));
            }
            Stmt::If { cond, then, els, loc } => {
                let (then, els) = (sweep(then, live, emptied), sweep(els, live, emptied));
                if then.is_empty() && els.is_empty() {
                    *emptied = true;
                } else {
                    out.push(Stmt::If { cond, then, els, loc });
                }
            }
            Stmt::Loop { label, body, continuing, loc } => {
                let (body, continuing) =
                    (sweep(body, live, emptied), sweep(continuing, live, emptied));
                out.push(Stmt::Loop { label, body, continuing, loc });
            }
            Stmt::Scope { label, body } => {
                let body = sweep(body, live, emptied);
                if !body.is_empty() {
                    out.push(Stmt::Scope { label, body });
                }
            }
            Stmt::Switch { label, selector, mut cases, loc } => {
                for case in &mut cases {
                    case.body = sweep(std::mem::take(&mut case.body), live, emptied);
                }
                if cases.iter().all(|c| idle(&c.body, label)) {
                    *emptied = true;
                } else {
                    out.push(Stmt::Switch { label, selector, cases, loc });
                }
            }
            Stmt::Break(_) | Stmt::Continue(_) | Stmt::Return => out.push(stmt),
        }
    }
    out
}

/// True if the case does nothing but leave the switch.
fn idle(body: &Block, label: crate::ir::Label) -> bool {
    match body.as_slice() {
        [] => true,
        [Stmt::Break(l)] => *l == label,
        _ => false,
    }
}
