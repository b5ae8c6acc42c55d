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
use crate::read;
use crate::tree::{Branch, BranchId, Tree};
use crate::write::options::{Order, Pages};
use crate::write::page::field::FieldSpec;
use crate::write::rewrite::between::Unsupported;
use crate::write::rewrite::between::whole_object::{WholeObject, class_versions};
use crate::write::rewrite::ntuple::NTupleRewrite;
use crate::write::rewrite::sort;
use crate::write::rewrite::tree::kept_branches;
use crate::write::rewrite::tree::prune;
use crate::write::rewrite::windows::{chosen, selection, windows};
use crate::write::writer::FileWriter;

impl FileWriter {
    /// Writes a tree of another file as an RNTuple, under the path `to`: a field for each top-level branch, of the type
    /// of its values. A split object is one field of its class, and objects take the place of pointers to them. Counted
    /// arrays become lists, and their counters become projected fields, which take no space. The fields
    /// that `how` names are branches. Returns what differs from the tree: names that RNTuples do not allow, branches
    /// that were left out, and split objects whose sub-branches became fields of their own, because the file does
    /// not describe their class.
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
        sort::refuse(how.sort.as_ref()).map_err(within)?;
        let selection = selection(how.entries.as_deref(), tree.entries).map_err(within)?;
        let mut notes = Vec::new();
        let counters = counters(&tree);
        let mut plan =
            Plan { tree: &tree, how, unsupported, notes: &mut notes, used: HashSet::new(), made: Vec::new() };
        let top = tree.top().iter().filter_map(|&id| tree.branches().get(id));
        let top = top.filter(|branch| kept.contains(&branch.name));
        // The lists that a counter counts are known before it.
        let (counting, others): (Vec<&Branch>, Vec<&Branch>) = top.partition(|branch| counters.contains(&branch.id));
        others.into_iter().try_for_each(|branch| plan.add(branch)).map_err(within)?;
        counting.into_iter().try_for_each(|branch| plan.count(branch)).map_err(within)?;
        let made = plan.made;
        let lacks = [
            (prune::has_index(&tree), "index (TTreeIndex)"),
            (prune::has_references(&tree), "table of references (TBranchRef)"),
            (!tree.aliases.is_empty(), "aliases"),
            (!tree.friends.is_empty(), "friends"),
        ];
        let lacks: Vec<&str> = lacks.iter().filter(|(is_there, _)| *is_there).map(|(_, what)| *what).collect();
        if !lacks.is_empty() {
            notes.push(format!("its {} are left out: an RNTuple has no place for them", lacks.join(", ")));
        }
        let ids: Vec<BranchId> = made.iter().flat_map(|(_, object)| object.ids.iter().copied()).collect();
        let (fields, objects): (Vec<FieldSpec>, Vec<WholeObject>) = made.into_iter().unzip();
        let names: Vec<Arc<str>> = fields.iter().map(|field| Arc::clone(&field.name)).collect();
        let windows = windows(tree.entries, &tree.clusters(), bytes_of(&tree, &ids));
        let windows = chosen(windows, &selection).map_err(within)?;
        let mut ntuple = self.ntuple(to, fields, options.clone())?;
        let all = windows.len() as u64;
        let outcome = windows.into_iter().enumerate().try_for_each(|(done, window)| {
            progress::at(done as u64, all)?;
            let columns = read::columns(&tree, &ids, window).map_err(within)?;
            let (mut rest, mut values) = (&columns[..], Vec::with_capacity(objects.len()));
            for (name, object) in names.iter().zip(&objects) {
                let (own, others) = rest.split_at_checked(object.ids.len()).unwrap_or_default();
                rest = others;
                values.push((&**name, object.values(&tree, own).map_err(|error| within(error.in_object(name)))?));
            }
            ntuple.extend(&values)
        });
        self.finish_or_remove(ntuple, to, outcome.map(|()| notes))
    }
}

/// The fields that are made of branches.
struct Plan<'a> {
    tree: &'a Tree,
    how: &'a NTupleRewrite,
    unsupported: Unsupported,
    notes: &'a mut Vec<String>,
    used: HashSet<String>,
    made: Vec<(FieldSpec, WholeObject)>,
}

impl Plan<'_> {
    /// Adds the field of a top-level branch; one for each of its parts where the whole object is no field.
    fn add(&mut self, branch: &Branch) -> Result<()> {
        let name = field_name(&branch.name);
        let whole = WholeObject::new(self.tree, branch).and_then(|object| Ok((self.field(&name, &object)?, object)));
        let error = match whole {
            Ok(made) => {
                if name != *branch.name {
                    self.notes.push(format!("branch {:?} is now field {name:?}", branch.name));
                }
                return self.push(name, made);
            }
            Err(error) => error,
        };
        let parts = parts(self.tree, branch);
        if parts.len() > 1 {
            let words = "is split, and cannot be one field; its sub-branches become fields of their own";
            self.notes.push(format!("branch {:?} {words}: {error}", branch.name));
        }
        for part in parts.into_iter().filter_map(|part| self.tree.branches().get(part)) {
            let (name, object) = (part_name(branch, part), WholeObject::of_branch(part.id));
            match self.field(&name, &object) {
                Ok(field) => self.push(name, (field, object))?,
                Err(error) if self.unsupported == Unsupported::Drop => {
                    self.notes.push(format!("branch {name:?} is left out: {error}"))
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Adds the field of a branch that counts items: it shows the lengths of the lists of the first field of which it
    /// is the counter. If no field has such lists, it is a field of numbers.
    fn count(&mut self, counter: &Branch) -> Result<()> {
        let name = field_name(&counter.name);
        let is_counted = |branch: &Branch| {
            let [leaf] = &branch.leaves[..] else { return false };
            leaf.count.is_some_and(|(by, _)| by == counter.id)
        };
        let tree = self.tree;
        let is_free = !self.used.contains(&name);
        let counted = self.made.iter_mut().find(|(field, object)| {
            let is_list = field.counter.is_none() && matches!(field.kind, Kind::List { .. });
            is_list && matches!(object.ids[..], [id] if tree.branches().get(id).is_some_and(is_counted))
        });
        match counted {
            Some((field, _)) if is_free => {
                field.counter = Some(name.as_str().into());
                self.used.insert(name);
                Ok(())
            }
            _ => self.add(counter),
        }
    }

    fn push(&mut self, name: String, made: (FieldSpec, WholeObject)) -> Result<()> {
        if self.used.contains(&name) {
            if self.unsupported == Unsupported::Drop {
                self.notes.push(format!("a second branch that would become the field {name:?} is left out"));
                return Ok(());
            }
            let words = format!("two branches would become the field {name:?}: leave one of them out");
            return Err(Error::unsupported(words));
        }
        self.used.insert(name);
        self.made.push(made);
        Ok(())
    }

    fn field(&self, name: &str, object: &WholeObject) -> Result<FieldSpec> {
        let kind = object.kind(self.tree).map_err(|error| error.in_object(name))?;
        let kind = as_in_fields(&kind);
        let versions = class_versions(self.tree, &kind, &object.ids);
        let compression = object.ids.iter().find_map(|&id| setting(self.tree, &self.how.compression, id));
        let field = FieldSpec { compression, versions, ..FieldSpec::new(name, kind) };
        field.check().map(|()| field)
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

/// Bytes of the entries of branches before compression, those of their sub-branches not included.
fn bytes_of(tree: &Tree, ids: &[BranchId]) -> u64 {
    let branches = ids.iter().filter_map(|&id| tree.branches().get(id));
    branches.fold(0, |sum, branch| sum.saturating_add(branch.tot_bytes))
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
