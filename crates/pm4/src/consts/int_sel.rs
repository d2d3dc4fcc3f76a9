//! INT_SEL of EVENT_WRITE_EOP and RELEASE_MEM (`hardware/pm4.md` 4.4, confirmed).

use super::named;

named! {
    /// Names on GFX7 and GFX8.
    NAMES_GFX7: u8 = {
        /// The value is written, nobody is told.
        NONE = 0,
        /// Interrupt only; DATA_SEL must be 0.
        INTERRUPT_ONLY = 1,
        /// Interrupt once the write is confirmed.
        INTERRUPT_AFTER_WRITE = 2,
        /// No interrupt; the value is written after earlier writes are confirmed.
        /// Drivers use it for every fence.
        WRITE_AFTER_CONFIRM = 3,
    }
}

/// Interrupt without condition, with the context id (GFX10).
pub const UNCONDITIONAL: u8 = 4;
/// Interrupt if a 32-bit comparison holds (GFX10).
pub const CONDITIONAL_32: u8 = 5;
/// Interrupt if a 64-bit comparison holds (GFX10).
pub const CONDITIONAL_64: u8 = 6;

/// Names on GFX10.
pub const NAMES_GFX10: &[crate::Named] = &[
    (NONE as u32, "NONE"),
    (INTERRUPT_ONLY as u32, "INTERRUPT_ONLY"),
    (INTERRUPT_AFTER_WRITE as u32, "INTERRUPT_AFTER_WRITE"),
    (WRITE_AFTER_CONFIRM as u32, "WRITE_AFTER_CONFIRM"),
    (UNCONDITIONAL as u32, "UNCONDITIONAL"),
    (CONDITIONAL_32 as u32, "CONDITIONAL_32"),
    (CONDITIONAL_64 as u32, "CONDITIONAL_64"),
];
