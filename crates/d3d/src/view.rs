//! Views: what is bound to a register, and how it becomes a descriptor.

use crate::enums::{D3D12_COMPARISON_FUNC, D3D12_FILTER, D3D12_TEXTURE_ADDRESS_MODE};
use wavefence_base::{ComponentKind, GpuRange, TexelFormat};
use wavefence_shader::ir::{ImageDim, ResourceKind, SampledType};
use wavefence_wave::descriptor::{self as d, Descriptor, Image};

/// What is bound to one register.
#[derive(Clone, Debug, PartialEq)]
pub enum View {
    /// Nothing, on purpose: reads give 0, writes are dropped.
    Null,
    /// A `ByteAddressBuffer`, or a root view, which carries no stride and so fits
    /// structured buffers too.
    Raw(GpuRange),
    /// A structured buffer.
    Structured {
        /// Its bytes.
        range: GpuRange,
        /// Bytes per element.
        stride: u32,
        /// Where its hidden counter lies: 4 bytes.
        counter: Option<GpuRange>,
    },
    /// A buffer of texels.
    Typed {
        /// Its bytes.
        range: GpuRange,
        /// Format of an element.
        format: TexelFormat,
    },
    /// A constant buffer.
    Constant(GpuRange),
    /// A texture.
    Texture(SampledView),
    /// A sampler.
    Sampler(SamplerDesc),
}

/// A view of a texture.
#[derive(Clone, Debug, PartialEq)]
pub struct SampledView {
    image: Image,
}

impl SampledView {
    pub(crate) fn new(image: Image) -> Self {
        Self { image }
    }

    /// The same with only `count` levels from `first`.
    pub fn levels(mut self, first: u32, count: u32) -> Self {
        self.image.first_level = first;
        self.image.view_levels = count;
        self
    }

    /// The same with only `count` layers from `first`.
    pub fn layers(mut self, first: u32, count: u32) -> Self {
        self.image.first_layer = first;
        self.image.view_layers = count;
        self
    }

    /// The same seen as another shape: a cube or a 3D texture's memory as layers.
    pub fn dimension(mut self, dim: ImageDim) -> Self {
        self.image.dim = dim;
        self
    }
}

/// A sampler, in Direct3D's words.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SamplerDesc {
    /// How it filters.
    pub filter: D3D12_FILTER,
    /// Outside 0..1, for u, v and w.
    pub address: [D3D12_TEXTURE_ADDRESS_MODE; 3],
    /// The comparison of a comparison filter.
    pub comparison: D3D12_COMPARISON_FUNC,
    /// 1 to 16.
    pub max_anisotropy: u32,
    /// Added to the level.
    pub mip_lod_bias: f32,
    /// Smallest level.
    pub min_lod: f32,
    /// Largest level.
    pub max_lod: f32,
    /// Border colour.
    pub border_color: [f32; 4],
}

impl Default for SamplerDesc {
    /// Linear, clamped.
    fn default() -> Self {
        Self {
            filter: D3D12_FILTER::MIN_MAG_MIP_LINEAR,
            address: [D3D12_TEXTURE_ADDRESS_MODE::CLAMP; 3],
            comparison: D3D12_COMPARISON_FUNC::NEVER,
            max_anisotropy: 1,
            mip_lod_bias: 0.0,
            min_lod: 0.0,
            max_lod: f32::MAX,
            border_color: [0.0; 4],
        }
    }
}

impl SamplerDesc {
    fn descriptor(&self) -> d::Sampler {
        // The published values are bits: 0x10 min, 0x04 mag, 0x01 mip, 0x80 compares.
        let bits = self.filter as u32;
        let pick = |bit| if bits & bit != 0 { d::Filter::Linear } else { d::Filter::Point };
        let compares = bits & 0x80 != 0;
        d::Sampler {
            mag: pick(0x04),
            min: pick(0x10),
            mip: pick(0x01),
            address: self.address.map(|mode| match mode {
                D3D12_TEXTURE_ADDRESS_MODE::WRAP => d::AddressMode::Wrap,
                D3D12_TEXTURE_ADDRESS_MODE::MIRROR => d::AddressMode::Mirror,
                D3D12_TEXTURE_ADDRESS_MODE::CLAMP => d::AddressMode::Clamp,
                D3D12_TEXTURE_ADDRESS_MODE::BORDER => d::AddressMode::Border,
                D3D12_TEXTURE_ADDRESS_MODE::MIRROR_ONCE => d::AddressMode::MirrorOnce,
            }),
            comparison: compares.then_some(match self.comparison {
                D3D12_COMPARISON_FUNC::NEVER => d::Comparison::Never,
                D3D12_COMPARISON_FUNC::LESS => d::Comparison::Less,
                D3D12_COMPARISON_FUNC::EQUAL => d::Comparison::Equal,
                D3D12_COMPARISON_FUNC::LESS_EQUAL => d::Comparison::LessEqual,
                D3D12_COMPARISON_FUNC::GREATER => d::Comparison::Greater,
                D3D12_COMPARISON_FUNC::NOT_EQUAL => d::Comparison::NotEqual,
                D3D12_COMPARISON_FUNC::GREATER_EQUAL => d::Comparison::GreaterEqual,
                D3D12_COMPARISON_FUNC::ALWAYS => d::Comparison::Always,
            }),
            max_anisotropy: self.max_anisotropy.clamp(1, 16),
            lod_bias: self.mip_lod_bias,
            min_lod: self.min_lod,
            max_lod: self.max_lod,
            border: self.border_color.map(f32::to_bits),
        }
    }
}

impl View {
    /// What a person calls it.
    pub fn describe(&self) -> String {
        match self {
            Self::Null => "null".into(),
            Self::Raw(_) => "raw buffer".into(),
            Self::Structured { stride, counter: Some(_), .. } => {
                format!("structured buffer of stride {stride} with a counter")
            }
            Self::Structured { stride, .. } => format!("structured buffer of stride {stride}"),
            Self::Typed { format, .. } => format!("typed buffer of {}", format.name()),
            Self::Constant(_) => "constant buffer".into(),
            Self::Texture(t) => {
                format!("{} texture of {}", dim_name(t.image.dim), t.image.format.name())
            }
            Self::Sampler(_) => "sampler".into(),
        }
    }

    /// The descriptor.
    pub(crate) fn descriptor(&self) -> Descriptor {
        let buffer = |range: &GpuRange, stride| {
            Descriptor::Buffer(d::Buffer { address: range.start, bytes: range.len, stride })
        };
        match self {
            Self::Null => Descriptor::Null,
            Self::Raw(range) | Self::Constant(range) => buffer(range, 0),
            Self::Structured { range, stride, .. } => buffer(range, *stride),
            Self::Typed { range, format } => Descriptor::TypedBuffer(d::TypedBuffer {
                address: range.start,
                bytes: range.len,
                format: *format,
            }),
            Self::Texture(t) => Descriptor::Image(t.image),
            Self::Sampler(s) => Descriptor::Sampler(s.descriptor()),
        }
    }

    /// The descriptor of the counter, if it has one.
    pub(crate) fn counter(&self) -> Option<Descriptor> {
        match self {
            Self::Null => Some(Descriptor::Null),
            Self::Structured { counter, .. } => counter.map(|at| {
                Descriptor::Buffer(d::Buffer { address: at.start, bytes: at.len, stride: 4 })
            }),
            Self::Raw(_)
            | Self::Typed { .. }
            | Self::Constant(_)
            | Self::Texture(_)
            | Self::Sampler(_) => None,
        }
    }

    /// What is wrong with binding this to a resource of `kind`, if anything.
    pub(crate) fn mismatch(&self, kind: &ResourceKind) -> Option<String> {
        let wanted = describe_kind(kind);
        let plain = || Some(format!("the shader declares a {wanted}"));
        match (kind, self) {
            (_, Self::Null) | (ResourceKind::Extension(_) | ResourceKind::Counter, _) => None,
            (ResourceKind::ConstantBuffer, Self::Constant(_))
            | (ResourceKind::StructuredBuffer { .. }, Self::Raw(_))
            | (ResourceKind::ByteAddressBuffer, Self::Raw(_) | Self::Structured { .. })
            | (ResourceKind::Sampler, Self::Sampler(_)) => None,
            (ResourceKind::StructuredBuffer { stride }, Self::Structured { stride: bound, .. }) => {
                (stride != bound).then(|| format!("the shader declares a stride of {stride}"))
            }
            (ResourceKind::TypedBuffer { sampled, .. }, Self::Typed { format, .. }) => {
                wrong_type(*sampled, *format)
            }
            (ResourceKind::Image { dim, arrayed, sampled, .. }, Self::Texture(t)) => {
                if *dim != t.image.dim {
                    return plain();
                }
                let one = if *dim == ImageDim::Cube { 6 } else { 1 };
                if !arrayed && t.image.view_layers != one {
                    return Some(format!(
                        "the shader declares no array; the view has {} layers",
                        t.image.view_layers
                    ));
                }
                wrong_type(*sampled, t.image.format)
            }
            (
                ResourceKind::ConstantBuffer
                | ResourceKind::StructuredBuffer { .. }
                | ResourceKind::ByteAddressBuffer
                | ResourceKind::TypedBuffer { .. }
                | ResourceKind::Image { .. }
                | ResourceKind::Sampler,
                _,
            ) => plain(),
        }
    }
}

/// The formats that a shader's component type reads.
fn wrong_type(sampled: SampledType, format: TexelFormat) -> Option<String> {
    let is = match format.kind() {
        ComponentKind::Unorm
        | ComponentKind::Snorm
        | ComponentKind::Float
        | ComponentKind::Srgb => SampledType::Float,
        ComponentKind::Uint => SampledType::Uint,
        ComponentKind::Sint => SampledType::Sint,
    };
    (is != sampled).then(|| {
        format!(
            "the shader reads {} components",
            match sampled {
                SampledType::Float => "float",
                SampledType::Sint => "signed integer",
                SampledType::Uint => "unsigned integer",
            }
        )
    })
}

fn dim_name(dim: ImageDim) -> &'static str {
    match dim {
        ImageDim::D1 => "1D",
        ImageDim::D2 => "2D",
        ImageDim::D3 => "3D",
        ImageDim::Cube => "cube",
    }
}

/// What a shader's resource is called.
pub(crate) fn describe_kind(kind: &ResourceKind) -> String {
    match kind {
        ResourceKind::ConstantBuffer => "constant buffer".into(),
        ResourceKind::StructuredBuffer { stride } => {
            format!("structured buffer of stride {stride}")
        }
        ResourceKind::ByteAddressBuffer => "byte-address buffer".into(),
        ResourceKind::TypedBuffer { .. } => "typed buffer".into(),
        ResourceKind::Image { dim, arrayed, .. } => {
            format!("{} texture{}", dim_name(*dim), if *arrayed { " array" } else { "" })
        }
        ResourceKind::Counter => "counter".into(),
        ResourceKind::Sampler => "sampler".into(),
        ResourceKind::Extension(_) => "reserved resource".into(),
    }
}
