//! Whether two accesses are in order, and whether a read sees a write.

use crate::clock::{Epoch, Snapshot, Stream};
use crate::elements::Elements;
use crate::flushes::{Effect, Flushes, Ran};
use crate::found::Found;
use crate::hash::Quick;
use crate::shadow::{LAUNCH, Record};
use crate::timeline::{Group, Timeline};
use std::collections::HashMap;
use wavefence_base::{AccessKind, CacheClass, Client, DispatchId, GpuAddress, QueueId, Topology};

/// The access that is being judged.
#[derive(Clone, Debug)]
pub(crate) struct Access {
    pub(crate) record: Record,
    pub(crate) know: Snapshot,
    pub(crate) dispatch: Option<DispatchId>,
    /// Caches on its way, the nearest first.
    pub(crate) path: &'static [CacheClass],
    /// Its own record's number.
    pub(crate) number: u32,
    /// It writes a value for waits, or reads one: that is what orders others.
    pub(crate) signal: bool,
}

impl Access {
    /// True if its way ends in L2 rather than in memory.
    fn in_l2(&self) -> bool {
        self.path.contains(&CacheClass::L2)
    }

    /// The queue whose prefetch parser makes the access.
    pub(crate) fn pfp(&self) -> Option<QueueId> {
        if self.record.epoch.stream == Stream::Pfp { self.record.epoch.queue() } else { None }
    }

    /// True where order comes from atomics or coherence.
    fn synchronises(&self) -> bool {
        synchronises(&self.record)
    }
}

pub(crate) fn synchronises(r: &Record) -> bool {
    r.coherent || r.kind == AccessKind::Atomic
}

/// How an earlier piece of work stands to an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    Before,
    /// Its waves have ended, but its stores may be on the way.
    Landing,
    /// No order.
    Not,
}

/// Most caches on a way.
const DEPTH: usize = 3;

/// What stands between the writes of one piece of work and a reader, as numbers of
/// cache actions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reach {
    pub(crate) order: Order,
    /// L2's write-back, if the reader needs one.
    pub(crate) write_back: Option<Option<u32>>,
    /// For each cache on the way: the invalidate after the write,
    plain: [Option<u32>; DEPTH],
    /// and the one after the invalidate of L2.
    after_l2: [Option<u32>; DEPTH],
    credited: [bool; DEPTH],
}

/// A line's state, one entry for each cache on the way.
pub(crate) type Fills = [u32; DEPTH];

/// A cache that may have held old bytes, and the record that filled it.
pub(crate) type Stale = (CacheClass, u32);

/// Who asks: a dispatch by one way, whose answers stay true while it runs.
type Asker = (DispatchId, Client, bool);

/// Everything but the shadow.
#[derive(Clone, Debug)]
pub(crate) struct Judge {
    pub(crate) topology: Topology,
    pub(crate) timeline: Timeline,
    pub(crate) flushes: Flushes,
    pub(crate) elements: Elements,
    pub(crate) found: Found,
    /// Number of the access that is judged now: it counts once for each hazard.
    pub(crate) now: u64,
    reach: HashMap<(Asker, Epoch, bool), Reach, Quick>,
    ordered: HashMap<(DispatchId, Epoch, bool), Order, Quick>,
}

impl Judge {
    pub(crate) fn new(topology: Topology) -> Self {
        Self {
            topology,
            timeline: Timeline::default(),
            flushes: Flushes::default(),
            elements: Elements::default(),
            found: Found::default(),
            now: 0,
            reach: HashMap::default(),
            ordered: HashMap::default(),
        }
    }

    /// Forgets answers for dispatches that have ended.
    pub(crate) fn forget(&mut self, dispatch: DispatchId) {
        if self.reach.len() > 256 {
            self.reach.retain(|((d, _, _), _, _), _| *d > dispatch);
        }
        if self.ordered.len() > 256 {
            self.ordered.retain(|(d, _, _), _| *d > dispatch);
        }
    }

    /// Bytes of a line of a class.
    pub(crate) fn line(&self, class: CacheClass) -> u64 {
        self.topology.shape(class).map_or(64, |s| u64::from(s.line.value))
    }

    /// How work that read (`read`) or wrote stands to an access, and the waits that
    /// made it so.
    pub(crate) fn order(&mut self, prev: Epoch, read: bool, access: &Access) -> Order {
        let key = access.dispatch.map(|d| (d, prev, read));
        if let Some(key) = key
            && let Some(&order) = self.ordered.get(&key)
        {
            return order;
        }
        let mine = access.record.epoch;
        let same = (prev.queue, prev.stream) == (mine.queue, mine.stream);
        let order = if same && prev.stream != Stream::Dispatch && prev.number <= mine.number
            || access.know.landed(prev)
        {
            Order::Before
        } else if access.know.ended(prev) {
            if read { Order::Before } else { Order::Landing }
        } else {
            Order::Not
        };
        if order == Order::Before && prev.stream == Stream::Host {
            self.elements.credit_prefetch(prev, access.pfp(), &access.know);
        } else if order == Order::Before {
            let program = self.timeline.program(prev);
            self.elements.credit_order(prev, program, access.pfp(), &access.know);
        }
        if let Some(key) = key {
            self.ordered.insert(key, order);
        }
        order
    }

    /// What stands between the writes of `writer` and a reader at `at`.
    pub(crate) fn reach(&mut self, writer: &Record, access: &Access, at: GpuAddress) -> Reach {
        let in_l2 = self.topology.writes_to_l2(writer.client);
        let key = access
            .dispatch
            .filter(|_| !self.flushes.ranged())
            .map(|d| ((d, access.record.client, access.record.coherent), writer.epoch, in_l2));
        if let Some(key) = key
            && let Some(&reach) = self.reach.get(&key)
        {
            return reach;
        }
        let order = self.order(writer.epoch, false, access);
        let mut reach = Reach {
            order,
            write_back: None,
            plain: [None; DEPTH],
            after_l2: [None; DEPTH],
            credited: [false; DEPTH],
        };
        if order == Order::Before {
            self.protections(writer.epoch, in_l2, access, at, &mut reach);
        }
        if let Some(key) = key {
            self.reach.insert(key, reach);
        }
        reach
    }

    fn protections(
        &mut self,
        writer: Epoch,
        in_l2: bool,
        access: &Access,
        at: GpuAddress,
        reach: &mut Reach,
    ) {
        let know = &access.know;
        if in_l2 && !access.in_l2() {
            let effect = Effect::WriteBackL2;
            // One that memory has confirmed is as good as an earlier one that it has not.
            let landed = |r: &Ran| r.know.landed(writer);
            let confirmed = |r: &Ran| landed(r) && r.confirmed(know);
            let found = self.flushes.between(effect, at, confirmed, know);
            let found = found.or_else(|| self.flushes.between(effect, at, landed, know));
            if let Some(ran) = found {
                self.elements.credit_flush(&self.flushes, ran, effect);
                self.elements.credit_twin(&self.flushes, ran);
            }
            reach.write_back = Some(found);
        }
        let mut l2 = None;
        for (i, &class) in access.path.iter().enumerate().rev() {
            if class == CacheClass::L2 && in_l2 {
                continue;
            }
            let effect = Effect::Invalidate(class);
            let plain = self.flushes.between(effect, at, |r| r.know.landed(writer), know);
            reach.plain[i] = plain;
            if class == CacheClass::L2 {
                l2 = plain;
            } else if let Some(below) = l2 {
                let below = self.flushes.get(below);
                let (by, same) = (below.by, (below.by.queue, below.by.stream));
                let after = |r: &Ran| {
                    below.before(&r.know)
                        || (r.by.queue, r.by.stream) == same && r.by.number >= by.number
                };
                reach.after_l2[i] = self.flushes.between(effect, at, after, know);
            }
        }
    }

    /// The caches on the way that may have held bytes from before `writer`, given who
    /// may have filled the line; credits the invalidates that prevent it.
    pub(crate) fn stale(
        &mut self,
        records: &[Record],
        writer: &Record,
        access: &Access,
        at: GpuAddress,
        fills: &Fills,
        reach: &Reach,
    ) -> Vec<Stale> {
        let mut missing = Vec::new();
        let in_l2 = self.topology.writes_to_l2(writer.client);
        let mut credited = reach.credited;
        let mut through_l2 = false;
        for (i, &class) in access.path.iter().enumerate().rev() {
            if fills[i] == 0 || class == CacheClass::L2 && in_l2 || reach.credited[i] {
                continue;
            }
            let fill = records[fills[i] as usize];
            if self.fill_knows(&fill, writer) {
                continue;
            }
            let effect = Effect::Invalidate(class);
            let guard = if through_l2 { reach.after_l2[i] } else { reach.plain[i] };
            let guard = guard.or_else(|| {
                if through_l2 { None } else { self.cleaned(effect, at, &fill, writer, access) }
            });
            match guard {
                Some(ran) => {
                    self.elements.credit_flush(&self.flushes, ran, effect);
                    if class == CacheClass::L2 {
                        through_l2 = true;
                    } else {
                        credited[i] = reach.plain[i].is_some() && !through_l2;
                    }
                }
                None => missing.push((class, fills[i])),
            }
        }
        if credited != reach.credited
            && let Some(dispatch) = access.dispatch
        {
            let key = (dispatch, access.record.client, access.record.coherent);
            if let Some(kept) = self.reach.get_mut(&(key, writer.epoch, in_l2)) {
                kept.credited = credited;
            }
        }
        missing
    }

    /// An invalidate that came after the fill and before the write. One that ran while
    /// the writer may have run counts for nothing: what reads the line beside the
    /// writer would bring the old bytes back.
    fn cleaned(
        &self,
        effect: Effect,
        at: GpuAddress,
        fill: &Record,
        writer: &Record,
        access: &Access,
    ) -> Option<u32> {
        let after = |r: &Ran| r.know.ended(fill.epoch);
        match self.timeline.dispatch_of(writer.epoch) {
            Some((_, dispatch)) => self.flushes.between(effect, at, after, &dispatch.know),
            None => self
                .flushes
                .between(effect, at, after, &access.know)
                .filter(|&ran| self.flushes.get(ran).seq < writer.seq),
        }
    }

    /// True if a fill cannot be older than the write.
    pub(crate) fn fill_knows(&self, fill: &Record, writer: &Record) -> bool {
        if fill.epoch == writer.epoch && fill.epoch.stream == Stream::Dispatch {
            // A compute unit's own caches keep what its group stores.
            return fill.launch == writer.launch
                && (fill.wave == writer.wave && fill.seq > writer.seq
                    || fill.barriers > writer.barriers);
        }
        match self.timeline.dispatch_of(fill.epoch) {
            Some((_, dispatch)) => dispatch.know.landed(writer.epoch),
            None => fill.seq > writer.seq,
        }
    }

    /// How far a group is in order with others of its dispatch.
    pub(crate) fn group(&mut self, dispatch: DispatchId, launch: u32) -> Option<&mut Group> {
        let dispatch = self.timeline.dispatches.get_mut(dispatch.index())?;
        Some(dispatch.groups.entry(launch).or_default())
    }

    fn group_of(&self, dispatch: DispatchId, launch: u32) -> Group {
        let dispatch = self.timeline.dispatch(dispatch);
        dispatch.and_then(|d| d.groups.get(&launch)).copied().unwrap_or_default()
    }

    /// How two accesses of one dispatch stand; the second is the one judged.
    pub(crate) fn inside(&self, prev: &Record, access: &Access) -> Inside {
        let now = &access.record;
        // What the launch reads, it reads before its waves run.
        if prev.launch == LAUNCH || now.launch == LAUNCH {
            return Inside::Ordered;
        }
        if prev.launch == now.launch {
            let ordered = prev.wave == now.wave || prev.barriers < now.barriers;
            let atomics = synchronises(prev) && access.synchronises();
            if !ordered && !atomics {
                return Inside::Waves;
            }
            // In WGP mode the two may sit on units with caches of their own.
            let apart = self.topology.units_per_group > 1 && prev.wave != now.wave;
            if atomics || !apart || now.kind != AccessKind::Read || access.synchronises() {
                return Inside::Ordered;
            }
            let fence = access.dispatch.map_or(0, |d| self.group_of(d, now.launch).fence);
            return if fence > prev.seq { Inside::Ordered } else { Inside::NotDropped };
        }
        if synchronises(prev) && access.synchronises() {
            return Inside::Ordered;
        }
        let Some(dispatch) = access.dispatch else { return Inside::Ordered };
        let (theirs, mine) =
            (self.group_of(dispatch, prev.launch), self.group_of(dispatch, now.launch));
        if theirs.released > prev.seq && mine.acquired > prev.seq {
            return if mine.fence > prev.seq || access.synchronises() {
                Inside::Ordered
            } else {
                Inside::NotDropped
            };
        }
        Inside::Groups
    }
}

/// How two accesses of one dispatch stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Inside {
    Ordered,
    /// Two waves of a group with no barrier between.
    Waves,
    /// Two groups.
    Groups,
    /// In order, but the reader's own caches were not dropped.
    NotDropped,
}
