//! The size limit of a cache: files that were not used for the longest time are removed first.

use std::collections::HashMap;
use std::fs::{File, Metadata, OpenOptions};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};
use std::time::SystemTime;

use crate::CacheKind;

/// After so many parts of its limit that this process has written, what others wrote is looked at, too.
const LOOKS: u64 = 64;
/// What is made free beyond what is needed, as a part of the limit: not every write should have to look.
const SPARE: u64 = 32;
/// Estimates of so many folders are kept.
const FOLDERS: usize = 64;

/// A file of a cache.
#[derive(Clone, Debug)]
pub(crate) struct Kept {
    pub(crate) path: PathBuf,
    /// What it takes on storage: files of blocks have holes.
    pub(crate) bytes: u64,
    /// When it was last read or written.
    pub(crate) used: SystemTime,
}

/// What a process assumes of a folder.
#[derive(Default)]
struct Belief {
    looked: bool,
    /// On storage, ours and others'.
    bytes: u64,
    /// Written by this process since it looked.
    since: u64,
    /// Files that it has removed.
    removed: u64,
}

/// One for each folder, shared by all stores of the process: else each would have to look.
static BELIEFS: Mutex<Option<HashMap<PathBuf, Arc<Mutex<Belief>>>>> = Mutex::new(None);

/// Makes room for `bytes` more in a folder that may hold `most`; false where there is none.
pub(crate) fn admit(dir: &Path, most: u64, bytes: u64) -> bool {
    let Some(belief) = belief(dir) else { return false };
    let Some(mut belief) = now(&belief) else { return false };
    let after = |belief: &Belief| belief.bytes.saturating_add(bytes);
    if bytes > most {
        return false;
    }
    if !belief.looked || after(&belief) > most || belief.since.saturating_add(bytes) > (most / LOOKS).max(1) {
        let (left, removed) = sweep(dir, most, bytes);
        belief.bytes = left;
        belief.removed += removed;
        (belief.since, belief.looked) = (0, true);
    }
    if after(&belief) > most {
        return false;
    }
    belief.bytes = after(&belief);
    belief.since = belief.since.saturating_add(bytes);
    true
}

/// How many files of a cache this process has removed to make room: pieces of 16 MB, whole files, and what describes
/// them.
///
/// # Example
///
/// ```
/// assert_eq!(sapwood_store::evictions("no such cache"), 0);
/// ```
pub fn evictions(dir: impl AsRef<Path>) -> u64 {
    belief(dir.as_ref()).and_then(|belief| now(&belief).map(|belief| belief.removed)).unwrap_or(0)
}

fn belief(dir: &Path) -> Option<Arc<Mutex<Belief>>> {
    let mut beliefs = now(&BELIEFS)?;
    let beliefs = beliefs.get_or_insert_default();
    if beliefs.len() >= FOLDERS {
        beliefs.clear();
    }
    Some(Arc::clone(beliefs.entry(dir.to_owned()).or_default()))
}

/// The lock, if it can be had soon. In a child that was forked it may be held by a thread that does not exist; then
/// nothing is kept.
fn now<T>(mutex: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    for _ in 0..200 {
        match mutex.try_lock() {
            Ok(guard) => return Some(guard),
            Err(TryLockError::Poisoned(poisoned)) => return Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => std::thread::sleep(std::time::Duration::from_millis(5)),
        }
    }
    None
}

/// Removes what was not used for the longest time until `more` bytes fit; gives what is there then, and how many files
/// went.
fn sweep(dir: &Path, most: u64, more: u64) -> (u64, u64) {
    let mut kept = files(dir);
    let mut total = kept.iter().fold(0_u64, |sum, file| sum.saturating_add(file.bytes));
    if total.saturating_add(more) <= most {
        return (total, 0);
    }
    // One process at a time: two would remove twice as much.
    let lock = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(dir.join("sapwood.lock"));
    if lock.as_ref().is_ok_and(|lock: &File| matches!(lock.try_lock(), Err(std::fs::TryLockError::WouldBlock))) {
        return (total, 0);
    }
    let goal = (most - most / SPARE).saturating_sub(more);
    // What describes a whole file goes with it: by itself it is as old as the day on which the file was fetched.
    kept.retain(|file| !is_beside(&file.path));
    kept.sort_by_key(|file| file.used);
    let mut removed = 0;
    for file in kept {
        if total <= goal {
            break;
        }
        if remove(&file.path) {
            total = total.saturating_sub(file.bytes);
            removed += 1;
        }
    }
    (total, removed)
}

/// Whether a file says something of another one that is there.
fn is_beside(path: &Path) -> bool {
    let ending = path.extension().and_then(|ending| ending.to_str());
    matches!(ending, Some("about" | "lock")) && path.with_extension("root").exists()
}

/// Removes a file and what describes it, and its folder if it was the last.
pub(crate) fn remove(path: &Path) -> bool {
    let removed = std::fs::remove_file(path).is_ok();
    if path.extension().is_some_and(|ending| ending == "root") {
        for beside in ["about", "lock"] {
            let _ = std::fs::remove_file(path.with_extension(beside));
        }
    }
    if let Some(parent) = path.parent() {
        let _ = std::fs::remove_dir(parent); // fails as long as something is in it
    }
    removed
}

/// All files of the caches in a folder. What has another name than a cache would give it is left alone.
pub(crate) fn files(dir: &Path) -> Vec<Kept> {
    let mut found = Vec::new();
    for kind in [CacheKind::Blocks, CacheKind::Whole] {
        for (folder, _) in entries(&kind.folder(dir)).filter(|(path, about)| about.is_dir() && is_number(path)) {
            for (path, about) in entries(&folder).filter(|(path, about)| about.is_file() && is_ours(path)) {
                let used = about.modified().unwrap_or(SystemTime::UNIX_EPOCH);
                found.push(Kept { path, bytes: about.blocks().saturating_mul(512), used });
            }
        }
    }
    found
}

/// What a folder has in it; links are not followed.
fn entries(path: &Path) -> impl Iterator<Item = (PathBuf, Metadata)> {
    std::fs::read_dir(path)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| Some((entry.path(), entry.metadata().ok()?)))
}

fn is_number(path: &Path) -> bool {
    path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.len() == 32 && is_hex(name))
}

fn is_ours(path: &Path) -> bool {
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else { return false };
    let first = name.split('.').next().unwrap_or_default();
    first == "ends" || (first.len() == 32 && is_hex(first))
}

fn is_hex(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn the_oldest_goes_first_and_nothing_that_is_not_ours() {
        let dir = std::env::temp_dir().join(format!("sapwood-quota-{}", std::process::id()));
        let folder = CacheKind::Blocks.folder(&dir).join("0".repeat(32));
        std::fs::create_dir_all(&folder).unwrap();
        let name = |i: u32| folder.join(format!("{i:032x}.00000000.blocks"));
        for i in 0..10 {
            std::fs::write(name(i), vec![1; 100_000]).unwrap();
            // The higher its number, the older.
            let time = SystemTime::now() - Duration::from_secs(u64::from(i) * 100);
            File::options().write(true).open(name(i)).unwrap().set_modified(time).unwrap();
        }
        let others = [folder.join("photo.jpg"), dir.join("photo.jpg")];
        for other in &others {
            std::fs::write(other, vec![1; 900_000]).unwrap();
        }
        assert_eq!(files(&dir).len(), 10);
        assert!(!admit(&dir, 600_000, 600_001));
        // While another process makes room, nothing is removed, and nothing added.
        let lock = File::create(dir.join("sapwood.lock")).unwrap();
        lock.lock().unwrap();
        assert!(!admit(&dir, 600_000, 100_000) && files(&dir).len() == 10);
        drop(lock);
        assert!(admit(&dir, 600_000, 100_000));
        let left: Vec<u32> = (0..10).filter(|i| name(*i).exists()).collect();
        assert!(left == [0, 1, 2, 3], "{left:?}");
        assert_eq!(evictions(&dir), 6);
        assert!(others.iter().all(|other| other.exists()));
        std::fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn what_describes_a_file_stays_as_long_as_it_and_goes_with_it() {
        let dir = std::env::temp_dir().join(format!("sapwood-quota-about-{}", std::process::id()));
        let folder = CacheKind::Whole.folder(&dir).join("0".repeat(32));
        std::fs::create_dir_all(&folder).unwrap();
        let name = |i: u32, ending: &str| folder.join(format!("{i:032x}.{ending}"));
        let put = |path: &Path, bytes: usize, age: u64| {
            std::fs::write(path, vec![1; bytes]).unwrap();
            let time = SystemTime::now() - Duration::from_secs(age);
            File::options().write(true).open(path).unwrap().set_modified(time).unwrap();
        };
        for (i, age) in [(0, 10), (1, 500)] {
            put(&name(i, "about"), 5_000, 10_000);
            put(&name(i, "lock"), 0, 10_000);
            put(&name(i, "root"), 200_000, age);
        }
        assert!(admit(&dir, 500_000, 200_000));
        let there = |i| ["root", "about", "lock"].map(|ending| name(i, ending).exists());
        assert_eq!((there(0), there(1)), ([true; 3], [false; 3]));
        std::fs::remove_dir_all(dir).unwrap();
    }
}
