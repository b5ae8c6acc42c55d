//! Buffered values of objects: one column per member.

use std::ops::Range;
use std::sync::Arc;

use crate::column::{Native, Number, ends};
use crate::error::{Error, Result};
use crate::memory::Memory;
use crate::write::model::class::{Type, pair};

/// Values of one type in sequence.
///
/// # Example
///
/// ```
/// use sapwood::column::Number;
/// use sapwood::write::{Column, Type};
/// let lists = Column::Lists(vec![2, 2, 3], Box::new(Column::from(&[0.5_f32, 1.5, 2.5]))); // [[0.5, 1.5], [], [2.5]]
/// assert_eq!(lists.len(), 3);
/// lists.check(&Type::vector(Type::Number(Number::F32)))?;
/// # Ok::<(), sapwood::Error>(())
/// ```
///
/// ```
/// use sapwood::column::Number;
/// use sapwood::write::{Column, Type};
/// assert!(Column::of(&Type::vector(Type::Number(Number::F32))).is_empty());
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum Column {
    /// Values of so many bytes each: native-endian numbers, or arrays of them.
    Numbers(usize, Vec<u8>),
    /// Strings, vectors, maps, pointers: the end of each, counted in items from 0, and the items. A pointer holds one
    /// object or none, a map pairs, a string bytes.
    Lists(Vec<u64>, Box<Column>),
    /// Objects, pairs: their number, and one column per member, bases included.
    Record(usize, Vec<Column>),
}

impl<T: Native> From<&[T]> for Column {
    fn from(numbers: &[T]) -> Self {
        Self::Numbers(T::NUMBER.bytes(), T::memory(numbers).to_vec())
    }
}

impl<T: Native, const N: usize> From<&[T; N]> for Column {
    fn from(numbers: &[T; N]) -> Self {
        Self::from(&numbers[..])
    }
}

impl Column {
    /// No values of a type.
    pub fn of(kind: &Type) -> Self {
        match kind {
            Type::Number(number) => Self::Numbers(number.bytes(), Vec::new()),
            Type::Array(number, extents) => Self::Numbers(width(*number, extents), Vec::new()),
            Type::Text | Type::RootText => Self::lists(Self::Numbers(1, Vec::new())),
            Type::Sequence(_, item) => Self::lists(Self::of(item)),
            Type::Mapping(_, key, value) => Self::lists(Self::of(&Type::Object(Arc::new(pair(key, value))))),
            Type::Pointer(class) => Self::lists(Self::of(&Type::Object(Arc::clone(class)))),
            Type::Counted(number, _) | Type::RootArray(number) => Self::lists(Self::of(&Type::Number(*number))),
            Type::Clones(clones) => Self::lists(Self::of(&Type::Object(Arc::clone(&clones.class)))),
            Type::Object(class) => Self::Record(0, class.members.iter().map(|member| Self::of(&member.kind)).collect()),
        }
    }

    fn lists(items: Self) -> Self {
        Self::Lists(Vec::new(), Box::new(items))
    }

    /// How many values.
    pub fn len(&self) -> usize {
        match self {
            Self::Numbers(width, bytes) => bytes.len() / (*width).max(1),
            Self::Lists(ends, _) => ends.len(),
            Self::Record(len, _) => *len,
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Refuses values that are not of a type, or differ in number.
    ///
    /// # Errors
    ///
    /// [`Mismatch`](crate::ErrorKind::Mismatch).
    pub fn check(&self, kind: &Type) -> Result<()> {
        let wrong = |what: &str| Err(Error::mismatch(format!("values of {} {what}", kind.name())));
        let numbers = |wanted: usize| match self {
            Self::Numbers(width, bytes) if *width == wanted && bytes.len() % wanted == 0 => Ok(()),
            _ => wrong("are given as something else"),
        };
        match kind {
            Type::Number(number) => numbers(number.bytes()),
            Type::Array(number, extents) => numbers(width(*number, extents)),
            Type::Object(class) => match self {
                Self::Record(len, columns) if columns.len() == class.members.len() => {
                    for (member, column) in class.members.iter().zip(columns) {
                        column.check(&member.kind).map_err(|error| error.in_object(&member.name))?;
                        if column.len() != *len {
                            let words =
                                format!("member {} of {} has another number of values", member.name, class.name);
                            return Err(Error::mismatch(words).wanted(*len as u64, column.len() as u64));
                        }
                    }
                    Self::check_counts(class, columns)?;
                    Self::check_cells(class, columns)?;
                    if class.is_tobject() {
                        return Self::check_tobject(class, columns);
                    }
                    if class.is_root_list() {
                        return Self::check_root_list(class, columns);
                    }
                    if class.is_reference() { Self::check_references(class, columns) } else { Ok(()) }
                }
                _ => wrong("are given as something else"),
            },
            Type::Text
            | Type::RootText
            | Type::Sequence(..)
            | Type::Mapping(..)
            | Type::Pointer(_)
            | Type::Counted(..)
            | Type::Clones(_)
            | Type::RootArray(_) => {
                let Self::Lists(ends, items) = self else { return wrong("are given as something else") };
                let ordered = ends.is_sorted() && ends::total(ends) == items.len() as u64;
                let most = if matches!(kind, Type::Pointer(_)) { 1 } else { i32::MAX as u64 };
                let mut before = 0;
                let fits = ordered && ends.iter().all(|&end| end - std::mem::replace(&mut before, end) <= most);
                if !fits {
                    return wrong("have impossible lengths");
                }
                match kind {
                    Type::Text | Type::RootText => match &**items {
                        Self::Numbers(1, _) => Ok(()),
                        _ => wrong("are given as something else"),
                    },
                    Type::Sequence(_, item) => items.check(item),
                    Type::Mapping(_, key, value) => items.check(&Type::Object(Arc::new(pair(key, value)))),
                    Type::Pointer(class) => items.check(&Type::Object(Arc::clone(class))),
                    Type::Counted(number, _) | Type::RootArray(number) => items.check(&Type::Number(*number)),
                    Type::Clones(clones) => items.check(&Type::Object(Arc::clone(&clones.class))),
                    _ => Ok(()),
                }
            }
        }
    }

    /// Whether all members have as many values as their objects, and lists end with what they hold.
    /// [`check`](Self::check) looks at each value, this only at the last.
    pub(crate) fn is_level(&self) -> bool {
        match self {
            Self::Numbers(width, bytes) => bytes.len().is_multiple_of((*width).max(1)),
            Self::Lists(ends, items) => ends::total(ends) == items.len() as u64 && items.is_level(),
            Self::Record(len, columns) => columns.iter().all(|column| column.len() == *len && column.is_level()),
        }
    }

    /// Adds some values of another column of the same type.
    pub(crate) fn append(&mut self, more: &Self, rows: &Range<usize>) {
        match (self, more) {
            (Self::Numbers(width, bytes), Self::Numbers(_, more)) => {
                bytes.extend_from_slice(&more[rows.start * *width..rows.end * *width]);
            }
            (Self::Lists(ends, items), Self::Lists(more_ends, more_items)) => {
                let (before, span) = (items.len() as u64, Self::span(more_ends, rows));
                ends.extend(more_ends[rows.clone()].iter().map(|end| before + (end - span.start as u64)));
                items.append(more_items, &span);
            }
            (Self::Record(len, columns), Self::Record(_, more)) => {
                *len += rows.len();
                columns.iter_mut().zip(more).for_each(|(column, more)| column.append(more, rows));
            }
            _ => {}
        }
    }

    /// Sees to it that `times` as many values as there are have room.
    pub(crate) fn reserve(&mut self, times: f64, memory: &Memory) {
        let wanted = |len: usize| (len as f64 * times) as usize;
        match self {
            // Without such memory it grows step by step.
            Self::Numbers(_, bytes) => drop(memory.try_grow(bytes, wanted(bytes.len()))),
            Self::Lists(ends, items) => {
                ends.reserve_exact(wanted(ends.len()).saturating_sub(ends.len()));
                items.reserve(times, memory);
            }
            Self::Record(_, columns) => columns.iter_mut().for_each(|column| column.reserve(times, memory)),
        }
    }

    /// Gives the memory of numbers and texts back, which has held about `times` as many as there are. What was never in
    /// use for the most part is dropped: it would only count as memory that waits.
    pub(crate) fn give_back(self, times: f64, memory: &Memory) {
        match self {
            Self::Numbers(_, mut bytes) => {
                let filled = ((bytes.len() as f64 * times) as usize).min(bytes.capacity());
                if filled >= bytes.capacity() / 2 {
                    bytes.resize(filled, 0);
                    memory.give_back_vec(bytes);
                }
            }
            Self::Lists(_, items) => items.give_back(times, memory),
            Self::Record(_, columns) => columns.into_iter().for_each(|column| column.give_back(times, memory)),
        }
    }

    /// The range of items of consecutive lists.
    #[track_caller]
    pub(crate) fn span(ends: &[u64], rows: &Range<usize>) -> Range<usize> {
        ends::start(ends, rows.start) as usize..ends::start(ends, rows.end) as usize
    }

    /// Bytes of memory of consecutive values.
    pub(crate) fn bytes_of(&self, rows: &Range<usize>) -> usize {
        match self {
            Self::Numbers(width, _) => width * rows.len(),
            Self::Lists(ends, items) => 8 * rows.len() + items.bytes_of(&Self::span(ends, rows)),
            // Members without rows are absent in all of them.
            Self::Record(_, columns) => {
                columns.iter().filter(|column| !column.is_empty()).map(|column| column.bytes_of(rows)).sum()
            }
        }
    }

    /// Moves everything after the first values to an empty column of the same type.
    pub(crate) fn move_rest(&mut self, values: usize, into: &mut Self) {
        match (self, into) {
            (Self::Numbers(width, bytes), Self::Numbers(_, into)) => move_rest(bytes, values * *width, into),
            (Self::Lists(ends, items), Self::Lists(into_ends, into_items)) => {
                let below = Self::span(ends, &(0..values)).end;
                move_ends(ends, values, into_ends);
                items.move_rest(below, into_items);
            }
            (Self::Record(len, columns), Self::Record(into_len, into)) => {
                *into_len += *len - values;
                *len = values;
                columns.iter_mut().zip(into).for_each(|(column, into)| column.move_rest(values, into));
            }
            _ => {}
        }
    }

    /// Removes all values, and keeps their memory.
    pub(crate) fn clear(&mut self) {
        match self {
            Self::Numbers(_, bytes) => bytes.clear(),
            Self::Lists(ends, items) => {
                ends.clear();
                items.clear();
            }
            Self::Record(len, columns) => {
                *len = 0;
                columns.iter_mut().for_each(Self::clear);
            }
        }
    }
}

/// Moves everything after the first bytes.
pub(crate) fn move_rest(bytes: &mut Vec<u8>, front: usize, into: &mut Vec<u8>) {
    into.extend_from_slice(&bytes[front..]);
    bytes.truncate(front);
}

/// Moves the ends of the lists after the first ones into an empty vector, counted from 0 again.
pub(crate) fn move_ends(ends: &mut Vec<u64>, front: usize, into: &mut Vec<u64>) {
    let below = ends::start(ends, front);
    into.extend(ends[front..].iter().map(|end| end - below));
    ends.truncate(front);
}

/// Bytes of an array.
fn width(number: Number, extents: &[u32]) -> usize {
    extents.iter().map(|&extent| extent as usize).product::<usize>() * number.bytes()
}
