// tidy: table
//! `D3D11_FLUSH`, value for value from its page (seed 000). On GFX7 the values are
//! the bits of CP_COHER_CNTL (`hardware/pm4.md` 2.3).

use super::flag_set;

flag_set! {
    /// Options for flushing graphics caches, D3D11.X face.
    D3D11_FLUSH: u32, prefix "D3D11_FLUSH_" {
        /// Wait for in-flight rendering to target 0 in the range, before any cache is flushed.
        ENSURE_CB0_COHERENCY = D3D11_FLUSH_ENSURE_CB0_COHERENCY = 0x0000_0040;
        /// As CB0, target 1.
        ENSURE_CB1_COHERENCY = D3D11_FLUSH_ENSURE_CB1_COHERENCY = 0x0000_0080;
        /// As CB0, target 2.
        ENSURE_CB2_COHERENCY = D3D11_FLUSH_ENSURE_CB2_COHERENCY = 0x0000_0100;
        /// As CB0, target 3.
        ENSURE_CB3_COHERENCY = D3D11_FLUSH_ENSURE_CB3_COHERENCY = 0x0000_0200;
        /// As CB0, target 4.
        ENSURE_CB4_COHERENCY = D3D11_FLUSH_ENSURE_CB4_COHERENCY = 0x0000_0400;
        /// As CB0, target 5.
        ENSURE_CB5_COHERENCY = D3D11_FLUSH_ENSURE_CB5_COHERENCY = 0x0000_0800;
        /// As CB0, target 6.
        ENSURE_CB6_COHERENCY = D3D11_FLUSH_ENSURE_CB6_COHERENCY = 0x0000_1000;
        /// As CB0, target 7.
        ENSURE_CB7_COHERENCY = D3D11_FLUSH_ENSURE_CB7_COHERENCY = 0x0000_2000;
        /// As CB0, depth and HTILE; `FlushGpuCacheRange` only.
        ENSURE_DB_COHERENCY = D3D11_FLUSH_ENSURE_DB_COHERENCY = 0x0000_4000;
        /// Does nothing. Do not use.
        ENSURE_BASE_0_COHERENCY = D3D11_FLUSH_ENSURE_BASE_0_COHERENCY = 0x0000_0001;
        /// Does nothing. Do not use.
        ENSURE_BASE_1_COHERENCY = D3D11_FLUSH_ENSURE_BASE_1_COHERENCY = 0x0000_0002;
        /// Does nothing. Do not use.
        ENSURE_BASE_2_COHERENCY = D3D11_FLUSH_ENSURE_BASE_2_COHERENCY = 0x0008_0000;
        /// Does nothing. Do not use.
        ENSURE_BASE_3_COHERENCY = D3D11_FLUSH_ENSURE_BASE_3_COHERENCY = 0x0020_0000;
        /// Does nothing on Xbox One, where no line is marked volatile.
        TEXTURE_L2_VOLATILE = D3D11_FLUSH_TEXTURE_L2_VOLATILE = 0x0001_0000;
        /// Writes dirty L2 lines back at once; lines may stay.
        TEXTURE_L2_WRITEBACK = D3D11_FLUSH_TEXTURE_L2_WRITEBACK = 0x0004_0000;
        /// Drops every line of the vector L1.
        TEXTURE_L1_INVALIDATE = D3D11_FLUSH_TEXTURE_L1_INVALIDATE = 0x0040_0000;
        /// Writes back and drops the whole L2; the range is not honoured.
        TEXTURE_L2_INVALIDATE = D3D11_FLUSH_TEXTURE_L2_INVALIDATE = 0x0080_0000;
        /// Writes back and drops the colour cache.
        COLOR_BLOCK_INVALIDATE = D3D11_FLUSH_COLOR_BLOCK_INVALIDATE = 0x0200_0000;
        /// Writes back and drops the depth cache.
        DEPTH_BLOCK_INVALIDATE = D3D11_FLUSH_DEPTH_BLOCK_INVALIDATE = 0x0400_0000;
        /// Drops the scalar (constant) data cache.
        KCACHE_INVALIDATE = D3D11_FLUSH_KCACHE_INVALIDATE = 0x0800_0000;
        /// Does nothing on Xbox One.
        KCACHE_VOLATILE_INVALIDATE = D3D11_FLUSH_KCACHE_VOLATILE_INVALIDATE = 0x1000_0000;
        /// Drops the shader instruction cache.
        ICACHE_INVALIDATE = D3D11_FLUSH_ICACHE_INVALIDATE = 0x2000_0000;
        /// Flushes in the prefetch parser, for indirect draws.
        ENGINE_PFP = D3D11_FLUSH_ENGINE_PFP = 0x8000_0000;
        /// Vector L1 and L2. Not enough for constant buffers.
        DEFAULT = D3D11_FLUSH_DEFAULT = 0x00C0_0000;
        /// As DEFAULT, in the prefetch parser.
        DEFAULT_PFP = D3D11_FLUSH_DEFAULT_PFP = 0x80C0_0000;
    }
}

impl D3D11_FLUSH {
    /// The eight waits for rendering to colour targets.
    pub const ENSURE_CB: Self = Self::from_bits_retain(0x3FC0);

    /// The four flags that do nothing and must not be used.
    pub const RESERVED: Self = Self::ENSURE_BASE_0_COHERENCY
        .union(Self::ENSURE_BASE_1_COHERENCY)
        .union(Self::ENSURE_BASE_2_COHERENCY)
        .union(Self::ENSURE_BASE_3_COHERENCY);

    /// Flags that act on lines marked volatile only.
    pub const VOLATILE: Self = Self::TEXTURE_L2_VOLATILE.union(Self::KCACHE_VOLATILE_INVALIDATE);

    /// What a compute queue has no part for: waits for rendering, colour and depth
    /// caches.
    pub const RENDER_BACKEND: Self = Self::ENSURE_CB
        .union(Self::ENSURE_DB_COHERENCY)
        .union(Self::COLOR_BLOCK_INVALIDATE)
        .union(Self::DEPTH_BLOCK_INVALIDATE);
}

/// The size that means "everything" with base 0 (seed 000).
pub const D3D11_FLUSH_GPU_CACHE_RANGE_ALL: u64 = 0xFF_FFFF_FF00;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compounds_are_what_the_page_declares() {
        assert_eq!(
            D3D11_FLUSH_DEFAULT,
            D3D11_FLUSH_TEXTURE_L1_INVALIDATE | D3D11_FLUSH_TEXTURE_L2_INVALIDATE
        );
        assert_eq!(D3D11_FLUSH_DEFAULT_PFP, D3D11_FLUSH_DEFAULT | D3D11_FLUSH_ENGINE_PFP);
        let cb = D3D11_FLUSH::NAMES.iter().filter(|(n, _)| n.contains("_ENSURE_CB"));
        assert_eq!(cb.map(|(_, v)| v).sum::<u32>(), D3D11_FLUSH::ENSURE_CB.bits());
    }
}
