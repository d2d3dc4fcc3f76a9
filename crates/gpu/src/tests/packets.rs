//! What single packets do, and what the device makes of bad ones.

use super::fake;
use super::rig::{COMPUTE, DMA, GFX, MODES, PROFILES, Rig};
use crate::{GPU_CLOCK_ORIGIN, Outcome, QueueKind, RunMode, SYSTEM_CLOCK_ORIGIN};
use wavefence_base::{
    CacheAction, Event, FaultKind, Generation, GpuAddress, GpuRange, LimitKind, ProfileName, Writer,
};
use wavefence_pm4::marker::{Marker, MarkerKind};
use wavefence_pm4::{Field, Kind, coher, data_sel, events, function, gcr, int_sel, reg, sel};

fn series() -> Rig {
    Rig::new(ProfileName::SeriesX, RunMode::Model)
}

#[test]
fn queues_are_counted_by_the_profile() {
    let mut rig = Rig::new(ProfileName::XboxOne, RunMode::Model);
    for (pipe, queue) in [(0, 5), (1, 2)] {
        rig.device.open_queue(QueueKind::Compute { pipe, queue }).unwrap();
    }
    for bad in [
        QueueKind::Compute { pipe: 0, queue: 6 },
        QueueKind::Compute { pipe: 1, queue: 3 },
        QueueKind::Compute { pipe: 2, queue: 0 },
        QueueKind::Dma { engine: 4 },
        QueueKind::Compute { pipe: 0, queue: 5 },
    ] {
        let e = rig.device.open_queue(bad).unwrap_err();
        assert_eq!(e.kind, LimitKind::Unsupported, "{}", e.what);
    }
}

#[test]
fn values_of_32_and_64_bits_and_timestamps() {
    for profile in PROFILES {
        for kind in [GFX, COMPUTE] {
            let mut rig = Rig::new(profile, RunMode::Model);
            let at = rig.buffer("out", 256);
            let addr = |n: u64| (Field::Addr, at.0 + n * 32);
            let list = rig
                .list(kind)
                .signal(at, 0x1_2345_6789, 8)
                .release(data_sel::DATA_32, &[addr(1), (Field::Data, 0xAABB_CCDD)])
                .release(data_sel::GPU_CLOCK, &[addr(2)])
                .release(data_sel::SYSTEM_CLOCK, &[addr(3)])
                .release(data_sel::NONE, &[addr(4)]);
            rig.device.host_write(at.offset(36), &[7; 4]).unwrap();
            rig.submit(list);
            rig.run_idle();
            assert_eq!(rig.u64(at), 0x1_2345_6789);
            assert_eq!(rig.u64(at.offset(32)), 0x0707_0707_AABB_CCDD);
            let (gpu, system) = (rig.u64(at.offset(64)), rig.u64(at.offset(96)));
            assert!(gpu > GPU_CLOCK_ORIGIN && gpu <= rig.device.gpu_clock());
            assert!(system > SYSTEM_CLOCK_ORIGIN && system <= rig.device.system_clock());
            assert_eq!(rig.u64(at.offset(128)), 0);
        }
    }
}

#[test]
fn end_of_shader_events_of_gfx7() {
    let mut rig = Rig::new(ProfileName::XboxOne, RunMode::Model);
    let at = rig.buffer("out", 64);
    let slow = rig.load(fake::named("slow", [1, 1, 1]));
    rig.device.gds_write(4, 0xABC);
    let event = [
        (Field::EventType, u64::from(events::CS_DONE)),
        (Field::EventIndex, u64::from(events::index::END_OF_SHADER)),
    ];
    let gds = u64::from(sel::eos_command::GDS);
    let data = u64::from(sel::eos_command::DATA);
    let copy = (Field::SrcSel, u64::from(sel::copy_src::MEMORY));
    let to = (Field::DstSel, u64::from(sel::copy_dst::MEMORY));
    let list = rig
        .list(GFX)
        .bind(slow, [1, 1, 1], at)
        .constant(30)
        .dispatch([1, 1, 1], 4)
        .packet(
            Kind::EventWriteEos,
            &[
                event[0],
                event[1],
                (Field::Command, data),
                (Field::Addr, at.0 + 8),
                (Field::Data, 5),
            ],
        )
        .packet(
            Kind::EventWriteEos,
            &[
                event[0],
                event[1],
                (Field::Command, gds),
                (Field::Addr, at.0 + 12),
                (Field::GdsOffset, 1),
                (Field::GdsSize, 1),
            ],
        )
        // The engine goes on meanwhile.
        .packet(Kind::CopyData, &[copy, to, (Field::Src, at.0 + 8), (Field::Dst, at.0 + 16)]);
    rig.submit(list);
    rig.run_idle();
    assert_eq!((rig.u32(at), rig.u32(at.offset(8))), (1, 5));
    assert_eq!(rig.u32(at.offset(12)), 0xABC);
    assert_eq!(rig.u32(at.offset(16)), 0);
}

#[test]
fn interrupts_by_int_sel() {
    for (select, data, told, fault) in [
        (int_sel::NONE, data_sel::DATA_32, 0, false),
        (int_sel::WRITE_AFTER_CONFIRM, data_sel::DATA_32, 0, false),
        (int_sel::INTERRUPT_AFTER_WRITE, data_sel::DATA_32, 1, false),
        (int_sel::INTERRUPT_ONLY, data_sel::NONE, 1, false),
        (int_sel::INTERRUPT_ONLY, data_sel::DATA_32, 0, true),
    ] {
        let mut rig = series();
        let at = rig.buffer("out", 64);
        let more = [(Field::Addr, at.0), (Field::IntSel, select.into())];
        let list = rig.list(COMPUTE).release(data, &more);
        rig.submit(list);
        assert_eq!(rig.run(), Outcome::Idle);
        let is = |e: &&Event| matches!(e, Event::Interrupt { .. });
        assert_eq!(rig.log.events().iter().filter(is).count(), told);
        assert_eq!(!rig.device.faults().is_empty(), fault);
    }
}

#[test]
fn flushes_are_told_in_neutral_words() {
    use CacheAction as A;
    let flushes = |rig: &Rig| -> Vec<(Vec<A>, Option<GpuRange>, bool, bool)> {
        let pick = |e: &Event| match e {
            Event::Flush { actions, range, on_pfp, bottom, boundary: None, .. } => {
                Some((actions.clone(), *range, *on_pfp, *bottom))
            }
            _ => None,
        };
        rig.log.events().iter().filter_map(pick).collect()
    };
    let mut rig = Rig::new(ProfileName::XboxOne, RunMode::Model);
    let coher = u64::from(coher::TC_ACTION_ENA | coher::TCL1_ACTION_ENA);
    let all = (Field::CoherSize, 0xFF_FFFF_FF00);
    for engine in [sel::acquire_engine::ME, sel::acquire_engine::PFP] {
        let engine = (Field::Engine, u64::from(engine));
        let list = rig.list(GFX).packet(Kind::SurfaceSync, &[(Field::Coher, coher), all, engine]);
        rig.submit(list);
    }
    let at = rig.buffer("out", 64);
    let more = [(Field::Addr, at.0), (Field::TcWbAction, 1)];
    let list = rig.list(GFX).release(data_sel::DATA_32, &more);
    rig.submit(list);
    rig.run_idle();
    let both = vec![A::InvalidateL1, A::InvalidateL2];
    let mut told = flushes(&rig);
    told.sort_by_key(|t| (t.0.clone(), t.2));
    let mut want = vec![
        (both.clone(), None, false, false),
        (both, None, true, false),
        (vec![A::WritebackL2], None, false, true),
    ];
    want.sort_by_key(|t| (t.0.clone(), t.2));
    assert_eq!(told, want);
    let mut rig = series();
    let bits = u64::from(gcr::GLV_INV | gcr::GL1_INV | gcr::GLK_INV);
    let range = [(Field::CoherBase, 0x1000), (Field::CoherSize, 0x200)];
    let list =
        rig.list(COMPUTE).packet(Kind::AcquireMem, &[(Field::Gcr, bits), range[0], range[1]]);
    rig.submit(list);
    rig.run_idle();
    let range = Some(GpuRange::new(GpuAddress(0x1000), 0x200));
    assert_eq!(flushes(&rig), [(vec![A::InvalidateL1, A::InvalidateK], range, false, false)]);
}

#[test]
fn data_moves_between_memory_registers_and_gds() {
    for mode in MODES {
        let mut rig = Rig::new(ProfileName::SeriesX, mode);
        let at = rig.buffer("data", 4096);
        let gds = u64::from(sel::write_dst::GDS);
        let pair = |src: u8, dst: u8| [(Field::SrcSel, src.into()), (Field::DstSel, dst.into())];
        let [s, d] = pair(sel::copy_src::GDS, sel::copy_dst::MEMORY);
        let list = rig
            .list(COMPUTE)
            .packet_with(Kind::WriteData, &[(Field::DstSel, gds), (Field::GdsOffset, 16)], &[5, 6])
            .packet(
                Kind::CopyData,
                &[s, d, (Field::CountSel, 1), (Field::SrcOffset, 16), (Field::Dst, at.0)],
            );
        let [s, d] = pair(sel::copy_src::IMMEDIATE, sel::copy_dst::REGISTER);
        let reg = u64::from(reg::COMPUTE_USER_DATA_5);
        let list = list.packet(Kind::CopyData, &[s, d, (Field::Data, 77), (Field::DstReg, reg)]);
        let [s, d] = pair(sel::copy_src::REGISTER, sel::copy_dst::MEMORY);
        let list = list
            .packet(Kind::CopyData, &[s, d, (Field::SrcReg, reg), (Field::Dst, at.0 + 8)])
            .write(at.offset(16), &[1, 2, 3, 4, 5])
            .packet(
                Kind::AtomicMem,
                &[(Field::AtomicOp, 0x0F), (Field::Addr, at.0 + 16), (Field::Data, 10)],
            );
        let [s, d] = pair(sel::copy_src::ATOMIC_RETURN, sel::copy_dst::MEMORY);
        let list = list.packet(Kind::CopyData, &[s, d, (Field::Dst, at.0 + 40)]);
        rig.submit(list);
        rig.run_idle();
        assert_eq!(rig.u64(at), 6 << 32 | 5);
        assert_eq!(rig.u32(at.offset(8)), 77);
        assert_eq!(rig.u32(at.offset(16)), 11);
        assert_eq!(rig.u32(at.offset(32)), 5);
        assert_eq!(rig.u32(at.offset(40)), 1);
        assert_eq!(rig.device.gds_read(20), Some(6));
    }
}

#[test]
fn an_atomic_loops_until_its_comparison_succeeds() {
    for mode in MODES {
        let mut rig = Rig::new(ProfileName::SeriesX, mode);
        let at = rig.buffer("lock", 64);
        let swap = [
            (Field::AtomicOp, 0x08),
            (Field::Command, sel::atomic_command::LOOP.into()),
            (Field::Addr, at.0),
            (Field::Data, 9),
            (Field::Compare, 3),
        ];
        let list = rig.list(COMPUTE).packet(Kind::AtomicMem, &swap);
        rig.submit(list);
        let Outcome::Blocked(stall) = rig.run() else { panic!("not blocked") };
        assert_eq!((stall.waits[0].function, stall.waits[0].wanted), ("==", 3));
        let list = rig.list(GFX).signal(at, 3, 4);
        rig.submit(list);
        rig.run_idle();
        assert_eq!(rig.u32(at), 9);
    }
}

#[test]
fn cp_dma_runs_beside_what_follows_unless_synchronised() {
    let copied = |sync: u64| {
        let mut rig = series();
        let (from, to, out) = (rig.buffer("from", 64), rig.buffer("to", 64), rig.buffer("out", 64));
        rig.device.host_write(from, &[1; 8]).unwrap();
        let copy = [
            (Field::SrcSel, sel::copy_src::MEMORY.into()),
            (Field::DstSel, sel::copy_dst::MEMORY.into()),
        ];
        // A larger copy first keeps the engine busy for a turn.
        let dma = |bytes, sync| {
            [
                (Field::SrcSel, u64::from(sel::dma_src::L2)),
                (Field::DstSel, u64::from(sel::dma_dst::L2)),
                (Field::Src, from.0),
                (Field::Dst, to.0),
                (Field::ByteCount, bytes),
                (Field::CpSync, sync),
            ]
        };
        let list = rig
            .list(GFX)
            .packet(Kind::DmaData, &dma(8, 0))
            .packet(Kind::DmaData, &dma(0, sync))
            .packet(Kind::CopyData, &[copy[0], copy[1], (Field::Src, to.0), (Field::Dst, out.0)]);
        rig.submit(list);
        rig.run_idle();
        assert_eq!(rig.u64(to), u64::from_le_bytes([1; 8]));
        rig.u32(out)
    };
    assert_eq!(copied(1), 0x0101_0101);
    let fill = |kind: QueueKind| {
        let mut rig = series();
        let to = rig.buffer("to", 64);
        let fields = [
            (Field::SrcSel, u64::from(sel::dma_src::DATA)),
            (Field::DstSel, u64::from(sel::dma_dst::MEMORY)),
            (Field::Data, 0x0403_0201),
            (Field::Dst, to.0),
            (Field::ByteCount, 6),
        ];
        let list = rig.list(kind).packet(Kind::DmaData, &fields);
        rig.submit(list);
        rig.run_idle();
        rig.u64(to)
    };
    assert_eq!(fill(COMPUTE), 0x0201_0403_0201);
}

#[test]
fn end_of_pipe_waits_for_cp_dma_only_if_asked() {
    for wait in [0, 1] {
        let mut rig = series();
        let (to, fence) = (rig.buffer("to", 4096), rig.buffer("fence", 64));
        let dma = [
            (Field::SrcSel, u64::from(sel::dma_src::DATA)),
            (Field::DstSel, u64::from(sel::dma_dst::L2)),
            (Field::Data, 7),
            (Field::Dst, to.0),
            (Field::ByteCount, 4),
        ];
        let mut list = rig.list(GFX);
        for _ in 0..20 {
            list = list.packet(Kind::DmaData, &dma);
        }
        let more = [(Field::Addr, fence.0), (Field::Data, 1), (Field::WaitDma, wait)];
        let list = list.release(data_sel::DATA_32, &more);
        let submit = rig.submit(list);
        rig.run_idle();
        let events = rig.log.events();
        let at = |f: &dyn Fn(&Event) -> bool| events.iter().rposition(f);
        let copied = at(&|e| matches!(e, Event::Transfer { .. }));
        let told = at(&|e| matches!(e, Event::ValueWritten { .. }));
        let done = at(&|e| matches!(e, Event::SubmitDone { .. }));
        assert!(wait == 0 || copied < told);
        // The submission is done only when its copies are.
        assert!(copied < done && rig.device.submit_done(submit));
    }
}

#[test]
fn dma_queues_copy_fill_write_and_stamp() {
    for profile in PROFILES {
        for mode in MODES {
            let mut rig = Rig::new(profile, mode);
            let (a, b) = (rig.buffer("a", 4096), rig.buffer("b", 4096));
            rig.device.host_write(a, &[1, 2, 3, 4, 5, 6, 7, 8]).unwrap();
            let list = rig
                .list(DMA)
                .packet(
                    Kind::SdmaCopyLinear,
                    &[(Field::Src, a.0 + 1), (Field::Dst, b.0), (Field::ByteCount, 6)],
                )
                .packet(
                    Kind::SdmaConstantFill,
                    &[
                        (Field::FillSize, sel::fill_size::DWORD.into()),
                        (Field::Dst, b.0 + 16),
                        (Field::Data, 0xABCD),
                        (Field::ByteCount, 8),
                    ],
                )
                .packet(
                    Kind::SdmaConstantFill,
                    &[(Field::Dst, b.0 + 32), (Field::Data, 0xEE), (Field::ByteCount, 3)],
                )
                .write(b.offset(48), &[1, 2, 3])
                .packet(Kind::SdmaTimestamp, &[(Field::Addr, b.0 + 64)])
                .packet(Kind::SdmaTimestamp, &[(Field::Addr, b.0 + 72)])
                .signal(b.offset(128), 0x55, 4);
            rig.device.host_write(b.offset(72), &[9; 8]).unwrap();
            rig.submit(list);
            rig.run_idle();
            assert_eq!(rig.u64(b), 0x0706_0504_0302);
            assert_eq!(rig.u64(b.offset(16)), 0x0000_ABCD_0000_ABCD);
            assert_eq!(rig.u32(b.offset(32)), 0x00EE_EEEE);
            assert_eq!(rig.u32(b.offset(56)), 3);
            assert!(rig.u64(b.offset(64)) > GPU_CLOCK_ORIGIN);
            let second = rig.u64(b.offset(72));
            assert_eq!(second == 0, rig.generation != Generation::Gfx10_3);
            assert_eq!(rig.u32(b.offset(128)), 0x55);
        }
    }
}

#[test]
fn a_poll_with_few_retries_gives_up_and_says_so() {
    let mut rig = series();
    let at = rig.buffer("fence", 64);
    let list = rig
        .list(DMA)
        .packet(
            Kind::SdmaPollRegMem,
            &[
                (Field::MemPoll, 1),
                (Field::Function, function::EQUAL.into()),
                (Field::Addr, at.0),
                (Field::Reference, 1),
                (Field::Mask, 1),
                (Field::RetryCount, 5),
            ],
        )
        .signal(at.offset(8), 1, 4);
    rig.submit(list);
    assert_eq!(rig.run(), Outcome::Idle);
    assert!(rig.device.faults()[0].detail.contains("gave up"));
    assert_eq!(rig.u32(at.offset(8)), 1);
}

#[test]
fn command_buffers_nest_chain_and_are_chosen() {
    for profile in PROFILES {
        for kind in [GFX, COMPUTE] {
            let mut rig = Rig::new(profile, RunMode::Model);
            let at = rig.buffer("out", 64);
            let inner = rig.list(kind).write(at, &[1]);
            let inner = rig.place(&inner.words);
            let chained = rig.list(kind).write(at.offset(4), &[2]);
            let chained = rig.place(&chained.words);
            let buffer = |r: GpuRange, chain| {
                [(Field::Addr, r.start.0), (Field::IbSize, r.len / 4), (Field::Chain, chain)]
            };
            let list = rig
                .list(kind)
                .packet(Kind::IndirectBuffer, &buffer(inner, 0))
                .write(at.offset(8), &[3])
                .packet(Kind::IndirectBuffer, &buffer(chained, 1))
                .write(at.offset(12), &[4]);
            rig.submit(list);
            let list = rig.list(kind).write(at.offset(16), &[5]);
            rig.submit(list);
            rig.run_idle();
            let got: Vec<u32> = (0..5).map(|i| rig.u32(at.offset(i * 4))).collect();
            assert_eq!(got, [1, 2, 3, 0, 5]);
            let cond = [
                (Field::Mode, sel::cond_mode::IF_ELSE.into()),
                (Field::Function, function::EQUAL.into()),
                (Field::Addr, at.0 + 32),
                (Field::Mask, u64::MAX),
                (Field::Reference, 1 << 40),
                (Field::ThenAddr, inner.start.0),
                (Field::IbSize, inner.len / 4),
                (Field::ElseAddr, chained.start.0),
                (Field::ElseSize, chained.len / 4),
            ];
            rig.device.host_write(at, &[0; 8]).unwrap();
            let list = rig.list(kind).packet(Kind::CondIndirectBuffer, &cond);
            rig.submit(list.clone());
            rig.run_idle();
            assert_eq!(rig.u64(at), 2 << 32);
            rig.device.host_write(at.offset(32), &(1u64 << 40).to_le_bytes()).unwrap();
            rig.submit(list);
            rig.run_idle();
            assert_eq!(rig.u64(at), 2 << 32 | 1);
        }
    }
}

#[test]
fn conditional_execution_and_predication_skip() {
    let mut rig = series();
    let at = rig.buffer("out", 64);
    let skipped = rig.list(GFX).write(at, &[1]);
    let count = (Field::ExecCount, skipped.words.len() as u64);
    let cond = |offset: u64| [(Field::Addr, at.0 + offset), count];
    rig.device.host_write(at.offset(32), &1u32.to_le_bytes()).unwrap();
    let list = rig
        .list(GFX)
        .packet(Kind::CondExec, &cond(48))
        .write(at, &[1])
        .packet(Kind::CondExec, &cond(32))
        .write(at.offset(4), &[2]);
    rig.submit(list);
    rig.run_idle();
    assert_eq!(rig.u64(at), 2 << 32);
    // Boolean predicates: visible runs when it is set.
    let pred = |op: u64, offset: u64| {
        [(Field::PredicateOp, op), (Field::PredicateVisible, 1), (Field::Addr, at.0 + offset)]
    };
    let mut list = rig.list(GFX).packet(Kind::SetPredication, &pred(3, 48));
    let from = list.words.len();
    list = list.write(at.offset(8), &[3]);
    list.words[from] |= 1;
    list = list.packet(Kind::SetPredication, &pred(3, 32));
    let from = list.words.len();
    list = list.write(at.offset(12), &[4]);
    list.words[from] |= 1;
    rig.submit(list);
    rig.run_idle();
    assert_eq!(rig.u64(at.offset(8)), 4 << 32);
}

#[test]
fn rewind_waits_for_its_own_valid_bit() {
    let mut rig = series();
    let at = rig.buffer("out", 64);
    let list = rig.list(COMPUTE).packet(Kind::Rewind, &[]).write(at, &[1]);
    let queue = rig.queue(COMPUTE);
    let range = rig.place(&list.words);
    rig.device.submit(queue, range).unwrap();
    assert!(matches!(rig.run(), Outcome::Blocked(_)));
    rig.device.host_write(range.start.offset(4), &0x8000_0000u32.to_le_bytes()).unwrap();
    rig.run_idle();
    assert_eq!(rig.u32(at), 1);
}

#[test]
fn markers_are_told_on_every_ring() {
    for kind in [GFX, COMPUTE, DMA] {
        let mut rig = series();
        let marker = Marker { kind: MarkerKind::Begin, color: 0xFF00_FF00, text: "blur".into() };
        let mut list = rig.list(kind);
        list.words = marker.encode(rig.generation, list.ring()).into_words();
        rig.submit(list);
        rig.run_idle();
        let is = |e: &Event| matches!(e, Event::Marker { text, depth: 1, color: 0xFF00_FF00, .. } if text == "blur");
        assert!(rig.log.events().iter().any(is));
    }
}

#[test]
fn draws_are_refused_by_name_and_place() {
    let mut rig = series();
    let list = rig.list(GFX).packet(Kind::DrawIndexAuto, &[(Field::IndexCount, 3)]);
    rig.submit(list);
    let Outcome::Limit(limit) = rig.run() else { panic!("no limit") };
    assert_eq!(limit.kind, LimitKind::Unsupported);
    assert!(limit.what.contains("DRAW_INDEX_AUTO at 0x"), "{}", limit.what);
}

#[test]
fn a_bad_packet_halts_its_queue_and_no_other() {
    for mode in MODES {
        let mut rig = Rig::new(ProfileName::SeriesX, mode);
        let at = rig.buffer("out", 64);
        let mut list = rig.list(COMPUTE).write(at, &[1]);
        list.words.push(0xC000_FE00);
        list.words.push(0);
        let list = list.write(at.offset(4), &[1]);
        let bad = rig.submit(list);
        let list = rig.list(GFX).write(at.offset(8), &[1]);
        let good = rig.submit(list);
        assert_eq!(rig.run(), Outcome::Idle);
        assert_eq!((rig.u64(at), rig.u32(at.offset(8))), (1, 1));
        assert!(!rig.device.submit_done(bad) && rig.device.submit_done(good));
        let fault = rig.device.faults()[0].clone();
        assert_eq!(fault.kind, FaultKind::BadPacket);
        assert_eq!(fault.place.queue, Some(rig.queue(COMPUTE)));
        assert!(fault.detail.contains("0xc000fe00"), "{}", fault.detail);
    }
}

#[test]
fn a_chain_without_end_runs_into_the_budget() {
    for mode in MODES {
        let mut rig = Rig::with(ProfileName::SeriesX, mode, |d| d.limits.max_packets = 5000);
        let at = rig.buffer("loop", 64);
        let fields = [(Field::Addr, at.0), (Field::IbSize, 4), (Field::Chain, 1)];
        let list = rig.list(COMPUTE).packet(Kind::IndirectBuffer, &fields);
        let bytes: Vec<u8> = list.words.iter().flat_map(|w| w.to_le_bytes()).collect();
        rig.device.host_write(at, &bytes).unwrap();
        rig.submit(list);
        let Outcome::Limit(limit) = rig.run() else { panic!("no limit") };
        assert_eq!(limit.kind, LimitKind::Budget);
    }
}

#[test]
fn memory_and_events_say_who_wrote() {
    let mut rig = series();
    let at = rig.buffer("out", 64);
    let (gfx, dma) = (rig.queue(GFX), rig.queue(DMA));
    let list = rig.list(GFX).signal(at, 1, 4);
    rig.submit(list);
    let list = rig.list(DMA).signal(at.offset(8), 2, 8);
    rig.submit(list);
    rig.run_idle();
    let pick = |e: &Event| match e {
        Event::ValueWritten { by, value, bytes, .. } => Some((*by, *value, *bytes)),
        _ => None,
    };
    let mut told: Vec<_> = rig.log.events().iter().filter_map(pick).collect();
    told.sort_by_key(|t| t.1);
    assert_eq!(told, [(Writer::Queue(gfx), 1, 4), (Writer::Dma(dma), 2, 8)]);
}

#[test]
fn many_submits_go_round_the_ring() {
    for kind in [GFX, COMPUTE, DMA] {
        let mut rig = series();
        let at = rig.buffer("out", 64);
        let list = rig.list(kind).write(at, &[1]);
        let range = rig.place(&list.words);
        let queue = rig.queue(kind);
        for _ in 0..40 {
            let mut last = None;
            for _ in 0..1000 {
                last = Some(rig.device.submit(queue, range).unwrap());
            }
            rig.run_idle();
            assert!(rig.device.submit_done(last.unwrap()));
        }
        let full = (0..100_000).find_map(|_| rig.device.submit(queue, range).err());
        assert_eq!(full.map(|e| e.kind), Some(LimitKind::Memory));
        rig.run_idle();
    }
}

#[test]
fn event_write_kinds() {
    let mut rig = series();
    let event =
        |e: u8| [(Field::EventType, u64::from(e)), (Field::EventIndex, events::index_of(e).into())];
    let list = rig.list(COMPUTE).packet(Kind::EventWrite, &event(events::PS_PARTIAL_FLUSH));
    rig.submit(list);
    assert_eq!(rig.run(), Outcome::Idle);
    assert_eq!(rig.device.faults()[0].kind, FaultKind::BadCommand);
    let list = rig
        .list(GFX)
        .packet(Kind::EventWrite, &event(events::PS_PARTIAL_FLUSH))
        .packet(Kind::EventWrite, &event(events::FLUSH_AND_INV_CB_META));
    rig.submit(list);
    assert_eq!(rig.run(), Outcome::Idle);
    let is = |e: &Event| matches!(e, Event::Flush { actions, .. } if *actions == [CacheAction::FlushColorMeta]);
    assert!(rig.log.events().iter().any(is));
}

#[test]
fn gds_and_clock_reach_shaders() {
    let mut rig = series();
    let data = rig.buffer("data", 64);
    let (gds, clock) =
        (rig.load(fake::named("gds", [1, 1, 1])), rig.load(fake::named("clock", [1, 1, 1])));
    let list = rig
        .list(COMPUTE)
        .bind(gds, [1, 1, 1], data)
        .dispatch([7, 1, 1], 4)
        .bind(clock, [1, 1, 1], data)
        .dispatch([1, 1, 1], 4);
    rig.submit(list);
    rig.run_idle();
    assert_eq!(rig.device.gds_read(8), Some(7));
    assert!(rig.u32(data) > 0);
}
