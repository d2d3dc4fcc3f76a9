//! Short branches without effects become selects: on a wave both sides mostly
//! run anyway.

use super::super::builder::instruction;
use super::super::pool::{Pool, Pure};
use crate::ir::{BinOp, Block, Inst, Loc, Reg, RegKind, Stmt, TerOp, UnOp};

/// Cost of what both sides may compute together.
const MAX_COST: u32 = 10;
/// How many vars both sides may set together.
const MAX_SETS: usize = 4;

pub(super) fn run(pool: &mut Pool, block: Block) -> Block {
    let mut out = Vec::with_capacity(block.len());
    for stmt in block {
        match stmt {
            Stmt::If { cond, then, els, loc } => {
                let (then, els) = (run(pool, then), run(pool, els));
                match (side(&then), side(&els)) {
                    (Some(a), Some(b)) if a.cost + b.cost <= MAX_COST => {
                        if !select(pool, cond, &a, &b, loc, &mut out) {
                            out.push(Stmt::If { cond, then, els, loc });
                        }
                    }
                    _ => out.push(Stmt::If { cond, then, els, loc }),
                }
            }
            Stmt::Loop { label, body, continuing, loc } => {
                let (body, continuing) = (run(pool, body), run(pool, continuing));
                out.push(Stmt::Loop { label, body, continuing, loc });
            }
            Stmt::Scope { label, body } => {
                out.push(Stmt::Scope { label, body: run(pool, body) });
            }
            Stmt::Switch { label, selector, mut cases, loc } => {
                for case in &mut cases {
                    case.body = run(pool, std::mem::take(&mut case.body));
                }
                out.push(Stmt::Switch { label, selector, cases, loc });
            }
            Stmt::Inst(..) | Stmt::Break(_) | Stmt::Continue(_) | Stmt::Return => out.push(stmt),
        }
    }
    out
}

/// One side of a branch, if it has no effects but on vars.
struct Side<'b> {
    pure: Vec<(&'b Inst, Loc)>,
    sets: Vec<(Reg, Reg)>,
    cost: u32,
}

fn side(block: &Block) -> Option<Side<'_>> {
    let mut side = Side { pure: Vec::new(), sets: Vec::new(), cost: 0 };
    for stmt in block {
        let Stmt::Inst(inst, loc) = stmt else { return None };
        side.cost += match inst {
            Inst::Set { var, value } => {
                if side.sets.iter().any(|s| s.0 == *var || s.0 == *value) {
                    return None;
                }
                side.sets.push((*var, *value));
                continue;
            }
            Inst::Unary { op, .. } => cost(*op),
            Inst::Binary { op, .. } => match op {
                BinOp::UDiv | BinOp::SDiv | BinOp::UMod | BinOp::SRem | BinOp::SMod => 6,
                BinOp::FPow | BinOp::FAtan2 | BinOp::FRem | BinOp::FMod | BinOp::FLdexp => 12,
                _ => 1,
            },
            Inst::Ternary { .. } => 1,
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
            | Inst::DebugPrint { .. } => return None,
        };
        // A read of a var set before on this side would see the other side's.
        let mut late = false;
        inst.registers(&mut |r| late |= side.sets.iter().any(|s| s.0 == r), &mut |_| {});
        if late {
            return None;
        }
        side.pure.push((inst, *loc));
    }
    Some(side)
}

const fn cost(op: UnOp) -> u32 {
    match op {
        UnOp::FSqrt | UnOp::FRsqrt => 3,
        UnOp::FExp
        | UnOp::FExp2
        | UnOp::FLog
        | UnOp::FLog2
        | UnOp::FSin
        | UnOp::FCos
        | UnOp::FTan
        | UnOp::FAsin
        | UnOp::FAcos
        | UnOp::FAtan
        | UnOp::FSinh
        | UnOp::FCosh
        | UnOp::FTanh
        | UnOp::FAsinh
        | UnOp::FAcosh
        | UnOp::FAtanh => 12,
        _ => 1,
    }
}

/// Emits both sides and what they set; false if that is not worth it.
fn select(
    pool: &mut Pool,
    cond: Reg,
    a: &Side<'_>,
    b: &Side<'_>,
    loc: Loc,
    out: &mut Block,
) -> bool {
    let mut vars: Vec<Reg> = a.sets.iter().chain(&b.sets).map(|s| s.0).collect();
    vars.sort_unstable();
    vars.dedup();
    // A value that is another var set here would be read too late.
    let reads_set = |s: &(Reg, Reg)| pool.kind(s.1) == RegKind::Var && vars.contains(&s.1);
    if vars.len() > MAX_SETS || a.sets.iter().chain(&b.sets).any(reads_set) {
        return false;
    }
    for &(inst, loc) in a.pure.iter().chain(&b.pure) {
        out.push(Stmt::Inst(inst.clone(), loc));
    }
    let mut chosen = Vec::new();
    for &var in &vars {
        let ty = pool.ty(var);
        let mut value = |side: &Side<'_>, pool: &mut Pool| {
            if let Some(s) = side.sets.iter().find(|s| s.0 == var) {
                return s.1;
            }
            let dst = pool.fresh(ty, RegKind::Temp);
            out.push(Stmt::Inst(Inst::Unary { op: UnOp::Copy, dst, a: var }, loc));
            dst
        };
        let (x, y) = (value(a, pool), value(b, pool));
        let dst = pool.fresh(ty, RegKind::Temp);
        let pure = Pure::Ter(TerOp::Select, cond, x, y);
        pool.set_def(dst, pure);
        out.push(Stmt::Inst(instruction(pure, dst), loc));
        chosen.push((var, dst));
    }
    for (var, value) in chosen {
        out.push(Stmt::Inst(Inst::Set { var, value }, loc));
    }
    true
}
