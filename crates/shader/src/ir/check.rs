//! What every kernel guarantees to engines.
//!
//! [`Kernel::check`] holds a kernel to these rules; the front end runs it on
//! whatever it makes, so an engine may rely on them without looking:
//!
//! - **Registers.** Every register index is in range. A const has exactly one
//!   value, which fits its type, and is never written. A temp is written by one
//!   instruction. A var is written by [`Inst::Set`] alone, which writes nothing
//!   else.
//! - **Definite writes.** A temp is read only where every path from the start
//!   of the kernel has written it; a temp written inside a loop is not read
//!   after that loop, nor in a later iteration before it is written again.
//! - **Types.** Operands and results have the types of the op table in
//!   `ir/check/types.rs`. Reductions and memory accesses take no `Bool`.
//! - **Control flow.** Labels are unique. `Break` names an enclosing loop, scope
//!   or switch; `Continue` an enclosing loop, from its body and not from its
//!   `continuing`. Nothing follows a `Break`, `Continue` or `Return` in its
//!   block. Values of a switch are distinct; at most one case is the default.
//! - **Resources.** Ids are in range; buffers are accessed as buffers, images
//!   and typed buffers as images, samplers as samplers. An element index stands
//!   only at arrays. Nothing that is `read_only` is written.
//! - **Sizes.** The group is not empty. Loads and stores have 1 to 4 components
//!   of one type. Clusters are powers of two up to 64. Source locations are in
//!   range.

mod flow;
mod types;

use super::*;
use std::fmt;

/// A rule that a kernel breaks: a bug of whoever made it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CheckError(pub String);

impl fmt::Display for CheckError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for CheckError {}

/// What most functions here give.
type Check = Result<(), CheckError>;

fn ensure(holds: bool, what: impl FnOnce() -> String) -> Check {
    if holds { Ok(()) } else { Err(CheckError(what())) }
}

impl Kernel {
    /// Holds the kernel to the rules at the top of `ir/check.rs`.
    ///
    /// # Errors
    /// The first rule found broken, with its place.
    pub fn check(&self) -> Check {
        ensure(self.group_size.iter().all(|&n| n > 0), || "the group is empty".to_owned())?;
        self.check_registers()?;
        self.check_resources()?;
        types::check(self)?;
        flow::check(self)
    }

    fn check_registers(&self) -> Check {
        let mut valued = vec![false; self.regs.len()];
        for &(reg, value) in &self.constants {
            let decl = self.regs.get(reg.index());
            let decl = decl.ok_or_else(|| CheckError(format!("constant {reg:?} out of range")))?;
            ensure(decl.kind == RegKind::Const, || format!("{reg:?} has a value but is no const"))?;
            ensure(!valued[reg.index()], || format!("{reg:?} has two values"))?;
            valued[reg.index()] = true;
            let fits = match decl.ty {
                Ty::Bool => value <= 1,
                Ty::B8 => value <= 0xFF,
                Ty::B16 => value <= 0xFFFF,
                Ty::B32 => value <= 0xFFFF_FFFF,
                Ty::B64 => true,
            };
            ensure(fits, || format!("value {value:#x} of {reg:?} does not fit {:?}", decl.ty))?;
        }
        for (i, decl) in self.regs.iter().enumerate() {
            ensure(decl.kind != RegKind::Const || valued[i], || format!("const {i} has no value"))?;
        }
        Ok(())
    }

    fn check_resources(&self) -> Check {
        let mut slots = 0u32;
        for r in &self.resources {
            let extension = matches!(r.kind, ResourceKind::Extension(_));
            ensure(extension == (r.count == 0), || format!("{} has count {}", r.name, r.count))?;
            slots = slots
                .checked_add(r.count)
                .ok_or_else(|| CheckError("too many descriptor slots".to_owned()))?;
        }
        for at in &self.locs {
            let known = (at.file as usize) < self.files.len() || at.line == 0;
            ensure(known, || format!("file {} of a source line is out of range", at.file))?;
        }
        ensure(!self.locs.is_empty(), || "locs has no entry 0".to_owned())
    }
}
