//! Inputs, grids and references of the kernels.

use crate::small::small;

/// The kernels, in the order of the table.
pub const NAMES: [&str; 8] =
    ["mandel", "nbody", "blur", "hist", "matmul", "bitonic", "scan", "saxpy"];

/// Tells whether the bytes of the result buffer are right.
pub type Check = Box<dyn Fn(&[u8]) -> Result<(), String>>;

/// One kernel with everything it needs.
pub struct Case {
    /// Its name; `kernels/NAME.hlsl` is the source.
    pub name: &'static str,
    /// Its HLSL.
    pub source: &'static str,
    /// UAV buffers by register: bytes per element and contents.
    pub buffers: Vec<(u32, Vec<u8>)>,
    /// Register of the result.
    pub result: usize,
    /// Thread groups.
    pub grid: [u32; 3],
    /// The judge, for one dispatch on the inputs as they are.
    pub check: Check,
}

/// A small generator: the same numbers on every machine.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u32 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) as u32
    }

    fn words(&mut self, n: usize) -> Vec<u32> {
        (0..n).map(|_| self.next()).collect()
    }

    /// Floats in 0..1.
    fn floats(&mut self, n: usize) -> Vec<f32> {
        (0..n).map(|_| (self.next() >> 8) as f32 / (1 << 24) as f32).collect()
    }
}

pub(crate) fn bytes_u(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|w| w.to_le_bytes()).collect()
}

pub(crate) fn bytes_f(floats: &[f32]) -> Vec<u8> {
    floats.iter().flat_map(|f| f.to_le_bytes()).collect()
}

fn as_u(bytes: &[u8]) -> Vec<u32> {
    bytes.chunks_exact(4).map(|c| u32::from_le_bytes([c[0], c[1], c[2], c[3]])).collect()
}

fn as_f(bytes: &[u8]) -> Vec<f32> {
    as_u(bytes).into_iter().map(f32::from_bits).collect()
}

pub(crate) fn exact(expected: Vec<u32>) -> Check {
    Box::new(move |bytes| {
        let got = as_u(bytes);
        if got.len() != expected.len() {
            return Err(format!("{} words, {} expected", got.len(), expected.len()));
        }
        match got.iter().zip(&expected).position(|(g, e)| g != e) {
            None => Ok(()),
            Some(i) => Err(format!("word {i} is {}, should be {}", got[i], expected[i])),
        }
    })
}

/// Largest error over the largest magnitude.
pub(crate) fn close(expected: Vec<f64>, tolerance: f64) -> Check {
    Box::new(move |bytes| {
        let got = as_f(bytes);
        if got.len() != expected.len() {
            return Err(format!("{} floats, {} expected", got.len(), expected.len()));
        }
        let scale = expected.iter().fold(0f64, |m, e| m.max(e.abs()));
        for (i, (g, e)) in got.iter().zip(&expected).enumerate() {
            let error = (f64::from(*g) - e).abs();
            if error.is_nan() || error > tolerance * scale {
                return Err(format!("float {i} is {g}, should be {e}"));
            }
        }
        Ok(())
    })
}

const SIDE: usize = 1024;

fn mandel() -> Case {
    let axis = |i: usize, shift: f32| i as f32 / 1024.0 * 3.0 - shift;
    let mut counts = Vec::with_capacity(SIDE * SIDE);
    for y in 0..SIDE {
        for x in 0..SIDE {
            let (cx, cy) = (axis(x, 2.0), axis(y, 1.5));
            let (mut zx, mut zy, mut n) = (0f32, 0f32, 0u32);
            while n < 256 && zx * zx + zy * zy < 4.0 {
                // DXC contracts one product of the real part, so that is what the
                // module means.
                (zx, zy) = (zx.mul_add(zx, -(zy * zy)) + cx, 2.0 * zx * zy + cy);
                n += 1;
            }
            counts.push(n);
        }
    }
    Case {
        name: "mandel",
        source: include_str!("../kernels/mandel.hlsl"),
        buffers: vec![(4, vec![0; SIDE * SIDE * 4])],
        result: 0,
        grid: [128, 128, 1],
        check: exact(counts),
    }
}

fn nbody() -> Case {
    const N: usize = 4096;
    let mut random = Random(2);
    let mut bodies = random.floats(N * 4);
    for (i, v) in bodies.iter_mut().enumerate() {
        if i % 4 != 3 {
            *v = *v * 4.0 - 2.0;
        }
    }
    let p: Vec<f64> = bodies.iter().map(|v| f64::from(*v)).collect();
    let mut expected = vec![0f64; N * 4];
    for i in 0..N {
        for j in 0..N {
            let d: [f64; 3] = std::array::from_fn(|c| p[j * 4 + c] - p[i * 4 + c]);
            let r2 = d[0] * d[0] + d[1] * d[1] + d[2] * d[2] + 0.01;
            let s = p[j * 4 + 3] / (r2 * r2.sqrt());
            for c in 0..3 {
                expected[i * 4 + c] += d[c] * s;
            }
        }
    }
    Case {
        name: "nbody",
        source: include_str!("../kernels/nbody.hlsl"),
        buffers: vec![(16, bytes_f(&bodies)), (16, vec![0; N * 16])],
        result: 1,
        grid: [16, 1, 1],
        check: close(expected, 1e-4),
    }
}

fn blur() -> Case {
    const W: [f64; 5] = [0.0625, 0.25, 0.375, 0.25, 0.0625];
    let image = Random(3).floats(SIDE * SIDE * 4);
    let at = |y: i32, x: i32, c: usize| {
        let clamp = |v: i32| v.clamp(0, SIDE as i32 - 1) as usize;
        f64::from(image[(clamp(y) * SIDE + clamp(x)) * 4 + c])
    };
    let mut expected = Vec::with_capacity(image.len());
    for y in 0..SIDE as i32 {
        for x in 0..SIDE as i32 {
            for c in 0..4 {
                let mut sum = 0.0;
                for (dy, wy) in (-2..=2).zip(W) {
                    for (dx, wx) in (-2..=2).zip(W) {
                        sum += at(y + dy, x + dx, c) * wx * wy;
                    }
                }
                expected.push(sum);
            }
        }
    }
    Case {
        name: "blur",
        source: include_str!("../kernels/blur.hlsl"),
        buffers: vec![(16, bytes_f(&image)), (16, vec![0; image.len() * 4])],
        result: 1,
        grid: [64, 64, 1],
        check: close(expected, 1e-5),
    }
}

fn hist() -> Case {
    let values = Random(4).words(16 << 20);
    let mut bins = vec![0u32; 256];
    for v in &values {
        bins[(v & 255) as usize] += 1;
    }
    Case {
        name: "hist",
        source: include_str!("../kernels/hist.hlsl"),
        buffers: vec![(4, bytes_u(&values)), (4, vec![0; 1024])],
        result: 1,
        grid: [1024, 1, 1],
        check: exact(bins),
    }
}

fn matmul() -> Case {
    const N: usize = 512;
    let mut random = Random(5);
    let (a, b) = (random.floats(N * N), random.floats(N * N));
    let mut expected = vec![0f64; N * N];
    for i in 0..N {
        for k in 0..N {
            let left = f64::from(a[i * N + k]);
            for j in 0..N {
                expected[i * N + j] += left * f64::from(b[k * N + j]);
            }
        }
    }
    Case {
        name: "matmul",
        source: include_str!("../kernels/matmul.hlsl"),
        buffers: vec![(4, bytes_f(&a)), (4, bytes_f(&b)), (4, vec![0; N * N * 4])],
        result: 2,
        grid: [32, 32, 1],
        check: close(expected, 1e-5),
    }
}

fn bitonic() -> Case {
    let keys = Random(6).words(1 << 20);
    let mut sorted = keys.clone();
    sorted.chunks_mut(512).for_each(<[u32]>::sort_unstable);
    Case {
        name: "bitonic",
        source: include_str!("../kernels/bitonic.hlsl"),
        buffers: vec![(4, bytes_u(&keys)), (4, vec![0; keys.len() * 4])],
        result: 1,
        grid: [2048, 1, 1],
        check: exact(sorted),
    }
}

fn scan() -> Case {
    const N: usize = 4 << 20;
    let values: Vec<u32> = Random(7).words(N).into_iter().map(|v| v % 1000).collect();
    let mut sums = Vec::with_capacity(N);
    for block in values.chunks(256) {
        let mut sum = 0u32;
        for v in block {
            sum = sum.wrapping_add(*v);
            sums.push(sum);
        }
    }
    Case {
        name: "scan",
        source: include_str!("../kernels/scan.hlsl"),
        buffers: vec![(4, bytes_u(&values)), (4, vec![0; N * 4]), (4, vec![0; N / 256 * 4])],
        result: 1,
        grid: [16384, 1, 1],
        check: exact(sums),
    }
}

fn saxpy() -> Case {
    let mut random = Random(8);
    let (x, y) = (random.floats(16 << 20), random.floats(16 << 20));
    // DXC contracts it.
    let expected = x.iter().zip(&y).map(|(x, y)| x.mul_add(2.5, *y).to_bits()).collect();
    Case {
        name: "saxpy",
        source: include_str!("../kernels/saxpy.hlsl"),
        buffers: vec![(4, bytes_f(&x)), (4, bytes_f(&y))],
        result: 1,
        grid: [65536, 1, 1],
        check: exact(expected),
    }
}

/// The case of that name.
///
/// # Panics
/// If the name is one of neither [`NAMES`] nor [`SMALL`](crate::SMALL).
pub fn case(name: &str) -> Case {
    match name {
        "mandel" => mandel(),
        "nbody" => nbody(),
        "blur" => blur(),
        "hist" => hist(),
        "matmul" => matmul(),
        "bitonic" => bitonic(),
        "scan" => scan(),
        "saxpy" => saxpy(),
        other => small(other).unwrap_or_else(|| panic!("no kernel is named {other}")),
    }
}
