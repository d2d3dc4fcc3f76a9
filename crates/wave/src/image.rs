//! Images and typed buffers: where a texel lies, and what the wave-wide
//! operations on them do. Sampling is in [`sampler`](crate::sampler).
//!
//! Out of range follows D3D: a load gives 0 in the components the format has, a
//! store or atomic does nothing, a size is 0. Through a null descriptor every
//! result is 0.

mod fetch;
mod layout;

pub(crate) use fetch::{Change, Texels, change};
pub(crate) use layout::Geometry;
pub use layout::{LEVEL_ALIGNMENT, Level, MAX_LEVELS, ROW_ALIGNMENT};

use crate::descriptor::{Descriptor, Filter, Image, Sampler, TypedBuffer};
use crate::sampler;
use wavefence_base::{ComponentKind, LaneMask, Limit, TexelFormat};
use wavefence_memory::port::{Lanes, Port};
use wavefence_shader::ir::{ImageDim, ImageOp, Lod, Reg};

/// The operands of one image instruction, for one descriptor. Where lanes use
/// different descriptors, the caller runs the instruction once for each.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    /// The image or typed buffer. Its format is what texels go through, whatever
    /// format the module states: HLSL states one only to pick the shader's type.
    pub image: &'a Descriptor,
    /// The sampler, for operations that take one.
    pub sampler: Option<&'a Descriptor>,
    /// Coordinates, then the layer of arrays.
    pub coords: &'a [&'a Lanes],
    /// Texel offset; may be empty.
    pub offset: &'a [&'a Lanes],
    /// Results and `data` are 64 bits: two lane arrays each, low words first.
    pub wide: bool,
    /// As in `Inst::Image`.
    pub data: &'a [&'a Lanes],
    /// The lanes that run. Implicit derivatives look at lanes of a quad (four
    /// consecutive lanes) that run, and take 0 from one that does not.
    pub mask: LaneMask,
    /// As in `Order`.
    pub coherent: bool,
    /// As in `Order`.
    pub volatile: bool,
    /// Source line index, handed to the port.
    pub loc: u32,
}

impl Request<'_> {
    fn texels(&self, base: wavefence_base::GpuAddress, len: u64, format: TexelFormat) -> Texels {
        let Self { coherent, volatile, loc, .. } = *self;
        Texels { base, len, format, coherent, volatile, loc }
    }

    pub(crate) fn texels_of(&self, geometry: &Geometry, image: &Image) -> Texels {
        self.texels(geometry.base, geometry.len, image.format)
    }

    /// Integer coordinate `i` of a lane with the offset added; 0 if not given.
    fn coord(&self, i: usize, lane: usize) -> u32 {
        let at = self.coords.get(i).map_or(0, |c| c[lane]);
        self.offset.get(i).map_or(at, |o| at.wrapping_add(o[lane]))
    }
}

/// Whether [`execute`] can do `op`, on registers of 64 bits if `wide`, with these
/// descriptors.
///
/// # Errors
/// A [`Limit`] that names what is not supported.
pub fn check(
    op: &ImageOp,
    wide: bool,
    image: &Descriptor,
    sampler: Option<&Descriptor>,
) -> Result<(), Limit> {
    let no = |what: &str| Err(Limit::unsupported(what));
    match image {
        Descriptor::Null => return Ok(()),
        Descriptor::Buffer(_) | Descriptor::UserData { .. } => {
            return no("an image operation on a buffer descriptor that has no format");
        }
        Descriptor::Sampler(_) => return no("an image operation on a sampler descriptor"),
        Descriptor::TypedBuffer(b) => {
            if b.bytes > 1 << 32 {
                return no("a typed buffer of more than 4 GiB");
            }
            check_format(op, wide, b.format)?;
        }
        Descriptor::Image(i) => {
            if i.bytes() > 1 << 32 {
                return no("an image of more than 4 GiB");
            }
            check_format(op, wide, i.format)?;
        }
    }
    match op {
        ImageOp::Load { lod: Lod::Zero | Lod::Level(_) }
        | ImageOp::Store
        | ImageOp::Size { .. }
        | ImageOp::Atomic(_) => return Ok(()),
        ImageOp::Load { lod: Lod::Implicit(_) | Lod::Grad(..) } => {
            return no("an image load with derivatives");
        }
        ImageOp::Levels | ImageOp::QueryLod | ImageOp::Sample { .. } | ImageOp::Gather { .. } => {}
    }
    let Descriptor::Image(i) = image else {
        return no("sampling a buffer, or asking its levels");
    };
    let compares = match op {
        ImageOp::Gather { component, compare } => {
            if matches!(i.dim, ImageDim::D1 | ImageDim::D3) {
                return no("a gather from an image that is not 2D or a cube");
            }
            if *component > 3 {
                return no("a gather of a component above 3");
            }
            compare.is_some()
        }
        ImageOp::Sample { compare, .. } => compare.is_some(),
        ImageOp::Load { .. }
        | ImageOp::Store
        | ImageOp::Size { .. }
        | ImageOp::Levels
        | ImageOp::QueryLod
        | ImageOp::Atomic(_) => false,
    };
    match sampler {
        None | Some(Descriptor::Null) => Ok(()),
        Some(Descriptor::Sampler(s)) => check_sampler(op, i, s, compares),
        Some(
            Descriptor::Buffer(_)
            | Descriptor::TypedBuffer(_)
            | Descriptor::Image(_)
            | Descriptor::UserData { .. },
        ) => no("sampling through a descriptor that is no sampler"),
    }
}

/// What formats an operation takes.
fn check_format(op: &ImageOp, wide: bool, format: TexelFormat) -> Result<(), Limit> {
    let name = format.name();
    let bits = format.component_bits();
    let no = |what: String| Err(Limit::unsupported(what));
    match op {
        ImageOp::Size { .. } | ImageOp::Levels | ImageOp::QueryLod => Ok(()),
        ImageOp::Load { .. }
        | ImageOp::Store
        | ImageOp::Sample { .. }
        | ImageOp::Gather { .. }
        | ImageOp::Atomic(_)
            if wide != (bits[0] == 64) =>
        {
            no(if wide {
                format!("a 64-bit image access through the format {name}")
            } else {
                format!("image access through the 64-bit format {name}")
            })
        }
        ImageOp::Atomic(_) if wide && bits != [64] => {
            no(format!("a 64-bit image atomic on {name}; it takes formats of one component"))
        }
        ImageOp::Atomic(_) if !wide && bits != [32] => {
            no(format!("an image atomic on {name}; it takes formats of one 32-bit component"))
        }
        ImageOp::Load { .. }
        | ImageOp::Store
        | ImageOp::Sample { .. }
        | ImageOp::Gather { .. }
        | ImageOp::Atomic(_) => Ok(()),
    }
}

fn check_sampler(op: &ImageOp, image: &Image, s: &Sampler, compares: bool) -> Result<(), Limit> {
    if compares && s.comparison.is_none() {
        return Err(Limit::unsupported("a comparison through a sampler that compares nothing"));
    }
    let integer = matches!(image.format.kind(), ComponentKind::Uint | ComponentKind::Sint);
    let linear = [s.min, s.mag, s.mip].contains(&Filter::Linear);
    if integer && linear && matches!(op, ImageOp::Sample { .. }) {
        let name = image.format.name();
        return Err(Limit::unsupported(format!("linear filtering of the integer format {name}")));
    }
    Ok(())
}

/// Runs `Inst::Image` over a wave. `read` gives the lanes of the registers that
/// stand in `op`. `out` has one entry per result; what lanes outside the mask
/// get has no meaning, but is the same every time.
///
/// # Errors
/// As [`check`]; nothing was read or written.
pub fn execute<'r>(
    op: &ImageOp,
    request: &Request<'_>,
    read: &dyn Fn(Reg) -> &'r Lanes,
    port: &mut dyn Port,
    out: &mut [Lanes],
) -> Result<(), Limit> {
    check(op, request.wide, request.image, request.sampler)?;
    match request.image {
        Descriptor::Image(image) => on_image(op, request, image, read, port, out),
        Descriptor::TypedBuffer(buffer) => on_buffer(op, request, buffer, port, out),
        Descriptor::Null
        | Descriptor::Buffer(_)
        | Descriptor::UserData { .. }
        | Descriptor::Sampler(_) => out.fill([0; 64]),
    }
    Ok(())
}

/// Hands the first results on.
pub(crate) fn give(out: &mut [Lanes], values: &[Lanes]) {
    for (to, from) in out.iter_mut().zip(values) {
        *to = *from;
    }
}

fn on_buffer(
    op: &ImageOp,
    request: &Request<'_>,
    buffer: &TypedBuffer,
    port: &mut dyn Port,
    out: &mut [Lanes],
) {
    let texel = buffer.format.bytes();
    let elements = buffer.bytes / u64::from(texel);
    let mut offsets = [0; 64];
    let mut mask = LaneMask::EMPTY;
    for lane in request.mask.iter() {
        let index = request.coord(0, lane as usize);
        if u64::from(index) < elements {
            // Below 4 GiB, as checked.
            offsets[lane as usize] = index.wrapping_mul(texel);
            mask.0 |= 1 << lane;
        }
    }
    let texels = request.texels(buffer.address, buffer.bytes, buffer.format);
    match op {
        ImageOp::Load { .. } => {
            texels.give(port, &offsets, mask, out);
        }
        ImageOp::Store => texels.store(port, &offsets, mask, request.data),
        ImageOp::Atomic(op) => {
            texels.change(port, *op, &offsets, mask, request.data, out);
        }
        ImageOp::Size { .. } => give(out, &[[u32::try_from(elements).unwrap_or(u32::MAX); 64]]),
        // Refused by `check`.
        ImageOp::Levels | ImageOp::QueryLod | ImageOp::Sample { .. } | ImageOp::Gather { .. } => {
            out.fill([0; 64])
        }
    }
}

fn on_image<'r>(
    op: &ImageOp,
    request: &Request<'_>,
    image: &Image,
    read: &dyn Fn(Reg) -> &'r Lanes,
    port: &mut dyn Port,
    out: &mut [Lanes],
) {
    let geometry = Geometry::of(image);
    match op {
        ImageOp::Load { lod } => {
            let level = match lod {
                Lod::Level(reg) => Some(read(*reg)),
                Lod::Zero | Lod::Implicit(_) | Lod::Grad(..) => None,
            };
            let (offsets, mask) = place(request, image, &geometry, level);
            request.texels_of(&geometry, image).give(port, &offsets, mask, out);
        }
        ImageOp::Store => {
            let (offsets, mask) = place(request, image, &geometry, None);
            request.texels_of(&geometry, image).store(port, &offsets, mask, request.data);
        }
        ImageOp::Atomic(op) => {
            let (offsets, mask) = place(request, image, &geometry, None);
            let texels = request.texels_of(&geometry, image);
            texels.change(port, *op, &offsets, mask, request.data, out);
        }
        ImageOp::Size { level } => size(image, &geometry, level.map(read), out),
        ImageOp::Levels => give(out, &[[geometry.count; 64]]),
        ImageOp::Sample { .. } | ImageOp::Gather { .. } | ImageOp::QueryLod => {
            let Some(Descriptor::Sampler(s)) = request.sampler else {
                return out.fill([0; 64]);
            };
            sampler::run(op, request, image, &geometry, s, read, port, out);
        }
    }
}

/// Dimensions of texels within a layer. A cube's faces are layers.
pub(crate) const fn dimensions(dim: ImageDim) -> usize {
    match dim {
        ImageDim::D1 => 1,
        ImageDim::D2 | ImageDim::Cube => 2,
        ImageDim::D3 => 3,
    }
}

/// Offsets of the texels that a load, store or atomic names, and the lanes whose
/// texel is there.
fn place(
    request: &Request<'_>,
    image: &Image,
    geometry: &Geometry,
    level: Option<&Lanes>,
) -> (Lanes, LaneMask) {
    let dims = dimensions(image.dim);
    let Some(level) = level else { return place_in(request, dims, geometry) };
    let mut offsets = [0; 64];
    let mut mask = LaneMask::EMPTY;
    for lane in request.mask.iter() {
        let i = lane as usize;
        let at = std::array::from_fn(|c| if c < dims { request.coord(c, i) } else { 0 });
        // No offset applies to layers.
        let layer = request.coords.get(dims).map_or(0, |c| c[i]);
        if let Some(offset) = geometry.offset(level[i], at, layer) {
            offsets[i] = offset;
            mask.0 |= 1 << lane;
        }
    }
    (offsets, mask)
}

/// The same where every lane takes level 0: whole rows of lanes at a time.
fn place_in(request: &Request<'_>, dims: usize, geometry: &Geometry) -> (Lanes, LaneMask) {
    let level = &geometry.levels[0];
    let steps = geometry.steps(0);
    let mut offsets = [level.offset as u32; 64];
    let mut inside = [u32::MAX; 64];
    for (c, coord) in request.coords.iter().enumerate().take(dims + 1) {
        let (limit, step) =
            if c == dims { (geometry.layers, steps[3]) } else { (level.size[c], steps[c]) };
        let shift = if c == dims { None } else { request.offset.get(c) };
        let shift = shift.copied().unwrap_or(&[0; 64]);
        for l in 0..64 {
            let at = coord[l].wrapping_add(shift[l]);
            inside[l] &= if at < limit { u32::MAX } else { 0 };
            offsets[l] = offsets[l].wrapping_add(at.wrapping_mul(step));
        }
    }
    let mut mask = 0;
    for l in 0..64 {
        // Of lanes outside the offset says nothing.
        offsets[l] &= inside[l];
        mask |= u64::from(inside[l] & 1) << l;
    }
    (offsets, LaneMask(mask) & request.mask)
}

fn size(image: &Image, geometry: &Geometry, level: Option<&Lanes>, out: &mut [Lanes]) {
    let dims = dimensions(image.dim);
    let elements = match image.dim {
        ImageDim::Cube => geometry.layers / 6,
        ImageDim::D1 | ImageDim::D2 | ImageDim::D3 => geometry.layers,
    };
    for (c, o) in out.iter_mut().enumerate() {
        for (lane, o) in o.iter_mut().enumerate() {
            let level = level.map_or(0, |l| l[lane]);
            *o = if level >= geometry.count {
                0
            } else if c < dims {
                geometry.levels[level as usize].size[c]
            } else {
                elements
            };
        }
    }
}

#[cfg(test)]
mod tests;
