//! The GPU's address space: allocations, their attributes, and the bytes; and the
//! caches between it and whoever reads it.
//!
//! Rules this crate keeps:
//! - Every byte a guest can reach lies in an allocation; nothing a guest does
//!   reads or writes host memory outside them.
//! - An access never fails as a whole: lanes that hit nothing read 0 or write
//!   nothing, and are reported ([`coherent::MissRecord`]).
//! - Memory of a running device is shared between host threads; bytes are read
//!   and written without tearing of aligned 4- and 8-byte values.
//! - Which caches an access goes through is the topology's to say, and what no
//!   source settles is a switch of the profile; the walk knows no generation.
//! - A line holds bytes, nothing snoops: what is stale reads stale. What a cache
//!   costs is paid by what is touched.
//! - Space and caches go back to a checkpoint at the cost of what was touched since;
//!   without one a write pays the test of a flag.
//!
//! It knows nothing about packets, shaders or queues.

pub mod access;
pub mod cache;
pub mod coherent;
pub mod hierarchy;
pub mod port;
pub mod space;
mod store;

pub use access::{AccessError, AccessErrorKind, Bus};
pub use coherent::{CoherentPort, MissOp, MissRecord};
pub use hierarchy::{
    ActionCost, CacheRules, Hierarchy, Land, LostBytes, Requester, WaveContext, WavePort,
};
pub use space::{
    AddressSpace, Allocation, AllocationDesc, AllocationError, FreeError, GpuAccess, MemoryType,
    Nearest, Placement, Side,
};
