//! The texels around a place, and their blend.

#![allow(clippy::needless_range_loop, reason = "indices go into arrays of arrays")]

use super::{Context, Floats, cube};
use crate::descriptor::{AddressMode, Comparison};
use wavefence_base::{ComponentKind, LaneMask};
use wavefence_memory::port::{Lanes, Port};
use wavefence_shader::ir::ImageDim;

/// `a + f * (b - a)` of float bits; exactly `a` where `b` is the same or has no
/// weight, whatever `b` is.
pub(super) fn lerp(a: u32, b: u32, f: f32) -> u32 {
    if a == b || f == 0.0 {
        return a;
    }
    let (a, b) = (f32::from_bits(a), f32::from_bits(b));
    (a + f * (b - a)).to_bits()
}

/// Where the taps of each lane lie in its level.
pub(super) struct Taps<'a> {
    level: &'a Lanes,
    mask: LaneMask,
    /// Lanes with more than one tap.
    linear: LaneMask,
    /// First texel in each dimension, before the address mode.
    first: [[i64; 64]; 3],
    /// Weight of the next one.
    weight: [Floats; 3],
}

/// Where a tap is.
enum Place {
    Texel(u32),
    Border,
    /// Beyond the corner of a cube's face.
    Corner,
}

impl<'a> Taps<'a> {
    pub fn new(
        context: &Context<'_>,
        at: &[Floats; 3],
        level: &'a Lanes,
        linear: LaneMask,
        mask: LaneMask,
    ) -> Self {
        let mut first = [[0; 64]; 3];
        let mut weight = [[0.0; 64]; 3];
        for lane in mask.iter() {
            let l = lane as usize;
            let size = context.geometry.levels[level[l] as usize].size;
            for c in 0..context.dims {
                let texel = f64::from(at[c][l]) * f64::from(size[c]);
                let offset = context.request.offset.get(c).map_or(0, |o| o[l] as i32);
                let texel = if linear.contains(lane) { texel - 0.5 } else { texel };
                // A NaN gives texel 0; what is far out stays far out.
                let floor = texel.floor();
                first[c][l] = (floor.clamp(-1e15, 1e15) as i64) + i64::from(offset);
                if context.image.dim == ImageDim::Cube && !linear.contains(lane) {
                    // A direction right on an edge stays on its face.
                    first[c][l] = first[c][l].clamp(0, i64::from(size[c]) - 1);
                }
                let rest = (texel - floor) as f32;
                weight[c][l] = if linear.contains(lane) && rest.is_finite() { rest } else { 0.0 };
            }
        }
        Self { level, mask, linear, first, weight }
    }

    fn place(&self, context: &Context<'_>, lane: usize, tap: usize) -> Place {
        let level = self.level[lane];
        let size = context.geometry.levels[level as usize].size;
        let at = |c: usize| self.first[c][lane] + (tap >> c & 1) as i64;
        let mut layer = context.layer[lane];
        let mut texel = [0; 3];
        if context.image.dim == ImageDim::Cube {
            let n = i64::from(size[0]);
            let (x, y) = (at(0), at(1));
            let out = |v: i64| v < 0 || v >= n;
            texel = match (out(x), out(y)) {
                (false, false) => [x as u32, y as u32, 0],
                (true, true) => return Place::Corner,
                (true, false) | (false, true) => {
                    let near = |v: i64| v.clamp(-1, n);
                    let (face, u, v) = cube::across(layer % 6, near(x), near(y), size[0]);
                    layer = layer / 6 * 6 + face;
                    [u, v, 0]
                }
            };
        } else {
            for c in 0..context.dims {
                match wrap(at(c), size[c], context.sampler.address[c]) {
                    Some(i) => texel[c] = i,
                    None => return Place::Border,
                }
            }
        }
        match context.geometry.offset(level, texel, layer) {
            Some(offset) => Place::Texel(offset),
            None => Place::Border,
        }
    }

    /// The values of one tap; with a comparison, its outcome in component 0.
    fn fetch(
        &self,
        context: &Context<'_>,
        tap: usize,
        lanes: LaneMask,
        port: &mut dyn Port,
        corner: &mut LaneMask,
    ) -> [Lanes; 4] {
        let mut offsets = [0; 64];
        let (mut inside, mut border) = (LaneMask::EMPTY, LaneMask::EMPTY);
        for lane in lanes.iter() {
            match self.place(context, lane as usize, tap) {
                Place::Texel(offset) => {
                    offsets[lane as usize] = offset;
                    inside.0 |= 1 << lane;
                }
                Place::Border => border.0 |= 1 << lane,
                Place::Corner => corner.0 |= 1 << lane,
            }
        }
        let mut out = [[0; 64]; 4];
        context.texels.load(port, &offsets, inside, &mut out);
        for lane in border.iter() {
            for (o, b) in out.iter_mut().zip(context.sampler.border) {
                o[lane as usize] = b;
            }
        }
        if let (Some(reference), Some(test)) = (&context.compare, context.sampler.comparison) {
            let unorm = context.image.format.kind() == ComponentKind::Unorm;
            for lane in lanes.iter() {
                let l = lane as usize;
                let r = if unorm { reference[l].clamp(0.0, 1.0) } else { reference[l] };
                let holds = compare(test, r, f32::from_bits(out[0][l]));
                out[0][l] = f32::from(u8::from(holds)).to_bits();
            }
        }
        out
    }

    /// Every tap of a linear filter in two dimensions.
    pub fn fetch_all(&self, context: &Context<'_>, port: &mut dyn Port) -> [[Lanes; 4]; 4] {
        let mut corners = [LaneMask::EMPTY; 4];
        let mut values = [[[0; 64]; 4]; 4];
        for (tap, value) in values.iter_mut().enumerate() {
            *value = self.fetch(context, tap, self.mask, port, &mut corners[tap]);
        }
        for (tap, corner) in corners.iter().enumerate() {
            fill_corner(&mut values, tap, *corner);
        }
        values
    }

    /// The weighted mean of the taps.
    pub fn blend(&self, context: &Context<'_>, port: &mut dyn Port) -> [Lanes; 4] {
        let taps = if self.linear.is_empty() { 1 } else { 1 << context.dims };
        let mut values = [[[0; 64]; 4]; 8];
        let mut corners = [LaneMask::EMPTY; 8];
        for (tap, value) in values.iter_mut().enumerate().take(taps) {
            let mut lanes = LaneMask::EMPTY;
            for lane in self.mask.iter() {
                // Only taps that weigh something are read (a corner needs all).
                let cube = context.image.dim == ImageDim::Cube && self.linear.contains(lane);
                let weighs = (0..context.dims)
                    .all(|c| tap >> c & 1 == 0 || cube || self.weight[c][lane as usize] != 0.0);
                lanes.0 |= u64::from(weighs) << lane;
            }
            *value = self.fetch(context, tap, lanes, port, &mut corners[tap]);
        }
        for (tap, corner) in corners.iter().enumerate().take(4) {
            fill_corner(&mut values, tap, *corner);
        }
        for c in 0..context.dims {
            if taps == 1 {
                break;
            }
            let step = 1 << c;
            for tap in (0..taps).step_by(2 * step) {
                for component in 0..4 {
                    for lane in self.linear.iter() {
                        let l = lane as usize;
                        let f = self.weight[c][l];
                        let b = values[tap + step][component][l];
                        let a = &mut values[tap][component][l];
                        *a = lerp(*a, b, f);
                    }
                }
            }
        }
        values[0]
    }
}

/// Gives lanes whose tap lies beyond a cube's corner the mean of the others.
fn fill_corner(values: &mut [[Lanes; 4]], tap: usize, lanes: LaneMask) {
    for lane in lanes.iter() {
        let l = lane as usize;
        for c in 0..4 {
            let sum: f32 =
                (0..4).filter(|&t| t != tap).map(|t| f32::from_bits(values[t][c][l])).sum();
            values[tap][c][l] = (sum / 3.0).to_bits();
        }
    }
}

/// The texel that a coordinate means, `None` for the border.
fn wrap(i: i64, size: u32, mode: AddressMode) -> Option<u32> {
    let n = i64::from(size);
    let i = match mode {
        AddressMode::Wrap => i.rem_euclid(n),
        AddressMode::Mirror => {
            let j = i.rem_euclid(2 * n);
            if j < n { j } else { 2 * n - 1 - j }
        }
        AddressMode::Clamp => i.clamp(0, n - 1),
        AddressMode::Border if i < 0 || i >= n => return None,
        AddressMode::Border => i,
        AddressMode::MirrorOnce => (if i < 0 { -1 - i } else { i }).min(n - 1),
    };
    Some(i as u32)
}

fn compare(test: Comparison, reference: f32, texel: f32) -> bool {
    match test {
        Comparison::Never => false,
        Comparison::Less => reference < texel,
        Comparison::Equal => reference == texel,
        Comparison::LessEqual => reference <= texel,
        Comparison::Greater => reference > texel,
        Comparison::NotEqual => reference != texel,
        Comparison::GreaterEqual => reference >= texel,
        Comparison::Always => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn address_modes() {
        let row = |mode| (-5..9).map(|i| wrap(i, 4, mode)).collect::<Vec<_>>();
        let some = |v: [u32; 14]| v.map(Some).to_vec();
        assert_eq!(row(AddressMode::Wrap), some([3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0]));
        assert_eq!(row(AddressMode::Mirror), some([3, 3, 2, 1, 0, 0, 1, 2, 3, 3, 2, 1, 0, 0]));
        assert_eq!(row(AddressMode::Clamp), some([0, 0, 0, 0, 0, 0, 1, 2, 3, 3, 3, 3, 3, 3]));
        assert_eq!(row(AddressMode::MirrorOnce), some([3, 3, 2, 1, 0, 0, 1, 2, 3, 3, 3, 3, 3, 3]));
        let border = row(AddressMode::Border);
        assert_eq!(border[4..10], [None, Some(0), Some(1), Some(2), Some(3), None]);
    }

    #[test]
    fn lerp_keeps_what_has_no_weight() {
        let bits = f32::to_bits;
        assert_eq!(lerp(bits(1.0), bits(f32::NAN), 0.0), bits(1.0));
        assert_eq!(lerp(bits(0.1), bits(0.1), 0.3), bits(0.1));
        assert_eq!(lerp(bits(f32::INFINITY), bits(f32::INFINITY), 0.5), bits(f32::INFINITY));
        assert_eq!(lerp(bits(2.0), bits(4.0), 0.25), bits(2.5));
    }
}
