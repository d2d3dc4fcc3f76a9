//! A device with helpers that build command buffers.

use super::fake;
use crate::{Device, DeviceDesc, LoadedKernel, Outcome, QueueKind, RunMode};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use wavefence_base::{
    Event, Generation, GpuAddress, GpuRange, Observer, Profile, ProfileName, QueueId, SubmitId,
};
use wavefence_memory::AllocationDesc;
use wavefence_pm4::{Field, Kind, Packet, Ring, data_sel, events, int_sel, reg, sel};
use wavefence_shader::ir::Kernel;

pub(crate) const GFX: QueueKind = QueueKind::Graphics;
pub(crate) const COMPUTE: QueueKind = QueueKind::Compute { pipe: 0, queue: 0 };
pub(crate) const COMPUTE2: QueueKind = QueueKind::Compute { pipe: 0, queue: 1 };
pub(crate) const DMA: QueueKind = QueueKind::Dma { engine: 0 };

/// One profile of every generation.
pub(crate) const PROFILES: [ProfileName; 3] =
    [ProfileName::XboxOne, ProfileName::XboxOneX, ProfileName::SeriesX];

pub(crate) const MODES: [RunMode; 3] =
    [RunMode::Model, RunMode::Fast { threads: 1 }, RunMode::Fast { threads: 3 }];

/// Keeps events where the test can see them.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<Event>>>);

impl Observer for Log {
    fn event(&mut self, event: &Event) {
        self.0.lock().unwrap().push(event.clone());
    }
}

impl Log {
    pub(crate) fn events(&self) -> Vec<Event> {
        self.0.lock().unwrap().clone()
    }
}

pub(crate) struct Rig {
    pub(crate) device: Device,
    pub(crate) generation: Generation,
    queues: BTreeMap<QueueKind, QueueId>,
    pub(crate) log: Log,
}

pub(crate) fn ring_of(kind: QueueKind) -> Ring {
    match kind {
        QueueKind::Graphics => Ring::Graphics,
        QueueKind::Compute { .. } => Ring::Compute,
        QueueKind::Dma { .. } => Ring::Sdma,
    }
}

impl Rig {
    pub(crate) fn new(profile: ProfileName, mode: RunMode) -> Self {
        Self::with(profile, mode, |_| {})
    }

    pub(crate) fn with(
        profile: ProfileName,
        mode: RunMode,
        change: impl FnOnce(&mut DeviceDesc),
    ) -> Self {
        let mut desc = DeviceDesc::model(Profile::get(profile), fake::executor());
        desc.mode = mode;
        change(&mut desc);
        let generation = desc.profile.generation.value;
        let mut device = Device::new(desc);
        let log = Log::default();
        device.add_observer(Box::new(log.clone()));
        Self { device, generation, queues: BTreeMap::new(), log }
    }

    pub(crate) fn queue(&mut self, kind: QueueKind) -> QueueId {
        match self.queues.get(&kind) {
            Some(&id) => id,
            None => {
                let id = self.device.open_queue(kind).unwrap();
                self.queues.insert(kind, id);
                id
            }
        }
    }

    /// Zeroed memory.
    pub(crate) fn buffer(&mut self, name: &str, bytes: u64) -> GpuAddress {
        self.device.memory().allocate(AllocationDesc::new(name, bytes)).unwrap().range.start
    }

    pub(crate) fn read_only(&mut self, name: &str) -> GpuAddress {
        let desc = AllocationDesc::new(name, 4096).read_only();
        self.device.memory().allocate(desc).unwrap().range.start
    }

    pub(crate) fn load(&mut self, kernel: Kernel) -> LoadedKernel {
        self.device.load_kernel(Arc::new(kernel)).unwrap()
    }

    /// Starts a list for a queue.
    pub(crate) fn list(&self, kind: QueueKind) -> List {
        List { generation: self.generation, kind, words: Vec::new() }
    }

    /// Puts words in memory.
    pub(crate) fn place(&mut self, words: &[u32]) -> GpuRange {
        let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
        let at = self.buffer("commands", bytes.len().max(4) as u64);
        self.device.host_write(at, &bytes).unwrap();
        GpuRange::new(at, bytes.len() as u64)
    }

    pub(crate) fn submit(&mut self, list: List) -> SubmitId {
        let queue = self.queue(list.kind);
        let range = self.place(&list.words);
        self.device.submit(queue, range).unwrap()
    }

    pub(crate) fn run(&mut self) -> Outcome {
        self.device.run()
    }

    pub(crate) fn run_idle(&mut self) {
        assert_eq!(self.run(), Outcome::Idle, "{:?}", self.device.faults());
        assert_eq!(self.device.faults(), []);
    }

    pub(crate) fn u32(&self, at: GpuAddress) -> u32 {
        let mut bytes = [0; 4];
        self.device.host_read(at, &mut bytes).unwrap();
        u32::from_le_bytes(bytes)
    }

    pub(crate) fn u64(&self, at: GpuAddress) -> u64 {
        let mut bytes = [0; 8];
        self.device.host_read(at, &mut bytes).unwrap();
        u64::from_le_bytes(bytes)
    }

    /// The list a fake kernel left: a count, then as many words.
    pub(crate) fn listed(&self, at: GpuAddress) -> Vec<u32> {
        let count = u64::from(self.u32(at));
        (1..=count).map(|i| self.u32(at.offset(i * 4))).collect()
    }
}

/// A command buffer being built.
#[derive(Clone)]
pub(crate) struct List {
    pub(crate) generation: Generation,
    pub(crate) kind: QueueKind,
    pub(crate) words: Vec<u32>,
}

/// Fields of a packet with their values.
pub(crate) type Fields<'a> = &'a [(Field, u64)];

impl List {
    /// Another list for the same queue.
    pub(crate) fn clone_empty(&self) -> Self {
        Self { words: Vec::new(), ..self.clone() }
    }

    pub(crate) fn ring(&self) -> Ring {
        ring_of(self.kind)
    }

    fn encode(&self, kind: Kind, fields: Fields<'_>, body: &[u32]) -> Vec<u32> {
        let mut b = Packet::build(kind, self.generation, self.ring());
        for &(field, value) in fields {
            b = b.set(field, value);
        }
        b.body(body).encode()
    }

    pub(crate) fn packet(self, kind: Kind, fields: Fields<'_>) -> Self {
        self.packet_with(kind, fields, &[])
    }

    pub(crate) fn packet_with(mut self, kind: Kind, fields: Fields<'_>, body: &[u32]) -> Self {
        let words = self.encode(kind, fields, body);
        self.words.extend(words);
        self
    }

    pub(crate) fn set_sh(self, first: u32, values: &[u32]) -> Self {
        let offset = u64::from(reg::sh_offset(first));
        self.packet_with(Kind::SetShReg, &[(Field::RegOffset, offset)], values)
    }

    /// Binds a kernel and its data.
    pub(crate) fn bind(self, kernel: LoadedKernel, size: [u32; 3], table: GpuAddress) -> Self {
        let code = kernel.code.0 >> 8;
        self.set_sh(reg::COMPUTE_PGM_LO, &[code as u32, (code >> 32) as u32])
            .set_sh(reg::COMPUTE_NUM_THREAD_X, &size)
            .set_sh(reg::COMPUTE_USER_DATA_0, &[table.lo(), table.hi()])
    }

    pub(crate) fn constant(self, value: u32) -> Self {
        self.set_sh(reg::COMPUTE_USER_DATA_2, &[value])
    }

    /// DISPATCH_DIRECT; bit 0 of the initiator is set here.
    pub(crate) fn dispatch(self, dims: [u32; 3], initiator: u32) -> Self {
        self.packet(
            Kind::DispatchDirect,
            &[
                (Field::DimX, dims[0].into()),
                (Field::DimY, dims[1].into()),
                (Field::DimZ, dims[2].into()),
                (Field::Initiator, u64::from(initiator | 1)),
            ],
        )
    }

    /// An end-of-pipe or DMA fence write of 4 or 8 bytes.
    pub(crate) fn signal(self, at: GpuAddress, value: u64, bytes: u8) -> Self {
        let data = (Field::Data, value);
        let addr = (Field::Addr, at.0);
        if self.ring() == Ring::Sdma {
            let kind = if bytes == 8 { Kind::SdmaFence64 } else { Kind::SdmaFence };
            return self.packet(kind, &[addr, data]);
        }
        let select = if bytes == 8 { data_sel::DATA_64 } else { data_sel::DATA_32 };
        self.release(select, &[addr, data])
    }

    /// A bottom-of-pipe event in the form this queue has.
    pub(crate) fn release(self, select: u8, more: Fields<'_>) -> Self {
        let gfx7 = self.generation != Generation::Gfx10_3;
        let eop = gfx7 && self.ring() == Ring::Graphics;
        let kind = if eop { Kind::EventWriteEop } else { Kind::ReleaseMem };
        let mut fields = vec![
            (Field::EventType, events::BOTTOM_OF_PIPE_TS.into()),
            (Field::EventIndex, events::index::END_OF_PIPE.into()),
            (Field::DataSel, select.into()),
            (Field::IntSel, int_sel::NONE.into()),
        ];
        for &(field, value) in more {
            fields.retain(|f| f.0 != field);
            fields.push((field, value));
        }
        self.packet(kind, &fields)
    }

    /// A wait for memory.
    pub(crate) fn wait(self, at: GpuAddress, function: u8, value: u64, bytes: u8) -> Self {
        self.wait_masked(at, function, value, u64::MAX, bytes)
    }

    pub(crate) fn wait_masked(
        self,
        at: GpuAddress,
        function: u8,
        value: u64,
        mask: u64,
        bytes: u8,
    ) -> Self {
        let mask = if bytes == 8 { mask } else { mask & 0xFFFF_FFFF };
        let mut fields = vec![
            (Field::Addr, at.0),
            (Field::Function, function.into()),
            (Field::Reference, value),
            (Field::Mask, mask),
        ];
        let kind = match (self.ring(), bytes) {
            (Ring::Sdma, 8) => {
                fields.push((Field::RetryCount, 0xFFF));
                Kind::SdmaPollMem64
            }
            (Ring::Sdma, _) => {
                fields.extend([(Field::RetryCount, 0xFFF), (Field::MemPoll, 1)]);
                Kind::SdmaPollRegMem
            }
            (Ring::Graphics | Ring::Compute, 8) => {
                fields.push((Field::MemSpace, sel::mem_space::MEMORY.into()));
                Kind::WaitRegMem64
            }
            (Ring::Graphics | Ring::Compute, _) => {
                fields.push((Field::MemSpace, sel::mem_space::MEMORY.into()));
                Kind::WaitRegMem
            }
        };
        self.packet(kind, &fields)
    }

    /// Writes a dword at the top of the pipe.
    pub(crate) fn write(self, at: GpuAddress, words: &[u32]) -> Self {
        if self.ring() == Ring::Sdma {
            return self.packet_with(Kind::SdmaWriteLinear, &[(Field::Dst, at.0)], words);
        }
        let dst = (Field::DstSel, sel::write_dst::MEMORY.into());
        self.packet_with(Kind::WriteData, &[dst, (Field::Addr, at.0)], words)
    }

    pub(crate) fn flush_cs(self) -> Self {
        self.packet(
            Kind::EventWrite,
            &[
                (Field::EventType, events::CS_PARTIAL_FLUSH.into()),
                (Field::EventIndex, events::index::PARTIAL_FLUSH.into()),
            ],
        )
    }
}
