//! A page that need not be inflated again: for the plan and then for the answer, or for one step after another.

use std::ops::Range;

use bytes::Bytes;

use super::NTuple;
use super::elements::{decode, page_bytes};
use super::fetch::{PageId, checked, inflated_bytes};
use crate::codec::{Scratch, inflate};
use crate::column::Number;
use crate::error::Result;

/// A page in memory of its own: its elements as they are encoded; ends of lists as numbers, for a step would add up all
/// differences before its first.
#[derive(Clone, Debug)]
pub(super) struct WholePage {
    is_ends: bool,
    bytes: Bytes,
}

impl WholePage {
    /// Checks and inflates a page; `is_ends` says that its elements are the ends of lists.
    pub(super) fn new(
        ntuple: &NTuple,
        id: &PageId,
        is_ends: bool,
        stored: &[u8],
        scratch: &mut Scratch,
    ) -> Result<Self> {
        let (column, options) = (ntuple.column(id.column)?, ntuple.file.options());
        let memory = options.session.memory();
        let stored = checked(&id.page, stored)?;
        let mut page = memory.try_take(inflated_bytes(&id.page, stored.len(), column.bits, &options.limits)?)?;
        match stored.len() == page.len() {
            true => page.copy_from_slice(stored),
            false => inflate(stored, &mut page, scratch)?,
        }
        if is_ends {
            let elements = id.page.elements as usize;
            let mut ends = memory.try_take(8 * elements)?;
            decode(column, &page, elements, 0..elements, Number::U64, &mut ends)?;
            memory.give_back(std::mem::replace(&mut page, ends));
        }
        Ok(Self { is_ends, bytes: memory.lend(page) })
    }

    /// Whether it is this page: in damaged files, several of different sizes may lie at one offset.
    pub(super) fn is(&self, ntuple: &NTuple, id: &PageId, is_ends: bool) -> bool {
        let bits = match is_ends {
            true => 64,
            false => ntuple.column(id.column).map_or(0, |column| column.bits),
        };
        let bytes = page_bytes(bits, u64::from(id.page.elements));
        self.is_ends == is_ends && self.bytes.len() as u64 == bytes
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
