//! Trees that grow by trees of other files: their baskets are moved unchanged, or recompressed, and one record names
//! them all.
//!
//! Source: `TTree::Merge`, `TTreeCloner`.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use crate::codec::Compression;
use crate::column::Number;
use crate::container::Key;
use crate::error::{Error, Result};
use crate::file::File;
use crate::read::counters;
use crate::schema::{Draft, StreamerInfo};
use crate::tree::{BasketBytes, Branch, BranchId, Tree};
use crate::write::basket::PlacedBasket;
use crate::write::basket::raw_entries::offsets_once_written;
use crate::write::file::compatible::{check, same_rules};
use crate::write::options::{Order, TreeOptions};
use crate::write::record::edit::{self, whole};
use crate::write::record::state::{Base, BranchState, TreeState};
use crate::write::rewrite::figures::Figures;
use crate::write::rewrite::tree::compatibility::{Notes, TreeSchema, WiderBranch};
use crate::write::rewrite::tree::index::TreeIndex;
use crate::write::rewrite::tree::prune;
use crate::write::rewrite::tree::relocate::{self, Source};
use crate::write::rewrite::tree::retype::retype;
use crate::write::rewrite::tree::widen::Widening;
use crate::write::writer::FileWriter;

/// A tree of the file being written, which grows by trees of other files.
#[derive(Debug)]
pub(crate) struct GrowingTree {
    written: TreeState,
    schema: TreeSchema,
    /// Clusters that it had before.
    clusters_before: usize,
    /// The index, as long as all inputs have one.
    index: Option<TreeIndex>,
    /// What was moved so far.
    pub(crate) moved: MovedBaskets,
}

/// Numbers of baskets that were moved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct MovedBaskets {
    /// Baskets that were never inflated, and their bytes.
    pub(crate) copied: (u64, u64),
    /// Baskets that were recompressed, and their bytes now.
    pub(crate) recompressed: (u64, u64),
    /// Baskets whose numbers were widened, and their bytes now.
    pub(crate) reencoded: (u64, u64),
    /// Baskets that were in a tree's record and now have their own, and their bytes.
    pub(crate) embedded: (u64, u64),
}

/// The size of a growing tree, to cut it back to when an input fails.
#[derive(Debug)]
pub(crate) struct Checkpoint {
    entries: u64,
    clusters: usize,
    branches: Vec<BranchCheckpoint>,
    moved: MovedBaskets,
}

/// The size of a branch.
#[derive(Debug)]
struct BranchCheckpoint {
    baskets: usize,
    tot_bytes: u64,
    zip_bytes: u64,
    largest_bytes: u64,
    most: u64,
    has_offsets: Option<bool>,
}

/// For each branch of a growing tree, the branch of another tree that matches it.
#[derive(Debug)]
pub(crate) struct BranchMatches(Vec<(BranchId, Option<Widening>)>);

impl FileWriter {
    /// Begins a tree like one of another file, without its entries, in a directory. Branches in `wider` get
    /// these types.
    pub(crate) fn join(
        &mut self,
        from: &File,
        key: &Key,
        folder: &str,
        compression: Option<Compression>,
        wider: Option<&BTreeMap<BranchId, WiderBranch>>,
    ) -> Result<GrowingTree> {
        let tree = from.tree_at(key)?;
        let mut draft = from.draft_at(key)?;
        let folder = self.output.folder(&mut *self.output.open_state()?, folder)?;
        prune::forget_references(&mut draft);
        prune::forget_entries(&mut draft);
        let mut joined = self.join_tree(&tree, folder, key, compression)?;
        prune::set_compression(&mut draft, &joined.written.branches);
        let types: BTreeMap<BranchId, Number> = wider
            .into_iter()
            .flat_map(BTreeMap::values)
            .filter(|wider| joined.schema.retype(wider.id, &wider.path, wider.number))
            .map(|wider| (wider.id, wider.number))
            .collect();
        retype(&mut draft, &types)?;
        joined.written.base =
            Some(Base { draft, entries: 0, baskets: Some(vec![0; tree.branches().len()]), borders: None });
        Ok(joined)
    }

    /// Opens a tree of the updated file, to add trees of others to it.
    pub(crate) fn join_more(&mut self, path: &str) -> Result<GrowingTree> {
        let (file, key, tree) = self.tree_before(path)?;
        let within = |error: Error| file.name(error).in_object(path);
        let branches: Vec<&Branch> = tree.branches().iter().collect();
        check(&branches, tree.entries).map_err(within)?;
        let mut draft = file.draft_at(&key)?;
        let mut state = self.output.open_state()?;
        let (folder, _) = self.output.find(&mut state, path)?;
        let directory = state.folder_seek(folder);
        drop(state);
        // Old and new references use one ProcessID list; the table of which branches hold them is not maintained.
        prune::forget_references(&mut draft);
        let mut joined = self.join_tree(&tree, folder, &key, None)?;
        joined.index = TreeIndex::of(&draft);
        for (state, branch) in joined.written.branches.iter_mut().zip(&branches) {
            state.has_offsets = offsets_once_written(&tree, branch);
        }
        let stored = |branch: &&Branch| {
            let baskets = branch.baskets().iter();
            baskets.take_while(|basket| matches!(basket.bytes, BasketBytes::Stored { .. })).count()
        };
        let before: Vec<usize> = branches.iter().map(stored).collect();
        // Those in the tree's record get records of their own.
        let mut embedded =
            relocate::sealed(&tree, &branches, Order::Branch, Some(self.output.now()), &|_| None).map_err(within)?;
        embedded.retain(|basket| before.get(basket.branch).is_some_and(|&before| basket.number >= before));
        let placed = self.output.relocate(&file, &mut embedded, directory, 0)?;
        for (basket, placed) in embedded.iter().zip(placed) {
            if let Some(branch) = joined.written.branches.get_mut(basket.branch) {
                note(branch, &basket.source, placed);
            }
        }
        joined.written.base = Some(Base { draft, entries: tree.entries, baskets: Some(before), borders: None });
        joined.written.entries = tree.entries;
        joined.clusters_before = tree.clusters().len();
        joined.written.key = Some(key);
        Ok(joined)
    }

    /// Whether there is a directory of that path.
    pub(crate) fn has_folder(&self, path: &str) -> Result<bool> {
        let mut state = self.output.open_state()?;
        Ok(self.output.find_folder(&mut state, path, None)?.is_some())
    }

    /// The newest key of a name in a directory, if there is one.
    pub(crate) fn newest(&self, folder: &str, name: &str) -> Result<Option<Key>> {
        let mut state = self.output.open_state()?;
        let folder = self.output.find_folder(&mut state, folder, None)?;
        Ok(folder.and_then(|folder| state.folders.get(folder)?.newest(name).cloned()))
    }

    fn join_tree(
        &self,
        tree: &Tree,
        folder: usize,
        key: &Key,
        compression: Option<Compression>,
    ) -> Result<GrowingTree> {
        let usual = self.output.compression;
        let mut written = TreeState::new(folder, Arc::clone(&key.name), &[], usual, &TreeOptions::default())?;
        written.title = Arc::clone(&key.title);
        written.is_open = false;
        let counting = counters(tree);
        let found = |branch: &Branch| {
            let own = compression.or_else(|| Compression::from_root(branch.compress)).unwrap_or(usual);
            let counts = counting.iter().any(|(counter, _)| *counter == branch.id);
            BranchState { counts, ..BranchState::found(Arc::clone(&branch.name), branch.has_data(), own) }
        };
        written.branches = tree.branches().iter().map(found).collect();
        Ok(GrowingTree {
            written,
            schema: TreeSchema::new(tree),
            clusters_before: 0,
            index: None,
            moved: MovedBaskets::default(),
        })
    }

    /// Adds all entries of a tree whose branches match, and counts how its baskets were moved.
    ///
    /// # Errors
    ///
    /// [`Unsupported`](crate::ErrorKind::Unsupported) for branches with other entries than their tree, for baskets in
    /// other files, and for those in the tree's record that cannot get a record of their own; what reading and writing
    /// report. The growing tree is unchanged then.
    pub(crate) fn grow(
        &mut self,
        joined: &mut GrowingTree,
        from: &File,
        tree: &Tree,
        matches: &BranchMatches,
        again: Option<Compression>,
    ) -> Result<()> {
        let within = |error: Error| from.name(error).in_object(&tree.name);
        let branches: Vec<&Branch> = matches.0.iter().filter_map(|&(id, _)| tree.branches().get(id)).collect();
        check(&branches, tree.entries).map_err(within)?;
        let offsets = joined.offsets_with(tree, &branches).map_err(within)?;
        let mut baskets =
            relocate::sealed(tree, &branches, Order::Offset, Some(self.output.now()), &|_| again).map_err(within)?;
        for basket in &mut baskets {
            let widening = matches.0.get(basket.branch).and_then(|(_, widening)| *widening);
            if let (Some(widening), Some(branch)) = (widening, joined.written.branches.get(basket.branch)) {
                basket.widen(widening, branch.compression);
            }
        }
        let mut state = self.output.open_state()?;
        same_rules(from, &state).map_err(within)?;
        let (directory, process_ids) =
            (state.folder_seek(joined.written.folder), self.output.process_ids(&mut state, from)?);
        drop(state);
        // Baskets without entries are skipped; the others are numbered consecutively.
        let numbers: Vec<Vec<Option<usize>>> =
            (0..).zip(&branches).map(|(index, b)| numbers(b, joined.written.baskets_of(index))).collect();
        baskets.retain_mut(|basket| {
            let Some(number) = numbers.get(basket.branch).and_then(|numbers| *numbers.get(basket.number)?) else {
                return false;
            };
            basket.number = number;
            basket.first_entry = basket.first_entry.saturating_add(joined.written.entries);
            true
        });
        let placed = self.output.relocate(from, &mut baskets, directory, process_ids)?;
        let mut placed: Vec<_> = baskets.iter().zip(placed).collect();
        placed.sort_by_key(|(basket, _)| (basket.branch, basket.number));
        let mut moved = joined.moved;
        for (basket, placed) in placed {
            let Some(branch) = joined.written.branches.get_mut(basket.branch) else { continue };
            let of = match (&basket.source, basket.again) {
                _ if basket.widening.is_some() => &mut moved.reencoded,
                (Source::Made { .. }, _) => &mut moved.embedded,
                (_, Some(_)) => &mut moved.recompressed,
                (_, None) => &mut moved.copied,
            };
            *of = (of.0 + 1, of.1 + u64::from(placed.nbytes));
            note(branch, &basket.source, placed);
            branch.tot_bytes = branch.tot_bytes.saturating_add(basket.grown.bytes);
            branch.most = branch.most.max(basket.grown.most);
        }
        for ((state, branch), (_, widening)) in joined.written.branches.iter_mut().zip(&branches).zip(&matches.0) {
            let ratio = widening.map_or(1, |widening| widening.ratio() as u64);
            state.tot_bytes = state.tot_bytes.saturating_add(branch.tot_bytes);
            state.largest_bytes = state.largest_bytes.max(ratio * u64::from(branch.basket_bytes));
            state.most = state.most.max(edit::most(branch, state.counts));
        }
        for (state, has_offsets) in joined.written.branches.iter_mut().zip(offsets) {
            state.has_offsets = has_offsets;
        }
        joined.written.clusters.extend(tree.clusters().iter().map(|cluster| cluster.end - cluster.start));
        joined.written.measured =
            u64::try_from(tree.auto_flush).ok().filter(|&entries| entries > 0).or(joined.written.measured);
        joined.written.entries = joined.written.entries.saturating_add(tree.entries);
        joined.moved = moved;
        Ok(())
    }

    /// Removes what was added since: the space of its baskets becomes a gap.
    pub(crate) fn shrink(&mut self, joined: &mut GrowingTree, mark: Checkpoint) -> Result<()> {
        let mut state = self.output.open_state()?;
        let written = &mut joined.written;
        (written.entries, joined.moved) = (mark.entries, mark.moved);
        written.clusters.truncate(mark.clusters);
        for (branch, mark) in written.branches.iter_mut().zip(mark.branches) {
            let gone: Vec<PlacedBasket> = branch.baskets.drain(mark.baskets..).collect();
            self.output.release_baskets(&mut state, &gone);
            (branch.tot_bytes, branch.zip_bytes) = (mark.tot_bytes, mark.zip_bytes);
            (branch.largest_bytes, branch.most) = (mark.largest_bytes, mark.most);
            branch.has_offsets = mark.has_offsets;
        }
        Ok(())
    }

    /// Passes a grown tree to the file: the next save writes its record.
    pub(crate) fn settle(&mut self, mut joined: GrowingTree) -> Result<()> {
        joined.written.changed = true;
        if let (Some(index), Some(base)) = (joined.index, &mut joined.written.base)
            && let Some(member) = base.draft.member_mut("fTreeIndex")
        {
            *member = index.into_datum();
        }
        self.output.open_state()?.trees.push(joined.written);
        Ok(())
    }

    /// An object of the file as it was before; none in a new file.
    pub(crate) fn draft_before(&self, key: &Key) -> Result<Option<Draft>> {
        self.output.before.as_ref().map(|file| file.draft_at(key)).transpose()
    }

    /// Writes an object into a directory under the name of a key, replacing `old` if there is one.
    pub(crate) fn put_object(&mut self, folder: &str, like: &Key, object: Draft, old: Option<&Key>) -> Result<()> {
        let mut state = self.output.open_state()?;
        let folder = self.output.folder(&mut state, folder)?;
        let key = self.output.key(&state, object.class(), &like.name, &like.title);
        self.output.write_object(&mut state, folder, key, &Arc::new(object), old).map(drop)
    }

    /// Describes classes, and says rules of schema evolution, of which the file need not hold an object.
    ///
    /// # Errors
    ///
    /// [`Mismatch`](crate::ErrorKind::Mismatch) where the file is closed.
    ///
    /// # Example
    ///
    /// ```
    /// # let old = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/plain.root");
    /// use sapwood::File;
    /// use sapwood::write::{FileWriter, WriteOptions};
    /// # let path = std::env::temp_dir().join("sapwood-describe.root");
    /// let infos = File::open(old)?.infos()?;
    /// let mut file = FileWriter::recreate(&path, WriteOptions::default())?;
    /// file.describe(infos.clone(), Vec::new())?;
    /// file.close()?;
    /// assert_eq!(File::open(&path)?.infos()?.len(), infos.len());
    /// # std::fs::remove_file(path).ok();
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn describe(&mut self, infos: Vec<StreamerInfo>, rules: Vec<String>) -> Result<()> {
        self.output.open_state()?.learn(infos, rules);
        Ok(())
    }

    /// Makes the file follow the rules of the old version of a file that is copied into it.
    pub(crate) fn follow_rules(&mut self, from: &File) -> Result<()> {
        let mut state = self.output.open_state()?;
        if same_rules(from, &state).is_err() {
            state.header.version = from.header().version;
        }
        Ok(())
    }

    /// Ends without a save: what was written since the last one becomes a gap, and the file stays as it was.
    pub(crate) fn abandon(self) -> Result<()> {
        let mut state = self.output.open_state()?;
        state.closed = true;
        let (saved, end) = (state.header.end, state.free_list.end());
        let Some(before) = &self.output.before else { return Ok(()) };
        for free in before.free_segments()?.into_iter().filter(|free| free.first < saved) {
            self.output.mark_gap(&(free.first..free.last.saturating_add(1).min(saved)))?;
        }
        if end <= saved {
            return Ok(());
        }
        // If the process stops in between, a gap remains.
        self.output.mark_gap(&(saved..end))?;
        self.output.sink.cut_at(saved).map_err(|error| self.output.in_file(error))
    }
}

impl GrowingTree {
    /// Whether the entries of a tree can be appended unchanged.
    ///
    /// # Errors
    ///
    /// [`Mismatch`](crate::ErrorKind::Mismatch) naming the branch that is missing or of another type.
    pub(crate) fn match_branches(&self, tree: &Tree, notes: &mut Notes) -> Result<BranchMatches> {
        self.schema.match_branches(tree, notes).map(BranchMatches)
    }

    /// For each branch, whether its baskets hold the offsets of entries once it has those of another tree.
    fn offsets_with(&self, tree: &Tree, branches: &[&Branch]) -> Result<Vec<Option<bool>>> {
        let of = |(state, branch): (&BranchState, &&Branch)| match (
            state.has_offsets,
            offsets_once_written(tree, branch),
        ) {
            (Some(ours), Some(theirs)) if ours != theirs => {
                let words = "its baskets hold offsets of entries in one input, and none in another: `sapwood rewrite` \
                             makes them alike";
                Err(Error::mismatch(words).in_object(&branch.path))
            }
            (ours, theirs) => Ok(ours.or(theirs)),
        };
        self.written.branches.iter().zip(branches).map(of).collect()
    }

    /// Whether it has branches.
    pub(crate) fn has_branches(&self) -> bool {
        !self.written.branches.is_empty()
    }

    /// Takes the place of a tree without branches: also of its record, if the file had one.
    pub(crate) fn replacing(mut self, other: &Self) -> Self {
        self.written.key = other.written.key.clone();
        self
    }

    /// Its size now.
    pub(crate) fn checkpoint(&self) -> Checkpoint {
        let of = |branch: &BranchState| BranchCheckpoint {
            baskets: branch.baskets.len(),
            tot_bytes: branch.tot_bytes,
            zip_bytes: branch.zip_bytes,
            largest_bytes: branch.largest_bytes,
            most: branch.most,
            has_offsets: branch.has_offsets,
        };
        Checkpoint {
            entries: self.written.entries,
            clusters: self.written.clusters.len(),
            branches: self.written.branches.iter().map(of).collect(),
            moved: self.moved,
        }
    }

    /// Its entries, baskets, clusters and bytes.
    pub(crate) fn figures(&self) -> Figures {
        let branches = || self.written.branches.iter();
        let base = self.written.base.as_ref();
        let before = base.and_then(|base| base.baskets.as_ref()).map_or(0, |before| before.iter().sum());
        let of_base = |name: &str| base.map_or(0, |base| whole(&base.draft, name).max(0) as u64);
        Figures {
            entries: self.written.entries,
            baskets: (before + branches().map(|branch| branch.baskets.len()).sum::<usize>()) as u64,
            clusters: (self.clusters_before + self.written.clusters.len()) as u64,
            zip_bytes: of_base("fZipBytes") + branches().map(|branch| branch.zip_bytes).sum::<u64>(),
            tot_bytes: of_base("fTotBytes") + branches().map(|branch| branch.tot_bytes).sum::<u64>(),
        }
    }

    /// Whether the index of another tree is needed.
    pub(crate) fn wants_index(&self) -> bool {
        self.index.is_some() || self.written.entries == 0
    }

    /// Adds the index of an appended tree. Returns whether the own index is dropped: the other tree has none over the
    /// same values, or both together are too long. Trees without entries need none.
    pub(crate) fn add_index(&mut self, added: Option<TreeIndex>, before: &Checkpoint) -> bool {
        if self.written.entries == before.entries {
            return false;
        }
        let is_kept = match (self.index.as_mut(), added) {
            (Some(index), Some(added)) => index.append(&added, before.entries),
            // An index of an unknown kind stays valid for the entries that it covers.
            (None, added) if before.entries == 0 => {
                self.index = added;
                true
            }
            _ => false,
        };
        if is_kept {
            return false;
        }
        let Some(base) = &mut self.written.base else { return false };
        let (grown, stored) = (self.index.take(), prune::forget_index(&mut base.draft));
        grown.is_some() || stored
    }
}

/// The numbers that baskets of a branch get; none where they have no entries.
fn numbers(branch: &Branch, mut next: usize) -> Vec<Option<usize>> {
    let number = |entries: &Range<u64>| {
        let number = (!entries.is_empty()).then_some(next);
        next += usize::from(number.is_some());
        number
    };
    branch.baskets().iter().map(|basket| &basket.entries).map(number).collect()
}

/// Notes a written basket. Baskets that move unchanged are already in the totals of their branch.
fn note(branch: &mut BranchState, source: &Source, placed: PlacedBasket) {
    let unsealed_bytes = if let Source::Made { unsealed_bytes, .. } = source { *unsealed_bytes } else { 0 };
    branch.add(placed, unsealed_bytes);
}
