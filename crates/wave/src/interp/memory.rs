//! Loads, stores and atomics.
//!
//! A component is read or written if its four bytes lie in the buffer; else the
//! read gives 0 and the write is dropped. The low two bits of a byte offset do
//! not count, as in the hardware's dword accesses.

use super::{State, lds};
use crate::descriptor::Descriptor;
use crate::exec::Env;
use crate::simd::{Loc, Offsets};
use wavefence_base::{GpuAddress, LaneMask};
use wavefence_memory::port::{Access, Atomic, Lanes, Path, Port};
use wavefence_shader::ir::{
    Addr, AtomicOp, Inst, Order, Reg, ResourceClass, ResourceKind, ResourceRef, Space,
};

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

impl State {
    /// `Load`, `Store` and `Atomic`.
    pub(super) fn access(&mut self, inst: &Inst, loc: u32, env: &mut Env<'_>) {
        match inst {
            Inst::Load { dst, space, addr, order } => {
                self.load(dst, *space, *addr, *order, loc, env)
            }
            Inst::Store { src, space, addr, order } => {
                self.store(src, *space, *addr, *order, loc, env);
            }
            Inst::Atomic { op, dst, space, addr, value, compare, order } => {
                let operands = Operands { op: *op, value: *value, compare: *compare };
                self.offsets(*addr);
                match space {
                    Space::Lds => self.atomic_lds(&operands, env.lds),
                    Space::Buffer(buffer) => {
                        self.atomic_buffer(&operands, *buffer, *order, loc, env.port);
                    }
                    Space::Scratch => {}
                }
                if let Some(dst) = dst {
                    let dst = self.loc(*dst);
                    self.file.write(dst, self.exec, &self.stage.data[0]);
                }
            }
            Inst::Unary { .. }
            | Inst::Binary { .. }
            | Inst::Ternary { .. }
            | Inst::Set { .. }
            | Inst::Builtin { .. }
            | Inst::Reduce { .. }
            | Inst::ReducePartition { .. }
            | Inst::Wave { .. }
            | Inst::Ballot { .. }
            | Inst::Match { .. }
            | Inst::BufferSize { .. }
            | Inst::Image { .. }
            | Inst::Barrier(_)
            | Inst::OrderedAdd { .. }
            | Inst::Gds { .. }
            | Inst::Clock { .. } => {}
        }
    }

    /// Byte offsets of all lanes, into the stage.
    fn offsets(&mut self, addr: Addr) {
        let n = self.lanes() as usize;
        let out = &mut self.stage.offsets[..n];
        match addr.index {
            None => out.fill(addr.offset & !3),
            Some(index) => {
                let loc = self.flat.loc(index);
                let words = self.file.words(loc);
                let of = |i: u32| i.wrapping_mul(addr.scale).wrapping_add(addr.offset) & !3;
                if loc.uniform {
                    out.fill(of(words[0]));
                } else {
                    for (o, &i) in out.iter_mut().zip(words) {
                        *o = of(i);
                    }
                }
            }
        }
    }

    fn offsets_of(&self, addr: Addr) -> Offsets {
        let index = addr.index.map(|r| self.flat.loc(r));
        Offsets { index, scale: addr.scale, offset: addr.offset }
    }

    /// What slot `index` of a resource is bound to.
    fn bound(&self, buffer: ResourceRef, index: u32) -> Bound {
        let resource = &self.flat.kernel.resources[buffer.resource.index()];
        if index >= resource.count {
            return Bound::Nothing;
        }
        let slot = self.flat.first_slots[buffer.resource.index()] + index;
        match self.descriptors.get(slot as usize) {
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

    /// Calls `go` once for each element of the resource that active lanes name,
    /// with those lanes.
    fn each_bound(&mut self, buffer: ResourceRef, mut go: impl FnMut(&mut Self, Bound, LaneMask)) {
        let Some(index) = buffer.index else {
            return go(self, self.bound(buffer, 0), self.mask());
        };
        let loc = self.loc(index);
        let mut rest = self.mask();
        while let Some(first) = rest.lowest() {
            let element = self.file.lane(loc, first);
            let same = |l: &u32| self.file.lane(loc, *l) == element;
            let members = rest.iter().filter(same).fold(0, |m, l| m | 1u64 << l);
            go(self, self.bound(buffer, element), LaneMask(members));
            rest = rest & !LaneMask(members);
        }
    }

    /// Lanes of `mask` whose component `c` lies in `bytes`.
    fn inside(&self, mask: LaneMask, c: u32, bytes: u64) -> LaneMask {
        let Some(last) = bytes.checked_sub(4 * u64::from(c) + 4) else { return LaneMask::EMPTY };
        let last = u32::try_from(last).unwrap_or(u32::MAX);
        let mut fits = 0u64;
        for (lane, &offset) in self.stage.offsets[..self.lanes() as usize].iter().enumerate() {
            fits |= u64::from(offset <= last) << lane;
        }
        mask & LaneMask(fits)
    }

    fn request(
        &self,
        buffer: ResourceRef,
        base: GpuAddress,
        len: u64,
        order: Order,
        loc: u32,
    ) -> Access {
        let resource = &self.flat.kernel.resources[buffer.resource.index()];
        let constant = resource.kind == ResourceKind::ConstantBuffer;
        Access {
            base,
            len,
            path: if constant { Path::Scalar } else { Path::Vector },
            width: 4,
            coherent: order.coherent || resource.coherent,
            volatile: order.volatile || resource.volatile,
            loc,
        }
    }

    fn load(
        &mut self,
        dst: &[Reg],
        space: Space,
        addr: Addr,
        order: Order,
        loc: u32,
        env: &mut Env<'_>,
    ) {
        let uniform = self.loc(dst[0]).uniform;
        let n = dst.len();
        if uniform
            && let Space::Buffer(buffer) = space
            && self.load_scalar(dst, buffer, addr, env.port)
        {
            return;
        }
        if space == Space::Lds {
            let mut locs = [Loc::default(); 4];
            locs.iter_mut().zip(dst).for_each(|(l, r)| *l = self.flat.loc(*r));
            let (bytes, at) = (self.flat.kernel.lds_bytes, self.offsets_of(addr));
            return self.file.load_words(env.lds, bytes, at, self.exec, &locs[..n]);
        }
        self.offsets(addr);
        let mask =
            if uniform { LaneMask(self.exec & self.exec.wrapping_neg()) } else { self.mask() };
        let lanes = self.lanes() as usize;
        match space {
            Space::Buffer(buffer) => self.load_buffer(buffer, n, mask, order, loc, env.port),
            Space::Lds => return,
            Space::Scratch => {
                let bytes = self.flat.kernel.scratch_bytes;
                for c in 0..n {
                    let out = &mut self.stage.data[c];
                    let at = |word, lane| word * lanes + lane;
                    lds::load(&self.scratch, bytes, at, mask, &self.stage.offsets, c as u32, out);
                }
            }
        }
        for (c, reg) in dst.iter().enumerate() {
            let loc = self.flat.loc(*reg);
            self.file.write(loc, mask.0, &self.stage.data[c]);
        }
    }

    /// A uniform load of a constant buffer or of user data: once for the wave.
    fn load_scalar(
        &mut self,
        dst: &[Reg],
        buffer: ResourceRef,
        addr: Addr,
        port: &mut dyn Port,
    ) -> bool {
        let resource = &self.flat.kernel.resources[buffer.resource.index()];
        if resource.class != ResourceClass::Cbv {
            return false;
        }
        let element = buffer.index.map_or(0, |i| self.scalar(i));
        let index = addr.index.map_or(0, |i| self.scalar(i));
        let offset = index.wrapping_mul(addr.scale).wrapping_add(addr.offset) & !3;
        let bound = self.bound(buffer, element);
        let inside = bound.bytes().saturating_sub(u64::from(offset)) / 4;
        let count = dst.len().min(inside as usize);
        let mut words = [0u32; 4];
        match bound {
            Bound::Memory { base, .. } if count > 0 => {
                let mut bytes = [0u8; 16];
                port.scalar(base.offset(u64::from(offset)), &mut bytes[..4 * count]);
                for (word, four) in words.iter_mut().zip(bytes.chunks_exact(4)) {
                    *word = u32::from_le_bytes([four[0], four[1], four[2], four[3]]);
                }
            }
            Bound::User { first, .. } => {
                for (i, word) in words[..count].iter_mut().enumerate() {
                    *word = self.user(first, offset / 4 + i as u32);
                }
            }
            Bound::Memory { .. } | Bound::Nothing => {}
        }
        for (reg, word) in dst.iter().zip(words) {
            self.file.fill(self.flat.loc(*reg), word);
        }
        true
    }

    fn user(&self, first: u32, word: u32) -> u32 {
        let at = u64::from(first) + u64::from(word);
        let at = usize::try_from(at).unwrap_or(usize::MAX);
        self.dispatch.user_data.get(at).copied().unwrap_or(0)
    }

    fn load_buffer(
        &mut self,
        buffer: ResourceRef,
        n: usize,
        lanes: LaneMask,
        order: Order,
        loc: u32,
        port: &mut dyn Port,
    ) {
        if buffer.index.is_none()
            && let Bound::Memory { base, bytes } = self.bound(buffer, 0)
        {
            let request = self.request(buffer, base, bytes, order, loc);
            let mut masks = [LaneMask::EMPTY; 4];
            for (c, mask) in masks[..n].iter_mut().enumerate() {
                *mask = self.inside(lanes, c as u32, bytes);
            }
            let out = &mut self.stage.data[..n];
            port.load(&request, &self.stage.offsets, &masks[..n], out);
            return;
        }
        let mut result = [[0u32; 64]; 4];
        self.each_bound(buffer, |s, bound, members| {
            let members = members & lanes;
            let mut masks = [LaneMask::EMPTY; 4];
            for (c, mask) in masks[..n].iter_mut().enumerate() {
                *mask = s.inside(members, c as u32, bound.bytes());
            }
            match bound {
                Bound::Memory { base, bytes } => {
                    let request = s.request(buffer, base, bytes, order, loc);
                    let out = &mut s.stage.data[..n];
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

    fn store(
        &mut self,
        src: &[Reg],
        space: Space,
        addr: Addr,
        order: Order,
        loc: u32,
        env: &mut Env<'_>,
    ) {
        let n = src.len();
        if space == Space::Lds {
            let mut locs = [Loc::default(); 4];
            locs.iter_mut().zip(src).for_each(|(l, r)| *l = self.flat.loc(*r));
            let (bytes, at) = (self.flat.kernel.lds_bytes, self.offsets_of(addr));
            return self.file.store_words(env.lds, bytes, at, self.exec, &locs[..n]);
        }
        self.offsets(addr);
        for (c, reg) in src.iter().enumerate() {
            self.file.read(self.flat.loc(*reg), &mut self.stage.data[c]);
        }
        let mask = self.mask();
        let lanes = self.lanes() as usize;
        match space {
            Space::Buffer(buffer) => self.each_bound(buffer, |s, bound, members| {
                // User data is read-only, and nothing takes nothing.
                let Bound::Memory { base, bytes } = bound else { return };
                let mut masks = [LaneMask::EMPTY; 4];
                for (c, mask) in masks[..n].iter_mut().enumerate() {
                    *mask = s.inside(members, c as u32, bytes);
                }
                let request = s.request(buffer, base, bytes, order, loc);
                env.port.store(&request, &s.stage.offsets, &masks[..n], &s.stage.data[..n]);
            }),
            Space::Lds => {}
            Space::Scratch => {
                let bytes = self.flat.kernel.scratch_bytes;
                let at = |word, lane| word * lanes + lane;
                for c in 0..n {
                    let (offsets, data) = (&self.stage.offsets, &self.stage.data[c]);
                    lds::store(&mut self.scratch, bytes, at, mask, offsets, c as u32, data);
                }
            }
        }
    }

    /// Operands of an atomic, into the stage: value in 1, comparand in 2.
    fn atomic_operands(&mut self, operands: &Operands) {
        for (row, reg) in [(1, operands.value), (2, operands.compare)] {
            if let Some(reg) = reg {
                self.file.read(self.flat.loc(reg), &mut self.stage.data[row]);
            }
        }
    }

    fn atomic_lds(&mut self, operands: &Operands, words: &mut [u32]) {
        self.atomic_operands(operands);
        let (mask, bytes) = (self.mask(), self.flat.kernel.lds_bytes);
        let [old, value, compare, _] = &mut self.stage.data;
        let offsets = &self.stage.offsets;
        match change(operands.op) {
            Change::Read => lds::rmw(words, bytes, mask, offsets, |_, _| None, old),
            Change::Write => lds::rmw(words, bytes, mask, offsets, |l, _| Some(value[l]), old),
            Change::Op(op) => {
                let new = |l: usize, was| Some(lds::atomic(op, was, value[l], compare[l]));
                lds::rmw(words, bytes, mask, offsets, new, old);
            }
        }
    }

    fn atomic_buffer(
        &mut self,
        operands: &Operands,
        buffer: ResourceRef,
        order: Order,
        loc: u32,
        port: &mut dyn Port,
    ) {
        self.atomic_operands(operands);
        let mut result: Lanes = [0; 64];
        self.each_bound(buffer, |s, bound, members| {
            let Bound::Memory { base, bytes } = bound else { return };
            let mask = s.inside(members, 0, bytes);
            // Atomics are executed where all compute units see them.
            let order = Order { coherent: true, ..order };
            let request = s.request(buffer, base, bytes, order, loc);
            let [old, value, compare, _] = &mut s.stage.data;
            let offsets = &s.stage.offsets;
            old.fill(0);
            match change(operands.op) {
                Change::Read => port.load(&request, offsets, &[mask], std::slice::from_mut(old)),
                Change::Write => {
                    port.store(&request, offsets, &[mask], std::slice::from_ref(value))
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
    pub(super) fn buffer_size(&mut self, dst: Reg, buffer: ResourceRef) {
        let mut result: Lanes = [0; 64];
        self.each_bound(buffer, |_, bound, members| {
            for lane in members.iter() {
                result[lane as usize] = u32::try_from(bound.bytes()).unwrap_or(u32::MAX);
            }
        });
        let dst = self.loc(dst);
        self.file.write(dst, self.exec, &result);
    }
}

/// What an atomic does to memory.
enum Change {
    Read,
    Write,
    Op(Atomic),
}

fn change(op: AtomicOp) -> Change {
    Change::Op(match op {
        AtomicOp::Load => return Change::Read,
        AtomicOp::Store => return Change::Write,
        AtomicOp::Add => Atomic::Add,
        AtomicOp::Sub => Atomic::Sub,
        AtomicOp::And => Atomic::And,
        AtomicOp::Or => Atomic::Or,
        AtomicOp::Xor => Atomic::Xor,
        AtomicOp::UMin => Atomic::UMin,
        AtomicOp::UMax => Atomic::UMax,
        AtomicOp::SMin => Atomic::SMin,
        AtomicOp::SMax => Atomic::SMax,
        AtomicOp::Exchange => Atomic::Exchange,
        AtomicOp::CompareExchange => Atomic::CompareExchange,
    })
}
