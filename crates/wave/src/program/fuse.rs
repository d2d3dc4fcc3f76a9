//! Fewer and cheaper lane ops, with the same results.
//!
//! - What nobody reads is dropped.
//! - A NaN whose bits nobody can see need not be the one NaN.
//! - A product that one sum takes becomes one op with it (still two roundings).
//! - An op whose result only goes into a var writes the var.
//!
//! Everything happens inside runs of nodes between jumps and jump targets.

use super::alloc::node_registers;
use super::flatten::{Lane, List, Node};
use super::uniform::Facts;
use crate::simd::LaneKind;
use wavefence_shader::ir::{BinOp, Kernel, Reg, RegKind, TerOp, Ty, UnOp};

/// How far apart two nodes may stand to become one.
const WINDOW: usize = 48;

/// Improves the list.
pub fn fuse(kernel: &Kernel, facts: &Facts, list: &mut List) {
    drop_unread(kernel, list);
    let mut pass = Pass { kernel, facts, uses: uses(kernel, list) };
    let nodes = std::mem::take(&mut list.nodes);
    let mut done: Vec<Node> = Vec::with_capacity(nodes.len());
    let mut run: Run = Vec::new();
    for node in nodes {
        if matches!(node, Node::Lane(_) | Node::Inst(..)) {
            run.push(Some(node));
        } else {
            pass.run(&mut run);
            done.extend(run.drain(..).flatten());
            done.push(node);
        }
    }
    pass.run(&mut run);
    done.extend(run.drain(..).flatten());
    list.nodes = done;
    mark_raw(kernel, list);
}

fn uses(kernel: &Kernel, list: &List) -> Vec<u32> {
    let mut uses = vec![0; kernel.regs.len()];
    for node in &list.nodes {
        node_registers(node, &mut |r| uses[r.index()] += 1, &mut |_| {});
    }
    uses
}

/// Drops pure nodes whose results nobody reads, and what only they read.
fn drop_unread(kernel: &Kernel, list: &mut List) {
    let mut uses = uses(kernel, list);
    let mut keep = vec![true; list.nodes.len()];
    let mut changed = true;
    while changed {
        changed = false;
        for (at, node) in list.nodes.iter().enumerate().rev() {
            let pure = match node {
                Node::Lane(_) => true,
                Node::Inst(inst, _) => inst.is_pure(),
                Node::Step(_) | Node::Here(_) | Node::LoopBegin(_) | Node::LoopEnd(_) => false,
            };
            let mut read = false;
            node_registers(node, &mut |_| {}, &mut |r| read |= uses[r.index()] > 0);
            if keep[at] && pure && !read {
                keep[at] = false;
                changed = true;
                node_registers(node, &mut |r| uses[r.index()] -= 1, &mut |_| {});
            }
        }
    }
    let mut keep = keep.into_iter();
    list.nodes.retain(|_| keep.next().unwrap_or(true));
}

/// Nodes between jumps; `None` where one went away.
type Run = Vec<Option<Node>>;

/// The lane op at `at`, if there is one.
fn lane_at(nodes: &Run, at: usize) -> Option<&Lane> {
    match &nodes[at] {
        Some(Node::Lane(lane)) => Some(lane),
        Some(
            Node::Inst(..) | Node::Step(_) | Node::Here(_) | Node::LoopBegin(_) | Node::LoopEnd(_),
        )
        | None => None,
    }
}

struct Pass<'k> {
    kernel: &'k Kernel,
    facts: &'k Facts,
    uses: Vec<u32>,
}

impl Pass<'_> {
    /// One run between jumps.
    fn run(&mut self, nodes: &mut Run) {
        for at in 0..nodes.len() {
            while self.sum(nodes, at) || self.negated(nodes, at) || self.set(nodes, at) {}
        }
    }

    fn var(&self, reg: Reg) -> bool {
        self.kernel.reg(reg).kind == RegKind::Var
    }

    /// The node of `nodes[..at]` that makes the temp `reg`, if near and a lane op.
    fn maker(&self, nodes: &Run, at: usize, reg: Reg) -> Option<usize> {
        if self.kernel.reg(reg).kind != RegKind::Temp || self.uses[reg.index()] != 1 {
            return None;
        }
        let makes = |i: &usize| lane_at(nodes, *i).is_some_and(|lane| lane.dst == reg);
        (at.saturating_sub(WINDOW)..at).rev().find(makes)
    }

    /// True if a node strictly between writes one of `regs`.
    fn written(nodes: &Run, after: usize, before: usize, regs: &[Reg]) -> bool {
        let mut hit = false;
        for node in nodes[after + 1..before].iter().flatten() {
            node_registers(node, &mut |_| {}, &mut |r| hit |= regs.contains(&r));
        }
        hit
    }

    /// True if a node strictly between reads or writes `reg`.
    fn touched(nodes: &Run, after: usize, before: usize, reg: Reg) -> bool {
        let mut hit = Self::written(nodes, after, before, &[reg]);
        for node in nodes[after + 1..before].iter().flatten() {
            node_registers(node, &mut |r| hit |= r == reg, &mut |_| {});
        }
        hit
    }

    /// True if `lane` gives 32 bits: the joined forms are of those alone.
    fn words(&self, lane: &Lane) -> bool {
        self.kernel.reg(lane.dst).ty == Ty::B32
    }

    /// Joins the sum or difference at `at` with a product it takes.
    fn sum(&mut self, nodes: &mut Run, at: usize) -> bool {
        let Some(lane) = lane_at(nodes, at).filter(|l| self.words(l)) else { return false };
        let kinds = match lane.kind {
            LaneKind::Bin(BinOp::FAdd) => [LaneKind::MulAdd, LaneKind::MulAdd],
            LaneKind::Bin(BinOp::FSub) => [LaneKind::MulSub, LaneKind::NegMulAdd],
            LaneKind::Un(_)
            | LaneKind::Bin(_)
            | LaneKind::Ter(_)
            | LaneKind::MulAdd
            | LaneKind::MulSub
            | LaneKind::NegMulAdd
            | LaneKind::FmaSub
            | LaneKind::NegFma => return false,
        };
        // The second operand first: in a chain of sums it is the fresh product.
        for side in [1, 0] {
            let Some(from) = self.maker(nodes, at, lane.src[side]) else { continue };
            let Some(product) = lane_at(nodes, from) else { continue };
            let alike = self.facts.is_uniform(product.dst) == self.facts.is_uniform(lane.dst);
            if product.kind != LaneKind::Bin(BinOp::FMul)
                || !alike
                || Self::written(nodes, from, at, &product.src)
            {
                continue;
            }
            let mut joined = lane.clone();
            joined.kind = kinds[side];
            joined.src = vec![product.src[0], product.src[1], lane.src[1 - side]];
            self.uses[product.dst.index()] = 0;
            nodes[at] = Some(Node::Lane(joined));
            nodes[from] = None;
            return true;
        }
        false
    }

    /// Takes a negation into the fused product and sum at `at`.
    fn negated(&mut self, nodes: &mut Run, at: usize) -> bool {
        let Some(lane) = lane_at(nodes, at).filter(|l| self.words(l)) else { return false };
        if lane.kind != LaneKind::Ter(TerOp::FFma) {
            return false;
        }
        for side in [2, 0, 1] {
            let Some(from) = self.maker(nodes, at, lane.src[side]) else { continue };
            let Some(negation) = lane_at(nodes, from) else { continue };
            let alike = self.facts.is_uniform(negation.dst) == self.facts.is_uniform(lane.dst);
            if negation.kind != LaneKind::Un(UnOp::FNeg)
                || !alike
                || Self::written(nodes, from, at, &negation.src)
            {
                continue;
            }
            let mut joined = lane.clone();
            joined.kind = if side == 2 { LaneKind::FmaSub } else { LaneKind::NegFma };
            joined.src[side] = negation.src[0];
            self.uses[negation.dst.index()] = 0;
            nodes[at] = Some(Node::Lane(joined));
            nodes[from] = None;
            return true;
        }
        false
    }

    /// Lets the op that makes the value of a `Set` write the var itself.
    fn set(&mut self, nodes: &mut Run, at: usize) -> bool {
        let Some(lane) = lane_at(nodes, at) else { return false };
        if lane.kind != LaneKind::Un(UnOp::Copy) || !self.var(lane.dst) {
            return false;
        }
        let var = lane.dst;
        let Some(from) = self.maker(nodes, at, lane.src[0]) else { return false };
        let Some(maker) = lane_at(nodes, from) else { return false };
        let value = maker.dst;
        let mut maker = maker.clone();
        maker.dst = var;
        if !Self::touched(nodes, from, at, var) {
            nodes[from] = Some(Node::Lane(maker));
            nodes[at] = None;
        } else if !Self::written(nodes, from, at, &maker.src) {
            nodes[at] = Some(Node::Lane(maker));
            nodes[from] = None;
        } else {
            return false;
        }
        self.uses[value.index()] = 0;
        true
    }
}

/// What an op lets show of the bits of a NaN among its operands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shows {
    /// Nothing: it computes with the value.
    Nothing,
    /// As much as its own result shows.
    AsResult,
    /// All.
    All,
}

fn shows(kind: LaneKind, operand: usize) -> Shows {
    match kind {
        LaneKind::MulAdd | LaneKind::MulSub | LaneKind::NegMulAdd => Shows::Nothing,
        LaneKind::FmaSub | LaneKind::NegFma | LaneKind::Ter(TerOp::FFma) => Shows::Nothing,
        LaneKind::Ter(TerOp::Select) if operand > 0 => Shows::AsResult,
        LaneKind::Ter(TerOp::Select | TerOp::BitfieldSExtract | TerOp::BitfieldUExtract) => {
            Shows::All
        }
        LaneKind::Bin(BinOp::FLdexp) if operand == 0 => Shows::Nothing,
        LaneKind::Bin(op) if float_bin(op) => Shows::Nothing,
        LaneKind::Bin(_) => Shows::All,
        LaneKind::Un(UnOp::FNeg | UnOp::FAbs | UnOp::Copy) => Shows::AsResult,
        LaneKind::Un(op) if float_un(op) => Shows::Nothing,
        LaneKind::Un(_) => Shows::All,
    }
}

/// Ops of floats alone, whose results do not depend on which NaN they get.
fn float_bin(op: BinOp) -> bool {
    use BinOp as B;
    let sums = [B::FAdd, B::FSub, B::FMul, B::FDiv, B::FRem, B::FMod, B::FMin, B::FMax];
    let ordered = [B::FOEq, B::FONe, B::FOLt, B::FOLe, B::FOGt, B::FOGe];
    let unordered = [B::FUEq, B::FUNe, B::FULt, B::FULe, B::FUGt, B::FUGe];
    sums.contains(&op)
        || ordered.contains(&op)
        || unordered.contains(&op)
        || [B::FPow, B::FAtan2].contains(&op)
}

/// Likewise.
fn float_un(op: UnOp) -> bool {
    use UnOp as U;
    let exact = [U::FFloor, U::FCeil, U::FTrunc, U::FRoundEven, U::FFract, U::FSqrt, U::FRsqrt];
    let series = [U::FExp, U::FExp2, U::FLog, U::FLog2, U::FSin, U::FCos, U::FTan];
    let checks = [U::FIsNan, U::FToS, U::FToU];
    exact.contains(&op) || series.contains(&op) || checks.contains(&op)
}

/// Marks the ops whose NaN results nobody can tell apart.
fn mark_raw(kernel: &Kernel, list: &mut List) {
    let mut shown = vec![false; kernel.regs.len()];
    for node in &list.nodes {
        if !matches!(node, Node::Lane(_)) {
            node_registers(node, &mut |r| shown[r.index()] = true, &mut |_| {});
        }
    }
    let mut changed = true;
    while changed {
        changed = false;
        for node in list.nodes.iter().rev() {
            let Node::Lane(Lane { kind, dst, src, .. }) = node else { continue };
            for (i, reg) in src.iter().enumerate() {
                let seen = match shows(*kind, i) {
                    Shows::Nothing => false,
                    Shows::AsResult => shown[dst.index()],
                    Shows::All => true,
                };
                changed |= seen && !shown[reg.index()];
                shown[reg.index()] |= seen;
            }
        }
    }
    for node in &mut list.nodes {
        if let Node::Lane(lane) = node {
            lane.raw = !shown[lane.dst.index()];
        }
    }
}
