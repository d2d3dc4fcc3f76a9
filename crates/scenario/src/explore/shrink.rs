//! Makes a schedule small: as few departures from the plain order as still show the
//! same.
//!
//! First every single departure is tried (an agent held back until nothing else can
//! go on, a cache that loses its lines): most bugs of order need no more, and such a
//! schedule reads well. Else choices are taken out of the schedule that was found,
//! halves first, then smaller parts, until none can be spared.

use super::departures::{Depart, Plans};
use super::driver::{Driver, Fixed, Keep, Trace};
use super::hunt::Crew;
use super::search::Shard;
use super::{Bad, RunResult};

/// Runs that shrinking may make.
const BUDGET: usize = 600;

/// A choice that is not the plain order: point and index.
type Choice = (u64, u32);

/// The smaller of two schedules is what shrinking wants: fewer stretches, then fewer
/// choices.
pub fn size(choices: &[Choice]) -> (usize, usize) {
    (stretches(choices).len(), choices.len())
}

/// Choices of one index at points that follow each other.
fn stretches(choices: &[Choice]) -> Vec<&[Choice]> {
    choices.chunk_by(|a, b| a.0 + 1 == b.0 && a.1 == b.1).collect()
}

/// Shrinks `choices`, whose run showed `bad`. `most` bounds the steps of a run.
pub fn shrink(
    crew: &mut Crew<'_>,
    choices: &[Choice],
    bad: &Bad,
    most: u64,
    evictions: u32,
) -> Vec<Choice> {
    let mut left = BUDGET;
    if choices.is_empty() {
        return Vec::new();
    }
    if let Some(found) = single(crew, bad, most, evictions, &mut left) {
        return smaller(crew, found, bad, most, &mut left);
    }
    smaller(crew, choices.to_vec(), bad, most, &mut left)
}

fn shows(result: &RunResult, bad: &Bad) -> bool {
    result.bad.contains(bad)
}

/// The first single departure that shows the same, as choices.
fn single(
    crew: &mut Crew<'_>,
    bad: &Bad,
    most: u64,
    evictions: u32,
    left: &mut usize,
) -> Option<Vec<Choice>> {
    let mut plans = Plans::new(1, evictions.min(1), Shard::ALL);
    let plain = Driver::new(Fixed::plain(), Keep::Footprints, most, evictions.min(1));
    let (_, trace) = crew.run(vec![plain]).pop()?;
    plans.done(&Vec::new(), &trace);
    // Late departures leave most of the plain order alone.
    let mut all = plans.next(usize::MAX);
    all.retain(|p| p.len() == 1);
    all.reverse();
    for part in all.chunks(32) {
        if *left < part.len() {
            return None;
        }
        *left -= part.len();
        let drivers = part
            .iter()
            .map(|p| Driver::new(Depart::new(p), Keep::Choices, most, evictions))
            .collect();
        let found = crew.run(drivers).into_iter().find(|(r, _)| shows(r, bad));
        if let Some((_, trace)) = found {
            return Some(trace.choices);
        }
    }
    None
}

/// Takes out what can be spared: stretches, then halves of them, then single choices.
fn smaller(
    crew: &mut Crew<'_>,
    mut choices: Vec<Choice>,
    bad: &Bad,
    most: u64,
    left: &mut usize,
) -> Vec<Choice> {
    let mut parts = 2;
    while !choices.is_empty() && *left > 0 {
        let units: Vec<Vec<Choice>> = units(&choices, parts);
        let mut spared = false;
        // From the end: what comes last is the least likely to be needed.
        let tries: Vec<Vec<Choice>> = (0..units.len())
            .rev()
            .map(|out| {
                let kept = units.iter().enumerate().filter(|(n, _)| *n != out);
                kept.flat_map(|(_, u)| u.iter().copied()).collect()
            })
            .collect();
        for part in tries.chunks(8) {
            if *left < part.len() {
                *left = 0;
                break;
            }
            *left -= part.len();
            let drivers = part.iter().map(|c| fixed(c, most)).collect();
            let made: Vec<(RunResult, Trace)> = crew.run(drivers);
            let found = made.into_iter().find(|(r, _)| shows(r, bad));
            if let Some((_, trace)) = found
                && size(&trace.choices) < size(&choices)
            {
                choices = trace.choices;
                spared = true;
                break;
            }
        }
        if spared {
            parts = 2.max(parts / 2);
        } else if units.len() >= choices.len() || parts >= choices.len() {
            break;
        } else {
            parts *= 2;
        }
    }
    choices
}

fn fixed(choices: &[Choice], most: u64) -> Driver {
    Driver::new(Fixed::new(choices.to_vec()), Keep::Choices, most, u32::MAX)
}

/// Cuts choices into about `parts` parts, at the ends of stretches where it can.
fn units(choices: &[Choice], parts: usize) -> Vec<Vec<Choice>> {
    let whole = stretches(choices);
    if parts <= whole.len() {
        let each = whole.len().div_ceil(parts);
        return whole.chunks(each).map(|c| c.concat()).collect();
    }
    let each = choices.len().div_ceil(parts).max(1);
    whole.iter().flat_map(|s| s.chunks(each).map(<[Choice]>::to_vec)).collect()
}
