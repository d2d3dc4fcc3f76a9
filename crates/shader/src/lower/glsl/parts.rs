//! `GLSL.std.450`: functions that take numbers apart or put them together.

use super::super::fold;
use super::super::ops::Takes;
use super::super::value::{Pointer, Value};
use super::super::words::Ins;
use super::super::{Lower, R};
use crate::ShaderError;
use crate::ir::{BinOp, Reg, TerOp, Ty, UnOp};
use spirv::GlslStd450Op as G;

impl Lower<'_, '_> {
    /// `a * 2^b`; the exponent may have any width.
    pub fn ldexp(&mut self, ins: &Ins<'_>, a: &[Reg]) -> R<()> {
        let exponents = self.operand_n(ins, 1, a.len())?;
        self.one_type(Takes::Integers, &exponents)?;
        let mut out = Vec::new();
        for (&a, exponent) in a.iter().zip(exponents) {
            let exponent = self.exponent_word(exponent);
            out.push(self.b.bin(BinOp::FLdexp, a, exponent));
        }
        self.bind_regs(ins, out)
    }

    /// An exponent as a word; what is far out of range stays so.
    fn exponent_word(&mut self, exponent: Reg) -> Reg {
        let b = &mut self.b;
        let ty = b.pool.ty(exponent);
        if ty == Ty::B64 {
            let (least, most) = (-0x10_0000i64 as u64, 0x10_0000);
            let (least, most) = (b.pool.constant(ty, least), b.pool.constant(ty, most));
            let above = b.bin(BinOp::SMax, exponent, least);
            let within = b.bin(BinOp::SMin, above, most);
            return b.convert(UnOp::UConvert, within, Ty::B32);
        }
        if ty == Ty::B32 { exponent } else { b.convert(UnOp::SConvert, exponent, Ty::B32) }
    }

    /// `Modf` and `Frexp`, with the second result in a struct or by pointer.
    pub fn parts(&mut self, ins: &Ins<'_>, op: G, a: &[Reg]) -> R<()> {
        let in_struct = matches!(op, G::ModfStruct | G::FrexpStruct);
        // Where the second result goes by pointer, its type is the pointee's.
        let pointer: Option<std::rc::Rc<Pointer>> =
            if in_struct { None } else { Some(self.pointer(ins.arg(3)?)?) };
        let second_ty = match &pointer {
            None => self.m.flatten(ins.ty)?.last().copied(),
            Some(p) => self.m.flatten(p.ty)?.last().copied(),
        };
        let exponent = second_ty.filter(|&ty| Takes::Integers.fits(ty));
        let exponent = exponent.ok_or_else(|| ShaderError::invalid("no place for two results"))?;
        let modf = matches!(op, G::Modf | G::ModfStruct);
        let mut first = Vec::new();
        let mut second = Vec::new();
        for &a in a {
            let (x, y) = if modf { self.modf(a) } else { self.frexp(a) };
            first.push(x);
            // Exponents are signed.
            let resizes = !modf && self.b.pool.ty(y) != exponent;
            second.push(if resizes { self.b.convert(UnOp::SConvert, y, exponent) } else { y });
        }
        match pointer {
            None => {
                first.extend(second);
                self.bind_regs(ins, first)
            }
            Some(pointer) => {
                self.store(&pointer, Value::regs(second), Self::PLAIN)?;
                self.bind_regs(ins, first)
            }
        }
    }

    /// Fraction and whole part, both with the operand's sign.
    fn modf(&mut self, a: Reg) -> (Reg, Reg) {
        let b = &mut self.b;
        let ty = b.pool.ty(a);
        let whole = b.un(UnOp::FTrunc, a);
        let rest = b.bin(BinOp::FSub, a, whole);
        let endless = b.un(UnOp::FIsInf, a);
        let zero = b.float_of(ty, 0.0);
        let rest = b.select(endless, zero, rest);
        let most = fold::mask(ty);
        let (sign, body) =
            (b.pool.constant(ty, most ^ (most >> 1)), b.pool.constant(ty, most >> 1));
        let sign = b.bin(BinOp::And, a, sign);
        let body = b.bin(BinOp::And, rest, body);
        (b.bin(BinOp::Or, body, sign), whole)
    }

    /// Significand in 0.5..1 and exponent (of the operand's width); 0,
    /// infinities and NaN keep their value and have exponent 0.
    fn frexp(&mut self, a: Reg) -> (Reg, Reg) {
        let b = &mut self.b;
        let ty = b.pool.ty(a);
        let (exponent_bits, length) = fold::float_shape(ty);
        let most = fold::mask(ty);
        let field_mask = ((1u64 << exponent_bits) - 1) << length;
        // The field of the exponent 0.5 has.
        let half_bias = (1u64 << (exponent_bits - 1)) - 2;
        let zero = b.pool.constant(ty, 0);
        let fields = b.pool.constant(ty, field_mask);
        let field = b.bin(BinOp::And, a, fields);
        let small = b.bin(BinOp::IEq, field, zero);
        let special = b.bin(BinOp::IEq, field, fields);
        let magnitude = b.pool.constant(ty, most >> 1);
        let magnitude = b.bin(BinOp::And, a, magnitude);
        let is_zero = b.bin(BinOp::IEq, magnitude, zero);
        let keep = b.bin(BinOp::Or, special, is_zero);
        // Subnormals are scaled up first.
        let up = i32::try_from(length + 1).unwrap_or(0);
        let factor = b.float_of(ty, 2f64.powi(up));
        let scaled = b.bin(BinOp::FMul, a, factor);
        let normal = b.select(small, scaled, a);
        let rest = b.pool.constant(ty, most ^ field_mask);
        let half = b.pool.constant(ty, half_bias << length);
        let rest = b.bin(BinOp::And, normal, rest);
        let significand = b.bin(BinOp::Or, rest, half);
        let field = b.bin(BinOp::And, normal, fields);
        let shift = b.pool.constant(ty, u64::from(length));
        let biased = b.bin(BinOp::ShrL, field, shift);
        let bias = b.pool.constant(ty, half_bias);
        let small_bias = b.pool.constant(ty, half_bias + u64::from(length + 1));
        let bias = b.select(small, small_bias, bias);
        let exponent = b.bin(BinOp::ISub, biased, bias);
        (b.select(keep, a, significand), b.select(keep, zero, exponent))
    }

    /// The functions that pack or unpack words.
    pub fn packing(&mut self, ins: &Ins<'_>, op: G, a: &[Reg]) -> R<()> {
        match op {
            G::PackDouble2x32 => {
                self.all_of(Ty::B32, a)?;
                if a.len() != 2 {
                    return Err(ShaderError::invalid("an operand of another size"));
                }
                let whole = self.b.join(a, Ty::B64);
                return self.bind_regs(ins, vec![whole]);
            }
            G::UnpackDouble2x32 => {
                self.all_of(Ty::B64, a)?;
                let halves = self.b.split(a[0], Ty::B32);
                return self.bind_regs(ins, halves);
            }
            G::PackSnorm4x8
            | G::PackUnorm4x8
            | G::PackSnorm2x16
            | G::PackUnorm2x16
            | G::PackHalf2x16
            | G::UnpackSnorm4x8
            | G::UnpackUnorm4x8
            | G::UnpackSnorm2x16
            | G::UnpackUnorm2x16
            | G::UnpackHalf2x16 => {}
            _ => return Err(ShaderError::unsupported("this function")),
        }
        let (lanes, bits, signed) = match op {
            G::PackSnorm4x8 | G::UnpackSnorm4x8 => (4, 8, true),
            G::PackUnorm4x8 | G::UnpackUnorm4x8 => (4, 8, false),
            G::PackSnorm2x16 | G::UnpackSnorm2x16 => (2, 16, true),
            _ => (2, 16, false),
        };
        let scale = (1u32 << (bits - u32::from(signed))) - 1;
        let unpacks = matches!(
            op,
            G::UnpackSnorm4x8
                | G::UnpackUnorm4x8
                | G::UnpackSnorm2x16
                | G::UnpackUnorm2x16
                | G::UnpackHalf2x16
        );
        if a.len() != if unpacks { 1 } else { lanes } {
            return Err(ShaderError::invalid("an operand of another size"));
        }
        let out = match op {
            G::PackHalf2x16 => vec![self.b.bin(BinOp::PackHalf, a[0], a[1])],
            G::UnpackHalf2x16 => {
                vec![self.b.un(UnOp::UnpackHalfLo, a[0]), self.b.un(UnOp::UnpackHalfHi, a[0])]
            }
            _ if unpacks => self.unpack(a[0], lanes as u32, bits, signed, scale),
            _ => vec![self.pack(a, bits, signed, scale)],
        };
        self.bind_regs(ins, out)
    }

    fn pack(&mut self, a: &[Reg], bits: u32, signed: bool, scale: u32) -> Reg {
        let b = &mut self.b;
        let low = b.float(if signed { -1.0 } else { 0.0 });
        let (high, scale) = (b.float(1.0), b.float(scale as f32));
        let mask = b.word((1u32 << bits) - 1);
        let mut packed = b.word(0);
        for (i, &a) in a.iter().enumerate() {
            let at_least = b.bin(BinOp::FMax, a, low);
            let within = b.bin(BinOp::FMin, at_least, high);
            let scaled = b.bin(BinOp::FMul, within, scale);
            let rounded = b.un(UnOp::FRoundEven, scaled);
            let whole = b.un(UnOp::FToS, rounded);
            let field = b.bin(BinOp::And, whole, mask);
            let shift = b.word(i as u32 * bits);
            let moved = b.bin(BinOp::Shl, field, shift);
            packed = b.bin(BinOp::Or, moved, packed);
        }
        packed
    }

    fn unpack(&mut self, a: Reg, lanes: u32, bits: u32, signed: bool, scale: u32) -> Vec<Reg> {
        let b = &mut self.b;
        let scale = b.float(scale as f32);
        let (least, most) = (b.float(-1.0), b.float(1.0));
        let width = b.word(bits);
        let mut out = Vec::new();
        for i in 0..lanes {
            let offset = b.word(i * bits);
            if signed {
                let field = b.ter(TerOp::BitfieldSExtract, a, offset, width);
                let number = b.un(UnOp::SToF, field);
                let ratio = b.bin(BinOp::FDiv, number, scale);
                let at_least = b.bin(BinOp::FMax, ratio, least);
                out.push(b.bin(BinOp::FMin, at_least, most));
            } else {
                let field = b.ter(TerOp::BitfieldUExtract, a, offset, width);
                let number = b.un(UnOp::UToF, field);
                out.push(b.bin(BinOp::FDiv, number, scale));
            }
        }
        out
    }
}
