//! Statistics of a table, and the stamps that show whether they describe its present state.

use std::sync::Arc;

use twox_hash::XxHash3_64;

use super::Table;
use crate::error::Result;
use crate::io::ByteRange;
use crate::statistics::ColumnStatistics;
use crate::tree::{BasketBytes, Tree};

/// Baskets or pages of which bytes are part of a stamp, and the most bytes of each.
const SAMPLES: usize = 4;
const SAMPLE_BYTES: u64 = 64 << 10;

impl Table {
    /// A checksum of what the values of a column are read from: the identifier of the file, and the time of its last
    /// change or the ETag; offsets, sizes and entries of all baskets or pages; and the first bytes of some of them.
    /// None if that does not decide on the values: stores without such a time, baskets without a size, projected
    /// fields, and columns without baskets.
    ///
    /// # Errors
    ///
    /// Errors of reading page lists of an RNTuple, or first bytes of baskets.
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::example("nano.root");
    /// let table = sapwood::File::open(path)?.table("Events")?;
    /// let (pt, eta) = (table.stamp(table.find("Jet_pt")?)?, table.stamp(table.find("Jet_eta")?)?);
    /// assert!(pt.is_some() && pt != eta);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn stamp(&self, id: usize) -> Result<Option<u64>> {
        let stamps = match self {
            Self::Tree(tree) => tree.stamps(),
            Self::NTuple(ntuple) => ntuple.stamps(),
        };
        stamps.of(id, || self.new_stamp(id))
    }

    fn new_stamp(&self, id: usize) -> Result<Option<u64>> {
        let mut words: Vec<u64> = vec![self.entries()];
        let mut places = Vec::new();
        match self {
            Self::Tree(tree) => {
                let Some(branch) = tree.branches().get(id) else { return Ok(None) };
                for basket in branch.baskets() {
                    words.extend([basket.entries.start, basket.entries.end]);
                    match basket.bytes {
                        BasketBytes::Stored { seek, nbytes } if nbytes > 0 => {
                            words.extend([seek, u64::from(nbytes)]);
                            places.push((seek, u64::from(nbytes)));
                        }
                        BasketBytes::Stored { .. } => return Ok(None),
                        BasketBytes::Embedded(_) => words.push(u64::MAX),
                    }
                }
            }
            Self::NTuple(ntuple) => {
                if ntuple.fields().get(id).is_none_or(|field| field.source.is_some()) {
                    return Ok(None);
                }
                for cluster in ntuple.clusters()? {
                    words.extend([cluster.start, cluster.end]);
                }
                for page in ntuple.field_pages(id)? {
                    words.extend([page.cluster as u64, page.column as u64, u64::from(page.elements)]);
                    words.extend([page.place.0, page.place.1]);
                    places.push(page.place);
                }
            }
        }
        if places.is_empty() {
            return Ok(None);
        }
        // Other values may be written into baskets of the same sizes at the same places, by a program that keeps the
        // identifier of the file. So all columns are stale once the file was written, copied or touched.
        let Some(validator) = self.file().identity().validator.clone() else { return Ok(None) };
        let mut bytes: Vec<u8> = self.file().header().uuid.to_vec();
        bytes.extend_from_slice(validator.as_bytes());
        bytes.extend_from_slice(self.name().as_bytes());
        bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        // A program may write other values into baskets of the same sizes at the same places.
        let picked = (0..SAMPLES).map(|sample| sample * (places.len() - 1) / (SAMPLES - 1));
        let mut ranges: Vec<ByteRange> = picked
            .filter_map(|at| places.get(at))
            .map(|&(at, bytes)| at..at.saturating_add(bytes.min(SAMPLE_BYTES)))
            .collect();
        ranges.dedup();
        for sample in self.file().read_raw(&ranges)? {
            bytes.extend_from_slice(&XxHash3_64::oneshot(&sample).to_le_bytes());
        }
        Ok(Some(XxHash3_64::oneshot(&bytes)))
    }

    /// The statistics of a column, or of a member of its records, if the side file has them for this state of the file.
    /// Damaged and stale ones are not used; [`File::statistics_notice`](crate::File::statistics_notice) reports them.
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::scratch("table-statistics.root");
    /// # std::fs::copy(sapwood_testkit::example("nano.root"), &path)?;
    /// use sapwood::{File, statistics::SideFile};
    /// sapwood::inspect::index::make(&File::open(&path)?, &Default::default())?
    ///     .side_file
    ///     .write(&SideFile::path_of(&path))?;
    /// let table = File::open(&path)?.table("Events")?;
    /// let statistics = table.statistics(table.find("nJet")?, &[]).expect("they are beside the file");
    /// assert_eq!(statistics.range(), 0..10);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn statistics(&self, id: usize, members: &[Arc<str>]) -> Option<Arc<ColumnStatistics>> {
        let side = self.file().statistics()?;
        let path = self.path(id)?;
        let mut has_stale = false;
        for stored in side.named(self.name(), path, members) {
            // A column that cannot be read now makes its own read fail.
            if self.stamp(id).ok()? != Some(stored.stamp) {
                has_stale = true;
                continue;
            }
            match stored.statistics() {
                Ok(statistics) => return Some(statistics),
                Err(error) => self.file().note_statistics(&format!("{error}: not used")),
            }
        }
        if has_stale {
            let words = format!(
                "the statistics of {path:?} in {:?} are of another state of the file, and are not used: `sapwood index` \
                 makes new ones",
                self.name()
            );
            self.file().note_statistics(&words);
        }
        None
    }

    /// First entries of the baskets that statistics can describe, and the end of the last. Baskets in the record of the
    /// tree are left out.
    pub(crate) fn basket_starts(tree: &Tree, id: usize) -> Vec<u64> {
        let mut starts = Vec::new();
        for basket in tree.branches().get(id).map_or(&[][..], |branch| branch.baskets()) {
            let follows = starts.last().is_none_or(|end| *end == basket.entries.start);
            if basket.stored_at().is_none() || !follows || basket.entries.is_empty() {
                break;
            }
            if starts.is_empty() {
                starts.push(basket.entries.start);
            }
            starts.push(basket.entries.end);
        }
        starts
    }
}
