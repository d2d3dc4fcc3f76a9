//! Numbers that packet fields carry, and their names.
//!
//! Each module has plain constants for code and a `NAMES…` or `FLAGS…` table for
//! the printer; the tests hold the two together.

pub mod atomic;
pub mod coher;
pub mod data_sel;
pub mod events;
pub mod function;
pub mod gcr;
pub mod initiator;
pub mod int_sel;
pub mod reg;
pub mod sel;

/// Declares constants and the table of their names together.
macro_rules! named {
    ($(#[$doc:meta])* $table:ident: $ty:ty = { $($(#[$d:meta])* $name:ident = $value:expr,)* }) => {
        $($(#[$d])* pub const $name: $ty = $value;)*

        $(#[$doc])*
        pub const $table: &[$crate::Named] = &[$(($name as u32, stringify!($name))),*];
    };
}
pub(crate) use named;
