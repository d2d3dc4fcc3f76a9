//! What a compute unit has room for (`hardware/caches.md` 4).
//!
//! Scalar registers are left out: GFX10 gives every wave the same number, and the
//! model does not allocate them for GFX7 and GFX8.

use crate::lane::WaveSize;
use crate::profile::{Confidence, Marked, assumed, confirmed, derived};
use crate::timing::row;

/// Room on one compute unit, and in which pieces it is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Occupancy {
    /// SIMDs.
    pub simds: Marked<u32>,
    /// Waves resident on one SIMD.
    pub waves_per_simd: Marked<u32>,
    /// Vector registers of one SIMD that waves share out, counted for waves of 32
    /// lanes; not used where there are none.
    pub registers32: Marked<u32>,
    /// The same for waves of 64 lanes.
    pub registers64: Marked<u32>,
    /// Registers are given in multiples of this, waves of 32 lanes.
    pub granule32: Marked<u32>,
    /// The same for waves of 64 lanes.
    pub granule64: Marked<u32>,
    /// Group-shared memory, bytes.
    pub lds_bytes: Marked<u32>,
    /// It is given in multiples of this many bytes.
    pub lds_granule: Marked<u32>,
    /// Groups of more than one wave.
    pub barriers: Marked<u32>,
    /// Groups.
    pub groups: Marked<u32>,
}

/// What one group asks of a compute unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupNeed {
    /// Its waves' size.
    pub size: WaveSize,
    /// Number of waves.
    pub waves: u32,
    /// Vector registers of each.
    pub registers: u32,
    /// Group-shared memory, bytes.
    pub lds_bytes: u32,
}

impl Occupancy {
    pub(crate) const GFX7: Self = Self {
        simds: confirmed(4),
        waves_per_simd: confirmed(10),
        registers32: derived(256),
        registers64: confirmed(256),
        granule32: derived(4),
        granule64: confirmed(4),
        lds_bytes: confirmed(65_536),
        lds_granule: confirmed(512),
        barriers: assumed(16),
        groups: assumed(40),
    };

    /// 8 waves as the desktop relative.
    pub(crate) const GFX8: Self =
        Self { waves_per_simd: assumed(8), groups: assumed(32), ..Self::GFX7 };

    /// A unit has half of its pair's 128 KB.
    pub(crate) const GFX10: Self = Self {
        simds: confirmed(2),
        waves_per_simd: confirmed(16),
        registers32: confirmed(1024),
        registers64: derived(512),
        granule32: confirmed(16),
        granule64: derived(8),
        lds_bytes: derived(65_536),
        lds_granule: confirmed(1024),
        barriers: confirmed(16),
        groups: assumed(32),
    };

    /// Vector registers that a wave which uses `used` holds, at least one piece.
    pub fn registers(&self, size: WaveSize, used: u32) -> u32 {
        let granule = match size {
            WaveSize::W32 => self.granule32.value,
            WaveSize::W64 => self.granule64.value,
        };
        used.max(1).next_multiple_of(granule.max(1))
    }

    /// Most vector registers that each of `waves` waves of one group can hold: the
    /// console's compiler spills the rest, or the group would never run.
    pub fn most_registers(&self, size: WaveSize, waves: u32) -> u32 {
        let (all, granule) = match size {
            WaveSize::W32 => (self.registers32.value, self.granule32.value),
            WaveSize::W64 => (self.registers64.value, self.granule64.value),
        };
        let each = all / waves.div_ceil(self.simds.value.max(1)).max(1);
        (each / granule.max(1) * granule.max(1)).min(256)
    }

    /// Waves of `used` vector registers that fit on one SIMD.
    pub fn waves(&self, size: WaveSize, used: u32) -> u32 {
        let all = match size {
            WaveSize::W32 => self.registers32.value,
            WaveSize::W64 => self.registers64.value,
        };
        (all / self.registers(size, used)).min(self.waves_per_simd.value)
    }

    /// Group-shared memory that a group which uses `used` bytes holds.
    pub fn lds(&self, used: u32) -> u32 {
        used.next_multiple_of(self.lds_granule.value.max(1))
    }

    /// Groups that fit on an empty unit; 0 if not even one does.
    pub fn groups(&self, need: &GroupNeed) -> u32 {
        let mut room = Room::of(self);
        let mut count = 0;
        while room.take(self, need).is_some() {
            count += 1;
        }
        count
    }

    /// Every number with its unit and mark, for printing.
    pub(crate) fn rows(&self, has_wave32: bool) -> Vec<(&'static str, String, Confidence)> {
        let gfx10 = |(name, value, mark)| match has_wave32 {
            true => (name, value, mark),
            false => (name, "none".to_string(), Confidence::Confirmed),
        };
        vec![
            row("SIMDs per CU", self.simds, ""),
            row("waves per SIMD", self.waves_per_simd, ""),
            gfx10(row("vector registers (wave32)", self.registers32, "")),
            row("vector registers (wave64)", self.registers64, ""),
            gfx10(row("registers given in (wave32)", self.granule32, "")),
            row("registers given in (wave64)", self.granule64, ""),
            row("group-shared memory per CU", self.lds_bytes, " B"),
            row("group-shared memory given in", self.lds_granule, " B"),
            row("groups of several waves per CU", self.barriers, ""),
            row("groups per CU", self.groups, ""),
        ]
    }
}

/// What is free on one SIMD. Registers are those of [`Occupancy::registers32`]: where
/// a wave of 32 lanes takes one of them, one of 64 takes two, if both sizes exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Simd {
    waves: u32,
    registers: u32,
}

/// What is free on one compute unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    simds: [Simd; Self::MOST],
    lds: u32,
    barriers: u32,
    groups: u32,
}

/// How the waves of a group lie: how many on each SIMD.
pub type Placement = [u8; Room::MOST];

impl Room {
    /// Most SIMDs of any unit.
    pub const MOST: usize = 4;

    /// An empty unit.
    pub fn of(o: &Occupancy) -> Self {
        let mut simds = [Simd { waves: 0, registers: 0 }; Self::MOST];
        for simd in simds.iter_mut().take(o.simds.value as usize) {
            *simd = Simd { waves: o.waves_per_simd.value, registers: o.registers32.value };
        }
        Self { simds, lds: o.lds_bytes.value, barriers: o.barriers.value, groups: o.groups.value }
    }

    /// On which SIMD a group's wave lies.
    pub fn simd(placement: &Placement, wave: u32) -> usize {
        let mut before = 0;
        let holds = |&waves: &u8| {
            before += u32::from(waves);
            wave < before
        };
        placement.iter().position(holds).unwrap_or(0)
    }

    /// Waves that could still come, by their number alone.
    pub fn free_waves(&self) -> u32 {
        self.simds.iter().map(|s| s.waves).sum()
    }

    /// Group-shared memory that is free, bytes.
    pub fn free_lds(&self) -> u32 {
        self.lds
    }

    /// Takes room for a whole group, each wave on the SIMD with the fewest waves,
    /// the first of equals; `None`, and nothing taken, if it does not fit.
    pub fn take(&mut self, o: &Occupancy, need: &GroupNeed) -> Option<Placement> {
        let before = *self;
        let placed = self.place(o, need);
        if placed.is_none() {
            *self = before;
        }
        placed
    }

    fn place(&mut self, o: &Occupancy, need: &GroupNeed) -> Option<Placement> {
        self.groups = self.groups.checked_sub(1)?;
        if need.waves > 1 {
            self.barriers = self.barriers.checked_sub(1)?;
        }
        self.lds = self.lds.checked_sub(o.lds(need.lds_bytes))?;
        let registers = rows(o, need);
        let mut placement = [0; Self::MOST];
        for _ in 0..need.waves {
            let fits = |s: &Simd| s.waves > 0 && s.registers >= registers;
            let free = self.simds.iter().enumerate().filter(|(_, s)| fits(s));
            let (at, _) = free.max_by_key(|(i, s)| (s.waves, usize::MAX - i))?;
            self.simds[at].waves -= 1;
            self.simds[at].registers -= registers;
            placement[at] += 1;
        }
        Some(placement)
    }

    /// Gives a group's room back.
    pub fn give(&mut self, o: &Occupancy, need: &GroupNeed, placement: &Placement) {
        self.groups += 1;
        self.barriers += u32::from(need.waves > 1);
        self.lds += o.lds(need.lds_bytes);
        let registers = rows(o, need);
        for (simd, &waves) in self.simds.iter_mut().zip(placement) {
            simd.waves += u32::from(waves);
            simd.registers += u32::from(waves) * registers;
        }
    }
}

/// A wave's registers in units of [`Occupancy::registers32`].
fn rows(o: &Occupancy, need: &GroupNeed) -> u32 {
    let held = o.registers(need.size, need.registers);
    match need.size {
        WaveSize::W32 => held,
        WaveSize::W64 => held * (o.registers32.value / o.registers64.value.max(1)).max(1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table of `hardware/caches.md` 4: registers, waves per SIMD of GCN.
    #[test]
    fn registers_decide_how_many_waves_fit() {
        let table = [
            (24, 10),
            (28, 9),
            (32, 8),
            (36, 7),
            (40, 6),
            (48, 5),
            (64, 4),
            (84, 3),
            (128, 2),
            (256, 1),
        ];
        for (registers, waves) in table {
            assert_eq!(Occupancy::GFX7.waves(WaveSize::W64, registers), waves, "{registers}");
            let capped = waves.min(8);
            assert_eq!(Occupancy::GFX8.waves(WaveSize::W64, registers), capped, "{registers}");
            // A unit holds four times as many, if nothing else is short.
            let need = GroupNeed { size: WaveSize::W64, waves: 1, registers, lds_bytes: 0 };
            assert_eq!(Occupancy::GFX7.groups(&need), 4 * waves, "{registers}");
        }
        // One more register is a new piece of four.
        assert_eq!(Occupancy::GFX7.waves(WaveSize::W64, 25), 9);
        let gfx10 = Occupancy::GFX10;
        assert_eq!([64, 65, 128, 256].map(|r| gfx10.waves(WaveSize::W32, r)), [16, 12, 8, 4]);
        assert_eq!([32, 33, 64, 256].map(|r| gfx10.waves(WaveSize::W64, r)), [16, 12, 8, 2]);
    }

    #[test]
    fn shared_memory_and_barriers_are_limits_too() {
        let need = GroupNeed { size: WaveSize::W64, waves: 1, registers: 8, lds_bytes: 0 };
        let gfx7 = |n: GroupNeed| Occupancy::GFX7.groups(&n);
        let gfx10 = |n: GroupNeed| Occupancy::GFX10.groups(&n);
        assert_eq!([gfx7(need), gfx10(need)], [40, 32]);
        // 4097 bytes are nine pieces of 512, five of 1024.
        let shared = GroupNeed { lds_bytes: 4097, ..need };
        assert_eq!([gfx7(shared), gfx10(shared)], [14, 12]);
        assert_eq!(gfx7(GroupNeed { lds_bytes: 65_536, ..need }), 1);
        assert_eq!(gfx7(GroupNeed { lds_bytes: 65_537, ..need }), 0);
        // Two waves: twenty groups by waves, sixteen by barriers.
        let pair = GroupNeed { waves: 2, ..need };
        assert_eq!([gfx7(pair), gfx10(pair)], [16, 16]);
        assert_eq!(
            [gfx7(GroupNeed { waves: 4, ..need }), gfx10(GroupNeed { waves: 4, ..need })],
            [10, 8]
        );
        assert_eq!(gfx7(GroupNeed { waves: 41, ..need }), 0);
    }

    #[test]
    fn every_group_of_the_largest_size_fits_whatever_it_uses() {
        for (o, size) in [
            (Occupancy::GFX7, WaveSize::W64),
            (Occupancy::GFX8, WaveSize::W64),
            (Occupancy::GFX10, WaveSize::W64),
            (Occupancy::GFX10, WaveSize::W32),
        ] {
            for waves in 1..=1024 / size.lanes() {
                let registers = o.most_registers(size, waves);
                let need = GroupNeed { size, waves, registers, lds_bytes: 65_536 };
                assert_eq!(o.groups(&need), 1, "{waves} waves of {registers} registers");
            }
            assert_eq!(o.most_registers(size, 1), 256);
        }
    }

    #[test]
    fn room_given_back_is_room_again() {
        for o in [Occupancy::GFX7, Occupancy::GFX8, Occupancy::GFX10] {
            let need = GroupNeed { size: WaveSize::W64, waves: 3, registers: 40, lds_bytes: 100 };
            let other = GroupNeed { size: WaveSize::W32, waves: 1, registers: 20, lds_bytes: 0 };
            let (empty, mut room) = (Room::of(&o), Room::of(&o));
            let a = room.take(&o, &need).unwrap();
            let b = room.take(&o, &other).unwrap();
            assert_eq!(a.iter().map(|&n| u32::from(n)).sum::<u32>(), 3);
            let simds = [0, 1, 2].map(|wave| Room::simd(&a, wave));
            assert_eq!(simds, if o == Occupancy::GFX10 { [0, 0, 1] } else { [0, 1, 2] });
            assert_eq!(room.free_waves() + 4, empty.free_waves());
            let full = room;
            let huge = GroupNeed { lds_bytes: 65_536, ..need };
            assert_eq!((room.take(&o, &huge), room), (None, full));
            room.give(&o, &need, &a);
            room.give(&o, &other, &b);
            assert_eq!(room, empty);
        }
    }
}
