//! Bytes that grow, are emptied, and grow again.

use crate::memory::Memory;

/// Like a `Vec<u8>`, but that memory which was filled once is not filled with zeros again.
#[derive(Debug, Default)]
pub(crate) struct ReusedBytes {
    /// Initialised as far as it ever was in use.
    memory: Vec<u8>,
    len: usize,
    /// The most bytes that were in use.
    most: usize,
    /// Whether its memory is one that others may use. What grew is of a size that nothing asks for again.
    is_shared: bool,
}

impl ReusedBytes {
    /// The bytes in use.
    pub(crate) fn as_slice(&self) -> &[u8] {
        &self.memory[..self.len]
    }

    /// Makes room for more bytes at the end, of arbitrary content: the caller writes all of it.
    pub(crate) fn grow(&mut self, bytes: usize) -> &mut [u8] {
        let start = self.len;
        self.len += bytes;
        if self.memory.len() < self.len {
            self.is_shared &= self.len <= self.memory.capacity();
            self.memory.resize(self.len, 0);
        }
        &mut self.memory[start..self.len]
    }

    /// Sees to it that so many bytes have room.
    pub(crate) fn reserve(&mut self, bytes: usize, memory: &Memory) {
        if bytes > self.memory.len() {
            let mut room = memory.take_vec(bytes);
            room[..self.len].copy_from_slice(self.as_slice());
            let before = std::mem::replace(&mut self.memory, room);
            if std::mem::replace(&mut self.is_shared, true) {
                memory.give_back_vec(before);
            }
        }
    }

    /// All memory, which others may use; none if they would not take it, or if most of it was never in use, and would
    /// only count as if it were.
    pub(crate) fn take(&mut self) -> Vec<u8> {
        self.truncate(0);
        let memory = std::mem::take(&mut self.memory);
        let is_shared = std::mem::take(&mut self.is_shared);
        if std::mem::take(&mut self.most) < memory.len() / 2 || !is_shared { Vec::new() } else { memory }
    }

    pub(crate) fn extend_from_slice(&mut self, more: &[u8]) {
        self.grow(more.len()).copy_from_slice(more);
    }

    /// Keeps the first bytes, and all memory.
    pub(crate) fn truncate(&mut self, bytes: usize) {
        self.most = self.most.max(self.len);
        self.len = self.len.min(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_those_that_were_added_last() {
        let (mut reused, mut plain) = (ReusedBytes::default(), Vec::new());
        for (kept, more) in [(0, 5), (3, 9), (12, 0), (1, 2), (0, 20), (99, 1)] {
            reused.truncate(kept);
            plain.truncate(kept);
            let bytes: Vec<u8> = (0..more).map(|byte| byte + kept as u8).collect();
            let (first, rest) = bytes.split_at(bytes.len() / 2);
            reused.extend_from_slice(first);
            reused.grow(rest.len()).copy_from_slice(rest);
            plain.extend_from_slice(&bytes);
            assert_eq!(reused.as_slice(), plain);
        }
    }
}
