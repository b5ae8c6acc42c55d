//! Files that a session has open, by the handles that its client knows.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sapwood_store::xrootd_numbers::code;

use super::trouble::Trouble;
use crate::access::Secret;
use crate::files::Files;
use crate::opened::Opened;
use crate::path::Path;

/// Handles of one session,
const MAX_OF_SESSION: usize = 4096;
/// and of all.
const MAX_OF_ALL: usize = 65_536;

/// How a client calls an open file.
pub(super) type Handle = [u8; 4];

/// A file that a client has opened: how to find it, and the state that the client has seen. The file itself is one of
/// those that all clients share, whose number is limited.
pub(super) struct OpenFile {
    pub(super) path: Path,
    /// The client's rights.
    pub(super) secret: Secret,
    pub(super) etag: String,
    pub(super) len: u64,
    pub(super) stat: Vec<u8>,
}

impl OpenFile {
    /// The file, looked at again if that was long ago. A handle stands for one state: if the file has another one now,
    /// it has to be opened again.
    pub(super) async fn current(&self, files: &Arc<Files>) -> Result<Arc<Opened>, Trouble> {
        let opened = files.open(&self.path, &self.secret).await;
        let opened = opened.map_err(|error| Trouble::of(&error, &files.upstream.host))?;
        if opened.etag != self.etag || opened.len != self.len {
            return Err(Trouble::refused(code::INPUT_OUTPUT, "the file changed while it was open; open it again"));
        }
        Ok(opened)
    }
}

/// The open files of a session.
pub(super) struct OpenFiles {
    table: Mutex<Table>,
    /// Handles of all sessions.
    all: Arc<AtomicUsize>,
}

#[derive(Default)]
struct Table {
    next: u32,
    files: HashMap<Handle, Arc<OpenFile>>,
}

impl OpenFiles {
    pub(super) fn new(all: &Arc<AtomicUsize>) -> Self {
        Self { table: Mutex::default(), all: Arc::clone(all) }
    }

    pub(super) fn add(&self, file: OpenFile) -> Result<Handle, Trouble> {
        let mut table = self.table();
        if table.files.len() >= MAX_OF_SESSION || self.all.load(Ordering::Relaxed) >= MAX_OF_ALL {
            return Err(Trouble::refused(code::NO_MEMORY, "too many files are open; close some"));
        }
        // None is used twice: an old one is unknown, and not another file.
        let handle = table.next.to_be_bytes();
        table.next = table.next.wrapping_add(1);
        table.files.insert(handle, Arc::new(file));
        self.all.fetch_add(1, Ordering::Relaxed);
        Ok(handle)
    }

    pub(super) fn get(&self, handle: Handle) -> Option<Arc<OpenFile>> {
        self.table().files.get(&handle).cloned()
    }

    pub(super) fn close(&self, handle: Handle) -> Result<(), Trouble> {
        self.table().files.remove(&handle).ok_or_else(unknown)?;
        self.all.fetch_sub(1, Ordering::Relaxed);
        Ok(())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.table().files.is_empty()
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for OpenFiles {
    fn drop(&mut self) {
        let open = self.table().files.len();
        self.all.fetch_sub(open, Ordering::Relaxed);
    }
}

pub(super) fn unknown() -> Trouble {
    Trouble::refused(code::FILE_NOT_OPEN, "the handle is not that of an open file")
}
