//! Accesses of 8, 16 and 64 bits, and by GPU address.
//!
//! A component of 64 bits is two rows of the stage. Offsets are rounded down to a
//! multiple of the component, of 64 bits to one of 4 bytes.

use super::{Bound, State, request};
use crate::exec::Env;
use crate::image::{Change, change};
use crate::interp::lds;
use crate::program::{Flat, Place, Plain};
use crate::simd::Loc;
use wavefence_base::{AccessKind, GpuAddress, LaneMask};
use wavefence_memory::port::{Access, Lanes, Port};
use wavefence_shader::ir::{AtomicOp, Inst, Space};

/// One value per lane, low words and high words.
type Pair = [Lanes; 2];

/// Bytes from an address that lanes' 32-bit offsets reach.
const REACH: u64 = 1 << 33;

/// Rows of the stage that a component takes.
fn rows(width: u8) -> usize {
    if width == 8 { 2 } else { 1 }
}

/// Bits of an offset that do not count.
fn low_bits(width: u8) -> u32 {
    u32::from(width.min(4)) - 1
}

/// Words with a place for each word and lane.
struct Words<W, P> {
    words: W,
    bytes: u32,
    place: P,
}

impl<W: std::ops::Deref<Target = [u32]>, P: Fn(usize, usize) -> usize> Words<W, P> {
    /// The bytes at `at`, if they are all there.
    fn get(&self, at: u64, width: u8, lane: usize) -> Option<u64> {
        if at + u64::from(width) > u64::from(self.bytes) {
            return None;
        }
        let word = |i: usize| {
            let found = self.words.get((self.place)((at / 4) as usize + i, lane));
            u64::from(found.copied().unwrap_or(0))
        };
        let narrow = |bits: u32| word(0) >> (8 * (at % 4)) & ((1 << bits) - 1);
        Some(match width {
            1 => narrow(8),
            2 => narrow(16),
            4 => word(0),
            _ => word(1) << 32 | word(0),
        })
    }

    /// Writes them, if they are all there.
    fn put(&mut self, at: u64, width: u8, lane: usize, value: u64)
    where
        W: std::ops::DerefMut,
    {
        if at + u64::from(width) > u64::from(self.bytes) {
            return;
        }
        let first = (at / 4) as usize;
        let keep = if width < 4 { !(((1 << (8 * width)) - 1) << (8 * (at % 4)) as u32) } else { 0 };
        let moved = if width < 4 { value << (8 * (at % 4)) } else { value };
        for i in 0..rows(width) {
            if let Some(slot) = self.words.get_mut((self.place)(first + i, lane)) {
                *slot = (*slot & keep) | (moved >> (32 * i)) as u32;
            }
        }
    }
}

/// Byte `c` components after a lane's offset.
fn component(offset: u32, c: usize, width: u8) -> u64 {
    u64::from(offset) + u64::from(width) * c as u64
}

impl State {
    /// A load.
    pub(in crate::interp) fn load_sized(&mut self, plain: &Plain, env: &mut Env<'_>) {
        let (n, width) = (plain.n, plain.width);
        let once = plain.regs[0].uniform;
        // The lowest lane stands for all.
        let mask = if once { self.exec & self.exec.wrapping_neg() } else { self.exec };
        let mask = LaneMask(mask);
        plain.at.of_lanes(&self.file, low_bits(width), &mut self.stage.offsets);
        match &plain.place {
            Place::Lds { bytes } => {
                self.watch(plain, AccessKind::Read, env.port);
                let from = Words { words: &*env.lds, bytes: *bytes, place: |w, _| w };
                load_words(&from, mask, &self.stage.offsets, width, n, &mut self.stage.data);
            }
            Place::Scratch { bytes } => {
                let lanes = self.lanes as usize;
                let place = |w, lane| w * lanes + lane;
                let from = Words { words: &*self.scratch, bytes: *bytes, place };
                load_words(&from, mask, &self.stage.offsets, width, n, &mut self.stage.data);
            }
            Place::Buffer(_) => self.load_sized_buffer(plain, mask, env.port),
            Place::Global { base, request } => {
                let mut result = [[0; 64]; 8];
                self.each_base(*base, plain, mask, |s, at, members| {
                    let request = Access { base: at, len: REACH, width, ..*request };
                    let out = &mut s.stage.data[..n * rows(width)];
                    env.port.load(&request, &s.stage.offsets, &[members; 4][..n], out);
                    gather(&mut result, out, members);
                });
                self.stage.data = result;
            }
        }
        let lane = mask.lowest().unwrap_or(0) as usize;
        for (c, &loc) in plain.regs[..n].iter().enumerate() {
            for i in 0..rows(width) {
                let to = if i == 0 { loc } else { self.file.high(loc) };
                let row = &self.stage.data[c * rows(width) + i];
                if once {
                    self.file.fill(to, row[lane]);
                } else {
                    self.file.set(to, row);
                }
            }
        }
    }

    fn load_sized_buffer(&mut self, plain: &Plain, mask: LaneMask, port: &mut dyn Port) {
        let Place::Buffer(buffer) = &plain.place else { return };
        let (n, width) = (plain.n, plain.width);
        let mut result = [[0; 64]; 8];
        self.each_bound(buffer, mask, |s, bound, members| {
            let masks = s.sized_masks(members, n, width, bound.bytes());
            let data = &mut s.stage.data[..n * rows(width)];
            match bound {
                Bound::Memory { base, bytes } => {
                    let request = Access { width, ..request(buffer, base, bytes) };
                    port.load(&request, &s.stage.offsets, &masks[..n], data);
                }
                Bound::User { first, count } => {
                    let data = &s.dispatch.user_data;
                    let words: Vec<u32> = (0..count)
                        .map_while(|w| data.get(first.checked_add(w)? as usize).copied())
                        .collect();
                    let from = Words { words, bytes: 4 * count, place: |w, _| w };
                    let offsets = &s.stage.offsets;
                    load_words(&from, members, offsets, width, n, &mut s.stage.data);
                }
                Bound::Nothing => data.fill([0; 64]),
            }
            gather(&mut result, &s.stage.data[..n * rows(width)], members);
        });
        self.stage.data = result;
    }

    /// A store.
    pub(in crate::interp) fn store_sized(&mut self, plain: &Plain, env: &mut Env<'_>) {
        let (n, width) = (plain.n, plain.width);
        let mask = self.mask();
        plain.at.of_lanes(&self.file, low_bits(width), &mut self.stage.offsets);
        for (c, &loc) in plain.regs[..n].iter().enumerate() {
            for i in 0..rows(width) {
                let from = if i == 0 { loc } else { self.file.high(loc) };
                self.file.read(from, &mut self.stage.data[c * rows(width) + i]);
            }
        }
        match &plain.place {
            Place::Lds { bytes } => {
                self.watch(plain, AccessKind::Write, env.port);
                let mut to = Words { words: &mut *env.lds, bytes: *bytes, place: |w, _| w };
                store_words(&mut to, mask, &self.stage.offsets, width, n, &self.stage.data);
            }
            Place::Scratch { bytes } => {
                let lanes = self.lanes as usize;
                let place = |w, lane| w * lanes + lane;
                let mut to = Words { words: &mut *self.scratch, bytes: *bytes, place };
                store_words(&mut to, mask, &self.stage.offsets, width, n, &self.stage.data);
            }
            Place::Buffer(buffer) => self.each_bound(buffer, mask, |s, bound, members| {
                let Bound::Memory { base, bytes } = bound else { return };
                let masks = s.sized_masks(members, n, width, bytes);
                let request = Access { width, ..request(buffer, base, bytes) };
                let data = &s.stage.data[..n * rows(width)];
                env.port.store(&request, &s.stage.offsets, &masks[..n], data);
            }),
            Place::Global { base, request } => {
                self.each_base(*base, plain, mask, |s, at, members| {
                    let request = Access { base: at, len: REACH, width, ..*request };
                    let data = &s.stage.data[..n * rows(width)];
                    env.port.store(&request, &s.stage.offsets, &[members; 4][..n], data);
                });
            }
        }
    }

    /// The lanes that take part in each of `n` components of `width` bytes.
    fn sized_masks(&self, mask: LaneMask, n: usize, width: u8, bytes: u64) -> [LaneMask; 4] {
        let offsets = &self.stage.offsets;
        std::array::from_fn(|c| {
            let fits =
                |l: &u32| component(offsets[*l as usize], c, width) + u64::from(width) <= bytes;
            if c < n {
                LaneMask(mask.iter().filter(fits).fold(0, |m, l| m | 1 << l))
            } else {
                LaneMask::EMPTY
            }
        })
    }

    /// Calls `go` for runs of lanes whose addresses lie within 4 GiB: with the
    /// lowest of them, and offsets from there in the stage.
    fn each_base(
        &mut self,
        base: Loc,
        plain: &Plain,
        mask: LaneMask,
        mut go: impl FnMut(&mut Self, GpuAddress, LaneMask),
    ) {
        let add = i64::from(plain.at.constant() as i32) as u64;
        let keep = !u64::from(low_bits(plain.width));
        let high = self.file.high(base);
        let at: [u64; 64] = std::array::from_fn(|lane| {
            if !mask.contains(lane as u32) {
                return 0;
            }
            let word = |loc| u64::from(self.file.lane(loc, lane as u32));
            (word(high) << 32 | word(base)).wrapping_add(add) & keep
        });
        let mut rest = mask;
        while let Some(first) = rest.iter().map(|l| at[l as usize]).min() {
            let mut members = LaneMask::EMPTY;
            for lane in rest.iter() {
                if let Ok(offset) = u32::try_from(at[lane as usize] - first) {
                    self.stage.offsets[lane as usize] = offset;
                    members.0 |= 1 << lane;
                }
            }
            go(self, GpuAddress(first), members);
            rest = rest & !members;
        }
    }

    /// An atomic on 64 bits, or by address.
    pub(super) fn atomic_sized(&mut self, flat: &Flat, inst: &Inst, loc: u32, env: &mut Env<'_>) {
        let Inst::Atomic { op, dst, space, addr, value, compare, order } = inst else { return };
        let named = dst.or(*value);
        let wide = named.is_some_and(|r| flat.is_wide(r));
        let width = if wide { 8 } else { 4 };
        let at = flat.offsets(*addr);
        at.of_lanes(&self.file, low_bits(width), &mut self.stage.offsets);
        let mut operands = [[[0; 64]; 2]; 2];
        for (pair, reg) in operands.iter_mut().zip([value, compare]) {
            let Some(reg) = reg else { continue };
            self.file.read(flat.loc(*reg), &mut pair[0]);
            if wide {
                self.file.read(flat.high(*reg), &mut pair[1]);
            }
        }
        let [value, compare] = &operands;
        let request = |request: Access| Access { width, coherent: true, ..request };
        let mut old: Pair = [[0; 64]; 2];
        match space {
            Space::Lds => {
                if self.watched {
                    let (kind, mask) = (AccessKind::Atomic, self.mask());
                    env.port.group_shared(kind, &self.stage.offsets, mask, 8, loc);
                }
                let bytes = flat.kernel.lds_bytes;
                let mut words = Words { words: &mut *env.lds, bytes, place: |w, _| w };
                let offsets = self.stage.offsets.map(|o| o & !7);
                atomic_words(&mut words, *op, self.mask(), &offsets, value, compare, &mut old);
            }
            Space::Buffer(at) => {
                let buffer = flat.buffer(*at, *order, loc);
                self.each_bound(&buffer, self.mask(), |s, bound, members| {
                    let Bound::Memory { base, bytes } = bound else { return };
                    let mask = s.sized_masks(members, 1, width, bytes)[0];
                    let a = request(super::request(&buffer, base, bytes));
                    let offsets = &s.stage.offsets;
                    atomic_port(env.port, &a, *op, offsets, mask, value, compare, &mut old);
                });
            }
            Space::Global(base) => {
                let a = Flat::request(*order, loc);
                let plain = flat.global(*base, *addr, width, a);
                self.each_base(flat.loc(*base), &plain, self.mask(), |s, at, members| {
                    let a = request(Access { base: at, len: REACH, ..a });
                    let offsets = &s.stage.offsets;
                    atomic_port(env.port, &a, *op, offsets, members, value, compare, &mut old);
                });
            }
            // Not in a checked kernel.
            Space::Scratch => {}
        }
        if let Some(dst) = dst {
            self.file.set(flat.loc(*dst), &old[0]);
            if wide {
                self.file.set(flat.high(*dst), &old[1]);
            }
        }
    }
}

/// Moves the rows of `from` in the lanes of `mask`.
fn gather(to: &mut [Lanes; 8], from: &[Lanes], mask: LaneMask) {
    for (to, from) in to.iter_mut().zip(from) {
        for lane in mask.iter().map(|l| l as usize) {
            to[lane] = from[lane];
        }
    }
}

fn load_words<W: std::ops::Deref<Target = [u32]>, P: Fn(usize, usize) -> usize>(
    from: &Words<W, P>,
    mask: LaneMask,
    offsets: &Lanes,
    width: u8,
    n: usize,
    out: &mut [Lanes; 8],
) {
    for lane in mask.iter().map(|l| l as usize) {
        for c in 0..n {
            let value = from.get(component(offsets[lane], c, width), width, lane).unwrap_or(0);
            for i in 0..rows(width) {
                out[c * rows(width) + i][lane] = (value >> (32 * i)) as u32;
            }
        }
    }
}

fn store_words<W: std::ops::DerefMut<Target = [u32]>, P: Fn(usize, usize) -> usize>(
    to: &mut Words<W, P>,
    mask: LaneMask,
    offsets: &Lanes,
    width: u8,
    n: usize,
    data: &[Lanes; 8],
) {
    for lane in mask.iter().map(|l| l as usize) {
        for c in 0..n {
            let word = |i: usize| u64::from(data[c * rows(width) + i][lane]) << (32 * i);
            let value = (0..rows(width)).map(word).sum();
            to.put(component(offsets[lane], c, width), width, lane, value);
        }
    }
}

/// 64 bits of group-shared memory, in lane order.
fn atomic_words<P: Fn(usize, usize) -> usize>(
    words: &mut Words<&mut [u32], P>,
    op: AtomicOp,
    mask: LaneMask,
    offsets: &Lanes,
    value: &Pair,
    compare: &Pair,
    old: &mut Pair,
) {
    for lane in mask.iter().map(|l| l as usize) {
        let at = u64::from(offsets[lane]);
        let Some(was) = words.get(at, 8, lane) else { continue };
        [old[0][lane], old[1][lane]] = [was as u32, (was >> 32) as u32];
        let wide = |pair: &Pair| u64::from(pair[1][lane]) << 32 | u64::from(pair[0][lane]);
        let new = match change(op) {
            Change::Read => continue,
            Change::Write => wide(value),
            Change::Op(op) => lds::atomic64(op, was, wide(value), wide(compare)),
        };
        words.put(at, 8, lane, new);
    }
}

/// Through the port; `old` of the lanes in `mask` gets what was there.
#[allow(clippy::too_many_arguments, reason = "one pair of lane arrays per operand")]
fn atomic_port(
    port: &mut dyn Port,
    a: &Access,
    op: AtomicOp,
    offsets: &Lanes,
    mask: LaneMask,
    value: &Pair,
    compare: &Pair,
    old: &mut Pair,
) {
    let n = rows(a.width);
    let mut was: Pair = [[0; 64]; 2];
    match change(op) {
        Change::Read => port.load(a, offsets, &[mask], &mut was[..n]),
        Change::Write => port.store(a, offsets, &[mask], &value[..n]),
        Change::Op(op) if n == 2 => port.atomic64(a, op, offsets, mask, value, compare, &mut was),
        Change::Op(op) => {
            port.atomic(a, op, offsets, mask, &value[0], &compare[0], &mut was[0]);
        }
    }
    for (to, from) in old.iter_mut().zip(&was) {
        for lane in mask.iter().map(|l| l as usize) {
            to[lane] = from[lane];
        }
    }
}
