use super::*;
use proptest::prelude::*;

fn one(format: TexelFormat, raw: u32) -> f32 {
    f32::from_bits(decode(format, [raw, 0, 0, 0])[0])
}

fn code(format: TexelFormat, v: f32) -> u32 {
    encode(format, [v.to_bits(); 4])[0] & mask(u32::from(format.component_bits()[0]))
}

/// Every code of every component narrower than 32 bits comes back as it was.
#[test]
fn codes_round_trip() {
    for &format in TexelFormat::ALL {
        let snorm = format.kind() == ComponentKind::Snorm;
        for f in fields(format).filter(|f| f.bits < 32) {
            for base in (0..=mask(f.bits)).step_by(64) {
                let code = |l: usize| (base + l as u32) & mask(f.bits);
                let mut raw = vec![[0; 64]; words(format)];
                raw[f.word] = std::array::from_fn(|l| code(l) << f.shift);
                let mut texel = [[0; 64]; 4];
                decode_wave(format, &raw, &mut texel);
                encode_wave(format, &texel.each_ref(), &mut raw);
                for l in 0..64 {
                    let back = raw[f.word][l] >> f.shift & mask(f.bits);
                    // The most negative code is -1 too.
                    let lowest = snorm && code(l) == 1 << (f.bits - 1);
                    let nan = format.kind() == ComponentKind::Float
                        && f32::from_bits(texel[f.component][l]).is_nan();
                    let want = if lowest {
                        code(l) + 1
                    } else if nan {
                        // Made quiet.
                        code(l) | 1 << (f.bits - 6 - u32::from(f.bits == 16))
                    } else {
                        code(l)
                    };
                    assert_eq!(back, want, "{} {f:?}", format.name());
                }
            }
        }
    }
}

#[test]
fn normalised_ends_and_halves() {
    use TexelFormat as F;
    for (format, max) in [(F::R8_UNORM, 255.0), (F::R16_UNORM, 65535.0), (F::D16_UNORM, 65535.0)] {
        for v in 0..=max as u32 {
            assert_eq!(one(format, v), (f64::from(v) / max) as f32);
        }
        assert_eq!(code(format, -1.0), 0);
        assert_eq!(code(format, f32::NAN), 0);
        assert_eq!(code(format, f32::INFINITY), max as u32);
    }
    // 0.5 * 255 = 127.5 goes up; -0.5 * 127 = -63.5 goes away from zero.
    assert_eq!(code(F::R8_UNORM, 0.5), 128);
    assert_eq!(code(F::R8_SNORM, -0.5), -64i32 as u32 & 0xFF);
    assert_eq!(code(F::R8_SNORM, 0.5), 64);
    assert_eq!(code(F::R8_SNORM, -7.0), 0x81);
    assert_eq!(one(F::R8_SNORM, 0x80), -1.0);
    assert_eq!(one(F::R16_SNORM, 0x7FFF), 1.0);
}

#[test]
fn integers_are_clamped() {
    use TexelFormat as F;
    assert_eq!(encode(F::R8_UINT, [256, 0, 0, 0])[0], 255);
    assert_eq!(encode(F::R8_SINT, [-200i32 as u32, 0, 0, 0])[0], 0x80);
    assert_eq!(encode(F::R16_SINT, [40_000, 0, 0, 0])[0], 0x7FFF);
    assert_eq!(decode(F::R16_SINT, [0xFFFE, 0, 0, 0]), [-2i32 as u32, 0, 0, 1]);
    assert_eq!(encode(F::R10G10B10A2_UINT, [1023, 5000, 1, 9])[0], 0xC01F_FFFF);
    assert_eq!(decode(F::R32G32_UINT, [7, 8, 9, 9]), [7, 8, 0, 1]);
    assert_eq!(decode(F::R64_UINT, [7, 8, 9, 9]), [7, 8, 0, 0]);
    assert_eq!(encode(F::R64_UINT, [7, 8, 9, 9]), [7, 8, 0, 0]);
}

#[test]
fn blue_comes_first_where_the_name_says_so() {
    let texel = decode(TexelFormat::B8G8R8A8_UNORM, [0x80_FF_00_33, 0, 0, 0]).map(f32::from_bits);
    assert_eq!(texel, [1.0, 0.0, 0.2, 128.0 / 255.0]);
    let red = [1f32, 0.0, 0.0, 1.0].map(f32::to_bits);
    assert_eq!(encode(TexelFormat::B8G8R8A8_UNORM, red)[0], 0xFFFF_0000);
    assert_eq!(encode(TexelFormat::R8G8B8A8_UNORM, red)[0], 0xFF00_00FF);
}

/// Halves: every code between two neighbours, and the tie.
#[test]
fn halves_round_to_nearest_even() {
    for v in 0..0x7BFFu16 {
        let (a, b) = (half_to_f32(v), half_to_f32(v + 1));
        let middle = (f64::from(a) + f64::from(b)) / 2.0;
        let tie = middle as f32;
        assert_eq!(f64::from(tie), middle);
        assert_eq!(f32_to_half(tie), v + (v & 1), "{v:#x}");
        assert_eq!(f32_to_half(f32::from_bits(tie.to_bits() - 1)), v, "{v:#x}");
        assert_eq!(f32_to_half(f32::from_bits(tie.to_bits() + 1)), v + 1, "{v:#x}");
        assert_eq!(f32_to_half(-tie), 0x8000 | (v + (v & 1)));
    }
    assert_eq!(half_to_f32(0x3C00), 1.0);
    assert_eq!(half_to_f32(0x7BFF), 65504.0);
    assert_eq!(half_to_f32(1), 2f32.powi(-24));
    assert_eq!(f32_to_half(65519.99), 0x7BFF);
    assert_eq!(f32_to_half(65520.0), 0x7C00);
    assert_eq!(f32_to_half(f32::NEG_INFINITY), 0xFC00);
    assert_eq!(f32_to_half(f32::MIN_POSITIVE), 0);
    assert_eq!(f32_to_half(f32::from_bits(1)), 0);
    assert_eq!(f32_to_half(f32::NAN), 0x7E00);
    assert!(half_to_f32(0x7C01).is_nan());
}

#[test]
fn small_floats_are_unsigned() {
    let f = TexelFormat::R11G11B10_FLOAT;
    let values = [1.0f32, -3.0, f32::INFINITY].map(f32::to_bits);
    let raw = encode(f, [values[0], values[1], values[2], 0]);
    assert_eq!(raw[0], (15 << 6) | (31 << 5) << 22);
    assert_eq!(decode(f, raw).map(f32::from_bits), [1.0, 0.0, f32::INFINITY, 1.0]);
    for (mantissa, top) in [(6, 0x7BFu32), (5, 0x3DF)] {
        for v in 0..top {
            let (a, b) = (small_float::decode(v, mantissa), small_float::decode(v + 1, mantissa));
            let tie = (a + b) / 2.0;
            assert_eq!(small_float::encode(tie, mantissa), v + (v & 1));
            assert_eq!(small_float::encode(f32::from_bits(tie.to_bits() + 1), mantissa), v + 1);
        }
        assert_eq!(small_float::encode(f32::MAX, mantissa), top + 1);
        assert_eq!(small_float::encode(f32::NEG_INFINITY, mantissa), 0);
    }
}

/// Against the curve as the standard library computes it, which may differ in
/// the last place.
#[test]
fn srgb_follows_the_curve() {
    let curve = |c: f64| {
        if c <= 0.04045 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) }
    };
    let f = TexelFormat::R8G8B8A8_UNORM_SRGB;
    for v in 0..256u32 {
        let want = curve(f64::from(v) / 255.0);
        assert!((f64::from(one(f, v)) - want).abs() <= want * 1e-7, "{v}");
        // Alpha is not curved.
        assert_eq!(decode(f, [v << 24, 0, 0, 0])[3], (v as f32 / 255.0).to_bits());
    }
    assert_eq!(one(f, 255), 1.0);
    for i in 0..=10_000 {
        let x = f64::from(i) / 10_000.0;
        let coded = if x <= 0.003_130_8 { 12.92 * x } else { 1.055 * x.powf(1.0 / 2.4) - 0.055 };
        let got = f64::from(code(f, x as f32));
        assert!((got - coded * 255.0).abs() <= 0.5001, "{x}");
    }
    assert_eq!(code(f, f32::NAN), 0);
    assert_eq!(code(f, 9.0), 255);
}

proptest! {
    #[test]
    fn full_words_pass_through(raw in any::<[u32; 4]>()) {
        let f = TexelFormat::R32G32B32A32_FLOAT;
        prop_assert_eq!(encode(f, decode(f, raw)), raw);
        prop_assert_eq!(decode(TexelFormat::R32G32B32A32_UINT, raw), raw);
    }

    #[test]
    fn no_value_panics(which in 0..TexelFormat::ALL.len(), raw in any::<[u32; 4]>()) {
        let f = TexelFormat::ALL[which];
        let lanes = raw.map(|w| [w; 64]);
        let mut out = vec![[0; 64]; words(f)];
        encode_wave(f, &lanes.each_ref(), &mut out);
        let want = encode(f, raw);
        for (o, w) in out.iter().zip(want) { prop_assert_eq!(o[63], w); }
        decode(f, raw);
    }
}
