//! Cache actions that packets ask for, in neutral words.

use crate::queue::Flush;
use wavefence_base::{CacheAction, Generation, GpuAddress, GpuRange};
use wavefence_pm4::{coher, events, gcr};

/// Collects actions; sorted and without doubles at the end.
#[derive(Debug, Default)]
pub(crate) struct Actions(Vec<CacheAction>);

impl Actions {
    fn add(&mut self, on: bool, actions: &[CacheAction]) {
        if on {
            self.0.extend_from_slice(actions);
        }
    }

    /// CP_COHER_CNTL (`hardware/pm4.md` 2.1).
    pub(crate) fn coher(&mut self, bits: u32, generation: Generation) {
        use CacheAction as A;
        let on = |bit| bits & bit != 0;
        self.add(on(coher::TCL1_ACTION_ENA), &[A::InvalidateL1]);
        self.add(on(coher::TCL1_VOL_ACTION_ENA), &[A::InvalidateL1Volatile]);
        let (tc, wb) = (on(coher::TC_ACTION_ENA), on(coher::TC_WB_ACTION_ENA));
        self.level2_before_gfx10(tc, wb, generation);
        self.add(on(coher::TC_VOL_ACTION_ENA), &[A::InvalidateL2Volatile]);
        self.add(on(coher::TC_INV_METADATA_ACTION_ENA), &[A::InvalidateMetadata]);
        self.add(on(coher::CB_ACTION_ENA), &[A::FlushColorData]);
        self.add(on(coher::DB_ACTION_ENA), &[A::FlushDepthData]);
        self.add(on(coher::SH_KCACHE_ACTION_ENA), &[A::InvalidateK]);
        self.add(on(coher::SH_KCACHE_VOL_ACTION_ENA), &[A::InvalidateKVolatile]);
        self.add(on(coher::SH_ICACHE_ACTION_ENA), &[A::InvalidateI]);
    }

    /// GCR_CNTL of ACQUIRE_MEM and of SDMA (`hardware/pm4.md` 2.4).
    pub(crate) fn gcr(&mut self, bits: u32) {
        use CacheAction as A;
        let on = |bit| bits & bit != 0;
        self.add(bits & gcr::GLI_INV_MASK != 0, &[A::InvalidateI]);
        self.add(on(gcr::GLK_INV), &[A::InvalidateK]);
        self.vector(on(gcr::GLV_INV), on(gcr::GL1_INV));
        self.add(on(gcr::GLM_INV), &[A::InvalidateMetadata]);
        let volatile = (bits & gcr::GL2_RANGE_MASK) >> gcr::GL2_RANGE_SHIFT == 1;
        self.level2(on(gcr::GL2_INV), on(gcr::GL2_WB), volatile);
    }

    /// The GCR field of RELEASE_MEM, which has another layout (4.4).
    pub(crate) fn gcr_release(&mut self, bits: u32) {
        use CacheAction as A;
        let on = |bit| bits & bit != 0;
        self.vector(on(gcr::release::GLV_INV), on(gcr::release::GL1_INV));
        self.add(on(gcr::release::GLM_INV), &[A::InvalidateMetadata]);
        let range = (bits & gcr::release::GL2_RANGE_MASK) >> gcr::release::GL2_RANGE_SHIFT;
        self.level2(on(gcr::release::GL2_INV), on(gcr::release::GL2_WB), range == 1);
    }

    /// GLV and GL1. The vector caches alone are not told apart from both: GLV reads
    /// through GL1, and nobody drops one and keeps the other.
    fn vector(&mut self, glv: bool, gl1: bool) {
        self.add(glv, &[CacheAction::InvalidateL1]);
        self.add(gl1 && !glv, &[CacheAction::InvalidateGl1]);
    }

    /// GL2: INV leaves dirty lines alone, WB leaves clean ones, both do both
    /// (`hardware/caches.md` 1.5).
    fn level2(&mut self, invalidate: bool, write_back: bool, volatile: bool) {
        use CacheAction as A;
        self.add(invalidate && volatile, &[A::InvalidateL2Volatile]);
        self.add(invalidate && !volatile && write_back, &[A::InvalidateL2]);
        self.add(invalidate && !volatile && !write_back, &[A::InvalidateL2Clean]);
        self.add(write_back && !invalidate, &[A::WritebackL2]);
    }

    /// TC and TC_WB: GFX7 writes back with either; GFX8 wants WB beside TC
    /// (`hardware/caches.md` 1.3), and TC alone is taken for an invalidate without
    /// write-back (assumed).
    fn level2_before_gfx10(&mut self, tc: bool, wb: bool, generation: Generation) {
        use CacheAction as A;
        let bare = match generation {
            Generation::Gfx7 => false,
            Generation::Gfx8 | Generation::Gfx10_3 => !wb,
        };
        self.add(tc && !bare, &[A::InvalidateL2]);
        self.add(tc && bare, &[A::InvalidateL2Clean]);
        self.add(wb && !tc, &[A::WritebackL2]);
    }

    /// The action bits of EVENT_WRITE_EOP and of GFX7/8's RELEASE_MEM (4.2).
    pub(crate) fn end_of_pipe(
        &mut self,
        generation: Generation,
        l1: bool,
        l1_volatile: bool,
        l2: bool,
        l2_volatile: bool,
        l2_writeback: bool,
    ) {
        use CacheAction as A;
        self.add(l1, &[A::InvalidateL1]);
        self.add(l1_volatile, &[A::InvalidateL1Volatile]);
        self.level2_before_gfx10(l2, l2_writeback, generation);
        self.add(l2_volatile, &[A::InvalidateL2Volatile]);
    }

    /// What an event itself flushes (4.1).
    pub(crate) fn event(&mut self, event: u8) {
        use CacheAction as A;
        match event {
            events::CACHE_FLUSH
            | events::CACHE_FLUSH_TS
            | events::CACHE_FLUSH_AND_INV_EVENT
            | events::CACHE_FLUSH_AND_INV_TS_EVENT => self.add(
                true,
                &[A::FlushColorData, A::FlushColorMeta, A::FlushDepthData, A::FlushDepthMeta],
            ),
            events::DB_CACHE_FLUSH_AND_INV | events::FLUSH_AND_INV_DB_DATA_TS => {
                self.add(true, &[A::FlushDepthData]);
            }
            events::FLUSH_AND_INV_DB_META => self.add(true, &[A::FlushDepthMeta]),
            events::FLUSH_AND_INV_CB_DATA_TS | events::FLUSH_AND_INV_CB_PIXEL_DATA => {
                self.add(true, &[A::FlushColorData]);
            }
            events::FLUSH_AND_INV_CB_META => self.add(true, &[A::FlushColorMeta]),
            _ => {}
        }
    }

    /// Volatile lines that a dispatch drops when it starts.
    pub(crate) fn dispatch(&mut self, scalar: bool, vector: bool) {
        self.add(scalar, &[CacheAction::InvalidateKVolatile]);
        self.add(vector, &[CacheAction::InvalidateL1Volatile]);
    }

    /// The whole.
    pub(crate) fn over(mut self, range: Option<GpuRange>) -> Flush {
        self.0.sort_unstable();
        self.0.dedup();
        Flush { actions: self.0, range }
    }
}

/// True for actions on L2, which an end-of-pipe value may overtake.
pub(crate) fn acts_on_l2(action: CacheAction) -> bool {
    use CacheAction as A;
    match action {
        A::InvalidateL2 | A::InvalidateL2Clean | A::InvalidateL2Volatile | A::WritebackL2 => true,
        A::InvalidateL1
        | A::InvalidateGl1
        | A::InvalidateL1Volatile
        | A::InvalidateK
        | A::InvalidateKVolatile
        | A::InvalidateI
        | A::InvalidateMetadata
        | A::FlushColorData
        | A::FlushColorMeta
        | A::FlushDepthData
        | A::FlushDepthMeta => false,
    }
}

/// True for actions that write L2 back.
pub(crate) fn writes_back(action: CacheAction) -> bool {
    matches!(action, CacheAction::InvalidateL2 | CacheAction::WritebackL2)
}

/// The size that means everything: all ones in 256-byte units, 32 or 40 bits
/// (`hardware/pm4.md` 2.2).
const FULL_SIZE: u64 = 0xFFFF_FFFF << 8;

/// The range of a packet's COHER words; `None` is everything.
pub(crate) fn coher_range(base: u64, size: u64) -> Option<GpuRange> {
    if base == 0 && size >= FULL_SIZE { None } else { Some(GpuRange::new(GpuAddress(base), size)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use CacheAction as A;

    fn of(fill: impl FnOnce(&mut Actions)) -> Vec<CacheAction> {
        let mut actions = Actions::default();
        fill(&mut actions);
        actions.over(None).actions
    }

    #[test]
    fn bits_map_to_actions() {
        let bits = coher::TC_ACTION_ENA | coher::TC_WB_ACTION_ENA | coher::TCL1_ACTION_ENA;
        for generation in Generation::ALL {
            let of = |bits| of(|a| a.coher(bits, generation));
            assert_eq!(of(bits), [A::InvalidateL1, A::InvalidateL2]);
            assert_eq!(of(coher::TC_WB_ACTION_ENA), [A::WritebackL2]);
        }
        let bare = |g| of(|a| a.coher(coher::TC_ACTION_ENA, g));
        assert_eq!(bare(Generation::Gfx7), [A::InvalidateL2]);
        assert_eq!(bare(Generation::Gfx8), [A::InvalidateL2Clean]);
        assert_eq!(of(|a| a.gcr(gcr::GL1_INV | gcr::GLK_INV)), [A::InvalidateGl1, A::InvalidateK]);
        assert_eq!(of(|a| a.gcr(gcr::GL2_INV)), [A::InvalidateL2Clean]);
        assert_eq!(of(|a| a.gcr(gcr::GLV_INV | gcr::GL1_INV)), [A::InvalidateL1]);
        assert_eq!(of(|a| a.gcr(gcr::GL2_WB)), [A::WritebackL2]);
        assert_eq!(of(|a| a.gcr(gcr::GL2_WB | gcr::GL2_INV)), [A::InvalidateL2]);
        let volatile = gcr::GL2_INV | 1 << gcr::GL2_RANGE_SHIFT;
        assert_eq!(of(|a| a.gcr(volatile)), [A::InvalidateL2Volatile]);
        assert_eq!(of(|a| a.gcr_release(gcr::release::GL2_WB)), [A::WritebackL2]);
    }

    #[test]
    fn everything_is_no_range() {
        assert_eq!(coher_range(0, 0xFF_FFFF_FF00), None);
        assert_eq!(coher_range(0x100, 0x200), Some(GpuRange::new(GpuAddress(0x100), 0x200)));
    }
}
