//! Copies and fills. They are done when the next packet of the queue runs.

use super::{Checks, CommandList};
use crate::encode::{Fill, RowCopy};
use crate::resource::{Buffer, Resource, Texture};
use crate::rules;
use wavefence_base::{GpuAddress, GpuRange, TexelFormat};

/// One side of a `CopyTextureRegion`.
#[derive(Clone, Copy, Debug)]
pub enum TextureLocation<'a> {
    /// Level 0 of layer 0 of a texture.
    Texture(&'a Texture),
    /// A level of a layer of a texture.
    Subresource {
        /// The texture.
        texture: &'a Texture,
        /// Mip level.
        level: u32,
        /// Layer.
        layer: u32,
    },
    /// Rows of texels in a buffer.
    Footprint {
        /// The buffer.
        buffer: &'a Buffer,
        /// Byte offset of the first texel.
        offset: u64,
        /// Bytes from row to row.
        row_pitch: u32,
        /// Format of a texel.
        format: TexelFormat,
        /// Texels in a row.
        width: u32,
        /// Rows.
        height: u32,
    },
}

/// Rows of texels anywhere.
struct Surface<'a> {
    name: &'a str,
    start: GpuAddress,
    pitch: u64,
    format: TexelFormat,
    width: u32,
    height: u32,
    /// True if its rows all lie in the resource.
    fits: bool,
}

impl<'a> TextureLocation<'a> {
    fn surface(&self) -> Surface<'a> {
        match *self {
            Self::Texture(texture) => Self::Subresource { texture, level: 0, layer: 0 }.surface(),
            Self::Subresource { texture, level, layer } => {
                let found = texture.level(level, layer);
                let (offset, at) = found.unwrap_or_default();
                Surface {
                    name: texture.name(),
                    start: texture.address().offset(offset),
                    pitch: at.row_pitch,
                    format: texture.format(),
                    width: at.size[0],
                    height: at.size[1],
                    fits: found.is_some(),
                }
            }
            Self::Footprint { buffer, offset, row_pitch, format, width, height } => {
                let pitch = u64::from(row_pitch);
                let row = u64::from(width) * u64::from(format.bytes());
                let bytes = match u64::from(height) {
                    0 => 0,
                    rows => (rows - 1) * pitch + row,
                };
                let fits = row <= pitch
                    && offset.checked_add(bytes).is_some_and(|end| end <= buffer.bytes());
                let start = buffer.address().offset(offset);
                Surface { name: buffer.name(), start, pitch, format, width, height, fits }
            }
        }
    }

    fn resource(&self) -> Resource<'a> {
        match *self {
            Self::Texture(texture) | Self::Subresource { texture, .. } => {
                Resource::Texture(texture)
            }
            Self::Footprint { buffer, .. } => Resource::Buffer(buffer),
        }
    }
}

impl CommandList {
    /// Copies bytes between buffers.
    pub fn copy_buffer_region(
        &mut self,
        destination: &Buffer,
        destination_offset: u64,
        source: &Buffer,
        source_offset: u64,
        bytes: u64,
    ) -> &mut Self {
        let Some(mut c) = self.begin("CopyBufferRegion") else { return self };
        self.within(&mut c, "DstOffset", destination.into(), destination_offset, bytes);
        self.within(&mut c, "SrcOffset", source.into(), source_offset, bytes);
        let to = destination.address().offset(destination_offset);
        let from = source.address().offset(source_offset);
        self.copy_checked(c, to, from, bytes)
    }

    /// Copies a whole resource to one of the same size and format.
    pub fn copy_resource<'a>(
        &mut self,
        destination: impl Into<Resource<'a>>,
        source: impl Into<Resource<'a>>,
    ) -> &mut Self {
        let (destination, source) = (destination.into(), source.into());
        let Some(mut c) = self.begin("CopyResource") else { return self };
        self.same_device(&mut c, "pDstResource", destination.name(), destination.device());
        self.same_device(&mut c, "pSrcResource", source.name(), source.device());
        let alike = match (destination, source) {
            (Resource::Buffer(a), Resource::Buffer(b)) => a.bytes() == b.bytes(),
            (Resource::Texture(a), Resource::Texture(b)) => {
                let at = |t: &Texture| wavefence_wave::descriptor::Image {
                    address: GpuAddress(0),
                    ..t.image
                };
                at(a) == at(b)
            }
            (Resource::Buffer(_), Resource::Texture(_))
            | (Resource::Texture(_), Resource::Buffer(_)) => false,
        };
        if !alike {
            let message = format!(
                "and \"{}\" must have the same size, shape and format; use CopyBufferRegion or \
                 CopyTextureRegion for a part",
                destination.name()
            );
            c.error(&rules::COPY_SHAPE, "pSrcResource", format!("\"{}\"", source.name()), message);
        }
        let (to, from) = (destination.range(), source.range());
        self.copy_checked(c, to.start, from.start, from.len)
    }

    /// Copies bytes between addresses.
    pub fn copy_memory_to_memory_x(
        &mut self,
        destination: GpuAddress,
        source: GpuAddress,
        bytes: u64,
    ) -> &mut Self {
        let Some(mut c) = self.begin("CopyMemoryToMemoryX") else { return self };
        self.address(&mut c, "Destination", destination, bytes, None);
        self.address(&mut c, "Source", source, bytes, None);
        self.copy_checked(c, destination, source, bytes)
    }

    /// Copies a box of `extent` texels from `from` in the source to `to` in the
    /// destination. Two dimensions: of a 3D texture, its first slice.
    pub fn copy_texture_region(
        &mut self,
        destination: TextureLocation<'_>,
        to: [u32; 2],
        source: TextureLocation<'_>,
        from: [u32; 2],
        extent: [u32; 2],
    ) -> &mut Self {
        let Some(mut c) = self.begin("CopyTextureRegion") else { return self };
        let (d, s) = (destination.surface(), source.surface());
        for (argument, location) in [("pDst", destination), ("pSrc", source)] {
            let resource = location.resource();
            self.same_device(&mut c, argument, resource.name(), resource.device());
        }
        if d.format.bytes() != s.format.bytes() {
            let message = format!(
                "does not go into {} of \"{}\": the texels differ in size",
                d.format.name(),
                d.name
            );
            c.error(&rules::COPY_SHAPE, "pSrc", s.format.name(), message);
        }
        box_within(&mut c, "pDst", &d, to, extent);
        box_within(&mut c, "pSrc", &s, from, extent);
        let texel = u64::from(d.format.bytes());
        let at = |surface: &Surface<'_>, at: [u32; 2]| {
            surface.start.offset(u64::from(at[1]) * surface.pitch + u64::from(at[0]) * texel)
        };
        let rows = RowCopy {
            source: at(&s, from),
            source_pitch: s.pitch,
            destination: at(&d, to),
            destination_pitch: d.pitch,
            bytes: u64::from(extent[0]) * texel,
            rows: u64::from(extent[1]),
        };
        let span = |start: GpuAddress, pitch: u64| {
            GpuRange::new(start, rows.rows.saturating_sub(1) * pitch + rows.bytes)
        };
        if span(rows.source, s.pitch).overlaps(span(rows.destination, d.pitch)) {
            overlap(&mut c);
        }
        if self.finish(c, String::new) {
            self.copied = true;
            self.encoder.copy_rows(&rows);
        }
        self
    }

    /// Fills `bytes` from `destination` with a 32-bit value.
    pub fn fill_memory_with_32_bit_value_x(
        &mut self,
        destination: GpuAddress,
        bytes: u64,
        value: u32,
    ) -> &mut Self {
        self.fill("FillMemoryWith32BitValueX", destination, bytes, Fill::Word(value))
    }

    /// Fills `bytes` from `destination` with a 64-bit value.
    pub fn fill_memory_with_64_bit_value_x(
        &mut self,
        destination: GpuAddress,
        bytes: u64,
        value: u64,
    ) -> &mut Self {
        let words = [value as u32, (value >> 32) as u32];
        self.fill("FillMemoryWith64BitValueX", destination, bytes, Fill::Words(&words))
    }

    /// Fills `bytes` from `destination` with four dwords, over and over.
    pub fn fill_memory_with_128_bit_value_x(
        &mut self,
        destination: GpuAddress,
        bytes: u64,
        value: [u32; 4],
    ) -> &mut Self {
        self.fill("FillMemoryWith128BitValueX", destination, bytes, Fill::Words(&value))
    }

    fn fill(
        &mut self,
        call: &'static str,
        destination: GpuAddress,
        bytes: u64,
        fill: Fill<'_>,
    ) -> &mut Self {
        let Some(mut c) = self.begin(call) else { return self };
        let unit = match fill {
            Fill::Word(_) => 4,
            Fill::Words(words) => words.len() as u64 * 4,
        };
        let alignment = Some((unit, &rules::FILL_ALIGNMENT));
        self.address(&mut c, "Destination", destination, bytes, alignment);
        if !bytes.is_multiple_of(unit) {
            let message = format!("must be a multiple of the pattern's {unit} bytes");
            c.error(&rules::FILL_ALIGNMENT, "SizeInBytes", bytes, message);
        }
        if bytes == 0 {
            c.advise(&rules::COPY_EMPTY, "SizeInBytes", 0, "fills nothing; leave the call out");
        }
        if self.finish(c, String::new) && bytes > 0 {
            self.copied = true;
            self.encoder.fill(destination, bytes, fill);
        }
        self
    }

    fn within(
        &self,
        c: &mut Checks,
        argument: &str,
        resource: Resource<'_>,
        offset: u64,
        bytes: u64,
    ) {
        self.same_device(c, argument, resource.name(), resource.device());
        let has = resource.range().len;
        if offset.checked_add(bytes).is_none_or(|end| end > has) {
            let message =
                format!("and {bytes} bytes from it leave \"{}\", which has {has}", resource.name());
            c.error(&rules::COPY_RANGE, argument, offset, message);
        }
    }

    fn copy_checked(
        &mut self,
        mut c: Checks,
        to: GpuAddress,
        from: GpuAddress,
        bytes: u64,
    ) -> &mut Self {
        if GpuRange::new(to, bytes).overlaps(GpuRange::new(from, bytes)) {
            overlap(&mut c);
        }
        if bytes == 0 {
            c.advise(&rules::COPY_EMPTY, "NumBytes", 0, "copies nothing; leave the call out");
        }
        if self.finish(c, String::new) && bytes > 0 {
            self.copied = true;
            self.encoder.copy(to, from, bytes);
        }
        self
    }
}

fn overlap(c: &mut Checks) {
    let message = "source and destination overlap; copy through a third place";
    c.error(&rules::COPY_OVERLAP, "", "", message);
}

fn box_within(c: &mut Checks, argument: &str, s: &Surface<'_>, at: [u32; 2], extent: [u32; 2]) {
    let inside =
        |at: u32, extent: u32, size: u32| at.checked_add(extent).is_some_and(|end| end <= size);
    if !s.fits {
        let message = format!("\"{}\" has no such rows, level or layer", s.name);
        c.error(&rules::COPY_RANGE, argument, "", message);
    }
    if !inside(at[0], extent[0], s.width) || !inside(at[1], extent[1], s.height) {
        let value = format!("({}, {}) + ({}, {})", at[0], at[1], extent[0], extent[1]);
        let message = format!("leaves \"{}\", which is {} x {}", s.name, s.width, s.height);
        c.error(&rules::COPY_RANGE, argument, value, message);
    }
}
