//! Branches and leaves, as their records describe them.
//!
//! Format page: `docs/format/tree.md`. Source: `TBranch`, `TBranchElement`, `TLeaf`.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use super::basket_lists::{BasketLists, Listed};
use super::record_view::{Member, Row, View};
use crate::column::Number;
use crate::error::{Error, Result};
use crate::io::offset_in;
use crate::object::Object;

/// Number of a branch in its [`Tree`](super::Tree), depth first.
pub type BranchId = usize;

/// `TBranch` or one of its subclasses.
///
/// # Example
///
/// ```
/// # let path = sapwood_testkit::example("nano.root");
/// let tree = sapwood::File::open(path)?.tree("Events")?;
/// let pt = tree.branch("Jet_pt")?;
/// assert_eq!((pt.path.as_ref(), pt.entry_range(), pt.has_data()), ("Jet_pt", 0..10, true));
/// assert_eq!(pt.baskets()[0].entries, 0..10);
/// # Ok::<(), sapwood::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Branch {
    /// Its number.
    pub id: BranchId,
    /// `fName`.
    pub name: Arc<str>,
    /// `fTitle`.
    pub title: Arc<str>,
    /// Names from the top-level branch on, joined by `/`.
    pub path: Arc<str>,
    /// Class of the record: `TBranch`, `TBranchElement` and so on.
    pub class: Arc<str>,
    /// The branch above.
    pub parent: Option<BranchId>,
    /// Sub-branches, in order.
    pub children: Vec<BranchId>,
    /// Leaves, in order.
    pub leaves: Vec<Leaf>,
    /// `fEntries`.
    pub entries: u64,
    /// `fFirstEntry`: the tree's entry that is this branch's first.
    pub first_entry: u64,
    /// `fEntryNumber`: one past the last entry.
    pub entry_number: u64,
    /// `fCompress`.
    pub compress: i32,
    /// `fBasketSize`, the writer's target bytes of a basket before compression.
    pub basket_bytes: u32,
    /// `fEntryOffsetLen`: 0 if all entries have one length.
    pub entry_offset_len: i32,
    /// `fIOFeatures`: what new baskets may leave out.
    pub io_bits: u8,
    /// `fSplitLevel`.
    pub split_level: i32,
    /// `fTotBytes`, before compression.
    pub tot_bytes: u64,
    /// `fZipBytes`, after it.
    pub zip_bytes: u64,
    /// `fFileName`: the file that holds the baskets, if it is another one.
    pub file_name: Arc<str>,
    /// Which of the files that its tree names that is: 0 for the tree's own.
    pub(super) file_number: usize,
    /// What `TBranchElement` adds.
    pub element: Option<ElementBranch>,
    /// Class of a `TBranchObject`.
    pub object_class: Option<Arc<str>>,
    /// The record, whose lists of baskets are read on first use.
    pub(super) record: Option<Object>,
    pub(super) basket_lists: Arc<BasketLists>,
    pub(super) baskets: OnceLock<Vec<BasketPlace>>,
}

/// What kinds of `TBranchElement` there are: values of `fType`. Source: `TBranchElement::Init`.
pub(crate) mod element_kind {
    /// An object, a member, or a base that is not split.
    pub(crate) const LEAF: i32 = 0;
    /// A base that is split.
    pub(crate) const BASE: i32 = 1;
    /// An object that is split.
    pub(crate) const OBJECT: i32 = 2;
    /// A split `TClonesArray`: its values are the counts.
    pub(crate) const CLONES: i32 = 3;
    /// A split STL collection: its values are the counts.
    pub(crate) const COLLECTION: i32 = 4;
    /// A member of the items of a split `TClonesArray`.
    pub(crate) const CLONES_MEMBER: i32 = 31;
    /// A member of the items of a split collection.
    pub(crate) const COLLECTION_MEMBER: i32 = 41;
}

/// What `TBranchElement` adds to a branch.
#[derive(Clone, Debug)]
pub struct ElementBranch {
    /// `fClassName`: the class that declares the member, or the class of the whole object.
    pub class_name: Arc<str>,
    /// `fParentName`.
    pub parent_name: Arc<str>,
    /// `fClonesName`: class of the items of a split collection.
    pub clones_name: Arc<str>,
    /// `fCheckSum`.
    pub checksum: u32,
    /// `fClassVersion`.
    pub class_version: i32,
    /// `fID`: which element; -1 for an unsplit object, -2 for a node.
    pub id: i32,
    /// `fType`: 0 for a value, 1 and 2 for a split base and object, 3 and 4 for a split `TClonesArray` and collection,
    /// 31 and 41 for members of their items.
    pub kind: i32,
    /// `fStreamerType`.
    pub streamer_type: i32,
    /// `fMaximum`.
    pub maximum: i32,
    /// `fBranchCount`.
    pub count_branch: Option<BranchId>,
}

impl ElementBranch {
    /// Whether the branch holds the counts of a collection whose items' members have branches of their own.
    pub(crate) fn counts_items(&self) -> bool {
        matches!(self.kind, element_kind::CLONES | element_kind::COLLECTION)
    }
}

/// `TLeaf` or one of its subclasses.
///
/// # Example
///
/// ```
/// # let path = sapwood_testkit::example("nano.root");
/// let tree = sapwood::File::open(path)?.tree("Events")?;
/// let leaf = &tree.branch("Jet_pt")?.leaves[0];
/// assert_eq!((leaf.number(), leaf.dimensions()), (Some(sapwood::column::Number::F32), vec![]));
/// # Ok::<(), sapwood::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Leaf {
    /// `fName`.
    pub name: Arc<str>,
    /// `fTitle`: dimensions, and the packing of `Float16_t` and `Double32_t`.
    pub title: Arc<str>,
    /// Class: `TLeafI`, `TLeafC`, `TLeafElement` and so on.
    pub class: Arc<str>,
    /// `fLen`: items of a fixed length, or for each count.
    pub len: i32,
    /// `fLenType`: bytes an item.
    pub len_type: i32,
    /// `fIsUnsigned`.
    pub is_unsigned: bool,
    /// `fIsRange`.
    pub is_range: bool,
    /// `fMaximum`, for leaves that count.
    pub maximum: i64,
    /// `fVirtual` of a `TLeafObject`: the class name precedes each object.
    pub is_virtual: bool,
    /// `fType` of a `TLeafElement`.
    pub type_code: i32,
    /// The leaf that counts: branch and index in it.
    pub count: Option<(BranchId, usize)>,
}

/// The location of a basket, and the entries that it holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BasketPlace {
    /// Its index in the branch's lists (`fBasketSeek` and so on): its number, if none before it is missing.
    pub slot: usize,
    /// The tree's entries.
    pub entries: Range<u64>,
    /// Where its bytes are.
    pub bytes: BasketBytes,
}

impl BasketPlace {
    /// Offset of its record, if it has one.
    pub(crate) fn stored_at(&self) -> Option<u64> {
        match self.bytes {
            BasketBytes::Stored { seek, .. } => Some(seek),
            BasketBytes::Embedded(_) => None,
        }
    }
}

/// Where the bytes of a basket are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BasketBytes {
    /// A record of the file.
    Stored {
        /// `fBasketSeek`. Where the branch names another file, the high 16 bits say which of those that its tree names.
        seek: u64,
        /// `fBasketBytes`; 0 if the writer left it out.
        nbytes: u32,
    },
    /// In the tree's own record, as this object.
    Embedded(u32),
}

impl Branch {
    /// Baskets in the order of their entries.
    pub fn baskets(&self) -> &[BasketPlace] {
        self.baskets.get_or_init(|| {
            let Some(record) = &self.record else { return Vec::new() };
            let row = record.table().get(record.id());
            let mut baskets = row.map_or_else(Vec::new, |row| {
                self.read_baskets(self.basket_lists.read(row.part, row.row), &View::new(record.table()))
            });
            for basket in baskets.iter_mut().filter(|_| self.file_number > 0) {
                if let BasketBytes::Stored { seek, .. } = &mut basket.bytes {
                    // What is too large for an offset is in no file.
                    *seek = offset_in(self.file_number, *seek).unwrap_or(u64::MAX);
                }
            }
            baskets
        })
    }

    /// The tree's entries that this branch has.
    pub fn entry_range(&self) -> Range<u64> {
        let baskets = self.baskets();
        match (baskets.first(), baskets.last()) {
            (Some(first), Some(last)) => first.entries.start..last.entries.end,
            _ => self.first_entry..self.first_entry,
        }
    }

    /// Refuses a list with missing baskets, for callers that number baskets by their position in it.
    ///
    /// # Errors
    ///
    /// [`Malformed`](crate::ErrorKind::Malformed), with the number of the first that is missing.
    pub(crate) fn refuse_holes(&self) -> Result<()> {
        match self.baskets().iter().enumerate().find(|(number, basket)| *number != basket.slot) {
            Some((number, _)) => {
                Err(Error::malformed("a basket is missing in the branch's list, before others")
                    .in_basket(number as u32))
            }
            None => Ok(()),
        }
    }

    /// Whether the branch holds values of its own.
    pub fn has_data(&self) -> bool {
        match &self.element {
            Some(element) => {
                use element_kind::{BASE, LEAF, OBJECT};
                element.counts_items() || self.children.is_empty() || !matches!(element.kind, LEAF | BASE | OBJECT)
            }
            None => self.children.is_empty() || !self.leaves.is_empty() && &*self.class != "TBranchObject",
        }
    }

    /// The branch's own object in the tree's record.
    pub(crate) fn record(&self) -> Option<&Object> {
        self.record.as_ref()
    }

    pub(super) fn read(row: Row<'_, '_>, lists: Arc<BasketLists>) -> Self {
        let (empty, name) = (Arc::default(), row.shared(Member::Name, &Arc::default()));
        let text = |member| row.shared(member, &empty);
        let whole = |member| row.int(member).max(0) as u64;
        let is_plain = &**row.class == "TBranchClones";
        let element = (row.has(Member::ClassName) && !is_plain).then(|| ElementBranch {
            class_name: text(Member::ClassName),
            parent_name: text(Member::ParentName),
            clones_name: text(Member::ClonesName),
            checksum: row.int(Member::CheckSum) as u32,
            class_version: row.int(Member::ClassVersion) as i32,
            id: row.int(Member::Id) as i32,
            kind: row.int(Member::Type) as i32,
            streamer_type: row.int(Member::StreamerType) as i32,
            maximum: row.int(Member::Maximum) as i32,
            count_branch: None,
        });
        let is_object = &**row.class == "TBranchObject";
        Self {
            title: row.shared(Member::Title, &name),
            name,
            class: Arc::clone(row.class),
            entries: whole(Member::Entries),
            first_entry: whole(Member::FirstEntry),
            entry_number: whole(Member::EntryNumber),
            compress: row.int(Member::Compress) as i32,
            basket_bytes: row.int(Member::BasketSize).max(0) as u32,
            entry_offset_len: row.int(Member::EntryOffsetLen) as i32,
            io_bits: row.int(Member::IoBits) as u8,
            split_level: row.int(Member::SplitLevel) as i32,
            tot_bytes: row.float(Member::TotBytes).max(0.0) as u64,
            zip_bytes: row.float(Member::ZipBytes).max(0.0) as u64,
            file_name: text(Member::FileName),
            object_class: is_object.then(|| text(Member::ClassName)),
            element: if is_object { None } else { element },
            // Known to the tree, or later.
            id: 0,
            path: Arc::clone(&empty),
            parent: None,
            children: Vec::new(),
            leaves: Vec::new(),
            file_number: 0,
            record: None,
            basket_lists: lists,
            baskets: OnceLock::new(),
        }
    }

    /// The list of baskets: those of the file, and those in the tree's own record.
    fn read_baskets(&self, listed: Listed<'_>, view: &View<'_>) -> Vec<BasketPlace> {
        let Listed { written, bytes, seeks, firsts, slots } = listed;
        let written = written.max(0) as usize;
        let most = written.saturating_add(1).min(seeks.len().max(slots.len()));
        let mut places: Vec<BasketPlace> = Vec::with_capacity(most);
        for index in 0..most {
            // Where a list is too short, zeros make a basket that cannot be read, or does not follow the one before it.
            let slot = slots.get(index).copied().unwrap_or(0);
            let embedded =
                view.get(slot).filter(|basket| &**basket.class == "TBasket" && basket.int(Member::NevBuf) > 0);
            let seek = seeks.get(index).copied().unwrap_or(0);
            let nbytes = bytes.get(index).copied().unwrap_or(0);
            let start = firsts.get(index).copied().unwrap_or(0).max(0) as u64;
            let (place, entries) = match embedded {
                // A copy of a basket that is also on storage: the record is the original.
                Some(_) if index < written && seek > 0 && nbytes > 0 => {
                    (BasketBytes::Stored { seek: seek as u64, nbytes: nbytes as u32 }, None)
                }
                Some(basket) => (BasketBytes::Embedded(slot), Some(basket.int(Member::NevBuf) as u64)),
                None if index < written && seek > 0 => {
                    (BasketBytes::Stored { seek: seek as u64, nbytes: nbytes.max(0) as u32 }, None)
                }
                None => continue,
            };
            let next = if index < written { firsts.get(index + 1).copied() } else { None };
            let end = match (next, entries) {
                (Some(next), _) if next > 0 && next as u64 > start => next as u64,
                // A basket without entries, before others.
                (Some(next), None) if index + 1 < written && next >= 0 && next as u64 == start => start,
                (_, Some(count)) => start + count,
                _ => self.entry_number.max(self.first_entry + self.entries),
            };
            places.push(BasketPlace { slot: index, entries: start..end.max(start), bytes: place });
        }
        places
    }
}

impl Leaf {
    /// The type of its items; none for strings, for packed numbers, and for unknown classes.
    pub fn number(&self) -> Option<Number> {
        let signed = |signed, unsigned| Some(if self.is_unsigned { unsigned } else { signed });
        match &*self.class {
            "TLeafO" => Some(Number::Bool),
            "TLeafB" => signed(Number::I8, Number::U8),
            "TLeafS" => signed(Number::I16, Number::U16),
            "TLeafI" => signed(Number::I32, Number::U32),
            "TLeafL" | "TLeafG" => signed(Number::I64, Number::U64),
            "TLeafF" => Some(Number::F32),
            "TLeafD" => Some(Number::F64),
            _ => None,
        }
    }

    /// A leaf of a branch: most have its name.
    pub(super) fn read(row: Row<'_, '_>, branch: &Branch) -> Self {
        let name = row.shared(Member::Name, &branch.name);
        Self {
            title: row.shared(Member::Title, &name),
            name,
            class: Arc::clone(row.class),
            len: row.int(Member::Len) as i32,
            len_type: row.int(Member::LenType) as i32,
            is_unsigned: row.int(Member::IsUnsigned) != 0,
            is_range: row.int(Member::IsRange) != 0,
            maximum: row.int(Member::Maximum),
            is_virtual: row.int(Member::Virtual) != 0,
            type_code: row.int(Member::Type) as i32,
            count: None,
        }
    }

    /// The dimensions in its title: fixed ones; the one that counts is left out.
    pub fn dimensions(&self) -> Vec<usize> {
        let mut rest = &*self.title;
        let mut dimensions = Vec::new();
        while let Some(open) = rest.find('[') {
            let Some(length) = rest[open..].find(']') else { break };
            if let Ok(extent) = rest[open + 1..open + length].trim().parse() {
                dimensions.push(extent);
            }
            rest = &rest[open + length + 1..];
        }
        dimensions
    }
}
