//! Subnormal floats read and made as 0.
//!
//! Where a module asks for it (`DenormFlushToZero`), all arithmetic of a width
//! does: engines keep subnormals, so it gets its operands and gives its results
//! through a select. Where a module asks for nothing, HLSL and SPIR-V leave open
//! what happens; then only 32-bit functions that the hardware's transcendental
//! unit computes read subnormals as 0, as that unit does (assumed), and as LLVM's
//! offload-test-suite expects. `DenormPreserve` keeps them there too.

use super::builder::Builder;
use super::fold;
use super::pool::{Pure, compares};
use crate::ir::{BinOp, Reg, TerOp, Ty, UnOp};

/// The widths whose subnormals are 0.
#[derive(Clone, Copy, Default)]
pub(super) struct Flush {
    half: bool,
    single: bool,
    double: bool,
    /// `DenormPreserve` for 32 bits.
    pub keep_single: bool,
}

impl Flush {
    /// Notes a width in bits; false if no float has it.
    pub fn add(&mut self, bits: u32) -> bool {
        match bits {
            16 => self.half = true,
            32 => self.single = true,
            64 => self.double = true,
            _ => return false,
        }
        true
    }

    const fn has(self, ty: Ty) -> bool {
        match ty {
            Ty::Bool | Ty::B8 => false,
            Ty::B16 => self.half,
            Ty::B32 => self.single,
            Ty::B64 => self.double,
        }
    }
}

/// True for ops that compute with a float operand. Those that only touch its
/// sign, or tell what it is, see its bits.
const fn computes(pure: Pure) -> bool {
    match pure {
        Pure::Un(op, _) => matches!(
            op,
            UnOp::FSign
                | UnOp::FFloor
                | UnOp::FCeil
                | UnOp::FTrunc
                | UnOp::FRoundEven
                | UnOp::FFract
                | UnOp::FSqrt
                | UnOp::FRsqrt
                | UnOp::FExp
                | UnOp::FExp2
                | UnOp::FLog
                | UnOp::FLog2
                | UnOp::FSin
                | UnOp::FCos
                | UnOp::FTan
                | UnOp::FAsin
                | UnOp::FAcos
                | UnOp::FAtan
                | UnOp::FSinh
                | UnOp::FCosh
                | UnOp::FTanh
                | UnOp::FAsinh
                | UnOp::FAcosh
                | UnOp::FAtanh
                | UnOp::FQuantizeF16
                | UnOp::FToS
                | UnOp::FToU
                | UnOp::FConvert
        ),
        Pure::Bin(op, ..) => {
            matches!(
                op,
                BinOp::FAdd
                    | BinOp::FSub
                    | BinOp::FMul
                    | BinOp::FDiv
                    | BinOp::FRem
                    | BinOp::FMod
                    | BinOp::FMin
                    | BinOp::FMax
                    | BinOp::FPow
                    | BinOp::FAtan2
                    | BinOp::FLdexp
                    | BinOp::PackHalf
            ) || matches!(
                op,
                BinOp::FOEq
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
        Pure::Ter(op, ..) => matches!(op, TerOp::FFma),
    }
}

/// True if what such an op gives is a float.
const fn gives_float(pure: Pure) -> bool {
    match pure {
        Pure::Un(op, _) => !matches!(op, UnOp::FToS | UnOp::FToU),
        Pure::Bin(op, ..) => !compares(op) && !matches!(op, BinOp::PackHalf),
        Pure::Ter(..) => true,
    }
}

impl Builder {
    /// The op with subnormal operands replaced, and whether its result has to go
    /// through [`flushed`](Self::flushed).
    pub fn without_subnormals(&mut self, pure: Pure) -> (Pure, bool) {
        if !computes(pure) {
            return (pure, false);
        }
        let pure = match pure {
            Pure::Un(op, a) => Pure::Un(op, self.flushed(a)),
            // The exponent is an integer.
            Pure::Bin(BinOp::FLdexp, a, b) => Pure::Bin(BinOp::FLdexp, self.flushed(a), b),
            Pure::Bin(op, a, b) => Pure::Bin(op, self.flushed(a), self.flushed(b)),
            Pure::Ter(op, a, b, c) => {
                Pure::Ter(op, self.flushed(a), self.flushed(b), self.flushed(c))
            }
        };
        (pure, gives_float(pure))
    }

    /// A float, or 0 of its sign if it is subnormal and its width is flushed.
    pub fn flushed(&mut self, a: Reg) -> Reg {
        if self.flush.has(self.pool.ty(a)) { self.without_subnormal(a) } else { a }
    }

    /// The operand of a function of the transcendental unit.
    pub fn function_operand(&mut self, a: Reg) -> Reg {
        let flushes = self.pool.ty(a) == Ty::B32 && !self.flush.keep_single;
        if flushes { self.without_subnormal(a) } else { a }
    }

    fn without_subnormal(&mut self, a: Reg) -> Reg {
        if self.clean.contains(&a) {
            return a;
        }
        let ty = self.pool.ty(a);
        let (exponent, significand) = fold::float_shape(ty);
        let fields = ((1u64 << exponent) - 1) << significand;
        let most = fold::mask(ty);
        let (fields, zero) = (self.pool.constant(ty, fields), self.pool.constant(ty, 0));
        let sign = self.pool.constant(ty, most ^ (most >> 1));
        let field = self.bin(BinOp::And, a, fields);
        let small = self.bin(BinOp::IEq, field, zero);
        let signed = self.bin(BinOp::And, a, sign);
        let value = self.select(small, signed, a);
        self.clean.insert(value);
        value
    }
}
