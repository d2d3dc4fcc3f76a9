//! Float ops and conversions at every width, on a million edges and random
//! numbers each: the bits are those of exact arithmetic rounded once, or within
//! the bound written beside the op. Both instruction sets give the same bits
//! (held by `support::eval::results`).

mod support;

use support::eval::{Op, results};
use support::exact::{DOUBLE, FLOAT, Format, HALF};
use wavefence_shader::ir::*;

const FORMATS: [(Ty, Format); 3] = [(Ty::B16, HALF), (Ty::B32, FLOAT), (Ty::B64, DOUBLE)];

const INPUTS: usize = 1 << 20;

struct Noise(u64);

impl Noise {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    /// Any bits, or a number of everyday size.
    fn float(&mut self, f: Format) -> u64 {
        let mask = u64::MAX >> (64 - f.width);
        let bits = self.next() & mask;
        match self.next() % 4 {
            0 => bits,
            1 => f.of((self.next() as i32 >> (self.next() % 31)) as f64),
            _ => {
                // Exponent within 2^±16 of 1, a short significand now and then.
                let low = (1u64 << (f.precision - 1)) - 1;
                let e = (f.one() >> (f.precision - 1)) + self.next() % 33 - 16;
                let m = if self.next().is_multiple_of(4) {
                    bits & low & !(low >> 6)
                } else {
                    bits & low
                };
                bits & f.sign() | (e & (f.infinity() >> (f.precision - 1))) << (f.precision - 1) | m
            }
        }
    }
}

fn edges(f: Format) -> Vec<u64> {
    let (one, inf) = (f.one(), f.infinity());
    let hidden = 1u64 << (f.precision - 1);
    let mut all = vec![0, 1, 2, hidden - 1, hidden, hidden + 1, one - 1, one, one + 1];
    all.extend([one + hidden, one - hidden, one + hidden / 2, one + 3 * hidden / 4]);
    all.extend([inf - 1, inf - 2, inf, inf + 1, f.nan(), f.nan() | 5, inf >> 1, inf / 2 + hidden]);
    for x in [0.5, 1.5, 2.5, 3.0, 10.0, 127.5, 128.0, 255.5, 256.0, 32768.0, 65504.0, 65519.0] {
        all.push(f.of(x));
    }
    for p in [15, 16, 31, 32, 63, 64] {
        let x = f.of(2f64.powi(p));
        all.extend([x, x.wrapping_sub(1)]);
    }
    all.extend([f.of(std::f64::consts::PI), f.of(0.1), f.of(1e-5), f.of(1e-40)]);
    let negative: Vec<u64> = all.iter().map(|b| b | f.sign()).collect();
    all.extend(negative);
    all.sort_unstable();
    all.dedup();
    all
}

/// Every pair of edges, then noise.
fn pairs(f: Format) -> [Vec<u64>; 2] {
    let mut out = [Vec::with_capacity(INPUTS), Vec::with_capacity(INPUTS)];
    for &x in &edges(f) {
        for &y in &edges(f) {
            out[0].push(x);
            out[1].push(y);
        }
    }
    let mut noise = Noise(0x1234_5678_9ABC_DEF1);
    while out[0].len() < INPUTS {
        let x = noise.float(f);
        // Often close to the first, so that sums cancel.
        let y = match noise.next() % 4 {
            0 => (x ^ f.sign()).wrapping_add(noise.next() % 5) & (u64::MAX >> (64 - f.width)),
            _ => noise.float(f),
        };
        out[0].push(x);
        out[1].push(y);
    }
    out
}

/// As `pairs`; the third often cancels the product of the others.
fn triples(f: Format) -> [Vec<u64>; 3] {
    let [x, y] = pairs(f);
    let mut noise = Noise(77);
    let some = edges(f);
    let third = |(&a, &b): (&u64, &u64)| match noise.next() % 4 {
        0 => some[(noise.next() % some.len() as u64) as usize],
        1 => f.mul(a, b) ^ f.sign(),
        2 => (f.mul(a, b) ^ f.sign()).wrapping_add(noise.next() % 3) & (u64::MAX >> (64 - f.width)),
        _ => noise.float(f),
    };
    let z = x.iter().zip(&y).map(third).collect();
    [x, y, z]
}

/// Exactly rounded, or a bit operation.
fn unary(op: UnOp, f: Format, a: u64) -> u64 {
    let x = f.value(a);
    let keep_nan = |r: f64| if f.is_nan(a) { f.nan() } else { f.of(r) };
    match op {
        UnOp::FNeg => a ^ f.sign(),
        UnOp::FAbs => a & !f.sign(),
        UnOp::FSign if f.is_nan(a) => 0,
        UnOp::FSign if x == 0.0 => a,
        UnOp::FSign => f.of(x.signum()),
        UnOp::FFloor => keep_nan(x.floor()),
        UnOp::FCeil => keep_nan(x.ceil()),
        UnOp::FTrunc => keep_nan(x.trunc()),
        UnOp::FRoundEven => keep_nan(x.round_ties_even()),
        UnOp::FFract => {
            let r = f.sub(a, f.of(x.floor()));
            if r == f.one() { f.one() - 1 } else { r }
        }
        // A root of 53 bits rounds to the right 24 or 11.
        UnOp::FSqrt => f.of(x.sqrt()),
        UnOp::FConvert => f.convert(a, f),
        _ => unreachable!("not exact: {op:?}"),
    }
}

#[test]
fn unary_ops_are_exact() {
    const EXACT: [UnOp; 10] = [
        UnOp::FNeg,
        UnOp::FAbs,
        UnOp::FSign,
        UnOp::FFloor,
        UnOp::FCeil,
        UnOp::FTrunc,
        UnOp::FRoundEven,
        UnOp::FFract,
        UnOp::FSqrt,
        UnOp::FConvert,
    ];
    for (ty, f) in FORMATS {
        let [x, _] = pairs(f);
        for op in EXACT {
            let got = results(Op::Un(op), ty, &[ty], &[&x]);
            for (&a, &got) in x.iter().zip(&got) {
                let want = unary(op, f, a);
                assert_eq!(got, want, "{op:?} {ty:?} of {a:#x}: {got:#x}, not {want:#x}");
            }
        }
        for (op, holds) in [
            (UnOp::FIsNan, (|f, a| f.is_nan(a)) as fn(Format, u64) -> bool),
            (UnOp::FIsInf, |f, a| a & !f.sign() == f.infinity()),
        ] {
            let got = results(Op::Un(op), Ty::Bool, &[ty], &[&x]);
            for (&a, &got) in x.iter().zip(&got) {
                assert_eq!(got, u64::from(holds(f, a)), "{op:?} {ty:?} of {a:#x}");
            }
        }
    }
}

fn binary(op: BinOp, f: Format, a: u64, b: u64) -> u64 {
    let (x, y) = (f.value(a), f.value(b));
    match op {
        BinOp::FAdd => f.add(a, b),
        BinOp::FSub => f.sub(a, b),
        BinOp::FMul => f.mul(a, b),
        // A quotient of 53 bits rounds to the right 24 or 11.
        BinOp::FDiv => f.of(x / y),
        // Exact in 64 bits, and then exact in fewer.
        BinOp::FRem => f.of(x % y),
        BinOp::FMin if f.is_nan(b) => f.of(x),
        BinOp::FMin => f.of(if x < y { x } else { y }),
        BinOp::FMax if f.is_nan(b) => f.of(x),
        BinOp::FMax => f.of(if x > y { x } else { y }),
        // Of halves the steps are taken in 32 bits.
        BinOp::FMod => {
            let g = if f == HALF { FLOAT } else { f };
            let (a, b) = (f.convert(a, g), f.convert(b, g));
            let q = g.of((g.value(g.of(g.value(a) / g.value(b)))).floor());
            g.convert(g.sub(a, g.mul(b, q)), f)
        }
        _ => unreachable!("no such op: {op:?}"),
    }
}

fn compare(op: BinOp, x: f64, y: f64) -> bool {
    let unordered = x.is_nan() || y.is_nan();
    match op {
        BinOp::FOEq => x == y,
        BinOp::FONe => !unordered && x != y,
        BinOp::FOLt => x < y,
        BinOp::FOLe => x <= y,
        BinOp::FOGt => x > y,
        BinOp::FOGe => x >= y,
        BinOp::FUEq => unordered || x == y,
        BinOp::FUNe => x != y,
        BinOp::FULt => unordered || x < y,
        BinOp::FULe => unordered || x <= y,
        BinOp::FUGt => unordered || x > y,
        BinOp::FUGe => unordered || x >= y,
        _ => unreachable!("no comparison of floats: {op:?}"),
    }
}

#[test]
fn binary_ops_are_exact() {
    for (ty, f) in FORMATS {
        let [x, y] = pairs(f);
        for &op in BinOp::ALL.iter().filter(|op| (BinOp::FAdd..=BinOp::FMax).contains(op)) {
            let got = results(Op::Bin(op), ty, &[ty, ty], &[&x, &y]);
            for i in 0..got.len() {
                let (a, b, got) = (x[i], y[i], got[i]);
                let want = binary(op, f, a, b);
                assert_eq!(got, want, "{op:?} {ty:?} of {a:#x}, {b:#x}: {got:#x}, not {want:#x}");
            }
        }
        for &op in BinOp::ALL.iter().filter(|&&op| op >= BinOp::FOEq) {
            let got = results(Op::Bin(op), Ty::Bool, &[ty, ty], &[&x, &y]);
            for i in 0..got.len() {
                let want = compare(op, f.value(x[i]), f.value(y[i]));
                assert_eq!(got[i], u64::from(want), "{op:?} {ty:?} of {:#x}, {:#x}", x[i], y[i]);
            }
        }
    }
}

#[test]
fn fused_products_and_sums_are_exact() {
    for (ty, f) in FORMATS {
        let [x, y, z] = triples(f);
        let got = results(Op::Ter(TerOp::FFma), ty, &[ty, ty, ty], &[&x, &y, &z]);
        for i in 0..got.len() {
            let (a, b, c, got) = (x[i], y[i], z[i], got[i]);
            let want = f.fma(a, b, c);
            assert_eq!(got, want, "{ty:?} {a:#x} * {b:#x} + {c:#x}: {got:#x}, not {want:#x}");
        }
    }
}

#[test]
fn scaling_by_a_power_of_two_is_exact() {
    for (ty, f) in FORMATS {
        let [x, _] = pairs(f);
        let mut noise = Noise(5);
        let all = [0, 1, 31, 1023, 1024, 2098, 2200, i32::MAX];
        let power = |_| match noise.next() % 8 {
            0 => all[(noise.next() % 8) as usize],
            1 => -all[(noise.next() % 8) as usize],
            2 => (noise.next() % 4400) as i32 - 2200,
            _ => (noise.next() % 80) as i32 - 40,
        };
        let n: Vec<i32> = x.iter().map(power).collect();
        let bits: Vec<u64> = n.iter().map(|&n| u64::from(n as u32)).collect();
        let got = results(Op::Bin(BinOp::FLdexp), ty, &[ty, Ty::B32], &[&x, &bits]);
        for i in 0..got.len() {
            let want = match f.decode(x[i]) {
                support::exact::Value::Finite(s, m, e) => {
                    f.round(s, m.into(), e.saturating_add(n[i].clamp(-9999, 9999)), false)
                }
                _ => f.convert(x[i], f),
            };
            assert_eq!(got[i], want, "{ty:?} {:#x} * 2^{}", x[i], n[i]);
        }
    }
}

fn limits(bits: u32, signed: bool) -> (i128, i128) {
    if signed { (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) } else { (0, (1 << bits) - 1) }
}

#[test]
fn floats_become_other_floats_and_integers_exactly() {
    let widths = [(Ty::B8, 8), (Ty::B16, 16), (Ty::B32, 32), (Ty::B64, 64)];
    for (ty, f) in FORMATS {
        let [x, _] = pairs(f);
        for (to, g) in FORMATS {
            let got = results(Op::Un(UnOp::FConvert), to, &[ty], &[&x]);
            for (&a, &got) in x.iter().zip(&got) {
                assert_eq!(got, f.convert(a, g), "{ty:?} {a:#x} to {to:?}");
            }
        }
        for (to, bits) in widths {
            for op in [UnOp::FToS, UnOp::FToU] {
                let (low, high) = limits(bits, op == UnOp::FToS);
                let got = results(Op::Un(op), to, &[ty], &[&x]);
                for (&a, &got) in x.iter().zip(&got) {
                    let want = f.to_integer(a, low, high) as u64 & (u64::MAX >> (64 - bits));
                    assert_eq!(got, want, "{op:?} {ty:?} {a:#x} to {to:?}");
                }
            }
        }
    }
}

#[test]
fn integers_become_floats_rounded_once() {
    let mut noise = Noise(99);
    for (ty, bits) in [(Ty::B8, 8), (Ty::B16, 16), (Ty::B32, 32), (Ty::B64, 64)] {
        let mask = u64::MAX >> (64 - bits);
        let mut x: Vec<u64> = (0..=64u64).flat_map(|i| [i, i.wrapping_neg() & mask]).collect();
        x.extend((0..bits).flat_map(|k| {
            let p = 1u64 << k;
            [p, p - 1, p | p >> 24 | 1, p | p >> 11, p | p >> 12 | 1].map(|v| v & mask)
        }));
        while x.len() < INPUTS {
            let v = noise.next() >> (noise.next() % 60);
            x.push(v & mask);
        }
        for (to, f) in FORMATS {
            for op in [UnOp::SToF, UnOp::UToF] {
                let got = results(Op::Un(op), to, &[ty], &[&x]);
                for (&a, &got) in x.iter().zip(&got) {
                    let shift = 64 - bits;
                    let v = if op == UnOp::UToF {
                        i128::from(a)
                    } else {
                        i128::from((a << shift) as i64 >> shift)
                    };
                    let want = f.round(v < 0, v.unsigned_abs(), 0, false);
                    assert_eq!(got, want, "{op:?} {ty:?} {a:#x} to {to:?}");
                }
            }
        }
    }
}

#[test]
fn packed_halves_are_rounded_once() {
    let [x, y] = pairs(FLOAT);
    let to_half = |a| FLOAT.convert(a, HALF);
    let got = results(Op::Bin(BinOp::PackHalf), Ty::B32, &[Ty::B32, Ty::B32], &[&x, &y]);
    for i in 0..got.len() {
        assert_eq!(got[i], to_half(x[i]) | to_half(y[i]) << 16, "{:#x}, {:#x}", x[i], y[i]);
    }
    for (op, shift) in [(UnOp::UnpackHalfLo, 0), (UnOp::UnpackHalfHi, 16)] {
        let got = results(Op::Un(op), Ty::B32, &[Ty::B32], &[&x]);
        for (&a, &got) in x.iter().zip(&got) {
            assert_eq!(got, HALF.convert(a >> shift & 0xFFFF, FLOAT), "{op:?} of {a:#x}");
        }
    }
    let got = results(Op::Un(UnOp::FQuantizeF16), Ty::B32, &[Ty::B32], &[&x]);
    for (&a, &got) in x.iter().zip(&got) {
        let h = to_half(a);
        let h = if h & 0x7C00 == 0 { h & 0x8000 } else { h };
        assert_eq!(got, HALF.convert(h, FLOAT), "quantised {a:#x}");
    }
}

/// A function, what it should give, and the bound in units of the last place for
/// halves and floats; of 64 bits there is the root alone.
type Judged = (UnOp, fn(f64) -> f64, [f64; 2]);

const FUNCTIONS: [Judged; 17] = [
    // Two roundings.
    (UnOp::FRsqrt, |x| 1.0 / x.sqrt(), [0.51, 1.5]),
    (UnOp::FExp, f64::exp, [0.51, 0.501]),
    (UnOp::FExp2, f64::exp2, [0.51, 0.501]),
    (UnOp::FLog, f64::ln, [0.51, 0.501]),
    (UnOp::FLog2, f64::log2, [0.51, 0.501]),
    (UnOp::FSin, f64::sin, [0.51, 0.501]),
    (UnOp::FCos, f64::cos, [0.51, 0.501]),
    (UnOp::FTan, f64::tan, [0.51, 0.501]),
    (UnOp::FAsin, f64::asin, [0.51, 0.501]),
    (UnOp::FAcos, f64::acos, [0.51, 0.501]),
    (UnOp::FAtan, f64::atan, [0.51, 0.501]),
    (UnOp::FSinh, f64::sinh, [0.51, 0.501]),
    (UnOp::FCosh, f64::cosh, [0.51, 0.501]),
    (UnOp::FTanh, f64::tanh, [0.51, 0.501]),
    (UnOp::FAsinh, f64::asinh, [0.51, 0.501]),
    (UnOp::FAcosh, f64::acosh, [0.51, 0.501]),
    (UnOp::FAtanh, f64::atanh, [0.51, 0.501]),
];

#[test]
fn functions_keep_their_bounds() {
    // Every half; of floats a million.
    let halves: Vec<u64> = (0..=0xFFFF).collect();
    let [floats, _] = pairs(FLOAT);
    for (op, exact, bounds) in FUNCTIONS {
        for (ty, f, x, bound) in
            [(Ty::B16, HALF, &halves, bounds[0]), (Ty::B32, FLOAT, &floats, bounds[1])]
        {
            let got = results(Op::Un(op), ty, &[ty], &[x]);
            for (&a, &got) in x.iter().zip(&got) {
                let d = f.distance(got, exact(f.value(a)));
                assert!(d <= bound, "{op:?} {ty:?} of {a:#x}: {got:#x}, {d} units off");
            }
        }
    }
    let [x, _] = pairs(DOUBLE);
    let got = results(Op::Un(UnOp::FRsqrt), Ty::B64, &[Ty::B64], &[&x]);
    for (&a, &got) in x.iter().zip(&got) {
        // Against a float of 64 bits, itself half a unit off at most.
        let d = DOUBLE.distance(got, 1.0 / f64::from_bits(a).sqrt());
        assert!(d <= 1.5, "frsqrt of {a:#x}: {got:#x}");
    }
}

#[test]
fn powers_and_angles_keep_their_bounds() {
    for (ty, f) in [(Ty::B16, HALF), (Ty::B32, FLOAT)] {
        let [x, y] = pairs(f);
        let got = results(Op::Bin(BinOp::FPow), ty, &[ty, ty], &[&x, &y]);
        for i in 0..got.len() {
            let (a, b) = (f.value(x[i]), f.value(y[i]));
            // Negative bases and NaNs as exp2(y * log2(x)); to the power 0 all is 1.
            let want = if b == 0.0 {
                1.0
            } else if a.is_nan() || a < 0.0 || (a == 1.0 && !b.is_finite()) {
                f64::NAN
            } else {
                a.abs().powf(b)
            };
            let d = f.distance(got[i], want);
            assert!(d <= 1.0, "{ty:?}: {a} to the {b}: {:#x}, {d} units off", got[i]);
        }
        let got = results(Op::Bin(BinOp::FAtan2), ty, &[ty, ty], &[&x, &y]);
        for i in 0..got.len() {
            let (a, b) = (f.value(x[i]), f.value(y[i]));
            let d = f.distance(got[i], a.atan2(b));
            assert!(d <= 1.0, "{ty:?}: angle of ({b}, {a}): {:#x}, {d} units off", got[i]);
        }
    }
}
