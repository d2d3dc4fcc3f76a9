//! What each step issues, by family: the model run's time follows from it.
//!
//! An instruction of the kernel counts as one of the hardware, but for the few that
//! are known to be several. What is one value for the whole wave is the scalar
//! unit's, as is all control flow.

use super::flatten::Lane;
use super::{Place, Plain, Step};
use crate::exec::Issued;
use crate::simd::LaneKind;
use wavefence_base::{OpFamily, WaveSize};
use wavefence_shader::ir::{BinOp, Inst, Space, Ty, UnOp};

/// Instructions of a search over the lanes, one a halving of the wave.
fn halvings(size: WaveSize) -> u32 {
    size.lanes().trailing_zeros()
}

/// A lane op with operands of types `tys`.
pub fn lane(lane: &Lane, uniform: bool, tys: &[Ty]) -> Issued {
    if uniform {
        return Issued::one(OpFamily::Scalar);
    }
    let wide = tys.contains(&Ty::B64);
    match lane.kind {
        LaneKind::Un(op) if quarter_un(op) => Issued::one(OpFamily::Quarter),
        LaneKind::Bin(op) if quarter_bin(op) => Issued::one(OpFamily::Quarter),
        // Fused by us; the hardware does both in one where rounding allows.
        LaneKind::MulAdd | LaneKind::MulSub | LaneKind::NegMulAdd if wide => {
            Issued::of(OpFamily::Double, 2)
        }
        LaneKind::MulAdd | LaneKind::MulSub | LaneKind::NegMulAdd => {
            Issued::of(OpFamily::Vector, 2)
        }
        LaneKind::FmaSub | LaneKind::NegFma if wide => Issued::one(OpFamily::Double),
        LaneKind::FmaSub | LaneKind::NegFma => Issued::one(OpFamily::Vector),
        LaneKind::Un(op) => vector(wide, op.name()),
        LaneKind::Bin(op) => vector(wide, op.name()),
        LaneKind::Ter(op) => vector(wide, op.name()),
    }
}

/// An op of the vector unit: of 64 bits floats have a family and the rest takes two.
/// Names of ops on floats begin with an f.
fn vector(wide: bool, name: &str) -> Issued {
    match wide {
        false => Issued::one(OpFamily::Vector),
        true if name.starts_with('f') && !name.starts_with("find") => Issued::one(OpFamily::Double),
        true => Issued::of(OpFamily::Vector, 2),
    }
}

fn quarter_un(op: UnOp) -> bool {
    use UnOp as U;
    matches!(
        op,
        U::FSqrt
            | U::FRsqrt
            | U::FExp
            | U::FExp2
            | U::FLog
            | U::FLog2
            | U::FSin
            | U::FCos
            | U::FTan
            | U::FAsin
            | U::FAcos
            | U::FAtan
            | U::FSinh
            | U::FCosh
            | U::FTanh
            | U::FAsinh
            | U::FAcosh
            | U::FAtanh
    )
}

fn quarter_bin(op: BinOp) -> bool {
    use BinOp as B;
    matches!(
        op,
        B::IMul
            | B::UMulHi
            | B::SMulHi
            | B::UDiv
            | B::SDiv
            | B::UMod
            | B::SRem
            | B::SMod
            | B::FDiv
            | B::FRem
            | B::FMod
            | B::FPow
            | B::FAtan2
    )
}

/// A load or store.
pub fn plain(plain: &Plain) -> Issued {
    Issued::one(match plain.place {
        Place::Lds { .. } => OpFamily::Shared,
        Place::Buffer(buffer) if buffer.constant => OpFamily::Scalar,
        Place::Buffer(_) | Place::Scratch { .. } | Place::Global { .. } => OpFamily::Memory,
    })
}

/// Another instruction.
pub fn inst(inst: &Inst, size: WaveSize) -> Issued {
    match inst {
        Inst::Atomic { space: Space::Lds, .. } | Inst::OrderedAdd { .. } | Inst::Gds { .. } => {
            Issued::one(OpFamily::Shared)
        }
        Inst::Atomic { .. } | Inst::Image { .. } => Issued::one(OpFamily::Memory),
        Inst::Reduce { .. } | Inst::ReducePartition { .. } => {
            Issued::of(OpFamily::Vector, halvings(size))
        }
        // A round for each value that differs; two are taken for the common case.
        Inst::Match { a, .. } => Issued::of(OpFamily::Vector, 2 * a.len() as u32),
        Inst::Wave { .. } | Inst::Ballot { .. } => Issued::one(OpFamily::Vector),
        Inst::BufferSize { .. } | Inst::Barrier(_) | Inst::Clock { .. } => {
            Issued::one(OpFamily::Scalar)
        }
        // For whoever looks on; the hardware has no such thing.
        Inst::DebugBreak | Inst::DebugPrint { .. } => Issued::default(),
        // Made into steps and preset registers.
        Inst::Unary { .. }
        | Inst::Binary { .. }
        | Inst::Ternary { .. }
        | Inst::Set { .. }
        | Inst::Builtin { .. }
        | Inst::Load { .. }
        | Inst::Store { .. } => Issued::default(),
    }
}

/// A step of control flow.
pub fn control(step: &Step) -> Issued {
    match step {
        // Masks that only we keep apart.
        Step::Save { .. } => Issued::default(),
        Step::Switch { cases, .. } => Issued::of(OpFamily::Scalar, 1 + cases.len() as u32),
        Step::Select { cases, .. } => Issued::of(OpFamily::Scalar, 1 + cases.len() as u32),
        Step::If { .. }
        | Step::Restore { .. }
        | Step::JumpIf { .. }
        | Step::Jump { .. }
        | Step::Back { .. }
        | Step::Leave { .. }
        | Step::Case { .. }
        | Step::End => Issued::one(OpFamily::Scalar),
        // Counted where they are made.
        Step::Ops { .. }
        | Step::Load(_)
        | Step::Store(_)
        | Step::LoadSized(_)
        | Step::StoreSized(_)
        | Step::Inst(_) => Issued::default(),
    }
}
