//! A wave's way through the caches.

use super::record::Head;
use super::stores::Packet;
use super::walk::How;
use super::wide::{Ask, PART, Way, extent};
use super::{Hierarchy, Route};
use crate::access::AccessErrorKind;
use crate::cache::runs as byte_runs;
use crate::coherent::{MissOp, Wrong, runs};
use crate::port::{Access, Atomic, Lanes, Path, Port};
use wavefence_base::{
    AccessKind, Agent, CacheClass, Client, DispatchId, GpuAddress, LaneMask, PassingStore,
};

/// Which wave, and how its dispatch was launched.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WaveContext {
    /// The wave, for records.
    pub agent: Agent,
    /// Its dispatch.
    pub dispatch: DispatchId,
    /// The compute unit it runs on.
    pub unit: u32,
    /// Volatile accesses go past the vector L1/L0
    /// (DISABLE_VOLATILE_VECTOR_L1, design 4.6).
    pub volatile_skips_vector: bool,
    /// Volatile scalar reads go past K$ (DISABLE_VOLATILE_SCALAR_L1).
    pub volatile_skips_scalar: bool,
}

/// A wave's port; made anew for each slice of a wave.
pub struct WavePort<'a> {
    pub(super) h: &'a mut Hierarchy,
    pub(super) wave: WaveContext,
}

impl Hierarchy {
    /// The port of a wave. Memory allocated or freed since is noticed here.
    pub fn port(&mut self, wave: WaveContext) -> WavePort<'_> {
        self.backing.refresh();
        WavePort { h: self, wave }
    }
}

/// What kind of memory a request goes to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Kind {
    pub uncached: bool,
    pub volatile: bool,
}

/// One part of a request: components that share a mask.
struct Part<'a> {
    a: &'a Access,
    base: u64,
    offsets: &'a Lanes,
    mask: LaneMask,
}

impl Part<'_> {
    fn step(&self) -> usize {
        usize::from(self.a.width.min(4))
    }

    fn ask(&self, mask: LaneMask) -> Ask<'_> {
        Ask {
            base: self.base,
            offsets: self.offsets,
            mask,
            step: self.step(),
            extent: extent(self.offsets, mask),
        }
    }
}

impl WavePort<'_> {
    /// Ends a request.
    pub(super) fn finish(&mut self, a: &Access, op: MissOp, bytes: u32, seq: u64, wrong: &Wrong) {
        match op {
            MissOp::Load | MissOp::Scalar | MissOp::Atomic => self.h.waited(),
            MissOp::Store => {}
        }
        if wrong.any() {
            let space = &self.h.backing.space;
            wrong.note(space, &mut self.h.misses, op, a.loc, bytes);
        }
        if self.h.record.on {
            let kind = match op {
                MissOp::Load | MissOp::Scalar => AccessKind::Read,
                MissOp::Store => AccessKind::Write,
                MissOp::Atomic => AccessKind::Atomic,
            };
            let head = self.head(a, kind, seq);
            self.h.record.finish(head);
        }
    }

    fn head(&self, a: &Access, kind: AccessKind, seq: u64) -> Head {
        let client = match (kind, a.path) {
            (AccessKind::Atomic, _) => Client::ShaderAtomic,
            (_, Path::Scalar) => Client::ShaderScalar,
            (_, Path::Vector) => Client::ShaderVector,
        };
        Head {
            seq,
            agent: self.wave.agent,
            client,
            kind,
            coherent: a.coherent,
            volatile: a.volatile,
            loc: a.loc,
        }
    }

    /// What memory `[start, end)` is, if it lies in one segment and may be
    /// accessed so.
    pub(super) fn kind(&mut self, start: u64, end: u64, write: bool) -> Option<Kind> {
        let s = self.h.backing.find(start)?;
        let fits = end >= start && end <= s.end && (s.gpu_write || !write);
        fits.then_some(Kind { uncached: s.uncached, volatile: s.volatile })
    }

    pub(super) fn volatile(&self, a: &Access, kind: Kind) -> bool {
        (a.volatile || kind.volatile) && self.h.rules.marks_volatile
    }

    /// The way of a load.
    fn way(&mut self, a: &Access, kind: Kind) -> Way {
        let unit = self.wave.unit;
        let volatile = self.volatile(a, kind);
        let (client, nearest, skip_volatile) = match a.path {
            Path::Vector => {
                (Client::ShaderVector, CacheClass::Vector, self.wave.volatile_skips_vector)
            }
            Path::Scalar => {
                (Client::ShaderScalar, CacheClass::Scalar, self.wave.volatile_skips_scalar)
            }
        };
        // Vector requests follow the unit's stores; scalar ones take another way.
        let behind = (a.path == Path::Vector).then_some(unit);
        let how = How { volatile, behind };
        let h = &*self.h;
        if !(a.coherent || kind.uncached || volatile && skip_volatile) {
            let ways = h.unit(unit);
            let route = if a.path == Path::Vector { ways.vector } else { ways.scalar };
            return Way { route, past: Route::default(), how, after: None };
        }
        let skipped: &[CacheClass] = if a.coherent && a.path == Path::Vector {
            h.rules.coherent_skips
        } else if volatile && skip_volatile {
            &[nearest]
        } else {
            &[]
        };
        let all = h.route(client, unit, &[CacheClass::L2]);
        let mut past = Route::default();
        for &cache in all.caches() {
            if kind.uncached || skipped.contains(&h.classes[usize::from(cache)]) {
                past.at[past.len] = cache;
                past.len += 1;
            }
        }
        let route = if kind.uncached { Route::default() } else { h.route(client, unit, skipped) };
        Way { route, past, how, after: behind }
    }

    fn load_part(&mut self, part: &Part<'_>, out: &mut [Lanes], wrong: &mut Wrong) {
        out.fill([0; 64]);
        if part.mask.is_empty() {
            return;
        }
        let ask = part.ask(part.mask);
        let bytes = (part.step() * out.len()) as u64;
        let start = part.base.wrapping_add(u64::from(ask.extent.0));
        let end = start.wrapping_add(u64::from(ask.extent.1 - ask.extent.0) + bytes);
        if let Some(kind) = self.kind(start, end, false) {
            self.gather(part.a, kind, &ask, start, end, out);
        } else {
            self.load_apart(part, out, wrong);
        }
    }

    fn gather(
        &mut self,
        a: &Access,
        kind: Kind,
        ask: &Ask<'_>,
        start: u64,
        end: u64,
        out: &mut [Lanes],
    ) {
        let way = self.way(a, kind);
        // Lines that it goes past are dropped.
        let drops = way.past.len > 0 || kind.uncached;
        self.h.trace_lanes(ask, (ask.step * out.len()) as u64, drops);
        self.h.trace_route(&way.route);
        self.h.trace_store_queue(self.wave.unit, false);
        if kind.uncached {
            if let Some(unit) = way.after {
                self.h.land_unit(unit);
            }
            self.h.uncached(start, end - start);
        }
        self.h.gather(&way, ask, out);
    }

    /// Loads whose lanes lie in several segments or miss.
    #[cold]
    fn load_apart(&mut self, part: &Part<'_>, out: &mut [Lanes], wrong: &mut Wrong) {
        let step = part.step() as u64;
        for lane in part.mask.iter() {
            let i = lane as usize;
            let ask = part.ask(LaneMask(1 << lane));
            let start = part.base.wrapping_add(u64::from(part.offsets[i]));
            let end = start.wrapping_add(step * out.len() as u64);
            if let Some(kind) = self.kind(start, end, false) {
                self.gather(part.a, kind, &ask, start, end, out);
                continue;
            }
            for (c, out) in out.iter_mut().enumerate() {
                let at = start.wrapping_add(step * c as u64);
                let mut value = [0; 4];
                self.bytes_of(part.a, at, &mut value[..step as usize], lane, wrong);
                out[i] = u32::from_le_bytes(value);
            }
        }
    }

    /// Reads the bytes that exist, one by one; others are left.
    fn bytes_of(&mut self, a: &Access, at: u64, out: &mut [u8], lane: u32, wrong: &mut Wrong) {
        for (i, byte) in out.iter_mut().enumerate() {
            let here = at.wrapping_add(i as u64);
            match self.kind(here, here.wrapping_add(1), false) {
                Some(kind) => {
                    let way = self.way(a, kind);
                    self.h.trace_bytes(here, 1, way.past.len > 0 || kind.uncached);
                    self.h.trace_route(&way.route);
                    self.h.trace_store_queue(self.wave.unit, false);
                    if let Some(unit) = way.after {
                        self.h.land_unit(unit);
                    }
                    if kind.uncached {
                        self.h.uncached(here, 1);
                    }
                    let byte = std::slice::from_mut(byte);
                    self.h.read_span(&way, here, byte, |_, _| lane as u8);
                }
                None => wrong.add(AccessErrorKind::Unmapped, lane, GpuAddress(at)),
            }
        }
    }

    fn store_part(&mut self, part: &Part<'_>, data: &[Lanes], seq: u64, wrong: &mut Wrong) {
        if part.mask.is_empty() {
            return;
        }
        let ask = part.ask(part.mask);
        let bytes = (part.step() * data.len()) as u64;
        let start = part.base.wrapping_add(u64::from(ask.extent.0));
        let end = start.wrapping_add(u64::from(ask.extent.1 - ask.extent.0) + bytes);
        if let Some(kind) = self.kind(start, end, true) {
            self.send(part.a, kind, &ask, data, seq);
        } else {
            self.store_apart(part, data, seq, wrong);
        }
    }

    /// Sends what lanes write towards L2, all of it to memory of one kind.
    fn send(&mut self, a: &Access, kind: Kind, ask: &Ask<'_>, data: &[Lanes], seq: u64) {
        let wave = self.wave;
        let volatile = self.volatile(a, kind);
        let mut rule = self.h.rules.switches.store_hit.value;
        if a.coherent || kind.uncached || volatile && wave.volatile_skips_vector {
            rule = PassingStore::Drop;
        }
        let own = self.h.unit(wave.unit).vector.at[0];
        let shift = self.h.vector_shift;
        let bytes = (ask.step * data.len()) as u64;
        self.h.trace_lanes(ask, bytes, true);
        self.h.trace_store_queue(wave.unit, false);
        self.h.collect(ask, data, shift, |h, group, base, data| {
            h.pass(usize::from(own), rule, base, group.mask, &data[..1 << shift], seq);
            if h.record.on {
                for (at, len) in byte_runs(group.mask) {
                    let (start, len) = (base + at as u64, len as u64);
                    let lane = ask.lowest(group.lanes, bytes, start, start + len);
                    h.record.touch(start, len, lane, None, 0);
                }
            }
            let packet = Packet {
                base,
                mask: group.mask,
                seq,
                dispatch: wave.dispatch,
                volatile,
                coherent: a.coherent,
                uncached: kind.uncached,
                data: *data,
            };
            h.send(wave.unit, packet);
        });
    }

    /// Stores whose lanes lie in several segments or miss.
    #[cold]
    fn store_apart(&mut self, part: &Part<'_>, data: &[Lanes], seq: u64, wrong: &mut Wrong) {
        let step = part.step() as u64;
        for lane in part.mask.iter() {
            let start = part.base.wrapping_add(u64::from(part.offsets[lane as usize]));
            let end = start.wrapping_add(step * data.len() as u64);
            if let Some(kind) = self.kind(start, end, true) {
                self.send(part.a, kind, &part.ask(LaneMask(1 << lane)), data, seq);
                continue;
            }
            for (c, data) in data.iter().enumerate() {
                let at = start.wrapping_add(step * c as u64);
                for (i, byte) in
                    data[lane as usize].to_le_bytes()[..step as usize].iter().enumerate()
                {
                    let here = at.wrapping_add(i as u64);
                    let Some(kind) = self.kind(here, here.wrapping_add(1), true) else {
                        let there = self.h.backing.find(here).is_some();
                        let kind = if there {
                            AccessErrorKind::ReadOnly
                        } else {
                            AccessErrorKind::Unmapped
                        };
                        wrong.add(kind, lane, GpuAddress(at));
                        continue;
                    };
                    let mut offsets = [0; 64];
                    offsets[lane as usize] = 0;
                    let mask = LaneMask(1 << lane);
                    let ask = Ask { base: here, offsets: &offsets, mask, step: 1, extent: (0, 0) };
                    let mut value = [[0; 64]];
                    value[0][lane as usize] = u32::from(*byte);
                    self.send(part.a, kind, &ask, &value, seq);
                }
            }
        }
    }
}

impl Port for WavePort<'_> {
    fn load(&mut self, a: &Access, offsets: &Lanes, masks: &[LaneMask], out: &mut [Lanes]) {
        let seq = self.h.next_seq();
        let step = u64::from(a.width.min(4));
        let mut wrong = Wrong::default();
        for (first, n, mask) in runs(masks, out.len()) {
            for (i, out) in out[first..first + n].chunks_mut(PART).enumerate() {
                let skip = step * (first + i * PART) as u64;
                let base = a.base.0.wrapping_add(skip);
                self.load_part(&Part { a, base, offsets, mask }, out, &mut wrong);
            }
        }
        self.finish(a, MissOp::Load, step as u32, seq, &wrong);
    }

    fn store(&mut self, a: &Access, offsets: &Lanes, masks: &[LaneMask], data: &[Lanes]) {
        let seq = self.h.next_seq();
        let step = u64::from(a.width.min(4));
        let mut wrong = Wrong::default();
        for (first, n, mask) in runs(masks, data.len()) {
            for (i, data) in data[first..first + n].chunks(PART).enumerate() {
                let skip = step * (first + i * PART) as u64;
                let base = a.base.0.wrapping_add(skip);
                self.store_part(&Part { a, base, offsets, mask }, data, seq, &mut wrong);
            }
        }
        self.finish(a, MissOp::Store, step as u32, seq, &wrong);
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
        let change = |i: usize, was: u64| u64::from(change32(op, was as u32, value[i], compare[i]));
        self.atomic_lanes(a, 4, offsets, mask, change, |i, was| old[i] = was as u32);
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
        let both = |v: &[Lanes; 2], i: usize| u64::from(v[1][i]) << 32 | u64::from(v[0][i]);
        let change = |i: usize, was| change64(op, was, both(value, i), both(compare, i));
        self.atomic_lanes(a, 8, offsets, mask, change, |i, was| {
            old[0][i] = was as u32;
            old[1][i] = (was >> 32) as u32;
        });
    }

    fn scalar(&mut self, address: GpuAddress, out: &mut [u8]) {
        let seq = self.h.next_seq();
        let a = Access {
            base: address,
            len: out.len() as u64,
            path: Path::Scalar,
            width: 4,
            coherent: false,
            volatile: false,
            loc: 0,
        };
        let end = address.0.wrapping_add(out.len() as u64);
        let mut wrong = Wrong::default();
        if let Some(kind) = self.kind(address.0, end, false) {
            let way = self.way(&a, kind);
            let drops = way.past.len > 0 || kind.uncached;
            self.h.trace_bytes(address.0, out.len() as u64, drops);
            self.h.trace_route(&way.route);
            if kind.uncached {
                self.h.uncached(address.0, out.len() as u64);
            }
            self.h.read_span(&way, address.0, out, |_, _| 0);
        } else {
            out.fill(0);
            self.bytes_of(&a, address.0, out, 0, &mut wrong);
        }
        self.finish(&a, MissOp::Scalar, out.len() as u32, seq, &wrong);
    }

    fn watches_group_shared(&self) -> bool {
        self.h.record.on || self.h.trace.on
    }

    fn group_shared(
        &mut self,
        kind: AccessKind,
        offsets: &Lanes,
        mask: LaneMask,
        bytes: u32,
        loc: u32,
    ) {
        self.h.trace_group_shared(kind != AccessKind::Read);
        let seq = self.h.next_seq();
        if self.h.record.on {
            self.h.record.touch_lanes(offsets, mask, bytes);
        }
        self.h.record.finish(Head {
            seq,
            agent: self.wave.agent,
            client: Client::GroupShared,
            kind,
            coherent: false,
            volatile: false,
            loc,
        });
    }

    fn fence(&mut self) {
        let seq = self.h.next_seq();
        self.h.trace_store_queue(self.wave.unit, false);
        self.h.land_unit(self.wave.unit);
        self.h.drop_own(self.wave.unit);
        let head = Head {
            seq,
            agent: self.wave.agent,
            client: Client::ShaderVector,
            kind: AccessKind::Fence,
            coherent: true,
            volatile: false,
            loc: 0,
        };
        self.h.record.finish(head);
    }
}

/// What an atomic makes of a value; `change32` and `change64` say it once for
/// each width.
macro_rules! change {
    ($name:ident, $unsigned:ty, $signed:ty) => {
        fn $name(op: Atomic, was: $unsigned, value: $unsigned, compare: $unsigned) -> $unsigned {
            match op {
                Atomic::Add => was.wrapping_add(value),
                Atomic::Sub => was.wrapping_sub(value),
                Atomic::And => was & value,
                Atomic::Or => was | value,
                Atomic::Xor => was ^ value,
                Atomic::UMin => was.min(value),
                Atomic::UMax => was.max(value),
                Atomic::SMin => (was as $signed).min(value as $signed) as $unsigned,
                Atomic::SMax => (was as $signed).max(value as $signed) as $unsigned,
                Atomic::Exchange => value,
                Atomic::CompareExchange if was == compare => value,
                Atomic::CompareExchange => was,
            }
        }
    };
}
change!(change32, u32, i32);
change!(change64, u64, i64);
