// tidy: table
//! Instructions. One list per family; engines hold one plain function per op.

use super::{Reg, ResourceRef};

macro_rules! ops {
    ($(#[$doc:meta])* $enum:ident { $($(#[$d:meta])* $op:ident = $name:literal),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
        #[allow(missing_docs, reason = "the printed name says it where no line stands")]
        pub enum $enum { $($(#[$d])* $op),* }

        impl $enum {
            /// Every op of the family.
            pub const ALL: &'static [Self] = &[$(Self::$op),*];

            /// The printed name.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$op => $name),* }
            }
        }
    };
}

ops! {
    /// One operand, same lane. `f*` read and write floats of the register's width.
    UnOp {
        /// Bitwise (or logical) complement.
        Not = "not",
        INeg = "ineg", IAbs = "iabs", ISign = "isign",
        BitCount = "bitcount", BitReverse = "bitreverse",
        /// Lowest set bit, or all ones.
        FindLsb = "findlsb",
        /// Highest set bit from bit 0, or all ones.
        FindUMsb = "findumsb",
        /// Highest bit that differs from the sign, or all ones.
        FindSMsb = "findsmsb",
        FNeg = "fneg", FAbs = "fabs", FSign = "fsign",
        FFloor = "ffloor", FCeil = "fceil", FTrunc = "ftrunc",
        /// To nearest, ties to even.
        FRoundEven = "froundeven",
        FFract = "ffract", FSqrt = "fsqrt", FRsqrt = "frsqrt",
        FExp = "fexp", FExp2 = "fexp2", FLog = "flog", FLog2 = "flog2",
        FSin = "fsin", FCos = "fcos", FTan = "ftan",
        FAsin = "fasin", FAcos = "facos", FAtan = "fatan",
        FSinh = "fsinh", FCosh = "fcosh", FTanh = "ftanh",
        FAsinh = "fasinh", FAcosh = "facosh", FAtanh = "fatanh",
        /// Result is `Bool`.
        FIsNan = "fisnan",
        /// Result is `Bool`.
        FIsInf = "fisinf",
        /// To half precision and back, as `OpQuantizeToF16`.
        FQuantizeF16 = "fquantize16",
        /// The half in the low 16 bits of a `B32`, as a 32-bit float.
        UnpackHalfLo = "unpackhalflo",
        /// The half in the high 16 bits.
        UnpackHalfHi = "unpackhalfhi",
        /// Float to signed, toward zero, saturating; NaN gives 0.
        FToS = "ftos",
        /// Float to unsigned, toward zero, saturating; NaN gives 0.
        FToU = "ftou",
        SToF = "stof", UToF = "utof",
        /// Float to float of another width.
        FConvert = "fconvert",
        /// Integer to another width, sign-extended or truncated.
        SConvert = "sconvert",
        /// Integer to another width, zero-extended or truncated.
        UConvert = "uconvert",
        /// Same bits, same width: between registers only.
        Copy = "copy",
    }
}

ops! {
    /// Two operands, same lane.
    BinOp {
        IAdd = "iadd", ISub = "isub", IMul = "imul",
        /// High half of the unsigned product.
        UMulHi = "umulhi",
        /// High half of the signed product.
        SMulHi = "smulhi",
        /// By zero: all ones (as D3D).
        UDiv = "udiv",
        /// By zero: all ones; the overflowing quotient wraps.
        SDiv = "sdiv",
        /// By zero: all ones (as D3D).
        UMod = "umod",
        /// Sign of the dividend; by zero: all ones; overflow: 0.
        SRem = "srem",
        /// Sign of the divisor; by zero: all ones; overflow: 0.
        SMod = "smod",
        /// 1 if the unsigned sum carries, else 0 (same width).
        UCarry = "ucarry",
        /// 1 if the unsigned difference borrows, else 0 (same width).
        UBorrow = "uborrow",
        And = "and", Or = "or", Xor = "xor",
        /// Shift counts use the low log2(width) bits.
        Shl = "shl", ShrL = "shrl", ShrA = "shra",
        UMin = "umin", UMax = "umax", SMin = "smin", SMax = "smax",
        FAdd = "fadd", FSub = "fsub", FMul = "fmul", FDiv = "fdiv",
        /// Sign of the dividend (`fmod` of HLSL).
        FRem = "frem",
        /// Sign of the divisor: `x - y * floor(x / y)`.
        FMod = "fmod",
        /// IEEE minimum: a NaN operand gives the other one.
        FMin = "fmin",
        /// IEEE maximum: a NaN operand gives the other one.
        FMax = "fmax",
        FPow = "fpow", FAtan2 = "fatan2",
        /// `a * 2^b`, `b` a signed integer of 32 bits.
        FLdexp = "fldexp",
        /// Two 32-bit floats to two halves, `a` in the low 16 bits; to nearest even.
        PackHalf = "packhalf",
        // Comparisons: result is `Bool`.
        IEq = "ieq", INe = "ine",
        ULt = "ult", ULe = "ule", UGt = "ugt", UGe = "uge",
        SLt = "slt", SLe = "sle", SGt = "sgt", SGe = "sge",
        /// False if either is NaN.
        FOEq = "foeq", FONe = "fone", FOLt = "folt", FOLe = "fole", FOGt = "fogt", FOGe = "foge",
        /// True if either is NaN.
        FUEq = "fueq", FUNe = "fune", FULt = "fult", FULe = "fule", FUGt = "fugt", FUGe = "fuge",
    }
}

ops! {
    /// Three operands, same lane.
    TerOp {
        /// `a` (`Bool`) ? `b` : `c`.
        Select = "select",
        /// `a * b + c`, rounded once.
        FFma = "ffma",
        /// Bits of `a` from `b`, `c` of them (counts above the width read as the
        /// width), sign-extended; 0 bits give 0.
        BitfieldSExtract = "bfsextract",
        /// As above, zero-extended.
        BitfieldUExtract = "bfuextract",
    }
}

ops! {
    /// Values a lane has from the launch.
    Builtin {
        GroupIdX = "group_id.x", GroupIdY = "group_id.y", GroupIdZ = "group_id.z",
        ThreadIdX = "thread_id.x", ThreadIdY = "thread_id.y", ThreadIdZ = "thread_id.z",
        /// Thread id in the whole dispatch.
        GlobalIdX = "global_id.x", GlobalIdY = "global_id.y", GlobalIdZ = "global_id.z",
        /// Flattened thread id in the group.
        ThreadIndex = "thread_index",
        GroupCountX = "group_count.x", GroupCountY = "group_count.y", GroupCountZ = "group_count.z",
        Lane = "lane", LaneCount = "lane_count",
        /// Index of the wave in its group.
        WaveIndex = "wave_index",
        /// Waves in the group.
        WaveCount = "wave_count",
    }
}

ops! {
    /// The operator of a reduction or scan over the active lanes.
    ReduceOp {
        IAdd = "iadd", IMul = "imul", And = "and", Or = "or", Xor = "xor",
        UMin = "umin", UMax = "umax", SMin = "smin", SMax = "smax",
        FAdd = "fadd", FMul = "fmul", FMin = "fmin", FMax = "fmax",
    }
}

ops! {
    /// Which lanes a reduction covers.
    Scan {
        /// Every active lane gets the value over all of them.
        Reduce = "reduce",
        /// The lane and those below.
        Inclusive = "inclusive",
        /// Those below only; the lowest gets the identity.
        Exclusive = "exclusive",
    }
}

ops! {
    /// Cross-lane operations that move or count; only active lanes take part.
    /// Reading a lane that is not active, or out of range, gives 0.
    WaveOp {
        /// `Bool`: true in the lowest active lane.
        Elect = "elect",
        /// `Bool` -> `Bool`.
        All = "all", Any = "any",
        /// Any type -> `Bool`: all active lanes hold the same bits.
        AllEqual = "allequal",
        /// As `AllEqual`, comparing as floats (NaN differs from itself).
        AllEqualF = "allequalf",
        /// Value of the lowest active lane.
        BroadcastFirst = "broadcastfirst",
        /// `a` from lane `b` (may differ between lanes).
        ReadLane = "readlane",
        /// `a` from the lane whose index is own xor `b`.
        ShuffleXor = "shufflexor",
        /// From own minus `b`.
        ShuffleUp = "shuffleup",
        /// From own plus `b`.
        ShuffleDown = "shuffledown",
        /// `a` from lane `b` (0..3) of the own quad.
        QuadRead = "quadread",
        /// Swap in the quad.
        QuadSwapX = "quadswapx", QuadSwapY = "quadswapy", QuadSwapDiagonal = "quadswapdiag",
        /// `Bool` over the quad.
        QuadAll = "quadall", QuadAny = "quadany",
    }
}

ops! {
    /// Read-modify-write operations; all give the old value.
    AtomicOp {
        Add = "add", Sub = "sub", And = "and", Or = "or", Xor = "xor",
        UMin = "umin", UMax = "umax", SMin = "smin", SMax = "smax",
        Exchange = "exchange", CompareExchange = "cmpexchange",
        /// A plain atomic read; takes no operand.
        Load = "load",
        /// A plain atomic write; gives nothing.
        Store = "store",
    }
}

/// Where a plain access goes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Space {
    /// A structured, byte-address or constant buffer. Out of bounds: reads give
    /// 0, writes and atomics do nothing (each component is judged by itself).
    Buffer(ResourceRef),
    /// Group-shared memory. Out of bounds as for buffers.
    Lds,
    /// The lane's private memory. Out of bounds as for buffers.
    Scratch,
    /// Memory without a descriptor: the register (`B64`) holds the lane's GPU
    /// address, to which the access adds [`Addr::offset`], sign-extended;
    /// [`Addr::index`] is none. An access outside every allocation is the
    /// guest's fault (reads give 0, writes and atomics do nothing).
    Global(Reg),
}

/// A byte offset: `index * scale + offset`, in 32 bits, wrapping. Components lie
/// one after the other.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Addr {
    /// A `B32` register, or none.
    pub index: Option<Reg>,
    /// Multiplier of `index`.
    pub scale: u32,
    /// Added.
    pub offset: u32,
}

/// Memory ordering flags of an access.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Order {
    /// Must see and be seen beyond this compute unit (`globallycoherent`).
    pub coherent: bool,
    /// Volatile.
    pub volatile: bool,
}

/// What a barrier waits for and orders.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Barrier {
    /// All threads of the group meet.
    pub sync: bool,
    /// Orders group-shared memory.
    pub lds: bool,
    /// Orders buffer and image memory.
    pub device: bool,
}

/// How an image access picks the mip level.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Lod {
    /// Level 0.
    Zero,
    /// Level in a register: float for sampling, integer for fetches.
    Level(Reg),
    /// Implicit derivatives over the quad, plus a bias.
    Implicit(Option<Reg>),
    /// Explicit gradients: d/dx then d/dy.
    Grad(Vec<Reg>, Vec<Reg>),
}

/// Operations on images and typed buffers.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum ImageOp {
    /// Integer coordinates, no sampler; 4 results.
    Load {
        /// Mip level.
        lod: Lod,
    },
    /// Integer coordinates; `data` holds 1 to 4 components.
    Store,
    /// Through a sampler; 4 results.
    Sample {
        /// Mip level.
        lod: Lod,
        /// Depth comparison reference; then 1 result.
        compare: Option<Reg>,
        /// Smallest level allowed.
        min_lod: Option<Reg>,
    },
    /// Four texels of one component; 4 results.
    Gather {
        /// Which component.
        component: u32,
        /// Depth comparison reference.
        compare: Option<Reg>,
    },
    /// Size in texels (and layers) at a level; as many results as dimensions.
    Size {
        /// Level, integer.
        level: Option<Reg>,
    },
    /// Number of mip levels; 1 result.
    Levels,
    /// The level implicit sampling would take, clamped and not: 2 results.
    QueryLod,
    /// `data[0]` operand, `data[1]` comparand; 1 result, the old value.
    Atomic(AtomicOp),
}

/// One instruction. `dst` registers are temps unless said otherwise.
#[derive(Clone, PartialEq, Debug)]
#[allow(missing_docs, reason = "operands are named by their role; each variant says what it does")]
pub enum Inst {
    /// One operand.
    Unary { op: UnOp, dst: Reg, a: Reg },
    /// Two operands.
    Binary { op: BinOp, dst: Reg, a: Reg, b: Reg },
    /// Three operands.
    Ternary { op: TerOp, dst: Reg, a: Reg, b: Reg, c: Reg },
    /// Writes a var under the exec mask: the only write to vars.
    Set { var: Reg, value: Reg },
    /// A launch value (`B32`).
    Builtin { dst: Reg, which: Builtin },
    /// Reduction or scan. `cluster` is 0 for the whole wave, else a power of two.
    Reduce { op: ReduceOp, scan: Scan, dst: Reg, a: Reg, cluster: u32 },
    /// Reduction or scan within groups of lanes that share a partition: `mask`
    /// is the 4-word lane mask of the lane's own partition.
    ReducePartition { op: ReduceOp, scan: Scan, dst: Reg, a: Reg, mask: [Reg; 4] },
    /// Movement between lanes. `a` is absent for `Elect`, `b` where not named.
    Wave { op: WaveOp, dst: Reg, a: Option<Reg>, b: Option<Reg> },
    /// Which active lanes hold true: 4 words, lane 0 in bit 0 of the first.
    Ballot { dst: [Reg; 4], a: Reg },
    /// Which active lanes hold the same bits in all of `a`: 4 words.
    Match { dst: [Reg; 4], a: Vec<Reg> },
    /// Loads 1 to 4 components of the width of `dst`.
    Load { dst: Vec<Reg>, space: Space, addr: Addr, order: Order },
    /// Stores 1 to 4 components.
    Store { src: Vec<Reg>, space: Space, addr: Addr, order: Order },
    /// Atomic on a buffer or group-shared memory. `dst` may be absent.
    Atomic {
        op: AtomicOp,
        dst: Option<Reg>,
        space: Space,
        addr: Addr,
        value: Option<Reg>,
        compare: Option<Reg>,
        order: Order,
    },
    /// Size of a buffer in bytes.
    BufferSize { dst: Reg, buffer: ResourceRef },
    /// Images and typed buffers. Typed buffers have one coordinate. Results and
    /// `data` are `B32`; all of them are `B64` where a load, store or atomic goes
    /// through a 64-bit format (its missing components read as 0, 0, 1).
    Image {
        op: ImageOp,
        dst: Vec<Reg>,
        image: ResourceRef,
        sampler: Option<ResourceRef>,
        coords: Vec<Reg>,
        /// Texel offset, integers.
        offset: Vec<Reg>,
        data: Vec<Reg>,
        order: Order,
    },
    /// Barrier or fence.
    Barrier(Barrier),
    /// Adds each active lane's `value` to ordered counter `counter` in lane
    /// order, waves in launch order; `dst` is the lane's old value.
    OrderedAdd { dst: Reg, counter: Reg, value: Reg },
    /// Atomic on the global data share at byte offset `offset`.
    Gds { op: AtomicOp, dst: Option<Reg>, offset: Reg, value: Option<Reg>, compare: Option<Reg> },
    /// GPU clock: low and high word.
    Clock { dst: [Reg; 2] },
    /// A breakpoint of the source (`__XB_DebugBreak`): the lanes that reach it go
    /// on; that they came by is reported.
    DebugBreak,
    /// A line of text for each lane that reaches it: `format` is an index into
    /// [`Kernel::formats`](super::Kernel::formats), `args` are as many values as
    /// it takes ([`PrintFormat::args`](super::PrintFormat::args)).
    DebugPrint { format: u32, args: Vec<Reg> },
}
