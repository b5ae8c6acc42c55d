//! Plain files: positioned reads and writes, no seek, no mapping.
//!
//! A mapped file that is cut short by someone else kills the process; a positioned read returns an error. It is also as
//! fast, but for bytes that are hot and uncompressed.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, IoSlice};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::sync::Arc;

use super::{ByteRange, Ends, Flow, Identity, Profile, Receive, Sink, Store, check_ranges, copy_by_reading, stopped};
use crate::{Error, ErrorKind, Result};

/// The number of ranges of a request announced to the kernel before the first is read: about the queue depth of a disk.
const AHEAD_RANGES: usize = 16;

/// The most parts that Linux takes in one call.
const PARTS_A_CALL: usize = 1024;

/// The most bytes that one call writes. Larger calls make the page cache look for large pages, which take several times
/// as long where memory is not at hand: `docs/decisions/writing-from-rows.md`.
const WRITE_BYTES: usize = 1 << 20;

/// A file of the local system, to read, to write, or both.
///
/// # Example
///
/// ```
/// use std::io::IoSlice;
/// use sapwood::io::{LocalFile, Sink, load};
/// # let path = std::env::temp_dir().join(format!("sapwood-doc-{}", std::process::id()));
/// let file = LocalFile::create(&path)?;
/// file.write_at(0, &[IoSlice::new(b"hello"), IoSlice::new(b" world")])?;
/// assert_eq!(load(&LocalFile::open(&path)?, &[6..11])?, ["world"]);
/// # std::fs::remove_file(path)?;
/// # Ok::<(), sapwood::Error>(())
/// ```
///
/// ```
/// # let path = sapwood_testkit::scratch("local.txt");
/// use std::io::IoSlice;
/// use sapwood::io::{LocalFile, Sink, load};
/// let file = LocalFile::create_new(&path)?;
/// file.write_at(0, &[IoSlice::new(b"hello "), IoSlice::new(b"world!")])?;
/// file.set_len(11)?;
/// drop(file);
/// assert!(LocalFile::create_new(&path).is_err(), "it exists");
/// let file = LocalFile::update(&path)?; // to read and write
/// assert_eq!(load(&file, &[6..11])?[0][..], *b"world");
/// # Ok::<(), sapwood::Error>(())
/// ```
#[derive(Debug)]
pub struct LocalFile {
    file: File,
    name: Arc<str>,
    /// Length when it was opened: if a range within it is missing later, the file was truncated.
    opened_bytes: u64,
}

impl LocalFile {
    /// Opens a file to read.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`], [`ErrorKind::Denied`](crate::ErrorKind::Denied), or
    /// [`ErrorKind::Io`], with the name.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::with(path.as_ref(), OpenOptions::new().read(true))
    }

    /// [`open`](Self::open) for a path that a person wrote: if there is no such file, the error names files beside it
    /// that look alike.
    ///
    /// # Errors
    ///
    /// Those of [`open`](Self::open).
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::io::LocalFile;
    /// let error = LocalFile::find("no-such-folder/events.root").unwrap_err();
    /// assert_eq!(error.message(), "no such file; there is no folder \"no-such-folder\"");
    /// ```
    pub fn find(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        Self::open(path).map_err(|error| match error.kind() {
            ErrorKind::NotFound => missing(path, error),
            _ => error,
        })
    }

    /// Creates a file to write (and read back); an existing one is truncated. The writer has exclusive access: the file
    /// is locked until this value is dropped.
    ///
    /// # Errors
    ///
    /// Those of [`open`](Self::open); [`ErrorKind::Denied`] if another writer has it open.
    pub fn create(path: impl AsRef<Path>) -> Result<Self> {
        // Truncate only after the lock shows that no other writer has it open.
        let mut file =
            Self::with(path.as_ref(), OpenOptions::new().read(true).write(true).create(true).truncate(false))
                .map_err(|error| not_made(path.as_ref(), error))?;
        file.lock()?;
        // A file that was truncated to nothing is written to the disk when it is closed (ext4), which takes as long as
        // writing it: a new one is not truncated.
        if file.file.metadata().map_or(true, |found| found.len() > 0) {
            file.set_len(0)?;
        }
        file.opened_bytes = 0;
        Ok(file)
    }

    /// Creates a file to write (and read back), unless there is one.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Exists`] if there is one, else those of [`open`](Self::open).
    pub fn create_new(path: impl AsRef<Path>) -> Result<Self> {
        let file = Self::with(path.as_ref(), OpenOptions::new().read(true).write(true).create_new(true))
            .map_err(|error| not_made(path.as_ref(), error))?;
        file.lock()?;
        Ok(file)
    }

    /// Opens a file to read and write, and locks it as [`create`](Self::create) does.
    ///
    /// # Errors
    ///
    /// Those of [`create`](Self::create).
    pub fn update(path: impl AsRef<Path>) -> Result<Self> {
        let file = Self::with(path.as_ref(), OpenOptions::new().read(true).write(true))?;
        file.lock()?;
        Ok(file)
    }

    fn lock(&self) -> Result<()> {
        match self.file.try_lock() {
            Err(TryLockError::WouldBlock) => {
                self.name_error(Err(Error::new(ErrorKind::Denied, "another writer has the file open")))
            }
            // Write without a lock on file systems that have none.
            Ok(()) | Err(TryLockError::Error(_)) => Ok(()),
        }
    }

    fn with(path: &Path, options: &OpenOptions) -> Result<Self> {
        let name: Arc<str> = path.to_string_lossy().into();
        let open = || {
            let file = options.open(path)?;
            let opened = file.metadata()?;
            if opened.is_dir() {
                return Err(io::Error::from(io::ErrorKind::IsADirectory));
            }
            Ok((file, opened.len()))
        };
        match open() {
            Ok((file, opened_bytes)) => Ok(Self { file, name, opened_bytes }),
            Err(error) if error.kind() == io::ErrorKind::NotFound && name.contains("://") => {
                let words = "a URL is no file of this machine: what it names can be read, and not written";
                Err(Error::unsupported(words).in_file(name))
            }
            Err(error) => Err(Error::system("cannot open the file", error).in_file(name)),
        }
    }

    /// Cuts or extends the file to `bytes`.
    ///
    /// # Errors
    ///
    /// What the system reports.
    pub fn set_len(&self, bytes: u64) -> Result<()> {
        self.name_error(
            self.file.set_len(bytes).map_err(|error| Error::system("cannot set the length of the file", error)),
        )
    }

    fn name_error<T>(&self, result: Result<T>) -> Result<T> {
        result.map_err(|error| error.in_file(self.name.clone()))
    }

    /// The current length: a file being written may grow, but a truncated one has changed.
    fn now_bytes(&self) -> Result<u64> {
        let now =
            self.file.metadata().map_err(|error| Error::system("cannot read the status of the file", error))?.len();
        if now < self.opened_bytes {
            return Err(changed_error(self.opened_bytes, now));
        }
        Ok(now)
    }

    fn read(&self, ranges: &[ByteRange], into: &mut dyn Receive) -> Result<()> {
        check_ranges(ranges, self.now_bytes()?)?;
        // A single range is read immediately; announcing it would only cost a call.
        let ahead = if ranges.len() > 1 { AHEAD_RANGES } else { 0 };
        for range in ranges.iter().take(ahead) {
            self.announce(range);
        }
        for (index, range) in ranges.iter().enumerate() {
            if into.stopped() {
                return Err(stopped());
            }
            if let Some(next) = ranges.get(index + ahead).filter(|_| ahead > 0) {
                self.announce(next);
            }
            let bytes = self.read_one(range, |bytes| into.buffer(bytes))?;
            if into.deliver(index, bytes) == Flow::Stop {
                return Err(stopped());
            }
        }
        Ok(())
    }

    /// Reads a range that was checked to be within the file.
    fn read_one(&self, range: &ByteRange, buffer: impl FnOnce(usize) -> bytes::BytesMut) -> Result<bytes::Bytes> {
        let length = usize::try_from(range.end - range.start)
            .map_err(|_| Error::limit("a range is longer than memory", usize::MAX as u64, range.end - range.start))?;
        let mut buffer = buffer(length);
        buffer.resize(length, 0);
        self.file.read_exact_at(&mut buffer, range.start).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => match self.now_bytes() {
                Err(error) => error,
                Ok(now) => changed_error(range.end, now),
            },
            _ => Error::system("cannot read", error).at(range.start),
        })?;
        Ok(buffer.freeze())
    }

    /// Tells the kernel that a range will be read soon, so that it fetches several at once.
    fn announce(&self, range: &ByteRange) {
        #[cfg(target_os = "linux")]
        if let Some(bytes) = std::num::NonZeroU64::new(range.end - range.start) {
            // Advice only: a file system that cannot take it reads when asked.
            let _ = rustix::fs::fadvise(&self.file, range.start, Some(bytes), rustix::fs::Advice::WillNeed);
        }
        #[cfg(not(target_os = "linux"))]
        let _ = range;
    }

    /// Copies inside the kernel; returns how many bytes, which are fewer where the kernel cannot.
    #[cfg(target_os = "linux")]
    fn copy_in_kernel(&self, offset: u64, from: &File, range: &ByteRange) -> io::Result<u64> {
        let (mut from_at, mut to_at) = (range.start, offset);
        while from_at < range.end {
            let bytes = usize::try_from(range.end - from_at).unwrap_or(usize::MAX);
            match rustix::fs::copy_file_range(from, Some(&mut from_at), &self.file, Some(&mut to_at), bytes) {
                Ok(0) => break,
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                // Across file systems, for overlapping ranges, on old kernels: fall back to reading and writing.
                Err(rustix::io::Errno::NOSPC) => return Err(rustix::io::Errno::NOSPC.into()),
                Err(_) => break,
            }
        }
        Ok(from_at - range.start)
    }
}

/// Writes parts one after the other from an offset on, by a call that may write fewer bytes, or none where a signal
/// arrives before the first.
fn write_parts(
    mut offset: u64,
    parts: &[IoSlice<'_>],
    mut call: impl FnMut(&[IoSlice<'_>], u64) -> rustix::io::Result<usize>,
) -> io::Result<()> {
    let (mut parts, mut done) = (parts, 0);
    let mut together = Vec::with_capacity(parts.len().min(PARTS_A_CALL));
    while let Some((first, others)) = parts.split_first() {
        let Some(rest) = first.get(done..).filter(|rest| !rest.is_empty()) else {
            (parts, done) = (others, 0);
            continue;
        };
        // Each call but the first begins at a multiple of so many bytes.
        let mut room = WRITE_BYTES - (offset % WRITE_BYTES as u64) as usize;
        together.clear();
        for part in std::iter::once(rest).chain(others.iter().map(|part| &**part)).take(PARTS_A_CALL) {
            let part = &part[..part.len().min(room)];
            room -= part.len();
            together.push(IoSlice::new(part));
            if room == 0 {
                break;
            }
        }
        let mut written = match rustix::io::retry_on_intr(|| call(&together, offset))? {
            0 => return Err(io::ErrorKind::WriteZero.into()),
            written => written,
        };
        offset += written as u64;
        while let Some((first, others)) = parts.split_first().filter(|_| written > 0) {
            let of_first = written.min(first.len() - done);
            (written, done) = (written - of_first, done + of_first);
            if done == first.len() {
                (parts, done) = (others, 0);
            }
        }
    }
    Ok(())
}

/// The error for a file that is not there, with names of files beside it that look alike.
fn missing(path: &Path, error: Error) -> Error {
    /// Of larger folders only so many are compared.
    const MOST_NAMES: usize = 20_000;
    let Some(wanted) = path.file_name().map(|name| name.to_string_lossy()) else { return error };
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // What the system said is the same in other words.
    let none = Error::not_found("no such file");
    let error = match std::fs::read_dir(folder) {
        Ok(beside) => {
            let names: Vec<_> = beside
                .take(MOST_NAMES)
                .filter_map(|entry| Some(entry.ok()?.file_name().to_string_lossy().into_owned()))
                .collect();
            none.with_nearest(&wanted, names.iter().map(|name| &**name))
        }
        Err(_) => none.in_words(format!("no such file; there is no folder {:?}", folder.display().to_string())),
    };
    error.in_file(path.to_string_lossy().into_owned())
}

/// Explains why a file could not be created: a missing folder, if that is the cause.
pub(super) fn not_made(path: &Path, error: Error) -> Error {
    match path.parent() {
        Some(folder) if error.kind() == ErrorKind::NotFound && !folder.as_os_str().is_empty() && !folder.exists() => {
            let words = format!("there is no folder {}", folder.display());
            Error::new(ErrorKind::NotFound, words).in_file(path.to_string_lossy())
        }
        _ => error,
    }
}

/// The error for a file that was truncated.
fn changed_error(expected: u64, found: u64) -> Error {
    Error::new(ErrorKind::Changed, "the file was cut short while it was open").wanted(expected, found)
}

impl Drop for LocalFile {
    fn drop(&mut self) {
        // Unlock explicitly: a process forked meanwhile would keep the lock.
        self.release();
    }
}

impl Store for LocalFile {
    fn ends(&self, head_bytes: usize, tail_bytes: usize) -> Result<Ends> {
        let read = || {
            let now =
                self.file.metadata().map_err(|error| Error::system("cannot read the status of the file", error))?;
            let len = self.now_bytes()?;
            // Written again, or replaced within the clock's resolution: any of these gives another validator.
            let validator = format!("{}.{:09}-{}-{}", now.mtime(), now.mtime_nsec(), now.ino(), len);
            let head = self.read_one(&(0..len.min(head_bytes as u64)), bytes::BytesMut::zeroed)?;
            let tail = self.read_one(&(len - len.min(tail_bytes as u64)..len), bytes::BytesMut::zeroed)?;
            let identity = Identity { name: self.name.clone(), len, validator: Some(validator.into()) };
            Ok(Ends { identity, head, tail })
        };
        self.name_error(read())
    }

    fn read_ranges(&self, ranges: &[ByteRange], into: &mut dyn Receive) -> Result<()> {
        if ranges.is_empty() {
            return Ok(());
        }
        self.name_error(self.read(ranges, into))
    }

    fn profile(&self) -> Profile {
        Profile::NEAR
    }

    fn as_file(&self) -> Option<&File> {
        Some(&self.file)
    }
}

impl Sink for LocalFile {
    fn write_at(&self, offset: u64, parts: &[IoSlice<'_>]) -> Result<()> {
        let bytes: u64 = parts.iter().map(|part| part.len() as u64).sum();
        if offset.checked_add(bytes).is_none_or(|end| i64::try_from(end).is_err()) {
            return self.name_error(Err(Error::limit("an offset has 63 bits", i64::MAX as u64, offset).at(offset)));
        }
        let written = write_parts(offset, parts, |parts, at| rustix::io::pwritev(&self.file, parts, at));
        self.name_error(written.map_err(|error| Error::system("cannot write", error).at(offset)))
    }

    fn copy_at(&self, offset: u64, from: &dyn Store, range: ByteRange) -> Result<()> {
        check_ranges(std::slice::from_ref(&range), u64::MAX)?;
        #[cfg(target_os = "linux")]
        let done = match from.as_file() {
            Some(file) => self.name_error(
                self.copy_in_kernel(offset, file, &range).map_err(|error| Error::system("cannot copy", error)),
            )?,
            None => 0,
        };
        #[cfg(not(target_os = "linux"))]
        let done = 0;
        if done == range.end - range.start {
            return Ok(());
        }
        copy_by_reading(self, offset + done, from, range.start + done..range.end)
    }

    fn cut_at(&self, bytes: u64) -> Result<()> {
        self.set_len(bytes)
    }

    fn release(&self) {
        let _ = self.file.unlock();
    }

    fn sync(&self) -> Result<()> {
        // The data and what is needed to find it again (its length), but not the times.
        self.name_error(self.file.sync_data().map_err(|error| Error::system("cannot sync the file to storage", error)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::{MemoryStore, load};

    /// A path of this test alone, removed at its end.
    struct Scrap(std::path::PathBuf);

    impl Scrap {
        fn new(name: &str) -> Self {
            Self(std::env::temp_dir().join(format!("sapwood-{}-{name}", std::process::id())))
        }
    }

    impl Drop for Scrap {
        fn drop(&mut self) {
            let _ = std::fs::remove_file(&self.0);
        }
    }

    #[test]
    fn writes_go_on_after_signals_and_short_writes() {
        let mut disk: Vec<u8> = Vec::new();
        let mut turn = 0;
        let mut call = |parts: &[IoSlice<'_>], at: u64| {
            turn += 1;
            assert!(parts.len() <= PARTS_A_CALL && at == disk.len() as u64, "call {turn}");
            if turn % 2 == 1 {
                return Err(rustix::io::Errno::INTR);
            }
            let all: Vec<u8> = parts.iter().flat_map(|part| part.iter().copied()).collect();
            let done = all.len().min(turn);
            disk.extend(&all[..done]);
            Ok(done)
        };
        let parts: Vec<Vec<u8>> = (0..40).map(|part| vec![part; usize::from(part) % 7]).collect();
        let slices: Vec<IoSlice<'_>> = parts.iter().map(|part| IoSlice::new(part)).collect();
        write_parts(0, &slices, &mut call).unwrap();
        assert_eq!(disk, parts.concat());
        let large: Vec<Vec<u8>> = [3 * WRITE_BYTES, 5, 0, WRITE_BYTES].iter().map(|&len| vec![7; len]).collect();
        let (mut at, mut sizes) = (100, Vec::new());
        let slices_of_large: Vec<IoSlice<'_>> = large.iter().map(|part| IoSlice::new(part)).collect();
        let whole_calls = |parts: &[IoSlice<'_>], offset: u64| {
            assert_eq!(std::mem::replace(&mut at, offset), offset);
            sizes.push(parts.iter().map(|part| part.len()).sum::<usize>());
            at += sizes.last().map_or(0, |&size| size as u64);
            Ok(at as usize - offset as usize)
        };
        write_parts(100, &slices_of_large, whole_calls).unwrap();
        assert_eq!(sizes, [WRITE_BYTES - 100, WRITE_BYTES, WRITE_BYTES, WRITE_BYTES, 105]);
        let full = write_parts(0, &slices, |_, _| Ok(0)).unwrap_err();
        assert_eq!(full.kind(), io::ErrorKind::WriteZero);
        let gone = write_parts(0, &slices, |_, _| Err(rustix::io::Errno::IO)).unwrap_err();
        assert_eq!(gone.raw_os_error(), Some(rustix::io::Errno::IO.raw_os_error()));
    }

    #[test]
    fn a_file_that_is_cut_short_is_an_error_not_a_signal() {
        let scrap = Scrap::new("cut");
        std::fs::write(&scrap.0, vec![1; 10_000]).unwrap();
        let store = LocalFile::open(&scrap.0).unwrap();
        assert_eq!(load(&store, &[9_000..10_000]).unwrap()[0].len(), 1_000);
        OpenOptions::new().write(true).open(&scrap.0).unwrap().set_len(5_000).unwrap();
        for range in [9_000..10_000, 4_900..5_100, 0..10] {
            let error = load(&store, &[range]).unwrap_err();
            assert_eq!((error.kind(), error.place().found), (ErrorKind::Changed, Some(5_000)));
            assert!(error.place().file.is_some());
        }
        assert_eq!(store.ends(1, 1).unwrap_err().kind(), ErrorKind::Changed);
    }

    #[test]
    fn a_file_that_grows_is_read_as_it_is_now() {
        let scrap = Scrap::new("grow");
        let file = LocalFile::create(&scrap.0).unwrap();
        assert_eq!(load(&file, &[0..1]).unwrap_err().kind(), ErrorKind::Malformed);
        let before = file.ends(4, 4).unwrap();
        assert_eq!((before.identity.len, before.head.len(), before.tail.len()), (0, 0, 0));
        file.write_at(0, &[IoSlice::new(b"abc")]).unwrap();
        let after = file.ends(2, 2).unwrap();
        assert_eq!((&after.head[..], &after.tail[..]), (&b"ab"[..], &b"bc"[..]));
        assert_ne!(before.identity, after.identity);
    }

    #[test]
    fn parts_beyond_the_limit_of_a_call_are_written() {
        let scrap = Scrap::new("parts");
        let file = LocalFile::create(&scrap.0).unwrap();
        let content: Vec<u8> = (0..5_000_u32).map(|i| (i % 251) as u8).collect();
        let parts: Vec<_> = content.chunks(2).map(IoSlice::new).collect();
        assert!(parts.len() > 2 * PARTS_A_CALL);
        file.write_at(7, &parts).unwrap();
        file.write_at(0, &[]).unwrap();
        file.write_at(0, &[IoSlice::new(b"1234567")]).unwrap();
        file.sync().unwrap();
        let written = std::fs::read(&scrap.0).unwrap();
        assert_eq!((&written[..7], &written[7..]), (&b"1234567"[..], &content[..]));
        assert_eq!(file.write_at(u64::MAX, &[IoSlice::new(b"x")]).unwrap_err().kind(), ErrorKind::Limit);
    }

    #[test]
    fn copies_are_the_same_from_a_file_and_from_memory() {
        let (source, target) = (Scrap::new("source"), Scrap::new("target"));
        let content: Vec<u8> = (0..5_000_000_u32).map(|i| (i / 77) as u8).collect();
        std::fs::write(&source.0, &content).unwrap();
        let stores: [Box<dyn Store>; 2] =
            [Box::new(LocalFile::open(&source.0).unwrap()), Box::new(MemoryStore::new("x", content.clone()))];
        for store in stores {
            let file = LocalFile::create(&target.0).unwrap();
            file.copy_at(3, &*store, 11..5_000_000).unwrap();
            assert!(std::fs::read(&target.0).unwrap()[3..] == content[11..]);
            let beyond = file.copy_at(0, &*store, 4_999_990..5_000_001).unwrap_err();
            assert_eq!(beyond.kind(), ErrorKind::Malformed);
        }
    }

    #[test]
    fn what_cannot_be_opened_says_why_and_which() {
        let scrap = Scrap::new("none");
        let error = LocalFile::open(&scrap.0).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound);
        assert!(error.place().file.as_deref().is_some_and(|name| name.ends_with("-none")));
        let folder = std::env::temp_dir().join(format!("sapwood-near-{}", std::process::id()));
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(folder.join("events.root"), "x").unwrap();
        let error = LocalFile::find(folder.join("evnets.root")).unwrap_err();
        assert_eq!((error.kind(), error.message()), (ErrorKind::NotFound, "no such file; nearest: \"events.root\""));
        let error = LocalFile::find(folder.join("none/x.root")).unwrap_err();
        assert!(error.message().starts_with("no such file; there is no folder"), "{error}");
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(LocalFile::open(std::env::temp_dir()).is_err());
        std::fs::write(&scrap.0, "x").unwrap();
        assert_eq!(LocalFile::create_new(&scrap.0).unwrap_err().kind(), ErrorKind::Exists);
    }
}
