//! Comparison codes of WAIT_REG_MEM, COND_INDIRECT_BUFFER and the SDMA poll
//! (`hardware/pm4.md` section 5, confirmed). Compares are unsigned; the value is
//! masked, the reference is not.

use super::named;

named! {
    /// Names of the codes; 7 is reserved.
    NAMES: u8 = {
        /// True; the read still happens.
        ALWAYS = 0,
        /// Value below reference.
        LESS = 1,
        /// Value not above reference.
        LESS_EQUAL = 2,
        /// Value is reference.
        EQUAL = 3,
        /// Value is not reference.
        NOT_EQUAL = 4,
        /// Value not below reference.
        GREATER_EQUAL = 5,
        /// Value above reference.
        GREATER = 6,
    }
}

/// `(value & mask) function reference`, or `None` for the reserved code 7 and
/// codes above.
pub const fn compare(function: u8, value: u64, mask: u64, reference: u64) -> Option<bool> {
    let masked = value & mask;
    match function {
        ALWAYS => Some(true),
        LESS => Some(masked < reference),
        LESS_EQUAL => Some(masked <= reference),
        EQUAL => Some(masked == reference),
        NOT_EQUAL => Some(masked != reference),
        GREATER_EQUAL => Some(masked >= reference),
        GREATER => Some(masked > reference),
        _ => None,
    }
}

/// The comparison as a symbol; `None` for the reserved code and codes above.
pub const fn symbol(function: u8) -> Option<&'static str> {
    match function {
        ALWAYS => Some("always"),
        LESS => Some("<"),
        LESS_EQUAL => Some("<="),
        EQUAL => Some("=="),
        NOT_EQUAL => Some("!="),
        GREATER_EQUAL => Some(">="),
        GREATER => Some(">"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compares_are_unsigned_and_mask_the_value_only() {
        assert_eq!(compare(LESS, u64::MAX, u64::MAX, 1), Some(false));
        assert_eq!(compare(GREATER, u64::MAX, u64::MAX, 1), Some(true));
        assert_eq!(compare(EQUAL, 0x1234, 0xFF, 0x34), Some(true));
        assert_eq!(compare(EQUAL, 0x1234, 0xFF, 0x1234), Some(false));
        assert_eq!(compare(ALWAYS, 0, 0, 9), Some(true));
        assert_eq!(compare(7, 0, 0, 0), None);
        for (a, b) in [(1, 2), (2, 2), (3, 2)] {
            assert_eq!(compare(LESS_EQUAL, a, !0, b), Some(a <= b));
            assert_eq!(compare(GREATER_EQUAL, a, !0, b), Some(a >= b));
            assert_eq!(compare(NOT_EQUAL, a, !0, b), Some(a != b));
        }
    }

    #[test]
    fn every_named_code_has_a_symbol() {
        for &(code, name) in NAMES {
            assert!(symbol(code as u8).is_some(), "{name}");
        }
        assert_eq!(symbol(7), None);
    }
}
