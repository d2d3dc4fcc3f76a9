//! The device as the API layer sees it.

mod checkpoint;

use crate::clock::Clock;
use crate::code::{CODE_ALIGNMENT, LoadedKernel, code_object};
use crate::core::Core;
use crate::desc::{DeviceDesc, Outcome, QueueKind, RunMode};
use crate::fast::{self, Pool};
use crate::model::{self, Engines};
use crate::queue::Queue;
use crate::ring::{RING_BYTES, RingBuffer};
use crate::stall;
use crate::work::Work as ModelWork;
use std::fmt;
use std::sync::Arc;
use wavefence_base::stall::PastWrite;
use wavefence_base::{
    Budget, Event, Fault, GpuAddress, GpuRange, HostTurn, Limit, Observer, Printed, Profile,
    QueueId, Resource, Schedule, Stall, SubmitId, Writer,
};
use wavefence_memory::{AccessError, AddressSpace, AllocationDesc, AllocationError};
use wavefence_shader::ir::Kernel;

/// The shader work, by mode.
enum Work {
    Model(Box<ModelWork>),
    Fast(Box<Pool>),
}

/// One GPU: memory, queues, and what they have in flight.
pub struct Device {
    core: Core,
    engines: Engines,
    work: Work,
    space: Arc<AddressSpace>,
    /// By submission: true once done.
    submits: Vec<bool>,
    /// A run ended for good.
    over: Option<Outcome>,
    /// What to go back to.
    mark: Option<Box<checkpoint::Mark>>,
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Device")
            .field("profile", &self.core.profile.name)
            .field("queues", &self.engines.queues.len())
            .field("submits", &self.submits.len())
            .finish_non_exhaustive()
    }
}

fn allocation_limit(error: &AllocationError) -> Limit {
    match error {
        AllocationError::Limit(limit) => limit.clone(),
        other => Limit::memory(other.to_string()),
    }
}

impl Device {
    /// A device with empty memory and no queue.
    pub fn new(desc: DeviceDesc) -> Self {
        let space = Arc::new(AddressSpace::new(&desc.profile));
        let mode = desc.mode;
        let profile = desc.profile.clone();
        let core = Core::new(desc, space.clone());
        let work = match mode {
            RunMode::Model => Work::Model(Box::new(ModelWork::new(&profile, core.shared.clone()))),
            RunMode::Fast { threads } => Work::Fast(Box::new(Pool::new(threads, profile))),
        };
        let engines = Engines::default();
        Self { core, engines, work, space, submits: Vec::new(), over: None, mark: None }
    }

    /// The profile it was made from.
    pub fn profile(&self) -> &Profile {
        &self.core.profile
    }

    /// Its memory: allocate and free here.
    pub fn memory(&self) -> &Arc<AddressSpace> {
        &self.space
    }

    /// Adds an observer; it hears what happens from now on. In a fast run it is
    /// told of no thread groups.
    pub fn add_observer(&mut self, observer: Box<dyn Observer>) {
        self.core.observe(observer);
    }

    /// Opens a hardware queue.
    ///
    /// # Errors
    /// If the profile has no such queue, it is open already, or there is no
    /// memory for its ring.
    pub fn open_queue(&mut self, kind: QueueKind) -> Result<QueueId, Limit> {
        self.check_kind(kind)?;
        let id = QueueId(self.engines.queues.len() as u32);
        let name = format!("ring of {id} ({kind})");
        let ring = self
            .space
            .allocate(AllocationDesc::new(name, RING_BYTES))
            .map_err(|e| allocation_limit(&e))?;
        self.engines.add(Queue::new(id, kind, RingBuffer::new(ring.range)));
        Ok(id)
    }

    fn check_kind(&self, kind: QueueKind) -> Result<(), Limit> {
        let profile = &self.core.profile;
        let missing = match kind {
            QueueKind::Graphics => None,
            QueueKind::Compute { pipe, queue } => {
                let counts = profile.compute_queues.value;
                let there = counts.get(pipe as usize).is_some_and(|&n| queue < n);
                (!there).then(|| format!("its compute pipes have {counts:?} queues"))
            }
            QueueKind::Dma { engine } => {
                let count = profile.dma_engines.value;
                (engine >= count).then(|| format!("it has {count} DMA engines"))
            }
        };
        if let Some(why) = missing {
            return Err(Limit::unsupported(format!("{} has no {kind} queue: {why}", profile.name)));
        }
        if self.engines.queues.iter().any(|q| q.kind == kind) {
            return Err(Limit::unsupported(format!("the {kind} queue is open already")));
        }
        Ok(())
    }

    /// The kind of an open queue, `None` if there is no such queue.
    pub fn queue_kind(&self, queue: QueueId) -> Option<QueueKind> {
        self.engines.queues.get(queue.index()).map(|q| q.kind)
    }

    /// Writes a kernel's code object into GPU memory, as the host does, and keeps
    /// which kernel it is. The address goes into COMPUTE_PGM shifted right by 8.
    ///
    /// # Errors
    /// If there is no memory for it.
    pub fn load_kernel(&mut self, kernel: Arc<Kernel>) -> Result<LoadedKernel, Limit> {
        let id = self.core.kernels.add(kernel.clone());
        let code = code_object(&kernel, id);
        let mut desc =
            AllocationDesc::new(format!("code of `{}`", kernel.entry), code.len() as u64);
        desc.alignment = CODE_ALIGNMENT;
        let allocation = self.space.allocate(desc).map_err(|e| allocation_limit(&e))?;
        let at = allocation.range.start;
        self.host_write(at, &code).map_err(|e| Limit::memory(e.to_string()))?;
        Ok(LoadedKernel { id, code: at })
    }

    /// Hands a command buffer to a queue: writes the packet that runs it into
    /// the queue's ring and moves the write pointer. Nothing runs before
    /// [`Device::run`].
    ///
    /// # Errors
    /// If there is no such queue, the buffer cannot be named in the packet
    /// (alignment, length), or the ring is full.
    pub fn submit(&mut self, queue: QueueId, buffer: GpuRange) -> Result<SubmitId, Limit> {
        let generation = self.core.generation;
        let Some(q) = self.engines.queues.get_mut(queue.index()) else {
            return Err(Limit::unsupported(format!("there is no {queue} on this device")));
        };
        let pieces = q.fetch.ring.append(buffer, generation, q.ring)?;
        for (at, words) in &pieces {
            let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
            let written = self.space.host().write(*at, &bytes);
            written.map_err(|e| Limit::memory(format!("the ring of {queue} is gone: {e}")))?;
        }
        let submit = SubmitId(self.submits.len() as u32);
        q.fetch.ring.commit(&pieces, submit);
        self.core.touch_queue(queue, true);
        self.submits.push(false);
        self.core.emit(|| Event::Submit { submit, queue, buffer });
        Ok(submit)
    }

    /// True once every packet of a submission was executed and its work is done.
    pub fn submit_done(&self, submit: SubmitId) -> bool {
        self.submits.get(submit.index()).copied().unwrap_or(false)
    }

    /// Lets `schedule` choose what happens next in model runs, from now on; `None`: time
    /// alone does. Gives who chose before. A fast run asks nobody.
    ///
    /// A schedule that always takes the first option gives the run that time gives,
    /// but that a wave stops before each access that others can see: bytes, findings
    /// and verdicts of programs without races are the same, cycles and the order of
    /// events of different waves need not be. Times of steps that were passed over
    /// stay behind: a step is never taken before one that was taken earlier.
    pub fn set_schedule(
        &mut self,
        schedule: Option<Box<dyn Schedule>>,
    ) -> Option<Box<dyn Schedule>> {
        self.core.set_schedule(schedule)
    }

    /// Whether the owner of the device could go on while it runs: a schedule is then
    /// offered [`wavefence_base::Step::Host`], and taking it ends the run with
    /// [`Outcome::HostTurn`]. Without a schedule it makes no difference.
    pub fn set_host_turn(&mut self, turn: HostTurn) {
        self.core.host_turn = turn;
    }

    /// Runs until everything is done, nothing can move, or a limit is met.
    pub fn run(&mut self) -> Outcome {
        if let Some(over) = &self.over {
            return over.clone();
        }
        let done = match &mut self.work {
            Work::Model(work) => model::run(&mut self.core, &mut self.engines, work),
            Work::Fast(pool) => fast::run(&mut self.core, &mut self.engines, pool),
        };
        for submit in done {
            self.submits[submit.index()] = true;
        }
        if let Some(leaving) = self.core.leaving.take() {
            return leaving;
        }
        if let Some(mut ending) = self.core.ending.clone() {
            if let Some(budget) = self.core.over_budget {
                let stall = self.stall(Some(budget));
                // An engine that never ends its packets is no shader's doing.
                ending = match (stall.work.is_empty(), budget) {
                    (false, _) => Outcome::Blocked(stall),
                    (true, Budget::Instructions(n)) => {
                        let what = format!("the budget of {n} wave instructions ended");
                        Outcome::Limit(Limit::budget(what))
                    }
                    (true, Budget::Cycles(n)) => {
                        Outcome::Limit(Limit::budget(format!("the budget of {n} GPU cycles ended")))
                    }
                };
            }
            self.over = Some(ending.clone());
            return ending;
        }
        let held = self.engines.queues.iter().any(Queue::held);
        let stall = self.stall(None);
        if !held && stall.work.is_empty() {
            return Outcome::Idle;
        }
        Outcome::Blocked(stall)
    }

    /// What holds the device up.
    fn stall(&mut self, budget: Option<Budget>) -> Stall {
        let Self { core, engines, work, .. } = self;
        let ended = match work {
            Work::Model(work) => work.ended(),
            Work::Fast(pool) => pool.ended(),
        };
        let mut stuck = stall::StuckGroups::new(core, budget, ended);
        match work {
            Work::Model(work) => {
                let endless = work.is_endless();
                work.resident().into_iter().for_each(|group| stuck.add(group, endless));
            }
            Work::Fast(pool) => pool.for_each_parked(|group| stuck.add(group, false)),
        }
        let stuck = stuck.into_list();
        if stuck.is_empty() && budget.is_none() && !engines.queues.iter().any(Queue::held) {
            return Stall::default();
        }
        stall::explain(core, &engines.queues, stuck)
    }

    /// Takes what the host wrote to an address for its initial contents: no wait is told
    /// of it.
    pub fn forget_writes(&mut self, address: GpuAddress) {
        self.core.history.forget(address);
    }

    /// Writes of values to an address that are remembered, oldest first.
    pub fn past_writes(&self, address: GpuAddress) -> &[PastWrite] {
        self.core.history.of(address)
    }

    /// Faults so far, one per place, in the order of their first occurrence.
    pub fn faults(&self) -> &[Fault] {
        self.core.faults.list()
    }

    /// Lines that shaders printed, by dispatch, group and wave, those of a wave in
    /// the order it printed them; and how many more there were than are kept.
    pub fn printed(&self) -> (Vec<&Printed>, u64) {
        let mut lines: Vec<&Printed> = self.core.printed.iter().collect();
        let key = |p: &Printed| {
            let [x, y, z] = p.place.group.unwrap_or_default();
            (p.place.dispatch.map(|d| d.0), z, y, x, p.place.wave)
        };
        lines.sort_by_key(|p| key(p));
        (lines, self.core.shared.lines_lost())
    }

    /// Writes memory as the host.
    ///
    /// # Errors
    /// If the bytes do not all lie in live allocations; nothing was written.
    pub fn host_write(&mut self, at: GpuAddress, bytes: &[u8]) -> Result<(), AccessError> {
        self.core.bus.host_write(at, bytes)?;
        let value = match *bytes {
            [a, b, c, d] => Some(u64::from(u32::from_le_bytes([a, b, c, d]))),
            [a, b, c, d, e, f, g, h] => Some(u64::from_le_bytes([a, b, c, d, e, f, g, h])),
            [..] => None,
        };
        let range = GpuRange::new(at, bytes.len() as u64);
        match value {
            Some(value) => {
                let past = PastWrite { by: Writer::Host, packet: None, value, landed: true };
                self.core.history.record(at, past);
            }
            None => self.core.history.look(&mut self.core.bus, Some(range), Writer::Host, None),
        }
        self.core.emit(|| Event::HostWrite { range });
        Ok(())
    }

    /// Reads memory as the host.
    ///
    /// # Errors
    /// If the bytes do not all lie in live allocations; `out` is unchanged.
    pub fn host_read(&self, at: GpuAddress, out: &mut [u8]) -> Result<(), AccessError> {
        self.core.host_read(at, out)
    }

    /// The dword of the global data share at byte `offset`; `None` outside it.
    /// Ordered append counter `n` is its dword `n`.
    pub fn gds_read(&self, offset: u32) -> Option<u32> {
        self.core.shared.gds.read(offset)
    }

    /// Writes a dword of the global data share as the host; false outside it.
    pub fn gds_write(&mut self, offset: u32, value: u32) -> bool {
        self.core.touch(Resource::DataShare, true);
        self.core.shared.gds.write(offset, value)
    }

    #[cfg(test)]
    pub(crate) fn core_mut(&mut self) -> &mut Core {
        &mut self.core
    }

    fn clock(&self) -> &Clock {
        &self.core.shared.clock
    }

    /// GPU cycles that have passed in model runs; 0 in a fast run, which has no
    /// time.
    pub fn cycles(&self) -> u64 {
        self.core.now()
    }

    /// What a GPU timestamp would read now.
    pub fn gpu_clock(&self) -> u64 {
        self.clock().gpu()
    }

    /// What a system timestamp would read now.
    pub fn system_clock(&self) -> u64 {
        self.clock().system()
    }
}
