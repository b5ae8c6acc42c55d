//! Adds entries and branches to an existing tree, written by any program.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use crate::codec::{BlockHeader, Compression, RandomAccess};
use crate::column::{Number, Prim};
use crate::container::Key;
use crate::error::{Error, Result};
use crate::file::{File, split_cycle};
use crate::schema::{Sequence, TypeName, is_custom};
use crate::tree::{Basket, BasketBytes, Branch, Leaf, Tree, element_kind};
use crate::write::basket::raw_entries::offsets_once_written;
use crate::write::clustering::Every;
use crate::write::file::state::Output;
use crate::write::model::branch::{BranchSpec, Item};
use crate::write::model::class::{Class, Type};
use crate::write::options::TreeOptions;
use crate::write::record::state::{Base, TreeState};
use crate::write::tree::TreeWriter;
use crate::write::writer::FileWriter;
use crate::write::writer::found_class::{FoundClasses, any, not_as_values};

impl FileWriter {
    /// Opens a tree of a file that is [updated](Self::update), to add entries to it. Everything else stays as it is;
    /// new clusters follow the existing ones. Branches whose entries can be inflated alone keep their blocks, unless
    /// [`TreeOptions::random_access`] or the file's says otherwise.
    ///
    /// # Errors
    ///
    /// [`NotFound`](crate::ErrorKind::NotFound); [`Unsupported`](crate::ErrorKind::Unsupported) naming a branch of a
    /// kind that cannot be written, and for trees whose branches have different numbers of entries.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::column::Number;
    /// use sapwood::write::{BranchSpec, FileWriter, TreeOptions, Values, WriteOptions};
    /// # let path = std::env::temp_dir().join("sapwood-append.root");
    /// let mut file = FileWriter::recreate(&path, WriteOptions::default())?;
    /// let mut tree = file.tree("t", vec![BranchSpec::number("x", Number::I32)], TreeOptions::default())?;
    /// tree.extend(&[("x", Values::from(&[7]))])?;
    /// tree.close()?;
    /// file.close()?;
    /// let mut file = FileWriter::update(&path, WriteOptions::default())?;
    /// let mut tree = file.append("t", TreeOptions::default())?;
    /// tree.extend(&[("x", Values::from(&[8]))])?;
    /// tree.close()?;
    /// file.close()?;
    /// assert_eq!(sapwood::File::open(&path)?.tree("t")?.entries, 2);
    /// # std::fs::remove_file(path).ok();
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn append(&mut self, path: &str, options: TreeOptions) -> Result<TreeWriter> {
        let (file, key, tree) = self.tree_before(path)?;
        let (specs, options) = specs(&tree, options).map_err(|error| file.name(error).in_object(path))?;
        let baskets = baskets(&tree).map_err(|error| file.name(error).in_object(path))?;
        // Continue with clusters of the last size.
        let auto_flush = if tree.auto_flush > 0 { Every::Entries(tree.auto_flush as u64) } else { options.auto_flush };
        let options = TreeOptions { auto_flush, ..options };
        let keeps_blocks = options.random_access.is_none() && self.output.options.random_access == RandomAccess::Off;
        self.reopen(path, &file, key, &tree, specs, Some(baskets), options, keeps_blocks)
    }

    /// Opens a tree of a file that is [updated](Self::update), to add branches to it. They become part of the tree once
    /// they have as many entries as it has.
    ///
    /// # Errors
    ///
    /// [`NotFound`](crate::ErrorKind::NotFound); [`Exists`](crate::ErrorKind::Exists) if a branch has the name already.
    pub fn add_branches(&mut self, path: &str, branches: Vec<BranchSpec>, options: TreeOptions) -> Result<TreeWriter> {
        let (file, key, tree) = self.tree_before(path)?;
        if let Some(twice) = branches.iter().find(|spec| {
            tree.top().iter().any(|&id| tree.branches().get(id).is_some_and(|branch| branch.name == spec.name))
        }) {
            let words = format!("the tree has a branch {:?} already", twice.name);
            return Err(file.name(Error::new(crate::ErrorKind::Exists, words).in_object(path)));
        }
        branches.iter().try_for_each(BranchSpec::check_new).map_err(|error| file.name(error).in_object(path))?;
        let branches = Output::with_processes(&*self.output.open_state()?, branches);
        let writer = self.reopen(path, &file, key, &tree, branches, None, options, false)?;
        self.output.list_process(&mut *self.output.open_state()?, writer.branches())?;
        Ok(writer)
    }

    /// Continues a tree that this writer began and whose [`TreeWriter`] was closed. New clusters follow the existing
    /// ones; the branches named in `compression` use another setting from now on. Of the options, only the sizes of
    /// clusters and baskets are used.
    ///
    /// # Errors
    ///
    /// [`NotFound`](crate::ErrorKind::NotFound) for a missing tree or branch; [`Mismatch`](crate::ErrorKind::Mismatch)
    /// for a tree that is still open, or that this writer did not begin.
    ///
    /// # Example
    ///
    /// ```
    /// use sapwood::column::Number;
    /// use sapwood::write::{BranchSpec, FileWriter, TreeOptions, Values, WriteOptions};
    /// # let path = std::env::temp_dir().join("sapwood-resume.root");
    /// let mut file = FileWriter::recreate(&path, WriteOptions::default())?;
    /// let mut tree = file.tree("t", vec![BranchSpec::number("x", Number::U8)], TreeOptions::default())?;
    /// tree.extend(&[("x", Values::from(&[1_u8, 2]))])?;
    /// tree.close()?;
    /// let mut tree = file.resume("t", &[("x".into(), "zstd:5".parse()?)], TreeOptions::default())?;
    /// tree.extend(&[("x", Values::from(&[3_u8]))])?;
    /// tree.close()?;
    /// file.close()?;
    /// assert_eq!(sapwood::File::open(&path)?.tree("t")?.entries, 3);
    /// # std::fs::remove_file(path).ok();
    /// # Ok::<(), sapwood::Error>(())
    /// ```
    pub fn resume(
        &mut self,
        path: &str,
        compression: &[(Arc<str>, Compression)],
        options: TreeOptions,
    ) -> Result<TreeWriter> {
        let mut state = self.output.open_state()?;
        if state.trees.iter().any(|tree| tree.key.is_none() && tree.changed) {
            // Only saved trees have a key to find them by.
            self.output.save(&mut state)?;
        }
        let (_, keys) = self.output.find(&mut state, path.trim_matches('/'))?;
        let seek = keys.first().map(|key| key.seek_key);
        let is_meant = |tree: &TreeState| tree.key.is_some() && tree.key.as_ref().map(|key| key.seek_key) == seek;
        let refuse = |words: &'static str| Err(self.output.in_file(Error::mismatch(words).in_object(path)));
        let Some(index) = state.trees.iter().position(is_meant) else {
            return refuse("the tree was in the file before: it is opened with append");
        };
        let tree = &mut state.trees[index];
        if tree.is_open || tree.queue.is_some() {
            return refuse("the tree is being written");
        }
        if tree.base.is_some() {
            return refuse(
                "entries or branches were added to the tree since the file was opened: close the file first",
            );
        }
        for (name, setting) in compression {
            let Some(value) = tree.specs.iter().position(|spec| spec.name == *name) else {
                let missing = Error::not_found(format!("there is no branch {name:?}"));
                return Err(self.output.in_file(missing.in_object(path)));
            };
            let branches = tree.branches.iter_mut().filter(|branch| branch.value == value);
            branches.for_each(|branch| branch.compression = *setting);
        }
        if !compression.is_empty() {
            (tree.changed, tree.template) = (true, None);
        }
        tree.is_open = true;
        let auto_flush = tree.measured.map_or(tree.auto_flush, Every::Entries);
        let specs = tree.specs.to_vec();
        let options = TreeOptions { auto_flush, ..options };
        Ok(TreeWriter::new(Arc::clone(&self.output), index, &state.trees[index], specs, options))
    }

    /// A tree as it was when the file was opened.
    pub(crate) fn tree_before(&self, path: &str) -> Result<(File, Key, Arc<Tree>)> {
        let Some(file) = self.output.before.clone() else {
            return Err(self.output.in_file(Error::mismatch("only files that are updated have trees to add to")));
        };
        let mut state = self.output.open_state()?;
        let (folder, keys) = self.output.find(&mut state, path.trim_matches('/'))?;
        let key = keys.into_iter().next().ok_or_else(|| file.name(Error::not_found(format!("no key {path:?}"))))?;
        if state.folders[folder].newest(&key.name) != Some(&key) {
            let words = "cycles of a tree share baskets: only the newest can be added to";
            return Err(file.name(Error::mismatch(words).in_object(path)));
        }
        let was_there = file.key(&format!("{};{}", split_cycle(path).0, key.cycle)).is_ok_and(|known| known == key);
        if state.tree_of(&key).is_some() || !was_there {
            let words = "the tree was written since the file was opened: close the file first";
            return Err(file.name(Error::mismatch(words).in_object(path)));
        }
        let tree = file.tree_at(&key)?;
        Ok((file, key, tree))
    }

    #[expect(clippy::too_many_arguments, reason = "what the two ways to reopen a tree have in common")]
    fn reopen(
        &mut self,
        path: &str,
        file: &File,
        key: Key,
        tree: &Tree,
        specs: Vec<BranchSpec>,
        baskets: Option<Vec<usize>>,
        options: TreeOptions,
        keeps_blocks: bool,
    ) -> Result<TreeWriter> {
        let blocks = if keeps_blocks { blocks(file, tree) } else { Vec::new() };
        let mut state = self.output.open_state()?;
        let (folder, _) = self.output.find(&mut state, path.trim_matches('/'))?;
        let compression = options.compression.unwrap_or(self.output.compression);
        let mut reopened = TreeState::new(folder, Arc::clone(&key.name), &specs, compression, &options)?;
        if let Some(baskets) = &baskets {
            same_branches(&reopened, tree).map_err(|error| file.name(error).in_object(path))?;
            debug_assert_eq!(baskets.len(), reopened.branches.len());
            reopened.entries = tree.entries;
            same_offsets(&reopened, tree).map_err(|error| file.name(error).in_object(path))?;
        }
        for (branch, blocks) in reopened.branches.iter_mut().zip(blocks) {
            branch.random_access = branch.random_access.or(blocks);
        }
        let draft = file.draft_at(&key)?;
        reopened.title = Arc::clone(&key.title);
        if baskets.is_some() {
            // The file describes its classes.
            reopened.plans.clear();
        }
        let borders = baskets.is_none().then(|| tree.cluster_borders().into());
        reopened.base = Some(Base { draft, entries: tree.entries, baskets, borders });
        reopened.key = Some(key);
        reopened.changed = false;
        state.trees.push(reopened);
        let index = state.trees.len() - 1;
        Ok(TreeWriter::new(Arc::clone(&self.output), index, &state.trees[index], specs, options))
    }
}

/// How many baskets each branch has; all hold every entry, in records of their own.
fn baskets(tree: &Tree) -> Result<Vec<usize>> {
    let one = |branch: &Branch| {
        let wrong = |words: &'static str| Err(Error::unsupported(words).in_object(&branch.name));
        if !branch.has_data() {
            return Ok(0);
        }
        branch.refuse_holes().map_err(|error| error.in_object(&branch.name))?;
        let baskets = branch.baskets();
        let last = baskets.last().map_or(0, |basket| basket.entries.end);
        if branch.entry_range().start != 0 || last != tree.entries {
            return wrong("a branch that has another number of entries than its tree cannot be added to");
        }
        if baskets.iter().any(|basket| matches!(basket.bytes, BasketBytes::Embedded(_))) {
            return wrong("the tree's record holds baskets itself: `sapwood rewrite` gives them records of their own");
        }
        if branch.io_bits != 0 || !branch.file_name.is_empty() {
            return wrong("its baskets leave out offsets, or are in another file");
        }
        Ok(baskets.len())
    };
    tree.branches().iter().map(one).collect()
}

/// After how many entries the blocks of each branch end, as its first basket has it. What cannot be read is left to its
/// readers.
fn blocks(file: &File, tree: &Tree) -> Vec<Option<RandomAccess>> {
    /// Bytes of the header of a basket, and that of its first block.
    const HEAD_BYTES: u64 = 1024;
    let limits = &file.options().limits;
    let place = |branch: &Branch| match branch.baskets().first().map(|basket| &basket.bytes) {
        Some(&BasketBytes::Stored { seek, nbytes }) => seek..seek.saturating_add(nbytes.into()),
        _ => 0..0,
    };
    let places: Vec<_> = tree.branches().iter().map(place).collect();
    let heads: Vec<_> = places.iter().map(|place| place.start..place.end.min(place.start + HEAD_BYTES)).collect();
    let Ok(heads) = file.read_raw(&heads) else { return Vec::new() };
    let one = |(place, head): (&Range<u64>, Bytes)| {
        let basket = Basket::read_head(&head, place.end - place.start, limits).ok()?;
        let first = BlockHeader::read(head.get(usize::from(basket.key.keylen)..)?).ok()?;
        if !basket.key.is_compressed() || first.unsealed_bytes() >= basket.key.objlen as usize {
            return None;
        }
        let basket = Basket::read(file.read_one(place.clone()).ok()?, limits).ok()?;
        RandomAccess::entries(basket.chosen_block_entries().ok()??).ok()
    };
    places.iter().zip(heads).map(one).collect()
}

/// Whether the branches that would be written match the existing ones.
pub(crate) fn same_branches(state: &TreeState, tree: &Tree) -> Result<()> {
    let there = tree.branches();
    for (index, branch) in there.iter().enumerate() {
        let wrong = |words: String| Err(Error::unsupported(words).in_object(&branch.path));
        let Some(ours) = state.branches.get(index) else {
            return wrong("a branch like this cannot be written".to_owned());
        };
        let is_tobject = branch.element.as_ref().is_some_and(|element| element.kind == element_kind::BASE);
        if ours.name != branch.name && is_tobject && branch.name.ends_with("TObject") {
            return Err(not_as_values(
                "objects in objects whose class called IgnoreTObjectStreamer, where they are split,",
            )
            .in_object(&branch.path));
        }
        if ours.name != branch.name {
            return wrong(format!("a branch like this cannot be written: it would be {:?}", ours.name));
        }
        if let (Some(split), Some(element)) = (ours.layout.split(), &branch.element)
            && (split.kind != element.kind || split.id != element.id)
        {
            return wrong("a branch that is split like this cannot be written".to_owned());
        }
    }
    if there.len() == state.branches.len() {
        return Ok(());
    }
    let words = "the tree has fewer branches than objects of its classes would have today";
    Err(Error::unsupported(words).wanted(state.branches.len() as u64, there.len() as u64))
}

/// Whether new baskets would hold offsets of entries as the existing ones do: ROOT reads all or none of them.
fn same_offsets(state: &TreeState, tree: &Tree) -> Result<()> {
    for (ours, branch) in state.branches.iter().zip(tree.branches()).filter(|(ours, _)| ours.layout.has_data()) {
        if let (Some(ours), Some(theirs)) = (ours.has_offsets, offsets_once_written(tree, branch))
            && ours != theirs
        {
            let words = "its baskets hold offsets of entries against its type, or lack them: `sapwood rewrite` makes \
                         baskets that can be added to";
            return Err(Error::unsupported(words).in_object(&branch.path));
        }
    }
    Ok(())
}

/// The specifications of the top-level branches, with their compression unless the options have one, and the options,
/// where objects of collections stand as they do in the tree.
pub(crate) fn specs(tree: &Tree, options: TreeOptions) -> Result<(Vec<BranchSpec>, TreeOptions)> {
    let top = tree.top().iter().filter_map(|&id| tree.branches().get(id));
    let mut is_member_wise = None;
    let one = |branch: &Branch| {
        let spec = spec(tree, branch, &mut is_member_wise).map_err(|error| error.in_object(&branch.name))?;
        let own = Compression::from_root(branch.compress).filter(|_| options.compression.is_none());
        Ok(BranchSpec { compression: own, ..spec })
    };
    let specs = top.map(one).collect::<Result<_>>()?;
    Ok((specs, TreeOptions { member_wise: is_member_wise.unwrap_or(options.member_wise), ..options }))
}

fn spec(tree: &Tree, branch: &Branch, is_member_wise: &mut Option<bool>) -> Result<BranchSpec> {
    let name = || Arc::clone(&branch.name);
    if let Some(element) = &branch.element {
        let class = &element.class_name;
        if &**class == "string" && branch.children.is_empty() {
            // Entries are the bytes of a `TLeafC`: a length, and the text.
            return Ok(BranchSpec::text(name()));
        }
        if is_custom(class) {
            return Err(not_as_values(&format!("objects of class {class} in a branch of their own")));
        }
        if element.kind != 0 || element.id > -1 {
            return Err(Error::unsupported(format!("branches of {class} that are split like this cannot be written")));
        }
        let registry = tree.registry();
        if registry.versions(class).is_empty() {
            let (item, depth) = vector(class)?;
            return Ok(BranchSpec::vector(name(), item, depth));
        }
        let info = (&**class, Some(element.class_version), Some(element.checksum));
        let found = FoundClasses::new(tree, branch)?;
        *is_member_wise = any(*is_member_wise, found.is_member_wise);
        let class = found.class_of(info, 0)?;
        return Ok(BranchSpec::object(name(), class, branch.split_level.max(0) as u32));
    }
    let [leaf] = &branch.leaves[..] else { return leaf_list(branch) };
    if leaf.class.as_ref() == "TLeafC" {
        return Ok(BranchSpec::text(name()));
    }
    let (number, packing) = stored_as(leaf)?;
    let dimensions: Vec<u32> = leaf.dimensions().into_iter().map(|extent| extent as u32).collect();
    let counts = || {
        tree.branches().iter().flat_map(|other| &other.leaves).any(|other| {
            other.count.is_some_and(|(counter, _)| tree.branches().get(counter).is_some_and(|c| c.path == branch.path))
        })
    };
    let spec = match leaf.count {
        Some((counter, _)) => {
            let counter = tree.branches().get(counter).map(|counter| Arc::clone(&counter.name));
            let counter = counter.ok_or_else(|| Error::internal("a leaf is counted by a branch that is not there"))?;
            BranchSpec::jagged(name(), number, counter)
        }
        None if counts() => BranchSpec::counter_of(name(), number),
        None => BranchSpec::number(name(), number),
    };
    Ok(BranchSpec { packing, ..spec.with_dimensions(dimensions) })
}

/// The type of a leaf's numbers, and the range that they are packed with.
fn stored_as(leaf: &Leaf) -> Result<(Number, Option<Arc<str>>)> {
    let number = match &*leaf.class {
        "TLeafD32" => Number::F64,
        "TLeafF16" => Number::F32,
        class => {
            let wrong = || Error::unsupported(format!("branches with leaves of class {class} cannot be written"));
            return Ok((leaf.number().ok_or_else(wrong)?, None));
        }
    };
    // The title has its type where it has a range.
    let range = leaf.title.split_once(['/']).and_then(|(_, kind)| kind.get(1..)).unwrap_or_default();
    Ok((number, Some(range.into())))
}

/// A branch with several leaves.
fn leaf_list(branch: &Branch) -> Result<BranchSpec> {
    let mut class = Class::new(Arc::clone(&branch.name));
    for leaf in &branch.leaves {
        let (number, packing) = stored_as(leaf)?;
        if packing.is_some() || leaf.count.is_some() {
            return Err(Error::unsupported("lists of leaves that are packed or counted cannot be written"));
        }
        let extents: Vec<u32> = leaf.dimensions().into_iter().map(|extent| extent as u32).collect();
        let kind = if extents.is_empty() { Type::Number(number) } else { Type::Array(number, extents) };
        class = class.member(Arc::clone(&leaf.name), kind);
    }
    Ok(BranchSpec::leaves(Arc::clone(&branch.name), Arc::new(class)))
}

/// The items of a vector, and how deep it is.
fn vector(class: &str) -> Result<(Item, u32)> {
    let wrong = || Error::unsupported(format!("branches of {class} cannot be written"));
    let mut name = TypeName::parse(class).map_err(|_| wrong())?;
    let mut depth = 0;
    while let TypeName::Sequence(Sequence::Vector, item) = name {
        name = *item;
        depth += 1;
    }
    match name {
        TypeName::Number(Prim::Plain(number)) if depth > 0 => Ok((Item::Number(number), depth)),
        TypeName::StdString if depth > 0 => Ok((Item::Text, depth)),
        _ => Err(wrong()),
    }
}
