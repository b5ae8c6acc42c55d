//! Sets of rows: those of a place below filters, or of several places together.

use std::collections::{BTreeSet, HashMap};

/// Places below filters, as a tree: the first one is all rows. Each place is a set of rows with its own number, and
/// sets of several places have the numbers behind.
#[derive(Debug)]
pub(super) struct RowSets {
    /// The place above each; the first one is its own.
    parents: Vec<usize>,
    pub(super) sets: Vec<Vec<usize>>,
    numbers: HashMap<Vec<usize>, usize>,
}

impl RowSets {
    pub(super) fn new(parents: Vec<usize>) -> Self {
        let sets: Vec<Vec<usize>> = (0..parents.len()).map(|place| vec![place]).collect();
        let numbers = sets.iter().cloned().enumerate().map(|(number, set)| (set, number)).collect();
        Self { parents, sets, numbers }
    }

    fn parent(&self, place: usize) -> usize {
        self.parents.get(place).copied().unwrap_or(0)
    }

    /// A place and those above it, up to the first.
    fn upwards(&self, place: usize) -> impl Iterator<Item = usize> {
        std::iter::successors(Some(place), |place| (*place > 0).then(|| self.parent(*place)))
    }

    /// The set of all rows of some places: without those that lie below others of them.
    pub(super) fn union(&mut self, places: &BTreeSet<usize>) -> usize {
        let set = self.outermost(places);
        if let Some(known) = self.numbers.get(&set) {
            return *known;
        }
        self.sets.push(set.clone());
        self.numbers.insert(set, self.sets.len() - 1);
        self.sets.len() - 1
    }

    /// Whether a place is another one, or lies below it.
    pub(super) fn is_below(&self, place: usize, above: usize) -> bool {
        self.upwards(place).any(|one| one == above)
    }

    /// Some places without those that lie below others of them.
    pub(super) fn outermost(&self, places: &BTreeSet<usize>) -> Vec<usize> {
        let is_outermost = |place: &usize| !self.upwards(*place).skip(1).any(|above| places.contains(&above));
        places.iter().copied().filter(is_outermost).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_below_others_add_nothing() {
        // 0 has 1 and 2 below it, and 1 has 3 and 4.
        let mut sets = RowSets::new(vec![0, 0, 0, 1, 1]);
        let of = |places: &[usize]| places.iter().copied().collect::<BTreeSet<_>>();
        assert_eq!(sets.union(&of(&[1, 3])), 1);
        let both = sets.union(&of(&[3, 2]));
        assert_eq!(sets.sets[both], [2, 3]);
        assert_eq!(sets.union(&of(&[2, 3])), both);
        assert_eq!(sets.outermost(&of(&[3, 1, 2])), [1, 2]);
        assert!(sets.is_below(3, 1) && sets.is_below(3, 0) && sets.is_below(3, 3) && !sets.is_below(3, 2));
        assert_eq!(sets.union(&of(&[0, 4])), 0);
    }
}
