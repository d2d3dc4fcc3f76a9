//! The texels around a place, and their blend.

#![allow(clippy::needless_range_loop, reason = "indices go into arrays of arrays")]

use super::{Context, Floats, cube};
use crate::descriptor::{AddressMode, Comparison};
use wavefence_base::{ComponentKind, LaneMask};
use wavefence_memory::port::{Lanes, Port};
use wavefence_shader::ir::ImageDim;

/// `a + f * (b - a)` of float bits; exactly `a` where `b` is the same or has no
/// weight, whatever `b` is.
#[inline]
pub(super) fn lerp(a: u32, b: u32, f: f32) -> u32 {
    let (x, y) = (f32::from_bits(a), f32::from_bits(b));
    let mixed = (x + f * (y - x)).to_bits();
    if a == b || f == 0.0 { a } else { mixed }
}

/// Texels that are further out than this are taken to be this far out.
const FAR: i32 = 1 << 29;

/// The largest whole number not above `v`, and what is left; NaN counts as 0.
#[inline]
fn split(v: f64) -> (i32, f32) {
    const FAR_OUT: f64 = FAR as f64;
    let v = if v > FAR_OUT {
        FAR_OUT
    } else if v >= -FAR_OUT {
        v
    } else if v < -FAR_OUT {
        -FAR_OUT
    } else {
        0.0
    };
    // Plain `floor` is a call where the target has no instruction for it.
    let near = v as i32;
    let whole = if f64::from(near) > v { near - 1 } else { near };
    (whole, (v - f64::from(whole)) as f32)
}

/// Where the taps of each lane lie in its level. Tap t takes, in dimension c, the
/// first or second texel as bit c of t says.
pub(super) struct Taps<'a> {
    level: &'a Lanes,
    mask: LaneMask,
    /// Lanes with more than one tap.
    linear: LaneMask,
    /// First texel in each dimension, before the address mode.
    first: [[i32; 64]; 3],
    /// Weight of the second.
    weight: [Floats; 3],
    /// Lanes where the second weighs anything.
    second: [LaneMask; 3],
}

/// The places of one tap.
struct Places {
    offsets: Lanes,
    inside: LaneMask,
    border: LaneMask,
    /// Lanes beyond the corner of a cube's face.
    corner: LaneMask,
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
        let mut second = [LaneMask::EMPTY; 3];
        let cube = context.image.dim == ImageDim::Cube;
        let half: [f64; 64] = std::array::from_fn(|l| (linear.0 >> l & 1) as f64 / 2.0);
        for c in 0..context.dims {
            let levels = &context.geometry.levels;
            let size: [i32; 64] = std::array::from_fn(|l| levels[level[l] as usize].size[c] as i32);
            let (first, weight) = (&mut first[c], &mut weight[c]);
            for l in 0..64 {
                (first[l], weight[l]) = split(f64::from(at[c][l]) * f64::from(size[l]) - half[l]);
            }
            for l in 0..64 {
                // Point lanes have one tap.
                weight[l] = if half[l] == 0.0 { 0.0 } else { weight[l] };
                second[c].0 |= u64::from(weight[l] != 0.0) << l;
                if cube && half[l] == 0.0 {
                    // A direction right on an edge stays on its face.
                    first[l] = first[l].clamp(0, size[l] - 1);
                }
            }
            second[c] = second[c] & mask;
            if let Some(offset) = context.request.offset.get(c) {
                for (first, &offset) in first.iter_mut().zip(*offset) {
                    *first += (offset as i32).clamp(-FAR, FAR);
                }
            }
        }
        Self { level, mask, linear, first, weight, second }
    }

    /// Places of a tap for `lanes`.
    fn places(&self, context: &Context<'_>, tap: usize, lanes: LaneMask) -> Places {
        let mut p = Places {
            offsets: [0; 64],
            inside: LaneMask::EMPTY,
            border: LaneMask::EMPTY,
            corner: LaneMask::EMPTY,
        };
        let cube = context.image.dim == ImageDim::Cube;
        // What belongs to a level, kept from lane to lane.
        let mut known = u32::MAX;
        let (mut size, mut steps, mut start) = ([0; 3], [0; 4], 0);
        for lane in lanes.iter() {
            let l = lane as usize;
            if self.level[l] != known {
                known = self.level[l];
                let level = &context.geometry.levels[known as usize];
                (size, start) = (level.size, level.offset as u32);
                steps = context.geometry.steps(known);
            }
            let at = |c: usize| i64::from(self.first[c][l]) + (tap >> c & 1) as i64;
            let mut layer = context.layer[l];
            let mut texel = [0; 3];
            if cube {
                match on_cube(layer % 6, at(0), at(1), size[0]) {
                    Some((face, u, v)) => {
                        layer = layer / 6 * 6 + face;
                        texel = [u, v, 0];
                    }
                    None => {
                        p.corner.0 |= 1 << lane;
                        continue;
                    }
                }
            } else {
                let mut border = false;
                for c in 0..context.dims {
                    match wrap(at(c), size[c], context.sampler.address[c]) {
                        Some(i) => texel[c] = i,
                        None => border = true,
                    }
                }
                if border {
                    p.border.0 |= 1 << lane;
                    continue;
                }
            }
            let mut offset = start.wrapping_add(layer.wrapping_mul(steps[3]));
            for c in 0..context.dims {
                offset = offset.wrapping_add(texel[c].wrapping_mul(steps[c]));
            }
            p.offsets[l] = offset;
            p.inside.0 |= 1 << lane;
        }
        p
    }

    /// The values of one tap; with a comparison, its outcome in component 0. Also
    /// the lanes that have none, at the corner of a cube.
    fn fetch(
        &self,
        context: &Context<'_>,
        tap: usize,
        lanes: LaneMask,
        port: &mut dyn Port,
        out: &mut [Lanes; 4],
    ) -> LaneMask {
        let p = self.places(context, tap, lanes);
        context.texels.load(port, &p.offsets, p.inside, out);
        for lane in p.border.iter() {
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
        p.corner
    }

    /// Every tap of a linear filter in two dimensions.
    pub fn fetch_all(&self, context: &Context<'_>, port: &mut dyn Port) -> [[Lanes; 4]; 4] {
        let mut corners = [LaneMask::EMPTY; 4];
        let mut values = [[[0; 64]; 4]; 4];
        for (tap, value) in values.iter_mut().enumerate() {
            corners[tap] = self.fetch(context, tap, self.mask, port, value);
        }
        for (tap, corner) in corners.iter().enumerate() {
            fill_corner(&mut values, tap, *corner);
        }
        values
    }

    /// The weighted mean of the taps.
    pub fn blend(&self, context: &Context<'_>, port: &mut dyn Port) -> [Lanes; 4] {
        match (self.linear.is_empty(), context.dims) {
            (true, _) => self.blend_of::<1>(context, 0, port),
            (false, 1) => self.blend_of::<2>(context, 1, port),
            (false, 2) => self.blend_of::<4>(context, 2, port),
            (false, _) => self.blend_of::<8>(context, 3, port),
        }
    }

    /// The same with `N` taps in `dims` dimensions.
    fn blend_of<const N: usize>(
        &self,
        context: &Context<'_>,
        dims: usize,
        port: &mut dyn Port,
    ) -> [Lanes; 4] {
        let mut values = [[[0; 64]; 4]; N];
        let mut corners = [LaneMask::EMPTY; N];
        let cube = context.image.dim == ImageDim::Cube;
        for (tap, value) in values.iter_mut().enumerate() {
            let mut lanes = self.mask;
            for (c, &second) in self.second.iter().enumerate().take(dims) {
                if tap >> c & 1 == 1 {
                    // Only taps that weigh something are read (a corner needs all).
                    lanes = lanes & if cube { self.linear } else { second };
                }
            }
            if !lanes.is_empty() {
                corners[tap] = self.fetch(context, tap, lanes, port, value);
            }
        }
        for (tap, corner) in corners.iter().enumerate() {
            fill_corner(&mut values, tap, *corner);
        }
        for c in 0..dims {
            let step = 1 << c;
            for tap in (0..N).step_by(2 * step) {
                for component in 0..4 {
                    let b = values[tap + step][component];
                    let a = &mut values[tap][component];
                    for l in 0..64 {
                        a[l] = lerp(a[l], b[l], self.weight[c][l]);
                    }
                }
            }
        }
        values[0]
    }
}

/// Face and texel of a place on or just beyond a cube's face; `None` beyond a
/// corner.
fn on_cube(face: u32, x: i64, y: i64, size: u32) -> Option<(u32, u32, u32)> {
    let n = i64::from(size);
    let out = |v: i64| v < 0 || v >= n;
    match (out(x), out(y)) {
        (false, false) => Some((face, x as u32, y as u32)),
        (true, true) => None,
        (true, false) | (false, true) => {
            Some(cube::across(face, x.clamp(-1, n), y.clamp(-1, n), size))
        }
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
    if (0..n).contains(&i) {
        // Every mode keeps what is inside; a division is worth avoiding.
        return Some(i as u32);
    }
    let i = match mode {
        AddressMode::Wrap => i.rem_euclid(n),
        AddressMode::Mirror => {
            let j = i.rem_euclid(2 * n);
            if j < n { j } else { 2 * n - 1 - j }
        }
        AddressMode::Clamp => i.clamp(0, n - 1),
        AddressMode::Border => return None,
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
