//! Files that become one: objects of one name are added, where their class can be.

mod sum;

pub use sum::{Sum, can_add};
