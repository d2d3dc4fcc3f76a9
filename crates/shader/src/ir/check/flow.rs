//! Definite writes, labels and the shape of blocks.

use super::*;

/// Which temps are surely written; `None` where no lane can be.
type State = Option<Bits>;

#[derive(Clone, PartialEq)]
struct Bits(Vec<u64>);

impl Bits {
    fn get(&self, i: usize) -> bool {
        self.0[i / 64] >> (i % 64) & 1 == 1
    }

    fn set(&mut self, i: usize) {
        self.0[i / 64] |= 1 << (i % 64);
    }

    fn clear(&mut self, i: usize) {
        self.0[i / 64] &= !(1 << (i % 64));
    }
}

/// Both paths meet.
fn meet(a: &mut State, b: State) {
    match (a.as_mut(), b) {
        (_, None) => {}
        (None, b) => *a = b,
        (Some(a), Some(b)) => a.0.iter_mut().zip(b.0).for_each(|(a, b)| *a &= b),
    }
}

/// An enclosing construct.
struct Frame {
    label: Label,
    /// A loop whose body (not `continuing`) we are in.
    continues: bool,
    at_break: State,
    at_continue: State,
}

struct Flow<'k> {
    kernel: &'k Kernel,
    frames: Vec<Frame>,
    labels: std::collections::BTreeSet<Label>,
    written: Vec<bool>,
    /// Temps written so far, in program order.
    order: Vec<usize>,
}

/// Nesting that engines may rely on not to be exceeded.
const MAX_DEPTH: usize = 2048;

pub(super) fn check(kernel: &Kernel) -> Check {
    let mut flow = Flow {
        kernel,
        frames: Vec::new(),
        labels: std::collections::BTreeSet::new(),
        written: vec![false; kernel.regs.len()],
        order: Vec::new(),
    };
    let mut state = Some(Bits(vec![0; kernel.regs.len().div_ceil(64)]));
    flow.block(&kernel.body, &mut state, 0)
}

impl Flow<'_> {
    fn block(&mut self, block: &Block, state: &mut State, depth: usize) -> Check {
        ensure(depth < MAX_DEPTH, || format!("blocks nest deeper than {MAX_DEPTH}"))?;
        for (i, stmt) in block.iter().enumerate() {
            self.stmt(stmt, state, depth)?;
            let jump = matches!(stmt, Stmt::Break(_) | Stmt::Continue(_) | Stmt::Return);
            ensure(!jump || i + 1 == block.len(), || format!("statements after {stmt:?}"))?;
        }
        Ok(())
    }

    fn stmt(&mut self, stmt: &Stmt, state: &mut State, depth: usize) -> Check {
        match stmt {
            Stmt::Inst(inst, _) => self.inst(inst, state),
            Stmt::If { cond, then, els, .. } => {
                self.read(*cond, state)?;
                let mut other = state.clone();
                self.block(then, state, depth + 1)?;
                self.block(els, &mut other, depth + 1)?;
                meet(state, other);
                Ok(())
            }
            Stmt::Loop { label, body, continuing, .. } => {
                let before = self.order.len();
                self.enter(*label, true)?;
                self.block(body, state, depth + 1)?;
                let frame = self.top();
                frame.continues = false;
                meet(state, frame.at_continue.take());
                self.block(continuing, state, depth + 1)?;
                *state = self.leave();
                // Lanes left in different iterations: what the loop wrote holds
                // for none of them for sure.
                if let Some(bits) = state {
                    self.order[before..].iter().for_each(|&i| bits.clear(i));
                }
                Ok(())
            }
            Stmt::Scope { label, body } => {
                self.enter(*label, false)?;
                self.block(body, state, depth + 1)?;
                let left = self.leave();
                meet(state, left);
                Ok(())
            }
            Stmt::Switch { label, selector, cases, .. } => {
                self.read(*selector, state)?;
                self.values(cases)?;
                let entry = state.clone();
                self.enter(*label, false)?;
                *state = None;
                for case in cases {
                    meet(state, entry.clone());
                    self.block(&case.body, state, depth + 1)?;
                }
                let left = self.leave();
                meet(state, left);
                if !cases.iter().any(|c| c.default) {
                    meet(state, entry);
                }
                Ok(())
            }
            Stmt::Break(label) => {
                let state = state.take();
                let frame = self.frames.iter_mut().rev().find(|f| f.label == *label);
                let frame = frame.ok_or_else(|| CheckError(format!("{stmt:?} outside")))?;
                meet(&mut frame.at_break, state);
                Ok(())
            }
            Stmt::Continue(label) => {
                let state = state.take();
                let frame = self.frames.iter_mut().rev().find(|f| f.label == *label && f.continues);
                let frame = frame.ok_or_else(|| CheckError(format!("{stmt:?} outside")))?;
                meet(&mut frame.at_continue, state);
                Ok(())
            }
            Stmt::Return => {
                *state = None;
                Ok(())
            }
        }
    }

    fn values(&self, cases: &[Case]) -> Check {
        let mut seen = std::collections::BTreeSet::new();
        for value in cases.iter().flat_map(|c| &c.values) {
            ensure(seen.insert(*value), || format!("two cases for {value}"))?;
        }
        ensure(cases.iter().filter(|c| c.default).count() <= 1, || "two defaults".to_owned())
    }

    fn enter(&mut self, label: Label, continues: bool) -> Check {
        ensure(self.labels.insert(label), || format!("{label:?} stands twice"))?;
        self.frames.push(Frame { label, continues, at_break: None, at_continue: None });
        Ok(())
    }

    fn top(&mut self) -> &mut Frame {
        let last = self.frames.len() - 1;
        &mut self.frames[last]
    }

    fn leave(&mut self) -> State {
        self.frames.pop().and_then(|f| f.at_break)
    }

    fn inst(&mut self, inst: &Inst, state: &mut State) -> Check {
        let mut reads = Vec::new();
        let mut writes = Vec::new();
        inst.registers(&mut |r| reads.push(r), &mut |r| writes.push(r));
        for reg in reads {
            self.read(reg, state)?;
        }
        for reg in writes {
            let i = reg.index();
            let kind = self.kernel.regs[i].kind;
            if matches!(inst, Inst::Set { .. }) {
                ensure(kind == RegKind::Var, || format!("{inst:?} writes no var"))?;
                continue;
            }
            ensure(kind == RegKind::Temp, || format!("{inst:?} writes {reg:?}, no temp"))?;
            ensure(!self.written[i], || format!("{reg:?} is written twice"))?;
            self.written[i] = true;
            self.order.push(i);
            if let Some(bits) = state {
                bits.set(i);
            }
        }
        Ok(())
    }

    fn read(&self, reg: Reg, state: &State) -> Check {
        let temp = self.kernel.regs[reg.index()].kind == RegKind::Temp;
        let known = state.as_ref().is_none_or(|bits| bits.get(reg.index()));
        ensure(!temp || known, || format!("{reg:?} is read where it may not be written"))
    }
}
