//! Looks for an order in which a scenario goes wrong.
//!
//! A model run is a row of steps, and at many points the hardware leaves open which
//! comes next ([`wavefence_base::schedule`]). A [`Subject`] makes one run under a
//! schedule and says what came of it; a search makes many, by one of the strategies:
//!
//! - **random**: every step that can be taken is as likely as every other;
//! - **pct**: every agent has a random priority, and at `depth - 1` random points the
//!   one in front loses its;
//! - **exhaustive**: every order, up to steps that commute (`search`, `order`), or
//!   every order with so many agents held back (`departures`).
//!
//! What is found is made small (`shrink`): as few departures from the plain order as
//! still give the same. It comes as a [`Replay`], whose text repeats the run exactly.
//!
//! Rules: a search is a function of subject and options, whatever the number of
//! threads; "proved" is said only where the search ended by itself, and with every
//! bound that held it.

pub mod departures;
pub mod driver;
pub mod hunt;
pub mod order;
pub mod part;
pub mod replay;
pub mod scene;
pub mod search;
pub mod shrink;
pub mod words;

#[cfg(test)]
mod tests;
#[cfg(test)]
mod toy;

use serde::{Deserialize, Serialize};

pub use driver::{Handle, Trace};
pub use replay::{Replay, ReplayError};

/// What one run came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunResult {
    /// What is wrong with it, the worst first; empty if it is clean.
    pub bad: Vec<Bad>,
    /// What ended it early, other than its schedule: a budget of the device.
    pub limit: Option<String>,
    /// True if it ended with work that could not go on, expected or not.
    pub stuck: bool,
    /// A sum of everything that the run left: the same for the same results.
    pub digest: u64,
}

/// What is wrong with a run: one of these is the same in two runs if all is equal.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Bad {
    /// The kind.
    pub kind: BadKind,
    /// What and where, in words that do not depend on the order.
    pub key: String,
}

/// Kinds of what can be wrong, the worst first, as exit codes rank them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BadKind {
    /// It could not go on.
    Hang,
    /// A result does not hold.
    WrongResult,
    /// The guest did something wrong.
    Fault,
    /// A hazard, proven or possible.
    Finding,
}

impl BadKind {
    /// Its name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Hang => "hang",
            Self::WrongResult => "wrong result",
            Self::Fault => "fault",
            Self::Finding => "finding",
        }
    }
}

/// Something that can be run again and again.
pub trait Subject {
    /// Runs it from its start under a schedule. The same choices give the same run.
    fn run(&mut self, schedule: &Handle) -> RunResult;
}

/// 64 bits of FNV-1a.
pub fn hash(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(*b)).wrapping_mul(0x100_0000_01b3))
}

/// A small generator of numbers: splitmix64.
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    /// By a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The seed of the `number`th of many.
    pub fn of(seed: u64, number: u64) -> Self {
        let mut mix = Self(seed ^ number.wrapping_mul(0xd134_2543_de82_ef95));
        Self(mix.number())
    }

    /// The next number.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`, which is not 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.number()) * u128::from(bound)) >> 64) as u64
    }
}
