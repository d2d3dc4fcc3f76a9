// tidy: table
//! Writes, copies, DMA, atomics, command buffers and predication.

use crate::Encoding::Type3;
use crate::Length::{Body, Fixed};
use crate::{
    Field, FieldDesc as F, Generations as G, Kind, Mark, Named, PacketDesc as P, RegSpace, Rings,
    Values, atomic, function, sel,
};

const fn policy(field: Field, dword: u8, lo: u8) -> [F; 2] {
    [
        F::bits(field, dword, lo + 1, lo).on(G::GFX7_8).named(sel::cache_policy::NAMES),
        F::bits(field, dword, lo + 1, lo).on(G::GFX10).named(sel::cache_policy_gfx10::NAMES),
    ]
}

const POLICY_25: [F; 2] = policy(Field::CachePolicy, 1, 25);
const SRC_POLICY: [F; 2] = policy(Field::SrcCachePolicy, 1, 13);
const DST_POLICY: [F; 2] = policy(Field::DstCachePolicy, 1, 25);
const IB_POLICY: [F; 2] = policy(Field::CachePolicy, 3, 28);
const IB1_POLICY: [F; 2] = policy(Field::CachePolicy, 10, 28);
const IB2_POLICY: [F; 2] = policy(Field::ElseCachePolicy, 13, 28);
const ENGINE_30: F = F::bits(Field::Engine, 1, 31, 30).named(sel::engine::NAMES);

/// A register index in dword `dword`: 18 bits on GFX10, a whole dword before.
const fn register(field: Field, dword: u8) -> [F; 2] {
    let values = Values::Register(RegSpace::Absolute);
    [
        F::word(field, dword).on(G::GFX7_8).values(values),
        F::bits(field, dword, 17, 0).on(G::GFX10).values(values),
    ]
}

const WRITE_REG: [F; 2] = register(Field::Reg, 2);
const SRC_REG: [F; 2] = register(Field::SrcReg, 2);
const DST_REG: [F; 2] = register(Field::DstReg, 4);

/// DST_SEL of WRITE_DATA on GFX10, where two values are an engine's own.
const WRITE_DST_GFX10: &[Named] = &[
    (0, "REGISTER"),
    (1, "MEMORY_GRBM"),
    (2, "L2"),
    (3, "GDS"),
    (5, "MEMORY"),
    (6, "ADC_REGISTER"),
    (8, "PREEMPTION_META"),
];

/// SRC_SEL of COPY_DATA on GFX10.
const COPY_SRC_GFX10: &[Named] = &[
    (0, "REGISTER"),
    (1, "MEMORY"),
    (2, "L2"),
    (3, "GDS"),
    (4, "PERFCOUNTER"),
    (5, "IMMEDIATE"),
    (6, "ATOMIC_RETURN"),
    (7, "GDS_ATOMIC_RETURN_0"),
    (8, "GDS_ATOMIC_RETURN_1"),
    (9, "GPU_CLOCK"),
    (10, "SYSTEM_CLOCK"),
];

/// What INDIRECT_BUFFER and INDIRECT_BUFFER_CONST share.
const INDIRECT_BUFFER: [F; 12] = [
    F::address(Field::Addr, 1, 2).upper(2, 15, 0).on(G::GFX7_8),
    F::address(Field::Addr, 1, 2).on(G::GFX10),
    F::bits(Field::IbSize, 3, 19, 0).values(Values::Dec),
    F::flag(Field::Chain, 3, 20),
    F::flag(Field::OffloadPolling, 3, 21).on(G::GFX7),
    F::flag(Field::OffloadPolling, 3, 21).on(G::GFX8_10).ring(Rings::COMPUTE),
    F::flag(Field::PreEna, 3, 21).on(G::GFX8_10).ring(Rings::GRAPHICS),
    F::flag(Field::Volatile, 3, 22).on(G::GFX7),
    F::bits(Field::Vmid, 3, 27, 24).values(Values::Dec),
    IB_POLICY[0],
    IB_POLICY[1],
    F::flag(Field::PreResume, 3, 30).on(G::GFX8_10),
];

/// INDIRECT_BUFFER with its VALID bit: on GFX7 and GFX8 on both rings, on GFX10
/// on compute rings.
const INDIRECT_BUFFER_VALID: [F; 14] = {
    let mut all = [F::flag(Field::Valid, 3, 23).on(G::GFX7_8); 14];
    all[1] = F::flag(Field::Valid, 3, 23).on(G::GFX10).ring(Rings::COMPUTE);
    let mut i = 0;
    while i < INDIRECT_BUFFER.len() {
        all[i + 2] = INDIRECT_BUFFER[i];
        i += 1;
    }
    all
};

const PRED_OP: &[Named] =
    &[(0, "CLEAR"), (1, "ZPASS"), (2, "PRIMCOUNT"), (3, "BOOL64"), (4, "BOOL32")];

pub(super) const ROWS: &[P] = &[
    P::new(
        Kind::WriteData,
        Type3(0x37),
        Body { head: 4, min: 1 },
        &[
            F::bits(Field::DstSel, 1, 11, 8).on(G::GFX7_8).named(sel::write_dst::NAMES),
            F::bits(Field::DstSel, 1, 11, 8).on(G::GFX10).named(WRITE_DST_GFX10),
            F::flag(Field::OneAddress, 1, 16),
            F::flag(Field::WrConfirm, 1, 20),
            F::flag(Field::Atc, 1, 24).on(G::GFX7),
            POLICY_25[0],
            POLICY_25[1],
            F::flag(Field::Volatile, 1, 27).on(G::GFX7),
            ENGINE_30,
            WRITE_REG[0].when(Field::DstSel, &[0, 6]),
            WRITE_REG[1].when(Field::DstSel, &[0, 6]),
            F::word(Field::GdsOffset, 2).when(Field::DstSel, &[3]),
            F::address(Field::Addr, 2, 2).when(Field::DstSel, &[1, 2, 5, 8]),
        ],
        "1.4 WRITE_DATA",
    ),
    P::new(
        Kind::CopyData,
        Type3(0x40),
        Fixed(6),
        &[
            F::bits(Field::SrcSel, 1, 3, 0).on(G::GFX7_8).named(sel::copy_src::NAMES),
            F::bits(Field::SrcSel, 1, 3, 0).on(G::GFX10).named(COPY_SRC_GFX10),
            F::bits(Field::DstSel, 1, 11, 8).named(sel::copy_dst::NAMES),
            F::flag(Field::SrcAtc, 1, 12).on(G::GFX7),
            SRC_POLICY[0],
            SRC_POLICY[1],
            F::flag(Field::SrcVolatile, 1, 15).on(G::GFX7),
            F::bits(Field::CountSel, 1, 16, 16).named(sel::copy_count::NAMES),
            F::flag(Field::WrConfirm, 1, 20),
            F::flag(Field::DstAtc, 1, 24).on(G::GFX7),
            DST_POLICY[0],
            DST_POLICY[1],
            F::flag(Field::DstVolatile, 1, 27).on(G::GFX7),
            F::flag(Field::PqExeStatus, 1, 29).on(G::GFX10).ring(Rings::COMPUTE),
            ENGINE_30,
            SRC_REG[0].when(Field::SrcSel, &[0, 4]),
            SRC_REG[1].when(Field::SrcSel, &[0, 4]),
            F::address(Field::Src, 2, 2).when(Field::SrcSel, &[1, 2]),
            F::word(Field::SrcOffset, 2).when(Field::SrcSel, &[3]),
            F::wide(Field::Data, 2).when(Field::SrcSel, &[5]),
            DST_REG[0].when(Field::DstSel, &[0, 4, 6]),
            DST_REG[1].when(Field::DstSel, &[0, 4, 6]),
            F::address(Field::Dst, 4, 2).when(Field::DstSel, &[1, 2, 5]),
            F::word(Field::DstOffset, 4).when(Field::DstSel, &[3]),
        ],
        "1.4 COPY_DATA",
    ),
    P::new(
        Kind::DmaData,
        Type3(0x50),
        Fixed(7),
        &[
            F::bits(Field::Engine, 1, 0, 0).named(sel::dma_engine::NAMES),
            F::flag(Field::SrcIndirect, 1, 1).on(G::GFX10),
            F::flag(Field::DstIndirect, 1, 2).on(G::GFX10),
            F::bits(Field::SrcSel, 1, 30, 29).named(sel::dma_src::NAMES),
            F::bits(Field::DstSel, 1, 21, 20).on(G::GFX7_8).named(sel::DMA_DST_GFX7),
            F::bits(Field::DstSel, 1, 21, 20).on(G::GFX10).named(sel::dma_dst::NAMES),
            F::flag(Field::SrcAtc, 1, 12).on(G::GFX7),
            SRC_POLICY[0],
            SRC_POLICY[1],
            F::flag(Field::SrcVolatile, 1, 15).on(G::GFX7),
            F::flag(Field::DstAtc, 1, 24).on(G::GFX7),
            DST_POLICY[0],
            DST_POLICY[1],
            F::flag(Field::DstVolatile, 1, 27).on(G::GFX7),
            F::flag(Field::CpSync, 1, 31),
            F::wide(Field::Src, 2).values(Values::Address).when(Field::SrcSel, &[0, 3]),
            F::word(Field::SrcOffset, 2).when(Field::SrcSel, &[1]),
            F::word(Field::Data, 2).when(Field::SrcSel, &[2]),
            F::wide(Field::Dst, 4).values(Values::Address).when(Field::DstSel, &[0, 2, 3]),
            F::word(Field::DstOffset, 4).when(Field::DstSel, &[1]),
            F::bits(Field::ByteCount, 6, 20, 0).values(Values::Dec).on(G::GFX7_8),
            F::bits(Field::ByteCount, 6, 25, 0).values(Values::Dec).on(G::GFX10),
            F::flag(Field::DisableWriteConfirm, 6, 21).on(G::GFX7_8),
            F::flag(Field::DisableWriteConfirm, 6, 31).on(G::GFX10),
            F::bits(Field::SrcSwap, 6, 23, 22).on(G::GFX7_8).named(sel::swap::NAMES),
            F::bits(Field::DstSwap, 6, 25, 24).on(G::GFX7_8).named(sel::swap::NAMES),
            F::flag(Field::SrcIsRegister, 6, 26),
            F::flag(Field::DstIsRegister, 6, 27),
            F::flag(Field::SrcNoIncrement, 6, 28),
            F::flag(Field::DstNoIncrement, 6, 29),
            F::flag(Field::RawWait, 6, 30),
        ],
        "1.4 DMA_DATA",
    ),
    P::new(
        Kind::CpDma,
        Type3(0x41),
        Fixed(6),
        &[],
        "1.3, 1.4 CP_DMA: GFX6 only, given up after it; DMA_DATA takes its place",
    )
    .on(G::NONE),
    P::new(
        Kind::AtomicMem,
        Type3(0x1E),
        Fixed(9),
        &[
            F::bits(Field::AtomicOp, 1, 6, 0).named(atomic::NAMES),
            F::bits(Field::Command, 1, 11, 8)
                .on(G::GFX7_8)
                .named(sel::first(sel::atomic_command::NAMES, 2)),
            F::bits(Field::Command, 1, 11, 8).on(G::GFX10).named(sel::atomic_command::NAMES),
            F::flag(Field::Atc, 1, 24).on(G::GFX7),
            POLICY_25[0],
            POLICY_25[1],
            F::flag(Field::Volatile, 1, 27).on(G::GFX7),
            ENGINE_30,
            F::address(Field::Addr, 2, 2),
            F::wide(Field::Data, 4),
            F::wide(Field::Compare, 6),
            F::bits(Field::LoopInterval, 8, 12, 0).values(Values::Dec),
        ],
        "1.4 ATOMIC_MEM",
    ),
    P::new(
        Kind::IndirectBuffer,
        Type3(0x3F),
        Fixed(4),
        &INDIRECT_BUFFER_VALID,
        "1.4 INDIRECT_BUFFER; one source has VMID in [31:24], as on GFX6",
    ),
    P::new(
        Kind::IndirectBufferConst,
        Type3(0x33),
        Fixed(4),
        &INDIRECT_BUFFER,
        "1.3, 1.4: constant engine, layout of INDIRECT_BUFFER",
    )
    .ring(Rings::GRAPHICS),
    P::new(
        Kind::CondIndirectBuffer,
        Type3(0x3F),
        Fixed(14),
        &[
            F::bits(Field::Mode, 1, 1, 0).named(sel::cond_mode::NAMES),
            F::bits(Field::Function, 1, 10, 8).named(function::NAMES),
            // Bits [31:3] by the field, but 4-byte alignment is enough.
            F::address(Field::Addr, 2, 2),
            F::wide(Field::Mask, 4),
            F::wide(Field::Reference, 6),
            F::address(Field::ThenAddr, 8, 2),
            F::bits(Field::IbSize, 10, 19, 0).values(Values::Dec),
            IB1_POLICY[0],
            IB1_POLICY[1],
            F::address(Field::ElseAddr, 11, 2),
            F::bits(Field::ElseSize, 13, 19, 0).values(Values::Dec),
            IB2_POLICY[0],
            IB2_POLICY[1],
        ],
        "1.4 COND_INDIRECT_BUFFER: opcode of INDIRECT_BUFFER, told apart by length",
    ),
    P::new(
        Kind::CondExec,
        Type3(0x22),
        Fixed(5),
        &[
            F::address(Field::Addr, 1, 2),
            F::bits(Field::Control, 3, 31, 28).on(G::GFX7_8),
            F::bits(Field::CachePolicy, 3, 26, 25)
                .on(G::GFX10)
                .ring(Rings::COMPUTE)
                .named(sel::cache_policy_gfx10::NAMES),
            F::bits(Field::ExecCount, 4, 13, 0).values(Values::Dec),
        ],
        "1.4 COND_EXEC",
    ),
    P::new(
        Kind::CondExec,
        Type3(0x22),
        Fixed(4),
        &[
            F::address(Field::Addr, 1, 2).upper(2, 15, 0),
            F::bits(Field::Control, 2, 31, 28),
            F::bits(Field::ExecCount, 3, 13, 0).values(Values::Dec),
        ],
        "1.4 COND_EXEC of 4 dwords: GFX6, and one source on a GFX7 console (10, item 4)",
    )
    .on(G::GFX7)
    .mark(Mark::Derived),
    P::new(
        Kind::SetPredication,
        Type3(0x20),
        Fixed(3),
        &[
            F::address(Field::Addr, 1, 4).upper(2, 7, 0),
            F::flag(Field::PredicateVisible, 2, 8),
            F::flag(Field::PredicateHint, 2, 12),
            F::bits(Field::PredicateOp, 2, 18, 16).named(PRED_OP),
            F::flag(Field::Continue, 2, 31),
        ],
        "1.3; fields from public headers",
    )
    .ring(Rings::GRAPHICS)
    .on(G::GFX7_8)
    .mark(Mark::Derived),
    P::new(
        Kind::SetPredication,
        Type3(0x20),
        Fixed(4),
        &[
            F::flag(Field::PredicateVisible, 1, 8),
            F::flag(Field::PredicateHint, 1, 12),
            F::bits(Field::PredicateOp, 1, 18, 16).named(PRED_OP),
            F::flag(Field::Continue, 1, 31),
            F::address(Field::Addr, 2, 4),
        ],
        "1.3; fields from public headers",
    )
    .ring(Rings::GRAPHICS)
    .on(G::GFX10)
    .mark(Mark::Derived),
];
