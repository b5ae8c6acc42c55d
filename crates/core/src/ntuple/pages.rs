//! The elements of a column in a cluster: which are in pages, and which are not because the column was added later.

use std::ops::Range;

use super::descriptor::ColumnDescriptor;
use super::envelope::Envelope;
use super::page_list::{ClusterPages, ColumnPages, Page};
use super::{NTuple, PageLists};
use crate::error::{Error, Result};

/// The live columns of a field in a cluster, and their pages.
#[derive(Debug)]
pub(super) struct Live {
    /// One for each column of a representation: number of the column, its pages.
    pub(super) columns: Vec<Elements>,
}

/// Elements of one column in one cluster.
#[derive(Debug)]
pub(super) struct Elements {
    pub(super) column: usize,
    /// Elements at the beginning that are in no page: zeros.
    pub(super) missing: u64,
    pub(super) pages: ColumnPages,
    /// All elements; those of a column that was added after the cluster are as many as are wanted.
    pub(super) count: u64,
}

/// Wanted elements of one page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    /// Number of the page in its column and cluster.
    pub(super) number: usize,
    pub(super) page: Page,
    /// Elements of the page.
    pub(super) want: Range<usize>,
}

impl Elements {
    /// The pages that hold wanted elements, and which of their elements these are. Elements in no page are left out.
    pub(super) fn pages_of(&self, wanted: Range<u64>) -> impl Iterator<Item = Piece> + use<'_> {
        let mut next = self.missing;
        self.pages.pages.iter().enumerate().filter_map(move |(number, page)| {
            let start = next;
            next += u64::from(page.elements);
            let want = wanted.start.max(start)..wanted.end.min(next);
            let local = |element: u64| (element - start) as usize;
            (want.start < want.end).then(|| Piece { number, page: *page, want: local(want.start)..local(want.end) })
        })
    }
}

impl PageLists {
    pub(super) fn cluster(&self, number: usize) -> Result<&ClusterPages> {
        self.clusters.get(number).ok_or_else(|| Error::internal("a cluster that does not exist is read"))
    }

    /// The page list that has a cluster.
    ///
    /// # Errors
    ///
    /// Why it cannot be read.
    pub(super) fn envelope(&self, cluster: &ClusterPages) -> Result<&Envelope> {
        let list = self.envelopes.get(cluster.group);
        list.ok_or_else(|| Error::internal("a cluster has no page list"))?.as_ref().map_err(Clone::clone)
    }

    /// The columns of a field that are in use in a cluster. `per_entry` is how many elements of its first column an
    /// entry has, for a field with no collection or variant above; else none.
    pub(super) fn live(
        &self,
        ntuple: &NTuple,
        representations: &[Vec<usize>],
        cluster: usize,
        per_entry: Option<u64>,
    ) -> Result<Live> {
        let of = self.cluster(cluster)?;
        let list = self.envelope(of)?;
        for columns in representations {
            let mut live = Vec::with_capacity(columns.len());
            for (place, &column) in columns.iter().enumerate() {
                let described = ntuple.column(column)?;
                let Some(pages) = of.column(list, column)? else { continue };
                if pages.first_element.is_none() {
                    continue;
                }
                let per_entry = per_entry.filter(|_| place == 0);
                live.push(elements(column, described, pages, of, per_entry)?);
            }
            if live.len() == columns.len() {
                return Ok(Live { columns: live });
            }
            if !live.is_empty() {
                return Err(Error::malformed(
                    "a field has some columns of a representation in a cluster, and lacks others",
                ));
            }
        }
        // The field was added after the cluster: all its values are zeros.
        let columns = representations.first().map_or(&[][..], |columns| columns);
        let entries = of.entries.end - of.entries.start;
        let absent = |(place, &column): (usize, &usize)| {
            let missing = if place == 0 { per_entry.unwrap_or(0).saturating_mul(entries) } else { 0 };
            Elements { column, missing, pages: ColumnPages::default(), count: missing }
        };
        Ok(Live { columns: columns.iter().enumerate().map(absent).collect() })
    }
}

fn elements(
    column: usize,
    described: &ColumnDescriptor,
    pages: ColumnPages,
    cluster: &ClusterPages,
    per_entry: Option<u64>,
) -> Result<Elements> {
    let mut missing = 0;
    if let (Some(per_entry), Some(first)) = (per_entry, described.first_element) {
        let before = cluster.entries.start.saturating_mul(per_entry);
        let all = (cluster.entries.end - cluster.entries.start).saturating_mul(per_entry);
        missing = first.unsigned_abs().saturating_sub(before).min(all);
    }
    let in_pages = pages.elements();
    let count = in_pages.checked_add(missing).ok_or_else(|| Error::malformed("a column has too many elements"))?;
    if let Some(per_entry) = per_entry {
        let wanted = (cluster.entries.end - cluster.entries.start).saturating_mul(per_entry);
        if count != wanted {
            let message = "a column's pages do not have the elements of their cluster";
            return Err(Error::malformed(message).in_object(&format!("column {column}")).wanted(wanted, count));
        }
    }
    Ok(Elements { column, missing, pages, count })
}
