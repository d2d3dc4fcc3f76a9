//! Every row, generation, ring and random values: build, decode, read back.

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, TestRunner};
use wavefence_pm4::table::rows;
use wavefence_pm4::{
    DecodeErrorKind, Encoding, Field, FieldDesc, Generation, Length, Packet, PacketDesc, Ring,
    When, decode, decode_stream, print,
};

/// Every row with each place it holds in.
fn places() -> Vec<(&'static PacketDesc, Generation, Ring)> {
    let mut all = Vec::new();
    for row in rows() {
        for generation in Generation::ALL {
            for ring in Ring::ALL {
                if row.exists(generation, ring) {
                    all.push((row, generation, ring));
                }
            }
        }
    }
    all
}

/// A value that `desc` can hold, made of random bits.
fn squeeze(desc: &FieldDesc, random: u64) -> u64 {
    let unbiased = random & (desc.max() - desc.min());
    (unbiased >> desc.align << desc.align) + desc.min()
}

/// Builds a packet of the row from random bits, and says what was set.
fn build(
    (row, generation, ring): (&'static PacketDesc, Generation, Ring),
    random: &[u64],
    body: &[u32],
) -> (Packet, Vec<(Field, u64)>) {
    let body = match row.length {
        Length::Fixed(_) => &[],
        Length::Body { min, .. } => &body[..body.len().max(usize::from(min))],
        Length::Counted { .. } => body,
    };
    let total = row.length.head() + body.len();
    let mut builder = Packet::build_sized(row.kind, generation, ring, total).body(body);
    assert!(std::ptr::eq(builder.desc(), row), "{}: the sized builder took another row", row.kind);
    let counted = match row.length {
        Length::Counted { field, .. } => Some(field),
        Length::Fixed(_) | Length::Body { .. } => None,
    };
    let mut set: Vec<(Field, u64)> = Vec::new();
    let fields: Vec<_> = row.fields_on(generation, ring).collect();
    for (i, desc) in fields.iter().enumerate() {
        if desc.when == When::Always && counted != Some(desc.field) {
            let mut value = squeeze(desc, random[i % random.len()].rotate_left(i as u32));
            if row.encoding == Encoding::Type0 && value == 0 {
                value = 1;
            }
            set.push((desc.field, value));
        }
    }
    let holds = |desc: &FieldDesc, set: &[(Field, u64)]| {
        let value = |s: Field| set.iter().find(|x| x.0 == s).map_or(0, |x| x.1);
        match desc.when {
            When::Always => false,
            When::Is(s, v) => v.iter().any(|&v| u64::from(v) == value(s)),
            When::Not(s, v) => v.iter().all(|&v| u64::from(v) != value(s)),
        }
    };
    for (i, desc) in fields.iter().enumerate() {
        if holds(desc, &set) {
            let value = squeeze(desc, random[i % random.len()].rotate_left(7 * i as u32));
            set.push((desc.field, value));
        }
    }
    // The order of sets must not matter: last first.
    for &(field, value) in set.iter().rev() {
        builder = builder.set(field, value);
    }
    if matches!(row.encoding, Encoding::Type3(_)) {
        builder = builder.predicate(random[0] & 1 != 0).shader_type_compute(random[0] & 2 != 0);
    }
    (builder.finish(), set)
}

proptest! {
    #![proptest_config(Config { cases: 200, failure_persistence: None, ..Config::default() })]

    #[test]
    fn what_is_built_is_decoded(
        random in prop::collection::vec(any::<u64>(), 1..24),
        body in prop::collection::vec(any::<u32>(), 1..40),
    ) {
        for place in places() {
            let (row, generation, ring) = place;
            let (packet, set) = build(place, &random, &body);
            let words = packet.encode();
            let again = decode(&words, 0, generation, ring)
                .unwrap_or_else(|e| panic!("{} on {ring} of {generation}: {e}", row.kind));
            prop_assert_eq!(again.kind(), row.kind);
            prop_assert!(std::ptr::eq(again.desc(), row), "{}", row.kind);
            prop_assert_eq!(again.words(), &words[..]);
            for &(field, value) in &set {
                prop_assert_eq!(again.get(field), value, "{} {}", row.kind, field);
            }
            prop_assert_eq!(again.len_dwords(), words.len());
            let text = print(&again);
            prop_assert!(text.starts_with(row.name()));
            prop_assert!(text.ends_with('\n') && !text.contains('\t'));
        }
    }

    #[test]
    fn a_cut_packet_is_truncated_and_an_odd_bit_is_refused(
        random in prop::collection::vec(any::<u64>(), 1..24),
        body in prop::collection::vec(any::<u32>(), 1..6),
        bit in 0u32..32,
    ) {
        for place in places() {
            let (row, generation, ring) = place;
            let (packet, set) = build(place, &random, &body);
            let words = packet.encode();
            for cut in 1..words.len() {
                let error = decode(&words[..cut], 0, generation, ring).unwrap_err();
                prop_assert_eq!(error.kind, DecodeErrorKind::Truncated, "{} {}", row.kind, cut);
                prop_assert_eq!(error.offset, 0);
                prop_assert_eq!(error.word, words[0]);
            }
            // A bit flipped in the fixed part is another value of some field, or
            // refused; never dropped.
            for dword in 1..row.length.head() {
                let mut odd = words.clone();
                odd[dword] ^= 1 << bit;
                match decode(&odd, 0, generation, ring) {
                    Ok(p) if matches!(row.length, Length::Counted { .. }) => {
                        prop_assert!(p.len_dwords() <= odd.len());
                    }
                    Ok(p) => {
                        let same = set.iter().all(|&(f, v)| p.try_get(f) == Some(v));
                        prop_assert!(!same, "{}: a bit of dword {} is lost", row.kind, dword);
                    }
                    Err(e) => {
                        let kind_ok = matches!(
                            e.kind,
                            DecodeErrorKind::ReservedBits | DecodeErrorKind::Truncated
                        );
                        prop_assert!(kind_ok, "{}", e);
                    }
                }
            }
        }
    }
}

#[test]
fn streams_of_random_packets_come_back_in_order() {
    let mut runner = TestRunner::deterministic();
    for generation in Generation::ALL {
        for ring in Ring::ALL {
            let here: Vec<_> =
                places().into_iter().filter(|&(_, g, r)| (g, r) == (generation, ring)).collect();
            let mut words = Vec::new();
            let mut expected = Vec::new();
            for place in &here {
                let random = prop::collection::vec(any::<u64>(), 16)
                    .new_tree(&mut runner)
                    .expect("the strategy makes values")
                    .current();
                let (packet, _) = build(*place, &random, &[1, 2, 3]);
                expected.push((words.len(), packet.kind()));
                words.extend_from_slice(packet.words());
            }
            let got: Vec<_> = decode_stream(&words, generation, ring)
                .map(|p| p.map(|(offset, p)| (offset, p.kind())))
                .collect::<Result<_, _>>()
                .expect("every packet is valid");
            assert_eq!(got, expected, "{ring} of {generation}");
        }
    }
}
