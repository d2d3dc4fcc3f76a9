//! The faces of Direct3D for Xbox: command lists, what is wrong with them, and the
//! device that runs them. D3D12.X is there on every console, D3D11.X on the Xbox
//! One family.
//!
//! Rules this crate keeps:
//! - Calls, enumerations and constants have their Direct3D names; methods are the
//!   names in snake case (`DispatchX` is [`CommandList::dispatch_x`]).
//! - Every rule that a call can break is judged when it is recorded
//!   ([`rules`] is the one list), and the error names call, argument, value, rule
//!   and the way out. [`CommandList::close`] returns all of them.
//! - Values that are not public are ours and are marked so where they stand.
//! - Whatever a run says, it says in calls: a packet's address leads back to the
//!   list, the number and the spelling of the call it came from.
//! - A device that has gone back to a checkpoint knows nothing of what came after, and
//!   refuses objects that were made since.
//!
//! It knows nothing about how packets are executed, about files, or about how a
//! report is printed.

mod binding;
mod checkpoint;
mod device;
mod encode;
pub mod enums;
mod error;
mod face;
mod fence;
mod hang;
mod hardware;
mod hazard;
mod list;
mod names;
mod pipeline;
mod queue;
mod report;
mod resource;
pub mod rules;
mod source;
mod view;

pub use binding::{Bindings, MAX_ROOT_CONSTANTS};
pub use device::{AllocationDesc, Device, DeviceBuilder, Limits, RunMode, Went, check_d3d11_face};
pub use error::{CallError, CallErrors, Error};
pub use face::{Face, Undrawn};
pub use hang::{
    Hang, HangEngine, HangExit, HangQueue, HangValue, HangWait, HangWave, HangWork, HangWrite,
};
pub use list::{
    Barrier, Call, CommandList, CommandSignature, CountBuffer, ListKind, TextureLocation,
};
pub use pipeline::Pipeline;
pub use queue::{Fence, Queue, QueueKind};
pub use report::{CallFault, CallLine, CallRef, Ending, Report};
pub use resource::{
    Allocation, Buffer, DeviceTag, Level, Resource, Texture, TextureDesc,
    UAV_COUNTER_PLACEMENT_ALIGNMENT,
};
pub use source::PipelineError;
pub use view::{SampledView, SamplerDesc, View};
pub use wavefence_memory::{GpuAccess, MemoryType, Placement};
