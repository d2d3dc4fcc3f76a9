//! What observers are told.

use super::*;
use proptest::prelude::*;
use std::collections::BTreeMap;

type Told = (u64, Client, AccessKind, Vec<Piece>);

fn told(h: &mut Hierarchy) -> Vec<Told> {
    let mut all = Vec::new();
    h.drain(|a| all.push((a.seq, a.client, a.kind, a.pieces.to_vec())));
    all
}

fn piece(at: u64, len: u32, lane: u8, hit: Option<CacheClass>, as_of: u64) -> Piece {
    Piece { at: GpuAddress(at), len, lane, hit, as_of }
}

fn recorded(profile: ProfileName) -> Hierarchy {
    let mut h = device(profile);
    h.set_recording(true);
    h
}

const X: u64 = 0x1000;
const L1: Option<CacheClass> = Some(CacheClass::Vector);
const L2: Option<CacheClass> = Some(CacheClass::L2);

#[test]
fn nothing_is_built_unless_asked_for() {
    let mut h = device(ProfileName::SeriesX);
    h.load1(0, X);
    h.store1(0, X, 1);
    assert!(!h.has_records());
    h.set_recording(true);
    h.load1(0, X);
    assert_eq!(told(&mut h).len(), 1);
    assert!(told(&mut h).is_empty());
}

#[test]
fn lanes_become_runs_with_their_lowest_lane() {
    let mut h = recorded(ProfileName::XboxOne);
    // Lanes 2 to 63, downwards, a gap after the lane at 40.
    let offsets: Lanes = std::array::from_fn(|i| {
        let at = 4 * (63 - i as u32);
        if at >= 160 { at + 8 } else { at }
    });
    let mask = LaneMask(!3);
    h.port(wave(0)).load(&access(X, 4), &offsets, &[mask], &mut [[0; 64]]);
    h.port(wave(0)).store(&access(X, 4), &offsets, &[mask], &[[1; 64]]);
    h.port(wave(0)).fence();
    let (low, high) = (piece(X, 160, 24, None, 1), piece(X + 168, 88, 2, None, 1));
    let untimed = |p: Piece| Piece { as_of: 0, ..p };
    assert_eq!(
        told(&mut h),
        [
            (1, Client::ShaderVector, AccessKind::Read, vec![low, high]),
            (2, Client::ShaderVector, AccessKind::Write, vec![untimed(low), untimed(high)]),
            (3, Client::ShaderVector, AccessKind::Fence, vec![]),
        ]
    );
}

#[test]
fn pieces_of_different_origin_are_apart() {
    let mut h = recorded(ProfileName::XboxOne);
    h.load1(5, X); // 1: L2 has the first line, unit 0 does not
    h.load1(0, X + 64); // 2: both have the second
    let offsets: Lanes = std::array::from_fn(|i| 4 * i as u32);
    h.port(wave(0)).load(&access(X, 4), &offsets, &[LaneMask::first(48)], &mut [[0; 64]]);
    let pieces = told(&mut h).pop().unwrap().3;
    assert_eq!(
        pieces,
        [piece(X, 64, 0, L2, 1), piece(X + 64, 64, 16, L1, 2), piece(X + 128, 64, 32, None, 3)]
    );
}

#[test]
fn a_copy_is_as_old_as_what_it_was_filled_from() {
    let mut h = recorded(ProfileName::SeriesX);
    h.load1(0, X); // 1: from memory
    h.load1(1, X); // 2: from GL1
    h.load1(30, X); // 3: another array, from L2
    h.load1(30, X); // 4
    let last: Vec<_> = told(&mut h).into_iter().map(|t| t.3[0]).collect();
    assert_eq!(
        last,
        [
            piece(X, 4, 0, None, 1),
            piece(X, 4, 0, Some(CacheClass::Gl1), 1),
            piece(X, 4, 0, L2, 1),
            piece(X, 4, 0, L1, 1),
        ]
    );
}

#[test]
fn own_stores_are_not_old() {
    let mut h = recorded(ProfileName::XboxOne);
    h.load1(0, X); // 1
    h.store1(0, X, 5); // 2
    h.load1(0, X); // 3: the store's
    h.load1(0, X + 4); // 4: the fill's
    h.land(Land::All);
    h.coherent_load1(3, X); // 5: L2 has the store's
    h.add1(3, X, 1); // 6
    h.coherent_load1(3, X); // 7
    let pieces: Vec<_> = told(&mut h).into_iter().skip(2).map(|t| t.3[0]).collect();
    assert_eq!(
        pieces,
        [
            piece(X, 4, 0, L1, 2),
            piece(X + 4, 4, 0, L1, 1),
            piece(X, 4, 0, L2, 2),
            piece(X, 4, 0, L2, 2),
            piece(X, 4, 0, L2, 6),
        ]
    );
}

/// A store that has not landed, or that L2 has not written back, is newer than
/// what its reader got.
#[test]
fn what_has_not_arrived_is_later() {
    let mut h = recorded(ProfileName::XboxOne);
    h.next_seq(); // 1
    h.store1(0, X, 5); // 2
    h.coherent_load1(3, X); // 3
    h.by(Client::Host, X); // 4
    h.land(Land::All);
    h.by(Client::Poll, X); // 5: dirty in L2
    h.by(Client::Poll, X + 4); // 6
    h.act(CacheAction::WritebackL2, None); // 7
    h.by(Client::Poll, X); // 8
    let ages: Vec<_> =
        told(&mut h).into_iter().skip(1).map(|t| (t.0, t.3[0].hit, t.3[0].as_of)).collect();
    assert_eq!(ages, [(3, None, 1), (4, None, 1), (5, None, 1), (6, None, 6), (8, None, 8)]);
}

#[test]
fn transfers_are_a_read_and_a_write() {
    let mut h = recorded(ProfileName::XboxOne);
    let (from, to) = (engine(Client::CpDmaMemory), engine(Client::CpDmaL2));
    h.copy(from, GpuAddress(X + 2), to, GpuAddress(X + 0x1000), 300).unwrap();
    h.fill(to, GpuAddress(X + 1), 5000, 0).unwrap();
    assert_eq!(
        told(&mut h),
        [
            (1, Client::CpDmaMemory, AccessKind::Read, vec![piece(X + 2, 300, 0, None, 1)]),
            (2, Client::CpDmaL2, AccessKind::Write, vec![piece(X + 0x1000, 300, 0, None, 0)]),
            (3, Client::CpDmaL2, AccessKind::Write, vec![piece(X + 1, 5000, 0, None, 0)]),
        ]
    );
    let agent = Agent::Engine {
        queue: QueueId(0),
        engine: wavefence_base::Engine::Sdma,
        packet: GpuAddress(64),
    };
    h.read(Requester { agent, ..from }, GpuAddress(X), &mut [0; 4]).unwrap();
    h.drain(|a| assert_eq!((a.agent, a.coherent, a.loc), (agent, false, 0)));
}

#[test]
fn atomics_in_a_row_or_at_one_address_are_one_piece() {
    let mut h = recorded(ProfileName::XboxOne);
    h.load1(5, X + 64); // 1: L2 has the second line
    let a = Access { coherent: true, ..access(X, 4) };
    let (none, one) = ([0; 64], [1; 64]);
    let mut old = [9; 64];
    let row: Lanes = std::array::from_fn(|i| 4 * i as u32);
    h.port(wave(0)).atomic(&a, Atomic::Add, &row, LaneMask(!3), &one, &none, &mut old); // 2
    h.port(wave(0)).atomic(&a, Atomic::Add, &[40; 64], LaneMask(!7), &one, &none, &mut old); // 3
    assert_eq!((old[2], old[3], old[63]), (0, 1, 61));
    let pieces: Vec<_> = told(&mut h).into_iter().skip(1).map(|t| t.3).collect();
    let whole = vec![
        piece(X + 8, 56, 2, None, 2),
        piece(X + 64, 64, 16, L2, 1),
        piece(X + 128, 128, 32, None, 2),
    ];
    assert_eq!(pieces, [whole, vec![piece(X + 40, 4, 3, L2, 2)]]);
}

/// Offsets in group-shared memory: rows, columns, one address, or anything.
fn shared_offsets() -> impl Strategy<Value = Lanes> {
    let noise = proptest::collection::vec(0..300u32, 64);
    (noise, 0..5u8, 0..0x200u32, 0..40u32).prop_map(|(noise, kind, start, step)| {
        std::array::from_fn(|i| {
            let i = i as u32;
            match kind {
                0 => start * 4 + noise[i as usize] * 4,
                1 => noise[i as usize],
                2 => start * 4 + i % 16 * 4,
                3 => start * 4 + i / 16 * 4 * step,
                _ => u32::MAX - 4 * (start % 80) + (start & 4) * i,
            }
        })
    })
}

proptest! {
    /// Pieces are what the lanes' bytes make, put together.
    #[test]
    fn lanes_of_group_shared_memory_are_runs(
        offsets in shared_offsets(),
        mask in prop_oneof![Just(u64::MAX), Just(0xFFFF_0000_FFFF), any::<u64>()],
        bytes in prop_oneof![Just(4u32), Just(4), Just(1), Just(2), Just(8), Just(12), Just(16)],
    ) {
        let mut h = recorded(ProfileName::SeriesX);
        let mask = LaneMask(mask);
        let mut port = h.port(wave(0));
        port.group_shared(AccessKind::Write, &offsets, mask, bytes, 0);
        port.group_shared(AccessKind::Write, &[8; 64], ONE, 4, 0);
        let mut lowest = BTreeMap::new();
        for lane in mask.iter() {
            let at = u64::from(offsets[lane as usize]);
            (at..at + u64::from(bytes)).for_each(|b| _ = lowest.entry(b).or_insert(lane as u8));
        }
        let mut wanted: Vec<Piece> = Vec::new();
        for (at, lane) in lowest {
            match wanted.last_mut() {
                Some(p) if p.at.0 + u64::from(p.len) == at => {
                    p.len += 1;
                    p.lane = p.lane.min(lane);
                }
                _ => wanted.push(piece(at, 1, lane, None, 0)),
            }
        }
        let mut all = told(&mut h);
        prop_assert_eq!(all.pop().map(|t| t.3), Some(vec![piece(8, 4, 0, None, 0)]));
        prop_assert_eq!(all.pop().map_or(vec![], |t| t.3), wanted);
    }
}

/// A step of the property below, on one of a few dwords.
#[derive(Clone, Debug)]
enum Step {
    Load(u32, u64),
    Coherent(u32, u64),
    Scalar(u32, u64),
    Store(u32, u64),
    Poll(u64),
    Land(u32),
    Act(CacheAction),
}

fn step() -> impl Strategy<Value = Step> {
    use CacheAction as A;
    let unit = prop_oneof![Just(0u32), Just(1), Just(20)];
    let at = (0..10u64).prop_map(|i| X + 0x20 * i);
    let action = prop_oneof![
        Just(A::InvalidateL1),
        Just(A::InvalidateGl1),
        Just(A::InvalidateK),
        Just(A::InvalidateL2),
        Just(A::InvalidateL2Clean),
        Just(A::WritebackL2)
    ];
    prop_oneof![
        4 => (unit.clone(), at.clone()).prop_map(|(u, at)| Step::Load(u, at)),
        1 => (unit.clone(), at.clone()).prop_map(|(u, at)| Step::Coherent(u, at)),
        1 => (unit.clone(), at.clone()).prop_map(|(u, at)| Step::Scalar(u, at)),
        5 => (unit.clone(), at.clone()).prop_map(|(u, at)| Step::Store(u, at)),
        1 => at.prop_map(Step::Poll),
        2 => unit.prop_map(Step::Land),
        1 => action.prop_map(Step::Act),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Every read through L2 gives the youngest write up to `as_of`, whatever is
    /// stale; so a write after it is proven to be missing. Reads of memory under
    /// a dirty line give no write after it.
    #[test]
    fn as_of_says_which_write_was_read(
        steps in proptest::collection::vec(step(), 1..60),
        profile in prop_oneof![
            Just(ProfileName::XboxOne), Just(ProfileName::XboxOneX), Just(ProfileName::SeriesX)
        ],
    ) {
        let mut h = recorded(profile);
        // Per dword the writes by number; a write's value is its number.
        let mut writes: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
        for (i, step) in steps.iter().enumerate() {
            let around = profile != ProfileName::SeriesX;
            let (at, got, memory) = match *step {
                Step::Load(unit, at) => (at, h.load1(unit, at), false),
                Step::Coherent(unit, at) => (at, h.coherent_load1(unit, at), false),
                Step::Scalar(unit, at) => (at, h.scalar1(unit, at), false),
                Step::Poll(at) => (at, h.by(Client::Poll, at), around),
                Step::Store(unit, at) => {
                    // Writes of one dword arrive in order, or it is not the
                    // youngest that is left.
                    for other in [0, 1, 20].into_iter().filter(|&u| u != unit) {
                        h.land(Land::Unit(other));
                    }
                    let value = h.seq() + 1;
                    h.store1(unit, at, value as u32);
                    writes.entry(at).or_default().push(value);
                    continue;
                }
                Step::Land(unit) => {
                    h.land(Land::Unit(unit));
                    continue;
                }
                Step::Act(action) => {
                    h.act(action, None);
                    continue;
                }
            };
            let all = told(&mut h);
            let (seq, _, _, pieces) = &all[all.len() - 1];
            prop_assert_eq!(pieces.len(), 1);
            let as_of = pieces[0].as_of;
            prop_assert!(as_of <= *seq);
            let of = writes.get(&at).map_or(&[][..], |w| w);
            if memory {
                prop_assert!(u64::from(got) <= as_of, "step {i} of {steps:?}");
                continue;
            }
            let youngest = of.iter().copied().filter(|&w| w <= as_of).max().unwrap_or(0);
            prop_assert_eq!(u64::from(got), youngest, "step {} of {:?}: as of {}", i, &steps, as_of);
        }
    }
}
