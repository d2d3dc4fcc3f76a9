//! The device: rings in GPU memory, command processors, DMA engines, the
//! dispatcher and compute units, and the order in which they move.
//!
//! Rules this crate keeps:
//! - A command list is packets in GPU memory. Nothing reaches an engine by
//!   another way, and what an engine cannot do is a fault or a limit with its
//!   place, never skipped.
//! - A model run is one thread and one order: the same input gives the same
//!   events, cycles, faults and bytes. A fast run gives the same bytes for every
//!   program without races.
//! - The order of a model run is that of virtual time, GPU cycles: every agent is
//!   ready at a cycle and busy for what its step costs, and the step that is ready
//!   first is taken (`model.rs`, ties included). What a step costs is the profile's
//!   ([`wavefence_base::timing`]), reckoned in one place (`timing.rs`): an engine per
//!   packet, a wave by what it issued on its SIMD and how far down its reads went,
//!   bytes by what passes L2, memory or DMA one after the other. Where a group fits is
//!   the profile's too ([`wavefence_base::occupancy`]). Whether somebody listens
//!   changes no cycle.
//! - Where a [`wavefence_base::Schedule`] is attached it chooses instead
//!   ([`Device::set_schedule`]): at each point every step that can be taken is
//!   offered, what time would take first in front. A blocked engine is offered if its
//!   wait would succeed. Waves stop before each access that others can see, PFP and ME
//!   are two agents, and stores on their way, overtaken cache actions, copies, ends of
//!   pipes and of submissions are steps of their own. On which compute unit a group is
//!   placed is no choice: the emptiest, the first of equals.
//! - A step's footprint names every line and cache it used or changed, and what it
//!   shares with others beside memory. Two steps that are both on offer and whose
//!   footprints do not conflict give the same lines, bytes and offers in either order
//!   (`tests/schedules.rs` swaps them); times are no part of that, so who reads a clock
//!   touches everything.
//! - Nothing is final while the host may still act: a run that can move no
//!   further says why ([`Outcome::Blocked`]) and goes on after the next submit. A run
//!   whose waves are proved to run for ever (`endless.rs`) ends so, too; one whose budget
//!   ended is over.
//! - A device goes back to its checkpoint from wherever it is. Whoever holds state says
//!   field by field what becomes of it there ([`Device::checkpoint`]).
//! - Every access names its client, and so the caches it goes through. A model run
//!   has them (`wavefence_memory::hierarchy`), a fast run is one coherent store.
//! - Nothing is complete before it is: ended waves, stores that L2 has taken, cache
//!   actions and copies are different moments ([`wavefence_base::event::Level`]).
//!
//! What a dispatch reads from the shader registers of its queue:
//! COMPUTE_PGM_LO/HI, a [`LoadedKernel::code`] shifted right by 8;
//! COMPUTE_NUM_THREAD_X/Y/Z, the kernel's group size (high half: the last
//! group's under PARTIAL_TG_EN); COMPUTE_START_X/Y/Z unless FORCE_START_AT_000;
//! COMPUTE_USER_DATA_0/1, the address of the descriptor table, and 2 to 15, the
//! root constants. Ordered append counter `n` is dword `n` of the data share.
//!
//! It knows nothing about the compiler that made a kernel, the engine that runs
//! its waves, checkers, or Direct3D.

mod clock;
mod code;
mod core;
mod cp;
mod cu;
mod desc;
mod device;
mod dispatch;
mod endless;
mod fast;
mod faults;
mod fetch;
mod flight;
mod flush;
mod gds;
mod group;
mod history;
mod mem;
mod model;
mod queue;
mod regs;
mod ring;
mod scan;
mod sdma;
mod stall;
mod steps;
mod timing;
mod wait;
mod work;

#[cfg(test)]
mod tests;

pub use clock::{GPU_CLOCK_ORIGIN, SYSTEM_CLOCK_ORIGIN};
pub use code::{CODE_ALIGNMENT, LoadedKernel};
pub use desc::{DeviceDesc, Limits, Outcome, QueueKind, RunMode};
pub use device::Device;
pub use scan::{CodeWrite, writes_of};
