//! Drafts of objects that were read.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use super::draft::{Datum, Draft, Mark, Origin};
use super::execute::Machine;
use super::objects::Objects;
use super::registry::Registry;
use crate::column::{BufferId, Kind, Number, Part};
use crate::error::{Error, Result};
use crate::wire::{Limits, Reader};

/// Objects, lists and records within each other.
const DEEPEST: u32 = 512;

impl Draft {
    /// The object of `class` that a record's payload holds, with everything that it points at, to be changed and
    /// written again. What is not changed comes out as it was: `Encoder::record` with the same length of the key gives
    /// the same bytes.
    ///
    /// Each object behind a pointer is a [`Datum::Object`] where it comes first, and a [`Datum::Same`] wherever else
    /// something points at it.
    ///
    /// # Errors
    ///
    /// Those of reading; one object that cannot be decoded fails all, since it cannot be written again.
    ///
    /// # Example
    ///
    /// ```
    /// use std::sync::Arc;
    /// use sapwood::schema::{Draft, Encoder, Registry};
    /// let draft = Arc::new(Draft::new("TObjString").with("fString", "text"));
    /// let (payload, classes) = Encoder::record(50, &draft)?;
    /// let registry = Arc::new(Registry::new(classes.iter().map(|info| (**info).clone()).collect(), 64000));
    /// let mut again = Draft::read(&registry, "TObjString", &payload, 50, &Default::default())?;
    /// assert_eq!(Encoder::record(50, &Arc::new(again.clone()))?.0, payload);
    /// again.set("fString", "another text");
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn read(registry: &Arc<Registry>, class: &str, payload: &[u8], keylen: usize, limits: &Limits) -> Result<Self> {
        Self::read_one(registry, class, payload, keylen, limits, 1)
    }

    /// Of the objects that a record holds, the one with that number: 1 is the record's own, and all others have the
    /// numbers that reading gave them.
    ///
    /// # Errors
    ///
    /// Those of [`read`](Self::read).
    #[doc(hidden)]
    pub fn read_one(
        registry: &Arc<Registry>,
        class: &str,
        payload: &[u8],
        keylen: usize,
        limits: &Limits,
        id: u32,
    ) -> Result<Self> {
        let mut objects = Objects::traced();
        let mut reader = Reader::with_origin(payload, keylen);
        let mut machine = Machine { registry, objects: &mut objects, limits, displacement: 0, outside: &[], depth: 0 };
        machine.root(class, &mut reader)?;
        Self::of(&objects, id, registry)
    }

    /// Object `id` of a table.
    ///
    /// # Errors
    ///
    /// Why one of the objects that it points at could not be decoded.
    #[doc(hidden)]
    pub fn of(objects: &Objects, id: u32, registry: &Arc<Registry>) -> Result<Self> {
        let mut reader = Redraft { objects, registry, marks: HashMap::new(), depth: 0 };
        reader.object(id)
    }
}

struct Redraft<'o> {
    objects: &'o Objects,
    registry: &'o Arc<Registry>,
    marks: HashMap<u32, Mark>,
    depth: u32,
}

impl Redraft<'_> {
    fn object(&mut self, id: u32) -> Result<Draft> {
        self.enter()?;
        let missing = || Error::malformed("an object was never decoded");
        let row = match (self.objects.get(id), self.objects.failure(id)) {
            (Some(row), _) => row,
            (None, Some(failure)) => {
                let error = Error::new(failure.kind(), failure.message().to_owned());
                let place = failure.place();
                let error = match place.offset {
                    Some(offset) => error.at(offset),
                    None => error,
                };
                return Err(place.object.iter().fold(error, |error, object| error.in_object(object)));
            }
            (None, None) => return Err(missing()),
        };
        let (target, _) = self.objects.program_of(id).ok_or_else(missing)?;
        // Its address is what makes it this mark and no other: no two of them share one.
        let mark = Mark(Arc::from(format!("{} {id}", row.class)));
        self.marks.insert(id, mark.clone());
        let mut draft = Draft::new(Arc::clone(row.class));
        draft.origin = Some(Origin {
            registry: Arc::clone(self.registry),
            target: target.clone(),
            trace: self.objects.trace_of(id).cloned(),
            mark,
        });
        match row.kind {
            Kind::Record { .. } => self.members(row.part, row.kind, row.row, &mut draft)?,
            other => draft.members.push((Cow::Borrowed(THIS), self.value(row.part, other, row.row)?)),
        }
        self.depth -= 1;
        Ok(draft)
    }

    fn enter(&mut self) -> Result<()> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(Error::limit("objects nest too deep", u64::from(DEEPEST), u64::from(self.depth)));
        }
        Ok(())
    }

    fn members(&mut self, part: &Part, kind: &Kind, row: usize, draft: &mut Draft) -> Result<()> {
        let Kind::Record { fields, .. } = kind else { return Ok(()) };
        for field in fields {
            match &field.kind {
                base @ Kind::Record { .. } if field.base => self.members(part, base, row, draft)?,
                kind => {
                    let value = self.value(part, kind, row)?;
                    draft.members.push((Cow::Owned(field.name.to_string()), value));
                }
            }
        }
        Ok(())
    }

    fn value(&mut self, part: &Part, kind: &Kind, row: usize) -> Result<Datum> {
        self.enter()?;
        let value = match kind {
            Kind::Number { buffer, number } => {
                let bytes = slice(part.bytes(*buffer), row..row + 1, number.bytes())?;
                match number {
                    Number::F32 => Datum::Float(f64::from(f32::from_ne_bytes(*bytes.first_chunk().ok_or_else(short)?))),
                    Number::F64 => Datum::Float(f64::from_ne_bytes(*bytes.first_chunk().ok_or_else(short)?)),
                    number => Datum::Int(number.whole(bytes)),
                }
            }
            Kind::Text { offsets, bytes } | Kind::Opaque { offsets, bytes, .. } => {
                let text = slice(part.bytes(*bytes), bounds(part, *offsets, row)?, 1)?;
                match std::str::from_utf8(text) {
                    Ok(text) if matches!(kind, Kind::Text { .. }) => Datum::Text(text.into()),
                    _ => Datum::Bytes(text.into()),
                }
            }
            Kind::List { offsets, item, .. } => self.items(part, item, bounds(part, *offsets, row)?)?,
            Kind::Fixed { len, item } => {
                let start = row.saturating_mul(*len);
                self.items(part, item, start..start.saturating_add(*len))?
            }
            Kind::Record { class, .. } => {
                let mut draft = Draft::new(Arc::clone(class));
                self.members(part, kind, row, &mut draft)?;
                Datum::Value(draft)
            }
            Kind::Pointer { buffer, .. } => match part.words(*buffer).get(row).copied().ok_or_else(short)? {
                0 => Datum::Null,
                id => match self.marks.get(&id) {
                    Some(mark) => Datum::Same(mark.clone()),
                    // A reference to what is not there, which ROOT reads as null.
                    None if self.objects.get(id).is_none() && self.objects.failure(id).is_none() => Datum::Null,
                    None => Datum::Object(Arc::new(self.object(id)?)),
                },
            },
            Kind::OneOf { .. } => return Err(Error::internal("an object of a record has followed pointers")),
        };
        self.depth -= 1;
        Ok(value)
    }

    fn items(&mut self, part: &Part, item: &Kind, rows: std::ops::Range<usize>) -> Result<Datum> {
        if let Kind::Number { buffer, number } = item {
            return Ok(Datum::Numbers(*number, slice(part.bytes(*buffer), rows, number.bytes())?.to_vec()));
        }
        rows.map(|row| self.value(part, item, row)).collect::<Result<_>>().map(Datum::List)
    }
}

/// The member of an object that is no record: its value.
pub(super) const THIS: &str = "This";

fn bounds(part: &Part, ends: BufferId, row: usize) -> Result<std::ops::Range<usize>> {
    let words = part.words(ends);
    let start = row.checked_sub(1).map_or(Some(0), |before| words.get(before).copied());
    let (start, end) = start.zip(words.get(row).copied()).ok_or_else(short)?;
    Ok(start as usize..end as usize)
}

fn slice(bytes: &[u8], rows: std::ops::Range<usize>, wide: usize) -> Result<&[u8]> {
    bytes.get(rows.start.saturating_mul(wide)..rows.end.saturating_mul(wide)).ok_or_else(short)
}

fn short() -> Error {
    Error::internal("an object has fewer values than members")
}
