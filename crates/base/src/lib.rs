//! Words that every other crate shares.
//!
//! Rules this crate keeps:
//! - It holds plain data and the traits by which crates talk past each other
//!   ([`Observer`]); it computes nothing that needs a device.
//! - Three kinds of failure are three types: what the guest did ([`Fault`]),
//!   what this host or this version cannot do ([`Limit`]), and our own bug (a
//!   panic, never a value).
//! - A number that describes the hardware carries its [`Confidence`]; those of time
//!   stand in one table per profile ([`timing`]).
//!
//! It knows nothing about packets, shaders, Direct3D names or files.

pub mod access;
pub mod address;
pub mod event;
pub mod fault;
pub mod finding;
pub mod format;
pub mod id;
pub mod lane;
pub mod occupancy;
pub mod order;
pub mod profile;
pub mod schedule;
pub mod stall;
pub mod switches;
pub mod timing;
pub mod topology;

pub use access::{AccessKind, Agent, Engine, MemoryAccess, Piece};
pub use address::{GpuAddress, GpuRange};
pub use event::{CacheAction, Event, EventLog, FlushCost, Level, Observer, Printed, Writer};
pub use fault::{Fault, FaultKind, Limit, LimitKind, Place};
pub use finding::{Finding, Rule, Verdict};
pub use format::{ComponentKind, TexelFormat};
pub use id::{AllocationId, DispatchId, KernelId, QueueId, SubmitId};
pub use lane::{LaneMask, WaveSize};
pub use occupancy::{GroupNeed, Occupancy, Room};
pub use order::OrderSwitches;
pub use profile::{Confidence, Family, Generation, Marked, Profile, ProfileName};
pub use schedule::{Footprint, HostTurn, Resource, Schedule, Step, Touch};
pub use stall::{
    BlockedWait, Budget, EngineState, LoopValue, MemoryWindow, PastWrite, PendingWrite, QueueState,
    Stall, StallVerdict, StuckLoop, StuckWave, StuckWork, WorkVerdict,
};
pub use switches::{CacheSwitches, PassingStore};
pub use timing::{Depth, GroupLaunch, OpFamily, Timing};
pub use topology::{CacheClass, CacheShape, Client, Sharing, Topology, WritePolicy};
