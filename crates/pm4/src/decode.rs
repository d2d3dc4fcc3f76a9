//! Words to packets. Safe on any input.

use crate::{Encoding, Field, Generation, Length, Packet, PacketDesc, Ring, table};

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
    for dword in 0..desc.length.head().min(total) {
        let extra = words[dword] & !desc.allowed(dword, generation, ring, words);
        if extra != 0 {
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
    let rows = here(at, encoding, generation, ring)?;
    match rows.iter().find(|d| d.admits(total)) {
        Some(desc) => Ok((desc, total)),
        None => {
            let message = format!(
                "{} of {total} dwords; it has {} on the {ring} ring of {generation}",
                rows[0].kind,
                lengths(&rows)
            );
            Err(at.error(0, DecodeErrorKind::BadLength, message))
        }
    }
}

/// The row and length of an SDMA packet, which its operation alone decides.
fn sdma_row(
    at: &At<'_>,
    header: u32,
    generation: Generation,
) -> Result<(&'static PacketDesc, usize), DecodeError> {
    let encoding = Encoding::Sdma(header as u8, (header >> 8) as u8);
    let rows = here(at, encoding, generation, Ring::Sdma)?;
    // Layouts of one operation differ by header bits (broadcast copies).
    let desc = rows
        .iter()
        .copied()
        .find(|d| {
            header & d.fixed == d.fixed
                && header & !d.allowed(0, generation, Ring::Sdma, at.rest) == 0
        })
        .or_else(|| rows.iter().copied().find(|d| header & d.fixed == d.fixed))
        .unwrap_or(rows[0]);
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

/// The rows of an encoding that hold here; never empty.
fn here(
    at: &At<'_>,
    encoding: Encoding,
    generation: Generation,
    ring: Ring,
) -> Result<Vec<&'static PacketDesc>, DecodeError> {
    let all: Vec<_> =
        table::rows_of(encoding).iter().copied().filter(|d| d.encoding == encoding).collect();
    let found: Vec<_> = all.iter().copied().filter(|d| d.exists(generation, ring)).collect();
    if !found.is_empty() {
        return Ok(found);
    }
    let (kind, message) = match all.first() {
        None => {
            let what = match encoding {
                Encoding::Type3(op) => format!("opcode {op:#04x}"),
                Encoding::Sdma(op, sub) => format!("SDMA operation {op}, sub-operation {sub}"),
                Encoding::Type0 => "a type-0 header".into(),
                Encoding::Type2 => "a type-2 header".into(),
            };
            (DecodeErrorKind::UnknownOpcode, format!("{what} is no packet of {generation}"))
        }
        Some(d) if all.iter().any(|d| d.generations.has(generation)) => {
            let rings: Vec<_> = all
                .iter()
                .filter(|d| d.generations.has(generation))
                .flat_map(|d| d.rings.iter())
                .map(|r| r.to_string())
                .collect();
            let message = format!(
                "{} is no packet of the {ring} ring on {generation}; it belongs to: {}",
                d.kind,
                rings.join(", ")
            );
            (DecodeErrorKind::WrongRing, message)
        }
        Some(d) => {
            let has: Vec<_> =
                all.iter().flat_map(|d| d.generations.iter()).map(|g| g.to_string()).collect();
            let has = if has.is_empty() { "older parts only".into() } else { has.join(", ") };
            let message = format!("{} does not exist on {generation}; it is of: {has}", d.kind);
            (DecodeErrorKind::WrongGeneration, message)
        }
    };
    Err(at.error(0, kind, message))
}

fn lengths(rows: &[&PacketDesc]) -> String {
    let all: Vec<_> = rows
        .iter()
        .map(|d| match d.length {
            Length::Fixed(n) => n.to_string(),
            Length::Body { head, min } => format!("{} or more", u32::from(head) + u32::from(min)),
            Length::Counted { head, .. } => format!("{head} or more"),
        })
        .collect();
    all.join(" or ")
}
