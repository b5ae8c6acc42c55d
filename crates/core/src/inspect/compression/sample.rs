//! Some entries of a tree or an RNTuple, in baskets or pages of several sizes, before compression.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use crate::codec::{Algorithm, Compression, Scratch, inflate};
use crate::container::Key;
use crate::error::{Error, ErrorKind, Result};
use crate::file::{File, OpenOptions};
use crate::inspect::layout::Layout;
use crate::io::{MemorySink, MemoryStore};
use crate::ntuple::{NTuple, StoredPage};
use crate::tree::{Basket, Tree};
use crate::write::{
    Baskets, Every, FileWriter, NTupleOptions, NTupleRewrite, Pages, Rewrite, TreeOptions, WriteOptions,
    entries_of_cluster,
};

/// A basket or a page before compression.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    /// What is compressed.
    pub(super) bytes: Bytes,
    /// Bytes beside it: the key of a basket, the checksum of a page.
    pub(super) beside: u64,
    /// The basket that it is, if it is one.
    pub(super) basket: Option<Basket>,
}

/// The sampled pieces of one branch, or of all columns of one field.
#[derive(Clone, Debug)]
pub(super) struct BranchSample {
    pub(super) path: String,
    pub(super) name: Arc<str>,
    pub(super) pieces: Vec<Piece>,
    /// How much more there is of it in the whole file.
    pub(super) factor: f64,
}

/// All branches, with baskets or pages of one size.
#[derive(Clone, Debug)]
pub(super) struct Sample {
    pub(super) branches: Vec<BranchSample>,
    pub(super) entries: u64,
}

/// The size of baskets that are as they are in the file.
pub(super) const AS_IT_IS: usize = 0;

/// How many ranges are sampled where there are more entries than wanted.
const RANGES: u64 = 8;

/// Ranges of entries of about so many bytes: all, whole clusters at equal distances, or two parts of clusters.
pub(super) fn ranges(entries: u64, all_bytes: u64, cluster_entries: u64, wanted_bytes: u64) -> Vec<Range<u64>> {
    let wanted = u128::from(entries) * u128::from(wanted_bytes) / u128::from(all_bytes.max(1));
    let wanted = u64::try_from(wanted).unwrap_or(u64::MAX).max(1);
    if wanted >= entries {
        return if entries == 0 { Vec::new() } else { vec![Range { start: 0, end: entries }] };
    }
    let count = (wanted / cluster_entries.max(1)).clamp(2, RANGES).min(entries);
    let length = (wanted / count).max(1);
    let start = |number: u64| {
        let middle = u128::from(entries) * u128::from(2 * number + 1) / u128::from(2 * count);
        (middle as u64).saturating_sub(length / 2)
    };
    let mut found: Vec<Range<u64>> = Vec::new();
    for number in 0..count {
        let from = start(number).max(found.last().map_or(0, |range| range.end));
        found.push(from..from.saturating_add(length).min(entries));
    }
    found.retain(|range| !range.is_empty());
    found
}

/// A file in memory that `write` fills.
fn in_memory(from: &File, write: impl FnOnce(&mut FileWriter) -> Result<()>) -> Result<File> {
    let sink = Arc::new(MemorySink::default());
    let options = WriteOptions {
        compression: Some(Compression::NONE),
        session: from.options().session.clone(),
        reproducible: true,
        ..WriteOptions::default()
    };
    let mut writer = FileWriter::to_sink(Arc::clone(&sink), "a sample", options)?;
    // What old versions wrote is read by their rules.
    writer.output.open_state()?.header.version = from.header().version;
    write(&mut writer)?;
    writer.close()?;
    let store = Arc::new(MemoryStore::new("a sample", sink.to_bytes()));
    File::from_store(store, OpenOptions { session: from.options().session.clone(), ..OpenOptions::default() })
}

impl Sample {
    /// Entries of a tree in new baskets of at most so many bytes.
    pub(super) fn of_tree(
        from: &File,
        path: &str,
        tree: &Tree,
        ranges: &[Range<u64>],
        basket_bytes: usize,
    ) -> Result<Self> {
        let wish = TreeOptions { compression: Some(Compression::NONE), basket_bytes, ..TreeOptions::default() };
        let length = ranges.first().map_or(1, |range| range.end - range.start);
        let cluster = entries_of_cluster(tree, &wish).min(length).max(1);
        let wish = TreeOptions { auto_flush: Every::Entries(cluster), ..wish };
        let how = Rewrite { baskets: Baskets::New(wish), entries: Some(ranges.to_vec()), ..Rewrite::default() };
        // Keys of baskets hold the name of the tree: it keeps that.
        let name = path.rsplit('/').find(|name| !name.is_empty()).unwrap_or(path);
        let file = in_memory(from, |writer| writer.rewrite(from, path, name, &how))?;
        let mut sample = Self::of_baskets(&*file.tree(name)?, u64::MAX)?;
        let whole = tree.entries as f64 / sample.entries.max(1) as f64;
        for sampled in &mut sample.branches {
            let known = tree.branches().iter().find(|branch| *branch.path == *sampled.path);
            sampled.factor = whole;
            let Some(known) = known.filter(|_| sample.entries < tree.entries) else { continue };
            let keys = sampled.pieces.first().map_or(0, |piece| piece.beside) * known.baskets().len() as u64;
            let taken: u64 = sampled.pieces.iter().map(|piece| piece.bytes.len() as u64).sum();
            // Lists differ in length from place to place; the record knows the bytes of all.
            let all = known.tot_bytes.saturating_sub(keys);
            if all > 0 && taken > 0 {
                sampled.factor = (all as f64 / taken as f64).clamp(whole / 4.0, whole * 4.0);
            }
        }
        Ok(sample)
    }

    /// Baskets as they are in the file, of each branch about so many bytes before compression.
    pub(super) fn of_baskets(tree: &Tree, most_bytes: u64) -> Result<Self> {
        let layout = Layout::of_tree(tree);
        let (mut branches, mut scratch) = (Vec::new(), Scratch::default());
        for (place, branch) in layout.branches.iter().enumerate() {
            let all = layout.baskets_of(place);
            if all.is_empty() {
                continue;
            }
            let each = (branch.tot_bytes / all.len() as u64).max(1);
            let count = usize::try_from(most_bytes / each).unwrap_or(usize::MAX).clamp(1, all.len());
            let chosen: Vec<Range<u64>> = (0..count)
                .filter_map(|number| all.get(number * all.len() / count))
                .map(|extent| extent.at..extent.at.saturating_add(extent.bytes))
                .collect();
            let mut pieces = Vec::with_capacity(count);
            for record in tree.file().read_raw(&chosen)? {
                pieces.push(
                    Piece::of_record(record, tree.file(), &mut scratch)
                        .map_err(|error| error.in_object(&branch.path))?,
                );
            }
            let name = tree.branches().get(branch.id).map_or_else(|| "".into(), |branch| Arc::clone(&branch.name));
            let factor = all.len() as f64 / count as f64;
            branches.push(BranchSample { path: branch.path.clone(), name, pieces, factor });
        }
        Ok(Self { branches, entries: tree.entries })
    }

    /// Entries of an RNTuple in new pages of at most so many bytes, encoded as pages are that are compressed.
    pub(super) fn of_ntuple(
        from: &File,
        key: &Key,
        ntuple: &NTuple,
        ranges: &[Range<u64>],
        page_bytes: usize,
        is_split: bool,
    ) -> Result<Self> {
        // Any codec: it decides about the encoding alone.
        let compression = Compression { algorithm: Algorithm::Lz4, level: u8::from(is_split) };
        let compression = if is_split { compression } else { Compression::NONE };
        let pages = NTupleOptions { compression: Some(compression), page_bytes, ..NTupleOptions::default() };
        let how =
            NTupleRewrite { pages: Pages::New(pages), entries: Some(ranges.to_vec()), ..NTupleRewrite::default() };
        let file = in_memory(from, |writer| writer.rewrite_ntuple_at(from, key, "sample", &how, None).map(drop))?;
        let sampled = file.ntuple("sample")?;
        let (mut pages, _) = sampled.listed_pages()?;
        pages.sort_by_key(|page| (page.field, page.column, page.cluster, page.number));
        let factor = ntuple.entries as f64 / sampled.entries.max(1) as f64;
        let mut branches: Vec<BranchSample> = Vec::new();
        let (mut seen, mut scratch) = (std::collections::HashSet::new(), Scratch::default());
        for page in &pages {
            // Equal pages are stored once.
            if !seen.insert(page.place) {
                continue;
            }
            let Some(field) = sampled.fields().get(page.field) else { continue };
            let StoredPage { stored, inflated_bytes } = sampled.stored_page(page)?;
            let beside = page.place.1.saturating_sub(stored.len() as u64);
            let bytes = if stored.len() == inflated_bytes {
                stored
            } else {
                let mut inflated = vec![0; inflated_bytes];
                inflate(&stored, &mut inflated, &mut scratch)?;
                inflated.into()
            };
            let piece = Piece { bytes, beside, basket: None };
            match branches.iter_mut().rev().find(|branch| *branch.path == *field.path) {
                Some(branch) => branch.pieces.push(piece),
                None => {
                    let (path, name) = (field.path.to_string(), Arc::clone(&field.name));
                    branches.push(BranchSample { path, name, pieces: vec![piece], factor });
                }
            }
        }
        Ok(Self { branches, entries: sampled.entries })
    }
}

impl Piece {
    /// A basket, inflated.
    fn of_record(record: Bytes, file: &File, scratch: &mut Scratch) -> Result<Self> {
        let basket = Basket::read(record, &file.options().limits)?;
        let mut memory = Vec::new();
        let bytes = if basket.key.is_compressed() {
            Bytes::copy_from_slice(basket.inflate(&mut memory, scratch)?)
        } else {
            basket.sealed().clone()
        };
        let beside = u64::from(basket.key.keylen);
        Ok(Self { bytes, beside, basket: (!basket.key.is_compressed()).then_some(basket) })
    }
}

/// Whether new baskets cannot be made, so that those which are there are sampled.
pub(super) fn keeps_baskets(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Unsupported)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_do_not_overlap_and_have_the_bytes() {
        assert_eq!(ranges(100, 1_000, 10, 5_000), [0..100]);
        assert_eq!(ranges(100, 1_000, 10, 500), [5..15, 25..35, 45..55, 65..75, 85..95]);
        assert_eq!(ranges(100, 1_000, 1_000, 100), [23..28, 73..78]);
        assert_eq!(ranges(0, 0, 0, 10), []);
        assert_eq!(ranges(3, 1 << 40, 1, 1), [0..1, 2..3]);
        for (entries, wanted) in [(7, 3), (1_000_000, 12_345), (u64::MAX, 1 << 30)] {
            let found = ranges(entries, entries, 17, wanted);
            assert!(found.windows(2).all(|pair| pair[0].end <= pair[1].start), "{found:?}");
            assert!(found.iter().all(|range| range.end <= entries && !range.is_empty()));
        }
    }
}
