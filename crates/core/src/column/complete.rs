//! Whether buffers hold as many values as their type and their rows say.
//!
//! Decoding fills several buffers side by side. One that lags behind would give wrong values later, wherever it is
//! looked at; so lengths are compared once, when a column or an object is complete.

use super::{BufferId, Kind, Part};
use crate::error::{Error, Result};

/// The lengths of buffers.
pub(crate) trait Filled {
    /// Bytes of a buffer of numbers or of text.
    fn bytes(&self, buffer: BufferId) -> usize;
    /// Numbers of objects in a buffer of these.
    fn ids(&self, buffer: BufferId) -> usize;
    /// Lists of a buffer of ends, and the items of all of them.
    fn lists(&self, buffer: BufferId) -> (usize, usize);
}

/// Compares buffers with a type and a number of rows.
///
/// # Errors
///
/// [`Internal`](crate::ErrorKind::Internal): decoding has reported all that is wrong with the file.
pub(crate) fn check(kind: &Kind, rows: usize, filled: &impl Filled) -> Result<()> {
    let same = |what: &str, wanted: Option<usize>, found: usize| match wanted == Some(found) {
        true => Ok(()),
        false => {
            let error = Error::internal(format!("decoding gave too many or too few {what} ({kind})"));
            Err(error.wanted(wanted.map_or(u64::MAX, |wanted| wanted as u64), found as u64))
        }
    };
    match kind {
        Kind::Number { buffer, number } => {
            same("bytes of numbers", rows.checked_mul(number.bytes()), filled.bytes(*buffer))
        }
        Kind::Text { offsets, bytes } | Kind::Opaque { offsets, bytes, .. } => {
            let (lists, items) = filled.lists(*offsets);
            same("strings", Some(rows), lists)?;
            same("bytes of strings", Some(items), filled.bytes(*bytes))
        }
        Kind::List { offsets, item, .. } => {
            let (lists, items) = filled.lists(*offsets);
            same("lists", Some(rows), lists)?;
            check(item, items, filled)
        }
        Kind::Fixed { len, item } => match rows.checked_mul(*len) {
            Some(items) => check(item, items, filled),
            None => same("items", None, rows),
        },
        Kind::Record { fields, .. } => fields.iter().try_for_each(|field| check(&field.kind, rows, filled)),
        Kind::Pointer { buffer, .. } => same("numbers of objects", Some(rows), filled.ids(*buffer)),
        // Pointers are followed in columns that were checked before.
        Kind::OneOf { .. } => Ok(()),
    }
}

impl Filled for Part {
    fn bytes(&self, buffer: BufferId) -> usize {
        self.byte_len(buffer)
    }

    fn ids(&self, buffer: BufferId) -> usize {
        self.words(buffer).len()
    }

    fn lists(&self, buffer: BufferId) -> (usize, usize) {
        let ends = self.words(buffer);
        (ends.len(), super::ends::total(ends) as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::column::{BufferKind, ListOf, Number};
    use crate::error::ErrorKind;

    #[test]
    fn a_buffer_that_lags_behind_is_a_bug() {
        let number = Kind::Number { buffer: 0, number: Number::I16 };
        let list = Kind::List { offsets: 1, of: ListOf::Sequence, item: Box::new(number) };
        let mut part = Part::new(&[BufferKind::Numbers(Number::I16), BufferKind::Ends]);
        assert!(check(&list, 0, &part).is_ok());
        part.bytes_mut(0).extend([1, 0, 2, 0, 3, 0]);
        part.words_mut(1).extend([2, 2, 3]);
        assert!(check(&list, 3, &part).is_ok());
        assert_eq!(check(&list, 2, &part).unwrap_err().kind(), ErrorKind::Internal);
        part.cut(0, 5);
        assert_eq!(check(&list, 3, &part).unwrap_err().kind(), ErrorKind::Internal);
        part.words_mut(1).push(4);
        assert_eq!(check(&list, 4, &part).unwrap_err().kind(), ErrorKind::Internal);
    }
}
