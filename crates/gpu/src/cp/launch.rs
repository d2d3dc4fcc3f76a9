//! DISPATCH packets: from registers and initiator bits to a dispatch.

use super::{Exec, Flow, Trouble, access, field, sync};
use crate::code::{BadCode, LINE};
use crate::core::Core;
use crate::dispatch::{Dispatch, Grid, LaunchOrder, Ordered};
use crate::fetch::Located;
use crate::flush::Actions;
use crate::queue::Queue;
use std::sync::Arc;
use wavefence_base::access::{Agent, Engine};
use wavefence_base::topology::Client;
use wavefence_base::{Event, FaultKind, Generation, GpuAddress, KernelId, Limit, WaveSize};
use wavefence_memory::hierarchy::Requester;
use wavefence_pm4::{Field, Ring, initiator as bits, reg};
use wavefence_shader::ir::{Kernel, WaveRule};
use wavefence_wave::descriptor::{DESCRIPTOR_BYTES, Descriptor};
use wavefence_wave::exec;

/// A dispatch whose arguments are known.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Launch {
    /// The packet.
    pub(crate) packet: GpuAddress,
    /// Its initiator.
    pub(crate) initiator: u32,
    /// Its DIM words.
    pub(crate) dims: [u32; 3],
    /// Where those lie, if they were read from memory.
    pub(crate) arguments: Option<GpuAddress>,
}

/// Threads a group may have (`hardware/caches.md` 4).
const MAX_GROUP_THREADS: u32 = 1024;

/// Alignment of indirect arguments that the MEC of GFX7 asks for
/// (`hardware/pm4.md` 1.4).
const GFX7_ARGUMENT_ALIGNMENT: u64 = 32;

/// DISPATCH_DIRECT.
pub(super) fn direct(core: &mut Core, queue: &mut Queue, p: &Located) -> Exec {
    let get = |f| field(&p.packet, f) as u32;
    let dims = [get(Field::DimX), get(Field::DimY), get(Field::DimZ)];
    let initiator = get(Field::Initiator);
    launch(core, queue, &Launch { packet: p.at, initiator, dims, arguments: None })?;
    Ok(Flow::Done)
}

/// DISPATCH_INDIRECT of a compute queue: the address is in the packet.
pub(super) fn indirect(core: &mut Core, queue: &mut Queue, p: &Located, engine: Engine) -> Exec {
    let at = GpuAddress(field(&p.packet, Field::Addr));
    if core.generation == Generation::Gfx7 && !at.is_aligned(GFX7_ARGUMENT_ALIGNMENT) {
        return Err(Trouble::command(format!(
            "arguments at {at}: a compute queue of gfx7 needs them aligned to \
             {GFX7_ARGUMENT_ALIGNMENT} bytes; nothing was launched"
        )));
    }
    let access = access(queue, p, engine, Client::IndirectArguments);
    let dims = std::array::from_fn(|i| core.read(&access, at.offset(i as u64 * 4), 4) as u32);
    let initiator = field(&p.packet, Field::Initiator) as u32;
    launch(core, queue, &Launch { packet: p.at, initiator, dims, arguments: Some(at) })?;
    Ok(Flow::Done)
}

/// Starts a dispatch.
pub(crate) fn launch(core: &mut Core, queue: &mut Queue, l: &Launch) -> Result<(), Trouble> {
    let on = |bit| l.initiator & bit != 0;
    if !on(bits::COMPUTE_SHADER_EN) {
        return Err(Trouble::command("COMPUTE_SHADER_EN is clear: nothing was launched"));
    }
    if on(bits::RESTORE) {
        return Err(Trouble::Limit(Limit::unsupported(format!(
            "dispatch at {} on {}: RESTORE is not supported in this version",
            l.packet, queue.id
        ))));
    }
    let grid = Grid::new(
        l.initiator,
        l.dims,
        queue.regs.triple(reg::COMPUTE_START_X),
        queue.regs.triple(reg::COMPUTE_NUM_THREAD_X),
    )
    .map_err(Trouble::command)?;
    let id = identify(core, queue)?;
    let kernel = core.kernels.entry(id).kernel.clone();
    let size = if on(bits::CS_W32_EN) { WaveSize::W32 } else { WaveSize::W64 };
    check(core, &kernel, &grid, size, on(bits::ORDERED_APPEND_ENBL))?;
    let total = grid.total();
    if total == 0 {
        return Ok(());
    }
    let program = core.kernels.program(id, size).map_err(Trouble::Limit)?;
    check_descriptors(core, queue, l.packet, &kernel);
    let mut actions = Actions::default();
    actions.dispatch(on(bits::SCALAR_L1_INV_VOL), on(bits::VECTOR_L1_INV_VOL));
    sync::act(core, queue.id, l.packet, &actions.over(None), sync::How::default());
    // The graphics pipe ignores ORDER_MODE (`hardware/pm4.md` 3).
    let shuffled = core.model && on(bits::ORDER_MODE) && queue.ring == Ring::Compute;
    let order =
        if shuffled { LaunchOrder::permuted(total, core.seed) } else { LaunchOrder::InOrder };
    let ordered = on(bits::ORDERED_APPEND_ENBL).then(|| {
        let operations = core.kernels.entry(id).ordered_operations;
        Arc::new(Ordered::new(on(bits::ORDERED_APPEND_MODE), operations))
    });
    let dispatch = Dispatch {
        id: core.new_dispatch(queue.id),
        queue: queue.id,
        seq: queue.shaders.start(),
        packet: l.packet,
        kernel: id,
        program,
        exec: exec::Dispatch {
            groups: grid.end(),
            table: queue.regs.table(),
            user_data: queue.regs.root_constants(),
        },
        total,
        order,
        ordered,
        initiator: l.initiator,
        code: queue.regs.program(),
        out_of_order: shuffled,
        small_waves: size == WaveSize::W32 || !core.profile.has_wave32(),
        wgp_mode: core.profile.order.wgp_mode.value,
        arguments: l.arguments,
        grid,
    };
    core.emit(|| Event::DispatchBegin {
        dispatch: dispatch.id,
        queue: dispatch.queue,
        packet: dispatch.packet,
        kernel: id,
        start: dispatch.grid.start,
        groups: dispatch.grid.count,
        wave_size: size,
        initiator: l.initiator,
    });
    core.started.push(Arc::new(dispatch));
    Ok(())
}

/// Which kernel the bytes at the program address are, for a wave on unit 0. Is no
/// access: each group of compute units fetches for itself ([`fetch_code`]).
fn identify(core: &mut Core, queue: &Queue) -> Result<KernelId, Trouble> {
    let at = queue.regs.program();
    let bus = &mut core.bus;
    let result = core.kernels.identify(|first, count| {
        let at = at.offset(u64::from(first) * LINE as u64);
        bus.peek_words(Client::Instruction, at, u64::from(count) * (LINE as u64 / 4))
    });
    result.map_err(|bad| bad_code(at, bad))
}

fn bad_code(at: GpuAddress, bad: BadCode) -> Trouble {
    let detail = match bad {
        BadCode::NoKernel => {
            format!("the bytes at program address {at} are no kernel; nothing was launched")
        }
        BadCode::Torn { line } => format!(
            "the code at program address {at} is torn: line {line} (64 bytes each) is not \
             of the same kernel as line 0; nothing was launched"
        ),
    };
    Trouble::Fault(FaultKind::BadCode, detail)
}

/// The dispatch as its groups on a compute unit run it: with the kernel whose code
/// they fetch through their instruction cache, which need not be the one that
/// others fetch.
pub(crate) fn fetch_code(
    core: &mut Core,
    dispatch: &Arc<Dispatch>,
    unit: u32,
) -> Result<Arc<Dispatch>, Trouble> {
    let d = dispatch;
    let agent = Agent::Launch { queue: d.queue, dispatch: d.id, unit };
    let who = Requester { agent, client: Client::Instruction, unit };
    let bus = &mut core.bus;
    let result = core.kernels.identify(|first, count| {
        let mut bytes = vec![0; count as usize * LINE];
        let at = d.code.offset(u64::from(first) * LINE as u64);
        // What is not there any more reads as zeros, and is no kernel.
        let _ = bus.read_at_unit(who, at, &mut bytes);
        bytes.chunks_exact(4).map(|c| u32::from_le_bytes([c[0], c[1], c[2], c[3]])).collect()
    });
    let id = result.map_err(|bad| bad_code(d.code, bad))?;
    if id == d.kernel {
        return Ok(dispatch.clone());
    }
    let size = d.wave_size();
    let kernel = core.kernels.entry(id).kernel.clone();
    check(core, &kernel, &d.grid, size, d.ordered.is_some())?;
    let program = core.kernels.program(id, size).map_err(Trouble::Limit)?;
    Ok(Arc::new(Dispatch { kernel: id, program, ..Dispatch::clone(d) }))
}

/// Descriptors that are none are taken as null by waves; that is told here, once
/// per dispatch packet. A table that is not there is told by the waves that read
/// it.
fn check_descriptors(core: &mut Core, queue: &Queue, packet: GpuAddress, kernel: &Kernel) {
    let table = queue.regs.table();
    let mut slot = 0;
    for resource in &kernel.resources {
        for index in 0..resource.count {
            let at = table.offset(slot * DESCRIPTOR_BYTES);
            slot += 1;
            let mut bytes = [0; DESCRIPTOR_BYTES as usize];
            if core.bus.peek(Client::ShaderScalar, at, &mut bytes).is_err() {
                return;
            }
            let Err(bad) = Descriptor::from_bytes(&bytes) else { continue };
            let element = if resource.count > 1 { format!("[{index}]") } else { String::new() };
            let detail = format!(
                "`{}{element}` of `{}` ({}{}, space{}): the descriptor at {at} is none: {bad}; \
                 reads give 0 and writes are dropped",
                resource.name,
                kernel.entry,
                resource.class.letter(),
                resource.register,
                resource.space
            );
            core.packet_fault(FaultKind::Unbound, queue.id, packet, detail);
        }
    }
}

/// What the kernel, the registers and the hardware must agree on.
fn check(
    core: &Core,
    kernel: &Kernel,
    grid: &Grid,
    size: WaveSize,
    ordered: bool,
) -> Result<(), Trouble> {
    let name = &kernel.entry;
    if grid.size != kernel.group_size {
        return Err(Trouble::command(format!(
            "COMPUTE_NUM_THREAD says groups of {:?}, `{name}` was compiled for {:?}",
            grid.size, kernel.group_size
        )));
    }
    let threads = kernel.threads();
    if threads > MAX_GROUP_THREADS {
        return Err(Trouble::command(format!(
            "`{name}` has {threads} threads in a group; {MAX_GROUP_THREADS} fit"
        )));
    }
    let most = core.profile.lds_bytes.value;
    if kernel.lds_bytes > most {
        return Err(Trouble::command(format!(
            "`{name}` needs {} bytes of group-shared memory; a group has {most}",
            kernel.lds_bytes
        )));
    }
    if let WaveRule::Fixed(fixed) = kernel.wave
        && fixed != size
    {
        return Err(Trouble::command(format!(
            "`{name}` runs with {} lanes only, the dispatch asks for {}",
            fixed.lanes(),
            size.lanes()
        )));
    }
    if kernel.uses.ordered_append && !ordered {
        return Err(Trouble::command(format!(
            "`{name}` appends in order, but ORDERED_APPEND_ENBL is clear: no wave has an id"
        )));
    }
    Ok(())
}
