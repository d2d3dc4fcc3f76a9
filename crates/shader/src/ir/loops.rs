//! What lets a loop end: its ways out as conditions, and conditions as text.
//! For reports of loops that do not.

use super::*;
use crate::lower::fold;
use std::collections::BTreeMap;

/// Operators deep that an expression is spelt out.
const DEPTH: u32 = 4;

/// One loop of a kernel.
#[derive(Clone, Copy, Debug)]
pub struct LoopRef<'k> {
    /// Its label.
    pub label: Label,
    /// Its source line.
    pub loc: Loc,
    /// Loops around it.
    pub depth: u32,
    body: &'k Block,
    continuing: &'k Block,
}

/// One way out of a loop: lanes leave it where all of these hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoopExit {
    /// `Bool` registers, and what each must be; empty if nothing is asked.
    pub conditions: Vec<(Reg, bool)>,
    /// Source line of the last condition.
    pub loc: Loc,
}

/// Where each register is written: temps once, vars any number of times.
#[derive(Debug, Default)]
pub struct Definitions<'k> {
    by_reg: BTreeMap<u32, Vec<(&'k Inst, Loc)>>,
    constants: BTreeMap<u32, u64>,
}

impl<'k> Definitions<'k> {
    /// The instructions that write `reg`, with their lines.
    pub fn of(&self, reg: Reg) -> &[(&'k Inst, Loc)] {
        self.by_reg.get(&reg.0).map_or(&[], Vec::as_slice)
    }

    /// The value of a register that is a constant.
    pub fn constant(&self, reg: Reg) -> Option<u64> {
        self.constants.get(&reg.0).copied()
    }
}

impl Kernel {
    /// Every loop in program order, outer before inner.
    pub fn loops(&self) -> Vec<LoopRef<'_>> {
        fn go<'k>(block: &'k Block, depth: u32, out: &mut Vec<LoopRef<'k>>) {
            for stmt in block {
                match stmt {
                    Stmt::Inst(..) | Stmt::Break(_) | Stmt::Continue(_) | Stmt::Return => {}
                    Stmt::If { then, els, .. } => {
                        go(then, depth, out);
                        go(els, depth, out);
                    }
                    Stmt::Loop { label, body, continuing, loc } => {
                        let (label, loc) = (*label, *loc);
                        out.push(LoopRef { label, loc, depth, body, continuing });
                        go(body, depth + 1, out);
                        go(continuing, depth + 1, out);
                    }
                    Stmt::Scope { body, .. } => go(body, depth, out),
                    Stmt::Switch { cases, .. } => {
                        cases.iter().for_each(|c| go(&c.body, depth, out));
                    }
                }
            }
        }
        let mut out = Vec::new();
        go(&self.body, 0, &mut out);
        out
    }

    /// Where registers are written.
    pub fn definitions(&self) -> Definitions<'_> {
        fn go<'k>(block: &'k Block, out: &mut BTreeMap<u32, Vec<(&'k Inst, Loc)>>) {
            for stmt in block {
                match stmt {
                    Stmt::Inst(inst, loc) => inst.registers(&mut |_| (), &mut |reg| {
                        out.entry(reg.0).or_default().push((inst, *loc));
                    }),
                    Stmt::Break(_) | Stmt::Continue(_) | Stmt::Return => {}
                    Stmt::If { then, els, .. } => {
                        go(then, out);
                        go(els, out);
                    }
                    Stmt::Loop { body, continuing, .. } => {
                        go(body, out);
                        go(continuing, out);
                    }
                    Stmt::Scope { body, .. } => go(body, out),
                    Stmt::Switch { cases, .. } => cases.iter().for_each(|c| go(&c.body, out)),
                }
            }
        }
        let mut by_reg = BTreeMap::new();
        go(&self.body, &mut by_reg);
        let constants = self.constants.iter().map(|&(reg, value)| (reg.0, value)).collect();
        Definitions { by_reg, constants }
    }

    /// What a same-lane operation gives for operands that `value` knows; `None` if it
    /// is another instruction, an operand is not known, or engines need not agree.
    pub fn evaluate(&self, inst: &Inst, value: &mut dyn FnMut(Reg) -> Option<u64>) -> Option<u64> {
        let ty = |reg: &Reg| self.reg(*reg).ty;
        match inst {
            Inst::Unary { op, dst, a } => fold::unary(*op, ty(a), ty(dst), value(*a)?),
            Inst::Binary { op, dst: _, a, b } => fold::binary(*op, ty(a), value(*a)?, value(*b)?),
            Inst::Ternary { op, dst, a, b, c } => {
                fold::ternary(*op, ty(dst), [value(*a)?, value(*b)?, value(*c)?])
            }
            _ => None,
        }
    }

    /// A register as an expression of what it comes from. `value` gives what is known
    /// of a register now; a var is spelt as its value.
    pub fn expression(
        &self,
        reg: Reg,
        definitions: &Definitions<'_>,
        value: &mut dyn FnMut(Reg) -> Option<u64>,
    ) -> String {
        Speller { kernel: self, definitions, value }.reg(reg, DEPTH, Form::Unsigned)
    }

    /// A condition as an expression: what holds where `reg` is `wanted`.
    pub fn condition(
        &self,
        reg: Reg,
        wanted: bool,
        definitions: &Definitions<'_>,
        value: &mut dyn FnMut(Reg) -> Option<u64>,
    ) -> String {
        Speller { kernel: self, definitions, value }.condition(reg, wanted, DEPTH)
    }
}

impl LoopRef<'_> {
    /// Its ways out; none if nothing in it leaves it.
    pub fn exits(&self) -> Vec<LoopExit> {
        let mut walk = Exits {
            own: self.label,
            inside: Vec::new(),
            conditions: Vec::new(),
            found: Vec::new(),
        };
        walk.block(self.body);
        walk.block(self.continuing);
        walk.found
    }
}

struct Exits {
    /// The loop's own label.
    own: Label,
    /// Labels of what stands inside the loop.
    inside: Vec<Label>,
    conditions: Vec<(Reg, bool, Loc)>,
    found: Vec<LoopExit>,
}

impl Exits {
    fn block(&mut self, block: &Block) {
        let depth = self.conditions.len();
        for stmt in block {
            match stmt {
                Stmt::Inst(..) => {}
                Stmt::Break(label) | Stmt::Continue(label) => {
                    let stays = matches!(stmt, Stmt::Continue(_)) && *label == self.own;
                    if !stays && !self.inside.contains(label) {
                        self.add();
                    }
                }
                Stmt::Return => self.add(),
                Stmt::If { cond, then, els, loc } => {
                    for (branch, wanted) in [(then, true), (els, false)] {
                        self.conditions.push((*cond, wanted, *loc));
                        self.block(branch);
                        self.conditions.pop();
                    }
                    // Behind `if (c) continue;` only lanes without `c` are left.
                    let leaves = |b: &Block| {
                        matches!(b.last(), Some(Stmt::Break(_) | Stmt::Continue(_) | Stmt::Return))
                    };
                    match (leaves(then), leaves(els)) {
                        (true, false) => self.conditions.push((*cond, false, *loc)),
                        (false, true) => self.conditions.push((*cond, true, *loc)),
                        (true, true) | (false, false) => {}
                    }
                }
                Stmt::Loop { label, body, continuing, .. } => {
                    self.inside.push(*label);
                    self.block(body);
                    self.block(continuing);
                    self.inside.pop();
                }
                Stmt::Scope { label, body } => {
                    self.inside.push(*label);
                    self.block(body);
                    self.inside.pop();
                }
                Stmt::Switch { label, cases, .. } => {
                    self.inside.push(*label);
                    cases.iter().for_each(|c| self.block(&c.body));
                    self.inside.pop();
                }
            }
        }
        self.conditions.truncate(depth);
    }

    fn add(&mut self) {
        let loc = self.conditions.last().map_or(Loc::NONE, |c| c.2);
        let conditions: Vec<_> = self.conditions.iter().map(|c| (c.0, c.1)).collect();
        let exit = LoopExit { conditions, loc };
        if !self.found.contains(&exit) {
            self.found.push(exit);
        }
    }
}

/// How bits are shown.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Unsigned,
    Signed,
    Float,
}

struct Speller<'a, 'k> {
    kernel: &'a Kernel,
    definitions: &'a Definitions<'k>,
    value: &'a mut dyn FnMut(Reg) -> Option<u64>,
}

impl Speller<'_, '_> {
    fn number(&self, reg: Reg, bits: u64, form: Form) -> String {
        match (self.kernel.reg(reg).ty, form) {
            (Ty::Bool, _) => (bits != 0).to_string(),
            (Ty::B32, Form::Signed) => (bits as u32 as i32).to_string(),
            (Ty::B64, Form::Signed) => (bits as i64).to_string(),
            (Ty::B16, Form::Signed) => (bits as u16 as i16).to_string(),
            (Ty::B32, Form::Float) => format!("{:?}", f32::from_bits(bits as u32)),
            (Ty::B64, Form::Float) => format!("{:?}", f64::from_bits(bits)),
            (Ty::B8 | Ty::B16 | Ty::B32 | Ty::B64, _) => bits.to_string(),
        }
    }

    /// What a register is, with the value where it is no constant.
    fn reg(&mut self, reg: Reg, depth: u32, form: Form) -> String {
        if let Some(bits) = self.definitions.constant(reg) {
            return self.number(reg, bits, form);
        }
        let now = (self.value)(reg).map(|bits| self.number(reg, bits, form));
        if self.kernel.reg(reg).kind == RegKind::Var {
            return now.unwrap_or_else(|| format!("${}", reg.0));
        }
        let spelt = match self.definitions.of(reg) {
            [(inst, _)] if depth > 0 => self.inst(inst, depth - 1, form),
            _ => None,
        };
        match (spelt, now) {
            (Some((text, true)), Some(now)) => format!("{text} ({now})"),
            (Some((text, _)), _) => text,
            (None, Some(now)) => now,
            (None, None) => format!("%{}", reg.0),
        }
    }

    /// The text of an instruction's result; true if its value belongs beside it.
    fn inst(&mut self, inst: &Inst, depth: u32, form: Form) -> Option<(String, bool)> {
        Some(match inst {
            Inst::Load { space, addr, .. } => (self.place(*space, *addr, depth), true),
            Inst::Atomic { op, space, addr, .. } => {
                let place = self.place(*space, *addr, depth);
                (format!("atomic {} of {place}", op.name()), true)
            }
            Inst::Image { image, coords, .. } => {
                let coords: Vec<String> =
                    coords.iter().map(|&c| self.reg(c, depth, Form::Unsigned)).collect();
                (format!("{}[{}]", self.resource(*image), coords.join(", ")), true)
            }
            Inst::Builtin { which, .. } => (which.name().to_owned(), true),
            Inst::Unary { op: UnOp::Copy | UnOp::UConvert | UnOp::SConvert, a, .. } => {
                (self.reg(*a, depth, form), false)
            }
            Inst::Unary { op, a, .. } => {
                (format!("{}({})", op.name(), self.reg(*a, depth, form)), false)
            }
            Inst::Binary { op, a, b, .. } => {
                let (symbol, form) = symbol(*op, form);
                let (a, b) = (self.reg(*a, depth, form), self.reg(*b, depth, form));
                match symbol {
                    Some(symbol) => (format!("{a} {symbol} {b}"), false),
                    None => (format!("{}({a}, {b})", op.name()), false),
                }
            }
            Inst::Wave { op, a: Some(a), .. } => {
                (format!("wave {} of {}", op.name(), self.reg(*a, depth, form)), false)
            }
            Inst::Reduce { op, a, .. } => {
                (format!("wave {} of {}", op.name(), self.reg(*a, depth, form)), false)
            }
            _ => return None,
        })
    }

    fn resource(&self, at: ResourceRef) -> &str {
        self.kernel.resources.get(at.resource.index()).map_or("?", |r| r.name.as_str())
    }

    fn place(&mut self, space: Space, addr: Addr, depth: u32) -> String {
        let name = match space {
            Space::Buffer(at) => self.resource(at).to_owned(),
            Space::Lds => "group-shared memory".to_owned(),
            Space::Scratch => "a private array".to_owned(),
            Space::Global(_) => "memory by address".to_owned(),
        };
        match (addr.index, addr.offset) {
            (None, offset) => format!("{name}[byte {offset}]"),
            (Some(index), offset) => {
                let now = (self.value)(index);
                let at = now
                    .map(|i| (i as u32).wrapping_mul(addr.scale).wrapping_add(offset).to_string());
                let at = at.unwrap_or_else(|| {
                    let index = self.reg(index, depth.min(1), Form::Unsigned);
                    match offset {
                        0 => format!("{index} * {}", addr.scale),
                        offset => format!("{index} * {} + {offset}", addr.scale),
                    }
                });
                format!("{name}[byte {at}]")
            }
        }
    }

    fn condition(&mut self, reg: Reg, wanted: bool, depth: u32) -> String {
        if self.kernel.reg(reg).kind == RegKind::Temp
            && let [(inst, _)] = self.definitions.of(reg)
            && depth > 0
        {
            match inst {
                Inst::Unary { op: UnOp::Not, a, .. } => {
                    return self.condition(*a, !wanted, depth - 1);
                }
                Inst::Binary { op, a, b, .. } if !wanted => {
                    if let Some(op) = opposite(*op) {
                        let (symbol, form) = symbol(op, Form::Unsigned);
                        let (a, b) = (self.reg(*a, depth, form), self.reg(*b, depth, form));
                        let symbol = symbol.unwrap_or(op.name());
                        return format!("{a} {symbol} {b}");
                    }
                }
                Inst::Binary { op: BinOp::And, a, b, .. } => {
                    let a = self.condition(*a, true, depth - 1);
                    return format!("{a} && {}", self.condition(*b, true, depth - 1));
                }
                Inst::Binary { op: BinOp::Or, a, b, .. } => {
                    let a = self.condition(*a, true, depth - 1);
                    return format!("({a} || {})", self.condition(*b, true, depth - 1));
                }
                _ => {}
            }
        }
        let text = self.reg(reg, depth, Form::Unsigned);
        if wanted { text } else { format!("!({text})") }
    }
}

/// How an operator is written, and how its operands' bits are shown.
fn symbol(op: BinOp, form: Form) -> (Option<&'static str>, Form) {
    use BinOp as B;
    match op {
        B::IAdd => (Some("+"), form),
        B::ISub => (Some("-"), form),
        B::IMul => (Some("*"), form),
        B::And => (Some("&"), form),
        B::Or => (Some("|"), form),
        B::Xor => (Some("^"), form),
        B::Shl => (Some("<<"), form),
        B::ShrL => (Some(">>"), Form::Unsigned),
        B::UDiv => (Some("/"), Form::Unsigned),
        B::UMod => (Some("%"), Form::Unsigned),
        B::IEq => (Some("=="), form),
        B::INe => (Some("!="), form),
        B::ULt => (Some("<"), Form::Unsigned),
        B::ULe => (Some("<="), Form::Unsigned),
        B::UGt => (Some(">"), Form::Unsigned),
        B::UGe => (Some(">="), Form::Unsigned),
        B::SLt => (Some("<"), Form::Signed),
        B::SLe => (Some("<="), Form::Signed),
        B::SGt => (Some(">"), Form::Signed),
        B::SGe => (Some(">="), Form::Signed),
        B::FAdd => (Some("+"), Form::Float),
        B::FSub => (Some("-"), Form::Float),
        B::FMul => (Some("*"), Form::Float),
        B::FDiv => (Some("/"), Form::Float),
        B::FOEq | B::FUEq => (Some("=="), Form::Float),
        B::FONe | B::FUNe => (Some("!="), Form::Float),
        B::FOLt | B::FULt => (Some("<"), Form::Float),
        B::FOLe | B::FULe => (Some("<="), Form::Float),
        B::FOGt | B::FUGt => (Some(">"), Form::Float),
        B::FOGe | B::FUGe => (Some(">="), Form::Float),
        _ => (None, form),
    }
}

/// The comparison that holds where `op` does not.
fn opposite(op: BinOp) -> Option<BinOp> {
    use BinOp as B;
    Some(match op {
        B::IEq => B::INe,
        B::INe => B::IEq,
        B::ULt => B::UGe,
        B::UGe => B::ULt,
        B::UGt => B::ULe,
        B::ULe => B::UGt,
        B::SLt => B::SGe,
        B::SGe => B::SLt,
        B::SGt => B::SLe,
        B::SLe => B::SGt,
        B::FOEq => B::FUNe,
        B::FUNe => B::FOEq,
        B::FOLt => B::FUGe,
        B::FUGe => B::FOLt,
        B::FOGt => B::FULe,
        B::FULe => B::FOGt,
        B::FOLe => B::FUGt,
        B::FUGt => B::FOLe,
        B::FOGe => B::FULt,
        B::FULt => B::FOGe,
        B::FONe => B::FUEq,
        B::FUEq => B::FONe,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use crate::lower::{BindingRule, LowerOptions, kernel};

    #[test]
    fn ways_out_of_nested_loops_and_their_words() {
        let words = crate::wgsl::compile(
            "a.wgsl",
            "@group(0) @binding(0) var<storage, read_write> bound: array<u32>;
             @compute @workgroup_size(1) fn main() {
                 var i = 0u;
                 loop {
                     loop {
                         if bound[3] == 7u { break; }
                     }
                     i = i + 1u;
                     if i >= bound[1] { break; }
                 }
             }",
            None,
        )
        .expect("valid");
        let options = LowerOptions { bindings: BindingRule::Plain, ..LowerOptions::default() };
        let kernel = kernel(&words, &options).expect("supported");
        let loops = kernel.loops();
        assert_eq!(loops.iter().map(|l| l.depth).collect::<Vec<_>>(), [0, 1]);
        let definitions = kernel.definitions();
        let words = |at: usize| -> Vec<String> {
            let exits = loops[at].exits();
            let spell =
                |c: &(super::Reg, bool)| kernel.condition(c.0, c.1, &definitions, &mut |_| None);
            exits.iter().map(|e| e.conditions.iter().map(spell).collect()).collect()
        };
        assert_eq!(words(1), ["bound[byte 12] == 7"]);
        assert!(words(0).len() == 1 && words(0)[0].ends_with(">= bound[byte 4]"), "{:?}", words(0));
    }
}
