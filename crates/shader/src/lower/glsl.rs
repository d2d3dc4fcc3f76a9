//! `GLSL.std.450`, for 32-bit numbers.

use super::value::{Pointer, Value};
use super::words::Ins;
use super::{Lower, R};
use crate::ShaderError;
use crate::ir::{BinOp, Reg, TerOp, Ty, UnOp};
use spirv::GlslStd450Op as G;

/// Functions of one operand that are one op.
const fn unary(op: G) -> Option<UnOp> {
    Some(match op {
        G::Round | G::RoundEven => UnOp::FRoundEven,
        G::Trunc => UnOp::FTrunc,
        G::FAbs => UnOp::FAbs,
        G::SAbs => UnOp::IAbs,
        G::FSign => UnOp::FSign,
        G::SSign => UnOp::ISign,
        G::Floor => UnOp::FFloor,
        G::Ceil => UnOp::FCeil,
        G::Fract => UnOp::FFract,
        G::Sin => UnOp::FSin,
        G::Cos => UnOp::FCos,
        G::Tan => UnOp::FTan,
        G::Asin => UnOp::FAsin,
        G::Acos => UnOp::FAcos,
        G::Atan => UnOp::FAtan,
        G::Sinh => UnOp::FSinh,
        G::Cosh => UnOp::FCosh,
        G::Tanh => UnOp::FTanh,
        G::Asinh => UnOp::FAsinh,
        G::Acosh => UnOp::FAcosh,
        G::Atanh => UnOp::FAtanh,
        G::Exp => UnOp::FExp,
        G::Log => UnOp::FLog,
        G::Exp2 => UnOp::FExp2,
        G::Log2 => UnOp::FLog2,
        G::Sqrt => UnOp::FSqrt,
        G::InverseSqrt => UnOp::FRsqrt,
        G::FindILsb => UnOp::FindLsb,
        G::FindSMsb => UnOp::FindSMsb,
        G::FindUMsb => UnOp::FindUMsb,
        _ => return None,
    })
}

/// Functions of two operands that are one op.
const fn binary(op: G) -> Option<BinOp> {
    Some(match op {
        G::Atan2 => BinOp::FAtan2,
        G::Pow => BinOp::FPow,
        G::FMin | G::NMin => BinOp::FMin,
        G::UMin => BinOp::UMin,
        G::SMin => BinOp::SMin,
        G::FMax | G::NMax => BinOp::FMax,
        G::UMax => BinOp::UMax,
        G::SMax => BinOp::SMax,
        G::Ldexp => BinOp::FLdexp,
        _ => return None,
    })
}

impl Lower<'_, '_> {
    pub fn glsl(&mut self, ins: &Ins<'_>) -> R<()> {
        let number = ins.arg(1)?;
        let op = G::from_u32(number)
            .ok_or_else(|| ShaderError::invalid(format!("GLSL.std.450 function {number}")))?;
        self.function(ins, op).map_err(|mut e| {
            if e.word.is_none() {
                e.what = format!("{} in GLSL.std.450 {op:?}", e.what);
            }
            e
        })
    }

    /// Operand `i` (from 0), all of it 32-bit numbers.
    fn operand_regs(&mut self, ins: &Ins<'_>, i: usize) -> R<Vec<Reg>> {
        let regs = self.regs(ins.arg(2 + i)?)?;
        self.all_of(Ty::B32, &regs)?;
        Ok(regs.to_vec())
    }

    /// Operand `i`, with `n` components.
    fn operand_n(&mut self, ins: &Ins<'_>, i: usize, n: usize) -> R<Vec<Reg>> {
        let regs = self.operand_regs(ins, i)?;
        if regs.len() == n {
            return Ok(regs);
        }
        Err(ShaderError::invalid(format!("an operand of {} components, not {n}", regs.len())))
    }

    fn scalar_operand(&mut self, ins: &Ins<'_>, i: usize) -> R<Reg> {
        Ok(self.operand_n(ins, i, 1)?[0])
    }

    fn function(&mut self, ins: &Ins<'_>, op: G) -> R<()> {
        if matches!(op, G::ModfStruct | G::FrexpStruct | G::Modf | G::Frexp) {
            return self.split(ins, op);
        }
        let a = self.operand_regs(ins, 0)?;
        let n = a.len();
        if let Some(op) = unary(op) {
            let out = a.iter().map(|&a| self.b.un(op, a)).collect();
            return self.bind_regs(ins, out);
        }
        if let Some(op) = binary(op) {
            let b = self.operand_n(ins, 1, n)?;
            let out = a.iter().zip(b).map(|(&a, b)| self.b.bin(op, a, b)).collect();
            return self.bind_regs(ins, out);
        }
        match op {
            G::Radians | G::Degrees => {
                let radians = std::f32::consts::PI / 180.0;
                let degrees = 180.0 / std::f32::consts::PI;
                let factor = self.b.float(if op == G::Radians { radians } else { degrees });
                let out = a.iter().map(|&a| self.b.bin(BinOp::FMul, a, factor)).collect();
                self.bind_regs(ins, out)
            }
            G::FClamp | G::NClamp | G::UClamp | G::SClamp => self.clamp(ins, op, &a),
            G::FMix => {
                let (b, t) = (self.operand_n(ins, 1, n)?, self.operand_n(ins, 2, n)?);
                let one = self.b.float(1.0);
                let mut out = Vec::new();
                for i in 0..n {
                    let rest = self.b.bin(BinOp::FSub, one, t[i]);
                    let left = self.b.bin(BinOp::FMul, a[i], rest);
                    let right = self.b.bin(BinOp::FMul, b[i], t[i]);
                    out.push(self.b.bin(BinOp::FAdd, left, right));
                }
                self.bind_regs(ins, out)
            }
            G::Step => {
                let x = self.operand_n(ins, 1, n)?;
                let (zero, one) = (self.b.float(0.0), self.b.float(1.0));
                let mut out = Vec::new();
                for i in 0..n {
                    let below = self.b.bin(BinOp::FOLt, x[i], a[i]);
                    out.push(self.b.select(below, zero, one));
                }
                self.bind_regs(ins, out)
            }
            G::SmoothStep => self.smooth_step(ins, &a),
            G::Fma => {
                let (b, c) = (self.operand_n(ins, 1, n)?, self.operand_n(ins, 2, n)?);
                let out = (0..n).map(|i| self.b.ter(TerOp::FFma, a[i], b[i], c[i])).collect();
                self.bind_regs(ins, out)
            }
            G::Determinant | G::MatrixInverse => self.square(ins, op, &a),
            G::Length
            | G::Distance
            | G::Cross
            | G::Normalize
            | G::FaceForward
            | G::Reflect
            | G::Refract => self.geometry(ins, op, &a),
            G::PackSnorm4x8
            | G::PackUnorm4x8
            | G::PackSnorm2x16
            | G::PackUnorm2x16
            | G::PackHalf2x16
            | G::UnpackSnorm4x8
            | G::UnpackUnorm4x8
            | G::UnpackSnorm2x16
            | G::UnpackUnorm2x16
            | G::UnpackHalf2x16 => self.packing(ins, op, &a),
            _ => Err(ShaderError::unsupported("this function")),
        }
    }

    fn clamp(&mut self, ins: &Ins<'_>, op: G, a: &[Reg]) -> R<()> {
        let (low, high) = (self.operand_n(ins, 1, a.len())?, self.operand_n(ins, 2, a.len())?);
        let (max, min) = match op {
            G::UClamp => (BinOp::UMax, BinOp::UMin),
            G::SClamp => (BinOp::SMax, BinOp::SMin),
            _ => (BinOp::FMax, BinOp::FMin),
        };
        let mut out = Vec::new();
        for i in 0..a.len() {
            let at_least = self.b.bin(max, a[i], low[i]);
            out.push(self.b.bin(min, at_least, high[i]));
        }
        self.bind_regs(ins, out)
    }

    fn smooth_step(&mut self, ins: &Ins<'_>, low: &[Reg]) -> R<()> {
        let n = low.len();
        let (high, x) = (self.operand_n(ins, 1, n)?, self.operand_n(ins, 2, n)?);
        let b = &mut self.b;
        let (zero, one, two, three) = (b.float(0.0), b.float(1.0), b.float(2.0), b.float(3.0));
        let mut out = Vec::new();
        for i in 0..n {
            let over = b.bin(BinOp::FSub, x[i], low[i]);
            let span = b.bin(BinOp::FSub, high[i], low[i]);
            let ratio = b.bin(BinOp::FDiv, over, span);
            let at_least = b.bin(BinOp::FMax, ratio, zero);
            let t = b.bin(BinOp::FMin, at_least, one);
            let square = b.bin(BinOp::FMul, t, t);
            let twice = b.bin(BinOp::FMul, two, t);
            let rest = b.bin(BinOp::FSub, three, twice);
            out.push(b.bin(BinOp::FMul, square, rest));
        }
        self.bind_regs(ins, out)
    }

    fn geometry(&mut self, ins: &Ins<'_>, op: G, a: &[Reg]) -> R<()> {
        let n = a.len();
        let out = match op {
            G::Length => {
                let square = self.dot(a, a);
                vec![if n == 1 { self.b.un(UnOp::FAbs, a[0]) } else { self.root(square) }]
            }
            G::Normalize => {
                let square = self.dot(a, a);
                let inverse = self.b.un(UnOp::FRsqrt, square);
                a.iter().map(|&a| self.b.bin(BinOp::FMul, a, inverse)).collect()
            }
            G::Distance => {
                let b = self.operand_n(ins, 1, n)?;
                let apart: Vec<Reg> =
                    a.iter().zip(b).map(|(&a, b)| self.b.bin(BinOp::FSub, a, b)).collect();
                let square = self.dot(&apart, &apart);
                vec![if n == 1 { self.b.un(UnOp::FAbs, apart[0]) } else { self.root(square) }]
            }
            G::Cross => {
                let b = self.operand_n(ins, 1, 3)?;
                if n != 3 {
                    return Err(ShaderError::invalid("a cross product of no 3-vectors"));
                }
                let mut out = Vec::new();
                for (i, j) in [(1, 2), (2, 0), (0, 1)] {
                    out.push(self.minor(a[i], b[j], a[j], b[i]));
                }
                out
            }
            G::FaceForward => {
                let (incident, reference) =
                    (self.operand_n(ins, 1, n)?, self.operand_n(ins, 2, n)?);
                let side = self.dot(&reference, &incident);
                let zero = self.b.float(0.0);
                let facing = self.b.bin(BinOp::FOLt, side, zero);
                let mut out = Vec::new();
                for &a in a {
                    let away = self.b.un(UnOp::FNeg, a);
                    out.push(self.b.select(facing, a, away));
                }
                out
            }
            G::Reflect => {
                let normal = self.operand_n(ins, 1, n)?;
                let along = self.dot(&normal, a);
                let two = self.b.float(2.0);
                let twice = self.b.bin(BinOp::FMul, two, along);
                let mut out = Vec::new();
                for i in 0..n {
                    let back = self.b.bin(BinOp::FMul, twice, normal[i]);
                    out.push(self.b.bin(BinOp::FSub, a[i], back));
                }
                out
            }
            _ => self.refract(ins, a)?,
        };
        self.bind_regs(ins, out)
    }

    fn root(&mut self, square: Reg) -> Reg {
        self.b.un(UnOp::FSqrt, square)
    }

    /// `a * b - c * d`.
    fn minor(&mut self, a: Reg, b: Reg, c: Reg, d: Reg) -> Reg {
        let left = self.b.bin(BinOp::FMul, a, b);
        let right = self.b.bin(BinOp::FMul, c, d);
        self.b.bin(BinOp::FSub, left, right)
    }

    fn refract(&mut self, ins: &Ins<'_>, incident: &[Reg]) -> R<Vec<Reg>> {
        let n = incident.len();
        let normal = self.operand_n(ins, 1, n)?;
        let eta = self.scalar_operand(ins, 2)?;
        let along = self.dot(&normal, incident);
        let b = &mut self.b;
        let (zero, one) = (b.float(0.0), b.float(1.0));
        let square = b.bin(BinOp::FMul, along, along);
        let sine = b.bin(BinOp::FSub, one, square);
        let eta_square = b.bin(BinOp::FMul, eta, eta);
        let bent = b.bin(BinOp::FMul, eta_square, sine);
        let k = b.bin(BinOp::FSub, one, bent);
        let reflected = b.bin(BinOp::FOLt, k, zero);
        let root = b.un(UnOp::FSqrt, k);
        let scaled = b.bin(BinOp::FMul, eta, along);
        let factor = b.bin(BinOp::FAdd, scaled, root);
        let mut out = Vec::new();
        for i in 0..n {
            let forward = b.bin(BinOp::FMul, eta, incident[i]);
            let aside = b.bin(BinOp::FMul, factor, normal[i]);
            let value = b.bin(BinOp::FSub, forward, aside);
            out.push(b.select(reflected, zero, value));
        }
        Ok(out)
    }

    /// Determinant and inverse of square matrices, by cofactors.
    fn square(&mut self, ins: &Ins<'_>, op: G, m: &[Reg]) -> R<()> {
        let (columns, rows) = self.shape(self.type_of(ins.arg(2)?)?)?;
        if columns != rows {
            return Err(ShaderError::invalid("a matrix that is not square"));
        }
        let n = columns;
        let all: Vec<usize> = (0..n).collect();
        if op == G::Determinant {
            let d = self.determinant(m, n, &all, &all);
            return self.bind_regs(ins, vec![d]);
        }
        // cofactors[c][r] of the element in column c and row r.
        let mut cofactors = vec![Vec::new(); n];
        for (c, list) in cofactors.iter_mut().enumerate() {
            for r in 0..n {
                let other = |k: usize| all.iter().copied().filter(|&i| i != k).collect::<Vec<_>>();
                let minor = self.determinant(m, n, &other(c), &other(r));
                let odd = (c + r) % 2 == 1;
                list.push(if odd { self.b.un(UnOp::FNeg, minor) } else { minor });
            }
        }
        let first: Vec<Reg> = (0..n).map(|c| m[c * n]).collect();
        let along: Vec<Reg> = (0..n).map(|c| cofactors[c][0]).collect();
        let determinant = self.dot(&first, &along);
        let mut out = Vec::new();
        for c in 0..n {
            for list in &cofactors {
                // The inverse is the transpose of the cofactors.
                out.push(self.b.bin(BinOp::FDiv, list[c], determinant));
            }
        }
        self.bind_regs(ins, out)
    }

    /// Determinant of the part of `m` with these columns and rows.
    fn determinant(&mut self, m: &[Reg], n: usize, columns: &[usize], rows: &[usize]) -> Reg {
        match (columns, rows) {
            ([c], [r]) => m[c * n + r],
            ([c0, c1], [r0, r1]) => {
                self.minor(m[c0 * n + r0], m[c1 * n + r1], m[c1 * n + r0], m[c0 * n + r1])
            }
            _ => {
                let mut sum = None;
                for (i, &c) in columns.iter().enumerate() {
                    let rest: Vec<usize> = columns.iter().copied().filter(|&k| k != c).collect();
                    let minor = self.determinant(m, n, &rest, &rows[1..]);
                    let term = self.b.bin(BinOp::FMul, m[c * n + rows[0]], minor);
                    let op = if i % 2 == 0 { BinOp::FAdd } else { BinOp::FSub };
                    sum = Some(match sum {
                        None => term,
                        Some(sum) => self.b.bin(op, sum, term),
                    });
                }
                match sum {
                    Some(sum) => sum,
                    None => self.b.float(1.0),
                }
            }
        }
    }

    /// `Modf` and `Frexp`, with the second result in a struct or by pointer.
    fn split(&mut self, ins: &Ins<'_>, op: G) -> R<()> {
        let a = self.operand_regs(ins, 0)?;
        let modf = matches!(op, G::Modf | G::ModfStruct);
        let mut first = Vec::new();
        let mut second = Vec::new();
        for a in a {
            let (x, y) = if modf { self.modf(a) } else { self.frexp(a) };
            first.push(x);
            second.push(y);
        }
        if matches!(op, G::ModfStruct | G::FrexpStruct) {
            first.extend(second);
            return self.bind_regs(ins, first);
        }
        let pointer: std::rc::Rc<Pointer> = self.pointer(ins.arg(3)?)?;
        self.store(&pointer, Value::regs(second), Self::PLAIN)?;
        self.bind_regs(ins, first)
    }

    /// Fraction and whole part, both with the operand's sign.
    fn modf(&mut self, a: Reg) -> (Reg, Reg) {
        let b = &mut self.b;
        let whole = b.un(UnOp::FTrunc, a);
        let rest = b.bin(BinOp::FSub, a, whole);
        let endless = b.un(UnOp::FIsInf, a);
        let zero = b.float(0.0);
        let rest = b.select(endless, zero, rest);
        let (sign, body) = (b.word(0x8000_0000), b.word(0x7FFF_FFFF));
        let sign = b.bin(BinOp::And, a, sign);
        let body = b.bin(BinOp::And, rest, body);
        (b.bin(BinOp::Or, body, sign), whole)
    }

    /// Significand in 0.5..1 and exponent; 0, infinities and NaN keep their
    /// value and have exponent 0.
    fn frexp(&mut self, a: Reg) -> (Reg, Reg) {
        let b = &mut self.b;
        let (zero, exponent_bits) = (b.word(0), b.word(0x7F80_0000));
        let field = b.bin(BinOp::And, a, exponent_bits);
        let small = b.bin(BinOp::IEq, field, zero);
        let special = b.bin(BinOp::IEq, field, exponent_bits);
        let magnitude = b.word(0x7FFF_FFFF);
        let magnitude = b.bin(BinOp::And, a, magnitude);
        let is_zero = b.bin(BinOp::IEq, magnitude, zero);
        let keep = b.bin(BinOp::Or, special, is_zero);
        // Subnormals are scaled up first: 2^24.
        let up = b.float(16_777_216.0);
        let scaled = b.bin(BinOp::FMul, a, up);
        let normal = b.select(small, scaled, a);
        let (rest, half) = (b.word(0x807F_FFFF), b.word(0x3F00_0000));
        let rest = b.bin(BinOp::And, normal, rest);
        let significand = b.bin(BinOp::Or, rest, half);
        let field = b.bin(BinOp::And, normal, exponent_bits);
        let shift = b.word(23);
        let biased = b.bin(BinOp::ShrL, field, shift);
        let (bias, small_bias) = (b.word(126), b.word(150));
        let bias = b.select(small, small_bias, bias);
        let exponent = b.bin(BinOp::ISub, biased, bias);
        (b.select(keep, a, significand), b.select(keep, zero, exponent))
    }

    fn packing(&mut self, ins: &Ins<'_>, op: G, a: &[Reg]) -> R<()> {
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
