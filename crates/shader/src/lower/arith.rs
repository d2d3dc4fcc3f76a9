//! Arithmetic, component by component, and on composites.

use super::fold;
use super::ops::{self, Takes};
use super::types::Type;
use super::value::Value;
use super::words::Ins;
use super::{Lower, R};
use crate::ShaderError;
use crate::ir::{BinOp, Reg, TerOp, Ty, UnOp};
use spirv::Op;

impl Lower<'_, '_> {
    /// What `ops` names: one IR op per component.
    pub fn component_wise(&mut self, ins: &Ins<'_>) -> R<()> {
        let types = self.m.flatten(ins.ty)?;
        let a = self.regs_n(ins.arg(0)?, types.len())?;
        let mut out = Vec::new();
        if let Some(op) = ops::unary(ins.op) {
            for (&a, &to) in a.iter().zip(types.iter()) {
                self.operand(ins.op, a)?;
                // DXC gives some of these the type that a truth value has in memory.
                let truth = matches!(ins.op, Op::LogicalNot | Op::IsNan | Op::IsInf);
                let to = if truth && self.m.from_dxc { Ty::Bool } else { to };
                if !ops::gives(ins.op).fits(to) {
                    return Err(ShaderError::invalid("the result has another type"));
                }
                // A count may be of another width than what is counted in.
                let own = match ins.op {
                    Op::BitCount => self.b.pool.ty(a),
                    _ => to,
                };
                let value = self.b.convert(op, a, own);
                out.push(self.b.resize(value, to));
            }
        } else if let Some(op) = ops::binary(ins.op) {
            let b = self.regs_n(ins.arg(1)?, types.len())?;
            let shifts = matches!(op, BinOp::Shl | BinOp::ShrL | BinOp::ShrA);
            for (&a, &b) in a.iter().zip(b.iter()) {
                self.operand(ins.op, a)?;
                self.operand(ins.op, b)?;
                let ty = self.b.pool.ty(a);
                // A count may be of another width; only its low bits count.
                let b = if shifts { self.b.resize(b, ty) } else { b };
                if ty != self.b.pool.ty(b) {
                    return Err(ShaderError::invalid("operands of two types"));
                }
                out.push(self.b.bin(op, a, b));
            }
        }
        self.bind_regs(ins, out)
    }

    /// Truth values are operands of logical instructions only; no float has 8
    /// bits.
    fn operand(&self, op: Op, a: Reg) -> R<()> {
        if ops::takes(op).fits(self.b.pool.ty(a)) {
            return Ok(());
        }
        Err(ShaderError::invalid("an operand of the wrong type"))
    }

    /// Refuses truth values where numbers must stand, and the reverse.
    pub fn all_of(&self, ty: Ty, regs: &[Reg]) -> R<()> {
        if regs.iter().all(|&r| self.b.pool.ty(r) == ty) {
            return Ok(());
        }
        Err(ShaderError::invalid("an operand of the wrong type"))
    }

    /// The one type of all `regs`, which must be what is wanted.
    pub fn one_type(&self, want: Takes, regs: &[Reg]) -> R<Ty> {
        let &first = regs.first().ok_or_else(|| ShaderError::invalid("no operand"))?;
        let ty = self.b.pool.ty(first);
        if !want.fits(ty) {
            return Err(ShaderError::invalid("an operand of the wrong type"));
        }
        self.all_of(ty, regs)?;
        Ok(ty)
    }

    /// Instructions with a shape of their own.
    pub fn arithmetic(&mut self, ins: &Ins<'_>) -> R<()> {
        let a = self.regs(ins.arg(0)?)?;
        match ins.op {
            Op::All | Op::Any => {
                self.all_of(Ty::Bool, &a)?;
                let op = if ins.op == Op::All { BinOp::And } else { BinOp::Or };
                let mut all = *a.first().ok_or_else(|| ShaderError::invalid("no operand"))?;
                for &r in &a[1..] {
                    all = self.b.bin(op, all, r);
                }
                return self.bind_regs(ins, vec![all]);
            }
            Op::LogicalEqual => {
                let b = self.regs_n(ins.arg(1)?, a.len())?;
                self.all_of(Ty::Bool, &a)?;
                self.all_of(Ty::Bool, &b)?;
                let mut out = Vec::new();
                for (&a, &b) in a.iter().zip(b.iter()) {
                    let differ = self.b.bin(BinOp::Xor, a, b);
                    out.push(self.b.un(UnOp::Not, differ));
                }
                return self.bind_regs(ins, out);
            }
            _ => {}
        }
        let ty = self.one_type(Takes::Integers, &a)?;
        match ins.op {
            Op::BitFieldInsert => self.bitfield_insert(ins, &a),
            Op::BitFieldSExtract | Op::BitFieldUExtract => {
                let (offset, count) =
                    (self.index_word(ins.arg(1)?)?, self.index_word(ins.arg(2)?)?);
                let op = if ins.op == Op::BitFieldSExtract {
                    TerOp::BitfieldSExtract
                } else {
                    TerOp::BitfieldUExtract
                };
                let out = a.iter().map(|&a| self.b.ter(op, a, offset, count)).collect();
                self.bind_regs(ins, out)
            }
            Op::SDot | Op::UDot | Op::SUDot | Op::SDotAccSat | Op::UDotAccSat | Op::SUDotAccSat => {
                self.integer_dot(ins, &a)
            }
            _ => {
                let b = self.regs_n(ins.arg(1)?, a.len())?;
                self.all_of(ty, &b)?;
                self.extended_pair(ins, &a, &b)
            }
        }
    }

    /// Dot products of integers: of vectors, or of the 4 bytes of a word; the
    /// result may be wider than the components.
    fn integer_dot(&mut self, ins: &Ins<'_>, a: &[Reg]) -> R<()> {
        let b = self.regs_n(ins.arg(1)?, a.len())?;
        let ty = self.one_type(Takes::Integers, a)?;
        self.all_of(ty, &b)?;
        let to = self.m.scalar(ins.ty)?;
        let saturates = matches!(ins.op, Op::SDotAccSat | Op::UDotAccSat | Op::SUDotAccSat);
        let unsigned = matches!(ins.op, Op::UDot | Op::UDotAccSat);
        let right_signed = matches!(ins.op, Op::SDot | Op::SDotAccSat);
        // 16 products of 32 bits fit a 64-bit sum.
        let sum_ty = if saturates { Ty::B64 } else { to };
        if saturates && !matches!(to, Ty::B8 | Ty::B16 | Ty::B32) {
            return Err(ShaderError::unsupported("a saturating dot product of this width"));
        }
        let mut pairs: Vec<(Reg, Reg)> = a.iter().copied().zip(b.iter().copied()).collect();
        if let [(x, y)] = *pairs {
            if ins.args.get(if saturates { 3 } else { 2 }) != Some(&0) || ty != Ty::B32 {
                return Err(ShaderError::unsupported("this packing of a dot product"));
            }
            let (x, y) = (self.b.split(x, Ty::B8), self.b.split(y, Ty::B8));
            pairs = x.into_iter().zip(y).collect();
        }
        let widen = |signed| if signed { UnOp::SConvert } else { UnOp::UConvert };
        let mut sum = self.b.pool.constant(sum_ty, 0);
        for (x, y) in pairs {
            let x = self.b.convert(widen(!unsigned), x, sum_ty);
            let y = self.b.convert(widen(right_signed), y, sum_ty);
            let product = self.b.bin(BinOp::IMul, x, y);
            sum = self.b.bin(BinOp::IAdd, product, sum);
        }
        if saturates {
            let accumulator = self.reg(ins.arg(2)?)?;
            self.all_of(to, &[accumulator])?;
            let wide = self.b.convert(widen(!unsigned), accumulator, sum_ty);
            sum = self.b.bin(BinOp::IAdd, sum, wide);
            let m = fold::mask(to);
            let b = &mut self.b;
            sum = if unsigned {
                let most = b.pool.constant(sum_ty, m);
                b.bin(BinOp::UMin, sum, most)
            } else {
                let (least, most) = (!(m >> 1), m >> 1);
                let (least, most) = (b.pool.constant(sum_ty, least), b.pool.constant(sum_ty, most));
                let above = b.bin(BinOp::SMax, sum, least);
                b.bin(BinOp::SMin, above, most)
            };
            sum = self.b.resize(sum, to);
        }
        self.bind_regs(ins, vec![sum])
    }

    /// Results in a struct: the low words, then the high words (or carries).
    fn extended_pair(&mut self, ins: &Ins<'_>, a: &[Reg], b: &[Reg]) -> R<()> {
        let (low, high) = match ins.op {
            Op::IAddCarry => (BinOp::IAdd, BinOp::UCarry),
            Op::ISubBorrow => (BinOp::ISub, BinOp::UBorrow),
            Op::UMulExtended => (BinOp::IMul, BinOp::UMulHi),
            _ => (BinOp::IMul, BinOp::SMulHi),
        };
        let mut out = Vec::new();
        for op in [low, high] {
            for (&a, &b) in a.iter().zip(b) {
                out.push(self.b.bin(op, a, b));
            }
        }
        self.bind_regs(ins, out)
    }

    fn bitfield_insert(&mut self, ins: &Ins<'_>, base: &[Reg]) -> R<()> {
        let insert = self.regs_n(ins.arg(1)?, base.len())?;
        let ty = self.one_type(Takes::Integers, base)?;
        let (offset, count) = (self.reg(ins.arg(2)?)?, self.reg(ins.arg(3)?)?);
        self.all_of(ty, &insert)?;
        for r in [offset, count] {
            self.one_type(Takes::Integers, &[r])?;
        }
        let b = &mut self.b;
        let (offset, count) = (b.resize(offset, ty), b.resize(count, ty));
        let one = b.pool.constant(ty, 1);
        let width = b.pool.constant(ty, u64::from(fold::bits(ty)));
        let ones = b.pool.constant(ty, u64::MAX);
        let bit = b.bin(BinOp::Shl, one, count);
        let low = b.bin(BinOp::ISub, bit, one);
        let whole = b.bin(BinOp::UGe, count, width);
        let field = b.select(whole, ones, low);
        let mask = b.bin(BinOp::Shl, field, offset);
        let keep = b.un(UnOp::Not, mask);
        let mut out = Vec::new();
        for (&base, &insert) in base.iter().zip(insert.iter()) {
            let b = &mut self.b;
            let kept = b.bin(BinOp::And, base, keep);
            let moved = b.bin(BinOp::Shl, insert, offset);
            let new = b.bin(BinOp::And, moved, mask);
            out.push(b.bin(BinOp::Or, kept, new));
        }
        self.bind_regs(ins, out)
    }

    /// Composites, selection and reinterpretation.
    pub fn composite(&mut self, ins: &Ins<'_>) -> R<()> {
        match ins.op {
            Op::CompositeConstruct => {
                let mut all = Vec::new();
                let n = self.m.scalars(ins.ty)? as usize;
                for &part in ins.args {
                    all.extend_from_slice(&self.regs(part)?);
                    if all.len() > n {
                        return Err(ShaderError::invalid("more parts than the type has"));
                    }
                }
                self.bind_regs(ins, all)
            }
            Op::CompositeExtract => {
                let whole = self.regs(ins.arg(0)?)?;
                let (at, n) = self.part(self.type_of(ins.arg(0)?)?, ins.rest(1))?;
                let part = whole.get(at..at + n);
                let part = part.ok_or_else(|| ShaderError::invalid("no such part"))?;
                self.bind_regs(ins, part.to_vec())
            }
            Op::CompositeInsert => {
                let part = self.regs(ins.arg(0)?)?;
                let mut whole = self.regs(ins.arg(1)?)?.to_vec();
                let (at, n) = self.part(self.type_of(ins.arg(1)?)?, ins.rest(2))?;
                let slots = whole.get_mut(at..at + n).filter(|s| s.len() == part.len());
                let slots = slots.ok_or_else(|| ShaderError::invalid("no such part"))?;
                slots.copy_from_slice(&part);
                self.bind_regs(ins, whole)
            }
            Op::VectorShuffle => {
                let mut pool = self.regs(ins.arg(0)?)?.to_vec();
                pool.extend_from_slice(&self.regs(ins.arg(1)?)?);
                let (elem, _) = self.m.components(ins.ty)?;
                let ty = self.m.scalar(elem)?;
                let mut out = Vec::new();
                for &i in ins.rest(2) {
                    out.push(match i {
                        u32::MAX => self.b.pool.constant(ty, 0),
                        i => *pool
                            .get(i as usize)
                            .ok_or_else(|| ShaderError::invalid("a component out of range"))?,
                    });
                }
                self.bind_regs(ins, out)
            }
            Op::VectorExtractDynamic => {
                let all = self.regs(ins.arg(0)?)?;
                let (index, _) = self.known_index(ins.arg(1)?)?;
                let &first = all.first().ok_or_else(|| ShaderError::invalid("no vector"))?;
                self.all_of(self.b.pool.ty(first), &all)?;
                let mut value = self.b.pool.constant(self.b.pool.ty(first), 0);
                for (k, &part) in all.iter().enumerate() {
                    let k = self.b.word(k as u32);
                    let here = self.b.bin(BinOp::IEq, index, k);
                    value = self.b.select(here, part, value);
                }
                self.bind_regs(ins, vec![value])
            }
            Op::VectorInsertDynamic => {
                let all = self.regs(ins.arg(0)?)?;
                let part = self.reg(ins.arg(1)?)?;
                let (index, _) = self.known_index(ins.arg(2)?)?;
                self.all_of(self.b.pool.ty(part), &all)?;
                let mut out = Vec::new();
                for (k, &old) in all.iter().enumerate() {
                    let k = self.b.word(k as u32);
                    let here = self.b.bin(BinOp::IEq, index, k);
                    out.push(self.b.select(here, part, old));
                }
                self.bind_regs(ins, out)
            }
            Op::Select => self.select_instruction(ins),
            _ => {
                let regs = self.regs(ins.arg(0)?)?;
                let regs = self.bitcast(&regs, ins.ty)?;
                self.bind_regs(ins, regs)
            }
        }
    }

    /// Same bits in components of another width: the first component holds the
    /// lowest bits.
    fn bitcast(&mut self, from: &[Reg], to: u32) -> R<Vec<Reg>> {
        let old = self.one_type(Takes::Integers, from)?;
        let types = self.m.flatten(to)?;
        let other = || ShaderError::invalid("a bitcast to another number of bits");
        let &new = types.first().ok_or_else(other)?;
        if new == old {
            return Ok(from.to_vec());
        }
        if !Takes::Integers.fits(new) {
            return Err(other());
        }
        let (narrow, wide) =
            (fold::bits(old).min(fold::bits(new)), fold::bits(old).max(fold::bits(new)));
        let each = (wide / narrow) as usize;
        if fold::bits(new) < fold::bits(old) {
            return Ok(from.iter().flat_map(|&r| self.b.split(r, new)).collect());
        }
        if !from.len().is_multiple_of(each) {
            return Err(other());
        }
        Ok(from.chunks(each).map(|parts| self.b.join(parts, new)).collect())
    }

    /// First scalar and number of scalars of the part that `path` names.
    fn part(&self, mut ty: u32, path: &[u32]) -> R<(usize, usize)> {
        let mut at = 0;
        for &index in path {
            let (inner, offset) = self.m.element(ty, index)?;
            ty = inner;
            at += offset as usize;
        }
        Ok((at, self.m.scalars(ty)? as usize))
    }

    fn select_instruction(&mut self, ins: &Ins<'_>) -> R<()> {
        let cond = self.truths(ins.arg(0)?)?;
        let yes = self.value(ins.arg(1)?)?;
        if !matches!(yes, Value::Regs(_)) && !self.m.is_address(ins.ty) {
            let (no, cond) = (self.value(ins.arg(2)?)?, self.reg(ins.arg(0)?)?);
            let value = self.select_handle(cond, &yes, &no)?;
            self.bind(ins.id, ins.ty, value);
            return Ok(());
        }
        let a = self.regs(ins.arg(1)?)?;
        let b = self.regs_n(ins.arg(2)?, a.len())?;
        self.all_of(Ty::Bool, &cond)?;
        if cond.len() != 1 && cond.len() != a.len() {
            return Err(ShaderError::invalid("as many conditions as components, or one"));
        }
        let mut out = Vec::new();
        for (i, (&a, &b)) in a.iter().zip(b.iter()).enumerate() {
            if self.b.pool.ty(a) != self.b.pool.ty(b) {
                return Err(ShaderError::invalid("operands of two types"));
            }
            let cond = if cond.len() == 1 { cond[0] } else { cond[i] };
            out.push(self.b.select(cond, a, b));
        }
        self.bind_regs(ins, out)
    }

    /// Sum of products, from the left.
    pub fn dot(&mut self, a: &[Reg], b: &[Reg]) -> Reg {
        let mut sum = None;
        for (&a, &b) in a.iter().zip(b) {
            let product = self.b.bin(BinOp::FMul, a, b);
            sum = Some(match sum {
                None => product,
                Some(sum) => self.b.bin(BinOp::FAdd, sum, product),
            });
        }
        match sum {
            Some(sum) => sum,
            None => self.b.float(0.0),
        }
    }

    /// Columns and rows of a matrix type.
    pub fn shape(&self, ty: u32) -> R<(usize, usize)> {
        match self.m.ty(ty)? {
            Type::Matrix { column, n } => Ok((*n as usize, self.m.scalars(*column)? as usize)),
            _ => Err(ShaderError::invalid(format!("%{ty} is no matrix"))),
        }
    }

    /// Products of vectors and matrices. A matrix lies column by column.
    pub fn matrix(&mut self, ins: &Ins<'_>) -> R<()> {
        let a = self.regs(ins.arg(0)?)?;
        let ty = self.one_type(Takes::Floats, &a)?;
        if ins.op == Op::Transpose {
            let (columns, rows) = self.shape(self.type_of(ins.arg(0)?)?)?;
            let at = |r: usize, c: usize| a[c * rows + r];
            let out = (0..rows).flat_map(|r| (0..columns).map(move |c| at(r, c))).collect();
            return self.bind_regs(ins, out);
        }
        let b = self.regs(ins.arg(1)?)?;
        self.all_of(ty, &b)?;
        let (ta, tb) = (self.type_of(ins.arg(0)?)?, self.type_of(ins.arg(1)?)?);
        let fits = |ok: bool| {
            if ok { Ok(()) } else { Err(ShaderError::invalid("operands that do not fit")) }
        };
        let mut out = Vec::new();
        match ins.op {
            Op::Dot => {
                fits(a.len() == b.len())?;
                out.push(self.dot(&a, &b));
            }
            Op::VectorTimesScalar | Op::MatrixTimesScalar => {
                fits(b.len() == 1)?;
                out.extend(a.iter().map(|&a| self.b.bin(BinOp::FMul, a, b[0])));
            }
            Op::VectorTimesMatrix => {
                let (columns, rows) = self.shape(tb)?;
                fits(a.len() == rows)?;
                for c in 0..columns {
                    out.push(self.dot(&a, &b[c * rows..(c + 1) * rows]));
                }
            }
            Op::MatrixTimesVector => {
                let (columns, rows) = self.shape(ta)?;
                fits(b.len() == columns)?;
                for r in 0..rows {
                    let row: Vec<Reg> = (0..columns).map(|c| a[c * rows + r]).collect();
                    out.push(self.dot(&row, &b));
                }
            }
            Op::MatrixTimesMatrix => {
                let ((inner, rows), (columns, height)) = (self.shape(ta)?, self.shape(tb)?);
                fits(inner == height)?;
                for c in 0..columns {
                    for r in 0..rows {
                        let row: Vec<Reg> = (0..inner).map(|k| a[k * rows + r]).collect();
                        out.push(self.dot(&row, &b[c * height..(c + 1) * height]));
                    }
                }
            }
            _ => {
                // OpOuterProduct.
                for &column in b.iter() {
                    out.extend(a.iter().map(|&row| self.b.bin(BinOp::FMul, row, column)));
                }
            }
        }
        self.bind_regs(ins, out)
    }
}
