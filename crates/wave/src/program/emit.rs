//! From nodes to steps: lane ops into the code, targets into step indices.

use super::alloc::Places;
use super::check::refuse;
use super::flatten::{Lane, List, Node};
use super::{Flat, Plain, Step, Target, issue};
use crate::exec::Issued;
use crate::simd::{Code, Isa, LaneKind, as_words, bits};
use std::sync::Arc;
use wavefence_base::{Limit, WaveSize};
use wavefence_shader::ir::{Inst, Kernel, Reg, RegKind, Ty};

/// Makes the program.
pub fn emit(
    kernel: &Arc<Kernel>,
    size: WaveSize,
    isa: Isa,
    list: List,
    places: Places,
) -> Result<Flat, Limit> {
    let mut first_slots = Vec::with_capacity(kernel.resources.len());
    let mut next = 0;
    for resource in &kernel.resources {
        first_slots.push(next);
        next += resource.count;
    }
    let mut flat = Flat {
        kernel: kernel.clone(),
        size,
        steps: Vec::new(),
        issued: Vec::new(),
        code: Code::new(isa, size.lanes() / 8),
        accesses: Vec::new(),
        insts: Vec::new(),
        locs: places.locs,
        chunks: places.chunks,
        rows: places.rows,
        slots: list.slots,
        constants: places.constants,
        builtins: places.builtins,
        zeros: places.zeros,
        first_slots,
        descriptors: next,
    };
    let mut targets = Vec::new();
    let mut open = false;
    for node in list.nodes {
        match node {
            Node::Lane(lane) => {
                let issued = push(&mut flat, &lane)?;
                let end = flat.code.size() as u32;
                if let (true, Some(Step::Ops { end: last, .. })) = (open, flat.steps.last_mut()) {
                    *last = end;
                    flat.issued.iter_mut().last().into_iter().for_each(|i| i.add(&issued));
                } else {
                    flat.add(Step::Ops { first: end - 1, end }, issued);
                    open = true;
                }
                continue;
            }
            Node::Inst(Inst::Builtin { .. }, _) => continue,
            Node::Inst(Inst::Load { dst, space, addr, order }, loc) => {
                let plain = flat.plain(&dst, space, addr, order, loc.0);
                flat.add_plain(plain, [Step::Load, Step::LoadSized]);
            }
            Node::Inst(Inst::Store { src, space, addr, order }, loc) => {
                let plain = flat.plain(&src, space, addr, order, loc.0);
                flat.add_plain(plain, [Step::Store, Step::StoreSized]);
            }
            Node::Inst(inst, loc) => {
                flat.add(Step::Inst(flat.insts.len() as u32), issue::inst(&inst, size));
                flat.insts.push((inst, loc.0));
            }
            Node::Step(step) => {
                let issued = issue::control(&step);
                flat.add(step, issued);
            }
            Node::Here(Target(number)) => {
                let number = number as usize;
                if targets.len() <= number {
                    targets.resize(number + 1, 0);
                }
                targets[number] = flat.steps.len() as u32;
            }
            Node::LoopBegin(_) | Node::LoopEnd(_) => continue,
        }
        open = false;
    }
    for step in &mut flat.steps {
        resolve(step, &mut |t| Target(targets[t.0 as usize]));
    }
    Ok(flat)
}

impl Flat {
    fn add(&mut self, step: Step, issued: Issued) {
        self.steps.push(step);
        self.issued.push(issued);
    }

    /// Adds a load or store: of words, or of another width or by address.
    fn add_plain(&mut self, plain: Plain, [words, sized]: [fn(u32) -> Step; 2]) {
        let step = if plain.is_words() { words } else { sized };
        self.add(step(self.accesses.len() as u32), issue::plain(&plain));
        self.accesses.push(plain);
    }
}

/// Adds a lane op; gives what it issues.
fn push(flat: &mut Flat, lane: &Lane) -> Result<Issued, Limit> {
    let ty = |reg: Reg| flat.kernel.reg(reg).ty;
    let dst = flat.loc(lane.dst);
    let src: Vec<_> = lane.src.iter().map(|&r| (ty(r), flat.loc(r))).collect();
    let tys: Vec<_> = src.iter().map(|s| s.0).collect();
    let issued = issue::lane(lane, dst.uniform && src.iter().all(|s| s.1.uniform), &tys);
    let masked = flat.kernel.reg(lane.dst).kind == RegKind::Var && !dst.uniform;
    let done = match as_words(lane.kind, ty(lane.dst), &tys) {
        Some(kind) => {
            let src: Vec<_> = src.iter().map(|s| s.1).collect();
            let packed = dst.uniform && src.iter().any(|s| !s.uniform);
            (packed && flat.code.push_test(kind, dst, &src))
                || flat.code.push(kind, dst, &src, masked, lane.raw)
        }
        None => {
            let dst = (ty(lane.dst), dst);
            flat.code.push_sized(lane.kind, dst, &src, masked)
        }
    };
    if done { Ok(issued) } else { Err(refused(flat, lane, &tys)) }
}

fn refused(flat: &Flat, lane: &Lane, tys: &[Ty]) -> Limit {
    let name = match lane.kind {
        LaneKind::Un(op) => op.name(),
        LaneKind::Bin(op) => op.name(),
        LaneKind::Ter(op) => op.name(),
        LaneKind::MulAdd | LaneKind::MulSub | LaneKind::NegMulAdd => "fmul and fadd",
        LaneKind::FmaSub | LaneKind::NegFma => "ffma",
    };
    let width = tys.iter().map(|&t| bits(t)).max().unwrap_or(32);
    refuse(&flat.kernel, &format!("{name} on {width} bits"), lane.loc)
}

fn resolve(step: &mut Step, place: &mut dyn FnMut(Target) -> Target) {
    match step {
        Step::If { empty, .. }
        | Step::Restore { empty, .. }
        | Step::Leave { empty, .. }
        | Step::Case { empty, .. } => *empty = place(*empty),
        Step::JumpIf { target, .. } | Step::Jump { target } => *target = place(*target),
        Step::Back { head, .. } => *head = place(*head),
        Step::Select { cases, other, .. } => {
            cases.iter_mut().for_each(|c| c.1 = place(c.1));
            *other = place(*other);
        }
        Step::Ops { .. }
        | Step::Save { .. }
        | Step::Switch { .. }
        | Step::Load(_)
        | Step::Store(_)
        | Step::LoadSized(_)
        | Step::StoreSized(_)
        | Step::Inst(_)
        | Step::End => {}
    }
}
