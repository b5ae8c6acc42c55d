//! BATCHES: rows of fixed shape for training, made of columns: joined into matrices, padded, in another order.

mod convert;
mod deal;
mod field;
mod lane;
mod lists;
mod numbers;
mod rows;
mod shuffle;
mod take;
mod threads;

pub use convert::NumberType;
pub use field::{Field, Input};
pub use rows::{Mixing, Rows};
pub use shuffle::shuffled_order;
pub use take::{Taken, take};
