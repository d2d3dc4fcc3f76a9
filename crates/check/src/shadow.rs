//! Shadow memory: for each dword of touched pages who wrote it last and who read it
//! since, and for each line which access may have filled a cache with it.
//!
//! A touched page of 4 KiB costs 8 bytes a dword, 4 bytes a line of 64 bytes and, for
//! each class of cache that ever held some of it, 8 bytes a line: under 11 bytes a
//! dword with all five classes. Bytes of dwords that were not accessed whole, and
//! readers that no one entry can stand for, are kept aside; both are rare.

use crate::clock::Epoch;
use crate::hash::Quick;
use std::collections::{BTreeMap, HashMap};
use wavefence_base::{AccessKind, CacheClass, Client, GpuAddress, GpuRange};

/// Bytes of a page.
pub(crate) const PAGE: u64 = 4096;
/// Dwords of a page.
const DWORDS: usize = 1024;
/// Bytes of a line, the smaller of the sizes that exist.
pub(crate) const LINE: u64 = 64;
const LINES: usize = 64;
/// [`Cell::write`] of a dword whose bytes are kept aside.
pub(crate) const SPLIT: u32 = u32::MAX;
/// Marks of [`Cell::read`]: other waves of its group, or other groups of its dispatch,
/// read it too.
pub(crate) const WAVES: u32 = 1 << 30;
pub(crate) const GROUPS: u32 = 1 << 31;
const ID: u32 = WAVES - 1;
/// [`Record::launch`] of the launch itself.
pub(crate) const LAUNCH: u32 = u32::MAX;
/// [`Record::launch`] of a group that is known to be another one, and no more.
pub(crate) const ANOTHER: u32 = u32::MAX - 1;

/// One access, as far as later ones ask.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Record {
    pub(crate) epoch: Epoch,
    pub(crate) seq: u64,
    /// The group's id; of engines the packet, low half first.
    pub(crate) who: [u32; 3],
    pub(crate) launch: u32,
    pub(crate) wave: u16,
    pub(crate) barriers: u16,
    pub(crate) loc: u32,
    pub(crate) client: Client,
    pub(crate) kind: AccessKind,
    pub(crate) coherent: bool,
    pub(crate) lane: u8,
}

/// The number in a reader's entry, without marks.
pub(crate) const fn id(entry: u32) -> u32 {
    entry & ID
}

/// Last write and last read of a dword or byte, as numbers of records; 0 is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cell {
    pub(crate) write: u32,
    pub(crate) read: u32,
}

/// Accesses that may have put a line into caches of a class; 0 is none.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Fill {
    /// The last one.
    pub(crate) last: u32,
    /// The last one that did not know of the last write to the line.
    pub(crate) stale: u32,
}

/// Shadow of 4 KiB.
#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) cells: Box<[Cell; DWORDS]>,
    pub(crate) line_write: [u32; LINES],
    fills: [Option<Box<[Fill; LINES]>>; CacheClass::ALL.len()],
    pub(crate) split: BTreeMap<u16, [Cell; 4]>,
    /// Readers of a dword beside the one in its cell, from other agents.
    pub(crate) others: BTreeMap<u16, Vec<u32>>,
}

impl Default for Page {
    fn default() -> Self {
        Self {
            cells: Box::new([Cell::default(); DWORDS]),
            line_write: [0; LINES],
            fills: Default::default(),
            split: BTreeMap::new(),
            others: BTreeMap::new(),
        }
    }
}

const fn class_index(class: CacheClass) -> usize {
    match class {
        CacheClass::Vector => 0,
        CacheClass::Scalar => 1,
        CacheClass::Instruction => 2,
        CacheClass::Gl1 => 3,
        CacheClass::L2 => 4,
    }
}

/// First entry of the line of `bytes` bytes that the entry `line` belongs to.
const fn first_of(line: usize, bytes: u64) -> usize {
    let per = if bytes > LINE { (bytes / LINE) as usize } else { 1 };
    line / per * per
}

impl Clone for Page {
    fn clone(&self) -> Self {
        let mut new = Self::default();
        new.clone_from(self);
        new
    }

    /// Keeps the memory it has.
    fn clone_from(&mut self, from: &Self) {
        let Self { cells, line_write, fills, split, others } = self;
        cells.copy_from_slice(&from.cells[..]);
        line_write.copy_from_slice(&from.line_write);
        for (to, from) in fills.iter_mut().zip(&from.fills) {
            match (to, from) {
                (Some(to), Some(from)) => to.copy_from_slice(&from[..]),
                (Some(to), None) => to.fill(Fill::default()),
                (to @ None, from) => to.clone_from(from),
            }
        }
        split.clone_from(&from.split);
        others.clone_from(&from.others);
    }
}

impl Page {
    /// Becomes a page that nobody touched; keeps its memory.
    fn clear(&mut self) {
        let Self { cells, line_write, fills, split, others } = self;
        cells.fill(Cell::default());
        line_write.fill(0);
        for list in fills.iter_mut().flatten() {
            list.fill(Fill::default());
        }
        split.clear();
        others.clear();
    }

    /// What may have filled caches of `class`, whose lines have `bytes` bytes, with
    /// the line at entry `line`.
    pub(crate) fn fill(&self, class: CacheClass, line: usize, bytes: u64) -> Fill {
        let list = self.fills[class_index(class)].as_ref();
        list.map_or_else(Fill::default, |f| f[first_of(line, bytes)])
    }

    pub(crate) fn fill_mut(&mut self, class: CacheClass, line: usize, bytes: u64) -> &mut Fill {
        let list = self.fills[class_index(class)]
            .get_or_insert_with(|| Box::new([Fill::default(); LINES]));
        &mut list[first_of(line, bytes)]
    }

    /// A write went to the line: what filled it so far is stale from now on.
    pub(crate) fn written(&mut self, line: usize, record: u32) {
        self.line_write[line] = record;
        for list in self.fills.iter_mut().flatten() {
            // Of lines of 128 bytes the even entry counts.
            for at in [line, line & !1] {
                list[at].stale = list[at].last;
            }
        }
    }

    /// The cells of a dword's bytes, kept aside from now on.
    pub(crate) fn split(&mut self, dword: usize) -> &mut [Cell; 4] {
        let cell = &mut self.cells[dword];
        let whole = *cell;
        cell.write = SPLIT;
        cell.read = 0;
        self.split.entry(dword as u16).or_insert([whole; 4])
    }

    fn for_each_id(&mut self, mut each: impl FnMut(&mut u32)) {
        for cell in self.cells.iter_mut() {
            if cell.write != SPLIT {
                each(&mut cell.write);
            }
            each(&mut cell.read);
        }
        self.line_write.iter_mut().for_each(&mut each);
        for fill in self.fills.iter_mut().flatten().flat_map(|f| f.iter_mut()) {
            each(&mut fill.last);
            each(&mut fill.stale);
        }
        for cell in self.split.values_mut().flatten() {
            each(&mut cell.write);
            each(&mut cell.read);
        }
        self.others.values_mut().flatten().for_each(each);
    }
}

/// Records kept before the unused ones are looked for.
const FIRST_SWEEP: usize = 1 << 20;

type PageMap = HashMap<u64, Box<Page>, Quick>;

/// Shadow pages by number.
#[derive(Debug, Default)]
pub(crate) struct Pages {
    /// Those touched since the checkpoint; all, if there is none.
    live: PageMap,
    /// As they were at the checkpoint.
    base: PageMap,
    /// Pages that are no longer anyone's.
    #[allow(clippy::vec_box, reason = "boxes go back and forth as they are")]
    spare: Vec<Box<Page>>,
}

/// Pages kept for use again; what a run touches beyond is given back.
const MAX_SPARE: usize = 1024;

impl Pages {
    /// The page at that number, made if it is new.
    pub(crate) fn page(&mut self, number: u64) -> &mut Page {
        let Self { live, base, spare } = self;
        live.entry(number).or_insert_with(|| match (base.get(&number), spare.pop()) {
            (Some(base), Some(mut page)) => {
                page.clone_from(base);
                page
            }
            (Some(base), None) => base.clone(),
            (None, Some(mut page)) => {
                page.clear();
                page
            }
            (None, None) => Box::default(),
        })
    }

    fn get(&self, number: u64) -> Option<&Page> {
        self.live.get(&number).or_else(|| self.base.get(&number)).map(|page| &**page)
    }

    /// The page, to be changed, if it was ever touched.
    fn get_mut(&mut self, number: u64) -> Option<&mut Page> {
        self.get(number)?;
        Some(self.page(number))
    }

    /// The numbers in a range of those that were ever touched, sorted.
    fn numbers(&self, first: u64, last: u64) -> Vec<u64> {
        let mut numbers: Vec<u64> = self.live.keys().chain(self.base.keys()).copied().collect();
        numbers.retain(|n| (first..=last).contains(n));
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    }
}

/// The shadow of all touched memory, and the records it points at.
#[derive(Debug)]
pub(crate) struct Shadow {
    pages: Pages,
    pub(crate) records: Vec<Record>,
    sweep_at: usize,
    /// Records and [`Self::sweep_at`] at the checkpoint; pages of then point at those
    /// records, which therefore keep their numbers.
    mark: (usize, usize),
}

impl Default for Shadow {
    fn default() -> Self {
        // Number 0 stands for none.
        let none = Record {
            epoch: Epoch::host(0),
            seq: 0,
            who: [0; 3],
            launch: 0,
            wave: 0,
            barriers: 0,
            loc: 0,
            client: Client::Host,
            kind: AccessKind::Read,
            coherent: false,
            lane: 0,
        };
        Self {
            pages: Pages::default(),
            records: vec![none],
            sweep_at: FIRST_SWEEP,
            mark: (1, FIRST_SWEEP),
        }
    }
}

impl Shadow {
    pub(crate) fn parts(&mut self) -> (&mut Pages, &[Record]) {
        (&mut self.pages, &self.records)
    }

    /// Marks this moment as the one that [`Self::restore`] goes back to.
    pub(crate) fn checkpoint(&mut self) {
        let Self { pages, records, sweep_at, mark } = self;
        pages.base.extend(pages.live.drain());
        *mark = (records.len(), *sweep_at);
    }

    /// Goes back to the checkpoint. Costs the pages touched since.
    pub(crate) fn restore(&mut self) {
        let Self { pages, records, sweep_at, mark } = self;
        let room = MAX_SPARE.saturating_sub(pages.spare.len());
        pages.spare.extend(pages.live.drain().map(|(_, page)| page).take(room));
        records.truncate(mark.0);
        *sweep_at = mark.1;
    }

    /// The record that last wrote a byte, if any.
    pub(crate) fn writer(&self, at: GpuAddress) -> Option<&Record> {
        let page = self.pages.get(at.0 / PAGE)?;
        let dword = (at.0 % PAGE / 4) as usize;
        let cell = match page.cells[dword] {
            Cell { write: SPLIT, .. } => page.split.get(&(dword as u16))?[at.0 as usize % 4],
            cell => cell,
        };
        (cell.write != 0).then(|| &self.records[cell.write as usize])
    }

    /// The records that last wrote every fourth byte from `start` to `end`, neighbours
    /// with the same one once.
    pub(crate) fn writers(&self, start: u64, end: u64, mut each: impl FnMut(&Record)) {
        let (mut at, mut last) = (start, 0);
        while at < end {
            let stop = (at / PAGE + 1).saturating_mul(PAGE).min(end);
            let page = self.pages.get(at / PAGE);
            while at < stop {
                let dword = (at % PAGE / 4) as usize;
                let write = page.map_or(0, |page| match page.cells[dword].write {
                    SPLIT => {
                        page.split.get(&(dword as u16)).map_or(0, |b| b[at as usize % 4].write)
                    }
                    write => write,
                });
                if write != 0 && write != last {
                    last = write;
                    each(&self.records[write as usize]);
                }
                at = at.saturating_add(4);
            }
        }
    }

    /// The records that touched dwords of a range last, writers and readers, each once
    /// with its first dword.
    pub(crate) fn touched(&self, range: GpuRange) -> Vec<(GpuAddress, u32)> {
        let (first, last) = (range.start.0 / PAGE, range.end().saturating_sub(1) / PAGE);
        let mut found: BTreeMap<u32, GpuAddress> = BTreeMap::new();
        for number in self.pages.numbers(first, last) {
            let Some(page) = self.pages.get(number) else { continue };
            for (dword, cell) in page.cells.iter().enumerate() {
                let at = GpuAddress(number * PAGE + dword as u64 * 4);
                if !range.overlaps(GpuRange::new(at, 4)) {
                    continue;
                }
                let split = page.split.get(&(dword as u16)).into_iter().flatten();
                let others = page.others.get(&(dword as u16)).into_iter().flatten();
                let whole = [cell.write, cell.read];
                let whole = whole.into_iter().filter(|_| cell.write != SPLIT);
                let ids = whole.chain(split.flat_map(|c| [c.write, c.read])).chain(others.copied());
                for id in ids.map(id).filter(|&i| i != 0) {
                    found.entry(id).or_insert(at);
                }
            }
        }
        let mut list: Vec<_> = found.into_iter().map(|(id, at)| (at, id)).collect();
        list.sort_unstable();
        list
    }

    /// Adds a record.
    pub(crate) fn push(&mut self, record: Record) -> u32 {
        if self.records.len() >= self.sweep_at {
            self.sweep();
        }
        self.records.push(record);
        (self.records.len() - 1) as u32
    }

    /// Drops the records that nothing points at.
    fn sweep(&mut self) {
        let mut new = vec![0u32; self.records.len()];
        for page in self.pages.live.values_mut() {
            page.for_each_id(|entry| new[id(*entry) as usize] = 1);
        }
        new[..self.mark.0].fill(1);
        let mut kept = 0;
        for (old, slot) in new.iter_mut().enumerate() {
            if *slot == 1 {
                *slot = kept;
                self.records[kept as usize] = self.records[old];
                kept += 1;
            }
        }
        self.records.truncate(kept as usize);
        for page in self.pages.live.values_mut() {
            page.for_each_id(|entry| *entry = *entry & !ID | new[id(*entry) as usize]);
        }
        self.sweep_at = (self.records.len() * 2).max(FIRST_SWEEP).max(self.pages.live.len() * 256);
    }

    /// Forgets who touched a range: new memory lies there.
    pub(crate) fn forget(&mut self, start: u64, end: u64) {
        let mut at = start;
        while at < end {
            let stop = (at / PAGE + 1).saturating_mul(PAGE).min(end);
            if let Some(page) = self.pages.get_mut(at / PAGE) {
                let (first, last) = ((at % PAGE / 4) as usize, ((stop - 1) % PAGE / 4) as usize);
                for dword in first..=last {
                    page.cells[dword] = Cell::default();
                    page.split.remove(&(dword as u16));
                    page.others.remove(&(dword as u16));
                }
            }
            at = stop;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(seq: u64) -> Record {
        Record { seq, ..Shadow::default().records[0] }
    }

    #[test]
    fn unused_records_go_and_the_rest_keep_their_marks() {
        let mut shadow = Shadow::default();
        let (a, b) = (shadow.push(record(5)), shadow.push(record(6)));
        let page = shadow.pages.page(1);
        page.cells[3] = Cell { write: 0, read: b | GROUPS };
        page.split(9)[2].write = b;
        assert_eq!((a, b), (1, 2));
        shadow.sweep();
        assert_eq!(shadow.records.len(), 2);
        let page = shadow.pages.get(1).unwrap();
        assert_eq!(page.cells[3].read, 1 | GROUPS);
        assert_eq!((page.cells[9].write, page.split[&9][2].write), (SPLIT, 1));
        assert_eq!(shadow.records[1].seq, 6);
        assert_eq!(shadow.writer(GpuAddress(PAGE + 38)).map(|r| r.seq), Some(6));
    }

    #[test]
    fn a_page_costs_under_twelve_bytes_a_dword() {
        let cells = DWORDS * size_of::<Cell>();
        let fills = CacheClass::ALL.len() * LINES * size_of::<Fill>();
        assert!(cells + fills + size_of::<Page>() <= 12 * DWORDS);
    }

    #[test]
    fn long_lines_share_an_entry() {
        let mut page = Page::default();
        page.fill_mut(CacheClass::Gl1, 5, 128).last = 7;
        assert_eq!(page.fill(CacheClass::Gl1, 4, 128).last, 7);
        assert_eq!(page.fill(CacheClass::Gl1, 6, 128).last, 0);
        page.written(5, 9);
        assert_eq!(page.fill(CacheClass::Gl1, 4, 128).stale, 7);
    }
}
