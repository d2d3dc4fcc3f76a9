//! Why an allocation or a free was refused.

use wavefence_base::{AllocationId, GpuAddress, GpuRange, Limit, ProfileName};

/// Why [`AddressSpace::allocate`](super::AddressSpace::allocate) refused.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the sentence of each variant names its fields")]
pub enum AllocationError {
    /// Size 0.
    #[error("allocation {name:?} has 0 bytes; it must have at least 1")]
    Empty { name: String },
    /// Not a power of two.
    #[error("allocation {name:?}: alignment {alignment} is not a power of two")]
    BadAlignment { name: String, alignment: u64 },
    /// The address does not have the alignment.
    #[error("allocation {name:?}: address {address} is not a multiple of {alignment}")]
    Misaligned { name: String, address: GpuAddress, alignment: u64 },
    /// It does not end within the address space.
    #[error("allocation {name:?}: {range:?} does not fit the {bits}-bit address space")]
    OutsideSpace { name: String, range: GpuRange, bits: u32 },
    /// Its address is taken.
    #[error(
        "allocation {name:?}: {range:?} overlaps {other:?} {other_range:?}; \
         place it in that allocation to share its bytes"
    )]
    Overlap { name: String, range: GpuRange, other: String, other_range: GpuRange },
    /// No free range is long enough.
    #[error("allocation {name:?}: the {bits}-bit address space has no room for {bytes} bytes")]
    NoRoom { name: String, bytes: u64, bits: u32 },
    /// The console has no ESRAM.
    #[error("allocation {name:?}: {profile} has no ESRAM")]
    NoEsram { name: String, profile: ProfileName },
    /// Not enough ESRAM is left.
    #[error("allocation {name:?} of {bytes} bytes: {left} bytes of ESRAM are left")]
    EsramFull { name: String, bytes: u64, left: u64 },
    /// The console has no volatile memory.
    #[error("allocation {name:?}: {profile} has no volatile memory (Series has)")]
    NoVolatile { name: String, profile: ProfileName },
    /// The heap was never made.
    #[error("allocation {name:?} is placed in {heap}, which does not exist")]
    UnknownHeap { name: String, heap: AllocationId },
    /// The heap is gone.
    #[error("allocation {name:?} is placed in {heap:?}, which was freed")]
    FreedHeap { name: String, heap: String },
    /// It reaches past the heap's end.
    #[error(
        "allocation {name:?}: {bytes} bytes at offset {offset} do not fit \
         {heap:?} of {heap_bytes} bytes"
    )]
    OutsideHeap { name: String, offset: u64, bytes: u64, heap: String, heap_bytes: u64 },
    /// The host's or the caller's limit.
    #[error(transparent)]
    Limit(#[from] Limit),
}

/// Why [`AddressSpace::free`](super::AddressSpace::free) refused.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the sentence of each variant names its fields")]
pub enum FreeError {
    /// No such allocation was ever made.
    #[error("{id} does not exist")]
    Unknown { id: AllocationId },
    /// It is gone already.
    #[error("{name:?} was freed before (step {step})")]
    Twice { name: String, step: u64 },
    /// Others share its bytes.
    #[error("{name:?} cannot be freed while {placed:?} lies in it")]
    InUse { name: String, placed: String },
}
