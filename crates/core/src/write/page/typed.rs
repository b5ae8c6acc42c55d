//! Fields of the types that entries have: classes keep their names, versions and checksums.

use std::sync::Arc;

use bytes::Bytes;

use crate::column::{BufferId, Field, Kind, ListOf};
use crate::error::{Error, Result};
use crate::read;
use crate::schema::Sequence;
use crate::write::model::class::{Class, Type};
use crate::write::model::columns::Column;
use crate::write::page::declared::cpp_name;
use crate::write::page::field::FieldSpec;

impl FieldSpec {
    /// A field of a type. A class becomes a record of its name, and a pointer a `std::unique_ptr`.
    ///
    /// # Errors
    ///
    /// [`Unsupported`](crate::ErrorKind::Unsupported) for what no RNTuple holds,
    /// [`Mismatch`](crate::ErrorKind::Mismatch) for what C++ cannot declare.
    ///
    /// # Example
    ///
    /// ```
    /// use std::sync::Arc;
    /// use sapwood::column::Number;
    /// use sapwood::write::{Class, FieldSpec, Type};
    /// let hit = Class::new("Hit").member("x", Type::Number(Number::F32));
    /// let hits = FieldSpec::of_type("hits", &Type::vector(Type::Object(Arc::new(hit))))?;
    /// assert_eq!(hits.type_name()?, "std::vector<Hit>");
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn of_type(name: impl Into<Arc<str>>, kind: &Type) -> Result<Self> {
        let name = name.into();
        let in_field = |error: Error| error.in_object(&name);
        kind.check().map_err(in_field)?;
        cpp_name(kind).map_err(in_field)?;
        let of = move_values(kind, Column::of(kind), &mut Vec::new()).map_err(in_field)?;
        Ok(Self { declared: Some(kind.clone()), ..Self::new(name, of) })
    }

    /// A field for each member of a class, those of its bases first.
    ///
    /// # Errors
    ///
    /// As [`of_type`](Self::of_type).
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::column::Number;
    /// use sapwood::write::{Class, FieldSpec, Type};
    /// let hit = Class::new("Hit").member("x", Type::Number(Number::F32)).member("tag", Type::Text);
    /// let names: Vec<_> = FieldSpec::members_of(&hit)?.into_iter().map(|field| field.name.to_string()).collect();
    /// assert_eq!(names, ["x", "tag"]);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn members_of(class: &Class) -> Result<Vec<Self>> {
        let mut fields = Vec::with_capacity(class.members.len());
        for member in &class.members {
            match &member.kind {
                Type::Object(base) if member.is_base => fields.extend(Self::members_of(base)?),
                kind => fields.push(Self::of_type(Arc::clone(&member.name), kind)?),
            }
        }
        Ok(fields)
    }

    /// Values of the type that the field was made of, as the RNTuple takes them.
    ///
    /// # Errors
    ///
    /// [`Mismatch`](crate::ErrorKind::Mismatch) where they are of another type, or the field was made of none.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::column::Number;
    /// use sapwood::write::{Column, FieldSpec, Type};
    /// let field = FieldSpec::of_type("x", &Type::Number(Number::F32))?;
    /// let column = field.values(Column::from(&[0.5_f32, 1.5]))?;
    /// assert_eq!(column.as_slice::<f32>()?, [0.5, 1.5]);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn values(&self, values: Column) -> Result<read::Column> {
        let in_field = |error: Error| error.in_object(&self.name);
        let Some(kind) = &self.declared else {
            return Err(in_field(Error::mismatch("the field was not made of a type")));
        };
        values.check(kind).map_err(in_field)?;
        let (rows, mut buffers) = (values.len(), Vec::new());
        let kind = move_values(kind, values, &mut buffers).map_err(in_field)?;
        Ok(read::Column::from_buffers(kind, rows, buffers))
    }
}

/// Values of the members of a class, as [`FieldSpec::members_of`] has the fields.
pub(crate) fn members_of(class: &Class, values: Column) -> Result<Vec<Column>> {
    let Column::Record(_, columns) = values else { return Err(other()) };
    let mut found = Vec::with_capacity(columns.len());
    for (member, column) in class.members.iter().zip(columns) {
        match &member.kind {
            Type::Object(base) if member.is_base => found.extend(members_of(base, column)?),
            _ => found.push(column),
        }
    }
    Ok(found)
}

#[cold]
fn other() -> Error {
    Error::mismatch("values are of another type than their field")
}

/// Moves values of a type into buffers; gives the same type over these.
fn move_values(kind: &Type, values: Column, buffers: &mut Vec<Bytes>) -> Result<Kind> {
    fn add(buffers: &mut Vec<Bytes>, bytes: Vec<u8>) -> BufferId {
        buffers.push(bytes.into());
        (buffers.len() - 1) as BufferId
    }
    fn offsets(ends: &[u64]) -> Vec<u8> {
        std::iter::once(&0).chain(ends).flat_map(|end| end.to_ne_bytes()).collect()
    }
    Ok(match (kind, values) {
        (Type::Number(number), Column::Numbers(_, bytes)) => {
            Kind::Number { buffer: add(buffers, bytes), number: *number }
        }
        (Type::Array(number, extents), Column::Numbers(_, bytes)) => {
            let numbers = Kind::Number { buffer: add(buffers, bytes), number: *number };
            let around = |item, &extent: &u32| Kind::Fixed { len: extent as usize, item: Box::new(item) };
            extents.iter().rev().fold(numbers, around)
        }
        (Type::Text, Column::Lists(ends, text)) => {
            let Column::Numbers(_, bytes) = *text else { return Err(other()) };
            Kind::Text { offsets: add(buffers, offsets(&ends)), bytes: add(buffers, bytes) }
        }
        (Type::Sequence(kind, item), Column::Lists(ends, items)) => {
            let is_set = matches!(
                kind,
                Sequence::Set | Sequence::MultiSet | Sequence::UnorderedSet | Sequence::UnorderedMultiSet
            );
            let of = if is_set { ListOf::Set } else { ListOf::Sequence };
            let offsets = add(buffers, offsets(&ends));
            Kind::List { offsets, of, item: Box::new(move_values(item, *items, buffers)?) }
        }
        (Type::Mapping(_, key, value), Column::Lists(ends, pairs)) => {
            let offsets = add(buffers, offsets(&ends));
            let Column::Record(_, columns) = *pairs else { return Err(other()) };
            let mut fields = Vec::new();
            for ((name, kind), column) in [("first", key), ("second", value)].into_iter().zip(columns) {
                fields.push(Field { name: name.into(), kind: move_values(kind, column, buffers)?, base: false });
            }
            let item = Box::new(Kind::Record { class: "pair".into(), fields });
            Kind::List { offsets, of: ListOf::Map, item }
        }
        (Type::Pointer(class), Column::Lists(ends, objects)) => {
            let mut before = 0;
            let tag = |end: &u64| if std::mem::replace(&mut before, *end) < *end { 0 } else { -1_i8 as u8 };
            let tags = add(buffers, ends.iter().map(tag).collect());
            Kind::OneOf { tags, of: vec![move_values(&Type::Object(Arc::clone(class)), *objects, buffers)?] }
        }
        (Type::Object(class), Column::Record(_, columns)) => {
            let mut fields = Vec::with_capacity(columns.len());
            for (member, column) in class.members.iter().zip(columns) {
                let kind = move_values(&member.kind, column, buffers)?;
                fields.push(Field { name: Arc::clone(&member.name), kind, base: member.is_base });
            }
            Kind::Record { class: Arc::clone(&class.name), fields }
        }
        _ => return Err(other()),
    })
}
