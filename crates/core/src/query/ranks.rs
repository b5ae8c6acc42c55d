//! Values that may be absent, or of one of several types: where each is among those of its type.

use std::collections::HashMap;

use crate::column::{BufferId, Kind};
use crate::read::Column;

/// For each value, how many of its type are before it; by the buffer of their tags.
#[derive(Debug, Default)]
pub(super) struct Ranks(HashMap<BufferId, Vec<u32>>);

impl Ranks {
    pub(super) fn of(column: &Column) -> Self {
        let mut ranks = Self::default();
        ranks.add(column, &column.kind);
        ranks
    }

    fn add(&mut self, column: &Column, kind: &Kind) {
        match kind {
            Kind::List { item, .. } | Kind::Fixed { item, .. } => self.add(column, item),
            Kind::Record { fields, .. } => fields.iter().for_each(|field| self.add(column, &field.kind)),
            Kind::OneOf { tags, of } => {
                self.0.insert(*tags, ranks_of(&column.buffer(*tags)));
                of.iter().for_each(|kind| self.add(column, kind));
            }
            Kind::Number { .. } | Kind::Text { .. } | Kind::Opaque { .. } | Kind::Pointer { .. } => {}
        }
    }

    /// Those of the values whose tags are in a buffer; none for any other buffer.
    pub(super) fn by_tags(&self, tags: BufferId) -> &[u32] {
        self.0.get(&tags).map_or(&[], Vec::as_slice)
    }
}

/// For each of some tags, how often it was there before.
pub(super) fn ranks_of(tags: &[u8]) -> Vec<u32> {
    let mut counts = [0_u32; 256];
    let rank = |tag: &u8| {
        let count = &mut counts[usize::from(*tag)];
        let rank = *count;
        *count = rank.saturating_add(1);
        rank
    };
    tags.iter().map(rank).collect()
}
