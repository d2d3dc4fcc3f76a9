//! Cross-lane instructions: operands and results moved to where `ops::cross`
//! wants them.

use super::State;
use crate::ops::{cross, truth};
use crate::program::Flat;
use crate::simd::Loc;
use wavefence_shader::ir::{Inst, Reg, Scan, WaveOp};

impl State {
    /// Runs one.
    pub(super) fn cross(&mut self, flat: &Flat, inst: &Inst) {
        match inst {
            Inst::Reduce { op, scan, dst, a, cluster } => {
                self.read_lanes(flat.loc(*a), 0);
                let lanes = self.lanes;
                let active = self.mask();
                let dst = flat.loc(*dst);
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
                self.read_lanes(flat.loc(*a), 0);
                let n = self.lanes as usize;
                let mut masks = [0u64; 64];
                for (i, m) in masks[..n].iter_mut().enumerate() {
                    let word = |k: usize| self.file.lane(flat.loc(mask[k]), i as u32);
                    *m = u64::from(word(1)) << 32 | u64::from(word(0));
                }
                let (dst, active) = (flat.loc(*dst), self.mask());
                let [a, out, ..] = &mut self.stage.data;
                let out = &mut out[..n];
                cross::reduce_partition(*op, *scan, active, &masks[..n], &a[..n], out);
                self.file.write(dst, self.exec, out);
            }
            Inst::Wave { op, dst, a, b } => {
                self.wave_op(*op, flat.loc(*dst), a.map(|r| flat.loc(r)), b.map(|r| flat.loc(r)))
            }
            Inst::Ballot { dst, a } => {
                let mask = self.truth(flat, *a) & self.exec;
                for (i, reg) in dst.iter().enumerate() {
                    let word = if i < 2 { (mask >> (32 * i)) as u32 } else { 0 };
                    self.file.fill(flat.loc(*reg), word);
                }
            }
            Inst::Match { dst, a } => self.matching(flat, dst, a),
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
            | Inst::Clock { .. }
            | Inst::DebugBreak
            | Inst::DebugPrint { .. } => {}
        }
    }

    /// Copies a register into stage row `row`.
    fn read_lanes(&mut self, loc: Loc, row: usize) {
        self.file.read(loc, &mut self.stage.data[row]);
    }

    fn wave_op(&mut self, op: WaveOp, dst: Loc, a: Option<Loc>, b: Option<Loc>) {
        // Votes and the election need no lanes moved.
        let exec = self.exec;
        let held = |s: &Self| a.map_or(0, |a| s.file.truth(a) & exec);
        match op {
            WaveOp::All => return self.file.fill(dst, truth(held(self) == exec)),
            WaveOp::Any => return self.file.fill(dst, truth(held(self) != 0)),
            WaveOp::Elect => {
                let words = self.file.words_mut(dst);
                words.fill(0);
                words[exec.trailing_zeros() as usize] = u32::MAX;
                return;
            }
            WaveOp::AllEqual
            | WaveOp::AllEqualF
            | WaveOp::BroadcastFirst
            | WaveOp::ReadLane
            | WaveOp::ShuffleXor
            | WaveOp::ShuffleUp
            | WaveOp::ShuffleDown
            | WaveOp::QuadRead
            | WaveOp::QuadSwapX
            | WaveOp::QuadSwapY
            | WaveOp::QuadSwapDiagonal
            | WaveOp::QuadAll
            | WaveOp::QuadAny => {}
        }
        let n = self.lanes as usize;
        for (row, loc) in [a, b].into_iter().enumerate() {
            if let Some(loc) = loc {
                self.read_lanes(loc, row);
            }
        }
        let active = self.mask();
        let [a, b, out, _] = &mut self.stage.data;
        cross::wave(op, active, &a[..n], &b[..n], &mut out[..n]);
        self.file.write(dst, self.exec, out);
    }

    fn matching(&mut self, flat: &Flat, dst: &[Reg; 4], a: &[Reg]) {
        let n = self.lanes as usize;
        let mut rows = vec![[0u32; 64]; a.len()];
        for (row, reg) in rows.iter_mut().zip(a) {
            self.file.read(flat.loc(*reg), row);
        }
        let rows: Vec<&[u32]> = rows.iter().map(|r| &r[..n]).collect();
        let mut masks = [0u64; 64];
        cross::matching(self.mask(), &rows, &mut masks[..n]);
        for (i, reg) in dst.iter().enumerate() {
            let word = |m: u64| if i < 2 { (m >> (32 * i)) as u32 } else { 0 };
            let words = masks.map(word);
            self.file.write(flat.loc(*reg), self.exec, &words);
        }
    }
}
