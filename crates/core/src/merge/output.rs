//! A running merge: the output, and its trees so far.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use bytes::Bytes;

use super::can_add;
use super::input::{Input, Place};
use super::ntuples::NTuples;
use super::objects::{self, Sums};
use super::report::{Merged, MergedTree};
use super::sum::only_root_adds;
use crate::codec::Compression;
use crate::container::Key;
use crate::error::{Error, ErrorKind, Result};
use crate::tree::BranchId;
use crate::write::{BranchMatches, Checkpoint, FileWriter, GrowingTree, Notes, TreeIndex, Widening, WiderBranch};

/// The output and its state.
pub(super) struct Running {
    writer: FileWriter,
    /// How baskets are recompressed; none if they are kept.
    again: Option<Compression>,
    trees: Vec<Growing>,
    ntuples: NTuples,
    places: HashMap<String, usize>,
    /// Class descriptions that were copied.
    classes: HashSet<Bytes>,
    sums: Sums,
    meanings: HashMap<String, Meaning>,
    /// What the list of objects names, and inputs have.
    listed: HashSet<usize>,
    /// Branches that were left out, once for each.
    left_out: HashSet<String>,
    /// Those that were widened.
    widened: HashSet<String>,
    /// Paths of objects for which there is a notice that they are not added.
    kept_apart: HashSet<String>,
    /// Branches that get wider types than the first tree of their path has.
    wider: WiderBranches,
}

/// Branches that need wider types than the first tree has, by the path of the tree.
pub(super) type WiderBranches = HashMap<String, BTreeMap<BranchId, WiderBranch>>;

/// Adds a branch to those that need a wider type, or widens it once more.
pub(super) fn widen(all: &mut WiderBranches, path: &str, wider: WiderBranch) {
    all.entry(path.to_owned()).or_default().entry(wider.id).and_modify(|known| known.add(&wider)).or_insert(wider);
}

/// The meaning of a path of the output: the same for all inputs.
#[derive(Clone)]
enum Meaning {
    Tree,
    NTuple,
    Folder,
    /// Objects that are added, of this class.
    Sum(Arc<str>),
    /// Objects that are kept side by side.
    Object(Arc<str>),
}

impl Meaning {
    fn of(key: &Key) -> Self {
        match () {
            () if key.is_tree() => Self::Tree,
            () if key.is_ntuple() => Self::NTuple,
            () if key.is_directory() => Self::Folder,
            () if can_add(&key.class) => Self::Sum(Arc::clone(&key.class)),
            () => Self::Object(Arc::clone(&key.class)),
        }
    }

    /// Whether both may have the same name. Whether objects can be added is found out when adding them.
    fn is_like(&self, other: &Self) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
    }

    fn words(&self) -> String {
        match self {
            Self::Tree => "a tree".to_owned(),
            Self::NTuple => "an RNTuple".to_owned(),
            Self::Folder => "a directory".to_owned(),
            Self::Sum(class) | Self::Object(class) => format!("an object of class {class}"),
        }
    }
}

/// Decides which of two trees of one path gives way to the other, since it has no branches.
enum GivesWay {
    Neither,
    Input,
    /// The tree of the output, as it was.
    Output(Box<GrowingTree>),
}

/// A tree of the output.
struct Growing {
    joined: GrowingTree,
    report: MergedTree,
    /// Whether a notice has named the index that the output lacks.
    is_index_lost: bool,
}

impl Running {
    pub(super) fn new(writer: FileWriter, again: Option<Compression>, wider: WiderBranches) -> Self {
        Self {
            writer,
            again,
            trees: Vec::new(),
            ntuples: NTuples::default(),
            places: HashMap::new(),
            classes: HashSet::new(),
            sums: Sums::default(),
            meanings: HashMap::new(),
            listed: HashSet::new(),
            left_out: HashSet::new(),
            widened: HashSet::new(),
            kept_apart: HashSet::new(),
            wider,
        }
    }

    /// What the list of objects names, and inputs have.
    pub(super) fn listed(&self) -> &HashSet<usize> {
        &self.listed
    }

    /// Whether RNTuples and objects of an input fit to those of the output, which stay as they are.
    fn compare_others(&mut self, input: &mut Input) -> Result<()> {
        let mut added = self.ntuples.nothing_added();
        let outcome = self.ntuples.compare(&mut self.writer, input, &mut added);
        self.ntuples.undo(&mut self.writer, added)?;
        outcome?;
        let sums = std::mem::take(&mut input.sums);
        let before = self.sums.before(&sums);
        let outcome = self.sums.add(&self.writer, &input.file, sums);
        self.sums.restore(before);
        outcome
    }

    /// Adds an input. If that fails and others follow, the output is unchanged. Branches whose types are too narrow for
    /// the input are put into `needed`: once there are any, inputs are only compared. Without `needed` they are an
    /// error.
    pub(super) fn add(
        &mut self,
        mut input: Input,
        skips: bool,
        needed: Option<&mut WiderBranches>,
        merged: &mut Merged,
    ) -> Result<()> {
        let file = input.file.clone();
        let known = self.trees.len();
        // Compare all trees before writing any of them.
        let mut notes: Vec<(String, Notes)> = Vec::new();
        let mut matches: Vec<(usize, BranchMatches)> = Vec::new();
        // Of each tree, its index if it is wanted, and whether it has one that is not.
        let mut indices: Vec<(Option<TreeIndex>, bool)> = Vec::new();
        // Trees without branches, which give way to others of their path.
        let mut passed_over = HashSet::new();
        let mut replaced = Vec::new();
        let meanings = self.meanings_of(&input)?;
        let mut added = self.ntuples.nothing_added();
        let mut outcome = (|| {
            for (place, tree) in &input.trees {
                let path = place.path();
                let index = self.tree(&input, place, &path)?;
                match self.give_way(&input, place, index, tree.branches().is_empty())? {
                    GivesWay::Neither => {}
                    GivesWay::Input => {
                        passed_over.insert(path);
                        continue;
                    }
                    GivesWay::Output(before) => replaced.push((index, before)),
                }
                let mut found = Notes::default();
                let growing = self.trees.get(index).ok_or_else(|| Error::mismatch("a tree was lost"))?;
                let within = |error: Error| file.name(error.in_object(&path));
                let matched = growing.joined.match_branches(tree, &mut found).map_err(within)?;
                if let Some(wider) = found.wider.first().filter(|_| needed.is_none()) {
                    return Err(within(wider.error()));
                }
                matches.push((index, matched));
                // Most trees have none, and need not be read as they are for that.
                let has_index = tree.has_index();
                indices.push(if has_index && growing.joined.wants_index() {
                    (TreeIndex::of(&file.draft_at(&place.key).map_err(within)?), false)
                } else {
                    (None, has_index)
                });
                notes.push((path, found));
            }
            Ok(())
        })();
        let needs_wider = notes.iter().any(|(_, found)| !found.wider.is_empty());
        if let Some(needed) = needed.filter(|needed| outcome.is_ok() && (needs_wider || !needed.is_empty())) {
            // An input that is skipped for other reasons needs no wider types.
            outcome = if skips { self.compare_others(&mut input) } else { Ok(()) };
            if outcome.is_ok() {
                for (path, found) in notes {
                    found.wider.into_iter().for_each(|wider| widen(needed, &path, wider));
                }
                return Ok(());
            }
        }
        let outcome = outcome.and_then(|()| self.ntuples.compare(&mut self.writer, &mut input, &mut added));
        let mut empty = Vec::new();
        for (index, before) in &replaced {
            let entries = before.figures().entries;
            if let Some(growing) = self.trees.get(*index).filter(|_| entries > 0) {
                let words = "entries before are left out, since they have no branches";
                empty.push(format!("{}: the {entries} {words}", growing.report.path));
            }
        }
        let name = &file.identity().name;
        input.trees.retain(|(place, tree)| {
            let path = place.path();
            let is_kept = !passed_over.contains(&path);
            if !is_kept && tree.entries > 0 {
                let entries = tree.entries;
                empty
                    .push(format!("{path}: the {entries} entries of {name} are left out, since they have no branches"));
            }
            is_kept
        });
        let checkpoints: Vec<(usize, Checkpoint)> = matches
            .iter()
            .filter_map(|(index, _)| Some((*index, self.trees.get(*index)?.joined.checkpoint())))
            .collect();
        let sums = std::mem::take(&mut input.sums);
        let before = if skips { self.sums.before(&sums) } else { Vec::new() };
        let outcome = outcome.and_then(|()| self.sums.add(&self.writer, &file, sums));
        let outcome = outcome.and_then(|()| self.ntuples.grow(&mut self.writer, &input, &added, self.again));
        let outcome = outcome.and_then(|()| self.copy(&input, &matches));
        let objects = match outcome {
            Ok(objects) => objects,
            Err(error) => {
                for (index, mark) in checkpoints {
                    if let Some(growing) = self.trees.get_mut(index) {
                        self.writer.shrink(&mut growing.joined, mark)?;
                    }
                }
                for (index, before) in replaced {
                    if let Some(growing) = self.trees.get_mut(index) {
                        growing.joined = *before;
                    }
                }
                self.ntuples.undo(&mut self.writer, added)?;
                self.trees.truncate(known);
                self.places.retain(|_, index| *index < known);
                self.sums.restore(before);
                for (path, _) in &input.folders {
                    // The first of them has others in it.
                    let is_new = matches!(meanings.get(path), Some((_, true)));
                    if is_new && self.writer.has_folder(path)? {
                        self.writer.remove(path)?;
                    }
                }
                return Err(error);
            }
        };
        self.ntuples.note(&input, added, merged);
        merged.notices.extend(empty);
        for place in input.objects.iter().filter(|place| only_root_adds(&place.key.class)) {
            let path = place.path();
            if self.meanings.contains_key(&path) && self.kept_apart.insert(path.clone()) {
                let class = &place.key.class;
                merged
                    .notices
                    .push(format!("{path} is kept once for each input: only ROOT adds objects of class {class}"));
            }
        }
        for (path, found) in notes {
            for (branch, widening) in found.widened {
                let branch = format!("{path}/{branch}");
                if self.widened.insert(branch.clone()) {
                    let Widening { from, to, .. } = widening;
                    let name = &file.identity().name;
                    merged.notices.push(format!("{branch} is widened from {from} in {name} to {to}"));
                }
            }
            for branch in found.left_out {
                let branch = format!("{path}/{branch}");
                if self.left_out.insert(branch.clone()) {
                    let name = &file.identity().name;
                    merged.notices.push(format!("{branch} is left out: {name} has it, and the first tree has not"));
                }
            }
        }
        for ((index, before), (added, is_left_out)) in checkpoints.into_iter().zip(indices) {
            let Some(Growing { joined, report, is_index_lost }) = self.trees.get_mut(index) else { continue };
            report.inputs += 1;
            let name = &file.identity().name;
            if joined.add_index(added, &before) {
                *is_index_lost = true;
                let why = format!("{name} has none of the same values, or both are too long");
                merged.notices.push(format!("{} loses its index: {why}", report.path));
            } else if is_left_out && !std::mem::replace(is_index_lost, true) {
                let why = format!("{name} has one, and the files before it have none");
                merged.notices.push(format!("{} has no index: {why}", report.path));
            }
        }
        self.listed.extend(&input.listed);
        self.meanings.extend(meanings.into_iter().map(|(path, (meaning, _))| (path, meaning)));
        merged.inputs += 1;
        merged.objects += objects;
        merged.input_bytes += file.identity().len;
        merged.requests += file.perf().calls().len() as u64;
        Ok(())
    }

    /// Trees without branches hold nothing: a job that selected nothing writes them. They give way to trees of their
    /// path that have branches, before them or after them.
    fn give_way(&mut self, input: &Input, place: &Place, index: usize, is_bare: bool) -> Result<GivesWay> {
        let lost = || Error::internal("a tree was lost");
        let has_branches = self.trees.get(index).ok_or_else(lost)?.joined.has_branches();
        Ok(match (has_branches, is_bare) {
            (true, true) => GivesWay::Input,
            (false, false) => {
                let wider = self.wider.get(&place.path());
                let joined = self.writer.join(&input.file, &place.key, &place.folder, self.again, wider)?;
                let growing = self.trees.get_mut(index).ok_or_else(lost)?;
                let joined = joined.replacing(&growing.joined);
                GivesWay::Output(Box::new(std::mem::replace(&mut growing.joined, joined)))
            }
            _ => GivesWay::Neither,
        })
    }

    /// The output tree of an input's tree; begins one if there is none.
    fn tree(&mut self, input: &Input, place: &Place, path: &str) -> Result<usize> {
        if let Some(&known) = self.places.get(path) {
            return Ok(known);
        }
        let joined = match self.writer.newest(&place.folder, &place.key.name)? {
            Some(_) => self.writer.join_more(path)?,
            None => {
                if self.trees.is_empty() {
                    self.writer.follow_rules(&input.file)?;
                }
                let wider = self.wider.get(path);
                self.writer.join(&input.file, &place.key, &place.folder, self.again, wider)?
            }
        };
        self.trees.push(Growing { joined, report: MergedTree::new(path.to_owned()), is_index_lost: false });
        self.places.insert(path.to_owned(), self.trees.len() - 1);
        Ok(self.trees.len() - 1)
    }

    /// The meanings of an input's new paths, and whether the output has nothing there.
    ///
    /// # Errors
    ///
    /// [`Exists`](ErrorKind::Exists) for a path with another meaning.
    fn meanings_of(&self, input: &Input) -> Result<HashMap<String, (Meaning, bool)>> {
        let places = input.trees.iter().map(|(place, _)| place).chain(input.sums.iter().map(|(place, _)| place));
        let places = places.chain(input.ntuples.iter().map(|(place, _)| place));
        let places = places.chain(&input.objects).map(|place| {
            let meaning = Meaning::of(&place.key);
            (place.path(), place.folder.as_str(), &*place.key.name, meaning)
        });
        let folders = input.folders.iter().map(|(path, _)| {
            let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
            (path.clone(), folder, name, Meaning::Folder)
        });
        let mut found: HashMap<String, (Meaning, bool)> = HashMap::new();
        for (path, folder, name, meaning) in folders.chain(places) {
            let known = self.meanings.get(&path).or(found.get(&path).map(|(known, _)| known)).cloned();
            let there = if known.is_none() { self.writer.newest(folder, name)? } else { None };
            let is_new = known.is_none() && there.is_none();
            let known = known.or(there.as_ref().map(Meaning::of));
            if let Some(known) = known.filter(|known| !known.is_like(&meaning)) {
                let words = format!("{} has the name of {}", meaning.words(), known.words());
                return Err(input.file.name(Error::new(ErrorKind::Exists, words).in_object(&path)));
            }
            if !self.meanings.contains_key(&path) {
                found.entry(path).or_insert((meaning, is_new));
            }
        }
        Ok(found)
    }

    /// Copies the content of an input, trees first; returns the number of other objects.
    fn copy(&mut self, input: &Input, matches: &[(usize, BranchMatches)]) -> Result<u64> {
        let file = &input.file;
        for (folder, key) in &input.folders {
            self.writer.mkdir_like(folder, key)?;
        }
        for ((index, matched), (_, tree)) in matches.iter().zip(&input.trees) {
            let Some(growing) = self.trees.get_mut(*index) else { continue };
            self.writer.grow(&mut growing.joined, file, tree, matched, self.again)?;
        }
        if !self.classes.contains(&input.classes) {
            let (infos, rules) = file.infos_and_rules()?;
            self.writer.describe(infos, rules)?;
            self.classes.insert(input.classes.clone());
        }
        objects::copy(&mut self.writer, input)
    }

    /// Writes the records of trees, and everything that refers to them.
    pub(super) fn finish(mut self, merged: &mut Merged) -> Result<()> {
        for Growing { joined, mut report, .. } in self.trees {
            report.note(joined.moved);
            report.figures = joined.figures();
            self.writer.settle(joined)?;
            merged.trees.push(report);
        }
        self.ntuples.finish(&mut self.writer, merged)?;
        merged.objects += self.sums.finish(&mut self.writer)?;
        self.writer.close()
    }

    /// Undoes everything that was begun in an existing file.
    pub(super) fn abandon(self) -> Result<()> {
        self.writer.abandon()
    }
}
