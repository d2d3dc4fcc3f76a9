//! Group-shared and private memory: words on this thread's own slices, so an
//! atomic is a plain read, change and write.

use wavefence_base::LaneMask;
use wavefence_memory::port::Atomic;

macro_rules! atomic {
    ($name:ident, $u:ty, $s:ty) => {
        /// What an atomic leaves in memory.
        pub fn $name(op: Atomic, old: $u, value: $u, compare: $u) -> $u {
            match op {
                Atomic::Add => old.wrapping_add(value),
                Atomic::Sub => old.wrapping_sub(value),
                Atomic::And => old & value,
                Atomic::Or => old | value,
                Atomic::Xor => old ^ value,
                Atomic::UMin => old.min(value),
                Atomic::UMax => old.max(value),
                Atomic::SMin => (old as $s).min(value as $s) as $u,
                Atomic::SMax => (old as $s).max(value as $s) as $u,
                Atomic::Exchange => value,
                Atomic::CompareExchange if old == compare => value,
                Atomic::CompareExchange => old,
            }
        }
    };
}

atomic!(atomic, u32, i32);
atomic!(atomic64, u64, i64);

/// Reads component `c` at each lane's byte offset. `bytes` is the size; `place`
/// turns a word index and a lane into an index of `words`.
pub fn load(
    words: &[u32],
    bytes: u32,
    place: impl Fn(usize, usize) -> usize,
    mask: LaneMask,
    offsets: &[u32],
    c: u32,
    out: &mut [u32],
) {
    for lane in mask.iter().map(|l| l as usize) {
        out[lane] = match word(offsets[lane], c, bytes) {
            Some(word) => words.get(place(word, lane)).copied().unwrap_or(0),
            None => 0,
        };
    }
}

/// Writes component `c`.
pub fn store(
    words: &mut [u32],
    bytes: u32,
    place: impl Fn(usize, usize) -> usize,
    mask: LaneMask,
    offsets: &[u32],
    c: u32,
    data: &[u32],
) {
    for lane in mask.iter().map(|l| l as usize) {
        if let Some(word) = word(offsets[lane], c, bytes)
            && let Some(slot) = words.get_mut(place(word, lane))
        {
            *slot = data[lane];
        }
    }
}

/// Word index of component `c` at byte `offset` if all four bytes lie inside.
/// The low two bits of an offset do not count.
fn word(offset: u32, c: u32, bytes: u32) -> Option<usize> {
    let first = u64::from(offset & !3) + 4 * u64::from(c);
    (first + 4 <= u64::from(bytes)).then_some((first / 4) as usize)
}

/// Adds each lane's value, where all offsets are known to lie in `words`.
pub fn add(words: &mut [u32], mask: LaneMask, offsets: &[u32], value: &[u32], old: &mut [u32]) {
    let mut one = |lane: usize| {
        if let Some(slot) = words.get_mut(offsets[lane] as usize / 4) {
            old[lane] = *slot;
            *slot = slot.wrapping_add(value[lane]);
        }
    };
    if mask == LaneMask(u64::MAX) {
        (0..64).for_each(one);
    } else {
        mask.iter().for_each(|l| one(l as usize));
    }
}

/// Read-modify-write of the lanes in order.
pub fn rmw(
    words: &mut [u32],
    bytes: u32,
    mask: LaneMask,
    offsets: &[u32],
    mut change: impl FnMut(usize, u32) -> Option<u32>,
    old: &mut [u32],
) {
    for lane in mask.iter().map(|l| l as usize) {
        let slot = word(offsets[lane], 0, bytes).and_then(|w| words.get_mut(w));
        old[lane] = match slot {
            Some(slot) => {
                let was = *slot;
                if let Some(new) = change(lane, was) {
                    *slot = new;
                }
                was
            }
            None => 0,
        };
    }
}
