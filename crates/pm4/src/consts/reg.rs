// tidy: table
//! Register dword indices. SET packets carry them relative to a space's base
//! (`hardware/pm4.md` 1.2); the names and indices are those of public headers.

use super::named;
use crate::{Generation, RegSpace};

named! {
    /// Shader registers of compute, dword index.
    NAMES: u32 = {
        /// Written by the DISPATCH packets; see [`crate::initiator`].
        COMPUTE_DISPATCH_INITIATOR = 0x2E00,
        /// End of the grid in X.
        COMPUTE_DIM_X = 0x2E01,
        /// End of the grid in Y.
        COMPUTE_DIM_Y = 0x2E02,
        /// End of the grid in Z.
        COMPUTE_DIM_Z = 0x2E03,
        /// First group in X.
        COMPUTE_START_X = 0x2E04,
        /// First group in Y.
        COMPUTE_START_Y = 0x2E05,
        /// First group in Z.
        COMPUTE_START_Z = 0x2E06,
        /// Threads of a group in X: `[15:0]` full, `[31:16]` last group.
        COMPUTE_NUM_THREAD_X = 0x2E07,
        /// Threads of a group in Y.
        COMPUTE_NUM_THREAD_Y = 0x2E08,
        /// Threads of a group in Z.
        COMPUTE_NUM_THREAD_Z = 0x2E09,
        /// Counts pipeline statistics.
        COMPUTE_PIPELINESTAT_ENABLE = 0x2E0A,
        /// Counts performance counters.
        COMPUTE_PERFCOUNT_ENABLE = 0x2E0B,
        /// Program address `[39:8]`.
        COMPUTE_PGM_LO = 0x2E0C,
        /// Program address above bit 39.
        COMPUTE_PGM_HI = 0x2E0D,
        /// Registers and float modes of the program.
        COMPUTE_PGM_RSRC1 = 0x2E12,
        /// User data, ids, LDS and traps of the program.
        COMPUTE_PGM_RSRC2 = 0x2E13,
        /// Address space.
        COMPUTE_VMID = 0x2E14,
        /// Limits on waves and groups.
        COMPUTE_RESOURCE_LIMITS = 0x2E15,
        /// CU mask of shader engine 0.
        COMPUTE_STATIC_THREAD_MGMT_SE0 = 0x2E16,
        /// CU mask of shader engine 1.
        COMPUTE_STATIC_THREAD_MGMT_SE1 = 0x2E17,
        /// Scratch ring.
        COMPUTE_TMPRING_SIZE = 0x2E18,
        /// CU mask of shader engine 2.
        COMPUTE_STATIC_THREAD_MGMT_SE2 = 0x2E19,
        /// CU mask of shader engine 3.
        COMPUTE_STATIC_THREAD_MGMT_SE3 = 0x2E1A,
        /// Restart of a preempted dispatch in X.
        COMPUTE_RESTART_X = 0x2E1B,
        /// Restart of a preempted dispatch in Y.
        COMPUTE_RESTART_Y = 0x2E1C,
        /// Restart of a preempted dispatch in Z.
        COMPUTE_RESTART_Z = 0x2E1D,
        /// Thread trace.
        COMPUTE_THREAD_TRACE_ENABLE = 0x2E1E,
        /// Bits without a public meaning.
        COMPUTE_MISC_RESERVED = 0x2E1F,
        /// User data 0.
        COMPUTE_USER_DATA_0 = 0x2E40,
        /// User data 1.
        COMPUTE_USER_DATA_1 = 0x2E41,
        /// User data 2.
        COMPUTE_USER_DATA_2 = 0x2E42,
        /// User data 3.
        COMPUTE_USER_DATA_3 = 0x2E43,
        /// User data 4.
        COMPUTE_USER_DATA_4 = 0x2E44,
        /// User data 5.
        COMPUTE_USER_DATA_5 = 0x2E45,
        /// User data 6.
        COMPUTE_USER_DATA_6 = 0x2E46,
        /// User data 7.
        COMPUTE_USER_DATA_7 = 0x2E47,
        /// User data 8.
        COMPUTE_USER_DATA_8 = 0x2E48,
        /// User data 9.
        COMPUTE_USER_DATA_9 = 0x2E49,
        /// User data 10.
        COMPUTE_USER_DATA_10 = 0x2E4A,
        /// User data 11.
        COMPUTE_USER_DATA_11 = 0x2E4B,
        /// User data 12.
        COMPUTE_USER_DATA_12 = 0x2E4C,
        /// User data 13.
        COMPUTE_USER_DATA_13 = 0x2E4D,
        /// User data 14.
        COMPUTE_USER_DATA_14 = 0x2E4E,
        /// User data 15.
        COMPUTE_USER_DATA_15 = 0x2E4F,
    }
}

named! {
    /// Cache control and index registers in the user configuration space.
    NAMES_UCONFIG: u32 = {
        /// Base of a coherency range, high part.
        CP_COHER_BASE_HI = 0xC079,
        /// Delay before a coherency action.
        CP_COHER_START_DELAY = 0xC07B,
        /// Cache actions; see [`crate::coher`].
        CP_COHER_CNTL = 0xC07C,
        /// Size of a coherency range, 256-byte units.
        CP_COHER_SIZE = 0xC07D,
        /// Base of a coherency range, 256-byte units.
        CP_COHER_BASE = 0xC07E,
        /// State of a coherency action.
        CP_COHER_STATUS = 0xC07F,
        /// Size of a coherency range, high part.
        CP_COHER_SIZE_HI = 0xC08C,
    }
}

/// The name of a register, by its whole dword index. The CP_COHER registers
/// stand there on GFX7 and GFX8.
pub fn name(generation: Generation, index: u32) -> Option<&'static str> {
    let uconfig = match generation {
        Generation::Gfx7 | Generation::Gfx8 => NAMES_UCONFIG,
        Generation::Gfx10_3 => &[],
    };
    NAMES.iter().chain(uconfig).find(|&&(i, _)| i == index).map(|&(_, n)| n)
}

/// What SET_SH_REG carries for the shader register `index`.
///
/// # Panics
/// If the register lies in another space: our own bug.
pub const fn sh_offset(index: u32) -> u32 {
    assert!(index >= RegSpace::Sh.base() && index <= RegSpace::Sh.last());
    index - RegSpace::Sh.base()
}
