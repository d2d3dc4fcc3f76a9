//! Resource variables and launch values.

use super::types::{ImageType, Type};
use super::value::{Element, Memory, Pointer, Root, Sum};
use super::{BINDING_SHIFT, BindingRule, Lower, R};
use crate::ShaderError;
use crate::ir::{
    BinOp, Builtin, Extension, ImageDim, Reg, Resource, ResourceClass, ResourceId, ResourceKind,
    SampledType, UnOp,
};
use spirv::{BuiltIn, Dim, ImageFormat, StorageClass};
use wavefence_base::TexelFormat;

/// Register space of our HLSL prelude.
const PRELUDE_SPACE: u32 = 5746;
/// What DXC calls the type of a hidden counter, and the prefix that its variable
/// has before the buffer's name.
const COUNTER_TYPE: &str = "type.ACSBuffer.counter";
const COUNTER_PREFIX: &str = "counter.var.";

/// The most elements of an array of resources.
const MAX_ELEMENTS: u32 = 1 << 16;

/// Where a resource variable is bound.
struct Place {
    class: ResourceClass,
    register: u32,
    space: u32,
    /// `register` is only its place in the source.
    implicit: bool,
}

/// What a resource variable holds.
pub(super) struct Shape {
    pub elem: u32,
    pub count: u32,
    pub unbounded: bool,
}

impl Lower<'_, '_> {
    /// The pointer that resource variable `id` is.
    pub fn resource_variable(&mut self, id: u32, class: StorageClass, ty: u32) -> R<Pointer> {
        let Shape { elem, count, unbounded } = self.array_shape(ty)?;
        let mut name = self.m.name(id);
        // A block without an instance name goes by its own.
        if name.starts_with('%') {
            name = Some(self.m.name(elem)).filter(|n| !n.starts_with('%')).unwrap_or(name);
        }
        let kind = self.kind(elem, class).map_err(|mut e| {
            e.what = format!("{}, the type of {name}", e.what);
            e
        })?;
        let Place { class: register_class, register, space, implicit } =
            self.register(id, class, kind)?;
        let decor = self.m.decor_of(id);
        let members_locked = match self.m.ty(elem)? {
            Type::Struct { members } => {
                let n = members.len() as u32;
                n > 0 && (0..n).all(|i| self.m.member_of(elem, i).non_writable)
            }
            _ => false,
        };
        let ours = self.o.bindings != BindingRule::Plain
            && space == PRELUDE_SPACE
            && register_class == ResourceClass::Uav
            && kind == ResourceKind::ByteAddressBuffer;
        let kind = match register {
            0 if ours => ResourceKind::Extension(Extension::OrderedAppend),
            1 if ours => ResourceKind::Extension(Extension::Gds),
            _ => kind,
        };
        if kind == ResourceKind::Counter
            && let Some(buffer) = name.strip_prefix(COUNTER_PREFIX)
        {
            name = format!("{buffer}.counter");
        }
        let extension = matches!(kind, ResourceKind::Extension(_));
        let resource = ResourceId(self.resources.len() as u32);
        self.implicit.push(implicit);
        self.resources.push(Resource {
            name,
            class: register_class,
            register,
            space,
            count: if extension { 0 } else { count },
            unbounded,
            vk_binding: match (self.o.bindings, decor.binding) {
                (BindingRule::Plain, Some(binding)) => Some((binding, decor.set.unwrap_or(0))),
                (BindingRule::Plain | BindingRule::DxcShifts | BindingRule::Direct3D, _) => None,
            },
            kind,
            read_only: decor.non_writable || members_locked || register_class != ResourceClass::Uav,
            coherent: decor.coherent,
            volatile: decor.volatile,
        });
        if let Type::SampledImage = self.m.ty(elem)? {
            // The sampler of a combined variable stands right after its image.
            let image = self.resources[resource.index()].clone();
            self.implicit.push(implicit);
            self.resources.push(Resource {
                class: ResourceClass::Sampler,
                kind: ResourceKind::Sampler,
                read_only: true,
                ..image
            });
        }
        let element = Element { resource, index: None };
        let mut pointer = Pointer {
            ty,
            root: Root::Resource(element),
            coherent: decor.coherent,
            volatile: decor.volatile,
        };
        if elem == ty {
            self.enter_buffer(&mut pointer, element)?;
        }
        Ok(pointer)
    }

    /// A pointer to an element of a buffer variable points into memory.
    pub fn enter_buffer(&mut self, p: &mut Pointer, element: Element) -> R<()> {
        let resource = &self.resources[element.resource.index()];
        // An array of one is no array to engines; any index into it is 0.
        let index = if resource.count > 1 { element.index } else { None };
        let element = Element { index, ..element };
        p.root = Root::Resource(element);
        if let Type::Struct { .. } = self.m.ty(p.ty)? {
            let memory = match resource.kind {
                ResourceKind::Extension(Extension::OrderedAppend) => Memory::Ordered,
                ResourceKind::Extension(Extension::Gds) => Memory::Gds,
                ResourceKind::ConstantBuffer
                | ResourceKind::StructuredBuffer { .. }
                | ResourceKind::ByteAddressBuffer
                | ResourceKind::TypedBuffer { .. }
                | ResourceKind::Image { .. }
                | ResourceKind::Counter
                | ResourceKind::Sampler => Memory::Buffer(element),
            };
            p.root = Root::Memory {
                memory,
                at: Sum::default(),
                explicit: true,
                matrix: None,
                spread: 0,
            };
        }
        Ok(())
    }

    /// Refuses a write to what is only read.
    pub fn check_writable(&self, resource: ResourceId) -> R<()> {
        let r = &self.resources[resource.index()];
        if r.read_only {
            return Err(ShaderError::invalid(format!("a write to {}, which is read-only", r.name)));
        }
        Ok(())
    }

    fn kind(&self, ty: u32, class: StorageClass) -> R<ResourceKind> {
        match self.m.ty(ty)? {
            Type::Struct { members } => {
                let decor = self.m.decor_of(ty);
                let name = self.m.name(ty);
                let storage = class == StorageClass::StorageBuffer || decor.buffer_block;
                if !storage {
                    return Ok(ResourceKind::ConstantBuffer);
                }
                if name == COUNTER_TYPE {
                    return Ok(ResourceKind::Counter);
                }
                let byte_address =
                    name == "type.ByteAddressBuffer" || name == "type.RWByteAddressBuffer";
                if let [only] = **members
                    && !byte_address
                    && let Type::RuntimeArray { .. } = self.m.ty(only)?
                {
                    let stride = self.m.decor.get(&only).and_then(|d| d.array_stride);
                    let missing = || ShaderError::invalid("a buffer's array has no ArrayStride");
                    return Ok(ResourceKind::StructuredBuffer {
                        stride: stride.ok_or_else(missing)?,
                    });
                }
                Ok(ResourceKind::ByteAddressBuffer)
            }
            Type::Image(image) => self.image_kind(*image),
            Type::Sampler => Ok(ResourceKind::Sampler),
            Type::SampledImage => {
                let image = self.m.sampled_images.get(&ty).copied().unwrap_or(0);
                self.kind(image, class)
            }
            Type::Array { .. }
            | Type::RuntimeArray { .. }
            | Type::Void
            | Type::Bool
            | Type::Int { .. }
            | Type::Float { .. }
            | Type::Vector { .. }
            | Type::Matrix { .. }
            | Type::Pointer { .. }
            | Type::Function => {
                Err(ShaderError::unsupported(format!("a {class:?} variable of this kind")))
            }
        }
    }

    fn image_kind(&self, image: ImageType) -> R<ResourceKind> {
        let sampled = match self.m.ty(image.sampled_type)? {
            Type::Float { bits: 32 } => SampledType::Float,
            Type::Int { bits: 32 | 64 } => {
                if self.m.signed.contains(&image.sampled_type) {
                    SampledType::Sint
                } else {
                    SampledType::Uint
                }
            }
            _ => return Err(ShaderError::unsupported("texels of this width")),
        };
        let format = texel_format(image.format)?;
        let dim = match image.dim {
            Dim::DimBuffer => return Ok(ResourceKind::TypedBuffer { sampled, format }),
            Dim::Dim1D => ImageDim::D1,
            Dim::Dim2D => ImageDim::D2,
            Dim::Dim3D => ImageDim::D3,
            Dim::DimCube => ImageDim::Cube,
            other => return Err(ShaderError::unsupported(format!("image dimension {other:?}"))),
        };
        Ok(ResourceKind::Image { dim, arrayed: image.arrayed, sampled, format })
    }

    /// Where resource variable `id` is bound.
    fn register(&self, id: u32, class: StorageClass, kind: ResourceKind) -> R<Place> {
        let explicit = |class, register, space| Place { class, register, space, implicit: false };
        if class == StorageClass::PushConstant {
            let (register, space) = self.o.push_constants;
            return Ok(explicit(ResourceClass::Cbv, register, space));
        }
        if kind == ResourceKind::Counter {
            let buffer = self.counted(id).ok_or_else(|| {
                let name = self.m.name(id);
                ShaderError::unsupported(format!("{name}, a counter whose buffer is not there"))
            })?;
            let ty = self.m.variables.get(&buffer).map_or(0, |v| v.ty);
            let kind = self.kind(self.array_shape(ty)?.elem, class)?;
            return self.register(buffer, class, kind);
        }
        let decor = self.m.decor_of(id);
        let name = self.m.name(id);
        let binding =
            decor.binding.ok_or_else(|| ShaderError::invalid(format!("{name} has no Binding")))?;
        let space = decor.set.unwrap_or(0);
        let storage = matches!(
            kind,
            ResourceKind::Counter
                | ResourceKind::StructuredBuffer { .. }
                | ResourceKind::ByteAddressBuffer
                | ResourceKind::TypedBuffer { .. }
                | ResourceKind::Image { .. }
        );
        if self.o.bindings != BindingRule::Plain {
            let class = match binding / BINDING_SHIFT {
                1 => Some(ResourceClass::Srv).filter(|_| storage),
                2 => Some(ResourceClass::Uav).filter(|_| storage),
                3 => Some(ResourceClass::Sampler).filter(|_| kind == ResourceKind::Sampler),
                4 => Some(ResourceClass::Cbv).filter(|_| kind == ResourceKind::ConstantBuffer),
                _ => None,
            };
            // A binding that the source fixes is not shifted; it may be told by
            // standing where its class does not.
            if let Some(class) = class {
                return Ok(explicit(class, binding % BINDING_SHIFT, space));
            }
        }
        let class = match kind {
            ResourceKind::ConstantBuffer => ResourceClass::Cbv,
            ResourceKind::Sampler => ResourceClass::Sampler,
            _ if self.written(id)? => ResourceClass::Uav,
            _ => ResourceClass::Srv,
        };
        let implicit = self.o.bindings == BindingRule::Direct3D && binding < BINDING_SHIFT;
        Ok(Place { class, register: binding, space, implicit })
    }

    /// The buffer whose counter variable `id` is: DXC ties them by name only.
    fn counted(&self, id: u32) -> Option<u32> {
        let buffer = self.m.names.get(&id)?.strip_prefix(COUNTER_PREFIX)?;
        let named = |v: &u32| self.m.names.get(v).is_some_and(|n| n == buffer);
        self.m.variables.keys().copied().filter(named).min()
    }

    /// Innermost type of an array of resources of type `ty`, and the number of
    /// elements in all.
    pub fn array_shape(&self, mut ty: u32) -> R<Shape> {
        let (mut count, mut unbounded) = (1u32, false);
        loop {
            let (elem, len) = match *self.m.ty(ty)? {
                Type::Array { elem, len } => (elem, len),
                Type::RuntimeArray { elem } => {
                    unbounded = true;
                    (elem, self.o.unbounded_count.max(1))
                }
                _ => return Ok(Shape { elem: ty, count, unbounded }),
            };
            count = count.checked_mul(len).filter(|&n| n <= MAX_ELEMENTS).ok_or_else(|| {
                ShaderError::limit(format!("an array of more than {MAX_ELEMENTS} resources"))
            })?;
            ty = elem;
        }
    }

    /// True for storage that the module may write.
    fn written(&self, id: u32) -> R<bool> {
        let ty = self.m.variables.get(&id).map_or(0, |v| v.ty);
        let ty = self.array_shape(ty)?.elem;
        if self.m.decor_of(id).non_writable {
            return Ok(false);
        }
        Ok(match self.m.ty(ty)? {
            Type::Image(image) => image.sampled == 2,
            Type::Struct { members } => {
                !(0..members.len() as u32).all(|i| self.m.member_of(ty, i).non_writable)
            }
            _ => false,
        })
    }

    /// The pointer that input variable `id` is.
    pub fn input(&mut self, id: u32, ty: u32) -> R<Pointer> {
        let name = self.m.name(id);
        let Some(builtin) = self.m.decor_of(id).builtin else {
            return Err(ShaderError::unsupported(format!("input {name}, which is no built-in")));
        };
        let regs = self.launch_value(builtin)?;
        if regs.len() != self.m.scalars(ty)? as usize {
            return Err(ShaderError::invalid(format!("built-in {builtin:?} of another type")));
        }
        self.m.flatten(ty)?;
        let root =
            Root::Local { regs: regs.into(), first: 0, choices: Vec::new(), writable: false };
        Ok(Pointer { ty, root, coherent: false, volatile: false })
    }

    fn launch_value(&mut self, builtin: BuiltIn) -> R<Vec<Reg>> {
        use Builtin as B;
        if let Some(square) = self.quad_value(builtin) {
            return Ok(square);
        }
        let b = &mut self.b;
        let three =
            |b: &mut super::builder::Builder, list: [B; 3]| list.map(|w| b.builtin(w)).to_vec();
        Ok(match builtin {
            BuiltIn::WorkgroupId => three(b, [B::GroupIdX, B::GroupIdY, B::GroupIdZ]),
            BuiltIn::LocalInvocationId => three(b, [B::ThreadIdX, B::ThreadIdY, B::ThreadIdZ]),
            BuiltIn::GlobalInvocationId => three(b, [B::GlobalIdX, B::GlobalIdY, B::GlobalIdZ]),
            BuiltIn::NumWorkgroups => three(b, [B::GroupCountX, B::GroupCountY, B::GroupCountZ]),
            BuiltIn::WorkgroupSize => self.group_size.map(|n| self.b.word(n)).to_vec(),
            BuiltIn::LocalInvocationIndex => vec![b.builtin(B::ThreadIndex)],
            BuiltIn::SubgroupSize => vec![b.builtin(B::LaneCount)],
            BuiltIn::SubgroupLocalInvocationId => vec![b.builtin(B::Lane)],
            BuiltIn::SubgroupId => vec![b.builtin(B::WaveIndex)],
            BuiltIn::NumSubgroups => vec![b.builtin(B::WaveCount)],
            BuiltIn::SubgroupEqMask
            | BuiltIn::SubgroupGeMask
            | BuiltIn::SubgroupGtMask
            | BuiltIn::SubgroupLeMask
            | BuiltIn::SubgroupLtMask => return self.lane_mask(builtin),
            other => return Err(ShaderError::unsupported(format!("built-in {other:?}"))),
        })
    }

    /// One of the masks of lanes compared with the own one, made once at the
    /// start of the kernel.
    pub fn lane_mask(&mut self, which: BuiltIn) -> R<Vec<Reg>> {
        self.b.begin()?;
        let lane = self.b.builtin(Builtin::Lane);
        let count = self.b.builtin(Builtin::LaneCount);
        let b = &mut self.b;
        let (zero, one, ones, half) = (b.word(0), b.word(1), b.word(u32::MAX), b.word(32));
        let low = b.bin(BinOp::ULt, lane, half);
        let bit = b.bin(BinOp::Shl, one, lane);
        let below = b.bin(BinOp::ISub, bit, one);
        let eq = [b.select(low, bit, zero), b.select(low, zero, bit)];
        let lt = [b.select(low, below, ones), b.select(low, zero, below)];
        let le = [b.bin(BinOp::Or, lt[0], eq[0]), b.bin(BinOp::Or, lt[1], eq[1])];
        let wide = b.bin(BinOp::UGt, count, half);
        let mut outside = |m: [Reg; 2]| {
            let high = b.un(UnOp::Not, m[1]);
            [b.un(UnOp::Not, m[0]), b.select(wide, high, zero)]
        };
        let mask = match which {
            BuiltIn::SubgroupEqMask => eq,
            BuiltIn::SubgroupLtMask => lt,
            BuiltIn::SubgroupLeMask => le,
            BuiltIn::SubgroupGtMask => outside(le),
            _ => outside(lt),
        };
        let made = self.b.end();
        self.b.prologue.extend(made);
        Ok(vec![mask[0], mask[1], zero, zero])
    }
}

/// The format an image type states; `None` for unknown.
fn texel_format(format: ImageFormat) -> R<Option<TexelFormat>> {
    use ImageFormat as I;
    use TexelFormat as T;
    Ok(Some(match format {
        I::Unknown => return Ok(None),
        I::Rgba32f => T::R32G32B32A32_FLOAT,
        I::Rgba16f => T::R16G16B16A16_FLOAT,
        I::R32f => T::R32_FLOAT,
        I::Rgba8 => T::R8G8B8A8_UNORM,
        I::Rgba8Snorm => T::R8G8B8A8_SNORM,
        I::Rg32f => T::R32G32_FLOAT,
        I::Rg16f => T::R16G16_FLOAT,
        I::R11fG11fB10f => T::R11G11B10_FLOAT,
        I::R16f => T::R16_FLOAT,
        I::Rgba16 => T::R16G16B16A16_UNORM,
        I::Rgb10A2 => T::R10G10B10A2_UNORM,
        I::Rg16 => T::R16G16_UNORM,
        I::Rg8 => T::R8G8_UNORM,
        I::R16 => T::R16_UNORM,
        I::R8 => T::R8_UNORM,
        I::Rgba16Snorm => T::R16G16B16A16_SNORM,
        I::Rg16Snorm => T::R16G16_SNORM,
        I::Rg8Snorm => T::R8G8_SNORM,
        I::R16Snorm => T::R16_SNORM,
        I::R8Snorm => T::R8_SNORM,
        I::Rgba32i => T::R32G32B32A32_SINT,
        I::Rgba16i => T::R16G16B16A16_SINT,
        I::Rgba8i => T::R8G8B8A8_SINT,
        I::R32i => T::R32_SINT,
        I::Rg32i => T::R32G32_SINT,
        I::Rg16i => T::R16G16_SINT,
        I::Rg8i => T::R8G8_SINT,
        I::R16i => T::R16_SINT,
        I::R8i => T::R8_SINT,
        I::Rgba32ui => T::R32G32B32A32_UINT,
        I::Rgba16ui => T::R16G16B16A16_UINT,
        I::Rgba8ui => T::R8G8B8A8_UINT,
        I::R32ui => T::R32_UINT,
        I::Rgb10a2ui => T::R10G10B10A2_UINT,
        I::Rg32ui => T::R32G32_UINT,
        I::Rg16ui => T::R16G16_UINT,
        I::Rg8ui => T::R8G8_UINT,
        I::R16ui => T::R16_UINT,
        I::R8ui => T::R8_UINT,
        I::R64ui => T::R64_UINT,
        I::R64i => T::R64_SINT,
    }))
}
