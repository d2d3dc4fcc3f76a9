use crate::descriptor::{AddressMode, Comparison, Descriptor, Filter, Image, Sampler};
use crate::image::{Request, execute};
use proptest::prelude::*;
use std::sync::Arc;
use wavefence_base::{GpuAddress, LaneMask, Profile, ProfileName, TexelFormat};
use wavefence_memory::port::Lanes;
use wavefence_memory::{AddressSpace, AllocationDesc, CoherentPort};
use wavefence_shader::ir::{ImageDim, ImageOp, Lod, Reg};

const BASE: GpuAddress = GpuAddress(0x10_0000);

/// An image of one float per texel, and what lies in it.
struct Scene {
    image: Image,
    port: CoherentPort,
}

impl Scene {
    fn new(
        dim: ImageDim,
        size: [u32; 3],
        layers: u32,
        levels: u32,
        value: impl Fn(u32, u32, [u32; 3]) -> f32,
    ) -> Self {
        let image = Image::whole(BASE, dim, TexelFormat::R32_FLOAT, size, layers, levels);
        assert_eq!(image.broken_rule(), None);
        let space = Arc::new(AddressSpace::new(&Profile::get(ProfileName::XboxOneX)));
        space.allocate(AllocationDesc::new("image", image.bytes()).at(BASE)).unwrap();
        for layer in 0..layers {
            for l in 0..levels {
                let level = image.level(l);
                for z in 0..level.size[2] {
                    for y in 0..level.size[1] {
                        for x in 0..level.size[0] {
                            let at = u64::from(layer) * image.layer_pitch()
                                + level.offset
                                + u64::from(z) * level.slice_pitch
                                + u64::from(y) * level.row_pitch
                                + 4 * u64::from(x);
                            let v = value(layer, l, [x, y, z]).to_bits();
                            space.host().write_u32(BASE.offset(at), v).unwrap();
                        }
                    }
                }
            }
        }
        Self { image, port: CoherentPort::new(space) }
    }

    fn run(
        &mut self,
        op: &ImageOp,
        s: Sampler,
        coords: &[Lanes],
        mask: u64,
        regs: &[Lanes],
        n: usize,
    ) -> Vec<Lanes> {
        let (image, sampler) = (Descriptor::Image(self.image), Descriptor::Sampler(s));
        let coords: Vec<&Lanes> = coords.iter().collect();
        let request = Request {
            image: &image,
            sampler: Some(&sampler),
            coords: &coords,
            offset: &[],
            wide: false,
            data: &[],
            mask: LaneMask(mask),
            coherent: false,
            volatile: false,
            loc: 0,
        };
        let mut out = vec![[0; 64]; n];
        execute(op, &request, &|r: Reg| &regs[r.index()], &mut self.port, &mut out).unwrap();
        assert!(!self.port.has_misses());
        out
    }

    /// Samples one place at one level.
    fn at(&mut self, s: Sampler, coords: &[f32], level: f32) -> f32 {
        let coords: Vec<Lanes> = coords.iter().map(|c| [c.to_bits(); 64]).collect();
        let out = self.run(&sample(Lod::Level(Reg(0))), s, &coords, 1, &[[level.to_bits(); 64]], 4);
        assert_eq!(out[3][0], 1f32.to_bits());
        f32::from_bits(out[0][0])
    }
}

fn sample(lod: Lod) -> ImageOp {
    ImageOp::Sample { lod, compare: None, min_lod: None }
}

fn linear() -> Sampler {
    Sampler { mag: Filter::Linear, min: Filter::Linear, mip: Filter::Linear, ..Sampler::default() }
}

fn clamped() -> Sampler {
    Sampler { address: [AddressMode::Clamp; 3], ..linear() }
}

#[test]
fn points_and_edges() {
    let mut s = Scene::new(ImageDim::D2, [4, 2, 1], 1, 1, |_, _, [x, y, _]| (10 * y + x) as f32);
    let point = Sampler::default();
    assert_eq!(s.at(point, &[0.3, 0.6], 0.0), 11.0);
    assert_eq!(s.at(point, &[1.0, 0.0], 0.0), 0.0);
    assert_eq!(s.at(point, &[-0.01, 0.0], 0.0), 3.0);
    assert_eq!(s.at(point, &[f32::NAN, 0.0], 0.0), 0.0);
    let border = Sampler {
        address: [AddressMode::Border; 3],
        border: [5f32.to_bits(), 0, 0, 1f32.to_bits()],
        ..linear()
    };
    assert_eq!(s.at(border, &[2.0, 0.5], 0.0), 5.0);
    // Half the edge texel of the first row, half the border.
    assert_eq!(s.at(border, &[0.0, 0.25], 0.0), 2.5);
    let huge = s.at(clamped(), &[3e38, -3e38], 0.0);
    assert_eq!(huge, 3.0);
}

#[test]
fn levels_are_picked_and_blended() {
    let mut s = Scene::new(ImageDim::D2, [8, 8, 1], 1, 4, |_, l, _| l as f32);
    let at = |s: &mut Scene, sampler, lod| s.at(sampler, &[0.4, 0.7], lod);
    assert_eq!(at(&mut s, linear(), 1.25), 1.25);
    assert_eq!(at(&mut s, linear(), 9.0), 3.0);
    assert_eq!(at(&mut s, linear(), -2.0), 0.0);
    let point = Sampler { mip: Filter::Point, ..linear() };
    assert_eq!(at(&mut s, point, 1.49), 1.0);
    assert_eq!(at(&mut s, point, 1.5), 2.0);
    assert_eq!(at(&mut s, Sampler { max_lod: 0.5, ..linear() }, 3.0), 0.5);
    assert_eq!(at(&mut s, Sampler { min_lod: 2.0, ..linear() }, 0.0), 2.0);
    assert_eq!(at(&mut s, Sampler { lod_bias: 0.75, ..linear() }, 1.0), 1.75);
    // A view of levels 1 and 2.
    s.image.first_level = 1;
    s.image.view_levels = 2;
    assert_eq!(at(&mut s, linear(), 0.5), 1.5);
    assert_eq!(at(&mut s, linear(), 5.0), 2.0);
}

#[test]
fn derivatives_pick_the_level() {
    let mut s = Scene::new(ImageDim::D2, [16, 16, 1], 1, 5, |_, l, _| l as f32);
    // Two texels a pixel in x, one in y: level 1.
    let x: Lanes = std::array::from_fn(|l| ((l % 2) as f32 * 2.0 / 16.0).to_bits());
    let y: Lanes = std::array::from_fn(|l| ((l / 2 % 2) as f32 / 16.0).to_bits());
    let run = |s: &mut Scene, op: &ImageOp, sampler, mask, regs: &[Lanes], n| {
        s.run(op, sampler, &[x, y], mask, regs, n)
            .iter()
            .map(|o| f32::from_bits(o[4]))
            .collect::<Vec<_>>()
    };
    let implicit = sample(Lod::Implicit(None));
    assert_eq!(run(&mut s, &implicit, linear(), u64::MAX, &[], 1), [1.0]);
    // Without the neighbour in x and those below, y is what is left: nothing.
    assert_eq!(run(&mut s, &implicit, linear(), 1 << 4, &[], 1), [0.0]);
    let bias = [1.5f32.to_bits(); 64];
    let biased = sample(Lod::Implicit(Some(Reg(0))));
    assert_eq!(run(&mut s, &biased, linear(), u64::MAX, &[bias], 1), [2.5]);
    let least = ImageOp::Sample { lod: Lod::Implicit(None), compare: None, min_lod: Some(Reg(0)) };
    assert_eq!(run(&mut s, &least, linear(), u64::MAX, &[bias], 1), [1.5]);
    let [quarter, zero] = [0.25f32, 0.0].map(|v| [v.to_bits(); 64]);
    let grad = sample(Lod::Grad(vec![Reg(0), Reg(1)], vec![Reg(1), Reg(1)]));
    assert_eq!(run(&mut s, &grad, linear(), u64::MAX, &[quarter, zero], 1), [2.0]);
    let query = Sampler { max_lod: 0.5, lod_bias: 0.25, ..linear() };
    assert_eq!(run(&mut s, &ImageOp::QueryLod, query, u64::MAX, &[], 2), [0.5, 1.25]);
    // Anisotropic: four samples along x at level 0 in place of one at level 2.
    let aniso = Sampler { max_anisotropy: 4, ..linear() };
    let tenth = [(1f32 / 16.0).to_bits(); 64];
    let grad = sample(Lod::Grad(vec![Reg(0), Reg(1)], vec![Reg(1), Reg(2)]));
    assert_eq!(run(&mut s, &grad, aniso, u64::MAX, &[quarter, zero, tenth], 1), [0.0]);
    assert_eq!(run(&mut s, &grad, linear(), u64::MAX, &[quarter, zero, tenth], 1), [2.0]);
}

#[test]
fn gathers_go_round_from_lower_left() {
    let mut s =
        Scene::new(ImageDim::D2, [4, 4, 1], 2, 1, |n, _, [x, y, _]| (100 * n + 10 * y + x) as f32);
    let coords = [0.5f32, 0.5, 0.9].map(|c| [c.to_bits(); 64]);
    let gather = |component, compare| ImageOp::Gather { component, compare };
    let get = |out: Vec<Lanes>| out.iter().map(|o| f32::from_bits(o[2])).collect::<Vec<_>>();
    let out = s.run(&gather(0, None), linear(), &coords, u64::MAX, &[], 4);
    assert_eq!(get(out), [121.0, 122.0, 112.0, 111.0]);
    let out = s.run(&gather(3, None), linear(), &coords, u64::MAX, &[], 4);
    assert_eq!(get(out), [1.0; 4]);
    let test = Sampler { comparison: Some(Comparison::Less), ..linear() };
    let reference = [112f32.to_bits(); 64];
    let out = s.run(&gather(0, Some(Reg(0))), test, &coords, u64::MAX, &[reference], 4);
    assert_eq!(get(out), [1.0, 1.0, 0.0, 0.0]);
}

#[test]
fn comparisons_are_filtered() {
    let mut s = Scene::new(ImageDim::D2, [2, 1, 1], 1, 1, |_, _, [x, ..]| x as f32);
    let op = ImageOp::Sample { lod: Lod::Zero, compare: Some(Reg(0)), min_lod: None };
    let coords = [0.5f32, 0.5].map(|c| [c.to_bits(); 64]);
    for (test, want) in [
        (Comparison::Never, 0.0),
        (Comparison::Less, 0.5),
        (Comparison::Equal, 0.0),
        (Comparison::LessEqual, 0.5),
        (Comparison::Greater, 0.5),
        (Comparison::NotEqual, 1.0),
        (Comparison::GreaterEqual, 0.5),
        (Comparison::Always, 1.0),
    ] {
        let sampler = Sampler { comparison: Some(test), ..clamped() };
        let out = s.run(&op, sampler, &coords, 1, &[[0.5f32.to_bits(); 64]], 1);
        assert_eq!(f32::from_bits(out[0][0]), want, "{test:?}");
    }
}

/// A cube whose texels hold their face; across an edge the two faces mix.
#[test]
fn cubes_are_seamless() {
    let mut s = Scene::new(ImageDim::Cube, [4, 4, 1], 12, 1, |n, _, _| n as f32);
    let faces = [
        [1.0, 0.0, 0.0],
        [-1.0, 0.2, 0.1],
        [0.0, 2.0, 0.0],
        [0.3, -1.0, 0.0],
        [0.0, 0.0, 1.0],
        [0.1, 0.1, -3.0],
    ];
    for (i, d) in faces.into_iter().enumerate() {
        assert_eq!(s.at(linear(), &d, 0.0), i as f32);
        let [x, y, z] = d;
        assert_eq!(s.at(linear(), &[x, y, z, 1.0], 0.0), (6 + i) as f32);
        assert_eq!(s.at(Sampler::default(), &d, 0.0), i as f32);
    }
    assert_eq!(s.at(linear(), &[1.0, 0.0, 1.0], 0.0), 2.0);
    assert_eq!(s.at(linear(), &[1.0, 1.0, 0.0], 0.0), 1.0);
    // At a corner the three faces weigh alike: (0 + 2 + 4) / 3.
    assert_eq!(s.at(linear(), &[1.0, 1.0, 1.0], 0.0), 2.0);
    assert_eq!(s.at(Sampler::default(), &[1.0, 1.0, 1.0], 0.0), 4.0);
}

/// Straight from the definition, in double precision.
fn model(value: &dyn Fn([i64; 3]) -> f64, size: [u32; 3], at: [f64; 3], dims: usize) -> f64 {
    let mut sum = 0.0;
    for tap in 0..1 << dims {
        let (mut weight, mut texel) = (1.0, [0; 3]);
        for c in 0..dims {
            let t = at[c] * f64::from(size[c]) - 0.5;
            let bit = tap >> c & 1;
            texel[c] = t.floor() as i64 + bit;
            weight *= if bit == 1 { t - t.floor() } else { 1.0 - (t - t.floor()) };
        }
        sum += weight * value(texel);
    }
    sum
}

proptest! {
    #[test]
    fn linear_filters_match_the_definition(
        dims in 1..=3usize, size in any::<[u8; 3]>(), at in proptest::array::uniform3(-2f32..3.0)
    ) {
        let size: [u32; 3] = std::array::from_fn(|c| if c < dims { 1 + u32::from(size[c] % 9) } else { 1 });
        let dim = [ImageDim::D1, ImageDim::D2, ImageDim::D3][dims - 1];
        let texel = |t: [u32; 3]| ((t[0] * 7 + t[1] * 5 + t[2] * 3) % 11) as f32;
        let mut s = Scene::new(dim, size, 1, 1, |_, _, t| texel(t));
        let wrapped = |t: [i64; 3]| {
            f64::from(texel(std::array::from_fn(|c| t[c].rem_euclid(i64::from(size[c])) as u32)))
        };
        let want = model(&wrapped, size, at.map(f64::from), dims);
        let got = f64::from(s.at(linear(), &at[..dims], 0.0));
        prop_assert!((got - want).abs() < 1e-4, "{} {}", got, want);
        let clamp = |t: [i64; 3]| {
            f64::from(texel(std::array::from_fn(|c| t[c].clamp(0, i64::from(size[c]) - 1) as u32)))
        };
        let want = model(&clamp, size, at.map(f64::from), dims);
        let got = f64::from(s.at(clamped(), &at[..dims], 0.0));
        prop_assert!((got - want).abs() < 1e-4, "{} {}", got, want);
    }

    #[test]
    fn a_constant_stays_what_it_is(at in any::<[f32; 2]>(), lod in any::<f32>(), aniso in 1..=16u32) {
        let mut s = Scene::new(ImageDim::D2, [5, 3, 1], 1, 3, |_, _, _| 0.1);
        let sampler = Sampler { max_anisotropy: aniso, ..linear() };
        prop_assert_eq!(s.at(sampler, &at, lod), 0.1);
    }
}
