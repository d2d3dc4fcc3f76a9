//! The GPU side of Direct3D for Xbox, in software.
//!
//! Rules this crate keeps: it holds no logic, only names; what is here is what a
//! user may rely on; it pulls in neither a command line nor a compiler back end.
//! It knows nothing about scenario files and reports.
//!
//! Record the command lists that a title records, with the same calls and flags, and
//! run them on a model of the console's GPU: command processors, asynchronous
//! compute, DMA engines, values written at the bottom of the pipe and waited for by
//! other engines. The result is right, or what is wrong is said in your calls.
//!
//! ```
//! use wavefence::prelude::*;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut device = Device::new(ProfileName::SeriesX)?;
//!
//! // A shader: HLSL through DXC, WGSL, or SPIR-V. This one needs no tool.
//! let source = Source::text(
//!     Language::Wgsl,
//!     "square.wgsl",
//!     "@group(0) @binding(0) var<storage, read_write> data: array<u32>;
//!      @compute @workgroup_size(64)
//!      fn main(@builtin(global_invocation_id) id: vec3<u32>) {
//!          data[id.x] = id.x * id.x;
//!      }",
//! );
//! let square =
//!     device.create_pipeline_from_source("Square", &source, &CompileOptions::default())?;
//!
//! let data = device.create_buffer("data", 256)?;
//! let copy = device.create_buffer("copy", 256)?;
//! let flag = device.create_buffer("flag", 32)?;
//!
//! // A compute list that computes, then writes 1 at the bottom of the pipe once its
//! // stores are in memory.
//! let mut compute = device.create_command_list("Square", ListKind::Compute);
//! compute
//!     .set_pipeline_state(&square)
//!     .set_uav(0, 0, data.structured_view(4))
//!     .dispatch(1, 1, 1)
//!     .write_32_bit_value_bottom_of_pipe_x(
//!         flag.address(),
//!         1,
//!         D3D12XBOX_FLUSH_BOP_TEXTURE_L2_WRITEBACK,
//!         D3D12XBOX_WRITE_VALUE_BOP_FLAG_NONE,
//!     );
//! compute.close()?;
//!
//! // A DMA list that waits for the 1 and copies.
//! let mut dma = device.create_command_list("Copy", ListKind::Dma);
//! dma.wait_32_bit_value_x(flag.address(), D3D12_COMPARISON_FUNC_EQUAL, 1, D3D12XBOX_WAIT_FLAG_NONE)
//!     .copy_resource(&copy, &data);
//! dma.close()?;
//!
//! // The waiter first: it does wait.
//! let dma_queue = device.dma_queue(0)?;
//! let compute_queue = device.compute_queue(0, 0)?;
//! device.execute_command_lists(&dma_queue, &[&dma])?;
//! device.execute_command_lists(&compute_queue, &[&compute])?;
//!
//! let report = device.run();
//! assert!(report.is_clean(), "{report:?}");
//! assert_eq!(device.read_u32s(copy.address(), 4)?, [0, 1, 4, 9]);
//! # Ok(())
//! # }
//! ```
//!
//! # What a call may say
//!
//! Every rule of the API that a call can break is judged when it is recorded;
//! `close` returns all errors of the list, each with the call, the argument, its
//! value, the rule and the way out. [`d3d::rules::ALL`] is the list of rules.
//!
//! ```
//! use wavefence::prelude::*;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut device = Device::new(ProfileName::XboxOne)?;
//! let mut list = device.create_command_list("Stamp", ListKind::Graphics);
//! list.write_64_bit_value_bottom_of_pipe_x(
//!     GpuAddress(0x1_0000_0008),
//!     0,
//!     D3D12XBOX_FLUSH_NONE,
//!     D3D12XBOX_WRITE_VALUE_BOP_FLAG_GPU_TIMESTAMP,
//! );
//! let errors = list.close().unwrap_err();
//! assert_eq!(
//!     errors.to_string(),
//!     "list \"Stamp\" #0 Write64BitValueBottomOfPipeX: Destination = 0x100000008: must be \
//!      32-byte aligned; the next such address is 0x100000020 [write64-alignment 1013]"
//! );
//! # Ok(())
//! # }
//! ```
//!
//! # When nothing can move
//!
//! A run that cannot go on ends with [`d3d::Ending::Hang`]: every blocked wait with
//! its queue, call, address, wanted and present value, who wrote there and who still
//! would, and the verdict. It is not final: the host may write or submit, and run
//! again.
//!
//! # The same run again
//!
//! A device goes back to a checkpoint ([`d3d::Device::checkpoint`]), whatever it was
//! doing; what it costs is what was touched since. Whoever tries many variants of a
//! run builds the device once.
//!
//! ```
//! use wavefence::prelude::*;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut device = Device::builder().check(true).build()?;
//! let queue = device.compute_queue(0, 0)?;
//! let fence = device.create_fence("frame", 0)?;
//! device.checkpoint()?;
//! for value in 1..=3 {
//!     device.signal(&queue, &fence, value)?;
//!     assert_eq!(device.run_only(), Went::Idle);
//!     assert_eq!(device.fence_value(&fence)?, value);
//!     assert!(device.restore());
//!     assert_eq!(device.fence_value(&fence)?, 0);
//! }
//! # Ok(())
//! # }
//! ```

pub use wavefence_base as base;
pub use wavefence_d3d as d3d;
pub use wavefence_shader as shader;

/// What most programs need.
pub mod prelude {
    pub use wavefence_base::{
        Event, EventLog, Finding, GpuAddress, GpuRange, Limit, Observer, Profile, ProfileName,
        StallVerdict, TexelFormat, Verdict,
    };
    pub use wavefence_d3d::enums::*;
    pub use wavefence_d3d::{
        Allocation, AllocationDesc, Barrier, Bindings, Buffer, CallError, CallErrors, CommandList,
        CommandSignature, CountBuffer, Device, DeviceBuilder, Ending, Error, Fence, GpuAccess,
        Hang, Limits, ListKind, MemoryType, Pipeline, PipelineError, Placement, Queue, QueueKind,
        Report, Resource, RunMode, SamplerDesc, Texture, TextureDesc, TextureLocation, View, Went,
    };
    pub use wavefence_shader::source::{CompileOptions, Language, Source};
}
