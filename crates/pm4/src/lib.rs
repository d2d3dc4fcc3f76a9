//! Packets of the command processors and of the DMA engines, per generation.
//!
//! Rules this crate keeps:
//! - One table ([`table`]) says everything: opcode, length rule, every field with
//!   its bits, the rings and generations that have it, names of values, and how
//!   sure the layout is ([`Mark`]). Decoder, builder and printer only read it.
//! - What the table does not name does not exist: an unknown opcode, a packet on
//!   the wrong ring or of another generation, a set reserved bit, a wrong length
//!   and a cut-off packet are errors with offset and word. Nothing is skipped.
//! - The decoder takes any words at all and never panics. The builder is for our
//!   own code: [`Builder::set`] panics on what only a bug can ask, [`Builder::try_set`]
//!   returns it.
//! - Where public sources disagree the header's length decides, and the
//!   disagreement is written beside the row (`hardware/pm4.md` section 10).
//!
//! It knows nothing about what a packet *does*, about memory, queues, shaders or
//! Direct3D. Facts come from `hardware/pm4.md`, cited by section.

mod build;
pub mod consts;
mod decode;
mod desc;
pub mod dump;
mod field;
mod kind;
pub mod marker;
mod packet;
mod print;
mod sets;
pub mod table;

pub use build::{BuildError, BuildErrorKind, Builder};
pub use consts::{atomic, coher, data_sel, events, function, gcr, initiator, int_sel, reg, sel};
pub use decode::{DecodeError, DecodeErrorKind, Stream, decode, decode_stream};
pub use desc::{
    Bits, Encoding, FieldDesc, Flag, Length, Mark, Named, PacketDesc, RegSpace, Values, When,
};
pub use dump::{DumpError, parse_dump};
pub use field::Field;
pub use kind::Kind;
pub use packet::Packet;
pub use print::{print, print_stream, print_words};
pub use sets::{Generations, Ring, Rings};
pub use wavefence_base::Generation;
