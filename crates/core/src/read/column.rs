//! Whole columns: the result of reading.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use super::Selection;
use crate::column::{BufferId, Cast, Filled, Kind, Native, aligned, check};
use crate::error::{Error, Result};
use crate::schema::{Objects, Registry};

/// A column of values: a type and the buffers that it refers to. Cheap to clone.
///
/// Numbers are [typed slices](Self::as_slice), lists and strings have [offsets](Self::offsets): `i64`, beginning with
/// 0, one more than rows. [`to_arrow`](Self::to_arrow) shares the same memory as an Arrow array.
///
/// # Example
///
/// ```
/// # let path = sapwood_testkit::scratch("column.root");
/// use sapwood::column::Number;
/// use sapwood::write::{BranchSpec, FileWriter, Item, TreeOptions, Values, WriteOptions};
/// let mut file = FileWriter::recreate(&path, WriteOptions::default())?;
/// let specs = vec![BranchSpec::vector("hits", Item::Number(Number::F32), 1)];
/// let mut tree = file.tree("t", specs, TreeOptions::default())?;
/// tree.extend(&[("hits", Values::lists(&[0, 2, 2, 3], &[0.5_f32, 1.5, 2.5]))])?;
/// tree.close()?;
/// file.close()?;
///
/// let tree = sapwood::File::open(&path)?.tree("t")?;
/// let columns = sapwood::read::columns(&tree, &[tree.branch("hits")?.id], 0..tree.entries)?;
/// assert_eq!(columns[0].offsets(), [0, 2, 2, 3]);
/// assert_eq!(columns[0].as_slice::<f32>()?, [0.5, 1.5, 2.5]);
/// assert!(columns[0].as_slice::<f64>().is_err());
/// # Ok::<(), sapwood::Error>(())
/// ```
///
/// ```
/// # let path = sapwood_testkit::example("nano.root");
/// let tree = sapwood::File::open(path)?.tree("Events")?;
/// let column = sapwood::read::columns(&tree, &[tree.branch("Jet_pt")?.id], 0..10)?.remove(0);
/// // Copies, for small programs.
/// let pt: Vec<f32> = column.numbers()?;
/// assert!(column.texts().is_err(), "it holds no strings");
/// // Another library's memory: Arrow's arrays, or the buffers that the type names.
/// assert_eq!(column.to_arrow()?.len(), 10);
/// let sapwood::column::Kind::List { offsets, .. } = column.kind else { panic!("it holds lists") };
/// assert_eq!(column.bounds(offsets, 1), 2..5);
/// assert_eq!(column.buffer(offsets).len(), 11 * 8);
/// assert_eq!(column.memory_bytes(), column.buffers().iter().map(|buffer| buffer.len()).sum());
/// # Ok::<(), sapwood::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Column {
    /// Its type.
    pub kind: Kind,
    /// Rows.
    pub len: usize,
    /// Each begins where any number may.
    buffers: Vec<Bytes>,
    /// Objects behind the pointers of the column.
    pub objects: Option<Arc<Objects>>,
    /// The classes of its file, if it has pointers.
    pub(super) registry: Option<Arc<Registry>>,
}

impl Column {
    /// A column of complete buffers.
    pub(crate) fn new(kind: Kind, len: usize, buffers: Vec<Bytes>, objects: Option<Arc<Objects>>) -> Self {
        let buffers = buffers.into_iter().map(aligned).collect();
        Self { kind, len, buffers, objects, registry: None }
    }

    /// A column of buffers: those that its type names, by their numbers.
    ///
    /// Buffers are native-endian numbers; offsets of lists and strings are `i64` and begin with 0, one more than rows;
    /// tags are `i8`. What is too short shows when the values are used.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::column::{Kind, ListOf, Number};
    /// use sapwood::read::Column;
    /// let item = Box::new(Kind::Number { buffer: 1, number: Number::U8 });
    /// let kind = Kind::List { offsets: 0, of: ListOf::Sequence, item };
    /// let offsets: Vec<u8> = [0_i64, 2, 3].iter().flat_map(|end| end.to_ne_bytes()).collect();
    /// let column = Column::from_buffers(kind, 2, vec![offsets.into(), vec![7, 8, 9].into()]);
    /// assert_eq!(column.offsets(), [0, 2, 3]);
    /// ```
    pub fn from_buffers(kind: Kind, rows: usize, buffers: Vec<Bytes>) -> Self {
        Self::new(kind, rows, buffers, None)
    }

    /// A column of numbers.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::read::Column;
    /// assert_eq!(&Column::from_numbers(&[1.5_f32, 2.5]).numbers::<f32>()?[..], [1.5, 2.5]);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn from_numbers<T: Native>(numbers: &[T]) -> Self {
        let kind = Kind::Number { buffer: 0, number: T::NUMBER };
        Self::new(kind, numbers.len(), vec![Bytes::copy_from_slice(T::memory(numbers))], None)
    }

    /// Adds the classes that its pointers are declared with.
    pub(crate) fn described(self, registry: Option<&Arc<Registry>>) -> Self {
        Self { registry: registry.cloned(), ..self }
    }

    /// Checks that it has a value for each of so many rows.
    ///
    /// # Errors
    ///
    /// [`Internal`](crate::ErrorKind::Internal).
    pub(crate) fn check(&self, rows: u64) -> Result<()> {
        if self.len as u64 != rows {
            return Err(Error::internal("a column has too many or too few rows").wanted(rows, self.len as u64));
        }
        check(&self.kind, self.len, self)
    }

    /// A buffer by its number, as its [`kind`](Self::kind) names it: native-endian numbers, offsets, or text. Empty if
    /// there is no such buffer.
    pub fn buffer(&self, id: BufferId) -> Bytes {
        self.buffers.get(id as usize).cloned().unwrap_or_else(Bytes::new)
    }

    /// All buffers.
    pub fn buffers(&self) -> &[Bytes] {
        &self.buffers
    }

    /// Bytes of memory that the values take.
    pub fn memory_bytes(&self) -> usize {
        self.buffers.iter().map(Bytes::len).sum()
    }

    /// The rows of some entries, of a column of numbers that has those of `held`. The same memory if both are the same.
    pub(super) fn of_entries(&self, held: &Selection, wanted: &Selection) -> Result<Self> {
        if held == wanted {
            return Ok(self.clone());
        }
        let missing = || Error::internal("a column of numbers lacks entries that are wanted of it");
        let Kind::Number { buffer, number } = &self.kind else { return Err(missing()) };
        let (bytes, wide) = (self.buffer(*buffer), number.bytes());
        let mut chosen = Vec::with_capacity(wanted.len() as usize * wide);
        for range in wanted.ranges() {
            let first = held.row(range.start).ok_or_else(missing)? as usize;
            let rows = first * wide..(first + (range.end - range.start) as usize) * wide;
            chosen.extend_from_slice(bytes.get(rows).ok_or_else(missing)?);
        }
        Ok(Self::new(self.kind.clone(), wanted.len() as usize, vec![chosen.into()], None))
    }

    /// The rows of some of its entries, if it is a column of numbers; nothing of other columns.
    pub(crate) fn narrowed(self, held: &Selection, wanted: &Selection) -> Result<Option<Self>> {
        match &self.kind {
            _ if held == wanted => Ok(Some(self)),
            Kind::Number { .. } => self.of_entries(held, wanted).map(Some),
            _ => Ok(None),
        }
    }

    /// The numbers of the column, without a copy. Of arrays and of lists these are the innermost items of all rows, one
    /// after another; see [`offsets`](Self::offsets) and [`items`](Self::items).
    ///
    /// # Errors
    ///
    /// [`Mismatch`](crate::ErrorKind::Mismatch) where the column holds another type.
    pub fn as_slice<T: Native>(&self) -> Result<&[T]> {
        let mut kind = &self.kind;
        while let Kind::List { item, .. } | Kind::Fixed { item, .. } = kind {
            kind = item;
        }
        match kind {
            Kind::Number { buffer, number } if *number == T::NUMBER => self.slice(*buffer),
            _ => Err(Error::mismatch(format!("the column holds {}, not {}", self.kind, T::NUMBER))),
        }
    }

    /// A buffer of numbers.
    fn slice<T: Cast>(&self, id: BufferId) -> Result<&[T]> {
        let bytes = self.buffers.get(id as usize).map_or(&[][..], |bytes| bytes);
        T::cast(bytes).ok_or_else(|| Error::internal("a buffer of a column ends within a number, or is not aligned"))
    }

    /// A copy of the numbers of the column, as [`as_slice`](Self::as_slice) has them.
    ///
    /// # Errors
    ///
    /// [`Mismatch`](crate::ErrorKind::Mismatch) where the column holds another type.
    pub fn numbers<T: Native>(&self) -> Result<Vec<T>> {
        self.as_slice().map(<[T]>::to_vec)
    }

    /// Where the outermost lists or strings begin and end: list `row` has the items `offsets[row]..offsets[row + 1]`.
    /// Empty where the column has neither.
    pub fn offsets(&self) -> &[i64] {
        match &self.kind {
            Kind::List { offsets, .. } | Kind::Text { offsets, .. } | Kind::Opaque { offsets, .. } => {
                self.slice(*offsets).unwrap_or_default()
            }
            _ => &[],
        }
    }

    /// The items of all lists or arrays as a column of their own, which shares the memory.
    ///
    /// # Errors
    ///
    /// [`Mismatch`](crate::ErrorKind::Mismatch) where the column holds neither lists nor arrays.
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::scratch("column-items.root");
    /// # use sapwood::column::Number;
    /// # use sapwood::write::{BranchSpec, FileWriter, Item, TreeOptions, Values, WriteOptions};
    /// # let mut file = FileWriter::recreate(&path, WriteOptions::default())?;
    /// # let specs = vec![BranchSpec::vector("v", Item::Number(Number::I32), 2)];
    /// # let mut tree = file.tree("t", specs, TreeOptions::default())?;
    /// // The entries [[1, 2], []] and [[3]].
    /// tree.extend(&[("v", Values::nested(&[&[0, 2, 3], &[0, 2, 2, 3]], &[1, 2, 3]))])?;
    /// # tree.close()?;
    /// # file.close()?;
    /// let tree = sapwood::File::open(&path)?.tree("t")?;
    /// let columns = sapwood::read::columns(&tree, &[tree.branch("v")?.id], 0..2)?;
    /// assert_eq!(columns[0].offsets(), [0, 2, 3]);
    /// assert_eq!(columns[0].items()?.offsets(), [0, 2, 2, 3]);
    /// assert_eq!(columns[0].as_slice::<i32>()?, [1, 2, 3]);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn items(&self) -> Result<Self> {
        let (kind, len) = match &self.kind {
            Kind::List { item, .. } => {
                let items = self.offsets().last().map_or(Ok(0), |&end| usize::try_from(end));
                (item, items.map_err(|_| Error::internal("lists of a column end before they begin"))?)
            }
            Kind::Fixed { len, item } => (item, self.len.saturating_mul(*len)),
            other => return Err(Error::mismatch(format!("the column holds {other}, neither lists nor arrays"))),
        };
        Ok(Self { kind: (**kind).clone(), len, ..self.clone() })
    }

    /// A member of the objects of the column, as a column that shares the memory. Members of base classes are found,
    /// too.
    ///
    /// # Errors
    ///
    /// [`Mismatch`](crate::ErrorKind::Mismatch) where the column holds no objects;
    /// [`NotFound`](crate::ErrorKind::NotFound) where they have no such member.
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::scratch("column-member.root");
    /// use sapwood::Entry;
    /// #[derive(Entry)]
    /// struct Track {
    ///     pt: f32,
    ///     charge: i8,
    /// }
    /// # use sapwood::write::{FileWriter, TreeOptions, WriteOptions};
    /// # let mut file = FileWriter::recreate(&path, WriteOptions::default())?;
    /// let mut tracks = file.entries::<Track>("t", "track", 0, TreeOptions::default())?; // unsplit
    /// tracks.fill(&Track { pt: 1.5, charge: 1 })?;
    /// # tracks.close()?;
    /// # file.close()?;
    /// let tree = sapwood::File::open(&path)?.tree("t")?;
    /// let columns = sapwood::read::columns(&tree, &[tree.branch("track")?.id], 0..1)?;
    /// assert_eq!(columns[0].member("pt")?.as_slice::<f32>()?, [1.5]);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn member(&self, name: &str) -> Result<Self> {
        let Kind::Record { class, .. } = &self.kind else {
            return Err(Error::mismatch(format!("the column holds {}, not objects", self.kind)));
        };
        let members = self.kind.shown_members();
        let found = members.iter().find(|(known, _)| **known == *name);
        let (_, kind) = found.ok_or_else(|| {
            let names: Vec<String> = members.iter().map(|(name, _)| format!("{name:?}")).collect();
            Error::not_found(format!("class {class:?} has no member {name:?}, but {}", names.join(", ")))
        })?;
        Ok(Self { kind: (*kind).clone(), ..self.clone() })
    }

    /// Where list or string `row` of a buffer of offsets begins and ends; nothing if there is no such row.
    pub fn bounds(&self, offsets: BufferId, row: usize) -> Range<usize> {
        let at = |index: usize| {
            let chunk = self.buffers.get(offsets as usize)?.get(8 * index..)?.first_chunk()?;
            usize::try_from(i64::from_ne_bytes(*chunk)).ok()
        };
        match (at(row), at(row + 1)) {
            (Some(start), Some(end)) => start..end,
            _ => 0..0,
        }
    }

    /// The numbers of one row.
    pub(crate) fn row_numbers<T: Native>(&self, row: usize) -> Result<Vec<T>> {
        let (mut kind, mut rows) = (&self.kind, row..row + 1);
        loop {
            match kind {
                Kind::Number { buffer, number } if *number == T::NUMBER => {
                    let numbers = self.slice(*buffer)?.get(rows).map(<[T]>::to_vec);
                    return numbers.ok_or_else(|| {
                        Error::mismatch("the column has no such row").wanted(self.len as u64, row as u64)
                    });
                }
                Kind::Fixed { len, item } => {
                    rows = rows.start * len..rows.end * len;
                    kind = item;
                }
                Kind::List { offsets, item, .. } if rows.len() == 1 => {
                    rows = self.bounds(*offsets, rows.start);
                    kind = item;
                }
                other => return Err(Error::mismatch(format!("the column holds {other}, not {}", T::NUMBER))),
            }
        }
    }

    /// The string of one row.
    pub(crate) fn row_text(&self, row: usize) -> Result<String> {
        let Kind::Text { offsets, bytes } = &self.kind else {
            return Err(Error::mismatch(format!("the column holds {}, not strings", self.kind)));
        };
        if row >= self.len {
            return Err(Error::mismatch("the column has no such row").wanted(self.len as u64, row as u64));
        }
        let (bounds, bytes) = (self.bounds(*offsets, row), self.buffer(*bytes));
        let bytes = bytes.get(bounds).ok_or_else(|| Error::internal("strings of a column end before their offsets"))?;
        Ok(crate::wire::text(bytes))
    }

    /// The strings of the column, one a row; copied only where they are not UTF-8, and taken for Latin-1 then, since
    /// files name no encoding.
    ///
    /// # Errors
    ///
    /// [`Mismatch`](crate::ErrorKind::Mismatch) where the column holds something else.
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::scratch("column-strings.root");
    /// # use sapwood::write::{BranchSpec, FileWriter, TreeOptions, Values, WriteOptions};
    /// # let mut file = FileWriter::recreate(&path, WriteOptions::default())?;
    /// # let mut tree = file.tree("t", vec![BranchSpec::text("name")], TreeOptions::default())?;
    /// tree.extend(&[("name", Values::strings(["muon", "", "tau"]))])?;
    /// # tree.close()?;
    /// # file.close()?;
    /// let tree = sapwood::File::open(&path)?.tree("t")?;
    /// let columns = sapwood::read::columns(&tree, &[tree.branch("name")?.id], 0..3)?;
    /// assert!(columns[0].strings()?.eq(["muon", "", "tau"]));
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn strings(&self) -> Result<impl ExactSizeIterator<Item = Cow<'_, str>>> {
        let Kind::Text { offsets, bytes } = &self.kind else {
            return Err(Error::mismatch(format!("the column holds {}, not strings", self.kind)));
        };
        let bytes = self.buffers.get(*bytes as usize).map_or(&[][..], |bytes| bytes);
        let offsets: &[i64] = self.slice(*offsets)?;
        let is_inside = offsets.is_sorted() && offsets.first().is_none_or(|&first| first >= 0);
        if !is_inside || offsets.last().is_some_and(|&last| last as u64 > bytes.len() as u64) {
            return Err(Error::internal("strings of a column end before their offsets"));
        }
        Ok(offsets.windows(2).map(|pair| {
            let text = &bytes[pair[0] as usize..pair[1] as usize];
            std::str::from_utf8(text).map_or_else(|_| crate::wire::text(text).into(), Cow::Borrowed)
        }))
    }

    /// A copy of the strings of the column, as [`strings`](Self::strings) has them.
    ///
    /// # Errors
    ///
    /// [`Mismatch`](crate::ErrorKind::Mismatch) where the column holds something else.
    pub fn texts(&self) -> Result<Vec<String>> {
        Ok(self.strings()?.map(Cow::into_owned).collect())
    }
}

impl Filled for Column {
    fn bytes(&self, buffer: BufferId) -> usize {
        self.buffers.get(buffer as usize).map_or(usize::MAX, Bytes::len)
    }

    fn ids(&self, buffer: BufferId) -> usize {
        Filled::bytes(self, buffer) / size_of::<u32>()
    }

    fn lists(&self, buffer: BufferId) -> (usize, usize) {
        // Offsets begin with 0: they are one more than the lists.
        let ends = self.buffers.get(buffer as usize).and_then(|bytes| Some((bytes.len() / 8, *bytes.last_chunk()?)));
        let ends = ends.map(|(offsets, last)| (offsets - 1, i64::from_ne_bytes(last)));
        ends.and_then(|(lists, items)| Some((lists, usize::try_from(items).ok()?))).unwrap_or((usize::MAX, usize::MAX))
    }
}
