//! A store whose file is fetched once, and read on this machine from then on.

use std::fs::File;

use sapwood::io::{ByteRange, Ends, Identity, Profile, Receive, Store};
use sapwood::{ErrorKind, Result};

use super::checked_copy::CheckedCopy;
use super::download;
use super::folder::Folder;
use super::head_tail::look;
use super::state::State;
use crate::CacheOptions;
use crate::open_once::OpenOnce;
use crate::secrets::cache_name;

/// Fetches the whole file of another store before the first read, as ROOT does with `CACHEREAD`, and reads it on this
/// machine. The next reader of the same state of the file, in whatever process, takes one round trip to find out that
/// it is the same. Each part of 4 MiB is compared with its checksum when it is first read; what is damaged is fetched
/// again.
///
/// Where it cannot be fetched or kept (no room, no permission), the other store is read, and the options' notices say
/// why.
///
/// # Example
///
/// ```
/// use sapwood::io::{MemoryStore, load};
/// use sapwood_store::{CacheKind, CacheOptions, WholeCache};
/// # let folder = std::env::temp_dir().join(format!("sapwood-doc-whole-{}", std::process::id()));
/// let options = CacheOptions::new(CacheKind::Whole, &folder);
/// let store = WholeCache::new(MemoryStore::new("greeting", "hello world"), "greeting", &options);
/// assert_eq!(load(&store, &[6..11])?, ["world"]);
/// assert_eq!(sapwood_store::list_cache(&folder)?[0].len, 11);
/// # std::fs::remove_dir_all(folder).ok();
/// # Ok::<(), sapwood::Error>(())
/// ```
#[derive(Debug)]
pub struct WholeCache<S> {
    inner: S,
    name: String,
    folder: Folder,
    options: CacheOptions,
    place: OpenOnce<Place>,
}

/// Where the file is read.
#[derive(Debug)]
enum Place {
    Near(Identity, CheckedCopy),
    Far,
}

impl<S: Store> WholeCache<S> {
    /// A cache in front of `inner`, which is known by `name`: its URL. Nothing is read before it is asked for.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::io::MemoryStore;
    /// use sapwood_store::{CacheKind, CacheOptions, WholeCache};
    /// let options = CacheOptions::new(CacheKind::Whole, "cache");
    /// let store = WholeCache::new(MemoryStore::new("x", "hello"), "https://example.org/x", &options);
    /// ```
    pub fn new(inner: S, name: &str, options: &CacheOptions) -> Self {
        Self {
            inner,
            name: cache_name(name),
            folder: Folder::new(options),
            options: options.clone(),
            place: OpenOnce::default(),
        }
    }

    fn place(&self) -> Result<&Place> {
        self.place.get_or_open(|| self.find())
    }

    fn find(&self) -> Result<Place> {
        let (ends, state) = look(&self.inner, &self.folder, &self.name, &mut None, 0, 0)?;
        Ok(match self.file(&state) {
            Ok(file) => Place::Near(ends.identity, file),
            Err(error) if error.kind() == ErrorKind::Cancelled => return Err(error),
            Err(_) if !self.folder.is_open() => Place::Far, // the folder has said why
            Err(error) => {
                let dir = self.options.dir.display();
                self.options.notices.add(format!("cache {dir}: {error}: {} is read where it is", self.name));
                Place::Far
            }
        })
    }

    fn file(&self, state: &State) -> Result<CheckedCopy> {
        match download::kept(&self.folder, state).filter(|_| self.folder.is_usable()) {
            Some(file) => Ok(file),
            None => download::fetch(&self.folder, state, &self.inner),
        }
    }
}

impl<S: Store> Store for WholeCache<S> {
    fn ends(&self, head_bytes: usize, tail_bytes: usize) -> Result<Ends> {
        match self.place()? {
            Place::Near(identity, file) => {
                let ends = file.ends(head_bytes, tail_bytes, &self.inner)?;
                Ok(Ends { identity: identity.clone(), ..ends })
            }
            Place::Far => self.inner.ends(head_bytes, tail_bytes),
        }
    }

    fn read_ranges(&self, ranges: &[ByteRange], into: &mut dyn Receive) -> Result<()> {
        if ranges.is_empty() {
            return Ok(());
        }
        match self.place()? {
            Place::Near(_, copy) => copy.read_ranges(ranges, into, &self.inner),
            Place::Far => self.inner.read_ranges(ranges, into),
        }
    }

    fn profile(&self) -> Profile {
        match self.place.get() {
            Some(Place::Near(..)) => Profile::NEAR,
            _ => self.inner.profile(),
        }
    }

    fn as_file(&self) -> Option<&File> {
        match self.place.get() {
            // Reads of the file itself would not compare checksums.
            Some(Place::Near(..)) => None,
            _ => self.inner.as_file(),
        }
    }
}
