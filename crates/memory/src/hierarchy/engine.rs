//! Access by address, for engines, instruction fetch and the host.

use super::record::Head;
use super::walk::How;
use super::wide::Way;
use super::{Hierarchy, Route};
use crate::access::{AccessError, AccessErrorKind, Bus};
use crate::cache::{MAX_LINE, copy_masked, span};
use wavefence_base::{AccessKind, Agent, CacheClass, Client, GpuAddress};

/// Who accesses, and by which path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Requester {
    /// On whose behalf.
    pub agent: Agent,
    /// Which path.
    pub client: Client,
    /// The compute unit whose caches serve it; 0 where the path has none.
    pub unit: u32,
}

/// Bytes moved at once.
const CHUNK: u64 = 4096;

impl Hierarchy {
    /// The bus that knows who may do what.
    fn bus(&self, client: Client) -> Bus<'_> {
        if client == Client::Host { self.backing.space.host() } else { self.backing.space.gpu() }
    }

    fn finish(&mut self, who: Requester, kind: AccessKind, seq: u64) {
        let Requester { agent, client, .. } = who;
        let head = Head { seq, agent, client, kind, coherent: false, volatile: false, loc: 0 };
        self.record.finish(head);
    }

    /// Reads bytes.
    ///
    /// # Errors
    /// If they do not all live; `out` is unchanged.
    pub fn read(
        &mut self,
        who: Requester,
        at: GpuAddress,
        out: &mut [u8],
    ) -> Result<(), AccessError> {
        self.bus(who.client).verify(at, out.len() as u64, false)?;
        self.backing.refresh();
        let seq = self.next_seq();
        self.get(who, at.0, out);
        self.finish(who, AccessKind::Read, seq);
        Ok(())
    }

    /// Writes bytes. Those of a client of L2 are there at once.
    ///
    /// # Errors
    /// If the bytes do not all live or may not be written; none was.
    pub fn write(
        &mut self,
        who: Requester,
        at: GpuAddress,
        data: &[u8],
    ) -> Result<(), AccessError> {
        self.bus(who.client).verify(at, data.len() as u64, true)?;
        self.backing.refresh();
        let seq = self.next_seq();
        self.put(who, at.0, data, seq)?;
        self.touch_write(at.0, data.len() as u64);
        self.finish(who, AccessKind::Write, seq);
        Ok(())
    }

    /// A value of 4 or 8 bytes.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn read_value(
        &mut self,
        who: Requester,
        at: GpuAddress,
        bytes: u8,
    ) -> Result<u64, AccessError> {
        let mut value = [0; 8];
        self.read(who, at, &mut value[..usize::from(bytes.min(8))])?;
        Ok(u64::from_le_bytes(value))
    }

    /// Writes a value of 4 or 8 bytes.
    ///
    /// # Errors
    /// As [`Self::write`].
    pub fn write_value(
        &mut self,
        who: Requester,
        at: GpuAddress,
        value: u64,
        bytes: u8,
    ) -> Result<(), AccessError> {
        self.write(who, at, &value.to_le_bytes()[..usize::from(bytes.min(8))])
    }

    /// Read-modify-write of 4 or 8 bytes where the client's writes go; gives the
    /// old value.
    ///
    /// # Errors
    /// As [`Self::write`], or if the address is no multiple of the size.
    pub fn update(
        &mut self,
        who: Requester,
        at: GpuAddress,
        bytes: u8,
        change: impl FnOnce(u64) -> u64,
    ) -> Result<u64, AccessError> {
        let bus = self.bus(who.client);
        bus.verify(at, u64::from(bytes), true)?;
        if !at.0.is_multiple_of(u64::from(bytes)) {
            return Err(bus.error(AccessErrorKind::Misaligned, true, at, u64::from(bytes), at));
        }
        self.backing.refresh();
        self.trace_bytes(at.0, u64::from(bytes), true);
        let seq = self.next_seq();
        let uncached = self.is_uncached(at.0);
        let old = if self.topology.writes_to_l2(who.client) && !uncached {
            self.change_l2(at.0, u32::from(bytes), 0, false, change)
        } else {
            if uncached {
                self.uncached(at.0, u64::from(bytes));
            }
            self.change_memory(at.0, u32::from(bytes), 0, change)
        };
        self.finish(who, AccessKind::Atomic, seq);
        Ok(old)
    }

    /// Copies `len` bytes from one client's side to another's, as if through a
    /// buffer where the two overlap. Two records: the read, then the write.
    ///
    /// # Errors
    /// As [`Self::read`] for the source and [`Self::write`] for the destination.
    pub fn copy(
        &mut self,
        source: Requester,
        from: GpuAddress,
        destination: Requester,
        to: GpuAddress,
        len: u64,
    ) -> Result<(), AccessError> {
        self.bus(source.client).verify(from, len, false)?;
        self.bus(destination.client).verify(to, len, true)?;
        self.backing.refresh();
        let read = self.next_seq();
        let chunks = len.div_ceil(CHUNK);
        let mut buffer = [0; CHUNK as usize];
        for i in 0..chunks {
            let at = CHUNK * if to > from { chunks - 1 - i } else { i };
            let part = &mut buffer[..CHUNK.min(len - at) as usize];
            self.get(source, from.0 + at, part);
            self.put(destination, to.0 + at, part, read + 1)?;
        }
        self.finish(source, AccessKind::Read, read);
        let write = self.next_seq();
        self.touch_write(to.0, len);
        self.finish(destination, AccessKind::Write, write);
        Ok(())
    }

    /// Writes `value` over and over for `len` bytes, its lowest byte first.
    ///
    /// # Errors
    /// As [`Self::write`].
    pub fn fill(
        &mut self,
        who: Requester,
        at: GpuAddress,
        len: u64,
        value: u32,
    ) -> Result<(), AccessError> {
        self.bus(who.client).verify(at, len, true)?;
        self.backing.refresh();
        let seq = self.next_seq();
        let mut buffer = [0; CHUNK as usize];
        for four in buffer.chunks_exact_mut(4) {
            four.copy_from_slice(&value.to_le_bytes());
        }
        let mut done = 0;
        while done < len {
            let n = CHUNK.min(len - done);
            self.put(who, at.0 + done, &buffer[..n as usize], seq)?;
            done += n;
        }
        self.touch_write(at.0, len);
        self.finish(who, AccessKind::Write, seq);
        Ok(())
    }

    /// What a read would give, without reading: no line is filled, nothing is
    /// recorded, no number taken.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn peek(
        &mut self,
        who: Requester,
        at: GpuAddress,
        out: &mut [u8],
    ) -> Result<(), AccessError> {
        self.bus(who.client).verify(at, out.len() as u64, false)?;
        self.backing.refresh();
        self.trace_bytes(at.0, out.len() as u64, false);
        self.backing.fetch(at.0, out);
        if self.is_uncached(at.0) {
            return Ok(());
        }
        let route = self.route(who.client, who.unit, &[]);
        self.trace_route(&route);
        for &cache in route.caches().iter().rev() {
            let cache = &mut self.caches[usize::from(cache)];
            let mut done = 0;
            while done < out.len() {
                let address = at.0 + done as u64;
                let within = address as usize & (cache.line_bytes() - 1);
                let n = (cache.line_bytes() - within).min(out.len() - done);
                if let Some(slot) = cache.peek(address >> cache.shift()) {
                    let valid = cache.line(slot).valid >> within & span(0, n as u32);
                    copy_masked(&mut out[done..done + n], valid, &cache.bytes(slot)[within..]);
                }
                done += n;
            }
        }
        Ok(())
    }

    pub(super) fn is_uncached(&mut self, at: u64) -> bool {
        self.backing.find(at).is_some_and(|s| s.uncached)
    }

    fn touch_write(&mut self, at: u64, len: u64) {
        if self.record.on {
            self.record.touch(at, len, 0, None, 0);
        }
    }

    /// The parts of `[at, +len)` that lie in one segment each: offset and length,
    /// and whether caches keep them.
    fn each_kind(&mut self, at: u64, len: u64, mut each: impl FnMut(&mut Self, u64, u64, bool)) {
        let mut done = 0;
        while done < len {
            let (end, uncached) =
                self.backing.find(at + done).map_or((u64::MAX, false), |s| (s.end, s.uncached));
            let n = (end - (at + done)).min(len - done);
            each(self, done, n, uncached);
            done += n;
        }
    }

    /// Reads bytes that live.
    fn get(&mut self, who: Requester, at: u64, out: &mut [u8]) {
        let route = self.route(who.client, who.unit, &[]);
        let how = How { volatile: false, behind: None };
        self.trace_route(&route);
        self.each_kind(at, out.len() as u64, |h, from, n, uncached| {
            let mut way = Way { route, past: Route::default(), how, after: None };
            h.trace_bytes(at + from, n, uncached && route.len > 0);
            if uncached && route.len > 0 {
                h.uncached(at + from, n);
                // What L2 holds goes by the switch alone.
                let past = h.route(who.client, who.unit, &[CacheClass::L2]);
                way = Way { route: Route::default(), past, ..way };
            }
            h.read_span(&way, at + from, &mut out[from as usize..(from + n) as usize], |_, _| 0);
        });
    }

    /// Writes bytes that live and may be written.
    fn put(&mut self, who: Requester, at: u64, data: &[u8], stamp: u64) -> Result<(), AccessError> {
        self.trace_bytes(at, data.len() as u64, true);
        if !self.topology.writes_to_l2(who.client) {
            self.traffic.memory_bytes += data.len() as u64;
            return self.bus(who.client).write(GpuAddress(at), data);
        }
        self.each_kind(at, data.len() as u64, |h, from, n, uncached| {
            let end = from + n;
            if uncached {
                h.uncached(at + from, n);
            }
            let mut done = from;
            while done < end {
                let here = at + done;
                let line = MAX_LINE as u64;
                let n = (line - here % line).min(end - done);
                let part = &data[done as usize..(done + n) as usize];
                if uncached {
                    h.traffic.memory_bytes += n;
                    h.backing.write_back(here, part, span(0, n as u32));
                } else {
                    h.write_l2(here, span(0, n as u32), part, stamp, false);
                }
                done += n;
            }
        });
        Ok(())
    }
}
