//! The one place where this crate reaches memory: engines by address, waves by
//! port. Every access says who makes it and by which client, and so which caches
//! it goes through.

use crate::dispatch::Dispatch;
use std::sync::Arc;
use wavefence_base::access::Agent;
use wavefence_base::topology::Client;
use wavefence_base::{FaultKind, GpuAddress, QueueId};
use wavefence_memory::port::Port;
use wavefence_memory::{AccessError, AccessErrorKind, AddressSpace, CoherentPort, MissRecord};

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
}

/// The engines' way to memory.
#[derive(Clone, Debug)]
pub(crate) struct Bus {
    space: Arc<AddressSpace>,
}

impl Bus {
    pub(crate) fn new(space: Arc<AddressSpace>) -> Self {
        Self { space }
    }

    /// What `client` would read now, for reports and histories: changes nothing and
    /// is no access.
    pub(crate) fn peek_value(&self, _client: Client, at: GpuAddress, bytes: u8) -> Option<u64> {
        let gpu = self.space.gpu();
        if bytes == 8 { gpu.read_u64(at).ok() } else { gpu.read_u32(at).ok().map(u64::from) }
    }

    /// As [`Self::peek_value`], any number of bytes; false if they do not all live.
    pub(crate) fn peek(&self, _client: Client, at: GpuAddress, out: &mut [u8]) -> bool {
        self.space.gpu().read(at, out).is_ok()
    }

    /// A value of 4 or 8 bytes.
    pub(crate) fn read_value(
        &mut self,
        _access: &Access<'_>,
        at: GpuAddress,
        bytes: u8,
    ) -> Result<u64, AccessError> {
        if bytes == 8 {
            self.space.gpu().read_u64(at)
        } else {
            self.space.gpu().read_u32(at).map(u64::from)
        }
    }

    /// Writes a value of 4 or 8 bytes.
    pub(crate) fn write_value(
        &mut self,
        _access: &Access<'_>,
        at: GpuAddress,
        value: u64,
        bytes: u8,
    ) -> Result<(), AccessError> {
        if bytes == 8 {
            self.space.gpu().write_u64(at, value)
        } else {
            self.space.gpu().write_u32(at, value as u32)
        }
    }

    /// Up to `count` words as `client` would read them; fewer where memory ends.
    /// Is no access: what of it was used is told by [`Self::fetched`].
    pub(crate) fn peek_words(&self, client: Client, at: GpuAddress, count: u64) -> Vec<u32> {
        let mut bytes = vec![0; count as usize * 4];
        if let Err(e) = self.space.gpu().read(at, &mut bytes) {
            bytes.truncate((e.at.0 - at.0) as usize / 4 * 4);
        }
        if !self.peek(client, at, &mut bytes) {
            bytes.clear();
        }
        bytes.chunks_exact(4).map(|c| u32::from_le_bytes([c[0], c[1], c[2], c[3]])).collect()
    }

    /// A packet was read at `at`.
    pub(crate) fn fetched(&mut self, _access: &Access<'_>, _at: GpuAddress, _bytes: u64) {}

    /// Reads bytes.
    pub(crate) fn read(
        &mut self,
        _access: &Access<'_>,
        at: GpuAddress,
        out: &mut [u8],
    ) -> Result<(), AccessError> {
        self.space.gpu().read(at, out)
    }

    /// Writes bytes.
    pub(crate) fn write(
        &mut self,
        _access: &Access<'_>,
        at: GpuAddress,
        data: &[u8],
    ) -> Result<(), AccessError> {
        self.space.gpu().write(at, data)
    }

    /// Copies bytes; each side has its own client.
    pub(crate) fn copy(
        &mut self,
        (_reader, from): (&Access<'_>, GpuAddress),
        (_writer, to): (&Access<'_>, GpuAddress),
        bytes: u64,
    ) -> Result<(), AccessError> {
        self.space.gpu().copy(from, to, bytes)
    }

    /// Fills with a dword, its low byte first.
    pub(crate) fn fill(
        &mut self,
        _access: &Access<'_>,
        at: GpuAddress,
        bytes: u64,
        value: u32,
    ) -> Result<(), AccessError> {
        self.space.gpu().fill(at, bytes, value)
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

/// How the waves of one host thread reach memory.
pub(crate) trait WaveMemory {
    /// The port for what `wave` does next.
    fn port(&mut self, wave: &WaveId<'_>) -> &mut dyn Port;

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
    fn port(&mut self, _wave: &WaveId<'_>) -> &mut dyn Port {
        &mut self.port
    }

    fn refresh(&mut self) {
        self.port.refresh();
    }

    fn take_misses(&mut self) -> Vec<MissRecord> {
        if self.port.has_misses() { self.port.take_misses() } else { Vec::new() }
    }
}
