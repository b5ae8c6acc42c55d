//! What fields take: pages and bytes.

use std::ops::Range;

use super::NTuple;
use super::elements::page_bytes;
use super::field::FieldId;
use crate::error::Result;

/// What the pages of a field, and of all fields below it, take.
///
/// # Example
///
/// ```no_run
/// let ntuple = sapwood::File::open("events.root")?.ntuple("events")?;
/// let bytes = ntuple.field_bytes(ntuple.field("jets")?.id)?;
/// println!("{} bytes, {} once inflated", bytes.stored, bytes.inflated);
/// # Ok::<(), sapwood::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FieldBytes {
    /// Pages.
    pub pages: u64,
    /// Bytes in the file, checksums excluded.
    pub stored: u64,
    /// Bytes once inflated.
    pub inflated: u64,
    /// The setting of the first page: algorithm times 100, and level.
    pub compression: u32,
}

impl NTuple {
    /// What a field takes, with all below it. A projected field takes nothing, and clusters whose page list is damaged
    /// are not counted.
    ///
    /// # Errors
    ///
    /// What reading the page lists reports.
    pub fn field_bytes(&self, id: FieldId) -> Result<FieldBytes> {
        let mut sum = FieldBytes::default();
        let mut todo = vec![id];
        while let Some(id) = todo.pop() {
            let Some(field) = self.fields.get(id) else { continue };
            todo.extend(&field.children);
            if field.source.is_some() {
                continue;
            }
            for &column in field.representations.iter().flatten() {
                self.add_column(column, &mut sum).map_err(|error| self.in_field(id, error))?;
            }
        }
        Ok(sum)
    }

    fn add_column(&self, column: usize, sum: &mut FieldBytes) -> Result<()> {
        let (lists, bits) = (self.lists()?, self.column(column)?.bits);
        for cluster in &lists.clusters {
            let Ok(list) = lists.envelope(cluster) else { continue };
            let Some(pages) = cluster.column(list, column)? else { continue };
            for page in &pages.pages {
                if sum.pages == 0 {
                    sum.compression = pages.compression;
                }
                sum.pages += 1;
                sum.stored = sum.stored.saturating_add(page.locator.in_file()?.1);
                sum.inflated = sum.inflated.saturating_add(page_bytes(bits, u64::from(page.elements)));
            }
        }
        Ok(())
    }

    /// Pages of the first column of a field: entries that begin in each, position, bytes. Of what is in collections,
    /// the clusters tell no more than their own entries.
    ///
    /// # Errors
    ///
    /// What reading the page lists reports.
    pub fn first_pages(&self, id: FieldId) -> Result<Vec<(Range<u64>, u64, u64)>> {
        let Some(field) = self.fields.get(id) else { return Ok(Vec::new()) };
        let (lists, mut found) = (self.lists()?, Vec::new());
        let is_top = field.parent.is_none();
        for (number, cluster) in lists.clusters.iter().enumerate() {
            if lists.envelope(cluster).is_err() {
                continue;
            }
            let live = lists.live(self, &field.representations, number, None)?;
            let Some(column) = live.columns.first().filter(|_| is_top) else { continue };
            let mut next = cluster.entries.start + column.missing;
            for page in &column.pages.pages {
                let (at, bytes) = page.locator.in_file()?;
                let end = next.saturating_add(u64::from(page.elements)).min(cluster.entries.end);
                found.push((next..end, at, bytes));
                next = end;
            }
        }
        Ok(found)
    }
}
