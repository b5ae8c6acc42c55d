//! Values as the columns of their field store them, where that is another type.

use std::borrow::Cow;

use bytes::Bytes;

use crate::column::{BufferId, Number};
use crate::error::{Error, Result};
use crate::ntuple::convert;
use crate::read::Column;
use crate::write::page::field::{ColumnPlan, Node};

/// The values of a column in the types that the columns of an RNTuple store, and the node that fits them; both as they
/// are where these are the same.
///
/// # Errors
///
/// [`Mismatch`](crate::ErrorKind::Mismatch) for a number that its column cannot hold, and where values are too few.
pub(crate) fn stored_values<'v>(
    mut node: Node,
    values: &'v Column,
    plans: &[ColumnPlan],
) -> Result<(Node, Cow<'v, Column>)> {
    let mut change = Change { values, plans, changed: None };
    change.apply(&mut node, values.len)?;
    let values = match change.changed {
        None => Cow::Borrowed(values),
        Some(buffers) => Cow::Owned(Column::from_buffers(values.kind.clone(), values.len, buffers)),
    };
    Ok((node, values))
}

struct Change<'v> {
    values: &'v Column,
    plans: &'v [ColumnPlan],
    /// All buffers, once one is another.
    changed: Option<Vec<Bytes>>,
}

impl Change<'_> {
    /// Stores the first `rows` values of a node.
    fn apply(&mut self, node: &mut Node, rows: usize) -> Result<()> {
        match node {
            Node::Numbers { buffer, number, stored, column } => self.numbers(*buffer, (*number, *stored), *column),
            Node::Text { .. } => Ok(()),
            Node::List { offsets, item, .. } => {
                let ends = self.values.buffer(*offsets);
                let last = ends.as_chunks().0.get(rows).map(|end| i64::from_ne_bytes(*end));
                let items = last.and_then(|last| usize::try_from(last).ok()).ok_or_else(short)?;
                self.apply(item, items)
            }
            Node::Optional { tags, item, .. } => {
                let bytes = self.values.buffer(*tags);
                let tags = bytes.get(..rows).ok_or_else(short)?;
                self.apply(item, tags.iter().filter(|&&tag| tag as i8 >= 0).count())
            }
            Node::Variant { tags, items, .. } => {
                let bytes = self.values.buffer(*tags);
                let tags = bytes.get(..rows).ok_or_else(short)?;
                let count = |number: usize| tags.iter().filter(|&&tag| usize::from(tag) == number).count();
                items.iter_mut().enumerate().try_for_each(|(number, item)| self.apply(item, count(number)))
            }
            Node::Fixed { len, item } => self.apply(item, rows.checked_mul(*len).ok_or_else(short)?),
            Node::Record { members } => members.iter_mut().try_for_each(|member| self.apply(member, rows)),
            Node::Streamed { streamer, buffers, ends, chars } => {
                let (offsets, bytes) = streamer.write(self.values, buffers, rows)?;
                let all = self.buffers();
                let first = all.len() as BufferId;
                all.extend([offsets, bytes]);
                *node = Node::Text { offsets: first, bytes: first + 1, ends: *ends, chars: *chars };
                Ok(())
            }
        }
    }

    /// All buffers, to be changed.
    fn buffers(&mut self) -> &mut Vec<Bytes> {
        self.changed.get_or_insert_with(|| self.values.buffers().to_vec())
    }

    /// Stores numbers of the first type as those of the second.
    fn numbers(&mut self, buffer: BufferId, (number, stored): (Number, Number), column: usize) -> Result<()> {
        let range = self.plans.get(column).and_then(|plan| plan.range);
        if number == stored && range.is_none() {
            return Ok(());
        }
        let given = self.values.buffer(buffer);
        let mut made = vec![0; given.len() / number.bytes() * stored.bytes()];
        if number == stored {
            made.copy_from_slice(&given);
        } else {
            convert(number, &given, stored, &mut made)?;
        }
        if let Some((least, most)) = range {
            // Of quantised numbers, which are doubles here.
            let reals = made.as_chunks().0.iter().map(|real| f64::from_ne_bytes(*real));
            if let Some(outside) = reals.into_iter().find(|real| !(least..=most).contains(real)) {
                let words = format!("the number {outside} is not between {least} and {most}, as its column has them");
                return Err(Error::mismatch(words));
            }
        }
        if let Some(place) = self.buffers().get_mut(buffer as usize) {
            *place = made.into();
        }
        Ok(())
    }
}

#[cold]
fn short() -> Error {
    Error::mismatch("a column has fewer values than rows")
}
