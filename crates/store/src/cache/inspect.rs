//! What a cache holds, whether it is what it was, and how it is emptied.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::SystemTime;

use sapwood::{Error, Result};
use twox_hash::XxHash64;

use super::about::{About, PART_BYTES};
use super::folder::UNFINISHED;
use super::head_tail::KeptEnds;
use super::quota::{self, Kept};
use super::segment::{BLOCK_BYTES, BLOCKS, HEAD_BYTES, Segment, Table, parse_head};
use super::state::State;
use crate::CacheKind;

/// A state of a remote file in a cache.
///
/// # Example
///
/// ```
/// let none = std::env::temp_dir().join("no-such-sapwood-cache");
/// assert!(sapwood_store::list_cache(none)?.is_empty());
/// # Ok::<(), sapwood::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CachedFile {
    /// Its URL, without secrets. Empty where damage hides which file it was.
    pub name: String,
    /// Blocks, or the whole file.
    pub kind: CacheKind,
    /// Bytes of the remote file.
    pub len: u64,
    /// What its server calls its state. None where it did not name it, and the ends are compared.
    pub validator: Option<String>,
    /// Bytes of it that are kept.
    pub kept_bytes: u64,
    /// What that takes on storage.
    pub stored_bytes: u64,
    /// When it was last read or written.
    pub used: SystemTime,
    /// Blocks, parts or descriptions that are not what they were. Looked for by [`verify_cache`] only.
    pub damaged: u64,
}

/// What was removed from a cache.
///
/// # Example
///
/// ```
/// let none = std::env::temp_dir().join("no-such-sapwood-cache");
/// assert_eq!(sapwood_store::clear_cache(none)?.files, 0);
/// # Ok::<(), sapwood::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Cleared {
    /// Files of the cache.
    pub files: u64,
    /// What they took on storage.
    pub bytes: u64,
}

/// What the cache in a folder holds, by name.
///
/// # Errors
///
/// What reading the folder reports, but for one that is not there.
///
/// # Example
///
/// ```
/// use sapwood::io::{MemoryStore, Store};
/// use sapwood_store::{BlockCache, CacheKind, CacheOptions, list_cache};
/// # let folder = std::env::temp_dir().join(format!("sapwood-doc-list-{}", std::process::id()));
/// let options = CacheOptions::new(CacheKind::Blocks, &folder);
/// BlockCache::new(MemoryStore::new("x", "hello"), "https://me:secret@example.org/x", &options).ends(5, 5)?;
/// assert_eq!(list_cache(&folder)?[0].name, "https://example.org/x");
/// # std::fs::remove_dir_all(folder).ok();
/// # Ok::<(), sapwood::Error>(())
/// ```
pub fn list_cache(dir: impl AsRef<Path>) -> Result<Vec<CachedFile>> {
    gather(dir.as_ref(), false)
}

/// [`list_cache`], and compares all that is kept with its checksums. Blocks that are damaged are never served; a whole
/// file that is, is removed, so that the next reader fetches it anew.
///
/// # Errors
///
/// Those of [`list_cache`].
///
/// # Example
///
/// ```
/// # let folder = std::env::temp_dir().join("no-such-sapwood-cache");
/// assert!(sapwood_store::verify_cache(folder)?.iter().all(|file| file.damaged == 0));
/// # Ok::<(), sapwood::Error>(())
/// ```
pub fn verify_cache(dir: impl AsRef<Path>) -> Result<Vec<CachedFile>> {
    gather(dir.as_ref(), true)
}

/// Removes all that the cache in a folder holds. Readers that use it meanwhile go on, and fetch again what is gone.
///
/// # Errors
///
/// Those of [`list_cache`], and what removing the files reports; all others are removed then.
///
/// # Example
///
/// ```
/// use sapwood::io::{MemoryStore, Store};
/// use sapwood_store::{BlockCache, CacheKind, CacheOptions, clear_cache, list_cache};
/// # let folder = std::env::temp_dir().join(format!("sapwood-doc-clear-{}", std::process::id()));
/// let options = CacheOptions::new(CacheKind::Blocks, &folder);
/// BlockCache::new(MemoryStore::new("x", "hello"), "x", &options).ends(5, 5)?;
/// assert_eq!(clear_cache(&folder)?.files, 1);
/// assert!(list_cache(&folder)?.is_empty());
/// # std::fs::remove_dir_all(folder).ok();
/// # Ok::<(), sapwood::Error>(())
/// ```
pub fn clear_cache(dir: impl AsRef<Path>) -> Result<Cleared> {
    let mut cleared = Cleared::default();
    let mut left = None;
    for file in there(dir.as_ref())? {
        if quota::remove(&file.path) {
            cleared.files += 1;
            cleared.bytes += file.bytes;
        } else if file.path.exists() {
            left = Some(file.path);
        }
    }
    match left {
        Some(path) => Err(Error::new(sapwood::ErrorKind::Denied, "cannot be removed").in_file(path.to_string_lossy())),
        None => Ok(cleared),
    }
}

fn there(dir: &Path) -> Result<Vec<Kept>> {
    match std::fs::read_dir(dir) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(Error::from(error).in_file(dir.to_string_lossy()))
        }
        _ => Ok(quota::files(dir)),
    }
}

/// What one file of a cache adds to a state.
struct Found {
    state: Option<State>,
    kept_bytes: u64,
    damaged: u64,
}

fn gather(dir: &Path, verify: bool) -> Result<Vec<CachedFile>> {
    let mut states: BTreeMap<(String, &'static str, u64, String), CachedFile> = BTreeMap::new();
    for file in there(dir)? {
        let path = file.path.to_string_lossy();
        let (kind, found) = if path.ends_with(".blocks") {
            (CacheKind::Blocks, of_segment(&file.path, verify))
        } else if path.ends_with(".root") {
            let found = of_whole(&file.path, verify);
            if verify && found.as_ref().is_some_and(|found| found.damaged > 0) {
                std::fs::remove_file(&file.path)?;
            }
            (CacheKind::Whole, found)
        } else if path.ends_with("/ends") {
            let whole = path.contains("/sapwood-whole-");
            (if whole { CacheKind::Whole } else { CacheKind::Blocks }, of_ends(&file.path))
        } else if path.ends_with(UNFINISHED) || path.ends_with(".lock") || path.ends_with(".about") {
            continue; // on its way, or beside what was counted
        } else {
            continue;
        };
        let Some(found) = found else { continue }; // removed meanwhile
        let state = found.state.unwrap_or(State { name: String::new(), len: 0, proof: String::new() });
        let key = (state.name.clone(), kind.as_str(), state.len, state.proof.clone());
        let entry = states.entry(key).or_insert_with(|| CachedFile {
            validator: state.proof.strip_prefix("v:").map(str::to_owned),
            name: state.name,
            kind,
            len: state.len,
            kept_bytes: 0,
            stored_bytes: 0,
            used: file.used,
            damaged: 0,
        });
        entry.kept_bytes += found.kept_bytes;
        entry.stored_bytes += file.bytes;
        entry.used = entry.used.max(file.used);
        entry.damaged += found.damaged;
    }
    Ok(states.into_values().collect())
}

const UNKNOWN: Option<Found> = Some(Found { state: None, kept_bytes: 0, damaged: 1 });

fn of_ends(path: &Path) -> Option<Found> {
    match KeptEnds::read(File::open(path).ok()?) {
        Some(kept) => Some(Found { state: Some(kept.state), kept_bytes: 0, damaged: 0 }),
        None => UNKNOWN,
    }
}

fn of_segment(path: &Path, verify: bool) -> Option<Found> {
    let file = File::open(path).ok()?;
    let mut head = vec![0; HEAD_BYTES];
    let Some((state, number)) = file.read_exact_at(&mut head, 0).ok().and_then(|()| parse_head(&head)) else {
        return UNKNOWN;
    };
    let segment = Segment::of_file(file, &state, number);
    let mut table = Table::default();
    let mut found = Found { state: None, kept_bytes: 0, damaged: 0 };
    let first = number.saturating_mul(BLOCKS);
    let mut bytes = vec![0; BLOCK_BYTES as usize];
    for slot in 0..BLOCKS {
        if table.sum(&segment, slot).is_none() {
            continue;
        }
        let start = first.saturating_add(slot).saturating_mul(BLOCK_BYTES);
        let length = state.len.saturating_sub(start).min(BLOCK_BYTES);
        found.kept_bytes += length;
        let here = bytes.get_mut(..length as usize).unwrap_or_default();
        if length == 0 || (verify && segment.read(slot, &mut table, here).first() != Some(&true)) {
            found.damaged += 1;
        }
    }
    Some(Found { state: Some(state), ..found })
}

fn of_whole(path: &Path, verify: bool) -> Option<Found> {
    let mut file = File::open(path).ok()?;
    let Some(about) = About::read(&path.with_extension("about")) else { return UNKNOWN };
    let kept_bytes = file.metadata().ok()?.len();
    let mut damaged = u64::from(kept_bytes != about.state.len);
    if verify {
        let mut part = Vec::new();
        for sum in &about.sums {
            part.clear();
            let read = file.by_ref().take(PART_BYTES).read_to_end(&mut part);
            damaged += u64::from(read.is_err() || XxHash64::oneshot(0, &part) != *sum);
        }
    }
    Some(Found { state: Some(about.state), kept_bytes, damaged })
}
