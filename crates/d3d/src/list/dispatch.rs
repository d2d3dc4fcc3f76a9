//! Dispatches.

use super::{Checks, CommandList, ListKind};
use crate::encode::DispatchArgs;
use crate::enums::D3D12XBOX_DISPATCH_FLAGS;
use crate::face::Face;
use crate::resource::Buffer;
use crate::rules;
use wavefence_base::WaveSize;
use wavefence_pm4::initiator;
use wavefence_shader::ir::{Kernel, WaveRule};

/// Most groups in each dimension.
const MAX_GROUPS: [u32; 3] = [65_535; 3];
/// What the hardware takes: 32-bit counters in X (`hardware/caches.md` section 4).
const MAX_GROUPS_X: [u32; 3] = [u32::MAX, 65_535, 65_535];
/// Most threads of a group.
const MAX_GROUP_THREADS: u32 = 1024;
/// Bytes of one record of dispatch arguments: X, Y, Z.
const ARGUMENT_BYTES: u64 = 12;

/// What `ExecuteIndirect` reads: records of dispatch arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommandSignature {
    /// Bytes from record to record; at least 12.
    pub byte_stride: u32,
}

impl Default for CommandSignature {
    /// Records of three dwords, one after the other.
    fn default() -> Self {
        Self { byte_stride: ARGUMENT_BYTES as u32 }
    }
}

/// Where `ExecuteIndirect` finds the number of commands.
#[derive(Clone, Copy, Debug)]
pub struct CountBuffer<'a> {
    /// The buffer.
    pub buffer: &'a Buffer,
    /// Byte offset of the count in it.
    pub offset: u64,
}

impl CommandList {
    /// Launches a grid of thread groups. COMPUTE_START_X/Y/Z are not honoured, as
    /// plain Direct3D knows none; a shader with `[WaveSize(32)]` runs so.
    pub fn dispatch(&mut self, x: u32, y: u32, z: u32) -> &mut Self {
        let Some(mut c) = self.begin("Dispatch") else { return self };
        let forced = D3D12XBOX_DISPATCH_FLAGS::FORCE_START_AT_000;
        let mut flags = self.state.flags.unwrap_or(forced);
        let fixed32 = |k: &Kernel| k.wave == WaveRule::Fixed(WaveSize::W32);
        if self.profile.has_wave32()
            && self.state.pipeline.as_ref().is_some_and(|p| fixed32(&p.kernel))
        {
            flags |= D3D12XBOX_DISPATCH_FLAGS::W32;
        }
        self.judge_counts(&mut c, [x, y, z], MAX_GROUPS, flags);
        self.launch(c, [x, y, z], flags)
    }

    /// Launches a grid with hardware flags (seed 003). With a start set and
    /// FORCE_START_AT_000 clear, the counts are end coordinates.
    pub fn dispatch_x(
        &mut self,
        x: u32,
        y: u32,
        z: u32,
        flags: D3D12XBOX_DISPATCH_FLAGS,
    ) -> &mut Self {
        let Some(mut c) = self.begin("DispatchX") else { return self };
        self.judge_flags(&mut c, flags);
        self.judge_counts(&mut c, [x, y, z], MAX_GROUPS_X, flags);
        self.launch(c, [x, y, z], flags)
    }

    /// Sets COMPUTE_START_X/Y/Z for later `DispatchX` calls. **An extension of this
    /// project**: the registers exist, but no public call sets them.
    pub fn set_compute_start_x(&mut self, start: [u32; 3]) -> &mut Self {
        let Some(mut c) = self.begin("SetComputeStartX") else { return self };
        self.not_on_dma(&mut c);
        if self.finish(c, String::new) {
            self.state.start_dirty |= self.state.start != start;
            self.state.start = start;
        }
        self
    }

    /// Runs up to `max_command_count` dispatches whose counts lie in `arguments`.
    /// The first engine of the queue reads them: the PFP on graphics.
    pub fn execute_indirect(
        &mut self,
        signature: CommandSignature,
        max_command_count: u32,
        arguments: &Buffer,
        argument_offset: u64,
        count: Option<CountBuffer<'_>>,
    ) -> &mut Self {
        let Some(c) = self.begin("ExecuteIndirect") else { return self };
        self.indirect(c, signature, max_command_count, arguments, argument_offset, count)
    }

    fn indirect(
        &mut self,
        mut c: Checks,
        signature: CommandSignature,
        max_command_count: u32,
        arguments: &Buffer,
        argument_offset: u64,
        count: Option<CountBuffer<'_>>,
    ) -> &mut Self {
        let stride = u64::from(signature.byte_stride);
        self.judge_indirect(&mut c, stride, max_command_count, arguments, argument_offset, count);
        let forced = D3D12XBOX_DISPATCH_FLAGS::FORCE_START_AT_000;
        let flags = self.state.flags.unwrap_or(forced);
        self.judge_state(&mut c, flags, false);
        let first = arguments.address().offset(argument_offset);
        if !self.finish(c, String::new) {
            return self;
        }
        self.emit_state();
        self.emit_threads(None);
        let initiator = initiator_bits(flags, false);
        match count {
            Some(CountBuffer { buffer, offset }) => {
                let count = buffer.address().offset(offset);
                self.encoder.counted_dispatches(first, stride, max_command_count, count, initiator);
            }
            None => {
                for i in 0..u64::from(max_command_count) {
                    let args = DispatchArgs::Indirect(first.offset(i * stride));
                    self.encoder.dispatch(args, initiator);
                }
            }
        }
        self
    }

    /// One dispatch whose counts lie at byte `offset` of `arguments`. (D3D12.X has
    /// it as `ExecuteIndirect` with one command.)
    pub fn dispatch_indirect(&mut self, arguments: &Buffer, offset: u64) -> &mut Self {
        let Some(c) = self.begin("DispatchIndirect") else { return self };
        self.indirect(c, CommandSignature::default(), 1, arguments, offset, None)
    }

    fn launch(
        &mut self,
        mut c: Checks,
        counts: [u32; 3],
        flags: D3D12XBOX_DISPATCH_FLAGS,
    ) -> &mut Self {
        self.judge_state(&mut c, flags, true);
        if !self.finish(c, String::new) {
            return self;
        }
        self.emit_state();
        let threads = flags.contains(D3D12XBOX_DISPATCH_FLAGS::USE_THREAD_DIMENSIONS);
        let partial = self.emit_threads(threads.then_some(counts));
        self.encoder.dispatch(DispatchArgs::Direct(counts), initiator_bits(flags, partial));
        self
    }

    /// What depends on the pipeline and its bindings.
    fn judge_state(&mut self, c: &mut Checks, flags: D3D12XBOX_DISPATCH_FLAGS, direct: bool) {
        use D3D12XBOX_DISPATCH_FLAGS as F;
        if self.kind == ListKind::Dma {
            return self.not_on_dma(c);
        }
        let Some(pipeline) = &self.state.pipeline else {
            let message = match self.face {
                Face::D3D12X => "no pipeline is set; call SetPipelineState first",
                Face::D3D11X => "no shader is set; call CSSetShader first",
            };
            return c.error(&rules::DISPATCH_PIPELINE, "", "", message);
        };
        let kernel = pipeline.kernel.clone();
        let name = pipeline.name.clone();
        if kernel.uses.ordered_append && !flags.contains(F::ENABLE_ORDERED_APPEND) {
            let message = format!(
                "shader \"{name}\" has ordered operations; set ENABLE_ORDERED_APPEND in {}",
                match self.face {
                    Face::D3D12X => "DispatchX",
                    Face::D3D11X => "SetDispatchFlags",
                }
            );
            c.error(&rules::DISPATCH_ORDERED_FLAG, "Flags", flags, message);
        }
        self.judge_wave_size(c, &kernel, &name, flags, direct);
        let lds = self.profile.lds_bytes.value;
        if kernel.threads() > MAX_GROUP_THREADS || kernel.lds_bytes > lds {
            let message = format!(
                "shader \"{name}\" has {} threads and {} bytes of group-shared memory; at most \
                 {MAX_GROUP_THREADS} and {lds} are possible",
                kernel.threads(),
                kernel.lds_bytes
            );
            c.error(&rules::DISPATCH_THREADS, "", "", message);
        }
        if self.state.bindings_dirty {
            self.judge_bindings(c, &kernel, &name);
        } else if self.state.binding_errors {
            let message = format!("the bindings of shader \"{name}\" are still wrong, as above");
            c.error(&rules::BINDING_MISSING, "", "", message);
        }
    }

    fn judge_bindings(&mut self, c: &mut Checks, kernel: &Kernel, name: &str) {
        let resolved = self.state.bindings.resolve(kernel);
        self.state.binding_errors = resolved.is_err();
        match resolved {
            Ok(slots) => {
                let table = if slots.is_empty() {
                    None
                } else {
                    let bytes: Vec<u8> = slots.iter().flat_map(|s| s.to_bytes()).collect();
                    let encoder = &mut self.encoder;
                    let tables = &mut self.state.tables;
                    let own = match tables.get(&bytes) {
                        Some(&own) => own,
                        None => {
                            let own = encoder.table(&bytes);
                            tables.insert(bytes, own);
                            own
                        }
                    };
                    Some(own)
                };
                self.state.table = table;
            }
            Err(problems) => {
                self.state.bindings_dirty = false;
                for p in problems {
                    let message = format!("{} (shader \"{name}\")", p.message);
                    c.error(p.rule, &p.register, p.value, message);
                }
            }
        }
    }

    fn judge_wave_size(
        &self,
        c: &mut Checks,
        kernel: &Kernel,
        name: &str,
        flags: D3D12XBOX_DISPATCH_FLAGS,
        direct: bool,
    ) {
        use D3D12XBOX_DISPATCH_FLAGS as F;
        let w32 = flags.contains(F::W32);
        let shown = flags & F::W32;
        if w32 && !self.profile.has_wave32() {
            let message = format!("does not exist on {}; leave it out", self.profile.name);
            return c.error(&rules::DISPATCH_W32_PROFILE, "Flags", shown, message);
        }
        match (kernel.wave, w32) {
            (WaveRule::Wave64, false) | (WaveRule::Wave32, true) => {}
            (WaveRule::Wave64, true) => {
                let message = format!(
                    "shader \"{name}\" was not compiled for wave32; compile it with \
                     -D__XBOX_ENABLE_WAVE32=1 or leave W32 out"
                );
                c.error(&rules::DISPATCH_W32_SHADER, "Flags", shown, message);
            }
            (WaveRule::Wave32, false) => {
                let message = format!(
                    "shader \"{name}\" was compiled for wave32 but runs as wave64; set W32 in \
                     DispatchX"
                );
                if self.profile.has_wave32() {
                    c.advise(&rules::DISPATCH_WAVE32_UNUSED, "Flags", flags, message);
                }
            }
            (WaveRule::Fixed(size), w32) => {
                let fits = w32 == (size == WaveSize::W32);
                if !fits {
                    let way = match (size, direct) {
                        (WaveSize::W32, true) => "set W32 in DispatchX, on a Series profile",
                        (WaveSize::W32, false) => "an indirect dispatch runs wave64; use DispatchX",
                        (WaveSize::W64, _) => "leave W32 out",
                    };
                    let message =
                        format!("shader \"{name}\" has [WaveSize({})]; {way}", size.lanes());
                    c.error(&rules::DISPATCH_WAVE_SIZE, "Flags", flags, message);
                }
            }
        }
    }

    pub(super) fn judge_flags(&self, c: &mut Checks, flags: D3D12XBOX_DISPATCH_FLAGS) {
        use D3D12XBOX_DISPATCH_FLAGS as F;
        if flags.unknown() != 0 {
            let message = "has bits that no flag names; leave them out";
            c.error(&rules::UNKNOWN_FLAGS, "Flags", flags, message);
        }
        let ordered = flags.contains(F::ENABLE_ORDERED_APPEND);
        let out_of_order = flags.contains(F::ENABLE_OUT_OF_ORDER);
        if out_of_order && self.kind == ListKind::Graphics {
            let message = "is for asynchronous queues only; record it in a compute list";
            c.error(&rules::DISPATCH_OUT_OF_ORDER, "Flags", F::ENABLE_OUT_OF_ORDER, message);
        }
        if ordered && out_of_order {
            let message = "exclude each other: ids are handed out in launch order; drop one";
            c.error(&rules::DISPATCH_ORDERED_OUT_OF_ORDER, "Flags", flags, message);
        }
        if flags.contains(F::ORDERED_APPEND_WAVEID_PER_THREADGROUP) && !ordered {
            let message = "does nothing without ENABLE_ORDERED_APPEND; set both or none";
            let shown = F::ORDERED_APPEND_WAVEID_PER_THREADGROUP;
            c.advise(&rules::DISPATCH_WAVEID_ALONE, "Flags", shown, message);
        }
        let volatile = flags
            & (F::DISABLE_VOLATILE_VECTOR_L1
                | F::DISABLE_VOLATILE_SCALAR_L1
                | F::INVALIDATE_VOLATILE_SCALAR_L1
                | F::INVALIDATE_VOLATILE_VECTOR_L1);
        if self.xbox_one() && !volatile.is_empty() {
            let message = "does nothing here: nothing is ever marked volatile; leave it out";
            c.advise(&rules::DISPATCH_VOLATILE, "Flags", volatile, message);
        }
    }

    fn judge_counts(
        &self,
        c: &mut Checks,
        counts: [u32; 3],
        most: [u32; 3],
        flags: D3D12XBOX_DISPATCH_FLAGS,
    ) {
        use D3D12XBOX_DISPATCH_FLAGS as F;
        let names = ["ThreadGroupCountX", "ThreadGroupCountY", "ThreadGroupCountZ"];
        let threads = flags.contains(F::USE_THREAD_DIMENSIONS);
        let started = !flags.contains(F::FORCE_START_AT_000) && self.state.start != [0; 3];
        if threads && started {
            let message = "with a start set is undefined; set FORCE_START_AT_000 or count groups";
            c.error(&rules::DISPATCH_START_THREADS, "Flags", F::USE_THREAD_DIMENSIONS, message);
        }
        let size = self.state.pipeline.as_ref().map_or([1; 3], |p| p.kernel.group_size);
        for i in 0..3 {
            let groups = if threads { counts[i].div_ceil(size[i].max(1)) } else { counts[i] };
            if groups > most[i] {
                let message = format!("makes {groups} groups; at most {} are possible", most[i]);
                c.error(&rules::DISPATCH_LIMIT, names[i], counts[i], message);
            } else if started && counts[i] <= self.state.start[i] {
                let start = self.state.start[i];
                let message = format!(
                    "is an end coordinate and not above the start {start}: \
                                       nothing runs; add the start to the count"
                );
                c.advise(&rules::DISPATCH_START_EMPTY, names[i], counts[i], message);
            } else if counts[i] == 0 {
                c.advise(&rules::DISPATCH_EMPTY, names[i], 0, "runs nothing; leave the call out");
            }
        }
    }

    fn judge_indirect(
        &self,
        c: &mut Checks,
        stride: u64,
        max: u32,
        arguments: &Buffer,
        offset: u64,
        count: Option<CountBuffer<'_>>,
    ) {
        self.same_device(c, "pArgumentBuffer", arguments.name(), arguments.device);
        if !arguments.address().offset(offset).is_aligned(4) {
            let message = "makes an address that is not 4-byte aligned; arguments are dwords";
            c.error(&rules::INDIRECT_ALIGNMENT, "ArgumentBufferOffset", offset, message);
        }
        if stride < ARGUMENT_BYTES || !stride.is_multiple_of(4) {
            let message = "must be a multiple of 4 and at least 12: three dwords a record";
            c.error(&rules::INDIRECT_ALIGNMENT, "ByteStride", stride, message);
        }
        let needed = match u64::from(max) {
            0 => 0,
            n => (n - 1) * stride + ARGUMENT_BYTES,
        };
        if offset.checked_add(needed).is_none_or(|end| end > arguments.bytes()) {
            let message = format!(
                "records of {stride} bytes do not fit in \"{}\", which has {} bytes",
                arguments.name(),
                arguments.bytes()
            );
            c.error(&rules::COPY_RANGE, "MaxCommandCount", max, message);
        }
        let Some(count) = count else { return };
        self.same_device(c, "pCountBuffer", count.buffer.name(), count.buffer.device);
        let aligned = count.buffer.address().offset(count.offset).is_aligned(4);
        if !aligned || count.offset.checked_add(4).is_none_or(|end| end > count.buffer.bytes()) {
            let message = "must name an aligned dword of the count buffer";
            c.error(&rules::INDIRECT_ALIGNMENT, "CountBufferOffset", count.offset, message);
        }
    }

    /// Writes the registers that changed.
    fn emit_state(&mut self) {
        let Some(pipeline) = self.state.pipeline.clone() else { return };
        if self.state.program_dirty {
            self.encoder.program(pipeline.code);
            self.state.program_dirty = false;
        }
        if self.state.start_dirty {
            self.encoder.start(self.state.start);
            self.state.start_dirty = false;
        }
        if self.state.bindings_dirty {
            self.encoder.descriptor_table(self.state.table);
            let words = self.state.bindings.constant_words();
            self.encoder.root_constants(&words);
            self.state.bindings_dirty = false;
        }
    }

    /// The group size, and for thread counts the size of the last group; true if
    /// that is partial.
    fn emit_threads(&mut self, threads: Option<[u32; 3]>) -> bool {
        let Some(pipeline) = &self.state.pipeline else { return false };
        let full = pipeline.kernel.group_size;
        let last: [u32; 3] = match threads {
            None => full,
            Some(counts) => std::array::from_fn(|i| match counts[i] % full[i].max(1) {
                0 => full[i],
                rest => rest,
            }),
        };
        if self.state.threads != Some((full, last)) {
            self.encoder.threads(full, last);
            self.state.threads = Some((full, last));
        }
        last != full
    }
}

/// The initiator: the API's flags are its bits.
fn initiator_bits(flags: D3D12XBOX_DISPATCH_FLAGS, partial: bool) -> u32 {
    let partial = if partial { initiator::PARTIAL_TG_EN } else { 0 };
    initiator::COMPUTE_SHADER_EN | partial | flags.bits()
}
