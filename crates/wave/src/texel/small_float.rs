//! Floats of 16, 11 and 10 bits: five bits of exponent, biased by 15.

/// Magnitude of a float with `mantissa` bits of mantissa; exact.
fn magnitude(v: u32, mantissa: u32) -> f32 {
    // In place but for the bias; the product is exact, also from denormals.
    let placed = v << (23 - mantissa);
    let value = f32::from_bits(placed) * f32::from_bits((127 + 112) << 23);
    let special = 0x7F80_0000 | placed & 0x7F_FFFF;
    f32::from_bits(if v >> mantissa == 31 { special } else { value.to_bits() })
}

/// Rounds a magnitude (sign bit clear) to nearest even.
fn round(bits: u32, mantissa: u32) -> u32 {
    let drop = 23 - mantissa;
    let infinity = 31 << mantissa;
    if bits > 0x7F80_0000 {
        // A quiet NaN, with the payload bits that fit.
        return infinity | 1 << (mantissa - 1) | (bits >> drop & ((1 << mantissa) - 1));
    }
    let exponent = bits >> 23;
    let (value, drop) = if exponent >= 113 {
        (bits - (112 << 23), drop)
    } else {
        // Below the smallest normal: the fraction, shifted to its place.
        let shift = drop + 113 - exponent.max(1);
        if shift > 31 {
            return 0;
        }
        let implicit = if exponent == 0 { 0 } else { 1 << 23 };
        (bits & 0x7F_FFFF | implicit, shift)
    };
    let half = (1 << (drop - 1)) - 1 + (value >> drop & 1);
    ((value + half) >> drop).min(infinity)
}

/// The value of a half; exact. A signalling NaN keeps its bits.
pub fn half_to_f32(v: u16) -> f32 {
    let sign = u32::from(v & 0x8000) << 16;
    f32::from_bits(magnitude(u32::from(v & 0x7FFF), 10).to_bits() | sign)
}

/// The half nearest to `v`, ties to even; too large gives infinity.
pub fn f32_to_half(v: f32) -> u16 {
    let bits = v.to_bits();
    (bits >> 16 & 0x8000) as u16 | round(bits & 0x7FFF_FFFF, 10) as u16
}

/// The value of an unsigned small float.
pub(super) fn decode(v: u32, mantissa: u32) -> f32 {
    magnitude(v, mantissa)
}

/// The unsigned small float nearest to `v`; below 0 gives 0.
pub(super) fn encode(v: f32, mantissa: u32) -> u32 {
    let bits = v.to_bits();
    if bits >> 31 == 1 && !v.is_nan() { 0 } else { round(bits & 0x7FFF_FFFF, mantissa) }
}
