//! `hardware/pm4.md` 1.3 and 1.5 transcribed by hand, against the table.

use wavefence_pm4::table::layouts;
use wavefence_pm4::{Encoding, Generation, Kind, Length, Ring};

const G7: &[Generation] = &[Generation::Gfx7];
const G78: &[Generation] = &[Generation::Gfx7, Generation::Gfx8];
const G810: &[Generation] = &[Generation::Gfx8, Generation::Gfx10_3];
const G10: &[Generation] = &[Generation::Gfx10_3];
const ALL: &[Generation] = &Generation::ALL;
const GFX: &[Ring] = &[Ring::Graphics];
const MEC: &[Ring] = &[Ring::Compute];
const BOTH: &[Ring] = &[Ring::Graphics, Ring::Compute];

/// Kind, opcode, generations, rings, lengths in dwords; `n` lengths as (least,).
type Row = (Kind, u8, &'static [Generation], &'static [Ring], &'static [Len]);

#[derive(Clone, Copy, Debug, PartialEq)]
enum Len {
    /// Exactly.
    Is(usize),
    /// Or more.
    From(usize),
}
use Len::{From, Is};

const PM4: &[Row] = &[
    (Kind::Nop, 0x10, ALL, BOTH, &[From(1)]),
    (Kind::SetBase, 0x11, ALL, GFX, &[Is(4)]),
    (Kind::ClearState, 0x12, ALL, GFX, &[Is(2)]),
    (Kind::IndexBufferSize, 0x13, ALL, GFX, &[Is(2)]),
    (Kind::DispatchDirect, 0x15, ALL, BOTH, &[Is(5)]),
    (Kind::DispatchIndirect, 0x16, ALL, GFX, &[Is(3)]),
    (Kind::DispatchIndirect, 0x16, ALL, MEC, &[Is(4)]),
    (Kind::AtomicMem, 0x1E, ALL, BOTH, &[Is(9)]),
    (Kind::SetPredication, 0x20, G78, GFX, &[Is(3)]),
    (Kind::SetPredication, 0x20, G10, GFX, &[Is(4)]),
    (Kind::CondExec, 0x22, G7, BOTH, &[Is(5), Is(4)]),
    (Kind::CondExec, 0x22, G810, BOTH, &[Is(5)]),
    (Kind::DrawIndirect, 0x24, ALL, GFX, &[Is(5)]),
    (Kind::DrawIndexIndirect, 0x25, ALL, GFX, &[Is(5)]),
    (Kind::IndexBase, 0x26, ALL, GFX, &[Is(3)]),
    (Kind::DrawIndex2, 0x27, ALL, GFX, &[Is(6)]),
    (Kind::ContextControl, 0x28, ALL, GFX, &[Is(3)]),
    (Kind::IndexType, 0x2A, G78, GFX, &[Is(2)]),
    (Kind::DrawIndirectMulti, 0x2C, G7, GFX, &[Is(10), Is(7)]),
    (Kind::DrawIndirectMulti, 0x2C, G810, GFX, &[Is(10)]),
    (Kind::DrawIndexAuto, 0x2D, ALL, GFX, &[Is(3)]),
    (Kind::NumInstances, 0x2F, ALL, GFX, &[Is(2)]),
    (Kind::IndirectBufferConst, 0x33, ALL, GFX, &[Is(4)]),
    (Kind::DrawIndexOffset2, 0x35, ALL, GFX, &[Is(5)]),
    (Kind::WriteData, 0x37, ALL, BOTH, &[From(5)]),
    (Kind::DrawIndexIndirectMulti, 0x38, G7, GFX, &[Is(10), Is(7)]),
    (Kind::DrawIndexIndirectMulti, 0x38, G810, GFX, &[Is(10)]),
    (Kind::WaitRegMem, 0x3C, ALL, BOTH, &[Is(7)]),
    (Kind::IndirectBuffer, 0x3F, ALL, BOTH, &[Is(4)]),
    (Kind::CondIndirectBuffer, 0x3F, ALL, BOTH, &[Is(14)]),
    (Kind::CopyData, 0x40, ALL, BOTH, &[Is(6)]),
    (Kind::CpDma, 0x41, &[], &[], &[]),
    (Kind::PfpSyncMe, 0x42, ALL, GFX, &[Is(2)]),
    (Kind::SurfaceSync, 0x43, G78, GFX, &[Is(5)]),
    (Kind::EventWrite, 0x46, ALL, BOTH, &[Is(2), Is(4)]),
    (Kind::EventWriteEop, 0x47, G78, GFX, &[Is(6)]),
    (Kind::EventWriteEos, 0x48, G78, GFX, &[Is(5)]),
    (Kind::ReleaseMem, 0x49, G78, MEC, &[Is(7)]),
    (Kind::ReleaseMem, 0x49, G10, BOTH, &[Is(8)]),
    (Kind::DmaData, 0x50, ALL, BOTH, &[Is(7)]),
    (Kind::AcquireMem, 0x58, G78, BOTH, &[Is(7)]),
    (Kind::AcquireMem, 0x58, G10, BOTH, &[Is(8)]),
    (Kind::Rewind, 0x59, G7, MEC, &[Is(2)]),
    (Kind::Rewind, 0x59, G810, BOTH, &[Is(2)]),
    (Kind::SetConfigReg, 0x68, ALL, BOTH, &[From(3)]),
    (Kind::SetContextReg, 0x69, ALL, GFX, &[From(3)]),
    (Kind::SetShReg, 0x76, ALL, BOTH, &[From(3)]),
    (Kind::SetUconfigReg, 0x79, ALL, BOTH, &[From(3)]),
    (Kind::SetUconfigRegIndex, 0x7A, G10, BOTH, &[From(3)]),
    (Kind::WaitForWriteConfirm, 0x92, G10, BOTH, &[From(1)]),
    (Kind::WaitRegMem64, 0x93, ALL, BOTH, &[Is(9)]),
    (Kind::SetShRegIndex, 0x9B, ALL, BOTH, &[From(3)]),
    (Kind::DrawIndirectCountMulti, 0x9C, G10, GFX, &[Is(10)]),
    (Kind::DrawIndexIndirectCountMulti, 0x9D, ALL, GFX, &[Is(10)]),
];

/// Kind, operation, sub-operation, generations, lengths.
type SdmaRow = (Kind, u8, u8, &'static [Generation], &'static [Len]);

const SDMA: &[SdmaRow] = &[
    (Kind::SdmaNop, 0, 0, ALL, &[From(1)]),
    (Kind::SdmaCopyLinear, 1, 0, ALL, &[Is(7)]),
    (Kind::SdmaCopyBroadcast, 1, 0, ALL, &[Is(9)]),
    (Kind::SdmaCopyTiled, 1, 1, G78, &[Is(12)]),
    (Kind::SdmaCopyTiled, 1, 1, G10, &[Is(13)]),
    (Kind::SdmaCopyTiledBroadcast, 1, 1, G78, &[Is(15)]),
    (Kind::SdmaCopyTiledBroadcast, 1, 1, G10, &[Is(16)]),
    (Kind::SdmaCopyStructure, 1, 3, ALL, &[Is(8)]),
    (Kind::SdmaCopyLinearWindow, 1, 4, ALL, &[Is(13)]),
    (Kind::SdmaCopyTiledWindow, 1, 5, G78, &[Is(14)]),
    (Kind::SdmaCopyTiledWindow, 1, 5, G10, &[Is(14), Is(17)]),
    (Kind::SdmaCopyTiledToTiled, 1, 6, G78, &[Is(15)]),
    (Kind::SdmaCopyTiledToTiled, 1, 6, G10, &[Is(15), Is(18)]),
    (Kind::SdmaWriteLinear, 2, 0, ALL, &[From(4)]),
    (Kind::SdmaWriteTiled, 2, 1, ALL, &[From(9)]),
    (Kind::SdmaIndirect, 4, 0, G7, &[Is(4)]),
    (Kind::SdmaIndirect, 4, 0, G810, &[Is(6)]),
    (Kind::SdmaFence, 5, 0, ALL, &[Is(4)]),
    (Kind::SdmaFence64, 5, 0x80, ALL, &[Is(5)]),
    (Kind::SdmaTrap, 6, 0, G7, &[Is(1)]),
    (Kind::SdmaTrap, 6, 0, G810, &[Is(2)]),
    (Kind::SdmaSemaphore, 7, 0, ALL, &[Is(3)]),
    (Kind::SdmaPollRegMem, 8, 0, ALL, &[Is(6)]),
    (Kind::SdmaPollMem64, 8, 0x80, ALL, &[Is(8)]),
    (Kind::SdmaCondExe, 9, 0, G7, &[Is(4)]),
    (Kind::SdmaCondExe, 9, 0, G810, &[Is(5)]),
    (Kind::SdmaAtomic, 10, 0, ALL, &[Is(8)]),
    (Kind::SdmaConstantFill, 11, 0, ALL, &[Is(5)]),
    (Kind::SdmaPtePde, 12, 0, ALL, &[Is(10)]),
    (Kind::SdmaTimestampSet, 13, 0, ALL, &[Is(3)]),
    (Kind::SdmaTimestampGet, 13, 1, ALL, &[Is(3)]),
    (Kind::SdmaTimestamp, 13, 2, ALL, &[Is(3)]),
    (Kind::SdmaSrbmWrite, 14, 0, ALL, &[Is(3)]),
    (Kind::SdmaPreExe, 15, 0, G810, &[Is(2)]),
    (Kind::SdmaGpuvmInv, 16, 0, G10, &[Is(4)]),
    (Kind::SdmaGcrReq, 17, 0, G10, &[Is(5)]),
    (Kind::SdmaDummyTrap, 32, 0, G10, &[Is(2)]),
];

fn len(length: Length) -> Len {
    match length {
        Length::Fixed(n) => Is(n.into()),
        Length::Body { head, min } => From(usize::from(head) + usize::from(min)),
        Length::Counted { head, .. } => From(head.into()),
    }
}

/// What the transcription says about a kind in one place.
fn expected(kind: Kind, g: Generation, r: Ring) -> Vec<(Encoding, Len)> {
    let pm4 = PM4
        .iter()
        .filter(|row| row.0 == kind && row.2.contains(&g) && row.3.contains(&r))
        .flat_map(|row| row.4.iter().map(|&l| (Encoding::Type3(row.1), l)));
    let sdma = SDMA
        .iter()
        .filter(|row| row.0 == kind && row.3.contains(&g) && r == Ring::Sdma)
        .flat_map(|row| row.4.iter().map(|&l| (Encoding::Sdma(row.1, row.2), l)));
    pm4.chain(sdma).collect()
}

#[test]
fn the_table_is_the_notes() {
    for &kind in Kind::ALL {
        if matches!(kind, Kind::Type0 | Kind::Filler) {
            continue;
        }
        let named = PM4.iter().any(|r| r.0 == kind) || SDMA.iter().any(|r| r.0 == kind);
        assert!(named, "{kind} is not in the transcription");
        for g in Generation::ALL {
            for r in Ring::ALL {
                let got: Vec<_> =
                    layouts(kind, g, r).map(|d| (d.encoding, len(d.length))).collect();
                assert_eq!(got, expected(kind, g, r), "{kind} on {r} of {g}");
            }
        }
    }
}

#[test]
fn types_0_and_2_are_on_both_rings_of_every_generation() {
    for g in Generation::ALL {
        for r in [Ring::Graphics, Ring::Compute] {
            assert_eq!(layouts(Kind::Type0, g, r).count(), 1);
            assert_eq!(layouts(Kind::Filler, g, r).count(), 1);
        }
        assert_eq!(layouts(Kind::Type0, g, Ring::Sdma).count(), 0);
        assert_eq!(layouts(Kind::Filler, g, Ring::Sdma).count(), 0);
    }
}
