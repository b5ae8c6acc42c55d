//! Columns whose number of rows follows from their end, and missing rows.

use super::super::program::{Program, Step};
use super::{Machine, NO_ROWS, Order};
use crate::column::Part;
use crate::error::{Error, Result};
use crate::wire::Reader;

impl Machine<'_> {
    /// Decodes the items of a split collection's member until the reader's end; gives their number.
    ///
    /// A column that has one frame around it ends where that ends; any other ends with the entry.
    pub fn column_until_end(&mut self, program: &Program, reader: &mut Reader<'_>, part: &mut Part) -> Result<usize> {
        let mut items = 0;
        match program.root_steps() {
            [Step::SharedFrame { body, count }] => {
                let frame = reader.frame()?;
                while reader.left() > 0 {
                    self.each(program, *body, reader, *count as usize, part)?;
                    items += 1;
                }
                reader.finish(frame, "a column")?;
            }
            [Step::Collection { framed: true, array, item, columns, value_version_from, ends }] => {
                let frame = reader.frame()?;
                let mut body = None;
                if frame.is_member_wise() {
                    body = Some(self.value_body(frame, columns.as_ref(), *value_version_from, reader)?);
                }
                while reader.left() > 0 {
                    for _ in 0..*array {
                        self.one_list(program, reader, frame, *item, body, *ends, part)?;
                    }
                    items += 1;
                }
                reader.finish(frame, "a column")?;
            }
            [Step::Opaque { shared: true, .. }] => {
                return Err(Error::unsupported(NO_ROWS).at(reader.position() as u64));
            }
            _ => {
                while reader.left() > 0 {
                    let before = reader.at();
                    self.run(program, program.root, reader, 1, Order::Columns, part)?;
                    if reader.at() == before {
                        return Err(Error::malformed("an item of a column has no bytes").at(reader.position() as u64));
                    }
                    items += 1;
                }
            }
        }
        part.rows += items;
        Ok(items)
    }

    /// Appends `n` rows of zeros and empty lists.
    pub fn empty(&mut self, kind: &crate::column::Kind, n: usize, part: &mut Part) -> Result<()> {
        use crate::column::Kind;
        match kind {
            Kind::Number { buffer, number } => {
                // Nothing in the bytes bounds a fixed array that is not there.
                let wanted = n.saturating_mul(number.bytes());
                part.absent_bytes = part.absent_bytes.saturating_add(wanted);
                if part.absent_bytes as u64 > self.limits.object_bytes {
                    let limit = self.limits.object_bytes;
                    return Err(Error::limit("absent members are too large", limit, part.absent_bytes as u64));
                }
                let bytes = part.bytes_mut(*buffer);
                bytes.resize(bytes.len() + n * number.bytes(), 0);
            }
            _ if n as u64 > self.limits.object_bytes => {
                return Err(Error::limit("an absent member is too large", self.limits.object_bytes, n as u64));
            }
            Kind::Text { offsets, .. } | Kind::Opaque { offsets, .. } | Kind::List { offsets, .. } => {
                for _ in 0..n {
                    part.end_list(*offsets, 0)?;
                }
            }
            Kind::Fixed { len, item } => self.empty(item, n.saturating_mul(*len), part)?,
            Kind::Record { fields, .. } => {
                for field in fields {
                    self.empty(&field.kind, n, part)?;
                }
            }
            Kind::Pointer { buffer, .. } => {
                for _ in 0..n {
                    part.words_mut(*buffer).push(0);
                }
            }
            Kind::OneOf { .. } => return Err(Error::internal("a program fills followed pointers")),
        }
        Ok(())
    }
}
