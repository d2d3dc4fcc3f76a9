//! Pipeline state objects: a kernel that a device has loaded.

use crate::resource::DeviceTag;
use std::sync::Arc;
use wavefence_base::{GpuAddress, KernelId};
use wavefence_shader::ir::{Kernel, ResourceClass};
use wavefence_shader::source::Diagnostic;

/// A compute pipeline state.
#[derive(Clone, Debug)]
pub struct Pipeline {
    pub(crate) name: Arc<str>,
    pub(crate) kernel: Arc<Kernel>,
    pub(crate) id: KernelId,
    pub(crate) code: GpuAddress,
    pub(crate) device: DeviceTag,
    pub(crate) warnings: Arc<[Diagnostic]>,
}

impl Pipeline {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The kernel.
    pub fn kernel(&self) -> &Arc<Kernel> {
        &self.kernel
    }

    /// What the compiler of its source warned of; empty for kernels that came
    /// without one.
    pub fn warnings(&self) -> &[Diagnostic] {
        &self.warnings
    }

    /// The kernel's number on its device.
    pub fn kernel_id(&self) -> KernelId {
        self.id
    }

    /// Where its code object lies.
    pub fn code(&self) -> GpuAddress {
        self.code
    }

    /// The registers it uses: class, register, space, count and name.
    pub fn registers(&self) -> impl Iterator<Item = (ResourceClass, u32, u32, u32, &str)> {
        self.kernel
            .resources
            .iter()
            .filter(|r| r.count > 0)
            .map(|r| (r.class, r.register, r.space, r.count, r.name.as_str()))
    }
}
