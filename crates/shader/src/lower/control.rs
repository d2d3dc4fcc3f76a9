//! Structured control flow: blocks and merge instructions to statements.
//!
//! A branch either goes on to a block not seen yet, which is then emitted in
//! place, or leaves an enclosing construct: by running off its end where the
//! branch stands last in it, else by `Break` or `Continue`. Values that meet in
//! an `OpPhi` travel in vars that each branch sets.

use super::handle::Parts;
use super::module::{Block, Function};
use super::value::Value;
use super::words::Ins;
use super::{Lower, R};
use crate::ShaderError;
use crate::ir::{Case, Label, Loc, Reg, Stmt, Ty};
use spirv::Op;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::rc::Rc;

/// A function being emitted in place.
pub(super) struct Frame {
    pub id: u32,
    pub function: Rc<Function>,
    pub values: HashMap<u32, Value>,
    /// Types of the ids in `values`.
    pub types: HashMap<u32, u32>,
    /// What carries phis, by the phi's id.
    phis: HashMap<u32, Phi>,
    constructs: Vec<Construct>,
    emitted: HashSet<u32>,
    /// `None` for the entry point.
    call: Option<Call>,
}

/// What carries the value of a phi.
#[derive(Clone)]
struct Phi {
    /// Of a pointer, image or sampler.
    template: Option<Value>,
    vars: Rc<[Reg]>,
}

/// How a called function returns.
struct Call {
    label: Label,
    broke: bool,
    vars: Option<Rc<[Reg]>>,
    result: Option<Value>,
    ret: u32,
}

/// An enclosing construct.
enum Construct {
    Selection {
        merge: u32,
        label: Label,
        reached: bool,
        broke: bool,
    },
    Loop {
        header: u32,
        merge: u32,
        next: u32,
        label: Label,
        reached: bool,
        continued: bool,
        tail: bool,
    },
    Switch {
        merge: u32,
        label: Label,
        reached: bool,
        targets: Vec<u32>,
        fell: Option<u32>,
    },
}

/// Where a branch to a block leads.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Exit {
    /// To a block not emitted yet.
    No,
    /// Off the end of the innermost construct.
    Fall(usize),
    Break(usize),
    Continue(usize),
}

fn invalid(what: &str) -> ShaderError {
    ShaderError::invalid(what)
}

impl Lower<'_, '_> {
    fn frame(&mut self) -> &mut Frame {
        let last = self.frames.len() - 1;
        &mut self.frames[last]
    }

    /// Emits a function in place.
    pub fn inline(&mut self, id: u32, args: Vec<(u32, Value)>) -> R<Value> {
        let function = self.m.functions.get(&id).cloned();
        let function = function.ok_or_else(|| invalid("a call of what is no function"))?;
        if self.frames.iter().any(|f| f.id == id) {
            let name = self.m.name(id);
            return Err(ShaderError::unsupported(format!("recursion: {name} calls itself")));
        }
        if function.params.len() != args.len() {
            return Err(invalid("a call with another number of arguments"));
        }
        self.b.step()?;
        let entry = self.frames.is_empty();
        let call = Call {
            label: self.b.label(),
            broke: false,
            vars: None,
            result: None,
            ret: self.m.insts[function.at].ty,
        };
        let mut frame = Frame {
            id,
            function: Rc::clone(&function),
            values: HashMap::new(),
            types: HashMap::new(),
            phis: HashMap::new(),
            constructs: Vec::new(),
            emitted: HashSet::new(),
            call: (!entry).then_some(call),
        };
        for (&(param, ty), (given, value)) in function.params.iter().zip(args) {
            if ty != given {
                return Err(invalid("an argument of another type"));
            }
            frame.types.insert(param, ty);
            frame.values.insert(param, value);
        }
        self.frames.push(frame);
        self.b.begin()?;
        self.chain(function.entry)?;
        let body = self.b.end();
        let frame = self.frames.pop();
        let Some(call) = frame.and_then(|f| f.call) else {
            self.b.splice(body);
            return Ok(Value::Nothing);
        };
        if call.broke {
            self.b.push(Stmt::Scope { label: call.label, body });
        } else {
            self.b.splice(body);
        }
        match (call.result, call.vars) {
            (Some(value), _) => Ok(value),
            (None, Some(vars)) => Ok(Value::Regs(vars)),
            (None, None) if matches!(self.m.ty(call.ret)?, super::types::Type::Void) => {
                Ok(Value::Nothing)
            }
            // No return is ever reached.
            (None, None) => self.zero(call.ret),
        }
    }

    /// Emits from block `label` until the present construct is left.
    fn chain(&mut self, mut label: u32) -> R<()> {
        loop {
            let function = Rc::clone(&self.frame().function);
            let block = function.blocks.get(&label);
            let block = block.ok_or_else(|| invalid(&format!("a branch to %{label}, no block")))?;
            if !self.frame().emitted.insert(label) {
                let what = format!("block %{label} is reached twice outside of its structure");
                return Err(invalid(&what));
            }
            self.bind_phis(block)?;
            let next = match block.looping {
                Some((merge, next)) => self.looping(label, block, merge, next)?,
                None => {
                    self.instructions(block)?;
                    self.terminator(label, block)?
                }
            };
            match next {
                Some(next) => label = next,
                None => return Ok(()),
            }
        }
    }

    fn instructions(&mut self, block: &Block) -> R<()> {
        self.b.loc = Loc::NONE;
        for i in block.first..block.last {
            let ins = self.m.insts[i];
            self.instruction(&ins).map_err(|e| {
                let line = self.here();
                ins.place(e).on_line(line)
            })?;
        }
        self.b.check_size()
    }

    /// After a construct: goes on at its merge block if anything reached it.
    fn after(&mut self, merge: u32, reached: bool) -> R<Option<u32>> {
        if !reached {
            return Ok(None);
        }
        // The merge block may be what an outer construct is left by.
        Ok(match self.exit(merge)? {
            Exit::No => Some(merge),
            exit => {
                self.leave(exit);
                None
            }
        })
    }

    fn looping(&mut self, header: u32, block: &Block, merge: u32, next: u32) -> R<Option<u32>> {
        let label = self.b.label();
        let function = Rc::clone(&self.frame().function);
        let loc = self.merge_loc(block);
        self.frame().constructs.push(Construct::Loop {
            header,
            merge,
            next,
            label,
            reached: false,
            continued: false,
            tail: false,
        });
        self.b.begin()?;
        self.instructions(block)?;
        if let Some(at) = self.terminator(header, block)? {
            self.chain(at)?;
        }
        let body = self.b.end();
        let mut continuing = Vec::new();
        let continued = match self.frame().constructs.last_mut() {
            Some(Construct::Loop { continued, tail, .. }) => {
                *tail = true;
                *continued
            }
            _ => return Err(invalid("constructs overlap")),
        };
        if continued && next != header && function.blocks.contains_key(&next) {
            self.b.begin()?;
            self.chain(next)?;
            continuing = self.b.end();
        }
        let Some(Construct::Loop { reached, .. }) = self.frame().constructs.pop() else {
            return Err(invalid("constructs overlap"));
        };
        self.b.push(Stmt::Loop { label, body, continuing, loc });
        self.after(merge, reached)
    }

    /// Line of a block's merge instruction: where the construct stands.
    fn merge_loc(&mut self, block: &Block) -> Loc {
        let saved = self.b.loc;
        self.b.loc = Loc::NONE;
        for i in block.first..block.last {
            let ins = self.m.insts[i];
            match ins.op {
                Op::Line => _ = self.line(&ins),
                Op::NoLine => self.b.loc = Loc::NONE,
                Op::ExtInst if self.is_debug(&ins) => _ = self.debug_info(&ins),
                _ => {}
            }
        }
        let loc = self.b.loc;
        self.b.loc = saved;
        loc
    }

    fn terminator(&mut self, label: u32, block: &Block) -> R<Option<u32>> {
        let ins = self.m.insts[block.last];
        let next = self.terminate(label, block, &ins);
        next.map_err(|e| {
            let line = self.here();
            ins.place(e).on_line(line)
        })
    }

    fn terminate(&mut self, label: u32, block: &Block, ins: &Ins<'_>) -> R<Option<u32>> {
        match ins.op {
            Op::Branch => self.branch(label, ins.arg(0)?),
            Op::BranchConditional => {
                let cond = self.reg(ins.arg(0)?)?;
                if self.b.pool.ty(cond) != Ty::Bool {
                    return Err(invalid("a branch on what is no truth value"));
                }
                let (yes, no) = (ins.arg(1)?, ins.arg(2)?);
                match block.selection {
                    Some(merge) => self.selection(label, merge, cond, yes, no),
                    None => self.conditional(label, cond, yes, no),
                }
            }
            Op::Switch => self.switch(label, block, ins),
            Op::Return => self.ret(None),
            Op::ReturnValue => self.ret(Some(ins.arg(0)?)),
            Op::Unreachable => {
                if !self.frame().constructs.is_empty() {
                    self.b.push(Stmt::Return);
                }
                Ok(None)
            }
            _ => Err(ShaderError::unsupported("this end of a block in a compute shader")),
        }
    }

    /// A branch as the last thing of a block: gives the block to go on with.
    fn branch(&mut self, from: u32, to: u32) -> R<Option<u32>> {
        if !self.frame().function.blocks.contains_key(&to) {
            return Err(invalid(&format!("a branch to %{to}, which is no block")));
        }
        self.phi_copies(from, to)?;
        Ok(match self.exit(to)? {
            Exit::No => Some(to),
            exit => {
                self.leave(exit);
                None
            }
        })
    }

    /// Where a branch to `to` leads, seen from the innermost construct.
    fn exit(&mut self, to: u32) -> R<Exit> {
        let frame = self.frame();
        let top = frame.constructs.len().wrapping_sub(1);
        for (i, construct) in frame.constructs.iter().enumerate().rev() {
            match construct {
                Construct::Selection { merge, .. } if *merge == to => {
                    return Ok(if i == top { Exit::Fall(i) } else { Exit::Break(i) });
                }
                Construct::Switch { merge, .. } if *merge == to => return Ok(Exit::Break(i)),
                Construct::Switch { targets, .. } if targets.contains(&to) => {
                    if i == top {
                        return Ok(Exit::Fall(i));
                    }
                    return Err(ShaderError::unsupported("a nested branch into the next case"));
                }
                Construct::Loop { merge, .. } if *merge == to => return Ok(Exit::Break(i)),
                Construct::Loop { header, next, tail, .. } => {
                    let ends = (*next == to && !tail) || *header == to;
                    if !ends {
                        continue;
                    }
                    if *header == to && !tail && next != header {
                        return Err(invalid("a branch back to a loop that is not its last"));
                    }
                    if i == top {
                        return Ok(Exit::Fall(i));
                    }
                    if *tail {
                        return Err(ShaderError::unsupported("a nested branch back to the loop"));
                    }
                    return Ok(Exit::Continue(i));
                }
                Construct::Selection { .. } | Construct::Switch { .. } => {}
            }
        }
        Ok(Exit::No)
    }

    /// Emits what leaves a construct, and notes that it was left so.
    fn leave(&mut self, exit: Exit) {
        let frame = self.frame();
        let stmt = match exit {
            Exit::No => None,
            Exit::Fall(i) | Exit::Break(i) | Exit::Continue(i) => {
                let jump = !matches!(exit, Exit::Fall(_));
                match &mut frame.constructs[i] {
                    Construct::Selection { label, reached, broke, .. } => {
                        *reached = true;
                        *broke |= jump;
                        jump.then_some(Stmt::Break(*label))
                    }
                    Construct::Switch { label, reached, .. } => {
                        *reached |= jump;
                        jump.then_some(Stmt::Break(*label))
                    }
                    Construct::Loop { label, reached, continued, .. } => match exit {
                        Exit::Break(_) => {
                            *reached = true;
                            Some(Stmt::Break(*label))
                        }
                        Exit::Continue(_) => {
                            *continued = true;
                            Some(Stmt::Continue(*label))
                        }
                        Exit::Fall(_) | Exit::No => {
                            *continued = true;
                            None
                        }
                    },
                }
            }
        };
        if let Some(stmt) = stmt {
            self.b.push(stmt);
        }
    }

    /// One arm of a conditional: everything from the edge on, in a new block.
    fn arm(&mut self, from: u32, to: u32) -> R<crate::ir::Block> {
        self.b.begin()?;
        let loc = self.b.loc;
        if let Some(next) = self.branch(from, to)? {
            self.chain(next)?;
        }
        self.b.loc = loc;
        Ok(self.b.end())
    }

    /// A conditional branch with a merge block.
    fn selection(&mut self, from: u32, merge: u32, cond: Reg, yes: u32, no: u32) -> R<Option<u32>> {
        let loc = self.b.loc;
        let label = self.b.label();
        let construct = Construct::Selection { merge, label, reached: false, broke: false };
        self.frame().constructs.push(construct);
        let body = match self.b.pool.value(cond) {
            Some(known) => self.arm(from, if known != 0 { yes } else { no })?,
            None if yes == no => self.arm(from, yes)?,
            None => {
                let then = self.arm(from, yes)?;
                let els = self.arm(from, no)?;
                vec![Stmt::If { cond, then, els, loc }]
            }
        };
        self.close(merge, label, body)
    }

    /// Ends a selection: wraps it if something broke out of it.
    fn close(&mut self, merge: u32, label: Label, body: crate::ir::Block) -> R<Option<u32>> {
        let Some(Construct::Selection { reached, broke, .. }) = self.frame().constructs.pop()
        else {
            return Err(invalid("constructs overlap"));
        };
        if broke {
            self.b.push(Stmt::Scope { label, body });
        } else {
            self.b.splice(body);
        }
        self.after(merge, reached)
    }

    /// A conditional branch without a merge block: at least one side leaves a
    /// construct.
    fn conditional(&mut self, from: u32, cond: Reg, yes: u32, no: u32) -> R<Option<u32>> {
        let loc = self.b.loc;
        if let Some(known) = self.b.pool.value(cond) {
            return self.branch(from, if known != 0 { yes } else { no });
        }
        if yes == no {
            return self.branch(from, yes);
        }
        let jumps = |exit| matches!(exit, Exit::Break(_) | Exit::Continue(_));
        let (yes_jumps, no_jumps) = (jumps(self.exit(yes)?), jumps(self.exit(no)?));
        if yes_jumps {
            let then = self.arm(from, yes)?;
            self.b.push(Stmt::If { cond, then, els: Vec::new(), loc });
            return self.branch(from, no);
        }
        if no_jumps {
            let els = self.arm(from, no)?;
            self.b.push(Stmt::If { cond, then: Vec::new(), els, loc });
            return self.branch(from, yes);
        }
        // Neither jumps: all that follows happens inside the arms.
        let then = self.arm(from, yes)?;
        let els = self.arm(from, no)?;
        self.b.push(Stmt::If { cond, then, els, loc });
        Ok(None)
    }

    fn ret(&mut self, value: Option<u32>) -> R<Option<u32>> {
        let value = value.map(|id| self.value(id)).transpose()?;
        let frame = self.frame();
        let nested = !frame.constructs.is_empty();
        let returns = frame.function.returns;
        let Some(call) = &mut frame.call else {
            if nested {
                self.b.push(Stmt::Return);
            }
            return Ok(None);
        };
        let (label, ret) = (call.label, call.ret);
        call.broke |= nested;
        let known = call.vars.clone();
        match value {
            None => {}
            Some(value) if !nested && returns == 1 => call.result = Some(value),
            Some(Value::Regs(regs)) => {
                let types = self.m.flatten(ret)?;
                if types.len() != regs.len() {
                    return Err(invalid("a return of another type"));
                }
                let vars = match known {
                    Some(vars) => vars,
                    None => types.iter().map(|&ty| self.b.var(ty)).collect(),
                };
                self.copy(&vars, &regs)?;
                if let Some(call) = &mut self.frame().call {
                    call.vars = Some(vars);
                }
            }
            Some(_) => {
                return Err(ShaderError::unsupported("pointers returned from several places"));
            }
        }
        if nested {
            self.b.push(Stmt::Break(label));
        }
        Ok(None)
    }

    fn switch(&mut self, from: u32, block: &Block, ins: &Ins<'_>) -> R<Option<u32>> {
        let selector = self.reg(ins.arg(0)?)?;
        let default = ins.arg(1)?;
        let merge = block.selection.unwrap_or(0);
        let ty = self.b.pool.ty(selector);
        if ty == Ty::Bool {
            return Err(invalid("a switch on a truth value"));
        }
        // Literals take as many words as the selector; narrow ones are extended.
        let words = if ty == Ty::B64 { 2 } else { 1 };
        // Targets in the order they are named; the default last unless named.
        let mut targets: Vec<(u32, Vec<u64>)> = Vec::new();
        let mut seen = HashSet::new();
        for case in ins.rest(2).chunks(words + 1) {
            let Some((&target, literal)) = case.split_last().filter(|c| c.1.len() == words) else {
                return Err(invalid("a case without a target"));
            };
            let bits = literal.iter().rev().fold(0, |bits, &w| bits << 32 | u64::from(w));
            let value = bits & super::fold::mask(ty);
            if !seen.insert(value) {
                return Err(invalid("two cases of one value"));
            }
            match targets.iter_mut().find(|t| t.0 == target) {
                Some(t) => t.1.push(value),
                None => targets.push((target, vec![value])),
            }
        }
        let known = self.b.pool.value(selector);
        if targets.is_empty() || known.is_some() {
            let hit = targets.iter().find(|t| known.is_some_and(|v| t.1.contains(&v)));
            let target = hit.map_or(default, |t| t.0);
            let label = self.b.label();
            let construct = Construct::Selection { merge, label, reached: false, broke: false };
            self.frame().constructs.push(construct);
            let body = self.arm(from, target)?;
            return self.close(merge, label, body);
        }
        if !targets.iter().any(|t| t.0 == default) {
            targets.push((default, Vec::new()));
        }
        self.cases(from, merge, selector, default, targets)
    }

    fn cases(
        &mut self,
        from: u32,
        merge: u32,
        selector: Reg,
        default: u32,
        targets: Vec<(u32, Vec<u64>)>,
    ) -> R<Option<u32>> {
        let loc = self.b.loc;
        let label = self.b.label();
        // Targets that leave an outer construct are jumps of their own.
        let mut inside = Vec::new();
        for (target, _) in &targets {
            if *target == merge || self.exit(*target)? == Exit::No {
                // All lanes may set these: nobody reads them before its target.
                self.phi_copies(from, *target)?;
                if *target != merge {
                    inside.push(*target);
                }
            }
        }
        self.frame().constructs.push(Construct::Switch {
            merge,
            label,
            reached: false,
            targets: inside.clone(),
            fell: None,
        });
        let mut made: BTreeMap<u32, (Case, Option<u32>)> = BTreeMap::new();
        for (target, values) in &targets {
            self.b.begin()?;
            if inside.contains(target) {
                self.chain(*target)?;
            } else if *target == merge {
                let exit = self.exit(merge)?;
                self.leave(exit);
            } else {
                _ = self.branch(from, *target)?;
            }
            let body = self.b.end();
            let fell = match self.frame().constructs.last_mut() {
                Some(Construct::Switch { fell, .. }) => fell.take(),
                _ => return Err(invalid("constructs overlap")),
            };
            let case = Case { values: values.clone(), default: *target == default, body };
            made.insert(*target, (case, fell));
        }
        let Some(Construct::Switch { reached, .. }) = self.frame().constructs.pop() else {
            return Err(invalid("constructs overlap"));
        };
        let order: Vec<u32> = targets.iter().map(|t| t.0).collect();
        let cases = in_falling_order(&order, made)?;
        self.b.push(Stmt::Switch { label, selector, cases, loc });
        self.after(merge, reached)
    }

    /// Vars of a block's phis, bound to their ids.
    fn bind_phis(&mut self, block: &Block) -> R<()> {
        for i in block.first..block.last {
            let ins = self.m.insts[i];
            match ins.op {
                Op::Phi => {
                    let phi = self.phi(&ins, None).map_err(|e| ins.place(e))?;
                    let value = match &phi.template {
                        Some(template) => self.whole(template, &phi.vars),
                        None => Value::Regs(phi.vars),
                    };
                    self.bind(ins.id, ins.ty, value);
                }
                Op::Line | Op::NoLine => {}
                _ => break,
            }
        }
        Ok(())
    }

    /// What carries a phi; `handle` is what reaches it, if that is no data.
    fn phi(&mut self, ins: &Ins<'_>, handle: Option<&Parts>) -> R<Phi> {
        if let Some(phi) = self.frame().phis.get(&ins.id) {
            return Ok(phi.clone());
        }
        let vars: Rc<[Reg]> = match handle {
            Some(parts) => parts.regs.iter().map(|_| self.b.var(Ty::B32)).collect(),
            None => self.m.flatten(ins.ty)?.iter().map(|&ty| self.b.var(ty)).collect(),
        };
        let phi = Phi { template: handle.map(|parts| parts.template.clone()), vars };
        self.frame().phis.insert(ins.id, phi.clone());
        Ok(phi)
    }

    /// The value that phi `ins` gets from `id`: the vars to set and what to.
    fn phi_copy(&mut self, ins: &Ins<'_>, id: u32) -> R<[Rc<[Reg]>; 2]> {
        let (regs, handle) = match self.value(id)? {
            Value::Regs(regs) => (regs, None),
            // An address is data, wherever it came from.
            _ if self.m.is_address(ins.ty) => (self.regs(id)?, None),
            value => {
                let parts = self.handle_parts(&value)?;
                (Rc::clone(&parts.regs), Some(parts))
            }
        };
        let phi = self.phi(ins, handle.as_ref())?;
        self.same_handle(phi.template.as_ref(), handle.as_ref().map(|p| &p.template))?;
        if regs.len() != phi.vars.len() {
            return Err(invalid("a phi of another type"));
        }
        Ok([phi.vars, regs])
    }

    /// Sets the phis of `to` for a branch from `from`.
    fn phi_copies(&mut self, from: u32, to: u32) -> R<()> {
        // Falling from one case into the next is noted here, where both are known.
        if let Some(Construct::Switch { targets, fell, .. }) = self.frame().constructs.last_mut()
            && targets.contains(&to)
        {
            if fell.is_some_and(|t| t != to) {
                return Err(invalid("a case that falls into two others"));
            }
            *fell = Some(to);
        }
        let function = Rc::clone(&self.frame().function);
        let Some(block) = function.blocks.get(&to) else { return Ok(()) };
        let mut vars = Vec::new();
        let mut values = Vec::new();
        for i in block.first..block.last {
            let ins = self.m.insts[i];
            match ins.op {
                Op::Phi => {
                    let pair = ins.args.chunks_exact(2).find(|p| p[1] == from);
                    let missing = || ins.place(invalid("a phi without this predecessor"));
                    let id = pair.ok_or_else(missing)?[0];
                    let [dst, value] = self.phi_copy(&ins, id).map_err(|e| ins.place(e))?;
                    vars.extend_from_slice(&dst);
                    values.extend_from_slice(&value);
                }
                Op::Line | Op::NoLine => {}
                _ => break,
            }
        }
        self.copy(&vars, &values)
    }

    /// Sets all `vars` at once: no value is overwritten before it is read.
    fn copy(&mut self, vars: &[Reg], values: &[Reg]) -> R<()> {
        let mut left: Vec<(Reg, Reg)> = Vec::new();
        for (&var, &value) in vars.iter().zip(values) {
            if self.b.pool.ty(var) != self.b.pool.ty(value) {
                return Err(invalid("a value of another type"));
            }
            if var != value {
                left.push((var, value));
            }
        }
        let mut readers: HashMap<Reg, usize> = HashMap::new();
        for &(_, value) in &left {
            *readers.entry(value).or_default() += 1;
        }
        while !left.is_empty() {
            let mut rest = Vec::new();
            let before = left.len();
            for (var, value) in left {
                if readers.get(&var).copied().unwrap_or(0) > 0 {
                    rest.push((var, value));
                    continue;
                }
                self.b.set(var, value);
                if let Some(n) = readers.get_mut(&value) {
                    *n -= 1;
                }
            }
            left = rest;
            if left.len() == before {
                // A ring: one value waits in a temp.
                let (_, value) = left[0];
                let saved = self.b.snapshot(value);
                for pair in &mut left {
                    if pair.1 == value {
                        pair.1 = saved;
                    }
                }
                readers.insert(value, 0);
            }
        }
        Ok(())
    }
}

/// Orders cases so that each that falls through stands before the one it falls
/// into.
fn in_falling_order(order: &[u32], mut made: BTreeMap<u32, (Case, Option<u32>)>) -> R<Vec<Case>> {
    let mut entered = HashSet::new();
    for (_, fell) in made.values() {
        if let Some(to) = fell
            && !entered.insert(*to)
        {
            return Err(ShaderError::unsupported("two cases that fall into one"));
        }
    }
    let mut out = Vec::new();
    for &target in order {
        let mut at = Some(target).filter(|t| !entered.contains(t));
        while let Some((case, fell)) = at.and_then(|t| made.remove(&t)) {
            out.push(case);
            at = fell;
        }
    }
    if made.is_empty() {
        Ok(out)
    } else {
        Err(invalid("cases that fall into each other in a ring"))
    }
}
