//! Memory of an answer: one reservation, handed out in pieces that are joined again without a copy.

use bytes::{Bytes, BytesMut};

use crate::error::Result;
use crate::memory::Memory;

/// One buffer of an answer while it is filled.
///
/// Pieces are handed out in the order of entries and may be filled by any thread; they are contiguous, so that joining
/// them is free. If a reservation is too small, another one is allocated, and joining copies its content.
#[derive(Debug)]
pub(crate) struct Arena {
    memory: Memory,
    free: BytesMut,
    filled: BytesMut,
}

impl Arena {
    /// No memory yet: the first piece reserves.
    pub(crate) fn new(memory: &Memory) -> Self {
        Self { memory: memory.clone(), free: BytesMut::new(), filled: BytesMut::new() }
    }

    /// The next piece. Its content is arbitrary. Where it does not fit, `expected` bytes are reserved, for this piece
    /// and those to come.
    ///
    /// # Errors
    ///
    /// [`Limit`](crate::ErrorKind::Limit) where the system has no such memory.
    pub(crate) fn slot(&mut self, bytes: usize, expected: impl FnOnce() -> usize) -> Result<BytesMut> {
        if bytes > self.free.len() {
            self.free = self.memory.try_take(bytes.max(expected()))?;
        }
        Ok(self.free.split_to(bytes))
    }

    /// Takes back the next filled piece. Pieces are returned in the order in which they were handed out.
    pub(crate) fn fill(&mut self, slot: BytesMut) {
        if self.filled.is_empty() {
            self.filled = slot;
        } else {
            self.filled.unsplit(slot);
        }
    }

    /// The whole buffer.
    pub(crate) fn join(mut self) -> Bytes {
        if !self.free.is_empty() && self.filled.is_empty() {
            self.memory.give_back(self.free);
            return Bytes::new();
        }
        // Rejoin the unused rest, so that the whole reservation can be recycled.
        let used = self.filled.len();
        self.filled.unsplit(std::mem::take(&mut self.free));
        self.filled.truncate(used);
        self.memory.lend(self.filled)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_of_one_reservation_are_joined_where_they_lie() {
        let memory = Memory::new(1 << 30);
        let mut arena = Arena::new(&memory);
        let mut first = arena.slot(10, || 1 << 20).unwrap();
        let mut second = arena.slot(20, || 0).unwrap();
        second.fill(2);
        first.fill(1);
        let place = first.as_ptr();
        arena.fill(first);
        arena.fill(second);
        let joined = arena.join();
        assert_eq!((joined.len(), joined.as_ptr()), (30, place));
        assert_eq!((joined[9], joined[10]), (1, 2));
    }

    #[test]
    fn a_bound_that_is_too_low_costs_a_copy_and_nothing_else() {
        let memory = Memory::new(1 << 30);
        let mut arena = Arena::new(&memory);
        for value in 0..50_u8 {
            let mut slot = arena.slot(3, || 8).unwrap();
            slot.fill(value);
            arena.fill(slot);
        }
        let joined = arena.join();
        assert_eq!(joined.len(), 150);
        assert!((0..50).all(|value| joined[3 * value..3 * value + 3] == [value as u8; 3]));
    }
}
