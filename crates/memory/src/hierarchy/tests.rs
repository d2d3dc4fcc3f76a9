#![allow(clippy::needless_range_loop, reason = "lanes index several arrays")]
use super::*;
use crate::coherent::CoherentPort;
use crate::port::{Access, Atomic, Lanes, Path, Port};
use crate::space::AllocationDesc;
use wavefence_base::{
    AccessKind, Agent, CacheAction, GpuAddress, GpuRange, LaneMask, PassingStore, Piece,
    ProfileName, QueueId,
};

mod again;
mod plain;
mod records;
mod rules;
mod traffic;

/// One request of a wave at `base`, plain unless changed.
fn access(base: u64, width: u8) -> Access {
    Access {
        base: GpuAddress(base),
        len: 1 << 20,
        path: Path::Vector,
        width,
        coherent: false,
        volatile: false,
        loc: 7,
    }
}

const ONE: LaneMask = LaneMask(1);

/// Memory at [0x1000, +0x10000), caches of `profile` as `change` leaves them.
fn device_with(profile: ProfileName, change: impl Fn(&mut Topology, &mut CacheRules)) -> Hierarchy {
    let profile = Profile::get(profile);
    let space = AddressSpace::with_budget(&profile, 1 << 20);
    space.allocate(AllocationDesc::new("x", 0x1_0000).at(GpuAddress(0x1000))).unwrap();
    let (mut topology, mut rules) = (Topology::of(&profile), CacheRules::of(&profile));
    change(&mut topology, &mut rules);
    Hierarchy::new(Arc::new(space), topology, rules)
}

fn device(profile: ProfileName) -> Hierarchy {
    device_with(profile, |_, _| {})
}

fn wave(unit: u32) -> WaveContext {
    WaveContext {
        agent: Agent::Host,
        dispatch: DispatchId(1),
        unit,
        volatile_skips_vector: false,
        volatile_skips_scalar: false,
    }
}

fn engine(client: Client) -> Requester {
    Requester { agent: Agent::Host, client, unit: 0 }
}

impl Hierarchy {
    /// One lane of a unit loads a dword.
    fn load1(&mut self, unit: u32, at: u64) -> u32 {
        let mut out = [[9; 64]];
        self.port(wave(unit)).load(&access(at, 4), &[0; 64], &[ONE], &mut out);
        out[0][0]
    }

    /// The same with GLC (DLC).
    fn coherent_load1(&mut self, unit: u32, at: u64) -> u32 {
        let mut out = [[9; 64]];
        let a = Access { coherent: true, ..access(at, 4) };
        self.port(wave(unit)).load(&a, &[0; 64], &[ONE], &mut out);
        out[0][0]
    }

    /// One lane of a unit stores a dword; it is still on its way.
    fn store1(&mut self, unit: u32, at: u64, value: u32) {
        self.port(wave(unit)).store(&access(at, 4), &[0; 64], &[ONE], &[[value; 64]]);
    }

    /// The same, and it has landed.
    fn landed_store1(&mut self, unit: u32, at: u64, value: u32) {
        self.store1(unit, at, value);
        self.land(Land::Unit(unit));
    }

    fn add1(&mut self, unit: u32, at: u64, value: u32) -> u32 {
        let mut old = [0; 64];
        let a = Access { coherent: true, ..access(at, 4) };
        let (value, none) = ([value; 64], [0; 64]);
        self.port(wave(unit)).atomic(&a, Atomic::Add, &[0; 64], ONE, &value, &none, &mut old);
        old[0]
    }

    fn scalar1(&mut self, unit: u32, at: u64) -> u32 {
        let mut bytes = [0; 4];
        self.port(wave(unit)).scalar(GpuAddress(at), &mut bytes);
        u32::from_le_bytes(bytes)
    }

    fn by(&mut self, client: Client, at: u64) -> u32 {
        self.read_value(engine(client), GpuAddress(at), 4).unwrap() as u32
    }

    fn set(&mut self, client: Client, at: u64, value: u32) {
        self.write_value(engine(client), GpuAddress(at), value.into(), 4).unwrap();
    }

    /// What memory holds.
    fn memory(&self, at: u64) -> u32 {
        self.space().host().read_u32(GpuAddress(at)).unwrap()
    }
}
