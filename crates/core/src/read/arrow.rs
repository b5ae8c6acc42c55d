//! Columns as Arrow arrays: the same memory under another type.
//!
//! Numbers, offsets and text are shared; only booleans are copied, since Arrow packs eight into a byte. Lists and
//! strings have 64-bit offsets (`LargeList`, `LargeUtf8`). Pointers are followed: their targets are nullable, and a
//! dense union if they are of several classes; nothing else is nullable. What Arrow cannot express is in the metadata
//! of the enclosing field: `ROOT.class` of a record, `ROOT.container` (`set` or `map`) of a list's items.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::types::{
    Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{
    Array, ArrayRef, ArrowPrimitiveType, BooleanArray, FixedSizeListArray, LargeBinaryArray, LargeListArray,
    LargeStringArray, NullArray, PrimitiveArray, StructArray, UnionArray, make_array,
};
use arrow_buffer::{ArrowNativeType, BooleanBuffer, Buffer, OffsetBuffer, ScalarBuffer};
use arrow_data::transform::MutableArrayData;
use arrow_schema::{ArrowError, DataType, Field, Fields, UnionFields, UnionMode};
use bytes::Bytes;

use super::Column;
use crate::column::{BufferId, Kind, ListOf, Number};
use crate::error::{Error, Result};

/// Metadata of a field that holds records: their C++ class.
pub const CLASS: &str = "ROOT.class";
/// Metadata of a list's item: what the list means, `set` or `map`.
pub const CONTAINER: &str = "ROOT.container";

impl Kind {
    /// The field that a column of this type has in an Arrow schema.
    ///
    /// Text is assumed to be UTF-8; a column of other text has type `LargeBinary`.
    ///
    /// # Errors
    ///
    /// [`Unsupported`](crate::ErrorKind::Unsupported) for pointers, which must be [followed](Column::followed) or
    /// [declared](super::declared) first.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::column::{Kind, Number};
    /// let kind = Kind::Fixed { len: 3, item: Box::new(Kind::Number { buffer: 0, number: Number::F32 }) };
    /// assert_eq!(kind.arrow_field("xyz")?.name(), "xyz");
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn arrow_field(&self, name: &str) -> Result<Field> {
        Ok(with_class(Field::new(name, self.arrow_type()?, false), self))
    }

    fn arrow_type(&self) -> Result<DataType> {
        Ok(match self {
            Self::Number { number, .. } => number.arrow_type(),
            Self::Text { .. } => DataType::LargeUtf8,
            Self::Opaque { .. } => DataType::LargeBinary,
            Self::List { of, item, .. } => DataType::LargeList(Arc::new(item_field(*of, item, item.arrow_type()?))),
            Self::Fixed { len, item } => {
                DataType::FixedSizeList(Arc::new(with_class(item_of(item.arrow_type()?), item)), fixed(*len)?)
            }
            Self::Record { .. } => {
                let fields = self.shown_members().into_iter().map(|(name, kind)| kind.arrow_field(&name));
                DataType::Struct(fields.collect::<Result<Fields>>()?)
            }
            Self::Pointer { class, .. } => return Err(pointer(class)),
            Self::OneOf { of, .. } => match &of[..] {
                [] => DataType::Null,
                [one] => one.arrow_type()?,
                several => {
                    let fields = several.iter().map(|kind| Ok(union_field(kind, kind.arrow_type()?)));
                    union_type(fields.collect::<Result<_>>()?)?
                }
            },
        })
    }
}

impl Column {
    /// The column as an Arrow array. Its memory is shared, except for booleans and the targets of pointers.
    ///
    /// # Errors
    ///
    /// Those of [`followed`](Self::followed), if it has pointers.
    pub fn to_arrow(&self) -> Result<ArrayRef> {
        if self.kind.has_pointers() {
            let followed = self.followed()?;
            return followed.array(&followed.kind, self.len);
        }
        self.array(&self.kind, self.len)
    }

    fn array(&self, kind: &Kind, rows: usize) -> Result<ArrayRef> {
        match kind {
            Kind::Number { buffer, number } => self.numbers_array(*buffer, *number, rows),
            Kind::Text { offsets, bytes } => {
                let offsets = self.arrow_offsets(*offsets, rows)?;
                let bytes = Buffer::from(self.buffer(*bytes));
                match LargeStringArray::try_new(offsets.clone(), bytes.clone(), None) {
                    Ok(array) => Ok(Arc::new(array)),
                    // ROOT records no encoding: text that is not UTF-8 stays bytes.
                    Err(_) => Ok(Arc::new(LargeBinaryArray::try_new(offsets, bytes, None).map_err(broken)?)),
                }
            }
            Kind::Opaque { offsets, bytes, .. } => {
                let offsets = self.arrow_offsets(*offsets, rows)?;
                let bytes = Buffer::from(self.buffer(*bytes));
                Ok(Arc::new(LargeBinaryArray::try_new(offsets, bytes, None).map_err(broken)?))
            }
            Kind::List { offsets, of, item } => {
                let offsets = self.arrow_offsets(*offsets, rows)?;
                let total = offsets.last().copied().unwrap_or(0).as_usize();
                let values = self.array(item, total)?;
                let field = Arc::new(item_field(*of, item, retyped(*of, values.data_type())));
                let values = if *of == ListOf::Map { renamed(&values)? } else { values };
                Ok(Arc::new(LargeListArray::try_new(field, offsets, values, None).map_err(broken)?))
            }
            Kind::Fixed { len, item } => {
                let total = rows.checked_mul(*len).ok_or_else(|| Error::malformed("a fixed array is too long"))?;
                let values = self.array(item, total)?;
                let field = Arc::new(with_class(item_of(values.data_type().clone()), item));
                let array = FixedSizeListArray::try_new_with_length(field, fixed(*len)?, values, None, rows);
                Ok(Arc::new(array.map_err(broken)?))
            }
            Kind::Record { .. } => {
                let mut fields = Vec::new();
                let mut arrays = Vec::new();
                for (name, kind) in kind.shown_members() {
                    let array = self.array(kind, rows)?;
                    fields.push(with_class(Field::new(&*name, array.data_type().clone(), false), kind));
                    arrays.push(array);
                }
                let array = StructArray::try_new_with_length(fields.into(), arrays, None, rows);
                Ok(Arc::new(array.map_err(broken)?))
            }
            Kind::Pointer { class, .. } => Err(pointer(class)),
            Kind::OneOf { tags, of } => {
                let tags: ScalarBuffer<i8> = scalars(self.buffer(*tags), rows)?;
                let rows_of = |of: usize| tags.iter().filter(|&&tag| tag as isize == of as isize).count();
                match &of[..] {
                    [] => Ok(Arc::new(NullArray::new(rows))),
                    [one] => nullable(&self.array(one, rows_of(0))?, &tags),
                    several => {
                        let items = several.iter().enumerate().map(|(index, kind)| self.array(kind, rows_of(index)));
                        union_array(several, items.collect::<Result<_>>()?, &tags)
                    }
                }
            }
        }
    }

    fn numbers_array(&self, id: BufferId, number: Number, rows: usize) -> Result<ArrayRef> {
        Ok(match number {
            Number::Bool => {
                let bytes = self.buffer(id);
                let bytes = bytes.get(..rows).ok_or_else(short)?;
                Arc::new(BooleanArray::new(BooleanBuffer::collect_bool(rows, |row| bytes[row] != 0), None))
            }
            Number::I8 => self.primitive::<Int8Type>(id, rows)?,
            Number::U8 => self.primitive::<UInt8Type>(id, rows)?,
            Number::I16 => self.primitive::<Int16Type>(id, rows)?,
            Number::U16 => self.primitive::<UInt16Type>(id, rows)?,
            Number::I32 => self.primitive::<Int32Type>(id, rows)?,
            Number::U32 => self.primitive::<UInt32Type>(id, rows)?,
            Number::I64 => self.primitive::<Int64Type>(id, rows)?,
            Number::U64 => self.primitive::<UInt64Type>(id, rows)?,
            Number::F32 => self.primitive::<Float32Type>(id, rows)?,
            Number::F64 => self.primitive::<Float64Type>(id, rows)?,
        })
    }

    fn primitive<T: ArrowPrimitiveType>(&self, id: BufferId, rows: usize) -> Result<ArrayRef> {
        let values: ScalarBuffer<T::Native> = scalars(self.buffer(id), rows)?;
        Ok(Arc::new(PrimitiveArray::<T>::try_new(values, None).map_err(broken)?))
    }

    fn arrow_offsets(&self, id: BufferId, rows: usize) -> Result<OffsetBuffer<i64>> {
        let count = rows.checked_add(1).ok_or_else(short)?;
        let offsets: ScalarBuffer<i64> = scalars(self.buffer(id), count)?;
        // Arrow's own constructor panics if these are not ascending. The signs are looked at once: comparisons that end
        // at the first would not become vector instructions.
        let pairs = offsets.iter().zip(offsets.iter().skip(1));
        let signs = pairs.fold(0, |signs, (before, end)| signs | before | end | end.wrapping_sub(*before));
        if offsets.first().is_none_or(|first| *first < 0) || signs < 0 {
            return Err(Error::malformed("offsets of a column do not rise"));
        }
        Ok(OffsetBuffer::new(offsets))
    }
}

/// Numbers of a buffer, shared; copied only if their alignment does not suit Arrow.
fn scalars<T: ArrowNativeType>(bytes: Bytes, count: usize) -> Result<ScalarBuffer<T>> {
    let wanted = count.checked_mul(size_of::<T>()).filter(|&wanted| wanted <= bytes.len()).ok_or_else(short)?;
    let bytes = bytes.slice(..wanted);
    let suits = bytes.as_ptr().align_offset(align_of::<T>()) == 0;
    let buffer = if suits { Buffer::from(bytes) } else { Buffer::from(&bytes[..]) };
    Ok(ScalarBuffer::from(buffer))
}

/// Values with nulls, where the tag is not 0.
fn nullable(values: &ArrayRef, tags: &[i8]) -> Result<ArrayRef> {
    if values.len() == tags.len() {
        return Ok(Arc::clone(values));
    }
    let data = values.to_data();
    let mut out = MutableArrayData::new(vec![&data], true, tags.len());
    let mut at = 0;
    for run in tags.chunk_by(|a, b| (*a == 0) == (*b == 0)) {
        if run[0] == 0 {
            out.try_extend(0, at, at + run.len()).map_err(broken)?;
            at += run.len();
        } else {
            out.try_extend_nulls(run.len()).map_err(broken)?;
        }
    }
    Ok(make_array(out.freeze()))
}

/// Values of several types: for each row the index of its type and of its value. A union has no nulls of its own: they
/// are rows of a further type, the last.
fn union_array(kinds: &[Kind], mut items: Vec<ArrayRef>, tags: &[i8]) -> Result<ArrayRef> {
    let types = items.iter().zip(kinds).map(|(array, kind)| union_field(kind, array.data_type().clone()));
    let data_type = union_type(types.collect())?;
    let null = items.len() as i8;
    let mut next = vec![0_i32; items.len() + 1];
    let (mut ids, mut offsets) = (Vec::with_capacity(tags.len()), Vec::with_capacity(tags.len()));
    for &tag in tags {
        let id = if tag < 0 { null } else { tag };
        let next = next.get_mut(id as usize).ok_or_else(|| Error::internal("a row has an unknown type"))?;
        ids.push(id);
        offsets.push(*next);
        *next = next
            .checked_add(1)
            .ok_or_else(|| Error::limit("a union of Arrow has fewer rows", i32::MAX as u64, tags.len() as u64))?;
    }
    items.push(Arc::new(NullArray::new(next.last().copied().unwrap_or(0) as usize)));
    let DataType::Union(fields, _) = data_type else { return Err(Error::internal("a union has no fields")) };
    let array = UnionArray::try_new(fields, ids.into(), Some(offsets.into()), items);
    Ok(Arc::new(array.map_err(broken)?))
}

fn union_field(kind: &Kind, data_type: DataType) -> Field {
    let name = match kind {
        Kind::Record { class, .. } | Kind::Opaque { class, .. } => class.to_string(),
        other => other.to_string(),
    };
    with_class(Field::new(name, data_type, false), kind)
}

fn union_type(mut fields: Vec<Field>) -> Result<DataType> {
    fields.push(Field::new("null", DataType::Null, true));
    let fields = UnionFields::try_new(0..fields.len() as i8, fields).map_err(broken)?;
    Ok(DataType::Union(fields, UnionMode::Dense))
}

fn item_of(data_type: DataType) -> Field {
    Field::new("item", data_type, false)
}

fn with_class(field: Field, kind: &Kind) -> Field {
    let (field, kind) = match kind {
        Kind::OneOf { of, .. } => (field.with_nullable(true), if let [one] = &of[..] { one } else { kind }),
        kind => (field, kind),
    };
    match kind {
        Kind::Record { class, .. } | Kind::Opaque { class, .. } if !class.is_empty() => {
            let mut metadata = field.metadata().clone();
            metadata.insert(CLASS.to_owned(), class.to_string());
            field.with_metadata(metadata)
        }
        _ => field,
    }
}

fn item_field(of: ListOf, item: &Kind, data_type: DataType) -> Field {
    let container = match of {
        ListOf::Sequence => return with_class(item_of(data_type), item),
        ListOf::Set => "set",
        ListOf::Map => "map",
    };
    let metadata = HashMap::from([(CONTAINER.to_owned(), container.to_owned())]);
    let field = Field::new("item", retyped(of, &data_type), false).with_metadata(metadata);
    if of == ListOf::Map { field } else { with_class(field, item) }
}

/// The pairs of a map have the names that Arrow gives them.
fn retyped(of: ListOf, data_type: &DataType) -> DataType {
    match data_type {
        DataType::Struct(fields) if of == ListOf::Map && fields.len() == 2 => {
            let both = ["key", "value"].into_iter().zip(fields);
            DataType::Struct(both.map(|(name, field)| field.as_ref().clone().with_name(name)).collect())
        }
        other => other.clone(),
    }
}

fn renamed(pairs: &ArrayRef) -> Result<ArrayRef> {
    let Some(pairs) = pairs.as_any().downcast_ref::<StructArray>() else { return Ok(Arc::clone(pairs)) };
    let DataType::Struct(fields) = retyped(ListOf::Map, pairs.data_type()) else { return Ok(Arc::new(pairs.clone())) };
    let array = StructArray::try_new_with_length(fields, pairs.columns().to_vec(), None, pairs.len());
    Ok(Arc::new(array.map_err(broken)?))
}

fn fixed(len: usize) -> Result<i32> {
    i32::try_from(len).map_err(|_| Error::limit("a fixed array is too long for Arrow", i32::MAX as u64, len as u64))
}

fn pointer(class: &str) -> Error {
    Error::unsupported(format!("a pointer to {class} has no Arrow type: read it as objects"))
}

fn short() -> Error {
    Error::malformed("a buffer of a column is too short")
}

fn broken(error: ArrowError) -> Error {
    Error::malformed(format!("a column that Arrow refuses: {error}"))
}

#[cfg(test)]
mod tests {
    use arrow_array::cast::AsArray;

    use super::*;
    use crate::column::Field as Member;

    fn bytes_of<const N: usize, T: Copy>(values: &[T], to: impl Fn(T) -> [u8; N]) -> Bytes {
        Bytes::from(values.iter().flat_map(|&value| to(value)).collect::<Vec<u8>>())
    }

    fn number(buffer: BufferId, number: Number) -> Kind {
        Kind::Number { buffer, number }
    }

    #[test]
    fn numbers_and_offsets_are_shared() {
        let offsets = bytes_of(&[0_i64, 2, 2, 3], i64::to_ne_bytes);
        let values = bytes_of(&[1.5_f32, 2.5, 3.5], f32::to_ne_bytes);
        let kind = Kind::List { offsets: 0, of: ListOf::Sequence, item: Box::new(number(1, Number::F32)) };
        let column = Column::new(kind, 3, vec![offsets.clone(), values.clone()], None);
        let array = column.to_arrow().unwrap();
        let list = array.as_list::<i64>();
        assert_eq!(list.value(0).as_primitive::<Float32Type>().values(), &[1.5, 2.5]);
        assert_eq!(list.offsets().inner().inner().as_ptr(), offsets.as_ptr());
        assert_eq!(list.values().as_primitive::<Float32Type>().values().inner().as_ptr(), values.as_ptr());
        assert_eq!(&column.kind.arrow_type().unwrap(), array.data_type());
    }

    #[test]
    fn booleans_are_packed_and_bytes_that_are_no_text_stay_bytes() {
        let column = Column::new(number(0, Number::Bool), 3, vec![Bytes::from_static(&[1, 0, 7])], None);
        let array = column.to_arrow().unwrap();
        assert_eq!(array.as_boolean().iter().collect::<Vec<_>>(), [Some(true), Some(false), Some(true)]);

        let text = |bytes: &'static [u8]| {
            let offsets = bytes_of(&[0_i64, bytes.len() as i64], i64::to_ne_bytes);
            let column =
                Column::new(Kind::Text { offsets: 0, bytes: 1 }, 1, vec![offsets, Bytes::from_static(bytes)], None);
            column.to_arrow().unwrap().data_type().clone()
        };
        assert_eq!(text("größer".as_bytes()), DataType::LargeUtf8);
        assert_eq!(text(b"\xff\xfe"), DataType::LargeBinary);
    }

    #[test]
    fn maps_records_and_fixed_arrays_keep_what_they_mean() {
        let member = |name: &str, kind| Member { name: name.into(), kind, base: false };
        let pair = Kind::Record {
            class: "pair".into(),
            fields: vec![member("first", number(1, Number::I32)), member("second", number(2, Number::F64))],
        };
        let kind =
            Kind::Fixed { len: 2, item: Box::new(Kind::List { offsets: 0, of: ListOf::Map, item: Box::new(pair) }) };
        let buffers = vec![
            bytes_of(&[0_i64, 1, 2], i64::to_ne_bytes),
            bytes_of(&[7_i32, 8], i32::to_ne_bytes),
            bytes_of(&[0.5_f64, 0.25], f64::to_ne_bytes),
        ];
        let column = Column::new(kind, 1, buffers, None);
        let array = column.to_arrow().unwrap();
        assert_eq!(&column.kind.arrow_type().unwrap(), array.data_type());
        let DataType::FixedSizeList(inner, 2) = array.data_type() else { panic!("{:?}", array.data_type()) };
        let DataType::LargeList(item) = inner.data_type() else { panic!("{inner:?}") };
        assert_eq!(item.metadata().get(CONTAINER).map(String::as_str), Some("map"));
        let DataType::Struct(fields) = item.data_type() else { panic!("{item:?}") };
        assert_eq!(fields.iter().map(|field| &**field.name()).collect::<Vec<_>>(), ["key", "value"]);
    }

    #[test]
    fn pointers_and_broken_offsets_are_errors() {
        let kind = Kind::Pointer { buffer: 0, class: "TObject".into() };
        assert!(Column::new(kind.clone(), 0, vec![Bytes::new()], None).to_arrow().is_err());
        assert!(kind.arrow_field("p").is_err());
        let kind = Kind::Text { offsets: 0, bytes: 1 };
        for offsets in [&[0_i64, 5][..], &[3, 1], &[-1, 0], &[0]] {
            let offsets = bytes_of(offsets, i64::to_ne_bytes);
            let column = Column::new(kind.clone(), 1, vec![offsets, Bytes::from_static(b"abc")], None);
            assert!(column.to_arrow().is_err());
        }
    }

    #[test]
    fn numbers_at_an_odd_address_are_copied() {
        let odd = Bytes::from([&[0_u8][..], &7_i64.to_ne_bytes()].concat()).slice(1..);
        let column = Column::new(number(0, Number::I64), 1, vec![odd], None);
        assert_eq!(column.to_arrow().unwrap().as_primitive::<Int64Type>().values(), &[7]);
    }
}
