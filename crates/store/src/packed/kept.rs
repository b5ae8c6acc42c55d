//! Inflated blocks that are kept, up to a number of bytes, and which of them a thread is inflating.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use sapwood::io::Receive;
use sapwood::{Result, interrupt};

use crate::stopped::stopped;

/// How often a thread that waits for another one asks whether its reader still wants the block.
pub(super) const LOOK: Duration = Duration::from_millis(20);

/// Blocks by number; those not used for longest are dropped first.
#[derive(Debug)]
pub(super) struct Kept {
    most_bytes: usize,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// Each with the time of its last use.
    blocks: HashMap<u64, (Bytes, u64)>,
    uses: BTreeMap<u64, u64>,
    bytes: usize,
    now: u64,
    /// Blocks that are being inflated, and by which [`Claims`].
    claimed: HashMap<u64, u64>,
    next_claims: u64,
}

/// A block that was asked for.
pub(super) enum Found {
    Here(Bytes),
    /// The caller inflates it.
    Ours,
    /// Another thread inflates it.
    Theirs,
}

impl Kept {
    pub(super) fn new(most_bytes: usize) -> Self {
        Self { most_bytes, state: Mutex::default(), changed: Condvar::new() }
    }

    /// The block, or a claim on it, which `claims` gives back.
    pub(super) fn find(&self, block: u64, claims: &mut Claims<'_>) -> Found {
        let mut state = self.state();
        if let Some(bytes) = state.touch(block) {
            return Found::Here(bytes);
        }
        if state.claimed.contains_key(&block) {
            return Found::Theirs;
        }
        state.claimed.insert(block, claims.id);
        claims.blocks.push(block);
        Found::Ours
    }

    /// Waits for a block that another thread inflates; none if that thread failed, or the block is dropped already.
    pub(super) fn wait(&self, block: u64, asking: &dyn Receive) -> Result<Option<Bytes>> {
        let mut state = self.state();
        while state.claimed.contains_key(&block) {
            // Not while the lock is held: what is asked may read this file itself.
            drop(state);
            if asking.stopped() {
                return Err(stopped());
            }
            interrupt::check()?;
            state = self.state();
            if state.claimed.contains_key(&block) {
                state = self.changed.wait_timeout(state, LOOK).unwrap_or_else(PoisonError::into_inner).0;
            }
        }
        Ok(state.touch(block))
    }

    pub(super) fn put(&self, block: u64, bytes: &Bytes) {
        let mut state = self.state();
        state.claimed.remove(&block);
        let dropped = state.put(block, bytes.clone(), self.most_bytes);
        drop(state);
        self.changed.notify_all();
        drop(dropped); // memory goes back outside of the lock
    }

    /// Drops a block that is not likely to be asked for again soon.
    pub(super) fn forget(&self, block: u64) {
        let mut state = self.state();
        let dropped = state.forget(block);
        drop(state);
        drop(dropped);
    }

    pub(super) fn claims(&self) -> Claims<'_> {
        let mut state = self.state();
        state.next_claims += 1;
        Claims { kept: self, id: state.next_claims, blocks: Vec::new() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn touch(&mut self, block: u64) -> Option<Bytes> {
        let (bytes, used) = self.blocks.get_mut(&block)?;
        let last = std::mem::replace(used, self.now);
        self.uses.remove(&last);
        self.uses.insert(self.now, block);
        self.now += 1;
        Some(bytes.clone())
    }

    fn forget(&mut self, block: u64) -> Option<Bytes> {
        let (bytes, used) = self.blocks.remove(&block)?;
        self.uses.remove(&used);
        self.bytes -= bytes.len();
        Some(bytes)
    }

    fn put(&mut self, block: u64, bytes: Bytes, most_bytes: usize) -> Vec<Bytes> {
        let mut dropped = Vec::new();
        if most_bytes == 0 {
            return dropped;
        }
        self.bytes += bytes.len();
        if let Some((old, used)) = self.blocks.insert(block, (bytes, self.now)) {
            self.bytes -= old.len();
            self.uses.remove(&used);
            dropped.push(old);
        }
        self.uses.insert(self.now, block);
        self.now += 1;
        // The last one stays also where it is longer than all may be: the next read is likely to want it again.
        while self.bytes > most_bytes
            && self.blocks.len() > 1
            && let Some((_, oldest)) = self.uses.pop_first()
            && let Some((old, _)) = self.blocks.remove(&oldest)
        {
            self.bytes -= old.len();
            dropped.push(old);
        }
        dropped
    }
}

/// Blocks that a thread has claimed; others may claim them once this is dropped, also after an error.
pub(super) struct Claims<'a> {
    kept: &'a Kept,
    id: u64,
    blocks: Vec<u64>,
}

impl Claims<'_> {
    /// The claimed blocks, ascending if they were claimed so.
    pub(super) fn blocks(&self) -> &[u64] {
        &self.blocks
    }
}

impl Drop for Claims<'_> {
    fn drop(&mut self) {
        let mut state = self.kept.state();
        for block in &self.blocks {
            // A block that was put and dropped since may be claimed by another thread.
            if state.claimed.get(block) == Some(&self.id) {
                state.claimed.remove(block);
            }
        }
        drop(state);
        self.kept.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use bytes::BytesMut;
    use sapwood::io::Flow;
    use sapwood::{Error, ErrorKind};

    use super::*;

    struct Asking;

    impl Receive for Asking {
        fn buffer(&self, bytes: usize) -> BytesMut {
            BytesMut::zeroed(bytes)
        }

        fn deliver(&mut self, _: usize, _: Bytes) -> Flow {
            Flow::Go
        }

        fn stopped(&self) -> bool {
            false
        }
    }

    #[test]
    fn what_ends_a_wait_may_ask_for_blocks_itself() {
        let kept = Arc::new(Kept::new(100));
        kept.put(2, &Bytes::from_static(b"two"));
        let mut theirs = kept.claims();
        assert!(matches!(kept.find(1, &mut theirs), Found::Ours));
        let reads = Arc::clone(&kept);
        // As a handler of a signal that reads the same file.
        let check = move || match reads.find(2, &mut reads.claims()) {
            Found::Here(_) => Err(Error::new(ErrorKind::Cancelled, "enough")),
            Found::Ours | Found::Theirs => Ok(()),
        };
        let waited = interrupt::heeding(check, || kept.wait(1, &Asking));
        assert_eq!(waited.unwrap_err().message(), "enough");
    }
}
