//! Proof that waves run for ever.
//!
//! A wave that comes back to the state it had goes on as it went before, if what it
//! reads is the same again. So a wave is *proved* endless when its state (place,
//! registers, masks, private and group-shared memory) repeats twice with the same
//! number of steps between, and in both rounds it read the same values from the same
//! places, changed nothing by an atomic, and looked at no clock, data share or ordered
//! turn. What it stores in a round it stores again in the next: if it read that, both
//! rounds would have read it alike.
//!
//! That no one else changes what it reads is known when nothing but waves can move
//! ([`crate::model`]), every wave that has not ended is proved or waits for a proved
//! one, and none of them stores where another reads or an engine polls. The host may
//! still write: the run ends as blocked, not for good.
//!
//! Nothing is paid for this until waves alone have run for a while; then they are
//! watched for a share of the time, with the window in which a state may come back
//! doubling (Brent's way of finding a period).

use std::collections::BTreeSet;
use wavefence_base::{AccessKind, GpuAddress, LaneMask};
use wavefence_memory::port::{Access, Atomic, Lanes, Port};

/// Dwords read or written in a round beyond which a wave is not judged.
const MOST: usize = 1 << 14;

/// What a wave did with memory since its base state.
#[derive(Debug, Default)]
pub(crate) struct Log {
    /// Of every value read, with its place.
    digest: u128,
    /// Dwords, by address / 4.
    pub(crate) reads: BTreeSet<u64>,
    pub(crate) writes: BTreeSet<u64>,
    /// Group-shared memory was written.
    pub(crate) shared: bool,
    /// Something that others change, or too much to keep.
    tainted: bool,
}

impl Log {
    /// The wave did what cannot be judged.
    pub(crate) fn taint(&mut self) {
        self.tainted = true;
    }

    fn mix(&mut self, word: u64) {
        const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013B;
        self.digest = (self.digest ^ u128::from(word)).wrapping_mul(PRIME);
    }

    fn read(&mut self, at: u64, bytes: u64, value: u64) {
        self.mix(at);
        self.mix(value);
        self.reads.extend(at / 4..(at + bytes).div_ceil(4));
        self.tainted |= self.reads.len() > MOST;
    }

    fn write(&mut self, at: u64, bytes: u64) {
        self.writes.extend(at / 4..(at + bytes).div_ceil(4));
        self.tainted |= self.writes.len() > MOST;
    }
}

/// Watches one wave.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    /// The state that is to come back.
    base: Option<u128>,
    /// Steps and instructions since.
    steps: u64,
    spent: u64,
    /// Steps after which another base is taken.
    window: u64,
    /// Group barriers that the wave had passed at the base.
    barriers: u32,
    pub(crate) log: Log,
    /// Of the first round: its reads and steps.
    round: Option<(u128, u64)>,
    proof: Option<Proof>,
}

/// A wave runs for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Proof {
    /// Turns of a loop in a round; 0 if they were not counted.
    pub(crate) period: u64,
    /// It meets others of its group at barriers.
    pub(crate) barriers: bool,
}

impl Watch {
    /// The proof, once there is one.
    pub(crate) fn proof(&self) -> Option<Proof> {
        self.proof
    }

    /// The wave has taken a step of `used` instructions; `state` is what it is now.
    pub(crate) fn step(&mut self, state: u128, used: u64, barriers: u32) {
        if self.proof.is_some() {
            return;
        }
        self.steps += 1;
        self.spent += used;
        if self.base != Some(state) {
            if self.steps >= self.window.max(1) {
                self.begin(state, barriers);
                self.window = (self.window * 2).max(2);
                self.round = None;
            }
            return;
        }
        let round = (self.log.digest, self.steps);
        if self.log.tainted || used == 0 {
            self.round = None;
        } else if self.round == Some(round) {
            let barriers = barriers != self.barriers;
            // Steps of one instruction are turns of a loop.
            let period = if self.spent == self.steps { self.steps } else { 0 };
            self.proof = Some(Proof { period, barriers });
            return;
        } else {
            self.round = Some(round);
        }
        self.begin(state, barriers);
    }

    fn begin(&mut self, state: u128, barriers: u32) {
        self.base = Some(state);
        self.barriers = barriers;
        (self.steps, self.spent) = (0, 0);
        self.log = Log::default();
    }
}

/// Stands between a wave that is watched and its port.
pub(crate) struct Spy<'a> {
    pub(crate) port: &'a mut dyn Port,
    pub(crate) log: &'a mut Log,
}

/// True if an atomic leaves `old` as it is.
fn keeps(op: Atomic, old: u64, value: u64, compare: u64, wide: bool) -> bool {
    let signed = |v: u64| if wide { v as i64 } else { i64::from(v as u32 as i32) };
    match op {
        Atomic::Add | Atomic::Sub | Atomic::Xor => value == 0,
        Atomic::And => old & value == old,
        Atomic::Or => old | value == old,
        Atomic::UMin => old <= value,
        Atomic::UMax => old >= value,
        Atomic::SMin => signed(old) <= signed(value),
        Atomic::SMax => signed(old) >= signed(value),
        Atomic::Exchange => old == value,
        Atomic::CompareExchange => old != compare || old == value,
    }
}

impl Spy<'_> {
    fn atomics(&mut self, at: u64, bytes: u64, old: u64, kept: bool) {
        self.log.read(at, bytes, old);
        if !kept {
            self.log.write(at, bytes);
            self.log.taint();
        }
    }
}

impl Port for Spy<'_> {
    fn load(&mut self, a: &Access, offsets: &Lanes, masks: &[LaneMask], out: &mut [Lanes]) {
        self.port.load(a, offsets, masks, out);
        let rows = if a.width == 8 { 2 } else { 1 };
        for (c, mask) in masks.iter().enumerate() {
            for lane in mask.iter().map(|l| l as usize) {
                let at = a.base.0 + u64::from(offsets[lane]) + c as u64 * u64::from(a.width);
                let high = if rows == 2 { u64::from(out[c * 2 + 1][lane]) << 32 } else { 0 };
                let value = high | u64::from(out[c * rows][lane]);
                self.log.read(at, u64::from(a.width), value);
            }
        }
    }

    fn store(&mut self, a: &Access, offsets: &Lanes, masks: &[LaneMask], data: &[Lanes]) {
        self.port.store(a, offsets, masks, data);
        for (c, mask) in masks.iter().enumerate() {
            for lane in mask.iter().map(|l| l as usize) {
                let at = a.base.0 + u64::from(offsets[lane]) + c as u64 * u64::from(a.width);
                self.log.write(at, u64::from(a.width));
            }
        }
    }

    fn atomic(
        &mut self,
        a: &Access,
        op: Atomic,
        offsets: &Lanes,
        mask: LaneMask,
        value: &Lanes,
        compare: &Lanes,
        old: &mut Lanes,
    ) {
        self.port.atomic(a, op, offsets, mask, value, compare, old);
        for lane in mask.iter().map(|l| l as usize) {
            let [was, v, c] = [old[lane], value[lane], compare[lane]].map(u64::from);
            let kept = keeps(op, was, v, c, false);
            self.atomics((a.base.0 + u64::from(offsets[lane])) & !3, 4, was, kept);
        }
    }

    fn atomic64(
        &mut self,
        a: &Access,
        op: Atomic,
        offsets: &Lanes,
        mask: LaneMask,
        value: &[Lanes; 2],
        compare: &[Lanes; 2],
        old: &mut [Lanes; 2],
    ) {
        self.port.atomic64(a, op, offsets, mask, value, compare, old);
        let both =
            |v: &[Lanes; 2], lane: usize| u64::from(v[1][lane]) << 32 | u64::from(v[0][lane]);
        for lane in mask.iter().map(|l| l as usize) {
            let was = both(old, lane);
            let kept = keeps(op, was, both(value, lane), both(compare, lane), true);
            self.atomics((a.base.0 + u64::from(offsets[lane])) & !7, 8, was, kept);
        }
    }

    fn scalar(&mut self, address: GpuAddress, out: &mut [u8]) {
        self.port.scalar(address, out);
        for (at, bytes) in (address.0..).step_by(8).zip(out.chunks(8)) {
            let mut raw = [0; 8];
            raw[..bytes.len()].copy_from_slice(bytes);
            self.log.read(at, bytes.len() as u64, u64::from_le_bytes(raw));
        }
    }

    fn watches_group_shared(&self) -> bool {
        true
    }

    fn group_shared(
        &mut self,
        kind: AccessKind,
        offsets: &Lanes,
        mask: LaneMask,
        bytes: u32,
        loc: u32,
    ) {
        self.log.shared |= kind != AccessKind::Read;
        if self.port.watches_group_shared() {
            self.port.group_shared(kind, offsets, mask, bytes, loc);
        }
    }

    fn fence(&mut self) {
        self.port.fence();
    }
}

/// When waves that run alone are watched.
#[derive(Debug)]
pub(crate) struct Quiet {
    /// Instructions since anything but a wave moved, or a wave ended.
    spent: u64,
    /// Watching begins when so many were spent.
    next: u64,
    /// Steps that are still watched.
    left: u64,
    /// Watched before: steps are whole slices then.
    again: bool,
}

/// Instructions of waves alone before they are watched.
const PATIENCE: u64 = 1 << 16;
/// The same for each of them: many that start together end late, one by one.
const PATIENCE_EACH: u64 = 1 << 12;

impl Default for Quiet {
    fn default() -> Self {
        Self { spent: 0, next: PATIENCE, left: 0, again: false }
    }
}

impl Quiet {
    /// True while waves are watched.
    pub(crate) fn watches(&self) -> bool {
        self.left > 0
    }

    /// Instructions of a step, for one that would be `slice` otherwise: while waves
    /// are watched for the first time they stop at each back edge.
    pub(crate) fn slice(&self, slice: u64) -> u64 {
        if self.watches() && !self.again { 1 } else { slice }
    }

    /// One of `waves` waves took a step of `used` instructions, and nothing else can
    /// move. True when watching has just ended.
    pub(crate) fn step(&mut self, used: u64, waves: u64) -> bool {
        self.spent += used;
        if self.left > 0 {
            self.left -= 1;
            self.again |= self.left == 0;
            return self.left == 0;
        }
        if self.spent >= self.next.max(PATIENCE_EACH.saturating_mul(waves)) {
            self.next = self.spent * 2;
            let share = if self.again { self.spent >> 12 } else { 1024 };
            self.left = share + 16 * waves;
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(states: &[u128], mut each: impl FnMut(usize, &mut Log)) -> Option<Proof> {
        let mut watch = Watch::default();
        for i in 0..200 {
            each(i, &mut watch.log);
            watch.step(states[i % states.len()], 1, 0);
        }
        watch.proof()
    }

    #[test]
    fn a_state_that_repeats_is_endless_whatever_the_period() {
        for period in [1usize, 2, 3, 7, 20] {
            let states: Vec<u128> = (0..period as u128).collect();
            let proof = run(&states, |_, log| log.read(64, 4, 1));
            assert_eq!(proof, Some(Proof { period: period as u64, barriers: false }));
        }
    }

    #[test]
    fn what_changes_is_not_endless() {
        let counts: Vec<u128> = (0..1000).collect();
        assert_eq!(run(&counts, |_, _| ()), None);
        // The same registers, but a value read that grows.
        assert_eq!(run(&[1], |i, log| log.read(64, 4, i as u64)), None);
        assert_eq!(run(&[1], |_, log| log.taint()), None);
    }

    #[test]
    fn atomics_that_keep_the_value_are_reads() {
        assert!(keeps(Atomic::CompareExchange, 1, 1, 0, false));
        assert!(!keeps(Atomic::CompareExchange, 0, 1, 0, false));
        assert!(keeps(Atomic::Add, 7, 0, 0, false) && !keeps(Atomic::Add, 7, 1, 0, false));
        assert!(keeps(Atomic::SMax, 5, u64::from(u32::MAX), 0, false));
        assert!(!keeps(Atomic::UMax, 5, u64::from(u32::MAX), 0, false));
    }

    #[test]
    fn watching_begins_late_and_backs_off() {
        let mut quiet = Quiet::default();
        let mut watched = 0u64;
        for step in 0..1_000_000u64 {
            if step < 64 {
                assert!(!quiet.watches());
            }
            watched += u64::from(quiet.watches());
            quiet.step(1024, 1);
        }
        assert!(watched > 1000 && watched < 300_000, "{watched}");
    }
}
