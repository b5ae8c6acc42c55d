//! Accesses members of decoded objects by name, for records that the engine itself needs.

use std::cell::{Cell, OnceCell, RefCell};
use std::sync::Arc;

use crate::column::{Kind, Number, Part};
use crate::error::{Error, Result};
use crate::object::{find, list_bounds};
use crate::schema::Objects;
use crate::wire::text;

/// Declares the members that are looked up.
macro_rules! members {
    ($($member:ident $name:literal)*) => {
        /// A member of the classes of trees, by the name that ROOT gives it.
        #[derive(Clone, Copy, Debug)]
        pub(super) enum Member {
            $(#[doc = $name] $member,)*
        }

        /// Their names.
        const NAMES: &[&str] = &[$($name),*];
    };
}

members! {
    Aliases "fAliases"
    AutoFlush "fAutoFlush"
    BasketBytes "fBasketBytes"
    BasketEntry "fBasketEntry"
    BasketSeek "fBasketSeek"
    BasketSize "fBasketSize"
    BranchCount "fBranchCount"
    Branches "fBranches"
    CheckSum "fCheckSum"
    ClassName "fClassName"
    ClassVersion "fClassVersion"
    ClonesName "fClonesName"
    ClusterRangeEnd "fClusterRangeEnd"
    ClusterSize "fClusterSize"
    Compress "fCompress"
    Entries "fEntries"
    EntryNumber "fEntryNumber"
    EntryOffsetLen "fEntryOffsetLen"
    Estimate "fEstimate"
    FileName "fFileName"
    FirstEntry "fFirstEntry"
    Friends "fFriends"
    Id "fID"
    IoBits "fIOFeatures.fIOBits"
    IsRange "fIsRange"
    IsUnsigned "fIsUnsigned"
    LeafCount "fLeafCount"
    Leaves "fLeaves"
    Len "fLen"
    LenType "fLenType"
    Maximum "fMaximum"
    Name "fName"
    NevBuf "fNevBuf"
    ParentName "fParentName"
    SplitLevel "fSplitLevel"
    StreamerType "fStreamerType"
    Title "fTitle"
    TotBytes "fTotBytes"
    TreeName "fTreeName"
    Type "fType"
    Virtual "fVirtual"
    Weight "fWeight"
    ZipBytes "fZipBytes"
}

/// Objects of a record. Names of members are looked up once for each class.
pub(super) struct View<'a> {
    objects: &'a Objects,
    /// Classes that were met: as many as a tree usually has. Members of further ones are looked up each time.
    classes: [OnceCell<Box<Class<'a>>>; 32],
    /// The class of the last object.
    last: Cell<usize>,
    /// The first member that is of another type than ROOT ever gave it.
    fault: RefCell<Option<Error>>,
}

/// The members of a class, as far as they were looked up.
struct Class<'a> {
    kind: &'a Kind,
    members: [OnceCell<Option<&'a Kind>>; NAMES.len()],
}

/// One object.
#[derive(Clone, Copy)]
pub(super) struct Row<'v, 'a> {
    view: &'v View<'a>,
    pub(super) class: &'a Arc<str>,
    members: Option<&'v Class<'a>>,
    part: &'a Part,
    pub(super) kind: &'a Kind,
    row: usize,
}

impl<'a> View<'a> {
    pub(super) fn new(objects: &'a Objects) -> Self {
        Self { objects, classes: [const { OnceCell::new() }; 32], last: Cell::default(), fault: RefCell::default() }
    }

    /// What was wrong with the members that were looked at.
    ///
    /// # Errors
    ///
    /// [`Malformed`](crate::ErrorKind::Malformed) if one is of another type than in any version of its class: it
    /// counted as absent. Members that are absent are none: classes had fewer once.
    pub(super) fn check(&self) -> Result<()> {
        self.fault.borrow().clone().map_or(Ok(()), Err)
    }

    /// Why an object could not be decoded.
    pub(super) fn failure(&self, id: u32) -> Option<Error> {
        self.objects.failure(id).cloned()
    }

    #[inline]
    pub(super) fn get(&self, id: u32) -> Option<Row<'_, 'a>> {
        let row = self.objects.get(id)?;
        let members = self.class(row.kind);
        Some(Row { view: self, class: row.class, members, part: row.part, kind: row.kind, row: row.row })
    }

    /// The class that has this type.
    fn class(&self, kind: &'a Kind) -> Option<&Class<'a>> {
        let is_it = |class: &Class<'_>| std::ptr::eq(class.kind, kind);
        // Most often it is that of the object before.
        let last = self.classes.get(self.last.get()).and_then(OnceCell::get);
        if let Some(class) = last.filter(|class| is_it(class)) {
            return Some(class);
        }
        self.classes.iter().enumerate().find_map(|(index, place)| {
            let class =
                place.get_or_init(|| Box::new(Class { kind, members: [const { OnceCell::new() }; NAMES.len()] }));
            self.last.set(index);
            is_it(class).then_some(&**class)
        })
    }
}

impl<'v, 'a> Row<'v, 'a> {
    fn kind(&self, member: Member) -> Option<&'a Kind> {
        match self.members.and_then(|class| class.members.get(member as usize)) {
            Some(place) => *place.get_or_init(|| look_up(self.kind, member)),
            None => look_up(self.kind, member),
        }
    }

    /// What stands for a member that is absent; one of another type is noted as a fault.
    fn absent<T: Default>(&self, member: Member, found: Option<&Kind>) -> T {
        if let Some(kind) = found {
            let name = NAMES.get(member as usize).copied().unwrap_or_default();
            let words = format!("member {name} of a {} is of type {kind}, which it never was", self.class);
            self.view.fault.borrow_mut().get_or_insert_with(|| Error::malformed(words));
        }
        T::default()
    }

    pub(super) fn has(&self, member: Member) -> bool {
        self.kind(member).is_some()
    }

    /// An integer; 0 if there is no such member.
    pub(super) fn int(&self, member: Member) -> i64 {
        match self.kind(member) {
            Some(Kind::Number { buffer, number }) => {
                let wide = number.bytes();
                let bytes = self.part.bytes(*buffer).get(self.row * wide..(self.row + 1) * wide);
                // An object that broke off has none: its failure is known.
                bytes.map(|bytes| number.whole(bytes)).unwrap_or_default()
            }
            other => self.absent(member, other),
        }
    }

    pub(super) fn float(&self, member: Member) -> f64 {
        match self.kind(member) {
            Some(Kind::Number { buffer, number: Number::F64 }) => {
                let bytes = self.part.bytes(*buffer).get(8 * self.row..).and_then(|bytes| bytes.first_chunk());
                // As above.
                bytes.map(|bytes| f64::from_ne_bytes(*bytes)).unwrap_or_default()
            }
            _ => self.int(member) as f64,
        }
    }

    fn raw_text(&self, member: Member) -> &'a [u8] {
        match self.kind(member) {
            Some(Kind::Text { offsets, bytes }) => {
                self.part.bytes(*bytes).get(list_bounds(self.part, *offsets, self.row)).unwrap_or(&[])
            }
            other => {
                self.absent::<()>(member, other);
                &[]
            }
        }
    }

    pub(super) fn text(&self, member: Member) -> String {
        text(self.raw_text(member))
    }

    /// A string to be kept. Empty ones, which are many, and one that is `known` already take no memory.
    pub(super) fn shared(&self, member: Member, known: &Arc<str>) -> Arc<str> {
        match self.raw_text(member) {
            b"" => Arc::default(),
            bytes if bytes == known.as_bytes() => Arc::clone(known),
            bytes => match std::str::from_utf8(bytes) {
                Ok(text) => text.into(),
                Err(_) => text(bytes).into(),
            },
        }
    }

    /// A list of integers.
    pub(super) fn ints(&self, member: Member) -> Vec<i64> {
        match self.kind(member) {
            Some(list @ Kind::List { offsets, item, .. }) => match &**item {
                Kind::Number { buffer, number } => {
                    let bytes = self.part.some(*buffer, *number, list_bounds(self.part, *offsets, self.row));
                    number.wholes(&bytes).collect()
                }
                _ => self.absent(member, Some(list)),
            },
            other => self.absent(member, other),
        }
    }

    /// Notes as a fault which of these are no lists of integers, for members that are looked at later.
    pub(super) fn expect_lists(&self, members: &[Member]) {
        for &member in members {
            let found = self.kind(member);
            let is_list =
                |kind: &Kind| matches!(kind, Kind::List { item, .. } if matches!(**item, Kind::Number { .. }));
            if !found.is_some_and(is_list) {
                self.absent::<()>(member, found);
            }
        }
    }

    /// The number of the object behind a pointer, 0 for null.
    pub(super) fn pointer(&self, member: Member) -> u32 {
        match self.kind(member) {
            // Null where the object broke off.
            Some(Kind::Pointer { buffer, .. }) => self.part.words(*buffer).get(self.row).copied().unwrap_or_default(),
            other => self.absent(member, other),
        }
    }

    /// The objects of a collection that is a member by value.
    pub(super) fn objects(&self, member: Member) -> &'a [u32] {
        match self.kind(member) {
            Some(collection @ Kind::Record { .. }) => items(self.part, collection, self.row),
            other => self.absent(member, other),
        }
    }

    /// The objects of a collection that this object is.
    pub(super) fn items(&self) -> &'a [u32] {
        items(self.part, self.kind, self.row)
    }
}

fn look_up(kind: &Kind, member: Member) -> Option<&Kind> {
    let name = NAMES.get(member as usize)?;
    find(kind, name).or_else(|| {
        // A member of a member by value.
        let (outer, inner) = name.split_once('.')?;
        find(kind, outer).and_then(|kind| find(kind, inner))
    })
}

fn items<'a>(part: &'a Part, collection: &'a Kind, row: usize) -> &'a [u32] {
    match find(collection, "items") {
        Some(Kind::List { offsets, item, .. }) => match &**item {
            Kind::Pointer { buffer, .. } => part.words(*buffer).get(list_bounds(part, *offsets, row)).unwrap_or(&[]),
            _ => &[],
        },
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    #[test]
    fn a_member_of_another_type_is_an_error_and_an_absent_one_is_none() -> Result<()> {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/plain.root");
        let tree = crate::File::open(path)?.tree("t")?;
        type Look = fn(&Row<'_, '_>);
        let absent: [Look; 3] = [
            |row| {
                assert_eq!(
                    (row.int(Member::IsRange), row.float(Member::IsRange), row.pointer(Member::IsRange)),
                    (0, 0.0, 0)
                )
            },
            |row| assert!(row.ints(Member::IsRange).is_empty() && row.objects(Member::IsRange).is_empty()),
            |row| row.expect_lists(&[Member::IsRange]),
        ];
        let wrong: [Look; 6] = [
            |row| assert_eq!(row.int(Member::Name), 0),
            |row| assert_eq!(row.text(Member::Entries), ""),
            |row| assert!(row.ints(Member::Entries).is_empty()),
            |row| assert_eq!(row.pointer(Member::Entries), 0),
            |row| assert!(row.objects(Member::Entries).is_empty()),
            |row| row.expect_lists(&[Member::Entries]),
        ];
        let check = |look: Look| {
            let view = View::new(tree.object.table());
            look(&view.get(tree.object.id()).expect("the tree"));
            view.check()
        };
        for look in absent {
            check(look)?;
        }
        for look in wrong {
            let error = check(look).expect_err("a fault");
            assert_eq!(error.kind(), ErrorKind::Malformed, "{error}");
        }
        Ok(())
    }
}
