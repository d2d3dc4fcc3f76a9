//! Allocations, and resources placed in them.
//!
//! Handles are plain values: an address range with a name. Two resources may lie
//! over the same bytes ([`Allocation::buffer`], [`Allocation::texture`]).

use crate::error::{CallError, Error};
use crate::rules;
use crate::view::{SampledView, View};
use std::sync::Arc;
use wavefence_base::{AllocationId, GpuAddress, GpuRange, Limit, TexelFormat};
use wavefence_shader::ir::ImageDim;
use wavefence_wave::descriptor::Image;
pub use wavefence_wave::image::Level;

/// Alignment of a counter in its buffer:
/// `D3D12_UAV_COUNTER_PLACEMENT_ALIGNMENT`, in bytes.
pub const UAV_COUNTER_PLACEMENT_ALIGNMENT: u64 = 4096;

/// Which device made an object; objects of two devices do not mix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DeviceTag {
    pub(crate) device: u64,
    /// Which of the device's lives: one begins at a checkpoint and each time that
    /// the device goes back to one.
    pub(crate) life: u32,
}

/// Memory that a device allocated.
#[derive(Clone, Debug, PartialEq)]
pub struct Allocation {
    pub(crate) id: AllocationId,
    pub(crate) name: Arc<str>,
    pub(crate) range: GpuRange,
    pub(crate) device: DeviceTag,
}

impl Allocation {
    /// Its number on the device.
    pub fn id(&self) -> AllocationId {
        self.id
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// First byte.
    pub fn address(&self) -> GpuAddress {
        self.range.start
    }

    /// Length in bytes.
    pub fn bytes(&self) -> u64 {
        self.range.len
    }

    /// Where it lies.
    pub fn range(&self) -> GpuRange {
        self.range
    }

    /// A buffer over `bytes` of this memory from `offset`; it may share them with
    /// other resources.
    ///
    /// # Errors
    /// If the bytes are not all in the allocation.
    pub fn buffer(&self, name: &str, offset: u64, bytes: u64) -> Result<Buffer, Limit> {
        let range = self.part(name, offset, bytes)?;
        Ok(Buffer { name: name.into(), range, device: self.device })
    }

    /// A texture in this memory from `offset`; it may share the bytes with other
    /// resources.
    ///
    /// # Errors
    /// If its description is wrong or its bytes are not all in the allocation.
    pub fn texture(&self, name: &str, offset: u64, desc: &TextureDesc) -> Result<Texture, Limit> {
        let (mut image, bytes) = desc.image(name)?;
        let range = self.part(name, offset, bytes)?;
        image.address = range.start;
        if let Some((_, rule)) = image.broken_rule() {
            return Err(Limit::unsupported(format!("texture \"{name}\": {rule}")));
        }
        Ok(Texture { name: name.into(), range, image, device: self.device })
    }

    fn part(&self, name: &str, offset: u64, bytes: u64) -> Result<GpuRange, Limit> {
        let start = self.range.start.offset(offset);
        if bytes > self.range.len || offset > self.range.len - bytes {
            return Err(Limit::memory(format!(
                "\"{name}\" needs {bytes} bytes from offset {offset}, but allocation \"{}\" has \
                 {}",
                self.name, self.range.len
            )));
        }
        Ok(GpuRange::new(start, bytes))
    }
}

/// A buffer: a named run of bytes.
#[derive(Clone, Debug, PartialEq)]
pub struct Buffer {
    pub(crate) name: Arc<str>,
    pub(crate) range: GpuRange,
    pub(crate) device: DeviceTag,
}

impl Buffer {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its first byte: `GetGPUVirtualAddress`.
    pub fn address(&self) -> GpuAddress {
        self.range.start
    }

    /// Length in bytes.
    pub fn bytes(&self) -> u64 {
        self.range.len
    }

    /// Where it lies.
    pub fn range(&self) -> GpuRange {
        self.range
    }

    /// All of it as a `ByteAddressBuffer`.
    pub fn raw_view(&self) -> View {
        View::Raw(self.range)
    }

    /// All of it as a structured buffer with elements of `stride` bytes.
    pub fn structured_view(&self, stride: u32) -> View {
        View::Structured { range: self.range, stride, counter: None }
    }

    /// As [`structured_view`](Self::structured_view), with the 4 bytes of
    /// `counter` at `offset` bytes (`CounterOffsetInBytes`) for the shader's
    /// `IncrementCounter` and the like: `CreateUnorderedAccessView` with a counter
    /// resource.
    ///
    /// # Errors
    /// If `offset` is no multiple of [`UAV_COUNTER_PLACEMENT_ALIGNMENT`], or the 4
    /// bytes are not all in `counter`.
    pub fn counted_view(&self, stride: u32, counter: &Buffer, offset: u64) -> Result<View, Error> {
        let refuse = |argument: &str, message: String| {
            Err(Error::from(CallError {
                rule: &rules::UAV_COUNTER,
                list: String::new(),
                index: 0,
                call: "CreateUnorderedAccessView",
                argument: argument.into(),
                value: offset.to_string(),
                message,
            }))
        };
        if !offset.is_multiple_of(UAV_COUNTER_PLACEMENT_ALIGNMENT) {
            let message = format!("must be a multiple of {UAV_COUNTER_PLACEMENT_ALIGNMENT}");
            return refuse("CounterOffsetInBytes", message);
        }
        if offset.checked_add(4).is_none_or(|end| end > counter.bytes()) {
            let message = format!(
                "the counter of UAV \"{}\" does not fit in \"{}\", which has {} bytes",
                self.name,
                counter.name,
                counter.bytes()
            );
            return refuse("CounterOffsetInBytes", message);
        }
        if counter.device.device != self.device.device {
            let message = format!("\"{}\" belongs to another device", counter.name);
            return refuse("pCounterResource", message);
        }
        let at = GpuRange::new(counter.range.start.offset(offset), 4);
        Ok(View::Structured { range: self.range, stride, counter: Some(at) })
    }

    /// All of it as a `Buffer` of texels.
    pub fn typed_view(&self, format: TexelFormat) -> View {
        View::Typed { range: self.range, format }
    }

    /// All of it as a constant buffer.
    pub fn constant_view(&self) -> View {
        View::Constant(self.range)
    }
}

/// What a texture looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextureDesc {
    /// Shape.
    pub dim: ImageDim,
    /// Format of its texels.
    pub format: TexelFormat,
    /// Texels.
    pub width: u32,
    /// Texels; 1 for one dimension.
    pub height: u32,
    /// Texels; 1 unless three dimensions.
    pub depth: u32,
    /// Layers of an array, 6 per cube.
    pub layers: u32,
    /// Mip levels.
    pub levels: u32,
}

impl TextureDesc {
    /// A two-dimensional texture with one level and no layers.
    pub const fn d2(format: TexelFormat, width: u32, height: u32) -> Self {
        Self { dim: ImageDim::D2, format, width, height, depth: 1, layers: 1, levels: 1 }
    }

    /// The image at address 0 and the bytes it takes.
    pub(crate) fn image(&self, name: &str) -> Result<(Image, u64), Limit> {
        let image = Image::whole(
            GpuAddress(0),
            self.dim,
            self.format,
            [self.width, self.height, self.depth],
            self.layers,
            self.levels,
        );
        if let Some((_, rule)) = image.broken_rule() {
            return Err(Limit::unsupported(format!("texture \"{name}\": {rule}")));
        }
        let bytes = image.bytes();
        Ok((image, bytes))
    }
}

/// A texture.
#[derive(Clone, Debug, PartialEq)]
pub struct Texture {
    pub(crate) name: Arc<str>,
    pub(crate) range: GpuRange,
    pub(crate) image: Image,
    pub(crate) device: DeviceTag,
}

impl Texture {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where it lies.
    pub fn range(&self) -> GpuRange {
        self.range
    }

    /// Its first byte.
    pub fn address(&self) -> GpuAddress {
        self.range.start
    }

    /// Format of its texels.
    pub fn format(&self) -> TexelFormat {
        self.image.format
    }

    /// Texels in each dimension of level 0.
    pub fn extent(&self) -> [u32; 3] {
        [self.image.width, self.image.height, self.image.depth]
    }

    /// Layers.
    pub fn layers(&self) -> u32 {
        self.image.layers
    }

    /// Mip levels.
    pub fn levels(&self) -> u32 {
        self.image.levels
    }

    /// Bytes from row to row of level 0.
    pub fn row_pitch(&self) -> u64 {
        self.image.level(0).row_pitch
    }

    /// Where a level of a layer lies: its offset from the texture's start, its size
    /// in texels and the bytes from row to row and slice to slice. `None` if there is
    /// no such level or layer.
    pub fn level(&self, level: u32, layer: u32) -> Option<(u64, Level)> {
        if level >= self.image.levels || layer >= self.image.layers {
            return None;
        }
        let found = self.image.level(level);
        Some((self.image.layer_pitch() * u64::from(layer) + found.offset, found))
    }

    /// A view of all of it in its own format.
    pub fn view(&self) -> View {
        View::Texture(SampledView::new(self.image))
    }

    /// A view of all of it through another format with as many bits per texel.
    ///
    /// # Errors
    /// If the formats differ in size.
    pub fn view_as(&self, format: TexelFormat) -> Result<View, Limit> {
        if format.bytes() != self.image.format.bytes() {
            return Err(Limit::unsupported(format!(
                "texture \"{}\" has {} bytes per texel; a view as {} would have {}",
                self.name,
                self.image.format.bytes(),
                format.name(),
                format.bytes()
            )));
        }
        Ok(View::Texture(SampledView::new(Image { format, ..self.image })))
    }
}

/// A buffer or a texture.
#[derive(Clone, Copy, Debug)]
pub enum Resource<'a> {
    /// A buffer.
    Buffer(&'a Buffer),
    /// A texture.
    Texture(&'a Texture),
}

impl Resource<'_> {
    /// Its name.
    pub fn name(&self) -> &str {
        match self {
            Self::Buffer(b) => b.name(),
            Self::Texture(t) => t.name(),
        }
    }

    /// Where it lies.
    pub fn range(&self) -> GpuRange {
        match self {
            Self::Buffer(b) => b.range,
            Self::Texture(t) => t.range,
        }
    }

    pub(crate) fn device(&self) -> DeviceTag {
        match self {
            Self::Buffer(b) => b.device,
            Self::Texture(t) => t.device,
        }
    }
}

impl<'a> From<&'a Buffer> for Resource<'a> {
    fn from(buffer: &'a Buffer) -> Self {
        Self::Buffer(buffer)
    }
}

impl<'a> From<&'a Texture> for Resource<'a> {
    fn from(texture: &'a Texture) -> Self {
        Self::Texture(texture)
    }
}
