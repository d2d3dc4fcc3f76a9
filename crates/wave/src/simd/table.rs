//! From op to function, and checked sequences of ops.
//!
//! # Safety
//! An op's ranges are folded into `need` when it is pushed; a file with fewer
//! chunks is not run on. Its function was chosen by [`Isa`], which says AVX2 only
//! after the CPU was asked. Drivers read a chunk of every operand before they
//! write that chunk of the result, so the two may be the same.

use super::choose::choose;
use super::file::{Chunk, File, Loc};
use super::lanes::{self, Bin, Ter, Un};
#[cfg(target_arch = "x86_64")]
use super::x86;
use wavefence_shader::ir::{BinOp, TerOp, Ty, UnOp};

/// Which instructions the lane ops use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Isa(Kind);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Portable,
    #[cfg(target_arch = "x86_64")]
    Avx2,
}

impl Isa {
    /// What every CPU has.
    pub const PORTABLE: Self = Self(Kind::Portable);

    /// The best this CPU has.
    pub fn detect() -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            let all = is_x86_feature_detected!("avx2")
                && is_x86_feature_detected!("fma")
                && is_x86_feature_detected!("bmi1")
                && is_x86_feature_detected!("bmi2")
                && is_x86_feature_detected!("popcnt")
                && is_x86_feature_detected!("lzcnt");
            if all {
                return Self(Kind::Avx2);
            }
        }
        Self::PORTABLE
    }

    /// True if functions compiled for AVX2 may be called.
    #[cfg(target_arch = "x86_64")]
    pub(super) fn avx2(self) -> bool {
        self.0 == Kind::Avx2
    }
}

/// What a lane op does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LaneKind {
    /// One operand.
    Un(UnOp),
    /// Two.
    Bin(BinOp),
    /// Three.
    Ter(TerOp),
    /// `a * b + c`, rounded twice.
    MulAdd,
    /// `a * b - c`, rounded twice.
    MulSub,
    /// `c - a * b`, rounded twice.
    NegMulAdd,
    /// `a * b - c`, rounded once.
    FmaSub,
    /// `c - a * b`, rounded once.
    NegFma,
}

/// The function of an op: the op, the file, the exec mask.
pub(super) type LaneFn = unsafe fn(&LaneOp, *mut u8, u64);

/// One op over the file. Offsets are bytes; an operand's chunks lie `step` bytes
/// apart (0 or 32).
#[derive(Clone, Copy, Debug)]
pub struct LaneOp {
    f: LaneFn,
    pub(super) dst: u32,
    pub(super) src: [u32; 3],
    pub(super) step: [u32; 3],
    pub(super) chunks: u8,
    pub(super) masked: bool,
}

/// Straight-line lane ops, checked against a file of `need` chunks.
#[derive(Clone, Debug)]
pub struct Code {
    isa: Isa,
    per_row: u32,
    need: usize,
    ops: Vec<LaneOp>,
}

impl Code {
    /// No ops yet, for files with rows of `per_row` chunks.
    pub fn new(isa: Isa, per_row: u32) -> Self {
        Self { isa, per_row, need: per_row as usize, ops: Vec::new() }
    }

    /// The instructions in use.
    pub fn isa(&self) -> Isa {
        self.isa
    }

    /// Number of ops.
    pub fn size(&self) -> usize {
        self.ops.len()
    }

    /// Adds `dst = kind(src…)`. With `masked`, lanes outside the exec mask keep
    /// what they held. With `raw`, NaN results may be any NaN. False if there
    /// is no such op on 32 bits, or if `dst` is uniform and an operand is not.
    #[must_use]
    pub fn push(&mut self, kind: LaneKind, dst: Loc, src: &[Loc], masked: bool, raw: bool) -> bool {
        let chunks = if dst.uniform { 1 } else { self.per_row };
        if dst.uniform && (masked || src.iter().any(|s| !s.uniform)) {
            return false;
        }
        let Some((f, operands)) = pick(self.isa, kind, chunks, masked, raw) else { return false };
        if operands != src.len() {
            return false;
        }
        let size = size_of::<Chunk>() as u32;
        let mut op = LaneOp {
            f,
            dst: dst.at * size,
            src: [0; 3],
            step: [0; 3],
            chunks: chunks as u8,
            masked,
        };
        let mut need = self.need.max((dst.at + chunks) as usize);
        for (i, s) in src.iter().enumerate() {
            op.src[i] = s.at * size;
            op.step[i] = if s.uniform { 0 } else { size };
            need = need.max((s.at + if s.uniform { 1 } else { chunks }) as usize);
        }
        self.need = need;
        self.ops.push(op);
        true
    }

    /// As [`push`](Self::push) without `raw`, where not all of `dst` and `src` are
    /// 32 bits or `Bool`.
    #[must_use]
    pub fn push_sized(
        &mut self,
        kind: LaneKind,
        (dst_ty, dst): (Ty, Loc),
        src: &[(Ty, Loc)],
        masked: bool,
    ) -> bool {
        let chunks = if dst.uniform { 1 } else { self.per_row };
        if dst.uniform && (masked || src.iter().any(|s| !s.1.uniform)) {
            return false;
        }
        let tys: Vec<Ty> = src.iter().map(|s| s.0).collect();
        let Some(form) = choose(self.isa, kind, dst_ty, &tys) else { return false };
        let wide = |ty: Ty| ty == Ty::B64;
        let fits = form.operands == src.len()
            && form.dst == wide(dst_ty)
            && tys.iter().zip(form.src).all(|(&ty, w)| w == wide(ty));
        if !fits {
            return false;
        }
        let size = size_of::<Chunk>() as u32;
        let rows = |ty: Ty| if wide(ty) { 2 } else { 1 };
        let mut op = LaneOp {
            f: form.f,
            dst: dst.at * size,
            src: [0; 3],
            step: [0; 3],
            chunks: chunks as u8,
            masked,
        };
        let mut need = self.need.max((dst.at + chunks * rows(dst_ty)) as usize);
        for (i, &(ty, s)) in src.iter().enumerate() {
            op.src[i] = s.at * size;
            op.step[i] = if s.uniform { 0 } else { size };
            let chunks = if s.uniform { 1 } else { chunks };
            need = need.max((s.at + chunks * rows(ty)) as usize);
        }
        self.need = need;
        self.ops.push(op);
        true
    }

    /// Adds a comparison whose result is packed: one bit per lane in the first
    /// two words of the chunk at `dst`, which the file's bitwise ops on one chunk
    /// and [`File::truth`] take as they are. False if `kind` is no comparison.
    #[must_use]
    pub fn push_test(&mut self, kind: LaneKind, dst: Loc, src: &[Loc]) -> bool {
        let LaneKind::Bin(op) = kind else { return false };
        let ([a, b], Some(f)) = (src, pick_test(self.isa, op, self.per_row)) else { return false };
        let size = size_of::<Chunk>() as u32;
        let extent = |s: &Loc| s.at + if s.uniform { 1 } else { self.per_row };
        let need = extent(a).max(extent(b)).max(dst.at + 1) as usize;
        let step = |s: &Loc| if s.uniform { 0 } else { size };
        self.need = self.need.max(need);
        self.ops.push(LaneOp {
            f,
            dst: dst.at * size,
            src: [a.at * size, b.at * size, 0],
            step: [step(a), step(b), 0],
            chunks: self.per_row as u8,
            masked: false,
        });
        true
    }

    /// Runs ops `first..end` on `file` under `exec` (whose row must be set in
    /// the file if any of them is masked).
    #[inline]
    pub fn run(&self, first: usize, end: usize, file: &mut File, exec: u64) {
        assert!(file.size() >= self.need && file.per_row() == self.per_row as usize);
        let regs = file.pointer();
        for op in &self.ops[first..end] {
            // SAFETY: every range of the op lies within `need` chunks, which
            // the file has; the function fits the CPU.
            unsafe { (op.f)(op, regs, exec) }
        }
    }
}

/// Portable drivers: `chunks` chunks, skipping those without active lanes.
macro_rules! portable {
    ($name:ident, $family:ident, $($i:literal $x:ident),*) => {
        unsafe fn $name<O: $family>(op: &LaneOp, regs: *mut u8, exec: u64) {
            for i in 0..usize::from(op.chunks) {
                if op.chunks > 1 && exec >> (8 * i) & 0xFF == 0 {
                    continue;
                }
                // SAFETY: the ranges were checked when the op was pushed.
                unsafe {
                    $(let $x = *regs
                        .add(op.src[$i] as usize + i * op.step[$i] as usize)
                        .cast::<[u32; 8]>();)*
                    let dst = regs.add(op.dst as usize + i * 32).cast::<[u32; 8]>();
                    let mut new = O::chunk($($x),*);
                    if op.masked {
                        let (old, mask) = (*dst, *regs.add(i * 32).cast::<[u32; 8]>());
                        for l in 0..8 {
                            new[l] = (new[l] & mask[l]) | (old[l] & !mask[l]);
                        }
                    }
                    *dst = new;
                }
            }
        }
    };
}

portable!(un_portable, Un, 0 a);
portable!(bin_portable, Bin, 0 a, 1 b);
portable!(ter_portable, Ter, 0 a, 1 b, 2 c);

/// Portable driver of packed comparisons.
unsafe fn test_portable<O: Bin>(op: &LaneOp, regs: *mut u8, _exec: u64) {
    let mut mask = 0u64;
    for i in 0..usize::from(op.chunks) {
        // SAFETY: the ranges were checked when the op was pushed.
        let [a, b] = [0, 1].map(|k: usize| unsafe {
            *regs.add(op.src[k] as usize + i * op.step[k] as usize).cast::<[u32; 8]>()
        });
        for (l, word) in O::chunk(a, b).into_iter().enumerate() {
            mask |= u64::from(word >> 31) << (8 * i + l);
        }
    }
    // SAFETY: as above.
    unsafe { *regs.add(op.dst as usize).cast() = [mask as u32, (mask >> 32) as u32] };
}

fn test<O: Bin>(isa: Isa, chunks: u32) -> LaneFn {
    match isa.0 {
        Kind::Portable => test_portable::<O>,
        #[cfg(target_arch = "x86_64")]
        Kind::Avx2 if chunks == 4 => x86::test::<O, 4>,
        #[cfg(target_arch = "x86_64")]
        Kind::Avx2 => x86::test::<O, 8>,
    }
}

/// The packed form of a comparison.
fn pick_test(isa: Isa, op: BinOp, chunks: u32) -> Option<LaneFn> {
    macro_rules! table {
        ($($op:ident)*) => {
            [$((BinOp::$op, test::<lanes::$op> as fn(Isa, u32) -> LaneFn)),*]
        };
    }
    let forms = table!(IEq INe ULt ULe UGt UGe SLt SLe SGt SGe
        FOEq FONe FOLt FOLe FOGt FOGe FUEq FUNe FULt FULe FUGt FUGe);
    forms.iter().find(|f| f.0 == op).map(|f| f.1(isa, chunks))
}

/// `hot` ops have unrolled forms for each size; `cold` ones a loop.
macro_rules! pickers {
    ($family:ident, $hot:ident, $cold:ident, $portable:ident, $unrolled:ident, $any:ident) => {
        fn $hot<O: $family>(isa: Isa, chunks: u32, masked: bool) -> LaneFn {
            match isa.0 {
                Kind::Portable => $portable::<O>,
                #[cfg(target_arch = "x86_64")]
                Kind::Avx2 => match (chunks, masked) {
                    (1, _) => x86::$unrolled::<O, 1, false>,
                    (4, false) => x86::$unrolled::<O, 4, false>,
                    (4, true) => x86::$unrolled::<O, 4, true>,
                    (_, false) => x86::$unrolled::<O, 8, false>,
                    (_, true) => x86::$unrolled::<O, 8, true>,
                },
            }
        }

        fn $cold<O: $family>(isa: Isa) -> LaneFn {
            match isa.0 {
                Kind::Portable => $portable::<O>,
                #[cfg(target_arch = "x86_64")]
                Kind::Avx2 => x86::$any::<O>,
            }
        }
    };
}

pickers!(Un, hot_un, cold_un, un_portable, un, un_any);
pickers!(Bin, hot_bin, cold_bin, bin_portable, bin, bin_any);
pickers!(Ter, hot_ter, cold_ter, ter_portable, ter, ter_any);

/// The function of an op and its number of operands.
fn pick(isa: Isa, kind: LaneKind, chunks: u32, masked: bool, raw: bool) -> Option<(LaneFn, usize)> {
    let at = (isa, chunks, masked);
    Some(match kind {
        LaneKind::Un(op) => (pick_un(at, op, raw)?, 1),
        LaneKind::Bin(op) => (pick_bin(at, op, raw), 2),
        LaneKind::Ter(op) => (pick_ter(at, op, raw), 3),
        LaneKind::MulAdd if raw => (hot_ter::<lanes::FMulAddRaw>(isa, chunks, masked), 3),
        LaneKind::MulAdd => (hot_ter::<lanes::FMulAdd>(isa, chunks, masked), 3),
        LaneKind::MulSub if raw => (hot_ter::<lanes::FMulSubRaw>(isa, chunks, masked), 3),
        LaneKind::MulSub => (hot_ter::<lanes::FMulSub>(isa, chunks, masked), 3),
        LaneKind::NegMulAdd if raw => (hot_ter::<lanes::FNMulAddRaw>(isa, chunks, masked), 3),
        LaneKind::NegMulAdd => (hot_ter::<lanes::FNMulAdd>(isa, chunks, masked), 3),
        LaneKind::FmaSub if raw => (hot_ter::<lanes::FFmaSubRaw>(isa, chunks, masked), 3),
        LaneKind::FmaSub => (hot_ter::<lanes::FFmaSub>(isa, chunks, masked), 3),
        LaneKind::NegFma if raw => (hot_ter::<lanes::FNegFmaRaw>(isa, chunks, masked), 3),
        LaneKind::NegFma => (hot_ter::<lanes::FNegFma>(isa, chunks, masked), 3),
    })
}

macro_rules! choose {
    ($op:expr, $at:expr, $enum:ident, $hot:ident: $($h:ident)*; $cold:ident: $($c:ident)*; $($rest:tt)*) => {
        match $op {
            $($enum::$h => $hot::<lanes::$h>($at.0, $at.1, $at.2),)*
            $($enum::$c => $cold::<lanes::$c>($at.0),)*
            $($rest)*
        }
    };
}

fn pick_un(at: (Isa, u32, bool), op: UnOp, raw: bool) -> Option<LaneFn> {
    if raw && op == UnOp::FSqrt {
        return Some(hot_un::<lanes::FSqrtRaw>(at.0, at.1, at.2));
    }
    if raw && op == UnOp::FRsqrt {
        return Some(hot_un::<lanes::FRsqrtRaw>(at.0, at.1, at.2));
    }
    Some(choose!(op, at, UnOp,
        hot_un: Not INeg FNeg FAbs FFloor FCeil FTrunc FRoundEven FFract FSqrt FRsqrt
            FToS FToU SToF UToF Copy;
        cold_un: IAbs ISign BitCount BitReverse FindLsb FindUMsb FindSMsb FSign
            FExp FExp2 FLog FLog2 FSin FCos FTan FAsin FAcos FAtan FSinh FCosh FTanh
            FAsinh FAcosh FAtanh FIsNan FIsInf FQuantizeF16 UnpackHalfLo UnpackHalfHi FConvert;
        UnOp::SConvert | UnOp::UConvert => return None,
    ))
}

fn pick_bin(at: (Isa, u32, bool), op: BinOp, raw: bool) -> LaneFn {
    if raw && let Some(f) = pick_raw(at, op) {
        return f;
    }
    choose!(op, at, BinOp,
        hot_bin: IAdd ISub IMul And Or Xor Shl ShrL ShrA UMin UMax SMin SMax
            FAdd FSub FMul FDiv FMin FMax
            IEq INe ULt ULe UGt UGe SLt SLe SGt SGe
            FOEq FONe FOLt FOLe FOGt FOGe FUEq FUNe FULt FULe FUGt FUGe;
        cold_bin: UMulHi SMulHi UDiv SDiv UMod SRem SMod UCarry UBorrow
            FRem FMod FPow FAtan2 FLdexp PackHalf;
    )
}

/// Forms that let a NaN be any NaN.
fn pick_raw(at: (Isa, u32, bool), op: BinOp) -> Option<LaneFn> {
    let forms = [
        (BinOp::FAdd, hot_bin::<lanes::FAddRaw> as fn(Isa, u32, bool) -> LaneFn),
        (BinOp::FSub, hot_bin::<lanes::FSubRaw>),
        (BinOp::FMul, hot_bin::<lanes::FMulRaw>),
        (BinOp::FDiv, hot_bin::<lanes::FDivRaw>),
        (BinOp::FMin, hot_bin::<lanes::FMinRaw>),
        (BinOp::FMax, hot_bin::<lanes::FMaxRaw>),
    ];
    forms.iter().find(|f| f.0 == op).map(|f| f.1(at.0, at.1, at.2))
}

fn pick_ter(at: (Isa, u32, bool), op: TerOp, raw: bool) -> LaneFn {
    if raw && op == TerOp::FFma {
        return hot_ter::<lanes::FFmaRaw>(at.0, at.1, at.2);
    }
    choose!(op, at, TerOp,
        hot_ter: Select FFma;
        cold_ter: BitfieldSExtract BitfieldUExtract;
    )
}
