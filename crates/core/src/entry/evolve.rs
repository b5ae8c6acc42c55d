//! From what a file has to the columns of the type that is wanted: members by name, numbers by value.

use std::ops::Range;
use std::sync::Arc;

use super::convert::convert;
use super::members::Scope;
use super::source::Source;
use crate::column::{BufferId, Kind, ListOf};
use crate::error::{Error, Result};
use crate::write::{ARRAY_MEMBER, Class, Column, Type};

/// Converts stored values into columns of a type.
#[derive(Debug, Default)]
pub(super) struct Adapter {
    /// Bytes of objects behind pointers so far: many pointers may share one.
    pointed_bytes: u64,
}

/// The most bytes behind the pointers of a step.
const MOST_POINTED_BYTES: u64 = 8 << 30;

impl Adapter {
    /// Appends consecutive rows to a column of the type. Members that are not stored stay without rows.
    ///
    /// # Errors
    ///
    /// [`Mismatch`](crate::ErrorKind::Mismatch), naming class and member, where the stored type or value does not fit.
    pub(super) fn append(
        &mut self,
        into: &mut Column,
        wanted: &Type,
        kind: &Kind,
        source: Source<'_>,
        rows: Range<usize>,
    ) -> Result<()> {
        let differs = || Error::mismatch(format!("{} was expected, and {} is stored", spelled(wanted), stored(kind)));
        // They are lists like others.
        let item = match wanted {
            Type::Counted(number, _) | Type::RootArray(number) => Some(Type::Number(*number)),
            Type::Clones(clones) => Some(Type::Object(Arc::clone(&clones.class))),
            _ => None,
        };
        if let Some(item) = item {
            return self.append(into, &Type::vector(item), kind, source, rows);
        }
        match (wanted, into) {
            (Type::Number(to), Column::Numbers(_, into)) => match kind {
                Kind::Number { buffer, number } => {
                    convert(*number, source.slice(*buffer, &rows, number.bytes())?, *to, into)
                }
                _ => Err(differs()),
            },
            (Type::Array(to, extents), Column::Numbers(_, into)) => {
                let (mut kind, mut rows) = (kind, rows);
                // In a container it is an object.
                if let Kind::Record { fields, .. } = kind
                    && let [array] = &fields[..]
                    && &*array.name == ARRAY_MEMBER
                {
                    kind = &array.kind;
                }
                for &extent in extents {
                    let Kind::Fixed { len, item } = kind else { return Err(differs()) };
                    if *len != extent as usize {
                        return Err(differs());
                    }
                    rows = times(&rows, *len)?;
                    kind = item;
                }
                let Kind::Number { buffer, number } = kind else { return Err(differs()) };
                convert(*number, source.slice(*buffer, &rows, number.bytes())?, *to, into)
            }
            (Type::Text | Type::RootText, Column::Lists(ends, into)) => match (kind, &mut **into) {
                (Kind::Text { offsets, bytes }, Column::Numbers(_, into)) => {
                    let span = source.lists(*offsets, &rows, ends)?;
                    into.extend_from_slice(source.slice(*bytes, &span, 1)?);
                    Ok(())
                }
                _ => Err(differs()),
            },
            (Type::Sequence(_, item_type), Column::Lists(ends, items)) => match kind {
                Kind::List { offsets, item, .. } => {
                    let span = source.lists(*offsets, &rows, ends)?;
                    self.append(items, item_type, item, source, span)
                }
                Kind::Fixed { len, item } => {
                    let before = ends.last().copied().unwrap_or(0);
                    let span = times(&rows, *len)?;
                    ends.extend((1..rows.len() as u64 + 1).map(|row| before + row * *len as u64));
                    self.append(items, item_type, item, source, span)
                }
                // `TClonesArray` and its kin: one of their members is the list.
                Kind::Record { class, fields } if matches!(&**class, "TClonesArray" | "TObjArray" | "TList") => {
                    let listed = fields.iter().find_map(|field| match &field.kind {
                        Kind::List { offsets, item, .. } if matches!(**item, Kind::Pointer { .. }) => {
                            Some((*offsets, item))
                        }
                        _ => None,
                    });
                    let (offsets, item) = listed.ok_or_else(differs)?;
                    let span = source.lists(offsets, &rows, ends)?;
                    self.append(items, item_type, item, source, span)
                }
                _ => Err(differs()),
            },
            (Type::Mapping(_, key, value), Column::Lists(ends, items)) => {
                let Kind::List { offsets, item, .. } = kind else { return Err(differs()) };
                let (Kind::Record { fields, .. }, Column::Record(len, columns)) = (&**item, &mut **items) else {
                    return Err(differs());
                };
                let stored = |name: &str| fields.iter().find(|field| &*field.name == name).map(|field| &field.kind);
                let (Some(first), Some(second)) = (stored("first"), stored("second")) else { return Err(differs()) };
                let span = source.lists(*offsets, &rows, ends)?;
                let [keys, values] = columns.as_mut_slice() else { return Err(differs()) };
                *len += span.len();
                self.append(keys, key, first, source, span.clone())?;
                self.append(values, value, second, source, span)
            }
            (Type::Pointer(class), Column::Lists(ends, objects)) => match kind {
                Kind::Pointer { buffer, .. } => {
                    for row in rows {
                        if let Some((object, table)) = source.object(*buffer, row)? {
                            let source = Source::Objects(object.part, table);
                            self.object(objects, class, object.kind, source, object.row..object.row + 1)?;
                            self.pointed(objects)?;
                        }
                        ends.push(objects.len() as u64);
                    }
                    Ok(())
                }
                Kind::OneOf { tags, of } if of.len() == 1 => {
                    let (first, there) = present(source, *tags, &rows)?;
                    let before = ends.last().copied().unwrap_or(0);
                    let mut last = before;
                    ends.extend(there.iter().map(|&tag| {
                        last += u64::from(tag as i8 >= 0);
                        last
                    }));
                    self.object(objects, class, &of[0], source, first..first + (last - before) as usize)
                }
                // It was a member by value.
                Kind::Record { .. } => {
                    let before = ends.last().copied().unwrap_or(0);
                    ends.extend((1..rows.len() as u64 + 1).map(|row| before + row));
                    self.object(objects, class, kind, source, rows)
                }
                _ => Err(differs()),
            },
            (Type::Object(class), into) => self.object(into, class, kind, source, rows),
            _ => Err(differs()),
        }
    }

    /// Counts the object that was appended last.
    fn pointed(&mut self, objects: &Column) -> Result<()> {
        let last = objects.len().saturating_sub(1)..objects.len();
        self.pointed_bytes = self.pointed_bytes.saturating_add(objects.bytes_of(&last) as u64);
        if self.pointed_bytes > MOST_POINTED_BYTES {
            let words = "objects behind pointers take more memory than any step";
            return Err(Error::limit(words, MOST_POINTED_BYTES, self.pointed_bytes));
        }
        Ok(())
    }

    fn object(
        &mut self,
        into: &mut Column,
        class: &Arc<Class>,
        kind: &Kind,
        source: Source<'_>,
        rows: Range<usize>,
    ) -> Result<()> {
        if let Kind::Pointer { buffer, .. } = kind {
            // It was behind a pointer.
            for row in rows {
                let null =
                    || Error::mismatch(format!("class {} was expected, and a null pointer is stored", class.name));
                let (object, table) = source.object(*buffer, row)?.ok_or_else(null)?;
                let source = Source::Objects(object.part, table);
                self.object(into, class, object.kind, source, object.row..object.row + 1)?;
                self.pointed(into)?;
            }
            return Ok(());
        }
        if let Kind::OneOf { tags, of } = kind
            && of.len() == 1
        {
            // It was an optional value.
            let (first, there) = present(source, *tags, &rows)?;
            if there.iter().any(|&tag| (tag as i8) < 0) {
                return Err(Error::mismatch(format!("class {} was expected, and no value is stored", class.name)));
            }
            return self.object(into, class, &of[0], source, first..first + rows.len());
        }
        let (Kind::Record { fields, .. }, Column::Record(len, columns)) = (kind, into) else {
            return Err(Error::mismatch(format!("class {} was expected, and {} is stored", class.name, stored(kind))));
        };
        let found = self.members(columns, *len, class, &Scope::new(class, fields), source, &rows)?;
        if found == 0 && !rows.is_empty() {
            let members: Vec<&str> = class.members.iter().map(|member| &*member.name).collect();
            let words = format!(
                "class {} with members {} was expected, and {} has none of them",
                class.name,
                members.join(", "),
                stored(kind)
            );
            return Err(Error::mismatch(words));
        }
        *len += rows.len();
        Ok(())
    }

    /// Appends the members of `rows` objects to columns that have `before`; gives how many were found.
    fn members(
        &mut self,
        columns: &mut [Column],
        before: usize,
        class: &Class,
        scope: &Scope<'_>,
        source: Source<'_>,
        rows: &Range<usize>,
    ) -> Result<usize> {
        let mut all = 0;
        for (member, column) in class.members.iter().zip(columns) {
            let in_member = |error: Error| {
                // The innermost is in the words, those around it are in the place.
                let named = match error.place().object {
                    Some(_) => error,
                    None => {
                        let words = format!("member {} of class {}: {}", member.name, class.name, error.message());
                        Error::new(error.kind(), words)
                    }
                };
                named.in_object(&member.name)
            };
            // Objects behind pointers are of several classes and versions: some have the member, some have not.
            match (&member.kind, &mut *column) {
                (Type::Object(base), Column::Record(len, columns)) if member.is_base => {
                    let is_new = *len == 0;
                    let found = self.members(columns, before, base, &scope.base(member), source, rows)?;
                    if found > 0 && is_new {
                        *len = before;
                    }
                    if found > 0 || !is_new {
                        *len += rows.len();
                    }
                    all += found;
                }
                (wanted, _) => match scope.member(member) {
                    Some(kind) => {
                        pad(column, before);
                        self.append(column, wanted, kind, source, rows.clone()).map_err(in_member)?;
                        all += 1;
                    }
                    None if column.is_empty() => {}
                    None => pad(column, before + rows.len()),
                },
            }
        }
        Ok(all)
    }
}

/// Adds zeros, empty lists and null until there are so many values.
fn pad(column: &mut Column, values: usize) {
    let missing = values.saturating_sub(column.len());
    match column {
        Column::Numbers(width, bytes) => bytes.resize(bytes.len() + missing * *width, 0),
        Column::Lists(ends, _) => ends.resize(ends.len() + missing, ends.last().copied().unwrap_or(0)),
        Column::Record(len, columns) => {
            // Members without rows are absent in all of them.
            columns.iter_mut().filter(|column| !column.is_empty()).for_each(|column| pad(column, values));
            *len += missing;
        }
    }
}

/// Of values that may be absent: how many are there before these rows, and the tags of the rows.
fn present<'a>(source: Source<'a>, tags: BufferId, rows: &Range<usize>) -> Result<(usize, &'a [u8])> {
    let before = source.slice(tags, &(0..rows.start), 1)?.iter().filter(|&&tag| tag as i8 >= 0).count();
    Ok((before, source.slice(tags, rows, 1)?))
}

/// The items of arrays.
fn times(rows: &Range<usize>, len: usize) -> Result<Range<usize>> {
    let (start, end) = (rows.start.checked_mul(len), rows.end.checked_mul(len));
    start.zip(end).map(|(start, end)| start..end).ok_or_else(|| Error::malformed("an array is too long"))
}

/// A type as C++ would declare it, with the extents of arrays.
fn spelled(kind: &Type) -> String {
    match kind {
        Type::Array(_, extents) => extents.iter().fold(kind.name(), |name, extent| name + &format!("[{extent}]")),
        kind => kind.name(),
    }
}

/// The same of what is stored.
fn stored(kind: &Kind) -> String {
    match kind {
        Kind::Number { number, .. } => Type::Number(*number).name(),
        Kind::Text { .. } => "string".to_owned(),
        Kind::Opaque { class, .. } => format!("{class} (which cannot be decoded)"),
        Kind::Pointer { class, .. } => format!("{class}*"),
        Kind::OneOf { .. } => kind.to_string(),
        Kind::Record { class, .. } if class.is_empty() => kind.to_string(),
        Kind::Record { class, .. } => class.to_string(),
        Kind::Fixed { .. } => {
            let (mut kind, mut extents) = (kind, String::new());
            while let Kind::Fixed { len, item } = kind {
                extents += &format!("[{len}]");
                kind = item;
            }
            stored(kind) + &extents
        }
        Kind::List { of, item, .. } => match (of, &**item) {
            (ListOf::Map, Kind::Record { fields, .. }) => {
                let inner: Vec<String> = fields.iter().map(|field| stored(&field.kind)).collect();
                format!("map<{}>", inner.join(","))
            }
            (ListOf::Set, item) => format!("set<{}>", stored(item)),
            (_, item) => format!("vector<{}>", stored(item)),
        },
    }
}
