//! Going back: whatever ran in between, the next run is the first one.

use super::plain::{Step, profile, run, small, space, step, unit_of};
use super::*;
use proptest::prelude::*;

/// A step of a run, or something that the host does between.
#[derive(Clone, Debug)]
enum Deed {
    Step(Box<Step>),
    HostWrite(u64, u8),
    Allocate(u64),
    Free(usize),
}

fn deed() -> impl Strategy<Value = Deed> {
    prop_oneof![
        8 => step(4).prop_map(|s| Deed::Step(Box::new(s))),
        1 => (0x1000..0x2F80u64, any::<u8>()).prop_map(|(at, v)| Deed::HostWrite(at, v)),
        1 => (1..0x3000u64).prop_map(Deed::Allocate),
        1 => (0..6usize).prop_map(Deed::Free),
    ]
}

fn deeds() -> impl Strategy<Value = Vec<Deed>> {
    proptest::collection::vec(deed(), 0..14)
}

/// Does everything and tells all that can be seen of it.
fn tell(h: &mut Hierarchy, deeds: &[Deed]) -> Vec<String> {
    let mut told = Vec::new();
    for deed in deeds {
        told.push(match deed {
            Deed::Step(step) => {
                let got = unit_of(step).map(|unit| run(&mut h.port(wave(unit)), step));
                let cost = match &**step {
                    Step::Land => {
                        h.land(Land::All);
                        None
                    }
                    Step::Act(action, range) => Some(h.act(*action, *range)),
                    _ => None,
                };
                format!("{got:?} {cost:?}")
            }
            Deed::HostWrite(at, value) => {
                let host = engine(Client::Host);
                format!("{:?}", h.write(host, GpuAddress(*at), &[*value; 100]))
            }
            Deed::Allocate(bytes) => {
                format!("{:?}", h.space().allocate(AllocationDesc::new("more", *bytes)))
            }
            Deed::Free(nth) => {
                let all = h.space().allocations();
                format!("{:?}", h.space().free(all[nth % all.len()].id))
            }
        });
        told.push(format!("{:?} {:?} {}", h.take_misses(), h.take_lost(), h.seq()));
        h.drain(|access| told.push(format!("{access:?}")));
    }
    for class in CacheClass::ALL {
        told.push(format!("{class:?}: {}", h.lines(class)));
    }
    // What is on its way and dirty comes out last.
    h.land(Land::All);
    told.push(format!("{:?}", h.act(CacheAction::InvalidateL2, None)));
    for a in h.space().allocations() {
        let mut bytes = vec![0; a.range.len as usize];
        let read = h.space().host().read(a.range.start, &mut bytes);
        told.push(format!("{a:?} {read:?} {bytes:?}"));
    }
    told
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn a_run_after_going_back_is_the_first_one(
        before in deeds(),
        runs in proptest::collection::vec(deeds(), 1..4),
        profile in profile(),
        recording in any::<bool>(),
        settled in any::<bool>(),
    ) {
        let passing = PassingStore::Update;
        let make = || {
            let (topology, rules) = small(profile, passing, 4);
            let mut h = Hierarchy::new(space(), topology, rules);
            h.set_recording(recording);
            tell(&mut h, if settled { &before } else { &[] });
            for deed in before.iter().filter(|_| !settled) {
                // Stores stay on their way, records and misses untaken.
                if let Deed::Step(step) = deed && let Some(unit) = unit_of(step) {
                    run(&mut h.port(wave(unit)), step);
                }
            }
            h
        };
        let wanted: Vec<_> = runs.iter().map(|deeds| tell(&mut make(), deeds)).collect();
        let mut h = make();
        h.space().checkpoint();
        h.checkpoint();
        for _ in 0..2 {
            for (deeds, wanted) in runs.iter().zip(&wanted) {
                prop_assert_eq!(&tell(&mut h, deeds), wanted);
                prop_assert!(h.space().restore() && h.restore());
            }
        }
        // A later mark takes the place of the first.
        tell(&mut h, &runs[0]);
        h.space().checkpoint();
        h.checkpoint();
        let wanted = tell(&mut h, &runs[0]);
        prop_assert!(h.space().restore() && h.restore());
        prop_assert_eq!(tell(&mut h, &runs[0]), wanted);
    }
}

#[test]
fn without_a_checkpoint_nothing_goes_back() {
    let mut h = device(ProfileName::SeriesX);
    h.landed_store1(0, 0x1000, 5);
    assert!(!h.space().restore() && !h.restore());
    assert_eq!(h.load1(0, 0x1000), 5);
}
