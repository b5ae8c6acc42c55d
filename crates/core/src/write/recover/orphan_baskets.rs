//! Baskets in a file that their tree's record does not list.

use std::collections::{HashMap, HashSet};

use crate::container::Key;
use crate::error::{Error, Result};
use crate::tree::{BasketPlace, Branch};

/// The number of a basket is the cycle of its key. It has 16 bits, so numbers repeat after this many.
const TURN: usize = 1 << 16;

/// Baskets that a tree's record does not list.
pub(crate) struct OrphanBaskets<'k> {
    /// By the name of their branch and the cycle of their key, in the order in which they were written.
    of: HashMap<(&'k str, u16), Vec<&'k Key>>,
    named: HashMap<&'k str, Named>,
}

/// The baskets of one branch name.
struct Named {
    branches: usize,
    baskets: usize,
    lowest: u16,
}

impl<'k> OrphanBaskets<'k> {
    /// The keys that none of these branches lists.
    pub(crate) fn of(branches: &[&'k Branch], keys: &'k [Key]) -> Self {
        let mut known: HashSet<u64> = HashSet::new();
        let mut orphans = Self { of: HashMap::new(), named: HashMap::new() };
        for branch in branches.iter().filter(|branch| branch.has_data()) {
            known.extend(branch.baskets().iter().filter_map(BasketPlace::stored_at));
            let named = Named { branches: 0, baskets: 0, lowest: u16::MAX };
            orphans.named.entry(&*branch.name).or_insert(named).branches += 1;
        }
        for key in keys.iter().filter(|key| !known.contains(&key.seek_key)) {
            if let Some(named) = orphans.named.get_mut(&*key.name) {
                named.baskets += 1;
                named.lowest = named.lowest.min(key.cycle);
                orphans.of.entry((&*key.name, key.cycle)).or_default().push(key);
            }
        }
        orphans
    }

    /// How many baskets these are.
    pub(crate) fn len(&self) -> usize {
        self.named.values().map(|named| named.baskets).sum()
    }

    /// Whether a basket has a number below `number`, although the record has all of those: it is a copy, or another
    /// tree's.
    pub(crate) fn is_below(&self, name: &str, number: usize) -> bool {
        number < TURN
            && self.named.get(name).is_some_and(|named| named.baskets > 0 && usize::from(named.lowest) < number)
    }

    /// The basket that comes `after` baskets later than `number`, the record's last one. Branches of one name wrote
    /// each number once, in their order; of the last number, only the first branches may have a basket.
    ///
    /// # Errors
    ///
    /// [`Malformed`](crate::ErrorKind::Malformed) if baskets share a number and no order tells them apart.
    pub(crate) fn get(&self, branch: &Branch, place: usize, number: usize, after: usize) -> Result<Option<&'k Key>> {
        let name = &*branch.name;
        let Some(named) = self.named.get(name) else { return Ok(None) };
        let of = |number: usize| self.of.get(&(name, number as u16)).map_or(&[][..], Vec::as_slice);
        let same = of(number + after);
        let left = same.get(after / TURN * named.branches..).unwrap_or_default();
        let is_repeated = same.len() > named.branches && named.baskets <= TURN * named.branches;
        let is_torn = !left.is_empty() && left.len() < named.branches;
        let words = match named.branches {
            1 => "several baskets have one number",
            _ => "its branches have names in common, and which of them a basket belongs to cannot be told",
        };
        if is_repeated || is_torn && !of(number + after + 1).is_empty() {
            return Err(Error::malformed(words).in_object(&branch.path));
        }
        Ok(if is_torn { None } else { left.get(place).copied() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str, number: usize, seek_key: u64) -> Key {
        Key { class: "TBasket".into(), name: name.into(), cycle: number as u16, seek_key, ..Key::default() }
    }

    fn branch(name: &str) -> Branch {
        let mut branch = Branch::default();
        branch.name = name.into();
        branch
    }

    fn seeks(orphans: &OrphanBaskets<'_>, branch: &Branch, place: usize, number: usize) -> Result<Vec<u64>> {
        let mut seeks = Vec::new();
        while let Some(key) = orphans.get(branch, place, number, seeks.len())? {
            seeks.push(key.seek_key);
        }
        Ok(seeks)
    }

    #[test]
    fn numbers_that_begin_again_are_told_apart_by_their_order() -> Result<()> {
        let (x, count) = (branch("x"), 2 * TURN + 5);
        let keys: Vec<Key> = (3..count).map(|number| key("x", number, number as u64)).collect();
        let found = seeks(&OrphanBaskets::of(&[&x], &keys), &x, 0, 3)?;
        assert!(found.iter().copied().eq(3..count as u64), "{} baskets", found.len());
        Ok(())
    }

    #[test]
    fn branches_of_one_name_take_turns() -> Result<()> {
        let (first, second) = (branch("x"), branch("x"));
        let mut keys: Vec<Key> = (0..8).map(|at| key("x", at / 2, at as u64)).collect();
        keys.push(key("x", 4, 8)); // begun and never finished
        let orphans = OrphanBaskets::of(&[&first, &second], &keys);
        assert_eq!(seeks(&orphans, &first, 0, 0)?, [0, 2, 4, 6]);
        assert_eq!(seeks(&orphans, &second, 1, 0)?, [1, 3, 5, 7]);
        Ok(())
    }

    #[test]
    fn baskets_in_no_unique_order_are_refused() {
        let (first, second) = (branch("x"), branch("x"));
        let torn = [key("x", 0, 0), key("x", 1, 1), key("x", 1, 2)];
        assert!(seeks(&OrphanBaskets::of(&[&first, &second], &torn), &first, 0, 0).is_err());
        let twice = [key("x", 0, 0), key("x", 0, 1)];
        assert!(seeks(&OrphanBaskets::of(&[&first], &twice), &first, 0, 0).is_err());
        let orphans = OrphanBaskets::of(&[&first], &twice[..1]);
        assert!(orphans.is_below("x", 1) && !orphans.is_below("x", 0) && !orphans.is_below("y", 1));
    }
}
