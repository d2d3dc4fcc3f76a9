//! What is no packet is refused, with its place.

use wavefence_pm4::{
    BuildErrorKind, DecodeError, DecodeErrorKind, Field, Generation, Kind, Packet, Ring, coher,
    decode, decode_stream,
};

const GFX7: Generation = Generation::Gfx7;
const GFX8: Generation = Generation::Gfx8;
const GFX10: Generation = Generation::Gfx10_3;

/// A type-3 header of `total` dwords.
fn header(opcode: u32, total: u32) -> u32 {
    0xC000_0000 | (total - 2) << 16 | opcode << 8
}

fn error(words: &[u32], g: Generation, r: Ring) -> DecodeError {
    decode(words, 0, g, r).expect_err("this is no packet")
}

fn kind(words: &[u32], g: Generation, r: Ring) -> DecodeErrorKind {
    error(words, g, r).kind
}

#[test]
fn the_example_header_of_the_notes() {
    let words = [0xC003_1502, 8, 4, 2, 0x45];
    let p = decode(&words, 0, GFX7, Ring::Compute).unwrap();
    assert_eq!(p.kind(), Kind::DispatchDirect);
    assert!(p.shader_type_compute() && !p.predicate());
    assert_eq!(p.get(Field::DimX), 8);
    assert_eq!(p.get(Field::DimZ), 2);
    assert_eq!(p.get(Field::Initiator), 0x45);
}

#[test]
fn unknown_opcodes() {
    for opcode in [0x00, 0x14, 0x7F, 0xFF] {
        let e = error(&[header(opcode, 2), 0], GFX10, Ring::Graphics);
        assert_eq!(e.kind, DecodeErrorKind::UnknownOpcode);
        assert_eq!((e.offset, e.word), (0, header(opcode, 2)));
    }
    assert_eq!(kind(&[3], GFX7, Ring::Sdma), DecodeErrorKind::UnknownOpcode);
    assert_eq!(kind(&[0x0000_0701], GFX7, Ring::Sdma), DecodeErrorKind::UnknownOpcode);
    assert!(error(&[0x0000_0701], GFX7, Ring::Sdma).to_string().contains("sub-operation 7"));
}

#[test]
fn a_packet_on_the_wrong_ring_is_told_where_it_belongs() {
    let release = [header(0x49, 7), 0, 0, 0, 0, 0, 0];
    let e = error(&release, GFX7, Ring::Graphics);
    assert_eq!(e.kind, DecodeErrorKind::WrongRing);
    assert!(e.message.contains("compute"), "{e}");
    assert!(decode(&release, 0, GFX7, Ring::Compute).is_ok());
    for opcode in [0x42, 0x2D, 0x11, 0x69] {
        let words = [header(opcode, 3), 0, 0];
        assert_eq!(kind(&words, GFX10, Ring::Compute), DecodeErrorKind::WrongRing, "{opcode:#x}");
    }
    let rewind = [header(0x59, 2), 0];
    assert_eq!(kind(&rewind, GFX7, Ring::Graphics), DecodeErrorKind::WrongRing);
    assert!(decode(&rewind, 0, GFX8, Ring::Graphics).is_ok());
}

#[test]
fn a_packet_of_another_generation_is_told_which() {
    for (opcode, total) in [(0x43, 5), (0x47, 6), (0x48, 5), (0x2A, 2)] {
        let mut words = vec![0; total as usize];
        words[0] = header(opcode, total);
        let e = error(&words, GFX10, Ring::Graphics);
        assert_eq!(e.kind, DecodeErrorKind::WrongGeneration);
        assert!(e.message.contains("gfx7, gfx8"), "{e}");
    }
    assert_eq!(
        kind(&[header(0x7A, 3), 0, 0], GFX7, Ring::Graphics),
        DecodeErrorKind::WrongGeneration
    );
    let e = error(&[header(0x41, 6), 0, 0, 0, 0, 0], GFX7, Ring::Graphics);
    assert_eq!(e.kind, DecodeErrorKind::WrongGeneration);
    assert!(e.message.contains("CP_DMA") && e.message.contains("older parts"), "{e}");
    assert_eq!(kind(&[17, 0, 0, 0, 0], GFX8, Ring::Sdma), DecodeErrorKind::WrongGeneration);
}

#[test]
fn lengths_that_the_packet_cannot_have() {
    let e = error(&[header(0x15, 4), 0, 0, 0], GFX7, Ring::Compute);
    assert_eq!(e.kind, DecodeErrorKind::BadLength);
    assert!(e.message.contains("4 dwords") && e.message.contains("it has 5"), "{e}");
    // The same packet has 3 dwords on one ring and 4 on the other.
    assert_eq!(kind(&[header(0x16, 4); 4], GFX7, Ring::Graphics), DecodeErrorKind::BadLength);
    assert_eq!(kind(&[header(0x16, 3); 3], GFX7, Ring::Compute), DecodeErrorKind::BadLength);
    let e = error(&[header(0x3F, 5); 5], GFX10, Ring::Graphics);
    assert!(e.message.contains("4 or 14"), "{e}");
    // SET packets carry a value at least, RELEASE_MEM grew by a dword.
    assert_eq!(kind(&[header(0x76, 2); 2], GFX7, Ring::Compute), DecodeErrorKind::BadLength);
    assert_eq!(kind(&[header(0x49, 7); 7], GFX10, Ring::Compute), DecodeErrorKind::BadLength);
    // COND_EXEC of 4 dwords is a GFX7 affair.
    assert!(decode(&[header(0x22, 4), 0, 0, 0], 0, GFX7, Ring::Graphics).is_ok());
    assert_eq!(kind(&[header(0x22, 4); 4], GFX8, Ring::Graphics), DecodeErrorKind::BadLength);
}

#[test]
fn types_that_are_none() {
    assert_eq!(kind(&[0x4000_0000], GFX7, Ring::Graphics), DecodeErrorKind::BadType);
    let e = error(&[0, 0], GFX10, Ring::Compute);
    assert_eq!(e.kind, DecodeErrorKind::BadType);
    assert!(e.message.contains("never written"), "{e}");
    // A type-0 write and a filler with odd bits are packets.
    let p = decode(&[0x0001_2E40, 7, 8], 0, GFX7, Ring::Compute).unwrap();
    assert_eq!((p.kind(), p.get(Field::RegOffset), p.body()), (Kind::Type0, 0x2E40, &[7, 8][..]));
    let p = decode(&[0x8000_0000], 0, GFX10, Ring::Graphics).unwrap();
    assert_eq!((p.kind(), p.len_dwords()), (Kind::Filler, 1));
    assert!(decode(&[0xBFFF_FFFF], 0, GFX10, Ring::Graphics).is_ok());
}

#[test]
fn reserved_bits_name_their_dword() {
    let words = [header(0x3C, 7), 0x13, 0x1002, 0, 1, !0, 4];
    let e = error(&words, GFX10, Ring::Compute);
    assert_eq!(e.kind, DecodeErrorKind::ReservedBits);
    assert_eq!((e.offset, e.word), (2, 0x1002));
    assert!(e.message.contains("0x2"), "{e}");
    // Header bit 2 exists from GFX10 on, bit 3 nowhere.
    let dispatch = |bit: u32| [header(0x15, 5) | 1 << bit, 1, 1, 1, 1];
    assert_eq!(kind(&dispatch(2), GFX8, Ring::Compute), DecodeErrorKind::ReservedBits);
    assert!(decode(&dispatch(2), 0, GFX10, Ring::Compute).unwrap().reset_filter_cam());
    assert_eq!(kind(&dispatch(3), GFX10, Ring::Compute), DecodeErrorKind::ReservedBits);
    // Wave32 is a GFX10 bit.
    let w32 = [header(0x15, 5), 1, 1, 1, 0x8045];
    assert_eq!(error(&w32, GFX7, Ring::Compute).offset, 4);
    assert!(decode(&w32, 0, GFX10, Ring::Compute).is_ok());
}

#[test]
fn volatile_l2_is_gfx7_only_and_compute_rings_of_gfx10_have_no_coher_dword() {
    let acquire = |total: u32, coher: u32| {
        let mut words = vec![0; total as usize];
        words[0] = header(0x58, total);
        words[1] = coher;
        words
    };
    let vol = acquire(7, coher::TC_VOL_ACTION_ENA);
    assert!(decode(&vol, 0, GFX7, Ring::Compute).is_ok());
    assert_eq!(error(&vol, GFX8, Ring::Compute).offset, 1);
    let cb = acquire(8, coher::CB_ACTION_ENA);
    assert!(decode(&cb, 0, GFX10, Ring::Graphics).is_ok());
    assert_eq!(kind(&cb, GFX10, Ring::Compute), DecodeErrorKind::ReservedBits);
}

#[test]
fn truncation_and_the_end() {
    let words = [header(0x15, 5), 1, 1];
    let e = error(&words, GFX7, Ring::Compute);
    assert_eq!((e.kind, e.offset), (DecodeErrorKind::Truncated, 0));
    assert!(e.message.contains("needs 5 dwords, 3 are left"), "{e}");
    for offset in [3, 4, usize::MAX] {
        let e = decode(&words, offset, GFX7, Ring::Compute).unwrap_err();
        assert_eq!((e.kind, e.offset), (DecodeErrorKind::Truncated, offset));
    }
    assert_eq!(kind(&[], GFX7, Ring::Sdma), DecodeErrorKind::Truncated);
    // A write that counts more than there is.
    assert_eq!(kind(&[2, 0, 0, 100, 1], GFX7, Ring::Sdma), DecodeErrorKind::Truncated);
}

#[test]
fn a_stream_counts_offsets_from_its_start_and_ends_at_the_first_error() {
    let words = [0xFFFF_1000, header(0x10, 3), 5, 6, header(0x14, 2), 0, 0xFFFF_1000];
    let items: Vec<_> = decode_stream(&words, GFX7, Ring::Graphics).collect();
    assert_eq!(items.len(), 3);
    assert_eq!(items[0].as_ref().unwrap().0, 0);
    assert_eq!(items[0].as_ref().unwrap().1.len_dwords(), 1);
    assert_eq!(items[1].as_ref().unwrap().0, 1);
    assert_eq!(items[1].as_ref().unwrap().1.body(), [5, 6]);
    let e = items[2].as_ref().unwrap_err();
    assert_eq!((e.offset, e.word), (4, header(0x14, 2)));
}

#[test]
fn header_only_nops_on_every_generation() {
    for g in Generation::ALL {
        for r in [Ring::Graphics, Ring::Compute] {
            let built = Packet::build(Kind::Nop, g, r).encode();
            assert_eq!(built, [0xFFFF_1000]);
            assert_eq!(decode(&built, 0, g, r).unwrap().len_dwords(), 1);
        }
    }
    // Other opcodes have no such form: the count is a count.
    assert_eq!(kind(&[0xFFFF_7600], GFX10, Ring::Compute), DecodeErrorKind::Truncated);
}

#[test]
fn layouts_of_one_sdma_operation_are_told_apart_by_header_bits() {
    let mut copy = vec![1, 15, 0, 0x100, 0, 0x200, 0];
    let p = decode(&copy, 0, GFX7, Ring::Sdma).unwrap();
    assert_eq!((p.kind(), p.get(Field::ByteCount)), (Kind::SdmaCopyLinear, 15));
    // From GFX9 on the packet holds the bytes less one.
    assert_eq!(decode(&copy, 0, GFX10, Ring::Sdma).unwrap().get(Field::ByteCount), 16);
    copy[0] |= 1 << 27;
    assert_eq!(kind(&copy, GFX7, Ring::Sdma), DecodeErrorKind::Truncated);
    copy.extend([0x300, 0]);
    let p = decode(&copy, 0, GFX7, Ring::Sdma).unwrap();
    assert_eq!((p.kind(), p.get(Field::SecondDst)), (Kind::SdmaCopyBroadcast, 0x300));
    copy[0] |= 1 << 30;
    let e = error(&copy, GFX7, Ring::Sdma);
    assert_eq!((e.kind, e.offset), (DecodeErrorKind::ReservedBits, 0));
}

#[test]
fn the_builder_refuses_what_does_not_fit() {
    let build = |k, g, r| Packet::try_build(k, g, r).unwrap();
    let kind_of = |r: Result<_, wavefence_pm4::BuildError>| r.map(|_| ()).unwrap_err().kind;
    assert_eq!(
        kind_of(Packet::try_build(Kind::EventWriteEop, GFX10, Ring::Graphics)),
        BuildErrorKind::NoSuchPacket
    );
    assert_eq!(
        kind_of(Packet::try_build_sized(Kind::EventWrite, GFX7, Ring::Graphics, 3)),
        BuildErrorKind::NoSuchPacket
    );
    let wait = || build(Kind::WaitRegMem, GFX7, Ring::Graphics);
    assert_eq!(kind_of(wait().try_set(Field::DimX, 1)), BuildErrorKind::NoSuchField);
    assert_eq!(kind_of(wait().try_set(Field::Function, 8)), BuildErrorKind::TooWide);
    assert_eq!(kind_of(wait().try_set(Field::Addr, 0x1002)), BuildErrorKind::Misaligned);
    // An address while the selector says register.
    let both = wait().set(Field::MemSpace, 0).set(Field::Addr, 0x1000);
    assert_eq!(both.try_finish().unwrap_err().kind, BuildErrorKind::NoSuchField);
    // A 64-bit value needs eight bytes of alignment, whatever the order of sets.
    let release = |addr| {
        build(Kind::ReleaseMem, GFX10, Ring::Compute)
            .set(Field::Addr, addr)
            .set(Field::DataSel, 2)
            .try_finish()
    };
    assert_eq!(release(0x1004).unwrap_err().kind, BuildErrorKind::Misaligned);
    assert!(release(0x1008).is_ok());
    let initiator =
        build(Kind::DispatchDirect, GFX7, Ring::Compute).try_set(Field::Initiator, 0x8001);
    assert_eq!(kind_of(initiator), BuildErrorKind::ReservedBits);
    let copy = build(Kind::SdmaCopyLinear, GFX10, Ring::Sdma);
    assert_eq!(kind_of(copy.clone().try_set(Field::ByteCount, 0)), BuildErrorKind::TooSmall);
    assert_eq!(kind_of(copy.clone().try_set(Field::ByteCount, 1 << 31)), BuildErrorKind::TooWide);
    assert!(copy.try_set(Field::ByteCount, 1 << 30).is_ok());
    let nop = build(Kind::Nop, GFX7, Ring::Graphics);
    assert_eq!(
        nop.clone().body(&vec![0; 0x4000]).try_finish().unwrap_err().kind,
        BuildErrorKind::BadBody
    );
    let longest = nop.body(&vec![0; 0x3FFF]).finish();
    assert_eq!(decode(longest.words(), 0, GFX7, Ring::Graphics).unwrap(), longest);
    let sh = build(Kind::SetShReg, GFX7, Ring::Graphics);
    assert_eq!(sh.try_finish().unwrap_err().kind, BuildErrorKind::BadBody);
    let fixed = build(Kind::PfpSyncMe, GFX7, Ring::Graphics).body(&[1]);
    assert_eq!(fixed.try_finish().unwrap_err().kind, BuildErrorKind::BadBody);
    let zeros = build(Kind::Type0, GFX7, Ring::Graphics).body(&[1]);
    assert_eq!(zeros.try_finish().unwrap_err().kind, BuildErrorKind::TooSmall);
    let empty = build(Kind::SdmaWriteLinear, GFX10, Ring::Sdma);
    assert_eq!(empty.try_finish().unwrap_err().kind, BuildErrorKind::BadBody);
}
