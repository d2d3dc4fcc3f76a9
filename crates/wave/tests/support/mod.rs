//! Kernels built by hand, a memory of plain bytes, and a group runner.
#![allow(dead_code, reason = "each test file uses its part")]

pub mod eval;
pub mod exact;

use std::sync::Arc;
use wavefence_base::{GpuAddress, LaneMask, WaveSize};
use wavefence_memory::port::{Access, Atomic, Lanes, Port};
use wavefence_shader::ir::*;
use wavefence_wave::descriptor::{Buffer, Descriptor};
use wavefence_wave::exec::{Dispatch, Env, Executor, Launch, Services, Stop, Wave};

/// Builds a kernel.
pub struct Builder {
    pub kernel: Kernel,
    labels: u32,
}

impl Builder {
    pub fn new(group_size: [u32; 3]) -> Self {
        Self {
            kernel: Kernel {
                entry: "main".into(),
                group_size,
                wave: WaveRule::Wave64,
                resources: Vec::new(),
                lds_bytes: 0,
                scratch_bytes: 0,
                regs: Vec::new(),
                constants: Vec::new(),
                body: Vec::new(),
                locs: vec![SourceLoc { file: 0, line: 0, column: 0 }],
                files: Vec::new(),
                formats: Vec::new(),
                uses: Uses::default(),
            },
            labels: 0,
        }
    }

    fn reg(&mut self, ty: Ty, kind: RegKind) -> Reg {
        self.kernel.regs.push(RegDecl { ty, kind });
        Reg(self.kernel.regs.len() as u32 - 1)
    }

    pub fn temp(&mut self) -> Reg {
        self.reg(Ty::B32, RegKind::Temp)
    }

    pub fn flag(&mut self) -> Reg {
        self.reg(Ty::Bool, RegKind::Temp)
    }

    pub fn var(&mut self) -> Reg {
        self.reg(Ty::B32, RegKind::Var)
    }

    pub fn constant(&mut self, value: u32) -> Reg {
        let reg = self.reg(Ty::B32, RegKind::Const);
        self.kernel.constants.push((reg, value.into()));
        reg
    }

    pub fn float(&mut self, value: f32) -> Reg {
        self.constant(value.to_bits())
    }

    pub fn label(&mut self) -> Label {
        self.labels += 1;
        Label(self.labels)
    }

    pub fn buffer(&mut self, name: &str) -> ResourceRef {
        self.kernel.resources.push(Resource {
            name: name.into(),
            class: ResourceClass::Uav,
            register: self.kernel.resources.len() as u32,
            space: 0,
            count: 1,
            unbounded: false,
            vk_binding: None,
            kind: ResourceKind::ByteAddressBuffer,
            read_only: false,
            coherent: false,
            volatile: false,
        });
        let id = ResourceId(self.kernel.resources.len() as u32 - 1);
        ResourceRef { resource: id, index: None }
    }

    pub fn builtin(&mut self, block: &mut Block, which: Builtin) -> Reg {
        let dst = self.temp();
        block.push(Stmt::Inst(Inst::Builtin { dst, which }, Loc::NONE));
        dst
    }

    pub fn un(&mut self, block: &mut Block, op: UnOp, a: Reg) -> Reg {
        let dst = match op {
            UnOp::FIsNan | UnOp::FIsInf => self.flag(),
            _ => self.temp(),
        };
        block.push(Stmt::Inst(Inst::Unary { op, dst, a }, Loc::NONE));
        dst
    }

    pub fn bin(&mut self, block: &mut Block, op: BinOp, a: Reg, b: Reg) -> Reg {
        let dst = if op >= BinOp::IEq { self.flag() } else { self.temp() };
        block.push(Stmt::Inst(Inst::Binary { op, dst, a, b }, Loc::NONE));
        dst
    }

    pub fn ter(&mut self, block: &mut Block, op: TerOp, a: Reg, b: Reg, c: Reg) -> Reg {
        let dst = self.temp();
        block.push(Stmt::Inst(Inst::Ternary { op, dst, a, b, c }, Loc::NONE));
        dst
    }

    pub fn set(&mut self, block: &mut Block, var: Reg, value: Reg) {
        block.push(Stmt::Inst(Inst::Set { var, value }, Loc::NONE));
    }

    pub fn load(&mut self, block: &mut Block, space: Space, index: Reg) -> Reg {
        let dst = self.temp();
        block.push(Stmt::Inst(
            Inst::Load { dst: vec![dst], space, addr: word(index), order: Order::default() },
            Loc::NONE,
        ));
        dst
    }

    pub fn store(&mut self, block: &mut Block, space: Space, index: Reg, value: Reg) {
        block.push(Stmt::Inst(
            Inst::Store { src: vec![value], space, addr: word(index), order: Order::default() },
            Loc::NONE,
        ));
    }

    pub fn done(mut self, body: Block) -> Arc<Kernel> {
        self.kernel.body = body;
        self.kernel.check().expect("a valid kernel");
        Arc::new(self.kernel)
    }
}

/// `index * 4`.
pub fn word(index: Reg) -> Addr {
    Addr { index: Some(index), scale: 4, offset: 0 }
}

pub fn inst(inst: Inst) -> Stmt {
    Stmt::Inst(inst, Loc::NONE)
}

pub const SYNC: Inst = Inst::Barrier(Barrier { sync: true, lds: true, device: false });

/// Address of the first byte.
pub const BASE: u64 = 0x10_0000;

/// One run of bytes.
pub struct Memory(pub Vec<u8>);

impl Memory {
    fn at(&mut self, address: u64, bytes: usize) -> Option<&mut [u8]> {
        let start = usize::try_from(address.checked_sub(BASE)?).ok()?;
        self.0.get_mut(start..start + bytes)
    }

    /// Up to 8 bytes as a number; what is not there reads as 0.
    fn number(&mut self, address: u64, width: usize) -> u64 {
        let mut bytes = [0; 8];
        if let Some(b) = self.at(address, width) {
            bytes[..width].copy_from_slice(b);
        }
        u64::from_le_bytes(bytes)
    }

    fn put(&mut self, address: u64, width: usize, value: u64) {
        if let Some(b) = self.at(address, width) {
            b.copy_from_slice(&value.to_le_bytes()[..width]);
        }
    }
}

/// What an atomic leaves in memory.
fn changed(op: Atomic, was: u64, value: u64, compare: u64) -> u64 {
    match op {
        Atomic::Add => was.wrapping_add(value),
        Atomic::Sub => was.wrapping_sub(value),
        Atomic::And => was & value,
        Atomic::Or => was | value,
        Atomic::Xor => was ^ value,
        Atomic::UMin => was.min(value),
        Atomic::UMax => was.max(value),
        Atomic::SMin => (was as i64).min(value as i64) as u64,
        Atomic::SMax => (was as i64).max(value as i64) as u64,
        Atomic::Exchange => value,
        Atomic::CompareExchange if was == compare => value,
        Atomic::CompareExchange => was,
    }
}

/// Where component `c` of a lane lies.
fn place(a: &Access, offsets: &Lanes, lane: u32, c: usize) -> u64 {
    a.base.0 + u64::from(offsets[lane as usize]) + u64::from(a.width) * c as u64
}

impl Port for Memory {
    fn load(&mut self, a: &Access, offsets: &Lanes, masks: &[LaneMask], out: &mut [Lanes]) {
        let rows = if a.width == 8 { 2 } else { 1 };
        for (c, (mask, out)) in masks.iter().zip(out.chunks_mut(rows)).enumerate() {
            out.fill([0; 64]);
            for lane in mask.iter() {
                let value = self.number(place(a, offsets, lane, c), a.width.into());
                for (i, row) in out.iter_mut().enumerate() {
                    row[lane as usize] = (value >> (32 * i)) as u32;
                }
            }
        }
    }

    fn store(&mut self, a: &Access, offsets: &Lanes, masks: &[LaneMask], data: &[Lanes]) {
        let rows = if a.width == 8 { 2 } else { 1 };
        for (c, (mask, data)) in masks.iter().zip(data.chunks(rows)).enumerate() {
            for lane in mask.iter() {
                let word = |i: usize| u64::from(data[i][lane as usize]) << (32 * i);
                let value = (0..rows).map(word).sum();
                self.put(place(a, offsets, lane, c), a.width.into(), value);
            }
        }
    }

    fn atomic(
        &mut self,
        a: &Access,
        op: Atomic,
        offsets: &Lanes,
        mask: LaneMask,
        value: &Lanes,
        compare: &Lanes,
        old: &mut Lanes,
    ) {
        for lane in mask.iter().map(|l| l as usize) {
            let at = (a.base.0 + u64::from(offsets[lane])) & !3;
            let was = self.number(at, 4) as u32;
            old[lane] = was;
            // As 64 bits, the signed ones with the sign.
            let wide = |x: u32| match op {
                Atomic::SMin | Atomic::SMax => x as i32 as u64,
                _ => x.into(),
            };
            let new = changed(op, wide(was), wide(value[lane]), wide(compare[lane]));
            self.put(at, 4, new & 0xFFFF_FFFF);
        }
    }

    fn atomic64(
        &mut self,
        a: &Access,
        op: Atomic,
        offsets: &Lanes,
        mask: LaneMask,
        value: &[Lanes; 2],
        compare: &[Lanes; 2],
        old: &mut [Lanes; 2],
    ) {
        for lane in mask.iter().map(|l| l as usize) {
            let at = (a.base.0 + u64::from(offsets[lane])) & !7;
            let was = self.number(at, 8);
            [old[0][lane], old[1][lane]] = [was as u32, (was >> 32) as u32];
            let wide = |x: &[Lanes; 2]| u64::from(x[1][lane]) << 32 | u64::from(x[0][lane]);
            self.put(at, 8, changed(op, was, wide(value), wide(compare)));
        }
    }

    fn scalar(&mut self, address: GpuAddress, out: &mut [u8]) {
        out.fill(0);
        if let Some(b) = self.at(address.0, out.len()) {
            out.copy_from_slice(b);
        }
    }
}

/// Counters, a data share, a clock that ticks when read.
#[derive(Default)]
pub struct Device {
    pub turn: u64,
    pub counters: [u32; 4],
    pub gds: Vec<u32>,
    pub now: u64,
    pub breaks: Vec<(LaneMask, u32)>,
    pub printed: Vec<(u32, u32, String)>,
}

impl Services for Device {
    fn ordered_add(&mut self, id: u64, counter: u32, sum: u32) -> Option<u32> {
        if id != self.turn {
            return None;
        }
        let old = self.counters[counter as usize];
        self.counters[counter as usize] = old + sum;
        self.turn += 1;
        Some(old)
    }

    fn gds(&mut self, op: AtomicOp, offset: u32, value: u32, _compare: u32) -> u32 {
        let Some(slot) = self.gds.get_mut(offset as usize / 4) else { return 0 };
        let old = *slot;
        match op {
            AtomicOp::Add => *slot += value,
            AtomicOp::Store => *slot = value,
            _ => {}
        }
        old
    }

    fn clock(&mut self) -> u64 {
        self.now += 1;
        self.now
    }

    fn debug_break(&mut self, lanes: LaneMask, loc: u32) {
        self.breaks.push((lanes, loc));
    }

    fn debug_print(&mut self, lane: u32, loc: u32, text: String) {
        self.printed.push((lane, loc, text));
    }
}

/// Runs a dispatch of `groups` whole groups, one after the other; waves of a
/// group go from barrier to barrier. Buffers are bound in order; gives them back.
pub fn run(
    executor: &dyn Executor,
    kernel: &Arc<Kernel>,
    size: WaveSize,
    groups: [u32; 3],
    buffers: &[Vec<u32>],
) -> Vec<Vec<u32>> {
    let mut device = Device { gds: vec![0; 64], ..Device::default() };
    run_on(executor, kernel, size, groups, buffers, &mut device)
}

/// As `run`, on a device.
pub fn run_on(
    executor: &dyn Executor,
    kernel: &Arc<Kernel>,
    size: WaveSize,
    groups: [u32; 3],
    buffers: &[Vec<u32>],
    device: &mut Device,
) -> Vec<Vec<u32>> {
    let mut memory = Memory(Vec::new());
    let mut table = Vec::new();
    let mut places = Vec::new();
    for words in buffers {
        let start = memory.0.len();
        let address = GpuAddress(BASE + start as u64);
        let bytes = 4 * words.len() as u64;
        table.extend(Descriptor::Buffer(Buffer { address, bytes, stride: 0 }).to_bytes());
        memory.0.extend(words.iter().flat_map(|w| w.to_le_bytes()));
        places.push((start, words.len()));
    }
    let dispatch =
        Dispatch { groups, table: GpuAddress(BASE + memory.0.len() as u64), user_data: [0; 14] };
    memory.0.extend(table);
    let program = executor.prepare(kernel, size).expect("supported");
    let count = kernel.threads().div_ceil(size.lanes());
    let mut waves: Vec<Box<dyn Wave>> = (0..count).map(|_| program.new_wave()).collect();
    let mut id = 0;
    for z in 0..groups[2] {
        for y in 0..groups[1] {
            for x in 0..groups[0] {
                for (i, wave) in waves.iter_mut().enumerate() {
                    let launch = Launch {
                        group: [x, y, z],
                        threads: kernel.group_size,
                        wave: i as u32,
                        ordered_id: Some(id),
                    };
                    id += 1;
                    wave.start(&dispatch, &launch, &mut memory);
                }
                run_group(&mut waves, kernel, &mut memory, device);
            }
        }
    }
    let read = |&(start, n): &(usize, usize)| {
        let bytes = &memory.0[start..start + 4 * n];
        bytes.chunks(4).map(|b| u32::from_le_bytes(b.try_into().unwrap())).collect()
    };
    places.iter().map(read).collect()
}

fn run_group(
    waves: &mut [Box<dyn Wave>],
    kernel: &Kernel,
    memory: &mut Memory,
    device: &mut Device,
) {
    let mut lds = vec![0; kernel.lds_bytes.div_ceil(4) as usize];
    let mut done = vec![false; waves.len()];
    while done.contains(&false) {
        for (wave, done) in waves.iter_mut().zip(&mut done) {
            while !*done {
                let mut budget = 1000;
                let mut env = Env {
                    port: memory,
                    lds: &mut lds,
                    services: device,
                    budget: &mut budget,
                    pause: false,
                };
                match wave.run(&mut env) {
                    Stop::End => *done = true,
                    Stop::Barrier { .. } => break,
                    Stop::Ordered | Stop::Budget { .. } | Stop::Access => {}
                }
            }
        }
    }
}
