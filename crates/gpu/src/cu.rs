//! Compute units of a model run: which groups fit where, and when each SIMD is free.

use crate::dispatch::Dispatch;
use wavefence_base::occupancy::Placement;
use wavefence_base::{GroupNeed, Occupancy, Profile, Room};

/// Where a group lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seats {
    /// The unit.
    pub(crate) cu: usize,
    placement: Placement,
}

/// One unit.
#[derive(Clone, Debug)]
struct Unit {
    room: Room,
    /// The cycle in which each SIMD is free to issue.
    simds: [u64; Room::MOST],
}

/// All compute units.
#[derive(Clone, Debug)]
pub(crate) struct ComputeUnits {
    occupancy: Occupancy,
    units: Vec<Unit>,
}

impl ComputeUnits {
    pub(crate) fn new(profile: &Profile) -> Self {
        let occupancy = profile.occupancy;
        let unit = Unit { room: Room::of(&occupancy), simds: [0; Room::MOST] };
        Self { occupancy, units: vec![unit; profile.compute_units.value as usize] }
    }

    /// True if some unit has room for a whole group of `dispatch`.
    pub(crate) fn fits(&self, dispatch: &Dispatch) -> bool {
        let need = need(&self.occupancy, dispatch);
        self.units.iter().any(|u| { u.room }.take(&self.occupancy, &need).is_some())
    }

    /// Takes room for a whole group of `dispatch` on the emptiest unit, the
    /// first of equals; `None` if no unit has room.
    pub(crate) fn take(&mut self, dispatch: &Dispatch) -> Option<Seats> {
        let need = need(&self.occupancy, dispatch);
        let mut best: Option<((u32, u32), Room, Seats)> = None;
        for (cu, unit) in self.units.iter().enumerate() {
            let free = (unit.room.free_waves(), unit.room.free_lds());
            if best.as_ref().is_some_and(|b| b.0 >= free) {
                continue;
            }
            let mut room = unit.room;
            if let Some(placement) = room.take(&self.occupancy, &need) {
                best = Some((free, room, Seats { cu, placement }));
            }
        }
        let (_, room, seats) = best?;
        self.units[seats.cu].room = room;
        Some(seats)
    }

    /// Gives the room back.
    pub(crate) fn give(&mut self, seats: &Seats, dispatch: &Dispatch) {
        let need = need(&self.occupancy, dispatch);
        self.units[seats.cu].room.give(&self.occupancy, &need, &seats.placement);
    }

    /// A wave of a group issues for so many cycles, from `now` on or when its SIMD is
    /// free. Gives when it is through.
    pub(crate) fn issue(&mut self, seats: &Seats, wave: u32, now: u64, cycles: u64) -> u64 {
        let simd = &mut self.units[seats.cu].simds[Room::simd(&seats.placement, wave)];
        *simd = (*simd).max(now) + cycles;
        *simd
    }
}

fn need(occupancy: &Occupancy, dispatch: &Dispatch) -> GroupNeed {
    let (size, waves) = (dispatch.wave_size(), dispatch.full_waves());
    let most = occupancy.most_registers(size, waves);
    let registers = dispatch.program.vector_registers().min(most);
    GroupNeed { size, waves, registers, lds_bytes: dispatch.lds_bytes() }
}

/// Groups of `dispatch` that fit on all compute units together.
pub(crate) fn capacity(profile: &Profile, dispatch: &Dispatch) -> u64 {
    let groups = profile.occupancy.groups(&need(&profile.occupancy, dispatch));
    u64::from(groups) * u64::from(profile.compute_units.value)
}
