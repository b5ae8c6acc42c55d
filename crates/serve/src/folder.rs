//! A folder of this machine as an upstream: files below it, and no link that leads out of it.

use std::fs::{File, Metadata};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path as Place, PathBuf};
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use rustix::fs::{Dir, Mode, OFlags, openat};
use sapwood::io::{ByteRange, Ends, Flow, LocalFile, Profile, Receive, Store};
use sapwood::{Error, ErrorKind, Result};
use sapwood_store::Listed;

use crate::path::Path;

/// The most names of a folder that are listed.
const MAX_NAMES: usize = 100_000;

/// The folder that is served.
#[derive(Debug)]
pub(crate) struct Folder {
    place: PathBuf,
    top: OwnedFd,
}

impl Folder {
    pub(crate) fn open(place: &str) -> Result<Self> {
        let named = |error: Error| error.in_file(place);
        let full = std::fs::canonicalize(place).map_err(|error| named(error.into()))?;
        let file = File::open(&full).map_err(|error| named(error.into()))?;
        if !file.metadata().map_err(|error| named(error.into()))?.is_dir() {
            return Err(named(Error::mismatch("the upstream is a file, and no folder")));
        }
        Ok(Self { place: full, top: file.into() })
    }

    /// A file below. Links are followed as long as they stay below; what is no plain file is not there.
    pub(crate) fn file(&self, path: &Path) -> Result<(Arc<dyn Store>, String)> {
        let full = self.resolve(path)?;
        // A link may have been put there meanwhile: what counts is the file that is reached without following one.
        let found = self.walk(&full)?.metadata()?;
        if !found.is_file() {
            return Err(missing());
        }
        let file = LocalFile::open(&full)?;
        let opened = file.as_file().map(File::metadata).transpose()?;
        let about = opened.filter(|opened| (opened.dev(), opened.ino()) == (found.dev(), found.ino()));
        let about = about.ok_or_else(missing)?;
        let name = format!("file://{}", full.to_string_lossy());
        Ok((Arc::new(Unchanged { file, state: state(&about) }), name))
    }

    /// The names in a folder below, without those of links that lead elsewhere.
    pub(crate) fn list(&self, path: &Path) -> Result<Vec<Listed>> {
        let folder = self.walk(&self.resolve(path)?)?;
        if !folder.metadata()?.is_dir() {
            return Err(missing());
        }
        let mut listed = Vec::new();
        for entry in Dir::read_from(&folder).map_err(std::io::Error::from)? {
            let entry = entry.map_err(std::io::Error::from)?;
            let Ok(name) = entry.file_name().to_str() else { continue };
            if matches!(name, "." | "..") || name.contains('\\') || name.chars().any(char::is_control) {
                continue;
            }
            if listed.len() >= MAX_NAMES {
                return Err(Error::limit("too many names in a folder", MAX_NAMES as u64, MAX_NAMES as u64 + 1));
            }
            // It may have gone meanwhile.
            let Ok(full) = self.resolve(&path.below(name)) else { continue };
            let Ok(about) = self.walk(&full).and_then(|found| Ok(found.metadata()?)) else { continue };
            let is_file = about.is_file();
            if is_file || about.is_dir() {
                listed.push(Listed {
                    name: name.to_owned(),
                    is_folder: !is_file,
                    len: is_file.then_some(about.len()),
                    modified: is_file.then(|| about.mtime()),
                });
            }
        }
        listed.sort();
        Ok(listed)
    }

    /// Resolves a path: links are followed as long as they stay below.
    fn resolve(&self, path: &Path) -> Result<PathBuf> {
        let asked = path.names().iter().fold(self.place.clone(), |place, name| place.join(name));
        let full = std::fs::canonicalize(asked).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotADirectory | std::io::ErrorKind::NotFound => missing(),
            _ => error.into(),
        })?;
        if full.starts_with(&self.place) { Ok(full) } else { Err(missing()) }
    }

    /// Opens what is below, following no link.
    fn walk(&self, full: &Place) -> Result<File> {
        let below = full.strip_prefix(&self.place).map_err(|_| missing())?;
        let mut here = self.top.try_clone()?;
        for part in below.components() {
            let Component::Normal(name) = part else { return Err(missing()) };
            // Without waiting for the other end of a pipe.
            let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
            here = openat(here.as_fd(), name, flags, Mode::empty())
                .map_err(|error| Error::from(std::io::Error::from(error)))?;
        }
        Ok(here.into())
    }
}

fn missing() -> Error {
    Error::not_found("no such file")
}

/// What changes when a file is written.
type State = (u64, i64, i64);

fn state(about: &Metadata) -> State {
    (about.len(), about.mtime(), about.mtime_nsec())
}

/// A file that is what it was: it is looked at before anything that was read is handed on.
struct Unchanged {
    file: LocalFile,
    state: State,
}

impl Unchanged {
    fn check(&self) -> Result<()> {
        let now = self.file.as_file().map(File::metadata).transpose()?;
        if now.is_some_and(|now| state(&now) != self.state) {
            return Err(Error::new(ErrorKind::Changed, "the file changed while it was open: it was written"));
        }
        Ok(())
    }
}

impl Store for Unchanged {
    fn ends(&self, head_bytes: usize, tail_bytes: usize) -> Result<Ends> {
        let ends = self.file.ends(head_bytes, tail_bytes)?;
        self.check()?;
        Ok(ends)
    }

    fn read_ranges(&self, ranges: &[ByteRange], into: &mut dyn Receive) -> Result<()> {
        let mut checked = Checked { store: self, into, changed: None };
        let done = self.file.read_ranges(ranges, &mut checked);
        match checked.changed {
            Some(error) => Err(error),
            None => done,
        }
    }

    fn profile(&self) -> Profile {
        self.file.profile()
    }
}

struct Checked<'a> {
    store: &'a Unchanged,
    into: &'a mut dyn Receive,
    changed: Option<Error>,
}

impl Receive for Checked<'_> {
    fn buffer(&self, bytes: usize) -> BytesMut {
        self.into.buffer(bytes)
    }

    fn deliver(&mut self, index: usize, bytes: Bytes) -> Flow {
        match self.store.check() {
            Ok(()) => self.into.deliver(index, bytes),
            Err(error) => {
                self.changed = Some(error);
                Flow::Stop
            }
        }
    }

    fn stopped(&self) -> bool {
        self.changed.is_some() || self.into.stopped()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sapwood::io::load;
    use std::os::unix::fs::symlink;

    #[test]
    fn nothing_outside_is_reached() {
        let top = std::env::temp_dir().join(format!("sapwood-serve-folder-{}", std::process::id()));
        let (inside, outside) = (top.join("in/sub"), top.join("out"));
        std::fs::create_dir_all(&inside).unwrap();
        std::fs::create_dir_all(&outside).unwrap();
        std::fs::write(inside.join("a"), "inside").unwrap();
        std::fs::write(outside.join("a"), "outside").unwrap();
        symlink("sub/a", top.join("in/good")).unwrap();
        symlink("../out/a", top.join("in/file")).unwrap();
        symlink("../out", top.join("in/folder")).unwrap();
        symlink(outside.join("a"), top.join("in/absolute")).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, top.join("in/pipe"), Mode::from_raw_mode(0o600)).unwrap();
        let folder = Folder::open(top.join("in").to_str().unwrap()).unwrap();
        let get = |path: &str| folder.file(&Path::parse(path).unwrap());
        for path in ["/sub/a", "/good"] {
            let (store, name) = get(path).unwrap();
            assert_eq!(load(&store, &[0..6]).unwrap(), ["inside"]);
            assert!(name.ends_with("/in/sub/a"), "{name}");
        }
        for path in ["/file", "/folder/a", "/absolute", "/sub", "/none", "/sub/a/b", "/pipe"] {
            assert_eq!(get(path).err().unwrap().kind(), ErrorKind::NotFound, "{path}");
        }
        let names = |path: &str| {
            let listed = folder.list(&Path::plain(path).unwrap());
            listed.map(|listed| listed.into_iter().map(|one| (one.name, one.len)).collect::<Vec<_>>())
        };
        assert_eq!(names("/").unwrap(), [("good".to_owned(), Some(6)), ("sub".to_owned(), None)]);
        assert_eq!(names("/sub/").unwrap(), [("a".to_owned(), Some(6))]);
        for path in ["/sub/a", "/none", "/folder"] {
            assert_eq!(names(path).unwrap_err().kind(), ErrorKind::NotFound, "{path}");
        }
        let (store, _) = get("/sub/a").unwrap();
        std::fs::write(inside.join("a"), "changed").unwrap();
        assert_eq!(load(&store, &[0..6]).unwrap_err().kind(), ErrorKind::Changed);
        assert!(Folder::open(inside.join("a").to_str().unwrap()).is_err());
        std::fs::remove_dir_all(top).unwrap();
    }
}
