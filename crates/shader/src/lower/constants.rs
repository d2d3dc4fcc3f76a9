//! Constants, with specialization constants set and their operations computed.

use super::R;
use super::fold;
use super::module::Module;
use super::ops;
use super::types::{MAX_SCALARS, Type};
use super::words::Ins;
use crate::ShaderError;
use crate::ir::{TerOp, UnOp};
use spirv::Op;
use std::collections::BTreeMap;
use std::rc::Rc;

/// A constant of any type, flattened.
#[derive(Clone)]
pub(super) struct Constant {
    pub ty: u32,
    /// Bits of each scalar, zero-extended.
    pub bits: Rc<[u64]>,
}

/// The most scalars that one constant may hold.
const MAX_CONSTANT: u32 = 4 * MAX_SCALARS;

impl Module<'_> {
    pub(super) fn define_constant(&mut self, ins: &Ins<'_>, chosen: &BTreeMap<u32, u64>) -> R<()> {
        let spec = self.decor.get(&ins.id).and_then(|d| d.spec_id);
        let given = spec.and_then(|id| chosen.get(&id)).copied();
        let bits: Rc<[u64]> = match ins.op {
            Op::ConstantTrue => [1].into(),
            Op::ConstantFalse => [0].into(),
            Op::SpecConstantTrue => [u64::from(given.unwrap_or(1) != 0)].into(),
            Op::SpecConstantFalse => [u64::from(given.unwrap_or(0) != 0)].into(),
            Op::Constant => [self.literal(ins)?].into(),
            Op::SpecConstant => {
                let value = given.unwrap_or(self.literal(ins)?);
                [value & self.scalar_mask(ins.ty)?].into()
            }
            Op::ConstantNull => {
                let n = self.types.get(&ins.ty).map_or(0, |t| t.scalars);
                if n > MAX_CONSTANT {
                    return Err(ShaderError::limit(format!("a constant of {n} scalars")));
                }
                vec![0; n as usize].into()
            }
            Op::ConstantComposite | Op::SpecConstantComposite => self.composite(ins)?,
            Op::SpecConstantOp => self.operation(ins)?,
            _ => return Err(ShaderError::unsupported("this instruction outside a function")),
        };
        let scalars = self.types.get(&ins.ty).map_or(0, |t| t.scalars);
        if bits.len() != scalars as usize {
            return Err(ShaderError::invalid("a constant that does not fit its type"));
        }
        self.constants.insert(ins.id, Constant { ty: ins.ty, bits });
        Ok(())
    }

    fn scalar_bits(&self, ty: u32) -> R<u32> {
        match *self.ty(ty)? {
            Type::Int { bits } | Type::Float { bits } => Ok(bits),
            Type::Bool => Ok(1),
            _ => Err(ShaderError::invalid("a number of a type that is none")),
        }
    }

    fn scalar_mask(&self, ty: u32) -> R<u64> {
        Ok(u64::MAX >> (64 - self.scalar_bits(ty)?))
    }

    fn literal(&self, ins: &Ins<'_>) -> R<u64> {
        let bits = self.scalar_bits(ins.ty)?;
        let low = u64::from(ins.arg(0)?);
        let high = if bits > 32 { u64::from(ins.arg(1)?) } else { 0 };
        Ok((high << 32 | low) & (u64::MAX >> (64 - bits)))
    }

    fn composite(&self, ins: &Ins<'_>) -> R<Rc<[u64]>> {
        let mut all = Vec::new();
        for &part in ins.args {
            if let Some(&ty) = self.undefs.get(&part) {
                all.resize(all.len() + self.scalars(ty)? as usize, 0);
            } else {
                all.extend_from_slice(&self.constant(part)?.bits);
            }
            if all.len() > MAX_CONSTANT as usize {
                return Err(ShaderError::limit(format!("a constant of {} scalars", all.len())));
            }
        }
        Ok(all.into())
    }

    /// The constant `id`.
    pub fn constant(&self, id: u32) -> R<&Constant> {
        let missing = || ShaderError::invalid(format!("%{id} is no constant"));
        self.constants.get(&id).ok_or_else(missing)
    }

    /// The scalar constant `id`, as 32 bits.
    pub fn constant_u32(&self, id: u32) -> R<u32> {
        let c = self.constant(id)?;
        match *c.bits {
            [v] => u32::try_from(v)
                .map_err(|_| ShaderError::limit(format!("constant %{id} is above 32 bits"))),
            _ => Err(ShaderError::invalid(format!("constant %{id} is no number"))),
        }
    }

    fn operation(&self, ins: &Ins<'_>) -> R<Rc<[u64]>> {
        let number = ins.arg(0)?;
        let unknown = || ShaderError::unsupported(format!("OpSpecConstantOp with opcode {number}"));
        let op = Op::from_u32(number).ok_or_else(unknown)?;
        let args = ins.rest(1);
        let first = self.constant(ins.arg(1)?)?.clone();
        match op {
            Op::CompositeExtract => {
                let (mut ty, mut at) = (first.ty, 0);
                for &index in &args[1..] {
                    let (inner, offset) = self.element(ty, index)?;
                    (ty, at) = (inner, at + offset);
                }
                let n = self.scalars(ty)? as usize;
                Ok(first.bits.get(at as usize..at as usize + n).unwrap_or(&[]).into())
            }
            Op::CompositeInsert => {
                let base = self.constant(ins.arg(2)?)?.clone();
                let (mut ty, mut at) = (base.ty, 0);
                for &index in &args[2..] {
                    let (inner, offset) = self.element(ty, index)?;
                    (ty, at) = (inner, at + offset);
                }
                let mut bits = base.bits.to_vec();
                for (i, &v) in first.bits.iter().enumerate() {
                    if let Some(slot) = bits.get_mut(at as usize + i) {
                        *slot = v;
                    }
                }
                Ok(bits.into())
            }
            Op::VectorShuffle => {
                let second = self.constant(ins.arg(2)?)?;
                let pool: Vec<u64> = first.bits.iter().chain(second.bits.iter()).copied().collect();
                let pick = |&i: &u32| pool.get(i as usize).copied().unwrap_or(0);
                Ok(args[2..].iter().map(pick).collect())
            }
            _ => self.arithmetic(op, ins, &first),
        }
    }

    /// Component-wise operations.
    fn arithmetic(&self, op: Op, ins: &Ins<'_>, first: &Constant) -> R<Rc<[u64]>> {
        let no = || ShaderError::unsupported(format!("OpSpecConstantOp with Op{op:?}"));
        let (elem, n) = self.components(ins.ty)?;
        let to = self.scalar(elem)?;
        let from = self.scalar(self.components(first.ty)?.0)?;
        let mut out = Vec::new();
        for i in 0..n as usize {
            let a = *first.bits.get(i).ok_or_else(no)?;
            let operand = |k: usize| -> R<u64> {
                let c = self.constant(ins.arg(k)?)?;
                c.bits.get(i).copied().ok_or_else(no)
            };
            let value = if let Some(op) = ops::binary(op) {
                fold::binary(op, from, a, operand(2)?)
            } else if let Some(op) = ops::unary(op) {
                fold::unary(op, from, to, a)
            } else {
                match op {
                    Op::Select => fold::ternary(TerOp::Select, to, [a, operand(2)?, operand(3)?]),
                    Op::LogicalEqual => Some(u64::from(a == operand(2)?)),
                    Op::Bitcast | Op::CopyObject => fold::unary(UnOp::Copy, from, to, a),
                    _ => None,
                }
            };
            out.push(value.ok_or_else(no)?);
        }
        Ok(out.into())
    }
}
