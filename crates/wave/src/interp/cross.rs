//! Cross-lane instructions: operands and results moved to where `ops::cross`
//! wants them.

use super::State;
use crate::ops::cross;
use wavefence_shader::ir::{Inst, Reg, Scan, WaveOp};

impl State {
    /// Runs one.
    pub(super) fn cross(&mut self, inst: &Inst) {
        match inst {
            Inst::Reduce { op, scan, dst, a, cluster } => {
                self.read_lanes(*a, 0);
                let lanes = self.lanes();
                let active = self.mask();
                let dst = self.loc(*dst);
                let n = lanes as usize;
                if *scan == Scan::Reduce && (*cluster == 0 || *cluster >= lanes) {
                    let total = cross::total(*op, active, &self.stage.data[0][..n]);
                    self.file.fill(dst, total);
                } else {
                    let [a, out, ..] = &mut self.stage.data;
                    cross::reduce(*op, *scan, *cluster, active, &a[..n], &mut out[..n]);
                    self.file.write(dst, self.exec, out);
                }
            }
            Inst::ReducePartition { op, scan, dst, a, mask } => {
                self.read_lanes(*a, 0);
                let n = self.lanes() as usize;
                let mut masks = [0u64; 64];
                for (i, m) in masks[..n].iter_mut().enumerate() {
                    let word = |k: usize| self.file.lane(self.loc(mask[k]), i as u32);
                    *m = u64::from(word(1)) << 32 | u64::from(word(0));
                }
                let (dst, active) = (self.loc(*dst), self.mask());
                let [a, out, ..] = &mut self.stage.data;
                let out = &mut out[..n];
                cross::reduce_partition(*op, *scan, active, &masks[..n], &a[..n], out);
                self.file.write(dst, self.exec, out);
            }
            Inst::Wave { op, dst, a, b } => self.wave_op(*op, *dst, *a, *b),
            Inst::Ballot { dst, a } => {
                let mask = self.truth(*a) & self.exec;
                for (i, reg) in dst.iter().enumerate() {
                    let word = if i < 2 { (mask >> (32 * i)) as u32 } else { 0 };
                    self.file.fill(self.flat.loc(*reg), word);
                }
            }
            Inst::Match { dst, a } => self.matching(dst, a),
            Inst::Unary { .. }
            | Inst::Binary { .. }
            | Inst::Ternary { .. }
            | Inst::Set { .. }
            | Inst::Builtin { .. }
            | Inst::Load { .. }
            | Inst::Store { .. }
            | Inst::Atomic { .. }
            | Inst::BufferSize { .. }
            | Inst::Image { .. }
            | Inst::Barrier(_)
            | Inst::OrderedAdd { .. }
            | Inst::Gds { .. }
            | Inst::Clock { .. } => {}
        }
    }

    /// Copies a register into stage row `row`.
    fn read_lanes(&mut self, reg: Reg, row: usize) {
        let loc = self.loc(reg);
        self.file.read(loc, &mut self.stage.data[row]);
    }

    fn wave_op(&mut self, op: WaveOp, dst: Reg, a: Option<Reg>, b: Option<Reg>) {
        let n = self.lanes() as usize;
        for (row, reg) in [a, b].into_iter().enumerate() {
            if let Some(reg) = reg {
                self.read_lanes(reg, row);
            }
        }
        let (dst, active) = (self.loc(dst), self.mask());
        let [a, b, out, _] = &mut self.stage.data;
        cross::wave(op, active, &a[..n], &b[..n], &mut out[..n]);
        self.file.write(dst, self.exec, out);
    }

    fn matching(&mut self, dst: &[Reg; 4], a: &[Reg]) {
        let n = self.lanes() as usize;
        let mut rows = vec![[0u32; 64]; a.len()];
        for (row, reg) in rows.iter_mut().zip(a) {
            self.file.read(self.loc(*reg), row);
        }
        let rows: Vec<&[u32]> = rows.iter().map(|r| &r[..n]).collect();
        let mut masks = [0u64; 64];
        cross::matching(self.mask(), &rows, &mut masks[..n]);
        for (i, reg) in dst.iter().enumerate() {
            let word = |m: u64| if i < 2 { (m >> (32 * i)) as u32 } else { 0 };
            let words = masks.map(word);
            self.file.write(self.loc(*reg), self.exec, &words);
        }
    }
}
