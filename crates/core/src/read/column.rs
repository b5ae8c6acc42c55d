//! Whole columns: the result of reading.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use super::Selection;
use crate::column::{BufferId, Filled, Kind, Number, check};
use crate::error::{Error, Result};
use crate::schema::{Objects, Registry};

/// A column of values: a type and the buffers that it refers to. Cheap to clone.
///
/// Buffers hold native-endian numbers; offsets of lists and strings are `i64` and begin with 0, one more than rows.
#[derive(Clone, Debug)]
pub struct Column {
    /// Its type.
    pub kind: Kind,
    /// Rows.
    pub len: usize,
    buffers: Vec<Bytes>,
    /// Objects behind the pointers of the column.
    pub objects: Option<Arc<Objects>>,
    /// The classes of its file, if it has pointers.
    pub(super) registry: Option<Arc<Registry>>,
}

impl Column {
    /// A column of complete buffers.
    pub(crate) fn new(kind: Kind, len: usize, buffers: Vec<Bytes>, objects: Option<Arc<Objects>>) -> Self {
        Self { kind, len, buffers, objects, registry: None }
    }

    /// Adds the classes that its pointers are declared with.
    pub(super) fn described(self, registry: Option<&Arc<Registry>>) -> Self {
        Self { registry: registry.cloned(), ..self }
    }

    /// Checks that it has a value for each of so many rows.
    ///
    /// # Errors
    ///
    /// [`Internal`](crate::ErrorKind::Internal).
    pub(super) fn check(&self, rows: u64) -> Result<()> {
        if self.len as u64 != rows {
            return Err(Error::internal("a column has too many or too few rows").wanted(rows, self.len as u64));
        }
        check(&self.kind, self.len, self)
    }

    /// A buffer by its number; an empty one if there is no such buffer.
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

    /// The numbers of a plain column, for tests and small programs.
    ///
    /// # Errors
    ///
    /// [`Mismatch`](crate::ErrorKind::Mismatch) where the column is of another type.
    pub fn numbers<T: Native>(&self) -> Result<Vec<T>> {
        let mut kind = &self.kind;
        while let Kind::List { item, .. } | Kind::Fixed { item, .. } = kind {
            kind = item;
        }
        match kind {
            Kind::Number { buffer, number } if *number == T::NUMBER => Ok(T::read(&self.buffer(*buffer))),
            other => Err(Error::mismatch(format!("the column holds {other}, not {}", T::NUMBER))),
        }
    }

    /// Offsets of the outermost lists; empty where the column has none.
    pub fn offsets(&self) -> Vec<i64> {
        match &self.kind {
            Kind::List { offsets, .. } | Kind::Text { offsets, .. } | Kind::Opaque { offsets, .. } => {
                i64::read(&self.buffer(*offsets))
            }
            _ => Vec::new(),
        }
    }

    /// Where list or string `row` of a buffer of offsets begins and ends.
    pub fn bounds(&self, offsets: BufferId, row: usize) -> Range<usize> {
        let bytes = self.buffers.get(offsets as usize).map_or(&[][..], |bytes| bytes);
        let at = |index: usize| {
            let chunk = bytes.get(8 * index..).and_then(|rest| rest.first_chunk());
            chunk.map_or(0, |chunk| i64::from_ne_bytes(*chunk).max(0)) as usize
        };
        at(row)..at(row + 1)
    }

    /// The numbers of one row.
    pub(super) fn row_numbers<T: Native>(&self, row: usize) -> Result<Vec<T>> {
        let (mut kind, mut rows) = (&self.kind, row..row + 1);
        loop {
            match kind {
                Kind::Number { buffer, number } if *number == T::NUMBER => {
                    let (bytes, wide) = (self.buffer(*buffer), number.bytes());
                    let numbers = bytes.get(rows.start * wide..rows.end * wide).map(T::read);
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
    pub(super) fn row_text(&self, row: usize) -> Result<String> {
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

    /// Rows as strings, where the column is of strings.
    pub fn texts(&self) -> Result<Vec<String>> {
        let Kind::Text { offsets, bytes } = &self.kind else {
            return Err(Error::mismatch(format!("the column holds {}, not strings", self.kind)));
        };
        let (ends, bytes) = (i64::read(&self.buffer(*offsets)), self.buffer(*bytes));
        Ok(ends.windows(2).map(|pair| crate::wire::text(&bytes[pair[0] as usize..pair[1] as usize])).collect())
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

/// Number types of Rust that columns hold.
pub trait Native: Copy + 'static {
    /// Its type.
    const NUMBER: Number;
    /// Values of native-endian bytes.
    fn read(bytes: &[u8]) -> Vec<Self>;
}

macro_rules! native {
    ($($type:ty: $number:ident),* $(,)?) => {$(
        impl Native for $type {
            const NUMBER: Number = Number::$number;
            fn read(bytes: &[u8]) -> Vec<Self> {
                bytes.as_chunks().0.iter().map(|chunk| Self::from_ne_bytes(*chunk)).collect()
            }
        }
    )*};
}

native!(i8: I8, u8: U8, i16: I16, u16: U16, i32: I32, u32: U32, i64: I64, u64: U64, f32: F32, f64: F64);
