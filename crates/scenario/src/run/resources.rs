//! Allocations, buffers, textures, samplers, fences and queues of a scenario.

use super::view::{self, Seen, upload};
use super::{Context, RunError, image};
use crate::expr::Expr;
use crate::format::binding::{DescriptorSetDecl, ResourceDecl};
use crate::format::buffer::DataFormat;
use crate::format::image::ImageSize;
use crate::format::submit::{MemoryDecl, MemoryKind, QueueType};
use crate::problem::Problem;
use crate::reader::At;
use std::collections::BTreeMap;
use wavefence_base::GpuAddress;
use wavefence_d3d::enums::D3D12XBOX_FLUSH_RANGE_ALL;
use wavefence_d3d::{
    Allocation, AllocationDesc, Bindings, Buffer, Device, Fence, GpuAccess, MemoryType, Pipeline,
    Queue, QueueKind, Resource, SamplerDesc, Texture, TextureDesc, View,
};
use wavefence_shader::ir::{self, SampledType};
use wavefence_shader::lower::PUSH_CONSTANTS;

/// A named resource.
pub(super) enum Item {
    /// A buffer, with the format of its numbers if it has one.
    Buffer(Buffer, Option<Numbers>),
    /// A texture.
    Texture(Texture),
    /// A sampler.
    Sampler(SamplerDesc),
    /// An array of buffers or textures (`ArraySize`).
    Array(Vec<Item>),
}

/// How a buffer's bytes are read.
#[derive(Clone, Copy)]
pub(super) struct Numbers {
    pub format: DataFormat,
    pub channels: u32,
    pub element: u32,
}

/// Everything that was made.
pub(super) struct World {
    pub items: BTreeMap<String, Item>,
    /// What `Memory:` names, for steps that free it.
    pub memory: BTreeMap<String, Allocation>,
    pub queues: BTreeMap<String, Queue>,
    pub fences: BTreeMap<String, Fence>,
    pub pipelines: Vec<Pipeline>,
    /// Bindings of each descriptor set, in the order of the file.
    pub sets: Vec<Bindings>,
    /// Counters of the buffers that have one, an element each.
    pub counters: BTreeMap<String, Vec<Buffer>>,
}

impl World {
    pub(super) fn build(cx: &Context<'_>, device: &mut Device) -> Result<Self, RunError> {
        let mut world = Self {
            items: BTreeMap::new(),
            memory: BTreeMap::new(),
            queues: BTreeMap::new(),
            fences: BTreeMap::new(),
            pipelines: Vec::new(),
            sets: Vec::new(),
            counters: BTreeMap::new(),
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
            let item = view::buffer(cx, device, decl)?;
            world.items.insert(decl.name.value.clone(), item);
        }
        for decl in &cx.scenario.samplers {
            world.items.insert(decl.name.value.clone(), Item::Sampler(view::sampler(decl)));
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
        Ok(world)
    }

    /// Makes the bindings, once the pipelines are there.
    pub(super) fn bind(&mut self, cx: &Context<'_>, device: &mut Device) -> Result<(), RunError> {
        for (number, set) in (0..).zip(&cx.scenario.sets) {
            self.counters(cx, device, set)?;
            let bindings = self.bindings(cx, set, number)?;
            self.sets.push(bindings);
        }
        if let Some(push) = &cx.scenario.push_constants {
            let buffer = device
                .create_buffer_with("push constants", &push.value)
                .map_err(|e| cx.api(push.at, e))?;
            let mut bindings = Bindings::new();
            bindings.cbv(PUSH_CONSTANTS.0, PUSH_CONSTANTS.1, buffer.constant_view());
            self.sets.push(bindings);
        }
        Ok(())
    }

    /// What a plain pipeline's shaders see in a typed resource. The suite's formats
    /// say how numbers are written; whether they are signed is the shader's matter.
    /// Lists are strict, as the API is.
    fn sampled(&self, cx: &Context<'_>, decl: &ResourceDecl, set: u32) -> Option<SampledType> {
        if !cx.scenario.lists.is_empty() {
            return None;
        }
        let kernels = self.pipelines.iter().map(|p| p.kernel());
        let found = kernels.flat_map(|k| &k.resources).find(|r| {
            let by_register = decl.register.is_some_and(|(register, space)| {
                let end = r.register.saturating_add(r.count);
                r.space == space && (r.register..end).contains(&register)
            });
            let by_binding = decl.vulkan.is_some_and(|b| r.vk_binding == Some((b, set)));
            r.class == decl.kind.class() && (by_register || by_binding)
        })?;
        match found.kind {
            ir::ResourceKind::TypedBuffer { sampled, .. }
            | ir::ResourceKind::Image { sampled, .. } => Some(sampled),
            ir::ResourceKind::ConstantBuffer
            | ir::ResourceKind::StructuredBuffer { .. }
            | ir::ResourceKind::ByteAddressBuffer
            | ir::ResourceKind::Counter
            | ir::ResourceKind::Sampler
            | ir::ResourceKind::Extension(_) => None,
        }
    }

    /// Makes the counters that a set's resources have.
    fn counters(
        &mut self,
        cx: &Context<'_>,
        device: &mut Device,
        set: &DescriptorSetDecl,
    ) -> Result<(), RunError> {
        for decl in set.resources.iter().filter(|d| d.counter) {
            let name = &decl.name.value;
            if self.counters.contains_key(name) {
                continue;
            }
            let count = cx.scenario.buffers.iter().find(|b| b.name.value == *name);
            let mut all = Vec::new();
            for _ in 0..count.map_or(1, |b| b.count) {
                let buffer = device
                    .create_buffer_with(&format!("{name} counter"), &[0; 4])
                    .map_err(|e| cx.api(decl.name.at, e))?;
                all.push(buffer);
            }
            self.counters.insert(name.clone(), all);
        }
        Ok(())
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
        &mut self,
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
        let buffer = allocation.buffer(&decl.name.value, 0, bytes);
        self.memory.insert(decl.name.value.clone(), allocation);
        buffer.map_err(|l| cx.limit(at, &l))
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
                Item::Array(_) => Err(format!("`{name}` is an array; it has no one address")),
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
        if field == "Code"
            && let Some(pipeline) = self.pipelines.iter().find(|p| p.name() == owner)
        {
            return Ok(i128::from(pipeline.code().0));
        }
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
            (Some(Item::Array(_)), _) => Err("an array has no numbers".into()),
        }
    }

    /// A buffer by name, for calls that take no texture.
    pub(super) fn buffer(&self, cx: &Context<'_>, name: &At<String>) -> Result<&Buffer, RunError> {
        match self.items.get(&name.value) {
            Some(Item::Buffer(buffer, _)) => Ok(buffer),
            Some(Item::Texture(_) | Item::Sampler(_) | Item::Array(_)) | None => {
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
            Some(Item::Buffer(..) | Item::Sampler(_) | Item::Array(_)) | None => {
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
            Some(Item::Sampler(_) | Item::Array(_)) | None => {
                let message = format!("`{}` is no buffer or image", name.value);
                Err(cx.error(Problem::at(name.at, message)))
            }
        }
    }

    fn bindings(
        &self,
        cx: &Context<'_>,
        set: &DescriptorSetDecl,
        number: u32,
    ) -> Result<Bindings, RunError> {
        let mut bindings = Bindings::new();
        for decl in &set.resources {
            let sampled = self.sampled(cx, decl, number);
            for (element, view) in (0..).zip(self.views(cx, decl, sampled)?) {
                if let Some(binding) = decl.vulkan {
                    bindings.vulkan(binding, number, element, view.clone());
                }
                if let Some((register, space)) = decl.register {
                    let register = register.saturating_add(element);
                    bindings.bind(decl.kind.class(), register, space, view);
                }
            }
        }
        Ok(bindings)
    }

    /// The views of a resource, one for each element of its array.
    fn views(
        &self,
        cx: &Context<'_>,
        decl: &ResourceDecl,
        sampled: Option<SampledType>,
    ) -> Result<Vec<View>, RunError> {
        let name = &decl.name.value;
        let all = match self.items.get(name) {
            Some(Item::Array(items)) => items.as_slice(),
            Some(item) => std::slice::from_ref(item),
            None => &[],
        };
        let counters = self.counters.get(name).filter(|_| decl.counter);
        let counter = |i: usize| counters.and_then(|all| all.get(i));
        let seen = |i| Seen { counter: counter(i), sampled };
        all.iter().enumerate().map(|(i, item)| view::of(cx, decl, item, &seen(i))).collect()
    }
}

/// Where a resource lies, for messages about addresses.
pub(super) fn place(world: &World, address: GpuAddress) -> Option<String> {
    world.items.iter().find_map(|(name, item)| {
        let range = match item {
            Item::Buffer(buffer, _) => buffer.range(),
            Item::Texture(texture) => texture.range(),
            Item::Sampler(_) | Item::Array(_) => return None,
        };
        range.contains(address, 1).then(|| format!("{name}+{:#x}", address.0 - range.start.0))
    })
}
