//! How many reads of the upstream may be in progress, in all and for one file.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use sapwood::{Error, ErrorKind, Result};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use crate::metrics::Metrics;
use crate::path::Path;

/// Reads of the upstream at a time. Each blocks a thread. There are so many because a server that does not answer keeps
/// its readers for as long as the time-out lasts, and readers of other servers and files go on meanwhile.
pub(crate) const ALL: usize = 256;
/// Of these, reads of one file.
const OF_ONE_FILE: usize = 16;
/// A read that gets no thread for so long is refused, and its client told to come again.
const WAIT: Duration = Duration::from_secs(10);
/// Files that are remembered before those without a reader are forgotten.
const FILES: usize = 1024;

/// The limits, for all files of an upstream.
pub(crate) struct UpstreamReads {
    all: Arc<Semaphore>,
    files: Mutex<HashMap<Path, Weak<Semaphore>>>,
    metrics: Arc<Metrics>,
}

/// The limit of one file, whatever its readers present.
#[derive(Clone)]
pub(crate) struct FileReads(Arc<Semaphore>);

impl UpstreamReads {
    pub(crate) fn new(metrics: &Arc<Metrics>) -> Self {
        Self { all: Arc::new(Semaphore::new(ALL)), files: Mutex::default(), metrics: Arc::clone(metrics) }
    }

    /// The limit of the file at this path.
    pub(crate) fn of_file(&self, path: &Path) -> FileReads {
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = files.get(path).and_then(Weak::upgrade) {
            return FileReads(found);
        }
        if files.len() >= FILES {
            files.retain(|_, reads| reads.strong_count() > 0);
        }
        let reads = Arc::new(Semaphore::new(OF_ONE_FILE));
        files.insert(path.clone(), Arc::downgrade(&reads));
        FileReads(reads)
    }

    /// Runs `work`, which may wait for the upstream, in a thread. It counts against both limits until it ends, whether
    /// or not it is still awaited: the thread is taken for so long.
    ///
    /// # Errors
    ///
    /// [`Cancelled`](ErrorKind::Cancelled) where no thread is free, and those of `work`.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        file: &FileReads,
        work: impl FnOnce() -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let _waiting = Waiting::new(&self.metrics);
        let of_file = acquire(&file.0).await?;
        let words = "the proxy waits for as many reads of its upstream as it may; try again later";
        let of_all = timeout(WAIT, acquire(&self.all)).await;
        let of_all = of_all.map_err(|_| Error::new(ErrorKind::Cancelled, words))??;
        let in_thread = move || {
            let done = work();
            drop((of_file, of_all));
            done
        };
        spawn_blocking(in_thread).await.map_err(|_| ending())?
    }
}

async fn acquire(semaphore: &Arc<Semaphore>) -> Result<OwnedSemaphorePermit> {
    Arc::clone(semaphore).acquire_owned().await.map_err(|_| ending())
}

/// The error of a task that was stopped because the proxy ends.
pub(crate) fn ending() -> Error {
    Error::new(ErrorKind::Cancelled, "the proxy is ending")
}

/// Metrics a read that clients wait for.
struct Waiting(Arc<Metrics>);

impl Waiting {
    fn new(metrics: &Arc<Metrics>) -> Self {
        metrics.fetching.add(1);
        Self(Arc::clone(metrics))
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.fetching.sub(1);
    }
}
