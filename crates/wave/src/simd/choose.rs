// tidy: table
//! From an op and the types of its registers to a driver of `sized.rs`.

use super::sized::{Sized, bin, ter, un};
use super::table::{Isa, LaneKind};
use crate::ops::sized::{convert as c, double, half, ints};
use wavefence_shader::ir::{BinOp, TerOp, Ty, UnOp};

/// What an op on narrow integers may be taken for, since their bits are
/// zero-extended in 32: the same op on 32 bits.
pub fn as_words(kind: LaneKind, dst: Ty, src: &[Ty]) -> Option<LaneKind> {
    let narrow = |t: &Ty| matches!(t, Ty::Bool | Ty::B8 | Ty::B16 | Ty::B32);
    if !narrow(&dst) || !src.iter().all(narrow) {
        return None;
    }
    let words = |t: &Ty| matches!(t, Ty::Bool | Ty::B32);
    if words(&dst) && src.iter().all(words) && !resizes(kind) {
        return Some(kind);
    }
    match kind {
        LaneKind::Un(UnOp::Copy | UnOp::BitCount)
        | LaneKind::Bin(BinOp::And | BinOp::Or | BinOp::Xor | BinOp::UMin | BinOp::UMax)
        | LaneKind::Bin(BinOp::IEq | BinOp::INe | BinOp::ULt | BinOp::ULe)
        | LaneKind::Bin(BinOp::UGt | BinOp::UGe | BinOp::UBorrow)
        | LaneKind::Ter(TerOp::Select | TerOp::BitfieldUExtract) => Some(kind),
        LaneKind::Un(UnOp::UConvert) if bits(dst) >= bits(src[0]) => Some(LaneKind::Un(UnOp::Copy)),
        LaneKind::Un(UnOp::SConvert) if dst == src[0] => Some(LaneKind::Un(UnOp::Copy)),
        LaneKind::Un(_)
        | LaneKind::Bin(_)
        | LaneKind::Ter(_)
        | LaneKind::MulAdd
        | LaneKind::MulSub
        | LaneKind::NegMulAdd
        | LaneKind::FmaSub
        | LaneKind::NegFma => None,
    }
}

fn resizes(kind: LaneKind) -> bool {
    matches!(kind, LaneKind::Un(UnOp::SConvert | UnOp::UConvert))
}

/// Bits of a value.
pub fn bits(ty: Ty) -> u32 {
    match ty {
        Ty::Bool => 1,
        Ty::B8 => 8,
        Ty::B16 => 16,
        Ty::B32 => 32,
        Ty::B64 => 64,
    }
}

/// The driver; `None` if there is no such op on those types.
pub(super) fn choose(isa: Isa, kind: LaneKind, dst: Ty, src: &[Ty]) -> Option<Sized> {
    let first = *src.first()?;
    match kind {
        LaneKind::Un(op) => unary(isa, op, dst, first),
        LaneKind::Bin(op) => binary(isa, op, first),
        LaneKind::Ter(TerOp::Select) => select(isa, dst),
        LaneKind::Ter(op) => ternary(isa, op, first),
        // Made from ops on 32 bits only.
        LaneKind::MulAdd
        | LaneKind::MulSub
        | LaneKind::NegMulAdd
        | LaneKind::FmaSub
        | LaneKind::NegFma => None,
    }
}

/// The function of that name of the module for the width.
macro_rules! by_width {
    ($family:ident, $isa:expr, $ty:expr, $f:ident) => {
        match $ty {
            Ty::B8 => Some($family($isa, ints::b8::$f)),
            Ty::B16 => Some($family($isa, ints::b16::$f)),
            Ty::B64 => Some($family($isa, ints::b64::$f)),
            Ty::Bool | Ty::B32 => None,
        }
    };
}

macro_rules! by_float {
    ($family:ident, $isa:expr, $ty:expr, $f:ident) => {
        match $ty {
            Ty::B16 => Some($family($isa, half::$f)),
            Ty::B64 => Some($family($isa, double::$f)),
            Ty::Bool | Ty::B8 | Ty::B32 => None,
        }
    };
}

/// Of 16 bits alone: SPIR-V has no such op on 64.
macro_rules! by_half {
    ($family:ident, $isa:expr, $ty:expr, $f:ident) => {
        match $ty {
            Ty::B16 => Some($family($isa, half::$f)),
            Ty::Bool | Ty::B8 | Ty::B32 | Ty::B64 => None,
        }
    };
}

fn unary(isa: Isa, op: UnOp, dst: Ty, ty: Ty) -> Option<Sized> {
    match op {
        UnOp::Not => by_width!(un, isa, ty, not),
        UnOp::INeg => by_width!(un, isa, ty, ineg),
        UnOp::IAbs => by_width!(un, isa, ty, iabs),
        UnOp::ISign => by_width!(un, isa, ty, isign),
        UnOp::BitCount => by_width!(un, isa, ty, bitcount),
        UnOp::BitReverse => by_width!(un, isa, ty, bitreverse),
        UnOp::FindLsb => by_width!(un, isa, ty, findlsb),
        UnOp::FindUMsb => by_width!(un, isa, ty, findumsb),
        UnOp::FindSMsb => by_width!(un, isa, ty, findsmsb),
        UnOp::Copy => by_width!(un, isa, ty, copy),
        UnOp::FNeg => by_float!(un, isa, ty, fneg),
        UnOp::FAbs => by_float!(un, isa, ty, fabs),
        UnOp::FSign => by_float!(un, isa, ty, fsign),
        UnOp::FFloor => by_float!(un, isa, ty, ffloor),
        UnOp::FCeil => by_float!(un, isa, ty, fceil),
        UnOp::FTrunc => by_float!(un, isa, ty, ftrunc),
        UnOp::FRoundEven => by_float!(un, isa, ty, froundeven),
        UnOp::FFract => by_float!(un, isa, ty, ffract),
        UnOp::FSqrt => by_float!(un, isa, ty, fsqrt),
        UnOp::FRsqrt => by_float!(un, isa, ty, frsqrt),
        UnOp::FIsNan => by_float!(un, isa, ty, fisnan),
        UnOp::FIsInf => by_float!(un, isa, ty, fisinf),
        UnOp::FExp => by_half!(un, isa, ty, fexp),
        UnOp::FExp2 => by_half!(un, isa, ty, fexp2),
        UnOp::FLog => by_half!(un, isa, ty, flog),
        UnOp::FLog2 => by_half!(un, isa, ty, flog2),
        UnOp::FSin => by_half!(un, isa, ty, fsin),
        UnOp::FCos => by_half!(un, isa, ty, fcos),
        UnOp::FTan => by_half!(un, isa, ty, ftan),
        UnOp::FAsin => by_half!(un, isa, ty, fasin),
        UnOp::FAcos => by_half!(un, isa, ty, facos),
        UnOp::FAtan => by_half!(un, isa, ty, fatan),
        UnOp::FSinh => by_half!(un, isa, ty, fsinh),
        UnOp::FCosh => by_half!(un, isa, ty, fcosh),
        UnOp::FTanh => by_half!(un, isa, ty, ftanh),
        UnOp::FAsinh => by_half!(un, isa, ty, fasinh),
        UnOp::FAcosh => by_half!(un, isa, ty, facosh),
        UnOp::FAtanh => by_half!(un, isa, ty, fatanh),
        UnOp::SConvert => sign_resize(isa, dst, ty),
        UnOp::UConvert => zero_resize(isa, dst, ty),
        UnOp::FConvert => float_resize(isa, dst, ty),
        UnOp::FToS => float_to_signed(isa, dst, ty),
        UnOp::FToU => float_to_unsigned(isa, dst, ty),
        UnOp::SToF => signed_to_float(isa, dst, ty),
        UnOp::UToF => unsigned_to_float(isa, dst, ty),
        // Of 32 bits alone.
        UnOp::FQuantizeF16 | UnOp::UnpackHalfLo | UnOp::UnpackHalfHi => None,
    }
}

fn binary(isa: Isa, op: BinOp, ty: Ty) -> Option<Sized> {
    match op {
        BinOp::IAdd => by_width!(bin, isa, ty, iadd),
        BinOp::ISub => by_width!(bin, isa, ty, isub),
        BinOp::IMul => by_width!(bin, isa, ty, imul),
        BinOp::UMulHi => by_width!(bin, isa, ty, umulhi),
        BinOp::SMulHi => by_width!(bin, isa, ty, smulhi),
        BinOp::UDiv => by_width!(bin, isa, ty, udiv),
        BinOp::SDiv => by_width!(bin, isa, ty, sdiv),
        BinOp::UMod => by_width!(bin, isa, ty, umod),
        BinOp::SRem => by_width!(bin, isa, ty, srem),
        BinOp::SMod => by_width!(bin, isa, ty, smod),
        BinOp::UCarry => by_width!(bin, isa, ty, ucarry),
        BinOp::UBorrow => by_width!(bin, isa, ty, uborrow),
        BinOp::And => by_width!(bin, isa, ty, and),
        BinOp::Or => by_width!(bin, isa, ty, or),
        BinOp::Xor => by_width!(bin, isa, ty, xor),
        BinOp::Shl => by_width!(bin, isa, ty, shl),
        BinOp::ShrL => by_width!(bin, isa, ty, shrl),
        BinOp::ShrA => by_width!(bin, isa, ty, shra),
        BinOp::UMin => by_width!(bin, isa, ty, umin),
        BinOp::UMax => by_width!(bin, isa, ty, umax),
        BinOp::SMin => by_width!(bin, isa, ty, smin),
        BinOp::SMax => by_width!(bin, isa, ty, smax),
        BinOp::IEq => by_width!(bin, isa, ty, ieq),
        BinOp::INe => by_width!(bin, isa, ty, ine),
        BinOp::ULt => by_width!(bin, isa, ty, ult),
        BinOp::ULe => by_width!(bin, isa, ty, ule),
        BinOp::UGt => by_width!(bin, isa, ty, ugt),
        BinOp::UGe => by_width!(bin, isa, ty, uge),
        BinOp::SLt => by_width!(bin, isa, ty, slt),
        BinOp::SLe => by_width!(bin, isa, ty, sle),
        BinOp::SGt => by_width!(bin, isa, ty, sgt),
        BinOp::SGe => by_width!(bin, isa, ty, sge),
        BinOp::FAdd => by_float!(bin, isa, ty, fadd),
        BinOp::FSub => by_float!(bin, isa, ty, fsub),
        BinOp::FMul => by_float!(bin, isa, ty, fmul),
        BinOp::FDiv => by_float!(bin, isa, ty, fdiv),
        BinOp::FRem => by_float!(bin, isa, ty, frem),
        BinOp::FMod => by_float!(bin, isa, ty, fmod),
        BinOp::FMin => by_float!(bin, isa, ty, fmin),
        BinOp::FMax => by_float!(bin, isa, ty, fmax),
        BinOp::FPow => by_half!(bin, isa, ty, fpow),
        BinOp::FAtan2 => by_half!(bin, isa, ty, fatan2),
        BinOp::FLdexp => by_float!(bin, isa, ty, fldexp),
        BinOp::FOEq => by_float!(bin, isa, ty, foeq),
        BinOp::FONe => by_float!(bin, isa, ty, fone),
        BinOp::FOLt => by_float!(bin, isa, ty, folt),
        BinOp::FOLe => by_float!(bin, isa, ty, fole),
        BinOp::FOGt => by_float!(bin, isa, ty, fogt),
        BinOp::FOGe => by_float!(bin, isa, ty, foge),
        BinOp::FUEq => by_float!(bin, isa, ty, fueq),
        BinOp::FUNe => by_float!(bin, isa, ty, fune),
        BinOp::FULt => by_float!(bin, isa, ty, fult),
        BinOp::FULe => by_float!(bin, isa, ty, fule),
        BinOp::FUGt => by_float!(bin, isa, ty, fugt),
        BinOp::FUGe => by_float!(bin, isa, ty, fuge),
        // Of 32 bits alone.
        BinOp::PackHalf => None,
    }
}

fn select(isa: Isa, ty: Ty) -> Option<Sized> {
    by_width!(ter, isa, ty, select)
}

fn ternary(isa: Isa, op: TerOp, ty: Ty) -> Option<Sized> {
    match op {
        TerOp::Select => None,
        TerOp::FFma => by_float!(ter, isa, ty, ffma),
        TerOp::BitfieldSExtract => by_width!(ter, isa, ty, bfsextract),
        TerOp::BitfieldUExtract => by_width!(ter, isa, ty, bfuextract),
    }
}

/// A driver, made for an instruction set.
type Make = fn(Isa) -> Sized;

/// The conversion from `src` to `dst`, if it is in the list.
fn find(isa: Isa, dst: Ty, src: Ty, list: &[(Ty, Ty, Make)]) -> Option<Sized> {
    list.iter().find(|c| c.0 == src && c.1 == dst).map(|c| c.2(isa))
}

macro_rules! conversions {
    ($($(#[$doc:meta])* $name:ident { $($from:ident $to:ident $f:ident;)* })*) => { $(
        $(#[$doc])*
        fn $name(isa: Isa, dst: Ty, src: Ty) -> Option<Sized> {
            find(isa, dst, src, &[$((Ty::$from, Ty::$to, |isa| un(isa, c::$f))),*])
        }
    )* };
}

conversions! {
    /// Others are copies of words.
    zero_resize {
        B16 B8 u16_to_8; B32 B8 u32_to_8; B64 B8 u64_to_8;
        B32 B16 u32_to_16; B64 B16 u64_to_16;
        B64 B32 u64_to_32;
        B8 B64 u8_to_64; B16 B64 u16_to_64; B32 B64 u32_to_64; B64 B64 u64_to_64;
    }
    /// Others are copies of words.
    sign_resize {
        B16 B8 s16_to_8; B32 B8 s32_to_8; B64 B8 s64_to_8;
        B8 B16 s8_to_16; B32 B16 s32_to_16; B64 B16 s64_to_16;
        B8 B32 s8_to_32; B16 B32 s16_to_32; B64 B32 s64_to_32;
        B8 B64 s8_to_64; B16 B64 s16_to_64; B32 B64 s32_to_64; B64 B64 s64_to_64;
    }
    float_resize {
        B16 B16 half_to_half; B16 B32 half_to_float; B16 B64 half_to_double;
        B32 B16 float_to_half; B32 B64 float_to_double;
        B64 B16 double_to_half; B64 B32 double_to_float; B64 B64 double_to_double;
    }
    float_to_unsigned {
        B16 B8 half_to_u8; B16 B16 half_to_u16; B16 B32 half_to_u32; B16 B64 half_to_u64;
        B32 B8 float_to_u8; B32 B16 float_to_u16; B32 B64 float_to_u64;
        B64 B8 double_to_u8; B64 B16 double_to_u16; B64 B32 double_to_u32;
        B64 B64 double_to_u64;
    }
    float_to_signed {
        B16 B8 half_to_s8; B16 B16 half_to_s16; B16 B32 half_to_s32; B16 B64 half_to_s64;
        B32 B8 float_to_s8; B32 B16 float_to_s16; B32 B64 float_to_s64;
        B64 B8 double_to_s8; B64 B16 double_to_s16; B64 B32 double_to_s32;
        B64 B64 double_to_s64;
    }
    unsigned_to_float {
        B8 B16 u8_to_half; B8 B32 u8_to_float; B8 B64 u8_to_double;
        B16 B16 u16_to_half; B16 B32 u16_to_float; B16 B64 u16_to_double;
        B32 B16 u32_to_half; B32 B64 u32_to_double;
        B64 B16 u64_to_half; B64 B32 u64_to_float; B64 B64 u64_to_double;
    }
    signed_to_float {
        B8 B16 s8_to_half; B8 B32 s8_to_float; B8 B64 s8_to_double;
        B16 B16 s16_to_half; B16 B32 s16_to_float; B16 B64 s16_to_double;
        B32 B16 s32_to_half; B32 B64 s32_to_double;
        B64 B16 s64_to_half; B64 B32 s64_to_float; B64 B64 s64_to_double;
    }
}
