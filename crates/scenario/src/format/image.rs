//! `Images:` 2D textures that come from PNG files, go to PNG files, or both.

use crate::expr::Expr;
use crate::node::Node;
use crate::problem::{Problem, Span};
use crate::reader::{At, Reader, unknown};
use wavefence_base::TexelFormat;

/// How large an image is.
#[derive(Clone, Debug, PartialEq)]
pub enum ImageSize {
    /// As the file it is read from.
    File,
    /// Width and height by expression.
    Given(Expr, Expr),
}

/// One image.
#[derive(Clone, Debug, PartialEq)]
pub struct ImageDecl {
    /// Where its entry stands.
    pub at: Span,
    /// Its name.
    pub name: At<String>,
    /// The PNG file with its first contents, relative to the scenario.
    pub input: Option<At<String>>,
    /// The PNG file that the last contents are written to, relative to the
    /// working directory.
    pub output: Option<At<String>>,
    /// Its size.
    pub size: ImageSize,
    /// Its format.
    pub format: TexelFormat,
}

/// Reads one entry of `Images:`.
pub fn image(r: &Reader, node: &Node) -> Option<ImageDecl> {
    let mut m = r.map(node, "an image")?;
    let name = m.req("Name", |r, n| r.text(n));
    let input = m.opt("File", |r, n| r.text(n));
    let output = m.opt("Output", |r, n| r.text(n));
    let width = m.opt("Width", |r, n| r.expr(n));
    let height = m.opt("Height", |r, n| r.expr(n));
    let format = m.opt("Format", texel_format);
    m.finish()?;
    let (input, width, height) = (input?, width?, height?);
    let size = match (&input, width, height) {
        (Some(_), None, None) => ImageSize::File,
        (None, Some(width), Some(height)) => ImageSize::Given(width, height),
        _ => {
            let message = "an image has either File, or Width and Height";
            r.note(Problem::at(Span::new(node.at.start, 1), message));
            return None;
        }
    };
    let format = format?.unwrap_or(TexelFormat::R8G8B8A8_UNORM);
    Some(ImageDecl { at: node.at, name: name?, input, output: output?, size, format })
}

/// A texel format by its DXGI name.
pub fn texel_format(r: &Reader, node: &Node) -> Option<TexelFormat> {
    let text = r.text(node)?;
    let format = TexelFormat::parse(&text.value);
    if format.is_none() {
        let names: Vec<&str> = TexelFormat::ALL.iter().map(|f| f.name()).collect();
        r.note(unknown(text.at, "format", &text.value, &names));
    }
    format
}
