//! The seam to the device below. Until it is there, memory works and runs are
//! refused.

use crate::error::Error;
use std::fmt;
use std::sync::Arc;
use wavefence_base::{
    AllocationId, Fault, GpuAddress, KernelId, Limit, Observer, Profile, QueueId, Stall,
};
use wavefence_memory::{AddressSpace, Allocation, AllocationDesc};
use wavefence_shader::ir::Kernel;
use wavefence_wave::exec::Executor;

/// How a device runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunMode {
    /// One thread, one deterministic order, the PFP ahead of the ME.
    Model,
    /// Thread groups on host threads, no PFP lead.
    Fast {
        /// Host threads that run waves, the calling one included; 0 counts as 1.
        threads: usize,
    },
}

/// What a whole device may use up before a run ends with a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Packets taken up by any engine.
    pub max_packets: u64,
    /// Wave instructions.
    pub max_instructions: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { max_packets: 1 << 30, max_instructions: 1 << 34 }
    }
}

/// Which hardware queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum QueueKind {
    /// The graphics queue: PFP and ME.
    Graphics,
    /// An asynchronous compute queue, served by its pipe's MEC.
    Compute {
        /// The pipe.
        pipe: u32,
        /// The queue of that pipe.
        queue: u32,
    },
    /// A DMA engine.
    Dma {
        /// The engine.
        engine: u32,
    },
}

impl fmt::Display for QueueKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Graphics => f.write_str("graphics"),
            Self::Compute { pipe, queue } => write!(f, "compute {pipe}.{queue}"),
            Self::Dma { engine } => write!(f, "dma {engine}"),
        }
    }
}

pub(crate) struct DeviceDesc {
    pub(crate) profile: Profile,
    pub(crate) mode: RunMode,
    pub(crate) executor: Arc<dyn Executor>,
    pub(crate) limits: Limits,
    pub(crate) stop_on_fault: bool,
    pub(crate) seed: u64,
}

#[allow(dead_code)]
pub(crate) enum Outcome {
    Idle,
    Blocked(Stall),
    Limit(Limit),
    Stopped(Box<Fault>),
}

pub(crate) struct LoadedKernel {
    pub(crate) id: KernelId,
    pub(crate) code: GpuAddress,
}

struct Refuses;

impl Executor for Refuses {
    fn name(&self) -> &'static str {
        "none"
    }

    fn prepare(
        &self,
        _: &Arc<Kernel>,
        _: wavefence_base::WaveSize,
    ) -> Result<Arc<dyn wavefence_wave::exec::Program>, Limit> {
        Err(no_device())
    }
}

fn no_device() -> Limit {
    Limit::unsupported("running command lists is not supported yet")
}

pub(crate) fn default_executor() -> Result<Arc<dyn Executor>, Limit> {
    Ok(Arc::new(Refuses))
}

pub(crate) struct Hardware {
    space: AddressSpace,
    kernels: u32,
    queues: u32,
}

impl Hardware {
    pub(crate) fn new(
        desc: DeviceDesc,
        budget: Option<u64>,
        observers: Vec<Box<dyn Observer>>,
    ) -> Result<Self, Limit> {
        drop((desc.executor, desc.mode, desc.limits, desc.stop_on_fault, desc.seed, observers));
        let space = match budget {
            Some(budget) => AddressSpace::with_budget(&desc.profile, budget),
            None => AddressSpace::new(&desc.profile),
        };
        Ok(Self { space, kernels: 0, queues: 0 })
    }

    pub(crate) fn allocate(&self, desc: AllocationDesc) -> Result<Allocation, Error> {
        Ok(self.space.allocate(desc)?)
    }

    pub(crate) fn free(&self, id: AllocationId) -> Result<(), Error> {
        Ok(self.space.free(id)?)
    }

    pub(crate) fn host_write(&mut self, address: GpuAddress, data: &[u8]) -> Result<(), Error> {
        Ok(self.space.host().write(address, data)?)
    }

    pub(crate) fn host_read(&self, address: GpuAddress, bytes: u64) -> Result<Vec<u8>, Error> {
        let mut out = vec![0; bytes as usize];
        self.space.host().read(address, &mut out)?;
        Ok(out)
    }

    pub(crate) fn gds_dword(&self, _: u32) -> Option<u32> {
        None
    }

    pub(crate) fn load_kernel(
        &mut self,
        name: &str,
        _: Arc<Kernel>,
    ) -> Result<LoadedKernel, Error> {
        let desc = AllocationDesc { alignment: 256, ..AllocationDesc::new(name, 256) };
        let id = KernelId(self.kernels);
        self.kernels += 1;
        Ok(LoadedKernel { id, code: self.allocate(desc)?.range.start })
    }

    pub(crate) fn open_queue(&mut self, _: QueueKind) -> Result<QueueId, Error> {
        self.queues += 1;
        Ok(QueueId(self.queues - 1))
    }

    pub(crate) fn submit(&mut self, _: QueueId, _: GpuAddress, _: u64) -> Result<(), Error> {
        Err(no_device().into())
    }

    pub(crate) fn run(&mut self) -> Outcome {
        Outcome::Limit(no_device())
    }

    pub(crate) fn faults(&self) -> &[Fault] {
        &[]
    }
}
