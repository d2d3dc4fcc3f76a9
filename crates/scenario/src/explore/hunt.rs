//! Many runs of a subject: who makes them, which come when, and what they came to.
//!
//! Schedules are numbered: 0 is the plain order. They are handed to threads in
//! batches whose size does not depend on the number of threads, and are counted in
//! the order of their numbers, so one thread and many give the same answer.

use super::departures::{Depart, Plan, Plans};
use super::driver::{Driver, Fixed, Keep, Priorities, Trace, Walk};
use super::search::{Branch, Follow, Shard, Tree};
use super::{Bad, Handle, Rng, RunResult, Subject};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Runs handed out at a time.
const BATCH: usize = 16;

/// Steps of a plain run beyond which `auto` does not try every order.
const SMALL: u64 = 4_000;

/// Digests that are kept to count different results.
const MOST_OUTCOMES: usize = 100_000;

/// How schedules are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strategy {
    /// Single departures from the plain order, every order if that is not too many,
    /// then random and pct by turns.
    Auto,
    /// Every step is as likely as every other.
    Random,
    /// Random priorities with a few changes.
    Pct,
    /// Every order within the bounds.
    Exhaustive,
}

impl Strategy {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Auto, Self::Random, Self::Pct, Self::Exhaustive];

    /// Its name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Random => "random",
            Self::Pct => "pct",
            Self::Exhaustive => "exhaustive",
        }
    }
}

/// What to search and how long.
#[derive(Clone, Debug)]
pub struct HuntOptions {
    /// How schedules are chosen.
    pub strategy: Strategy,
    /// Seed of random choices.
    pub seed: u64,
    /// Runs at most, in all parts together where they are by chance, else in each;
    /// those that a search cuts because they repeat others count too.
    pub schedules: u64,
    /// Steps that pct puts in one order: priority changes and one.
    pub depth: u32,
    /// Times that an agent may be held back; every order if `None`.
    pub preemptions: Option<u32>,
    /// Cache evictions in a run at most.
    pub evictions: u32,
    /// Steps in a run at most.
    pub steps: u64,
    /// The part that is searched.
    pub shard: Shard,
    /// Do not stop at the first that is bad.
    pub keep_going: bool,
}

/// A bad run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Found {
    /// Its schedule's number.
    pub schedule: u64,
    /// What is wrong, the worst first.
    pub bad: Vec<Bad>,
    /// Choices that are not the plain order.
    pub choices: Vec<(u64, u32)>,
}

/// What a search came to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    /// Runs that were made to their ends or to a bound.
    pub schedules: u64,
    /// Runs that were cut because they only repeat others.
    pub repeats: u64,
    /// Runs that the bound on steps cut.
    pub cut: u64,
    /// The first of them: its number and its choices.
    pub first_cut: Option<(u64, Vec<(u64, u32)>)>,
    /// Runs that a budget of the device ended, and what it said first.
    pub limited: u64,
    /// What the first of these said.
    pub limit: Option<String>,
    /// Sums of results, each once.
    pub outcomes: BTreeSet<u64>,
    /// Bad runs: the first of each kind and place.
    pub found: Vec<Found>,
    /// Steps of the plain run.
    pub plain_steps: u64,
    /// True if every schedule within the bounds was run.
    pub complete: bool,
}

/// Who makes the runs: subjects that are all the same, one a thread.
pub struct Crew<'a> {
    subjects: Vec<Box<dyn Subject + Send + 'a>>,
}

impl<'a> Crew<'a> {
    /// A crew with a thread for each subject; there is at least one.
    pub fn new(subjects: Vec<Box<dyn Subject + Send + 'a>>) -> Self {
        Self { subjects }
    }

    /// Makes runs; results in the order of the drivers.
    pub fn run(&mut self, drivers: Vec<Driver>) -> Vec<(RunResult, Trace)> {
        let one = |subject: &mut (dyn Subject + Send + 'a), driver| {
            let handle = Handle::new(driver);
            let result = subject.run(&handle);
            (result, handle.finish())
        };
        let threads = self.subjects.len().min(drivers.len());
        if threads <= 1 {
            let Some(subject) = self.subjects.first_mut() else { return Vec::new() };
            return drivers.into_iter().map(|d| one(subject.as_mut(), d)).collect();
        }
        let mut hands: Vec<Vec<(usize, Driver)>> = (0..threads).map(|_| Vec::new()).collect();
        for (n, driver) in drivers.into_iter().enumerate() {
            hands[n % threads].push((n, driver));
        }
        let mut made: Vec<(usize, (RunResult, Trace))> = std::thread::scope(|scope| {
            let threads: Vec<_> = self
                .subjects
                .iter_mut()
                .zip(hands)
                .map(|(subject, hand)| {
                    scope.spawn(move || {
                        let make = |(n, d)| (n, one(subject.as_mut(), d));
                        hand.into_iter().map(make).collect::<Vec<_>>()
                    })
                })
                .collect();
            threads
                .into_iter()
                .flat_map(|t| t.join().unwrap_or_else(|e| std::panic::resume_unwind(e)))
                .collect()
        });
        made.sort_by_key(|(n, _)| *n);
        made.into_iter().map(|(_, run)| run).collect()
    }
}

/// Where the next schedules come from.
enum Phase {
    /// The plain order, until it was run.
    Plain(bool),
    /// Plans of few departures.
    Departures(Plans),
    /// Every order.
    Tree(Box<Tree>),
    /// By chance: the next number of this part.
    Chance(u64),
}

/// One schedule that was handed out.
enum Task {
    Plain,
    Plan(Plan),
    Branch(Branch),
    Chance(u64),
}

/// A search that is going on.
pub struct Hunt<'a, 'c> {
    options: &'a HuntOptions,
    crew: &'a mut Crew<'c>,
    summary: Summary,
    seen: BTreeSet<Bad>,
    runs: u64,
    stopped: bool,
}

impl<'a, 'c> Hunt<'a, 'c> {
    /// Searches; `tell` hears the number of runs after each batch.
    pub fn run(options: &'a HuntOptions, crew: &'a mut Crew<'c>, tell: &dyn Fn(u64)) -> Summary {
        let summary = Summary::default();
        let mut hunt =
            Self { options, crew, summary, seen: BTreeSet::new(), runs: 0, stopped: false };
        hunt.all(tell);
        hunt.summary
    }

    fn all(&mut self, tell: &dyn Fn(u64)) {
        let o = self.options;
        let all = o.schedules.max(1);
        self.phase(Phase::Plain(false), 1, tell);
        let holds = |holds| Plans::new(holds, o.evictions, o.shard);
        match o.strategy {
            Strategy::Random | Strategy::Pct => self.chance(all - 1, tell),
            Strategy::Exhaustive => match o.preemptions {
                Some(most) => self.phase(Phase::Departures(holds(most)), all, tell),
                None => self.phase(Phase::Tree(Box::new(Tree::new(o.shard))), all, tell),
            },
            Strategy::Auto => {
                self.phase(Phase::Departures(holds(1)), all / 4, tell);
                let small = self.summary.plain_steps <= SMALL && o.preemptions.is_none();
                if small {
                    self.phase(Phase::Tree(Box::new(Tree::new(o.shard))), all / 4 * 3, tell);
                }
                if !self.summary.complete {
                    self.chance(if small { all / 4 } else { all / 4 * 3 }, tell);
                }
            }
        }
    }

    /// `count` runs by chance, of which this part makes its own.
    fn chance(&mut self, count: u64, tell: &dyn Fn(u64)) {
        let Shard { index, of } = self.options.shard;
        let ours = (count + of - 1 - index) / of;
        self.phase(Phase::Chance(index), self.runs + ours, tell);
    }

    /// Runs what comes from `phase` until it ends or `until` runs were made.
    fn phase(&mut self, mut phase: Phase, until: u64, tell: &dyn Fn(u64)) {
        if let Phase::Departures(plans) = &mut phase
            && !self.stopped
        {
            // The plain run again, now with footprints: what can be departed from.
            let driver = self.driver(&Task::Plan(Vec::new()));
            if let Some((_, trace)) = self.crew.run(vec![driver]).pop() {
                plans.done(&Vec::new(), &trace);
            }
        }
        while !self.stopped && self.runs < until {
            let room = usize::try_from(until - self.runs).unwrap_or(BATCH).min(BATCH);
            let tasks = self.hand_out(&mut phase, room);
            if tasks.is_empty() {
                break;
            }
            let drivers = tasks.iter().map(|t| self.driver(t)).collect();
            for (task, (result, trace)) in tasks.into_iter().zip(self.crew.run(drivers)) {
                if self.stopped {
                    break;
                }
                self.take_back(&mut phase, &task, &result, &trace);
            }
            tell(self.runs);
        }
        self.end(&phase);
    }

    fn hand_out(&self, phase: &mut Phase, room: usize) -> Vec<Task> {
        match phase {
            Phase::Plain(true) => Vec::new(),
            Phase::Plain(run) => {
                *run = true;
                vec![Task::Plain]
            }
            Phase::Departures(plans) => plans.next(room).into_iter().map(Task::Plan).collect(),
            Phase::Tree(tree) => tree.next(room).into_iter().map(Task::Branch).collect(),
            Phase::Chance(next) => {
                let first = *next;
                let of = self.options.shard.of;
                *next += room as u64 * of;
                (first..*next).step_by(of as usize).map(Task::Chance).collect()
            }
        }
    }

    fn driver(&self, task: &Task) -> Driver {
        let o = self.options;
        let most = o.steps;
        let length = self.summary.plain_steps as usize;
        match task {
            Task::Plain => Driver::new(Fixed::plain(), Keep::Choices, most, 0),
            Task::Plan(plan) => Driver::new(Depart::new(plan), Keep::Footprints, most, o.evictions),
            Task::Branch(b) => Driver::new(Follow::new(b), Keep::Footprints, most, o.evictions),
            Task::Chance(number) => {
                let seed = Rng::of(o.seed, *number).number();
                let pct = match o.strategy {
                    Strategy::Random => false,
                    Strategy::Pct => true,
                    Strategy::Auto | Strategy::Exhaustive => number % 2 == 0,
                };
                if pct {
                    let policy = Priorities::random(seed, o.depth, o.evictions, length);
                    Driver::new(policy, Keep::Choices, most, o.evictions)
                } else {
                    let policy = Walk::new(seed, o.evictions, length);
                    Driver::new(policy, Keep::Choices, most, o.evictions)
                }
            }
        }
    }

    fn take_back(&mut self, phase: &mut Phase, task: &Task, result: &RunResult, trace: &Trace) {
        let mut ours = true;
        match (phase, task) {
            (Phase::Tree(tree), Task::Branch(branch)) => {
                ours = tree.done(branch, trace, result.stuck);
            }
            (Phase::Departures(plans), Task::Plan(plan)) => plans.done(plan, trace),
            (Phase::Plain(_), _) => self.summary.plain_steps = trace.steps,
            (Phase::Chance(_) | Phase::Tree(_) | Phase::Departures(_), _) => {}
        }
        if trace.stopped {
            self.summary.repeats += 1;
            self.runs += 1;
            return;
        }
        // The plain order and what lies near the root are everybody's: counted once.
        if !ours || (matches!(task, Task::Plain) && self.options.shard.index != 0) {
            return;
        }
        // Unlike in every part; by chance the same as in a search of everything.
        let Shard { index, of } = self.options.shard;
        let number = match task {
            Task::Plain => 0,
            Task::Chance(number) => number + 1,
            Task::Plan(_) | Task::Branch(_) => self.runs * of + index,
        };
        self.runs += 1;
        let s = &mut self.summary;
        s.schedules += 1;
        if trace.cut {
            s.cut += 1;
            s.first_cut.get_or_insert_with(|| (number, trace.choices.clone()));
        } else if let Some(limit) = &result.limit {
            s.limited += 1;
            s.limit.get_or_insert_with(|| limit.clone());
        } else if s.outcomes.len() < MOST_OUTCOMES {
            s.outcomes.insert(result.digest);
        }
        let new: Vec<Bad> = result.bad.iter().filter(|b| !self.seen.contains(b)).cloned().collect();
        if new.is_empty() {
            return;
        }
        self.seen.extend(new.iter().cloned());
        s.found.push(Found { schedule: number, bad: new, choices: trace.choices.clone() });
        self.stopped = !self.options.keep_going;
    }

    fn end(&mut self, phase: &Phase) {
        let complete = match phase {
            Phase::Tree(tree) => tree.is_done() && !tree.cut,
            Phase::Departures(plans) => {
                self.options.strategy == Strategy::Exhaustive && plans.is_done() && !plans.cut
            }
            Phase::Plain(_) | Phase::Chance(_) => false,
        };
        let whole = self.summary.cut == 0 && self.summary.limited == 0;
        self.summary.complete |= complete && whole && !self.stopped;
    }
}
