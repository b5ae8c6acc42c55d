//! What a file knows of an RNTuple that is written.

use std::ops::Range;
use std::sync::Arc;

use crate::container::Key;
use crate::error::{Error, Result};
use crate::ntuple::{AttributeSet, ClusterGroup, ColumnPages, Descriptors, Envelope, Footer, Link, page_list};
use crate::write::options::MAX_KEY_BYTES;

/// A committed cluster.
#[derive(Clone, Debug)]
pub(crate) struct CommittedCluster {
    pub(crate) entries: Range<u64>,
    pub(crate) columns: Vec<ColumnPages>,
}

/// Clusters whose page list was written.
#[derive(Clone, Debug)]
pub(crate) struct WrittenGroup {
    pub(crate) clusters: Range<usize>,
    pub(crate) group: ClusterGroup,
    /// The record of the page list.
    pub(crate) room: Range<u64>,
}

/// An RNTuple of the file being written.
#[derive(Debug)]
pub(crate) struct NTupleState {
    pub(crate) folder: usize,
    pub(crate) name: Arc<str>,
    pub(crate) header: Envelope,
    pub(crate) header_link: Link,
    /// What the footer adds to the schema of the header.
    pub(crate) added: Descriptors,
    pub(crate) attribute_sets: Vec<AttributeSet>,
    /// Features of the format that the footer names.
    pub(crate) features: u64,
    pub(crate) clusters: Vec<CommittedCluster>,
    pub(crate) groups: Vec<WrittenGroup>,
    pub(crate) entries: u64,
    /// Elements of each column so far.
    pub(crate) elements: Vec<u64>,
    /// Record of the footer on storage.
    pub(crate) footer: Option<Range<u64>>,
    /// The anchor's key.
    pub(crate) key: Option<Key>,
    /// Whether its anchor has to be written anew.
    pub(crate) changed: bool,
    pub(crate) is_open: bool,
    /// Stored bytes of all pages.
    pub(crate) stored: u64,
    /// The most bytes of a record; payloads with more go into several.
    pub(crate) max_key_bytes: u64,
}

impl NTupleState {
    pub(crate) fn new(folder: usize, name: Arc<str>, header: Envelope, link: Link, columns: usize) -> Self {
        Self {
            folder,
            name,
            header,
            header_link: link,
            added: Descriptors::default(),
            attribute_sets: Vec::new(),
            features: 0,
            clusters: Vec::new(),
            groups: Vec::new(),
            entries: 0,
            elements: vec![0; columns],
            footer: None,
            key: None,
            changed: true,
            is_open: true,
            stored: 0,
            max_key_bytes: MAX_KEY_BYTES,
        }
    }

    /// The page list of some clusters.
    pub(crate) fn page_list(&self, clusters: Range<usize>) -> Result<Envelope> {
        let clusters: Vec<_> =
            self.clusters[clusters].iter().map(|cluster| (cluster.entries.clone(), cluster.columns.clone())).collect();
        page_list::seal(&self.header, &clusters)
    }

    /// The footer of all groups that were written.
    pub(crate) fn seal_footer(&self) -> Result<Envelope> {
        let groups = self.groups.iter().map(|written| written.group).collect();
        let footer = Footer { features: self.features, groups, attribute_sets: self.attribute_sets.clone() };
        footer.seal(&self.header, &self.added)
    }

    /// Clusters whose page list is not written yet.
    pub(crate) fn unlisted(&self) -> Range<usize> {
        self.groups.last().map_or(0, |group| group.clusters.end)..self.clusters.len()
    }

    /// What the footer says of clusters whose page list is at a place.
    pub(crate) fn group(&self, clusters: &Range<usize>, page_list: Link) -> Result<ClusterGroup> {
        let Some([first, .., last] | [first @ last]) = self.clusters.get(clusters.clone()) else {
            return Err(Error::internal("a group of clusters is empty, or names clusters that are not there"));
        };
        let (first_entry, end) = (first.entries.start, last.entries.end);
        Ok(ClusterGroup { first_entry, entries: end - first_entry, clusters: clusters.len() as u32, page_list })
    }
}
