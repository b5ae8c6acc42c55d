//! A merge that is going on: the output, and its trees as far as they have grown.

use std::collections::{HashMap, HashSet};

use bytes::Bytes;

use super::input::{Input, Place};
use super::objects::{self, Sums};
use super::report::{Merged, MergedTree};
use crate::codec::Compression;
use crate::error::{Error, ErrorKind, Result};
use crate::object::Value;
use crate::write::{FileWriter, Fit, Joined, Mark, Notes, TreeIndex, Widening};

/// The output, and what is known of it.
pub(super) struct Running {
    writer: FileWriter,
    /// How baskets are compressed again; none where they are kept.
    again: Option<Compression>,
    trees: Vec<Growing>,
    places: HashMap<String, usize>,
    /// Descriptions of classes that were taken over.
    classes: HashSet<Bytes>,
    sums: Sums,
    /// What the list of objects names, and inputs have.
    listed: HashSet<usize>,
    /// Branches that were left out, once for each.
    left_out: HashSet<String>,
    /// Those that were widened.
    widened: HashSet<String>,
}

/// A tree of the output.
struct Growing {
    joined: Joined,
    report: MergedTree,
}

impl Running {
    pub(super) fn new(writer: FileWriter, again: Option<Compression>) -> Self {
        Self {
            writer,
            again,
            trees: Vec::new(),
            places: HashMap::new(),
            classes: HashSet::new(),
            sums: Sums::default(),
            listed: HashSet::new(),
            left_out: HashSet::new(),
            widened: HashSet::new(),
        }
    }

    /// What the list of objects names, and inputs have.
    pub(super) fn listed(&self) -> &HashSet<usize> {
        &self.listed
    }

    /// Adds an input. Where that fails and others are to follow, what was there is as it was.
    pub(super) fn add(&mut self, mut input: Input, skips: bool, merged: &mut Merged) -> Result<()> {
        let file = input.file.clone();
        self.listed.extend(&input.listed);
        let known = self.trees.len();
        // All trees are compared before a byte of one is written.
        let mut notes: Vec<(String, Notes)> = Vec::new();
        let mut fits: Vec<(usize, Fit)> = Vec::new();
        let mut indices: Vec<Option<TreeIndex>> = Vec::new();
        let outcome = (|| {
            for (place, tree) in &input.trees {
                let path = place.path();
                let index = self.tree(&input, place, &path)?;
                let mut found = Notes::default();
                let growing = self.trees.get(index).ok_or_else(|| Error::mismatch("a tree was lost"))?;
                let within = |error: Error| file.name(error.in_object(&path));
                fits.push((index, growing.joined.fit(tree, &mut found).map_err(within)?));
                // Most trees have none, and need not be read as they are for that.
                let has_index = matches!(tree.object.member("fTreeIndex"), Ok(Value::Object(_)));
                indices.push(match has_index && growing.joined.wants_index() {
                    true => TreeIndex::of(&file.draft_at(&place.key).map_err(within)?),
                    false => None,
                });
                notes.push((path, found));
            }
            self.refuse_others(&input)
        })();
        let marks: Vec<(usize, Mark)> =
            fits.iter().filter_map(|(index, _)| Some((*index, self.trees.get(*index)?.joined.mark()))).collect();
        let sums = std::mem::take(&mut input.sums);
        let before = if skips { self.sums.before(&sums) } else { Vec::new() };
        let outcome = outcome.and_then(|()| self.sums.add(&self.writer, &file, sums));
        let outcome = outcome.and_then(|()| self.copy(&input, &fits));
        let objects = match outcome {
            Ok(objects) => objects,
            Err(error) => {
                for (index, mark) in marks {
                    if let Some(growing) = self.trees.get_mut(index) {
                        self.writer.shrink(&mut growing.joined, mark)?;
                    }
                }
                self.trees.truncate(known);
                self.places.retain(|_, index| *index < known);
                self.sums.restore(before);
                return Err(error);
            }
        };
        for (path, found) in notes {
            for (branch, widening) in found.widened {
                let branch = format!("{path}/{branch}");
                if self.widened.insert(branch.clone()) {
                    let (name, Widening { from, to }) = (&file.identity().name, widening);
                    merged.notices.push(format!("{branch} is widened: {name} has {from}, the first tree has {to}"));
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
        for ((index, before), added) in marks.into_iter().zip(indices) {
            let Some(Growing { joined, report }) = self.trees.get_mut(index) else { continue };
            report.inputs += 1;
            if joined.add_index(added, &before) {
                let name = &file.identity().name;
                let why = format!("{name} has none of the same values, or both are too long");
                merged.notices.push(format!("{} loses its index: {why}", report.path));
            }
        }
        merged.inputs += 1;
        merged.objects += objects;
        merged.input_bytes += file.identity().len;
        merged.requests += file.perf().calls().len() as u64;
        Ok(())
    }

    /// The tree that one of an input belongs to, begun where there is none.
    fn tree(&mut self, input: &Input, place: &Place, path: &str) -> Result<usize> {
        if let Some(&known) = self.places.get(path) {
            return Ok(known);
        }
        let within = |error: Error| input.file.name(error.in_object(path));
        if let Some(class) = self.sums.class(path) {
            let words = format!("a tree has the name of an object of class {class}");
            return Err(within(Error::new(ErrorKind::Exists, words)));
        }
        let joined = match self.writer.newest(&place.folder, &place.key.name)? {
            Some(there) if there.is_tree() => self.writer.join_more(path)?,
            Some(there) => {
                let words = format!("a tree has the name of an object of class {}", there.class);
                return Err(within(Error::new(ErrorKind::Exists, words)));
            }
            None => {
                if self.trees.is_empty() {
                    self.writer.follow_rules(&input.file)?;
                }
                self.writer.join(&input.file, &place.key, &place.folder, self.again)?
            }
        };
        self.trees.push(Growing { joined, report: MergedTree::new(path.to_owned()) });
        self.places.insert(path.to_owned(), self.trees.len() - 1);
        Ok(self.trees.len() - 1)
    }

    /// Refuses objects and directories that have the name of a tree, and directories that have that of a sum.
    fn refuse_others(&self, input: &Input) -> Result<()> {
        let objects = input.objects.iter().chain(input.sums.iter().map(|(place, _)| place));
        let objects = objects.map(|place| (place.path(), &*place.key.class));
        let folders = input.folders.iter().map(|path| (path.clone(), "TDirectory"));
        for (path, class) in objects.chain(folders) {
            if self.places.contains_key(&path) {
                let words = format!("an object of class {class} has the name of a tree");
                return Err(input.file.name(Error::new(ErrorKind::Exists, words).in_object(&path)));
            }
        }
        for path in &input.folders {
            if let Some(class) = self.sums.class(path) {
                let words = format!("a directory has the name of an object of class {class}");
                return Err(input.file.name(Error::new(ErrorKind::Exists, words).in_object(path)));
            }
        }
        Ok(())
    }

    /// Copies what is in an input, trees first; gives the number of other objects.
    fn copy(&mut self, input: &Input, fits: &[(usize, Fit)]) -> Result<u64> {
        let file = &input.file;
        for folder in &input.folders {
            self.writer.mkdir(folder)?;
        }
        for ((index, fit), (_, tree)) in fits.iter().zip(&input.trees) {
            let Some(growing) = self.trees.get_mut(*index) else { continue };
            self.writer.grow(&mut growing.joined, file, tree, fit, self.again)?;
        }
        if !self.classes.contains(&input.classes) {
            let (infos, rules) = file.infos_and_rules()?;
            self.writer.describe(infos, rules)?;
            self.classes.insert(input.classes.clone());
        }
        objects::copy(&mut self.writer, input)
    }

    /// Writes the records of trees, and all that refers to them.
    pub(super) fn finish(mut self, merged: &mut Merged) -> Result<()> {
        for Growing { joined, mut report } in self.trees {
            report.note(joined.moved);
            report.figures = joined.figures();
            self.writer.settle(joined)?;
            merged.trees.push(report);
        }
        merged.objects += self.sums.finish(&mut self.writer)?;
        self.writer.close()
    }

    /// Ends without a trace of what was begun in a file that was there before.
    pub(super) fn give_up(self) -> Result<()> {
        self.writer.give_up()
    }
}
