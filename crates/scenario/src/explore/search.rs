//! Every order up to equivalence: a tree of points, searched in batches.
//!
//! A run gives the turns that it asks for ([`super::order`]); each becomes a branch at
//! its point unless an earlier branch, or a step that sleeps there, covers it. A step
//! sleeps after its branch was taken until something conflicts with it: until then,
//! taking it would repeat a run. Sleep sets and source sets as they stand in the
//! literature on stateless model checking; what is ours is that an eviction may be
//! left out at the end of a run, so it asks for its branch without having been taken.
//!
//! Runs are handed out in batches and taken back in the order they were handed out,
//! so the search does not depend on how many are made at a time.

use super::driver::{Offer, Point, Policy, Trace};
use super::order::{Turn, turns};
use std::cmp::Reverse;
use std::collections::BTreeSet;
use wavefence_base::schedule::{Footprint, Step};

/// The part of the tree that is searched: this one of so many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// Its number, from 0.
    pub index: u64,
    /// How many parts there are.
    pub of: u64,
}

impl Shard {
    /// Everything.
    pub const ALL: Self = Self { index: 0, of: 1 };

    /// True if number `n` of something that is dealt out is in this part.
    pub fn owns(self, n: u64) -> bool {
        n % self.of.max(1) == self.index
    }

    /// Points with a choice at the root below which the tree is dealt out: there
    /// every step is a branch, so that nobody has to hear of what others find.
    fn levels(self) -> u32 {
        if self.of <= 1 { 0 } else { 2 + u64::BITS - self.of.leading_zeros() }
    }
}

/// A point of the tree.
struct Node {
    /// The point before it, and what was taken there.
    parent: Option<(usize, Offer)>,
    depth: usize,
    /// Points with a choice before this one.
    level: u32,
    steps: Vec<Offer>,
    evictions: Vec<Offer>,
    sleep: Vec<(Step, Footprint)>,
    /// Branches in the order they were asked for, with what the step touched once
    /// it is known.
    branches: Vec<(Step, Option<Footprint>)>,
    /// Those of them that are [`Turn::last`].
    last: Vec<Step>,
    /// Branches that are not searched to their ends.
    open: usize,
}

/// A branch that is to be run.
#[derive(Clone, Debug)]
pub struct Branch {
    node: usize,
    step: Option<Step>,
    /// What is taken up to its point and at it.
    row: Vec<Offer>,
    sleep: Vec<(Step, Footprint)>,
}

/// The tree.
pub struct Tree {
    nodes: Vec<Option<Node>>,
    free: Vec<usize>,
    /// Branches to run, deepest first, then as they were asked for.
    waiting: BTreeSet<(Reverse<usize>, u64, usize, Step)>,
    asked: u64,
    started: bool,
    shard: Shard,
    /// True once a run was cut by the bound on steps.
    pub cut: bool,
}

impl Tree {
    /// Nothing searched yet.
    pub fn new(shard: Shard) -> Self {
        Self {
            nodes: Vec::new(),
            free: Vec::new(),
            waiting: BTreeSet::new(),
            asked: 0,
            started: false,
            shard,
            cut: false,
        }
    }

    /// True if no branch is left.
    pub fn is_done(&self) -> bool {
        self.started && self.waiting.is_empty()
    }

    /// Up to `most` branches to run now.
    pub fn next(&mut self, most: usize) -> Vec<Branch> {
        if !self.started {
            self.started = true;
            return vec![Branch { node: 0, step: None, row: Vec::new(), sleep: Vec::new() }];
        }
        let mut batch = Vec::new();
        while batch.len() < most {
            let Some((_, _, node, step)) = self.waiting.pop_first() else { break };
            batch.extend(self.branch(node, step));
        }
        batch
    }

    fn branch(&self, at: usize, step: Step) -> Option<Branch> {
        let node = self.nodes[at].as_ref()?;
        let mut sleep = Vec::new();
        if !node.last.contains(&step) {
            sleep.clone_from(&node.sleep);
            let earlier = node.branches.iter().take_while(|(s, _)| *s != step);
            sleep.extend(earlier.filter_map(|(s, touched)| Some((*s, touched.clone()?))));
        }
        let mut row = vec![find(node, step)?];
        let mut up = node;
        while let Some((parent, taken)) = up.parent {
            row.push(taken);
            up = self.nodes[parent].as_ref()?;
        }
        row.reverse();
        Some(Branch { node: at, step: Some(step), row, sleep })
    }

    /// Takes back the run of a branch, which ended `stuck` or not; false if it belongs
    /// to another part.
    pub fn done(&mut self, branch: &Branch, trace: &Trace, stuck: bool) -> bool {
        let points = &trace.points;
        let path = self.graft(branch, points);
        self.branch_all(&path[branch.row.len().min(path.len())..]);
        let owned = self.shard.owns(self.dealt(&path));
        if owned {
            self.cut |= trace.cut;
            for turn in turns(points, stuck && !trace.cut && !trace.stopped) {
                self.ask(&path, &turn);
            }
        }
        if let Some(&last) = path.last() {
            self.close(last);
        }
        owned
    }

    /// Near the root every step is a branch.
    fn branch_all(&mut self, new: &[usize]) {
        let levels = self.shard.levels();
        for &id in new {
            let Some(node) = self.nodes[id].as_ref() else { continue };
            if node.level >= levels {
                break;
            }
            for (_, step) in node.steps.clone() {
                self.ask(&[id], &Turn { at: 0, begin: vec![step], last: false });
            }
        }
    }

    /// The number of a run by what it takes near the root.
    fn dealt(&self, path: &[usize]) -> u64 {
        let levels = self.shard.levels();
        let mut all = Vec::new();
        for pair in path.windows(2) {
            let (node, next) = (self.nodes[pair[0]].as_ref(), self.nodes[pair[1]].as_ref());
            if let (Some(node), Some((_, taken))) = (node, next.and_then(|n| n.parent))
                && node.level < levels
                && node.steps.len() > 1
            {
                all.extend(taken.0.to_le_bytes());
            }
        }
        super::hash(&all) >> 16
    }

    /// Adds the points of a run that are new; gives the node of every point.
    fn graft(&mut self, branch: &Branch, points: &[Point]) -> Vec<usize> {
        let mut path = Vec::new();
        let mut parent = None;
        let mut at = branch.step.map(|_| branch.node);
        while let Some(node) = at {
            path.push(node);
            at = self.nodes[node].as_ref().and_then(|n| n.parent).map(|(p, _)| p);
        }
        path.reverse();
        if let (Some(&node), Some(step)) = (path.last(), branch.step) {
            let point = points.get(path.len() - 1);
            if let (Some(n), Some(point)) = (self.nodes[node].as_mut(), point) {
                if let Some(entry) = n.branches.iter_mut().find(|(s, _)| *s == step) {
                    entry.1 = Some(point.footprint.clone());
                }
                parent = point.taken.map(|taken| (node, taken));
            }
        }
        let mut level = match path.last().and_then(|id| self.nodes[*id].as_ref()) {
            Some(node) => node.level + u32::from(node.steps.len() > 1),
            None => 0,
        };
        for point in points.iter().skip(path.len()) {
            let branches =
                point.taken.iter().map(|(_, s)| (*s, Some(point.footprint.clone()))).collect();
            let node = Node {
                parent,
                depth: path.len(),
                level,
                steps: point.steps.clone(),
                evictions: point.evictions.clone(),
                sleep: point.sleep.clone(),
                branches,
                last: Vec::new(),
                // Its one branch, which leads to the next point.
                open: 1,
            };
            level += u32::from(node.steps.len() > 1);
            let id = self.keep(node);
            path.push(id);
            parent = point.taken.map(|taken| (id, taken));
        }
        path
    }

    fn keep(&mut self, node: Node) -> usize {
        match self.free.pop() {
            Some(id) => {
                self.nodes[id] = Some(node);
                id
            }
            None => {
                self.nodes.push(Some(node));
                self.nodes.len() - 1
            }
        }
    }

    /// Adds the branch of a turn unless it is covered.
    fn ask(&mut self, path: &[usize], turn: &Turn) {
        let Some(&id) = path.get(turn.at) else { return };
        let Some(node) = self.nodes[id].as_mut() else { return };
        let covered = |step: &Step| {
            node.branches.iter().any(|(s, _)| s == step)
                || node.sleep.iter().any(|(s, _)| s == step)
        };
        if turn.begin.iter().any(covered) {
            return;
        }
        let Some(&step) = turn.begin.first() else { return };
        if find(node, step).is_none() {
            return;
        }
        node.branches.push((step, None));
        if turn.last {
            node.last.push(step);
        }
        node.open += 1;
        self.waiting.insert((Reverse(node.depth), self.asked, id, step));
        self.asked += 1;
    }

    /// One branch of a node has been searched to its end.
    fn close(&mut self, mut id: usize) {
        while let Some(node) = self.nodes[id].as_mut() {
            node.open -= 1;
            if node.open > 0 {
                return;
            }
            let parent = node.parent;
            self.nodes[id] = None;
            self.free.push(id);
            let Some((up, _)) = parent else { return };
            id = up;
        }
    }
}

fn find(node: &Node, step: Step) -> Option<Offer> {
    node.steps.iter().chain(&node.evictions).find(|(_, s)| *s == step).copied()
}

/// Takes a branch, then the plain order but for what sleeps.
pub struct Follow {
    row: Vec<Offer>,
    sleep: Vec<(Step, Footprint)>,
    /// Points at which sleep is not known yet: those of the row but the last.
    known: usize,
    at: usize,
}

impl Follow {
    /// The run of a branch.
    pub fn new(branch: &Branch) -> Self {
        let row = branch.row.clone();
        let known = row.len().saturating_sub(1);
        Self { row, sleep: branch.sleep.clone(), known, at: 0 }
    }
}

impl Policy for Follow {
    fn pick(&mut self, at: usize, steps: &[Offer], evictions: &[Offer]) -> Option<Offer> {
        self.at = at;
        if let Some(&(index, step)) = self.row.get(at) {
            let same = |o: &&Offer| o.1 == step;
            let found = steps.iter().chain(evictions).find(same).copied();
            return Some(found.unwrap_or((index, step)));
        }
        // A step that has become impossible does not sleep any more.
        self.sleep.retain(|(s, _)| steps.iter().chain(evictions).any(|(_, o)| o == s));
        let sleeps = |o: &&Offer| !self.sleep.iter().any(|(s, _)| *s == o.1);
        steps.iter().find(sleeps).copied()
    }

    fn touched(&mut self, taken: Offer, footprint: &Footprint) {
        if self.at >= self.known {
            self.sleep.retain(|(s, f)| *s != taken.1 && !f.conflicts(footprint));
        }
    }

    fn sleeping(&self) -> &[(Step, Footprint)] {
        if self.at < self.row.len() { &[] } else { &self.sleep }
    }
}
