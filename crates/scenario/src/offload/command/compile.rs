//! `%dxc_target`: DXC, as the suite calls it.

use super::{Done, File, Machine};
use crate::offload::{Failed, Skipped, Verdict};
use std::sync::Arc;
use std::time::Duration;
use wavefence_shader::lower::LowerOptions;
use wavefence_shader::source::{self, CompileOptions, Language, Source};
use wavefence_shader::{ShaderError, ShaderErrorKind};

/// Time kept for telling that DXC took too long.
const RESERVE: Duration = Duration::from_millis(500);

impl Machine<'_> {
    pub(super) fn dxc(&mut self, args: &[String]) -> Result<Done, String> {
        let (mut output, mut rest, mut input) = (None, Vec::new(), None);
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            if arg == "-Fo" {
                output = args.next().cloned();
            } else if let Some(joined) = arg.strip_prefix("-Fo") {
                output = Some(joined.to_owned());
            } else if self.files.contains_key(arg) {
                if input.replace(arg.clone()).is_some() {
                    return Err(format!("a second input for DXC: {arg}"));
                }
            } else {
                rest.push(arg.clone());
            }
        }
        let input = input.ok_or("DXC has no input file")?;
        let output = output.ok_or("DXC has no output file")?;
        let part = input.strip_prefix("/t/").unwrap_or(&input);
        let name = format!("{}:{part}", self.name);
        let source = Source::text(Language::Hlsl, name, self.text_of(&input)?);
        let mut options = CompileOptions {
            args: rest,
            dxc: self.options.dxc.clone(),
            helper: self.options.helper.clone(),
            wave32: self.options.wave32,
            ..CompileOptions::default()
        };
        if let Some(left) = self.time_left() {
            options.time_limit = left.saturating_sub(RESERVE).max(RESERVE);
        }
        let compiled = match source::compile(&source, &options) {
            Ok(compiled) => compiled,
            Err(error) => return Ok(self.refused(&error)),
        };
        // Lowered once here, so that what DXC got wrong is told apart from what this
        // version cannot do; that is told when it runs.
        let lower = LowerOptions::default();
        if let Err(error) = source::lower_compiled(&compiled, Language::Hlsl, &lower)
            && error.kind == ShaderErrorKind::Tool
        {
            self.because(Verdict::Skipped(Skipped::InvalidSpirv), one_line(&error));
            return Ok(Done::failed(error.to_string()));
        }
        self.files.insert(output, File::Object(Arc::new(compiled)));
        Ok(Done::default())
    }

    /// DXC did not compile it.
    fn refused(&mut self, error: &ShaderError) -> Done {
        let verdict = match error.kind {
            ShaderErrorKind::Source => Verdict::Skipped(Skipped::CompilerRefuses),
            ShaderErrorKind::Tool => Verdict::Skipped(Skipped::CompilerCrashes),
            ShaderErrorKind::MissingTool | ShaderErrorKind::Limit => Verdict::Failed(Failed::Limit),
            ShaderErrorKind::Unsupported | ShaderErrorKind::Options => {
                Verdict::Failed(Failed::Unsupported)
            }
            ShaderErrorKind::Invalid => Verdict::Skipped(Skipped::InvalidSpirv),
            // Our own rules broken, and kinds that are not there yet.
            _ => Verdict::Failed(Failed::Bug),
        };
        self.because(verdict, one_line(error));
        Done::failed(error.to_string())
    }
}

/// The first sentence, without the folder of its file.
fn one_line(error: &ShaderError) -> String {
    let first = error.what.lines().next().unwrap_or_default();
    match error.line.as_deref().and_then(|l| l.rsplit_once('/')) {
        Some((_, place)) => format!("{place}: {first}"),
        None => first.to_owned(),
    }
}
