//! Cube faces: +x, -x, +y, -y, +z, -z, each seen from inside with v downward,
//! as D3D and Vulkan lay them out.

/// The face a direction hits, the major component's size, and the components
/// along u and v.
fn split([x, y, z]: [f64; 3]) -> (u32, f64, f64, f64) {
    let (ax, ay, az) = (x.abs(), y.abs(), z.abs());
    if az >= ax && az >= ay {
        if z < 0.0 { (5, az, -x, -y) } else { (4, az, x, -y) }
    } else if ay >= ax {
        if y < 0.0 { (3, ay, x, -z) } else { (2, ay, x, z) }
    } else if x < 0.0 {
        (1, ax, z, -y)
    } else {
        (0, ax, -z, -y)
    }
}

/// The components of a vector along the axes of `face`: major, u, v.
fn along(face: u32, [x, y, z]: [f64; 3]) -> (f64, f64, f64) {
    match face {
        0 => (x, -z, -y),
        1 => (-x, z, -y),
        2 => (y, x, z),
        3 => (-y, x, -z),
        4 => (z, x, -y),
        _ => (-z, -x, -y),
    }
}

/// The direction whose components along the axes of `face` are 1, u, v.
fn direction(face: u32, u: f64, v: f64) -> [f64; 3] {
    match face {
        0 => [1.0, -v, -u],
        1 => [-1.0, -v, u],
        2 => [u, 1.0, v],
        3 => [u, -1.0, -v],
        4 => [u, -v, 1.0],
        _ => [-u, -v, -1.0],
    }
}

/// Face and coordinates on it, 0 to 1. The zero vector hits the middle of +z.
pub(super) fn face(d: [f32; 3]) -> (u32, f32, f32) {
    let (face, major, u, v) = split(d.map(f64::from));
    if major == 0.0 {
        return (face, 0.5, 0.5);
    }
    (face, (0.5 * (u / major + 1.0)) as f32, (0.5 * (v / major + 1.0)) as f32)
}

/// How the coordinates on the face that `p` hits change when `p` does by `d`.
pub(super) fn slope(p: [f32; 3], d: [f32; 3]) -> [f32; 2] {
    let (face, major, u, v) = split(p.map(f64::from));
    if major == 0.0 {
        return [0.0; 2];
    }
    let (dm, du, dv) = along(face, d.map(f64::from));
    let one = |c: f64, dc: f64| (0.5 * (dc * major - c * dm) / (major * major)) as f32;
    [one(u, du), one(v, dv)]
}

/// The texel of another face that lies next to a texel just beyond one edge of
/// `face`: face and coordinates. `size` is the faces' width.
pub(super) fn across(face: u32, x: i64, y: i64, size: u32) -> (u32, u32, u32) {
    let n = f64::from(size);
    let centre = |i: i64| (2.0 * i as f64 + 1.0) / n - 1.0;
    let (other, major, u, v) = split(direction(face, centre(x), centre(y)));
    // The centre projects into the neighbour's outermost row, and along the edge
    // into the texel with the same index; both with room to spare.
    let index = |c: f64| ((0.5 * (c / major + 1.0) * n) as u32).min(size - 1);
    (other, index(u), index(v))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_direction_comes_back() {
        for f in 0..6 {
            for (u, v) in [(0.0, 0.0), (0.5, -0.25), (-0.9, 0.8)] {
                let d = direction(f, u, v).map(|c| (c * 3.0) as f32);
                let (got, a, b) = face(d);
                assert_eq!(got, f);
                assert!((f64::from(a) - 0.5 * (u + 1.0)).abs() < 1e-6);
                assert!((f64::from(b) - 0.5 * (v + 1.0)).abs() < 1e-6);
                assert_eq!(along(f, direction(f, u, v)), (1.0, u, v));
            }
        }
        assert_eq!(face([0.0; 3]), (4, 0.5, 0.5));
    }

    /// Stepping over an edge and back again gives the texel one came from.
    #[test]
    fn edges_are_shared() {
        for size in [1u32, 2, 5, 64, 16_384] {
            let last = i64::from(size) - 1;
            for f in 0..6 {
                for k in [0, last / 3, last] {
                    for (x, y) in [(-1, k), (last + 1, k), (k, -1), (k, last + 1)] {
                        let (g, a, b) = across(f, x, y, size);
                        assert_ne!(g, f);
                        let inside = (x.clamp(0, last), y.clamp(0, last));
                        let (a, b) = (i64::from(a), i64::from(b));
                        let back = [(a - 1, b), (a + 1, b), (a, b - 1), (a, b + 1)]
                            .into_iter()
                            .filter(|&(a, b)| (a < 0 || a > last) != (b < 0 || b > last))
                            .map(|(a, b)| across(g, a, b, size))
                            .any(|(h, x, y)| h == f && (i64::from(x), i64::from(y)) == inside);
                        assert!(back, "face {f} size {size} at {x} {y}");
                    }
                }
            }
        }
    }
}
