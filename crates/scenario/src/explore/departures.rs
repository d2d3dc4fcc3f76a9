//! Every order with at most so many departures from the plain one.
//!
//! A departure holds the agent that would go next back until nothing else can go on,
//! or has a cache lose its lines. Departures are added one at a time, each later than
//! those before it, so every set of them is run once.

use super::driver::{Offer, Policy, Priorities, Trace};
use super::order::may_touch;
use super::search::Shard;
use std::collections::VecDeque;
use wavefence_base::schedule::Step;

/// Where a run departs from the plain order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Departure {
    /// The agent in front is held back.
    Hold,
    /// A cache loses its lines.
    Evict(Step),
}

/// Departures by point, ascending.
pub type Plan = Vec<(usize, Departure)>;

/// The plans that are still to be run, those with few departures first.
pub struct Plans {
    waiting: VecDeque<Plan>,
    holds: u32,
    evictions: u32,
    /// The part of the first departures that is ours.
    shard: Shard,
    /// True if a run was cut by the bound on steps.
    pub cut: bool,
}

impl Plans {
    /// Nothing but what follows from runs that are told.
    pub fn new(holds: u32, evictions: u32, shard: Shard) -> Self {
        Self { waiting: VecDeque::new(), holds, evictions, shard, cut: false }
    }

    /// True if no plan is left.
    pub fn is_done(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Up to `most` plans to run now.
    pub fn next(&mut self, most: usize) -> Vec<Plan> {
        let count = most.min(self.waiting.len());
        self.waiting.drain(..count).collect()
    }

    /// Takes back the run of a plan: the plans with one departure more.
    pub fn done(&mut self, plan: &Plan, trace: &Trace) {
        self.cut |= trace.cut;
        let holds = plan.iter().filter(|(_, d)| *d == Departure::Hold).count();
        let evictions = plan.len() - holds;
        let from = plan.last().map_or(0, |(at, _)| at + 1);
        let mut more = Vec::new();
        for (at, point) in trace.points.iter().enumerate().skip(from) {
            if holds < self.holds as usize && point.steps.len() > 1 {
                more.push((at, Departure::Hold));
            }
            if evictions < self.evictions as usize {
                let evicts = point.evictions.iter().map(|(_, step)| *step);
                let hits = |e: &Step| point.footprint.conflicts(&may_touch(*e, &trace.points));
                more.extend(evicts.filter(hits).map(|e| (at, Departure::Evict(e))));
            }
        }
        for (n, departure) in (0u64..).zip(more) {
            if plan.is_empty() && !self.shard.owns(n) {
                continue;
            }
            let mut longer = plan.clone();
            longer.push(departure);
            self.waiting.push_back(longer);
        }
    }
}

/// Runs a plan.
pub struct Depart {
    priorities: Priorities,
    evictions: Vec<(usize, Step)>,
}

impl Depart {
    /// The run of a plan.
    pub fn new(plan: &Plan) -> Self {
        let hold = |(at, d): &(usize, Departure)| (*d == Departure::Hold).then_some(*at);
        let evict = |(at, d): &(usize, Departure)| match d {
            Departure::Evict(step) => Some((*at, *step)),
            Departure::Hold => None,
        };
        let priorities = Priorities::holds(plan.iter().rev().filter_map(hold).collect());
        Self { priorities, evictions: plan.iter().rev().filter_map(evict).collect() }
    }
}

impl Policy for Depart {
    fn pick(&mut self, at: usize, steps: &[Offer], evictions: &[Offer]) -> Option<Offer> {
        if let Some(&(point, step)) = self.evictions.last()
            && point == at
        {
            self.evictions.pop();
            if let Some(offer) = evictions.iter().find(|(_, s)| *s == step) {
                return Some(*offer);
            }
        }
        self.priorities.pick(at, steps, evictions)
    }
}
