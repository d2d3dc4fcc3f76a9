//! Values written, and waits for them.

use super::{Checks, CommandList, ListKind};
use crate::encode::{Caches, Stamp, WaitArgs};
use crate::enums::{
    D3D12_COMPARISON_FUNC, D3D12XBOX_FLUSH, D3D12XBOX_WAIT_FLAGS, D3D12XBOX_WRITE_VALUE_BOP_FLAGS,
};
use crate::rules;
use wavefence_base::{Generation, GpuAddress};

impl CommandList {
    /// Writes 32 bits once all earlier shaders and render back ends of the queue
    /// are done and the flushes asked for have run, but possibly before memory
    /// writes of earlier draws and dispatches have landed (seed 002).
    pub fn write_32_bit_value_bottom_of_pipe_x(
        &mut self,
        destination: GpuAddress,
        value: u32,
        flush: D3D12XBOX_FLUSH,
        flags: D3D12XBOX_WRITE_VALUE_BOP_FLAGS,
    ) -> &mut Self {
        let Some(mut c) = self.begin("Write32BitValueBottomOfPipeX") else { return self };
        let alignment = Some((4, &rules::WRITE32_ALIGNMENT));
        self.address(&mut c, "Destination", destination, 4, alignment);
        self.check_write_flush(&mut c, flush);
        if flags != D3D12XBOX_WRITE_VALUE_BOP_FLAGS::NONE {
            c.error(
                &rules::WRITE32_FLAGS,
                "Flags",
                flags,
                "must be NONE; a timestamp has 64 bits: use Write64BitValueBottomOfPipeX",
            );
        }
        if self.finish(c, || format!("{destination}, {value}, {flush}")) {
            let caches = bottom_caches(flush);
            // An L2 action means to order memory, so the value waits for it.
            let confirm = caches.l2 || caches.l2_writeback || caches.l2_volatile;
            self.encoder.bottom_write(destination, Stamp::Value32(value), caches, confirm);
        }
        self
    }

    /// Writes 64 bits, or a timestamp, at the bottom of the pipe; as a rule before
    /// memory writes of earlier draws and dispatches have landed (seed 004).
    pub fn write_64_bit_value_bottom_of_pipe_x(
        &mut self,
        destination: GpuAddress,
        value: u64,
        flush: D3D12XBOX_FLUSH,
        flags: D3D12XBOX_WRITE_VALUE_BOP_FLAGS,
    ) -> &mut Self {
        let Some(mut c) = self.begin("Write64BitValueBottomOfPipeX") else { return self };
        let alignment = Some((self.write64_alignment(), &rules::WRITE64_ALIGNMENT));
        self.address(&mut c, "Destination", destination, 8, alignment);
        if flush != D3D12XBOX_FLUSH::NONE {
            c.error(
                &rules::WRITE64_FLUSH,
                "Flush",
                flush,
                "must be NONE; flush by FlushPipelineX before the write, or write 32 bits",
            );
        }
        let stamp = self.check_stamp(&mut c, value, flags);
        if self.finish(c, || format!("{destination}, {value}, {flags}")) {
            self.encoder.bottom_write(destination, stamp, Caches::default(), false);
        }
        self
    }

    /// Writes 32 bits as soon as the first engine of the queue meets the call.
    pub fn write_32_bit_value_top_of_pipe_x(
        &mut self,
        destination: GpuAddress,
        value: u32,
    ) -> &mut Self {
        let Some(mut c) = self.begin("Write32BitValueTopOfPipeX") else { return self };
        let alignment = Some((4, &rules::WRITE32_ALIGNMENT));
        self.address(&mut c, "Destination", destination, 4, alignment);
        if self.finish(c, || format!("{destination}, {value}")) {
            self.encoder.top_write(destination, &[value]);
        }
        self
    }

    /// Writes 64 bits as soon as the first engine of the queue meets the call.
    pub fn write_64_bit_value_top_of_pipe_x(
        &mut self,
        destination: GpuAddress,
        value: u64,
    ) -> &mut Self {
        let Some(mut c) = self.begin("Write64BitValueTopOfPipeX") else { return self };
        let alignment = Some((self.write64_alignment(), &rules::WRITE64_ALIGNMENT));
        self.address(&mut c, "Destination", destination, 8, alignment);
        if self.finish(c, || format!("{destination}, {value}")) {
            self.encoder.top_write(destination, &[value as u32, (value >> 32) as u32]);
        }
        self
    }

    /// Writes 32 bits when the compute shaders before it have ended. On a DMA list:
    /// when the engine's earlier commands are done.
    pub fn write_32_bit_value_bottom_of_shader_x(
        &mut self,
        destination: GpuAddress,
        value: u32,
    ) -> &mut Self {
        let Some(mut c) = self.begin("Write32BitValueBottomOfShaderX") else { return self };
        let alignment = Some((4, &rules::WRITE32_ALIGNMENT));
        self.address(&mut c, "Destination", destination, 4, alignment);
        self.check_eos(&mut c);
        if self.finish(c, || format!("{destination}, {value}")) {
            self.encoder.shader_write(destination, value);
        }
        self
    }

    /// Holds the queue until the dword at `address` compares true with `reference`,
    /// unsigned. The prefetch parser runs on.
    pub fn wait_32_bit_value_x(
        &mut self,
        address: GpuAddress,
        func: D3D12_COMPARISON_FUNC,
        reference: u32,
        flags: D3D12XBOX_WAIT_FLAGS,
    ) -> &mut Self {
        self.wait("Wait32BitValueX", address, func, u64::from(reference), flags, false)
    }

    /// As [`CommandList::wait_32_bit_value_x`], 64 bits.
    pub fn wait_64_bit_value_x(
        &mut self,
        address: GpuAddress,
        func: D3D12_COMPARISON_FUNC,
        reference: u64,
        flags: D3D12XBOX_WAIT_FLAGS,
    ) -> &mut Self {
        self.wait("Wait64BitValueX", address, func, reference, flags, true)
    }

    fn wait(
        &mut self,
        call: &'static str,
        address: GpuAddress,
        func: D3D12_COMPARISON_FUNC,
        reference: u64,
        flags: D3D12XBOX_WAIT_FLAGS,
        wide: bool,
    ) -> &mut Self {
        let Some(mut c) = self.begin(call) else { return self };
        let bytes = if wide { 8 } else { 4 };
        let alignment = Some((bytes, &rules::WAIT_ALIGNMENT));
        self.address(&mut c, "Address", address, bytes, alignment);
        if flags != D3D12XBOX_WAIT_FLAGS::NONE {
            c.error(&rules::UNKNOWN_FLAGS, "Flags", flags, "no wait flag is known; pass NONE");
        }
        let function = func.packet_code();
        if function.is_none() {
            c.error(
                &rules::WAIT_NEVER,
                "ComparisonFunc",
                func,
                "would hold the queue for ever; choose another comparison",
            );
        }
        if self.finish(c, || format!("{address}, {func}, {reference}"))
            && let Some(function) = function
        {
            let mask = u64::MAX;
            self.encoder.wait(&WaitArgs { address, function, reference, mask, wide });
        }
        self
    }

    /// The alignment of 64-bit writes in this list.
    pub(super) fn write64_alignment(&self) -> u64 {
        match self.kind {
            ListKind::Dma => 32,
            ListKind::Graphics | ListKind::Compute => {
                u64::from(self.profile.write64_alignment.value).max(8)
            }
        }
    }

    fn check_write_flush(&self, c: &mut Checks, flush: D3D12XBOX_FLUSH) {
        let other = flush - D3D12XBOX_FLUSH::WRITE32;
        if !other.is_empty() {
            c.error(
                &rules::WRITE32_FLUSH,
                "Flush",
                other,
                "is not among the five flags allowed; use FlushPipelineX before the write",
            );
        } else if self.kind == ListKind::Dma && !flush.is_empty() {
            c.error(
                &rules::DMA_FLUSH,
                "Flush",
                flush,
                "must be NONE on a DMA list; flush on the queue whose caches hold the data",
            );
        }
        self.volatile_advice(c, "Flush", flush);
    }

    fn check_stamp(
        &self,
        c: &mut Checks,
        value: u64,
        flags: D3D12XBOX_WRITE_VALUE_BOP_FLAGS,
    ) -> Stamp {
        use D3D12XBOX_WRITE_VALUE_BOP_FLAGS as F;
        if flags.unknown() != 0 {
            let message = "has bits that no flag names; pass NONE or one timestamp flag";
            c.error(&rules::UNKNOWN_FLAGS, "Flags", flags, message);
        }
        let both = F::GPU_TIMESTAMP | F::SYSTEM_TIMESTAMP;
        if flags.contains(both) {
            let message = "selects two values to write; write them by two calls";
            c.error(&rules::WRITE64_TIMESTAMPS, "Flags", flags, message);
        }
        if flags.intersects(both) && value != 0 {
            let message = "must be 0 with a timestamp flag: the counter is written instead";
            c.error(&rules::WRITE64_VALUE, "Value", value, message);
        }
        let system = flags.contains(F::SYSTEM_TIMESTAMP);
        if system && self.kind == ListKind::Dma {
            let message = "is not there on a DMA engine; use GPU_TIMESTAMP, or another queue";
            c.error(&rules::DMA_SYSTEM_CLOCK, "Flags", flags, message);
        }
        match (flags.contains(F::GPU_TIMESTAMP), system) {
            (true, _) => Stamp::GpuClock,
            (false, true) => Stamp::SystemClock,
            (false, false) => Stamp::Value64(value),
        }
    }

    /// On GFX7 end-of-shader events and CP DMA into L2 do not go together.
    pub(super) fn check_eos(&self, c: &mut Checks) {
        let gfx7 = match self.profile.generation.value {
            Generation::Gfx7 => true,
            Generation::Gfx8 | Generation::Gfx10_3 => false,
        };
        if gfx7 && self.kind == ListKind::Graphics && self.copied {
            c.advise(
                &rules::EOS_AFTER_COPY,
                "",
                "",
                "the list also copies by CP DMA into L2, which this console's end-of-shader \
                 events do not go with; write at the bottom of the pipe instead",
            );
        }
    }

    /// Says so where a flag acts on volatile lines and there are none.
    pub(super) fn volatile_advice(
        &self,
        c: &mut Checks,
        argument: &'static str,
        flush: D3D12XBOX_FLUSH,
    ) {
        let volatile = flush & D3D12XBOX_FLUSH::VOLATILE;
        if self.xbox_one() && !volatile.is_empty() {
            let message = "does nothing here: no line is ever marked volatile; leave it out";
            c.advise(&rules::VOLATILE_NOTHING, argument, volatile, message);
        }
    }
}

/// The end-of-pipe cache actions of a flush.
pub(super) fn bottom_caches(flush: D3D12XBOX_FLUSH) -> Caches {
    use D3D12XBOX_FLUSH as F;
    Caches {
        l1: flush.contains(F::BOP_TEXTURE_L1_INVALIDATE),
        l1_volatile: flush.contains(F::BOP_TEXTURE_L1_VOLATILE),
        l2: flush.contains(F::BOP_TEXTURE_L2_INVALIDATE),
        l2_volatile: flush.contains(F::BOP_TEXTURE_L2_VOLATILE),
        l2_writeback: flush.contains(F::BOP_TEXTURE_L2_WRITEBACK),
        k: false,
        k_volatile: false,
        i: false,
    }
}
