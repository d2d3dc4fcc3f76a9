//! Going back to a checkpoint: the same run again, on the same device, with the same
//! objects; and what was made since is gone.

mod common;

use common::{PROFILES, count_kernel, store_kernel};
use std::sync::{Arc, Mutex};
use wavefence_base::{Event, GpuAddress, MemoryAccess, Observer, ProfileName};
use wavefence_d3d::enums::*;
use wavefence_d3d::{
    Buffer, CommandList, Device, Ending, Error, Fence, ListKind, Queue, RunMode, Went, rules,
};

/// Keeps everything that an observer hears, accesses too.
#[derive(Clone, Default)]
struct Ears(Arc<Mutex<Vec<String>>>);

impl Observer for Ears {
    fn event(&mut self, event: &Event) {
        self.0.lock().unwrap().push(format!("{event:?}"));
    }

    fn wants_accesses(&self) -> bool {
        true
    }

    fn access(&mut self, access: &MemoryAccess<'_>) {
        self.0.lock().unwrap().push(format!("{access:?}"));
    }
}

/// A producer and a consumer with too little between them, so that the checker has
/// something to say.
struct Bench {
    device: Device,
    ears: Ears,
    graphics: Queue,
    compute: Queue,
    fence: Fence,
    data: Buffer,
    flag: Buffer,
    make: CommandList,
    take: CommandList,
}

impl Bench {
    fn new(profile: ProfileName) -> Self {
        let ears = Ears::default();
        let builder = Device::builder().profile(profile).check(true);
        let mut device = builder.observer(Box::new(ears.clone())).build().unwrap();
        let (graphics, compute) =
            (device.graphics_queue().unwrap(), device.compute_queue(0, 0).unwrap());
        let fence = device.create_fence("F", 3).unwrap();
        let data = device.create_buffer_with("Data", &[7; 512]).unwrap();
        let flag = device.create_buffer_with("Flag", &[0; 64]).unwrap();
        let store = device.create_pipeline("Store", store_kernel(5, 64)).unwrap();
        let count = device.create_pipeline("Count", count_kernel([64, 1, 1])).unwrap();
        let mut make = device.create_command_list("Make", ListKind::Graphics);
        make.set_pipeline_state(&store).set_uav(0, 0, data.raw_view()).dispatch(2, 1, 1);
        make.write_32_bit_value_bottom_of_pipe_x(
            flag.address(),
            1,
            D3D12XBOX_FLUSH::NONE,
            D3D12XBOX_WRITE_VALUE_BOP_FLAGS::NONE,
        );
        make.close().unwrap();
        let mut take = device.create_command_list("Take", ListKind::Compute);
        take.set_pipeline_state(&count).set_uav(0, 0, data.raw_view()).dispatch(1, 1, 1);
        take.close().unwrap();
        Self { device, ears, graphics, compute, fence, data, flag, make, take }
    }

    /// Runs everything and tells all that can be seen of it.
    fn tell(&mut self, extra: u64) -> Vec<String> {
        self.ears.0.lock().unwrap().clear();
        let Self { device, graphics, compute, fence, data, flag, make, take, ears } = self;
        device.execute_command_lists(graphics, &[make]).unwrap();
        device.signal(graphics, fence, 4 + extra).unwrap();
        if extra > 0 {
            device.wait(compute, fence, 3 + extra).unwrap();
        }
        device.execute_command_lists(compute, &[take]).unwrap();
        let report = device.run();
        device.write_u32s(flag.address(), &[extra as u32]).unwrap();
        device.execute_command_lists(graphics, &[make]).unwrap();
        let again = device.run();
        let mut told = std::mem::take(&mut *ears.0.lock().unwrap());
        told.push(format!("{report:?} {again:?}"));
        let bytes = |b: &Buffer| device.peek(b.address(), b.bytes()).unwrap();
        told.push(format!("{:?} {:?}", bytes(data), bytes(flag)));
        told.push(format!("{:?}", device.fence_value(fence)));
        told
    }
}

#[test]
fn a_run_after_going_back_is_the_first_one() {
    for profile in PROFILES {
        let wanted = [0, 1, 2].map(|extra| Bench::new(profile).tell(extra));
        assert_ne!(wanted[0], wanted[1]);
        assert!(wanted[0].iter().any(|line| line.contains("Possible")), "{profile}: a hazard");
        let mut bench = Bench::new(profile);
        bench.device.checkpoint().unwrap();
        for extra in [0, 1, 0, 2, 2, 1] {
            let (told, wanted) = (bench.tell(extra), &wanted[extra as usize]);
            let other = told.iter().zip(wanted).find(|(a, b)| a != b);
            assert_eq!((other, told.len()), (None, wanted.len()), "{profile} {extra}");
            assert!(bench.device.restore());
            assert!(bench.device.is_clean());
            // Asking for the fence's value would be an access.
            let value = bench.device.peek(bench.fence.address(), 8).unwrap();
            assert_eq!(value, [3, 0, 0, 0, 0, 0, 0, 0]);
        }
    }
}

#[test]
fn a_hung_run_goes_back() {
    let mut bench = Bench::new(ProfileName::SeriesX);
    bench.device.checkpoint().unwrap();
    for _ in 0..2 {
        bench.device.wait(&bench.graphics, &bench.fence, 9).unwrap();
        assert_eq!(bench.device.run_only(), Went::Blocked);
        assert!(matches!(bench.device.report_now().ending, Ending::Hang(_)));
        assert!(bench.device.restore());
        assert_eq!(bench.device.report_now().ending, Ending::Idle);
        assert_eq!(bench.device.run_only(), Went::Idle);
    }
}

/// What refuses the use of an object that is gone.
fn gone<T: std::fmt::Debug>(result: Result<T, Error>) {
    let Err(Error::Call(error)) = result else { panic!("{result:?}") };
    assert_eq!(error.rule.number, rules::FENCE_DEVICE.number);
    assert!(error.message.starts_with("is gone: "), "{}", error.message);
}

#[test]
fn what_was_made_since_is_gone() {
    let mut bench = Bench::new(ProfileName::XboxOne);
    let (device, graphics) = (&mut bench.device, &bench.graphics);
    device.checkpoint().unwrap();
    let fence = device.create_fence("New", 0).unwrap();
    let queue = device.compute_queue(0, 1).unwrap();
    let allocation = device.allocate(wavefence_d3d::AllocationDesc::new("Memory", 64)).unwrap();
    let mut list = device.create_command_list("New", ListKind::Graphics);
    list.close().unwrap();
    let pipeline = device.create_pipeline("New", store_kernel(1, 1)).unwrap();
    // All are good until the device goes back.
    device.signal(graphics, &fence, 1).unwrap();
    device.execute_command_lists(graphics, &[&list]).unwrap();
    device.wait(&queue, &fence, 1).unwrap();
    assert_eq!(device.run_only(), Went::Idle);
    assert!(device.restore());
    gone(device.signal(graphics, &fence, 1));
    gone(device.wait(&queue, &bench.fence, 1));
    gone(device.fence_value(&fence));
    gone(device.free(&allocation));
    gone(device.execute_command_lists(graphics, &[&list]));
    // A list of today with an object of then.
    let mut mixed = device.create_command_list("Mixed", ListKind::Graphics);
    mixed.set_pipeline_state(&pipeline).set_uav(0, 0, bench.data.raw_view()).dispatch(1, 1, 1);
    mixed.close().unwrap();
    gone(device.execute_command_lists(graphics, &[&mixed]));
    // Ids and addresses are given out again; the old handles stay dead.
    let again = device.create_fence("New", 0).unwrap();
    assert_eq!(again.address(), fence.address());
    gone(device.fence_value(&fence));
    assert_eq!(device.fence_value(&again).unwrap(), 0);
    // A second checkpoint keeps what lives now.
    device.checkpoint().unwrap();
    assert!(device.restore());
    assert_eq!(device.fence_value(&again).unwrap(), 0);
    assert_eq!(device.fence_value(&bench.fence).unwrap(), 3);
    gone(device.fence_value(&fence));
}

#[test]
fn what_was_freed_since_is_back() {
    let mut bench = Bench::new(ProfileName::SeriesX);
    let device = &mut bench.device;
    let memory = device.allocate(wavefence_d3d::AllocationDesc::new("Memory", 64)).unwrap();
    device.write_u32s(memory.address(), &[11]).unwrap();
    device.checkpoint().unwrap();
    for _ in 0..2 {
        device.write_u32s(memory.address(), &[12]).unwrap();
        device.free(&memory).unwrap();
        assert!(device.read_u32s(memory.address(), 1).is_err());
        assert!(device.restore());
        assert_eq!(device.read_u32s(memory.address(), 1).unwrap(), [11]);
    }
}

#[test]
fn a_fast_run_goes_back_too() {
    let mut device =
        Device::builder().mode(RunMode::Fast { threads: 2 }).build().expect("a device");
    let queue = device.graphics_queue().unwrap();
    let data = device.create_buffer("Data", 1 << 16).unwrap();
    let store = device.create_pipeline("Store", store_kernel(5, 64)).unwrap();
    let mut list = device.create_command_list("List", ListKind::Graphics);
    list.set_pipeline_state(&store).set_uav(0, 0, data.raw_view()).dispatch(256, 1, 1);
    list.close().unwrap();
    device.checkpoint().unwrap();
    for _ in 0..3 {
        device.execute_command_lists(&queue, &[&list]).unwrap();
        assert_eq!(device.run_only(), Went::Idle);
        assert!(device.read(data.address(), 1 << 16).unwrap().chunks(4).all(|c| c == [5, 0, 0, 0]));
        assert!(device.restore());
        assert!(device.read(data.address(), 1 << 16).unwrap().iter().all(|&b| b == 0));
    }
}

#[test]
fn without_a_checkpoint_nothing_goes_back() {
    let mut bench = Bench::new(ProfileName::SeriesX);
    bench.device.write_u32s(GpuAddress(bench.data.address().0), &[1]).unwrap();
    assert!(!bench.device.restore());
    assert_eq!(bench.device.read_u32s(bench.data.address(), 1).unwrap(), [1]);
}
