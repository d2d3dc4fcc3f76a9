//! `DescriptorSets:` and `Samplers:` what a shader sees at which register.

use crate::node::Node;
use crate::problem::{Problem, Span};
use crate::reader::{At, Reader};
use wavefence_shader::ir::{ImageDim, ResourceClass};

/// The shape that a shader sees an image in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Number of coordinates.
    pub dim: ImageDim,
    /// True for arrays.
    pub arrayed: bool,
}

/// How a resource is seen by a shader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the HLSL types themselves")]
pub enum ResourceKind {
    Buffer,
    RWBuffer,
    StructuredBuffer,
    RWStructuredBuffer,
    ByteAddressBuffer,
    RWByteAddressBuffer,
    ConstantBuffer,
    /// Every read-only texture.
    Texture(Shape),
    /// Every texture that is written.
    RWTexture(Shape),
    Sampler,
}

const fn shape(dim: ImageDim, arrayed: bool) -> Shape {
    Shape { dim, arrayed }
}

impl ResourceKind {
    const WORDS: [(&'static str, Self); 20] = [
        ("Buffer", Self::Buffer),
        ("RWBuffer", Self::RWBuffer),
        ("StructuredBuffer", Self::StructuredBuffer),
        ("RWStructuredBuffer", Self::RWStructuredBuffer),
        ("ByteAddressBuffer", Self::ByteAddressBuffer),
        ("RWByteAddressBuffer", Self::RWByteAddressBuffer),
        ("ConstantBuffer", Self::ConstantBuffer),
        ("Texture2D", Self::Texture(shape(ImageDim::D2, false))),
        ("RWTexture2D", Self::RWTexture(shape(ImageDim::D2, false))),
        ("Sampler", Self::Sampler),
        ("Texture1D", Self::Texture(shape(ImageDim::D1, false))),
        ("Texture1DArray", Self::Texture(shape(ImageDim::D1, true))),
        ("Texture2DArray", Self::Texture(shape(ImageDim::D2, true))),
        ("Texture3D", Self::Texture(shape(ImageDim::D3, false))),
        ("TextureCube", Self::Texture(shape(ImageDim::Cube, false))),
        ("TextureCubeArray", Self::Texture(shape(ImageDim::Cube, true))),
        ("RWTexture1D", Self::RWTexture(shape(ImageDim::D1, false))),
        ("RWTexture1DArray", Self::RWTexture(shape(ImageDim::D1, true))),
        ("RWTexture2DArray", Self::RWTexture(shape(ImageDim::D2, true))),
        ("RWTexture3D", Self::RWTexture(shape(ImageDim::D3, false))),
    ];

    /// Its word.
    pub fn name(self) -> &'static str {
        Self::WORDS.iter().find(|w| w.1 == self).map_or("", |w| w.0)
    }

    /// Its register class.
    pub const fn class(self) -> ResourceClass {
        match self {
            Self::Buffer | Self::StructuredBuffer | Self::ByteAddressBuffer | Self::Texture(_) => {
                ResourceClass::Srv
            }
            Self::RWBuffer | Self::RWStructuredBuffer | Self::RWByteAddressBuffer => {
                ResourceClass::Uav
            }
            Self::RWTexture(_) => ResourceClass::Uav,
            Self::ConstantBuffer => ResourceClass::Cbv,
            Self::Sampler => ResourceClass::Sampler,
        }
    }
}

/// One resource at one register.
#[derive(Clone, Debug, PartialEq)]
pub struct ResourceDecl {
    /// The buffer, image, memory or sampler.
    pub name: At<String>,
    /// How it is seen.
    pub kind: ResourceKind,
    /// HLSL register and space.
    pub register: Option<(u32, u32)>,
    /// The binding that the source gives for Vulkan; its set is the place of the
    /// descriptor set in the file. It finds resources whose source names no
    /// register.
    pub vulkan: Option<u32>,
    /// The Vulkan binding of the counter.
    pub counter_binding: Option<u32>,
    /// True if the buffer has a counter (append, consume, `IncrementCounter`); it
    /// starts at 0.
    pub counter: bool,
}

/// A set of resources that are bound together.
#[derive(Clone, Debug, PartialEq)]
pub struct DescriptorSetDecl {
    /// Its name; a set without one is bound at the start of every list.
    pub name: Option<At<String>>,
    /// Its resources.
    pub resources: Vec<ResourceDecl>,
}

/// Reads one entry of `DescriptorSets:`.
pub fn descriptor_set(r: &Reader, node: &Node) -> Option<DescriptorSetDecl> {
    let mut m = r.map(node, "a descriptor set")?;
    let name = m.opt("Name", |r, n| r.text(n));
    let resources = m.req("Resources", |r, n| r.each(n, "a list of resources", |n| resource(r, n)));
    m.finish()?;
    Some(DescriptorSetDecl { name: name?, resources: resources? })
}

fn resource(r: &Reader, node: &Node) -> Option<ResourceDecl> {
    let mut m = r.map(node, "a resource")?;
    let name = m.req("Name", |r, n| r.text(n));
    let kind = m.req("Kind", kind);
    let binding = m.opt("DirectXBinding", |r, n| {
        let mut m = r.map(n, "DirectXBinding")?;
        let register = m.req("Register", |r, n| r.int::<u32>(n));
        let space = m.opt("Space", |r, n| r.int::<u32>(n));
        m.finish()?;
        Some((register?, space?.unwrap_or(0)))
    });
    let vulkan = m.opt("VulkanBinding", |r, n| {
        let mut m = r.map(n, "VulkanBinding")?;
        let binding = m.req("Binding", |r, n| r.int::<u32>(n));
        let counter = m.opt("CounterBinding", |r, n| r.int::<u32>(n));
        m.finish()?;
        Some((binding?, counter?))
    });
    let counter = m.opt("HasCounter", |r, n| r.bool(n).map(|v| At::new(n.at, v)));
    m.refuse("TilesMapped", "there are no reserved resources");
    m.refuse("IsReserved", "there are no reserved resources");
    m.refuse("HeapIndex", "there is no resource heap");
    m.finish()?;
    let (binding, vulkan, kind) = (binding?, vulkan?, kind?);
    let counter = counter?.filter(|c| c.value);
    if let Some(counter) = &counter
        && kind != ResourceKind::RWStructuredBuffer
    {
        r.note(Problem::at(counter.at, "only a RWStructuredBuffer has a counter"));
        return None;
    }
    if binding.is_none() && vulkan.is_none() {
        let problem =
            Problem::at(Span::new(node.at.start, 1), "the resource has no DirectXBinding");
        r.note(problem.help("DirectXBinding: {Register: n, Space: n}, or a VulkanBinding"));
        return None;
    }
    Some(ResourceDecl {
        name: name?,
        kind,
        register: binding,
        vulkan: vulkan.map(|v| v.0),
        counter_binding: vulkan.and_then(|v| v.1),
        counter: counter.is_some(),
    })
}

fn kind(r: &Reader, node: &Node) -> Option<ResourceKind> {
    let text = r.text(node)?;
    if let "SampledTexture2D" | "AccelerationStructure" = text.value.as_str() {
        let message = format!("resource kind `{}` is not supported", text.value);
        r.note(Problem::at(text.at, message).unsupported());
        return None;
    }
    r.word(node, &ResourceKind::WORDS).map(|w| w.value)
}

/// How texels are picked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the suite's own words")]
pub enum Filter {
    Nearest,
    Linear,
}

/// What lies beyond the edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the suite's own words")]
pub enum AddressMode {
    Clamp,
    Repeat,
    Mirror,
    Border,
    MirrorOnce,
}

/// The test of a comparison sampler: `reference OP texel`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the suite's own words")]
pub enum CompareFunction {
    Never,
    Less,
    Equal,
    LessEqual,
    Greater,
    NotEqual,
    GreaterEqual,
    Always,
}

/// One sampler.
#[derive(Clone, Debug, PartialEq)]
pub struct SamplerDecl {
    /// Its name.
    pub name: At<String>,
    /// Filter when minified.
    pub min: Filter,
    /// Filter when magnified.
    pub mag: Filter,
    /// Address mode of all axes.
    pub address: AddressMode,
    /// Smallest level.
    pub min_lod: f32,
    /// Largest level.
    pub max_lod: f32,
    /// Added to the level.
    pub lod_bias: f32,
    /// The test of a `SamplerComparison`; `None` for a plain sampler.
    pub comparison: Option<CompareFunction>,
}

/// Reads one entry of `Samplers:`.
pub fn sampler(r: &Reader, node: &Node) -> Option<SamplerDecl> {
    use CompareFunction as C;
    const FILTERS: [(&str, Filter); 2] = [("Nearest", Filter::Nearest), ("Linear", Filter::Linear)];
    const MODES: [(&str, AddressMode); 5] = [
        ("Clamp", AddressMode::Clamp),
        ("Repeat", AddressMode::Repeat),
        ("Mirror", AddressMode::Mirror),
        ("Border", AddressMode::Border),
        ("MirrorOnce", AddressMode::MirrorOnce),
    ];
    const TESTS: [(&str, C); 8] = [
        ("Never", C::Never),
        ("Less", C::Less),
        ("Equal", C::Equal),
        ("LessEqual", C::LessEqual),
        ("Greater", C::Greater),
        ("NotEqual", C::NotEqual),
        ("GreaterEqual", C::GreaterEqual),
        ("Always", C::Always),
    ];
    const KINDS: [(&str, bool); 2] = [("Sampler", false), ("SamplerComparison", true)];
    let mut m = r.map(node, "a sampler")?;
    let name = m.req("Name", |r, n| r.text(n));
    let kind = m.opt("Kind", |r, n| r.word(n, &KINDS));
    let min = m.opt("MinFilter", |r, n| r.word(n, &FILTERS));
    let mag = m.opt("MagFilter", |r, n| r.word(n, &FILTERS));
    let address = m.opt("Address", |r, n| r.word(n, &MODES));
    let min_lod = m.opt("MinLOD", |r, n| r.float(n));
    let max_lod = m.opt("MaxLOD", |r, n| r.float(n));
    let bias = m.opt("MipLODBias", |r, n| r.float(n));
    let test = m.opt("ComparisonOp", |r, n| r.word(n, &TESTS));
    m.finish()?;
    let at = Span::new(node.at.start, 1);
    let compares = kind?.is_some_and(|k| k.value);
    let test = test?.map_or(C::Never, |t| t.value);
    if compares != (test != C::Never) {
        let message = if compares {
            "Sampler kind 'SamplerComparison' requires ComparisonOp other than Never"
        } else {
            "Sampler kind 'Sampler' requires ComparisonOp: Never"
        };
        r.note(Problem::at(at, message));
        return None;
    }
    Some(SamplerDecl {
        name: name?,
        min: min?.map_or(Filter::Linear, |w| w.value),
        mag: mag?.map_or(Filter::Linear, |w| w.value),
        address: address?.map_or(AddressMode::Clamp, |w| w.value),
        min_lod: min_lod?.unwrap_or(0.0) as f32,
        max_lod: max_lod?.map_or(f32::MAX, |v| v as f32),
        lod_bias: bias?.unwrap_or(0.0) as f32,
        comparison: compares.then_some(test),
    })
}
