//! The seam to the device below.

use crate::error::Error;
use std::sync::Arc;
use wavefence_base::{
    AllocationId, Fault, GpuAddress, GpuRange, HostTurn, Limit, Observer, PastWrite, Printed,
    QueueId, Schedule,
};
use wavefence_gpu::{DeviceDesc, LoadedKernel, Outcome, QueueKind};
use wavefence_memory::{Allocation, AllocationDesc};
use wavefence_shader::ir::Kernel;
use wavefence_wave::exec::Executor;

/// Most bytes that one host read gives, so that a wrong length is an error and not
/// an allocation failure.
const MAX_READ: u64 = 16 << 30;

/// What runs waves unless the caller says otherwise.
pub(crate) fn default_executor() -> Arc<dyn Executor> {
    Arc::new(wavefence_wave::interp::Interpreter::new())
}

fn check_length(bytes: u64) -> Result<(), Limit> {
    if bytes > MAX_READ {
        return Err(Limit::memory(format!("a read of {bytes} bytes is too long")));
    }
    Ok(())
}

/// The device below.
pub(crate) struct Hardware {
    device: wavefence_gpu::Device,
}

impl Hardware {
    pub(crate) fn new(desc: DeviceDesc, observers: Vec<Box<dyn Observer>>) -> Self {
        let mut device = wavefence_gpu::Device::new(desc);
        for observer in observers {
            device.add_observer(observer);
        }
        Self { device }
    }

    pub(crate) fn allocate(&self, desc: AllocationDesc) -> Result<Allocation, Error> {
        Ok(self.device.memory().allocate(desc)?)
    }

    /// Every allocation ever made, by id.
    pub(crate) fn allocations(&self) -> Vec<Allocation> {
        self.device.memory().allocations()
    }

    pub(crate) fn free(&self, id: AllocationId) -> Result<(), Error> {
        Ok(self.device.memory().free(id)?)
    }

    pub(crate) fn host_write(&mut self, address: GpuAddress, data: &[u8]) -> Result<(), Error> {
        Ok(self.device.host_write(address, data)?)
    }

    pub(crate) fn host_read(&self, address: GpuAddress, bytes: u64) -> Result<Vec<u8>, Error> {
        check_length(bytes)?;
        let mut out = vec![0; bytes as usize];
        self.device.host_read(address, &mut out)?;
        Ok(out)
    }

    pub(crate) fn host_peek(&self, address: GpuAddress, bytes: u64) -> Result<Vec<u8>, Error> {
        check_length(bytes)?;
        let mut out = vec![0; bytes as usize];
        self.device.memory().host().read(address, &mut out)?;
        Ok(out)
    }

    pub(crate) fn cycles(&self) -> u64 {
        self.device.cycles()
    }

    pub(crate) fn gds_dword(&self, offset: u32) -> Option<u32> {
        self.device.gds_read(offset)
    }

    pub(crate) fn load_kernel(&mut self, kernel: Arc<Kernel>) -> Result<LoadedKernel, Error> {
        Ok(self.device.load_kernel(kernel)?)
    }

    pub(crate) fn open_queue(&mut self, kind: QueueKind) -> Result<QueueId, Error> {
        Ok(self.device.open_queue(kind)?)
    }

    /// Hands a command buffer to a queue. A full ring is run first, as a driver
    /// waits for room.
    pub(crate) fn submit(&mut self, queue: QueueId, buffer: GpuRange) -> Result<(), Error> {
        if self.device.submit(queue, buffer).is_ok() {
            return Ok(());
        }
        self.device.run();
        self.device.submit(queue, buffer)?;
        Ok(())
    }

    pub(crate) fn checkpoint(&mut self) -> Result<(), Error> {
        Ok(self.device.checkpoint()?)
    }

    pub(crate) fn restore(&mut self) -> bool {
        self.device.restore()
    }

    pub(crate) fn set_schedule(&mut self, schedule: Option<Box<dyn Schedule>>) {
        self.device.set_schedule(schedule);
    }

    pub(crate) fn set_host_turn(&mut self, turn: HostTurn) {
        self.device.set_host_turn(turn);
    }

    pub(crate) fn run(&mut self) -> Outcome {
        self.device.run()
    }

    /// What was written there so far is what it holds from the start.
    pub(crate) fn forget_writes(&mut self, address: GpuAddress) {
        self.device.forget_writes(address);
    }

    /// Writes of values to an address that are remembered.
    pub(crate) fn past_writes(&self, address: GpuAddress) -> &[PastWrite] {
        self.device.past_writes(address)
    }

    /// Name of the living allocation at an address, and the offset in it.
    pub(crate) fn describe(&self, address: GpuAddress) -> Option<(String, u64)> {
        self.device.memory().describe(address)
    }

    pub(crate) fn faults(&self) -> &[Fault] {
        self.device.faults()
    }

    /// Lines that shaders printed, and how many more there were than are kept.
    pub fn printed(&self) -> (Vec<&Printed>, u64) {
        self.device.printed()
    }
}
