//! The three small cases that Oclgrind is compared on: the same work as
//! `bench/oclgrind/*.cl`.

use crate::cases::{Case, bytes_f, bytes_u, close, exact};

/// Their names.
pub const SMALL: [&str; 3] = ["small-mandel", "small-matmul", "small-hist"];

fn mandel() -> Case {
    let mut counts = Vec::with_capacity(256 * 256);
    for y in 0..256 {
        for x in 0..256 {
            let (cr, ci) = (x as f32 * (3.0 / 256.0) - 2.0, y as f32 * (2.0 / 256.0) - 1.0);
            let (mut zr, mut zi, mut n) = (0f32, 0f32, 0u32);
            while n < 64 && zr * zr + zi * zi < 4.0 {
                (zr, zi) = (zr * zr - zi * zi + cr, 2.0 * zr * zi + ci);
                n += 1;
            }
            counts.push(n);
        }
    }
    Case {
        name: "small-mandel",
        source: include_str!("../kernels/small/mandel.hlsl"),
        buffers: vec![(4, vec![0; 256 * 256 * 4])],
        result: 0,
        grid: [32, 32, 1],
        check: exact(counts),
    }
}

fn matmul() -> Case {
    const N: usize = 128;
    let (a, b) = (vec![1.5; N * N], vec![0.25; N * N]);
    Case {
        name: "small-matmul",
        source: include_str!("../kernels/small/matmul.hlsl"),
        buffers: vec![(4, bytes_f(&a)), (4, bytes_f(&b)), (4, vec![0; N * N * 4])],
        result: 2,
        grid: [8, 8, 1],
        check: close(vec![1.5 * 0.25 * N as f64; N * N], 1e-6),
    }
}

fn hist() -> Case {
    let values: Vec<u32> = (0..65536).collect();
    let mut bins = vec![0u32; 256];
    for v in &values {
        bins[(v.wrapping_mul(2_654_435_761) >> 24) as usize] += 1;
    }
    Case {
        name: "small-hist",
        source: include_str!("../kernels/small/hist.hlsl"),
        buffers: vec![(4, bytes_u(&values)), (4, vec![0; 1024])],
        result: 1,
        grid: [256, 1, 1],
        check: exact(bins),
    }
}

/// The case of that name, if it is one of [`SMALL`].
pub(crate) fn small(name: &str) -> Option<Case> {
    match name {
        "small-mandel" => Some(mandel()),
        "small-matmul" => Some(matmul()),
        "small-hist" => Some(hist()),
        _ => None,
    }
}
