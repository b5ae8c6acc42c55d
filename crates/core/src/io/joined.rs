//! Several files as one store: a tree's own, and those that hold baskets of some of its branches.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use bytes::{Bytes, BytesMut};

use super::{ByteRange, Ends, Flow, LocalFile, Profile, Receive, Store};
use crate::{Error, ErrorKind, Result};

/// Offsets below this are within a file; what is above says which file.
const FILE_BITS: u32 = 48;

/// An offset of the file with this number: 0 is the tree's own. None for offsets that no file has.
pub(crate) fn offset_in(file: usize, offset: u64) -> Option<u64> {
    let file = u64::try_from(file).ok().filter(|file| *file < 1 << (63 - FILE_BITS))?;
    // A record begins and ends in one file.
    (offset < (1 << FILE_BITS) - (1 << 32)).then_some(file << FILE_BITS | offset)
}

/// The offset within its file.
pub fn own_offset(offset: u64) -> u64 {
    offset & ((1 << FILE_BITS) - 1)
}

/// How files are opened that a file names for baskets of its branches (`TBranch::SetFile`). By default a plain file may
/// name other plain files, relative to its own folder.
///
/// # Example
///
/// ```
/// use std::sync::Arc;
/// use sapwood::io::{MemoryStore, OtherFiles};
/// use sapwood::OpenOptions;
/// let other_files = OtherFiles::new(|_of, name| Ok(Arc::new(MemoryStore::new(name, "content"))));
/// let options = OpenOptions { other_files, ..OpenOptions::default() };
/// # let _ = options;
/// ```
#[derive(Clone, Default)]
pub struct OtherFiles(Option<Arc<Open>>);

/// Opens what a file names: the name of that file, and what it names.
type Open = dyn Fn(&str, &str) -> Result<Arc<dyn Store>> + Send + Sync;

impl OtherFiles {
    /// Opens them with a function of the name of the file, and of what it names.
    pub fn new(open: impl Fn(&str, &str) -> Result<Arc<dyn Store>> + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(open)))
    }

    fn open(&self, of: &dyn Store, of_name: &str, name: &str) -> Result<Arc<dyn Store>> {
        match &self.0 {
            Some(open) => open(of_name, name),
            None if of.as_file().is_some() => Ok(Arc::new(LocalFile::find(beside(of_name, name))?)),
            None => Err(Error::unsupported("where it is depends on how this file was opened: open it by its path")),
        }
    }
}

impl fmt::Debug for OtherFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("OtherFiles").field(&self.0.as_ref().map(|_| ())).finish()
    }
}

/// The path of a file that another one names: from its folder, or as it is where only that exists.
fn beside(of: &str, name: &str) -> PathBuf {
    let beside = Path::new(of).parent().unwrap_or(Path::new("")).join(name);
    if !beside.exists() && Path::new(name).exists() { name.into() } else { beside }
}

/// A file and others that it names, which are opened when they are first read.
pub(crate) struct Joined {
    own: Arc<dyn Store>,
    own_name: Arc<str>,
    others: Vec<Other>,
    open: OtherFiles,
}

struct Other {
    name: Arc<str>,
    store: OnceLock<Arc<dyn Store>>,
}

impl Joined {
    pub(crate) fn new(own: Arc<dyn Store>, own_name: Arc<str>, others: Vec<Arc<str>>, open: OtherFiles) -> Self {
        let others = others.into_iter().map(|name| Other { name, store: OnceLock::new() }).collect();
        Self { own, own_name, others, open }
    }

    /// The store of the other file with this number, the first being 1.
    fn other(&self, number: usize) -> Result<(&Other, Arc<dyn Store>)> {
        let other = number.checked_sub(1).and_then(|at| self.others.get(at));
        let other = other.ok_or_else(|| Error::malformed("a range reaches beyond the end of the file"))?;
        if let Some(store) = other.store.get() {
            return Ok((other, Arc::clone(store)));
        }
        let opened = self.open.open(&*self.own, &self.own_name, &other.name).map_err(|error| {
            let words = format!("baskets are in another file, {:?}, which cannot be opened: {error}", other.name);
            Error::new(error.kind(), words).in_file(Arc::clone(&self.own_name))
        })?;
        // What fails is tried again; the first of two that are opened at once stays.
        Ok((other, Arc::clone(other.store.get_or_init(|| opened))))
    }
}

impl Store for Joined {
    fn ends(&self, head_bytes: usize, tail_bytes: usize) -> Result<Ends> {
        self.own.ends(head_bytes, tail_bytes)
    }

    fn read_ranges(&self, ranges: &[ByteRange], into: &mut dyn Receive) -> Result<()> {
        let file_of = |range: &ByteRange| (range.start >> FILE_BITS) as usize;
        if ranges.iter().all(|range| file_of(range) == 0) {
            return self.own.read_ranges(ranges, into);
        }
        let mut files: Vec<usize> = ranges.iter().map(file_of).collect();
        files.sort_unstable();
        files.dedup();
        for file in files {
            let (places, of_file): (Vec<usize>, Vec<ByteRange>) = ranges
                .iter()
                .enumerate()
                .filter(|(_, range)| file_of(range) == file)
                .map(|(place, range)| {
                    let start = own_offset(range.start);
                    (place, start..start.saturating_add(range.end.saturating_sub(range.start)))
                })
                .unzip();
            let mut into = Numbered { places: &places, into: &mut *into };
            if file == 0 {
                self.own.read_ranges(&of_file, &mut into)?;
                continue;
            }
            let (other, store) = self.other(file)?;
            let read = store.read_ranges(&of_file, &mut into);
            read.map_err(|error| match error.kind() {
                ErrorKind::Cancelled => error,
                _ => error.in_file(Arc::clone(&other.name)),
            })?;
        }
        Ok(())
    }

    fn profile(&self) -> Profile {
        self.own.profile()
    }
}

/// Delivers some of the ranges of a request by their numbers in it.
struct Numbered<'r> {
    places: &'r [usize],
    into: &'r mut dyn Receive,
}

impl Receive for Numbered<'_> {
    fn buffer(&self, bytes: usize) -> BytesMut {
        self.into.buffer(bytes)
    }

    fn deliver(&mut self, index: usize, bytes: Bytes) -> Flow {
        match self.places.get(index) {
            Some(&place) => self.into.deliver(place, bytes),
            None => Flow::Stop,
        }
    }

    fn stopped(&self) -> bool {
        self.into.stopped()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::{MemoryStore, load};

    #[test]
    fn ranges_are_read_from_their_files() {
        let open = OtherFiles::new(|of, name| match name {
            "b" => Ok(Arc::new(MemoryStore::new(name, "other bytes"))),
            _ => Err(Error::not_found(format!("no {name} beside {of}"))),
        });
        let own = Arc::new(MemoryStore::new("a", "own bytes"));
        let joined = Joined::new(own, "a".into(), vec!["b".into(), "c".into()], open);
        let at = |file, range: ByteRange| {
            let start = offset_in(file, range.start).unwrap();
            start..start + (range.end - range.start)
        };
        let found = load(&joined, &[at(1, 6..11), at(0, 0..3), at(1, 0..5)]).unwrap();
        assert_eq!(found, ["bytes", "own", "other"]);
        let error = load(&joined, &[at(2, 0..1)]).unwrap_err();
        assert!(error.to_string().contains("no c beside a"), "{error}");
        let error = load(&joined, &[at(1, 6..12)]).unwrap_err();
        assert_eq!((error.kind(), error.place().file.as_deref()), (ErrorKind::Malformed, Some("b")));
        assert!(load(&joined, &[at(3, 0..1)]).is_err());
        assert_eq!(offset_in(1, 1 << 48), None);
    }
}
