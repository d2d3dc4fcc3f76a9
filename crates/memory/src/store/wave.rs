//! Wave-wide loads, stores and atomics within one window.
//!
//! Lanes whose components are not all in the window are left alone and handed
//! back, so that the caller can look further. The AVX2 path and the portable one
//! do the same in the same order: lanes from 0 up, so of lanes that write the
//! same byte the highest wins (with more than four words per lane, the first four
//! of every lane come before the rest).

use super::Window;
use crate::port::{Atomic, Lanes};
use std::sync::atomic::Ordering;
use wavefence_base::LaneMask;

/// Most components of one request below; longer ones are cut.
const PART: usize = 4;

impl Window<'_> {
    /// Reads `out.len()` components of `width` bytes (8: each is two entries of
    /// `out`) per lane of `mask` into `out`; other lanes get 0. Gives the lanes
    /// of `mask` that do not lie wholly in the window; those hold 0.
    pub fn load_wave(
        self,
        width: u8,
        offsets: &Lanes,
        mask: LaneMask,
        out: &mut [Lanes],
    ) -> LaneMask {
        if width < 4 {
            return self.load_narrow(u64::from(width), offsets, mask, out);
        }
        if out.len() <= PART {
            return self.load_words(offsets, mask, out);
        }
        let missed = self.misfits(offsets, mask, 4 * out.len() as u64);
        let mut window = self;
        for part in out.chunks_mut(PART) {
            window.load_words(offsets, mask & !missed, part);
            window = window.tail(4 * PART as u64);
        }
        missed
    }

    /// The lanes of `mask` whose `bytes` bytes are not all in the window.
    fn misfits(self, offsets: &Lanes, mask: LaneMask, bytes: u64) -> LaneMask {
        let mut missed = 0;
        for lane in mask.iter() {
            missed |= u64::from(!self.has(offsets[lane as usize].into(), bytes)) << lane;
        }
        LaneMask(missed)
    }

    fn load_words(self, offsets: &Lanes, mask: LaneMask, out: &mut [Lanes]) -> LaneMask {
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2")
            && let Some(missed) = super::avx2::load(self, offsets, mask, out)
        {
            return missed;
        }
        self.load_words_portable(offsets, mask, out)
    }

    /// The portable twin of the AVX2 path.
    pub(super) fn load_words_portable(
        self,
        offsets: &Lanes,
        mask: LaneMask,
        out: &mut [Lanes],
    ) -> LaneMask {
        let bytes = 4 * out.len() as u64;
        out.fill([0; 64]);
        let mut missed = 0;
        for lane in mask.iter() {
            let at = u64::from(offsets[lane as usize]);
            if !self.has(at, bytes) {
                missed |= 1 << lane;
                continue;
            }
            if out.len() == 2 {
                // One piece, so that an aligned 8-byte value does not tear.
                let v = self.load_u64(at, Ordering::Relaxed).unwrap_or(0);
                out[0][lane as usize] = v as u32;
                out[1][lane as usize] = (v >> 32) as u32;
                continue;
            }
            for (c, o) in out.iter_mut().enumerate() {
                o[lane as usize] = self.load_u32(at + 4 * c as u64, Ordering::Relaxed).unwrap_or(0);
            }
        }
        LaneMask(missed)
    }

    fn load_narrow(
        self,
        width: u64,
        offsets: &Lanes,
        mask: LaneMask,
        out: &mut [Lanes],
    ) -> LaneMask {
        let bytes = width * out.len() as u64;
        out.fill([0; 64]);
        let mut missed = 0;
        for lane in mask.iter() {
            let at = u64::from(offsets[lane as usize]);
            if !self.has(at, bytes) {
                missed |= 1 << lane;
                continue;
            }
            for (c, o) in out.iter_mut().enumerate() {
                let mut value = [0; 4];
                self.read(at + width * c as u64, &mut value[..width as usize]);
                o[lane as usize] = u32::from_le_bytes(value);
            }
        }
        LaneMask(missed)
    }

    /// Writes `data.len()` components of `width` bytes (8: as for loads) per
    /// lane of `mask`. Gives the lanes of `mask` that do not lie wholly in the
    /// window; those have written nothing.
    pub fn store_wave(
        self,
        width: u8,
        offsets: &Lanes,
        mask: LaneMask,
        data: &[Lanes],
    ) -> LaneMask {
        if width < 4 {
            return self.store_narrow(u64::from(width), offsets, mask, data);
        }
        if data.len() <= PART {
            return self.store_words(offsets, mask, data);
        }
        let missed = self.misfits(offsets, mask, 4 * data.len() as u64);
        let mut window = self;
        for part in data.chunks(PART) {
            window.store_words(offsets, mask & !missed, part);
            window = window.tail(4 * PART as u64);
        }
        missed
    }

    fn store_words(self, offsets: &Lanes, mask: LaneMask, data: &[Lanes]) -> LaneMask {
        self.note_lanes(offsets, mask, 4 * data.len() as u64);
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2")
            && let Some(missed) = super::avx2::store(self, offsets, mask, data)
        {
            return missed;
        }
        self.store_words_portable(offsets, mask, data)
    }

    /// The portable twin of the AVX2 path.
    pub(super) fn store_words_portable(
        self,
        offsets: &Lanes,
        mask: LaneMask,
        data: &[Lanes],
    ) -> LaneMask {
        let bytes = 4 * data.len() as u64;
        let mut missed = 0;
        for lane in mask.iter() {
            let at = u64::from(offsets[lane as usize]);
            if !self.has(at, bytes) {
                missed |= 1 << lane;
                continue;
            }
            if let [low, high] = data {
                let v = u64::from(high[lane as usize]) << 32 | u64::from(low[lane as usize]);
                self.store_u64(at, v, Ordering::Relaxed);
                continue;
            }
            for (c, d) in data.iter().enumerate() {
                self.store_u32(at + 4 * c as u64, d[lane as usize], Ordering::Relaxed);
            }
        }
        LaneMask(missed)
    }

    fn store_narrow(self, width: u64, offsets: &Lanes, mask: LaneMask, data: &[Lanes]) -> LaneMask {
        let bytes = width * data.len() as u64;
        let mut missed = 0;
        for lane in mask.iter() {
            let at = u64::from(offsets[lane as usize]);
            if !self.has(at, bytes) {
                missed |= 1 << lane;
                continue;
            }
            for (c, d) in data.iter().enumerate() {
                let value = d[lane as usize].to_le_bytes();
                self.write(at + width * c as u64, &value[..width as usize]);
            }
        }
        LaneMask(missed)
    }

    /// Read-modify-write per lane, lane 0 first; `old` of lanes that ran gets
    /// the old value. Gives the lanes that are not in the window or not aligned.
    pub fn atomic_wave(
        self,
        op: Atomic,
        offsets: &Lanes,
        mask: LaneMask,
        value: &Lanes,
        compare: &Lanes,
        old: &mut Lanes,
    ) -> LaneMask {
        let Some(first) = mask.lowest() else { return LaneMask::EMPTY };
        let at = offsets[first as usize];
        if op == Atomic::Add
            && mask.count() > 1
            && mask.iter().all(|lane| offsets[lane as usize] == at)
            && let Some(before) = self.atomic_u32(
                op,
                u64::from(at),
                mask.iter().fold(0, |sum, lane| sum.wrapping_add(value[lane as usize])),
                0,
            )
        {
            // Nothing came between the lanes: one of the allowed orders.
            let mut sum = before;
            for lane in mask.iter() {
                old[lane as usize] = sum;
                sum = sum.wrapping_add(value[lane as usize]);
            }
            return LaneMask::EMPTY;
        }
        let mut missed = 0;
        for lane in mask.iter() {
            let i = lane as usize;
            match self.atomic_u32(op, u64::from(offsets[i]), value[i], compare[i]) {
                Some(v) => old[i] = v,
                None => missed |= 1 << lane,
            }
        }
        LaneMask(missed)
    }

    /// As [`Self::atomic_wave`], on 64 bits: low words, then high words.
    pub fn atomic_wave64(
        self,
        op: Atomic,
        offsets: &Lanes,
        mask: LaneMask,
        value: &[Lanes; 2],
        compare: &[Lanes; 2],
        old: &mut [Lanes; 2],
    ) -> LaneMask {
        let mut missed = 0;
        for lane in mask.iter() {
            let i = lane as usize;
            let at = |pair: &[Lanes; 2]| u64::from(pair[1][i]) << 32 | u64::from(pair[0][i]);
            match self.atomic_u64(op, u64::from(offsets[i]), at(value), at(compare)) {
                Some(v) => [old[0][i], old[1][i]] = [v as u32, (v >> 32) as u32],
                None => missed |= 1 << lane,
            }
        }
        LaneMask(missed)
    }
}
