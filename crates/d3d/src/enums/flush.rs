// tidy: table
//! `D3D12XBOX_FLUSH` and the flags of the write and wait calls.
//!
//! **The names are public, the values are not: this project assigned them.** A
//! program that takes them from this list is right; a number taken from a console
//! header is not. Where a hardware bit matches, its number was taken: the
//! `BOP_TEXTURE_…` flags are the action bits of EVENT_WRITE_EOP
//! (`hardware/pm4.md` 4.2), the `TOP_…` flags those of CP_COHER_CNTL (2.1), except
//! the two volatile ones there, whose bits the bottom half already uses.

use super::flag_set;

flag_set! {
    /// What `FlushPipelineX`, `SignalX` and the value writes flush. `BOP_…` acts at
    /// the bottom of the pipe, `TOP_…` before later work starts. Values assigned by
    /// this project. TOP_KCACHE_INVALIDATE, TOP_ICACHE_INVALIDATE and TOP_PFP are
    /// names of ours too.
    D3D12XBOX_FLUSH: u32, prefix "D3D12XBOX_FLUSH_" {
        /// Nothing.
        NONE = D3D12XBOX_FLUSH_NONE = 0;
        /// The queue runs empty before anything later starts.
        IDLE = D3D12XBOX_FLUSH_IDLE = 1 << 0;
        /// Waits for vertex-stage shaders.
        BOP_VS_PARTIAL = D3D12XBOX_FLUSH_BOP_VS_PARTIAL = 1 << 1;
        /// Waits for pixel shaders.
        BOP_PS_PARTIAL = D3D12XBOX_FLUSH_BOP_PS_PARTIAL = 1 << 2;
        /// Waits for compute shaders.
        BOP_CS_PARTIAL = D3D12XBOX_FLUSH_BOP_CS_PARTIAL = 1 << 3;
        /// Colour data written back and dropped.
        BOP_COLOR_BLOCK_DATA = D3D12XBOX_FLUSH_BOP_COLOR_BLOCK_DATA = 1 << 4;
        /// Colour metadata written back and dropped.
        BOP_COLOR_BLOCK_META = D3D12XBOX_FLUSH_BOP_COLOR_BLOCK_META = 1 << 5;
        /// Depth data written back and dropped.
        BOP_DEPTH_BLOCK_DATA = D3D12XBOX_FLUSH_BOP_DEPTH_BLOCK_DATA = 1 << 6;
        /// Depth metadata written back and dropped.
        BOP_DEPTH_BLOCK_META = D3D12XBOX_FLUSH_BOP_DEPTH_BLOCK_META = 1 << 7;
        /// Volatile lines of the vector L1 dropped.
        BOP_TEXTURE_L1_VOLATILE = D3D12XBOX_FLUSH_BOP_TEXTURE_L1_VOLATILE = 1 << 12;
        /// Volatile lines of L2 written back and dropped.
        BOP_TEXTURE_L2_VOLATILE = D3D12XBOX_FLUSH_BOP_TEXTURE_L2_VOLATILE = 1 << 13;
        /// L2 written back.
        BOP_TEXTURE_L2_WRITEBACK = D3D12XBOX_FLUSH_BOP_TEXTURE_L2_WRITEBACK = 1 << 15;
        /// Vector L1 dropped.
        BOP_TEXTURE_L1_INVALIDATE = D3D12XBOX_FLUSH_BOP_TEXTURE_L1_INVALIDATE = 1 << 16;
        /// L2 written back and dropped.
        BOP_TEXTURE_L2_INVALIDATE = D3D12XBOX_FLUSH_BOP_TEXTURE_L2_INVALIDATE = 1 << 17;
        /// L2 written back.
        TOP_TEXTURE_L2_WRITEBACK = D3D12XBOX_FLUSH_TOP_TEXTURE_L2_WRITEBACK = 1 << 18;
        /// Volatile lines of the vector L1 dropped.
        TOP_TEXTURE_L1_VOLATILE = D3D12XBOX_FLUSH_TOP_TEXTURE_L1_VOLATILE = 1 << 20;
        /// Volatile lines of L2 written back and dropped.
        TOP_TEXTURE_L2_VOLATILE = D3D12XBOX_FLUSH_TOP_TEXTURE_L2_VOLATILE = 1 << 21;
        /// Vector L1 (Series: GL0 and GL1) dropped.
        TOP_TEXTURE_L1_INVALIDATE = D3D12XBOX_FLUSH_TOP_TEXTURE_L1_INVALIDATE = 1 << 22;
        /// L2 (Series: and its metadata cache) written back and dropped.
        TOP_TEXTURE_L2_INVALIDATE = D3D12XBOX_FLUSH_TOP_TEXTURE_L2_INVALIDATE = 1 << 23;
        /// Scalar data cache dropped.
        TOP_KCACHE_INVALIDATE = D3D12XBOX_FLUSH_TOP_KCACHE_INVALIDATE = 1 << 27;
        /// Volatile lines of the scalar data cache dropped.
        TOP_KCACHE_VOLATILE = D3D12XBOX_FLUSH_TOP_KCACHE_VOLATILE = 1 << 28;
        /// Instruction cache dropped.
        TOP_ICACHE_INVALIDATE = D3D12XBOX_FLUSH_TOP_ICACHE_INVALIDATE = 1 << 29;
        /// The prefetch parser waits until the flush is done.
        TOP_PFP = D3D12XBOX_FLUSH_TOP_PFP = 1 << 31;
        /// Every BOP flag.
        BOP_MASK = D3D12XBOX_FLUSH_BOP_MASK = 0x0003_B0FE;
        /// Every TOP flag.
        TOP_MASK = D3D12XBOX_FLUSH_TOP_MASK = 0xB8F4_0000;
        /// Every BOP flag that a compute queue can act on.
        BOP_COMPUTE_MASK = D3D12XBOX_FLUSH_BOP_COMPUTE_MASK = 0x0003_B008;
        /// Every TOP flag that a compute queue can act on.
        TOP_COMPUTE_MASK = D3D12XBOX_FLUSH_TOP_COMPUTE_MASK = 0x38F4_0000;
    }
}

/// The size that means "everything" with base 0. The name is public, the value is
/// that of the D3D11.X constant (samples write the same number out).
pub const D3D12XBOX_FLUSH_RANGE_ALL: u64 = 0xFF_FFFF_FF00;

flag_set! {
    /// What the bottom-of-pipe writes write (seeds 002 and 004). Values assigned by
    /// this project.
    D3D12XBOX_WRITE_VALUE_BOP_FLAGS: u32, prefix "D3D12XBOX_WRITE_VALUE_BOP_FLAG_" {
        /// The value of the call.
        NONE = D3D12XBOX_WRITE_VALUE_BOP_FLAG_NONE = 0;
        /// The GPU clock counter, 64-bit call only.
        GPU_TIMESTAMP = D3D12XBOX_WRITE_VALUE_BOP_FLAG_GPU_TIMESTAMP = 1;
        /// The system clock counter, 64-bit call only.
        SYSTEM_TIMESTAMP = D3D12XBOX_WRITE_VALUE_BOP_FLAG_SYSTEM_TIMESTAMP = 2;
    }
}

flag_set! {
    /// Flags of the wait calls. No other is public. Value assigned by this project.
    D3D12XBOX_WAIT_FLAGS: u32, prefix "D3D12XBOX_WAIT_FLAG_" {
        /// No flags.
        NONE = D3D12XBOX_WAIT_FLAG_NONE = 0;
    }
}

impl D3D12XBOX_FLUSH {
    /// The five flags that `Write32BitValueBottomOfPipeX` allows (seed 002).
    pub const WRITE32: Self = Self::BOP_TEXTURE_L1_INVALIDATE
        .union(Self::BOP_TEXTURE_L1_VOLATILE)
        .union(Self::BOP_TEXTURE_L2_INVALIDATE)
        .union(Self::BOP_TEXTURE_L2_VOLATILE)
        .union(Self::BOP_TEXTURE_L2_WRITEBACK);

    /// Flags that act on lines marked volatile only.
    pub const VOLATILE: Self = Self::BOP_TEXTURE_L1_VOLATILE
        .union(Self::BOP_TEXTURE_L2_VOLATILE)
        .union(Self::TOP_TEXTURE_L1_VOLATILE)
        .union(Self::TOP_TEXTURE_L2_VOLATILE)
        .union(Self::TOP_KCACHE_VOLATILE);

    /// Colour and depth block flags.
    pub const RENDER_BACKEND: Self = Self::BOP_COLOR_BLOCK_DATA
        .union(Self::BOP_COLOR_BLOCK_META)
        .union(Self::BOP_DEPTH_BLOCK_DATA)
        .union(Self::BOP_DEPTH_BLOCK_META);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_hold_every_flag_of_their_half() {
        let mut bop = D3D12XBOX_FLUSH::empty();
        let mut top = D3D12XBOX_FLUSH::empty();
        for &(name, value) in D3D12XBOX_FLUSH::NAMES {
            let flag = D3D12XBOX_FLUSH::from_bits_retain(value);
            if value.is_power_of_two() && name.contains("_BOP_") {
                bop |= flag;
            } else if value.is_power_of_two() && name.contains("_TOP_") {
                top |= flag;
            }
        }
        assert_eq!(bop, D3D12XBOX_FLUSH_BOP_MASK);
        assert_eq!(top, D3D12XBOX_FLUSH_TOP_MASK);
        let graphics = D3D12XBOX_FLUSH::RENDER_BACKEND
            | D3D12XBOX_FLUSH_BOP_VS_PARTIAL
            | D3D12XBOX_FLUSH_BOP_PS_PARTIAL;
        assert_eq!(bop - graphics, D3D12XBOX_FLUSH_BOP_COMPUTE_MASK);
        assert_eq!(top - D3D12XBOX_FLUSH_TOP_PFP, D3D12XBOX_FLUSH_TOP_COMPUTE_MASK);
    }
}
