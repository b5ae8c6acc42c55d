//! CLASSES: C++ type names, StreamerInfo, and their compilation to programs.

mod compile;
mod custom;
mod execute;
mod handwritten;
mod info;
mod legacy;
mod numbers;
mod objects;
mod program;
mod registry;
mod shorthand;
mod typename;
mod versions;

pub use compile::Target;
pub(crate) use compile::regroup;
pub(crate) use custom::is_custom;
pub use execute::{Machine, Order};
pub use info::{Detail, Element, StreamerInfo, read_infos};
pub(crate) use numbers::NumberMap;
pub use objects::{ObjectRow, Objects};
pub use program::{Counter, Custom, Program, RunField, Step, TextForm};
pub use registry::Registry;
pub use typename::{Mapping, Sequence, TypeName};
