//! Failures: what the guest did, and what this host cannot do.
//!
//! A [`Fault`] is a *result* of running a command list: the run goes on (unless
//! the caller asked otherwise) and the fault says where it happened. A [`Limit`]
//! means that nothing was done. Our own bugs panic.

use crate::{DispatchId, GpuAddress, KernelId, QueueId};
use std::fmt;

/// Where in a run something happened. Fields that do not apply are `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The queue.
    pub queue: Option<QueueId>,
    /// Address of the packet, which the API layer turns into a call.
    pub packet: Option<GpuAddress>,
    /// The dispatch.
    pub dispatch: Option<DispatchId>,
    /// The kernel.
    pub kernel: Option<KernelId>,
    /// Shader source line, as `file:line`, if the module kept one.
    pub line: Option<String>,
    /// Thread group.
    pub group: Option<[u32; 3]>,
    /// Wave within the group.
    pub wave: Option<u32>,
    /// Lane within the wave.
    pub lane: Option<u32>,
}

macro_rules! fault_kinds {
    ($($(#[$doc:meta])* $kind:ident $name:literal,)*) => {
        /// What the guest did.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum FaultKind {
            $($(#[$doc])* $kind,)*
        }

        impl FaultKind {
            /// Every kind.
            pub const ALL: &[Self] = &[$(Self::$kind),*];

            /// Its name in reports, in kebab case.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$kind => $name,)*
                }
            }
        }
    };
}

fault_kinds! {
    /// A read outside every live allocation; it gave 0.
    ReadUnmapped "read-unmapped",
    /// A write outside every live allocation; it was dropped.
    WriteUnmapped "write-unmapped",
    /// A write to memory the GPU may only read; it was dropped.
    WriteReadOnly "write-read-only",
    /// The command processor met a word that is no packet of its generation.
    BadPacket "bad-packet",
    /// A packet is well formed but asks for something that cannot be.
    BadCommand "bad-command",
    /// The bytes at the program address are no kernel, or parts of several.
    BadCode "bad-code",
    /// A group barrier was met by some lanes of a wave only, or by some waves
    /// of the group while others ended.
    BarrierDivergence "barrier-divergence",
    /// A resource the kernel names has no descriptor.
    Unbound "unbound",
    /// A wave came by a breakpoint of its source; it went on.
    DebugBreak "debug-break",
}

/// Something a command list did that hardware would not take well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// What happened.
    pub kind: FaultKind,
    /// Where.
    pub place: Place,
    /// The address concerned, if there is one.
    pub address: Option<GpuAddress>,
    /// How many bytes the access covered, 0 if none.
    pub bytes: u64,
    /// The same fault at the same place happened this often.
    pub count: u64,
    /// One sentence for a person: value, rule and the way out.
    pub detail: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.detail)
    }
}

impl std::error::Error for Fault {}

/// Why this host or version refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LimitKind {
    /// Host memory.
    Memory,
    /// A budget of steps, cycles or time that the caller set.
    Budget,
    /// A feature this version does not have.
    Unsupported,
    /// A tool that must be there is not (the shader compiler, say).
    MissingTool,
}

/// Something that was refused whole: nothing was half done.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct Limit {
    /// The kind of limit.
    pub kind: LimitKind,
    /// What was refused, its place, and the way out.
    pub what: String,
}

impl Limit {
    /// A feature this version lacks, named with its place.
    pub fn unsupported(what: impl Into<String>) -> Self {
        Self { kind: LimitKind::Unsupported, what: what.into() }
    }

    /// A budget that ran out.
    pub fn budget(what: impl Into<String>) -> Self {
        Self { kind: LimitKind::Budget, what: what.into() }
    }

    /// Host memory that could not be had.
    pub fn memory(what: impl Into<String>) -> Self {
        Self { kind: LimitKind::Memory, what: what.into() }
    }
}
