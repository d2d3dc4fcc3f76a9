//! One access, piece by piece, against the shadow.

use crate::blame::Bytes;
use crate::clock::Stream;
use crate::judge::{Access, Fills, Inside, Judge, Order, Reach};
use crate::shadow::{ANOTHER, Cell, GROUPS, LINE, PAGE, Page, Record, SPLIT, Shadow, WAVES, id};
use std::ops::Range;
use wavefence_base::{AccessKind, CacheClass, Client, GpuAddress, GpuRange, Piece};

/// Consecutive bytes of one line with the same last write.
#[derive(Clone, Copy)]
struct Run {
    write: u32,
    start: u64,
    end: u64,
}

/// What is the same for the whole access.
pub(crate) struct Walk<'a> {
    pub(crate) judge: &'a mut Judge,
    pub(crate) records: &'a [Record],
    pub(crate) access: &'a Access,
    /// Memory of which it is known that it was allocated and not filled.
    pub(crate) fresh: &'a [GpuRange],
    /// Bytes of a line of each cache on the way.
    lines: [u64; 3],
    /// The last answers, which mostly hold for the next cell too.
    last_read: (u32, u32),
    last_write: Option<Cell>,
    last_reach: Option<(u32, Reach)>,
    line_known: (u32, bool),
}

impl<'a> Walk<'a> {
    pub(crate) fn new(
        judge: &'a mut Judge,
        records: &'a [Record],
        access: &'a Access,
        fresh: &'a [GpuRange],
    ) -> Self {
        let mut lines = [LINE; 3];
        for (bytes, &class) in lines.iter_mut().zip(access.path) {
            *bytes = judge.line(class);
        }
        Self {
            judge,
            records,
            access,
            fresh,
            lines,
            last_read: (u32::MAX, 0),
            last_write: None,
            last_reach: None,
            line_known: (u32::MAX, false),
        }
    }

    /// The part of a piece that lies in one page.
    fn lines(&mut self, page: &mut Page, start: u64, end: u64, piece: &Piece) {
        let mut at = start;
        while at < end {
            let stop = (at / LINE + 1).saturating_mul(LINE).min(end);
            self.line(page, at, stop, piece);
            at = stop;
        }
    }

    /// The part that lies in one line.
    fn line(&mut self, page: &mut Page, start: u64, end: u64, piece: &Piece) {
        let line = (start % PAGE / LINE) as usize;
        let kind = self.access.record.kind;
        if kind != AccessKind::Write && !self.access.signal {
            self.check_reads(page, line, start, end, piece);
        }
        if kind != AccessKind::Read && !self.access.signal {
            self.check_writes(page, start, end, piece);
        }
        if kind == AccessKind::Read {
            self.note_reads(page, start, end);
            self.note_fills(page, line);
        } else {
            self.note_writes(page, start, end);
            self.note_fills(page, line);
            page.written(line, self.access.number);
            if self.access.path.contains(&CacheClass::L2) {
                let bytes = self.judge.line(CacheClass::L2);
                page.fill_mut(CacheClass::L2, line, bytes).last = self.access.number;
            }
        }
    }

    fn check_reads(&mut self, page: &Page, line: usize, start: u64, end: u64, piece: &Piece) {
        let mut fills: Fills = [0; 3];
        for ((fill, &class), &bytes) in fills.iter_mut().zip(self.access.path).zip(&self.lines) {
            *fill = page.fill(class, line, bytes).stale;
        }
        if let Some(cells) = whole(page, start, end) {
            let write = page.cells[cells.start].write;
            let one = page.cells[cells].iter().fold(true, |one, c| one & (c.write == write));
            if one {
                return self.check_read(Run { write, start, end }, &fills, piece);
            }
        }
        for_each_run(page, start, end, &mut |run| self.check_read(run, &fills, piece));
    }

    fn check_read(&mut self, run: Run, fills: &Fills, piece: &Piece) {
        let range = GpuRange::new(GpuAddress(run.start), run.end - run.start);
        if run.write == 0 {
            // Engines fetch whole lines and the host looks at what it likes; but counts and
            // conditions are read as they are.
            let client = self.access.record.client;
            let shader = self.access.dispatch.is_some() && client != Client::Instruction;
            let decides = matches!(client, Client::IndirectArguments | Client::Predicate);
            if (shader || decides) && self.fresh.iter().any(|f| f.overlaps(range)) {
                let bytes = Bytes { range, lane: piece.lane, old: false };
                self.judge.blame_uninitialised(self.access, bytes);
            }
            return;
        }
        let writer = &self.records[run.write as usize];
        let old = piece.as_of != 0 && piece.as_of < writer.seq;
        let bytes = Bytes { range, lane: piece.lane, old };
        let access = self.access;
        if writer.epoch == access.record.epoch {
            if writer.epoch.stream == Stream::Dispatch {
                self.read_inside(writer, fills, bytes);
            }
            return;
        }
        let reach = match self.last_reach {
            Some((write, reach)) if write == run.write && !self.judge.flushes.ranged() => reach,
            _ => self.judge.reach(writer, access, range.start),
        };
        self.last_reach = Some((run.write, reach));
        if reach.order != Order::Before {
            let atomics =
                writer.kind == AccessKind::Atomic && access.record.kind == AccessKind::Atomic;
            if !atomics {
                self.judge.blame_order(writer, access, reach.order, bytes);
            }
            return;
        }
        match reach.write_back {
            Some(None) => return self.judge.blame_write_back(writer, access, bytes),
            Some(Some(ran)) if !self.judge.flushes.get(ran).confirmed(&access.know) => {
                return self.judge.blame_confirm(writer, access, ran, bytes);
            }
            Some(Some(_)) | None => {}
        }
        if fills.iter().all(|&f| f == 0) {
            return;
        }
        let missing = self.judge.stale(self.records, writer, access, range.start, fills, &reach);
        if !missing.is_empty() {
            self.judge.blame_stale(self.records, writer, access, &missing, bytes);
        }
    }

    /// A read of what its own dispatch wrote.
    fn read_inside(&mut self, writer: &Record, fills: &Fills, bytes: Bytes) {
        match self.judge.inside(writer, self.access) {
            Inside::Ordered => {}
            Inside::NotDropped => {
                // Only where a cache may have held the line from before.
                let held = fills
                    .iter()
                    .take(self.access.path.len())
                    .any(|&f| f != 0 && !self.judge.fill_knows(&self.records[f as usize], writer));
                if held {
                    self.judge.blame_inside(writer, self.access, Inside::NotDropped, bytes);
                }
            }
            other @ (Inside::Waves | Inside::Groups) => {
                self.judge.blame_inside(writer, self.access, other, bytes);
            }
        }
    }

    fn check_writes(&mut self, page: &Page, start: u64, end: u64, piece: &Piece) {
        if page.others.is_empty()
            && let Some(cells) = whole(page, start, end)
        {
            for (cell, at) in page.cells[cells].iter().zip((start..).step_by(4)) {
                if self.last_write != Some(*cell) {
                    self.check_write(*cell, at, at + 4, piece);
                }
            }
            return;
        }
        let mut at = start;
        while at < end {
            let dword = (at % PAGE / 4) as usize;
            let stop = (at / 4 * 4 + 4).min(end);
            let cell = page.cells[dword];
            if cell.write == SPLIT {
                if let Some(bytes) = page.split.get(&(dword as u16)) {
                    for byte in at..stop {
                        self.check_write(bytes[byte as usize % 4], byte, byte + 1, piece);
                    }
                }
            } else {
                self.check_write(cell, at, stop, piece);
            }
            if let Some(others) = page.others.get(&(dword as u16)) {
                for &other in others {
                    self.check_write(Cell { write: 0, read: other }, at, stop, piece);
                }
            }
            at = stop;
        }
    }

    fn check_write(&mut self, cell: Cell, start: u64, end: u64, piece: &Piece) {
        if self.last_write == Some(cell) {
            return;
        }
        let range = GpuRange::new(GpuAddress(start), end - start);
        let bytes = Bytes { range, lane: piece.lane, old: false };
        let mut clean = true;
        // An atomic was judged against the last write as a reader.
        if cell.write != 0 && self.access.record.kind == AccessKind::Write {
            clean &= self.write_after_write(cell.write, bytes);
        }
        if cell.read != 0 {
            clean &= self.write_after_read(cell.read, bytes);
        }
        self.last_write = clean.then_some(cell);
    }

    /// True if all is well.
    fn write_after_write(&mut self, write: u32, bytes: Bytes) -> bool {
        let writer = &self.records[write as usize];
        let access = self.access;
        if writer.epoch == access.record.epoch {
            if writer.epoch.stream != Stream::Dispatch {
                return true;
            }
            return self.inside_ok(writer, bytes);
        }
        let order = self.judge.order(writer.epoch, false, access);
        if order != Order::Before {
            self.judge.blame_order(writer, access, order, bytes);
            return false;
        }
        let from_l2 = self.judge.topology.writes_to_l2(writer.client);
        let to_l2 = self.judge.topology.writes_to_l2(access.record.client);
        if from_l2 && !to_l2 {
            let reach = self.judge.reach(writer, access, bytes.range.start);
            if reach.write_back == Some(None) {
                self.judge.blame_dirty(writer, access, bytes);
                return false;
            }
        }
        true
    }

    fn inside_ok(&mut self, prev: &Record, bytes: Bytes) -> bool {
        let inside = self.judge.inside(prev, self.access);
        // A write does not care what its caches hold.
        if matches!(inside, Inside::Ordered | Inside::NotDropped) {
            return true;
        }
        self.judge.blame_inside(prev, self.access, inside, bytes);
        false
    }

    fn write_after_read(&mut self, entry: u32, bytes: Bytes) -> bool {
        let reader = &self.records[id(entry) as usize];
        let access = self.access;
        let now = &access.record;
        if reader.epoch != now.epoch {
            let order = self.judge.order(reader.epoch, true, access);
            if order != Order::Before {
                self.judge.blame_order(reader, access, order, bytes);
                return false;
            }
            return true;
        }
        if reader.epoch.stream != Stream::Dispatch {
            return true;
        }
        // The entry stands for other readers of its dispatch too.
        let other_group = entry & GROUPS != 0;
        let other_wave = entry & WAVES != 0 && reader.barriers == now.barriers;
        let mut stand_in = *reader;
        if other_group && reader.launch == now.launch {
            stand_in.launch = ANOTHER;
        } else if other_wave && reader.launch == now.launch && reader.wave == now.wave {
            stand_in.wave = u16::MAX;
        }
        self.inside_ok(&stand_in, bytes)
    }

    fn note_reads(&mut self, page: &mut Page, start: u64, end: u64) {
        if let Some(cells) = whole(page, start, end) {
            for dword in cells {
                let old = page.cells[dword].read;
                let known = old == self.last_read.0;
                let new = if known { self.last_read.1 } else { self.merge(page, dword, old) };
                page.cells[dword].read = new;
            }
            return;
        }
        let mut at = start;
        while at < end {
            let dword = (at % PAGE / 4) as usize;
            let stop = (at / 4 * 4 + 4).min(end);
            if stop - at == 4 && page.cells[dword].write != SPLIT {
                let old = page.cells[dword].read;
                if old == self.last_read.0 {
                    page.cells[dword].read = self.last_read.1;
                } else {
                    let new = self.merge(page, dword, old);
                    page.cells[dword].read = new;
                }
            } else {
                page.split(dword);
                for byte in at..stop {
                    let old = page.split(dword)[byte as usize % 4].read;
                    let new = self.merge(page, dword, old);
                    page.split(dword)[byte as usize % 4].read = new;
                }
            }
            at = stop;
        }
    }

    /// The entry that stands for the readers so far and this one.
    fn merge(&mut self, page: &mut Page, dword: usize, old: u32) -> u32 {
        let mine = self.access.number;
        let now = &self.access.record;
        if old == 0 {
            self.last_read = (0, mine);
            return mine;
        }
        let prev = &self.records[id(old) as usize];
        let marks = old & (WAVES | GROUPS);
        let new = if prev.epoch == now.epoch && now.epoch.stream == Stream::Dispatch {
            if prev.launch != now.launch {
                old | GROUPS
            } else if prev.wave == now.wave || prev.barriers < now.barriers {
                let keep = if prev.barriers < now.barriers { GROUPS } else { WAVES | GROUPS };
                mine | marks & keep
            } else {
                old | WAVES
            }
        } else if (prev.epoch.queue, prev.epoch.stream) == (now.epoch.queue, now.epoch.stream) {
            // A wait for the later one waits for the earlier one too.
            if prev.epoch.number > now.epoch.number { old } else { mine }
        } else if self.access.know.ended(prev.epoch) {
            mine
        } else {
            // Somebody else's, not in order with this one: both count.
            let epoch = prev.epoch;
            let others = page.others.entry(dword as u16).or_default();
            let same = |&o: &u32| {
                let other = &self.records[id(o) as usize].epoch;
                (other.queue, other.stream) == (epoch.queue, epoch.stream)
            };
            match others.iter().position(same) {
                Some(at) => others[at] = old,
                None => others.push(old),
            }
            return mine;
        };
        self.last_read = (old, new);
        new
    }

    fn note_writes(&mut self, page: &mut Page, start: u64, end: u64) {
        let new = Cell { write: self.access.number, read: 0 };
        if page.others.is_empty()
            && let Some(cells) = whole(page, start, end)
        {
            return page.cells[cells].fill(new);
        }
        let mut at = start;
        while at < end {
            let dword = (at % PAGE / 4) as usize;
            let stop = (at / 4 * 4 + 4).min(end);
            if stop - at == 4 {
                if page.cells[dword].write == SPLIT {
                    page.split.remove(&(dword as u16));
                }
                page.cells[dword] = new;
            } else {
                for byte in at..stop {
                    page.split(dword)[byte as usize % 4] = new;
                }
            }
            if !page.others.is_empty() {
                page.others.remove(&(dword as u16));
            }
            at = stop;
        }
    }

    fn note_fills(&mut self, page: &mut Page, line: usize) {
        if self.access.record.kind == AccessKind::Write {
            return;
        }
        let written = page.line_write[line];
        let knows = if written == 0 {
            true
        } else if self.line_known.0 == written {
            self.line_known.1
        } else {
            let writer = &self.records[written as usize];
            let knows = self.judge.fill_knows(&self.access.record, writer);
            self.line_known = (written, knows);
            knows
        };
        for (&class, &bytes) in self.access.path.iter().zip(&self.lines) {
            let fill = page.fill_mut(class, line, bytes);
            fill.last = self.access.number;
            if !knows {
                fill.stale = self.access.number;
            }
        }
    }
}

/// The cells of `[start, end)`, all in one page, if those are whole dwords and no
/// dword of the page is kept by bytes.
fn whole(page: &Page, start: u64, end: u64) -> Option<Range<usize>> {
    let first = (start % PAGE / 4) as usize;
    let plain = (start | end).is_multiple_of(4) && page.split.is_empty();
    plain.then(|| first..first + ((end - start) / 4) as usize)
}

/// Runs of bytes of `[start, end)`, all in one page, with the same last write.
fn for_each_run(page: &Page, start: u64, end: u64, each: &mut dyn FnMut(Run)) {
    let mut run: Option<Run> = None;
    let mut add = |write: u32, start: u64, end: u64| match &mut run {
        Some(r) if r.write == write => r.end = end,
        _ => {
            if let Some(done) = run.replace(Run { write, start, end }) {
                each(done);
            }
        }
    };
    let mut at = start;
    while at < end {
        let dword = (at % PAGE / 4) as usize;
        let stop = (at / 4 * 4 + 4).min(end);
        match page.cells[dword].write {
            SPLIT => {
                if let Some(bytes) = page.split.get(&(dword as u16)) {
                    for byte in at..stop {
                        add(bytes[byte as usize % 4].write, byte, byte + 1);
                    }
                }
            }
            write => add(write, at, stop),
        }
        at = stop;
    }
    if let Some(done) = run {
        each(done);
    }
}

/// Walks all pieces.
pub(crate) fn walk(
    shadow: &mut Shadow,
    judge: &mut Judge,
    access: &Access,
    fresh: &[GpuRange],
    pieces: &[Piece],
) {
    let (pages, records) = shadow.parts();
    let mut walk = Walk::new(judge, records, access, fresh);
    let mut rest = pieces.iter().copied().peekable();
    while let Some(first) = rest.peek() {
        // Pieces stand by address: most are in the page of the one before.
        let number = first.at.0 / PAGE;
        let page_end = (number + 1).saturating_mul(PAGE);
        let page = pages.page(number);
        let mut over = None;
        while let Some(piece) = rest.next_if(|p| p.at.0 / PAGE == number) {
            let end = piece.at.0.saturating_add(u64::from(piece.len));
            walk.lines(page, piece.at.0, end.min(page_end), &piece);
            if end > page_end {
                over = Some((piece, end));
                break;
            }
        }
        if let Some((piece, end)) = over {
            let mut at = page_end;
            while at < end {
                let stop = at.saturating_add(PAGE).min(end);
                walk.lines(pages.page(at / PAGE), at, stop, &piece);
                at = stop;
            }
        }
    }
}
