//! A store that counts how it is read, for the live view.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use sapwood::Result;
use sapwood::io::{ByteRange, Ends, Profile, Receive, Store};

/// What was read so far.
#[derive(Debug, Default)]
pub(super) struct Counts {
    pub(super) requests: AtomicU64,
    pub(super) ranges: AtomicU64,
    pub(super) bytes: AtomicU64,
    /// Requests under way.
    pub(super) open: AtomicU64,
}

/// Passes calls on and counts them.
pub(super) struct Counted {
    pub(super) inner: Arc<dyn Store>,
    pub(super) counts: Arc<Counts>,
}

/// A request that is under way until this is dropped.
struct Open<'c>(&'c Counts);

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Counted {
    fn begin(&self) -> Open<'_> {
        self.counts.requests.fetch_add(1, Ordering::Relaxed);
        self.counts.open.fetch_add(1, Ordering::Relaxed);
        Open(&self.counts)
    }

    fn note(&self, ranges: &[ByteRange]) {
        let bytes = ranges.iter().map(|range| range.end.saturating_sub(range.start)).sum();
        self.counts.ranges.fetch_add(ranges.len() as u64, Ordering::Relaxed);
        self.counts.bytes.fetch_add(bytes, Ordering::Relaxed);
    }
}

impl Store for Counted {
    fn ends(&self, head_bytes: usize, tail_bytes: usize) -> Result<Ends> {
        let _open = self.begin();
        let ends = self.inner.ends(head_bytes, tail_bytes)?;
        let len = ends.identity.len;
        self.note(&[0..ends.head.len() as u64, len.saturating_sub(ends.tail.len() as u64)..len]);
        Ok(ends)
    }

    fn read_ranges(&self, ranges: &[ByteRange], into: &mut dyn Receive) -> Result<()> {
        let _open = self.begin();
        self.note(ranges);
        self.inner.read_ranges(ranges, into)
    }

    fn profile(&self) -> Profile {
        self.inner.profile()
    }

    fn as_file(&self) -> Option<&std::fs::File> {
        self.inner.as_file()
    }
}
