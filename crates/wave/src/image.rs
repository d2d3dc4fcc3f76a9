//! Images and typed buffers: where a texel lies, and what the wave-wide
//! operations on them do.

use crate::descriptor::Descriptor;
use wavefence_base::{LaneMask, Limit};
use wavefence_memory::port::{Lanes, Port};
use wavefence_shader::ir::{ImageOp, Reg};

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

/// Whether [`execute`] can do `op` with these descriptors; worth asking once,
/// when they are read.
///
/// # Errors
/// A [`Limit`] that names what is not supported.
pub fn check(op: &ImageOp, image: &Descriptor, sampler: Option<&Descriptor>) -> Result<(), Limit> {
    let _ = (image, sampler);
    Err(Limit::unsupported(format!("image operation {op:?}")))
}

/// Runs `Inst::Image` over a wave. `read` gives the lanes of the registers that
/// stand in `op`. `out` has one entry per result; lanes outside the mask get 0.
///
/// # Errors
/// As [`check`]; nothing was read or written.
pub fn execute<'a>(
    op: &ImageOp,
    request: &Request<'a>,
    read: &dyn Fn(Reg) -> &'a Lanes,
    port: &mut dyn Port,
    out: &mut [Lanes],
) -> Result<(), Limit> {
    let _ = (read, port, out);
    check(op, request.image, request.sampler)
}
