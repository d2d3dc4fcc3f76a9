//! Which level to sample, from derivatives.

use super::Floats;
use crate::descriptor::Sampler;
use wavefence_base::LaneMask;

/// Change of each coordinate (0 to 1 across the image) to the next pixel in x
/// and y.
pub(super) struct Derivatives {
    pub x: [Floats; 3],
    pub y: [Floats; 3],
}

impl Default for Derivatives {
    fn default() -> Self {
        Self { x: [[0.0; 64]; 3], y: [[0.0; 64]; 3] }
    }
}

/// What a lane samples: a level, and for anisotropic filters several places.
pub(super) struct Footprint {
    pub lod: Floats,
    /// Number of samples, 1 or more.
    pub count: [u32; 64],
    /// The line they lie on: change of the coordinates from end to end.
    pub axis: [Floats; 3],
}

impl Footprint {
    /// One sample at that level.
    pub fn at(lod: Floats) -> Self {
        Self { lod, count: [1; 64], axis: [[0.0; 64]; 3] }
    }
}

/// Derivatives over quads of four consecutive lanes (0 1 above 2 3). A side
/// with a lane that does not run takes the other side's; with none, 0.
pub(super) fn quad(v: &Floats, mask: LaneMask) -> (Floats, Floats) {
    let (mut x, mut y) = ([0.0; 64], [0.0; 64]);
    for q in (0..64).step_by(4) {
        let both = |a: usize, b: usize| {
            (mask.0 >> (q + a) & mask.0 >> (q + b) & 1 == 1).then(|| v[q + b] - v[q + a])
        };
        x[q..q + 4].fill(both(0, 1).or(both(2, 3)).unwrap_or(0.0));
        y[q..q + 4].fill(both(0, 2).or(both(1, 3)).unwrap_or(0.0));
    }
    (x, y)
}

/// Level and samples for derivatives on an image of that extent.
pub(super) fn select(d: &Derivatives, extent: [u32; 3], anisotropy: u32) -> Footprint {
    let mut f = Footprint::at([0.0; 64]);
    let extent = extent.map(f64::from);
    for lane in 0..64 {
        let same = |d: &[Floats; 3]| d.iter().all(|c| c[lane] == c[lane - 1]);
        if lane % 4 != 0 && same(&d.x) && same(&d.y) {
            // As a rule a quad shares its derivatives.
            f.count[lane] = f.count[lane - 1];
            f.lod[lane] = f.lod[lane - 1];
            for axis in &mut f.axis {
                axis[lane] = axis[lane - 1];
            }
            continue;
        }
        let square = |d: &[Floats; 3]| -> f64 {
            let texels = |c: usize| f64::from(d[c][lane]) * extent[c];
            texels(0) * texels(0) + texels(1) * texels(1) + texels(2) * texels(2)
        };
        let (x, y) = (square(&d.x), square(&d.y));
        let (major, minor) = if x >= y { (x, y) } else { (y, x) };
        let mut n = 1;
        if anisotropy > 1 && major > 0.0 && major.is_finite() {
            let ratio = if minor > 0.0 { (major / minor).sqrt() } else { f64::from(anisotropy) };
            n = (ratio.min(f64::from(anisotropy)).ceil() as u32).max(1);
            let from = if x >= y { &d.x } else { &d.y };
            for (axis, from) in f.axis.iter_mut().zip(from) {
                axis[lane] = from[lane];
            }
        }
        f.count[lane] = n;
        f.lod[lane] = (0.5 * log2(major / f64::from(n * n))) as f32;
    }
    f
}

/// Base-2 logarithm by arithmetic alone; of 0 minus infinity, of NaN 0.
fn log2(v: f64) -> f64 {
    if v.is_nan() {
        return 0.0;
    }
    if v <= 0.0 {
        return f64::NEG_INFINITY;
    }
    if v < f64::MIN_POSITIVE {
        return -1022.0;
    }
    if v.is_infinite() {
        return f64::INFINITY;
    }
    let bits = v.to_bits();
    let mut exponent = (bits >> 52) as i32 - 1023;
    let mut m = f64::from_bits(bits & 0x000F_FFFF_FFFF_FFFF | 1023 << 52);
    if m > std::f64::consts::SQRT_2 {
        m /= 2.0;
        exponent += 1;
    }
    // ln m = 2 artanh((m - 1) / (m + 1)), an odd series that falls fast.
    let t = (m - 1.0) / (m + 1.0);
    let t2 = t * t;
    let mut sum = 0.0;
    for k in (0..10).rev() {
        sum = sum * t2 + 1.0 / f64::from(2 * k + 1);
    }
    f64::from(exponent) + 2.0 * t * sum * std::f64::consts::LOG2_E
}

/// The level within the sampler's and the view's range.
pub(super) fn clamp(lod: f32, s: &Sampler, levels: u32) -> f32 {
    // The view's range last: a sampler's range may lie outside it. NaN, which
    // only bad coordinates give, takes the smallest level.
    lod.max(s.min_lod).min(s.max_lod).clamp(0.0f32.min(s.min_lod), levels as f32 - 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithm_is_close() {
        assert_eq!(log2(1.0), 0.0);
        assert_eq!(log2(1024.0), 10.0);
        assert_eq!(log2(0.125), -3.0);
        assert_eq!(log2(0.0), f64::NEG_INFINITY);
        let mut v = 1e-300;
        while v < 1e300 {
            assert!((log2(v) - v.log2()).abs() < 1e-11, "{v}");
            v *= 1.7;
        }
    }

    #[test]
    fn quads_with_holes() {
        let v: Floats = std::array::from_fn(|i| (i * i) as f32);
        let (x, y) = quad(&v, LaneMask(0b1110_1001_1111));
        assert_eq!((x[0], y[0]), (1.0, 4.0));
        // Lanes 4 and 7 only: no pair.
        assert_eq!((x[5], y[5]), (0.0, 0.0));
        // Lanes 9, 10, 11.
        assert_eq!((x[8], y[8]), (121.0 - 100.0, 121.0 - 81.0));
    }
}
