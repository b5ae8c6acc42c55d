//! Whether the baskets of one tree mean the same in another: branches by name, and what the bytes of each are.
//!
//! Source: `TTreeCloner::CollectBranches`.

use std::sync::Arc;

use crate::column::Number;
use crate::error::{Error, Result};
use crate::read::counters;
use crate::schema::Program;
use crate::tree::{Branch, BranchId, ElementBranch, Leaf, Tree};
use crate::write::model::branch::plain_leaf;
use crate::write::rewrite::stated_types;
use crate::write::rewrite::tree::widen::Widening;

/// The branches of a tree, as far as they are compared with those of other trees.
#[derive(Debug)]
pub(crate) struct TreeSchema {
    title: Arc<str>,
    branches: Vec<BranchSchema>,
    top: Vec<BranchId>,
}

/// Differences that are reported and are no errors.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    /// Paths of branches that the first tree lacks.
    pub(crate) left_out: Vec<Arc<str>>,
    /// Paths of branches whose numbers have a narrower type than in the first tree.
    pub(crate) widened: Vec<(Arc<str>, Widening)>,
    /// Branches that hold the numbers of both trees only with a wider type than the first tree has.
    pub(crate) wider: Vec<WiderBranch>,
}

/// A branch whose type is too narrow for the numbers of another tree.
#[derive(Clone, Debug)]
pub(crate) struct WiderBranch {
    /// Its number in the first tree.
    pub(crate) id: BranchId,
    pub(crate) path: Arc<str>,
    /// The type that holds the numbers of all that were compared.
    pub(crate) number: Number,
    /// The types that it holds: that of the first tree, and of those that were compared with it.
    types: Vec<Number>,
    /// How both differ.
    pub(crate) words: String,
}

impl WiderBranch {
    /// Has to hold the numbers of one more tree, too. Nothing changes if no type holds those of all: the tree that came
    /// last does not fit then.
    pub(crate) fn add(&mut self, other: &Self) {
        let mut types = self.types.clone();
        // The first of them is that of the first tree, or what was found to hold all before.
        types.extend(other.types.iter().skip(1));
        if let Some(number) = Widening::common(&types) {
            (self.number, self.types) = (number, types);
        }
    }

    /// The error for an output whose branches keep their types.
    pub(crate) fn error(&self) -> Error {
        let hint = "an output that exists keeps its types, merge into a new file for wider ones";
        differing(&format!("{}; {hint}", self.words), &self.path)
    }
}

/// Decides how the bytes of a branch become those of the first tree's branch.
enum Fit {
    Same,
    Widened(Widening),
    /// The first tree's type would have to be the first of these, which holds both others. The text compares these.
    Wider(Number, [Number; 2], String),
}

/// A branch that those of other trees are compared with.
#[derive(Debug)]
struct BranchSchema {
    name: Arc<str>,
    path: Arc<str>,
    class: Arc<str>,
    object_class: Option<Arc<str>>,
    io_bits: u8,
    children: Vec<BranchId>,
    leaves: Vec<(Leaf, Option<Arc<str>>)>,
    element: Option<ElementBranch>,
    /// Whether it counts the items of others.
    counts: bool,
    /// The program that decodes its entries, for objects whose class may change.
    program: Option<Arc<Program>>,
}

impl TreeSchema {
    /// The branches of a tree.
    pub(crate) fn new(tree: &Tree) -> Self {
        let counting = counters(tree);
        let known = |branch: &Branch| BranchSchema {
            name: Arc::clone(&branch.name),
            path: Arc::clone(&branch.path),
            class: Arc::clone(&branch.class),
            object_class: branch.object_class.clone(),
            io_bits: branch.io_bits,
            children: branch.children.clone(),
            leaves: branch.leaves.iter().map(|leaf| (leaf.clone(), counter(tree, leaf))).collect(),
            element: branch.element.clone(),
            counts: counting.iter().any(|(counter, _)| *counter == branch.id),
            program: branch.element.as_ref().and_then(|_| program(tree, branch)),
        };
        let branches = tree.branches().iter().map(known).collect();
        Self { title: Arc::clone(&tree.title), branches, top: tree.top().to_vec() }
    }

    /// Makes the branch have numbers of a wider type, if it has one number type and that path.
    pub(crate) fn retype(&mut self, id: BranchId, path: &str, number: Number) -> bool {
        let Some(known) = self.branches.get_mut(id).filter(|known| &*known.path == path) else { return false };
        let [(leaf, _)] = &mut *known.leaves else { return false };
        if leaf.number().is_none() {
            return false;
        }
        (leaf.class, leaf.is_unsigned) = (plain_leaf(number).0.into(), number.is_unsigned());
        leaf.len_type = number.bytes() as i32;
        true
    }

    /// For each known branch, the index of its counterpart in another tree, and whether that one's numbers have to be
    /// widened.
    ///
    /// # Errors
    ///
    /// [`Mismatch`](crate::ErrorKind::Mismatch) naming the branch that is missing, or whose bytes mean something else.
    pub(crate) fn match_branches(&self, tree: &Tree, notes: &mut Notes) -> Result<Vec<(BranchId, Option<Widening>)>> {
        if tree.entries > 0 {
            let ours = self.branches.iter().map(|branch| &*branch.path);
            let theirs = tree.branches().iter().map(|branch| &*branch.path);
            stated_types::check((&self.title, ours), (&tree.title, theirs))?;
        }
        let mut found = vec![(0, None); self.branches.len()];
        self.fit_list(&self.top, tree, tree.top(), notes, &mut found)?;
        Ok(found)
    }

    fn fit_list(
        &self,
        ours: &[BranchId],
        tree: &Tree,
        theirs: &[BranchId],
        notes: &mut Notes,
        found: &mut [(BranchId, Option<Widening>)],
    ) -> Result<()> {
        let mut is_used = vec![false; theirs.len()];
        let mut next = 0;
        for &id in ours {
            let Some(known) = self.branches.get(id) else { continue };
            // They are mostly in the same order.
            let places = (next..theirs.len()).chain(0..next);
            let named = |place: &usize| {
                !is_used[*place] && branch(tree, theirs, *place).is_some_and(|branch| branch.name == known.name)
            };
            let Some(place) = places.into_iter().find(named) else {
                return Err(Error::mismatch("a branch is missing that the first tree has").in_object(&known.path));
            };
            let Some(branch) = branch(tree, theirs, place) else { continue };
            is_used[place] = true;
            next = place + 1;
            let fit = known.compare(tree, branch).map_err(|words| differing(&words, &known.path))?;
            let widening = if let Fit::Widened(widening) = fit { Some(widening) } else { None };
            if let Some(found) = found.get_mut(id) {
                *found = (branch.id, widening);
            }
            if let Some(widening) = widening {
                notes.widened.push((Arc::clone(&known.path), widening));
            }
            if let Fit::Wider(number, types, words) = fit {
                let path = Arc::clone(&known.path);
                notes.wider.push(WiderBranch { id, path, number, types: types.to_vec(), words });
            }
            self.fit_list(&known.children, tree, &branch.children, notes, found)?;
        }
        let unused = is_used.iter().enumerate().filter(|(_, is_used)| !**is_used);
        let unused = unused.filter_map(|(place, _)| branch(tree, theirs, place));
        notes.left_out.extend(unused.map(|branch| Arc::clone(&branch.path)));
        Ok(())
    }
}

/// The error for a branch that means something else than that of the first tree.
fn differing(words: &str, path: &str) -> Error {
    Error::mismatch(format!("a branch is not like that of the first tree: {words}")).in_object(path)
}

fn branch<'t>(tree: &'t Tree, list: &[BranchId], place: usize) -> Option<&'t Branch> {
    list.get(place).and_then(|&id| tree.branches().get(id))
}

/// The path of the branch that counts for a leaf.
fn counter(tree: &Tree, leaf: &Leaf) -> Option<Arc<str>> {
    leaf.count.and_then(|(branch, _)| tree.branches().get(branch)).map(|branch| Arc::clone(&branch.path))
}

fn program(tree: &Tree, branch: &Branch) -> Option<Arc<Program>> {
    branch.has_data().then(|| tree.interpretation(branch.id).ok()).flatten().map(|found| Arc::clone(&found.program))
}

impl BranchSchema {
    /// Returns how the bytes of a branch become those of this one, or how it differs.
    fn compare(&self, tree: &Tree, other: &Branch) -> Result<Fit, String> {
        let differ = |what: &str, theirs: &str, ours: &str| Err(format!("{what} {theirs} here and {ours} there"));
        match (&self.element, &other.element) {
            (Some(ours), Some(theirs)) => return self.compare_elements(tree, other, ours, theirs).map(|()| Fit::Same),
            _ if self.class != other.class => return differ("its class is", &other.class, &self.class),
            _ => {}
        }
        if self.object_class != other.object_class {
            let name = |class: &Option<Arc<str>>| class.as_deref().unwrap_or("none").to_owned();
            return differ("its objects are of class", &name(&other.object_class), &name(&self.object_class));
        }
        if self.io_bits != other.io_bits && other.leaves.iter().any(|leaf| leaf.count.is_some()) {
            // ROOT would take the baskets of one for those of the other.
            let of = |bits| if bits == 0 { "stored" } else { "left out (fIOBits)" };
            return differ("its offsets are", of(other.io_bits), of(self.io_bits));
        }
        let is_list = other.leaves.len() > 1;
        if self.leaves.len() != other.leaves.len() {
            return differ("its leaves are", &other.leaves.len().to_string(), &self.leaves.len().to_string());
        }
        for ((ours, count), theirs) in self.leaves.iter().zip(&other.leaves) {
            if is_list && ours.name != theirs.name {
                return differ("the leaf at its position is", &theirs.name, &ours.name);
            }
            if spelled(ours, count.as_ref()) != spelled(theirs, counter(tree, theirs).as_ref()) {
                let is_like = ours.dimensions() == theirs.dimensions() && *count == counter(tree, theirs);
                let types = theirs.number().zip(ours.number()).filter(|_| is_like && !is_list);
                // Counts are never negative, nor above what a signed number of their width holds.
                let is_whole = |number| !matches!(number, Number::Bool | Number::F32 | Number::F64);
                let is_other_sign = types.is_some_and(|(from, to)| {
                    is_whole(from) && is_whole(to) && from.bytes() == to.bytes() && to.bytes() >= 4
                });
                let counts = || counters(tree).iter().any(|(counter, _)| *counter == other.id);
                if is_other_sign && self.counts && counts() {
                    continue;
                }
                if let Some(widening) = types.and_then(|(from, to)| Widening::new(from, to)) {
                    return Ok(Fit::Widened(Widening { counts: theirs.is_range, ..widening }));
                }
                let leaf =
                    if is_list { format!("the type of its leaf {} is", ours.name) } else { "its type is".to_owned() };
                let Some((from, to)) = types else {
                    let spelled_theirs = spelled(theirs, counter(tree, theirs).as_ref());
                    return Err(format!("{leaf} {spelled_theirs} here and {} there", spelled(ours, count.as_ref())));
                };
                let words = format!("{leaf} {from} here and {to} there");
                return match Widening::common(&[to, from]) {
                    Some(number) => Ok(Fit::Wider(number, [to, from], words)),
                    None => Err(format!("{words}, and no type of numbers holds the values of both")),
                };
            }
        }
        Ok(Fit::Same)
    }

    fn compare_elements(
        &self,
        tree: &Tree,
        other: &Branch,
        ours: &ElementBranch,
        theirs: &ElementBranch,
    ) -> Result<(), String> {
        let differ = |what: &str, theirs: &str, ours: &str| Err(format!("{what} {theirs} here and {ours} there"));
        if ours.class_name != theirs.class_name || ours.clones_name != theirs.clones_name {
            return differ("its class is", &theirs.class_name, &ours.class_name);
        }
        if self.children.is_empty() != other.children.is_empty() || ours.kind != theirs.kind {
            return Err("it is split in another way".to_owned());
        }
        if ours.streamer_type != theirs.streamer_type {
            let [theirs, ours] = [theirs, ours].map(|element| element.streamer_type.to_string());
            return differ("its streamer type is", &theirs, &ours);
        }
        let is_same_class = ours.checksum == theirs.checksum && ours.class_version == theirs.class_version;
        if is_same_class && ours.id == theirs.id {
            return Ok(());
        }
        // Other versions of the class do not matter if the same program decodes both.
        let is_same = match (&self.program, program(tree, other)) {
            (Some(ours), Some(theirs)) => ours.steps == theirs.steps && ours.kind == theirs.kind,
            (ours, theirs) => ours.is_none() && theirs.is_none() && !other.has_data(),
        };
        if is_same {
            return Ok(());
        }
        let [theirs_version, ours_version] = [theirs, ours].map(|element| element.class_version.to_string());
        differ(&format!("class {} has another layout, version", ours.class_name), &theirs_version, &ours_version)
    }
}

/// The type of a leaf, with all that its bytes depend on.
fn spelled(leaf: &Leaf, counter: Option<&Arc<str>>) -> String {
    let unsigned = if leaf.is_unsigned { "unsigned " } else { "" };
    // Type names that differ between platforms, with the same bytes.
    let class = if &*leaf.class == "TLeafG" { "TLeafL" } else { &*leaf.class };
    let mut words = format!("{unsigned}{class}");
    if let Some(counter) = counter {
        words += &format!("[{counter}]");
    }
    match &*leaf.class {
        // As long as its longest string.
        "TLeafC" => {}
        // The title says how the numbers are packed.
        "TLeafF16" | "TLeafD32" => words += &format!(" {}", leaf.title),
        _ => leaf.dimensions().iter().for_each(|extent| words += &format!("[{extent}]")),
    }
    words
}
