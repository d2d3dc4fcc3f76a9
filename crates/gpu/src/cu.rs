//! Compute units of a model run: which groups fit where.

use crate::dispatch::Dispatch;
use wavefence_base::Profile;

/// What is free on one compute unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Free {
    waves: u32,
    lds: u32,
}

/// All compute units.
#[derive(Clone, Debug)]
pub(crate) struct ComputeUnits {
    free: Vec<Free>,
}

impl ComputeUnits {
    pub(crate) fn new(profile: &Profile) -> Self {
        let free = Free { waves: profile.waves_per_cu.value, lds: profile.lds_bytes.value };
        Self { free: vec![free; profile.compute_units.value as usize] }
    }

    /// True if some unit has room for a whole group of `dispatch`.
    pub(crate) fn fits(&self, dispatch: &Dispatch) -> bool {
        let (waves, lds) = need(dispatch);
        self.free.iter().any(|f| f.waves >= waves && f.lds >= lds)
    }

    /// Takes room for a whole group of `dispatch` on the emptiest unit, the
    /// first of equals; `None` if no unit has room.
    pub(crate) fn take(&mut self, dispatch: &Dispatch) -> Option<usize> {
        let (waves, lds) = need(dispatch);
        let fits = |f: &Free| f.waves >= waves && f.lds >= lds;
        let candidates = self.free.iter().enumerate().filter(|(_, f)| fits(f));
        let (index, _) = candidates.max_by_key(|(i, f)| (f.waves, f.lds, usize::MAX - i))?;
        self.free[index].waves -= waves;
        self.free[index].lds -= lds;
        Some(index)
    }

    /// Gives the room back.
    pub(crate) fn give(&mut self, unit: usize, dispatch: &Dispatch) {
        let (waves, lds) = need(dispatch);
        self.free[unit].waves += waves;
        self.free[unit].lds += lds;
    }
}

fn need(dispatch: &Dispatch) -> (u32, u32) {
    (dispatch.full_waves(), dispatch.lds_bytes())
}

/// Groups of `dispatch` that fit on all compute units together.
pub(crate) fn capacity(profile: &Profile, dispatch: &Dispatch) -> u64 {
    let (waves, lds) = need(dispatch);
    let by_waves = profile.waves_per_cu.value / waves.max(1);
    let by_lds = profile.lds_bytes.value.checked_div(lds).unwrap_or(u32::MAX);
    u64::from(by_waves.min(by_lds)) * u64::from(profile.compute_units.value)
}
