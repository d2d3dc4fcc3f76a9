//! Allocations, buffers, textures, samplers, fences and queues of a scenario.

use super::{Context, RunError, image};
use crate::expr::Expr;
use crate::format::binding::{
    AddressMode, DescriptorSetDecl, Filter, ResourceDecl, ResourceKind, SamplerDecl,
};
use crate::format::buffer::{BufferDecl, DataFormat};
use crate::format::image::ImageSize;
use crate::format::submit::{MemoryDecl, MemoryKind, QueueType};
use crate::problem::{Problem, Span};
use crate::reader::At;
use std::collections::BTreeMap;
use wavefence_base::{GpuAddress, TexelFormat};
use wavefence_d3d::enums::{D3D12_FILTER, D3D12_TEXTURE_ADDRESS_MODE, D3D12XBOX_FLUSH_RANGE_ALL};
use wavefence_d3d::{
    AllocationDesc, Bindings, Buffer, Device, Fence, GpuAccess, MemoryType, Pipeline, Queue,
    QueueKind, Resource, SamplerDesc, Texture, TextureDesc, View,
};

/// A named resource.
pub(super) enum Item {
    /// A buffer, with the format of its numbers if it has one.
    Buffer(Buffer, Option<Numbers>),
    /// A texture.
    Texture(Texture),
    /// A sampler.
    Sampler(SamplerDesc),
}

/// How a buffer's bytes are read.
#[derive(Clone, Copy)]
pub(super) struct Numbers {
    format: DataFormat,
    channels: u32,
    element: u32,
}

/// Everything that was made.
pub(super) struct World {
    pub items: BTreeMap<String, Item>,
    pub queues: BTreeMap<String, Queue>,
    pub fences: BTreeMap<String, Fence>,
    pub pipelines: Vec<Pipeline>,
    /// Bindings of each descriptor set, in the order of the file.
    pub sets: Vec<Bindings>,
}

impl World {
    pub(super) fn build(cx: &Context<'_>, device: &mut Device) -> Result<Self, RunError> {
        let mut world = Self {
            items: BTreeMap::new(),
            queues: BTreeMap::new(),
            fences: BTreeMap::new(),
            pipelines: Vec::new(),
            sets: Vec::new(),
        };
        for (name, _) in &cx.options.images {
            if !cx.scenario.images.iter().any(|i| i.name.value == *name) {
                let names: Vec<&str> =
                    cx.scenario.images.iter().map(|i| i.name.value.as_str()).collect();
                let message = format!("no image is called `{name}`");
                let help = format!("images here: {}", names.join(", "));
                return Err(cx.error(Problem::whole(message).help(help)));
            }
        }
        // Images first: sizes of memory may depend on theirs.
        world.images(cx, device)?;
        for decl in &cx.scenario.memory {
            let buffer = world.memory(cx, device, decl)?;
            world.items.insert(decl.name.value.clone(), Item::Buffer(buffer, None));
        }
        for decl in &cx.scenario.buffers {
            let item = buffer(cx, device, decl)?;
            world.items.insert(decl.name.value.clone(), item);
        }
        for decl in &cx.scenario.samplers {
            world.items.insert(decl.name.value.clone(), Item::Sampler(sampler(cx, decl)?));
        }
        for decl in &cx.scenario.fences {
            let fence = device
                .create_fence(&decl.name.value, decl.initial)
                .map_err(|e| cx.api(decl.name.at, e))?;
            world.fences.insert(decl.name.value.clone(), fence);
        }
        for decl in &cx.scenario.queues {
            let kind = match decl.kind {
                QueueType::Graphics => QueueKind::Graphics,
                QueueType::Compute => QueueKind::Compute { pipe: decl.pipe, queue: decl.queue },
                QueueType::Dma => QueueKind::Dma { engine: decl.pipe },
            };
            let queue =
                device.open_queue(kind, &decl.name.value).map_err(|e| cx.api(decl.name.at, e))?;
            world.queues.insert(decl.name.value.clone(), queue);
        }
        for set in &cx.scenario.sets {
            let bindings = world.bindings(cx, set)?;
            world.sets.push(bindings);
        }
        Ok(world)
    }

    fn images(&mut self, cx: &Context<'_>, device: &mut Device) -> Result<(), RunError> {
        for decl in &cx.scenario.images {
            let name = &decl.name.value;
            let pixels = match &decl.size {
                ImageSize::File => Some(image::read(cx, decl)?),
                ImageSize::Given(..) => None,
            };
            let (width, height) = match (&decl.size, &pixels) {
                (ImageSize::Given(width, height), _) => {
                    (self.number::<u32>(cx, width)?, self.number::<u32>(cx, height)?)
                }
                (ImageSize::File, Some(pixels)) => (pixels.width, pixels.height),
                (ImageSize::File, None) => (0, 0),
            };
            let desc = TextureDesc::d2(decl.format, width, height);
            let texture =
                device.create_texture(name, &desc).map_err(|e| cx.api(decl.name.at, e))?;
            if let Some(pixels) = pixels {
                upload(device, &texture, &pixels.bytes).map_err(|e| cx.api(decl.name.at, e))?;
            }
            self.items.insert(name.clone(), Item::Texture(texture));
        }
        Ok(())
    }

    fn memory(
        &self,
        cx: &Context<'_>,
        device: &mut Device,
        decl: &MemoryDecl,
    ) -> Result<Buffer, RunError> {
        let bytes = self.number::<u64>(cx, &decl.size)?;
        let mut desc = AllocationDesc::new(&decl.name.value, bytes);
        desc.volatile = decl.volatile;
        if decl.read_only {
            desc.gpu_access = GpuAccess::ReadOnly;
        }
        match decl.kind {
            MemoryKind::WriteCombined => {}
            MemoryKind::CpuCached => desc.memory = MemoryType::CpuCached,
            MemoryKind::Uncached => desc.uncached = true,
            MemoryKind::Esram => desc.esram = true,
        }
        let at = decl.name.at;
        let allocation = device.allocate(desc).map_err(|e| cx.api(at, e))?;
        allocation.buffer(&decl.name.value, 0, bytes).map_err(|l| cx.limit(at, &l))
    }

    /// The value of an expression, in the range of `T`.
    pub(super) fn number<T: TryFrom<i128>>(
        &self,
        cx: &Context<'_>,
        expr: &Expr,
    ) -> Result<T, RunError> {
        let value = expr.eval(&|name| self.lookup(name)).map_err(|p| cx.error(p))?;
        T::try_from(value).map_err(|_| {
            let message = format!("{value} does not fit {}", std::any::type_name::<T>());
            cx.error(Problem::at(expr.at, message))
        })
    }

    fn lookup(&self, name: &str) -> Result<i128, String> {
        if name == "D3D12XBOX_FLUSH_RANGE_ALL" || name == "FLUSH_RANGE_ALL" {
            return Ok(i128::from(D3D12XBOX_FLUSH_RANGE_ALL));
        }
        if let Some(item) = self.items.get(name) {
            return match item {
                Item::Buffer(buffer, _) => Ok(i128::from(buffer.address().0)),
                Item::Texture(texture) => Ok(i128::from(texture.address().0)),
                Item::Sampler(_) => Err(format!("`{name}` is a sampler; it has no address")),
            };
        }
        if let Some(fence) = self.fences.get(name) {
            return Ok(i128::from(fence.address().0));
        }
        let Some((owner, field)) = name.rsplit_once('.') else {
            let names: Vec<&str> = self.items.keys().map(String::as_str).collect();
            let near = crate::reader::nearest(name, &names);
            let near = near.map_or(String::new(), |n| format!("; did you mean `{n}`?"));
            return Err(format!("nothing is called `{name}`{near}"));
        };
        match (self.items.get(owner), field) {
            (None, _) => Err(format!("nothing is called `{owner}`")),
            (Some(Item::Buffer(b, _)), "Size") => Ok(i128::from(b.bytes())),
            (Some(Item::Texture(t)), "Size") => Ok(i128::from(t.range().len)),
            (Some(Item::Texture(t)), "Width") => Ok(i128::from(t.extent()[0])),
            (Some(Item::Texture(t)), "Height") => Ok(i128::from(t.extent()[1])),
            (Some(Item::Texture(t)), "Pitch") => Ok(i128::from(t.row_pitch())),
            (Some(Item::Buffer(..)), _) => Err(format!("a buffer has a Size, but no `{field}`")),
            (Some(Item::Texture(_)), _) => {
                Err(format!("an image has Width, Height, Pitch and Size, but no `{field}`"))
            }
            (Some(Item::Sampler(_)), _) => Err("a sampler has no numbers".into()),
        }
    }

    /// A buffer by name, for calls that take no texture.
    pub(super) fn buffer(&self, cx: &Context<'_>, name: &At<String>) -> Result<&Buffer, RunError> {
        match self.items.get(&name.value) {
            Some(Item::Buffer(buffer, _)) => Ok(buffer),
            Some(Item::Texture(_) | Item::Sampler(_)) | None => {
                let message = format!("`{}` is no buffer", name.value);
                Err(cx.error(Problem::at(name.at, message)))
            }
        }
    }

    /// A texture by name.
    pub(super) fn texture(
        &self,
        cx: &Context<'_>,
        name: &At<String>,
    ) -> Result<&Texture, RunError> {
        match self.items.get(&name.value) {
            Some(Item::Texture(texture)) => Ok(texture),
            Some(Item::Buffer(..) | Item::Sampler(_)) | None => {
                let message = format!("`{}` is no image", name.value);
                Err(cx.error(Problem::at(name.at, message)))
            }
        }
    }

    /// A buffer or texture by name.
    pub(super) fn resource(
        &self,
        cx: &Context<'_>,
        name: &At<String>,
    ) -> Result<Resource<'_>, RunError> {
        match self.items.get(&name.value) {
            Some(Item::Buffer(buffer, _)) => Ok(buffer.into()),
            Some(Item::Texture(texture)) => Ok(texture.into()),
            Some(Item::Sampler(_)) | None => {
                let message = format!("`{}` is no buffer or image", name.value);
                Err(cx.error(Problem::at(name.at, message)))
            }
        }
    }

    fn bindings(&self, cx: &Context<'_>, set: &DescriptorSetDecl) -> Result<Bindings, RunError> {
        let mut bindings = Bindings::new();
        for decl in &set.resources {
            let view = self.view(cx, decl)?;
            let (register, space) = (decl.register, decl.space);
            match decl.kind.class() {
                't' => bindings.srv(register, space, view),
                'u' => bindings.uav(register, space, view),
                'b' => bindings.cbv(register, space, view),
                _ => bindings.sampler(register, space, view),
            };
        }
        Ok(bindings)
    }

    fn view(&self, cx: &Context<'_>, decl: &ResourceDecl) -> Result<View, RunError> {
        use ResourceKind as K;
        let at = decl.name.at;
        let wrong = |what: &str| {
            let message =
                format!("`{}` is {what}; it cannot be a {:?}", decl.name.value, decl.kind);
            Err(cx.error(Problem::at(at, message)))
        };
        match (self.items.get(&decl.name.value), decl.kind) {
            (Some(Item::Sampler(sampler)), K::Sampler) => Ok(View::Sampler(*sampler)),
            (Some(Item::Texture(texture)), K::Texture2D | K::RWTexture2D) => Ok(texture.view()),
            (Some(Item::Buffer(b, numbers)), K::StructuredBuffer | K::RWStructuredBuffer) => {
                Ok(numbers.map_or_else(|| b.raw_view(), |n| b.structured_view(n.element)))
            }
            (Some(Item::Buffer(b, _)), K::ByteAddressBuffer | K::RWByteAddressBuffer) => {
                Ok(b.raw_view())
            }
            (Some(Item::Buffer(b, _)), K::ConstantBuffer) => Ok(b.constant_view()),
            (Some(Item::Buffer(b, numbers)), K::Buffer | K::RWBuffer) => {
                let Some(n) = numbers else {
                    return wrong("memory without a format");
                };
                typed(cx, at, n.format, n.channels).map(|format| b.typed_view(format))
            }
            (Some(Item::Buffer(..)), K::Texture2D | K::RWTexture2D) => {
                wrong("a buffer without OutputProps")
            }
            (Some(Item::Buffer(..) | Item::Texture(_)), K::Sampler) => wrong("no sampler"),
            (
                Some(Item::Texture(_)),
                K::StructuredBuffer
                | K::RWStructuredBuffer
                | K::ByteAddressBuffer
                | K::RWByteAddressBuffer
                | K::ConstantBuffer
                | K::Buffer
                | K::RWBuffer,
            ) => wrong("an image"),
            (
                Some(Item::Sampler(_)),
                K::StructuredBuffer
                | K::RWStructuredBuffer
                | K::ByteAddressBuffer
                | K::RWByteAddressBuffer
                | K::ConstantBuffer
                | K::Buffer
                | K::RWBuffer
                | K::Texture2D
                | K::RWTexture2D,
            ) => wrong("a sampler"),
            (None, _) => wrong("not there"),
        }
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

/// A buffer; a texture if it has OutputProps.
fn buffer(cx: &Context<'_>, device: &mut Device, decl: &BufferDecl) -> Result<Item, RunError> {
    let (name, at) = (&decl.name.value, decl.name.at);
    let api = |e| cx.api(at, e);
    if let Some([width, height, depth]) = decl.image {
        if depth != 1 {
            let problem = Problem::at(at, "3D images are not supported").unsupported();
            return Err(cx.error(problem));
        }
        let format = typed(cx, at, decl.format, decl.channels)?;
        let texture =
            device.create_texture(name, &TextureDesc::d2(format, width, height)).map_err(api)?;
        upload(device, &texture, &decl.data).map_err(api)?;
        return Ok(Item::Texture(texture));
    }
    if decl.data.is_empty() {
        return Err(cx.error(Problem::at(at, "the buffer is empty")));
    }
    let buffer = device.create_buffer_with(name, &decl.data).map_err(api)?;
    let numbers =
        Numbers { format: decl.format, channels: decl.channels, element: decl.element_bytes() };
    Ok(Item::Buffer(buffer, Some(numbers)))
}

fn sampler(cx: &Context<'_>, decl: &SamplerDecl) -> Result<SamplerDesc, RunError> {
    use D3D12_TEXTURE_ADDRESS_MODE as M;
    if decl.min != decl.mag {
        let problem = Problem::at(decl.name.at, "MinFilter and MagFilter must be the same");
        return Err(cx.error(problem.unsupported()));
    }
    let mode = match decl.address {
        AddressMode::Clamp => M::CLAMP,
        AddressMode::Repeat => M::WRAP,
        AddressMode::Mirror => M::MIRROR,
        AddressMode::Border => M::BORDER,
        AddressMode::MirrorOnce => M::MIRROR_ONCE,
    };
    Ok(SamplerDesc {
        filter: match decl.min {
            Filter::Nearest => D3D12_FILTER::MIN_MAG_MIP_POINT,
            Filter::Linear => D3D12_FILTER::MIN_MAG_MIP_LINEAR,
        },
        address: [mode; 3],
        ..SamplerDesc::default()
    })
}

/// Bytes of one row without padding.
pub(super) fn row_bytes(texture: &Texture) -> usize {
    texture.extent()[0] as usize * texture.format().bytes() as usize
}

/// Writes tight rows into a texture.
fn upload(
    device: &mut Device,
    texture: &Texture,
    bytes: &[u8],
) -> Result<(), wavefence_d3d::Error> {
    let row = row_bytes(texture);
    if row as u64 == texture.row_pitch() {
        return device.write(texture.address(), bytes);
    }
    for (y, line) in bytes.chunks_exact(row.max(1)).enumerate() {
        device.write(texture.address().offset(y as u64 * texture.row_pitch()), line)?;
    }
    Ok(())
}

/// The tight rows of a texture, or the bytes of a buffer.
pub(super) fn contents(device: &Device, item: &Item) -> Result<Vec<u8>, wavefence_d3d::Error> {
    match item {
        Item::Buffer(buffer, _) => device.read(buffer.address(), buffer.bytes()),
        Item::Texture(texture) => {
            let (row, rows) = (row_bytes(texture), texture.extent()[1] as usize);
            let mut all = device.read(texture.address(), texture.range().len)?;
            let pitch = texture.row_pitch() as usize;
            // Rows move together, in place; what lies behind the last one goes.
            if pitch != row {
                for y in 1..rows {
                    all.copy_within(y * pitch..y * pitch + row, y * row);
                }
            }
            all.truncate(rows * row);
            Ok(all)
        }
        Item::Sampler(_) => Ok(Vec::new()),
    }
}

/// Where a resource lies, for messages about addresses.
pub(super) fn place(world: &World, address: GpuAddress) -> Option<String> {
    world.items.iter().find_map(|(name, item)| {
        let range = match item {
            Item::Buffer(buffer, _) => buffer.range(),
            Item::Texture(texture) => texture.range(),
            Item::Sampler(_) => return None,
        };
        range.contains(address, 1).then(|| format!("{name}+{:#x}", address.0 - range.start.0))
    })
}
