//! `wavefence bench`: what the model does, measured as a title would measure it.

use crate::args::{Bench, BenchArgs};
use crate::failure::Failure;
use crate::ui;
use std::fmt::Write;
use wavefence_base::{Confidence, GroupLaunch, Limit, Profile, ProfileName};
use wavefence_d3d::enums::*;
use wavefence_d3d::{Buffer, Device, ListKind, Pipeline};
use wavefence_shader::{CompileOptions, Language, Source};

/// Runs a benchmark.
pub fn run(args: &BenchArgs) -> Result<u8, Failure> {
    let profiles = match args.profile {
        Some(name) => vec![name],
        None => ProfileName::ALL.to_vec(),
    };
    match args.bench {
        Bench::LaunchRate => launch_rate(&profiles)?,
    }
    Ok(0)
}

/// One case: how a dispatch launches its waves.
#[derive(Clone, Copy, Debug)]
struct Case {
    wave: u32,
    waves_per_group: u32,
    out_of_order: bool,
    dimensions: usize,
}

impl Case {
    /// Those of a profile.
    fn all(profile: &Profile) -> Vec<Self> {
        let sizes: &[u32] = if profile.has_wave32() { &[32, 64] } else { &[64] };
        let mut all = Vec::new();
        for &wave in sizes {
            for waves_per_group in [1, 2, 4] {
                for out_of_order in [true, false] {
                    for dimensions in [1, 2, 3] {
                        all.push(Self { wave, waves_per_group, out_of_order, dimensions });
                    }
                }
            }
        }
        all
    }

    /// Threads of a group in each dimension.
    fn size(&self) -> [u32; 3] {
        let threads = self.wave * self.waves_per_group;
        match self.dimensions {
            1 => [threads, 1, 1],
            2 => [threads / 4, 4, 1],
            _ => [threads / 8, 4, 2],
        }
    }

    /// How sure the table is of this rate: a named source states the full one.
    fn confidence(&self, profile: &Profile) -> Confidence {
        profile.timing.launch.confidence(&GroupLaunch {
            out_of_order: self.out_of_order,
            small_waves: self.wave == 32 || !profile.has_wave32(),
            waves: self.waves_per_group,
            size: self.size(),
        })
    }
}

/// Prints waves per clock, case by case.
fn launch_rate(profiles: &[ProfileName]) -> Result<(), Failure> {
    let mut text = String::from(
        "Waves launched per clock on a compute queue, by GPU timestamps at the bottom of the \
         pipe\naround dispatches.\n\n",
    );
    let _ = writeln!(
        text,
        "{:<12} {:<7} {:<6} {:<13} {:<9} {:<5} waves/clock",
        "profile", "lanes", "waves", "order", "threads", "most"
    );
    for &name in profiles {
        let profile = Profile::get(name);
        for case in Case::all(&profile) {
            let hundredths = measure(&profile, &case)?;
            let [x, y, z] = case.size();
            let _ = writeln!(
                text,
                "{:<12} wave{:<3} {:<6} {:<13} {:<9} {:<5} {}.{:02} {}",
                name.as_str(),
                case.wave,
                case.waves_per_group,
                if case.out_of_order { "out-of-order" } else { "in-order" },
                format!("{x}x{y}x{z}"),
                profile.timing.launch.launchers.value,
                hundredths / 100,
                hundredths % 100,
                case.confidence(&profile)
            );
        }
    }
    text.push_str(
        "\nlanes: of a wave. waves: in a group. threads: of a group, in each dimension. most: \
         what all\nlaunchers of the profile reach together. The last word says how sure the \
         model's rate is.\n",
    );
    ui::out(&text);
    Ok(())
}

/// Where what a case writes lies: 64 bytes each, as lists of every kind may ask for 32.
struct Slots(Buffer);

impl Slots {
    fn at(&self, slot: u64) -> wavefence_base::GpuAddress {
        self.0.address().offset(slot * 64)
    }
}

/// The compute list may begin.
const GO: u64 = 0;
/// It is done.
const DONE: u64 = 1;
/// The first timestamp.
const STAMPS: u64 = 2;

/// Waves of the short dispatches.
const SHORT: u64 = 1024;

/// One group of so many counts itself. Divides the groups of every dispatch.
const COUNTED: u64 = 64;

/// Waves of the long dispatch beyond those of the short: so many that what a counter
/// leaves out, less than a tick at either end of an interval, is less than half of a
/// hundredth of a wave per clock.
fn more_waves(profile: &Profile) -> u64 {
    let most = u64::from(profile.timing.launch.launchers.value);
    let clock = u64::from(profile.clock_mhz.value) * 1_000_000;
    let per_tick = clock.div_ceil(profile.timestamp_hz.value);
    // Two ticks at `most` waves per clock, times 200, and half as much to spare.
    (most * most * 2 * per_tick * 300).next_multiple_of(SHORT)
}

/// Runs one case on a device of its own; gives hundredths of a wave per clock.
///
/// A graphics queue lets the compute queue begin and waits for it, both by values of
/// 64 bits. The compute list launches a short grid to warm the caches up, a short one
/// and a long one, each with a timestamp behind it: what the two that are measured do
/// not have in common are waves.
fn measure(profile: &Profile, case: &Case) -> Result<u64, Failure> {
    let broken = |what: String| Failure::Limit(Limit::unsupported(what));
    let bad = |e: &dyn std::fmt::Display| broken(format!("the benchmark cannot be built: {e}"));
    let mut device =
        Device::builder().profile(profile.name).check(false).build().map_err(Failure::Limit)?;
    let pipeline = pipeline(&mut device, case).map_err(|e| bad(&e))?;
    let slots = Slots(device.create_buffer("values", 64 * 8).map_err(|e| bad(&e))?);
    let count = device.create_buffer("count", 64).map_err(|e| bad(&e))?;
    let long = SHORT + more_waves(profile);

    let mut graphics = device.create_command_list("LetGo", ListKind::Graphics);
    write(&mut graphics, slots.at(GO), false);
    wait(&mut graphics, slots.at(DONE));
    graphics.close().map_err(|e| bad(&e))?;
    let mut compute = device.create_command_list("Launch", ListKind::Compute);
    wait(&mut compute, slots.at(GO));
    compute.set_pipeline_state(&pipeline).set_uav(0, 0, count.structured_view(4));
    for (stamp, waves) in (STAMPS..).zip([SHORT, SHORT, long]) {
        let groups = waves / u64::from(case.waves_per_group);
        compute.dispatch_x(groups as u32, 1, 1, flags(case));
        compute.flush_pipeline_x(
            D3D12XBOX_FLUSH_BOP_CS_PARTIAL,
            wavefence_base::GpuAddress(0),
            D3D12XBOX_FLUSH_RANGE_ALL,
        );
        write(&mut compute, slots.at(stamp), true);
    }
    write(&mut compute, slots.at(DONE), false);
    compute.close().map_err(|e| bad(&e))?;

    let queues = (device.compute_queue(0, 0), device.graphics_queue());
    let (compute_queue, graphics_queue) =
        (queues.0.map_err(|e| bad(&e))?, queues.1.map_err(|e| bad(&e))?);
    device.execute_command_lists(&compute_queue, &[&compute]).map_err(|e| bad(&e))?;
    device.execute_command_lists(&graphics_queue, &[&graphics]).map_err(|e| bad(&e))?;
    let report = device.run();
    if !report.is_clean() {
        return Err(broken(format!("the benchmark did not run to its end: {report:?}")));
    }
    let read = |slot| device.read_u64(slots.at(slot)).map_err(|e| bad(&e));
    let groups = (2 * SHORT + long) / u64::from(case.waves_per_group) / COUNTED;
    let counted = device.read_u32s(count.address(), 1).map_err(|e| bad(&e))?;
    if counted.first().map(|&n| u64::from(n)) != Some(groups) {
        return Err(broken(format!("{counted:?} of {groups} thread groups were counted")));
    }
    let stamps = [read(STAMPS)?, read(STAMPS + 1)?, read(STAMPS + 2)?];
    let (short, long) = (stamps[1] - stamps[0], stamps[2] - stamps[1]);
    let clock = u128::from(profile.clock_mhz.value) * 1_000_000;
    let cycles_by_hz = u128::from(long.saturating_sub(short).max(1)) * clock;
    let waves_by_hz =
        u128::from(more_waves(profile)) * 100 * u128::from(profile.timestamp_hz.value);
    Ok(((waves_by_hz + cycles_by_hz / 2) / cycles_by_hz) as u64)
}

/// A kernel of which one group in [`COUNTED`] counts itself. Its waves must be short and
/// of few instructions, or units and SIMDs are full before the launchers are at their
/// best.
fn pipeline(device: &mut Device, case: &Case) -> Result<Pipeline, wavefence_d3d::PipelineError> {
    let ([x, y, z], mask) = (case.size(), COUNTED - 1);
    let text = format!(
        "@group(0) @binding(0) var<storage, read_write> count: atomic<u32>;
         @compute @workgroup_size({x}, {y}, {z})
         fn main(
             @builtin(workgroup_id) group: vec3<u32>,
             @builtin(local_invocation_index) i: u32,
         ) {{
             if ((group.x & {mask}u) == 0u) {{ if (i == 0u) {{ atomicAdd(&count, 1u); }} }}
         }}"
    );
    let source = Source::text(Language::Wgsl, "launch-rate.wgsl", text);
    let options = CompileOptions { wave32: case.wave == 32, ..CompileOptions::default() };
    device.create_pipeline_from_source("LaunchRate", &source, &options)
}

fn flags(case: &Case) -> D3D12XBOX_DISPATCH_FLAGS {
    let mut flags = D3D12XBOX_DISPATCH_FLAGS::FORCE_START_AT_000;
    if case.out_of_order {
        flags |= D3D12XBOX_DISPATCH_FLAGS::ENABLE_OUT_OF_ORDER;
    }
    if case.wave == 32 {
        flags |= D3D12XBOX_DISPATCH_FLAGS::W32;
    }
    flags
}

/// 1, or the GPU's time, at the bottom of the pipe.
fn write(list: &mut wavefence_d3d::CommandList, at: wavefence_base::GpuAddress, timestamp: bool) {
    let (value, flags) = match timestamp {
        true => (0, D3D12XBOX_WRITE_VALUE_BOP_FLAG_GPU_TIMESTAMP),
        false => (1, D3D12XBOX_WRITE_VALUE_BOP_FLAG_NONE),
    };
    list.write_64_bit_value_bottom_of_pipe_x(at, value, D3D12XBOX_FLUSH_NONE, flags);
}

fn wait(list: &mut wavefence_d3d::CommandList, at: wavefence_base::GpuAddress) {
    let equal = D3D12_COMPARISON_FUNC_EQUAL;
    list.wait_64_bit_value_x(at, equal, 1, D3D12XBOX_WAIT_FLAG_NONE);
}
