//! Where a branch's record has its lists of baskets: looked up once for all branches of a class.
//!
//! Source: `TBranch`.

use crate::column::{BufferId, Kind, Number, Part};
use crate::object::{find, list_bounds};

/// The members that list baskets, of a class in one record.
#[derive(Clone, Debug, Default)]
pub(super) struct BasketLists {
    written: Option<(BufferId, Number)>,
    bytes: Option<Numbers>,
    seeks: Option<Numbers>,
    firsts: Option<Numbers>,
    /// Ends, and numbers of objects.
    slots: Option<(BufferId, BufferId)>,
}

/// A list of whole numbers: its ends, its values and their type.
#[derive(Clone, Copy, Debug)]
struct Numbers(BufferId, BufferId, Number);

/// The lists of one branch. What its class does not have is empty.
pub(super) struct Listed<'a> {
    /// `fWriteBasket`.
    pub(super) written: i64,
    /// `fBasketBytes`.
    pub(super) bytes: Vec<i64>,
    /// `fBasketSeek`.
    pub(super) seeks: Vec<i64>,
    /// `fBasketEntry`.
    pub(super) firsts: Vec<i64>,
    /// `fBaskets`: numbers of objects.
    pub(super) slots: &'a [u32],
}

impl BasketLists {
    /// Those of objects of this type.
    pub(super) fn of(kind: &Kind) -> Self {
        let numbers = |name| match find(kind, name)? {
            Kind::List { offsets, item, .. } => match **item {
                Kind::Number { buffer, number } => Some(Numbers(*offsets, buffer, number)),
                _ => None,
            },
            _ => None,
        };
        let written = match find(kind, "fWriteBasket") {
            Some(Kind::Number { buffer, number }) => Some((*buffer, *number)),
            _ => None,
        };
        let slots = match find(kind, "fBaskets").and_then(|array| find(array, "items")) {
            Some(Kind::List { offsets, item, .. }) => match **item {
                Kind::Pointer { buffer, .. } => Some((*offsets, buffer)),
                _ => None,
            },
            _ => None,
        };
        let [bytes, seeks, firsts] = ["fBasketBytes", "fBasketSeek", "fBasketEntry"].map(numbers);
        Self { written, bytes, seeks, firsts, slots }
    }

    /// Those of a row of such objects.
    pub(super) fn read<'a>(&self, part: &'a Part, row: usize) -> Listed<'a> {
        let numbers = |place: Option<Numbers>| {
            place.map_or_else(Vec::new, |Numbers(ends, buffer, number)| {
                number.wholes(&part.some(buffer, number, list_bounds(part, ends, row))).collect()
            })
        };
        let written = self.written.and_then(|(buffer, number)| {
            let wide = number.bytes();
            Some(number.whole(part.bytes(buffer).get(row * wide..(row + 1) * wide)?))
        });
        let slots = self.slots.and_then(|(ends, buffer)| part.words(buffer).get(list_bounds(part, ends, row)));
        Listed {
            written: written.unwrap_or_default(),
            bytes: numbers(self.bytes),
            seeks: numbers(self.seeks),
            firsts: numbers(self.firsts),
            slots: slots.unwrap_or_default(),
        }
    }
}
