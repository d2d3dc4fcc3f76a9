//! Waits: six comparisons, 32 and 64 bit, between every ordered pair of engine
//! kinds, satisfied at once, later and never; ALWAYS, NEVER; a wait submitted before
//! its writer. In model and fast run.

mod common;

use common::{MODES, device, store_kernel};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use wavefence_base::{Event, GpuAddress, Observer, ProfileName, StallVerdict};
use wavefence_d3d::enums::*;
use wavefence_d3d::{CommandList, Device, Ending, ListKind, Queue, RunMode};

use D3D12_COMPARISON_FUNC as Func;

const SIX: [Func; 6] = [
    Func::LESS,
    Func::EQUAL,
    Func::LESS_EQUAL,
    Func::GREATER,
    Func::NOT_EQUAL,
    Func::GREATER_EQUAL,
];

/// A reference, a first value for which the comparison fails and one for which it
/// holds. With 64 bits the values differ in the high half, so that a wait that
/// looks at 32 bits is caught, and are above the signed range.
fn values(func: Func, wide: bool) -> (u64, u64, u64) {
    let high = |n: u64| if wide { 0x8000_0000_0000_0000 | n << 32 } else { 0x8000_0000 | n };
    let (less, same, more) = (high(4), high(5), high(6));
    match func {
        Func::LESS => (same, same, less),
        Func::EQUAL => (same, less, same),
        Func::LESS_EQUAL => (same, more, same),
        Func::GREATER => (same, same, more),
        Func::NOT_EQUAL => (same, same, less),
        Func::GREATER_EQUAL => (same, less, same),
        Func::NEVER | Func::ALWAYS => (same, same, same),
    }
}

struct Case {
    device: Device,
    waiter: Queue,
    writer: Queue,
    flag: GpuAddress,
    out: GpuAddress,
    wide: bool,
}

fn queue(device: &mut Device, kind: ListKind, second: bool) -> Queue {
    let n = u32::from(second);
    match kind {
        ListKind::Graphics => device.graphics_queue(),
        ListKind::Compute => device.compute_queue(0, n),
        ListKind::Dma => device.dma_queue(n),
    }
    .expect("a queue")
}

impl Case {
    fn new(
        profile: ProfileName,
        mode: RunMode,
        waiter: ListKind,
        writer: ListKind,
        wide: bool,
    ) -> Self {
        let mut device = device(profile, mode);
        let waiter = queue(&mut device, waiter, false);
        let writer = queue(&mut device, writer, true);
        let flag = device.create_buffer("flag", 64).unwrap().address();
        let out = device.create_buffer("out", 64).unwrap().address();
        Self { device, waiter, writer, flag, out, wide }
    }

    fn set(&mut self, value: u64) {
        let bytes = value.to_le_bytes();
        let bytes = if self.wide { &bytes[..] } else { &bytes[..4] };
        self.device.write(self.flag, bytes).unwrap();
    }

    /// Waits, then writes 1 to `out`.
    fn submit_waiter(&mut self, func: Func, reference: u64) {
        let mut list = self.device.create_command_list("Waiter", self.waiter.list_kind());
        wait(&mut list, self.flag, func, reference, self.wide);
        bottom_write(&mut list, self.out, 1, false);
        list.close().unwrap();
        self.device.execute_command_lists(&self.waiter, &[&list]).unwrap();
    }

    fn submit_writer(&mut self, value: u64) {
        let mut list = self.device.create_command_list("Writer", self.writer.list_kind());
        bottom_write(&mut list, self.flag, value, self.wide);
        list.close().unwrap();
        self.device.execute_command_lists(&self.writer, &[&list]).unwrap();
    }

    fn passed(&self) -> bool {
        self.device.read_u32s(self.out, 1).unwrap() == [1]
    }
}

fn wait(list: &mut CommandList, at: GpuAddress, func: Func, reference: u64, wide: bool) {
    if wide {
        list.wait_64_bit_value_x(at, func, reference, D3D12XBOX_WAIT_FLAG_NONE);
    } else {
        list.wait_32_bit_value_x(at, func, reference as u32, D3D12XBOX_WAIT_FLAG_NONE);
    }
}

fn bottom_write(list: &mut CommandList, at: GpuAddress, value: u64, wide: bool) {
    let (flush, flags) = (D3D12XBOX_FLUSH_NONE, D3D12XBOX_WRITE_VALUE_BOP_FLAG_NONE);
    if wide {
        list.write_64_bit_value_bottom_of_pipe_x(at, value, flush, flags);
    } else {
        list.write_32_bit_value_bottom_of_pipe_x(at, value as u32, flush, flags);
    }
}

/// Runs `check` for every ordered pair of engine kinds, both widths, both modes and
/// every comparison.
fn for_every_case(check: impl Fn(Case, Func)) {
    for_every_pair(false, check);
}

/// As above; `alone` adds graphics waiting for graphics, which is one queue.
fn for_every_pair(alone: bool, check: impl Fn(Case, Func)) {
    for profile in [ProfileName::XboxOne, ProfileName::XboxOneX, ProfileName::SeriesX] {
        for mode in MODES {
            for waiter in ListKind::ALL {
                for writer in ListKind::ALL {
                    if !alone && waiter == writer && waiter == ListKind::Graphics {
                        continue;
                    }
                    for wide in [false, true] {
                        for func in SIX {
                            check(Case::new(profile, mode, waiter, writer, wide), func);
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn satisfied_at_once() {
    for_every_pair(true, |mut case, func| {
        let (reference, _, holds) = values(func, case.wide);
        case.submit_writer(holds);
        assert!(case.device.run().is_clean());
        case.submit_waiter(func, reference);
        let report = case.device.run();
        assert!(report.is_clean(), "{func}: {report:?}");
        assert!(case.passed());
    });
}

#[test]
fn satisfied_later_by_a_writer_submitted_after_the_wait() {
    for_every_case(|mut case, func| {
        let (reference, fails, holds) = values(func, case.wide);
        case.set(fails);
        case.submit_waiter(func, reference);
        case.submit_writer(holds);
        let report = case.device.run();
        assert!(report.is_clean(), "{func}: {report:?}");
        assert!(case.passed());
    });
}

#[test]
fn blocked_then_satisfied_by_a_later_submit() {
    for_every_case(|mut case, func| {
        let (reference, fails, holds) = values(func, case.wide);
        case.set(fails);
        case.submit_waiter(func, reference);
        let report = case.device.run();
        assert!(report.hang().is_some(), "{func}: {report:?}");
        assert!(!case.passed());
        case.submit_writer(holds);
        let report = case.device.run();
        assert!(report.is_clean(), "{func}: {report:?}");
        assert!(case.passed());
    });
}

/// Counts the waits that were met before their condition held.
struct Blocked(Arc<AtomicU32>);

impl Observer for Blocked {
    fn event(&mut self, event: &Event) {
        if matches!(event, Event::WaitBlocked { .. }) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// There is one graphics queue, so graphics waits for graphics on itself: its ME
/// meets the wait while the shaders before the end-of-pipe write still run.
#[test]
fn graphics_waits_for_its_own_end_of_pipe() {
    for profile in [ProfileName::XboxOne, ProfileName::XboxOneX, ProfileName::SeriesX] {
        for (wide, func) in [false, true].into_iter().flat_map(|w| SIX.map(|f| (w, f))) {
            let (reference, fails, holds) = values(func, wide);
            let blocked = Arc::new(AtomicU32::new(0));
            let observer = Box::new(Blocked(blocked.clone()));
            let mut device = Device::builder().profile(profile).observer(observer).build().unwrap();
            let pipeline = device.create_pipeline("store", store_kernel(7, 64)).unwrap();
            let data = device.create_buffer("data", 256 * 64 * 4).unwrap();
            let graphics = queue(&mut device, ListKind::Graphics, false);
            let flag = device.create_buffer("flag", 64).unwrap().address();
            let out = device.create_buffer("out", 64).unwrap().address();
            let mut case = Case {
                device,
                waiter: graphics.clone(),
                writer: graphics.clone(),
                flag,
                out,
                wide,
            };
            case.set(fails);
            let mut list = case.device.create_command_list("Both", ListKind::Graphics);
            list.set_pipeline_state(&pipeline).set_uav(0, 0, data.raw_view());
            list.dispatch(256, 1, 1);
            bottom_write(&mut list, flag, holds, wide);
            wait(&mut list, flag, func, reference, wide);
            bottom_write(&mut list, out, 1, false);
            list.close().unwrap();
            case.device.execute_command_lists(&graphics, &[&list]).unwrap();
            let report = case.device.run();
            assert!(report.is_clean(), "{profile} {func}: {report:?}");
            assert!(case.passed());
            assert!(blocked.load(Ordering::Relaxed) > 0, "{profile} {func}: held at once");
            // Never: the value is overwritten before the wait.
            case.device.write(out, &[0; 4]).unwrap();
            case.submit_writer(fails);
            case.submit_waiter(func, reference);
            let report = case.device.run();
            assert!(report.hang().is_some(), "{profile} {func}: {report:?}");
            assert!(!case.passed());
        }
    }
}

#[test]
fn never_satisfied_ends_in_a_hang_with_a_verdict() {
    for_every_case(|mut case, func| {
        let (reference, fails, _) = values(func, case.wide);
        case.set(fails);
        case.submit_waiter(func, reference);
        case.submit_writer(fails);
        let report = case.device.run();
        let hang = report.hang().unwrap_or_else(|| panic!("{func}: {report:?}"));
        assert_eq!(hang.waits.len(), 1);
        let wait = &hang.waits[0];
        assert_eq!(wait.wanted, reference);
        assert_eq!(wait.present, fails);
        assert_eq!(wait.verdict, StallVerdict::NeverSatisfied, "{hang}");
        assert_eq!(wait.call.list, "Waiter");
        assert_eq!(wait.call.index, Some(0));
        assert!(wait.call.call.starts_with("Wait"), "{hang}");
        assert_eq!(wait.place.as_deref(), Some("flag+0x0"));
        assert!(!case.passed());
    });
}

#[test]
fn nothing_writes_it() {
    for mode in MODES {
        let mut case =
            Case::new(ProfileName::SeriesX, mode, ListKind::Compute, ListKind::Dma, false);
        case.submit_waiter(Func::EQUAL, 1);
        let report = case.device.run();
        let hang = report.hang().expect("a hang");
        assert_eq!(hang.waits[0].verdict, StallVerdict::NeverWritten);
    }
}

#[test]
fn always_passes_at_once() {
    for mode in MODES {
        for kind in ListKind::ALL {
            for wide in [false, true] {
                let other = if kind == ListKind::Dma { ListKind::Compute } else { ListKind::Dma };
                let mut case = Case::new(ProfileName::XboxOne, mode, kind, other, wide);
                case.submit_waiter(Func::ALWAYS, 7);
                assert!(case.device.run().is_clean());
                assert!(case.passed());
            }
        }
    }
}

#[test]
fn never_is_refused() {
    for kind in ListKind::ALL {
        for wide in [false, true] {
            let mut device = device(ProfileName::SeriesX, RunMode::Model);
            let mut list = device.create_command_list("L", kind);
            wait(&mut list, GpuAddress(0x1000), Func::NEVER, 0, wide);
            let errors = list.close().unwrap_err();
            assert_eq!(errors.0.len(), 1);
            assert_eq!(errors.0[0].rule.name, "wait-never");
            assert_eq!(errors.0[0].argument, "ComparisonFunc");
        }
    }
}

/// Two queues that wait for each other.
#[test]
fn a_ring_of_waits_is_a_cycle() {
    for mode in MODES {
        let mut device = device(ProfileName::SeriesX, mode);
        let graphics = device.graphics_queue().unwrap();
        let compute = device.compute_queue(0, 0).unwrap();
        let flags = device.create_buffer("flags", 64).unwrap();
        let (a, b) = (flags.address(), flags.address().offset(32));
        for (queue, wanted, given) in [(&graphics, a, b), (&compute, b, a)] {
            let mut list = device.create_command_list(queue.name(), queue.list_kind());
            wait(&mut list, wanted, Func::EQUAL, 1, false);
            bottom_write(&mut list, given, 1, false);
            list.close().unwrap();
            device.execute_command_lists(queue, &[&list]).unwrap();
        }
        let report = device.run();
        let hang = report.hang().expect("a hang");
        assert_eq!(hang.waits.len(), 2);
        for wait in &hang.waits {
            assert!(matches!(wait.verdict, StallVerdict::Cycle(_)), "{hang}");
        }
        let text = hang.to_string();
        assert!(text.contains("deadlock"), "{text}");
        assert!(text.contains("list \"graphics\" #0 Wait32BitValueX"), "{text}");
    }
}

#[test]
fn a_counter_that_passed_the_value_is_overtaken() {
    for mode in MODES {
        let mut case =
            Case::new(ProfileName::SeriesX, mode, ListKind::Graphics, ListKind::Compute, false);
        case.submit_writer(3);
        case.submit_writer(4);
        assert!(case.device.run().is_clean());
        case.submit_waiter(Func::EQUAL, 3);
        let report = case.device.run();
        let hang = report.hang().expect("a hang");
        assert_eq!(hang.waits[0].verdict, StallVerdict::Overtaken, "{hang}");
    }
}

#[test]
fn the_only_write_stands_behind_the_wait() {
    for mode in MODES {
        let mut device = device(ProfileName::SeriesX, mode);
        let queue = device.compute_queue(0, 0).unwrap();
        let flag = device.create_buffer("flag", 64).unwrap();
        let mut list = device.create_command_list("Self", ListKind::Compute);
        wait(&mut list, flag.address(), Func::EQUAL, 1, false);
        bottom_write(&mut list, flag.address(), 1, false);
        list.close().unwrap();
        device.execute_command_lists(&queue, &[&list]).unwrap();
        let report = device.run();
        let hang = report.hang().expect("a hang");
        assert_eq!(hang.waits[0].verdict, StallVerdict::BehindItself, "{hang}");
        assert!(!hang.waits[0].pending.is_empty());
    }
}

#[test]
fn the_host_can_satisfy_a_wait() {
    for mode in MODES {
        let mut case =
            Case::new(ProfileName::XboxOneX, mode, ListKind::Dma, ListKind::Compute, true);
        case.submit_waiter(Func::GREATER_EQUAL, 9);
        assert!(matches!(case.device.run().ending, Ending::Hang(_)));
        case.set(9);
        assert!(case.device.run().is_clean());
        assert!(case.passed());
    }
}

/// A wait whose memory goes, is placed over, or would be written by a list that nobody
/// executed.
#[test]
fn memory_that_goes_and_lists_that_nobody_executed_have_verdicts_of_their_own() {
    use wavefence_d3d::AllocationDesc;
    for mode in MODES {
        let waiting = |producer: bool| {
            let mut device = device(ProfileName::SeriesX, mode);
            let queue = device.graphics_queue().unwrap();
            let sync = device.allocate(AllocationDesc::new("Sync", 64)).unwrap();
            let mut list = device.create_command_list("Wait", ListKind::Graphics);
            list.wait_32_bit_value_x(sync.address(), Func::EQUAL, 1, D3D12XBOX_WAIT_FLAGS::NONE);
            list.close().unwrap();
            let mut other = device.create_command_list("Produce", ListKind::Graphics);
            let (none, flags) = (D3D12XBOX_FLUSH::NONE, D3D12XBOX_WRITE_VALUE_BOP_FLAGS::NONE);
            let value = u32::from(producer);
            other.write_32_bit_value_bottom_of_pipe_x(sync.address(), value, none, flags);
            other.close().unwrap();
            device.execute_command_lists(&queue, &[&list]).unwrap();
            device.run();
            (device, sync, other)
        };
        let verdict = |device: &mut Device| match device.run().ending {
            Ending::Hang(hang) => hang.waits[0].verdict.clone(),
            other => panic!("{other:?}"),
        };
        let (mut device, _, produce) = waiting(true);
        assert_eq!(verdict(&mut device), StallVerdict::NotSubmitted("Produce".into()));
        // A list that is gone would write nothing.
        drop(produce);
        assert_eq!(verdict(&mut device), StallVerdict::NeverWritten);
        let (mut device, sync, _other) = waiting(false);
        assert_eq!(verdict(&mut device), StallVerdict::NeverWritten);
        device.free(&sync).unwrap();
        assert_eq!(verdict(&mut device), StallVerdict::MemoryFreed("Sync".into()));
        let next = device.allocate(AllocationDesc::new("Next", 64)).unwrap();
        if next.address() == sync.address() {
            let (was, now) = ("Sync".into(), "Next".into());
            assert_eq!(verdict(&mut device), StallVerdict::MemoryReused { was, now });
        }
    }
}
