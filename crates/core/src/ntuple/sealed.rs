//! An RNTuple as those need it who move its pages without decoding them.

use std::ops::Range;

use bytes::Bytes;

use super::anchor::Anchor;
use super::descriptor::Descriptors;
use super::envelope::{Envelope, EnvelopeType};
use super::field::FieldId;
use super::footer::Footer;
use super::header::Header;
use super::locator::Link;
use super::page_list::{ClusterPages, ColumnPages, group_of, read_clusters};
use super::payload::{is_spread, read_payloads};
use super::{NTuple, Role};
use crate::container::Key;
use crate::error::{Error, Result};

/// Entries of a cluster, and its pages, column by column.
pub(crate) type Cluster = (Range<u64>, Vec<ColumnPages>);

impl NTuple {
    /// The header as it was written.
    pub(crate) fn header(&self) -> &Envelope {
        &self.header
    }

    /// What its anchor leads to.
    pub(crate) fn anchor(&self) -> &Anchor {
        &self.anchor
    }

    pub(crate) fn footer(&self) -> &Footer {
        &self.footer
    }

    /// The schema of header and footer together.
    pub(crate) fn schema(&self) -> &Descriptors {
        &self.schema
    }

    /// What the footer adds to the schema of the header.
    pub(crate) fn added(&self) -> Result<Descriptors> {
        let of_header = Header::read(&self.header).map_err(|error| self.place(error))?.schema;
        let schema = &self.schema;
        Ok(Descriptors {
            fields: behind(&schema.fields, of_header.fields.len())?,
            columns: behind(&schema.columns, of_header.columns.len())?,
            aliases: behind(&schema.aliases, of_header.aliases.len())?,
            infos: behind(&schema.infos, of_header.infos.len())?,
        })
    }

    /// Entries and pages of a cluster: one item for each column that the cluster knows.
    pub(crate) fn cluster_pages(&self, number: usize) -> Result<Cluster> {
        let lists = self.lists()?;
        let cluster = lists.cluster(number)?;
        let list = lists.envelope(cluster)?;
        let mut columns = Vec::new();
        while let Some(pages) = cluster.column(list, columns.len()).map_err(|error| self.place(error))? {
            columns.push(pages);
        }
        Ok((cluster.entries.clone(), columns))
    }

    /// The clusters of a page list that its footer does not know, as [`cluster_pages`](Self::cluster_pages); none where
    /// the payload is no page list of this RNTuple.
    pub(crate) fn clusters_of_list(&self, at: u64, stored: Bytes, length: u64) -> Option<Vec<Cluster>> {
        let link = Link::new(at, stored.len() as u64, length);
        let list = Envelope::open(EnvelopeType::PageList, stored, &link, &self.file.options().limits).ok()?;
        let group = group_of(&list, &self.header, link).ok()??;
        let clusters = read_clusters(&list, &self.header, 0, &group, self.columns_of_clusters()).ok()?;
        let pages = |cluster: ClusterPages| {
            let mut columns = Vec::new();
            while let Some(pages) = cluster.column(&list, columns.len()).ok()? {
                columns.push(pages);
            }
            Some((cluster.entries, columns))
        };
        clusters.into_iter().map(pages).collect()
    }

    /// How many elements of a field's first column an entry has; none below collections and variants.
    pub(crate) fn per_entry(&self, field: FieldId) -> Option<u64> {
        let (mut count, mut at) = (1_u64, self.fields.get(field)?);
        loop {
            count = count.saturating_mul(at.repetitions.unwrap_or(1));
            let Some(parent) = at.parent else { return Some(count) };
            at = self.fields.get(parent)?;
            if matches!(at.role, Role::Collection | Role::Variant) {
                return None;
            }
        }
    }

    /// Whether a payload is spread over several keys.
    pub(crate) fn is_spread(&self, bytes: u64) -> bool {
        is_spread(bytes, self.anchor.max_key_bytes)
    }

    /// Payloads as they are stored.
    pub(crate) fn payloads(&self, places: &[(u64, u64)]) -> Result<Vec<Bytes>> {
        read_payloads(&self.file, places, self.anchor.max_key_bytes).map_err(|error| self.place(error))
    }

    /// One of its sets of attributes by its name: an RNTuple itself. Each of its entries is about entries of this one:
    /// about `_rangeLen` of them, from `_rangeStart` on, `_userData` says something.
    ///
    /// # Errors
    ///
    /// [`NotFound`](crate::ErrorKind::NotFound) where there is none of that name; what opening it reports.
    ///
    /// # Example
    ///
    /// ```no_run
    /// let ntuple = sapwood::File::open("events.root")?.ntuple("events")?;
    /// for name in &ntuple.attribute_sets {
    ///     let notes = ntuple.attributes(name)?;
    ///     let about = sapwood::ntuple::columns(&notes, notes.top(), 0..notes.entries)?;
    ///     println!("{name}: {}", about.len());
    /// }
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn attributes(&self, name: &str) -> Result<Self> {
        let number = self.attribute_sets.iter().position(|known| **known == *name);
        let number = number.ok_or_else(|| {
            let names: Vec<_> = self.attribute_sets.iter().map(|name| format!("{name:?}")).collect();
            let known = if names.is_empty() { "it has none".to_owned() } else { names.join(", ") };
            self.place(Error::not_found(format!("there is no set of attributes {name:?}: {known}")))
        })?;
        self.attribute_set(number)
    }

    /// One of its sets of attributes, which is an RNTuple itself.
    pub(crate) fn attribute_set(&self, number: usize) -> Result<Self> {
        let set = self.footer.attribute_sets.get(number);
        let set = set.ok_or_else(|| Error::internal("a set of attributes does not exist"))?;
        let open = || {
            let payloads = self.payloads(&[set.anchor.in_file()?])?;
            let anchor = Anchor::read(payloads.first().map_or(&[][..], |payload| payload))?;
            Self::at_anchor(&self.file, anchor, 0)
        };
        open().map_err(|error| self.place(error.in_object(&set.name)))
    }

    /// The records of header, footer and page lists, to be released once nothing leads to them any more. Those that are
    /// spread, or stand in records of another form, are left out.
    pub(crate) fn envelope_rooms(&self) -> Vec<Range<u64>> {
        let lists = self.footer.groups.iter().map(|group| group.page_list);
        lists.chain([self.anchor.header, self.anchor.footer]).filter_map(|link| self.room_of(&link)).collect()
    }

    fn room_of(&self, link: &Link) -> Option<Range<u64>> {
        let (at, bytes) = link.locator.in_file().ok()?;
        let start = at.checked_sub(Key::BLOB_BYTES).filter(|_| !self.is_spread(bytes))?;
        let head = self.file.read_raw(&[start..at]).ok()?;
        let key = Key::read(head.first()?).ok()?;
        (key.is_blob_at(start) && Some(key.room().end) == at.checked_add(bytes)).then(|| key.room())
    }
}

/// What the footer adds to a list of the header.
fn behind<T: Clone>(list: &[T], of_header: usize) -> Result<Vec<T>> {
    let added = list.get(of_header..).ok_or_else(|| Error::internal("a schema is shorter than its header"))?;
    Ok(added.to_vec())
}
