// tidy: table
//! COMPUTE_DISPATCH_INITIATOR, the last dword of the DISPATCH packets
//! (`hardware/pm4.md` section 3).

use crate::Flag;

/// Start the compute shader; drivers always set it.
pub const COMPUTE_SHADER_EN: u32 = 1 << 0;
/// The last group of a dimension may be partial, of the size in COMPUTE_NUM_THREAD_* `[31:16]`.
pub const PARTIAL_TG_EN: u32 = 1 << 1;
/// Ignore COMPUTE_START_X/Y/Z.
pub const FORCE_START_AT_000: u32 = 1 << 2;
/// Waves get ids in launch order.
pub const ORDERED_APPEND_ENBL: u32 = 1 << 3;
/// One id per thread group instead of per wave.
pub const ORDERED_APPEND_MODE: u32 = 1 << 4;
/// The DIM dwords count threads.
pub const USE_THREAD_DIMENSIONS: u32 = 1 << 5;
/// Waves may launch out of order; compute rings only.
pub const ORDER_MODE: u32 = 1 << 6;
/// DISPATCH_CACHE_CNTL bit 0: volatile accesses pass the vector L1 by. No public
/// name on GFX10, where the API documents the bit (assumed).
pub const DISABLE_VECTOR_L1: u32 = 1 << 7;
/// DISPATCH_CACHE_CNTL bit 1. No public name on GFX10 (assumed).
pub const DISABLE_L2: u32 = 1 << 8;
/// DISPATCH_CACHE_CNTL bit 2: volatile accesses pass the scalar cache by. No public
/// name on GFX10, where the API documents the bit (assumed).
pub const DISABLE_SCALAR_L1: u32 = 1 << 9;
/// Invalidate volatile lines of the scalar cache at the start.
pub const SCALAR_L1_INV_VOL: u32 = 1 << 10;
/// Invalidate volatile lines of the vector L1 at the start.
pub const VECTOR_L1_INV_VOL: u32 = 1 << 11;
/// Data goes through the address translation cache (GFX7 and GFX8).
pub const DATA_ATC: u32 = 1 << 12;
/// Tunnelling (GFX10).
pub const TUNNEL_ENABLE: u32 = 1 << 13;
/// Restores a preempted dispatch.
pub const RESTORE: u32 = 1 << 14;
/// Waves of 32 lanes (GFX10).
pub const CS_W32_EN: u32 = 1 << 15;
/// No preemption inside the dispatch: a GFX11 bit that one driver sets on every
/// generation (derived).
pub const DISABLE_DISP_PREMPT_EN: u32 = 1 << 17;

/// Bits of GFX7 and GFX8.
pub const FLAGS_GFX7: &[Flag] = &[
    Flag::bit(0, "COMPUTE_SHADER_EN"),
    Flag::bit(1, "PARTIAL_TG_EN"),
    Flag::bit(2, "FORCE_START_AT_000"),
    Flag::bit(3, "ORDERED_APPEND_ENBL"),
    Flag::bit(4, "ORDERED_APPEND_MODE"),
    Flag::bit(5, "USE_THREAD_DIMENSIONS"),
    Flag::bit(6, "ORDER_MODE"),
    Flag::bit(7, "DISABLE_VECTOR_L1"),
    Flag::bit(8, "DISABLE_L2"),
    Flag::bit(9, "DISABLE_SCALAR_L1"),
    Flag::bit(10, "SCALAR_L1_INV_VOL"),
    Flag::bit(11, "VECTOR_L1_INV_VOL"),
    Flag::bit(12, "DATA_ATC"),
    Flag::bit(14, "RESTORE"),
];

/// Bits of GFX10.
pub const FLAGS_GFX10: &[Flag] = &[
    Flag::bit(0, "COMPUTE_SHADER_EN"),
    Flag::bit(1, "PARTIAL_TG_EN"),
    Flag::bit(2, "FORCE_START_AT_000"),
    Flag::bit(3, "ORDERED_APPEND_ENBL"),
    Flag::bit(4, "ORDERED_APPEND_MODE"),
    Flag::bit(5, "USE_THREAD_DIMENSIONS"),
    Flag::bit(6, "ORDER_MODE"),
    Flag::bit(7, "DISABLE_VECTOR_L1"),
    Flag::bit(8, "DISABLE_L2"),
    Flag::bit(9, "DISABLE_SCALAR_L1"),
    Flag::bit(10, "SCALAR_L1_INV_VOL"),
    Flag::bit(11, "VECTOR_L1_INV_VOL"),
    Flag::bit(13, "TUNNEL_ENABLE"),
    Flag::bit(14, "RESTORE"),
    Flag::bit(15, "CS_W32_EN"),
    Flag::bit(17, "DISABLE_DISP_PREMPT_EN"),
];
