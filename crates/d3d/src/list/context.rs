//! The calls of the D3D11.X face that D3D12.X has not.

use super::{Checks, CommandList, ListKind};
use crate::encode::{Caches, Stamp, Sync, WaitArgs};
use crate::enums::{
    D3D11_COMPARISON_FUNC, D3D11_FLUSH, D3D11_FLUSH_GPU_CACHE_RANGE_ALL,
    D3D11X_GPU_PIPELINED_EVENT, D3D12XBOX_DISPATCH_FLAGS,
};
use crate::face::{Face, Undrawn};
use crate::queue::Fence;
use crate::resource::Resource;
use crate::rules;
use wavefence_base::{GpuAddress, GpuRange};

/// Which contexts have a call.
#[derive(Clone, Copy)]
enum Contexts {
    Graphics,
    Compute,
    Both,
}

impl CommandList {
    /// Starts a call that only D3D11.X has.
    fn begin_context(&mut self, call: &'static str, contexts: Contexts) -> Option<Checks> {
        let mut c = self.begin_as(call)?;
        match self.face {
            Face::D3D11X => {}
            Face::D3D12X => {
                let message = "is a call of the D3D11.X face; this is a D3D12.X list";
                c.error(&rules::FACE_CALL, "", "", message);
                return Some(c);
            }
        }
        let wanted = match (contexts, self.kind) {
            (Contexts::Graphics, ListKind::Compute) => "graphics",
            (Contexts::Compute, ListKind::Graphics) => "compute",
            (Contexts::Both, _)
            | (Contexts::Graphics, ListKind::Graphics | ListKind::Dma)
            | (Contexts::Compute, ListKind::Compute | ListKind::Dma) => return Some(c),
        };
        let message = format!("exists on a {wanted} context only; this is a {} one", self.kind);
        c.error(&rules::LIST_KIND, "", "", message);
        Some(c)
    }

    /// Flushes caches at the top of the pipe, once rendering that overlaps the
    /// range and that the ENSURE flags name has finished. It waits for nothing
    /// else. The range is rounded out to 256 bytes and matters for those waits
    /// alone; everything is base 0 with [`D3D11_FLUSH_GPU_CACHE_RANGE_ALL`].
    /// Graphics context (seed 000).
    pub fn flush_gpu_cache_range(
        &mut self,
        flags: D3D11_FLUSH,
        base: GpuAddress,
        size: u64,
    ) -> &mut Self {
        let Some(mut c) = self.begin_context("FlushGpuCacheRange", Contexts::Graphics) else {
            return self;
        };
        self.check_flush11(&mut c, flags);
        self.check_range11(&mut c, flags, base, size);
        if self.finish(c, || format!("{flags}, {base}, {size:#x}")) {
            let all = base.0 == 0 && size >= D3D11_FLUSH_GPU_CACHE_RANGE_ALL;
            let range = (!all).then_some(GpuRange::new(base, size));
            self.acquire11(flags, range);
        }
        self
    }

    /// Flushes whatever may hold lines of a resource, and waits for rendering to
    /// it: as [`CommandList::flush_gpu_cache_range`] with every ENSURE flag, the
    /// colour and depth caches, L1, L2 and K$ (which caches it takes is assumed).
    /// Graphics context.
    pub fn flush_gpu_caches(&mut self, resource: Resource<'_>) -> &mut Self {
        let Some(mut c) = self.begin_context("FlushGpuCaches", Contexts::Graphics) else {
            return self;
        };
        self.same_device(&mut c, "pResource", resource.name(), resource.device());
        let name = resource.name().to_owned();
        if self.finish(c, || format!("\"{name}\"")) {
            let flags =
                D3D11_FLUSH::RENDER_BACKEND | D3D11_FLUSH::DEFAULT | D3D11_FLUSH::KCACHE_INVALIDATE;
            self.acquire11(flags, Some(resource.range()));
        }
        self
    }

    /// Flushes caches before later work of a compute context starts. It does not
    /// wait for earlier work.
    pub fn flush_gpu_caches_top_of_pipe(&mut self, flags: D3D11_FLUSH) -> &mut Self {
        let call = "FlushGpuCachesTopOfPipe";
        let Some(mut c) = self.begin_context(call, Contexts::Compute) else { return self };
        self.check_flush11(&mut c, flags);
        if self.finish(c, || flags.to_string()) {
            self.acquire11(flags, None);
        }
        self
    }

    /// Flushes caches of a compute context when its earlier work has ended. Later
    /// work does not wait for it, but for K$ and I$: no end-of-pipe event can
    /// flush these, so the context waits for the event and then flushes them
    /// (assumed).
    pub fn flush_gpu_caches_bottom_of_pipe(&mut self, flags: D3D11_FLUSH) -> &mut Self {
        let call = "FlushGpuCachesBottomOfPipe";
        let Some(mut c) = self.begin_context(call, Contexts::Compute) else { return self };
        self.check_flush11(&mut c, flags);
        if self.finish(c, || flags.to_string()) {
            let has = |flag| flags.contains(flag);
            let bottom = Caches {
                l1: has(D3D11_FLUSH::TEXTURE_L1_INVALIDATE),
                l2: has(D3D11_FLUSH::TEXTURE_L2_INVALIDATE),
                l2_volatile: has(D3D11_FLUSH::TEXTURE_L2_VOLATILE),
                l2_writeback: has(D3D11_FLUSH::TEXTURE_L2_WRITEBACK),
                ..Caches::default()
            };
            let top = Caches {
                k: has(D3D11_FLUSH::KCACHE_INVALIDATE),
                k_volatile: has(D3D11_FLUSH::KCACHE_VOLATILE_INVALIDATE),
                i: has(D3D11_FLUSH::ICACHE_INVALIDATE),
                ..Caches::default()
            };
            if top.any() {
                self.encoder.sync(&Sync { held: true, bottom, top, ..Sync::default() });
            } else if bottom.any() {
                self.encoder.release_caches(bottom);
            }
        }
        self
    }

    /// Nothing later starts before everything earlier has ended; the prefetch
    /// parser is held too (assumed). Graphics context.
    pub fn insert_wait_until_idle(&mut self) -> &mut Self {
        let call = "InsertWaitUntilIdle";
        let Some(c) = self.begin_context(call, Contexts::Graphics) else { return self };
        if self.finish(c, String::new) {
            self.encoder.sync(&Sync { idle: true, ..Sync::default() });
        }
        self
    }

    /// Sends an event down the pipeline. A compute context has CS_PARTIAL_FLUSH
    /// only.
    pub fn gpu_send_pipelined_event(&mut self, event: D3D11X_GPU_PIPELINED_EVENT) -> &mut Self {
        let call = "GpuSendPipelinedEvent";
        let Some(mut c) = self.begin_context(call, Contexts::Both) else { return self };
        if self.kind == ListKind::Compute && event != D3D11X_GPU_PIPELINED_EVENT::CS_PARTIAL_FLUSH {
            let message = "is for a part that a compute context has not; only CS_PARTIAL_FLUSH is";
            c.error(&rules::LIST_KIND, "Event", event, message);
        }
        if self.finish(c, || event.to_string()) {
            self.encoder.pipelined_event(event.value() as u8);
        }
        self
    }

    /// Sets a fence when everything earlier of the context has ended and memory
    /// has confirmed its writes. The public call hands out the number; here the
    /// fence and its value are named, since a list is recorded ahead.
    pub fn insert_fence(&mut self, fence: &Fence, value: u64) -> &mut Self {
        let Some(mut c) = self.begin_context("InsertFence", Contexts::Both) else { return self };
        self.same_device(&mut c, "Fence", fence.name(), fence.device);
        if self.finish(c, || format!("\"{}\", {value}", fence.name())) {
            let stamp = Stamp::Value64(value);
            self.encoder.bottom_write(fence.address, stamp, Caches::default(), true);
        }
        self
    }

    /// Holds the context until a fence is at least `value`.
    pub fn insert_wait_on_fence(&mut self, fence: &Fence, value: u64) -> &mut Self {
        let call = "InsertWaitOnFence";
        let Some(mut c) = self.begin_context(call, Contexts::Both) else { return self };
        self.same_device(&mut c, "Fence", fence.name(), fence.device);
        if self.finish(c, || format!("\"{}\", {value}", fence.name())) {
            let function = D3D11_COMPARISON_FUNC::GREATER_EQUAL.d3d12().packet_code();
            self.encoder.wait(&WaitArgs {
                address: fence.address,
                function: function.unwrap_or_default(),
                reference: value,
                mask: u64::MAX,
                wide: true,
            });
        }
        self
    }

    /// Holds the context until the dword at `address`, masked, compares true with
    /// `reference`, unsigned. No flag is public: `flags` must be 0.
    pub fn insert_wait_on_memory(
        &mut self,
        address: GpuAddress,
        flags: u32,
        func: D3D11_COMPARISON_FUNC,
        reference: u32,
        mask: u32,
    ) -> &mut Self {
        let call = "InsertWaitOnMemory";
        let Some(mut c) = self.begin_context(call, Contexts::Both) else { return self };
        self.address(&mut c, "pAddress", address, 4, Some((4, &rules::WAIT_ALIGNMENT)));
        if flags != 0 {
            let message = "no flag of this call is public; pass 0";
            c.error(&rules::UNKNOWN_FLAGS, "Flags", format!("{flags:#x}"), message);
        }
        let function = func.d3d12().packet_code();
        if function.is_none() {
            let message = "would hold the queue for ever; choose another comparison";
            c.error(&rules::WAIT_NEVER, "ComparisonFunction", func, message);
        } else if !can_hold(func, reference, mask) {
            let message = format!(
                "can never be {func} {reference:#x}: it has no bits outside the mask; change the \
                 mask or the reference"
            );
            c.error(&rules::WAIT_MASK, "Mask", format!("{mask:#x}"), message);
        }
        if self.finish(c, || format!("{address}, {flags}, {func}, {reference}, {mask:#x}"))
            && let Some(function) = function
        {
            self.encoder.wait(&WaitArgs {
                address,
                function,
                reference: u64::from(reference),
                mask: u64::from(mask),
                wide: false,
            });
        }
        self
    }

    /// Writes 32 bits when everything earlier of the context has ended and memory
    /// has confirmed its writes (that it waits for these is assumed).
    pub fn write_value_bottom_of_pipe(&mut self, destination: GpuAddress, value: u32) -> &mut Self {
        let call = "WriteValueBottomOfPipe";
        let Some(mut c) = self.begin_context(call, Contexts::Both) else { return self };
        let alignment = Some((4, &rules::WRITE32_ALIGNMENT));
        self.address(&mut c, "pDestination", destination, 4, alignment);
        if self.finish(c, || format!("{destination}, {value}")) {
            let stamp = Stamp::Value32(value);
            self.encoder.bottom_write(destination, stamp, Caches::default(), true);
        }
        self
    }

    /// Writes the 64-bit GPU clock at the bottom of the pipe.
    pub fn write_timestamp_to_memory(&mut self, destination: GpuAddress) -> &mut Self {
        let call = "WriteTimestampToMemory";
        let Some(mut c) = self.begin_context(call, Contexts::Both) else { return self };
        let alignment = Some((self.write64_alignment(), &rules::WRITE64_ALIGNMENT));
        self.address(&mut c, "pDestination", destination, 8, alignment);
        if self.finish(c, || destination.to_string()) {
            let none = Caches::default();
            self.encoder.bottom_write(destination, Stamp::GpuClock, none, false);
        }
        self
    }

    /// Hardware flags of later dispatches: the bits of `DispatchX` (assumed to be
    /// the same here).
    pub fn set_dispatch_flags(&mut self, flags: D3D12XBOX_DISPATCH_FLAGS) -> &mut Self {
        let call = "SetDispatchFlags";
        let Some(mut c) = self.begin_context(call, Contexts::Both) else { return self };
        self.judge_flags(&mut c, flags);
        if self.finish(c, || flags.to_string()) {
            self.state.flags = Some(flags);
        }
        self
    }

    /// Refuses a call that this version cannot run, by its name.
    pub fn refuse(&mut self, call: Undrawn) -> &mut Self {
        let Some(mut c) = self.begin_as(call.name()) else { return self };
        let message = "is not supported: this version runs compute and copies, and draws nothing";
        c.error(&rules::UNDRAWN, "", "", message);
        self.finish(c, String::new);
        self
    }

    fn check_flush11(&self, c: &mut Checks, flags: D3D11_FLUSH) {
        use D3D11_FLUSH as F;
        if flags.unknown() != 0 {
            let message = "has bits that no flag names";
            c.error(&rules::UNKNOWN_FLAGS, "Flags", flags, message);
        }
        let reserved = flags & F::RESERVED;
        if !reserved.is_empty() {
            let message = "is reserved and does nothing; leave it out";
            c.error(&rules::FLUSH_RESERVED, "Flags", reserved, message);
        }
        if flags.is_empty() {
            let message = "does nothing; name what must be flushed, or leave the call out";
            c.advise(&rules::FLUSH_NOTHING, "Flags", flags, message);
        }
        let volatile = flags & F::VOLATILE;
        if !volatile.is_empty() {
            let message = "does nothing here: no line is ever marked volatile; leave it out";
            c.advise(&rules::VOLATILE_NOTHING, "Flags", volatile, message);
        }
        let targets = flags & F::ENSURE_CB;
        if self.kind == ListKind::Graphics && !targets.is_empty() && targets != F::ENSURE_CB {
            let message = "waits for some of the eight targets; set all eight together";
            c.advise(&rules::FLUSH_CB_SUBSET, "Flags", targets, message);
        }
        if self.kind == ListKind::Compute {
            self.check_compute11(c, flags);
        }
    }

    fn check_compute11(&self, c: &mut Checks, flags: D3D11_FLUSH) {
        use D3D11_FLUSH as F;
        if flags.contains(F::ENSURE_DB_COHERENCY) {
            let message = "is for FlushGpuCacheRange of a graphics context only; leave it out";
            c.error(&rules::FLUSH_ENSURE_DB, "Flags", F::ENSURE_DB_COHERENCY, message);
        }
        let graphics = flags & (F::RENDER_BACKEND - F::ENSURE_DB_COHERENCY);
        if !graphics.is_empty() {
            let message = "does nothing on a compute context, which renders nothing; leave it out";
            c.advise(&rules::FLUSH_GRAPHICS_PARTS, "Flags", graphics, message);
        }
        if flags.contains(F::ENGINE_PFP) {
            let message = "does nothing on a compute context, which has no PFP; leave it out";
            c.advise(&rules::FLUSH_PFP, "Flags", F::ENGINE_PFP, message);
        }
    }

    fn check_range11(&self, c: &mut Checks, flags: D3D11_FLUSH, base: GpuAddress, size: u64) {
        use D3D11_FLUSH as F;
        match (base.0, size) {
            (0, 0) => {
                let message = "with base 0 can hang the depth block; pass \
                               D3D11_FLUSH_GPU_CACHE_RANGE_ALL";
                c.error(&rules::FLUSH_RANGE_ZERO, "SizeInBytes", size, message);
            }
            (0, D3D11_FLUSH_GPU_CACHE_RANGE_ALL..) => {}
            (_, 0) => {
                let message = "is an empty range; pass the size, or base 0 for everything";
                c.advise(&rules::FLUSH_EMPTY_RANGE, "SizeInBytes", size, message);
            }
            (_, _) => {
                let start = GpuAddress(base.0.max(1));
                self.address(c, "pBaseAddress", start, size, None);
                let l2 = flags & (F::TEXTURE_L2_INVALIDATE | F::TEXTURE_L2_WRITEBACK);
                if !l2.is_empty() {
                    let message = "flushes the whole L2 whatever the range; it costs as much as \
                                   RANGE_ALL";
                    c.advise(&rules::FLUSH_RANGE_L2, "Flags", l2, message);
                }
            }
        }
    }

    /// The flags are the packet's bits but for ENGINE_PFP, which the packet has
    /// the other way round (`hardware/pm4.md` 2.3). A compute queue has none of
    /// the render back ends' bits.
    fn acquire11(&mut self, flags: D3D11_FLUSH, range: Option<GpuRange>) {
        let mut action = flags - D3D11_FLUSH::ENGINE_PFP;
        let graphics = self.kind == ListKind::Graphics;
        if !graphics {
            action -= D3D11_FLUSH::RENDER_BACKEND;
        }
        let pfp = graphics && flags.contains(D3D11_FLUSH::ENGINE_PFP);
        self.encoder.acquire_bits(action.bits(), pfp, range);
    }
}

/// True if some masked value compares so with `reference`.
fn can_hold(func: D3D11_COMPARISON_FUNC, reference: u32, mask: u32) -> bool {
    use D3D11_COMPARISON_FUNC as F;
    // Masked values go from 0 to the mask.
    match func {
        F::NEVER => false,
        F::ALWAYS | F::LESS_EQUAL => true,
        F::LESS => reference > 0,
        F::EQUAL => reference & !mask == 0,
        F::NOT_EQUAL => mask != 0 || reference != 0,
        F::GREATER => mask > reference,
        F::GREATER_EQUAL => mask >= reference,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wavefence_pm4::events;

    #[test]
    fn events_are_the_hardware_s() {
        for event in D3D11X_GPU_PIPELINED_EVENT::ALL {
            let name = events::NAMES_GFX7.iter().find(|n| n.0 == event.value());
            assert_eq!(name.map(|n| n.1), Some(event.short_name()));
        }
    }

    #[test]
    fn masked_comparisons_that_can_hold() {
        for func in D3D11_COMPARISON_FUNC::ALL {
            for (reference, mask) in (0..16).flat_map(|r| (0..16).map(move |m| (r, m))) {
                let some = (0..16)
                    .any(|v: u32| func.d3d12().holds(u64::from(v & mask), u64::from(reference)));
                assert_eq!(can_hold(*func, reference, mask), some, "{func} {reference} {mask}");
            }
        }
    }
}
