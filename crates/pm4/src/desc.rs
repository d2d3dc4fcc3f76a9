//! The shape of a table row.

use crate::{Field, Generations, Kind, Ring, Rings};
use std::fmt;
use wavefence_base::Generation;

/// How sure a row or field is (`hardware/pm4.md` section 0).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mark {
    /// Two or more independent public sources agree (tag `[2]`).
    Confirmed,
    /// One public source, or it follows from confirmed facts (tag `[1]`).
    Derived,
    /// No public source: an inference (tag `[inf]`), or a packet of our own.
    Assumed,
}

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Confirmed => "confirmed",
            Self::Derived => "derived",
            Self::Assumed => "assumed",
        })
    }
}

/// No packet's fixed part is longer than this.
pub(crate) const MAX_HEAD: usize = 18;

/// Bits `[hi:lo]` of one dword of a packet; dword 0 is the header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Bits {
    /// Dword index.
    pub dword: u8,
    /// Highest bit.
    pub hi: u8,
    /// Lowest bit.
    pub lo: u8,
}

impl Bits {
    /// Number of bits.
    pub const fn width(self) -> u32 {
        (self.hi - self.lo) as u32 + 1
    }

    /// The bits as a mask in their dword.
    pub const fn mask(self) -> u32 {
        (u32::MAX >> (32 - self.width())) << self.lo
    }
}

/// One value of a field and its name.
pub type Named = (u32, &'static str);

/// Bits `[hi:lo]` *of a field* (not of a dword) and their name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Flag {
    /// Highest bit.
    pub hi: u8,
    /// Lowest bit.
    pub lo: u8,
    /// Name as the register's sources spell it.
    pub name: &'static str,
}

impl Flag {
    /// A flag of one bit.
    pub const fn bit(bit: u8, name: &'static str) -> Self {
        Self { hi: bit, lo: bit, name }
    }

    /// A number within the field.
    pub const fn bits(hi: u8, lo: u8, name: &'static str) -> Self {
        Self { hi, lo, name }
    }

    /// The bits as a mask in the field.
    pub const fn mask(self) -> u32 {
        (u32::MAX >> (31 - (self.hi - self.lo))) << self.lo
    }
}

/// A register space of the SET packets (`hardware/pm4.md` 1.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RegSpace {
    /// Configuration registers, from dword 0x2000.
    Config,
    /// Persistent (shader) registers, from dword 0x2C00.
    Sh,
    /// Context registers, from dword 0xA000.
    Context,
    /// User configuration registers, from dword 0xC000.
    Uconfig,
    /// No base: a whole register dword index.
    Absolute,
}

impl RegSpace {
    /// Dword index of the first register.
    pub const fn base(self) -> u32 {
        match self {
            Self::Config => 0x2000,
            Self::Sh => 0x2C00,
            Self::Context => 0xA000,
            Self::Uconfig => 0xC000,
            Self::Absolute => 0,
        }
    }

    /// Dword index of the last register.
    pub const fn last(self) -> u32 {
        match self {
            Self::Config => 0x27FF,
            Self::Sh => 0x2FFF,
            Self::Context => 0xBFFF,
            Self::Uconfig => 0xFFFF,
            Self::Absolute => 0x3_FFFF,
        }
    }
}

/// How a field's value reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Values {
    /// A bit pattern.
    Hex,
    /// A count.
    Dec,
    /// A byte address.
    Address,
    /// A bit that is on or off; printed only when on.
    OnOff,
    /// An enumeration. A value without a name is decoded and printed as such.
    Named(&'static [Named]),
    /// A register of named bits. Bits that no flag covers are reserved.
    Flags(&'static [Flag]),
    /// A register index relative to a space.
    Register(RegSpace),
}

/// When a field is there at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// Always.
    Always,
    /// While another field (itself unconditional) has one of these values.
    Is(Field, &'static [u32]),
    /// While another field (itself unconditional) has none of these values.
    Not(Field, &'static [u32]),
}

/// One field of a packet.
///
/// Its value is the bits of `hi` (if any) above the bits of `lo`, all shifted
/// left by `align`: fields whose low bits the packet leaves out (addresses,
/// ranges in 256-byte units) read and write as whole byte quantities.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FieldDesc {
    /// Which quantity.
    pub field: Field,
    /// The low or only part.
    pub lo: Bits,
    /// The part above it.
    pub hi: Option<Bits>,
    /// The value less `bias` is a multiple of two to this power.
    pub align: u8,
    /// Added to what is stored: 1 where the packet holds a count less one.
    pub bias: u8,
    /// Generations that have it.
    pub generations: Generations,
    /// Rings that have it.
    pub rings: Rings,
    /// Condition on another field.
    pub when: When,
    /// How it prints.
    pub values: Values,
    /// How sure it is.
    pub mark: Mark,
}

impl FieldDesc {
    /// Bits `[hi:lo]` of a dword.
    pub(crate) const fn bits(field: Field, dword: u8, hi: u8, lo: u8) -> Self {
        Self {
            field,
            lo: Bits { dword, hi, lo },
            hi: None,
            align: 0,
            bias: 0,
            generations: Generations::ALL,
            rings: Rings::ALL,
            when: When::Always,
            values: Values::Hex,
            mark: Mark::Confirmed,
        }
    }

    /// A whole dword.
    pub(crate) const fn word(field: Field, dword: u8) -> Self {
        Self::bits(field, dword, 31, 0)
    }

    /// A count in a whole dword.
    pub(crate) const fn count(field: Field, dword: u8) -> Self {
        Self::word(field, dword).values(Values::Dec)
    }

    /// One bit.
    pub(crate) const fn flag(field: Field, dword: u8, bit: u8) -> Self {
        Self::bits(field, dword, bit, bit).values(Values::OnOff)
    }

    /// 64 bits in two dwords, low first.
    pub(crate) const fn wide(field: Field, dword: u8) -> Self {
        Self::word(field, dword).upper(dword + 1, 31, 0)
    }

    /// A byte address in two dwords, low first, aligned to two to the `align`.
    pub(crate) const fn address(field: Field, dword: u8, align: u8) -> Self {
        Self {
            lo: Bits { dword, hi: 31, lo: align },
            align,
            ..Self::wide(field, dword).values(Values::Address)
        }
    }

    /// The part above, in bits `[hi:lo]` of `dword`.
    pub(crate) const fn upper(self, dword: u8, hi: u8, lo: u8) -> Self {
        Self { hi: Some(Bits { dword, hi, lo }), ..self }
    }

    /// Counts in units of two to the `align`.
    pub(crate) const fn unit(self, align: u8) -> Self {
        Self { align, ..self }
    }

    /// Holds the value less one.
    pub(crate) const fn less_one(self) -> Self {
        Self { bias: 1, ..self }
    }

    /// Only on these generations.
    pub(crate) const fn on(self, generations: Generations) -> Self {
        Self { generations, ..self }
    }

    /// Only on these rings.
    pub(crate) const fn ring(self, rings: Rings) -> Self {
        Self { rings, ..self }
    }

    /// Only while `field` has one of `values`.
    pub(crate) const fn when(self, field: Field, values: &'static [u32]) -> Self {
        Self { when: When::Is(field, values), ..self }
    }

    /// Only while `field` has none of `values`.
    pub(crate) const fn unless(self, field: Field, values: &'static [u32]) -> Self {
        Self { when: When::Not(field, values), ..self }
    }

    /// How it prints.
    pub(crate) const fn values(self, values: Values) -> Self {
        Self { values, ..self }
    }

    /// An enumeration.
    pub(crate) const fn named(self, names: &'static [Named]) -> Self {
        self.values(Values::Named(names))
    }

    /// A register of flags.
    pub(crate) const fn flags(self, flags: &'static [Flag]) -> Self {
        self.values(Values::Flags(flags))
    }

    /// How sure.
    pub(crate) const fn mark(self, mark: Mark) -> Self {
        Self { mark, ..self }
    }

    /// True if this generation and ring have the field, condition aside.
    pub const fn exists(&self, generation: Generation, ring: Ring) -> bool {
        self.generations.has(generation) && self.rings.has(ring)
    }

    /// Number of bits that the packet stores.
    pub const fn stored_width(&self) -> u32 {
        match self.hi {
            Some(hi) => self.lo.width() + hi.width(),
            None => self.lo.width(),
        }
    }

    /// The stored bits that may be set: all, or for flags every named one.
    fn stored_mask(&self) -> u64 {
        let all = u64::MAX >> (64 - self.stored_width());
        match self.values {
            Values::Flags(flags) => flags.iter().fold(0, |m, f| m | u64::from(f.mask())) & all,
            Values::Hex
            | Values::Dec
            | Values::Address
            | Values::OnOff
            | Values::Named(_)
            | Values::Register(_) => all,
        }
    }

    /// The largest value.
    pub fn max(&self) -> u64 {
        (self.stored_mask() << self.align).saturating_add(u64::from(self.bias))
    }

    /// The smallest value.
    pub fn min(&self) -> u64 {
        u64::from(self.bias)
    }

    /// Adds the bits that this field may set.
    pub(crate) fn add_mask(&self, masks: &mut [u32; MAX_HEAD]) {
        let stored = self.stored_mask();
        let lo = self.lo;
        masks[usize::from(lo.dword)] |= (stored as u32) << lo.lo & lo.mask();
        if let Some(hi) = self.hi {
            let above = (stored >> lo.width()) as u32;
            masks[usize::from(hi.dword)] |= above << hi.lo & hi.mask();
        }
    }

    /// Reads the field; dwords that are not there read as 0.
    pub fn read(&self, words: &[u32]) -> u64 {
        let part = |b: Bits| {
            let word = words.get(usize::from(b.dword)).copied().unwrap_or(0);
            u64::from((word & b.mask()) >> b.lo)
        };
        let lo = part(self.lo);
        let stored = match self.hi {
            Some(hi) => part(hi) << self.lo.width() | lo,
            None => lo,
        };
        (stored << self.align) + u64::from(self.bias)
    }

    /// Why `value` cannot be stored, or what is stored for it.
    pub(crate) fn stored(&self, value: u64) -> Result<u64, Misfit> {
        let Some(value) = value.checked_sub(u64::from(self.bias)) else {
            return Err(Misfit::TooSmall);
        };
        let stored = value >> self.align;
        if stored << self.align != value {
            Err(Misfit::Misaligned)
        } else if stored > u64::MAX >> (64 - self.stored_width()) {
            Err(Misfit::TooWide)
        } else if stored & !self.stored_mask() != 0 {
            Err(Misfit::Reserved)
        } else {
            Ok(stored)
        }
    }

    /// Writes what [`FieldDesc::stored`] gave.
    pub(crate) fn write(&self, words: &mut [u32], stored: u64) {
        let mut part = |b: Bits, v: u64| {
            let word = &mut words[usize::from(b.dword)];
            *word = *word & !b.mask() | (v as u32) << b.lo & b.mask();
        };
        part(self.lo, stored);
        if let Some(hi) = self.hi {
            part(hi, stored >> self.lo.width());
        }
    }

    /// The name of `value`, if the field is an enumeration that names it.
    pub fn value_name(&self, value: u64) -> Option<&'static str> {
        match self.values {
            Values::Named(names) => {
                names.iter().find(|&&(v, _)| u64::from(v) == value).map(|&(_, n)| n)
            }
            Values::Hex
            | Values::Dec
            | Values::Address
            | Values::OnOff
            | Values::Flags(_)
            | Values::Register(_) => None,
        }
    }
}

/// Why a value does not fit a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Misfit {
    /// Below the least value.
    TooSmall,
    /// Not a multiple of the unit.
    Misaligned,
    /// More bits than the field has.
    TooWide,
    /// Bits that no flag names.
    Reserved,
}

/// How a packet is told apart by its header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Encoding {
    /// Type 0: a register index and a count.
    Type0,
    /// Type 2: one dword of filler.
    Type2,
    /// Type 3: an opcode.
    Type3(u8),
    /// SDMA: operation and sub-operation.
    Sdma(u8, u8),
}

/// How long a packet is. Lengths are whole packets in dwords, header included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Length {
    /// Always this long.
    Fixed(u8),
    /// `head` dwords, then a body of `min` dwords or more; the header tells.
    Body {
        /// Dwords before the body.
        head: u8,
        /// Fewest body dwords.
        min: u8,
    },
    /// `head` dwords, then as many body dwords as `field` says.
    Counted {
        /// Dwords before the body.
        head: u8,
        /// The field that counts.
        field: Field,
    },
}

impl Length {
    /// Dwords before the body.
    pub const fn head(self) -> usize {
        match self {
            Self::Fixed(n) => n as usize,
            Self::Body { head, .. } | Self::Counted { head, .. } => head as usize,
        }
    }
}

/// One row: one layout of one packet on some rings of some generations.
///
/// A packet with several layouts (by ring, by generation or by length) has
/// several rows of the same [`Kind`]; the one drivers prefer comes first.
#[derive(Clone, Copy, Debug)]
pub struct PacketDesc {
    /// Which packet.
    pub kind: Kind,
    /// How the header names it.
    pub encoding: Encoding,
    /// Header bits that are always set, and tell layouts of one operation apart.
    pub fixed: u32,
    /// Rings that read it.
    pub rings: Rings,
    /// Generations that have it.
    pub generations: Generations,
    /// Its length rule.
    pub length: Length,
    /// Its fields in the order they print.
    pub fields: &'static [FieldDesc],
    /// How sure the row is. A field's own mark overrides it.
    pub mark: Mark,
    /// Section of `hardware/pm4.md`, or why the row was chosen.
    pub source: &'static str,
}

impl PacketDesc {
    /// A row for every ring that reads PM4 and every generation.
    pub(crate) const fn new(
        kind: Kind,
        encoding: Encoding,
        length: Length,
        fields: &'static [FieldDesc],
        source: &'static str,
    ) -> Self {
        let rings = match encoding {
            Encoding::Sdma(..) => Rings::SDMA,
            Encoding::Type0 | Encoding::Type2 | Encoding::Type3(_) => Rings::PM4,
        };
        Self {
            kind,
            encoding,
            fixed: 0,
            rings,
            generations: Generations::ALL,
            length,
            fields,
            mark: Mark::Confirmed,
            source,
        }
    }

    /// Only on these rings.
    pub(crate) const fn ring(self, rings: Rings) -> Self {
        Self { rings, ..self }
    }

    /// Only on these generations.
    pub(crate) const fn on(self, generations: Generations) -> Self {
        Self { generations, ..self }
    }

    /// How sure.
    pub(crate) const fn mark(self, mark: Mark) -> Self {
        Self { mark, ..self }
    }

    /// Header bits always set.
    pub(crate) const fn fixed(self, fixed: u32) -> Self {
        Self { fixed, ..self }
    }

    /// The packet's name, as `DISPATCH_DIRECT`.
    pub const fn name(&self) -> &'static str {
        self.kind.name()
    }

    /// True if the row holds on this generation and ring.
    pub const fn exists(&self, generation: Generation, ring: Ring) -> bool {
        self.generations.has(generation) && self.rings.has(ring)
    }

    /// True if a whole packet may have `total` dwords as far as the row's fixed
    /// part tells; a counted body is checked against its count by the decoder.
    pub fn admits(&self, total: usize) -> bool {
        match self.length {
            Length::Fixed(n) => total == usize::from(n),
            Length::Body { head, min } => total >= usize::from(head) + usize::from(min),
            Length::Counted { head, .. } => total >= usize::from(head),
        }
    }

    /// The rows' fields that exist on this generation and ring, conditions aside.
    pub fn fields_on(
        &self,
        generation: Generation,
        ring: Ring,
    ) -> impl Iterator<Item = &'static FieldDesc> + use<> {
        self.fields.iter().filter(move |f| f.exists(generation, ring))
    }

    /// The field as it stands in `words` on this generation and ring: conditions
    /// are looked up in the words.
    pub fn field(
        &self,
        field: Field,
        generation: Generation,
        ring: Ring,
        words: &[u32],
    ) -> Option<&'static FieldDesc> {
        self.fields_on(generation, ring)
            .find(|f| f.field == field && self.holds(f, generation, ring, words))
    }

    /// True if the condition of `field` holds in `words`.
    pub fn holds(
        &self,
        field: &FieldDesc,
        generation: Generation,
        ring: Ring,
        words: &[u32],
    ) -> bool {
        let selector = |f: Field| {
            self.fields_on(generation, ring)
                .find(|d| d.field == f && d.when == When::Always)
                .map_or(0, |d| d.read(words))
        };
        match field.when {
            When::Always => true,
            When::Is(f, values) => values.iter().any(|&v| u64::from(v) == selector(f)),
            When::Not(f, values) => values.iter().all(|&v| u64::from(v) != selector(f)),
        }
    }

    /// For each dword of the fixed part, the bits that may be set in a packet that
    /// reads `words`.
    pub(crate) fn allowed(
        &self,
        generation: Generation,
        ring: Ring,
        words: &[u32],
    ) -> [u32; MAX_HEAD] {
        let mut masks = [0; MAX_HEAD];
        masks[0] = self.fixed
            | match (self.encoding, generation) {
                (Encoding::Type0, _) => 0xFFFF_0000,
                (Encoding::Type2, _) => 0xC000_0000,
                (Encoding::Type3(_), Generation::Gfx7 | Generation::Gfx8) => 0xFFFF_FF03,
                (Encoding::Type3(_), Generation::Gfx10_3) => 0xFFFF_FF07,
                (Encoding::Sdma(..), _) => 0x0000_FFFF,
            };
        for field in self.fields_on(generation, ring) {
            if self.holds(field, generation, ring, words) {
                field.add_mask(&mut masks);
            }
        }
        masks
    }
}
