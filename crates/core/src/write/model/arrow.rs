//! Arrow's fields as branches, and its arrays as values: memory is borrowed wherever the layouts agree.
//!
//! Branches have no nulls: an array that has one is refused.

use std::borrow::Cow;
use std::ops::Range;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, GenericListArray, GenericStringArray, LargeStringArray, OffsetSizeTrait};
use arrow_buffer::{ArrowNativeType, ToByteSlice};
use arrow_schema::{DataType, Field};

use crate::column::{Cast, Number};
use crate::error::{Error, Result};
use crate::write::model::branch::{BranchKind, BranchSpec, Item};
use crate::write::model::values::Values;

impl BranchSpec {
    /// The branch that holds what a field of an Arrow schema does: numbers, strings, fixed-size lists of numbers
    /// (arrays), and lists of numbers or strings to any depth (`std::vector`).
    ///
    /// A nullable field is taken, since most writers of Arrow mark all so; values that are null are refused by
    /// [`extend_batch`](crate::write::TreeWriter::extend_batch).
    ///
    /// # Errors
    ///
    /// [`Unsupported`](crate::ErrorKind::Unsupported) for other types: convert them first. Structs are written with
    /// `#[derive(Entry)]`.
    ///
    /// # Example
    ///
    /// ```
    /// use arrow_schema::{DataType, Field};
    /// use sapwood::write::BranchSpec;
    /// let item = Field::new("item", DataType::Float32, false);
    /// let jets = BranchSpec::from_arrow(&Field::new("jet_pt", DataType::LargeList(item.into()), false))?;
    /// assert_eq!(jets.class().as_deref(), Some("vector<float>"));
    /// assert!(BranchSpec::from_arrow(&Field::new("day", DataType::Date32, false)).is_err());
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn from_arrow(field: &Field) -> Result<Self> {
        let name = field.name().as_str();
        let refused = || refused(field.data_type()).in_object(name);
        if let Some(item) = item_of(field.data_type()) {
            return Ok(match item {
                Item::Number(number) => Self::number(name, number),
                Item::Text => Self::text(name),
            });
        }
        match field.data_type() {
            DataType::FixedSizeList(..) => {
                let (mut kind, mut dimensions) = (field.data_type(), Vec::new());
                while let DataType::FixedSizeList(items, length) = kind {
                    dimensions.push(u32::try_from(*length).map_err(|_| refused())?);
                    kind = items.data_type();
                }
                match item_of(kind) {
                    Some(Item::Number(number)) => Ok(Self::number(name, number).with_dimensions(dimensions)),
                    _ => Err(refused()),
                }
            }
            DataType::List(_) | DataType::LargeList(_) => {
                let (mut kind, mut depth) = (field.data_type(), 0);
                while let DataType::List(items) | DataType::LargeList(items) = kind {
                    depth += 1;
                    kind = items.data_type();
                }
                let item = item_of(kind).ok_or_else(refused)?;
                Ok(Self::new(name, BranchKind::Vector(item, depth)))
            }
            _ => Err(refused()),
        }
    }
}

/// What the innermost vectors of a type hold.
fn item_of(kind: &DataType) -> Option<Item> {
    match kind {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Some(Item::Text),
        other => Number::from_arrow_type(other).map(Item::Number),
    }
}

/// The values of an array.
///
/// # Errors
///
/// [`Mismatch`](crate::ErrorKind::Mismatch) for nulls; [`Unsupported`](crate::ErrorKind::Unsupported) for types that no
/// branch holds.
pub(crate) fn values(array: &dyn Array) -> Result<Values<'_>> {
    let (mut inner, mut rows, mut levels) = (array, 0..array.len(), Vec::new());
    loop {
        refuse_nulls(inner, &rows)?;
        inner = match inner.data_type() {
            DataType::List(_) => items(inner.as_list::<i32>(), &mut rows, &mut levels),
            DataType::LargeList(_) => items(inner.as_list::<i64>(), &mut rows, &mut levels),
            DataType::FixedSizeList(..) => {
                let lists = inner.as_fixed_size_list();
                let length = lists.value_length().as_usize();
                rows = rows.start * length..rows.end * length;
                lists.values().as_ref()
            }
            DataType::Utf8 => return Ok(strings(inner.as_string::<i32>(), rows, levels)),
            DataType::LargeUtf8 => return Ok(strings(inner.as_string::<i64>(), rows, levels)),
            DataType::Utf8View => {
                let views = inner.as_string_view();
                let copy = LargeStringArray::from_iter_values(rows.map(|row| views.value(row)));
                let (offsets, text, _) = copy.into_parts();
                levels.push(Cow::Owned(offsets.to_vec()));
                return Ok(Values::from_text(levels, Cow::Owned(text.to_vec())));
            }
            DataType::Boolean => {
                let bits = inner.as_boolean();
                let bytes = rows.map(|row| u8::from(bits.value(row))).collect();
                return Ok(Values::from_numbers(Number::Bool, levels, Cow::Owned(bytes)));
            }
            other => {
                let number = Number::from_arrow_type(other).ok_or_else(|| refused(array.data_type()))?;
                return Ok(Values::from_numbers(number, levels, Cow::Borrowed(memory(inner, number, rows))));
            }
        };
    }
}

fn refused(kind: &DataType) -> Error {
    Error::unsupported(format!("no branch holds a column of Arrow's type {kind}: convert it first"))
}

fn refuse_nulls(array: &dyn Array, rows: &Range<usize>) -> Result<()> {
    let Some(nulls) = array.logical_nulls() else { return Ok(()) };
    match rows.clone().find(|&row| nulls.is_null(row)) {
        Some(row) => {
            let words = format!("value {row} is null, and branches have no nulls: fill or drop them first");
            Err(Error::mismatch(words))
        }
        None => Ok(()),
    }
}

/// The items of lists. Their offsets become a level.
fn items<'a, O: OffsetSizeTrait>(
    lists: &'a GenericListArray<O>,
    rows: &mut Range<usize>,
    levels: &mut Vec<Cow<'a, [i64]>>,
) -> &'a dyn Array {
    let offsets = &lists.offsets()[rows.start..=rows.end];
    *rows = offsets[0].as_usize()..offsets[offsets.len() - 1].as_usize();
    levels.push(from_zero(offsets));
    lists.values().as_ref()
}

fn strings<'a, O: OffsetSizeTrait>(
    strings: &'a GenericStringArray<O>,
    rows: Range<usize>,
    mut levels: Vec<Cow<'a, [i64]>>,
) -> Values<'a> {
    let offsets = &strings.offsets()[rows.start..=rows.end];
    let text = &strings.value_data()[offsets[0].as_usize()..offsets[offsets.len() - 1].as_usize()];
    levels.push(from_zero(offsets));
    Values::from_text(levels, Cow::Borrowed(text))
}

/// Offsets that begin with 0, borrowed where they do so already and are 64 bits wide.
fn from_zero<O: OffsetSizeTrait>(offsets: &[O]) -> Cow<'_, [i64]> {
    let first = offsets[0].as_usize();
    match i64::cast(offsets.to_byte_slice()) {
        Some(wide) if O::IS_LARGE && first == 0 => Cow::Borrowed(wide),
        _ => offsets.iter().map(|offset| (offset.as_usize() - first) as i64).collect(),
    }
}

/// The memory of numbers, which are no `bool`.
fn memory(array: &dyn Array, number: Number, rows: Range<usize>) -> &[u8] {
    macro_rules! of {
        ($type:ty) => {
            array.as_primitive::<$type>().values()[rows].to_byte_slice()
        };
    }
    match number {
        Number::Bool => &[],
        Number::I8 => of!(Int8Type),
        Number::U8 => of!(UInt8Type),
        Number::I16 => of!(Int16Type),
        Number::U16 => of!(UInt16Type),
        Number::I32 => of!(Int32Type),
        Number::U32 => of!(UInt32Type),
        Number::I64 => of!(Int64Type),
        Number::U64 => of!(UInt64Type),
        Number::F32 => of!(Float32Type),
        Number::F64 => of!(Float64Type),
    }
}
