//! One instruction of a module, over its words.

use super::R;
use crate::{ShaderError, ShaderErrorKind};
use rspirv::grammar::{INSTRUCTION_TABLE, OperandKind, OperandQuantifier};
use spirv::Op;
use std::collections::HashMap;
use std::sync::OnceLock;

/// What the grammar says of an opcode.
#[derive(Clone, Copy)]
struct Shape {
    op: Op,
    has_type: bool,
    has_id: bool,
    /// Words that must follow, each operand taken at its shortest.
    least: usize,
}

fn shapes() -> &'static HashMap<u32, Shape> {
    static SHAPES: OnceLock<HashMap<u32, Shape>> = OnceLock::new();
    SHAPES.get_or_init(|| {
        INSTRUCTION_TABLE
            .iter()
            .map(|inst| {
                let has = |kind| inst.operands.iter().any(|o| o.kind == kind);
                let one = |q: OperandQuantifier| q == OperandQuantifier::One;
                let shape = Shape {
                    op: inst.opcode,
                    has_type: has(OperandKind::IdResultType),
                    has_id: has(OperandKind::IdResult),
                    least: inst.operands.iter().filter(|o| one(o.quantifier)).count(),
                };
                (inst.opcode as u32, shape)
            })
            .collect()
    })
}

/// An instruction.
#[derive(Clone, Copy)]
pub(super) struct Ins<'w> {
    /// The opcode.
    pub op: Op,
    /// Offset of its first word in the module.
    pub at: usize,
    /// Result type id, 0 if it has none.
    pub ty: u32,
    /// Result id, 0 if it has none.
    pub id: u32,
    /// The words after type and result.
    pub args: &'w [u32],
}

impl<'w> Ins<'w> {
    /// `OpName` as the specification spells it.
    pub fn name(&self) -> String {
        format!("Op{:?}", self.op)
    }

    /// Operand word `i`.
    pub fn arg(&self, i: usize) -> R<u32> {
        let missing = || ShaderError::invalid("an operand is missing");
        self.args.get(i).copied().ok_or_else(missing)
    }

    /// The operand words from `i` on (none if there are fewer).
    pub fn rest(&self, i: usize) -> &'w [u32] {
        self.args.get(i..).unwrap_or(&[])
    }

    /// A literal string from word `i` on, and the number of words it takes.
    pub fn string(&self, i: usize) -> R<(String, usize)> {
        let mut bytes = Vec::new();
        for (n, word) in self.rest(i).iter().enumerate() {
            for byte in word.to_le_bytes() {
                if byte == 0 {
                    return Ok((String::from_utf8_lossy(&bytes).into_owned(), n + 1));
                }
                bytes.push(byte);
            }
        }
        Err(ShaderError::invalid("a literal string has no end"))
    }

    /// Puts this instruction's place into an error that has none.
    pub fn place(&self, e: ShaderError) -> ShaderError {
        e.at(&self.name(), self.at)
    }
}

/// The largest id bound the SPIR-V specification asks for.
const MAX_BOUND: u32 = 4_194_304;

/// Splits a module into instructions.
pub(super) fn split(words: &[u32]) -> R<Vec<Ins<'_>>> {
    let Some((header, _)) = words.split_first_chunk::<5>() else {
        let n = words.len();
        return Err(ShaderError::invalid(format!("{n} words are no module: a header has 5")));
    };
    if header[0] == spirv::MAGIC_NUMBER.swap_bytes() {
        return Err(ShaderError::invalid("the module is in the other byte order"));
    }
    if header[0] != spirv::MAGIC_NUMBER {
        return Err(ShaderError::invalid(format!("{:#010x} is no SPIR-V magic number", header[0])));
    }
    let bound = header[3];
    if bound > MAX_BOUND {
        return Err(ShaderError::limit(format!("id bound {bound} is above {MAX_BOUND}")));
    }
    let mut all = Vec::new();
    let mut at = 5;
    while at < words.len() {
        let ins = one(words, at, bound)?;
        at += (words[at] >> 16) as usize;
        all.push(ins);
    }
    Ok(all)
}

fn one(words: &[u32], at: usize, bound: u32) -> R<Ins<'_>> {
    let bad = |what: String| {
        let mut e = ShaderError::new(ShaderErrorKind::Invalid, what);
        e.word = Some(at);
        e
    };
    let (count, code) = ((words[at] >> 16) as usize, words[at] & 0xFFFF);
    let shape = shapes().get(&code).ok_or_else(|| bad(format!("unknown opcode {code}")))?;
    if count == 0 {
        return Err(bad("an instruction of 0 words".to_owned()));
    }
    let body = words
        .get(at + 1..at + count)
        .ok_or_else(|| bad(format!("Op{:?} runs past the end of the module", shape.op)))?;
    let head = usize::from(shape.has_type) + usize::from(shape.has_id);
    if body.len() < shape.least.max(head) {
        return Err(bad(format!("Op{:?} has too few operands", shape.op)));
    }
    let ty = if shape.has_type { body[0] } else { 0 };
    let id = if shape.has_id { body[head - 1] } else { 0 };
    for (has, value) in [(shape.has_type, ty), (shape.has_id, id)] {
        if has && (value == 0 || value >= bound) {
            return Err(bad(format!("id {value} of Op{:?} is outside the bound", shape.op)));
        }
    }
    Ok(Ins { op: shape.op, at, ty, id, args: &body[head..] })
}
