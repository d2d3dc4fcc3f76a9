//! Which steps of a run had to come in their order, and which pairs to turn round.
//!
//! Step `i` comes before step `j` if both are of one agent, if what they touched
//! conflicts, if `i` is what made `j` possible, or if `i` made the agent of `j`
//! wait; and through others. Runs with the same such order end in the same state. A
//! pair that conflicts with nothing between them could have come the other way
//! round: a [`Turn`] says where to branch for that, and with which steps to begin.
//!
//! A step that no other run needs in another order gives no turn: what only touches
//! memory that nobody changes is never branched over.

use super::driver::Point;
use std::collections::HashMap;
use wavefence_base::schedule::{Footprint, Resource, Step, Touch};

/// A branch that is needed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    /// The point.
    pub at: usize,
    /// Steps that lead to the other order: one of them is enough.
    pub begin: Vec<Step>,
    /// An eviction that nothing after it takes notice of: it counts for what it
    /// leaves in memory, and cannot be put off past the end of the run.
    pub last: bool,
}

impl Turn {
    fn new(at: usize, begin: Vec<Step>) -> Self {
        Self { at, begin, last: false }
    }
}

/// A set of points.
#[derive(Clone)]
struct Bits(Vec<u64>);

impl Bits {
    fn new(len: usize) -> Self {
        Self(vec![0; len.div_ceil(64)])
    }

    fn has(&self, i: usize) -> bool {
        self.0[i / 64] >> (i % 64) & 1 == 1
    }

    fn add(&mut self, i: usize) {
        self.0[i / 64] |= 1 << (i % 64);
    }

    fn join(&mut self, other: &Self) {
        for (a, b) in self.0.iter_mut().zip(&other.0) {
            *a |= b;
        }
    }
}

/// One step of the run, or an eviction that could still come.
struct Made<'a> {
    step: Step,
    touched: &'a Footprint,
    /// The step that made it possible.
    enabler: Option<usize>,
    /// Steps that made its agent wait since its last step.
    blockers: Vec<usize>,
}

/// Every turn that a run asks for, in no order. `stuck` is true if the run ended with
/// agents that could not go on.
pub fn turns(points: &[Point], stuck: bool) -> Vec<Turn> {
    let mut turns = Vec::new();
    let made = steps(points, &mut turns);
    let count = made.len();
    let mut before: Vec<Bits> = Vec::with_capacity(count);
    for (j, this) in made.iter().enumerate() {
        let mut all = Bits::new(count);
        let mut direct = Vec::new();
        for i in (0..j).rev() {
            if all.has(i) || !comes_before(&made[i], i, this) {
                continue;
            }
            all.join(&before[i]);
            all.add(i);
            direct.push(i);
        }
        before.push(all);
        if matches!(this.step, Step::Evict(..)) {
            // A cache that holds nothing cannot lose it: look for an earlier place.
            let fits =
                |i: &usize| conflict(&made[*i], this) && points[*i].offer(&this.step).is_some();
            direct = (0..j).rev().find(fits).into_iter().collect();
        }
        for i in direct {
            let other = &made[i];
            let turned =
                this.enabler != Some(i) && other.step != this.step && conflict(other, this);
            if !turned {
                continue;
            }
            let rest: Vec<usize> = (i + 1..j).filter(|k| !before[*k].has(i)).collect();
            add(points, &made, &before, i, &rest, j, &mut turns);
        }
    }
    blocked(points, &made, &before, stuck, &mut turns);
    evictions(points, &made, &before, &mut turns);
    turns
}

/// Turns for agents that had to wait as soon as they came to a step: what it reads
/// was changed before they came, and they might have come in time. What a step reads
/// that was never taken is not known: any line.
fn blocked(
    points: &[Point],
    made: &[Made<'_>],
    before: &[Bits],
    stuck: bool,
    turns: &mut Vec<Turn>,
) {
    for (a, this) in made.iter().enumerate() {
        let next = points.get(a + 1).map_or(&[][..], |p| &p.steps);
        if next.iter().any(|(_, s)| *s == this.step) || matches!(this.step, Step::Evict(..)) {
            continue;
        }
        let later = made[a + 1..].iter().find(|m| m.step == this.step);
        let hits = |i: &usize| match later {
            Some(later) => made[*i].touched.conflicts(later.touched),
            None => stuck && changes_a_line(made[*i].touched),
        };
        let may = |i: &usize| !before[a].has(*i) && made[*i].step != this.step && hits(i);
        let Some(i) = (0..a).rev().find(may) else { continue };
        let rest: Vec<usize> = (i + 1..=a).filter(|k| !before[*k].has(i)).collect();
        if let Some((&last, rest)) = rest.split_last() {
            add(points, made, before, i, rest, last, turns);
        }
    }
}

fn changes_a_line(touched: &Footprint) -> bool {
    let line = |t: &Touch| t.changed && matches!(t.what, Resource::Line(_) | Resource::Everything);
    touched.touches().iter().any(line)
}

/// The steps with what enabled them. Pairs where one made the other wait are turns
/// already: the other has to be tried in its place.
fn steps<'a>(points: &'a [Point], turns: &mut Vec<Turn>) -> Vec<Made<'a>> {
    let mut enabled: HashMap<Step, Option<usize>> = HashMap::new();
    let mut blocked: HashMap<Step, Vec<usize>> = HashMap::new();
    let mut made = Vec::new();
    for (at, point) in points.iter().enumerate() {
        let Some((_, taken)) = point.taken else { break };
        for (_, step) in &point.steps {
            enabled.entry(*step).or_insert_with(|| at.checked_sub(1));
        }
        made.push(Made {
            step: taken,
            touched: &point.footprint,
            enabler: enabled.get(&taken).copied().flatten(),
            blockers: blocked.remove(&taken).unwrap_or_default(),
        });
        // Without a next point the run was ended from outside.
        let Some(next) = points.get(at + 1) else { break };
        enabled.remove(&taken);
        for (_, step) in &point.steps {
            if *step != taken && !next.steps.iter().any(|(_, s)| s == step) {
                enabled.remove(step);
                blocked.entry(*step).or_default().push(at);
                turns.push(Turn::new(at, vec![*step]));
            }
        }
    }
    made
}

fn comes_before(first: &Made<'_>, at: usize, then: &Made<'_>) -> bool {
    first.step == then.step
        || then.enabler == Some(at)
        || then.blockers.contains(&at)
        || conflict(first, then)
}

fn conflict(first: &Made<'_>, then: &Made<'_>) -> bool {
    first.touched.conflicts(then.touched)
}

/// Adds the turn that brings step `j` before step `i`: `rest` are the steps between
/// that need not come after `i`.
fn add(
    points: &[Point],
    made: &[Made<'_>],
    before: &[Bits],
    i: usize,
    rest: &[usize],
    j: usize,
    turns: &mut Vec<Turn>,
) {
    let point = &points[i];
    let row: Vec<usize> = rest.iter().copied().chain([j]).collect();
    let mut begin = Vec::new();
    for (n, &k) in row.iter().enumerate() {
        let free = !row[..n].iter().any(|&earlier| before[k].has(earlier));
        if free && point.offer(&made[k].step).is_some() && !begin.contains(&made[k].step) {
            begin.push(made[k].step);
        }
    }
    if begin.is_empty() {
        // What it would begin with is not offered there: every step is tried.
        turns.extend(point.steps.iter().map(|(_, s)| Turn::new(i, vec![*s])));
    } else {
        // The step itself first, the plain order else.
        if let Some(own) = begin.iter().position(|s| *s == made[j].step) {
            begin.swap(0, own);
        }
        turns.push(Turn::new(i, begin));
    }
}

/// Turns for evictions that were offered and not taken: each is tried before the
/// last step that it may make a difference to, and after it if it may write bytes
/// back. The runs with it ask for the others.
fn evictions(points: &[Point], made: &[Made<'_>], before: &[Bits], turns: &mut Vec<Turn>) {
    let mut offered: Vec<Step> = Vec::new();
    for (_, step) in points.iter().flat_map(|p| &p.evictions) {
        if !offered.contains(step) {
            offered.push(*step);
        }
    }
    for evict in offered {
        // One that was taken may be taken again after that.
        let from = made.iter().rposition(|m| m.step == evict).map_or(0, |at| at + 1);
        let touched = may_touch(evict, points);
        let writes = touched.touches().iter().any(|t| matches!(t.what, Resource::Line(_)));
        let offers = |i: usize| points.get(i).is_some_and(|p| p.offer(&evict).is_some());
        let hits = |i: &usize| made[*i].touched.conflicts(&touched);
        let last = (from..made.len()).rev().find(hits);
        let after = last.map_or(from, |i| i + 1);
        if writes && let Some(at) = (after..points.len()).rev().find(|at| offers(*at)) {
            turns.push(Turn { at, begin: vec![evict], last: true });
            continue;
        }
        let Some(i) = (from..made.len()).rev().filter(hits).find(|i| offers(*i)) else { continue };
        let mut begin = vec![evict];
        for k in (i + 1..made.len()).filter(|k| !before[*k].has(i)) {
            let free = !(i + 1..k).any(|e| !before[e].has(i) && before[k].has(e));
            if free && points[i].offer(&made[k].step).is_some() && !begin.contains(&made[k].step) {
                begin.push(made[k].step);
            }
        }
        turns.push(Turn::new(i, begin));
    }
}

/// What an eviction may touch: its cache, and every line that was changed through it.
pub fn may_touch(evict: Step, points: &[Point]) -> Footprint {
    let mut all = Footprint::default();
    let Step::Evict(class, number) = evict else { return all };
    let cache = Resource::Cache(class, number);
    all.add(cache, true);
    for point in points {
        let touches = point.footprint.touches();
        if touches.iter().any(|t| t.what == cache) {
            let line = |t: &&Touch| t.changed && matches!(t.what, Resource::Line(_));
            touches.iter().filter(line).for_each(|t| all.add(t.what, true));
        }
    }
    all
}
