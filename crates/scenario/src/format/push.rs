//! `PushConstants:` and `RuntimeSettings:` of the suite's pipelines.

use super::buffer::{DataFormat, numbers};
use crate::node::Node;
use crate::problem::Problem;
use crate::reader::{At, Reader};

/// Most bytes of push constants.
pub const MAX_PUSH_BYTES: usize = 4096;

/// Reads `PushConstants:` to the bytes that the shader sees; bytes between the
/// values are 0.
pub fn push_constants(r: &Reader, node: &Node) -> Option<At<Vec<u8>>> {
    let blocks = r.each(node, "a list of push constant blocks", |n| {
        let mut m = r.map(n, "a block of push constants")?;
        let stage = m.req("Stage", |r, n| r.text(n));
        let values = m.req("Values", |r, n| r.each(n, "a list of values", |n| value(r, n)));
        m.finish()?;
        let stage = stage?;
        if stage.value != "Compute" {
            let message = format!("shader stage `{}` is not supported", stage.value);
            r.note(Problem::at(stage.at, message).help("compute shaders run").unsupported());
            return None;
        }
        values
    })?;
    let mut bytes: Vec<u8> = Vec::new();
    for (offset, data) in blocks.into_iter().flatten() {
        let end = offset + data.len();
        if bytes.len() < end {
            bytes.resize(end, 0);
        }
        bytes[offset..end].copy_from_slice(&data);
    }
    Some(At::new(node.at, bytes))
}

fn value(r: &Reader, node: &Node) -> Option<(usize, Vec<u8>)> {
    let mut m = r.map(node, "a push constant")?;
    let format = m.req("Format", |r, n| r.word(n, &DataFormat::WORDS));
    let offset = m.req("Offset", |r, n| r.int::<usize>(n));
    let data = m.take("Data");
    m.finish()?;
    let (format, offset) = (format?.value, offset?);
    let Some(data) = data else {
        r.note(Problem::at(node.at, "a push constant needs `Data`"));
        return None;
    };
    let bytes = numbers(r, data, format)?;
    if offset.saturating_add(bytes.len()) > MAX_PUSH_BYTES {
        let message = format!("push constants have at most {MAX_PUSH_BYTES} bytes");
        r.note(Problem::at(node.at, message));
        return None;
    }
    Some((offset, bytes))
}

/// Reads `RuntimeSettings:`. Descriptor tables in a root signature are what the
/// descriptor sets are anyway; other root parameters have their registers in the
/// shader's root signature, which SPIR-V does not keep.
pub fn runtime_settings(r: &Reader, node: &Node) -> Option<()> {
    let mut m = r.map(node, "RuntimeSettings")?;
    let directx = m.opt("DirectX", |r, n| {
        let mut m = r.map(n, "the settings for DirectX")?;
        let params = m.opt("RootParameters", |r, n| {
            r.each(n, "a list of root parameters", |n| root_parameter(r, n))
        });
        m.finish()?;
        params.map(|_| ())
    });
    m.finish()?;
    directx.map(|_| ())
}

fn root_parameter(r: &Reader, node: &Node) -> Option<()> {
    let kinds = [("DescriptorTable", false), ("Constant", true), ("RootDescriptor", true)];
    let mut m = r.map(node, "a root parameter")?;
    let kind = m.req("Kind", |r, n| r.word(n, &kinds));
    m.take("Name");
    m.take("Resource");
    m.finish()?;
    let kind = kind?;
    if kind.value {
        let message = "a root constant or descriptor finds its register by the shader's root \
                       signature, which SPIR-V does not keep";
        let help = "bind it by DescriptorSets, or use CommandLists";
        r.note(Problem::at(kind.at, message).help(help).unsupported());
        return None;
    }
    Some(())
}
