//! Rules of order and of boundaries that no source settles: each a switch with its
//! mark.

use crate::profile::{Confidence, Marked};

/// The switches of one profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrderSwitches {
    /// A submission starts by invalidating I$, K$, L1 and L2, so that what the
    /// host wrote before it is seen (`hardware/caches.md` 1.7: every public driver
    /// does it).
    pub submit_start: Marked<bool>,
    /// A submission ends by writing L2 back and waiting for memory's confirmation,
    /// so that the host sees its results.
    pub submit_end: Marked<bool>,
    /// Every command buffer that the ring calls starts by dropping I$, K$, L0 and
    /// GL1, as GFX10 hardware does on PC.
    pub list_start: Marked<bool>,
    /// A cache flush that the PFP runs waits until the ME has executed what is
    /// before it.
    pub pfp_flush_waits: Marked<bool>,
    /// One end-of-pipe event writes its value before its own L2 action is complete
    /// (`hardware/caches.md` 3.2); the next event of the queue waits for it.
    pub early_end_of_pipe: Marked<bool>,
    /// The waves of a group may sit on both compute units of a WGP.
    pub wgp_mode: Marked<bool>,
}

const fn confirmed<T>(value: T) -> Marked<T> {
    Marked { value, confidence: Confidence::Confirmed }
}
const fn assumed<T>(value: T) -> Marked<T> {
    Marked { value, confidence: Confidence::Assumed }
}

impl OrderSwitches {
    /// Of the consoles before Series.
    pub(crate) const BEFORE_GFX10: Self = Self {
        submit_start: assumed(true),
        submit_end: assumed(true),
        list_start: confirmed(false),
        pfp_flush_waits: assumed(false),
        early_end_of_pipe: confirmed(true),
        wgp_mode: confirmed(false),
    };

    /// Of Series.
    pub(crate) const GFX10: Self = Self {
        list_start: assumed(false),
        pfp_flush_waits: confirmed(true),
        early_end_of_pipe: confirmed(false),
        wgp_mode: assumed(false),
        ..Self::BEFORE_GFX10
    };

    /// Every switch with its mark, for printing.
    pub(crate) fn rows(&self) -> Vec<(&'static str, String, Confidence)> {
        let row = |name, m: Marked<bool>, on: &str, off: &str| {
            (name, String::from(if m.value { on } else { off }), m.confidence)
        };
        vec![
            row("caches at submit start", self.submit_start, "invalidated", "kept"),
            row("L2 at submit end", self.submit_end, "written back", "kept"),
            row("L0, GL1, K$, I$ at list start", self.list_start, "invalidated", "kept"),
            row("flush on the PFP", self.pfp_flush_waits, "waits for the ME", "runs at once"),
            row("end-of-pipe value", self.early_end_of_pipe, "before its L2 action", "after it"),
            row("waves of one group", self.wgp_mode, "on both CUs of a WGP", "on one CU"),
        ]
    }
}
