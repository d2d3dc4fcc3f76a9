//! PNG files in and out.

use super::resources::{Item, World};
use super::view::contents;
use super::{Context, RunError};
use crate::format::image::ImageDecl;
use crate::load::read_bytes;
use crate::problem::Problem;
use image::{ExtendedColorType, ImageEncoder, ImageReader, Limits};
use std::io::Cursor;
use std::path::PathBuf;
use wavefence_base::TexelFormat;
use wavefence_d3d::Device;
use wavefence_report::{Output, Report};

/// Largest PNG file that is read.
const MAX_FILE: u64 = 512 << 20;
/// Largest side of an image (Direct3D 12's limit for textures).
const MAX_SIDE: u32 = 16384;
/// Most bytes that decoding may take.
const MAX_DECODED: u64 = 2 << 30;

/// An image in memory: tight rows in its texture's format.
pub(super) struct Pixels {
    pub width: u32,
    pub height: u32,
    pub bytes: Vec<u8>,
}

/// Order and number of the channels of a texture that a PNG can be.
#[derive(Clone, Copy)]
enum Channels {
    Rgba,
    Bgra,
    Grey,
}

fn channels(cx: &Context<'_>, decl: &ImageDecl) -> Result<Channels, RunError> {
    match decl.format {
        TexelFormat::R8G8B8A8_UNORM
        | TexelFormat::R8G8B8A8_UNORM_SRGB
        | TexelFormat::R8G8B8A8_UINT => Ok(Channels::Rgba),
        TexelFormat::B8G8R8A8_UNORM | TexelFormat::B8G8R8A8_UNORM_SRGB => Ok(Channels::Bgra),
        TexelFormat::R8_UNORM | TexelFormat::R8_UINT => Ok(Channels::Grey),
        other => {
            let message = format!("an image of {} is no PNG", other.name());
            let help = "R8G8B8A8_UNORM, R8G8B8A8_UNORM_SRGB, R8G8B8A8_UINT, B8G8R8A8_UNORM, \
                        B8G8R8A8_UNORM_SRGB, R8_UNORM and R8_UINT are";
            Err(cx.error(Problem::at(decl.name.at, message).help(help).unsupported()))
        }
    }
}

fn given(cx: &Context<'_>, decl: &ImageDecl) -> Option<PathBuf> {
    let last = cx.options.images.iter().rev().find(|(name, _)| *name == decl.name.value);
    last.map(|(_, path)| path.clone())
}

/// Reads the file of an image.
pub(super) fn read(cx: &Context<'_>, decl: &ImageDecl) -> Result<Pixels, RunError> {
    let channels = channels(cx, decl)?;
    let file = decl.input.as_ref().map(|f| cx.folder.join(&f.value));
    let Some(path) = given(cx, decl).or(file) else {
        return Err(cx.error(Problem::at(decl.name.at, "the image has no File")));
    };
    let at = decl.input.as_ref().map_or(decl.name.at, |f| f.at);
    let bad = |why: String| cx.error(Problem::at(at, format!("image {}: {why}", path.display())));
    let data = read_bytes(&path, MAX_FILE).map_err(bad)?;
    let mut reader = ImageReader::new(Cursor::new(data));
    reader.set_format(image::ImageFormat::Png);
    let mut limits = Limits::default();
    limits.max_image_width = Some(MAX_SIDE);
    limits.max_image_height = Some(MAX_SIDE);
    limits.max_alloc = Some(MAX_DECODED);
    reader.limits(limits);
    let decoded =
        reader.decode().map_err(|e| bad(format!("this is no PNG file we can read: {e}")))?;
    let (width, height) = (decoded.width(), decoded.height());
    let bytes = match channels {
        Channels::Rgba => decoded.into_rgba8().into_raw(),
        Channels::Bgra => {
            let mut bytes = decoded.into_rgba8().into_raw();
            swap(&mut bytes);
            bytes
        }
        Channels::Grey => decoded.into_luma8().into_raw(),
    };
    Ok(Pixels { width, height, bytes })
}

/// Exchanges red and blue.
fn swap(bytes: &mut [u8]) {
    for pixel in bytes.chunks_exact_mut(4) {
        pixel.swap(0, 2);
    }
}

/// Writes every image that has an Output, or that the caller gave a path for.
pub(super) fn write_outputs(
    cx: &Context<'_>,
    device: &Device,
    world: &World,
    report: &mut Report,
) -> Result<(), RunError> {
    for decl in &cx.scenario.images {
        let from_file = decl.input.is_some();
        let given = given(cx, decl).filter(|_| !from_file);
        let Some(path) = given.or_else(|| decl.output.as_ref().map(|o| PathBuf::from(&o.value)))
        else {
            continue;
        };
        let Some(item @ Item::Texture(texture)) = world.items.get(&decl.name.value) else {
            continue;
        };
        let at = decl.output.as_ref().map_or(decl.name.at, |o| o.at);
        let mut bytes = contents(device, item).map_err(|e| cx.api(at, e))?;
        let color = match channels(cx, decl)? {
            Channels::Rgba => ExtendedColorType::Rgba8,
            Channels::Bgra => {
                swap(&mut bytes);
                ExtendedColorType::Rgba8
            }
            Channels::Grey => ExtendedColorType::L8,
        };
        let [width, height, _] = texture.extent();
        write(&path, &bytes, width, height, color).map_err(|why| {
            cx.error(Problem::at(at, format!("cannot write {}: {why}", path.display())))
        })?;
        let path = path.display().to_string();
        report.outputs.push(Output { name: decl.name.value.clone(), path, width, height });
    }
    Ok(())
}

fn write(
    path: &std::path::Path,
    bytes: &[u8],
    width: u32,
    height: u32,
    color: ExtendedColorType,
) -> Result<(), String> {
    if let Some(folder) = path.parent()
        && !folder.as_os_str().is_empty()
    {
        std::fs::create_dir_all(folder).map_err(|e| e.to_string())?;
    }
    let file = std::fs::File::create(path).map_err(|e| e.to_string())?;
    let writer = std::io::BufWriter::new(file);
    image::codecs::png::PngEncoder::new(writer)
        .write_image(bytes, width, height, color)
        .map_err(|e| e.to_string())
}
