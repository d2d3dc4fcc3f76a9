//! How a wave reaches memory: one request per wave, not per lane.

use wavefence_base::{AccessKind, GpuAddress, LaneMask};

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

/// A wave's port into memory. Offsets are bytes from [`Access::base`], one per
/// lane; lanes outside the masks touch nothing. A lane that reaches outside every
/// living allocation reads 0 or writes nothing, as does one that writes read-only
/// memory; what the port keeps of that is its own matter.
pub trait Port {
    /// Reads consecutive components of `width` bytes per lane. `masks[c]` says for
    /// which lanes component `c` is read; other lanes get 0. `out` has one entry
    /// per component, or two if `width` is 8: low word, then high.
    fn load(&mut self, a: &Access, offsets: &Lanes, masks: &[LaneMask], out: &mut [Lanes]);

    /// Writes consecutive components; `data` as `out` of [`Self::load`]. Of lanes
    /// that write the same byte the highest wins.
    fn store(&mut self, a: &Access, offsets: &Lanes, masks: &[LaneMask], data: &[Lanes]);

    /// Read-modify-write of 32 bits in lane order; `old` gets the old values.
    /// Bits 0 and 1 of an address are not looked at.
    #[allow(clippy::too_many_arguments, reason = "one lane array per operand")]
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

    /// As [`Self::atomic`], on 64 bits: low words, then high words. Bits 0 to 2 of
    /// an address are not looked at.
    #[allow(clippy::too_many_arguments, reason = "one pair of lane arrays per operand")]
    fn atomic64(
        &mut self,
        a: &Access,
        op: Atomic,
        offsets: &Lanes,
        mask: LaneMask,
        value: &[Lanes; 2],
        compare: &[Lanes; 2],
        old: &mut [Lanes; 2],
    );

    /// Reads the same bytes for the whole wave, through the scalar cache.
    fn scalar(&mut self, address: GpuAddress, out: &mut [u8]);

    /// True if [`Self::group_shared`] wants to be told.
    fn watches_group_shared(&self) -> bool {
        false
    }

    /// Lanes accessed the group's shared memory, `bytes` each from their offsets in it.
    /// Moves nothing: the shared memory is the executor's; a port may keep a record.
    fn group_shared(
        &mut self,
        kind: AccessKind,
        offsets: &Lanes,
        mask: LaneMask,
        bytes: u32,
        loc: u32,
    ) {
        let _ = (kind, offsets, mask, bytes, loc);
    }

    /// A device-memory barrier: orders what this wave did before it with what it
    /// does after, as everyone else sees it. A port whose accesses take effect
    /// in program order need not do anything.
    fn fence(&mut self) {}
}

/// The operation of an atomic.
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
