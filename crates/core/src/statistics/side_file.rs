//! The file that holds the statistics of a ROOT file, next to it.
//!
//! Little-endian: the magic, a version of 32 bits, 32 bits of zeros, the length of the file, a list of tables with
//! their columns, the runs of each column, and an XXH3 checksum of all of it.

use std::collections::HashMap;
use std::ffi::OsString;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use twox_hash::XxHash3_64;

use super::bytes::{Reader, push_count, push_text};
use super::column::ColumnStatistics;
use super::planes::{decode, encode};
use crate::column::Number;
use crate::error::{Error, ErrorKind, Result};
use crate::io::{AtomicFile, LocalFile, Sink};

const MAGIC: &[u8; 8] = b"SAPWIDX\n";
const VERSION: u32 = 1;
/// Bytes before the list of tables, and those of the checksum.
const HEAD_BYTES: usize = 24;
const CHECKSUM_BYTES: usize = 8;

/// Ending that is added to the name of a file.
pub const EXTENSION: &str = ".sapwood-index";

/// Statistics of columns, as a side file stores them.
///
/// # Example
///
/// ```
/// use sapwood::column::Number;
/// use sapwood::statistics::{ColumnStatistics, SideFile};
/// let column = ColumnStatistics::new(Number::F32, 1, 0, Vec::new())?;
/// let mut side = SideFile::default();
/// side.add("Events", "Jet_pt", &[], 77, &column)?;
/// let bytes = side.to_bytes()?;
/// let again = SideFile::from_bytes(bytes.into())?;
/// assert_eq!(again.stored()[0].stamp, 77);
/// assert_eq!(again.column("Events", "Jet_pt", &[])?.as_deref(), Some(&column));
/// assert!(again.column("Events", "Jet_eta", &[])?.is_none());
/// # Ok::<(), sapwood::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct SideFile {
    stored: Vec<Stored>,
    /// Places of the columns of a name.
    places: HashMap<String, Vec<usize>>,
}

/// The stored statistics of one column.
///
/// # Example
///
/// ```
/// use sapwood::statistics::{ColumnStatistics, SideFile};
/// let mut side = SideFile::default();
/// let column = ColumnStatistics::new(sapwood::column::Number::U8, 0, 0, Vec::new())?;
/// side.add("t", "hits", &["x".into()], 1, &column)?;
/// let stored = &side.stored()[0];
/// assert_eq!((stored.table.as_str(), stored.name().as_str(), stored.runs()), ("t", "hits.x", 0));
/// assert_eq!(*stored.statistics()?, column);
/// # Ok::<(), sapwood::Error>(())
/// ```
#[derive(Debug)]
pub struct Stored {
    /// The name of its tree or RNTuple.
    pub table: String,
    /// The path of the branch or field.
    pub path: String,
    /// The members of its records that lead to the numbers.
    pub members: Vec<Arc<str>>,
    /// [Stamp](crate::table::Table::stamp) of the column that it describes.
    pub stamp: u64,
    number: Number,
    depth: usize,
    first: u64,
    runs: usize,
    bytes: Bytes,
    decoded: OnceLock<Result<Arc<ColumnStatistics>>>,
}

impl Stored {
    /// The path with its members, as expressions name it.
    pub fn name(&self) -> String {
        let members = self.members.iter().map(|member| &**member);
        std::iter::once(self.path.as_str()).chain(members).collect::<Vec<_>>().join(".")
    }

    /// How many runs it has.
    pub fn runs(&self) -> usize {
        self.runs
    }

    /// The statistics, decoded on first use.
    ///
    /// # Errors
    ///
    /// [`Malformed`](crate::ErrorKind::Malformed) for bytes that do not hold them.
    pub fn statistics(&self) -> Result<Arc<ColumnStatistics>> {
        let decode = || decode(&self.bytes, self.number, self.depth, self.first, self.runs).map(Arc::new);
        self.decoded.get_or_init(decode).clone()
    }
}

impl SideFile {
    /// The name of the side file of a file.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::statistics::SideFile;
    /// assert_eq!(SideFile::path_of("a/events.root"), std::path::Path::new("a/events.root.sapwood-index"));
    /// ```
    pub fn path_of(file: impl AsRef<Path>) -> PathBuf {
        let mut name = OsString::from(file.as_ref());
        name.push(EXTENSION);
        name.into()
    }

    /// The name of the side file of a file in a folder for those of many. It has a checksum of the whole path or URL:
    /// files of different folders may have one name.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::statistics::SideFile;
    /// let of = |file| SideFile::path_in("index", file);
    /// assert_ne!(of("/a/events.root"), of("/b/events.root"));
    /// assert!(of("/a/events.root").starts_with("index"));
    /// ```
    pub fn path_in(folder: impl AsRef<Path>, file: &str) -> PathBuf {
        let path = PathBuf::from(file);
        let whole = if file.contains("://") { path } else { std::path::absolute(&path).unwrap_or(path) };
        let checksum = XxHash3_64::oneshot(whole.as_os_str().as_encoded_bytes());
        let name = whole.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        folder.as_ref().join(format!("{name}-{checksum:016x}{EXTENSION}"))
    }

    /// Adds the statistics of a column.
    ///
    /// # Errors
    ///
    /// [`Limit`](crate::ErrorKind::Limit) for more runs than 32 bits count.
    pub fn add(
        &mut self,
        table: &str,
        path: &str,
        members: &[Arc<str>],
        stamp: u64,
        column: &ColumnStatistics,
    ) -> Result<()> {
        let runs = column.runs();
        if u32::try_from(runs).is_err() {
            return Err(Error::limit("a column has too many runs", u32::MAX.into(), runs as u64));
        }
        self.push(Stored {
            table: table.to_owned(),
            path: path.to_owned(),
            members: members.to_vec(),
            stamp,
            number: column.number,
            depth: column.depth,
            first: column.range().start,
            runs,
            bytes: encode(column).into(),
            decoded: OnceLock::from(Ok(Arc::new(column.clone()))),
        });
        Ok(())
    }

    fn push(&mut self, stored: Stored) {
        self.places.entry(key(&stored.table, &stored.path)).or_default().push(self.stored.len());
        self.stored.push(stored);
    }

    /// All stored columns.
    pub fn stored(&self) -> &[Stored] {
        &self.stored
    }

    /// The stored columns of a name: of trees of one name in several directories there are several.
    pub(crate) fn named<'s>(
        &'s self,
        table: &str,
        path: &str,
        members: &[Arc<str>],
    ) -> impl Iterator<Item = &'s Stored> {
        let places = self.places.get(&key(table, path)).map_or(&[][..], Vec::as_slice);
        places.iter().filter_map(|place| self.stored.get(*place)).filter(move |stored| stored.members == members)
    }

    /// The statistics of a column, whatever they belong to; none if it has none.
    ///
    /// # Errors
    ///
    /// [`Malformed`](crate::ErrorKind::Malformed) for bytes that do not hold them.
    pub fn column(&self, table: &str, path: &str, members: &[Arc<str>]) -> Result<Option<Arc<ColumnStatistics>>> {
        self.named(table, path, members).next().map(Stored::statistics).transpose()
    }

    /// The bytes of the side file.
    ///
    /// # Errors
    ///
    /// [`Limit`](crate::ErrorKind::Limit) for names or numbers that are too large.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let mut tables: Vec<(&str, Vec<&Stored>)> = Vec::new();
        for stored in &self.stored {
            match tables.last_mut().filter(|(name, _)| *name == stored.table) {
                Some((_, columns)) => columns.push(stored),
                None => tables.push((&stored.table, vec![stored])),
            }
        }
        let mut bytes = Vec::new();
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&VERSION.to_le_bytes());
        bytes.extend_from_slice(&[0; 12]);
        push_count(&mut bytes, tables.len())?;
        for (name, columns) in &tables {
            push_text(&mut bytes, name)?;
            push_count(&mut bytes, columns.len())?;
            for column in columns {
                push_text(&mut bytes, &column.path)?;
                push_count(&mut bytes, column.members.len())?;
                column.members.iter().try_for_each(|member| push_text(&mut bytes, member))?;
                let number = Number::ALL.iter().position(|number| *number == column.number);
                let number = number.ok_or_else(|| Error::internal("a number has no code"))?;
                let depth = u8::try_from(column.depth)
                    .map_err(|_| Error::limit("lists are in too many lists", 255, column.depth as u64))?;
                bytes.extend_from_slice(&[number as u8, depth]);
                bytes.extend_from_slice(&column.stamp.to_le_bytes());
                bytes.extend_from_slice(&column.first.to_le_bytes());
                push_count(&mut bytes, column.runs)?;
                bytes.extend_from_slice(&(column.bytes.len() as u64).to_le_bytes());
            }
        }
        for (_, columns) in &tables {
            columns.iter().for_each(|column| bytes.extend_from_slice(&column.bytes));
        }
        let len = (bytes.len() + CHECKSUM_BYTES) as u64;
        if let Some(slot) = bytes.get_mut(16..HEAD_BYTES) {
            slot.copy_from_slice(&len.to_le_bytes());
        }
        let checksum = XxHash3_64::oneshot(&bytes);
        bytes.extend_from_slice(&checksum.to_le_bytes());
        Ok(bytes)
    }

    /// The side file of some bytes.
    ///
    /// # Errors
    ///
    /// [`Malformed`](crate::ErrorKind::Malformed) for what is not a side file, [`Checksum`](crate::ErrorKind::Checksum)
    /// for one that was changed, [`Unsupported`](crate::ErrorKind::Unsupported) for a newer version.
    pub fn from_bytes(bytes: Bytes) -> Result<Self> {
        let len = stored_len(&bytes)?;
        if len != bytes.len() as u64 || bytes.len() < HEAD_BYTES + CHECKSUM_BYTES {
            return Err(cut_off(len, bytes.len() as u64));
        }
        let (content, checksum) = bytes.split_at(bytes.len() - CHECKSUM_BYTES);
        let checksum = Reader::new(checksum).u64()?;
        if XxHash3_64::oneshot(content) != checksum {
            return Err(Error::new(ErrorKind::Checksum, "the checksum of a file of statistics is wrong"));
        }
        let mut reader = Reader::new(content);
        reader.take(HEAD_BYTES)?;
        let mut side = Self::default();
        let mut sizes = Vec::new();
        for _ in 0..reader.count(8)? {
            let table = reader.text()?;
            for _ in 0..reader.count(38)? {
                let path = reader.text()?.to_owned();
                let members = reader.count(4)?;
                let members = (0..members).map(|_| reader.text().map(Arc::from)).collect::<Result<_>>()?;
                let number = reader.u8()?;
                let depth = reader.u8()?;
                let number = Number::ALL.get(usize::from(number)).copied();
                let number = number.ok_or_else(|| Error::malformed("a column has numbers of no known type"))?;
                let stamp = reader.u64()?;
                let first = reader.u64()?;
                let runs = reader.u32()? as usize;
                sizes.push(reader.u64()?);
                side.push(Stored {
                    table: table.to_owned(),
                    path,
                    members,
                    stamp,
                    number,
                    depth: depth.into(),
                    first,
                    runs,
                    bytes: Bytes::new(),
                    decoded: OnceLock::new(),
                });
            }
        }
        let mut at = content.len() - reader.left();
        for (stored, size) in side.stored.iter_mut().zip(sizes) {
            let end = usize::try_from(size).ok().and_then(|size| at.checked_add(size));
            let end = end.filter(|end| *end <= content.len());
            let end = end.ok_or_else(|| {
                Error::malformed("a column ends after the file of statistics").wanted(size, (content.len() - at) as u64)
            })?;
            stored.bytes = bytes.slice(at..end);
            at = end;
        }
        if at != content.len() {
            return Err(Error::malformed("a file of statistics has bytes that belong to no column"));
        }
        Ok(side)
    }

    /// Reads a side file.
    ///
    /// # Errors
    ///
    /// [`NotFound`](crate::ErrorKind::NotFound) if it does not exist, else those of [`from_bytes`](Self::from_bytes).
    pub fn read(path: impl AsRef<Path>) -> Result<Self> {
        Self::read_within(path, u64::MAX)
    }

    /// [`read`](Self::read), for a side file of up to `most` bytes.
    ///
    /// # Errors
    ///
    /// Errors of [`read`](Self::read), and [`Limit`](ErrorKind::Limit) for a longer one.
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::scratch("within.root.sapwood-index");
    /// use sapwood::statistics::SideFile;
    /// SideFile::default().write(&path)?;
    /// assert!(SideFile::read_within(&path, 1000).is_ok());
    /// assert!(SideFile::read_within(&path, 10).is_err());
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn read_within(path: impl AsRef<Path>, most: u64) -> Result<Self> {
        let path = path.as_ref();
        let read = || {
            let system = |error| Error::system("cannot read a file of statistics", error);
            // A pipe would wait for somebody to write.
            let found = std::fs::metadata(path).map_err(system)?;
            if !found.is_file() {
                return Err(Error::malformed("statistics are not a regular file"));
            }
            let mut file = std::fs::File::open(path).map_err(system)?;
            let mut head = Vec::with_capacity(HEAD_BYTES);
            file.by_ref().take(HEAD_BYTES as u64).read_to_end(&mut head).map_err(system)?;
            let len = stored_len(&head)?;
            if len != found.len() {
                return Err(cut_off(len, found.len()));
            }
            if len > most {
                return Err(Error::limit("bytes of statistics", most, len));
            }
            let room = usize::try_from(len).unwrap_or(usize::MAX);
            head.try_reserve_exact(room.saturating_sub(head.len()))
                .map_err(|error| Error::new(ErrorKind::Limit, "not enough memory for statistics").because(error))?;
            file.take(len - head.len() as u64).read_to_end(&mut head).map_err(system)?;
            Self::from_bytes(head.into())
        };
        read().map_err(|error| error.in_file(path.to_string_lossy().as_ref()))
    }

    /// Writes it. Until it is complete, an older one stays.
    ///
    /// # Errors
    ///
    /// Errors of the system.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<()> {
        self.write_like(path, None)
    }

    /// Writes it for the users that may read another file: it has the least and largest values of that.
    ///
    /// # Errors
    ///
    /// Errors of the system.
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::scratch("side-like.root");
    /// # std::fs::copy(sapwood_testkit::example("nano.root"), &path)?;
    /// use sapwood::{File, statistics::SideFile};
    /// let made = sapwood::inspect::index::make(&File::open(&path)?, &Default::default())?;
    /// made.side_file.write_like(SideFile::path_of(&path), Some(&path))?;
    /// let mode = |path: &std::path::Path| Ok::<_, std::io::Error>(std::fs::metadata(path)?.permissions());
    /// assert_eq!(mode(&SideFile::path_of(&path))?, mode(&path)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn write_like(&self, path: impl AsRef<Path>, like: Option<&Path>) -> Result<()> {
        let staged = AtomicFile::new(path.as_ref(), true)?;
        let bytes = self.to_bytes()?;
        let file = LocalFile::create(staged.path())?;
        if let Some(like) = like {
            let same =
                std::fs::metadata(like).and_then(|like| std::fs::set_permissions(staged.path(), like.permissions()));
            same.map_err(|error| Error::system("cannot set who may read the statistics", error))?;
        }
        file.write_at(0, &[std::io::IoSlice::new(&bytes)])?;
        staged.publish()
    }
}

/// The length of a file that begins so.
fn stored_len(head: &[u8]) -> Result<u64> {
    let mut head = Reader::new(head);
    if head.take(MAGIC.len())? != MAGIC {
        return Err(Error::malformed("this is not a file of statistics"));
    }
    let version = head.u32()?;
    if version != VERSION {
        let words = format!("statistics of version {version}: this program reads version {VERSION}");
        return Err(Error::unsupported(words));
    }
    head.u32()?;
    head.u64()
}

fn cut_off(stored: u64, found: u64) -> Error {
    Error::malformed("a file of statistics is cut off").wanted(stored, found)
}

/// One text for a table and a path, which hold no such character.
fn key(table: &str, path: &str) -> String {
    format!("{table}\0{path}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::{Extremes, Summary};

    fn side() -> SideFile {
        let run = |value: f64, nans| Summary {
            entries: 4,
            extremes: (nans < 6).then_some(Extremes::Real(value, value + 1.0)),
            items: 6,
            nans,
            absent: 0,
            empty: 1,
            shortest: 0,
            longest: 4,
        };
        let column = ColumnStatistics::new(Number::F32, 1, 3, vec![run(1.0, 0), run(-2.5, 6), run(0.25, 2)]).unwrap();
        let one = Summary { entries: 70_000, items: 70_000, shortest: 1, longest: 1, ..Summary::default() };
        let whole = Summary { extremes: Some(Extremes::Signed(i64::MIN, -1)), ..one };
        let whole = ColumnStatistics::new(Number::I64, 0, 0, vec![whole; 3]).unwrap();
        let mut side = SideFile::default();
        side.add("Events", "Jet_pt", &[], 1, &column).unwrap();
        side.add("Events", "hit", &["x".into(), "y".into()], 2, &whole).unwrap();
        side.add("Runs", "Jet_pt", &[], 3, &whole).unwrap();
        side
    }

    #[test]
    fn columns_are_read_as_they_were_written() {
        let side = side();
        let again = SideFile::from_bytes(side.to_bytes().unwrap().into()).unwrap();
        assert_eq!(again.stored().len(), 3);
        for (a, b) in side.stored().iter().zip(again.stored()) {
            assert_eq!((a.name(), a.stamp, a.runs()), (b.name(), b.stamp, b.runs()));
            assert_eq!(a.statistics().unwrap(), b.statistics().unwrap());
        }
    }

    #[test]
    fn every_changed_byte_and_every_end_is_refused() {
        let bytes = side().to_bytes().unwrap();
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 0x41;
            assert!(SideFile::from_bytes(changed.into()).is_err(), "byte {at}");
            assert!(SideFile::from_bytes(Bytes::copy_from_slice(&bytes[..at])).is_err(), "{at} bytes");
        }
    }

    #[test]
    fn lies_with_a_right_checksum_are_errors_and_never_panics() {
        let bytes = side().to_bytes().unwrap();
        let end = bytes.len() - CHECKSUM_BYTES;
        let mut refused = 0;
        for at in HEAD_BYTES..end {
            for value in [0, 1, 0x7f, 0x80, 0xff] {
                let mut changed = bytes.clone();
                changed[at] = value;
                let checksum = XxHash3_64::oneshot(&changed[..end]);
                changed[end..].copy_from_slice(&checksum.to_le_bytes());
                match SideFile::from_bytes(changed.into()) {
                    Err(_) => refused += 1,
                    Ok(side) => refused += side.stored().iter().filter(|stored| stored.statistics().is_err()).count(),
                }
            }
        }
        assert!(refused > 200, "{refused}");
    }
}
