//! One run under a policy: what was offered, what was taken, what it touched.

use super::{Replay, Rng};
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use wavefence_base::schedule::{Footprint, Schedule, Step};

/// An option with its index: steps first, as the device has them, then evictions. So
/// an index does not depend on whether evictions are offered, and 0 is the plain order.
pub type Offer = (u32, Step);

/// A point at which something was taken.
#[derive(Clone, Debug, Default)]
pub struct Point {
    /// Steps that could be taken, without evictions.
    pub steps: Vec<Offer>,
    /// Evictions that could be.
    pub evictions: Vec<Offer>,
    /// What was taken.
    pub taken: Option<Offer>,
    /// What it touched.
    pub footprint: Footprint,
    /// Steps that sleep here, if the policy has such.
    pub sleep: Vec<(Step, Footprint)>,
}

impl Point {
    /// The index of a step, an eviction or other.
    pub fn offer(&self, step: &Step) -> Option<Offer> {
        self.steps.iter().chain(&self.evictions).find(|(_, s)| s == step).copied()
    }
}

/// Chooses at each point of one run.
pub trait Policy: Send {
    /// Which offer is taken at point `at`; `None` ends the run. `steps` may be empty,
    /// then there are evictions.
    fn pick(&mut self, at: usize, steps: &[Offer], evictions: &[Offer]) -> Option<Offer>;

    /// The step taken last touched this, and these are the steps that sleep at the
    /// point after it, if the policy has such.
    fn touched(&mut self, taken: Offer, footprint: &Footprint) {
        let _ = (taken, footprint);
    }

    /// Steps that sleep at the present point.
    fn sleeping(&self) -> &[(Step, Footprint)] {
        &[]
    }
}

/// The plain order with given exceptions.
pub struct Fixed {
    choices: Vec<(u64, u32)>,
    next: usize,
}

impl Fixed {
    /// Takes index `choices[i].1` at point `choices[i].0`; points ascend.
    pub fn new(choices: Vec<(u64, u32)>) -> Self {
        Self { choices, next: 0 }
    }

    /// The plain order.
    pub fn plain() -> Self {
        Self::new(Vec::new())
    }
}

impl Policy for Fixed {
    fn pick(&mut self, at: usize, steps: &[Offer], evictions: &[Offer]) -> Option<Offer> {
        let plain = steps.first().or(evictions.first()).copied();
        match self.choices.get(self.next) {
            Some(&(point, index)) if point == at as u64 => {
                self.next += 1;
                let wanted = steps.iter().chain(evictions).find(|(i, _)| *i == index);
                wanted.copied().or(plain)
            }
            Some(_) | None => plain,
        }
    }
}

/// Evictions at random points of a run that is about `length` steps long.
struct Evictions {
    at: Vec<usize>,
}

impl Evictions {
    fn new(rng: &mut Rng, most: u32, length: usize) -> Self {
        // Half of the runs go without, so that a finding that needs none has none.
        let count = if most == 0 { 0 } else { rng.below(2) * (1 + rng.below(u64::from(most))) };
        let mut at: Vec<usize> =
            (0..count).map(|_| rng.below(length.max(1) as u64) as usize).collect();
        at.sort_unstable_by(|a, b| b.cmp(a));
        Self { at }
    }

    fn pick(&mut self, rng: &mut Rng, now: usize, evictions: &[Offer]) -> Option<Offer> {
        let due = self.at.last().is_some_and(|at| *at <= now);
        if !due || evictions.is_empty() {
            return None;
        }
        self.at.pop();
        Some(evictions[rng.below(evictions.len() as u64) as usize])
    }
}

/// Every step is as likely as every other.
pub struct Walk {
    rng: Rng,
    evictions: Evictions,
}

impl Walk {
    /// A walk by a seed, through a run of about `length` steps.
    pub fn new(seed: u64, evictions: u32, length: usize) -> Self {
        let mut rng = Rng::new(seed);
        let evictions = Evictions::new(&mut rng, evictions, length);
        Self { rng, evictions }
    }
}

impl Policy for Walk {
    fn pick(&mut self, at: usize, steps: &[Offer], evictions: &[Offer]) -> Option<Offer> {
        if let Some(evict) = self.evictions.pick(&mut self.rng, at, evictions) {
            return Some(evict);
        }
        match steps.len() {
            0 => evictions.first().copied(),
            n => Some(steps[self.rng.below(n as u64) as usize]),
        }
    }
}

/// Steps that one agent may take on end while others could, before it has to let
/// them: it may be waiting for them in a loop.
const PATIENCE: u32 = 256;

/// Each agent has a priority and the highest goes on; at a few points the one that
/// would go on loses its.
pub struct Priorities {
    rng: Rng,
    /// Without it new agents stand in the plain order.
    shuffled: bool,
    priority: HashMap<Step, i64>,
    /// Points at which a priority is lost, descending.
    changes: Vec<usize>,
    lowest: i64,
    newest: i64,
    last: Option<Step>,
    run: u32,
    evictions: Evictions,
}

impl Priorities {
    /// Priorities by a seed, `depth - 1` changes in a run of about `length` steps: a
    /// bug that needs `depth` steps in one order is met with a probability of at
    /// least 1 / (agents * length ^ (depth - 1)).
    pub fn random(seed: u64, depth: u32, evictions: u32, length: usize) -> Self {
        let mut rng = Rng::new(seed);
        let count = depth.saturating_sub(1);
        let mut changes: Vec<usize> =
            (0..count).map(|_| rng.below(length.max(1) as u64) as usize).collect();
        changes.sort_unstable_by(|a, b| b.cmp(a));
        let evictions = Evictions::new(&mut rng, evictions, length);
        Self { evictions, ..Self::with(rng, true, changes) }
    }

    /// The plain order but for agents that are held back from a point each until
    /// nothing else can go on. Points descend.
    pub fn holds(points: Vec<usize>) -> Self {
        Self::with(Rng::new(0), false, points)
    }

    fn with(rng: Rng, shuffled: bool, changes: Vec<usize>) -> Self {
        Self {
            rng,
            shuffled,
            priority: HashMap::new(),
            changes,
            lowest: 0,
            newest: i64::MAX,
            last: None,
            run: 0,
            evictions: Evictions { at: Vec::new() },
        }
    }

    fn best(&mut self, steps: &[Offer]) -> Option<Offer> {
        let mut best: Option<(i64, Offer)> = None;
        for (place, &offer) in steps.iter().enumerate() {
            let priority = match self.priority.get(&offer.1) {
                Some(&p) => p,
                None if self.shuffled => {
                    let p = (self.rng.number() >> 2) as i64 + 1;
                    self.priority.insert(offer.1, p);
                    p
                }
                None => self.newest - place as i64,
            };
            if best.is_none_or(|(most, _)| priority > most) {
                best = Some((priority, offer));
            }
        }
        best.map(|(_, offer)| offer)
    }

    fn demote(&mut self, step: Step) {
        self.lowest -= 1;
        self.priority.insert(step, self.lowest);
    }
}

impl Policy for Priorities {
    fn pick(&mut self, at: usize, steps: &[Offer], evictions: &[Offer]) -> Option<Offer> {
        if let Some(evict) = self.evictions.pick(&mut self.rng, at, evictions) {
            return Some(evict);
        }
        let Some(mut taken) = self.best(steps) else { return evictions.first().copied() };
        // A point at which nothing else can go on changes nothing; the next does.
        while steps.len() > 1 && self.changes.last().is_some_and(|c| *c <= at) {
            self.changes.pop();
            self.demote(taken.1);
            taken = self.best(steps).unwrap_or(taken);
        }
        if self.last == Some(taken.1) {
            self.run += 1;
            if self.run > PATIENCE && steps.len() > 1 {
                self.demote(taken.1);
                taken = self.best(steps).unwrap_or(taken);
            }
        }
        if self.last != Some(taken.1) {
            self.run = 0;
        }
        self.last = Some(taken.1);
        Some(taken)
    }
}

/// A run in the making.
pub struct Driver {
    policy: Box<dyn Policy>,
    /// What is kept of each point.
    keep: Keep,
    /// Steps at most.
    most: u64,
    evictions: u32,
    steps: Vec<Offer>,
    offers: Vec<Offer>,
    /// By index of an offer: its place in the device's list.
    places: Vec<usize>,
    /// What was taken that is not the plain order: point and index.
    choices: Vec<(u64, u32)>,
    points: Vec<Point>,
    count: u64,
    last: Option<Offer>,
    stopped: bool,
    cut: bool,
}

/// What a driver keeps of each point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// Only what differs from the plain order.
    Choices,
    /// What was offered and taken too.
    Offers,
    /// And what it touched.
    Footprints,
}

/// What is known of a run when it has ended.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    /// What was taken that is not the plain order: point and index, ascending.
    pub choices: Vec<(u64, u32)>,
    /// Every point, if they were kept.
    pub points: Vec<Point>,
    /// Steps taken.
    pub steps: u64,
    /// True if the bound on steps ended it.
    pub cut: bool,
    /// True if the policy ended it.
    pub stopped: bool,
}

impl Driver {
    /// A driver for one run of at most `most` steps and `evictions` evictions.
    pub fn new(policy: impl Policy + 'static, keep: Keep, most: u64, evictions: u32) -> Self {
        Self {
            policy: Box::new(policy),
            keep,
            most: most.max(1),
            evictions,
            steps: Vec::new(),
            offers: Vec::new(),
            places: Vec::new(),
            choices: Vec::new(),
            points: Vec::new(),
            count: 0,
            last: None,
            stopped: false,
            cut: false,
        }
    }

    /// The driver that repeats a run.
    pub fn replay(replay: &Replay, keep: Keep) -> Self {
        Self::new(Fixed::new(replay.choices.clone()), keep, replay.most, u32::MAX)
    }

    fn choose(&mut self, options: &[Step]) -> usize {
        self.steps.clear();
        self.offers.clear();
        self.places.clear();
        for evictions in [false, true] {
            for (place, &step) in options.iter().enumerate() {
                if matches!(step, Step::Evict(..)) == evictions {
                    let list = if evictions { &mut self.offers } else { &mut self.steps };
                    list.push((self.places.len() as u32, step));
                    self.places.push(place);
                }
            }
        }
        if self.evictions == 0 {
            self.offers.clear();
        }
        let taken = self.policy.pick(self.count as usize, &self.steps, &self.offers);
        if self.keep != Keep::Choices {
            self.points.push(Point {
                steps: self.steps.clone(),
                evictions: self.offers.clone(),
                taken,
                footprint: Footprint::default(),
                sleep: self.policy.sleeping().to_vec(),
            });
        }
        self.last = taken;
        let Some((index, step)) = taken else {
            self.stopped = true;
            return 0;
        };
        if matches!(step, Step::Evict(..)) {
            self.evictions = self.evictions.saturating_sub(1);
        }
        if index != 0 {
            self.choices.push((self.count, index));
        }
        self.count += 1;
        self.places.get(index as usize).copied().unwrap_or(0)
    }

    fn done(&mut self, footprint: &Footprint) {
        if let Some(taken) = self.last
            && !self.stopped
        {
            self.policy.touched(taken, footprint);
            if let Some(point) = self.points.last_mut() {
                point.footprint.clone_from(footprint);
            }
        }
    }

    fn enough(&mut self) -> bool {
        if self.count >= self.most {
            self.cut = true;
        }
        self.stopped || self.cut
    }
}

/// What a subject is given: the driver, shared with whoever waits for its trace.
#[derive(Clone)]
pub struct Handle(Arc<Mutex<Option<Driver>>>);

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handle").finish_non_exhaustive()
    }
}

impl Handle {
    /// A handle on a driver.
    pub fn new(driver: Driver) -> Self {
        Self(Arc::new(Mutex::new(Some(driver))))
    }

    fn with<T: Default>(&self, f: impl FnOnce(&mut Driver) -> T) -> T {
        // A panic while it was held is told elsewhere.
        let mut driver = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        driver.as_mut().map(f).unwrap_or_default()
    }

    /// What the run came to; from here on the plain order is taken.
    pub fn finish(&self) -> Trace {
        let driver = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        driver.map_or_else(Trace::default, |d| Trace {
            choices: d.choices,
            points: d.points,
            steps: d.count,
            cut: d.cut,
            stopped: d.stopped,
        })
    }

    /// True if the policy or the bound on steps has ended the run.
    pub fn ended_early(&self) -> bool {
        self.with(|d| d.stopped || d.cut)
    }

    /// Steps taken so far.
    pub fn steps(&self) -> u64 {
        self.with(|d| d.count)
    }
}

impl Schedule for Handle {
    fn choose(&mut self, options: &[Step]) -> usize {
        self.with(|d| d.choose(options))
    }

    fn evictions(&mut self) -> u32 {
        self.with(|d| d.evictions)
    }

    fn wants_footprints(&self) -> bool {
        self.with(|d| d.keep == Keep::Footprints)
    }

    fn done(&mut self, footprint: &Footprint) {
        self.with(|d| d.done(footprint));
    }

    fn enough(&mut self) -> bool {
        self.with(Driver::enough)
    }
}
