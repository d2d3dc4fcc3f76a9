//! From a shader source in any language to SPIR-V words: the one entry.
//!
//! [`compile`] gives SPIR-V with everything that SPIR-V does not carry beside it
//! (wave rule, warnings, the texts to point into); [`load_kernel`] goes on to the
//! wave IR.

mod diagnostic;
pub(crate) mod facts;
mod hlsl;
pub(crate) mod read;

pub use diagnostic::{Diagnostic, Position, Severity, SourceFile};
pub use read::MAX_SOURCE_BYTES;

use crate::ir::{Kernel, WaveRule};
use crate::lower::{self, BindingRule, LowerOptions};
use crate::{ShaderError, ShaderErrorKind, assemble, glslang, wgsl};
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The language of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Language {
    /// HLSL, through Microsoft's DXC.
    Hlsl,
    /// WGSL.
    Wgsl,
    /// GLSL, through naga where it can, else through glslang.
    Glsl,
    /// SPIR-V in the text form of `spirv-as`.
    SpirvText,
    /// SPIR-V words, in either byte order.
    SpirvBinary,
}

impl Language {
    /// The language a file name's extension stands for, in any case.
    pub fn from_path(path: &Path) -> Option<Self> {
        let extension = path.extension()?.to_str()?.to_ascii_lowercase();
        Some(match extension.as_str() {
            "hlsl" | "hlsli" | "fx" | "fxh" => Self::Hlsl,
            "wgsl" => Self::Wgsl,
            "glsl" | "comp" | "glslv" => Self::Glsl,
            "spvasm" | "spvtxt" => Self::SpirvText,
            "spv" => Self::SpirvBinary,
            _ => return None,
        })
    }

    /// The language of that name, as a person writes it.
    pub fn parse(name: &str) -> Option<Self> {
        let name = name.to_ascii_lowercase();
        [Self::Hlsl, Self::Wgsl, Self::Glsl, Self::SpirvText, Self::SpirvBinary]
            .into_iter()
            .find(|l| l.name().to_ascii_lowercase() == name)
    }

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Hlsl => "HLSL",
            Self::Wgsl => "WGSL",
            Self::Glsl => "GLSL",
            Self::SpirvText => "SPIR-V text",
            Self::SpirvBinary => "SPIR-V",
        }
    }
}

impl fmt::Display for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A shader source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Its language.
    pub language: Language,
    /// What messages and debug lines call it; a path if it is a file.
    pub name: String,
    /// The text or, for [`Language::SpirvBinary`], the bytes.
    pub code: Code,
    /// Folder that HLSL includes start from; `None`: nothing can be included but
    /// from [`CompileOptions::include_dirs`].
    pub dir: Option<PathBuf>,
}

/// The code of a [`Source`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Code {
    /// A text.
    Text(String),
    /// SPIR-V words as bytes.
    Bytes(Vec<u8>),
}

impl Source {
    /// A source given as text, without a folder.
    pub fn text(language: Language, name: impl Into<String>, text: impl Into<String>) -> Self {
        Self { language, name: name.into(), code: Code::Text(text.into()), dir: None }
    }

    /// A SPIR-V binary.
    pub fn spirv(name: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Self {
        Self {
            language: Language::SpirvBinary,
            name: name.into(),
            code: Code::Bytes(bytes.into()),
            dir: None,
        }
    }

    /// Reads a file of at most [`MAX_SOURCE_BYTES`]. `language` `None`: by its
    /// extension.
    ///
    /// # Errors
    /// [`ShaderErrorKind::Source`]: the file cannot be read, is a folder, empty,
    /// too large, or no text; its language is not known.
    pub fn read(path: &Path, language: Option<Language>) -> Result<Self, ShaderError> {
        let name = path.display().to_string();
        let bad = |problem: &dyn fmt::Display| {
            ShaderError::new(ShaderErrorKind::Source, format!("{name}: {problem}"))
        };
        let language = language.or_else(|| Language::from_path(path)).ok_or_else(|| {
            bad(&"the extension names no shader language (.hlsl, .wgsl, .comp, .glsl, .spvasm, .spv)")
        })?;
        let bytes = read::read_bounded(path, MAX_SOURCE_BYTES).map_err(|e| bad(&e))?;
        if bytes.is_empty() {
            return Err(bad(&read::ReadProblem::Empty));
        }
        let code = match language {
            Language::SpirvBinary => Code::Bytes(bytes),
            Language::Hlsl | Language::Wgsl | Language::Glsl | Language::SpirvText => {
                Code::Text(read::text_of(bytes).map_err(|e| bad(&e))?)
            }
        };
        let dir = match path.parent() {
            Some(parent) if parent.as_os_str().is_empty() => PathBuf::from("."),
            Some(parent) => parent.to_owned(),
            None => PathBuf::from("."),
        };
        Ok(Self { language, name, code, dir: Some(dir) })
    }

    /// The text, checked: not empty, no NUL, not too large.
    fn checked_text(&self) -> Result<&str, ShaderError> {
        let bad = |problem: &dyn fmt::Display| {
            Err(ShaderError::new(ShaderErrorKind::Source, format!("{}: {problem}", self.name)))
        };
        let text = match &self.code {
            Code::Text(text) => text,
            Code::Bytes(_) => return bad(&format!("{} is text, not bytes", self.language)),
        };
        if text.trim().is_empty() {
            return bad(&read::ReadProblem::Empty);
        }
        if text.len() as u64 > MAX_SOURCE_BYTES {
            let (bytes, limit) = (text.len() as u64, MAX_SOURCE_BYTES);
            return bad(&read::ReadProblem::TooLarge { bytes, limit });
        }
        if let Some(at) = text.find('\0') {
            let line = 1 + text[..at].matches('\n').count();
            return bad(&read::ReadProblem::Nul { at, line });
        }
        Ok(text)
    }
}

/// How to compile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompileOptions {
    /// Entry point; `None`: `main` for HLSL, the only one for other languages.
    pub entry: Option<String>,
    /// HLSL shader model target.
    pub target: String,
    /// HLSL macros, as `-D` gives them.
    pub defines: Vec<(String, Option<String>)>,
    /// More DXC arguments, as on its command line. `-T`, `-E`, `-D` and `-I`
    /// among them win over, or add to, the fields here.
    pub args: Vec<String>,
    /// Folders to look for HLSL includes in, after the source's own.
    pub include_dirs: Vec<PathBuf>,
    /// The DXC library or its folder; `None`: searched
    /// ([`crate::dxc::find_library`]).
    pub dxc: Option<PathBuf>,
    /// The program that runs DXC; `None`: searched
    /// ([`crate::dxc::find_helper`]).
    pub helper: Option<PathBuf>,
    /// glslang's program for GLSL; `None`: searched ([`crate::glslang::find`]).
    pub glslang: Option<PathBuf>,
    /// How long DXC or glslang may take for one source.
    pub time_limit: Duration,
    /// Marks the shader as compiled for waves of 32 lanes: for HLSL the same as
    /// `__XBOX_ENABLE_WAVE32=1` among the macros, and the only way for other
    /// languages.
    pub wave32: bool,
}

impl Default for CompileOptions {
    fn default() -> Self {
        Self {
            entry: None,
            target: "cs_6_6".into(),
            defines: Vec::new(),
            args: Vec::new(),
            include_dirs: Vec::new(),
            dxc: None,
            helper: None,
            glslang: None,
            time_limit: Duration::from_secs(60),
            wave32: false,
        }
    }
}

/// A compiled source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compiled {
    /// SPIR-V in this machine's byte order. Of a binary source: as it came,
    /// checked for whole instructions only.
    pub words: Vec<u32>,
    /// The entry point, if it was named or is implied by the language.
    pub entry: Option<String>,
    /// Wave sizes it may run with.
    pub wave: WaveRule,
    /// How its set and binding numbers are to be read; `None`: the language does
    /// not say.
    pub bindings: Option<BindingRule>,
    /// Names of resources with the binding and set that the source gives them for
    /// Vulkan, where `words` do not say.
    pub vk_bindings: Vec<(String, (u32, u32))>,
    /// What the compiler warned of.
    pub warnings: Vec<Diagnostic>,
    /// The source and all it included.
    pub files: Vec<SourceFile>,
}

/// Compiles `source` to SPIR-V.
///
/// # Errors
/// [`ShaderErrorKind::Source`] with [`ShaderError::diagnostics`] if the source
/// is wrong; [`ShaderErrorKind::Unsupported`] for what this version lacks;
/// [`ShaderErrorKind::Options`] for arguments that cannot be honoured;
/// [`ShaderErrorKind::MissingTool`] and [`ShaderErrorKind::Tool`] if DXC is not
/// there, crashed or took too long.
pub fn compile(source: &Source, options: &CompileOptions) -> Result<Compiled, ShaderError> {
    let wave = if options.wave32 { WaveRule::Wave32 } else { WaveRule::Wave64 };
    let plain = |words, bindings| Compiled {
        words,
        entry: options.entry.clone(),
        wave,
        bindings,
        vk_bindings: Vec::new(),
        warnings: Vec::new(),
        files: match &source.code {
            Code::Text(text) => {
                vec![SourceFile { name: source.name.clone(), debug_name: None, text: text.clone() }]
            }
            Code::Bytes(_) => Vec::new(),
        },
    };
    match source.language {
        Language::Hlsl => hlsl::compile(source, source.checked_text()?, options),
        Language::Wgsl => {
            let text = source.checked_text()?;
            let words = wgsl::compile(&source.name, text, options.entry.as_deref())?;
            Ok(plain(words, Some(BindingRule::Plain)))
        }
        Language::SpirvText => {
            let text = source.checked_text()?;
            Ok(plain(assemble::assemble(&source.name, text)?, None))
        }
        Language::SpirvBinary => match &source.code {
            Code::Bytes(bytes) => Ok(plain(words_of(&source.name, bytes)?, None)),
            Code::Text(_) => Err(ShaderError::new(
                ShaderErrorKind::Source,
                format!("{}: SPIR-V binary is bytes, not text", source.name),
            )),
        },
        Language::Glsl => glsl(source, source.checked_text()?, options, &plain),
    }
}

/// Compiles GLSL: by naga, which is always there; what it does not take, by glslang,
/// whose word is the last.
fn glsl(
    source: &Source,
    text: &str,
    options: &CompileOptions,
    plain: &dyn Fn(Vec<u32>, Option<BindingRule>) -> Compiled,
) -> Result<Compiled, ShaderError> {
    let rule = Some(BindingRule::Plain);
    // naga knows no includes and no other name for the entry point.
    let simple = options.entry.as_deref().is_none_or(|e| e == "main");
    let simple = simple && !text.contains("#include");
    let naga = match simple {
        true => wgsl::compile_glsl(&source.name, text, &options.defines),
        false => Err(ShaderError::unsupported("includes, and entry points other than main")),
    };
    let mut naga = match naga {
        Ok(words) => return Ok(Compiled { entry: Some("main".into()), ..plain(words, rule) }),
        Err(error) => error,
    };
    let glslang = match glslang::find(options.glslang.as_deref()) {
        Ok(path) => path,
        Err(missing) => {
            naga.kind = ShaderErrorKind::MissingTool;
            naga.what = format!("naga does not take this GLSL ({}), and {missing}", naga.what);
            return Err(naga);
        }
    };
    let dir = source.dir.as_deref();
    let (bytes, warnings) = glslang::compile(&glslang, &source.name, text, dir, options)?;
    let words = words_of(&source.name, &bytes)
        .map_err(|e| ShaderError::new(ShaderErrorKind::Tool, format!("glslang: {}", e.what)))?;
    let mut done = Compiled { warnings, ..plain(words, rule) };
    done.entry = done.entry.or_else(|| Some("main".into()));
    for file in &mut done.files {
        file.debug_name = Some(glslang::FILE.to_owned());
    }
    Ok(done)
}

/// A source made into a kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct Loaded {
    /// The kernel.
    pub kernel: Kernel,
    /// What the compiler warned of.
    pub warnings: Vec<Diagnostic>,
    /// The source and all it included: what warnings point into.
    pub files: Vec<SourceFile>,
}

/// As [`load`], for callers who have no use for warnings.
///
/// # Errors
/// Those of [`load`].
pub fn load_kernel(
    source: &Source,
    options: &CompileOptions,
    lower: &LowerOptions,
) -> Result<Kernel, ShaderError> {
    load(source, options, lower).map(|loaded| loaded.kernel)
}

/// Compiles `source` and lowers it. What the source says about its entry point,
/// wave rule and bindings replaces what `lower` says.
///
/// # Errors
/// Those of [`compile`] and of [`lower_compiled`].
pub fn load(
    source: &Source,
    options: &CompileOptions,
    lower: &LowerOptions,
) -> Result<Loaded, ShaderError> {
    let compiled = compile(source, options)?;
    let kernel = lower_compiled(&compiled, source.language, lower)?;
    Ok(Loaded { kernel, warnings: compiled.warnings, files: compiled.files })
}

/// Lowers what [`compile`] gave for a source of `language`, as [`load`] does.
///
/// # Errors
/// Those of [`lower::kernel`]; [`ShaderErrorKind::Tool`] where DXC's own output
/// breaks the rules of SPIR-V.
pub fn lower_compiled(
    compiled: &Compiled,
    language: Language,
    lower: &LowerOptions,
) -> Result<Kernel, ShaderError> {
    let lower = LowerOptions {
        entry: compiled.entry.clone().or_else(|| lower.entry.clone()),
        wave: compiled.wave,
        bindings: compiled.bindings.unwrap_or(lower.bindings),
        ..lower.clone()
    };
    let mut kernel = match lower::kernel(&compiled.words, &lower) {
        Ok(kernel) => kernel,
        Err(mut error) => {
            if language == Language::Hlsl && error.kind == ShaderErrorKind::Invalid {
                error.kind = ShaderErrorKind::Tool;
                error.what = format!("DXC wrote SPIR-V that breaks its rules: {}", error.what);
            }
            for file in &compiled.files {
                let alias = file.debug_name.as_deref().zip(error.line.as_deref());
                let rest = alias.and_then(|(alias, line)| line.strip_prefix(alias));
                if let Some(rest) = rest.filter(|rest| rest.starts_with(':')) {
                    error.line = Some(format!("{}{rest}", file.name));
                    break;
                }
            }
            return Err(error.with_files(compiled.files.clone()));
        }
    };
    for name in &mut kernel.files {
        let same = |f: &&SourceFile| f.debug_name.as_ref() == Some(name);
        if let Some(file) = compiled.files.iter().find(same) {
            name.clone_from(&file.name);
        }
    }
    for resource in &mut kernel.resources {
        let named = compiled.vk_bindings.iter().find(|(name, _)| *name == resource.name);
        resource.vk_binding = named.map(|(_, at)| *at).or(resource.vk_binding);
    }
    Ok(kernel)
}

/// SPIR-V bytes as words, checked for length, magic and whole instructions.
fn words_of(name: &str, bytes: &[u8]) -> Result<Vec<u32>, ShaderError> {
    const MAGIC: u32 = 0x0723_0203;
    let bad = |what: String| Err(ShaderError::invalid(format!("{name}: {what}")));
    if bytes.len() as u64 > MAX_SOURCE_BYTES {
        let (bytes, limit) = (bytes.len() as u64, MAX_SOURCE_BYTES);
        return bad(read::ReadProblem::TooLarge { bytes, limit }.to_string());
    }
    if bytes.len() < 20 {
        return bad(format!("{} bytes are too few for a SPIR-V module (truncated?)", bytes.len()));
    }
    let first = [bytes[0], bytes[1], bytes[2], bytes[3]];
    let swap = match (u32::from_le_bytes(first), u32::from_be_bytes(first)) {
        (MAGIC, _) => false,
        (_, MAGIC) => true,
        (other, _) => return bad(format!("not SPIR-V: the first word is {other:#010x}")),
    };
    if !bytes.len().is_multiple_of(4) {
        return bad(format!("{} bytes are no whole number of words (truncated?)", bytes.len()));
    }
    let words: Vec<u32> = bytes
        .chunks_exact(4)
        .map(|c| {
            let c = [c[0], c[1], c[2], c[3]];
            if swap { u32::from_be_bytes(c) } else { u32::from_le_bytes(c) }
        })
        .collect();
    let mut at = 5;
    while at < words.len() {
        let (count, left) = ((words[at] >> 16) as usize, words.len() - at);
        if count == 0 {
            return bad(format!("the instruction at word {at} has a length of 0"));
        }
        if count > left {
            return bad(format!(
                "truncated: the instruction at word {at} has {count} words, but {left} are left"
            ));
        }
        at += count;
    }
    Ok(words)
}

#[cfg(test)]
#[path = "source/tests.rs"]
mod tests;
