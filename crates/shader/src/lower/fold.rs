//! Values of pure ops on constants: the same bits that an engine computes.
//!
//! Only what has one possible answer is folded: integers, truth values, and
//! float ops whose operands and result are normal numbers or zero.

use crate::ir::{BinOp, TerOp, Ty, UnOp};

/// Width of an integer type in bits; 0 for `Bool`.
pub(super) const fn bits(ty: Ty) -> u32 {
    match ty {
        Ty::Bool => 0,
        Ty::B8 => 8,
        Ty::B16 => 16,
        Ty::B32 => 32,
        Ty::B64 => 64,
    }
}

/// All ones of the type.
pub(super) const fn mask(ty: Ty) -> u64 {
    match ty {
        Ty::Bool => 1,
        Ty::B8 => 0xFF,
        Ty::B16 => 0xFFFF,
        Ty::B32 => 0xFFFF_FFFF,
        Ty::B64 => u64::MAX,
    }
}

fn signed(ty: Ty, v: u64) -> i64 {
    let unused = 64 - bits(ty);
    ((v << unused) as i64) >> unused
}

/// Exponent bits and significand bits of the float of that type.
pub(super) const fn float_shape(ty: Ty) -> (u32, u32) {
    match ty {
        Ty::B16 => (5, 10),
        Ty::B64 => (11, 52),
        Ty::Bool | Ty::B8 | Ty::B32 => (8, 23),
    }
}

/// True for a float that every engine treats alike: 0 or a normal number.
fn plain(ty: Ty, v: u64) -> bool {
    let (exponent, significand) = float_shape(ty);
    let top = (1 << exponent) - 1;
    let field = v >> significand & top;
    let zero = v << (65 - bits(ty)) == 0;
    zero || (field != 0 && field != top)
}

/// The number that half `h` is.
fn half_to(h: u64) -> f64 {
    let sign = if h & 0x8000 == 0 { 1.0 } else { -1.0 };
    let (exponent, significand) = ((h >> 10 & 31) as i32, (h & 0x3FF) as f64);
    let size = match exponent {
        0 => significand * 2f64.powi(-24),
        31 if significand == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1024.0 + significand) * 2f64.powi(exponent - 25),
    };
    sign * size
}

/// The half nearest to `v`, ties to even.
fn half_from(v: f64) -> u64 {
    let sign = u64::from(v.is_sign_negative()) << 15;
    let size = v.abs();
    let body = if size.is_nan() {
        0x7E00
    } else if size >= 65520.0 {
        0x7C00
    } else if size < 2f64.powi(-14) {
        (size * 2f64.powi(24)).round_ties_even() as u64
    } else {
        // Exponent and significand side by side: a carry goes where it should.
        let rebased = size.to_bits() - ((1023 - 15) << 52);
        let lost = 52 - 10;
        let even = rebased >> lost & 1;
        (rebased + (1 << (lost - 1)) - 1 + even) >> lost
    };
    sign | body
}

/// The bits of the float of type `ty` nearest to `v`.
pub(super) fn float_bits(ty: Ty, v: f64) -> u64 {
    match ty {
        Ty::B16 => half_from(v),
        Ty::B64 => v.to_bits(),
        Ty::Bool | Ty::B8 | Ty::B32 => u64::from((v as f32).to_bits()),
    }
}

/// The number that the bits are, if every engine treats it alike.
fn float(ty: Ty, v: u64) -> Option<f64> {
    let value = match ty {
        Ty::B16 => half_to(v),
        Ty::B32 => f64::from(f32::from_bits(v as u32)),
        Ty::B64 => f64::from_bits(v),
        Ty::Bool | Ty::B8 => return None,
    };
    plain(ty, v).then_some(value)
}

/// The bits of a result, rounded once more than `v` was: exact for sums,
/// products and quotients of the type, whose significand is less than half as
/// long as that of `v` (or the same).
fn number(ty: Ty, v: f64) -> Option<u64> {
    if matches!(ty, Ty::Bool | Ty::B8) {
        return None;
    }
    let bits = float_bits(ty, v);
    plain(ty, bits).then_some(bits)
}

/// Integer to float, rounded once.
fn from_int(to: Ty, v: i128) -> Option<u64> {
    match to {
        // Beyond 2^53 a half is infinite anyway.
        Ty::B16 => Some(half_from(v as f64)),
        Ty::B32 => Some(u64::from((v as f32).to_bits())),
        Ty::B64 => Some((v as f64).to_bits()),
        Ty::Bool | Ty::B8 => None,
    }
}

/// `op` on `a`, whose type is `ty`; `to` is the type of the result.
pub(crate) fn unary(op: UnOp, ty: Ty, to: Ty, a: u64) -> Option<u64> {
    let m = mask(to);
    if ty == Ty::Bool && !matches!(op, UnOp::Not | UnOp::Copy) {
        return None;
    }
    Some(match op {
        UnOp::Not => !a & m,
        UnOp::INeg => a.wrapping_neg() & m,
        UnOp::IAbs => signed(ty, a).unsigned_abs() & m,
        UnOp::ISign => signed(ty, a).signum() as u64 & m,
        UnOp::BitCount => u64::from(a.count_ones()),
        UnOp::BitReverse => a.reverse_bits() >> (64 - bits(ty)),
        UnOp::FindLsb => {
            if a == 0 {
                m
            } else {
                u64::from(a.trailing_zeros())
            }
        }
        UnOp::FindUMsb => {
            if a == 0 {
                m
            } else {
                u64::from(63 - a.leading_zeros())
            }
        }
        UnOp::FindSMsb => {
            let v = signed(ty, a);
            let v = if v < 0 { !v } else { v };
            if v == 0 { m } else { u64::from(63 - v.leading_zeros()) }
        }
        UnOp::FNeg => a ^ (1 << (bits(ty) - 1)),
        UnOp::FAbs => a & !(1 << (bits(ty) - 1)),
        UnOp::SToF => from_int(to, i128::from(signed(ty, a)))?,
        UnOp::UToF => from_int(to, i128::from(a))?,
        UnOp::FToS => {
            let most = (m >> 1) as i64;
            (float(ty, a)? as i64).clamp(!most, most) as u64 & m
        }
        UnOp::FToU => (float(ty, a)? as u64).min(m),
        UnOp::FConvert => number(to, float(ty, a)?)?,
        UnOp::SConvert => signed(ty, a) as u64 & m,
        UnOp::UConvert => a & m,
        UnOp::Copy => a,
        _ => return None,
    })
}

/// `op` on `a` and `b`, whose type is `ty`.
pub(crate) fn binary(op: BinOp, ty: Ty, a: u64, b: u64) -> Option<u64> {
    let m = mask(ty);
    if ty == Ty::Bool && !matches!(op, BinOp::And | BinOp::Or | BinOp::Xor) {
        return None;
    }
    let (sa, sb) = if ty == Ty::Bool { (0, 0) } else { (signed(ty, a), signed(ty, b)) };
    let count = (b & u64::from(bits(ty).max(1) - 1)) as u32;
    let truth = |v: bool| Some(u64::from(v));
    Some(match op {
        BinOp::IAdd => a.wrapping_add(b) & m,
        BinOp::ISub => a.wrapping_sub(b) & m,
        BinOp::IMul => a.wrapping_mul(b) & m,
        BinOp::UMulHi => ((u128::from(a) * u128::from(b)) >> bits(ty)) as u64 & m,
        BinOp::SMulHi => ((i128::from(sa) * i128::from(sb)) >> bits(ty)) as u64 & m,
        BinOp::UDiv => a.checked_div(b).unwrap_or(m),
        BinOp::UMod => a.checked_rem(b).unwrap_or(m),
        BinOp::SDiv => {
            if b == 0 {
                m
            } else {
                sa.wrapping_div(sb) as u64 & m
            }
        }
        BinOp::SRem => {
            if b == 0 {
                m
            } else {
                sa.wrapping_rem(sb) as u64 & m
            }
        }
        BinOp::SMod => {
            if b == 0 {
                m
            } else {
                let r = sa.wrapping_rem(sb);
                (if r != 0 && (r < 0) != (sb < 0) { r + sb } else { r }) as u64 & m
            }
        }
        BinOp::UCarry => u64::from((u128::from(a) + u128::from(b)) > u128::from(m)),
        BinOp::UBorrow => u64::from(a < b),
        BinOp::And => a & b,
        BinOp::Or => a | b,
        BinOp::Xor => a ^ b,
        BinOp::Shl => (a << count) & m,
        BinOp::ShrL => a >> count,
        BinOp::ShrA => (sa >> count) as u64 & m,
        BinOp::UMin => a.min(b),
        BinOp::UMax => a.max(b),
        BinOp::SMin => sa.min(sb) as u64 & m,
        BinOp::SMax => sa.max(sb) as u64 & m,
        BinOp::IEq => return truth(a == b),
        BinOp::INe => return truth(a != b),
        BinOp::ULt => return truth(a < b),
        BinOp::ULe => return truth(a <= b),
        BinOp::UGt => return truth(a > b),
        BinOp::UGe => return truth(a >= b),
        BinOp::SLt => return truth(sa < sb),
        BinOp::SLe => return truth(sa <= sb),
        BinOp::SGt => return truth(sa > sb),
        BinOp::SGe => return truth(sa >= sb),
        _ => return float_binary(op, ty, float(ty, a)?, float(ty, b)?),
    })
}

fn float_binary(op: BinOp, ty: Ty, a: f64, b: f64) -> Option<u64> {
    let truth = |v: bool| Some(u64::from(v));
    let number = |v: f64| number(ty, v);
    match op {
        BinOp::FAdd => number(a + b),
        BinOp::FSub => number(a - b),
        BinOp::FMul => number(a * b),
        BinOp::FDiv if b != 0.0 => number(a / b),
        BinOp::FOEq | BinOp::FUEq => truth(a == b),
        BinOp::FONe | BinOp::FUNe => truth(a != b),
        BinOp::FOLt | BinOp::FULt => truth(a < b),
        BinOp::FOLe | BinOp::FULe => truth(a <= b),
        BinOp::FOGt | BinOp::FUGt => truth(a > b),
        BinOp::FOGe | BinOp::FUGe => truth(a >= b),
        _ => None,
    }
}

/// `op` on `a`, `b` and `c`; `ty` is the type of the result.
pub(crate) fn ternary(op: TerOp, ty: Ty, [a, b, c]: [u64; 3]) -> Option<u64> {
    let width = u64::from(bits(ty));
    if ty == Ty::Bool && op != TerOp::Select {
        return None;
    }
    match op {
        TerOp::Select => Some(if a != 0 { b } else { c }),
        TerOp::FFma => None,
        TerOp::BitfieldSExtract | TerOp::BitfieldUExtract => {
            let count = c.min(width);
            if count == 0 {
                return Some(0);
            }
            if b + count > width {
                return None;
            }
            let field = (a >> b) & (u64::MAX >> (64 - count));
            if op == TerOp::BitfieldUExtract {
                return Some(field);
            }
            let unused = 64 - count;
            Some((((field << unused) as i64) >> unused) as u64 & mask(ty))
        }
    }
}
