//! Page lists: where the pages of each column are, cluster by cluster.

use std::ops::{Range, RangeInclusive};

use super::envelope::{Envelope, EnvelopeType};
use super::footer::{ClusterGroup, check_header};
use super::frame::{FrameReader, FrameWriter};
use super::locator::{Link, Locator};
use crate::error::{Error, Result};

/// A page of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Page {
    pub(crate) elements: u32,
    /// Whether a checksum of eight bytes follows it.
    pub(crate) has_checksum: bool,
    pub(crate) locator: Locator,
}

/// The pages of a column in one cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ColumnPages {
    pub(crate) pages: Vec<Page>,
    /// Elements of the column in the clusters before. None where another representation is in use.
    pub(crate) first_element: Option<u64>,
    /// The setting that its pages were compressed with.
    pub(crate) compression: u32,
}

impl ColumnPages {
    /// Elements in all pages.
    pub(crate) fn elements(&self) -> u64 {
        self.pages.iter().map(|page| u64::from(page.elements)).sum()
    }

    fn read(list: &mut FrameReader<'_>) -> Result<Self> {
        let at = list.position() as u64;
        let (mut reader, count) = list.list(8)?;
        let mut pages = Vec::with_capacity(count);
        for _ in 0..count {
            let elements = reader.i32()?;
            let locator = Locator::read(&mut reader)?;
            if elements == 0 {
                return Err(Error::malformed("a page has no elements").at(at));
            }
            pages.push(Page { elements: elements.unsigned_abs(), has_checksum: elements < 0, locator });
        }
        let first_element = u64::try_from(reader.i64()?).ok();
        if first_element.is_none() && !pages.is_empty() {
            return Err(Error::malformed("a column has pages in a cluster where it is not in use").at(at));
        }
        let compression = if first_element.is_some() { reader.u32()? } else { 0 };
        Ok(Self { pages, first_element, compression })
    }

    fn write(&self, list: &mut FrameWriter) -> Result<()> {
        list.list(self.pages.len(), |list| {
            for page in &self.pages {
                let elements = i32::try_from(page.elements)
                    .map_err(|_| Error::limit("a page has too many elements", i32::MAX as u64, page.elements.into()))?;
                list.i32(if page.has_checksum { -elements } else { elements });
                page.locator.write(list)?;
            }
            match self.first_element {
                Some(first) => {
                    list.i64(first as i64);
                    list.u32(self.compression);
                }
                None => list.i64(i64::MIN),
            }
            Ok(())
        })
    }
}

/// A cluster of a page list: its entries, and where its columns are described.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ClusterPages {
    pub(crate) entries: Range<u64>,
    /// Number of its group.
    pub(crate) group: usize,
    /// Positions of the frames of its columns in the page list.
    columns: Vec<u32>,
}

impl ClusterPages {
    /// The clusters of a group whose page list cannot be read, as one.
    pub(crate) fn unknown(group: usize, announced: &ClusterGroup) -> Self {
        let entries = announced.first_entry..announced.first_entry.saturating_add(announced.entries);
        Self { entries, group, columns: Vec::new() }
    }

    /// The pages of a column; none where the column was added after the cluster.
    pub(crate) fn column(&self, list: &Envelope, column: usize) -> Result<Option<ColumnPages>> {
        let Some(&at) = self.columns.get(column) else { return Ok(None) };
        let bytes =
            list.bytes().get(at as usize..).ok_or_else(|| Error::internal("a column is behind its page list"))?;
        let mut reader = FrameReader::new(bytes, at as usize);
        ColumnPages::read(&mut reader).map(Some).map_err(|error| EnvelopeType::PageList.name(error))
    }
}

const FLAG_SHIFT: u32 = 56;
const SHARDED: u64 = 1;

/// Reads the clusters of a page list. Their columns are looked at when they are needed.
///
/// # Errors
///
/// [`Malformed`](crate::ErrorKind::Malformed) where clusters and their group do not agree,
/// [`Unsupported`](crate::ErrorKind::Unsupported) for sharded clusters.
pub(crate) fn read_clusters(
    list: &Envelope,
    header: &Envelope,
    group: usize,
    announced: &ClusterGroup,
    columns: RangeInclusive<usize>,
) -> Result<Vec<ClusterPages>> {
    clusters_of(list, header, group, announced, columns).map_err(|error| EnvelopeType::PageList.name(error))
}

fn clusters_of(
    list: &Envelope,
    header: &Envelope,
    group: usize,
    announced: &ClusterGroup,
    columns: RangeInclusive<usize>,
) -> Result<Vec<ClusterPages>> {
    let mut reader = list.payload();
    check_header(reader.u64()?, header)?;
    let at = reader.position() as u64;
    let (mut summaries, count) = reader.list(24)?;
    if count != announced.clusters as usize {
        let message = "a page list and its group differ in the number of clusters";
        return Err(Error::malformed(message).at(at).wanted(u64::from(announced.clusters), count as u64));
    }
    let mut ranges = Vec::with_capacity(count);
    for _ in 0..count {
        let at = summaries.position() as u64;
        let mut record = summaries.record()?;
        let (first, word) = (record.u64()?, record.u64()?);
        if word >> FLAG_SHIFT & SHARDED != 0 {
            return Err(Error::unsupported("a cluster is sharded: no reader knows such clusters yet").at(at));
        }
        let entries = word & ((1 << FLAG_SHIFT) - 1);
        let end =
            first.checked_add(entries).ok_or_else(|| Error::malformed("a cluster has too many entries").at(at))?;
        ranges.push(first..end);
    }
    let at = reader.position() as u64;
    let (mut outer, outer_count) = reader.list(12)?;
    if outer_count != count {
        let message = "a page list has pages for another number of clusters";
        return Err(Error::malformed(message).at(at).wanted(count as u64, outer_count as u64));
    }
    let mut clusters = Vec::with_capacity(count);
    for entries in ranges {
        let at = outer.position() as u64;
        let (mut inner, inner_count) = outer.list(20)?;
        if inner_count > *columns.end() {
            let message = "a cluster has more columns than the RNTuple";
            return Err(Error::malformed(message).at(at).wanted(*columns.end() as u64, inner_count as u64));
        }
        if inner_count < *columns.start() {
            let message = "a cluster has fewer columns than the header of the RNTuple";
            return Err(Error::malformed(message).at(at).wanted(*columns.start() as u64, inner_count as u64));
        }
        let mut places = Vec::with_capacity(inner_count);
        for _ in 0..inner_count {
            let at = inner.position();
            places.push(
                u32::try_from(at).map_err(|_| Error::limit("a page list is too long", u32::MAX.into(), at as u64))?,
            );
            inner.list(8)?;
        }
        clusters.push(ClusterPages { entries, group, columns: places });
    }
    Ok(clusters)
}

/// What a footer would say of a page list: none for one of another RNTuple.
pub(crate) fn group_of(list: &Envelope, header: &Envelope, page_list: Link) -> Result<Option<ClusterGroup>> {
    let mut reader = list.payload();
    if reader.u64()? != header.checksum {
        return Ok(None);
    }
    let (mut summaries, count) = reader.list(24)?;
    let (mut first_entry, mut entries) = (u64::MAX, 0_u64);
    for _ in 0..count {
        let mut record = summaries.record()?;
        first_entry = first_entry.min(record.u64()?);
        entries = entries.saturating_add(record.u64()? & ((1 << FLAG_SHIFT) - 1));
    }
    Ok(Some(ClusterGroup { first_entry, entries, clusters: count as u32, page_list }))
}

/// A page list of clusters: their entries, and the pages of each column.
pub(crate) fn seal(header: &Envelope, clusters: &[(Range<u64>, Vec<ColumnPages>)]) -> Result<Envelope> {
    Envelope::seal(EnvelopeType::PageList, |writer| {
        writer.u64(header.checksum);
        writer.list(clusters.len(), |list| {
            clusters.iter().try_for_each(|(entries, _)| {
                list.record(|record| {
                    record.u64(entries.start);
                    record.u64(entries.end - entries.start);
                    Ok(())
                })
            })
        })?;
        writer.list(clusters.len(), |list| {
            clusters.iter().try_for_each(|(_, columns)| {
                list.list(columns.len(), |list| columns.iter().try_for_each(|column| column.write(list)))
            })
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cluster_knows_all_columns_of_the_header() -> Result<()> {
        let header = Envelope::seal(EnvelopeType::Header, |_| Ok(()))?;
        let column = ColumnPages { pages: Vec::new(), first_element: Some(0), compression: 0 };
        let list = seal(&header, &[(0..3, vec![column; 2])])?;
        let length = list.bytes().len() as u64;
        let group = group_of(&list, &header, Link::new(0, length, length))?.expect("the group of this header");
        let read = |columns| read_clusters(&list, &header, 0, &group, columns);
        assert_eq!(read(2..=2)?.len(), 1);
        assert_eq!(read(1..=3)?.len(), 1);
        for columns in [3..=3, 1..=1] {
            let error = read(columns).expect_err("another number of columns");
            assert!(error.to_string().contains("columns than"), "{error}");
        }
        Ok(())
    }
}
