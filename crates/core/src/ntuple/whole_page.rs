//! A page that need not be inflated again: for the plan and then for the answer, or for one step after another.

use std::ops::Range;

use bytes::Bytes;

use super::elements::page_bytes;
use super::page_list::Page;

/// A page: its elements as they are encoded; ends of lists as numbers, for a step would add up all differences before
/// its first.
#[derive(Clone, Debug)]
pub(super) struct WholePage {
    is_ends: bool,
    bytes: Bytes,
}

impl WholePage {
    /// A page that is inflated; `is_ends` says that these are the ends of lists, as numbers.
    pub(super) fn new(is_ends: bool, bytes: Bytes) -> Self {
        Self { is_ends, bytes }
    }

    /// Bytes of memory that a page takes whose elements have so many bits.
    pub(super) fn bytes_of(page: &Page, bits: u16, is_ends: bool) -> u64 {
        page_bytes(if is_ends { 64 } else { bits }, u64::from(page.elements))
    }

    /// Whether it is this page: in damaged files, several of different sizes may lie at one offset.
    pub(super) fn is(&self, page: &Page, bits: u16, is_ends: bool) -> bool {
        self.is_ends == is_ends && self.bytes.len() as u64 == Self::bytes_of(page, bits, is_ends)
    }

    /// Its elements, as they are encoded.
    pub(super) fn elements(&self) -> &[u8] {
        &self.bytes
    }

    /// Some ends, eight bytes each.
    pub(super) fn ends(&self, want: Range<usize>) -> &[u8] {
        self.bytes.get(8 * want.start..8 * want.end).unwrap_or_default()
    }

    /// Bytes of memory.
    pub(super) fn memory_bytes(&self) -> usize {
        self.bytes.len()
    }
}
