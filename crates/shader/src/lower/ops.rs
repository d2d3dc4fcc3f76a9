//! Which IR op a component-wise SPIR-V instruction is.

use crate::ir::{BinOp, UnOp};
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
