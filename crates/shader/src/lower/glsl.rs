//! `GLSL.std.450`, at the width of the operands.

mod parts;

use super::ops::Takes;
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
        _ => return None,
    })
}

/// Functions that read subnormals as 0 (see `flush`): those of the transcendental
/// unit whose result shows it, and HLSL's `degrees` and `radians`. Not the inverse
/// square root: inner loops live by it, and 1e19 in place of an infinity is
/// allowed.
const fn reads_no_subnormals(op: G) -> bool {
    matches!(
        op,
        G::Sqrt | G::Log | G::Log2 | G::Sin | G::Tan | G::Sinh | G::Tanh | G::Radians | G::Degrees
    )
}

/// What the first operand of a function is.
const fn takes(op: G) -> Takes {
    match op {
        G::SAbs
        | G::SSign
        | G::FindILsb
        | G::FindSMsb
        | G::FindUMsb
        | G::UMin
        | G::SMin
        | G::UMax
        | G::SMax
        | G::UClamp
        | G::SClamp
        | G::PackDouble2x32
        | G::UnpackDouble2x32 => Takes::Integers,
        G::PackSnorm4x8
        | G::PackUnorm4x8
        | G::PackSnorm2x16
        | G::PackUnorm2x16
        | G::PackHalf2x16
        | G::UnpackSnorm4x8
        | G::UnpackUnorm4x8
        | G::UnpackSnorm2x16
        | G::UnpackUnorm2x16
        | G::UnpackHalf2x16 => Takes::Singles,
        _ => Takes::Floats,
    }
}

impl Lower<'_, '_> {
    pub fn glsl(&mut self, ins: &Ins<'_>) -> R<()> {
        let number = ins.arg(1)?;
        let op = G::from_u32(number)
            .ok_or_else(|| ShaderError::invalid(format!("GLSL.std.450 function {number}")))?;
        if op == G::SAbs && self.m.from_dxc {
            // DXC writes this for `abs` of unsigned numbers too, which stay as they are.
            let (elem, _) = self.m.components(ins.ty)?;
            if !self.m.signed.contains(&elem) {
                let regs = self.operand_regs(ins, 0)?;
                return self.bind_regs(ins, regs);
            }
        }
        self.function(ins, op).map_err(|mut e| {
            if e.word.is_none() {
                e.what = format!("{} in GLSL.std.450 {op:?}", e.what);
            }
            e
        })
    }

    /// Operand `i` (from 0), all of it numbers of one type.
    fn operand_regs(&mut self, ins: &Ins<'_>, i: usize) -> R<Vec<Reg>> {
        let regs = self.regs(ins.arg(2 + i)?)?;
        self.one_type(Takes::Integers, &regs)?;
        Ok(regs.to_vec())
    }

    /// Operand `i`, with `n` components.
    pub(super) fn operand_n(&mut self, ins: &Ins<'_>, i: usize, n: usize) -> R<Vec<Reg>> {
        let regs = self.operand_regs(ins, i)?;
        if regs.len() == n {
            return Ok(regs);
        }
        Err(ShaderError::invalid(format!("an operand of {} components, not {n}", regs.len())))
    }

    /// Operand `i`, with `n` components of type `ty`.
    fn operand_like(&mut self, ins: &Ins<'_>, i: usize, n: usize, ty: Ty) -> R<Vec<Reg>> {
        let regs = self.operand_n(ins, i, n)?;
        self.all_of(ty, &regs)?;
        Ok(regs)
    }

    fn scalar_operand(&mut self, ins: &Ins<'_>, i: usize) -> R<Reg> {
        Ok(self.operand_n(ins, i, 1)?[0])
    }

    fn function(&mut self, ins: &Ins<'_>, op: G) -> R<()> {
        let mut a = self.operand_regs(ins, 0)?;
        let n = a.len();
        let ty = self.one_type(takes(op), &a)?;
        if reads_no_subnormals(op) {
            a.iter_mut().for_each(|a| *a = self.b.function_operand(*a));
        }
        // HLSL's `abs` of an unsigned number is that number; DXC 1.8 writes SAbs.
        if op == G::SAbs && self.from_dxc {
            let (scalar, _) = self.m.components(ins.ty)?;
            if !self.m.signed.contains(&scalar) {
                return self.bind_regs(ins, a);
            }
        }
        if let Some(op) = unary(op) {
            let to = self.m.scalar(self.m.components(ins.ty)?.0)?;
            let finds = matches!(op, UnOp::FindLsb | UnOp::FindSMsb | UnOp::FindUMsb);
            let mut out = Vec::new();
            for a in a {
                let value = self.b.un(op, a);
                // All ones stay all ones at another width.
                let resizes = finds && to != ty && Takes::Integers.fits(to);
                out.push(if resizes { self.b.convert(UnOp::SConvert, value, to) } else { value });
            }
            return self.bind_regs(ins, out);
        }
        if let Some(op) = binary(op) {
            let b = self.operand_like(ins, 1, n, ty)?;
            let out = a.iter().zip(b).map(|(&a, b)| self.b.bin(op, a, b)).collect();
            return self.bind_regs(ins, out);
        }
        match op {
            G::ModfStruct | G::FrexpStruct | G::Modf | G::Frexp => self.parts(ins, op, &a),
            G::Ldexp => self.ldexp(ins, &a),
            G::Radians | G::Degrees => {
                let radians = std::f64::consts::PI / 180.0;
                let degrees = 180.0 / std::f64::consts::PI;
                let factor = if op == G::Radians { radians } else { degrees };
                let factor = self.b.float_of(ty, factor);
                let out = a.iter().map(|&a| self.b.bin(BinOp::FMul, a, factor)).collect();
                self.bind_regs(ins, out)
            }
            G::FClamp | G::NClamp | G::UClamp | G::SClamp => self.clamp(ins, op, &a),
            G::FMix => {
                let (b, t) = (self.operand_like(ins, 1, n, ty)?, self.operand_like(ins, 2, n, ty)?);
                let one = self.b.float_of(ty, 1.0);
                let mut out = Vec::new();
                for i in 0..n {
                    let rest = self.b.bin(BinOp::FSub, one, t[i]);
                    let left = self.b.bin(BinOp::FMul, a[i], rest);
                    let right = self.b.bin(BinOp::FMul, b[i], t[i]);
                    out.push(self.b.bin(BinOp::FAdd, left, right));
                }
                self.bind_regs(ins, out)
            }
            G::Step => self.step_function(ins, &a),
            G::SmoothStep => self.smooth_step(ins, &a),
            G::Fma => {
                let (b, c) = (self.operand_like(ins, 1, n, ty)?, self.operand_like(ins, 2, n, ty)?);
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
            _ => self.packing(ins, op, &a),
        }
    }

    fn step_function(&mut self, ins: &Ins<'_>, edge: &[Reg]) -> R<()> {
        let (n, ty) = (edge.len(), self.b.pool.ty(edge[0]));
        let x = self.operand_like(ins, 1, n, ty)?;
        let (zero, one) = (self.b.float_of(ty, 0.0), self.b.float_of(ty, 1.0));
        let mut out = Vec::new();
        for i in 0..n {
            let below = self.b.bin(BinOp::FOLt, x[i], edge[i]);
            out.push(self.b.select(below, zero, one));
        }
        self.bind_regs(ins, out)
    }

    fn clamp(&mut self, ins: &Ins<'_>, op: G, a: &[Reg]) -> R<()> {
        let (n, ty) = (a.len(), self.b.pool.ty(a[0]));
        let (low, high) = (self.operand_like(ins, 1, n, ty)?, self.operand_like(ins, 2, n, ty)?);
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
        let (n, ty) = (low.len(), self.b.pool.ty(low[0]));
        let (high, x) = (self.operand_like(ins, 1, n, ty)?, self.operand_like(ins, 2, n, ty)?);
        let b = &mut self.b;
        let [zero, one, two, three] = [0.0, 1.0, 2.0, 3.0].map(|v| b.float_of(ty, v));
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
        let (n, ty) = (a.len(), self.b.pool.ty(a[0]));
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
                let b = self.operand_like(ins, 1, n, ty)?;
                let apart: Vec<Reg> =
                    a.iter().zip(b).map(|(&a, b)| self.b.bin(BinOp::FSub, a, b)).collect();
                let square = self.dot(&apart, &apart);
                vec![if n == 1 { self.b.un(UnOp::FAbs, apart[0]) } else { self.root(square) }]
            }
            G::Cross => {
                let b = self.operand_like(ins, 1, 3, ty)?;
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
                    (self.operand_like(ins, 1, n, ty)?, self.operand_like(ins, 2, n, ty)?);
                let side = self.dot(&reference, &incident);
                let zero = self.b.float_of(ty, 0.0);
                let facing = self.b.bin(BinOp::FOLt, side, zero);
                let mut out = Vec::new();
                for &a in a {
                    let away = self.b.un(UnOp::FNeg, a);
                    out.push(self.b.select(facing, a, away));
                }
                out
            }
            G::Reflect => {
                let normal = self.operand_like(ins, 1, n, ty)?;
                let along = self.dot(&normal, a);
                let two = self.b.float_of(ty, 2.0);
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
        let (n, ty) = (incident.len(), self.b.pool.ty(incident[0]));
        let normal = self.operand_like(ins, 1, n, ty)?;
        // Its type may be of another width.
        let mut eta = self.scalar_operand(ins, 2)?;
        self.one_type(Takes::Floats, &[eta])?;
        if self.b.pool.ty(eta) != ty {
            eta = self.b.convert(UnOp::FConvert, eta, ty);
        }
        let along = self.dot(&normal, incident);
        let b = &mut self.b;
        let (zero, one) = (b.float_of(ty, 0.0), b.float_of(ty, 1.0));
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
}
