//! Pipelines straight from shader sources.

use crate::device::Device;
use crate::error::Error;
use crate::pipeline::Pipeline;
use std::sync::Arc;
use wavefence_shader::ShaderError;
use wavefence_shader::lower::LowerOptions;
use wavefence_shader::source::{self, CompileOptions, Loaded, Source};

/// Why a pipeline could not be made from a source.
#[derive(Debug, thiserror::Error)]
pub enum PipelineError {
    /// The source was refused.
    #[error(transparent)]
    Shader(#[from] ShaderError),
    /// The device refused.
    #[error(transparent)]
    Device(#[from] Error),
}

impl Device {
    /// Compiles a source in any language that `wavefence_shader` reads, and loads it.
    /// DXC is looked for where the device's builder was told to, unless `options`
    /// say otherwise.
    ///
    /// # Errors
    /// What is wrong with the source, or a limit.
    pub fn create_pipeline_from_source(
        &mut self,
        name: &str,
        source: &Source,
        options: &CompileOptions,
    ) -> Result<Pipeline, PipelineError> {
        self.create_pipeline_with(name, source, options, &LowerOptions::default())
    }

    /// As [`create_pipeline_from_source`](Self::create_pipeline_from_source), with
    /// what a source leaves open, such as values of specialization constants.
    ///
    /// # Errors
    /// What is wrong with the source, or a limit.
    pub fn create_pipeline_with(
        &mut self,
        name: &str,
        source: &Source,
        options: &CompileOptions,
        lower: &LowerOptions,
    ) -> Result<Pipeline, PipelineError> {
        let mut options = options.clone();
        if options.dxc.is_none() {
            options.dxc = self.dxc_path().map(Into::into);
        }
        let loaded = source::load(source, &options, lower)?;
        Ok(self.create_pipeline_from_loaded(name, loaded)?)
    }

    /// Loads a kernel made by [`wavefence_shader::load`]; the pipeline keeps what
    /// its compiler warned of.
    ///
    /// # Errors
    /// A limit.
    pub fn create_pipeline_from_loaded(
        &mut self,
        name: &str,
        loaded: Loaded,
    ) -> Result<Pipeline, Error> {
        let mut pipeline = self.create_pipeline(name, Arc::new(loaded.kernel))?;
        pipeline.warnings = loaded.warnings.into();
        Ok(pipeline)
    }
}
