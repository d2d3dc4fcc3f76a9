//! Which variables are indexed at run time, so that they need memory.

use super::memory::MAX_CHOICE;
use super::module::{Function, Module};
use super::types::Type;
use spirv::Op;
use std::collections::{HashMap, HashSet};

/// Finds them. Ids of function parameters are in the set too.
pub(super) fn dynamic(module: &Module<'_>) -> HashSet<u32> {
    let mut scan = Scan { module, found: HashSet::new(), done: HashSet::new() };
    let mut ids: Vec<u32> = module.functions.keys().copied().collect();
    ids.sort_unstable();
    for id in ids {
        scan.function(id, 0);
    }
    scan.found
}

struct Scan<'m, 'w> {
    module: &'m Module<'w>,
    found: HashSet<u32>,
    done: HashSet<u32>,
}

impl Scan<'_, '_> {
    fn function(&mut self, id: u32, depth: u32) {
        let Some(function) = self.module.functions.get(&id) else { return };
        // A cycle is refused when it is inlined.
        if depth > 64 || !self.done.insert(id) {
            return;
        }
        self.body(function, depth);
    }

    fn body(&mut self, function: &Function, depth: u32) {
        // Variable behind each pointer, and the pointer's own type.
        let mut roots: HashMap<u32, (u32, u32)> =
            function.params.iter().map(|&(id, ty)| (id, (id, ty))).collect();
        let mut blocks: Vec<_> = function.blocks.values().collect();
        blocks.sort_by_key(|b| b.first);
        for block in blocks {
            for i in block.first..block.last {
                let ins = &self.module.insts[i];
                match ins.op {
                    Op::Variable => _ = roots.insert(ins.id, (ins.id, ins.ty)),
                    Op::CopyObject | Op::AccessChain | Op::InBoundsAccessChain => {
                        let Some(&base) = ins.args.first() else { continue };
                        let Some((root, ty)) = self.root(&roots, base) else { continue };
                        if self.walks(ty, ins.rest(1)) {
                            self.found.insert(root);
                        }
                        roots.insert(ins.id, (root, ins.ty));
                    }
                    Op::FunctionCall => {
                        let Some(&callee) = ins.args.first() else { continue };
                        self.function(callee, depth + 1);
                        let Some(called) = self.module.functions.get(&callee) else { continue };
                        for (&(param, _), &arg) in called.params.iter().zip(ins.rest(1)) {
                            if self.found.contains(&param)
                                && let Some((root, _)) = self.root(&roots, arg)
                            {
                                self.found.insert(root);
                            }
                        }
                    }
                    _ => {}
                }
            }
        }
    }

    fn root(&self, roots: &HashMap<u32, (u32, u32)>, id: u32) -> Option<(u32, u32)> {
        if let Some(&root) = roots.get(&id) {
            return Some(root);
        }
        self.module.pointer_types.get(&id).map(|&ty| (id, ty))
    }

    /// True if some index into a long array is not known.
    fn walks(&self, pointer: u32, path: &[u32]) -> bool {
        let Ok((_, mut ty)) = self.module.pointer(pointer) else { return false };
        for &index in path {
            let known = self.module.constant_u32(index).ok();
            ty = match self.module.ty(ty) {
                Ok(Type::Array { elem, len }) => {
                    if *len > MAX_CHOICE && known.is_none_or(|n| n >= *len) {
                        return true;
                    }
                    *elem
                }
                Ok(Type::Vector { elem, .. } | Type::Matrix { column: elem, .. }) => *elem,
                Ok(Type::RuntimeArray { elem }) => *elem,
                Ok(Type::Struct { members }) => match known.and_then(|n| members.get(n as usize)) {
                    Some(&member) => member,
                    None => return false,
                },
                _ => return false,
            };
        }
        false
    }
}
