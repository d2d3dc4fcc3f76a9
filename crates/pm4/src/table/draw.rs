// tidy: table
//! Draws and index buffers. All on the graphics ring.

use crate::Encoding::Type3;
use crate::Length::Fixed;
use crate::{
    Field, FieldDesc as F, Flag, Generations as G, Kind, Mark, PacketDesc as P, RegSpace, Rings,
    Values, sel,
};

/// VGT_DRAW_INITIATOR on GFX7 and GFX8.
const DRAW_GFX7: &[Flag] = &[
    Flag::bits(1, 0, "SOURCE_SELECT"),
    Flag::bits(3, 2, "MAJOR_MODE"),
    Flag::bit(5, "NOT_EOP"),
    Flag::bit(6, "USE_OPAQUE"),
];

/// VGT_DRAW_INITIATOR on GFX10.3.
const DRAW_GFX10: &[Flag] = &[
    Flag::bits(1, 0, "SOURCE_SELECT"),
    Flag::bits(3, 2, "MAJOR_MODE"),
    Flag::bit(5, "NOT_EOP"),
    Flag::bit(6, "USE_OPAQUE"),
    Flag::bits(31, 29, "REG_RT_INDEX"),
];

const fn initiator(dword: u8) -> [F; 2] {
    [
        F::word(Field::DrawInitiator, dword).on(G::GFX7_8).flags(DRAW_GFX7).mark(Mark::Derived),
        F::word(Field::DrawInitiator, dword).on(G::GFX10).flags(DRAW_GFX10).mark(Mark::Derived),
    ]
}

const I2: [F; 2] = initiator(2);
const I4: [F; 2] = initiator(4);
const I5: [F; 2] = initiator(5);
const I6: [F; 2] = initiator(6);
const I9: [F; 2] = initiator(9);

const OFFSET: F = F::bits(Field::DataOffset, 1, 31, 2).unit(2);
const BASE_VERTEX: F =
    F::bits(Field::BaseVertexReg, 2, 15, 0).values(Values::Register(RegSpace::Sh));
const START_INSTANCE: F =
    F::bits(Field::StartInstanceReg, 3, 15, 0).values(Values::Register(RegSpace::Sh));
const START_INDEX: F = F::bits(Field::StartIndexReg, 2, 31, 16)
    .values(Values::Register(RegSpace::Sh))
    .on(G::GFX10)
    .mark(Mark::Derived);
const DRAW_INDEX_REG: F =
    F::bits(Field::DrawIndexReg, 4, 15, 0).values(Values::Register(RegSpace::Sh));

/// The 10-dword form of the MULTI packets without indices.
const MULTI: [F; 13] = [
    OFFSET,
    BASE_VERTEX,
    START_INSTANCE,
    DRAW_INDEX_REG,
    F::flag(Field::UseVgprs, 4, 27).on(G::GFX10),
    F::flag(Field::ThreadTraceMarker, 4, 29).on(G::GFX10),
    F::flag(Field::CountIndirect, 4, 30),
    F::flag(Field::DrawIndexEnable, 4, 31),
    F::count(Field::Count, 5),
    F::address(Field::CountAddr, 6, 2),
    F::count(Field::Stride, 8),
    I9[0],
    I9[1],
];

/// The 10-dword form of the MULTI packets with indices.
const INDEX_MULTI: [F; 16] = [
    OFFSET,
    BASE_VERTEX,
    START_INDEX,
    START_INSTANCE,
    DRAW_INDEX_REG,
    F::flag(Field::SmDisable, 4, 26).on(G::GFX10),
    F::flag(Field::UseVgprs, 4, 27).on(G::GFX10),
    F::flag(Field::StartIndexEnable, 4, 28).on(G::GFX10),
    F::flag(Field::ThreadTraceMarker, 4, 29).on(G::GFX10),
    F::flag(Field::CountIndirect, 4, 30),
    F::flag(Field::DrawIndexEnable, 4, 31),
    F::count(Field::Count, 5),
    F::address(Field::CountAddr, 6, 2),
    F::count(Field::Stride, 8),
    I9[0],
    I9[1],
];

/// The 7-dword form that an emulator of a GFX7 console decodes.
const MULTI_SHORT: [F; 6] = [
    OFFSET,
    BASE_VERTEX,
    START_INSTANCE,
    F::count(Field::Count, 4),
    F::count(Field::Stride, 5),
    I6[0],
];

const SHORT: &str = "1.4, 7 dwords: one source, GFX7; the header's length decides";

pub(super) const ROWS: &[P] = &[
    P::new(
        Kind::IndexBufferSize,
        Type3(0x13),
        Fixed(2),
        &[F::count(Field::IndexCount, 1)],
        "1.4 INDEX_BUFFER_SIZE",
    )
    .ring(Rings::GRAPHICS),
    P::new(
        Kind::IndexBase,
        Type3(0x26),
        Fixed(3),
        &[
            F::address(Field::Addr, 1, 1).upper(2, 15, 0).on(G::GFX7_8),
            F::bits(Field::BaseSelect, 2, 31, 30).on(G::GFX7_8).mark(Mark::Derived),
            F::address(Field::Addr, 1, 1).on(G::GFX10),
        ],
        "1.4 INDEX_BASE",
    )
    .ring(Rings::GRAPHICS),
    P::new(
        Kind::IndexType,
        Type3(0x2A),
        Fixed(2),
        &[
            F::bits(Field::IndexType, 1, 1, 0)
                .on(G::GFX7)
                .named(sel::first(sel::index_type::NAMES, 2)),
            F::bits(Field::IndexType, 1, 1, 0).on(G::GFX8).named(sel::index_type::NAMES),
            F::bits(Field::SwapMode, 1, 3, 2).named(sel::swap::NAMES),
        ],
        "1.4 INDEX_TYPE; GFX9 and later set VGT_INDEX_TYPE by SET_UCONFIG_REG_INDEX",
    )
    .ring(Rings::GRAPHICS)
    .on(G::GFX7_8),
    P::new(
        Kind::NumInstances,
        Type3(0x2F),
        Fixed(2),
        &[F::count(Field::InstanceCount, 1)],
        "1.4 NUM_INSTANCES",
    )
    .ring(Rings::GRAPHICS),
    P::new(
        Kind::DrawIndexAuto,
        Type3(0x2D),
        Fixed(3),
        &[F::count(Field::IndexCount, 1), I2[0], I2[1]],
        "1.4 DRAW_INDEX_AUTO",
    )
    .ring(Rings::GRAPHICS),
    P::new(
        Kind::DrawIndex2,
        Type3(0x27),
        Fixed(6),
        &[
            F::count(Field::MaxSize, 1),
            F::address(Field::Addr, 2, 1).upper(3, 7, 0).on(G::GFX7_8),
            F::address(Field::Addr, 2, 1).upper(3, 15, 0).on(G::GFX10),
            F::count(Field::IndexCount, 4),
            I5[0],
            I5[1],
        ],
        "1.4 DRAW_INDEX_2",
    )
    .ring(Rings::GRAPHICS),
    P::new(
        Kind::DrawIndexOffset2,
        Type3(0x35),
        Fixed(5),
        &[
            F::count(Field::MaxSize, 1),
            F::count(Field::IndexOffset, 2),
            F::count(Field::IndexCount, 3),
            I4[0],
            I4[1],
        ],
        "1.4 DRAW_INDEX_OFFSET_2",
    )
    .ring(Rings::GRAPHICS),
    P::new(
        Kind::DrawIndirect,
        Type3(0x24),
        Fixed(5),
        &[OFFSET, BASE_VERTEX, START_INSTANCE, I4[0], I4[1]],
        "1.4 DRAW_INDIRECT",
    )
    .ring(Rings::GRAPHICS),
    P::new(
        Kind::DrawIndexIndirect,
        Type3(0x25),
        Fixed(5),
        &[
            OFFSET,
            BASE_VERTEX,
            START_INDEX,
            START_INSTANCE,
            F::flag(Field::SmDisable, 3, 26).on(G::GFX10).mark(Mark::Derived),
            F::flag(Field::StartIndexEnable, 3, 28).on(G::GFX10).mark(Mark::Derived),
            I4[0],
            I4[1],
        ],
        "1.4 DRAW_INDEX_INDIRECT",
    )
    .ring(Rings::GRAPHICS),
    P::new(
        Kind::DrawIndirectMulti,
        Type3(0x2C),
        Fixed(10),
        &MULTI,
        "1.4, 10 dwords: early GFX7 firmware lacks it",
    )
    .ring(Rings::GRAPHICS),
    P::new(Kind::DrawIndirectMulti, Type3(0x2C), Fixed(7), &MULTI_SHORT, SHORT)
        .ring(Rings::GRAPHICS)
        .on(G::GFX7)
        .mark(Mark::Derived),
    P::new(
        Kind::DrawIndexIndirectMulti,
        Type3(0x38),
        Fixed(10),
        &INDEX_MULTI,
        "1.4, 10 dwords: early GFX7 firmware lacks it",
    )
    .ring(Rings::GRAPHICS),
    P::new(Kind::DrawIndexIndirectMulti, Type3(0x38), Fixed(7), &MULTI_SHORT, SHORT)
        .ring(Rings::GRAPHICS)
        .on(G::GFX7)
        .mark(Mark::Derived),
    P::new(
        Kind::DrawIndirectCountMulti,
        Type3(0x9C),
        Fixed(10),
        &MULTI,
        "1.3; layout of the 10-dword MULTI form",
    )
    .ring(Rings::GRAPHICS)
    .on(G::GFX10)
    .mark(Mark::Derived),
    P::new(
        Kind::DrawIndexIndirectCountMulti,
        Type3(0x9D),
        Fixed(10),
        &INDEX_MULTI,
        "1.3, 1.4: the 10-dword form; on GFX7 by one source",
    )
    .ring(Rings::GRAPHICS)
    .mark(Mark::Derived),
];
