//! Rules that the table itself keeps.

use std::collections::{BTreeMap, BTreeSet};
use wavefence_pm4::table::{layouts, rows};
use wavefence_pm4::{
    Encoding, Field, FieldDesc, Generation, Kind, Length, Mark, PacketDesc, Ring, Values, When,
};

fn places() -> impl Iterator<Item = (Generation, Ring)> {
    Generation::ALL.into_iter().flat_map(|g| Ring::ALL.into_iter().map(move |r| (g, r)))
}

/// True if the conditions of two fields of a row can never hold at once.
fn exclude(a: &FieldDesc, b: &FieldDesc) -> bool {
    match (a.when, b.when) {
        (When::Is(f, x), When::Is(g, y)) => f == g && x.iter().all(|v| !y.contains(v)),
        (When::Is(f, x), When::Not(g, y)) | (When::Not(g, y), When::Is(f, x)) => {
            f == g && x.iter().all(|v| y.contains(v))
        }
        (When::Not(_, _), When::Not(_, _)) | (When::Always, _) | (_, When::Always) => false,
    }
}

fn bits_of(f: &FieldDesc) -> Vec<(u8, u32)> {
    [Some(f.lo), f.hi].into_iter().flatten().map(|b| (b.dword, b.mask())).collect()
}

fn header_mask(row: &PacketDesc, generation: Generation) -> u32 {
    match row.encoding {
        Encoding::Type0 => 0xFFFF_0000,
        Encoding::Type2 => 0xC000_0000,
        Encoding::Type3(_) if generation == Generation::Gfx10_3 => 0xFFFF_FF07,
        Encoding::Type3(_) => 0xFFFF_FF03,
        Encoding::Sdma(..) => 0xFFFF | row.fixed,
    }
}

#[test]
fn fields_do_not_overlap_and_lie_in_the_packet() {
    for row in rows() {
        for (g, r) in places().filter(|&(g, r)| row.exists(g, r)) {
            let fields: Vec<_> = row.fields_on(g, r).collect();
            for (i, a) in fields.iter().enumerate() {
                for (dword, mask) in bits_of(a) {
                    assert!(
                        usize::from(dword) < row.length.head(),
                        "{} {}: dword {dword} is beyond the fixed part",
                        row.kind,
                        a.field
                    );
                    if dword == 0 {
                        // The count of a type-0 header is a length, not a field.
                        assert_eq!(mask & header_mask(row, g), 0, "{} {}", row.kind, a.field);
                    }
                }
                assert!(a.lo.hi >= a.lo.lo && a.lo.hi < 32, "{} {}", row.kind, a.field);
                assert!(a.stored_width() + u32::from(a.align) <= 64);
                for b in &fields[i + 1..] {
                    if exclude(a, b) {
                        continue;
                    }
                    assert_ne!(a.field, b.field, "{} has it twice on {r} of {g}", row.kind);
                    for (da, ma) in bits_of(a) {
                        for (db, mb) in bits_of(b) {
                            assert!(
                                da != db || ma & mb == 0,
                                "{}: {} and {} overlap in dword {da} on {r} of {g}",
                                row.kind,
                                a.field,
                                b.field
                            );
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn conditions_name_unconditional_fields_of_the_row() {
    for row in rows() {
        for (g, r) in places().filter(|&(g, r)| row.exists(g, r)) {
            for f in row.fields_on(g, r) {
                let (selector, values) = match f.when {
                    When::Always => continue,
                    When::Is(s, v) | When::Not(s, v) => (s, v),
                };
                let found: Vec<_> = row.fields_on(g, r).filter(|d| d.field == selector).collect();
                assert_eq!(found.len(), 1, "{} {}", row.kind, f.field);
                assert_eq!(found[0].when, When::Always, "{} {}", row.kind, f.field);
                assert!(values.iter().all(|&v| u64::from(v) <= found[0].max()));
            }
        }
    }
}

#[test]
fn every_field_exists_somewhere() {
    for &field in Field::ALL {
        let exists = rows().any(|row| {
            places().any(|(g, r)| row.exists(g, r) && row.fields_on(g, r).any(|f| f.field == field))
        });
        assert!(exists, "{field}");
    }
}

/// What a decoder sees of a row: encoding and length, or the fixed header bits
/// that stand in for the length on SDMA.
fn shape(row: &PacketDesc) -> (Encoding, u32, Option<u8>) {
    let fixed = match row.length {
        Length::Fixed(n) if !matches!(row.encoding, Encoding::Sdma(..)) => Some(n),
        Length::Fixed(_) | Length::Body { .. } | Length::Counted { .. } => None,
    };
    (row.encoding, row.fixed, fixed)
}

#[test]
fn one_row_for_what_a_decoder_sees() {
    for (g, r) in places() {
        let mut seen = BTreeSet::new();
        for row in rows().filter(|row| row.exists(g, r)) {
            let key = format!("{:?}", shape(row));
            assert!(seen.insert(key.clone()), "{} on {r} of {g}: {key}", row.kind);
        }
    }
}

#[test]
fn one_kind_has_one_name_and_one_opcode() {
    let mut names = BTreeMap::new();
    for &kind in Kind::ALL {
        assert!(names.insert(kind.name(), kind).is_none(), "{kind} twice");
        let name = kind.name();
        assert!(
            name.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_'),
            "{name}"
        );
        let encodings: BTreeSet<_> =
            rows().filter(|r| r.kind == kind).map(|r| format!("{:?}", r.encoding)).collect();
        assert_eq!(encodings.len(), 1, "{kind}: {encodings:?}");
    }
}

#[test]
fn an_opcode_has_one_kind_but_for_lengths_that_differ() {
    let mut by_encoding: BTreeMap<String, BTreeSet<Kind>> = BTreeMap::new();
    for row in rows() {
        by_encoding.entry(format!("{:?}", row.encoding)).or_default().insert(row.kind);
    }
    let shared: Vec<_> = by_encoding.values().filter(|k| k.len() > 1).collect();
    let expected = [
        BTreeSet::from([Kind::SdmaCopyLinear, Kind::SdmaCopyBroadcast]),
        BTreeSet::from([Kind::SdmaCopyTiled, Kind::SdmaCopyTiledBroadcast]),
        BTreeSet::from([Kind::IndirectBuffer, Kind::CondIndirectBuffer]),
    ];
    assert_eq!(shared.len(), expected.len(), "{shared:?}");
    assert!(expected.iter().all(|e| shared.contains(&e)), "{shared:?}");
}

#[test]
fn field_names_are_unique_and_all_used() {
    let names: BTreeSet<_> = Field::ALL.iter().map(|f| f.name()).collect();
    assert_eq!(names.len(), Field::ALL.len());
    for &field in Field::ALL {
        assert!(rows().any(|r| r.fields.iter().any(|f| f.field == field)), "{field} is unused");
    }
}

#[test]
fn value_names_are_unique_and_fit() {
    for row in rows() {
        for f in row.fields {
            match f.values {
                Values::Named(names) => {
                    let values: BTreeSet<_> = names.iter().map(|n| n.0).collect();
                    let texts: BTreeSet<_> = names.iter().map(|n| n.1).collect();
                    assert_eq!(values.len(), names.len(), "{} {}", row.kind, f.field);
                    assert_eq!(texts.len(), names.len(), "{} {}", row.kind, f.field);
                    for &(v, name) in names {
                        assert!(u64::from(v) <= f.max(), "{} {} {name}", row.kind, f.field);
                    }
                }
                Values::Flags(flags) => {
                    let mut seen = 0u32;
                    for flag in flags {
                        assert_eq!(seen & flag.mask(), 0, "{} {}", row.kind, flag.name);
                        seen |= flag.mask();
                        assert!(u32::from(flag.hi) < f.stored_width(), "{}", flag.name);
                    }
                    assert_eq!(f.align, 0, "{} {}", row.kind, f.field);
                    assert_eq!(f.bias, 0, "{} {}", row.kind, f.field);
                }
                Values::OnOff => assert_eq!(f.stored_width(), 1, "{} {}", row.kind, f.field),
                Values::Hex | Values::Dec | Values::Address | Values::Register(_) => {}
            }
        }
    }
}

#[test]
fn packets_of_our_own_are_marked() {
    let assumed: BTreeSet<_> = rows().filter(|r| r.mark == Mark::Assumed).map(|r| r.kind).collect();
    assert_eq!(
        assumed,
        BTreeSet::from([Kind::WaitRegMem64, Kind::SdmaFence64, Kind::SdmaPollMem64])
    );
    for row in rows() {
        assert!(!row.source.is_empty());
    }
    let marks = |kind, generation, ring| -> Vec<Mark> {
        layouts(kind, generation, ring).map(|d| d.mark).collect()
    };
    assert_eq!(marks(Kind::WaitRegMem64, Generation::Gfx10_3, Ring::Compute), [Mark::Confirmed]);
    assert_eq!(marks(Kind::WaitRegMem64, Generation::Gfx8, Ring::Compute), [Mark::Assumed]);
}

#[test]
fn marks_and_shared_arrays_name_nothing_that_cannot_be() {
    // Packets that sources give to older parts only are refused everywhere.
    let refused: Vec<_> = rows().filter(|r| r.generations.is_empty()).map(|r| r.kind).collect();
    assert_eq!(refused, [Kind::CpDma]);
}
