//! The two counters that timestamps read.
//!
//! Both run at the profile's timestamp frequency (100 MHz). In a model run they
//! follow its virtual time: GPU cycles, by the profile's clock, rounded down. A fast
//! run has no such time: there they count packets and slices of waves, so that they
//! grow monotonically and order events, and predict no durations.

use std::sync::atomic::{AtomicU64, Ordering};
use wavefence_base::Profile;

/// What the GPU's counter shows when a device is made. The two counters have
/// different origins, as on hardware (design section 4.5).
pub const GPU_CLOCK_ORIGIN: u64 = 0x1_0000_0000;

/// What the system's counter shows when a device is made.
pub const SYSTEM_CLOCK_ORIGIN: u64 = 0x40_0000_0000;

/// The time, shared by all threads of a device.
#[derive(Debug)]
pub(crate) struct Clock {
    /// Cycles of a model run, steps of a fast one.
    pub(crate) now: AtomicU64,
    /// Ticks and cycles of one second; `None` where steps are the ticks.
    pub(crate) rate: Option<(u64, u64)>,
}

impl Clock {
    /// The cycles of a model run.
    pub(crate) fn cycles_of(profile: &Profile) -> Self {
        let second = u64::from(profile.clock_mhz.value) * 1_000_000;
        Self { now: AtomicU64::new(0), rate: Some((profile.timestamp_hz.value, second.max(1))) }
    }

    /// The steps of a fast run.
    pub(crate) fn steps() -> Self {
        Self { now: AtomicU64::new(0), rate: None }
    }

    /// `steps` more were made; says nothing where cycles count.
    pub(crate) fn advance(&self, steps: u64) {
        if self.rate.is_none() {
            self.now.fetch_add(steps, Ordering::Relaxed);
        }
    }

    /// It is `cycle` now (model run).
    pub(crate) fn set(&self, cycle: u64) {
        self.now.store(cycle, Ordering::Relaxed);
    }

    /// Ticks since the device was made.
    pub(crate) fn ticks(&self) -> u64 {
        let now = self.now.load(Ordering::Relaxed);
        match self.rate {
            None => now,
            Some((hz, second)) => (u128::from(now) * u128::from(hz) / u128::from(second)) as u64,
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use wavefence_base::ProfileName;

    #[test]
    fn ticks_follow_the_profiles_clock_and_round_down() {
        let clock = Clock::cycles_of(&Profile::get(ProfileName::SeriesX));
        // 1825 MHz: 18.25 cycles a tick.
        for (cycle, ticks) in [(18, 0), (19, 1), (36, 1), (37, 2), (73, 4)] {
            clock.set(cycle);
            clock.advance(5);
            assert_eq!(clock.ticks(), ticks, "at {cycle}");
        }
        let steps = Clock::steps();
        steps.advance(3);
        assert_eq!(steps.gpu(), GPU_CLOCK_ORIGIN + 3);
        assert_eq!(steps.system(), SYSTEM_CLOCK_ORIGIN + 3);
    }
}
