// tidy: table
//! Packets of the DMA engines: OSS 2.0 on GFX7, OSS 3.0 on GFX8, SDMA 5.2 on
//! GFX10.3 (`hardware/pm4.md` 1.5). Layouts that the notes name by number only
//! come from the engines' public packet headers and are marked derived.

use crate::Encoding::Sdma;
use crate::Length::{Counted, Fixed};
use crate::{
    Field, FieldDesc as F, Generations as G, Kind, Mark, PacketDesc as P, Values, atomic, function,
    gcr, sel,
};

const fn bytes(field: Field, dword: u8) -> F {
    F::wide(field, dword).values(Values::Address)
}

const DST_SWAP: F = F::bits(Field::DstSwap, 2, 17, 16).named(sel::swap::NAMES);
const SRC_SWAP: F = F::bits(Field::SrcSwap, 2, 25, 24).named(sel::swap::NAMES);
const DST_HA: F = F::flag(Field::DstHa, 2, 22).on(G::GFX7_8);
const SRC_HA: F = F::flag(Field::SrcHa, 2, 30).on(G::GFX7_8);
const ENCRYPT: F = F::flag(Field::Encrypt, 0, 16).on(G::GFX10).mark(Mark::Derived);
const TMZ: F = F::flag(Field::Tmz, 0, 18).on(G::GFX10).mark(Mark::Derived);
/// The bytes of a copy: stored less one from GFX9 on; 30 bits on GFX10.3 by one
/// source.
const COPY_BYTES: [F; 2] = [
    F::bits(Field::ByteCount, 1, 21, 0).values(Values::Dec).on(G::GFX7_8),
    F::bits(Field::ByteCount, 1, 29, 0)
        .values(Values::Dec)
        .less_one()
        .on(G::GFX10)
        .mark(Mark::Derived),
];
/// Header bit that makes a copy write two places.
const BROADCAST: u32 = 1 << 27;

/// Cache attributes of a fence on GFX10.
const MTYPE: F = F::bits(Field::Mtype, 0, 18, 16).on(G::GFX10).mark(Mark::Derived);
const GCC: F = F::flag(Field::Gcc, 0, 19).on(G::GFX10).mark(Mark::Derived);
const SYS: F = F::flag(Field::Sys, 0, 20).on(G::GFX10).mark(Mark::Derived);
const SNP: F = F::flag(Field::Snoop, 0, 22).on(G::GFX10).mark(Mark::Derived);
const GPA: F = F::flag(Field::Gpa, 0, 23).on(G::GFX10).mark(Mark::Derived);
const L2_POLICY: F = F::bits(Field::L2Policy, 0, 25, 24).on(G::GFX10).mark(Mark::Derived);

pub(super) const ROWS: &[P] = &[
    P::new(
        Kind::SdmaNop,
        Sdma(0, 0),
        Counted { head: 1, field: Field::DwordCount },
        &[F::bits(Field::DwordCount, 0, 29, 16).values(Values::Dec)],
        "1.5 NOP: count of dwords to skip",
    ),
    P::new(
        Kind::SdmaCopyLinear,
        Sdma(1, 0),
        Fixed(7),
        &[
            ENCRYPT,
            TMZ,
            F::flag(Field::Backwards, 0, 25).on(G::GFX10).mark(Mark::Derived),
            COPY_BYTES[0],
            COPY_BYTES[1],
            DST_SWAP,
            DST_HA,
            SRC_SWAP,
            SRC_HA,
            bytes(Field::Src, 3),
            bytes(Field::Dst, 5),
        ],
        "1.5 COPY linear",
    ),
    P::new(
        Kind::SdmaCopyBroadcast,
        Sdma(1, 0),
        Fixed(9),
        &[
            ENCRYPT,
            TMZ,
            COPY_BYTES[0],
            COPY_BYTES[1],
            F::bits(Field::SecondSwap, 2, 9, 8).named(sel::swap::NAMES),
            F::flag(Field::SecondHa, 2, 14).on(G::GFX7_8),
            DST_SWAP,
            DST_HA,
            SRC_SWAP,
            SRC_HA,
            bytes(Field::Src, 3),
            bytes(Field::Dst, 5),
            bytes(Field::SecondDst, 7),
        ],
        "1.5 COPY linear with broadcast",
    )
    .fixed(BROADCAST)
    .mark(Mark::Derived),
    P::new(
        Kind::SdmaWriteLinear,
        Sdma(2, 0),
        Counted { head: 4, field: Field::DwordCount },
        &[
            ENCRYPT,
            TMZ,
            F::address(Field::Dst, 1, 2),
            F::bits(Field::DwordCount, 3, 21, 0).values(Values::Dec).on(G::GFX7_8),
            F::bits(Field::DwordCount, 3, 19, 0).values(Values::Dec).less_one().on(G::GFX10),
            F::bits(Field::SwapMode, 3, 25, 24).named(sel::swap::NAMES).mark(Mark::Derived),
        ],
        "1.5 WRITE linear: dwords, stored less one on GFX10",
    ),
    P::new(
        Kind::SdmaIndirect,
        Sdma(4, 0),
        Fixed(4),
        &[
            F::bits(Field::Vmid, 0, 19, 16).values(Values::Dec),
            F::address(Field::Addr, 1, 5),
            F::bits(Field::IbSize, 3, 19, 0).values(Values::Dec),
        ],
        "1.5 INDIRECT",
    )
    .on(G::GFX7),
    P::new(
        Kind::SdmaIndirect,
        Sdma(4, 0),
        Fixed(6),
        &[
            F::bits(Field::Vmid, 0, 19, 16).values(Values::Dec),
            F::flag(Field::Privileged, 0, 31).on(G::GFX10),
            F::address(Field::Addr, 1, 5),
            F::bits(Field::IbSize, 3, 19, 0).values(Values::Dec),
            bytes(Field::CsaAddr, 4),
        ],
        "1.5 INDIRECT with a context save area; GFX8 by its public header",
    )
    .on(G::GFX8_10),
    P::new(
        Kind::SdmaFence,
        Sdma(5, 0),
        Fixed(4),
        &[
            MTYPE,
            GCC,
            SYS,
            SNP,
            GPA,
            L2_POLICY,
            F::address(Field::Addr, 1, 2),
            F::word(Field::Data, 3),
        ],
        "1.5 FENCE",
    ),
    // The API writes 64 bits from a DMA list in one call. Drivers send two 32-bit
    // fences, which a 64-bit wait could see half done; sub-operation 0x80 is in no
    // public table.
    P::new(
        Kind::SdmaFence64,
        Sdma(5, 0x80),
        Fixed(5),
        &[F::address(Field::Addr, 1, 3), F::wide(Field::Data, 3)],
        "our own: no public 64-bit fence exists",
    )
    .mark(Mark::Assumed),
    P::new(Kind::SdmaTrap, Sdma(6, 0), Fixed(1), &[], "1.5 TRAP").on(G::GFX7),
    P::new(
        Kind::SdmaTrap,
        Sdma(6, 0),
        Fixed(2),
        &[F::bits(Field::InterruptContext, 1, 27, 0)],
        "1.5 TRAP; GFX8 by its public header",
    )
    .on(G::GFX8_10),
    P::new(
        Kind::SdmaSemaphore,
        Sdma(7, 0),
        Fixed(3),
        &[
            F::flag(Field::WriteOne, 0, 29),
            F::flag(Field::Signal, 0, 30),
            F::flag(Field::Mailbox, 0, 31),
            bytes(Field::Addr, 1),
        ],
        "1.5 SEM; fields from public headers",
    )
    .mark(Mark::Derived),
    P::new(
        Kind::SdmaPollRegMem,
        Sdma(8, 0),
        Fixed(6),
        &[
            // One header has a flush bit at 26, another a two-bit operation.
            F::bits(Field::Operation, 0, 27, 26).on(G::GFX7).mark(Mark::Derived),
            F::flag(Field::HdpFlush, 0, 26).on(G::GFX8_10),
            F::bits(Field::Function, 0, 30, 28).named(function::NAMES),
            F::flag(Field::MemPoll, 0, 31),
            F::address(Field::Addr, 1, 2),
            F::word(Field::Reference, 3),
            F::word(Field::Mask, 4),
            F::bits(Field::PollInterval, 5, 15, 0).values(Values::Dec),
            F::bits(Field::RetryCount, 5, 27, 16),
        ],
        "1.5 POLL_REGMEM: interval in 16 clocks, retry 0xFFF for ever",
    ),
    // As for the 64-bit fence: the call exists, no public packet does.
    P::new(
        Kind::SdmaPollMem64,
        Sdma(8, 0x80),
        Fixed(8),
        &[
            F::bits(Field::Function, 0, 30, 28).named(function::NAMES),
            F::address(Field::Addr, 1, 3),
            F::wide(Field::Reference, 3),
            F::wide(Field::Mask, 5),
            F::bits(Field::PollInterval, 7, 15, 0).values(Values::Dec),
            F::bits(Field::RetryCount, 7, 27, 16),
        ],
        "our own: no public 64-bit poll exists",
    )
    .mark(Mark::Assumed),
    P::new(
        Kind::SdmaCondExe,
        Sdma(9, 0),
        Fixed(4),
        &[F::address(Field::Addr, 1, 2), F::bits(Field::ExecCount, 3, 13, 0).values(Values::Dec)],
        "1.5 COND_EXE; fields from public headers",
    )
    .on(G::GFX7)
    .mark(Mark::Derived),
    P::new(
        Kind::SdmaCondExe,
        Sdma(9, 0),
        Fixed(5),
        &[
            F::address(Field::Addr, 1, 2),
            F::word(Field::Reference, 3),
            F::bits(Field::ExecCount, 4, 13, 0).values(Values::Dec),
        ],
        "1.5 COND_EXE; fields from public headers",
    )
    .on(G::GFX8_10)
    .mark(Mark::Derived),
    P::new(
        Kind::SdmaAtomic,
        Sdma(10, 0),
        Fixed(8),
        &[
            F::flag(Field::Loop, 0, 16),
            TMZ,
            F::bits(Field::AtomicOp, 0, 31, 25).named(atomic::NAMES),
            F::address(Field::Addr, 1, 2),
            F::wide(Field::Data, 3),
            F::wide(Field::Compare, 5),
            F::bits(Field::LoopInterval, 7, 12, 0).values(Values::Dec),
        ],
        "1.5 ATOMIC; fields from public headers",
    )
    .mark(Mark::Derived),
    P::new(
        Kind::SdmaConstantFill,
        Sdma(11, 0),
        Fixed(5),
        &[
            F::bits(Field::SwapMode, 0, 17, 16).named(sel::swap::NAMES),
            F::bits(Field::FillSize, 0, 31, 30).named(sel::fill_size::NAMES),
            bytes(Field::Dst, 1),
            F::word(Field::Data, 3),
            // A dword fill ignores the low two bits of the count.
            F::bits(Field::ByteCount, 4, 21, 0).values(Values::Dec).on(G::GFX7_8),
            F::bits(Field::ByteCount, 4, 21, 0).values(Values::Dec).less_one().on(G::GFX10),
        ],
        "1.5 CONSTANT_FILL: bytes, stored less one from GFX9 on",
    ),
    P::new(
        Kind::SdmaTimestampSet,
        Sdma(13, 0),
        Fixed(3),
        &[F::wide(Field::Data, 1)],
        "1.5 TIMESTAMP SET",
    ),
    P::new(
        Kind::SdmaTimestampGet,
        Sdma(13, 1),
        Fixed(3),
        &[F::address(Field::Addr, 1, 3)],
        "1.5 TIMESTAMP GET local",
    ),
    P::new(
        Kind::SdmaTimestamp,
        Sdma(13, 2),
        Fixed(3),
        // GFX7 and GFX8 write 0 unless the address is a multiple of 32: the
        // device's affair, the field itself has bits [31:3].
        &[F::address(Field::Addr, 1, 3)],
        "1.5 TIMESTAMP GET global",
    ),
    P::new(
        Kind::SdmaSrbmWrite,
        Sdma(14, 0),
        Fixed(3),
        &[
            F::bits(Field::ByteEnable, 0, 31, 28),
            F::bits(Field::Reg, 1, 15, 0).on(G::GFX7_8),
            F::bits(Field::Reg, 1, 17, 0).on(G::GFX10),
            F::bits(Field::Aperture, 1, 31, 20).on(G::GFX10),
            F::word(Field::Data, 2),
        ],
        "1.5 SRBM_WRITE; fields from public headers",
    )
    .mark(Mark::Derived),
    P::new(
        Kind::SdmaGcrReq,
        Sdma(17, 0),
        Fixed(5),
        &[
            F::bits(Field::Addr, 1, 31, 7).unit(7).upper(2, 15, 0).values(Values::Address),
            F::bits(Field::Gcr, 2, 31, 16).upper(3, 2, 0).flags(gcr::FLAGS),
            F::bits(Field::Limit, 3, 31, 7).unit(7).upper(4, 15, 0).values(Values::Address),
            F::bits(Field::Vmid, 4, 27, 24).values(Values::Dec),
        ],
        "1.5 GCR_REQ: 128-byte granularity",
    )
    .on(G::GFX10)
    .mark(Mark::Derived),
    P::new(
        Kind::SdmaDummyTrap,
        Sdma(32, 0),
        Fixed(2),
        &[F::bits(Field::InterruptContext, 1, 27, 0)],
        "1.5 DUMMY_TRAP; field from a public header",
    )
    .on(G::GFX10)
    .mark(Mark::Derived),
];
