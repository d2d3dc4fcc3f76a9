//! Tiny programs with threads, lines, caches that are written back late, waits, and
//! threads that start others: small enough to try every order by force.

use super::driver::{Driver, Fixed, Keep, Trace};
use super::{Bad, BadKind, Handle, Rng, RunResult, Subject, hash};
use wavefence_base::schedule::{Footprint, Resource, Schedule, Step};
use wavefence_base::{CacheClass, GpuAddress, QueueId};

/// What a thread does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// Reads a line through the thread's cache into its register.
    Load(usize),
    /// Adds a number to the register.
    Add(u8),
    /// Writes the register to a line in the thread's cache.
    Store(usize),
    /// Writes a number past every cache.
    Put(usize, u8),
    /// Goes on once memory holds the number.
    Wait(usize, u8),
    /// Writes the thread's cache back.
    WriteBack,
    /// Writes its lines back and drops them.
    Drop,
    /// Lets a thread begin.
    Start(usize),
    /// Leaves a write on its way: it lands by a step of its own.
    Send(usize, u8),
}

/// A program: threads, each with its cache; those that another starts do not run
/// before.
#[derive(Clone, Debug)]
pub struct Program {
    pub threads: Vec<(usize, Vec<Op>)>,
    pub lines: usize,
    pub caches: usize,
}

#[derive(Clone, Debug)]
struct State {
    memory: Vec<u8>,
    /// By cache and line: the byte, and whether it is dirty.
    caches: Vec<Vec<Option<(u8, bool)>>>,
    register: Vec<u8>,
    at: Vec<usize>,
    begun: Vec<bool>,
    /// By thread: writes on their way.
    sent: Vec<Vec<(usize, u8)>>,
    closed: bool,
}

fn line(i: usize) -> Resource {
    Resource::Line(GpuAddress(i as u64 * Resource::LINE))
}

fn cache(i: usize) -> Resource {
    Resource::Cache(CacheClass::Vector, i as u32)
}

impl Program {
    /// A random program of at most `threads` threads with `ops` operations each.
    pub fn random(rng: &mut Rng, threads: usize, ops: u64) -> Self {
        let lines = 2 + rng.below(2) as usize;
        let count = 2 + rng.below(threads as u64 - 1) as usize;
        let caches = 1 + rng.below(2) as usize;
        let threads = (0..count)
            .map(|t| {
                let len = 1 + rng.below(ops);
                let op = |rng: &mut Rng| {
                    let at = rng.below(lines as u64) as usize;
                    let value = 1 + rng.below(2) as u8;
                    match rng.below(11) {
                        0 | 1 => Op::Load(at),
                        2 => Op::Add(value),
                        3 | 4 => Op::Store(at),
                        5 => Op::Put(at, value),
                        6 => Op::Wait(at, value),
                        7 => Op::WriteBack,
                        8 => Op::Drop,
                        9 => Op::Send(at, value),
                        _ if t + 1 < count => Op::Start(t + 1),
                        _ => Op::Load(at),
                    }
                };
                (rng.below(caches as u64) as usize, (0..len).map(|_| op(rng)).collect())
            })
            .collect();
        Self { threads, lines, caches }
    }

    fn start(&self) -> State {
        let started = |t: usize| self.threads.iter().any(|(_, ops)| ops.contains(&Op::Start(t)));
        State {
            memory: vec![0; self.lines],
            caches: vec![vec![None; self.lines]; self.caches],
            register: vec![0; self.threads.len()],
            at: vec![0; self.threads.len()],
            begun: (0..self.threads.len()).map(|t| !started(t)).collect(),
            sent: vec![Vec::new(); self.threads.len()],
            closed: false,
        }
    }
}

impl State {
    fn options(&self, program: &Program) -> Vec<Step> {
        let mut all = Vec::new();
        for (t, (_, ops)) in program.threads.iter().enumerate() {
            let can = match ops.get(self.at[t]) {
                None => false,
                Some(Op::Wait(at, value)) => self.memory[*at] == *value,
                Some(_) => true,
            };
            if can && self.begun[t] {
                all.push(Step::Execute(QueueId(t as u32)));
            }
        }
        for (t, sent) in self.sent.iter().enumerate() {
            if !sent.is_empty() {
                all.push(Step::Late(QueueId(t as u32)));
            }
        }
        // Until it is closed a cache may lose its lines.
        if all.is_empty() && !self.closed {
            all.push(Step::Close(QueueId(0)));
        }
        if !all.is_empty() {
            for (c, lines) in self.caches.iter().enumerate() {
                if lines.iter().any(Option::is_some) {
                    all.push(Step::Evict(CacheClass::Vector, c as u32));
                }
            }
        }
        all
    }

    fn write_back(&mut self, c: usize, drop: bool, touched: &mut Footprint) {
        touched.add(cache(c), true);
        for at in 0..self.memory.len() {
            if let Some((value, true)) = self.caches[c][at] {
                self.memory[at] = value;
                touched.add(line(at), true);
                self.caches[c][at] = Some((value, false));
            }
            if drop {
                self.caches[c][at] = None;
            }
        }
    }

    fn take(&mut self, program: &Program, step: Step) -> Footprint {
        let mut touched = Footprint::default();
        match step {
            Step::Execute(QueueId(t)) => self.execute(program, t as usize, &mut touched),
            Step::Late(QueueId(t)) => {
                let (at, value) = self.sent[t as usize].remove(0);
                self.memory[at] = value;
                touched.add(line(at), true);
            }
            Step::Close(_) => self.closed = true,
            Step::Evict(_, c) => self.write_back(c as usize, true, &mut touched),
            other => panic!("{other:?} was not offered"),
        }
        touched
    }

    fn execute(&mut self, program: &Program, t: usize, touched: &mut Footprint) {
        let (c, ops) = &program.threads[t];
        let op = ops[self.at[t]];
        self.at[t] += 1;
        match op {
            Op::Load(at) => {
                touched.add(cache(*c), false);
                touched.add(line(at), false);
                let held = self.caches[*c][at].get_or_insert((self.memory[at], false));
                self.register[t] = held.0;
            }
            Op::Add(value) => self.register[t] = self.register[t].wrapping_mul(3) + value,
            Op::Store(at) => {
                touched.add(cache(*c), false);
                touched.add(line(at), true);
                self.caches[*c][at] = Some((self.register[t], true));
            }
            Op::Put(at, value) => {
                touched.add(line(at), true);
                self.memory[at] = value;
            }
            Op::Wait(at, _) => touched.add(line(at), false),
            Op::WriteBack => self.write_back(*c, false, touched),
            Op::Drop => self.write_back(*c, true, touched),
            Op::Start(other) => self.begun[other] = true,
            Op::Send(at, value) => self.sent[t].push((at, value)),
        }
    }

    /// What is left when nothing can go on.
    fn outcome(&self, program: &Program) -> RunResult {
        let ended = |t: usize| !self.begun[t] || self.at[t] == program.threads[t].1.len();
        let stuck: Vec<usize> = (0..program.threads.len()).filter(|t| !ended(*t)).collect();
        let bad = match stuck.first() {
            None => Vec::new(),
            Some(t) => vec![Bad { kind: BadKind::Hang, key: format!("thread {t}") }],
        };
        let all = format!("{:?} {:?} {:?}", self.memory, self.register, self.at);
        RunResult { stuck: !bad.is_empty(), bad, limit: None, digest: hash(all.as_bytes()) }
    }
}

/// A program as a subject.
pub struct Toy(pub Program);

impl Subject for Toy {
    fn run(&mut self, schedule: &Handle) -> RunResult {
        let mut schedule = schedule.clone();
        let mut state = self.0.start();
        loop {
            let options = state.options(&self.0);
            if options.is_empty() {
                return state.outcome(&self.0);
            }
            let chosen = schedule.choose(&options);
            let step = options[chosen.min(options.len() - 1)];
            let touched = state.take(&self.0, step);
            schedule.done(&touched);
            if schedule.enough() {
                return RunResult { digest: 1, ..RunResult::default() };
            }
        }
    }
}

/// Every outcome, by force; `None` if there are more than `most` runs.
pub fn brute(program: &Program, evictions: u32, most: usize) -> Option<(Vec<u64>, usize)> {
    fn go(
        program: &Program,
        state: &State,
        evictions: u32,
        left: &mut usize,
        all: &mut Vec<u64>,
    ) -> Option<()> {
        let options = state.options(program);
        if options.is_empty() {
            *left = left.checked_sub(1)?;
            all.push(state.outcome(program).digest);
            return Some(());
        }
        for step in options {
            let evicts = matches!(step, Step::Evict(..));
            if evicts && evictions == 0 {
                continue;
            }
            let mut next = state.clone();
            next.take(program, step);
            go(program, &next, evictions - u32::from(evicts), left, all)?;
        }
        Some(())
    }
    let (mut left, mut all) = (most, Vec::new());
    go(program, &program.start(), evictions, &mut left, &mut all)?;
    all.sort_unstable();
    all.dedup();
    Some((all, most - left))
}

/// Runs a program under a driver.
pub fn run(program: &Program, driver: Driver) -> (RunResult, Trace) {
    let handle = Handle::new(driver);
    let result = Toy(program.clone()).run(&handle);
    (result, handle.finish())
}

#[test]
fn the_plain_order_takes_the_first_step() {
    let ops = vec![Op::Load(0), Op::Put(1, 1)];
    let program =
        Program { threads: vec![(0, ops), (0, vec![Op::Put(0, 2)])], lines: 2, caches: 1 };
    let (_, trace) = run(&program, Driver::new(Fixed::plain(), Keep::Footprints, 100, 1));
    let taken: Vec<Step> = trace.points.iter().filter_map(|p| p.taken).map(|o| o.1).collect();
    let thread = |t| Step::Execute(QueueId(t));
    assert_eq!(taken, [thread(0), thread(0), thread(1), Step::Close(QueueId(0))]);
    assert!(trace.choices.is_empty());
    assert_eq!(trace.points[1].evictions.len(), 1);
}
