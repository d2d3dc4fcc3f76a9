//! The two counters that timestamps read.
//!
//! Both run at the profile's timestamp frequency (100 MHz). Time here is a step
//! clock: one tick for each packet an engine takes up and one for each slice of
//! a wave, so that a model run reads the same times on every repeat. It grows
//! monotonically and orders events; it does not predict durations.

use std::sync::atomic::{AtomicU64, Ordering};

/// What the GPU's counter shows when a device is made. The two counters have
/// different origins, as on hardware (design section 4.5).
pub const GPU_CLOCK_ORIGIN: u64 = 0x1_0000_0000;

/// What the system's counter shows when a device is made.
pub const SYSTEM_CLOCK_ORIGIN: u64 = 0x40_0000_0000;

/// The step clock, shared by all threads of a device.
#[derive(Debug, Default)]
pub(crate) struct Clock {
    ticks: AtomicU64,
}

impl Clock {
    /// Goes on by `ticks`.
    pub(crate) fn advance(&self, ticks: u64) {
        self.ticks.fetch_add(ticks, Ordering::Relaxed);
    }

    /// Ticks since the device was made.
    pub(crate) fn ticks(&self) -> u64 {
        self.ticks.load(Ordering::Relaxed)
    }

    /// The GPU's counter.
    pub(crate) fn gpu(&self) -> u64 {
        GPU_CLOCK_ORIGIN + self.ticks()
    }

    /// The system's counter.
    pub(crate) fn system(&self) -> u64 {
        SYSTEM_CLOCK_ORIGIN + self.ticks()
    }
}
