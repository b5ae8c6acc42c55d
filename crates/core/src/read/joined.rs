//! Columns as one.

use std::sync::Arc;

use bytes::Bytes;

use super::Column;
use crate::column::{BufferId, Field, Kind};
use crate::error::{Error, Result};
use crate::schema::Objects;

/// Columns as one: its buffers, and for each the objects that its numbers mean.
#[derive(Default)]
pub(crate) struct Joined {
    pub(crate) buffers: Vec<Bytes>,
    pub(crate) objects: Vec<Option<Arc<Objects>>>,
}

impl Joined {
    pub(crate) fn buffer(&mut self, bytes: Bytes, objects: Option<Arc<Objects>>) -> BufferId {
        self.buffers.push(bytes);
        self.objects.push(objects);
        (self.buffers.len() - 1) as BufferId
    }

    /// Adds the buffers of a column; gives its type over these.
    pub(crate) fn column(&mut self, column: &Column) -> Kind {
        let first = self.buffers.len() as BufferId;
        for bytes in column.buffers() {
            self.buffer(bytes.clone(), column.objects.clone());
        }
        shifted(&column.kind, first)
    }

    /// Adds where lists begin and end, by the counts of their items.
    ///
    /// # Errors
    ///
    /// [`Malformed`](crate::ErrorKind::Malformed) for a count below zero.
    pub(crate) fn ends_of(&mut self, counts: &[i32]) -> Result<BufferId> {
        let mut bytes = Vec::with_capacity(8 * (counts.len() + 1));
        let mut end = 0_i64;
        bytes.extend_from_slice(&end.to_ne_bytes());
        for &count in counts {
            if count < 0 {
                return Err(Error::malformed(format!("a collection has {count} items")));
            }
            end = end.saturating_add(count.into());
            bytes.extend_from_slice(&end.to_ne_bytes());
        }
        Ok(self.buffer(bytes.into(), None))
    }
}

/// The same type with shifted buffer numbers.
fn shifted(kind: &Kind, by: BufferId) -> Kind {
    match kind {
        Kind::Number { buffer, number } => Kind::Number { buffer: buffer + by, number: *number },
        Kind::Text { offsets, bytes } => Kind::Text { offsets: offsets + by, bytes: bytes + by },
        Kind::Opaque { offsets, bytes, class } => {
            Kind::Opaque { offsets: offsets + by, bytes: bytes + by, class: Arc::clone(class) }
        }
        Kind::List { offsets, of, item } => {
            Kind::List { offsets: offsets + by, of: *of, item: Box::new(shifted(item, by)) }
        }
        Kind::Fixed { len, item } => Kind::Fixed { len: *len, item: Box::new(shifted(item, by)) },
        Kind::Record { class, fields } => {
            let field = |field: &Field| Field { kind: shifted(&field.kind, by), ..field.clone() };
            Kind::Record { class: Arc::clone(class), fields: fields.iter().map(field).collect() }
        }
        Kind::Pointer { buffer, class } => Kind::Pointer { buffer: buffer + by, class: Arc::clone(class) },
        Kind::OneOf { tags, of } => {
            Kind::OneOf { tags: tags + by, of: of.iter().map(|kind| shifted(kind, by)).collect() }
        }
    }
}
