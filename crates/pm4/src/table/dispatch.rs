// tidy: table
//! Dispatches and what prepares them.

use crate::Encoding::Type3;
use crate::Length::{Body, Fixed};
use crate::{
    Field, FieldDesc as F, Generations as G, Kind, PacketDesc as P, RegSpace, Rings, Values,
    initiator, sel,
};

/// The dispatch initiator in dword `$dword`.
macro_rules! initiator {
    ($dword:literal) => {
        [
            F::word(Field::Initiator, $dword).on(G::GFX7_8).flags(initiator::FLAGS_GFX7),
            F::word(Field::Initiator, $dword).on(G::GFX10).flags(initiator::FLAGS_GFX10),
        ]
    };
}

const INITIATOR_2: [F; 2] = initiator!(2);
const INITIATOR_3: [F; 2] = initiator!(3);
const INITIATOR_4: [F; 2] = initiator!(4);

pub(super) const ROWS: &[P] = &[
    P::new(
        Kind::DispatchDirect,
        Type3(0x15),
        Fixed(5),
        &[
            // End coordinates, not counts, while COMPUTE_START_* is in effect.
            F::count(Field::DimX, 1),
            F::count(Field::DimY, 2),
            F::count(Field::DimZ, 3),
            INITIATOR_4[0],
            INITIATOR_4[1],
        ],
        "1.4 DISPATCH_DIRECT, 3",
    ),
    P::new(
        Kind::DispatchIndirect,
        Type3(0x16),
        Fixed(3),
        &[F::bits(Field::DataOffset, 1, 31, 2).unit(2), INITIATOR_2[0], INITIATOR_2[1]],
        "1.4 DISPATCH_INDIRECT, graphics ring: offset from SET_BASE index 1",
    )
    .ring(Rings::GRAPHICS),
    P::new(
        Kind::DispatchIndirect,
        Type3(0x16),
        Fixed(4),
        &[
            // GFX7 needs 32 bytes of alignment here or reads garbage; that is the
            // device's affair, the field itself has bits [31:2].
            F::address(Field::Addr, 1, 2),
            INITIATOR_3[0],
            INITIATOR_3[1],
        ],
        "1.4 DISPATCH_INDIRECT, MEC: whole address",
    )
    .ring(Rings::COMPUTE),
    P::new(
        Kind::SetBase,
        Type3(0x11),
        Fixed(4),
        &[
            F::bits(Field::BaseIndex, 1, 3, 0)
                .on(G::GFX7)
                .named(sel::first(sel::base_index::NAMES, 4)),
            F::bits(Field::BaseIndex, 1, 3, 0).on(G::GFX8_10).named(sel::base_index::NAMES),
            F::address(Field::Addr, 2, 3).upper(3, 15, 0).on(G::GFX7_8),
            F::address(Field::Addr, 2, 3).on(G::GFX10),
        ],
        "1.4 SET_BASE; graphics ring: section 6 gives it to the PFP alone",
    )
    .ring(Rings::GRAPHICS),
    P::new(
        Kind::SetShReg,
        Type3(0x76),
        Body { head: 2, min: 1 },
        &[F::bits(Field::RegOffset, 1, 15, 0).values(Values::Register(RegSpace::Sh))],
        "1.4 SET_SH_REG",
    ),
    P::new(
        Kind::SetShRegIndex,
        Type3(0x9B),
        Body { head: 2, min: 1 },
        &[
            F::bits(Field::RegOffset, 1, 15, 0).values(Values::Register(RegSpace::Sh)),
            F::bits(Field::RegIndex, 1, 31, 28),
        ],
        "1.4 SET_SH_REG_INDEX: index 3 takes the value and the kernel's CU mask",
    ),
];
