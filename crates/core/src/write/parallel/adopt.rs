//! Clusters that were sealed elsewhere, perhaps in another process: they are added to a tree unchanged.
//!
//! Source: `ROOT::TBufferMerger`, whose threads hand files in memory to one that merges them.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use crate::container::Key;
use crate::error::{Error, Result};
use crate::tree::{Basket, BasketBytes, Branch, Tree};
use crate::write::basket::{LARGE_BYTES, SealedBasket};
use crate::write::commit::queue::{Origin, SealedCluster};
use crate::write::file::process_id::is_process_id;
use crate::write::model::layout::BranchLayout;
use crate::write::record::edit;
use crate::write::record::state::{BranchState, TreeState};
use crate::write::writer::update::check_closed;

/// The clusters of a finished tree, in order.
#[derive(Debug)]
pub(crate) struct Finished<'t> {
    tree: &'t Tree,
    /// In the order of their first entries.
    baskets: Vec<Stored>,
    next: usize,
    most: Vec<u64>,
    /// Whether the system may copy them: they are in a local file, and are written without waiting for other units.
    may_stay: bool,
    /// The ProcessID at which its references begin.
    pub(crate) process_ids: u16,
}

/// A basket of the finished tree.
#[derive(Debug)]
struct Stored {
    branch: u32,
    path: Arc<str>,
    entries: Range<u64>,
    room: Range<u64>,
}

impl<'t> Finished<'t> {
    /// # Errors
    ///
    /// See [`ParallelWriter::adopt`].
    pub(crate) fn new(tree: &'t Tree, ours: &TreeState, may_stay: bool) -> Result<Self> {
        let wrong = |name: &str, words: String| tree.file().name(Error::mismatch(words).in_object(name));
        if tree.name != ours.name {
            // Baskets name their tree: recovery would not find them.
            return Err(wrong(&tree.name, format!("a finished tree of another name cannot join {}", ours.name)));
        }
        let theirs = tree.branches();
        if let Some(extra) = theirs.get(ours.branches.len()) {
            return Err(wrong(&extra.path, "the tree that is filled has no such branch".to_owned()));
        }
        let (mut baskets, mut most) = (Vec::new(), Vec::new());
        for (index, branch) in ours.branches.iter().enumerate() {
            let Some(found) = theirs.get(index) else {
                return Err(wrong(&branch.name, "the finished tree has no such branch".to_owned()));
            };
            check_same(branch, found).map_err(|words| wrong(&branch.name, words))?;
            most.push(edit::most(found, branch.counts));
            if branch.layout.has_data() {
                add_baskets(tree, index as u32, found, &mut baskets)
                    .map_err(|error| tree.file().name(error.in_object(&found.path)))?;
            }
        }
        baskets.sort_by_key(|basket| (basket.entries.start, basket.branch));
        let may_stay = may_stay && tree.file().store().as_file().is_some();
        Ok(Self { tree, baskets, next: 0, most, may_stay, process_ids: 0 })
    }

    /// The next cluster: the fewest baskets after which all branches continue with the same entry.
    pub(crate) fn next(&mut self) -> Result<Option<SealedCluster>> {
        let rest = &self.baskets[self.next..];
        let Some(first) = rest.first().map(|basket| basket.entries.start) else { return Ok(None) };
        let mut end = first;
        let belongs = |basket: &&Stored| {
            let belongs = basket.entries.start < end || basket.entries.start == first;
            end = end.max(if belongs { basket.entries.end } else { 0 });
            belongs
        };
        let mut cluster: Vec<&Stored> = rest.iter().take_while(belongs).collect();
        self.next += cluster.len();
        cluster.sort_by_key(|basket| (basket.branch, basket.entries.start));
        let rooms: Vec<_> = cluster.iter().map(|basket| basket.room.clone()).collect();
        let bytes = rooms.iter().map(|room| room.end - room.start).sum();
        let file = self.tree.file();
        let is_worth_it = bytes / rooms.len().max(1) as u64 >= u64::from(LARGE_BYTES);
        let stay = self.may_stay && is_worth_it && bytes <= MOST_BYTES;
        let mut here = Vec::new();
        if stay {
            let keys: Vec<_> = rooms.iter().map(|room| room.start..room.end.min(room.start + KEY_BYTES)).collect();
            here = file.read_raw(&keys)?;
        }
        let stay = stay && here.iter().all(|head| Key::read(head).is_ok_and(|key| u64::from(key.keylen) <= KEY_BYTES));
        if !stay {
            here = file.read_raw(&rooms)?;
        }
        let mut baskets = Vec::with_capacity(cluster.len());
        for (basket, record) in cluster.iter().zip(here) {
            let sealed = self.own(basket, &record).and_then(|mut sealed| {
                Key::shift_pid_offset(&mut sealed.record, self.process_ids)?;
                Ok(sealed)
            });
            let place = |error: Error| error.at(basket.room.start).in_object(&basket.path);
            baskets.push(sealed.map_err(|error| file.name(place(error)))?);
        }
        let of = cluster.iter().map(|basket| (basket.branch, basket.entries.start - first)).collect();
        let origin = if stay { Origin::Stored(file.clone(), rooms) } else { Origin::Other };
        let rows = end - first;
        let measured = u64::try_from(self.tree.auto_flush).ok().filter(|&entries| entries == rows);
        Ok(Some(SealedCluster { baskets, of, most: self.most.clone(), rows, measured, bytes, origin }))
    }
}

/// The longest cluster that the system copies: its space is a single gap meanwhile.
const MOST_BYTES: u64 = 1 << 30;
/// Room for the key of a basket, unless its names are very long.
const KEY_BYTES: u64 = 256;

impl Finished<'_> {
    /// A record, or the beginning of one, as long as its branch says, with as many entries.
    fn own(&self, stored: &Stored, here: &Bytes) -> Result<SealedBasket> {
        let bytes = stored.room.end - stored.room.start;
        let key = Key::read(here)?;
        if &*key.class != "TBasket" || bytes != u64::from(key.nbytes) {
            let error = Error::malformed("a basket is not as long as its branch says");
            return Err(error.wanted(bytes, u64::from(key.nbytes)));
        }
        let basket = Basket::read_head(here, bytes, &self.tree.file().options().limits)?;
        let (held, wanted) = (basket.entries, &stored.entries);
        if u64::from(held) != wanted.end - wanted.start {
            let error = Error::malformed("a basket has not as many entries as its branch says");
            return Err(error.wanted(wanted.end - wanted.start, u64::from(held)));
        }
        let unsealed_bytes = u64::from(key.keylen) + u64::from(key.objlen);
        let elsewhere = bytes.saturating_sub(here.len() as u64) as u32;
        Ok(SealedBasket { record: here.to_vec(), in_rows: None, elsewhere, unsealed_bytes })
    }
}

impl SealedCluster {
    /// Loads what is only in its source file, whose owner may overwrite it.
    pub(crate) fn fetch(&mut self) -> Result<()> {
        let Origin::Stored(file, rooms) = &self.origin else { return Ok(()) };
        for (basket, record) in self.baskets.iter_mut().zip(file.read_raw(rooms)?) {
            let rest = record.get(basket.record.len()..);
            let rest = rest.ok_or_else(|| Error::internal("a basket is shorter than what was read of it"))?;
            basket.record.extend_from_slice(rest);
            basket.elsewhere = 0;
        }
        self.origin = Origin::Other;
        Ok(())
    }
}

/// The baskets of a branch, which have all entries of the tree.
fn add_baskets(tree: &Tree, index: u32, branch: &Branch, baskets: &mut Vec<Stored>) -> Result<()> {
    let mut entries = 0;
    for basket in branch.baskets() {
        match basket.bytes {
            BasketBytes::Stored { seek, nbytes } if nbytes > 0 && basket.entries.start == entries => {
                let room = seek..seek.saturating_add(u64::from(nbytes));
                let (path, held) = (Arc::clone(&branch.path), basket.entries.clone());
                baskets.push(Stored { branch: index, path, entries: held, room });
                entries = basket.entries.end;
            }
            _ => break,
        }
    }
    if entries != tree.entries || !branch.file_name.is_empty() {
        let words = "not all of its entries are in records of their own in this file";
        return Err(Error::unsupported(words).wanted(tree.entries, entries));
    }
    Ok(())
}

/// Describes how baskets of one branch differ from those of another, if they do.
fn check_same(ours: &BranchState, theirs: &Branch) -> Result<(), String> {
    if ours.name != theirs.name {
        return Err(format!("the finished tree has branch {} at this position", theirs.name));
    }
    if theirs.io_bits != 0 && theirs.leaves.iter().any(|leaf| leaf.count.is_some()) {
        return Err("its offsets are left out in the finished tree (fIOBits)".to_owned());
    }
    if is_same(ours, theirs) {
        return Ok(());
    }
    let wanted = match (&ours.layout, ours.layout.split()) {
        (BranchLayout::Plain(spec), _) => spec.class().unwrap_or_else(|| spec.title()),
        (_, Some(split)) => split.class.to_string(),
        _ => "another file's".to_owned(),
    };
    let found = theirs.element.as_ref().map_or(&theirs.title, |element| &element.class_name);
    let form = if *wanted == **found { ", of another version or split otherwise" } else { "" };
    Err(format!("its type is {wanted} here and {found}{form} in the finished tree"))
}

/// Whether baskets of one branch mean the same in another.
fn is_same(ours: &BranchState, theirs: &Branch) -> bool {
    let element = |class: &str, title: &str, kind: i32, code: i32, checksum: Option<u32>| {
        theirs.element.as_ref().is_some_and(|element| {
            &*element.class_name == class
                && &*theirs.title == title
                && (element.kind, element.streamer_type) == (kind, code)
                && checksum.is_none_or(|checksum| checksum == element.checksum)
        })
    };
    match (&ours.layout, ours.layout.split()) {
        (BranchLayout::Plain(spec), _) => match spec.class() {
            Some(class) => element(&class, &spec.title(), 0, -1, None),
            None => theirs.element.is_none() && *theirs.title == *spec.title(),
        },
        (_, Some(split)) => element(&split.class, &split.title, split.kind, split.code, Some(split.checksum)),
        _ => false,
    }
}

/// Refuses a tree whose file holds anything else, which would be lost.
///
/// # Errors
///
/// [`Mismatch`](crate::ErrorKind::Mismatch) naming what else is there; what reading its directories reports.
pub(crate) fn check_alone(tree: &Tree) -> Result<()> {
    /// The number of names in the error.
    const NAMES: usize = 5;
    let file = tree.file();
    check_closed(file)?;
    let is_tree = |key: &Key| key.is_tree() && *key.name == *tree.name;
    let is_own = |key: &Key| key.is_directory() || is_process_id(key);
    let keys = file.all_keys()?;
    // Older cycles of the tree are the tree.
    let trees: HashSet<&str> = keys.iter().filter(|found| is_tree(&found.key)).map(|found| &*found.path).collect();
    let others = keys.iter().filter(|found| !(is_own(&found.key) || trees.len() == 1 && is_tree(&found.key)));
    let others: Vec<&str> = others.map(|found| &*found.path).collect();
    if others.is_empty() {
        return Ok(());
    }
    let more = if others.len() > NAMES { ", ..." } else { "" };
    let named = others.iter().take(NAMES).copied().collect::<Vec<_>>().join(", ");
    let words = format!(
        "the file holds more than the tree, which would be lost: {named}{more}; adopt the tree only, or merge the files"
    );
    Err(file.name(Error::mismatch(words).in_object(&tree.name)))
}
