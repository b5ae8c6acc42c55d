//! Sessions: what a login begins, and further connections join.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use sapwood_store::xrootd_numbers::{MAX_PATHS, code};
use tokio::sync::watch;

use super::open_files::OpenFiles;
use super::trouble::Trouble;
use super::writer::Writer;
use crate::access::Secret;

/// How a session is called: who knows it may join it.
pub(super) type SessionId = [u8; 16];

/// A client that is logged in.
pub(super) struct Session {
    pub(super) id: SessionId,
    /// The client's rights.
    pub(super) secret: Secret,
    pub(super) files: OpenFiles,
    /// Whether the login came over TLS: further connections have to, then.
    pub(super) is_tls: bool,
    pub(super) peer: IpAddr,
    /// Further connections.
    paths: Mutex<[Option<Arc<Writer>>; MAX_PATHS]>,
    /// True once it is to end.
    ended: watch::Sender<bool>,
}

impl Session {
    /// The further connection of this number.
    pub(super) fn path(&self, number: u8) -> Result<Arc<Writer>, Trouble> {
        let paths = lock(&self.paths);
        let path = usize::from(number).checked_sub(1).and_then(|at| paths.get(at)).cloned().flatten();
        path.ok_or_else(|| Trouble::refused(code::INVALID_ARGUMENT, "no connection of this path is bound"))
    }

    /// Takes a further connection, and returns its number.
    pub(super) fn bind(&self, writer: &Arc<Writer>) -> Result<u8, Trouble> {
        let mut paths = lock(&self.paths);
        for (number, path) in (1..).zip(paths.iter_mut()) {
            if path.is_none() {
                *path = Some(Arc::clone(writer));
                return Ok(number);
            }
        }
        Err(Trouble::refused(code::NO_MEMORY, "too many connections of one session"))
    }

    pub(super) fn unbind(&self, number: u8) {
        let mut paths = lock(&self.paths);
        if let Some(path) = usize::from(number).checked_sub(1).and_then(|at| paths.get_mut(at)) {
            *path = None;
        }
    }

    pub(super) fn end(&self) {
        self.ended.send_replace(true);
    }

    /// Changes, or closes, when the session ends.
    pub(super) fn ended(&self) -> watch::Receiver<bool> {
        self.ended.subscribe()
    }
}

/// All sessions.
#[derive(Default)]
pub(super) struct Sessions {
    by_id: Mutex<HashMap<SessionId, Weak<Session>>>,
    handles: Arc<AtomicUsize>,
}

impl Sessions {
    pub(super) fn begin(&self, id: SessionId, secret: Secret, is_tls: bool, peer: IpAddr) -> Arc<Session> {
        let (ended, _) = watch::channel(false);
        let files = OpenFiles::new(&self.handles);
        let session = Arc::new(Session { id, secret, files, is_tls, peer, paths: Mutex::default(), ended });
        lock(&self.by_id).insert(id, Arc::downgrade(&session));
        session
    }

    pub(super) fn get(&self, id: &SessionId) -> Option<Arc<Session>> {
        lock(&self.by_id).get(id).and_then(Weak::upgrade)
    }

    pub(super) fn forget(&self, id: &SessionId) {
        lock(&self.by_id).remove(id);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
