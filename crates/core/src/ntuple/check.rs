//! What inspection needs to see: every page that the page lists name, and what they say of each column.

use bytes::Bytes;

use super::NTuple;
use super::elements::page_bytes;
use super::fetch::{checked, inflated_bytes};
use super::field::{FieldId, Role};
use super::page_list::{ClusterPages, ColumnPages, Page};
use super::payload::{is_spread, read_payloads};
use crate::error::{Error, Result};

/// A page of a column in a cluster.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ListedPage {
    pub(crate) field: FieldId,
    pub(crate) cluster: usize,
    pub(crate) column: usize,
    /// Its number in its column and cluster.
    pub(crate) number: usize,
    pub(crate) page: Page,
    /// Position and bytes, those of the checksum behind it included.
    pub(crate) place: (u64, u64),
    /// How many of these bytes are at that position: a large page goes on in further records.
    pub(crate) first_bytes: u64,
    bits: u16,
}

/// What is wrong with a column in a cluster.
pub(crate) struct ColumnFault {
    pub(crate) field: FieldId,
    pub(crate) cluster: usize,
    pub(crate) column: usize,
    pub(crate) error: Error,
    /// Whether readers can do without what is wrong.
    pub(crate) is_harmless: bool,
}

/// Bytes of a page as they are stored, without the checksum, and once inflated.
pub(crate) struct StoredPage {
    pub(crate) stored: Bytes,
    pub(crate) inflated_bytes: usize,
}

impl ListedPage {
    /// Its bytes once inflated.
    pub(crate) fn inflated_bytes(&self) -> u64 {
        page_bytes(self.bits, u64::from(self.page.elements))
    }
}

impl NTuple {
    /// The clusters of each group whose page list cannot be read, by their number, and why.
    ///
    /// # Errors
    ///
    /// What reading the page lists reports, where none can be read.
    pub(crate) fn unknown_clusters(&self) -> Result<Vec<(usize, Error)>> {
        let lists = self.lists()?;
        let clusters = lists.clusters.iter().enumerate();
        Ok(clusters.filter_map(|(number, cluster)| Some((number, lists.envelope(cluster).err()?))).collect())
    }

    /// All pages of clusters whose page lists can be read, and what these say wrongly of their columns.
    ///
    /// # Errors
    ///
    /// What reading the page lists reports, where none can be read.
    pub(crate) fn listed_pages(&self) -> Result<(Vec<ListedPage>, Vec<ColumnFault>)> {
        let lists = self.lists()?;
        let (mut pages, mut faults) = (Vec::new(), Vec::new());
        for field in &self.fields {
            // A projected field shows the pages of another.
            if field.source.is_some() {
                continue;
            }
            let per_entry = self.elements_per_entry(field.id);
            let places = field.representations.first().map_or(0, Vec::len);
            // Elements so far; not known behind clusters that cannot be read.
            let mut totals = vec![Some(0_u64); places];
            for (cluster, of) in lists.clusters.iter().enumerate() {
                let Ok(list) = lists.envelope(of) else {
                    totals.fill(None);
                    continue;
                };
                let mut live = 0;
                for representation in &field.representations {
                    for (place, &column) in representation.iter().enumerate() {
                        let fault =
                            |error, is_harmless| ColumnFault { field: field.id, cluster, column, error, is_harmless };
                        let listed = match of.column(list, column) {
                            Ok(Some(listed)) => listed,
                            Ok(None) => continue,
                            Err(error) => {
                                faults.push(fault(error, false));
                                continue;
                            }
                        };
                        let Some(offset) = listed.first_element else { continue };
                        live += usize::from(place == 0);
                        if live > 1 {
                            let message = "two representations of a field are in use in one cluster";
                            faults.push(fault(Error::malformed(message), false));
                        }
                        let per_entry = per_entry.filter(|_| place == 0);
                        let expected = match per_entry {
                            Some(per_entry) => Some(self.offset_of(column, of, &listed, per_entry)?),
                            None => totals[place],
                        };
                        if let Some(expected) = expected.filter(|&expected| expected != offset) {
                            let message = "a column's first element in a cluster is not the sum of those before";
                            faults.push(fault(Error::malformed(message).wanted(expected, offset), true));
                        }
                        totals[place] = totals[place].map(|total| total.saturating_add(listed.elements()));
                        for (number, page) in listed.pages.iter().enumerate() {
                            match self.listed(field.id, cluster, column, number, page) {
                                Ok(page) => pages.push(page),
                                Err(error) => faults.push(fault(error, false)),
                            }
                        }
                    }
                }
            }
        }
        Ok((pages, faults))
    }

    fn listed(&self, field: FieldId, cluster: usize, column: usize, number: usize, page: &Page) -> Result<ListedPage> {
        let name = |error: Error| error.in_object(&format!("page {number}"));
        let (at, bytes) = page.locator.in_file().map_err(name)?;
        let place = (at, bytes.saturating_add(if page.has_checksum { 8 } else { 0 }));
        let is_spread = is_spread(place.1, self.anchor.max_key_bytes);
        let first_bytes = if is_spread { self.anchor.max_key_bytes } else { place.1 };
        let bits = self.column(column)?.bits;
        Ok(ListedPage { field, cluster, column, number, page: *page, place, first_bytes, bits })
    }

    /// The first element of a column in a cluster: its entries before, and those that are in no page.
    fn offset_of(&self, column: usize, of: &ClusterPages, listed: &ColumnPages, per_entry: u64) -> Result<u64> {
        let before = of.entries.start.saturating_mul(per_entry);
        let all = (of.entries.end - of.entries.start).saturating_mul(per_entry);
        // Only a column that was added later can have fewer elements in its pages.
        let is_late = self.column(column)?.first_element.is_some();
        let missing = if is_late { all.saturating_sub(listed.elements()) } else { 0 };
        Ok(before.saturating_add(missing))
    }

    /// How many elements of its first column an entry has, for a field with no collection or variant above.
    fn elements_per_entry(&self, id: FieldId) -> Option<u64> {
        let mut field = self.fields.get(id)?;
        let mut count = field.repetitions.unwrap_or(1);
        while let Some(above) = field.parent.and_then(|parent| self.fields.get(parent)) {
            if matches!(above.role, Role::Collection | Role::Variant) {
                return None;
            }
            count = count.saturating_mul(above.repetitions.unwrap_or(1));
            field = above;
        }
        Some(count)
    }

    /// Reads a page, and checks its checksum and its length.
    pub(crate) fn stored_page(&self, listed: &ListedPage) -> Result<StoredPage> {
        let bytes = read_payloads(&self.file, &[listed.place], self.anchor.max_key_bytes)?;
        let bytes = bytes.into_iter().next().ok_or_else(|| Error::internal("a page was not read"))?;
        let stored = checked(&listed.page, &bytes)?.len();
        let whole = inflated_bytes(&listed.page, stored, listed.bits, &self.file.options().limits)?;
        Ok(StoredPage { stored: bytes.slice(..stored), inflated_bytes: whole })
    }
}
