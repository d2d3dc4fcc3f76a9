//! Queues and fences: handles. The calls on them are the device's.

use crate::list::ListKind;
use crate::resource::DeviceTag;
use std::sync::Arc;
use wavefence_base::{GpuAddress, QueueId};
pub use wavefence_gpu::QueueKind;

/// An opened hardware queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Queue {
    pub(crate) id: QueueId,
    pub(crate) kind: QueueKind,
    pub(crate) name: Arc<str>,
    pub(crate) device: DeviceTag,
}

impl Queue {
    /// Its number on the device.
    pub fn id(&self) -> QueueId {
        self.id
    }

    /// Which hardware queue it is.
    pub fn kind(&self) -> QueueKind {
        self.kind
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The kind of list it runs.
    pub fn list_kind(&self) -> ListKind {
        list_kind(self.kind)
    }
}

/// The kind of list that a queue runs.
pub(crate) fn list_kind(kind: QueueKind) -> ListKind {
    match kind {
        QueueKind::Graphics => ListKind::Graphics,
        QueueKind::Compute { .. } => ListKind::Compute,
        QueueKind::Dma { .. } => ListKind::Dma,
    }
}

/// A fence: 64 bits in GPU memory that only grow, by its users' promise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fence {
    pub(crate) name: Arc<str>,
    pub(crate) address: GpuAddress,
    pub(crate) device: DeviceTag,
}

impl Fence {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where its value lies.
    pub fn address(&self) -> GpuAddress {
        self.address
    }
}
