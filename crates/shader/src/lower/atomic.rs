//! Atomics on buffers, group-shared memory, images, and our prelude's
//! extensions.

use super::layout::Leaf;
use super::types::Type;
use super::value::{Element, Memory, Pointer, Root, Sum, Value};
use super::words::Ins;
use super::{Lower, R};
use crate::ShaderError;
use crate::ir::{AtomicOp, BinOp, ImageOp, Inst, Order, Reg, ResourceRef, Ty};
use spirv::Op;
use std::rc::Rc;

fn operation(op: Op) -> Option<AtomicOp> {
    Some(match op {
        Op::AtomicLoad => AtomicOp::Load,
        Op::AtomicStore => AtomicOp::Store,
        Op::AtomicExchange => AtomicOp::Exchange,
        Op::AtomicCompareExchange => AtomicOp::CompareExchange,
        Op::AtomicIAdd | Op::AtomicIIncrement => AtomicOp::Add,
        Op::AtomicISub | Op::AtomicIDecrement => AtomicOp::Sub,
        Op::AtomicSMin => AtomicOp::SMin,
        Op::AtomicSMax => AtomicOp::SMax,
        Op::AtomicUMin => AtomicOp::UMin,
        Op::AtomicUMax => AtomicOp::UMax,
        Op::AtomicAnd => AtomicOp::And,
        Op::AtomicOr => AtomicOp::Or,
        Op::AtomicXor => AtomicOp::Xor,
        _ => return None,
    })
}

/// An element as an engine sees it.
pub(super) const fn reference(e: Element) -> ResourceRef {
    ResourceRef { resource: e.resource, index: e.index }
}

impl Lower<'_, '_> {
    pub fn atomic(&mut self, ins: &Ins<'_>) -> R<()> {
        if ins.op == Op::ImageTexelPointer {
            return self.texel_pointer(ins);
        }
        let no = || ShaderError::unsupported("this atomic");
        let op = operation(ins.op).ok_or_else(no)?;
        let p = self.pointer(ins.arg(0)?)?;
        let ty = self.m.scalar(p.ty)?;
        match ty {
            Ty::B32 | Ty::B64 => {}
            Ty::Bool => return Err(ShaderError::invalid("an atomic on a truth value")),
            Ty::B8 => return Err(ShaderError::unsupported("an atomic on 8 bits")),
            Ty::B16 => return Err(ShaderError::unsupported("an atomic on 16 bits")),
        }
        // Operands: pointer, scope, semantics, then the values.
        let value = match ins.op {
            Op::AtomicLoad => None,
            Op::AtomicIIncrement | Op::AtomicIDecrement => Some(self.b.pool.constant(ty, 1)),
            Op::AtomicCompareExchange => Some(self.reg(ins.arg(4)?)?),
            _ => Some(self.reg(ins.arg(3)?)?),
        };
        let compare =
            if op == AtomicOp::CompareExchange { Some(self.reg(ins.arg(5)?)?) } else { None };
        let given: Vec<Reg> = value.into_iter().chain(compare).collect();
        self.all_of(ty, &given)?;
        let dst = if op == AtomicOp::Store { None } else { Some(self.b.temp(ty)) };
        self.emit_atomic(&p, op, dst, value, compare)?;
        match dst {
            Some(dst) => self.bind_regs(ins, vec![dst]),
            None => Ok(()),
        }
    }

    fn emit_atomic(
        &mut self,
        p: &Pointer,
        op: AtomicOp,
        dst: Option<Reg>,
        value: Option<Reg>,
        compare: Option<Reg>,
    ) -> R<()> {
        let order = Self::order_of(p, Self::PLAIN);
        match &p.root {
            Root::Memory { memory: Memory::Ordered, at, .. } => {
                let (AtomicOp::Add, Some(dst), Some(value)) = (op, dst, value) else {
                    return Err(ShaderError::unsupported(
                        "an ordered-append counter takes nothing but an add",
                    ));
                };
                self.all_of(Ty::B32, &[dst, value])?;
                let counter = self.words_of(at, "an ordered-append counter")?;
                self.b.inst(Inst::OrderedAdd { dst, counter, value });
            }
            Root::Memory { memory: Memory::Gds, at, .. } => {
                let words = [dst, value, compare].into_iter().flatten();
                if words.clone().any(|r| self.b.pool.ty(r) != Ty::B32) {
                    return Err(ShaderError::unsupported("the global data share holds words only"));
                }
                let offset = self.bytes_of(at);
                self.b.inst(Inst::Gds { op, dst, offset, value, compare });
            }
            Root::Memory { memory, at, .. } => {
                if let Memory::Buffer(e) = memory
                    && op != AtomicOp::Load
                {
                    self.check_writable(e.resource)?;
                }
                if *memory == Memory::Scratch {
                    return Err(ShaderError::unsupported("an atomic on private memory"));
                }
                let (space, addr) = self.target(*memory, at)?;
                self.b.inst(Inst::Atomic { op, dst, space, addr, value, compare, order });
            }
            Root::Texel { image, coords } => {
                if op != AtomicOp::Load {
                    self.check_writable(image.resource)?;
                }
                let data = value.into_iter().chain(compare).collect();
                self.b.inst(Inst::Image {
                    op: ImageOp::Atomic(op),
                    dst: dst.into_iter().collect(),
                    image: reference(*image),
                    sampler: None,
                    coords: coords.to_vec(),
                    offset: Vec::new(),
                    data,
                    order,
                });
            }
            Root::Local { .. } | Root::Resource(_) => {
                return Err(ShaderError::unsupported("an atomic on private memory"));
            }
        }
        Ok(())
    }

    /// A byte offset as one register.
    pub fn bytes_of(&mut self, at: &Sum) -> Reg {
        let addr = self.address(at);
        let offset = self.b.word(addr.offset);
        let Some(index) = addr.index else { return offset };
        let scale = self.b.word(addr.scale);
        let scaled = self.b.bin(BinOp::IMul, index, scale);
        self.b.bin(BinOp::IAdd, scaled, offset)
    }

    /// A byte offset that is a whole number of words, in words.
    fn words_of(&mut self, at: &Sum, what: &str) -> R<Reg> {
        let addr = self.address(at);
        let aligned =
            addr.offset.is_multiple_of(4) && (addr.index.is_none() || addr.scale.is_multiple_of(4));
        if !aligned {
            return Err(ShaderError::invalid(format!("{what} at an offset that is no word's")));
        }
        let offset = self.b.word(addr.offset / 4);
        let Some(index) = addr.index else { return Ok(offset) };
        let scale = self.b.word(addr.scale / 4);
        let scaled = self.b.bin(BinOp::IMul, index, scale);
        Ok(self.b.bin(BinOp::IAdd, scaled, offset))
    }

    /// Plain loads of the global data share.
    pub fn gds_load(&mut self, at: &Sum, leaves: &[Leaf]) -> R<Vec<Reg>> {
        let mut out = Vec::new();
        for leaf in leaves {
            self.word_leaf(leaf)?;
            let offset = self.leaf_offset(at, leaf);
            let dst = self.b.temp(Ty::B32);
            let op = AtomicOp::Load;
            self.b.inst(Inst::Gds { op, dst: Some(dst), offset, value: None, compare: None });
            out.push(dst);
        }
        Ok(out)
    }

    /// Plain stores to the global data share.
    pub fn gds_store(&mut self, at: &Sum, leaves: &[Leaf], regs: &[Reg]) -> R<()> {
        for (leaf, &value) in leaves.iter().zip(regs) {
            self.word_leaf(leaf)?;
            let offset = self.leaf_offset(at, leaf);
            let (op, value) = (AtomicOp::Store, Some(value));
            self.b.inst(Inst::Gds { op, dst: None, offset, value, compare: None });
        }
        Ok(())
    }

    fn word_leaf(&self, leaf: &Leaf) -> R<()> {
        if leaf.ty == Ty::B32 {
            return Ok(());
        }
        Err(ShaderError::unsupported("the global data share holds words only"))
    }

    fn leaf_offset(&mut self, at: &Sum, leaf: &Leaf) -> Reg {
        let offset = at.offset.wrapping_add(leaf.offset);
        self.bytes_of(&Sum { terms: at.terms.clone(), offset })
    }

    fn texel_pointer(&mut self, ins: &Ins<'_>) -> R<()> {
        let p = self.pointer(ins.arg(0)?)?;
        let Root::Resource(image) = p.root else {
            return Err(ShaderError::invalid("a texel of what is no image"));
        };
        if !matches!(self.m.ty(p.ty)?, Type::Image(_)) {
            return Err(ShaderError::invalid("a texel of what is no image"));
        }
        let coords = self.regs(ins.arg(1)?)?;
        let want = self.coordinates(image)?;
        if coords.len() != want {
            return Err(ShaderError::invalid(format!("{} coordinates, not {want}", coords.len())));
        }
        self.all_of(Ty::B32, &coords)?;
        let (_, ty) = self.m.pointer(ins.ty)?;
        let pointer = Pointer {
            ty,
            root: Root::Texel { image, coords },
            coherent: p.coherent,
            volatile: p.volatile,
        };
        self.bind(ins.id, ins.ty, Value::Pointer(Rc::new(pointer)));
        Ok(())
    }

    /// The flags of an image access.
    pub fn image_order(&self, e: Element, volatile: bool) -> Order {
        let r = &self.resources[e.resource.index()];
        Order { coherent: r.coherent, volatile: r.volatile || volatile }
    }
}
