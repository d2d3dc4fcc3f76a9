//! Group operations on the lanes of a wave.

use super::ops::Takes;
use super::words::Ins;
use super::{Lower, R};
use crate::ShaderError;
use crate::ir::{BinOp, Builtin, Inst, ReduceOp, Reg, Scan, Ty, UnOp, WaveOp};
use spirv::{BuiltIn, GroupOperation, Op};

/// What a group arithmetic instruction does.
enum Kind {
    Number(ReduceOp),
    And,
    Or,
    Xor,
}

fn kind(op: Op) -> Option<Kind> {
    Some(match op {
        Op::GroupNonUniformIAdd => Kind::Number(ReduceOp::IAdd),
        Op::GroupNonUniformFAdd => Kind::Number(ReduceOp::FAdd),
        Op::GroupNonUniformIMul => Kind::Number(ReduceOp::IMul),
        Op::GroupNonUniformFMul => Kind::Number(ReduceOp::FMul),
        Op::GroupNonUniformSMin => Kind::Number(ReduceOp::SMin),
        Op::GroupNonUniformUMin => Kind::Number(ReduceOp::UMin),
        Op::GroupNonUniformFMin => Kind::Number(ReduceOp::FMin),
        Op::GroupNonUniformSMax => Kind::Number(ReduceOp::SMax),
        Op::GroupNonUniformUMax => Kind::Number(ReduceOp::UMax),
        Op::GroupNonUniformFMax => Kind::Number(ReduceOp::FMax),
        Op::GroupNonUniformBitwiseAnd => Kind::Number(ReduceOp::And),
        Op::GroupNonUniformBitwiseOr => Kind::Number(ReduceOp::Or),
        Op::GroupNonUniformBitwiseXor => Kind::Number(ReduceOp::Xor),
        Op::GroupNonUniformLogicalAnd => Kind::And,
        Op::GroupNonUniformLogicalOr => Kind::Or,
        Op::GroupNonUniformLogicalXor => Kind::Xor,
        _ => return None,
    })
}

/// Over which lanes a reduction goes.
#[derive(Clone, Copy)]
struct Reach {
    scan: Scan,
    cluster: u32,
    mask: Option<[Reg; 4]>,
}

impl Lower<'_, '_> {
    pub fn cross_lane(&mut self, ins: &Ins<'_>) -> R<()> {
        match ins.op {
            Op::GroupNonUniformPartitionEXT => return self.partition(ins),
            Op::GroupNonUniformQuadAllKHR | Op::GroupNonUniformQuadAnyKHR => {
                let a = self.reg(ins.arg(0)?)?;
                self.all_of(Ty::Bool, &[a])?;
                let all = ins.op == Op::GroupNonUniformQuadAllKHR;
                let op = if all { WaveOp::QuadAll } else { WaveOp::QuadAny };
                let dst = self.wave(op, Ty::Bool, Some(a), None);
                return self.bind_regs(ins, vec![dst]);
            }
            _ => {}
        }
        if let Some(done) = self.khr(ins) {
            return done;
        }
        let scope = self.m.constant_u32(ins.arg(0)?)?;
        if scope != spirv::Scope::Subgroup as u32 {
            return Err(ShaderError::unsupported(format!("a group operation over scope {scope}")));
        }
        if let Some(kind) = kind(ins.op) {
            return self.reduction(ins, &kind);
        }
        match ins.op {
            Op::GroupNonUniformElect => {
                let dst = self.wave(WaveOp::Elect, Ty::Bool, None, None);
                self.bind_regs(ins, vec![dst])
            }
            Op::GroupNonUniformAll | Op::GroupNonUniformAny => {
                let a = self.reg(ins.arg(1)?)?;
                self.all_of(Ty::Bool, &[a])?;
                let all = ins.op == Op::GroupNonUniformAll;
                let op = if all { WaveOp::All } else { WaveOp::Any };
                let dst = self.wave(op, Ty::Bool, Some(a), None);
                self.bind_regs(ins, vec![dst])
            }
            Op::GroupNonUniformAllEqual => self.all_equal(ins, 1),
            Op::GroupNonUniformBallot => self.ballot(ins, 1),
            Op::GroupNonUniformInverseBallot
            | Op::GroupNonUniformBallotBitExtract
            | Op::GroupNonUniformBallotBitCount
            | Op::GroupNonUniformBallotFindLSB
            | Op::GroupNonUniformBallotFindMSB => self.on_ballot(ins),
            Op::GroupNonUniformBroadcastFirst => self.moved(ins, 1, WaveOp::BroadcastFirst, None),
            Op::GroupNonUniformBroadcast | Op::GroupNonUniformShuffle => {
                let lane = self.lane_operand(ins)?;
                self.moved(ins, 1, WaveOp::ReadLane, Some(lane))
            }
            Op::GroupNonUniformShuffleXor
            | Op::GroupNonUniformShuffleUp
            | Op::GroupNonUniformShuffleDown => {
                let op = match ins.op {
                    Op::GroupNonUniformShuffleXor => WaveOp::ShuffleXor,
                    Op::GroupNonUniformShuffleUp => WaveOp::ShuffleUp,
                    _ => WaveOp::ShuffleDown,
                };
                let lane = self.lane_operand(ins)?;
                self.moved(ins, 1, op, Some(lane))
            }
            Op::GroupNonUniformRotateKHR => self.rotate(ins),
            Op::GroupNonUniformQuadBroadcast => {
                let lane = self.lane_operand(ins)?;
                self.moved(ins, 1, WaveOp::QuadRead, Some(lane))
            }
            Op::GroupNonUniformQuadSwap => {
                let op = match self.m.constant_u32(ins.arg(2)?)? {
                    0 => WaveOp::QuadSwapX,
                    1 => WaveOp::QuadSwapY,
                    2 => WaveOp::QuadSwapDiagonal,
                    n => return Err(ShaderError::invalid(format!("quad swap direction {n}"))),
                };
                self.moved(ins, 1, op, None)
            }
            _ => Err(ShaderError::unsupported("this group operation")),
        }
    }

    /// The forms of `SPV_KHR_shader_ballot` and `SPV_KHR_subgroup_vote`, which
    /// have no scope operand.
    fn khr(&mut self, ins: &Ins<'_>) -> Option<R<()>> {
        let vote = |this: &mut Self, op| {
            let a = this.reg(ins.arg(0)?)?;
            this.all_of(Ty::Bool, &[a])?;
            let dst = this.wave(op, Ty::Bool, Some(a), None);
            this.bind_regs(ins, vec![dst])
        };
        Some(match ins.op {
            Op::SubgroupAllKHR => vote(self, WaveOp::All),
            Op::SubgroupAnyKHR => vote(self, WaveOp::Any),
            Op::SubgroupAllEqualKHR => self.all_equal(ins, 0),
            Op::SubgroupBallotKHR => self.ballot(ins, 0),
            Op::SubgroupFirstInvocationKHR => self.moved(ins, 0, WaveOp::BroadcastFirst, None),
            Op::SubgroupReadInvocationKHR => {
                let lane = ins.arg(1).and_then(|id| self.index_word(id));
                lane.and_then(|lane| self.moved(ins, 0, WaveOp::ReadLane, Some(lane)))
            }
            _ => return None,
        })
    }

    fn ballot(&mut self, ins: &Ins<'_>, at: usize) -> R<()> {
        let a = self.reg(ins.arg(at)?)?;
        self.all_of(Ty::Bool, &[a])?;
        let dst = self.four();
        self.b.inst(Inst::Ballot { dst, a });
        self.ballots.insert(dst[1]);
        self.bind_regs(ins, dst.to_vec())
    }

    fn four(&mut self) -> [Reg; 4] {
        std::array::from_fn(|_| self.b.temp(Ty::B32))
    }

    fn wave(&mut self, op: WaveOp, ty: Ty, a: Option<Reg>, b: Option<Reg>) -> Reg {
        let dst = self.b.temp(ty);
        self.b.inst(Inst::Wave { op, dst, a, b });
        dst
    }

    fn lane_operand(&mut self, ins: &Ins<'_>) -> R<Reg> {
        self.index_word(ins.arg(2)?)
    }

    /// Moves every component of the value between lanes.
    fn moved(&mut self, ins: &Ins<'_>, at: usize, op: WaveOp, lane: Option<Reg>) -> R<()> {
        let values = self.regs(ins.arg(at)?)?;
        let out = values.iter().map(|&v| self.move_one(op, v, lane)).collect();
        self.bind_regs(ins, out)
    }

    /// Truth values travel as words.
    fn move_one(&mut self, op: WaveOp, value: Reg, lane: Option<Reg>) -> Reg {
        if self.b.pool.ty(value) == Ty::Bool {
            let word = self.b.word_of(value);
            let moved = self.wave(op, Ty::B32, Some(word), lane);
            return self.b.nonzero(moved);
        }
        self.wave(op, self.b.pool.ty(value), Some(value), lane)
    }

    fn rotate(&mut self, ins: &Ins<'_>) -> R<()> {
        let delta = self.lane_operand(ins)?;
        let own = self.b.builtin(Builtin::Lane);
        let size = match ins.args.get(3) {
            Some(&id) => self.index_word(id)?,
            None => self.b.builtin(Builtin::LaneCount),
        };
        let b = &mut self.b;
        let one = b.word(1);
        let low = b.bin(BinOp::ISub, size, one);
        let high = b.un(UnOp::Not, low);
        let sum = b.bin(BinOp::IAdd, own, delta);
        let within = b.bin(BinOp::And, sum, low);
        let base = b.bin(BinOp::And, own, high);
        let lane = b.bin(BinOp::Or, within, base);
        self.moved(ins, 1, WaveOp::ReadLane, Some(lane))
    }

    fn all_equal(&mut self, ins: &Ins<'_>, at: usize) -> R<()> {
        let id = ins.arg(at)?;
        let values = self.regs(id)?;
        let float = self.m.is_float(self.type_of(id)?)?;
        let op = if float { WaveOp::AllEqualF } else { WaveOp::AllEqual };
        let mut all = self.b.truth(true);
        for &v in values.iter() {
            let v = if self.b.pool.ty(v) == Ty::Bool { self.b.word_of(v) } else { v };
            let same = self.wave(op, Ty::Bool, Some(v), None);
            all = self.b.bin(BinOp::And, same, all);
        }
        self.bind_regs(ins, vec![all])
    }

    fn partition(&mut self, ins: &Ins<'_>) -> R<()> {
        let values = self.regs(ins.arg(0)?)?;
        let mut a = Vec::new();
        for &v in values.iter() {
            a.push(if self.b.pool.ty(v) == Ty::Bool { self.b.word_of(v) } else { v });
        }
        let dst = self.four();
        self.b.inst(Inst::Match { dst, a });
        self.ballots.insert(dst[1]);
        self.bind_regs(ins, dst.to_vec())
    }

    fn reduction(&mut self, ins: &Ins<'_>, kind: &Kind) -> R<()> {
        let number = ins.arg(1)?;
        let operation = GroupOperation::from_u32(number)
            .ok_or_else(|| ShaderError::invalid(format!("group operation {number}")))?;
        let whole = |scan| Reach { scan, cluster: 0, mask: None };
        let reach = match operation {
            GroupOperation::Reduce => whole(Scan::Reduce),
            GroupOperation::InclusiveScan => whole(Scan::Inclusive),
            GroupOperation::ExclusiveScan => whole(Scan::Exclusive),
            GroupOperation::ClusteredReduce => {
                let cluster = self.m.constant_u32(ins.arg(3)?)?;
                if !cluster.is_power_of_two() {
                    return Err(ShaderError::invalid(format!("a cluster of {cluster}")));
                }
                // A cluster of 64 or more is the whole wave.
                let cluster = if cluster >= 64 { 0 } else { cluster };
                Reach { scan: Scan::Reduce, cluster, mask: None }
            }
            GroupOperation::PartitionedReduceEXT => self.partitioned(ins, Scan::Reduce)?,
            GroupOperation::PartitionedInclusiveScanEXT => {
                self.partitioned(ins, Scan::Inclusive)?
            }
            GroupOperation::PartitionedExclusiveScanEXT => {
                self.partitioned(ins, Scan::Exclusive)?
            }
        };
        let values = self.regs(ins.arg(2)?)?;
        let mut out = Vec::new();
        for &v in values.iter() {
            let truth = self.b.pool.ty(v) == Ty::Bool;
            let whole_wave = reach.cluster == 0 && reach.mask.is_none();
            let plain = whole_wave && reach.scan == Scan::Reduce;
            let value = match kind {
                Kind::Number(op) if !truth => {
                    let floats = matches!(
                        op,
                        ReduceOp::FAdd | ReduceOp::FMul | ReduceOp::FMin | ReduceOp::FMax
                    );
                    self.one_type(if floats { Takes::Floats } else { Takes::Integers }, &[v])?;
                    self.reduce_one(*op, reach, v)
                }
                Kind::Number(_) => return Err(ShaderError::invalid("a truth value as number")),
                _ if !truth => return Err(ShaderError::invalid("a number as truth value")),
                Kind::And if plain => self.wave(WaveOp::All, Ty::Bool, Some(v), None),
                Kind::Or if plain => self.wave(WaveOp::Any, Ty::Bool, Some(v), None),
                Kind::And => self.reduce_truth(ReduceOp::And, reach, v),
                Kind::Or => self.reduce_truth(ReduceOp::Or, reach, v),
                Kind::Xor => self.reduce_truth(ReduceOp::Xor, reach, v),
            };
            out.push(value);
        }
        self.bind_regs(ins, out)
    }

    fn partitioned(&mut self, ins: &Ins<'_>, scan: Scan) -> R<Reach> {
        let mask = self.regs_n(ins.arg(3)?, 4)?;
        self.all_of(Ty::B32, &mask)?;
        Ok(Reach { scan, cluster: 0, mask: Some([mask[0], mask[1], mask[2], mask[3]]) })
    }

    fn reduce_one(&mut self, op: ReduceOp, reach: Reach, a: Reg) -> Reg {
        let floats =
            matches!(op, ReduceOp::FAdd | ReduceOp::FMul | ReduceOp::FMin | ReduceOp::FMax);
        if floats {
            let a = self.b.flushed(a);
            let value = self.reduce_plain(op, reach, a);
            return self.b.flushed(value);
        }
        self.reduce_plain(op, reach, a)
    }

    fn reduce_plain(&mut self, op: ReduceOp, reach: Reach, a: Reg) -> Reg {
        let dst = self.b.temp(self.b.pool.ty(a));
        let scan = reach.scan;
        self.b.inst(match reach.mask {
            Some(mask) => Inst::ReducePartition { op, scan, dst, a, mask },
            None => Inst::Reduce { op, scan, dst, a, cluster: reach.cluster },
        });
        dst
    }

    /// Truth values are reduced as words of all ones or zeros.
    fn reduce_truth(&mut self, op: ReduceOp, reach: Reach, a: Reg) -> Reg {
        let (ones, zero) = (self.b.word(u32::MAX), self.b.word(0));
        let word = self.b.select(a, ones, zero);
        let reduced = self.reduce_one(op, reach, word);
        self.b.nonzero(reduced)
    }

    /// Instructions that take a ballot. A wave has at most 64 lanes, so its
    /// first two words count.
    fn on_ballot(&mut self, ins: &Ins<'_>) -> R<()> {
        let at = if ins.op == Op::GroupNonUniformBallotBitCount { 2 } else { 1 };
        let ballot = self.regs_n(ins.arg(at)?, 4)?;
        self.all_of(Ty::B32, &ballot)?;
        let (low, mut high) = (ballot[0], ballot[1]);
        if !self.ballots.contains(&high) && self.b.pool.value(high) != Some(0) {
            // Bits above the wave size do not count.
            let count = self.b.builtin(Builtin::LaneCount);
            let (half, zero) = (self.b.word(32), self.b.word(0));
            let wide = self.b.bin(BinOp::UGt, count, half);
            high = self.b.select(wide, high, zero);
        }
        match ins.op {
            Op::GroupNonUniformInverseBallot => {
                let lane = self.b.builtin(Builtin::Lane);
                let bit = self.ballot_bit(low, high, lane);
                self.bind_regs(ins, vec![bit])
            }
            Op::GroupNonUniformBallotBitExtract => {
                let lane = self.lane_operand(ins)?;
                let bit = self.ballot_bit(low, high, lane);
                self.bind_regs(ins, vec![bit])
            }
            Op::GroupNonUniformBallotBitCount => self.ballot_count(ins, low, high),
            Op::GroupNonUniformBallotFindLSB => {
                let b = &mut self.b;
                let (zero, half) = (b.word(0), b.word(32));
                let in_low = b.un(UnOp::FindLsb, low);
                let in_high = b.un(UnOp::FindLsb, high);
                let above = b.bin(BinOp::IAdd, in_high, half);
                let some = b.bin(BinOp::INe, low, zero);
                let out = b.select(some, in_low, above);
                self.bind_regs(ins, vec![out])
            }
            _ => {
                let b = &mut self.b;
                let (zero, half) = (b.word(0), b.word(32));
                let in_low = b.un(UnOp::FindUMsb, low);
                let in_high = b.un(UnOp::FindUMsb, high);
                let above = b.bin(BinOp::IAdd, in_high, half);
                let some = b.bin(BinOp::INe, high, zero);
                let out = b.select(some, above, in_low);
                self.bind_regs(ins, vec![out])
            }
        }
    }

    fn ballot_bit(&mut self, low: Reg, high: Reg, lane: Reg) -> Reg {
        let b = &mut self.b;
        let (half, one) = (b.word(32), b.word(1));
        let first = b.bin(BinOp::ULt, lane, half);
        let word = b.select(first, low, high);
        let shifted = b.bin(BinOp::ShrL, word, lane);
        let bit = b.bin(BinOp::And, shifted, one);
        b.nonzero(bit)
    }

    fn ballot_count(&mut self, ins: &Ins<'_>, low: Reg, high: Reg) -> R<()> {
        let number = ins.arg(1)?;
        let mask = match GroupOperation::from_u32(number) {
            Some(GroupOperation::Reduce) => None,
            Some(GroupOperation::InclusiveScan) => Some(BuiltIn::SubgroupLeMask),
            Some(GroupOperation::ExclusiveScan) => Some(BuiltIn::SubgroupLtMask),
            _ => return Err(ShaderError::invalid(format!("group operation {number}"))),
        };
        let (mut low, mut high) = (low, high);
        if let Some(which) = mask {
            let mask = match self.masks.get(&(which as u32)) {
                Some(&known) => known,
                None => {
                    let made = self.lane_mask(which)?;
                    self.masks.insert(which as u32, [made[0], made[1]]);
                    [made[0], made[1]]
                }
            };
            low = self.b.bin(BinOp::And, low, mask[0]);
            high = self.b.bin(BinOp::And, high, mask[1]);
        }
        let low = self.b.un(UnOp::BitCount, low);
        let high = self.b.un(UnOp::BitCount, high);
        let sum = self.b.bin(BinOp::IAdd, low, high);
        self.bind_regs(ins, vec![sum])
    }

    /// Thread ids where quads of lanes are squares of threads: the lanes of a
    /// group, four at a time, walk its squares row by row.
    pub fn quad_value(&mut self, builtin: BuiltIn) -> Option<Vec<Reg>> {
        let wanted = matches!(
            builtin,
            BuiltIn::LocalInvocationId
                | BuiltIn::GlobalInvocationId
                | BuiltIn::LocalInvocationIndex
        );
        if !self.quads || !wanted {
            return None;
        }
        let [width, height, _] = self.group_size;
        let index = self.b.builtin(Builtin::ThreadIndex);
        let z = self.b.builtin(Builtin::ThreadIdZ);
        self.b.begin().ok()?;
        let b = &mut self.b;
        let (one, two) = (b.word(1), b.word(2));
        let layer = b.word(width * height);
        let within = b.bin(BinOp::UMod, index, layer);
        let square = b.bin(BinOp::ShrL, within, two);
        let (columns, half) = (b.word(width / 2), b.word(1));
        let column = b.bin(BinOp::UMod, square, columns);
        let row = b.bin(BinOp::UDiv, square, columns);
        let (left, low) = (b.bin(BinOp::Shl, column, half), b.bin(BinOp::Shl, row, half));
        let right = b.bin(BinOp::And, index, one);
        let second = b.bin(BinOp::ShrL, index, one);
        let high = b.bin(BinOp::And, second, one);
        let x = b.bin(BinOp::IAdd, left, right);
        let y = b.bin(BinOp::IAdd, low, high);
        let mut out = vec![x, y, z];
        if builtin == BuiltIn::LocalInvocationIndex {
            let (width, layer) = (b.word(width), b.word(width * height));
            let (rows, layers) = (b.bin(BinOp::IMul, y, width), b.bin(BinOp::IMul, z, layer));
            let below = b.bin(BinOp::IAdd, rows, layers);
            out = vec![b.bin(BinOp::IAdd, below, x)];
        }
        let made = self.b.end();
        self.b.prologue.extend(made);
        if builtin == BuiltIn::GlobalInvocationId {
            let groups = [Builtin::GroupIdX, Builtin::GroupIdY, Builtin::GroupIdZ];
            let groups = groups.map(|g| self.b.builtin(g));
            self.b.begin().ok()?;
            for (i, group) in groups.into_iter().enumerate() {
                let size = self.b.word(self.group_size[i]);
                let first = self.b.bin(BinOp::IMul, group, size);
                out[i] = self.b.bin(BinOp::IAdd, first, out[i]);
            }
            let made = self.b.end();
            self.b.prologue.extend(made);
        }
        Some(out)
    }

    /// Derivatives over the quad: lane 1 or 2 less lane 0, or for the fine
    /// forms the difference within the lane's own row or column.
    pub fn derivative(&mut self, ins: &Ins<'_>) -> R<()> {
        let values = self.regs(ins.arg(0)?)?;
        self.one_type(Takes::Floats, &values)?;
        let mut out = Vec::new();
        for &v in values.iter() {
            out.push(match ins.op {
                Op::DPdx | Op::DPdxCoarse => self.coarse(v, 1),
                Op::DPdy | Op::DPdyCoarse => self.coarse(v, 2),
                Op::DPdxFine => self.fine(v, 1),
                Op::DPdyFine => self.fine(v, 2),
                Op::Fwidth | Op::FwidthCoarse => {
                    let parts = [self.coarse(v, 1), self.coarse(v, 2)];
                    self.width_of(parts)
                }
                _ => {
                    let parts = [self.fine(v, 1), self.fine(v, 2)];
                    self.width_of(parts)
                }
            });
        }
        self.bind_regs(ins, out)
    }

    fn coarse(&mut self, v: Reg, lane: u32) -> Reg {
        let (far, near) = (self.b.word(lane), self.b.word(0));
        let ty = self.b.pool.ty(v);
        let far = self.wave(WaveOp::QuadRead, ty, Some(v), Some(far));
        let near = self.wave(WaveOp::QuadRead, ty, Some(v), Some(near));
        self.b.bin(BinOp::FSub, far, near)
    }

    fn fine(&mut self, v: Reg, bit: u32) -> Reg {
        let op = if bit == 1 { WaveOp::QuadSwapX } else { WaveOp::QuadSwapY };
        let other = self.wave(op, self.b.pool.ty(v), Some(v), None);
        let lane = self.b.builtin(Builtin::Lane);
        let bit = self.b.word(bit);
        let masked = self.b.bin(BinOp::And, lane, bit);
        let far = self.b.nonzero(masked);
        let forward = self.b.bin(BinOp::FSub, other, v);
        let backward = self.b.bin(BinOp::FSub, v, other);
        self.b.select(far, backward, forward)
    }

    fn width_of(&mut self, [x, y]: [Reg; 2]) -> Reg {
        let (x, y) = (self.b.un(UnOp::FAbs, x), self.b.un(UnOp::FAbs, y));
        self.b.bin(BinOp::FAdd, x, y)
    }
}
