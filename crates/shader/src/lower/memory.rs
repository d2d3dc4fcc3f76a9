//! Variables, access chains, loads and stores.

use super::layout::{Leaf, stored};
use super::ops::Takes;
use super::types::Type;
use super::value::{Choice, Element, MatrixLayout, Memory, Pointer, Root, Sum, Value};
use super::words::Ins;
use super::{Lower, R};
use crate::ShaderError;
use crate::ir::{Addr, BinOp, Inst, Order, Reg, ResourceId, ResourceRef, Space, Ty, UnOp};
use spirv::{MemoryAccess, Op, StorageClass};
use std::rc::Rc;

/// The most group-shared memory a kernel may use, in bytes.
const MAX_LDS: u32 = 64 << 10;
/// The most private memory a lane may use, in bytes.
const MAX_SCRATCH: u32 = 64 << 10;
/// Variables start at multiples of this, so that vectors do not straddle.
const ALIGN: u32 = 16;
/// A run-time index into this many elements is a chain of selects; above, the
/// array lives in private memory.
pub(super) const MAX_CHOICE: u32 = 4;
/// Variables of more scalars live in private memory.
const MAX_PROMOTED: u32 = 512;

impl Lower<'_, '_> {
    /// The pointer that module-scope variable `id` is.
    pub fn variable(&mut self, id: u32) -> R<Value> {
        let var = self.m.variables[&id].clone();
        let (class, ty) = (var.class, var.ty);
        if let Some(init) = var.initializer
            && class != StorageClass::Private
        {
            return Err(ShaderError::unsupported(format!(
                "initial value %{init} of {}, a {class:?} variable",
                self.m.name(id)
            )));
        }
        let pointer = match class {
            StorageClass::Private => {
                let pointer = self.allocate(id, ty)?;
                if let Some(init) = var.initializer {
                    let value = self.value(init)?;
                    let body = self.initial(&pointer, value)?;
                    self.b.prologue.extend(body);
                }
                pointer
            }
            StorageClass::Workgroup => self.workgroup(ty)?,
            StorageClass::Input => self.input(id, ty)?,
            StorageClass::UniformConstant
            | StorageClass::Uniform
            | StorageClass::StorageBuffer
            | StorageClass::PushConstant => self.resource_variable(id, class, ty)?,
            other => {
                return Err(ShaderError::unsupported(format!(
                    "{}, a variable of storage class {other:?}",
                    self.m.name(id)
                )));
            }
        };
        Ok(Value::Pointer(Rc::new(pointer)))
    }

    /// Stores made apart, to run before everything else.
    fn initial(&mut self, pointer: &Pointer, value: Value) -> R<crate::ir::Block> {
        self.b.begin()?;
        let done = self.store(pointer, value, Order::default());
        let body = self.b.end();
        done.map(|()| body)
    }

    fn workgroup(&mut self, ty: u32) -> R<Pointer> {
        let bytes = self.m.tight_size(ty)?;
        let at = self.lds_bytes.next_multiple_of(ALIGN);
        let end = at.checked_add(bytes).filter(|&n| n <= MAX_LDS);
        self.lds_bytes = end.ok_or_else(|| {
            ShaderError::limit(format!("more than {MAX_LDS} bytes of group-shared memory"))
        })?;
        Ok(memory_pointer(ty, Memory::Lds, at))
    }

    /// Storage for a private or function variable: registers, or private memory
    /// if it is indexed at run time or large.
    pub fn allocate(&mut self, id: u32, ty: u32) -> R<Pointer> {
        let scalars = self.m.types.get(&ty).map_or(0, |t| t.scalars);
        if self.dynamic.contains(&id) || scalars > MAX_PROMOTED {
            let bytes = self.m.tight_size(ty)?;
            let at = self.scratch_bytes.next_multiple_of(ALIGN);
            let end = at.checked_add(bytes).filter(|&n| n <= MAX_SCRATCH);
            self.scratch_bytes = end.ok_or_else(|| {
                ShaderError::limit(format!("more than {MAX_SCRATCH} bytes of private memory"))
            })?;
            return Ok(memory_pointer(ty, Memory::Scratch, at));
        }
        let types = self.m.flatten(ty)?;
        let regs: Rc<[Reg]> = types.iter().map(|&ty| self.b.var(ty)).collect();
        Ok(Pointer {
            ty,
            root: Root::Local { regs, first: 0, choices: Vec::new(), writable: true },
            coherent: false,
            volatile: false,
        })
    }

    /// `OpVariable` in a function.
    pub fn local_variable(&mut self, ins: &Ins<'_>) -> R<()> {
        let (class, ty) = self.m.pointer(ins.ty)?;
        if class != StorageClass::Function {
            return Err(ShaderError::invalid("a variable in a function that is not Function"));
        }
        let pointer = self.allocate(ins.id, ty)?;
        if let Some(&init) = ins.args.get(1) {
            let value = self.value(init)?;
            self.store(&pointer, value, Order::default())?;
        }
        self.bind(ins.id, ins.ty, Value::Pointer(Rc::new(pointer)));
        Ok(())
    }

    /// `OpAccessChain` and `OpInBoundsAccessChain`.
    pub fn access_chain(&mut self, ins: &Ins<'_>) -> R<()> {
        let base = self.pointer(ins.arg(0)?)?;
        let mut pointer = (*base).clone();
        for &index in ins.rest(1) {
            self.step(&mut pointer, index)?;
        }
        let (_, ty) = self.m.pointer(ins.ty)?;
        if self.m.flatten(ty).ok() != self.m.flatten(pointer.ty).ok() {
            return Err(ShaderError::invalid("the access chain ends at another type"));
        }
        self.bind(ins.id, ins.ty, Value::Pointer(Rc::new(pointer)));
        Ok(())
    }

    /// `OpPtrAccessChain`: the first index steps over whole objects.
    pub fn element_chain(&mut self, ins: &Ins<'_>) -> R<()> {
        let base = self.pointer(ins.arg(0)?)?;
        let mut pointer = (*base).clone();
        let (reg, known) = self.known_index(ins.arg(1)?)?;
        let decor = self.type_of(ins.arg(0)?).ok().and_then(|ty| self.m.decor.get(&ty));
        let stride = match (&pointer.root, decor.and_then(|d| d.array_stride)) {
            (Root::Memory { .. }, Some(stride)) => stride,
            (Root::Memory { explicit: false, .. }, None) => self.m.tight_size(pointer.ty)?,
            (Root::Memory { .. }, None) => {
                return Err(ShaderError::invalid("the pointer's type has no ArrayStride"));
            }
            _ => return Err(no_pointer()),
        };
        if let Root::Memory { at, .. } = &mut pointer.root {
            match known {
                Some(n) => at.offset = at.offset.wrapping_add(n.wrapping_mul(stride)),
                None => at.terms.push((reg, stride)),
            }
        }
        for &index in ins.rest(2) {
            self.step(&mut pointer, index)?;
        }
        self.bind(ins.id, ins.ty, Value::Pointer(Rc::new(pointer)));
        Ok(())
    }

    /// Addresses to integers and back.
    pub fn convert_address(&mut self, ins: &Ins<'_>) -> R<()> {
        let reg = self.reg(ins.arg(0)?)?;
        self.one_type(Takes::Integers, &[reg])?;
        let reg = self.b.resize(reg, self.m.scalar(ins.ty)?);
        self.bind_regs(ins, vec![reg])
    }

    /// `OpPtrEqual` and `OpPtrNotEqual`, of addresses.
    pub fn compare_addresses(&mut self, ins: &Ins<'_>) -> R<()> {
        let (a, b) = (self.reg(ins.arg(0)?)?, self.reg(ins.arg(1)?)?);
        self.all_of(Ty::B64, &[a, b])?;
        let op = if ins.op == Op::PtrEqual { BinOp::IEq } else { BinOp::INe };
        let same = self.b.bin(op, a, b);
        self.bind_regs(ins, vec![same])
    }

    /// An index as a word, and its value if it is known now.
    pub fn known_index(&mut self, id: u32) -> R<(Reg, Option<u32>)> {
        let reg = self.index_word(id)?;
        Ok((reg, self.b.pool.value(reg).map(|v| v as u32)))
    }

    /// An integer of any width as a word.
    pub fn index_word(&mut self, id: u32) -> R<Reg> {
        let reg = self.reg(id)?;
        match self.b.pool.ty(reg) {
            Ty::B32 => Ok(reg),
            Ty::Bool => Err(ShaderError::invalid(format!("%{id} is no integer"))),
            Ty::B8 | Ty::B16 | Ty::B64 => {
                let signed = self.m.signed.contains(&self.type_of(id)?);
                let op = if signed { UnOp::SConvert } else { UnOp::UConvert };
                Ok(self.b.convert(op, reg, Ty::B32))
            }
        }
    }

    fn step(&mut self, p: &mut Pointer, id: u32) -> R<()> {
        let (reg, known) = self.known_index(id)?;
        if let Root::Resource(element) = &mut p.root {
            let (Type::Array { elem, .. } | Type::RuntimeArray { elem }) = *self.m.ty(p.ty)? else {
                return Err(ShaderError::invalid("an index into a resource that is no array"));
            };
            let mut element = *element;
            let inner = self.b.word(self.array_shape(elem)?.count);
            let part = self.b.bin(BinOp::IMul, reg, inner);
            element.index = Some(match element.index {
                Some(row) => self.b.bin(BinOp::IAdd, row, part),
                None => part,
            });
            p.ty = elem;
            return self.enter_buffer(p, element);
        }
        match self.m.ty(p.ty)?.clone() {
            Type::Struct { members } => {
                let outside = || ShaderError::invalid("a member that is not there");
                let n = known.ok_or_else(outside)?;
                let &member = members.get(n as usize).ok_or_else(outside)?;
                let decor = self.m.member_of(p.ty, n);
                p.coherent |= decor.coherent;
                p.volatile |= decor.volatile;
                match &mut p.root {
                    Root::Memory { at, explicit, matrix, .. } => {
                        let offset = self.m.member_offset(p.ty, n, *explicit)?;
                        at.offset = at.offset.wrapping_add(offset);
                        *matrix = decor
                            .matrix_stride
                            .map(|stride| MatrixLayout { stride, row_major: decor.row_major });
                    }
                    Root::Local { first, .. } => *first += self.m.element(p.ty, n)?.1,
                    Root::Resource(_) | Root::Texel { .. } => return Err(no_pointer()),
                }
                p.ty = member;
                Ok(())
            }
            Type::Array { elem, len } => self.step_element(p, elem, Some(len), reg, known),
            Type::RuntimeArray { elem } => self.step_element(p, elem, None, reg, known),
            Type::Vector { elem, n } | Type::Matrix { column: elem, n } => {
                self.step_element(p, elem, Some(n), reg, known)
            }
            Type::Void
            | Type::Bool
            | Type::Int { .. }
            | Type::Float { .. }
            | Type::Pointer { .. }
            | Type::Function
            | Type::Image(_)
            | Type::Sampler
            | Type::SampledImage => Err(ShaderError::invalid("an index into what has no parts")),
        }
    }

    fn step_element(
        &mut self,
        p: &mut Pointer,
        elem: u32,
        len: Option<u32>,
        reg: Reg,
        known: Option<u32>,
    ) -> R<()> {
        match &mut p.root {
            Root::Memory { at, explicit, matrix, spread, .. } => {
                let stride = self.m.step_stride(p.ty, elem, *explicit, *matrix, spread)?;
                match known {
                    Some(n) => at.offset = at.offset.wrapping_add(n.wrapping_mul(stride)),
                    None => at.terms.push((reg, stride)),
                }
            }
            Root::Local { first, choices, .. } => {
                let stride = self.m.scalars(elem)?;
                let len = len.ok_or_else(no_pointer)?;
                match known {
                    Some(n) if n < len => *first += n * stride,
                    _ if len <= MAX_CHOICE => {
                        choices.push(Choice { index: reg, stride, len });
                    }
                    Some(n) => {
                        return Err(ShaderError::unsupported(format!(
                            "element {n} of an array of {len}"
                        )));
                    }
                    None => {
                        return Err(ShaderError::unsupported(
                            "a run-time index into an array of launch values",
                        ));
                    }
                }
            }
            Root::Resource(_) | Root::Texel { .. } => return Err(no_pointer()),
        }
        p.ty = elem;
        Ok(())
    }

    /// The GPU address of a sum; without its constant part unless `whole`.
    pub fn global_address(&mut self, base: Reg, at: &Sum, whole: bool) -> Reg {
        let mut address = base;
        for &(reg, scale) in &at.terms {
            // Indices are signed.
            let wide = self.b.convert(UnOp::SConvert, reg, Ty::B64);
            let scale = self.b.pool.constant(Ty::B64, u64::from(scale));
            let part = self.b.bin(BinOp::IMul, wide, scale);
            address = self.b.bin(BinOp::IAdd, address, part);
        }
        if !whole {
            return address;
        }
        let offset = i64::from(at.offset as i32) as u64;
        let offset = self.b.pool.constant(Ty::B64, offset);
        self.b.bin(BinOp::IAdd, address, offset)
    }

    /// Space and address of an ordinary access.
    pub fn target(&mut self, memory: Memory, at: &Sum) -> R<(Space, Addr)> {
        let space = match memory {
            Memory::Buffer(e) => {
                Space::Buffer(ResourceRef { resource: e.resource, index: e.index })
            }
            Memory::Lds => Space::Lds,
            Memory::Scratch => Space::Scratch,
            Memory::Global(base) => {
                let base = self.global_address(base, at, false);
                let addr = Addr { index: None, scale: 0, offset: at.offset };
                return Ok((Space::Global(base), addr));
            }
            Memory::Ordered => {
                let what = "an ordered-append counter takes nothing but an add";
                return Err(ShaderError::unsupported(what));
            }
            Memory::Gds => {
                return Err(ShaderError::unsupported("this access to the global data share"));
            }
        };
        Ok((space, self.address(at)))
    }

    /// The address of a sum, with as few instructions as it takes.
    pub fn address(&mut self, at: &Sum) -> Addr {
        let mut terms: Vec<(Reg, u32)> = Vec::new();
        for &(reg, scale) in &at.terms {
            match terms.iter_mut().find(|t| t.0 == reg) {
                Some(t) => t.1 = t.1.wrapping_add(scale),
                None => terms.push((reg, scale)),
            }
        }
        terms.retain(|t| t.1 != 0);
        let Some(unit) = terms.iter().map(|t| t.1).min() else {
            return Addr { index: None, scale: 0, offset: at.offset };
        };
        let unit = if terms.iter().all(|t| t.1 % unit == 0) { unit } else { 1 };
        let mut index = None;
        for (reg, scale) in terms {
            let factor = self.b.word(scale / unit);
            let part = self.b.bin(BinOp::IMul, reg, factor);
            index = Some(match index {
                None => part,
                Some(sum) => self.b.bin(BinOp::IAdd, sum, part),
            });
        }
        Addr { index, scale: unit, offset: at.offset }
    }

    /// The flags of an access through `p`.
    pub fn order_of(p: &Pointer, extra: Order) -> Order {
        Order { coherent: p.coherent || extra.coherent, volatile: p.volatile || extra.volatile }
    }

    pub fn load(&mut self, p: &Pointer, extra: Order) -> R<Value> {
        match &p.root {
            Root::Local { regs, first, choices, .. } => {
                let n = self.m.scalars(p.ty)?;
                Ok(Value::regs(self.read_choice(regs, *first, n, choices)?))
            }
            Root::Memory { memory, at, .. } => {
                let leaves = self.m.leaves(p)?;
                let order = Self::order_of(p, extra);
                Ok(Value::regs(self.load_leaves(*memory, at, &leaves, order)?))
            }
            Root::Resource(element) => match self.m.ty(p.ty)? {
                Type::Image(_) => Ok(Value::Image(*element)),
                Type::Sampler => Ok(Value::Sampler(*element)),
                Type::SampledImage => {
                    let sampler = ResourceId(element.resource.0 + 1);
                    Ok(Value::SampledImage(*element, Element { resource: sampler, ..*element }))
                }
                _ => Err(ShaderError::unsupported("a copy of a whole resource array")),
            },
            Root::Texel { .. } => Err(ShaderError::invalid("a plain load of a texel pointer")),
        }
    }

    fn read_choice(&mut self, regs: &[Reg], first: u32, n: u32, rest: &[Choice]) -> R<Vec<Reg>> {
        let Some((choice, rest)) = rest.split_first() else {
            let range = first as usize..(first + n) as usize;
            let part = regs.get(range).ok_or_else(no_pointer)?.to_vec();
            return Ok(part.into_iter().map(|r| self.b.snapshot(r)).collect());
        };
        let mut sum: Option<Vec<Reg>> = None;
        for k in 0..choice.len {
            let here = self.read_choice(regs, first + k * choice.stride, n, rest)?;
            let k = self.b.word(k);
            let cond = self.b.bin(BinOp::IEq, choice.index, k);
            let mut next = Vec::new();
            for (i, &value) in here.iter().enumerate() {
                let ty = self.b.pool.ty(value);
                let other = match &sum {
                    Some(sum) => sum[i],
                    None => self.b.pool.constant(ty, 0),
                };
                next.push(self.b.select(cond, value, other));
            }
            sum = Some(next);
        }
        Ok(sum.unwrap_or_default())
    }

    fn load_leaves(
        &mut self,
        memory: Memory,
        at: &Sum,
        leaves: &[Leaf],
        order: Order,
    ) -> R<Vec<Reg>> {
        let mut out = vec![Reg(0); leaves.len()];
        if memory == Memory::Gds {
            return self.gds_load(at, leaves);
        }
        let (space, base) = self.target(memory, at)?;
        for run in super::layout::runs(leaves) {
            let dst = self.b.temps(stored(leaves[run[0]].ty), run.len());
            let offset = base.offset.wrapping_add(leaves[run[0]].offset);
            let addr = Addr { offset, ..base };
            self.b.inst(Inst::Load { dst: dst.clone(), space, addr, order });
            for (&leaf, reg) in run.iter().zip(dst) {
                let truth = leaves[leaf].ty == Ty::Bool;
                out[leaf] = if truth { self.b.nonzero(reg) } else { reg };
            }
        }
        Ok(out)
    }

    pub fn store(&mut self, p: &Pointer, value: Value, extra: Order) -> R<()> {
        let regs = match value {
            Value::Regs(regs) => Some(regs),
            Value::Pointer(p) => self.address_of(&p).map(|address| [address].into()),
            Value::Image(_) | Value::Sampler(_) | Value::SampledImage(..) | Value::Nothing => None,
        };
        let kept = || ShaderError::unsupported("a pointer, image or sampler kept in a variable");
        let regs = regs.ok_or_else(kept)?;
        let regs = self.truths_as(regs, p.ty)?;
        match &p.root {
            Root::Local { regs: vars, first, choices, writable } => {
                if !writable {
                    return Err(ShaderError::invalid("a store to an input"));
                }
                if regs.len() != self.m.scalars(p.ty)? as usize {
                    return Err(ShaderError::invalid("a store of another type"));
                }
                self.write_choice(vars, *first, &regs, choices, None)
            }
            Root::Memory { memory, at, .. } => {
                let leaves = self.m.leaves(p)?;
                if regs.len() != leaves.len() {
                    return Err(ShaderError::invalid("a store of another type"));
                }
                if let Memory::Buffer(e) = memory {
                    self.check_writable(e.resource)?;
                }
                let order = Self::order_of(p, extra);
                self.store_leaves(*memory, at, &leaves, &regs, order)
            }
            Root::Resource(_) | Root::Texel { .. } => {
                Err(ShaderError::invalid("a store to a resource variable"))
            }
        }
    }

    fn write_choice(
        &mut self,
        vars: &[Reg],
        first: u32,
        values: &[Reg],
        rest: &[Choice],
        cond: Option<Reg>,
    ) -> R<()> {
        let Some((choice, rest)) = rest.split_first() else {
            for (i, &value) in values.iter().enumerate() {
                let &var = vars.get(first as usize + i).ok_or_else(no_pointer)?;
                if self.b.pool.ty(var) != self.b.pool.ty(value) {
                    return Err(ShaderError::invalid("a store of another type"));
                }
                let value = match cond {
                    None => value,
                    Some(cond) => {
                        let old = self.b.snapshot(var);
                        self.b.select(cond, value, old)
                    }
                };
                self.b.set(var, value);
            }
            return Ok(());
        };
        for k in 0..choice.len {
            let number = self.b.word(k);
            let mut here = self.b.bin(BinOp::IEq, choice.index, number);
            if let Some(cond) = cond {
                here = self.b.bin(BinOp::And, cond, here);
            }
            self.write_choice(vars, first + k * choice.stride, values, rest, Some(here))?;
        }
        Ok(())
    }

    fn store_leaves(
        &mut self,
        memory: Memory,
        at: &Sum,
        leaves: &[Leaf],
        regs: &[Reg],
        order: Order,
    ) -> R<()> {
        for (leaf, &reg) in leaves.iter().zip(regs) {
            if self.b.pool.ty(reg) != leaf.ty {
                return Err(ShaderError::invalid("a store of another type"));
            }
        }
        if memory == Memory::Gds {
            return self.gds_store(at, leaves, regs);
        }
        let (space, base) = self.target(memory, at)?;
        for run in super::layout::runs(leaves) {
            let mut src = Vec::new();
            for &leaf in &run {
                let truth = leaves[leaf].ty == Ty::Bool;
                src.push(if truth { self.b.word_of(regs[leaf]) } else { regs[leaf] });
            }
            let offset = base.offset.wrapping_add(leaves[run[0]].offset);
            let addr = Addr { offset, ..base };
            self.b.inst(Inst::Store { src, space, addr, order });
        }
        Ok(())
    }

    /// Flags of the memory operands that start at word `i`.
    pub fn access(&mut self, ins: &Ins<'_>, i: usize) -> R<Order> {
        self.access_from(ins, i).map(|(order, _)| order)
    }

    /// Flags of the memory operands that start at word `i`, and the word after
    /// them.
    pub fn access_from(&mut self, ins: &Ins<'_>, i: usize) -> R<(Order, usize)> {
        let Some(&bits) = ins.args.get(i) else { return Ok((Order::default(), i)) };
        let access = MemoryAccess::from_bits_retain(bits);
        let known = MemoryAccess::VOLATILE
            | MemoryAccess::ALIGNED
            | MemoryAccess::NONTEMPORAL
            | MemoryAccess::MAKE_POINTER_AVAILABLE
            | MemoryAccess::MAKE_POINTER_VISIBLE
            | MemoryAccess::NON_PRIVATE_POINTER;
        if !known.contains(access) {
            return Err(ShaderError::unsupported(format!("memory operands {bits:#x}")));
        }
        let mut next = i + 1 + usize::from(access.contains(MemoryAccess::ALIGNED));
        let mut coherent = false;
        for flag in [MemoryAccess::MAKE_POINTER_AVAILABLE, MemoryAccess::MAKE_POINTER_VISIBLE] {
            if access.contains(flag) {
                // Scopes up to the group stay on this compute unit.
                coherent |= !matches!(self.m.constant_u32(ins.arg(next)?)?, 2..=4);
                next += 1;
            }
        }
        Ok((Order { coherent, volatile: access.contains(MemoryAccess::VOLATILE) }, next))
    }
}

/// A pointer to the whole of a variable in memory that we lay out.
fn memory_pointer(ty: u32, memory: Memory, offset: u32) -> Pointer {
    Pointer {
        ty,
        root: Root::Memory {
            memory,
            at: Sum { terms: Vec::new(), offset },
            explicit: false,
            matrix: None,
            spread: 0,
        },
        coherent: false,
        volatile: false,
    }
}

pub(super) fn no_pointer() -> ShaderError {
    ShaderError::invalid("the pointer does not point at this")
}
