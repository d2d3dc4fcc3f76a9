//! Resources a kernel names.

use wavefence_base::TexelFormat;

/// Index into [`Kernel::resources`](super::Kernel::resources).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct ResourceId(pub u32);

impl ResourceId {
    /// As an index.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// The register class a resource is bound by.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum ResourceClass {
    /// Shader resource view, `t` registers.
    Srv,
    /// Unordered access view, `u` registers.
    Uav,
    /// Constant buffer view, `b` registers.
    Cbv,
    /// Sampler, `s` registers.
    Sampler,
}

impl ResourceClass {
    /// `t`, `u`, `b` or `s`.
    pub const fn letter(self) -> char {
        match self {
            Self::Srv => 't',
            Self::Uav => 'u',
            Self::Cbv => 'b',
            Self::Sampler => 's',
        }
    }
}

/// Number of coordinates and the shape of an image.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ImageDim {
    /// One dimension.
    D1,
    /// Two dimensions.
    D2,
    /// Three dimensions.
    D3,
    /// Six faces.
    Cube,
}

/// What the components of a typed resource are to the shader.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum SampledType {
    /// Floats (including the normalised formats).
    Float,
    /// Signed integers.
    Sint,
    /// Unsigned integers.
    Uint,
}

/// Accesses that our HLSL prelude encodes as accesses to reserved UAVs.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Extension {
    /// Ordered append counters.
    OrderedAppend,
    /// The global data share.
    Gds,
}

/// What a resource is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ResourceKind {
    /// A constant buffer; read through the scalar cache.
    ConstantBuffer,
    /// Structured (stride in bytes) buffer.
    StructuredBuffer {
        /// Bytes per element.
        stride: u32,
    },
    /// Byte-address buffer.
    ByteAddressBuffer,
    /// Typed buffer: elements go through a format.
    TypedBuffer {
        /// What the shader sees.
        sampled: SampledType,
        /// The format the module states, if it does; else the descriptor's.
        format: Option<TexelFormat>,
    },
    /// An image.
    Image {
        /// Shape.
        dim: ImageDim,
        /// True for arrays.
        arrayed: bool,
        /// What the shader sees.
        sampled: SampledType,
        /// The format the module states, if it does; else the descriptor's.
        format: Option<TexelFormat>,
    },
    /// The hidden counter of an append, consume or counting structured buffer: 4
    /// bytes. Class, register, space and count are those of the buffer it belongs
    /// to, which the list may hold too.
    Counter,
    /// A sampler.
    Sampler,
    /// One of ours; has no descriptor, takes no slot (`count` is 0).
    Extension(Extension),
}

/// One resource variable (an array of `count` resources).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Resource {
    /// Name in the source.
    pub name: String,
    /// Register class.
    pub class: ResourceClass,
    /// Register number of the first element.
    pub register: u32,
    /// Register space.
    pub space: u32,
    /// Number of elements, those of arrays in arrays multiplied; an unbounded
    /// array is given the number the caller of the front end asked for.
    pub count: u32,
    /// The source gives the array no bound: elements may be left unbound.
    pub unbounded: bool,
    /// Binding and set that the source gives for Vulkan: another name for the same
    /// resource, where the register is not known.
    pub vk_binding: Option<(u32, u32)>,
    /// What it is.
    pub kind: ResourceKind,
    /// True if the module promises that it is only read.
    pub read_only: bool,
    /// `globallycoherent` (SPIR-V Coherent).
    pub coherent: bool,
    /// SPIR-V Volatile.
    pub volatile: bool,
}

/// A resource, with the index into its array if it is one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ResourceRef {
    /// Which variable.
    pub resource: ResourceId,
    /// A `B32` register: element of the array. Lanes may differ.
    pub index: Option<super::Reg>,
}
