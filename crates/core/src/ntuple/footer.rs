//! The footer envelope: what was added to the schema, and where the page lists are.

use std::sync::Arc;

use super::descriptor::Descriptors;
use super::envelope::{Envelope, EnvelopeType, read_feature_flags};
use super::locator::{Link, Locator};
use crate::error::{Error, ErrorKind, Result};

/// Clusters that share a page list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ClusterGroup {
    pub(crate) first_entry: u64,
    pub(crate) entries: u64,
    pub(crate) clusters: u32,
    pub(crate) page_list: Link,
}

/// Another RNTuple whose entries speak of ranges of entries of this one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AttributeSet {
    pub(crate) version: (u16, u16),
    pub(crate) anchor_bytes: u32,
    pub(crate) anchor: Locator,
    pub(crate) name: Arc<str>,
}

/// What the footer holds.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Footer {
    /// Features of the format that are used.
    pub(crate) features: u64,
    pub(crate) groups: Vec<ClusterGroup>,
    pub(crate) attribute_sets: Vec<AttributeSet>,
}

impl Footer {
    /// Reads a footer, and adds what it adds to the schema.
    ///
    /// # Errors
    ///
    /// [`Mismatch`](ErrorKind::Mismatch) if it belongs to another header, and what envelopes report.
    pub(crate) fn read(envelope: &Envelope, header: &Envelope, schema: &mut Descriptors) -> Result<Self> {
        Self::read_into(envelope, header, schema).map_err(|error| EnvelopeType::Footer.name(error))
    }

    fn read_into(envelope: &Envelope, header: &Envelope, schema: &mut Descriptors) -> Result<Self> {
        let mut reader = envelope.payload();
        let features = read_feature_flags(&mut reader)?;
        check_header(reader.u64()?, header)?;
        let mut extension = reader.record()?;
        if extension.left() > 0 {
            schema.read_more(&mut extension)?;
        }
        let (mut list, count) = reader.list(48)?;
        let mut groups = Vec::with_capacity(count);
        for _ in 0..count {
            let mut record = list.record()?;
            let (first_entry, entries, clusters) = (record.u64()?, record.u64()?, record.u32()?);
            groups.push(ClusterGroup { first_entry, entries, clusters, page_list: Link::read(&mut record)? });
        }
        let mut attribute_sets = Vec::new();
        // Before version 1.0.1 there was no such list.
        if reader.left() > 0 {
            let (mut list, count) = reader.list(8)?;
            for _ in 0..count {
                let mut record = list.record()?;
                let version = (record.u16()?, record.u16()?);
                let (anchor_bytes, anchor) = (record.u32()?, Locator::read(&mut record)?);
                let name = record.string()?.into();
                attribute_sets.push(AttributeSet { version, anchor_bytes, anchor, name });
            }
        }
        Ok(Self { features, groups, attribute_sets })
    }

    /// A new footer. `added` is what the schema has beyond the header's.
    pub(crate) fn seal(&self, header: &Envelope, added: &Descriptors) -> Result<Envelope> {
        Envelope::seal(EnvelopeType::Footer, |writer| {
            writer.u64(self.features);
            writer.u64(header.checksum);
            writer.record(|extension| added.write(extension))?;
            writer.list(self.groups.len(), |list| {
                self.groups.iter().try_for_each(|group| {
                    list.record(|record| {
                        record.u64(group.first_entry);
                        record.u64(group.entries);
                        record.u32(group.clusters);
                        group.page_list.write(record)
                    })
                })
            })?;
            writer.list(self.attribute_sets.len(), |list| {
                self.attribute_sets.iter().try_for_each(|set| {
                    list.record(|record| {
                        record.u16(set.version.0);
                        record.u16(set.version.1);
                        record.u32(set.anchor_bytes);
                        set.anchor.write(record)?;
                        record.string(&set.name)
                    })
                })
            })
        })
    }
}

/// Checks that an envelope belongs to the header.
pub(super) fn check_header(checksum: u64, header: &Envelope) -> Result<()> {
    if checksum == header.checksum {
        return Ok(());
    }
    let message = "an envelope belongs to another header: its checksum of the header differs";
    Err(Error::new(ErrorKind::Mismatch, message).wanted(header.checksum, checksum))
}
