//! An executor whose kernels are small functions, chosen by entry name, so that
//! these tests need no interpreter. `table` of the dispatch is the address the
//! function works on.

use std::sync::Arc;
use wavefence_base::{AccessKind, GpuAddress, LaneMask, Limit, WaveSize};
use wavefence_memory::port::{Access, Atomic, Lanes, Path, Port};
use wavefence_shader::ir::{AtomicOp, Inst, Kernel, Loc, Reg, SourceLoc, Stmt, Uses, WaveRule};
use wavefence_wave::exec::{Dispatch, Env, Executor, Launch, Program, Stop, Wave};

/// The executor.
pub(crate) fn executor() -> Arc<dyn Executor> {
    Arc::new(Fake)
}

/// A kernel of `statements` statements that does nothing.
pub(crate) fn kernel(statements: usize) -> Arc<Kernel> {
    let body = vec![Stmt::Return; statements];
    Arc::new(Kernel { body, ..named("nop", [1, 1, 1]) })
}

/// A kernel by name; see [`run`] for the names.
pub(crate) fn named(entry: &str, group_size: [u32; 3]) -> Kernel {
    let ordered = entry.starts_with("ordered");
    let add = Inst::OrderedAdd { dst: Reg(0), counter: Reg(0), value: Reg(0) };
    Kernel {
        entry: entry.into(),
        group_size,
        wave: WaveRule::Wave64,
        resources: Vec::new(),
        lds_bytes: 0,
        scratch_bytes: 0,
        regs: Vec::new(),
        constants: Vec::new(),
        body: if ordered { vec![Stmt::Inst(add, Loc::NONE)] } else { Vec::new() },
        locs: vec![
            SourceLoc { file: 0, line: 0, column: 0 },
            SourceLoc { file: 0, line: 7, column: 1 },
        ],
        files: vec!["fake.hlsl".into()],
        formats: Vec::new(),
        uses: Uses { ordered_append: ordered, ..Uses::default() },
    }
}

struct Fake;

impl Executor for Fake {
    fn name(&self) -> &'static str {
        "fake"
    }

    fn prepare(&self, kernel: &Arc<Kernel>, size: WaveSize) -> Result<Arc<dyn Program>, Limit> {
        Ok(Arc::new(FakeProgram { kernel: kernel.clone(), size }))
    }
}

struct FakeProgram {
    kernel: Arc<Kernel>,
    size: WaveSize,
}

impl Program for FakeProgram {
    fn kernel(&self) -> &Arc<Kernel> {
        &self.kernel
    }

    fn wave_size(&self) -> WaveSize {
        self.size
    }

    fn new_wave(&self) -> Box<dyn Wave> {
        Box::new(FakeWave {
            entry: self.kernel.entry.clone(),
            size: self.size,
            dispatch: Dispatch { groups: [0; 3], table: GpuAddress(0), user_data: [0; 14] },
            launch: Launch { group: [0; 3], threads: [0; 3], wave: 0, ordered_id: None },
            step: 0,
            ops: 0,
            sum: 0,
        })
    }
}

struct FakeWave {
    entry: String,
    size: WaveSize,
    dispatch: Dispatch,
    launch: Launch,
    step: u32,
    /// Of a script: ops done, and what it has read.
    ops: usize,
    sum: u32,
}

impl Wave for FakeWave {
    fn start(&mut self, dispatch: &Dispatch, launch: &Launch, _port: &mut dyn Port) {
        self.dispatch = dispatch.clone();
        self.launch = *launch;
        self.step = 0;
        (self.ops, self.sum) = (0, 0);
    }

    fn run(&mut self, env: &mut Env<'_>) -> Stop {
        if *env.budget == 0 {
            return Stop::Budget { loc: 1 };
        }
        *env.budget -= 1;
        self.step += 1;
        run(self, env)
    }
}

fn access(base: GpuAddress) -> Access {
    Access {
        base,
        len: u64::MAX,
        path: Path::Vector,
        width: 4,
        coherent: false,
        volatile: false,
        loc: 1,
    }
}

const ONE: LaneMask = LaneMask(1);

fn load(env: &mut Env<'_>, at: GpuAddress) -> u32 {
    let mut out = [[0; 64]];
    env.port.load(&access(at), &[0; 64], &[ONE], &mut out);
    out[0][0]
}

/// A load that goes past the caches that other units do not share.
fn load_coherent(env: &mut Env<'_>, at: GpuAddress) -> u32 {
    let mut out = [[0; 64]];
    let access = Access { coherent: true, ..access(at) };
    env.port.load(&access, &[0; 64], &[ONE], &mut out);
    out[0][0]
}

fn store(env: &mut Env<'_>, at: GpuAddress, value: u32) {
    env.port.store(&access(at), &[0; 64], &[ONE], &[[value; 64]]);
}

fn add(env: &mut Env<'_>, at: GpuAddress, value: u32) -> u32 {
    let mut old: Lanes = [0; 64];
    let offsets = [0; 64];
    env.port.atomic(&access(at), Atomic::Add, &offsets, ONE, &[value; 64], &[0; 64], &mut old);
    old[0]
}

fn lanes(wave: &FakeWave) -> u32 {
    let threads: u32 = wave.launch.threads.iter().product();
    (threads - wave.launch.wave * wave.size.lanes()).min(wave.size.lanes())
}

/// What the kernels do. The first word at the table is a counter where a list
/// follows it.
fn run(wave: &mut FakeWave, env: &mut Env<'_>) -> Stop {
    let table = wave.dispatch.table;
    let at = |index: u32| table.offset(u64::from(index) * 4);
    let [x, y, z] = wave.launch.group;
    match wave.entry.as_str() {
        "nop" => {}
        // Adds the number of threads.
        "threads" => {
            let n = lanes(wave);
            add(env, table, n);
        }
        // Appends the group's id, x then y then z in 10 bits each.
        "list" => {
            let place = add(env, table, 1);
            store(env, at(place + 1), x | y << 10 | z << 20);
        }
        // Appends what the launch says: waves, lanes, user data.
        "launch" => {
            let place = add(env, table, 4);
            store(env, at(place + 1), wave.launch.wave);
            store(env, at(place + 2), lanes(wave));
            store(env, at(place + 3), wave.dispatch.user_data[0]);
            store(env, at(place + 4), wave.dispatch.groups[0]);
        }
        // Comes by a breakpoint, then prints a line.
        "debug" => {
            env.services.debug_break(LaneMask(0b1100), 1);
            env.services.debug_break(LaneMask(0b1100), 1);
            env.services.debug_print(3, 1, format!("group {x}"));
            env.services.debug_print(5, 1, "again".into());
        }
        // Prints without end.
        "chatty" => {
            for i in 0..3000 {
                env.services.debug_print(0, 0, i.to_string());
            }
        }
        // Takes root constant 0 steps, then writes 1.
        "slow" => {
            if wave.step < wave.dispatch.user_data[0] {
                return Stop::Budget { loc: 1 };
            }
            store(env, table, 1);
        }
        // Reads until the word at the table is not 0, then counts up the next.
        "spin" => {
            while load_coherent(env, table) == 0 {
                if *env.budget == 0 {
                    return Stop::Budget { loc: 1 };
                }
                *env.budget -= 1;
            }
            add(env, at(1), 1);
        }
        // Leaves the word at the table, one place per group, at the address in root
        // constants 0 and 1.
        "read" | "read_scalar" => {
            let value = match wave.entry.as_str() {
                "read" => load(env, table),
                _ => {
                    let mut bytes = [0; 4];
                    env.port.scalar(table, &mut bytes);
                    u32::from_le_bytes(bytes)
                }
            };
            let [lo, hi] = [wave.dispatch.user_data[0], wave.dispatch.user_data[1]];
            store(env, GpuAddress::from_parts(lo, hi).offset(u64::from(x) * 4), value);
        }
        // The last of four groups copies words from the table to the address in root
        // constants 0 and 1; their number is constant 2.
        "copy" if x == 3 => {
            let [lo, hi, words] = [0, 1, 2].map(|i| wave.dispatch.user_data[i]);
            for word in 0..words {
                let value = load(env, at(word));
                let to = GpuAddress::from_parts(lo, hi).offset(u64::from(word) * 4);
                store(env, to, value);
            }
        }
        "copy" => {}
        "write_old" => store(env, table, 1),
        "write_new" => store(env, table, 2),
        // Wave 0 reads a word, wave 1 writes it, wave 0 reads it again.
        "exchange" | "exchange_fenced" => {
            let fenced = wave.entry == "exchange_fenced";
            match (wave.launch.wave, wave.step) {
                (0, 1) => {
                    load(env, table);
                }
                (1, 2) => {
                    store(env, table, 2);
                    if fenced {
                        env.port.fence();
                    }
                }
                (0, 3) => {
                    if fenced {
                        env.port.fence();
                    }
                    let value = load(env, table);
                    store(env, at(64), value);
                }
                (_, _) => {}
            }
            if wave.step < 3 {
                return Stop::Barrier { divergent: false, loc: 1 };
            }
        }
        // Counts up, meets the others, then counts what it sees.
        "barrier" => {
            if wave.step == 1 {
                env.lds[0] += 1;
                return Stop::Barrier { divergent: false, loc: 1 };
            }
            let seen = env.lds[0];
            add(env, table, seen);
        }
        // Wave 0 leaves, the others meet.
        "half" => {
            if wave.launch.wave > 0 && wave.step == 1 {
                return Stop::Barrier { divergent: false, loc: 1 };
            }
        }
        "divergent" => {
            if wave.step == 1 {
                return Stop::Barrier { divergent: true, loc: 1 };
            }
        }
        // Odd groups idle first. Writes what counter 0 held to its id's place.
        "ordered" | "ordered_late" => {
            if wave.entry == "ordered_late" && x % 2 == 0 && wave.step < 5 {
                return Stop::Budget { loc: 1 };
            }
            let Some(id) = wave.launch.ordered_id else { return Stop::End };
            let n = lanes(wave);
            let Some(old) = env.services.ordered_add(id, 0, n) else { return Stop::Ordered };
            let place = add(env, table, 2);
            store(env, at(place + 1), id as u32);
            store(env, at(place + 2), old);
        }
        // The second wave meets the first at a barrier that the first reaches
        // only after its turn, which comes after the second's end: a hang.
        "ordered_hang" => {
            if wave.launch.wave == 0 && wave.step == 1 {
                return Stop::Barrier { divergent: false, loc: 1 };
            }
            let id = wave.launch.ordered_id.unwrap_or(0);
            if env.services.ordered_add(id, 0, 1).is_none() {
                return Stop::Ordered;
            }
        }
        "gds" => {
            env.services.gds(AtomicOp::Add, 8, 1, 0);
        }
        "clock" => {
            let now = env.services.clock();
            store(env, table, now as u32);
        }
        // Reads and writes where nothing is.
        "wild" => {
            load(env, table);
            store(env, table, 1);
        }
        "script" | "script_whole" => return script(wave, env),
        other => panic!("no fake kernel `{other}`"),
    }
    Stop::End
}

/// Ops of the kernel "script": one in each root constant that is not 0, with the slot
/// of 64 bytes behind the table that it goes to, and a value. The last constant is how
/// many slots the next group goes further.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Op {
    Load = 1,
    LoadCoherent,
    LoadScalar,
    Store,
    Add,
    Fence,
    Gds,
    SharedLoad,
    SharedStore,
}

impl Op {
    pub(crate) const ALL: [Self; 9] = [
        Self::Load,
        Self::LoadCoherent,
        Self::LoadScalar,
        Self::Store,
        Self::Add,
        Self::Fence,
        Self::Gds,
        Self::SharedLoad,
        Self::SharedStore,
    ];

    pub(crate) fn word(self, slot: u32, value: u32) -> u32 {
        self as u32 | slot << 4 | value << 12
    }
}

/// Slots behind which the waves of a script leave what they have read: one each, by
/// root constant 12, group and wave.
pub(crate) const RESULTS: u32 = 32;

/// Does the ops of its constants, then leaves a sum of all it has read. As
/// "script_whole" it does not stop where it is asked to.
fn script(wave: &mut FakeWave, env: &mut Env<'_>) -> Stop {
    let slot = |slot: u32| wave.dispatch.table.offset(u64::from(slot) * 64);
    let ops = &wave.dispatch.user_data[..12];
    while let Some(&word) = ops.get(wave.ops).filter(|&&w| w != 0) {
        let op = Op::ALL[(word & 15) as usize - 1];
        let apart = wave.launch.group[0] * wave.dispatch.user_data[13];
        let (at, value) = (slot((word >> 4 & 0xFF) + apart), word >> 12);
        let read = match op {
            Op::Load => load(env, at),
            Op::LoadCoherent => load_coherent(env, at),
            Op::LoadScalar => {
                let mut bytes = [0; 4];
                env.port.scalar(at, &mut bytes);
                u32::from_le_bytes(bytes)
            }
            Op::Store => {
                store(env, at, value);
                0
            }
            Op::Add => add(env, at, value),
            Op::Fence => {
                env.port.fence();
                0
            }
            Op::Gds => env.services.gds(AtomicOp::Add, 0, value, 0),
            Op::SharedLoad => {
                shared(env, AccessKind::Read);
                env.lds[0]
            }
            Op::SharedStore => {
                shared(env, AccessKind::Write);
                env.lds[0] = value;
                0
            }
        };
        wave.sum = wave.sum.wrapping_mul(31).wrapping_add(read);
        wave.ops += 1;
        if env.pause && wave.entry == "script" {
            return Stop::Access;
        }
    }
    let place = wave.dispatch.user_data[12] * 4 + wave.launch.group[0] * 2 + wave.launch.wave;
    store(env, slot(RESULTS + 2 * place), wave.sum);
    Stop::End
}

fn shared(env: &mut Env<'_>, kind: AccessKind) {
    env.port.group_shared(kind, &[0; 64], ONE, 4, 1);
}
