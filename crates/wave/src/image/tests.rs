use super::*;
use crate::texel;
use proptest::prelude::*;
use std::sync::Arc;
use wavefence_base::{GpuAddress, Profile, ProfileName};
use wavefence_memory::{AddressSpace, AllocationDesc, CoherentPort};
use wavefence_shader::ir::AtomicOp;

const BASE: GpuAddress = GpuAddress(0x10_0000);

fn memory(bytes: u64) -> (Arc<AddressSpace>, CoherentPort) {
    let space = Arc::new(AddressSpace::new(&Profile::get(ProfileName::SeriesX)));
    space.allocate(AllocationDesc::new("image", bytes).at(BASE)).unwrap();
    let port = CoherentPort::new(Arc::clone(&space));
    (space, port)
}

fn request<'a>(
    image: &'a Descriptor,
    coords: &'a [&'a Lanes],
    data: &'a [&'a Lanes],
) -> Request<'a> {
    Request {
        image,
        sampler: None,
        coords,
        offset: &[],
        wide: false,
        data,
        mask: LaneMask(u64::MAX),
        coherent: false,
        volatile: false,
        loc: 3,
    }
}

fn no_reg(_: Reg) -> &'static Lanes {
    &[0; 64]
}

fn run(op: &ImageOp, r: &Request<'_>, port: &mut CoherentPort, n: usize) -> Vec<Lanes> {
    let mut out = vec![[0xDEAD; 64]; n];
    execute(op, r, &no_reg, port, &mut out).unwrap();
    assert!(!port.has_misses(), "{:?}", port.take_misses());
    out
}

const LOAD: ImageOp = ImageOp::Load { lod: Lod::Zero };

#[test]
fn layout_is_as_documented() {
    let i = Image::whole(BASE, ImageDim::D2, TexelFormat::R8G8B8A8_UNORM, [100, 50, 1], 3, 7);
    let l0 = i.level(0);
    assert_eq!((l0.offset, l0.row_pitch, l0.slice_pitch), (0, 512, 25_600));
    let l1 = i.level(1);
    assert_eq!((l1.offset, l1.size, l1.row_pitch), (25_600, [50, 25, 1], 256));
    let l2 = i.level(2);
    assert_eq!((l2.offset, l2.size), (25_600 + 6_656, [25, 12, 1]));
    assert_eq!(i.level(6).size, [1, 1, 1]);
    assert_eq!(i.layer_pitch() % LEVEL_ALIGNMENT, 0);
    assert_eq!(i.bytes(), 3 * i.layer_pitch());
    let tight = Image { levels: 1, view_levels: 1, row_pitch: 400, ..i };
    assert_eq!(tight.level(0).row_pitch, 400);
    assert_eq!(tight.layer_pitch(), 20_480);
    // Texels of different levels and layers never share a byte.
    let g = Geometry::of(&Image {
        first_level: 1,
        view_levels: 2,
        first_layer: 1,
        view_layers: 2,
        ..i
    });
    assert_eq!(g.base, BASE.offset(i.layer_pitch()));
    assert_eq!(g.offset(0, [49, 24, 0], 0), Some(25_600 + 24 * 256 + 49 * 4));
    assert_eq!(g.offset(1, [0, 0, 0], 1), Some((i.layer_pitch() + l2.offset) as u32));
    assert_eq!(g.offset(0, [50, 0, 0], 0), None);
    assert_eq!(g.offset(2, [0, 0, 0], 0), None);
    assert_eq!(g.offset(0, [0, 0, 0], 2), None);
}

fn shapes() -> impl Strategy<Value = (ImageDim, [u32; 3], u32)> {
    (0..4u32, 1..20u32, 1..20u32, 1..6u32).prop_map(|(d, w, h, n)| match d {
        0 => (ImageDim::D1, [w, 1, 1], n),
        1 => (ImageDim::D2, [w, h, 1], n),
        2 => (ImageDim::D3, [w, h, n], 1),
        _ => (ImageDim::Cube, [w, w, 1], 6 * n),
    })
}

proptest! {
    /// Stores of distinct texels, then loads, in range and out.
    #[test]
    fn what_is_stored_is_loaded(
        (dim, size, layers) in shapes(), which in 0..TexelFormat::ALL.len(),
        picks in proptest::collection::vec(any::<[u16; 4]>(), 64), m in any::<u64>(),
    ) {
        let format = TexelFormat::ALL[which];
        prop_assume!(format.component_bits()[0] != 64);
        let image = Image::whole(BASE, dim, format, size, layers, 1);
        prop_assert_eq!(image.broken_rule(), None);
        let (_, mut port) = memory(image.bytes());
        let d = Descriptor::Image(image);
        let dims = dimensions(dim);
        let coords: Vec<Lanes> = (0..=dims).map(|c| {
            let limit = if c == dims { layers } else { size[c] };
            std::array::from_fn(|l| u32::from(picks[l][c]) % (limit + 1))
        }).collect();
        let coords: Vec<&Lanes> = coords.iter().collect();
        let data: [Lanes; 4] = std::array::from_fn(|c| std::array::from_fn(|l| {
            ((l + 1) as f32 / (64.0 + c as f32)).to_bits()
        }));
        let mut r = request(&d, &coords, &[]);
        let refs = data.each_ref();
        r.data = &refs;
        r.mask = LaneMask(m);
        run(&ImageOp::Store, &r, &mut port, 0);
        r.mask = LaneMask(u64::MAX);
        let out = run(&LOAD, &r, &mut port, 4);
        for l in 0..64 {
            let inside = (0..dims).all(|c| coords[c][l] < size[c]) && coords[dims][l] < layers;
            // The last lane that wrote the same texel.
            let writer = (0..64).rev().find(|&w| {
                m >> w & 1 == 1 && (0..=dims).all(|c| coords[c][w] == coords[c][l])
            });
            let raw = match writer {
                Some(w) if inside => texel::encode(format, std::array::from_fn(|c| data[c][w])),
                _ => [0; 4],
            };
            let want = texel::decode(format, raw);
            for c in 0..4 { prop_assert_eq!(out[c][l], want[c]); }
        }
    }
}

#[test]
fn levels_and_offsets_are_followed() {
    let image = Image::whole(BASE, ImageDim::D2, TexelFormat::R32_UINT, [8, 8, 1], 1, 3);
    let (space, mut port) = memory(image.bytes());
    let at = image.level(1).offset + 2 * image.level(1).row_pitch + 3 * 4;
    space.host().write_u32(BASE.offset(at), 99).unwrap();
    let d = Descriptor::Image(image);
    let (x, y): (Lanes, Lanes) = ([5; 64], [2; 64]);
    let level: Lanes = std::array::from_fn(|l| l as u32);
    let back = [-2i32 as u32; 64];
    let coords = [&x, &y];
    let mut r = request(&d, &coords, &[]);
    let offset = [&back];
    r.offset = &offset;
    let op = ImageOp::Load { lod: Lod::Level(Reg(7)) };
    let mut out = vec![[1; 64]; 4];
    let read = |reg| {
        assert_eq!(reg, Reg(7));
        &level
    };
    execute(&op, &r, &read, &mut port, &mut out).unwrap();
    assert_eq!(out[0][..5], [0, 99, 0, 0, 0]);
    assert_eq!(out[3], [1; 64]);
}

#[test]
fn sizes() {
    let size = |d: &Descriptor, n| {
        let (_, mut port) = memory(64);
        run(&ImageOp::Size { level: None }, &request(d, &[], &[]), &mut port, n)
            .iter()
            .map(|o| o[9])
            .collect::<Vec<_>>()
    };
    let f = TexelFormat::R8_UNORM;
    let image =
        |dim, s, layers, levels| Descriptor::Image(Image::whole(BASE, dim, f, s, layers, levels));
    assert_eq!(size(&image(ImageDim::D1, [7, 1, 1], 4, 1), 2), [7, 4]);
    assert_eq!(size(&image(ImageDim::D2, [7, 5, 1], 4, 3), 3), [7, 5, 4]);
    assert_eq!(size(&image(ImageDim::D3, [7, 5, 3], 1, 1), 3), [7, 5, 3]);
    assert_eq!(size(&image(ImageDim::Cube, [4, 4, 1], 12, 1), 3), [4, 4, 2]);
    assert_eq!(size(&Descriptor::Null, 2), [0, 0]);
    let buffer = TypedBuffer { address: BASE, bytes: 35, format: TexelFormat::R32_FLOAT };
    assert_eq!(size(&Descriptor::TypedBuffer(buffer), 1), [8]);
    let d = image(ImageDim::D2, [8, 4, 1], 1, 4);
    let level: Lanes = std::array::from_fn(|l| l as u32);
    let (_, mut port) = memory(64);
    let mut out = [[0; 64]; 2];
    let op = ImageOp::Size { level: Some(Reg(0)) };
    execute(&op, &request(&d, &[], &[]), &|_| &level, &mut port, &mut out).unwrap();
    assert_eq!(out[0][..5], [8, 4, 2, 1, 0]);
    assert_eq!(out[1][..5], [4, 2, 1, 1, 0]);
    assert_eq!(run(&ImageOp::Levels, &request(&d, &[], &[]), &mut port, 1)[0][0], 4);
}

#[test]
fn atomics_and_typed_buffers() {
    let (space, mut port) = memory(256);
    let buffer = TypedBuffer { address: BASE, bytes: 256, format: TexelFormat::R32_UINT };
    let d = Descriptor::TypedBuffer(buffer);
    // Lanes 0..32 count in element 5; the rest lies beyond the end.
    let at: Lanes = std::array::from_fn(|l| if l < 32 { 5 } else { 64 + l as u32 });
    let one = [1; 64];
    let (coords, data) = ([&at], [&one]);
    let r = request(&d, &coords, &data);
    let old = run(&ImageOp::Atomic(AtomicOp::Add), &r, &mut port, 1);
    assert_eq!(
        old[0][..33],
        std::array::from_fn::<u32, 33, _>(|l| if l < 32 { l as u32 } else { 0 })
    );
    assert_eq!(space.host().read_u32(BASE.offset(20)), Ok(32));
    assert_eq!(run(&LOAD, &r, &mut port, 4)[0][3], 32);
    assert_eq!(run(&ImageOp::Atomic(AtomicOp::Load), &r, &mut port, 1)[0][31], 32);
    run(&ImageOp::Atomic(AtomicOp::Store), &r, &mut port, 0);
    assert_eq!(space.host().read_u32(BASE.offset(20)), Ok(1));
    let (three, nine) = ([1; 64], [9; 64]);
    let data = [&nine, &three];
    let r = request(&d, &coords, &data);
    let old = run(&ImageOp::Atomic(AtomicOp::CompareExchange), &r, &mut port, 1);
    assert_eq!(old[0][..3], [1, 9, 9]);
}

#[test]
fn refusals_name_what_is_not_there() {
    let f = |format| Descriptor::Image(Image::whole(BASE, ImageDim::D2, format, [4, 4, 1], 1, 1));
    let no = |op: &ImageOp, d: &Descriptor, s| check(op, false, d, s).unwrap_err().to_string();
    let rgba = f(TexelFormat::R8G8B8A8_UNORM);
    assert_eq!(
        no(&ImageOp::Atomic(AtomicOp::Add), &rgba, None),
        "an image atomic on R8G8B8A8_UNORM; it takes formats of one 32-bit component"
    );
    assert_eq!(
        no(&LOAD, &f(TexelFormat::R64_UINT), None),
        "image access through the 64-bit format R64_UINT"
    );
    let sample = ImageOp::Sample { lod: Lod::Zero, compare: None, min_lod: None };
    let linear = Descriptor::Sampler(Sampler { min: Filter::Linear, ..Sampler::default() });
    assert_eq!(
        no(&sample, &f(TexelFormat::R32_UINT), Some(&linear)),
        "linear filtering of the integer format R32_UINT"
    );
    let compare = ImageOp::Sample { lod: Lod::Zero, compare: Some(Reg(0)), min_lod: None };
    assert_eq!(
        no(&compare, &rgba, Some(&linear)),
        "a comparison through a sampler that compares nothing"
    );
    let user = Descriptor::UserData { first: 0, count: 1 };
    assert!(no(&LOAD, &user, None).contains("no format"));
    assert!(no(&sample, &rgba, Some(&user)).contains("no sampler"));
    assert!(check(&sample, false, &Descriptor::Null, None).is_ok());
    let huge =
        Image::whole(BASE, ImageDim::D2, TexelFormat::R32G32B32A32_UINT, [16384, 16384, 1], 2, 1);
    assert_eq!(huge.broken_rule(), None);
    assert!(no(&LOAD, &Descriptor::Image(huge), None).contains("4 GiB"));
}

#[test]
fn two_components_of_64_bits() {
    let (space, mut port) = memory(256);
    let format = TexelFormat::R64G64_SINT;
    let d = Descriptor::TypedBuffer(TypedBuffer { address: BASE, bytes: 256, format });
    let at: Lanes = std::array::from_fn(|l| l as u32);
    let (low, high, other) = ([7; 64], [u32::MAX; 64], [9; 64]);
    let (coords, data) = ([&at], [&low, &high, &other, &low]);
    let r = Request { wide: true, ..request(&d, &coords, &data) };
    run(&ImageOp::Store, &r, &mut port, 0);
    assert_eq!(space.host().read_u32(BASE.offset(20)), Ok(u32::MAX));
    let out = run(&LOAD, &r, &mut port, 8);
    let of = |lane: usize| out.iter().map(|words| words[lane]).collect::<Vec<u32>>();
    assert_eq!(of(15), [7, u32::MAX, 9, 7, 0, 0, 1, 0]);
    // Beyond the end.
    assert_eq!(of(16), [0, 0, 0, 0, 0, 0, 1, 0]);
    assert!(check(&ImageOp::Atomic(AtomicOp::Add), true, &d, None).is_err());
}
