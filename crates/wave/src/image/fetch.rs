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
            width: self.format.bytes().min(4) as u8,
            coherent: self.coherent,
            volatile: self.volatile,
            loc: self.loc,
        }
    }

    /// Reads and decodes. Lanes outside `mask` get what a texel of zeros is.
    pub fn load(&self, port: &mut dyn Port, offsets: &Lanes, mask: LaneMask, out: &mut [Lanes; 4]) {
        let mut raw = [[0; 64]; 4];
        let raw = &mut raw[..texel::words(self.format)];
        port.load(&self.access(), offsets, &[mask; 4][..raw.len()], raw);
        texel::decode_wave(self.format, raw, out);
    }

    /// Encodes and writes.
    pub fn store(&self, port: &mut dyn Port, offsets: &Lanes, mask: LaneMask, data: &[&Lanes]) {
        let mut raw = [[0; 64]; 4];
        let raw = &mut raw[..texel::words(self.format)];
        texel::encode_wave(self.format, data, raw);
        port.store(&self.access(), offsets, &[mask; 4][..raw.len()], raw);
    }

    /// Read-modify-write of the 32 bits of a texel; `old` gets the old value.
    pub fn atomic(
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
        let op = match op {
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
            AtomicOp::Load => {
                let out = std::slice::from_mut(old);
                return port.load(&self.access(), offsets, &[mask], out);
            }
            AtomicOp::Store => {
                return port.store(&self.access(), offsets, &[mask], std::slice::from_ref(value));
            }
        };
        port.atomic(&self.access(), op, offsets, mask, value, compare, old);
    }
}
