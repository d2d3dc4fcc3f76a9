//! SPIR-V words to [`Kernel`].
//!
//! The module is split into instructions ([`words`]) and its global part read
//! once ([`module`]). Then the entry point is emitted, every call in place:
//! values are flattened to scalar registers, control flow to statements
//! ([`control`]), memory to addresses ([`memory`]). Last, [`opt`] removes what
//! the naive emission left behind, and the kernel is checked.

mod arith;
mod atomic;
mod body;
mod builder;
mod constants;
mod control;
mod debug;
mod dominance;
mod flush;
pub(crate) mod fold;
mod glsl;
mod handle;
mod image;
mod layout;
mod memory;
mod module;
mod ops;
mod opt;
mod pool;
mod registers;
mod resources;
mod scan;
mod types;
mod value;
mod wave;
mod words;

use crate::ShaderError;
use crate::ShaderErrorKind;
use crate::ir::{Kernel, Reg, Resource, Uses, WaveRule};
use std::collections::{BTreeMap, HashMap, HashSet};

/// How SPIR-V's set and binding become a register.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum BindingRule {
    /// As our DXC command line shifts them: `t` at [`BINDING_SHIFT`], `u` at twice,
    /// `s` at thrice and `b` at four times that; the set is the space. Space 5746
    /// is our prelude's. A binding where its class cannot be (the source fixed it)
    /// is read as [`Self::Plain`].
    #[default]
    DxcShifts,
    /// As [`Self::DxcShifts`], for HLSL that went through our DXC command line: what
    /// stands below the shifts has no register in the source, and gets the one that
    /// Direct3D would give it.
    Direct3D,
    /// Register is binding, space is set; the class follows from the type.
    Plain,
}

/// How far apart our DXC command line puts the register classes in SPIR-V's
/// binding numbers.
pub const BINDING_SHIFT: u32 = 1 << 16;

/// Register and space of the constant buffer that push constants become unless
/// [`LowerOptions`] say otherwise. No source names this space.
pub const PUSH_CONSTANTS: (u32, u32) = (0, 5747);

/// What a module leaves open.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LowerOptions {
    /// Entry point by name; `None` takes the module's only compute entry point.
    pub entry: Option<String>,
    /// Bits of specialization constants by their `SpecId`.
    pub spec_constants: BTreeMap<u32, u64>,
    /// How bindings are read.
    pub bindings: BindingRule,
    /// Elements given to an unbounded array of resources.
    pub unbounded_count: u32,
    /// Wave sizes the kernel may run with: SPIR-V cannot say.
    pub wave: WaveRule,
    /// Register and space of the constant buffer that push constants become.
    pub push_constants: (u32, u32),
}

impl Default for LowerOptions {
    fn default() -> Self {
        Self {
            entry: None,
            spec_constants: BTreeMap::new(),
            bindings: BindingRule::DxcShifts,
            unbounded_count: 1024,
            wave: WaveRule::Wave64,
            push_constants: PUSH_CONSTANTS,
        }
    }
}

/// Lowers one entry point of a SPIR-V module.
///
/// # Errors
/// A [`ShaderError`] that names the instruction, its word offset and the source
/// line if known: the module is damaged, uses something not supported, or is
/// larger than this crate's limits.
pub fn kernel(words: &[u32], options: &LowerOptions) -> Result<Kernel, ShaderError> {
    let module = module::Module::parse(words, options)?;
    let entry = pick(&module, options)?;
    no_false_derivatives(words, &module, entry.function)?;
    let group_size = group_size(&module, entry.function)?;
    let mut lower = Lower {
        dynamic: scan::dynamic(&module),
        m: &module,
        o: options,
        b: builder::Builder::default(),
        frames: Vec::new(),
        globals: HashMap::new(),
        resources: Vec::new(),
        implicit: Vec::new(),
        lds_bytes: 0,
        scratch_bytes: 0,
        group_size,
        from_dxc: words[2] >> 16 == DXC,
        quads: quads(&module, entry.function, group_size),
        lines: debug::Lines::default(),
        formats: Vec::new(),
        ballots: HashSet::new(),
        masks: HashMap::new(),
    };
    lower.b.flush = flush(&module, entry.function);
    lower.b.begin()?;
    lower.inline(entry.function, Vec::new())?;
    registers::assign(&mut lower.resources, &lower.implicit)?;
    let mut body = std::mem::take(&mut lower.b.prologue);
    body.extend(lower.b.end());
    let raw = opt::Raw { pool: lower.b.pool, body, resources: lower.resources };
    let done = opt::run(raw);
    let kernel = Kernel {
        entry: entry.name.clone(),
        group_size,
        wave: options.wave,
        resources: done.resources,
        lds_bytes: lower.lds_bytes,
        scratch_bytes: lower.scratch_bytes,
        regs: done.regs,
        constants: done.constants,
        uses: Uses::default(),
        body: done.body,
        locs: lower.lines.locs,
        files: lower.lines.files,
        formats: lower.formats,
    };
    let kernel = Kernel { uses: kernel.find_uses(), ..kernel };
    match kernel.check() {
        Ok(()) => Ok(kernel),
        Err(e) => Err(dominance::violation(&module)
            .unwrap_or_else(|| ShaderError::new(ShaderErrorKind::Internal, e.0))),
    }
}

/// What most functions here give.
type R<T> = Result<T, ShaderError>;

/// The state of one run.
struct Lower<'m, 'w> {
    m: &'m module::Module<'w>,
    o: &'m LowerOptions,
    b: builder::Builder,
    /// Functions being emitted in place, innermost last.
    frames: Vec<control::Frame>,
    /// Constants and module-scope variables met so far.
    globals: HashMap<u32, value::Value>,
    resources: Vec<Resource>,
    /// For each resource: it is without a register yet.
    implicit: Vec<bool>,
    lds_bytes: u32,
    scratch_bytes: u32,
    group_size: [u32; 3],
    /// DXC made the module.
    from_dxc: bool,
    /// Four lanes in a row are 2 by 2 threads, not 4 in a row.
    quads: bool,
    lines: debug::Lines,
    formats: Vec<crate::ir::PrintFormat>,
    /// Variables that are indexed at run time.
    dynamic: HashSet<u32>,
    /// Second words of masks that hold no bit beyond the wave.
    ballots: HashSet<Reg>,
    /// Lane masks made so far, by the number of their built-in.
    masks: HashMap<u32, [Reg; 2]>,
}

fn pick<'m>(module: &'m module::Module<'_>, options: &LowerOptions) -> R<&'m module::EntryPoint> {
    let bad = |what: String| ShaderError::new(ShaderErrorKind::Options, what);
    let names = || {
        let all: Vec<&str> = module.entries.iter().map(|e| e.name.as_str()).collect();
        if all.is_empty() { "none".to_owned() } else { all.join(", ") }
    };
    match &options.entry {
        Some(name) => {
            let found = module.entries.iter().find(|e| e.name == *name);
            found
                .ok_or_else(|| bad(format!("no compute entry point {name}; there is: {}", names())))
        }
        None => match module.entries.as_slice() {
            [only] => Ok(only),
            [] => Err(bad("the module has no compute entry point".to_owned())),
            _ => Err(bad(format!("which entry point? there is: {}", names()))),
        },
    }
}

/// True if quads of lanes must be squares of threads: the module asks for it and
/// the group can be cut so (HLSL leaves open what derivatives are where it
/// cannot).
fn quads(module: &module::Module<'_>, entry: u32, [x, y, _]: [u32; 3]) -> bool {
    let wanted = spirv::ExecutionMode::DerivativeGroupQuadsKHR as u32;
    let mut modes = module.modes.iter().filter(|m| m.0 == entry);
    let asked = modes.any(|&(_, i)| module.insts[i].args.get(1) == Some(&wanted));
    asked && x.is_multiple_of(2) && y.is_multiple_of(2)
}

/// The widths of floats whose subnormals are 0.
fn flush(module: &module::Module<'_>, entry: u32) -> flush::Flush {
    use spirv::ExecutionMode as M;
    let mut flush = flush::Flush::default();
    for &(_, i) in module.modes.iter().filter(|m| m.0 == entry) {
        if let [_, mode, bits, ..] = *module.insts[i].args {
            if mode == M::DenormFlushToZero as u32 {
                flush.add(bits);
            } else if mode == M::DenormPreserve as u32 && bits == 32 {
                flush.keep_single = true;
            }
        }
    }
    flush
}

/// DXC's number among generators of modules.
const DXC: u32 = 14;

/// Refuses what DXC 1.8 makes of `ddx`, `ddy` and `fwidth` in a compute shader:
/// it asks for groups of derivatives, and then takes the constant 0xDEADBEEF (or,
/// optimised, twice it and the like) for their values.
fn no_false_derivatives(words: &[u32], module: &module::Module<'_>, entry: u32) -> R<()> {
    use spirv::ExecutionMode as M;
    const SIGNIFICAND: u64 = 0x007F_FFFF;
    let asks = module.modes.iter().filter(|m| m.0 == entry).any(|&(_, i)| {
        let mode = module.insts[i].args.get(1).copied();
        let groups = [M::DerivativeGroupQuadsKHR, M::DerivativeGroupLinearKHR];
        groups.iter().any(|&g| mode == Some(g as u32))
    });
    let stands_in = |c: &constants::Constant| {
        let single = matches!(module.ty(c.ty), Ok(types::Type::Float { bits: 32 }));
        single && matches!(*c.bits, [v] if v & SIGNIFICAND == 0xDEAD_BEEF & SIGNIFICAND)
    };
    if asks && words[2] >> 16 == DXC && module.constants.values().any(stands_in) {
        return Err(ShaderError::unsupported(
            "ddx, ddy or fwidth in HLSL: DXC has none for compute shaders (QuadReadAcrossX and \
             QuadReadAcrossY give the values to subtract)",
        ));
    }
    Ok(())
}

/// The most threads a group may have.
const MAX_THREADS: u64 = 1024;

fn group_size(module: &module::Module<'_>, entry: u32) -> R<[u32; 3]> {
    use spirv::ExecutionMode as M;
    let mut size = None;
    for &(_, i) in module.modes.iter().filter(|m| m.0 == entry) {
        let ins = module.insts[i];
        let number = ins.arg(1).map_err(|e| ins.place(e))?;
        let refuse = |what: String| Err(ins.place(ShaderError::unsupported(what)));
        let Some(mode) = M::from_u32(number) else {
            return refuse(format!("execution mode {number}"));
        };
        match mode {
            M::LocalSize => {
                let three = [ins.arg(2), ins.arg(3), ins.arg(4)];
                let [x, y, z] = three.map(|n| n.map_err(|e| ins.place(e)));
                size = Some([x?, y?, z?]);
            }
            M::LocalSizeId => {
                let word = |i| ins.arg(i).and_then(|id| module.constant_u32(id));
                let [x, y, z] = [2, 3, 4].map(|i| word(i).map_err(|e| ins.place(e)));
                size = Some([x?, y?, z?]);
            }
            // Honoured where code is emitted; see `flush`.
            M::DenormFlushToZero => {
                let bits = ins.arg(2).map_err(|e| ins.place(e))?;
                if !flush::Flush::default().add(bits) {
                    return refuse(format!("flushing of {bits}-bit floats"));
                }
            }
            M::SubgroupUniformControlFlowKHR
            | M::MaximallyReconvergesKHR
            | M::DerivativeGroupQuadsKHR
            | M::DerivativeGroupLinearKHR
            | M::DenormPreserve
            | M::SignedZeroInfNanPreserve
            | M::RoundingModeRTE => {}
            _ => return refuse(format!("execution mode {mode:?}")),
        }
    }
    // A constant decorated as the group size overrides the mode.
    let mut decorated: Vec<u32> = module
        .decor
        .iter()
        .filter(|(_, d)| d.builtin == Some(spirv::BuiltIn::WorkgroupSize))
        .map(|(&id, _)| id)
        .collect();
    decorated.sort_unstable();
    for id in decorated {
        if let Some(c) = module.constants.get(&id)
            && let [x, y, z] = *c.bits
        {
            size = Some([x, y, z].map(|n| u32::try_from(n).unwrap_or(u32::MAX)));
        }
    }
    let size = size.ok_or_else(|| ShaderError::invalid("the entry point has no group size"))?;
    let threads = size.iter().fold(1u64, |n, &d| n.saturating_mul(u64::from(d)));
    if threads == 0 || threads > MAX_THREADS {
        let [x, y, z] = size;
        return Err(ShaderError::limit(format!(
            "a group of {x} x {y} x {z} threads; 1 to {MAX_THREADS} are taken"
        )));
    }
    Ok(size)
}
