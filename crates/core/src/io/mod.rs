//! BYTES: stores to read from and sinks to write to. Independent of ROOT's format.
//!
//! A [`Store`] is read by vectors of ranges and in no other way, so that no caller can forget to ask for many at once.
//! `coalesce` merges wanted pieces into requests, a `Fetcher` reads those ahead in threads of its own.

mod atomic_file;
mod coalesce;
mod fetch;
mod joined;
mod local;
mod memory;
mod recording;

use std::fs::File;
use std::io::IoSlice;
use std::ops::Range;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};

use crate::{Error, ErrorKind, Result};

pub use atomic_file::{AtomicFile, Destination};
pub(crate) use coalesce::runs;
#[doc(hidden)]
pub use coalesce::{Piece, PieceId, Request, Want, coalesce};
#[doc(hidden)]
pub use fetch::{Arrival, Fetcher, Ticket};
pub use joined::OtherFiles;
#[doc(hidden)]
pub use joined::own_offset;
pub(crate) use joined::{Joined, offset_in};
pub use local::LocalFile;
pub use memory::{MemorySink, MemoryStore};
pub use recording::{Call, Recorded};

/// Bytes of a store, from the first to before the last.
pub type ByteRange = Range<u64>;

/// Which bytes a store has: two that differ here may not share cached bytes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Identity {
    /// File name or URL.
    pub name: Arc<str>,
    /// Length in bytes.
    pub len: u64,
    /// A validator that changes when the bytes do: ETag, modification time, version. None if the store has none.
    pub validator: Option<Arc<str>>,
}

/// Identity and both ends of a store.
#[derive(Clone, Debug)]
pub struct Ends {
    /// Name, length, validator.
    pub identity: Identity,
    /// The first bytes: as many as were asked for, or all.
    pub head: Bytes,
    /// The last bytes: as many as were asked for, or all. Overlaps the head where the store is short.
    pub tail: Bytes,
}

impl Ends {
    /// The ranges of head and tail.
    pub(crate) fn ranges(&self) -> Vec<ByteRange> {
        let len = self.identity.len;
        vec![0..self.head.len() as u64, len.saturating_sub(self.tail.len() as u64)..len]
    }
}

/// The performance profile of a store. Stores measure while they work, so it may change over time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Profile {
    /// From sending a request to its first byte.
    pub latency_ns: u64,
    /// Bandwidth in bytes per second.
    pub bandwidth_bytes: u64,
    /// The most bytes that a request should ask for.
    pub request_bytes: u64,
    /// The most ranges that a request may have.
    pub ranges: usize,
    /// How many requests are on their way at a time: a round trip is shared by so many.
    pub parallel: usize,
}

impl Profile {
    /// The profile of local files: that of a solid-state disk with cold caches. It answers within 0.1 ms; from the page
    /// cache everything is faster, with any pattern. A contiguous cluster is one call.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::io::{LocalFile, Profile, Store};
    /// # let path = std::env::temp_dir().join(format!("sapwood-doc-near-{}", std::process::id()));
    /// assert_eq!(LocalFile::create(&path)?.profile(), Profile::NEAR);
    /// # std::fs::remove_file(path)?;
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub const NEAR: Self =
        Self { latency_ns: 100_000, bandwidth_bytes: 2 << 30, request_bytes: 32 << 20, ranges: 16, parallel: 1 };
}

/// Whether to continue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// Continue.
    Go,
    /// Stop soon; the caller wants no more.
    Stop,
}

/// Receives what a store reads.
///
/// # Example
///
/// ```
/// use bytes::{Bytes, BytesMut};
/// use sapwood::io::{Flow, MemoryStore, Receive, Store};
///
/// /// Adds up the bytes that arrive.
/// struct Sum(u64);
///
/// impl Receive for Sum {
///     fn buffer(&self, bytes: usize) -> BytesMut {
///         BytesMut::zeroed(bytes)
///     }
///     fn deliver(&mut self, _index: usize, bytes: Bytes) -> Flow {
///         self.0 += bytes.iter().map(|&byte| u64::from(byte)).sum::<u64>();
///         Flow::Go
///     }
///     fn stopped(&self) -> bool {
///         false
///     }
/// }
///
/// let mut sum = Sum(0);
/// MemoryStore::new("numbers", vec![1, 2, 3]).read_ranges(&[0..2, 2..3], &mut sum)?;
/// assert_eq!(sum.0, 6);
/// # Ok::<(), sapwood::Error>(())
/// ```
pub trait Receive {
    /// A buffer of exactly `bytes`, initialised, with arbitrary content. A store that has its bytes in memory already
    /// needs none and delivers slices.
    fn buffer(&self, bytes: usize) -> BytesMut;

    /// Takes the range number `index`: each once, whole, in any order, as soon as it is there.
    fn deliver(&mut self, index: usize, bytes: Bytes) -> Flow;

    /// Polled by the store while it waits: true once a cancellation or a deadline makes the result useless.
    fn stopped(&self) -> bool;
}

/// Bytes to read. Every implementation passes the contract suite of the testkit.
///
/// # Example
///
/// ```
/// use sapwood::io::{ByteRange, Ends, MemoryStore, Profile, Receive, Store, load};
///
/// /// A store that passes everything on.
/// struct Passing(MemoryStore);
///
/// impl Store for Passing {
///     fn ends(&self, head_bytes: usize, tail_bytes: usize) -> sapwood::Result<Ends> {
///         self.0.ends(head_bytes, tail_bytes)
///     }
///     fn read_ranges(&self, ranges: &[ByteRange], into: &mut dyn Receive) -> sapwood::Result<()> {
///         self.0.read_ranges(ranges, into)
///     }
///     fn profile(&self) -> Profile {
///         self.0.profile()
///     }
/// }
///
/// let store = Passing(MemoryStore::new("greeting", "hello world"));
/// assert_eq!(load(&store, &[6..11])?[0][..], *b"world");
/// assert!(store.as_file().is_none());
/// # Ok::<(), sapwood::Error>(())
/// ```
pub trait Store: Send + Sync + 'static {
    /// Identity, the first `head_bytes` and the last `tail_bytes`, in one round trip. A shorter store returns what it
    /// has.
    ///
    /// # Errors
    ///
    /// What the medium reports.
    fn ends(&self, head_bytes: usize, tail_bytes: usize) -> Result<Ends>;

    /// Reads ranges and delivers each once, whole, in any order; an empty range is delivered empty. Blocks until all
    /// are delivered, the receiver stops, or something fails. Ranges may overlap, repeat and be in any order.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Malformed`], before anything is allocated or delivered, if a range reaches outside of the store;
    /// [`ErrorKind::Changed`] if the store has changed since it was opened; [`ErrorKind::Cancelled`] if the receiver
    /// stopped; else what the medium reports. Ranges that were delivered before stay valid.
    fn read_ranges(&self, ranges: &[ByteRange], into: &mut dyn Receive) -> Result<()>;

    /// The performance profile of this store.
    fn profile(&self) -> Profile;

    /// The file behind it, for copies inside the kernel. None if there is none.
    fn as_file(&self) -> Option<&File> {
        None
    }
}

/// Bytes to write.
///
/// # Example
///
/// ```
/// # let path = sapwood_testkit::scratch("sink.txt");
/// use std::io::IoSlice;
/// use sapwood::io::{LocalFile, MemoryStore, Sink};
/// let sink = LocalFile::create(&path)?;
/// sink.write_at(0, &[IoSlice::new(b"hello "), IoSlice::new(b"there")])?;
/// sink.copy_at(6, &MemoryStore::new("other", "the world"), 4..9)?;
/// sink.cut_at(11)?;
/// sink.sync()?;
/// sink.release();
/// assert_eq!(std::fs::read(&path)?, b"hello world");
/// # Ok::<(), sapwood::Error>(())
/// ```
pub trait Sink: Send + Sync + 'static {
    /// Writes `parts` one after another from `offset` on. Calls from several threads do not interfere unless their
    /// bytes overlap.
    ///
    /// # Errors
    ///
    /// What the medium reports. How much was written is unknown then.
    fn write_at(&self, offset: u64, parts: &[IoSlice<'_>]) -> Result<()>;

    /// Copies a range of a store to `offset`, inside the kernel where that is possible.
    ///
    /// # Errors
    ///
    /// Those of [`Store::read_ranges`] and [`write_at`](Self::write_at).
    fn copy_at(&self, offset: u64, from: &dyn Store, range: ByteRange) -> Result<()> {
        copy_by_reading(self, offset, from, range)
    }

    /// Truncates to `bytes`, if the medium can: what was written after that is not needed.
    ///
    /// # Errors
    ///
    /// What the medium reports.
    fn cut_at(&self, _bytes: u64) -> Result<()> {
        Ok(())
    }

    /// Releases the lock for other writers: nothing more is written, even if the sink is still alive.
    fn release(&self) {}

    /// Returns when all that was written is on storage.
    ///
    /// # Errors
    ///
    /// What the medium reports.
    fn sync(&self) -> Result<()>;
}

impl<S: Store + ?Sized> Store for Arc<S> {
    fn ends(&self, head_bytes: usize, tail_bytes: usize) -> Result<Ends> {
        (**self).ends(head_bytes, tail_bytes)
    }

    fn read_ranges(&self, ranges: &[ByteRange], into: &mut dyn Receive) -> Result<()> {
        (**self).read_ranges(ranges, into)
    }

    fn profile(&self) -> Profile {
        (**self).profile()
    }

    fn as_file(&self) -> Option<&File> {
        (**self).as_file()
    }
}

impl<S: Sink + ?Sized> Sink for Arc<S> {
    fn write_at(&self, offset: u64, parts: &[IoSlice<'_>]) -> Result<()> {
        (**self).write_at(offset, parts)
    }

    fn copy_at(&self, offset: u64, from: &dyn Store, range: ByteRange) -> Result<()> {
        (**self).copy_at(offset, from, range)
    }

    fn cut_at(&self, bytes: u64) -> Result<()> {
        (**self).cut_at(bytes)
    }

    fn release(&self) {
        (**self).release();
    }

    fn sync(&self) -> Result<()> {
        (**self).sync()
    }
}

/// Reads ranges in the caller's thread and returns them in their order: for a few bytes, such as a record.
///
/// # Errors
///
/// Those of [`Store::read_ranges`].
///
/// # Example
///
/// ```
/// use sapwood::io::{MemoryStore, load};
/// let store = MemoryStore::new("greeting", "hello world");
/// assert_eq!(load(&store, &[6..11, 0..5])?, ["world", "hello"]);
/// assert!(load(&store, &[6..12]).is_err());
/// # Ok::<(), sapwood::Error>(())
/// ```
pub fn load(store: &dyn Store, ranges: &[ByteRange]) -> Result<Vec<Bytes>> {
    struct InOrder(Vec<Option<Bytes>>);

    impl Receive for InOrder {
        fn buffer(&self, bytes: usize) -> BytesMut {
            BytesMut::zeroed(bytes)
        }

        fn deliver(&mut self, index: usize, bytes: Bytes) -> Flow {
            if let Some(place) = self.0.get_mut(index) {
                *place = Some(bytes);
            }
            Flow::Go
        }

        fn stopped(&self) -> bool {
            false
        }
    }

    let mut into = InOrder(vec![None; ranges.len()]);
    store.read_ranges(ranges, &mut into)?;
    into.0.into_iter().map(|bytes| bytes.ok_or_else(left_out)).collect()
}

/// Compares ranges with the length of a store: for implementations, before they allocate.
///
/// # Errors
///
/// [`ErrorKind::Malformed`] with the offset of the first range that reaches outside or
/// ends before it starts.
///
/// # Example
///
/// ```
/// use sapwood::io::check_ranges;
/// assert!(check_ranges(&[0..5, 10..10], 10).is_ok());
/// assert!(check_ranges(&[0..5, 8..11], 10).is_err());
/// ```
pub fn check_ranges(ranges: &[ByteRange], store_bytes: u64) -> Result<()> {
    for range in ranges {
        if range.start > range.end {
            return Err(Error::malformed("a range ends before it starts").at(range.start));
        }
        if range.end > store_bytes {
            return Err(Error::malformed("a range reaches beyond the end of the file")
                .at(range.start)
                .wanted(store_bytes, range.end));
        }
    }
    Ok(())
}

/// The error of a read that its receiver stopped.
fn stopped() -> Error {
    Error::new(ErrorKind::Cancelled, "the reader wants no more")
}

/// The error of a store that breaks its contract.
fn left_out() -> Error {
    Error::mismatch("the store did not deliver what was asked for")
}

/// Copies in steps of a few MiB, each written as it arrives.
fn copy_by_reading<S: Sink + ?Sized>(sink: &S, offset: u64, from: &dyn Store, range: ByteRange) -> Result<()> {
    const STEP_BYTES: u64 = 4 << 20;

    struct Onward<'a, S: ?Sized> {
        sink: &'a S,
        offset: u64,
        outcome: Option<Result<()>>,
    }

    impl<S: Sink + ?Sized> Receive for Onward<'_, S> {
        fn buffer(&self, bytes: usize) -> BytesMut {
            BytesMut::zeroed(bytes)
        }

        fn deliver(&mut self, _: usize, bytes: Bytes) -> Flow {
            self.outcome = Some(self.sink.write_at(self.offset, &[IoSlice::new(&bytes)]));
            Flow::Go
        }

        fn stopped(&self) -> bool {
            false
        }
    }

    if range.start > range.end {
        check_ranges(&[range], u64::MAX)?;
        return Ok(());
    }
    let mut start = range.start;
    while start < range.end {
        let end = range.end.min(start.saturating_add(STEP_BYTES));
        let to = offset.checked_add(start - range.start);
        let to = to.ok_or_else(|| Error::limit("an offset has 64 bits", u64::MAX, u64::MAX).at(offset))?;
        let mut onward = Onward { sink, offset: to, outcome: None };
        from.read_ranges(&[start..end], &mut onward)?;
        onward.outcome.unwrap_or_else(|| Err(left_out()))?;
        start = end;
    }
    Ok(())
}
