//! Loads, stores and atomics.
//!
//! A component is read or written if its four bytes lie in the buffer; else the
//! read gives 0 and the write is dropped. The low two bits of a byte offset do
//! not count, as in the hardware's dword accesses.

mod sized;

use super::{State, lds};
use crate::descriptor::Descriptor;
use crate::exec::Env;
use crate::image::{Change, change};
use crate::program::{BufferRef, Flat, Place, Plain};
use crate::simd::Offsets;
use wavefence_base::{AccessKind, GpuAddress, LaneMask};
use wavefence_memory::port::{Access, Atomic, Lanes, Port};
use wavefence_shader::ir::{AtomicOp, Inst, Order, Reg, ResourceRef, Space};

/// A buffer as lanes see it.
#[derive(Clone, Copy)]
enum Bound {
    Memory {
        base: GpuAddress,
        bytes: u64,
    },
    /// Words of the dispatch's user data.
    User {
        first: u32,
        count: u32,
    },
    Nothing,
}

impl Bound {
    fn bytes(self) -> u64 {
        match self {
            Self::Memory { bytes, .. } => bytes,
            Self::User { count, .. } => u64::from(count) * 4,
            Self::Nothing => 0,
        }
    }
}

/// The operands of an atomic.
struct Operands {
    op: AtomicOp,
    value: Option<Reg>,
    compare: Option<Reg>,
}

/// The request with the address filled in.
#[inline]
fn request(buffer: &BufferRef, base: GpuAddress, len: u64) -> Access {
    Access { base, len, ..buffer.request }
}

impl State {
    /// What element `index` of a resource is bound to.
    #[inline]
    fn bound(&self, buffer: &BufferRef, index: u32) -> Bound {
        if index >= buffer.count {
            return Bound::Nothing;
        }
        match self.descriptors.get((buffer.slot + index) as usize) {
            Some(Descriptor::Buffer(b)) => Bound::Memory { base: b.address, bytes: b.bytes },
            Some(Descriptor::UserData { first, count }) => {
                Bound::User { first: *first, count: *count }
            }
            // Another kind of resource than the kernel names acts as none.
            Some(
                Descriptor::Null
                | Descriptor::TypedBuffer(_)
                | Descriptor::Image(_)
                | Descriptor::Sampler(_),
            )
            | None => Bound::Nothing,
        }
    }

    /// Calls `go` once for each element of the resource that lanes of `mask`
    /// name, with those lanes.
    fn each_bound(
        &mut self,
        buffer: &BufferRef,
        mask: LaneMask,
        mut go: impl FnMut(&mut Self, Bound, LaneMask),
    ) {
        let Some(loc) = buffer.index else {
            return go(self, self.bound(buffer, 0), mask);
        };
        let mut rest = mask;
        while let Some(first) = rest.lowest() {
            let element = self.file.lane(loc, first);
            let same = |l: &u32| self.file.lane(loc, *l) == element;
            let members = rest.iter().filter(same).fold(0, |m, l| m | 1u64 << l);
            go(self, self.bound(buffer, element), LaneMask(members));
            rest = rest & !LaneMask(members);
        }
    }

    /// Byte offsets of all lanes, into the stage; gives the highest of active
    /// lanes.
    #[inline]
    fn offsets(&mut self, at: Offsets) -> u32 {
        self.file.offsets(at, self.exec, &mut self.stage.offsets)
    }

    /// Lanes of `mask` whose component `c` lies in `bytes`.
    fn inside(&self, mask: LaneMask, c: u32, bytes: u64) -> LaneMask {
        let Some(last) = bytes.checked_sub(4 * u64::from(c) + 4) else { return LaneMask::EMPTY };
        let last = u32::try_from(last).unwrap_or(u32::MAX);
        let mut fits = 0u64;
        for (lane, &offset) in self.stage.offsets[..self.lanes as usize].iter().enumerate() {
            fits |= u64::from(offset <= last) << lane;
        }
        mask & LaneMask(fits)
    }

    /// The lanes that take part in each of `n` components; `highest` is the
    /// highest offset of lanes in `mask`, or more.
    #[inline]
    fn masks(&self, mask: LaneMask, n: usize, highest: u32, bytes: u64) -> [LaneMask; 4] {
        if u64::from(highest) + 4 * n as u64 <= bytes {
            return [mask; 4];
        }
        let mut masks = [LaneMask::EMPTY; 4];
        for (c, m) in masks[..n].iter_mut().enumerate() {
            *m = self.inside(mask, c as u32, bytes);
        }
        masks
    }

    /// Tells of an access to group-shared memory, if somebody wants to know.
    #[inline]
    pub(super) fn watch(&mut self, plain: &Plain, kind: AccessKind, port: &mut dyn Port) {
        if self.watched {
            self.tell_shared(plain, kind, port);
        }
    }

    #[cold]
    fn tell_shared(&mut self, plain: &Plain, kind: AccessKind, port: &mut dyn Port) {
        let mut offsets = [0; 64];
        let low = u32::from(plain.width.min(4)) - 1;
        plain.at.of_lanes(&self.file, low, &mut offsets);
        // One uniform read stands for all lanes.
        let once = kind == AccessKind::Read && plain.regs[0].uniform;
        let mask = self.mask();
        let mask = if once { LaneMask(mask.0 & mask.0.wrapping_neg()) } else { mask };
        let bytes = u32::from(plain.width) * plain.n as u32;
        port.group_shared(kind, &offsets, mask, bytes, plain.loc);
    }

    /// A plain load. Its results are temps, so lanes that do not run may get
    /// anything.
    pub(super) fn load(&mut self, plain: &Plain, env: &mut Env<'_>) {
        let n = plain.n;
        let regs = &plain.regs[..n];
        match &plain.place {
            Place::Lds { bytes } => {
                self.watch(plain, AccessKind::Read, env.port);
                self.file.load_words(env.lds, *bytes, plain.at, self.exec, regs);
            }
            Place::Scratch { bytes } => {
                let (mask, lanes) = (self.mask(), self.lanes as usize);
                self.offsets(plain.at);
                for (c, &loc) in regs.iter().enumerate() {
                    let at = |word, lane| word * lanes + lane;
                    let out = &mut self.stage.data[c];
                    lds::load(&self.scratch, *bytes, at, mask, &self.stage.offsets, c as u32, out);
                    self.file.write(loc, self.exec, out);
                }
            }
            Place::Buffer(buffer) if regs[0].uniform => {
                self.load_uniform(plain, buffer, env.port);
            }
            // Among the sized ones.
            Place::Global { .. } => {}
            Place::Buffer(buffer) => {
                let highest = self.offsets(plain.at);
                self.load_buffer(buffer, n, self.mask(), highest, env.port);
                for (&loc, row) in regs.iter().zip(&self.stage.data) {
                    self.file.set(loc, row);
                }
            }
        }
    }

    /// A load whose address is the same in all lanes: once for the wave.
    fn load_uniform(&mut self, plain: &Plain, buffer: &BufferRef, port: &mut dyn Port) {
        let offset = plain.at.uniform(&self.file).unwrap_or(0);
        let element = buffer.index.map_or(0, |loc| self.file.words(loc)[0]);
        let bound = self.bound(buffer, element);
        let inside = bound.bytes().saturating_sub(u64::from(offset)) / 4;
        let count = plain.n.min(usize::try_from(inside).unwrap_or(usize::MAX));
        let mut words = [0u32; 4];
        match bound {
            Bound::Memory { base, .. } if count > 0 && buffer.constant => {
                let mut bytes = [0u8; 16];
                port.scalar(base.offset(u64::from(offset)), &mut bytes[..4 * count]);
                for (word, four) in words.iter_mut().zip(bytes.chunks_exact(4)) {
                    *word = u32::from_le_bytes([four[0], four[1], four[2], four[3]]);
                }
            }
            Bound::Memory { base, bytes } if count > 0 => {
                // The lowest lane stands for all.
                let mask = LaneMask(self.exec & self.exec.wrapping_neg());
                let lane = self.exec.trailing_zeros() as usize;
                self.stage.offsets[lane] = offset;
                let request = request(buffer, base, bytes);
                let out = &mut self.stage.data[..count];
                port.load(&request, &self.stage.offsets, &[mask; 4][..count], out);
                for (word, row) in words.iter_mut().zip(out) {
                    *word = row[lane];
                }
            }
            Bound::User { first, .. } => {
                for (i, word) in words[..count].iter_mut().enumerate() {
                    *word = self.user(first, offset / 4 + i as u32);
                }
            }
            Bound::Memory { .. } | Bound::Nothing => {}
        }
        for (&loc, word) in plain.regs[..plain.n].iter().zip(words) {
            self.file.fill(loc, word);
        }
    }

    fn user(&self, first: u32, word: u32) -> u32 {
        let at = u64::from(first) + u64::from(word);
        let at = usize::try_from(at).unwrap_or(usize::MAX);
        self.dispatch.user_data.get(at).copied().unwrap_or(0)
    }

    /// `n` components of the lanes in `mask`, into the stage.
    fn load_buffer(
        &mut self,
        buffer: &BufferRef,
        n: usize,
        mask: LaneMask,
        highest: u32,
        port: &mut dyn Port,
    ) {
        if buffer.index.is_none()
            && let Bound::Memory { base, bytes } = self.bound(buffer, 0)
        {
            let masks = self.masks(mask, n, highest, bytes);
            let out = &mut self.stage.data[..n];
            let request = request(buffer, base, bytes);
            port.load(&request, &self.stage.offsets, &masks[..n], out);
            return;
        }
        let mut result = [[0u32; 64]; 4];
        self.each_bound(buffer, mask, |s, bound, members| {
            let masks = s.masks(members, n, highest, bound.bytes());
            match bound {
                Bound::Memory { base, bytes } => {
                    let out = &mut s.stage.data[..n];
                    let request = request(buffer, base, bytes);
                    port.load(&request, &s.stage.offsets, &masks[..n], out);
                }
                Bound::User { first, .. } => {
                    for (c, mask) in masks[..n].iter().enumerate() {
                        s.stage.data[c] = [0; 64];
                        for lane in mask.iter().map(|l| l as usize) {
                            let word = s.stage.offsets[lane] / 4 + c as u32;
                            s.stage.data[c][lane] = s.user(first, word);
                        }
                    }
                }
                Bound::Nothing => s.stage.data[..n].fill([0; 64]),
            }
            for lane in members.iter().map(|l| l as usize) {
                for (row, data) in result.iter_mut().zip(&s.stage.data).take(n) {
                    row[lane] = data[lane];
                }
            }
        });
        self.stage.data[..n].copy_from_slice(&result[..n]);
    }

    /// A plain store.
    pub(super) fn store(&mut self, plain: &Plain, env: &mut Env<'_>) {
        let n = plain.n;
        let regs = &plain.regs[..n];
        let mask = self.mask();
        if let Place::Lds { bytes } = plain.place {
            self.watch(plain, AccessKind::Write, env.port);
            return self.file.store_words(env.lds, bytes, plain.at, self.exec, regs);
        }
        let highest = self.offsets(plain.at);
        for (&loc, row) in regs.iter().zip(&mut self.stage.data) {
            self.file.read(loc, row);
        }
        match &plain.place {
            Place::Buffer(buffer) => self.each_bound(buffer, mask, |s, bound, members| {
                // User data is read-only, and nothing takes nothing.
                let Bound::Memory { base, bytes } = bound else { return };
                let masks = s.masks(members, n, highest, bytes);
                let request = request(buffer, base, bytes);
                env.port.store(&request, &s.stage.offsets, &masks[..n], &s.stage.data[..n]);
            }),
            Place::Scratch { bytes } => {
                let lanes = self.lanes as usize;
                let at = |word, lane| word * lanes + lane;
                for c in 0..n {
                    let (offsets, data) = (&self.stage.offsets, &self.stage.data[c]);
                    lds::store(&mut self.scratch, *bytes, at, mask, offsets, c as u32, data);
                }
            }
            // Done above, and among the sized ones.
            Place::Lds { .. } | Place::Global { .. } => {}
        }
    }

    /// `Inst::Atomic`.
    pub(super) fn atomic(&mut self, flat: &Flat, inst: &Inst, loc: u32, env: &mut Env<'_>) {
        let Inst::Atomic { op, dst, space, addr, value, compare, order } = inst else { return };
        if dst.or(*value).is_some_and(|r| flat.is_wide(r)) || matches!(space, Space::Global(_)) {
            return self.atomic_sized(flat, inst, loc, env);
        }
        let operands = Operands { op: *op, value: *value, compare: *compare };
        let highest = self.offsets(flat.offsets(*addr));
        self.atomic_operands(flat, &operands);
        match space {
            Space::Lds => {
                if self.watched {
                    let (kind, mask) = (AccessKind::Atomic, self.mask());
                    env.port.group_shared(kind, &self.stage.offsets, mask, 4, loc);
                }
                self.atomic_lds(&operands, flat.kernel.lds_bytes, highest, env.lds);
            }
            Space::Buffer(at) => {
                // Atomics are executed where all compute units see them.
                let order = Order { coherent: true, ..*order };
                let buffer = flat.buffer(*at, order, loc);
                self.atomic_buffer(&operands, &buffer, highest, env.port);
            }
            // Not in a checked kernel, and done above.
            Space::Scratch | Space::Global(_) => {}
        }
        if let Some(dst) = dst {
            self.file.set(flat.loc(*dst), &self.stage.data[0]);
        }
    }

    /// Operands of an atomic, into the stage: value in 1, comparand in 2.
    fn atomic_operands(&mut self, flat: &Flat, operands: &Operands) {
        for (row, reg) in [(1, operands.value), (2, operands.compare)] {
            if let Some(reg) = reg {
                self.file.read(flat.loc(reg), &mut self.stage.data[row]);
            }
        }
    }

    fn atomic_lds(&mut self, operands: &Operands, bytes: u32, highest: u32, words: &mut [u32]) {
        let mask = self.mask();
        let inside = u64::from(highest) + 4 <= u64::from(bytes).min(4 * words.len() as u64);
        let [old, value, compare, ..] = &mut self.stage.data;
        let offsets = &self.stage.offsets;
        match change(operands.op) {
            Change::Read => lds::rmw(words, bytes, mask, offsets, |_, _| None, old),
            Change::Write => lds::rmw(words, bytes, mask, offsets, |l, _| Some(value[l]), old),
            Change::Op(Atomic::Add) if inside => lds::add(words, mask, offsets, value, old),
            Change::Op(op) => {
                let new = |l: usize, was| Some(lds::atomic(op, was, value[l], compare[l]));
                lds::rmw(words, bytes, mask, offsets, new, old);
            }
        }
    }

    fn atomic_buffer(
        &mut self,
        operands: &Operands,
        buffer: &BufferRef,
        highest: u32,
        port: &mut dyn Port,
    ) {
        let mut result: Lanes = [0; 64];
        self.each_bound(buffer, self.mask(), |s, bound, members| {
            let Bound::Memory { base, bytes } = bound else { return };
            let mask = s.masks(members, 1, highest, bytes)[0];
            let request = request(buffer, base, bytes);
            let [old, value, compare, ..] = &mut s.stage.data;
            let offsets = &s.stage.offsets;
            old.fill(0);
            match change(operands.op) {
                Change::Read => port.load(&request, offsets, &[mask], std::slice::from_mut(old)),
                Change::Write => {
                    port.store(&request, offsets, &[mask], std::slice::from_ref(value));
                }
                Change::Op(op) => port.atomic(&request, op, offsets, mask, value, compare, old),
            }
            for lane in members.iter().map(|l| l as usize) {
                result[lane] = old[lane];
            }
        });
        self.stage.data[0] = result;
    }

    /// Size of a buffer in bytes.
    pub(super) fn buffer_size(&mut self, flat: &Flat, dst: Reg, buffer: ResourceRef) {
        let mut result: Lanes = [0; 64];
        let buffer = flat.buffer(buffer, Order::default(), 0);
        self.each_bound(&buffer, self.mask(), |_, bound, members| {
            for lane in members.iter() {
                result[lane as usize] = u32::try_from(bound.bytes()).unwrap_or(u32::MAX);
            }
        });
        self.file.write(flat.loc(dst), self.exec, &result);
    }
}
