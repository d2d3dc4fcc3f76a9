//! Random command buffers: nothing a guest can write may panic or hang us.

use super::fake;
use super::rig::{COMPUTE, DMA, GFX, MODES, PROFILES, Rig, ring_of};
use crate::{LoadedKernel, QueueKind};
use proptest::prelude::*;
use wavefence_base::GpuAddress;
use wavefence_pm4::{Field, Kind, Packet};

fn rig(profile: usize, mode: usize) -> Rig {
    Rig::with(PROFILES[profile], MODES[mode], |d| {
        d.limits.max_packets = 5000;
        d.limits.max_instructions = 100_000;
    })
}

/// Headers of real packets among random words, so that more than the first word
/// is looked at.
fn words() -> impl Strategy<Value = Vec<u32>> {
    let header = (0u32..256, 0u32..14).prop_map(|(op, count)| 3 << 30 | count << 16 | op << 8);
    let sdma = (0u32..18, 0u32..4).prop_map(|(op, sub)| sub << 8 | op);
    let small = 0u32..64;
    let any = any::<u32>();
    prop::collection::vec(prop_oneof![3 => header, 2 => sdma, 3 => small, 1 => any], 1..200)
}

/// A packet to be built: which, and a number that its fields are made from.
pub(super) type Seed = (usize, u64);

/// Splits more numbers from one.
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let z = (*state ^ *state >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z ^ z >> 27
}

/// A packet of the table with random fields: addresses mostly in `data`, the
/// rest small, full or anything.
pub(super) fn packet(rig: &Rig, kind: QueueKind, seed: Seed, data: GpuAddress) -> Vec<u32> {
    let which = Kind::ALL[seed.0 % Kind::ALL.len()];
    let mut state = seed.1;
    let Ok(mut b) = Packet::try_build(which, rig.generation, ring_of(kind)) else {
        return Vec::new();
    };
    let fields: Vec<_> = b.desc().fields_on(rig.generation, ring_of(kind)).collect();
    for field in fields {
        let r = next(&mut state);
        let address = matches!(
            field.field,
            Field::Addr
                | Field::Src
                | Field::Dst
                | Field::SecondDst
                | Field::ThenAddr
                | Field::ElseAddr
        );
        let value = match r % 8 {
            0..=5 if address => data.0 + (r >> 8) % 512 / 32 * 32,
            0..=3 => 0,
            4..=5 => (r >> 8) % 4,
            6 => (r >> 8) & field.max(),
            _ => field.max(),
        };
        if let Ok(set) = b.clone().try_set(field.field, value) {
            b = set;
        }
    }
    let body: Vec<u32> = (0..next(&mut state) % 4).map(|_| next(&mut state) as u32 % 9).collect();
    b.clone()
        .body(&body)
        .try_finish()
        .or_else(|_| b.try_finish())
        .map_or(Vec::new(), Packet::into_words)
}

fn run(rig: &mut Rig, lists: [(QueueKind, &[Seed]); 3], kernel: LoadedKernel) {
    let data = rig.buffer("data", 1024);
    for (kind, seeds) in lists {
        let mut list = rig.list(kind);
        if kind != DMA {
            list = list.bind(kernel, [4, 1, 1], data);
        }
        for &seed in seeds {
            let words = packet(rig, kind, seed, data);
            list.words.extend(words);
        }
        rig.submit(list);
    }
    let first = rig.run();
    let fill: Vec<u8> = [1u8, 0, 0, 0].repeat(256);
    rig.device.host_write(data, &fill).unwrap();
    let second = rig.run();
    // Whatever it is, it can be told.
    assert!(!format!("{first:?}{second:?}").is_empty());
    for fault in rig.device.faults() {
        assert!(!fault.detail.is_empty() && fault.count > 0);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    #[test]
    fn random_words_never_panic_or_hang(
        a in words(), b in words(), profile in 0usize..3, mode in 0usize..3,
    ) {
        let mut rig = rig(profile, mode);
        for (kind, words) in [(GFX, &a), (COMPUTE, &b), (DMA, &a), (GFX, &b)] {
            let mut list = rig.list(kind);
            list.words = words.clone();
            rig.submit(list);
        }
        rig.run();
        rig.run();
    }

    #[test]
    fn random_packets_never_panic_or_hang(
        lists in prop::array::uniform3(prop::collection::vec((0usize..1000, any::<u64>()), 1..40)),
        profile in 0usize..3,
        mode in 0usize..3,
    ) {
        let mut rig = rig(profile, mode);
        let kernel = rig.load(fake::named("threads", [4, 1, 1]));
        let [a, b, c] = &lists;
        run(&mut rig, [(GFX, a), (COMPUTE, b), (DMA, c)], kernel);
    }

    /// The same input gives the same events, faults and end.
    #[test]
    fn random_packets_run_the_same_every_time(
        lists in prop::array::uniform3(prop::collection::vec((0usize..1000, any::<u64>()), 1..20)),
        profile in 0usize..3,
    ) {
        let record = || {
            let mut rig = rig(profile, 0);
            let kernel = rig.load(fake::named("threads", [4, 1, 1]));
            let [a, b, c] = &lists;
            run(&mut rig, [(GFX, a), (COMPUTE, b), (DMA, c)], kernel);
            (rig.log.events(), rig.run())
        };
        prop_assert_eq!(record(), record());
    }
}
