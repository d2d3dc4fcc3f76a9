//! The parts of a module, found once: names, decorations, types, constants,
//! variables and functions.

use super::LowerOptions;
use super::R;
use super::constants::Constant;
use super::types::TypeInfo;
use super::words::{Ins, split};
use crate::{ShaderError, ShaderErrorKind};
use spirv::{BuiltIn, Decoration, Op, StorageClass};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::rc::Rc;

/// Khronos's number of DXC's SPIR-V writer, in the high half of a module's third
/// word.
const DXC_GENERATOR: u32 = 14;

/// Decorations of an id or of a struct member.
#[derive(Clone, Default)]
pub(super) struct Decor {
    pub array_stride: Option<u32>,
    pub matrix_stride: Option<u32>,
    pub row_major: bool,
    pub offset: Option<u32>,
    pub builtin: Option<BuiltIn>,
    pub block: bool,
    pub buffer_block: bool,
    pub binding: Option<u32>,
    pub set: Option<u32>,
    pub spec_id: Option<u32>,
    pub non_writable: bool,
    pub coherent: bool,
    pub volatile: bool,
}

/// A module-scope variable.
#[derive(Clone)]
pub(super) struct Variable {
    pub class: StorageClass,
    /// Type of what it holds.
    pub ty: u32,
    pub initializer: Option<u32>,
}

/// An instruction set that `OpExtInst` names.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum ExtSet {
    Glsl,
    DebugInfo,
    DebugPrintf,
    DebugBreak,
    /// `NonSemantic.*` of no interest to us: means nothing by definition.
    NonSemantic,
    Other(String),
}

/// A block: instructions between its label and its terminator, inclusive.
#[derive(Clone)]
pub(super) struct Block {
    /// First instruction after the label.
    pub first: usize,
    /// The terminator.
    pub last: usize,
    /// `OpSelectionMerge`: merge block.
    pub selection: Option<u32>,
    /// `OpLoopMerge`: merge block and continue target.
    pub looping: Option<(u32, u32)>,
}

/// A function with a body.
pub(super) struct Function {
    pub at: usize,
    pub params: Vec<(u32, u32)>,
    pub entry: u32,
    pub blocks: HashMap<u32, Block>,
    /// Number of `OpReturnValue`s.
    pub returns: usize,
}

/// A compute entry point.
pub(super) struct EntryPoint {
    pub function: u32,
    pub name: String,
}

/// A module taken apart.
pub(super) struct Module<'w> {
    pub insts: Vec<Ins<'w>>,
    pub names: HashMap<u32, String>,
    pub strings: HashMap<u32, String>,
    pub decor: HashMap<u32, Decor>,
    pub member_decor: HashMap<(u32, u32), Decor>,
    pub types: HashMap<u32, TypeInfo>,
    pub constants: HashMap<u32, Constant>,
    pub undefs: HashMap<u32, u32>,
    pub variables: HashMap<u32, Variable>,
    /// Pointer types of `variables`.
    pub pointer_types: HashMap<u32, u32>,
    /// Image type in each sampled image type.
    pub sampled_images: HashMap<u32, u32>,
    /// Signed integer types.
    pub signed: HashSet<u32>,
    pub functions: HashMap<u32, Rc<Function>>,
    pub ext_sets: HashMap<u32, ExtSet>,
    pub entries: Vec<EntryPoint>,
    /// Execution modes: entry point and instruction index.
    pub modes: Vec<(u32, usize)>,
    /// DXC's SPIR-V writer made it.
    pub from_dxc: bool,
    /// Source file of a `DebugSource`.
    pub debug_sources: HashMap<u32, u32>,
    /// Flattened types, made when first asked for.
    pub flat: std::cell::RefCell<HashMap<u32, Rc<[crate::ir::Ty]>>>,
    defined: HashSet<u32>,
}

impl<'w> Module<'w> {
    pub fn parse(words: &'w [u32], options: &LowerOptions) -> R<Self> {
        let insts = split(words)?;
        let mut module = Self {
            insts,

            names: HashMap::new(),
            strings: HashMap::new(),
            decor: HashMap::new(),
            member_decor: HashMap::new(),
            types: HashMap::new(),
            constants: HashMap::new(),
            undefs: HashMap::new(),
            variables: HashMap::new(),
            pointer_types: HashMap::new(),
            sampled_images: HashMap::new(),
            signed: HashSet::new(),
            functions: HashMap::new(),
            ext_sets: HashMap::new(),
            entries: Vec::new(),
            modes: Vec::new(),
            from_dxc: words.get(2).is_some_and(|&generator| generator >> 16 == DXC_GENERATOR),
            debug_sources: HashMap::new(),
            flat: std::cell::RefCell::default(),
            defined: HashSet::new(),
        };
        let mut i = 0;
        while i < module.insts.len() {
            let ins = module.insts[i];
            if ins.op == Op::Function {
                i = module.function(i)?;
                continue;
            }
            module.global(i, &ins, options).map_err(|e| ins.place(e))?;
            i += 1;
        }
        module.check_spec_constants(options)?;
        Ok(module)
    }

    /// Values may be given to specialization constants that exist only.
    fn check_spec_constants(&self, options: &LowerOptions) -> R<()> {
        let known: BTreeSet<u32> = self.decor.values().filter_map(|d| d.spec_id).collect();
        let Some(id) = options.spec_constants.keys().find(|id| !known.contains(id)) else {
            return Ok(());
        };
        let known: Vec<String> = known.iter().map(u32::to_string).collect();
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        Err(ShaderError::new(
            ShaderErrorKind::Options,
            format!("the module has no specialization constant {id}; it has: {known}"),
        ))
    }

    /// Notes the definition of an id; no id is defined twice.
    fn define(&mut self, id: u32) -> R<()> {
        if self.defined.insert(id) {
            return Ok(());
        }
        Err(ShaderError::invalid(format!("%{id} is defined twice")))
    }

    fn global(&mut self, i: usize, ins: &Ins<'w>, options: &LowerOptions) -> R<()> {
        if ins.id != 0 {
            self.define(ins.id)?;
        }
        match ins.op {
            Op::Nop | Op::Extension | Op::Source | Op::SourceContinued => Ok(()),
            Op::SourceExtension | Op::ModuleProcessed | Op::NoLine | Op::Line | Op::MemberName => {
                Ok(())
            }
            Op::Capability => capability(ins.arg(0)?),
            Op::MemoryModel => memory_model(ins.arg(0)?),
            Op::ExtInstImport => {
                let (name, _) = ins.string(0)?;
                let set = match name.as_str() {
                    "GLSL.std.450" => ExtSet::Glsl,
                    "NonSemantic.Shader.DebugInfo.100" => ExtSet::DebugInfo,
                    "NonSemantic.DebugPrintf" => ExtSet::DebugPrintf,
                    "NonSemantic.DebugBreak" => ExtSet::DebugBreak,
                    n if n.starts_with("NonSemantic.") => ExtSet::NonSemantic,
                    _ => ExtSet::Other(name),
                };
                self.ext_sets.insert(ins.id, set);
                Ok(())
            }
            Op::ExtInst => self.global_ext(ins),
            Op::EntryPoint => {
                if ins.arg(0)? == spirv::ExecutionModel::GLCompute as u32 {
                    let (name, _) = ins.string(2)?;
                    self.entries.push(EntryPoint { function: ins.arg(1)?, name });
                }
                Ok(())
            }
            Op::ExecutionMode | Op::ExecutionModeId => {
                self.modes.push((ins.arg(0)?, i));
                Ok(())
            }
            Op::String => {
                let (text, _) = ins.string(0)?;
                self.strings.insert(ins.id, text);
                Ok(())
            }
            Op::Name => {
                let (text, _) = ins.string(1)?;
                self.names.insert(ins.arg(0)?, text);
                Ok(())
            }
            Op::Decorate | Op::DecorateId | Op::DecorateString => {
                let decor = self.decor.entry(ins.arg(0)?).or_default();
                decorate(decor, ins.arg(1)?, ins.rest(2))
            }
            Op::MemberDecorate | Op::MemberDecorateString => {
                let member = (ins.arg(0)?, ins.arg(1)?);
                let decor = self.member_decor.entry(member).or_default();
                decorate(decor, ins.arg(2)?, ins.rest(3))
            }
            Op::DecorationGroup | Op::GroupDecorate | Op::GroupMemberDecorate => {
                Err(ShaderError::unsupported("decoration groups"))
            }
            Op::Variable => self.variable(ins),
            Op::Undef => {
                self.undefs.insert(ins.id, ins.ty);
                Ok(())
            }
            _ if format!("{:?}", ins.op).starts_with("Type") => self.define_type(ins),
            _ => self.define_constant(ins, &options.spec_constants),
        }
    }

    fn global_ext(&mut self, ins: &Ins<'w>) -> R<()> {
        match self.ext_sets.get(&ins.arg(0)?) {
            Some(ExtSet::DebugInfo) => {
                // DebugSource: the file name is an OpString.
                if ins.arg(1)? == 35 {
                    self.debug_sources.insert(ins.id, ins.arg(2)?);
                }
                Ok(())
            }
            Some(ExtSet::NonSemantic) => Ok(()),
            Some(ExtSet::Glsl | ExtSet::DebugPrintf | ExtSet::DebugBreak | ExtSet::Other(_))
            | None => Err(ShaderError::invalid("an extended instruction outside a function")),
        }
    }

    fn variable(&mut self, ins: &Ins<'w>) -> R<()> {
        let (class, ty) = self.pointer(ins.ty)?;
        if class as u32 != ins.arg(0)? {
            return Err(ShaderError::invalid("storage classes of variable and type differ"));
        }
        let initializer = ins.args.get(1).copied();
        self.pointer_types.insert(ins.id, ins.ty);
        self.variables.insert(ins.id, Variable { class, ty, initializer });
        Ok(())
    }

    /// Reads a function from its `OpFunction` at `start`; gives the index after
    /// its end.
    fn function(&mut self, start: usize) -> R<usize> {
        let head = self.insts[start];
        self.define(head.id).map_err(|e| head.place(e))?;
        let mut function = Function {
            at: start,
            params: Vec::new(),
            entry: 0,
            blocks: HashMap::new(),
            returns: 0,
        };
        let mut open: Option<(u32, Block)> = None;
        let mut i = start + 1;
        while i < self.insts.len() {
            let ins = self.insts[i];
            if ins.id != 0 && ins.op != Op::FunctionEnd {
                self.define(ins.id).map_err(|e| ins.place(e))?;
            }
            match (&mut open, ins.op) {
                (_, Op::Function) => return Err(ins.place(misplaced())),
                (None, Op::FunctionEnd) => {
                    if function.blocks.is_empty() {
                        let what = "a function without a body (linkage)";
                        return Err(head.place(ShaderError::unsupported(what)));
                    }
                    self.functions.insert(head.id, Rc::new(function));
                    return Ok(i + 1);
                }
                (None, Op::FunctionParameter) if function.blocks.is_empty() => {
                    function.params.push((ins.id, ins.ty));
                }
                (None, Op::Label) => {
                    if function.blocks.is_empty() {
                        function.entry = ins.id;
                    }
                    let block = Block { first: i + 1, last: i, selection: None, looping: None };
                    open = Some((ins.id, block));
                }
                (None, Op::Line | Op::NoLine | Op::Nop | Op::ExtInst) => {}
                (None, _) | (Some(_), Op::Label | Op::FunctionEnd | Op::FunctionParameter) => {
                    return Err(ins.place(misplaced()));
                }
                (Some((label, block)), op) => {
                    match op {
                        Op::SelectionMerge => block.selection = Some(ins.arg(0)?),
                        Op::LoopMerge => block.looping = Some((ins.arg(0)?, ins.arg(1)?)),
                        Op::ReturnValue => function.returns += 1,
                        _ => {}
                    }
                    if rspirv::grammar::reflect::is_block_terminator(op) {
                        block.last = i;
                        function.blocks.insert(*label, block.clone());
                        open = None;
                    }
                }
            }
            i += 1;
        }
        Err(head.place(ShaderError::invalid("a function has no end")))
    }

    /// The name of an id, or its number.
    pub fn name(&self, id: u32) -> String {
        match self.names.get(&id) {
            Some(name) if !name.is_empty() => name.clone(),
            _ => format!("%{id}"),
        }
    }

    /// Decorations of `id`, none being the default.
    pub fn decor_of(&self, id: u32) -> Decor {
        self.decor.get(&id).cloned().unwrap_or_default()
    }

    /// Decorations of member `index` of struct `id`.
    pub fn member_of(&self, id: u32, index: u32) -> Decor {
        self.member_decor.get(&(id, index)).cloned().unwrap_or_default()
    }
}

fn misplaced() -> ShaderError {
    ShaderError::invalid("the instruction stands in the wrong place")
}

/// Capabilities only announce; what they announce is refused where it is used.
/// Those refused here change the meaning of a whole module.
fn capability(number: u32) -> R<()> {
    use spirv::Capability as C;
    let Some(capability) = C::from_u32(number) else {
        return Err(ShaderError::unsupported(format!("capability {number}")));
    };
    match capability {
        C::Kernel | C::Addresses | C::Linkage => {
            Err(ShaderError::unsupported(format!("capability {capability:?}")))
        }
        _ => Ok(()),
    }
}

fn memory_model(addressing: u32) -> R<()> {
    use spirv::AddressingModel as A;
    if addressing == A::Logical as u32 || addressing == A::PhysicalStorageBuffer64 as u32 {
        return Ok(());
    }
    Err(ShaderError::unsupported(format!("addressing model {addressing}")))
}

/// Notes a decoration. Those that say nothing to a compute shader of ours are
/// passed over by name; others are refused.
fn decorate(decor: &mut Decor, number: u32, args: &[u32]) -> R<()> {
    use Decoration as D;
    let Some(kind) = D::from_u32(number) else {
        return Err(ShaderError::unsupported(format!("decoration {number}")));
    };
    let arg = || {
        let missing = || ShaderError::invalid(format!("{kind:?} without its operand"));
        args.first().copied().ok_or_else(missing)
    };
    match kind {
        D::SpecId => decor.spec_id = Some(arg()?),
        D::Block => decor.block = true,
        D::BufferBlock => decor.buffer_block = true,
        D::RowMajor => decor.row_major = true,
        D::ColMajor => decor.row_major = false,
        D::ArrayStride => decor.array_stride = Some(arg()?),
        D::MatrixStride => decor.matrix_stride = Some(arg()?),
        D::Offset => decor.offset = Some(arg()?),
        D::BuiltIn => {
            let number = arg()?;
            let known = BuiltIn::from_u32(number);
            let unknown = || ShaderError::unsupported(format!("built-in {number}"));
            decor.builtin = Some(known.ok_or_else(unknown)?);
        }
        D::Binding => decor.binding = Some(arg()?),
        D::DescriptorSet => decor.set = Some(arg()?),
        D::NonWritable => decor.non_writable = true,
        D::Coherent => decor.coherent = true,
        D::Volatile => decor.volatile = true,
        D::RelaxedPrecision | D::NoContraction | D::Restrict | D::Aliased | D::NonReadable => {}
        D::NonUniform | D::Uniform | D::UniformId | D::Invariant | D::Constant => {}
        D::UserSemantic | D::UserTypeGOOGLE | D::CounterBuffer | D::GLSLShared => {}
        D::GLSLPacked | D::Alignment | D::MaxByteOffset | D::NoSignedWrap => {}
        D::NoUnsignedWrap | D::FPFastMathMode | D::RestrictPointer | D::AliasedPointer => {}
        D::Flat | D::NoPerspective | D::Location | D::Component | D::Index => {}
        _ => return Err(ShaderError::unsupported(format!("decoration {kind:?}"))),
    }
    Ok(())
}
