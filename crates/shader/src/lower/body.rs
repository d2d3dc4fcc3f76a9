//! Which function lowers which instruction.

use super::module::ExtSet;
use super::ops;
use super::types::Type;
use super::value::Value;
use super::words::Ins;
use super::{Lower, R};
use crate::ShaderError;
use crate::ir::{Barrier, Inst, Loc, Order, Reg, Ty};
use spirv::{MemorySemantics, Op};

impl Lower<'_, '_> {
    /// True for debug information that carries lines.
    pub fn is_debug(&self, ins: &Ins<'_>) -> bool {
        let set = ins.args.first().and_then(|id| self.m.ext_sets.get(id));
        set == Some(&ExtSet::DebugInfo)
    }

    /// Lowers one instruction that is no terminator.
    pub fn instruction(&mut self, ins: &Ins<'_>) -> R<()> {
        if ops::unary(ins.op).is_some() || ops::binary(ins.op).is_some() {
            return self.component_wise(ins);
        }
        match ins.op {
            Op::Line => self.line(ins),
            Op::NoLine => {
                self.b.loc = Loc::NONE;
                Ok(())
            }
            Op::Nop | Op::Phi | Op::SelectionMerge | Op::LoopMerge => Ok(()),
            Op::Undef => {
                let value = self.zero(ins.ty)?;
                self.bind(ins.id, ins.ty, value);
                Ok(())
            }
            Op::Variable => self.local_variable(ins),
            Op::AccessChain | Op::InBoundsAccessChain => self.access_chain(ins),
            Op::PtrAccessChain | Op::InBoundsPtrAccessChain => self.element_chain(ins),
            Op::ConvertPtrToU | Op::ConvertUToPtr => self.convert_address(ins),
            Op::PtrEqual | Op::PtrNotEqual => self.compare_addresses(ins),
            Op::Load => self.load_instruction(ins),
            Op::Store => {
                let pointer = self.pointer(ins.arg(0)?)?;
                let value = self.value(ins.arg(1)?)?;
                let order = self.access(ins, 2)?;
                self.store(&pointer, value, order)
            }
            Op::CopyMemory => {
                let (to, from) = (self.pointer(ins.arg(0)?)?, self.pointer(ins.arg(1)?)?);
                let (order, next) = self.access_from(ins, 2)?;
                // A second set of operands is the source's.
                let source = if ins.args.len() > next { self.access(ins, next)? } else { order };
                let value = self.load(&from, source)?;
                self.store(&to, value, order)
            }
            Op::CopyObject | Op::CopyLogical | Op::ExpectKHR => {
                let value = self.value(ins.arg(0)?)?;
                self.bind_as(ins, value)
            }
            Op::FunctionCall => self.call(ins),
            Op::ArrayLength => self.array_length(ins),
            Op::ControlBarrier | Op::MemoryBarrier => self.barrier(ins),
            Op::ReadClockKHR => self.clock(ins),
            Op::ExtInst => self.extended(ins),
            _ => self.data(ins),
        }
    }

    /// Instructions on values.
    fn data(&mut self, ins: &Ins<'_>) -> R<()> {
        match ins.op {
            Op::CompositeConstruct
            | Op::CompositeExtract
            | Op::CompositeInsert
            | Op::VectorShuffle
            | Op::VectorExtractDynamic
            | Op::VectorInsertDynamic
            | Op::Select
            | Op::Bitcast => self.composite(ins),
            Op::Dot
            | Op::VectorTimesScalar
            | Op::MatrixTimesScalar
            | Op::VectorTimesMatrix
            | Op::MatrixTimesVector
            | Op::MatrixTimesMatrix
            | Op::OuterProduct
            | Op::Transpose => self.matrix(ins),
            Op::LogicalEqual
            | Op::All
            | Op::Any
            | Op::IAddCarry
            | Op::ISubBorrow
            | Op::UMulExtended
            | Op::SMulExtended
            | Op::SDot
            | Op::UDot
            | Op::SUDot
            | Op::SDotAccSat
            | Op::UDotAccSat
            | Op::SUDotAccSat
            | Op::BitFieldInsert
            | Op::BitFieldSExtract
            | Op::BitFieldUExtract => self.arithmetic(ins),
            _ => {
                let name = ins.name();
                if name.starts_with("OpAtomic") || ins.op == Op::ImageTexelPointer {
                    self.atomic(ins)
                } else if name.starts_with("OpGroupNonUniform") || name.starts_with("OpSubgroup") {
                    self.cross_lane(ins)
                } else if name.starts_with("OpImage") || ins.op == Op::SampledImage {
                    self.image(ins)
                } else if name.starts_with("OpDP") || name.starts_with("OpFwidth") {
                    self.derivative(ins)
                } else {
                    Err(ShaderError::unsupported("this instruction"))
                }
            }
        }
    }

    /// Binds registers, which must fit the result type.
    pub fn bind_regs(&mut self, ins: &Ins<'_>, regs: Vec<Reg>) -> R<()> {
        self.bind_as(ins, Value::regs(regs))
    }

    /// Binds a value, which must fit the result type.
    pub fn bind_as(&mut self, ins: &Ins<'_>, value: Value) -> R<()> {
        let value = match value {
            Value::Regs(regs) => Value::Regs(self.truths_as(regs, ins.ty)?),
            other => other,
        };
        if let Value::Regs(regs) = &value {
            let types = self.m.flatten(ins.ty)?;
            let fits = types.len() == regs.len()
                && types.iter().zip(regs.iter()).all(|(&ty, &r)| self.b.pool.ty(r) == ty);
            if !fits {
                return Err(ShaderError::invalid("the result has another type"));
            }
        }
        self.bind(ins.id, ins.ty, value);
        Ok(())
    }

    fn load_instruction(&mut self, ins: &Ins<'_>) -> R<()> {
        let pointer = self.pointer(ins.arg(0)?)?;
        let order = self.access(ins, 1)?;
        let value = self.load(&pointer, order)?;
        self.bind_as(ins, value)
    }

    fn call(&mut self, ins: &Ins<'_>) -> R<()> {
        let mut args = Vec::new();
        for &id in ins.rest(1) {
            let ty = match self.type_of(id) {
                Ok(ty) => ty,
                Err(_) => self.variable_type(id)?,
            };
            args.push((ty, self.value(id)?));
        }
        let loc = self.b.loc;
        let value = self.inline(ins.arg(0)?, args)?;
        self.b.loc = loc;
        match value {
            Value::Nothing => {
                self.bind(ins.id, ins.ty, value);
                Ok(())
            }
            value => self.bind_as(ins, value),
        }
    }

    /// The pointer type of a module-scope variable.
    fn variable_type(&self, id: u32) -> R<u32> {
        let found = self.m.pointer_types.get(&id).copied();
        found.ok_or_else(|| ShaderError::invalid(format!("%{id} is used before it has a value")))
    }

    fn barrier(&mut self, ins: &Ins<'_>) -> R<()> {
        let sync = ins.op == Op::ControlBarrier;
        let (execution, semantics) =
            if sync { (Some(ins.arg(0)?), ins.arg(2)?) } else { (None, ins.arg(1)?) };
        let bits = MemorySemantics::from_bits_retain(self.m.constant_u32(semantics)?);
        let group = match execution.map(|id| self.m.constant_u32(id)).transpose()? {
            Some(2) => true,
            // A wave runs in step.
            Some(3) | None => false,
            Some(scope) => {
                return Err(ShaderError::unsupported(format!("a barrier over scope {scope}")));
            }
        };
        let device = MemorySemantics::UNIFORM_MEMORY
            | MemorySemantics::IMAGE_MEMORY
            | MemorySemantics::CROSS_WORKGROUP_MEMORY;
        let barrier = Barrier {
            sync: group,
            lds: bits.intersects(MemorySemantics::WORKGROUP_MEMORY),
            device: bits.intersects(device),
        };
        if barrier.sync || barrier.lds || barrier.device {
            self.b.inst(Inst::Barrier(barrier));
        }
        Ok(())
    }

    fn clock(&mut self, ins: &Ins<'_>) -> R<()> {
        let types = self.m.flatten(ins.ty)?;
        if *types != [Ty::B32, Ty::B32] {
            return Err(ShaderError::unsupported("a clock that is no pair of words"));
        }
        let dst = [self.b.temp(Ty::B32), self.b.temp(Ty::B32)];
        self.b.inst(Inst::Clock { dst });
        self.bind_regs(ins, dst.to_vec())
    }

    fn extended(&mut self, ins: &Ins<'_>) -> R<()> {
        match self.m.ext_sets.get(&ins.arg(0)?) {
            Some(ExtSet::Glsl) => self.glsl(ins),
            Some(ExtSet::DebugInfo) => self.debug_info(ins),
            Some(ExtSet::DebugPrintf) => self.debug_print(ins),
            Some(ExtSet::DebugBreak) => self.debug_break(ins),
            Some(ExtSet::NonSemantic) => Ok(()),
            Some(ExtSet::Other(name)) => {
                Err(ShaderError::unsupported(format!("instruction set {name}")))
            }
            None => Err(ShaderError::invalid("an instruction of no set")),
        }
    }

    fn array_length(&mut self, ins: &Ins<'_>) -> R<()> {
        let p = self.pointer(ins.arg(0)?)?;
        let member = ins.arg(1)?;
        let super::value::Root::Memory { memory: super::value::Memory::Buffer(e), .. } = p.root
        else {
            return Err(ShaderError::invalid("the length of what is no buffer"));
        };
        let offset = self.m.member_offset(p.ty, member, true)?;
        let Type::Struct { members } = self.m.ty(p.ty)? else {
            return Err(ShaderError::invalid("the length of what is no struct"));
        };
        let array = members.get(member as usize).copied().unwrap_or(0);
        let stride = self.m.decor.get(&array).and_then(|d| d.array_stride);
        let stride = stride.filter(|&s| s > 0);
        let stride = stride.ok_or_else(|| ShaderError::invalid("the array has no ArrayStride"))?;
        let size = self.b.temp(Ty::B32);
        let buffer = crate::ir::ResourceRef { resource: e.resource, index: e.index };
        self.b.inst(Inst::BufferSize { dst: size, buffer });
        let mut bytes = size;
        if offset != 0 {
            // A buffer smaller than its fixed part has no elements.
            let offset = self.b.word(offset);
            let at_least = self.b.bin(crate::ir::BinOp::UMax, size, offset);
            bytes = self.b.bin(crate::ir::BinOp::ISub, at_least, offset);
        }
        let stride = self.b.word(stride);
        let length = self.b.bin(crate::ir::BinOp::UDiv, bytes, stride);
        self.bind_regs(ins, vec![length])
    }

    /// Nothing special about an access.
    pub const PLAIN: Order = Order { coherent: false, volatile: false };
}
