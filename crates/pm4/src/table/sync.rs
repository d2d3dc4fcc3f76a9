// tidy: table
//! Waits, events, end-of-pipe writes and cache actions.

use crate::Encoding::Type3;
use crate::Length::{Body, Fixed};
use crate::{
    Field, FieldDesc as F, Generations as G, Kind, Mark, PacketDesc as P, RegSpace, Rings, Values,
    coher, data_sel, events, function, gcr, int_sel, sel,
};

const POLICY: [F; 2] = [
    F::bits(Field::CachePolicy, 1, 26, 25).on(G::GFX7_8).named(sel::cache_policy::NAMES),
    F::bits(Field::CachePolicy, 1, 26, 25).on(G::GFX10).named(sel::cache_policy_gfx10::NAMES),
];
const EVENT: [F; 2] = [
    F::bits(Field::EventType, 1, 5, 0).on(G::GFX7_8).named(events::NAMES_GFX7),
    F::bits(Field::EventType, 1, 5, 0).on(G::GFX10).named(events::NAMES_GFX10),
];
const EVENT_INDEX: F = F::bits(Field::EventIndex, 1, 11, 8).named(events::index::NAMES);

/// DATA_SEL values that write 64 bits and so need 8-byte alignment.
const WIDE: &[u32] =
    &[data_sel::DATA_64 as u32, data_sel::GPU_CLOCK as u32, data_sel::SYSTEM_CLOCK as u32];
const GDS: &[u32] = &[data_sel::GDS as u32];

const COHER_7: F = F::bits(Field::Coher, 1, 30, 0).on(G::GFX7).flags(coher::FLAGS_GFX7);
const COHER_8: F = F::bits(Field::Coher, 1, 30, 0).on(G::GFX8).flags(coher::FLAGS_GFX8);
const COHER_10: F =
    F::bits(Field::Coher, 1, 30, 0).on(G::GFX10).ring(Rings::GRAPHICS).flags(coher::FLAGS_GFX10);
const ACQUIRE_ENGINE: F = F::bits(Field::Engine, 1, 31, 31).named(sel::acquire_engine::NAMES);

/// The cache actions of an end-of-pipe event on GFX7 and GFX8.
const EOP_TCL1_VOL: F = F::flag(Field::Tcl1VolAction, 1, 12);
const EOP_TC_VOL: F = F::flag(Field::TcVolAction, 1, 13);
const EOP_TC_WB: F = F::flag(Field::TcWbAction, 1, 15);
const EOP_TCL1: F = F::flag(Field::Tcl1Action, 1, 16);
const EOP_TC: F = F::flag(Field::TcAction, 1, 17);

const SPACE: [F; 2] = [
    F::bits(Field::MemSpace, 1, 5, 4).on(G::GFX7_8).named(sel::mem_space::NAMES),
    F::bits(Field::MemSpace, 1, 5, 4).on(G::GFX10).named(sel::first(sel::mem_space::NAMES, 2)),
];
const OPERATION: [F; 2] = [
    F::bits(Field::Operation, 1, 7, 6)
        .on(G::GFX7_8)
        .named(sel::first(sel::wait_operation::NAMES, 2)),
    F::bits(Field::Operation, 1, 7, 6).on(G::GFX10).named(sel::wait_operation::NAMES),
];

const POLL_INTERVAL: F = F::bits(Field::PollInterval, 6, 15, 0).values(Values::Dec);

pub(super) const ROWS: &[P] = &[
    P::new(
        Kind::WaitRegMem,
        Type3(0x3C),
        Fixed(7),
        &[
            F::bits(Field::Function, 1, 2, 0).named(function::NAMES),
            SPACE[0],
            SPACE[1],
            OPERATION[0],
            OPERATION[1],
            F::bits(Field::Engine, 1, 9, 8).on(G::GFX7_8).named(sel::engine::NAMES),
            F::bits(Field::Engine, 1, 9, 8)
                .on(G::GFX10)
                .ring(Rings::GRAPHICS)
                .named(sel::engine::NAMES),
            F::flag(Field::Uncached, 1, 10).on(G::GFX8).ring(Rings::COMPUTE),
            F::flag(Field::Atc, 1, 24).on(G::GFX7_8),
            F::bits(Field::MesPipe, 1, 23, 22).on(G::GFX10),
            F::flag(Field::MesAction, 1, 24).on(G::GFX10),
            POLICY[0],
            POLICY[1],
            F::flag(Field::Volatile, 1, 27).on(G::GFX7_8),
            F::word(Field::Reg, 2)
                .on(G::GFX7_8)
                .values(Values::Register(RegSpace::Absolute))
                .when(Field::MemSpace, &[0]),
            F::bits(Field::Reg, 2, 17, 0)
                .on(G::GFX10)
                .values(Values::Register(RegSpace::Absolute))
                .when(Field::MemSpace, &[0]),
            // Written before and after the wait by operation 1.
            F::bits(Field::SecondReg, 3, 17, 0)
                .values(Values::Register(RegSpace::Absolute))
                .when(Field::MemSpace, &[0]),
            F::address(Field::Addr, 2, 2).unless(Field::MemSpace, &[0]),
            F::word(Field::Reference, 4),
            F::word(Field::Mask, 5),
            POLL_INTERVAL,
            F::flag(Field::Offload, 6, 31).on(G::GFX10).ring(Rings::COMPUTE),
        ],
        "5 WAIT_REG_MEM",
    ),
    P::new(
        Kind::WaitRegMem64,
        Type3(0x93),
        Fixed(9),
        &[
            F::bits(Field::Function, 1, 2, 0).named(function::NAMES),
            SPACE[1],
            OPERATION[1],
            F::bits(Field::Engine, 1, 9, 8).ring(Rings::GRAPHICS).named(sel::engine::NAMES),
            POLICY[1],
            F::bits(Field::Reg, 2, 17, 0)
                .values(Values::Register(RegSpace::Absolute))
                .when(Field::MemSpace, &[0]),
            F::address(Field::Addr, 2, 3).unless(Field::MemSpace, &[0]),
            F::wide(Field::Reference, 4),
            F::wide(Field::Mask, 6),
            F::bits(Field::PollInterval, 8, 15, 0).values(Values::Dec),
            F::flag(Field::Offload, 8, 31).ring(Rings::COMPUTE),
        ],
        "5 WAIT_REG_MEM64",
    )
    .on(G::GFX10),
    // The API has a 64-bit wait on every console, but no public list of GFX7 or
    // GFX8 opcodes has a packet for it. We take the GFX9 number and layout.
    P::new(
        Kind::WaitRegMem64,
        Type3(0x93),
        Fixed(9),
        &[
            F::bits(Field::Function, 1, 2, 0).named(function::NAMES),
            SPACE[0],
            F::bits(Field::Engine, 1, 9, 8).named(sel::engine::NAMES),
            F::address(Field::Addr, 2, 3).unless(Field::MemSpace, &[0]),
            F::wide(Field::Reference, 4),
            F::wide(Field::Mask, 6),
            F::bits(Field::PollInterval, 8, 15, 0).values(Values::Dec),
        ],
        "our own on GFX7 and GFX8: the call exists, no public packet does (5, 10 item 1)",
    )
    .on(G::GFX7_8)
    .mark(Mark::Assumed),
    P::new(
        Kind::WaitForWriteConfirm,
        Type3(0x92),
        Body { head: 1, min: 0 },
        &[],
        "1.3: one source has the number, none the layout; the body stays raw",
    )
    .on(G::GFX10)
    .mark(Mark::Derived),
    P::new(
        Kind::PfpSyncMe,
        Type3(0x42),
        Fixed(2),
        &[F::word(Field::Dummy, 1)],
        "1.4 PFP_SYNC_ME: it would hang a compute ring",
    )
    .ring(Rings::GRAPHICS),
    P::new(
        Kind::Rewind,
        Type3(0x59),
        Fixed(2),
        &[F::flag(Field::Offload, 1, 24).ring(Rings::COMPUTE), F::flag(Field::Valid, 1, 31)],
        "1.4 REWIND: compute rings on GFX7, every ring later",
    )
    .on(G::GFX8_10),
    P::new(
        Kind::Rewind,
        Type3(0x59),
        Fixed(2),
        &[F::flag(Field::Offload, 1, 24), F::flag(Field::Valid, 1, 31)],
        "1.4 REWIND: compute rings on GFX7, every ring later",
    )
    .ring(Rings::COMPUTE)
    .on(G::GFX7),
    P::new(
        Kind::EventWrite,
        Type3(0x46),
        Fixed(2),
        &[
            EVENT[0],
            EVENT[1],
            EVENT_INDEX,
            F::flag(Field::Atc, 1, 24).on(G::GFX7),
            F::flag(Field::Offload, 1, 31).ring(Rings::COMPUTE),
        ],
        "4.1 EVENT_WRITE",
    ),
    P::new(
        Kind::EventWrite,
        Type3(0x46),
        Fixed(4),
        &[
            EVENT[0],
            EVENT[1],
            EVENT_INDEX,
            F::flag(Field::Atc, 1, 24).on(G::GFX7),
            F::flag(Field::Offload, 1, 31).ring(Rings::COMPUTE),
            F::address(Field::Addr, 2, 3),
        ],
        "4.1 EVENT_WRITE with an address: ZPASS_DONE, SAMPLE_*, PIXEL_PIPE_STAT_*",
    ),
    P::new(
        Kind::EventWriteEop,
        Type3(0x47),
        Fixed(6),
        &[
            EVENT[0],
            EVENT_INDEX,
            EOP_TCL1_VOL,
            EOP_TC_VOL,
            EOP_TC_WB,
            EOP_TCL1,
            EOP_TC,
            // ATC by one source, TCL2_VOLATILE by another (10, item 6).
            F::flag(Field::Atc, 1, 24).mark(Mark::Derived),
            POLICY[0],
            F::flag(Field::Volatile, 1, 27).mark(Mark::Derived),
            F::flag(Field::Execute, 1, 28).mark(Mark::Derived),
            F::address(Field::Addr, 2, 2).upper(3, 15, 0).unless(Field::DataSel, WIDE),
            F::address(Field::Addr, 2, 3).upper(3, 15, 0).when(Field::DataSel, WIDE),
            F::bits(Field::DstSel, 3, 17, 16).named(sel::event_dst::NAMES),
            // Two bits by the kernel's header, three in a driver's dump.
            F::bits(Field::IntSel, 3, 26, 24).named(int_sel::NAMES_GFX7),
            F::bits(Field::DataSel, 3, 31, 29).named(data_sel::NAMES_GFX7),
            F::wide(Field::Data, 4).unless(Field::DataSel, GDS),
            F::bits(Field::GdsOffset, 4, 15, 0).when(Field::DataSel, GDS),
            F::bits(Field::GdsSize, 4, 31, 16).when(Field::DataSel, GDS),
        ],
        "4.2 EVENT_WRITE_EOP",
    )
    .ring(Rings::GRAPHICS)
    .on(G::GFX7_8),
    P::new(
        Kind::EventWriteEos,
        Type3(0x48),
        Fixed(5),
        &[
            EVENT[0],
            EVENT_INDEX,
            F::address(Field::Addr, 2, 2).upper(3, 15, 0),
            F::bits(Field::Command, 3, 31, 29).named(sel::eos_command::NAMES),
            F::word(Field::Data, 4).unless(Field::Command, &[1]),
            F::bits(Field::GdsOffset, 4, 15, 0).when(Field::Command, &[1]),
            F::bits(Field::GdsSize, 4, 31, 16).when(Field::Command, &[1]),
        ],
        "4.3 EVENT_WRITE_EOS",
    )
    .ring(Rings::GRAPHICS)
    .on(G::GFX7_8),
    P::new(
        Kind::ReleaseMem,
        Type3(0x49),
        Fixed(7),
        &[
            EVENT[0],
            EVENT_INDEX,
            EOP_TCL1_VOL,
            EOP_TC_VOL,
            EOP_TC_WB,
            EOP_TCL1,
            EOP_TC,
            POLICY[0],
            F::flag(Field::Volatile, 1, 27),
            F::bits(Field::DstSel, 2, 17, 16).named(sel::event_dst::NAMES),
            F::bits(Field::IntSel, 2, 26, 24).named(int_sel::NAMES_GFX7),
            F::bits(Field::DataSel, 2, 31, 29).named(data_sel::NAMES_GFX7),
            F::address(Field::Addr, 3, 2).unless(Field::DataSel, WIDE),
            F::address(Field::Addr, 3, 3).when(Field::DataSel, WIDE),
            F::wide(Field::Data, 5).unless(Field::DataSel, GDS),
            F::bits(Field::GdsOffset, 5, 15, 0).when(Field::DataSel, GDS),
            F::bits(Field::GdsSize, 5, 31, 16).when(Field::DataSel, GDS),
        ],
        "4.4 RELEASE_MEM: compute rings alone on GFX7 and GFX8",
    )
    .ring(Rings::COMPUTE)
    .on(G::GFX7_8),
    P::new(
        Kind::ReleaseMem,
        Type3(0x49),
        Fixed(8),
        &[
            EVENT[1],
            F::flag(Field::WaitDma, 1, 7).ring(Rings::GRAPHICS),
            EVENT_INDEX,
            F::bits(Field::Gcr, 1, 23, 12).flags(gcr::release::FLAGS),
            POLICY[1],
            F::flag(Field::Execute, 1, 28).ring(Rings::GRAPHICS),
            F::flag(Field::PqExeStatus, 1, 28).ring(Rings::COMPUTE),
            F::bits(Field::DstSel, 2, 17, 16).named(sel::event_dst::NAMES),
            F::bits(Field::MesPipe, 2, 21, 20),
            F::bits(Field::MesAction, 2, 23, 22),
            F::bits(Field::IntSel, 2, 26, 24).named(int_sel::NAMES_GFX10),
            F::bits(Field::DataSel, 2, 31, 29).ring(Rings::GRAPHICS).named(data_sel::NAMES_GFX10),
            F::bits(Field::DataSel, 2, 31, 29)
                .ring(Rings::COMPUTE)
                .named(data_sel::NAMES_GFX10_COMPUTE),
            F::address(Field::Addr, 3, 2).unless(Field::DataSel, WIDE),
            F::address(Field::Addr, 3, 3).when(Field::DataSel, WIDE),
            F::wide(Field::Data, 5).unless(Field::DataSel, GDS),
            F::bits(Field::GdsOffset, 5, 15, 0).when(Field::DataSel, GDS),
            F::bits(Field::GdsSize, 5, 31, 16).when(Field::DataSel, GDS),
            F::bits(Field::InterruptContext, 7, 27, 0).ring(Rings::GRAPHICS),
            F::word(Field::InterruptContext, 7).ring(Rings::COMPUTE),
        ],
        "4.4 RELEASE_MEM",
    )
    .on(G::GFX10),
    P::new(
        Kind::SurfaceSync,
        Type3(0x43),
        Fixed(5),
        &[
            COHER_7,
            COHER_8,
            ACQUIRE_ENGINE,
            F::word(Field::CoherSize, 2).unit(8),
            F::word(Field::CoherBase, 3).unit(8).values(Values::Address),
            F::bits(Field::PollInterval, 4, 15, 0).values(Values::Dec),
        ],
        "2.2 SURFACE_SYNC",
    )
    .ring(Rings::GRAPHICS)
    .on(G::GFX7_8),
    P::new(
        Kind::AcquireMem,
        Type3(0x58),
        Fixed(7),
        &[
            COHER_7,
            COHER_8,
            ACQUIRE_ENGINE,
            F::word(Field::CoherSize, 2).unit(8).upper(3, 7, 0),
            F::word(Field::CoherBase, 4).unit(8).upper(5, 23, 0).values(Values::Address),
            POLL_INTERVAL,
        ],
        "2.2 ACQUIRE_MEM: compute rings need it, the graphics ring has SURFACE_SYNC too",
    )
    .on(G::GFX7_8),
    P::new(
        Kind::AcquireMem,
        Type3(0x58),
        Fixed(8),
        &[
            COHER_10,
            ACQUIRE_ENGINE.ring(Rings::GRAPHICS),
            // Bits [7:0] by the packet's sources; one driver writes 0xFFFFFF.
            F::word(Field::CoherSize, 2).unit(8).upper(3, 23, 0),
            F::word(Field::CoherBase, 4).unit(8).upper(5, 23, 0).values(Values::Address),
            POLL_INTERVAL,
            F::bits(Field::Gcr, 7, 18, 0).flags(gcr::FLAGS),
        ],
        "2.2 ACQUIRE_MEM; dword 1 is reserved on compute rings",
    )
    .on(G::GFX10),
];
