//! Which basket of a branch holds an entry.

/// The first basket that ends behind an entry; `end` says where each ends, and none ends before one that precedes it.
///
/// Baskets of a branch have about as many entries each, so that the search begins where the entry would be then: a
/// search by halves, in many branches one after another, waits for memory at each of its steps.
pub(super) fn first_behind<B>(baskets: &[B], entry: u64, end: impl Fn(&B) -> u64) -> usize {
    let Some(last) = baskets.last() else { return 0 };
    let is_before = |basket: &B| end(basket) <= entry;
    let guess = u128::from(entry) * baskets.len() as u128 / u128::from(end(last).max(1));
    let guess = usize::try_from(guess).map_or(baskets.len(), |guess| guess.min(baskets.len() - 1));
    // All before `low` end before the entry, and none from `high` on does.
    let (mut low, mut high, mut step) = (guess, guess, 1);
    while baskets.get(high).is_some_and(is_before) {
        (low, high) = (high + 1, high + 1 + step);
        step *= 2;
    }
    while low > 0 && !is_before(&baskets[low - 1]) {
        (low, high) = (low.saturating_sub(step), low - 1);
        step *= 2;
    }
    let high = high.min(baskets.len());
    low + baskets[low..high].partition_point(is_before)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_one_that_a_search_by_halves_finds() {
        let even: Vec<u64> = (1..=100).map(|basket| 10 * basket).collect();
        let small_first: Vec<u64> = (1..=60).chain((61..=90).map(|basket| 1_000 * (basket - 60))).collect();
        let small_last: Vec<u64> = (1..=30).map(|basket| 1_000 * basket).chain(30_001..30_080).collect();
        let with_empty = vec![0, 0, 7, 7, 7, 50, 50];
        for ends in [vec![], vec![0], vec![5], even, small_first, small_last, with_empty] {
            let most = ends.last().map_or(3, |end| end + 3);
            for entry in (0..most).step_by((most as usize / 5_000).max(1)).chain([most, u64::MAX]) {
                let found = first_behind(&ends, entry, |end| *end);
                assert_eq!(found, ends.partition_point(|end| *end <= entry), "entry {entry} of {ends:?}");
            }
        }
    }

    #[test]
    fn even_baskets_are_found_at_once() {
        let ends: Vec<u64> = (1..=1_000).map(|basket| 100 * basket).collect();
        let asked = std::cell::Cell::new(0);
        let end = |end: &u64| {
            asked.set(asked.get() + 1);
            *end
        };
        for entry in 0..100_000 {
            first_behind(&ends, entry, end);
        }
        assert!(asked.get() <= 4 * 100_000, "{} ends for 100,000 entries", asked.get());
    }
}
