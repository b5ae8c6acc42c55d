//! Values as the columns of their field store them, where that is another type.

use std::borrow::Cow;

use bytes::Bytes;

use crate::error::{Error, Result};
use crate::ntuple::convert;
use crate::read::Column;
use crate::write::page::field::{ColumnPlan, Node};

/// The values of a column in the types that the columns of an RNTuple store; itself where these are the same.
///
/// # Errors
///
/// [`Mismatch`](crate::ErrorKind::Mismatch) for a number that its column cannot hold.
pub(crate) fn stored_values<'v>(node: &Node, values: &'v Column, plans: &[ColumnPlan]) -> Result<Cow<'v, Column>> {
    let mut buffers = None;
    change(node, values, plans, &mut buffers)?;
    Ok(match buffers {
        None => Cow::Borrowed(values),
        Some(buffers) => Cow::Owned(Column::from_buffers(values.kind.clone(), values.len, buffers)),
    })
}

fn change(node: &Node, values: &Column, plans: &[ColumnPlan], changed: &mut Option<Vec<Bytes>>) -> Result<()> {
    match node {
        Node::Numbers { buffer, number, stored, column } => {
            let range = plans.get(*column).and_then(|plan| plan.range);
            if number == stored && range.is_none() {
                return Ok(());
            }
            let given = values.buffer(*buffer);
            let mut made = vec![0; given.len() / number.bytes() * stored.bytes()];
            if number == stored {
                made.copy_from_slice(&given);
            } else {
                convert(*number, &given, *stored, &mut made)?;
            }
            if let Some((least, most)) = range {
                // Of quantised numbers, which are doubles here.
                let reals = made.as_chunks().0.iter().map(|real| f64::from_ne_bytes(*real));
                if let Some(outside) = reals.into_iter().find(|real| !(least..=most).contains(real)) {
                    let words =
                        format!("the number {outside} is not between {least} and {most}, as its column has them");
                    return Err(Error::mismatch(words));
                }
            }
            if let Some(place) = changed.get_or_insert_with(|| values.buffers().to_vec()).get_mut(*buffer as usize) {
                *place = made.into();
            }
            Ok(())
        }
        Node::Text { .. } => Ok(()),
        Node::List { item, .. } | Node::Optional { item, .. } | Node::Fixed { item, .. } => {
            change(item, values, plans, changed)
        }
        Node::Variant { items, .. } => items.iter().try_for_each(|item| change(item, values, plans, changed)),
        Node::Record { members } => members.iter().try_for_each(|member| change(member, values, plans, changed)),
    }
}
