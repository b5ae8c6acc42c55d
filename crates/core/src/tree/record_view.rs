//! Accesses members of decoded objects by name, for records that the engine itself needs.

use std::cell::RefCell;
use std::ops::Range;

use crate::column::{BufferId, Kind, Number, Part};
use crate::error::{Error, Result};
use crate::object::{find, list_bounds};
use crate::schema::{NumberMap, Objects};
use crate::wire::text;

/// Class, address and length of a name.
type Place = (usize, usize, usize);

/// Objects of a record. Names of members are looked up once for each class.
pub(super) struct View<'a> {
    objects: &'a Objects,
    /// By class and by the address of the name in this program: names are literals here.
    members: RefCell<NumberMap<Place, Option<&'a Kind>>>,
    /// The first member that is of another type than ROOT ever gave it.
    fault: RefCell<Option<Error>>,
}

/// One object.
#[derive(Clone, Copy)]
pub(super) struct Row<'v, 'a> {
    view: &'v View<'a>,
    pub(super) class: &'a str,
    part: &'a Part,
    kind: &'a Kind,
    row: usize,
}

impl<'a> View<'a> {
    pub(super) fn new(objects: &'a Objects) -> Self {
        Self { objects, members: RefCell::default(), fault: RefCell::default() }
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

    pub(super) fn get(&self, id: u32) -> Option<Row<'_, 'a>> {
        let row = self.objects.get(id)?;
        Some(Row { view: self, class: row.class, part: row.part, kind: row.kind, row: row.row })
    }
}

impl<'v, 'a> Row<'v, 'a> {
    fn kind(&self, name: &'static str) -> Option<&'a Kind> {
        // Literals keep their address.
        let key = (std::ptr::from_ref(self.kind) as usize, name.as_ptr() as usize, name.len());
        if let Some(found) = self.view.members.borrow().get(&key) {
            return *found;
        }
        let found = find(self.kind, name).or_else(|| {
            // A member of a member by value.
            let (outer, inner) = name.split_once('.')?;
            find(self.kind, outer).and_then(|kind| find(kind, inner))
        });
        self.view.members.borrow_mut().insert(key, found);
        found
    }

    /// What stands for a member that is absent; one of another type is noted as a fault.
    fn absent<T: Default>(&self, name: &'static str, found: Option<&Kind>) -> T {
        if let Some(kind) = found {
            let words = format!("member {name} of a {} is of type {kind}, which it never was", self.class);
            self.view.fault.borrow_mut().get_or_insert_with(|| Error::malformed(words));
        }
        T::default()
    }

    fn numbers(&self, buffer: BufferId, number: Number, rows: Range<usize>) -> impl Iterator<Item = i64> + use<'a> {
        let wide = number.bytes();
        number.wholes(self.part.bytes(buffer).get(rows.start * wide..rows.end * wide).unwrap_or(&[]))
    }

    pub(super) fn has(&self, name: &'static str) -> bool {
        self.kind(name).is_some()
    }

    /// An integer; 0 if there is no such member.
    pub(super) fn int(&self, name: &'static str) -> i64 {
        match self.kind(name) {
            Some(Kind::Number { buffer, number }) => {
                let value = self.numbers(*buffer, *number, self.row..self.row + 1).next();
                // An object that broke off has none: its failure is known.
                value.unwrap_or_default()
            }
            other => self.absent(name, other),
        }
    }

    pub(super) fn float(&self, name: &'static str) -> f64 {
        match self.kind(name) {
            Some(Kind::Number { buffer, number: Number::F64 }) => {
                let bytes = self.part.bytes(*buffer).get(8 * self.row..).and_then(|bytes| bytes.first_chunk());
                // As above.
                bytes.map(|bytes| f64::from_ne_bytes(*bytes)).unwrap_or_default()
            }
            _ => self.int(name) as f64,
        }
    }

    pub(super) fn text(&self, name: &'static str) -> String {
        match self.kind(name) {
            Some(Kind::Text { offsets, bytes }) => {
                text(self.part.bytes(*bytes).get(list_bounds(self.part, *offsets, self.row)).unwrap_or(&[]))
            }
            other => self.absent(name, other),
        }
    }

    /// A list of integers.
    pub(super) fn ints(&self, name: &'static str) -> Vec<i64> {
        match self.kind(name) {
            Some(list @ Kind::List { offsets, item, .. }) => match &**item {
                Kind::Number { buffer, number } => {
                    self.numbers(*buffer, *number, list_bounds(self.part, *offsets, self.row)).collect()
                }
                _ => self.absent(name, Some(list)),
            },
            other => self.absent(name, other),
        }
    }

    /// Notes as a fault which of these are no lists of integers, for members that are looked at later.
    pub(super) fn expect_lists(&self, names: &[&'static str]) {
        for name in names {
            let found = self.kind(name);
            let is_list =
                |kind: &Kind| matches!(kind, Kind::List { item, .. } if matches!(**item, Kind::Number { .. }));
            if !found.is_some_and(is_list) {
                self.absent::<()>(name, found);
            }
        }
    }

    /// The number of the object behind a pointer, 0 for null.
    pub(super) fn pointer(&self, name: &'static str) -> u32 {
        match self.kind(name) {
            // Null where the object broke off.
            Some(Kind::Pointer { buffer, .. }) => self.part.words(*buffer).get(self.row).copied().unwrap_or_default(),
            other => self.absent(name, other),
        }
    }

    /// The objects of a collection that is a member by value.
    pub(super) fn objects(&self, name: &'static str) -> &'a [u32] {
        match self.kind(name) {
            Some(collection @ Kind::Record { .. }) => items(self.part, collection, self.row),
            other => self.absent(name, other),
        }
    }

    /// The objects of a collection that this object is.
    pub(super) fn items(&self) -> &'a [u32] {
        items(self.part, self.kind, self.row)
    }
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
            |row| assert_eq!((row.int("fNowhere"), row.float("fNowhere"), row.pointer("fNowhere")), (0, 0.0, 0)),
            |row| assert!(row.ints("fNowhere").is_empty() && row.objects("fNowhere").is_empty()),
            |row| row.expect_lists(&["fNowhere"]),
        ];
        let wrong: [Look; 6] = [
            |row| assert_eq!(row.int("fName"), 0),
            |row| assert_eq!(row.text("fEntries"), ""),
            |row| assert!(row.ints("fEntries").is_empty()),
            |row| assert_eq!(row.pointer("fEntries"), 0),
            |row| assert!(row.objects("fEntries").is_empty()),
            |row| row.expect_lists(&["fEntries"]),
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
