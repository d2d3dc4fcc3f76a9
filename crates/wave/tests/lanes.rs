//! Every lane op, on edges and noise: AVX2 and portable code give the same bits,
//! and the bits are those that Rust's own arithmetic, wider integers or 64-bit
//! floats give.

mod support;

use support::*;
use wavefence_base::WaveSize;
use wavefence_shader::ir::*;
use wavefence_wave::interp::Interpreter;

/// Words that ops treat specially, as integers or as floats.
const EDGES: [u32; 40] = [
    0,
    1,
    2,
    3,
    7,
    31,
    32,
    33,
    0xFF,
    0x8000,
    0xFFFF,
    0x1_0000,
    0x7FFF_FFFE,
    0x7FFF_FFFF,
    0x8000_0000,
    0x8000_0001,
    0xFFFF_FFFF,
    0xFFFF_FFFE,
    0x3F80_0000,
    0xBF80_0000,
    0x3F00_0000,
    0xBF00_0000,
    0x3FC0_0000,
    0xBFC0_0000,
    0x4020_0000,
    0x7F80_0000,
    0xFF80_0000,
    0x7FC0_0000,
    0xFFC0_1234,
    0x7F80_0001,
    0x007F_FFFF,
    0x0080_0000,
    0x8080_0000,
    0x7F7F_FFFF,
    0x4EFF_FFFF,
    0x4F00_0000,
    0x4F80_0000,
    0x4B00_0001,
    0x4AFF_FFFF,
    0x3F7F_FFFF,
];

/// A small generator: the tests must not depend on a seed from outside.
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> u32 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 32) as u32
    }

    /// Now and then a float of everyday size, else any word.
    fn word(&mut self) -> u32 {
        let w = self.next();
        if w & 3 == 0 { (self.next() & 0x87FF_FFFF) | 0x3C00_0000 } else { self.next() }
    }
}

/// All pairs of edges, then noise; three operands.
fn inputs() -> [Vec<u32>; 3] {
    let mut noise = Noise(1);
    let (mut a, mut b) = (Vec::new(), Vec::new());
    for x in EDGES {
        for y in EDGES {
            a.push(x);
            b.push(y);
        }
    }
    while a.len() < 6400 {
        a.push(noise.word());
        b.push(noise.word());
    }
    // Small counts are the interesting third operands of bit fields.
    let c = (0..a.len()).map(|i| if i % 3 == 0 { i as u32 % 40 } else { noise.word() }).collect();
    [a, b, c]
}

/// Runs one instruction on every input, by both codes; gives the result.
fn results(
    name: &str,
    inputs: &[Vec<u32>; 3],
    make: impl Fn(&mut Builder, &mut Block, [Reg; 3]) -> Reg,
) -> Vec<u32> {
    let mut b = Builder::new([64, 1, 1]);
    let buffers: Vec<_> = ["a", "b", "c", "out"].iter().map(|n| b.buffer(n)).collect();
    let mut body = Vec::new();
    let i = b.builtin(&mut body, Builtin::GlobalIdX);
    let regs: Vec<Reg> = (0..3).map(|k| b.load(&mut body, Space::Buffer(buffers[k]), i)).collect();
    let mut r = make(&mut b, &mut body, [regs[0], regs[1], regs[2]]);
    if b.kernel.reg(r).ty == Ty::Bool {
        let (yes, no) = (b.constant(u32::MAX), b.constant(0));
        r = b.ter(&mut body, TerOp::Select, r, yes, no);
    }
    b.store(&mut body, Space::Buffer(buffers[3]), i, r);
    let kernel = b.done(body);
    let n = inputs[0].len();
    let data = [inputs[0].clone(), inputs[1].clone(), inputs[2].clone(), vec![0; n]];
    let groups = [n as u32 / 64, 1, 1];
    let fast = run(&Interpreter::new(), &kernel, WaveSize::W64, groups, &data);
    let plain = run(&Interpreter::portable(), &kernel, WaveSize::W64, groups, &data);
    for i in 0..n {
        let [a, b, c] = [inputs[0][i], inputs[1][i], inputs[2][i]];
        assert_eq!(fast[3][i], plain[3][i], "{name}({a:#x}, {b:#x}, {c:#x}): codes differ");
    }
    fast[3].clone()
}

fn f(bits: u32) -> f32 {
    f32::from_bits(bits)
}

/// One NaN for all.
fn bits(x: f32) -> u32 {
    if x.is_nan() { 0x7FC0_0000 } else { x.to_bits() }
}

fn t(holds: bool) -> u32 {
    if holds { u32::MAX } else { 0 }
}

/// What a unary op must give exactly; `None` for those judged by distance.
fn unary(op: UnOp, a: u32) -> Option<u32> {
    let x = f(a);
    Some(match op {
        UnOp::Not => !a,
        UnOp::INeg => 0u32.wrapping_sub(a),
        UnOp::IAbs => i64::from(a as i32).unsigned_abs() as u32,
        UnOp::ISign => i64::from(a as i32).signum() as u32,
        UnOp::BitCount => (0..32).filter(|i| a >> i & 1 == 1).count() as u32,
        UnOp::BitReverse => (0..32).fold(0, |r, i| r | (a >> i & 1) << (31 - i)),
        UnOp::FindLsb => (0..32).find(|i| a >> i & 1 == 1).unwrap_or(u32::MAX),
        UnOp::FindUMsb => (0..32).rev().find(|i| a >> i & 1 == 1).unwrap_or(u32::MAX),
        UnOp::FindSMsb => (0..32).rev().find(|i| a >> i & 1 != a >> 31).unwrap_or(u32::MAX),
        UnOp::FNeg => a ^ 1 << 31,
        UnOp::FAbs => a & !(1 << 31),
        UnOp::FSign if x.is_nan() => 0,
        UnOp::FSign if x == 0.0 => a,
        UnOp::FSign => x.signum().to_bits(),
        UnOp::FFloor => bits(x.floor()),
        UnOp::FCeil => bits(x.ceil()),
        UnOp::FTrunc => bits(x.trunc()),
        UnOp::FRoundEven => bits(x.round_ties_even()),
        UnOp::FFract if !x.is_finite() => 0x7FC0_0000,
        UnOp::FFract => bits((x - x.floor()).min(0.999_999_94)),
        UnOp::FSqrt => bits(f64::from(x).sqrt() as f32),
        UnOp::FIsNan => t(x.is_nan()),
        UnOp::FIsInf => t(x.is_infinite()),
        UnOp::UnpackHalfLo => half(a & 0xFFFF),
        UnOp::UnpackHalfHi => half(a >> 16),
        UnOp::FToS => x as i32 as u32,
        UnOp::FToU => x as u32,
        UnOp::SToF => (f64::from(a as i32) as f32).to_bits(),
        UnOp::UToF => (f64::from(a) as f32).to_bits(),
        UnOp::FConvert => bits(x),
        UnOp::Copy => a,
        UnOp::FQuantizeF16 => {
            let h = to_half(a);
            if h & 0x7C00 == 0 { (h & 0x8000) << 16 } else { half(h) }
        }
        UnOp::FRsqrt
        | UnOp::FExp
        | UnOp::FExp2
        | UnOp::FLog
        | UnOp::FLog2
        | UnOp::FSin
        | UnOp::FCos
        | UnOp::FTan
        | UnOp::FAsin
        | UnOp::FAcos
        | UnOp::FAtan
        | UnOp::FSinh
        | UnOp::FCosh
        | UnOp::FTanh
        | UnOp::FAsinh
        | UnOp::FAcosh
        | UnOp::FAtanh
        | UnOp::SConvert
        | UnOp::UConvert => return None,
    })
}

/// A half by its definition.
fn half(h: u32) -> u32 {
    let (e, m) = (h >> 10 & 31, f64::from(h & 0x3FF));
    let sign = if h >> 15 == 1 { -1.0 } else { 1.0 };
    bits(match e {
        0 => sign * m * 2f64.powi(-24),
        31 if m == 0.0 => sign * f64::INFINITY,
        31 => f64::NAN,
        e => sign * (1.0 + m / 1024.0) * 2f64.powi(e as i32 - 15),
    } as f32)
}

/// The nearest half by search, ties to the even one.
fn to_half(a: u32) -> u32 {
    let x = f64::from(f(a & 0x7FFF_FFFF));
    let sign = a >> 16 & 0x8000;
    if x.is_nan() {
        return 0x7E00;
    }
    if x >= 65520.0 {
        return 0x7C00 | sign;
    }
    // Halves in order are integers in order: find the last not above.
    let value = |h: u32| f64::from(f(half(h)));
    let (mut low, mut high) = (0u32, 0x7BFF);
    while low < high {
        let mid = (low + high).div_ceil(2);
        if value(mid) <= x {
            low = mid;
        } else {
            high = mid - 1;
        }
    }
    let next = if low == 0x7BFF { 65536.0 } else { value(low + 1) };
    let (below, above) = (x - value(low), next - x);
    let up = above < below || (above == below && low & 1 == 1);
    (low + u32::from(up)) | sign
}

fn binary(op: BinOp, a: u32, b: u32) -> Option<u32> {
    let (x, y) = (f(a), f(b));
    let (s, r) = (i64::from(a as i32), i64::from(b as i32));
    let unordered = x.is_nan() || y.is_nan();
    Some(match op {
        BinOp::IAdd => (u64::from(a) + u64::from(b)) as u32,
        BinOp::ISub => (s - r) as u32,
        BinOp::IMul => (u64::from(a) * u64::from(b)) as u32,
        BinOp::UMulHi => ((u128::from(a) * u128::from(b)) >> 32) as u32,
        BinOp::SMulHi => ((i128::from(s) * i128::from(r)) >> 32) as u32,
        BinOp::UDiv | BinOp::SDiv | BinOp::UMod | BinOp::SRem | BinOp::SMod if b == 0 => u32::MAX,
        BinOp::UDiv => a / b,
        BinOp::SDiv => (s / r) as u32,
        BinOp::UMod => a % b,
        BinOp::SRem => (s % r) as u32,
        BinOp::SMod => (s - r * (s as f64 / r as f64).floor() as i64) as u32,
        BinOp::UCarry => ((u64::from(a) + u64::from(b)) >> 32) as u32,
        BinOp::UBorrow => u32::from(a < b),
        BinOp::And => a & b,
        BinOp::Or => a | b,
        BinOp::Xor => a ^ b,
        BinOp::Shl => (u64::from(a) << (b % 32)) as u32,
        BinOp::ShrL => (u64::from(a) >> (b % 32)) as u32,
        BinOp::ShrA => (s >> (b % 32)) as u32,
        BinOp::UMin => a.min(b),
        BinOp::UMax => a.max(b),
        BinOp::SMin => s.min(r) as u32,
        BinOp::SMax => s.max(r) as u32,
        BinOp::FAdd => bits(x + y),
        BinOp::FSub => bits(x - y),
        BinOp::FMul => bits(x * y),
        BinOp::FDiv => bits(x / y),
        BinOp::FRem => bits((f64::from(x) % f64::from(y)) as f32),
        BinOp::FMod => bits(x - y * (x / y).floor()),
        BinOp::FMin if x == y => b,
        BinOp::FMax if x == y => b,
        BinOp::FMin => bits(x.min(y)),
        BinOp::FMax => bits(x.max(y)),
        BinOp::FLdexp => {
            let e = (b as i32).clamp(-400, 400);
            bits((f64::from(x) * 2f64.powi(e)) as f32)
        }
        BinOp::PackHalf => to_half(a) | to_half(b) << 16,
        BinOp::IEq => t(a == b),
        BinOp::INe => t(a != b),
        BinOp::ULt => t(a < b),
        BinOp::ULe => t(a <= b),
        BinOp::UGt => t(a > b),
        BinOp::UGe => t(a >= b),
        BinOp::SLt => t(s < r),
        BinOp::SLe => t(s <= r),
        BinOp::SGt => t(s > r),
        BinOp::SGe => t(s >= r),
        BinOp::FOEq => t(x == y),
        BinOp::FONe => t(!unordered && x != y),
        BinOp::FOLt => t(x < y),
        BinOp::FOLe => t(x <= y),
        BinOp::FOGt => t(x > y),
        BinOp::FOGe => t(x >= y),
        BinOp::FUEq => t(unordered || x == y),
        BinOp::FUNe => t(x != y),
        BinOp::FULt => t(unordered || x < y),
        BinOp::FULe => t(unordered || x <= y),
        BinOp::FUGt => t(unordered || x > y),
        BinOp::FUGe => t(unordered || x >= y),
        BinOp::FPow | BinOp::FAtan2 => return None,
    })
}

fn ternary(op: TerOp, a: u32, b: u32, c: u32) -> u32 {
    let count = c.min(32);
    // A field that reaches past bit 31 finds zeros there, or the sign.
    let field = |wide: u128| (wide >> b.min(32)) & ((1 << count) - 1);
    match op {
        TerOp::Select => unreachable!("tested with its condition"),
        TerOp::FFma => bits(f(a).mul_add(f(b), f(c))),
        TerOp::BitfieldUExtract => field(u128::from(a)) as u32,
        TerOp::BitfieldSExtract if count == 0 => 0,
        TerOp::BitfieldSExtract => {
            let low = field(i128::from(a as i32) as u128) as u64;
            let sign = low >> (count - 1) & 1 == 1;
            if sign { (low | u64::MAX << count) as u32 } else { low as u32 }
        }
    }
}

#[test]
fn unary_ops_are_exact() {
    let inputs = inputs();
    for &op in UnOp::ALL {
        if matches!(op, UnOp::SConvert | UnOp::UConvert) {
            continue;
        }
        let got = results(op.name(), &inputs, |b, body, r| b.un(body, op, r[0]));
        for (&a, &got) in inputs[0].iter().zip(&got) {
            if let Some(want) = unary(op, a) {
                assert_eq!(got, want, "{}({a:#x}) = {got:#x}, not {want:#x}", op.name());
            }
        }
    }
}

#[test]
fn binary_ops_are_exact() {
    let inputs = inputs();
    for &op in BinOp::ALL {
        let got = results(op.name(), &inputs, |b, body, r| b.bin(body, op, r[0], r[1]));
        for i in 0..got.len() {
            let (a, b, got) = (inputs[0][i], inputs[1][i], got[i]);
            if let Some(want) = binary(op, a, b) {
                assert_eq!(got, want, "{}({a:#x}, {b:#x}) = {got:#x}, not {want:#x}", op.name());
            }
        }
    }
}

#[test]
fn ternary_ops_are_exact() {
    let inputs = inputs();
    for &op in TerOp::ALL {
        let select = op == TerOp::Select;
        let got = results(op.name(), &inputs, |b, body, [x, y, z]| {
            let first = if select { b.bin(body, BinOp::ULt, x, y) } else { x };
            b.ter(body, op, first, y, z)
        });
        for i in 0..got.len() {
            let [a, b, c] = [inputs[0][i], inputs[1][i], inputs[2][i]];
            let want = if select { if a < b { b } else { c } } else { ternary(op, a, b, c) };
            let got = got[i];
            assert_eq!(got, want, "{}({a:#x}, {b:#x}, {c:#x}) = {got:#x}", op.name());
        }
    }
}

#[test]
fn a_product_and_a_sum_round_twice() {
    let inputs = inputs();
    for swap in [false, true] {
        for op in [BinOp::FAdd, BinOp::FSub] {
            let got = results("fmul and sum", &inputs, |b, body, [x, y, z]| {
                let p = b.bin(body, BinOp::FMul, x, y);
                if swap { b.bin(body, op, z, p) } else { b.bin(body, op, p, z) }
            });
            for i in 0..got.len() {
                let [x, y, z] = [0, 1, 2].map(|k: usize| f(inputs[k][i]));
                let p = x * y;
                let want = match (op, swap) {
                    (BinOp::FAdd, _) => p + z,
                    (_, false) => p - z,
                    (_, true) => z - p,
                };
                assert_eq!(got[i], bits(want), "{x} * {y} and {z}, {op:?}, {swap}");
            }
        }
    }
}

/// Distance in units of the last place of the exact result.
fn distance(got: u32, want: f64) -> f64 {
    let (g, w) = (f64::from(f(got)), want as f32);
    if want.is_nan() {
        return if got == 0x7FC0_0000 { 0.0 } else { f64::INFINITY };
    }
    if w.is_infinite() || f(got).is_infinite() {
        // Rounding up to infinity from within half a unit is right, too.
        return if f(got) == w { 0.0 } else { f64::INFINITY };
    }
    let unit = if w.abs() < f32::MIN_POSITIVE {
        2f64.powi(-149)
    } else {
        2f64.powi(((w.to_bits() >> 23 & 0xFF) as i32) - 150)
    };
    (g - want).abs() / unit
}

/// A function and what it should give.
type Judged = (UnOp, fn(f64) -> f64);

#[test]
fn transcendentals_are_rounded_once() {
    let functions: [Judged; 17] = [
        (UnOp::FRsqrt, |x| 1.0 / x.sqrt()),
        (UnOp::FExp, f64::exp),
        (UnOp::FExp2, f64::exp2),
        (UnOp::FLog, f64::ln),
        (UnOp::FLog2, f64::log2),
        (UnOp::FSin, f64::sin),
        (UnOp::FCos, f64::cos),
        (UnOp::FTan, f64::tan),
        (UnOp::FAsin, f64::asin),
        (UnOp::FAcos, f64::acos),
        (UnOp::FAtan, f64::atan),
        (UnOp::FSinh, f64::sinh),
        (UnOp::FCosh, f64::cosh),
        (UnOp::FTanh, f64::tanh),
        (UnOp::FAsinh, f64::asinh),
        (UnOp::FAcosh, f64::acosh),
        (UnOp::FAtanh, f64::atanh),
    ];
    let mut inputs = inputs();
    let mut noise = Noise(7);
    // Many more of everyday size, around 1, and near multiples of pi / 2.
    for i in 0..20_000u32 {
        let everyday = (noise.next() & 0x87FF_FFFF) | 0x3C00_0000;
        let near_one = 0x3F80_0000u32.wrapping_add(noise.next() % 4000).wrapping_sub(2000);
        let angle = (f64::from(i) * std::f64::consts::FRAC_PI_2) as f32;
        inputs[0].extend([everyday, near_one, angle.to_bits()]);
    }
    let n = inputs[0].len().next_multiple_of(64);
    inputs.iter_mut().for_each(|v| v.resize(n, 0));
    // All but 1 / sqrt, which rounds twice, are rounded once.
    for (op, exact) in functions {
        let got = results(op.name(), &inputs, |b, body, r| b.un(body, op, r[0]));
        for (&a, &got) in inputs[0].iter().zip(&got) {
            let d = distance(got, exact(f64::from(f(a))));
            let bound = if op == UnOp::FRsqrt { 1.5 } else { 0.501 };
            assert!(d <= bound, "{}({:?} = {a:#x}) = {:?}, {d} units off", op.name(), f(a), f(got));
        }
    }
}

#[test]
fn zeros_keep_their_sign() {
    let mut inputs = inputs();
    inputs[0][0] = 0x8000_0000;
    for op in [
        UnOp::FSin,
        UnOp::FTan,
        UnOp::FAsin,
        UnOp::FAtan,
        UnOp::FSinh,
        UnOp::FTanh,
        UnOp::FAsinh,
        UnOp::FAtanh,
    ] {
        let got = results(op.name(), &inputs, |b, body, r| b.un(body, op, r[0]));
        assert_eq!(got[0], 0x8000_0000, "{}(-0)", op.name());
    }
}

#[test]
fn pow_and_atan2_are_within_one_unit() {
    let inputs = inputs();
    let got = results("fpow", &inputs, |b, body, r| b.bin(body, BinOp::FPow, r[0], r[1]));
    for i in 0..got.len() {
        let (x, y) = (f64::from(f(inputs[0][i])), f64::from(f(inputs[1][i])));
        // Negative bases and NaNs as exp2(y * log2(x)); to the power of 0 all is 1.
        let want = if y == 0.0 {
            1.0
        } else if x.is_nan() || x < 0.0 || (x == 1.0 && !y.is_finite()) {
            f64::NAN
        } else {
            x.abs().powf(y)
        };
        let d = distance(got[i], want);
        assert!(d <= 1.0, "pow({x}, {y}) = {}, {d} units off", f(got[i]));
    }
    let got = results("fatan2", &inputs, |b, body, r| b.bin(body, BinOp::FAtan2, r[0], r[1]));
    for i in 0..got.len() {
        let (y, x) = (f64::from(f(inputs[0][i])), f64::from(f(inputs[1][i])));
        let d = distance(got[i], y.atan2(x));
        assert!(d <= 1.0, "atan2({y}, {x}) = {}, {d} units off", f(got[i]));
    }
}

#[test]
fn a_negation_goes_into_a_fused_product_and_sum() {
    let inputs = inputs();
    for side in 0..3 {
        let got = results("fneg and ffma", &inputs, |b, body, regs| {
            let mut r = regs;
            r[side] = b.un(body, UnOp::FNeg, r[side]);
            b.ter(body, TerOp::FFma, r[0], r[1], r[2])
        });
        for i in 0..got.len() {
            let mut x = [0, 1, 2].map(|k: usize| f(inputs[k][i]));
            x[side] = -x[side];
            assert_eq!(got[i], bits(x[0].mul_add(x[1], x[2])), "{x:?}, {side}");
        }
    }
}
