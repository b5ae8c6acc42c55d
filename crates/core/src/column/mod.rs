//! VALUES: columns while they grow and when they are whole. No idea of branches.

mod arena;
pub mod arrow;
mod kind;
mod number;
mod part;
mod whole;

pub(crate) use arena::Arena;
pub use kind::{BufferId, Field, Kind, ListOf};
pub use number::{Number, Packing, Prim};
pub use part::{BufferKind, Growing, Part};
pub(crate) use part::{decode_numbers, swap_in_place};
pub use whole::{Column, Native};
