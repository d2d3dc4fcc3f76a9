//! Going back: whatever a checker heard in between, it judges as it did the first time.

mod script;

use proptest::prelude::*;
use script::*;
use wavefence_base::{
    AccessKind, CacheAction, Engine, Event, GpuAddress, GpuRange, Level, ProfileName,
};
use wavefence_check::Hazard;

/// One thing that happens: which, where, and how many bytes.
type Deed = (u8, u8, u64, u32);

fn deeds() -> impl Strategy<Value = Vec<Deed>> {
    let at = prop_oneof![4080..4112u64, 0..64u64, 8000..8200u64];
    prop::collection::vec((0u8..28, 0u8..4, at, 1u32..40), 0..40)
}

/// What runs, with the dispatches that are open.
#[derive(Clone)]
struct Play {
    script: Script,
    waves: Vec<W>,
}

impl Play {
    fn new(profile: ProfileName) -> Self {
        let mut script = Script::new(profile);
        for queue in [GFX, CS1] {
            script.submit(queue);
        }
        let waves = vec![script.dispatch(GFX), script.dispatch(CS1)];
        Self { script, waves }
    }

    fn does(&mut self, &(kind, which, at, len): &Deed) {
        let (s, queue) = (&mut self.script, [GFX, CS1, CS2, DMA][usize::from(which)]);
        let open = self.waves.len();
        let w = self.waves[usize::from(which) % open].group(len % 3).wave(len % 2);
        let memory = [X, Y][usize::from(which) % 2] + at;
        let actions = match which {
            0 => vec![CacheAction::InvalidateL1, CacheAction::InvalidateK],
            1 => vec![CacheAction::WritebackL2],
            2 => vec![CacheAction::InvalidateL2, CacheAction::InvalidateI],
            _ => vec![CacheAction::FlushColorData, CacheAction::InvalidateL1],
        };
        match kind {
            0..=3 => drop(s.read(w, memory, len)),
            4..=7 => drop(s.write(w, memory, len)),
            8 => drop(s.constants(w, memory, len)),
            9 => drop(s.atomic(w, memory / 4 * 4)),
            10 => drop(s.coherent_read(w, memory, len)),
            11 => drop(s.coherent_write(w, memory, len)),
            12 => drop(s.fence(w)),
            13 => drop(s.host_write(memory, len)),
            14 => drop(s.host_read(memory, len)),
            15 => {
                if open > 2 {
                    let w = self.waves.remove(usize::from(which) % open);
                    s.end(w);
                }
            }
            16 => {
                let w = s.dispatch(queue);
                self.waves.push(w);
            }
            17 => s.submit(queue),
            18 => s.done(queue),
            19 => drop(s.wait_shaders(queue)),
            20 => drop(s.flush_range(
                queue,
                &actions,
                (len > 20).then(|| GpuRange::new(GpuAddress(memory), u64::from(len) * 64)),
            )),
            21 => {
                let level = [Level::ShadersDone, Level::WrittenBack, Level::Confirmed];
                s.signal(queue, V, level[len as usize % 3], &actions);
            }
            22 => s.wait(queue, V),
            23 => s.sdma_copy(X + at, Y + at, len),
            24 => {
                let packet = s.packet(queue, "DMA_DATA");
                let (engine, level) = (Engine::Mec, Level::CpDma);
                s.event(Event::Reached { queue, packet, engine, level });
            }
            25 => {
                let range = GpuRange::new(GpuAddress(memory), u64::from(len) * 8);
                s.checker.allocated(range, which == 0);
                if which == 1 {
                    s.checker.freed(range);
                }
            }
            _ => {
                let kind = if which == 2 { AccessKind::Read } else { AccessKind::Write };
                s.shared(w.group(0), kind, u64::from(len / 2 % 4) * 4);
            }
        }
    }

    /// Everything it finds on the way and at the end.
    fn tell(&mut self, deeds: &[Deed]) -> Vec<Hazard> {
        let mut told = Vec::new();
        for deed in deeds {
            self.does(deed);
            told.extend(self.script.hazards());
        }
        told.extend(self.script.checker.hazards());
        told
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn a_run_after_going_back_is_judged_as_the_first_one(
        before in deeds(),
        runs in prop::collection::vec(deeds(), 1..4),
        series in any::<bool>(),
    ) {
        let profile = if series { ProfileName::SeriesX } else { ProfileName::XboxOne };
        let make = || {
            let mut play = Play::new(profile);
            play.tell(&before);
            play
        };
        let wanted: Vec<_> = runs.iter().map(|deeds| make().tell(deeds)).collect();
        let marked = make();
        marked.script.checker.checkpoint();
        for _ in 0..2 {
            for (deeds, wanted) in runs.iter().zip(&wanted) {
                prop_assert_eq!(&marked.clone().tell(deeds), wanted);
                prop_assert!(marked.script.checker.restore());
            }
        }
        // A later mark takes the place of the first.
        let mut later = marked.clone();
        later.tell(&runs[0]);
        later.script.checker.checkpoint();
        let wanted = later.clone().tell(&runs[0]);
        prop_assert!(later.script.checker.restore());
        prop_assert_eq!(later.clone().tell(&runs[0]), wanted);
    }
}

#[test]
fn without_a_checkpoint_nothing_goes_back() {
    let mut play = Play::new(ProfileName::XboxOne);
    let (a, b) = (play.waves[0], play.waves[1]);
    play.script.write(a, X, 4);
    assert!(!play.script.checker.restore());
    play.script.read(b, X, 4);
    assert!(!play.script.errors().is_empty());
}
