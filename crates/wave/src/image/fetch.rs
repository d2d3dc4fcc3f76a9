//! Loads, stores and atomics of texels whose offsets are known.

use crate::texel;
use wavefence_base::{GpuAddress, LaneMask, TexelFormat};
use wavefence_memory::port::{Access, Atomic, Lanes, Path, Port};
use wavefence_shader::ir::AtomicOp;

/// The bytes of an image or typed buffer, and how to reach them.
#[derive(Clone, Copy)]
pub(crate) struct Texels {
    /// Offsets count from here.
    pub base: GpuAddress,
    /// Bytes from there on that belong to the resource.
    pub len: u64,
    pub format: TexelFormat,
    pub coherent: bool,
    pub volatile: bool,
    pub loc: u32,
}

impl Texels {
    fn access(&self) -> Access {
        Access {
            base: self.base,
            len: self.len,
            path: Path::Vector,
            width: if self.is_wide() { 8 } else { self.format.bytes().min(4) as u8 },
            coherent: self.coherent,
            volatile: self.volatile,
            loc: self.loc,
        }
    }

    /// Components of 64 bits.
    fn is_wide(&self) -> bool {
        self.format.component_bits()[0] == 64
    }

    /// One mask for each component.
    fn masks(&self, mask: LaneMask) -> ([LaneMask; 4], usize) {
        let wide = self.format.component_bits().len();
        ([mask; 4], if self.is_wide() { wide } else { texel::words(self.format) })
    }

    /// Reads, decodes and hands the results on, as many as there are.
    pub fn give(&self, port: &mut dyn Port, offsets: &Lanes, mask: LaneMask, out: &mut [Lanes]) {
        let mut values = [[0; 64]; 4];
        self.load(port, offsets, mask, &mut values);
        if self.is_wide() {
            // The components that such a format lacks: 0, 0, 1.
            let [x, x_high, y, y_high] = values;
            let (none, one) = ([0; 64], [1; 64]);
            return super::give(out, &[x, x_high, y, y_high, none, none, one, none]);
        }
        super::give(out, &values);
    }

    /// As [`atomic`](Self::atomic), of a texel's 32 or 64 bits.
    pub fn change(
        &self,
        port: &mut dyn Port,
        op: AtomicOp,
        offsets: &Lanes,
        mask: LaneMask,
        data: &[&Lanes],
        out: &mut [Lanes],
    ) {
        let mut old = [[0; 64]; 2];
        if self.is_wide() {
            self.atomic64(port, op, offsets, mask, data, &mut old);
        } else {
            self.atomic(port, op, offsets, mask, data, &mut old[0]);
        }
        super::give(out, &old);
    }

    /// Reads and decodes. Lanes outside `mask` get what a texel of zeros is.
    pub fn load(&self, port: &mut dyn Port, offsets: &Lanes, mask: LaneMask, out: &mut [Lanes; 4]) {
        let mut raw = [[0; 64]; 4];
        let raw = &mut raw[..texel::words(self.format)];
        let (masks, n) = self.masks(mask);
        port.load(&self.access(), offsets, &masks[..n], raw);
        texel::decode_wave(self.format, raw, out);
    }

    /// Encodes and writes.
    pub fn store(&self, port: &mut dyn Port, offsets: &Lanes, mask: LaneMask, data: &[&Lanes]) {
        let mut raw = [[0; 64]; 4];
        let raw = &mut raw[..texel::words(self.format)];
        texel::encode_wave(self.format, data, raw);
        let (masks, n) = self.masks(mask);
        port.store(&self.access(), offsets, &masks[..n], raw);
    }

    /// Read-modify-write of the 32 bits of a texel; `old` gets the old value.
    fn atomic(
        &self,
        port: &mut dyn Port,
        op: AtomicOp,
        offsets: &Lanes,
        mask: LaneMask,
        data: &[&Lanes],
        old: &mut Lanes,
    ) {
        let zero = [0; 64];
        let value = data.first().copied().unwrap_or(&zero);
        let compare = data.get(1).copied().unwrap_or(&zero);
        match change(op) {
            Change::Read => {
                port.load(&self.access(), offsets, &[mask], std::slice::from_mut(old));
            }
            Change::Write => {
                port.store(&self.access(), offsets, &[mask], std::slice::from_ref(value));
            }
            Change::Op(op) => {
                port.atomic(&self.access(), op, offsets, mask, value, compare, old);
            }
        }
    }

    /// Of 64 bits; each operand is two of `data`.
    fn atomic64(
        &self,
        port: &mut dyn Port,
        op: AtomicOp,
        offsets: &Lanes,
        mask: LaneMask,
        data: &[&Lanes],
        old: &mut [Lanes; 2],
    ) {
        let word = |i: usize| data.get(i).map_or([0; 64], |d| **d);
        let (value, compare) = ([word(0), word(1)], [word(2), word(3)]);
        match change(op) {
            Change::Read => port.load(&self.access(), offsets, &[mask], old),
            Change::Write => port.store(&self.access(), offsets, &[mask], &value),
            Change::Op(op) => {
                port.atomic64(&self.access(), op, offsets, mask, &value, &compare, old);
            }
        }
    }
}

/// What an atomic does to memory.
pub(crate) enum Change {
    /// Reads.
    Read,
    /// Writes.
    Write,
    /// Both.
    Op(Atomic),
}

/// What `op` does.
pub(crate) fn change(op: AtomicOp) -> Change {
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
