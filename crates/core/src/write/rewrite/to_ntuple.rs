//! A tree written as an RNTuple.
//!
//! Source: `RNTupleImporter`.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::codec::Compression;
use crate::column::{Field, Kind};
use crate::error::{Error, Result};
use crate::file::File;
use crate::progress;
use crate::read::{self, Column};
use crate::tree::{Branch, BranchId, Tree};
use crate::write::options::{Order, Pages};
use crate::write::page::field::FieldSpec;
use crate::write::rewrite::ntuple::NTupleRewrite;
use crate::write::rewrite::windows::{chosen, selection, windows};
use crate::write::rewrite::{Unsupported, kept_branches};
use crate::write::writer::FileWriter;

impl FileWriter {
    /// Writes a tree of another file as an RNTuple, under the path `to`: a field for each top-level branch, of the type
    /// of its values. Objects take the place of pointers to them. Counted arrays become lists, and branches that only
    /// count their items are left out. `how` speaks of branches where it says fields. Returns what differs from the
    /// tree: names that RNTuples do not allow, and branches that were left out.
    ///
    /// # Errors
    ///
    /// [`Unsupported`](crate::ErrorKind::Unsupported) for values that no RNTuple holds, before anything is written, and
    /// where `how` keeps pages or asks for another order than that of entries; what reading and writing report. Then
    /// there is no RNTuple.
    ///
    /// # Example
    ///
    /// ```
    /// # let path = sapwood_testkit::scratch("to-ntuple.root");
    /// use sapwood::write::{FileWriter, NTupleRewrite, Unsupported, WriteOptions};
    /// # let input = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/plain.root");
    /// let from = sapwood::File::open(input)?;
    /// let mut file = FileWriter::recreate(&path, WriteOptions::default())?;
    /// file.rewrite_as_ntuple(&from, "t", "t", &NTupleRewrite::default(), Unsupported::Refuse)?;
    /// file.close()?;
    /// assert_eq!(sapwood::File::open(&path)?.ntuple("t")?.entries, from.tree("t")?.entries);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn rewrite_as_ntuple(
        &mut self,
        from: &File,
        path: &str,
        to: &str,
        how: &NTupleRewrite,
        unsupported: Unsupported,
    ) -> Result<Vec<String>> {
        let tree = from.tree(path)?;
        let within = |error: Error| from.name(error).in_object(path);
        let Pages::New(options) = &how.pages else {
            return Err(within(Error::unsupported("a tree has no pages that an RNTuple could keep")));
        };
        if how.order != Order::Entry {
            let words = "a tree becomes an RNTuple cluster by cluster";
            return Err(within(Error::unsupported(words)));
        }
        let kept = kept_branches(&tree, how.fields.as_deref()).map_err(within)?;
        let selection = selection(how.entries.as_deref(), tree.entries).map_err(within)?;
        let (mut notes, mut counting, counters) = (Vec::new(), Vec::new(), counters(&tree));
        let (mut ids, mut names, mut used) = (Vec::new(), Vec::new(), HashSet::new());
        for &id in tree.top() {
            let Some(branch) = tree.branches().get(id).filter(|branch| kept.contains(&branch.name)) else { continue };
            if counters.contains(&id) {
                counting.push(&*branch.name);
                continue;
            }
            let parts = parts(&tree, branch);
            if parts.len() != 1 || parts.first() != Some(&id) {
                notes.push(format!("branch {:?} is split: its sub-branches become fields of their own", branch.name));
            }
            for part in parts.into_iter().filter_map(|part| tree.branches().get(part)) {
                let name = part_name(branch, part);
                if part.id == id && name != *branch.name {
                    notes.push(format!("branch {:?} is now field {name:?}", branch.name));
                }
                if !used.insert(name.clone()) {
                    let words = format!("two branches would become the field {name:?}: leave one of them out");
                    return Err(within(Error::unsupported(words)));
                }
                ids.push(part.id);
                names.push(name);
            }
        }
        if !counting.is_empty() {
            let names = counting.join(", ");
            notes.push(format!("branches that count items are left out, since lists know their lengths: {names}"));
        }
        // Types are known without a row.
        let kinds = read::columns(&tree, &ids, 0..0).map_err(within)?.into_iter().map(|column| column.kind);
        let (mut fields, mut read) = (Vec::with_capacity(ids.len()), Vec::with_capacity(ids.len()));
        for ((name, kind), id) in names.into_iter().zip(kinds).zip(ids) {
            // Objects take the place of pointers, where the type does not depend on the values.
            let kind = if kind.has_pointers() { read::declared(&kind, tree.registry()) } else { Ok(kind) };
            let field = kind.map_err(|error| error.in_object(&name)).and_then(|kind| {
                let compression = setting(&tree, &how.compression, id);
                let field = FieldSpec { compression, ..FieldSpec::new(name.as_str(), as_in_fields(&kind)) };
                field.check().map(|()| field)
            });
            match field {
                Ok(field) => {
                    fields.push(field);
                    read.push((id, name));
                }
                Err(error) if unsupported == Unsupported::Drop => {
                    notes.push(format!("branch {name:?} is left out: {error}"))
                }
                Err(error) => return Err(within(error)),
            }
        }
        let (ids, names): (Vec<BranchId>, Vec<String>) = read.into_iter().unzip();
        let windows = windows(tree.entries, &tree.clusters(), bytes_of(&tree, &ids));
        let windows = chosen(windows, &selection).map_err(within)?;
        let mut ntuple = self.ntuple(to, fields, options.clone())?;
        let all = windows.len() as u64;
        let outcome = windows.into_iter().enumerate().try_for_each(|(done, window)| {
            progress::at(done as u64, all)?;
            let columns = read::columns(&tree, &ids, window).map_err(within)?;
            let columns = columns.iter().map(Column::followed).collect::<Result<Vec<_>>>().map_err(within)?;
            let values: Vec<_> = names.iter().map(String::as_str).zip(columns).collect();
            ntuple.extend(&values)
        });
        self.finish_or_remove(ntuple, to, outcome.map(|()| notes))
    }
}

/// The own setting of a branch, or of the branch that holds it.
fn setting(tree: &Tree, own: &HashMap<BranchId, Compression>, id: BranchId) -> Option<Compression> {
    let mut at = Some(id);
    while let Some(id) = at {
        if let Some(&found) = own.get(&id) {
            return Some(found);
        }
        at = tree.branches().get(id).and_then(|branch| branch.parent);
    }
    None
}

/// Top-level branches that do nothing but count items of others.
fn counters(tree: &Tree) -> HashSet<BranchId> {
    let leaves = || tree.branches().iter().flat_map(|branch| &branch.leaves);
    let counting: HashSet<BranchId> = leaves().filter_map(|leaf| leaf.count.map(|(branch, _)| branch)).collect();
    let is_plain = |id: &BranchId| {
        tree.branches().get(*id).is_some_and(|branch| branch.leaves.len() == 1 && branch.element.is_none())
    };
    counting.into_iter().filter(is_plain).collect()
}

/// The branches that have the values of a top-level branch: itself, or those of its sub-branches that have none below.
/// What counts the items of a split collection is not among them: the members are lists.
fn parts(tree: &Tree, branch: &Branch) -> Vec<BranchId> {
    let (mut parts, mut todo) = (Vec::new(), vec![branch.id]);
    while let Some(branch) = todo.pop().and_then(|id| tree.branches().get(id)) {
        if branch.children.is_empty() {
            parts.push(branch.id);
        }
        todo.extend(branch.children.iter().rev());
    }
    parts
}

/// Name of the field of a part of a top-level branch: with the name of the branch before it, without extents.
fn part_name(top: &Branch, part: &Branch) -> String {
    if part.id == top.id {
        return field_name(&top.name);
    }
    let (bare, name) = (top.name.trim_end_matches('.'), part.name.split('[').next().unwrap_or_default());
    let is_long = name.strip_prefix(bare).is_some_and(|rest| rest.starts_with('.'));
    field_name(&if is_long { name.to_owned() } else { format!("{bare}.{name}") })
}

/// A name as fields may have it, as ROOT's importer replaces what they may not have.
fn field_name(name: &str) -> String {
    let is_bad = |letter: char| letter.is_control() || matches!(letter, '.' | ' ' | '/' | '\\');
    name.chars().map(|letter| if is_bad(letter) { '_' } else { letter }).collect()
}

/// Bytes of the entries of top-level branches before compression.
fn bytes_of(tree: &Tree, ids: &[BranchId]) -> u64 {
    let wanted: HashSet<BranchId> = ids.iter().copied().collect();
    let is_wanted = |branch: &&Branch| {
        let mut at = *branch;
        while let Some(above) = at.parent.and_then(|id| tree.branches().get(id)) {
            at = above;
        }
        wanted.contains(&at.id)
    };
    tree.branches().iter().filter(is_wanted).fold(0, |sum, branch| sum.saturating_add(branch.tot_bytes))
}

/// The type of values with the names that fields have: members without the extents of their arrays, and bases counted.
fn as_in_fields(kind: &Kind) -> Kind {
    match kind {
        Kind::List { offsets, of, item } => {
            Kind::List { offsets: *offsets, of: *of, item: Box::new(as_in_fields(item)) }
        }
        Kind::Fixed { len, item } => Kind::Fixed { len: *len, item: Box::new(as_in_fields(item)) },
        Kind::OneOf { tags, of } => Kind::OneOf { tags: *tags, of: of.iter().map(as_in_fields).collect() },
        Kind::Record { class, fields } => {
            let mut bases = 0;
            let member = |field: &Field| {
                let name = match field.base {
                    true => {
                        bases += 1;
                        format!(":_{}", bases - 1).into()
                    }
                    false => field.name.split('[').next().unwrap_or_default().into(),
                };
                Field { name, kind: as_in_fields(&field.kind), base: field.base }
            };
            Kind::Record { class: Arc::clone(class), fields: fields.iter().map(member).collect() }
        }
        plain => plain.clone(),
    }
}
