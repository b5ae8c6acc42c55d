//! Fields of an RNTuple, as users see them.

use std::sync::Arc;

pub use super::descriptor::{FieldId, Role};

/// A field: a node of the schema. Values of its type are made of the columns of all fields below it.
///
/// # Example
///
/// ```no_run
/// let file = sapwood::File::open("events.root")?;
/// let ntuple = file.ntuple("events")?;
/// for &id in ntuple.top() {
///     let field = &ntuple.fields()[id];
///     println!("{}: {}", field.name, field.type_name);
/// }
/// # Ok::<(), sapwood::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Field {
    /// Its number in the RNTuple.
    pub id: FieldId,
    /// Its name: unique among the fields of its parent.
    pub name: Arc<str>,
    /// Names from the top-level field down to this one, joined by dots. Items of lists and base classes have no name of
    /// their own: their members follow that of the field above. Members of pairs and tuples are counted from 0.
    pub path: Arc<str>,
    /// C++ type, normalised; empty for records and collections without a class.
    pub type_name: Arc<str>,
    /// The type as the user spelt it, where that differs; else empty.
    pub type_alias: Arc<str>,
    /// What the user wrote about it.
    pub description: Arc<str>,
    /// What it does with the fields below it.
    pub role: Role,
    /// Version of the class.
    pub type_version: u32,
    /// Checksum of the class.
    pub type_checksum: Option<u32>,
    /// Items of a fixed array, or bits of a bitset.
    pub repetitions: Option<u64>,
    /// The field whose values it shows, for a projected field.
    pub source: Option<FieldId>,
    /// The field above; none for a top-level field.
    pub parent: Option<FieldId>,
    /// The fields below, in order.
    pub children: Vec<FieldId>,
    /// Its columns in each of its representations.
    pub(crate) representations: Vec<Vec<usize>>,
    /// Whether it was added after the RNTuple was created.
    pub is_late: bool,
    /// Whether the last part of its path is its own.
    pub is_named: bool,
}
