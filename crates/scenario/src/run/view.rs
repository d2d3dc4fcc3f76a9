//! Buffers, textures and samplers as the scenario declares them, the views that
//! shaders get of them, and their contents without padding.

use super::resources::{Item, Numbers};
use super::{Context, RunError};
use crate::format::binding::{
    AddressMode, CompareFunction, Filter, ResourceDecl, ResourceKind, SamplerDecl, Shape,
};
use crate::format::buffer::{BufferDecl, DataFormat};
use crate::problem::{Problem, Span};
use wavefence_base::TexelFormat;
use wavefence_d3d::enums::{D3D12_COMPARISON_FUNC, D3D12_FILTER, D3D12_TEXTURE_ADDRESS_MODE};
use wavefence_d3d::{Buffer, Device, SamplerDesc, Texture, TextureDesc, View};
use wavefence_shader::ir::SampledType;

/// What a view takes beside its item.
pub(super) struct Seen<'a> {
    /// The counter.
    pub counter: Option<&'a Buffer>,
    /// What the shader's components are, where that decides.
    pub sampled: Option<SampledType>,
}

impl Seen<'_> {
    /// The format of numbers that the shader sees.
    fn format(&self, format: DataFormat) -> DataFormat {
        use DataFormat as F;
        match (format, self.sampled) {
            (F::Int16, Some(SampledType::Uint)) => F::UInt16,
            (F::Int32, Some(SampledType::Uint)) => F::UInt32,
            (F::Int64, Some(SampledType::Uint)) => F::UInt64,
            (F::UInt16 | F::Hex16, Some(SampledType::Sint)) => F::Int16,
            (F::UInt32 | F::Hex32 | F::Bool, Some(SampledType::Sint)) => F::Int32,
            (F::UInt64 | F::Hex64, Some(SampledType::Sint)) => F::Int64,
            (F::Hex16, Some(SampledType::Float)) => F::Float16,
            (F::Hex32, Some(SampledType::Float)) => F::Float32,
            _ => format,
        }
    }

    /// The texel format that the shader sees, of an image's own.
    fn texel(&self, own: TexelFormat) -> TexelFormat {
        let wanted = match self.sampled {
            Some(SampledType::Uint) => ("SINT", "UINT"),
            Some(SampledType::Sint) => ("UINT", "SINT"),
            Some(SampledType::Float) | None => return own,
        };
        let name = own.name().replace(wanted.0, wanted.1);
        TexelFormat::parse(&name).unwrap_or(own)
    }
}

/// A view of an item as a declaration asks for it.
pub(super) fn of(
    cx: &Context<'_>,
    decl: &ResourceDecl,
    item: &Item,
    seen: &Seen<'_>,
) -> Result<View, RunError> {
    use ResourceKind as K;
    let at = decl.name.at;
    let wrong = |what: &str| {
        let message =
            format!("`{}` is {what}; it cannot be a {}", decl.name.value, decl.kind.name());
        Err(cx.error(Problem::at(at, message)))
    };
    match (item, decl.kind) {
        (Item::Sampler(sampler), K::Sampler) => Ok(View::Sampler(*sampler)),
        (Item::Texture(texture), K::Texture(shape) | K::RWTexture(shape)) => {
            let view = match seen.texel(texture.format()) {
                same if same == texture.format() => texture.view(),
                other => texture.view_as(other).map_err(|l| cx.limit(at, &l))?,
            };
            Ok(shaped(view, shape))
        }
        (Item::Buffer(b, numbers), K::StructuredBuffer | K::RWStructuredBuffer) => {
            if let Some(counter) = seen.counter {
                let stride = numbers.map_or(0, |n| n.element);
                return b.counted_view(stride, counter, 0).map_err(|e| cx.api(at, e));
            }
            Ok(numbers.map_or_else(|| b.raw_view(), |n| b.structured_view(n.element)))
        }
        (Item::Buffer(b, _), K::ByteAddressBuffer | K::RWByteAddressBuffer) => Ok(b.raw_view()),
        (Item::Buffer(b, _), K::ConstantBuffer) => Ok(b.constant_view()),
        (Item::Buffer(b, numbers), K::Buffer | K::RWBuffer) => {
            let Some(n) = numbers else {
                return wrong("memory without a format");
            };
            typed(cx, at, seen.format(n.format), n.channels).map(|format| b.typed_view(format))
        }
        (Item::Buffer(..), K::Texture(_) | K::RWTexture(_)) => {
            wrong("a buffer without OutputProps")
        }
        (Item::Buffer(..) | Item::Texture(_) | Item::Array(_), K::Sampler) => wrong("no sampler"),
        (
            Item::Texture(_),
            K::StructuredBuffer
            | K::RWStructuredBuffer
            | K::ByteAddressBuffer
            | K::RWByteAddressBuffer
            | K::ConstantBuffer
            | K::Buffer
            | K::RWBuffer,
        ) => wrong("an image"),
        (
            Item::Sampler(_),
            K::StructuredBuffer
            | K::RWStructuredBuffer
            | K::ByteAddressBuffer
            | K::RWByteAddressBuffer
            | K::ConstantBuffer
            | K::Buffer
            | K::RWBuffer
            | K::Texture(_)
            | K::RWTexture(_),
        ) => wrong("a sampler"),
        (Item::Array(_), _) => wrong("an array"),
    }
}

/// All levels and layers, seen in a shape. What does not fit is told by the call
/// that binds it.
fn shaped(view: View, shape: Shape) -> View {
    match view {
        View::Texture(view) => View::Texture(view.dimension(shape.dim)),
        other @ (View::Null
        | View::Raw(_)
        | View::Structured { .. }
        | View::Typed { .. }
        | View::Constant(_)
        | View::Sampler(_)) => other,
    }
}

fn typed(
    cx: &Context<'_>,
    at: Span,
    format: DataFormat,
    channels: u32,
) -> Result<TexelFormat, RunError> {
    format.texel(channels).ok_or_else(|| {
        let message = format!("there is no texel format of {channels} x {}", format.name());
        cx.error(Problem::at(at, message).unsupported())
    })
}

/// A buffer, a texture if it has OutputProps, or an array of them.
pub(super) fn buffer(
    cx: &Context<'_>,
    device: &mut Device,
    decl: &BufferDecl,
) -> Result<Item, RunError> {
    if decl.data.is_empty() {
        return Err(cx.error(Problem::at(decl.name.at, "the buffer is empty")));
    }
    if decl.count == 1 {
        return element(cx, device, decl, &decl.name.value, &decl.data);
    }
    let mut items = Vec::new();
    for (i, data) in decl.data.chunks_exact(decl.resource_bytes()).enumerate() {
        let name = format!("{}[{i}]", decl.name.value);
        items.push(element(cx, device, decl, &name, data)?);
    }
    Ok(Item::Array(items))
}

fn element(
    cx: &Context<'_>,
    device: &mut Device,
    decl: &BufferDecl,
    name: &str,
    data: &[u8],
) -> Result<Item, RunError> {
    let at = decl.name.at;
    let api = |e| cx.api(at, e);
    let Some(shape) = &decl.image else {
        let buffer = device.create_buffer_with(name, data).map_err(api)?;
        let numbers =
            Numbers { format: decl.format, channels: decl.channels, element: decl.element_bytes() };
        return Ok(Item::Buffer(buffer, Some(numbers)));
    };
    let desc = TextureDesc {
        dim: shape.dim,
        format: typed(cx, at, decl.format, decl.channels)?,
        width: shape.width,
        height: shape.height,
        depth: shape.depth,
        layers: shape.layers,
        levels: shape.levels,
    };
    let texture = device.create_texture(name, &desc).map_err(api)?;
    upload(device, &texture, data).map_err(api)?;
    Ok(Item::Texture(texture))
}

/// The sampler's description in Direct3D's words. Levels are never mixed: the
/// suite's samplers take the nearest one.
pub(super) fn sampler(decl: &SamplerDecl) -> SamplerDesc {
    use D3D12_COMPARISON_FUNC as C;
    use D3D12_FILTER as F;
    use D3D12_TEXTURE_ADDRESS_MODE as M;
    use Filter::{Linear, Nearest};
    let mode = match decl.address {
        AddressMode::Clamp => M::CLAMP,
        AddressMode::Repeat => M::WRAP,
        AddressMode::Mirror => M::MIRROR,
        AddressMode::Border => M::BORDER,
        AddressMode::MirrorOnce => M::MIRROR_ONCE,
    };
    let filter = match (decl.comparison.is_some(), decl.min, decl.mag) {
        (false, Nearest, Nearest) => F::MIN_MAG_MIP_POINT,
        (false, Nearest, Linear) => F::MIN_POINT_MAG_LINEAR_MIP_POINT,
        (false, Linear, Nearest) => F::MIN_LINEAR_MAG_MIP_POINT,
        (false, Linear, Linear) => F::MIN_MAG_LINEAR_MIP_POINT,
        (true, Nearest, Nearest) => F::COMPARISON_MIN_MAG_MIP_POINT,
        (true, Nearest, Linear) => F::COMPARISON_MIN_POINT_MAG_LINEAR_MIP_POINT,
        (true, Linear, Nearest) => F::COMPARISON_MIN_LINEAR_MAG_MIP_POINT,
        (true, Linear, Linear) => F::COMPARISON_MIN_MAG_LINEAR_MIP_POINT,
    };
    let comparison = match decl.comparison {
        None | Some(CompareFunction::Never) => C::NEVER,
        Some(CompareFunction::Less) => C::LESS,
        Some(CompareFunction::Equal) => C::EQUAL,
        Some(CompareFunction::LessEqual) => C::LESS_EQUAL,
        Some(CompareFunction::Greater) => C::GREATER,
        Some(CompareFunction::NotEqual) => C::NOT_EQUAL,
        Some(CompareFunction::GreaterEqual) => C::GREATER_EQUAL,
        Some(CompareFunction::Always) => C::ALWAYS,
    };
    SamplerDesc {
        filter,
        address: [mode; 3],
        comparison,
        mip_lod_bias: decl.lod_bias,
        min_lod: decl.min_lod,
        max_lod: decl.max_lod,
        ..SamplerDesc::default()
    }
}

/// The rows of a texture in the order of its contents, layer by layer and in a
/// layer level by level: offset and bytes of each.
fn rows(texture: &Texture) -> impl Iterator<Item = (u64, u64)> + '_ {
    let texel = u64::from(texture.format().bytes());
    let all = (0..texture.layers()).flat_map(|y| (0..texture.levels()).map(move |l| (l, y)));
    all.filter_map(|(level, layer)| texture.level(level, layer)).flat_map(move |(base, level)| {
        let [width, height, depth] = level.size;
        (0..depth).flat_map(move |z| {
            (0..height).map(move |y| {
                let (z, y) = (u64::from(z), u64::from(y));
                let offset = base + z * level.slice_pitch + y * level.row_pitch;
                (offset, u64::from(width) * texel)
            })
        })
    })
}

/// Writes tight rows into a texture.
pub(super) fn upload(
    device: &mut Device,
    texture: &Texture,
    bytes: &[u8],
) -> Result<(), wavefence_d3d::Error> {
    let mut rest = bytes;
    for (offset, row) in rows(texture) {
        let (line, behind) = rest.split_at(rest.len().min(row as usize));
        device.write(texture.address().offset(offset), line)?;
        rest = behind;
    }
    Ok(())
}

/// The tight rows of a texture, or the bytes of a buffer; those of an array's
/// elements one after the other.
pub(super) fn contents(device: &Device, item: &Item) -> Result<Vec<u8>, wavefence_d3d::Error> {
    match item {
        Item::Buffer(buffer, _) => device.peek(buffer.address(), buffer.bytes()),
        Item::Texture(texture) => {
            let mut all = device.peek(texture.address(), texture.range().len)?;
            let mut end = 0;
            // Rows move together, in place: none starts before where it goes.
            for (offset, row) in rows(texture) {
                let (offset, row) = (offset as usize, row as usize);
                all.copy_within(offset..offset + row, end);
                end += row;
            }
            all.truncate(end);
            Ok(all)
        }
        Item::Array(items) => {
            let mut all = Vec::new();
            for item in items {
                all.extend(contents(device, item)?);
            }
            Ok(all)
        }
        Item::Sampler(_) => Ok(Vec::new()),
    }
}
