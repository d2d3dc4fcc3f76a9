//! Where texels lie. The layout is ours, linear, and fits buffer copies:
//!
//! - A texel's bytes are those of its format; texels of a row are consecutive.
//! - Rows start 256 bytes apart or a multiple of that (a descriptor may set
//!   another pitch for an image of one level); slices of a 3D level follow each
//!   other without a gap.
//! - The levels of a layer follow each other from the largest on, each at a
//!   multiple of 512 bytes; so do the layers.

use crate::descriptor::Image;
use wavefence_base::GpuAddress;

/// Rows start at multiples of this many bytes.
pub const ROW_ALIGNMENT: u64 = 256;
/// Levels and layers start at multiples of this many bytes.
pub const LEVEL_ALIGNMENT: u64 = 512;
/// Most levels of an image.
pub const MAX_LEVELS: usize = 15;

/// One mip level.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Level {
    /// Its first byte, from the first byte of its layer.
    pub offset: u64,
    /// Texels in each dimension.
    pub size: [u32; 3],
    /// Bytes from row to row.
    pub row_pitch: u64,
    /// Bytes from slice to slice.
    pub slice_pitch: u64,
}

impl Level {
    /// Bytes of the level with all its slices.
    pub fn bytes(&self) -> u64 {
        self.slice_pitch * u64::from(self.size[2])
    }
}

impl Image {
    /// Level `level` of the image (not of the view).
    pub fn level(&self, level: u32) -> Level {
        let mut offset = 0;
        for l in 0..level {
            offset += self.level_at(l, 0).bytes().next_multiple_of(LEVEL_ALIGNMENT);
        }
        self.level_at(level, offset)
    }

    fn level_at(&self, level: u32, offset: u64) -> Level {
        let size = [self.width, self.height, self.depth].map(|s| (s >> level).max(1));
        let row = u64::from(size[0]) * u64::from(self.format.bytes());
        let row_pitch = match self.row_pitch {
            0 => row.next_multiple_of(ROW_ALIGNMENT),
            pitch => u64::from(pitch),
        };
        Level { offset, size, row_pitch, slice_pitch: row_pitch * u64::from(size[1]) }
    }

    /// Bytes from layer to layer.
    pub fn layer_pitch(&self) -> u64 {
        let last = self.level(self.levels - 1);
        (last.offset + last.bytes()).next_multiple_of(LEVEL_ALIGNMENT)
    }

    /// Bytes of the whole image in memory.
    pub fn bytes(&self) -> u64 {
        self.layer_pitch() * u64::from(self.layers)
    }
}

/// The levels and layers of a view, ready for many texels.
pub(crate) struct Geometry {
    /// First byte of the view's first layer.
    pub base: GpuAddress,
    /// Bytes from there to the image's end.
    pub len: u64,
    /// The view's levels.
    pub levels: [Level; MAX_LEVELS],
    /// How many of them there are.
    pub count: u32,
    /// The view's layers.
    pub layers: u32,
    layer_pitch: u64,
    texel: u64,
}

impl Geometry {
    pub fn of(image: &Image) -> Self {
        let mut levels = [Level::default(); MAX_LEVELS];
        let mut next = image.level(image.first_level);
        for (i, level) in levels.iter_mut().enumerate().take(image.view_levels as usize) {
            let number = image.first_level + i as u32;
            next = image.level_at(number, next.offset);
            *level = next;
            next.offset += next.bytes().next_multiple_of(LEVEL_ALIGNMENT);
        }
        let layer_pitch = image.layer_pitch();
        let skipped = layer_pitch * u64::from(image.first_layer);
        Self {
            base: image.address.offset(skipped),
            len: layer_pitch * u64::from(image.layers) - skipped,
            levels,
            count: image.view_levels,
            layers: image.view_layers,
            layer_pitch,
            texel: image.format.bytes().into(),
        }
    }

    /// Bytes that a step in each dimension of a level, and then to the next
    /// layer, goes. The view has at most 4 GiB, so sums of steps that stay in it
    /// are right modulo 2^32.
    pub fn steps(&self, level: u32) -> [u32; 4] {
        let l = &self.levels[level as usize];
        [self.texel, l.row_pitch, l.slice_pitch, self.layer_pitch].map(|b| b as u32)
    }

    /// Bytes from [`Self::base`] to a texel, if it is there. Level and layer are
    /// the view's.
    pub fn offset(&self, level: u32, [x, y, z]: [u32; 3], layer: u32) -> Option<u32> {
        if level >= self.count || layer >= self.layers {
            return None;
        }
        let l = &self.levels[level as usize];
        if x >= l.size[0] || y >= l.size[1] || z >= l.size[2] {
            return None;
        }
        let at = u64::from(layer) * self.layer_pitch
            + l.offset
            + u64::from(z) * l.slice_pitch
            + u64::from(y) * l.row_pitch
            + u64::from(x) * self.texel;
        u32::try_from(at).ok()
    }
}
