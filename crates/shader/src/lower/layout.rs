//! Where the parts of a type lie in memory.

use super::R;
use super::module::Module;
use super::types::{MAX_SCALARS, Type};
use super::value::{MatrixLayout, Pointer, Root};
use crate::ShaderError;
use crate::ir::Ty;
use spirv::StorageClass;

/// A scalar in memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Leaf {
    /// From the pointer.
    pub offset: u32,
    pub ty: Ty,
}

/// The place that a type takes where we lay it out, in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tight {
    pub size: u32,
    pub align: u32,
}

/// How the parts below a pointer lie.
#[derive(Clone, Copy)]
struct How {
    explicit: bool,
    matrix: Option<MatrixLayout>,
    spread: u32,
}

/// Indices of leaves that one access can cover: up to 4 of one type, side by
/// side.
pub(super) fn runs(leaves: &[Leaf]) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> = (0..leaves.len()).collect();
    order.sort_by_key(|&i| leaves[i].offset);
    let follows = |last: Leaf, next: Leaf| {
        last.offset.wrapping_add(bytes(last.ty)) == next.offset
            && (last.ty == next.ty || stored(last.ty) == stored(next.ty))
    };
    let mut out: Vec<Vec<usize>> = Vec::new();
    for i in order {
        if let Some(run) = out.last_mut()
            && run.len() < 4
            && run.last().is_some_and(|&l| follows(leaves[l], leaves[i]))
        {
            run.push(i);
        } else {
            out.push(vec![i]);
        }
    }
    out
}

/// The type a scalar has in memory: truth values are words of 1 or 0.
pub(super) const fn stored(ty: Ty) -> Ty {
    match ty {
        Ty::Bool => Ty::B32,
        Ty::B8 | Ty::B16 | Ty::B32 | Ty::B64 => ty,
    }
}

/// Bytes of a scalar in memory.
pub(super) const fn bytes(ty: Ty) -> u32 {
    super::fold::bits(stored(ty)) / 8
}

fn overflow() -> ShaderError {
    ShaderError::limit("an object of more than 4 GiB")
}

impl Module<'_> {
    /// Bytes of a type that we lay out: every scalar at a multiple of its size,
    /// nothing else between. `Bool` takes 4.
    pub fn tight_size(&self, id: u32) -> R<u32> {
        Ok(self.tight(id)?.size)
    }

    fn tight(&self, id: u32) -> R<Tight> {
        if let Type::RuntimeArray { .. } = self.ty(id)? {
            return Err(ShaderError::invalid("an array without a length here"));
        }
        self.types.get(&id).and_then(|t| t.tight).ok_or_else(overflow)
    }

    /// The place of a new type that we lay out, if it has one below 4 GiB.
    /// Inner types have theirs already.
    pub(super) fn place_tight(&self, ty: &Type) -> Option<Tight> {
        let inner = |id: &u32| self.types.get(id).and_then(|t| t.tight);
        let scalar = |size: u32| Some(Tight { size, align: size });
        match ty {
            Type::Bool => scalar(4),
            Type::Int { bits } | Type::Float { bits } => scalar(bits / 8),
            Type::Pointer { class: StorageClass::PhysicalStorageBuffer, .. } => scalar(8),
            Type::Vector { elem, n }
            | Type::Matrix { column: elem, n }
            | Type::Array { elem, len: n } => {
                let Tight { size, align } = inner(elem)?;
                Some(Tight { size: size.checked_mul(*n)?, align })
            }
            Type::Struct { members } => {
                let mut all = Tight { size: 0, align: 1 };
                for m in members.iter() {
                    let Tight { size, align } = inner(m)?;
                    let at = all.size.checked_next_multiple_of(align)?;
                    all = Tight { size: at.checked_add(size)?, align: all.align.max(align) };
                }
                let size = all.size.checked_next_multiple_of(all.align)?;
                Some(Tight { size, ..all })
            }
            Type::Void
            | Type::RuntimeArray { .. }
            | Type::Pointer { .. }
            | Type::Function
            | Type::Image(_)
            | Type::Sampler
            | Type::SampledImage => Some(Tight { size: 0, align: 1 }),
        }
    }

    /// Offset of member `n` of struct `id`.
    pub fn member_offset(&self, id: u32, n: u32, explicit: bool) -> R<u32> {
        if explicit {
            let offset = self.member_of(id, n).offset;
            let missing = || {
                let name = self.name(id);
                ShaderError::invalid(format!("member {n} of {name} has no Offset"))
            };
            return offset.ok_or_else(missing);
        }
        let Type::Struct { members } = self.ty(id)? else {
            return Err(ShaderError::invalid(format!("%{id} is no struct")));
        };
        let mut at = 0u32;
        for (i, &m) in members.iter().enumerate() {
            let Tight { size, align } = self.tight(m)?;
            at = at.checked_next_multiple_of(align).ok_or_else(overflow)?;
            if i == n as usize {
                break;
            }
            at = at.checked_add(size).ok_or_else(overflow)?;
        }
        Ok(at)
    }

    /// Bytes from one element of `id` to the next; notes in `spread` how far
    /// apart the components of the element then lie.
    pub fn step_stride(
        &self,
        id: u32,
        elem: u32,
        explicit: bool,
        matrix: Option<MatrixLayout>,
        spread: &mut u32,
    ) -> R<u32> {
        match self.ty(id)? {
            Type::Vector { elem, .. } => {
                Ok(if *spread == 0 { bytes(self.scalar(*elem)?) } else { *spread })
            }
            Type::Matrix { column, .. } if explicit => {
                let layout = matrix.ok_or_else(|| no_stride("matrix"))?;
                if layout.row_major {
                    *spread = layout.stride;
                    return Ok(bytes(self.scalar(self.components(*column)?.0)?));
                }
                Ok(layout.stride)
            }
            Type::Array { .. } | Type::RuntimeArray { .. } if explicit => {
                let stride = self.decor.get(&id).and_then(|d| d.array_stride);
                stride.ok_or_else(|| no_stride("array"))
            }
            _ => self.tight_size(elem),
        }
    }

    /// Every scalar below `p`, in the order of its value.
    pub fn leaves(&self, p: &Pointer) -> R<Vec<Leaf>> {
        let Root::Memory { explicit, matrix, spread, .. } = &p.root else {
            return Err(super::memory::no_pointer());
        };
        self.scalars(p.ty)?;
        let how = How { explicit: *explicit, matrix: *matrix, spread: *spread };
        let mut out = Vec::new();
        self.leaves_of(p.ty, how, 0, &mut out)?;
        Ok(out)
    }

    fn leaves_of(&self, id: u32, how: How, at: u32, out: &mut Vec<Leaf>) -> R<()> {
        // Empty arrays and structs could be walked without end.
        if self.types.get(&id).is_none_or(|t| t.scalars == 0) {
            if matches!(self.ty(id)?, Type::Struct { .. } | Type::Array { .. }) {
                return Ok(());
            }
            let name = self.name(id);
            return Err(ShaderError::unsupported(format!("{name} as a value in memory")));
        }
        if out.len() > MAX_SCALARS as usize {
            return Err(ShaderError::limit("a value this large"));
        }
        match self.ty(id)? {
            Type::Bool if how.explicit => Err(ShaderError::invalid("a truth value in a buffer")),
            Type::Bool | Type::Int { .. } | Type::Float { .. } | Type::Pointer { .. } => {
                out.push(Leaf { offset: at, ty: self.scalar(id)? });
                Ok(())
            }
            Type::Vector { elem, n }
            | Type::Matrix { column: elem, n }
            | Type::Array { elem, len: n } => {
                let mut inner = how;
                let stride =
                    self.step_stride(id, *elem, how.explicit, how.matrix, &mut inner.spread)?;
                for i in 0..*n {
                    self.leaves_of(*elem, inner, at.wrapping_add(i.wrapping_mul(stride)), out)?;
                }
                Ok(())
            }
            Type::Struct { members } => {
                for (i, &m) in members.iter().enumerate() {
                    let i = i as u32;
                    let decor = self.member_of(id, i);
                    let matrix = decor
                        .matrix_stride
                        .map(|stride| MatrixLayout { stride, row_major: decor.row_major });
                    let offset = self.member_offset(id, i, how.explicit)?;
                    let inner = How { explicit: how.explicit, matrix, spread: 0 };
                    self.leaves_of(m, inner, at.wrapping_add(offset), out)?;
                }
                Ok(())
            }
            Type::Void
            | Type::RuntimeArray { .. }
            | Type::Function
            | Type::Image(_)
            | Type::Sampler
            | Type::SampledImage => Ok(()),
        }
    }
}

fn no_stride(what: &str) -> ShaderError {
    ShaderError::invalid(format!("the {what} has no stride decoration"))
}
