//! Builds packets from the table.

use crate::desc::{Length, Misfit};
use crate::{Encoding, Field, FieldDesc, Generation, Kind, Packet, PacketDesc, Ring, When, table};

/// Why a packet cannot be built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BuildErrorKind {
    /// The packet does not exist on this generation and ring, or not this long.
    NoSuchPacket,
    /// The packet has no such field here, or not beside the other values set.
    NoSuchField,
    /// The value needs more bits than the field has.
    TooWide,
    /// The value is below the least the field can hold.
    TooSmall,
    /// The value is not a multiple of the field's unit.
    Misaligned,
    /// The value sets bits that no flag of the field names.
    ReservedBits,
    /// The body is shorter or longer than the packet allows.
    BadBody,
}

/// A packet that cannot be built, with the packet, field and value named.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct BuildError {
    /// What is wrong.
    pub kind: BuildErrorKind,
    /// One sentence for a person.
    pub message: String,
}

/// The longest body a type-3 header can count: COUNT is 14 bits and holds body
/// dwords less one; 0x3FFF itself is left to the header-only NOP.
const MAX_TYPE3_BODY: usize = 0x3FFF;

/// A packet being built. Fields not set are 0.
#[derive(Clone, Debug)]
pub struct Builder {
    desc: &'static PacketDesc,
    generation: Generation,
    ring: Ring,
    header: u32,
    sets: Vec<(Field, u64)>,
    body: Vec<u32>,
}

impl Packet {
    /// Starts the packet `kind` in the layout that drivers prefer here.
    ///
    /// # Panics
    /// If this generation and ring have no such packet: our own bug. See
    /// [`Packet::try_build`].
    pub fn build(kind: Kind, generation: Generation, ring: Ring) -> Builder {
        Self::try_build(kind, generation, ring).unwrap_or_else(|e| panic!("{e}"))
    }

    /// As [`Packet::build`], but a missing packet is an error.
    pub fn try_build(
        kind: Kind,
        generation: Generation,
        ring: Ring,
    ) -> Result<Builder, BuildError> {
        Builder::new(table::find(kind, generation, ring), kind, generation, ring, "")
    }

    /// Starts the layout of `kind` that is `dwords` long in all, for packets told
    /// apart by their length (EVENT_WRITE with an address, COND_EXEC of 4, …).
    pub fn try_build_sized(
        kind: Kind,
        generation: Generation,
        ring: Ring,
        dwords: usize,
    ) -> Result<Builder, BuildError> {
        let desc = table::layouts(kind, generation, ring).find(|d| d.admits(dwords));
        Builder::new(desc, kind, generation, ring, &format!(" of {dwords} dwords"))
    }

    /// As [`Packet::try_build_sized`].
    ///
    /// # Panics
    /// If there is no such layout: our own bug.
    pub fn build_sized(kind: Kind, generation: Generation, ring: Ring, dwords: usize) -> Builder {
        Self::try_build_sized(kind, generation, ring, dwords).unwrap_or_else(|e| panic!("{e}"))
    }
}

impl Builder {
    fn new(
        desc: Option<&'static PacketDesc>,
        kind: Kind,
        generation: Generation,
        ring: Ring,
        size: &str,
    ) -> Result<Self, BuildError> {
        let Some(desc) = desc else {
            return Err(BuildError {
                kind: BuildErrorKind::NoSuchPacket,
                message: format!("no {kind}{size} on the {ring} ring of {generation}"),
            });
        };
        Ok(Self { desc, generation, ring, header: 0, sets: Vec::new(), body: Vec::new() })
    }

    /// The row being filled.
    pub fn desc(&self) -> &'static PacketDesc {
        self.desc
    }

    /// True if the packet has `field` here under some condition.
    pub fn has(&self, field: Field) -> bool {
        self.desc.fields_on(self.generation, self.ring).any(|f| f.field == field)
    }

    /// Header bit 0: skip the packet while predication says so. PM4 only.
    pub fn predicate(mut self, on: bool) -> Self {
        self.header = self.header & !1 | u32::from(on);
        self
    }

    /// Header bit 1: the packet belongs to the compute shader. PM4 only; drivers
    /// set it on DISPATCH packets (`hardware/pm4.md` 1.1).
    pub fn shader_type_compute(mut self, on: bool) -> Self {
        self.header = self.header & !2 | u32::from(on) << 1;
        self
    }

    /// Header bit 2 on GFX10: reset the filter CAM. PM4 only.
    pub fn reset_filter_cam(mut self, on: bool) -> Self {
        self.header = self.header & !4 | u32::from(on) << 2;
        self
    }

    /// Sets a field. Order does not matter.
    ///
    /// # Panics
    /// If the field does not exist here or the value does not fit: our own bug.
    #[track_caller]
    pub fn set(self, field: Field, value: u64) -> Self {
        match self.try_set(field, value) {
            Ok(builder) => builder,
            Err(e) => panic!("{e}"),
        }
    }

    /// As [`Builder::set`], but a bad field or value is an error.
    pub fn try_set(mut self, field: Field, value: u64) -> Result<Self, BuildError> {
        let mut first = None;
        for desc in self.desc.fields_on(self.generation, self.ring).filter(|f| f.field == field) {
            match self.fits(desc, value) {
                Ok(_) => {
                    self.sets.retain(|&(f, _)| f != field);
                    self.sets.push((field, value));
                    return Ok(self);
                }
                Err(e) => first = first.or(Some(e)),
            }
        }
        Err(first.unwrap_or_else(|| self.no_such_field(field)))
    }

    /// Sets the dwords after the packet's fixed part.
    pub fn body(mut self, words: &[u32]) -> Self {
        self.body = words.to_vec();
        self
    }

    /// The packet's words.
    ///
    /// # Panics
    /// As [`Builder::finish`].
    #[track_caller]
    pub fn encode(self) -> Vec<u32> {
        self.finish().into_words()
    }

    /// The packet.
    ///
    /// # Panics
    /// If the values contradict each other or the body has a wrong length: our
    /// own bug.
    #[track_caller]
    pub fn finish(self) -> Packet {
        match self.try_finish() {
            Ok(packet) => packet,
            Err(e) => panic!("{e}"),
        }
    }

    /// As [`Builder::finish`], but what is wrong is an error.
    pub fn try_finish(self) -> Result<Packet, BuildError> {
        let head = self.desc.length.head();
        let total = head + self.body.len();
        let mut words = vec![0; head];
        words.extend_from_slice(&self.body);
        self.store_all(&mut words)?;
        self.check_body(total, &mut words)?;
        words[0] |= self.desc.fixed;
        words[0] |= match self.desc.encoding {
            Encoding::Type0 => (self.body.len() as u32 - 1) << 16,
            Encoding::Type2 => 2 << 30,
            Encoding::Type3(opcode) => {
                // One dword in all wraps to 0x3FFF: the header-only NOP.
                let count = (total as u32).wrapping_sub(2) & 0x3FFF;
                3 << 30 | count << 16 | u32::from(opcode) << 8 | self.header
            }
            Encoding::Sdma(op, sub_op) => u32::from(sub_op) << 8 | u32::from(op),
        };
        if matches!(self.desc.encoding, Encoding::Type0) && words[0] == 0 {
            return Err(BuildError {
                kind: BuildErrorKind::TooSmall,
                message: "TYPE0: one value to register 0 is a word of zeros, which no decoder \
                          here takes for a packet"
                    .into(),
            });
        }
        Ok(Packet::from_parts(self.desc, self.generation, self.ring, words))
    }

    /// Stores the fields: selectors first, then what depends on them.
    fn store_all(&self, words: &mut [u32]) -> Result<(), BuildError> {
        for unconditional in [true, false] {
            for &(field, value) in &self.sets {
                let mut candidates = self
                    .desc
                    .fields_on(self.generation, self.ring)
                    .filter(|f| f.field == field)
                    .peekable();
                let always = candidates.peek().is_some_and(|f| f.when == When::Always);
                if always != unconditional {
                    continue;
                }
                let found =
                    candidates.find(|f| self.desc.holds(f, self.generation, self.ring, words));
                let Some(desc) = found else {
                    return Err(BuildError {
                        kind: BuildErrorKind::NoSuchField,
                        message: format!(
                            "{} has no {field} beside the other values set",
                            self.desc.kind
                        ),
                    });
                };
                let stored = self.fits(desc, value)?;
                desc.write(words, stored);
            }
        }
        Ok(())
    }

    /// Checks the body's length and writes the count of a counted body.
    fn check_body(&self, total: usize, words: &mut [u32]) -> Result<(), BuildError> {
        let bad = |what: String| {
            Err(BuildError {
                kind: BuildErrorKind::BadBody,
                message: format!("{}: a body of {} dwords {what}", self.desc.kind, self.body.len()),
            })
        };
        match self.desc.length {
            Length::Fixed(_) if self.body.is_empty() => {}
            Length::Fixed(n) => return bad(format!("where the packet is {n} dwords in all")),
            Length::Body { min, .. } if self.body.len() < usize::from(min) => {
                return bad(format!("where {min} or more are needed"));
            }
            Length::Body { .. } => {}
            Length::Counted { field, .. } => {
                let Some(desc) = self.desc.field(field, self.generation, self.ring, words) else {
                    return bad("where nothing counts it".into());
                };
                match desc.stored(self.body.len() as u64) {
                    Ok(stored) => desc.write(words, stored),
                    Err(_) => {
                        let (min, max) = (desc.min(), desc.max());
                        return bad(format!("where {field} counts from {min} to {max}"));
                    }
                }
            }
        }
        let limit = match self.desc.encoding {
            Encoding::Type3(_) => MAX_TYPE3_BODY,
            Encoding::Type0 => 0x4000,
            Encoding::Type2 | Encoding::Sdma(..) => usize::MAX,
        };
        if total - 1 > limit {
            return bad(format!("where a header counts to {limit}"));
        }
        Ok(())
    }

    /// What is stored for `value` in `desc`.
    fn fits(&self, desc: &FieldDesc, value: u64) -> Result<u64, BuildError> {
        desc.stored(value).map_err(|misfit| {
            let (min, max) = (desc.min(), desc.max());
            let (kind, why) = match misfit {
                Misfit::TooSmall => (BuildErrorKind::TooSmall, format!("is below {min}")),
                Misfit::Misaligned => {
                    let unit = 1u64 << desc.align;
                    (BuildErrorKind::Misaligned, format!("is not a multiple of {unit}"))
                }
                Misfit::TooWide => (BuildErrorKind::TooWide, format!("is above {max:#x}")),
                Misfit::Reserved => {
                    let extra = value & !max;
                    (BuildErrorKind::ReservedBits, format!("sets reserved bits {extra:#x}"))
                }
            };
            let message = format!("{}: {} = {value:#x} {why}", self.desc.kind, desc.field);
            BuildError { kind, message }
        })
    }

    fn no_such_field(&self, field: Field) -> BuildError {
        BuildError {
            kind: BuildErrorKind::NoSuchField,
            message: format!(
                "{} has no field {field} on the {} ring of {}",
                self.desc.kind, self.ring, self.generation
            ),
        }
    }
}
