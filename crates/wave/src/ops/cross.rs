//! Operations between lanes. Slices hold one value per lane of the wave; only
//! lanes in `active` take part, and what is read from others is 0.
//!
//! Reductions and scans go through the active lanes upwards, one by one, so
//! float sums have one defined order.

use super::sized::reduce::Monoid;
use super::{compare, float, int, truth};
use wavefence_base::LaneMask;
use wavefence_shader::ir::{ReduceOp, Scan, WaveOp};

/// What an exclusive scan gives the lowest lane.
pub const fn identity(op: ReduceOp) -> u32 {
    match op {
        ReduceOp::IAdd | ReduceOp::Or | ReduceOp::Xor | ReduceOp::UMax | ReduceOp::FAdd => 0,
        ReduceOp::IMul => 1,
        ReduceOp::And | ReduceOp::UMin => u32::MAX,
        ReduceOp::SMin => i32::MAX as u32,
        ReduceOp::SMax => i32::MIN as u32,
        ReduceOp::FMul => 0x3F80_0000,
        ReduceOp::FMin => 0x7F80_0000,
        ReduceOp::FMax => 0xFF80_0000,
    }
}

/// Runs `$body` with `$f` as the function of `$op`, so that it is compiled for
/// each.
macro_rules! by_op {
    ($op:expr, $f:ident => $body:expr) => {
        by_op!($op, $f => $body; IAdd int::iadd, IMul int::imul, And int::and, Or int::or,
            Xor int::xor, UMin int::umin, UMax int::umax, SMin int::smin, SMax int::smax,
            FAdd float::fadd, FMul float::fmul, FMin float::fmin, FMax float::fmax)
    };
    ($op:expr, $f:ident => $body:expr; $($name:ident $path:path),*) => {
        match $op {
            $(ReduceOp::$name => {
                let $f = $path;
                $body
            })*
        }
    };
}

/// The lanes of a mask that is one run of set bits.
fn run(mask: LaneMask) -> Option<std::ops::Range<usize>> {
    let first = mask.lowest()?;
    let count = mask.count();
    (mask.0 >> first == LaneMask::first(count).0)
        .then_some(first as usize..(first + count) as usize)
}

/// A reduction or scan over the lanes of `members`, into those lanes of `out`.
fn over(op: ReduceOp, scan: Scan, members: LaneMask, a: &[u32], out: &mut [u32]) {
    if scan == Scan::Reduce {
        let total = total(op, members, a);
        for lane in members.iter() {
            out[lane as usize] = total;
        }
        return;
    }
    let start = identity(op);
    by_op!(op, f => match run(members) {
        Some(lanes) => scan_lanes(f, start, scan, lanes, a, out),
        None => scan_lanes(f, start, scan, members.iter().map(|l| l as usize), a, out),
    });
}

#[inline(always)]
fn scan_lanes(
    f: impl Fn(u32, u32) -> u32,
    start: u32,
    scan: Scan,
    mut lanes: impl Iterator<Item = usize>,
    a: &[u32],
    out: &mut [u32],
) {
    let inclusive = scan == Scan::Inclusive;
    // The first value as it is: an identity need not be one for floats.
    let Some(first) = lanes.next() else { return };
    let mut total = a[first];
    out[first] = if inclusive { total } else { start };
    for lane in lanes {
        let next = f(total, a[lane]);
        out[lane] = if inclusive { next } else { total };
        total = next;
    }
}

/// The value of a reduction over all active lanes.
pub fn total(op: ReduceOp, active: LaneMask, a: &[u32]) -> u32 {
    let Some(first) = active.lowest() else { return identity(op) };
    let rest = LaneMask(active.0 & (active.0 - 1));
    let start = a[first as usize];
    by_op!(op, f => match run(active) {
        Some(lanes) => a[lanes][1..].iter().fold(start, |t, &v| f(t, v)),
        None => rest.iter().fold(start, |t, l| f(t, a[l as usize])),
    })
}

/// A reduction or scan within clusters of `cluster` lanes (0: the whole wave).
pub fn reduce(
    op: ReduceOp,
    scan: Scan,
    cluster: u32,
    active: LaneMask,
    a: &[u32],
    out: &mut [u32],
) {
    let width = if cluster == 0 { a.len() as u32 } else { cluster.min(a.len() as u32) };
    let mut first = 0;
    while first < a.len() as u32 {
        let members = LaneMask(LaneMask::first(width).0 << first) & active;
        over(op, scan, members, a, out);
        first += width;
    }
}

/// A reduction or scan within partitions: `masks` gives each lane the mask of
/// its own (lanes that share one hold the same).
pub fn reduce_partition(
    op: ReduceOp,
    scan: Scan,
    active: LaneMask,
    masks: &[u64],
    a: &[u32],
    out: &mut [u32],
) {
    let mut rest = active;
    while let Some(lane) = rest.lowest() {
        let own = LaneMask(1 << lane);
        let members = (LaneMask(masks[lane as usize]) & rest) | own;
        over(op, scan, members, a, out);
        rest = rest & !members;
    }
}

/// As [`reduce_partition`], on values of any width with their operator.
pub fn reduce_sized(
    (f, identity): Monoid,
    scan: Scan,
    active: LaneMask,
    masks: &[u64],
    a: &[u64],
    out: &mut [u64],
) {
    let mut rest = active;
    while let Some(lane) = rest.lowest() {
        let members = (LaneMask(masks[lane as usize]) & rest) | LaneMask(1 << lane);
        let mut total = identity;
        for (i, lane) in members.iter().map(|l| l as usize).enumerate() {
            // The first value as it is: an identity need not be one for floats.
            let next = if i == 0 { a[lane] } else { f(total, a[lane]) };
            out[lane] = if scan == Scan::Exclusive { total } else { next };
            total = next;
        }
        if scan == Scan::Reduce {
            members.iter().for_each(|l| out[l as usize] = total);
        }
        rest = rest & !members;
    }
}

/// The masks of clusters of `cluster` lanes (0: the whole wave).
pub fn clusters(cluster: u32, lanes: u32) -> [u64; 64] {
    let width = if cluster == 0 { lanes } else { cluster.min(lanes) };
    std::array::from_fn(|lane| LaneMask::first(width).0 << (lane as u32 / width * width))
}

/// True if all active lanes hold the same of `a`, as `same` sees it.
pub fn all_equal_sized(active: LaneMask, a: &[u64], same: impl Fn(u64, u64) -> bool) -> bool {
    let Some(first) = active.lowest() else { return true };
    active.iter().all(|l| same(a[first as usize], a[l as usize]))
}

/// `a` of `lane` if it is active, else 0.
fn from(active: LaneMask, a: &[u32], lane: u32) -> u32 {
    if active.contains(lane) { a[lane as usize] } else { 0 }
}

/// True if all active lanes of `a` compare equal to the lowest.
fn all_equal(active: LaneMask, a: &[u32], same: fn(u32, u32) -> u32) -> bool {
    let Some(first) = active.lowest() else { return true };
    active.iter().all(|l| same(a[first as usize], a[l as usize]) != 0)
}

/// Movement, votes and quad operations. `a` and `b` are empty where the op has
/// no such operand.
pub fn wave(op: WaveOp, active: LaneMask, a: &[u32], b: &[u32], out: &mut [u32]) {
    let mut same = |value: u32| out.fill(value);
    let holds = |lane: u32| from(active, a, lane) != 0;
    match op {
        WaveOp::All => return same(truth(active.iter().all(holds))),
        WaveOp::Any => return same(truth(active.iter().any(holds))),
        WaveOp::AllEqual => return same(truth(all_equal(active, a, compare::ieq))),
        WaveOp::AllEqualF => return same(truth(all_equal(active, a, compare::foeq))),
        WaveOp::BroadcastFirst => return same(active.lowest().map_or(0, |l| a[l as usize])),
        WaveOp::Elect
        | WaveOp::ReadLane
        | WaveOp::ShuffleXor
        | WaveOp::ShuffleUp
        | WaveOp::ShuffleDown
        | WaveOp::QuadRead
        | WaveOp::QuadSwapX
        | WaveOp::QuadSwapY
        | WaveOp::QuadSwapDiagonal
        | WaveOp::QuadAll
        | WaveOp::QuadAny => {}
    }
    for lane in active.iter() {
        out[lane as usize] = lane_of(op, active, a, b, lane);
    }
}

/// What `lane` gets from an op whose result differs between lanes.
fn lane_of(op: WaveOp, active: LaneMask, a: &[u32], b: &[u32], lane: u32) -> u32 {
    let i = lane as usize;
    let quad = lane & !3;
    let holds = |l: u32| from(active, a, l) != 0;
    match op {
        WaveOp::Elect => truth(active.lowest() == Some(lane)),
        WaveOp::ReadLane => from(active, a, b[i]),
        WaveOp::ShuffleXor => from(active, a, lane ^ b[i]),
        WaveOp::ShuffleUp => from(active, a, lane.wrapping_sub(b[i])),
        WaveOp::ShuffleDown => from(active, a, lane.wrapping_add(b[i])),
        WaveOp::QuadRead => {
            if b[i] < 4 {
                from(active, a, quad + b[i])
            } else {
                0
            }
        }
        WaveOp::QuadSwapX => from(active, a, lane ^ 1),
        WaveOp::QuadSwapY => from(active, a, lane ^ 2),
        WaveOp::QuadSwapDiagonal => from(active, a, lane ^ 3),
        WaveOp::QuadAll => truth((quad..quad + 4).filter(|&l| active.contains(l)).all(holds)),
        WaveOp::QuadAny => truth((quad..quad + 4).any(holds)),
        WaveOp::All
        | WaveOp::Any
        | WaveOp::AllEqual
        | WaveOp::AllEqualF
        | WaveOp::BroadcastFirst => 0,
    }
}

/// For every active lane, which active lanes hold the same bits in all of `a`.
pub fn matching(active: LaneMask, a: &[&[u32]], out: &mut [u64]) {
    let mut rest = active;
    while let Some(first) = rest.lowest() {
        let same = |l: &u32| a.iter().all(|v| v[first as usize] == v[*l as usize]);
        let members = rest.iter().filter(same).fold(0, |m, l| m | 1u64 << l);
        for lane in LaneMask(members).iter() {
            out[lane as usize] = members;
        }
        rest = rest & !LaneMask(members);
    }
}
