//! Reusable memory: a budget in bytes, and recycled buffers.
//!
//! Fresh pages cost more than decoding what goes into them. So large buffers are taken from here, and return when the
//! last reader drops their bytes.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::{Bytes, BytesMut};

use crate::error::{Error, Result};

/// Below this the allocator is as good as we are.
const LEAST_RECYCLED_BYTES: usize = 64 << 10;

/// Recycled buffers under a budget, shared by all files of a session. Clones are the same memory.
///
/// # Example
///
/// ```
/// use sapwood::memory::Memory;
/// let memory = Memory::new(64 << 20);
/// let mut buffer = memory.take(1 << 20);
/// buffer.fill(7);
/// let place = buffer.as_ptr();
///
/// let bytes = memory.lend(buffer);
/// let part = bytes.slice(10..20);
/// drop(bytes);
/// assert_eq!(memory.idle_bytes(), 0); // a slice still holds it
/// drop(part);
/// assert_eq!(memory.take(1 << 20).as_ptr(), place); // used again
/// ```
///
/// ```
/// use sapwood::memory::Memory;
/// let memory = Memory::new(64 << 20);
/// assert_eq!(memory.budget_bytes(), 64 << 20);
/// memory.give_back(memory.take(1 << 20)); // one that was never lent
/// assert_eq!(memory.idle_bytes(), 1 << 20);
/// ```
#[derive(Clone)]
pub struct Memory(Arc<Shared>);

struct Shared {
    budget_bytes: usize,
    idle: Mutex<Idle>,
    /// Bytes that are lent, and the most since it was asked.
    lent: AtomicUsize,
    most_lent: AtomicUsize,
}

/// Buffers that wait to be used again.
#[derive(Default)]
struct Idle {
    /// By their initialised length, then by age. Each has a length of its own: what lies between that and its capacity
    /// was never written.
    buffers: BTreeMap<(usize, u64), BytesMut>,
    /// From age to length, to find the oldest.
    ages: BTreeMap<u64, usize>,
    next_age: u64,
    bytes: usize,
}

impl Memory {
    /// Memory with a budget. At most `budget_bytes` wait to be used again; a `Fetcher` reads no
    /// more than that ahead.
    pub fn new(budget_bytes: usize) -> Self {
        let lent = AtomicUsize::new(0);
        let most_lent = AtomicUsize::new(0);
        Self(Arc::new(Shared { budget_bytes, idle: Mutex::default(), lent, most_lent }))
    }

    /// The budget in bytes.
    pub fn budget_bytes(&self) -> usize {
        self.0.budget_bytes
    }

    /// A buffer of exactly `bytes`, initialised, with arbitrary content: the caller writes all of it.
    ///
    /// It is a used one if there is one of fitting size, else fresh. Fresh pages cost
    /// nothing until they are touched, so an upper bound may be taken and cut down later.
    ///
    /// Aborts, as all allocation does, if the system has no such memory: callers compare `bytes` with their limits.
    pub fn take(&self, bytes: usize) -> BytesMut {
        let used = if bytes < LEAST_RECYCLED_BYTES { None } else { self.idle().take(bytes) };
        let mut buffer = used.unwrap_or_else(|| fresh(bytes));
        buffer.truncate(bytes);
        buffer
    }

    /// The same for a size that was not checked against the available memory.
    ///
    /// # Errors
    ///
    /// [`Limit`](crate::ErrorKind::Limit) if the system has no such memory.
    #[doc(hidden)]
    pub fn try_take(&self, bytes: usize) -> Result<BytesMut> {
        const LARGE: usize = 64 << 20;
        // Fresh zeros cannot be asked for without the risk of an abort, so that a reservation tries first. It costs
        // nothing: its pages are never touched.
        if bytes >= LARGE && Vec::<u8>::new().try_reserve_exact(bytes.saturating_add(bytes / 4)).is_err() {
            return Err(Error::limit("the system has no memory for an answer of so many bytes", 0, bytes as u64));
        }
        Ok(self.take(bytes))
    }

    /// Makes a full buffer readable by many. When the last of them drops it, it is there to be taken again.
    ///
    /// Meant for buffers from [`take`](Self::take); any other of fitting size is welcome.
    pub fn lend(&self, full: BytesMut) -> Bytes {
        if full.capacity() < LEAST_RECYCLED_BYTES {
            return full.freeze();
        }
        let bytes = full.capacity();
        let lent = self.0.lent.fetch_add(bytes, Ordering::Relaxed) + bytes;
        self.0.most_lent.fetch_max(lent, Ordering::Relaxed);
        Bytes::from_owner(Lent { full, memory: self.clone() })
    }

    /// As [`try_take`](Self::try_take), a vector with room for so many bytes, which grows beyond them as any other.
    ///
    /// # Errors
    ///
    /// [`Limit`](crate::ErrorKind::Limit) if the system has no such memory.
    pub(crate) fn try_room(&self, bytes: usize) -> Result<Vec<u8>> {
        let mut room = self.try_take(bytes)?;
        room.clear();
        Ok(room.into()) // its memory
    }

    /// Moves a vector into memory with room for so many bytes, unless it has that room.
    ///
    /// # Errors
    ///
    /// [`Limit`](crate::ErrorKind::Limit) if the system has no such memory: the vector stays where it is.
    pub(crate) fn try_grow(&self, bytes: &mut Vec<u8>, wanted: usize) -> Result<()> {
        if wanted > bytes.capacity() {
            let mut room = self.try_room(wanted)?;
            room.extend_from_slice(bytes);
            *bytes = room;
        }
        Ok(())
    }

    /// As [`lend`](Self::lend), of a vector, without a copy.
    pub(crate) fn lend_vec(&self, full: Vec<u8>) -> Bytes {
        self.lend(BytesMut::from(Bytes::from(full)))
    }

    /// As [`take`](Self::take), of a vector.
    pub(crate) fn take_vec(&self, bytes: usize) -> Vec<u8> {
        self.take(bytes).into() // its memory
    }

    /// As [`give_back`](Self::give_back), of a vector, without a copy.
    pub(crate) fn give_back_vec(&self, full: Vec<u8>) {
        self.give_back(BytesMut::from(Bytes::from(full)));
    }

    /// Takes a buffer back that was never lent.
    pub fn give_back(&self, mut full: BytesMut) {
        if full.capacity() < LEAST_RECYCLED_BYTES || full.capacity() > self.0.budget_bytes {
            return;
        }
        // A buffer was cut to what its last user asked for. If that was most of it, the rest is initialised here, while
        // it is in the cache, so that sizes do not shrink from use to use: an estimate is an eighth above what is used,
        // and fresh memory up to an eighth above that. A large rest is an upper bound that was never touched, and stays
        // so.
        let rest = full.capacity() - full.len();
        if rest <= full.len() / 3 {
            full.resize(full.capacity(), 0);
        }
        let dropped = self.idle().put(full, self.0.budget_bytes);
        drop(dropped); // outside of the lock: handing pages back to the system is slow
    }

    /// Bytes that wait to be used again.
    pub fn idle_bytes(&self) -> usize {
        self.idle().bytes
    }

    /// Bytes of large buffers that are [lent](Self::lend): columns, rows and batches that somebody still holds.
    pub fn lent_bytes(&self) -> usize {
        self.0.lent.load(Ordering::Relaxed)
    }

    /// The most bytes that were lent at the same time since this was last called.
    ///
    /// # Example
    ///
    /// ```
    /// let memory = sapwood::memory::Memory::new(64 << 20);
    /// let (one, two) = (memory.lend(memory.take(1 << 20)), memory.lend(memory.take(1 << 20)));
    /// drop(one);
    /// assert_eq!((memory.lent_bytes(), memory.most_lent_bytes()), (1 << 20, 2 << 20));
    /// assert_eq!(memory.most_lent_bytes(), 1 << 20);
    /// # drop(two);
    /// ```
    pub fn most_lent_bytes(&self) -> usize {
        let lent = self.lent_bytes();
        self.0.most_lent.swap(lent, Ordering::Relaxed).max(lent)
    }

    fn idle(&self) -> MutexGuard<'_, Idle> {
        // Nothing in here can stop half way, so that a lock poisoned by a panic elsewhere is as good as new.
        self.0.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Memory")
            .field("budget_bytes", &self.0.budget_bytes)
            .field("idle_bytes", &self.idle_bytes())
            .finish()
    }
}

impl Idle {
    /// The shortest buffer that holds `bytes`, unless more than half of it would lie idle in use.
    fn take(&mut self, bytes: usize) -> Option<BytesMut> {
        let longest = bytes.saturating_mul(2);
        let key = *self.buffers.range((bytes, 0)..=(longest, u64::MAX)).next()?.0;
        let buffer = self.buffers.remove(&key)?;
        self.ages.remove(&key.1);
        self.bytes -= buffer.capacity();
        Some(buffer)
    }

    /// Keeps `buffer`; returns the oldest ones, as far as they pass the budget.
    fn put(&mut self, buffer: BytesMut, budget_bytes: usize) -> Vec<BytesMut> {
        let key = (buffer.len(), self.next_age);
        self.next_age += 1;
        self.bytes += buffer.capacity();
        self.ages.insert(key.1, key.0);
        self.buffers.insert(key, buffer);
        let mut dropped = Vec::new();
        while self.bytes > budget_bytes
            && let Some((age, length)) = self.ages.pop_first()
            && let Some(oldest) = self.buffers.remove(&(length, age))
        {
            self.bytes -= oldest.capacity();
            dropped.push(oldest);
        }
        dropped
    }
}

/// New memory for `bytes`, rounded up by at most an eighth so that sizes which differ a little meet again.
fn fresh(bytes: usize) -> BytesMut {
    if bytes < LEAST_RECYCLED_BYTES {
        return BytesMut::zeroed(bytes);
    }
    let step = (bytes / 8 + 1).checked_next_power_of_two().unwrap_or(1) / 2;
    // Pages are left as the system gives them: see docs/decisions/no-advice-for-huge-pages.md.
    BytesMut::zeroed(bytes.checked_next_multiple_of(step.max(1)).unwrap_or(bytes))
}

/// The owner of lent bytes: their memory, and the pool that it returns to.
struct Lent {
    full: BytesMut,
    memory: Memory,
}

impl AsRef<[u8]> for Lent {
    fn as_ref(&self) -> &[u8] {
        &self.full
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        self.memory.0.lent.fetch_sub(self.full.capacity(), Ordering::Relaxed);
        self.memory.give_back(std::mem::take(&mut self.full));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vector_keeps_its_memory() {
        let memory = Memory::new(64 << 20);
        for bytes in [1 << 20, 900_000] {
            let mut room = memory.try_room(1 << 20).unwrap();
            let place = room.as_ptr();
            room.resize(bytes, 7);
            let lent = memory.lend_vec(room);
            assert_eq!((lent.as_ptr(), lent.len()), (place, bytes));
            drop(lent);
            assert!(memory.idle_bytes() >= 1 << 20);
        }
    }

    const MIB: usize = 1 << 20;

    #[test]
    fn buffers_have_the_length_that_was_asked_for() {
        let memory = Memory::new(64 * MIB);
        for bytes in [0, 1, LEAST_RECYCLED_BYTES - 1, LEAST_RECYCLED_BYTES, MIB + 1, 5 * MIB, 9 * MIB - 1] {
            for _ in 0..3 {
                let buffer = memory.take(bytes);
                assert_eq!(buffer.len(), bytes);
                assert!(buffer.capacity() <= bytes + bytes / 8 + 1, "{bytes}: {}", buffer.capacity());
                assert_eq!(memory.lend(buffer).len(), bytes);
            }
        }
    }

    #[test]
    fn slightly_different_sizes_share_buffers() {
        let memory = Memory::new(64 * MIB);
        let first = memory.take(MIB);
        let place = first.as_ptr();
        memory.give_back(first);
        for bytes in [MIB - 100, MIB - 90_000, MIB - 1, MIB] {
            let again = memory.take(bytes);
            assert_eq!(again.as_ptr(), place, "{bytes}");
            drop(memory.lend(again));
        }
    }

    #[test]
    fn what_does_not_fit_is_fresh() {
        let memory = Memory::new(64 * MIB);
        memory.give_back(memory.take(4 * MIB));
        let (small, large) = (memory.take(MIB), memory.take(5 * MIB));
        assert_eq!(memory.idle_bytes(), 4 * MIB, "too large for the one, too small for the other");
        drop((small, large));
    }

    #[test]
    fn an_upper_bound_that_was_cut_down_is_not_written() {
        let memory = Memory::new(64 * MIB);
        let mut bound = memory.take(8 * MIB);
        let place = bound.as_ptr();
        bound.truncate(MIB);
        memory.give_back(bound);
        assert_eq!(memory.idle_bytes(), 8 * MIB, "counted as a whole");
        assert_ne!(memory.take(8 * MIB).as_ptr(), place, "only its first part is initialised");
        assert_eq!(memory.take(MIB).as_ptr(), place);
    }

    #[test]
    fn the_budget_bounds_what_waits_and_the_oldest_go_first() {
        let memory = Memory::new(4 * MIB);
        let buffers: Vec<_> = (0..6).map(|_| memory.take(MIB)).collect();
        let places: Vec<_> = buffers.iter().map(|buffer| buffer.as_ptr()).collect();
        for buffer in buffers {
            drop(memory.lend(buffer));
        }
        assert_eq!(memory.idle_bytes(), 4 * MIB);
        let kept: Vec<_> = (0..4).map(|_| memory.take(MIB)).collect();
        assert!(kept.iter().all(|buffer| places[2..].contains(&buffer.as_ptr())));
        assert_eq!(memory.idle_bytes(), 0);
        memory.give_back(memory.take(5 * MIB));
        assert_eq!(memory.idle_bytes(), 0, "larger than the budget");
    }

    #[test]
    fn pieces_that_were_joined_come_back_whole() {
        let memory = Memory::new(64 * MIB);
        let mut whole = memory.take(MIB);
        let place = whole.as_ptr();
        let mut first = whole.split_to(1000);
        first.unsplit(whole);
        drop(memory.lend(first));
        assert_eq!(memory.take(MIB).as_ptr(), place);
    }
}
