//! Lanes of one request to group-shared memory, put together to pieces.
//!
//! Most requests are one address, neighbours, or a few rows of either: those become
//! spans of 16 lanes at a time. What is scattered goes through a bit for each dword,
//! which sorts it without comparing.

use crate::port::Lanes;
use wavefence_base::{GpuAddress, LaneMask, Piece};

/// Lanes that are looked at together.
const BLOCK: usize = 16;
/// Spans from which on bits are cheaper than a sort.
const MANY: usize = 8;
/// Dwords that have a bit: no group has more shared memory on any profile.
const DWORDS: usize = 1 << 14;

/// Room for scattered lanes, made when there are some.
#[derive(Clone, Debug, Default)]
pub(super) struct Scatter {
    /// A bit for each dword; all clear between requests.
    bits: Vec<u64>,
    /// The lowest lane that touched a dword whose bit is set.
    lowest: Vec<u8>,
}

/// A piece of a request that is not about time or caches.
fn piece(at: u64, len: u64, lane: usize) -> Piece {
    Piece { at: GpuAddress(at), len: len as u32, lane: lane as u8, hit: None, as_of: 0 }
}

/// Adds bytes; lanes come in rising order.
#[inline]
fn join(spans: &mut Vec<Piece>, at: u64, len: u64, lane: usize) {
    if let Some(last) = spans.last_mut() {
        let end = last.at.0 + u64::from(last.len);
        if at >= last.at.0 && at <= end {
            last.len = (end.max(at + len) - last.at.0) as u32;
            return;
        }
    }
    spans.push(piece(at, len, lane));
}

/// The bytes that the lanes of `mask` touch, `bytes` each: into `spans`, to be put in
/// order, or in order and apart into `pieces`.
pub(super) fn collect(
    offsets: &Lanes,
    mask: LaneMask,
    bytes: u32,
    spans: &mut Vec<Piece>,
    scatter: &mut Scatter,
    pieces: &mut Vec<Piece>,
) {
    for (block, o) in offsets.as_chunks::<BLOCK>().0.iter().enumerate() {
        let (first, lane) = (o[0], BLOCK * block);
        let lanes = mask.0 >> lane & 0xFFFF;
        if lanes == 0xFFFF {
            let (mut same, mut next) = (true, true);
            for (i, &at) in o.iter().enumerate() {
                same &= at == first;
                next &= at == first.wrapping_add(i as u32 * bytes);
            }
            let whole = BLOCK as u64 * u64::from(bytes);
            if same {
                join(spans, first.into(), bytes.into(), lane);
                continue;
            }
            if next && u64::from(first) + whole <= 1 << 32 {
                join(spans, first.into(), whole, lane);
                continue;
            }
        }
        for i in LaneMask(lanes).iter().map(|i| i as usize) {
            join(spans, o[i].into(), bytes.into(), lane + i);
        }
        if spans.len() > MANY && scatter.collect(offsets, mask, bytes, pieces) {
            spans.clear();
            return;
        }
    }
}

impl Scatter {
    /// As [`collect`], of whole dwords that have a bit; false, and nothing done, if
    /// some are not.
    fn collect(
        &mut self,
        offsets: &Lanes,
        mask: LaneMask,
        bytes: u32,
        pieces: &mut Vec<Piece>,
    ) -> bool {
        let last = DWORDS as u32 * 4 - bytes;
        let (mut low, mut high, mut odd) = (u32::MAX, 0, bytes);
        for lane in mask.iter() {
            let at = offsets[lane as usize];
            (low, high, odd) = (low.min(at), high.max(at), odd | at);
        }
        if !odd.is_multiple_of(4) || high > last {
            return false;
        }
        if self.bits.is_empty() {
            self.bits = vec![0; DWORDS / 64];
            self.lowest = vec![0; DWORDS];
        }
        // The lowest lane writes last.
        let mut rest = mask.0;
        while rest != 0 {
            let lane = 63 - rest.leading_zeros() as usize;
            rest &= !(1 << lane);
            for dword in offsets[lane] as usize / 4..(offsets[lane] + bytes) as usize / 4 {
                self.bits[dword / 64] |= 1 << (dword % 64);
                self.lowest[dword] = lane as u8;
            }
        }
        let words = low as usize / 256..=(high + bytes - 4) as usize / 256;
        let from = pieces.len();
        for word in words {
            let mut rest = std::mem::take(&mut self.bits[word]);
            while rest != 0 {
                let at = rest.trailing_zeros();
                let len = (!(rest >> at)).trailing_zeros();
                rest = if at + len < 64 { rest >> (at + len) << (at + len) } else { 0 };
                let first = 64 * word + at as usize;
                let lanes = &self.lowest[first..first + len as usize];
                let lane = lanes.iter().copied().min().unwrap_or(0);
                if let Some(open) = pieces[from..].last_mut()
                    && open.at.0 + u64::from(open.len) == 4 * first as u64
                {
                    open.len += 4 * len;
                    open.lane = open.lane.min(lane);
                    continue;
                }
                pieces.push(piece(4 * first as u64, 4 * u64::from(len), lane.into()));
            }
        }
        true
    }
}
