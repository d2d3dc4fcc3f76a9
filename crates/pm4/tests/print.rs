//! Golden text: command buffers as drivers write them.

use wavefence_pm4::marker::{Marker, MarkerKind};
use wavefence_pm4::{
    Builder, Field, Generation, Kind, Packet, Ring, atomic, coher, data_sel, decode, events,
    function, gcr, initiator, int_sel, print, print_stream, reg, sel,
};

const GFX7: Generation = Generation::Gfx7;
const GFX10: Generation = Generation::Gfx10_3;

/// Prints the packets through encoder and decoder.
fn text(packets: Vec<Builder>, generation: Generation, ring: Ring) -> String {
    let words: Vec<u32> = packets.into_iter().flat_map(Builder::encode).collect();
    let (text, error) = print_stream(&words, generation, ring);
    assert_eq!(error, None);
    text
}

fn set_sh(generation: Generation, ring: Ring, first: u32, values: &[u32]) -> Builder {
    Packet::build(Kind::SetShReg, generation, ring)
        .set(Field::RegOffset, reg::sh_offset(first).into())
        .shader_type_compute(true)
        .body(values)
}

fn event(generation: Generation, ring: Ring, event: u8) -> Builder {
    Packet::build(Kind::EventWrite, generation, ring)
        .set(Field::EventType, event.into())
        .set(Field::EventIndex, events::index_of(event).into())
}

#[test]
fn one_dispatch() {
    let words = [0xC003_1502, 8, 4, 1, 0x8045];
    let packet = decode(&words, 0, GFX10, Ring::Compute).expect("a valid dispatch");
    insta::assert_snapshot!(print(&packet), @r"
    DISPATCH_DIRECT compute
      DIM_X = 8
      DIM_Y = 4
      DIM_Z = 1
      INITIATOR = 0x8045 COMPUTE_SHADER_EN | FORCE_START_AT_000 | ORDER_MODE | CS_W32_EN
    ");
}

#[test]
fn unnamed_values_say_so() {
    let words = [0xC005_3C00, 0x17, 0x1000, 1, 5, !0, 10];
    let packet = decode(&words, 0, GFX7, Ring::Graphics).expect("code 7 is reserved, not refused");
    insta::assert_snapshot!(print(&packet), @r"
    WAIT_REG_MEM
      FUNCTION = 7 (unnamed)
      MEM_SPACE = 1 MEMORY
      OPERATION = 0 WAIT
      ENGINE = 0 ME
      CACHE_POLICY = 0 LRU
      ADDR = 0x0100001000
      REFERENCE = 0x5
      MASK = 0xffffffff
      POLL_INTERVAL = 10
    ");
}

#[test]
fn text_stops_before_what_is_no_packet() {
    let (text, error) = print_stream(&[0xFFFF_1000, 0xC000_1400, 0], GFX7, Ring::Graphics);
    insta::assert_snapshot!(text, @"0x0000 NOP");
    insta::assert_snapshot!(
        error.expect("0x14 is no opcode").to_string(),
        @"dword 0x1: 0xc0001400: opcode 0x14 is no packet of gfx7"
    );
}

/// Work and its state, as a graphics ring of GFX7 gets them.
fn gfx7_work(g: Generation, r: Ring) -> Vec<Builder> {
    vec![
        Packet::build(Kind::ContextControl, g, r)
            .set(Field::LoadControl, 0x8000_0000)
            .set(Field::ShadowControl, 0x8000_0000),
        set_sh(g, r, reg::COMPUTE_PGM_LO, &[0x0012_3456, 0]),
        set_sh(g, r, reg::COMPUTE_NUM_THREAD_X, &[64, 1, 1]),
        set_sh(g, r, reg::COMPUTE_USER_DATA_0, &[0x1000, 0x12]),
        Packet::build(Kind::SetContextReg, g, r).set(Field::RegOffset, 0x200).body(&[7]),
        Packet::build(Kind::SetBase, g, r)
            .set(Field::BaseIndex, sel::base_index::INDIRECT.into())
            .set(Field::Addr, 0x10_0000_0000),
        Packet::build(Kind::DispatchIndirect, g, r)
            .set(Field::DataOffset, 0x40)
            .set(Field::Initiator, (initiator::COMPUTE_SHADER_EN | 1 << 7).into())
            .shader_type_compute(true),
        Packet::build(Kind::DrawIndex2, g, r)
            .set(Field::MaxSize, 300)
            .set(Field::Addr, 0xAB_0000_0002)
            .set(Field::IndexCount, 36)
            .set(Field::DrawInitiator, 0),
    ]
}

/// Events, caches and waits, as a graphics ring of GFX7 gets them.
fn gfx7_sync(g: Generation, r: Ring) -> Vec<Builder> {
    let eop = |value: u64| {
        Packet::build(Kind::EventWriteEop, g, r)
            .set(Field::EventType, events::BOTTOM_OF_PIPE_TS.into())
            .set(Field::EventIndex, events::index::END_OF_PIPE.into())
            .set(Field::TcAction, 1)
            .set(Field::TcWbAction, 1)
            .set(Field::Addr, 0x12_3456_7880)
            .set(Field::DataSel, data_sel::DATA_32.into())
            .set(Field::IntSel, int_sel::WRITE_AFTER_CONFIRM.into())
            .set(Field::Data, value)
    };
    vec![
        event(g, r, events::CS_PARTIAL_FLUSH),
        Packet::build(Kind::SurfaceSync, g, r)
            .set(Field::Coher, (coher::TCL1_ACTION_ENA | coher::TC_ACTION_ENA).into())
            .set(Field::Engine, coher::ENGINE_PFP.into())
            .set(Field::CoherSize, 0xFF_FFFF_FF00)
            .set(Field::PollInterval, 10),
        eop(1),
        eop(2),
        Packet::build(Kind::EventWriteEos, g, r)
            .set(Field::EventType, events::CS_DONE.into())
            .set(Field::EventIndex, events::index::END_OF_SHADER.into())
            .set(Field::Command, sel::eos_command::DATA.into())
            .set(Field::Addr, 0x1000)
            .set(Field::Data, 0xAB),
        Packet::build(Kind::WaitRegMem64, g, r)
            .set(Field::Function, function::GREATER_EQUAL.into())
            .set(Field::MemSpace, sel::mem_space::MEMORY.into())
            .set(Field::Addr, 0x12_3456_7888)
            .set(Field::Reference, 1 << 40)
            .set(Field::Mask, u64::MAX)
            .set(Field::PollInterval, 10),
        Packet::build(Kind::PfpSyncMe, g, r),
        Packet::build_sized(Kind::EventWrite, g, r, 4)
            .set(Field::EventType, events::ZPASS_DONE.into())
            .set(Field::EventIndex, events::index_of(events::ZPASS_DONE).into())
            .set(Field::Addr, 0x2000),
    ]
}

#[test]
fn gfx7_graphics() {
    let (g, r) = (GFX7, Ring::Graphics);
    let marker = |kind, text: &str| {
        let packet = Marker { kind, color: 0xFF33_66CC, text: text.into() }.encode(g, r);
        Packet::build(Kind::Nop, g, r).body(packet.body())
    };
    let mut packets = vec![marker(MarkerKind::Begin, "shadow \"pass\"")];
    packets.extend(gfx7_work(g, r));
    packets.extend(gfx7_sync(g, r));
    packets.push(marker(MarkerKind::End, ""));
    packets.push(Packet::build(Kind::Filler, g, r));
    insta::assert_snapshot!(text(packets, g, r));
}

#[test]
fn gfx10_compute() {
    let (g, r) = (GFX10, Ring::Compute);
    let packets = vec![
        Packet::build(Kind::AcquireMem, g, r)
            .set(Field::CoherSize, 0xFF_FFFF_FF00)
            .set(Field::PollInterval, 10)
            .set(Field::Gcr, (gcr::GLI_INV_MASK & 1 | gcr::GLK_INV | gcr::GLV_INV).into()),
        set_sh(g, r, reg::COMPUTE_START_X, &[0, 0, 0]),
        Packet::build(Kind::DispatchIndirect, g, r)
            .set(Field::Addr, 0x1234_5678_9ABC)
            .set(Field::Initiator, 0x8045),
        Packet::build(Kind::WriteData, g, r)
            .set(Field::DstSel, sel::write_dst::MEMORY.into())
            .set(Field::WrConfirm, 1)
            .set(Field::Addr, 0x10_0000)
            .body(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]),
        Packet::build(Kind::WriteData, g, r)
            .set(Field::DstSel, sel::write_dst::REGISTER.into())
            .set(Field::Reg, reg::COMPUTE_DISPATCH_INITIATOR.into())
            .body(&[1]),
        Packet::build(Kind::DmaData, g, r)
            .set(Field::SrcSel, sel::dma_src::DATA.into())
            .set(Field::DstSel, sel::dma_dst::L2.into())
            .set(Field::Data, 0xDEAD_BEEF)
            .set(Field::Dst, 0x20_0000)
            .set(Field::ByteCount, 4096)
            .set(Field::CpSync, 1)
            .set(Field::RawWait, 1),
        Packet::build(Kind::CopyData, g, r)
            .set(Field::SrcSel, sel::copy_src::GPU_CLOCK.into())
            .set(Field::DstSel, sel::copy_dst::L2.into())
            .set(Field::CountSel, sel::copy_count::QWORD.into())
            .set(Field::Dst, 0x30_0008),
        Packet::build(Kind::AtomicMem, g, r)
            .set(Field::AtomicOp, atomic::ADD_RTN_32.into())
            .set(Field::Addr, 0x30_0000)
            .set(Field::Data, 1),
        Packet::build(Kind::ReleaseMem, g, r)
            .set(Field::EventType, events::CACHE_FLUSH_AND_INV_TS_EVENT.into())
            .set(Field::EventIndex, events::index::END_OF_PIPE.into())
            .set(Field::Gcr, (gcr::release::GL2_WB | 1 << gcr::release::SEQ_SHIFT).into())
            .set(Field::DataSel, data_sel::DATA_64.into())
            .set(Field::IntSel, int_sel::WRITE_AFTER_CONFIRM.into())
            .set(Field::Addr, 0x40_0000)
            .set(Field::Data, 0x1_0000_0002),
        Packet::build(Kind::WaitRegMem, g, r)
            .set(Field::Function, function::EQUAL.into())
            .set(Field::MemSpace, sel::mem_space::MEMORY.into())
            .set(Field::Addr, 0x40_0000)
            .set(Field::Reference, 2)
            .set(Field::Mask, 0xFFFF_FFFF)
            .set(Field::PollInterval, 4),
        Packet::build(Kind::CondExec, g, r).set(Field::Addr, 0x50_0000).set(Field::ExecCount, 5),
        Packet::build(Kind::IndirectBuffer, g, r)
            .set(Field::Addr, 0x60_0000)
            .set(Field::IbSize, 256)
            .set(Field::Valid, 1)
            .set(Field::Chain, 1),
        Packet::build(Kind::Rewind, g, r).set(Field::Valid, 1),
        Packet::build(Kind::Nop, g, r),
    ];
    insta::assert_snapshot!(text(packets, g, r));
}

#[test]
fn sdma_of_both_generations() {
    let r = Ring::Sdma;
    let packets = |g| {
        vec![
            Packet::build(Kind::SdmaPollRegMem, g, r)
                .set(Field::Function, function::EQUAL.into())
                .set(Field::MemPoll, 1)
                .set(Field::Addr, 0x1000)
                .set(Field::Reference, 1)
                .set(Field::Mask, 0xFFFF_FFFF)
                .set(Field::PollInterval, 10)
                .set(Field::RetryCount, 0xFFF),
            Packet::build(Kind::SdmaPollMem64, g, r)
                .set(Field::Function, function::NOT_EQUAL.into())
                .set(Field::Addr, 0x1008)
                .set(Field::Reference, 1 << 33)
                .set(Field::Mask, u64::MAX)
                .set(Field::RetryCount, 0xFFF),
            Packet::build(Kind::SdmaCopyLinear, g, r)
                .set(Field::Src, 0x10_0000)
                .set(Field::Dst, 0x20_0000)
                .set(Field::ByteCount, 65536),
            Packet::build(Kind::SdmaConstantFill, g, r)
                .set(Field::FillSize, sel::fill_size::DWORD.into())
                .set(Field::Dst, 0x30_0000)
                .set(Field::Data, 0x3F80_0000)
                .set(Field::ByteCount, 1024),
            Packet::build(Kind::SdmaWriteLinear, g, r).set(Field::Dst, 0x40_0000).body(&[1, 2]),
            Packet::build(Kind::SdmaFence, g, r).set(Field::Addr, 0x1000).set(Field::Data, 2),
            Packet::build(Kind::SdmaFence64, g, r)
                .set(Field::Addr, 0x1008)
                .set(Field::Data, 1 << 33),
            Packet::build(Kind::SdmaTimestamp, g, r).set(Field::Addr, 0x1020),
            Packet::build(Kind::SdmaTrap, g, r),
        ]
    };
    insta::assert_snapshot!("sdma_gfx7", text(packets(GFX7), GFX7, r));
    let mut series = packets(GFX10);
    series.push(
        Packet::build(Kind::SdmaGcrReq, GFX10, r)
            .set(Field::Addr, 0x1_0000_0080)
            .set(Field::Limit, 0x1_0000_0100)
            .set(Field::Gcr, (gcr::GL2_WB | gcr::GL2_INV | gcr::RANGE_IS_PA).into()),
    );
    insta::assert_snapshot!("sdma_gfx10", text(series, GFX10, r));
}
