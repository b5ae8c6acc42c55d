//! What the ways to send a file have in common: the file, the steps, and how what arrived is checked.

mod finished;

use std::fmt;

use sapwood::io::Store;
use sapwood::{Error, ErrorKind, Result};

pub(crate) use finished::{Body, Finished};

/// What an upload is doing, for errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Sending,
    Checking,
    Naming,
}

/// A file to be on a server.
pub(crate) trait Remote: fmt::Debug + Send + Sync {
    /// Its URL without secrets.
    fn name(&self) -> &str;

    /// The last part of its path.
    fn file_name(&self) -> &str;

    /// Whether the server has a file of that name.
    fn exists(&self) -> Result<bool>;

    /// Sends a file, checks what arrived and names it, and says each step before it begins. An upload that fails
    /// leaves nothing incomplete under the name, and removes what else it left.
    fn put(&self, file: &Finished, replaces: bool, step: &mut dyn FnMut(Step)) -> Result<()>;
}

/// The error of a file that must not be replaced.
pub(crate) fn exists() -> Error {
    Error::new(ErrorKind::Exists, "there is a file of that name")
}

/// Compares both ends of what a store has with the file that was sent.
pub(crate) fn check_ends(sent: &Finished, there: &dyn Store) -> Result<()> {
    const END_BYTES: usize = 64 << 10;
    let found = there.ends(END_BYTES, END_BYTES)?;
    check_bytes(sent, found.identity.len)?;
    let (head, tail) = (found.head.len() as u64, found.tail.len() as u64);
    if sent.read(0..head)? != found.head || sent.read(sent.bytes - tail.min(sent.bytes)..sent.bytes)? != found.tail {
        return Err(Error::new(ErrorKind::Checksum, "the server has other bytes"));
    }
    Ok(())
}

/// Compares the length that a server says with that of the file that was sent.
pub(crate) fn check_bytes(sent: &Finished, found: u64) -> Result<()> {
    if found == sent.bytes {
        return Ok(());
    }
    Err(Error::new(ErrorKind::Checksum, "the server has another length").wanted(sent.bytes, found))
}

/// Compares a checksum that a server says.
pub(crate) fn check_adler32(sent: &Finished, said: &str) -> Result<()> {
    let found = u32::from_str_radix(said.trim(), 16);
    let found = found.map_err(|_| Error::new(ErrorKind::Io, "the server says no checksum"))?;
    let expected = sent.adler32()?;
    if found == expected {
        return Ok(());
    }
    let words = format!("the server has another checksum: {found:08x} instead of {expected:08x} (Adler-32)");
    Err(Error::new(ErrorKind::Checksum, words))
}

/// A name beside that of a file, for as long as it is incomplete.
pub(crate) fn unfinished(name: &str) -> String {
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::time::{SystemTime, UNIX_EPOCH};
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_nanos() as u64);
    // Two machines write at the same moment rarely, and hardly with the same process number.
    let mark = now ^ u64::from(std::process::id()).rotate_left(40);
    format!("{name}.{mark:016x}.{}.unfinished", NEXT.fetch_add(1, Ordering::Relaxed))
}
