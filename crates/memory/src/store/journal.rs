//! Going back: pages that were written since a checkpoint, with their bytes then.
//!
//! A page is copied before its first write after the checkpoint. The copy is kept
//! after going back, for the bytes of the checkpoint do not change: a page that is
//! written in every one of many runs is copied once, and put back once a run.
//! Without a checkpoint a write costs one test of a flag.

use super::{Store, Window};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// Bytes of a page.
const PAGE: u64 = 4096;

/// In a page's state: it was written since the checkpoint, or since the last going
/// back to it. The bits above are the number of its copy, from 1; 0 is none.
const WRITTEN: u32 = 1;

type Copy = Box<[u8; PAGE as usize]>;

/// What a [`Store`] keeps to go back.
#[derive(Default)]
pub(super) struct Journal {
    /// A checkpoint is set.
    on: AtomicBool,
    pages: OnceLock<Pages>,
}

struct Pages {
    states: Box<[AtomicU32]>,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    /// The copies, each with its page.
    copies: Vec<(u64, Copy)>,
    /// Copies that are no longer anyone's.
    spare: Vec<Copy>,
    /// Pages written, each once.
    written: Vec<u64>,
}

impl Pages {
    fn new(bytes: u64) -> Self {
        let states = (0..bytes.div_ceil(PAGE)).map(|_| AtomicU32::new(0)).collect();
        Self { states, kept: Mutex::default() }
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Store {
    /// Marks this moment as the one that [`Self::restore`] goes back to. Nobody may
    /// write meanwhile.
    pub fn checkpoint(&self) {
        let pages = self.journal.pages.get_or_init(|| Pages::new(self.len));
        let mut kept = pages.kept();
        let Kept { copies, spare, written } = &mut *kept;
        for (page, copy) in copies.drain(..) {
            pages.states[page as usize].store(0, Ordering::Relaxed);
            spare.push(copy);
        }
        written.clear();
        self.journal.on.store(true, Ordering::Release);
    }

    /// Puts the bytes back that have been written since the checkpoint; without one
    /// it does nothing. Nobody may read or write meanwhile.
    pub fn restore(&self) {
        let Some(pages) = self.journal.pages.get() else { return };
        let mut kept = pages.kept();
        let Kept { copies, written, .. } = &mut *kept;
        for page in written.drain(..) {
            let state = pages.states[page as usize].fetch_and(!WRITTEN, Ordering::Relaxed);
            let (_, copy) = &copies[(state >> 1) as usize - 1];
            let window = self.page(page);
            window.put(0, &copy[..window.len as usize]);
        }
    }

    /// The bytes of a page; fewer than [`PAGE`] of the last.
    fn page(&self, page: u64) -> Window<'_> {
        let at = page * PAGE;
        match self.window(at, PAGE.min(self.len - at)) {
            Some(window) => window,
            None => unreachable!("a page that was written lies in the store"),
        }
    }

    #[inline]
    pub(super) fn is_watched(&self) -> bool {
        self.journal.on.load(Ordering::Relaxed)
    }

    /// Bytes `at..at + len`, which are there, are about to be written.
    #[cold]
    pub(super) fn save(&self, at: u64, len: u64) {
        let Some(pages) = self.journal.pages.get() else { return };
        for page in at / PAGE..=(at + len.max(1) - 1) / PAGE {
            // Whoever reads the mark has the copy before its own write.
            if pages.states[page as usize].load(Ordering::Acquire) & WRITTEN == 0 {
                self.save_page(pages, page);
            }
        }
    }

    fn save_page(&self, pages: &Pages, page: u64) {
        let mut kept = pages.kept();
        let state = &pages.states[page as usize];
        let mut now = state.load(Ordering::Relaxed);
        if now & WRITTEN != 0 {
            return;
        }
        if now == 0 {
            let mut copy = kept.spare.pop().unwrap_or_else(|| Box::new([0; PAGE as usize]));
            let window = self.page(page);
            window.read(0, &mut copy[..window.len as usize]);
            kept.copies.push((page, copy));
            now = (kept.copies.len() as u32) << 1;
        }
        kept.written.push(page);
        state.store(now | WRITTEN, Ordering::Release);
    }
}

impl Window<'_> {
    /// Call before bytes are written that are there.
    #[inline]
    pub(super) fn note(self, at: u64, len: u64) {
        if self.store.is_watched() {
            self.store.save(self.place() + at, len);
        }
    }

    /// As [`Self::note`], for the lanes whose `bytes` bytes are all there.
    #[inline]
    pub(super) fn note_lanes(
        self,
        offsets: &crate::port::Lanes,
        mask: wavefence_base::LaneMask,
        bytes: u64,
    ) {
        if self.store.is_watched() {
            for lane in mask.iter() {
                let at = u64::from(offsets[lane as usize]);
                if self.has(at, bytes) {
                    self.note(at, bytes);
                }
            }
        }
    }

    /// Where it begins in its store.
    fn place(self) -> u64 {
        self.ptr.as_ptr() as u64 - self.store.ptr.as_ptr() as u64
    }
}
