//! Which conditions are kept packed, one bit per lane.
//!
//! A comparison that only branches read need not become a row of lanes. Logic on
//! such conditions (and on uniform ones, which look the same) works on the bits.

use super::alloc::node_registers;
use super::flatten::{List, Node};
use super::uniform::Facts;
use crate::simd::{LaneKind, as_words};
use wavefence_shader::ir::{BinOp, Kernel, Reg, RegKind, Ty, UnOp};

/// What makes a condition.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Made {
    Comparison,
    Logic,
    Other,
}

fn made(kind: LaneKind) -> Made {
    match kind {
        LaneKind::Bin(BinOp::And | BinOp::Or | BinOp::Xor) | LaneKind::Un(UnOp::Not) => Made::Logic,
        LaneKind::Bin(op) if op >= BinOp::IEq => Made::Comparison,
        LaneKind::Un(_)
        | LaneKind::Bin(_)
        | LaneKind::Ter(_)
        | LaneKind::MulAdd
        | LaneKind::MulSub
        | LaneKind::NegMulAdd
        | LaneKind::FmaSub
        | LaneKind::NegFma => Made::Other,
    }
}

/// Finds them: all that could be, less those that something else reads or makes.
pub fn pack(kernel: &Kernel, list: &List, facts: &mut Facts) {
    let mut packed = vec![false; kernel.regs.len()];
    for node in &list.nodes {
        if let Node::Lane(lane) = node {
            let decl = kernel.reg(lane.dst);
            let tys: Vec<Ty> = lane.src.iter().map(|&r| kernel.reg(r).ty).collect();
            packed[lane.dst.index()] = made(lane.kind) != Made::Other
                && as_words(lane.kind, decl.ty, &tys).is_some()
                && decl.ty == Ty::Bool
                && decl.kind == RegKind::Temp
                && !facts.is_uniform(lane.dst);
        }
    }
    for node in &list.nodes {
        if let Node::Inst(..) = node {
            node_registers(node, &mut |r| packed[r.index()] = false, &mut |_| {});
        }
    }
    let mut changed = true;
    while changed {
        changed = false;
        for node in &list.nodes {
            let Node::Lane(lane) = node else { continue };
            let small = |r: Reg, packed: &[bool]| packed[r.index()] || facts.is_uniform(r);
            let dst = lane.dst.index();
            let logic = made(lane.kind) == Made::Logic;
            if packed[dst] && logic && !lane.src.iter().all(|&r| small(r, &packed)) {
                packed[dst] = false;
                changed = true;
            }
            if !(packed[dst] && logic) {
                for r in &lane.src {
                    changed |= packed[r.index()];
                    packed[r.index()] = false;
                }
            }
        }
    }
    facts.packed = packed;
}
