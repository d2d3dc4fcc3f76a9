//! The interpreter: runs the steps of a [`Flat`] program over a whole wave.

mod cross;
mod image;
mod lds;
mod looping;
mod memory;
mod start;

use crate::descriptor::Descriptor;
use crate::exec::{Dispatch, Env, Executor, Issued, Launch, Looping, Program, Stop, Wave};
use crate::program::{Flat, Step};
use crate::simd::{File, Isa, Loc};
use std::sync::Arc;
use wavefence_base::{GpuAddress, LaneMask, Limit, WaveSize};
use wavefence_memory::port::{Lanes, Path, Port};
use wavefence_shader::ir::{Inst, Kernel, Label, Reg};

/// Makes programs for the interpreter.
#[derive(Clone, Copy, Debug)]
pub struct Interpreter {
    isa: Isa,
}

impl Interpreter {
    /// With the best instructions this CPU has.
    pub fn new() -> Self {
        Self { isa: Isa::detect() }
    }

    /// With instructions that every CPU has; the same results, slower.
    pub fn portable() -> Self {
        Self { isa: Isa::PORTABLE }
    }
}

impl Default for Interpreter {
    fn default() -> Self {
        Self::new()
    }
}

impl Executor for Interpreter {
    fn name(&self) -> &'static str {
        "interpreter"
    }

    fn prepare(&self, kernel: &Arc<Kernel>, size: WaveSize) -> Result<Arc<dyn Program>, Limit> {
        Ok(Arc::new(Prepared { flat: Arc::new(Flat::new(kernel, size, self.isa)?) }))
    }
}

struct Prepared {
    flat: Arc<Flat>,
}

impl Program for Prepared {
    fn kernel(&self) -> &Arc<Kernel> {
        &self.flat.kernel
    }

    fn wave_size(&self) -> WaveSize {
        self.flat.size
    }

    fn new_wave(&self) -> Box<dyn Wave> {
        Box::new(Running { state: State::new(&self.flat), flat: self.flat.clone() })
    }

    fn vector_registers(&self) -> u32 {
        self.flat.rows
    }
}

/// Lanes on their way to and from memory.
#[repr(align(32))]
struct Stage {
    offsets: Lanes,
    /// Components of 64 bits take two.
    data: [Lanes; 8],
}

/// A wave: its program beside its state, so that running it need not count
/// references that other threads count, too.
struct Running {
    flat: Arc<Flat>,
    state: State,
}

/// The state of one wave.
struct State {
    lanes: u32,
    file: File,
    /// Lanes that run now.
    exec: u64,
    /// Lanes that have not returned.
    live: u64,
    /// Masks of lanes that wait somewhere.
    slots: Vec<u64>,
    pc: usize,
    dispatch: Dispatch,
    launch: Launch,
    descriptors: Vec<Descriptor>,
    /// The bytes that `descriptors` were made from.
    table: Vec<u8>,
    /// Room for the next bytes.
    spare: Vec<u8>,
    /// Private memory: word `w` of lane `l` at `w * lanes + l`.
    scratch: Vec<u32>,
    stage: Box<Stage>,
    /// What thread ids in the file were made for: wave, threads.
    ids_for: Option<(u32, [u32; 3])>,
    /// Rows of thread ids x, y, z.
    ids: Box<[Lanes; 3]>,
    /// What ended the wave early.
    refused: Option<Limit>,
    /// Somebody wants to be told of accesses to group-shared memory.
    watched: bool,
    issued: Issued,
    /// The loop at whose back edge it stopped last.
    back_edge: Option<Label>,
}

/// What an instruction leaves to do.
enum Then {
    /// The next step.
    Next,
    /// Stop here; the next step comes after.
    Stop(Stop),
    /// Stop and do it again.
    Again(Stop),
}

impl State {
    fn new(flat: &Flat) -> Self {
        let lanes = flat.size.lanes();
        let mut file = File::new(flat.code.isa(), flat.chunks, lanes / 8);
        for &(loc, value) in &flat.constants {
            file.fill(loc, value);
        }
        let scratch = flat.kernel.scratch_bytes.div_ceil(4) as usize * lanes as usize;
        Self {
            lanes,
            file,
            exec: 0,
            live: 0,
            slots: vec![0; flat.slots as usize],
            pc: flat.steps.len() - 1,
            dispatch: Dispatch { groups: [0; 3], table: GpuAddress(0), user_data: [0; 14] },
            launch: Launch { group: [0; 3], threads: [0; 3], wave: 0, ordered_id: None },
            descriptors: Vec::new(),
            table: Vec::new(),
            spare: Vec::new(),
            scratch: vec![0; scratch],
            stage: Box::new(Stage { offsets: [0; 64], data: [[0; 64]; 8] }),
            ids_for: None,
            ids: Box::new([[0; 64]; 3]),
            refused: None,
            watched: false,
            issued: Issued::default(),
            back_edge: None,
        }
    }

    fn mask(&self) -> LaneMask {
        LaneMask(self.exec)
    }

    /// The value of a uniform register.
    fn scalar(&self, flat: &Flat, reg: Reg) -> u32 {
        self.file.words(flat.loc(reg))[0]
    }

    /// Which lanes of a `Bool` register hold.
    fn truth(&self, flat: &Flat, reg: Reg) -> u64 {
        self.file.truth(flat.loc(reg))
    }

    fn set_exec(&mut self, exec: u64) {
        self.exec = exec;
        if exec != 0 {
            self.file.set_exec(exec);
        }
    }

    /// Goes on with `exec` at `next`, or at `empty` if no lane is in it.
    fn go(&mut self, exec: u64, empty: usize) {
        self.set_exec(exec);
        self.pc = if exec == 0 { empty } else { self.pc + 1 };
    }

    /// Runs on. With `PAUSE` at most one step that others can see is taken.
    fn steps<const PAUSE: bool>(&mut self, flat: &Flat, env: &mut Env<'_>) -> Stop {
        self.watched = env.port.watches_group_shared();
        let mut seen = false;
        loop {
            let step = &flat.steps[self.pc];
            if PAUSE && flat.is_seen(step) {
                if seen {
                    return Stop::Access;
                }
                seen = true;
            }
            self.issued.add(&flat.issued[self.pc]);
            match step {
                Step::Ops { first, end } => {
                    *env.budget = env.budget.saturating_sub(u64::from(end - first));
                    flat.code.run(*first as usize, *end as usize, &mut self.file, self.exec);
                    self.pc += 1;
                }
                Step::Load(index) => {
                    *env.budget = env.budget.saturating_sub(1);
                    self.load(&flat.accesses[*index as usize], env);
                    self.pc += 1;
                }
                Step::Store(index) => {
                    *env.budget = env.budget.saturating_sub(1);
                    self.store(&flat.accesses[*index as usize], env);
                    self.pc += 1;
                }
                Step::LoadSized(index) => {
                    *env.budget = env.budget.saturating_sub(1);
                    self.load_sized(&flat.accesses[*index as usize], env);
                    self.pc += 1;
                }
                Step::StoreSized(index) => {
                    *env.budget = env.budget.saturating_sub(1);
                    self.store_sized(&flat.accesses[*index as usize], env);
                    self.pc += 1;
                }
                Step::Inst(index) => {
                    *env.budget = env.budget.saturating_sub(1);
                    let (inst, loc) = &flat.insts[*index as usize];
                    match self.inst(flat, inst, *loc, env) {
                        Then::Next => self.pc += 1,
                        Then::Stop(stop) => {
                            self.pc += 1;
                            return stop;
                        }
                        Then::Again(stop) => return stop,
                    }
                }
                Step::Back { head, loc, label } => {
                    self.pc = head.0 as usize;
                    if *env.budget == 0 {
                        self.back_edge = Some(*label);
                        return Stop::Budget { loc: *loc };
                    }
                    *env.budget -= 1;
                }
                Step::End => return Stop::End,
                step => self.control(flat, step),
            }
        }
    }

    /// Steps that only change masks and the place.
    fn control(&mut self, flat: &Flat, step: &Step) {
        match step {
            Step::Save { slot } => {
                self.slots[*slot as usize] = self.exec;
                self.pc += 1;
            }
            Step::If { cond, slot, has_else, empty } => {
                let holds = self.truth(flat, *cond) & self.exec;
                self.slots[*slot as usize] = self.exec;
                if *has_else {
                    self.slots[*slot as usize + 1] = self.exec & !holds;
                }
                self.go(holds, empty.0 as usize);
            }
            Step::Restore { slot, empty } => {
                self.go(self.slots[*slot as usize], empty.0 as usize);
            }
            Step::JumpIf { cond, when, target } => {
                let holds = self.scalar(flat, *cond) != 0;
                self.pc = if holds == *when { target.0 as usize } else { self.pc + 1 };
            }
            Step::Jump { target } => self.pc = target.0 as usize,
            Step::Leave { cond, first, end, returns, empty } => {
                let gone = match cond {
                    None => self.exec,
                    Some((reg, true)) => self.truth(flat, *reg) & self.exec,
                    Some((reg, false)) => !self.truth(flat, *reg) & self.exec,
                };
                for slot in &mut self.slots[*first as usize..*end as usize] {
                    *slot &= !gone;
                }
                if *returns {
                    self.live &= !gone;
                }
                self.go(self.exec & !gone, empty.0 as usize);
            }
            Step::Switch { selector, slot, cases, default } => {
                self.switch(flat, *selector, *slot as usize, cases, *default);
            }
            Step::Case { slot, empty } => {
                self.go(self.exec | self.slots[*slot as usize], empty.0 as usize);
            }
            Step::Select { selector, cases, other } => {
                let value = self.value(flat, *selector, 0);
                let found = cases.iter().find(|c| c.0 == value).map_or(*other, |c| c.1);
                self.pc = found.0 as usize;
            }
            Step::Ops { .. }
            | Step::Load(_)
            | Step::Store(_)
            | Step::LoadSized(_)
            | Step::StoreSized(_)
            | Step::Inst(_)
            | Step::Back { .. }
            | Step::End => {}
        }
    }

    /// The value of a register of any width in one lane.
    fn value(&self, flat: &Flat, reg: Reg, lane: u32) -> u64 {
        let low = u64::from(self.file.lane(flat.loc(reg), lane));
        if !flat.is_wide(reg) {
            return low;
        }
        u64::from(self.file.lane(flat.high(reg), lane)) << 32 | low
    }

    fn switch(
        &mut self,
        flat: &Flat,
        selector: Reg,
        slot: usize,
        cases: &[(u64, u32)],
        default: Option<u32>,
    ) {
        for &(_, case) in cases {
            self.slots[case as usize] = 0;
        }
        if let Some(case) = default {
            self.slots[case as usize] = 0;
        }
        self.slots[slot] = self.exec;
        for lane in self.mask().iter() {
            let value = self.value(flat, selector, lane);
            let case = cases.iter().find(|c| c.0 == value).map(|c| c.1).or(default);
            if let Some(case) = case {
                self.slots[case as usize] |= 1 << lane;
            }
        }
        self.exec = 0;
        self.pc += 1;
    }

    fn inst(&mut self, flat: &Flat, inst: &Inst, loc: u32, env: &mut Env<'_>) -> Then {
        match inst {
            Inst::Atomic { .. } => self.atomic(flat, inst, loc, env),
            Inst::BufferSize { dst, buffer } => self.buffer_size(flat, *dst, *buffer),
            Inst::Reduce { .. }
            | Inst::ReducePartition { .. }
            | Inst::Wave { .. }
            | Inst::Ballot { .. }
            | Inst::Match { .. } => self.cross(flat, inst),
            Inst::Barrier(barrier) => {
                if barrier.device {
                    env.port.fence();
                }
                if barrier.sync {
                    let divergent = self.exec != self.live;
                    return Then::Stop(Stop::Barrier { divergent, loc });
                }
            }
            Inst::OrderedAdd { dst, counter, value } => {
                return self.ordered_add([*dst, *counter, *value].map(|r| flat.loc(r)), env);
            }
            Inst::Gds { op, dst, offset, value, compare } => {
                for lane in self.mask().iter() {
                    let at = |reg: &Reg| self.file.lane(flat.loc(*reg), lane);
                    let value = value.as_ref().map_or(0, at);
                    let compare = compare.as_ref().map_or(0, at);
                    let old = env.services.gds(*op, at(offset), value, compare);
                    self.stage.data[0][lane as usize] = old;
                }
                if let Some(dst) = dst {
                    self.file.write(flat.loc(*dst), self.exec, &self.stage.data[0]);
                }
            }
            Inst::Clock { dst } => {
                let now = env.services.clock();
                self.file.fill(flat.loc(dst[0]), now as u32);
                self.file.fill(flat.loc(dst[1]), (now >> 32) as u32);
            }
            // Refused when the program was prepared.
            Inst::DebugBreak => env.services.debug_break(self.mask(), loc),
            Inst::DebugPrint { format, args } => {
                // A checked kernel has the text and as many values as it takes.
                let Some(format) = flat.kernel.formats.get(*format as usize) else {
                    return Then::Next;
                };
                for lane in self.mask().iter() {
                    let value = |r: &Reg| (flat.kernel.reg(*r).ty, self.value(flat, *r, lane));
                    let values: Vec<_> = args.iter().map(value).collect();
                    env.services.debug_print(lane, loc, format.render(&values));
                }
            }
            Inst::Image { .. } => {
                if let Err(limit) = self.image(flat, inst, loc, env) {
                    self.refused = Some(limit);
                    self.pc = flat.steps.len() - 1;
                    return Then::Again(Stop::End);
                }
            }
            // Made into steps and preset registers.
            Inst::Unary { .. }
            | Inst::Binary { .. }
            | Inst::Ternary { .. }
            | Inst::Set { .. }
            | Inst::Builtin { .. }
            | Inst::Load { .. }
            | Inst::Store { .. } => {}
        }
        Then::Next
    }

    /// One addition for the wave per counter: the sum over the lanes that name
    /// it; each lane gets the old value plus what the lanes below it added.
    fn ordered_add(&mut self, [dst, counter, value]: [Loc; 3], env: &mut Env<'_>) -> Then {
        // Lanes may name different counters; those of the lowest come first. A
        // wave that is told to wait has added nothing yet: it is no one's turn
        // half way.
        let mut rest = self.mask();
        while let Some(first) = rest.lowest() {
            let number = self.file.lane(counter, first);
            let mut sum = 0u32;
            let mut members = LaneMask::EMPTY;
            for lane in rest.iter().filter(|&l| self.file.lane(counter, l) == number) {
                self.stage.data[0][lane as usize] = sum;
                sum = sum.wrapping_add(self.file.lane(value, lane));
                members = members | LaneMask(1 << lane);
            }
            let id = self.launch.ordered_id.unwrap_or(u64::MAX);
            let Some(old) = env.services.ordered_add(id, number, sum) else {
                return Then::Again(Stop::Ordered);
            };
            for lane in members.iter() {
                let slot = &mut self.stage.data[0][lane as usize];
                *slot = slot.wrapping_add(old);
            }
            rest = rest & !members;
        }
        self.file.write(dst, self.exec, &self.stage.data[0]);
        Then::Next
    }
}

impl Wave for Running {
    fn start(&mut self, dispatch: &Dispatch, launch: &Launch, port: &mut dyn Port) {
        self.state.begin(&self.flat, dispatch, launch, port);
    }

    fn run(&mut self, env: &mut Env<'_>) -> Stop {
        if env.pause {
            self.state.steps::<true>(&self.flat, env)
        } else {
            self.state.steps::<false>(&self.flat, env)
        }
    }

    fn refused(&self) -> Option<&Limit> {
        self.state.refused.as_ref()
    }

    fn take_issued(&mut self) -> Option<Issued> {
        Some(std::mem::take(&mut self.state.issued))
    }

    fn digest(&self) -> Option<u128> {
        Some(self.state.digest())
    }

    fn exec(&self) -> Option<LaneMask> {
        Some(self.state.mask())
    }

    fn back_edge(&self) -> Option<Label> {
        self.state.back_edge
    }

    fn why_looping(
        &self,
        label: Label,
        lds: &[u32],
        peek: &mut dyn FnMut(Path, GpuAddress, &mut [u8]) -> bool,
    ) -> Option<Looping> {
        looping::explain(&self.state, &self.flat, label, lds, peek)
    }
}
