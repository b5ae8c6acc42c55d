//! What is browsed: files, URLs and folders, and those files that are open.

use std::hash::{BuildHasher, DefaultHasher, Hash, Hasher, RandomState};
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sapwood::{Error, ErrorKind, File, Limits, OpenOptions, Result, Session};
use sapwood_store::{Listed, below_url, is_folder_url, is_url, redact};

use super::counted::{Counted, Counts};
use super::opened::Opened;
use super::options::{BrowseOptions, Lister, Opener};
use super::stamp::Stamp;

/// Files that are open at a time; the one that was not used for longest is closed first.
const MOST_FILES: usize = 16;
/// The budget of a tree's cache. Twice as much may be in memory.
const CACHE_BYTES: u64 = 16 << 20;
/// The most bytes that one read may take: columns of a table, of a cut.
const ANSWER_BYTES: u64 = 512 << 20;

/// What the command line named.
#[derive(Debug)]
pub(super) struct Root {
    /// A path, or a URL.
    pub(super) target: String,
    pub(super) is_folder: bool,
}

/// Files and folders, numbered from 0. A file is known by that number, with the path below a folder behind it.
pub(super) struct OpenFiles {
    pub(super) roots: Vec<Root>,
    opener: Opener,
    lister: Lister,
    session: Session,
    /// The one that was used last is the last.
    opened: Mutex<Vec<Arc<Opened>>>,
}

impl OpenFiles {
    pub(super) fn new(options: &BrowseOptions) -> Result<Self> {
        let root = |target: &String| {
            let is_folder = if is_url(target) { is_folder_url(target) } else { Path::new(target).is_dir() };
            if !is_folder && !is_url(target) && sapwood_store::member_end(target).is_none() {
                let missing = |error: std::io::Error| Error::from(error).in_file(target.as_str());
                std::fs::metadata(target).map_err(missing)?;
            }
            Ok(Root { target: target.clone(), is_folder })
        };
        Ok(Self {
            roots: options.targets.iter().map(root).collect::<Result<_>>()?,
            opener: Arc::clone(&options.opener),
            lister: Arc::clone(&options.lister),
            session: Session::with_threads(options.threads),
            opened: Mutex::default(),
        })
    }

    /// The path or URL of what an id names. Ids of folders of servers end with a slash.
    pub(super) fn target(&self, id: &str) -> Result<(PathBuf, &Root)> {
        let missing = || Error::not_found(format!("nothing that is browsed has the id {id:?}"));
        let (number, below) = id.split_once('/').map_or((id, None), |(number, below)| (number, Some(below)));
        let root = number.parse().ok().and_then(|number: usize| self.roots.get(number)).ok_or_else(missing)?;
        let Some(below) = below else { return Ok((PathBuf::from(&root.target), root)) };
        let is_plain = |part: Component<'_>| matches!(part, Component::Normal(_));
        if !root.is_folder || !Path::new(below).components().all(is_plain) {
            return Err(missing());
        }
        if is_url(&root.target) {
            return Ok((PathBuf::from(below_url(&root.target, below)), root));
        }
        let path = Path::new(&root.target).join(below);
        if leads_out(Path::new(&root.target), &path) {
            let words = format!("{} leads out of the folder by a symbolic link", path.display());
            return Err(Error::not_found(format!("{words}: name what it leads to on the command line")));
        }
        Ok((path, root))
    }

    /// What is in a folder of a server; none for an id that names something else.
    pub(super) fn listed(&self, id: &str) -> Result<Option<Vec<Listed>>> {
        let (place, root) = self.target(id)?;
        let is_top = !id.contains('/');
        match place.to_str().filter(|url| is_url(url) && root.is_folder && (is_top || id.ends_with('/'))) {
            Some(url) => (self.lister)(url).map(Some),
            None => Ok(None),
        }
    }

    /// What a file is called, without secrets that its URL may hold.
    pub(super) fn name(&self, id: &str) -> Result<String> {
        let (path, _) = self.target(id)?;
        Ok(redact(&path.to_string_lossy()).into_owned())
    }

    /// An open file: the one that was opened before, unless it has changed.
    pub(super) fn open(&self, id: &str) -> Result<Arc<Opened>> {
        let (path, _) = self.target(id)?;
        let stamp = Stamp::of(&path);
        let mut opened = self.opened();
        if let Some(place) = opened.iter().position(|known| known.id == id) {
            let known = opened.remove(place);
            if known.stamp == stamp {
                opened.push(Arc::clone(&known));
                return Ok(known);
            }
        }
        drop(opened);
        let fresh = Arc::new(self.fresh(id, &path, stamp)?);
        let mut opened = self.opened();
        opened.retain(|known| known.id != id);
        while opened.len() >= MOST_FILES {
            opened.remove(0);
        }
        opened.push(Arc::clone(&fresh));
        Ok(fresh)
    }

    fn fresh(&self, id: &str, path: &Path, stamp: Option<Stamp>) -> Result<Opened> {
        let counts = Arc::new(Counts::default());
        let store = Arc::new(Counted { inner: (self.opener)(path)?, counts: Arc::clone(&counts) });
        let file = File::from_store(store, self.options())?;
        let state = state(&file, stamp.as_ref());
        Ok(Opened {
            id: id.to_owned(),
            file,
            counts,
            state,
            stamp,
            objects: Mutex::default(),
            tables: Mutex::default(),
        })
    }

    fn options(&self) -> OpenOptions {
        let limits = Limits { answer_bytes: ANSWER_BYTES, ..Limits::default() };
        OpenOptions { limits, session: self.session.clone(), cache_bytes: CACHE_BYTES, ..OpenOptions::default() }
    }

    /// The same file once more, so that what it reads is recorded apart from everything else.
    pub(super) fn apart(&self, opened: &Opened) -> Result<File> {
        File::from_store(Arc::clone(opened.file.store()), self.options())
    }

    /// Closes a file whose store says that it has changed: the next request opens it anew.
    pub(super) fn heed(&self, id: &str, error: &Error) {
        if error.kind() == ErrorKind::Changed {
            self.opened().retain(|known| known.id != id);
        }
    }

    /// The files that are open, and whether each is still what it was.
    pub(super) fn all(&self) -> Vec<(Arc<Opened>, bool)> {
        let all: Vec<Arc<Opened>> = self.opened().iter().map(Arc::clone).collect();
        let is_same = |known: &Opened| {
            known.stamp.is_none() || self.target(&known.id).is_ok_and(|(path, _)| Stamp::of(&path) == known.stamp)
        };
        all.into_iter().map(|known| (Arc::clone(&known), is_same(&known))).collect()
    }

    fn opened(&self) -> MutexGuard<'_, Vec<Arc<Opened>>> {
        self.opened.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a path below a folder is that of something outside, which a symbolic link leads to. What comes after a file,
/// as in an archive, is of that file.
fn leads_out(folder: &Path, path: &Path) -> bool {
    let Ok(folder) = folder.canonicalize() else { return false };
    let real = path.ancestors().find_map(|above| above.canonicalize().ok());
    real.is_some_and(|real| !real.starts_with(folder))
}

/// A number of what a file holds: of its stamp, or of what its server says. Numbers in a page have 53 bits.
fn state(file: &File, stamp: Option<&Stamp>) -> u64 {
    let mut hasher = DefaultHasher::new();
    (stamp, file.identity().len, &file.identity().validator).hash(&mut hasher);
    if stamp.is_none() && file.identity().validator.is_none() {
        // Nothing tells whether it is the same: each opening counts as another content.
        RandomState::new().hash_one(()).hash(&mut hasher);
    }
    (hasher.finish() >> 11).max(1)
}
