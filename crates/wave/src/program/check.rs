//! What this engine does not have yet, refused by name and line.

use wavefence_base::Limit;
use wavefence_shader::ir::{Inst, Kernel, Loc, Reg, Stmt, Ty};

/// Only 32-bit and `Bool` registers so far.
pub fn supported(kernel: &Kernel) -> Result<(), Limit> {
    let mut result = Ok(());
    kernel.walk(&mut |stmt| {
        if result.is_err() {
            return;
        }
        match stmt {
            Stmt::Inst(inst, loc) => {
                let mut wide = None;
                let mut look = |reg: Reg| wide = wide.or(width(kernel, reg));
                let mut seen = Vec::new();
                inst.registers(&mut |r| seen.push(r), &mut |_| {});
                let mut written = Vec::new();
                inst.registers(&mut |_| {}, &mut |r| written.push(r));
                seen.into_iter().chain(written).for_each(&mut look);
                if let Inst::DebugBreak | Inst::DebugPrint { .. } = inst {
                    result = Err(refuse(kernel, name(inst), *loc));
                } else if let Some(bits) = wide {
                    let what = format!("{bits}-bit values ({})", name(inst));
                    result = Err(refuse(kernel, &what, *loc));
                }
            }
            Stmt::Switch { selector, loc, .. } => {
                if let Some(bits) = width(kernel, *selector) {
                    result = Err(refuse(kernel, &format!("switch on {bits} bits"), *loc));
                }
            }
            Stmt::If { .. }
            | Stmt::Loop { .. }
            | Stmt::Scope { .. }
            | Stmt::Break(_)
            | Stmt::Continue(_)
            | Stmt::Return => {}
        }
    });
    result
}

/// The width of a register that is neither `Bool` nor 32 bits.
fn width(kernel: &Kernel, reg: Reg) -> Option<u32> {
    match kernel.reg(reg).ty {
        Ty::Bool | Ty::B32 => None,
        Ty::B8 => Some(8),
        Ty::B16 => Some(16),
        Ty::B64 => Some(64),
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
