//! A file that is published under its name once it is complete.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use super::LocalFile;
use super::local::not_made;
use crate::error::{Error, ErrorKind, Result};

/// A place that is not on this machine, which finished files are sent to.
///
/// # Example
///
/// ```
/// use std::path::Path;
/// use sapwood::io::{AtomicFile, Destination};
/// # let drawer = std::env::temp_dir().join(format!("sapwood-drawer-{}", std::process::id()));
///
/// /// Keeps finished files in a folder.
/// #[derive(Debug)]
/// struct Drawer(std::path::PathBuf);
///
/// impl Destination for Drawer {
///     fn name(&self) -> &str {
///         "drawer://notes.txt"
///     }
///     fn publish(&self, finished: &Path) -> sapwood::Result<()> {
///         std::fs::copy(finished, &self.0)?;
///         Ok(())
///     }
/// }
///
/// assert_eq!(Drawer(drawer.clone()).file_name(), "notes.txt");
/// let file = AtomicFile::elsewhere(Box::new(Drawer(drawer.clone())))?;
/// std::fs::write(file.path(), "whole")?;
/// file.publish()?;
/// assert_eq!(std::fs::read(&drawer)?, b"whole");
/// # std::fs::remove_file(drawer)?;
/// # Ok::<(), sapwood::Error>(())
/// ```
pub trait Destination: fmt::Debug + Send + Sync {
    /// Its URL or the like, as errors show it.
    fn name(&self) -> &str;

    /// The name of the file there: what is behind the last slash.
    fn file_name(&self) -> &str {
        self.name().rsplit('/').next().unwrap_or_default()
    }

    /// Sends the finished file, checks what arrived, and gives it its name.
    ///
    /// # Errors
    ///
    /// What the place reports. No incomplete file has the name then.
    fn publish(&self, finished: &Path) -> Result<()>;
}

/// A file that is written next to its target, and replaces it atomically when it is complete. Until then the target is
/// unchanged; an unpublished file is removed. For a target on [another machine](Destination) it is written in the
/// folder for temporary files.
///
/// # Example
///
/// ```
/// use std::io::IoSlice;
/// use sapwood::io::{LocalFile, Sink, AtomicFile};
/// # let target = std::env::temp_dir().join("sapwood-staged.txt");
/// let staged = AtomicFile::new(&target, true)?;
/// LocalFile::create(staged.path())?.write_at(0, &[IoSlice::new(b"whole")])?;
/// staged.publish()?;
/// assert_eq!(std::fs::read(&target)?, b"whole");
/// assert!(AtomicFile::new(&target, false).is_err()); // nothing is replaced unless that is wanted
/// # std::fs::remove_file(target).ok();
/// # Ok::<(), sapwood::Error>(())
/// ```
#[derive(Debug)]
pub struct AtomicFile {
    target: PathBuf,
    unfinished: PathBuf,
    /// The locked target, so that no other writer opens it meanwhile.
    replaced: Option<LocalFile>,
    /// Where it is sent; none if it stays on this machine.
    destination: Option<Box<dyn Destination>>,
    /// A folder for further files.
    folder: Option<PathBuf>,
}

impl AtomicFile {
    /// Prepares to write a file to `target`, replacing an existing one if `replaces` is set.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Exists`] if it exists and must not be replaced; [`ErrorKind::Denied`] if a writer has it open, it
    /// may not be written, or is not a regular file.
    pub fn new(target: impl AsRef<Path>, replaces: bool) -> Result<Self> {
        // Replace the target of a symbolic link, not the link.
        let target = target.as_ref().canonicalize().unwrap_or_else(|_| target.as_ref().to_owned());
        let refused = |kind, words: &'static str| Err(Error::new(kind, words).in_file(target.to_string_lossy()));
        let replaced = match target.metadata() {
            Ok(_) if !replaces => return refused(ErrorKind::Exists, "there is a file of that name"),
            Ok(there) if !there.is_file() => return refused(ErrorKind::Denied, "it is no plain file"),
            Ok(_) => Some(LocalFile::update(&target)?),
            Err(_) => None,
        };
        remove_abandoned(&target);
        let unfinished = begin(&target)?;
        let staged = Self { target, unfinished, replaced, destination: None, folder: None };
        if staged.replaced.is_some() {
            // Keep the permissions, so that the new file is readable by the same users.
            std::fs::set_permissions(&staged.unfinished, staged.target.metadata()?.permissions())?;
        }
        Ok(staged)
    }

    /// Prepares to write a file that is sent to `destination` when it is complete.
    ///
    /// # Errors
    ///
    /// What making a folder among the temporary files reports.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::io::{AtomicFile, Destination};
    /// #[derive(Debug)]
    /// struct Nowhere;
    /// impl Destination for Nowhere {
    ///     fn name(&self) -> &str {
    ///         "nowhere://a.root"
    ///     }
    ///     fn publish(&self, _: &std::path::Path) -> sapwood::Result<()> {
    ///         Ok(())
    ///     }
    /// }
    /// let file = AtomicFile::elsewhere(Box::new(Nowhere))?;
    /// assert!(file.path().ends_with("a.root"));
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn elsewhere(destination: Box<dyn Destination>) -> Result<Self> {
        let name = destination.file_name();
        let is_usual = !matches!(name, "" | "." | "..") && !name.contains(['/', '\0']);
        let target = PathBuf::from(if is_usual { name } else { "file.root" });
        let folder = temporary_folder().map_err(|error| error.in_file(destination.name()))?;
        let unfinished = folder.join(&target);
        Ok(Self { unfinished, target, replaced: None, destination: Some(destination), folder: None })
    }

    /// The path to write to.
    pub fn path(&self) -> &Path {
        &self.unfinished
    }

    /// An own folder for files that this one is made of, next to it. It is removed with all of them once the file is
    /// published or dropped.
    ///
    /// # Errors
    ///
    /// Errors of the system.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::io::AtomicFile;
    /// let target = std::env::temp_dir().join(format!("sapwood-folder-{}", std::process::id()));
    /// let mut file = AtomicFile::new(&target, true)?;
    /// let folder = file.folder()?.to_owned();
    /// std::fs::write(folder.join("part"), "one")?;
    /// drop(file);
    /// assert!(!folder.exists());
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn folder(&mut self) -> Result<&Path> {
        let folder = parts_of(&self.unfinished);
        if self.folder.is_none() {
            let named =
                |error| Error::system("cannot make a folder for parts", error).in_file(folder.to_string_lossy());
            make_private(&folder).map_err(named)?;
        }
        Ok(self.folder.get_or_insert(folder))
    }

    /// The path that the file gets; of a file that is sent elsewhere, its name.
    pub fn target(&self) -> &Path {
        &self.target
    }

    /// Replaces the target by the finished file, or sends it to its destination.
    ///
    /// # Errors
    ///
    /// What the system or the destination reports; the target is unchanged then. A file that could not be sent is kept,
    /// and the error names its path.
    pub fn publish(mut self) -> Result<()> {
        if let Some(destination) = &self.destination {
            let sent = destination.publish(&self.unfinished);
            let Err(error) = sent else { return Ok(()) };
            let kept = std::mem::take(&mut self.unfinished);
            let words = format!("{}; the finished file is kept as {}", error.message(), kept.display());
            return Err(error.in_words(words).in_file(destination.name()));
        }
        let publish = || {
            if self.replaced.is_some() {
                // After a power loss the name must not lead to an incomplete file.
                std::fs::File::open(&self.unfinished)?.sync_data()?;
            }
            std::fs::rename(&self.unfinished, &self.target)
        };
        publish().map_err(|error| {
            Error::system("cannot publish the finished file", error).in_file(self.target.to_string_lossy())
        })
    }
}

/// Removes unfinished files that killed writers of this target left. Best effort: what cannot be removed stays.
fn remove_abandoned(target: &Path) {
    /// A writer locks its file soon after creating it, and publishes it soon after unlocking it.
    const YOUNG: Duration = Duration::from_secs(60);
    let (Some(folder), Some(name)) = (target.parent(), target.file_name()) else { return };
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let found = entry.file_name();
        let rest = found.to_str().zip(name.to_str()).and_then(|(found, name)| found.strip_prefix(name));
        let middle = rest.and_then(|rest| rest.strip_prefix('.')?.strip_suffix(".unfinished")?.split_once('.'));
        if !middle.is_some_and(|(process, number)| is_number(process) && is_number(number)) {
            continue;
        }
        let age = entry.metadata().and_then(|metadata| metadata.modified()).ok().and_then(|at| at.elapsed().ok());
        // A live writer in any process holds the lock.
        if age.is_some_and(|age| age > YOUNG)
            && entry.file_type().is_ok_and(|kind| kind.is_file())
            && let Ok(file) = std::fs::OpenOptions::new().write(true).open(entry.path())
            && file.try_lock().is_ok()
        {
            let _ = std::fs::remove_file(entry.path());
            let _ = std::fs::remove_dir_all(parts_of(&entry.path()));
        }
    }
}

/// The folder for parts of an unfinished file.
fn parts_of(unfinished: &Path) -> PathBuf {
    let mut name = unfinished.as_os_str().to_owned();
    name.push(".parts");
    name.into()
}

/// Creates an empty file next to the target that no other process uses.
fn begin(target: &Path) -> Result<PathBuf> {
    /// The most abandoned files to skip before reporting an error.
    const MOST: u32 = 10_000;
    for number in 0..MOST {
        let mut name = target.as_os_str().to_owned();
        name.push(format!(".{}.{number}.unfinished", std::process::id()));
        let made = std::fs::OpenOptions::new().write(true).create_new(true).open(&name);
        match made {
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => {
                return Err(not_made(
                    target,
                    Error::system("cannot create a file beside it", error).in_file(target.to_string_lossy()),
                ));
            }
            Ok(_) => return Ok(name.into()),
        }
    }
    Err(Error::new(ErrorKind::Exists, "too many unfinished files beside it").in_file(target.to_string_lossy()))
}

/// Makes a folder for this user alone.
fn make_private(folder: &Path) -> std::io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// A new folder among the temporary files, for this user alone.
fn temporary_folder() -> Result<PathBuf> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    const MOST: u32 = 10_000;
    let parent = std::env::temp_dir();
    for _ in 0..MOST {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let folder = parent.join(format!("sapwood-{}-{number}", std::process::id()));
        match make_private(&folder) {
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => {
                let error = Error::system("cannot make a folder for the file on its way", error);
                return Err(error.in_words(format!("{} in {}", error.message(), parent.display())));
            }
            Ok(()) => return Ok(folder),
        }
    }
    Err(Error::new(ErrorKind::Exists, format!("too many folders of files on their way in {}", parent.display())))
}

impl Drop for AtomicFile {
    fn drop(&mut self) {
        if let Some(folder) = &self.folder {
            let _ = std::fs::remove_dir_all(folder);
        }
        if self.unfinished.as_os_str().is_empty() {
            return; // it is kept
        }
        // Already renamed if it was published.
        let _ = std::fs::remove_file(&self.unfinished);
        if self.destination.is_some()
            && let Some(folder) = self.unfinished.parent()
        {
            // With what writers put beside the file: the folder was made for it.
            let _ = std::fs::remove_dir_all(folder);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unfinished_files_of_killed_writers_are_removed() -> Result<()> {
        let folder = std::env::temp_dir().join(format!("sapwood-abandoned-{}", std::process::id()));
        std::fs::create_dir_all(&folder)?;
        let made = |name: &str, seconds: u64| -> Result<PathBuf> {
            let path = folder.join(name);
            let file = std::fs::File::create(&path)?;
            file.set_modified(std::time::SystemTime::now() - Duration::from_secs(seconds))?;
            Ok(path)
        };
        let old = made("a.root.123.0.unfinished", 3_600)?;
        let kept = [
            made("a.root.123.1.unfinished", 0)?,
            made("a.root.backup.unfinished", 3_600)?,
            made("b.root.123.0.unfinished", 3_600)?,
            made("a.root.124.0.unfinished", 3_600)?,
            folder.join("a.root.125.0.unfinished"),
        ];
        std::os::unix::fs::symlink(&kept[2], &kept[4])?;
        let writer = LocalFile::update(&kept[3])?;
        drop(AtomicFile::new(folder.join("a.root"), true)?);
        assert!(!old.exists());
        assert!(kept.iter().all(|path| path.exists()), "young ones, other files, and those of writers that are alive");
        drop(writer);
        std::fs::remove_dir_all(&folder)?;
        Ok(())
    }

    #[derive(Debug)]
    struct Post(ErrorKind);

    impl Destination for Post {
        fn name(&self) -> &str {
            "post://a.org/dir/a.root"
        }

        fn publish(&self, finished: &Path) -> Result<()> {
            assert_eq!(std::fs::read(finished)?, b"whole");
            match self.0 {
                ErrorKind::Cancelled => Ok(()),
                kind => Err(Error::new(kind, "no way").because("snow")),
            }
        }
    }

    #[test]
    fn a_file_that_cannot_be_sent_is_kept() -> Result<()> {
        let begun = |kind| -> Result<AtomicFile> {
            let file = AtomicFile::elsewhere(Box::new(Post(kind)))?;
            assert_eq!(file.path().file_name(), Some("a.root".as_ref()));
            std::fs::write(file.path(), "whole")?;
            Ok(file)
        };
        let folder_of = |file: &AtomicFile| file.path().parent().map(Path::to_owned).unwrap_or_default();
        let sent = begun(ErrorKind::Cancelled)?;
        let folder = folder_of(&sent);
        sent.publish()?;
        assert!(!folder.exists());
        let dropped = begun(ErrorKind::Denied)?;
        let folder = folder_of(&dropped);
        drop(dropped);
        assert!(!folder.exists());
        let refused = begun(ErrorKind::Denied)?;
        let (path, folder) = (refused.path().to_owned(), folder_of(&refused));
        let error = refused.publish().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Denied);
        let words = format!("no way; the finished file is kept as {}", path.display());
        assert_eq!(error.to_string(), format!("denied: {words} (file post://a.org/dir/a.root): snow"));
        assert_eq!(std::fs::read(path)?, b"whole");
        std::fs::remove_dir_all(folder)?;
        Ok(())
    }

    #[test]
    fn a_file_being_written_is_not_replaced() -> Result<()> {
        let target = std::env::temp_dir().join(format!("sapwood-staged-{}", std::process::id()));
        let writer = LocalFile::create(&target)?;
        assert_eq!(AtomicFile::new(&target, true).unwrap_err().kind(), ErrorKind::Denied);
        drop(writer);
        let staged = AtomicFile::new(&target, true)?;
        std::fs::write(staged.path(), "begun")?;
        assert_eq!(LocalFile::update(&target).unwrap_err().kind(), ErrorKind::Denied, "nor begun to be written");
        let begun = staged.path().to_owned();
        drop(staged);
        assert!(!begun.exists() && std::fs::read(&target)?.is_empty());
        assert_eq!(AtomicFile::new(&target, false).unwrap_err().kind(), ErrorKind::Exists);
        std::fs::remove_file(&target)?;
        assert!(AtomicFile::new("/dev/null", true).is_err());
        // Two writers for one name do not interfere: the last one wins.
        let (one, two) = (AtomicFile::new(&target, false)?, AtomicFile::new(&target, false)?);
        std::fs::write(one.path(), "one")?;
        std::fs::write(two.path(), "two")?;
        two.publish()?;
        one.publish()?;
        assert_eq!(std::fs::read(&target)?, b"one");
        std::fs::remove_file(&target)?;
        Ok(())
    }
}
