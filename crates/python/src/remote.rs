//! Files that Python reads: whatever fsspec has a file system for.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use sapwood::io::{ByteRange, Ends, Flow, Identity, Profile, Receive, Store, check_ranges};
use sapwood::{Error, ErrorKind, Result};
use sapwood_store::LinkStats;

use crate::drop_in_thread::DropInThread;
use crate::errors::with_python;

/// What one call asks for at most: nothing of it is there before all is.
const CALL_BYTES: u64 = 64 << 20;
/// Ranges of one call, where the file system has several on their way at a time.
const RANGES: usize = 128;
/// A call for so little, such as for both ends of a file, says how long a round trip takes.
const LITTLE_BYTES: u64 = 128 << 10;
/// How often it is looked whether the file is what it was.
const LOOKED: Duration = Duration::from_secs(1);

/// A file that a `sapwood._remote.filesystems.Remote` reads, many ranges in one call.
pub(crate) struct RemoteStore {
    remote: DropInThread<Py<PyAny>>,
    name: Arc<str>,
    /// Whether several ranges of a call are on their way at a time.
    vectors: bool,
    link_stats: LinkStats,
    /// What the file was when it was opened.
    known: OnceLock<Identity>,
    looked: Mutex<Instant>,
}

/// One of the parts that a call gave.
struct Part {
    parts: Arc<DropInThread<Vec<PyBackedBytes>>>,
    index: usize,
}

impl AsRef<[u8]> for Part {
    fn as_ref(&self) -> &[u8] {
        self.parts.get(self.index).map_or(&[], |part| part)
    }
}

impl RemoteStore {
    /// A store for the file, and the name by which a cache should know it. Nothing is asked of the file system before
    /// the first read.
    pub(crate) fn new(remote: &Bound<'_, PyAny>) -> PyResult<(Self, String)> {
        let name: String = remote.getattr("name")?.extract()?;
        let store = Self {
            remote: DropInThread::new(remote.clone().unbind()),
            name: name.into(),
            vectors: remote.getattr("vectors")?.extract()?,
            link_stats: LinkStats::new(),
            known: OnceLock::new(),
            looked: Mutex::new(Instant::now()),
        };
        Ok((store, remote.getattr("cache_name")?.extract()?))
    }

    fn name_error<T>(&self, result: Result<T>) -> Result<T> {
        result.map_err(|error| error.in_file(Arc::clone(&self.name)))
    }

    /// Asks what the file is now. `again` bypasses what was remembered.
    fn look(&self, again: bool) -> Result<Identity> {
        let (len, validator): (u64, Option<String>) =
            with_python(|py| self.remote.bind(py).call_method1("state", (again,))?.extract())?;
        *self.looked.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        let name = Arc::clone(&self.name);
        let found = Identity { name, len, validator: validator.map(Into::into) };
        let known = self.known.get_or_init(|| found.clone());
        if *known == found {
            return Ok(found);
        }
        let error = Error::new(ErrorKind::Changed, "the file has changed since it was opened");
        Err(if known.len == found.len { error } else { error.wanted(known.len, found.len) })
    }

    fn known(&self) -> Result<Identity> {
        self.known.get().map_or_else(|| self.look(false), |known| Ok(known.clone()))
    }

    /// Whether it is time to look at the file again.
    fn is_due(&self) -> bool {
        self.looked.lock().unwrap_or_else(PoisonError::into_inner).elapsed() >= LOOKED
    }

    /// Bytes of ranges that are inside and not empty, in one call.
    fn fetch(&self, ranges: &[ByteRange]) -> Result<Vec<Bytes>> {
        let began = Instant::now();
        let starts: Vec<u64> = ranges.iter().map(|range| range.start).collect();
        let ends: Vec<u64> = ranges.iter().map(|range| range.end).collect();
        let parts: Vec<PyBackedBytes> =
            with_python(|py| self.remote.bind(py).call_method1("read", (starts, ends))?.extract())?;
        self.measure(ranges, began.elapsed());
        if parts.len() != ranges.len() {
            let error = Error::mismatch("the file system gave another number of ranges than it was asked for");
            return Err(error.wanted(ranges.len() as u64, parts.len() as u64));
        }
        for (range, part) in ranges.iter().zip(&parts) {
            let (wanted, found) = (range.end - range.start, part.len() as u64);
            if wanted != found {
                // A file that became shorter is the likely reason, and the better words.
                self.look(true)?;
                let error =
                    Error::new(ErrorKind::Io, "the file system gave another number of bytes than it was asked for");
                return Err(error.at(range.start).wanted(wanted, found));
            }
        }
        if self.is_due() {
            self.look(true)?;
        }
        let parts = Arc::new(DropInThread::new(parts));
        let part = |index| Bytes::from_owner(Part { parts: Arc::clone(&parts), index });
        Ok((0..ranges.len()).map(part).collect())
    }

    /// A call took so long. The time of its first byte is not known: short calls show the latency, long ones the
    /// throughput.
    fn measure(&self, ranges: &[ByteRange], took: Duration) {
        let bytes: u64 = ranges.iter().map(|range| range.end - range.start).sum();
        let trips = if self.vectors { 1 } else { u32::try_from(ranges.len()).unwrap_or(u32::MAX).max(1) };
        if bytes <= LITTLE_BYTES {
            self.link_stats.answered_in(took / trips);
        } else {
            let waited = Duration::from_nanos(self.link_stats.latency_ns()).saturating_mul(trips);
            self.link_stats.flowed(bytes, took.saturating_sub(waited));
        }
    }

    fn read(&self, ranges: &[ByteRange], into: &mut dyn Receive) -> Result<()> {
        check_ranges(ranges, self.known()?.len)?;
        let stopped = || Error::new(ErrorKind::Cancelled, "the receiver stopped the read");
        let mut rest: Vec<(usize, ByteRange)> = Vec::with_capacity(ranges.len());
        for (index, range) in ranges.iter().enumerate() {
            if range.start < range.end {
                rest.push((index, range.clone()));
            } else if into.stopped() || into.deliver(index, Bytes::new()) == Flow::Stop {
                return Err(stopped());
            }
        }
        let mut rest = &rest[..];
        while !rest.is_empty() {
            if into.stopped() {
                return Err(stopped());
            }
            let mut bytes = 0_u64;
            let fits = |(_, range): &&(usize, ByteRange)| {
                bytes = bytes.saturating_add(range.end - range.start);
                bytes <= CALL_BYTES
            };
            let count = rest.iter().take_while(fits).count().max(1);
            let (now, later) = rest.split_at(count);
            let wanted: Vec<ByteRange> = now.iter().map(|(_, range)| range.clone()).collect();
            for ((index, _), part) in now.iter().zip(self.fetch(&wanted)?) {
                if into.stopped() || into.deliver(*index, part) == Flow::Stop {
                    return Err(stopped());
                }
            }
            rest = later;
        }
        Ok(())
    }

    fn both_ends(&self, head: usize, tail: usize) -> Result<Ends> {
        let identity = self.look(false)?;
        let all = usize::try_from(identity.len).unwrap_or(usize::MAX);
        let (head, tail) = (head.min(all) as u64, tail.min(all) as u64);
        // Ends that meet are one range.
        let tail_at = identity.len - tail;
        let ranges = if head >= tail_at { vec![0..identity.len] } else { vec![0..head, tail_at..identity.len] };
        let wanted: Vec<ByteRange> = ranges.iter().filter(|range| !range.is_empty()).cloned().collect();
        let mut parts = if wanted.is_empty() { Vec::new() } else { self.fetch(&wanted)? }.into_iter();
        let mut part =
            |range: &ByteRange| if range.is_empty() { Bytes::new() } else { parts.next().unwrap_or_default() };
        let ends: Vec<Bytes> = ranges.iter().map(&mut part).collect();
        let (head, tail) = match &ends[..] {
            // As long as the file is, or the fetch had failed.
            [whole] => (whole.slice(..head as usize), whole.slice(tail_at as usize..)),
            [head, tail] => (head.clone(), tail.clone()),
            _ => (Bytes::new(), Bytes::new()),
        };
        Ok(Ends { identity, head, tail })
    }
}

impl Store for RemoteStore {
    fn ends(&self, head_bytes: usize, tail_bytes: usize) -> Result<Ends> {
        self.name_error(self.both_ends(head_bytes, tail_bytes))
    }

    fn read_ranges(&self, ranges: &[ByteRange], into: &mut dyn Receive) -> Result<()> {
        self.name_error(self.read(ranges, into))
    }

    fn profile(&self) -> Profile {
        Profile {
            latency_ns: self.link_stats.latency_ns(),
            bandwidth_bytes: self.link_stats.bandwidth_bytes(),
            request_bytes: 16 << 20,
            // One after another: each costs a round trip.
            ranges: if self.vectors { RANGES } else { 1 },
            parallel: 1,
        }
    }
}

/// A store, and another one in its place where it turns out, at the first look, that it does not do.
pub(crate) struct Otherwise<F> {
    first: Arc<dyn Store>,
    /// Makes the other one, or the error that stands.
    other: F,
    chosen: OnceLock<Arc<dyn Store>>,
}

impl<F: Fn(Error) -> Result<Arc<dyn Store>> + Send + Sync + 'static> Otherwise<F> {
    pub(crate) fn new(first: Arc<dyn Store>, other: F) -> Self {
        Self { first, other, chosen: OnceLock::new() }
    }

    fn store(&self) -> &Arc<dyn Store> {
        self.chosen.get().unwrap_or(&self.first)
    }
}

impl<F: Fn(Error) -> Result<Arc<dyn Store>> + Send + Sync + 'static> Store for Otherwise<F> {
    fn ends(&self, head_bytes: usize, tail_bytes: usize) -> Result<Ends> {
        match self.store().ends(head_bytes, tail_bytes) {
            Err(error) if self.chosen.get().is_none() => {
                let other = (self.other)(error)?;
                self.chosen.get_or_init(|| other).ends(head_bytes, tail_bytes)
            }
            ends => ends,
        }
    }

    fn read_ranges(&self, ranges: &[ByteRange], into: &mut dyn Receive) -> Result<()> {
        self.store().read_ranges(ranges, into)
    }

    fn profile(&self) -> Profile {
        self.store().profile()
    }

    fn as_file(&self) -> Option<&std::fs::File> {
        self.store().as_file()
    }
}
