//! Registers while a kernel is made, and what is known of their values.

use super::fold;
use crate::ir::{BinOp, Reg, RegDecl, RegKind, TerOp, Ty, UnOp};
use std::collections::HashMap;

/// A pure instruction without its result.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Pure {
    Un(UnOp, Reg),
    Bin(BinOp, Reg, Reg),
    Ter(TerOp, Reg, Reg, Reg),
}

/// What a pure instruction came down to.
#[derive(Clone, Copy, Debug)]
pub(super) enum Simple {
    /// A register that holds the value already.
    Reg(Reg),
    /// An instruction, perhaps a cheaper one.
    Op(Pure),
}

/// All registers.
#[derive(Default)]
pub(super) struct Pool {
    pub decls: Vec<RegDecl>,
    values: Vec<Option<u64>>,
    defs: Vec<Option<Pure>>,
    constants: HashMap<(Ty, u64), Reg>,
}

impl Pool {
    /// A fresh register.
    pub fn fresh(&mut self, ty: Ty, kind: RegKind) -> Reg {
        self.decls.push(RegDecl { ty, kind });
        self.values.push(None);
        self.defs.push(None);
        Reg(self.decls.len() as u32 - 1)
    }

    /// The const register that holds `value`.
    pub fn constant(&mut self, ty: Ty, value: u64) -> Reg {
        let value = value & fold::mask(ty);
        if let Some(&reg) = self.constants.get(&(ty, value)) {
            return reg;
        }
        let reg = self.fresh(ty, RegKind::Const);
        self.values[reg.index()] = Some(value);
        self.constants.insert((ty, value), reg);
        reg
    }

    /// The 32-bit constant `value`.
    pub fn word(&mut self, value: u32) -> Reg {
        self.constant(Ty::B32, u64::from(value))
    }

    /// The value of a const register.
    pub fn value(&self, reg: Reg) -> Option<u64> {
        self.values[reg.index()]
    }

    /// Type of a register.
    pub fn ty(&self, reg: Reg) -> Ty {
        self.decls[reg.index()].ty
    }

    /// Kind of a register.
    pub fn kind(&self, reg: Reg) -> RegKind {
        self.decls[reg.index()].kind
    }

    /// The pure instruction that made a temp.
    pub fn def(&self, reg: Reg) -> Option<Pure> {
        self.defs[reg.index()]
    }

    /// Notes the instruction that makes `reg`.
    pub fn set_def(&mut self, reg: Reg, def: Pure) {
        self.defs[reg.index()] = Some(def);
    }

    /// Type of the result of `op` when it is not the operand's own.
    pub fn result(&self, pure: Pure) -> Ty {
        match pure {
            Pure::Un(UnOp::FIsNan | UnOp::FIsInf, _) => Ty::Bool,
            Pure::Un(_, a) => self.ty(a),
            Pure::Bin(op, a, _) => {
                if compares(op) {
                    Ty::Bool
                } else {
                    self.ty(a)
                }
            }
            Pure::Ter(TerOp::Select, _, b, _) => self.ty(b),
            Pure::Ter(TerOp::FFma | TerOp::BitfieldSExtract | TerOp::BitfieldUExtract, a, ..) => {
                self.ty(a)
            }
        }
    }

    /// How many low bits of `reg` are surely 0 (looking a few steps back).
    pub fn low_zeros(&self, reg: Reg, depth: u32) -> u32 {
        let width = fold::bits(self.ty(reg));
        if let Some(v) = self.value(reg) {
            return v.trailing_zeros().min(width);
        }
        if depth == 0 || width == 0 {
            return 0;
        }
        let z = |r| self.low_zeros(r, depth - 1);
        match self.def(reg) {
            Some(Pure::Bin(BinOp::Shl, a, b)) => {
                self.value(b).map_or(0, |n| (z(a) + (n as u32 & (width - 1))).min(width))
            }
            Some(Pure::Bin(BinOp::IMul, a, b)) => (z(a) + z(b)).min(width),
            Some(Pure::Bin(BinOp::IAdd | BinOp::Or | BinOp::ISub, a, b)) => z(a).min(z(b)),
            Some(Pure::Bin(BinOp::And, a, b)) => z(a).max(z(b)),
            _ => 0,
        }
    }

    /// How many low bits of `reg` may differ from 0: all above surely are 0.
    fn used_bits(&self, reg: Reg) -> u32 {
        let width = fold::bits(self.ty(reg));
        if let Some(v) = self.value(reg) {
            return 64 - v.leading_zeros();
        }
        match self.def(reg) {
            Some(Pure::Un(UnOp::UConvert, x)) => fold::bits(self.ty(x)).min(width),
            _ => width,
        }
    }
}

/// True for ops whose result is `Bool` whatever they compare.
pub(super) const fn compares(op: BinOp) -> bool {
    matches!(
        op,
        BinOp::IEq
            | BinOp::INe
            | BinOp::ULt
            | BinOp::ULe
            | BinOp::UGt
            | BinOp::UGe
            | BinOp::SLt
            | BinOp::SLe
            | BinOp::SGt
            | BinOp::SGe
            | BinOp::FOEq
            | BinOp::FONe
            | BinOp::FOLt
            | BinOp::FOLe
            | BinOp::FOGt
            | BinOp::FOGe
            | BinOp::FUEq
            | BinOp::FUNe
            | BinOp::FULt
            | BinOp::FULe
            | BinOp::FUGt
            | BinOp::FUGe
    )
}

/// The comparison that holds exactly where `op` does not.
const fn opposite(op: BinOp) -> Option<BinOp> {
    Some(match op {
        BinOp::IEq => BinOp::INe,
        BinOp::INe => BinOp::IEq,
        BinOp::ULt => BinOp::UGe,
        BinOp::ULe => BinOp::UGt,
        BinOp::UGt => BinOp::ULe,
        BinOp::UGe => BinOp::ULt,
        BinOp::SLt => BinOp::SGe,
        BinOp::SLe => BinOp::SGt,
        BinOp::SGt => BinOp::SLe,
        BinOp::SGe => BinOp::SLt,
        BinOp::FOEq => BinOp::FUNe,
        BinOp::FONe => BinOp::FUEq,
        BinOp::FOLt => BinOp::FUGe,
        BinOp::FOLe => BinOp::FUGt,
        BinOp::FOGt => BinOp::FULe,
        BinOp::FOGe => BinOp::FULt,
        BinOp::FUEq => BinOp::FONe,
        BinOp::FUNe => BinOp::FOEq,
        BinOp::FULt => BinOp::FOGe,
        BinOp::FULe => BinOp::FOGt,
        BinOp::FUGt => BinOp::FOLe,
        BinOp::FUGe => BinOp::FOLt,
        _ => return None,
    })
}

impl Pool {
    /// Folds, and replaces by something cheaper with the same bits. `to` is the
    /// type of the result.
    pub fn simplify(&mut self, pure: Pure, to: Ty) -> Simple {
        let found = match pure {
            Pure::Un(op, a) => self.simplify_unary(op, a, to),
            Pure::Bin(op, a, b) => self.simplify_binary(op, a, b),
            Pure::Ter(op, a, b, c) => self.simplify_ternary(op, a, b, c, to),
        };
        found.unwrap_or(Simple::Op(pure))
    }

    fn simplify_unary(&mut self, op: UnOp, a: Reg, to: Ty) -> Option<Simple> {
        if let Some(v) = self.value(a) {
            let folded = fold::unary(op, self.ty(a), to, v)?;
            return Some(Simple::Reg(self.constant(to, folded)));
        }
        if matches!(op, UnOp::SConvert | UnOp::UConvert) {
            return self.simplify_resize(op, a, to);
        }
        match (op, self.def(a)?) {
            (UnOp::Not, Pure::Un(UnOp::Not, x)) => Some(Simple::Reg(x)),
            (UnOp::FNeg, Pure::Un(UnOp::FNeg, x)) => Some(Simple::Reg(x)),
            (UnOp::INeg, Pure::Un(UnOp::INeg, x)) => Some(Simple::Reg(x)),
            (UnOp::Not, Pure::Bin(cmp, x, y)) => Some(Simple::Op(Pure::Bin(opposite(cmp)?, x, y))),
            _ => None,
        }
    }

    /// Integers to another width.
    fn simplify_resize(&mut self, op: UnOp, a: Reg, to: Ty) -> Option<Simple> {
        let (width, target) = (fold::bits(self.ty(a)), fold::bits(to));
        if width == target {
            return Some(Simple::Reg(a));
        }
        match self.def(a)? {
            // Only bits of the first operand are left, or bits that it does
            // not have and that are 0.
            Pure::Un(inner @ (UnOp::UConvert | UnOp::SConvert), x) => {
                let first = fold::bits(self.ty(x));
                let op = match inner {
                    _ if target <= width && target <= first => UnOp::UConvert,
                    _ if target <= width => inner,
                    UnOp::UConvert if first < width => UnOp::UConvert,
                    _ if inner == op && first < width => op,
                    _ => return None,
                };
                Some(self.simplify(Pure::Un(op, x), to))
            }
            // Both ways of cutting off agree, and the high part goes.
            Pure::Bin(BinOp::Or, x, y) if target < width && self.low_zeros(y, 6) >= target => {
                Some(self.simplify(Pure::Un(UnOp::UConvert, x), to))
            }
            _ if target < width && op == UnOp::SConvert => {
                Some(Simple::Op(Pure::Un(UnOp::UConvert, a)))
            }
            _ => None,
        }
    }

    fn simplify_binary(&mut self, op: BinOp, a: Reg, b: Reg) -> Option<Simple> {
        let ty = self.ty(a);
        let result = if compares(op) { Ty::Bool } else { ty };
        if let (Some(x), Some(y)) = (self.value(a), self.value(b)) {
            let folded = fold::binary(op, ty, x, y)?;
            return Some(Simple::Reg(self.constant(result, folded)));
        }
        let swaps = matches!(
            op,
            BinOp::IAdd
                | BinOp::IMul
                | BinOp::And
                | BinOp::Or
                | BinOp::Xor
                | BinOp::IEq
                | BinOp::INe
        );
        if swaps && self.value(a).is_some() {
            let swapped = Pure::Bin(op, b, a);
            return Some(match self.simplify_binary(op, b, a) {
                Some(simple) => simple,
                None => Simple::Op(swapped),
            });
        }
        if a == b {
            match op {
                BinOp::And | BinOp::Or | BinOp::UMin | BinOp::UMax | BinOp::SMin | BinOp::SMax => {
                    return Some(Simple::Reg(a));
                }
                BinOp::ISub | BinOp::Xor => return Some(Simple::Reg(self.constant(ty, 0))),
                BinOp::IEq | BinOp::ULe | BinOp::UGe | BinOp::SLe | BinOp::SGe => {
                    return Some(Simple::Reg(self.constant(Ty::Bool, 1)));
                }
                BinOp::INe | BinOp::ULt | BinOp::UGt | BinOp::SLt | BinOp::SGt => {
                    return Some(Simple::Reg(self.constant(Ty::Bool, 0)));
                }
                _ => return None,
            }
        }
        if let Some(c) = self.value(b) {
            return self.with_constant(op, ty, a, c);
        }
        let counts = matches!(op, BinOp::Shl | BinOp::ShrL | BinOp::ShrA);
        let count = self.def(b).filter(|_| counts && ty != Ty::Bool)?;
        self.shift_count(op, a, count, ty)
    }

    /// A shift whose count is computed: what only changes bits that do not
    /// count is left out.
    fn shift_count(&mut self, op: BinOp, a: Reg, count: Pure, ty: Ty) -> Option<Simple> {
        let low = u64::from(fold::bits(ty) - 1);
        match count {
            Pure::Bin(BinOp::And, x, m) if self.value(m)? & low == low => {
                Some(self.simplify(Pure::Bin(op, a, x), ty))
            }
            _ => None,
        }
    }

    /// `op` with the constant `c` on the right.
    fn with_constant(&mut self, op: BinOp, ty: Ty, a: Reg, c: u64) -> Option<Simple> {
        let m = fold::mask(ty);
        let same = Some(Simple::Reg(a));
        if matches!(op, BinOp::Shl | BinOp::ShrL | BinOp::ShrA) && c >= u64::from(fold::bits(ty)) {
            // Only the low bits of a count count.
            let b = self.constant(ty, c & u64::from(fold::bits(ty) - 1));
            return Some(self.simplify(Pure::Bin(op, a, b), ty));
        }
        match (op, c) {
            (BinOp::IAdd | BinOp::ISub | BinOp::Or | BinOp::Xor, 0) => return same,
            (BinOp::Shl | BinOp::ShrL | BinOp::ShrA, 0) => return same,
            (BinOp::IMul | BinOp::UDiv | BinOp::SDiv, 1) if ty != Ty::Bool => return same,
            (BinOp::IMul | BinOp::And, 0) => return Some(Simple::Reg(self.constant(ty, 0))),
            (BinOp::And, c) if c == m => return same,
            (BinOp::Or, c) if c == m => return Some(Simple::Reg(self.constant(ty, m))),
            (BinOp::Xor, c) if c == m => {
                let not = self.simplify(Pure::Un(UnOp::Not, a), ty);
                return Some(not);
            }
            _ => {}
        }
        if ty == Ty::Bool {
            return None;
        }
        if c.is_power_of_two() {
            let n = u64::from(c.trailing_zeros());
            let (op, n) = match op {
                BinOp::IMul => (BinOp::Shl, n),
                BinOp::UDiv => (BinOp::ShrL, n),
                BinOp::UMod => (BinOp::And, c - 1),
                _ => return self.reassociate(op, ty, a, c),
            };
            let b = self.constant(ty, n);
            return Some(match self.simplify_binary(op, a, b) {
                Some(simple) => simple,
                None => Simple::Op(Pure::Bin(op, a, b)),
            });
        }
        self.reassociate(op, ty, a, c)
    }

    fn reassociate(&mut self, op: BinOp, ty: Ty, a: Reg, c: u64) -> Option<Simple> {
        let m = fold::mask(ty);
        if op == BinOp::ISub {
            let b = self.constant(ty, c.wrapping_neg() & m);
            return Some(match self.simplify_binary(BinOp::IAdd, a, b) {
                Some(simple) => simple,
                None => Simple::Op(Pure::Bin(BinOp::IAdd, a, b)),
            });
        }
        match self.def(a)? {
            Pure::Bin(inner, x, y) if inner == op => {
                let first = self.value(y)?;
                let joined = match op {
                    BinOp::IAdd => first.wrapping_add(c) & m,
                    BinOp::And => first & c,
                    BinOp::Or => first | c,
                    BinOp::Xor => first ^ c,
                    BinOp::Shl | BinOp::ShrL => {
                        let width = u64::from(fold::bits(ty));
                        let sum = first % width + c % width;
                        if sum >= width {
                            return None;
                        }
                        sum
                    }
                    _ => return None,
                };
                let b = self.constant(ty, joined);
                Some(match self.simplify_binary(op, x, b) {
                    Some(simple) => simple,
                    None => Simple::Op(Pure::Bin(op, x, b)),
                })
            }
            // The mask takes away only what the shift does.
            Pure::Bin(BinOp::And, x, y)
                if op == BinOp::Shl
                    && c < u64::from(fold::bits(ty))
                    && self.value(y).is_some_and(|kept| kept & (m >> c) == m >> c) =>
            {
                let b = self.constant(ty, c);
                Some(match self.simplify_binary(BinOp::Shl, x, b) {
                    Some(simple) => simple,
                    None => Simple::Op(Pure::Bin(BinOp::Shl, x, b)),
                })
            }
            // The high part of two that were put side by side.
            Pure::Bin(BinOp::Or, x, y)
                if op == BinOp::ShrL
                    && u64::from(self.used_bits(x)) <= c
                    && c < u64::from(fold::bits(ty)) =>
            {
                match self.def(y)? {
                    Pure::Bin(BinOp::Shl, high, n) if self.value(n) == Some(c) => {
                        let fits = u64::from(self.used_bits(high)) + c <= u64::from(fold::bits(ty));
                        fits.then_some(Simple::Reg(high))
                    }
                    _ => None,
                }
            }
            // There and back: only the bits that were shifted out are lost.
            Pure::Bin(inner, x, y)
                if matches!((op, inner), (BinOp::Shl, BinOp::ShrL) | (BinOp::ShrL, BinOp::Shl))
                    && self.value(y) == Some(c)
                    && c < u64::from(fold::bits(ty)) =>
            {
                Some(self.there_and_back(op, ty, x, c))
            }
            Pure::Ter(TerOp::Select, cond, x, y) if compares(op) => {
                let x = fold::binary(op, ty, self.value(x)?, c)?;
                let y = fold::binary(op, ty, self.value(y)?, c)?;
                match (x != 0, y != 0) {
                    (true, false) => Some(Simple::Reg(cond)),
                    (false, true) => Some(self.simplify(Pure::Un(UnOp::Not, cond), Ty::Bool)),
                    (same, _) => Some(Simple::Reg(self.constant(Ty::Bool, u64::from(same)))),
                }
            }
            _ => None,
        }
    }

    /// `x` shifted by `c` bits against `op`, and back by `op`.
    fn there_and_back(&mut self, op: BinOp, ty: Ty, x: Reg, c: u64) -> Simple {
        if op == BinOp::Shl && u64::from(self.low_zeros(x, 6)) >= c {
            return Simple::Reg(x);
        }
        let m = fold::mask(ty);
        let kept = if op == BinOp::Shl { (m << c) & m } else { m >> c };
        let b = self.constant(ty, kept);
        match self.simplify_binary(BinOp::And, x, b) {
            Some(simple) => simple,
            None => Simple::Op(Pure::Bin(BinOp::And, x, b)),
        }
    }

    fn simplify_ternary(&mut self, op: TerOp, a: Reg, b: Reg, c: Reg, to: Ty) -> Option<Simple> {
        if let (Some(x), Some(y), Some(z)) = (self.value(a), self.value(b), self.value(c)) {
            let folded = fold::ternary(op, to, [x, y, z])?;
            return Some(Simple::Reg(self.constant(to, folded)));
        }
        if op != TerOp::Select {
            return None;
        }
        if let Some(cond) = self.value(a) {
            return Some(Simple::Reg(if cond != 0 { b } else { c }));
        }
        if b == c {
            return Some(Simple::Reg(b));
        }
        if let Some(Pure::Un(UnOp::Not, x)) = self.def(a) {
            return Some(match self.simplify_ternary(op, x, c, b, to) {
                Some(simple) => simple,
                None => Simple::Op(Pure::Ter(op, x, c, b)),
            });
        }
        // The same condition again: only one side of the inner select counts.
        if let Some(Pure::Ter(TerOp::Select, again, x, _)) = self.def(b)
            && again == a
        {
            return Some(self.simplify(Pure::Ter(op, a, x, c), to));
        }
        if let Some(Pure::Ter(TerOp::Select, again, _, y)) = self.def(c)
            && again == a
        {
            return Some(self.simplify(Pure::Ter(op, a, b, y), to));
        }
        if to != Ty::Bool {
            return None;
        }
        let pure = match (self.value(b), self.value(c)) {
            (Some(1), Some(_)) => return Some(Simple::Reg(a)),
            (Some(_), Some(_)) => Pure::Un(UnOp::Not, a),
            (None, Some(0)) => Pure::Bin(BinOp::And, a, b),
            (Some(1), None) => Pure::Bin(BinOp::Or, a, c),
            _ => return None,
        };
        Some(self.simplify(pure, to))
    }
}
