//! How a tree that is written ends: closed, discarded, or dropped.

use crate::error::{Error, ErrorKind, Result};
use crate::write::tree::TreeWriter;
use crate::write::tree::commit::{Cluster, Committer, Outcome};

impl TreeWriter {
    /// Writes the buffered rows; the tree is visible to every reader once its file is saved or closed.
    ///
    /// # Errors
    ///
    /// Those of [`flush`](Self::flush), and rows whose write failed are lost: flush first to be able to retry. Rows of
    /// a context of a [`ParallelWriter`](crate::write::ParallelWriter) are not: they stay with its tree, which tries
    /// again with the next commit, when it is saved, and when it is closed. [`Mismatch`](crate::ErrorKind::Mismatch) if
    /// branches were added to a tree and got fewer entries than it has: they are not in the tree then. What ends the
    /// wait ([`interrupt`](crate::interrupt)): then rows that wait are given up, and clusters that were written stay.
    pub fn close(mut self) -> Result<()> {
        let flushed = self.flush();
        if self.commit_path.is_none() && flushed.as_ref().is_err_and(|error| error.kind() == ErrorKind::Cancelled) {
            self.give_up(0);
        }
        if self.commit_path.is_some() && flushed.is_err() && self.hand_over().is_err() {
            return flushed;
        }
        if let Some(commit_path) = &mut self.commit_path {
            // The error may belong to another writer: this one is complete as it has nothing left.
            let ended = commit_path.end();
            return flushed.and(ended);
        }
        flushed?;
        let Committer { output, tree: index, name, .. } = &*self.committer;
        let mut state = output.open_state()?;
        let tree = &state.trees[*index];
        let outcome = match &tree.base {
            Some(base) if !tree.is_whole() => {
                let error = Error::mismatch("branches were added with another number of entries than the tree has");
                Err(error.wanted(base.entries, tree.entries).in_object(name))
            }
            _ => Ok(()),
        };
        if outcome.is_err() {
            state.abandon(*index);
        }
        let tree = &mut state.trees[*index];
        // A tree without rows was never published.
        tree.changed |= outcome.is_ok() && tree.key.is_none() && tree.base.is_none();
        outcome
    }

    /// Gives up the rows after the first `taken`, as far as they are not written. A cluster that is being written is
    /// given up where it has none of those before.
    #[doc(hidden)]
    pub fn give_up(&mut self, taken: u64) {
        let waiting = self.taken.saturating_sub(self.rows as u64);
        let kept = usize::try_from(taken.saturating_sub(waiting)).map_or(self.rows, |kept| kept.min(self.rows));
        for (spec, pending) in self.specs.iter().zip(&mut self.pending) {
            pending.truncate(spec, kept);
        }
        (self.rows, self.taken) = (kept, waiting + kept as u64);
        let flying = self.flight.rows() as u64;
        if waiting.saturating_sub(flying) >= taken {
            self.flight.stop();
            // Its outcome does not matter, but it has to end.
            let _ = self.wait_for_commit();
            let failed = self.flight.take_failed().map_or(0, |cluster| cluster.rows);
            self.taken = self.taken.saturating_sub(failed as u64);
            self.left = self.left.map(|left| left + failed as u64);
        }
    }

    /// Leaves what could not be written with the tree that many threads fill.
    fn hand_over(&mut self) -> Result<()> {
        let Some(commit_path) = &self.commit_path else { return Ok(()) };
        let failed = self.flight.take_failed();
        let rest = (self.rows > 0)
            .then(|| Cluster::new(std::mem::take(&mut self.pending), self.rows, self.clustering.measured()));
        self.rows = 0;
        for cluster in failed.into_iter().chain(rest) {
            match commit_path.commit_last(&cluster) {
                // What is written later may fail later, and is reported then.
                Outcome::Committed(_) => {}
                Outcome::Kept(error) | Outcome::Dropped(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Discards a tree that was begun, with all its rows. A tree that existed before keeps what was committed; buffered
    /// rows are dropped.
    ///
    /// # Errors
    ///
    /// [`Mismatch`](crate::ErrorKind::Mismatch) where the file is closed; what the sink reports.
    pub fn discard(mut self) -> Result<()> {
        self.give_up(0);
        if let Some(commit_path) = &mut self.commit_path {
            commit_path.discard();
            return commit_path.end();
        }
        let Committer { output, tree: index, .. } = &*self.committer;
        let mut state = output.open_state()?;
        let tree = &state.trees[*index];
        if tree.base.is_some() {
            return Ok(());
        }
        let was_saved = tree.key.is_some();
        state.abandon(*index);
        // The header on storage still refers to it.
        if was_saved { output.save(&mut state) } else { Ok(()) }
    }
}

/// Writes the buffered rows, as [`TreeWriter::close`] does, unless the thread panics. Closing the file returns the
/// error, if any.
impl Drop for TreeWriter {
    fn drop(&mut self) {
        if self.committer.output.check_process().is_err() {
            return; // of the parent's threads one may have held any lock
        }
        self.end();
        let memory = self.committer.output.options.session.memory();
        self.pending.iter_mut().chain(&mut self.next).for_each(|buffer| buffer.give_back(memory));
    }
}

impl TreeWriter {
    /// Writes what is left, or gives it up.
    fn end(&mut self) {
        let was_told = self.flight.has_failed();
        if let Some(unit) = self.commit_path.as_ref().and_then(|commit_path| commit_path.unit()) {
            return self.abandon(unit, was_told);
        }
        if self.commit_path.is_some() {
            // What waits for storage stays with the tree, which says so if it cannot be written.
            let mut lost = if std::thread::panicking() { None } else { self.hand_over().err() };
            let ended = self.commit_path.as_mut().map_or(Ok(()), |commit_path| commit_path.end());
            lost = lost.or(ended.err());
            return self.committer.output.defer_error(lost);
        }
        let written = if std::thread::panicking() { self.wait_for_commit() } else { self.flush() };
        let lost = written.err().filter(|_| !was_told);
        let Committer { output, tree: index, .. } = &*self.committer;
        output.defer_error(lost);
        if let Ok(mut state) = output.open_state() {
            state.trees[*index].is_open = false;
            if !state.trees[*index].is_whole() {
                state.abandon(*index);
            }
        }
    }

    /// Abandons a numbered unit that was not closed: its buffered rows and queued clusters are dropped.
    fn abandon(&mut self, unit: u64, was_told: bool) {
        let Some(commit_path) = &mut self.commit_path else { return };
        commit_path.discard();
        let ended = commit_path.end();
        let words = format!("unit {unit} was dropped before it was closed: it is not in the tree");
        let told = was_told || self.taken == 0 || std::thread::panicking();
        let lost = if told { None } else { Some(Error::mismatch(words).in_object(&self.committer.name)) };
        self.committer.output.defer_error(lost.or(ended.err()));
    }
}
