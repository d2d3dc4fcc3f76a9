//! The one place where this crate reaches memory: engines by address, waves by
//! port. Every access says who makes it and by which client, and so which caches
//! it goes through: in a model run those of the hierarchy, in a fast run none.

use crate::dispatch::Dispatch;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use wavefence_base::access::{Agent, MemoryAccess};
use wavefence_base::topology::Client;
use wavefence_base::{
    CacheAction, CacheClass, DispatchId, FaultKind, FlushCost, Footprint, GpuAddress, GpuRange,
    Profile, QueueId, Topology,
};
use wavefence_memory::hierarchy::{
    CacheRules, Hierarchy, Land, LostBytes, Requester, Traffic, WaveContext,
};
use wavefence_memory::port::Port;
use wavefence_memory::{AccessError, AccessErrorKind, AddressSpace, CoherentPort, MissRecord};
use wavefence_pm4::initiator as bits;

/// On whose behalf an engine accesses memory, for reports.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Access<'a> {
    /// The packet's name, or another word for what it is.
    pub(crate) what: &'a str,
    /// The queue.
    pub(crate) queue: Option<QueueId>,
    /// The packet.
    pub(crate) packet: Option<GpuAddress>,
    /// Who acts.
    pub(crate) agent: Agent,
    /// Which way to memory it takes.
    pub(crate) client: Client,
}

impl Access<'_> {
    /// The same on behalf of another client.
    pub(crate) fn by(self, client: Client) -> Self {
        Self { client, ..self }
    }

    fn requester(&self) -> Requester {
        Requester { agent: self.agent, client: self.client, unit: 0 }
    }
}

/// Who looks where no access is made.
fn nobody(client: Client) -> Requester {
    Requester { agent: Agent::Host, client, unit: 0 }
}

/// The engines' way to memory.
#[derive(Debug)]
pub(crate) struct Bus {
    space: Arc<AddressSpace>,
    /// None in a fast run. The lock is for the host, which reads without
    /// borrowing the device for itself.
    caches: Option<Mutex<Hierarchy>>,
    /// Cache actions so far where there are no caches.
    actions: u64,
}

impl Bus {
    /// One coherent store.
    pub(crate) fn coherent(space: Arc<AddressSpace>) -> Self {
        Self { space, caches: None, actions: 0 }
    }

    /// The caches of a profile.
    pub(crate) fn cached(space: Arc<AddressSpace>, profile: &Profile) -> Self {
        let rules = CacheRules::of(profile);
        let caches = Hierarchy::new(space.clone(), Topology::of(profile), rules);
        Self { space, caches: Some(Mutex::new(caches)), actions: 0 }
    }

    /// The caches, if there are any.
    pub(crate) fn caches(&mut self) -> Option<&mut Hierarchy> {
        self.caches.as_mut().map(|c| c.get_mut().unwrap_or_else(PoisonError::into_inner))
    }

    /// The same for the host.
    fn shared_caches(&self) -> Option<MutexGuard<'_, Hierarchy>> {
        self.caches.as_ref().map(|c| c.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Marks the caches; gives what else a bus keeps.
    pub(crate) fn checkpoint(&mut self) -> u64 {
        if let Some(caches) = self.caches() {
            caches.checkpoint();
        }
        let Self { space: _, caches: _, actions } = self;
        *actions
    }

    /// Goes back to the checkpoint, after the address space has.
    pub(crate) fn restore(&mut self, actions: u64) {
        if let Some(caches) = self.caches() {
            caches.restore();
        }
        self.actions = actions;
    }

    /// Whether records of accesses are built.
    pub(crate) fn set_recording(&mut self, on: bool) {
        if let Some(caches) = self.caches() {
            caches.set_recording(on);
        }
    }

    /// Hands over the records since the last call.
    pub(crate) fn drain(&mut self, each: impl FnMut(&MemoryAccess<'_>)) {
        if let Some(caches) = self.caches()
            && caches.has_records()
        {
            caches.drain(each);
        }
    }

    /// A step begins whose footprint is wanted.
    pub(crate) fn begin_trace(&mut self) {
        if let Some(caches) = self.caches() {
            caches.begin_trace();
        }
    }

    /// It is over: adds what it shared. Gives whether it accessed its group's shared
    /// memory, and if so whether it wrote to it.
    pub(crate) fn end_trace(&mut self, footprint: &mut Footprint) -> Option<bool> {
        self.caches().and_then(|caches| caches.end_trace(footprint))
    }

    /// Leaves what `look` looks at out of the footprint: it is for reports only.
    pub(crate) fn untraced<T>(&mut self, look: impl FnOnce(&mut Self) -> T) -> T {
        let traced = self.caches().is_some_and(|caches| caches.set_traced(false));
        let found = look(self);
        if traced && let Some(caches) = self.caches() {
            caches.set_traced(true);
        }
        found
    }

    /// One cache loses its lines.
    pub(crate) fn evict(&mut self, class: CacheClass, instance: u32) {
        if let Some(caches) = self.caches() {
            caches.evict(class, instance);
        }
    }

    /// What `client` would read now, for reports and histories: changes nothing and
    /// is no access.
    pub(crate) fn peek_value(&mut self, client: Client, at: GpuAddress, bytes: u8) -> Option<u64> {
        let mut value = [0; 8];
        self.peek(client, at, &mut value[..usize::from(bytes)]).ok()?;
        Some(u64::from_le_bytes(value))
    }

    /// What a wave on a compute unit would read now; changes nothing and is no access.
    pub(crate) fn peek_at_unit(
        &mut self,
        client: Client,
        unit: u32,
        at: GpuAddress,
        out: &mut [u8],
    ) -> bool {
        match self.caches() {
            Some(caches) => caches.peek(Requester { unit, ..nobody(client) }, at, out).is_ok(),
            None => self.space.gpu().read(at, out).is_ok(),
        }
    }

    /// As [`Self::peek_value`], any number of bytes.
    pub(crate) fn peek(
        &mut self,
        client: Client,
        at: GpuAddress,
        out: &mut [u8],
    ) -> Result<(), AccessError> {
        match self.caches() {
            Some(caches) => caches.peek(nobody(client), at, out),
            None => self.space.gpu().read(at, out),
        }
    }

    /// A poll: what lies dirty in L2 if the client looks there, else memory. A
    /// line that L2 merely holds is not looked at, or a wait for what the host or a
    /// DMA engine writes would never end. On GFX10 DMA engines poll as the command
    /// processors do, or they could not wait for them (assumed).
    pub(crate) fn poll(
        &mut self,
        client: Client,
        at: GpuAddress,
        bytes: u8,
    ) -> Result<u64, AccessError> {
        let mut value = [0; 8];
        let out = &mut value[..usize::from(bytes)];
        match self.caches() {
            Some(caches) => {
                let gfx10 = caches.topology().writes_to_l2(Client::Poll);
                let client = if gfx10 { Client::Poll } else { client };
                caches.peek_uncached(nobody(client), at, out)?;
            }
            None if bytes == 8 => return self.space.gpu().read_u64(at),
            None => return self.space.gpu().read_u32(at).map(u64::from),
        }
        Ok(u64::from_le_bytes(value))
    }

    /// A value of 4 or 8 bytes.
    pub(crate) fn read_value(
        &mut self,
        access: &Access<'_>,
        at: GpuAddress,
        bytes: u8,
    ) -> Result<u64, AccessError> {
        match self.caches() {
            Some(caches) => caches.read_value(access.requester(), at, bytes),
            None if bytes == 8 => self.space.gpu().read_u64(at),
            None => self.space.gpu().read_u32(at).map(u64::from),
        }
    }

    /// Writes a value of 4 or 8 bytes.
    pub(crate) fn write_value(
        &mut self,
        access: &Access<'_>,
        at: GpuAddress,
        value: u64,
        bytes: u8,
    ) -> Result<(), AccessError> {
        match self.caches() {
            Some(caches) => {
                caches.write_value(access.requester(), at, value, bytes)?;
                // Values of events that go to L2 go on to memory: the host and DMA engines
                // wait for them there (fences lie in uncached memory).
                if matches!(access.client, Client::EndOfPipe | Client::EndOfPipeL2)
                    && caches.topology().writes_to_l2(access.client)
                {
                    caches.write_through(at, u64::from(bytes));
                }
                Ok(())
            }
            None if bytes == 8 => self.space.gpu().write_u64(at, value),
            None => self.space.gpu().write_u32(at, value as u32),
        }
    }

    /// Up to `count` words as `client` would read them; fewer where memory ends.
    /// Is no access: what of it was used is told by [`Self::fetched`].
    pub(crate) fn peek_words(&mut self, client: Client, at: GpuAddress, count: u64) -> Vec<u32> {
        let mut bytes = vec![0; count as usize * 4];
        if let Err(e) = self.peek(client, at, &mut bytes) {
            bytes.truncate((e.at.0 - at.0) as usize / 4 * 4);
            if self.peek(client, at, &mut bytes).is_err() {
                bytes.clear();
            }
        }
        bytes.chunks_exact(4).map(|c| u32::from_le_bytes([c[0], c[1], c[2], c[3]])).collect()
    }

    /// A packet was read at `at`.
    pub(crate) fn fetched(&mut self, access: &Access<'_>, at: GpuAddress, bytes: u64) {
        if let Some(caches) = self.caches()
            && caches.is_recording()
        {
            let mut words = vec![0; bytes as usize];
            // What was peeked at just now lives.
            caches.as_fetched(bytes, |caches| {
                let _ = caches.read(access.requester(), at, &mut words);
            });
        } else if let Some(caches) = self.caches() {
            caches.note_fetched(bytes);
        }
    }

    /// Reads bytes.
    pub(crate) fn read(
        &mut self,
        access: &Access<'_>,
        at: GpuAddress,
        out: &mut [u8],
    ) -> Result<(), AccessError> {
        match self.caches() {
            Some(caches) => caches.read(access.requester(), at, out),
            None => self.space.gpu().read(at, out),
        }
    }

    /// Reads bytes through the caches that serve a compute unit.
    pub(crate) fn read_at_unit(
        &mut self,
        who: Requester,
        at: GpuAddress,
        out: &mut [u8],
    ) -> Result<(), AccessError> {
        match self.caches() {
            Some(caches) => caches.read(who, at, out),
            None => self.space.gpu().read(at, out),
        }
    }

    /// Writes bytes.
    pub(crate) fn write(
        &mut self,
        access: &Access<'_>,
        at: GpuAddress,
        data: &[u8],
    ) -> Result<(), AccessError> {
        match self.caches() {
            Some(caches) => caches.write(access.requester(), at, data),
            None => self.space.gpu().write(at, data),
        }
    }

    /// Writes bytes as the host.
    pub(crate) fn host_write(&mut self, at: GpuAddress, data: &[u8]) -> Result<(), AccessError> {
        match self.caches() {
            Some(caches) => caches.write(nobody(Client::Host), at, data),
            None => self.space.host().write(at, data),
        }
    }

    /// Reads bytes as the host; `each` gets the record of it.
    pub(crate) fn host_read(
        &self,
        at: GpuAddress,
        out: &mut [u8],
        each: impl FnMut(&MemoryAccess<'_>),
    ) -> Result<(), AccessError> {
        match self.shared_caches() {
            Some(mut caches) => {
                caches.read(nobody(Client::Host), at, out)?;
                if caches.has_records() {
                    caches.drain(each);
                }
                Ok(())
            }
            None => self.space.host().read(at, out),
        }
    }

    /// Copies bytes; each side has its own client.
    pub(crate) fn copy(
        &mut self,
        (reader, from): (&Access<'_>, GpuAddress),
        (writer, to): (&Access<'_>, GpuAddress),
        bytes: u64,
    ) -> Result<(), AccessError> {
        match self.caches() {
            Some(caches) => caches.copy(reader.requester(), from, writer.requester(), to, bytes),
            None => self.space.gpu().copy(from, to, bytes),
        }
    }

    /// Fills with a dword, its low byte first.
    pub(crate) fn fill(
        &mut self,
        access: &Access<'_>,
        at: GpuAddress,
        bytes: u64,
        value: u32,
    ) -> Result<(), AccessError> {
        match self.caches() {
            Some(caches) => caches.fill(access.requester(), at, bytes, value),
            None => self.space.gpu().fill(at, bytes, value),
        }
    }

    /// Read-modify-write of 4 or 8 bytes; gives the old value. `update` may be
    /// called more than once.
    pub(crate) fn update(
        &mut self,
        access: &Access<'_>,
        at: GpuAddress,
        bytes: u8,
        update: impl Fn(u64) -> u64,
    ) -> Result<u64, AccessError> {
        use wavefence_memory::port::Atomic::CompareExchange;
        if let Some(caches) = self.caches() {
            return caches.update(access.requester(), at, bytes, update);
        }
        let mut old = self.read_value(access, at, bytes)?;
        let gpu = self.space.gpu();
        loop {
            let new = update(old);
            let seen = if bytes == 8 {
                gpu.atomic_u64(CompareExchange, at, new, old)?
            } else {
                u64::from(gpu.atomic_u32(CompareExchange, at, new as u32, old as u32)?)
            };
            if seen == old {
                return Ok(old);
            }
            old = seen;
        }
    }

    /// Runs cache actions. Gives their place among the accesses and what they did.
    pub(crate) fn act(
        &mut self,
        actions: &[CacheAction],
        range: Option<GpuRange>,
    ) -> (u64, FlushCost) {
        self.actions += 1;
        let (mut seq, mut cost) = (self.actions, FlushCost::default());
        if let Some(caches) = self.caches() {
            for &action in actions {
                let did = caches.act(action, range);
                seq = did.seq;
                cost.dropped += did.lines_dropped;
                cost.written += did.lines_written;
            }
        }
        (seq, cost)
    }

    /// Bytes that had nowhere to go when a line was written back, since the last
    /// call.
    pub(crate) fn take_lost(&mut self) -> Vec<LostBytes> {
        self.caches().map(Hierarchy::take_lost).unwrap_or_default()
    }

    /// What accesses have moved since the last call; nothing where there is no time.
    pub(crate) fn take_traffic(&mut self) -> Traffic {
        self.caches().map(Hierarchy::take_traffic).unwrap_or_default()
    }

    /// Bytes of a line of L2.
    pub(crate) fn l2_line(&self) -> u64 {
        let caches = self.shared_caches();
        let shape = caches.as_ref().and_then(|c| c.topology().shape(CacheClass::L2));
        shape.map_or(0, |s| u64::from(s.line.value))
    }

    /// What cache actions would have to do now, at most.
    pub(crate) fn foresee(&mut self, actions: &[CacheAction]) -> FlushCost {
        let mut cost = FlushCost::default();
        let Some(caches) = self.caches() else { return cost };
        for &action in actions {
            use CacheAction as A;
            use CacheClass as C;
            cost.dropped += match action {
                A::InvalidateL1 => caches.lines(C::Vector) + caches.lines(C::Gl1),
                A::InvalidateGl1 => caches.lines(C::Gl1),
                A::InvalidateK => caches.lines(C::Scalar),
                A::InvalidateI => caches.lines(C::Instruction),
                A::InvalidateL2 | A::InvalidateL2Clean => caches.lines(C::L2),
                A::WritebackL2 if caches.rules().switches.writeback_keeps.value => 0,
                A::WritebackL2 => caches.lines(C::L2),
                A::InvalidateL1Volatile
                | A::InvalidateKVolatile
                | A::InvalidateL2Volatile
                | A::InvalidateMetadata
                | A::FlushColorData
                | A::FlushColorMeta
                | A::FlushDepthData
                | A::FlushDepthMeta => 0,
            };
            if matches!(action, A::InvalidateL2 | A::WritebackL2) {
                cost.written += caches.dirty_lines();
            }
        }
        cost
    }

    /// True if stores of a dispatch are on their way to L2.
    pub(crate) fn in_flight(&mut self, dispatch: DispatchId) -> bool {
        self.caches().is_some_and(|c| c.in_flight(Some(dispatch)))
    }

    /// Lets stores arrive in L2.
    pub(crate) fn land(&mut self, which: Land) {
        if let Some(caches) = self.caches() {
            caches.land(which);
        }
    }

    /// Which dispatch's shader wrote what lies dirty in L2 at an address.
    pub(crate) fn dirty_writer(&mut self, at: GpuAddress) -> Option<DispatchId> {
        self.caches().and_then(|c| c.dirty_writer(at))
    }

    /// Name of the allocation at an address, and the offset in it.
    pub(crate) fn describe(&self, at: GpuAddress) -> Option<(String, u64)> {
        self.space.describe(at)
    }
}

/// The kind of fault that a refused access is.
pub(crate) fn fault_kind(error: &AccessError) -> FaultKind {
    match error.kind {
        AccessErrorKind::Unmapped | AccessErrorKind::Freed if error.write => {
            FaultKind::WriteUnmapped
        }
        AccessErrorKind::Unmapped | AccessErrorKind::Freed => FaultKind::ReadUnmapped,
        AccessErrorKind::ReadOnly => FaultKind::WriteReadOnly,
        AccessErrorKind::Misaligned => FaultKind::BadCommand,
    }
}

/// What became of a refused access.
pub(crate) fn effect(error: &AccessError) -> &'static str {
    if error.write { "it was dropped" } else { "it gave 0" }
}

/// Which wave accesses memory.
#[derive(Clone, Copy)]
pub(crate) struct WaveId<'a> {
    pub(crate) dispatch: &'a Dispatch,
    /// The group's number in launch order.
    pub(crate) launch: u64,
    pub(crate) group: [u32; 3],
    pub(crate) wave: u32,
    /// The compute unit.
    pub(crate) unit: u32,
    /// Group barriers it has passed.
    pub(crate) barriers: u32,
}

impl WaveId<'_> {
    fn context(&self) -> WaveContext {
        let d = self.dispatch;
        WaveContext {
            agent: Agent::Wave {
                queue: d.queue,
                dispatch: d.id,
                launch: self.launch,
                group: self.group,
                wave: self.wave,
                unit: self.unit,
                barriers: self.barriers,
            },
            dispatch: d.id,
            unit: self.unit,
            volatile_skips_vector: d.initiator & bits::DISABLE_VECTOR_L1 != 0,
            volatile_skips_scalar: d.initiator & bits::DISABLE_SCALAR_L1 != 0,
        }
    }
}

/// How the waves of one host thread reach memory.
pub(crate) trait WaveMemory {
    /// Calls `run` with the port for what `wave` does next.
    fn with_port(&mut self, wave: &WaveId<'_>, run: &mut dyn FnMut(&mut dyn Port));

    /// Takes up allocations and frees made since.
    fn refresh(&mut self);

    /// Accesses that hit nothing or read-only memory since the last call.
    fn take_misses(&mut self) -> Vec<MissRecord>;
}

/// One coherent store: a fast run.
pub(crate) struct WavePort {
    port: CoherentPort,
}

impl WavePort {
    pub(crate) fn new(space: &Arc<AddressSpace>) -> Self {
        Self { port: CoherentPort::new(space.clone()) }
    }
}

impl WaveMemory for WavePort {
    fn with_port(&mut self, _wave: &WaveId<'_>, run: &mut dyn FnMut(&mut dyn Port)) {
        run(&mut self.port);
    }

    fn refresh(&mut self) {
        self.port.refresh();
    }

    fn take_misses(&mut self) -> Vec<MissRecord> {
        if self.port.has_misses() { self.port.take_misses() } else { Vec::new() }
    }
}

/// Through the caches: a model run.
impl WaveMemory for Hierarchy {
    fn with_port(&mut self, wave: &WaveId<'_>, run: &mut dyn FnMut(&mut dyn Port)) {
        run(&mut self.port(wave.context()));
    }

    fn refresh(&mut self) {}

    fn take_misses(&mut self) -> Vec<MissRecord> {
        if self.has_misses() { self.take_misses() } else { Vec::new() }
    }
}
