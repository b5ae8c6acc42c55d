//! Stores and sinks in memory: bytes that came from elsewhere, and tests.

use std::io::IoSlice;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;

use super::{ByteRange, Ends, Flow, Identity, Profile, Receive, Sink, Store, check_ranges, stopped};
use crate::{Error, Result};

/// A store over bytes in memory. It copies nothing: what it delivers are slices.
///
/// # Example
///
/// ```
/// use sapwood::io::{MemoryStore, Store};
/// let store = MemoryStore::new("greeting", "hello world");
/// let ends = store.ends(5, 100)?;
/// assert_eq!((&ends.head[..], &ends.tail[..]), (&b"hello"[..], &b"hello world"[..]));
/// # Ok::<(), sapwood::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct MemoryStore {
    name: Arc<str>,
    content: Bytes,
}

impl MemoryStore {
    /// A store of these bytes, under a name for messages.
    pub fn new(name: &str, content: impl Into<Bytes>) -> Self {
        Self { name: name.into(), content: content.into() }
    }

    fn slice(&self, range: &ByteRange) -> Result<Bytes> {
        let outside = || Error::malformed("a range reaches beyond the end of the file").at(range.start);
        let start = usize::try_from(range.start).map_err(|_| outside())?;
        let end = usize::try_from(range.end).map_err(|_| outside())?;
        match self.content.get(start..end) {
            Some(_) => Ok(self.content.slice(start..end)),
            None => Err(outside()),
        }
    }
}

impl Store for MemoryStore {
    fn ends(&self, head_bytes: usize, tail_bytes: usize) -> Result<Ends> {
        let length = self.content.len();
        let identity = Identity { name: self.name.clone(), len: length as u64, validator: None };
        let head = self.content.slice(..head_bytes.min(length));
        let tail = self.content.slice(length - tail_bytes.min(length)..);
        Ok(Ends { identity, head, tail })
    }

    fn read_ranges(&self, ranges: &[ByteRange], into: &mut dyn Receive) -> Result<()> {
        check_ranges(ranges, self.content.len() as u64)?;
        for (index, range) in ranges.iter().enumerate() {
            if into.stopped() || into.deliver(index, self.slice(range)?) == Flow::Stop {
                return Err(stopped());
            }
        }
        Ok(())
    }

    fn profile(&self) -> Profile {
        Profile { latency_ns: 0, bandwidth_bytes: 20 << 30, request_bytes: 16 << 20, ranges: 1024, parallel: 1 }
    }
}

/// A sink that grows in memory. Gaps read as zeros.
///
/// # Example
///
/// ```
/// use std::io::IoSlice;
/// use sapwood::io::{MemorySink, Sink};
/// let sink = MemorySink::default();
/// sink.write_at(2, &[IoSlice::new(b"ab"), IoSlice::new(b"c")])?;
/// assert_eq!(sink.into_bytes(), "\0\0abc");
/// # Ok::<(), sapwood::Error>(())
/// ```
///
/// ```
/// use std::sync::Arc;
/// use sapwood::io::MemorySink;
/// use sapwood::write::{FileWriter, WriteOptions};
/// let sink = Arc::new(MemorySink::default());
/// let file = FileWriter::to_sink(Arc::clone(&sink), "empty.root", WriteOptions::default())?;
/// assert_eq!(sink.to_bytes()[..4], *b"root"); // what was written so far
/// file.close()?;
/// # Ok::<(), sapwood::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct MemorySink(Mutex<Vec<u8>>);

impl MemorySink {
    /// What was written.
    pub fn into_bytes(self) -> Bytes {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner).into()
    }

    /// A copy of what has been written so far.
    pub fn to_bytes(&self) -> Bytes {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone().into()
    }
}

impl Sink for MemorySink {
    fn write_at(&self, offset: u64, parts: &[IoSlice<'_>]) -> Result<()> {
        let too_long = || Error::limit("the sink holds what memory holds", isize::MAX as u64, offset).at(offset);
        let bytes = parts.iter().try_fold(0_usize, |sum, part| sum.checked_add(part.len())).ok_or_else(too_long)?;
        let start = usize::try_from(offset).map_err(|_| too_long())?;
        let end = start.checked_add(bytes).filter(|end| isize::try_from(*end).is_ok()).ok_or_else(too_long)?;
        let mut content = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if content.len() < end {
            let more = end - content.len();
            content.try_reserve(more).map_err(|error| too_long().because(error))?;
            content.resize(end, 0);
        }
        let mut at = start;
        for part in parts {
            content[at..at + part.len()].copy_from_slice(part);
            at += part.len();
        }
        Ok(())
    }

    fn cut_at(&self, bytes: u64) -> Result<()> {
        let mut content = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        content.truncate(usize::try_from(bytes).unwrap_or(usize::MAX));
        Ok(())
    }

    fn sync(&self) -> Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;
    use crate::io::load;

    #[test]
    fn slices_are_not_copies() {
        let content = Bytes::from(vec![7; 100]);
        let store = MemoryStore::new("x", content.clone());
        let read = load(&store, &[10..20, 0..100]).unwrap();
        assert_eq!(read[0].as_ptr(), content[10..].as_ptr());
        assert_eq!(read[1].as_ptr(), content.as_ptr());
    }

    #[test]
    fn writes_land_where_they_belong() {
        let sink = MemorySink::default();
        sink.write_at(4, &[IoSlice::new(b"efgh")]).unwrap();
        sink.write_at(0, &[IoSlice::new(b"ab"), IoSlice::new(b""), IoSlice::new(b"cdE")]).unwrap();
        sink.write_at(9, &[]).unwrap();
        assert_eq!(sink.to_bytes(), "abcdEfgh\0");
        assert_eq!(sink.write_at(u64::MAX, &[IoSlice::new(b"x")]).unwrap_err().kind(), ErrorKind::Limit);
        sink.sync().unwrap();
    }

    #[test]
    fn copies_come_through_reading() {
        let content: Vec<u8> = (0..9_000_000_u32).map(|i| (i / 1000) as u8).collect();
        let store = MemoryStore::new("x", content.clone());
        let sink = MemorySink::default();
        sink.copy_at(3, &store, 5..9_000_000).unwrap();
        assert!(sink.to_bytes()[3..] == content[5..]);
        sink.copy_at(0, &store, 7..7).unwrap();
        #[expect(clippy::reversed_empty_ranges, reason = "what a careless caller may pass")]
        for wrong in [8_999_999..9_000_001, 5..4] {
            assert_eq!(sink.copy_at(0, &store, wrong).unwrap_err().kind(), ErrorKind::Malformed);
        }
    }
}
