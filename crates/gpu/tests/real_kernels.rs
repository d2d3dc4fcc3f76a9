//! Real kernels on whole devices: the interpreter under the dispatcher, in both
//! kinds of run and both wave sizes.

use std::sync::Arc;
use wavefence_base::{GpuAddress, GpuRange, Profile, ProfileName, Schedule, Step, WaveSize};
use wavefence_gpu::{Device, DeviceDesc, Outcome, QueueKind, RunMode};
use wavefence_memory::AllocationDesc;
use wavefence_pm4::{Field, Generation, Kind, Packet, Ring, initiator, reg};
use wavefence_shader::lower::LowerOptions;
use wavefence_shader::{CompileOptions, Language, Source, load_kernel};
use wavefence_wave::descriptor::{Buffer, Descriptor};
use wavefence_wave::interp::Interpreter;

const COMPUTE: QueueKind = QueueKind::Compute { pipe: 0, queue: 0 };
const MODES: [RunMode; 3] =
    [RunMode::Model, RunMode::Fast { threads: 1 }, RunMode::Fast { threads: 3 }];

/// Sums each group's part through group-shared memory, then counts globally.
const SUM: &str = "
@group(0) @binding(0) var<storage, read> input: array<u32>;
@group(0) @binding(1) var<storage, read_write> output: array<u32>;
@group(0) @binding(2) var<storage, read_write> total: atomic<u32>;
var<workgroup> part: array<u32, 256>;
@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) i: u32) {
    part[i] = input[group.x * 256u + i];
    workgroupBarrier();
    for (var step = 128u; step > 0u; step = step >> 1u) {
        if (i < step) { part[i] += part[i + step]; }
        workgroupBarrier();
    }
    if (i == 0u) {
        output[group.x] = part[0];
        atomicAdd(&total, part[0]);
    }
}";

/// Group n waits for group n - 1: a chain through memory.
const CHAIN: &str = "
@group(0) @binding(0) var<storage, read_write> flags: array<atomic<u32>>;
@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) i: u32) {
    if (i == 0u) {
        if (group.x > 0u) {
            loop {
                if (atomicLoad(&flags[group.x - 1u]) != 0u) { break; }
            }
        }
        let before = select(0u, atomicLoad(&flags[max(group.x, 1u) - 1u]), group.x > 0u);
        atomicStore(&flags[group.x], before + 1u);
    }
}";

struct Run {
    device: Device,
}

impl Run {
    fn new(mode: RunMode) -> Self {
        let profile = Profile::get(ProfileName::SeriesX);
        let mut desc = DeviceDesc::model(profile, Arc::new(Interpreter::new()));
        desc.mode = mode;
        Self { device: Device::new(desc) }
    }

    fn buffer(&mut self, words: &[u32]) -> GpuRange {
        let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
        let desc = AllocationDesc::new("buffer", bytes.len() as u64);
        let range = self.device.memory().allocate(desc).unwrap().range;
        self.device.host_write(range.start, &bytes).unwrap();
        range
    }

    fn words(&self, range: GpuRange) -> Vec<u32> {
        let mut bytes = vec![0; range.len as usize];
        self.device.host_read(range.start, &mut bytes).unwrap();
        bytes.chunks(4).map(|c| u32::from_le_bytes(c.try_into().unwrap())).collect()
    }

    /// Runs a WGSL kernel over buffers bound in order.
    fn dispatch(&mut self, wgsl: &str, groups: u32, size: WaveSize, buffers: &[GpuRange]) {
        let source = Source::text(Language::Wgsl, "test.wgsl", wgsl);
        let options = CompileOptions { wave32: true, ..CompileOptions::default() };
        let kernel = load_kernel(&source, &options, &LowerOptions::default()).unwrap();
        let threads = kernel.group_size;
        let kernel = self.device.load_kernel(Arc::new(kernel)).unwrap();
        let table: Vec<u32> = buffers
            .iter()
            .flat_map(|b| {
                let buffer = Buffer { address: b.start, bytes: b.len, stride: 4 };
                Descriptor::Buffer(buffer).encode()
            })
            .collect();
        let table = self.buffer(&table).start;
        let mut words = Vec::new();
        let mut set = |first: u32, values: &[u32]| {
            let packet = Packet::build(Kind::SetShReg, Generation::Gfx10_3, Ring::Compute)
                .set(Field::RegOffset, reg::sh_offset(first).into())
                .body(values);
            words.extend(packet.encode());
        };
        let code = GpuAddress(kernel.code.0 >> 8);
        set(reg::COMPUTE_PGM_LO, &[code.lo(), code.hi()]);
        set(reg::COMPUTE_NUM_THREAD_X, &threads);
        set(reg::COMPUTE_USER_DATA_0, &[table.lo(), table.hi()]);
        let wave = if size == WaveSize::W32 { initiator::CS_W32_EN } else { 0 };
        let bits = initiator::COMPUTE_SHADER_EN | initiator::FORCE_START_AT_000 | wave;
        let packet = Packet::build(Kind::DispatchDirect, Generation::Gfx10_3, Ring::Compute)
            .set(Field::DimX, groups.into())
            .set(Field::DimY, 1)
            .set(Field::DimZ, 1)
            .set(Field::Initiator, bits.into());
        words.extend(packet.encode());
        let list = self.buffer(&words);
        let queue = self.device.open_queue(COMPUTE).unwrap();
        self.device.submit(queue, list).unwrap();
        assert_eq!(self.device.run(), Outcome::Idle);
        assert_eq!(self.device.faults(), []);
    }
}

#[test]
fn sums_agree_in_every_run_and_wave_size() {
    let input: Vec<u32> = (0..100 * 256).map(|i| i * 7 % 1000).collect();
    let want: Vec<u32> = input.chunks(256).map(|c| c.iter().sum()).collect();
    for mode in MODES {
        for size in [WaveSize::W32, WaveSize::W64] {
            let mut run = Run::new(mode);
            let from = run.buffer(&input);
            let to = run.buffer(&[0; 100]);
            let total = run.buffer(&[0]);
            run.dispatch(SUM, 100, size, &[from, to, total]);
            assert_eq!(run.words(to), want, "{mode:?} {size:?}");
            assert_eq!(run.words(total), [want.iter().sum::<u32>()]);
        }
    }
}

/// Takes the first option, or any.
struct Choose(Option<u64>);

impl Schedule for Choose {
    fn choose(&mut self, options: &[Step]) -> usize {
        let Some(state) = &mut self.0 else { return 0 };
        *state = state.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1);
        (*state >> 33) as usize % options.len()
    }
}

#[test]
fn without_races_whoever_chooses_gets_the_same() {
    let input: Vec<u32> = (0..6 * 256).map(|i| i * 7 % 1000).collect();
    let want: Vec<u32> = input.chunks(256).map(|c| c.iter().sum()).collect();
    for choose in [None, Some(1), Some(2), Some(3)] {
        let mut run = Run::new(RunMode::Model);
        run.device.set_schedule(Some(Box::new(Choose(choose))));
        let from = run.buffer(&input);
        let to = run.buffer(&[0; 6]);
        let total = run.buffer(&[0]);
        run.dispatch(SUM, 6, WaveSize::W64, &[from, to, total]);
        assert_eq!(run.words(to), want, "{choose:?}");
        assert_eq!(run.words(total), [want.iter().sum::<u32>()]);
    }
}

#[test]
fn groups_that_spin_on_earlier_groups_finish() {
    for mode in MODES {
        let mut run = Run::new(mode);
        let flags = run.buffer(&[0; 500]);
        run.dispatch(CHAIN, 500, WaveSize::W64, &[flags]);
        assert_eq!(run.words(flags), (1..=500).collect::<Vec<u32>>(), "{mode:?}");
    }
}
