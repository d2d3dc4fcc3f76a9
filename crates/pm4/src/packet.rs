//! One packet, decoded or built.

use crate::{Encoding, Field, FieldDesc, Generation, Kind, PacketDesc, Ring};
use wavefence_base::GpuAddress;

/// One whole, valid packet with the row that describes it.
#[derive(Clone, Debug)]
pub struct Packet {
    desc: &'static PacketDesc,
    generation: Generation,
    ring: Ring,
    words: Vec<u32>,
}

impl PartialEq for Packet {
    fn eq(&self, other: &Self) -> bool {
        self.words == other.words && self.generation == other.generation && self.ring == other.ring
    }
}

impl Eq for Packet {}

impl Packet {
    pub(crate) fn from_parts(
        desc: &'static PacketDesc,
        generation: Generation,
        ring: Ring,
        words: Vec<u32>,
    ) -> Self {
        Self { desc, generation, ring, words }
    }

    /// The row.
    pub fn desc(&self) -> &'static PacketDesc {
        self.desc
    }

    /// Which packet it is.
    pub fn kind(&self) -> Kind {
        self.desc.kind
    }

    /// Its name, as `DISPATCH_DIRECT`.
    pub fn name(&self) -> &'static str {
        self.desc.name()
    }

    /// The generation whose layout it has.
    pub fn generation(&self) -> Generation {
        self.generation
    }

    /// The ring whose layout it has.
    pub fn ring(&self) -> Ring {
        self.ring
    }

    /// The header word.
    pub fn header(&self) -> u32 {
        self.words[0]
    }

    fn header_bit(&self, bit: u32) -> bool {
        match self.desc.encoding {
            Encoding::Type3(_) => self.words[0] & 1 << bit != 0,
            Encoding::Type0 | Encoding::Type2 | Encoding::Sdma(..) => false,
        }
    }

    /// Header bit 0 of a type-3 packet: skipped while predication says so.
    pub fn predicate(&self) -> bool {
        self.header_bit(0)
    }

    /// Header bit 1 of a type-3 packet: belongs to the compute shader.
    pub fn shader_type_compute(&self) -> bool {
        self.header_bit(1)
    }

    /// Header bit 2 of a type-3 packet on GFX10: resets the filter CAM.
    pub fn reset_filter_cam(&self) -> bool {
        self.header_bit(2)
    }

    /// Length in dwords, header included.
    pub fn len_dwords(&self) -> usize {
        self.words.len()
    }

    /// Every word, header first.
    pub fn words(&self) -> &[u32] {
        &self.words
    }

    /// The words, by value.
    pub fn into_words(self) -> Vec<u32> {
        self.words
    }

    /// The words as they go into a command buffer.
    pub fn encode(&self) -> Vec<u32> {
        self.words.clone()
    }

    /// The dwords after the fixed part; empty for packets of fixed length.
    pub fn body(&self) -> &[u32] {
        self.words.get(self.desc.length.head()..).unwrap_or(&[])
    }

    /// The description of a field as it stands in this packet, conditions looked
    /// up.
    pub fn field(&self, field: Field) -> Option<&'static FieldDesc> {
        self.desc.field(field, self.generation, self.ring, &self.words)
    }

    /// True if this packet has the field.
    pub fn has(&self, field: Field) -> bool {
        self.field(field).is_some()
    }

    /// The value of a field, or `None` if this packet does not have it: its
    /// generation, ring, length or selector leaves it out.
    pub fn try_get(&self, field: Field) -> Option<u64> {
        self.field(field).map(|f| f.read(&self.words))
    }

    /// The value of a field. Halves of 64-bit quantities come joined, and fields
    /// that a packet stores without their low bits come as whole byte quantities.
    ///
    /// # Panics
    /// If the packet does not have the field: our own bug. Where a guest decides
    /// (several lengths, a selector), use [`Packet::try_get`].
    #[track_caller]
    pub fn get(&self, field: Field) -> u64 {
        match self.try_get(field) {
            Some(value) => value,
            None => panic!(
                "{} has no field {field} here ({} ring of {}, {} dwords)",
                self.name(),
                self.ring,
                self.generation,
                self.words.len()
            ),
        }
    }

    /// A one-bit field; false if the packet does not have it.
    pub fn flag(&self, field: Field) -> bool {
        self.try_get(field) == Some(1)
    }

    /// An address field.
    ///
    /// # Panics
    /// As [`Packet::get`].
    #[track_caller]
    pub fn address(&self, field: Field) -> GpuAddress {
        GpuAddress(self.get(field))
    }
}
