//! The one table of packets, and look-ups in it.
//!
//! Rows stand in files by subject. A row holds for the rings and generations it
//! names; for each of these no two rows share an encoding *and* a length, and
//! within a row no two fields share a bit unless conditions exclude each other.
//! The tests hold this.
//!
//! Where public sources disagree (`hardware/pm4.md` section 10), the table does
//! this:
//!
//! | Matter | Sources | Here |
//! |---|---|---|
//! | NOP of one dword (COUNT 0x3FFF) on GFX7 | one says from GFX8 on, two accept it | accepted everywhere |
//! | COND_EXEC on GFX7 | 5 dwords, or 4 | both, by the header's length |
//! | DRAW_\*_INDIRECT_MULTI on GFX7 | 10 dwords, or 7 | both, by the header's length |
//! | EVENT_WRITE_EOP bits 24 and 27 | ATC and VOLATILE, or TCL2_VOLATILE at 24 | accepted under the first names, marked derived |
//! | INT_SEL of EVENT_WRITE_EOP | two bits, or three | three bits; values above 3 have no name |
//! | DATA_SEL 4 on GFX7 | system counter, or CP performance counter | named system clock, as the API's second time stamp flag suggests |
//! | SIZE_HI of ACQUIRE_MEM on GFX10 | 8 bits, yet one driver writes 24 ones | 24 bits |
//! | VMID of INDIRECT_BUFFER | `[27:24]`, or `[31:24]` as on GFX6 | `[27:24]` |
//! | EVENT_INDEX of the cache flush events | 0, or 7 | any value decodes; [`crate::events::index_of`] gives 0 |
//! | Initiator bits 7 to 9 on GFX10 | no name, yet the API has two of them | accepted under the GFX7 names |
//! | Initiator bit 17 before GFX11 | a GFX11 bit, yet one driver always sets it | accepted on GFX10 |
//! | SDMA POLL_REGMEM `[27:26]` on GFX7 | a flush bit at 26, or a two-bit operation | the operation |
//! | SDMA COPY count on GFX10.3 | 22 bits on SDMA 5.0, 30 by one constant | 30 bits |
//!
//! A word of zeros would be a type-0 write of one value to register 0. It is
//! refused: what it means in practice is memory that nobody wrote.

mod dispatch;
mod draw;
mod memory;
mod sdma;
mod state;
mod surface;
mod sync;

use crate::{Encoding, Generation, Kind, PacketDesc, Ring};
use std::sync::LazyLock;

/// Opcode of NOP, whose COUNT 0x3FFF means a packet of one dword.
pub(crate) const NOP: u8 = 0x10;

/// Every row. Rows of one kind stand together, the preferred layout first.
pub fn rows() -> impl Iterator<Item = &'static PacketDesc> {
    let all: [&'static [PacketDesc]; 7] = [
        dispatch::ROWS,
        draw::ROWS,
        state::ROWS,
        memory::ROWS,
        sync::ROWS,
        sdma::ROWS,
        surface::ROWS,
    ];
    all.into_iter().flatten()
}

/// Rows by opcode or operation, in table order.
struct Index {
    type0: Vec<&'static PacketDesc>,
    type2: Vec<&'static PacketDesc>,
    type3: [Vec<&'static PacketDesc>; 256],
    sdma: [Vec<&'static PacketDesc>; 256],
}

static INDEX: LazyLock<Index> = LazyLock::new(|| {
    let mut index = Index {
        type0: Vec::new(),
        type2: Vec::new(),
        type3: [const { Vec::new() }; 256],
        sdma: [const { Vec::new() }; 256],
    };
    for row in rows() {
        match row.encoding {
            Encoding::Type0 => index.type0.push(row),
            Encoding::Type2 => index.type2.push(row),
            Encoding::Type3(opcode) => index.type3[usize::from(opcode)].push(row),
            Encoding::Sdma(op, _) => index.sdma[usize::from(op)].push(row),
        }
    }
    index
});

/// The rows of an encoding on any ring and generation. For SDMA: of the
/// operation, whatever its sub-operation.
pub(crate) fn rows_of(encoding: Encoding) -> &'static [&'static PacketDesc] {
    match encoding {
        Encoding::Type0 => &INDEX.type0,
        Encoding::Type2 => &INDEX.type2,
        Encoding::Type3(opcode) => &INDEX.type3[usize::from(opcode)],
        Encoding::Sdma(op, _) => &INDEX.sdma[usize::from(op)],
    }
}

/// The layouts of a packet on this generation and ring, the preferred one first.
pub fn layouts(
    kind: Kind,
    generation: Generation,
    ring: Ring,
) -> impl Iterator<Item = &'static PacketDesc> {
    rows().filter(move |d| d.kind == kind && d.exists(generation, ring))
}

/// The layout of a packet that drivers prefer on this generation and ring, or
/// `None` if there is no such packet.
pub fn find(kind: Kind, generation: Generation, ring: Ring) -> Option<&'static PacketDesc> {
    layouts(kind, generation, ring).next()
}
