//! Source lines.

use super::words::Ins;
use super::{Lower, R};
use crate::ir::{Loc, SourceLoc};
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
