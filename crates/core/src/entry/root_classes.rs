//! What ROOT has of its own, as members and bases of entries.

use std::sync::Arc;

use super::{Entry, EntryClass, member, no_row};
use crate::Result;
use crate::write::{Class, Column, Type};

/// `TObject`, as the base of a class: what a [`TClonesArray`] holds derives from it.
///
/// # Example
///
/// ```
/// use sapwood::Entry;
/// use sapwood::entry::{EntryClass, TClonesArray, TObject, TRef};
///
/// #[derive(Entry, Debug, PartialEq)]
/// #[entry(version = 1)]
/// struct Track {
///     #[entry(base)]
///     object: TObject,
///     pt: f32,
///     n: i32,
///     #[entry(counted = "n")]
///     adc: Vec<i16>,
/// }
///
/// #[derive(Entry, Debug, PartialEq)]
/// #[entry(version = 1)]
/// struct Event {
///     #[entry(base)]
///     object: TObject,
///     tracks: TClonesArray<Track>,
///     leading: TRef,
/// }
///
/// # use sapwood::write::{FileWriter, TreeOptions, WriteOptions};
/// # let path = sapwood_testkit::scratch("entry-tobject.root");
/// let object = TObject { unique_id: 7, bits: TObject::IS_REFERENCED };
/// let track = Track { object, pt: 2.5, n: 2, adc: vec![7, 8] };
/// let event = Event { object: TObject::default(), tracks: vec![track].into(), leading: TRef::to(7) };
/// let mut file = FileWriter::recreate(&path, WriteOptions::default())?;
/// let mut events = file.entries::<Event>("events", "event.", 99, TreeOptions::default())?;
/// events.fill(&event)?;
/// events.close()?;
/// file.close()?;
/// let tree = sapwood::File::open(&path)?.tree("events")?;
/// assert_eq!(tree.read_entries::<Event>("event.", 0..1)?, [event]);
/// assert_eq!(Track::class().members.len(), 4);
/// # Ok::<(), sapwood::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TObject {
    /// `fUniqueID`: the number that references name it by.
    pub unique_id: u32,
    /// `fBits`.
    pub bits: u32,
}

/// `TRef`, a reference to an object by its number.
///
/// # Example
///
/// ```
/// use sapwood::entry::TRef;
/// assert_eq!(TRef::to(7).object, 7);
/// assert_eq!(TRef::default().object, 0, "null");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TRef {
    /// Which process of the file's list the object is of.
    pub process: u16,
    /// The number of the object; 0 is null.
    pub object: u32,
    /// `fBits`.
    pub bits: u32,
}

/// `TClonesArray`: objects of a class that derives from [`TObject`].
///
/// # Example
///
/// ```
/// use sapwood::Entry;
/// use sapwood::entry::{TClonesArray, TObject};
/// let objects = TClonesArray::from(vec![TObject::default()]);
/// assert_eq!((objects.0.len(), TClonesArray::<TObject>::kind().name()), (1, "TClonesArray*".to_owned()));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TClonesArray<T>(pub Vec<T>);

impl TObject {
    /// The bit of objects that references name.
    pub const IS_REFERENCED: u32 = crate::schema::IS_REFERENCED;
}

impl TRef {
    /// A reference to the object of a number.
    pub fn to(object: u32) -> Self {
        Self { object, ..Self::default() }
    }
}

impl<T> Default for TClonesArray<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> From<Vec<T>> for TClonesArray<T> {
    fn from(objects: Vec<T>) -> Self {
        Self(objects)
    }
}

impl EntryClass for TObject {
    fn class() -> Arc<Class> {
        Class::tobject()
    }
}

/// Structs of numbers, in the order of the members of a class.
macro_rules! entries {
    ($($name:ident of $class:ident: $($member:ident $index:literal),*;)*) => {$(
        impl Entry for $name {
            fn kind() -> Type {
                Type::Object(Class::$class())
            }

            fn push_to(&self, column: &mut Column) {
                if let Column::Record(len, columns) = column
                    && let [$($member),*] = columns.as_mut_slice()
                {
                    *len += 1;
                    $(self.$member.push_to($member);)*
                }
            }

            fn from_row(column: &Column, row: usize) -> Result<Self> {
                match column {
                    Column::Record(len, columns) if row < *len => {
                        Ok(Self { $($member: member(columns, $index, row)?),* })
                    }
                    _ => Err(no_row::<Self>(column, row)),
                }
            }

            fn absent() -> Self {
                Self::default()
            }
        }
    )*};
}

entries! {
    TObject of tobject: unique_id 0, bits 1;
    TRef of reference: process 0, object 1, bits 2;
}

impl<T: EntryClass> Entry for TClonesArray<T> {
    fn kind() -> Type {
        Type::clones(T::class())
    }

    fn push_to(&self, column: &mut Column) {
        Vec::push_to(&self.0, column);
    }

    fn from_row(column: &Column, row: usize) -> Result<Self> {
        Vec::from_row(column, row).map(Self)
    }

    fn absent() -> Self {
        Self::default()
    }
}

/// The type of an array whose length another member is, for derived code.
#[doc(hidden)]
pub fn counted<T: Entry + IntoIterator<Item: Entry>>(counter: &str) -> Type {
    match T::Item::kind() {
        Type::Number(number) => Type::Counted(number, counter.into()),
        _ => T::kind(),
    }
}
