//! Registers of an instruction, by role.

use super::{Addr, ImageOp, Inst, Lod, Reg, ResourceRef, Space};

/// Expands the same walk over shared and over mutable registers: `$use` is
/// called with each operand, `$def` with each result.
macro_rules! walk {
    ($inst:expr, $iter:ident, $opt:ident, $use:ident, $def:ident) => {
        match $inst {
            Inst::Unary { op: _, dst, a } => {
                $use(a);
                $def(dst);
            }
            Inst::Binary { op: _, dst, a, b } => {
                $use(a);
                $use(b);
                $def(dst);
            }
            Inst::Ternary { op: _, dst, a, b, c } => {
                $use(a);
                $use(b);
                $use(c);
                $def(dst);
            }
            Inst::Set { var, value } => {
                $use(value);
                $def(var);
            }
            Inst::Builtin { dst, which: _ } => $def(dst),
            Inst::Reduce { op: _, scan: _, dst, a, cluster: _ } => {
                $use(a);
                $def(dst);
            }
            Inst::ReducePartition { op: _, scan: _, dst, a, mask } => {
                $use(a);
                mask.$iter().for_each(&mut *$use);
                $def(dst);
            }
            Inst::Wave { op: _, dst, a, b } => {
                a.$opt().into_iter().chain(b.$opt()).for_each(&mut *$use);
                $def(dst);
            }
            Inst::Ballot { dst, a } => {
                $use(a);
                dst.$iter().for_each(&mut *$def);
            }
            Inst::Match { dst, a } => {
                a.$iter().for_each(&mut *$use);
                dst.$iter().for_each(&mut *$def);
            }
            Inst::Load { dst, space, addr, order: _ } => {
                walk!(@space space, $opt, $use);
                walk!(@addr addr, $opt, $use);
                dst.$iter().for_each(&mut *$def);
            }
            Inst::Store { src, space, addr, order: _ } => {
                walk!(@space space, $opt, $use);
                walk!(@addr addr, $opt, $use);
                src.$iter().for_each(&mut *$use);
            }
            Inst::Atomic { op: _, dst, space, addr, value, compare, order: _ } => {
                walk!(@space space, $opt, $use);
                walk!(@addr addr, $opt, $use);
                value.$opt().into_iter().chain(compare.$opt()).for_each(&mut *$use);
                dst.$opt().into_iter().for_each(&mut *$def);
            }
            Inst::BufferSize { dst, buffer } => {
                walk!(@resource buffer, $opt, $use);
                $def(dst);
            }
            Inst::Image { op, dst, image, sampler, coords, offset, data, order: _ } => {
                walk!(@image op, $iter, $opt, $use);
                walk!(@resource image, $opt, $use);
                if let Some(sampler) = sampler {
                    walk!(@resource sampler, $opt, $use);
                }
                for list in [coords, offset, data] {
                    list.$iter().for_each(&mut *$use);
                }
                dst.$iter().for_each(&mut *$def);
            }
            Inst::Barrier(_) => {}
            Inst::OrderedAdd { dst, counter, value } => {
                $use(counter);
                $use(value);
                $def(dst);
            }
            Inst::Gds { op: _, dst, offset, value, compare } => {
                $use(offset);
                value.$opt().into_iter().chain(compare.$opt()).for_each(&mut *$use);
                dst.$opt().into_iter().for_each(&mut *$def);
            }
            Inst::Clock { dst } => dst.$iter().for_each(&mut *$def),
            Inst::DebugBreak => {}
            Inst::DebugPrint { format: _, args } => args.$iter().for_each(&mut *$use),
        }
    };
    (@resource $at:expr, $opt:ident, $use:ident) => {{
        let ResourceRef { resource: _, index } = $at;
        index.$opt().into_iter().for_each(&mut *$use);
    }};
    (@space $space:expr, $opt:ident, $use:ident) => {
        match $space {
            Space::Buffer(at) => walk!(@resource at, $opt, $use),
            Space::Lds | Space::Scratch => {}
            Space::Global(base) => $use(base),
        }
    };
    (@addr $addr:expr, $opt:ident, $use:ident) => {{
        let Addr { index, scale: _, offset: _ } = $addr;
        index.$opt().into_iter().for_each(&mut *$use);
    }};
    (@lod $lod:expr, $iter:ident, $opt:ident, $use:ident) => {
        match $lod {
            Lod::Zero => {}
            Lod::Level(reg) => $use(reg),
            Lod::Implicit(bias) => bias.$opt().into_iter().for_each(&mut *$use),
            Lod::Grad(x, y) => {
                x.$iter().for_each(&mut *$use);
                y.$iter().for_each(&mut *$use);
            }
        }
    };
    (@image $op:expr, $iter:ident, $opt:ident, $use:ident) => {
        match $op {
            ImageOp::Load { lod } => walk!(@lod lod, $iter, $opt, $use),
            ImageOp::Sample { lod, compare, min_lod } => {
                walk!(@lod lod, $iter, $opt, $use);
                compare.$opt().into_iter().chain(min_lod.$opt()).for_each(&mut *$use);
            }
            ImageOp::Gather { component: _, compare } => {
                compare.$opt().into_iter().for_each(&mut *$use);
            }
            ImageOp::Size { level } => level.$opt().into_iter().for_each(&mut *$use),
            ImageOp::Store | ImageOp::Levels | ImageOp::QueryLod | ImageOp::Atomic(_) => {}
        }
    };
}

impl Inst {
    /// Calls `operand` with each register read, then `result` with each written.
    pub fn registers(&self, operand: &mut dyn FnMut(Reg), result: &mut dyn FnMut(Reg)) {
        let read = &mut |r: &Reg| operand(*r);
        let written = &mut |r: &Reg| result(*r);
        walk!(self, iter, as_ref, read, written);
    }

    /// As [`registers`](Self::registers), for changing them in place.
    pub fn registers_mut(
        &mut self,
        operand: &mut dyn FnMut(&mut Reg),
        result: &mut dyn FnMut(&mut Reg),
    ) {
        walk!(self, iter_mut, as_mut, operand, result);
    }

    /// True if the instruction only computes its results: it may be dropped when
    /// nobody reads them. Cross-lane operations count as such; plain loads too.
    pub fn is_pure(&self) -> bool {
        match self {
            Self::Unary { .. }
            | Self::Binary { .. }
            | Self::Ternary { .. }
            | Self::Builtin { .. }
            | Self::Reduce { .. }
            | Self::ReducePartition { .. }
            | Self::Wave { .. }
            | Self::Ballot { .. }
            | Self::Match { .. }
            | Self::BufferSize { .. } => true,
            Self::Load { order, .. } => !order.volatile,
            Self::Image { op, order, .. } => match op {
                ImageOp::Load { .. }
                | ImageOp::Sample { .. }
                | ImageOp::Gather { .. }
                | ImageOp::Size { .. }
                | ImageOp::Levels
                | ImageOp::QueryLod => !order.volatile,
                ImageOp::Store | ImageOp::Atomic(_) => false,
            },
            Self::Set { .. }
            | Self::Store { .. }
            | Self::Atomic { .. }
            | Self::Barrier(_)
            | Self::OrderedAdd { .. }
            | Self::Gds { .. }
            | Self::Clock { .. }
            | Self::DebugBreak
            | Self::DebugPrint { .. } => false,
        }
    }
}
