//! VALUES: columns while they grow and when they are whole. No idea of branches.

mod arena;
mod kind;
mod number;
mod part;

pub(crate) use arena::Arena;
pub use kind::{BufferId, Field, Kind, ListOf};
pub(crate) use number::encode_numbers;
pub use number::{Number, Packing, Prim};
pub(crate) use part::decode_numbers;
pub use part::{BufferKind, Growing, Part};
