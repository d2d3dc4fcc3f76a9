//! `FlushPipelineX`.

use super::value::bottom_caches;
use super::{Checks, CommandList, ListKind};
use crate::encode::{Caches, Sync};
use crate::enums::{D3D12XBOX_FLUSH, D3D12XBOX_FLUSH_RANGE_ALL};
use crate::rules;
use wavefence_base::{GpuAddress, GpuRange};

impl CommandList {
    /// Waits for the shaders named and flushes the caches named: the `BOP_…` half
    /// at the end of the pipe, then the `TOP_…` half before later work starts.
    /// Everything is base 0 with [`D3D12XBOX_FLUSH_RANGE_ALL`], or (0, 0).
    pub fn flush_pipeline_x(
        &mut self,
        flags: D3D12XBOX_FLUSH,
        base: GpuAddress,
        size: u64,
    ) -> &mut Self {
        let Some(mut c) = self.begin("FlushPipelineX") else { return self };
        self.check_flush(&mut c, flags, base, size);
        if self.finish(c, || format!("{flags}, {base}, {size:#x}")) {
            let all = base.0 == 0 && (size == 0 || size >= D3D12XBOX_FLUSH_RANGE_ALL);
            let range = (!all).then_some(GpuRange::new(base, size));
            let sync = flush_sync(flags, self.kind, range);
            let top = self.encoder.sync(&sync);
            if let Some(call) = self.calls.last_mut() {
                call.top = Some(top);
            }
        }
        self
    }

    fn check_flush(&self, c: &mut Checks, flags: D3D12XBOX_FLUSH, base: GpuAddress, size: u64) {
        use D3D12XBOX_FLUSH as F;
        if flags.unknown() != 0 {
            let message = "has bits that no flag names";
            c.error(&rules::UNKNOWN_FLAGS, "Flags", flags, message);
        }
        if self.kind == ListKind::Dma {
            let message = "a DMA engine has no shaders and none of these caches; flush on the \
                           queue whose caches hold the data";
            c.error(&rules::DMA_FLUSH, "Flags", flags, message);
            return;
        }
        if flags.is_empty() {
            let message = "does nothing; name what must be flushed, or leave the call out";
            c.advise(&rules::FLUSH_NOTHING, "Flags", flags, message);
        }
        if base.0 != 0 {
            self.address(c, "BaseAddress", base, size, None);
        }
        if base.0 == 0 && size == 0 && flags.intersects(F::RENDER_BACKEND) {
            let message = "with base 0 can hang the depth block; pass D3D12XBOX_FLUSH_RANGE_ALL";
            c.advise(&rules::FLUSH_ZERO_RANGE, "SizeInBytes", size, message);
        }
        if base.0 != 0 && size == 0 && !flags.is_empty() {
            let message = "is an empty range; pass the size, or base 0 for everything";
            c.advise(&rules::FLUSH_EMPTY_RANGE, "SizeInBytes", size, message);
        }
        let l2 = flags
            & (F::BOP_TEXTURE_L2_INVALIDATE
                | F::BOP_TEXTURE_L2_WRITEBACK
                | F::TOP_TEXTURE_L2_INVALIDATE
                | F::TOP_TEXTURE_L2_WRITEBACK);
        if self.xbox_one() && base.0 != 0 && size != 0 && !l2.is_empty() {
            let message = "flushes the whole L2 whatever the range; it costs as much as RANGE_ALL";
            c.advise(&rules::FLUSH_RANGE_L2, "Flags", l2, message);
        }
        self.volatile_advice_for_flush(c, flags);
        if self.kind == ListKind::Compute {
            let graphics = flags & (F::BOP_VS_PARTIAL | F::BOP_PS_PARTIAL | F::RENDER_BACKEND);
            if !graphics.is_empty() {
                let message = "does nothing on a compute queue; use the …_COMPUTE_MASK flags";
                c.advise(&rules::FLUSH_GRAPHICS_PARTS, "Flags", graphics, message);
            }
            if flags.contains(F::TOP_PFP) {
                let message = "does nothing on a compute queue, which has no PFP; leave it out";
                c.advise(&rules::FLUSH_PFP, "Flags", F::TOP_PFP, message);
            }
        }
    }

    /// The masks hold the volatile flags, so only flags beyond a mask are worth a
    /// word.
    fn volatile_advice_for_flush(&self, c: &mut Checks, flags: D3D12XBOX_FLUSH) {
        use D3D12XBOX_FLUSH as F;
        let mut rest = flags;
        for mask in [F::BOP_MASK, F::TOP_MASK, F::BOP_COMPUTE_MASK, F::TOP_COMPUTE_MASK] {
            if flags.contains(mask) {
                rest -= mask;
            }
        }
        self.volatile_advice(c, "Flags", rest);
    }
}

/// What a flush means on a kind of queue.
pub(crate) fn flush_sync(flags: D3D12XBOX_FLUSH, kind: ListKind, range: Option<GpuRange>) -> Sync {
    use D3D12XBOX_FLUSH as F;
    let graphics = kind == ListKind::Graphics;
    Sync {
        idle: flags.contains(F::IDLE),
        held: false,
        vs: graphics && flags.contains(F::BOP_VS_PARTIAL),
        ps: graphics && flags.contains(F::BOP_PS_PARTIAL),
        cs: flags.contains(F::BOP_CS_PARTIAL),
        color_data: graphics && flags.contains(F::BOP_COLOR_BLOCK_DATA),
        color_meta: graphics && flags.contains(F::BOP_COLOR_BLOCK_META),
        depth_data: graphics && flags.contains(F::BOP_DEPTH_BLOCK_DATA),
        depth_meta: graphics && flags.contains(F::BOP_DEPTH_BLOCK_META),
        bottom: bottom_caches(flags),
        top: Caches {
            l1: flags.contains(F::TOP_TEXTURE_L1_INVALIDATE),
            l1_volatile: flags.contains(F::TOP_TEXTURE_L1_VOLATILE),
            l2: flags.contains(F::TOP_TEXTURE_L2_INVALIDATE),
            l2_volatile: flags.contains(F::TOP_TEXTURE_L2_VOLATILE),
            l2_writeback: flags.contains(F::TOP_TEXTURE_L2_WRITEBACK),
            k: flags.contains(F::TOP_KCACHE_INVALIDATE),
            k_volatile: flags.contains(F::TOP_KCACHE_VOLATILE),
            i: flags.contains(F::TOP_ICACHE_INVALIDATE),
        },
        pfp: graphics && flags.contains(F::TOP_PFP),
        range,
    }
}
