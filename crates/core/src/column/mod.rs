//! VALUES: columns while they grow and when they are whole. No idea of branches.

mod kind;
mod number;
mod part;
mod whole;

pub use kind::{BufferId, Field, Kind, ListOf};
pub use number::{Number, Packing, Prim};
pub use part::{BufferKind, Growing, Part};
pub(crate) use part::{decode_numbers, swap_in_place};
pub(crate) use whole::join;
pub use whole::{Column, Native};
