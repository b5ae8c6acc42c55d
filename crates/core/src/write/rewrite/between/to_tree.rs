//! An RNTuple written as a tree.

use std::collections::HashSet;
use std::sync::Arc;

use crate::codec::Compression;
use crate::error::{Error, ErrorKind, Result};
use crate::file::File;
use crate::ntuple::{Field, NTuple, columns};
use crate::progress;
use crate::write::options::{Baskets, Order, TreeOptions};
use crate::write::rewrite::between::Unsupported;
use crate::write::rewrite::between::branches_of_fields::Branches;
use crate::write::rewrite::ntuple::absent_bytes;
use crate::write::rewrite::sort;
use crate::write::rewrite::tree::Rewrite;
use crate::write::rewrite::windows::{chosen, selection, windows};
use crate::write::writer::FileWriter;

impl FileWriter {
    /// Writes an RNTuple of another file as a tree, under the path `to`: a branch for each top-level field. Numbers,
    /// arrays of them, strings, vectors and containers, and objects whose classes the RNTuple names become branches of
    /// these types, objects split. Of records without a class, and of tuples, each member is a branch; in lists they
    /// are lists that one branch counts. Values that may be absent become vectors of no item or one, and
    /// arrays of anything but numbers vectors, each with a note. `how` speaks of fields where it says branches. Returns
    /// what differs from the RNTuple.
    ///
    /// # Errors
    ///
    /// [`Unsupported`](ErrorKind::Unsupported), naming the field and its type, for values that no tree holds (values of
    /// several types, what a class's streamer wrote; in objects and containers of other kinds also values that may be
    /// absent, tuples, and arrays of anything but numbers), unless `unsupported` leaves them out, and where `how` keeps
    /// baskets or asks for another order than that of entries; what reading and writing report. Then there is no tree.
    ///
    /// # Example
    ///
    /// ```
    /// # let [old, new] = ["a", "b"].map(|name| sapwood_testkit::scratch(&format!("to-tree-{name}.root")));
    /// # use sapwood::column::{Kind, Number};
    /// # use sapwood::read::Column;
    /// # use sapwood::write::{FieldSpec, FileWriter, NTupleOptions, WriteOptions};
    /// # let mut file = FileWriter::recreate(&old, WriteOptions::default())?;
    /// # let spec = FieldSpec::new("x", Kind::Number { buffer: 0, number: Number::I32 });
    /// # let mut ntuple = file.ntuple("n", vec![spec], NTupleOptions::default())?;
    /// # ntuple.extend(&[("x", Column::from_numbers(&[1, 2, 3]))])?;
    /// # ntuple.close()?;
    /// # file.close()?;
    /// use sapwood::write::{Rewrite, Unsupported};
    /// let mut file = FileWriter::recreate(&new, WriteOptions::default())?;
    /// file.rewrite_as_tree(&sapwood::File::open(&old)?, "n", "t", &Rewrite::default(), Unsupported::Refuse)?;
    /// file.close()?;
    /// let tree = sapwood::File::open(&new)?.tree("t")?;
    /// let x = sapwood::read::columns(&tree, &[tree.branch("x")?.id], 0..3)?;
    /// assert_eq!(x[0].numbers::<i32>()?, [1, 2, 3]);
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn rewrite_as_tree(
        &mut self,
        from: &File,
        path: &str,
        to: &str,
        how: &Rewrite,
        unsupported: Unsupported,
    ) -> Result<Vec<String>> {
        let ntuple = from.ntuple(path)?;
        let within = |error: Error| ntuple.place(error);
        let Baskets::New(options) = &how.baskets else {
            return Err(within(Error::unsupported("an RNTuple has no baskets that a tree could keep")));
        };
        if how.order != Order::Entry {
            return Err(within(Error::unsupported("an RNTuple becomes a tree cluster by cluster")));
        }
        sort::refuse(how.sort.as_ref()).map_err(within)?;
        let selection = selection(how.entries.as_deref(), ntuple.entries).map_err(within)?;
        let mut plan = Plan { notes: Vec::new(), ids: Vec::new(), branches: Vec::new() };
        plan.fill(&ntuple, how, unsupported)?;
        let options = TreeOptions { title: Arc::clone(&ntuple.description), ..options.clone() };
        let mut bytes = 0_u64;
        for &id in &plan.ids {
            bytes = bytes.saturating_add(ntuple.field_bytes(id)?.inflated).saturating_add(absent_bytes(&ntuple, id));
        }
        let windows = chosen(windows(ntuple.entries, &ntuple.clusters()?, bytes), &selection)?;
        let specs: Vec<_> = plan.branches.iter().flatten().map(|branch| branch.spec.clone()).collect();
        let mut tree = self.tree(to, specs, options)?;
        let all = windows.len() as u64;
        let outcome = windows.into_iter().enumerate().try_for_each(|(done, window)| {
            progress::at(done as u64, all)?;
            let columns = columns(&ntuple, &plan.ids, window)?;
            let of_branches = || {
                let of_field = plan.branches.iter().zip(&columns);
                of_field.flat_map(|(branches, column)| branches.iter().map(move |branch| (branch, column)))
            };
            let objects = of_branches().map(|(branch, column)| branch.object(column)).collect::<Result<Vec<_>>>()?;
            let mut values = Vec::with_capacity(objects.len());
            for ((branch, column), object) in of_branches().zip(&objects) {
                if let Some(given) = branch.values(column, object.as_ref()).map_err(within)? {
                    values.push((&*branch.spec.name, given));
                }
            }
            tree.extend(&values)
        });
        match outcome {
            Ok(()) => tree.close().map(|()| plan.notes),
            Err(error) => {
                // The first error is what counts.
                let _ = tree.discard();
                Err(error)
            }
        }
    }
}

/// What is read, and which branches it fills.
struct Plan {
    notes: Vec<String>,
    ids: Vec<usize>,
    branches: Vec<Vec<super::branches_of_fields::FieldBranch>>,
}

impl Plan {
    fn fill(&mut self, ntuple: &NTuple, how: &Rewrite, unsupported: Unsupported) -> Result<()> {
        let top = || ntuple.top().iter().filter_map(|&id| ntuple.fields().get(id));
        let kept: Option<HashSet<&str>> = how.branches.as_ref().map(|names| names.iter().map(|name| &**name).collect());
        if let Some(name) = kept.iter().flatten().find(|name| !top().any(|field| *field.name == ***name)) {
            return Err(ntuple.place(Error::not_found(format!("there is no top-level field {name:?}"))));
        }
        let is_kept = |name: &str| kept.as_ref().is_none_or(|kept| kept.contains(name));
        let names = top().filter(|field| field.source.is_none() && is_kept(&field.name));
        let mut branches = Branches::new(ntuple, names.map(|field| field.name.to_string()))?;
        // Lengths come last: the counter of a list that becomes branches may have them already.
        let is_length = |field: &&Field| field.type_name.starts_with("ROOT::RNTupleCardinality<");
        let (views, stored): (Vec<&Field>, Vec<&Field>) =
            top().filter(|field| is_kept(&field.name)).partition(|field| field.source.is_some());
        let (lengths, views): (Vec<&Field>, Vec<&Field>) = views.into_iter().partition(is_length);
        for field in stored.into_iter().chain(lengths) {
            if let Some(lists) = field.source
                && branches.has(&field.name)
            {
                if !branches.counts(&field.name, lists) {
                    self.notes.push(format!("field {:?} is left out: another branch has its name", field.name));
                }
                continue;
            }
            let added = ntuple.kind(field.id).and_then(|kind| branches.add(field, &kind).map_err(|e| ntuple.place(e)));
            match added {
                Ok(()) => {}
                Err(error) if error.kind() == ErrorKind::Unsupported && unsupported == Unsupported::Drop => {
                    self.notes.push(format!("field {:?} is left out: {error}", field.name));
                    continue;
                }
                Err(error) => return Err(error),
            }
            let compression = self.compression(ntuple, how, field.id)?;
            let mut added = std::mem::take(&mut branches.found);
            added.iter_mut().for_each(|branch| branch.spec.compression = compression);
            self.ids.push(field.id);
            self.branches.push(added);
            self.notes.append(&mut branches.notes);
        }
        if !views.is_empty() {
            let names = views.iter().map(|field| &*field.name).collect::<Vec<_>>().join(", ");
            self.notes
                .push(format!("fields that show values of others are left out, since trees have no views: {names}"));
        }
        Ok(())
    }

    /// Compression of a field's branches: its own, none for that of the tree, or the one that its pages have.
    fn compression(&self, ntuple: &NTuple, how: &Rewrite, field: usize) -> Result<Option<Compression>> {
        if let Some(&own) = how.compression.get(&field) {
            return Ok(Some(own));
        }
        match &how.baskets {
            Baskets::New(TreeOptions { compression: None, .. }) => {
                let setting = ntuple.field_bytes(field)?.compression;
                Ok(i32::try_from(setting).ok().and_then(Compression::from_root))
            }
            _ => Ok(None),
        }
    }
}
