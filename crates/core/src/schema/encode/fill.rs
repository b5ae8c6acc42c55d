//! From the members of a draft to a row of columns.

use std::sync::Arc;

use super::super::draft::{Datum, Draft, Mark};
use super::super::draft_read::THIS;
use crate::column::{BufferId, Field, Kind, Number, Part};
use crate::error::{Error, Result};

/// What a pointer names.
#[derive(Clone)]
pub(super) enum Link {
    Object(Arc<Draft>),
    Same(Mark),
}

impl Link {
    /// Its identity among all objects, as long as it is held.
    pub(super) fn address(&self) -> usize {
        match self {
            Self::Object(draft) => draft.mark().map_or(Arc::as_ptr(draft) as usize, Mark::address),
            Self::Same(mark) => mark.address(),
        }
    }
}

pub(super) struct Fill<'p> {
    part: &'p mut Part,
    /// What the pointers name: number 1 is the first.
    links: Vec<Link>,
}

impl<'p> Fill<'p> {
    pub(super) fn new(part: &'p mut Part) -> Self {
        Self { part, links: Vec::new() }
    }

    pub(super) fn links(self) -> Vec<Link> {
        self.links
    }

    /// A whole object.
    pub(super) fn row(&mut self, kind: &Kind, draft: &Draft) -> Result<()> {
        match kind {
            Kind::Record { fields, .. } => self.fields(fields, Some(draft), &mut 0),
            other => {
                let value = draft.member(THIS).or_else(|| draft.members.first().map(|(_, value)| value));
                self.value(other, value)
            }
        }
    }

    fn fields(&mut self, fields: &[Field], draft: Option<&Draft>, from: &mut usize) -> Result<()> {
        for field in fields {
            match &field.kind {
                Kind::Record { fields, .. } if field.base => self.fields(fields, draft, from)?,
                kind => {
                    let value = draft.and_then(|draft| {
                        let found = draft.next_member(&field.name, from);
                        // The bins of a histogram are a base, under the name that ROOT has for them.
                        if found.is_none() && field.base { draft.member(ARRAY) } else { found }
                    });
                    self.value(kind, value).map_err(|error| error.in_object(&field.name))?;
                }
            }
        }
        Ok(())
    }

    fn value(&mut self, kind: &Kind, value: Option<&Datum>) -> Result<()> {
        match (kind, value) {
            (Kind::Number { buffer, number }, value) => self.number(*buffer, *number, value)?,
            (Kind::Text { offsets, bytes }, value) => {
                let text = match value {
                    None => &[][..],
                    Some(Datum::Text(text)) => text.as_bytes(),
                    Some(Datum::Bytes(bytes)) => bytes,
                    // A string that is an object by itself.
                    Some(Datum::Value(draft)) if &*draft.class == "TString" => match draft.member("fData") {
                        Some(Datum::Text(text)) => text.as_bytes(),
                        _ => &[],
                    },
                    Some(_) => return Err(Error::mismatch("a string has another value than text")),
                };
                self.part.push_text(*offsets, *bytes, text)?;
            }
            (Kind::Opaque { offsets, bytes, class }, value) => match value {
                Some(Datum::Bytes(raw)) => self.part.push_text(*offsets, *bytes, raw)?,
                None => self.part.push_text(*offsets, *bytes, EMPTY_FRAME)?,
                Some(_) => return Err(Error::unsupported(format!("no known layout to write class {class}"))),
            },
            (Kind::List { offsets, item, .. }, value) => {
                let count = match value {
                    Some(Datum::Value(draft)) if !is_record(item) => self.items(item, draft.member(ARRAY))?,
                    value => self.items(item, value)?,
                };
                self.part.end_list(*offsets, count)?;
            }
            (Kind::Fixed { len, item }, value) => {
                let wanted = numbers_in(kind);
                let found = match (value, wanted) {
                    (None, _) => {
                        for _ in 0..*len {
                            self.value(item, None)?;
                        }
                        *len
                    }
                    // All numbers of an array of arrays at once.
                    (Some(Datum::Numbers(number, bytes)), Some((buffer, of, total)))
                        if bytes.len() == total * of.bytes() =>
                    {
                        self.numbers(buffer, of, *number, bytes)?;
                        *len
                    }
                    (value, _) => self.items(item, value)?,
                };
                if found != *len {
                    return Err(Error::mismatch("a fixed array has another length").wanted(*len as u64, found as u64));
                }
            }
            (Kind::Record { fields, .. }, value) => {
                let draft = match value {
                    None => None,
                    Some(Datum::Value(draft)) => Some(draft),
                    Some(Datum::Object(draft)) => Some(&**draft),
                    Some(_) => return Err(Error::mismatch("an object has another value than its members")),
                };
                self.fields(fields, draft, &mut 0)?;
            }
            (Kind::OneOf { .. }, _) => return Err(Error::internal("a program fills followed pointers")),
            (Kind::Pointer { buffer, .. }, value) => {
                let link = match value {
                    None | Some(Datum::Null) => None,
                    Some(Datum::Object(draft)) => Some(Link::Object(Arc::clone(draft))),
                    Some(Datum::Value(draft)) => Some(Link::Object(Arc::new(draft.clone()))),
                    Some(Datum::Same(mark)) => Some(Link::Same(mark.clone())),
                    Some(_) => return Err(Error::mismatch("a pointer is neither null nor an object")),
                };
                let id = link.map_or(0, |link| {
                    self.links.push(link);
                    self.links.len() as u32
                });
                self.part.words_mut(*buffer).push(id);
            }
        }
        Ok(())
    }

    /// The items of a list; returns their number.
    fn items(&mut self, item: &Kind, value: Option<&Datum>) -> Result<usize> {
        match (item, value) {
            (_, None | Some(Datum::Null)) => Ok(0),
            (Kind::Number { buffer, number }, Some(Datum::Numbers(given, bytes))) => {
                self.numbers(*buffer, *number, *given, bytes)?;
                Ok(bytes.len() / number.bytes())
            }
            (_, Some(Datum::List(items))) => {
                items.iter().try_for_each(|value| self.value(item, Some(value)))?;
                Ok(items.len())
            }
            (Kind::Number { .. }, Some(_)) => Err(Error::mismatch("a list of numbers has another value")),
            _ => Err(Error::mismatch("a list has another value than its items")),
        }
    }

    fn numbers(&mut self, buffer: BufferId, wanted: Number, given: Number, bytes: &[u8]) -> Result<()> {
        if wanted != given {
            return Err(Error::mismatch(format!("{given} where {wanted} is declared")));
        }
        self.part.bytes_mut(buffer).extend_from_slice(bytes);
        Ok(())
    }

    fn number(&mut self, buffer: BufferId, number: Number, value: Option<&Datum>) -> Result<()> {
        let into = self.part.bytes_mut(buffer);
        match (number, value) {
            (Number::F64, Some(Datum::Float(value))) => into.extend(value.to_ne_bytes()),
            (Number::F32, Some(Datum::Float(value))) => into.extend((*value as f32).to_ne_bytes()),
            (Number::F64, value) => into.extend((value.map_or(Ok(0), whole)? as f64).to_ne_bytes()),
            (Number::F32, value) => into.extend((value.map_or(Ok(0), whole)? as f32).to_ne_bytes()),
            (number, value) => {
                let wide = number.bytes();
                let bytes = value.map_or(Ok(0), whole)?.to_ne_bytes();
                into.extend_from_slice(if cfg!(target_endian = "little") {
                    &bytes[..wide]
                } else {
                    &bytes[8 - wide..]
                });
            }
        }
        Ok(())
    }
}

/// ROOT's name for the values of `TArrayD` and its kin.
const ARRAY: &str = "fArray";

/// A class without members, at version 1.
const EMPTY_FRAME: &[u8] = &[0x40, 0, 0, 2, 0, 1];

/// How many numbers a fixed array of fixed arrays has, and where they go.
fn numbers_in(kind: &Kind) -> Option<(BufferId, Number, usize)> {
    match kind {
        Kind::Number { buffer, number } => Some((*buffer, *number, 1)),
        Kind::Fixed { len, item } => {
            let (buffer, number, inner) = numbers_in(item)?;
            Some((buffer, number, inner.checked_mul(*len)?))
        }
        _ => None,
    }
}

fn whole(value: &Datum) -> Result<i64> {
    match value {
        Datum::Int(value) => Ok(*value),
        Datum::Float(value) if value.fract() == 0.0 && value.abs() < 9e15 => Ok(*value as i64),
        _ => Err(Error::mismatch("a whole number has another value")),
    }
}

/// Whether a class's value has members.
fn is_record(kind: &Kind) -> bool {
    matches!(kind, Kind::Record { .. })
}
