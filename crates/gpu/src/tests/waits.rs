//! Waits between every ordered pair of engine kinds, and hang verdicts.

use super::fake;
use super::rig::{COMPUTE, COMPUTE2, DMA, GFX, MODES, PROFILES, Rig};
use crate::{Outcome, QueueKind, RunMode};
use wavefence_base::{
    Budget, DispatchId, GpuAddress, ProfileName, QueueId, Stall, StallVerdict, WorkVerdict, Writer,
};
use wavefence_pm4::function::*;
use wavefence_pm4::{Field, Kind, reg, sel};

const KINDS: [QueueKind; 3] = [GFX, COMPUTE, DMA];
const COMPARISONS: [u8; 6] = [LESS, LESS_EQUAL, EQUAL, NOT_EQUAL, GREATER_EQUAL, GREATER];

/// A reference, a value that does not satisfy and one that does. In 64 bits
/// only the high half tells them apart.
fn values(function: u8, bytes: u8) -> (u64, u64, u64) {
    let (reference, no, yes) = match function {
        LESS => (5, 5, 4),
        LESS_EQUAL => (5, 6, 5),
        EQUAL => (5, 4, 5),
        NOT_EQUAL => (5, 5, 6),
        GREATER_EQUAL => (5, 4, 5),
        GREATER => (5, 5, 6),
        _ => unreachable!("six comparisons"),
    };
    let shift = if bytes == 8 { 32 } else { 0 };
    (reference << shift, no << shift, yes << shift)
}

fn set(rig: &mut Rig, at: GpuAddress, value: u64, bytes: u8) {
    let all = value.to_le_bytes();
    rig.device.host_write(at, &all[..usize::from(bytes)]).unwrap();
}

/// Each case: (waiting engine, writing engine, comparison, width).
fn each(mut case: impl FnMut(QueueKind, QueueKind, u8, u8)) {
    for waiter in KINDS {
        for writer in KINDS {
            let writer = if writer == waiter { other(writer) } else { writer };
            for function in COMPARISONS {
                for bytes in [4, 8] {
                    case(waiter, writer, function, bytes);
                }
            }
        }
    }
}

/// Another engine of the same kind; there is only one graphics queue.
fn other(kind: QueueKind) -> QueueKind {
    match kind {
        QueueKind::Graphics => COMPUTE,
        QueueKind::Compute { .. } => COMPUTE2,
        QueueKind::Dma { .. } => QueueKind::Dma { engine: 1 },
    }
}

fn stall(outcome: Outcome) -> Stall {
    match outcome {
        Outcome::Blocked(stall) => stall,
        other => panic!("not blocked: {other:?}"),
    }
}

#[test]
fn satisfied_at_once() {
    for profile in PROFILES {
        for mode in MODES {
            each(|waiter, _, function, bytes| {
                let mut rig = Rig::new(profile, mode);
                let (at, out) = (rig.buffer("fence", 64), rig.buffer("out", 64));
                let (reference, _, yes) = values(function, bytes);
                set(&mut rig, at, yes, bytes);
                let list = rig.list(waiter).wait(at, function, reference, bytes).signal(out, 1, 4);
                rig.submit(list);
                rig.run_idle();
                assert_eq!(rig.u32(out), 1);
            });
        }
    }
}

#[test]
fn satisfied_later_with_the_wait_submitted_first() {
    for profile in PROFILES {
        for mode in MODES {
            each(|waiter, writer, function, bytes| {
                let mut rig = Rig::new(profile, mode);
                let (at, out) = (rig.buffer("fence", 64), rig.buffer("out", 64));
                let (reference, no, yes) = values(function, bytes);
                set(&mut rig, at, no, bytes);
                let list = rig.list(waiter).wait(at, function, reference, bytes).signal(out, 1, 4);
                let first = rig.submit(list);
                // Nobody writes yet: blocked, and not for good.
                let waits = stall(rig.run()).waits;
                assert_eq!(waits.len(), 1);
                assert_eq!((waits[0].present, waits[0].wanted), (no, reference));
                assert_eq!(rig.u32(out), 0);
                assert!(!rig.device.submit_done(first));
                let list = rig.list(writer).signal(at, yes, bytes);
                rig.submit(list);
                rig.run_idle();
                assert_eq!(rig.u32(out), 1);
                assert!(rig.device.submit_done(first));
            });
        }
    }
}

#[test]
fn never_satisfied_by_a_wrong_value() {
    for mode in MODES {
        each(|waiter, writer, function, bytes| {
            let mut rig = Rig::new(ProfileName::SeriesX, mode);
            let (at, out) = (rig.buffer("fence", 64), rig.buffer("out", 64));
            let (reference, no, _) = values(function, bytes);
            set(&mut rig, at, no, bytes);
            let list = rig.list(waiter).wait(at, function, reference, bytes).signal(out, 1, 4);
            rig.submit(list);
            let list = rig.list(writer).signal(at, no, bytes);
            rig.submit(list);
            let stall = stall(rig.run());
            assert_eq!(stall.waits[0].verdict, StallVerdict::NeverSatisfied);
            assert_eq!(stall.waits[0].allocation, Some(("fence".into(), 0)));
            assert_eq!(stall.waits[0].past.len(), 2);
            assert_eq!(rig.u32(out), 0);
        });
    }
}

#[test]
fn always_passes_and_the_mask_is_applied_to_the_value() {
    for kind in KINDS {
        let mut rig = Rig::new(ProfileName::SeriesX, RunMode::Model);
        let at = rig.buffer("fence", 64);
        let list = rig.list(kind).wait(at, ALWAYS, 77, 4).wait(at, ALWAYS, 77, 8);
        rig.submit(list);
        rig.run_idle();
        set(&mut rig, at, 0x1234, 4);
        let list = rig.list(kind).wait_masked(at, EQUAL, 0x34, 0xFF, 4);
        rig.submit(list);
        rig.run_idle();
        let list = rig.list(kind).wait_masked(at, EQUAL, 0x1234, 0xFF, 4);
        rig.submit(list);
        assert_eq!(stall(rig.run()).waits[0].mask, 0xFF);
    }
}

#[test]
fn two_queues_that_wait_for_each_other() {
    for mode in MODES {
        for ordered in [false, true] {
            let mut rig = Rig::new(ProfileName::SeriesX, mode);
            let (a, b) = (rig.buffer("a", 64), rig.buffer("b", 64));
            let list = rig.list(COMPUTE);
            // The good twin signals before it waits.
            let list = if ordered {
                list.signal(b, 1, 4).wait(a, EQUAL, 1, 4)
            } else {
                list.wait(a, EQUAL, 1, 4).signal(b, 1, 4)
            };
            rig.submit(list);
            let list = rig.list(DMA).wait(b, EQUAL, 1, 4).signal(a, 1, 4);
            rig.submit(list);
            if ordered {
                rig.run_idle();
                continue;
            }
            let stall = stall(rig.run());
            let ring = |x, y| StallVerdict::Cycle(vec![QueueId(x), QueueId(y)]);
            assert_eq!(stall.waits[0].verdict, ring(0, 1));
            assert_eq!(stall.waits[1].verdict, ring(1, 0));
            assert_eq!(stall.waits[0].pending[0].value, Some(1));
            assert_eq!(stall.waits[0].engine, "mec");
            assert_eq!(stall.waits[1].engine, "sdma");
        }
    }
}

#[test]
fn a_third_queue_behind_a_cycle_is_not_part_of_it() {
    let mut rig = Rig::new(ProfileName::SeriesX, RunMode::Model);
    let [a, b, c] = ["a", "b", "c"].map(|n| rig.buffer(n, 64));
    let list = rig.list(COMPUTE).wait(a, EQUAL, 1, 4).signal(b, 1, 4).signal(c, 1, 4);
    rig.submit(list);
    let list = rig.list(DMA).wait(b, EQUAL, 1, 4).signal(a, 1, 4);
    rig.submit(list);
    let list = rig.list(GFX).wait(c, EQUAL, 1, 4);
    rig.submit(list);
    let stall = stall(rig.run());
    assert_eq!(stall.waits[2].verdict, StallVerdict::WriterBlocked(QueueId(0)));
}

#[test]
fn a_writer_behind_its_own_wait() {
    for kind in KINDS {
        let mut rig = Rig::new(ProfileName::XboxOne, RunMode::Model);
        let at = rig.buffer("fence", 64);
        let list = rig.list(kind).wait(at, EQUAL, 1, 4).signal(at, 1, 4);
        rig.submit(list);
        assert_eq!(stall(rig.run()).waits[0].verdict, StallVerdict::BehindItself);
        let mut good = Rig::new(ProfileName::XboxOne, RunMode::Model);
        let at = good.buffer("fence", 64);
        let list = good.list(kind).signal(at, 1, 4).wait(at, EQUAL, 1, 4);
        good.submit(list);
        good.run_idle();
    }
}

#[test]
fn a_hang_before_a_long_list_is_explained() {
    let mut rig = Rig::new(ProfileName::SeriesX, RunMode::Model);
    let (a, b) = (rig.buffer("a", 64), rig.buffer("b", 64));
    let mut list = rig.list(COMPUTE).wait(a, EQUAL, 1, 4);
    let one = rig.list(COMPUTE).signal(b, 5, 4);
    list.words.extend(one.words.repeat(100_000));
    rig.submit(list);
    let list = rig.list(DMA).wait(b, EQUAL, 5, 4).signal(a, 1, 4);
    rig.submit(list);
    let stall = stall(rig.run());
    assert_eq!(stall.waits[0].verdict, StallVerdict::Cycle(vec![QueueId(0), QueueId(1)]));
    assert_eq!((stall.waits[0].pending.len(), stall.waits[1].pending.len()), (1, 64));
}

#[test]
fn a_counter_that_passed_an_equality() {
    for (function, hangs) in [(EQUAL, true), (GREATER_EQUAL, false)] {
        let mut rig = Rig::new(ProfileName::SeriesX, RunMode::Model);
        let at = rig.buffer("counter", 64);
        let list = rig.list(DMA).signal(at, 1, 4).signal(at, 3, 4);
        rig.submit(list);
        rig.run_idle();
        let list = rig.list(COMPUTE).wait(at, function, 2, 4);
        rig.submit(list);
        if hangs {
            let stall = stall(rig.run());
            assert_eq!(stall.waits[0].verdict, StallVerdict::Overtaken);
            assert_eq!(stall.waits[0].past.iter().map(|p| p.value).collect::<Vec<_>>(), [1, 3]);
        } else {
            rig.run_idle();
        }
    }
}

#[test]
fn a_counter_of_a_shader_that_passed_an_equality() {
    for mode in MODES {
        let mut rig = Rig::new(ProfileName::SeriesX, mode);
        let at = rig.buffer("counter", 64);
        let kernel = rig.load(fake::named("threads", [4, 1, 1]));
        let one = rig.list(COMPUTE).bind(kernel, [4, 1, 1], at).dispatch([1, 1, 1], 4).flush_cs();
        let two = rig.list(COMPUTE).dispatch([1, 1, 1], 4).flush_cs();
        let list = rig.list(DMA).wait(at, EQUAL, 6, 4);
        rig.submit(list);
        rig.submit(one);
        rig.submit(two);
        let stall = stall(rig.run());
        assert_eq!(stall.waits[0].verdict, StallVerdict::Overtaken);
        let past: Vec<_> = stall.waits[0].past.iter().map(|p| (p.value, p.by)).collect();
        let by = |d| Writer::Shader(QueueId(1), DispatchId(d));
        assert_eq!(past, [(4, by(0)), (8, by(1))]);
    }
}

#[test]
fn a_large_transfer_over_an_awaited_value_is_remembered() {
    let mut rig = Rig::new(ProfileName::SeriesX, RunMode::Model);
    let at = rig.buffer("fence", 64);
    let list = rig.list(GFX).wait(at.offset(8), EQUAL, 2, 4);
    rig.submit(list);
    assert_eq!(stall(rig.run()).waits[0].verdict, StallVerdict::NeverWritten);
    let fill = [
        (Field::FillSize, u64::from(sel::fill_size::DWORD)),
        (Field::Dst, at.0),
        (Field::Data, 1),
        (Field::ByteCount, 32),
    ];
    let list = rig.list(DMA).packet(Kind::SdmaConstantFill, &fill);
    rig.submit(list);
    let stall = stall(rig.run());
    assert_eq!(stall.waits[0].verdict, StallVerdict::NeverSatisfied);
    assert_eq!(stall.waits[0].past[0].by, Writer::Dma(QueueId(1)));
}

#[test]
fn a_wait_where_nothing_is_faults_once() {
    for mode in MODES {
        let mut rig = Rig::new(ProfileName::SeriesX, mode);
        let list = rig.list(GFX).wait(GpuAddress(0x1000), EQUAL, 6, 4);
        rig.submit(list);
        let waits = stall(rig.run()).waits;
        stall(rig.run());
        assert_eq!((waits[0].present, &waits[0].allocation), (0, &None));
        assert_eq!(rig.device.faults().iter().map(|f| f.count).collect::<Vec<_>>(), [1]);
    }
}

#[test]
fn a_write_lost_in_read_only_or_unmapped_memory() {
    let mut rig = Rig::new(ProfileName::SeriesX, RunMode::Model);
    let at = rig.read_only("constants");
    let list = rig.list(COMPUTE).signal(at, 1, 4);
    rig.submit(list);
    let list = rig.list(GFX).wait(at, EQUAL, 1, 4);
    rig.submit(list);
    let stall = stall(rig.run());
    assert_eq!(stall.waits[0].verdict, StallVerdict::WriteLost);
    assert!(!stall.waits[0].past[0].landed);
    let fault = &rig.device.faults()[0];
    assert_eq!(fault.kind, wavefence_base::FaultKind::WriteReadOnly);
    assert!(fault.detail.contains("constants"), "{}", fault.detail);
}

#[test]
fn never_written_at_all() {
    let mut rig = Rig::new(ProfileName::SeriesX, RunMode::Model);
    let at = rig.buffer("fence", 64);
    let list = rig.list(GFX).wait(at.offset(8), GREATER, 0, 8);
    rig.submit(list);
    let stall = stall(rig.run());
    let wait = &stall.waits[0];
    assert_eq!(wait.verdict, StallVerdict::NeverWritten);
    assert_eq!((wait.function, wait.bytes), (">", 8));
    assert_eq!(wait.allocation, Some(("fence".into(), 8)));
    // A write of the host releases it.
    set(&mut rig, at.offset(8), 1 << 40, 8);
    rig.run_idle();
}

#[test]
fn a_shader_that_spins_lets_other_queues_go_on() {
    for mode in MODES {
        let mut rig = Rig::new(ProfileName::SeriesX, mode);
        let data = rig.buffer("data", 64);
        let kernel = rig.load(fake::named("spin", [1, 1, 1]));
        let list = rig.list(COMPUTE).bind(kernel, [1, 1, 1], data).dispatch([40, 1, 1], 4);
        let spinning = rig.submit(list);
        let started = rig.buffer("late", 64);
        let list = rig.list(GFX).write(started, &[1]).signal(started, 2, 4);
        rig.submit(list);
        let list = rig.list(DMA).wait(started, EQUAL, 2, 4).signal(data, 1, 4);
        rig.submit(list);
        rig.run_idle();
        assert_eq!(rig.u32(data.offset(4)), 40);
        assert!(rig.device.submit_done(spinning));
    }
}

#[test]
fn a_shader_that_spins_on_another_dispatch() {
    for mode in MODES {
        for same_queue in [false, true] {
            let mut rig = Rig::new(ProfileName::SeriesX, mode);
            let data = rig.buffer("data", 64);
            let spin = rig.load(fake::named("spin", [1, 1, 1]));
            let slow = rig.load(fake::named("slow", [1, 1, 1]));
            let list = rig.list(COMPUTE).bind(spin, [1, 1, 1], data).dispatch([9, 1, 1], 4);
            rig.submit(list);
            let writer = if same_queue { COMPUTE } else { COMPUTE2 };
            let list =
                rig.list(writer).bind(slow, [1, 1, 1], data).constant(100).dispatch([1, 1, 1], 4);
            rig.submit(list);
            rig.run_idle();
            assert_eq!(rig.u32(data.offset(4)), 9);
        }
    }
}

#[test]
fn waits_of_the_pfp_and_waits_for_registers() {
    let engine = (Field::Engine, u64::from(sel::engine::PFP));
    let mut rig = Rig::new(ProfileName::SeriesX, RunMode::Model);
    let at = rig.buffer("fence", 64);
    let wait = |space: u8| {
        [
            (Field::Function, EQUAL.into()),
            (Field::Reference, 1),
            (Field::Mask, 0xFFFF_FFFF),
            (Field::MemSpace, space.into()),
        ]
    };
    let mut fields = wait(sel::mem_space::MEMORY).to_vec();
    fields.extend([engine, (Field::Addr, at.0)]);
    let list = rig.list(GFX).packet(Kind::WaitRegMem, &fields).write(at.offset(8), &[1]);
    rig.submit(list);
    let first = stall(rig.run());
    assert_eq!(first.waits[0].engine, "pfp");
    set(&mut rig, at, 1, 4);
    rig.run_idle();
    assert_eq!(rig.u32(at.offset(8)), 1);
    let reg = (Field::Reg, u64::from(reg::COMPUTE_USER_DATA_9));
    let mut fields = wait(sel::mem_space::REGISTER).to_vec();
    fields.push(reg);
    let list = rig.list(COMPUTE).set_sh(reg::COMPUTE_USER_DATA_9, &[1]);
    let list = list.packet(Kind::WaitRegMem, &fields);
    rig.submit(list);
    rig.run_idle();
    let list = rig.list(COMPUTE).set_sh(reg::COMPUTE_USER_DATA_9, &[2]);
    let list = list.packet(Kind::WaitRegMem, &fields);
    rig.submit(list);
    let second = stall(rig.run());
    assert_eq!(second.waits[0].allocation, Some(("register 0x2e49".into(), 0)));
    assert_eq!(second.waits[0].present, 2);
}

#[test]
fn a_shader_that_spins_for_ever_ends_with_its_budget_and_where_it_was() {
    for mode in MODES {
        let mut rig =
            Rig::with(ProfileName::SeriesX, mode, |d| d.limits.max_instructions = 1_000_000);
        let data = rig.buffer("data", 64);
        let kernel = rig.load(fake::named("spin", [1, 1, 1]));
        let list = rig.list(COMPUTE).bind(kernel, [1, 1, 1], data).dispatch([2, 1, 1], 4);
        rig.submit(list);
        let stall = stall(rig.run());
        let work = &stall.work[0];
        assert_eq!(work.verdict, WorkVerdict::OverBudget(Budget::Instructions(1_000_000)));
        assert_eq!(work.at, "in a loop of `spin` at fake.hlsl:7");
        assert_eq!((work.ended, work.total), (0, 2));
        // It is over: another run says the same.
        assert_eq!(rig.run(), Outcome::Blocked(stall));
    }
}

#[test]
fn events_are_the_same_on_every_repeat() {
    let record = || {
        let mut rig = Rig::new(ProfileName::SeriesX, RunMode::Model);
        let (fence, data) = (rig.buffer("fence", 64), rig.buffer("data", 4096));
        let kernel = rig.load(fake::named("list", [64, 2, 1]));
        let list = rig
            .list(COMPUTE)
            .bind(kernel, [64, 2, 1], data)
            .dispatch([5, 4, 1], 4 | 0x40)
            .signal(fence, 1, 4);
        rig.submit(list);
        let list = rig.list(GFX).bind(kernel, [64, 2, 1], data).dispatch([3, 3, 1], 4);
        rig.submit(list);
        let list = rig.list(DMA).wait(fence, GREATER_EQUAL, 1, 4).signal(fence.offset(8), 2, 8);
        rig.submit(list);
        rig.run_idle();
        (rig.log.events(), rig.listed(data))
    };
    let first = record();
    assert!(first.0.len() > 60);
    for _ in 0..3 {
        assert_eq!(record(), first);
    }
}
