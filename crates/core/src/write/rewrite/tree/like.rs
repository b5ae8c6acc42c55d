//! Trees with the branches and classes of another, and entries of their own.
//!
//! Source: `TTree::CloneTree(0)`.

use std::sync::Arc;

use crate::error::Result;
use crate::file::File;
use crate::write::file::compatible::same_rules;
use crate::write::file::state::Output;
use crate::write::options::TreeOptions;
use crate::write::record::state::{Base, TreeState};
use crate::write::rewrite::tree::prune;
use crate::write::tree::TreeWriter;
use crate::write::writer::FileWriter;
use crate::write::writer::append::{same_branches, specs};

impl FileWriter {
    /// Begins a tree that has the branches of another one, of this or another file, written by any program: their
    /// names, types, classes, titles and, unless [`TreeOptions::compression`] is given, compression. It has no entries
    /// yet. What cannot be added to the other one ([`append`](Self::append)) cannot be written here.
    ///
    /// # Errors
    ///
    /// [`NotFound`](crate::ErrorKind::NotFound); [`Unsupported`](crate::ErrorKind::Unsupported) naming a branch of a
    /// kind that cannot be written; those of [`tree`](Self::tree).
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::write::{FileWriter, TreeOptions, Values, WriteOptions};
    /// # let path = sapwood_testkit::scratch("tree-like.root");
    /// let from = sapwood::File::open(sapwood_testkit::example("nano.root"))?;
    /// let mut file = FileWriter::recreate(&path, WriteOptions::default())?;
    /// let tree = file.tree_like("copy/Events", &from, "Events", TreeOptions::default())?;
    /// tree.close()?;
    /// file.close()?;
    /// let (new, old) = (sapwood::File::open(&path)?.tree("copy/Events")?, from.tree("Events")?);
    /// assert_eq!((new.entries, new.branches().len()), (0, old.branches().len()));
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn tree_like(&mut self, path: &str, from: &File, name: &str, options: TreeOptions) -> Result<TreeWriter> {
        let within = |error: crate::Error| from.name(error).in_object(name);
        let key = from.key(name)?;
        let tree = from.tree_at(&key)?;
        let (branches, options) = specs(&tree, options).map_err(within)?;
        let infos = from.infos()?.into_iter().map(Arc::new);
        let mut draft = from.draft_at(&key)?;
        let mut state = self.output.open_state()?;
        let (folder, name) = self.output.folder_of(&mut state, path)?;
        same_rules(from, &state).map_err(|error| error.in_object(path))?;
        let branches = Output::with_processes(&state, branches);
        let usual = options.compression.unwrap_or(self.output.compression);
        let mut made = TreeState::new(folder, name.into(), &branches, usual, &options)?;
        same_branches(&made, &tree).map_err(within)?;
        self.output.list_process(&mut state, &branches)?;
        prune::forget_entries(&mut draft);
        prune::forget_features(&mut draft);
        prune::forget_references(&mut draft);
        prune::forget_index(&mut draft);
        prune::set_compression(&mut draft, &made.branches);
        if draft.member("fName").is_some() {
            draft.set("fName", name);
        }
        made.title = if options.title.is_empty() { Arc::clone(&tree.title) } else { Arc::clone(&options.title) };
        draft.set("fTitle", Arc::clone(&made.title));
        draft.set("fAutoFlush", options.auto_flush.to_root());
        draft.set("fAutoSave", options.auto_save.to_root());
        // The other file describes the classes.
        state.describe(infos);
        made.plans.clear();
        made.base = Some(Base { draft, entries: 0, baskets: Some(vec![0; made.branches.len()]), borders: None });
        state.trees.push(made);
        let index = state.trees.len() - 1;
        if let Err(error) = self.output.save(&mut state) {
            state.trees[index].base = None;
            state.abandon(index);
            return Err(error);
        }
        Ok(TreeWriter::new(Arc::clone(&self.output), index, &state.trees[index], branches, options))
    }
}
