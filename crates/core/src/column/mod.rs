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
pub(crate) use part::decode_numbers;
pub use part::{BufferKind, Growing, Part};
pub use whole::{Column, Native};
