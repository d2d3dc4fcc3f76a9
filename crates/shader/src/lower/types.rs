//! SPIR-V types: kinds, sizes, layouts.

use super::R;
use super::layout::Tight;
use super::module::Module;
use super::words::Ins;
use crate::ShaderError;
use crate::ir::Ty;
use spirv::{Dim, ImageFormat, Op, StorageClass};
use std::rc::Rc;

/// The most scalars that one value may hold in registers.
pub(super) const MAX_SCALARS: u32 = 4096;
/// The most members of a struct (the specification's own limit).
const MAX_MEMBERS: usize = 16_383;
/// How deep types may nest.
const MAX_DEPTH: u32 = 32;

/// An image type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct ImageType {
    pub sampled_type: u32,
    pub dim: Dim,
    pub arrayed: bool,
    /// 1: with a sampler; 2: storage.
    pub sampled: u32,
    pub format: ImageFormat,
}

/// A type.
#[derive(Clone, Debug)]
pub(super) enum Type {
    Void,
    Bool,
    Int { bits: u32 },
    Float { bits: u32 },
    Vector { elem: u32, n: u32 },
    Matrix { column: u32, n: u32 },
    Array { elem: u32, len: u32 },
    RuntimeArray { elem: u32 },
    Struct { members: Rc<[u32]> },
    Pointer { class: StorageClass, pointee: u32 },
    Function,
    Image(ImageType),
    Sampler,
    SampledImage,
}

/// A type with what is asked of it often.
#[derive(Clone, Debug)]
pub(super) struct TypeInfo {
    pub ty: Type,
    /// Scalars in it, saturating; 0 for what has none.
    pub scalars: u32,
    /// Its place where we lay it out; `None` above 4 GiB.
    pub tight: Option<Tight>,
    depth: u32,
}

impl Module<'_> {
    pub(super) fn define_type(&mut self, ins: &Ins<'_>) -> R<()> {
        let ty = match ins.op {
            Op::TypeVoid => Type::Void,
            Op::TypeBool => Type::Bool,
            Op::TypeInt => {
                if ins.arg(1)? != 0 {
                    self.signed.insert(ins.id);
                }
                Type::Int { bits: width(ins.arg(0)?, &[8, 16, 32, 64])? }
            }
            Op::TypeFloat => {
                if ins.args.len() > 1 {
                    return Err(ShaderError::unsupported("a float type with an encoding"));
                }
                Type::Float { bits: width(ins.arg(0)?, &[16, 32, 64])? }
            }
            Op::TypeVector => {
                let (elem, n) = (ins.arg(0)?, ins.arg(1)?);
                if !matches!(self.ty(elem)?, Type::Bool | Type::Int { .. } | Type::Float { .. })
                    || !(2..=4).contains(&n)
                {
                    return Err(ShaderError::invalid(format!("a vector of {n} %{elem}")));
                }
                Type::Vector { elem, n }
            }
            Op::TypeMatrix => {
                let (column, n) = (ins.arg(0)?, ins.arg(1)?);
                if !matches!(self.ty(column)?, Type::Vector { .. }) || !(2..=4).contains(&n) {
                    return Err(ShaderError::invalid(format!("a matrix of {n} %{column}")));
                }
                Type::Matrix { column, n }
            }
            Op::TypeArray => {
                let len = self.constant_u32(ins.arg(1)?)?;
                if len == 0 {
                    return Err(ShaderError::invalid("an array of no elements"));
                }
                Type::Array { elem: ins.arg(0)?, len }
            }
            Op::TypeRuntimeArray => Type::RuntimeArray { elem: ins.arg(0)? },
            Op::TypeStruct => {
                if ins.args.len() > MAX_MEMBERS {
                    let n = ins.args.len();
                    return Err(ShaderError::limit(format!("a struct of {n} members")));
                }
                Type::Struct { members: ins.args.into() }
            }
            Op::TypePointer => {
                Type::Pointer { class: storage_class(ins.arg(0)?)?, pointee: ins.arg(1)? }
            }
            // The pointer type itself comes later and takes this one's place.
            Op::TypeForwardPointer => {
                let class = storage_class(ins.arg(1)?)?;
                if class != StorageClass::PhysicalStorageBuffer {
                    return Err(ShaderError::unsupported("a forward pointer of this class"));
                }
                let ty = Type::Pointer { class, pointee: 0 };
                let tight = self.place_tight(&ty);
                let info = TypeInfo { ty, scalars: 1, tight, depth: 0 };
                self.types.insert(ins.arg(0)?, info);
                return Ok(());
            }
            Op::TypeFunction => Type::Function,
            Op::TypeImage => Type::Image(self.image_type(ins)?),
            Op::TypeSampler => Type::Sampler,
            Op::TypeSampledImage => {
                if !matches!(self.ty(ins.arg(0)?)?, Type::Image(_)) {
                    return Err(ShaderError::invalid("a sampled image of something else"));
                }
                self.sampled_images.insert(ins.id, ins.arg(0)?);
                Type::SampledImage
            }
            _ => return Err(ShaderError::unsupported("this type")),
        };
        let info = self.measure(ty)?;
        self.types.insert(ins.id, info);
        Ok(())
    }

    fn image_type(&self, ins: &Ins<'_>) -> R<ImageType> {
        let dim = ins.arg(1)?;
        let format = ins.arg(6)?;
        if ins.arg(4)? != 0 {
            return Err(ShaderError::unsupported("multisampled images"));
        }
        let image = ImageType {
            sampled_type: ins.arg(0)?,
            dim: Dim::from_u32(dim)
                .ok_or_else(|| ShaderError::unsupported(format!("image dimension {dim}")))?,
            arrayed: ins.arg(3)? != 0,
            sampled: ins.arg(5)?,
            format: ImageFormat::from_u32(format)
                .ok_or_else(|| ShaderError::unsupported(format!("image format {format}")))?,
        };
        match image.dim {
            Dim::Dim1D | Dim::Dim2D | Dim::Dim3D | Dim::DimCube | Dim::DimBuffer => Ok(image),
            other => Err(ShaderError::unsupported(format!("image dimension {other:?}"))),
        }
    }

    /// Counts scalars and depth; inner types must be defined before, so that no
    /// type can hold itself.
    fn measure(&self, ty: Type) -> R<TypeInfo> {
        let inner = |id: u32| {
            self.types.get(&id).ok_or_else(|| ShaderError::invalid(format!("%{id} is no type")))
        };
        let (scalars, below) = match &ty {
            Type::Void | Type::Sampler | Type::SampledImage | Type::Image(_) => (0, 0),
            Type::Function => (0, 0),
            Type::Bool | Type::Int { .. } | Type::Float { .. } => (1, 0),
            // An address is a number; what it points at may point back.
            Type::Pointer { class: StorageClass::PhysicalStorageBuffer, pointee } => {
                inner(*pointee)?;
                (1, 0)
            }
            Type::Pointer { pointee, .. } => (0, inner(*pointee)?.depth),
            Type::Vector { elem, n } | Type::Matrix { column: elem, n } => {
                let e = inner(*elem)?;
                (e.scalars.saturating_mul(*n), e.depth)
            }
            Type::Array { elem, len } => {
                let e = inner(*elem)?;
                (e.scalars.saturating_mul(*len), e.depth)
            }
            Type::RuntimeArray { elem } => (0, inner(*elem)?.depth),
            Type::Struct { members } => {
                let mut sum = 0u32;
                let mut depth = 0;
                for &m in members.iter() {
                    let m = inner(m)?;
                    sum = sum.saturating_add(m.scalars);
                    depth = depth.max(m.depth);
                }
                (sum, depth)
            }
        };
        if below >= MAX_DEPTH {
            return Err(ShaderError::limit(format!("types nest deeper than {MAX_DEPTH}")));
        }
        let tight = self.place_tight(&ty);
        Ok(TypeInfo { ty, scalars, tight, depth: below + 1 })
    }

    /// The type `id`.
    pub fn ty(&self, id: u32) -> R<&Type> {
        let found = self.types.get(&id).map(|t| &t.ty);
        found.ok_or_else(|| ShaderError::invalid(format!("%{id} is no type")))
    }

    /// Scalars in type `id`, refusing what is too large for registers.
    pub fn scalars(&self, id: u32) -> R<u32> {
        let info = self.types.get(&id);
        let n = info.ok_or_else(|| ShaderError::invalid(format!("%{id} is no type")))?.scalars;
        if n > MAX_SCALARS {
            return Err(ShaderError::limit(format!(
                "a value of {n} scalars; up to {MAX_SCALARS} are taken"
            )));
        }
        Ok(n)
    }

    /// Storage class and pointee of pointer type `id`.
    pub fn pointer(&self, id: u32) -> R<(StorageClass, u32)> {
        match self.ty(id)? {
            Type::Pointer { class, pointee } => Ok((*class, *pointee)),
            _ => Err(ShaderError::invalid(format!("%{id} is no pointer type"))),
        }
    }

    /// The register type of scalar type `id`; a GPU address is a scalar too.
    pub fn scalar(&self, id: u32) -> R<Ty> {
        match *self.ty(id)? {
            Type::Bool => Ok(Ty::Bool),
            Type::Int { bits: 8 } => Ok(Ty::B8),
            Type::Int { bits: 16 } | Type::Float { bits: 16 } => Ok(Ty::B16),
            Type::Int { bits: 32 } | Type::Float { bits: 32 } => Ok(Ty::B32),
            Type::Int { .. } | Type::Float { .. } => Ok(Ty::B64),
            Type::Pointer { class: StorageClass::PhysicalStorageBuffer, .. } => Ok(Ty::B64),
            Type::Void
            | Type::Vector { .. }
            | Type::Matrix { .. }
            | Type::Array { .. }
            | Type::RuntimeArray { .. }
            | Type::Struct { .. }
            | Type::Pointer { .. }
            | Type::Function
            | Type::Image(_)
            | Type::Sampler
            | Type::SampledImage => Err(ShaderError::invalid(format!("%{id} is no scalar type"))),
        }
    }

    /// Scalar type, and number of components, of a scalar or vector type.
    pub fn components(&self, id: u32) -> R<(u32, u32)> {
        match *self.ty(id)? {
            Type::Vector { elem, n } => Ok((elem, n)),
            Type::Bool | Type::Int { .. } | Type::Float { .. } => Ok((id, 1)),
            Type::Void
            | Type::Matrix { .. }
            | Type::Array { .. }
            | Type::RuntimeArray { .. }
            | Type::Struct { .. }
            | Type::Pointer { .. }
            | Type::Function
            | Type::Image(_)
            | Type::Sampler
            | Type::SampledImage => {
                Err(ShaderError::invalid(format!("%{id} is no scalar or vector type")))
            }
        }
    }

    /// The register types of everything in type `id`, in order.
    pub fn flatten(&self, id: u32) -> R<Rc<[Ty]>> {
        if let Some(known) = self.flat.borrow().get(&id) {
            return Ok(Rc::clone(known));
        }
        self.scalars(id)?;
        let mut all = Vec::new();
        self.flatten_into(id, &mut all)?;
        let all: Rc<[Ty]> = all.into();
        self.flat.borrow_mut().insert(id, Rc::clone(&all));
        Ok(all)
    }

    fn flatten_into(&self, id: u32, out: &mut Vec<Ty>) -> R<()> {
        match self.ty(id)? {
            Type::Bool | Type::Int { .. } | Type::Float { .. } => out.push(self.scalar(id)?),
            Type::Pointer { class: StorageClass::PhysicalStorageBuffer, .. } => {
                out.push(self.scalar(id)?);
            }
            Type::Vector { elem, n } | Type::Matrix { column: elem, n } => {
                let inner = self.flatten(*elem)?;
                (0..*n).for_each(|_| out.extend_from_slice(&inner));
            }
            Type::Array { elem, len } => {
                let inner = self.flatten(*elem)?;
                if !inner.is_empty() {
                    (0..*len).for_each(|_| out.extend_from_slice(&inner));
                }
            }
            Type::Struct { members } => {
                for &m in members.iter() {
                    out.extend_from_slice(&self.flatten(m)?);
                }
            }
            Type::Void
            | Type::RuntimeArray { .. }
            | Type::Pointer { .. }
            | Type::Function
            | Type::Image(_)
            | Type::Sampler
            | Type::SampledImage => {
                return Err(ShaderError::unsupported(format!("%{id} as a value in registers")));
            }
        }
        Ok(())
    }

    /// Type and first scalar of member or element `index` of composite `id`.
    pub fn element(&self, id: u32, index: u32) -> R<(u32, u32)> {
        let outside =
            || Err(ShaderError::invalid(format!("element {index} lies outside of type %{id}")));
        match self.ty(id)? {
            Type::Vector { elem, n } | Type::Matrix { column: elem, n } => {
                if index >= *n {
                    return outside();
                }
                Ok((*elem, index * self.scalars(*elem)?))
            }
            Type::Array { elem, len } => {
                if index >= *len {
                    return outside();
                }
                let each = self.scalars(*elem)?;
                let at = index.checked_mul(each);
                at.map(|at| (*elem, at)).ok_or_else(|| ShaderError::limit("an array this large"))
            }
            Type::Struct { members } => {
                let Some(&ty) = members.get(index as usize) else { return outside() };
                let mut at = 0;
                for &m in &members[..index as usize] {
                    at += self.scalars(m)?;
                }
                Ok((ty, at))
            }
            Type::Void
            | Type::Bool
            | Type::Int { .. }
            | Type::Float { .. }
            | Type::RuntimeArray { .. }
            | Type::Pointer { .. }
            | Type::Function
            | Type::Image(_)
            | Type::Sampler
            | Type::SampledImage => Err(ShaderError::invalid(format!("%{id} has no elements"))),
        }
    }

    /// True for floats and vectors of floats.
    pub fn is_float(&self, id: u32) -> R<bool> {
        let (elem, _) = self.components(id)?;
        Ok(matches!(self.ty(elem)?, Type::Float { .. }))
    }

    /// True for the type of a GPU address.
    pub fn is_address(&self, id: u32) -> bool {
        let class = StorageClass::PhysicalStorageBuffer;
        self.pointer(id).is_ok_and(|(c, _)| c == class)
    }
}

fn storage_class(number: u32) -> R<StorageClass> {
    let known = StorageClass::from_u32(number);
    known.ok_or_else(|| ShaderError::unsupported(format!("storage class {number}")))
}

fn width(bits: u32, known: &[u32]) -> R<u32> {
    if known.contains(&bits) {
        return Ok(bits);
    }
    Err(ShaderError::unsupported(format!("a number of {bits} bits")))
}
