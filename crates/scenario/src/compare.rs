//! Comparing numbers as the offload test suite does.

use crate::format::buffer::DataFormat;
use crate::format::expect::{CompareRule, DenormMode};
use crate::number::half_value;

/// The rule with its side conditions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Comparison {
    /// How to compare.
    pub rule: CompareRule,
    /// About subnormals.
    pub denorm: DenormMode,
    /// Numbers this near to zero are compared by difference; 0 is off.
    pub zero_tolerance: f64,
}

impl Comparison {
    /// True if one number is near enough to another of the same format.
    pub fn holds(&self, format: DataFormat, actual: &[u8], expected: &[u8]) -> bool {
        match self.rule {
            CompareRule::Exact => actual == expected,
            CompareRule::Ulp(limit) => self.floats(format, actual, expected, |a, e, steps| {
                let tolerance = narrow(format, self.zero_tolerance);
                if tolerance > 0.0 && (a.abs() <= tolerance || e.abs() <= tolerance) {
                    narrow(format, a - e).abs() <= tolerance
                } else {
                    steps <= u64::from(limit)
                }
            }),
            CompareRule::Epsilon(epsilon) => self.floats(format, actual, expected, |a, e, _| {
                narrow(format, a - e).abs() < narrow(format, epsilon)
            }),
        }
    }

    fn floats(
        &self,
        format: DataFormat,
        actual: &[u8],
        expected: &[u8],
        near: impl Fn(f64, f64, u64) -> bool,
    ) -> bool {
        let (a, e) = (Number::read(format, actual), Number::read(format, expected));
        if a.value == e.value {
            return true;
        }
        if a.value.is_nan() || e.value.is_nan() {
            return a.value.is_nan() && e.value.is_nan();
        }
        // Where a subnormal is expected, a zero of its sign will do; halves keep
        // theirs everywhere.
        if format != DataFormat::Float16
            && self.denorm == DenormMode::Any
            && e.subnormal
            && a.value == 0.0
            && a.value.is_sign_negative() == e.value.is_sign_negative()
        {
            return true;
        }
        near(a.value, e.value, a.ordinal.abs_diff(e.ordinal))
    }
}

/// The suite computes differences of doubles as doubles and all others as floats.
fn narrow(format: DataFormat, value: f64) -> f64 {
    if format.bytes() == 8 { value } else { f64::from(value as f32) }
}

/// A float with its place among its neighbours: bits, or for halves bits that
/// also count through zero.
struct Number {
    value: f64,
    ordinal: u64,
    subnormal: bool,
}

impl Number {
    fn read(format: DataFormat, bytes: &[u8]) -> Self {
        let mut word = [0; 8];
        let n = bytes.len().min(8);
        word[..n].copy_from_slice(&bytes[..n]);
        let bits = u64::from_le_bytes(word);
        match format.bytes() {
            2 => Self {
                value: f64::from(half_value(bits as u16)),
                ordinal: if bits & 0x8000 != 0 { !bits & 0xFFFF } else { bits | 0x8000 },
                subnormal: bits & 0x7C00 == 0 && bits & 0x3FF != 0,
            },
            4 => {
                let value = f32::from_bits(bits as u32);
                Self { value: f64::from(value), ordinal: bits, subnormal: value.is_subnormal() }
            }
            _ => {
                let value = f64::from_bits(bits);
                Self { value, ordinal: bits, subnormal: value.is_subnormal() }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds(rule: CompareRule, actual: f32, expected: f32) -> bool {
        let c = Comparison { rule, denorm: DenormMode::Any, zero_tolerance: 0.0 };
        c.holds(DataFormat::Float32, &actual.to_le_bytes(), &expected.to_le_bytes())
    }

    #[test]
    fn neighbours_are_one_step_apart() {
        let next = f32::from_bits(1.0f32.to_bits() + 1);
        assert!(holds(CompareRule::Ulp(1), next, 1.0));
        assert!(!holds(CompareRule::Ulp(0), next, 1.0));
        assert!(!holds(CompareRule::Exact, next, 1.0));
        assert!(holds(CompareRule::Epsilon(1e-6), next, 1.0));
    }

    #[test]
    fn odd_numbers() {
        assert!(holds(CompareRule::Ulp(0), f32::NAN, -f32::NAN));
        assert!(!holds(CompareRule::Epsilon(1e9), f32::NAN, 1.0));
        assert!(holds(CompareRule::Ulp(0), 0.0, -0.0));
        assert!(holds(CompareRule::Ulp(0), 0.0, f32::from_bits(5)));
        assert!(!holds(CompareRule::Ulp(0), -0.0, f32::from_bits(5)));
        assert!(!holds(CompareRule::Epsilon(1.0), f32::INFINITY, 1.0));
    }

    #[test]
    fn halves_keep_subnormals_and_count_through_zero() {
        let c = |rule| Comparison { rule, denorm: DenormMode::Any, zero_tolerance: 0.0 };
        let holds = |rule, a: u16, e: u16| {
            c(rule).holds(DataFormat::Float16, &a.to_le_bytes(), &e.to_le_bytes())
        };
        assert!(!holds(CompareRule::Ulp(0), 0, 1));
        assert!(holds(CompareRule::Ulp(3), 0x8001, 1));
        assert!(!holds(CompareRule::Ulp(2), 0x8001, 1));
        assert!(holds(CompareRule::Ulp(0), 0x8000, 0));
        assert!(holds(CompareRule::Epsilon(0.01), 0x3C01, 0x3C00));
    }

    #[test]
    fn near_zero_the_difference_counts() {
        let rule = CompareRule::Ulp(1);
        let c = Comparison { rule, denorm: DenormMode::Any, zero_tolerance: 1e-3 };
        let holds =
            |a: f32, e: f32| c.holds(DataFormat::Float32, &a.to_le_bytes(), &e.to_le_bytes());
        assert!(holds(1e-4, -1e-4));
        assert!(!holds(0.5, 0.501));
    }
}
