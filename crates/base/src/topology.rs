//! Which caches a device has, who shares them, and which client reaches memory
//! through which of them. The model is wired from it and the checker reasons
//! with it, so that neither can know a cache that the other does not.
//!
//! Shapes: `hardware/caches.md` 1.2 to 1.4; paths: section 2.

use crate::profile::{Confidence, Generation, Marked, Profile};
use std::fmt;

/// A kind of cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CacheClass {
    /// Vector L1 (TCP) of a compute unit; GL0 on GFX10.
    Vector,
    /// Scalar data cache (K$).
    Scalar,
    /// Instruction cache (I$).
    Instruction,
    /// GL1 of a shader array (GFX10).
    Gl1,
    /// L2 (TCC, GL2).
    L2,
}

impl CacheClass {
    /// Every class, outermost from memory first.
    pub const ALL: [Self; 5] = [Self::Vector, Self::Scalar, Self::Instruction, Self::Gl1, Self::L2];

    /// The name of that generation's documents.
    pub const fn name(self, generation: Generation) -> &'static str {
        match (self, generation) {
            (Self::Vector, Generation::Gfx7 | Generation::Gfx8) => "vector L1",
            (Self::Vector, Generation::Gfx10_3) => "vector L0",
            (Self::Scalar, _) => "K$",
            (Self::Instruction, _) => "I$",
            (Self::Gl1, _) => "GL1",
            (Self::L2, _) => "L2",
        }
    }
}

/// Who shares one cache of a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// That many compute units, neighbours by number.
    ComputeUnits(u32),
    /// The whole device.
    Device,
}

/// What a cache does with writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WritePolicy {
    /// Never sees one.
    ReadOnly,
    /// Passes the written bytes on at once; a line that is present keeps them.
    WriteThrough,
    /// Keeps them, with a mask of dirty bytes, until it is written back.
    WriteBack,
}

/// The caches of one class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheShape {
    /// Which class.
    pub class: CacheClass,
    /// Size of one cache in bytes.
    pub bytes: Marked<u64>,
    /// Bytes of a line.
    pub line: Marked<u32>,
    /// Lines of a set.
    pub ways: Marked<u32>,
    /// Who shares one.
    pub sharing: Marked<Sharing>,
    /// What it does with writes.
    pub writes: WritePolicy,
}

/// Something that reads or writes memory. The name says which path it takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Client {
    /// Vector loads, stores and image accesses of shaders.
    ShaderVector,
    /// Constant buffers and descriptors of shaders.
    ShaderScalar,
    /// Instruction fetch.
    Instruction,
    /// Atomics of shaders: executed in L2.
    ShaderAtomic,
    /// Group-shared memory of shaders: no memory of the address space; addresses are
    /// byte offsets in the group's own.
    GroupShared,
    /// The command processor fetching command buffers.
    CommandFetch,
    /// The command processor reading indirect arguments and counts.
    IndirectArguments,
    /// The command processor reading predicates and conditions.
    Predicate,
    /// The command processor polling a value for a wait.
    Poll,
    /// CP DMA, one side, by memory.
    CpDmaMemory,
    /// CP DMA, one side, by L2.
    CpDmaL2,
    /// WRITE_DATA and COPY_DATA by memory.
    CpDataMemory,
    /// WRITE_DATA, COPY_DATA and ATOMIC_MEM by L2.
    CpDataL2,
    /// Values and timestamps of end-of-pipe and end-of-shader events.
    EndOfPipe,
    /// The same where the packet sends them to L2.
    EndOfPipeL2,
    /// SDMA (move) engines.
    Sdma,
    /// The host.
    Host,
}

impl Client {
    /// Every client.
    pub const ALL: [Self; 17] = [
        Self::ShaderVector,
        Self::ShaderScalar,
        Self::Instruction,
        Self::ShaderAtomic,
        Self::GroupShared,
        Self::CommandFetch,
        Self::IndirectArguments,
        Self::Predicate,
        Self::Poll,
        Self::CpDmaMemory,
        Self::CpDmaL2,
        Self::CpDataMemory,
        Self::CpDataL2,
        Self::EndOfPipe,
        Self::EndOfPipeL2,
        Self::Sdma,
        Self::Host,
    ];

    /// In words, for messages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ShaderVector => "a shader's vector memory access",
            Self::ShaderScalar => "a shader's scalar load (constants, descriptors)",
            Self::Instruction => "instruction fetch",
            Self::ShaderAtomic => "a shader's atomic",
            Self::GroupShared => "a shader's access to group-shared memory",
            Self::CommandFetch => "command buffer fetch",
            Self::IndirectArguments => "the command processor's read of indirect arguments",
            Self::Predicate => "the command processor's read of a predicate",
            Self::Poll => "the command processor's poll",
            Self::CpDmaMemory | Self::CpDmaL2 => "CP DMA",
            Self::CpDataMemory | Self::CpDataL2 => "the command processor's data packet",
            Self::EndOfPipe | Self::EndOfPipeL2 => "an end-of-pipe write",
            Self::Sdma => "a DMA engine",
            Self::Host => "the host",
        }
    }
}

/// The caches of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topology {
    /// Which generation's rules.
    pub generation: Generation,
    /// Number of compute units.
    pub compute_units: u32,
    /// The caches, one entry per class that exists.
    pub shapes: Vec<CacheShape>,
    /// The command processor reads predicates through L2.
    pub predicates_in_l2: bool,
    /// Neighbouring compute units that the waves of one group may sit on: 2 in WGP
    /// mode, so that two waves of a group may have different L0s.
    pub units_per_group: u32,
}

const fn confirmed<T>(value: T) -> Marked<T> {
    Marked { value, confidence: Confidence::Confirmed }
}
const fn assumed<T>(value: T) -> Marked<T> {
    Marked { value, confidence: Confidence::Assumed }
}

impl Topology {
    /// The caches of a profile.
    pub fn of(profile: &Profile) -> Self {
        let shape = |class, bytes, line, ways, sharing, writes| CacheShape {
            class,
            bytes,
            line,
            ways,
            sharing,
            writes,
        };
        use CacheClass as C;
        use Sharing::{ComputeUnits, Device};
        use WritePolicy as W;
        let p = profile;
        let shapes = match p.generation.value {
            Generation::Gfx7 | Generation::Gfx8 => {
                let line = confirmed(64);
                // Up to four units share one (1.2); KFD's tables confirm it for GFX8.
                let group = match p.generation.value {
                    Generation::Gfx8 => confirmed(ComputeUnits(4)),
                    Generation::Gfx7 | Generation::Gfx10_3 => assumed(ComputeUnits(4)),
                };
                let unit = confirmed(ComputeUnits(1));
                vec![
                    shape(C::Vector, p.l1_bytes, line, assumed(4), unit, W::WriteThrough),
                    shape(C::Scalar, p.k_bytes, line, assumed(4), group, W::ReadOnly),
                    shape(C::Instruction, p.i_bytes, line, assumed(4), group, W::ReadOnly),
                    shape(C::L2, p.l2_bytes, line, assumed(16), confirmed(Device), W::WriteBack),
                ]
            }
            Generation::Gfx10_3 => {
                let (short, long) = (confirmed(64), confirmed(128));
                let unit = confirmed(ComputeUnits(1));
                let pair = confirmed(ComputeUnits(2));
                // 4 arrays on Series X (section 5, assumed), 2 on Series S by the
                // same count per engine.
                let arrays = p.shader_engines.value * 2;
                let array = assumed(ComputeUnits(p.compute_units.value.div_ceil(arrays)));
                vec![
                    shape(C::Vector, p.l1_bytes, long, confirmed(32), unit, W::WriteThrough),
                    shape(C::Scalar, p.k_bytes, short, confirmed(4), pair, W::ReadOnly),
                    shape(C::Instruction, p.i_bytes, short, confirmed(4), pair, W::ReadOnly),
                    shape(C::Gl1, p.gl1_bytes, long, confirmed(16), array, W::ReadOnly),
                    shape(C::L2, p.l2_bytes, long, confirmed(16), confirmed(Device), W::WriteBack),
                ]
            }
        };
        Self {
            generation: p.generation.value,
            compute_units: p.compute_units.value,
            shapes,
            predicates_in_l2: p.caches.predicates_in_l2.value,
            units_per_group: if p.order.wgp_mode.value { 2 } else { 1 },
        }
    }

    /// The caches of a class, if the device has them.
    pub fn shape(&self, class: CacheClass) -> Option<&CacheShape> {
        self.shapes.iter().find(|s| s.class == class)
    }

    /// Number of caches of a class.
    pub fn count(&self, class: CacheClass) -> u32 {
        match self.shape(class).map(|s| s.sharing.value) {
            None => 0,
            Some(Sharing::Device) => 1,
            Some(Sharing::ComputeUnits(n)) => self.compute_units.div_ceil(n),
        }
    }

    /// Which cache of a class serves a compute unit.
    pub fn instance(&self, class: CacheClass, unit: u32) -> u32 {
        match self.shape(class).map(|s| s.sharing.value) {
            None | Some(Sharing::Device) => 0,
            Some(Sharing::ComputeUnits(n)) => unit / n,
        }
    }

    /// The caches a client's reads go through, the nearest first; empty: memory
    /// itself. Its writes go the same way, but for those that [`WritePolicy`]
    /// keeps out.
    pub fn path(&self, client: Client) -> &'static [CacheClass] {
        use CacheClass as C;
        let gfx10 = self.generation == Generation::Gfx10_3;
        match client {
            Client::ShaderVector if gfx10 => &[C::Vector, C::Gl1, C::L2],
            Client::ShaderVector => &[C::Vector, C::L2],
            Client::ShaderScalar if gfx10 => &[C::Scalar, C::Gl1, C::L2],
            Client::ShaderScalar => &[C::Scalar, C::L2],
            Client::Instruction if gfx10 => &[C::Instruction, C::Gl1, C::L2],
            Client::Instruction => &[C::Instruction, C::L2],
            Client::ShaderAtomic | Client::CpDmaL2 | Client::CpDataL2 | Client::EndOfPipeL2 => {
                &[C::L2]
            }
            // GFX10: the CP is a client of L2, whatever the packet says.
            Client::Predicate if self.predicates_in_l2 => &[C::L2],
            Client::IndirectArguments
            | Client::Poll
            | Client::CpDmaMemory
            | Client::CpDataMemory
            | Client::EndOfPipe
                if gfx10 =>
            {
                &[C::L2]
            }
            // Command buffers: memory or uncached on every generation.
            Client::CommandFetch
            | Client::IndirectArguments
            | Client::Predicate
            | Client::Poll
            | Client::CpDmaMemory
            | Client::CpDataMemory
            | Client::EndOfPipe
            | Client::Sdma
            | Client::GroupShared
            | Client::Host => &[],
        }
    }

    /// Where a client's writes are seen by clients of the same kind: in L2, or in
    /// memory.
    pub fn writes_to_l2(&self, client: Client) -> bool {
        self.path(client).contains(&CacheClass::L2)
    }
}

impl fmt::Display for Topology {
    /// One line per class.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for s in &self.shapes {
            writeln!(
                f,
                "{}: {} x {} KiB, lines of {} bytes, {} ways",
                s.class.name(self.generation),
                self.count(s.class),
                s.bytes.value >> 10,
                s.line.value,
                s.ways.value
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ProfileName;

    #[test]
    fn every_path_names_caches_that_exist_and_ends_at_l2() {
        for name in ProfileName::ALL {
            let topology = Topology::of(&Profile::get(name));
            for client in Client::ALL {
                let path = topology.path(client);
                assert!(path.iter().all(|&c| topology.shape(c).is_some()), "{name} {client:?}");
                assert!(path.is_empty() || path.last() == Some(&CacheClass::L2));
            }
        }
    }

    #[test]
    fn sets_come_out_even() {
        for name in ProfileName::ALL {
            for s in &Topology::of(&Profile::get(name)).shapes {
                let way = u64::from(s.line.value) * u64::from(s.ways.value);
                assert_eq!(s.bytes.value % way, 0, "{name} {:?}", s.class);
            }
        }
    }

    #[test]
    fn the_command_processor_bypasses_l2_before_gfx10() {
        let of = |name| Topology::of(&Profile::get(name));
        assert!(of(ProfileName::XboxOneX).path(Client::IndirectArguments).is_empty());
        assert_eq!(of(ProfileName::SeriesS).path(Client::Poll), [CacheClass::L2]);
        assert_eq!(of(ProfileName::SeriesX).count(CacheClass::Gl1), 4);
        assert_eq!(of(ProfileName::XboxOne).count(CacheClass::Scalar), 3);
    }
}
