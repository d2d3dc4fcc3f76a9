//! Hazards found so far: one per root cause, in the order of their first occurrence.

use crate::hazard::{Action, Hazard};
use std::collections::HashMap;
use wavefence_base::{CacheClass, DispatchId, GpuAddress, GpuRange, QueueId, Verdict};

/// What makes two occurrences the same: the rule, the two commands and the cache.
/// Source lines count only within one dispatch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    pub(crate) rule: u32,
    pub(crate) producer: (Option<QueueId>, Option<GpuAddress>),
    pub(crate) consumer: (Option<QueueId>, Option<GpuAddress>),
    pub(crate) class: Option<CacheClass>,
    pub(crate) lines: (u32, u32),
}

/// The list.
#[derive(Clone, Debug, Default)]
pub(crate) struct Found {
    list: Vec<Hazard>,
    by_key: HashMap<Key, usize>,
    /// The last access that was counted for each.
    counted: Vec<u64>,
}

/// The key of a hazard.
fn key(h: &Hazard) -> Key {
    let command = |s: Option<crate::hazard::Side>| s.map_or((None, None), |s| (s.queue, s.packet));
    let dispatch = |s: Option<crate::hazard::Side>| s.and_then(|s| s.dispatch);
    let inside: Option<DispatchId> = dispatch(h.producer).filter(|_| {
        let (a, b) = (dispatch(h.producer), dispatch(h.consumer));
        a == b
    });
    let line = |s: Option<crate::hazard::Side>| s.map_or(0, |s| s.loc);
    Key {
        rule: h.rule.number,
        producer: command(h.producer),
        consumer: command(h.consumer),
        class: h.held.map(|held| held.class),
        lines: if inside.is_some() { (line(h.producer), line(h.consumer)) } else { (0, 0) },
    }
}

/// From the first to the last byte of two ranges.
pub(crate) fn union(a: GpuRange, b: GpuRange) -> GpuRange {
    let start = a.start.min(b.start);
    GpuRange::new(start, a.end().max(b.end()) - start.0)
}

impl Found {
    /// Adds an occurrence in the access numbered `now`.
    pub(crate) fn add(&mut self, hazard: Hazard, now: u64) {
        let next = self.list.len();
        let at = *self.by_key.entry(key(&hazard)).or_insert(next);
        let Some(old) = self.list.get_mut(at) else {
            self.list.push(hazard);
            self.counted.push(now);
            return;
        };
        let again = std::mem::replace(&mut self.counted[at], now) != now;
        let count = old.count + u64::from(again);
        let span = match (old.span, hazard.span) {
            (Some(a), Some(b)) => Some(union(a, b)),
            (one, other) => one.or(other),
        };
        if hazard.verdict == Verdict::Proven && old.verdict != Verdict::Proven {
            *old = hazard;
        }
        old.count = count;
        old.span = span;
        for mend in &mut old.mends {
            if let (Action::Widen(range), Some(span)) = (&mut mend.action, span) {
                *range = union(*range, span);
            }
        }
    }

    pub(crate) fn list(&self) -> &[Hazard] {
        &self.list
    }
}
