//! Numbers as people write them in scenarios: decimal, hexadecimal, floats, NaN
//! and infinities.

/// An integer: decimal or `0x…`, with an optional sign and `_` between digits.
pub fn int(text: &str) -> Option<i128> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let hex = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X"));
    let (digits, radix) = hex.map_or((digits, 10), |h| (h, 16));
    let clean: String = digits.chars().filter(|&c| c != '_').collect();
    // `from_str_radix` would take a second sign.
    if clean.is_empty() || !clean.chars().all(|c| c.is_digit(radix)) {
        return None;
    }
    let value = i128::from_str_radix(&clean, radix).ok()?;
    Some(if negative { -value } else { value })
}

/// A 32-bit float: decimal, `nan`, `inf` (with sign and YAML's dot), or an
/// integer in hexadecimal, which stands for its value.
pub fn float32(text: &str) -> Option<f32> {
    float(text, |t| t.parse().ok(), |v| v as f32)
}

/// A 64-bit float, spelt as for [`float32`].
pub fn float64(text: &str) -> Option<f64> {
    float(text, |t| t.parse().ok(), |v| v as f64)
}

fn float<T>(text: &str, parse: impl Fn(&str) -> Option<T>, whole: impl Fn(i128) -> T) -> Option<T> {
    if text.contains(['x', 'X']) {
        return int(text).map(whole);
    }
    // YAML writes `.nan`, `-.inf`; Rust and C write them without the dot.
    let lower = text.to_ascii_lowercase();
    let plain = match lower.as_str() {
        ".nan" | "nan" | "+nan" | "-nan" => "nan",
        ".inf" | "+.inf" | "inf" | "+inf" => "inf",
        "-.inf" | "-inf" => "-inf",
        other if other.chars().all(|c| c.is_ascii_digit() || "+-._e".contains(c)) => other,
        _ => return None,
    };
    parse(&plain.replace('_', ""))
}

/// The bits of the IEEE half nearest to `value` (ties to even).
pub fn half_bits(value: f32) -> u16 {
    let bits = value.to_bits();
    let sign = (bits >> 16 & 0x8000) as u16;
    let magnitude = bits & 0x7FFF_FFFF;
    if magnitude > 0x7F80_0000 {
        return sign | 0x7E00;
    }
    // From half of the gap above the largest half, everything is infinity.
    if magnitude >= 0x477F_F000 {
        return sign | 0x7C00;
    }
    if magnitude < 0x3880_0000 {
        // Subnormal: a multiple of 2^-24.
        let scaled = f64::from(f32::from_bits(magnitude)) * f64::from(1u32 << 24);
        return sign | scaled.round_ties_even() as u16;
    }
    let rounded = magnitude + 0xFFF + (magnitude >> 13 & 1);
    sign | ((rounded - 0x3800_0000) >> 13) as u16
}

/// The value of a half.
pub fn half_value(bits: u16) -> f32 {
    let sign = if bits & 0x8000 != 0 { -1.0 } else { 1.0 };
    let exponent = i32::from(bits >> 10 & 0x1F);
    let fraction = f32::from(bits & 0x3FF);
    sign * match exponent {
        0 => fraction * 2f32.powi(-24),
        31 if fraction == 0.0 => f32::INFINITY,
        31 => f32::NAN,
        e => (1.0 + fraction / 1024.0) * 2f32.powi(e - 15),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers() {
        assert_eq!(int("0x1_0"), Some(16));
        assert_eq!(int("-3"), Some(-3));
        assert_eq!(int("18446744073709551615"), Some(u64::MAX.into()));
        for bad in ["", "-", "0x", "1.5", "--1", "+-1", "0x-1", "1e3", "x"] {
            assert_eq!(int(bad), None, "{bad}");
        }
    }

    #[test]
    fn floats() {
        assert_eq!(float32("-.inf"), Some(f32::NEG_INFINITY));
        assert!(float32("nan").unwrap().is_nan());
        assert_eq!(float32("1e-3"), Some(1e-3));
        assert_eq!(float64("0x10"), Some(16.0));
        for bad in ["", "infinity war", "1.2.3", "e", "0x1p3"] {
            assert_eq!(float32(bad), None, "{bad}");
        }
    }

    #[test]
    fn every_half_survives_the_way_there_and_back() {
        for bits in 0..=u16::MAX {
            let value = half_value(bits);
            if !value.is_nan() {
                assert_eq!(half_bits(value), bits, "{bits:#x}");
            }
        }
        assert_eq!(half_bits(65520.0), 0x7C00);
        assert_eq!(half_bits(65519.0), 0x7BFF);
    }
}
