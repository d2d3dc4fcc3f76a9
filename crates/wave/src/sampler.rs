//! Sampling: filters, address modes, level selection, gather and comparison.
//!
//! Weights are full 32-bit floats. A filtered value is a chain of
//! `a + f * (b - a)`, x first, then y, z and level, without contraction, and
//! exactly `a` where the two are equal; so a constant image samples to its value.
//! The level is picked as D3D says: at 0 or below the magnifying filter is used,
//! a point mip filter takes `floor(lod + 0.5)`. The sampler's bias is added to
//! explicit levels too (assumed). Cubes are seamless: a neighbour beyond a face's
//! edge is the texel of the next face, and the missing fourth neighbour at a
//! corner is the mean of the other three.

mod cube;
mod lod;
mod taps;

use crate::descriptor::{Filter, Image, Sampler};
use crate::image::{Geometry, Request, Texels, dimensions, give};
use lod::{Derivatives, Footprint};
use taps::Taps;
use wavefence_base::LaneMask;
use wavefence_memory::port::{Lanes, Port};
use wavefence_shader::ir::{ImageDim, ImageOp, Lod, Reg};

/// One float per lane.
type Floats = [f32; 64];

fn floats(lanes: &Lanes) -> Floats {
    lanes.map(f32::from_bits)
}

/// Everything that does not change between the taps of one instruction.
struct Context<'a> {
    request: &'a Request<'a>,
    image: &'a Image,
    geometry: &'a Geometry,
    sampler: &'a Sampler,
    texels: Texels,
    /// Dimensions within a layer.
    dims: usize,
    /// Coordinates, 0 to 1 across the image; of cubes, across the face.
    at: [Floats; 3],
    /// Layer of the view; of cubes, face and all.
    layer: Lanes,
    /// Comparison reference.
    compare: Option<Floats>,
}

/// Runs a sample, a gather or a level query.
#[allow(clippy::too_many_arguments, reason = "handed on from one place")]
pub(crate) fn run<'r>(
    op: &ImageOp,
    request: &Request<'_>,
    image: &Image,
    geometry: &Geometry,
    sampler: &Sampler,
    read: &dyn Fn(Reg) -> &'r Lanes,
    port: &mut dyn Port,
    out: &mut [Lanes],
) {
    let compare = match op {
        ImageOp::Sample { compare, .. } | ImageOp::Gather { compare, .. } => *compare,
        ImageOp::Load { .. }
        | ImageOp::Store
        | ImageOp::Size { .. }
        | ImageOp::Levels
        | ImageOp::QueryLod
        | ImageOp::Atomic(_) => None,
    };
    let compare = compare.map(|r| floats(read(r)));
    let context = Context::new(request, image, geometry, sampler, compare);
    match op {
        ImageOp::Sample { lod, min_lod, .. } => {
            let min_lod = min_lod.map(|r| floats(read(r)));
            let footprint = context.footprint(lod, min_lod.as_ref(), read);
            give(out, &context.sample(&footprint, port));
        }
        ImageOp::Gather { component, .. } => give(out, &context.gather(*component, port)),
        ImageOp::QueryLod => {
            let derivatives = context.implicit();
            let raw =
                lod::select(&derivatives, context.extent(), 1).lod.map(|l| l + sampler.lod_bias);
            let clamped = raw.map(|l| lod::clamp(l, sampler, geometry.count));
            give(out, &[clamped.map(f32::to_bits), raw.map(f32::to_bits)]);
        }
        // The caller runs these.
        ImageOp::Load { .. }
        | ImageOp::Store
        | ImageOp::Size { .. }
        | ImageOp::Levels
        | ImageOp::Atomic(_) => {}
    }
}

impl<'a> Context<'a> {
    fn new(
        request: &'a Request<'a>,
        image: &'a Image,
        geometry: &'a Geometry,
        sampler: &'a Sampler,
        compare: Option<Floats>,
    ) -> Self {
        let coord = |i: usize| request.coords.get(i).map_or([0.0; 64], |c| floats(c));
        let dims = dimensions(image.dim);
        let mut at = [coord(0), coord(1), coord(2)];
        let mut layer = [0; 64];
        if image.dim == ImageDim::Cube {
            let cubes = geometry.layers / 6;
            let element = coord(3);
            for lane in 0..64 {
                let (face, u, v) = cube::face(at.map(|c| c[lane]));
                at[0][lane] = u;
                at[1][lane] = v;
                layer[lane] = 6 * nearest_layer(element[lane], cubes) + face;
            }
        } else if let Some(element) = request.coords.get(dims) {
            for lane in 0..64 {
                layer[lane] = nearest_layer(f32::from_bits(element[lane]), geometry.layers);
            }
        }
        let texels = request.texels_of(geometry, image);
        Self { request, image, geometry, sampler, texels, dims, at, layer, compare }
    }

    /// Texels of the view's largest level.
    fn extent(&self) -> [u32; 3] {
        let mut size = self.geometry.levels[0].size;
        size[self.dims..].fill(0);
        size
    }

    /// Derivatives over the quad.
    fn implicit(&self) -> Derivatives {
        let coords = self.request.coords;
        let n = if self.image.dim == ImageDim::Cube { 3 } else { self.dims };
        let mut d = Derivatives::default();
        for (c, coord) in coords.iter().enumerate().take(n) {
            (d.x[c], d.y[c]) = lod::quad(&floats(coord), self.request.mask);
        }
        self.on_face(d)
    }

    /// Derivatives of cube directions, as derivatives on the face.
    fn on_face(&self, d: Derivatives) -> Derivatives {
        if self.image.dim != ImageDim::Cube {
            return d;
        }
        let coord = |i: usize| self.request.coords.get(i).map_or([0.0; 64], |c| floats(c));
        let direction = [coord(0), coord(1), coord(2)];
        let mut on = Derivatives::default();
        for lane in 0..64 {
            let p = direction.map(|c| c[lane]);
            for (to, from) in [(&mut on.x, &d.x), (&mut on.y, &d.y)] {
                let [u, v] = cube::slope(p, [from[0][lane], from[1][lane], from[2][lane]]);
                to[0][lane] = u;
                to[1][lane] = v;
            }
        }
        on
    }

    fn footprint<'r>(
        &self,
        lod: &Lod,
        min_lod: Option<&Floats>,
        read: &dyn Fn(Reg) -> &'r Lanes,
    ) -> Footprint {
        let s = self.sampler;
        let anisotropy = if s.min == Filter::Linear { s.max_anisotropy } else { 1 };
        let mut f = match lod {
            Lod::Zero => Footprint::at([0.0; 64]),
            Lod::Level(reg) => Footprint::at(floats(read(*reg))),
            Lod::Implicit(bias) => {
                let mut f = lod::select(&self.implicit(), self.extent(), anisotropy);
                if let Some(bias) = bias {
                    let bias = floats(read(*bias));
                    for (l, b) in f.lod.iter_mut().zip(bias) {
                        *l += b;
                    }
                }
                f
            }
            Lod::Grad(dx, dy) => {
                let mut d = Derivatives::default();
                for (c, reg) in dx.iter().enumerate().take(3) {
                    d.x[c] = floats(read(*reg));
                }
                for (c, reg) in dy.iter().enumerate().take(3) {
                    d.y[c] = floats(read(*reg));
                }
                lod::select(&self.on_face(d), self.extent(), anisotropy)
            }
        };
        for (lane, l) in f.lod.iter_mut().enumerate() {
            let least = min_lod.map_or(f32::NEG_INFINITY, |m| m[lane]);
            *l = lod::clamp((*l + s.lod_bias).max(least), s, self.geometry.count);
        }
        f
    }

    fn sample(&self, footprint: &Footprint, port: &mut dyn Port) -> [Lanes; 4] {
        let most = self.request.mask.iter().map(|l| footprint.count[l as usize]).max().unwrap_or(1);
        if most <= 1 {
            return self.sample_at(&self.at, &footprint.lod, self.request.mask, port);
        }
        // Anisotropic: the mean of samples along the longer axis.
        let mut sum = [[0f32; 64]; 4];
        for i in 0..most {
            let mut mask = LaneMask::EMPTY;
            let mut at = self.at;
            for lane in self.request.mask.iter() {
                let l = lane as usize;
                let n = footprint.count[l];
                if i >= n {
                    continue;
                }
                mask.0 |= 1 << lane;
                let step = (i as f32 + 0.5) / n as f32 - 0.5;
                for (at, axis) in at.iter_mut().zip(&footprint.axis).take(self.dims) {
                    at[l] += axis[l] * step;
                }
            }
            let one = self.sample_at(&at, &footprint.lod, mask, port);
            for (sum, one) in sum.iter_mut().zip(&one) {
                for lane in mask.iter() {
                    sum[lane as usize] += f32::from_bits(one[lane as usize]);
                }
            }
        }
        sum.map(|s| std::array::from_fn(|l| (s[l] / footprint.count[l].max(1) as f32).to_bits()))
    }

    /// One sample per lane with the level known.
    fn sample_at(
        &self,
        at: &[Floats; 3],
        lod: &Floats,
        mask: LaneMask,
        port: &mut dyn Port,
    ) -> [Lanes; 4] {
        let s = self.sampler;
        let mut linear = LaneMask::EMPTY;
        let mut level = [0; 64];
        let mut between = [0f32; 64];
        for lane in mask.iter() {
            let l = lane as usize;
            let filter = if lod[l] <= 0.0 { s.mag } else { s.min };
            linear.0 |= u64::from(filter == Filter::Linear) << lane;
            // Clamped to the levels there are, so it fits.
            match s.mip {
                // `as` drops the fraction, and takes what is below 0 to 0.
                Filter::Point => level[l] = (lod[l] + 0.5) as u32,
                Filter::Linear => {
                    level[l] = lod[l] as u32;
                    between[l] = lod[l].max(0.0) - level[l] as f32;
                }
            }
            level[l] = level[l].min(self.geometry.count - 1);
        }
        let mut out = self.filter(at, &level, linear, mask, port);
        let mut next = LaneMask::EMPTY;
        for lane in mask.iter() {
            let l = lane as usize;
            if between[l] > 0.0 && level[l] + 1 < self.geometry.count {
                level[l] += 1;
                next.0 |= 1 << lane;
            }
        }
        if !next.is_empty() {
            let lower = self.filter(at, &level, linear, next, port);
            for (o, lower) in out.iter_mut().zip(&lower) {
                for lane in next.iter() {
                    let l = lane as usize;
                    o[l] = taps::lerp(o[l], lower[l], between[l]);
                }
            }
        }
        out
    }

    fn filter(
        &self,
        at: &[Floats; 3],
        level: &Lanes,
        linear: LaneMask,
        mask: LaneMask,
        port: &mut dyn Port,
    ) -> [Lanes; 4] {
        let taps = Taps::new(self, at, level, linear, mask);
        taps.blend(self, port)
    }

    /// Four texels of level 0 that a linear filter would take, in the order
    /// lower left, lower right, upper right, upper left (y grows downward).
    fn gather(&self, component: u32, port: &mut dyn Port) -> [Lanes; 4] {
        let mask = self.request.mask;
        let taps = Taps::new(self, &self.at, &[0; 64], mask, mask);
        let mut values = taps.fetch_all(self, port);
        let component = if self.compare.is_some() { 0 } else { component as usize };
        [2, 3, 1, 0].map(|tap| std::mem::replace(&mut values[tap][component], [0; 64]))
    }
}

/// The layer a float names: to nearest, ties to even, clamped.
fn nearest_layer(v: f32, layers: u32) -> u32 {
    (v.round_ties_even() as u32).min(layers.saturating_sub(1))
}

#[cfg(test)]
mod tests;
