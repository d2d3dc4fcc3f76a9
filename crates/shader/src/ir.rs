//! The wave IR: a validated [`Kernel`] that engines run without further checks.
//!
//! Shape:
//! - Everything is scalar. A vector, matrix, struct or small array of the source
//!   language is several registers; a register holds one value per lane.
//! - Control flow is a tree of [`Stmt`]. Lanes that part in an `If`, `Switch`,
//!   `Loop` or `Scope` meet again at its end (maximal reconvergence).
//! - Three kinds of register ([`RegKind`]). A *temp* is written by one
//!   instruction and read only by lanes that ran it since, so an engine may
//!   write all its lanes regardless of the exec mask. A *var* is written by
//!   [`Inst::Set`] alone, under the exec mask. A *const* is never written.
//! - All functions are inlined; recursion was refused before.
//!
//! What [`Kernel::check`] guarantees is listed there; engines rely on it.

mod check;
mod format;
mod inst;
mod loops;
mod print;
mod resource;
mod visit;

pub use check::CheckError;
pub use format::{FormatError, PrintFormat};
pub use inst::*;
pub use loops::{Definitions, LoopExit, LoopRef};
pub use resource::*;

use wavefence_base::WaveSize;

/// A register: index into [`Kernel::regs`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Reg(pub u32);

impl Reg {
    /// As an index.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// What one lane of a register holds. Signedness and float-ness are the ops'.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Ty {
    /// A truth value.
    Bool,
    /// 8 bits.
    B8,
    /// 16 bits.
    B16,
    /// 32 bits.
    B32,
    /// 64 bits.
    B64,
}

/// How a register may be written.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum RegKind {
    /// By one instruction; lanes outside the exec mask may get garbage.
    Temp,
    /// By [`Inst::Set`], under the exec mask. Starts as 0.
    Var,
    /// Never; the value is in [`Kernel::constants`].
    Const,
}

/// One register.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct RegDecl {
    /// Its type.
    pub ty: Ty,
    /// How it is written.
    pub kind: RegKind,
}

/// Index into [`Kernel::locs`]; [`Loc::NONE`] where the module kept no line.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Loc(pub u32);

impl Loc {
    /// No source line known.
    pub const NONE: Self = Self(0);
}

/// A line of a source file.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct SourceLoc {
    /// Index into [`Kernel::files`].
    pub file: u32,
    /// From 1; 0 if unknown.
    pub line: u32,
    /// From 1; 0 if unknown.
    pub column: u32,
}

/// Which wave sizes a kernel may run with.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum WaveRule {
    /// 64 lanes; `__XBOX_ENABLE_WAVE32` was not set. (Engines can run it with
    /// either; the API layer holds the rule.)
    Wave64,
    /// Compiled with `__XBOX_ENABLE_WAVE32` non-zero: may be launched with W32.
    Wave32,
    /// `[WaveSize(n)]` fixes it.
    Fixed(WaveSize),
}

/// What a kernel uses beyond plain arithmetic; known before it runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Uses {
    /// Ordered append operations.
    pub ordered_append: bool,
    /// Global data share.
    pub gds: bool,
    /// The clock.
    pub clock: bool,
    /// Group barriers.
    pub barrier: bool,
    /// Atomics on memory or images.
    pub atomics: bool,
    /// Cross-lane operations, so that results depend on the wave size.
    pub cross_lane: bool,
    /// Breakpoints or printed lines.
    pub debug: bool,
}

/// A label that `Break` and `Continue` name; unique within a kernel.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct Label(pub u32);

/// A sequence of statements.
pub type Block = Vec<Stmt>;

/// Structured control flow. "Lanes" means the lanes that reach the statement.
#[derive(Clone, PartialEq, Debug)]
pub enum Stmt {
    /// One instruction.
    Inst(Inst, Loc),
    /// Lanes with `cond` run `then`, the others `els`; they meet after both.
    If {
        /// A [`Ty::Bool`] register.
        cond: Reg,
        /// Where `cond` holds.
        then: Block,
        /// Where it does not.
        els: Block,
        /// Source line.
        loc: Loc,
    },
    /// Repeats `body` then `continuing` while any lane is left. `Continue` ends
    /// the body for a lane, which joins the others at `continuing`; `Break`
    /// takes a lane out. Lanes that left meet after the loop. A loop without
    /// `Break`, `Return` or outer `Break` never ends.
    Loop {
        /// Named by `Break` and `Continue`.
        label: Label,
        /// The body.
        body: Block,
        /// Run once per iteration by all lanes still in the loop; may `Break`,
        /// may not `Continue`.
        continuing: Block,
        /// Source line.
        loc: Loc,
    },
    /// Runs `body` once; lanes that `Break` meet the others at its end.
    Scope {
        /// Named by `Break`.
        label: Label,
        /// The body.
        body: Block,
    },
    /// As C's `switch`: a lane enters at its case (or the default, wherever that
    /// stands in the list) and falls through to the next case until `Break`.
    /// Case values are distinct; at most one case is the default; a lane that
    /// matches nothing goes to the end.
    Switch {
        /// Named by `Break`.
        label: Label,
        /// The selector.
        selector: Reg,
        /// The cases in order.
        cases: Vec<Case>,
        /// Source line.
        loc: Loc,
    },
    /// Leaves the loop, scope or switch of that label.
    Break(Label),
    /// Ends the body of the loop of that label.
    Continue(Label),
    /// Ends the lane's run of the kernel.
    Return,
}

/// One case of a [`Stmt::Switch`].
#[derive(Clone, PartialEq, Debug)]
pub struct Case {
    /// Values that enter here (bits, zero-extended).
    pub values: Vec<u64>,
    /// True if lanes that match no case enter here.
    pub default: bool,
    /// The statements.
    pub body: Block,
}

/// One entry point, ready to run.
#[derive(Clone, PartialEq, Debug)]
pub struct Kernel {
    /// Entry point name.
    pub entry: String,
    /// Threads per group.
    pub group_size: [u32; 3],
    /// Wave sizes it may run with.
    pub wave: WaveRule,
    /// Resources in slot order. A resource with `count` n takes n slots.
    pub resources: Vec<Resource>,
    /// Group-shared memory in bytes.
    pub lds_bytes: u32,
    /// Private memory per lane in bytes (arrays with run-time indices). Starts
    /// as 0.
    pub scratch_bytes: u32,
    /// Registers.
    pub regs: Vec<RegDecl>,
    /// Value of every [`RegKind::Const`] register, zero-extended (`Bool`: 0 or 1).
    pub constants: Vec<(Reg, u64)>,
    /// The code.
    pub body: Block,
    /// Source lines; entry 0 is "unknown".
    pub locs: Vec<SourceLoc>,
    /// Source file names.
    pub files: Vec<String>,
    /// Texts that [`Inst::DebugPrint`] writes.
    pub formats: Vec<PrintFormat>,
    /// What it uses.
    pub uses: Uses,
}

impl Kernel {
    /// The declaration of `reg`.
    pub fn reg(&self, reg: Reg) -> RegDecl {
        self.regs[reg.index()]
    }

    /// `file:line` of `loc`, if known.
    pub fn line(&self, loc: Loc) -> Option<String> {
        let at = self.locs.get(loc.0 as usize)?;
        if loc == Loc::NONE || at.line == 0 {
            return None;
        }
        let file = self.files.get(at.file as usize).map_or("<source>", String::as_str);
        Some(format!("{file}:{}", at.line))
    }

    /// Number of threads in a group.
    pub fn threads(&self) -> u32 {
        self.group_size.iter().product()
    }

    /// Number of descriptor slots.
    pub fn slots(&self) -> u32 {
        self.resources.iter().map(|r| r.count).sum()
    }

    /// The first descriptor slot of `resource`.
    pub fn first_slot(&self, resource: ResourceId) -> u32 {
        self.resources[..resource.index()].iter().map(|r| r.count).sum()
    }

    /// What the code uses: the value that [`uses`](Self::uses) should have.
    pub fn find_uses(&self) -> Uses {
        let mut uses = Uses::default();
        self.walk(&mut |stmt| {
            let Stmt::Inst(inst, _) = stmt else { return };
            match inst {
                Inst::OrderedAdd { .. } => uses.ordered_append = true,
                Inst::Gds { .. } => uses.gds = true,
                Inst::Clock { .. } => uses.clock = true,
                Inst::DebugBreak | Inst::DebugPrint { .. } => uses.debug = true,
                Inst::Barrier(b) => uses.barrier |= b.sync,
                Inst::Atomic { .. } | Inst::Image { op: ImageOp::Atomic(_), .. } => {
                    uses.atomics = true;
                }
                Inst::Reduce { .. }
                | Inst::ReducePartition { .. }
                | Inst::Wave { .. }
                | Inst::Ballot { .. }
                | Inst::Match { .. } => uses.cross_lane = true,
                Inst::Builtin { which, .. } => {
                    uses.cross_lane |= matches!(
                        which,
                        Builtin::Lane
                            | Builtin::LaneCount
                            | Builtin::WaveIndex
                            | Builtin::WaveCount
                    );
                }
                Inst::Image { op: ImageOp::Sample { lod: Lod::Implicit(_), .. }, .. } => {
                    uses.cross_lane = true;
                }
                Inst::Unary { .. }
                | Inst::Binary { .. }
                | Inst::Ternary { .. }
                | Inst::Set { .. }
                | Inst::Load { .. }
                | Inst::Store { .. }
                | Inst::BufferSize { .. }
                | Inst::Image { .. } => {}
            }
        });
        uses
    }

    /// Every statement in program order, outer before inner.
    pub fn walk(&self, visit: &mut dyn FnMut(&Stmt)) {
        fn go(block: &Block, visit: &mut dyn FnMut(&Stmt)) {
            for stmt in block {
                visit(stmt);
                match stmt {
                    Stmt::Inst(..) | Stmt::Break(_) | Stmt::Continue(_) | Stmt::Return => {}
                    Stmt::If { then, els, .. } => {
                        go(then, visit);
                        go(els, visit);
                    }
                    Stmt::Loop { body, continuing, .. } => {
                        go(body, visit);
                        go(continuing, visit);
                    }
                    Stmt::Scope { body, .. } => go(body, visit),
                    Stmt::Switch { cases, .. } => {
                        for case in cases {
                            go(&case.body, visit);
                        }
                    }
                }
            }
        }
        go(&self.body, visit);
    }
}

#[cfg(test)]
mod tests;
