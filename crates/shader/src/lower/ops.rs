//! Which IR op a component-wise SPIR-V instruction is.

use crate::ir::{BinOp, Ty, UnOp};
use spirv::Op;

/// Instructions of one operand that work on each component by itself.
pub(super) const fn unary(op: Op) -> Option<UnOp> {
    Some(match op {
        Op::Not | Op::LogicalNot => UnOp::Not,
        Op::SNegate => UnOp::INeg,
        Op::FNegate => UnOp::FNeg,
        Op::BitCount => UnOp::BitCount,
        Op::BitReverse => UnOp::BitReverse,
        Op::IsNan => UnOp::FIsNan,
        Op::IsInf => UnOp::FIsInf,
        Op::ConvertFToS => UnOp::FToS,
        Op::ConvertFToU => UnOp::FToU,
        Op::ConvertSToF => UnOp::SToF,
        Op::ConvertUToF => UnOp::UToF,
        Op::QuantizeToF16 => UnOp::FQuantizeF16,
        Op::SConvert => UnOp::SConvert,
        Op::UConvert => UnOp::UConvert,
        Op::FConvert => UnOp::FConvert,
        _ => return None,
    })
}

/// Instructions of two operands that work on each component by itself.
pub(super) const fn binary(op: Op) -> Option<BinOp> {
    Some(match op {
        Op::IAdd => BinOp::IAdd,
        Op::ISub => BinOp::ISub,
        Op::IMul => BinOp::IMul,
        Op::UDiv => BinOp::UDiv,
        Op::SDiv => BinOp::SDiv,
        Op::UMod => BinOp::UMod,
        Op::SRem => BinOp::SRem,
        Op::SMod => BinOp::SMod,
        Op::BitwiseAnd | Op::LogicalAnd => BinOp::And,
        Op::BitwiseOr | Op::LogicalOr => BinOp::Or,
        Op::BitwiseXor | Op::LogicalNotEqual => BinOp::Xor,
        Op::ShiftLeftLogical => BinOp::Shl,
        Op::ShiftRightLogical => BinOp::ShrL,
        Op::ShiftRightArithmetic => BinOp::ShrA,
        Op::FAdd => BinOp::FAdd,
        Op::FSub => BinOp::FSub,
        Op::FMul => BinOp::FMul,
        Op::FDiv => BinOp::FDiv,
        Op::FRem => BinOp::FRem,
        Op::FMod => BinOp::FMod,
        Op::IEqual => BinOp::IEq,
        Op::INotEqual => BinOp::INe,
        Op::ULessThan => BinOp::ULt,
        Op::ULessThanEqual => BinOp::ULe,
        Op::UGreaterThan => BinOp::UGt,
        Op::UGreaterThanEqual => BinOp::UGe,
        Op::SLessThan => BinOp::SLt,
        Op::SLessThanEqual => BinOp::SLe,
        Op::SGreaterThan => BinOp::SGt,
        Op::SGreaterThanEqual => BinOp::SGe,
        Op::FOrdEqual => BinOp::FOEq,
        Op::FOrdNotEqual => BinOp::FONe,
        Op::FOrdLessThan => BinOp::FOLt,
        Op::FOrdLessThanEqual => BinOp::FOLe,
        Op::FOrdGreaterThan => BinOp::FOGt,
        Op::FOrdGreaterThanEqual => BinOp::FOGe,
        Op::FUnordEqual => BinOp::FUEq,
        Op::FUnordNotEqual => BinOp::FUNe,
        Op::FUnordLessThan => BinOp::FULt,
        Op::FUnordLessThanEqual => BinOp::FULe,
        Op::FUnordGreaterThan => BinOp::FUGt,
        Op::FUnordGreaterThanEqual => BinOp::FUGe,
        _ => return None,
    })
}

/// What an instruction takes, as far as registers tell.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Takes {
    /// Truth values.
    Truth,
    /// Integers of any width.
    Integers,
    /// Floats of 16, 32 or 64 bits.
    Floats,
    /// 32-bit floats.
    Singles,
}

/// What the operands of a component-wise instruction are.
pub(super) const fn takes(op: Op) -> Takes {
    match op {
        Op::LogicalNot | Op::LogicalAnd | Op::LogicalOr | Op::LogicalNotEqual => Takes::Truth,
        Op::QuantizeToF16 => Takes::Singles,
        Op::FNegate
        | Op::IsNan
        | Op::IsInf
        | Op::ConvertFToS
        | Op::ConvertFToU
        | Op::FConvert
        | Op::FAdd
        | Op::FSub
        | Op::FMul
        | Op::FDiv
        | Op::FRem
        | Op::FMod
        | Op::FOrdEqual
        | Op::FOrdNotEqual
        | Op::FOrdLessThan
        | Op::FOrdLessThanEqual
        | Op::FOrdGreaterThan
        | Op::FOrdGreaterThanEqual
        | Op::FUnordEqual
        | Op::FUnordNotEqual
        | Op::FUnordLessThan
        | Op::FUnordLessThanEqual
        | Op::FUnordGreaterThan
        | Op::FUnordGreaterThanEqual => Takes::Floats,
        _ => Takes::Integers,
    }
}

/// What a component-wise instruction of one operand gives.
pub(super) const fn gives(op: Op) -> Takes {
    match op {
        Op::IsNan | Op::IsInf => Takes::Truth,
        Op::ConvertFToS | Op::ConvertFToU => Takes::Integers,
        Op::ConvertSToF | Op::ConvertUToF => Takes::Floats,
        _ => takes(op),
    }
}

impl Takes {
    /// True if a register of that type can hold it.
    pub const fn fits(self, ty: Ty) -> bool {
        match self {
            Self::Truth => matches!(ty, Ty::Bool),
            Self::Integers => !matches!(ty, Ty::Bool),
            Self::Floats => matches!(ty, Ty::B16 | Ty::B32 | Ty::B64),
            Self::Singles => matches!(ty, Ty::B32),
        }
    }
}
