use super::*;
use proptest::prelude::*;

fn format() -> impl Strategy<Value = TexelFormat> {
    (0..TexelFormat::ALL.len()).prop_map(|i| TexelFormat::ALL[i])
}

fn address() -> impl Strategy<Value = GpuAddress> {
    (0..1u64 << 44).prop_map(|a| GpuAddress(a & !3))
}

fn image() -> impl Strategy<Value = Image> {
    let size = (1..=MAX_EXTENT, 1..=MAX_EXTENT, 1..=MAX_EXTENT, 1..=MAX_LAYERS / 6);
    (address(), 0..4usize, format(), size, any::<[u16; 5]>()).prop_map(
        |(address, dim, format, (width, height, depth, layers), pick)| {
            let dim = DIMS[dim];
            let (height, depth, layers) = match dim {
                ImageDim::D1 => (1, 1, layers),
                ImageDim::D2 => (height, 1, layers),
                ImageDim::D3 => (height, depth, 1),
                ImageDim::Cube => (width, 1, layers * 6),
            };
            let pick = pick.map(u32::from);
            let levels = 1 + pick[0] % full_chain(width, height, depth);
            let mut image =
                Image::whole(address, dim, format, [width, height, depth], layers, levels);
            image.first_level = pick[1] % levels;
            image.view_levels = 1 + pick[2] % (levels - image.first_level);
            if dim != ImageDim::Cube {
                image.first_layer = pick[3] % layers;
                image.view_layers = 1 + pick[4] % (layers - image.first_layer);
            }
            if levels == 1 && pick[0] & 1 == 1 {
                image.row_pitch = (width * format.bytes()).next_multiple_of(4) + 4 * (pick[1] % 64);
            }
            image
        },
    )
}

fn sampler() -> impl Strategy<Value = Sampler> {
    let float = -1e6f32..1e6;
    let picks = any::<[u8; 7]>();
    (picks, 1..=16u32, float.clone(), float.clone(), float, any::<[u32; 4]>()).prop_map(
        |(p, max_anisotropy, lod_bias, min_lod, max_lod, border)| {
            let filter = |i: usize| FILTERS[p[i] as usize % 2];
            let mode = |i: usize| MODES[p[i] as usize % 5];
            Sampler {
                mag: filter(0),
                min: filter(1),
                mip: filter(2),
                address: [mode(3), mode(4), mode(5)],
                comparison: COMPARISONS.get(p[6] as usize % 9).copied(),
                max_anisotropy,
                lod_bias,
                min_lod,
                max_lod,
                border,
            }
        },
    )
}

fn descriptor() -> impl Strategy<Value = Descriptor> {
    let bytes = 0..1u64 << 40;
    prop_oneof![
        Just(Descriptor::Null),
        (address(), bytes.clone(), any::<u32>()).prop_map(|(address, bytes, stride)| {
            Descriptor::Buffer(Buffer { address, bytes, stride })
        }),
        (address(), bytes, format()).prop_map(|(address, bytes, format)| {
            Descriptor::TypedBuffer(TypedBuffer { address, bytes, format })
        }),
        image().prop_map(Descriptor::Image),
        sampler().prop_map(Descriptor::Sampler),
        (any::<u32>(), any::<u32>())
            .prop_map(|(first, count)| Descriptor::UserData { first, count }),
    ]
}

proptest! {
    #[test]
    fn round_trip(d in descriptor()) {
        prop_assert_eq!(Descriptor::decode(&d.encode()), Ok(d));
        prop_assert_eq!(Descriptor::from_bytes(&d.to_bytes()), Ok(d));
    }

    /// What decodes encodes to the same words: no bit is looked past.
    #[test]
    fn garbage_is_refused_or_kept(d in descriptor(), word in 0..16usize, bit in 0..32u32) {
        let mut w = d.encode();
        w[word] ^= 1 << bit;
        if let Ok(other) = Descriptor::decode(&w) {
            prop_assert_eq!(other.encode(), w);
        }
    }

    #[test]
    fn noise_never_panics(mut w in any::<[u32; 16]>(), kind in 0..8u32) {
        w[0] = MAGIC | kind;
        if let Ok(other) = Descriptor::decode(&w) {
            prop_assert_eq!(other.encode(), w);
        }
    }
}

#[test]
fn refusals_name_word_and_rule() {
    let mut w = Descriptor::Sampler(Sampler::default()).encode();
    w[5] = f32::NAN.to_bits();
    let e = Descriptor::decode(&w).unwrap_err();
    assert_eq!(e.to_string(), "descriptor word 5 is 0x7fc00000: must not be a NaN");
    assert_eq!(Descriptor::decode(&[0; 16]), Ok(Descriptor::Null));
    assert_eq!(Descriptor::decode(&[7; 16]).unwrap_err().word, 0);
}
