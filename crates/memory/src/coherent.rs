//! A [`Port`] straight into the address space: one coherent store, no caches.

use crate::access::{AccessError, AccessErrorKind};
use crate::port::{Access, Atomic, Lanes, Port};
use crate::space::{AddressSpace, Segment, Side, Snapshot};
use crate::store::Window;
use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};
use wavefence_base::{GpuAddress, LaneMask};

/// What kind of request missed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum MissOp {
    /// A vector load; it gave 0.
    Load,
    /// A store; it was dropped.
    Store,
    /// An atomic; it did nothing and gave 0.
    Atomic,
    /// A scalar read; it gave 0.
    Scalar,
}

/// Lanes that touched what they may not, since the records were last taken.
/// Requests from the same source line with the same kind and op share a record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MissRecord {
    /// What kind of request.
    pub op: MissOp,
    /// What was wrong.
    pub kind: AccessErrorKind,
    /// Source line index of the first request.
    pub loc: u32,
    /// Lanes of the first request; lane 0 alone for scalar reads.
    pub lanes: LaneMask,
    /// Where the lowest of those lanes went.
    pub address: GpuAddress,
    /// Bytes of the component that it touched.
    pub bytes: u32,
    /// Lanes of all requests together.
    pub count: u64,
}

impl MissRecord {
    /// The record as an error that names what lies there.
    pub fn error(&self, space: &AddressSpace) -> AccessError {
        AccessError {
            kind: self.kind,
            write: matches!(self.op, MissOp::Store | MissOp::Atomic),
            address: self.address,
            len: u64::from(self.bytes),
            at: self.address,
            nearest: space.nearest(self.address).map(Box::new),
        }
    }
}

/// A wave's way into one coherent store. Each host thread has its own; they share
/// the bytes.
///
/// It reads a snapshot of the allocation table without locks, and looks for a
/// newer one when an access misses; call [`Self::refresh`] between dispatches, so
/// that memory freed meanwhile is noticed.
pub struct CoherentPort {
    space: Arc<AddressSpace>,
    table: Arc<Snapshot>,
    /// Segments hit last, one per kind of use: most waves go back and forth
    /// between few buffers.
    recent: [usize; RECENT],
    misses: Vec<MissRecord>,
}

const RECENT: usize = 4;

impl CoherentPort {
    /// A port into `space` as it is now.
    pub fn new(space: Arc<AddressSpace>) -> Self {
        let table = space.snapshot();
        Self { space, table, recent: [0; RECENT], misses: Vec::new() }
    }

    /// The space it goes into.
    pub fn space(&self) -> &Arc<AddressSpace> {
        &self.space
    }

    /// Takes up allocations and frees made since. True if there were any.
    pub fn refresh(&mut self) -> bool {
        if self.table.epoch == self.space.epoch() {
            return false;
        }
        self.table = self.space.snapshot();
        self.recent = [0; RECENT];
        true
    }

    /// True if there are records to take.
    pub fn has_misses(&self) -> bool {
        !self.misses.is_empty()
    }

    /// The records since the last call, in the order of their first request.
    pub fn take_misses(&mut self) -> Vec<MissRecord> {
        std::mem::take(&mut self.misses)
    }

    /// The segment that holds `address`.
    fn find(&mut self, address: GpuAddress) -> Option<&Segment> {
        for index in self.recent {
            if self.table.segments.get(index).is_some_and(|s| s.holds(address.0)) {
                return self.table.segments.get(index);
            }
        }
        let mut found = self.table.index(address);
        if found.is_none() && self.refresh() {
            found = self.table.index(address);
        }
        let index = found?;
        self.recent.rotate_right(1);
        self.recent[0] = index;
        self.table.segments.get(index)
    }

    /// Calls `piece` for the parts of `bytes` bytes at `address` that may be
    /// touched; says what was wrong with the first part that may not.
    fn each_piece(
        &mut self,
        address: GpuAddress,
        bytes: u64,
        write: bool,
        mut piece: impl FnMut(u64, u64, &Segment),
    ) -> Option<AccessErrorKind> {
        // Looks for a newer table if this one knows nothing there.
        self.find(address);
        let mut wrong = None;
        self.table.pieces(address, bytes, |at, n, segment| {
            match segment {
                None => wrong = wrong.or(Some(AccessErrorKind::Unmapped)),
                Some(s) if write && !s.gpu_write => {
                    wrong = wrong.or(Some(AccessErrorKind::ReadOnly));
                }
                Some(s) => piece(at, n, s),
            }
            true
        });
        wrong
    }

    /// Runs `part` on the segments that the lanes fall into, most often one:
    /// with the bytes from some address on, the lanes' offsets from there, and
    /// the lanes to try; it gives back those that do not fit. Gives the lanes
    /// that lie wholly in no segment or may not write there.
    fn route(
        &mut self,
        base: GpuAddress,
        offsets: &Lanes,
        mask: LaneMask,
        write: bool,
        mut part: impl FnMut(Window<'_>, &Lanes, LaneMask) -> LaneMask,
    ) -> LaneMask {
        let mut left = mask;
        if let Some(segment) = self.find(base)
            && (segment.gpu_write || !write)
        {
            left = part(segment.window(base.0), offsets, mask);
        }
        let mut bad = LaneMask::EMPTY;
        while let Some(lane) = left.lowest() {
            let address = base.offset(u64::from(offsets[lane as usize]));
            let mut tried = LaneMask(1 << lane);
            match self.find(address) {
                Some(segment) if segment.gpu_write || !write => {
                    let mut moved = [0; 64];
                    for other in left.iter() {
                        let there = base.offset(u64::from(offsets[other as usize])).0;
                        let from = there.wrapping_sub(segment.start);
                        if segment.holds(there)
                            && let Ok(from) = u32::try_from(from)
                        {
                            moved[other as usize] = from;
                            tried.0 |= 1 << other;
                        }
                    }
                    // Of a segment above 4 GiB the first lane may be too far in.
                    if address.0 - segment.start > u64::from(u32::MAX) {
                        bad = bad | tried;
                    } else {
                        bad = bad | part(segment.window(segment.start), &moved, tried);
                    }
                }
                Some(_) | None => bad = bad | tried,
            }
            left = left & !tried;
        }
        bad
    }

    /// Keeps what was wrong with the lanes of one request.
    fn note(&mut self, op: MissOp, loc: u32, bytes: u32, wrong: &Wrong) {
        wrong.note(&self.space, &mut self.misses, op, loc, bytes);
    }
}

/// What was wrong in one request: per kind the lanes and the first address.
#[derive(Default)]
pub(crate) struct Wrong {
    found: [Option<(AccessErrorKind, LaneMask, GpuAddress)>; 2],
}

impl Wrong {
    /// True if something was.
    #[inline]
    pub(crate) fn any(&self) -> bool {
        self.found[0].is_some()
    }

    /// Adds it to what is known already.
    pub(crate) fn note(
        &self,
        space: &AddressSpace,
        misses: &mut Vec<MissRecord>,
        op: MissOp,
        loc: u32,
        bytes: u32,
    ) {
        for (kind, lanes, address) in self.found.into_iter().flatten() {
            let freed = kind == AccessErrorKind::Unmapped && was_freed(space, address);
            let kind = if freed { AccessErrorKind::Freed } else { kind };
            let same = |m: &&mut MissRecord| m.op == op && m.kind == kind && m.loc == loc;
            let count = u64::from(lanes.count());
            match misses.iter_mut().find(same) {
                Some(m) => m.count += count,
                None => {
                    misses.push(MissRecord { op, kind, loc, lanes, address, bytes, count });
                }
            }
        }
    }

    pub(crate) fn add(&mut self, kind: AccessErrorKind, lane: u32, address: GpuAddress) {
        let bit = 1 << lane;
        for slot in &mut self.found {
            match slot {
                Some((k, lanes, _)) if *k == kind => {
                    lanes.0 |= bit;
                    return;
                }
                Some(_) => {}
                None => {
                    *slot = Some((kind, LaneMask(bit), address));
                    return;
                }
            }
        }
    }
}

fn was_freed(space: &AddressSpace, address: GpuAddress) -> bool {
    space
        .nearest(address)
        .is_some_and(|n| n.allocation.freed.is_some() && matches!(n.side, Side::Inside(_)))
}

/// Components that share a mask: the run's first index, its length, the mask.
pub(crate) fn runs(
    masks: &[LaneMask],
    components: usize,
) -> impl Iterator<Item = (usize, usize, LaneMask)> {
    // 8-byte components are two entries each, with one mask or two.
    let per = if masks.is_empty() { 1 } else { (components / masks.len()).max(1) };
    let mut next = 0;
    std::iter::from_fn(move || {
        let mask = *masks.get(next / per)?;
        let first = next;
        while next < components && masks.get(next / per) == Some(&mask) {
            next += 1;
        }
        (next > first).then_some((first, next - first, mask))
    })
}

/// The mask that all components share.
#[inline]
pub(crate) fn same(masks: &[LaneMask]) -> Option<LaneMask> {
    let (&first, rest) = masks.split_first()?;
    rest.iter().all(|&m| m == first).then_some(first)
}

impl Port for CoherentPort {
    fn load(&mut self, a: &Access, offsets: &Lanes, masks: &[LaneMask], out: &mut [Lanes]) {
        // Nearly always all lanes fall into one segment.
        if let Some(mask) = same(masks)
            && let Some(segment) = self.find(a.base)
            && segment.window(a.base.0).load_wave(a.width, offsets, mask, out).is_empty()
        {
            return;
        }
        self.load_apart(a, offsets, masks, out);
    }

    fn store(&mut self, a: &Access, offsets: &Lanes, masks: &[LaneMask], data: &[Lanes]) {
        if let Some(mask) = same(masks)
            && let Some(segment) = self.find(a.base)
            && segment.gpu_write
        {
            let missed = segment.window(a.base.0).store_wave(a.width, offsets, mask, data);
            if !missed.is_empty() {
                // Those lanes alone: another thread may have seen the rest and
                // written over it.
                self.store_apart(a, offsets, &vec![missed; masks.len()], data);
            }
            return;
        }
        self.store_apart(a, offsets, masks, data);
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
        let (base, words) = aligned(a.base, offsets, 4);
        let bad = self.route(base, &words, mask, true, |window, offsets, lanes| {
            window.atomic_wave(op, offsets, lanes, value, compare, old)
        });
        self.atomic_apart(a, base, &words, bad, 4, |window, i| {
            old[i] = 0;
            if let Some(v) = window.and_then(|w| w.atomic_u32(op, 0, value[i], compare[i])) {
                old[i] = v;
            }
        });
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
        let (base, words) = aligned(a.base, offsets, 8);
        let bad = self.route(base, &words, mask, true, |window, offsets, lanes| {
            window.atomic_wave64(op, offsets, lanes, value, compare, old)
        });
        self.atomic_apart(a, base, &words, bad, 8, |window, i| {
            let at = |pair: &[Lanes; 2]| u64::from(pair[1][i]) << 32 | u64::from(pair[0][i]);
            let before = window.and_then(|w| w.atomic_u64(op, 0, at(value), at(compare)));
            let before = before.unwrap_or(0);
            [old[0][i], old[1][i]] = [before as u32, (before >> 32) as u32];
        });
    }

    fn scalar(&mut self, address: GpuAddress, out: &mut [u8]) {
        let len = out.len();
        if let Some(segment) = self.find(address)
            && segment.window(address.0).read(0, out)
        {
            return;
        }
        out.fill(0);
        let kind = self.each_piece(address, len as u64, false, |at, n, segment| {
            let window = segment.window(address.0.wrapping_add(at));
            window.read(0, &mut out[at as usize..(at + n) as usize]);
        });
        let mut wrong = Wrong::default();
        if let Some(kind) = kind {
            wrong.add(kind, 0, address);
        }
        self.note(MissOp::Scalar, 0, len as u32, &wrong);
    }

    fn fence(&mut self) {
        fence(Ordering::SeqCst);
    }
}

/// A base and offsets from it that are multiples of `bytes`, a power of two: the
/// low bits of an address are not looked at.
fn aligned(base: GpuAddress, offsets: &Lanes, bytes: u32) -> (GpuAddress, Lanes) {
    let low = bytes - 1;
    let slip = base.0 as u32 & low;
    let moved = std::array::from_fn(|i| offsets[i].saturating_add(slip) & !low);
    (GpuAddress(base.0 & !u64::from(low)), moved)
}

impl CoherentPort {
    /// Atomics of lanes that lie wholly in no segment, or may not write there.
    /// `one` gets the bytes from a lane's address on, or nothing where the lane
    /// may not write, and the lane.
    fn atomic_apart(
        &mut self,
        a: &Access,
        base: GpuAddress,
        offsets: &Lanes,
        lanes: LaneMask,
        bytes: u32,
        mut one: impl FnMut(Option<Window<'_>>, usize),
    ) {
        let mut wrong = Wrong::default();
        for lane in lanes.iter() {
            let i = lane as usize;
            let address = base.offset(u64::from(offsets[i]));
            one(None, i);
            let kind = self.each_piece(address, bytes.into(), true, |at, _, segment| {
                // A word cut by the end of an allocation is not written at all.
                if at == 0 {
                    one(Some(segment.window(address.0)), i);
                }
            });
            if let Some(kind) = kind {
                wrong.add(kind, lane, address);
            }
        }
        self.note(MissOp::Atomic, a.loc, bytes, &wrong);
    }

    /// Loads whose lanes have different masks, lie in several segments, or miss.
    #[cold]
    fn load_apart(&mut self, a: &Access, offsets: &Lanes, masks: &[LaneMask], out: &mut [Lanes]) {
        let step = u64::from(a.width.min(4));
        let components = out.len();
        for (first, n, mask) in runs(masks, components) {
            let out = &mut out[first..first + n];
            let base = a.base.offset(step * first as u64);
            let mut fresh = true;
            let bad = self.route(base, offsets, mask, false, |window, offsets, lanes| {
                if std::mem::take(&mut fresh) {
                    return window.load_wave(a.width, offsets, lanes, out);
                }
                let mut more = vec![[0; 64]; n];
                let missed = window.load_wave(a.width, offsets, lanes, &mut more);
                for (to, from) in out.iter_mut().zip(&more) {
                    for lane in lanes.iter() {
                        to[lane as usize] = from[lane as usize];
                    }
                }
                missed
            });
            if fresh {
                out.fill([0; 64]);
            }
            if !bad.is_empty() {
                self.load_each(a, base, offsets, bad, out);
            }
        }
    }

    /// As [`Self::load_apart`].
    #[cold]
    fn store_apart(&mut self, a: &Access, offsets: &Lanes, masks: &[LaneMask], data: &[Lanes]) {
        let step = u64::from(a.width.min(4));
        for (first, n, mask) in runs(masks, data.len()) {
            let data = &data[first..first + n];
            let base = a.base.offset(step * first as u64);
            let bad = self.route(base, offsets, mask, true, |window, offsets, lanes| {
                window.store_wave(a.width, offsets, lanes, data)
            });
            if !bad.is_empty() {
                self.store_each(a, base, offsets, bad, data);
            }
        }
    }

    /// Loads lanes one component at a time: those at the edges of allocations.
    fn load_each(
        &mut self,
        a: &Access,
        base: GpuAddress,
        offsets: &Lanes,
        lanes: LaneMask,
        out: &mut [Lanes],
    ) {
        let step = u32::from(a.width.min(4));
        let mut wrong = Wrong::default();
        for lane in lanes.iter() {
            for (c, out) in out.iter_mut().enumerate() {
                let at = u64::from(offsets[lane as usize]) + u64::from(step) * c as u64;
                let address = base.offset(at);
                let mut value = [0; 4];
                let kind = self.each_piece(address, step.into(), false, |at, n, segment| {
                    let window = segment.window(address.0.wrapping_add(at));
                    window.read(0, &mut value[at as usize..(at + n) as usize]);
                });
                out[lane as usize] = u32::from_le_bytes(value);
                if let Some(kind) = kind {
                    wrong.add(kind, lane, address);
                }
            }
        }
        self.note(MissOp::Load, a.loc, step, &wrong);
    }

    /// Stores lanes one component at a time.
    fn store_each(
        &mut self,
        a: &Access,
        base: GpuAddress,
        offsets: &Lanes,
        lanes: LaneMask,
        data: &[Lanes],
    ) {
        let step = u32::from(a.width.min(4));
        let mut wrong = Wrong::default();
        for lane in lanes.iter() {
            for (c, data) in data.iter().enumerate() {
                let at = u64::from(offsets[lane as usize]) + u64::from(step) * c as u64;
                let address = base.offset(at);
                let value = data[lane as usize].to_le_bytes();
                let kind = self.each_piece(address, step.into(), true, |at, n, segment| {
                    let window = segment.window(address.0.wrapping_add(at));
                    window.write(0, &value[at as usize..(at + n) as usize]);
                });
                if let Some(kind) = kind {
                    wrong.add(kind, lane, address);
                }
            }
        }
        self.note(MissOp::Store, a.loc, step, &wrong);
    }
}

#[cfg(test)]
mod tests;
