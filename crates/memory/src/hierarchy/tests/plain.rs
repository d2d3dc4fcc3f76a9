//! Where no copy can be stale the caches must not show: programs against plain
//! memory.

use super::*;
use proptest::prelude::*;
use wavefence_base::Marked;

/// A request of a wave, or something that changes no value.
#[derive(Clone, Debug)]
pub(super) enum Step {
    Load { unit: u32, a: Access, offsets: Lanes, masks: Vec<LaneMask> },
    Store { unit: u32, a: Access, offsets: Lanes, masks: Vec<LaneMask>, data: u32 },
    Atomic { unit: u32, a: Access, op: Atomic, offsets: Lanes, mask: LaneMask, data: u32 },
    Atomic64 { unit: u32, a: Access, offsets: Lanes, mask: LaneMask, data: u32 },
    Scalar { unit: u32, at: u64 },
    Fence { unit: u32 },
    Land,
    Act(CacheAction, Option<GpuRange>),
}

/// [0x1000, 0x3000) writable but for [0x1100, 0x1144), then a hole, then
/// [0x3100, 0x3160).
pub(super) fn space() -> Arc<AddressSpace> {
    let s = AddressSpace::with_budget(&Profile::get(ProfileName::SeriesX), 1 << 20);
    let heap = s.allocate(AllocationDesc::new("heap", 0x2000).at(GpuAddress(0x1000))).unwrap();
    s.allocate(AllocationDesc::new("ro", 0x44).placed_in(heap.id, 0x100).read_only()).unwrap();
    s.allocate(AllocationDesc::new("far", 0x60).at(GpuAddress(0x3100))).unwrap();
    let bytes: Vec<u8> = (0..0x2000u32).map(|i| (i * 31 + i / 256) as u8 | 1).collect();
    s.host().write(GpuAddress(0x1000), &bytes).unwrap();
    Arc::new(s)
}

fn contents(s: &AddressSpace) -> Vec<u8> {
    let mut all = vec![0; 0x2060];
    s.host().read(GpuAddress(0x1000), &mut all[..0x2000]).unwrap();
    s.host().read(GpuAddress(0x3100), &mut all[0x2000..]).unwrap();
    all
}

/// Caches so small that lines go all the time.
pub(super) fn small(
    profile: ProfileName,
    passing: PassingStore,
    queue: u32,
) -> (Topology, CacheRules) {
    let profile = Profile::get(profile);
    let (mut topology, mut rules) = (Topology::of(&profile), CacheRules::of(&profile));
    for shape in &mut topology.shapes {
        shape.ways.value = 2;
        let line = u64::from(shape.line.value);
        // Three sets in L2: not a power of two.
        shape.bytes.value = line * if shape.class == CacheClass::L2 { 6 } else { 4 };
    }
    rules.switches.passing_store.value = passing;
    rules.switches.stores_in_flight = Marked { value: queue, ..rules.switches.stores_in_flight };
    (topology, rules)
}

fn lanes() -> impl Strategy<Value = Lanes> {
    let noise = proptest::collection::vec(0..0x2200u32, 64);
    (noise, 0..4u8, 0..0x2000u32, 0..24u32).prop_map(|(noise, kind, start, step)| {
        std::array::from_fn(|i| match kind {
            0 => noise[i],
            1 => start + step * i as u32,
            2 => start + 4 * i as u32,
            _ => start + noise[i] % 0x90,
        })
    })
}

fn masks() -> impl Strategy<Value = Vec<LaneMask>> {
    let full = Just(LaneMask(u64::MAX));
    let low = (1..64u32).prop_map(LaneMask::first);
    let any = any::<u64>().prop_map(LaneMask);
    let mask = prop_oneof![full, low, any];
    prop_oneof![
        3 => (mask.clone(), 1..=4usize).prop_map(|(m, n)| vec![m; n]),
        1 => proptest::collection::vec(mask, 1..=4),
    ]
}

fn request() -> impl Strategy<Value = Access> {
    let width = prop_oneof![Just(1u8), Just(2), Just(4), Just(4), Just(4), Just(8)];
    (0..0x40u64, width, any::<bool>(), any::<bool>(), any::<bool>()).prop_map(
        |(back, width, aligned, coherent, volatile)| {
            let base = 0x1000 - if aligned { back & !7 } else { back };
            Access { coherent, volatile, ..access(base, width) }
        },
    )
}

fn action() -> impl Strategy<Value = Step> {
    use CacheAction as A;
    let action = prop_oneof![
        Just(A::InvalidateL1),
        Just(A::InvalidateGl1),
        Just(A::InvalidateL2),
        Just(A::InvalidateL2Clean),
        Just(A::WritebackL2),
        Just(A::InvalidateK),
        Just(A::InvalidateL1Volatile),
        Just(A::InvalidateL2Volatile),
    ];
    let range = proptest::option::of((0x1000..0x3000u64, 0..0x400u64));
    (action, range).prop_map(|(action, range)| {
        Step::Act(action, range.map(|(at, len)| GpuRange::new(GpuAddress(at), len)))
    })
}

pub(super) fn step(units: u32) -> impl Strategy<Value = Step> {
    let op = prop_oneof![
        Just(Atomic::Add),
        Just(Atomic::SMin),
        Just(Atomic::Xor),
        Just(Atomic::Exchange),
        Just(Atomic::CompareExchange),
    ];
    let unit = 0..units;
    prop_oneof![
        6 => (unit.clone(), request(), lanes(), masks())
            .prop_map(|(unit, a, offsets, masks)| Step::Load { unit, a, offsets, masks }),
        6 => (unit.clone(), request(), lanes(), masks(), any::<u32>())
            .prop_map(|(unit, a, offsets, masks, data)| {
                Step::Store { unit, a, offsets, masks, data }
            }),
        2 => (unit.clone(), request(), op, lanes(), any::<u64>(), any::<u32>())
            .prop_map(|(unit, a, op, offsets, mask, data)| {
                Step::Atomic { unit, a, op, offsets, mask: LaneMask(mask), data }
            }),
        1 => (unit.clone(), request(), lanes(), any::<u64>(), any::<u32>())
            .prop_map(|(unit, a, offsets, mask, data)| {
                Step::Atomic64 { unit, a, offsets, mask: LaneMask(mask), data }
            }),
        1 => (unit.clone(), 0xFF0..0x3170u64).prop_map(|(unit, at)| Step::Scalar { unit, at }),
        1 => unit.prop_map(|unit| Step::Fence { unit }),
        1 => Just(Step::Land),
        2 => action(),
    ]
}

fn values(data: u32, n: usize) -> Vec<Lanes> {
    let value = |c: usize, i: usize| data.wrapping_mul((i * 4 + c + 1) as u32);
    (0..n).map(|c| std::array::from_fn(|i| value(c, i))).collect()
}

/// What a store writes. The plain port keeps to "the highest lane wins" only
/// among lanes that lie in one allocation, so where lanes overlap all bytes are
/// the same.
fn stored(data: u32, n: usize, a: &Access, offsets: &Lanes) -> Vec<Lanes> {
    let mut sorted = *offsets;
    sorted.sort_unstable();
    let bytes = n as u32 * u32::from(a.width.min(4));
    if sorted.windows(2).all(|w| w[1] - w[0] >= bytes) {
        values(data, n)
    } else {
        vec![[(data & 0xFF) * 0x0101_0101; 64]; n]
    }
}

/// Rows of `out` for a request.
fn rows(a: &Access, masks: &[LaneMask]) -> usize {
    if a.width == 8 { 2 * masks.len().min(2) } else { masks.len() }
}

/// Runs a step on a port; what it read.
pub(super) fn run(port: &mut dyn Port, step: &Step) -> Vec<Lanes> {
    match step {
        Step::Load { a, offsets, masks, .. } => {
            let n = rows(a, masks);
            let masks = if a.width == 8 { &masks[..n / 2] } else { masks };
            let mut out = vec![[5; 64]; n];
            port.load(a, offsets, masks, &mut out);
            out
        }
        Step::Store { a, offsets, masks, data, .. } => {
            let n = rows(a, masks);
            let masks = if a.width == 8 { &masks[..n / 2] } else { masks };
            port.store(a, offsets, masks, &stored(*data, n, a, offsets));
            Vec::new()
        }
        Step::Atomic { a, op, offsets, mask, data, .. } => {
            let mut old = [6; 64];
            let v = values(*data, 2);
            port.atomic(a, *op, offsets, *mask, &v[0], &v[1], &mut old);
            vec![old]
        }
        Step::Atomic64 { a, offsets, mask, data, .. } => {
            let mut old = [[6; 64]; 2];
            let v = values(*data, 2);
            let v = [v[0], v[1]];
            port.atomic64(a, Atomic::Add, offsets, *mask, &v, &v, &mut old);
            old.to_vec()
        }
        Step::Scalar { at, .. } => {
            let mut bytes = [0; 24];
            port.scalar(GpuAddress(*at), &mut bytes);
            vec![std::array::from_fn(|i| u32::from(bytes[i % 24]))]
        }
        Step::Fence { .. } => {
            port.fence();
            Vec::new()
        }
        Step::Land | Step::Act(..) => Vec::new(),
    }
}

pub(super) fn unit_of(step: &Step) -> Option<u32> {
    match step {
        Step::Load { unit, .. }
        | Step::Store { unit, .. }
        | Step::Atomic { unit, .. }
        | Step::Atomic64 { unit, .. }
        | Step::Scalar { unit, .. }
        | Step::Fence { unit } => Some(*unit),
        Step::Land | Step::Act(..) => None,
    }
}

/// Everything written back and dropped.
fn flush(h: &mut Hierarchy) {
    h.land(Land::All);
    for action in [
        CacheAction::InvalidateL1,
        CacheAction::InvalidateK,
        CacheAction::InvalidateI,
        CacheAction::InvalidateL2,
    ] {
        h.act(action, None);
    }
}

/// Runs `steps` on both; `between` each.
fn compare(
    steps: &[Step],
    (topology, rules): (Topology, CacheRules),
    recording: bool,
    between: impl Fn(&mut Hierarchy, &Step),
) -> Result<(), TestCaseError> {
    let (cached, plain) = (space(), space());
    let mut h = Hierarchy::new(Arc::clone(&cached), topology, rules);
    h.set_recording(recording);
    let mut port = CoherentPort::new(Arc::clone(&plain));
    for (i, step) in steps.iter().enumerate() {
        between(&mut h, step);
        if let Some(unit) = unit_of(step) {
            let got = run(&mut h.port(wave(unit)), step);
            let want = run(&mut port, step);
            prop_assert_eq!(got, want, "step {} {:?}", i, step);
        }
        match step {
            Step::Land => h.land(Land::All),
            Step::Act(action, range) => {
                h.act(*action, *range);
            }
            _ => {}
        }
        let kinds = |mut m: Vec<MissRecord>| {
            m.sort_by_key(|m| (m.op, m.loc, m.kind as u8));
            m.iter().map(|m| (m.op, m.kind, m.loc)).collect::<Vec<_>>()
        };
        prop_assert_eq!(kinds(h.take_misses()), kinds(port.take_misses()), "step {:?}", step);
    }
    flush(&mut h);
    prop_assert_eq!(contents(&cached), contents(&plain));
    prop_assert!(h.take_lost().is_empty());
    Ok(())
}

pub(super) fn profile() -> impl Strategy<Value = ProfileName> {
    prop_oneof![Just(ProfileName::XboxOne), Just(ProfileName::XboxOneX), Just(ProfileName::SeriesX)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// One unit, no client that goes around its caches: it never sees them.
    /// Scalar reads take another way than stores, so K$ is dropped before them.
    #[test]
    fn one_unit_sees_plain_memory(
        steps in proptest::collection::vec(step(1), 1..40),
        profile in profile(),
        passing in prop_oneof![Just(PassingStore::Drop), Just(PassingStore::Update)],
        queue in 1..9u32,
        recording in any::<bool>(),
    ) {
        compare(&steps, small(profile, passing, queue), recording, |h, step| {
            if matches!(step, Step::Scalar { .. }) {
                h.land(Land::All);
                h.act(CacheAction::InvalidateK, None);
                h.act(CacheAction::InvalidateGl1, None);
            }
        })?;
    }

    /// Several units with everything flushed between their requests.
    #[test]
    fn flushed_units_see_plain_memory(
        steps in proptest::collection::vec(step(6), 1..25),
        profile in profile(),
        passing in prop_oneof![
            Just(PassingStore::Leave), Just(PassingStore::Drop), Just(PassingStore::Update)
        ],
    ) {
        compare(&steps, small(profile, passing, 64), false, |h, _| flush(h))?;
    }

    /// The smallest that must do: the writer's stores landed, the reader's own
    /// caches dropped (caches.md 6.1 rows 1 and 2).
    #[test]
    fn units_that_wait_and_invalidate_see_plain_memory(
        steps in proptest::collection::vec(step(6), 1..25),
        profile in profile(),
    ) {
        compare(&steps, small(profile, PassingStore::Drop, 64), true, |h, step| {
            h.land(Land::All);
            h.act(CacheAction::InvalidateL1, None);
            if matches!(step, Step::Scalar { .. }) {
                h.act(CacheAction::InvalidateK, None);
            }
        })?;
    }
}
