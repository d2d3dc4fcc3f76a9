//! Going back: whatever ran in between, the next run is the first one.

use super::fake;
use super::fuzz::{Seed, packet};
use super::rig::{COMPUTE, COMPUTE2, DMA, GFX, MODES, PROFILES, Rig};
use crate::{LoadedKernel, Outcome, RunMode};
use proptest::prelude::*;
use std::sync::{Arc, Mutex};
use wavefence_base::{Event, GpuAddress, MemoryAccess, Observer, Schedule, Step, WorkVerdict};

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

/// Takes any step, and ends the run after so many.
#[derive(Clone, Copy, Debug)]
struct Random {
    state: u64,
    left: u16,
}

impl Schedule for Random {
    fn choose(&mut self, options: &[Step]) -> usize {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.state ^ self.state >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        self.left = self.left.saturating_sub(1);
        ((z ^ z >> 27) % options.len() as u64) as usize
    }

    fn enough(&mut self) -> bool {
        self.left == 0
    }
}

/// One part of a run: what the queues are given, and what the host does.
type Part = ([Vec<Seed>; 3], u8, u32, Option<Random>);

const KERNELS: [&str; 6] = ["threads", "spin", "ordered", "debug", "gds", "list"];

struct Bench {
    rig: Rig,
    ears: Ears,
    data: GpuAddress,
    kernels: Vec<LoadedKernel>,
}

impl Bench {
    fn new(profile: usize, mode: RunMode, stop: bool) -> Self {
        let mut rig = Rig::with(PROFILES[profile], mode, |d| {
            d.limits.max_packets = 700;
            d.limits.max_instructions = 20_000;
            d.stop_on_fault = stop;
        });
        let ears = Ears::default();
        rig.device.add_observer(Box::new(ears.clone()));
        let data = rig.buffer("data", 1024);
        let kernels = KERNELS.map(|name| rig.load(fake::named(name, [4, 1, 1]))).to_vec();
        for kind in [GFX, COMPUTE, DMA] {
            rig.queue(kind);
        }
        Self { rig, ears, data, kernels }
    }

    /// Runs a part and tells all that can be seen of it.
    fn tell(&mut self, (lists, host, number, order): &Part) -> Vec<String> {
        self.ears.0.lock().unwrap().clear();
        let Self { rig, data, kernels, .. } = self;
        let data = *data;
        // A kernel and a queue of this run alone.
        let own = (host % 3 == 0)
            .then(|| rig.load(fake::named(["threads", "nop"][usize::from(host % 2)], [4, 1, 1])));
        if host % 5 == 0 {
            let opened = rig.device.open_queue(COMPUTE2);
            self.ears.0.lock().unwrap().push(format!("{opened:?}"));
        }
        for (kind, seeds) in [GFX, COMPUTE, DMA].into_iter().zip(lists) {
            let mut list = rig.list(kind);
            if kind != DMA {
                let kernel = own.unwrap_or(kernels[*number as usize % kernels.len()]);
                list = list.bind(kernel, [4, 1, 1], data).dispatch([3, 1, 1], 0);
            }
            for &seed in seeds {
                let words = packet(rig, kind, seed, data);
                list.words.extend(words);
            }
            rig.submit(list);
        }
        let order = order.map(|order| Box::new(order) as Box<dyn Schedule>);
        rig.device.set_schedule(order);
        let first = rig.run();
        rig.device.gds_write(*number % 4096 * 4, *number);
        let fill: Vec<u8> = number.to_le_bytes().repeat(64);
        rig.device.host_write(data, &fill).unwrap();
        let second = rig.run();
        rig.device.set_schedule(None);
        let device = &rig.device;
        let mut bytes = vec![0; 1024];
        device.host_read(data, &mut bytes).unwrap();
        let gds: Vec<_> = (0..64).map(|i| device.gds_read(i * 64)).collect();
        let mut told = std::mem::take(&mut *self.ears.0.lock().unwrap());
        told.push(format!("{first:?} {second:?} {:?} {bytes:?} {gds:?}", device.faults()));
        told.push(format!(
            "{:?} {} {}",
            device.printed(),
            device.gpu_clock(),
            device.system_clock()
        ));
        told.push(format!("{:?}", device.memory().allocations()));
        let done = |s| device.submit_done(wavefence_base::SubmitId(s));
        told.push(format!("{:?}", (0..16).map(done).collect::<Vec<_>>()));
        told
    }
}

fn part() -> impl Strategy<Value = Part> {
    let seeds = prop::collection::vec((0usize..1000, any::<u64>()), 0..12);
    let order = (any::<u64>(), 1..400u16).prop_map(|(state, left)| Random { state, left });
    let order = prop::option::of(order);
    (prop::array::uniform3(seeds), any::<u8>(), any::<u32>(), order)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 250, ..ProptestConfig::default() })]

    #[test]
    fn a_run_after_going_back_is_the_first_one(
        before in prop::option::of(part()),
        runs in prop::collection::vec(part(), 1..4),
        profile in 0usize..3,
        one_thread in prop::bool::weighted(0.2),
        stop in any::<bool>(),
    ) {
        // A fast run on one thread is a function of its input too.
        let mode = MODES[usize::from(one_thread)];
        let make = || {
            let mut bench = Bench::new(profile, mode, stop);
            if let Some(before) = &before {
                bench.tell(before);
            }
            bench
        };
        let mut bench = make();
        if bench.rig.device.checkpoint().is_err() {
            // Something waits for ever; there is nothing to go back to.
            prop_assert!(!bench.rig.device.restore());
            return Ok(());
        }
        let wanted: Vec<_> = runs.iter().map(|part| make().tell(part)).collect();
        for _ in 0..2 {
            for (part, wanted) in runs.iter().zip(&wanted) {
                prop_assert_eq!(&bench.tell(part), wanted);
                prop_assert!(bench.rig.device.restore());
            }
        }
    }
}

#[test]
fn a_device_goes_back_from_the_middle_of_everything() {
    let mut bench = Bench::new(2, RunMode::Model, false);
    let (data, spin) = (bench.data, bench.kernels[1]);
    bench.rig.device.checkpoint().unwrap();
    for _ in 0..3 {
        let list = bench.rig.list(GFX);
        let list = list.bind(spin, [4, 1, 1], data).dispatch([8, 1, 1], 0).wait(data, 3, 99, 4);
        bench.rig.submit(list);
        let outcome = bench.rig.run();
        let Outcome::Blocked(stall) = outcome else { panic!("{outcome:?}") };
        assert!(matches!(stall.work[0].verdict, WorkVerdict::OverBudget(_)), "{stall:?}");
        assert!(bench.rig.device.checkpoint().is_err(), "a dispatch has not ended");
        // The first one is still good.
        assert!(bench.rig.device.restore());
        assert_eq!(bench.rig.run(), Outcome::Idle);
    }
}

#[test]
fn lines_beyond_those_that_are_kept_are_counted_anew() {
    let mut rig = Rig::new(PROFILES[0], RunMode::Model);
    let kernel = rig.load(fake::named("chatty", [4, 1, 1]));
    let data = rig.buffer("data", 64);
    rig.queue(GFX);
    rig.device.checkpoint().unwrap();
    let mut told = Vec::new();
    for _ in 0..2 {
        let list = rig.list(GFX).bind(kernel, [4, 1, 1], data).dispatch([4, 1, 1], 0);
        rig.submit(list);
        rig.run_idle();
        let (lines, lost) = rig.device.printed();
        told.push((lines.len(), lost));
        assert!(rig.device.restore());
        assert_eq!(rig.device.printed(), (Vec::new(), 0));
    }
    assert!(told[0].1 > 0 && told[0] == told[1], "{told:?}");
}
