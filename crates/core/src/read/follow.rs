//! Replaces pointers by the objects that they point to.
//!
//! Why so: `docs/decisions/columns-with-pointers.md`. Objects behind pointers are rows of tables already; here the rows
//! that a column points at are gathered, in the order of the pointers, into further buffers of the column.

use std::sync::Arc;

use bytes::Bytes;

use super::Column;
use crate::column::{BufferId, Field, Kind, ListOf, Part};
use crate::error::{Error, Result};
use crate::schema::{NumberMap, Objects, Registry, Target};

/// The most objects nested through pointers.
pub(super) const DEEPEST: usize = 64;
/// Types within a column.
const MOST_TYPES: usize = 1 << 16;
/// Classes that one pointer may lead to: a tag is an `i8`.
const MOST_CLASSES: usize = 127;
/// The most bytes of the objects of one column: an object that many pointers share is copied for each.
const MOST_BYTES: u64 = 8 << 30;

impl Column {
    /// The same rows with pointers replaced by objects: [`Kind::OneOf`] instead of [`Kind::Pointer`], and a list of its
    /// items instead of a ROOT collection. An object that several pointers share is copied for each; a pointer back to
    /// an enclosing object becomes the text `<Class>`.
    ///
    /// # Errors
    ///
    /// [`Unsupported`](crate::ErrorKind::Unsupported) if objects that point to others of their class nest too deeply
    /// for a column; [`Limit`](crate::ErrorKind::Limit) if they take too much memory; why an object could not be
    /// decoded.
    ///
    /// # Example
    ///
    /// ```
    /// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/plain.root");
    /// let tree = sapwood::File::open(path)?.tree("t")?;
    /// let column = sapwood::read::columns(&tree, &[tree.branch("x")?.id], 0..10)?.remove(0);
    /// assert!(!column.followed()?.kind.has_pointers());
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn followed(&self) -> Result<Self> {
        self.follow(false)
    }

    /// The same, but that rows of pointers are options also where none is null: the type does not depend on the rows.
    pub(crate) fn followed_as_options(&self) -> Result<Self> {
        self.follow(true)
    }

    fn follow(&self, as_options: bool) -> Result<Self> {
        let Some(objects) = self.objects.as_deref().filter(|_| self.kind.has_pointers()) else {
            return Ok(self.clone());
        };
        let mut follow = Follow {
            objects,
            registry: self.registry.as_deref(),
            buffers: self.buffers().to_vec(),
            left_bytes: MOST_BYTES,
            within: Vec::new(),
            around: Vec::new(),
            repeated: 0,
            types: 0,
        };
        let kind = match &self.kind {
            // An object held by value whose class is known only at run time: it is never null.
            Kind::Pointer { buffer, class } => match follow.pointers(&ids(&self.buffer(*buffer)), class)? {
                Kind::OneOf { tags, mut of } if !as_options && of.len() == 1 && !follow.has_null(tags) => {
                    of.swap_remove(0)
                }
                kind => kind,
            },
            kind => follow.whole(self, kind)?,
        };
        Ok(Self::new(kind, self.len, follow.buffers, None))
    }
}

/// Consecutive rows of a table.
#[derive(Clone, Copy)]
struct Run {
    /// The index of its source.
    source: usize,
    start: usize,
    len: usize,
}

/// A table, or a node of it: its type and its values.
#[derive(Clone, Copy)]
struct Source<'a> {
    kind: &'a Kind,
    part: &'a Part,
}

/// Objects of one class that a column points to, from one table or several of the same type.
struct Group<'a> {
    class: &'a Arc<str>,
    sources: Vec<Source<'a>>,
    runs: Vec<Run>,
    /// Numbers of the objects, and the pointer that points to each.
    ids: Vec<u32>,
    positions: Vec<usize>,
}

/// How values are nested in the enclosing ones.
enum Level {
    /// They are items of lists with these ends.
    List(Vec<i64>),
    /// They are items of arrays.
    Fixed(usize),
    /// They are objects with these numbers, pointed to from these positions.
    Objects { ids: Vec<u32>, positions: Vec<usize> },
}

struct Follow<'a> {
    objects: &'a Objects,
    registry: Option<&'a Registry>,
    buffers: Vec<Bytes>,
    left_bytes: u64,
    /// Classes of the enclosing objects, outermost first.
    within: Vec<Arc<str>>,
    /// The enclosing values, outermost first, from the first objects on.
    around: Vec<Level>,
    /// Rows of classes nested in objects of the same class.
    repeated: usize,
    types: usize,
}

impl<'a> Follow<'a> {
    fn buffer(&mut self, bytes: Vec<u8>) -> BufferId {
        self.shared(bytes.into())
    }

    fn shared(&mut self, bytes: Bytes) -> BufferId {
        self.buffers.push(bytes);
        (self.buffers.len() - 1) as BufferId
    }

    /// A buffer of offsets: 0, then all ends.
    fn offsets(&mut self, ends: &[i64]) -> BufferId {
        let mut bytes = vec![0; 8 * (ends.len() + 1)];
        for (out, end) in bytes.as_chunks_mut().0.iter_mut().skip(1).zip(ends) {
            *out = end.to_ne_bytes();
        }
        self.buffer(bytes)
    }

    /// Reserves memory.
    fn take(&mut self, bytes: usize) -> Result<()> {
        self.left_bytes = self.left_bytes.checked_sub(bytes as u64).ok_or_else(|| {
            Error::limit("objects behind pointers take more memory than any column", MOST_BYTES, MOST_BYTES + 1)
        })?;
        Ok(())
    }

    fn has_null(&self, tags: BufferId) -> bool {
        self.buffers.get(tags as usize).is_some_and(|tags| tags.iter().any(|&tag| tag as i8 == NULL))
    }

    /// The type of the whole column, whose own buffers stay as they are.
    fn whole(&mut self, column: &Column, kind: &Kind) -> Result<Kind> {
        Ok(match kind {
            Kind::Pointer { buffer, class } => self.pointers(&ids(&column.buffer(*buffer)), class)?,
            Kind::List { offsets, of, item } => {
                Kind::List { offsets: *offsets, of: *of, item: Box::new(self.whole(column, item)?) }
            }
            Kind::Fixed { len, item } => Kind::Fixed { len: *len, item: Box::new(self.whole(column, item)?) },
            Kind::Record { class, fields } => {
                if let Some(items) = items(kind) {
                    return self.whole(column, &items);
                }
                let field = |field: &Field| Ok(Field { kind: self.member(column, field)?, ..field.clone() });
                Kind::Record { class: Arc::clone(class), fields: fields.iter().map(field).collect::<Result<_>>()? }
            }
            plain => plain.clone(),
        })
    }

    /// A base stays a record, even if it is a collection: its members belong to the class.
    fn member(&mut self, column: &Column, field: &Field) -> Result<Kind> {
        match &field.kind {
            Kind::Record { class, fields } if field.base => {
                let inner = |field: &Field| Ok(Field { kind: self.member(column, field)?, ..field.clone() });
                Ok(Kind::Record { class: Arc::clone(class), fields: fields.iter().map(inner).collect::<Result<_>>()? })
            }
            kind => self.whole(column, kind),
        }
    }

    /// The targets of pointers, given as numbers of objects.
    fn pointers(&mut self, ids: &[u32], declared: &Arc<str>) -> Result<Kind> {
        self.take(ids.len())?;
        let objects = self.objects;
        let mut groups: Vec<Group<'a>> = Vec::new();
        // Group and source of each table.
        let mut places: NumberMap<u32, (usize, usize)> = NumberMap::default();
        let mut tags = Vec::with_capacity(ids.len());
        let mut back: Vec<(usize, &Arc<str>)> = Vec::new();
        for (position, &id) in ids.iter().enumerate() {
            let Some((table, row)) = objects.place(id) else {
                if let Some(failure) = objects.failure(id) {
                    return Err(failure.clone());
                }
                // Null, or a dangling reference, which ROOT reads as null.
                tags.push(NULL as u8);
                continue;
            };
            let (group, source) = match places.get(&table) {
                Some(&place) => place,
                None => {
                    let lost = || Error::internal("an object is in no table");
                    let (class, kind, part) = objects.table(table).ok_or_else(lost)?;
                    let is_same_group = |group: &Group<'_>| {
                        group.class == class && group.sources.first().is_some_and(|first| is_same(first.kind, kind))
                    };
                    let group = groups.iter().position(is_same_group).unwrap_or(groups.len());
                    if group == groups.len() {
                        // Most often all pointers lead to one class.
                        let most = if group == 0 { ids.len() - position } else { 0 };
                        let (ids, positions) = (Vec::with_capacity(most), Vec::with_capacity(most));
                        groups.push(Group { class, sources: Vec::new(), runs: Vec::new(), ids, positions });
                    }
                    let source = groups[group].sources.len();
                    groups[group].sources.push(Source { kind, part });
                    places.insert(table, (group, source));
                    (group, source)
                }
            };
            if self.within.contains(groups[group].class) && self.is_around(id, position) {
                back.push((position, groups[group].class));
                tags.push(NULL as u8);
                continue;
            }
            tags.push(group as u8);
            groups[group].ids.push(id);
            groups[group].positions.push(position);
            push(&mut groups[group].runs, Run { source, start: row as usize, len: 1 });
        }
        let has_back = !back.is_empty();
        // A class with only back pointers to it has no rows.
        if has_back && groups.len() == 1 && groups[0].ids.is_empty() {
            groups.clear();
        }
        if groups.len() >= MOST_CLASSES {
            return Err(Error::unsupported(format!(
                "pointers to {declared} lead to {} classes: no column holds more than {MOST_CLASSES}",
                groups.len()
            )));
        }
        back.iter().for_each(|&(position, _)| tags[position] = groups.len() as u8);
        let tags = self.buffer(tags);
        let mut of = Vec::with_capacity(groups.len());
        for Group { class, sources, runs, ids, positions } in groups {
            of.push(self.objects_of(class, &sources, &runs, ids, positions)?);
        }
        if has_back {
            let texts: Vec<String> = back.iter().map(|(_, class)| format!("<{class}>")).collect();
            let ends: Vec<i64> = texts
                .iter()
                .scan(0, |end, text| {
                    *end += text.len() as i64;
                    Some(*end)
                })
                .collect();
            let offsets = self.offsets(&ends);
            of.push(Kind::Text { offsets, bytes: self.buffer(texts.concat().into_bytes()) });
        } else if of.is_empty() {
            of.extend(self.none_of(declared)?);
        }
        Ok(Kind::OneOf { tags, of })
    }

    /// Whether the pointer at a position is within object `id`.
    fn is_around(&self, id: u32, mut position: usize) -> bool {
        for level in self.around.iter().rev() {
            position = match level {
                Level::List(ends) => ends.partition_point(|&end| end <= position as i64),
                Level::Fixed(len) => position / (*len).max(1),
                Level::Objects { ids, .. } if ids.get(position) == Some(&id) => return true,
                Level::Objects { positions, .. } => match positions.get(position) {
                    Some(&outer) => outer,
                    None => return false,
                },
            };
        }
        false
    }

    /// The type of the class that pointers are declared with, if all are null and can point to nothing else.
    fn none_of(&mut self, declared: &Arc<str>) -> Result<Option<Kind>> {
        let Some(registry) = self.registry.filter(|_| !self.within.contains(declared)) else { return Ok(None) };
        if !registry.is_final(declared) {
            return Ok(None);
        }
        let target = Target::Members { class: Arc::clone(declared), version: None, checksum: None };
        let program = registry.program(&target)?;
        let part = Part::new(&program.buffers);
        let source = Source { kind: &program.kind, part: &part };
        self.objects_of(declared, &[source], &[], Vec::new(), Vec::new()).map(Some)
    }

    /// Objects of one class.
    fn objects_of(
        &mut self,
        class: &Arc<str>,
        from: &[Source<'_>],
        runs: &[Run],
        ids: Vec<u32>,
        positions: Vec<usize>,
    ) -> Result<Kind> {
        let rows = ids.len();
        if self.within.contains(class) {
            self.repeated += rows;
        }
        // Lists and trees contain each object once; in a graph, the number of paths to an object can grow without
        // bound.
        if self.within.len() >= DEEPEST || self.repeated > 4 * self.objects.len() + 64 {
            return Err(Error::unsupported(format!(
                "objects of class {class} lead to one another in too many ways, or through more than {DEEPEST} others: \
                 no column holds them"
            )));
        }
        self.within.push(Arc::clone(class));
        self.around.push(Level::Objects { ids, positions });
        let kind = self.gather(from, runs, rows);
        self.around.pop();
        self.within.pop();
        kind
    }

    /// Copies the values of rows, in sequence, into new buffers.
    fn gather(&mut self, from: &[Source<'_>], runs: &[Run], rows: usize) -> Result<Kind> {
        self.types += 1;
        if self.types > MOST_TYPES {
            return Err(Error::unsupported(format!("objects that lead to others have more than {MOST_TYPES} types")));
        }
        let first = from.first().ok_or_else(|| Error::internal("objects have no table"))?;
        match first.kind {
            Kind::Number { number, .. } => {
                let wide = number.bytes();
                self.take(rows.saturating_mul(wide))?;
                if let [run] = runs
                    && let Source { kind: Kind::Number { buffer, .. }, part } = &from[run.source]
                    && let Some(bytes) = part.shared(*buffer, run.start * wide..(run.start + run.len) * wide)
                {
                    return Ok(Kind::Number { buffer: self.shared(bytes), number: *number });
                }
                let mut out = Vec::with_capacity(rows * wide);
                for run in runs {
                    let Kind::Number { buffer, .. } = from[run.source].kind else { return Err(differs()) };
                    let bytes = from[run.source].part.bytes(*buffer);
                    let slice = bytes.get(run.start * wide..(run.start + run.len) * wide);
                    out.extend_from_slice(slice.ok_or_else(short)?);
                }
                Ok(Kind::Number { buffer: self.buffer(out), number: *number })
            }
            Kind::Text { .. } | Kind::Opaque { .. } => {
                let (mut ends, mut text, mut whole) = (Vec::with_capacity(rows), Vec::new(), None);
                self.take(8 * rows)?;
                for run in runs {
                    let (Kind::Text { offsets, bytes } | Kind::Opaque { offsets, bytes, .. }) = from[run.source].kind
                    else {
                        return Err(differs());
                    };
                    let part = from[run.source].part;
                    let span = lists(part, *offsets, run, text.len() as i64, &mut ends)?;
                    self.take(span.len())?;
                    if runs.len() == 1 {
                        whole = part.shared(*bytes, span.clone());
                    }
                    if whole.is_some() {
                        break;
                    }
                    text.extend_from_slice(part.bytes(*bytes).get(span).ok_or_else(short)?);
                }
                let offsets = self.offsets(&ends);
                let bytes = self.shared(whole.unwrap_or_else(|| text.into()));
                Ok(match first.kind {
                    Kind::Opaque { class, .. } => Kind::Opaque { offsets, bytes, class: Arc::clone(class) },
                    _ => Kind::Text { offsets, bytes },
                })
            }
            Kind::List { of, .. } => {
                self.take(8 * rows)?;
                let (mut ends, mut inner, mut total) = (Vec::with_capacity(rows), Vec::new(), 0);
                let mut items = Vec::with_capacity(from.len());
                for source in from {
                    let Kind::List { item, .. } = source.kind else { return Err(differs()) };
                    items.push(Source { kind: item, part: source.part });
                }
                for run in runs {
                    let Kind::List { offsets, .. } = from[run.source].kind else { return Err(differs()) };
                    let span = lists(from[run.source].part, *offsets, run, total, &mut ends)?;
                    total += span.len() as i64;
                    push(&mut inner, Run { source: run.source, start: span.start, len: span.len() });
                }
                let offsets = self.offsets(&ends);
                self.around.push(Level::List(ends));
                let item = self.gather(&items, &inner, total as usize);
                self.around.pop();
                let item = Box::new(item?);
                Ok(Kind::List { offsets, of: *of, item })
            }
            Kind::Fixed { len, .. } => {
                let mut items = Vec::with_capacity(from.len());
                for source in from {
                    let Kind::Fixed { item, .. } = source.kind else { return Err(differs()) };
                    items.push(Source { kind: item, part: source.part });
                }
                let inner: Vec<Run> = runs
                    .iter()
                    .map(|run| Run {
                        source: run.source,
                        start: run.start.saturating_mul(*len),
                        len: run.len.saturating_mul(*len),
                    })
                    .collect();
                self.around.push(Level::Fixed(*len));
                let item = self.gather(&items, &inner, rows.saturating_mul(*len));
                self.around.pop();
                let item = Box::new(item?);
                Ok(Kind::Fixed { len: *len, item })
            }
            Kind::Record { .. } => {
                if items(first.kind).is_some() {
                    let all = from.iter().map(|source| items(source.kind).ok_or_else(differs));
                    let all = all.collect::<Result<Vec<_>>>()?;
                    let sources = all.iter().zip(from).map(|(kind, source)| Source { kind, part: source.part });
                    return self.gather(&sources.collect::<Vec<_>>(), runs, rows);
                }
                self.record(from, runs, rows)
            }
            Kind::Pointer { class, .. } => {
                self.take(4 * rows)?;
                let mut ids = Vec::with_capacity(rows);
                for run in runs {
                    let Kind::Pointer { buffer, .. } = from[run.source].kind else { return Err(differs()) };
                    let words = from[run.source].part.words(*buffer).get(run.start..run.start + run.len);
                    ids.extend_from_slice(words.ok_or_else(short)?);
                }
                self.pointers(&ids, class)
            }
            Kind::OneOf { .. } => Err(Error::internal("a table holds followed pointers")),
        }
    }

    fn record(&mut self, from: &[Source<'_>], runs: &[Run], rows: usize) -> Result<Kind> {
        let Some(Source { kind: Kind::Record { class, fields }, .. }) = from.first() else { return Err(differs()) };
        let mut made = Vec::with_capacity(fields.len());
        for (index, field) in fields.iter().enumerate() {
            let mut sources = Vec::with_capacity(from.len());
            for source in from {
                let Kind::Record { fields, .. } = source.kind else { return Err(differs()) };
                let kind = &fields.get(index).ok_or_else(differs)?.kind;
                sources.push(Source { kind, part: source.part });
            }
            let kind = match field.kind {
                Kind::Record { .. } if field.base => self.record(&sources, runs, rows),
                _ => self.gather(&sources, runs, rows),
            };
            let kind = kind.map_err(|error| error.in_object(&field.name))?;
            made.push(Field { kind, ..field.clone() });
        }
        Ok(Kind::Record { class: Arc::clone(class), fields: made })
    }
}

/// The tag of a null pointer.
const NULL: i8 = -1;

/// Numbers of objects.
fn ids(bytes: &Bytes) -> Vec<u32> {
    bytes.as_chunks().0.iter().map(|chunk| u32::from_ne_bytes(*chunk)).collect()
}

/// Adds rows; those that follow the last ones in the same table extend its run.
fn push(runs: &mut Vec<Run>, more: Run) {
    match runs.last_mut() {
        Some(last) if last.source == more.source && last.start + last.len == more.start => last.len += more.len,
        _ => runs.push(more),
    }
}

/// The items of the lists of a run; their ends are appended, counted from `before` on.
fn lists(
    part: &Part,
    offsets: BufferId,
    run: &Run,
    before: i64,
    ends: &mut Vec<i64>,
) -> Result<std::ops::Range<usize>> {
    let words = part.words(offsets);
    let first = match run.start.checked_sub(1) {
        Some(above) => *words.get(above).ok_or_else(short)?,
        None => 0,
    };
    let mut last = first;
    for &end in words.get(run.start..run.start + run.len).ok_or_else(short)? {
        if end < last {
            return Err(short());
        }
        last = end;
        ends.push(before + i64::from(end - first));
    }
    Ok(first as usize..last as usize)
}

/// The list of items of a ROOT collection; none for other types.
pub(crate) fn items(kind: &Kind) -> Option<Kind> {
    let Kind::Record { class, fields } = kind else { return None };
    if !crate::schema::is_custom(class) {
        return None;
    }
    let Kind::List { offsets, of, item } = &fields.iter().find(|field| &*field.name == "items")?.kind else {
        return None;
    };
    let of = if matches!(**item, Kind::Record { .. }) { ListOf::Map } else { *of };
    Some(Kind::List { offsets: *offsets, of, item: item.clone() })
}

/// Whether two types are equal except for their buffers.
fn is_same(a: &Kind, b: &Kind) -> bool {
    match (a, b) {
        (Kind::Number { number: a, .. }, Kind::Number { number: b, .. }) => a == b,
        (Kind::Text { .. }, Kind::Text { .. }) => true,
        (Kind::Opaque { class: a, .. }, Kind::Opaque { class: b, .. })
        | (Kind::Pointer { class: a, .. }, Kind::Pointer { class: b, .. }) => a == b,
        (Kind::List { of: a, item: x, .. }, Kind::List { of: b, item: y, .. }) => a == b && is_same(x, y),
        (Kind::Fixed { len: a, item: x }, Kind::Fixed { len: b, item: y }) => a == b && is_same(x, y),
        (Kind::Record { class: a, fields: x }, Kind::Record { class: b, fields: y }) => {
            let same = |(x, y): (&Field, &Field)| x.name == y.name && x.base == y.base && is_same(&x.kind, &y.kind);
            a == b && x.len() == y.len() && x.iter().zip(y).all(same)
        }
        _ => false,
    }
}

fn short() -> Error {
    Error::internal("a table of objects has fewer values than rows")
}

fn differs() -> Error {
    Error::internal("tables of one class are of different types")
}
