//! Going back to an earlier moment of a cache.

use super::{Cache, Line, NOWHERE};

/// A cache at one moment: its lines alone, not its tables.
#[derive(Debug, Default)]
pub struct SavedCache {
    /// Each with when its way was last used.
    lines: Vec<(Line, u64)>,
    data: Vec<u8>,
    stamps: Vec<u64>,
    free: Vec<u32>,
    dirty: Vec<u32>,
    live: u64,
    tick: u64,
    any_volatile: bool,
}

impl Cache {
    /// The cache as it is now.
    pub fn save(&self) -> SavedCache {
        let Self {
            // The shape does not change; tags and slots of ways follow from the lines.
            shift: _,
            sets: _,
            ways: _,
            generation: _,
            tags: _,
            slots: _,
            hints: _,
            used,
            tick,
            lines,
            data,
            stamps,
            // Its owner's to say: see `keep_stamps`.
            stamped,
            free,
            live,
            dirty,
            any_volatile,
        } = self;
        let bytes = lines.len() << self.shift;
        let when = |l: &Line| if l.way == NOWHERE { 0 } else { used[l.way as usize] };
        SavedCache {
            lines: lines.iter().map(|l| (*l, when(l))).collect(),
            data: data[..bytes].to_vec(),
            stamps: if *stamped { stamps[..bytes / 4].to_vec() } else { Vec::new() },
            free: free.clone(),
            dirty: dirty.clone(),
            live: *live,
            tick: *tick,
            any_volatile: *any_volatile,
        }
    }

    /// Goes back to what [`Self::save`] gave. Costs the lines that there were then;
    /// those that are here now go in one step.
    pub fn restore(&mut self, saved: &SavedCache) {
        self.drop_all();
        let SavedCache { lines, data, stamps, free, dirty, live, tick, any_volatile } = saved;
        self.tick = *tick;
        self.any_volatile = *any_volatile;
        if lines.is_empty() {
            return;
        }
        self.lines.extend(lines.iter().map(|(line, _)| *line));
        self.data[..data.len()].copy_from_slice(data);
        if self.stamped {
            // Turned on since: as lines count that are there when it is.
            let dwords = self.line_bytes() / 4;
            self.stamps.resize(self.stamps.len().max(data.len() / 4), 0);
            if stamps.is_empty() {
                for (to, line) in self.stamps.chunks_mut(dwords).zip(&self.lines) {
                    to.fill(line.seq);
                }
            } else {
                self.stamps[..stamps.len()].copy_from_slice(stamps);
            }
        }
        self.free.extend_from_slice(free);
        self.dirty.extend_from_slice(dirty);
        self.live = *live;
        for (slot, (line, used)) in lines.iter().enumerate() {
            if line.way != NOWHERE {
                let way = line.way as usize;
                self.tags[way] = self.tag(line.number);
                self.used[way] = *used;
                self.slots[way] = slot as u32;
            }
        }
    }
}
