//! The search against force, on random programs.

use super::driver::{Driver, Keep};
use super::hunt::{Crew, Hunt, HuntOptions, Strategy, Summary};
use super::part::{MergeError, Part, merge, options_text};
use super::search::{Follow, Shard, Tree};
use super::shrink::{shrink, size};
use super::toy::{Program, Toy, brute, run};
use super::{Bad, Replay, ReplayError, Rng, Subject};
use std::collections::BTreeSet;
use wavefence_base::ProfileName;

/// Every outcome that the search finds, and the runs it made.
fn search(program: &Program, evictions: u32, batch: usize) -> (Vec<u64>, usize) {
    let (mut tree, mut all) = (Tree::new(Shard::ALL), BTreeSet::new());
    let mut runs = 0;
    while !tree.is_done() {
        let branches = tree.next(batch);
        let made: Vec<_> = branches
            .iter()
            .map(|b| run(program, Driver::new(Follow::new(b), Keep::Footprints, 10_000, evictions)))
            .collect();
        for (branch, (result, trace)) in branches.iter().zip(made) {
            tree.done(branch, &trace, result.stuck);
            runs += 1;
            if !trace.stopped {
                all.insert(result.digest);
            }
        }
        assert!(runs < 100_000, "{program:?}");
    }
    (all.into_iter().collect(), runs)
}

#[test]
fn the_search_finds_what_force_finds() {
    let mut rng = Rng::new(11);
    let (mut compared, mut by_force, mut by_search) = (0, 0, 0);
    let mut wrong = Vec::new();
    while compared < 1000 {
        let program = Program::random(&mut rng, 4, 4);
        let evictions = rng.below(3) as u32;
        let Some((all, runs)) = brute(&program, evictions, 3000) else { continue };
        let batch = 1 + rng.below(5) as usize;
        let (found, made) = search(&program, evictions, batch);
        if all != found {
            wrong.push(format!(
                "{} of {} ({evictions} evictions): {program:?}",
                found.len(),
                all.len()
            ));
        }
        compared += 1;
        by_force += runs;
        by_search += made;
    }
    wrong.sort_by_key(String::len);
    assert!(wrong.is_empty(), "{} differ: {}", wrong.len(), wrong[..wrong.len().min(5)].join("\n"));
    assert!(by_search * 4 < by_force, "{by_search} of {by_force}");
}

#[test]
fn the_search_does_not_depend_on_the_batch_in_its_result() {
    let mut rng = Rng::new(5);
    for _ in 0..100 {
        let program = Program::random(&mut rng, 3, 3);
        let one = search(&program, 1, 1).0;
        assert_eq!(one, search(&program, 1, 16).0);
    }
}

fn replay() -> Replay {
    let choices = vec![(17, 1), (18, 1), (19, 1), (23, 2), (24, 300)];
    Replay { profile: ProfileName::SeriesX, seed: 7, scenario: 0x12ab, most: 5000, choices }
}

#[test]
fn replay_strings_read_back() {
    let text = replay().to_string();
    assert!(text.starts_with("wf1_series-x_7_000012ab_5000_17.1x3_3.2_0.300_"), "{text}");
    assert_eq!(Replay::parse(&text), Ok(replay()));
    assert_eq!(Replay::parse(&format!("  {text}\n")), Ok(replay()));
    let plain = Replay { choices: Vec::new(), ..replay() };
    assert_eq!(Replay::parse(&plain.to_string()), Ok(plain));
}

#[test]
fn replay_strings_that_are_none_are_refused() {
    assert_eq!(Replay::parse(""), Err(ReplayError::NotOne));
    assert_eq!(Replay::parse("series-x"), Err(ReplayError::NotOne));
    assert_eq!(Replay::parse("wf2_x_y"), Err(ReplayError::Version("wf2".into())));
    let text = replay().to_string();
    assert_eq!(Replay::parse(&text[..text.len() - 6]), Err(ReplayError::Damaged));
    assert_eq!(Replay::parse(&text.replace("17.1", "18.1")), Err(ReplayError::Damaged));
    let error = replay().check("another text").expect_err("another sum");
    assert!(error.to_string().contains("another scenario"), "{error}");
}

#[test]
fn the_parser_of_replay_strings_takes_anything() {
    let mut rng = Rng::new(3);
    let good = replay().to_string().into_bytes();
    let letters = b"wf1_.x-0379seriax \xc3\xa4";
    for round in 0..200_000 {
        let mut bytes = if round % 2 == 0 { good.clone() } else { b"wf1_series-x_1_0_9_".to_vec() };
        for _ in 0..1 + rng.below(8) {
            let at = rng.below(bytes.len() as u64) as usize;
            let letter = letters[rng.below(letters.len() as u64) as usize];
            match rng.below(3) {
                0 => bytes[at] = letter,
                1 => bytes.insert(at, letter),
                _ if bytes.len() > 1 => drop(bytes.remove(at)),
                _ => {}
            }
        }
        let text = String::from_utf8_lossy(&bytes);
        // With the sum made good the parts behind it are reached too.
        let sealed = match text.rsplit_once('_') {
            Some((body, _)) => {
                format!("{body}_{:04x}", super::replay::sum(body.as_bytes()) & 0xffff)
            }
            None => text.to_string(),
        };
        for text in [&*text, &sealed] {
            if let Ok(replay) = Replay::parse(text) {
                assert_eq!(Replay::parse(&replay.to_string()), Ok(replay), "{text}");
            }
        }
    }
}

/// Options of a search of everything within the bounds.
fn options(strategy: Strategy) -> HuntOptions {
    HuntOptions {
        strategy,
        seed: 1,
        schedules: 20_000,
        depth: 3,
        preemptions: None,
        evictions: 1,
        steps: 10_000,
        shard: Shard::ALL,
        keep_going: true,
    }
}

fn hunt(program: &Program, options: &HuntOptions, jobs: usize) -> Summary {
    let one = || Box::new(Toy(program.clone())) as Box<dyn Subject + Send>;
    let mut crew = Crew::new((0..jobs).map(|_| one()).collect());
    Hunt::run(options, &mut crew, &|_| ())
}

/// Programs of which some order hangs and the plain one does not.
fn hanging(count: usize) -> Vec<Program> {
    let mut rng = Rng::new(77);
    let mut all = Vec::new();
    while all.len() < count {
        let program = Program::random(&mut rng, 3, 4);
        let plain = HuntOptions { schedules: 1, ..options(Strategy::Auto) };
        if hunt(&program, &plain, 1).found.is_empty()
            && !hunt(&program, &options(Strategy::Exhaustive), 1).found.is_empty()
        {
            all.push(program);
        }
    }
    all
}

#[test]
fn every_strategy_finds_hangs_and_the_number_of_threads_makes_no_difference() {
    for program in hanging(20) {
        for strategy in Strategy::ALL {
            let first = HuntOptions { keep_going: false, ..options(strategy) };
            let one = hunt(&program, &first, 1);
            assert_eq!(one.found.len(), 1, "{strategy:?}: {program:?}");
            assert_eq!(one, hunt(&program, &first, 3), "{strategy:?}: {program:?}");
            let few = HuntOptions { schedules: 300, ..options(strategy) };
            assert_eq!(hunt(&program, &few, 1), hunt(&program, &few, 2), "{strategy:?}");
        }
    }
}

#[test]
fn what_is_found_repeats_and_shrinks() {
    for program in hanging(20) {
        let found = hunt(&program, &options(Strategy::Random), 1).found.remove(0);
        let bad = &found.bad[0];
        let mut crew = Crew::new(vec![Box::new(Toy(program.clone()))]);
        let replay = Replay { choices: found.choices.clone(), most: 10_000, ..replay() };
        let again = crew.run(vec![Driver::replay(&replay, Keep::Choices)]).remove(0);
        assert!(again.0.bad.contains(bad) && again.1.choices == found.choices, "{program:?}");
        let small = shrink(&mut crew, &found.choices, bad, 10_000, 1);
        assert!(size(&small) <= size(&found.choices), "{program:?}");
        let replay = Replay { choices: small.clone(), ..replay };
        let again = crew.run(vec![Driver::replay(&replay, Keep::Choices)]).remove(0);
        assert!(again.0.bad.contains(bad) && again.1.choices == small, "{program:?}");
        // Nothing more can be spared: taking any one choice out loses it, or the rest
        // does as well.
        assert!(small.len() <= 8, "{small:?}: {program:?}");
    }
}

#[test]
fn parts_together_find_what_the_whole_finds() {
    let mut rng = Rng::new(23);
    let bad = |all: &[Summary]| -> BTreeSet<Bad> {
        all.iter().flat_map(|s| &s.found).flat_map(|f| f.bad.clone()).collect()
    };
    let mut compared = 0;
    for round in 0..150 {
        let program = Program::random(&mut rng, 3, 4);
        let all = options(Strategy::Exhaustive);
        let whole = hunt(&program, &all, 1);
        if !whole.complete {
            continue;
        }
        compared += 1;
        let of = 2 + round % 3;
        let part =
            |index| hunt(&program, &HuntOptions { shard: Shard { index, of }, ..all.clone() }, 1);
        let parts: Vec<Summary> = (0..of).map(part).collect();
        let outcomes: BTreeSet<u64> = parts.iter().flat_map(|p| p.outcomes.clone()).collect();
        assert_eq!(outcomes, whole.outcomes, "{program:?}");
        assert!(parts.iter().all(|p| p.complete), "{program:?}");
        assert_eq!(bad(&parts), bad(&[whole]), "{program:?}");
    }
    assert!(compared > 100, "{compared}");
}

#[test]
fn parts_of_a_search_by_chance_are_its_schedules_dealt_out() {
    for program in hanging(5) {
        for strategy in [Strategy::Random, Strategy::Pct] {
            let all = HuntOptions { schedules: 61, ..options(strategy) };
            let whole = hunt(&program, &all, 1);
            let part = |index| {
                hunt(&program, &HuntOptions { shard: Shard { index, of: 3 }, ..all.clone() }, 1)
            };
            let parts: Vec<Summary> = (0..3).map(part).collect();
            let outcomes: BTreeSet<u64> = parts.iter().flat_map(|p| p.outcomes.clone()).collect();
            assert_eq!(outcomes, whole.outcomes, "{program:?}");
            assert_eq!(parts.iter().map(|p| p.schedules).sum::<u64>(), whole.schedules);
        }
    }
}

#[test]
fn proved_is_said_only_where_the_search_ended() {
    let mut rng = Rng::new(41);
    let mut held = 0;
    for _ in 0..200 {
        let program = Program::random(&mut rng, 3, 4);
        let all = options(Strategy::Exhaustive);
        let whole = hunt(&program, &all, 1);
        assert!(whole.complete);
        assert!(!hunt(&program, &options(Strategy::Random), 1).complete);
        let steps =
            HuntOptions { steps: whole.plain_steps.saturating_sub(1).max(1), ..all.clone() };
        let cut = hunt(&program, &steps, 1);
        assert!(!cut.complete || cut.cut == 0, "{program:?}");
        let few = HuntOptions { schedules: (whole.schedules / 2).max(1), ..all.clone() };
        held += u32::from(!hunt(&program, &few, 1).complete);
        // Fewer departures find no more.
        let one = HuntOptions { preemptions: Some(1), ..all };
        let one = hunt(&program, &one, 1);
        assert!(one.complete && one.outcomes.is_subset(&whole.outcomes), "{program:?}");
    }
    assert!(held > 100, "{held}");
}

#[test]
fn parts_are_put_together_or_refused() {
    let program = hanging(1).remove(0);
    let all = HuntOptions { keep_going: false, schedules: 200, ..options(Strategy::Random) };
    let text = options_text(&all, "");
    let part = |index| {
        let shard = Shard { index, of: 3 };
        let summary = hunt(&program, &HuntOptions { shard, ..all.clone() }, 1);
        Part::new(7, "series-x".into(), text.clone(), shard, summary)
    };
    let parts: Vec<Part> = [2, 0, 1].map(part).into();
    let whole = hunt(&program, &all, 1);
    let merged = merge(&parts, 7, false).expect("they belong together");
    assert_eq!(merged.found, whole.found);
    let refused = |parts: &[Part]| merge(parts, 7, false).map(|_| ());
    assert_eq!(refused(&parts[..2]), Err((0, MergeError::Missing { index: 1, of: 3 })));
    let twice = [parts[0].clone(), parts[0].clone()];
    assert_eq!(refused(&twice), Err((1, MergeError::Twice { index: 2, of: 3 })));
    assert!(matches!(merge(&parts, 8, false), Err((0, MergeError::Scenario { .. }))));
    let mut other = parts.clone();
    other[1].options = "strategy=pct".into();
    assert!(matches!(refused(&other), Err((1, MergeError::Options { .. }))));
    let mut other = parts.clone();
    other[2].of = 4;
    assert!(matches!(refused(&other), Err((2, MergeError::Count { .. }))));
    let mut other = parts;
    other[0].form = "else".into();
    assert!(matches!(refused(&other), Err((0, MergeError::Form(_)))));
}
