//! Recovers records that a writer wrote and did not save before it died. They are after the end in the last header, or
//! in space that was reused.
//!
//! Source: `TFile::Recover`, which recovers keys. The key of a basket names its branch (name), its tree (title) and its
//! number (cycle), so baskets that were written after the last record of their tree are recovered, too.

pub(crate) mod judge;
mod lost;
pub(crate) mod orphan_baskets;
pub(crate) mod orphan_clusters;

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use crate::codec::Compression;
use crate::column::Kind;
use crate::container::{Directory, Key, Record};
use crate::error::{Error, Result};
use crate::file::walk::{Stop, Walk};
use crate::file::{File, OpenOptions};
use crate::io::LocalFile;
use crate::read::{self, Column, has_offsets, needs_offsets};
use crate::schema::{Datum, Draft};
use crate::tree::BasketBytes;
use crate::write::basket::PlacedBasket;
use crate::write::file::free_list::FreeList;
use crate::write::file::state::{Output, State};
use crate::write::options::{TreeOptions, WriteOptions};
use crate::write::record::edit::each_branch;
use crate::write::record::state::{Base, BranchState, TreeState};
use crate::write::recover::judge::{Judge, Object};
use crate::write::recover::orphan_baskets::OrphanBaskets;
use crate::write::writer::update;

/// What was recovered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recovered {
    /// Objects and directories that no directory listed.
    pub objects: Vec<String>,
    /// Trees and RNTuples that have more entries than before: path, entries before and now.
    pub trees: Vec<(String, u64, u64)>,
    /// What was found and not recovered, and why.
    pub left: Vec<String>,
    /// What was recovered and could not be checked: uncompressed baskets with a page of zeros, which is either data or
    /// missing; objects whose class the file does not describe.
    pub doubtful: Vec<String>,
    /// Bytes that were cut off after the last whole record.
    pub cut_bytes: u64,
    /// Whether the file was closed, so that there was nothing to do.
    pub was_closed: bool,
}

/// Recovers, in place, what a writer wrote and did not save before it died: objects whose record is whole, and clusters
/// of trees and RNTuples that were committed after the last save, up to the last entry that all branches have.
///
/// Every record is read and every basket inflated before it is accepted. If a newer record of an object cannot be read,
/// the saved one stays. If only the process died, the file holds all that it wrote. If the machine died, only what was
/// saved with [`WriteOptions::sync`] is certain; missing pages read as zeros, which is an error in compressed baskets
/// and [reported](Recovered::doubtful) for others.
///
/// With `dry_run` nothing is written; the result says what would be recovered.
///
/// # Errors
///
/// Those of [`FileWriter::update`](crate::write::FileWriter::update), and [`Malformed`](crate::ErrorKind::Malformed) if
/// there is no root directory.
///
/// # Example
///
/// ```
/// use sapwood::schema::Draft;
/// use sapwood::write::{FileWriter, WriteOptions, recover};
/// # let path = std::env::temp_dir().join("sapwood-recover.root");
/// let mut file = FileWriter::recreate(&path, WriteOptions::default())?;
/// file.save()?;
/// file.write("late", Draft::new("TObjString").with("fString", "written, and not saved"))?;
/// std::fs::copy(&path, path.with_extension("copy"))?; // as if the process had died here
/// let found = recover(path.with_extension("copy"), false, WriteOptions::default())?;
/// assert_eq!(found.objects, ["late"]);
/// assert!(sapwood::File::open(path.with_extension("copy"))?.object("late").is_ok());
/// # std::fs::remove_file(path.with_extension("copy")).ok();
/// # std::fs::remove_file(path).ok();
/// # Ok::<(), sapwood::Error>(())
/// ```
pub fn recover(path: impl AsRef<Path>, dry_run: bool, options: WriteOptions) -> Result<Recovered> {
    let path = path.as_ref();
    let sink = Arc::new(LocalFile::update(path)?);
    let open = OpenOptions { session: options.session.clone(), ..OpenOptions::default() };
    let file = File::from_store(Arc::new(LocalFile::find(path)?), open)?;
    let there = file.identity().len;
    let mut found = Recovered::default();
    let Unlisted { keys, blobs, gaps, end, used_again, unread } = Unlisted::of(&file)?;
    found.left.extend(unread);
    let is_closed = update::check_closed(&file).is_ok();
    if is_closed && keys.is_empty() {
        found.was_closed = true;
        return Ok(found);
    }
    update::check_version(&file)?;
    file.assume_root_classes()?;
    found.cut_bytes = there - end.min(there);
    let seek_dir = file.root().seek_dir.max(u64::from(file.header().begin));
    let record = Directory { seek_dir, ..file.root().clone() };
    let mut free_list = FreeList::new(end, Vec::new());
    // The saved list of free segments is older than what the writer did afterwards; gaps are marked in the file.
    gaps.into_iter().for_each(|gap| free_list.release(gap));
    let output = Output::over(file.clone(), Box::new(Arc::clone(&sink)), options, record, free_list)?;
    let mut state = output.open_state()?;
    state.folders[0].changed = true;
    state.infos_changed |= file.is_recovered();
    let mut judge = Judge::new(&file);
    let baskets = output.add_objects(&mut state, &mut judge, keys, &used_again, &mut found)?;
    found.left.extend(lost::drop_objects(&mut state));
    if file.header().seek_info != 0 && state.header.seek_info == 0 {
        for (path, error) in lost::describe_classes(&file, &mut state) {
            found.doubt(&path, &error);
        }
    }
    output.add_baskets(&mut state, &mut judge, baskets, &mut found)?;
    output.add_clusters(&mut state, &blobs, &mut found)?;
    found.was_closed = is_closed && found.objects.is_empty();
    if dry_run || found.was_closed {
        found.cut_bytes *= u64::from(!found.was_closed);
        state.closed = true;
        return Ok(found);
    }
    // Bytes after the end may be half a record.
    sink.set_len(end)?;
    output.save(&mut state)?;
    drop(state);
    let counted = output.count_again(&found)?;
    if counted {
        output.save(&mut *output.open_state()?)?;
    }
    output.open_state()?.closed = true;
    crate::io::Sink::sync(&*sink)?;
    read_again(path)?;
    Ok(found)
}

impl Recovered {
    /// Notes why an object could not be checked, unless it is told already what is wrong with it.
    fn doubt(&mut self, path: &str, error: &Error) {
        let start = format!("{path}: ");
        if !self.left.iter().chain(&self.doubtful).any(|told| told.starts_with(&start)) {
            self.doubtful.push(format!("{path}: {error}"));
        }
    }
}

/// Reads what was written: the header, the lists of keys, of free segments and of classes.
fn read_again(path: &Path) -> Result<()> {
    let file = File::from_store(Arc::new(LocalFile::find(path)?), OpenOptions::default())?;
    update::check_closed(&file)?;
    file.free_segments()?;
    file.keys(true)?;
    file.infos_and_rules()?;
    Ok(())
}

/// Records that no directory lists.
struct Unlisted {
    /// Keys of whole records: objects wherever they are, and baskets behind the end that the header knows.
    keys: Vec<Key>,
    /// Blobs of RNTuples behind that end.
    blobs: Vec<Key>,
    /// Space that was reserved and never written, or freed.
    gaps: Vec<Range<u64>>,
    /// Where the last whole record ends.
    end: u64,
    /// Saved free segments that now end in a gap and begin with something else, as they do once ROOT or Sapwood has
    /// written into one.
    used_again: Vec<Range<u64>>,
    /// What could not be looked at, and why.
    unread: Vec<String>,
}

impl Unlisted {
    fn of(file: &File) -> Result<Self> {
        let (mut keys, mut gaps, mut used_again, mut unread) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let (header, root) = (file.header(), file.root());
        // The lists of a file have its class, which may be derived from `TFile`.
        let list = if file.is_recovered() { None } else { file.key_at(root.seek_keys).ok() };
        let class = list.map_or_else(|| "TFile".into(), |key| key.class);
        let is_object = |key: &Key| is_object(key) && (key.class != class || key.is_directory());
        let mut whole_end = None;
        if !file.is_recovered() {
            // Objects in reused space. Baskets are always appended.
            let mut listed: HashSet<u64> = file.keys(true)?.iter().map(|found| found.key.seek_key).collect();
            listed.extend([root.seek_keys, header.seek_free, header.seek_info]);
            let mut walk = Walk::new(file);
            for placed in walk.by_ref() {
                let room = placed.at..placed.end();
                match placed.record {
                    Record::Key(key) if listed.contains(&key.seek_key) => {}
                    Record::Key(key) if key.seek_key == placed.at && is_object(&key) => keys.push(key),
                    Record::Key(_) => {}
                    Record::Gap(_) => gaps.push(room),
                }
            }
            if !matches!(walk.stop(), Some(Stop::End)) {
                // Writers that do not mark freed space may leave bytes there that look like marks.
                gaps.clear();
            }
            if file.is_cut_off() && lost::is_cut_here(&walk, &listed, file.identity().len) {
                // The file was cut within a record, which is not whole.
                whole_end = Some(walk.at());
            }
            let segments = file.free_segments().unwrap_or_else(|error| {
                let words = "the list of free segments cannot be read, and objects in reused space may be missing";
                unread.push(format!("{words}: {}", error.message()));
                Vec::new()
            });
            for free in segments {
                let segment = free.first..free.last.saturating_add(1);
                if gaps.iter().any(|gap| gap.end == segment.end && gap.start > segment.start) {
                    used_again.push(segment);
                }
            }
        }
        let mut blobs = Vec::new();
        let mut walk = Walk::behind(file);
        for placed in walk.by_ref() {
            let room = placed.at..placed.end();
            match placed.record {
                Record::Key(key) if key.seek_key == placed.at && (is_object(&key) || is_basket(&key)) => keys.push(key),
                Record::Key(key) if key.seek_key == placed.at && key.is_blob() => blobs.push(key),
                Record::Key(_) => {}
                Record::Gap(_) => gaps.push(room),
            }
        }
        let end = whole_end.unwrap_or(walk.at()).min(walk.end());
        Ok(Self { keys, blobs, gaps, end, used_again, unread })
    }
}

impl Output {
    /// Adds objects that no directory lists to their directories; returns the baskets found on the way.
    fn add_objects(
        &self,
        state: &mut State,
        judge: &mut Judge<'_>,
        unlisted: Vec<Key>,
        used_again: &[Range<u64>],
        found: &mut Recovered,
    ) -> Result<Vec<Key>> {
        let file = judge.file();
        // The last save covers baskets before this offset.
        let saved = if file.is_recovered() { 0 } else { file.header().end };
        self.load_folders(state, file)?;
        let (baskets, mut objects): (Vec<Key>, Vec<Key>) = unlisted.into_iter().partition(is_basket);
        // The oldest first, so that the newest stays. In reused space the order of offsets is not that of time.
        objects.sort_by_key(|key| (!key.is_directory(), key.datime, key.seek_key));
        for key in objects {
            let folder = state.folders.iter().position(|folder| folder.record.seek_dir == key.seek_pdir);
            let Some(folder) = folder else { continue };
            let known = state.folders[folder].named(&key.name, Some(key.cycle)).next().cloned();
            if key.is_directory() && known.is_some() {
                continue;
            }
            let path = state.folders[folder].path_of(&key.name);
            // An object that is older than the save and not listed by it was deleted; not every writer marks freed
            // space.
            let modified = state.folders[folder].record.modified;
            // Of a list of keys that is lost nothing is known.
            let has_list = !file.is_recovered() && state.folders[folder].record.seek_keys != 0;
            if has_list && key.datime < modified {
                continue;
            }
            let is_within = |room: &Range<u64>| room.start <= key.seek_key && key.room().end <= room.end;
            // Neither its date nor its place shows whether it was written before the last save or after it.
            let is_undated = has_list && key.seek_key < saved && key.datime == modified;
            // The saved record stays, unless it is lost. A tree or an RNTuple then gets back its clusters one by one.
            if is_undated && known.as_ref().is_some_and(|saved_key| judge.object(saved_key, saved).is_ok()) {
                continue;
            }
            let is_doubtful = is_undated && !used_again.iter().any(is_within);
            let is_list = key.is_directory() && key.name == state.folders[folder].name;
            match judge.object(&key, saved) {
                Ok(Object::List) => continue,
                Err(_) if is_list => continue,
                Ok(_) if is_doubtful && known.is_none() => {
                    let words =
                        "deleted before the last save, or written in the same second: which of them cannot be told";
                    found.left.push(format!("{path}: its record at {}: {words}", key.seek_key));
                    continue;
                }
                Ok(Object::Whole(classes)) => state.describe(classes),
                Ok(Object::Undescribed(error)) => found.doubtful.push(format!("{path}: {error}")),
                Err(error) => {
                    let stays = match &known {
                        Some(known) if known.seek_key == key.seek_key => ": what is there of it stays",
                        Some(_) => ": an older one stays",
                        None => "",
                    };
                    found.left.push(format!("{path}: its record at {}: {error}{stays}", key.seek_key));
                    continue;
                }
            }
            match known {
                Some(old) if old.is_tree() && entries_of(file, &old) > entries_of(file, &key) => continue,
                // Where both have as many, the page lists of the one that is not listed may be released.
                Some(old) if old.is_ntuple() && entries_of(file, &old) >= entries_of(file, &key) => continue,
                Some(old) => state.folders[folder].replace(&old, key.clone()),
                None => state.folders[folder].add(key.clone()),
            }
            if key.is_directory() {
                self.load_folder(state, &key, path.clone())?;
            }
            if !found.objects.contains(&path) {
                found.objects.push(path);
            }
        }
        Ok(baskets)
    }

    /// Reads all directories that recovered objects may belong to.
    fn load_folders(&self, state: &mut State, file: &File) -> Result<()> {
        let listed = file.keys(true)?;
        for found in listed.iter().filter(|found| found.key.is_directory()) {
            // If one cannot be read, the others still are.
            let _ = self.find_folder(state, &found.path, None);
        }
        Ok(())
    }

    /// Adds baskets that were written after the last record of their tree.
    fn add_baskets(
        &self,
        state: &mut State,
        judge: &mut Judge<'_>,
        baskets: Vec<Key>,
        found: &mut Recovered,
    ) -> Result<()> {
        let file = judge.file();
        let mut of: HashMap<(u64, Arc<str>), Vec<Key>> = HashMap::new();
        for key in baskets {
            of.entry((key.seek_pdir, Arc::clone(&key.title))).or_default().push(key);
        }
        for folder in 0..state.folders.len() {
            let mut newest: HashMap<Arc<str>, Key> = HashMap::new();
            for key in state.folders[folder].keys().filter(|key| key.is_tree()) {
                let known = newest.entry(Arc::clone(&key.name)).or_insert_with(|| key.clone());
                if known.cycle < key.cycle {
                    *known = key.clone();
                }
            }
            let mut newest: Vec<Key> = newest.into_values().collect();
            newest.sort_by_key(|key| key.seek_key);
            for key in newest {
                let cycles = state.folders[folder].named(&key.name, None).count();
                let Some(baskets) = of.remove(&(state.folder_seek(folder), Arc::clone(&key.name))) else { continue };
                let path = state.folders[folder].path_of(&key.name);
                if cycles > 1 && !file.is_recovered() {
                    let words =
                        "several trees of the name are there, and which of them baskets belong to cannot be told";
                    found.left.push(format!("{path}: {words}"));
                    continue;
                }
                match extend_tree(judge, folder, &key, &path, baskets, self, found) {
                    Ok(Some(tree)) => {
                        let before = tree.base.as_ref().map_or(0, |base| base.entries);
                        found.trees.push((path, before, tree.entries));
                        state.trees.push(tree);
                    }
                    Ok(None) => {}
                    Err(error) => found.left.push(format!("{path}: {error}")),
                }
            }
        }
        let mut nameless: Vec<_> = of.iter().map(|((_, tree), baskets)| (tree, baskets.len())).collect();
        nameless.sort();
        for (tree, baskets) in nameless {
            found.left.push(format!("{tree}: {baskets} baskets of a tree whose record was never written, or is lost"));
        }
        Ok(())
    }

    /// Updates the largest counts and longest strings of the record from the values.
    fn count_again(&self, found: &Recovered) -> Result<bool> {
        let mut state = self.open_state()?;
        let store = Arc::new(LocalFile::open(&*self.name)?);
        let open = OpenOptions { session: self.options.session.clone(), ..OpenOptions::default() };
        let file = File::from_store(store, open)?;
        let mut counted = false;
        // Both lists are in the same order.
        for ((path, before, _), known) in found.trees.iter().zip(&mut state.trees) {
            let tree = file.tree(path)?;
            for (branch, known) in tree.branches().iter().zip(&mut known.branches) {
                let counts = branch.leaves.iter().any(|leaf| leaf.is_range || &*leaf.class == "TLeafC")
                    || branch.element.as_ref().is_some_and(crate::tree::ElementBranch::counts_items);
                if !counts {
                    continue;
                }
                // Baskets that cannot be counted stay readable.
                let Ok(columns) = read::columns(&tree, &[branch.id], *before..tree.entries) else { continue };
                let most = columns.first().map_or(0, largest);
                known.most = known.most.max(most);
                counted = true;
            }
        }
        for tree in &mut state.trees {
            tree.changed = counted;
        }
        Ok(counted)
    }
}

/// A tree with the baskets after its record; none if they add no entries.
fn extend_tree(
    judge: &mut Judge<'_>,
    folder: usize,
    key: &Key,
    path: &str,
    behind: Vec<Key>,
    output: &Output,
    found: &mut Recovered,
) -> Result<Option<TreeState>> {
    let file = judge.file();
    let tree = file.tree_at(key)?;
    let branches: Vec<_> = tree.branches().iter().collect();
    let orphans = OrphanBaskets::of(&branches, &behind);
    let (mut states, mut before, mut common) = (Vec::new(), Vec::new(), u64::MAX);
    let mut met: HashMap<&str, usize> = HashMap::new();
    let mut zeros: Vec<(u64, u64)> = Vec::new();
    for branch in &branches {
        let mut state = BranchState::found(Arc::clone(&branch.name), branch.has_data(), Compression::NONE);
        if !branch.has_data() {
            states.push(state);
            before.push(0);
            continue;
        }
        state.has_offsets = has_offsets(&tree, branch).or_else(|| needs_offsets(&tree, branch));
        branch.refuse_holes()?;
        let stored = branch.baskets().iter().filter(|basket| matches!(basket.bytes, BasketBytes::Stored { .. }));
        let (mut number, mut entry) = (0, branch.first_entry);
        for basket in stored {
            number += 1;
            entry = basket.entries.end;
        }
        before.push(number);
        let place = met.entry(&branch.name).or_default();
        let place = std::mem::replace(place, *place + 1);
        let embedded_end = branch.entry_range().end;
        if !file.is_recovered() && orphans.is_below(&branch.name, number) {
            return Err(Error::malformed("baskets of another tree of the name stand behind the last save"));
        }
        while let Some(key) = orphans.get(branch, place, number, state.baskets.len())? {
            let checked = match judge.basket(key) {
                Ok(checked) => checked,
                Err(error) => {
                    let words = format!("{path}: {} ends at entry {entry}, for its next basket", branch.path);
                    found.left.push(format!("{words} is not whole: {error}"));
                    break;
                }
            };
            zeros.extend(checked.zeros_at.map(|at| (entry, at)));
            let entries = checked.entries;
            let basket = PlacedBasket { seek: key.seek_key, nbytes: key.nbytes, first_entry: entry };
            state.add(basket, u64::from(key.keylen) + u64::from(key.objlen));
            entry += entries;
        }
        // An embedded basket counts unless a stored one has its number.
        if state.baskets.is_empty() {
            entry = entry.max(embedded_end);
        }
        common = common.min(entry);
        states.push(state);
    }
    if common == u64::MAX {
        return Ok(None);
    }
    // Baskets after the last common entry belong to no complete row.
    for state in &mut states {
        state.baskets.retain(|basket| basket.first_entry < common);
    }
    let kept: usize = states.iter().map(|state| state.baskets.len()).sum();
    if kept < orphans.len() {
        // Many threads write at once: one of them may have died before those that had their place after it.
        let words = "belong to clusters of which a part, or one before them, was never written";
        found.left.push(format!("{path}: {} baskets after entry {common} {words}", orphans.len() - kept));
    }
    if common <= tree.entries {
        return Ok(None);
    }
    zeros.retain(|(first, _)| *first < common);
    if let Some((_, at)) = zeros.first() {
        let words = "baskets without compression hold pages of zeros, the first at";
        found.doubtful.push(format!("{path}: {} {words} {at}", zeros.len()));
    }
    let mut draft = file.draft_at(key)?;
    check(&mut draft, states.len())?;
    let clusters = clusters(&states, tree.entries, common);
    let mut longer = TreeState::new(folder, Arc::clone(&key.name), &[], output.compression, &TreeOptions::default())?;
    longer.title = Arc::clone(&key.title);
    longer.branches = states;
    longer.entries = common;
    longer.clusters = clusters;
    longer.base = Some(Base { draft, entries: tree.entries, baskets: Some(before), borders: None });
    longer.key = Some(key.clone());
    // Nothing more is written to it: its record is the last.
    longer.is_open = false;
    Ok(Some(longer))
}

/// The largest of some counts, or the length of the longest list or string.
fn largest(column: &Column) -> u64 {
    match &column.kind {
        Kind::Number { buffer, number } => {
            number.wholes(&column.buffer(*buffer)).max().map_or(0, |most| most.max(0) as u64)
        }
        Kind::List { .. } | Kind::Text { .. } => {
            let offsets = column.offsets();
            offsets.windows(2).map(|pair| (pair[1] - pair[0]).max(0) as u64).max().unwrap_or(0)
        }
        _ => 0,
    }
}

/// Entries of the clusters: a cluster begins where baskets of all branches begin.
fn clusters(branches: &[BranchState], before: u64, end: u64) -> Vec<u64> {
    let mut common: Option<HashSet<u64>> = None;
    for branch in branches.iter().filter(|branch| branch.layout.has_data()) {
        let firsts: HashSet<u64> = branch.baskets.iter().map(|basket| basket.first_entry).collect();
        common = Some(match common {
            Some(common) => &common & &firsts,
            None => firsts,
        });
    }
    let mut borders: Vec<u64> = common.into_iter().flatten().filter(|&first| first > before && first < end).collect();
    borders.sort_unstable();
    borders.push(end);
    let mut start = before;
    borders.into_iter().map(|border| border - std::mem::replace(&mut start, border)).collect()
}

fn is_basket(key: &Key) -> bool {
    &*key.class == "TBasket"
}

/// Whether a record may be an object that a directory lists: no basket, no page of an RNTuple, no list of the file's
/// own.
fn is_object(key: &Key) -> bool {
    let is_list = &*key.class == "TFile" || &*key.class == "TList" && &*key.name == "StreamerInfo";
    !is_basket(key) && !is_list && !key.is_blob() && !key.class.is_empty()
}

/// Entries of a tree or RNTuple; none if it cannot be opened.
fn entries_of(file: &File, key: &Key) -> Option<u64> {
    if key.is_ntuple() {
        return file.ntuple_at(key).ok().map(|ntuple| ntuple.entries);
    }
    file.tree_at(key).ok().map(|tree| tree.entries)
}

/// Whether a record has this number of branches.
fn check(draft: &mut Draft, branches: usize) -> Result<()> {
    let mut there = 0;
    each_branch(draft, &mut |_| there += 1);
    if there == branches && !matches!(draft.member("fBranches"), None | Some(Datum::Null)) {
        return Ok(());
    }
    Err(Error::malformed("the tree's record and its branches differ").wanted(branches as u64, there as u64))
}
