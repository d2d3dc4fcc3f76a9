//! Eight whole kernels, from HLSL by way of SPIR-V (`bench/kernels`), on both
//! wave sizes and both instruction sets, against plain Rust.

mod support;

use std::sync::Arc;
use support::*;
use wavefence_base::WaveSize;
use wavefence_shader::ir::Kernel;
use wavefence_shader::lower::{self, LowerOptions};
use wavefence_wave::interp::Interpreter;

fn kernel(spirv: &[u8]) -> Arc<Kernel> {
    let words: Vec<u32> =
        spirv.chunks(4).map(|b| u32::from_le_bytes(b.try_into().unwrap())).collect();
    Arc::new(lower::kernel(&words, &LowerOptions::default()).expect("lowers"))
}

/// Runs `name` with `buffers` by register number; all engines must agree.
fn outputs(spirv: &[u8], groups: [u32; 3], buffers: &[Vec<u32>]) -> Vec<Vec<u32>> {
    let kernel = kernel(spirv);
    let at = |r: &wavefence_shader::ir::Resource| r.register as usize;
    let bound: Vec<_> = kernel.resources.iter().map(|r| buffers[at(r)].clone()).collect();
    let mut first = None;
    for size in [WaveSize::W64, WaveSize::W32] {
        for engine in [Interpreter::new(), Interpreter::portable()] {
            let got = run(&engine, &kernel, size, groups, &bound);
            let first = first.get_or_insert_with(|| got.clone());
            assert!(*first == got, "{size:?} on {engine:?} differs");
        }
    }
    let got = first.unwrap();
    let mut by_register = vec![Vec::new(); buffers.len()];
    for (r, words) in kernel.resources.iter().zip(got) {
        by_register[at(r)] = words;
    }
    by_register
}

macro_rules! spirv {
    ($name:literal) => {
        include_bytes!(concat!("../../shader/tests/fixtures/", $name, ".spv"))
    };
}

fn noise(n: usize) -> Vec<u32> {
    let mut x = 12345u32;
    (0..n)
        .map(|_| {
            x ^= x << 13;
            x ^= x >> 17;
            x ^= x << 5;
            x
        })
        .collect()
}

fn floats(n: usize) -> Vec<f32> {
    noise(n).iter().map(|&x| (x >> 8) as f32 / (1 << 24) as f32).collect()
}

fn to_bits(x: &[f32]) -> Vec<u32> {
    x.iter().map(|x| x.to_bits()).collect()
}

fn close(got: &[u32], want: &[f64], bound: f64) {
    assert_eq!(got.len(), want.len());
    for (i, (&got, &want)) in got.iter().zip(want).enumerate() {
        let got = f64::from(f32::from_bits(got));
        assert!((got - want).abs() <= bound, "{i}: {got}, not {want}");
    }
}

#[test]
fn saxpy() {
    let (x, y) = (floats(4096), floats(8192)[4096..].to_vec());
    let got = outputs(spirv!("saxpy"), [16, 1, 1], &[to_bits(&x), to_bits(&y)]);
    // The front end may contract the product and the sum.
    for (i, (x, y)) in x.iter().zip(&y).enumerate() {
        let want = [(2.5 * x + y).to_bits(), x.mul_add(2.5, *y).to_bits()];
        assert!(want.contains(&got[1][i]), "{i}: {x}, {y}");
    }
}

#[test]
fn mandelbrot() {
    let got = outputs(spirv!("mandel"), [128, 2, 1], &[vec![0; 1024 * 16]]);
    for (i, &got) in got[0].iter().enumerate() {
        let (px, py) = ((i % 1024) as f32, (i / 1024) as f32);
        let (cx, cy) = (px / 1024.0 * 3.0 - 2.0, py / 1024.0 * 3.0 - 1.5);
        let (mut x, mut y, mut n) = (0f32, 0f32, 0);
        while n < 256 && x * x + y * y < 4.0 {
            (x, y) = (x * x - y * y + cx, 2.0 * x * y + cy);
            n += 1;
        }
        assert_eq!(got, n, "pixel {i}");
    }
}

#[test]
fn blur() {
    let rows = 18usize;
    let image = floats(1024 * rows * 4);
    let out = vec![0; 1024 * 16 * 4];
    let got = outputs(spirv!("blur"), [64, 1, 1], &[to_bits(&image), out]);
    let w = [0.0625, 0.25, 0.375, 0.25, 0.0625];
    let mut want = Vec::new();
    for y in 0..16i32 {
        for x in 0..1024i32 {
            for c in 0..4 {
                let mut sum = 0.0;
                for dy in -2..=2i32 {
                    for dx in -2..=2i32 {
                        let (u, v) = ((x + dx).clamp(0, 1023), (y + dy).clamp(0, 1023));
                        let texel = image[(v as usize * 1024 + u as usize) * 4 + c];
                        sum += f64::from(texel) * w[(dx + 2) as usize] * w[(dy + 2) as usize];
                    }
                }
                want.push(sum);
            }
        }
    }
    close(&got[1], &want, 1e-6);
}

#[test]
fn matrix_product() {
    let (a, b) = (floats(512 * 16), floats(512 * 513)[512..].to_vec());
    let out = vec![0; 512 * 16];
    let got = outputs(spirv!("matmul"), [32, 1, 1], &[to_bits(&a), to_bits(&b), out]);
    let mut want = vec![0.0; 512 * 16];
    for (i, want) in want.iter_mut().enumerate() {
        let (row, column) = (i / 512, i % 512);
        for k in 0..512 {
            *want += f64::from(a[row * 512 + k]) * f64::from(b[k * 512 + column]);
        }
    }
    close(&got[2], &want, 1e-3);
}

#[test]
fn n_body() {
    let bodies = floats(4096 * 4);
    let got = outputs(spirv!("nbody"), [1, 1, 1], &[to_bits(&bodies), vec![0; 256 * 4]]);
    let at = |i: usize, c: usize| f64::from(bodies[4 * i + c]);
    let mut want = vec![0.0; 256 * 4];
    for i in 0..256 {
        for j in 0..4096 {
            let d = [0, 1, 2].map(|c| at(j, c) - at(i, c));
            let inv = (d.iter().map(|d| d * d).sum::<f64>() + 0.01).sqrt().recip();
            for c in 0..3 {
                want[4 * i + c] += d[c] * at(j, 3) * inv * inv * inv;
            }
        }
    }
    let largest = want.iter().fold(0f64, |m, w| m.max(w.abs()));
    close(&got[1], &want, largest * 1e-5);
}

#[test]
fn histogram() {
    let data = noise(2 * 16384);
    let got = outputs(spirv!("hist"), [2, 1, 1], &[data.clone(), vec![0; 256]]);
    let mut want = vec![0; 256];
    data.iter().for_each(|v| want[(v & 255) as usize] += 1);
    assert!(got[1] == want);
}

#[test]
fn bitonic_sort() {
    let data = noise(3 * 512);
    let got = outputs(spirv!("bitonic"), [3, 1, 1], &[data.clone(), vec![0; 3 * 512]]);
    let mut want = data;
    want.chunks_mut(512).for_each(<[u32]>::sort_unstable);
    assert!(got[1] == want);
}

#[test]
fn scan() {
    let data: Vec<u32> = noise(5 * 256).iter().map(|v| v >> 16).collect();
    let got = outputs(spirv!("scan"), [5, 1, 1], &[data.clone(), vec![0; 5 * 256], vec![0; 5]]);
    for (g, block) in data.chunks(256).enumerate() {
        let mut sum = 0;
        for (i, v) in block.iter().enumerate() {
            sum += v;
            assert_eq!(got[1][g * 256 + i], sum, "group {g}, thread {i}");
        }
        assert_eq!(got[2][g], sum);
    }
}
