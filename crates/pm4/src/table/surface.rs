// tidy: table
//! SDMA packets that know surfaces: boxes, tiles, structures, page tables. The
//! notes (`hardware/pm4.md` 1.5) list them by number; the layouts come from the
//! engines' public packet headers, GFX8 taken as GFX7, so all are marked derived.

use crate::Encoding::Sdma;
use crate::Length::{Counted, Fixed};
use crate::{
    Field, FieldDesc as F, Flag, Generations as G, Kind, Mark, PacketDesc as P, Values, sel,
};

/// A tiled surface on GFX7 and GFX8.
const TILE: &[Flag] = &[
    Flag::bits(2, 0, "ELEMENT_SIZE"),
    Flag::bits(6, 3, "ARRAY_MODE"),
    Flag::bits(10, 8, "MIT_MODE"),
    Flag::bits(13, 11, "TILESPLIT_SIZE"),
    Flag::bits(16, 15, "BANK_W"),
    Flag::bits(19, 18, "BANK_H"),
    Flag::bits(22, 21, "NUM_BANK"),
    Flag::bits(25, 24, "MAT_ASPT"),
    Flag::bits(30, 26, "PIPE_CONFIG"),
];

/// A tiled surface on GFX10.3, without levels.
const SWIZZLE: &[Flag] = &[
    Flag::bits(2, 0, "ELEMENT_SIZE"),
    Flag::bits(7, 3, "SWIZZLE_MODE"),
    Flag::bits(10, 9, "DIMENSION"),
];

/// A tiled surface on GFX10.3, with levels.
const SWIZZLE_MIP: &[Flag] = &[
    Flag::bits(2, 0, "ELEMENT_SIZE"),
    Flag::bits(7, 3, "SWIZZLE_MODE"),
    Flag::bits(10, 9, "DIMENSION"),
    Flag::bits(19, 16, "MIP_MAX"),
    Flag::bits(23, 20, "MIP_ID"),
];

/// Metadata of a compressed surface on GFX10.3.
const META: &[Flag] = &[
    Flag::bits(6, 0, "DATA_FORMAT"),
    Flag::bit(7, "COLOR_TRANSFORM_DISABLE"),
    Flag::bit(8, "ALPHA_IS_ON_MSB"),
    Flag::bits(11, 9, "NUMBER_TYPE"),
    Flag::bits(13, 12, "SURFACE_TYPE"),
    Flag::bits(25, 24, "MAX_COMP_BLOCK_SIZE"),
    Flag::bits(27, 26, "MAX_UNCOMP_BLOCK_SIZE"),
    Flag::bit(28, "WRITE_COMPRESS_ENABLE"),
    Flag::bit(31, "PIPE_ALIGNED"),
];

/// Header bit: the packet ends with three dwords of metadata.
const DCC: u32 = 1 << 19;
/// Header bit: the packet writes two tiled surfaces.
const BROADCAST: u32 = 1 << 27;

const OLD: G = G::GFX7_8;
const NEW: G = G::GFX10;
const DETILE: F = F::flag(Field::Detile, 0, 31);
const ENCRYPT: F = F::flag(Field::Encrypt, 0, 16).on(NEW);
const TMZ: F = F::flag(Field::Tmz, 0, 18).on(NEW);

const fn bytes(field: Field, dword: u8) -> F {
    F::wide(field, dword).values(Values::Address)
}

const fn dec(field: Field, dword: u8, hi: u8, lo: u8) -> F {
    F::bits(field, dword, hi, lo).values(Values::Dec)
}

const fn swap(field: Field, dword: u8, lo: u8) -> F {
    F::bits(field, dword, lo + 1, lo).named(sel::swap::NAMES)
}

const fn row(kind: Kind, sub_op: u8, dwords: u8, fields: &'static [F], generations: G) -> P {
    P::new(kind, Sdma(1, sub_op), Fixed(dwords), fields, "1.5 COPY; public packet headers")
        .on(generations)
        .mark(Mark::Derived)
}

/// The fields of a tiled window copy on GFX10.3.
const TILED_WINDOW: [F; 21] = [
    TMZ,
    DETILE,
    bytes(Field::Tiled, 1),
    dec(Field::TiledX, 3, 13, 0),
    dec(Field::TiledY, 3, 29, 16),
    dec(Field::TiledZ, 4, 12, 0),
    dec(Field::Width, 4, 29, 16),
    dec(Field::Height, 5, 13, 0),
    dec(Field::Depth, 5, 28, 16),
    F::word(Field::TileInfo, 6).flags(SWIZZLE_MIP),
    bytes(Field::Linear, 7),
    dec(Field::LinearX, 9, 13, 0),
    dec(Field::LinearY, 9, 29, 16),
    dec(Field::LinearZ, 10, 12, 0),
    dec(Field::LinearPitch, 10, 29, 16),
    dec(Field::LinearSlicePitch, 11, 27, 0),
    dec(Field::RectX, 12, 13, 0),
    dec(Field::RectY, 12, 29, 16),
    dec(Field::RectZ, 13, 12, 0),
    swap(Field::LinearSwap, 13, 16),
    swap(Field::TiledSwap, 13, 24),
];

/// The fields of a copy between tiled surfaces on GFX10.3.
const TILED_TO_TILED: [F; 23] = [
    TMZ,
    F::flag(Field::DccDirection, 0, 31),
    bytes(Field::Src, 1),
    dec(Field::SrcX, 3, 13, 0),
    dec(Field::SrcY, 3, 29, 16),
    dec(Field::SrcZ, 4, 12, 0),
    dec(Field::SrcWidth, 4, 29, 16),
    dec(Field::SrcHeight, 5, 13, 0),
    dec(Field::SrcDepth, 5, 28, 16),
    F::word(Field::SrcTileInfo, 6).flags(SWIZZLE_MIP),
    bytes(Field::Dst, 7),
    dec(Field::DstX, 9, 13, 0),
    dec(Field::DstY, 9, 29, 16),
    dec(Field::DstZ, 10, 12, 0),
    dec(Field::DstWidth, 10, 29, 16),
    dec(Field::DstHeight, 11, 13, 0),
    dec(Field::DstDepth, 11, 28, 16),
    F::word(Field::DstTileInfo, 12).flags(SWIZZLE_MIP),
    dec(Field::RectX, 13, 13, 0),
    dec(Field::RectY, 13, 29, 16),
    dec(Field::RectZ, 14, 12, 0),
    swap(Field::DstSwap, 14, 16),
    swap(Field::SrcSwap, 14, 24),
];

/// `N` fields and three dwords of metadata from `dword` on.
const fn with_meta<const N: usize, const M: usize>(fields: [F; N], dword: u8) -> [F; M] {
    let mut all = [bytes(Field::MetaAddr, dword); M];
    all[1] = F::word(Field::MetaConfig, dword + 2).flags(META);
    let mut i = 0;
    while i < N {
        all[i + 2] = fields[i];
        i += 1;
    }
    all
}

const TILED_WINDOW_META: [F; 23] = with_meta(TILED_WINDOW, 14);
const TILED_TO_TILED_META: [F; 25] = with_meta(TILED_TO_TILED, 15);

pub(super) const ROWS: &[P] = &[
    row(
        Kind::SdmaCopyTiled,
        1,
        12,
        &[
            DETILE,
            bytes(Field::Tiled, 1),
            dec(Field::PitchInTile, 3, 10, 0),
            dec(Field::Height, 3, 29, 16),
            dec(Field::SlicePitch, 4, 21, 0),
            F::word(Field::TileInfo, 5).flags(TILE),
            dec(Field::TiledX, 6, 13, 0),
            dec(Field::TiledY, 6, 29, 16),
            dec(Field::TiledZ, 7, 11, 0),
            swap(Field::LinearSwap, 7, 16),
            swap(Field::TiledSwap, 7, 24),
            bytes(Field::Linear, 8),
            dec(Field::LinearPitch, 10, 18, 0),
            dec(Field::Count, 11, 19, 0),
        ],
        OLD,
    ),
    row(
        Kind::SdmaCopyTiled,
        1,
        13,
        &[
            ENCRYPT,
            TMZ,
            DETILE,
            bytes(Field::Tiled, 1),
            dec(Field::Width, 3, 13, 0),
            dec(Field::Height, 4, 13, 0),
            dec(Field::Depth, 4, 28, 16),
            F::word(Field::TileInfo, 5).flags(SWIZZLE),
            dec(Field::TiledX, 6, 13, 0),
            dec(Field::TiledY, 6, 29, 16),
            dec(Field::TiledZ, 7, 12, 0),
            swap(Field::LinearSwap, 7, 16),
            swap(Field::TiledSwap, 7, 24),
            bytes(Field::Linear, 8),
            dec(Field::LinearPitch, 10, 18, 0),
            dec(Field::LinearSlicePitch, 11, 31, 0),
            dec(Field::Count, 12, 21, 0),
        ],
        NEW,
    ),
    row(
        Kind::SdmaCopyTiledBroadcast,
        1,
        15,
        &[
            F::flag(Field::VideoCopy, 0, 26),
            bytes(Field::Tiled, 1),
            bytes(Field::SecondTiled, 3),
            dec(Field::PitchInTile, 5, 10, 0),
            dec(Field::Height, 5, 29, 16),
            dec(Field::SlicePitch, 6, 21, 0),
            F::word(Field::TileInfo, 7).flags(TILE),
            dec(Field::TiledX, 8, 13, 0),
            dec(Field::TiledY, 8, 29, 16),
            dec(Field::TiledZ, 9, 11, 0),
            swap(Field::SecondSwap, 10, 8),
            F::flag(Field::SecondHa, 10, 14),
            swap(Field::LinearSwap, 10, 16),
            swap(Field::TiledSwap, 10, 24),
            bytes(Field::Linear, 11),
            dec(Field::LinearPitch, 13, 18, 0),
            dec(Field::Count, 14, 19, 0),
        ],
        OLD,
    )
    .fixed(BROADCAST),
    row(
        Kind::SdmaCopyTiledBroadcast,
        1,
        16,
        &[
            ENCRYPT,
            TMZ,
            F::flag(Field::VideoCopy, 0, 26),
            bytes(Field::Tiled, 1),
            bytes(Field::SecondTiled, 3),
            dec(Field::Width, 5, 13, 0),
            dec(Field::Height, 6, 13, 0),
            dec(Field::Depth, 6, 28, 16),
            F::word(Field::TileInfo, 7).flags(SWIZZLE),
            dec(Field::TiledX, 8, 13, 0),
            dec(Field::TiledY, 8, 29, 16),
            dec(Field::TiledZ, 9, 12, 0),
            swap(Field::SecondSwap, 10, 8),
            swap(Field::LinearSwap, 10, 16),
            swap(Field::TiledSwap, 10, 24),
            bytes(Field::Linear, 11),
            dec(Field::LinearPitch, 13, 18, 0),
            dec(Field::LinearSlicePitch, 14, 31, 0),
            dec(Field::Count, 15, 21, 0),
        ],
        NEW,
    )
    .fixed(BROADCAST),
    row(
        Kind::SdmaCopyStructure,
        3,
        8,
        &[
            TMZ,
            DETILE,
            bytes(Field::Structure, 1),
            dec(Field::StartIndex, 3, 31, 0),
            dec(Field::Count, 4, 31, 0),
            dec(Field::Stride, 5, 10, 0),
            // The two swaps change places between the generations.
            swap(Field::StructureSwap, 5, 16).on(OLD),
            F::flag(Field::StructureHa, 5, 22).on(OLD),
            swap(Field::LinearSwap, 5, 24).on(OLD),
            F::flag(Field::LinearHa, 5, 30).on(OLD),
            swap(Field::LinearSwap, 5, 16).on(NEW),
            swap(Field::StructureSwap, 5, 24).on(NEW),
            bytes(Field::Linear, 6),
        ],
        G::ALL,
    ),
    row(
        Kind::SdmaCopyLinearWindow,
        4,
        13,
        &[
            TMZ,
            F::bits(Field::ElementSize, 0, 31, 29),
            bytes(Field::Src, 1),
            dec(Field::SrcX, 3, 13, 0),
            dec(Field::SrcY, 3, 29, 16),
            dec(Field::SrcZ, 4, 11, 0).on(OLD),
            dec(Field::SrcPitch, 4, 29, 16).on(OLD),
            dec(Field::SrcZ, 4, 12, 0).on(NEW),
            dec(Field::SrcPitch, 4, 31, 13).on(NEW),
            dec(Field::SrcSlicePitch, 5, 27, 0),
            bytes(Field::Dst, 6),
            dec(Field::DstX, 8, 13, 0),
            dec(Field::DstY, 8, 29, 16),
            dec(Field::DstZ, 9, 11, 0).on(OLD),
            dec(Field::DstPitch, 9, 29, 16).on(OLD),
            dec(Field::DstZ, 9, 12, 0).on(NEW),
            dec(Field::DstPitch, 9, 31, 13).on(NEW),
            dec(Field::DstSlicePitch, 10, 27, 0),
            dec(Field::RectX, 11, 13, 0),
            dec(Field::RectY, 11, 29, 16),
            dec(Field::RectZ, 12, 11, 0).on(OLD),
            dec(Field::RectZ, 12, 12, 0).on(NEW),
            swap(Field::DstSwap, 12, 16),
            F::flag(Field::DstHa, 12, 22).on(OLD),
            swap(Field::SrcSwap, 12, 24),
            F::flag(Field::SrcHa, 12, 30).on(OLD),
        ],
        G::ALL,
    ),
    row(
        Kind::SdmaCopyTiledWindow,
        5,
        14,
        &[
            DETILE,
            bytes(Field::Tiled, 1),
            dec(Field::TiledX, 3, 13, 0),
            dec(Field::TiledY, 3, 29, 16),
            dec(Field::TiledZ, 4, 11, 0),
            dec(Field::PitchInTile, 4, 27, 16),
            dec(Field::SlicePitch, 5, 21, 0),
            F::word(Field::TileInfo, 6).flags(TILE),
            bytes(Field::Linear, 7),
            dec(Field::LinearX, 9, 13, 0),
            dec(Field::LinearY, 9, 29, 16),
            dec(Field::LinearZ, 10, 11, 0),
            dec(Field::LinearPitch, 10, 29, 16),
            dec(Field::LinearSlicePitch, 11, 27, 0),
            dec(Field::RectX, 12, 13, 0),
            dec(Field::RectY, 12, 29, 16),
            dec(Field::RectZ, 13, 11, 0),
            swap(Field::LinearSwap, 13, 16),
            swap(Field::TiledSwap, 13, 24),
        ],
        OLD,
    ),
    row(Kind::SdmaCopyTiledWindow, 5, 14, &TILED_WINDOW, NEW),
    row(Kind::SdmaCopyTiledWindow, 5, 17, &TILED_WINDOW_META, NEW).fixed(DCC),
    row(
        Kind::SdmaCopyTiledToTiled,
        6,
        15,
        &[
            bytes(Field::Src, 1),
            dec(Field::SrcX, 3, 13, 0),
            dec(Field::SrcY, 3, 29, 16),
            dec(Field::SrcZ, 4, 11, 0),
            dec(Field::SrcPitch, 4, 27, 16),
            dec(Field::SrcSlicePitch, 5, 21, 0),
            F::word(Field::SrcTileInfo, 6).flags(TILE),
            bytes(Field::Dst, 7),
            dec(Field::DstX, 9, 13, 0),
            dec(Field::DstY, 9, 29, 16),
            dec(Field::DstZ, 10, 11, 0),
            dec(Field::DstPitch, 10, 27, 16),
            dec(Field::DstSlicePitch, 11, 21, 0),
            F::word(Field::DstTileInfo, 12).flags(TILE),
            dec(Field::RectX, 13, 13, 0),
            dec(Field::RectY, 13, 29, 16),
            dec(Field::RectZ, 14, 11, 0),
            swap(Field::DstSwap, 14, 16),
            swap(Field::SrcSwap, 14, 24),
        ],
        OLD,
    ),
    row(Kind::SdmaCopyTiledToTiled, 6, 15, &TILED_TO_TILED, NEW),
    row(Kind::SdmaCopyTiledToTiled, 6, 18, &TILED_TO_TILED_META, NEW).fixed(DCC),
    P::new(
        Kind::SdmaWriteTiled,
        Sdma(2, 1),
        Counted { head: 9, field: Field::DwordCount },
        &[
            bytes(Field::Dst, 1),
            dec(Field::PitchInTile, 3, 10, 0),
            dec(Field::Height, 3, 29, 16),
            dec(Field::SlicePitch, 4, 21, 0),
            F::word(Field::TileInfo, 5).flags(TILE),
            dec(Field::TiledX, 6, 13, 0),
            dec(Field::TiledY, 6, 29, 16),
            dec(Field::TiledZ, 7, 11, 0),
            swap(Field::SwapMode, 7, 24),
            dec(Field::DwordCount, 8, 21, 0),
        ],
        "1.5 WRITE; public packet headers",
    )
    .on(OLD)
    .mark(Mark::Derived),
    P::new(
        Kind::SdmaWriteTiled,
        Sdma(2, 1),
        Counted { head: 9, field: Field::DwordCount },
        &[
            ENCRYPT,
            TMZ,
            bytes(Field::Dst, 1),
            dec(Field::Width, 3, 13, 0),
            dec(Field::Height, 4, 13, 0),
            dec(Field::Depth, 4, 28, 16),
            F::word(Field::TileInfo, 5).flags(SWIZZLE),
            dec(Field::TiledX, 6, 13, 0),
            dec(Field::TiledY, 6, 29, 16),
            dec(Field::TiledZ, 7, 12, 0),
            swap(Field::SwapMode, 7, 24),
            dec(Field::DwordCount, 8, 19, 0).less_one(),
        ],
        "1.5 WRITE; public packet headers",
    )
    .on(NEW)
    .mark(Mark::Derived),
    P::new(
        Kind::SdmaPtePde,
        Sdma(12, 0),
        Fixed(10),
        &[
            bytes(Field::Dst, 1),
            F::wide(Field::Mask, 3),
            F::wide(Field::Data, 5),
            F::wide(Field::Increment, 7),
            dec(Field::Count, 9, 18, 0).on(OLD),
            dec(Field::Count, 9, 18, 0).less_one().on(NEW),
        ],
        "1.5 PTEPDE; public packet headers",
    )
    .mark(Mark::Derived),
    P::new(
        Kind::SdmaPreExe,
        Sdma(15, 0),
        Fixed(2),
        &[F::bits(Field::DeviceSelect, 0, 23, 16), dec(Field::ExecCount, 1, 13, 0)],
        "1.5 PRE_EXE; public packet headers, which have it from GFX8 on",
    )
    .on(G::GFX8_10)
    .mark(Mark::Derived),
    P::new(
        Kind::SdmaGpuvmInv,
        Sdma(16, 0),
        Fixed(4),
        &[
            F::word(Field::Invalidate, 1).flags(&[
                Flag::bits(15, 0, "PER_VMID"),
                Flag::bits(18, 16, "FLUSH_TYPE"),
                Flag::bit(19, "L2_PTES"),
                Flag::bit(20, "L2_PDE0"),
                Flag::bit(21, "L2_PDE1"),
                Flag::bit(22, "L2_PDE2"),
                Flag::bit(23, "L1_PTES"),
                Flag::bit(24, "CLEAR_FAULT_STATUS"),
                Flag::bit(25, "LOG_REQUEST"),
                Flag::bit(26, "FOUR_KILOBYTES"),
            ]),
            F::flag(Field::SystemPage, 2, 0),
            F::bits(Field::PageAddr, 2, 31, 1).unit(12).upper(3, 5, 0).values(Values::Address),
        ],
        "1.5 GPUVM_INV; public packet header",
    )
    .on(NEW)
    .mark(Mark::Derived),
];
