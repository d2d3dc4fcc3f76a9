//! A wave that does not leave a loop: a digest of its state, and what the ways out of
//! the loop depend on. Only reports of hangs come here.

use super::State;
use crate::descriptor::Descriptor;
use crate::exec::{LoopLoad, Looping};
use crate::program::Flat;
use crate::simd::bits;
use std::collections::BTreeSet;
use wavefence_base::GpuAddress;
use wavefence_memory::port::Path;
use wavefence_shader::ir::{
    Addr, Builtin, Definitions, Inst, Label, Reg, RegKind, ResourceKind, ResourceRef, Space, Ty,
};

/// Values that are told of one loop; the first ones decide.
const KEPT: usize = 12;

/// Instructions that a value is followed through.
const FOLLOWED: usize = 4096;

impl State {
    /// See [`crate::exec::Wave::digest`].
    pub(super) fn digest(&self) -> u128 {
        let mut hash = Digest::default();
        hash.word(self.pc as u64);
        hash.word(self.exec);
        hash.word(self.live);
        self.slots.iter().for_each(|&s| hash.word(s));
        for chunk in self.file.all() {
            for pair in chunk.0.chunks_exact(2) {
                hash.word(u64::from(pair[0]) << 32 | u64::from(pair[1]));
            }
        }
        self.scratch.iter().for_each(|&w| hash.word(u64::from(w)));
        hash.0
    }
}

/// FNV-1a over words of 64 bits, 128 bits wide.
struct Digest(u128);

impl Default for Digest {
    fn default() -> Self {
        Self(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d)
    }
}

impl Digest {
    fn word(&mut self, word: u64) {
        const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013B;
        self.0 = (self.0 ^ u128::from(word)).wrapping_mul(PRIME);
    }
}

/// See [`crate::exec::Wave::why_looping`].
pub(super) fn explain(
    state: &State,
    flat: &Flat,
    label: Label,
    lds: &[u32],
    peek: &mut dyn FnMut(Path, GpuAddress, &mut [u8]) -> bool,
) -> Option<Looping> {
    let lane = state.mask().lowest()?;
    let loops = flat.kernel.loops();
    let found = loops.iter().find(|l| l.label == label)?;
    let definitions = flat.kernel.definitions();
    let mut look = Look {
        state,
        flat,
        definitions: &definitions,
        lane,
        lds,
        peek,
        seen: BTreeSet::new(),
        values: Vec::new(),
        left: FOLLOWED,
    };
    let mut exits = Vec::new();
    for exit in found.exits() {
        let mut words = Vec::new();
        for &(reg, wanted) in &exit.conditions {
            look.follow(reg);
            look.left = FOLLOWED;
            let mut value = |reg| look.value(reg, 0);
            words.push(flat.kernel.condition(reg, wanted, &definitions, &mut value));
        }
        let words = if words.is_empty() { "always".to_owned() } else { words.join(" && ") };
        exits.push((words, exit.loc.0));
    }
    let mut values = look.values;
    values.truncate(KEPT);
    Some(Looping { loc: found.loc.0, lane, exits, values })
}

struct Look<'a, 'k> {
    state: &'a State,
    flat: &'a Flat,
    definitions: &'a Definitions<'k>,
    lane: u32,
    lds: &'a [u32],
    peek: &'a mut dyn FnMut(Path, GpuAddress, &mut [u8]) -> bool,
    /// Registers followed.
    seen: BTreeSet<Reg>,
    values: Vec<LoopLoad>,
    /// Steps that may still be taken.
    left: usize,
}

/// How deep values are computed from values.
const DEEP: u32 = 64;

impl Look<'_, '_> {
    /// Collects the loads that a register's value comes from, near ones first.
    fn follow(&mut self, first: Reg) {
        let mut queue = std::collections::VecDeque::from([first]);
        while let Some(reg) = queue.pop_front() {
            if !self.seen.insert(reg) || self.values.len() >= KEPT {
                continue;
            }
            for &(inst, loc) in self.definitions.of(reg) {
                self.left = FOLLOWED;
                for value in self.loads(inst, loc.0) {
                    if !self.values.iter().any(|v| v.address == value.address) {
                        self.values.push(value);
                    }
                }
                inst.registers(&mut |operand| queue.push_back(operand), &mut |_| ());
            }
        }
    }

    /// What an instruction reads in memory.
    fn loads(&mut self, inst: &Inst, loc: u32) -> Vec<LoopLoad> {
        match inst {
            Inst::Load { dst, space: Space::Buffer(at), addr, .. } => {
                let width = (bits(self.flat.kernel.reg(dst[0]).ty) / 8).max(1) as u8;
                self.buffer(*at, *addr, width, loc).into_iter().collect()
            }
            Inst::Load { dst, space: Space::Global(base), addr, .. } => {
                let width = (bits(self.flat.kernel.reg(dst[0]).ty) / 8).max(1) as u8;
                self.global(*base, *addr, width, loc).into_iter().collect()
            }
            Inst::Atomic { space: Space::Buffer(at), addr, .. } => {
                self.buffer(*at, *addr, 4, loc).into_iter().collect()
            }
            Inst::Image { image, coords, .. } => {
                self.typed(*image, coords, loc).into_iter().collect()
            }
            _ => Vec::new(),
        }
    }

    fn descriptor(&mut self, at: ResourceRef) -> Option<(String, Descriptor)> {
        let resource = self.flat.kernel.resources.get(at.resource.index())?;
        let index = match at.index {
            Some(reg) => self.value(reg, 0)? as u32,
            None => 0,
        };
        let slot = self.flat.first_slots[at.resource.index()] + index;
        let descriptor = self.state.descriptors.get(slot as usize)?;
        Some((resource.name.clone(), *descriptor))
    }

    fn offset(&mut self, addr: Addr) -> Option<u32> {
        let index = match addr.index {
            Some(reg) => self.value(reg, 0)? as u32,
            None => 0,
        };
        Some(index.wrapping_mul(addr.scale).wrapping_add(addr.offset))
    }

    fn path(&self, at: ResourceRef) -> Path {
        match self.flat.kernel.resources[at.resource.index()].kind {
            ResourceKind::ConstantBuffer => Path::Scalar,
            ResourceKind::StructuredBuffer { .. }
            | ResourceKind::ByteAddressBuffer
            | ResourceKind::TypedBuffer { .. }
            | ResourceKind::Image { .. }
            | ResourceKind::Counter
            | ResourceKind::Sampler
            | ResourceKind::Extension(_) => Path::Vector,
        }
    }

    fn read(&mut self, path: Path, address: GpuAddress, bytes: u8) -> Option<u64> {
        let mut raw = [0; 8];
        (self.peek)(path, address, &mut raw[..usize::from(bytes.min(8))])
            .then(|| u64::from_le_bytes(raw))
    }

    fn buffer(&mut self, at: ResourceRef, addr: Addr, bytes: u8, loc: u32) -> Option<LoopLoad> {
        let (resource, descriptor) = self.descriptor(at)?;
        let Descriptor::Buffer(buffer) = descriptor else { return None };
        let offset = u64::from(self.offset(addr)?);
        if offset + u64::from(bytes) > buffer.bytes {
            return None;
        }
        let (path, address) = (self.path(at), buffer.address.offset(offset));
        let value = self.read(path, address, bytes)?;
        Some(LoopLoad { resource, loc, path, address, bytes, value })
    }

    fn global(&mut self, base: Reg, addr: Addr, bytes: u8, loc: u32) -> Option<LoopLoad> {
        let address = self.value(base, 0)?.wrapping_add(addr.offset as i32 as u64);
        let address = GpuAddress(address);
        let value = self.read(Path::Vector, address, bytes)?;
        Some(LoopLoad { resource: String::new(), loc, path: Path::Vector, address, bytes, value })
    }

    /// An element of a typed buffer. Images have no one address that says enough.
    fn typed(&mut self, at: ResourceRef, coords: &[Reg], loc: u32) -> Option<LoopLoad> {
        let (resource, descriptor) = self.descriptor(at)?;
        let Descriptor::TypedBuffer(buffer) = descriptor else { return None };
        let &[coord] = coords else { return None };
        let size = buffer.format.bytes();
        let offset = self.value(coord, 0)? * u64::from(size);
        if offset + u64::from(size) > buffer.bytes {
            return None;
        }
        let address = buffer.address.offset(offset);
        let bytes = size.min(8) as u8;
        let value = self.read(Path::Vector, address, bytes)?;
        Some(LoopLoad { resource, loc, path: Path::Vector, address, bytes, value })
    }

    /// The value of a register for the lane, as the next turn of the loop would have
    /// it; `None` where that cannot be told.
    fn value(&mut self, reg: Reg, depth: u32) -> Option<u64> {
        if let Some(value) = self.definitions.constant(reg) {
            return Some(value);
        }
        if depth > DEEP || self.left == 0 {
            return None;
        }
        self.left -= 1;
        match self.flat.kernel.reg(reg).kind {
            RegKind::Const => None,
            RegKind::Var => Some(self.kept(reg)),
            RegKind::Temp => {
                let [(inst, _)] = self.definitions.of(reg) else { return None };
                self.result(inst, reg, depth + 1)
            }
        }
    }

    /// What lies in the file for a var.
    fn kept(&self, reg: Reg) -> u64 {
        match self.flat.kernel.reg(reg).ty {
            Ty::Bool => self.state.truth(self.flat, reg) >> self.lane & 1,
            Ty::B8 | Ty::B16 | Ty::B32 | Ty::B64 => self.state.value(self.flat, reg, self.lane),
        }
    }

    fn result(&mut self, inst: &Inst, reg: Reg, depth: u32) -> Option<u64> {
        match inst {
            Inst::Unary { .. } | Inst::Binary { .. } | Inst::Ternary { .. } => {
                let kernel = self.flat.kernel.clone();
                kernel.evaluate(inst, &mut |r| self.value(r, depth))
            }
            Inst::Builtin { which, .. } => self.builtin(*which),
            Inst::Load { dst, space, addr, .. } => {
                let part = dst.iter().position(|&d| d == reg)? as u32;
                let width = bits(self.flat.kernel.reg(reg).ty) / 8;
                let addr = Addr { offset: addr.offset.wrapping_add(part * width), ..*addr };
                self.loaded(*space, addr, width.max(1) as u8)
            }
            Inst::Atomic { space: Space::Buffer(at), addr, .. } => {
                self.buffer(*at, *addr, 4, 0).map(|l| l.value)
            }
            // One component of 32 bits that no format changes.
            Inst::Image { image, coords, dst, .. } if dst.first() == Some(&reg) => {
                let found = self.typed(*image, coords, 0)?;
                (found.bytes == 4).then_some(found.value)
            }
            _ => None,
        }
    }

    fn loaded(&mut self, space: Space, addr: Addr, bytes: u8) -> Option<u64> {
        match space {
            Space::Buffer(at) => match self.descriptor(at)?.1 {
                Descriptor::UserData { first, count } => {
                    let word = self.offset(addr)? / 4;
                    let words = &self.state.dispatch.user_data;
                    (word < count)
                        .then(|| words.get((first + word) as usize).copied().map(u64::from))?
                }
                Descriptor::Buffer(buffer) => {
                    let offset = u64::from(self.offset(addr)?);
                    if offset + u64::from(bytes) > buffer.bytes {
                        return Some(0);
                    }
                    self.read(self.path(at), buffer.address.offset(offset), bytes)
                }
                Descriptor::Null
                | Descriptor::TypedBuffer(_)
                | Descriptor::Image(_)
                | Descriptor::Sampler(_) => None,
            },
            Space::Global(base) => self.global(base, addr, bytes, 0).map(|l| l.value),
            Space::Lds if bytes == 4 => {
                let word = self.offset(addr)? as usize / 4;
                self.lds.get(word).copied().map(u64::from)
            }
            Space::Scratch if bytes == 4 => {
                let word = self.offset(addr)? as usize / 4;
                let at = word * self.state.lanes as usize + self.lane as usize;
                self.state.scratch.get(at).copied().map(u64::from)
            }
            Space::Lds | Space::Scratch => None,
        }
    }

    fn builtin(&self, which: Builtin) -> Option<u64> {
        let launch = &self.state.launch;
        let size = self.flat.kernel.group_size;
        let ids = |d: usize| self.state.ids[d][self.lane as usize];
        let global = |d: usize| launch.group[d].wrapping_mul(size[d]).wrapping_add(ids(d));
        let value = match which {
            Builtin::GroupIdX => launch.group[0],
            Builtin::GroupIdY => launch.group[1],
            Builtin::GroupIdZ => launch.group[2],
            Builtin::ThreadIdX => ids(0),
            Builtin::ThreadIdY => ids(1),
            Builtin::ThreadIdZ => ids(2),
            Builtin::GlobalIdX => global(0),
            Builtin::GlobalIdY => global(1),
            Builtin::GlobalIdZ => global(2),
            Builtin::ThreadIndex => (ids(2) * size[1] + ids(1)) * size[0] + ids(0),
            Builtin::GroupCountX => self.state.dispatch.groups[0],
            Builtin::GroupCountY => self.state.dispatch.groups[1],
            Builtin::GroupCountZ => self.state.dispatch.groups[2],
            Builtin::Lane => self.lane,
            Builtin::LaneCount => self.state.lanes,
            Builtin::WaveIndex => launch.wave,
            Builtin::WaveCount => return None,
        };
        Some(u64::from(value))
    }
}
