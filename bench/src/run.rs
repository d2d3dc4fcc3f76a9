//! Builds a device, runs a case, judges it, and times dispatches.

use crate::Case;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;
use wavefence_base::{Profile, ProfileName, Topology, Verdict, WaveSize};
use wavefence_check::Checker;
use wavefence_d3d::enums::D3D12XBOX_DISPATCH_FLAGS;
use wavefence_d3d::{CommandList, Device, ListKind, Queue, RunMode};
use wavefence_shader::lower::LowerOptions;
use wavefence_shader::source::{CompileOptions, Language, Source, compile, load_kernel};

/// Which run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// The model run, nobody listening.
    Model,
    /// The model run with every hazard rule.
    Checked,
    /// The fast run on that many host threads.
    Fast(usize),
}

/// What is measured.
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    /// Which run.
    pub engine: Engine,
    /// Wave size.
    pub wave: WaveSize,
    /// Timed dispatches after one that is checked and one that is not.
    pub repeats: usize,
}

/// How long dispatches took, in milliseconds, from submit to idle.
#[derive(Clone, Debug, Default)]
pub struct Measured {
    /// One per repeat.
    pub ms: Vec<f64>,
}

impl Measured {
    /// The median; 0 if nothing was timed.
    pub fn median(&self) -> f64 {
        let mut sorted = self.ms.clone();
        sorted.sort_by(f64::total_cmp);
        sorted.get(sorted.len() / 2).copied().unwrap_or(0.0)
    }
}

/// The program that serves as DXC's child process: this benchmark's binary.
pub fn helper_path() -> Option<PathBuf> {
    std::env::current_exe().ok()
}

fn options(case: &Case, wave: WaveSize, helper: &Path) -> (Source, CompileOptions) {
    let source = Source::text(Language::Hlsl, format!("{}.hlsl", case.name), case.source);
    let mut options =
        CompileOptions { helper: Some(helper.to_owned()), ..CompileOptions::default() };
    options.entry = Some("main".to_owned());
    if wave == WaveSize::W32 {
        options.defines.push(("__XBOX_ENABLE_WAVE32".to_owned(), Some("1".to_owned())));
    }
    (source, options)
}

/// The SPIR-V that the front end makes of a case.
///
/// # Errors
/// What the compiler said.
pub fn spirv(case: &Case, helper: &Path) -> Result<Vec<u32>, String> {
    let (source, options) = options(case, WaveSize::W64, helper);
    compile(&source, &options).map(|c| c.words).map_err(|e| e.to_string())
}

/// Milliseconds from submit to idle.
fn dispatch(device: &mut Device, queue: &Queue, list: &CommandList) -> Result<f64, String> {
    let start = Instant::now();
    device.execute_command_lists(queue, &[list]).map_err(|e| e.to_string())?;
    let report = device.run();
    let ms = start.elapsed().as_secs_f64() * 1e3;
    if report.is_clean() { Ok(ms) } else { Err(format!("{:?} {:?}", report.ending, report.faults)) }
}

/// Runs `case`, checks its first result, then times `repeats` more dispatches.
///
/// # Errors
/// Anything that went wrong, a wrong result included.
pub fn measure(case: &Case, setup: Setup, helper: &Path) -> Result<Measured, String> {
    let text = |e: &dyn std::fmt::Display| format!("{}: {e}", case.name);
    let (source, options) = options(case, setup.wave, helper);
    let kernel = load_kernel(&source, &options, &LowerOptions::default()).map_err(|e| text(&e))?;
    let mode = match setup.engine {
        Engine::Model | Engine::Checked => RunMode::Model,
        Engine::Fast(threads) => RunMode::Fast { threads },
    };
    let mut builder = Device::builder().profile(ProfileName::SeriesX).mode(mode);
    let checker = Checker::new(Topology::of(&Profile::get(ProfileName::SeriesX)));
    if setup.engine == Engine::Checked {
        builder = builder.observer(Box::new(checker.clone()));
    }
    let mut device = builder.build().map_err(|e| text(&e))?;
    let queue = device.compute_queue(0, 0).map_err(|e| text(&e))?;
    let pipeline = device.create_pipeline(case.name, Arc::new(kernel)).map_err(|e| text(&e))?;
    let mut list = device.create_command_list(case.name, ListKind::Compute);
    list.set_pipeline_state(&pipeline);
    let mut result = None;
    for (register, (stride, data)) in case.buffers.iter().enumerate() {
        let name = format!("u{register}");
        let buffer = device.create_buffer_with(&name, data).map_err(|e| text(&e))?;
        list.set_uav(register as u32, 0, buffer.structured_view(*stride));
        if register == case.result {
            result = Some((buffer.address(), data.len() as u64));
        }
    }
    let flags = match setup.wave {
        WaveSize::W32 => D3D12XBOX_DISPATCH_FLAGS::W32,
        WaveSize::W64 => D3D12XBOX_DISPATCH_FLAGS::NONE,
    };
    let [x, y, z] = case.grid;
    list.dispatch_x(x, y, z, flags);
    list.close().map_err(|e| text(&e))?;
    let mut once = || dispatch(&mut device, &queue, &list).map_err(|e| text(&e));
    once()?;
    let (address, bytes) = result.ok_or_else(|| text(&"no result buffer"))?;
    let got = device.read(address, bytes).map_err(|e| text(&e))?;
    (case.check)(&got).map_err(|e| text(&e))?;
    // The kernels are right: whatever is found is a false finding.
    if let Some(hazard) = checker.hazards().iter().find(|h| h.verdict != Verdict::Advice) {
        return Err(text(&format!(
            "{}: {}",
            hazard.rule.name,
            hazard.message(checker.generation())
        )));
    }
    let mut once = || dispatch(&mut device, &queue, &list).map_err(|e| text(&e));
    if setup.repeats > 0 {
        once()?;
    }
    let ms = (0..setup.repeats).map(|_| once()).collect::<Result<_, _>>()?;
    Ok(Measured { ms })
}
