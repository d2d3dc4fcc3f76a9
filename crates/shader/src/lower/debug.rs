//! Source lines, breakpoints and printed lines.

use super::words::Ins;
use super::{Lower, R};
use crate::ir::{Inst, Loc, PrintFormat, SourceLoc, Ty};
use crate::prelude::DEBUG_BREAK;
use crate::{ShaderError, ShaderErrorKind};
use std::collections::HashMap;

/// Lines and files met so far.
pub(super) struct Lines {
    pub locs: Vec<SourceLoc>,
    pub files: Vec<String>,
    by_place: HashMap<(u32, u32, u32), Loc>,
    by_file: HashMap<u32, u32>,
}

impl Default for Lines {
    fn default() -> Self {
        Self {
            locs: vec![SourceLoc { file: 0, line: 0, column: 0 }],
            files: Vec::new(),
            by_place: HashMap::new(),
            by_file: HashMap::new(),
        }
    }
}

impl Lower<'_, '_> {
    /// `OpLine`.
    pub fn line(&mut self, ins: &Ins<'_>) -> R<()> {
        self.place(ins.arg(0)?, ins.arg(1)?, ins.arg(2)?);
        Ok(())
    }

    /// An instruction of `NonSemantic.Shader.DebugInfo.100` in a function. Only
    /// lines concern us.
    pub fn debug_info(&mut self, ins: &Ins<'_>) -> R<()> {
        match ins.arg(1)? {
            // DebugLine: source, first and last line, first and last column.
            103 => {
                let file = self.m.debug_sources.get(&ins.arg(2)?).copied().unwrap_or(0);
                let line = self.m.constant_u32(ins.arg(3)?)?;
                let column = self.m.constant_u32(ins.arg(5)?)?;
                self.place(file, line, column);
            }
            // DebugNoLine.
            104 => self.b.loc = Loc::NONE,
            _ => {}
        }
        Ok(())
    }

    /// `DebugPrintf`: a format and its values.
    pub fn debug_print(&mut self, ins: &Ins<'_>) -> R<()> {
        let number = ins.arg(1)?;
        if number != 1 {
            return Err(ShaderError::unsupported(format!("DebugPrintf instruction {number}")));
        }
        let text = self.m.strings.get(&ins.arg(2)?);
        let text = text.ok_or_else(|| ShaderError::invalid("a format that is no string"))?;
        if text == DEBUG_BREAK {
            self.b.inst(Inst::DebugBreak);
            return Ok(());
        }
        let bad = |what: String| ShaderError::new(ShaderErrorKind::Source, what);
        let format = PrintFormat::parse(text).map_err(|e| bad(e.to_string()))?;
        let mut args = Vec::new();
        for &id in ins.rest(3) {
            for &reg in self.regs(id)?.iter() {
                let truth = self.b.pool.ty(reg) == Ty::Bool;
                let words = (self.b.word(1), self.b.word(0));
                args.push(if truth { self.b.select(reg, words.0, words.1) } else { reg });
            }
        }
        if format.args() != args.len() {
            let (takes, given) = (format.args(), args.len());
            return Err(bad(format!("the format {text:?} takes {takes} values, not {given}")));
        }
        let known = self.formats.iter().position(|f| *f == format);
        let index = known.unwrap_or(self.formats.len());
        if known.is_none() {
            self.formats.push(format);
        }
        self.b.inst(Inst::DebugPrint { format: index as u32, args });
        Ok(())
    }

    /// `DebugBreak`.
    pub fn debug_break(&mut self, ins: &Ins<'_>) -> R<()> {
        let number = ins.arg(1)?;
        if number != 1 {
            return Err(ShaderError::unsupported(format!("DebugBreak instruction {number}")));
        }
        self.b.inst(Inst::DebugBreak);
        Ok(())
    }

    fn place(&mut self, file: u32, line: u32, column: u32) {
        let lines = &mut self.lines;
        let index = *lines.by_file.entry(file).or_insert_with(|| {
            let name = self.m.strings.get(&file).cloned();
            lines.files.push(name.unwrap_or_else(|| "<source>".to_owned()));
            lines.files.len() as u32 - 1
        });
        self.b.loc = *lines.by_place.entry((index, line, column)).or_insert_with(|| {
            lines.locs.push(SourceLoc { file: index, line, column });
            Loc(lines.locs.len() as u32 - 1)
        });
    }

    /// `file:line` of where we are.
    pub fn here(&self) -> Option<String> {
        let at = self.lines.locs.get(self.b.loc.0 as usize)?;
        if at.line == 0 {
            return None;
        }
        Some(format!("{}:{}", self.lines.files.get(at.file as usize)?, at.line))
    }
}
