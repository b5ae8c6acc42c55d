//! The type of a column: a tree whose nodes name the buffers that hold their values.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use super::Number;

/// Number of a buffer in its [`Column`](crate::read::Column).
pub type BufferId = u32;

/// What a C++ container means by its list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ListOf {
    /// Vectors and everything that is ordered like one, counted arrays included.
    Sequence,
    /// `set` and its kin.
    Set,
    /// `map` and its kin: items are records of `first` and `second`.
    Map,
}

/// Type of a column.
///
/// Rows of a node: the root has the column's rows; an item of a `List` has as many as the last offset says; an item of
/// a `Fixed` has `len` a row; a field has its record's rows.
///
/// # Example
///
/// ```
/// # let path = sapwood_testkit::example("nano.root");
/// let tree = sapwood::File::open(path)?.tree("Events")?;
/// let column = sapwood::read::columns(&tree, &[tree.branch("Jet_pt")?.id], 0..10)?.remove(0);
/// assert_eq!(column.kind.to_string(), "var * float32");
/// assert!(!column.kind.has_pointers() && column.kind.members().is_empty());
/// # Ok::<(), sapwood::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// One number a row.
    Number {
        /// Native-endian values.
        buffer: BufferId,
        /// Their type.
        number: Number,
    },
    /// One string a row.
    Text {
        /// Where each begins and ends.
        offsets: BufferId,
        /// All bytes. ROOT records no encoding.
        bytes: BufferId,
    },
    /// Bytes of unknown layout, one run per row.
    Opaque {
        /// Where each begins and ends.
        offsets: BufferId,
        /// All bytes, as in the file.
        bytes: BufferId,
        /// Class they belong to.
        class: Arc<str>,
    },
    /// A list of any length a row.
    List {
        /// Where each begins and ends, in items.
        offsets: BufferId,
        /// What the list means.
        of: ListOf,
        /// Type of the items.
        item: Box<Kind>,
    },
    /// A list of fixed length a row.
    Fixed {
        /// Items a row.
        len: usize,
        /// Type of the items.
        item: Box<Kind>,
    },
    /// Named members.
    Record {
        /// C++ class, empty where there is none.
        class: Arc<str>,
        /// Members in the order of the file, those of bases first.
        fields: Vec<Field>,
    },
    /// A pointer: a number in the table of objects beside the column, 0 for null.
    Pointer {
        /// Numbers of objects.
        buffer: BufferId,
        /// C++ class it is declared with.
        class: Arc<str>,
    },
    /// A value of one of several types a row, or null: what pointers lead to, once they were
    /// [followed](crate::read::Column::followed).
    OneOf {
        /// Which type each row has, an `i8` from 0 on; -1 for null. Rows of a type are consecutive in its buffers.
        tags: BufferId,
        /// The types; none where all rows are null and nothing says what they could be.
        of: Vec<Kind>,
    },
}

/// A named member of a record.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// Its name, as in the class.
    pub name: Arc<str>,
    /// Its type.
    pub kind: Kind,
    /// Whether it is a base class and not a member.
    pub base: bool,
}

impl Kind {
    /// Whether a pointer is anywhere inside.
    pub fn has_pointers(&self) -> bool {
        match self {
            Self::Pointer { .. } => true,
            Self::Number { .. } | Self::Text { .. } | Self::Opaque { .. } => false,
            Self::List { item, .. } | Self::Fixed { item, .. } => item.has_pointers(),
            Self::Record { fields, .. } => fields.iter().any(|field| field.kind.has_pointers()),
            Self::OneOf { of, .. } => of.iter().any(Self::has_pointers),
        }
    }

    /// All members of a record with those of its bases in place of the bases.
    pub fn members(&self) -> Vec<(&Arc<str>, &Kind)> {
        let mut members = Vec::new();
        self.gather(&mut members);
        members
    }

    fn gather<'a>(&'a self, into: &mut Vec<(&'a Arc<str>, &'a Kind)>) {
        if let Self::Record { fields, .. } = self {
            for field in fields {
                match &field.kind {
                    base @ Self::Record { .. } if field.base => base.gather(into),
                    kind => into.push((&field.name, kind)),
                }
            }
        }
    }

    /// The same, as users see them: of a record of an RNTuple, members of bases whose name others have, too, are named
    /// after their base, as in C++: `Base::member`.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::column::{Field, Kind, Number};
    /// let number = |buffer| Kind::Number { buffer, number: Number::I32 };
    /// let member = |buffer| Field { name: "a".into(), kind: number(buffer), base: false };
    /// let record = |class: &str, fields| Kind::Record { class: class.into(), fields };
    /// let base = Field { name: ":_0".into(), kind: record("Base", vec![member(0)]), base: true };
    /// let kind = record("Derived", vec![base, member(1)]);
    /// let names: Vec<_> = kind.shown_members().into_iter().map(|(name, _)| name.to_string()).collect();
    /// assert_eq!(names, ["Base::a", "a"]);
    /// ```
    pub fn shown_members(&self) -> Vec<(Arc<str>, &Self)> {
        let Self::Record { fields, .. } = self else { return Vec::new() };
        let mut members: Vec<(Arc<str>, &Self)> = Vec::with_capacity(fields.len());
        // The base that each member is of.
        let mut bases: Vec<Option<&str>> = Vec::with_capacity(fields.len());
        for field in fields {
            match &field.kind {
                base @ Self::Record { class, .. } if field.base => {
                    let inherited = base.shown_members();
                    let name = field.name.starts_with(NTUPLE_BASE).then_some(&**class);
                    bases.extend(inherited.iter().map(|_| name));
                    members.extend(inherited);
                }
                kind => {
                    members.push((Arc::clone(&field.name), kind));
                    bases.push(None);
                }
            }
        }
        if bases.iter().any(Option::is_some) {
            let mut counts: HashMap<Arc<str>, usize> = HashMap::with_capacity(members.len());
            members.iter().for_each(|(name, _)| *counts.entry(Arc::clone(name)).or_default() += 1);
            for ((name, _), base) in members.iter_mut().zip(bases) {
                if let Some(base) = base.filter(|_| counts.get(name).is_some_and(|&count| count > 1)) {
                    *name = format!("{base}::{name}").into();
                }
            }
        }
        members
    }
}

/// How fields of RNTuples are named that are bases: `:_0`, `:_1`.
pub(crate) const NTUPLE_BASE: &str = ":_";

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number { number, .. } => write!(f, "{number}"),
            Self::Text { .. } => f.write_str("string"),
            Self::Opaque { .. } => f.write_str("bytes"),
            Self::List { item, .. } => write!(f, "var * {item}"),
            Self::Fixed { len, item } => write!(f, "{len} * {item}"),
            Self::Pointer { class, .. } => write!(f, "?{class}"),
            Self::OneOf { of, .. } => match &of[..] {
                [] => f.write_str("?unknown"),
                [one] => write!(f, "?{one}"),
                several => {
                    let names: Vec<String> = several.iter().map(Self::to_string).collect();
                    write!(f, "?union[{}]", names.join(", "))
                }
            },
            Self::Record { class, .. } => {
                write!(f, "{class}{{")?;
                for (index, (name, kind)) in self.shown_members().into_iter().enumerate() {
                    let comma = if index == 0 { "" } else { ", " };
                    write!(f, "{comma}{name}: {kind}")?;
                }
                f.write_str("}")
            }
        }
    }
}
