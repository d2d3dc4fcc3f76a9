// tidy: table
//! Cache actions of GFX10. ACQUIRE_MEM and the SDMA's GCR_REQ share one layout
//! ([`self`], `hardware/pm4.md` 2.4); RELEASE_MEM has **another** without GLI, GLK
//! and GL1_RANGE ([`release`], 4.4).

use crate::Flag;

/// Instruction cache: 0 no, 1 all, 2 range, 3 first and last.
pub const GLI_INV_SHIFT: u32 = 0;
/// Mask of GLI_INV in place.
pub const GLI_INV_MASK: u32 = 0x3;
/// Range of the GL1 action: 0 all, 2 range, 3 first and last.
pub const GL1_RANGE_SHIFT: u32 = 2;
/// Mask of GL1_RANGE in place.
pub const GL1_RANGE_MASK: u32 = 0x3 << 2;
/// Write the L2 metadata cache back.
pub const GLM_WB: u32 = 1 << 4;
/// Invalidate the L2 metadata cache.
pub const GLM_INV: u32 = 1 << 5;
/// Write the scalar cache back.
pub const GLK_WB: u32 = 1 << 6;
/// Invalidate the scalar cache.
pub const GLK_INV: u32 = 1 << 7;
/// Invalidate the vector L0.
pub const GLV_INV: u32 = 1 << 8;
/// Invalidate GL1.
pub const GL1_INV: u32 = 1 << 9;
/// Name and place only are public.
pub const GL2_US: u32 = 1 << 10;
/// Range of the L2 action: 0 all, 1 volatile lines, 2 range, 3 first and last.
pub const GL2_RANGE_SHIFT: u32 = 11;
/// Mask of GL2_RANGE in place.
pub const GL2_RANGE_MASK: u32 = 0x3 << 11;
/// Name and place only are public.
pub const GL2_DISCARD: u32 = 1 << 13;
/// Drop clean L2 lines.
pub const GL2_INV: u32 = 1 << 14;
/// Write dirty L2 lines back.
pub const GL2_WB: u32 = 1 << 15;
/// Order: 0 parallel, 1 forward (L0, GL1, L2), 2 reverse.
pub const SEQ_SHIFT: u32 = 16;
/// Mask of SEQ in place.
pub const SEQ_MASK: u32 = 0x3 << 16;
/// The range is physical.
pub const RANGE_IS_PA: u32 = 1 << 18;

/// GCR_CNTL as ACQUIRE_MEM and GCR_REQ lay it out.
pub const FLAGS: &[Flag] = &[
    Flag::bits(1, 0, "GLI_INV"),
    Flag::bits(3, 2, "GL1_RANGE"),
    Flag::bit(4, "GLM_WB"),
    Flag::bit(5, "GLM_INV"),
    Flag::bit(6, "GLK_WB"),
    Flag::bit(7, "GLK_INV"),
    Flag::bit(8, "GLV_INV"),
    Flag::bit(9, "GL1_INV"),
    Flag::bit(10, "GL2_US"),
    Flag::bits(12, 11, "GL2_RANGE"),
    Flag::bit(13, "GL2_DISCARD"),
    Flag::bit(14, "GL2_INV"),
    Flag::bit(15, "GL2_WB"),
    Flag::bits(17, 16, "SEQ"),
    Flag::bit(18, "RANGE_IS_PA"),
];

/// The GCR field of RELEASE_MEM: bits `[23:12]` of its DW1, counted from 0 here.
pub mod release {
    use crate::Flag;

    /// Write the L2 metadata cache back.
    pub const GLM_WB: u32 = 1 << 0;
    /// Invalidate the L2 metadata cache.
    pub const GLM_INV: u32 = 1 << 1;
    /// Invalidate the vector L0.
    pub const GLV_INV: u32 = 1 << 2;
    /// Invalidate GL1.
    pub const GL1_INV: u32 = 1 << 3;
    /// Name and place only are public.
    pub const GL2_US: u32 = 1 << 4;
    /// Range of the L2 action: 0 all, 1 volatile lines, 2 range, 3 first and last.
    pub const GL2_RANGE_SHIFT: u32 = 5;
    /// Mask of GL2_RANGE in place.
    pub const GL2_RANGE_MASK: u32 = 0x3 << 5;
    /// Name and place only are public.
    pub const GL2_DISCARD: u32 = 1 << 7;
    /// Drop clean L2 lines.
    pub const GL2_INV: u32 = 1 << 8;
    /// Write dirty L2 lines back.
    pub const GL2_WB: u32 = 1 << 9;
    /// Order: 0 parallel, 1 forward, 2 reverse.
    pub const SEQ_SHIFT: u32 = 10;
    /// Mask of SEQ in place.
    pub const SEQ_MASK: u32 = 0x3 << 10;

    /// The field as RELEASE_MEM lays it out.
    pub const FLAGS: &[Flag] = &[
        Flag::bit(0, "GLM_WB"),
        Flag::bit(1, "GLM_INV"),
        Flag::bit(2, "GLV_INV"),
        Flag::bit(3, "GL1_INV"),
        Flag::bit(4, "GL2_US"),
        Flag::bits(6, 5, "GL2_RANGE"),
        Flag::bit(7, "GL2_DISCARD"),
        Flag::bit(8, "GL2_INV"),
        Flag::bit(9, "GL2_WB"),
        Flag::bits(11, 10, "SEQ"),
    ];
}
