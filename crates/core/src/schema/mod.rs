//! CLASSES: C++ type names, StreamerInfo, and their compilation to programs.

mod builtin;
mod clones_form;
mod compile;
mod draft;
pub(crate) mod draft_members;
mod draft_read;
mod encode;
mod entry_forms;
mod execute;
mod framing_trace;
mod handwritten;
mod info;
mod layout_dsl;
mod legacy;
mod numbers;
mod objects;
mod program;
mod registries;
mod registry;
mod streamers;
mod typename;
mod versions;

pub(crate) use clones_form::{CLONES_ARRAY, ClonesForm};
pub(crate) use compile::regroup;
pub use draft::{Datum, Draft, Mark};
#[doc(hidden)]
pub use encode::Encoder;
pub(crate) use encode::{Entries, Place, Pointees, Put, Style, Template};
pub(crate) use entry_forms::{EntryBytes, EntryForms, MemberName};
#[doc(hidden)]
pub use execute::{Machine, Order};
pub use info::{Detail, Element, StreamerInfo};
pub(crate) use info::{IS_REFERENCED, read_infos_and_rules, write_info_list};
#[doc(hidden)]
pub use info::{read_infos, write_infos};
pub(crate) use numbers::NumberMap;
#[doc(hidden)]
pub use objects::{ObjectRow, Objects};
pub(crate) use program::{Counter, Step, TextForm, VectorOfNumbers};
#[doc(hidden)]
pub use program::{Program, Target};
pub(crate) use registries::{Description, Registries};
pub use registry::Registry;
pub(crate) use streamers::{array_number, is_custom, is_list_of_objects};
#[doc(hidden)]
pub use typename::TypeName;
pub use typename::{Mapping, Sequence};
