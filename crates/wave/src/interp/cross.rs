//! Cross-lane instructions: operands and results moved to where `ops::cross`
//! wants them.

use super::State;
use crate::ops::sized::{double, half, reduce};
use crate::ops::{cross, truth};
use crate::program::Flat;
use crate::simd::Loc;
use wavefence_shader::ir::{Inst, ReduceOp, Reg, Scan, WaveOp};

impl State {
    /// Runs one.
    pub(super) fn cross(&mut self, flat: &Flat, inst: &Inst) {
        match inst {
            Inst::Reduce { op, scan, dst, a, cluster } if !flat.is_words(*a) => {
                let masks = cross::clusters(*cluster, self.lanes);
                self.reduce_sized(flat, *op, *scan, [*dst, *a], &masks);
            }
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
                let n = self.lanes as usize;
                let mut masks = [0u64; 64];
                for (i, m) in masks[..n].iter_mut().enumerate() {
                    let word = |k: usize| self.file.lane(flat.loc(mask[k]), i as u32);
                    *m = u64::from(word(1)) << 32 | u64::from(word(0));
                }
                if !flat.is_words(*a) {
                    return self.reduce_sized(flat, *op, *scan, [*dst, *a], &masks);
                }
                self.read_lanes(flat.loc(*a), 0);
                let (dst, active) = (flat.loc(*dst), self.mask());
                let [a, out, ..] = &mut self.stage.data;
                let out = &mut out[..n];
                cross::reduce_partition(*op, *scan, active, &masks[..n], &a[..n], out);
                self.file.write(dst, self.exec, out);
            }
            Inst::Wave { op, dst, a: Some(a), b } if !flat.is_words(*a) => {
                self.wave_sized(flat, *op, *dst, *a, *b);
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
        let [a, b, out, ..] = &mut self.stage.data;
        cross::wave(op, active, &a[..n], &b[..n], &mut out[..n]);
        self.file.write(dst, self.exec, out);
    }

    /// A reduction or scan of what is not 32 bits.
    fn reduce_sized(
        &mut self,
        flat: &Flat,
        op: ReduceOp,
        scan: Scan,
        [dst, a]: [Reg; 2],
        masks: &[u64; 64],
    ) {
        // A checked kernel reduces each type with its own operators.
        let Some(monoid) = reduce::monoid(op, flat.kernel.reg(a).ty) else { return };
        let mut out = [0; 64];
        cross::reduce_sized(monoid, scan, self.mask(), masks, &self.values(flat, a), &mut out);
        self.set_values(flat, dst, &out);
    }

    /// Movement and votes of what is neither 32 bits nor `Bool`.
    fn wave_sized(&mut self, flat: &Flat, op: WaveOp, dst: Reg, a: Reg, b: Option<Reg>) {
        if !matches!(op, WaveOp::AllEqual | WaveOp::AllEqualF) {
            // Words move as they are.
            let b = b.map(|r| flat.loc(r));
            self.wave_op(op, flat.loc(dst), Some(flat.loc(a)), b);
            if flat.is_wide(a) {
                self.wave_op(op, flat.high(dst), Some(flat.high(a)), b);
            }
            return;
        }
        let same: fn(u64, u64) -> bool = if op == WaveOp::AllEqual {
            |a, b| a == b
        } else if flat.is_wide(a) {
            double::foeq
        } else {
            |a, b| half::foeq(a as u16, b as u16)
        };
        let equal = cross::all_equal_sized(self.mask(), &self.values(flat, a), same);
        self.file.fill(flat.loc(dst), truth(equal));
    }

    /// The values of a register of any width, bits zero-extended.
    pub(super) fn values(&self, flat: &Flat, reg: Reg) -> [u64; 64] {
        let mut low = [0; 64];
        let mut high = [0; 64];
        self.file.read(flat.loc(reg), &mut low);
        if flat.is_wide(reg) {
            self.file.read(flat.high(reg), &mut high);
        }
        std::array::from_fn(|l| u64::from(high[l]) << 32 | u64::from(low[l]))
    }

    /// Sets a register of any width in the lanes that run.
    pub(super) fn set_values(&mut self, flat: &Flat, reg: Reg, values: &[u64; 64]) {
        self.file.write(flat.loc(reg), self.exec, &values.map(|v| v as u32));
        if flat.is_wide(reg) {
            self.file.write(flat.high(reg), self.exec, &values.map(|v| (v >> 32) as u32));
        }
    }

    fn matching(&mut self, flat: &Flat, dst: &[Reg; 4], a: &[Reg]) {
        let n = self.lanes as usize;
        let mut rows = Vec::with_capacity(2 * a.len());
        for &reg in a {
            for loc in flat.words(reg) {
                let mut row = [0u32; 64];
                self.file.read(loc, &mut row);
                rows.push(row);
            }
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
