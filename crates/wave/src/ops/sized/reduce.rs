//! The operators of reductions and scans on every width, over bits in 64.

use super::{double, half, ints};
use crate::ops::{float, int};
use wavefence_shader::ir::{ReduceOp, Ty};

/// An operator: two values to one, bits zero-extended.
pub type Operator = fn(u64, u64) -> u64;

/// An operator and its identity: what an exclusive scan gives the lowest lane.
pub type Monoid = (Operator, u64);

macro_rules! operator {
    ($t:ty, $f:path) => {
        (|a: u64, b: u64| u64::from($f(a as $t, b as $t))) as Operator
    };
}

macro_rules! on_ints {
    ($op:expr, $t:ty, $($m:ident)::+) => {{
        let max = u64::from(<$t>::MAX);
        Some(match $op {
            ReduceOp::IAdd => (operator!($t, $($m)::+::iadd), 0),
            ReduceOp::IMul => (operator!($t, $($m)::+::imul), 1),
            ReduceOp::And => (operator!($t, $($m)::+::and), max),
            ReduceOp::Or => (operator!($t, $($m)::+::or), 0),
            ReduceOp::Xor => (operator!($t, $($m)::+::xor), 0),
            ReduceOp::UMin => (operator!($t, $($m)::+::umin), max),
            ReduceOp::UMax => (operator!($t, $($m)::+::umax), 0),
            ReduceOp::SMin => (operator!($t, $($m)::+::smin), max >> 1),
            ReduceOp::SMax => (operator!($t, $($m)::+::smax), max / 2 + 1),
            ReduceOp::FAdd | ReduceOp::FMul | ReduceOp::FMin | ReduceOp::FMax => return None,
        })
    }};
}

macro_rules! on_floats {
    ($op:expr, $t:ty, $m:ident, $one:expr, $infinity:expr, $sign:expr) => {
        match $op {
            ReduceOp::FAdd => Some((operator!($t, $m::fadd), 0)),
            ReduceOp::FMul => Some((operator!($t, $m::fmul), $one)),
            ReduceOp::FMin => Some((operator!($t, $m::fmin), $infinity)),
            ReduceOp::FMax => Some((operator!($t, $m::fmax), $infinity | $sign)),
            ReduceOp::IAdd
            | ReduceOp::IMul
            | ReduceOp::And
            | ReduceOp::Or
            | ReduceOp::Xor
            | ReduceOp::UMin
            | ReduceOp::UMax
            | ReduceOp::SMin
            | ReduceOp::SMax => None,
        }
    };
}

/// The operator on values of type `ty`; `None` for those that do not go with it.
pub fn monoid(op: ReduceOp, ty: Ty) -> Option<Monoid> {
    on_float(op, ty).or_else(|| on_int(op, ty))
}

fn on_float(op: ReduceOp, ty: Ty) -> Option<Monoid> {
    match ty {
        Ty::Bool | Ty::B8 => None,
        Ty::B16 => on_floats!(op, u16, half, 0x3C00, 0x7C00, 0x8000),
        Ty::B32 => on_floats!(op, u32, float, 0x3F80_0000, 0x7F80_0000, 0x8000_0000),
        Ty::B64 => on_floats!(op, u64, double, 1023 << 52, 0x7FF << 52, 1 << 63),
    }
}

fn on_int(op: ReduceOp, ty: Ty) -> Option<Monoid> {
    match ty {
        Ty::Bool => None,
        Ty::B8 => on_ints!(op, u8, ints::b8),
        Ty::B16 => on_ints!(op, u16, ints::b16),
        Ty::B32 => on_ints!(op, u32, int),
        Ty::B64 => on_ints!(op, u64, ints::b64),
    }
}
