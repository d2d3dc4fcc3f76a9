//! Times reckoned by hand from the profile's table, against both counters.

use super::fake;
use super::rig::*;
use crate::{GPU_CLOCK_ORIGIN, QueueKind, RunMode, SYSTEM_CLOCK_ORIGIN};
use wavefence_base::{Depth, GpuAddress, Marked, OpFamily, Profile, ProfileName};
use wavefence_pm4::{Field, Kind, data_sel, gcr, int_sel, reg, sel};

fn value(m: Marked<u32>) -> u64 {
    u64::from(m.value)
}

/// Ticks of the counters at a cycle of a profile.
fn ticks(profile: &Profile, cycle: u64) -> u64 {
    cycle * profile.timestamp_hz.value / (value(profile.clock_mhz) * 1_000_000)
}

/// Both counters, written one after the other at the bottom of the pipe.
fn stamped(list: List, at: GpuAddress) -> List {
    let addr = |n: u64| (Field::Addr, at.0 + n * 32);
    list.release(data_sel::GPU_CLOCK, &[addr(0)]).release(data_sel::SYSTEM_CLOCK, &[addr(1)])
}

/// Checks what [`stamped`] left, if its first packet was taken up at `cycle`: the
/// second event comes as long after the first as the end of the pipe takes, as its
/// packet comes earlier.
fn check(rig: &Rig, profile: &Profile, at: GpuAddress, cycle: u64) {
    let e = &profile.timing.engines;
    let (packet, end) = (value(e.mec_packet), value(e.end_of_pipe));
    let first = cycle + end;
    let second = first.max(cycle + packet) + end;
    let read = [rig.u64(at), rig.u64(at.offset(32))];
    let want =
        [GPU_CLOCK_ORIGIN + ticks(profile, first), SYSTEM_CLOCK_ORIGIN + ticks(profile, second)];
    assert_eq!(read, want, "{}: cycle {cycle}", profile.name);
}

/// When the first packet of the first list is taken up: after the packet of the ring
/// that names it and the invalidates of the submit's start, which find nothing.
fn first_packet(profile: &Profile) -> u64 {
    value(profile.timing.engines.mec_packet) + value(profile.timing.memory.flush)
}

#[test]
fn packets_take_the_engines_time_to_the_tick() {
    for name in ProfileName::ALL {
        for count in [0, 1, 40] {
            let profile = Profile::get(name);
            let mut rig = Rig::new(name, RunMode::Model);
            let at = rig.buffer("stamps", 64);
            let mut list = rig.list(COMPUTE);
            for _ in 0..count {
                list = list.packet_with(Kind::Nop, &[], &[0]);
            }
            rig.submit(stamped(list, at));
            rig.run_idle();
            let packets = count * value(profile.timing.engines.mec_packet);
            check(&rig, &profile, at, first_packet(&profile) + packets);
        }
    }
}

/// Runs groups of one wave of 64 between packets and a wait for them; the wave runs
/// one instruction. `reads` says how far down it reads, if it does.
fn dispatch(name: ProfileName, kernel: &str, groups: u32, reads: Option<Depth>) {
    let profile = Profile::get(name);
    let mut rig = Rig::new(name, RunMode::Model);
    let (at, data) = (rig.buffer("stamps", 64), rig.buffer("data", 4096));
    let kernel = rig.load(fake::named(kernel, [64, 1, 1]));
    let list = rig
        .list(COMPUTE)
        .bind(kernel, [64, 1, 1], data)
        .constant(data.offset(2048).lo())
        .set_sh(reg::COMPUTE_USER_DATA_2 + 1, &[data.hi()])
        .dispatch([groups, 1, 1], 0)
        .flush_cs();
    rig.submit(stamped(list, at));
    rig.run_idle();

    let t = &profile.timing;
    // Registers: five packets.
    let taken = first_packet(&profile) + 5 * value(t.engines.mec_packet);
    let launched =
        (u64::from(groups) * value(t.launch.half_rate)).div_ceil(value(t.launch.launchers));
    let issue = value(t.issue.wave64[OpFamily::Vector.index()]);
    let waits = reads.map_or(0, |depth| value(t.memory.latency[depth.index()]));
    let work = value(t.engines.dispatch) + launched + value(t.launch.wave_start) + issue + waits;
    // The engine sees that the waves have ended, and takes up the next packet.
    check(&rig, &profile, at, taken + work + 1);
}

#[test]
fn a_dispatch_takes_its_launches_and_its_last_wave_to_the_tick() {
    for name in ProfileName::ALL {
        for groups in [1, 2, 7, 100] {
            dispatch(name, "nop", groups, None);
        }
        dispatch(name, "read", 1, Some(Depth::Memory));
    }
}

#[test]
fn engines_that_move_bytes_are_busy_for_them() {
    for name in ProfileName::ALL {
        let profile = Profile::get(name);
        let t = &profile.timing;
        let bytes = 1 << 20;
        let cycles = |engines: &[QueueKind]| {
            let mut rig = Rig::new(name, RunMode::Model);
            let (from, to) = (rig.buffer("from", bytes), rig.buffer("to", bytes));
            for &engine in engines {
                let list = rig.list(engine).packet(
                    Kind::SdmaCopyLinear,
                    &[(Field::Src, from.0), (Field::Dst, to.0), (Field::ByteCount, bytes / 2)],
                );
                rig.submit(list);
            }
            rig.run_idle();
            rig.device.cycles()
        };
        let one = cycles(&[DMA]);
        let takes = (bytes / 2).div_ceil(value(t.memory.dma_bytes));
        // Memory gives and takes each byte.
        let takes = takes.max(bytes.div_ceil(value(t.memory.memory_bytes)));
        assert!((takes..takes + 200).contains(&one), "{name}: {one}, not {takes}");
        // Two engines share one way.
        let two = cycles(&[DMA, QueueKind::Dma { engine: 1 }]);
        assert!((2 * takes..2 * takes + 200).contains(&two), "{name}: {two}, not 2 x {takes}");
    }
}

#[test]
fn a_flush_takes_memorys_time_for_what_was_dirty() {
    // The clock behind a write-back of 2048 lines, and of none; its write is confirmed,
    // or the value would overtake it.
    let stamp = |name, fill: bool| {
        let mut rig = Rig::new(name, RunMode::Model);
        let (at, data) = (rig.buffer("stamps", 64), rig.buffer("data", 1 << 20));
        let mut list = rig.list(COMPUTE);
        if fill {
            let level2 = u64::from(sel::dma_dst::L2);
            list = list.packet(
                Kind::DmaData,
                &[
                    (Field::SrcSel, u64::from(sel::dma_src::DATA)),
                    (Field::DstSel, level2),
                    (Field::Dst, data.0),
                    (Field::ByteCount, 1 << 18),
                    (Field::CpSync, 1),
                ],
            );
        }
        let list = list.release(
            data_sel::GPU_CLOCK,
            &[
                (Field::Addr, at.0),
                (Field::Gcr, u64::from(gcr::release::GL2_WB)),
                (Field::IntSel, u64::from(int_sel::WRITE_AFTER_CONFIRM)),
            ],
        );
        rig.submit(list);
        rig.run_idle();
        rig.u64(at) - GPU_CLOCK_ORIGIN
    };
    let profile = Profile::get(ProfileName::SeriesX);
    let m = &profile.timing.memory;
    let (dirty, clean) = (stamp(profile.name, true), stamp(profile.name, false));
    let fill = (1u64 << 18).div_ceil(value(m.cp_dma_bytes));
    let written = (1u64 << 18).div_ceil(value(m.memory_bytes));
    let packet = value(profile.timing.engines.mec_packet);
    let more = ticks(&profile, fill + written + packet);
    assert!((more - 2..=more + 2).contains(&(dirty - clean)), "{dirty} - {clean}, not {more}");
}

#[test]
fn the_checker_and_the_log_change_no_time() {
    for name in PROFILES {
        let cycles = |observe: bool| {
            let mut rig = Rig::new(name, RunMode::Model);
            if observe {
                rig.device.add_observer(Box::new(Everything));
            }
            let data = rig.buffer("data", 4096);
            let kernel = rig.load(fake::named("list", [64, 1, 1]));
            let list = rig.list(COMPUTE).bind(kernel, [64, 1, 1], data);
            rig.submit(list.dispatch([300, 1, 1], 0).flush_cs());
            rig.run_idle();
            rig.device.cycles()
        };
        assert_eq!(cycles(true), cycles(false), "{name}");
    }
}

/// Wants to hear of every access.
struct Everything;

impl wavefence_base::Observer for Everything {
    fn event(&mut self, _: &wavefence_base::Event) {}

    fn wants_accesses(&self) -> bool {
        true
    }
}
