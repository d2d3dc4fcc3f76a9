//! Stores that have left a compute unit and that L2 has not taken yet.

use super::Hierarchy;
use crate::cache::{ByteMask, MAX_LINE, NOBODY, copy_masked, span};
use std::collections::VecDeque;
use wavefence_base::{DispatchId, PassingStore};

/// Which stores arrive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Land {
    /// Those of a compute unit.
    Unit(u32),
    /// Those of a dispatch, and what left the same units before them.
    Dispatch(DispatchId),
    /// All.
    All,
}

/// Bytes of one line, from one unit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Packet {
    /// First byte of the line.
    pub base: u64,
    pub mask: ByteMask,
    pub seq: u64,
    pub dispatch: DispatchId,
    pub volatile: bool,
    /// Past the caches that other units do not share.
    pub coherent: bool,
    /// To memory that caches do not keep.
    pub uncached: bool,
    pub data: [u8; MAX_LINE],
}

/// Bits of an address that name a place in the filter: 128-byte blocks.
const BLOCK: u32 = 7;
const FILTER: usize = 1024;

/// The queues of all units.
#[derive(Clone, Debug)]
pub(super) struct Stores {
    queues: Vec<VecDeque<Packet>>,
    /// Units whose queue is not empty.
    busy: Vec<u32>,
    /// Packets per 128-byte block, by its low bits.
    filter: Vec<u16>,
    total: usize,
}

impl Stores {
    pub fn new(units: u32) -> Self {
        Self {
            queues: (0..units.max(1)).map(|_| VecDeque::new()).collect(),
            busy: Vec::new(),
            filter: Vec::new(),
            total: 0,
        }
    }

    pub fn clear(&mut self) {
        while let Some(&unit) = self.busy.first() {
            while self.pop(unit).is_some() {}
        }
    }

    /// Becomes what `saved` is; costs what is on its way in either.
    pub fn restore(&mut self, saved: &Self) {
        self.clear();
        for &unit in &saved.busy {
            for packet in &saved.queues[unit as usize] {
                self.filter[Self::block(packet.base)] += 1;
                self.queues[unit as usize].push_back(*packet);
            }
            self.busy.push(unit);
        }
        self.total = saved.total;
    }

    fn block(base: u64) -> usize {
        (base >> BLOCK) as usize & (FILTER - 1)
    }

    fn queue(&self, unit: u32) -> usize {
        (unit as usize).min(self.queues.len() - 1)
    }

    pub fn none(&self) -> bool {
        self.total == 0
    }

    pub fn is_idle(&self, unit: u32) -> bool {
        self.total == 0 || self.queues[self.queue(unit)].is_empty()
    }

    pub fn len(&self, unit: u32) -> usize {
        self.queues[self.queue(unit)].len()
    }

    pub fn push(&mut self, unit: u32, packet: Packet) {
        if self.filter.is_empty() {
            self.filter = vec![0; FILTER];
        }
        let queue = self.queue(unit);
        if let Some(last) = self.queues[queue].back_mut()
            && last.base == packet.base
            && last.dispatch == packet.dispatch
            && (last.volatile, last.coherent, last.uncached)
                == (packet.volatile, packet.coherent, packet.uncached)
            && last.seq == packet.seq
        {
            copy_masked(&mut last.data, packet.mask, &packet.data);
            last.mask |= packet.mask;
            return;
        }
        if self.queues[queue].is_empty() {
            self.busy.push(queue as u32);
        }
        self.filter[Self::block(packet.base)] += 1;
        self.queues[queue].push_back(packet);
        self.total += 1;
    }

    fn pop(&mut self, unit: u32) -> Option<Packet> {
        let queue = self.queue(unit);
        let packet = self.queues[queue].pop_front()?;
        self.filter[Self::block(packet.base)] -= 1;
        self.total -= 1;
        if self.queues[queue].is_empty() {
            self.busy.retain(|&u| u as usize != queue);
        }
        Some(packet)
    }

    /// Units with stores on their way that were made after access `seq`.
    pub fn units_since(&self, seq: u64) -> Vec<u32> {
        let young = |unit: &&u32| self.queues[**unit as usize].iter().any(|p| p.seq > seq);
        self.busy.iter().filter(young).copied().collect()
    }

    pub fn in_flight(&self, dispatch: Option<DispatchId>) -> bool {
        match dispatch {
            None => self.total > 0,
            Some(d) => {
                self.busy.iter().any(|&u| self.queues[u as usize].iter().any(|p| p.dispatch == d))
            }
        }
    }

    /// Lowers the stamps of the dwords at `base` to before the oldest store that
    /// is still on its way there. Dwords of `stored` have their stamp from a store
    /// themselves; an older one still on its way is not missing there yet.
    pub fn lower(&self, base: u64, stamps: &mut [u64], stored: ByteMask) {
        if self.total == 0 {
            return;
        }
        let end = base + 4 * stamps.len() as u64;
        let last = end.saturating_sub(1) >> BLOCK;
        let mut blocks = base >> BLOCK..=last;
        if blocks.all(|b| self.filter[b as usize & (FILTER - 1)] == 0) {
            return;
        }
        for &unit in &self.busy {
            for p in &self.queues[unit as usize] {
                if p.base >= end || p.base + MAX_LINE as u64 <= base {
                    continue;
                }
                for (i, stamp) in stamps.iter_mut().enumerate() {
                    let at = base + 4 * i as u64;
                    let there = at
                        .checked_sub(p.base)
                        .is_some_and(|at| at < 128 && p.mask & span(at as u32, 4) != 0);
                    let overtaken = stored >> (4 * i) & 0xF != 0 && p.seq < *stamp;
                    if there && !overtaken {
                        *stamp = (*stamp).min(p.seq.saturating_sub(1));
                    }
                }
            }
        }
    }
}

impl Hierarchy {
    /// Lets stores arrive in L2.
    pub fn land(&mut self, which: Land) {
        self.backing.refresh();
        match which {
            Land::Unit(unit) => {
                self.trace_store_queue(unit, false);
                self.land_unit(unit);
            }
            Land::All => {
                while let Some(&unit) = self.stores.busy.first() {
                    self.land_unit(unit);
                }
            }
            Land::Dispatch(dispatch) => {
                for unit in self.stores.busy.clone() {
                    let queue = &self.stores.queues[unit as usize];
                    let last = queue.iter().rposition(|p| p.dispatch == dispatch);
                    for _ in 0..last.map_or(0, |last| last + 1) {
                        self.land_oldest(unit);
                    }
                }
            }
        }
    }

    /// Lets the stores of one unit arrive, in order.
    #[inline]
    pub(super) fn land_unit(&mut self, unit: u32) {
        if !self.stores.is_idle(unit) {
            while self.land_oldest(unit) {}
        }
    }

    /// Sends a store on its way.
    pub(super) fn send(&mut self, unit: u32, packet: Packet) {
        self.stores.push(unit, packet);
        let most = self.rules.switches.stores_in_flight.value.max(1) as usize;
        while self.stores.len(unit) > most {
            self.land_oldest(unit);
        }
    }

    fn land_oldest(&mut self, unit: u32) -> bool {
        let Some(p) = self.stores.pop(unit) else { return false };
        self.trace_landing(unit, p.base, p.seq);
        let line = 1 << self.vector_shift;
        let data = &p.data[..line];
        // It passes the caches between the unit's own and L2.
        let route = self.unit(unit).between;
        self.trace_route(&route);
        let mut rule = self.rules.switches.passing_store.value;
        if p.coherent || p.uncached {
            rule = PassingStore::Drop;
        }
        for &cache in route.caches() {
            self.pass(usize::from(cache), rule, p.base, p.mask, data, p.seq);
        }
        if p.uncached {
            self.uncached(p.base, line as u64);
            self.traffic.memory_bytes += line as u64;
            self.backing.write_back(p.base, data, p.mask);
        } else {
            self.writing = p.dispatch.0;
            self.write_l2(p.base, p.mask, data, p.seq, p.volatile);
            self.writing = NOBODY;
        }
        true
    }
}
