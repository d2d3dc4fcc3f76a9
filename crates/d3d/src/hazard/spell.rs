//! How the parts of a mend are spelt on each face: one list, read by the messages
//! and by the tests.

use crate::enums::{D3D11_FLUSH, D3D12XBOX_FLUSH};
use crate::face::Face;
use crate::list::ListKind;
use wavefence_base::{CacheAction, CacheClass};
use wavefence_check::Element;

/// A part of a mend that a flush or a call beside it can spell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Part {
    /// Wait for compute shaders.
    Shaders,
    /// Wait for the command processor's DMA.
    Dma,
    /// Write L2 back.
    WriteBackL2,
    /// Drop L2.
    L2,
    /// Drop the vector L1, or L0 and GL1.
    L1,
    /// Drop the scalar data cache.
    K,
    /// Drop the instruction cache.
    I,
    /// Hold the prefetch parser.
    Pfp,
    /// Colour data.
    ColorData,
    /// Colour metadata.
    ColorMeta,
    /// Depth data.
    DepthData,
    /// Depth metadata.
    DepthMeta,
}

/// One row: a part and its spellings.
pub(crate) struct Spelling {
    pub(crate) part: Part,
    /// D3D12.X, in the half that acts before later work.
    pub(crate) top: D3D12XBOX_FLUSH,
    /// D3D12.X, in the half that acts at the bottom of the pipe.
    pub(crate) bottom: D3D12XBOX_FLUSH,
    /// D3D11.X: a flag of the flush calls.
    pub(crate) flag11: D3D11_FLUSH,
    /// D3D11.X: a call instead of a flag, where there is one.
    pub(crate) call11: &'static str,
}

const fn row(
    part: Part,
    top: D3D12XBOX_FLUSH,
    bottom: D3D12XBOX_FLUSH,
    flag11: D3D11_FLUSH,
    call11: &'static str,
) -> Spelling {
    Spelling { part, top, bottom, flag11, call11 }
}

use D3D11_FLUSH as E;
use D3D12XBOX_FLUSH as F;

/// Every part (design 4.4).
#[rustfmt::skip]
pub(crate) const SPELLINGS: &[Spelling] = &[
    row(Part::Shaders, F::NONE, F::BOP_CS_PARTIAL, E::empty(), "GpuSendPipelinedEvent(CS_PARTIAL_FLUSH)"),
    // The copies of both faces wait for themselves: only raw packets can need it.
    row(Part::Dma, F::NONE, F::NONE, E::empty(), ""),
    row(Part::WriteBackL2, F::TOP_TEXTURE_L2_WRITEBACK, F::BOP_TEXTURE_L2_WRITEBACK, E::TEXTURE_L2_WRITEBACK, ""),
    row(Part::L2, F::TOP_TEXTURE_L2_INVALIDATE, F::BOP_TEXTURE_L2_INVALIDATE, E::TEXTURE_L2_INVALIDATE, ""),
    row(Part::L1, F::TOP_TEXTURE_L1_INVALIDATE, F::BOP_TEXTURE_L1_INVALIDATE, E::TEXTURE_L1_INVALIDATE, ""),
    row(Part::K, F::TOP_KCACHE_INVALIDATE, F::NONE, E::KCACHE_INVALIDATE, ""),
    row(Part::I, F::TOP_ICACHE_INVALIDATE, F::NONE, E::ICACHE_INVALIDATE, ""),
    // ENGINE_PFP does not wait for the ME on these consoles; this call does.
    row(Part::Pfp, F::TOP_PFP, F::NONE, E::empty(), "InsertWaitUntilIdle()"),
    row(Part::ColorData, F::NONE, F::BOP_COLOR_BLOCK_DATA, E::COLOR_BLOCK_INVALIDATE, ""),
    row(Part::ColorMeta, F::NONE, F::BOP_COLOR_BLOCK_META, E::empty(), "GpuSendPipelinedEvent(FLUSH_AND_INV_CB_META)"),
    row(Part::DepthData, F::NONE, F::BOP_DEPTH_BLOCK_DATA, E::DEPTH_BLOCK_INVALIDATE, ""),
    row(Part::DepthMeta, F::NONE, F::BOP_DEPTH_BLOCK_META, E::empty(), "GpuSendPipelinedEvent(FLUSH_AND_INV_DB_META)"),
];

impl Part {
    /// The invalidate of a cache.
    pub(crate) const fn invalidate(class: CacheClass) -> Self {
        match class {
            CacheClass::Vector | CacheClass::Gl1 => Self::L1,
            CacheClass::Scalar => Self::K,
            CacheClass::Instruction => Self::I,
            CacheClass::L2 => Self::L2,
        }
    }

    /// The part that an element of a flush is; `None` for what no flag has of its
    /// own.
    pub(crate) const fn of(element: Element) -> Option<Self> {
        Some(match element {
            Element::Shaders => Self::Shaders,
            Element::Dma => Self::Dma,
            Element::Pfp => Self::Pfp,
            Element::Cache(action) => match action {
                CacheAction::InvalidateL1 => Self::L1,
                CacheAction::InvalidateL2 => Self::L2,
                CacheAction::WritebackL2 => Self::WriteBackL2,
                CacheAction::InvalidateK => Self::K,
                CacheAction::InvalidateI => Self::I,
                CacheAction::FlushColorData => Self::ColorData,
                CacheAction::FlushColorMeta => Self::ColorMeta,
                CacheAction::FlushDepthData => Self::DepthData,
                CacheAction::FlushDepthMeta => Self::DepthMeta,
                CacheAction::InvalidateL1Volatile
                | CacheAction::InvalidateGl1
                | CacheAction::InvalidateL2Clean
                | CacheAction::InvalidateL2Volatile
                | CacheAction::InvalidateKVolatile
                | CacheAction::InvalidateMetadata => return None,
            },
        })
    }

    /// Its row.
    pub(crate) fn spelling(self) -> Option<&'static Spelling> {
        SPELLINGS.iter().find(|s| s.part == self)
    }
}

/// A synchronisation that has these parts, as calls of a face in order. Parts that
/// only raw packets can spell come last.
pub(crate) fn calls(parts: &[Part], face: Face, kind: ListKind) -> Vec<String> {
    match face {
        Face::D3D12X => calls12(parts),
        Face::D3D11X => calls11(parts, kind),
    }
}

fn rows(parts: &[Part]) -> impl Iterator<Item = &'static Spelling> {
    SPELLINGS.iter().filter(|s| parts.contains(&s.part))
}

/// The flags of `FlushPipelineX` with these parts: at the top where there is a
/// choice, since the call's waits come before its top half.
pub(crate) fn flags12(parts: &[Part]) -> D3D12XBOX_FLUSH {
    rows(parts).fold(F::NONE, |flags, s| flags | if s.top.is_empty() { s.bottom } else { s.top })
}

/// The flags of the flush calls of D3D11.X with these parts.
pub(crate) fn flags11(parts: &[Part]) -> D3D11_FLUSH {
    rows(parts).fold(E::empty(), |flags, s| flags | s.flag11)
}

fn calls12(parts: &[Part]) -> Vec<String> {
    let mut out = Vec::new();
    let flags = flags12(parts);
    if !flags.is_empty() {
        out.push(format!("FlushPipelineX({flags}, 0, D3D12XBOX_FLUSH_RANGE_ALL)"));
    }
    out.extend(dma(parts));
    out
}

fn calls11(parts: &[Part], kind: ListKind) -> Vec<String> {
    let mut out = Vec::new();
    let flags = flags11(parts);
    let pfp = parts.contains(&Part::Pfp);
    for s in rows(parts).filter(|s| !s.call11.is_empty() && s.part != Part::Pfp) {
        // Idle waits for the shaders too, unless a flush must stand between.
        if !(s.part == Part::Shaders && pfp && flags.is_empty()) {
            out.push(s.call11.to_owned());
        }
    }
    if !flags.is_empty() {
        out.push(match kind {
            ListKind::Graphics | ListKind::Dma => {
                format!("FlushGpuCacheRange({flags}, 0, D3D11_FLUSH_GPU_CACHE_RANGE_ALL)")
            }
            ListKind::Compute => format!("FlushGpuCachesTopOfPipe({flags})"),
        });
    }
    if pfp && let Some(s) = Part::Pfp.spelling() {
        out.push(s.call11.to_owned());
    }
    out.extend(dma(parts));
    out
}

fn dma(parts: &[Part]) -> Option<String> {
    let packet = "a DMA_DATA packet with CP_SYNC (InsertPacketsX)";
    parts.contains(&Part::Dma).then(|| packet.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fmt::Write;

    #[test]
    fn every_part_has_one_row_in_order() {
        assert!(SPELLINGS.windows(2).all(|w| w[0].part < w[1].part));
        for class in CacheClass::ALL {
            assert!(Part::invalidate(class).spelling().is_some());
        }
    }

    #[test]
    fn the_list_of_spellings() {
        let mut text = String::new();
        for s in SPELLINGS {
            let _ = writeln!(text, "{:?}", s.part);
            for (face, kind) in [
                (Face::D3D12X, ListKind::Graphics),
                (Face::D3D11X, ListKind::Graphics),
                (Face::D3D11X, ListKind::Compute),
            ] {
                let calls = calls(&[s.part], face, kind).join("; ");
                let _ = writeln!(text, "  {face} {kind}: {calls}");
            }
        }
        insta::assert_snapshot!(text, @r#"
        Shaders
          D3D12.X graphics: FlushPipelineX(BOP_CS_PARTIAL, 0, D3D12XBOX_FLUSH_RANGE_ALL)
          D3D11.X graphics: GpuSendPipelinedEvent(CS_PARTIAL_FLUSH)
          D3D11.X compute: GpuSendPipelinedEvent(CS_PARTIAL_FLUSH)
        Dma
          D3D12.X graphics: a DMA_DATA packet with CP_SYNC (InsertPacketsX)
          D3D11.X graphics: a DMA_DATA packet with CP_SYNC (InsertPacketsX)
          D3D11.X compute: a DMA_DATA packet with CP_SYNC (InsertPacketsX)
        WriteBackL2
          D3D12.X graphics: FlushPipelineX(TOP_TEXTURE_L2_WRITEBACK, 0, D3D12XBOX_FLUSH_RANGE_ALL)
          D3D11.X graphics: FlushGpuCacheRange(TEXTURE_L2_WRITEBACK, 0, D3D11_FLUSH_GPU_CACHE_RANGE_ALL)
          D3D11.X compute: FlushGpuCachesTopOfPipe(TEXTURE_L2_WRITEBACK)
        L2
          D3D12.X graphics: FlushPipelineX(TOP_TEXTURE_L2_INVALIDATE, 0, D3D12XBOX_FLUSH_RANGE_ALL)
          D3D11.X graphics: FlushGpuCacheRange(TEXTURE_L2_INVALIDATE, 0, D3D11_FLUSH_GPU_CACHE_RANGE_ALL)
          D3D11.X compute: FlushGpuCachesTopOfPipe(TEXTURE_L2_INVALIDATE)
        L1
          D3D12.X graphics: FlushPipelineX(TOP_TEXTURE_L1_INVALIDATE, 0, D3D12XBOX_FLUSH_RANGE_ALL)
          D3D11.X graphics: FlushGpuCacheRange(TEXTURE_L1_INVALIDATE, 0, D3D11_FLUSH_GPU_CACHE_RANGE_ALL)
          D3D11.X compute: FlushGpuCachesTopOfPipe(TEXTURE_L1_INVALIDATE)
        K
          D3D12.X graphics: FlushPipelineX(TOP_KCACHE_INVALIDATE, 0, D3D12XBOX_FLUSH_RANGE_ALL)
          D3D11.X graphics: FlushGpuCacheRange(KCACHE_INVALIDATE, 0, D3D11_FLUSH_GPU_CACHE_RANGE_ALL)
          D3D11.X compute: FlushGpuCachesTopOfPipe(KCACHE_INVALIDATE)
        I
          D3D12.X graphics: FlushPipelineX(TOP_ICACHE_INVALIDATE, 0, D3D12XBOX_FLUSH_RANGE_ALL)
          D3D11.X graphics: FlushGpuCacheRange(ICACHE_INVALIDATE, 0, D3D11_FLUSH_GPU_CACHE_RANGE_ALL)
          D3D11.X compute: FlushGpuCachesTopOfPipe(ICACHE_INVALIDATE)
        Pfp
          D3D12.X graphics: FlushPipelineX(TOP_PFP, 0, D3D12XBOX_FLUSH_RANGE_ALL)
          D3D11.X graphics: InsertWaitUntilIdle()
          D3D11.X compute: InsertWaitUntilIdle()
        ColorData
          D3D12.X graphics: FlushPipelineX(BOP_COLOR_BLOCK_DATA, 0, D3D12XBOX_FLUSH_RANGE_ALL)
          D3D11.X graphics: FlushGpuCacheRange(COLOR_BLOCK_INVALIDATE, 0, D3D11_FLUSH_GPU_CACHE_RANGE_ALL)
          D3D11.X compute: FlushGpuCachesTopOfPipe(COLOR_BLOCK_INVALIDATE)
        ColorMeta
          D3D12.X graphics: FlushPipelineX(BOP_COLOR_BLOCK_META, 0, D3D12XBOX_FLUSH_RANGE_ALL)
          D3D11.X graphics: GpuSendPipelinedEvent(FLUSH_AND_INV_CB_META)
          D3D11.X compute: GpuSendPipelinedEvent(FLUSH_AND_INV_CB_META)
        DepthData
          D3D12.X graphics: FlushPipelineX(BOP_DEPTH_BLOCK_DATA, 0, D3D12XBOX_FLUSH_RANGE_ALL)
          D3D11.X graphics: FlushGpuCacheRange(DEPTH_BLOCK_INVALIDATE, 0, D3D11_FLUSH_GPU_CACHE_RANGE_ALL)
          D3D11.X compute: FlushGpuCachesTopOfPipe(DEPTH_BLOCK_INVALIDATE)
        DepthMeta
          D3D12.X graphics: FlushPipelineX(BOP_DEPTH_BLOCK_META, 0, D3D12XBOX_FLUSH_RANGE_ALL)
          D3D11.X graphics: GpuSendPipelinedEvent(FLUSH_AND_INV_DB_META)
          D3D11.X compute: GpuSendPipelinedEvent(FLUSH_AND_INV_DB_META)
        "#);
    }

    #[test]
    fn parts_together_are_one_flush_where_the_face_has_one() {
        let parts = [Part::Shaders, Part::WriteBackL2, Part::K, Part::Pfp];
        insta::assert_snapshot!(calls(&parts, Face::D3D12X, ListKind::Graphics).join("\n"), @r#"FlushPipelineX(BOP_CS_PARTIAL | TOP_TEXTURE_L2_WRITEBACK | TOP_KCACHE_INVALIDATE | TOP_PFP, 0, D3D12XBOX_FLUSH_RANGE_ALL)"#);
        insta::assert_snapshot!(calls(&parts, Face::D3D11X, ListKind::Graphics).join("\n"), @r#"
        GpuSendPipelinedEvent(CS_PARTIAL_FLUSH)
        FlushGpuCacheRange(TEXTURE_L2_WRITEBACK | KCACHE_INVALIDATE, 0, D3D11_FLUSH_GPU_CACHE_RANGE_ALL)
        InsertWaitUntilIdle()
        "#);
        let parts = [Part::Shaders, Part::Pfp];
        insta::assert_snapshot!(calls(&parts, Face::D3D11X, ListKind::Graphics).join("\n"), @r#"InsertWaitUntilIdle()"#);
        let parts = [Part::Shaders, Part::L1, Part::L2];
        insta::assert_snapshot!(calls(&parts, Face::D3D11X, ListKind::Compute).join("\n"), @r#"
        GpuSendPipelinedEvent(CS_PARTIAL_FLUSH)
        FlushGpuCachesTopOfPipe(TEXTURE_L1_INVALIDATE | TEXTURE_L2_INVALIDATE)
        "#);
    }
}
