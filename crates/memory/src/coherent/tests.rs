#![allow(clippy::needless_range_loop, reason = "lanes index several arrays")]
use super::*;
use crate::port::Path;
use crate::space::AllocationDesc;
use proptest::prelude::*;
use wavefence_base::{Profile, ProfileName};

fn access(base: u64, width: u8, loc: u32) -> Access {
    Access {
        base: GpuAddress(base),
        len: 1 << 20,
        path: Path::Vector,
        width,
        coherent: false,
        volatile: false,
        loc,
    }
}

/// Writable [0x1000, 0x1200), with a read-only [0x1100, 0x1140) in it, a hole,
/// and writable [0x1300, 0x1400).
fn space() -> Arc<AddressSpace> {
    let s = AddressSpace::with_budget(&Profile::get(ProfileName::SeriesX), 1 << 20);
    let heap = s.allocate(AllocationDesc::new("heap", 0x200).at(GpuAddress(0x1000))).unwrap();
    s.allocate(AllocationDesc::new("ro", 0x40).placed_in(heap.id, 0x100).read_only()).unwrap();
    s.allocate(AllocationDesc::new("far", 0x100).at(GpuAddress(0x1300))).unwrap();
    Arc::new(s)
}

fn readable(a: u64) -> bool {
    (0x1000..0x1200).contains(&a) || (0x1300..0x1400).contains(&a)
}

fn writable(a: u64) -> bool {
    readable(a) && !(0x1100..0x1140).contains(&a)
}

fn contents(s: &AddressSpace) -> Vec<u8> {
    (0x1000..0x1400u64)
        .map(|a| {
            let mut b = [0];
            if s.host().read(GpuAddress(a), &mut b).is_ok() { b[0] } else { 0 }
        })
        .collect()
}

fn fill(s: &AddressSpace) {
    for a in (0x1000..0x1400u64).filter(|&a| readable(a)) {
        s.host().write(GpuAddress(a), &[(a * 31 + a / 256) as u8 | 1]).unwrap();
    }
}

fn lanes() -> impl Strategy<Value = Lanes> {
    let noise = proptest::collection::vec(0..0x440u32, 64);
    (noise, any::<bool>(), 0..0x300u32, 0..20u32).prop_map(|(noise, scatter, start, step)| {
        std::array::from_fn(|i| if scatter { noise[i] } else { start + step * i as u32 })
    })
}

proptest! {
    #[test]
    fn loads_match_bytes(
        o in lanes(), m in any::<[u64; 3]>(), back in 0..0x80u64,
        w in prop_oneof![Just(1u8), Just(2), Just(4)],
    ) {
        let s = space();
        fill(&s);
        let model = contents(&s);
        let mut port = CoherentPort::new(Arc::clone(&s));
        // The second and third component share a mask.
        let masks = [LaneMask(m[0]), LaneMask(m[1]), LaneMask(m[1])];
        let mut out = [[7; 64]; 3];
        let base = 0x1000 - back;
        port.load(&access(base, w, 1), &o, &masks, &mut out);
        let mut missed = 0;
        for lane in 0..64 {
            for c in 0..3 {
                let mut want = [0; 4];
                for i in 0..u64::from(w) {
                    let a = base + u64::from(o[lane]) + u64::from(w) * c as u64 + i;
                    if masks[c].contains(lane as u32) && readable(a) {
                        want[i as usize] = model[(a - 0x1000) as usize];
                    }
                }
                let a = base + u64::from(o[lane]) + u64::from(w) * c as u64;
                let all = (0..u64::from(w)).all(|i| readable(a + i));
                missed |= u64::from(masks[c].contains(lane as u32) && !all) << lane;
                prop_assert_eq!(out[c][lane], u32::from_le_bytes(want), "lane {} c {}", lane, c);
            }
        }
        prop_assert_eq!(port.has_misses(), missed != 0);
    }

    #[test]
    fn stores_match_bytes(o in lanes(), m in any::<[u64; 2]>(), w in prop_oneof![Just(2u8), Just(4)]) {
        let s = space();
        fill(&s);
        let mut model = contents(&s);
        let mut port = CoherentPort::new(Arc::clone(&s));
        let masks = m.map(LaneMask);
        // Every component writes the same bytes, so order is no matter here.
        let data = [[0xA5A5_A5A5; 64]; 2];
        port.store(&access(0x1000, w, 1), &o, &masks, &data);
        for lane in 0..64 {
            for c in 0..2u64 {
                for i in 0..u64::from(w) {
                    let a = 0x1000 + u64::from(o[lane]) + u64::from(w) * c + i;
                    if masks[c as usize].contains(lane as u32) && writable(a) {
                        model[(a - 0x1000) as usize] = 0xA5;
                    }
                }
            }
        }
        prop_assert_eq!(contents(&s), model);
    }

    #[test]
    fn atomics_match_words(o in lanes(), m in any::<u64>(), v in any::<u32>(), slip in 0..4u64) {
        let s = space();
        fill(&s);
        let twin = space();
        fill(&twin);
        let mut port = CoherentPort::new(Arc::clone(&s));
        let mut old = [9; 64];
        let value = std::array::from_fn(|i| v.wrapping_mul(i as u32));
        let a = access(0x1000 + slip, 4, 1);
        port.atomic(&a, Atomic::Add, &o, LaneMask(m), &value, &[0; 64], &mut old);
        for lane in 0..64usize {
            let at = GpuAddress((0x1000 + slip + u64::from(o[lane])) & !3);
            let want = if m >> lane & 1 == 1 {
                twin.gpu().atomic_u32(Atomic::Add, at, value[lane], 0).unwrap_or(0)
            } else { 9 };
            prop_assert_eq!(old[lane], want);
        }
        prop_assert_eq!(contents(&s), contents(&twin));
    }

    #[test]
    fn wide_atomics_match_words(
        o in lanes(), m in any::<u64>(), v in any::<u64>(), slip in 0..8u64,
        op in prop_oneof![Just(Atomic::Add), Just(Atomic::SMax), Just(Atomic::CompareExchange)],
    ) {
        let s = space();
        fill(&s);
        let twin = space();
        fill(&twin);
        let mut port = CoherentPort::new(Arc::clone(&s));
        let mut old = [[9; 64]; 2];
        let values: [u64; 64] = std::array::from_fn(|i| v.wrapping_mul(i as u64));
        let halves = |x: &[u64; 64]| [x.map(|x| x as u32), x.map(|x| (x >> 32) as u32)];
        // What half of the lanes compare with is there.
        let there: [u64; 64] = std::array::from_fn(|i| {
            let at = GpuAddress((0x1000 + slip + u64::from(o[i])) & !7);
            if i % 2 == 0 { s.gpu().read_u64(at).unwrap_or(0) } else { v }
        });
        let a = access(0x1000 + slip, 8, 1);
        let (value, compare) = (halves(&values), halves(&there));
        port.atomic64(&a, op, &o, LaneMask(m), &value, &compare, &mut old);
        for lane in 0..64usize {
            let at = GpuAddress((0x1000 + slip + u64::from(o[lane])) & !7);
            let want = if m >> lane & 1 == 1 {
                twin.gpu().atomic_u64(op, at, values[lane], there[lane]).unwrap_or(0)
            } else { 9 << 32 | 9 };
            prop_assert_eq!(u64::from(old[1][lane]) << 32 | u64::from(old[0][lane]), want);
        }
        prop_assert_eq!(contents(&s), contents(&twin));
    }
}

#[test]
fn misses_are_kept_and_merged() {
    let s = space();
    let mut port = CoherentPort::new(Arc::clone(&s));
    let o = std::array::from_fn(|i| 0x1FC + 4 * i as u32);
    for _ in 0..3 {
        let mut out = [[0; 64]];
        port.load(&access(0x1000, 4, 42), &o, &[LaneMask(0b1110)], &mut out);
    }
    port.store(&access(0x1000, 4, 43), &[0x104; 64], &[LaneMask(1 << 5)], &[[1; 64]]);
    let misses = port.take_misses();
    assert_eq!(
        misses,
        [
            MissRecord {
                op: MissOp::Load,
                kind: AccessErrorKind::Unmapped,
                loc: 42,
                lanes: LaneMask(0b1110),
                address: GpuAddress(0x1200),
                bytes: 4,
                count: 9,
            },
            MissRecord {
                op: MissOp::Store,
                kind: AccessErrorKind::ReadOnly,
                loc: 43,
                lanes: LaneMask(1 << 5),
                address: GpuAddress(0x1104),
                bytes: 4,
                count: 1,
            },
        ]
    );
    assert_eq!(
        misses[1].error(&s).to_string(),
        "write of 4 bytes at 0x1104 goes to memory the GPU may only read: \
         0x4 bytes into \"ro\" [0x1100, +0x40)"
    );
    assert!(!port.has_misses());
}

#[test]
fn a_port_follows_the_table() {
    let s = space();
    let mut port = CoherentPort::new(Arc::clone(&s));
    // Made after the port: found when an access misses.
    let new = s.allocate(AllocationDesc::new("new", 64)).unwrap();
    s.host().write_u32(new.range.start, 77).unwrap();
    let mut bytes = [0; 4];
    port.scalar(new.range.start, &mut bytes);
    assert_eq!((u32::from_le_bytes(bytes), port.has_misses()), (77, false));
    // Freed: the bytes stay until the port looks again.
    s.free(new.id).unwrap();
    port.scalar(new.range.start, &mut bytes);
    assert_eq!((u32::from_le_bytes(bytes), port.has_misses()), (77, false));
    assert!(port.refresh());
    assert!(!port.refresh());
    port.scalar(new.range.start, &mut bytes);
    assert_eq!(bytes, [0; 4]);
    let misses = port.take_misses();
    assert_eq!((misses[0].kind, misses[0].op), (AccessErrorKind::Freed, MissOp::Scalar));
}

#[test]
fn long_values_are_two_words() {
    let s = space();
    let mut port = CoherentPort::new(Arc::clone(&s));
    let o: Lanes = std::array::from_fn(|i| 16 * (i as u32 % 8));
    let data: [Lanes; 4] = std::array::from_fn(|c| std::array::from_fn(|i| (i * 10 + c) as u32));
    let m = LaneMask::first(8);
    port.store(&access(0x1000, 8, 0), &o, &[m, m], &data);
    let mut out = [[0; 64]; 4];
    port.load(&access(0x1000, 8, 0), &o, &[m, LaneMask(0b11)], &mut out);
    assert_eq!(out[0][..9], [0, 10, 20, 30, 40, 50, 60, 70, 0]);
    assert_eq!(out[1][7], 71);
    assert_eq!(out[3][..4], [3, 13, 0, 0]);
    assert_eq!(s.gpu().read_u64(GpuAddress(0x1018)), Ok(13 << 32 | 12));
}

#[test]
fn ports_of_two_threads_share_one_counter() {
    let s = space();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            let s = Arc::clone(&s);
            scope.spawn(move || {
                let mut port = CoherentPort::new(s);
                let mut seen = Vec::new();
                for _ in 0..500 {
                    let mut old = [0; 64];
                    let a = access(0x1000, 4, 0);
                    let all = LaneMask(u64::MAX);
                    port.atomic(&a, Atomic::Add, &[8; 64], all, &[1; 64], &[0; 64], &mut old);
                    seen.extend_from_slice(&old);
                    let (one, none) = ([[0; 64], [1; 64]], [[0; 64]; 2]);
                    let mut old = [[0; 64]; 2];
                    port.atomic64(&a, Atomic::Add, &[16; 64], all, &one, &none, &mut old);
                }
                assert!(seen.windows(2).all(|w| w[0] < w[1]));
            });
        }
    });
    assert_eq!(s.gpu().read_u32(GpuAddress(0x1008)), Ok(4 * 500 * 64));
    assert_eq!(s.gpu().read_u64(GpuAddress(0x1010)), Ok((4 * 500 * 64) << 32));
}
