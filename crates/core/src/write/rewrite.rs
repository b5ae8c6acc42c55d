//! A tree written again: other clusters, baskets, compression; fewer branches and entries. Values are moved as bytes, so that
//! branches of any kind can be rewritten.
//!
//! Source: `TTree::CloneTree`, `TTree::OptimizeBaskets`, `TBasket::Streamer` (`fDisplacement`).

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use rayon::prelude::*;

use super::amend::each_branch;
use super::append::in_order;
use super::clustering::Every;
use super::file::FileWriter;
use super::raw::Raw;
use super::state::{Base, BranchState, TreeState};
use super::tree::{TreeOptions, TreeWriter};
use crate::codec::{Compression, Scratch};
use crate::error::{Error, ErrorKind, Result};
use crate::file::File;
use crate::read::embedded;
use crate::schema::{Datum, Draft};
use crate::tree::{Basket, BasketBytes, Branch, Tree, Unsealed, wanted};

/// How a tree is rewritten.
#[derive(Clone, Debug, Default)]
pub struct Rewrite {
    /// Clusters, baskets and compression of what is written. A cluster's entries follow from the bytes that the tree has now.
    pub tree: TreeOptions,
    /// Top-level branches that are kept, and those that count for them; none for all.
    pub branches: Option<Vec<Arc<str>>>,
    /// Entries that are kept, in order; none for all.
    pub entries: Option<Vec<Range<u64>>>,
}

impl Rewrite {
    /// Whether neither branches nor entries are left out.
    pub(super) fn keeps_all(&self) -> bool {
        self.branches.is_none() && self.entries.is_none()
    }
}

impl FileWriter {
    /// Writes a tree of another file again, under the path `to`.
    ///
    /// # Errors
    ///
    /// [`NotFound`](crate::ErrorKind::NotFound) for a tree or a branch that is not there; [`Unsupported`](crate::ErrorKind::Unsupported) for
    /// baskets in other files or without offsets, and for objects that refer to each other by where they stand; what reading a basket or writing reports.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::column::Number;
    /// use sapwood::write::{BranchSpec, Every, FileWriter, Rewrite, TreeOptions, Values, WriteOptions};
    /// # let place = |name: &str| std::env::temp_dir().join(name);
    /// let mut file = FileWriter::recreate(place("sapwood-rewrite-1.root"), WriteOptions::default())?;
    /// let small = TreeOptions { auto_flush: Every::Entries(1), ..TreeOptions::default() };
    /// let mut tree = file.tree("t", vec![BranchSpec::number("x", Number::U8)], small)?;
    /// tree.extend(&[("x", Values::Numbers(&[1, 2, 3]))])?;
    /// tree.close()?;
    /// file.close()?;
    /// let from = sapwood::File::open(place("sapwood-rewrite-1.root"))?;
    /// let mut file = FileWriter::recreate(place("sapwood-rewrite-2.root"), WriteOptions::default())?;
    /// file.rewrite(&from, "t", "t", &Rewrite::default())?;
    /// file.close()?;
    /// let tree = sapwood::File::open(place("sapwood-rewrite-2.root"))?.tree("t")?;
    /// assert_eq!((tree.entries, tree.clusters().len()), (3, 1));
    /// # for name in ["sapwood-rewrite-1.root", "sapwood-rewrite-2.root"] { std::fs::remove_file(place(name)).ok(); }
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn rewrite(&mut self, from: &File, path: &str, to: &str, how: &Rewrite) -> Result<()> {
        let key = from.key(path)?;
        let tree = from.tree_at(&key)?;
        let within = |error: Error| from.name(error).in_object(path);
        let kept = kept(&tree, how).map_err(within)?;
        let branches: Vec<&Branch> =
            in_order(&tree).into_iter().filter(|branch| kept.contains(top(&tree, branch))).collect();
        check(&branches, tree.entries).map_err(within)?;
        let ranges = match &how.entries {
            None => vec![0..tree.entries],
            Some(ranges) => ranges.clone(),
        };
        if ranges.iter().any(|range| range.start > range.end || range.end > tree.entries) {
            return Err(within(Error::mismatch("entries that the tree does not have are to be kept")));
        }
        let entries: u64 = ranges.iter().map(|range| range.end - range.start).sum();
        let mut draft = from.draft_at(&key)?;
        empty(&mut draft, &kept, how.entries.is_some());
        let first = branches.iter().find(|branch| branch.has_data());
        let compression = how.tree.compression.or_else(|| Compression::from_root(first?.compress));
        let compression = compression.unwrap_or(self.shared.compression);
        set_compression(&mut draft, compression);
        let mut state = self.shared.open_state()?;
        let (folder, name) = self.shared.folder_of(&mut state, to)?;
        if draft.member("fName").is_some() && name != &*key.name {
            draft.set("fName", name);
        }
        let wish = TreeOptions { compression: Some(compression), ..how.tree.clone() };
        let mut written = TreeState::new(folder, name.into(), &[], compression, &wish)?;
        written.title = Arc::clone(&key.title);
        for branch in &branches {
            written.branches.push(BranchState::found(Arc::clone(&branch.name), branch.has_data(), compression));
        }
        let baskets = Some(vec![0; branches.len()]);
        written.base = Some(Base { draft, entries: 0, baskets });
        // What is in the branches is described by their file alone.
        state.describe(from.infos()?.into_iter().map(Arc::new));
        state.trees.push(written);
        let index = state.trees.len() - 1;
        let mut writer = TreeWriter::new(Arc::clone(&self.shared), index, &state.trees[index], Vec::new(), wish);
        drop(state);
        let step = cluster_entries(&tree, &how.tree);
        let mut done = 0;
        while done < entries {
            let many = step.min(entries - done);
            let part = part(&ranges, done, many);
            let outcome = gather(from, &tree, &branches, &part).map_err(within);
            if let Err(error) = outcome.and_then(|raw| writer.cluster_of(raw, many as usize)) {
                self.shared.open_state()?.abandon(index);
                return Err(error);
            }
            done += many;
        }
        if entries == 0 {
            self.shared.open_state()?.trees[index].changed = true;
        }
        writer.close()
    }
}

/// Entries of a cluster: those that were asked for, or as many as the bytes hold that were asked for.
fn cluster_entries(tree: &Tree, wish: &TreeOptions) -> u64 {
    let entries = tree.entries.max(1);
    let of = |bytes: u64, all: u64| (u128::from(entries) * u128::from(bytes) / u128::from(all.max(1))).max(1) as u64;
    let capped = of(wish.cluster_bytes as u64, tree.tot_bytes);
    let wanted = match wish.auto_flush {
        Every::Entries(entries) => entries.max(1),
        Every::Bytes(bytes) => of(bytes, tree.zip_bytes),
        Every::Never => entries,
    };
    wanted.min(capped)
}

/// Entries `from` and so many behind it, of those in some ranges.
fn part(ranges: &[Range<u64>], from: u64, many: u64) -> Vec<Range<u64>> {
    let (mut before, mut part) = (0, Vec::new());
    for range in ranges {
        let length = range.end - range.start;
        let start = from.saturating_sub(before).min(length);
        let end = (from + many).saturating_sub(before).min(length);
        if start < end {
            part.push(range.start + start..range.start + end);
        }
        before += length;
    }
    part
}

/// Name of the top-level branch that a branch is in.
fn top<'t>(tree: &'t Tree, branch: &'t Branch) -> &'t Arc<str> {
    let mut at = branch;
    while let Some(above) = at.parent.and_then(|id| tree.branches().get(id)) {
        at = above;
    }
    &at.name
}

/// The top-level branches that are kept.
fn kept(tree: &Tree, how: &Rewrite) -> Result<HashSet<Arc<str>>> {
    let all = || tree.top().iter().filter_map(|&id| tree.branches().get(id));
    let Some(names) = &how.branches else { return Ok(all().map(|branch| Arc::clone(&branch.name)).collect()) };
    let mut kept: HashSet<Arc<str>> = HashSet::new();
    for name in names {
        if !all().any(|branch| branch.name == *name) {
            return Err(Error::not_found(format!("there is no top-level branch {name:?}")));
        }
        kept.insert(Arc::clone(name));
    }
    for branch in tree.branches().iter().filter(|branch| kept.contains(top(tree, branch))).collect::<Vec<_>>() {
        let counters = branch.leaves.iter().filter_map(|leaf| tree.branches().get(leaf.count?.0));
        kept.extend(counters.map(|counter| Arc::clone(top(tree, counter))));
    }
    Ok(kept)
}

/// Refuses what cannot be moved as bytes.
fn check(branches: &[&Branch], entries: u64) -> Result<()> {
    for branch in branches {
        if !branch.file_name.is_empty() {
            return Err(Error::unsupported("its baskets are in another file").in_object(&branch.path));
        }
        let range = branch.entry_range();
        if branch.has_data() && (range.start != 0 && range.end > range.start || range.end != entries) {
            let words = "a branch with other entries than its tree cannot be cut into clusters";
            return Err(Error::unsupported(words).wanted(entries, range.end).in_object(&branch.path));
        }
    }
    Ok(())
}

/// Makes the record of a tree that of an empty one with these branches.
fn empty(draft: &mut Draft, kept: &HashSet<Arc<str>>, is_selected: bool) {
    if let Some(items) = items(draft, "fBranches") {
        items.retain(|branch| match branch.as_draft().and_then(|branch| branch.member("fName")) {
            Some(Datum::Text(name)) => kept.contains(name),
            _ => true,
        });
    }
    let mut marks = Vec::new();
    if let Some(branches) = draft.member_mut("fBranches").and_then(Datum::as_draft_mut) {
        branches.visit_mut(&mut |object| marks.extend(object.mark().cloned()));
    }
    if let Some(items) = items(draft, "fLeaves") {
        let known: HashSet<usize> = marks.iter().map(crate::schema::Mark::address).collect();
        items.retain(|leaf| !matches!(leaf, Datum::Same(mark) if !known.contains(&mark.address())));
    }
    each_branch(draft, &mut |branch| {
        for name in ["fTotBytes", "fZipBytes", "fWriteBasket", "fEntries", "fEntryNumber"] {
            branch.set(name, 0);
        }
        if let Some(features) = branch.member_mut("fIOFeatures").and_then(Datum::as_draft_mut) {
            features.set("fIOBits", 0);
        }
        if let Some(baskets) = branch.member_mut("fBaskets").and_then(Datum::as_draft_mut) {
            baskets.set("items", Vec::<Datum>::new());
        }
    });
    for name in ["fEntries", "fTotBytes", "fZipBytes"] {
        draft.set(name, 0);
    }
    if draft.member("fClusterRangeEnd").is_some() {
        draft.set("fNClusterRange", 0);
        draft.set("fClusterRangeEnd", Vec::<i64>::new());
        draft.set("fClusterSize", Vec::<i64>::new());
    }
    // An index knows entries by their old numbers.
    if is_selected && draft.member("fTreeIndex").is_some() {
        draft.set("fTreeIndex", Datum::Null);
    }
}

fn items<'d>(draft: &'d mut Draft, list: &str) -> Option<&'d mut Vec<Datum>> {
    draft.member_mut(list)?.as_draft_mut()?.member_mut("items")?.as_list_mut()
}

fn set_compression(draft: &mut Draft, compression: Compression) {
    each_branch(draft, &mut |branch| {
        if branch.member("fCompress").is_some() {
            branch.set("fCompress", i64::from(compression.to_root()));
        }
    });
}

/// Entries of all branches, read at once.
fn gather(file: &File, tree: &Tree, branches: &[&Branch], part: &[Range<u64>]) -> Result<Vec<Raw>> {
    let mut ranges: Vec<Range<u64>> = Vec::new();
    for basket in branches.iter().filter(|branch| branch.has_data()).flat_map(|branch| branch.baskets()) {
        if let BasketBytes::Stored { seek, nbytes } = basket.bytes
            && part.iter().any(|want| !wanted(&basket.entries, want).is_empty())
        {
            ranges.push(seek..seek.saturating_add(u64::from(nbytes)));
        }
    }
    ranges.sort_by_key(|range| range.start);
    ranges.dedup();
    let records: HashMap<u64, Bytes> = ranges.iter().map(|range| range.start).zip(file.read_raw(&ranges)?).collect();
    let one = |scratch: &mut Scratch, branch: &&Branch| {
        branch_entries(tree, branch, part, &records, scratch).map_err(|error| error.in_object(&branch.path))
    };
    match file.options().session.pool() {
        Some(pool) => pool.install(|| branches.par_iter().map_init(Scratch::default, one).collect()),
        None => {
            let mut scratch = Scratch::default();
            branches.iter().map(|branch| one(&mut scratch, branch)).collect()
        }
    }
}

fn branch_entries(
    tree: &Tree,
    branch: &Branch,
    part: &[Range<u64>],
    records: &HashMap<u64, Bytes>,
    scratch: &mut Scratch,
) -> Result<Raw> {
    let mut raw = Raw::default();
    if !branch.has_data() {
        return Ok(raw);
    }
    let varies = branch.entry_offset_len > 0;
    let has_tags = varies && tree.interpretation(branch.id).map_or(true, |found| found.program.may_have_tags());
    let limits = &tree.file().options().limits;
    let (mut memory, mut starts) = (Vec::new(), Vec::new());
    raw.starts.push(0);
    for want in part {
        let mut next = want.start;
        for basket in branch.baskets() {
            let rows = wanted(&basket.entries, want);
            if rows.is_empty() {
                continue;
            }
            if basket.entries.start + rows.start as u64 != next {
                return Err(
                    Error::malformed("entries are missing between two baskets").wanted(next, basket.entries.start)
                );
            }
            next += rows.len() as u64;
            match basket.bytes {
                BasketBytes::Stored { seek, .. } => {
                    let record = records.get(&seek).cloned().unwrap_or_default();
                    let sealed = Basket::read(record, limits)?;
                    let unsealed = sealed.unseal(&mut memory, scratch)?;
                    take(&mut raw, &unsealed, rows, varies, has_tags, &mut starts)?;
                }
                BasketBytes::Embedded(id) => take(&mut raw, &embedded(tree, id)?, rows, varies, has_tags, &mut starts)?,
            }
        }
        if next != want.end {
            let words = "the branch has fewer entries than its tree";
            return Err(Error::new(ErrorKind::Unsupported, words).wanted(want.end, next));
        }
    }
    Ok(raw)
}

/// Adds entries of a basket.
fn take(
    raw: &mut Raw,
    unsealed: &Unsealed<'_>,
    rows: Range<usize>,
    varies: bool,
    has_tags: bool,
    starts: &mut Vec<u32>,
) -> Result<()> {
    unsealed.starts(starts)?;
    let too_few = || Error::malformed("a basket has fewer entries than its branch says");
    let bounds = starts.get(rows.start..rows.end + 1).ok_or_else(too_few)?;
    let (Some(&first), Some(&last)) = (bounds.first(), bounds.last()) else { return Err(too_few()) };
    let base = raw.data.len();
    // Behind the last entry of fixed size there may be room that nobody uses.
    raw.data.extend_from_slice(unsealed.data.get(first as usize..last as usize).ok_or_else(too_few)?);
    raw.starts.extend(bounds[1..].iter().map(|&start| base + (start - first) as usize));
    if !varies {
        let width =
            unsealed.fixed_bytes().ok_or_else(|| Error::malformed("a basket has offsets that its branch denies"))?;
        if raw.width.is_some_and(|known| known != width) {
            return Err(Error::unsupported("entries of one size in one basket and of another in the next"));
        }
        raw.width = Some(width);
    }
    if has_tags {
        for (row, bounds) in rows.zip(bounds.windows(2)) {
            let [start, end] = *bounds else { continue };
            let entry = unsealed.data.get(start as usize..end as usize).unwrap_or_default();
            let origin = i64::from(start) + i64::from(unsealed.keylen) - unsealed.displacement(row, start);
            if may_refer(entry, origin) {
                let words = "objects of an entry refer to each other by where they stand, so that they cannot be moved";
                return Err(Error::unsupported(words));
            }
        }
    }
    Ok(())
}

/// Whether a word of an entry may name the place of an object or a class in it, where the entry stood at `origin`. ROOT can shift such
/// words (`fDisplacement`), but shifts null pointers with them.
fn may_refer(entry: &[u8], origin: i64) -> bool {
    /// Added to places, so that none is 0.
    const MAP_OFFSET: i64 = 2;
    const CLASS: u32 = 0x8000_0000;
    const FLAGS: u32 = 0xc000_0000;
    entry.windows(4).enumerate().any(|(at, word)| {
        let word = word.first_chunk().map_or(0, |word| u32::from_be_bytes(*word));
        let end = origin + at as i64 + MAP_OFFSET;
        // Objects are forgotten between entries; classes were not, in old files.
        match word & FLAGS == CLASS {
            true => (MAP_OFFSET..end).contains(&i64::from(word & !FLAGS)),
            false => (origin + MAP_OFFSET..end).contains(&i64::from(word)),
        }
    })
}
