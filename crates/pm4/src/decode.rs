//! Words to packets. Safe on any input.

use crate::{Encoding, Field, Generation, Length, Packet, PacketDesc, Ring, table};
use std::collections::BTreeSet;

/// What is wrong with a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DecodeErrorKind {
    /// No generation or ring has this opcode.
    UnknownOpcode,
    /// The packet exists, but another ring reads it.
    WrongRing,
    /// The packet exists, but on another generation.
    WrongGeneration,
    /// The header's length is none the packet can have.
    BadLength,
    /// The header is of no type this ring reads.
    BadType,
    /// A bit that no field covers is set.
    ReservedBits,
    /// The packet goes on beyond the end of the words.
    Truncated,
}

/// A word that is no packet, and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("dword {offset:#x}: {word:#010x}: {message}")]
pub struct DecodeError {
    /// Index of the offending dword in the words given.
    pub offset: usize,
    /// The offending dword.
    pub word: u32,
    /// What is wrong.
    pub kind: DecodeErrorKind,
    /// One sentence for a person.
    pub message: String,
}

/// Decodes the packet that starts at `words[offset_dwords]`.
///
/// Errors: see [`DecodeErrorKind`]. The offset in an error counts from the
/// beginning of `words`. An offset at or past the end is `Truncated`.
pub fn decode(
    words: &[u32],
    offset_dwords: usize,
    generation: Generation,
    ring: Ring,
) -> Result<Packet, DecodeError> {
    let rest = words.get(offset_dwords..).unwrap_or(&[]);
    let at = At { offset: offset_dwords, rest };
    let Some(&header) = rest.first() else {
        return Err(at.error(0, DecodeErrorKind::Truncated, "no words are left".into()));
    };
    let (desc, total) = match ring {
        Ring::Graphics | Ring::Compute => pm4_row(&at, header, generation, ring)?,
        Ring::Sdma => sdma_row(&at, header, generation)?,
    };
    let Some(words) = rest.get(..total) else {
        let message = format!("{} needs {total} dwords, {} are left", desc.kind, rest.len());
        return Err(at.error(0, DecodeErrorKind::Truncated, message));
    };
    let masks = desc.allowed(generation, ring, words);
    for (dword, (&word, &mask)) in words.iter().zip(&masks[..desc.length.head()]).enumerate() {
        if word & !mask != 0 {
            let extra = word & !mask;
            let message = format!(
                "{}: dword {dword} sets reserved bits {extra:#x} ({ring} ring of {generation})",
                desc.kind
            );
            return Err(at.error(dword, DecodeErrorKind::ReservedBits, message));
        }
    }
    Ok(Packet::from_parts(desc, generation, ring, words.to_vec()))
}

/// Decodes packet after packet. Ends after the last word or the first error:
/// where one packet's length is in doubt so is everything behind it.
pub fn decode_stream(words: &[u32], generation: Generation, ring: Ring) -> Stream<'_> {
    Stream { words, offset: 0, generation, ring }
}

/// The packets of a stream with their offsets in dwords; see [`decode_stream`].
#[derive(Clone, Debug)]
pub struct Stream<'a> {
    words: &'a [u32],
    offset: usize,
    generation: Generation,
    ring: Ring,
}

impl Iterator for Stream<'_> {
    type Item = Result<(usize, Packet), DecodeError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.offset >= self.words.len() {
            return None;
        }
        let offset = self.offset;
        match decode(self.words, offset, self.generation, self.ring) {
            Ok(packet) => {
                self.offset += packet.len_dwords();
                Some(Ok((offset, packet)))
            }
            Err(e) => {
                self.offset = self.words.len();
                Some(Err(e))
            }
        }
    }
}

/// Where a packet starts, for errors.
struct At<'a> {
    offset: usize,
    rest: &'a [u32],
}

impl At<'_> {
    fn error(&self, dword: usize, kind: DecodeErrorKind, message: String) -> DecodeError {
        let word = self.rest.get(dword).copied().unwrap_or(0);
        DecodeError { offset: self.offset + dword, word, kind, message }
    }

    /// Why no row of `rows` holds here.
    fn missing(
        &self,
        encoding: Encoding,
        rows: &[&PacketDesc],
        generation: Generation,
        ring: Ring,
    ) -> DecodeError {
        let rows: Vec<_> = rows.iter().filter(|d| d.encoding == encoding).collect();
        let Some(first) = rows.first() else {
            let what = match encoding {
                Encoding::Type3(op) => format!("opcode {op:#04x}"),
                Encoding::Sdma(op, sub) => format!("SDMA operation {op}, sub-operation {sub}"),
                Encoding::Type0 => "a type-0 header".into(),
                Encoding::Type2 => "a type-2 header".into(),
            };
            let message = format!("{what} is no packet of {generation}");
            return self.error(0, DecodeErrorKind::UnknownOpcode, message);
        };
        let elsewhere: Vec<_> = rows
            .iter()
            .filter(|d| d.generations.has(generation))
            .flat_map(|d| d.rings.iter())
            .map(|r| r.to_string())
            .collect();
        if !elsewhere.is_empty() {
            let message = format!(
                "{} is no packet of the {ring} ring on {generation}; it belongs to: {}",
                first.kind,
                elsewhere.join(", ")
            );
            return self.error(0, DecodeErrorKind::WrongRing, message);
        }
        let has: BTreeSet<_> = rows.iter().flat_map(|d| d.generations.iter()).collect();
        let has: Vec<_> = has.iter().map(|g| g.to_string()).collect();
        let has = if has.is_empty() { "older parts only".to_owned() } else { has.join(", ") };
        let message = format!("{} does not exist on {generation}; it is of: {has}", first.kind);
        self.error(0, DecodeErrorKind::WrongGeneration, message)
    }
}

/// The row and length of a PM4 packet.
fn pm4_row(
    at: &At<'_>,
    header: u32,
    generation: Generation,
    ring: Ring,
) -> Result<(&'static PacketDesc, usize), DecodeError> {
    let count = (header >> 16 & 0x3FFF) as usize;
    let (encoding, total) = match header >> 30 {
        0 if header == 0 => {
            let message = "a zero word is no packet: this memory was never written".into();
            return Err(at.error(0, DecodeErrorKind::BadType, message));
        }
        0 => (Encoding::Type0, count + 2),
        2 => (Encoding::Type2, 1),
        3 => {
            let opcode = (header >> 8) as u8;
            let header_only = opcode == table::NOP && count == 0x3FFF;
            (Encoding::Type3(opcode), if header_only { 1 } else { count + 2 })
        }
        _ => {
            let message = "a type-1 header, which no generation uses".into();
            return Err(at.error(0, DecodeErrorKind::BadType, message));
        }
    };
    let rows = table::rows_of(encoding);
    let here = || rows.iter().copied().filter(|d| d.exists(generation, ring));
    match (here().find(|d| d.admits(total)), here().next()) {
        (Some(desc), _) => Ok((desc, total)),
        (None, Some(first)) => {
            let lengths: Vec<_> = here().map(|d| length_text(d.length)).collect();
            let message = format!(
                "{} of {total} dwords; it has {} on the {ring} ring of {generation}",
                first.kind,
                lengths.join(" or ")
            );
            Err(at.error(0, DecodeErrorKind::BadLength, message))
        }
        (None, None) => Err(at.missing(encoding, rows, generation, ring)),
    }
}

/// The row and length of an SDMA packet, which its operation alone decides.
fn sdma_row(
    at: &At<'_>,
    header: u32,
    generation: Generation,
) -> Result<(&'static PacketDesc, usize), DecodeError> {
    let encoding = Encoding::Sdma(header as u8, (header >> 8) as u8);
    let rows = table::rows_of(encoding);
    // Layouts of one operation differ by header bits (broadcast, metadata). A
    // header that no layout allows is read as the first and refused for its bits.
    let here = || {
        rows.iter()
            .copied()
            .filter(|d| d.encoding == encoding && d.exists(generation, Ring::Sdma))
            .filter(|d| header & d.fixed == d.fixed)
    };
    let fits = |d: &&PacketDesc| header & !d.allowed(generation, Ring::Sdma, at.rest)[0] == 0;
    let Some(desc) = here().find(fits).or_else(|| here().next()) else {
        return Err(at.missing(encoding, rows, generation, Ring::Sdma));
    };
    let head = desc.length.head();
    let total = match desc.length {
        Length::Fixed(_) => head,
        Length::Body { min, .. } => head + usize::from(min),
        Length::Counted { field, .. } => {
            if at.rest.len() < head {
                head
            } else {
                head + counted(desc, field, generation, at.rest)
            }
        }
    };
    Ok((desc, total))
}

fn counted(desc: &PacketDesc, field: Field, generation: Generation, words: &[u32]) -> usize {
    desc.field(field, generation, Ring::Sdma, words).map_or(0, |f| f.read(words) as usize)
}

fn length_text(length: Length) -> String {
    match length {
        Length::Fixed(n) => n.to_string(),
        Length::Body { head, min } => format!("{} or more", u32::from(head) + u32::from(min)),
        Length::Counted { head, .. } => format!("{head} or more"),
    }
}
