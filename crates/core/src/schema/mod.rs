//! CLASSES: C++ type names, StreamerInfo, and their compilation to programs.

mod builtin;
mod compile;
mod draft;
pub(crate) mod draft_members;
mod draft_read;
mod encode;
mod execute;
mod framing_trace;
mod handwritten;
mod info;
mod layout_dsl;
mod legacy;
mod numbers;
mod objects;
mod program;
mod registry;
mod streamers;
mod typename;
mod versions;

pub(crate) use compile::regroup;
pub use draft::{Datum, Draft, Mark};
pub use encode::Encoder;
pub(crate) use encode::{Entries, Pointees, Style};
pub use execute::{Machine, Order};
pub(crate) use info::read_infos_and_rules;
pub use info::{Detail, Element, StreamerInfo, read_infos, write_infos};
pub(crate) use numbers::NumberMap;
pub use objects::{ObjectRow, Objects};
pub use program::{Counter, Custom, Program, RunField, Step, Target, TextForm};
pub use registry::Registry;
pub(crate) use streamers::is_custom;
pub use typename::{Mapping, Sequence, TypeName};
