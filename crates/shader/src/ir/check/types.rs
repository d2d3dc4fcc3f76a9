//! Types of operands and results, and what may be done with which resource.

use super::*;

pub(super) fn check(kernel: &Kernel) -> Check {
    let mut result = Ok(());
    kernel.walk(&mut |stmt| {
        if result.is_ok() {
            result = Types { kernel }.stmt(stmt);
        }
    });
    result
}

struct Types<'k> {
    kernel: &'k Kernel,
}

/// What kind of value an op takes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    /// Anything.
    Any,
    /// Integers of any width.
    Int,
    /// Floats: 16, 32 or 64 bits.
    Float,
}

fn is(class: Class, ty: Ty) -> bool {
    match class {
        Class::Any => true,
        Class::Int => ty != Ty::Bool,
        Class::Float => matches!(ty, Ty::B16 | Ty::B32 | Ty::B64),
    }
}

impl Types<'_> {
    fn ty(&self, reg: Reg) -> Result<Ty, CheckError> {
        let decl = self.kernel.regs.get(reg.index());
        decl.map(|d| d.ty).ok_or_else(|| CheckError(format!("{reg:?} is out of range")))
    }

    fn want(&self, reg: Reg, ty: Ty, what: &str) -> Check {
        let have = self.ty(reg)?;
        ensure(have == ty, || format!("{what}: {reg:?} is {have:?}, not {ty:?}"))
    }

    fn words(&self, regs: &[Reg], what: &str) -> Check {
        regs.iter().try_for_each(|&r| self.want(r, Ty::B32, what))
    }

    fn stmt(&self, stmt: &Stmt) -> Check {
        match stmt {
            Stmt::Inst(inst, loc) => {
                ensure((loc.0 as usize) < self.kernel.locs.len(), || format!("{loc:?}"))?;
                let mut regs = Vec::new();
                let mut dsts = Vec::new();
                inst.registers(&mut |r| regs.push(r), &mut |r| dsts.push(r));
                regs.iter().chain(&dsts).try_for_each(|&r| self.ty(r).map(|_| ()))?;
                self.inst(inst)
            }
            Stmt::If { cond, loc, .. } => {
                ensure((loc.0 as usize) < self.kernel.locs.len(), || format!("{loc:?}"))?;
                self.want(*cond, Ty::Bool, "if")
            }
            Stmt::Switch { selector, loc, .. } => {
                ensure((loc.0 as usize) < self.kernel.locs.len(), || format!("{loc:?}"))?;
                let ty = self.ty(*selector)?;
                ensure(ty != Ty::Bool, || "switch on a Bool".to_owned())
            }
            Stmt::Loop { loc, .. } => {
                ensure((loc.0 as usize) < self.kernel.locs.len(), || format!("{loc:?}"))
            }
            Stmt::Scope { .. } | Stmt::Break(_) | Stmt::Continue(_) | Stmt::Return => Ok(()),
        }
    }

    fn inst(&self, inst: &Inst) -> Check {
        match inst {
            Inst::Unary { op, dst, a } => self.unary(*op, *dst, *a),
            Inst::Binary { op, dst, a, b } => self.binary(*op, *dst, *a, *b),
            Inst::Ternary { op, dst, a, b, c } => self.ternary(*op, *dst, [*a, *b, *c]),
            Inst::Set { var, value } => self.want(*value, self.ty(*var)?, "set"),
            Inst::Builtin { dst, .. } => self.want(*dst, Ty::B32, "builtin"),
            Inst::Reduce { op, dst, a, cluster, .. } => {
                let fits = *cluster == 0 || (cluster.is_power_of_two() && *cluster <= 64);
                ensure(fits, || format!("cluster of {cluster}"))?;
                self.reduce(*op, *dst, *a)
            }
            Inst::ReducePartition { op, dst, a, mask, .. } => {
                self.words(mask, "partition mask")?;
                self.reduce(*op, *dst, *a)
            }
            Inst::Wave { op, dst, a, b } => self.wave(*op, *dst, *a, *b),
            Inst::Ballot { dst, a } => {
                self.words(dst, "ballot")?;
                self.want(*a, Ty::Bool, "ballot")
            }
            Inst::Match { dst, a } => {
                self.words(dst, "match")?;
                ensure(!a.is_empty(), || format!("{inst:?}"))
            }
            Inst::Load { dst, space, addr, .. } => {
                self.components(dst)?;
                self.space(*space, false)?;
                self.addr(*space, *addr)
            }
            Inst::Store { src, space, addr, .. } => {
                self.components(src)?;
                self.space(*space, true)?;
                self.addr(*space, *addr)
            }
            Inst::Atomic { op, dst, space, addr, value, compare, .. } => {
                self.space(*space, *op != AtomicOp::Load)?;
                ensure(*space != Space::Scratch, || "atomic on private memory".to_owned())?;
                self.addr(*space, *addr)?;
                self.atomic(*op, *dst, *value, *compare)
            }
            Inst::BufferSize { dst, buffer } => {
                self.want(*dst, Ty::B32, "buffer size")?;
                self.space(Space::Buffer(*buffer), false)
            }
            Inst::Image { .. } => self.image(inst),
            Inst::Barrier(_) => Ok(()),
            Inst::OrderedAdd { dst, counter, value } => {
                self.words(&[*dst, *counter, *value], "ordered add")
            }
            Inst::Gds { op, dst, offset, value, compare } => {
                self.want(*offset, Ty::B32, "gds offset")?;
                self.atomic(*op, *dst, *value, *compare)
            }
            Inst::Clock { dst } => self.words(dst, "clock"),
            Inst::DebugBreak => Ok(()),
            Inst::DebugPrint { format, args } => {
                let known = self.kernel.formats.get(*format as usize);
                let known = known.ok_or_else(|| CheckError(format!("format {format}")))?;
                let fits = known.args() == args.len()
                    && args.iter().all(|&r| self.ty(r).is_ok_and(|ty| ty != Ty::Bool));
                ensure(fits, || format!("{inst:?}"))
            }
        }
    }

    fn same(&self, class: Class, regs: &[Reg], what: &str) -> Check {
        let first = self.ty(regs[0])?;
        ensure(is(class, first), || format!("{what} on {first:?}"))?;
        regs.iter().try_for_each(|&r| self.want(r, first, what))
    }

    fn unary(&self, op: UnOp, dst: Reg, a: Reg) -> Check {
        use UnOp as U;
        let name = op.name();
        match op {
            U::Not | U::Copy => self.same(Class::Any, &[dst, a], name),
            U::INeg | U::IAbs | U::ISign | U::BitCount | U::BitReverse => {
                self.same(Class::Int, &[dst, a], name)
            }
            U::FindLsb | U::FindUMsb | U::FindSMsb => self.same(Class::Int, &[dst, a], name),
            U::FNeg
            | U::FAbs
            | U::FSign
            | U::FFloor
            | U::FCeil
            | U::FTrunc
            | U::FRoundEven
            | U::FFract
            | U::FSqrt
            | U::FRsqrt
            | U::FExp
            | U::FExp2
            | U::FLog
            | U::FLog2
            | U::FSin
            | U::FCos
            | U::FTan
            | U::FAsin
            | U::FAcos
            | U::FAtan
            | U::FSinh
            | U::FCosh
            | U::FTanh
            | U::FAsinh
            | U::FAcosh
            | U::FAtanh => self.same(Class::Float, &[dst, a], name),
            U::FIsNan | U::FIsInf => {
                self.same(Class::Float, &[a], name)?;
                self.want(dst, Ty::Bool, name)
            }
            U::FQuantizeF16 | U::UnpackHalfLo | U::UnpackHalfHi => self.words(&[dst, a], name),
            U::FToS | U::FToU => {
                self.same(Class::Float, &[a], name)?;
                self.same(Class::Int, &[dst], name)
            }
            U::SToF | U::UToF => {
                self.same(Class::Int, &[a], name)?;
                self.same(Class::Float, &[dst], name)
            }
            U::FConvert => {
                self.same(Class::Float, &[a], name)?;
                self.same(Class::Float, &[dst], name)
            }
            U::SConvert | U::UConvert => {
                self.same(Class::Int, &[a], name)?;
                self.same(Class::Int, &[dst], name)
            }
        }
    }

    fn binary(&self, op: BinOp, dst: Reg, a: Reg, b: Reg) -> Check {
        use BinOp as B;
        let name = op.name();
        match op {
            B::IAdd | B::ISub | B::IMul | B::UMulHi | B::SMulHi | B::UDiv | B::SDiv | B::UMod => {
                self.same(Class::Int, &[dst, a, b], name)
            }
            B::SRem | B::SMod | B::UCarry | B::UBorrow | B::Shl | B::ShrL | B::ShrA => {
                self.same(Class::Int, &[dst, a, b], name)
            }
            B::UMin | B::UMax | B::SMin | B::SMax => self.same(Class::Int, &[dst, a, b], name),
            B::And | B::Or | B::Xor => self.same(Class::Any, &[dst, a, b], name),
            B::FAdd | B::FSub | B::FMul | B::FDiv | B::FRem | B::FMod | B::FMin | B::FMax => {
                self.same(Class::Float, &[dst, a, b], name)
            }
            B::FPow | B::FAtan2 => self.same(Class::Float, &[dst, a, b], name),
            B::FLdexp => {
                self.same(Class::Float, &[dst, a], name)?;
                self.want(b, Ty::B32, name)
            }
            B::PackHalf => self.words(&[dst, a, b], name),
            B::IEq | B::INe | B::ULt | B::ULe | B::UGt | B::UGe => {
                self.same(Class::Int, &[a, b], name)?;
                self.want(dst, Ty::Bool, name)
            }
            B::SLt | B::SLe | B::SGt | B::SGe => {
                self.same(Class::Int, &[a, b], name)?;
                self.want(dst, Ty::Bool, name)
            }
            B::FOEq | B::FONe | B::FOLt | B::FOLe | B::FOGt | B::FOGe => {
                self.same(Class::Float, &[a, b], name)?;
                self.want(dst, Ty::Bool, name)
            }
            B::FUEq | B::FUNe | B::FULt | B::FULe | B::FUGt | B::FUGe => {
                self.same(Class::Float, &[a, b], name)?;
                self.want(dst, Ty::Bool, name)
            }
        }
    }

    fn ternary(&self, op: TerOp, dst: Reg, [a, b, c]: [Reg; 3]) -> Check {
        match op {
            TerOp::Select => {
                self.want(a, Ty::Bool, op.name())?;
                self.same(Class::Any, &[dst, b, c], op.name())
            }
            TerOp::FFma => self.same(Class::Float, &[dst, a, b, c], op.name()),
            TerOp::BitfieldSExtract | TerOp::BitfieldUExtract => {
                self.same(Class::Int, &[dst, a], op.name())?;
                self.words(&[b, c], op.name())
            }
        }
    }

    fn reduce(&self, op: ReduceOp, dst: Reg, a: Reg) -> Check {
        use ReduceOp as R;
        let class = match op {
            R::IAdd | R::IMul | R::And | R::Or | R::Xor => Class::Int,
            R::UMin | R::UMax | R::SMin | R::SMax => Class::Int,
            R::FAdd | R::FMul | R::FMin | R::FMax => Class::Float,
        };
        self.same(class, &[dst, a], op.name())
    }

    fn wave(&self, op: WaveOp, dst: Reg, a: Option<Reg>, b: Option<Reg>) -> Check {
        use WaveOp as W;
        let name = op.name();
        let missing = || CheckError(format!("{name} without an operand"));
        let takes_b =
            matches!(op, W::ReadLane | W::ShuffleXor | W::ShuffleUp | W::ShuffleDown | W::QuadRead);
        ensure(takes_b == b.is_some(), || format!("{name}: second operand"))?;
        ensure((op == W::Elect) == a.is_none(), || format!("{name}: first operand"))?;
        if let Some(b) = b {
            self.want(b, Ty::B32, name)?;
        }
        match op {
            W::Elect => self.want(dst, Ty::Bool, name),
            W::All | W::Any | W::QuadAll | W::QuadAny => {
                self.want(a.ok_or_else(missing)?, Ty::Bool, name)?;
                self.want(dst, Ty::Bool, name)
            }
            W::AllEqual | W::AllEqualF => {
                let class = if op == W::AllEqual { Class::Any } else { Class::Float };
                self.same(class, &[a.ok_or_else(missing)?], name)?;
                self.want(dst, Ty::Bool, name)
            }
            W::BroadcastFirst | W::ReadLane | W::ShuffleXor | W::ShuffleUp | W::ShuffleDown => {
                self.same(Class::Any, &[dst, a.ok_or_else(missing)?], name)
            }
            W::QuadRead | W::QuadSwapX | W::QuadSwapY | W::QuadSwapDiagonal => {
                self.same(Class::Any, &[dst, a.ok_or_else(missing)?], name)
            }
        }
    }

    fn components(&self, regs: &[Reg]) -> Check {
        let count = (1..=4).contains(&regs.len());
        ensure(count, || format!("an access of {} components", regs.len()))?;
        self.same(Class::Int, regs, "memory access")
    }

    fn addr(&self, space: Space, addr: Addr) -> Check {
        if let Space::Global(base) = space {
            ensure(addr.index.is_none(), || format!("an index beside the address {base:?}"))?;
            self.want(base, Ty::B64, "GPU address")?;
        }
        addr.index.map_or(Ok(()), |r| self.want(r, Ty::B32, "address"))
    }

    fn resource(&self, at: ResourceRef) -> Result<&Resource, CheckError> {
        let found = self.kernel.resources.get(at.resource.index());
        let r = found.ok_or_else(|| CheckError(format!("{:?} out of range", at.resource)))?;
        if let Some(index) = at.index {
            self.want(index, Ty::B32, "resource index")?;
            ensure(r.count > 1, || format!("index on {}, which is no array", r.name))?;
        }
        Ok(r)
    }

    fn space(&self, space: Space, write: bool) -> Check {
        let Space::Buffer(at) = space else { return Ok(()) };
        let r = self.resource(at)?;
        let buffer = match r.kind {
            ResourceKind::ConstantBuffer => !write,
            ResourceKind::StructuredBuffer { .. }
            | ResourceKind::ByteAddressBuffer
            | ResourceKind::Counter => true,
            ResourceKind::TypedBuffer { .. }
            | ResourceKind::Image { .. }
            | ResourceKind::Sampler
            | ResourceKind::Extension(_) => false,
        };
        ensure(buffer, || format!("buffer access to {}", r.name))?;
        ensure(!(write && r.read_only), || format!("write to {}, which is read-only", r.name))
    }

    fn atomic(
        &self,
        op: AtomicOp,
        dst: Option<Reg>,
        value: Option<Reg>,
        compare: Option<Reg>,
    ) -> Check {
        let name = op.name();
        ensure((op != AtomicOp::Load) == value.is_some(), || format!("atomic {name}: value"))?;
        let compares = op == AtomicOp::CompareExchange;
        ensure(compares == compare.is_some(), || format!("atomic {name}: comparand"))?;
        ensure(op != AtomicOp::Load || dst.is_some(), || format!("atomic {name}: result"))?;
        ensure(op != AtomicOp::Store || dst.is_none(), || format!("atomic {name}: result"))?;
        let all: Vec<Reg> = dst.into_iter().chain(value).chain(compare).collect();
        if all.is_empty() { Ok(()) } else { self.same(Class::Int, &all, name) }
    }

    fn image(&self, inst: &Inst) -> Check {
        let Inst::Image { op, dst, image, sampler, coords, offset, data, .. } = inst else {
            return Ok(());
        };
        let r = self.resource(*image)?;
        let (typed, dims) = match r.kind {
            ResourceKind::TypedBuffer { .. } => (true, 1),
            ResourceKind::Image { dim, arrayed, .. } => {
                let n = match dim {
                    ImageDim::D1 => 1,
                    ImageDim::D2 => 2,
                    ImageDim::D3 | ImageDim::Cube => 3,
                };
                (false, n + usize::from(arrayed))
            }
            ResourceKind::ConstantBuffer
            | ResourceKind::StructuredBuffer { .. }
            | ResourceKind::ByteAddressBuffer
            | ResourceKind::Counter
            | ResourceKind::Sampler
            | ResourceKind::Extension(_) => {
                return Err(CheckError(format!("image access to {}", r.name)));
            }
        };
        let shape = image_shape(op, data.len(), dims, r.kind)?;
        let ImageShape { results, operands, positions, sampled, write } = shape;
        let text = || format!("operands of {inst:?}");
        let results_fit = dst.len() == results || (dst.is_empty() && write);
        ensure(results_fit && data.len() == operands && coords.len() == positions, text)?;
        ensure(sampled == sampler.is_some() && !(sampled && typed), text)?;
        ensure(!(write && r.read_only), || format!("write to {}, which is read-only", r.name))?;
        if let Some(s) = sampler {
            let s = self.resource(*s)?;
            ensure(s.kind == ResourceKind::Sampler, || format!("{} is no sampler", s.name))?;
        }
        for list in [coords, offset] {
            self.words(list, "image")?;
        }
        // Texels have components of 32 bits, or for the 64-bit formats of 64.
        let all: Vec<Reg> = dst.iter().chain(data).copied().collect();
        let wide = matches!(op, ImageOp::Load { .. } | ImageOp::Store | ImageOp::Atomic(_))
            && all.first().is_some_and(|&r| self.ty(r) == Ok(Ty::B64));
        if wide { self.same(Class::Int, &all, "image") } else { self.words(&all, "image") }
    }
}

/// What an image operation takes and gives.
struct ImageShape {
    results: usize,
    operands: usize,
    positions: usize,
    sampled: bool,
    write: bool,
}

fn image_shape(
    op: &ImageOp,
    data: usize,
    dims: usize,
    kind: ResourceKind,
) -> Result<ImageShape, CheckError> {
    let plain = |results, operands, positions| ImageShape {
        results,
        operands,
        positions,
        sampled: false,
        write: false,
    };
    Ok(match op {
        ImageOp::Load { .. } => plain(4, 0, dims),
        ImageOp::Store => ImageShape { write: true, ..plain(0, data.clamp(1, 4), dims) },
        ImageOp::Sample { compare, .. } => {
            let results = if compare.is_some() { 1 } else { 4 };
            ImageShape { sampled: true, ..plain(results, 0, dims) }
        }
        ImageOp::Gather { component, .. } => {
            ensure(*component < 4, || format!("gather of component {component}"))?;
            ImageShape { sampled: true, ..plain(4, 0, dims) }
        }
        ImageOp::Size { .. } => plain(size_results(kind), 0, 0),
        ImageOp::Levels => plain(1, 0, 0),
        ImageOp::QueryLod => {
            let arrayed = matches!(kind, ResourceKind::Image { arrayed: true, .. });
            ImageShape { sampled: true, ..plain(2, 0, dims - usize::from(arrayed)) }
        }
        ImageOp::Atomic(op) => {
            let operands = match op {
                AtomicOp::Load => 0,
                AtomicOp::CompareExchange => 2,
                AtomicOp::Add
                | AtomicOp::Sub
                | AtomicOp::And
                | AtomicOp::Or
                | AtomicOp::Xor
                | AtomicOp::UMin
                | AtomicOp::UMax
                | AtomicOp::SMin
                | AtomicOp::SMax
                | AtomicOp::Exchange
                | AtomicOp::Store => 1,
            };
            let results = usize::from(*op != AtomicOp::Store);
            ImageShape { write: *op != AtomicOp::Load, ..plain(results, operands, dims) }
        }
    })
}

/// How many numbers the size of an image has.
fn size_results(kind: ResourceKind) -> usize {
    match kind {
        ResourceKind::Image { dim, arrayed, .. } => {
            let n = match dim {
                ImageDim::D1 => 1,
                ImageDim::D2 | ImageDim::Cube => 2,
                ImageDim::D3 => 3,
            };
            n + usize::from(arrayed)
        }
        ResourceKind::ConstantBuffer
        | ResourceKind::StructuredBuffer { .. }
        | ResourceKind::ByteAddressBuffer
        | ResourceKind::TypedBuffer { .. }
        | ResourceKind::Counter
        | ResourceKind::Sampler
        | ResourceKind::Extension(_) => 1,
    }
}
