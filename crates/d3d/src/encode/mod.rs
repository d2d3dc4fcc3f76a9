//! Turns recorded calls into packets of one generation and ring.
//!
//! The encoder knows packets and no rules: what a call may say was judged before.
//! Addresses of the list's own tables and scratch words are not known yet while it
//! records; they are patched in when the list is placed in GPU memory.

mod copy;
mod dispatch;
mod flush;
mod value;

pub(crate) use copy::{Fill, RowCopy};
pub(crate) use dispatch::DispatchArgs;
pub(crate) use flush::{Caches, Sync};
pub(crate) use value::{Stamp, WaitArgs};

use wavefence_base::{Generation, GpuAddress, Profile};
use wavefence_pm4::{Field, Kind, Packet, Ring, marker::Marker};

/// Bytes that a list's tables and scratch words are aligned to.
const ALIGNMENT: u64 = 256;

/// Dwords after which a list is cut. A list of one packet kind can add 2^14 dwords
/// before the next chance.
const CUT_DWORDS: u32 = 1 << 19;

/// What an address in the words refers to before the list has a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Own {
    /// A byte offset into the list's tables.
    Table(u32),
    /// A byte offset into the list's scratch words.
    Scratch(u32),
    /// A byte offset into the command buffers that packets of the list may run.
    Branch(u32),
}

/// Two words that get an address, low half first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Patch {
    word: u32,
    /// True if the word is one of the branches'.
    branch: bool,
    target: Own,
}

/// The words of one list.
#[derive(Clone, Debug)]
pub(crate) struct Encoder {
    generation: Generation,
    ring: Ring,
    /// Profile switch: an end-of-pipe value takes two events.
    twice: bool,
    words: Vec<u32>,
    tables: Vec<u8>,
    scratch: u32,
    patches: Vec<Patch>,
    /// Dwords where the list may be cut into command buffers.
    cuts: Vec<u32>,
    /// Command buffers that packets of the list may run.
    branches: Vec<u32>,
    /// Where each branch starts, and the dword of the list it belongs to.
    branch_starts: Vec<(u32, u32)>,
    /// True while a branch is recorded.
    in_branch: bool,
}

/// Where the parts of a list lie from its base.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    /// Bytes of packets, from the base.
    pub(crate) packets: u64,
    /// The same with the branches behind them.
    pub(crate) code: u64,
    /// Start of the tables.
    pub(crate) tables: u64,
    /// Start of the scratch words.
    pub(crate) scratch: u64,
    /// Bytes in all.
    pub(crate) total: u64,
}

impl Encoder {
    pub(crate) fn new(profile: &Profile, ring: Ring) -> Self {
        Self {
            generation: profile.generation.value,
            ring,
            twice: profile.end_of_pipe_events.value > 1,
            words: Vec::new(),
            tables: Vec::new(),
            scratch: 0,
            patches: Vec::new(),
            cuts: Vec::new(),
            branches: Vec::new(),
            branch_starts: Vec::new(),
            in_branch: false,
        }
    }

    /// The word where the next packet will lie.
    pub(crate) fn position(&self) -> u32 {
        self.words.len() as u32
    }

    /// The words so far, own addresses still 0.
    pub(crate) fn words(&self) -> &[u32] {
        &self.words
    }

    /// The command buffers that packets of the list may run, in order.
    pub(crate) fn branches(&self) -> impl Iterator<Item = &[u32]> {
        let ends = self.branch_starts.iter().skip(1).map(|&(start, _)| start);
        let ends = ends.chain([self.branches.len() as u32]);
        let starts = self.branch_starts.iter().map(|&(start, _)| start);
        starts.zip(ends).map(|(start, end)| &self.branches[start as usize..end as usize])
    }

    fn gfx10(&self) -> bool {
        match self.generation {
            Generation::Gfx7 | Generation::Gfx8 => false,
            Generation::Gfx10_3 => true,
        }
    }

    fn packet(&mut self, kind: Kind, fields: &[(Field, u64)]) -> u32 {
        self.build(kind, fields, &[], false)
    }

    fn packet_with_body(&mut self, kind: Kind, fields: &[(Field, u64)], body: &[u32]) -> u32 {
        self.build(kind, fields, body, false)
    }

    /// Appends a packet and gives the dword it starts at.
    fn build(&mut self, kind: Kind, fields: &[(Field, u64)], body: &[u32], compute: bool) -> u32 {
        let mut builder =
            Packet::build(kind, self.generation, self.ring).body(body).shader_type_compute(compute);
        for &(field, value) in fields {
            builder = builder.set(field, value);
        }
        self.cut_if_long();
        let at = self.position();
        self.words.extend(builder.encode());
        at
    }

    /// As [`Encoder::packet`], for packets told apart by their length.
    fn build_sized(&mut self, kind: Kind, dwords: usize, fields: &[(Field, u64)]) -> u32 {
        let mut builder = Packet::build_sized(kind, self.generation, self.ring, dwords);
        for &(field, value) in fields {
            builder = builder.set(field, value);
        }
        self.cut_if_long();
        let at = self.position();
        self.words.extend(builder.encode());
        at
    }

    /// Notes a place to cut when enough was recorded since the last one: a command
    /// buffer has at most 2^20 - 1 dwords.
    fn cut_if_long(&mut self) {
        let last = self.cuts.last().copied().unwrap_or(0);
        if self.in_branch || self.position() - last < CUT_DWORDS {
            return;
        }
        // A DMA engine's command buffers start at multiples of 32 bytes.
        while self.ring == Ring::Sdma && !self.position().is_multiple_of(8) {
            let nop = Packet::build(Kind::SdmaNop, self.generation, self.ring).encode();
            self.words.extend(nop);
        }
        self.cuts.push(self.position());
    }

    /// The pieces that are submitted, as byte ranges from the list's base.
    pub(crate) fn pieces(&self) -> Vec<(u64, u64)> {
        let mut ends: Vec<u32> = self.cuts.clone();
        ends.push(self.position());
        let mut start = 0;
        let mut pieces = Vec::new();
        for end in ends {
            if end > start {
                pieces.push((u64::from(start) * 4, u64::from(end - start) * 4));
            }
            start = end;
        }
        pieces
    }

    /// Marks the words `at` and `at + 1` as an address of the list's own.
    fn patch(&mut self, at: u32, target: Own) {
        let start = if self.in_branch { self.branches.len() as u32 } else { 0 };
        self.patches.push(Patch { word: start + at, branch: self.in_branch, target });
    }

    /// Records a command buffer of its own for a packet to run; gives its place and
    /// its dwords.
    fn branch(&mut self, record: impl FnOnce(&mut Self)) -> (Own, u32) {
        let owner = self.position();
        let outer = std::mem::take(&mut self.words);
        self.in_branch = true;
        record(self);
        self.in_branch = false;
        let inner = std::mem::replace(&mut self.words, outer);
        let start = self.branches.len() as u32;
        self.branch_starts.push((start, owner));
        self.branches.extend(&inner);
        (Own::Branch(start * 4), inner.len() as u32)
    }

    /// The dword of the list that a dword belongs to, counted from the list's base:
    /// itself, or for a dword of a branch the packet that may run it.
    pub(crate) fn owners(&self) -> Vec<(u32, u32)> {
        let packets = self.words.len() as u32;
        self.branch_starts.iter().map(|&(start, owner)| (packets + start, owner)).collect()
    }

    /// Reserves `bytes` of scratch, aligned to `align` (a power of two).
    fn scratch(&mut self, bytes: u32, align: u32) -> Own {
        Own::Scratch(self.scratch_offset(bytes, align))
    }

    /// As [`Encoder::scratch`], the offset alone.
    fn scratch_offset(&mut self, bytes: u32, align: u32) -> u32 {
        let at = self.scratch.next_multiple_of(align);
        self.scratch = at + bytes;
        at
    }

    /// Appends to the tables, 64-byte aligned, and gives the offset.
    pub(crate) fn table(&mut self, bytes: &[u8]) -> Own {
        let at = self.tables.len();
        self.tables.extend_from_slice(bytes);
        self.tables.resize(self.tables.len().next_multiple_of(64), 0);
        Own::Table(at as u32)
    }

    /// Words that are whole packets.
    pub(crate) fn raw(&mut self, words: &[u32]) {
        self.cut_if_long();
        self.words.extend_from_slice(words);
    }

    /// A marker in the stream.
    pub(crate) fn marker(&mut self, marker: &Marker) {
        self.cut_if_long();
        let packet = marker.encode(self.generation, self.ring);
        self.words.extend(packet.into_words());
    }

    /// Where the parts will lie.
    pub(crate) fn layout(&self) -> Layout {
        let packets = self.words.len() as u64 * 4;
        let code = packets + self.branches.len() as u64 * 4;
        let tables = code.next_multiple_of(ALIGNMENT);
        let scratch = (tables + self.tables.len() as u64).next_multiple_of(ALIGNMENT);
        let total = (scratch + u64::from(self.scratch)).next_multiple_of(ALIGNMENT);
        Layout { packets, code, tables, scratch, total: total.max(ALIGNMENT) }
    }

    /// Every byte of the list placed at `base`; scratch words are 0.
    pub(crate) fn place(&self, base: GpuAddress) -> Vec<u8> {
        let layout = self.layout();
        let mut words = self.words.clone();
        words.extend(&self.branches);
        for patch in &self.patches {
            let address = match patch.target {
                Own::Table(offset) => base.offset(layout.tables + u64::from(offset)),
                Own::Scratch(offset) => base.offset(layout.scratch + u64::from(offset)),
                Own::Branch(offset) => base.offset(layout.packets + u64::from(offset)),
            };
            let start = if patch.branch { self.words.len() } else { 0 };
            let at = start + patch.word as usize;
            words[at] |= address.lo();
            words[at + 1] |= address.hi();
        }
        let mut bytes = Vec::with_capacity(layout.total as usize);
        for word in words {
            bytes.extend_from_slice(&word.to_le_bytes());
        }
        bytes.resize(layout.tables as usize, 0);
        bytes.extend_from_slice(&self.tables);
        bytes.resize(layout.total as usize, 0);
        bytes
    }
}
