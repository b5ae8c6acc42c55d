//! Strings, lists, sets, maps and pointers as entries.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, LinkedList, VecDeque};
use std::hash::{BuildHasher, Hash};
use std::ops::Range;
use std::sync::Arc;

use super::{Entry, EntryClass, no_row};
use crate::Result;
use crate::schema::{Mapping, Sequence};
use crate::write::{Class, Column, Type};

/// Appends what a list holds, and ends it.
#[inline]
fn push_list(column: &mut Column, items: impl FnOnce(&mut Column)) {
    if let Column::Lists(ends, column) = column {
        items(column);
        ends.push(column.len() as u64);
    }
}

/// What a list holds.
#[inline]
fn list<T: Entry>(column: &Column, row: usize) -> Result<(&Column, Range<usize>)> {
    match column {
        Column::Lists(ends, items) if row < ends.len() => Ok((items, Column::span(ends, &(row..row + 1)))),
        _ => Err(no_row::<T>(column, row)),
    }
}

impl Entry for String {
    fn kind() -> Type {
        Type::Text
    }

    fn push_to(&self, column: &mut Column) {
        push_list(column, |bytes| u8::push_all(self.as_bytes(), bytes));
    }

    /// Bytes that are no UTF-8 count as Latin-1: ROOT gives no encoding.
    fn from_row(column: &Column, row: usize) -> Result<Self> {
        let (items, span) = list::<Self>(column, row)?;
        let Column::Numbers(_, bytes) = items else { return Err(no_row::<Self>(items, span.start)) };
        let bytes = bytes.get(span.clone()).ok_or_else(|| no_row::<Self>(items, span.end))?;
        Ok(crate::wire::text(bytes))
    }

    fn absent() -> Self {
        Self::new()
    }
}

/// Containers of items, in the order in which they give them.
macro_rules! sequences {
    ($($container:ident<T $(, $hasher:ident)?> $(where $bound:path)?: $kind:ident, $push:expr;)*) => {$(
        impl<T: Entry $(+ $bound)?$(, $hasher: BuildHasher + Default)?> Entry for $container<T $(, $hasher)?> {
            fn kind() -> Type {
                Type::sequence(Sequence::$kind, T::kind())
            }

            fn push_to(&self, column: &mut Column) {
                let push: fn(&Self, &mut Column) = $push;
                push_list(column, |items| push(self, items));
            }

            fn from_row(column: &Column, row: usize) -> Result<Self> {
                let (items, span) = list::<Self>(column, row)?;
                Ok(T::from_rows(items, span)?.into_iter().collect())
            }

            fn absent() -> Self {
                Self::default()
            }
        }
    )*};
}

/// What has its order from its values.
trait Keys: Ord + Hash {}

impl<T: Ord + Hash> Keys for T {}

sequences! {
    Vec<T>: Vector, |values, items| T::push_all(values, items);
    VecDeque<T>: Deque, |values, items| values.iter().for_each(|value| value.push_to(items));
    LinkedList<T>: List, |values, items| values.iter().for_each(|value| value.push_to(items));
    BTreeSet<T> where Ord: Set, |values, items| values.iter().for_each(|value| value.push_to(items));
    // In the order of the values, so that the same set gives the same bytes.
    HashSet<T, S> where Keys: UnorderedSet, |values, items| {
        let mut sorted: Vec<&T> = values.iter().collect();
        sorted.sort_unstable();
        sorted.into_iter().for_each(|value| value.push_to(items));
    };
}

fn push_pairs<'m, K: Entry + 'm, V: Entry + 'm>(column: &mut Column, pairs: impl Iterator<Item = (&'m K, &'m V)>) {
    push_list(column, |column| {
        let Column::Record(len, columns) = column else { return };
        let [keys, values] = columns.as_mut_slice() else { return };
        for (key, value) in pairs {
            key.push_to(keys);
            value.push_to(values);
            *len += 1;
        }
    });
}

fn pairs<K: Entry, V: Entry, M: Entry + FromIterator<(K, V)>>(column: &Column, row: usize) -> Result<M> {
    let (items, span) = list::<M>(column, row)?;
    let Column::Record(_, columns) = items else { return Err(no_row::<M>(items, span.start)) };
    span.map(|row| Ok((super::member(columns, 0, row)?, super::member(columns, 1, row)?))).collect()
}

impl<K: Entry + Ord, V: Entry> Entry for BTreeMap<K, V> {
    fn kind() -> Type {
        Type::map(K::kind(), V::kind())
    }

    fn push_to(&self, column: &mut Column) {
        push_pairs(column, self.iter());
    }

    fn from_row(column: &Column, row: usize) -> Result<Self> {
        pairs(column, row)
    }

    fn absent() -> Self {
        Self::new()
    }
}

impl<K: Entry + Ord + Hash, V: Entry, S: BuildHasher + Default> Entry for HashMap<K, V, S> {
    fn kind() -> Type {
        Type::mapping(Mapping::UnorderedMap, K::kind(), V::kind())
    }

    /// In the order of the keys, so that the same map gives the same bytes.
    fn push_to(&self, column: &mut Column) {
        let mut sorted: Vec<(&K, &V)> = self.iter().collect();
        sorted.sort_unstable_by(|one, other| one.0.cmp(other.0));
        push_pairs(column, sorted.into_iter());
    }

    fn from_row(column: &Column, row: usize) -> Result<Self> {
        pairs(column, row)
    }

    fn absent() -> Self {
        Self::default()
    }
}

impl<T: EntryClass> Entry for Option<T> {
    fn kind() -> Type {
        Type::Pointer(T::class())
    }

    fn push_to(&self, column: &mut Column) {
        push_list(column, |objects| self.iter().for_each(|object| object.push_to(objects)));
    }

    fn from_row(column: &Column, row: usize) -> Result<Self> {
        let (objects, span) = list::<Self>(column, row)?;
        (!span.is_empty()).then(|| T::from_row(objects, span.start)).transpose()
    }

    fn absent() -> Self {
        None
    }
}

impl<T: Entry> Entry for Box<T> {
    fn kind() -> Type {
        T::kind()
    }

    fn push_to(&self, column: &mut Column) {
        T::push_to(self, column);
    }

    fn push_each<'e>(values: impl ExactSizeIterator<Item = &'e Self> + Clone, column: &mut Column)
    where
        Self: 'e,
    {
        T::push_each(values.map(|value| &**value), column);
    }

    fn from_row(column: &Column, row: usize) -> Result<Self> {
        T::from_row(column, row).map(Self::new)
    }

    fn by_row(column: &Column) -> impl Fn(usize) -> Result<Self> {
        let value = T::by_row(column);
        move |row| value(row).map(Self::new)
    }

    fn absent() -> Self {
        Self::new(T::absent())
    }
}

impl<T: EntryClass> EntryClass for Box<T> {
    fn class() -> Arc<Class> {
        T::class()
    }
}
