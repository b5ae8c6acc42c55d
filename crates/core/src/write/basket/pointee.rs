//! Objects behind pointers: drafts of what rows of columns hold.

use std::ops::Range;
use std::sync::Arc;

use crate::column::{Kind, Number};
use crate::error::{Error, Result};
use crate::schema::{CLONES_ARRAY, Datum, Detail, Draft, Element, Registry, Target, is_custom};
use crate::write::model::class::Type;
use crate::write::model::columns::Column;
use crate::write::model::number_codes::{COUNTED, COUNTER, number};
use crate::write::model::tobject::BITS_CODE;

/// The object that row `row` of a column is.
pub(super) fn draft(registry: &Arc<Registry>, class: &Arc<str>, column: &Column, row: usize) -> Result<Draft> {
    if is_custom(class) {
        return by_hand(registry, class, column, row);
    }
    let unknown = || Error::unsupported(format!("class {class} is not known"));
    let info = registry.info(class, None, None).ok_or_else(unknown)?;
    let Column::Record(_, columns) = column else { return Err(unknown()) };
    let mut members = Vec::with_capacity(columns.len());
    for (element, column) in info.elements.iter().zip(columns) {
        match column {
            Column::Record(..) if column.is_hollow() => {}
            Column::Record(..) if &*element.type_name == "BASE" => {
                let base = draft(registry, &element.name, column, row)?;
                members.extend(base.members().map(|(name, value)| (name.into(), value.clone())));
            }
            column => members.push((Arc::clone(&element.name), datum(registry, class, element, column, row)?)),
        }
    }
    Ok(Draft::described(registry, class, members))
}

/// The value of a member of the object that row `row` of a column is.
fn datum(registry: &Arc<Registry>, outer: &Arc<str>, element: &Element, column: &Column, row: usize) -> Result<Datum> {
    let class: Arc<str> = element.type_name.trim_end_matches('*').into();
    let one = row..row + 1;
    match column {
        Column::Numbers(width, bytes) => {
            let number = element_number(element.code)?;
            let bytes = bytes.get(row * width..(row + 1) * width).ok_or_else(too_few)?;
            Ok(match (element.array_length, number) {
                (0, Number::F32) => Datum::Float(f32::from_ne_bytes(*bytes.first_chunk().ok_or_else(too_few)?).into()),
                (0, Number::F64) => Datum::Float(f64::from_ne_bytes(*bytes.first_chunk().ok_or_else(too_few)?)),
                (0, number) => Datum::Int(number.whole(bytes)),
                _ => Datum::Numbers(number, bytes.to_vec()),
            })
        }
        Column::Lists(ends, items) if matches!(element.detail, Detail::Counted { .. }) => {
            numbers(element_number(element.code - COUNTED)?, items, &Column::span(ends, &one))
        }
        Column::Lists(ends, items) if &*class == CLONES_ARRAY => {
            let form = registry.clones_of(outer, &element.name);
            let form =
                form.ok_or_else(|| Error::internal("a TClonesArray is written that holds objects of no class"))?;
            let objects =
                Column::span(ends, &one).map(|row| Ok(Datum::Value(draft(registry, &form.class, items, row)?)));
            Ok(Datum::List(objects.collect::<Result<_>>()?))
        }
        Column::Lists(ends, items) if matches!(&*class, "string" | "TString") => {
            let Column::Numbers(_, bytes) = &**items else { return Err(Error::mismatch("a string without bytes")) };
            let text = bytes.get(Column::span(ends, &one)).ok_or_else(too_few)?;
            Ok(Datum::Bytes(text.into()))
        }
        Column::Lists(ends, items) if let Some(Type::RootArray(number)) = Type::root_array(array_class(element)) => {
            numbers(number, items, &Column::span(ends, &one))
        }
        Column::Record(..) => Ok(Datum::Value(draft(registry, &class, column, row)?)),
        Column::Lists(ends, items) if element.type_name.ends_with('*') => match Column::span(ends, &one) {
            none if none.is_empty() => Ok(Datum::Null),
            one => Ok(Datum::Object(Arc::new(draft(registry, &class, items, one.start)?))),
        },
        Column::Lists(ends, items) => match (&**items, &element.detail) {
            (Column::Numbers(1.., _), Detail::Stl { item_code, .. }) if *item_code < 60 => {
                numbers(element_number(*item_code)?, items, &Column::span(ends, &one))
            }
            _ => Err(Error::unsupported(format!(
                "member {} ({}) of an object behind a pointer cannot be written yet",
                element.name, element.type_name
            ))),
        },
    }
}

/// The class of a member that is an object, or of a base.
fn array_class(element: &Element) -> &str {
    if &*element.type_name == "BASE" { &element.name } else { &element.type_name }
}

/// An object of a class that ROOT streams by hand: its members are numbers, strings, and lists of numbers.
fn by_hand(registry: &Arc<Registry>, class: &Arc<str>, column: &Column, row: usize) -> Result<Draft> {
    let program = registry.program(&Target::Value { name: Arc::clone(class) })?;
    let (Kind::Record { fields, .. }, Column::Record(_, columns)) = (&program.kind, column) else {
        return Err(Error::internal("a class that is streamed by hand has no members"));
    };
    let one = |kind: &Kind, column: &Column| match (kind, column) {
        (Kind::Number { number, .. }, Column::Numbers(width, bytes)) => {
            let bytes = bytes.get(row * width..(row + 1) * width).ok_or_else(too_few)?;
            Ok(Datum::Int(number.whole(bytes)))
        }
        (Kind::Text { .. }, Column::Lists(ends, items)) => match &**items {
            Column::Numbers(1, bytes) => {
                Ok(Datum::Bytes(bytes.get(Column::span(ends, &(row..row + 1))).ok_or_else(too_few)?.into()))
            }
            _ => Err(too_few()),
        },
        (Kind::List { item, .. }, Column::Lists(ends, items)) => match (&**item, Column::span(ends, &(row..row + 1))) {
            (Kind::Number { number, .. }, span) => numbers(*number, items, &span),
            // Lists of objects have none.
            (_, span) if span.is_empty() => Ok(Datum::List(Vec::new())),
            _ => Err(too_few()),
        },
        _ => Err(Error::unsupported(format!("class {class} cannot be written behind a pointer"))),
    };
    let draft = Draft::new(Arc::clone(class));
    fields
        .iter()
        .zip(columns)
        .try_fold(draft, |draft, (field, column)| Ok(draft.with(field.name.to_string(), one(&field.kind, column)?)))
}

/// Consecutive numbers of a column.
fn numbers(number: Number, column: &Column, span: &Range<usize>) -> Result<Datum> {
    let Column::Numbers(width, bytes) = column else { return Err(too_few()) };
    let bytes = bytes.get(span.start * width..span.end * width).ok_or_else(too_few)?;
    Ok(Datum::Numbers(number, bytes.to_vec()))
}

fn element_number(code: i32) -> Result<Number> {
    match code {
        BITS_CODE => return Ok(Number::U32),
        COUNTER => return Ok(Number::I32),
        _ => {}
    }
    number(code).ok_or_else(|| Error::unsupported(format!("members of type {code} are unknown")))
}

/// Values were checked when they were given.
pub(super) fn too_few() -> Error {
    Error::internal("a column that is written has too few values")
}
