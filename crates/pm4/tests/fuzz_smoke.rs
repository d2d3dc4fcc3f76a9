//! A short, deterministic fuzz of the decoder, the printer and the dump reader:
//! whatever the words, an answer and never a panic.

use wavefence_pm4::marker::{Marker, MarkerKind};
use wavefence_pm4::table::rows;
use wavefence_pm4::{
    Field, Generation, Length, Packet, Ring, decode, decode_stream, parse_dump, print, print_stream,
};

const MUTATIONS: u32 = 100_000;

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ z >> 31
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }
}

/// One packet of every row in every place, a marker, and some odd words.
fn corpus() -> Vec<(Generation, Ring, Vec<u32>)> {
    let mut all = Vec::new();
    for generation in Generation::ALL {
        for ring in Ring::ALL {
            let mut words = Vec::new();
            for row in rows().filter(|r| r.exists(generation, ring)) {
                let body: &[u32] = match row.length {
                    Length::Fixed(_) => &[],
                    Length::Body { .. } | Length::Counted { .. } => &[1, 2],
                };
                let total = row.length.head() + body.len();
                let mut builder = Packet::build_sized(row.kind, generation, ring, total).body(body);
                if builder.has(Field::RegOffset) {
                    builder = builder.set(Field::RegOffset, 0x12);
                }
                words.extend(builder.encode());
            }
            let marker =
                Marker { kind: MarkerKind::Begin, color: 0x00FF_00FF, text: "frame 1".into() };
            words.extend(marker.encode(generation, ring).words());
            all.push((generation, ring, words));
        }
    }
    all
}

/// Decodes the words in full and holds every answer to what it promises.
fn check(words: &[u32], generation: Generation, ring: Ring) {
    let mut expected = 0;
    for item in decode_stream(words, generation, ring) {
        match item {
            Ok((offset, packet)) => {
                assert_eq!(offset, expected);
                expected += packet.len_dwords();
                assert!(packet.len_dwords() > 0 && expected <= words.len());
                assert_eq!(packet.words(), &words[offset..expected]);
                assert!(print(&packet).starts_with(packet.name()));
                for desc in packet.desc().fields_on(generation, ring) {
                    if let Some(value) = packet.try_get(desc.field) {
                        assert!(value <= packet.field(desc.field).expect("it was read").max());
                    }
                }
                let _ = Marker::decode(&packet);
            }
            Err(error) => {
                assert!(error.offset >= expected && error.offset < words.len());
                assert_eq!(error.word, words[error.offset]);
                assert!(!error.message.is_empty());
                expected = words.len();
            }
        }
    }
    assert_eq!(expected, words.len(), "a stream that ends without an error ends at the end");
}

#[test]
fn the_corpus_is_valid() {
    for (generation, ring, words) in corpus() {
        check(&words, generation, ring);
        let (text, error) = print_stream(&words, generation, ring);
        assert_eq!(error, None, "{ring} of {generation}");
        assert!(text.contains("marker begin #00ff00ff \"frame 1\""));
    }
}

#[test]
fn mutated_streams() {
    let corpus = corpus();
    let mut random = Random(1);
    for _ in 0..MUTATIONS {
        let (generation, ring, base) = &corpus[random.below(corpus.len())];
        let start = random.below(base.len());
        let len = 1 + random.below(24);
        let mut words: Vec<u32> = base[start..].iter().copied().take(len).collect();
        for _ in 0..=random.below(4) {
            let at = random.below(words.len());
            match random.below(6) {
                0 => words[at] ^= 1 << random.below(32),
                1 => words[at] = random.next() as u32,
                2 => words[at] = [0, 1, u32::MAX, 0x8000_0000, 0xFFFF_1000][random.below(5)],
                3 => words.truncate(at.max(1)),
                4 => words.insert(at, random.next() as u32),
                _ => words[at] = words[at] & 0xC000_FFFF | (random.below(32) as u32) << 16,
            }
        }
        // Sometimes another reader than the stream was made for.
        let ring = if random.below(8) == 0 { Ring::ALL[random.below(3)] } else { *ring };
        check(&words, *generation, ring);
        let offset = random.below(words.len() + 3);
        let _ = decode(&words, offset, *generation, ring);
    }
}

#[test]
fn random_words() {
    let mut random = Random(2);
    for round in 0..20_000 {
        let len = random.below(40);
        let mask = if round % 2 == 0 { u32::MAX } else { 0xC003_FF03 };
        let words: Vec<u32> = (0..len).map(|_| random.next() as u32 & mask).collect();
        for generation in Generation::ALL {
            check(&words, generation, Ring::ALL[random.below(3)]);
        }
    }
}

#[test]
fn every_header_alone() {
    // Every opcode with every small count and every header flag, and every SDMA
    // operation: the words behind are zeros and then ones.
    for fill in [0, u32::MAX] {
        let mut words = vec![fill; 80];
        for generation in Generation::ALL {
            for low in 0..=0xFFFFu32 {
                for high in [0x0000u32, 0xC000, 0xC003, 0xC00C, 0x8000, 0x4000, 0xFFFF] {
                    words[0] = high << 16 | low;
                    let ring = Ring::ALL[(low as usize + generation as usize) % 3];
                    if let Ok(p) = decode(&words, 0, generation, ring) {
                        assert!(p.len_dwords() <= words.len());
                    }
                }
            }
        }
    }
}

#[test]
fn mutated_dumps() {
    let seeds: [&[u8]; 5] = [
        b"0xC0031502, 00000001 # a dispatch\n// nothing\n0x2 0x3 0x45\n",
        b"\xEF\xBB\xBF80000000\r\n80000000",
        &[0x02, 0x15, 0x03, 0xC0, 1, 0, 0, 0, 1, 0, 0, 0],
        "0x1 // größer \u{2028} \u{85}\n".as_bytes(),
        b"",
    ];
    let mut random = Random(3);
    for _ in 0..MUTATIONS {
        let mut bytes = seeds[random.below(seeds.len())].to_vec();
        for _ in 0..random.below(5) {
            if bytes.is_empty() {
                bytes.push(random.next() as u8);
            }
            let at = random.below(bytes.len());
            match random.below(4) {
                0 => bytes[at] ^= 1 << random.below(8),
                1 => bytes[at] = b"0x,# /\n\0g9\xFF\t"[random.below(12)],
                2 => bytes.truncate(at),
                _ => bytes.insert(at, random.next() as u8),
            }
        }
        match parse_dump(&bytes) {
            Ok(words) => assert!(!words.is_empty() && words.len() <= bytes.len()),
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
}
