// tidy: table
//! Fillers, registers and context state.

use crate::Encoding::{Type0, Type2, Type3};
use crate::Length::{Body, Fixed};
use crate::{
    Field, FieldDesc as F, Generations as G, Kind, Mark, PacketDesc as P, RegSpace, Rings, Values,
    sel,
};

const fn offset(space: RegSpace) -> F {
    F::bits(Field::RegOffset, 1, 15, 0).values(Values::Register(space))
}

/// On GFX7 and GFX8 the index rides in the plain packet.
const INDEX_OLD: F = F::bits(Field::RegIndex, 1, 31, 28).on(G::GFX7_8);

pub(super) const ROWS: &[P] = &[
    // Header-only (COUNT 0x3FFF): one source has it from GFX8 on, two accept it on
    // GFX7 as well; so does this table (10, item 3).
    P::new(Kind::Nop, Type3(0x10), Body { head: 1, min: 0 }, &[], "1.1"),
    P::new(
        Kind::Filler,
        Type2,
        Fixed(1),
        &[F::bits(Field::Pad, 0, 29, 0)],
        "1.1 type-2 filler: bits [29:0] are ignored",
    ),
    P::new(
        Kind::Type0,
        Type0,
        Body { head: 1, min: 1 },
        &[F::bits(Field::RegOffset, 0, 15, 0).values(Values::Register(RegSpace::Absolute))],
        "1.1 type-0 header",
    ),
    P::new(
        Kind::ClearState,
        Type3(0x12),
        Fixed(2),
        &[F::bits(Field::Command, 1, 3, 0).named(sel::clear_command::NAMES).mark(Mark::Derived)],
        "1.3; field from a public packet header",
    )
    .ring(Rings::GRAPHICS),
    P::new(
        Kind::ContextControl,
        Type3(0x28),
        Fixed(3),
        &[F::word(Field::LoadControl, 1), F::word(Field::ShadowControl, 2)],
        "1.3; dword names from public headers",
    )
    .ring(Rings::GRAPHICS)
    .mark(Mark::Derived),
    P::new(
        Kind::SetConfigReg,
        Type3(0x68),
        Body { head: 2, min: 1 },
        &[offset(RegSpace::Config)],
        "1.4 SET_CONFIG_REG; privileged from GFX7 on",
    ),
    P::new(
        Kind::SetContextReg,
        Type3(0x69),
        Body { head: 2, min: 1 },
        &[offset(RegSpace::Context), INDEX_OLD],
        "1.4 SET_CONTEXT_REG; compute rings have no context",
    )
    .ring(Rings::GRAPHICS),
    P::new(
        Kind::SetUconfigReg,
        Type3(0x79),
        Body { head: 2, min: 1 },
        &[offset(RegSpace::Uconfig), INDEX_OLD],
        "1.4 SET_UCONFIG_REG",
    ),
    P::new(
        Kind::SetUconfigRegIndex,
        Type3(0x7A),
        Body { head: 2, min: 1 },
        &[offset(RegSpace::Uconfig), F::bits(Field::RegIndex, 1, 31, 28)],
        "1.4 SET_UCONFIG_REG_INDEX: 0 plain, 2 INDEX_TYPE, 3 NUM_INSTANCES",
    )
    .on(G::GFX10),
];
