//! Where each register lies: linear scan over the list of nodes.
//!
//! A small file stays in the first-level cache: a register of 64 lanes is 256
//! bytes, a uniform one 32; one of 64 bits takes two such places in a row. Registers share a place if their intervals do not
//! meet. An interval reaches from the first write to the last read in list order
//! and is widened over a loop where a value must outlive an iteration, or where
//! lanes that left the loop still hold it.

use super::Step;
use super::flatten::{List, Node};
use super::live::Heads;
use super::uniform::{self, Facts};
use crate::simd::Loc;
use wavefence_base::WaveSize;
use wavefence_shader::ir::{Builtin, Inst, Kernel, Label, Reg, RegKind, Ty};

/// Where everything lies.
pub struct Places {
    /// By register.
    pub locs: Vec<Loc>,
    /// Chunks of the file.
    pub chunks: u32,
    /// Rows of it, but for the exec row.
    pub rows: u32,
    /// Places that hold constants.
    pub constants: Vec<(Loc, u32)>,
    /// Registers that hold launch values.
    pub builtins: Vec<(Builtin, Loc)>,
    /// Vars that must be 0 at the start.
    pub zeros: Vec<Loc>,
}

/// First and last node that need the register.
#[derive(Clone, Copy)]
struct Interval {
    first: usize,
    last: usize,
}

/// The registers a step reads.
pub fn step_reads(step: &Step) -> Option<Reg> {
    match step {
        Step::If { cond, .. } | Step::JumpIf { cond, .. } => Some(*cond),
        Step::Leave { cond, .. } => cond.map(|c| c.0),
        Step::Switch { selector, .. } | Step::Select { selector, .. } => Some(*selector),
        Step::Ops { .. }
        | Step::Save { .. }
        | Step::Restore { .. }
        | Step::Jump { .. }
        | Step::Back { .. }
        | Step::Case { .. }
        | Step::Load(_)
        | Step::Store(_)
        | Step::LoadSized(_)
        | Step::StoreSized(_)
        | Step::Inst(_)
        | Step::End => None,
    }
}

/// Calls `read` and `write` with the registers of a node.
pub fn node_registers(node: &Node, read: &mut dyn FnMut(Reg), write: &mut dyn FnMut(Reg)) {
    match node {
        Node::Lane(lane) => {
            lane.src.iter().for_each(|&r| read(r));
            write(lane.dst);
        }
        Node::Inst(inst, _) => inst.registers(read, write),
        Node::Step(step) => step_reads(step).into_iter().for_each(read),
        Node::Here(_) | Node::LoopBegin(_) | Node::LoopEnd(_) => {}
    }
}

/// A loop's nodes.
struct Span {
    label: Label,
    first: usize,
    last: usize,
}

fn spans(list: &List) -> Vec<Span> {
    let mut open = Vec::new();
    let mut found = Vec::new();
    for (at, node) in list.nodes.iter().enumerate() {
        match node {
            Node::LoopBegin(label) => open.push((*label, at)),
            Node::LoopEnd(_) => {
                if let Some((label, first)) = open.pop() {
                    found.push(Span { label, first, last: at });
                }
            }
            Node::Lane(_) | Node::Inst(..) | Node::Step(_) | Node::Here(_) => {}
        }
    }
    // Inner loops come first.
    found
}

/// Every register's interval; `None` if no node names it.
fn intervals(kernel: &Kernel, list: &List, heads: &Heads) -> Vec<Option<Interval>> {
    let mut all: Vec<Option<Interval>> = vec![None; kernel.regs.len()];
    for (at, node) in list.nodes.iter().enumerate() {
        let mut touch = |reg: Reg| {
            let i = all[reg.index()].get_or_insert(Interval { first: at, last: at });
            i.last = at;
        };
        let mut seen = Vec::new();
        node_registers(node, &mut |r| touch(r), &mut |r| seen.push(r));
        seen.into_iter().for_each(touch);
    }
    let spans = spans(list);
    let mut touched = vec![Vec::new(); spans.len()];
    for (i, span) in spans.iter().enumerate() {
        for node in &list.nodes[span.first..=span.last] {
            let (mut a, mut b) = (Vec::new(), Vec::new());
            node_registers(node, &mut |r| a.push(r), &mut |r| b.push(r));
            touched[i].extend(a.into_iter().chain(b));
        }
        touched[i].sort_unstable();
        touched[i].dedup();
    }
    let mut changed = true;
    while changed {
        changed = false;
        for (span, regs) in spans.iter().zip(&touched) {
            for &reg in regs {
                let Some(i) = &mut all[reg.index()] else { continue };
                let carried = heads.loops.get(&span.label).is_some_and(|h| h.contains(reg));
                let outside = i.first < span.first || i.last > span.last;
                let inside = i.first > span.first || i.last < span.last;
                if (carried || outside) && inside {
                    let wide =
                        Interval { first: i.first.min(span.first), last: i.last.max(span.last) };
                    changed |= wide.first != i.first || wide.last != i.last;
                    *i = wide;
                }
            }
        }
    }
    all
}

/// Numbers handed out and taken back.
#[derive(Default)]
struct Pool {
    free: Vec<u32>,
    size: u32,
}

impl Pool {
    fn take(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            self.size += 1;
            self.size - 1
        })
    }
}

/// Gives every register its place.
pub fn allocate(
    kernel: &Kernel,
    size: WaveSize,
    facts: &Facts,
    list: &List,
    heads: &Heads,
) -> Places {
    let mut intervals = intervals(kernel, list, heads);
    let builtins = pin(kernel, list, heads, &mut intervals);
    let mut pools: Pools = Default::default();
    let pool = |reg: Reg| class(kernel, facts, reg);
    let mut number = vec![0u32; kernel.regs.len()];
    let mut owner: Vec<(Builtin, Reg)> = Vec::new();
    for &(which, reg) in &builtins {
        let first = owner.iter().find(|o| o.0 == which).map(|o| o.1);
        if let Some(first) = first {
            number[reg.index()] = number[first.index()];
        } else {
            number[reg.index()] = pools[pool(reg)].take();
            owner.push((which, reg));
        }
    }
    for &(reg, _) in &kernel.constants {
        if intervals[reg.index()].is_some() {
            number[reg.index()] = pools[pool(reg)].take();
        }
    }
    let pinned = |reg: Reg| uniform::is_const(kernel, reg) || builtins.iter().any(|b| b.1 == reg);
    scan(kernel, facts, list, &intervals, &pinned, &mut pools, &mut number);
    let starts = starts(&pools, size.lanes() / 8);
    let loc = |reg: Reg| starts.loc(pool(reg), number[reg.index()]);
    let used = |reg: Reg| intervals[reg.index()].is_some();
    let zeros = (0..kernel.regs.len())
        .map(|i| Reg(i as u32))
        .filter(|&r| used(r) && heads.entry.contains(r))
        .flat_map(|r| [Some(loc(r)), is_wide(kernel, r).then(|| loc(r).high(starts.per_row))])
        .flatten()
        .collect();
    let mut constants = Vec::new();
    for &(reg, value) in kernel.constants.iter().filter(|c| used(c.0)) {
        constants.push((loc(reg), constant(kernel, reg, value)));
        if is_wide(kernel, reg) {
            constants.push((loc(reg).high(starts.per_row), (value >> 32) as u32));
        }
    }
    Places {
        locs: (0..kernel.regs.len()).map(|i| loc(Reg(i as u32))).collect(),
        chunks: starts.end,
        rows: pools[0].size + 2 * pools[2].size,
        constants,
        builtins: owner.iter().map(|&(which, reg)| (which, loc(reg))).collect(),
        zeros,
    }
}

/// Rows, single chunks, pairs of rows, pairs of chunks.
type Pools = [Pool; 4];

/// Which pool a register's place comes from.
fn class(kernel: &Kernel, facts: &Facts, reg: Reg) -> usize {
    usize::from(facts.is_small(reg)) + 2 * usize::from(is_wide(kernel, reg))
}

/// Two words a lane.
pub fn is_wide(kernel: &Kernel, reg: Reg) -> bool {
    kernel.reg(reg).ty == Ty::B64
}

/// Where the places of each pool start.
struct Starts {
    first: [u32; 4],
    per_row: u32,
    end: u32,
}

fn starts(pools: &Pools, per_row: u32) -> Starts {
    // The exec row comes first, then rows, then what is smaller.
    let rows = per_row;
    let wide_rows = rows + pools[0].size * per_row;
    let chunks = wide_rows + 2 * pools[2].size * per_row;
    let wide_chunks = chunks + pools[1].size;
    let end = wide_chunks + 2 * pools[3].size;
    Starts { first: [rows, chunks, wide_rows, wide_chunks], per_row, end }
}

impl Starts {
    fn loc(&self, pool: usize, number: u32) -> Loc {
        let uniform = pool % 2 == 1;
        let size = if uniform { 1 } else { self.per_row } * if pool >= 2 { 2 } else { 1 };
        Loc { at: self.first[pool] + number * size, uniform }
    }
}

/// The (low) word that stands for a constant.
fn constant(kernel: &Kernel, reg: Reg, value: u64) -> u32 {
    match kernel.reg(reg).ty {
        Ty::Bool => crate::ops::truth(value != 0),
        Ty::B8 | Ty::B16 | Ty::B32 | Ty::B64 => value as u32,
    }
}

/// Launch values live all along, and so do vars that start as 0 from the start
/// on. Gives the former.
fn pin(
    kernel: &Kernel,
    list: &List,
    heads: &Heads,
    intervals: &mut [Option<Interval>],
) -> Vec<(Builtin, Reg)> {
    for (i, interval) in intervals.iter_mut().enumerate() {
        let reg = Reg(i as u32);
        if let Some(interval) = interval
            && kernel.reg(reg).kind == RegKind::Var
            && heads.entry.contains(reg)
        {
            interval.first = 0;
        }
    }
    let builtin = |node: &Node| match node {
        Node::Inst(Inst::Builtin { dst, which }, _) => Some((*which, *dst)),
        Node::Lane(_)
        | Node::Inst(..)
        | Node::Step(_)
        | Node::Here(_)
        | Node::LoopBegin(_)
        | Node::LoopEnd(_) => None,
    };
    list.nodes.iter().filter_map(builtin).collect()
}

/// Walks the nodes; a place is taken where an interval begins and given back
/// where it ends.
fn scan(
    kernel: &Kernel,
    facts: &Facts,
    list: &List,
    intervals: &[Option<Interval>],
    pinned: &dyn Fn(Reg) -> bool,
    pools: &mut Pools,
    number: &mut [u32],
) {
    let n = list.nodes.len();
    let (mut begins, mut ends) = (vec![Vec::new(); n], vec![Vec::new(); n]);
    for (i, interval) in intervals.iter().enumerate() {
        let reg = Reg(i as u32);
        if let Some(interval) = interval
            && kernel.reg(reg).kind != RegKind::Const
            && !pinned(reg)
        {
            begins[interval.first].push(reg);
            ends[interval.last].push(reg);
        }
    }
    for at in 0..n {
        // A lane op reads a chunk of its operands before it writes that chunk,
        // so its result may take the place of an operand that ends here.
        let early = matches!(list.nodes[at], Node::Lane(_));
        let again = |r: &Reg| begins[at].contains(r);
        let free = |r: Reg, pools: &mut Pools, number: &[u32]| {
            pools[class(kernel, facts, r)].free.push(number[r.index()]);
        };
        if early {
            for &r in ends[at].iter().filter(|r| !again(r)) {
                free(r, pools, number);
            }
        }
        for &r in &begins[at] {
            number[r.index()] = pools[class(kernel, facts, r)].take();
        }
        for &r in ends[at].iter().filter(|r| !early || again(r)) {
            free(r, pools, number);
        }
    }
}
