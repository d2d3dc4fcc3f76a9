//! `Buffers:` named buffers with their first contents, and the number formats of
//! the offload test suite.

use crate::node::{Node, Value};
use crate::number;
use crate::problem::{Problem, Span};
use crate::reader::{At, Reader};
use wavefence_base::TexelFormat;
use wavefence_shader::ir::ImageDim;

/// Largest buffer whose contents a file may describe, in bytes.
pub const MAX_BUFFER: usize = 1 << 30;

/// How the numbers of a buffer are written, read and compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the suite's own words")]
pub enum DataFormat {
    Hex8,
    Hex16,
    Hex32,
    Hex64,
    UInt16,
    UInt32,
    UInt64,
    Int16,
    Int32,
    Int64,
    Float16,
    Float32,
    Float64,
    Depth32,
    Bool,
}

impl DataFormat {
    /// Every format with its word.
    pub const WORDS: [(&'static str, Self); 15] = [
        ("Hex8", Self::Hex8),
        ("Hex16", Self::Hex16),
        ("Hex32", Self::Hex32),
        ("Hex64", Self::Hex64),
        ("UInt16", Self::UInt16),
        ("UInt32", Self::UInt32),
        ("UInt64", Self::UInt64),
        ("Int16", Self::Int16),
        ("Int32", Self::Int32),
        ("Int64", Self::Int64),
        ("Float16", Self::Float16),
        ("Float32", Self::Float32),
        ("Float64", Self::Float64),
        ("Depth32", Self::Depth32),
        ("Bool", Self::Bool),
    ];

    /// Its word.
    pub fn name(self) -> &'static str {
        Self::WORDS.iter().find(|w| w.1 == self).map_or("", |w| w.0)
    }

    /// Bytes of one number.
    pub const fn bytes(self) -> usize {
        match self {
            Self::Hex8 => 1,
            Self::Hex16 | Self::UInt16 | Self::Int16 | Self::Float16 => 2,
            Self::Hex32 | Self::UInt32 | Self::Int32 | Self::Float32 | Self::Depth32 => 4,
            Self::Bool => 4,
            Self::Hex64 | Self::UInt64 | Self::Int64 | Self::Float64 => 8,
        }
    }

    /// True for the formats that a tolerance makes sense for.
    pub const fn is_float(self) -> bool {
        matches!(self, Self::Float16 | Self::Float32 | Self::Float64 | Self::Depth32)
    }

    /// The bytes of one number as it is written, or what is wrong with it. Halves
    /// are written as their bits, as the suite does, or with a point as a value.
    pub fn encode(self, text: &str, out: &mut Vec<u8>) -> Result<(), String> {
        let bad =
            || format!("`{}` is no {}", text.chars().take(40).collect::<String>(), self.name());
        match self {
            Self::Float32 | Self::Depth32 => {
                let value = number::float32(text).ok_or_else(bad)?;
                out.extend(value.to_le_bytes());
            }
            Self::Float64 => out.extend(number::float64(text).ok_or_else(bad)?.to_le_bytes()),
            Self::Float16 => {
                let bits = match number::int(text) {
                    Some(bits) => u16::try_from(bits).map_err(|_| bad())?,
                    None => number::half_bits(number::float32(text).ok_or_else(bad)?),
                };
                out.extend(bits.to_le_bytes());
            }
            Self::Bool if text == "true" => out.extend(1u32.to_le_bytes()),
            Self::Bool if text == "false" => out.extend(0u32.to_le_bytes()),
            Self::Hex8 | Self::Hex16 | Self::Hex32 | Self::Hex64 | Self::UInt16 => {
                self.encode_int(text, false, out).ok_or_else(bad)?;
            }
            Self::UInt32 | Self::UInt64 | Self::Bool => {
                self.encode_int(text, false, out).ok_or_else(bad)?;
            }
            Self::Int16 | Self::Int32 | Self::Int64 => {
                self.encode_int(text, true, out).ok_or_else(bad)?;
            }
        }
        Ok(())
    }

    fn encode_int(self, text: &str, signed: bool, out: &mut Vec<u8>) -> Option<()> {
        let value = number::int(text)?;
        let bits = 8 * self.bytes() as u32;
        // Hexadecimal spells bits, so 0xFFFFFFFF is a good Int32.
        let top =
            if signed && !text.contains(['x', 'X']) { 1i128 << (bits - 1) } else { 1 << bits };
        let bottom = if signed { -(1i128 << (bits - 1)) } else { 0 };
        if value >= top || value < bottom {
            return None;
        }
        out.extend(&value.to_le_bytes()[..self.bytes()]);
        Some(())
    }

    /// One number of `bytes` as a person reads it.
    pub fn show(self, bytes: &[u8]) -> String {
        let mut word = [0; 8];
        let n = bytes.len().min(8);
        word[..n].copy_from_slice(&bytes[..n]);
        let bits = u64::from_le_bytes(word);
        match self {
            Self::Hex8 => format!("{:#04x}", bits as u8),
            Self::Hex16 => format!("{:#06x}", bits as u16),
            Self::Hex32 => format!("{:#010x}", bits as u32),
            Self::Hex64 => format!("{bits:#018x}"),
            Self::UInt16 | Self::UInt32 | Self::UInt64 | Self::Bool => bits.to_string(),
            Self::Int16 => (bits as i16).to_string(),
            Self::Int32 => (bits as i32).to_string(),
            Self::Int64 => (bits as i64).to_string(),
            Self::Float16 => format!("{:?}", number::half_value(bits as u16)),
            Self::Float32 | Self::Depth32 => format!("{:?}", f32::from_bits(bits as u32)),
            Self::Float64 => format!("{:?}", f64::from_bits(bits)),
        }
    }

    /// The texel format of a typed buffer or image of so many channels.
    pub fn texel(self, channels: u32) -> Option<TexelFormat> {
        use TexelFormat as T;
        Some(match (self, channels) {
            (Self::Float32 | Self::Depth32, 1) => T::R32_FLOAT,
            (Self::Float32, 2) => T::R32G32_FLOAT,
            (Self::Float32, 3) => T::R32G32B32_FLOAT,
            (Self::Float32, 4) => T::R32G32B32A32_FLOAT,
            (Self::UInt32 | Self::Hex32 | Self::Bool, 1) => T::R32_UINT,
            (Self::UInt32 | Self::Hex32, 2) => T::R32G32_UINT,
            (Self::UInt32 | Self::Hex32, 3) => T::R32G32B32_UINT,
            (Self::UInt32 | Self::Hex32, 4) => T::R32G32B32A32_UINT,
            (Self::Int32, 1) => T::R32_SINT,
            (Self::Int32, 2) => T::R32G32_SINT,
            (Self::Int32, 3) => T::R32G32B32_SINT,
            (Self::Int32, 4) => T::R32G32B32A32_SINT,
            (Self::Float16, 1) => T::R16_FLOAT,
            (Self::Float16, 2) => T::R16G16_FLOAT,
            (Self::Float16, 4) => T::R16G16B16A16_FLOAT,
            (Self::UInt16 | Self::Hex16, 1) => T::R16_UINT,
            (Self::UInt16 | Self::Hex16, 2) => T::R16G16_UINT,
            (Self::UInt16 | Self::Hex16, 4) => T::R16G16B16A16_UINT,
            (Self::Int16, 1) => T::R16_SINT,
            (Self::Int16, 2) => T::R16G16_SINT,
            (Self::Int16, 4) => T::R16G16B16A16_SINT,
            (Self::UInt64 | Self::Hex64, 1) => T::R64_UINT,
            (Self::UInt64 | Self::Hex64, 2) => T::R64G64_UINT,
            (Self::Int64, 1) => T::R64_SINT,
            (Self::Int64, 2) => T::R64G64_SINT,
            _ => return None,
        })
    }
}

/// One buffer.
#[derive(Clone, Debug, PartialEq)]
pub struct BufferDecl {
    /// Where its entry stands.
    pub at: Span,
    /// Its name.
    pub name: At<String>,
    /// How its numbers are written.
    pub format: DataFormat,
    /// Numbers of a typed element.
    pub channels: u32,
    /// Bytes of a structure; 0 if it has none.
    pub stride: u32,
    /// Resources of an array (`ArraySize`); 1 for a single one.
    pub count: u32,
    /// First contents, those of an array's elements one after the other.
    pub data: Vec<u8>,
    /// Its shape, if it is an image.
    pub image: Option<OutputProps>,
}

impl BufferDecl {
    /// Bytes of one element: of the structure, or of the channels.
    pub const fn element_bytes(&self) -> u32 {
        if self.stride > 0 { self.stride } else { self.format.bytes() as u32 * self.channels }
    }

    /// Bytes of one element of the array of resources.
    pub const fn resource_bytes(&self) -> usize {
        self.data.len() / self.count as usize
    }
}

/// `OutputProps`: the shape of an image. Its contents are the levels of the first
/// layer from the largest to the smallest, then those of the next layer, all
/// without padding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutputProps {
    /// Number of coordinates.
    pub dim: ImageDim,
    /// Texels of level 0.
    pub width: u32,
    /// Texels of level 0; 1 for 1D.
    pub height: u32,
    /// Texels of level 0; 1 unless 3D.
    pub depth: u32,
    /// Mip levels.
    pub levels: u32,
    /// Layers of an array, six per cube.
    pub layers: u32,
}

impl OutputProps {
    /// Texels of one level.
    pub fn extent(&self, level: u32) -> [u32; 3] {
        [self.width, self.height, self.depth].map(|n| n.checked_shr(level).unwrap_or(0).max(1))
    }

    /// Texels of all levels and layers.
    pub fn texels(&self) -> u64 {
        let level = |i| self.extent(i).iter().map(|&n| u64::from(n)).product::<u64>();
        let all: u64 = (0..self.levels.min(32)).map(level).fold(0, u64::saturating_add);
        all.saturating_mul(u64::from(self.layers))
    }
}

/// Most resources in one array.
pub const MAX_ARRAY: u32 = 4096;

/// Reads one entry of `Buffers:`.
pub fn buffer(r: &Reader, node: &Node) -> Option<BufferDecl> {
    let mut m = r.map(node, "a buffer")?;
    let name = m.req("Name", |r, n| r.text(n));
    let format = m.req("Format", |r, n| r.word(n, &DataFormat::WORDS));
    let channels = m.opt("Channels", |r, n| r.int::<u32>(n).map(|v| At::new(n.at, v)));
    let stride = m.opt("Stride", |r, n| r.int::<u32>(n));
    let array = m.opt("ArraySize", |r, n| r.int::<u32>(n).map(|v| At::new(n.at, v)));
    let image = m.opt("OutputProps", output_props);
    let format = format.map_or(DataFormat::Hex8, |f| f.value);
    let (array, range) = (array?, 1..=MAX_ARRAY);
    if let Some(array) = array.as_ref().filter(|a| !range.contains(&a.value)) {
        r.note(Problem::at(array.at, format!("ArraySize is 1 to {MAX_ARRAY}")));
        return None;
    }
    let count = array.map_or(1, |a| a.value);
    let data = data(r, &mut m, format, count, "a buffer");
    m.refuse("Counter", "the suite writes it, it never reads it");
    m.refuse("Counters", "the suite writes it, it never reads it");
    m.finish()?;
    let (channels, stride) = (channels?, stride?.unwrap_or(0));
    if let Some(channels) = &channels
        && !(1..=4).contains(&channels.value)
    {
        r.note(Problem::at(channels.at, "Channels is 1 to 4"));
        return None;
    }
    let channels = channels.map_or(1, |c| c.value);
    if stride != 0 && channels != 1 {
        r.note(Problem::at(node.at, "a buffer has a Stride or Channels, not both"));
        return None;
    }
    let decl = BufferDecl {
        at: node.at,
        name: name?,
        format,
        channels,
        stride,
        count,
        data: data??,
        image: image?,
    };
    if let Some(shape) = &decl.image {
        let want = shape.texels().saturating_mul(u64::from(decl.element_bytes()));
        let have = decl.resource_bytes();
        if want != have as u64 {
            let name = &decl.name.value;
            let message = format!(
                "Buffer '{name}' size ({have}) does not match OutputProps dimensions ({want})"
            );
            r.note(Problem::at(decl.name.at, message));
            return None;
        }
    }
    Some(decl)
}

fn output_props(r: &Reader, node: &Node) -> Option<OutputProps> {
    const DIMS: [(&str, ImageDim); 4] = [
        ("1D", ImageDim::D1),
        ("2D", ImageDim::D2),
        ("3D", ImageDim::D3),
        ("Cube", ImageDim::Cube),
    ];
    let mut m = r.map(node, "OutputProps")?;
    let height = m.req("Height", |r, n| r.int::<u32>(n));
    let width = m.req("Width", |r, n| r.int::<u32>(n));
    let depth = m.opt("Depth", |r, n| r.int::<u32>(n));
    let levels = m.opt("MipLevels", |r, n| r.int::<u32>(n));
    let layers = m.opt("Layers", |r, n| r.int::<u32>(n));
    let dim = m.opt("Dimension", |r, n| r.word(n, &DIMS));
    m.finish()?;
    let (depth, layers) = (depth?.unwrap_or(1), layers?);
    let dim = match dim? {
        Some(word) => word.value,
        None if depth > 1 => ImageDim::D3,
        None => ImageDim::D2,
    };
    let layers = layers.unwrap_or(if dim == ImageDim::Cube { 6 } else { 1 });
    let levels = levels?.unwrap_or(1);
    let (width, height) = (width?, height?);
    Some(OutputProps { dim, width, height, depth, levels, layers })
}

/// `Data`, or `FillSize` with `FillValue`, or `ZeroInitSize`. The outer `None` is
/// an error; the inner one says that the mapping gives no contents.
pub fn data(
    r: &Reader,
    m: &mut crate::reader::MapReader<'_>,
    format: DataFormat,
    count: u32,
    what: &str,
) -> Option<Option<Vec<u8>>> {
    let at = m.at;
    let list = m.take("Data");
    let size = m.opt("FillSize", |r, n| r.int::<usize>(n).map(|v| At::new(n.at, v)));
    let zero = m.opt("ZeroInitSize", |r, n| r.int::<usize>(n).map(|v| At::new(n.at, v)));
    let value = m.take("FillValue");
    let (size, zero) = (size?, zero?);
    if usize::from(list.is_some()) + usize::from(size.is_some()) + usize::from(zero.is_some()) != 1
    {
        let message = format!("{what} has exactly one of Data, FillSize and ZeroInitSize");
        r.note(Problem::at(Span::new(at.start, 1), message));
        return None;
    }
    if let Some(value) = value
        && size.is_none()
    {
        r.note(Problem::at(value.at, "FillValue needs FillSize"));
        return None;
    }
    if let Some(list) = list {
        return if count == 1 {
            numbers(r, list, format).map(Some)
        } else {
            array(r, list, format, count).map(Some)
        };
    }
    let total = size.or(zero)?;
    if total.value.saturating_mul(count as usize) > MAX_BUFFER {
        let message = format!("{} bytes are too many; a buffer may have {MAX_BUFFER}", total.value);
        r.note(Problem::at(total.at, message).unsupported());
        return None;
    }
    let mut one = Vec::new();
    match value {
        Some(node) => encode(r, node, format, &mut one)?,
        None => one.resize(format.bytes(), 0),
    }
    let element: Vec<u8> = one.iter().copied().cycle().take(total.value).collect();
    Some(Some(element.repeat(count as usize)))
}

/// A list of `count` lists of as many numbers each.
fn array(r: &Reader, node: &Node, format: DataFormat, count: u32) -> Option<Vec<u8>> {
    let lists = r.each(node, "a list of lists of numbers", |n| numbers(r, n, format))?;
    if lists.len() != count as usize {
        let message = format!("Expected {count} buffers, found {}", lists.len());
        r.note(Problem::at(node.at, message));
        return None;
    }
    if lists.iter().any(|l| l.len() != lists[0].len()) {
        r.note(Problem::at(node.at, "All buffers must have the same size."));
        return None;
    }
    Some(lists.concat())
}

/// A list of numbers as bytes.
pub fn numbers(r: &Reader, node: &Node, format: DataFormat) -> Option<Vec<u8>> {
    let items = r.list(node, "a list of numbers")?;
    let mut out = Vec::with_capacity(items.len() * format.bytes());
    let mut good = true;
    for item in items {
        good &= encode(r, item, format, &mut out).is_some();
    }
    good.then_some(out)
}

fn encode(r: &Reader, node: &Node, format: DataFormat, out: &mut Vec<u8>) -> Option<()> {
    let Value::Scalar(text) = &node.value else {
        r.note(Problem::at(node.at, format!("a {} is needed here", format.name())));
        return None;
    };
    r.ok(format.encode(text, out).map_err(|why| Problem::at(node.at, why)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_fit_their_format_or_are_refused() {
        let mut out = Vec::new();
        assert!(DataFormat::Int32.encode("0xFFFFFFFF", &mut out).is_ok());
        assert_eq!(out, [0xFF; 4]);
        assert!(DataFormat::Int32.encode("4294967295", &mut out).is_err());
        assert!(DataFormat::Int16.encode("-32768", &mut out).is_ok());
        assert!(DataFormat::UInt16.encode("-1", &mut out).is_err());
        assert!(DataFormat::Hex64.encode("0x1FFFFFFFFFFFFFFFF", &mut out).is_err());
        out.clear();
        assert!(DataFormat::Float16.encode("1.0", &mut out).is_ok());
        assert!(DataFormat::Float16.encode("0x3c00", &mut out).is_ok());
        assert_eq!(out[..2], out[2..]);
        for (name, format) in DataFormat::WORDS {
            out.clear();
            format.encode("1", &mut out).unwrap();
            assert_eq!(out.len(), format.bytes(), "{name}");
            let half = DataFormat::Float16.show(&1u16.to_le_bytes());
            let wanted = if format.is_float() { "1.0" } else { "1" };
            let shown = format.show(&out);
            assert!(shown.ends_with('1') || shown == wanted || shown == half, "{name} {shown}");
        }
    }
}
