//! Descriptors: what one slot of a descriptor table says about a resource.
//!
//! The layout is **ours** (the vendor's is not public): 64 bytes, little-endian
//! words. Word 0 is 0 for [`Descriptor::Null`], so zeroed memory is a table of
//! nulls; else it holds `0x5746_0000` plus the kind. Words that a kind does not
//! use are 0. Anything else is a [`BadDescriptor`].
//!
//! | Word | 1 buffer | 2 typed buffer | 3 image | 4 sampler | 5 user data |
//! |---|---|---|---|---|---|
//! | 1-2 | address | address | address | 1: filters mag, min, mip (a byte each); 2: address modes u, v, w (a byte each) | 1: first word; 2: words |
//! | 3 | bytes, low | bytes, low | dimension, format in bits 16+ | comparison, 0 none | |
//! | 4 | bytes, high | bytes, high | width | max anisotropy | |
//! | 5 | stride | format | height | LOD bias | |
//! | 6-8 | | | depth, layers, levels | 6: min LOD, 7: max LOD, 8: border red | |
//! | 9 | | | row pitch | border green | |
//! | 10-11 | | | first level, levels of the view | border blue, alpha | |
//! | 12-13 | | | first layer, layers of the view | | |

use wavefence_base::{GpuAddress, TexelFormat};
use wavefence_shader::ir::ImageDim;

/// Bytes of one descriptor.
pub const DESCRIPTOR_BYTES: u64 = 64;

/// Bits of word 0 beside the kind.
const MAGIC: u32 = 0x5746_0000;

/// Largest width, height or depth of an image.
pub const MAX_EXTENT: u32 = 16_384;
/// Most layers of an image.
pub const MAX_LAYERS: u32 = 2_048;

/// What a slot refers to.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub enum Descriptor {
    /// Nothing: reads give 0, writes are dropped, sizes are 0.
    #[default]
    Null,
    /// A raw, structured or constant buffer.
    Buffer(Buffer),
    /// A buffer whose elements go through a format.
    TypedBuffer(TypedBuffer),
    /// A view of an image.
    Image(Image),
    /// A sampler.
    Sampler(Sampler),
    /// Root constants: the buffer is a run of the dispatch's user data words.
    UserData {
        /// Index of the first word.
        first: u32,
        /// Number of words.
        count: u32,
    },
}

/// A raw, structured or constant buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Buffer {
    /// First byte.
    pub address: GpuAddress,
    /// Length in bytes.
    pub bytes: u64,
    /// Bytes per element; 0 for raw and constant buffers.
    pub stride: u32,
}

/// A buffer whose elements go through a format.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TypedBuffer {
    /// First byte.
    pub address: GpuAddress,
    /// Length in bytes; a last partial element does not count.
    pub bytes: u64,
    /// Format of one element.
    pub format: TexelFormat,
}

/// A view of an image: the whole image as it lies in memory (see
/// [`image`](crate::image) for the layout), and which levels and layers of it
/// the shader sees.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Image {
    /// First byte of level 0 of layer 0.
    pub address: GpuAddress,
    /// Shape that the shader sees. A cube is seen as layers by loads and stores.
    pub dim: ImageDim,
    /// Format the shader reads and writes through.
    pub format: TexelFormat,
    /// Texels of level 0.
    pub width: u32,
    /// Texels of level 0; 1 for 1D.
    pub height: u32,
    /// Texels of level 0; 1 unless 3D.
    pub depth: u32,
    /// Layers; a multiple of 6 for cubes, 1 for 3D.
    pub layers: u32,
    /// Mip levels in memory.
    pub levels: u32,
    /// Bytes from row to row of level 0, or 0 for the layout's own. Only an
    /// image with one level may set it.
    pub row_pitch: u32,
    /// First level of the view.
    pub first_level: u32,
    /// Levels of the view.
    pub view_levels: u32,
    /// First layer of the view.
    pub first_layer: u32,
    /// Layers of the view.
    pub view_layers: u32,
}

/// How texels are picked.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Filter {
    /// The nearest one.
    #[default]
    Point,
    /// Weighted mean of the neighbours.
    Linear,
}

/// What a coordinate outside the image means.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum AddressMode {
    /// The image repeats.
    #[default]
    Wrap,
    /// It repeats, every other time mirrored.
    Mirror,
    /// The edge texel.
    Clamp,
    /// The border colour.
    Border,
    /// Mirrored once about 0, then the edge texel.
    MirrorOnce,
}

/// The test of a comparison sampler: `reference OP texel`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Comparison {
    Never,
    Less,
    Equal,
    LessEqual,
    Greater,
    NotEqual,
    GreaterEqual,
    Always,
}

/// A sampler.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Sampler {
    /// Within a level when magnifying.
    pub mag: Filter,
    /// Within a level when minifying.
    pub min: Filter,
    /// Between levels.
    pub mip: Filter,
    /// For the u, v and w coordinate.
    pub address: [AddressMode; 3],
    /// The test, if this is a comparison sampler.
    pub comparison: Option<Comparison>,
    /// 1 to 16; above 1 minification is anisotropic.
    pub max_anisotropy: u32,
    /// Added to the level before clamping. Not a NaN.
    pub lod_bias: f32,
    /// Smallest level. Not a NaN.
    pub min_lod: f32,
    /// Largest level. Not a NaN.
    pub max_lod: f32,
    /// Border colour, as the bits a texel of the image decodes to.
    pub border: [u32; 4],
}

impl Default for Sampler {
    /// Point filters, wrapping, every level.
    fn default() -> Self {
        Self {
            mag: Filter::Point,
            min: Filter::Point,
            mip: Filter::Point,
            address: [AddressMode::Wrap; 3],
            comparison: None,
            max_anisotropy: 1,
            lod_bias: 0.0,
            min_lod: 0.0,
            max_lod: f32::MAX,
            border: [0; 4],
        }
    }
}

/// Words that are no descriptor.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("descriptor word {word} is {value:#010x}: {rule}")]
pub struct BadDescriptor {
    /// Which of the 16 words.
    pub word: u32,
    /// What it holds.
    pub value: u32,
    /// What it must hold.
    pub rule: &'static str,
}

const FILTERS: [Filter; 2] = [Filter::Point, Filter::Linear];
const MODES: [AddressMode; 5] = [
    AddressMode::Wrap,
    AddressMode::Mirror,
    AddressMode::Clamp,
    AddressMode::Border,
    AddressMode::MirrorOnce,
];
const COMPARISONS: [Comparison; 8] = [
    Comparison::Never,
    Comparison::Less,
    Comparison::Equal,
    Comparison::LessEqual,
    Comparison::Greater,
    Comparison::NotEqual,
    Comparison::GreaterEqual,
    Comparison::Always,
];
const DIMS: [ImageDim; 4] = [ImageDim::D1, ImageDim::D2, ImageDim::D3, ImageDim::Cube];

impl Descriptor {
    /// The 16 words. Decoding them gives the same descriptor, if its fields keep
    /// the rules written beside them.
    pub fn encode(&self) -> [u32; 16] {
        let mut w = [0; 16];
        match *self {
            Self::Null => return w,
            Self::Buffer(b) => {
                w[0] = MAGIC | 1;
                put64(&mut w, 1, b.address.0);
                put64(&mut w, 3, b.bytes);
                w[5] = b.stride;
            }
            Self::TypedBuffer(b) => {
                w[0] = MAGIC | 2;
                put64(&mut w, 1, b.address.0);
                put64(&mut w, 3, b.bytes);
                w[5] = b.format.number();
            }
            Self::Image(i) => {
                w[0] = MAGIC | 3;
                put64(&mut w, 1, i.address.0);
                w[3] = number(&DIMS, i.dim) | i.format.number() << 16;
                w[4..14].copy_from_slice(&[
                    i.width,
                    i.height,
                    i.depth,
                    i.layers,
                    i.levels,
                    i.row_pitch,
                    i.first_level,
                    i.view_levels,
                    i.first_layer,
                    i.view_layers,
                ]);
            }
            Self::Sampler(s) => {
                w[0] = MAGIC | 4;
                w[1] = bytes(&[s.mag, s.min, s.mip].map(|f| number(&FILTERS, f)));
                w[2] = bytes(&s.address.map(|m| number(&MODES, m)));
                w[3] = s.comparison.map_or(0, |c| number(&COMPARISONS, c) + 1);
                w[4] = s.max_anisotropy;
                w[5] = s.lod_bias.to_bits();
                w[6] = s.min_lod.to_bits();
                w[7] = s.max_lod.to_bits();
                w[8..12].copy_from_slice(&s.border);
            }
            Self::UserData { first, count } => {
                w[0] = MAGIC | 5;
                w[1] = first;
                w[2] = count;
            }
        }
        w
    }

    /// The 64 bytes, as they lie in memory.
    pub fn to_bytes(&self) -> [u8; 64] {
        let mut out = [0; 64];
        for (chunk, word) in out.chunks_exact_mut(4).zip(self.encode()) {
            chunk.copy_from_slice(&word.to_le_bytes());
        }
        out
    }

    /// Reads 16 words.
    ///
    /// # Errors
    /// The first word that breaks a rule.
    pub fn decode(w: &[u32; 16]) -> Result<Self, BadDescriptor> {
        if w[0] == 0 {
            unused(w, 1)?;
            return Ok(Self::Null);
        }
        match w[0] ^ MAGIC {
            1 => {
                unused(w, 6)?;
                let b = Buffer { address: address(w)?, bytes: get64(w, 3), stride: w[5] };
                within(w, b.address, b.bytes)?;
                Ok(Self::Buffer(b))
            }
            2 => {
                unused(w, 6)?;
                let format = TexelFormat::from_number(w[5]).ok_or(bad(w, 5, NO_FORMAT))?;
                let b = TypedBuffer { address: address(w)?, bytes: get64(w, 3), format };
                within(w, b.address, b.bytes)?;
                Ok(Self::TypedBuffer(b))
            }
            3 => decode_image(w).map(Self::Image),
            4 => decode_sampler(w).map(Self::Sampler),
            5 => {
                unused(w, 3)?;
                Ok(Self::UserData { first: w[1], count: w[2] })
            }
            _ => Err(bad(w, 0, "no descriptor starts so")),
        }
    }

    /// Reads 64 bytes, as they lie in memory.
    ///
    /// # Errors
    /// As [`Self::decode`].
    pub fn from_bytes(bytes: &[u8; 64]) -> Result<Self, BadDescriptor> {
        let mut w = [0; 16];
        for (word, chunk) in w.iter_mut().zip(bytes.chunks_exact(4)) {
            *word = u32::from_le_bytes([chunk[0], chunk[1], chunk[2], chunk[3]]);
        }
        Self::decode(&w)
    }
}

const NO_FORMAT: &str = "no texel format has that number";

fn bad(w: &[u32; 16], word: usize, rule: &'static str) -> BadDescriptor {
    BadDescriptor { word: word as u32, value: w[word], rule }
}

/// Refuses set bits in the words from `from` on.
fn unused(w: &[u32; 16], from: usize) -> Result<(), BadDescriptor> {
    match (from..16).find(|&i| w[i] != 0) {
        Some(i) => Err(bad(w, i, "this kind does not use it, so it must be 0")),
        None => Ok(()),
    }
}

fn put64(w: &mut [u32; 16], at: usize, value: u64) {
    w[at] = value as u32;
    w[at + 1] = (value >> 32) as u32;
}

fn get64(w: &[u32; 16], at: usize) -> u64 {
    u64::from(w[at + 1]) << 32 | u64::from(w[at])
}

fn address(w: &[u32; 16]) -> Result<GpuAddress, BadDescriptor> {
    if w[2] >> 16 != 0 {
        return Err(bad(w, 2, "addresses have 48 bits"));
    }
    Ok(GpuAddress(get64(w, 1)))
}

/// A buffer ends inside the 48-bit address space.
fn within(w: &[u32; 16], address: GpuAddress, bytes: u64) -> Result<(), BadDescriptor> {
    match address.0.checked_add(bytes) {
        Some(end) if end <= 1 << 48 => Ok(()),
        _ => Err(bad(w, 4, "the buffer must end inside the 48-bit address space")),
    }
}

/// Index of `value` in `list`, which holds every value of its type.
fn number<T: PartialEq + Copy>(list: &[T], value: T) -> u32 {
    list.iter().position(|&x| x == value).unwrap_or(0) as u32
}

fn bytes(values: &[u32; 3]) -> u32 {
    values[0] | values[1] << 8 | values[2] << 16
}

/// Three bytes of `w[word]`, each an index into `list`.
fn three<T: Copy>(
    w: &[u32; 16],
    word: usize,
    list: &[T],
    rule: &'static str,
) -> Result<[T; 3], BadDescriptor> {
    let get = |i: u32| list.get((w[word] >> (8 * i) & 0xFF) as usize).copied();
    match (get(0), get(1), get(2), w[word] >> 24) {
        (Some(a), Some(b), Some(c), 0) => Ok([a, b, c]),
        _ => Err(bad(w, word, rule)),
    }
}

/// The mip levels of a full chain.
pub const fn full_chain(width: u32, height: u32, depth: u32) -> u32 {
    32 - (width | height | depth | 1).leading_zeros()
}

fn decode_image(w: &[u32; 16]) -> Result<Image, BadDescriptor> {
    unused(w, 14)?;
    let dim = *DIMS.get((w[3] & 0xFFFF) as usize).ok_or(bad(
        w,
        3,
        "the low half must be 0 to 3: 1D, 2D, 3D, cube",
    ))?;
    let format = TexelFormat::from_number(w[3] >> 16).ok_or(bad(w, 3, NO_FORMAT))?;
    let image = Image {
        address: address(w)?,
        dim,
        format,
        width: w[4],
        height: w[5],
        depth: w[6],
        layers: w[7],
        levels: w[8],
        row_pitch: w[9],
        first_level: w[10],
        view_levels: w[11],
        first_layer: w[12],
        view_layers: w[13],
    };
    match image.broken_rule() {
        Some((word, rule)) => Err(bad(w, word, rule)),
        None => Ok(image),
    }
}

impl Image {
    /// A view of all of an image with the layout's own row pitch.
    pub const fn whole(
        address: GpuAddress,
        dim: ImageDim,
        format: TexelFormat,
        [width, height, depth]: [u32; 3],
        layers: u32,
        levels: u32,
    ) -> Self {
        Self {
            address,
            dim,
            format,
            width,
            height,
            depth,
            layers,
            levels,
            row_pitch: 0,
            first_level: 0,
            view_levels: levels,
            first_layer: 0,
            view_layers: layers,
        }
    }

    /// The first field that breaks a rule: the word that carries it and what it
    /// must hold. `None` if the descriptor can be encoded.
    pub fn broken_rule(&self) -> Option<(usize, &'static str)> {
        let extent = |v: u32| (1..=MAX_EXTENT).contains(&v);
        let texel = self.format.bytes();
        let (flat, deep, cube) = match self.dim {
            ImageDim::D1 => (true, false, false),
            ImageDim::D2 => (false, false, false),
            ImageDim::D3 => (false, true, false),
            ImageDim::Cube => (false, false, true),
        };
        if self.address.0 >> 48 != 0 {
            Some((2, "addresses have 48 bits"))
        } else if !self.address.is_aligned(4) {
            Some((1, "an image must start at a multiple of 4 bytes"))
        } else if !extent(self.width) {
            Some((4, "the width must be 1 to 16384"))
        } else if !extent(self.height) || flat && self.height != 1 {
            Some((5, "the height must be 1 to 16384, and 1 for 1D"))
        } else if cube && self.height != self.width {
            Some((5, "a cube's height must be its width"))
        } else if !extent(self.depth) || !deep && self.depth != 1 {
            Some((6, "the depth must be 1 to 16384, and 1 unless 3D"))
        } else if !(1..=MAX_LAYERS).contains(&self.layers) || deep && self.layers != 1 {
            Some((7, "the layers must be 1 to 2048, and 1 for 3D"))
        } else if !(1..=full_chain(self.width, self.height, self.depth)).contains(&self.levels) {
            Some((8, "the levels must be 1 up to a full mip chain"))
        } else if self.row_pitch != 0
            && (self.levels != 1
                || !self.row_pitch.is_multiple_of(4)
                || u64::from(self.row_pitch) < u64::from(self.width) * u64::from(texel)
                || self.row_pitch > 1 << 20)
        {
            Some((9, "a row pitch of its own needs one level, a multiple of 4, and a whole row"))
        } else if self.first_level >= self.levels {
            Some((10, "the view must start at a level that is there"))
        } else if !(1..=self.levels - self.first_level).contains(&self.view_levels) {
            Some((11, "the view must end at a level that is there"))
        } else if self.first_layer >= self.layers {
            Some((12, "the view must start at a layer that is there"))
        } else if !(1..=self.layers - self.first_layer).contains(&self.view_layers)
            || cube && !self.view_layers.is_multiple_of(6)
        {
            Some((13, "the view must end at a layer that is there, and hold six per cube"))
        } else {
            None
        }
    }
}

fn decode_sampler(w: &[u32; 16]) -> Result<Sampler, BadDescriptor> {
    unused(w, 12)?;
    let [mag, min, mip] = three(w, 1, &FILTERS, "three filters: 0 point, 1 linear")?;
    let address = three(w, 2, &MODES, "three address modes, 0 to 4")?;
    let comparison = match w[3] {
        0 => None,
        n => Some(*COMPARISONS.get(n as usize - 1).ok_or(bad(
            w,
            3,
            "the comparison must be 0 (none) to 8",
        ))?),
    };
    if !(1..=16).contains(&w[4]) {
        return Err(bad(w, 4, "the anisotropy must be 1 to 16"));
    }
    let float = |i: usize| match f32::from_bits(w[i]) {
        f if f.is_nan() => Err(bad(w, i, "must not be a NaN")),
        f => Ok(f),
    };
    Ok(Sampler {
        mag,
        min,
        mip,
        address,
        comparison,
        max_anisotropy: w[4],
        lod_bias: float(5)?,
        min_lod: float(6)?,
        max_lod: float(7)?,
        border: [w[8], w[9], w[10], w[11]],
    })
}

#[cfg(test)]
mod tests;
