//! Words worked out by hand from the bit positions of `hardware/pm4.md`: a field
//! at the wrong place cannot hide behind its own inverse.

use wavefence_pm4::{
    Builder, Field, Generation, Kind, Packet, Ring, coher, data_sel, events, function, gcr,
    int_sel, sel,
};

const GFX7: Generation = Generation::Gfx7;
const GFX8: Generation = Generation::Gfx8;
const GFX10: Generation = Generation::Gfx10_3;

fn gfx(kind: Kind, g: Generation) -> Builder {
    Packet::build(kind, g, Ring::Graphics)
}

fn mec(kind: Kind, g: Generation) -> Builder {
    Packet::build(kind, g, Ring::Compute)
}

fn dma(kind: Kind, g: Generation) -> Builder {
    Packet::build(kind, g, Ring::Sdma)
}

fn eq(builder: Builder, words: &[u32]) {
    let got = builder.encode();
    assert_eq!(got, words, "{got:#010x?} against {words:#010x?}");
}

#[test]
fn dispatches() {
    let direct = mec(Kind::DispatchDirect, GFX7)
        .shader_type_compute(true)
        .set(Field::DimX, 2)
        .set(Field::DimY, 3)
        .set(Field::DimZ, 4)
        .set(Field::Initiator, 0x45);
    eq(direct, &[0xC003_1502, 2, 3, 4, 0x45]);
    let indirect = gfx(Kind::DispatchIndirect, GFX10)
        .set(Field::DataOffset, 0x30)
        .set(Field::Initiator, 0x8005)
        .predicate(true);
    eq(indirect, &[0xC001_1601, 0x30, 0x8005]);
    let indirect = mec(Kind::DispatchIndirect, GFX10)
        .set(Field::Addr, 0xAB_1234_5678)
        .set(Field::Initiator, 1);
    eq(indirect, &[0xC002_1600, 0x1234_5678, 0xAB, 1]);
    let base = gfx(Kind::SetBase, GFX7).set(Field::BaseIndex, 1).set(Field::Addr, 0xFFFF_0000_0008);
    eq(base, &[0xC002_1100, 1, 8, 0xFFFF]);
    let sh = mec(Kind::SetShReg, GFX10).set(Field::RegOffset, 0x20C).body(&[7, 8]);
    eq(sh, &[0xC002_7600, 0x20C, 7, 8]);
    let index = gfx(Kind::SetUconfigRegIndex, GFX10)
        .set(Field::RegOffset, 0x243)
        .set(Field::RegIndex, 2)
        .body(&[1]);
    eq(index, &[0xC001_7A00, 0x2000_0243, 1]);
}

#[test]
fn end_of_pipe() {
    let eop = gfx(Kind::EventWriteEop, GFX7)
        .set(Field::EventType, events::CACHE_FLUSH_AND_INV_TS_EVENT.into())
        .set(Field::EventIndex, 5)
        .set(Field::Tcl1Action, 1)
        .set(Field::TcAction, 1)
        .set(Field::Addr, 0x12_3456_7890)
        .set(Field::DataSel, 2)
        .set(Field::IntSel, 3)
        .set(Field::DstSel, 1)
        .set(Field::Data, 0x0000_0005_0000_0006);
    eq(eop, &[0xC004_4700, 0x0003_0514, 0x3456_7890, 0x4301_0012, 6, 5]);
    let five = gfx(Kind::EventWriteEop, GFX8)
        .set(Field::Tcl1VolAction, 1)
        .set(Field::TcVolAction, 1)
        .set(Field::TcWbAction, 1)
        .set(Field::CachePolicy, 2);
    eq(five, &[0xC004_4700, 0x0400_B000, 0, 0, 0, 0]);
    let eos = gfx(Kind::EventWriteEos, GFX7)
        .set(Field::EventType, events::PS_DONE.into())
        .set(Field::EventIndex, 6)
        .set(Field::Addr, 0x1_0000_0004)
        .set(Field::Command, 2)
        .set(Field::Data, 9);
    eq(eos, &[0xC003_4800, 0x630, 4, 0x4000_0001, 9]);
    let release = mec(Kind::ReleaseMem, GFX7)
        .set(Field::EventType, events::BOTTOM_OF_PIPE_TS.into())
        .set(Field::EventIndex, 5)
        .set(Field::TcWbAction, 1)
        .set(Field::TcAction, 1)
        .set(Field::IntSel, int_sel::WRITE_AFTER_CONFIRM.into())
        .set(Field::DataSel, data_sel::DATA_32.into())
        .set(Field::Addr, 0x1000)
        .set(Field::Data, 7);
    eq(release, &[0xC005_4900, 0x0002_8528, 0x2300_0000, 0x1000, 0, 7, 0]);
    use gcr::release as r;
    let release = gfx(Kind::ReleaseMem, GFX10)
        .set(Field::EventType, 0x14)
        .set(Field::EventIndex, 5)
        .set(Field::Gcr, (r::GL2_WB | r::GLM_WB | r::GLM_INV | 1 << r::SEQ_SHIFT).into())
        .set(Field::CachePolicy, 3)
        .set(Field::DataSel, data_sel::GPU_CLOCK.into())
        .set(Field::Addr, 0x1008)
        .set(Field::InterruptContext, 1);
    eq(release, &[0xC006_4900, 0x0660_3514, 0x6000_0000, 0x1008, 0, 0, 0, 1]);
    let flush = mec(Kind::EventWrite, GFX10)
        .set(Field::EventType, events::CS_PARTIAL_FLUSH.into())
        .set(Field::EventIndex, 4)
        .set(Field::Offload, 1);
    eq(flush, &[0xC000_4600, 0x8000_0407]);
}

#[test]
fn acquires() {
    let sync = gfx(Kind::SurfaceSync, GFX7)
        .set(Field::Coher, (coher::TCL1_ACTION_ENA | coher::TC_ACTION_ENA).into())
        .set(Field::Engine, coher::ENGINE_ME.into())
        .set(Field::CoherSize, 0x1_0000)
        .set(Field::CoherBase, 0xAB_CDEF_0100)
        .set(Field::PollInterval, 10);
    eq(sync, &[0xC003_4300, 0x80C0_0000, 0x100, 0xABCD_EF01, 10]);
    let acquire = mec(Kind::AcquireMem, GFX7)
        .set(Field::Coher, coher::SH_KCACHE_ACTION_ENA.into())
        .set(Field::CoherSize, 0xFFFF_FFFF_FF00)
        .set(Field::CoherBase, 0x12_3456_7890_AB00);
    eq(acquire, &[0xC005_5800, 0x0800_0000, !0, 0xFF, 0x5678_90AB, 0x1234, 0]);
    let acquire = gfx(Kind::AcquireMem, GFX10)
        .set(Field::Engine, coher::ENGINE_PFP.into())
        .set(Field::Coher, coher::CB_ACTION_ENA.into())
        .set(Field::CoherSize, 0xFFFF_FFFF_FF00)
        .set(Field::PollInterval, 10)
        .set(Field::Gcr, (gcr::GL2_WB | gcr::GL2_INV | gcr::GLK_INV | 1).into());
    eq(acquire, &[0xC006_5800, 0x0200_0000, !0, 0xFF, 0, 0, 10, 0xC081]);
}

#[test]
fn waits() {
    let wait = gfx(Kind::WaitRegMem, GFX7)
        .set(Field::Function, function::EQUAL.into())
        .set(Field::MemSpace, 1)
        .set(Field::Engine, 1)
        .set(Field::Addr, 0x12_3456_7890)
        .set(Field::Reference, 5)
        .set(Field::Mask, 0xFFFF_FFFF)
        .set(Field::PollInterval, 0x20);
    eq(wait, &[0xC005_3C00, 0x113, 0x3456_7890, 0x12, 5, !0, 0x20]);
    let register = mec(Kind::WaitRegMem, GFX10).set(Field::Reg, 0x2E07).set(Field::Offload, 1);
    eq(register, &[0xC005_3C00, 0, 0x2E07, 0, 0, 0, 0x8000_0000]);
    for g in Generation::ALL {
        let wait = mec(Kind::WaitRegMem64, g)
            .set(Field::Function, function::GREATER_EQUAL.into())
            .set(Field::MemSpace, 1)
            .set(Field::Addr, 0x12_3456_7890)
            .set(Field::Reference, 0x5_0000_0006)
            .set(Field::Mask, u64::MAX)
            .set(Field::PollInterval, 10);
        eq(wait, &[0xC007_9300, 0x15, 0x3456_7890, 0x12, 6, 5, !0, !0, 10]);
    }
}

#[test]
fn memory_packets() {
    let write = gfx(Kind::WriteData, GFX7)
        .set(Field::DstSel, 5)
        .set(Field::WrConfirm, 1)
        .set(Field::OneAddress, 1)
        .set(Field::Engine, 1)
        .set(Field::Addr, 0x1_0000_0004)
        .body(&[9]);
    eq(write, &[0xC003_3700, 0x4011_0500, 4, 1, 9]);
    let copy = mec(Kind::CopyData, GFX10)
        .set(Field::SrcSel, sel::copy_src::IMMEDIATE.into())
        .set(Field::DstSel, sel::copy_dst::L2.into())
        .set(Field::CountSel, 1)
        .set(Field::WrConfirm, 1)
        .set(Field::Data, 0x1_0000_0002)
        .set(Field::Dst, 0x2_0000_0008);
    eq(copy, &[0xC004_4000, 0x0011_0205, 2, 1, 8, 2]);
    let fill = |g| {
        gfx(Kind::DmaData, g)
            .set(Field::SrcSel, sel::dma_src::DATA.into())
            .set(Field::DstSel, sel::dma_dst::L2.into())
            .set(Field::CpSync, 1)
            .set(Field::Data, 0xABCD)
            .set(Field::Dst, 0x3_0000_0001)
            .set(Field::ByteCount, 0x1F_FFFF)
            .set(Field::DisableWriteConfirm, 1)
            .set(Field::RawWait, 1)
    };
    eq(fill(GFX7), &[0xC005_5000, 0xC030_0000, 0xABCD, 0, 1, 3, 0x403F_FFFF]);
    eq(fill(GFX10), &[0xC005_5000, 0xC030_0000, 0xABCD, 0, 1, 3, 0xC01F_FFFF]);
    let atomic = mec(Kind::AtomicMem, GFX10)
        .set(Field::AtomicOp, 0x0F)
        .set(Field::Command, 1)
        .set(Field::Addr, 0x10)
        .set(Field::Data, 2)
        .set(Field::Compare, 3)
        .set(Field::LoopInterval, 4);
    eq(atomic, &[0xC007_1E00, 0x10F, 0x10, 0, 2, 0, 3, 0, 4]);
    let ib = mec(Kind::IndirectBuffer, GFX10)
        .set(Field::Addr, 0x1_0000_0100)
        .set(Field::IbSize, 0x40)
        .set(Field::Chain, 1)
        .set(Field::Valid, 1)
        .set(Field::Vmid, 2);
    eq(ib, &[0xC002_3F00, 0x100, 1, 0x0290_0040]);
    let cond = gfx(Kind::CondIndirectBuffer, GFX7)
        .set(Field::Mode, 2)
        .set(Field::Function, 3)
        .set(Field::Addr, 0x10)
        .set(Field::Mask, u64::MAX)
        .set(Field::Reference, 1)
        .set(Field::ThenAddr, 0x100)
        .set(Field::IbSize, 4)
        .set(Field::ElseAddr, 0x200)
        .set(Field::ElseSize, 8);
    let words = [0xC00C_3F00, 0x302, 0x10, 0, !0, !0, 1, 0, 0x100, 0, 4, 0x200, 0, 8];
    eq(cond, &words);
    eq(
        gfx(Kind::CondExec, GFX10).set(Field::Addr, 0x20).set(Field::ExecCount, 7),
        &[0xC003_2200, 0x20, 0, 0, 7],
    );
}

#[test]
fn draws() {
    let draw = gfx(Kind::DrawIndexIndirectMulti, GFX10)
        .set(Field::DataOffset, 0x40)
        .set(Field::BaseVertexReg, 0x4C)
        .set(Field::StartInstanceReg, 0x4D)
        .set(Field::DrawIndexReg, 0x4E)
        .set(Field::DrawIndexEnable, 1)
        .set(Field::CountIndirect, 1)
        .set(Field::Count, 16)
        .set(Field::CountAddr, 0x1_0000_0008)
        .set(Field::Stride, 20)
        .set(Field::DrawInitiator, 0x2000_0000);
    let words = [0xC008_3800, 0x40, 0x4C, 0x4D, 0xC000_004E, 16, 8, 1, 20, 0x2000_0000];
    eq(draw, &words);
    let auto =
        gfx(Kind::DrawIndexAuto, GFX7).set(Field::IndexCount, 3).set(Field::DrawInitiator, 2);
    eq(auto, &[0xC001_2D00, 3, 2]);
}

#[test]
fn sdma() {
    let poll = dma(Kind::SdmaPollRegMem, GFX7)
        .set(Field::Function, 3)
        .set(Field::MemPoll, 1)
        .set(Field::Addr, 0x1_0000_0004)
        .set(Field::Reference, 5)
        .set(Field::Mask, 0xFF)
        .set(Field::PollInterval, 10)
        .set(Field::RetryCount, 0xFFF);
    eq(poll, &[0xB000_0008, 4, 1, 5, 0xFF, 0x0FFF_000A]);
    let poll = dma(Kind::SdmaPollMem64, GFX10)
        .set(Field::Function, 6)
        .set(Field::Addr, 8)
        .set(Field::Reference, 0x1_0000_0002)
        .set(Field::Mask, u64::MAX)
        .set(Field::PollInterval, 10)
        .set(Field::RetryCount, 0xFFF);
    eq(poll, &[0x6000_8008, 8, 0, 2, 1, !0, !0, 0x0FFF_000A]);
    let copy = |g| {
        dma(Kind::SdmaCopyLinear, g)
            .set(Field::ByteCount, 0x100)
            .set(Field::Src, 0x1_0000_0001)
            .set(Field::Dst, 0x2_0000_0002)
    };
    eq(copy(GFX7), &[1, 0x100, 0, 1, 1, 2, 2]);
    eq(copy(GFX8), &[1, 0x100, 0, 1, 1, 2, 2]);
    eq(copy(GFX10), &[1, 0xFF, 0, 1, 1, 2, 2]);
    let fill = dma(Kind::SdmaConstantFill, GFX10)
        .set(Field::FillSize, 2)
        .set(Field::Dst, 0x10)
        .set(Field::Data, 0xAB)
        .set(Field::ByteCount, 64);
    eq(fill, &[0x8000_000B, 0x10, 0, 0xAB, 63]);
    eq(dma(Kind::SdmaWriteLinear, GFX7).set(Field::Dst, 4).body(&[9, 8]), &[2, 4, 0, 2, 9, 8]);
    eq(dma(Kind::SdmaWriteLinear, GFX10).set(Field::Dst, 4).body(&[9, 8]), &[2, 4, 0, 1, 9, 8]);
    eq(dma(Kind::SdmaFence, GFX7).set(Field::Addr, 4).set(Field::Data, 1), &[5, 4, 0, 1]);
    eq(
        dma(Kind::SdmaFence64, GFX7).set(Field::Addr, 8).set(Field::Data, 0x1_0000_0002),
        &[0x8005, 8, 0, 2, 1],
    );
    eq(dma(Kind::SdmaTrap, GFX7), &[6]);
    eq(dma(Kind::SdmaTrap, GFX10).set(Field::InterruptContext, 3), &[6, 3]);
    eq(dma(Kind::SdmaTimestamp, GFX7).set(Field::Addr, 0x20), &[0x020D, 0x20, 0]);
    eq(dma(Kind::SdmaNop, GFX10).body(&[7, 7]), &[0x0002_0000, 7, 7]);
    let gcr = dma(Kind::SdmaGcrReq, GFX10)
        .set(Field::Addr, 0x2_0000_0080)
        .set(Field::Limit, 0x3_0000_0100)
        .set(Field::Gcr, 0x4_C001)
        .set(Field::Vmid, 1);
    eq(gcr, &[17, 0x80, 0xC001_0002, 0x104, 0x0100_0003]);
    let ib = dma(Kind::SdmaIndirect, GFX7).set(Field::Addr, 0x1_0000_0020).set(Field::IbSize, 8);
    eq(ib, &[4, 0x20, 1, 8]);
}
