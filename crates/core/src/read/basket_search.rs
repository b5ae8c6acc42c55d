//! Which basket of a branch holds an entry.

/// The first of `baskets` that ends behind an entry; `end` says where each ends, and none ends before one that precedes
/// it.
///
/// Baskets of a branch have about as many entries each, so that the search begins where the entry would be then: a
/// search by halves, in many branches one after another, waits for memory at each of its steps.
pub(crate) fn first_behind(baskets: usize, entry: u64, end: impl Fn(usize) -> u64) -> usize {
    let Some(last) = baskets.checked_sub(1) else { return 0 };
    let guess = u128::from(entry) * baskets as u128 / u128::from(end(last).max(1));
    let guess = usize::try_from(guess).map_or(last, |guess| guess.min(last));
    let is_before = |basket: usize| end(basket) <= entry;
    // It is one of these, or the one behind them.
    let (mut low, mut high, mut step) = (guess, guess, 1);
    if is_before(guess) {
        while high < baskets && is_before(high) {
            low = high + 1;
            high = low + step;
            step *= 2;
        }
        high = high.min(baskets);
    } else {
        while low > 0 {
            let probe = low.saturating_sub(step);
            if is_before(probe) {
                low = probe + 1;
                break;
            }
            (low, high) = (probe, probe);
            step *= 2;
        }
    }
    while low < high {
        let middle = low.midpoint(high);
        if is_before(middle) { low = middle + 1 } else { high = middle }
    }
    low
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
                let found = first_behind(ends.len(), entry, |basket| ends[basket]);
                assert_eq!(found, ends.partition_point(|end| *end <= entry), "entry {entry} of {ends:?}");
            }
        }
    }

    #[test]
    fn even_baskets_are_found_at_once() {
        let asked = std::cell::Cell::new(0);
        let end = |basket: usize| {
            asked.set(asked.get() + 1);
            100 * (basket as u64 + 1)
        };
        for entry in 0..100_000 {
            first_behind(1_000, entry, end);
        }
        assert!(asked.get() <= 4 * 100_000, "{} ends for 100,000 entries", asked.get());
    }
}
