// tidy: table
//! TC_OP codes of ATOMIC_MEM and the SDMA's ATOMIC, the same on GFX7, GFX8 and
//! GFX10 (`hardware/pm4.md` 1.4, confirmed). A 64-bit operation is its 32-bit code
//! plus [`WIDE`], one that returns nothing is its returning code plus
//! [`NO_RETURN`].

use super::named;

/// Added for 64-bit operations.
pub const WIDE: u8 = 0x20;
/// Added for operations that return nothing.
pub const NO_RETURN: u8 = 0x40;

named! {
    /// Names of every code.
    NAMES: u8 = {
        /// Exchange, 32 bits, returning the old value.
        SWAP_RTN_32 = 0x07,
        /// Exchange if equal, 32 bits, returning the old value.
        CMPSWAP_RTN_32 = 0x08,
        /// Add, 32 bits, returning the old value.
        ADD_RTN_32 = 0x0f,
        /// Subtract, 32 bits, returning the old value.
        SUB_RTN_32 = 0x10,
        /// Signed minimum, 32 bits, returning the old value.
        SMIN_RTN_32 = 0x11,
        /// Unsigned minimum, 32 bits, returning the old value.
        UMIN_RTN_32 = 0x12,
        /// Signed maximum, 32 bits, returning the old value.
        SMAX_RTN_32 = 0x13,
        /// Unsigned maximum, 32 bits, returning the old value.
        UMAX_RTN_32 = 0x14,
        /// Bitwise and, 32 bits, returning the old value.
        AND_RTN_32 = 0x15,
        /// Bitwise or, 32 bits, returning the old value.
        OR_RTN_32 = 0x16,
        /// Bitwise exclusive or, 32 bits, returning the old value.
        XOR_RTN_32 = 0x17,
        /// Increment, wrapping above the operand, 32 bits, returning the old value.
        INC_RTN_32 = 0x18,
        /// Decrement, wrapping below zero to the operand, 32 bits, returning the old value.
        DEC_RTN_32 = 0x19,
        /// Exchange, 32 bits, returning nothing.
        SWAP_32 = 0x47,
        /// Exchange if equal, 32 bits, returning nothing.
        CMPSWAP_32 = 0x48,
        /// Add, 32 bits, returning nothing.
        ADD_32 = 0x4f,
        /// Subtract, 32 bits, returning nothing.
        SUB_32 = 0x50,
        /// Signed minimum, 32 bits, returning nothing.
        SMIN_32 = 0x51,
        /// Unsigned minimum, 32 bits, returning nothing.
        UMIN_32 = 0x52,
        /// Signed maximum, 32 bits, returning nothing.
        SMAX_32 = 0x53,
        /// Unsigned maximum, 32 bits, returning nothing.
        UMAX_32 = 0x54,
        /// Bitwise and, 32 bits, returning nothing.
        AND_32 = 0x55,
        /// Bitwise or, 32 bits, returning nothing.
        OR_32 = 0x56,
        /// Bitwise exclusive or, 32 bits, returning nothing.
        XOR_32 = 0x57,
        /// Increment, wrapping above the operand, 32 bits, returning nothing.
        INC_32 = 0x58,
        /// Decrement, wrapping below zero to the operand, 32 bits, returning nothing.
        DEC_32 = 0x59,
        /// Exchange, 64 bits, returning the old value.
        SWAP_RTN_64 = 0x27,
        /// Exchange if equal, 64 bits, returning the old value.
        CMPSWAP_RTN_64 = 0x28,
        /// Add, 64 bits, returning the old value.
        ADD_RTN_64 = 0x2f,
        /// Subtract, 64 bits, returning the old value.
        SUB_RTN_64 = 0x30,
        /// Signed minimum, 64 bits, returning the old value.
        SMIN_RTN_64 = 0x31,
        /// Unsigned minimum, 64 bits, returning the old value.
        UMIN_RTN_64 = 0x32,
        /// Signed maximum, 64 bits, returning the old value.
        SMAX_RTN_64 = 0x33,
        /// Unsigned maximum, 64 bits, returning the old value.
        UMAX_RTN_64 = 0x34,
        /// Bitwise and, 64 bits, returning the old value.
        AND_RTN_64 = 0x35,
        /// Bitwise or, 64 bits, returning the old value.
        OR_RTN_64 = 0x36,
        /// Bitwise exclusive or, 64 bits, returning the old value.
        XOR_RTN_64 = 0x37,
        /// Increment, wrapping above the operand, 64 bits, returning the old value.
        INC_RTN_64 = 0x38,
        /// Decrement, wrapping below zero to the operand, 64 bits, returning the old value.
        DEC_RTN_64 = 0x39,
        /// Exchange, 64 bits, returning nothing.
        SWAP_64 = 0x67,
        /// Exchange if equal, 64 bits, returning nothing.
        CMPSWAP_64 = 0x68,
        /// Add, 64 bits, returning nothing.
        ADD_64 = 0x6f,
        /// Subtract, 64 bits, returning nothing.
        SUB_64 = 0x70,
        /// Signed minimum, 64 bits, returning nothing.
        SMIN_64 = 0x71,
        /// Unsigned minimum, 64 bits, returning nothing.
        UMIN_64 = 0x72,
        /// Signed maximum, 64 bits, returning nothing.
        SMAX_64 = 0x73,
        /// Unsigned maximum, 64 bits, returning nothing.
        UMAX_64 = 0x74,
        /// Bitwise and, 64 bits, returning nothing.
        AND_64 = 0x75,
        /// Bitwise or, 64 bits, returning nothing.
        OR_64 = 0x76,
        /// Bitwise exclusive or, 64 bits, returning nothing.
        XOR_64 = 0x77,
        /// Increment, wrapping above the operand, 64 bits, returning nothing.
        INC_64 = 0x78,
        /// Decrement, wrapping below zero to the operand, 64 bits, returning nothing.
        DEC_64 = 0x79,
    }
}
