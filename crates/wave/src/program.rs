//! From a kernel's tree to linear steps for one wave size.
//!
//! - `uniform`: which registers hold one value for all active lanes, and which
//!   constructs part lanes.
//! - `flatten`: the tree to a list of nodes with jump targets and mask slots.
//! - `fuse`: fewer and cheaper lane ops; `pack`: conditions as bits.
//! - `live`, `alloc`: where each register lies in the file.
//! - `emit`: nodes to steps; runs of lane ops become one step. `issue` says what
//!   each stands for on the hardware.

mod alloc;
mod check;
mod emit;
mod flatten;
mod fuse;
mod issue;
mod live;
mod pack;
mod uniform;

use crate::exec::Issued;
use crate::simd::{Code, Isa, Loc, Offsets, bits};
use std::sync::Arc;
use wavefence_base::{GpuAddress, Limit, WaveSize};
use wavefence_memory::port::{Access, Path};
use wavefence_shader::ir::{
    Addr, Builtin, Inst, Kernel, Label, Order, Reg, ResourceKind, ResourceRef, Space, Ty,
};

/// Where to go: an index into the steps once emitted.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Target(pub u32);

/// One step of a program. "Slots" hold masks of lanes that wait somewhere.
///
/// No step but [`End`](Step::End) runs without lanes: what takes the last lane
/// away jumps to its `empty` target, where some construct takes its own back.
///
/// The representation is fixed so that the tag is a byte of its own, quick to
/// branch on.
#[derive(Clone, PartialEq, Debug)]
#[repr(u8)]
pub enum Step {
    /// Lane ops of the code.
    Ops {
        /// First op.
        first: u32,
        /// After the last.
        end: u32,
    },
    /// Keeps the exec mask in a slot.
    Save {
        /// The slot.
        slot: u32,
    },
    /// Keeps the exec mask in `slot`; goes on with the lanes where `cond` holds
    /// and keeps the others in the next slot if there is an else part.
    If {
        /// A `Bool` register.
        cond: Reg,
        /// The slot.
        slot: u32,
        /// Lanes for an else part are kept in `slot + 1`.
        has_else: bool,
        /// Where to go if no lane is left.
        empty: Target,
    },
    /// Takes the lanes from a slot.
    Restore {
        /// The slot.
        slot: u32,
        /// Where to go if no lane is left.
        empty: Target,
    },
    /// Jumps, all lanes or none.
    JumpIf {
        /// A uniform `Bool` register.
        cond: Reg,
        /// Jump if it is this.
        when: bool,
        /// Where to.
        target: Target,
    },
    /// Jumps.
    Jump {
        /// Where to.
        target: Target,
    },
    /// To the head of a loop; counts the budget.
    Back {
        /// The head.
        head: Target,
        /// Source line index.
        loc: u32,
        /// Which loop.
        label: Label,
    },
    /// Takes the lanes where `cond` is `when` (or all) out of slots
    /// `first..end` and of the exec mask.
    Leave {
        /// Which lanes.
        cond: Option<(Reg, bool)>,
        /// First slot.
        first: u32,
        /// After the last slot.
        end: u32,
        /// They will not come back: the lanes return.
        returns: bool,
        /// Where to go if no lane is left.
        empty: Target,
    },
    /// Keeps the exec mask in `slot`, sorts the lanes into slots by selector
    /// value, and goes on without lanes.
    Switch {
        /// The selector.
        selector: Reg,
        /// The slot; lanes that match nothing wait here.
        slot: u32,
        /// Value and slot.
        cases: Vec<(u64, u32)>,
        /// Slot of the default.
        default: Option<u32>,
    },
    /// Adds the lanes of a slot.
    Case {
        /// The slot.
        slot: u32,
        /// Where to go if there is still no lane.
        empty: Target,
    },
    /// As a uniform selector says.
    Select {
        /// The selector, uniform.
        selector: Reg,
        /// Value and target.
        cases: Vec<(u64, Target)>,
        /// Where to go else.
        other: Target,
    },
    /// A plain load: index into [`Flat::accesses`].
    Load(u32),
    /// A plain store, likewise.
    Store(u32),
    /// A load of another width than 32 bits, or by address: likewise.
    LoadSized(u32),
    /// Such a store.
    StoreSized(u32),
    /// Another instruction: index into [`Flat::insts`].
    Inst(u32),
    /// The wave is done.
    End,
}

/// The memory of a plain access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// Group-shared.
    Lds {
        /// Size.
        bytes: u32,
    },
    /// Private.
    Scratch {
        /// Size per lane.
        bytes: u32,
    },
    /// A buffer.
    Buffer(BufferRef),
    /// By address.
    Global {
        /// The 64-bit register that holds it.
        base: Loc,
        /// What the port is told, but for the address.
        request: Access,
    },
}

/// A buffer, or one of an array.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BufferRef {
    /// First descriptor slot.
    pub slot: u32,
    /// Number of elements.
    pub count: u32,
    /// Which element; none: the first.
    pub index: Option<Loc>,
    /// What the port is told, but for the address.
    pub request: Access,
    /// A constant buffer.
    pub constant: bool,
}

/// A load or store with everything looked up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Plain {
    /// Which memory.
    pub place: Place,
    /// Byte offsets.
    pub at: Offsets,
    /// Registers of the components.
    pub regs: [Loc; 4],
    /// How many there are.
    pub n: usize,
    /// Bytes of a component.
    pub width: u8,
    /// Source line index.
    pub loc: u32,
}

impl Plain {
    /// Words of a resource or of the group: what the quick paths take.
    pub fn is_words(&self) -> bool {
        self.width == 4 && !matches!(self.place, Place::Global { .. })
    }
}

/// A kernel made linear for one wave size.
#[derive(Debug)]
pub struct Flat {
    /// The kernel.
    pub kernel: Arc<Kernel>,
    /// The wave size.
    pub size: WaveSize,
    /// The steps; the last is [`Step::End`].
    pub steps: Vec<Step>,
    /// What each step issues.
    pub issued: Vec<Issued>,
    /// The lane ops.
    pub code: Code,
    /// Plain loads and stores.
    pub accesses: Vec<Plain>,
    /// Other instructions, with their source line index.
    pub insts: Vec<(Inst, u32)>,
    /// Where each register of the kernel lies (registers not in use anywhere).
    pub locs: Vec<Loc>,
    /// Chunks of the register file.
    pub chunks: u32,
    /// Rows of it that hold a value per lane: 32 bits each.
    pub rows: u32,
    /// Number of mask slots.
    pub slots: u32,
    /// Places that hold constants.
    pub constants: Vec<(Loc, u32)>,
    /// Registers that hold launch values.
    pub builtins: Vec<(Builtin, Loc)>,
    /// Vars that may be read before they are set.
    pub zeros: Vec<Loc>,
    /// First descriptor slot of each resource.
    pub first_slots: Vec<u32>,
    /// Number of descriptor slots.
    pub descriptors: u32,
}

impl Flat {
    /// Makes `kernel` linear.
    ///
    /// # Errors
    /// A [`Limit`] that names the first thing not supported, and its line.
    pub fn new(kernel: &Arc<Kernel>, size: WaveSize, isa: Isa) -> Result<Self, Limit> {
        check::supported(kernel)?;
        let mut facts = uniform::analyse(kernel, size);
        let mut list = flatten::flatten(kernel, &facts);
        fuse::fuse(kernel, &facts, &mut list);
        pack::pack(kernel, &list, &mut facts);
        let heads = live::at_heads(kernel);
        let places = alloc::allocate(kernel, size, &facts, &list, &heads);
        emit::emit(kernel, size, isa, list, places)
    }

    /// True if others can see when a step is taken: it reaches beyond the wave and
    /// its group.
    pub fn is_seen(&self, step: &Step) -> bool {
        match step {
            Step::Load(index)
            | Step::Store(index)
            | Step::LoadSized(index)
            | Step::StoreSized(index) => match self.accesses[*index as usize].place {
                Place::Buffer(_) | Place::Global { .. } => true,
                Place::Lds { .. } | Place::Scratch { .. } => false,
            },
            Step::Inst(index) => match &self.insts[*index as usize].0 {
                Inst::Atomic { space, .. } => matches!(space, Space::Buffer(_) | Space::Global(_)),
                Inst::Barrier(barrier) => barrier.device,
                Inst::OrderedAdd { .. } | Inst::Gds { .. } | Inst::Image { .. } => true,
                Inst::BufferSize { .. }
                | Inst::Reduce { .. }
                | Inst::ReducePartition { .. }
                | Inst::Wave { .. }
                | Inst::Ballot { .. }
                | Inst::Match { .. }
                | Inst::Clock { .. }
                | Inst::DebugBreak
                | Inst::DebugPrint { .. }
                | Inst::Unary { .. }
                | Inst::Binary { .. }
                | Inst::Ternary { .. }
                | Inst::Set { .. }
                | Inst::Builtin { .. }
                | Inst::Load { .. }
                | Inst::Store { .. } => false,
            },
            Step::Ops { .. }
            | Step::Save { .. }
            | Step::If { .. }
            | Step::Restore { .. }
            | Step::JumpIf { .. }
            | Step::Jump { .. }
            | Step::Back { .. }
            | Step::Leave { .. }
            | Step::Switch { .. }
            | Step::Case { .. }
            | Step::Select { .. }
            | Step::End => false,
        }
    }

    /// Where a register lies.
    #[inline]
    pub fn loc(&self, reg: Reg) -> Loc {
        self.locs[reg.0 as usize]
    }

    /// Byte offsets of an access.
    pub fn offsets(&self, addr: Addr) -> Offsets {
        Offsets::new(addr.index.map(|r| self.loc(r)), addr.scale, addr.offset)
    }

    /// A buffer of an access.
    pub fn buffer(&self, at: ResourceRef, order: Order, loc: u32) -> BufferRef {
        let resource = &self.kernel.resources[at.resource.index()];
        let constant = resource.kind == ResourceKind::ConstantBuffer;
        BufferRef {
            slot: self.first_slots[at.resource.index()],
            count: resource.count,
            index: at.index.map(|r| self.loc(r)),
            request: Access {
                path: if constant { Path::Scalar } else { Path::Vector },
                coherent: order.coherent || resource.coherent,
                volatile: order.volatile || resource.volatile,
                ..Self::request(order, loc)
            },
            constant,
        }
    }

    /// A request, but for the address.
    pub fn request(order: Order, loc: u32) -> Access {
        Access {
            base: GpuAddress(0),
            len: 0,
            path: Path::Vector,
            width: 4,
            coherent: order.coherent,
            volatile: order.volatile,
            loc,
        }
    }

    /// An access by address of one component.
    pub fn global(&self, base: Reg, addr: Addr, width: u8, request: Access) -> Plain {
        let place = Place::Global { base: self.loc(base), request };
        let loc = request.loc;
        Plain { place, at: self.offsets(addr), regs: [Loc::default(); 4], n: 1, width, loc }
    }

    /// Two words a lane.
    pub fn is_wide(&self, reg: Reg) -> bool {
        alloc::is_wide(&self.kernel, reg)
    }

    /// Where the words of a register lie: one place, or low and high.
    pub fn words(&self, reg: Reg) -> impl Iterator<Item = Loc> + use<> {
        let high = self.is_wide(reg).then(|| self.high(reg));
        [Some(self.loc(reg)), high].into_iter().flatten()
    }

    /// One word a lane that is all of the value: 32 bits, or `Bool`.
    pub fn is_words(&self, reg: Reg) -> bool {
        matches!(self.kernel.reg(reg).ty, Ty::B32 | Ty::Bool)
    }

    /// The place of the high words of a 64-bit register.
    pub fn high(&self, reg: Reg) -> Loc {
        self.loc(reg).high(self.size.lanes() / 8)
    }

    /// A load or store with everything looked up.
    fn plain(&self, regs: &[Reg], space: Space, addr: Addr, order: Order, loc: u32) -> Plain {
        let place = match space {
            Space::Lds => Place::Lds { bytes: self.kernel.lds_bytes },
            Space::Scratch => Place::Scratch { bytes: self.kernel.scratch_bytes },
            Space::Global(base) => {
                Place::Global { base: self.loc(base), request: Self::request(order, loc) }
            }
            Space::Buffer(at) => Place::Buffer(self.buffer(at, order, loc)),
        };
        let mut locs = [Loc::default(); 4];
        locs.iter_mut().zip(regs).for_each(|(l, r)| *l = self.loc(*r));
        let width = bits(self.kernel.reg(regs[0]).ty) as u8 / 8;
        Plain { place, at: self.offsets(addr), regs: locs, n: regs.len(), width, loc }
    }
}
