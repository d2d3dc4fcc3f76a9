//! Integer ops and conversions between integers, at every width, on edges and
//! noise: the bits are those of arithmetic in 128 bits.

mod support;

use support::eval::{Op, results};
use wavefence_shader::ir::*;

const WIDTHS: [Ty; 4] = [Ty::B8, Ty::B16, Ty::B32, Ty::B64];

fn bits(ty: Ty) -> u32 {
    match ty {
        Ty::Bool => 1,
        Ty::B8 => 8,
        Ty::B16 => 16,
        Ty::B32 => 32,
        Ty::B64 => 64,
    }
}

/// A small generator of numbers.
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }
}

/// How many inputs each op gets, edges included.
const INPUTS: usize = 1 << 20;

fn edges(ty: Ty) -> Vec<u64> {
    let n = bits(ty);
    let mask = u64::MAX >> (64 - n);
    let top = 1u64 << (n - 1);
    let mut all = vec![0, 1, 2, 3, 5, 7, 8, 10, 15, 16, 17, 31, 32, 33, 63, 64, 100, 127, 128];
    for base in [0, top, top >> 1, 1 << (n / 2), mask] {
        all.extend([base.wrapping_sub(2), base.wrapping_sub(1), base, base.wrapping_add(1)]);
    }
    all.iter_mut().for_each(|v| *v &= mask);
    all.sort_unstable();
    all.dedup();
    all
}

/// Every pair of edges, then noise, some of it small or sparse.
fn pairs(a: Ty, b: Ty) -> [Vec<u64>; 2] {
    let mut out = [Vec::with_capacity(INPUTS), Vec::with_capacity(INPUTS)];
    for &x in &edges(a) {
        for &y in &edges(b) {
            out[0].push(x);
            out[1].push(y);
        }
    }
    let mut noise = Noise(0x9E37_79B9_7F4A_7C15);
    while out[0].len() < INPUTS {
        for (side, ty) in out.iter_mut().zip([a, b]) {
            let mask = u64::MAX >> (64 - bits(ty));
            let shape = noise.next();
            let value = noise.next();
            let value = match shape % 4 {
                0 => value >> (shape >> 8 & 63),
                1 => value & noise.next() & noise.next(),
                _ => value,
            };
            side.push(value & mask);
        }
    }
    out
}

/// As a signed number.
fn signed(ty: Ty, v: u64) -> i128 {
    let shift = 64 - bits(ty);
    i128::from((v << shift) as i64 >> shift)
}

fn fit(ty: Ty, v: i128) -> u64 {
    v as u64 & (u64::MAX >> (64 - bits(ty)))
}

fn unary(op: UnOp, ty: Ty, a: u64) -> u64 {
    let n = bits(ty);
    let s = signed(ty, a);
    let bit = |i: u32| a >> i & 1 == 1;
    let found = |at: Option<u32>| at.map_or(-1, i128::from);
    fit(
        ty,
        match op {
            UnOp::Not => -1 - s,
            UnOp::INeg => -s,
            UnOp::IAbs => s.abs(),
            UnOp::ISign => s.signum(),
            UnOp::BitCount => (0..n).filter(|&i| bit(i)).count() as i128,
            UnOp::BitReverse => (0..n).map(|i| i128::from(bit(i)) << (n - 1 - i)).sum(),
            UnOp::FindLsb => found((0..n).find(|&i| bit(i))),
            UnOp::FindUMsb => found((0..n).rev().find(|&i| bit(i))),
            UnOp::FindSMsb => found((0..n).rev().find(|&i| bit(i) != bit(n - 1))),
            UnOp::Copy => s,
            _ => unreachable!("no integer op: {op:?}"),
        },
    )
}

const INT_UN: [UnOp; 10] = [
    UnOp::Not,
    UnOp::INeg,
    UnOp::IAbs,
    UnOp::ISign,
    UnOp::BitCount,
    UnOp::BitReverse,
    UnOp::FindLsb,
    UnOp::FindUMsb,
    UnOp::FindSMsb,
    UnOp::Copy,
];

#[test]
fn unary_integer_ops_are_exact() {
    for ty in WIDTHS {
        let [inputs, _] = pairs(ty, ty);
        for op in INT_UN {
            let got = results(Op::Un(op), ty, &[ty], &[&inputs]);
            for (&a, &got) in inputs.iter().zip(&got) {
                let want = unary(op, ty, a);
                assert_eq!(got, want, "{op:?} {ty:?} of {a:#x}: {got:#x}, not {want:#x}");
            }
        }
    }
}

#[test]
fn integers_change_width() {
    for from in WIDTHS {
        let [inputs, _] = pairs(from, from);
        for to in WIDTHS {
            for op in [UnOp::SConvert, UnOp::UConvert] {
                let got = results(Op::Un(op), to, &[from], &[&inputs]);
                for (&a, &got) in inputs.iter().zip(&got) {
                    let wide = if op == UnOp::SConvert { signed(from, a) } else { a.into() };
                    assert_eq!(got, fit(to, wide), "{op:?} {from:?} to {to:?} of {a:#x}");
                }
            }
        }
    }
}

fn binary(op: BinOp, ty: Ty, a: u64, b: u64) -> u64 {
    use BinOp as B;
    let n = bits(ty);
    let (s, r) = (signed(ty, a), signed(ty, b));
    let (u, v) = (u128::from(a), u128::from(b));
    let (x, y) = (u as i128, v as i128);
    let count = b as u32 % n;
    fit(
        ty,
        match op {
            B::IAdd => x + y,
            B::ISub => x - y,
            B::IMul => (u * v) as i128,
            B::UMulHi => ((u * v) >> n) as i128,
            B::SMulHi => (s * r) >> n,
            B::UDiv | B::SDiv | B::UMod | B::SRem | B::SMod if b == 0 => -1,
            B::UDiv => x / y,
            B::SDiv => s / r,
            B::UMod => x % y,
            B::SRem => s % r,
            B::SMod => {
                let m = s % r;
                if m != 0 && (m < 0) != (r < 0) { m + r } else { m }
            }
            B::UCarry => (x + y) >> n,
            B::UBorrow => i128::from(x < y),
            B::And => (a & b).into(),
            B::Or => (a | b).into(),
            B::Xor => (a ^ b).into(),
            B::Shl => x << count,
            B::ShrL => x >> count,
            B::ShrA => s >> count,
            B::UMin => x.min(y),
            B::UMax => x.max(y),
            B::SMin => s.min(r),
            B::SMax => s.max(r),
            _ => unreachable!("no integer op: {op:?}"),
        },
    )
}

fn compare(op: BinOp, ty: Ty, a: u64, b: u64) -> bool {
    use BinOp as B;
    let (s, r) = (signed(ty, a), signed(ty, b));
    match op {
        B::IEq => a == b,
        B::INe => a != b,
        B::ULt => a < b,
        B::ULe => a <= b,
        B::UGt => a > b,
        B::UGe => a >= b,
        B::SLt => s < r,
        B::SLe => s <= r,
        B::SGt => s > r,
        B::SGe => s >= r,
        _ => unreachable!("no comparison of integers: {op:?}"),
    }
}

#[test]
fn binary_integer_ops_are_exact() {
    for ty in WIDTHS {
        let [x, y] = pairs(ty, ty);
        for &op in BinOp::ALL.iter().filter(|&&op| op <= BinOp::SMax) {
            let got = results(Op::Bin(op), ty, &[ty, ty], &[&x, &y]);
            for i in 0..got.len() {
                let (a, b, got) = (x[i], y[i], got[i]);
                let want = binary(op, ty, a, b);
                assert_eq!(got, want, "{op:?} {ty:?} of {a:#x}, {b:#x}: {got:#x}, not {want:#x}");
            }
        }
        for &op in BinOp::ALL.iter().filter(|&&op| (BinOp::IEq..=BinOp::SGe).contains(&op)) {
            let got = results(Op::Bin(op), Ty::Bool, &[ty, ty], &[&x, &y]);
            for i in 0..got.len() {
                let (a, b) = (x[i], y[i]);
                let want = u64::from(compare(op, ty, a, b));
                assert_eq!(got[i], want, "{op:?} {ty:?} of {a:#x}, {b:#x}");
            }
        }
    }
}

#[test]
fn fields_and_selections_are_exact() {
    for ty in WIDTHS {
        let n = bits(ty);
        let [x, y] = pairs(ty, Ty::B32);
        let [mut c, z] = pairs(Ty::B32, ty);
        c.rotate_left(777);
        for op in [TerOp::BitfieldSExtract, TerOp::BitfieldUExtract] {
            let got = results(Op::Ter(op), ty, &[ty, Ty::B32, Ty::B32], &[&x, &y, &c]);
            for i in 0..got.len() {
                let (a, from, count) = (x[i], (y[i] as u32).min(n), (c[i] as u32).min(n));
                let wide = if op == TerOp::BitfieldSExtract { signed(ty, a) } else { a.into() };
                let low = (wide >> from) as u128 & ((1u128 << count) - 1);
                let sign =
                    op == TerOp::BitfieldSExtract && count > 0 && low >> (count - 1) & 1 == 1;
                let want = if sign { low as i128 - (1i128 << count) } else { low as i128 };
                assert_eq!(got[i], fit(ty, want), "{op:?} {ty:?} of {a:#x}, {from}, {count}");
            }
        }
        let flags: Vec<u64> = y.iter().map(|v| v & 1).collect();
        let got = results(Op::Ter(TerOp::Select), ty, &[Ty::Bool, ty, ty], &[&flags, &x, &z]);
        for i in 0..got.len() {
            assert_eq!(got[i], if flags[i] == 1 { x[i] } else { z[i] });
        }
    }
}
