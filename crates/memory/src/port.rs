//! How a wave reaches memory: one request per wave, not per lane.

use wavefence_base::{GpuAddress, LaneMask};

/// One value per lane.
pub type Lanes = [u32; 64];

/// The path through the caches that an access takes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Path {
    /// Vector L1/L0, then GL1 and L2.
    Vector,
    /// Scalar data cache, then GL1 and L2: constants and descriptors.
    Scalar,
}

/// What a wave-wide request is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Access {
    /// Address that every lane's offset is added to.
    pub base: GpuAddress,
    /// Bytes from `base` that a lane may touch; the caller has masked off
    /// components beyond it.
    pub len: u64,
    /// Which path.
    pub path: Path,
    /// Bytes per component: 1, 2, 4 or 8.
    pub width: u8,
    /// Must bypass caches that other compute units do not share.
    pub coherent: bool,
    /// Volatile.
    pub volatile: bool,
    /// Source line index of the kernel, handed back in reports.
    pub loc: u32,
}

/// Lanes whose address lies in no allocation, or in memory they may not write.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Miss {
    /// Lanes outside every live allocation.
    pub unmapped: LaneMask,
    /// Lanes that wrote read-only memory.
    pub read_only: LaneMask,
}

/// A wave's port into memory. Offsets are bytes from [`Access::base`], one per
/// lane; lanes outside `mask` are not touched and keep what `out` held.
pub trait Port {
    /// Reads `out.len()` consecutive components of `width` (up to 4 bytes; 8-byte
    /// components are two of 4) per lane. `masks[c]` says for which lanes
    /// component `c` is read; other lanes get 0.
    fn load(&mut self, a: &Access, offsets: &Lanes, masks: &[LaneMask], out: &mut [Lanes]);

    /// Writes consecutive components.
    fn store(&mut self, a: &Access, offsets: &Lanes, masks: &[LaneMask], data: &[Lanes]);

    /// Read-modify-write in lane order; `old` gets the old values.
    fn atomic(
        &mut self,
        a: &Access,
        op: Atomic,
        offsets: &Lanes,
        mask: LaneMask,
        value: &Lanes,
        compare: &Lanes,
        old: &mut Lanes,
    );

    /// Reads the same bytes for the whole wave, through the scalar cache.
    fn scalar(&mut self, address: GpuAddress, out: &mut [u8]);
}

/// The operation of an atomic; 32 bits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Atomic {
    Add,
    Sub,
    And,
    Or,
    Xor,
    UMin,
    UMax,
    SMin,
    SMax,
    Exchange,
    CompareExchange,
}
