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

/// A 32-bit float: decimal, `nan`, `inf` (with sign and YAML's dot), a hexadecimal
/// float as C writes it (`0x1.8p-3`), or an integer in hexadecimal, which stands for
/// its value.
pub fn float32(text: &str) -> Option<f32> {
    // A hexadecimal float of a double is exact, so it is rounded once.
    float(text, |t| t.parse().ok(), |v| v as f32, |v| v as f32)
}

/// A 64-bit float, spelt as for [`float32`].
pub fn float64(text: &str) -> Option<f64> {
    float(text, |t| t.parse().ok(), |v| v as f64, |v| v)
}

/// `0x1.8p-3`: its value if a double holds all its digits; only the exponent may
/// be too small, which rounds.
fn hex_float(text: &str) -> Option<f64> {
    let (negative, rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let rest = rest.strip_prefix("0x").or_else(|| rest.strip_prefix("0X"))?;
    let (digits, exponent) = match rest.split_once(['p', 'P']) {
        Some((digits, exponent)) => (digits, exponent.parse::<i32>().ok()?),
        None => (rest, 0),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let all: String = [whole, fraction].concat();
    if all.is_empty() || all.len() > 30 || !all.chars().all(|c| c.is_ascii_hexdigit()) {
        return None;
    }
    let mut mantissa = u128::from_str_radix(&all, 16).ok()?;
    let mut exponent = exponent.checked_sub(4 * fraction.len() as i32)?;
    if mantissa != 0 {
        let zeros = mantissa.trailing_zeros();
        mantissa >>= zeros;
        exponent = exponent.checked_add(zeros as i32)?;
    }
    if mantissa >> 53 != 0 {
        return None;
    }
    // Two steps, as the power alone may be out of range; the first one is exact.
    let first = exponent.clamp(-900, 900);
    let second = (exponent - first).clamp(-1000, 1000);
    let value = mantissa as f64 * 2f64.powi(first) * 2f64.powi(second);
    Some(if negative { -value } else { value })
}

fn float<T>(
    text: &str,
    parse: impl Fn(&str) -> Option<T>,
    whole: impl Fn(i128) -> T,
    hex: impl Fn(f64) -> T,
) -> Option<T> {
    if text.contains(['x', 'X']) {
        return int(text).map(whole).or_else(|| hex_float(text).map(hex));
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
        for bad in ["", "infinity war", "1.2.3", "e", "0x", "0x.p1", "0x1p", "0x1.gp0"] {
            assert_eq!(float32(bad), None, "{bad}");
        }
    }

    #[test]
    fn hexadecimal_floats() {
        assert_eq!(float32("0x1p3"), Some(8.0));
        assert_eq!(float32("-0x1.8p-1"), Some(-0.75));
        assert_eq!(float32("0x1p-149"), Some(f32::from_bits(1)));
        assert_eq!(float32("0x1.fffffep127"), Some(f32::MAX));
        assert_eq!(float64("0x0.fffffffffffffp-1022"), Some(f64::from_bits((1 << 52) - 1)));
        assert_eq!(float64("0x1p-1074"), Some(f64::from_bits(1)));
        assert_eq!(float64("0x1p1024"), Some(f64::INFINITY));
        assert_eq!(float64("0x1.00000000000001p0"), None);
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
