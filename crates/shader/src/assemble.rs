//! SPIR-V text to words: the syntax of `spirv-as`.
//!
//! `%name = OpFoo operands` with literals, enumerants, masks `A|B`, strings and
//! `;` comments; an instruction may run over several lines. Operands follow the
//! grammar tables of rspirv. Numeric ids keep their numbers, named ones get the
//! numbers after the largest. The version is 1.6, or what a `; Version: 1.3`
//! comment says, as disassemblers write it. `!` followed by an integer puts that
//! word in and the rest of the instruction goes by its looks, not by grammar.
//!
//! More than `spirv-as` asks: every id that is used must be defined.

mod enums;
mod instruction;
mod lex;
mod number;

use crate::ShaderError;
use crate::source::{Diagnostic, Position, SourceFile};
use instruction::Assembler;

/// Something wrong at a token: message, line, column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    what: String,
    line: u32,
    column: u32,
}

impl Problem {
    fn at(token: &lex::Token<'_>, what: impl Into<String>) -> Self {
        Self { what: what.into(), line: token.line, column: token.column }
    }
}

/// Assembles SPIR-V `text`; messages call it `name`.
///
/// # Errors
/// [`crate::ShaderErrorKind::Source`] with line and column of the first thing
/// that is wrong.
pub fn assemble(name: &str, text: &str) -> Result<Vec<u32>, ShaderError> {
    let words = lex::tokens(text)
        .and_then(|tokens| Assembler::new(&tokens, lex::version(text)).and_then(Assembler::run));
    words.map_err(|problem| {
        let at = Position { file: name.into(), line: problem.line, column: problem.column };
        let file = SourceFile { name: name.into(), debug_name: None, text: text.into() };
        let all = vec![Diagnostic::error(Some(at), problem.what)];
        ShaderError::from_diagnostics(name, all).with_files(vec![file])
    })
}

#[cfg(test)]
#[path = "assemble/tests.rs"]
mod tests;
