//! Clusters that are sealed while the next is filled.
//!
//! At most one of a file is on its way: whatever else is written waits for it, so that what stands where does not depend on the
//! number of threads. Source: `TTree::FlushBaskets` with `ROOT::EnableImplicitMT`.

use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use super::commit::{Cluster, Committer, Outcome};
use crate::error::{Error, ErrorKind, Result};

/// Where the last cluster of a tree is.
#[derive(Debug, Default)]
pub(super) enum Flight {
    /// Nowhere: it is committed, or there was none.
    #[default]
    None,
    /// With the threads of the pool.
    Away(Receiver<(Cluster, Outcome)>),
    /// Here again: storage did not take it.
    Back(Cluster),
}

/// Whether a cluster of a file is on its way.
#[derive(Debug, Default)]
pub(super) struct Airspace {
    is_taken: Mutex<bool>,
    is_free: Condvar,
}

impl Airspace {
    /// Waits until no cluster is on its way.
    pub(super) fn wait(&self) {
        let taken = self.is_taken.lock().unwrap_or_else(PoisonError::into_inner);
        drop(self.is_free.wait_while(taken, |taken| *taken).unwrap_or_else(PoisonError::into_inner));
    }

    fn take(&self) {
        let taken = self.is_taken.lock().unwrap_or_else(PoisonError::into_inner);
        *self.is_free.wait_while(taken, |taken| *taken).unwrap_or_else(PoisonError::into_inner) = true;
    }

    fn leave(&self) {
        *self.is_taken.lock().unwrap_or_else(PoisonError::into_inner) = false;
        self.is_free.notify_all();
    }
}

/// Leaves the airspace, whatever happens on the way.
struct Seat(Arc<Committer>);

impl Drop for Seat {
    fn drop(&mut self) {
        self.0.shared.airspace.leave();
    }
}

impl Flight {
    /// Sends a cluster to storage: on its own where there are threads for it, else at once.
    pub(super) fn depart(committer: &Arc<Committer>, mut cluster: Cluster) -> Self {
        let (sender, receiver) = sync_channel(1);
        match committer.pool() {
            Some(pool) => {
                committer.shared.airspace.take();
                let seat = Seat(Arc::clone(committer));
                pool.spawn(move || {
                    let outcome = seat.0.commit(&mut cluster);
                    drop(seat);
                    // Nobody waits where the writer is gone.
                    let _ = sender.send((cluster, outcome));
                });
            }
            None => {
                committer.shared.airspace.wait();
                let outcome = committer.commit(&mut cluster);
                let _ = sender.send((cluster, outcome));
            }
        }
        Self::Away(receiver)
    }

    /// Waits until the cluster is committed; one that came back sets off again. Gives the memory of its rows.
    ///
    /// # Errors
    ///
    /// What the sink reports: the cluster is here then. What can never be written is dropped.
    pub(super) fn land(&mut self, committer: &Arc<Committer>) -> Result<Option<Cluster>> {
        let receiver = match std::mem::take(self) {
            Self::None => return Ok(None),
            Self::Away(receiver) => receiver,
            Self::Back(cluster) => match Self::depart(committer, cluster) {
                Self::Away(receiver) => receiver,
                _ => return Ok(None),
            },
        };
        let died = || Error::new(ErrorKind::Io, "a thread that sealed baskets died").in_object(&committer.name);
        match receiver.recv().map_err(|_| died())? {
            (cluster, Outcome::Committed(saved)) => saved.map(|()| Some(cluster)),
            (cluster, Outcome::Kept(error)) => {
                *self = Self::Back(cluster);
                Err(error)
            }
            (_, Outcome::Dropped(error)) => Err(error),
        }
    }
}
