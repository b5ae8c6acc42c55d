//! Blocks in flight: of several threads of a process that miss a block, one fetches it.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, TryLockError, Weak};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use sapwood::{Result, interrupt};

use super::state::State;
use crate::stopped::stopped;

/// So often is a receiver that waits asked whether it still wants to.
const POLL: Duration = Duration::from_millis(10);
/// So long is waited for another thread that brings nothing: it may itself wait for us.
const WAIT_LIMIT: Duration = Duration::from_secs(10);
/// States whose entry is looked at again, once there are so many.
const STATES: usize = 256;

/// InFlightByState of this process, by folder and state. Stores of the same file share theirs.
static IN_FLIGHT: Mutex<Option<InFlightByState>> = Mutex::new(None);

type InFlightByState = HashMap<(PathBuf, u128), Weak<InFlight>>;

/// Which blocks of one state of a file are on their way into one folder.
#[derive(Debug)]
pub(crate) struct InFlight {
    /// Of a process that was forked, no thread brings anything.
    process: u32,
    claims: Mutex<Claims>,
    news: Condvar,
}

#[derive(Debug, Default)]
struct Claims {
    /// Blocks, and the threads that fetch them.
    blocks: BTreeMap<u64, ThreadId>,
    /// How many have come.
    come: u64,
}

/// The blocks in flight of a state; none where the lock cannot be had: then each thread fetches for itself.
pub(crate) fn in_flight(dir: &Path, state: &State) -> Option<Arc<InFlight>> {
    let mut all = match IN_FLIGHT.try_lock() {
        Ok(all) => all,
        Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
        // Held for a few instructions, unless by a thread that a fork left behind.
        Err(TryLockError::WouldBlock) => {
            thread::sleep(Duration::from_millis(1));
            IN_FLIGHT.try_lock().ok()?
        }
    };
    let all = all.get_or_insert_default();
    let key = (dir.to_owned(), state.number());
    if let Some(found) = all.get(&key).and_then(Weak::upgrade)
        && found.is_ours()
    {
        return Some(found);
    }
    if all.len() >= STATES {
        all.retain(|_, in_flight| in_flight.strong_count() > 0);
    }
    let new = Arc::new(InFlight { process: std::process::id(), claims: Mutex::default(), news: Condvar::default() });
    all.insert(key, Arc::downgrade(&new));
    Some(new)
}

impl InFlight {
    /// Whether it is of this process, and no other one's memory.
    pub(crate) fn is_ours(&self) -> bool {
        self.process == std::process::id()
    }

    /// Claims those of the blocks that no thread fetches.
    pub(crate) fn claim(self: &Arc<Self>, missing: &[u64]) -> Claim {
        let me = thread::current().id();
        let (mut mine, mut theirs) = (Vec::new(), Vec::new());
        let mut claims = self.claims();
        for &block in missing {
            match claims.blocks.get(&block) {
                // A thread that reads from within a delivery would wait for itself.
                Some(owner) if *owner != me => theirs.push(block),
                Some(_) => mine.push(block),
                None => {
                    claims.blocks.insert(block, me);
                    mine.push(block);
                }
            }
        }
        Claim { in_flight: Arc::clone(self), mine, theirs }
    }

    fn claims(&self) -> MutexGuard<'_, Claims> {
        self.claims.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn release(&self, blocks: impl Iterator<Item = u64>) {
        let me = thread::current().id();
        let mut claims = self.claims();
        for block in blocks {
            if claims.blocks.get(&block) == Some(&me) {
                claims.blocks.remove(&block);
                claims.come += 1;
            }
        }
        self.news.notify_all();
    }

    /// Waits until none of the blocks is on its way any more. Whether they came is another question.
    pub(crate) fn wait(&self, theirs: &[u64], wanted: &dyn Fn() -> bool) -> Result<()> {
        let mut claims = self.claims();
        let (mut come, mut since) = (claims.come, Instant::now());
        while theirs.iter().any(|block| claims.blocks.contains_key(block)) {
            // Not while the lock is held: what is asked may read this file itself.
            drop(claims);
            if !wanted() {
                return Err(stopped());
            }
            interrupt::check()?;
            claims = self.claims();
            if !theirs.iter().any(|block| claims.blocks.contains_key(block)) {
                break;
            }
            if claims.come != come {
                (come, since) = (claims.come, Instant::now());
            } else if since.elapsed() > WAIT_LIMIT {
                return Ok(());
            }
            claims = self.news.wait_timeout(claims, POLL).unwrap_or_else(PoisonError::into_inner).0;
        }
        Ok(())
    }
}

/// Blocks that this thread has taken on; what has not come when it is dropped is given up.
#[derive(Debug)]
pub(crate) struct Claim {
    in_flight: Arc<InFlight>,
    /// Ours to ask for.
    pub(crate) mine: Vec<u64>,
    /// On their way already.
    pub(crate) theirs: Vec<u64>,
}

impl Claim {
    /// These have come, and are kept.
    pub(crate) fn release(&self, blocks: std::ops::Range<u64>) {
        self.in_flight.release(blocks);
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.in_flight.release(self.mine.iter().copied());
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn a_block_is_asked_for_by_one_thread_and_by_the_next_after_it() {
        let state = State { name: "in_flight".into(), len: 1, proof: "v:x".into() };
        let (one, two) = (in_flight(Path::new("a"), &state).unwrap(), in_flight(Path::new("a"), &state).unwrap());
        assert!(Arc::ptr_eq(&one, &two) && !Arc::ptr_eq(&one, &in_flight(Path::new("b"), &state).unwrap()));
        let first = one.claim(&[1, 2, 3]);
        assert_eq!((&first.mine[..], &first.theirs[..]), (&[1, 2, 3][..], &[][..]));
        assert_eq!(one.claim(&[2]).mine, [2], "no thread waits for itself");
        let first = {
            drop(first);
            one.claim(&[1, 2, 3])
        };
        let (has_claimed, claimed) = channel();
        thread::scope(|scope| {
            let two = &two;
            let other = scope.spawn(move || {
                let second = two.claim(&[3, 4]);
                assert_eq!((&second.mine[..], &second.theirs[..]), (&[4][..], &[3][..]));
                assert!(two.wait(&second.theirs, &|| false).is_err());
                has_claimed.send(()).unwrap();
                two.wait(&second.theirs, &|| true).unwrap();
                assert_eq!(two.claim(&[3]).mine, [3]);
            });
            first.release(1..3);
            claimed.recv().unwrap();
            drop(first);
            other.join().unwrap();
        });
        assert!(one.claims().blocks.is_empty());
    }
}
