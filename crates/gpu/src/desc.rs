//! What a device is made from, and how a run ends.

use std::fmt;
use std::sync::Arc;
use wavefence_base::{Fault, Limit, Profile, Stall};
use wavefence_wave::exec::Executor;

/// How a device runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunMode {
    /// One thread, one deterministic order, the PFP ahead of the ME.
    Model,
    /// Thread groups on host threads, no PFP lead. The same bytes as the model
    /// run for every program without races; group events are not given.
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
    /// GPU cycles of a model run; a fast run has none.
    pub max_cycles: u64,
}

impl Default for Limits {
    /// A billion packets and 2^34 wave instructions: minutes of host time, so
    /// that an endless loop ends by itself. Cycles have no limit.
    fn default() -> Self {
        Self { max_packets: 1 << 30, max_instructions: 1 << 34, max_cycles: u64::MAX }
    }
}

/// Everything a device is made from.
pub struct DeviceDesc {
    /// Which console.
    pub profile: Profile,
    /// How it runs.
    pub mode: RunMode,
    /// What runs waves.
    pub executor: Arc<dyn Executor>,
    /// What it may use up.
    pub limits: Limits,
    /// End a run at the first fault.
    pub stop_on_fault: bool,
    /// Chooses the launch order where the hardware leaves it open.
    pub seed: u64,
}

impl DeviceDesc {
    /// A model run of `profile` with default limits and seed 0.
    pub fn model(profile: Profile, executor: Arc<dyn Executor>) -> Self {
        Self {
            profile,
            mode: RunMode::Model,
            executor,
            limits: Limits::default(),
            stop_on_fault: false,
            seed: 0,
        }
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

/// How a run ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// Every queue that was not halted by a bad packet has done its work.
    Idle,
    /// Nothing can move. Not final: the host may write or submit and run again.
    Blocked(Stall),
    /// A budget ended, or a packet asks for what this version does not have.
    Limit(Limit),
    /// The first fault, where the caller asked to stop at it.
    Stopped(Box<Fault>),
    /// The schedule has given the host its turn ([`crate::Device::set_host_turn`]).
    /// Run again to go on.
    HostTurn,
    /// The schedule has seen enough. Not final.
    Enough,
}
