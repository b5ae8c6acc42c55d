//! What a writer that died had written: objects and clusters behind the end that the last header knows.
//!
//! Source: `TFile::Recover`, which brings back the keys. A basket's key says more: its name is its branch, its title its tree, and
//! its cycle its number. So the baskets that were written after the last record of their tree are found, too.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use super::amend::each_branch;
use super::file::WriteOptions;
use super::shared::{Shared, State};
use super::space::Space;
use super::state::{Base, BranchState, PlacedBasket, TreeState};
use super::stray::Stray;
use super::tree::TreeOptions;
use super::update;
use crate::codec::Compression;
use crate::column::Kind;
use crate::container::{Directory, Key, Record};
use crate::error::{Error, Result};
use crate::file::walk::Walk;
use crate::file::{File, OpenOptions};
use crate::io::LocalFile;
use crate::read::{self, Column};
use crate::schema::{Datum, Draft};
use crate::tree::{Basket, BasketBytes};
use crate::wire::Reader;

/// What was brought back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recovered {
    /// Objects and directories that no directory listed.
    pub objects: Vec<String>,
    /// Trees that have more entries than before: path, entries before and now.
    pub trees: Vec<(String, u64, u64)>,
    /// What was seen and left alone, and why.
    pub left: Vec<String>,
    /// Bytes behind the last whole record, which were cut off.
    pub cut_bytes: u64,
    /// Whether the file was closed, so that there was nothing to do.
    pub was_closed: bool,
}

/// Brings back what a writer that died had written, in place: objects whose record is whole, and the clusters of trees that
/// were committed after the last save, up to the last entry that all branches have.
///
/// With `dry_run` nothing is written, and what would be brought back is told.
///
/// # Errors
///
/// Those of [`FileWriter::update`](super::FileWriter::update), and [`Malformed`](crate::ErrorKind::Malformed) where there is no root
/// directory.
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
    let file = File::from_store(Arc::new(LocalFile::open(path)?), open)?;
    let there = file.identity().len;
    let mut found = Recovered::default();
    if !file.is_recovered() && there == file.header().end {
        found.was_closed = true;
        return Ok(found);
    }
    update::check_version(&file)?;
    let Behind { keys, gaps, end } = Behind::of(&file);
    found.cut_bytes = there - end.min(there);
    let seek_dir = file.root().seek_dir.max(u64::from(file.header().begin));
    let record = Directory { seek_dir, ..file.root().clone() };
    let mut space = Space::new(end, Vec::new());
    // The last list of free segments does not know what the writer did after it: the marks do.
    let before = if file.is_recovered() { Vec::new() } else { update::marked_gaps(&file) };
    before.into_iter().chain(gaps).for_each(|gap| space.give_up(gap));
    let shared = Shared::over(file.clone(), Box::new(Arc::clone(&sink)), options, record, space)?;
    let mut state = shared.open_state()?;
    state.folders[0].changed = true;
    state.infos_changed = file.is_recovered();
    let baskets = shared.add_objects(&mut state, &file, keys, &mut found)?;
    shared.add_baskets(&mut state, &file, baskets, &mut found)?;
    if dry_run {
        state.closed = true;
        return Ok(found);
    }
    // What is behind the end may be half a record.
    sink.set_len(end)?;
    shared.save(&mut state)?;
    drop(state);
    let counted = shared.count_again(&found)?;
    if counted {
        shared.save(&mut *shared.open_state()?)?;
    }
    shared.open_state()?.closed = true;
    crate::io::Sink::sync(&*sink)?;
    Ok(found)
}

/// What stands behind the end that the header knows.
struct Behind {
    /// Keys of whole records.
    keys: Vec<Key>,
    /// Room that was reserved and never written, or given up.
    gaps: Vec<Range<u64>>,
    /// Where the last whole record ends.
    end: u64,
}

impl Behind {
    fn of(file: &File) -> Self {
        let mut walk = Walk::behind(file);
        let (mut keys, mut gaps) = (Vec::new(), Vec::new());
        for placed in walk.by_ref() {
            let room = placed.at..placed.end();
            match placed.record {
                Record::Key(key) if key.seek_key == placed.at => keys.push(key),
                Record::Key(_) => {}
                Record::Gap(_) => gaps.push(room),
            }
        }
        Self { keys, gaps, end: walk.at().min(walk.end()) }
    }
}

impl Shared {
    /// Lists objects that no directory lists; gives the baskets that were met.
    fn add_objects(&self, state: &mut State, file: &File, behind: Vec<Key>, found: &mut Recovered) -> Result<Vec<Key>> {
        self.load_folders(state, file)?;
        let mut baskets = Vec::new();
        for key in behind {
            if &*key.class == "TBasket" {
                baskets.push(key);
                continue;
            }
            let is_list = &*key.class == "TFile" || &*key.class == "TList" && &*key.name == "StreamerInfo";
            let folder = state.folders.iter().position(|folder| folder.record.seek_dir == key.seek_pdir);
            let Some(folder) = folder.filter(|_| !is_list && !key.class.is_empty()) else { continue };
            let known = state.folders[folder].named(&key.name, Some(key.cycle)).next().cloned();
            if known.as_ref().is_some_and(|known| known.seek_key >= key.seek_key) {
                continue;
            }
            let path = state.folders[folder].path_of(&key.name);
            if key.is_directory() {
                // A directory's list of keys looks like its record, but for where it says that it is.
                let is_record = file
                    .payload(&key)
                    .and_then(|payload| Directory::read(&mut Reader::new(&payload)))
                    .is_ok_and(|record| record.seek_dir == key.seek_key);
                if !is_record || known.is_some() {
                    continue;
                }
            } else if file.payload(&key).is_err() {
                found.left.push(format!("{path}: its record at {} cannot be read", key.seek_key));
                continue;
            }
            match known {
                Some(old) => state.folders[folder].replace(&old, key.clone()),
                None => state.folders[folder].add(key.clone()),
            }
            if key.is_directory() {
                self.load_folder(state, &key, path.clone())?;
            }
            found.objects.push(path);
        }
        Ok(baskets)
    }

    /// Reads all directories, so that what was written into them finds them.
    fn load_folders(&self, state: &mut State, file: &File) -> Result<()> {
        let listed = file.keys(true)?;
        for found in listed.iter().filter(|found| found.key.is_directory()) {
            // One that cannot be read hides no other.
            let _ = self.find_folder(state, &found.path, false);
        }
        Ok(())
    }

    /// Gives trees the baskets that were written behind their last record.
    fn add_baskets(&self, state: &mut State, file: &File, baskets: Vec<Key>, found: &mut Recovered) -> Result<()> {
        let mut of: HashMap<(u64, Arc<str>), Vec<Key>> = HashMap::new();
        for key in baskets {
            of.entry((key.seek_pdir, Arc::clone(&key.title))).or_default().push(key);
        }
        for folder in 0..state.folders.len() {
            let mut newest: HashMap<Arc<str>, Key> = HashMap::new();
            for key in state.folders[folder].keys().iter().filter(|key| key.is_tree()) {
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
                match longer(file, folder, &key, baskets, self) {
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
        Ok(())
    }

    /// The largest counts and the longest strings, which the record lists: only the values say.
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
                // What cannot be counted is read all the same by whoever looks at the baskets.
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

/// A tree with the baskets behind its record; none where they add nothing.
fn longer(file: &File, folder: usize, key: &Key, behind: Vec<Key>, shared: &Shared) -> Result<Option<TreeState>> {
    let tree = file.tree_at(key)?;
    let branches: Vec<_> = tree.branches().iter().collect();
    let stray = Stray::of(&branches, &behind);
    let (mut states, mut before, mut common) = (Vec::new(), Vec::new(), u64::MAX);
    let mut met: HashMap<&str, usize> = HashMap::new();
    for branch in &branches {
        let mut state = BranchState::found(Arc::clone(&branch.name), branch.has_data(), Compression::NONE);
        if !branch.has_data() {
            states.push(state);
            before.push(0);
            continue;
        }
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
        if !file.is_recovered() && stray.is_below(&branch.name, number) {
            return Err(Error::malformed("baskets of another tree of the name stand behind the last save"));
        }
        while let Some(key) = stray.get(branch, place, number, state.baskets.len())? {
            let entries = entries_of(file, key)?;
            state.baskets.push(PlacedBasket { seek: key.seek_key, nbytes: key.nbytes, first_entry: entry });
            state.tot_bytes += u64::from(key.keylen) + u64::from(key.objlen);
            state.zip_bytes += u64::from(key.nbytes);
            state.largest_bytes = state.largest_bytes.max(u64::from(key.keylen) + u64::from(key.objlen));
            entry += entries;
        }
        // A basket that the record holds itself counts as long as none on storage has its place.
        if state.baskets.is_empty() {
            entry = entry.max(embedded_end);
        }
        common = common.min(entry);
        states.push(state);
    }
    if common == u64::MAX || common <= tree.entries {
        return Ok(None);
    }
    // What begins behind the last common entry belongs to no whole row.
    for state in &mut states {
        state.baskets.retain(|basket| basket.first_entry < common);
    }
    let mut draft = file.draft_at(key)?;
    check(&mut draft, states.len())?;
    let clusters = clusters(&states, tree.entries, common);
    let mut longer = TreeState::new(folder, Arc::clone(&key.name), &[], shared.compression, &TreeOptions::default())?;
    longer.title = Arc::clone(&key.title);
    longer.branches = states;
    longer.entries = common;
    longer.clusters = clusters;
    longer.base = Some(Base { draft, entries: tree.entries, baskets: Some(before) });
    longer.key = Some(key.clone());
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

/// Entries of clusters: they begin where baskets of all branches begin.
fn clusters(branches: &[BranchState], before: u64, end: u64) -> Vec<u64> {
    let mut common: Option<HashSet<u64>> = None;
    for branch in branches.iter().filter(|branch| branch.what.has_data()) {
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

/// Entries of a basket, by its header.
fn entries_of(file: &File, key: &Key) -> Result<u64> {
    let record = file.read_raw(&[key.room()])?.pop().unwrap_or_default();
    Ok(u64::from(Basket::read(record, &file.options().limits)?.entries))
}

/// Whether a record has so many branches.
fn check(draft: &mut Draft, branches: usize) -> Result<()> {
    let mut there = 0;
    each_branch(draft, &mut |_| there += 1);
    if there == branches && !matches!(draft.member("fBranches"), None | Some(Datum::Null)) {
        return Ok(());
    }
    Err(Error::malformed("the tree's record and its branches differ").wanted(branches as u64, there as u64))
}
