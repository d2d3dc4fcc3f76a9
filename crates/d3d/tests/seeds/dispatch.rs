// tidy: table
//! Seed 003: the flags of `DispatchX`.

use crate::Row;
use crate::common::{
    Builder, MODES, PROFILES, count_kernel, device, fixed, lane_count_kernel, model,
    ordered_kernel, store_kernel,
};
use std::sync::{Arc, Mutex};
use wavefence_base::{Event, Observer, Profile, ProfileName, WaveSize};
use wavefence_d3d::enums::*;
use wavefence_d3d::{CallError, CommandList, Device, ListKind, RunMode};
use wavefence_pm4::{Field, Kind, decode_stream};
use wavefence_shader::ir::{BinOp, Builtin, Kernel, WaveRule};

use D3D12XBOX_DISPATCH_FLAGS as Flags;

pub const SEED_003: &[Row] = &[
    Row { seed: "003", says: "the value of every flag", check: flag_values },
    Row { seed: "003", says: "NONE: no flags", check: none_is_plain_dispatch },
    Row { seed: "003", says: "FORCE_START 0: START_X is honoured", check: start_x },
    Row { seed: "003", says: "FORCE_START 0: START_Y is honoured", check: start_y },
    Row { seed: "003", says: "FORCE_START 0: START_Z is honoured", check: start_z },
    Row { seed: "003", says: "FORCE_START 1: all three count as 0", check: start_forced },
    Row { seed: "003", says: "ORDERED_APPEND 0: not supported", check: ordered_without_flag },
    Row { seed: "003", says: "ORDERED_APPEND 1: supported", check: ordered_per_wave },
    Row { seed: "003", says: "WAVEID 0: one id per wave", check: ordered_per_wave },
    Row { seed: "003", says: "WAVEID 1: one id per thread group", check: ordered_per_group },
    Row { seed: "003", says: "THREAD_DIMENSIONS 1: counts are threads", check: thread_counts },
    Row { seed: "003", says: "OUT_OF_ORDER 0: launched in order", check: in_order },
    Row { seed: "003", says: "OUT_OF_ORDER 1: may launch out of order", check: out_of_order },
    Row { seed: "003", says: "OUT_OF_ORDER: asynchronous queues only", check: async_only },
    Row { seed: "003", says: "DISABLE_VOLATILE_VECTOR_L1", check: volatile_bits },
    Row { seed: "003", says: "DISABLE_VOLATILE_SCALAR_L1", check: volatile_bits },
    Row { seed: "003", says: "INVALIDATE_VOLATILE_SCALAR_L1", check: volatile_bits },
    Row { seed: "003", says: "INVALIDATE_VOLATILE_VECTOR_L1", check: volatile_bits },
    Row { seed: "003", says: "W32: wave32 if set, else wave64", check: wave_sizes },
    Row { seed: "003", says: "flags are OR-ed", check: flags_combine },
    Row {
        seed: "003",
        says: "OUT_OF_ORDER with one wave32 wave a group",
        check: launch_rate_shape,
    },
    Row { seed: "003", says: "W32 needs __XBOX_ENABLE_WAVE32", check: w32_needs_define },
    Row { seed: "003", says: "the generic call is Dispatch", check: none_is_plain_dispatch },
    Row { seed: "003", says: "platforms: Series", check: w32_on_series_only },
];

/// A list with a kernel bound to a buffer of `dwords`, run; gives the buffer.
fn run(
    profile: ProfileName,
    mode: RunMode,
    kernel: Arc<Kernel>,
    dwords: u64,
    record: impl FnOnce(&mut CommandList),
) -> Vec<u32> {
    run_observed(profile, mode, kernel, dwords, None, record)
}

fn run_observed(
    profile: ProfileName,
    mode: RunMode,
    kernel: Arc<Kernel>,
    dwords: u64,
    log: Option<Log>,
    record: impl FnOnce(&mut CommandList),
) -> Vec<u32> {
    let mut builder = Device::builder().profile(profile).mode(mode).seed(3);
    if let Some(log) = log {
        builder = builder.observer(Box::new(log));
    }
    let mut device = builder.build().unwrap();
    let queue = device.compute_queue(0, 0).unwrap();
    let pipeline = device.create_pipeline("kernel", kernel).unwrap();
    let buffer = device.create_buffer("out", dwords * 4).unwrap();
    let mut list = device.create_command_list("L", ListKind::Compute);
    list.set_pipeline_state(&pipeline).set_uav(0, 0, buffer.raw_view());
    record(&mut list);
    list.close().unwrap_or_else(|e| panic!("{e}"));
    device.execute_command_lists(&queue, &[&list]).unwrap();
    let report = device.run();
    assert!(report.is_clean(), "{report:?}");
    device.read_u32s(buffer.address(), dwords).unwrap()
}

fn judge(
    profile: ProfileName,
    kind: ListKind,
    kernel: Arc<Kernel>,
    flags: Flags,
) -> (Vec<CallError>, Vec<&'static str>) {
    let mut device = model(profile);
    let pipeline = device.create_pipeline("kernel", kernel).unwrap();
    let buffer = device.create_buffer("out", 4096).unwrap();
    let mut list = device.create_command_list("L", kind);
    list.set_pipeline_state(&pipeline).set_uav(0, 0, buffer.raw_view());
    list.dispatch_x(1, 1, 1, flags);
    let _ = list.close();
    (list.errors().to_vec(), list.advice().iter().map(|a| a.rule.name).collect())
}

#[track_caller]
fn refused(profile: ProfileName, kind: ListKind, kernel: Arc<Kernel>, flags: Flags, rule: &str) {
    let (errors, _) = judge(profile, kind, kernel, flags);
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert_eq!(errors[0].rule.name, rule);
    assert_eq!(errors[0].call, "DispatchX");
    assert_eq!(errors[0].argument, "Flags");
}

fn flag_values() {
    let expected: &[(&str, u32)] = &[
        ("D3D12XBOX_DISPATCH_FLAG_NONE", 0x00000000),
        ("D3D12XBOX_DISPATCH_FLAG_FORCE_START_AT_000", 0x00000004),
        ("D3D12XBOX_DISPATCH_FLAG_ENABLE_ORDERED_APPEND", 0x00000008),
        ("D3D12XBOX_DISPATCH_FLAG_ORDERED_APPEND_WAVEID_PER_THREADGROUP", 0x00000010),
        ("D3D12XBOX_DISPATCH_FLAG_USE_THREAD_DIMENSIONS", 0x00000020),
        ("D3D12XBOX_DISPATCH_FLAG_ENABLE_OUT_OF_ORDER", 0x00000040),
        ("D3D12XBOX_DISPATCH_FLAG_DISABLE_VOLATILE_VECTOR_L1", 0x00000080),
        ("D3D12XBOX_DISPATCH_FLAG_DISABLE_VOLATILE_SCALAR_L1", 0x00000200),
        ("D3D12XBOX_DISPATCH_FLAG_INVALIDATE_VOLATILE_SCALAR_L1", 0x00000400),
        ("D3D12XBOX_DISPATCH_FLAG_INVALIDATE_VOLATILE_VECTOR_L1", 0x00000800),
        ("D3D12XBOX_DISPATCH_FLAG_W32", 0x00008000),
    ];
    assert_eq!(Flags::NAMES, expected);
}

fn none_is_plain_dispatch() {
    for profile in PROFILES {
        for mode in MODES {
            let expected: Vec<u32> = (0..96).map(|i| if i < 64 { 5 } else { 0 }).collect();
            let plain = run(profile, mode, store_kernel(5, 32), 96, |l| {
                l.dispatch(2, 1, 1);
            });
            let flagged = run(profile, mode, store_kernel(5, 32), 96, |l| {
                l.dispatch_x(2, 1, 1, Flags::NONE);
            });
            assert_eq!(plain, expected);
            assert_eq!(flagged, expected);
        }
    }
}

/// `u0[group id of dimension] += 1` for the dimension's id.
fn group_kernel(which: Builtin) -> Arc<Kernel> {
    let mut b = Builder::new("groups", [1, 1, 1]);
    let out = b.uav(0, "Groups");
    let id = b.builtin(which);
    let one = b.constant(1);
    b.atomic_add(out, id, one);
    b.build()
}

/// With a start of 2 and a count of 5 in one dimension, groups 2 to 4 run.
fn started(which: Builtin, dimension: usize) {
    for profile in PROFILES {
        for mode in MODES {
            let mut start = [0; 3];
            let mut end = [1; 3];
            start[dimension] = 2;
            end[dimension] = 5;
            let ran = run(profile, mode, group_kernel(which), 6, |l| {
                l.set_compute_start_x(start).dispatch_x(end[0], end[1], end[2], Flags::NONE);
            });
            assert_eq!(ran, [0, 0, 1, 1, 1, 0], "{profile}");
        }
    }
}

fn start_x() {
    started(Builtin::GroupIdX, 0);
}

fn start_y() {
    started(Builtin::GroupIdY, 1);
}

fn start_z() {
    started(Builtin::GroupIdZ, 2);
}

fn start_forced() {
    for which in [Builtin::GroupIdX, Builtin::GroupIdY, Builtin::GroupIdZ] {
        let ran = run(ProfileName::SeriesX, RunMode::Model, group_kernel(which), 4, |l| {
            l.set_compute_start_x([1, 1, 1]).dispatch_x(3, 3, 3, Flags::FORCE_START_AT_000);
        });
        assert_eq!(ran, [9, 9, 9, 0]);
        // The registers stay for the next dispatch.
        let ran = run(ProfileName::SeriesX, RunMode::Model, group_kernel(which), 4, |l| {
            l.set_compute_start_x([1, 1, 1]).dispatch_x(3, 3, 3, Flags::FORCE_START_AT_000);
            l.dispatch_x(3, 3, 3, Flags::NONE);
        });
        assert_eq!(ran, [9, 13, 13, 0]);
    }
}

fn ordered_without_flag() {
    for profile in PROFILES {
        for kind in [ListKind::Graphics, ListKind::Compute] {
            refused(profile, kind, ordered_kernel(64), Flags::NONE, "dispatch-ordered-flag");
        }
    }
}

/// 1 to every thread in order: with ids per wave, thread n of the dispatch gets n.
fn ordered_per_wave() {
    for profile in PROFILES {
        for mode in MODES {
            let old = run(profile, mode, ordered_kernel(128), 128 * 8, |l| {
                l.setup_ordered_append_counter_x(0, 100);
                l.dispatch_x(8, 1, 1, Flags::ENABLE_ORDERED_APPEND);
            });
            assert_eq!(old, (100..100 + 128 * 8).collect::<Vec<_>>(), "{profile}");
        }
    }
}

/// With one id per group the waves of a group share a turn: every group gets its own
/// stretch, groups in order.
fn ordered_per_group() {
    for profile in PROFILES {
        for mode in MODES {
            let flags = Flags::ENABLE_ORDERED_APPEND | Flags::ORDERED_APPEND_WAVEID_PER_THREADGROUP;
            let old = run(profile, mode, ordered_kernel(128), 128 * 8, |l| {
                l.setup_ordered_append_counter_x(0, 0);
                l.dispatch_x(8, 1, 1, flags);
            });
            for (group, stretch) in old.chunks(128).enumerate() {
                let mut sorted = stretch.to_vec();
                sorted.sort_unstable();
                let first = group as u32 * 128;
                assert_eq!(sorted, (first..first + 128).collect::<Vec<_>>(), "{profile}");
            }
        }
    }
}

fn thread_counts() {
    for profile in PROFILES {
        for mode in MODES {
            // 2 x 3 x 5 threads in groups of 4 x 2 x 2: partial in every dimension.
            let count = run(profile, mode, count_kernel([4, 2, 2]), 1, |l| {
                l.dispatch_x(2, 3, 5, Flags::USE_THREAD_DIMENSIONS);
            });
            assert_eq!(count, [30], "{profile}");
            let count = run(profile, mode, count_kernel([4, 2, 2]), 1, |l| {
                l.dispatch_x(8, 2, 2, Flags::USE_THREAD_DIMENSIONS);
            });
            assert_eq!(count, [32]);
            // Without the flag the same numbers are groups.
            let count = run(profile, mode, count_kernel([4, 2, 2]), 1, |l| {
                l.dispatch_x(2, 3, 5, Flags::NONE);
            });
            assert_eq!(count, [30 * 16]);
        }
    }
}

/// Keeps the order in which groups were launched.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<[u32; 3]>>>);

impl Observer for Log {
    fn event(&mut self, event: &Event) {
        if let Event::GroupBegin { group, .. } = event {
            self.0.lock().unwrap().push(*group);
        }
    }
}

fn launch_order(flags: Flags) -> Vec<[u32; 3]> {
    let log = Log::default();
    let kernel = count_kernel([64, 1, 1]);
    let total =
        run_observed(ProfileName::SeriesX, RunMode::Model, kernel, 1, Some(log.clone()), |l| {
            l.dispatch_x(8, 4, 2, flags);
        });
    assert_eq!(total, [64 * 64]);

    log.0.lock().unwrap().clone()
}

fn every_group() -> Vec<[u32; 3]> {
    (0..64).map(|i| [i % 8, i / 8 % 4, i / 32]).collect()
}

fn in_order() {
    assert_eq!(launch_order(Flags::NONE), every_group());
}

fn out_of_order() {
    let mut order = launch_order(Flags::ENABLE_OUT_OF_ORDER);
    assert_ne!(order, every_group(), "another order is allowed, and the model takes one");
    order.sort_unstable_by_key(|g| (g[2], g[1], g[0]));
    assert_eq!(order, every_group());
}

fn async_only() {
    for profile in PROFILES {
        let kernel = store_kernel(1, 64);
        let flags = Flags::ENABLE_OUT_OF_ORDER;
        refused(profile, ListKind::Graphics, kernel.clone(), flags, "dispatch-out-of-order");
        let (errors, _) = judge(profile, ListKind::Compute, kernel, flags);
        assert!(errors.is_empty());
    }
}

/// The flags reach the hardware as their own bits; on the Xbox One family, where
/// nothing is volatile, they are advice.
fn volatile_bits() {
    for flag in [
        Flags::DISABLE_VOLATILE_VECTOR_L1,
        Flags::DISABLE_VOLATILE_SCALAR_L1,
        Flags::INVALIDATE_VOLATILE_SCALAR_L1,
        Flags::INVALIDATE_VOLATILE_VECTOR_L1,
    ] {
        for profile in PROFILES {
            let (errors, advice) = judge(profile, ListKind::Compute, store_kernel(1, 64), flag);
            assert!(errors.is_empty());
            let series = Profile::get(profile).has_wave32();
            assert_eq!(advice == ["dispatch-volatile"], !series, "{profile} {advice:?}");
            assert_eq!(initiator(profile, flag) & !1, u64::from(flag.bits()));
        }
    }
}

fn initiator(profile: ProfileName, flags: Flags) -> u64 {
    let mut device = model(profile);
    let pipeline = device.create_pipeline("kernel", store_kernel(1, 64)).unwrap();
    let buffer = device.create_buffer("out", 4096).unwrap();
    let mut list = device.create_command_list("L", ListKind::Compute);
    list.set_pipeline_state(&pipeline).set_uav(0, 0, buffer.raw_view());
    list.dispatch_x(1, 1, 1, flags);
    list.close().unwrap();
    let generation = Profile::get(profile).generation.value;
    decode_stream(list.words(), generation, list.kind().ring())
        .map(|p| p.unwrap().1)
        .find(|p| p.kind() == Kind::DispatchDirect)
        .unwrap()
        .get(Field::Initiator)
}

fn wave_sizes() {
    for profile in [ProfileName::SeriesS, ProfileName::SeriesX] {
        for mode in MODES {
            let kernel = lane_count_kernel(WaveRule::Wave32);
            let lanes = run(profile, mode, kernel.clone(), 2, |l| {
                l.dispatch_x(2, 1, 1, Flags::W32);
            });
            assert_eq!(lanes, [32, 32]);
            let lanes = run(profile, mode, kernel, 2, |l| {
                l.dispatch_x(2, 1, 1, Flags::NONE);
            });
            assert_eq!(lanes, [64, 64]);
        }
    }
    let kernel = lane_count_kernel(WaveRule::Wave32);
    let (_, advice) = judge(ProfileName::SeriesX, ListKind::Compute, kernel, Flags::NONE);
    assert_eq!(advice, ["dispatch-wave32-unused"]);
}

fn flags_combine() {
    let flags = Flags::parse("USE_THREAD_DIMENSIONS | ENABLE_OUT_OF_ORDER | W32").unwrap();
    assert_eq!(flags.bits(), 0x8060);
    let mut b = Builder::new("combine", [64, 1, 1]).wave(WaveRule::Wave32);
    let out = b.uav(0, "Count");
    let zero = b.constant(0);
    let lanes = b.builtin(Builtin::LaneCount);
    let one = b.constant(1);
    let value = b.binary(BinOp::UDiv, lanes, one);
    b.atomic_add(out, zero, value);
    let total = run(ProfileName::SeriesX, RunMode::Model, b.build(), 1, |l| {
        l.dispatch_x(100, 1, 1, flags);
    });
    assert_eq!(total, [100 * 32]);
    let unknown = Flags::from_bits_retain(1 << 20);
    refused(ProfileName::SeriesX, ListKind::Compute, store_kernel(1, 64), unknown, "unknown-flags");
}

/// The shape for which the page promises the full launch rate is accepted on both
/// Series consoles and gives right results (the rate itself needs virtual time).
fn launch_rate_shape() {
    for profile in [ProfileName::SeriesS, ProfileName::SeriesX] {
        let mut b = Builder::new("rate", [32, 1, 1]).wave(WaveRule::Wave32);
        let out = b.uav(0, "Count");
        let zero = b.constant(0);
        let one = b.constant(1);
        b.atomic_add(out, zero, one);
        let total = run(profile, RunMode::Model, b.build(), 1, |l| {
            l.dispatch_x(50, 1, 1, Flags::W32 | Flags::ENABLE_OUT_OF_ORDER);
        });
        assert_eq!(total, [50 * 32]);
    }
}

fn w32_needs_define() {
    let plain = lane_count_kernel(WaveRule::Wave64);
    for kind in [ListKind::Graphics, ListKind::Compute] {
        refused(ProfileName::SeriesX, kind, plain.clone(), Flags::W32, "dispatch-w32-shader");
        let compiled = lane_count_kernel(WaveRule::Wave32);
        let (errors, advice) = judge(ProfileName::SeriesX, kind, compiled, Flags::W32);
        assert!(errors.is_empty() && advice.is_empty());
    }
    let fixed64 = lane_count_kernel(fixed(WaveSize::W64));
    refused(ProfileName::SeriesX, ListKind::Compute, fixed64, Flags::W32, "dispatch-wave-size");
}

fn w32_on_series_only() {
    for profile in [ProfileName::XboxOne, ProfileName::XboxOneS, ProfileName::XboxOneX] {
        let kernel = lane_count_kernel(WaveRule::Wave32);
        refused(profile, ListKind::Compute, kernel, Flags::W32, "dispatch-w32-profile");
    }
    let _ = device(ProfileName::SeriesX, RunMode::Model);
}
