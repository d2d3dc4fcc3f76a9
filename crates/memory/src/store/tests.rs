#![allow(clippy::needless_range_loop, reason = "lanes index several arrays")]
use super::*;
use crate::port::Lanes;
use proptest::prelude::*;
use wavefence_base::LaneMask;

const LEN: u64 = 1024;

fn filled() -> Store {
    let store = Store::new(LEN).unwrap();
    let w = store.window(0, LEN).unwrap();
    for i in 0..LEN {
        w.store_u8(i, (i * 7 + i / 256) as u8);
    }
    store
}

fn bytes(store: &Store) -> Vec<u8> {
    let mut out = vec![0; LEN as usize];
    assert!(store.window(0, LEN).unwrap().read(0, &mut out));
    out
}

#[test]
fn big_stores_are_lazy_and_zero() {
    let store = Store::new(8 << 30).unwrap();
    let w = store.window(5 << 30, 64).unwrap();
    assert_eq!(w.load_u64(0, Ordering::Relaxed), Some(0));
    assert!(w.store_u64(3, 0x0102_0304_0506_0708, Ordering::Relaxed));
    assert_eq!(w.load_u8(3), Some(8));
    assert!(store.window(8 << 30, 1).is_none());
    assert!(store.window(u64::MAX, 2).is_none());
    assert!(w.load_u32(61, Ordering::Relaxed).is_none());
    assert!(!w.store_u32(61, 1, Ordering::Relaxed));
}

#[test]
fn every_atomic_gives_old_and_writes_new() {
    let store = Store::new(16).unwrap();
    let w = store.window(0, 16).unwrap();
    let start = 0x8000_0005u32;
    for (op, want) in [
        (Atomic::Add, 0x8000_0008),
        (Atomic::Sub, 0x8000_0002),
        (Atomic::And, 1),
        (Atomic::Or, 0x8000_0007),
        (Atomic::Xor, 0x8000_0006),
        (Atomic::UMin, 3),
        (Atomic::UMax, start),
        (Atomic::SMin, start),
        (Atomic::SMax, 3),
        (Atomic::Exchange, 3),
        (Atomic::CompareExchange, 3),
    ] {
        w.store_u32(4, start, Ordering::Relaxed);
        assert_eq!(w.atomic_u32(op, 4, 3, start), Some(start), "{op:?}");
        assert_eq!(w.load_u32(4, Ordering::Relaxed), Some(want), "{op:?}");
        let (low, high) = (7u64, u64::from(start) << 32);
        w.store_u64(8, high | low, Ordering::Relaxed);
        assert_eq!(w.atomic_u64(op, 8, 3, high | low), Some(high | low), "{op:?}");
    }
    w.store_u32(4, 9, Ordering::Relaxed);
    assert_eq!(w.atomic_u32(Atomic::CompareExchange, 4, 1, 8), Some(9));
    assert_eq!(w.load_u32(4, Ordering::Relaxed), Some(9));
    assert_eq!(w.atomic_u32(Atomic::Add, 6, 1, 0), None);
    assert_eq!(w.atomic_u64(Atomic::Add, 12, 1, 0), None);
}

#[test]
fn threads_lose_no_atomic_and_tear_no_word() {
    let store = Store::new(64).unwrap();
    std::thread::scope(|s| {
        for t in 0..4u64 {
            let store = &store;
            s.spawn(move || {
                let w = store.window(0, 64).unwrap();
                let value = [t as u32 * 0x1111_1111; 64];
                let offsets = std::array::from_fn(|i| 32 + 4 * (i as u32 % 8));
                for _ in 0..2000 {
                    w.atomic_u32(Atomic::Add, 0, 1, 0);
                    w.atomic_u64(Atomic::Add, 8, 1 << 31, 0);
                    w.store_u64(16, t << 32 | t, Ordering::Relaxed);
                    w.store_wave(4, &offsets, LaneMask::first(8), &[value]);
                    let v = w.load_u64(16, Ordering::Relaxed).unwrap();
                    assert_eq!(v >> 32, v & 0xFFFF_FFFF);
                    let mut out = [[0; 64]];
                    w.load_wave(4, &offsets, LaneMask::first(8), &mut out);
                    assert!(out[0][..8].iter().all(|v| v % 0x1111_1111 == 0));
                }
            });
        }
    });
    let w = store.window(0, 64).unwrap();
    assert_eq!(w.load_u32(0, Ordering::Relaxed), Some(8000));
    assert_eq!(w.load_u64(8, Ordering::Relaxed), Some(8000 << 31));
}

/// Offsets of the shapes that the fast paths look for, and of none.
fn offsets() -> impl Strategy<Value = Lanes> {
    let noise = proptest::collection::vec(0..1100u32, 64);
    (noise, 0..6u32, 0..256u32, prop_oneof![Just(4u32), Just(8), Just(12), Just(16), Just(0)])
        .prop_map(|(noise, shape, start, step)| {
            std::array::from_fn(|i| match shape {
                0 => noise[i],
                1 => (noise[i] % 200) & !3,
                // Some chunks broken, some not.
                2 if noise[i / 8] % 3 == 0 => noise[i] % 900,
                // Wraps around at the end of the offsets.
                3 => (u32::MAX - start).wrapping_add(step * i as u32),
                _ => start + step * i as u32,
            })
        })
}

fn mask() -> impl Strategy<Value = LaneMask> {
    prop_oneof![
        Just(LaneMask(u64::MAX)),
        Just(LaneMask::first(32)),
        any::<u64>().prop_map(LaneMask),
        (any::<u64>(), any::<u64>()).prop_map(|(a, b)| LaneMask(a & b)),
        (0..64u32).prop_map(LaneMask::first),
    ]
}

fn width() -> impl Strategy<Value = u8> {
    prop_oneof![Just(1u8), Just(2), Just(4), Just(4), Just(4), Just(8)]
}

proptest! {
    #[test]
    fn loads_match_bytes(o in offsets(), m in mask(), n in 1..=8usize, w in width(), len in 0..=LEN) {
        let store = filled();
        let bytes = bytes(&store);
        let mut out = vec![[0xDEAD; 64]; n];
        let missed = store.window(0, len).unwrap().load_wave(w, &o, m, &mut out);
        let step = u64::from(w.min(4));
        for lane in 0..64 {
            let at = u64::from(o[lane as usize]);
            let inside = at + step * n as u64 <= len;
            prop_assert_eq!(missed.contains(lane), m.contains(lane) && !inside);
            for (c, out) in out.iter().enumerate() {
                let mut want = [0; 4];
                if m.contains(lane) && inside {
                    for i in 0..step {
                        want[i as usize] = bytes[(at + step * c as u64 + i) as usize];
                    }
                }
                prop_assert_eq!(out[lane as usize], u32::from_le_bytes(want), "lane {} {}", lane, c);
            }
        }
    }

    #[test]
    fn stores_match_lane_order(o in offsets(), m in mask(), n in 1..=5usize, w in width()) {
        let store = filled();
        let mut want = bytes(&store);
        let data: Vec<Lanes> =
            (0..n).map(|c| std::array::from_fn(|i| (i * 0x0301_0507 + c * 0x1000_0001) as u32)).collect();
        // The last 100 bytes lie outside the window and must not change.
        let missed = store.window(0, LEN - 100).unwrap().store_wave(w, &o, m, &data);
        let step = usize::from(w.min(4));
        for part in (0..n).collect::<Vec<_>>().chunks(if w < 4 { n } else { 4 }) {
            for lane in 0..64 {
                let at = o[lane] as usize;
                if !m.contains(lane as u32) { continue; }
                let inside = at + step * n <= LEN as usize - 100;
                prop_assert_eq!(missed.contains(lane as u32), !inside);
                for &c in part {
                    for i in 0..step {
                        let to = at + step * c + i;
                        if inside {
                            want[to] = data[c][lane].to_le_bytes()[i];
                        }
                    }
                }
            }
        }
        prop_assert_eq!(bytes(&store), want);
    }

    #[test]
    fn both_paths_do_the_same(o in offsets(), m in mask(), n in 1..=4usize) {
        let (a, b) = (filled(), filled());
        let (wa, wb) = (a.window(0, 900).unwrap(), b.window(0, 900).unwrap());
        let (mut x, mut y) = (vec![[1; 64]; n], vec![[2; 64]; n]);
        prop_assert_eq!(wa.load_wave(4, &o, m, &mut x), wb.load_words_portable(&o, m, &mut y));
        prop_assert_eq!(&x, &y);
        let data: Vec<Lanes> = (0..n).map(|c| std::array::from_fn(|i| (i * 77 + c) as u32)).collect();
        prop_assert_eq!(wa.store_wave(4, &o, m, &data), wb.store_words_portable(&o, m, &data));
        prop_assert_eq!(bytes(&a), bytes(&b));
    }

    #[test]
    fn atomics_match_lane_order(o in offsets(), m in mask(), v in any::<[u32; 32]>(), add in any::<bool>()) {
        let store = filled();
        let w = store.window(0, LEN).unwrap();
        let value: Lanes = std::array::from_fn(|i| v[i % 32]);
        let op = if add { Atomic::Add } else { Atomic::SMax };
        let mut old = [0xDEAD; 64];
        let twin = filled();
        let t = twin.window(0, LEN).unwrap();
        let missed = w.atomic_wave(op, &o, m, &value, &[0; 64], &mut old);
        for lane in 0..64usize {
            let got = if m.contains(lane as u32) {
                t.atomic_u32(op, u64::from(o[lane]), value[lane], 0)
            } else { None };
            prop_assert_eq!(missed.contains(lane as u32), m.contains(lane as u32) && got.is_none());
            prop_assert_eq!(old[lane], got.unwrap_or(0xDEAD));
        }
        prop_assert_eq!(bytes(&store), bytes(&twin));
    }

    #[test]
    fn bulk_moves_match_a_vector(from in 0..LEN, to in 0..LEN, len in 0..LEN, value in any::<u32>()) {
        let store = filled();
        let mut want = bytes(&store);
        let w = store.window(0, LEN).unwrap();
        let fits = from.max(to) + len <= LEN;
        prop_assert_eq!(copy(w.tail(from), w.tail(to), len), fits);
        if fits {
            want.copy_within(from as usize..(from + len) as usize, to as usize);
        }
        prop_assert_eq!(&bytes(&store), &want);
        if w.fill(to, len, value) {
            for i in 0..len {
                want[(to + i) as usize] = value.to_le_bytes()[(i % 4) as usize];
            }
        }
        prop_assert_eq!(&bytes(&store), &want);
    }
}

/// A way to write, at an offset, and what it writes.
type Write = (&'static str, fn(&Store, u64, u64));

/// Every way to write.
const WRITES: [Write; 11] = [
    ("store_u8", |s, at, v| assert!(whole(s).store_u8(at, v as u8))),
    ("store_u32", |s, at, v| assert!(whole(s).store_u32(at & !3, v as u32, Ordering::Relaxed))),
    ("store_u64", |s, at, v| assert!(whole(s).store_u64(at, v, Ordering::Relaxed))),
    ("write", |s, at, v| assert!(whole(s).write(at, &v.to_le_bytes()[..7]))),
    ("fill", |s, at, v| assert!(whole(s).fill(at, 5000, v as u32))),
    ("atomic_u32", |s, at, v| {
        whole(s).atomic_u32(Atomic::Xor, at & !3, v as u32, 0).unwrap();
    }),
    ("atomic_u64", |s, at, v| {
        whole(s).atomic_u64(Atomic::Add, at & !7, v, 0).unwrap();
    }),
    ("copy", |s, at, v| assert!(copy(whole(s).tail(v % 9000), whole(s).tail(at), 4500))),
    ("store_wave of words", |s, at, v| {
        let offsets = std::array::from_fn(|i| (i as u32 * 131) & !3);
        let data = [[v as u32; 64]; 2];
        whole(s).tail(at).store_wave(4, &offsets, LaneMask(v | 1), &data[..1 + (v % 2) as usize]);
    }),
    ("store_wave in a row", |s, at, v| {
        let offsets = std::array::from_fn(|i| i as u32 * 16);
        whole(s).tail(at & !3).store_wave(4, &offsets, LaneMask(u64::MAX), &[[v as u32; 64]; 4]);
    }),
    ("store_wave of bytes", |s, at, v| {
        let offsets = std::array::from_fn(|i| i as u32 * 77);
        whole(s).tail(at).store_wave(1, &offsets, LaneMask(v), &[[v as u32; 64]]);
    }),
];

const BIG: u64 = 5 * 4096 + 100;

fn whole(store: &Store) -> Window<'_> {
    store.window(0, BIG).unwrap()
}

fn all_bytes(store: &Store) -> Vec<u8> {
    let mut out = vec![0; BIG as usize];
    assert!(whole(store).read(0, &mut out));
    out
}

proptest! {
    #[test]
    fn restore_takes_back_every_kind_of_write(
        before in proptest::collection::vec((0..WRITES.len(), 0..3 * 4096u64, any::<u64>()), 0..6),
        runs in proptest::collection::vec(
            proptest::collection::vec((0..WRITES.len(), 0..3 * 4096u64, any::<u64>()), 0..6), 1..4,
        ),
    ) {
        let store = Store::new(BIG).unwrap();
        let write = |list: &[(usize, u64, u64)]| {
            for &(kind, at, value) in list {
                (WRITES[kind].1)(&store, at, value);
            }
        };
        write(&before);
        store.checkpoint();
        let then = all_bytes(&store);
        for list in &runs {
            write(list);
            store.restore();
            prop_assert_eq!(all_bytes(&store), then.clone(), "{:?}", list);
        }
        write(&runs[0]);
        store.checkpoint();
        let then = all_bytes(&store);
        write(&before);
        store.restore();
        prop_assert_eq!(all_bytes(&store), then);
    }
}

#[test]
fn every_way_to_write_is_taken_back() {
    for (name, write) in WRITES {
        let store = Store::new(BIG).unwrap();
        store.checkpoint();
        write(&store, 4093, 0x0102_0304_0506_0709);
        let changed = all_bytes(&store).iter().any(|&b| b != 0);
        // Of zeroes a copy makes zeroes.
        assert!(changed || name == "copy", "{name}");
        store.restore();
        assert!(all_bytes(&store).iter().all(|&b| b == 0), "{name}");
    }
}

#[test]
fn threads_write_one_page_and_it_goes_back() {
    let store = Store::new(BIG).unwrap();
    assert!(whole(&store).fill(0, BIG, 0x0101_0101));
    store.checkpoint();
    for _ in 0..50 {
        std::thread::scope(|scope| {
            for thread in 0..4u64 {
                let store = &store;
                scope.spawn(move || {
                    for i in 0..100 {
                        whole(store).store_u32(16 * i + 4 * thread, 7, Ordering::Relaxed);
                    }
                });
            }
        });
        store.restore();
        assert!(all_bytes(&store).iter().all(|&b| b == 1));
    }
}
