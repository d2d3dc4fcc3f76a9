//! Literal numbers of SPIR-V text as bits.

/// The type of a literal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NumberType {
    /// Integer: bits and signedness.
    Int(u32, bool),
    /// IEEE float: 16, 32 or 64 bits.
    Float(u32),
}

/// The words of `text` as a literal of type `ty`: values under 32 bits fill a
/// word (sign-extended if signed), 64 bits are two words, low one first.
pub(super) fn words(text: &str, ty: NumberType) -> Result<Vec<u32>, String> {
    match ty {
        NumberType::Int(bits, signed) if (1..=64).contains(&bits) => {
            let value = integer(text, bits, signed)?;
            Ok(if bits > 32 { split(value) } else { vec![value as u32] })
        }
        NumberType::Float(16) => Ok(vec![float(text, 5, 10)? as u32]),
        NumberType::Float(32) => Ok(vec![float(text, 8, 23)? as u32]),
        NumberType::Float(64) => Ok(split(float(text, 11, 52)?)),
        NumberType::Int(bits, _) | NumberType::Float(bits) => {
            Err(format!("literals of {bits} bits are not supported"))
        }
    }
}

fn split(value: u64) -> Vec<u32> {
    vec![value as u32, (value >> 32) as u32]
}

/// An integer literal of a 32-bit operand that no type describes.
pub(super) fn plain(text: &str) -> Result<u32, String> {
    let signed = text.starts_with('-');
    integer(text, 32, signed).map(|v| v as u32)
}

fn integer(text: &str, bits: u32, signed: bool) -> Result<u64, String> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let hex = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X"));
    let parsed = match hex {
        Some(hex) if !hex.starts_with('+') => u128::from_str_radix(hex, 16),
        None if !digits.starts_with('+') => digits.parse::<u128>(),
        _ => return Err(format!("`{text}` is no integer")),
    };
    let magnitude = match parsed {
        Ok(m) => m,
        Err(e) if *e.kind() == std::num::IntErrorKind::PosOverflow => u128::MAX,
        Err(_) => return Err(format!("`{text}` is no integer")),
    };
    let too_large = || {
        let sign = if signed { "signed" } else { "unsigned" };
        Err(format!("`{text}` does not fit in {bits} bits ({sign})"))
    };
    if negative && !signed && magnitude != 0 {
        return too_large();
    }
    // In hexadecimal the literal is the bits, sign bit included.
    let limit = match (negative, signed, hex.is_some()) {
        (true, _, _) => 1u128 << (bits - 1),
        (false, true, false) => (1u128 << (bits - 1)) - 1,
        (false, _, _) => (1u128 << bits) - 1,
    };
    if magnitude > limit {
        return too_large();
    }
    let value = if negative { (magnitude as u64).wrapping_neg() } else { magnitude as u64 };
    // Narrow values fill their word as their type says.
    let unused = 64 - bits;
    Ok(if signed {
        (((value << unused) as i64) >> unused) as u64
    } else {
        (value << unused) >> unused
    })
}

/// A float literal, decimal or hexadecimal, as IEEE bits with `exponent` and
/// `fraction` bits.
fn float(text: &str, exponent: u32, fraction: u32) -> Result<u64, String> {
    let bad = || format!("`{text}` is no float");
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let hex = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X"));
    let bits = if let Some(hex) = hex {
        hex_float(hex, exponent, fraction).ok_or_else(bad)?
    } else {
        if !digits.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
            return Err(bad());
        }
        match fraction {
            23 => {
                let value: f32 = digits.parse().map_err(|_| bad())?;
                value.is_finite().then_some(u64::from(value.to_bits()))
            }
            _ => {
                let value: f64 = digits.parse().map_err(|_| bad())?;
                let narrowed = || {
                    let bits = value.to_bits();
                    let at = (bits >> 52) as i32;
                    let (mantissa, at) = match at {
                        0 => (bits, -1074),
                        _ => ((bits & ((1 << 52) - 1)) | 1 << 52, at - 1075),
                    };
                    round(mantissa, at, exponent, fraction)
                };
                if value.is_finite() { narrowed() } else { None }
            }
        }
        .ok_or_else(|| format!("`{text}` is too large for this float"))?
    };
    Ok(bits | u64::from(negative) << (exponent + fraction))
}

/// `h.hhhp+d`. An exponent one above the largest stands for infinity (fraction
/// 0) or NaN, as disassemblers write them.
fn hex_float(text: &str, exponent: u32, fraction: u32) -> Option<u64> {
    let (digits, power) = text.split_once(['p', 'P'])?;
    let power: i32 = power.parse().ok().filter(|p: &i32| p.abs() < 100_000)?;
    let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
    let all = format!("{whole}{part}");
    if all.is_empty() || all.len() > 64 || !all.chars().all(|c| c.is_ascii_hexdigit()) {
        return None;
    }
    let significant = all.trim_start_matches('0');
    if significant.len() > 16 {
        return None;
    }
    if significant.is_empty() {
        return Some(0);
    }
    let mantissa = u64::from_str_radix(significant, 16).ok()?;
    let at = power - 4 * part.len() as i32;
    let bias = (1i32 << (exponent - 1)) - 1;
    let top = 63 - mantissa.leading_zeros() as i32;
    if at + top == bias + 1 {
        let shifted = mantissa.checked_shl((63 - top) as u32)? << 1;
        let kept = if fraction == 0 { 0 } else { shifted >> (64 - fraction) };
        return (kept << (64 - fraction) == shifted)
            .then_some(kept | ((1u64 << exponent) - 1) << fraction);
    }
    round(mantissa, at, exponent, fraction)
}

/// `mantissa * 2^at` rounded to nearest even; `None` if it overflows.
fn round(mantissa: u64, at: i32, exponent: u32, fraction: u32) -> Option<u64> {
    if mantissa == 0 {
        return Some(0);
    }
    let bias = (1i32 << (exponent - 1)) - 1;
    let top = 63 - mantissa.leading_zeros() as i32;
    let value_exponent = at + top;
    // The weight of the last kept bit; fixed below the smallest normal.
    let last = (value_exponent - fraction as i32).max(1 - bias - fraction as i32);
    let drop = last - at;
    let kept = if drop <= 0 {
        mantissa.checked_shl(drop.unsigned_abs())?
    } else if drop > 64 {
        0
    } else {
        let wide = u128::from(mantissa);
        let (high, low) = (wide >> drop, wide & ((1u128 << drop) - 1));
        let half = 1u128 << (drop - 1);
        (high + u128::from(low > half || (low == half && high & 1 == 1))) as u64
    };
    // `kept` may have carried into the next power of two; the sum takes that.
    let normal = kept >> fraction != 0;
    let field = if normal { last + fraction as i32 + bias } else { 0 };
    let bits = if normal { ((field as u64) << fraction) + (kept - (1 << fraction)) } else { kept };
    let infinity = ((1u64 << exponent) - 1) << fraction;
    (bits < infinity).then_some(bits)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn one(text: &str, ty: NumberType) -> u32 {
        words(text, ty).unwrap()[0]
    }

    #[test]
    fn integers_by_type() {
        assert_eq!(one("-1", NumberType::Int(32, true)), u32::MAX);
        assert_eq!(one("4294967295", NumberType::Int(32, false)), u32::MAX);
        assert_eq!(one("0xFFFFFFFF", NumberType::Int(32, true)), u32::MAX);
        assert_eq!(one("-1", NumberType::Int(16, true)), u32::MAX);
        assert_eq!(one("65535", NumberType::Int(16, false)), 0xffff);
        assert_eq!(words("-2", NumberType::Int(64, true)).unwrap(), [0xffff_fffe, u32::MAX]);
        for (text, bits, signed) in [
            ("4294967296", 32, false),
            ("2147483648", 32, true),
            ("-1", 32, false),
            ("x", 32, true),
            ("", 8, true),
            ("128", 8, true),
            ("-129", 8, true),
            ("0x", 32, false),
            ("+1", 32, false),
            ("99999999999999999999999999999999999999999999", 64, false),
        ] {
            assert!(words(text, NumberType::Int(bits, signed)).is_err(), "{text}");
        }
    }

    #[test]
    fn floats_by_type() {
        let f32 = |text| one(text, NumberType::Float(32));
        assert_eq!(f32("1.5"), 1.5f32.to_bits());
        assert_eq!(f32("-0"), (-0.0f32).to_bits());
        assert_eq!(f32("1e-45"), 1);
        assert_eq!(f32("0x1p+128"), f32::INFINITY.to_bits());
        assert_eq!(f32("-0x1.8p+128"), 0xffc0_0000);
        assert_eq!(f32("0x1.8p+3"), 12f32.to_bits());
        assert_eq!(f32("0x1p-149"), 1);
        assert_eq!(one("1", NumberType::Float(16)), 0x3c00);
        assert_eq!(one("65504", NumberType::Float(16)), 0x7bff);
        assert_eq!(one("6e-8", NumberType::Float(16)), 1);
        assert_eq!(one("0x1p+16", NumberType::Float(16)), 0x7c00);
        let f64 = words("0.1", NumberType::Float(64)).unwrap();
        assert_eq!(u64::from(f64[1]) << 32 | u64::from(f64[0]), 0.1f64.to_bits());
        for text in [
            "1e39",
            "inf",
            "NaN",
            "",
            "-",
            "0x",
            "0x1",
            "1.5f",
            "0x1p+129",
            "0x1.00000000000000001p1",
        ] {
            assert!(words(text, NumberType::Float(32)).is_err(), "{text}");
        }
        assert!(words("65520", NumberType::Float(16)).is_err());
    }

    proptest! {
        #[test]
        fn decimal_and_hexadecimal_agree_with_the_standard_library(bits: u32, wide: u64) {
            let value = f32::from_bits(bits);
            if value.is_finite() {
                prop_assert_eq!(one(&format!("{value:e}"), NumberType::Float(32)), bits);
                let rounded = round_of(value.abs());
                prop_assert_eq!(rounded, Some(u64::from(value.abs().to_bits())));
            }
            let value = f64::from_bits(wide);
            if value.is_finite() {
                let words = words(&format!("{value:e}"), NumberType::Float(64)).unwrap();
                prop_assert_eq!(u64::from(words[1]) << 32 | u64::from(words[0]), wide);
                let narrow = value as f32;
                if narrow.is_finite() {
                    prop_assert_eq!(round_of_wide(value.abs()), Some(u64::from(narrow.abs().to_bits())));
                }
            }
        }
    }

    fn round_of(value: f32) -> Option<u64> {
        round_of_wide(f64::from(value))
    }

    fn round_of_wide(value: f64) -> Option<u64> {
        let bits = value.to_bits();
        let at = (bits >> 52) as i32;
        let mantissa = bits & ((1 << 52) - 1);
        if at == 0 {
            round(mantissa, -1074, 8, 23)
        } else {
            round(mantissa | 1 << 52, at - 1075, 8, 23)
        }
    }
}
