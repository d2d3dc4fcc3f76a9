//! The address space: who lies where, and what may be done to it.

mod checkpoint;
mod error;
mod nearest;
mod table;

pub use error::{AllocationError, FreeError};
pub use nearest::{Nearest, Side};
pub(crate) use table::Segment;
pub use table::Snapshot;

use crate::store::Store;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use wavefence_base::{AllocationId, Family, GpuAddress, GpuRange, Limit, Profile, ProfileName};

/// Where [`Placement::Anywhere`] starts to look: above 4 GiB, so that an address
/// cut to 32 bits never hits an allocation by chance.
pub const FIRST_ADDRESS: GpuAddress = GpuAddress(0x1_0000_0000);

/// Alignment of allocations that ask for none, in bytes.
pub const DEFAULT_ALIGNMENT: u64 = 64 << 10;

/// Smallest alignment of a heap, in bytes; of a placed allocation it is 4.
pub const HEAP_ALIGNMENT: u64 = 256;

/// Host memory that all heaps of a space may take, unless the caller says more.
pub const DEFAULT_BUDGET: u64 = 16 << 30;

/// Where an allocation goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Placement {
    /// Wherever there is room; the same calls give the same addresses.
    #[default]
    Anywhere,
    /// At this address, with bytes of its own.
    At(GpuAddress),
    /// Inside another allocation, whose bytes it shares.
    In {
        /// The allocation that holds the bytes.
        heap: AllocationId,
        /// Bytes from its start.
        offset: u64,
    },
}

/// How the CPU maps an allocation. Kept as an attribute; one coherent store
/// behaves alike for both.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum MemoryType {
    /// CPU writes are combined, CPU reads are slow.
    #[default]
    WriteCombined,
    /// CPU reads and writes are cached.
    CpuCached,
}

/// What the GPU may do.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum GpuAccess {
    /// Read; writes are dropped and reported.
    ReadOnly,
    /// Read and write.
    #[default]
    ReadWrite,
}

/// What an allocation shall be.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AllocationDesc {
    /// For people; need not be unique.
    pub name: String,
    /// Length in bytes, not 0.
    pub bytes: u64,
    /// Of the GPU address, in bytes; a power of two. Heaps are aligned to
    /// [`HEAP_ALIGNMENT`] at least.
    pub alignment: u64,
    /// Where.
    pub placement: Placement,
    /// How the CPU maps it.
    pub memory: MemoryType,
    /// What the GPU may do. A placed allocation in a read-only heap is read-only.
    pub gpu_access: GpuAccess,
    /// GPU caches do not keep it.
    pub uncached: bool,
    /// In ESRAM; only on consoles that have it.
    pub esram: bool,
    /// Accesses count as volatile; only on Series.
    pub volatile: bool,
}

impl AllocationDesc {
    /// A plain read-write allocation of that name and size, anywhere.
    pub fn new(name: impl Into<String>, bytes: u64) -> Self {
        Self {
            name: name.into(),
            bytes,
            alignment: DEFAULT_ALIGNMENT,
            placement: Placement::Anywhere,
            memory: MemoryType::WriteCombined,
            gpu_access: GpuAccess::ReadWrite,
            uncached: false,
            esram: false,
            volatile: false,
        }
    }

    /// The same, placed in `heap` at `offset` with alignment 4.
    #[must_use]
    pub fn placed_in(self, heap: AllocationId, offset: u64) -> Self {
        Self { placement: Placement::In { heap, offset }, alignment: 4, ..self }
    }

    /// The same, at `address`, with the smallest alignment.
    #[must_use]
    pub fn at(self, address: GpuAddress) -> Self {
        Self { placement: Placement::At(address), alignment: HEAP_ALIGNMENT, ..self }
    }

    /// The same, read-only to the GPU.
    #[must_use]
    pub fn read_only(self) -> Self {
        Self { gpu_access: GpuAccess::ReadOnly, ..self }
    }
}

/// An allocation, living or freed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Allocation {
    /// Its id; never used again.
    pub id: AllocationId,
    /// What was asked for.
    pub desc: AllocationDesc,
    /// Where it lies.
    pub range: GpuRange,
    /// Number of the step (allocation or free, from 1) that made it.
    pub made: u64,
    /// Number of the step that freed it.
    pub freed: Option<u64>,
}

/// What the space needs beside the allocation itself.
struct Record {
    allocation: Allocation,
    /// The bytes; gone once freed (a [`Snapshot`] may hold them longer).
    store: Option<Arc<Store>>,
    /// First byte in the store.
    at: u64,
    /// False if it or a heap it lies in is read-only.
    gpu_write: bool,
    /// The heap whose store it is; itself if it is one.
    root: AllocationId,
}

impl Record {
    fn lives(&self) -> bool {
        self.allocation.freed.is_none()
    }
}

#[derive(Default)]
struct Inner {
    /// By id.
    records: Vec<Record>,
    /// Living heaps by first address.
    heaps: BTreeMap<u64, AllocationId>,
    /// Where the next search begins.
    next: u64,
    /// Steps taken so far.
    step: u64,
    /// Host bytes of living heaps.
    used: u64,
    /// ESRAM bytes of living heaps.
    esram: u64,
    /// What to go back to.
    mark: Option<checkpoint::Mark>,
    /// Small stores made since and gone again, all 0, for allocations as large.
    spare: Vec<Arc<Store>>,
}

/// The GPU's address space. Shared between threads by `Arc`.
pub struct AddressSpace {
    profile: ProfileName,
    bits: u32,
    esram: u64,
    has_volatile: bool,
    budget: u64,
    inner: Mutex<Inner>,
    /// Counts changes of the table.
    epoch: AtomicU64,
    snapshot: RwLock<Arc<Snapshot>>,
}

impl fmt::Debug for AddressSpace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AddressSpace")
            .field("profile", &self.profile)
            .field("epoch", &self.epoch())
            .finish_non_exhaustive()
    }
}

impl AddressSpace {
    /// An empty space of that console with [`DEFAULT_BUDGET`].
    pub fn new(profile: &Profile) -> Self {
        Self::with_budget(profile, DEFAULT_BUDGET)
    }

    /// An empty space whose heaps may take `budget` bytes of the host.
    pub fn with_budget(profile: &Profile, budget: u64) -> Self {
        Self {
            profile: profile.name,
            bits: profile.generation.value.address_bits(),
            esram: profile.esram_bytes.value,
            has_volatile: profile.family == Family::Series,
            budget,
            inner: Mutex::new(Inner { next: FIRST_ADDRESS.0, ..Inner::default() }),
            epoch: AtomicU64::new(0),
            snapshot: RwLock::new(Arc::new(Snapshot::default())),
        }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Width of an address in bits.
    pub fn address_bits(&self) -> u32 {
        self.bits
    }

    /// Makes an allocation; its bytes are 0, or those of its heap.
    ///
    /// # Errors
    /// The first rule that `desc` breaks, or a [`Limit`]; nothing was allocated.
    pub fn allocate(&self, desc: AllocationDesc) -> Result<Allocation, AllocationError> {
        let mut inner = self.inner();
        self.check(&desc)?;
        let (range, store, at, gpu_write, root) = match desc.placement {
            Placement::In { heap, offset } => place(&inner, &desc, heap, offset)?,
            Placement::At(address) => {
                let range = GpuRange::new(address, desc.bytes);
                self.check_fixed(&inner, &desc, range)?;
                let store = self.take_bytes(&mut inner, &desc)?;
                (range, store, 0, desc.gpu_access == GpuAccess::ReadWrite, None)
            }
            Placement::Anywhere => {
                let range = self.find_room(&inner, &desc)?;
                let store = self.take_bytes(&mut inner, &desc)?;
                (range, store, 0, desc.gpu_access == GpuAccess::ReadWrite, None)
            }
        };
        let id = AllocationId(u32::try_from(inner.records.len()).map_err(|_| {
            AllocationError::Limit(Limit::memory(format!(
                "allocation {:?} refused: this space has made 2^32 allocations",
                desc.name
            )))
        })?);
        inner.step += 1;
        if root.is_none() {
            inner.heaps.insert(range.start.0, id);
            inner.used += desc.bytes;
            inner.esram += if desc.esram { desc.bytes } else { 0 };
        }
        if desc.placement == Placement::Anywhere {
            // A gap after each, so that a run past the end is noticed.
            inner.next = range.end().next_multiple_of(DEFAULT_ALIGNMENT) + DEFAULT_ALIGNMENT;
        }
        let allocation = Allocation { id, desc, range, made: inner.step, freed: None };
        let root = root.unwrap_or(id);
        inner.records.push(Record {
            allocation: allocation.clone(),
            store: Some(store),
            at,
            gpu_write,
            root,
        });
        self.epoch.fetch_add(1, Ordering::Release);
        Ok(allocation)
    }

    /// The rules that need no table.
    fn check(&self, desc: &AllocationDesc) -> Result<(), AllocationError> {
        let name = || desc.name.clone();
        if desc.bytes == 0 {
            return Err(AllocationError::Empty { name: name() });
        }
        if !desc.alignment.is_power_of_two() {
            return Err(AllocationError::BadAlignment { name: name(), alignment: desc.alignment });
        }
        if desc.esram && self.esram == 0 {
            return Err(AllocationError::NoEsram { name: name(), profile: self.profile });
        }
        if desc.volatile && !self.has_volatile {
            return Err(AllocationError::NoVolatile { name: name(), profile: self.profile });
        }
        Ok(())
    }

    /// The rules of [`Placement::At`].
    fn check_fixed(
        &self,
        inner: &Inner,
        desc: &AllocationDesc,
        range: GpuRange,
    ) -> Result<(), AllocationError> {
        let alignment = desc.alignment.max(HEAP_ALIGNMENT);
        if !range.start.is_aligned(alignment) {
            return Err(AllocationError::Misaligned {
                name: desc.name.clone(),
                address: range.start,
                alignment,
            });
        }
        if !self.inside(range) {
            return Err(AllocationError::OutsideSpace {
                name: desc.name.clone(),
                range,
                bits: self.bits,
            });
        }
        match inner.overlapping(range) {
            Some(other) => Err(AllocationError::Overlap {
                name: desc.name.clone(),
                range,
                other: other.desc.name.clone(),
                other_range: other.range,
            }),
            None => Ok(()),
        }
    }

    fn inside(&self, range: GpuRange) -> bool {
        range.start.0.checked_add(range.len).is_some_and(|end| end <= 1 << self.bits)
    }

    /// The first room from where the last search ended, else from the start.
    fn find_room(&self, inner: &Inner, desc: &AllocationDesc) -> Result<GpuRange, AllocationError> {
        let alignment = desc.alignment.max(HEAP_ALIGNMENT);
        for from in [inner.next, FIRST_ADDRESS.0] {
            let mut from = from;
            while let Some(start) = from.checked_next_multiple_of(alignment) {
                let range = GpuRange::new(GpuAddress(start), desc.bytes);
                if !self.inside(range) {
                    break;
                }
                match inner.overlapping(range) {
                    Some(other) => from = other.range.end(),
                    None => return Ok(range),
                }
            }
        }
        Err(AllocationError::NoRoom { name: desc.name.clone(), bytes: desc.bytes, bits: self.bits })
    }

    /// Host memory for a heap, within the budgets.
    fn take_bytes(
        &self,
        inner: &mut Inner,
        desc: &AllocationDesc,
    ) -> Result<Arc<Store>, AllocationError> {
        if desc.esram && self.esram - inner.esram < desc.bytes {
            return Err(AllocationError::EsramFull {
                name: desc.name.clone(),
                bytes: desc.bytes,
                left: self.esram - inner.esram,
            });
        }
        if self.budget.saturating_sub(inner.used) < desc.bytes {
            return Err(AllocationError::Limit(Limit::memory(format!(
                "allocation {:?} of {} bytes exceeds the memory budget of {} bytes ({} in use)",
                desc.name, desc.bytes, self.budget, inner.used
            ))));
        }
        if let Some(store) = inner.take_spare(desc.bytes) {
            return Ok(store);
        }
        let Some(store) = Store::new(desc.bytes) else {
            return Err(AllocationError::Limit(Limit::memory(format!(
                "the host has no {} bytes for allocation {:?}",
                desc.bytes, desc.name
            ))));
        };
        if inner.serves_again(desc.bytes) {
            // It will be 0 again, for the next one as large.
            store.checkpoint();
        }
        Ok(Arc::new(store))
    }

    /// Ends an allocation's life. Its name and range are kept, so that a later
    /// access can be told what was there.
    ///
    /// # Errors
    /// If it is unknown, freed before, or holds living placed allocations.
    pub fn free(&self, id: AllocationId) -> Result<(), FreeError> {
        let mut inner = self.inner();
        let Some(record) = inner.records.get(id.index()) else {
            return Err(FreeError::Unknown { id });
        };
        let (name, range) = (record.allocation.desc.name.clone(), record.allocation.range);
        if let Some(step) = record.allocation.freed {
            return Err(FreeError::Twice { name, step });
        }
        let inside = |r: &&Record| matches!(r.allocation.desc.placement, Placement::In { heap, .. } if heap == id);
        if let Some(placed) = inner.records.iter().filter(|r| r.lives()).find(inside) {
            return Err(FreeError::InUse { name, placed: placed.allocation.desc.name.clone() });
        }
        inner.step += 1;
        let step = inner.step;
        let record = &mut inner.records[id.index()];
        record.allocation.freed = Some(step);
        let store = record.store.take();
        let (heap, esram) = (record.root == id, record.allocation.desc.esram);
        if heap {
            inner.heaps.remove(&range.start.0);
            inner.used -= range.len;
            inner.esram -= if esram { range.len } else { 0 };
        }
        inner.note_freed(id, store);
        self.epoch.fetch_add(1, Ordering::Release);
        Ok(())
    }

    /// The allocation of that id, living or freed.
    pub fn allocation(&self, id: AllocationId) -> Option<Allocation> {
        self.inner().records.get(id.index()).map(|r| r.allocation.clone())
    }

    /// Every allocation ever made, by id.
    pub fn allocations(&self) -> Vec<Allocation> {
        self.inner().records.iter().map(|r| r.allocation.clone()).collect()
    }

    /// Name of the living allocation at `address`, and the byte offset in it; of
    /// several placed in one heap, the one made last.
    pub fn describe(&self, address: GpuAddress) -> Option<(String, u64)> {
        let snapshot = self.snapshot();
        let segment = snapshot.find(address)?;
        let allocation = self.allocation(segment.allocation)?;
        Some((allocation.desc.name, address.0 - allocation.range.start.0))
    }

    /// What lies at `address` or next to it, and its history.
    pub fn nearest(&self, address: GpuAddress) -> Option<Nearest> {
        let inner = self.inner();
        nearest::find(inner.records.iter().map(|r| &r.allocation), address)
    }

    /// Number of changes to the table so far; a [`Snapshot`] with the same
    /// number is up to date.
    pub fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::Acquire)
    }

    /// The table as it is now, to be read without locks. It keeps the bytes of
    /// what is freed later alive for whoever holds it.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        {
            let held = self.snapshot.read().unwrap_or_else(PoisonError::into_inner);
            if held.epoch == self.epoch() {
                return Arc::clone(&held);
            }
        }
        let inner = self.inner();
        // No change can come between: changes hold the same lock.
        let fresh = Arc::new(Snapshot::build(self.epoch(), &inner.records));
        *self.snapshot.write().unwrap_or_else(PoisonError::into_inner) = Arc::clone(&fresh);
        fresh
    }
}

impl Inner {
    /// A living heap that shares a byte with `range`; the lowest.
    fn overlapping(&self, range: GpuRange) -> Option<&Allocation> {
        let before = self.heaps.range(..=range.start.0).next_back().map(|(_, id)| id);
        let after = self.heaps.range(range.start.0..).next().map(|(_, id)| id);
        before
            .into_iter()
            .chain(after)
            .map(|id| &self.records[id.index()].allocation)
            .find(|a| a.range.overlaps(range))
    }
}

type Placed = (GpuRange, Arc<Store>, u64, bool, Option<AllocationId>);

/// The rules of [`Placement::In`].
fn place(
    inner: &Inner,
    desc: &AllocationDesc,
    heap: AllocationId,
    offset: u64,
) -> Result<Placed, AllocationError> {
    let name = desc.name.clone();
    let Some(record) = inner.records.get(heap.index()) else {
        return Err(AllocationError::UnknownHeap { name, heap });
    };
    let heap_name = || record.allocation.desc.name.clone();
    let Some(store) = &record.store else {
        return Err(AllocationError::FreedHeap { name, heap: heap_name() });
    };
    let heap_range = record.allocation.range;
    if offset.checked_add(desc.bytes).is_none_or(|end| end > heap_range.len) {
        return Err(AllocationError::OutsideHeap {
            name,
            offset,
            bytes: desc.bytes,
            heap: heap_name(),
            heap_bytes: heap_range.len,
        });
    }
    let range = GpuRange::new(heap_range.start.offset(offset), desc.bytes);
    let alignment = desc.alignment.max(4);
    if !range.start.is_aligned(alignment) {
        return Err(AllocationError::Misaligned { name, address: range.start, alignment });
    }
    let gpu_write = record.gpu_write && desc.gpu_access == GpuAccess::ReadWrite;
    Ok((range, Arc::clone(store), record.at + offset, gpu_write, Some(record.root)))
}

#[cfg(test)]
mod tests;
