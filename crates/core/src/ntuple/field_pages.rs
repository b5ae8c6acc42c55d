//! The pages of a field and of the fields below it.

use super::NTuple;
use super::field::FieldId;
use crate::error::{Error, Result};

/// A page of a field, or of a field below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FieldPage {
    /// Number of its cluster.
    pub(crate) cluster: usize,
    pub(crate) column: usize,
    pub(crate) elements: u32,
    /// Position and stored bytes.
    pub(crate) place: (u64, u64),
    /// Whether it holds the innermost values of the field.
    pub(crate) is_innermost: bool,
}

impl NTuple {
    /// The pages of a field and of all fields below it.
    ///
    /// # Errors
    ///
    /// [`Unsupported`](crate::ErrorKind::Unsupported) for a field that shows another one, or whose pages are not in the
    /// file; what reading the page lists reports.
    pub(crate) fn field_pages(&self, id: FieldId) -> Result<Vec<FieldPage>> {
        let lists = self.lists()?;
        let mut todo = vec![id];
        let mut found = Vec::new();
        while let Some(id) = todo.pop() {
            let Some(field) = self.fields.get(id) else { continue };
            if field.source.is_some() {
                return Err(self.in_field(id, Error::unsupported("a projected field has no pages")));
            }
            todo.extend(&field.children);
            for (number, cluster) in lists.clusters.iter().enumerate() {
                let list = lists.envelope(cluster)?;
                for &column in field.representations.iter().flatten() {
                    let Some(pages) = cluster.column(list, column)? else { continue };
                    for page in &pages.pages {
                        found.push(FieldPage {
                            cluster: number,
                            column,
                            elements: page.elements,
                            place: page.locator.in_file()?,
                            is_innermost: field.children.is_empty(),
                        });
                    }
                }
            }
        }
        Ok(found)
    }
}
