//! The face that the dispatcher sees: prepare a kernel, start waves, run them.

use std::sync::Arc;
use wavefence_base::{GpuAddress, LaneMask, Limit, OpFamily, WaveSize};
use wavefence_memory::port::{Path, Port};
use wavefence_shader::ir::{AtomicOp, Kernel, Label};

/// What is the same for every wave of a dispatch.
#[derive(Clone, Debug)]
pub struct Dispatch {
    /// Groups in each dimension (`SV_GroupID` runs from the start to here).
    pub groups: [u32; 3],
    /// Table of descriptors in GPU memory, 64 bytes each, one per slot.
    pub table: GpuAddress,
    /// User data registers after the table address: root constants.
    pub user_data: [u32; 14],
}

/// What differs between the waves of a dispatch.
#[derive(Clone, Copy, Debug)]
pub struct Launch {
    /// The group's id.
    pub group: [u32; 3],
    /// Threads of the group that exist, per dimension (smaller than the
    /// kernel's group size in a partial group).
    pub threads: [u32; 3],
    /// Index of this wave in the group; its first thread is this times the wave
    /// size. The threads that exist are numbered x first, then y, then z, without
    /// gaps, so a partial group has fewer waves. (`SV_GroupIndex` still counts by
    /// the kernel's group size.)
    pub wave: u32,
    /// Ordered-append id, if the dispatch hands them out.
    pub ordered_id: Option<u64>,
}

/// Why a wave stopped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stop {
    /// All lanes returned.
    End,
    /// At a group barrier; goes on when all waves of the group have come.
    /// `divergent` is true if some live lanes did not reach it.
    Barrier {
        /// Some live lanes are elsewhere.
        divergent: bool,
        /// Source line index.
        loc: u32,
    },
    /// At an ordered operation whose turn has not come; run again later.
    Ordered,
    /// The budget ended; run again to go on. Also at a loop's back edge if the
    /// caller asked to yield there.
    Budget {
        /// Source line index of the loop it is in, 0 if none.
        loc: u32,
    },
    /// Before an access that others can see, as [`Env::pause`] asked; run again to
    /// make it.
    Access,
}

/// What a wave needs from the device beyond memory.
pub trait Services {
    /// Adds `sum` to ordered counter `counter` if it is `id`'s turn; gives the
    /// old value, or `None` if the turn has not come.
    fn ordered_add(&mut self, id: u64, counter: u32, sum: u32) -> Option<u32>;
    /// Atomic on the global data share; gives the old value. Out of range: 0,
    /// nothing written.
    fn gds(&mut self, op: AtomicOp, offset: u32, value: u32, compare: u32) -> u32;
    /// GPU clock.
    fn clock(&mut self) -> u64;
    /// The lanes came by a breakpoint of the source, at that source line index.
    fn debug_break(&mut self, lanes: LaneMask, loc: u32);
    /// A lane printed a line, at that source line index. Lanes of one instruction
    /// print upwards.
    fn debug_print(&mut self, lane: u32, loc: u32, text: String);
}

/// What a wave runs against.
pub struct Env<'a> {
    /// Memory.
    pub port: &'a mut dyn Port,
    /// The group's shared memory, `lds_bytes` rounded up to words.
    pub lds: &'a mut [u32],
    /// The rest.
    pub services: &'a mut dyn Services,
    /// Instructions this run may still take; counted down.
    pub budget: &'a mut u64,
    /// Make one access at most that others can see: to memory outside the group
    /// and the wave, to the data share, or a device-memory barrier. The wave stops
    /// before the next. An engine that cannot stop there runs on.
    pub pause: bool,
}

/// Instructions that a wave has issued, by family ([`OpFamily::ALL`]). What they take
/// is for the device to say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Issued([u32; Self::ROOM]);

impl Issued {
    /// As many as go into one register of the host.
    const ROOM: usize = 8;

    /// `count` of one family.
    pub fn of(family: OpFamily, count: u32) -> Self {
        let mut new = Self::default();
        new.0[family.index()] = count;
        new
    }

    /// One instruction.
    pub fn one(family: OpFamily) -> Self {
        Self::of(family, 1)
    }

    /// How many of a family.
    pub fn count(&self, family: OpFamily) -> u32 {
        self.0[family.index()]
    }

    /// Adds more. A wave is stopped long before a number wraps.
    #[inline]
    pub fn add(&mut self, more: &Self) {
        for (sum, n) in self.0.iter_mut().zip(&more.0) {
            *sum = sum.wrapping_add(*n);
        }
    }
}

/// Turns kernels into programs. Shared by all threads of a device.
pub trait Executor: Send + Sync {
    /// Name for reports (`interpreter`).
    fn name(&self) -> &'static str;

    /// Makes a program for one wave size; done once per kernel and size.
    ///
    /// # Errors
    /// A [`Limit`] if the kernel needs something this engine does not have.
    fn prepare(&self, kernel: &Arc<Kernel>, size: WaveSize) -> Result<Arc<dyn Program>, Limit>;
}

/// A kernel made ready for one wave size.
pub trait Program: Send + Sync {
    /// The kernel.
    fn kernel(&self) -> &Arc<Kernel>;

    /// The wave size.
    fn wave_size(&self) -> WaveSize;

    /// A state that can be started; allocate once and re-use.
    fn new_wave(&self) -> Box<dyn Wave>;

    /// Vector registers that a wave of it holds, which bounds how many fit on a
    /// compute unit. An estimate: what this engine's own allocator needs, not what
    /// the console's compiler does. 0 where the engine does not know.
    fn vector_registers(&self) -> u32 {
        0
    }
}

/// The state of one wave of a [`Program`].
pub trait Wave: Send {
    /// Makes this the wave `launch` of `dispatch`, at the kernel's start.
    /// Descriptors are read through `port`'s scalar path.
    fn start(&mut self, dispatch: &Dispatch, launch: &Launch, port: &mut dyn Port);

    /// Runs until something stops it.
    fn run(&mut self, env: &mut Env<'_>) -> Stop;

    /// What this engine could not do, if that is why the wave ended: an image
    /// operation that does not go with its descriptors. Asked after
    /// [`Stop::End`].
    fn refused(&self) -> Option<&Limit> {
        None
    }

    /// What it has issued since the last call or its start; `None` if this engine
    /// does not tell families apart.
    fn take_issued(&mut self) -> Option<Issued> {
        None
    }

    /// A digest of all that decides what this wave does next, but for memory and
    /// group-shared memory: place, registers, masks, private memory. Two states of
    /// one wave with the same digest are taken for the same. `None` if this engine
    /// cannot tell.
    fn digest(&self) -> Option<u128> {
        None
    }

    /// The lanes that run.
    fn exec(&self) -> Option<LaneMask> {
        None
    }

    /// The loop of [`Kernel::loops`] at whose back edge it stopped last
    /// ([`Stop::Budget`]); `None` if it stopped at none or the engine cannot tell.
    fn back_edge(&self) -> Option<Label> {
        None
    }

    /// What the ways out of a loop of [`Kernel::loops`] depend on, for a wave that
    /// stopped at a back edge. `lds` is the group's shared memory; `peek` reads
    /// memory as the wave would, false where there is none.
    fn why_looping(
        &self,
        label: Label,
        lds: &[u32],
        peek: &mut dyn FnMut(Path, GpuAddress, &mut [u8]) -> bool,
    ) -> Option<Looping> {
        let _ = (label, lds, peek);
        None
    }
}

/// What the ways out of a loop depend on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Looping {
    /// Source line index of the loop.
    pub loc: u32,
    /// The lowest lane in it.
    pub lane: u32,
    /// When a lane leaves it, in words, with the source line index; one for each way
    /// out.
    pub exits: Vec<(String, u32)>,
    /// The values in memory that decide, those that the loop itself loads first.
    pub values: Vec<LoopLoad>,
}

/// A value in memory that decides whether a loop goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoopLoad {
    /// Name of the resource; empty for memory by address.
    pub resource: String,
    /// Source line index of the load.
    pub loc: u32,
    /// Which way it is read.
    pub path: Path,
    /// Where it lies.
    pub address: GpuAddress,
    /// 1, 2, 4 or 8.
    pub bytes: u8,
    /// What `peek` found there.
    pub value: u64,
}
