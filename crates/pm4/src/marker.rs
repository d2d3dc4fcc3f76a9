//! Markers: names and colours in a command stream, carried by NOPs.
//!
//! A marker is a NOP (PM4 or SDMA) whose body is our magic word, a word of kind
//! and text length, a colour, and the text in UTF-8, padded with zeros to a whole
//! dword. Other tools skip it, as they skip every NOP. The form is our own.

use crate::{Generation, Kind, Packet, Ring};

/// First body dword of a marker: `WFMK` in a big-endian reading.
pub const MAGIC: u32 = 0x5746_4D4B;

/// The most bytes of text that a marker carries; longer text is cut at a
/// character boundary. It keeps a marker below the shortest NOP limit.
pub const MAX_TEXT: usize = 4096;

/// What a marker does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MarkerKind {
    /// Opens a region.
    Begin,
    /// Closes the innermost region.
    End,
    /// A point.
    Set,
}

impl MarkerKind {
    const fn code(self) -> u32 {
        match self {
            Self::Begin => 1,
            Self::End => 2,
            Self::Set => 3,
        }
    }

    /// `begin`, `end` or `set`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Begin => "begin",
            Self::End => "end",
            Self::Set => "set",
        }
    }
}

/// A marker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Marker {
    /// What it does.
    pub kind: MarkerKind,
    /// 0xAARRGGBB.
    pub color: u32,
    /// Its text; empty for [`MarkerKind::End`].
    pub text: String,
}

impl Marker {
    /// The packet for a ring of a generation.
    pub fn encode(&self, generation: Generation, ring: Ring) -> Packet {
        let mut end = self.text.len().min(MAX_TEXT);
        while !self.text.is_char_boundary(end) {
            end -= 1;
        }
        let text = &self.text.as_bytes()[..end];
        let mut body = vec![MAGIC, self.kind.code() << 16 | end as u32, self.color];
        body.extend(text.chunks(4).map(|c| {
            let mut word = [0; 4];
            word[..c.len()].copy_from_slice(c);
            u32::from_le_bytes(word)
        }));
        let kind = match ring {
            Ring::Graphics | Ring::Compute => Kind::Nop,
            Ring::Sdma => Kind::SdmaNop,
        };
        Packet::build(kind, generation, ring).body(&body).finish()
    }

    /// The marker in a packet, or `None` if the packet is no NOP or its body is
    /// no marker of ours (another magic, an unknown kind, text that is longer
    /// than the body, not padded with zeros, or not UTF-8).
    pub fn decode(packet: &Packet) -> Option<Self> {
        if !matches!(packet.kind(), Kind::Nop | Kind::SdmaNop) {
            return None;
        }
        let [MAGIC, head, color, words @ ..] = packet.body() else {
            return None;
        };
        let kind = match head >> 16 {
            1 => MarkerKind::Begin,
            2 => MarkerKind::End,
            3 => MarkerKind::Set,
            _ => return None,
        };
        let len = (head & 0xFFFF) as usize;
        if words.len() != len.div_ceil(4) {
            return None;
        }
        let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
        let (text, pad) = bytes.split_at(len);
        if pad.iter().any(|&b| b != 0) {
            return None;
        }
        let text = String::from_utf8(text.to_vec()).ok()?;
        Some(Self { kind, color: *color, text })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marker(text: &str) -> Marker {
        Marker { kind: MarkerKind::Begin, color: 0xFF80_4020, text: text.into() }
    }

    #[test]
    fn comes_back_on_every_ring_and_generation() {
        for generation in Generation::ALL {
            for ring in Ring::ALL {
                for text in ["", "a", "abcd", "Schatten: größer", "🙂🙂"] {
                    for kind in [MarkerKind::Begin, MarkerKind::End, MarkerKind::Set] {
                        let m = Marker { kind, ..marker(text) };
                        let packet = m.encode(generation, ring);
                        let again = crate::decode(packet.words(), 0, generation, ring).unwrap();
                        assert_eq!(Marker::decode(&again), Some(m));
                    }
                }
            }
        }
    }

    #[test]
    fn long_text_is_cut_at_a_character() {
        let text = "ä".repeat(MAX_TEXT);
        let packet = marker(&text).encode(Generation::Gfx7, Ring::Sdma);
        let back = Marker::decode(&packet).unwrap();
        assert_eq!(back.text.len(), MAX_TEXT);
        let odd = format!("x{text}");
        let packet = marker(&odd).encode(Generation::Gfx7, Ring::Sdma);
        assert_eq!(Marker::decode(&packet).unwrap().text.len(), MAX_TEXT - 1);
    }

    #[test]
    fn other_nops_are_no_markers() {
        let nop = |body: &[u32]| {
            Packet::build(Kind::Nop, Generation::Gfx10_3, Ring::Graphics).body(body).finish()
        };
        let bodies: [&[u32]; 7] = [
            &[],
            &[MAGIC],
            &[0x1234_5678, 1 << 16, 0],
            &[MAGIC, 9 << 16, 0],
            &[MAGIC, 1 << 16 | 5, 0, 0],
            &[MAGIC, 1 << 16 | 1, 0, 0x4141],
            &[MAGIC, 1 << 16 | 1, 0, 0xFF],
        ];
        for body in bodies {
            assert_eq!(Marker::decode(&nop(body)), None, "{body:x?}");
        }
    }
}
