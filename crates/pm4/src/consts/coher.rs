// tidy: table
//! CP_COHER_CNTL, DW1 of SURFACE_SYNC and ACQUIRE_MEM (`hardware/pm4.md` 2.1).
//! Bit 31 of that dword is the ENGINE field, not part of the register.

use crate::Flag;

/// Wait for contexts that use spare base 0 (stencil, per one source).
pub const DEST_BASE_0_ENA: u32 = 1 << 0;
/// Wait for contexts that use spare base 1 (HTILE, per one source).
pub const DEST_BASE_1_ENA: u32 = 1 << 1;
/// GFX8 only.
pub const TC_SD_ACTION_ENA: u32 = 1 << 2;
/// Act on non-coherent L2 lines only (GFX8 and later).
pub const TC_NC_ACTION_ENA: u32 = 1 << 3;
/// Act on write-combined L2 lines only (GFX9 and later).
pub const TC_WC_ACTION_ENA: u32 = 1 << 4;
/// Invalidate L2 metadata (GFX9 and later).
pub const TC_INV_METADATA_ACTION_ENA: u32 = 1 << 5;
/// Wait for contexts that render to colour target 0 in the range.
pub const CB0_DEST_BASE_ENA: u32 = 1 << 6;
/// Wait for contexts that render to colour target 1 in the range.
pub const CB1_DEST_BASE_ENA: u32 = 1 << 7;
/// Wait for contexts that render to colour target 2 in the range.
pub const CB2_DEST_BASE_ENA: u32 = 1 << 8;
/// Wait for contexts that render to colour target 3 in the range.
pub const CB3_DEST_BASE_ENA: u32 = 1 << 9;
/// Wait for contexts that render to colour target 4 in the range.
pub const CB4_DEST_BASE_ENA: u32 = 1 << 10;
/// Wait for contexts that render to colour target 5 in the range.
pub const CB5_DEST_BASE_ENA: u32 = 1 << 11;
/// Wait for contexts that render to colour target 6 in the range.
pub const CB6_DEST_BASE_ENA: u32 = 1 << 12;
/// Wait for contexts that render to colour target 7 in the range.
pub const CB7_DEST_BASE_ENA: u32 = 1 << 13;
/// Wait for contexts whose depth target lies in the range.
pub const DB_DEST_BASE_ENA: u32 = 1 << 14;
/// Invalidate volatile lines of the vector L1.
pub const TCL1_VOL_ACTION_ENA: u32 = 1 << 15;
/// Act on volatile L2 lines (GFX7 only).
pub const TC_VOL_ACTION_ENA: u32 = 1 << 16;
/// Write L2 back.
pub const TC_WB_ACTION_ENA: u32 = 1 << 18;
/// Wait for contexts that use spare base 2.
pub const DEST_BASE_2_ENA: u32 = 1 << 19;
/// Wait for contexts that use spare base 3.
pub const DEST_BASE_3_ENA: u32 = 1 << 21;
/// Invalidate the vector L1.
pub const TCL1_ACTION_ENA: u32 = 1 << 22;
/// Invalidate L2 (on GFX7 this alone also writes it back).
pub const TC_ACTION_ENA: u32 = 1 << 23;
/// Flush and invalidate the colour blocks.
pub const CB_ACTION_ENA: u32 = 1 << 25;
/// Flush and invalidate the depth block.
pub const DB_ACTION_ENA: u32 = 1 << 26;
/// Invalidate the scalar data cache.
pub const SH_KCACHE_ACTION_ENA: u32 = 1 << 27;
/// Invalidate volatile lines of the scalar data cache.
pub const SH_KCACHE_VOL_ACTION_ENA: u32 = 1 << 28;
/// Invalidate the instruction cache.
pub const SH_ICACHE_ACTION_ENA: u32 = 1 << 29;
/// Write the scalar data cache back (GFX8 and later).
pub const SH_KCACHE_WB_ACTION_ENA: u32 = 1 << 30;

/// Bits of GFX7.
pub const FLAGS_GFX7: &[Flag] = &[
    Flag::bit(0, "DEST_BASE_0_ENA"),
    Flag::bit(1, "DEST_BASE_1_ENA"),
    Flag::bit(6, "CB0_DEST_BASE_ENA"),
    Flag::bit(7, "CB1_DEST_BASE_ENA"),
    Flag::bit(8, "CB2_DEST_BASE_ENA"),
    Flag::bit(9, "CB3_DEST_BASE_ENA"),
    Flag::bit(10, "CB4_DEST_BASE_ENA"),
    Flag::bit(11, "CB5_DEST_BASE_ENA"),
    Flag::bit(12, "CB6_DEST_BASE_ENA"),
    Flag::bit(13, "CB7_DEST_BASE_ENA"),
    Flag::bit(14, "DB_DEST_BASE_ENA"),
    Flag::bit(15, "TCL1_VOL_ACTION_ENA"),
    Flag::bit(16, "TC_VOL_ACTION_ENA"),
    Flag::bit(18, "TC_WB_ACTION_ENA"),
    Flag::bit(19, "DEST_BASE_2_ENA"),
    Flag::bit(21, "DEST_BASE_3_ENA"),
    Flag::bit(22, "TCL1_ACTION_ENA"),
    Flag::bit(23, "TC_ACTION_ENA"),
    Flag::bit(25, "CB_ACTION_ENA"),
    Flag::bit(26, "DB_ACTION_ENA"),
    Flag::bit(27, "SH_KCACHE_ACTION_ENA"),
    Flag::bit(28, "SH_KCACHE_VOL_ACTION_ENA"),
    Flag::bit(29, "SH_ICACHE_ACTION_ENA"),
];

/// Bits of GFX8.
pub const FLAGS_GFX8: &[Flag] = &[
    Flag::bit(0, "DEST_BASE_0_ENA"),
    Flag::bit(1, "DEST_BASE_1_ENA"),
    Flag::bit(2, "TC_SD_ACTION_ENA"),
    Flag::bit(3, "TC_NC_ACTION_ENA"),
    Flag::bit(6, "CB0_DEST_BASE_ENA"),
    Flag::bit(7, "CB1_DEST_BASE_ENA"),
    Flag::bit(8, "CB2_DEST_BASE_ENA"),
    Flag::bit(9, "CB3_DEST_BASE_ENA"),
    Flag::bit(10, "CB4_DEST_BASE_ENA"),
    Flag::bit(11, "CB5_DEST_BASE_ENA"),
    Flag::bit(12, "CB6_DEST_BASE_ENA"),
    Flag::bit(13, "CB7_DEST_BASE_ENA"),
    Flag::bit(14, "DB_DEST_BASE_ENA"),
    Flag::bit(15, "TCL1_VOL_ACTION_ENA"),
    Flag::bit(18, "TC_WB_ACTION_ENA"),
    Flag::bit(19, "DEST_BASE_2_ENA"),
    Flag::bit(21, "DEST_BASE_3_ENA"),
    Flag::bit(22, "TCL1_ACTION_ENA"),
    Flag::bit(23, "TC_ACTION_ENA"),
    Flag::bit(25, "CB_ACTION_ENA"),
    Flag::bit(26, "DB_ACTION_ENA"),
    Flag::bit(27, "SH_KCACHE_ACTION_ENA"),
    Flag::bit(28, "SH_KCACHE_VOL_ACTION_ENA"),
    Flag::bit(29, "SH_ICACHE_ACTION_ENA"),
    Flag::bit(30, "SH_KCACHE_WB_ACTION_ENA"),
];

/// Bits of GFX10: the GFX9 register with the DEST_BASE bits that moved to
/// CP_ME_COHER_CNTL, which the packet still carries here.
pub const FLAGS_GFX10: &[Flag] = &[
    Flag::bit(0, "DEST_BASE_0_ENA"),
    Flag::bit(1, "DEST_BASE_1_ENA"),
    Flag::bit(3, "TC_NC_ACTION_ENA"),
    Flag::bit(4, "TC_WC_ACTION_ENA"),
    Flag::bit(5, "TC_INV_METADATA_ACTION_ENA"),
    Flag::bit(6, "CB0_DEST_BASE_ENA"),
    Flag::bit(7, "CB1_DEST_BASE_ENA"),
    Flag::bit(8, "CB2_DEST_BASE_ENA"),
    Flag::bit(9, "CB3_DEST_BASE_ENA"),
    Flag::bit(10, "CB4_DEST_BASE_ENA"),
    Flag::bit(11, "CB5_DEST_BASE_ENA"),
    Flag::bit(12, "CB6_DEST_BASE_ENA"),
    Flag::bit(13, "CB7_DEST_BASE_ENA"),
    Flag::bit(14, "DB_DEST_BASE_ENA"),
    Flag::bit(15, "TCL1_VOL_ACTION_ENA"),
    Flag::bit(18, "TC_WB_ACTION_ENA"),
    Flag::bit(19, "DEST_BASE_2_ENA"),
    Flag::bit(21, "DEST_BASE_3_ENA"),
    Flag::bit(22, "TCL1_ACTION_ENA"),
    Flag::bit(23, "TC_ACTION_ENA"),
    Flag::bit(25, "CB_ACTION_ENA"),
    Flag::bit(26, "DB_ACTION_ENA"),
    Flag::bit(27, "SH_KCACHE_ACTION_ENA"),
    Flag::bit(28, "SH_KCACHE_VOL_ACTION_ENA"),
    Flag::bit(29, "SH_ICACHE_ACTION_ENA"),
    Flag::bit(30, "SH_KCACHE_WB_ACTION_ENA"),
];

/// ENGINE of SURFACE_SYNC and ACQUIRE_MEM: **0 is the PFP, 1 the ME**, the other
/// way round than in most packets.
pub const ENGINE_PFP: u8 = 0;
/// See [`ENGINE_PFP`].
pub const ENGINE_ME: u8 = 1;
