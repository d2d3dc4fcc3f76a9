//! Values used where no path has computed them: what a module may not do, and
//! what emission does not look at. Asked when a kernel turns out to be wrong, to
//! tell whose fault it is.

use super::module::{Block, Function, Module};
use super::words::Ins;
use crate::ShaderError;
use spirv::Op;
use std::collections::HashMap;

/// The first use of a value that its definition does not dominate.
pub(super) fn violation(module: &Module<'_>) -> Option<ShaderError> {
    let mut functions: Vec<&Function> = module.functions.values().map(|f| &**f).collect();
    functions.sort_by_key(|f| f.at);
    functions.into_iter().find_map(|f| Tree::of(module, f)?.violation(module))
}

/// The dominator tree of a function's blocks.
struct Tree<'f> {
    function: &'f Function,
    /// Labels, in an order in which a block stands after one of its predecessors.
    order: Vec<u32>,
    /// Position in `order`, by label.
    place: HashMap<u32, usize>,
    /// Immediate dominator of each block, by position; the entry's is itself.
    parent: Vec<usize>,
}

impl<'f> Tree<'f> {
    fn of(module: &Module<'_>, function: &'f Function) -> Option<Self> {
        let order = reverse_postorder(module, function);
        let place: HashMap<u32, usize> = order.iter().enumerate().map(|(i, &l)| (l, i)).collect();
        let mut from: Vec<Vec<usize>> = vec![Vec::new(); order.len()];
        for (i, label) in order.iter().enumerate() {
            for next in targets(module, function.blocks.get(label)?) {
                if let Some(&at) = place.get(&next) {
                    from[at].push(i);
                }
            }
        }
        let mut parent = vec![usize::MAX; order.len()];
        *parent.first_mut()? = 0;
        let mut changed = true;
        while changed {
            changed = false;
            for at in 1..order.len() {
                let known = from[at].iter().copied().filter(|&p| parent[p] != usize::MAX);
                let meet = known.reduce(|a, b| common(&parent, a, b));
                if let Some(new) = meet.filter(|&new| new != parent[at]) {
                    parent[at] = new;
                    changed = true;
                }
            }
        }
        Some(Self { function, order, place, parent })
    }

    fn dominates(&self, above: usize, mut below: usize) -> bool {
        while below > above {
            below = self.parent[below];
        }
        below == above
    }

    fn violation(&self, module: &Module<'_>) -> Option<ShaderError> {
        let mut made: HashMap<u32, (usize, usize)> = HashMap::new();
        let blocks = || self.order.iter().filter_map(|l| self.function.blocks.get(l)).enumerate();
        for (at, block) in blocks() {
            for i in block.first..block.last {
                made.insert(module.insts[i].id, (at, i));
            }
        }
        made.remove(&0);
        for (at, block) in blocks() {
            for i in block.first..=block.last {
                let ins = &module.insts[i];
                let good = |id: u32, at: usize, i: usize| match made.get(&id) {
                    Some(&(home, defined)) if home == at => defined < i,
                    Some(&(home, _)) => self.dominates(home, at),
                    None => true,
                };
                let bad = if ins.op == Op::Phi {
                    let ends = |label: &u32| self.place.get(label).copied();
                    let mut pairs = ins.args.chunks_exact(2);
                    pairs.any(|p| ends(&p[1]).is_some_and(|from| !good(p[0], from, usize::MAX)))
                } else {
                    used(ins).iter().any(|&id| !good(id, at, i))
                };
                if bad {
                    let what = "a value is used where not every path has computed it";
                    return Some(ins.place(ShaderError::invalid(what)));
                }
            }
        }
        None
    }
}

/// The ids of values among an instruction's words; a number that may be a literal
/// is left out.
fn used<'w>(ins: &Ins<'w>) -> &'w [u32] {
    let count = match ins.op {
        Op::Line | Op::NoLine | Op::LoopMerge | Op::SelectionMerge | Op::Branch => 0,
        Op::CompositeExtract | Op::Load | Op::Switch | Op::BranchConditional => 1,
        Op::ArrayLength => 1,
        Op::CompositeInsert | Op::VectorShuffle | Op::Store | Op::CopyMemory => 2,
        Op::ExtInst => return ins.args.get(2..).unwrap_or(&[]),
        Op::Variable => return ins.args.get(1..).unwrap_or(&[]),
        name if format!("{name:?}").starts_with("Image") => 2,
        name if format!("{name:?}").starts_with("GroupNonUniform") => 1,
        _ => ins.args.len(),
    };
    &ins.args[..count.min(ins.args.len())]
}

fn targets(module: &Module<'_>, block: &Block) -> Vec<u32> {
    let ins = &module.insts[block.last];
    match ins.op {
        Op::Branch => ins.args.iter().take(1).copied().collect(),
        Op::BranchConditional => ins.args.iter().skip(1).take(2).copied().collect(),
        // Literals may be of two words; what is no label falls out.
        Op::Switch => ins.args.iter().skip(1).copied().collect(),
        _ => Vec::new(),
    }
}

fn reverse_postorder(module: &Module<'_>, function: &Function) -> Vec<u32> {
    let mut seen = std::collections::HashSet::from([function.entry]);
    let mut out = Vec::new();
    let next = |label: u32| {
        let block = function.blocks.get(&label);
        let all = block.map_or_else(Vec::new, |b| targets(module, b));
        all.into_iter().filter(|l| function.blocks.contains_key(l)).collect::<Vec<u32>>()
    };
    let mut open = vec![(function.entry, next(function.entry))];
    while let Some((label, rest)) = open.last_mut() {
        match rest.pop() {
            Some(to) if seen.insert(to) => open.push((to, next(to))),
            Some(_) => {}
            None => {
                out.push(*label);
                open.pop();
            }
        }
    }
    out.reverse();
    out
}

/// The nearest block that dominates both.
fn common(parent: &[usize], mut a: usize, mut b: usize) -> usize {
    while a != b {
        if a > b {
            a = parent[a];
        } else {
            b = parent[b];
        }
    }
    a
}
