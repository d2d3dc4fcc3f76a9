//! One op on many inputs: a kernel that loads operands of any width, runs the op
//! and stores its result, over a coherent memory.

use super::{Builder, inst};
use std::sync::Arc;
use wavefence_base::{GpuAddress, Profile, ProfileName, WaveSize};
use wavefence_memory::{AddressSpace, AllocationDesc, CoherentPort};
use wavefence_shader::ir::*;
use wavefence_wave::descriptor::{Buffer, Descriptor};
use wavefence_wave::exec::{Dispatch, Env, Executor, Launch, Stop};
use wavefence_wave::interp::Interpreter;

/// An op of any family.
#[derive(Clone, Copy, Debug)]
pub enum Op {
    Un(UnOp),
    Bin(BinOp),
    Ter(TerOp),
}

/// Bytes that a value takes in a buffer; a `Bool` is a word.
pub fn bytes(ty: Ty) -> usize {
    match ty {
        Ty::B8 => 1,
        Ty::B16 => 2,
        Ty::Bool | Ty::B32 => 4,
        Ty::B64 => 8,
    }
}

/// A temp of a type.
pub fn temp(b: &mut Builder, ty: Ty) -> Reg {
    b.kernel.regs.push(RegDecl { ty, kind: RegKind::Temp });
    Reg(b.kernel.regs.len() as u32 - 1)
}

/// A constant of a type.
pub fn constant(b: &mut Builder, ty: Ty, value: u64) -> Reg {
    b.kernel.regs.push(RegDecl { ty, kind: RegKind::Const });
    let reg = Reg(b.kernel.regs.len() as u32 - 1);
    b.kernel.constants.push((reg, value));
    reg
}

/// Element `index` of a buffer of values of type `ty`.
pub fn element(index: Reg, ty: Ty) -> Addr {
    Addr { index: Some(index), scale: bytes(ty) as u32, offset: 0 }
}

/// Loads one; a `Bool` is true where the word is not 0.
pub fn load(b: &mut Builder, body: &mut Block, from: ResourceRef, index: Reg, ty: Ty) -> Reg {
    let of = if ty == Ty::Bool { Ty::B32 } else { ty };
    let dst = temp(b, of);
    let space = Space::Buffer(from);
    let order = Order::default();
    body.push(inst(Inst::Load { dst: vec![dst], space, addr: element(index, of), order }));
    if ty != Ty::Bool {
        return dst;
    }
    let zero = b.constant(0);
    b.bin(body, BinOp::INe, dst, zero)
}

/// Stores one; a `Bool` as 0 or 1.
pub fn store(b: &mut Builder, body: &mut Block, to: ResourceRef, index: Reg, value: Reg) {
    let ty = b.kernel.reg(value).ty;
    let value = if ty == Ty::Bool {
        let (one, zero) = (b.constant(1), b.constant(0));
        b.ter(body, TerOp::Select, value, one, zero)
    } else {
        value
    };
    let order = Order::default();
    let addr = element(index, ty);
    body.push(inst(Inst::Store { src: vec![value], space: Space::Buffer(to), addr, order }));
}

/// The kernel of an op with its result and operand types.
pub fn kernel(op: Op, dst: Ty, src: &[Ty]) -> Arc<Kernel> {
    let mut b = Builder::new([64, 1, 1]);
    let buffers: Vec<_> = (0..=src.len()).map(|i| b.buffer(&format!("b{i}"))).collect();
    let mut body = Vec::new();
    let i = b.builtin(&mut body, Builtin::GlobalIdX);
    let regs: Vec<Reg> =
        src.iter().zip(&buffers).map(|(&ty, &from)| load(&mut b, &mut body, from, i, ty)).collect();
    let r = temp(&mut b, dst);
    body.push(inst(match op {
        Op::Un(op) => Inst::Unary { op, dst: r, a: regs[0] },
        Op::Bin(op) => Inst::Binary { op, dst: r, a: regs[0], b: regs[1] },
        Op::Ter(op) => Inst::Ternary { op, dst: r, a: regs[0], b: regs[1], c: regs[2] },
    }));
    store(&mut b, &mut body, buffers[src.len()], i, r);
    b.done(body)
}

/// Runs a kernel of 64 threads a group over buffers; gives their bytes back.
pub fn run(
    engine: &Interpreter,
    kernel: &Arc<Kernel>,
    size: WaveSize,
    groups: u32,
    buffers: &[Vec<u8>],
) -> Vec<Vec<u8>> {
    run_with(engine, kernel, size, groups, |_| buffers.to_vec())
}

/// As [`run`], with contents made from where the buffers lie, 4 KiB apart or more.
pub fn run_with(
    engine: &Interpreter,
    kernel: &Arc<Kernel>,
    size: WaveSize,
    groups: u32,
    contents: impl Fn(&[GpuAddress]) -> Vec<Vec<u8>>,
) -> Vec<Vec<u8>> {
    let space = Arc::new(AddressSpace::new(&Profile::get(ProfileName::SeriesX)));
    let mut table = Vec::new();
    let mut places = Vec::new();
    let nowhere = vec![GpuAddress(0); kernel.resources.len()];
    for (i, buffer) in contents(&nowhere).iter().enumerate() {
        let len = buffer.len().max(4) as u64;
        let a = space.allocate(AllocationDesc::new(format!("b{i}"), len)).unwrap();
        let start = a.range.start;
        let descriptor =
            Descriptor::Buffer(Buffer { address: start, bytes: buffer.len() as u64, stride: 0 });
        table.extend(descriptor.to_bytes());
        places.push(start);
    }
    let buffers = contents(&places);
    for (start, buffer) in places.iter().zip(&buffers) {
        space.host().write(*start, buffer).unwrap();
    }
    let at = space.allocate(AllocationDesc::new("table", table.len().max(4) as u64)).unwrap();
    space.host().write(at.range.start, &table).unwrap();
    let mut port = CoherentPort::new(Arc::clone(&space));
    dispatch(engine, kernel, size, groups, at.range.start, &mut port);
    assert!(!port.has_misses(), "{:?}", port.take_misses());
    let read = |(buffer, &start): (&Vec<u8>, &GpuAddress)| {
        let mut out = vec![0; buffer.len()];
        space.host().read(start, &mut out).unwrap();
        out
    };
    buffers.iter().zip(&places).map(read).collect()
}

fn dispatch(
    engine: &Interpreter,
    kernel: &Arc<Kernel>,
    size: WaveSize,
    groups: u32,
    table: GpuAddress,
    port: &mut CoherentPort,
) {
    let program = engine.prepare(kernel, size).expect("supported");
    let mut wave = program.new_wave();
    let dispatch = Dispatch { groups: [groups, 1, 1], table, user_data: [0; 14] };
    let mut services = super::Device::default();
    for group in 0..groups {
        for index in 0..64 / size.lanes() {
            let launch = Launch {
                group: [group, 0, 0],
                threads: kernel.group_size,
                wave: index,
                ordered_id: None,
            };
            wave.start(&dispatch, &launch, port);
            let mut lds = vec![0; kernel.lds_bytes.div_ceil(4) as usize];
            let mut budget = u64::MAX;
            let mut env = Env {
                port,
                lds: &mut lds,
                services: &mut services,
                budget: &mut budget,
                pause: false,
            };
            assert_eq!(wave.run(&mut env), Stop::End);
        }
    }
}

/// Values as the bytes of a buffer.
pub fn pack(ty: Ty, values: &[u64]) -> Vec<u8> {
    let mut out = Vec::with_capacity(values.len() * bytes(ty));
    values.iter().for_each(|v| out.extend_from_slice(&v.to_le_bytes()[..bytes(ty)]));
    out
}

/// And back.
pub fn unpack(ty: Ty, from: &[u8]) -> Vec<u64> {
    let one = |b: &[u8]| {
        let mut word = [0; 8];
        word[..b.len()].copy_from_slice(b);
        u64::from_le_bytes(word)
    };
    from.chunks(bytes(ty)).map(one).collect()
}

/// The results of `op` on operands that all have the same number of values, a
/// multiple of 64. Both instruction sets must give the same bits.
pub fn results(op: Op, dst: Ty, src: &[Ty], inputs: &[&[u64]]) -> Vec<u64> {
    let kernel = kernel(op, dst, src);
    let n = inputs[0].len();
    let mut buffers: Vec<Vec<u8>> = src.iter().zip(inputs).map(|(&t, v)| pack(t, v)).collect();
    buffers.push(vec![0xA5; n * bytes(dst)]);
    let groups = (n / 64) as u32;
    let fast = run(&Interpreter::new(), &kernel, WaveSize::W64, groups, &buffers);
    let plain = run(&Interpreter::portable(), &kernel, WaveSize::W32, groups, &buffers);
    assert!(fast == plain, "{op:?} on {src:?}: codes differ");
    unpack(dst, &fast[src.len()])
}
