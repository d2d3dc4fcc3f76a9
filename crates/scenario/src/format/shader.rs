//! `Shaders:` one entry per kernel.

use super::buffer::DataFormat;
use crate::expr::Expr;
use crate::node::{Node, Value};
use crate::problem::{Problem, Span};
use crate::reader::{At, Reader};

/// The language of a shader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// HLSL, through DXC.
    Hlsl,
    /// WGSL.
    Wgsl,
    /// GLSL, through naga or glslang.
    Glsl,
    /// SPIR-V, text or binary.
    SpirV,
}

impl Language {
    const WORDS: [(&'static str, Self); 4] =
        [("HLSL", Self::Hlsl), ("WGSL", Self::Wgsl), ("GLSL", Self::Glsl), ("SPIR-V", Self::SpirV)];

    /// The language that a file's name shows; HLSL if it shows none.
    pub fn of_path(path: &str) -> Self {
        let extension = path.rsplit_once('.').map_or("", |(_, e)| e).to_ascii_lowercase();
        match extension.as_str() {
            "wgsl" => Self::Wgsl,
            "comp" | "glsl" => Self::Glsl,
            "spv" | "spvasm" | "spirv" => Self::SpirV,
            _ => Self::Hlsl,
        }
    }
}

/// Where a shader's text is.
#[derive(Clone, Debug, PartialEq)]
pub enum ShaderText {
    /// In the scenario itself; the place of the first character is known.
    Inline(At<String>),
    /// In a file, relative to the scenario.
    File(At<String>),
    /// Not in the scenario: whoever runs it hands over the compiled shader
    /// ([`RunOptions::shaders`](crate::run::RunOptions)).
    Given,
}

/// One specialization constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpecConstant {
    /// Its `SpecId`.
    pub id: u32,
    /// The bits of its value.
    pub bits: u64,
}

/// One shader.
#[derive(Clone, Debug, PartialEq)]
pub struct ShaderDecl {
    /// Where its entry stands.
    pub at: Span,
    /// Its name; the entry point's if none is given.
    pub name: At<String>,
    /// The entry point.
    pub entry: String,
    /// Its text.
    pub text: ShaderText,
    /// Its language.
    pub language: Language,
    /// The DXC target profile, `cs_6_0` and the like.
    pub target: Option<String>,
    /// Preprocessor definitions.
    pub defines: Vec<(String, String)>,
    /// More DXC arguments.
    pub args: Vec<String>,
    /// Values of specialization constants.
    pub spec_constants: Vec<SpecConstant>,
    /// The suite's own way to say how many groups run.
    pub dispatch: Option<At<Vec<Expr>>>,
}

/// Reads one entry of `Shaders:` with its text.
pub fn shader(r: &Reader, node: &Node) -> Option<ShaderDecl> {
    read(r, node, false)
}

/// Reads one entry of `Shaders:` whose compiled shader is given beside the file.
pub fn given_shader(r: &Reader, node: &Node) -> Option<ShaderDecl> {
    read(r, node, true)
}

fn read(r: &Reader, node: &Node, given: bool) -> Option<ShaderDecl> {
    let mut m = r.map(node, "a shader")?;
    let stage = m.opt("Stage", |r, n| r.text(n));
    let entry = m.opt("Entry", |r, n| r.text(n));
    let name = m.opt("Name", |r, n| r.text(n));
    let source = m.opt("Source", |r, n| r.text(n));
    let file = m.opt("File", |r, n| r.text(n));
    let language = m.opt("Language", |r, n| r.word(n, &Language::WORDS));
    let target = m.opt("Target", |r, n| r.text(n));
    let defines = m.opt("Defines", defines);
    let args = m.opt("Args", |r, n| r.each(n, "a list of DXC arguments", |n| r.text(n)));
    let dispatch = m.opt("DispatchSize", |r, n| {
        r.each(n, "a list of three numbers", |n| r.expr(n)).map(|list| At::new(n.at, list))
    });
    let spec_constants = m.opt("SpecializationConstants", spec_constants);
    m.finish()?;
    if let Some(stage) = stage?
        && stage.value != "Compute"
    {
        let message = format!("shader stage `{}` is not supported", stage.value);
        r.note(Problem::at(stage.at, message).help("compute shaders run").unsupported());
        return None;
    }
    let entry = entry?.unwrap_or_else(|| At::new(node.at, "main".into()));
    let text = match (source?, file?) {
        (None, None) if given => ShaderText::Given,
        (Some(text), None) => ShaderText::Inline(text),
        (None, Some(path)) => ShaderText::File(path),
        (Some(text), Some(_)) => {
            r.note(Problem::at(text.at, "a shader has Source or File, not both"));
            return None;
        }
        (None, None) => {
            r.note(
                Problem::at(Span::new(node.at.start, 1), "the shader has no text")
                    .help("give its text as Source or the path of its file as File"),
            );
            return None;
        }
    };
    let language = match (language?, &text) {
        (Some(word), _) => word.value,
        (None, ShaderText::File(path)) => Language::of_path(&path.value),
        (None, ShaderText::Inline(_) | ShaderText::Given) => Language::Hlsl,
    };
    let dispatch = dispatch?;
    if let Some(size) = &dispatch
        && size.value.len() != 3
    {
        r.note(Problem::at(size.at, "DispatchSize has three numbers"));
        return None;
    }
    Some(ShaderDecl {
        at: node.at,
        name: name?.unwrap_or_else(|| entry.clone()),
        entry: entry.value,
        text,
        language,
        target: target?.map(|t| t.value),
        defines: defines?.unwrap_or_default(),
        args: args?.unwrap_or_default().into_iter().map(|a| a.value).collect(),
        spec_constants: spec_constants?.unwrap_or_default(),
        dispatch,
    })
}

/// `SpecializationConstants: [{ConstantID, Type, Value}]`.
fn spec_constants(r: &Reader, node: &Node) -> Option<Vec<SpecConstant>> {
    let all = r.each(node, "a list of specialization constants", |n| {
        let mut m = r.map(n, "a specialization constant")?;
        let id = m.req("ConstantID", |r, n| r.int::<u32>(n));
        let format = m.req("Type", |r, n| r.word(n, &DataFormat::WORDS));
        let value = m.req("Value", |r, n| r.text(n));
        m.finish()?;
        let (format, value) = (format?.value, value?);
        Some(At::new(n.at, SpecConstant { id: id?, bits: spec_bits(r, format, &value)? }))
    })?;
    for (i, constant) in all.iter().enumerate() {
        if all[..i].iter().any(|other| other.value.id == constant.value.id) {
            let message = format!(
                "Test configuration contains multiple entries for specialization constant ID {}.",
                constant.value.id
            );
            r.note(Problem::at(constant.at, message));
            return None;
        }
    }
    Some(all.into_iter().map(|c| c.value).collect())
}

fn spec_bits(r: &Reader, format: DataFormat, value: &At<String>) -> Option<u64> {
    let name = match format {
        DataFormat::Float32 => "float".to_string(),
        DataFormat::Float64 => "double".to_string(),
        other => other.name().to_ascii_lowercase(),
    };
    let mut bytes = Vec::new();
    if format.encode(&value.value, &mut bytes).is_err() {
        let message = format!("Invalid {name} value for specialization constant '{}'", value.value);
        r.note(Problem::at(value.at, message));
        return None;
    }
    let mut word = [0; 8];
    word[..bytes.len()].copy_from_slice(&bytes);
    Some(u64::from_le_bytes(word))
}

/// `Defines: {NAME: value}`.
fn defines(r: &Reader, node: &Node) -> Option<Vec<(String, String)>> {
    let Value::Map(entries) = &node.value else {
        r.note(Problem::at(node.at, "Defines is a mapping of names to values"));
        return None;
    };
    entries
        .iter()
        .map(|(key, value)| match &value.value {
            Value::Null => Some((key.name.clone(), String::new())),
            Value::Scalar(text) => Some((key.name.clone(), text.clone())),
            Value::List(_) | Value::Map(_) => {
                r.note(Problem::at(value.at, "a definition is one word"));
                None
            }
        })
        .collect()
}
