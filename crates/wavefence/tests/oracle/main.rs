//! The flush oracle (`hardware/caches.md` 6.1), on every profile and face.
//!
//! With a row's minimal set nothing is found and the consumer sees what the producer
//! did. With any one element taken away exactly that element is named. With one
//! more than needed exactly that one is named as redundant.

#![allow(clippy::print_stdout, reason = "a test without a harness tells its own results")]

mod program;
mod rows;
mod spell;

use program::{Outcome, run};
use rows::{Element, Row, Where};
use spell::Face;
use std::collections::BTreeSet;
use std::process::ExitCode;
use wavefence_base::{CacheAction, CacheClass, Generation, Profile, ProfileName};
use wavefence_check::{Action, Element as Part, Hazard};

#[derive(Default)]
struct Tally {
    passed: u32,
    failed: u32,
    skipped: u32,
}

impl Tally {
    fn judge(&mut self, name: &str, result: Result<(), String>) {
        match result {
            Ok(()) => self.passed += 1,
            Err(why) => {
                self.failed += 1;
                println!("FAIL {name}: {why}");
            }
        }
    }

    fn skip(&mut self, name: &str, why: &str) {
        self.skipped += 1;
        println!("skip {name}: {why}");
    }
}

fn main() -> ExitCode {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    let rows = match rows::parse(include_str!("oracle.txt")) {
        Ok(rows) => rows,
        Err(why) => {
            println!("oracle.txt: {why}");
            return ExitCode::FAILURE;
        }
    };
    let mut tally = Tally::default();
    for row in &rows {
        if row.waits_for_draws() {
            tally.skip(&row.to_string(), "waits for draws");
            continue;
        }
        for profile in ProfileName::ALL {
            for face in Face::ALL {
                cases(&mut tally, row, profile, face, &wanted);
            }
        }
    }
    println!("{} passed, {} failed, {} skipped", tally.passed, tally.failed, tally.skipped);
    if tally.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Which queue records an element: the consumer's, but for what belongs to a signal.
fn queue_of(row: &Row) -> Where {
    match row.to {
        Where::Graphics | Where::Compute => row.to,
        Where::Dma | Where::Host => row.from,
    }
}

fn cases(tally: &mut Tally, row: &Row, profile: ProfileName, face: Face, wanted: &[String]) {
    let about = Profile::get(profile);
    let generation = about.generation.value;
    let Some(minimal) = row.minimal(generation) else { return };
    if !face.exists(&about) || !face.records(row) {
        return;
    }
    let minimal = &face.minimal(row, minimal)[..];
    let spelt =
        |e: &Element| face.spells(*e, queue_of(row), generation) && face.separable(*e, minimal);
    let title = format!("{row} {} {profile}", face.name());
    let chosen = |name: &str| wanted.iter().all(|w| name.contains(w.as_str()));
    let name = format!("{title} minimal");
    if chosen(&name) {
        tally.judge(&name, silent(row, profile, face, minimal));
    }
    for element in minimal.iter().filter(|e| spelt(e)) {
        let name = format!("{title} without {element}");
        if chosen(&name) {
            tally.judge(&name, without(row, profile, face, minimal, *element));
        }
    }
    for element in extras(row, generation, minimal).into_iter().filter(|e| spelt(e)) {
        if !face.tells_apart(element, row, minimal, generation) {
            continue;
        }
        let name = format!("{title} with {element}");
        if chosen(&name) {
            tally.judge(&name, with(row, profile, face, minimal, element));
        }
    }
}

/// Elements that a row may have too many of.
fn extras(row: &Row, generation: Generation, minimal: &[Element]) -> Vec<Element> {
    use Element as E;
    let gl1 =
        generation == Generation::Gfx10_3 && minimal.iter().any(|e| matches!(e, E::L1i | E::Ki));
    if row.consumer == "group-read" {
        return Vec::new();
    }
    let all = [E::Cs, E::Dma, E::L2wb, E::L2i, E::L1i, E::Ki, E::Ii, E::Gl1i, E::Pfp];
    all.into_iter()
        .filter(|e| !minimal.contains(e))
        // An element that another one does already cannot be told apart from it.
        .filter(|e| *e != E::Gl1i || !gl1)
        .filter(|e| matches!(row.to, Where::Graphics | Where::Compute) || *e == E::L2wb)
        .collect()
}

fn describe(outcome: &Outcome, generation: Generation) -> String {
    let mut text = String::new();
    for hazard in &outcome.hazards {
        text += &format!(
            "\n    {} {}: {}",
            hazard.verdict,
            hazard.rule.name,
            hazard.message(generation)
        );
    }
    text
}

fn silent(row: &Row, profile: ProfileName, face: Face, set: &[Element]) -> Result<(), String> {
    let mut outcome = run(row, profile, face, set)?;
    let generation = Profile::get(profile).generation.value;
    outcome.hazards.retain(|h| !idle(h, face, set));
    if !outcome.hazards.is_empty() {
        return Err(format!("not silent{}", describe(&outcome, generation)));
    }
    if !outcome.fresh {
        return Err(format!(
            "silent, but the consumer saw {:?}",
            &outcome.saw[..4.min(outcome.saw.len())]
        ));
    }
    Ok(())
}

fn without(
    row: &Row,
    profile: ProfileName,
    face: Face,
    minimal: &[Element],
    gone: Element,
) -> Result<(), String> {
    let set: Vec<Element> = minimal.iter().copied().filter(|&e| e != gone).collect();
    let outcome = run(row, profile, face, &set)?;
    let generation = Profile::get(profile).generation.value;
    let mut named: BTreeSet<Element> = outcome.findings().flat_map(named).collect();
    // Without the flag the call's signal waits for nothing at all.
    if face == Face::D3d12
        && row.number == 26
        && gone == Element::L2wb
        && named.remove(&Element::Cs)
    {
        named.insert(gone);
    }
    if !named.iter().any(|&e| same(e, gone, generation))
        || named.iter().any(|&e| !same(e, gone, generation))
    {
        let list: Vec<String> = named.iter().map(ToString::to_string).collect();
        return Err(format!("names [{}]{}", list.join(" "), describe(&outcome, generation)));
    }
    Ok(())
}

fn with(
    row: &Row,
    profile: ProfileName,
    face: Face,
    minimal: &[Element],
    more: Element,
) -> Result<(), String> {
    let mut set = minimal.to_vec();
    set.push(more);
    set.sort();
    let mut outcome = run(row, profile, face, &set)?;
    let generation = Profile::get(profile).generation.value;
    outcome.hazards.retain(|h| !idle(h, face, &set));
    let found = outcome.findings().count();
    let named: BTreeSet<Element> = outcome.advice().flat_map(named).collect();
    if found > 0 || named.is_empty() || named.iter().any(|&e| !same(e, more, generation)) {
        let list: Vec<String> = named.iter().map(ToString::to_string).collect();
        return Err(format!(
            "names [{}] as redundant{}",
            list.join(" "),
            describe(&outcome, generation)
        ));
    }
    if outcome.fresh { Ok(()) } else { Err("the consumer did not see it all".into()) }
}

/// True for advice on one half of `InsertWaitUntilIdle`, of which the other is needed.
fn idle(hazard: &Hazard, face: Face, set: &[Element]) -> bool {
    face == Face::D3d11 && set.contains(&Element::Pfp) && named(hazard) == [Element::Cs]
}

/// True if naming `a` names `b`: GFX7 has one L2 action, and a drop of L1 or K$ on
/// GFX10 holds that of GL1.
fn same(a: Element, b: Element, generation: Generation) -> bool {
    use Element as E;
    match (a, b) {
        (a, b) if a == b => true,
        (E::L2wb, E::L2i) | (E::L2i, E::L2wb) => generation == Generation::Gfx7,
        (E::Gl1i, E::L1i | E::Ki | E::Ii) => true,
        // The second event is what confirms on GFX7 and GFX8.
        (E::Confirm, E::Twice) => true,
        // One event's own write-back comes after its value: as good as none.
        (E::L2wb, E::Twice) => true,
        _ => false,
    }
}

/// The elements that a hazard's mend names.
fn named(hazard: &Hazard) -> Vec<Element> {
    hazard.mends.iter().flat_map(|m| action(&m.action)).collect()
}

fn action(action: &Action) -> Vec<Element> {
    use Element as E;
    match action {
        Action::Invalidate(classes) => classes.iter().map(|c| class(*c)).collect(),
        Action::WriteBackL2 => vec![E::L2wb],
        Action::WaitShaders | Action::Accept => vec![E::Cs],
        Action::WaitDma => vec![E::Dma],
        Action::SyncPfp => vec![E::Pfp],
        Action::Confirm => vec![E::Confirm],
        Action::SignalAndWait { from, to } if from == to => vec![E::Eop],
        Action::SignalAndWait { .. } => vec![E::Xq],
        Action::Coherent => vec![E::Gl0],
        Action::Remove(part) => part_of(*part),
        Action::Replace(part, _) => part_of(*part),
        Action::Widen(_) | Action::GroupBarrier | Action::Atomic | Action::Initialise => Vec::new(),
    }
}

fn class(class: CacheClass) -> Element {
    match class {
        CacheClass::Vector => Element::L1i,
        CacheClass::Scalar => Element::Ki,
        CacheClass::Instruction => Element::Ii,
        CacheClass::Gl1 => Element::Gl1i,
        CacheClass::L2 => Element::L2i,
    }
}

fn part_of(part: Part) -> Vec<Element> {
    match part {
        Part::Shaders => vec![Element::Cs],
        Part::Dma => vec![Element::Dma],
        Part::Pfp => vec![Element::Pfp],
        Part::Cache(CacheAction::InvalidateL1 | CacheAction::InvalidateL1Volatile) => {
            vec![Element::L1i]
        }
        Part::Cache(CacheAction::InvalidateK | CacheAction::InvalidateKVolatile) => {
            vec![Element::Ki]
        }
        Part::Cache(CacheAction::InvalidateI) => vec![Element::Ii],
        Part::Cache(CacheAction::InvalidateGl1) => vec![Element::Gl1i],
        Part::Cache(CacheAction::WritebackL2) => vec![Element::L2wb],
        Part::Cache(CacheAction::InvalidateL2 | CacheAction::InvalidateL2Volatile) => {
            vec![Element::L2i]
        }
        Part::Cache(_) => vec![Element::Glmi],
    }
}
