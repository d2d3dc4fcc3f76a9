//! What an id stands for while code is emitted.

use super::{Lower, R};
use crate::ShaderError;
use crate::ir::{Reg, ResourceId, Ty};
use std::rc::Rc;

/// An element of a resource variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Element {
    pub resource: ResourceId,
    pub index: Option<Reg>,
}

/// What an id stands for.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    /// Scalars, flattened in order.
    Regs(Rc<[Reg]>),
    Pointer(Rc<Pointer>),
    Image(Element),
    Sampler(Element),
    SampledImage(Element, Element),
    /// `OpTypeVoid`.
    Nothing,
}

impl Value {
    pub fn regs(regs: Vec<Reg>) -> Self {
        Self::Regs(regs.into())
    }
}

/// Which memory a pointer points into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Memory {
    Buffer(Element),
    Lds,
    Scratch,
    /// The ordered-append counters of our prelude.
    Ordered,
    /// The global data share of our prelude.
    Gds,
    /// Behind the GPU address in a register.
    Global(Reg),
}

/// A byte offset in the making: the sum of `reg * scale` and `offset`.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Sum {
    pub terms: Vec<(Reg, u32)>,
    pub offset: u32,
}

/// How a matrix lies in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MatrixLayout {
    pub stride: u32,
    pub row_major: bool,
}

/// A run-time index into registers: element `index` of `len`, `stride` scalars
/// apart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Choice {
    pub index: Reg,
    pub stride: u32,
    pub len: u32,
}

/// Where a pointer points.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Root {
    /// Addressed memory. `explicit`: laid out by decorations.
    Memory {
        memory: Memory,
        at: Sum,
        explicit: bool,
        /// Of the member the pointer came through.
        matrix: Option<MatrixLayout>,
        /// Bytes between the components of a vector (rows of a row-major
        /// matrix lie apart); 0 for side by side.
        spread: u32,
    },
    /// Registers.
    Local { regs: Rc<[Reg]>, first: u32, choices: Vec<Choice>, writable: bool },
    /// A resource variable, or one element of it.
    Resource(Element),
    /// A texel, for image atomics.
    Texel { image: Element, coords: Rc<[Reg]> },
}

/// A pointer.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Pointer {
    /// Type pointed at.
    pub ty: u32,
    pub root: Root,
    pub coherent: bool,
    pub volatile: bool,
}

impl Pointer {
    /// What lies at a GPU address.
    pub fn global(ty: u32, address: Reg) -> Self {
        let root = Root::Memory {
            memory: Memory::Global(address),
            at: Sum::default(),
            explicit: true,
            matrix: None,
            spread: 0,
        };
        Self { ty, root, coherent: false, volatile: false }
    }
}

impl Lower<'_, '_> {
    /// The GPU address that a pointer is, if it is one.
    pub fn address_of(&mut self, p: &Pointer) -> Option<Reg> {
        let Root::Memory { memory: Memory::Global(base), at, .. } = &p.root else { return None };
        Some(self.global_address(*base, at, true))
    }

    /// The value of `id`.
    pub fn value(&mut self, id: u32) -> R<Value> {
        if let Some(v) = self.frames.last().and_then(|f| f.values.get(&id)) {
            return Ok(v.clone());
        }
        if let Some(v) = self.globals.get(&id) {
            return Ok(v.clone());
        }
        let value = self.global_value(id)?;
        self.globals.insert(id, value.clone());
        Ok(value)
    }

    fn global_value(&mut self, id: u32) -> R<Value> {
        if let Some(constant) = self.m.constants.get(&id) {
            let types = self.m.flatten(constant.ty)?;
            let pool = &mut self.b.pool;
            let all = types.iter().zip(constant.bits.iter());
            return Ok(Value::Regs(all.map(|(&ty, &bits)| pool.constant(ty, bits)).collect()));
        }
        if let Some(&ty) = self.m.undefs.get(&id) {
            return self.zero(ty);
        }
        if self.m.variables.contains_key(&id) {
            return self.variable(id);
        }
        Err(ShaderError::invalid(format!("%{id} is used before it has a value")))
    }

    /// All zeros of type `ty`: what an undefined value is here.
    pub fn zero(&mut self, ty: u32) -> R<Value> {
        let types = self.m.flatten(ty)?;
        let pool = &mut self.b.pool;
        Ok(Value::Regs(types.iter().map(|&ty| pool.constant(ty, 0)).collect()))
    }

    /// The scalars of `id`.
    pub fn regs(&mut self, id: u32) -> R<Rc<[Reg]>> {
        match self.value(id)? {
            Value::Regs(regs) => Ok(regs),
            Value::Pointer(p) if self.address_of(&p).is_some() => {
                Ok(self.address_of(&p).into_iter().collect())
            }
            Value::Pointer(_)
            | Value::Image(_)
            | Value::Sampler(_)
            | Value::SampledImage(..)
            | Value::Nothing => Err(ShaderError::unsupported(format!(
                "{} as data (a pointer, image or sampler)",
                self.m.name(id)
            ))),
        }
    }

    /// The scalars of `id`, which must be `n`.
    pub fn regs_n(&mut self, id: u32, n: usize) -> R<Rc<[Reg]>> {
        let regs = self.regs(id)?;
        if regs.len() == n {
            return Ok(regs);
        }
        Err(ShaderError::invalid(format!("%{id} has {} components, not {n}", regs.len())))
    }

    /// `regs` as scalars of type `ty`. DXC mixes up truth values with the words, 0
    /// or 1, that they are in memory; in its modules one is made of the other, in
    /// others a wrong type stays wrong.
    pub fn truths_as(&mut self, regs: Rc<[Reg]>, ty: u32) -> R<Rc<[Reg]>> {
        if !self.m.from_dxc {
            return Ok(regs);
        }
        let types = self.m.flatten(ty)?;
        let same = |(r, ty): (&Reg, &Ty)| self.b.pool.ty(*r) == *ty;
        if types.len() != regs.len() || regs.iter().zip(types.iter()).all(same) {
            return Ok(regs);
        }
        let mut out = Vec::new();
        for (&reg, &ty) in regs.iter().zip(types.iter()) {
            out.push(match (self.b.pool.ty(reg), ty) {
                (Ty::Bool, Ty::B32) => {
                    let (one, zero) = (self.b.word(1), self.b.word(0));
                    self.b.select(reg, one, zero)
                }
                (Ty::B32, Ty::Bool) => self.b.nonzero(reg),
                _ => reg,
            });
        }
        Ok(out.into())
    }

    /// The truth values of `id`.
    pub fn truths(&mut self, id: u32) -> R<Rc<[Reg]>> {
        let regs = self.regs(id)?;
        if !self.m.from_dxc {
            return Ok(regs);
        }
        let truth = |b: &mut super::builder::Builder, r| match b.pool.ty(r) {
            Ty::B32 => b.nonzero(r),
            Ty::Bool | Ty::B8 | Ty::B16 | Ty::B64 => r,
        };
        Ok(regs.iter().map(|&r| truth(&mut self.b, r)).collect())
    }

    /// The one scalar of `id`.
    pub fn reg(&mut self, id: u32) -> R<Reg> {
        Ok(self.regs_n(id, 1)?[0])
    }

    /// The pointer `id`.
    pub fn pointer(&mut self, id: u32) -> R<Rc<Pointer>> {
        match self.value(id)? {
            Value::Pointer(p) => Ok(p),
            Value::Regs(regs) if regs.len() == 1 && self.m.is_address(self.type_of(id)?) => {
                let (_, ty) = self.m.pointer(self.type_of(id)?)?;
                Ok(Rc::new(Pointer::global(ty, regs[0])))
            }
            Value::Regs(_)
            | Value::Image(_)
            | Value::Sampler(_)
            | Value::SampledImage(..)
            | Value::Nothing => Err(ShaderError::invalid(format!("%{id} is no pointer"))),
        }
    }

    /// The type of a value id of the present function or module.
    pub fn type_of(&self, id: u32) -> R<u32> {
        if let Some(&ty) = self.frames.last().and_then(|f| f.types.get(&id)) {
            return Ok(ty);
        }
        if let Some(c) = self.m.constants.get(&id) {
            return Ok(c.ty);
        }
        let found = self.m.undefs.get(&id).copied();
        found.ok_or_else(|| ShaderError::invalid(format!("%{id} is used before it has a value")))
    }

    /// Binds the result of an instruction.
    pub fn bind(&mut self, id: u32, ty: u32, value: Value) {
        if let Some(frame) = self.frames.last_mut() {
            frame.values.insert(id, value);
            frame.types.insert(id, ty);
        }
    }
}
