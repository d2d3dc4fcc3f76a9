// tidy: table
//! One type per lane op: the plain function, and where it pays an AVX2 form
//! that gives the same bits.
//!
//! # Safety
//! The AVX2 forms are called only from the drivers of `x86.rs`, into which they
//! are inlined; those are compiled for AVX2 and run only where the CPU has it.

#[cfg(target_arch = "x86_64")]
use super::x86::{self, V};
use crate::ops::{bits, compare, convert, float, int, trans};

/// Applies `f` to eight lanes.
#[inline(always)]
fn each(f: impl Fn(usize) -> u32) -> [u32; 8] {
    [f(0), f(1), f(2), f(3), f(4), f(5), f(6), f(7)]
}

/// An op of one operand.
pub trait Un {
    /// One chunk.
    fn chunk(a: [u32; 8]) -> [u32; 8];
    /// One chunk in AVX2.
    ///
    /// # Safety
    /// Only inlined into functions compiled for AVX2 and FMA.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn v(a: V) -> V {
        x86::from_array(Self::chunk(x86::to_array(a)))
    }
}

/// An op of two operands.
pub trait Bin {
    /// One chunk.
    fn chunk(a: [u32; 8], b: [u32; 8]) -> [u32; 8];
    /// One chunk in AVX2.
    ///
    /// # Safety
    /// As [`Un::v`].
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn v(a: V, b: V) -> V {
        x86::from_array(Self::chunk(x86::to_array(a), x86::to_array(b)))
    }
}

/// An op of three operands.
pub trait Ter {
    /// One chunk.
    fn chunk(a: [u32; 8], b: [u32; 8], c: [u32; 8]) -> [u32; 8];
    /// One chunk in AVX2.
    ///
    /// # Safety
    /// As [`Un::v`].
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn v(a: V, b: V, c: V) -> V {
        x86::from_array(Self::chunk(x86::to_array(a), x86::to_array(b), x86::to_array(c)))
    }
}

macro_rules! un {
    ($($name:ident = $f:path $(=> |$($v:ident),*| $e:expr)?;)*) => { $(
        /// See the plain function.
        pub struct $name;
        impl Un for $name {
            #[inline(always)]
            fn chunk(a: [u32; 8]) -> [u32; 8] {
                each(|i| $f(a[i]))
            }
            $(
                #[cfg(target_arch = "x86_64")]
                #[inline(always)]
                unsafe fn v($($v: V),*) -> V {
                    // SAFETY: inlined into a function compiled for AVX2 only.
                    unsafe { $e }
                }
            )?
        }
    )* };
}

macro_rules! bin {
    ($($name:ident = $f:path $(=> |$($v:ident),*| $e:expr)?;)*) => { $(
        /// See the plain function.
        pub struct $name;
        impl Bin for $name {
            #[inline(always)]
            fn chunk(a: [u32; 8], b: [u32; 8]) -> [u32; 8] {
                each(|i| $f(a[i], b[i]))
            }
            $(
                #[cfg(target_arch = "x86_64")]
                #[inline(always)]
                unsafe fn v($($v: V),*) -> V {
                    // SAFETY: inlined into a function compiled for AVX2 only.
                    unsafe { $e }
                }
            )?
        }
    )* };
}

macro_rules! ter {
    ($($name:ident = $f:path $(=> |$($v:ident),*| $e:expr)?;)*) => { $(
        /// See the plain function.
        pub struct $name;
        impl Ter for $name {
            #[inline(always)]
            fn chunk(a: [u32; 8], b: [u32; 8], c: [u32; 8]) -> [u32; 8] {
                each(|i| $f(a[i], b[i], c[i]))
            }
            $(
                #[cfg(target_arch = "x86_64")]
                #[inline(always)]
                unsafe fn v($($v: V),*) -> V {
                    // SAFETY: inlined into a function compiled for AVX2 only.
                    unsafe { $e }
                }
            )?
        }
    )* };
}

un! {
    Not = int::not => |a| x86::not(a);
    INeg = int::ineg => |a| x86::isub(x86::zero(), a);
    IAbs = int::iabs;
    ISign = int::isign;
    BitCount = bits::bitcount;
    BitReverse = bits::bitreverse;
    FindLsb = bits::findlsb;
    FindUMsb = bits::findumsb;
    FindSMsb = bits::findsmsb;
    FNeg = float::fneg => |a| x86::xor(a, x86::splat(0x8000_0000));
    FAbs = float::fabs => |a| x86::and(a, x86::splat(0x7FFF_FFFF));
    FSign = float::fsign;
    FFloor = float::ffloor => |a| x86::canon(x86::floor(a));
    FCeil = float::fceil => |a| x86::canon(x86::ceil(a));
    FTrunc = float::ftrunc => |a| x86::canon(x86::trunc(a));
    FRoundEven = float::froundeven => |a| x86::canon(x86::round_even(a));
    FFract = float::ffract => |a| x86::fract(a);
    FSqrt = float::fsqrt => |a| x86::canon(x86::sqrt(a));
    FRsqrt = float::frsqrt => |a| x86::canon(x86::rsqrt(a));
    FRsqrtRaw = float::frsqrt => |a| x86::rsqrt(a);
    FSqrtRaw = float::fsqrt => |a| x86::sqrt(a);
    FExp = trans::fexp;
    FExp2 = trans::fexp2;
    FLog = trans::flog;
    FLog2 = trans::flog2;
    FAsin = trans::fasin;
    FAcos = trans::facos;
    FAtan = trans::fatan;
    FSinh = trans::fsinh;
    FCosh = trans::fcosh;
    FTanh = trans::ftanh;
    FAsinh = trans::fasinh;
    FAcosh = trans::facosh;
    FAtanh = trans::fatanh;
    FIsNan = compare::fisnan;
    FIsInf = compare::fisinf;
    FQuantizeF16 = convert::fquantize16;
    UnpackHalfLo = convert::unpackhalflo;
    UnpackHalfHi = convert::unpackhalfhi;
    FToS = convert::ftos => |a| x86::ftos(a);
    FToU = convert::ftou => |a| x86::ftou(a);
    SToF = convert::stof => |a| x86::stof(a);
    UToF = convert::utof;
    FConvert = convert::fconvert => |a| x86::canon(a);
    Copy = int::copy;
}

macro_rules! far {
    ($($name:ident = $all:path, $near:path;)*) => { $(
        /// The near form for all lanes, then the far lanes one by one.
        pub struct $name;
        impl Un for $name {
            #[inline(always)]
            fn chunk(a: [u32; 8]) -> [u32; 8] {
                let mut r = each(|i| $near(a[i]));
                if a.iter().any(|&x| trans::is_far(x)) {
                    for i in 0..8 {
                        if trans::is_far(a[i]) {
                            r[i] = $all(a[i]);
                        }
                    }
                }
                r
            }
        }
    )* };
}

far! {
    FSin = trans::fsin, trans::fsin_near;
    FCos = trans::fcos, trans::fcos_near;
    FTan = trans::ftan, trans::ftan_near;
}

bin! {
    IAdd = int::iadd => |a, b| x86::iadd(a, b);
    ISub = int::isub => |a, b| x86::isub(a, b);
    IMul = int::imul => |a, b| x86::imul(a, b);
    UMulHi = int::umulhi;
    SMulHi = int::smulhi;
    UDiv = int::udiv;
    SDiv = int::sdiv;
    UMod = int::umod;
    SRem = int::srem;
    SMod = int::smod;
    UCarry = int::ucarry;
    UBorrow = int::uborrow;
    And = int::and => |a, b| x86::and(a, b);
    Or = int::or => |a, b| x86::or(a, b);
    Xor = int::xor => |a, b| x86::xor(a, b);
    Shl = int::shl => |a, b| x86::shl(a, b);
    ShrL = int::shrl => |a, b| x86::shrl(a, b);
    ShrA = int::shra => |a, b| x86::shra(a, b);
    UMin = int::umin => |a, b| x86::umin(a, b);
    UMax = int::umax => |a, b| x86::umax(a, b);
    SMin = int::smin => |a, b| x86::smin(a, b);
    SMax = int::smax => |a, b| x86::smax(a, b);
    FAdd = float::fadd => |a, b| x86::canon(x86::fadd(a, b));
    FSub = float::fsub => |a, b| x86::canon(x86::fsub(a, b));
    FMul = float::fmul => |a, b| x86::canon(x86::fmul(a, b));
    FDiv = float::fdiv => |a, b| x86::canon(x86::fdiv(a, b));
    FMin = float::fmin => |a, b| x86::canon(x86::fmin(a, b));
    FMax = float::fmax => |a, b| x86::canon(x86::fmax(a, b));
    FAddRaw = float::fadd => |a, b| x86::fadd(a, b);
    FSubRaw = float::fsub => |a, b| x86::fsub(a, b);
    FMulRaw = float::fmul => |a, b| x86::fmul(a, b);
    FDivRaw = float::fdiv => |a, b| x86::fdiv(a, b);
    FMinRaw = float::fmin => |a, b| x86::fmin(a, b);
    FMaxRaw = float::fmax => |a, b| x86::fmax(a, b);
    FRem = float::frem;
    FMod = float::fmod;
    FPow = trans::fpow;
    FAtan2 = trans::fatan2;
    FLdexp = float::fldexp;
    PackHalf = convert::packhalf;
    IEq = compare::ieq => |a, b| x86::ieq(a, b);
    INe = compare::ine => |a, b| x86::not(x86::ieq(a, b));
    ULt = compare::ult => |a, b| x86::not(x86::uge(a, b));
    ULe = compare::ule => |a, b| x86::uge(b, a);
    UGt = compare::ugt => |a, b| x86::not(x86::uge(b, a));
    UGe = compare::uge => |a, b| x86::uge(a, b);
    SLt = compare::slt => |a, b| x86::sgt(b, a);
    SLe = compare::sle => |a, b| x86::not(x86::sgt(a, b));
    SGt = compare::sgt => |a, b| x86::sgt(a, b);
    SGe = compare::sge => |a, b| x86::not(x86::sgt(b, a));
    FOEq = compare::foeq => |a, b| x86::fcmp::<{ x86::EQ_OQ }>(a, b);
    FONe = compare::fone => |a, b| x86::fcmp::<{ x86::NEQ_OQ }>(a, b);
    FOLt = compare::folt => |a, b| x86::fcmp::<{ x86::LT_OQ }>(a, b);
    FOLe = compare::fole => |a, b| x86::fcmp::<{ x86::LE_OQ }>(a, b);
    FOGt = compare::fogt => |a, b| x86::fcmp::<{ x86::GT_OQ }>(a, b);
    FOGe = compare::foge => |a, b| x86::fcmp::<{ x86::GE_OQ }>(a, b);
    FUEq = compare::fueq => |a, b| x86::fcmp::<{ x86::EQ_UQ }>(a, b);
    FUNe = compare::fune => |a, b| x86::fcmp::<{ x86::NEQ_UQ }>(a, b);
    FULt = compare::fult => |a, b| x86::fcmp::<{ x86::NGE_UQ }>(a, b);
    FULe = compare::fule => |a, b| x86::fcmp::<{ x86::NGT_UQ }>(a, b);
    FUGt = compare::fugt => |a, b| x86::fcmp::<{ x86::NLE_UQ }>(a, b);
    FUGe = compare::fuge => |a, b| x86::fcmp::<{ x86::NLT_UQ }>(a, b);
}

ter! {
    Select = int::select => |a, b, c| x86::blend(c, b, a);
    FFma = float::ffma => |a, b, c| x86::canon(x86::ffma(a, b, c));
    FFmaRaw = float::ffma => |a, b, c| x86::ffma(a, b, c);
    FFmaSub = float::ffmasub => |a, b, c| x86::canon(x86::ffmasub(a, b, c));
    FFmaSubRaw = float::ffmasub => |a, b, c| x86::ffmasub(a, b, c);
    FNegFma = float::fnegfma => |a, b, c| x86::canon(x86::fnegfma(a, b, c));
    FNegFmaRaw = float::fnegfma => |a, b, c| x86::fnegfma(a, b, c);
    BitfieldSExtract = bits::bfsextract;
    BitfieldUExtract = bits::bfuextract;
    FMulAdd = float::fmuladd => |a, b, c| x86::canon(x86::fadd(x86::fmul(a, b), c));
    FMulAddRaw = float::fmuladd => |a, b, c| x86::fadd(x86::fmul(a, b), c);
    FMulSub = float::fmulsub => |a, b, c| x86::canon(x86::fsub(x86::fmul(a, b), c));
    FMulSubRaw = float::fmulsub => |a, b, c| x86::fsub(x86::fmul(a, b), c);
    FNMulAdd = float::fnmuladd => |a, b, c| x86::canon(x86::fsub(c, x86::fmul(a, b)));
    FNMulAddRaw = float::fnmuladd => |a, b, c| x86::fsub(c, x86::fmul(a, b));
}
