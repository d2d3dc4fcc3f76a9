//! What this engine does not have yet, refused by name and line.

use crate::simd::bits;
use wavefence_base::Limit;
use wavefence_shader::ir::{Inst, Kernel, Loc, Reg, Stmt, Ty};

/// Everything but atomics on what no memory here changes in one piece. (Lane ops
/// without a function for their width are refused when they are placed.)
pub fn supported(kernel: &Kernel) -> Result<(), Limit> {
    let mut result = Ok(());
    kernel.walk(&mut |stmt| {
        if let (Ok(()), Stmt::Inst(inst, loc)) = (&result, stmt)
            && let Some(ty) = odd_atomic(kernel, inst)
        {
            let what = format!("{} on {} bits", name(inst), bits(ty));
            result = Err(refuse(kernel, &what, *loc));
        }
    });
    result
}

/// The type an atomic works on, if that is not supported.
fn odd_atomic(kernel: &Kernel, inst: &Inst) -> Option<Ty> {
    let ty = |reg: &Option<Reg>| reg.map(|r| kernel.reg(r).ty);
    match inst {
        Inst::Atomic { dst, value, .. } => {
            ty(dst).or(ty(value)).filter(|t| !matches!(t, Ty::B32 | Ty::B64))
        }
        Inst::Gds { dst, value, .. } => ty(dst).or(ty(value)).filter(|&t| t != Ty::B32),
        Inst::Unary { .. }
        | Inst::Binary { .. }
        | Inst::Ternary { .. }
        | Inst::Set { .. }
        | Inst::Builtin { .. }
        | Inst::Reduce { .. }
        | Inst::ReducePartition { .. }
        | Inst::Wave { .. }
        | Inst::Ballot { .. }
        | Inst::Match { .. }
        | Inst::Load { .. }
        | Inst::Store { .. }
        | Inst::BufferSize { .. }
        | Inst::Image { .. }
        | Inst::Barrier(_)
        | Inst::OrderedAdd { .. }
        | Inst::DebugBreak
        | Inst::DebugPrint { .. }
        | Inst::Clock { .. } => None,
    }
}

/// The limit, with the line if there is one.
pub fn refuse(kernel: &Kernel, what: &str, loc: Loc) -> Limit {
    let at = kernel.line(loc).map_or(String::new(), |l| format!(" at {l}"));
    Limit::unsupported(format!(
        "{what} in `{}`{at}: the interpreter does not have it",
        kernel.entry
    ))
}

/// What to call an instruction.
pub fn name(inst: &Inst) -> &'static str {
    match inst {
        Inst::Unary { op, .. } => op.name(),
        Inst::Binary { op, .. } => op.name(),
        Inst::Ternary { op, .. } => op.name(),
        Inst::Set { .. } => "set",
        Inst::Builtin { which, .. } => which.name(),
        Inst::Reduce { op, .. } | Inst::ReducePartition { op, .. } => op.name(),
        Inst::Wave { op, .. } => op.name(),
        Inst::Ballot { .. } => "ballot",
        Inst::Match { .. } => "match",
        Inst::Load { .. } => "load",
        Inst::Store { .. } => "store",
        Inst::Atomic { op, .. } => op.name(),
        Inst::BufferSize { .. } => "buffer size",
        Inst::Image { .. } => "image operation",
        Inst::Barrier(_) => "barrier",
        Inst::OrderedAdd { .. } => "ordered add",
        Inst::Gds { .. } => "gds",
        Inst::Clock { .. } => "clock",
        Inst::DebugBreak => "a breakpoint",
        Inst::DebugPrint { .. } => "a printed line",
    }
}
