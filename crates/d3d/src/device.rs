//! The device: memory, pipelines, queues, submits and runs.

use crate::checkpoint::Mark;
use crate::error::{CallError, Error};
use crate::face::Face;
use crate::hang::RecordedLists;
use crate::hardware::Hardware;
use crate::list::{CommandList, ListKind};
use crate::names::Placed;
use crate::pipeline::Pipeline;
use crate::queue::{Fence, Queue, QueueKind};
use crate::report::Report;
use crate::resource::{Allocation, Buffer, DeviceTag, Texture, TextureDesc};
use crate::rules;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use wavefence_base::{
    Finding, GpuAddress, GpuRange, HostTurn, Limit, Observer, Profile, ProfileName, Rule, Schedule,
    Topology,
};
use wavefence_check::Checker;
use wavefence_gpu::Outcome;
pub use wavefence_gpu::{Limits, RunMode};
pub use wavefence_memory::AllocationDesc;
use wavefence_shader::ir::Kernel;
use wavefence_wave::exec::Executor;

/// Numbers devices, so that their objects do not mix. Never printed.
static NEXT_DEVICE: AtomicU64 = AtomicU64::new(1);

/// Bytes of a fence's value, with the alignment that 64-bit writes of every queue
/// ask for.
const FENCE_BYTES: u64 = 32;

/// How a device is made.
pub struct DeviceBuilder {
    profile: Profile,
    mode: RunMode,
    limits: Limits,
    executor: Option<Arc<dyn Executor>>,
    observers: Vec<Box<dyn Observer>>,
    stop_on_fault: bool,
    seed: u64,
    check: bool,
    dxc: Option<PathBuf>,
}

impl Default for DeviceBuilder {
    /// A model run of `series-x`.
    fn default() -> Self {
        Self {
            profile: Profile::get(ProfileName::SeriesX),
            mode: RunMode::Model,
            limits: Limits::default(),
            executor: None,
            observers: Vec::new(),
            stop_on_fault: false,
            seed: 0,
            check: false,
            dxc: None,
        }
    }
}

impl DeviceBuilder {
    /// Which console.
    pub fn profile(mut self, name: ProfileName) -> Self {
        self.profile = Profile::get(name);
        self
    }

    /// A profile of the caller's own.
    pub fn custom_profile(mut self, profile: Profile) -> Self {
        self.profile = profile;
        self
    }

    /// Model or fast run.
    pub fn mode(mut self, mode: RunMode) -> Self {
        self.mode = mode;
        self
    }

    /// What the device may use up before a run ends with a limit.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// What runs waves; the interpreter if none is given.
    pub fn executor(mut self, executor: Arc<dyn Executor>) -> Self {
        self.executor = Some(executor);
        self
    }

    /// Adds an observer.
    pub fn observer(mut self, observer: Box<dyn Observer>) -> Self {
        self.observers.push(observer);
        self
    }

    /// Ends a run at the first fault.
    pub fn stop_on_fault(mut self, stop: bool) -> Self {
        self.stop_on_fault = stop;
        self
    }

    /// Chooses the launch order where the hardware leaves it open.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Judges the run by the hazard rules: stale reads, missing write-backs, races,
    /// needless flushes. What is found stands in the report. A model run only.
    pub fn check(mut self, check: bool) -> Self {
        self.check = check;
        self
    }

    /// Where Microsoft's DXC is, for HLSL.
    pub fn dxc(mut self, path: impl Into<PathBuf>) -> Self {
        self.dxc = Some(path.into());
        self
    }

    /// Makes the device.
    ///
    /// # Errors
    /// What this host or version cannot do.
    pub fn build(mut self) -> Result<Device, Limit> {
        let checker = match (self.check, self.mode) {
            (false, _) => None,
            (true, RunMode::Model) => Some(Checker::new(Topology::of(&self.profile))),
            (true, RunMode::Fast { .. }) => {
                let message = "a fast run has no caches and no order to judge: check a model run";
                return Err(Limit::unsupported(message));
            }
        };
        if let Some(checker) = &checker {
            self.observers.push(Box::new(checker.clone()));
        }
        let profile = Arc::new(self.profile.clone());
        let desc = wavefence_gpu::DeviceDesc {
            profile: self.profile,
            mode: self.mode,
            executor: self.executor.unwrap_or_else(crate::hardware::default_executor),
            limits: self.limits,
            stop_on_fault: self.stop_on_fault,
            seed: self.seed,
        };
        let hardware = Hardware::new(desc, self.observers);
        Ok(Device {
            tag: DeviceTag { device: NEXT_DEVICE.fetch_add(1, Ordering::Relaxed), life: 0 },
            lives: Vec::new(),
            profile,
            hardware,
            dxc: self.dxc,
            queues: Vec::new(),
            pipelines: BTreeMap::new(),
            placed: BTreeMap::new(),
            by_list: BTreeMap::new(),
            recorded: RecordedLists::default(),
            next_list: 0,
            pool: None,
            advice: Vec::new(),
            checker,
            names: Vec::new(),
            last: None,
            mark: None,
        })
    }
}

/// What a run came to, in short.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Went {
    /// Everything submitted is done.
    Idle,
    /// Nothing can move; the host may help.
    Blocked,
    /// A limit ended it.
    Limit(Limit),
    /// It stopped at the first fault, as asked.
    Stopped,
    /// The schedule has given the host its turn; run again to go on.
    HostTurn,
    /// The schedule has seen enough. Not final.
    Enough,
}

/// Memory that small things of the device's own are cut from.
#[derive(Clone, Copy)]
pub(crate) struct Pool {
    base: GpuAddress,
    used: u64,
    bytes: u64,
}

/// A device of one console.
pub struct Device {
    pub(crate) tag: DeviceTag,
    /// Earlier lives of the device whose objects are still there.
    pub(crate) lives: Vec<u32>,
    pub(crate) profile: Arc<Profile>,
    pub(crate) hardware: Hardware,
    pub(crate) dxc: Option<PathBuf>,
    pub(crate) queues: Vec<Queue>,
    /// Pipelines by kernel number.
    pub(crate) pipelines: BTreeMap<u32, Pipeline>,
    /// Command buffers by first address.
    pub(crate) placed: BTreeMap<u64, Arc<Placed>>,
    /// Where a list lies for a queue: it has scratch words, which two queues that
    /// run it at once must not share.
    pub(crate) by_list: BTreeMap<(u64, u32), GpuAddress>,
    /// Lists that were closed and are still held by somebody.
    pub(crate) recorded: RecordedLists,
    pub(crate) next_list: u64,
    pub(crate) pool: Option<Pool>,
    pub(crate) advice: Vec<Finding>,
    pub(crate) checker: Option<Checker>,
    /// Names that callers gave to parts of allocations.
    pub(crate) names: Vec<(GpuRange, String)>,
    /// What the last run came to.
    pub(crate) last: Option<Outcome>,
    /// What to go back to.
    pub(crate) mark: Option<Mark>,
}

impl std::fmt::Debug for Device {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Device")
            .field("profile", &self.profile.name)
            .field("queues", &self.queues)
            .finish_non_exhaustive()
    }
}

impl Device {
    /// Starts a description.
    pub fn builder() -> DeviceBuilder {
        DeviceBuilder::default()
    }

    /// A model run of a console, with defaults.
    ///
    /// # Errors
    /// What this host or version cannot do.
    pub fn new(profile: ProfileName) -> Result<Self, Limit> {
        Self::builder().profile(profile).build()
    }

    /// The console.
    pub fn profile(&self) -> &Profile {
        &self.profile
    }

    /// Where the caller said that DXC is.
    pub fn dxc_path(&self) -> Option<&std::path::Path> {
        self.dxc.as_deref()
    }

    /// Allocates memory.
    ///
    /// # Errors
    /// What is wrong with the description, or a limit of this host.
    pub fn allocate(&mut self, desc: AllocationDesc) -> Result<Allocation, Error> {
        let made = self.hardware.allocate(desc)?;
        if let Some(checker) = &self.checker {
            // A console's memory holds whatever was there.
            checker.allocated(made.range, false);
        }
        Ok(Allocation {
            id: made.id,
            name: made.desc.name.as_str().into(),
            range: made.range,
            device: self.tag,
        })
    }

    /// Frees memory. Its name stays for reports of accesses that still go there.
    ///
    /// # Errors
    /// If it is gone already or holds others.
    pub fn free(&mut self, allocation: &Allocation) -> Result<(), Error> {
        self.mine(allocation.device, "Release", allocation.name())?;
        self.hardware.free(allocation.id)?;
        if let Some(checker) = &self.checker {
            checker.freed(allocation.range);
        }
        Ok(())
    }

    /// A buffer in memory of its own.
    ///
    /// # Errors
    /// As [`Device::allocate`].
    pub fn create_buffer(&mut self, name: &str, bytes: u64) -> Result<Buffer, Error> {
        let allocation = self.allocate(AllocationDesc::new(name, bytes))?;
        Ok(allocation.buffer(name, 0, bytes)?)
    }

    /// A buffer in memory of its own that holds `data`.
    ///
    /// # Errors
    /// As [`Device::allocate`].
    pub fn create_buffer_with(&mut self, name: &str, data: &[u8]) -> Result<Buffer, Error> {
        let buffer = self.create_buffer(name, data.len() as u64)?;
        self.write(buffer.address(), data)?;
        Ok(buffer)
    }

    /// Names memory for reports, as `SetName` does. Allocations, and buffers and
    /// textures that the device makes, have their names already; this is for
    /// resources placed in an allocation.
    pub fn set_name(&mut self, range: GpuRange, name: &str) {
        self.names.push((range, name.to_owned()));
    }

    /// A texture in memory of its own.
    ///
    /// # Errors
    /// As [`Device::allocate`].
    pub fn create_texture(&mut self, name: &str, desc: &TextureDesc) -> Result<Texture, Error> {
        let (_, bytes) = desc.image(name)?;
        let allocation = self.allocate(AllocationDesc::new(name, bytes))?;
        Ok(allocation.texture(name, 0, desc)?)
    }

    /// Writes memory from the host, now.
    ///
    /// # Errors
    /// If the bytes do not all lie in allocations.
    pub fn write(&mut self, address: GpuAddress, data: &[u8]) -> Result<(), Error> {
        self.hardware.host_write(address, data)
    }

    /// Reads memory from the host, now.
    ///
    /// # Errors
    /// If the bytes do not all lie in allocations.
    pub fn read(&self, address: GpuAddress, bytes: u64) -> Result<Vec<u8>, Error> {
        self.hardware.host_read(address, bytes)
    }

    /// As [`Device::read`], but no access: nobody hears of it.
    ///
    /// # Errors
    /// As [`Device::read`].
    pub fn peek(&self, address: GpuAddress, bytes: u64) -> Result<Vec<u8>, Error> {
        self.hardware.host_peek(address, bytes)
    }

    /// Reads dwords.
    ///
    /// # Errors
    /// As [`Device::read`].
    pub fn read_u32s(&self, address: GpuAddress, count: u64) -> Result<Vec<u32>, Error> {
        let bytes = self.read(address, count * 4)?;
        Ok(bytes.chunks_exact(4).map(|c| u32::from_le_bytes([c[0], c[1], c[2], c[3]])).collect())
    }

    /// Reads 64 bits.
    ///
    /// # Errors
    /// As [`Device::read`].
    pub fn read_u64(&self, address: GpuAddress) -> Result<u64, Error> {
        let words = self.read_u32s(address, 2)?;
        Ok(u64::from(words[1]) << 32 | u64::from(words[0]))
    }

    /// Writes dwords.
    ///
    /// # Errors
    /// As [`Device::write`].
    pub fn write_u32s(&mut self, address: GpuAddress, words: &[u32]) -> Result<(), Error> {
        let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
        self.write(address, &bytes)
    }

    /// GPU cycles that have passed in model runs; 0 in a fast run, which has no time.
    pub fn cycles(&self) -> u64 {
        self.hardware.cycles()
    }

    /// The dwords of the global data share from byte `offset`, for tests.
    pub fn gds_dword(&self, offset: u32) -> Option<u32> {
        self.hardware.gds_dword(offset)
    }

    /// Loads a kernel: `CreateComputePipelineState`.
    ///
    /// # Errors
    /// A limit of this host or version.
    pub fn create_pipeline(&mut self, name: &str, kernel: Arc<Kernel>) -> Result<Pipeline, Error> {
        let loaded = self.hardware.load_kernel(kernel.clone())?;
        let name: Arc<str> = name.into();
        let (id, code, device) = (loaded.id, loaded.code, self.tag);
        let pipeline = Pipeline { name, kernel, id, code, device, warnings: Arc::new([]) };
        self.pipelines.insert(id.0, pipeline.clone());
        Ok(pipeline)
    }

    /// An empty list.
    pub fn create_command_list(&mut self, name: &str, kind: ListKind) -> CommandList {
        self.list(name, kind, Face::D3D12X)
    }

    /// A context of the D3D11.X face: `ID3D11DeviceContextX` for graphics,
    /// `ID3D11ComputeContextX` for compute. Its calls are kept as a list that is
    /// executed as lists of D3D12.X are.
    ///
    /// # Errors
    /// On a Series profile, which has no such face, and for DMA.
    pub fn create_context_x(&mut self, name: &str, kind: ListKind) -> Result<CommandList, Error> {
        let call = match kind {
            ListKind::Graphics => "GetImmediateContextX",
            ListKind::Compute => "CreateComputeContextX",
            ListKind::Dma => {
                let message = "contexts of D3D11.X here are graphics or compute; record copies \
                               for a DMA engine in a D3D12.X list";
                let (rule, call) = (&rules::LIST_KIND, "CreateDmaEngineContext");
                return Err(call_error(rule, call, "", "", message.into()));
            }
        };
        check_d3d11_face(&self.profile, call)?;
        Ok(self.list(name, kind, Face::D3D11X))
    }

    fn list(&mut self, name: &str, kind: ListKind, face: Face) -> CommandList {
        self.next_list += 1;
        CommandList::new(
            self.next_list,
            name,
            (kind, face),
            self.profile.clone(),
            self.tag,
            self.recorded.clone(),
        )
    }

    /// Opens a hardware queue; opened before, the same one.
    ///
    /// # Errors
    /// If the profile has no such queue.
    pub fn open_queue(&mut self, kind: QueueKind, name: &str) -> Result<Queue, Error> {
        if let Some(queue) = self.queues.iter().find(|q| q.kind == kind) {
            return Ok(queue.clone());
        }
        if let Some(message) = self.no_such_queue(kind) {
            let rule = &rules::QUEUE_EXISTS;
            return Err(call_error(rule, "CreateCommandQueue", "Desc", &kind.to_string(), message));
        }
        let id = self.hardware.open_queue(kind)?;
        let queue = Queue { id, kind, name: name.into(), device: self.tag };
        self.queues.push(queue.clone());
        Ok(queue)
    }

    /// The graphics queue.
    ///
    /// # Errors
    /// As [`Device::open_queue`].
    pub fn graphics_queue(&mut self) -> Result<Queue, Error> {
        self.open_queue(QueueKind::Graphics, "graphics")
    }

    /// A compute queue.
    ///
    /// # Errors
    /// As [`Device::open_queue`].
    pub fn compute_queue(&mut self, pipe: u32, queue: u32) -> Result<Queue, Error> {
        let kind = QueueKind::Compute { pipe, queue };
        self.open_queue(kind, &kind.to_string())
    }

    /// A DMA engine's queue.
    ///
    /// # Errors
    /// As [`Device::open_queue`].
    pub fn dma_queue(&mut self, engine: u32) -> Result<Queue, Error> {
        let kind = QueueKind::Dma { engine };
        self.open_queue(kind, &kind.to_string())
    }

    fn no_such_queue(&self, kind: QueueKind) -> Option<String> {
        let profile = &self.profile;
        match kind {
            QueueKind::Graphics => None,
            QueueKind::Compute { pipe, queue } => {
                let pipes = profile.compute_queues.value;
                match pipes.get(pipe as usize) {
                    None => Some(format!("{} has {} compute pipes", profile.name, pipes.len())),
                    Some(&queues) if queue >= queues => {
                        Some(format!("pipe {pipe} of {} has {queues} queues, from 0", profile.name))
                    }
                    Some(_) => None,
                }
            }
            QueueKind::Dma { engine } => {
                let engines = profile.dma_engines.value;
                (engine >= engines)
                    .then(|| format!("{} has {engines} DMA engines, from 0", profile.name))
            }
        }
    }

    /// A fence with value 0.
    ///
    /// # Errors
    /// As [`Device::allocate`].
    pub fn create_fence(&mut self, name: &str, initial: u64) -> Result<Fence, Error> {
        let allocation = self.allocate(AllocationDesc {
            alignment: FENCE_BYTES,
            ..AllocationDesc::new(format!("fence \"{name}\""), FENCE_BYTES)
        })?;
        self.write(allocation.address(), &initial.to_le_bytes())?;
        self.hardware.forget_writes(allocation.address());
        Ok(Fence { name: name.into(), address: allocation.address(), device: self.tag })
    }

    /// Hands closed lists to a queue, in order.
    ///
    /// # Errors
    /// If a list is open, wrong or of another kind; then none was submitted.
    pub fn execute_command_lists(
        &mut self,
        queue: &Queue,
        lists: &[&CommandList],
    ) -> Result<(), Error> {
        const CALL: &str = "ExecuteCommandLists";
        self.mine(queue.device, CALL, queue.name())?;
        for list in lists {
            self.mine(list.device, CALL, list.name())?;
            if let Some((name, gone)) = list.uses.iter().find(|(_, life)| !self.lives(*life)) {
                self.mine(*gone, CALL, name)?;
            }
            let value = format!("\"{}\"", list.name());
            if list.kind() != queue.list_kind() {
                let message = format!(
                    "is a {} list; queue \"{}\" runs {} lists",
                    list.kind(),
                    queue.name(),
                    queue.list_kind()
                );
                let rule = &rules::QUEUE_KIND;
                return Err(call_error(rule, CALL, "ppCommandLists", &value, message));
            }
            if !list.is_closed() {
                let message = match list.errors().len() {
                    0 => "is still open; close it first".into(),
                    n => format!("has {n} wrong calls; Close tells them"),
                };
                return Err(call_error(&rules::LIST_OPEN, CALL, "ppCommandLists", &value, message));
            }
        }
        for list in lists {
            let base = self.place_list(queue, list)?;
            for (offset, bytes) in list.encoder.pieces() {
                self.hardware.submit(queue.id, GpuRange::new(base.offset(offset), bytes))?;
            }
        }
        Ok(())
    }

    /// True if the list of that number was given to a queue.
    pub(crate) fn was_executed(&self, list: u64) -> bool {
        self.by_list.range((list, 0)..=(list, u32::MAX)).next().is_some()
    }

    /// Puts a list into GPU memory for a queue, once.
    fn place_list(&mut self, queue: &Queue, list: &CommandList) -> Result<GpuAddress, Error> {
        let key = (list.id, queue.id.0);
        if let Some(&base) = self.by_list.get(&key) {
            return Ok(base);
        }
        if !self.was_executed(list.id) {
            self.advice.extend(list.advice().iter().cloned());
        }
        let layout = list.encoder.layout();
        let base = self.own_memory(&format!("command list \"{}\"", list.name()), layout.total)?;
        self.write(base, &list.encoder.place(base))?;
        let placed = Placed::list(list);
        self.placed.insert(base.0, Arc::new(placed));
        self.by_list.insert(key, base);
        Ok(base)
    }

    /// Memory of the device's own; small pieces share an allocation.
    pub(crate) fn own_memory(&mut self, name: &str, bytes: u64) -> Result<GpuAddress, Error> {
        const POOL: u64 = 64 << 10;
        const SMALL: u64 = 4 << 10;
        const ALIGNMENT: u64 = 256;
        if bytes > SMALL {
            let desc = AllocationDesc { alignment: ALIGNMENT, ..AllocationDesc::new(name, bytes) };
            return Ok(self.allocate(desc)?.address());
        }
        let room = |p: &Pool| p.bytes - p.used >= bytes;
        if !self.pool.as_ref().is_some_and(room) {
            let allocation = self.allocate(AllocationDesc::new("command buffers", POOL))?;
            self.pool = Some(Pool { base: allocation.address(), used: 0, bytes: POOL });
        }
        let Some(pool) = &mut self.pool else {
            return Err(Limit::memory("no memory for command buffers").into());
        };
        let address = pool.base.offset(pool.used);
        pool.used = (pool.used + bytes).next_multiple_of(ALIGNMENT).min(pool.bytes);
        Ok(address)
    }

    pub(crate) fn mine(&self, tag: DeviceTag, call: &'static str, name: &str) -> Result<(), Error> {
        let message = if tag.device != self.tag.device {
            "belongs to another device".to_owned()
        } else if !self.lives(tag) {
            "is gone: it was made after the checkpoint that the device went back to".to_owned()
        } else {
            return Ok(());
        };
        Err(call_error(&rules::FENCE_DEVICE, call, "", &format!("\"{name}\""), message))
    }

    /// Runs until everything submitted is done or nothing can move.
    pub fn run(&mut self) -> Report {
        self.run_only();
        self.report_now()
    }

    /// As [`Device::run`], without the report; see [`Device::report_now`].
    pub fn run_only(&mut self) -> Went {
        let outcome = self.hardware.run();
        let went = match &outcome {
            Outcome::Idle => Went::Idle,
            Outcome::Blocked(_) => Went::Blocked,
            Outcome::Limit(limit) => Went::Limit(limit.clone()),
            Outcome::Stopped(_) => Went::Stopped,
            Outcome::HostTurn => Went::HostTurn,
            Outcome::Enough => Went::Enough,
        };
        self.last = Some(outcome);
        went
    }

    /// Lets `schedule` choose what happens next in model runs from now on; `None`: time
    /// alone does. See [`wavefence_gpu::Device::set_schedule`].
    pub fn set_schedule(&mut self, schedule: Option<Box<dyn Schedule>>) {
        self.hardware.set_schedule(schedule);
    }

    /// Whether the host could take its next step while the device runs: a schedule may
    /// then give it its turn, which ends the run with [`Went::HostTurn`].
    pub fn set_host_turn(&mut self, turn: HostTurn) {
        self.hardware.set_host_turn(turn);
    }

    /// What the last run came to and everything found so far, in the API's words.
    pub fn report_now(&self) -> Report {
        self.report(self.last.as_ref().unwrap_or(&Outcome::Idle))
    }

    /// True if nothing was found wrong so far: no fault, no proven or possible
    /// hazard. Advice and hangs do not count.
    pub fn is_clean(&self) -> bool {
        self.hardware.faults().is_empty() && self.checker.as_ref().is_none_or(Checker::is_clean)
    }
}

/// An error of a call on a device or queue.
pub(crate) fn call_error(
    rule: &'static Rule,
    call: &'static str,
    argument: &str,
    value: &str,
    message: String,
) -> Error {
    CallError {
        rule,
        list: String::new(),
        index: 0,
        call,
        argument: argument.to_owned(),
        value: value.to_owned(),
        message,
    }
    .into()
}

/// Refuses the D3D11.X face where it does not exist: it belongs to the Xbox One
/// family.
///
/// # Errors
/// On a Series profile.
pub fn check_d3d11_face(profile: &Profile, call: &'static str) -> Result<(), Error> {
    match profile.family {
        wavefence_base::Family::XboxOne => Ok(()),
        wavefence_base::Family::Series => {
            let message = format!(
                "the D3D11.X face does not exist on {}; use its D3D12.X call",
                profile.name
            );
            Err(call_error(&rules::FACE_FAMILY, call, "", "", message))
        }
    }
}
