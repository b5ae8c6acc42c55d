//! A remote file as a file of this machine: fetched once, by one process at a time.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use bytes::{Bytes, BytesMut};
use sapwood::io::{ByteRange, Flow, LocalFile, Receive, Store};
use sapwood::{Error, interrupt};
use twox_hash::XxHash64;

use super::about::{About, PART_BYTES};
use super::checked_copy::CheckedCopy;
use super::folder::{Folder, UNFINISHED};
use super::state::State;

/// What is asked for at a time: enough to keep a far link busy.
const PARTS_AT_ONCE: u64 = 16;
/// Another process that fetches the file, but for so long nothing, is not waited for.
const STALL_LIMIT: Duration = Duration::from_secs(30);

/// The copy of the file, if it is kept.
pub(crate) fn kept(folder: &Folder, state: &State) -> Option<CheckedCopy> {
    let about = About::read(&folder.of_state(state, "about")).filter(|about| about.state == *state)?;
    let path = folder.of_state(state, "root");
    let file =
        File::open(&path).ok().filter(|file| file.metadata().is_ok_and(|found| found.len() == about.state.len))?;
    let _ = file.set_modified(SystemTime::now()); // used: what is not, goes first
    Some(CheckedCopy::new(LocalFile::open(&path).ok()?, path, about))
}

/// The copy of the file, fetched unless it is kept, or another process fetches it.
pub(crate) fn fetch(folder: &Folder, state: &State, inner: &dyn Store) -> Result<CheckedCopy, Error> {
    let refused = |words: &'static str| Err(Error::new(sapwood::ErrorKind::Io, words));
    if !folder.is_open() {
        return refused("the folder cannot be used");
    }
    let path = folder.of_state(state, "root");
    let Some(dir) = path.parent() else { return refused("the folder has no name") };
    super::folder::make(dir)?;
    let lock = folder.of_state(state, "lock");
    let lock = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(lock)?;
    let (mut seen, mut since) = (0, Instant::now());
    // File systems without locks: each fetches for itself, under a name of its own.
    while let Err(std::fs::TryLockError::WouldBlock) = lock.try_lock() {
        let now = unfinished_bytes(dir);
        if now != seen {
            (seen, since) = (now, Instant::now());
        }
        if since.elapsed() > STALL_LIMIT {
            return refused("another process fetches the file, and does not get on");
        }
        interrupt::check()?;
        std::thread::sleep(Duration::from_millis(20));
    }
    if let Some(file) = kept(folder, state) {
        return Ok(file); // another process fetched it meanwhile
    }
    download(folder, state, inner, &path)?;
    kept(folder, state).map_or_else(|| refused("the copy was removed meanwhile"), Ok)
}

fn download(folder: &Folder, state: &State, inner: &dyn Store, path: &Path) -> Result<(), Error> {
    let limit = || Error::new(sapwood::ErrorKind::Limit, "the cache may not hold so many bytes");
    if !folder.admit(state.len.saturating_add(1 << 16)) {
        return Err(limit());
    }
    let staged = folder.stage(path)?;
    let free = rustix::fs::fstatvfs(&staged.file).map(|about| about.f_bavail.saturating_mul(about.f_frsize));
    if free.is_ok_and(|free| free < state.len) {
        // Not only once the disk is full, for others as well.
        return Err(io::Error::from(io::ErrorKind::StorageFull).into());
    }
    let mut sums = Vec::new();
    let mut start = 0;
    while start < state.len {
        let parts: Vec<ByteRange> = (0..PARTS_AT_ONCE)
            .map(|part| start + part * PART_BYTES)
            .take_while(|start| *start < state.len)
            .map(|start| start..(start + PART_BYTES).min(state.len))
            .collect();
        let mut basin = Basin { file: &staged.file, sums: vec![None; parts.len()], parts: &parts, error: None };
        let read = inner.read_ranges(&parts, &mut basin);
        if let Some(error) = basin.error {
            return Err(error.into());
        }
        read?;
        for sum in basin.sums {
            sums.push(sum.ok_or_else(|| Error::mismatch("the store did not deliver what was asked for"))?);
        }
        start = parts.last().map_or(state.len, |part| part.end);
    }
    staged.file.sync_data()?;
    let about = About { state: state.clone(), sums }.pack();
    let about = about.ok_or_else(|| Error::mismatch("the name of the file is too long to be kept"))?;
    folder.replace(&folder.of_state(state, "about"), about.as_bytes())?;
    Ok(staged.publish()?)
}

/// What others have fetched so far.
fn unfinished_bytes(dir: &Path) -> u64 {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let unfinished = entries.filter(|entry| entry.path().extension().is_some_and(|end| end == UNFINISHED));
    unfinished.filter_map(|entry| Some(entry.metadata().ok()?.blocks())).sum()
}

/// Writes parts to where they belong.
struct Basin<'a> {
    file: &'a File,
    parts: &'a [ByteRange],
    sums: Vec<Option<u64>>,
    error: Option<io::Error>,
}

impl Receive for Basin<'_> {
    fn buffer(&self, bytes: usize) -> BytesMut {
        BytesMut::zeroed(bytes)
    }

    fn deliver(&mut self, index: usize, bytes: Bytes) -> Flow {
        let (Some(part), Some(sum)) = (self.parts.get(index), self.sums.get_mut(index)) else { return Flow::Go };
        if let Err(error) = self.file.write_all_at(&bytes, part.start) {
            self.error = Some(error);
            return Flow::Stop;
        }
        *sum = (bytes.len() as u64 == part.end - part.start).then(|| XxHash64::oneshot(0, &bytes));
        Flow::Go
    }

    fn stopped(&self) -> bool {
        self.error.is_some()
    }
}
