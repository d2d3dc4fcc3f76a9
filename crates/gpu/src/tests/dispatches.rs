//! Dispatch flags, groups, barriers, ordered append, code objects.

use super::fake;
use super::rig::{COMPUTE, COMPUTE2, GFX, MODES, PROFILES, Rig};
use crate::{Outcome, QueueKind, RunMode};
use wavefence_base::{
    CacheAction, Event, FaultKind, Generation, GpuAddress, ProfileName, WaveSize,
};
use wavefence_pm4::{Field, Kind, initiator as bits, reg, sel};
use wavefence_shader::ir::{Resource, ResourceClass, ResourceKind};

const FORCE: u32 = bits::FORCE_START_AT_000;

fn pack(x: u32, y: u32, z: u32) -> u32 {
    x | y << 10 | z << 20
}

fn series(mode: RunMode) -> Rig {
    Rig::new(ProfileName::SeriesX, mode)
}

/// Runs `list` with `dims` and `initiator` on a queue and gives the group ids in
/// the order they ran.
fn groups(
    rig: &mut Rig,
    kind: QueueKind,
    dims: [u32; 3],
    initiator: u32,
    start: [u32; 3],
) -> Vec<u32> {
    let data = rig.buffer("list", 1 << 16);
    let kernel = rig.load(fake::named("list", [2, 2, 1]));
    let list = rig
        .list(kind)
        .bind(kernel, [2, 2, 1], data)
        .set_sh(reg::COMPUTE_START_X, &start)
        .dispatch(dims, initiator);
    rig.submit(list);
    rig.run_idle();
    rig.listed(data)
}

#[test]
fn groups_run_x_fastest_and_start_offsets_are_honoured() {
    for kind in [GFX, COMPUTE] {
        let mut rig = series(RunMode::Model);
        let ids = groups(&mut rig, kind, [3, 2, 1], 0, [1, 0, 0]);
        let want = [pack(1, 0, 0), pack(2, 0, 0), pack(1, 1, 0), pack(2, 1, 0)];
        assert_eq!(ids, want);
        let ids = groups(&mut rig, kind, [3, 1, 1], FORCE, [1, 0, 0]);
        assert_eq!(ids, [pack(0, 0, 0), pack(1, 0, 0), pack(2, 0, 0)]);
        // A start at or behind the end: nothing runs.
        assert_eq!(groups(&mut rig, kind, [3, 2, 1], 0, [3, 0, 0]), [0u32; 0]);
    }
}

#[test]
fn every_group_runs_once_in_every_mode() {
    for mode in MODES {
        let mut rig = series(mode);
        let mut ids = groups(&mut rig, COMPUTE, [9, 7, 5], FORCE, [0; 3]);
        ids.sort_unstable();
        let mut want: Vec<u32> = (0..5)
            .flat_map(|z| (0..7).flat_map(move |y| (0..9).map(move |x| pack(x, y, z))))
            .collect();
        want.sort_unstable();
        assert_eq!(ids, want);
    }
}

#[test]
fn out_of_order_is_another_order_on_asynchronous_queues_only() {
    let run = |kind, order, seed| {
        let mut rig = Rig::with(ProfileName::SeriesX, RunMode::Model, |d| d.seed = seed);
        groups(&mut rig, kind, [40, 1, 1], FORCE | order, [0; 3])
    };
    let in_order: Vec<u32> = (0..40).collect();
    assert_eq!(run(COMPUTE, 0, 0), in_order);
    assert_eq!(run(GFX, bits::ORDER_MODE, 0), in_order);
    let other = run(COMPUTE, bits::ORDER_MODE, 0);
    assert_ne!(other, in_order);
    assert_eq!(run(COMPUTE, bits::ORDER_MODE, 0), other);
    assert_ne!(run(COMPUTE, bits::ORDER_MODE, 12345), other);
    let mut sorted = other;
    sorted.sort_unstable();
    assert_eq!(sorted, in_order);
}

fn threads(rig: &mut Rig, size: [u32; 3], nums: [u32; 3], dims: [u32; 3], initiator: u32) -> u32 {
    let data = rig.buffer("threads", 64);
    let kernel = rig.load(fake::named("threads", size));
    let list = rig.list(COMPUTE).bind(kernel, nums, data).dispatch(dims, initiator);
    rig.submit(list);
    rig.run_idle();
    rig.u32(data)
}

#[test]
fn thread_dimensions_count_threads() {
    for mode in MODES {
        let mut rig = series(mode);
        let flags = FORCE | bits::USE_THREAD_DIMENSIONS;
        let size = [8, 4, 2];
        assert_eq!(threads(&mut rig, size, size, [8, 4, 2], flags), 64);
        assert_eq!(threads(&mut rig, size, size, [17, 5, 3], flags), 17 * 5 * 3);
        assert_eq!(threads(&mut rig, size, size, [1, 1, 1], flags), 1);
        assert_eq!(threads(&mut rig, size, size, [0, 5, 3], flags), 0);
        // Without the flag they are groups.
        assert_eq!(threads(&mut rig, size, size, [17, 5, 3], FORCE), 17 * 5 * 3 * 64);
    }
}

#[test]
fn partial_groups_by_register() {
    let mut rig = series(RunMode::Model);
    let nums = [8 | 3 << 16, 4 | 4 << 16, 2 | 1 << 16];
    let flags = FORCE | bits::PARTIAL_TG_EN;
    assert_eq!(threads(&mut rig, [8, 4, 2], nums, [3, 1, 2], flags), (8 + 8 + 3) * 4 * 3);
}

#[test]
fn wave_size_follows_the_initiator() {
    let mut rig = series(RunMode::Model);
    for (flag, waves) in
        [(bits::CS_W32_EN, [(0, 32), (1, 32), (2, 6)].as_slice()), (0, &[(0, 64), (1, 6)])]
    {
        let data = rig.buffer("launch", 4096);
        let kernel = rig.load(fake::named("launch", [70, 1, 1]));
        let list = rig
            .list(COMPUTE)
            .bind(kernel, [70, 1, 1], data)
            .constant(99)
            .dispatch([1, 1, 1], FORCE | flag);
        rig.submit(list);
        rig.run_idle();
        let want: Vec<u32> = waves.iter().flat_map(|&(w, n)| [w, n, 99, 1]).collect();
        assert_eq!(rig.listed(data), want);
    }
    let size = |e: &Event| match e {
        Event::DispatchBegin { wave_size, .. } => Some(*wave_size),
        _ => None,
    };
    let sizes: Vec<_> = rig.log.events().iter().filter_map(size).collect();
    assert_eq!(sizes, [WaveSize::W32, WaveSize::W64]);
}

#[test]
fn wave32_does_not_exist_before_gfx10() {
    let mut rig = Rig::new(ProfileName::XboxOne, RunMode::Model);
    let data = rig.buffer("data", 64);
    let kernel = rig.load(fake::named("threads", [1, 1, 1]));
    let mut list = rig.list(COMPUTE).bind(kernel, [1, 1, 1], data).dispatch([1, 1, 1], FORCE);
    *list.words.last_mut().unwrap() |= bits::CS_W32_EN;
    rig.submit(list);
    assert_eq!(rig.run(), Outcome::Idle);
    assert_eq!(rig.device.faults()[0].kind, FaultKind::BadPacket);
    assert_eq!(rig.u32(data), 0);
}

#[test]
fn volatile_lines_are_dropped_when_asked() {
    let mut rig = series(RunMode::Model);
    let bypass = bits::DISABLE_VECTOR_L1 | bits::DISABLE_SCALAR_L1;
    let flags = FORCE | bits::SCALAR_L1_INV_VOL | bits::VECTOR_L1_INV_VOL | bypass;
    threads(&mut rig, [1, 1, 1], [1, 1, 1], [1, 1, 1], flags);
    let flushed = |e: &Event| match e {
        Event::Flush { actions, boundary: None, .. } => Some(actions.clone()),
        _ => None,
    };
    let all: Vec<_> = rig.log.events().iter().filter_map(flushed).collect();
    assert_eq!(all, [[CacheAction::InvalidateL1Volatile, CacheAction::InvalidateKVolatile]]);
    // What a dispatch bypasses is told with its other flags.
    let told =
        |e: &Event| matches!(e, Event::DispatchBegin { initiator, .. } if *initiator == flags | 1);
    assert!(rig.log.events().iter().any(told));
}

#[test]
fn ordered_append_follows_launch_order() {
    for mode in MODES {
        for (per_group, ids) in [(false, 20), (true, 10)] {
            let mut rig = series(mode);
            let data = rig.buffer("order", 4096);
            // Ten groups of two waves; groups with an even x dawdle.
            let kernel = rig.load(fake::named("ordered_late", [100, 1, 1]));
            let mode = if per_group { bits::ORDERED_APPEND_MODE } else { 0 };
            let list = rig
                .list(COMPUTE)
                .bind(kernel, [100, 1, 1], data)
                .dispatch([10, 1, 1], FORCE | bits::ORDERED_APPEND_ENBL | mode);
            rig.submit(list);
            rig.run_idle();
            assert_eq!(rig.device.gds_read(0), Some(1000));
            let list = rig.listed(data);
            let mut pairs: Vec<(u32, u32)> = list.chunks(2).map(|c| (c[0], c[1])).collect();
            pairs.sort_unstable();
            let old = |id: u32| if per_group { id * 100 } else { id / 2 * 100 + id % 2 * 64 };
            if !per_group {
                let want: Vec<_> = (0..ids).map(|id| (id, old(id))).collect();
                assert_eq!(pairs, want);
            } else {
                // The two waves of a group share its turn, in either order.
                for id in 0..ids {
                    let mine: Vec<_> = pairs.iter().filter(|p| p.0 == id).collect();
                    assert_eq!(mine.len(), 2);
                    assert_eq!(mine[0].1, old(id));
                }
            }
        }
    }
}

#[test]
fn ordered_append_follows_launch_order_even_out_of_order() {
    let mut rig = series(RunMode::Model);
    let data = rig.buffer("order", 4096);
    let kernel = rig.load(fake::named("ordered", [64, 1, 1]));
    let flags = FORCE | bits::ORDERED_APPEND_ENBL | bits::ORDER_MODE;
    let list = rig.list(COMPUTE).bind(kernel, [64, 1, 1], data).dispatch([10, 1, 1], flags);
    rig.submit(list);
    rig.run_idle();
    let pairs: Vec<u32> = rig.listed(data);
    assert_eq!(
        pairs.chunks(2).map(|c| c[1]).collect::<Vec<_>>(),
        (0..10).map(|i| i * 64).collect::<Vec<_>>()
    );
}

#[test]
fn an_ordered_kernel_without_ids_is_a_fault() {
    let mut rig = series(RunMode::Model);
    let data = rig.buffer("order", 64);
    let kernel = rig.load(fake::named("ordered", [1, 1, 1]));
    let list = rig.list(COMPUTE).bind(kernel, [1, 1, 1], data).dispatch([1, 1, 1], FORCE);
    rig.submit(list);
    assert_eq!(rig.run(), Outcome::Idle);
    assert_eq!(rig.device.faults()[0].kind, FaultKind::BadCommand);
    assert_eq!(rig.u32(data), 0);
}

#[test]
fn waves_that_wait_for_each_other_are_named() {
    for mode in MODES {
        let mut rig = series(mode);
        let data = rig.buffer("order", 64);
        let kernel = rig.load(fake::named("ordered_hang", [128, 1, 1]));
        let flags = FORCE | bits::ORDERED_APPEND_ENBL;
        let list = rig.list(COMPUTE).bind(kernel, [128, 1, 1], data).dispatch([1, 1, 1], flags);
        let submit = rig.submit(list);
        let Outcome::Blocked(stall) = rig.run() else { panic!("not blocked") };
        assert!(stall.waits.is_empty());
        assert_eq!(stall.work.len(), 1);
        assert_eq!(stall.work[0].at, "at a barrier of `ordered_hang` at fake.hlsl:7");
        assert!(!rig.device.submit_done(submit));
    }
}

#[test]
fn barriers_wait_for_the_whole_group() {
    for mode in MODES {
        let mut rig = series(mode);
        let data = rig.buffer("data", 64);
        let mut kernel = fake::named("barrier", [256, 1, 1]);
        kernel.lds_bytes = 4;
        let kernel = rig.load(kernel);
        let list = rig.list(COMPUTE).bind(kernel, [256, 1, 1], data).dispatch([10, 1, 1], FORCE);
        rig.submit(list);
        rig.run_idle();
        // Each of 4 waves saw all 4, in 10 groups: shared memory starts at 0.
        assert_eq!(rig.u32(data), 4 * 4 * 10);
    }
}

#[test]
fn barriers_that_not_all_reach_are_faults_and_the_run_goes_on() {
    for mode in MODES {
        for name in ["half", "divergent"] {
            let mut rig = series(mode);
            let data = rig.buffer("data", 64);
            let kernel = rig.load(fake::named(name, [256, 1, 1]));
            let list = rig.list(COMPUTE).bind(kernel, [256, 1, 1], data).dispatch([3, 1, 1], FORCE);
            let submit = rig.submit(list);
            assert_eq!(rig.run(), Outcome::Idle);
            let faults = rig.device.faults();
            assert_eq!(faults.len(), 1, "{name}: {faults:?}");
            assert_eq!(faults[0].kind, FaultKind::BarrierDivergence);
            assert_eq!(faults[0].place.line.as_deref(), Some("fake.hlsl:7"));
            assert!(faults[0].count >= 3);
            assert!(rig.device.submit_done(submit));
        }
    }
}

#[test]
fn breakpoints_are_faults_and_printed_lines_come_in_order() {
    for mode in MODES {
        let mut rig = series(mode);
        let data = rig.buffer("data", 64);
        let kernel = rig.load(fake::named("debug", [64, 1, 1]));
        let list = rig.list(COMPUTE).bind(kernel, [64, 1, 1], data).dispatch([3, 1, 1], FORCE);
        rig.submit(list);
        assert_eq!(rig.run(), Outcome::Idle);
        let faults = rig.device.faults();
        let kinds: Vec<_> = faults.iter().map(|f| (f.kind, f.count)).collect();
        assert_eq!(kinds, [(FaultKind::DebugBreak, 3)]);
        let place = &faults[0].place;
        assert_eq!((place.lane, place.line.as_deref()), (Some(2), Some("fake.hlsl:7")));
        assert!(faults[0].detail.contains("lane 2 (2 lanes of the wave)"), "{}", faults[0].detail);
        let (lines, lost) = rig.device.printed();
        let text: Vec<_> = lines.iter().map(|l| l.text.as_str()).collect();
        assert_eq!(text, ["group 0", "again", "group 1", "again", "group 2", "again"]);
        let place = &lines[2].place;
        assert_eq!((place.group, place.lane), (Some([1, 0, 0]), Some(3)));
        assert_eq!(place.line.as_deref(), Some("fake.hlsl:7"));
        assert_eq!(lost, 0);
        let told = rig.log.events().iter().filter(|e| matches!(e, Event::Printed(_))).count();
        assert_eq!(told, 6);
    }
}

#[test]
fn lines_beyond_what_is_kept_are_counted() {
    for mode in MODES {
        let mut rig = series(mode);
        let data = rig.buffer("data", 64);
        let kernel = rig.load(fake::named("chatty", [64, 1, 1]));
        let list = rig.list(COMPUTE).bind(kernel, [64, 1, 1], data).dispatch([5, 1, 1], FORCE);
        rig.submit(list);
        assert_eq!(rig.run(), Outcome::Idle);
        let (lines, lost) = rig.device.printed();
        assert_eq!((lines.len(), lost), (10_000, 5_000));
    }
}

#[test]
fn wild_accesses_are_one_fault_per_place_with_a_count() {
    for mode in MODES {
        let mut rig = series(mode);
        let data = rig.buffer("victim", 256);
        let kernel = rig.load(fake::named("wild", [1, 1, 1]));
        let wild = data.offset(1 << 20);
        let list = rig.list(COMPUTE).bind(kernel, [1, 1, 1], wild).dispatch([5, 1, 1], FORCE);
        rig.submit(list);
        assert_eq!(rig.run(), Outcome::Idle);
        let faults = rig.device.faults();
        let kinds: Vec<_> = faults.iter().map(|f| (f.kind, f.count)).collect();
        assert_eq!(kinds, [(FaultKind::ReadUnmapped, 5), (FaultKind::WriteUnmapped, 5)]);
        let place = &faults[0].place;
        assert_eq!(place.line.as_deref(), Some("fake.hlsl:7"));
        assert_eq!((place.lane, place.wave), (Some(0), Some(0)));
        assert!(place.group.is_some() && place.dispatch.is_some() && place.packet.is_some());
        assert_eq!(faults[0].address, Some(wild));
        assert!(faults[0].detail.contains("`wild` at fake.hlsl:7"), "{}", faults[0].detail);
    }
}

#[test]
fn stop_on_fault_ends_the_run() {
    let mut rig = Rig::with(ProfileName::SeriesX, RunMode::Model, |d| d.stop_on_fault = true);
    let kernel = rig.load(fake::named("wild", [1, 1, 1]));
    let out = rig.buffer("out", 64);
    let list = rig
        .list(COMPUTE)
        .bind(kernel, [1, 1, 1], GpuAddress(64))
        .dispatch([1, 1, 1], FORCE)
        .flush_cs()
        .write(out, &[1]);
    rig.submit(list);
    assert!(matches!(rig.run(), Outcome::Stopped(f) if f.kind == FaultKind::ReadUnmapped));
    assert_eq!(rig.u32(out), 0);
}

#[test]
fn the_bytes_at_the_program_address_pick_the_kernel() {
    let mut rig = series(RunMode::Model);
    let data = rig.buffer("data", 4096);
    let mut big = fake::named("threads", [1, 1, 1]);
    big.body = vec![wavefence_shader::ir::Stmt::Return; 40];
    let mut bigger = fake::named("list", [1, 1, 1]);
    bigger.body = big.body.clone();
    let (a, b) = (rig.load(big), rig.load(bigger));
    let mut code = vec![0; 256];
    rig.device.host_read(b.code, &mut code).unwrap();
    rig.device.host_write(a.code, &code).unwrap();
    let list = rig.list(COMPUTE).bind(a, [1, 1, 1], data).dispatch([1, 1, 1], FORCE);
    rig.submit(list.clone());
    assert_eq!(rig.run(), Outcome::Idle);
    let fault = rig.device.faults()[0].clone();
    assert_eq!(fault.kind, FaultKind::BadCode);
    assert!(fault.detail.contains("torn"), "{}", fault.detail);
    let mut whole = vec![0; 448];
    rig.device.host_read(b.code, &mut whole).unwrap();
    rig.device.host_write(a.code, &whole).unwrap();
    rig.submit(list);
    assert_eq!(rig.run(), Outcome::Idle);
    assert_eq!(rig.listed(data), [0]);
    assert_eq!(rig.device.faults().len(), 1);
}

#[test]
fn what_the_registers_and_the_kernel_must_agree_on() {
    let mut rig = series(RunMode::Model);
    let data = rig.buffer("data", 64);
    let kernel = rig.load(fake::named("threads", [8, 1, 1]));
    let bad = [
        rig.list(COMPUTE).bind(kernel, [4, 1, 1], data).dispatch([1, 1, 1], FORCE),
        rig.list(COMPUTE).bind(kernel, [0, 1, 1], data).dispatch([1, 1, 1], FORCE),
        rig.list(COMPUTE)
            .bind(kernel, [8, 1, 1], data)
            .set_sh(reg::COMPUTE_START_X, &[1])
            .dispatch([9, 1, 1], bits::USE_THREAD_DIMENSIONS),
        rig.list(COMPUTE)
            .bind(kernel, [8, 1, 1], data)
            .set_sh(reg::COMPUTE_PGM_LO, &[0x1234])
            .dispatch([1, 1, 1], FORCE),
    ];
    let count = bad.len();
    for list in bad {
        rig.submit(list);
        assert_eq!(rig.run(), Outcome::Idle);
    }
    assert_eq!(rig.device.faults().len(), count);
    assert_eq!(rig.u32(data), 0);
}

#[test]
fn a_descriptor_that_is_none_is_told_and_null_is_not() {
    let mut rig = series(RunMode::Model);
    let table = rig.buffer("table", 256);
    let mut kernel = fake::named("nop", [1, 1, 1]);
    kernel.resources = vec![Resource {
        name: "Output".into(),
        class: ResourceClass::Uav,
        register: 3,
        space: 1,
        count: 2,
        unbounded: false,
        vk_binding: None,
        kind: ResourceKind::ByteAddressBuffer,
        read_only: false,
        coherent: false,
        volatile: false,
    }];
    let kernel = rig.load(kernel);
    let list = rig.list(COMPUTE).bind(kernel, [1, 1, 1], table).dispatch([1, 1, 1], FORCE);
    rig.submit(list.clone());
    rig.run_idle();
    rig.device.host_write(table.offset(64), &[0x77; 4]).unwrap();
    rig.submit(list);
    assert_eq!(rig.run(), Outcome::Idle);
    let fault = &rig.device.faults()[0];
    assert_eq!(fault.kind, FaultKind::Unbound);
    assert!(fault.detail.starts_with("`Output[1]` of `nop` (u3, space1)"), "{}", fault.detail);
}

/// Puts arguments in memory and dispatches by them.
fn indirect(rig: &mut Rig, kind: QueueKind, offset: u64) -> Vec<u32> {
    let (args, data) = (rig.buffer("args", 256), rig.buffer("list", 4096));
    let bytes: Vec<u8> = [2u32, 1, 1].iter().flat_map(|w| w.to_le_bytes()).collect();
    rig.device.host_write(args.offset(offset), &bytes).unwrap();
    let kernel = rig.load(fake::named("list", [1, 1, 1]));
    let list = rig.list(kind).bind(kernel, [1, 1, 1], data);
    let initiator = (Field::Initiator, u64::from(1 | FORCE));
    let list = if kind == GFX {
        let index = u64::from(sel::base_index::INDIRECT);
        list.packet(Kind::SetBase, &[(Field::BaseIndex, index), (Field::Addr, args.0)])
            .packet(Kind::DispatchIndirect, &[(Field::DataOffset, offset), initiator])
    } else {
        let at = args.offset(offset);
        list.packet(Kind::DispatchIndirect, &[(Field::Addr, at.0), initiator])
    };
    rig.submit(list);
    assert_eq!(rig.run(), Outcome::Idle);
    rig.listed(data)
}

#[test]
fn indirect_dispatch_and_its_alignment() {
    for profile in PROFILES {
        let mut rig = Rig::new(profile, RunMode::Model);
        assert_eq!(indirect(&mut rig, GFX, 4), [0, 1]);
        assert_eq!(indirect(&mut rig, COMPUTE, 32), [0, 1]);
        assert_eq!(rig.device.faults(), []);
        let unaligned = indirect(&mut rig, COMPUTE, 4);
        if rig.generation == Generation::Gfx7 {
            assert_eq!(unaligned, [0u32; 0]);
            assert_eq!(rig.device.faults()[0].kind, FaultKind::BadCommand);
        } else {
            assert_eq!(unaligned, [0, 1]);
        }
    }
}

#[test]
fn the_pfp_reads_indirect_arguments_early_unless_it_is_held() {
    for (mode, hold, early) in [
        (RunMode::Model, false, true),
        (RunMode::Model, true, false),
        (RunMode::Fast { threads: 1 }, false, false),
    ] {
        let mut rig = series(mode);
        let (args, data) = (rig.buffer("args", 64), rig.buffer("list", 4096));
        let kernel = rig.load(fake::named("list", [1, 1, 1]));
        let index = u64::from(sel::base_index::INDIRECT);
        let mut list = rig
            .list(GFX)
            .bind(kernel, [1, 1, 1], data)
            .packet(Kind::SetBase, &[(Field::BaseIndex, index), (Field::Addr, args.0)])
            .write(args, &[3, 1, 1]);
        if hold {
            list = list.packet(Kind::PfpSyncMe, &[]);
        }
        let initiator = (Field::Initiator, u64::from(1 | FORCE));
        let list = list.packet(Kind::DispatchIndirect, &[initiator]);
        rig.submit(list);
        rig.run_idle();
        assert_eq!(rig.listed(data).len(), if early { 0 } else { 3 }, "{mode:?} {hold}");
    }
}

#[test]
fn an_acquire_of_the_pfp_holds_it_from_gfx10_on() {
    for profile in PROFILES {
        let mut rig = Rig::new(profile, RunMode::Model);
        let (args, data) = (rig.buffer("args", 64), rig.buffer("list", 4096));
        let kernel = rig.load(fake::named("list", [1, 1, 1]));
        let index = u64::from(sel::base_index::INDIRECT);
        let pfp = (Field::Engine, u64::from(sel::acquire_engine::PFP));
        let list = rig
            .list(GFX)
            .bind(kernel, [1, 1, 1], data)
            .packet(Kind::SetBase, &[(Field::BaseIndex, index), (Field::Addr, args.0)])
            .write(args, &[3, 1, 1])
            .packet(Kind::AcquireMem, &[pfp])
            .packet(Kind::DispatchIndirect, &[(Field::Initiator, u64::from(1 | FORCE))]);
        rig.submit(list);
        rig.run_idle();
        let held = rig.generation == Generation::Gfx10_3;
        assert_eq!(rig.listed(data).len(), if held { 3 } else { 0 }, "{profile}");
    }
}

#[test]
fn dispatches_of_one_queue_overlap_unless_flushed() {
    let ran = |flush: bool| {
        let mut rig = series(RunMode::Model);
        let (slow, data) = (rig.buffer("slow", 64), rig.buffer("out", 64));
        let kernel = rig.load(fake::named("slow", [1, 1, 1]));
        let mut list =
            rig.list(COMPUTE).bind(kernel, [1, 1, 1], slow).constant(50).dispatch([1, 1, 1], FORCE);
        if flush {
            list = list.flush_cs();
        }
        let copy = (Field::SrcSel, u64::from(sel::copy_src::MEMORY));
        let to = (Field::DstSel, u64::from(sel::copy_dst::MEMORY));
        let list = list
            .packet(Kind::CopyData, &[copy, to, (Field::Src, slow.0), (Field::Dst, data.0)])
            .packet(Kind::CopyData, &[copy, to, (Field::Src, slow.0), (Field::Dst, data.0 + 4)]);
        rig.submit(list);
        rig.run_idle();
        rig.u32(data)
    };
    assert_eq!(ran(false), 0);
    assert_eq!(ran(true), 1);
}

#[test]
fn end_of_pipe_values_land_after_the_shaders_of_their_queue() {
    for mode in MODES {
        for kind in [GFX, COMPUTE] {
            let mut rig = series(mode);
            let (data, fence) = (rig.buffer("data", 64), rig.buffer("fence", 64));
            let kernel = rig.load(fake::named("slow", [1, 1, 1]));
            let list = rig
                .list(kind)
                .bind(kernel, [1, 1, 1], data)
                .constant(500)
                .dispatch([1, 1, 1], FORCE)
                .flush_cs()
                .signal(fence, 1, 4);
            rig.submit(list);
            // Another queue sees the value only together with the shader's store.
            let copy = (Field::SrcSel, u64::from(sel::copy_src::MEMORY));
            let to = (Field::DstSel, u64::from(sel::copy_dst::MEMORY));
            let list = rig.list(COMPUTE2).wait(fence, wavefence_pm4::function::EQUAL, 1, 4).packet(
                Kind::CopyData,
                &[copy, to, (Field::Src, data.0), (Field::Dst, fence.0 + 8)],
            );
            rig.submit(list);
            rig.run_idle();
            assert_eq!(rig.u32(fence.offset(8)), 1);
        }
    }
}

/// Runs `many` dispatches of `groups` groups, each with an end-of-pipe write.
fn small_dispatches(mode: RunMode, many: u32, groups: u32) {
    let mut rig = series(mode);
    let data = rig.buffer("count", 64);
    let kernel = rig.load(fake::named("threads", [64, 1, 1]));
    let bind = rig.list(COMPUTE).bind(kernel, [64, 1, 1], data);
    rig.submit(bind);
    let one = rig.list(COMPUTE).dispatch([groups, 1, 1], FORCE).signal(data.offset(8), 5, 4);
    let words = one.words.repeat(many as usize);
    for chunk in words.chunks(one.words.len() * 50_000) {
        let mut part = rig.list(COMPUTE);
        part.words = chunk.to_vec();
        rig.submit(part);
    }
    rig.run_idle();
    assert_eq!(rig.u32(data), 64 * many * groups);
}

#[test]
fn a_hundred_thousand_small_dispatches() {
    small_dispatches(RunMode::Fast { threads: 2 }, 100_000, 1);
    small_dispatches(RunMode::Fast { threads: 3 }, 20_000, 8);
    small_dispatches(RunMode::Model, 10_000, 1);
}
