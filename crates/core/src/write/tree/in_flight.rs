//! Clusters that are sealed while the next is filled.
//!
//! At most one per file is in flight: everything else that is written waits for it, so that the layout of the file does
//! not depend on the number of threads. Source: `TTree::FlushBaskets` with `ROOT::EnableImplicitMT`.

use std::sync::mpsc::{Receiver, TryRecvError, sync_channel};
use std::sync::{Arc, PoisonError};

use crate::error::{Error, Result};
use crate::interrupt::{self, Stop};
use crate::write::commit::sync::yield_now;
use crate::write::tree::commit::{Cluster, CommitPath, Committer, Outcome};

/// The state of the last cluster of a tree.
#[derive(Debug, Default)]
pub(crate) enum InFlight {
    /// It is committed, or there was none.
    #[default]
    None,
    /// The thread pool is committing so many rows, unless it is told to stop.
    Running(Receiver<(Cluster, Outcome)>, Stop, usize),
    /// It is finished; its outcome was not taken yet.
    Done(Box<(Cluster, Outcome)>),
    /// Writing it failed: it is kept for a retry.
    Failed(Cluster),
}

/// Marks a cluster of the file as in flight until it is dropped, even by a panic.
struct InFlightGuard(Arc<Committer>);

impl InFlightGuard {
    /// Waits until no cluster of the file is in flight.
    fn acquire(committer: &Arc<Committer>) -> Result<Self> {
        committer.output.open_state()?.in_flight = true;
        Ok(Self(Arc::clone(committer)))
    }
}

impl Drop for InFlightGuard {
    fn drop(&mut self) {
        let output = &self.0.output;
        output.state.lock().unwrap_or_else(PoisonError::into_inner).in_flight = false;
        output.commit_done.notify_all();
    }
}

impl InFlight {
    /// Starts committing a cluster: on the thread pool if there is one, else at once. Trees that many threads fill use
    /// `commit_path`.
    pub(crate) fn start(
        committer: &Arc<Committer>,
        commit_path: Option<&dyn CommitPath>,
        mut cluster: Cluster,
    ) -> Self {
        if let Some(commit_path) = commit_path {
            let outcome = commit_path.commit(&mut cluster);
            return Self::Done(Box::new((cluster, outcome)));
        }
        let guard = match InFlightGuard::acquire(committer) {
            Ok(guard) => guard,
            Err(error) => return Self::Done(Box::new((cluster, Outcome::Kept(error)))),
        };
        let (stop, rows) = (Stop::default(), cluster.rows);
        let heeded = stop.clone();
        let run = move |is_on_pool: bool| {
            let pool = guard.0.threads().filter(|_| is_on_pool);
            let outcome = guard.0.commit(&mut cluster, pool.map(|pool| (pool, &heeded)));
            drop(guard);
            (cluster, outcome)
        };
        // A thread of any pool that waited for this one would meanwhile take up other work of its own, which may wait
        // for this very cluster.
        match committer.pool() {
            Some(pool) => {
                let (sender, receiver) = sync_channel(1);
                // The receiver is gone if the writer was dropped.
                pool.spawn(move || drop(sender.send(run(true))));
                Self::Running(receiver, stop, rows)
            }
            None => Self::Done(Box::new(run(false))),
        }
    }

    /// Waits until the cluster is committed; a failed one is started again. Returns the memory of its rows.
    ///
    /// # Errors
    ///
    /// What the sink reports: the cluster is kept for a retry then. What can never be written is dropped. What ends
    /// the wait: then the cluster stays in flight.
    pub(crate) fn wait(
        &mut self,
        committer: &Arc<Committer>,
        commit_path: Option<&dyn CommitPath>,
    ) -> Result<Option<Cluster>> {
        let flight = match std::mem::take(self) {
            Self::Failed(cluster) => Self::start(committer, commit_path, cluster),
            flight => flight,
        };
        let (cluster, outcome) = match flight {
            Self::None | Self::Failed(_) => return Ok(None),
            Self::Done(done) => *done,
            Self::Running(receiver, stop, rows) => match receive(&receiver) {
                Ok(answer) => answer.ok_or_else(|| {
                    Error::internal("a thread that sealed baskets gave no answer").in_object(&committer.name)
                })?,
                // The wait has ended, and the cluster is still on its way.
                Err(interrupted) => {
                    *self = Self::Running(receiver, stop, rows);
                    return Err(interrupted);
                }
            },
        };
        match outcome {
            Outcome::Committed(saved) => saved.map(|()| Some(cluster)),
            Outcome::Kept(error) => {
                *self = Self::Failed(cluster);
                Err(error)
            }
            Outcome::Dropped(error) => Err(error),
        }
    }

    /// Begins no further basket of the cluster: it is not needed.
    pub(crate) fn stop(&self) {
        if let Self::Running(_, stop, _) = self {
            stop.set();
        }
    }

    /// Rows of a cluster that is not committed yet, as far as is known.
    pub(crate) fn rows(&self) -> usize {
        match self {
            Self::Running(_, _, rows) => *rows,
            Self::Failed(cluster) => cluster.rows,
            Self::None | Self::Done(_) => 0,
        }
    }

    /// Takes the cluster whose write failed.
    pub(crate) fn take_failed(&mut self) -> Option<Cluster> {
        match std::mem::take(self) {
            Self::Failed(cluster) => Some(cluster),
            other => {
                *self = other;
                None
            }
        }
    }

    /// Whether writing the cluster failed.
    pub(crate) fn has_failed(&self) -> bool {
        matches!(self, Self::Failed(_))
    }
}

/// Receives what a pool thread sends.
fn receive<T>(receiver: &Receiver<T>) -> Result<Option<T>> {
    while rayon::current_thread_index().is_some() {
        // The cluster may wait for this very thread.
        match receiver.try_recv() {
            Err(TryRecvError::Empty) => yield_now(),
            received => return Ok(received.ok()),
        }
    }
    interrupt::receive(receiver)
}
