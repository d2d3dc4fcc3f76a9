//! Texels: between the bytes of a format and what a shader sees.
//!
//! A shader sees four components of 32 bits: float bits, or integers. Components
//! a format lacks read as 0, 0, 0, 1. The rules are D3D's: to a normalised
//! format NaN gives 0, values are clamped, scaled, and rounded half away from
//! zero; integers are clamped; floats are rounded to nearest even, overflow to
//! infinity, and the unsigned small floats take negative values to 0. sRGB uses
//! the exact curve, by arithmetic alone, so results are the same everywhere.
//!
//! The 64-bit formats give their low word, then their high word.

mod small_float;
mod srgb;

use wavefence_base::{ComponentKind, TexelFormat};
use wavefence_memory::port::Lanes;

pub use small_float::{f32_to_half, half_to_f32};

/// Where one component lies in the words of a texel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Field {
    /// Which component of the result it is.
    component: usize,
    word: usize,
    shift: u32,
    bits: u32,
}

/// The fields of a format, in memory order.
fn fields(format: TexelFormat) -> impl Iterator<Item = Field> {
    let blue_first =
        matches!(format, TexelFormat::B8G8R8A8_UNORM | TexelFormat::B8G8R8A8_UNORM_SRGB);
    let mut at = 0;
    format.component_bits().iter().enumerate().map(move |(i, &bits)| {
        let component = if blue_first && i < 3 { 2 - i } else { i };
        let bits = u32::from(bits);
        let field = Field { component, word: at as usize / 32, shift: at % 32, bits };
        at += bits;
        field
    })
}

fn mask(bits: u32) -> u32 {
    u32::MAX >> (32 - bits)
}

/// Applies `convert` to every lane of a field.
#[inline]
fn each(field: Field, raw: &[Lanes], out: &mut Lanes, convert: impl Fn(u32) -> u32) {
    let (from, shift, keep) = (&raw[field.word], field.shift, mask(field.bits));
    for (o, &v) in out.iter_mut().zip(from) {
        *o = convert(v >> shift & keep);
    }
}

/// Number of 32-bit words that hold a texel: 1 to 4.
pub fn words(format: TexelFormat) -> usize {
    format.bytes().div_ceil(4) as usize
}

/// Decodes a texel per lane. `raw` holds its bytes, the lowest in the low bits of
/// the first word; [`words`] of them.
pub fn decode_wave(format: TexelFormat, raw: &[Lanes], out: &mut [Lanes; 4]) {
    if format.component_bits()[0] == 64 {
        let count = words(format);
        *out = std::array::from_fn(|i| if i < count { raw[i] } else { [0; 64] });
        return;
    }
    let one = match format.kind() {
        ComponentKind::Uint | ComponentKind::Sint => 1,
        ComponentKind::Unorm
        | ComponentKind::Snorm
        | ComponentKind::Float
        | ComponentKind::Srgb => 1f32.to_bits(),
    };
    let present = format.component_bits().len();
    for (c, o) in out.iter_mut().enumerate().skip(present) {
        o.fill(if c == 3 { one } else { 0 });
    }
    for f in fields(format) {
        let o = &mut out[f.component];
        match format.kind() {
            ComponentKind::Uint => each(f, raw, o, |v| v),
            ComponentKind::Sint => each(f, raw, o, |v| extend(v, f.bits) as u32),
            ComponentKind::Unorm => decode_unorm(f, raw, o),
            ComponentKind::Snorm => {
                let max = mask(f.bits - 1) as f32;
                each(f, raw, o, |v| (extend(v, f.bits) as f32 / max).max(-1.0).to_bits());
            }
            ComponentKind::Srgb if f.component == 3 => decode_unorm(f, raw, o),
            ComponentKind::Srgb => each(f, raw, o, |v| srgb::decode(v as u8).to_bits()),
            ComponentKind::Float => match f.bits {
                32 => each(f, raw, o, |v| v),
                16 => each(f, raw, o, |v| half_to_f32(v as u16).to_bits()),
                bits => each(f, raw, o, |v| small_float::decode(v, bits - 5).to_bits()),
            },
        }
    }
}

fn decode_unorm(f: Field, raw: &[Lanes], out: &mut Lanes) {
    let max = mask(f.bits) as f32;
    each(f, raw, out, |v| (v as f32 / max).to_bits());
}

/// The low `bits` bits as a signed number.
fn extend(v: u32, bits: u32) -> i32 {
    (v << (32 - bits)) as i32 >> (32 - bits)
}

/// Decodes one texel; `raw` as in [`decode_wave`].
pub fn decode(format: TexelFormat, raw: [u32; 4]) -> [u32; 4] {
    let mut out = [[0; 64]; 4];
    decode_wave(format, &raw.map(|w| [w; 64]), &mut out);
    out.map(|o| o[0])
}

/// Encodes one texel; words beyond the texel are 0.
pub fn encode(format: TexelFormat, texel: [u32; 4]) -> [u32; 4] {
    let lanes = texel.map(|v| [v; 64]);
    let mut raw = [[0; 64]; 4];
    encode_wave(format, &lanes.each_ref(), &mut raw[..words(format)]);
    raw.map(|w| w[0])
}

/// Encodes a texel per lane of `data` (components the shader did not give are
/// 0); `raw` gets [`words`] words.
pub fn encode_wave(format: TexelFormat, data: &[&Lanes], raw: &mut [Lanes]) {
    let zero = [0; 64];
    let component = |c: usize| data.get(c).copied().unwrap_or(&zero);
    if format.component_bits()[0] == 64 {
        for (i, word) in raw.iter_mut().enumerate() {
            *word = *component(i);
        }
        return;
    }
    raw.fill([0; 64]);
    for f in fields(format) {
        let (from, to) = (component(f.component), &mut raw[f.word]);
        match format.kind() {
            ComponentKind::Uint => pack(f, from, to, |v| v.min(mask(f.bits))),
            ComponentKind::Sint => {
                let max = mask(f.bits - 1) as i32;
                pack(f, from, to, |v| (v as i32).clamp(-max - 1, max) as u32 & mask(f.bits));
            }
            ComponentKind::Unorm => pack(f, from, to, |v| encode_unorm(v, f.bits)),
            ComponentKind::Snorm => pack(f, from, to, |v| encode_snorm(v, f.bits)),
            ComponentKind::Srgb if f.component == 3 => {
                pack(f, from, to, |v| encode_unorm(v, f.bits));
            }
            ComponentKind::Srgb => {
                pack(f, from, to, |v| u32::from(srgb::encode(f32::from_bits(v))));
            }
            ComponentKind::Float => match f.bits {
                32 => pack(f, from, to, |v| v),
                16 => pack(f, from, to, |v| u32::from(f32_to_half(f32::from_bits(v)))),
                bits => pack(f, from, to, |v| small_float::encode(f32::from_bits(v), bits - 5)),
            },
        }
    }
}

/// Puts every lane of a component in its place.
#[inline]
fn pack(field: Field, from: &Lanes, to: &mut Lanes, convert: impl Fn(u32) -> u32) {
    for (to, &v) in to.iter_mut().zip(from) {
        *to |= convert(v) << field.shift;
    }
}

/// `v` within `low` to `high`; NaN gives 0.
fn within(v: u32, low: f32, high: f32) -> f64 {
    let v = f32::from_bits(v);
    let v = if v.is_nan() { 0.0 } else { v };
    f64::from(if v < low { low } else { v }.min(high))
}

// Products below are exact: 24 bits times at most 16. `as` drops the fraction.

fn encode_unorm(v: u32, bits: u32) -> u32 {
    (within(v, 0.0, 1.0) * f64::from(mask(bits)) + 0.5) as i32 as u32
}

fn encode_snorm(v: u32, bits: u32) -> u32 {
    let scaled = within(v, -1.0, 1.0) * f64::from(mask(bits - 1));
    (scaled + 0.5f64.copysign(scaled)) as i32 as u32 & mask(bits)
}

#[cfg(test)]
mod tests;
