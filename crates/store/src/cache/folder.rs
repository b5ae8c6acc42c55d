//! The folder of a cache: made for its user alone, files that appear whole, and failure that ends the keeping but never
//! a read.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::quota;
use super::state::{State, hash128};
use crate::{CacheOptions, Notices};

/// Ends of names of files that are not whole yet.
pub(crate) const UNFINISHED: &str = "unfinished";

/// Where a store keeps what it read. Every name in it is a number that was computed: none is taken from a URL.
#[derive(Debug)]
pub(crate) struct Folder {
    dir: PathBuf,
    /// Of this kind of cache.
    top: PathBuf,
    most_bytes: u64,
    notices: Notices,
    usable: OnceLock<bool>,
    /// Nothing more is written.
    full: AtomicBool,
}

impl Folder {
    /// Nothing is made or looked at before it is needed.
    pub(crate) fn new(options: &CacheOptions) -> Self {
        Self {
            dir: options.dir.clone(),
            top: options.kind.folder(&options.dir),
            most_bytes: options.bytes,
            notices: options.notices.clone(),
            usable: OnceLock::new(),
            full: AtomicBool::new(false),
        }
    }

    /// Whether it exists or can be made, and no other user can write to it.
    pub(crate) fn is_usable(&self) -> bool {
        *self.usable.get_or_init(|| match self.prepare() {
            Ok(()) => true,
            Err(error) => {
                self.stop_writing("nothing is kept", &error);
                false
            }
        })
    }

    fn prepare(&self) -> io::Result<()> {
        make(&self.top)?;
        // The cache is taken for what a server sent, so no other user may write to it.
        for place in [&self.dir, &self.top] {
            let found = place.metadata()?;
            let (owner, here) = (found.uid(), rustix::process::geteuid().as_raw());
            let denied = |words| Err(io::Error::new(io::ErrorKind::PermissionDenied, words));
            if owner != here && owner != 0 {
                return denied(format!("{} belongs to another user; name another folder", place.display()));
            }
            // In a folder with the sticky bit others cannot replace what is ours.
            let is_sticky = found.mode() & 0o1000 != 0 && *place == self.dir;
            if found.mode() & 0o022 != 0 && !is_sticky {
                let place = place.display();
                return denied(format!("its group or others can write to {place}; run: chmod go-w {place}"));
            }
        }
        Ok(())
    }

    /// The folder that was named.
    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    /// Where the files of a remote file are.
    pub(crate) fn of_name(&self, name: &str) -> PathBuf {
        self.top.join(format!("{:032x}", hash128(name.as_bytes())))
    }

    /// Where a file of a state is.
    pub(crate) fn of_state(&self, state: &State, ending: &str) -> PathBuf {
        self.of_name(&state.name).join(format!("{:032x}.{ending}", state.number()))
    }

    /// Gives a notice of a failure, once; from then on nothing is written.
    pub(crate) fn stop_writing(&self, consequence: &str, error: &io::Error) {
        if !self.full.swap(true, Ordering::Relaxed) {
            self.notices.add(format!("cache {}: {error}: {consequence}", self.dir.display()));
        }
    }

    /// Whether something may still be written.
    pub(crate) fn is_open(&self) -> bool {
        !self.full.load(Ordering::Relaxed) && self.is_usable()
    }

    /// Makes room for so many bytes more; false where there is none.
    pub(crate) fn admit(&self, bytes: u64) -> bool {
        self.is_open() && quota::admit(&self.dir, self.most_bytes, bytes)
    }

    /// Creates a file beside `path`, to be renamed.
    pub(crate) fn stage(&self, path: &Path) -> io::Result<Unfinished> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let mut place = path.to_owned().into_os_string();
        place.push(format!(".{}-{number}.{UNFINISHED}", std::process::id()));
        let place = PathBuf::from(place);
        let create = || OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(&place);
        let file = match create() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                make(path.parent().unwrap_or(&self.top))?;
                create()?
            }
            // Of a process that died, and had the number that is ours now.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                std::fs::remove_file(&place)?;
                create()?
            }
            other => other?,
        };
        Ok(Unfinished { file, place, target: path.to_owned() })
    }

    /// Puts a file of these bytes at `path`, in one step.
    pub(crate) fn replace(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let mut staged = self.stage(path)?;
        staged.file.write_all(bytes)?;
        staged.publish()
    }
}

/// Makes folders that are their owner's alone.
pub(crate) fn make(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// A file that has no name yet that others look for. It is removed unless it gets one.
#[derive(Debug)]
pub(crate) struct Unfinished {
    pub(crate) file: File,
    place: PathBuf,
    target: PathBuf,
}

impl Unfinished {
    /// Takes the place of whatever is there.
    pub(crate) fn publish(self) -> io::Result<()> {
        std::fs::rename(&self.place, &self.target)
    }

    /// Takes its place unless something is there.
    pub(crate) fn publish_new(self) -> io::Result<()> {
        match std::fs::hard_link(&self.place, &self.target) {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(error),
            // Where a file has one name at most.
            Err(_) => std::fs::rename(&self.place, &self.target),
        }
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.place);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CacheKind;
    use std::os::unix::fs::PermissionsExt;

    fn options(test: &str) -> CacheOptions {
        let dir = std::env::temp_dir().join(format!("sapwood-folder-{test}-{}", std::process::id()));
        CacheOptions::new(CacheKind::Blocks, dir)
    }

    #[test]
    fn folders_and_files_are_their_owners_alone() {
        let options = options("modes");
        let folder = Folder::new(&options);
        assert!(folder.is_usable() && folder.is_open());
        let path = folder.of_name("x").join("ends");
        folder.replace(&path, b"one").unwrap();
        folder.replace(&path, b"two").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"two");
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&path), mode(path.parent().unwrap()), mode(&options.dir)), (0o600, 0o700, 0o700));
        assert_eq!(std::fs::read_dir(path.parent().unwrap()).unwrap().count(), 1, "nothing unfinished is left");
        assert!(folder.stage(&path).unwrap().publish_new().is_err());
        assert_eq!(std::fs::read(&path).unwrap(), b"two");
        std::fs::remove_dir_all(&options.dir).unwrap();
    }

    #[test]
    fn a_folder_that_others_can_write_to_is_not_used() {
        let options = options("open");
        let top = CacheKind::Blocks.folder(&options.dir);
        make(&top).unwrap();
        std::fs::set_permissions(&top, PermissionsExt::from_mode(0o777)).unwrap();
        let folder = Folder::new(&options);
        assert!(!folder.is_usable() && !folder.is_open() && !folder.admit(1));
        assert_eq!(options.notices.take().len(), 1);
        for (place, mode) in [(&top, 0o770), (&options.dir, 0o770), (&options.dir, 0o702)] {
            for path in [&options.dir, &top] {
                std::fs::set_permissions(path, PermissionsExt::from_mode(0o700)).unwrap();
            }
            assert!(Folder::new(&options).is_usable());
            std::fs::set_permissions(place, PermissionsExt::from_mode(mode)).unwrap();
            assert!(!Folder::new(&options).is_usable(), "{} {mode:o}", place.display());
            let notices = options.notices.take();
            assert!(notices[0].contains(&format!("chmod go-w {}", place.display())), "{notices:?}");
        }
        std::fs::set_permissions(&options.dir, PermissionsExt::from_mode(0o700)).unwrap();
        std::fs::remove_dir_all(&options.dir).unwrap();
    }

    #[test]
    fn names_stay_in_the_folder() {
        let options = options("names");
        let folder = Folder::new(&options);
        for name in ["../../etc/passwd", "/etc/passwd", "a/b", "..", "http://a/../../b", "\0"] {
            let state = State { name: name.to_owned(), len: 1, proof: format!("v:{name}") };
            let path = folder.of_state(&state, "blocks");
            let inside: Vec<_> = path.strip_prefix(&folder.top).unwrap().components().collect();
            assert_eq!(inside.len(), 2, "{path:?}");
            let plain = |byte: u8| byte.is_ascii_hexdigit() || b"./blocks".contains(&byte);
            assert!(path.strip_prefix(&folder.top).unwrap().as_os_str().as_encoded_bytes().iter().all(|b| plain(*b)));
            assert!(!path.to_string_lossy()[folder.top.as_os_str().len()..].contains(".."));
        }
    }
}
