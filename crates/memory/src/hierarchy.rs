//! The caches of a device, wired from its [`Topology`]: lines hold bytes, and
//! nothing snoops, so a stale read gives the stale bytes.
//!
//! What passes where (`hardware/caches.md` 1.5, 1.6):
//! - A vector load that finds its bytes in the unit's vector cache takes them;
//!   else the whole line comes up the path.
//! - A vector store goes to L2 with a byte mask, on a queue of its unit; L2 takes
//!   it later ([`Hierarchy::land`]). A present line of the unit's own cache takes
//!   the bytes at once; a store that finds no line there makes none.
//! - What misses the unit's own cache, and every atomic and coherent access, goes
//!   down the same path behind the unit's stores, which therefore land first.
//! - Atomics are executed in L2.
//! - L2 keeps dirty bytes by mask, makes a line for a write without reading it,
//!   and reads the rest when somebody asks for it.
//! - The host, and the engines that the topology sends around L2, reach memory.

mod atomic;
mod backing;
mod checkpoint;
mod engine;
mod flush;
mod lanes;
mod look;
mod port;
mod record;
mod stores;
mod trace;
mod traffic;
mod walk;
mod wide;

pub use backing::LostBytes;
pub use engine::Requester;
pub use flush::ActionCost;
pub use port::{WaveContext, WavePort};
pub use stores::Land;
pub use traffic::Traffic;

use crate::cache::{Cache, MAX_LINE, NOBODY};
use crate::coherent::MissRecord;
use crate::space::AddressSpace;
use backing::Backing;
use record::{Had, Recorder};
use std::fmt;
use std::sync::Arc;
use stores::Stores;
use trace::Trace;
use wavefence_base::{
    CacheClass, CacheSwitches, Client, Depth, DispatchId, Family, Generation, MemoryAccess,
    Profile, Topology,
};
use wide::Groups;

/// The rules that the walk follows, beside the topology.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheRules {
    /// What no source settles.
    pub switches: CacheSwitches,
    /// Caches that a coherent access of a shader (GLC; on GFX10 GLC and DLC)
    /// goes past, dropping a line that is there.
    pub coherent_skips: &'static [CacheClass],
    /// Caches of the unit that a device-memory barrier drops, after its stores
    /// have landed.
    pub fence_drops: &'static [CacheClass],
    /// Lines filled by volatile accesses are marked; nothing is volatile on the
    /// Xbox One family (design 4.6).
    pub marks_volatile: bool,
}

impl CacheRules {
    /// Those of a profile. The one table of what shader-side ordering does, from
    /// `hardware/caches.md` 1.8: GFX7/8 load with GLC and `buffer_wbinvl1`; GFX10
    /// load with GLC and DLC, `buffer_gl1_inv` and `buffer_gl0_inv`.
    pub fn of(profile: &Profile) -> Self {
        use CacheClass::{Gl1, Vector};
        let (coherent_skips, fence_drops): (&[_], &[_]) = match profile.generation.value {
            Generation::Gfx7 | Generation::Gfx8 => (&[Vector], &[Vector]),
            Generation::Gfx10_3 => (&[Vector, Gl1], &[Vector, Gl1]),
        };
        Self {
            switches: profile.caches,
            coherent_skips,
            fence_drops,
            marks_volatile: profile.family == Family::Series,
        }
    }
}

/// The caches that an access goes through, the nearest first.
#[derive(Clone, Copy, Debug, Default)]
struct Route {
    at: [u16; 4],
    len: usize,
}

impl Route {
    fn caches(&self) -> &[u16] {
        &self.at[..self.len]
    }
}

/// The ways of one compute unit's waves.
#[derive(Clone, Copy, Debug, Default)]
struct Unit {
    vector: Route,
    scalar: Route,
    /// What a store passes between the unit's own cache and L2.
    between: Route,
}

/// The caches of one device and what is on its way to them. One thread drives it.
pub struct Hierarchy {
    topology: Topology,
    rules: CacheRules,
    caches: Vec<Cache>,
    classes: Vec<CacheClass>,
    /// How far down each cache lies.
    depths: Vec<Depth>,
    /// First cache of each class of [`CacheClass::ALL`].
    first: [Option<u16>; CacheClass::ALL.len()],
    /// What each unit's waves go through.
    units: Vec<Unit>,
    l2: Option<usize>,
    /// Of the request that is being made: the line of L2 that an atomic changed
    /// last, and its slot.
    changed: Option<(u64, usize)>,
    /// Bytes of a line of the vector cache, as a power of two.
    vector_shift: u32,
    backing: Backing,
    stores: Stores,
    record: Recorder,
    trace: Trace,
    had: Had,
    /// How far down the access that is being made has gone.
    deepest: Depth,
    traffic: Traffic,
    groups: Box<Groups>,
    misses: Vec<MissRecord>,
    seq: u64,
    /// Whose writes reach L2 now: a dispatch, or [`NOBODY`].
    writing: u32,
    mark: Option<Box<checkpoint::Mark>>,
}

impl fmt::Debug for Hierarchy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hierarchy")
            .field("topology", &self.topology)
            .field("seq", &self.seq)
            .finish_non_exhaustive()
    }
}

impl Hierarchy {
    /// Cold caches over `space`.
    pub fn new(space: Arc<AddressSpace>, topology: Topology, rules: CacheRules) -> Self {
        let mut caches = Vec::new();
        let mut classes = Vec::new();
        let mut first = [None; CacheClass::ALL.len()];
        for (slot, class) in first.iter_mut().zip(CacheClass::ALL) {
            if let Some(shape) = topology.shape(class) {
                *slot = Some(caches.len() as u16);
                for _ in 0..topology.count(class) {
                    caches.push(Cache::new(shape));
                    classes.push(class);
                }
            }
        }
        let depths = classes.iter().map(|&class| traffic::depth(class)).collect();
        let stores = Stores::new(topology.compute_units);
        let mut new = Self {
            units: Vec::new(),
            l2: first[class_index(CacheClass::L2)].map(usize::from),
            changed: None,
            vector_shift: first[class_index(CacheClass::Vector)]
                .map_or(MAX_LINE.trailing_zeros(), |c| caches[usize::from(c)].shift()),
            topology,
            rules,
            caches,
            classes,
            depths,
            first,
            backing: Backing::new(space),
            stores,
            record: Recorder::default(),
            trace: Trace::default(),
            had: Had::default(),
            deepest: Depth::Near,
            traffic: Traffic::default(),
            groups: Box::default(),
            misses: Vec::new(),
            seq: 0,
            writing: NOBODY,
            mark: None,
        };
        let between = [CacheClass::Vector, CacheClass::L2];
        new.units = (0..new.topology.compute_units.max(1))
            .map(|unit| Unit {
                vector: new.route(Client::ShaderVector, unit, &[]),
                scalar: new.route(Client::ShaderScalar, unit, &[]),
                between: new.route(Client::ShaderVector, unit, &between),
            })
            .collect();
        new
    }

    /// The device's caches as they were when it was made: cold, nothing on the
    /// way, records and misses forgotten, sequence from 0. Dirty bytes are lost.
    pub fn reset(&mut self) {
        for cache in &mut self.caches {
            cache.drop_all();
        }
        self.stores.clear();
        self.record.clear();
        self.misses.clear();
        self.backing.lost.clear();
        self.backing.refresh();
        self.traffic = Traffic::default();
        self.seq = 0;
    }

    /// What it is wired from.
    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    /// The rules it follows.
    pub fn rules(&self) -> &CacheRules {
        &self.rules
    }

    /// The address space under it.
    pub fn space(&self) -> &Arc<AddressSpace> {
        &self.backing.space
    }

    /// The number of the last access or cache action.
    pub fn seq(&self) -> u64 {
        self.seq
    }

    /// Takes a number for something that the caller puts in order with accesses
    /// itself.
    pub fn next_seq(&mut self) -> u64 {
        self.changed = None;
        self.deepest = Depth::Near;
        self.seq += 1;
        self.seq
    }

    /// Whether accesses are recorded. Lines that are there when it is turned on
    /// count as taken when they were filled.
    pub fn set_recording(&mut self, on: bool) {
        if self.record.on != on {
            self.record.on = on;
            self.record.clear();
            for cache in &mut self.caches {
                cache.keep_stamps(on);
            }
        }
    }

    /// Hands over the records since the last call, in order. Call it before an
    /// event is told that must come after them.
    pub fn drain(&mut self, each: impl FnMut(&MemoryAccess<'_>)) {
        self.record.drain(each);
    }

    /// True if there are records to take.
    pub fn has_records(&self) -> bool {
        !self.record.is_empty()
    }

    /// True if there are misses to take.
    pub fn has_misses(&self) -> bool {
        !self.misses.is_empty()
    }

    /// Accesses of waves that hit nothing or read-only memory since the last
    /// call; requests from one source line with the same kind and op share one.
    pub fn take_misses(&mut self) -> Vec<MissRecord> {
        std::mem::take(&mut self.misses)
    }

    /// Bytes that had nowhere to go when they were written back, since the last
    /// call.
    pub fn take_lost(&mut self) -> Vec<LostBytes> {
        std::mem::take(&mut self.backing.lost)
    }

    /// True if stores are on their way to L2: of `dispatch`, or of anyone.
    pub fn in_flight(&self, dispatch: Option<DispatchId>) -> bool {
        self.stores.in_flight(dispatch)
    }

    /// Lines present in the caches of a class, all instances together.
    pub fn lines(&self, class: CacheClass) -> u64 {
        self.of_class(class).map(|c| self.caches[c].live()).sum()
    }

    /// Indexes of the caches of a class.
    fn of_class(&self, class: CacheClass) -> std::ops::Range<usize> {
        match self.first[class_index(class)] {
            Some(first) => {
                let first = usize::from(first);
                first..first + self.topology.count(class) as usize
            }
            None => 0..0,
        }
    }

    /// The ways of a unit; of the last, if there are not so many.
    #[inline]
    fn unit(&self, unit: u32) -> &Unit {
        &self.units[(unit as usize).min(self.units.len() - 1)]
    }

    /// The cache of a class that serves a unit.
    fn instance(&self, class: CacheClass, unit: u32) -> Option<u16> {
        let first = self.first[class_index(class)]?;
        let last = self.topology.count(class).saturating_sub(1);
        Some(first + self.topology.instance(class, unit).min(last) as u16)
    }

    /// The way of a client, but for the caches in `skips`.
    fn route(&self, client: Client, unit: u32, skips: &[CacheClass]) -> Route {
        let mut route = Route::default();
        for &class in self.topology.path(client) {
            if !skips.contains(&class)
                && let Some(cache) = self.instance(class, unit)
            {
                route.at[route.len] = cache;
                route.len += 1;
            }
        }
        route
    }
}

/// Place of a class in [`CacheClass::ALL`].
const fn class_index(class: CacheClass) -> usize {
    match class {
        CacheClass::Vector => 0,
        CacheClass::Scalar => 1,
        CacheClass::Instruction => 2,
        CacheClass::Gl1 => 3,
        CacheClass::L2 => 4,
    }
}

#[cfg(test)]
mod tests;
