//! A store that records how it is read: the tests check the I/O pattern.

use std::fs::File;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::{ByteRange, Ends, Profile, Receive, Store};
use crate::Result;

/// One call of a store.
///
/// # Example
///
/// ```
/// use sapwood::io::{MemoryStore, Recorded, load};
/// let store = Recorded::new(MemoryStore::new("greeting", "hello world"));
/// load(&store, &[6..11, 0..5])?;
/// assert_eq!(store.take_calls()[0].bytes(), 10);
/// # Ok::<(), sapwood::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// The requested ranges; for [`Store::ends`] the head and the tail.
    pub ranges: Vec<ByteRange>,
    /// When it began, counted from the creation of the recorder.
    pub at: Duration,
    /// How long it took.
    pub took: Duration,
}

impl Call {
    /// Requested bytes.
    pub fn bytes(&self) -> u64 {
        self.ranges.iter().fold(0, |sum, range| sum.saturating_add(range.end.saturating_sub(range.start)))
    }
}

/// Forwards all calls and records them.
///
/// # Example
///
/// ```
/// use sapwood::io::{MemoryStore, Recorded, load};
/// let store = Recorded::new(MemoryStore::new("greeting", "hello world"));
/// load(&store, &[6..11, 0..5])?;
/// let calls = store.take_calls();
/// assert_eq!((calls.len(), calls[0].bytes()), (1, 10));
/// assert_eq!(calls[0].ranges, [6..11, 0..5]);
/// # Ok::<(), sapwood::Error>(())
/// ```
///
/// ```
/// use sapwood::io::{MemoryStore, Recorded, load};
/// let store = Recorded::new(MemoryStore::new("greeting", "hello world"));
/// load(&store, &[0..5])?;
/// assert_eq!(store.calls()[0].bytes(), 5);
/// # Ok::<(), sapwood::Error>(())
/// ```
#[derive(Debug)]
pub struct Recorded<S> {
    inner: S,
    since: Instant,
    /// The calls, each with when it began.
    calls: Mutex<Vec<(Instant, Call)>>,
}

impl<S: Store> Recorded<S> {
    /// Records the calls of `inner`, in the order in which they begin: a call is recorded before its bytes are
    /// delivered, though its duration may not be known yet.
    pub fn new(inner: S) -> Self {
        Self { inner, since: Instant::now(), calls: Mutex::default() }
    }

    /// The calls so far.
    pub fn calls(&self) -> Vec<Call> {
        self.locked().iter().map(|(_, call)| call.clone()).collect()
    }

    /// The calls since the last time, or since the beginning.
    pub fn take_calls(&self) -> Vec<Call> {
        self.locked().drain(..).map(|(_, call)| call).collect()
    }

    fn locked(&self) -> MutexGuard<'_, Vec<(Instant, Call)>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, ranges: Vec<ByteRange>, from: Instant) {
        let call = Call { ranges, at: from.duration_since(self.since), took: from.elapsed() };
        self.locked().push((from, call));
    }
}

impl<S: Store> Store for Recorded<S> {
    fn ends(&self, head_bytes: usize, tail_bytes: usize) -> Result<Ends> {
        let from = Instant::now();
        let ends = self.inner.ends(head_bytes, tail_bytes);
        if let Ok(ends) = &ends {
            self.note(ends.ranges(), from);
        }
        ends
    }

    fn read_ranges(&self, ranges: &[ByteRange], into: &mut dyn Receive) -> Result<()> {
        let from = Instant::now();
        self.note(ranges.to_vec(), from);
        let outcome = self.inner.read_ranges(ranges, into);
        // Equal calls that begin at the same instant are interchangeable.
        let same = |(began, call): &&mut (Instant, Call)| *began == from && call.ranges == ranges;
        if let Some((_, call)) = self.locked().iter_mut().rev().find(same) {
            call.took = from.elapsed();
        }
        outcome
    }

    fn profile(&self) -> Profile {
        self.inner.profile()
    }

    fn as_file(&self) -> Option<&File> {
        self.inner.as_file()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::{MemoryStore, load};

    #[test]
    fn calls_are_kept_with_what_they_asked_for() {
        let store = Recorded::new(MemoryStore::new("x", vec![1; 100]));
        store.ends(10, 20).unwrap();
        load(&store, &[5..7]).unwrap();
        load(&store, &[99..101]).unwrap_err();
        let ranges: Vec<_> = store.calls().into_iter().map(|call| call.ranges).collect();
        assert_eq!(ranges, [vec![0..10, 80..100], vec![5..7], vec![99..101]]);
        assert!(store.calls().is_sorted_by_key(|call| call.at));
        assert_eq!(store.take_calls().len(), 3);
        assert_eq!(store.calls(), []);
    }
}
