//! DATA_SEL of EVENT_WRITE_EOP and RELEASE_MEM (`hardware/pm4.md` 4.4).

use super::named;

named! {
    /// Names on GFX7 and GFX8. Code 4 is a conflict: one kernel header calls it a
    /// system counter, two other sources a performance counter; the name follows
    /// the kernel, which fits the two time stamp flags of the API.
    NAMES_GFX7: u8 = {
        /// Nothing is written.
        NONE = 0,
        /// The low 32 bits of DATA. Needs 4-byte alignment.
        DATA_32 = 1,
        /// 64 bits. Needs 8-byte alignment.
        DATA_64 = 2,
        /// The GPU clock, 64 bits. Needs 8-byte alignment.
        GPU_CLOCK = 3,
        /// The system clock, 64 bits. Needs 8-byte alignment.
        SYSTEM_CLOCK = 4,
        /// Dwords from GDS.
        GDS = 5,
    }
}

/// 32-bit atomic add, compute rings of GFX10.3 only (derived).
pub const ATOMIC_ADD_32: u8 = 7;

/// Names on the graphics ring of GFX10.
pub const NAMES_GFX10: &[crate::Named] = NAMES_GFX7;

/// Names on compute rings of GFX10.3.
pub const NAMES_GFX10_COMPUTE: &[crate::Named] = &[
    (NONE as u32, "NONE"),
    (DATA_32 as u32, "DATA_32"),
    (DATA_64 as u32, "DATA_64"),
    (GPU_CLOCK as u32, "GPU_CLOCK"),
    (SYSTEM_CLOCK as u32, "SYSTEM_CLOCK"),
    (GDS as u32, "GDS"),
    (ATOMIC_ADD_32 as u32, "ATOMIC_ADD_32"),
];
