//! Numbers registers without gaps and puts resources in slot order.

use super::super::pool::Pool;
use super::Done;
use crate::ir::{
    Block, Inst, Reg, RegDecl, Resource, ResourceClass, ResourceId, ResourceRef, Space, Stmt,
};

pub(super) fn run(pool: &Pool, mut body: Block, resources: Vec<Resource>) -> Done {
    let (order, resources) = slots(resources);
    let mut finish = Finish { pool, order, map: vec![None; pool.decls.len()], regs: Vec::new() };
    finish.block(&mut body);
    let mut constants: Vec<(Reg, u64)> = Vec::new();
    for (old, new) in finish.map.iter().enumerate() {
        if let (Some(new), Some(value)) = (new, pool.value(Reg(old as u32))) {
            constants.push((*new, value));
        }
    }
    constants.sort_unstable();
    Done { regs: finish.regs, constants, body, resources }
}

/// Slot order: `b`, `t`, `u`, `s`, then by space and register.
fn slots(resources: Vec<Resource>) -> (Vec<ResourceId>, Vec<Resource>) {
    let rank = |class| match class {
        ResourceClass::Cbv => 0,
        ResourceClass::Srv => 1,
        ResourceClass::Uav => 2,
        ResourceClass::Sampler => 3,
    };
    let mut sorted: Vec<(usize, Resource)> = resources.into_iter().enumerate().collect();
    sorted.sort_by_key(|(i, r)| (rank(r.class), r.space, r.register, *i));
    let mut order = vec![ResourceId(0); sorted.len()];
    for (new, (old, _)) in sorted.iter().enumerate() {
        order[*old] = ResourceId(new as u32);
    }
    (order, sorted.into_iter().map(|(_, r)| r).collect())
}

struct Finish<'p> {
    pool: &'p Pool,
    order: Vec<ResourceId>,
    map: Vec<Option<Reg>>,
    regs: Vec<RegDecl>,
}

impl Finish<'_> {
    fn reg(&mut self, reg: &mut Reg) {
        let slot = &mut self.map[reg.index()];
        *reg = *slot.get_or_insert_with(|| {
            self.regs.push(self.pool.decls[reg.index()]);
            Reg(self.regs.len() as u32 - 1)
        });
    }

    fn resource(&self, at: &mut ResourceRef) {
        at.resource = self.order[at.resource.index()];
    }

    fn inst(&mut self, inst: &mut Inst) {
        match inst {
            Inst::Load { space, .. } | Inst::Store { space, .. } | Inst::Atomic { space, .. } => {
                if let Space::Buffer(at) = space {
                    self.resource(at);
                }
            }
            Inst::BufferSize { buffer, .. } => self.resource(buffer),
            Inst::Image { image, sampler, .. } => {
                self.resource(image);
                if let Some(sampler) = sampler {
                    self.resource(sampler);
                }
            }
            Inst::Unary { .. }
            | Inst::Binary { .. }
            | Inst::Ternary { .. }
            | Inst::Set { .. }
            | Inst::Builtin { .. }
            | Inst::Reduce { .. }
            | Inst::ReducePartition { .. }
            | Inst::Wave { .. }
            | Inst::Ballot { .. }
            | Inst::Match { .. }
            | Inst::Barrier(_)
            | Inst::OrderedAdd { .. }
            | Inst::Gds { .. }
            | Inst::Clock { .. }
            | Inst::DebugBreak
            | Inst::DebugPrint { .. } => {}
        }
        let mut all = Vec::new();
        inst.registers(&mut |r| all.push(r), &mut |_| {});
        inst.registers(&mut |_| {}, &mut |r| all.push(r));
        all.iter_mut().for_each(|r| self.reg(r));
        let map = &self.map;
        let renumber = |r: &mut Reg| {
            if let Some(new) = map[r.index()] {
                *r = new;
            }
        };
        inst.registers_mut(&mut |r| renumber(r), &mut |r| renumber(r));
    }

    fn block(&mut self, block: &mut Block) {
        for stmt in block {
            match stmt {
                Stmt::Inst(inst, _) => self.inst(inst),
                Stmt::If { cond, then, els, .. } => {
                    self.reg(cond);
                    self.block(then);
                    self.block(els);
                }
                Stmt::Loop { body, continuing, .. } => {
                    self.block(body);
                    self.block(continuing);
                }
                Stmt::Scope { body, .. } => self.block(body),
                Stmt::Switch { selector, cases, .. } => {
                    self.reg(selector);
                    cases.iter_mut().for_each(|c| self.block(&mut c.body));
                }
                Stmt::Break(_) | Stmt::Continue(_) | Stmt::Return => {}
            }
        }
    }
}
