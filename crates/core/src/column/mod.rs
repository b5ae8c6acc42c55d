//! VALUES: columns while they grow and when they are whole. No idea of branches.

mod arena;
mod complete;
pub(crate) mod ends;
mod kind;
mod number;
mod part;
mod stored;

pub(crate) use arena::Arena;
pub(crate) use complete::{Filled, check};
pub use kind::{BufferId, Field, Kind, ListOf};
pub use number::{Number, Packing, Prim};
pub use part::{BufferKind, Growing, Part};
pub(crate) use stored::{decode_numbers, encode_numbers};
