//! Runs whose steps somebody chooses: what is offered, that time's own choice is first,
//! and that steps which share nothing may change places.

use super::fake::{self, Op};
use super::rig::{COMPUTE, COMPUTE2, DMA, GFX, List, PROFILES, Rig};
use crate::{LoadedKernel, Outcome, QueueKind, RunMode};
use std::sync::{Arc, Mutex};
use wavefence_base::schedule::{Footprint, HostTurn, Resource, Schedule, Step, Touch};
use wavefence_base::{CacheClass, Event, Generation, GpuAddress, ProfileName};
use wavefence_memory::Land;
use wavefence_pm4::{Field, Kind, coher, function, gcr, sel};

/// A step that was taken: what was offered, which it was, what it touched.
#[derive(Clone)]
struct Taken {
    offered: Vec<Step>,
    step: Step,
    footprint: Footprint,
}

/// What a player plays, and what came of it.
#[derive(Default)]
struct Tape {
    /// Steps to take, by name.
    plan: Vec<Step>,
    /// Then: random, or as time goes.
    seed: Option<u64>,
    /// Steps after which it has seen enough; 0: none.
    enough: usize,
    evictions: u32,
    footprints: bool,
    taken: Vec<Taken>,
    /// A planned step was not offered.
    lost: bool,
}

struct Player(Arc<Mutex<Tape>>);

fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let z = (*state ^ *state >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z ^ z >> 27
}

impl Schedule for Player {
    fn choose(&mut self, options: &[Step]) -> usize {
        let tape = &mut *self.0.lock().unwrap();
        let mut names = options.to_vec();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), options.len(), "a step twice: {options:?}");
        let at = match (tape.plan.get(tape.taken.len()), &mut tape.seed) {
            (Some(wanted), _) => {
                let at = options.iter().position(|s| s == wanted);
                tape.lost |= at.is_none();
                at.unwrap_or(0)
            }
            (None, Some(state)) => random(state) as usize % options.len(),
            (None, None) => 0,
        };
        let step = options[at];
        if matches!(step, Step::Evict(..)) {
            tape.evictions -= 1;
        }
        let footprint = Footprint::default();
        tape.taken.push(Taken { offered: names, step, footprint });
        at
    }

    fn evictions(&mut self) -> u32 {
        self.0.lock().unwrap().evictions
    }

    fn wants_footprints(&self) -> bool {
        self.0.lock().unwrap().footprints
    }

    fn done(&mut self, footprint: &Footprint) {
        self.0.lock().unwrap().taken.last_mut().unwrap().footprint = footprint.clone();
    }

    fn enough(&mut self) -> bool {
        let tape = self.0.lock().unwrap();
        tape.taken.len() == tape.enough
    }
}

/// Lets a tape choose.
fn attach(rig: &mut Rig, tape: Tape) -> Arc<Mutex<Tape>> {
    let tape = Arc::new(Mutex::new(tape));
    rig.device.set_schedule(Some(Box::new(Player(tape.clone()))));
    tape
}

const QUEUES: [QueueKind; 4] = [GFX, COMPUTE, COMPUTE2, DMA];

/// An acquire of every cache.
fn acquire(list: List) -> List {
    let gfx10 = list.generation == Generation::Gfx10_3;
    let bits = if gfx10 {
        (Field::Gcr, u64::from(gcr::GLV_INV | gcr::GL1_INV | gcr::GLK_INV | gcr::GL2_WB))
    } else {
        let l1 = coher::TCL1_ACTION_ENA | coher::SH_KCACHE_ACTION_ENA;
        (Field::Coher, u64::from(l1 | coher::TC_WB_ACTION_ENA))
    };
    let all = [bits, (Field::CoherBase, 0), (Field::CoherSize, 0xFFFF_FFFF << 8)];
    let surface_sync = !gfx10 && list.kind == GFX;
    list.packet(if surface_sync { Kind::SurfaceSync } else { Kind::AcquireMem }, &all)
}

/// One command of a random list.
fn command(list: List, kernels: [LoadedKernel; 2], data: GpuAddress, state: &mut u64) -> List {
    let mut pick = |n: u64| random(state) % n;
    let slot = |n: u64| data.offset(n * 64);
    let (value, at) = (pick(1000) + 1, slot(pick(6)));
    if list.kind == DMA {
        let bytes =
            (Field::ByteCount, if list.generation == Generation::Gfx10_3 { 63 } else { 64 });
        return match pick(3) {
            0 => list.write(at, &[value as u32]),
            1 => {
                let from = (Field::Src, slot(pick(6)).0);
                list.packet(Kind::SdmaCopyLinear, &[from, (Field::Dst, at.0), bytes])
            }
            _ => list.signal(at, value, 4),
        };
    }
    match pick(10) {
        0 => list.write(at, &[value as u32]),
        1 => list.signal(at, value, 4),
        2 => acquire(list),
        3 => list.flush_cs(),
        4 => list.wait(slot(8 + pick(2)), function::GREATER_EQUAL, pick(2), 4),
        5 => list.signal(slot(8 + pick(2)), value, 4),
        6 => list.packet(
            Kind::DmaData,
            &[
                (Field::SrcSel, sel::dma_src::DATA.into()),
                (Field::Data, value),
                (Field::Dst, at.0),
                (Field::ByteCount, 64),
            ],
        ),
        _ => {
            let waves = pick(2) as usize;
            let size = [64 << waves, 1, 1];
            let mut ops: Vec<u32> = (0..1 + pick(3))
                .map(|_| Op::ALL[pick(9) as usize].word(pick(6) as u32, pick(1000) as u32))
                .collect();
            ops.resize(12, 0);
            ops.push(pick(16) as u32);
            let first = wavefence_pm4::reg::COMPUTE_USER_DATA_2;
            list.bind(kernels[waves], size, data)
                .set_sh(first, &ops)
                .dispatch([1 + pick(2) as u32, 1, 1], 4)
        }
    }
}

/// A device with a random list on each of its queues, and where their data lies.
fn device(profile: ProfileName, seed: u64, entry: &str) -> (Rig, GpuAddress) {
    let mut rig = Rig::new(profile, RunMode::Model);
    let data = rig.buffer("data", 1 << 14);
    let kernels = [64, 128].map(|threads| {
        let mut kernel = fake::named(entry, [threads, 1, 1]);
        kernel.lds_bytes = 4;
        rig.load(kernel)
    });
    let mut state = seed;
    for kind in QUEUES {
        let mut list = rig.list(kind);
        for _ in 0..1 + random(&mut state) % 4 {
            list = command(list, kernels, data, &mut state);
        }
        rig.submit(list);
    }
    (rig, data)
}

/// What a device holds: every line of every cache, and its data in memory.
#[derive(Debug, PartialEq)]
struct Held {
    lines: Vec<(CacheClass, u32, u64, u128, u128, Vec<u8>)>,
    memory: Vec<u8>,
}

fn held(rig: &mut Rig, data: GpuAddress) -> Held {
    let mut lines = Vec::new();
    let caches = rig.device.core_mut().bus.caches().unwrap();
    caches.each_line(|(class, instance), at, valid, dirty, bytes| {
        let there = |(i, &b): (usize, &u8)| if valid >> i & 1 != 0 { b } else { 0 };
        let bytes = bytes.iter().enumerate().map(there).collect();
        lines.push((class, instance, at.0, valid, dirty, bytes));
    });
    lines.sort_unstable();
    let mut memory = vec![0; 1 << 14];
    rig.device.host_read(data, &mut memory).unwrap();
    Held { lines, memory }
}

#[test]
fn the_first_choice_is_times_own() {
    let run = |profile, seed, tape: Option<Tape>| {
        let (mut rig, data) = device(profile, seed, "script_whole");
        if let Some(tape) = tape {
            attach(&mut rig, tape);
        }
        let outcome = rig.run();
        (outcome, rig.log.events(), rig.device.cycles(), held(&mut rig, data))
    };
    for seed in 0..60 {
        let profile = PROFILES[seed as usize % 3];
        let plain = run(profile, seed, None);
        for footprints in [false, true] {
            let tape = Tape { footprints, ..Tape::default() };
            assert_eq!(run(profile, seed, Some(tape)), plain, "{profile:?} {seed}");
        }
    }
}

/// True for steps of one agent.
fn same_agent(a: Step, b: Step) -> bool {
    match (a, b) {
        (Step::Launch { queue: a, .. }, Step::Launch { queue: b, .. }) => a == b,
        (a, b) => a == b,
    }
}

/// What a plan leaves behind.
struct Left {
    /// What is held where it ends,
    now: Held,
    /// and once all stores on their way have landed.
    landed: Held,
    /// The steps that can be taken there.
    offered: Vec<Step>,
}

impl Left {
    /// What is not the same, in words.
    fn difference(&self, other: &Self) -> String {
        let mut all = String::new();
        for (what, a, b) in
            [("now", &self.now, &other.now), ("landed", &self.landed, &other.landed)]
        {
            for line in a.lines.iter().filter(|l| !b.lines.contains(l)) {
                all += &format!("{what} only in the first: {line:x?}\n");
            }
            for line in b.lines.iter().filter(|l| !a.lines.contains(l)) {
                all += &format!("{what} only in the second: {line:x?}\n");
            }
            if let Some(at) = a.memory.iter().zip(&b.memory).position(|(a, b)| a != b) {
                all += &format!("{what} memory at {at:#x}\n");
            }
        }
        if self.offered != other.offered {
            all += &format!("{:?} offered, then {:?}", self.offered, other.offered);
        }
        all
    }
}

/// Runs as planned.
fn replay(profile: ProfileName, seed: u64, plan: &[Step]) -> Left {
    let (mut rig, data) = device(profile, seed, "script");
    // Up to the plan's end, then once more for what is offered there.
    let tape = Tape { plan: plan.to_vec(), evictions: 100, enough: plan.len(), ..Tape::default() };
    let tape = attach(&mut rig, tape);
    rig.run();
    let now = held(&mut rig, data);
    let whole = tape.lock().unwrap().taken.len() == plan.len();
    assert!(whole && !tape.lock().unwrap().lost, "{profile:?} {seed}: {plan:?}");
    let (mut again, _) = device(profile, seed, "script");
    let enough = plan.len() + 1;
    let more = Tape { plan: plan.to_vec(), evictions: 100, enough, ..Tape::default() };
    let more = attach(&mut again, more);
    again.run();
    let offered = more.lock().unwrap().taken.get(plan.len()).map(|t| t.offered.clone());
    rig.device.core_mut().bus.land(Land::All);
    Left { now, landed: held(&mut rig, data), offered: offered.unwrap_or_default() }
}

#[test]
fn steps_that_share_nothing_may_change_places() {
    let (mut swapped, mut kept) = (0, 0);
    for seed in 0..80 {
        let profile = PROFILES[seed as usize % 3];
        let (mut rig, _) = device(profile, seed, "script");
        let tape = Tape { seed: Some(seed), evictions: 2, footprints: true, ..Tape::default() };
        let tape = attach(&mut rig, tape);
        rig.run();
        let taken = tape.lock().unwrap().taken.clone();
        let steps: Vec<Step> = taken.iter().map(|t| t.step).collect();
        for at in 0..steps.len().saturating_sub(1) {
            let (a, b) = (&taken[at], &taken[at + 1]);
            // A cache may lose its lines only while the device can still move.
            let idle = matches!(a.step, Step::Evict(..)) && at + 2 == steps.len();
            if same_agent(a.step, b.step) || !a.offered.contains(&b.step) || idle {
                continue;
            }
            if a.footprint.conflicts(&b.footprint) {
                kept += 1;
                continue;
            }
            swapped += 1;
            if swapped % 3 != 0 {
                continue;
            }
            let mut plan = steps[..at + 2].to_vec();
            let straight = replay(profile, seed, &plan);
            plan.swap(at, at + 1);
            let crossed = replay(profile, seed, &plan);
            let differ = straight.difference(&crossed);
            assert!(
                differ.is_empty(),
                "{profile:?} {seed} step {at}: {:?} {:?}, {:?} {:?}: {differ}",
                a.step,
                a.footprint,
                b.step,
                b.footprint
            );
        }
    }
    assert!(swapped > 2000 && kept > 300, "{swapped} {kept}");
}

/// A dispatch of two groups of "script" on two units, whose only op goes to the same
/// slot, or to lines apart.
fn two_groups(rig: &mut Rig, op: Op, apart: bool) {
    let mut kernel = fake::named("script", [64, 1, 1]);
    kernel.lds_bytes = 4;
    let kernel = rig.load(kernel);
    let data = rig.buffer("data", 1 << 14);
    let mut constants = [0; 14];
    constants[0] = op.word(0, 5);
    constants[13] = if apart { 2 } else { 0 };
    let first = wavefence_pm4::reg::COMPUTE_USER_DATA_2;
    let list = rig.list(COMPUTE).bind(kernel, [64, 1, 1], data);
    rig.submit(list.set_sh(first, &constants).dispatch([2, 1, 1], 4));
}

#[test]
fn footprints_part_what_is_apart_and_join_what_is_not() {
    // Op, same line: do they conflict?
    let cases = [
        (Op::Load, false, false),
        (Op::Load, true, false),
        (Op::Store, true, false),
        (Op::Store, false, true),
        (Op::Add, true, false),
        (Op::Add, false, true),
        (Op::LoadScalar, true, false),
        (Op::SharedStore, false, false),
        (Op::Gds, true, true),
    ];
    for (op, apart, conflict) in cases {
        for profile in PROFILES {
            let mut rig = Rig::new(profile, RunMode::Model);
            two_groups(&mut rig, op, apart);
            let tape = Tape { footprints: true, ..Tape::default() };
            let tape = attach(&mut rig, tape);
            rig.run_idle();
            let tape = tape.lock().unwrap();
            let first = |wanted| {
                let of = |t: &&Taken| matches!(t.step, Step::Wave { group, .. } if group == wanted);
                tape.taken.iter().find(of).unwrap().footprint.clone()
            };
            let (a, b) = (first(0), first(1));
            assert_eq!(a.conflicts(&b), conflict, "{profile:?} {op:?}: {a:?} {b:?}");
        }
    }
}

#[test]
fn the_host_has_its_turn_and_goes_on() {
    let mut rig = Rig::new(ProfileName::SeriesX, RunMode::Model);
    let at = rig.buffer("flag", 64);
    let list = rig.list(GFX).wait(at, function::EQUAL, 7, 4).write(at.offset(32), &[9]);
    rig.submit(list);
    // Nobody asks: it makes no difference.
    rig.device.set_host_turn(HostTurn::First);
    assert!(matches!(rig.run(), Outcome::Blocked(_)));
    let tape = attach(&mut rig, Tape { footprints: true, ..Tape::default() });
    assert_eq!(rig.run(), Outcome::HostTurn);
    assert_eq!(tape.lock().unwrap().taken.last().unwrap().step, Step::Host);
    rig.device.host_write(at, &7u32.to_le_bytes()).unwrap();
    rig.device.set_host_turn(HostTurn::Never);
    rig.run_idle();
    assert_eq!(rig.u32(at.offset(32)), 9);
    // What the host did is told when the run goes on.
    let tape = tape.lock().unwrap();
    let host = tape.taken.iter().find(|t| t.step == Step::Host).unwrap();
    let line = Resource::Line(GpuAddress(at.0 & !127));
    assert!(host.footprint.touches().contains(&Touch { what: line, changed: true }));
}

#[test]
fn a_fence_that_the_host_waits_for_gives_it_its_turn() {
    let mut rig = Rig::new(ProfileName::SeriesX, RunMode::Model);
    let at = rig.buffer("fence", 64);
    let list = rig.list(GFX).signal(at, 3, 8);
    rig.submit(list);
    rig.device.set_host_turn(HostTurn::Reached(at, 3));
    let tape = attach(&mut rig, Tape { seed: Some(1), ..Tape::default() });
    // The choice is random, but the host is all that is left in the end.
    assert_eq!(rig.run(), Outcome::HostTurn);
    assert_eq!(rig.u64(at), 3);
    let tape = tape.lock().unwrap();
    let offered = tape.taken.iter().position(|t| t.offered.contains(&Step::Host)).unwrap();
    let signal = tape.taken.iter().position(|t| matches!(t.step, Step::EndOfPipe(_))).unwrap();
    assert_eq!(offered, signal + 1);
}

#[test]
fn caches_lose_their_lines_only_as_often_as_asked() {
    let mut rig = Rig::new(ProfileName::SeriesX, RunMode::Model);
    two_groups(&mut rig, Op::Store, true);
    let tape = attach(&mut rig, Tape { seed: Some(3), evictions: 2, ..Tape::default() });
    rig.run_idle();
    let tape = tape.lock().unwrap();
    let evicts = |t: &&Taken| matches!(t.step, Step::Evict(..));
    assert_eq!((tape.taken.iter().filter(evicts).count(), tape.evictions), (2, 0));
}

#[test]
fn cycles_are_a_budget() {
    let mut rig = Rig::with(ProfileName::SeriesX, RunMode::Model, |d| d.limits.max_cycles = 300);
    let at = rig.buffer("words", 64);
    let mut list = rig.list(COMPUTE);
    for value in 0..100 {
        list = list.write(at, &[value]);
    }
    rig.submit(list);
    let Outcome::Limit(limit) = rig.run() else { panic!("it takes more") };
    assert_eq!(limit.what, "the budget of 300 GPU cycles ended");
    let packets = rig.log.events().iter().filter(|e| matches!(e, Event::Packet { .. })).count();
    assert!(rig.device.cycles() > 300 && (5..50).contains(&packets), "{packets}");
}
