//! `DescriptorSets:` and `Samplers:` what a shader sees at which register.

use crate::node::Node;
use crate::problem::{Problem, Span};
use crate::reader::{At, Reader};

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
    Texture2D,
    RWTexture2D,
    Sampler,
}

impl ResourceKind {
    const WORDS: [(&'static str, Self); 10] = [
        ("Buffer", Self::Buffer),
        ("RWBuffer", Self::RWBuffer),
        ("StructuredBuffer", Self::StructuredBuffer),
        ("RWStructuredBuffer", Self::RWStructuredBuffer),
        ("ByteAddressBuffer", Self::ByteAddressBuffer),
        ("RWByteAddressBuffer", Self::RWByteAddressBuffer),
        ("ConstantBuffer", Self::ConstantBuffer),
        ("Texture2D", Self::Texture2D),
        ("RWTexture2D", Self::RWTexture2D),
        ("Sampler", Self::Sampler),
    ];

    /// The letter of its register class.
    pub const fn class(self) -> char {
        match self {
            Self::Buffer | Self::StructuredBuffer | Self::ByteAddressBuffer => 't',
            Self::Texture2D => 't',
            Self::RWBuffer | Self::RWStructuredBuffer | Self::RWByteAddressBuffer => 'u',
            Self::RWTexture2D => 'u',
            Self::ConstantBuffer => 'b',
            Self::Sampler => 's',
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
    /// HLSL register number.
    pub register: u32,
    /// HLSL register space.
    pub space: u32,
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
    // Read and checked, though the registers alone decide.
    let vulkan = m.opt("VulkanBinding", |r, n| {
        let mut m = r.map(n, "VulkanBinding")?;
        let binding = m.req("Binding", |r, n| r.int::<u32>(n));
        let counter = m.opt("CounterBinding", |r, n| r.int::<u32>(n));
        m.finish()?;
        counter?;
        binding
    });
    let counter = m.opt("HasCounter", |r, n| r.bool(n).map(|v| At::new(n.at, v)));
    m.refuse("TilesMapped", "there are no reserved resources");
    m.refuse("IsReserved", "there are no reserved resources");
    m.refuse("HeapIndex", "there is no resource heap");
    m.finish()?;
    vulkan?;
    if let Some(counter) = counter?
        && counter.value
    {
        r.note(Problem::at(counter.at, "buffer counters are not supported").unsupported());
        return None;
    }
    let Some((register, space)) = binding? else {
        let problem =
            Problem::at(Span::new(node.at.start, 1), "the resource has no DirectXBinding");
        r.note(problem.help("DirectXBinding: {Register: n, Space: n}"));
        return None;
    };
    Some(ResourceDecl { name: name?, kind: kind?, register, space })
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
}

/// Reads one entry of `Samplers:`.
pub fn sampler(r: &Reader, node: &Node) -> Option<SamplerDecl> {
    const FILTERS: [(&str, Filter); 2] = [("Nearest", Filter::Nearest), ("Linear", Filter::Linear)];
    const MODES: [(&str, AddressMode); 5] = [
        ("Clamp", AddressMode::Clamp),
        ("Repeat", AddressMode::Repeat),
        ("Mirror", AddressMode::Mirror),
        ("Border", AddressMode::Border),
        ("MirrorOnce", AddressMode::MirrorOnce),
    ];
    let mut m = r.map(node, "a sampler")?;
    let name = m.req("Name", |r, n| r.text(n));
    let kind = m.opt("Kind", |r, n| r.text(n));
    let min = m.opt("MinFilter", |r, n| r.word(n, &FILTERS));
    let mag = m.opt("MagFilter", |r, n| r.word(n, &FILTERS));
    let address = m.opt("Address", |r, n| r.word(n, &MODES));
    m.refuse("MinLOD", "images have one level");
    m.refuse("MaxLOD", "images have one level");
    m.refuse("MipLODBias", "images have one level");
    m.refuse("ComparisonOp", "comparison samplers are missing");
    m.finish()?;
    if let Some(kind) = kind?
        && kind.value != "Sampler"
    {
        let message = format!("sampler kind `{}` is not supported", kind.value);
        r.note(Problem::at(kind.at, message).unsupported());
        return None;
    }
    Some(SamplerDecl {
        name: name?,
        min: min?.map_or(Filter::Linear, |w| w.value),
        mag: mag?.map_or(Filter::Linear, |w| w.value),
        address: address?.map_or(AddressMode::Clamp, |w| w.value),
    })
}
