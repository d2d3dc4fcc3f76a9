//! Where the texels of a texture lie: linear rows.

use wavefence_wave::descriptor::Image;

/// Alignment of a row, as Direct3D 12 asks for copies between buffers and textures.
const ROW_ALIGNMENT: u64 = 4;

/// The image with its row pitch filled in, and the bytes it takes.
pub(crate) fn lay_out(mut image: Image) -> Result<(Image, u64), String> {
    if image.levels != 1 || image.layers != 1 || image.depth != 1 {
        return Err("mip levels, layers and depth are not supported yet".into());
    }
    let row =
        (u64::from(image.width) * u64::from(image.format.bytes())).next_multiple_of(ROW_ALIGNMENT);
    image.row_pitch = row as u32;
    Ok((image, row * u64::from(image.height)))
}

/// Bytes from row to row of a level.
pub(crate) fn row_pitch(image: &Image, level: u32) -> u64 {
    debug_assert_eq!(level, 0);
    u64::from(image.row_pitch)
}
