//! VALUES: columns while they grow and when they are whole. No idea of branches.

mod arena;
mod complete;
pub(crate) mod ends;
mod kind;
mod later;
mod native;
mod number;
mod part;
mod stored;

pub(crate) use arena::Arena;
pub(crate) use complete::{Filled, check};
pub(crate) use kind::NTUPLE_BASE;
pub use kind::{BufferId, Field, Kind, ListOf};
pub use native::Native;
pub(crate) use native::{aligned, sealed::Cast};
pub use number::Number;
pub(crate) use number::{Packing, Prim, has_range, is_range};
pub(crate) use part::BufferKind;
#[doc(hidden)]
pub use part::Part;
pub(crate) use stored::{decode_numbers, encode_numbers};
