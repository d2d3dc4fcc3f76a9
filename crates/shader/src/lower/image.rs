//! Images, samplers and typed buffers.

use super::atomic::reference;
use super::types::Type;
use super::value::{Element, Value};
use super::words::Ins;
use super::{Lower, R};
use crate::ShaderError;
use crate::ir::{BinOp, ImageDim, ImageOp, Inst, Lod, Reg, ResourceKind, Ty};
use spirv::{ImageOperands, Op};

/// The optional operands of an image instruction.
#[derive(Default)]
struct Extra {
    bias: Option<Reg>,
    lod: Option<Reg>,
    grad: Option<(Vec<Reg>, Vec<Reg>)>,
    offset: Vec<Reg>,
    /// Id of the four offsets of a gather.
    offsets: Option<u32>,
    min_lod: Option<Reg>,
    coherent: bool,
    volatile: bool,
}

/// The parts of an image that an instruction names.
struct Shape {
    /// Coordinates, layer included.
    coordinates: usize,
    /// Dimensions of an offset or a gradient.
    dims: usize,
    arrayed: bool,
    cube: bool,
    buffer: bool,
}

impl Lower<'_, '_> {
    pub fn image(&mut self, ins: &Ins<'_>) -> R<()> {
        if let Some((op, texel)) = self.dense(ins)? {
            return self.sparse(ins, op, texel);
        }
        match ins.op {
            Op::ImageSparseTexelsResident => {
                self.reg(ins.arg(0)?)?;
                let yes = self.b.pool.constant(Ty::Bool, 1);
                self.bind_regs(ins, vec![yes])
            }
            Op::SampledImage => {
                let (image, sampler) = (self.value(ins.arg(0)?)?, self.value(ins.arg(1)?)?);
                let (Value::Image(image), Value::Sampler(sampler)) = (image, sampler) else {
                    return Err(ShaderError::invalid("an image and a sampler must stand here"));
                };
                self.bind(ins.id, ins.ty, Value::SampledImage(image, sampler));
                Ok(())
            }
            Op::Image => {
                let Value::SampledImage(image, _) = self.value(ins.arg(0)?)? else {
                    return Err(ShaderError::invalid("a sampled image must stand here"));
                };
                self.bind(ins.id, ins.ty, Value::Image(image));
                Ok(())
            }
            Op::ImageRead | Op::ImageFetch => self.image_load(ins),
            Op::ImageWrite => self.image_store(ins),
            Op::ImageQuerySize | Op::ImageQuerySizeLod => self.image_size(ins),
            Op::ImageQueryLevels => {
                let image = self.image_of(ins.arg(0)?)?;
                let dst = self.b.temps(Ty::B32, 1);
                self.emit_image(ImageOp::Levels, dst.clone(), image, None, Rest::default());
                self.bind_regs(ins, dst)
            }
            Op::ImageQueryLod => {
                let (image, sampler) = self.sampled(ins.arg(0)?)?;
                let shape = self.shape_of(image)?;
                let coords =
                    self.coords(ins.arg(1)?, shape.coordinates - usize::from(shape.arrayed))?;
                let dst = self.b.temps(Ty::B32, 2);
                let rest = Rest { coords, ..Rest::default() };
                self.emit_image(ImageOp::QueryLod, dst.clone(), image, Some(sampler), rest);
                self.bind_regs(ins, dst)
            }
            Op::ImageSampleImplicitLod
            | Op::ImageSampleExplicitLod
            | Op::ImageSampleProjImplicitLod
            | Op::ImageSampleProjExplicitLod => self.image_sample(ins, false),
            Op::ImageSampleDrefImplicitLod
            | Op::ImageSampleDrefExplicitLod
            | Op::ImageSampleProjDrefImplicitLod
            | Op::ImageSampleProjDrefExplicitLod => self.image_sample(ins, true),
            Op::ImageGather | Op::ImageDrefGather => self.image_gather(ins),
            _ => Err(ShaderError::unsupported("this image instruction")),
        }
    }

    fn image_of(&mut self, id: u32) -> R<Element> {
        match self.value(id)? {
            Value::Image(image) => Ok(image),
            Value::Regs(_)
            | Value::Pointer(_)
            | Value::Sampler(_)
            | Value::SampledImage(..)
            | Value::Nothing => Err(ShaderError::invalid(format!("%{id} is no image"))),
        }
    }

    fn sampled(&mut self, id: u32) -> R<(Element, Element)> {
        match self.value(id)? {
            Value::SampledImage(image, _) if self.shape_of(image)?.buffer => {
                Err(ShaderError::invalid("a typed buffer through a sampler"))
            }
            Value::SampledImage(image, sampler) => Ok((image, sampler)),
            Value::Regs(_)
            | Value::Pointer(_)
            | Value::Image(_)
            | Value::Sampler(_)
            | Value::Nothing => Err(ShaderError::invalid(format!("%{id} is no sampled image"))),
        }
    }

    fn shape_of(&self, image: Element) -> R<Shape> {
        match self.resources[image.resource.index()].kind {
            ResourceKind::TypedBuffer { .. } => {
                Ok(Shape { coordinates: 1, dims: 1, arrayed: false, cube: false, buffer: true })
            }
            ResourceKind::Image { dim, arrayed, .. } => {
                let (dims, cube) = match dim {
                    ImageDim::D1 => (1, false),
                    ImageDim::D2 => (2, false),
                    ImageDim::D3 => (3, false),
                    ImageDim::Cube => (3, true),
                };
                let coordinates = dims + usize::from(arrayed);
                Ok(Shape { coordinates, dims, arrayed, cube, buffer: false })
            }
            ResourceKind::ConstantBuffer
            | ResourceKind::StructuredBuffer { .. }
            | ResourceKind::ByteAddressBuffer
            | ResourceKind::Counter
            | ResourceKind::Sampler
            | ResourceKind::Extension(_) => Err(ShaderError::invalid("an access to no image")),
        }
    }

    /// Number of coordinates of an image, layer included.
    pub fn coordinates(&self, image: Element) -> R<usize> {
        Ok(self.shape_of(image)?.coordinates)
    }

    /// The first `n` components of coordinates `id` (more may be given).
    fn coords(&mut self, id: u32, n: usize) -> R<Vec<Reg>> {
        let all = self.regs(id)?;
        self.all_of(Ty::B32, &all)?;
        let some = all.get(..n);
        let missing = || ShaderError::invalid(format!("{} coordinates, not {n}", all.len()));
        Ok(some.ok_or_else(missing)?.to_vec())
    }

    /// Reads the optional operands from word `i` on.
    fn extra(&mut self, ins: &Ins<'_>, i: usize, dims: usize) -> R<Extra> {
        let mut extra = Extra::default();
        let Some(&bits) = ins.args.get(i) else { return Ok(extra) };
        let has = ImageOperands::from_bits_retain(bits);
        let refused = ImageOperands::OFFSETS | ImageOperands::SAMPLE;
        if has.intersects(refused) || ImageOperands::from_bits(bits).is_none() {
            return Err(ShaderError::unsupported(format!("image operands {bits:#x}")));
        }
        let mut at = i + 1;
        let mut next = || {
            at += 1;
            ins.arg(at - 1)
        };
        if has.contains(ImageOperands::BIAS) {
            extra.bias = Some(self.word_reg(next()?)?);
        }
        if has.contains(ImageOperands::LOD) {
            extra.lod = Some(self.word_reg(next()?)?);
        }
        if has.contains(ImageOperands::GRAD) {
            let (x, y) = (next()?, next()?);
            extra.grad = Some((self.coords(x, dims)?, self.coords(y, dims)?));
        }
        if has.contains(ImageOperands::CONST_OFFSET) {
            extra.offset = self.coords(next()?, dims)?;
        }
        if has.contains(ImageOperands::OFFSET) {
            extra.offset = self.coords(next()?, dims)?;
        }
        if has.contains(ImageOperands::CONST_OFFSETS) {
            extra.offsets = Some(next()?);
        }
        if has.contains(ImageOperands::MIN_LOD) {
            extra.min_lod = Some(self.word_reg(next()?)?);
        }
        for flag in [ImageOperands::MAKE_TEXEL_AVAILABLE, ImageOperands::MAKE_TEXEL_VISIBLE] {
            if has.contains(flag) {
                extra.coherent |= !matches!(self.m.constant_u32(next()?)?, 2..=4);
            }
        }
        extra.volatile = has.contains(ImageOperands::VOLATILE_TEXEL);
        Ok(extra)
    }

    fn word_reg(&mut self, id: u32) -> R<Reg> {
        let reg = self.reg(id)?;
        self.all_of(Ty::B32, &[reg])?;
        Ok(reg)
    }

    fn emit_image(
        &mut self,
        op: ImageOp,
        dst: Vec<Reg>,
        image: Element,
        sampler: Option<Element>,
        rest: Rest,
    ) {
        let mut order = self.image_order(image, rest.volatile);
        order.coherent |= rest.coherent;
        self.b.inst(Inst::Image {
            op,
            dst,
            image: reference(image),
            sampler: sampler.map(reference),
            coords: rest.coords,
            offset: rest.offset,
            data: rest.data,
            order,
        });
    }

    /// Type of the components of a texel of type `ty`.
    fn texel_type(&self, ty: u32) -> R<Ty> {
        let (elem, _) = self.m.components(ty)?;
        match self.m.scalar(elem)? {
            wide @ Ty::B64 => Ok(wide),
            Ty::Bool | Ty::B8 | Ty::B16 | Ty::B32 => Ok(Ty::B32),
        }
    }

    /// Binds as many of `regs` as the result type has components.
    fn bind_some(&mut self, ins: &Ins<'_>, regs: &[Reg]) -> R<()> {
        let (_, n) = self.m.components(ins.ty)?;
        let some = regs.get(..n as usize);
        let some = some.ok_or_else(|| ShaderError::invalid("a result of too many components"))?;
        self.bind_regs(ins, some.to_vec())
    }

    fn image_load(&mut self, ins: &Ins<'_>) -> R<()> {
        let image = self.image_of(ins.arg(0)?)?;
        let shape = self.shape_of(image)?;
        let coords = self.coords(ins.arg(1)?, shape.coordinates)?;
        let extra = self.extra(ins, 2, shape.dims)?;
        let lod = match extra.lod {
            Some(lod) if self.b.pool.value(lod) != Some(0) => Lod::Level(lod),
            _ => Lod::Zero,
        };
        let dst = self.b.temps(self.texel_type(ins.ty)?, 4);
        let rest = Rest {
            coords,
            offset: extra.offset,
            data: Vec::new(),
            coherent: extra.coherent,
            volatile: extra.volatile,
        };
        self.emit_image(ImageOp::Load { lod }, dst.clone(), image, None, rest);
        self.bind_some(ins, &dst)
    }

    fn image_store(&mut self, ins: &Ins<'_>) -> R<()> {
        let image = self.image_of(ins.arg(0)?)?;
        self.check_writable(image.resource)?;
        let shape = self.shape_of(image)?;
        let coords = self.coords(ins.arg(1)?, shape.coordinates)?;
        let data = self.regs(ins.arg(2)?)?;
        let wide = data.first().is_some_and(|&r| self.b.pool.ty(r) == Ty::B64);
        self.all_of(if wide { Ty::B64 } else { Ty::B32 }, &data)?;
        if !(1..=4).contains(&data.len()) {
            return Err(ShaderError::invalid("a texel of more than 4 components"));
        }
        let extra = self.extra(ins, 3, shape.dims)?;
        if extra.lod.is_some_and(|l| self.b.pool.value(l) != Some(0)) {
            return Err(ShaderError::unsupported("a store to a mip level"));
        }
        let rest = Rest {
            coords,
            offset: Vec::new(),
            data: data.to_vec(),
            coherent: extra.coherent,
            volatile: extra.volatile,
        };
        self.emit_image(ImageOp::Store, Vec::new(), image, None, rest);
        Ok(())
    }

    fn image_size(&mut self, ins: &Ins<'_>) -> R<()> {
        let image = self.image_of(ins.arg(0)?)?;
        let shape = self.shape_of(image)?;
        let level = if ins.op == Op::ImageQuerySizeLod && !shape.buffer {
            Some(self.word_reg(ins.arg(1)?)?)
        } else {
            None
        };
        let n = if shape.cube { 2 } else { shape.dims } + usize::from(shape.arrayed);
        let dst = self.b.temps(Ty::B32, n);
        self.emit_image(ImageOp::Size { level }, dst.clone(), image, None, Rest::default());
        self.bind_some(ins, &dst)
    }

    fn image_sample(&mut self, ins: &Ins<'_>, compares: bool) -> R<()> {
        let (image, sampler) = self.sampled(ins.arg(0)?)?;
        let shape = self.shape_of(image)?;
        let projected = matches!(
            ins.op,
            Op::ImageSampleProjImplicitLod
                | Op::ImageSampleProjExplicitLod
                | Op::ImageSampleProjDrefImplicitLod
                | Op::ImageSampleProjDrefExplicitLod
        );
        let given = shape.coordinates + usize::from(projected);
        let mut coords = self.coords(ins.arg(1)?, given)?;
        let mut compare = None;
        if compares {
            compare = Some(self.word_reg(ins.arg(2)?)?);
        }
        if projected && let Some(q) = coords.pop() {
            let divide = |b: &mut super::builder::Builder, c| b.bin(BinOp::FDiv, c, q);
            coords = coords.into_iter().map(|c| divide(&mut self.b, c)).collect();
            compare = compare.map(|c| divide(&mut self.b, c));
        }
        let extra = self.extra(ins, if compares { 3 } else { 2 }, shape.dims)?;
        let lod = match (extra.lod, extra.grad) {
            (Some(lod), _) => Lod::Level(lod),
            (None, Some((x, y))) => Lod::Grad(x, y),
            (None, None) => Lod::Implicit(extra.bias),
        };
        let op = ImageOp::Sample { lod, compare, min_lod: extra.min_lod };
        let dst = self.b.temps(Ty::B32, if compares { 1 } else { 4 });
        let rest = Rest { coords, offset: extra.offset, ..Rest::default() };
        self.emit_image(op, dst.clone(), image, Some(sampler), rest);
        self.bind_some(ins, &dst)
    }

    fn image_gather(&mut self, ins: &Ins<'_>) -> R<()> {
        let (image, sampler) = self.sampled(ins.arg(0)?)?;
        let shape = self.shape_of(image)?;
        let coords = self.coords(ins.arg(1)?, shape.coordinates)?;
        let extra = self.extra(ins, 3, shape.dims)?;
        let op = if ins.op == Op::ImageDrefGather {
            ImageOp::Gather { component: 0, compare: Some(self.word_reg(ins.arg(2)?)?) }
        } else {
            let component = self.m.constant_u32(ins.arg(2)?)?;
            if component > 3 {
                return Err(ShaderError::invalid(format!("a gather of component {component}")));
            }
            ImageOp::Gather { component, compare: None }
        };
        let gather = |s: &mut Self, offset: Vec<Reg>| {
            let dst = s.b.temps(Ty::B32, 4);
            let rest = Rest { coords: coords.clone(), offset, ..Rest::default() };
            s.emit_image(op.clone(), dst.clone(), image, Some(sampler), rest);
            dst
        };
        let Some(offsets) = extra.offsets else {
            let dst = gather(self, extra.offset);
            return self.bind_some(ins, &dst);
        };
        // Each result is the upper left texel, the last of a gather, at its offset.
        let offsets = self.regs_n(offsets, 4 * shape.dims)?;
        let mut dst = Vec::new();
        for offset in offsets.chunks_exact(shape.dims) {
            dst.push(gather(self, offset.to_vec())[3]);
        }
        self.bind_some(ins, &dst)
    }

    /// What a sparse instruction is without its residency code, and the type of
    /// its texel.
    fn dense(&self, ins: &Ins<'_>) -> R<Option<(Op, u32)>> {
        let op = match ins.op {
            Op::ImageSparseSampleImplicitLod => Op::ImageSampleImplicitLod,
            Op::ImageSparseSampleExplicitLod => Op::ImageSampleExplicitLod,
            Op::ImageSparseSampleDrefImplicitLod => Op::ImageSampleDrefImplicitLod,
            Op::ImageSparseSampleDrefExplicitLod => Op::ImageSampleDrefExplicitLod,
            Op::ImageSparseFetch => Op::ImageFetch,
            Op::ImageSparseRead => Op::ImageRead,
            Op::ImageSparseGather => Op::ImageGather,
            Op::ImageSparseDrefGather => Op::ImageDrefGather,
            _ => return Ok(None),
        };
        let texel = match self.m.ty(ins.ty)? {
            Type::Struct { members } => members.get(1).copied(),
            _ => None,
        };
        let texel = texel.ok_or_else(|| ShaderError::invalid("a sparse result of no two parts"))?;
        Ok(Some((op, texel)))
    }

    /// A sparse access: all memory is mapped here, so its residency code is a
    /// constant.
    fn sparse(&mut self, ins: &Ins<'_>, op: Op, texel: u32) -> R<()> {
        let dense = Ins { op, ty: texel, ..*ins };
        self.image(&dense)?;
        let mut regs = vec![self.b.word(RESIDENT)];
        regs.extend_from_slice(&self.regs(ins.id)?);
        self.bind_regs(ins, regs)
    }
}

/// The residency code of memory that is mapped; any number would do.
const RESIDENT: u32 = 1;

/// The register lists and flags of an image instruction.
#[derive(Default)]
struct Rest {
    coords: Vec<Reg>,
    offset: Vec<Reg>,
    data: Vec<Reg>,
    coherent: bool,
    volatile: bool,
}
